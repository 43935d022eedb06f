"""What users see: pictures of networks, with matplotlib, and tables in notebooks and terminals.

Each display has its own file, except that `heat_maps` has two; `display` has what all share. That
of a network reads its options (`plot_options`) and makes a `network_picture`, which knows what
nodes and edges look like: names and texts at edges, with their places, are in `labels`, weights,
probabilities and support in `edge_measures`, colours by group or number in `node_colours`, and
colours, dashes and line widths in `appearance`. `composition` puts the places of nodes and
edges, from `layout`, together with labels, titles and a `legend` so that they fit a figure, and
`picture` draws it.

`fitted` finds the network in a learner, a pipeline or a search. `notebook` gives estimators `plot`,
a picture in notebooks and links to their pages; `frames` has tables of results, as data frames
where pandas is installed, in text and in HTML.
"""

"""What users see: pictures of networks, with matplotlib, and tables in notebooks and terminals.

Each display has its own file, except that `heat_maps` has two; `display` has what all share. The
display of a network reads its options, such as colours (`plot_options`), and makes a
`network_picture`, which knows what nodes and edges look like: `labels` has names and texts at
edges, with their places, and `appearance` widths and dashes, by weights, probabilities and support.
`composition` fits the places of nodes and edges, from `layout`, with labels, titles and a legend
into a figure, and `picture` draws it.

`display` also finds the network in a learner, a pipeline or a search. `notebook` gives estimators
`plot`, a picture in notebooks and links to their pages, and has tables of results: data frames
where pandas is installed, text and HTML.
"""

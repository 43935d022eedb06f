"""What users see: pictures of networks, with matplotlib, and tables in notebooks and terminals.

Each display has its own file. That of a network reads its options and makes a `network_picture`,
which knows what nodes and edges look like: names and texts at edges are in `labels`, standardised
weights in `weights`, probabilities and support in `probabilities`, colours by group or number in
`node_colours`, tiers in `bands`, and colours, dashes and line widths in `appearance`. `composition`
puts the places of nodes and edges, from `layout`, together with labels (`label_places`), titles
and a `legend` so that they fit a figure, and `picture` draws it all.

`fitted` finds the network in a learner, a pipeline or a search. `notebook` gives estimators `plot`,
a picture in notebooks and links to their pages, and writes tables in HTML; `frames` has tables of
results, as data frames where pandas is installed.
"""

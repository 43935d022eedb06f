"""Pictures of networks, with matplotlib.

Each display has its own file. They draw with `picture` (a laid out graph as artists on axes),
which takes the places of nodes and edges from `layout`, colours and line widths from
`appearance`, names and texts at edges from `labels`, and standardised weights from `weights`.
`fitted` finds the network in a learner, a pipeline or a search, and `plot_mixin` gives estimators
`plot`.
"""

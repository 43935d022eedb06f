"""Where the nodes and edges of a graph stand in a picture, in points; needs no matplotlib.

`order` chooses the layer of each node and what stands beside what in a layer, so that few edges
cross, and `coordinates` the exact places and curves. `layered` calls them in turn, and makes
layouts of any orientation and proportions. `placed` leads edges between nodes that have places.
`curves` has what both need of Bézier curves.
"""

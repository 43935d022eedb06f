"""Pictures of networks, with matplotlib.

Dependencies point one way: ``_layout`` and what it is made of (where things stand, in
points), ``_labels`` and ``_styles`` (names in lines, colours), ``_bezier`` (curves);
``_picture`` (a laid out graph as artists on axes); ``_graph_of`` (the graph that is meant),
``_weights`` (how strong edges are); the displays, a file each; ``_plot_mixin`` (what
learners and networks show of themselves).
"""

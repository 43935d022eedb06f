"""Pictures of networks, with matplotlib.

Dependencies point one way: ``_routes``, ``_layers``, ``_order`` (which node or edge stands
beside which) and ``_coordinates`` (where), with what these are made of, and ``_layout``,
which puts them together; ``_labels`` and ``_styles`` (names in lines, colours), ``_bezier``
(curves); ``_picture`` (a laid out graph as artists on axes); ``_graph_of`` (the graph that
is meant), ``_weights`` (how strong edges are); the displays, a file each; ``_notebook``
(the picture in a notebook's HTML).
"""

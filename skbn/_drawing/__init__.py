"""Pictures of networks, with matplotlib.

Dependencies point one way: ``_labels`` and ``_styles`` (names in lines, colours), ``_bezier``
(curves); ``_weights`` (how strong edges are), ``_edge_labels`` (what is written at them),
``_emphasis`` (what is marked); ``_looks`` and ``_picture`` (a laid out graph as artists on
axes); ``_graph_of`` and ``_axes`` (what users give); the displays, a file each;
``_notebook`` (the picture in a notebook's HTML).
"""

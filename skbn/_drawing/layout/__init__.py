"""Where nodes and edges of a network stand in a picture, in points; knows nothing of matplotlib.

In turn: ``_layers`` (which node stands in which layer), ``_order`` and ``_ranking`` (which
node or edge beside which, so that few edges cross), ``_coordinates`` with ``_program`` and
``_quadratic`` (where exactly, by a quadratic program), ``_routes`` (edges as curves
between boxes), ``_parts`` (networks of several parts). ``_layered`` puts them together.
"""

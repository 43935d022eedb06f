"""Networks: parameters, distribution, structure and files of one, however it was found.

Dependencies point one way: ``_arguments`` and ``_tables`` (nodes, numbers and rows that
users give), ``_parameters`` (estimates); ``_gaussian`` (the joint distribution, in
arrays), ``_distribution`` (that of some nodes), ``_equivalence`` (which edges could as
well be reversed, in masks), ``_diagnostics`` (warnings about a network and its rows);
``_json`` and ``_interchange`` (DOT, Mermaid, pgmpy); ``_structure``, ``_inference`` and
``_forms`` (methods on the graph, on the distribution, and to read and write), and
``_network``, the class that has them.
"""

"""Networks: what there is to do with one, however it was found.

Dependencies point one way: ``_dags`` (graphs that users give), ``_parameters`` (estimates
and numbers), ``_model`` (the joint Gaussian, in arrays), ``_conditionals`` (of some nodes
given others), ``_arguments`` and ``_tables`` (nodes and rows that users give);
``_equivalence`` (which edges could as well be reversed), ``_interchange`` (JSON, DOT,
pgmpy); ``_structure`` and ``_inference`` (methods on the graph, and on the distribution),
and ``_network``, the class that has them; ``_layout`` (where to draw it), ``_display``
(its picture).
"""

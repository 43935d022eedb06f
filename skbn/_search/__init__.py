"""The exact search: the best network of all, by dynamic programming over sets of columns.

Dependencies point one way: ``_zeta`` (maxima over subsets), ``_family_maxima`` (a
child's best local score in every set of candidates), ``_best_sinks`` (the best
network on every set of columns), ``_walk_back`` (the network behind the best score);
``_plan`` lays out the memory, ``_slab`` has it worked through in threads, and
``_exact`` runs it all. Nothing here knows of rows, names or estimators.
"""

"""The exact search: the best network of all, by dynamic programming over sets of columns.

Dependencies point one way: ``_zeta`` (maxima over subsets), ``_family_maxima`` (a
child's best local score in every set of candidates), ``_best_sinks`` (the best
network on every set of columns); ``_plan`` lays out the memory, and says what
would make a search fit. ``_family_source`` is what a search asks of families: of
``_dense_families``, scored from log-determinants as they are needed, or of
``_listed_families``. ``_slab`` has the tables worked through in threads, ``_spot_check``
computes some of them once more, ``_walk_back`` finds the network behind the best score, and
``_exact`` runs it all. Nothing here knows of rows, names or estimators.
"""

"""Scores of families: what each column's regression on each set of others is worth.

Dependencies point one way: ``_criterion`` (what a criterion is) and ``_criteria`` (those
that have names); ``_row_summary`` (what is kept of rows, and merged) and ``_sample`` (rows,
their labels, and their weights, which ``_sample_weight`` reads); ``_independence`` and
``_statistics`` (what every regression needs);
``_families`` (how families are numbered, with the kernels of ``_small_scores``);
``_subset_determinants`` (what scores of all penalties share); ``_scorer`` (a sample's
families, by number). ``_jkl`` reads and writes lists of families, whose parents are
``_parent_rows``.
``_scored_families`` has the methods of all scores: of ``_local_scores``, which have a
table's rows and are a ``_stand_in`` for it, and of ``_parent_set_scores``, which were
listed; ``_summary`` and ``_top_parents`` are how they and their best families are shown.
"""

"""Scores of families: what each column's regression on each set of others is worth.

Dependencies point one way: ``_criterion`` (what a criterion is) and ``_criteria`` (those
that have names); ``_independence`` and ``_statistics`` (rows, to what every regression
needs); ``_families`` (how families are numbered, with the kernels of ``_small_scores``);
``_scorer`` (a table's families, by number). ``_jkl`` reads and writes lists of families.
``_scored_families`` is what there is to ask of scores: of ``_local_scores``, which have a
table's rows, and of ``_parent_set_scores``, which were listed; ``_summary`` and
``_top_parents`` are how they and their best families are shown.
"""

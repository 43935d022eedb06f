"""All regressions of a table: the paper's walk through the subsets of its columns.

Dependencies point one way: ``swaps`` (which columns to swap, no floating point),
``least_squares`` (triangular factors by LAPACK: the one to start from, and those of
single networks), ``givens`` (what one swap does to a factor), ``log_determinants`` (the walk
itself, from many seeds at once) and ``small_walk`` (the walk through small sets only).
``set_function`` has the formula that turns log-determinants into scores, and the functions of sets
that scores are differences of.
"""

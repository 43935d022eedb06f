"""All regressions of a table: the paper's walk through the subsets of its columns.

Dependencies point one way: ``_swaps`` (which columns to swap, no floating point),
``_qr`` (the triangular factor to start from), ``_givens`` (what one swap does to a
triangular factor), ``_log_determinants`` (the walk itself, from many seeds at once).
``_neighbours`` has the families of one network, and those near it, without the walk.
"""

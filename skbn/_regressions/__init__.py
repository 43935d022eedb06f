"""All regressions of a table: the paper's walk through the subsets of its columns.

Dependencies point one way: ``swaps`` (which columns to swap, no floating point),
``qr`` (the triangular factor to start from), ``givens`` (what one swap does to a
triangular factor), ``log_determinants`` (the walk itself, from many seeds at once).
``neighbours`` has the families of one network, and those near it, without the walk.
"""

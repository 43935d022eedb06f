"""Scores of families: what each column's regression on each set of others is worth.

Dependencies point one way: ``_criteria`` (what a likelihood is worth, by the number of
parents), ``_statistics`` (rows, to what every regression needs), ``_local_scores`` (a
table's rows, and with them the scores of all its families).
"""

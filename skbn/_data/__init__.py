"""From a table to what every regression needs.

``table`` reads what users pass, ``sample`` holds the rows and their weights, ``row_summary``
summarises rows so that parts can be merged, and ``statistics`` checks that the columns are
independent and has the triangular factor of them all.
"""

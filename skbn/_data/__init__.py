"""From a table to what every regression needs.

``containers`` knows what users pass as tables, ``table`` reads the numbers in them, and
``row_values`` the weights and other values that users give for rows. ``sample`` holds the rows and
their weights, or a summary of rows that can be merged with others; ``dask_rows`` makes one of the
blocks of a dask table. ``statistics`` checks that the columns are independent and has the
triangular factor of them all.
"""

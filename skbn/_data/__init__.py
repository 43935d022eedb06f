"""From a table to what every regression needs.

``table`` reads what users pass, and ``row_values`` the weights and other values that they give
for its rows. ``sample`` holds the rows and their weights, or a summary of rows that can be merged
with others. ``statistics`` checks that the columns are independent and has the triangular factor
of them all.
"""

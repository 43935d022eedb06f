"""The best network of scored families, within constraints: read, plan, search, certify.

``solve`` has the function that learners call. A ``problem`` reads what a search needs of the rows;
``engines`` plan and run the search of a group of columns that ``constraints`` leave unordered;
``certificate`` verifies the result.
"""

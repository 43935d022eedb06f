"""The best network of scored families, within constraints: plan, search, certify.

``solve`` has the function that learners call. ``engines`` plan and run the search of a group of
columns that ``constraints`` leave unordered; ``certificate`` verifies the result.
"""

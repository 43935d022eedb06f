"""Scores of families: what each column's regression on each set of others is worth.

``criteria`` has the criteria, and the checks of what they return.
``scorer`` scores a sample's families by number; ``families`` says how they are numbered.
``LocalScores`` and ``ParentSetScores`` are what users see of them, over the methods in
``base``, which also shows them. ``jkl`` reads and writes lists of families.
"""

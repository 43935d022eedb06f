"""Gaussian Bayesian networks, however they were found.

``network`` has the class, whose methods call the functions of the other modules: ``gaussian`` has
estimates and the joint density, ``inference`` samples, conditional distributions and predictions,
``equivalence`` which edges could be reversed, and how many networks are equivalent,
``descriptions`` the network as text and as a table of its edges, ``effects`` what interventions do,
and ``interchange`` JSON, DOT, Mermaid and pgmpy. ``diagnostics`` warns if the rows contradict the
model, or if `max_parents` costs the network much of its score.
"""

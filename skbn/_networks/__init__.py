"""Gaussian Bayesian networks, however they were found.

``network`` has the class. The work behind its methods is done by functions in ``gaussian``
(parameters and the joint distribution), ``equivalence`` (which edges could be reversed) and
``interchange`` (JSON, DOT, Mermaid, pgmpy). ``arguments`` reads what users give, and
``diagnostics`` warns if the rows that a network was found in contradict the model.
"""

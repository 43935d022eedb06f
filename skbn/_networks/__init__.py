"""Gaussian Bayesian networks, however they were found.

``network`` has the class. What its methods need divides them among its base classes: only the graph
in ``structure``, the parameters in ``parameters``, the joint distribution in ``inference``; the
formats of other programs are in ``formats``. The work behind the methods is done by functions in
``gaussian`` (estimates, density, conditioning), ``equivalence`` (which edges could be reversed) and
``interchange`` (JSON, DOT, Mermaid, pgmpy). ``edge_table`` and ``equations`` show a network as a
table and as text, ``distribution`` has what `condition` returns, ``arguments`` reads what users
give, and ``diagnostics`` warns if the rows that a network was found in contradict the model.
"""

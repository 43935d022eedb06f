"""Gaussian Bayesian networks, however they were found.

``network`` has the class, ``structure`` and ``inference`` those of its methods that need only the
graph, or the joint distribution. ``distribution`` has what `condition` returns. The work behind the
methods is done by functions in ``gaussian`` (parameters, density, conditioning), ``equivalence``
(which edges could be reversed) and ``interchange`` (JSON, DOT, Mermaid, pgmpy). ``arguments`` reads
what users give, and ``diagnostics`` warns if the rows that a network was found in contradict the
model.
"""

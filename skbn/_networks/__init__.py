"""Gaussian Bayesian networks, however they were found.

``network`` has the class, whose methods call the functions of the other modules, and ``state`` what
they share: the graph and what was learned of it. ``gaussian`` has the joint density, ``estimation``
finds parameters, ``inference`` has samples, conditional distributions and predictions,
``equivalence`` knows which edges could be reversed and how many networks are equivalent,
``descriptions`` shows the network as text and as a table of its edges, ``effects`` says what
interventions do, ``effect_estimates`` how sure that is, and ``adjustment`` what to adjust for,
``fit_indices`` says how well the network fits, ``anomalies`` which rows do not, and ``interchange``
has JSON, DOT, Mermaid and pgmpy. ``diagnostics`` warns if the rows contradict the model, or if
`max_parents` costs the network much of its score.
"""

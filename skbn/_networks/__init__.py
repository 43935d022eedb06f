"""Gaussian Bayesian networks, however they were found.

``network`` has the class, whose methods call the functions of the other modules, and ``value`` what
they share: the graph and the parameters in arrays. ``gaussian`` has the joint density,
``estimation`` finds parameters, ``inference`` has samples, conditional distributions and
predictions, ``equivalence`` knows which edges could be reversed and how many networks are
equivalent, ``descriptions`` shows the network as text and as a table of its edges, ``effects`` says
what interventions do, ``effect_estimates`` how sure that is, and ``adjustment`` what to adjust for,
``fit_indices`` says how well the network fits, ``anomalies`` which rows do not, and ``json_format``
writes and reads it. ``diagnostics`` warns if the rows contradict the model, or if `max_parents`
costs the network much of its score.
"""

"""The effects of an intervention in all members of an equivalence class.

The members of a class give every table the same likelihood, and yet a column may cause another in
one member and not in the next. In each member, the total effect is the cause's coefficient in the
regression of the outcome on the cause and the cause's parents there. So it depends only on these
parents (Maathuis, Kalisch & Bühlmann 2009, "Estimating high-dimensional intervention effects from
observational data"). The regressions are those of the network's own joint distribution, which is
the same for each member that is fitted to the same rows.
"""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from skbn._core.arrays import Floats
from skbn._core.graphs import dag_of, equilibrated
from skbn._core.subsets import members_of
from skbn._networks.class_members import parent_set_counts
from skbn._networks.gaussian import LinearGaussianModel
from skbn._regressions.least_squares import triangular_factor


def class_effect_columns(model: LinearGaussianModel, cause: int, outcome: int) -> dict[str, Any]:
    """Return the columns of a table with a row for each set of parents that the cause may have.

    Only members with the model's fixed edges count. The sets of the most members come first.

    Raises
    ------
    ValueError
        If a node has no noise: its class has other members then; if there are too many sets.
    """
    for node, variance in zip(model.nodes, model.noise_variance, strict=True):
        if variance == 0:
            raise ValueError(
                f"Node {node!r} has no noise, as after do, so that equivalent networks are not "
                "told by the graph alone. Ask the network that do was called on."
            )
    every = (1 << len(model.nodes)) - 1
    allowed = [mask if v in model.exogenous else every for v, mask in enumerate(model.parents)]
    for child, mask in enumerate(model.fixed):
        for parent in members_of(mask):
            allowed[parent] &= ~(1 << child)
    counts = parent_set_counts(model.parents, cause, allowed)
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    dag, factor = dag_of(range(len(model.nodes)), model.parents), model.factor()
    return {
        "effect": np.array([_effect(factor, dag, cause, outcome, mask) for mask, _ in ordered]),
        "n_members": [n for _, n in ordered],
        "adjusted_for": [[model.nodes[v] for v in members_of(mask)] for mask, _ in ordered],
    }


def _effect(factor: Floats, dag: nx.DiGraph, cause: int, outcome: int, parents: int) -> float:
    """Return the effect of a cause in the members where it has these parents.

    The factor is that of the joint covariance.

    The effect is exactly 0 where the outcome is no descendant: in all members of the class, the two
    are then independent given these parents.
    """
    given = members_of(parents)
    if outcome in given or nx.is_d_separator(dag, {cause}, {outcome}, {*given}):
        return 0.0
    scaled, unit = equilibrated(factor[:, [*given, cause, outcome]])
    corner = triangular_factor(scaled)[-2:, -2:]
    return float(corner[0, 1] / corner[0, 0] * (unit[-1] / unit[-2]))

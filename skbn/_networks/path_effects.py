"""Effects of interventions in a network, in all and along each directed path.

If a cause is raised by one unit from outside, the mean of an outcome rises by the total effect: the
sum over the directed paths between them of the product of the weights along the path (Wright 1934,
"The method of path coefficients"). The direct part is the path of a single edge.
"""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from skbn._core.arrays import Floats
from skbn._core.columns import named_nodes
from skbn._core.graphs import dag_of, propagate
from skbn._core.subsets import members_of
from skbn._networks.gaussian import LinearGaussianModel

# A table of more paths would fill memory before anybody reads it.
_MOST_PATHS = 100_000


def cause_and_outcome(model: LinearGaussianModel, cause: Any, outcome: Any) -> tuple[int, int]:
    """Return the numbers of two nodes; raise a ValueError unless they are two nodes."""
    numbers = []
    for name, node in (("cause", cause), ("outcome", outcome)):
        chosen, is_single = named_nodes(node, model.nodes, name)
        if not is_single:
            raise ValueError(f"{name} must be a single node; got {chosen}.")
        numbers.append(model.nodes.index(chosen[0]))
    if numbers[0] == numbers[1]:
        raise ValueError(f"cause and outcome must differ; both are {cause!r}.")
    return numbers[0], numbers[1]


def total_effects(model: LinearGaussianModel) -> Floats:
    """Return the total effects, shape (m, m): ``[i, j]`` is that of node i on node j.

    It is exactly 0 without a directed path, and 1 on the diagonal.
    """
    effects = propagate(np.eye(len(model.nodes)), model.coef, model.parents)
    for node, column in zip(model.nodes, effects.T, strict=True):
        if not np.isfinite(column).all():
            raise ValueError(
                f"An effect on node {node!r} is out of float64's range. Measure the nodes in other "
                "units."
            )
    return effects


def effect_columns(model: LinearGaussianModel) -> dict[str, Any]:
    """Return the columns of a table with a row for each pair that a directed path joins."""
    effects, n_paths = total_effects(model), _path_counts(model.parents)
    pairs = [
        (i, j) for i in range(len(n_paths)) for j in range(len(n_paths)) if i != j and n_paths[i][j]
    ]
    total = np.array([effects[pair] for pair in pairs])
    direct = np.array([model.coef[pair] for pair in pairs])
    is_mediated = [
        n_paths[i][j] > (model.parents[j] >> i & 1) for i, j in pairs
    ]  # else the difference would be rounding
    return {
        "cause": [model.nodes[i] for i, _ in pairs],
        "outcome": [model.nodes[j] for _, j in pairs],
        "total": total,
        "direct": direct,
        "indirect": np.where(is_mediated, total - direct, 0.0),
        "n_paths": [n_paths[i][j] for i, j in pairs],
    }


def path_columns(model: LinearGaussianModel, cause: int, outcome: int) -> dict[str, Any]:
    """Return the columns of a table with a row for each directed path, the shortest first.

    Raises
    ------
    ValueError
        If there are too many paths to list.
    """
    n_paths = _path_counts(model.parents)[cause][outcome]
    if n_paths > _MOST_PATHS:
        raise ValueError(
            f"{n_paths:,} directed paths lead from {model.nodes[cause]!r} to "
            f"{model.nodes[outcome]!r}, more than the {_MOST_PATHS:,} that are listed. "
            "total_effect and effects sum over all of them."
        )
    dag = dag_of(range(len(model.nodes)), model.parents)
    paths = sorted(nx.all_simple_paths(dag, cause, outcome), key=lambda path: (len(path), path))
    return {
        "path": [[model.nodes[v] for v in path] for path in paths],
        "effect": np.array([np.prod(model.coef[path[:-1], path[1:]]) for path in paths]),
    }


def _path_counts(parents: list[int]) -> list[list[int]]:
    """Return how many directed paths lead from each node to each other; 1 to itself."""
    m = len(parents)
    counts = [[int(i == j) for j in range(m)] for i in range(m)]
    for child in nx.topological_sort(dag_of(range(m), parents)):
        for row in counts:
            row[child] += sum(row[parent] for parent in members_of(parents[child]))
    return counts

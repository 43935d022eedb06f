"""What interventions do in a network: effects, along paths and in equivalent networks, and to rows.

If a cause is raised by one unit from outside, the mean of an outcome rises by the total effect: the
sum over the directed paths between them of the product of the weights along the path (Wright 1934,
"The method of path coefficients"). The direct part is the path of a single edge.

The members of an equivalence class give every table the same likelihood, and yet a column may cause
another in one member and not in the next. In each member, the total effect is the cause's
coefficient in the regression of the outcome on the cause and the cause's parents there. So it
depends only on these parents (Maathuis, Kalisch & Bühlmann 2009, "Estimating high-dimensional
intervention effects from observational data"). The regressions follow from the network's joint
distribution, which is the same for each member that is fitted to the same rows.

A counterfactual takes abduction, action and prediction (Pearl 2009, "Causality", section 7.1): a
row determines its noise, the nodes are set, and the equations are followed with the same noise. As
they are linear, only the differences from the row need to be followed, so that values that nothing
changes keep all bits.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import networkx as nx
import numpy as np

from skbn._core.arrays import Floats, finite_number
from skbn._core.columns import named_nodes, named_values
from skbn._core.graphs import dag_of, equilibrated, propagate, require_finite
from skbn._core.subsets import members_of
from skbn._core.text import readable_value
from skbn._data.containers import row_labels
from skbn._data.row_values import in_order_of_rows
from skbn._data.table import Table, read_columns
from skbn._networks.class_members import parent_set_counts
from skbn._networks.gaussian import LinearGaussianModel
from skbn._networks.partial_rows import with_columns
from skbn._regressions.least_squares import triangular_factor

# A table of more paths would fill memory before anybody reads it.
_MOST_PATHS = 100_000


def total_effect(model: LinearGaussianModel, cause: Any, outcome: Any) -> float:
    """Return the total effect of one node on another."""
    pair = _cause_and_outcome(model, cause, outcome)
    return float(_total_effects(model)[pair])


def _total_effects(model: LinearGaussianModel) -> Floats:
    """Return the total effects, shape (m, m): ``[i, j]`` for node i on node j.

    It is exactly 0 without a directed path, and 1 on the diagonal.
    """
    effects = propagate(np.eye(len(model.nodes)), model.coef, model.parents)
    require_finite(
        effects,
        model.nodes,
        "An effect on node {node!r} is out of float64's range. Measure the nodes in other units.",
    )
    return effects


def effect_columns(model: LinearGaussianModel) -> dict[str, Any]:
    """Return the columns of a table with a row for each pair that a directed path joins."""
    effects, n_paths = _total_effects(model), _path_counts(model.parents)
    pairs = [(i, j) for i, row in enumerate(n_paths) for j, n in enumerate(row) if n and i != j]
    total = np.array([effects[pair] for pair in pairs])
    direct = np.array([model.coef[pair] for pair in pairs])
    # Where no other path leads there, the difference would be rounding.
    is_mediated = [n_paths[i][j] > (model.parents[j] >> i & 1) for i, j in pairs]
    return {
        "cause": [model.nodes[i] for i, _ in pairs],
        "outcome": [model.nodes[j] for _, j in pairs],
        "total": total,
        "direct": direct,
        "indirect": np.where(is_mediated, total - direct, 0.0),
        "n_paths": [n_paths[i][j] for i, j in pairs],
    }


def path_columns(model: LinearGaussianModel, cause: Any, outcome: Any) -> dict[str, Any]:
    """Return the columns of a table with a row for each directed path, the shortest first.

    Raises
    ------
    ValueError
        If there are too many paths to list.
    """
    start, end = _cause_and_outcome(model, cause, outcome)
    n_paths = _path_counts(model.parents)[start][end]
    if n_paths > _MOST_PATHS:
        raise ValueError(
            f"{n_paths:,} directed paths lead from {cause!r} to {outcome!r}, more than the "
            f"{_MOST_PATHS:,} that are listed. total_effect and effects sum over all of them."
        )
    dag = dag_of(range(len(model.nodes)), model.parents)
    paths = sorted(nx.all_simple_paths(dag, start, end), key=lambda path: (len(path), path))
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


def _cause_and_outcome(model: LinearGaussianModel, cause: Any, outcome: Any) -> tuple[int, int]:
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


# Equivalent networks


def class_effect_columns(model: LinearGaussianModel, cause: Any, outcome: Any) -> dict[str, Any]:
    """Return the columns of a table with a row for each set of parents that the cause may have.

    Only members with the model's fixed edges count. The sets of the most members come first.

    Raises
    ------
    ValueError
        If a node has no noise: its class has other members then; if there are too many sets.
    """
    start, end = _cause_and_outcome(model, cause, outcome)
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
    counts = parent_set_counts(model.parents, start, allowed)
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    dag, factor = dag_of(range(len(model.nodes)), model.parents), model.factor()
    return {
        "effect": np.array([_effect(factor, dag, start, end, mask) for mask, _ in ordered]),
        "n_members": [n for _, n in ordered],
        "adjusted_for": [[model.nodes[v] for v in members_of(mask)] for mask, _ in ordered],
    }


def _effect(factor: Floats, dag: nx.DiGraph, cause: int, outcome: int, parents: int) -> float:
    """Return the effect of a cause in the members where it has these parents.

    `factor` is a factor of the joint covariance. The effect is exactly 0 where the outcome is no
    descendant: in all members of the class, the two are then independent given these parents.
    """
    given = members_of(parents)
    if outcome in given or nx.is_d_separator(dag, {cause}, {outcome}, {*given}):
        return 0.0
    scaled, unit = equilibrated(factor[:, [*given, cause, outcome]])
    corner = triangular_factor(scaled)[-2:, -2:]
    return float(corner[0, 1] / corner[0, 0] * (unit[-1] / unit[-2]))


# Rows


def counterfactual(model: LinearGaussianModel, X: Any, do: Mapping[Hashable, Any]) -> Any:
    """Return a table as it would have been with nodes set to one value, or to one for each row."""
    rows = read_columns(Table(X), model.nodes, model.nodes)
    values = _values_of_rows(do, model.nodes, len(rows), row_labels(X))
    held = list(values)
    coef, parents = model.without_parents(held)
    shift = np.zeros(rows.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        for v, value in values.items():
            shift[:, v] = value - rows[:, v]
        changed = rows + propagate(shift, coef, parents)
    for v, value in values.items():
        changed[:, v] = value
    require_finite(
        changed,
        model.nodes,
        "The value of node {node!r} in row {row} would be out of float64's range. Set the nodes in "
        "do to values nearer to those of the row.",
    )
    reached = np.flatnonzero(propagate(np.eye(len(coef))[held], coef != 0, parents).any(axis=0))
    return with_columns(X, model.nodes, {v: changed[:, v] for v in reached.tolist()})


def _values_of_rows(
    do: Mapping[Hashable, Any], nodes: list[Hashable], n_rows: int, labels: Any
) -> dict[int, float | Floats]:
    """Return the values that nodes are set to, by the nodes' numbers.

    Raises
    ------
    TypeError, ValueError
        As `named_values`; if there is not one finite value for each row.
    """

    def read(value: Any, name: str) -> float | Floats:
        if not np.ndim(value):
            return finite_number(value, name)
        in_order = in_order_of_rows(value, labels, n_rows, name)
        try:
            numbers = np.asarray(in_order, dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.empty(0)
        if numbers.shape != (n_rows,) or not np.isfinite(numbers).all():
            raise ValueError(
                f"{name} must be a finite number, or one for each of the {n_rows} rows of X; got "
                f"{readable_value(value)}."
            )
        return numbers

    return named_values(do, nodes, "do", read)

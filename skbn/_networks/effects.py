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

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from skbn._core.arrays import Floats, is_listed
from skbn._core.columns import by_label, named_nodes
from skbn._core.graphs import dag_of, equilibrated, propagate, require_finite, topological_order
from skbn._core.subsets import members_of
from skbn._core.text import must_be, readable_value
from skbn._data.containers import row_labels
from skbn._data.encoding import encoded_rows
from skbn._data.nodes import Nodes
from skbn._data.row_values import in_order_of_rows
from skbn._data.table import Table
from skbn._networks.equivalence import members_by_parents
from skbn._networks.gaussian import LinearGaussianModel
from skbn._networks.inference import filled, values_of_columns, with_values
from skbn._regressions.least_squares import solve_triangular, triangular_factor

# A table of more paths would fill memory before anybody reads it.
_MOST_PATHS = 100_000


# What users call causes and outcomes

NumberOf = Callable[[Any], int] | None  # finds nodes that are not named


class Combination(NamedTuple):
    """A linear combination of a node's columns: a change of a cause, or a reading of an outcome."""

    label: Any  # str or int
    node: int  # the node's number
    columns: list[int]
    # by how much a cause changes each column, or how much each counts for an outcome
    weights: list[float]


def change_of(nodes: Nodes, cause: Any, number_of: NumberOf = None) -> Combination:
    """Return the change that a cause stands for: by one unit, or from one level to another.

    `cause`: a node or one of its columns; a tuple of a category and two of its levels
    `number_of`: finds the number of a node that is neither

    Raises ValueError or TypeError if it is no change, saying what to write.
    """
    v, column, levels = _named(nodes, cause, "cause", number_of)
    node = nodes.names[v]
    if node not in nodes.levels:
        return _column_of(nodes, v, column, "cause")
    known = nodes.levels_of(v)
    if column is not None:
        levels = [known[0], nodes.columns[column].level]
    elif not levels and len(known) == 2:
        levels = known
    if len(levels) != 2 or levels[0] == levels[1] or not all(each in known for each in levels):
        raise ValueError(
            f"Node {node!r} is a category, and an effect of it is that of a change from one level "
            f"to another; got cause={readable_value(cause)}. Give the node and two different "
            f"levels of {readable_value(known)}, such as cause={(node, *known[:2])!r}."
        )
    own = nodes.columns_of([v])
    parts = [nodes.columns[i].level for i in own]
    weights = [float(part == levels[1]) - float(part == levels[0]) for part in parts]
    return Combination(f"{node}: {levels[0]} to {levels[1]}", v, own, weights)


def reading_of(nodes: Nodes, outcome: Any, number_of: NumberOf = None) -> Combination:
    """Return the number that an outcome stands for: a column, or the probability of a level.

    The parameters are those of `change_of`; a tuple has a category and one of its levels.
    """
    v, column, levels = _named(nodes, outcome, "outcome", number_of)
    node = nodes.names[v]
    if node not in nodes.levels:
        return _column_of(nodes, v, column, "outcome")
    known = nodes.levels_of(v)
    if column is not None:
        levels = [nodes.columns[column].level]
    elif not levels and len(known) == 2:
        levels = known[1:]
    if len(levels) != 1 or levels[0] not in known:
        raise ValueError(
            f"Node {node!r} is a category, and an effect on it is one on the probability of a "
            f"level; got outcome={readable_value(outcome)}. Give the node and one of its levels "
            f"{readable_value(known)}, such as outcome={(node, known[-1])!r}."
        )
    own = nodes.columns_of([v])
    if levels[0] == known[0]:  # what the other levels leave
        return Combination(f"{node}={known[0]}", v, own, [-1.0] * len(own))
    (place,) = (i for i in own if nodes.columns[i].level == levels[0])
    return Combination(nodes.columns[place].name, v, [place], [1.0])


def all_changes(nodes: Nodes) -> list[Combination]:
    """Return a change of each column, by one unit or from a category's first level to its own."""
    return [change_of(nodes, column.name) for column in nodes.columns]


def all_readings(nodes: Nodes) -> list[Combination]:
    """Return a reading of each column."""
    return [reading_of(nodes, column.name) for column in nodes.columns]


def matrix_of(combinations: Sequence[Combination], n_columns: int) -> Floats:
    """Return the weights of all columns, shape (k, n_columns)."""
    matrix = np.zeros((len(combinations), n_columns))
    for row, each in zip(matrix, combinations, strict=True):
        row[each.columns] = each.weights
    return matrix


def change_and_reading(
    nodes: Nodes, cause: Any, outcome: Any, number_of: NumberOf = None
) -> tuple[Combination, Combination]:
    """Return a change and a reading; raise a ValueError if they are of one node."""
    change, reading = change_of(nodes, cause, number_of), reading_of(nodes, outcome, number_of)
    if change.node == reading.node:
        raise ValueError(
            f"cause and outcome must differ; both are {nodes.names[change.node]!r}. Give two."
        )
    return change, reading


def _named(
    nodes: Nodes, value: Any, parameter: str, number_of: NumberOf
) -> tuple[int, int | None, list[Any]]:
    """Return the number of a node, of its column if that was named, and the levels."""
    names: list[Any] = nodes.names
    columns: list[Any] = nodes.column_names
    if isinstance(value, Hashable) and value in names:
        return names.index(value), None, []
    if isinstance(value, Hashable) and value in columns:
        i = columns.index(value)
        return int(nodes.by_column(np.arange(len(names)))[i]), i, []
    if isinstance(value, tuple) and value and value[0] in nodes.levels:
        return names.index(value[0]), None, [*value[1:]]
    if number_of is not None:
        return number_of(value), None, []
    chosen, is_single = named_nodes(value, names, parameter)
    if not is_single:
        raise ValueError(f"{parameter} must be a single node; got {chosen}.")
    return names.index(chosen[0]), None, []


def _column_of(nodes: Nodes, v: int, column: int | None, parameter: str) -> Combination:
    """Return the only column of a node of numbers, or the one that was named."""
    own = nodes.columns_of([v]) if column is None else [column]
    if len(own) > 1:
        names = [nodes.columns[i].name for i in own]
        held = ", while the others are held" if parameter == "cause" else ""
        raise ValueError(
            f"Node {nodes.names[v]!r} has the columns {readable_value(names)}. Name one of them as "
            f"{parameter}{held}."
        )
    return Combination(nodes.columns[own[0]].name, v, own, [1.0])


# One network


def total_effects(
    model: LinearGaussianModel,
    nodes: Nodes,
    changes: Sequence[Combination],
    readings: Sequence[Combination],
) -> Floats:
    """Return the total effects of changes on readings, shape (n_changes, n_readings).

    They are exactly 0 without a directed path.
    """
    n = len(model.nodes)
    of_columns = propagate(np.eye(n), *between_nodes(model, nodes))
    effects = matrix_of(changes, n) @ of_columns @ matrix_of(readings, n).T
    require_finite(
        effects,
        [reading.label for reading in readings],
        "An effect on node {node!r} is out of float64's range. Measure the nodes in other units.",
    )
    return np.asarray(effects)


def between_nodes(model: LinearGaussianModel, nodes: Nodes) -> tuple[Floats, list[int]]:
    """Return coefficients without those within nodes, and the masks of the parents in other nodes.

    A change of some columns of a node leaves the node's others as they are.
    """
    parents = nodes.parents_of_columns(nodes.parents_of_nodes(model.parents), within=False)
    return nodes.solved_within(model.coef), parents


def effect_columns(model: LinearGaussianModel, nodes: Nodes) -> dict[str, Any]:
    """Return the columns of a table with a row for each pair that a directed path joins."""
    changes, readings = all_changes(nodes), all_readings(nodes)
    parents = nodes.parents_of_nodes(model.parents)
    n, n_paths = len(model.nodes), _path_counts(parents)
    effects = total_effects(model, nodes, changes, readings)
    edges = matrix_of(changes, n) @ between_nodes(model, nodes)[0] @ matrix_of(readings, n).T
    pairs, counts, is_mediated = [], [], []
    for i, j in product(range(len(changes)), range(len(readings))):
        a, b = changes[i].node, readings[j].node
        if a != b and n_paths[a][b]:
            pairs.append((i, j))
            counts.append(n_paths[a][b])
            # Without another path, the difference would be mere rounding.
            is_mediated.append(n_paths[a][b] > (parents[b] >> a & 1))
    total, direct = (np.array([of_all[pair] for pair in pairs]) for of_all in (effects, edges))
    return {
        "cause": [changes[i].label for i, _ in pairs],
        "outcome": [readings[j].label for _, j in pairs],
        "total": total,
        "direct": direct,
        "indirect": np.where(is_mediated, total - direct, 0.0),
        "n_paths": counts,
    }


def path_columns(
    model: LinearGaussianModel, nodes: Nodes, cause: Any, outcome: Any
) -> dict[str, Any]:
    """Return the columns of a table with a row for each directed path, the shortest first."""
    change, reading = change_and_reading(nodes, cause, outcome)
    start, end, parents = change.node, reading.node, nodes.parents_of_nodes(model.parents)
    n_paths = _path_counts(parents)[start][end]
    if n_paths > _MOST_PATHS:
        raise ValueError(
            f"{n_paths:,} directed paths lead from {nodes.names[start]!r} to "
            f"{nodes.names[end]!r}, more than the "
            f"{_MOST_PATHS:,} that are listed. total_effect and effects sum over all of them."
        )
    dag = dag_of(range(len(parents)), parents)
    paths = sorted(nx.all_simple_paths(dag, start, end), key=lambda path: (len(path), path))
    coef, effects = between_nodes(model, nodes)[0], []
    for path in paths:
        effect, columns = np.array(change.weights), change.columns
        for v in path[1:]:
            before, columns = columns, nodes.columns_of([v])
            effect = effect @ coef[np.ix_(before, columns)]
        effects.append(effect @ matrix_of([reading], len(coef))[0, columns])
    names = nodes.names
    return {"path": [[names[v] for v in path] for path in paths], "effect": np.array(effects)}


def _path_counts(parents: list[int]) -> list[list[int]]:
    """Return how many directed paths lead from each node to each other; 1 to itself."""
    m = len(parents)
    counts = [[int(i == j) for j in range(m)] for i in range(m)]
    for child in topological_order(parents):
        for row in counts:
            row[child] += sum(row[parent] for parent in members_of(parents[child]))
    return counts


# Equivalent networks


def parents_in_class(model: LinearGaussianModel, nodes: Nodes) -> tuple[list[int], list[int]]:
    """Return the masks of the nodes' parents, and of those that members with fixed edges have."""
    parents, fixed = map(nodes.parents_of_nodes, (model.parents, model.fixed))
    outside = {*nodes.by_column(np.arange(len(parents)))[[*model.exogenous]].tolist()}
    every = (1 << len(parents)) - 1
    allowed = [mask if v in outside else every for v, mask in enumerate(parents)]
    for child, mask in enumerate(fixed):
        for parent in members_of(mask):
            allowed[parent] &= ~(1 << child)
    return parents, allowed


def class_effect_columns(
    model: LinearGaussianModel, nodes: Nodes, change: Combination, reading: Combination
) -> dict[str, Any]:
    """Return the columns of a table with a row for each set of parents that the cause may have.

    Only members with the model's fixed edges count. The sets of the most members come first.

    Raises ValueError if a node has no noise: its class has other members then; if there are too
    many sets.
    """
    found = class_members(model, nodes, [change.node])
    adjusted = [member[change.node] for member, _ in found]
    dag, factor = dag_of(range(len(nodes.names)), found[0][0]), model.factor()
    return {
        "effect": np.array([_effect(factor, dag, nodes, change, reading, z) for z in adjusted]),
        "n_members": [n for _, n in found],
        "adjusted_for": [[nodes.names[v] for v in members_of(z)] for z in adjusted],
    }


def class_members(
    model: LinearGaussianModel, nodes: Nodes, causes: Sequence[int]
) -> list[tuple[list[int], int]]:
    """Return a member of the class for each choice of the causes' parents, as masks of nodes.

    With it comes how many members give the causes these parents, the most frequent choices first.
    """
    for node, variance in zip(model.nodes, model.noise_variance, strict=True):
        if variance == 0:
            raise ValueError(
                f"Node {node!r} has no noise, as after do, so that equivalent networks are not "
                "told by the graph alone. Ask the network that do was called on."
            )
    parents, allowed = parents_in_class(model, nodes)
    return sorted(members_by_parents(parents, causes, allowed), key=lambda item: -item[1])


def equivalent_model(
    model: LinearGaussianModel, nodes: Nodes, member: list[int]
) -> LinearGaussianModel:
    """Return the coefficients of the same distribution for another member of the class."""
    factor, coef = model.factor(), model.coef.copy()
    parents = nodes.parents_of_columns(member)
    for child, mask in enumerate(parents):
        if mask != model.parents[child]:
            coef[:, child], given = 0.0, members_of(mask)
            coef[given, child] = _regressed(factor[:, given], factor[:, child], len(given))
    return replace(model, parents=parents, coef=coef)


def _regressed(given: Floats, outcome: Floats, k: int) -> Floats:
    """Return the last k coefficients of a regression on some columns."""
    scaled, unit = equilibrated(np.column_stack([given, outcome]))
    corner = triangular_factor(scaled)[-k - 1 :, -k - 1 :]
    solved = solve_triangular(corner[:k, :k], corner[:k, k])
    return np.asarray(solved * (unit[-1] / unit[-k - 1 : -1]))


def _effect(
    factor: Floats,
    dag: nx.DiGraph,
    nodes: Nodes,
    change: Combination,
    reading: Combination,
    parents: int,
) -> float:
    """Return the effect of a change in the members where its node has these parents.

    `factor` is a factor of the joint covariance. The effect is exactly 0 where the outcome is no
    descendant: in all members of the class, the two are then independent given these parents.
    """
    given = members_of(parents)
    ends = {change.node}, {reading.node}
    if reading.node in given or nx.is_d_separator(dag, *ends, {*given}):
        return 0.0
    own, outcome = nodes.columns_of([change.node]), factor[:, reading.columns] @ reading.weights
    causes = factor[:, [*nodes.columns_of(given), *own]]
    weights = matrix_of([change], factor.shape[1])[0, own]
    return float(weights @ _regressed(causes, outcome, len(own)))


# Rows


def counterfactual(
    model: LinearGaussianModel, nodes: Nodes, X: Any, do: Mapping[Hashable, Any]
) -> Any:
    """Return a table as it would have been with nodes set to one value, or to one for each row."""
    rows = encoded_rows(nodes, Table(X), may_miss=True)
    if np.isnan(rows).any():  # by linearity, expected values suffice
        rows = filled(model, nodes, rows)
    values = _values_of_rows(do, nodes, len(rows), row_labels(X))
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
    reached = propagate(np.eye(len(coef))[held], coef != 0, parents).any(axis=0)
    return with_values(X, nodes, changed, np.flatnonzero(reached).tolist(), replaces=True)


def _values_of_rows(
    do: Mapping[Hashable, Any], nodes: Nodes, n_rows: int, labels: Any
) -> dict[int, float | Floats]:
    """Return the values that columns are set to, by their numbers."""
    values: dict[int, float | Floats] = {}
    for node, value in by_label(do, "do", "node").items():
        name = f"The value of node {node!r} in do"
        if is_listed(value) and len(value) == n_rows:
            value = in_order_of_rows(value, labels, n_rows, name)
        found = values_of_columns({node: value}, nodes, "do")
        if any(np.size(each) != n_rows for each in found.values() if np.ndim(each)):
            raise ValueError(
                must_be(name, f"one for all, or one for each of the {n_rows} rows of X", value)
            )
        values |= found
    return values

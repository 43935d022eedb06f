"""The linear equations of a network, in arrays, and as the attributes of a graph.

Each node is a linear function of its parents plus independent noise:
``x_j = intercept_j + sum_i x_i coef_ij + noise_j``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import networkx as nx
import numpy as np

from skbn._core.arrays import Floats
from skbn._core.columns import finite_number
from skbn._core.graphs import dag_of, exogenous_nodes, fixed_parent_masks, parent_masks
from skbn._core.subsets import members_of
from skbn._core.text import readable_value

__all__ = [
    "LinearModel",
    "equilibrated",
    "is_parametrised",
    "parameter_graph",
    "propagate",
    "require_finite",
]


@dataclass(frozen=True)
class LinearModel:
    """A network of m nodes and its parameters, in node order.

    Parameters
    ----------
    nodes : list of m hashables
    parents : list of m int
        The masks of each node's parents.
    coef : ndarray of shape (m, m)
        ``coef[i, j]`` is the weight of the edge i -> j, or 0 without an edge.
    intercept, mean, noise_variance : ndarray of shape (m,)
        The mean is kept beside the intercepts, because differences from it keep all digits
        when it is far from 0.
    fixed : list of m int
        The masks of those parents whose edges are known to have this direction.
    exogenous : tuple of int
        The numbers of the nodes that are not modelled: their mean and their variance only say where
        and how far they were spread in some table.
    """

    nodes: list[Hashable]
    parents: list[int]
    coef: Floats
    intercept: Floats
    mean: Floats
    noise_variance: Floats
    fixed: list[int]
    exogenous: tuple[int, ...] = ()

    @classmethod
    def from_dag(cls, dag: nx.DiGraph) -> Self:
        """Read the parameters from the attributes of an acyclic graph.

        Raises
        ------
        ValueError
            Naming the node or the edge: if an attribute is missing or not a finite number, or a
            variance is negative.
        """
        nodes = list(dag)
        number = {node: v for v, node in enumerate(nodes)}
        intercept, noise_variance = np.empty(len(nodes)), np.empty(len(nodes))
        for node, data in dag.nodes(data=True):
            intercept[number[node]], noise_variance[number[node]] = _node_parameters(node, data)
        coef = np.zeros((len(nodes), len(nodes)))
        for a, b, data in dag.edges(data=True):
            coef[number[a], number[b]] = _weight(a, b, data)
        parents = parent_masks(dag)
        mean = propagate(intercept, coef, parents)
        require_finite(mean, nodes)
        rest = fixed_parent_masks(dag), tuple(number[node] for node in exogenous_nodes(dag))
        return cls(nodes, parents, coef, intercept, mean, noise_variance, *rest)

    def to_dag(self) -> nx.DiGraph:
        """Return the graph with the parameters as attributes."""
        dag = dag_of(self.nodes, self.parents, self.fixed)
        for v in self.exogenous:
            dag.nodes[self.nodes[v]]["exogenous"] = True
        for v, node in enumerate(self.nodes):
            dag.nodes[node]["intercept"] = float(self.intercept[v])
            dag.nodes[node]["noise_variance"] = float(self.noise_variance[v])
        number = {node: v for v, node in enumerate(self.nodes)}
        for a, b, data in dag.edges(data=True):
            data["weight"] = float(self.coef[number[a], number[b]])
        with suppress(ValueError):  # a variance is out of range
            nx.set_edge_attributes(dag, self.standardised_weights(), "standardised_weight")
        return dag

    def standardised_weights(self) -> dict[tuple[Hashable, Hashable], float]:
        """Return each edge's weight between nodes scaled to a standard deviation of 1.

        Edges of which an end does not vary are left out.
        """
        nodes, deviation = self.nodes, self.standard_deviations()
        edges = [(p, c) for c, mask in enumerate(self.parents) for p in members_of(mask)]
        vary = [(p, c) for p, c in edges if deviation[p] > 0 and deviation[c] > 0]
        with np.errstate(over="ignore"):
            scaled = [float(self.coef[p, c] * (deviation[p] / deviation[c])) for p, c in vary]
        return {(nodes[p], nodes[c]): w for (p, c), w in zip(vary, scaled, strict=True)}

    def factor(self) -> Floats:
        """Return the matrix that turns rows of standard noise into rows about the mean.

        ``F = diag(sqrt(noise_variance)) (I - coef)^-1``, and the covariance is F'F.
        """
        # Column by column in the columns' own units, so that extreme units do not overflow.
        factor = propagate(np.diag(np.sqrt(self.noise_variance)), self.coef, self.parents)
        require_finite(factor, self.nodes)
        return factor

    def standard_deviations(self) -> Floats:
        """Return the nodes' standard deviations, shape (m,), even if variances are out of range.

        They are 0 only where neither the node nor an ancestor has noise.
        """
        factor = self.factor()
        return np.where(factor.any(axis=0), equilibrated(factor)[1], 0.0)


def is_parametrised(dag: nx.DiGraph) -> bool:
    """Whether a graph is meant to carry parameters, complete or not.

    Weights alone do not count: other programs' graphs have them for other reasons.
    """
    return any("intercept" in data or "noise_variance" in data for _, data in dag.nodes(data=True))


def parameter_graph(dag: nx.DiGraph) -> nx.DiGraph:
    """Return a copy of an acyclic graph with its parameters, `fixed` and `exogenous` alone.

    Its memory grows with the number of edges, while a LinearModel has a matrix.

    Raises
    ------
    ValueError
        As `LinearModel.from_dag`.
    """
    copy = dag_of(list(dag), parent_masks(dag), fixed_parent_masks(dag))
    copy.add_nodes_from(exogenous_nodes(dag), exogenous=True)
    for node, data in dag.nodes(data=True):
        intercept, variance = _node_parameters(node, data)
        copy.add_node(node, intercept=intercept, noise_variance=variance)
    for a, b, data in dag.edges(data=True):
        copy.edges[a, b]["weight"] = _weight(a, b, data)
    mean: dict[Hashable, float] = {}
    for node in nx.topological_sort(copy):
        own: float = copy.nodes[node]["intercept"]
        mean[node] = own + sum(mean[a] * data["weight"] for a, data in copy.pred[node].items())
    require_finite(np.array([mean[node] for node in copy]), list(copy))
    return copy


def _node_parameters(node: Hashable, data: Mapping[str, Any]) -> tuple[float, float]:
    """Return the intercept and the variance of the noise among a node's attributes."""
    intercept = _attribute(data, "intercept", f"node {node!r}")
    variance = _attribute(data, "noise_variance", f"node {node!r}")
    if variance < 0:
        raise ValueError(
            f"noise_variance of node {node!r} must not be negative; got {readable_value(variance)}."
        )
    return intercept, variance


def _weight(a: Hashable, b: Hashable, data: Mapping[str, Any]) -> float:
    return _attribute(data, "weight", f"edge {a!r} -> {b!r}")


def _attribute(data: Mapping[str, Any], key: str, owner: str) -> float:
    """Return a finite number among the attributes of a node or an edge."""
    if key not in data:
        raise ValueError(
            f"{owner} has no attribute {key}. Give each node an intercept and a noise_variance and "
            "each edge a weight."
        )
    value = data[key]
    if isinstance(value, bool | np.bool_):  # a flag that is out of place
        raise ValueError(f"{key} of {owner} must be a finite number; got {value}.")
    return finite_number(value, f"{key} of {owner}")


def propagate(own: Floats, coef: Floats, parents: list[int]) -> Floats:
    """Solve ``x = own + x @ coef`` of shape (m,) or (k, m), given the masks of the parents."""
    x = own.T.copy()  # a row for each node
    with np.errstate(over="ignore", invalid="ignore"):
        for v in nx.topological_sort(dag_of(range(len(parents)), parents)):
            members = members_of(parents[v])
            x[v] += coef[members, v] @ x[members]
    return np.ascontiguousarray(x.T)


def equilibrated(
    columns: Floats,
) -> tuple[Floats, Floats]:
    """Return columns scaled to norm 1, and the norms; columns of zeros remain as they are."""
    # Divide by the largest entry first, because squares of the entries may over- or underflow.
    largest = np.abs(columns).max(axis=0)
    largest[largest == 0] = 1
    columns = columns / largest
    norm = np.linalg.norm(columns, axis=0)
    norm[norm == 0] = 1
    with np.errstate(over="ignore"):
        return columns / norm, largest * norm


def require_finite(x: Floats, nodes: list[Hashable]) -> None:
    """Raise unless the means or variances of some nodes, of shape (k,) or (n, k), are finite."""
    for node, values in zip(nodes, x.T, strict=True):
        if not np.isfinite(values).all():
            raise ValueError(
                f"The mean or the variance of node {node!r} is out of float64's range. Measure "
                "the nodes in other units."
            )

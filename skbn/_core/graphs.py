"""Acyclic graphs: as users give them, as masks of parents, in pickles, and as linear equations.

In a linear model each node is a linear function of its parents plus independent noise:
``x_j = intercept_j + sum_i x_i coef_ij + noise_j``.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

import networkx as nx
import numpy as np

from skbn._core.arrays import Floats, Names, finite_number
from skbn._core.subsets import mask_of, members_of
from skbn._core.text import internal_error, must_be

# Attributes of edges that a network keeps: how sure edges and their pairs are, by a posterior or a
# bootstrap, and what their reversal costs.
EDGE_NOTES = ("probability", "joined", "support", "strength", "reversal_loss")


def check_dag(
    dag: Any,
    name: str = "dag",
    *,
    expected: str = "a networkx.DiGraph",
    may_be_undirected: bool = False,
) -> None:
    """Raise unless this is an acyclic graph with nodes.

    `name`, `expected`: what errors call it, and what they say it must be
    `may_be_undirected`: whether edges may be undirected, as in a CPDAG
    """
    if not isinstance(dag, nx.DiGraph) or dag.is_multigraph():
        raise TypeError(f"{name} must be {expected}; got {type(dag).__name__}.")
    if not dag:
        raise ValueError(f"{name} must have at least one node.")
    if not nx.is_directed_acyclic_graph(dag):
        cycle = [edge[0] for edge in nx.find_cycle(dag)]
        raise ValueError(f"{name} must be acyclic; it has the cycle {cycle}.")
    if not may_be_undirected:
        reject_undirected(dag, name)


def reject_undirected(graph: nx.DiGraph, name: str) -> None:
    """Raise if a graph has edges without a direction, marked as in a CPDAG."""
    if undirected := [(a, b) for a, b, mark in graph.edges(data="undirected") if mark]:
        raise ValueError(
            f"{name} must have directed edges only; {undirected[0]} is undirected, as in a CPDAG. "
            "Give the network itself, whose graph has all directions, or one of the class, "
            "GaussianBayesianNetwork.from_cpdag(graph).dag."
        )


def check_same_nodes(
    dag: nx.DiGraph, other: nx.DiGraph, names: tuple[str, str] = ("the network", "other")
) -> None:
    """Raise unless two graphs, of these names, have the same nodes, in any order."""
    missing = [node for node in dag if node not in other]
    unexpected = [node for node in other if node not in dag]
    both = ("missing", missing), ("unexpected", unexpected)
    if differences := [f"{what} {nodes}" for what, nodes in both if nodes]:
        raise ValueError(f"{names[1]} must have {names[0]}'s nodes: {'; '.join(differences)}.")


def parent_masks(dag: nx.DiGraph, nodes: Names | None = None) -> list[int]:
    """Return the masks of each node's parents; bit v stands for the v-th of the nodes.

    >>> import networkx as nx
    >>> parent_masks(nx.DiGraph([("a", "c"), ("b", "c")]), ["a", "b", "c"])
    [0, 0, 3]
    """
    nodes = list(dag if nodes is None else nodes)
    number = {node: v for v, node in enumerate(nodes)}
    return [mask_of(number[parent] for parent in dag.predecessors(node)) for node in nodes]


def _truth(value: Any, name: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(must_be(f"The attribute {name}", "True or False", value))
    return bool(value)


def exogenous_nodes(dag: nx.DiGraph) -> list[Hashable]:
    """Return the nodes that have the attribute `exogenous`: they are causes, and not modelled.

    >>> import networkx as nx
    >>> dag = nx.DiGraph([("dose", "response")])
    >>> dag.nodes["dose"]["exogenous"] = True
    >>> exogenous_nodes(dag)
    ['dose']
    """
    nodes = []
    for node, is_exogenous in dag.nodes(data="exogenous", default=False):
        if _truth(is_exogenous, f"exogenous of the node {node!r}"):
            nodes.append(node)
    for a, b in dag.in_edges(nodes):
        if a not in nodes:
            raise ValueError(
                f"Node {b!r} is exogenous, and there is an edge {a!r} -> {b!r}. Leave the edge "
                "out, or the attribute exogenous."
            )
    return nodes


def dag_of(nodes: Names, parents: list[int], fixed: list[int] | None = None) -> nx.DiGraph:
    """Return the graph in which nodes have the parents that their masks say.

    Edges from the parents in the masks `fixed` get the attribute `fixed`. There are no other
    attributes.

    >>> list(dag_of(["a", "b", "c"], [0, 0, 3], [0, 0, 1]).edges(data=True))
    [('a', 'c', {'fixed': True}), ('b', 'c', {})]
    """
    dag = nx.DiGraph()
    dag.add_nodes_from(nodes)
    for child, mask in enumerate(parents):
        dag.add_edges_from((nodes[parent], nodes[child]) for parent in members_of(mask))
    for child, mask in enumerate(fixed or []):
        for parent in members_of(mask):
            dag.edges[nodes[parent], nodes[child]]["fixed"] = True
    return dag


def topological_order(parents: Sequence[int]) -> list[int]:
    """Return the columns, parents before their children; columns that follow a cycle are left out.

    >>> topological_order([0b100, 0b1, 0])
    [2, 0, 1]
    """
    n_left = [mask.bit_count() for mask in parents]
    children: list[list[int]] = [[] for _ in parents]
    for child, mask in enumerate(parents):
        for parent in members_of(mask):
            children[parent].append(child)
    order = [x for x, n in enumerate(n_left) if n == 0]
    for parent in order:  # which grows meanwhile
        for child in children[parent]:
            n_left[child] -= 1
            if n_left[child] == 0:
                order.append(child)
    return order


def descendants_of(parents: Sequence[int]) -> list[int]:
    """Return the mask of the descendants of each column; raise if the network has a cycle."""
    order, after = topological_order(parents), [0] * len(parents)
    if len(order) < len(parents):
        rest = sorted({*range(len(parents))} - {*order})
        raise internal_error(f"the network found has a cycle of the columns {rest} or some of them")
    for child in order[::-1]:
        for parent in members_of(parents[child]):
            after[parent] |= 1 << child | after[child]
    return after


@dataclass(frozen=True)
class Dag:
    """An acyclic graph as a value, with its nodes by number."""

    nodes: list[Any]
    parents: list[int]  # the masks of each node's parents
    fixed: list[int]  # the masks of the parents whose edges are known to have this direction
    exogenous: tuple[int, ...] = ()  # the nodes that are not modelled: they have no parents
    # What is known of edges, by `EDGE_NOTES`: (m, m), entry [i, j] for i -> j; NaN if unknown.
    notes: Mapping[str, Floats] = field(default_factory=dict)
    directions: str = ""  # how edges were directed, if they may not be the best ones

    @classmethod
    def from_networkx(
        cls, graph: Any, name: str = "dag", *, may_be_undirected: bool = False
    ) -> Self:
        """Read a graph, its nodes in order if they are the numbers 0 to m - 1.

        >>> graph = nx.DiGraph([(2, 0, {"fixed": True}), (0, 1, {"support": 0.5})])
        >>> dag = Dag.from_networkx(graph)
        >>> dag.nodes, dag.parents, dag.fixed
        ([0, 1, 2], [4, 1, 0], [4, 0, 0])
        >>> list(dag.to_networkx().edges(data=True))
        [(0, 1, {'support': 0.5}), (2, 0, {'fixed': True})]
        """
        check_dag(graph, name, may_be_undirected=may_be_undirected)
        nodes: list[Any] = list(graph)
        if {*nodes} == {*range(len(nodes))}:
            nodes.sort()
        number = {node: v for v, node in enumerate(nodes)}
        outside, fixed, notes = {*exogenous_nodes(graph)}, [0] * len(nodes), dict[str, Floats]()
        for a, b, data in graph.edges(data=True):
            # Exogenous nodes have no parents.
            is_fixed = _truth(data.get("fixed", False), f"fixed of the edge {a!r} -> {b!r}")
            fixed[number[b]] |= (is_fixed or a in outside) << number[a]
            for each in EDGE_NOTES:
                if (value := data.get(each)) is not None:
                    known = notes.setdefault(each, np.full((len(nodes), len(nodes)), np.nan))
                    value = finite_number(value, f"{each} of edge {a!r} -> {b!r}")
                    known[number[a], number[b]] = value
        numbers = tuple(sorted(number[node] for node in outside))
        said = str(graph.graph.get("directions", ""))
        return cls(nodes, parent_masks(graph, nodes), fixed, numbers, notes, said)

    def to_networkx(self) -> nx.DiGraph:
        """Return a new graph, with what is known of nodes and edges as attributes."""
        graph = dag_of(self.nodes, self.parents, self.fixed)
        graph.graph.update({"directions": self.directions} if self.directions else {})
        graph.add_nodes_from([self.nodes[v] for v in self.exogenous], exogenous=True)
        number = {node: v for v, node in enumerate(self.nodes)}
        for name, values in self.notes.items():
            for a, b, data in graph.edges(data=True):
                if not np.isnan(value := float(values[number[a], number[b]])):
                    data[name] = value
        return graph


class GraphStateMixin:
    """Stores an object's graphs as lists, and `...` by a name, in pickles and in files of skops.

    A graph's own state has cached views, which skops cannot store, and depends on the version of
    networkx. This must be the first base class. A graph of a class derived from networkx.DiGraph
    is stored as it is.
    """

    def __getstate__(self) -> dict[str, Any]:
        # Copied in one step, because another thread may be fitting.
        state = dict(super().__getstate__())  # type: ignore[call-overload]
        state |= {
            name: _replaced(state[name], ..., _OTHERS) for name in _MAY_HOLD_OTHERS & {*state}
        }
        return {
            name: _GraphLists.from_graph(value) if type(value) is nx.DiGraph else value
            for name, value in state.items()
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(
            (name, value.to_graph() if isinstance(value, _GraphLists) else value)
            for name, value in state.items()
        )
        for name in _MAY_HOLD_OTHERS & {*state}:
            self.__dict__[name] = _replaced(self.__dict__[name], _OTHERS, ...)


# Parameters that may hold `...`, which skops can store but not load.
_MAY_HOLD_OTHERS = {"forbidden_edges", "required_edges", "tiers"}
_OTHERS = "\0skbn: all other columns"


def _replaced(value: Any, old: Any, new: Any) -> Any:
    """Return a value, or a nested collection, with one thing replaced by another."""
    if type(value) in (list, tuple, set):
        return type(value)(_replaced(each, old, new) for each in value)
    if type(value) is dict:
        return {key: _replaced(each, old, new) for key, each in value.items()}
    return new if type(value) is type(old) and value == old else value


@dataclass(frozen=True)
class _GraphLists:
    """A directed graph in lists."""

    attributes: dict[str, Any]  # the attributes of the graph itself
    nodes: list[tuple[Hashable, dict[str, Any]]]
    edges: list[tuple[int, int, dict[str, Any]]]  # with the numbers of their two nodes
    is_frozen: bool  # whether it cannot be changed

    @classmethod
    def from_graph(cls, graph: nx.DiGraph) -> Self:
        """Return the lists of a graph."""
        number = {node: v for v, node in enumerate(graph)}
        edges = [(number[a], number[b], data) for a, b, data in graph.edges(data=True)]
        return cls(graph.graph, list(graph.nodes(data=True)), edges, nx.is_frozen(graph))

    def to_graph(self) -> nx.DiGraph:
        """Return a new graph, with attribute dicts of its own."""
        graph: nx.DiGraph = nx.DiGraph()
        graph.graph.update(self.attributes)
        graph.add_nodes_from(self.nodes)
        names = [node for node, _ in self.nodes]
        graph.add_edges_from((names[a], names[b], data) for a, b, data in self.edges)
        return nx.freeze(graph) if self.is_frozen else graph


@dataclass(frozen=True)
class LinearModel:
    """A network of m nodes and its parameters, in node order."""

    nodes: list[Hashable]
    parents: list[int]  # the masks of each node's parents
    coef: Floats  # (m, m): ``coef[i, j]`` is the weight of the edge i -> j, or 0 without an edge
    # (m,): the mean is kept beside the intercepts, because differences from it keep all digits when
    # it is far from 0
    intercept: Floats
    mean: Floats
    noise_variance: Floats
    fixed: list[int]  # the masks of the parents whose edges are known to have this direction
    # the numbers of the nodes that are not modelled: their mean and variance only describe some
    # table
    exogenous: tuple[int, ...] = ()
    before: Any = None  # the model before nodes were set by `do`

    @classmethod
    def from_networkx(cls, dag: nx.DiGraph) -> Self:
        """Read the parameters from the attributes of an acyclic graph."""
        graph = Dag.from_networkx(dag, may_be_undirected=True)
        nodes, number = graph.nodes, {node: v for v, node in enumerate(graph.nodes)}
        intercept, noise_variance = np.empty(len(nodes)), np.empty(len(nodes))
        for node, data in dag.nodes(data=True):
            v, owner = number[node], f"node {node!r}"
            intercept[v] = _attribute(data, "intercept", owner)
            noise_variance[v] = _attribute(data, "noise_variance", owner)
            if noise_variance[v] < 0:
                raise ValueError(
                    f"noise_variance of {owner} must not be negative; got {noise_variance[v]}."
                )
        coef = np.zeros((len(nodes), len(nodes)))
        for a, b, data in dag.edges(data=True):
            coef[number[a], number[b]] = _attribute(data, "weight", f"edge {a!r} -> {b!r}")
        mean = propagate(intercept, coef, graph.parents)
        require_finite(mean, nodes)
        known = coef, intercept, mean, noise_variance
        return cls(nodes, graph.parents, *known, graph.fixed, graph.exogenous)

    @property
    def dag(self) -> Dag:
        """The graph without the parameters."""
        return Dag(self.nodes, self.parents, self.fixed, self.exogenous)

    def to_networkx(self, graph: Dag | None = None) -> nx.DiGraph:
        """Return a graph, by default that of the model, with the parameters as attributes."""
        dag = (self.dag if graph is None else graph).to_networkx()
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


def _attribute(data: Mapping[str, Any], key: str, owner: str) -> float:
    """Return a finite number among the attributes of a node or an edge."""
    if key not in data:
        raise ValueError(
            f"{owner} has no attribute {key}. Give each node an intercept and a noise_variance and "
            "each edge a weight, or leave the first two out of all nodes and call fit."
        )
    value = data[key]
    if isinstance(value, bool | np.bool_):  # a flag that is out of place
        raise ValueError(f"{key} of {owner} must be a finite number; got {value}.")
    return finite_number(value, f"{key} of {owner}")


def propagate(own: Floats, coef: Floats, parents: list[int]) -> Floats:
    """Solve ``x = own + x @ coef`` of shape (m,) or (k, m), given the masks of the parents."""
    x = own.T.copy()  # a row for each node
    with np.errstate(over="ignore", invalid="ignore"):
        for v in topological_order(parents):
            members = members_of(parents[v])
            x[v] += coef[members, v] @ x[members]
    return np.ascontiguousarray(x.T)


def equilibrated(columns: Floats) -> tuple[Floats, Floats]:
    """Return columns scaled to norm 1, and the norms; columns of zeros remain as they are."""
    # Divide by the largest entry first, because squares of the entries may over- or underflow.
    largest = np.maximum(columns.max(axis=0), -columns.min(axis=0))
    largest[largest == 0] = 1
    columns = columns / largest
    norm = np.linalg.norm(columns, axis=0)
    norm[norm == 0] = 1
    with np.errstate(over="ignore"):
        columns /= norm
        return columns, largest * norm


_OUT_OF_RANGE = (
    "The mean or the variance of node {node!r} is out of float64's range. Measure the nodes in "
    "other units."
)


def require_finite(x: Floats, nodes: list[Hashable], message: str = _OUT_OF_RANGE) -> None:
    """Raise unless values of some nodes, of shape (k,) or (n, k), are finite.

    The message may name the node and the row.
    """
    for node, values in zip(nodes, x.T, strict=True):
        is_finite = np.isfinite(values)
        if not is_finite.all():
            raise ValueError(message.format(node=node, row=int(np.argmin(is_finite))))


def own_texts(nodes: Iterable[Hashable], text_of: Callable[[Hashable], str]) -> dict[Hashable, str]:
    """Return the texts of nodes, if no two are the same."""
    node_of: dict[str, Hashable] = {}
    for node in nodes:
        if (same := node_of.setdefault(text_of(node), node)) is not node:
            raise ValueError(
                f"The nodes {same!r} and {node!r} have the same text. Rename one with "
                "networkx.relabel_nodes."
            )
    return {node: text for text, node in node_of.items()}

"""GaussianBlockNetwork: a network whose nodes are blocks of columns."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Self

import networkx as nx
import numpy as np
from sklearn.exceptions import NotFittedError

from skbn._core.arrays import Floats
from skbn._core.graphs import check_dag, dag_of, equilibrated, keep_confidences, parent_masks
from skbn._core.subsets import members_of
from skbn._core.text import readable_value
from skbn._data.encoding import require_levels
from skbn._data.nodes import Nodes
from skbn._data.sample import Sample
from skbn._networks import interchange
from skbn._networks.descriptions import network_text
from skbn._networks.gaussian import LinearGaussianModel
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.base import BaseScores


class GaussianBlockNetwork(GaussianBayesianNetwork):
    """A Gaussian Bayesian network whose nodes have several columns each.

    A learner with the parameter `nodes` finds one. A category is a node whose columns are the
    indicators of its levels but the first; a spline or a sensor has the columns that the user
    named. Structure, the table of edges and pictures are about nodes. The joint distribution is
    of the columns, a Gaussian network in which the columns of a node are joined to each other
    and to all columns of the node's parents: `columns_` is that network.

    A category's indicators are taken for Gaussian. What is predicted of them are linear
    probabilities, which may leave [0, 1].

    Parameters
    ----------
    dag : networkx.DiGraph
        Acyclic, with the same nodes as `blocks`.
    blocks : Nodes
        Which columns stand for each node, as a learner makes them of a table.

    See Also
    --------
    GaussianBNLearner : Finds the best network of a table; its `nodes` says what a node is.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skbn import GaussianBNLearner
    >>> iris = load_iris(as_frame=True)
    >>> table = iris.data.iloc[:, 2:].set_axis(["length", "width"], axis=1)
    >>> table["species"] = iris.target_names[iris.target]
    >>> network = GaussianBNLearner(nodes="auto").fit(table).network_
    >>> network.nodes_["species"]
    ['species=versicolor', 'species=virginica']
    >>> round(network.condition({"species": "setosa"})["length"].mean, 2)
    1.46
    """

    def __init__(self, dag: nx.DiGraph, blocks: Nodes) -> None:
        super().__init__(dag)
        self.blocks = blocks

    # Nodes and columns

    @property
    def _blocks(self) -> Nodes:
        check_dag(self.dag)
        nodes, names = list(self.dag), self.blocks.names
        if {*nodes} != {*names}:
            raise ValueError(
                f"The nodes of dag are {readable_value(nodes)}, and those of blocks "
                f"{readable_value(names)}. They must be the same."
            )
        if nodes == names:
            return self.blocks
        return self.blocks.select_nodes([names.index(node) for node in nodes])

    @property
    def nodes_(self) -> dict[Hashable, list[str | int]]:
        """The names of each node's columns."""
        names = self.blocks.column_names
        return {
            node: [names[column] for column in self.blocks.columns_of([v])]
            for v, node in enumerate(self.blocks.names)
        }

    @property
    def columns_(self) -> GaussianBayesianNetwork:
        """The network of the columns, with its parameters.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no parameters.
        """
        return GaussianBayesianNetwork._from_model(self._model())

    @property
    def dag_(self) -> nx.DiGraph:
        """The graph of the nodes.

        Its edges have the attributes `coefficients` and `partial_r2`. The child's columns are
        regressed on the columns of its parents; `coefficients` has a list for each column of the
        parent, as JSON text, which the formats of networkx can write. `partial_r2` is as in
        `to_frame`. Edges between single columns, of which a category of two levels is one, have a
        `weight` and a `standardised_weight` too; categories have their number of `levels`, or the
        `level` that their only column stands for. The edges have the `probability` or `support`
        that they have in `dag`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no parameters.
        """
        dag = self._structure()
        self._describe(dag, self._model())
        return keep_confidences(dag, self.dag, "fixed")

    def _describe(self, dag: nx.DiGraph, model: LinearGaussianModel) -> None:
        """Set the attributes of a graph's nodes and edges that say what the parameters are."""
        columns, standardised = self.nodes_, model.standardised_weights()
        number = {node: v for v, node in enumerate(dag)}
        for node in self.blocks.levels:
            dag.nodes[node]["levels"] = len(columns[node]) + 1
            if len(columns[node]) == 1:
                dag.nodes[node]["level"] = str(columns[node][0])
        blocks, parents = self._blocks, parent_masks(dag)
        shares = _partial_r2(blocks, model, parents, [(number[p], number[c]) for p, c in dag.edges])
        for (parent, child, data), share in zip(dag.edges(data=True), shares, strict=True):
            coefficients = _coefficients(blocks, model, number[parent], number[child])
            data |= {"coefficients": json.dumps(coefficients.tolist()), "partial_r2": float(share)}
            if coefficients.size == 1:
                data["weight"] = float(coefficients[0, 0])
                ends = columns[parent][0], columns[child][0]
                if ends in standardised:
                    data["standardised_weight"] = standardised[ends]

    # Rows

    def _rows_of(self, X: Any, *, may_miss: bool = True) -> Floats:
        return self._sample_of(X, may_miss=may_miss).rows

    def _sample_of(self, X: Any, sample_weight: Any = None, *, may_miss: bool = True) -> Sample:
        if isinstance(X, BaseScores):
            return self._own_columns(X.sample).with_weight(sample_weight)
        return super()._sample_of(X, sample_weight, may_miss=may_miss)

    def _own_columns(self, sample: Sample) -> Sample:
        assert sample.nodes is not None
        blocks, names = self._blocks, sample.nodes.column_names
        require_levels(sample, blocks)
        return sample.select([names.index(name) for name in blocks.column_names])

    # A table of the edges

    def _weight_columns(
        self, model: LinearGaussianModel, edges: list[tuple[int, int]]
    ) -> dict[str, Any]:
        blocks = self._blocks
        weights = [_coefficients(blocks, model, *edge) for edge in edges]
        return {
            "weight": [float(each[0, 0]) if each.size == 1 else np.nan for each in weights],
            "coefficients": [
                _by_columns(blocks, each, *edge) for each, edge in zip(weights, edges, strict=True)
            ],
            "partial_r2": _partial_r2(blocks, model, parent_masks(self.dag), edges),
        }

    # Formats of other programs

    def _json_contents(self) -> dict[str, Any]:
        return interchange.to_block_data(self._blocks, interchange.to_data(self._model()))

    @classmethod
    def from_json(cls, text_or_path: str | os.PathLike[str]) -> Self:
        """Read a network from the text that `to_json` returns, or the file that it writes.

        Parameters
        ----------
        text_or_path : str or path

        Returns
        -------
        network : GaussianBlockNetwork

        Raises
        ------
        TypeError
            If it is neither a string nor a path.
        ValueError
            If a part is missing or wrong; the error names it.
        OSError
            If the file cannot be read.
        """
        contents, name = interchange.from_json(text_or_path)
        blocks, data = interchange.from_block_data(contents, name)
        dag, means = interchange.from_data(data, f"'network' in {name}")
        model = LinearGaussianModel.from_dag(dag)
        interchange.check_columns(blocks, model, name)
        return cls._of_model(model if means is None else replace(model, mean=means), blocks)

    # What the methods share

    @classmethod
    def _of_model(cls, model: LinearGaussianModel, blocks: Nodes) -> Self:
        """Return the network of nodes whose columns have these parameters."""
        node_of = blocks.by_column(np.arange(len(blocks.names)))
        parents, fixed = map(blocks.parents_of_nodes, (model.parents, model.fixed))
        dag = dag_of(blocks.names, parents, fixed)
        for v in {*node_of[list(model.exogenous)].tolist()}:
            dag.nodes[blocks.names[v]]["exogenous"] = True
        network = cls(dag, blocks)
        network._describe(dag, model)
        network._keep(model)
        return network

    def _fixed(self) -> list[int]:
        return self._blocks.parents_of_columns(super()._fixed(), within=False)

    def _parameters(self) -> LinearGaussianModel | None:
        fixed = self._fixed()
        if self._estimated is None or not self._is_learned_graph():
            return None
        return replace(self._estimated, fixed=fixed)

    def _columns_by_node(self) -> dict[Hashable, list[Any]]:
        return {**self.nodes_}

    def _with_model(self, model: LinearGaussianModel) -> Self:
        return self._of_model(model, self._blocks)

    def _single_columns(self, method: str) -> LinearGaussianModel:
        raise TypeError(
            f"{method} is for networks whose nodes are single columns. Use "
            f"network.columns_.{method}(), which is about the columns."
        )

    def _model(self) -> LinearGaussianModel:
        model = self._parameters()
        if model is None:
            raise NotFittedError("This GaussianBlockNetwork has no parameters yet. Call fit.")
        return model

    def _exported_graph(self, cpdag: bool) -> nx.DiGraph:
        return self.cpdag() if cpdag else self._structure()

    def __repr__(self) -> str:
        n_columns = len(self.blocks.columns)
        return f"{type(self).__name__}(dag=<{self.dag}>, {n_columns} columns)"

    def _text(self, max_rows: int | None = None) -> str:
        title, _, edges = network_text(type(self).__name__, self.dag, None).partition("\n")
        model = self._parameters()
        if model is None:
            return f"{title}\n{edges}"
        _, _, equations = network_text("", model.to_dag(), model, max_rows).partition("\n")
        return f"{title}\n{equations}"


def _coefficients(blocks: Nodes, model: LinearGaussianModel, parent: int, child: int) -> Floats:
    """Return the coefficients of a child's columns on a parent's, shape (n_parent, n_child).

    Each column of the child has those before it as parents too; these are solved for.
    """
    of_parent, of_child = (blocks.columns_of([v]) for v in (parent, child))
    within = np.eye(len(of_child)) - model.coef[np.ix_(of_child, of_child)]
    solved = np.linalg.solve(within.T, model.coef[np.ix_(of_parent, of_child)].T)
    return np.asarray(solved.T)


def _by_columns(
    blocks: Nodes, coefficients: Floats, parent: int, child: int
) -> dict[tuple[Hashable, Hashable], float]:
    """Return coefficients by the names of both columns."""
    rows, columns = (
        [blocks.column_names[i] for i in blocks.columns_of([v])] for v in (parent, child)
    )
    return dict(zip(product(rows, columns), coefficients.ravel().tolist(), strict=True))


def _partial_r2(
    blocks: Nodes,
    model: LinearGaussianModel,
    parents: list[int],
    edges: Sequence[tuple[int, int]],
) -> list[float]:
    """Return the share of its child's generalised variance that each edge's parent explains."""
    scaled, _ = equilibrated(model.factor())
    correlation, varies = scaled.T @ scaled, np.abs(scaled).max(axis=0) > 0

    def log_det(nodes: Sequence[int]) -> float:
        at = [i for i in blocks.columns_of(nodes) if varies[i]]  # `do` holds some
        return float(np.linalg.slogdet(correlation[np.ix_(at, at)])[1])

    found = []
    for parent, child in edges:
        others = [v for v in members_of(parents[child]) if v != parent]
        with_parent = log_det([*others, parent, child]) - log_det([*others, parent])
        without = log_det([*others, child]) - log_det(others)
        found.append(1 - np.exp(with_parent - without))
    return found


def network_of_model(model: LinearGaussianModel, nodes: Nodes | None) -> GaussianBayesianNetwork:
    """Return the network whose columns have these parameters; without `nodes`, each is a node."""
    if nodes is None:
        return GaussianBayesianNetwork._from_model(model)
    return GaussianBlockNetwork._of_model(model, nodes)

"""NetworkValue: what a network is made of, and how tables are read for its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import networkx as nx
import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_array

from skbn._core import graphs
from skbn._core.arrays import Booleans, Floats
from skbn._core.estimator import CallbackSupportMixin
from skbn._core.graphs import Dag
from skbn._core.text import readable_value
from skbn._data.containers import row_labels
from skbn._data.dask_rows import read_summary
from skbn._data.encoding import category_nodes, encoded_rows, require_levels
from skbn._data.experiments import read_interventions
from skbn._data.nodes import Nodes
from skbn._data.sample import Sample
from skbn._data.statistics import GroupStatistics
from skbn._data.table import Table, numbers_of
from skbn._displays.notebook import DocLinkMixin, PlotMixin
from skbn._networks import descriptions, estimation
from skbn._networks.clusters import ClusterErrors
from skbn._networks.gaussian import LinearGaussianModel
from skbn._scores.base import BaseScores


class NetworkValue(DocLinkMixin, PlotMixin, CallbackSupportMixin, DensityMixin, BaseEstimator):
    """A graph in masks, the columns of its nodes, and the parameters in arrays.

    It is what the methods of `GaussianBayesianNetwork` share, and what that shows of itself. Graphs
    of networkx are read by the constructor and made by `dag`.
    """

    _graph: Dag
    _blocks: Nodes  # which columns, those of the parameters, stand for each node
    _parameters: LinearGaussianModel | None
    _score_losses: Floats | None
    _groups: list[GroupStatistics] | None  # of the rows, if the parameters are their least squares
    _clusters: ClusterErrors | None
    # What `fit` does not change: the parameters and the columns of the nodes that were given.
    _given: tuple[LinearGaussianModel | None, Nodes | None]
    # What `set_output` was told: "default", "pandas" or "polars"; None leaves it to scikit-learn.
    _output_container: str | None = None
    # Without this, Python would iterate by asking for 0, 1, 2 ..., which may be nodes.
    __iter__: ClassVar[None] = None

    def __init__(self, dag: nx.DiGraph, blocks: Nodes | None = None) -> None:
        graph = Dag.from_networkx(dag)
        nodes, model = nodes_in_order(graph.nodes, blocks), None
        if nodes.are_columns and graphs.is_parametrised(dag):
            model = LinearGaussianModel.from_networkx(dag)
        self._become(graph, model, blocks)

    @classmethod
    def _of(
        cls,
        graph: Dag,
        model: LinearGaussianModel | None = None,
        blocks: Nodes | None = None,
        *learned: Any,
    ) -> Self:
        """Return the network of a graph, whose columns have these parameters.

        `learned` is what `_learn` takes besides.
        """
        network = cls.__new__(cls)
        network._become(graph, model, blocks, *learned)
        return network

    def _become(
        self, graph: Dag, model: LinearGaussianModel | None, blocks: Nodes | None, *learned: Any
    ) -> None:
        nodes = nodes_in_order(graph.nodes, blocks)
        self.__dict__.update(_graph=graph, _blocks=nodes, _given=(model, blocks))
        self._learn(model, *learned)

    def _learn(
        self,
        model: LinearGaussianModel | None,
        score_losses: Floats | None = None,
        statistics: list[GroupStatistics] | None = None,
        clusters: ClusterErrors | None = None,
    ) -> None:
        """Take other parameters, estimated from the statistics, of rows that may be in clusters.

        With a prior the statistics are dropped, because they do not describe the rows alone.
        """
        has_prior = any(each.independence.has_prior for _, each in statistics or ())
        self._parameters, self._score_losses, self._clusters = model, score_losses, clusters
        self._groups = None if has_prior else statistics

    @classmethod
    def _from_model(
        cls, model: LinearGaussianModel, blocks: Nodes | None = None, *learned: Any
    ) -> Self:
        """Return the network whose columns have these parameters; by default they are nodes.

        `learned` is what `_learn` takes besides.
        """
        if blocks is None or blocks.are_columns:
            return cls._of(model.dag, model, None, *learned)
        parents, fixed = map(blocks.parents_of_nodes, (model.parents, model.fixed))
        outside = {*blocks.by_column(np.arange(len(parents)))[[*model.exogenous]].tolist()}
        graph = Dag(blocks.names, parents, fixed, tuple(sorted(outside)))
        return cls._of(graph, model, blocks, *learned)

    def _with_notes(self, directions: str = "", **notes: Floats) -> Self:
        """Return the network with what is known of its edges, in arrays of shape (m, m)."""
        network = copy(self)
        network._graph = replace(self._graph, notes=notes, directions=directions)
        return network

    # scikit-learn's conventions, and text

    @property
    def blocks(self) -> Nodes | None:
        """Which columns stand for each node, as the constructor was told."""
        return self._given[1]

    def set_params(self, **params: Any) -> Self:
        """Replace the graph or the columns of its nodes, as by a new network.

        Parameters
        ----------
        **params
            `dag` or `blocks`.

        Returns
        -------
        self : GaussianBayesianNetwork
            Without what `fit` estimated.
        """
        own = self.__sklearn_clone__().get_params(deep=False)
        super().set_params(**{name: params[name] for name in {*params} - {*own}})  # raises
        if params:
            type(self).__init__(self, **own | params)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return self._parameters is not None

    def __sklearn_clone__(self) -> Self:
        # Keeps the settings of set_output and of callbacks.
        clone = copy(self)
        clone._become(self._graph, *self._given)
        return clone

    def __dir__(self) -> list[str]:
        # Leaves out attributes whose computation fails, since a notebook reads all that are listed.
        names = []
        for name in object.__dir__(self):
            with suppress(AttributeError, TypeError, ValueError):
                getattr(self, name)
                names.append(name)
        return names

    def __repr__(self) -> str:
        given = self._blocks if self.blocks is not None or self._blocks.levels else None
        of_columns = "" if given is None else f", {len(given.columns)} columns"
        return f"{type(self).__name__}(dag=<{self._structure()}>{of_columns})"

    def __str__(self) -> str:
        return self._text()

    def _text(self, max_rows: int | None = None) -> str:
        """Return what the network consists of, and the regressions of up to `max_rows` nodes."""
        model, blocks, shown = self._parameters, self._blocks, dict[int, float]()
        if model is not None:
            most = descriptions.MOST_LINES if max_rows is None else max_rows
            start_of = {v: start for v, start in enumerate(blocks.starts[:-1]) if start < most}
            shares = descriptions.r2(model, blocks, self._groups, [*start_of])
            known = {start_of[v]: r2 for v, r2 in shares.items() if r2 == r2}
            shown = {i: r2 for i, r2 in known.items() if blocks.are_numbers[i]}
        title = type(self).__name__
        return descriptions.network_text(title, self._graph, model, max_rows, shown)

    def _shown_graph(self) -> nx.DiGraph:
        return self.dag

    # What the methods share

    @property
    def dag(self) -> nx.DiGraph:
        """A new graph of networkx, which has the parameters, if any, as attributes.

        Changes of it do not reach the network. Make a network of the changed graph:
        ``GaussianBayesianNetwork(changed)``, with `blocks` as a second argument if the network has
        some.

        Nodes have `intercept` and `noise_variance`, and edges `weight` and, if both ends vary,
        `standardised_weight` (as in `to_frame`). Edges also have `fixed`, and the `probability`,
        `joined`, `support`, `strength` and `reversal_loss` that a posterior, a bootstrap or
        `NonGaussianBNLearner` knows of them. All are plain numbers, so that networkx can write the
        graph as GraphML, GML or JSON.

        If nodes have several columns, edges have `coefficients`, a list for each column of the
        parent as JSON text, and `partial_r2` as in `to_frame`. Edges between single columns, of
        which a category of two levels is one, have weights too; categories have their number of
        `levels`, or the `level` that their only column stands for.
        """
        model = self._parameters
        if model is None:
            return self._graph.to_networkx()
        if self._blocks.are_columns:
            return model.to_networkx(self._graph)
        return descriptions.describe(self._graph.to_networkx(), self._blocks, model)

    @property
    def dag_(self) -> nx.DiGraph:
        """As `dag`, once there are parameters: the name that it has in learners."""
        self._model()
        return self.dag

    def _structure(self) -> nx.DiGraph:
        """Return the graph without attributes."""
        return graphs.dag_of(self._graph.nodes, self._graph.parents)

    def _rows_of(self, X: Any, *, may_miss: bool = True, unseen: set[int] | None = None) -> Floats:
        """Return a table's rows with the columns of the nodes; `unseen` as for `encoded_rows`."""
        return encoded_rows(self._blocks, Table(X), may_miss=may_miss, unseen=unseen)

    def _nodes_in(self, X: Any) -> Nodes:
        """Return the columns that stand for each node when the network is fitted to a table.

        They are those of its categories if nothing else says it. A column of truth values stays one
        of numbers.
        """
        nodes, known = self._graph.nodes, self.blocks
        if known is None and isinstance(X, BaseScores):
            known = X.sample.nodes
        elif known is None and not (table := Table(X)).is_lazy:
            known = category_nodes(nodes, table)
        is_own = known is self.blocks or (known and {*known.names} == {*nodes})
        return nodes_in_order(nodes, known if is_own else None)

    def _rows_and_set(
        self, X: Any, sample_weight: Any, interventions: Any
    ) -> tuple[Sample, Booleans | None]:
        """Return these rows, and which nodes were set in each, if some were.

        They have the weights that are given or that LocalScores have, and are only a summary if X
        is a table of dask.
        """
        if isinstance(X, BaseScores):
            if interventions is not None:
                raise ValueError(
                    "interventions were given with LocalScores, which say themselves what was set. "
                    "Pass the table."
                )
            sample = self._own_columns(X.sample, X.columns).with_weight(sample_weight)
            is_set = sets_in(X.sample)
            nodes = [X.columns.index(node) for node in self._graph.nodes]
            return sample, None if is_set is None else is_set[:, nodes]
        blocks, table = self._blocks, Table(X)
        if table.is_lazy and not blocks.levels:
            names = blocks.column_names
            numbers = numbers_of(table, names, blocks.labels)
            n_rows, sample = read_summary(X, sample_weight, numbers=numbers, names=names)
            check_array(np.zeros((min(n_rows, 1), len(names))), input_name="X")
        else:
            rows = encoded_rows(blocks, table, may_miss=True)
            sample = Sample(rows, labels=row_labels(X), may_miss=True).with_weight(sample_weight)
        if interventions is None:
            return sample, None
        if not sample.has_rows:
            raise TypeError("interventions need rows in memory. Pass X.compute().")
        is_set = read_interventions(interventions, sample, self._graph.nodes)
        return sample, is_set if is_set.any() else None

    def _graph_of_columns(self) -> estimation.GraphOfColumns:
        """Return the graph of the nodes' columns."""
        graph, blocks = self._graph, self._blocks
        fixed = blocks.parents_of_columns(graph.fixed, within=False)
        outside = blocks.columns_of(graph.exogenous)
        parents = blocks.parents_of_columns(graph.parents)
        return estimation.GraphOfColumns(blocks, parents, fixed, outside)

    def _set_columns(self, is_set: Booleans | None) -> Booleans | None:
        """Return whether each column was set in each row, from whether each node was."""
        return None if is_set is None else self._blocks.by_column(is_set)

    def _own_columns(self, sample: Sample, nodes: Sequence[Any] | None = None) -> Sample:
        """Return the sample of a learner's rows with the columns of the nodes.

        `nodes` are those of the sample, by default those of the network.
        """
        blocks = self._blocks
        names: list[Any] = [*(self._graph.nodes if nodes is None else nodes)]
        if sample.nodes is not None:
            require_levels(sample, blocks)
            names = [*sample.nodes.column_names]
        if names == blocks.column_names:
            return sample
        if missing := [name for name in blocks.column_names if name not in names]:
            raise ValueError(
                f"X must have a column for each node; missing {readable_value(missing)}. Make the "
                "LocalScores of a table with all of them."
            )
        return sample.select([names.index(name) for name in blocks.column_names])

    def _model(self) -> LinearGaussianModel:
        """Return the parameters; raise a NotFittedError if there are none."""
        if self._parameters is None:
            raise NotFittedError(
                "This GaussianBayesianNetwork has no parameters yet. Call fit, or give the nodes "
                "of dag the attributes intercept and noise_variance and its edges weight."
            )
        return self._parameters

    def _edge_columns(
        self, losses: Floats | None = None, confidence: float | None = 0.95
    ) -> tuple[dict[str, Any], list[tuple[Any, Any]]]:
        """Return the columns of the table of edges, and the edge that each row is of."""
        known = self._score_losses if losses is None else losses, self._groups, self._clusters
        return descriptions.edge_columns(
            self._graph, self._blocks, self._parameters, *known, confidence
        )


def nodes_in_order(nodes: Sequence[Any], blocks: Nodes | None) -> Nodes:
    """Return which columns stand for each node of a graph; by default a column each."""
    if blocks is None:
        return Nodes.of_single_columns(nodes)
    names: list[Any] = blocks.names
    if {*nodes} != {*names}:
        raise ValueError(
            f"The nodes of dag are {readable_value([*nodes])}, and those of blocks "
            f"{readable_value(names)}. They must be the same."
        )
    return blocks if [*nodes] == names else blocks.select_nodes([*map(names.index, nodes)])


def sets_in(sample: Sample) -> Booleans | None:
    """Return which nodes were set in each row of LocalScores, if some were."""
    if sample.is_experiment and sample.is_set is None:
        raise ValueError(
            "These LocalScores have interventions, and no rows that say which values were set. "
            "Pass the table with its interventions."
        )
    return sample.is_set

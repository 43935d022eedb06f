"""NetworkState: a graph, what was learned of it, and how tables are read for its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
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
from skbn._core.graphs import GraphStateMixin
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


class NetworkState(
    GraphStateMixin, DocLinkMixin, PlotMixin, CallbackSupportMixin, DensityMixin, BaseEstimator
):
    """A graph with the nodes' columns and, while it is not changed, the parameters learned.

    It is what the methods of `GaussianBayesianNetwork` share, and what that shows of itself.
    """

    # What is known of the graph while its contents are `_learned_graph`.
    _estimated: LinearGaussianModel | None = None
    _score_losses: Floats | None = None
    _statistics: list[GroupStatistics] | None = None
    _clusters: ClusterErrors | None = None
    _means: Floats | None = None
    _learned_graph: tuple[list[Any], list[Any]] | None = None
    # What `set_output` was told: "default", "pandas" or "polars"; None leaves it to scikit-learn.
    _output_container: str | None = None
    # The nodes that `fit` made of a table with categories.
    _learned_blocks: Nodes | None = None
    # Without this, Python would iterate by asking for 0, 1, 2 ..., which may be nodes.
    __iter__: ClassVar[None] = None

    def __init__(self, dag: nx.DiGraph, blocks: Nodes | None = None) -> None:
        self.dag = dag
        self.blocks = blocks

    # scikit-learn's conventions, and text

    def __sklearn_is_fitted__(self) -> bool:
        try:
            self._model()
        except (TypeError, ValueError):  # not a graph, or parameters missing or wrong
            return False
        return True

    def __sklearn_clone__(self) -> Self:
        # sklearn.base.clone keeps the setting of set_output.
        clone = super().__sklearn_clone__()
        clone._output_container = self._output_container
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
        blocks = self._learned_blocks if self.blocks is None else self.blocks
        of_columns = "" if blocks is None else f", {len(blocks.columns)} columns"
        note = self._shown_note()
        unusable = f", which cannot be used: {note}" if note else ""
        return f"{type(self).__name__}(dag=<{self.dag}>{of_columns}){unusable}"

    def __str__(self) -> str:
        return repr(self) if self._shown_note() else self._text()

    def _text(self, max_rows: int | None = None) -> str:
        """Return what the network consists of, and the regressions of up to `max_rows` nodes."""
        model, name = self._model() if self.__sklearn_is_fitted__() else None, type(self).__name__
        if model is None:
            return descriptions.network_text(name, self._graph, None, max_rows)
        blocks, most = self._blocks, descriptions.MOST_LINES if max_rows is None else max_rows
        start_of = {v: start for v, start in enumerate(blocks.starts[:-1]) if start < most}
        shares = descriptions.r2(model, blocks, self._groups, [*start_of])
        are_shown = {v for v, r2 in shares.items() if blocks.are_numbers[start_of[v]] and r2 == r2}
        of_columns = {start_of[v]: shares[v] for v in are_shown}
        if blocks.are_columns:
            return descriptions.network_text(name, self._graph, model, max_rows, of_columns)
        title, *_ = descriptions.network_text(name, self._graph, None).partition("\n")
        text = descriptions.network_text("", model.to_dag(), model, max_rows, of_columns)
        return f"{title}\n{text.partition(chr(10))[2]}"

    def _shown_graph(self) -> nx.DiGraph | None:
        try:
            return self.dag_ if self.__sklearn_is_fitted__() else self._structure()
        except (TypeError, ValueError):
            return None

    def _shown_note(self) -> str:
        try:
            self._structure()
        except (TypeError, ValueError) as error:
            return str(error)
        return ""

    # What the methods share

    @property
    def _graph(self) -> nx.DiGraph:
        """The graph, its nodes in the order of the columns."""
        return in_column_order(self.dag)

    def _structure(self) -> nx.DiGraph:
        """Return the graph without attributes, after checking it."""
        graphs.check_dag(self.dag)
        return graphs.dag_of(list(self._graph), graphs.parent_masks(self._graph))

    @classmethod
    def _from_model(
        cls, model: LinearGaussianModel, blocks: Nodes | None = None, *kept: Any
    ) -> Self:
        """Return the network whose columns have these parameters; by default they are nodes.

        `kept` is what `_keep` takes besides.
        """
        if blocks is None or blocks.are_columns:
            network = cls(model.to_dag())
            if [*network._graph] != model.nodes:  # numbers of columns in another order
                network._keep(None)
                network._means = model.mean[[*map(model.nodes.index, network._graph)]]
                return network
        else:
            parents, fixed = map(blocks.parents_of_nodes, (model.parents, model.fixed))
            dag = graphs.dag_of(blocks.names, parents, fixed)
            outside = blocks.by_column(np.arange(len(parents)))[[*model.exogenous]]
            dag.add_nodes_from((blocks.names[v] for v in {*outside.tolist()}), exogenous=True)
            network = cls(descriptions.describe(dag, blocks, model), blocks)
        network._keep(model, *kept)
        return network

    def _keep(
        self,
        model: LinearGaussianModel | None,
        score_losses: Floats | None = None,
        statistics: list[GroupStatistics] | None = None,
        clusters: ClusterErrors | None = None,
    ) -> None:
        """Keep what was learned, and the graph's contents, which reveal a change of the graph.

        The model was estimated from the statistics, of rows that may come in clusters. With a prior
        the statistics are dropped, because they do not describe the rows alone.
        """
        has_prior = any(each.independence.has_prior for _, each in statistics or ())
        kept: dict[str, Any] = {"_estimated": model, "_score_losses": score_losses, "_means": None}
        kept |= {"_statistics": None if has_prior else statistics, "_clusters": clusters}
        # In one step, which Ctrl-C cannot interrupt.
        self.__dict__.update(kept, _learned_graph=graphs.graph_contents(self.dag))

    @property
    def _groups(self) -> list[GroupStatistics] | None:
        """The statistics behind the graph's estimates, if these are by least squares."""
        return self._statistics if self._is_learned_graph() else None

    def _is_learned_graph(self) -> bool:
        """Whether the estimates and the score losses still belong to the graph."""
        return self._learned_graph == graphs.graph_contents(self.dag)

    @property
    def _blocks(self) -> Nodes:
        """Which columns, those of the parameters, stand for each node, in the graph's order."""
        graphs.check_dag(self.dag)
        nodes, blocks = list(self._graph), self.blocks
        if blocks is None and self._learned_blocks and {*self._learned_blocks.names} == {*nodes}:
            blocks = self._learned_blocks
        if blocks is None:
            return Nodes.of_single_columns(nodes)
        names = blocks.names
        if {*nodes} != {*names}:
            raise ValueError(
                f"The nodes of dag are {readable_value(nodes)}, and those of blocks "
                f"{readable_value(names)}. They must be the same."
            )
        return blocks if nodes == names else blocks.select_nodes([*map(names.index, nodes)])

    @property
    def _has_blocks(self) -> bool:
        """Whether something says which columns stand for each node."""
        return self.blocks is not None or self._learned_blocks is not None

    def _rows_of(self, X: Any, *, may_miss: bool = True, unseen: set[int] | None = None) -> Floats:
        """Return a table's rows with the columns of the nodes; `unseen` as for `encoded_rows`."""
        return encoded_rows(self._blocks, Table(X), may_miss=may_miss, unseen=unseen)

    def _blocks_of(self, X: Any) -> Nodes | None:
        """Return the nodes of a table with categories, if nothing else says which columns they are.

        A column of truth values stays one of numbers.
        """
        graphs.check_dag(self.dag)
        if self.blocks is not None or isinstance(X, BaseScores):
            return None if self.blocks is not None else X.sample.nodes
        table = Table(X)
        return None if table.is_lazy else category_nodes(list(self._graph), table)

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
            nodes = [X.columns.index(node) for node in self._graph]
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
        is_set = read_interventions(interventions, sample, list(self._graph))
        return sample, is_set if is_set.any() else None

    def _graph_of_columns(self) -> estimation.GraphOfColumns:
        """Return the graph of the nodes' columns."""
        blocks = self._blocks
        outside = blocks.columns_of(self._exogenous_numbers())
        parents = blocks.parents_of_columns(graphs.parent_masks(self._graph))
        return estimation.GraphOfColumns(blocks, parents, self._fixed(), outside)

    def _fixed(self) -> list[int]:
        """Return the masks of each column's parents whose edges are fixed."""
        fixed = graphs.fixed_parent_masks(self._graph)
        return self._blocks.parents_of_columns(fixed, within=False) if self._has_blocks else fixed

    def _exogenous_numbers(self) -> list[int]:
        outside = self.exogenous
        return [v for v, node in enumerate(self._graph) if node in outside]

    def _set_columns(self, is_set: Booleans | None) -> Booleans | None:
        """Return whether each column was set in each row, from whether each node was."""
        return None if is_set is None else self._blocks.by_column(is_set)

    def _own_columns(self, sample: Sample, nodes: Sequence[Any] | None = None) -> Sample:
        """Return the sample of a learner's rows with the columns of the nodes.

        `nodes` are those of the sample, by default those of the network.
        """
        blocks = self._blocks
        names: list[Any] = self.nodes if nodes is None else [*nodes]
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

    def _parameters(self) -> LinearGaussianModel | None:
        """Return the estimates if they belong to the graph, else the graph's own, or None."""
        graphs.check_dag(self.dag)
        if self._estimated is not None and self._is_learned_graph():
            return replace(self._estimated, fixed=self._fixed())
        are_columns = not self._has_blocks or self._blocks.are_columns
        if not are_columns or not graphs.is_parametrised(self.dag):
            return None
        model = LinearGaussianModel.from_dag(self._graph)
        if self._means is not None and self._is_learned_graph():
            return replace(model, mean=self._means)
        return model

    def _model(self) -> LinearGaussianModel:
        """Return the parameters; raise a NotFittedError if there are none."""
        model = self._parameters()
        if model is None:
            raise NotFittedError(
                "This GaussianBayesianNetwork has no parameters yet. Call fit, or give the nodes "
                "of dag the attributes intercept and noise_variance and its edges weight."
            )
        return model

    def _edge_columns(
        self, losses: Floats | None = None, confidence: float | None = 0.95
    ) -> tuple[dict[str, Any], list[tuple[Any, Any]]]:
        """Return the columns of the table of edges, and the edge that each row is of."""
        graphs.check_dag(self.dag)
        if losses is None and self._is_learned_graph():
            losses = self._score_losses
        known = self._blocks, self._parameters(), losses, self._groups, self._clusters
        return descriptions.edge_columns(self._graph, *known, confidence)

    def _exported_graph(self, cpdag: bool) -> nx.DiGraph:
        """Return the equivalence class's graph, or the network's with its parameters, if any."""
        if cpdag:
            return self.cpdag()
        model = self._parameters() if self._blocks.are_columns else None
        return self._structure() if model is None else model.to_dag()


def in_column_order(dag: nx.DiGraph) -> nx.DiGraph:
    """Return a graph with its nodes in order if they are the columns' numbers, 0 to m - 1.

    >>> list(in_column_order(nx.DiGraph([(2, 0), (0, 1)])))
    [0, 1, 2]
    """
    if {*dag} != {*range(len(dag))} or (nodes := sorted(dag)) == [*dag]:
        return dag
    ordered = nx.DiGraph(**dag.graph)
    ordered.add_nodes_from((node, dag.nodes[node]) for node in nodes)
    ordered.add_edges_from(dag.edges(data=True))
    return ordered


def sets_in(sample: Sample) -> Booleans | None:
    """Return which nodes were set in each row of LocalScores, if some were."""
    if sample.is_experiment and sample.is_set is None:
        raise ValueError(
            "These LocalScores have interventions, and no rows that say which values were set. "
            "Pass the table with its interventions."
        )
    return sample.is_set

"""GaussianBlockNetwork: a network whose nodes are blocks of columns."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, overload

import networkx as nx
import numpy as np
from sklearn.exceptions import NotFittedError

from skbn._core.arrays import Booleans, Floats, is_listed, numbers_in
from skbn._core.columns import by_label, is_missing, is_series, named_nodes
from skbn._core.estimator import fit_method, fit_task
from skbn._core.graphs import check_dag, dag_of, equilibrated, keep_confidences, parent_masks
from skbn._core.subsets import members_of
from skbn._core.text import readable_value
from skbn._data.containers import row_labels
from skbn._data.encoding import encoded_rows, require_levels
from skbn._data.experiments import require_no_interventions
from skbn._data.nodes import Nodes
from skbn._data.sample import Sample
from skbn._data.statistics import sample_statistics
from skbn._data.table import Table
from skbn._displays.frames import frame_of
from skbn._networks import block_file, inference, interchange
from skbn._networks.block_file import masks_of_nodes
from skbn._networks.descriptions import edge_columns, network_text, score_losses
from skbn._networks.gaussian import LinearGaussianModel, require_exogenous_values
from skbn._networks.network import GaussianBayesianNetwork
from skbn._networks.partial_rows import conditional_means, imputed_columns, with_columns
from skbn._networks.standard_errors import check_confidence
from skbn._scores.base import BaseScores
from skbn._scores.criteria import Criterion, as_criterion
from skbn._scores.local_scores import LocalScores


class GaussianBlockNetwork(GaussianBayesianNetwork):
    """A Gaussian Bayesian network whose nodes have several columns each.

    A learner with the parameter `nodes` finds one. A category is a node whose columns are the
    indicators of its levels but the first; a spline or a sensor has the columns that the user
    named. Structure, the table of edges and pictures are about nodes. The joint distribution is
    that of the columns, a Gaussian network in which the columns of a node are joined to each other
    and to all columns of the node's parents: `columns_` is that network.

    A category's indicators are taken for Gaussian. What is predicted of them are linear
    probabilities, which may leave [0, 1].

    Parameters
    ----------
    dag : networkx.DiGraph
        Acyclic; its nodes are those of `blocks`.
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

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Estimate the parameters of the graph by maximum likelihood.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or LocalScores
            The user's columns, with categories as they are.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        self : GaussianBlockNetwork

        Raises
        ------
        ValueError, TypeError
            As for `GaussianBayesianNetwork.fit`; if a category has a level that the nodes lack.
        """
        with fit_task(self, X, y, sample_weight):
            require_no_interventions(X, "GaussianBlockNetwork.fit")
            names, parents = self._column_parents()
            most = 1 + max(mask.bit_count() for mask in parents)
            sample = self._sample_of(X, sample_weight, may_miss=False)
            summary = sample.counted(sample_weight).summary
            statistics = sample_statistics(summary, names, largest_family=most)
            self._keep_estimates(statistics, names, parents)
        return self

    def _check_nodes(self) -> None:
        """Raise unless `dag` is a network of the nodes of `blocks`."""
        check_dag(self.dag)
        if {*self.dag} != {*self.blocks.names}:
            raise ValueError(
                f"The nodes of dag are {readable_value(list(self.dag))}, and those of blocks "
                f"{readable_value(self.blocks.names)}. They must be the same."
            )

    def _column_parents(self) -> tuple[list[Any], list[int]]:
        self._check_nodes()
        parents = self.blocks.parents_of_columns(parent_masks(self.dag, self.blocks.names))
        return self.blocks.column_names, parents

    def _fixed(self) -> list[int]:
        number = {node: v for v, node in enumerate(self.blocks.names)}
        fixed = [0] * len(number)
        for parent, child, is_fixed in self.dag.edges(data="fixed"):
            if is_fixed:
                fixed[number[child]] |= 1 << number[parent]
        return self.blocks.parents_of_columns(fixed, within=False)

    # Nodes and columns

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

        Its edges have the attributes `coefficients` and `partial_r2`: the former are those of the
        child's columns, in a list for each column of the parent, in the regression of the child's
        columns on those of its parents, as JSON text, which the formats of networkx can write; the
        latter is that of `to_frame`. Edges between single columns, of which a category of two
        levels is one, have a `weight` and a `standardised_weight` too; categories have their number
        of `levels`, or the `level` that their only column stands for. The edges have the
        `probability` or `support` that those of `dag` have.

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
        number = {node: v for v, node in enumerate(self.blocks.names)}
        for node in self.blocks.levels:
            dag.nodes[node]["levels"] = len(columns[node]) + 1
            if len(columns[node]) == 1:
                dag.nodes[node]["level"] = str(columns[node][0])
        shares = self._partial_r2(model, [(number[p], number[c]) for p, c in dag.edges])
        for (parent, child, data), share in zip(dag.edges(data=True), shares, strict=True):
            coefficients = self._coefficients(model, number[parent], number[child])
            data |= {"coefficients": json.dumps(coefficients.tolist()), "partial_r2": float(share)}
            if coefficients.size == 1:
                data["weight"] = float(coefficients[0, 0])
                ends = columns[parent][0], columns[child][0]
                if ends in standardised:
                    data["standardised_weight"] = standardised[ends]

    def _coefficients(self, model: LinearGaussianModel, parent: int, child: int) -> Floats:
        """Return the coefficients of a child's columns on a parent's, shape (n_parent, n_child).

        Each column of the child has those before it as parents too; these are solved for.
        """
        of_parent, of_child = (self.blocks.columns_of([v]) for v in (parent, child))
        within = np.eye(len(of_child)) - model.coef[np.ix_(of_child, of_child)]
        solved = np.linalg.solve(within.T, model.coef[np.ix_(of_parent, of_child)].T)
        return np.asarray(solved.T)

    # What the density is of

    def _rows_of(self, X: Any) -> Floats:
        return self._sample_of(X).rows

    def _sample_of(self, X: Any, sample_weight: Any = None, *, may_miss: bool = True) -> Sample:
        """Return the rows of a table, or of LocalScores, with the columns of the nodes."""
        if isinstance(X, BaseScores):
            return self._own_columns(X.sample).with_weight(sample_weight)
        rows = encoded_rows(self.blocks, Table(X), may_miss=may_miss)
        return Sample(rows, labels=row_labels(X)).with_weight(sample_weight)

    def _check_drawable(self, rows: Floats) -> None:
        for v, name in enumerate(self.blocks.names):
            if name in self.blocks.levels and np.isnan(rows[:, self.blocks.columns_of([v])]).any():
                raise ValueError(
                    f"Levels of the category {name!r} are missing, and what is drawn for its "
                    "indicators would be no level. impute fills in the most probable ones."
                )

    def _with_holes_filled(self, X: Any, rows: Floats, complete: Floats) -> Any:
        columns = imputed_columns(rows, complete, self.blocks)
        return with_columns(X, self.blocks.labels, columns)

    def _of_columns(self, of_nodes: Booleans) -> Booleans:
        return self.blocks.by_column(of_nodes)

    def _own_columns(self, sample: Sample) -> Sample:
        assert sample.nodes is not None
        require_levels(sample, self.blocks)
        names = sample.nodes.column_names
        return sample.select([names.index(name) for name in self.blocks.column_names])

    # Samples, conditional distributions, predictions and interventions

    def sample(self, n_samples: int = 1, random_state: Any = None, *, exogenous: Any = None) -> Any:
        """Draw rows of the columns; refused if a node that is drawn is a category.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState, Generator or None, default=None
        exogenous : array-like or data frame, optional
            The user's columns of the exogenous nodes; one row is drawn for each.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_columns), float64

        Raises
        ------
        ValueError
            If a node is a category, and neither exogenous nor set by `do`: what is drawn for its
            indicators would be no level.
        """
        given, noise = self.exogenous, self._model().noise_variance
        drawn = [
            node
            for v, node in enumerate(self.blocks.names)
            if node in self.blocks.levels
            and node not in given
            and noise[self.blocks.columns_of([v])].any()
        ]
        if drawn:
            raise ValueError(
                f"The nodes {readable_value(drawn)} are categories, whose "
                "indicators the network takes for Gaussian: what is drawn would be no level. "
                "network.columns_.sample() draws the columns as they are modelled."
            )
        if exogenous is None:
            require_exogenous_values(self.exogenous, ())
        return super().sample(n_samples, random_state, exogenous=exogenous)

    def _read_exogenous(self, table: Table) -> Floats:
        return encoded_rows(self.blocks.select_nodes(self._exogenous_numbers()), table)

    def _exogenous_columns(self) -> list[int]:
        return self.blocks.columns_of(self._exogenous_numbers())

    def _exogenous_numbers(self) -> list[int]:
        outside = self.exogenous
        return [v for v, node in enumerate(self.blocks.names) if node in outside]

    def _columns_by_node(self) -> dict[Hashable, list[Any]]:
        return {**self.nodes_}

    def _with_model(self, model: LinearGaussianModel) -> Self:
        return self._of_model(model, self.blocks)

    def _values(self, given: Any, parameter: str) -> dict[int, float | Floats]:
        blocks, values = self.blocks, dict[int, float | Floats]()
        for node, value in by_label(given, parameter, "node").items():
            named, _ = named_nodes([node], blocks.names, parameter)
            name: Any = named[0]
            own = blocks.columns_of([blocks.names.index(name)])
            if name in blocks.levels:
                parts = self._indicators(name, own, value, parameter)
            else:
                parts = self._parts(name, own, value, parameter)
            values |= dict(zip(own, parts, strict=True))
        inference.check_scenarios(values, self._model())
        return values

    def _indicators(self, name: Any, own: list[int], value: Any, parameter: str) -> list[Any]:
        """Return the values of a category's indicators, for a level or a list of them."""
        levels = self.blocks.levels[name]
        # A tuple may be a level.
        is_list = is_listed(value) and not (isinstance(value, tuple) and value in levels)
        given = list(value) if is_list else [value[()] if isinstance(value, np.ndarray) else value]
        for level in given:
            if not isinstance(level, Hashable) or is_missing(level) or level not in levels:
                raise ValueError(
                    f"{parameter}: node {name!r} has the levels {levels}; got "
                    f"{readable_value(level)}."
                )
        indicated = [self.blocks.columns[i].level for i in own]
        parts = np.array([[float(level == each) for level in given] for each in indicated])
        return list(parts if is_list else parts[:, 0])

    def _parts(self, name: Any, own: list[int], value: Any, parameter: str) -> list[Any]:
        """Return the values of a node's columns, which may be arrays."""
        columns = [self.blocks.columns[i].name for i in own]
        got = value
        if hasattr(value, "columns"):
            value = {label: value[label] for label in value.columns}
        if isinstance(value, Mapping) or (is_series(value) and len(own) > 1):
            of_columns = by_label(value, f"{parameter}[{name!r}]", "column")
            value = [of_columns[each] for each in columns if each in of_columns]
        elif len(own) == 1:
            value = [value]
        elif is_listed(value) and all(map(is_listed, value)):  # a row for each scenario
            is_table = {*map(len, value)} == {len(own)}
            value = list(zip(*value, strict=True)) if is_table else []
        parts = list(value) if is_listed(value) else [value]
        if len(parts) != len(own):
            raise ValueError(
                f"{parameter}: node {name!r} has {len(own)} columns; got {readable_value(got)}. "
                "Give a value for each, in a list, or a list of such lists for several scenarios."
            )
        what = f"The value of {{!r}} in {parameter}"
        return [numbers_in(part, what.format(c)) for c, part in zip(columns, parts, strict=True)]

    def predict(self, X: Any, target: Any = None, given: Any = None) -> Any:
        """Predict nodes from others, row by row, by their conditional means.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The user's columns, with categories as they are. Values that are missing in a row are
            not used for it.
        target : node or list of nodes, optional
            By default all nodes that are not given.
        given : node or list of nodes, optional
            By default all nodes that are not targets and whose columns X has, except for those that
            `do` has set.

        Returns
        -------
        mean : ndarray of shape (n_samples, k) or (n_samples,)
            For a category there is a column for each level, the first included: linear
            probabilities, which add up to 1 and may leave [0, 1]. For a pandas data frame, a data
            frame whose columns are named ``"node=level"``, or by the levels alone if the category
            is the only target.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no parameters.
        ValueError, TypeError
            If X lacks columns; if a name is not a node, or is both given and predicted; if no node
            is left to predict or to predict from.
        """
        model, blocks, table = self._model(), self.blocks, Table(X)
        is_single = False
        targets: list[Any] = []
        if target is not None:
            targets, is_single = named_nodes(target, blocks.names, "target")
            inference.require_modelled(targets, self.exogenous)
        if given is None:
            known, deviations = table.names, model.standard_deviations()
            given = [
                name
                for v, name in enumerate(blocks.names)
                if name not in targets
                and deviations[blocks.columns_of([v])].any()
                and (known is None or {*blocks.select_nodes([v]).labels} <= {*known})
            ]
        else:
            given, _ = named_nodes(given, blocks.names, "given")
        if both := [name for name in given if name in targets]:
            raise ValueError(f"The nodes {both} are both in given and in target.")
        if target is None:
            targets = [name for name in blocks.names if name not in given]
        if not targets or not given:
            missing = "predict" if not targets else "predict from"
            raise ValueError(f"No node is left to {missing}; name target and given.")
        require_exogenous_values(self.exogenous, given)
        numbers, others = ([blocks.names.index(v) for v in some] for some in (given, targets))
        rows = encoded_rows(blocks.select_nodes(numbers), table, may_miss=True)
        columns = blocks.columns_of(others)
        mean = conditional_means(model, blocks.columns_of(numbers), rows, columns)
        return self._predictions(mean, others, X, is_single)

    def _predictions(self, mean: Floats, targets: list[int], X: Any, is_single: bool) -> Any:
        """Return conditional means of columns, with those of first levels."""
        names: list[Hashable] = []
        parts, start = [], 0
        for v in targets:
            node, width = self.blocks.names[v], self.blocks.widths[v]
            own = mean[:, start : start + width]
            start += width
            columns = [self.blocks.columns[i] for i in self.blocks.columns_of([v])]
            if node in self.blocks.levels:
                own = np.column_stack([1 - own.sum(axis=1), own])
                levels = [self.blocks.levels[node][0], *(column.level for column in columns)]
                names += levels if is_single else [f"{node}={level}" for level in levels]
            else:
                names += [column.name for column in columns]
            parts.append(own)
        together = np.column_stack(parts)
        return inference.like_pandas(together, X, names, is_single and together.shape[1] == 1)

    def residuals(self, X: Any) -> Any:
        """Return the difference of each column's values from what its regression predicts.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or LocalScores
            As in `fit`.

        Returns
        -------
        residuals : ndarray or pandas.DataFrame of shape (n_samples, n_columns), float64
        """
        differences = self._model().residuals(self._sample_of(X, may_miss=False).rows)
        return inference.like_pandas(differences, X, self._model().nodes, is_single=False)

    # A table of the edges

    def to_frame(
        self,
        scores: Any = None,
        *,
        criterion: str | Criterion | None = None,
        confidence: float | None = 0.95,
    ) -> Any:
        """Return a table with a row for each edge between nodes.

        Parameters
        ----------
        scores : LocalScores or table, optional
            What to compute `score_loss` from. Not needed for the network of a learner.
        criterion : str or Criterion, optional
            How to score a table; by default the BIC.
        confidence : float or None, default=0.95
            The level of the confidence intervals of weights.

        Returns
        -------
        table : pandas.DataFrame
            With the columns of `GaussianBayesianNetwork.to_frame`, but for the weights:

            - `weight`: the coefficient if both nodes have one column, else NaN
            - `coefficients`: a dict of (parent's column, child's column) to coefficient
            - `partial_r2`: the share of the child's generalised variance, given its other parents,
              that this parent explains; from 0 to 1 for every edge

            The columns from `std_err` on are NaN where the weight is.

        Raises
        ------
        TypeError, ValueError
            As `GaussianBayesianNetwork.to_frame`.
        """
        check_dag(self.dag)
        level = None if confidence is None else check_confidence(confidence)
        losses = self._score_losses if self._is_learned_graph() else None
        if scores is not None:
            losses = score_losses(self.dag, self._local_scores(scores, criterion), None)
        elif criterion is not None:
            raise ValueError(f"criterion={readable_value(criterion)} needs a table to score.")
        columns = edge_columns(self.dag, None, losses)
        model = self._parameters()
        if model is not None:
            number = {node: v for v, node in enumerate(self.blocks.names)}
            edges = [
                (number[p], number[c])
                for p, c in zip(columns["parent"], columns["child"], strict=True)
            ]
            of_edges: dict[str, Any] = {
                "weight": [self._weight(model, *edge) for edge in edges],
                "coefficients": [self._named_coefficients(model, *edge) for edge in edges],
                "partial_r2": self._partial_r2(model, edges),
            }
            ends = {name: columns.pop(name) for name in ("parent", "child")}
            columns = ends | of_edges | columns
            first = self.blocks.starts
            at = [(int(first[p]), int(first[c])) for p, c in edges]
            has_weight = np.isfinite(of_edges["weight"])
            for name, values in self._interval_columns(at, level).items():
                columns[name] = np.where(has_weight, values, np.nan)
        return frame_of(columns)

    def _local_scores(self, X: Any, criterion: str | Criterion | None) -> LocalScores:
        if isinstance(X, LocalScores):
            return X
        sample = Sample(encoded_rows(self.blocks, Table(X)), nodes=self.blocks)
        most = max(degree for _, degree in self.dag.in_degree())
        chosen = as_criterion("bic" if criterion is None else criterion)
        return LocalScores(sample, chosen, max_parents=most)

    def _weight(self, model: LinearGaussianModel, parent: int, child: int) -> float:
        coefficients = self._coefficients(model, parent, child)
        return float(coefficients[0, 0]) if coefficients.size == 1 else np.nan

    def _named_coefficients(
        self, model: LinearGaussianModel, parent: int, child: int
    ) -> dict[tuple[Hashable, Hashable], float]:
        coefficients = self._coefficients(model, parent, child)
        rows, columns = (self.blocks.columns_of([v]) for v in (parent, child))
        return {
            (model.nodes[i], model.nodes[j]): float(coefficients[a, b])
            for a, i in enumerate(rows)
            for b, j in enumerate(columns)
        }

    def _partial_r2(
        self, model: LinearGaussianModel, edges: Sequence[tuple[int, int]]
    ) -> list[float]:
        scaled, _ = equilibrated(model.factor())
        correlation, varies = scaled.T @ scaled, np.abs(scaled).max(axis=0) > 0
        parents = parent_masks(self.dag, self.blocks.names)

        def log_det(nodes: Sequence[int]) -> float:
            at = [i for i in self.blocks.columns_of(nodes) if varies[i]]  # `do` holds some
            return float(np.linalg.slogdet(correlation[np.ix_(at, at)])[1])

        found = []
        for parent, child in edges:
            others = [v for v in members_of(parents[child]) if v != parent]
            with_parent = log_det([*others, parent, child]) - log_det([*others, parent])
            without = log_det([*others, child]) - log_det(others)
            found.append(1 - np.exp(with_parent - without))
        return found

    # Formats of other programs

    @overload
    def to_json(self, path: None = None) -> str: ...
    @overload
    def to_json(self, path: str | os.PathLike[str]) -> None: ...
    def to_json(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Return the nodes and the columns' network as JSON, or write it to a file.

        Parameters
        ----------
        path : str or path, optional

        Returns
        -------
        text : str, or None with a path
            `from_json` reads the same parameters from it, to the last bit.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no parameters.
        ValueError
            If a level is neither a string, a number nor a bool.
        """
        contents = block_file.contents_of(self.blocks, interchange.to_data(self._model()))
        return interchange.to_json(contents, path)

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
        blocks, data = block_file.blocks_in(contents, name)
        dag, means = interchange.from_data(data, f"'network' in {name}")
        model = LinearGaussianModel.from_dag(dag)
        block_file.check_columns(blocks, model, name)
        return cls._of_model(model if means is None else replace(model, mean=means), blocks)

    def to_pgmpy(self) -> Any:
        """Raise: pgmpy's linear Gaussian networks have nodes of one column.

        Raises
        ------
        TypeError
            Always; ``network.columns_.to_pgmpy()`` has the columns' network.
        """
        raise TypeError("pgmpy has nodes of one column. Use network.columns_.to_pgmpy().")

    # What the methods share

    @classmethod
    def _of_model(cls, model: LinearGaussianModel, blocks: Nodes) -> Self:
        """Return the network of nodes whose columns have these parameters."""
        node_of = blocks.by_column(np.arange(len(blocks.names)))
        parents, fixed = (masks_of_nodes(blocks, masks) for masks in (model.parents, model.fixed))
        dag = dag_of(blocks.names, parents, fixed)
        for v in {*node_of[list(model.exogenous)].tolist()}:
            dag.nodes[blocks.names[v]]["exogenous"] = True
        network = cls(dag, blocks)
        network._describe(dag, model)
        network._keep(model)
        return network

    def _parameters(self) -> LinearGaussianModel | None:
        self._check_nodes()
        if self._estimated is None or not self._is_learned_graph():
            return None
        return replace(self._estimated, fixed=self._fixed())

    def _single_columns(self, method: str) -> LinearGaussianModel:
        raise TypeError(
            f"{method} is for networks whose nodes are single columns. network.columns_ is the "
            "network of the columns of this one."
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


def network_of_model(model: LinearGaussianModel, nodes: Nodes | None) -> GaussianBayesianNetwork:
    """Return the network whose columns have these parameters; without `nodes`, each is a node."""
    if nodes is None:
        return GaussianBayesianNetwork._from_model(model)
    return GaussianBlockNetwork._of_model(model, nodes)

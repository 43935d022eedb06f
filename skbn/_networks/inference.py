"""InferenceMixin: what a network says of its nodes, when some are seen or set."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_scalar

from skbn._core.columns import named_nodes, named_values
from skbn._data.table import Table, read_columns
from skbn._networks.arguments import (
    check_container,
    in_container,
    like_pandas,
    random_generator,
    read_given_columns,
)
from skbn._networks.distribution import GaussianDistribution
from skbn._networks.parameters import ParametersMixin

__all__ = ["InferenceMixin"]


class InferenceMixin(ParametersMixin):
    """Samples, conditional distributions, predictions and interventions of a network."""

    # What `set_output` was told: "default", "pandas" or "polars"; None leaves it to scikit-learn.
    _output_container: str | None = None
    # Python would otherwise iterate by asking for 0, 1, 2 ..., which may be nodes.
    __iter__: ClassVar[None] = None

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """Draw rows from the network.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState, Generator or None, default=None
            A seed or a generator of numpy.random. With a number, each call draws the same rows.

        Returns
        -------
        rows : ndarray of shape (n_samples, m), float64
            The nodes in their order. If all nodes are strings, `set_output` makes it a data
            frame.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no parameters.
        TypeError, ValueError
            If `n_samples` is not a positive integer, or `random_state` not one of these; if a
            mean or a variance is out of float64's range.
        ImportError
            If a data frame was asked for, and pandas or polars is not installed.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph([("a", "b")])
        >>> network = GaussianBayesianNetwork(dag).fit([[0, 1], [1, 3], [2, 5.3]])
        >>> network.sample(5, random_state=0).shape
        (5, 2)
        >>> list(network.set_output(transform="pandas").sample(5, random_state=0).columns)
        ['a', 'b']
        """
        model = self._model()
        check_scalar(n_samples, "n_samples", Integral, min_val=1)
        noise = random_generator(random_state).standard_normal((n_samples, len(model.nodes)))
        rows = np.asarray(model.mean + noise @ model.factor())
        return in_container(rows, model.nodes, self._output_container)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Set the container in which `sample` returns its rows.

        It is a data frame only if all nodes are strings. `sklearn.base.clone` and `do` keep the
        setting. The results of `predict` and `residuals` have the container of the table that they
        are given.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            The parameter has the name that scikit-learn's transformers have for it. "default" is a
            NumPy array. None leaves the setting as it is; before the first call, that of
            ``sklearn.set_config(transform_output=...)`` applies.

        Returns
        -------
        self : GaussianBayesianNetwork

        Raises
        ------
        ValueError
            If it is another container.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_node("dose", intercept=1.0, noise_variance=0.0)
        >>> network = GaussianBayesianNetwork(dag).set_output(transform="pandas")
        >>> network.sample(2)
           dose
        0   1.0
        1   1.0
        """
        if transform is not None:
            check_container(transform)
            self._output_container = transform
        return self

    def __getitem__(self, node: Any) -> Any:
        """Return the marginal of a node, or the joint distribution of a list of nodes.

        The values of other nodes are not known: it is ``network.condition({})[node]``.
        """
        return self.condition({})[node]

    def condition(self, evidence: Mapping[Hashable, float]) -> GaussianDistribution:
        """Return the distribution of the other nodes, given the values of some.

        Parameters
        ----------
        evidence : dict of node to float, or pandas.Series
            It may be empty. If it names all nodes, the result has none.

        Returns
        -------
        distribution : GaussianDistribution
            Its attributes are `nodes`, in their order, `mean`, `covariance` and
            `standard_deviation`. ``distribution["ash"]`` is the mean and the standard deviation
            of one node. It is displayed as a table, and has `to_frame`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no parameters.
        TypeError
            If `evidence` is not a dict or a series.
        ValueError
            If there is no such node; if a value is not a finite number; if a node cannot be
            given, because the network or the other evidence determines its value; if a mean or
            a variance is out of float64's range.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_nodes_from("ab", intercept=0, noise_variance=1)
        >>> dag.add_edge("a", "b", weight=1)
        >>> network = GaussianBayesianNetwork(dag)
        >>> mean, deviation = network.condition({"b": 3})["a"]
        >>> round(mean, 3), round(deviation, 3)
        (1.5, 0.707)

        Without evidence, these are the moments of any row.

        >>> network["b"].mean, round(network["b"].standard_deviation, 3)
        (0.0, 1.414)
        """
        model = self._model()
        values = named_values(evidence, model.nodes, "evidence")
        given, others = list(values), [v for v in range(len(model.nodes)) if v not in values]
        mean, covariance = model.condition(given, np.array(list(values.values())), others)
        return GaussianDistribution([model.nodes[v] for v in others], mean, covariance)

    def predict(self, X: Any, target: Any = None, given: Any = None) -> Any:
        """Predict nodes from others, row by row, by their conditional means.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns), or LocalScores
            Finite numbers in the columns that are given; others may hold anything.
        target : node or list of nodes, optional
            The nodes to predict; by default all that are not given.
        given : node or list of nodes, optional
            The nodes to predict from. If the columns' names are strings, the default is all
            columns that are nodes and not targets. Otherwise X must have m columns, the nodes
            in their order, and the default is all but the targets; for fewer columns, name a
            node for each. Nodes without variance, such as those that `do` has set, carry no
            information and are left out by default.

        Returns
        -------
        mean : ndarray of shape (n_samples, n_targets) or (n_samples,)
            A vector if `target` is a single node and not a list. For a pandas data frame, a
            data frame or a series with its index.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no parameters.
        ValueError, TypeError
            If X is not such a table; if a name is not a node, comes twice, or is both given
            and predicted; if no node is left to predict or to predict from; if a node cannot be
            given, because the network or the other given nodes determine its value; if a mean
            is out of float64's range.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_nodes_from("abc", intercept=0, noise_variance=1)
        >>> dag.add_weighted_edges_from([("a", "b", 1), ("b", "c", 2)])
        >>> network = GaussianBayesianNetwork(dag)
        >>> network.predict([[1], [2]], given="a")
        array([[1., 2.],
               [2., 4.]])
        >>> network.predict([[1, 1, 9], [2, 3, 9]], target="c").round(6)
        array([2., 6.])
        """
        model = self._model()
        targets: list[Hashable] = []
        is_single = False
        if target is not None:
            targets, is_single = named_nodes(target, model.nodes, "target")
        if given is not None:
            given, _ = named_nodes(given, model.nodes, "given")
        deviations = model.standard_deviations()
        varying = [node for node, s in zip(model.nodes, deviations, strict=True) if s > 0]
        rows, given = read_given_columns(X, given, targets, model.nodes, varying)
        if target is None:
            targets = [node for node in model.nodes if node not in given]
        if not targets:
            raise ValueError("All nodes are given, so none is left to predict; name a target.")
        inputs, outputs = ([model.nodes.index(v) for v in some] for some in (given, targets))
        mean, _ = model.condition(inputs, rows, outputs)
        return like_pandas(mean, X, targets, is_single)

    def residuals(self, X: Any) -> Any:
        """Return the difference of each value from what the node's parents predict.

        The prediction is the intercept plus each parent times the weight of its edge, as in
        the regressions that `fit` estimates; without parents, the node's mean. If the network
        is right, the residuals are Gaussian, of mean 0 and the variance `noise_variance_`, and
        independent of each other.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, m), or LocalScores
            As in `fit`.

        Returns
        -------
        residuals : ndarray or pandas.DataFrame of shape (n_samples, m), float64
            A column for each node, in the order of `nodes` and in the node's units. For a
            pandas data frame, a data frame with its index.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no parameters.
        ValueError, TypeError
            If X is not such a table; if a residual is out of float64's range.

        See Also
        --------
        ResidualsDisplay : Draws them.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_nodes_from("ab", intercept=1, noise_variance=1)
        >>> dag.add_edge("a", "b", weight=2)
        >>> GaussianBayesianNetwork(dag).residuals([[1, 3], [2, 4]])
        array([[ 0.,  0.],
               [ 1., -1.]])
        """
        model = self._model()
        rows = read_columns(Table(X), model.nodes, model.nodes)
        residuals = model.residuals(rows)
        for node, values in zip(model.nodes, residuals.T, strict=True):
            if not np.isfinite(values).all():
                row = int(np.argmax(~np.isfinite(values)))
                raise ValueError(
                    f"The residual of node {node!r} in row {row} is out of float64's range. Leave "
                    "out this row, or measure the nodes in other units."
                )
        return like_pandas(residuals, X, model.nodes, is_single=False)

    def do(self, interventions: Mapping[Hashable, float]) -> Self:
        """Return the network after nodes are set to values from outside.

        These nodes lose their parents and their noise. Everything else stays as it is.

        Parameters
        ----------
        interventions : dict of node to float, or pandas.Series

        Returns
        -------
        network : GaussianBayesianNetwork
            It has no density, because some nodes have no noise. ``network["ash"]`` is the mean
            and the standard deviation of a node.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no parameters.
        TypeError
            If `interventions` is not a dict or a series.
        ValueError
            If there is no such node, or a value is not a finite number; if a mean is then out
            of float64's range.

        Notes
        -----
        This is the truncated factorisation of Pearl (2009), "Causality", section 3.2. It is the
        effect of an intervention if the edges are causes and no common cause of nodes is left
        out. Data alone do not tell equivalent networks apart.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_nodes_from("ab", intercept=0, noise_variance=1)
        >>> dag.add_edge("a", "b", weight=2)
        >>> network = GaussianBayesianNetwork(dag)
        >>> network.do({"a": 1})["b"].mean, network.do({"b": 1})["a"].mean
        (2.0, 0.0)
        """
        model = self._model()
        values = named_values(interventions, model.nodes, "interventions")
        network = self._from_model(model.do(values))
        network._output_container = self._output_container
        return network

"""What a network says of its nodes: samples, conditional distributions, interventions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_scalar

from skbn._data.table import Table
from skbn._networks.arguments import named_nodes, named_values, random_generator
from skbn._networks.distribution import GaussianDistribution
from skbn._networks.gaussian import LinearGaussianModel
from skbn._networks.tables import like_pandas, read_columns, read_given_columns

__all__ = ["InferenceMixin"]


class InferenceMixin:
    """Queries, for a network that has a `_model` and can be made `_of` one."""

    def _model(self) -> LinearGaussianModel:
        """Return the parameters, checked."""
        raise NotImplementedError

    @classmethod
    def _of(cls, model: LinearGaussianModel) -> Self:
        """Return the network with these parameters."""
        raise NotImplementedError

    def sample(self, n_samples: int = 1, random_state: Any = None) -> npt.NDArray[np.float64]:
        """Draw rows from the network.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState, Generator or None, default=None
            A seed or a generator of numpy.random. With a number, each call draws the same rows.

        Returns
        -------
        rows : ndarray of shape (n_samples, m), float64
            The nodes in their order.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no parameters.
        TypeError, ValueError
            If `n_samples` is no positive integer; if `random_state` is none of these; if a
            mean or a variance is out of float64's range.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph([("a", "b")])
        >>> network = GaussianBayesianNetwork(dag).fit([[0, 1], [1, 3], [2, 5.3]])
        >>> network.sample(5, random_state=0).shape
        (5, 2)
        """
        model = self._model()
        check_scalar(n_samples, "n_samples", Integral, min_val=1)
        noise = random_generator(random_state).standard_normal((n_samples, len(model.nodes)))
        return np.asarray(model.mean + noise @ model.factor())

    def condition(self, evidence: Mapping[Hashable, float]) -> GaussianDistribution:
        """Return the distribution of the other nodes, given the values of some.

        Parameters
        ----------
        evidence : dict of node to float, or pandas.Series
            May be empty, or name all nodes; then no node is left in the result.

        Returns
        -------
        distribution : GaussianDistribution
            A named tuple of `nodes`, in their order, `mean` and `covariance`; it has a
            `standard_deviation` too, and shows itself as a table.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no parameters.
        TypeError
            If `evidence` is no dict and no series.
        ValueError
            If there is no such node; if a value is no finite number; if a node cannot be
            given, as the network or the other evidence fixes its value; if a mean or a
            variance is out of float64's range.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_nodes_from("ab", intercept=0, noise_variance=1)
        >>> dag.add_edge("a", "b", weight=1)
        >>> nodes, mean, covariance = GaussianBayesianNetwork(dag).condition({"b": 3})
        >>> nodes, mean.round(6), covariance.round(6)
        (['a'], array([1.5]), array([[0.5]]))
        """
        model = self._model()
        values = named_values(evidence, model.nodes, "evidence")
        given, others = list(values), [v for v in range(len(model.nodes)) if v not in values]
        mean, covariance = model.condition(given, np.array(list(values.values())), others)
        return GaussianDistribution([model.nodes[v] for v in others], mean, covariance)

    def predict(self, X: Any, target: Any = None, given: Any = None) -> Any:
        """Predict nodes from others, row by row: their conditional means.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns), or LocalScores
            Finite numbers in the columns that are given; others may hold anything.
        target : node or list of nodes, optional
            What to predict; by default all nodes that are not given.
        given : node or list of nodes, optional
            From which columns. By default, if their names are strings, all that are
            nodes and no target; else X must have m columns, which are the nodes in their
            order, and all but the target are given. If other columns than these m have no
            such names, name a node for each. Nodes without variance, as `do` leaves them,
            tell nothing and are left out.

        Returns
        -------
        mean : ndarray of shape (n_samples, n_targets) or (n_samples,)
            A vector if `target` is a node and no list. Of a pandas data frame, a data
            frame or a series with its index.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no parameters.
        ValueError, TypeError
            If X is no such table; if there is no such node, one is named twice or is both
            given and predicted, or none is; if a node cannot be given, as the network or
            the other given nodes fix its value; if a mean is out of float64's range.

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
            raise ValueError("All nodes are given, and none is left to predict; name a target.")
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
            Finite numbers. Columns whose names are strings are matched to the nodes, in
            any order, and others are left out. Without such names they are the nodes in
            their order.

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

        They lose their parents and their noise; all else stays as it is.

        Parameters
        ----------
        interventions : dict of node to float, or pandas.Series

        Returns
        -------
        network : GaussianBayesianNetwork
            It has no density, as some nodes have no noise.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no parameters.
        TypeError
            If `interventions` is no dict and no series.
        ValueError
            If there is no such node, or a value is no finite number; if a mean is out of
            float64's range then.

        Notes
        -----
        The truncated factorisation of Pearl (2009), "Causality", section 3.2. It is the
        effect of an intervention if the edges are causes, and no common cause of nodes
        is left out; data alone do not tell equivalent networks apart.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_nodes_from("ab", intercept=0, noise_variance=1)
        >>> dag.add_edge("a", "b", weight=2)
        >>> network = GaussianBayesianNetwork(dag)
        >>> network.do({"a": 1}).mean_, network.do({"b": 1}).mean_
        (array([1., 2.]), array([0., 1.]))
        """
        model = self._model()
        return self._of(model.do(named_values(interventions, model.nodes, "interventions")))

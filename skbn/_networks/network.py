"""GaussianBayesianNetwork: a network as a joint Gaussian distribution."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Self

import networkx as nx
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import NotFittedError

from skbn._core.estimator import CallbackSupportMixin, DocLinkMixin, PlotMixin, fit_method, fit_task
from skbn._core.graphs import (
    PlainState,
    check_dag,
    contents_of,
    dag_of,
    fixed_masks,
    parent_masks,
)
from skbn._core.labels import row_labels
from skbn._data.sample import Sample
from skbn._data.statistics import sample_statistics
from skbn._data.table import Table
from skbn._networks.forms import InterchangeMixin
from skbn._networks.gaussian import LinearGaussianModel, is_parametrised
from skbn._networks.parameters import NetworkParameters, estimate_parameters
from skbn._networks.tables import read_columns
from skbn._scores.local_scores import LocalScores

__all__ = ["GaussianBayesianNetwork"]


class GaussianBayesianNetwork(
    PlainState,
    DocLinkMixin,
    InterchangeMixin,
    PlotMixin,
    CallbackSupportMixin,
    DensityMixin,
    BaseEstimator,
):
    """A Gaussian Bayesian network: its graph, and the joint distribution of its nodes.

    Each node is a linear function of its parents plus independent Gaussian noise. The
    graph may carry the parameters, and then the network is ready; or `fit` estimates
    them. Cross-validating networks compares their graphs by the likelihood of held-out
    rows.

    Parameters
    ----------
    dag : networkx.DiGraph
        Acyclic; its nodes are the columns, in their order. The parameters are the
        attributes `intercept` and `noise_variance` of its nodes, not negative, and
        `weight` of its edges. Weights without attributes of nodes are no parameters. An edge
        whose reverse is known to be wrong has the attribute `fixed`, True; `cpdag` leaves it
        directed. A learner marks those that its constraints do not let it reverse.
        To change it after `fit` drops the estimates: the network has the parameters that the
        graph carries then, or none, until it is fitted again.

    Attributes
    ----------
    nodes : list
    dag_ : networkx.DiGraph
        A copy of the graph with just the parameters as attributes, after `fit` those
        that it estimated, and `fixed` of edges that have it. A network of it has the same
        parameters.
    coef_ : ndarray of shape (m, m)
        ``coef_[i, j]`` is the weight of the edge i -> j, 0 where there is none.
    intercept_ : ndarray of shape (m,)
    noise_variance_ : ndarray of shape (m,)
    mean_ : ndarray of shape (m,)
    covariance_ : ndarray of shape (m, m)

    See Also
    --------
    GaussianBNLearner : Finds the best network of a table.

    Notes
    -----
    Shachter & Kenley (1989), "Gaussian influence diagrams". With F the product of
    ``diag(sqrt(noise_variance_))`` and the inverse of ``I - coef_``, the covariance is
    F'F. Conditional distributions come from the QR decomposition of F's columns.

    Examples
    --------
    >>> import networkx as nx
    >>> from sklearn.datasets import load_wine
    >>> from skbn import GaussianBayesianNetwork
    >>> wine = load_wine(as_frame=True).data
    >>> dag = nx.DiGraph([("alcohol", "proline"), ("hue", "proline")])
    >>> network = GaussianBayesianNetwork(dag).fit(wine)
    >>> round(network.score(wine), 2)
    -7.98
    >>> network.condition({"alcohol": 14, "hue": 1}).mean.round()
    array([1021.])
    >>> network.do({"hue": 1}).mean_.round(2)
    array([ 13.  , 763.53,   1.  ])
    """

    def __init__(self, dag: nx.DiGraph) -> None:
        self.dag = dag

    @classmethod
    def _from_estimates(
        cls,
        names: Sequence[str | int],
        parents: list[int],
        parameters: NetworkParameters,
        fixed: list[int],
    ) -> Self:
        """Return a network of columns, given the masks of their parents, and of fixed ones."""
        return cls._of(LinearGaussianModel.from_estimates(list(names), parents, parameters, fixed))

    @classmethod
    def _of(cls, model: LinearGaussianModel) -> Self:
        network = cls(model.to_dag())
        network._keep(model)
        return network

    def _keep(self, model: LinearGaussianModel) -> None:
        """Keep estimates, and of which graph they are."""
        self._estimated = model
        self._estimated_of = contents_of(self.dag)

    # The parameters

    @property
    def nodes(self) -> list[Hashable]:
        """The nodes, in the order of the graph.

        Raises
        ------
        TypeError, ValueError
            If `dag` is no acyclic graph.
        """
        return list(self._structure())

    @property
    def dag_(self) -> nx.DiGraph:
        """The graph with all parameters as attributes.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no parameters.
        TypeError, ValueError
            If `dag` is no acyclic graph; if a parameter is missing or wrong; if a mean is
            out of float64's range.
        """
        return self._model().to_dag()

    @property
    def coef_(self) -> npt.NDArray[np.float64]:
        """The edges' weights, shape (m, m): ``coef_[i, j]`` is that of i -> j, or 0.

        Raises what `dag_` raises.
        """
        return self._model().coef.copy()

    @property
    def intercept_(self) -> npt.NDArray[np.float64]:
        """The nodes' intercepts, shape (m,).

        Raises what `dag_` raises.
        """
        return self._model().intercept.copy()

    @property
    def noise_variance_(self) -> npt.NDArray[np.float64]:
        """The variances of the nodes' noise, shape (m,).

        Raises what `dag_` raises.
        """
        return self._model().noise_variance.copy()

    @property
    def mean_(self) -> npt.NDArray[np.float64]:
        """The nodes' joint mean, shape (m,).

        Raises what `dag_` raises.
        """
        return self._model().mean.copy()

    @property
    def covariance_(self) -> npt.NDArray[np.float64]:
        """The nodes' joint covariance, shape (m, m).

        Raises what `dag_` raises, and a ValueError if a variance is out of float64's range.
        """
        return self._model().covariance()

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Estimate the parameters of the graph by maximum likelihood.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, m), or LocalScores
            Finite numbers. Columns whose names are strings are matched to the nodes, in
            any order, and others are left out. Without such names they are the nodes in
            their order, as a learner takes them too.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts; LocalScores may have weights of their own. The weights
            of a pandas Series go to the rows of the same labels, if X has some.

        Returns
        -------
        self : GaussianBayesianNetwork

        Raises
        ------
        ValueError, TypeError
            If X is no such table, or `dag` no acyclic graph; if a node has too many
            parents for the number of rows; if a column is constant or depends linearly
            on others, as the likelihood is unbounded then.

        Notes
        -----
        Each child is regressed on its parents; the variance of its noise is the
        residual sum of squares divided by the number of rows.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> network = GaussianBayesianNetwork(nx.DiGraph([("a", "b")]))
        >>> network.fit([[0, 1], [1, 3], [2, 5.3]]).coef_.round(2)
        array([[0.  , 2.15],
               [0.  , 0.  ]])
        """
        with fit_task(self, X, y, sample_weight):
            self._estimate(X, sample_weight)
        return self

    def _estimate(self, X: Any, sample_weight: Any) -> None:
        check_dag(self.dag)
        nodes, parents = list(self.dag), parent_masks(self.dag)
        rows = read_columns(Table(X), nodes, nodes)
        summary = _sample(X, rows, sample_weight).summary
        sizes = [mask.bit_count() for mask in parents]
        if summary.n_rows < max(sizes) + 2:
            node = nodes[int(np.argmax(sizes))]
            raise ValueError(
                f"X has n_samples = {summary.n_rows} rows, and node {node!r} with its parents "
                f"makes {max(sizes) + 1} columns: with no more rows than that, the likelihood is "
                "unbounded. Give more rows, or the node fewer parents."
            )
        statistics = sample_statistics(summary, nodes, largest_family=max(sizes) + 1)
        parameters = estimate_parameters(statistics, parents, nodes)
        fixed = fixed_masks(self.dag)
        self._keep(LinearGaussianModel.from_estimates(nodes, parents, parameters, fixed))

    # The distribution

    def logpdf(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the log density of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, m), or LocalScores
            As in `fit`.

        Returns
        -------
        log_density : ndarray of shape (n_samples,), float64, nats

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no parameters.
        ValueError, TypeError
            If X is no such table; if a node has no noise, as after `do`.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import GaussianBayesianNetwork
        >>> dag = nx.DiGraph()
        >>> dag.add_node("a", intercept=0, noise_variance=1)
        >>> GaussianBayesianNetwork(dag).logpdf([[0], [2]]).round(4)
        array([-0.9189, -2.9189])
        """
        model = self._model()
        return model.log_density(read_columns(Table(X), model.nodes, model.nodes))

    def score_samples(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the log density of each row: `logpdf`, by scikit-learn's name.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, m), or LocalScores
            As in `fit`.

        Returns
        -------
        log_density : ndarray of shape (n_samples,), float64, nats
        """
        return self.logpdf(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log density of a row, in nats; the larger, the better.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, m), or LocalScores
            As in `fit`.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            As in `fit`.

        Returns
        -------
        score : float, nats

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If there are no parameters.
        ValueError, TypeError
            If X is no such table; if a node has no noise, as after `do`.

        Examples
        --------
        >>> import networkx as nx
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.model_selection import cross_val_score
        >>> from skbn import GaussianBayesianNetwork
        >>> wine = load_wine(as_frame=True).data
        >>> dag = nx.DiGraph([("alcohol", "proline")])
        >>> cross_val_score(GaussianBayesianNetwork(dag), wine).mean().round(2)
        np.float64(-8.58)
        """
        model = self._model()
        rows = read_columns(Table(X), model.nodes, model.nodes)
        return _sample(X, rows, sample_weight).mean(model.log_density(rows))

    def __sklearn_is_fitted__(self) -> bool:
        try:
            self._model()
        except (TypeError, ValueError):  # no graph, or parameters missing or wrong
            return False
        return True

    def __dir__(self) -> list[str]:
        # Without the attributes whose computation fails, or a network could not be shown.
        return [name for name in object.__dir__(self) if self._has(name)]

    def _has(self, name: str) -> bool:
        try:
            getattr(self, name)
        except (AttributeError, TypeError, ValueError):
            return False
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dag=<{self.dag}>)"

    def _shown_graph(self) -> nx.DiGraph | None:
        try:
            return self.dag_ if self.__sklearn_is_fitted__() else self._structure()
        except (TypeError, ValueError):
            return None

    def _structure(self) -> nx.DiGraph:
        check_dag(self.dag)
        return dag_of(list(self.dag), parent_masks(self.dag))

    def _model(self) -> LinearGaussianModel:
        check_dag(self.dag)
        if hasattr(self, "_estimated") and self._estimated_of == contents_of(self.dag):
            return replace(self._estimated, fixed=fixed_masks(self.dag))
        if not is_parametrised(self.dag):
            raise NotFittedError(
                "This GaussianBayesianNetwork has no parameters yet. Call fit, or give the nodes "
                "of dag the attributes intercept and noise_variance and its edges weight."
            )
        return LinearGaussianModel.from_dag(self.dag)


def _sample(X: Any, rows: npt.NDArray[np.float64], sample_weight: Any) -> Sample:
    """Return rows with their weights, or those that LocalScores have."""
    if isinstance(X, LocalScores):
        sample = Sample(rows, X.sample.weight, X.sample.labels)
    else:
        sample = Sample(rows, labels=row_labels(X))
    return sample.with_weight(sample_weight)

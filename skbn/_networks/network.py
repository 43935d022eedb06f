"""GaussianBayesianNetwork: a network as a joint Gaussian distribution.

The methods check what users give them and describe the results; the work behind them is done by
the functions of this package's other modules.
"""

from __future__ import annotations

from typing import Any, Self

import networkx as nx
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_array

from skbn._core.estimator import CallbackSupportMixin, fit_method, fit_task
from skbn._core.frames import frame_of
from skbn._core.graphs import (
    GraphStateMixin,
    check_dag,
    fixed_parent_masks,
    parent_masks,
)
from skbn._core.notebook import DocLinkMixin
from skbn._core.text import readable_value
from skbn._data.dask_blocks import is_dask
from skbn._data.dask_rows import read_dask_rows
from skbn._data.sample import Sample
from skbn._data.statistics import sample_statistics
from skbn._data.table import Table, numbers_of, read_columns, row_labels
from skbn._drawing.plot_mixin import PlotMixin
from skbn._networks.edge_table import edge_columns, score_losses
from skbn._networks.equations import network_text
from skbn._networks.formats import FormatsMixin
from skbn._networks.gaussian import estimate_model
from skbn._networks.inference import InferenceMixin
from skbn._scores.criteria import Criterion
from skbn._scores.local_scores import LocalScores

__all__ = ["GaussianBayesianNetwork"]


class GaussianBayesianNetwork(
    GraphStateMixin,
    DocLinkMixin,
    PlotMixin,
    InferenceMixin,
    FormatsMixin,
    CallbackSupportMixin,
    DensityMixin,
    BaseEstimator,
):
    """A Gaussian Bayesian network: its graph, and the joint distribution of its nodes.

    Each node is a linear function of its parents plus independent Gaussian noise. If the
    graph carries the parameters, the network is ready to use; otherwise `fit` estimates
    them. Cross-validating networks compares their graphs by the likelihood of held-out
    rows.

    ``network["ash"]`` is the mean and the standard deviation of a node, and
    ``network[["ash", "hue"]]`` the joint distribution of several. ``print(network)`` writes the
    regressions.

    Parameters
    ----------
    dag : networkx.DiGraph
        Acyclic; its nodes are the columns, in their order. The parameters are the
        attributes `intercept` and `noise_variance` of its nodes, the latter not negative, and
        `weight` of its edges. Weights alone, without attributes of nodes, are ignored. An edge
        whose reverse is known to be wrong has the attribute `fixed`, True; `cpdag` leaves it
        directed. A learner marks the edges that its constraints do not let it reverse.
        Changing the graph after `fit` drops the estimates: the network then has the parameters
        that the graph carries, if any, until it is fitted again.

    Attributes
    ----------
    nodes : list
    dag_ : networkx.DiGraph
        A copy of the graph whose only attributes are the parameters (after `fit`, the
        estimates) and `fixed`. A network made of it has the same parameters.
    coef_ : ndarray of shape (m, m)
        ``coef_[i, j]`` is the weight of the edge i -> j, or 0 without an edge.
    intercept_ : ndarray of shape (m,)
    noise_variance_ : ndarray of shape (m,)
    mean_ : ndarray of shape (m,)
    covariance_ : ndarray of shape (m, m)

    See Also
    --------
    GaussianBNLearner : Finds the best network of a table.

    Notes
    -----
    The covariance is F'F, where F is the product of ``diag(sqrt(noise_variance_))`` and the
    inverse of ``I - coef_`` (Shachter & Kenley 1989, "Gaussian influence diagrams").
    Conditional distributions come from the QR decomposition of F's columns.

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
    >>> round(network.condition({"alcohol": 14, "hue": 1})["proline"].mean)
    1021
    >>> print(network)
    GaussianBayesianNetwork of 3 nodes and 2 edges (0 reversible)
    alcohol = 13, noise sd 0.81
    proline = -2980 + 258 alcohol + 391 hue, noise sd 223
    hue = 0.957, noise sd 0.228
    >>> round(network.do({"hue": 1})["proline"].mean)
    764
    """

    def __init__(self, dag: nx.DiGraph) -> None:
        self.dag = dag

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Estimate the parameters of the graph by maximum likelihood.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, m), or LocalScores
            Finite numbers. If the columns' names are strings, they are matched to the nodes,
            in any order, and other columns are left out. Otherwise the columns are the nodes
            in their order. The blocks of a dask array or data frame need not fit in memory
            together.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts; LocalScores may have weights of their own. A pandas
            Series is matched to the rows by label, if the rows of X have labels.

        Returns
        -------
        self : GaussianBayesianNetwork

        Raises
        ------
        ValueError, TypeError
            If X is not such a table, or `dag` is not an acyclic graph. Also if the likelihood
            is unbounded: if a node has too many parents for the number of rows, or a column is
            constant or depends linearly on others.

        Notes
        -----
        Each child is regressed on its parents. The variance of its noise is the
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
            check_dag(self.dag)
            nodes, parents = list(self.dag), parent_masks(self.dag)
            summary = _sample(X, nodes, sample_weight).summary
            sizes = [mask.bit_count() for mask in parents]
            if summary.n_rows < max(sizes) + 2:
                node = nodes[int(np.argmax(sizes))]
                raise ValueError(
                    f"X has n_samples = {summary.n_rows} rows, and node {node!r} with its parents "
                    f"makes {max(sizes) + 1} columns: with no more rows than that, the likelihood "
                    "is unbounded. Give more rows, or the node fewer parents."
                )
            statistics = sample_statistics(summary, nodes, largest_family=max(sizes) + 1)
            fixed = fixed_parent_masks(self.dag)
            self._keep(estimate_model(statistics, parents, nodes, fixed=fixed))
        return self

    # Density

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
            If X is not such a table; if a node has no noise, as after `do`.

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
        """Return the mean log density of a row, in nats; larger is better.

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
            If X is not such a table; if a node has no noise, as after `do`.

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
        return model.mean_log_density(_sample(X, model.nodes, sample_weight))

    # Edges

    def to_frame(self, scores: Any = None, *, criterion: str | Criterion | None = None) -> Any:
        """Return a table with a row for each edge.

        The rows are ordered by child and, for each child, by parent, both in the order of `nodes`:
        each regression is a block of rows.

        Parameters
        ----------
        scores : LocalScores, ParentSetScores, or array-like or data frame of shape \
(n_samples, m), optional
            What to compute `score_loss` from. Not needed for the network of a learner, which knows
            its losses until it is fitted again or its graph is changed.
        criterion : {"bic", "aic", "loglik", "ebic", "bge"} or Criterion, optional
            How to score a table; by default the BIC.

        Returns
        -------
        table : pandas.DataFrame
            Without pandas, a dict of the columns that is displayed as a table. The columns are

            - `parent` and `child`
            - `weight` and `standardised_weight`, if the network has parameters. The latter is the
              weight times the parent's standard deviation and divided by the child's, those of the
              network's joint distribution. It is NaN if one of them does not vary.
            - `score_loss`, if it is known or `scores` are given: by how many nats the score is
              lower without this edge, while all others stay. It is negative if the network scores
              higher without the edge, as it may if the edge was required. ParentSetScores may not
              list the smaller set of parents; the child then keeps the best listed subset of it,
              and the loss is infinite if there is none.
            - `reversible`: whether an equivalent network that keeps all edges with the attribute
              `fixed` has the edge reversed. It is undirected in `cpdag`.
            - `probability` and `support`, if edges of the graph have such attributes, as those of
              a posterior's median network have. It is NaN for edges without.

        Raises
        ------
        TypeError, ValueError
            If `dag` is not an acyclic graph, or only some of the parameters are there; if the
            columns of `scores` are not the nodes; if a table does not suit `fit`; if a criterion is
            given for scores that are made already, or for none.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import GaussianBNLearner
        >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue"]]
        >>> table = GaussianBNLearner().fit(wine).network_.to_frame()
        >>> print(table.round(2).to_string(index=False))
         parent   child  weight  standardised_weight  score_loss  reversible
        alcohol proline  257.60                 0.66       53.02       False
            hue proline  391.04                 0.28       10.51       False
        """
        if scores is None and criterion is not None:
            raise ValueError(
                f"criterion={readable_value(criterion)} was given without a table to score. Give "
                "the table as scores."
            )
        check_dag(self.dag)
        losses = self._score_losses if self._is_learned_graph() else None
        if scores is not None:
            losses = score_losses(self.dag, scores, criterion)
        return frame_of(edge_columns(self.dag, self._parameters(), losses))

    # scikit-learn's conventions, and what the methods share

    def __sklearn_is_fitted__(self) -> bool:
        try:
            self._model()
        except (TypeError, ValueError):  # not a graph, or parameters missing or wrong
            return False
        return True

    def __sklearn_clone__(self) -> Self:
        # sklearn.base.clone keeps what set_output has set.
        clone = super().__sklearn_clone__()
        clone._output_container = self._output_container
        return clone

    def __dir__(self) -> list[str]:
        # Without the attributes whose computation fails: a notebook reads all that are listed.
        return [name for name in object.__dir__(self) if self._has_attribute(name)]

    def _has_attribute(self, name: str) -> bool:
        try:
            getattr(self, name)
        except (AttributeError, TypeError, ValueError):
            return False
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dag=<{self.dag}>)"

    def __str__(self) -> str:
        try:
            check_dag(self.dag)
        except (TypeError, ValueError):
            return repr(self)
        model = self._model() if self.__sklearn_is_fitted__() else None
        return network_text(type(self).__name__, self.dag, model)

    def _shown_graph(self) -> nx.DiGraph | None:
        try:
            return self.dag_ if self.__sklearn_is_fitted__() else self._structure()
        except (TypeError, ValueError):
            return None


def _sample(X: Any, nodes: list[Any], sample_weight: Any) -> Sample:
    """Return the nodes' columns, with the weights that are given or that LocalScores have.

    Only a summary of them if X is a table of dask.
    """
    table = Table(X)
    if is_dask(X):
        numbers = numbers_of(table, nodes, nodes)
        n_rows, sample = read_dask_rows(X, sample_weight, numbers=numbers, names=nodes)
        check_array(np.zeros((min(n_rows, 1), len(nodes))), input_name="X")
        return sample
    rows = read_columns(table, nodes, nodes)
    if isinstance(X, LocalScores):
        sample = Sample(rows, X.sample.weight, X.sample.labels)
    else:
        sample = Sample(rows, labels=row_labels(X))
    return sample.with_weight(sample_weight)

"""What estimators of networks share: parameters, reading tables, predict, score."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, Self

import networkx as nx
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from skbn._core.arrays import Booleans
from skbn._core.estimator import (
    CallbackSupportMixin,
    Interval,
    MemorySize,
    NetworkHintMixin,
    listeners_of,
)
from skbn._core.graphs import GraphStateMixin
from skbn._core.progress import Progress, say
from skbn._core.resources import Resources
from skbn._core.text import readable_value
from skbn._data.containers import is_dask
from skbn._data.experiments import ExperimentalSample, read_interventions
from skbn._data.sample import Sample
from skbn._data.table import Table
from skbn._displays.notebook import DocLinkMixin, PlotMixin
from skbn._estimators.validation import (
    PARAMETER_CONSTRAINTS,
    check_columns,
    learn_columns,
    make_scores,
    most_parents,
    read_sample,
)
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.base import BaseScores
from skbn._scores.criteria import Criterion
from skbn._scores.local_scores import LocalScores
from skbn._solver.constraints import Constraints, read_constraints

__all__ = ["NetworkEstimator", "OneNetworkEstimator"]


class NetworkEstimator(
    GraphStateMixin,
    NetworkHintMixin,
    DocLinkMixin,
    PlotMixin,
    CallbackSupportMixin,
    DensityMixin,
    BaseEstimator,
):
    """An estimator of networks. Derived classes that search have the parameters annotated below."""

    _allowed_values: ClassVar[dict[str, Any]] = {
        "criterion": [*PARAMETER_CONSTRAINTS["criterion"], None],
        "max_parents": PARAMETER_CONSTRAINTS["max_parents"],
        "nodes": PARAMETER_CONSTRAINTS["nodes"],
        "n_jobs": PARAMETER_CONSTRAINTS["n_jobs"],
        "max_memory": [Interval(Real, 0, None, closed="neither"), MemorySize(), None],
        "verbose": ["verbose"],
    }
    _default_criterion = "bic"
    _network_class = GaussianBayesianNetwork
    criterion: str | Criterion | None
    max_parents: int | None
    nodes: Any = None
    missing: str = "error"
    required_edges: Any
    forbidden_edges: Any
    tiers: Any
    exogenous: Any = None
    n_jobs: int | None
    max_memory: float | str | None
    verbose: bool | int
    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]
    fit: Callable[..., Self]
    dag_: nx.DiGraph

    def __sklearn_is_fitted__(self) -> bool:
        return "dag_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._may_miss
        return tags

    @property
    def _may_miss(self) -> bool:
        """Whether values may be missing."""
        return self.missing != "error"

    def predict(self, X: Any = None) -> nx.DiGraph:
        """Return the graph of the fitted network.

        Parameters
        ----------
        X : array-like, data frame or LocalScores, optional
            Must have the columns of `fit`; not used otherwise. The rows of a dask array or data
            frame are not read.

        Returns
        -------
        dag : networkx.DiGraph
            A new copy of the graph that `fit` found.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError, TypeError
            If X is not a table of these columns.

        Examples
        --------
        >>> from skbn import GaussianBNLearner
        >>> learner = GaussianBNLearner().fit([[0, 0], [1, 2], [2, 5], [3, 5]])
        >>> list(learner.predict().edges)
        [(0, 1)]
        """
        check_is_fitted(self)
        if isinstance(X, BaseScores):
            self._check_columns_of(X)
        elif is_dask(X):  # its rows are not read
            table = Table(X)
            check_columns(self, table.names, len(table.labels))
        elif X is not None:
            self._sample(X)
        return self._new_graph()

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any
    ) -> nx.DiGraph:
        """Fit, and return the graph of the network as `predict` does.

        Raises what `fit` raises.

        Parameters
        ----------
        X : array-like, data frame, LocalScores or ParentSetScores
            As in `fit`.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            As in `fit`.
        **params
            Further arguments of `fit`, such as the groups of `GaussianBNLearnerCV`.

        Returns
        -------
        dag : networkx.DiGraph
            A copy of `dag_`.
        """
        return self.fit(X, y, sample_weight=sample_weight, **params).predict()

    # For derived classes

    @abstractmethod
    def _new_graph(self) -> nx.DiGraph:
        """Return a new copy of the graph that `fit` found."""

    def _shown_graph(self) -> nx.DiGraph | None:
        return vars(self).get("dag_")

    def _sample(self, X: Any, sample_weight: Any = None, *, needs_rows: bool = True) -> Sample:
        """Return the rows of a table or of LocalScores with their weights, or a summary."""
        if isinstance(X, BaseScores):
            sample = X.sample
            self._check_columns_of(X)
            return sample.with_weight(sample_weight)
        may_miss = self._may_miss
        return read_sample(
            self, X, sample_weight, reset=False, needs_rows=needs_rows, may_miss=may_miss
        )

    def _read_scores(
        self,
        X: Any,
        sample_weight: Any,
        penalty: float,
        interventions: Any = None,
        *,
        needs_rows: bool = False,
    ) -> BaseScores:
        """Return X if it is scores, else the local scores of the table X."""
        if not isinstance(X, BaseScores):
            needs_rows |= interventions is not None
            settings = {"needs_rows": needs_rows, "may_miss": self._may_miss}
            sample = read_sample(self, X, sample_weight, reset=True, min_samples=2, **settings)
            scores = make_scores(self, sample, penalty)
            return scores if interventions is None else scores.with_interventions(interventions)
        if self.nodes is not None:
            raise ValueError(
                f"nodes={readable_value(self.nodes)} was asked for, but X is {type(X).__name__}. "
                "Set it where they are made, and nodes=None here."
            )
        m, kind = len(X.columns), type(X).__name__
        if m < 2:
            name = type(self).__name__
            raise ValueError(f"{name} needs at least 2 columns; the {kind} have {m}.")
        nodes = X.sample.nodes if isinstance(X, LocalScores) else None
        n_columns = m if nodes is None else len(nodes.labels)
        learn_columns(self, getattr(X, "feature_names_in_", None), n_columns, nodes)
        return X.with_sample_weight(sample_weight).with_interventions(interventions)

    def _check_columns_of(self, scores: BaseScores) -> None:
        names = getattr(scores, "feature_names_in_", None)
        nodes = scores.sample.nodes if isinstance(scores, LocalScores) else None
        check_columns(self, names, len(scores.columns if nodes is None else nodes.labels))

    def _constraints(self, scores: BaseScores) -> Constraints:
        return read_constraints(
            scores.columns,
            max_parents=most_parents(self.max_parents, scores),
            required_edges=self.required_edges,
            forbidden_edges=self.forbidden_edges,
            tiers=self.tiers,
            exogenous=self.exogenous,
        )

    def _resources(self, context: Any = None) -> Resources:
        """Return what a computation may take; a callback's context hears of its progress."""
        return Resources.of_machine(
            self.max_memory,
            n_jobs=self.n_jobs,
            progress=Progress(listeners=listeners_of(self, context)),
            announce=self._announce if self.verbose else None,
        )

    def _announce(self, plan: str) -> None:
        say(f"[{type(self).__name__}] {plan}")


class OneNetworkEstimator(NetworkEstimator):
    """An estimator of one network, by which it scores rows."""

    network_: GaussianBayesianNetwork

    def _new_graph(self) -> nx.DiGraph:
        return self.network_.dag.copy()

    def impute(self, X: Any) -> Any:
        """Return a table with its missing values filled by their conditional means.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The columns of `fit`. Any values may be missing, whatever ``missing`` says.

        Returns
        -------
        filled : data frame or ndarray of the shape of X
            As `GaussianBayesianNetwork.impute` returns: observed values are not changed by a bit,
            and the rows of a data frame of pandas keep their index.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError, TypeError
            If X is not a table of these columns.

        Examples
        --------
        >>> import numpy as np
        >>> from skbn import GaussianBNLearner
        >>> learner = GaussianBNLearner().fit([[0, 1], [1, 3], [2, 5.5], [3, 7]])
        >>> learner.impute([[4, np.nan], [np.nan, 9]]).round(2)
        array([[4.  , 9.25],
               [3.86, 9.  ]])
        """
        check_is_fitted(self)
        read_sample(self, X, reset=False, may_miss=True)  # the columns are those of fit
        return self.network_.impute(X)

    def score_samples(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the log-likelihood of each row under the fitted network.

        Parameters
        ----------
        X : array-like, data frame or LocalScores of shape (n_samples, n_features)
            The columns of `fit`. With ``missing="em"`` values may be missing, and the likelihood is
            that of what is observed: 0 for a row without any value.

        Returns
        -------
        log_likelihood : ndarray of shape (n_samples,), float64, nats

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError, TypeError
            If X is not a table of these columns.
        """
        check_is_fitted(self)
        sample = self._sample(X)
        rows = self.network_._own_columns(sample).rows
        return self.network_._model().log_density(rows, self._sets_of_columns(sample.is_set))

    def _sets_of_columns(self, is_set: Booleans | None) -> Booleans | None:
        """Return which of the network's columns were set, from what is known of the nodes."""
        return None if is_set is None else self.network_._of_columns(is_set)

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, interventions: Any = None
    ) -> float:
        """Return the mean log-likelihood of a row under the fitted network, in nats.

        Larger is better, so that a grid search picks what predicts held-out rows best. Scores
        can only be compared if the columns have the same units, since a density is per unit.

        Parameters
        ----------
        X : array-like, data frame or LocalScores of shape (n_samples, n_features)
            The columns of `fit`. LocalScores need no rows, and a dask array or data frame is read
            block by block. Values may be missing as in `score_samples`.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts, as in `fit`. LocalScores may already have weights.
        interventions : data frame or array-like of bool, or sequence of length n_samples, optional
            Which columns an experimenter set in each row, as in `GaussianBNLearner.fit`. The
            likelihood of a row is then that of the other columns, given those that were set.

        Returns
        -------
        score : float

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError, TypeError
            If X is not a table of these columns, or the weights or interventions do not match its
            rows.

        Examples
        --------
        >>> from skbn import GaussianBNLearner
        >>> learner = GaussianBNLearner().fit([[0, 0], [1, 2], [2, 5], [3, 5]])
        >>> round(learner.score([[1, 2], [2, 4]]), 6)
        -1.661306
        """
        check_is_fitted(self)
        sample = self._sample(X, sample_weight, needs_rows=interventions is not None)
        model, own = self.network_._model(), self.network_._own_columns(sample)
        is_set = sample.is_set
        if interventions is not None:
            is_set = read_interventions(interventions, sample, self.network_.nodes)
        if is_set is not None:
            return sample.mean(model.log_density(own.rows, self._sets_of_columns(is_set)))
        if isinstance(sample, ExperimentalSample):
            raise ValueError(
                "These LocalScores have interventions, and no rows that say which values were set. "
                "Pass the table with its interventions."
            )
        return model.mean_log_density(own)

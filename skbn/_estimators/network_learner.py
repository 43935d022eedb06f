"""NetworkLearner: what learners of networks have in common."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from numbers import Real
from typing import Any, ClassVar, Self

import networkx as nx
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from skbn._core.estimator import CallbackSupportMixin, DocLinkMixin, PlotMixin
from skbn._core.graphs import GraphStateMixin
from skbn._core.memory import available_memory
from skbn._core.parameters import Interval
from skbn._data.sample import Sample
from skbn._estimators.failures import all_or_nothing, clear_failure
from skbn._estimators.found_network import FoundNetwork
from skbn._estimators.validation import (
    PARAMETER_CONSTRAINTS,
    check_columns,
    learn_columns,
    make_scores,
    most_parents,
    read_sample,
)
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.criterion import Criterion
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._solver.constraints import Constraints, read_constraints
from skbn._solver.solve import MemoryLimit

__all__ = ["NetworkLearner"]


class NetworkLearner(
    GraphStateMixin, DocLinkMixin, PlotMixin, CallbackSupportMixin, DensityMixin, BaseEstimator
):
    """A learner that, once fitted, has a network.

    A derived class has the parameters that are named below, and keeps what it found as
    ``_found``, None where the search is still to be done by ``_find``.
    """

    _allowed_values: ClassVar[dict[str, Any]] = {
        "criterion": [*PARAMETER_CONSTRAINTS["criterion"], None],
        "max_parents": PARAMETER_CONSTRAINTS["max_parents"],
        "n_jobs": PARAMETER_CONSTRAINTS["n_jobs"],
        "max_memory": [Interval(Real, 0, None, closed="neither"), None],
        "verbose": ["verbose"],
    }
    criterion: str | Criterion | None
    max_parents: int | None
    required_edges: Any
    forbidden_edges: Any
    tiers: Any
    n_jobs: int | None
    max_memory: float | None
    verbose: bool | int
    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]
    fit: Callable[..., Self]
    _found: FoundNetwork | None

    # What it found

    @property
    def network_(self) -> GaussianBayesianNetwork:
        """The best network.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`, and before the first rows of `partial_fit`.
        ValueError
            After `partial_fit`, what `fit` raises: the search begins when its result is
            asked for.
        """
        return self._result.network

    @property
    def dag_(self) -> nx.DiGraph:
        """The graph of the best network.

        Its nodes are the columns, by name if all names are strings, else by position, with
        the attributes `intercept` and `noise_variance`; its edges have the attribute
        `weight`, the coefficient of the child's regression, and `fixed`, True, if the constraints
        rule out their reverse. Raises what `network_` raises.
        """
        return self._result.dag

    @property
    def network_score_(self) -> float:
        """The best network's score, in nats; raises what `network_` raises."""
        return self._result.score

    @property
    def criterion_(self) -> Criterion | None:
        """The criterion that was maximised; raises what `network_` raises."""
        return self._result.criterion

    @property
    def _result(self) -> FoundNetwork:
        check_is_fitted(self)
        if self._found is None:
            with clear_failure():
                self._found = self._find()
        return self._found

    def _find(self) -> FoundNetwork:
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_found")

    def __dir__(self) -> list[str]:
        # Listing the attributes, as a notebook does, must not start a pending search, and
        # scikit-learn's own __dir__ reads all of them.
        is_pending = getattr(self, "_found", None) is None
        hidden = {"network_", "dag_", "network_score_", "criterion_"} if is_pending else set()
        names = (name for name in object.__dir__(self) if name not in hidden | {"_result"})
        return [name for name in names if hasattr(self, name)]

    def _fitting(self) -> AbstractContextManager[None]:
        """Return the context of a fit: one that fails leaves nothing, nor an earlier one's."""
        return all_or_nothing(self, "_found", "_summary")

    # What it is good for

    def predict(self, X: Any = None) -> nx.DiGraph:
        """Return the network.

        Parameters
        ----------
        X : array-like, data frame or LocalScores, optional
            Its columns must be those of `fit`; it is not used otherwise.

        Returns
        -------
        dag : networkx.DiGraph
            A graph of its own, as `dag_` was when it was found.

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
        if isinstance(X, LocalScores | ParentSetScores):
            self._check_columns_of(X)
        elif X is not None:
            self._sample(X)
        return self.network_.dag.copy()

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any
    ) -> nx.DiGraph:
        """Find the best network and return it.

        Raises what `fit` raises.

        Parameters
        ----------
        X : array-like, data frame, LocalScores or ParentSetScores
            As in `fit`.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            As in `fit`.
        **params
            What else `fit` takes, such as the groups of `GaussianBNLearnerCV`.

        Returns
        -------
        dag : networkx.DiGraph
            A copy of `dag_`.
        """
        return self.fit(X, y, sample_weight=sample_weight, **params).predict()

    def score_samples(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the log-likelihood of each row under the fitted network.

        Parameters
        ----------
        X : array-like, data frame or LocalScores of shape (n_samples, n_features)
            The columns of `fit`.

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
        return self.network_.logpdf(self._sample(X).rows)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log-likelihood of a row under the fitted network, in nats.

        Larger is better, so that a grid search picks what predicts held-out rows best. It can
        be compared for columns in the same units only: densities are per unit.

        Parameters
        ----------
        X : array-like, data frame or LocalScores of shape (n_samples, n_features)
            The columns of `fit`.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts, as in `fit`. LocalScores may have weights of their own.

        Returns
        -------
        score : float

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError, TypeError
            If X is not a table of these columns, or the weights are not those of its rows.

        Examples
        --------
        >>> from skbn import GaussianBNLearner
        >>> learner = GaussianBNLearner().fit([[0, 0], [1, 2], [2, 5], [3, 5]])
        >>> round(learner.score([[1, 2], [2, 4]]), 6)
        -1.661306
        """
        check_is_fitted(self)
        sample = self._sample(X, sample_weight)
        return sample.mean(self.network_.logpdf(sample.rows))

    # What derived classes share

    def _shown_graph(self) -> nx.DiGraph | None:
        # Not a search that is still to be done.
        found = getattr(self, "_found", None)
        return None if found is None else found.dag

    def _sample(self, X: Any, sample_weight: Any = None) -> Sample:
        """Return the rows of a table or of LocalScores, with their weights."""
        if isinstance(X, ParentSetScores):
            raise TypeError("ParentSetScores have no rows; give a table.")
        if isinstance(X, LocalScores):
            self._check_columns_of(X)
            sample = X.sample
        else:
            sample = read_sample(self, X, reset=False)
        return sample.with_weight(sample_weight)

    def _read_scores(
        self, X: Any, sample_weight: Any, penalty: float
    ) -> LocalScores | ParentSetScores:
        """Return the scores that X is, or those of a table."""
        if not isinstance(X, LocalScores | ParentSetScores):
            sample = read_sample(self, X, reset=True, min_samples=2)
            return self._scores_of(sample.with_weight(sample_weight), penalty)
        m, kind = len(X.columns), type(X).__name__
        if m < 2:
            name = type(self).__name__
            raise ValueError(f"{name} needs at least 2 columns; the {kind} have {m}.")
        learn_columns(self, getattr(X, "feature_names_in_", None), m)
        if isinstance(X, LocalScores):
            return X.with_sample_weight(sample_weight)
        if sample_weight is not None:
            raise TypeError("ParentSetScores have no rows that a sample_weight could apply to.")
        return X

    def _check_columns_of(self, scores: LocalScores | ParentSetScores) -> None:
        names = getattr(scores, "feature_names_in_", None)
        check_columns(self, names, len(scores.columns))

    def _scores_of(self, sample: Sample, penalty: float) -> LocalScores:
        criterion = "bic" if self.criterion is None else self.criterion
        return make_scores(self, sample, criterion, penalty)

    def _constraints(self, scores: LocalScores | ParentSetScores) -> Constraints:
        return read_constraints(
            scores.columns,
            max_parents=most_parents(self, scores),
            required_edges=self.required_edges,
            forbidden_edges=self.forbidden_edges,
            tiers=self.tiers,
        )

    def _memory(self) -> MemoryLimit:
        allowed = None if self.max_memory is None else int(self.max_memory)
        return MemoryLimit(available_memory(), allowed)

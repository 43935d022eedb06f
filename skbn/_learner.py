"""GaussianBNLearner: from a table, or its local scores, to its best network."""

from __future__ import annotations

import math
import traceback
from numbers import Real
from typing import Any, ClassVar, Self

import networkx as nx
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, DensityMixin, _fit_context
from sklearn.callback import CallbackContext, CallbackSupportMixin, with_callbacks
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from skbn._memory import available_memory
from skbn._networks._equivalence import canonical_member
from skbn._networks._network import estimate_parameters, log_density, to_digraph
from skbn._parallel import one_blas_thread
from skbn._progress import Progress, callback_listener, printing_listener
from skbn._regressions._log_determinants import log_determinants_work
from skbn._scores._criteria import InformationCriterion
from skbn._scores._local_scores import LocalScores
from skbn._scores._statistics import SCORE_ACCURACY
from skbn._search._exact import SearchResult, exact_search
from skbn._search._plan import SearchPlan, plan_search
from skbn._validation import PARAMETER_CONSTRAINTS, check_columns, read_rows

__all__ = ["GaussianBNLearner"]


class GaussianBNLearner(CallbackSupportMixin, DensityMixin, BaseEstimator):
    """Find the Gaussian Bayesian network of the highest score, among all there are.

    Each column is a linear function of its parents plus Gaussian noise. The search
    is exact: no other acyclic network on the columns has a higher score, beyond
    rounding (some 1e-12 of the score; 1e-3 nats for columns on the verge of
    collinearity, and `fit` refuses what would exceed that).

    Parameters
    ----------
    criterion : {"bic", "aic", "loglik"} or None, default=None
        The score that is maximised, as in `LocalScoreTransformer`. None takes that
        of the LocalScores that `fit` is given, and "bic" for a table.
    penalty : float or None, default=None
        Multiplies the criterion's complexity term; not negative. None takes that of
        the LocalScores that `fit` is given, and 1 for a table.
    n_jobs : int or None, default=None
        Number of threads, by joblib's rules. It does not change a bit of the result.
        The log-determinants of LocalScores are computed with the `n_jobs` of these.
    max_memory : float or None, default=None
        How many bytes the search's tables may take. With less, it goes through more
        parts one after the other, which takes longer and changes no bit of the result.
        None allows for what is available, with a little left for others.
    verbose : bool or int, default=False
        Whether to print how the search is laid out, and every few seconds how far it
        has come. `set_callbacks` shows the same in scikit-learn's progress bars.

    Attributes
    ----------
    dag_ : networkx.DiGraph
        The network. Its nodes are the columns, by name if they have names, else by
        number, with the attributes `intercept` and `noise_variance`; its edges have
        the attribute `weight`, the coefficient of the child's regression.
    network_score_ : float
        Its score, in nats.
    coef_ : ndarray of shape (n_features_in_, n_features_in_)
        ``coef_[i, j]`` is the weight of the edge i -> j, 0 where there is none.
    intercept_ : ndarray of shape (n_features_in_,)
    noise_variance_ : ndarray of shape (n_features_in_,)
        Maximum-likelihood estimates: residual sums of squares divided by n.
    mean_ : ndarray of shape (n_features_in_,)
        The columns' means, which are also those of the network.
    criterion_ : InformationCriterion
        The criterion that was maximised.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,) of str
        Only if `fit` was given columns that all have strings for names.

    See Also
    --------
    LocalScoreTransformer : Computes the local scores as a step of its own.

    Notes
    -----
    Dynamic programming over the sets of columns (Silander & Myllymäki 2006, "A
    simple approach for finding the globally optimal Bayesian network structure"):
    time and memory grow as 2**m, and `fit` refuses what does not fit the memory.

    Ties, that is scores that are equal up to rounding, are broken by column order.
    Of parent sets that tie, one with the fewest columns is taken, and of these the
    first when their columns are compared in order. Networks that imply the same
    independences always tie; of these it is the one built from the end: again and
    again the last column that can be a sink of what remains. A reversible edge thus
    points to the later column wherever it can.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import GaussianBNLearner
    >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
    >>> learner = GaussianBNLearner().fit(wine)
    >>> for parent, child, weight in learner.dag_.edges(data="weight"):
    ...     print(f"{parent} -> {child}: {weight:.3g}")
    alcohol -> proline: 258
    proline -> ash: 0.000195
    hue -> proline: 391
    >>> round(learner.network_score_, 2)
    -1465.36
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PARAMETER_CONSTRAINTS,
        "criterion": [*PARAMETER_CONSTRAINTS["criterion"], None],
        "penalty": [*PARAMETER_CONSTRAINTS["penalty"], None],
        "max_memory": [Interval(Real, 0, None, closed="neither"), None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        criterion: str | None = None,
        *,
        penalty: float | None = None,
        n_jobs: int | None = None,
        max_memory: float | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.criterion = criterion
        self.penalty = penalty
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.verbose = verbose

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the best network and estimate its parameters.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or LocalScores
            Finite numbers, at least 2 columns, and more rows than columns.
        y : ignored

        Returns
        -------
        self : GaussianBNLearner

        Raises
        ------
        ValueError, TypeError
            If X is not such a table; if a column is constant or depends linearly
            on others, as the likelihood is unbounded then; if the search needs
            more memory than there is or than `max_memory`; if a parameter is not
            one of those above, or differs from that of the LocalScores.
        RuntimeError
            If a callback asks to stop before the search is finished.
        """
        self._forget()  # a search that fails leaves nothing of an earlier one
        context = self._init_callback_context(max_subtasks=100)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        scores = self._local_scores(X)
        try:
            result = self._search(scores, context)
        except BaseException as error:
            # A traceback that outlives the error would hold on to the search's tables.
            traceback.clear_frames(error.__traceback__)
            del scores
            raise
        with one_blas_thread():
            parents = canonical_member(result.parents)
            parameters = estimate_parameters(scores.statistics, parents, scores.columns)
            dag = to_digraph(parents, parameters, scores.columns)
            network_score = scores.network_score(dag)
        _check_agreement(network_score, result.score + math.fsum(scores.score_offsets))

        self.criterion_ = scores.criterion
        self.dag_ = dag
        self.network_score_ = network_score
        self.coef_, self.intercept_, self.noise_variance_ = parameters
        self.mean_ = scores.statistics.mean.copy()
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def predict(self, X: Any = None) -> nx.DiGraph:
        """Return the network.

        Parameters
        ----------
        X : array-like, data frame or LocalScores, optional
            Its columns must be those of `fit`; it is not used otherwise.

        Returns
        -------
        dag : networkx.DiGraph
            A copy of `dag_`.

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
        if X is not None:
            self._rows(X)
        return self.dag_.copy()

    def fit_predict(self, X: Any, y: Any = None) -> nx.DiGraph:
        """Find the best network and return it.

        Parameters and errors are those of `fit`.

        Returns
        -------
        dag : networkx.DiGraph
            A copy of `dag_`.
        """
        return self.fit(X).predict()

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
        return log_density(self._rows(X), self.mean_, self.coef_, self.noise_variance_)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of a row under the fitted network, in nats.

        Larger is better, so that a grid search picks what predicts held-out rows best.
        Parameters and errors are those of `score_samples`.

        Returns
        -------
        score : float

        Examples
        --------
        >>> from skbn import GaussianBNLearner
        >>> learner = GaussianBNLearner().fit([[0, 0], [1, 2], [2, 5], [3, 5]])
        >>> round(learner.score([[1, 2], [2, 4]]), 6)
        -1.661306
        """
        return float(self.score_samples(X).mean())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dag_")

    def _forget(self) -> None:
        for attribute in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, attribute)

    def _search(self, scores: LocalScores, context: CallbackContext) -> SearchResult:
        plan = self._plan(scores)
        listeners = []
        if self.verbose:
            print(f"[{type(self).__name__}] {plan}", flush=True)
            listeners.append(printing_listener(type(self).__name__))
        if getattr(self, "_skl_callbacks", None):
            listeners.append(callback_listener(self, context))
        work = plan.work + log_determinants_work(plan.n_columns)
        progress = Progress(work, tuple(listeners))
        log_det = scores.compute_log_determinants(progress)
        return exact_search(log_det, scores.score_tables, plan, self.n_jobs, progress)

    def _plan(self, scores: LocalScores) -> SearchPlan:
        n_bytes, limit = available_memory() + scores.n_bytes, "are available"
        if self.max_memory is not None and self.max_memory < n_bytes:
            n_bytes, limit = int(self.max_memory), "are allowed by max_memory"
        return plan_search(self.n_features_in_, n_bytes, limit)

    def _rows(self, X: Any) -> npt.NDArray[np.float64]:
        if isinstance(X, LocalScores):
            check_columns(self, X, reset=False)
            return np.asarray(X)
        return read_rows(self, X, reset=False)

    def _local_scores(self, X: Any) -> LocalScores:
        if not isinstance(X, LocalScores):
            rows = read_rows(self, X, reset=True, min_samples=2)
            criterion = InformationCriterion(
                "bic" if self.criterion is None else self.criterion,
                1.0 if self.penalty is None else float(self.penalty),
            )
            names = getattr(self, "feature_names_in_", None)
            return LocalScores(rows, criterion, names, self.n_jobs)
        check_columns(self, X, reset=True)
        for parameter, asked, carried in (
            ("criterion", self.criterion, X.criterion.name),
            ("penalty", self.penalty, X.criterion.penalty),
        ):
            if asked is not None and asked != carried:
                raise ValueError(
                    f"{parameter}={asked!r} was asked for, but the LocalScores were made with "
                    f"{parameter}={carried!r}. Set it where they are made, and leave the "
                    f"learner's {parameter} at None."
                )
        return X


def _check_agreement(own: float, searched: float) -> None:
    """Hold the network's score, from its own regressions, against what the search found."""
    if not abs(own - searched) <= SCORE_ACCURACY + 1e-10 * abs(searched):
        raise RuntimeError(
            f"the best network's score is {searched!r} from the search and {own!r} from its own "
            "regressions; this is a defect of the search, please report it"
        )

"""GaussianBNLearner: from a table, or its local scores, to its best network."""

from __future__ import annotations

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

from skbn._constraints import Constraints, read_constraints
from skbn._doc_links import DocLinkMixin
from skbn._memory import available_memory
from skbn._networks._equivalence import canonical_member
from skbn._networks._network import GaussianBayesianNetwork
from skbn._networks._parameters import estimate_parameters
from skbn._optimum import MemoryLimit, Optimum, best_network, plan_groups, work_of
from skbn._parallel import one_blas_thread
from skbn._progress import Progress, callback_listener, printing_listener
from skbn._scores._criteria import as_criterion
from skbn._scores._criterion import Criterion, is_score_equivalent
from skbn._scores._local_scores import LocalScores
from skbn._scores._parent_set_scores import ParentSetScores
from skbn._scores._statistics import SCORE_ACCURACY
from skbn._subsets import members_of
from skbn._validation import (
    PARAMETER_CONSTRAINTS,
    check_columns,
    check_settings,
    most_parents,
    read_rows,
)

__all__ = ["GaussianBNLearner"]


class GaussianBNLearner(DocLinkMixin, CallbackSupportMixin, DensityMixin, BaseEstimator):
    """Find the Gaussian Bayesian network of the highest score, among all there are.

    Each column is a linear function of its parents plus Gaussian noise. The search
    is exact: no other acyclic network on the columns has a higher score, beyond
    rounding (some 1e-12 of the score; 1e-3 nats for columns on the verge of
    collinearity, and `fit` refuses what would exceed that).

    Parameters
    ----------
    criterion : {"bic", "aic", "loglik", "ebic", "bge"}, Criterion or None, default=None
        The score that is maximised, as in `LocalScoreTransformer`. None takes that
        of the LocalScores that `fit` is given, and "bic" for a table.
    penalty : float or None, default=None
        Multiplies the criterion's complexity term; not negative. None takes that of
        the LocalScores that `fit` is given, and 1 for a table.
    max_parents : int or None, default=None
        The largest number of parents. None takes that of the LocalScores that `fit` is
        given, and any number for a table. There may then be many columns, if constraints
        put them in order.
    required_edges : list of (parent, child), networkx.DiGraph or None, default=None
        Edges that the network must have; those of a GaussianBayesianNetwork too. Columns
        are given by name or by number. These edges count as parents of `max_parents`.
    forbidden_edges : list of (parent, child), networkx.DiGraph or None, default=None
        Edges that it must not have, given in the same ways.
    tiers : list of lists of columns, or None, default=None
        Groups in their order, of all columns: no edge points from a later group to an
        earlier one. The search then takes ``2**t`` states for a group of t columns, and
        not ``2**m`` for all of them; other constraints that order the columns do the same.
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
    network_ : GaussianBayesianNetwork
        The network as an object of its own: densities, samples, conditional distributions,
        interventions, equivalence, interchange. It has no parameters yet if `fit` was given
        ParentSetScores.
    criterion_ : Criterion or None
        The criterion that was maximised; None if `fit` was given ParentSetScores.
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
    points to the later column wherever it can. With constraints on edges, or a criterion
    under which such networks need not tie, it is the one that the search itself ends with:
    again and again the last column that can be a sink of a best network.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PARAMETER_CONSTRAINTS,
        "criterion": [*PARAMETER_CONSTRAINTS["criterion"], None],
        "penalty": [*PARAMETER_CONSTRAINTS["penalty"], None],
        "required_edges": "no_validation",
        "forbidden_edges": "no_validation",
        "tiers": "no_validation",
        "max_memory": [Interval(Real, 0, None, closed="neither"), None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        criterion: str | Criterion | None = None,
        *,
        penalty: float | None = None,
        max_parents: int | None = None,
        required_edges: Any = None,
        forbidden_edges: Any = None,
        tiers: Any = None,
        n_jobs: int | None = None,
        max_memory: float | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.criterion = criterion
        self.penalty = penalty
        self.max_parents = max_parents
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.tiers = tiers
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
            Finite numbers, at least 2 columns, and more rows than columns; with
            ``max_parents=K`` at least K + 2 rows, with `BGe` any number. Or
            ParentSetScores, which have no rows.
        y : ignored

        Returns
        -------
        self : GaussianBNLearner

        Raises
        ------
        ValueError, TypeError
            If X is not such a table; if a column is constant or depends linearly
            on others, as the likelihood is unbounded then (with `BGe` it is not); if no
            network satisfies the constraints; if the search needs more memory than there
            is or than `max_memory`; if a parameter is not one of those above, or differs
            from that of the LocalScores.
        RuntimeError
            If a callback asks to stop before the search is finished.
        """
        self._forget()  # a search that fails leaves nothing of an earlier one
        context = self._init_callback_context(max_subtasks=100)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        scores = self._scores(X)
        constraints = read_constraints(
            scores.columns,
            max_parents=most_parents(self, scores),
            required_edges=self.required_edges,
            forbidden_edges=self.forbidden_edges,
            tiers=self.tiers,
        )
        try:
            optimum = self._search(scores, constraints, context)
        except BaseException as error:
            # A traceback that outlives the error would hold on to the search's tables.
            traceback.clear_frames(error.__traceback__)
            del scores
            raise
        with one_blas_thread():
            network = _network(scores, constraints, optimum.parents)
            network_score = scores.network_score(network.dag)
        _check_agreement(network_score, optimum.score)

        self.criterion_ = getattr(scores, "criterion", None)
        self.network_ = network
        self.dag_ = network.dag
        self.network_score_ = network_score
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
        if isinstance(X, ParentSetScores):
            check_columns(self, X, reset=False)
        elif X is not None:
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
        return self.network_.logpdf(self._rows(X))

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

    def _search(
        self,
        scores: LocalScores | ParentSetScores,
        constraints: Constraints,
        context: CallbackContext,
    ) -> Optimum:
        allowed = None if self.max_memory is None else int(self.max_memory)
        memory = MemoryLimit(available_memory(), allowed)
        searches = plan_groups(scores, constraints, memory)
        listeners = []
        if self.verbose:
            largest = max((search.plan for search in searches), key=lambda plan: plan.n_bytes)
            several = f"{len(searches)} searches, the largest: " if len(searches) > 1 else ""
            print(f"[{type(self).__name__}] {several}{largest}", flush=True)
            listeners.append(printing_listener(type(self).__name__))
        if getattr(self, "_skl_callbacks", None):
            listeners.append(callback_listener(self, context))
        progress = Progress(work_of(scores, searches), tuple(listeners))
        return best_network(scores, constraints, searches, self.n_jobs, progress)

    def _rows(self, X: Any) -> npt.NDArray[np.float64]:
        if isinstance(X, LocalScores):
            check_columns(self, X, reset=False)
            return np.asarray(X)
        if isinstance(X, ParentSetScores):
            raise TypeError("ParentSetScores have no rows; give a table.")
        return read_rows(self, X, reset=False)

    def _scores(self, X: Any) -> LocalScores | ParentSetScores:
        if isinstance(X, LocalScores | ParentSetScores):
            check_columns(self, X, reset=True)
            check_settings(self, X)
            return X
        rows = read_rows(self, X, reset=True, min_samples=2)
        return LocalScores(
            rows,
            as_criterion("bic" if self.criterion is None else self.criterion),
            getattr(self, "feature_names_in_", None),
            penalty=1.0 if self.penalty is None else float(self.penalty),
            max_parents=self.max_parents,
            n_jobs=self.n_jobs,
        )


def _network(
    scores: LocalScores | ParentSetScores, constraints: Constraints, parents: list[int]
) -> GaussianBayesianNetwork:
    """Return the network, with parameters if there are rows to estimate them from."""
    columns = scores.columns
    if isinstance(scores, ParentSetScores):
        dag = nx.DiGraph()
        dag.add_nodes_from(columns)
        for child, mask in enumerate(parents):
            dag.add_edges_from((columns[p], columns[child]) for p in members_of(mask))
        return GaussianBayesianNetwork(dag)
    if constraints.is_free and is_score_equivalent(scores.scorer.tables):
        parents = canonical_member(parents)
    scorer = scores.scorer
    parameters = estimate_parameters(scorer.statistics, parents, columns, scorer.noise_divisors)
    return GaussianBayesianNetwork._from_estimates(columns, parents, parameters)


def _check_agreement(own: float, searched: float) -> None:
    """Hold the network's score, from its own regressions, against what the search found."""
    if not np.isfinite(own) or not abs(own - searched) <= SCORE_ACCURACY + 1e-10 * abs(searched):
        raise RuntimeError(
            f"the best network's score is {searched!r} from the search and {own!r} from its own "
            "regressions; this is a defect of the search, please report it"
        )

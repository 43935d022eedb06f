"""What estimators of networks have in common: the bases of learners, posteriors and bootstraps."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import networkx as nx
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from skbn._core import estimator
from skbn._core.arrays import Booleans, Floats, Random, as_integer, finite_number
from skbn._core.graphs import GraphStateMixin
from skbn._core.text import first_few, must_be, text_table, warn
from skbn._data.experiments import read_interventions
from skbn._data.sample import Sample
from skbn._data.table import Table
from skbn._displays.notebook import DocLinkMixin, PlotMixin
from skbn._estimators import fitting
from skbn._estimators.near_optimal_networks import NearOptimalNetworks
from skbn._networks.network import GaussianBayesianNetwork
from skbn._networks.targets import Targets
from skbn._networks.value import sets_in
from skbn._scores.base import BaseScores
from skbn._scores.criteria import Criterion
from skbn._solver.incomplete_problem import Expectation
from skbn._solver.near_optimal import near_optimal
from skbn._solver.problem import Problem
from skbn._solver.structural_em import Candidate


class NetworkEstimator(
    GraphStateMixin,
    estimator.NetworkHintMixin,
    DocLinkMixin,
    PlotMixin,
    estimator.CallbackSupportMixin,
    DensityMixin,
    BaseEstimator,
):
    """An estimator of networks. Derived classes that search have the parameters below."""

    _allowed_values: ClassVar[dict[str, Any]] = {
        **fitting.PARAMETER_CONSTRAINTS,
        "criterion": [*fitting.PARAMETER_CONSTRAINTS["criterion"], None],
        "penalty": [*fitting.PARAMETER_CONSTRAINTS["penalty"], None],
    }
    _default_criterion = "bic"
    _max_subtasks = 100  # of a fit, each for a percent
    _network_class = GaussianBayesianNetwork
    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]
    fit: Callable[..., Self]

    def __sklearn_is_fitted__(self) -> bool:
        return self._network_name in vars(self)

    @property
    def dag_(self) -> nx.DiGraph:
        """A new copy of the graph of the network, with its parameters."""
        network: GaussianBayesianNetwork = getattr(self, self._network_name)
        return network.dag

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._may_miss
        return tags

    @property
    def _may_miss(self) -> bool:
        """Whether values may be missing."""
        return fitting.takes_missing(self)

    def predict(self, X: Any = None) -> nx.DiGraph:
        """Return the graph of the fitted network.

        Parameters
        ----------
        X : array-like, data frame or LocalScores, optional
            Must have the columns of `fit`; not used otherwise.

        Returns
        -------
        dag : networkx.DiGraph
            A new copy of `dag_`.

        Raises
        ------
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
            fitting.check_columns(self, *fitting.columns_of(X)[:2])
        elif X is not None and (table := Table(X)).is_lazy:  # its rows are not read
            fitting.check_columns(self, table.names, len(table.labels))
        elif X is not None:
            self._sample(X)
        return self.dag_

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any
    ) -> nx.DiGraph:
        """Fit, and return the graph of the network as `predict` does.

        Raises what `fit` raises.

        Parameters
        ----------
        X : array-like, data frame, LocalScores or ParentSetScores
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
        **params
            These, and further arguments, as in `fit`.

        Returns
        -------
        dag : networkx.DiGraph
            As `dag_`.
        """
        return self.fit(X, y, sample_weight=sample_weight, **params).predict()

    # For derived classes

    def _shown_graph(self) -> nx.DiGraph | None:
        return self.dag_ if self.__sklearn_is_fitted__() else None

    def _sample(self, X: Any, sample_weight: Any = None, *, needs_rows: bool = True) -> Sample:
        """Return the rows of a table or of LocalScores with their weights, or a summary."""
        if isinstance(X, BaseScores):
            sample = X.sample
            fitting.check_columns(self, *fitting.columns_of(X)[:2])
            return sample.with_weight(sample_weight)
        may_miss = self._may_miss
        return fitting.read_sample(
            self, X, sample_weight, reset=False, needs_rows=needs_rows, may_miss=may_miss
        )

    def _sample_and_set(
        self, X: Any, sample_weight: Any, interventions: Any
    ) -> tuple[Sample, Booleans | None]:
        """Return rows, or their summary, and which nodes were set in each, if some were."""
        sample = self._sample(X, sample_weight, needs_rows=interventions is not None)
        if interventions is None:
            return sample, sets_in(sample)
        names = getattr(self, self._network_name).nodes
        return sample, read_interventions(interventions, sample, names)


@dataclass(eq=False, repr=False, kw_only=True)
class SearchParameters:
    """The parameters that learners and posteriors share, which their docstrings describe."""

    criterion: str | Criterion | None = None
    max_parents: int | None = None
    nodes: Any = None
    missing: str = "error"
    required_edges: Any = None
    forbidden_edges: Any = None
    tiers: Any = None
    exogenous: Any = None
    time_limit: float | None = None
    random_state: int | Random | None = None
    n_jobs: int | None = None
    max_memory: float | str | None = None
    verbose: bool | int = False


class OneNetworkEstimator(NetworkEstimator):
    """An estimator of one network, by which it scores rows."""

    network_: GaussianBayesianNetwork

    def impute(self, X: Any) -> Any:
        """Return a table with its missing values filled by their conditional means.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The columns of `fit`. Any values may be missing, whatever ``missing`` says.

        Returns
        -------
        filled : data frame or ndarray of the shape of X
            As `GaussianBayesianNetwork.impute` returns.

        Raises
        ------
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
        fitting.read_sample(self, X, reset=False, may_miss=True)  # the columns are those of fit
        return self.network_.impute(X)

    def score_samples(self, X: Any) -> Floats:
        """Return the log-likelihood of each row under the fitted network.

        Parameters
        ----------
        X : array-like, data frame or LocalScores of shape (n_samples, n_features)
            The columns of `fit`. With ``missing="em"`` values may be missing, and the likelihood is
            of the observed values: 0 for a row without any.

        Returns
        -------
        log_likelihood : ndarray of shape (n_samples,), float64, nats

        Raises
        ------
        ValueError, TypeError
            If X is not a table of these columns.
        """
        check_is_fitted(self)
        sample, network = self._sample(X), self.network_
        rows = network._own_columns(sample).rows
        return network._model().log_density(rows, network._set_columns(sample.is_set))

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, interventions: Any = None
    ) -> float:
        """Return the mean log-likelihood of a row under the fitted network, in nats.

        Scores can only be compared if the columns have the same units, since a density is per unit.
        Rows without a value that counts, because all are missing, were set or are exogenous, are
        left out of the mean.

        Parameters
        ----------
        X : array-like, data frame or LocalScores of shape (n_samples, n_features)
            The columns of `fit`. LocalScores need no rows, and a dask array or data frame is read
            block by block. Values may be missing as in `score_samples`.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts, as in `fit`.
        interventions : data frame or array-like of bool, or sequence of length n_samples, optional
            As in `GaussianBNLearner.fit`. The likelihood of a row is then that of the other
            columns, given those that were set.

        Returns
        -------
        score : float

        Raises
        ------
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
        sample, is_set = self._sample_and_set(X, sample_weight, interventions)
        own, of_columns = self.network_._own_columns(sample), self.network_._set_columns(is_set)
        return self.network_._model().mean_log_density(own, of_columns)


class SearchingEstimator(OneNetworkEstimator):
    """An estimator of the network with the highest score, with what it knows of others."""

    network_score_: float
    is_optimal_: bool
    score_bound_: float
    optimality_gap_: float
    n_iter_: int
    n_nodes_: int
    start_scores_: Floats | None
    criterion_: Criterion | None
    targets_: Any
    _searched_: Problem
    _search_: str
    _why_ended_: str
    _listed_: tuple[list[Candidate], Expectation]

    def _shown_note(self) -> str:
        if vars(self).get("is_optimal_", True):
            return ""
        if "candidates_" in vars(self):
            return 'Not proven optimal: found by missing="em".'
        if self._search_ == "order":
            return 'Not proven optimal: found by search="order".'
        known = self.optimality_gap_ < np.inf
        gap = f"at most {self.optimality_gap_:.3g} nats below" if known else "no bound for"
        why = f" {self._why_ended_}" if self._why_ended_ else ""
        return f"Not proven optimal: {gap} the best {self._searched_.scope}.{why}"

    def summary(self, max_rows: int | None = None) -> str:
        """Return what the fit found, on one screen of text.

        Parameters
        ----------
        max_rows : int, optional
            How many regressions to list at most, one for each node. The last line says how many
            are left out. By default they fill 15 lines at most.

        Returns
        -------
        summary : str
            To be printed: rows and columns, criterion, score in nats, what is proven of it, edges,
            `GaussianBayesianNetwork.fit_indices` for the rows of the search if they are known, and
            regressions.

        Raises
        ------
        ValueError, TypeError
            If `max_rows` is not an integer of 1 or more.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import GaussianBNLearner
        >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue"]]
        >>> print(GaussianBNLearner().fit(wine).summary())
        GaussianBNLearner
        table      178 rows, 3 columns
        criterion  BIC()
        score      -1440.3031 nats
        proof      Proven over all networks: none has a higher score.
        network    3 nodes and 2 edges (0 reversible)
        fit        chi2 0.9187 with 1 df, p = 0.338; CFI 1.000, RMSEA 0.000 (0.000 to 0.195), \
SRMR 0.038
        <BLANKLINE>
        alcohol = 13, noise sd 0.81
        proline = -2980 + 258 alcohol + 391 hue, noise sd 223, R2 0.508
        hue = 0.957, noise sd 0.228
        """
        check_is_fitted(self)
        if max_rows is not None:
            check_scalar(max_rows, "max_rows", Integral, min_val=1)
        criterion = "that of the scores"
        if self.criterion_ is not None:
            penalty = self._searched_.scores.penalty
            criterion = f"{self.criterion_}{f', penalty {penalty:g}' if penalty != 1 else ''}"
        targets = self.targets_
        has_environments = isinstance(targets, Targets)
        names = {name: None for target in targets if not has_environments for name in target}
        caption, _, regressions = self.network_._text(max_rows).partition("\n")
        lines = [
            ("table", _table(self)),
            *([("set", f"{first_few(names)} in some rows")] if names else []),
            *(targets._lines() if has_environments else []),
            ("criterion", criterion),
            ("score", f"{self.network_score_:.4f} nats"),
            ("proof", self._proof()),
            ("network", caption.partition(" of ")[2]),
            *self._summary_lines(),
        ]
        title = type(self).__name__
        return f"{title}\n{text_table(lines[1:], 'll', lines[0])}\n\n{regressions}".rstrip()

    def _proof(self) -> str:
        """Return what is known of the optimality of the network."""
        if not self.is_optimal_:
            return self._shown_note()
        gap = self.optimality_gap_
        by_more = f" by more than {gap:.1g} nats" if gap else ""
        return f"Proven {self._searched_.scope}: none has a higher score{by_more}."

    def near_optimal(
        self, n: int | None = None, *, within: float | None = None, equivalence_classes: bool = True
    ) -> NearOptimalNetworks:
        """Return the networks that score nearly as high as the best, in order of their score.

        The list is exact: no network or class that it leaves out scores higher than the last one.

        Parameters
        ----------
        n : int or None, default=None
            The largest number of networks, or of equivalence classes. It is the safe bound: the
            number within a given distance grows exponentially with the columns.
        within : float or None, default=None
            How far below the best a score may be, in nats; ``math.inf`` lists all networks. If `n`
            is None as well, `within` is 3: by a log marginal likelihood, the data make the best
            network up to 20 times as probable as the others.
        equivalence_classes : bool, default=True
            Whether to list equivalence classes, each as the best of its networks, instead of all
            networks one by one.

        Returns
        -------
        near_optimal : NearOptimalNetworks

        Raises
        ------
        ValueError, TypeError
            If an argument is not as above; if the list takes more memory than there is, or longer
            than `time_limit` where the dynamic program does not fit; after a fit with
            ``search="order"``, or to missing values if `equivalence_classes` is False.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            After a fit to missing values: the list has the classes that structural EM compared, by
            their observed scores, and `is_proven` is False.

        Notes
        -----
        The constraints and `max_parents` of `fit` hold for all networks of the list. The search
        runs once more, with `n_jobs`, `max_memory` and, past about thirty columns, `time_limit`.
        Networks whose scores are equal up to rounding come in no particular order.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skbn import GaussianBNLearner
        >>> learner = GaussianBNLearner("bge").fit(load_iris(as_frame=True).data)
        >>> near = learner.near_optimal(3)
        >>> near.scores.round(2)
        array([-419.5 , -421.09, -421.4 ])
        >>> near.is_complete
        False
        """
        check_is_fitted(self)
        if self._search_ == "order":
            raise ValueError(
                "The order search does not prove which networks are near-optimal. Fit with "
                'search="exact" to list them; max_parents or tiers make it fit more columns.'
            )
        if not isinstance(equivalence_classes, bool):
            raise TypeError(must_be("equivalence_classes", "True or False", equivalence_classes))
        n = None if n is None else as_integer(n, "n", least=1)
        if within is not None and within != math.inf:
            within = finite_number(within, "within")
            if within < 0:
                raise ValueError(f"within must not be negative; got {within}.")
        if n is None and within is None:
            within = fitting.STRONG_EVIDENCE
        if "candidates_" in vars(self):
            return self._of_those_compared(n, within, equivalence_classes)
        problem = self._searched_
        found = near_optimal(
            problem.without_rows(),  # its log-determinants are dropped when the list is made
            # A list is made in the memory of this process.
            fitting.resources_of(self, time_limit=self.time_limit),
            n=n,
            within=within,
            equivalence_classes=equivalence_classes,
        )
        return NearOptimalNetworks._of_problem(found, problem, equivalence_classes)

    def _summary_lines(self) -> list[tuple[str, str]]:
        """Return what `summary` says of the network before its regressions."""
        fit = _fit(self.network_)
        return [] if fit is None else [("fit", fit)]

    def _of_those_compared(
        self, n: int | None, within: float | None, equivalence_classes: bool
    ) -> NearOptimalNetworks:
        """Return the best of the classes that structural EM scored, which proves nothing more."""
        if not equivalence_classes:
            raise ValueError(
                "Structural EM compares equivalence classes, not networks one by one. Leave "
                "equivalence_classes at True."
            )
        warn(
            "With missing values, the list has what structural EM compared: it is not proven that "
            "it leaves out none better. Raise n_candidates to compare more.",
            ConvergenceWarning,
        )
        compared, expectation = self._listed_
        listed = sorted(compared, key=lambda each: -each.score)
        lowest = -math.inf if within is None else listed[0].score - within
        kept = [each for each in listed if each.score >= lowest]
        return NearOptimalNetworks._of_listed(kept[:n], expectation)


@dataclass(eq=False, repr=False, kw_only=True)
class NetworkLearner(SearchParameters, SearchingEstimator):
    """A learner that searches, exactly or not. It has these parameters besides the others."""

    _allowed_values: ClassVar[dict[str, Any]] = {
        **OneNetworkEstimator._allowed_values,
        "missing": [estimator.StrOptions({"error", "em"})],
        "n_candidates": [estimator.Interval(Integral, 1, None, closed="left")],
        "search": [estimator.StrOptions({"exact", "order"})],
        "tol": [estimator.Interval(Real, 0, None, closed="neither")],
    }
    n_candidates: int = 30
    search: str = "exact"
    tol: float = 1e-6


def _table(learner: Any) -> str:
    """Return how many rows and columns there are."""
    columns = f"{learner.n_features_in_} columns"
    if learner.criterion_ is None:
        return f"{columns}; scores of parent sets, without rows"
    scores = learner._searched_.scores
    n_rows, n_samples = scores.sample.shape[0], scores.sample.summary.n_samples
    weights = "" if n_samples == n_rows else f" whose weights sum to {n_samples:g}"
    n_together = getattr(learner, "n_effective_", None)
    holes = f", missing values; n_effective_ = {n_together:g}" if n_together is not None else ""
    return f"{n_rows} rows{weights}, {columns}{holes}"


def _fit(network: Any) -> str | None:
    """Return the usual indices of fit, or None if the rows of the fit are not known."""
    try:
        found = network.fit_indices()
    except ValueError:  # also if there is no saturated model, as with few rows
        return None
    p_value = f", p = {found.p_value:.3g}" if found.df else ""
    return (
        f"chi2 {found.chi2:.4g} with {found.df} df{p_value}; CFI {found.cfi:.3f}, RMSEA "
        f"{found.rmsea:.3f} ({found.rmsea_low:.3f} to {found.rmsea_high:.3f}), SRMR "
        f"{found.srmr:.3f}"
    )

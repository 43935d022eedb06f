"""GaussianBNLearner: the network with the highest score of all, and the bases of all estimators."""

import math
import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

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
from skbn._core.resources import Resources
from skbn._core.text import first_few, must_be, readable_value, text_table, warn
from skbn._data.experiments import read_interventions
from skbn._data.sample import Sample
from skbn._data.table import Table
from skbn._displays.notebook import DocLinkMixin, PlotMixin
from skbn._estimators import fitting
from skbn._estimators.near_optimal_networks import NearOptimalNetworks
from skbn._exact.cluster import current_cluster
from skbn._networks.network import GaussianBayesianNetwork
from skbn._networks.targets import Targets
from skbn._networks.value import sets_in
from skbn._scores.base import BaseScores
from skbn._scores.criteria import Criterion
from skbn._solver.incomplete_problem import Expectation
from skbn._solver.near_optimal import near_optimal
from skbn._solver.problem import Problem
from skbn._solver.solve import problem_of, solve
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
            Must have the columns of `fit`; not used otherwise. The rows of a dask array or data
            frame are not read.

        Returns
        -------
        dag : networkx.DiGraph
            A new copy of the graph that `fit` found.

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
            As in `fit`.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            As in `fit`.
        **params
            Further arguments of `fit`, such as the groups of `GaussianBNLearnerCV`.

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
            As `GaussianBayesianNetwork.impute` returns: observed values keep every bit, and the
            rows of a data frame of pandas keep their index.

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

        Larger is better, so that a grid search picks what predicts held-out rows best. Scores
        can only be compared if the columns have the same units, since a density is per unit.

        Rows without a value that counts, because all are missing, were set or are exogenous, are
        left out of the mean.

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

    _searched_: Problem
    _search_: str

    def _shown_note(self) -> str:
        if vars(self).get("is_optimal_", True):
            return ""
        if "candidates_" in vars(self):
            return 'Not proven optimal: found by missing="em".'
        if self._search_ == "order":
            return 'Not proven optimal: found by search="order".'
        gap = f"at most {self.optimality_gap_:.3g} nats below the best"
        return f"Not proven optimal: {gap} {self._searched_.scope}."

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
            how well the network fits if that is known, and regressions.

        Raises
        ------
        ValueError, TypeError
            If `max_rows` is not an integer of 1 or more.

        Notes
        -----
        The indices of fit come from `GaussianBayesianNetwork.fit_indices` for the rows of the
        search, which the network fits too well.

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
        return learner_summary(self, max_rows)

    def near_optimal(
        self, n: int | None = None, *, within: float | None = None, equivalence_classes: bool = True
    ) -> NearOptimalNetworks:
        """Return the networks that score nearly as high as the best, in order of their score.

        The list is exact: no network or class that it leaves out scores higher than the last one.
        After a fit to missing values it is not: see Warns.

        Parameters
        ----------
        n : int or None, default=None
            The largest number of networks, or of equivalence classes. It is the safe bound: the
            number within a given distance grows exponentially with the columns.
        within : float or None, default=None
            How far below the best a score may be, in nats; ``math.inf`` lists all networks, of
            which 5 columns have 29,281. If `n` is None as well, `within` is 3: by a log marginal
            likelihood, the data make the best network up to 20 times as probable as the others.
        equivalence_classes : bool, default=True
            Whether to list equivalence classes, each as the best of its networks, instead of all
            networks one by one.

        Returns
        -------
        near_optimal : NearOptimalNetworks

        Raises
        ------
        ValueError, TypeError
            If `n` is not a positive integer, `within` not a number from 0 on, or
            `equivalence_classes` not a bool; if the list takes more memory than there is, or longer
            than `time_limit` where the dynamic program does not fit; after a fit with
            ``search="order"``, which does not prove what it leaves out; if `equivalence_classes` is
            False after a fit to missing values.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            After a fit to missing values: the list has the classes that structural EM compared, by
            their observed scores, and `is_proven` is False.

        Notes
        -----
        The constraints and `max_parents` of `fit` hold for all networks of the list. The search
        runs once more, with `n_jobs`, `max_memory` and, past about thirty columns, `time_limit`, if
        all parent sets can be priced; the list takes memory of its own. Networks
        whose scores are equal up to rounding come in no particular order.

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
    network_score_: float = field(init=False)
    is_optimal_: bool = field(init=False)
    score_bound_: float = field(init=False)
    optimality_gap_: float = field(init=False)
    n_iter_: int = field(init=False)
    n_nodes_: int = field(init=False)
    start_scores_: Floats | None = field(init=False)
    criterion_: Criterion | None = field(init=False)
    _searched_: Problem = field(init=False)
    _search_: str = field(init=False)
    _listed_: tuple[list[Candidate], Expectation] = field(init=False)


def learner_summary(learner: Any, max_rows: int | None) -> str:
    """Return a few lines on a fitted learner, and the regressions of its network.

    `max_rows`: the most regressions; by default, as many as fill a screen
    """
    criterion = "that of the scores"
    if learner.criterion_ is not None:
        penalty = learner._searched_.scores.penalty
        criterion = f"{learner.criterion_}{f', penalty {penalty:g}' if penalty != 1 else ''}"
    targets = learner.targets_
    has_environments = isinstance(targets, Targets)
    names = {name: None for target in targets if not has_environments for name in target}
    caption, _, regressions = learner.network_._text(max_rows).partition("\n")
    lines = [
        ("table", _table(learner)),
        *([("set", f"{first_few(names)} in some rows")] if names else []),
        *(targets._lines() if has_environments else []),
        ("criterion", criterion),
        ("score", f"{learner.network_score_:.4f} nats"),
        ("proof", _proof(learner)),
        ("network", caption.partition(" of ")[2]),
    ]
    lines += learner._summary_lines()
    title = type(learner).__name__
    return f"{title}\n{text_table(lines[1:], 'll', lines[0])}\n\n{regressions}".rstrip()


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


def _proof(learner: Any) -> str:
    """Return what is known of the optimality of the network."""
    if not learner.is_optimal_:
        return str(learner._shown_note())
    gap = learner.optimality_gap_
    by_more = f" by more than {gap:.1g} nats" if gap else ""
    return f"Proven {learner._searched_.scope}: none has a higher score{by_more}."


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


@estimator.answers_other_names
@dataclass(eq=False, repr=False)
class GaussianBNLearner(NetworkLearner):
    """Find the Gaussian Bayesian network with the highest score of all.

    Each column is a linear function of its parents plus Gaussian noise. By default the search is
    exact: no other acyclic network on the columns has a higher score, up to rounding. Rounding is
    about 1e-12 of the score. For nearly collinear columns it may reach 1e-3 nats, and `fit` refuses
    tables for which it would be larger.

    In the memory of one machine, the exact search takes up to about 30 columns. With `scratch` or
    `scheduler` it takes a few more, and with a small `max_parents` often many more: see the notes.
    For hundreds or thousands, ``search="order"`` finds a network with a very high score that is not
    proven to be the highest; `is_optimal_` says so.

    Parameters
    ----------
    criterion : {"bic", "aic", "loglik", "ebic", "bge"}, Criterion or None, default=None
        The score to maximise, as in `LocalScoreTransformer`. None means "bic" for a table, and
        the criterion of the LocalScores if `fit` is given those.
    penalty : float or None, default=None
        Multiplies the criterion's complexity term; from 0 to 1e100. None means 1 for a table, and
        the penalty of the LocalScores if `fit` is given those.
    max_parents : int or None, default=None
        The largest number of parents. None means any number for a table, and the `max_parents` of
        the LocalScores if `fit` is given those. With a small number, such as 3, the exact search
        takes more columns. A limit that is too low can cost the network much of its score; a
        `MaxParentsWarning` says so.
    nodes : "auto", dict, array-like of shape (n_features,) or None, default=None
        Which columns make a node. None: each is one. "auto": columns of a categorical, bool,
        string or object dtype are categories, whose nodes have an indicator for each level but the
        first; the others are nodes of numbers. A dict has lists of columns, by name or number, for
        nodes of several columns, such as splines or the channels of a sensor; columns that it does
        not name are nodes as in "auto". An array has the node of each column. Edges, parents,
        tiers and `max_parents` are then of nodes.
    missing : {"error", "em"}, default="error"
        What to do with missing values: NaN, None, pandas.NA, nulls of polars and pyarrow, and
        masked values. "error" refuses them. "em" looks for the network whose *observed* values have
        the highest penalised likelihood, by structural EM: see the notes. It is not proven to be
        the best, and `is_optimal_` says so. A table without holes is fitted as always.
    n_candidates : int, default=30
        How many equivalence classes ``missing="em"`` scores by the observed values. More take
        longer and may find a better network.
    required_edges : list of (parent, child), table of two columns, networkx.DiGraph or \
None, default=None
        Edges that the network must have. A table (a data frame or an array) has a row for each
        edge, with the parent and the child. A GaussianBayesianNetwork is taken as its graph.
        Columns are given by name or by number. Required parents count towards `max_parents`.
    forbidden_edges : list of (parent, child), table of two columns, networkx.DiGraph or \
None, default=None
        Edges that the network must not have, in the same forms. In a pair, ``...`` stands for all
        other columns: ``(..., "sex")`` forbids all edges into sex.
    tiers : list of lists of columns and at most one ``...``, dict of title to list, or None
        Ordered groups of columns: no edge points from a later group to an earlier one. Each
        column is in one group, and ``...`` in place of a list is the group of all columns that
        are not named. The search then takes ``2**t`` states for each group of t columns instead
        of ``2**m`` for all of them. Other constraints that order the columns have the same
        effect.
    exogenous : list of columns, or None, default=None
        Columns (or nodes) that may be parents and are not modelled, such as a dose, a batch or
        earlier values: no edge leads to one, they have no score, and may have any distribution.
        The score is that of the other columns given these, and the search has ``2**t`` states for
        t others. `tiers` need not name them.
    search : {"exact", "order"}, default="exact"
        "exact" finds the network with the highest score of all. "order" finds one with a very high
        score, also for thousands of columns, which is not proven to be the best: see the notes. It
        needs no `max_parents`.
    tol : float, default=1e-6
        In nats. Branch and cut ends when it has proven that no network scores higher than the one
        found by more than this, and a network is called optimal only then. Dynamic programming
        ends by itself; it leaves a gap only where the rounding of its sums exceeds this.
    time_limit : float or None, default=None
        After how many seconds the order search, or branch and cut, ends with the best network it
        has found. The time to read the table, and to verify and fit the network, comes on top. None
        means that it ends by itself. With a limit, Ctrl-C ends it in the same way; without one,
        Ctrl-C leaves the learner unfitted. Dynamic programming ignores the limit, because it has no
        network before it is finished; with `verbose`, it tells how long it takes.
    random_state : int, RandomState, Generator or None, default=None
        The seed of the order search and of branch and cut, or a generator of numpy.random that
        draws it. With a number, each fit without `time_limit` finds the same network, whatever
        `n_jobs`. With None, an exact search always has the same seed. No seed changes the score of
        an exact search, up to `tol`.
    n_jobs : int or None, default=None
        Number of threads, by joblib's rules. It does not change a bit of the result. The
        log-determinants of LocalScores are computed with their own `n_jobs`.
    max_memory : float, str or None, default=None
        How many bytes the tables of the search may take, or a size such as "2GB". With less
        memory, the search goes through more parts one after the other, which takes longer and
        does not change a bit of the result. If dynamic programming does not fit at all, branch
        and cut takes its place. None means the memory that is available, less a little for other
        programs.
    targets : {"soft", "hard"} or None, default=None
        For rows from several environments, of which it is not known what each changed: `fit` takes
        `environments`, and finds the network and the targets with the highest score together. A
        *soft* target has a regression of its own on the same parents; a *hard* one has no parents,
        but a mean and a variance of its own.
    reference : hashable, None or False, default=None
        The environment that the others are compared with. None means that of the first row. With
        False there is none: any environments may share a mechanism, and each of the others has one
        of its own. If no two share that of a node, it is a target of all of them, because the score
        cannot tell which environment changed it.
    target_cost : float, default=0.0
        What each target costs besides its parameters, in nats. It may be negative.
    scratch : str, path or None, default=None
        A folder for the best scores of dynamic programming, ``8 * 2**m`` bytes for m columns. It is
        used if these and the log-determinants do not both fit in memory, unless the search is
        faster without it. The result does not change by a bit. On Linux the space is taken before
        the search begins; it is free again when the search ends, whatever ends it.
    scheduler : {"dask"} or None, default=None
        "dask" lets the workers of a cluster search, as in ``with distributed.Client(...):
        learner.fit(X)``: they have the best scores in their memory, and `max_memory` is for each of
        them. It does not change a bit of the result. What searches through lists of families, as
        with `max_parents`, stays in this process. This needs ``pip install -e ".[dask]"``.
    verbose : bool or int, default=False
        Whether to print the plan of the search and, every few seconds, its progress. The logger
        "skbn" is told of the progress too, at level INFO. From scikit-learn 1.9 on,
        `set_callbacks` shows it in scikit-learn's progress bars.

    Attributes
    ----------
    dag_ : networkx.DiGraph
        The network's graph. Its nodes are the columns, by name if all names are strings and by
        position otherwise, with the attributes `intercept` and `noise_variance`. Its edges have
        the attribute `weight`, the coefficient in the child's regression, `standardised_weight`,
        that between columns of standard deviation 1, and `fixed`, which is True, if the
        constraints rule out the reverse edge.
    network_score_ : float
        The network's score, in nats. With missing values, it is the log-likelihood of those that
        are observed, less the criterion's cost.
    is_optimal_ : bool
        Whether it is proven that no network within the constraints has a score that is higher by
        more than `tol`. True after an exact search that no `time_limit` ended, unless the scores
        are so large that rounding hides more than `tol`.
    score_bound_ : float
        A score that no network within the constraints exceeds, in nats, rounded up; inf after
        ``search="order"`` and with missing values, as there is no bound then.
    optimality_gap_ : float
        By how much another network may score higher at most, in nats: no more than `tol` if the
        network is optimal. It is 0 after dynamic programming over a table, and the rounding of its
        sums over ParentSetScores, whose scores are taken as exact numbers.
    n_iter_ : int
        How many perturbed orders of the columns the order search started from again; 0 for an
        exact search. With missing values, how many better networks were found after the first list
        of candidates.
    n_nodes_ : int
        How many nodes the tree of branch and cut has; 0 for other searches.
    start_scores_ : ndarray of shape (n_starts,) or None
        The score of the best network that each start of the order search found, in nats, the
        highest first, which is `network_score_`; None for an exact search. Starts that agree make
        it likely, but do not prove, that no network scores much higher. With `tiers`, the starts
        of each group are ranked, and those of the same rank added up.
    n_effective_ : float
        Only with missing values: the smallest number of rows in which any two columns are both
        observed that an edge may join. The searches that list candidates count this many rows.
    candidates_ : pandas.DataFrame, or a table that converts to one if pandas is not installed
        Only with missing values: a row for each equivalence class that was scored by its observed
        values, the best first. Its columns are `observed_score`; `searched_score`, by which the
        class was listed, for `n_effective_` rows (NaN if it was found in another way);
        `list`, in which list it was first; and `n_edges`. The scores are in nats.
    targets_ : list of tuple, or Targets
        The columns that interventions set together in some row, each combination once; empty
        without interventions. With `targets`, the `Targets` of each environment. `cpdag` and
        distances between networks take either.
    network_ : GaussianBayesianNetwork
        The network as an object with densities, samples, conditional distributions,
        interventions, equivalence and interchange formats. Its `to_frame` is a table of the edges,
        with what the score loses without each. After a fit to ParentSetScores it has no parameters
        yet.
    criterion_ : Criterion or None
        The criterion that was maximised; None after a fit to ParentSetScores.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,) of str
        Only if all columns given to `fit` have strings for names.

    See Also
    --------
    LocalScoreTransformer : Computes the local scores separately, also from chunks of rows.
    GaussianBNLearnerCV : The penalty by cross-validation.
    GaussianBNPosterior : How probable each edge is.
    BootstrapBNLearner : How often resamples find an edge again.
    GaussianBayesianNetwork : What it learns, as `network_`.

    Notes
    -----
    The exact search is dynamic programming over the sets of columns (Silander & Myllymäki 2006, "A
    simple approach for finding the globally optimal Bayesian network structure"): time and memory
    grow as 2**m. With less memory it recomputes log-determinants that it cannot keep; with
    `scratch` or `scheduler` the best scores need not fit in memory either. These ways take up to 36
    columns. Where it does not fit, and `time_limit` or `max_parents` is given or X are
    ParentSetScores, the search is branch and cut (Bartlett & Cussens 2017, "Integer linear
    programming for the Bayesian network structure learning problem"): it bounds the score of all
    networks by linear programs, and divides them until the bound is the score of one of them. This
    needs ``pip install -e ".[large]"``. Without `max_parents` it prices all parent sets, which
    takes a criterion other than BGe, and a `time_limit`, since its time cannot be predicted, unless
    constraints order all but a few columns. Otherwise `fit` refuses tables whose search does not
    fit.

    The order search (Teyssier & Koller 2005, "Ordering-based search: a simple and effective
    algorithm for learning Bayesian networks") looks for an order of the columns in which the best
    parents of each column among the earlier ones give a high score. It moves single columns in the
    order, and starts again from perturbed orders. Each fit verifies that no edge that is added,
    deleted or reversed raises the score.

    With missing values the score has no closed form, and no search proves its maximum. EM estimates
    the saturated model and completes the rows; an exact search lists the best equivalence classes
    of these, counted as `n_effective_` rows; each class is scored by an EM of its own, and the rows
    completed under the best of them make the next list, until a list brings nothing better.
    Structural EM goes on from there (Friedman 1997, "Learning belief networks in the presence of
    missing values and hidden variables"): it searches all rows as EM expects them, exactly, and at
    the end leaves out each edge in turn. The observed score never falls. With ``search="order"``,
    and where a list does not fit in memory, each list is one network. Values must be missing at
    random: whether one is may depend on observed values only.

    Ties (scores that are equal up to rounding) are broken by column order. Among tied parent sets,
    the search takes one with the fewest columns, and among those the first when their columns are
    compared in order. Networks that imply the same independences always tie. The one returned is
    built from its last column back: each step takes the last column that can be a sink of the
    remaining ones. With constraints on edges, or a criterion under which such networks need not
    tie, each step takes the last column that can be a sink of a best network instead.

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

    _allowed_values: ClassVar[dict[str, Any]] = {
        **NetworkLearner._allowed_values,
        **fitting.TARGET_CONSTRAINTS,
        "scratch": [str, os.PathLike, None],
        "scheduler": [estimator.StrOptions({"dask"}), None],
    }

    criterion: str | Criterion | None = None
    _: KW_ONLY
    penalty: float | None = None
    targets: str | None = None
    reference: Any = None
    target_cost: float = 0.0
    scratch: str | os.PathLike[str] | None = None
    scheduler: str | None = None

    @estimator.fit_method
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        interventions: Any = None,
        *,
        environments: Any = None,
    ) -> Self:
        """Find the best network and estimate its parameters.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or LocalScores
            Finite numbers, at least 2 columns, and more rows than columns. With
            ``max_parents=K``, K + 2 rows suffice, and with `BGe` any number. X may also be
            ParentSetScores, which have no rows, or a dask array or data frame, whose blocks are
            summarised in parallel and need not fit in memory together. With ``missing="em"`` values
            may be missing; two columns must be observed together in more rows than the largest
            family has columns.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts; not negative. A row of weight 2 counts as two rows, and a
            row of weight 0 is left out. The sum takes the place of the number of rows. A pandas
            Series is matched to the rows by its labels if X is a pandas data frame or the
            LocalScores of one. For a table of dask, as in `LocalScoreTransformer.transform`.
        interventions : data frame or array-like of shape (n_samples, n_features) of bool, or \
sequence of length n_samples, optional
            Which columns an experimenter *set* in each row, to a value that does not depend on the
            other columns: True in a table like X (a data frame may lack columns), or a column, a
            tuple of columns or None for each row. The family of a column is scored by the rows in
            which it was not set, and the penalty counts these. Edges that such experiments direct
            are fixed.
        environments : array-like of shape (n_samples,), optional
            With `targets`: the name of the environment that each row comes from. Those of a pandas
            Series go to the rows of the same labels.

        Returns
        -------
        self : GaussianBNLearner

        Raises
        ------
        ValueError, TypeError
            If X is not such a table; if a column is constant or depends linearly on others,
            since the likelihood is then unbounded (with `BGe` it is not); if no network satisfies
            the constraints; if constraints are given by an iterator, which a second fit would
            find empty; if the search needs more memory than is available or than `max_memory`,
            or more space than `scratch` has; if this is no folder that can be written to;
            if a parameter has a value other than those above, or differs from that of the
            LocalScores; if the weights or interventions do not match the rows; if a column was set
            in too many of them; if values are missing and the criterion is no log-likelihood less a
            cost, or has unbiased variances; if a value is missing that was set, or one of an
            exogenous column.
        RuntimeError
            If a callback asks to stop before the search is finished; if regressions that are
            independent of the search do not confirm its network, which means a defect of the
            library or of the machine.
        MemoryError
            If the system refuses memory that seemed to be available.
        OSError
            If the disk of `scratch` fails.
        ImportError
            If branch and cut is needed and highspy is not installed, or `scheduler` is "dask" and
            distributed is not.

        Warns
        -----
        skbn.exceptions.DataWarning
            If the table may not suit the model: a `DiscreteChildWarning`, a
            `SkewedResidualsWarning` or a `DummyEdgeWarning`. Not for dask tables, whose rows
            are not kept, nor for tables with missing values.
        skbn.exceptions.MissingValuesWarning
            If two columns are observed together in fewer rows than five for each column, or rows
            have no value, which are ignored.
        skbn.exceptions.MaxParentsWarning
            If `max_parents` costs the network much of its score.
        sklearn.exceptions.ConvergenceWarning
            If `time_limit` or Ctrl-C ended an exact search before it proved its network; if
            rounding hides whether another network scores more than `tol` higher; if one start
            alone of an order search came within 3 nats of its network.
        """
        self._folder()  # refused before the table is read
        scores = fitting.read_scores(self, X, sample_weight, interventions)
        scores = fitting.with_environments(self, scores, environments, float(self.target_cost))
        problem = problem_of(scores, fitting.constraints_of(self, scores))
        resources = replace(self._resources(), ends_on_interrupt=True)
        (found,) = solve(problem, resources, fitting.search_settings(self))
        fitting.keep_search(self, found, problem)
        return self

    def _resources(self) -> Resources:
        is_on_cluster = self.scheduler is not None and self.search == "exact"
        cluster = current_cluster() if is_on_cluster else None
        how = {"scratch": self._folder(), "cluster": cluster}
        return fitting.resources_of(self, self.time_limit, **how)

    def _folder(self) -> str | None:
        """Return the folder of `scratch`; raise if there is none."""
        if self.scratch is None:
            return None
        folder = os.fsdecode(self.scratch)
        if not os.path.isdir(folder):
            raise ValueError(
                f"scratch must be a folder; there is none at {folder!r}. Make it first, as "
                f"os.makedirs({folder!r}) does."
            )
        return folder


class BestNetwork(NamedTuple):
    """The network of the highest score, and what is known of that."""

    network: GaussianBayesianNetwork  # with parameters, unless the scores are ParentSetScores
    score: float  # in nats
    is_optimal: bool  # whether no network scores higher by more than `tol`
    gap: float  # by how many nats another network might score higher


def best_network(
    scores: BaseScores,
    *,
    max_parents: int | None = None,
    required_edges: Any = None,
    forbidden_edges: Any = None,
    tiers: Any = None,
    tol: float = 1e-6,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
) -> BestNetwork:
    """Return the network with the highest score of all.

    `GaussianBNLearner` does the same from a table, with scikit-learn's API, progress, warnings
    and more ways to search.

    Parameters
    ----------
    scores : LocalScores or ParentSetScores
        The local scores of the families to choose from.
    max_parents : int or None, default=None
        As in `GaussianBNLearner`, and so are all the following.
    required_edges : list of (parent, child), table of two columns, networkx.DiGraph or \
None, default=None
    forbidden_edges : list of (parent, child), table of two columns, networkx.DiGraph or \
None, default=None
    tiers : list of lists of columns and at most one ``...``, dict of title to list, or None
    tol : float, default=1e-6
    time_limit : float or None, default=None
    n_jobs : int or None, default=None
    max_memory : float, str or None, default=None

    Returns
    -------
    best : named tuple
        Its `network`, which has parameters unless the scores are ParentSetScores; its `score` in
        nats; `is_optimal`, whether no network within the constraints scores higher by more than
        `tol`; and the `gap`, by how many nats another might, 0 after a dynamic program.

    Raises
    ------
    ValueError, TypeError
        If `scores` are no scores, or as `GaussianBNLearner.fit`.
    RuntimeError
        If regressions that are independent of the search do not confirm its network.
    ImportError
        If branch and cut is needed and highspy is not installed.

    See Also
    --------
    GaussianBNLearner : The same as an estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import LocalScoreTransformer, best_network
    >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
    >>> scores = LocalScoreTransformer().fit_transform(wine)
    >>> network, score, is_optimal, gap = best_network(scores)
    >>> round(score, 2), is_optimal, gap
    (-1465.36, True, 0.0)
    >>> list(network.dag.edges)
    [('alcohol', 'proline'), ('proline', 'ash'), ('hue', 'proline')]
    """
    if not isinstance(scores, BaseScores):
        raise TypeError(
            f"scores must be LocalScores or ParentSetScores; got {readable_value(scores)}. Give "
            "LocalScoreTransformer().fit_transform(X), or fit a GaussianBNLearner to the table."
        )
    learner = GaussianBNLearner(
        max_parents=max_parents,
        required_edges=required_edges,
        forbidden_edges=forbidden_edges,
        tiers=tiers,
        tol=tol,
        time_limit=time_limit,
        n_jobs=n_jobs,
        max_memory=max_memory,
    )
    estimator.check_values("best_network", GaussianBNLearner._allowed_values, vars(learner))
    problem = problem_of(scores, fitting.constraints_of(learner, scores))
    (found,) = solve(problem, learner._resources(), fitting.search_settings(learner))
    return BestNetwork(found.network, found.score, found.is_optimal, found.gap)

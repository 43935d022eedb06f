"""GaussianBNLearnerCV: the best network with a penalty chosen by cross-validation."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.model_selection import KFold, check_cv
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from skbn._core.arrays import Floats, Integers, is_listed
from skbn._core.estimator import StrOptions, answers_other_names, fit_method
from skbn._core.resources import FEWEST_COLUMNS, Resources, explained, run_all, say
from skbn._core.text import must_be, readable_value, warn
from skbn._data.encoding import require_levels
from skbn._data.row_values import in_order_of_rows, is_mask
from skbn._data.sample import Sample
from skbn._estimators import fitting
from skbn._estimators.network_estimators import NetworkLearner
from skbn._scores.criteria import read_penalty
from skbn._solver.engines import EXACT, SearchSettings
from skbn._solver.planner import plan_searches
from skbn._solver.problem import Problem, Shape
from skbn._solver.solve import problem_of, solve, work_of
from skbn.exceptions import PenaltyRangeWarning


@answers_other_names
@dataclass(eq=False, repr=False)
class GaussianBNLearnerCV(NetworkLearner):
    """Find the best Gaussian Bayesian network, with a penalty chosen by cross-validation.

    For each penalty, the best network of some of the rows is scored by its mean log-likelihood
    on the rows held out. The network is then learned from all rows with the penalty that scored
    best. All penalties of a fold share one set of log-determinants, and the folds are searched
    in parallel.

    Parameters
    ----------
    penalties : array-like of shape (n_penalties,), default=(0.25, 0.5, 1, 2, 4, 8)
        Each multiplies the criterion's complexity term; from 0 to 1e100.
    cv : int, cross-validation generator or iterable, default=None
        How the rows are split: a number of folds (None means 5), one of scikit-learn's splitters,
        or pairs of row numbers, or of masks of all rows, to learn from and to hold out; a mask in a
        Series is matched by its labels. A number of folds does not shuffle: each fold is a run of
        consecutive rows. If the rows are sorted, by group for example, shuffle them with
        ``KFold(5, shuffle=True, random_state=0)``, or a fold holds out a group that the others
        hardly contain. To predict later rows from earlier ones, keep the order
        (`sklearn.model_selection.TimeSeriesSplit`).
    rule : {"best", "one-standard-error"}, default="best"
        Which penalty is chosen: the first with the best mean score, or the largest whose mean
        score is within one standard error of the best, which gives fewer edges.
    criterion : {"bic", "aic", "ebic"}, InformationCriterion or None, default=None
        The score whose complexity term is penalised. None means "bic" for a table, and the
        criterion of the LocalScores if `fit` is given those.
    max_parents : int or None, default=None
        As in `GaussianBNLearner`.
    nodes : "auto", dict, array-like of shape (n_features,) or None, default=None
        As in `GaussianBNLearner`.
    missing : {"error", "em"}, default="error"
        What to do with missing values, as in `GaussianBNLearner`. With "em" each fold learns by
        structural EM, and the likelihood of a held-out row is that of its observed values.
    n_candidates : int, default=30
        As in `GaussianBNLearner`.
    required_edges : list of (parent, child), table of two columns, networkx.DiGraph or \
None, default=None
        As in `GaussianBNLearner`.
    forbidden_edges : list of (parent, child), table of two columns, networkx.DiGraph or \
None, default=None
        As in `GaussianBNLearner`.
    tiers : list of lists of columns and at most one ``...``, dict of title to list, or None
        As in `GaussianBNLearner`.
    exogenous : list of columns, or None, default=None
        As in `GaussianBNLearner`. Networks are compared by the likelihood of the other columns.
    search : {"exact", "order"}, default="exact"
        As in `GaussianBNLearner`, for all networks. Those of "order" are not proven to be the best.
    tol : float, default=1e-6
        As in `GaussianBNLearner`.
    time_limit : float or None, default=None
        As in `GaussianBNLearner`, for each search: of one penalty in one fold, and of all rows.
    random_state : int, RandomState, Generator or None, default=None
        As in `GaussianBNLearner`. All searches of a fit have the same seed.
    n_jobs : int or None, default=None
        Number of threads, by joblib's rules. As many folds are searched at the same time as fit
        in memory. It does not change a bit of the result.
    max_memory : float, str or None, default=None
        How many bytes the tables of all searches that run at the same time may take, or a size
        such as "2GB".
    verbose : bool or int, default=False
        Whether to print the progress of the searches every few seconds.

    Attributes
    ----------
    penalty_ : float
        The chosen penalty.
    cv_results_ : dict of ndarrays of shape (n_penalties,)
        - "penalties": the penalties, in the given order;
        - "split0_test_score", "split1_test_score", ...: the mean log-likelihood of the held-out
          rows of each fold, in nats;
        - "mean_test_score", "std_test_score": mean and standard deviation over the folds;
        - "se_test_score": the standard error of the mean, from the unbiased variance, and NaN
          for a single fold;
        - "mean_n_edges": the mean number of edges of the networks of the folds.
    dag_ : networkx.DiGraph
    network_ : GaussianBayesianNetwork
        The best network of all rows; this and the next seven are as in `GaussianBNLearner`.
    network_score_ : float
        The score with this penalty, in nats.
    is_optimal_ : bool
    score_bound_ : float
    optimality_gap_ : float
    n_iter_ : int
    n_nodes_ : int
    start_scores_ : ndarray of shape (n_starts,) or None
    criterion_ : Criterion
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,) of str
        Only if all columns given to `fit` have strings for names.

    See Also
    --------
    GaussianBNLearner : Takes the penalty as a parameter; a grid search can choose the others.

    Notes
    -----
    The best penalty is the one that `sklearn.model_selection.GridSearchCV` finds for a
    GaussianBNLearner. The rule of one standard error is that of Breiman, Friedman, Olshen & Stone
    (1984), "Classification and regression trees".

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import KFold
    >>> from skbn import GaussianBNLearnerCV
    >>> wine = load_wine(as_frame=True).data
    >>> folds = KFold(5, shuffle=True, random_state=0)  # the wines are sorted by cultivar
    >>> learner = GaussianBNLearnerCV(cv=folds).fit(wine)
    >>> learner.penalty_
    2.0
    >>> learner.cv_results_["mean_test_score"].round(2)
    array([-19.65, -19.66, -19.71, -19.58, -19.75, -19.91])
    >>> learner.set_params(rule="one-standard-error").fit(wine).penalty_
    8.0
    """

    _allowed_values: ClassVar[dict[str, Any]] = {
        **NetworkLearner._allowed_values,
        "penalties": ["array-like"],
        "cv": ["cv_object"],
        "rule": [StrOptions({"best", "one-standard-error"})],
    }
    penalties: Any = (0.25, 0.5, 1, 2, 4, 8)
    _: KW_ONLY
    cv: Any = None
    rule: str = "best"
    penalty_: float = field(init=False)
    cv_results_: dict[str, Floats] = field(init=False)

    @fit_method
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        interventions: Any = None,
        **params: Any,
    ) -> Self:
        """Choose the penalty, and find the best network of all rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or LocalScores
            As in `GaussianBNLearner`, with enough rows in each fold, and all rows in memory, not in
            dask. The penalty of LocalScores is not used.
        y : array-like of shape (n_samples,), optional
            Passed to the splitter, which may stratify by it; not used otherwise.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts, both in learning and when held out, as in
            `GaussianBNLearner.fit`.
        interventions : data frame or array-like of bool, or sequence of length n_samples, optional
            As in `GaussianBNLearner.fit`. The likelihood of a held-out row is that of the other
            columns, given those that were set.
        **params
            Passed to the splitter, for example `groups`, with scikit-learn's metadata routing
            enabled. A pandas Series is matched to the rows by its labels.

        Returns
        -------
        self : GaussianBNLearnerCV

        Raises
        ------
        ValueError, TypeError
            As `GaussianBNLearner.fit`, for all rows or the rows of a fold; if a held-out row has a
            level of a category that its fold did not learn from; if the criterion has no complexity
            term, as `BGe`; if the rule needs the standard error of a single fold;
            if there are `params` without metadata routing.
        RuntimeError, MemoryError, ImportError
            As `GaussianBNLearner.fit`.

        Warns
        -----
        skbn.exceptions.DataWarning, skbn.exceptions.MaxParentsWarning
            As `GaussianBNLearner.fit`, for all rows together but not for the folds.
        skbn.exceptions.PenaltyRangeWarning
            If the best penalty is the smallest or the largest of `penalties`.
        sklearn.exceptions.ConvergenceWarning
            As `GaussianBNLearner.fit`, for all rows and, in one warning, for the folds.
        """
        if params and not get_config()["enable_metadata_routing"]:
            raise ValueError(
                f"fit passes {', '.join(params)} to the splitter only with metadata routing. "
                "Enable it with sklearn.set_config(enable_metadata_routing=True), or pass the "
                "splits, as in cv=list(splitter.split(X, y, groups))."
            )
        # A data frame would yield its columns.
        is_list = is_listed(self.penalties) and not hasattr(self.penalties, "columns")
        penalties = [*map(read_penalty, self.penalties)] if is_list else []
        if not penalties:
            raise ValueError(must_be("penalties", "a list of one or more numbers", self.penalties))
        settings = fitting.search_settings(self)
        scores = fitting.read_scores(self, X, sample_weight, interventions, needs_rows=True)
        sample = scores.sample  # raises if there are no rows
        problem = problem_of(scores, fitting.constraints_of(self, scores))
        if not problem.has_complexity:
            raise ValueError(
                f"criterion={readable_value(problem.scorer.criterion)} has no complexity term "
                "that penalties could multiply; choose its parameters with a GridSearchCV of "
                "GaussianBNLearner."
            )
        splits = read_splits(self._splits(X, y, sample, params), sample)
        if len(splits) < 2 and self.rule != "best":
            raise ValueError(f"rule={self.rule!r} needs two folds or more; cv yielded one.")
        resources = replace(self._resources(), announce=None)
        work = work_of(problem, resources, settings)
        folds = HeldOutScores(problem, penalties, splits, resources, settings)
        if self.verbose:
            say(
                f"[{type(self).__name__}] {len(splits)} folds, {folds.n_at_a_time} at a time, of "
                f"{len(penalties)} searches each"
            )
        resources.progress.expect(folds.work + work)
        held_out, n_edges, n_unproven = folds.compute()
        cv_results = _cv_results(penalties, held_out, n_edges)
        penalty = penalties[_chosen(cv_results, self.rule)]
        (best,) = problem.with_penalties([penalty])
        (found,) = solve(best, resources, settings)
        given = {"cv_results_": cv_results, "penalty_": penalty}
        fitting.keep_search(self, found, best, n_unproven, **given)
        self._warn_about_end(penalties)
        return self

    def _resources(self) -> Resources:
        return fitting.resources_of(self, self.time_limit)

    def _warn_about_end(self, penalties: list[float]) -> None:
        """Warn if the best penalty is the least or the largest, and not the end of all."""
        scores = self.cv_results_["mean_test_score"]
        at = int(np.argmax(scores))
        best, least, most = penalties[at], min(penalties), max(penalties)
        is_most = best == most and self.cv_results_["mean_n_edges"][at] > 0
        is_level = np.count_nonzero(scores == scores[at]) > 1  # no better towards the end
        if is_level or least == most or best == 0 or not (is_most or best == least):
            return
        end, more = ("largest", "larger") if is_most else ("smallest", "smaller")
        warn(
            f"The penalty with the best mean score, {best:g}, is the {end} of penalties, and one "
            f"beyond it may be better. Add {more} ones.",
            PenaltyRangeWarning,
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata that `fit`, `score` and the splitter request.

        Returns
        -------
        routing : sklearn.utils.metadata_routing.MetadataRouter
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        splitter = self.cv if hasattr(self.cv, "split") else KFold()  # requests nothing
        return router.add(
            splitter=splitter, method_mapping=MethodMapping().add(callee="split", caller="fit")
        )

    def _splits(self, X: Any, y: Any, sample: Sample, params: dict[str, Any]) -> Iterable[Any]:
        """Return the splits of the rows; `params` are for the splitter."""
        in_order = {
            name: in_order_of_rows(value, sample.labels, sample.shape[0], name)
            for name, value in params.items()
        }
        routed = process_routing(self, "fit", **in_order).splitter.split
        if isinstance(self.cv, Iterable) and not hasattr(self.cv, "split"):
            return self.cv
        return check_cv(self.cv, y, classifier=False).split(X, y, **routed)


def _cv_results(penalties: list[float], scores: Floats, n_edges: Floats) -> dict[str, Floats]:
    """Return means and errors over the folds; the arrays are of shape (n_penalties, n_folds)."""
    n_folds = scores.shape[1]
    cv_results = {"penalties": np.array(penalties)}
    cv_results |= {f"split{i}_test_score": each.copy() for i, each in enumerate(scores.T)}
    with np.errstate(invalid="ignore"):  # rows far from all others have a score of -inf
        # Added in the order in which GridSearchCV adds, so that the means agree to the last bit.
        means = np.average(scores, axis=1)
        squares = (scores - means[:, np.newaxis]) ** 2
        cv_results["mean_test_score"] = means
        cv_results["std_test_score"] = np.sqrt(np.average(squares, axis=1))
        freedom = n_folds - 1 if n_folds > 1 else np.nan
        cv_results["se_test_score"] = np.sqrt(squares.sum(axis=1) / freedom / n_folds)
    cv_results["mean_n_edges"] = n_edges.mean(axis=1)
    return cv_results


def _chosen(cv_results: dict[str, Floats], rule: str) -> int:
    """Return the index of the penalty that the rule chooses."""
    means = cv_results["mean_test_score"]
    best = int(np.argmax(means))
    if rule == "best":
        return best
    is_near = means >= means[best] - cv_results["se_test_score"][best]
    return int(np.argmax(np.where(is_near, cv_results["penalties"], -np.inf)))


# With fewer rows and few columns, threads spend most of the time waiting for the GIL.
_FEWEST_ROWS = 100_000
# The numbers of the rows to learn from, and of those held out.
Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]
# For one penalty: the mean log-likelihood of a held-out row, the number of edges, and whether the
# network is not proven to be the best.
Outcome = tuple[float, int, bool]


def read_splits(splits: Iterable[Any], sample: Sample) -> list[Split]:
    """Return the splits as row numbers of a sample."""
    pairs = []
    for split in splits:
        try:
            train, test = split
        except (TypeError, ValueError):
            raise ValueError(
                "cv must yield pairs of rows to learn from and rows to hold out; got "
                f"{readable_value(split)}."
            ) from None
        pairs.append((_row_numbers(train, sample), _row_numbers(test, sample)))
    if not pairs:
        raise ValueError("cv yielded no splits. Is it an exhausted generator? Pass a list.")
    return pairs


def _row_numbers(rows: Any, sample: Sample) -> npt.NDArray[np.intp]:
    n_rows = sample.shape[0]
    if is_mask(rows):
        rows = in_order_of_rows(rows, sample.labels, n_rows, "a mask that cv yields")
    try:
        numbers = np.arange(n_rows, dtype=np.intp)[np.asarray(rows)]
    except (IndexError, ValueError):  # also lists of different lengths
        numbers = np.empty(0, dtype=np.intp)
    if numbers.ndim != 1 or not numbers.size:
        raise ValueError(
            f"cv must yield row numbers from {-n_rows} to {n_rows - 1}, or masks of all rows, and "
            f"at least one row; got {readable_value(rows)}."
        )
    return numbers


def searches_at_a_time(
    problem: Problem,
    resources: Resources,
    n_threads: int,
    n_searches: int,
    settings: SearchSettings = EXACT,
) -> int:
    """Return how many searches of some of the rows may run at the same time, in threads."""
    n_rows, m = problem.scores.sample.shape
    is_small = m < FEWEST_COLUMNS and n_rows < _FEWEST_ROWS
    most = 1 if is_small else min(n_threads, n_searches)
    if most == 1:
        return 1
    shape = problem.read()
    by_dynamic_programs = _are_dynamic(shape, resources, settings)
    for n in range(most, 1, -1):
        # Raised if they do not fit in memory, or only branch and cut that is not installed.
        with suppress(ValueError, ImportError):
            share = resources.share(n)
            # Less memory must not make branch and cut take the place of dynamic programming.
            if _are_dynamic(shape, share, settings) == by_dynamic_programs:
                return n
    return 1


def _are_dynamic(shape: Shape, resources: Resources, settings: SearchSettings) -> list[bool]:
    """Return whether the search of each group of columns is a dynamic program."""
    plan = plan_searches(shape, resources, settings)
    return [not search.heeds_time_limit for search in plan.searches]


@dataclass
class HeldOutScores:
    """The folds of a cross-validation, searched at the same time as far as memory allows."""

    problem: Problem  # that of all rows
    penalties: list[float]
    splits: list[Split]
    resources: Resources  # for all searches that run at the same time
    settings: SearchSettings = EXACT

    def __post_init__(self) -> None:
        # A copy without log-determinants: those of all rows cannot be used for a fold.
        self.problem = self.problem.of_sample(self.problem.scores.sample)
        n_threads, n = self.resources.n_threads, len(self.splits)
        searches = self.resources, n_threads, n, self.settings
        self.n_at_a_time = searches_at_a_time(self.problem, *searches)
        self.resources = self.resources.share(self.n_at_a_time)
        # The last folds share the threads that would be idle otherwise.
        n_last = n % self.n_at_a_time
        self._n_jobs = [n_threads // self.n_at_a_time] * (n - n_last)
        self._n_jobs += [n_threads // max(n_last, 1)] * n_last
        work = work_of(self.problem, self.resources, self.settings, len(self.penalties))
        self.work = n * work  # in the unit of `Plan.work`

    def compute(self) -> tuple[Floats, Floats, int]:
        """Return the held-out scores, the numbers of edges, and how many networks are not proven.

        The first two are of shape (n_penalties, n_splits).
        """
        arguments = [*zip(self._n_jobs, self.splits, strict=True)]
        outcomes = run_all(self.n_at_a_time, self._fold, arguments, self.resources.progress)
        numbers = np.array(outcomes, dtype=np.float64)
        held_out, n_edges, is_unproven = numbers.transpose(2, 1, 0)
        scores = np.ascontiguousarray(held_out)
        return scores, np.ascontiguousarray(n_edges), int(is_unproven.sum())

    def _fold(self, n_jobs: int, split: Split) -> list[Outcome]:
        train, test = split

        def explain(error: ValueError) -> str:
            hint = (
                " Or let all folds have all values that are in two rows or more, by "
                "cv=list(StratifiedKFold(5).split(X, labels)) of scikit-learn with labels for them."
            ) * bool(getattr(error, "constant_columns", []))
            sizes = f"{len(train)} rows and holds out {len(test)}"
            return f"In a fold of cv that learns from {sizes}: {error}{hint}"

        return explained(lambda: self._outcomes(n_jobs, *split), explain)

    def _outcomes(self, n_jobs: int, train: Integers, test: Integers) -> list[Outcome]:
        sample = self.problem.scores.sample
        learned, held_out = sample[train], sample[test]
        if sample.is_complete:  # the search needs only a summary of the rows to learn from
            learned = learned.without_rows()
        resources = self.resources.with_jobs(n_jobs)
        problem = self.problem.of_sample(learned, n_jobs)
        of_penalties = solve(problem, resources, self.settings, self.penalties)
        require_levels(held_out, problem.nodes)
        outcomes = []
        for found in of_penalties:
            assert found.model is not None
            rows = problem.kept(held_out.rows)
            is_set = held_out.is_set
            if is_set is not None:
                is_set = problem.nodes.by_column(is_set)
            score = found.model.mean_log_density(held_out, is_set, rows)
            n_edges = sum(mask.bit_count() for mask in found.parents)
            is_unproven = sample.is_complete and not found.is_optimal
            outcomes.append((score, n_edges, is_unproven))
        return outcomes

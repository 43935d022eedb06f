"""The steps that fits share: reading tables and scores, planning, and keeping what was found."""

import math
from collections.abc import Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array

from skbn._core.arrays import Floats, random_seeds
from skbn._core.estimator import Interval, StrOptions, listeners_of, random_generator
from skbn._core.resources import Progress, Resources, explained, say
from skbn._core.subsets import members_of
from skbn._core.text import readable_value, warn
from skbn._data.containers import row_labels
from skbn._data.dask_rows import read_summary
from skbn._data.encoding import encoded_rows, learn_nodes
from skbn._data.nodes import Nodes
from skbn._data.sample import Sample
from skbn._data.table import Table
from skbn._displays.notebook import frame_of
from skbn._networks.diagnostics import warn_about_data, warn_about_limit
from skbn._scores import criteria, environment_scores
from skbn._scores.base import BaseScores
from skbn._scores.local_scores import LocalScores
from skbn._solver.branch_engine import what_to_expect
from skbn._solver.constraints import Constraints, read_constraints
from skbn._solver.engines import SearchSettings
from skbn._solver.incomplete_problem import IncompleteProblem
from skbn._solver.problem import Found, Problem
from skbn._solver.structural_em import EMRecord
from skbn.exceptions import MissingValuesWarning

# In nats. Beyond a Bayes factor of 20, the logarithm of which is 3.0, evidence is called strong
# (Kass & Raftery 1995, "Bayes factors").
STRONG_EVIDENCE = 3.0

_LESS_TO_PROVE = (
    "Raise time_limit, lower max_parents, or raise tol to what differences in score do not matter."
)
_MOST_SHOWN = 5

TARGET_CONSTRAINTS: dict[str, list[Any]] = {
    "targets": [StrOptions({"soft", "hard"}), None],
    "target_cost": [
        Interval(Real, -criteria.LARGEST_PENALTY, criteria.LARGEST_PENALTY, closed="both")
    ],
}
"""What is allowed of the parameters of estimators that find targets."""

PARAMETER_CONSTRAINTS: dict[str, list[Any]] = {
    "criterion": [StrOptions(set(criteria.CRITERIA)), criteria.Criterion],
    "penalty": [Interval(Real, 0, criteria.LARGEST_PENALTY, closed="both")],
    "max_parents": [Interval(Integral, 0, None, closed="left"), None],
    "nodes": [StrOptions({"auto"}), dict, "array-like", None],
    "n_jobs": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Integral, None, -1, closed="right"),
        None,
    ],
    "max_memory": [Interval(Real, 0, None, closed="neither"), "memory size", None],
    "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}
"""What is allowed of the parameters that estimators share; none has all of them."""


# Reading


def make_scores(estimator: BaseEstimator, sample: Sample) -> LocalScores:
    """Return the local scores of a sample, with an estimator's settings; by default the BIC."""
    penalty = vars(estimator).get("penalty")
    return LocalScores._from_sample(
        sample,
        criteria.as_criterion(
            estimator._default_criterion if estimator.criterion is None else estimator.criterion
        ),
        vars(estimator).get("feature_names_in_"),
        penalty=1.0 if penalty is None else float(penalty),
        max_parents=estimator.max_parents,
        n_jobs=estimator.n_jobs,
    )


def read_scores(
    estimator: BaseEstimator,
    X: Any,
    sample_weight: Any = None,
    interventions: Any = None,
    *,
    needs_rows: bool = False,
) -> BaseScores:
    """Return the local scores of a table, or those given in its place; learn the columns' names."""
    if not isinstance(X, BaseScores):
        needs_rows, may_miss = needs_rows or interventions is not None, takes_missing(estimator)
        how = {"reset": True, "needs_rows": needs_rows, "may_miss": may_miss}
        sample = read_sample(estimator, X, sample_weight, **how)
        return make_scores(estimator, sample).with_interventions(interventions)
    kind, m = type(X).__name__, len(X.columns)
    if estimator.nodes is not None:
        raise ValueError(
            f"nodes={readable_value(estimator.nodes)} was asked for, but X is {kind}. Set it where "
            "they are made, and nodes=None here."
        )
    if m < 2:
        name = type(estimator).__name__
        raise ValueError(f"{name} needs at least 2 columns; the {kind} have {m}.")
    learn_columns(estimator, *columns_of(X))
    scores = X.with_sample_weight(sample_weight).with_interventions(interventions)
    _check_settings(estimator, X)
    return scores


def with_environments(
    estimator: BaseEstimator, scores: BaseScores, environments: Any, cost: float
) -> BaseScores:
    """Return the scores of rows from environments, if an estimator's `targets` are to be found."""
    kind = estimator.targets
    if isinstance(scores, environment_scores.EnvironmentScores):
        raise TypeError("X are scores with environments already. Pass the table, and environments.")
    if kind is None and environments is None:
        return scores
    if kind is None or environments is None:
        raise ValueError(
            f"targets={kind!r} and the environments of the rows belong together: set targets to "
            '"soft" or "hard" and give fit the environments, or leave both at None.'
        )
    settings = kind, estimator.reference, cost
    return environment_scores.with_environments(scores, environments, *settings)


def to_fit(holder: str, estimator: Any, default: BaseEstimator) -> Any:
    """Return a copy of an estimator, or the default if it is None."""
    if estimator is None:
        return default
    is_estimator = hasattr(estimator, "fit") and not isinstance(estimator, type)
    if not is_estimator or get_tags(estimator).target_tags.required:
        raise TypeError(
            f"{holder} needs an estimator that learns a network of a table, such as {default!r}; "
            f"got estimator={readable_value(estimator)}."
        )
    estimator = clone(estimator)
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if "reference" in vars(last) and last.targets is not None:
        raise ValueError(
            f"{holder} does not take environments, which targets={last.targets!r} of its estimator "
            "needs. Set targets to None there. For rows from environments, "
            "GaussianBNPosterior(targets=...) has probabilities of edges and of targets."
        )
    return estimator


def takes_missing(estimator: BaseEstimator) -> bool:
    """Whether an estimator's parameter `missing`, if it has one, lets values be missing."""
    return bool(vars(estimator).get("missing", "error") != "error")


def columns_of(scores: BaseScores) -> tuple[Any, int, Nodes | None]:
    """Return the names of the columns behind scores, or None, their number, and their nodes."""
    nodes = scores._nodes
    n_columns = len(scores.columns if nodes is None else nodes.labels)
    return getattr(scores, "feature_names_in_", None), n_columns, nodes


def _check_settings(estimator: BaseEstimator, scores: BaseScores) -> None:
    """Raise if scores were made with another criterion or penalty than is asked for."""

    def is_same(asked: Any, made: Any) -> bool:
        if asked is None or made is None or isinstance(asked, Real):
            return asked is None or bool(asked == made)
        a, b = (
            criteria.criterion_for(criteria.as_criterion(each), scores.columns)
            for each in (asked, made)
        )
        return criteria.same_criterion(a, b)

    for parameter in ("criterion", "penalty"):
        asked, made = vars(estimator).get(parameter), getattr(scores, parameter, None)
        if not is_same(asked, made):
            raise ValueError(
                f"{parameter}={readable_value(asked)} was asked for, but the "
                f"{type(scores).__name__} were made with {parameter}={readable_value(made)}. Set "
                f"it where they are made, and {parameter}=None here."
            )


def read_sample(
    estimator: BaseEstimator,
    X: Any,
    sample_weight: Any = None,
    *,
    reset: bool,
    needs_rows: bool = True,
    is_chunk: bool = False,
    may_miss: bool = False,
) -> Sample:
    """Return the rows of a table, copied, with their weights, or their summary if it is lazy.

    `reset`: whether the estimator learns the number and names of columns, which are else checked
    `needs_rows`: whether a summary is not enough. A table of dask is then refused.
    `is_chunk`: whether other rows will be added, so that all weights of a table of dask may be 0
    """
    if isinstance(X, BaseScores):
        kind = type(X).__name__
        raise TypeError(f"X is already {kind}. Pass the table, or fit a GaussianBNLearner to it.")
    table = Table(X)
    table.check_positions()
    if not reset:
        check_columns(estimator, table.names, len(table.labels))

    # Holes do not matter in rows of weight 0; those of other rows are refused below.
    refuses_holes = not may_miss
    may_miss = may_miss or sample_weight is not None
    learned = _learned_nodes(estimator, table, may_miss) if reset else estimator._nodes_
    fewest = 0 if is_chunk else 2 if reset else 1, 2 if reset else 1  # rows and columns

    def check_shape(rows: Floats) -> None:
        if rows.shape[0] < fewest[0] or rows.shape[1] < fewest[1]:
            check_array(  # raises in scikit-learn's words, and would take longer than all else here
                rows,
                ensure_all_finite=False,
                ensure_min_samples=fewest[0],
                ensure_min_features=fewest[1],
                estimator=estimator,
            )

    if table.is_lazy and not needs_rows:
        m = len(table.labels)
        check_shape(np.zeros((fewest[0], m)))  # before the rows are read
        n_rows, sample = read_summary(X, sample_weight, is_chunk=is_chunk)
        check_shape(np.zeros((min(n_rows, fewest[0]), m)))
        if learned is not None:
            chosen = [column.source for column in learned.columns]
            sample = Sample.of_summary(sample.summary.select(chosen), learned)
    else:
        read = table.rows if learned is None else partial(encoded_rows, learned, table)
        rows = read(may_miss=may_miss)
        check_shape(rows)
        rows.setflags(write=False)
        sample = Sample(rows, None, row_labels(X), learned, may_miss=may_miss)
        sample = sample.with_weight(sample_weight)
        if refuses_holes and not sample.is_complete:
            read(may_miss=False)
        n_rows = len(rows)
    if sample_weight is not None and (reset or is_chunk):
        sample.counted(sample_weight, n_rows)
    if reset:
        learn_columns(estimator, table.names, len(table.labels), learned)
    return sample


def _learned_nodes(estimator: BaseEstimator, table: Table, may_miss: bool) -> Nodes | None:
    """Return the nodes that an estimator's parameter `nodes`, if it has one, makes of a table."""
    spec = vars(estimator).get("nodes")
    if spec is None:
        return None
    if table.is_lazy and isinstance(spec, str):
        raise ValueError(
            "nodes='auto' needs the rows in memory, to see the levels of categories. Encode the "
            "categories and give nodes as a dict, or None; or pass X.compute() if X is of dask."
        )
    learned = learn_nodes(spec, table, may_miss=may_miss)
    if learned is not None and len(learned.names) < 2:
        raise ValueError(f"At least two nodes are needed; nodes makes {learned.names} of X.")
    return learned


def learn_columns(
    estimator: BaseEstimator,
    names: Sequence[str] | None,
    n_columns: int,
    nodes: Nodes | None = None,
) -> None:
    """Set `n_features_in_` and `feature_names_in_`, as scikit-learn's estimators do, and nodes."""
    estimator.n_features_in_ = n_columns
    estimator._nodes_ = nodes
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif "feature_names_in_" in vars(estimator):
        del estimator.feature_names_in_


def check_columns(estimator: BaseEstimator, names: Sequence[str] | None, n_columns: int) -> None:
    """Compare columns with those of `fit`, and warn if only one of the two has names.

    scikit-learn's `validate_data` does so only for frames whose names its version can read.
    """
    estimator_name = type(estimator).__name__
    fitted = getattr(estimator, "feature_names_in_", None)
    if names is None or fitted is None:
        has, was = ("has", "without") if fitted is None else ("does not have valid", "with")
        if names is not fitted:  # only one has names
            message = f"X {has} feature names, but {estimator_name} was fitted {was} feature names"
            warn(message)
    elif list(names) != list(fitted):
        raise ValueError(_difference(list(names), list(fitted)))
    if n_columns != estimator.n_features_in_:
        raise ValueError(
            f"X has {n_columns} features, but {estimator_name} is expecting "
            f"{estimator.n_features_in_} features as input. Give the columns of fit."
        )


def _difference(names: list[str], fitted: list[str]) -> str:
    """Describe how names differ from those of `fit`, in scikit-learn's words."""
    message = "The feature names should match those that were passed during fit.\n"
    differences = {
        "unseen at fit time": sorted(set(names) - set(fitted)),
        "seen at fit time, yet now missing": sorted(set(fitted) - set(names)),
    }
    for what, some in differences.items():
        if some:
            shown = [*some[:_MOST_SHOWN], *(["..."] if len(some) > _MOST_SHOWN else [])]
            message += f"Feature names {what}:\n" + "".join(f"- {name}\n" for name in shown)
    if not any(differences.values()):
        message += "Feature names must be in the same order as they were in fit.\n"
    if set(fitted) - set(names):
        return f"{message}Give all columns of fit."
    return f"{message}Give the columns of fit, in their order: X[list(learner.feature_names_in_)]."


# Planning


def constraints_of(estimator: BaseEstimator, scores: BaseScores) -> Constraints:
    """Return what an estimator's parameters say of networks of these scores."""
    read = partial(
        read_constraints,
        scores.columns,
        max_parents=most_parents(estimator.max_parents, scores),
        required_edges=estimator.required_edges,
        forbidden_edges=estimator.forbidden_edges,
        tiers=estimator.tiers,
        exogenous=estimator.exogenous,
    )
    nodes = scores._nodes
    if nodes is None or nodes.are_columns:
        return read()

    of_nodes = "Constraints are on nodes: write the node in place of its columns or levels."
    return explained(read, lambda error: f"{error} {of_nodes}")


def most_parents(max_parents: int | None, scores: BaseScores) -> int:
    """Return the largest number of parents that a user and the scores allow."""
    made_with: int | None = getattr(scores, "max_parents", None)
    if made_with is not None and max_parents is not None and max_parents > made_with:
        raise ValueError(
            f"max_parents={max_parents} was asked for, but the LocalScores were made with "
            f"max_parents={made_with}. Make them with a larger max_parents, or leave the "
            "learner's at None."
        )
    known = [most for most in (made_with, max_parents) if most is not None]
    return min([len(scores.columns) - 1, *known])


def resources_of(
    estimator: BaseEstimator, time_limit: float | None = None, **further: Any
) -> Resources:
    """Return what a computation may take by an estimator's parameters."""

    def announce(plan: str) -> None:
        say(f"[{type(estimator).__name__}] {plan}")

    return Resources.of_machine(
        estimator.max_memory,
        n_jobs=estimator.n_jobs,
        progress=Progress(listeners=listeners_of(estimator)),
        announce=announce if estimator.verbose else None,
        time_limit=None if time_limit is None else float(time_limit),
        **further,
    )


def search_settings(learner: BaseEstimator) -> SearchSettings:
    """Return the settings of a learner's search, with a seed; an exact one may have its own."""
    is_exact, seed = learner.search == "exact", 0
    if not is_exact or learner.random_state is not None:
        (seed,) = random_seeds(random_generator(learner.random_state), 1)
    settings = SearchSettings(is_exact, seed, float(learner.tol))
    return settings._replace(n_candidates=vars(learner).get("n_candidates", settings.n_candidates))


# Keeping


def targets_of(problem: Problem) -> list[tuple[str | int, ...]]:
    """Return the columns that an experimenter set together, by name."""
    return [tuple(problem.names[x] for x in members_of(mask)) for mask in problem.targets]


def keep_found(learner: BaseEstimator, found: Found, problem: Problem, **learned: Any) -> None:
    """Keep what was found as attributes, and what `near_optimal` needs to search again."""
    network, losses = found.network, found.start_losses
    # In one step, for threads that read the estimator meanwhile.
    learner.__dict__.update(
        learned,
        network_=network,
        network_score_=found.score,
        is_optimal_=found.is_optimal,
        score_bound_=found.score_bound,
        optimality_gap_=found.gap,
        n_iter_=found.n_iter,
        n_nodes_=found.n_nodes,
        start_scores_=None if losses is None else found.score - np.array(losses),
        criterion_=getattr(problem.scores, "criterion", None),
        targets_=targets_of(problem) if found.targets is None else found.targets,
        _searched_=problem.without_rows(),
        _why_ended_=found.why_ended,
        _search_=vars(learner).get("search", "exact"),
    )


def keep_search(
    learner: BaseEstimator, found: Found, problem: Problem, n_unproven: int = 0, **learned: Any
) -> None:
    """Keep what `solve` found of a problem, and warn of what it, or searches of folds, may lack."""
    if found.em is None:
        keep_found(learner, found, problem, **learned)
        warn_about_proof(learner, n_unproven)
        warn_about_network(found, problem.known(found.parents))
        return
    assert isinstance(problem, IncompleteProblem)
    learned |= _learned_by_em(found.em)
    keep_found(learner, found, found.em.expected, **learned)
    for remark in found.em.remarks:
        warn(remark, MissingValuesWarning)
    if found.why_ended:
        warn(
            "time_limit ended structural EM before it had scored all candidates, or while the "
            "score still rose. Raise it, or lower n_candidates. Until then, score_loss is only "
            "an upper limit.",
            ConvergenceWarning,
        )
    warn_about_network(found, found.em.expected, observed=problem.observed)


def _learned_by_em(em: EMRecord) -> dict[str, Any]:
    """Return the attributes that only a fit to missing values has."""
    frame = frame_of(
        {
            "observed_score": [each.score for each in em.candidates],
            "searched_score": [each.searched for each in em.candidates],
            "list": [each.list_number for each in em.candidates],
            "n_edges": [sum(m.bit_count() for m in each.parents) for each in em.candidates],
        }
    )
    return {
        "n_effective_": em.n_effective,
        "candidates_": frame,
        "_listed_": (em.listed, em.expectation),
    }


def warn_about_network(found: Found, problem: Problem, **how: Any) -> None:
    """Warn if the table may not suit the model, or if `max_parents` costs much of the score."""
    if found.model is not None:
        warn_about_data(found.model, problem.scorer, **how)
        limit = problem.constraints.possible, problem.constraints.max_parents
        warn_about_limit(problem.scorer, found.model, *limit)


def warn_about_proof(learner: BaseEstimator, n_unproven: int = 0) -> None:
    """Warn if an exact search, also of folds, has no proof, or starts of an order search differ."""
    if learner._search_ == "order":
        _warn_about_starts(learner)
        return
    if n_unproven:
        warn(
            f"{n_unproven} searches of folds ended before they proved that their networks are the "
            f"best. {_LESS_TO_PROVE}",
            ConvergenceWarning,
        )
    gap = learner.optimality_gap_
    if not learner.is_optimal_ and not learner._why_ended_:
        warn(
            f"Rounding hides differences between scores of up to {gap:.3g} nats: another network "
            "may score so much higher. Raise tol to more than that, or leave out families whose "
            "scores are far below those of others.",
            ConvergenceWarning,
        )
    elif not learner.is_optimal_:
        expected = what_to_expect(learner._searched_)
        why = f" {expected[:1].upper()}{expected[1:]}." if expected else ""
        known = f"another one may score up to {gap:.3g} nats higher"
        if gap == math.inf:
            known = "how much higher another one may score is not known"
        warn(
            f"The search ended before it proved that its network is the best "
            f"{learner._searched_.scope}: {known}. {learner._why_ended_} {_LESS_TO_PROVE}{why}",
            ConvergenceWarning,
        )


def _warn_about_starts(learner: BaseEstimator) -> None:
    """Warn if other starts of an order search did not come near its network."""
    starts = learner.start_scores_
    if starts is None or len(starts) == 1 or starts[0] - starts[1] <= STRONG_EVIDENCE:
        return
    warn(
        f"Of {len(starts)} starts of the order search, one alone came within "
        f"{STRONG_EVIDENCE:g} nats of the best network; the next is {starts[0] - starts[1]:.3g} "
        "nats below it. There may be a better network: fit with other values of random_state, or a "
        "larger time_limit, and keep the highest network_score_. With more than 150 columns only "
        "two starts run, and this is the rule: trust the edges that two values of random_state "
        "share.",
        ConvergenceWarning,
    )

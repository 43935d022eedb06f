"""What estimators of networks share: parameters, reading tables, predict, score."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import networkx as nx
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_array, check_is_fitted

from skbn._core.arrays import (
    Booleans,
    Floats,
    Random,
    as_integer,
    finite_number,
    random_seeds,
)
from skbn._core.estimator import (
    CallbackSupportMixin,
    Interval,
    MemorySize,
    NetworkHintMixin,
    StrOptions,
    listeners_of,
    random_generator,
)
from skbn._core.graphs import GraphStateMixin, dag_of
from skbn._core.resources import Progress, Resources, say
from skbn._core.subsets import members_of
from skbn._core.text import readable_value, warn
from skbn._data.containers import is_dask, row_labels
from skbn._data.dask_rows import read_dask_rows
from skbn._data.encoding import encoded_rows, learn_nodes
from skbn._data.experiments import ExperimentalSample, read_interventions
from skbn._data.nodes import Nodes
from skbn._data.sample import Sample
from skbn._data.table import Table
from skbn._displays.notebook import DocLinkMixin, PlotMixin
from skbn._estimators.near_optimal_networks import NearOptimalNetworks
from skbn._estimators.summary import learner_summary
from skbn._networks.block_network import network_of_model
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.base import BaseScores
from skbn._scores.criteria import (
    CRITERIA,
    LARGEST_PENALTY,
    Criterion,
    as_criterion,
    criterion_for,
    same_criterion,
)
from skbn._scores.local_scores import LocalScores
from skbn._solver.constraints import Constraints, read_constraints
from skbn._solver.engines import SearchSettings
from skbn._solver.near_optimal import near_optimal
from skbn._solver.problem import Problem, Solution
from skbn.exceptions import MissingValuesWarning

_MOST_SHOWN = 5

PARAMETER_CONSTRAINTS: dict[str, list[Any]] = {
    "criterion": [StrOptions(set(CRITERIA)), Criterion],
    "penalty": [Interval(Real, 0, LARGEST_PENALTY, closed="both")],
    "max_parents": [Interval(Integral, 0, None, closed="left"), None],
    "nodes": [StrOptions({"auto"}), dict, "array-like", None],
    "n_jobs": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Integral, None, -1, closed="right"),
        None,
    ],
}
"""Constraints on the parameters that the estimators share."""


def make_scores(estimator: BaseEstimator, sample: Sample, penalty: float) -> LocalScores:
    """Return the local scores of a sample, with an estimator's settings; by default the BIC."""
    return LocalScores(
        sample,
        as_criterion(
            estimator._default_criterion if estimator.criterion is None else estimator.criterion
        ),
        vars(estimator).get("feature_names_in_"),
        penalty=float(penalty),
        max_parents=estimator.max_parents,
        n_jobs=estimator.n_jobs,
    )


def read_sample(
    estimator: BaseEstimator,
    X: Any,
    sample_weight: Any = None,
    *,
    reset: bool,
    min_samples: int = 1,
    needs_rows: bool = True,
    is_chunk: bool = False,
    may_miss: bool = False,
    nodes: Any = None,
) -> Sample:
    """Return the rows of a table with their weights, or their summary if the table is of dask.

    The rows are copied to a read-only array.

    Parameters
    ----------
    estimator : estimator
        Its number and names of columns are set if `reset`, and checked otherwise.
    X : array-like or data frame of shape (n, m)
    sample_weight : array-like of shape (n,), optional
    reset : bool
    min_samples : int
    needs_rows : bool
        Whether a summary is not enough. A table of dask is then refused.
    is_chunk : bool
        Whether other rows will be added, so that all weights of a table of dask may be 0.
    may_miss : bool
        Whether values may be missing.
    nodes : optional
        What nodes to learn if `reset`; by default those that the estimator's parameter `nodes`
        asks for.

    Returns
    -------
    sample : Sample

    Raises
    ------
    ValueError, TypeError
        As `Table`, and if the columns are not those of `fit`; if there are too few columns
        or rows; if the weights do not match the rows.
    """
    if isinstance(X, BaseScores):
        kind = type(X).__name__
        raise TypeError(f"X is already {kind}. Pass it to a GaussianBNLearner.")
    table = Table(X)
    table.check_positions()
    if not reset:
        check_columns(estimator, table.names, len(table.labels))

    # Holes do not matter in rows of weight 0; those of other rows are refused below.
    refuses_holes = not may_miss
    may_miss = may_miss or sample_weight is not None
    learned = _learned_nodes(estimator, table, nodes, may_miss) if reset else estimator._nodes_
    fewest = min_samples, 2 if reset else 1

    def check_shape(rows: Floats) -> None:
        if rows.shape[0] < fewest[0] or rows.shape[1] < fewest[1]:
            check_array(  # raises in scikit-learn's words, and would take longer than all else here
                rows,
                ensure_all_finite=False,
                ensure_min_samples=fewest[0],
                ensure_min_features=fewest[1],
                estimator=estimator,
            )

    if is_dask(X) and not needs_rows:
        m = len(table.labels)
        check_shape(np.zeros((min_samples, m)))  # before the rows are read
        n_rows, sample = read_dask_rows(X, sample_weight, is_chunk=is_chunk)
        check_shape(np.zeros((min(n_rows, min_samples), m)))
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


def _learned_nodes(
    estimator: BaseEstimator, table: Table, nodes: Any, may_miss: bool
) -> Nodes | None:
    """Return the nodes that `nodes`, or else the estimator's parameter, makes of a table."""
    spec = getattr(estimator, "nodes", None) if nodes is None else nodes
    if spec is None:
        return None
    if table.is_lazy and isinstance(spec, str):
        raise ValueError(
            "nodes='auto' needs the rows in memory, to see the levels of categories; X is a table "
            "of dask. Encode the categories and give nodes as a dict, or pass X.compute()."
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
    """Compare columns with those of `fit`.

    scikit-learn's `validate_data` does the same, but only for the frames whose names it can read,
    which depend on its version.

    Warns
    -----
    UserWarning
        If only one of the two has names.

    Raises
    ------
    ValueError
        If the number of columns or their names differ.
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


def check_settings(
    scores: BaseScores, *, criterion: str | Criterion | None, penalty: float | None
) -> None:
    """Check that the criterion and penalty of a learner are those of the scores.

    Raises
    ------
    ValueError
        If the scores were made with different ones.
    """
    made = getattr(scores, "criterion", None)
    made_penalty = getattr(scores, "penalty", None)
    differing: tuple[str, Any, Any] = "criterion", criterion, made
    if criterion is None or (
        made is not None
        and same_criterion(
            *(criterion_for(as_criterion(each), scores.columns) for each in (criterion, made))
        )
    ):
        if penalty in (None, made_penalty):
            return
        differing = "penalty", penalty, made_penalty
    parameter, asked, has = differing
    raise ValueError(
        f"{parameter}={readable_value(asked)} was asked for, but the {type(scores).__name__} were "
        f"made with {parameter}={readable_value(has)}. Set it where they are made, and "
        f"{parameter}=None here."
    )


def most_parents(max_parents: int | None, scores: BaseScores) -> int:
    """Return the largest number of parents that a user and the scores allow.

    Raises
    ------
    ValueError
        If the user allows more than the scores were made with.
    """
    made_with = getattr(scores, "max_parents", None)
    most = len(scores.columns) - 1
    if max_parents is None:
        return most if made_with is None else min(made_with, most)
    if made_with is not None and max_parents > made_with:
        raise ValueError(
            f"max_parents={max_parents} was asked for, but the LocalScores were made with "
            f"max_parents={made_with}. Make them with a larger max_parents, or leave the "
            "learner's at None."
        )
    return min(max_parents, most)


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
    nodes: Any
    required_edges: Any
    forbidden_edges: Any
    tiers: Any
    exogenous: Any
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
        return vars(self).get("missing", "error") != "error"

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

    def score_samples(self, X: Any) -> Floats:
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


# In nats. Beyond a Bayes factor of 20, the logarithm of which is 3.0, evidence is called strong
# (Kass & Raftery 1995, "Bayes factors").
_WITHIN = 3.0

_LESS_TO_PROVE = (
    "Raise time_limit, lower max_parents, or raise tol to what differences in score do not matter."
)


def network_of(solution: Solution) -> GaussianBayesianNetwork:
    """Return the network of a solution, without parameters if it has none."""
    if solution.model is None:
        dag = dag_of(solution.columns, solution.parents, solution.irreversible)
        dag.add_nodes_from(solution.exogenous, exogenous=True)
        network = GaussianBayesianNetwork(dag)
    elif solution.nodes is None:
        network = GaussianBayesianNetwork(solution.model.to_dag())
    else:
        network = network_of_model(solution.model, solution.nodes)
    network._keep(solution.model, solution.score_losses, solution.statistics)
    return network


def targets_of(problem: Problem) -> list[tuple[str | int, ...]]:
    """Return the columns that an experimenter set together, by name."""
    return [tuple(problem.names[x] for x in members_of(mask)) for mask in problem.targets]


class NetworkLearner(OneNetworkEstimator):
    """A learner that searches, exactly or not. Derived classes have the parameters below.

    They also have those of `NetworkEstimator`.
    """

    _allowed_values: ClassVar[dict[str, Any]] = {
        **OneNetworkEstimator._allowed_values,
        "search": [StrOptions({"exact", "order"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }
    search: str
    tol: float
    time_limit: float | None
    random_state: int | Random | None
    network_score_: float
    is_optimal_: bool
    score_bound_: float
    optimality_gap_: float
    n_iter_: int
    n_nodes_: int
    start_scores_: Floats | None
    criterion_: Criterion | None
    _searched_: Problem
    _search_: str
    _is_finished_: bool

    def _search_settings(self) -> SearchSettings:
        """Return the settings of the search, with a seed drawn for it.

        An exact search finds a network of the same score with any seed: it has one of its own
        unless the user gives one.
        """
        is_exact, seed = self.search == "exact", 0
        if not is_exact or self.random_state is not None:
            (seed,) = random_seeds(random_generator(self.random_state), 1)
        return SearchSettings(is_exact, seed, float(self.tol))

    def _resources(self, context: Any = None) -> Resources:
        limit = None if self.time_limit is None else float(self.time_limit)
        return replace(super()._resources(context), time_limit=limit)

    def _warn_about_proof(self, n_unproven: int = 0) -> None:
        """Warn if an exact search did not prove its network, or starts of an order search disagree.

        Parameters
        ----------
        n_unproven : int
            How many searches of folds did.
        """
        if self.search == "order":
            self._warn_about_starts()
            return
        if n_unproven:
            warn(
                f"{n_unproven} searches of folds ended before they proved that their networks are "
                f"the best. {_LESS_TO_PROVE}",
                ConvergenceWarning,
            )
        if not self.is_optimal_ and self._is_finished_:
            warn(
                f"Rounding hides differences between scores of up to {self.optimality_gap_:.3g} "
                "nats: another network may score so much higher. Raise tol to more than that, or "
                "leave out families whose scores are far below those of others.",
                ConvergenceWarning,
            )
        elif not self.is_optimal_:
            warn(
                "The search ended before it proved that its network is the best: another one may "
                f"score up to {self.optimality_gap_:.3g} nats higher. {_LESS_TO_PROVE}",
                ConvergenceWarning,
            )

    def _warn_about_missing(self, remarks: list[str]) -> None:
        """Warn of what a table with missing values lacks, and of a time limit that was reached."""
        for remark in remarks:
            warn(remark, MissingValuesWarning)
        if not self._is_finished_:
            warn(
                "time_limit ended structural EM before it had scored all candidates, or while the "
                "score still rose. Raise it, or lower n_candidates.",
                ConvergenceWarning,
            )

    def _warn_about_starts(self) -> None:
        """Warn if other starts of an order search did not come near its network."""
        starts = self.start_scores_
        if starts is None or len(starts) == 1 or starts[0] - starts[1] <= _WITHIN:
            return
        more = "raise time_limit, or " if self.time_limit is not None else ""
        warn(
            f"Of {len(starts)} starts of the order search, one alone came within {_WITHIN:g} nats "
            f"of the best network; the next is {starts[0] - starts[1]:.3g} nats below it. There "
            f"may be a better network: {more}fit with other values of random_state, and keep the "
            "highest network_score_.",
            ConvergenceWarning,
        )

    def _keep(self, solution: Solution, problem: Problem, **learned: Any) -> None:
        """Keep what was found as attributes, and what `near_optimal` needs to search again."""
        network, losses = network_of(solution), solution.start_losses
        learned["targets_"] = targets_of(problem)
        # In one step, for threads that read the estimator meanwhile.
        self.__dict__.update(
            learned,
            network_=network,
            dag_=network.dag.copy(),
            network_score_=solution.score,
            is_optimal_=solution.is_optimal,
            score_bound_=solution.score_bound,
            optimality_gap_=solution.gap,
            n_iter_=solution.n_iter,
            n_nodes_=solution.n_nodes,
            start_scores_=None if losses is None else solution.score - np.array(losses),
            criterion_=solution.criterion,
            _searched_=problem.without_rows(),
            _is_finished_=solution.is_finished,
            _search_=self.search,
        )

    def _shown_note(self) -> str:
        if vars(self).get("is_optimal_", True):
            return ""
        if "candidates_" in vars(self):
            return 'Not proven optimal: found by missing="em".'
        if self._search_ == "order":
            return 'Not proven optimal: found by search="order".'
        return f"Not proven optimal: at most {self.optimality_gap_:.3g} nats below the best."

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
        sklearn.exceptions.NotFittedError
            Before `fit`.

        Notes
        -----
        The indices of fit are those of `GaussianBayesianNetwork.fit_indices` for the rows that the
        network was searched for in, which they fit too well.

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
        proof      No network has a higher score.
        network    3 nodes and 2 edges (0 reversible)
        fit        chi2 0.9187 with 1 df, p = 0.338; CFI 1.000, RMSEA 0.000 (0.000 to 0.195), \
SRMR 0.038
        <BLANKLINE>
        alcohol = 13, noise sd 0.81
        proline = -2980 + 258 alcohol + 391 hue, noise sd 223
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

        Parameters
        ----------
        n : int or None, default=None
            The largest number of networks, or of equivalence classes. It is the safe bound: how
            many are within so many nats grows exponentially with the columns.
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
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError, TypeError
            If `n` is not a positive integer, `within` not a number from 0 on, or
            `equivalence_classes` not a bool; if the list takes more memory than there is, as after
            a fit by branch and cut; after a fit with ``search="order"`` or to missing values, which
            do not prove what they leave out.

        Notes
        -----
        The constraints and `max_parents` of `fit` hold for all networks of the list. The search
        runs once more, with `n_jobs` and `max_memory`; the list takes memory of its own. Networks
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
        if "candidates_" in vars(self):
            raise ValueError(
                "Structural EM does not prove which networks are near-optimal for a table with "
                "missing values. candidates_ has the scores of those that it compared."
            )
        if self._search_ == "order":
            raise ValueError(
                "The order search does not prove which networks are near-optimal. Fit with "
                'search="exact" to list them; max_parents or tiers make it fit more columns.'
            )
        if not isinstance(equivalence_classes, bool):
            raise TypeError(
                "equivalence_classes must be True or False; got "
                f"{readable_value(equivalence_classes)}."
            )
        n = None if n is None else as_integer(n, "n", least=1)
        if within is not None and within != math.inf:
            within = finite_number(within, "within")
            if within < 0:
                raise ValueError(f"within must not be negative; got {within}.")
        if n is None and within is None:
            within = _WITHIN
        problem = self._searched_
        found = near_optimal(
            problem.without_rows(),  # its log-determinants are dropped when the list is made
            NetworkEstimator._resources(self),  # a list is made in the memory of this process
            n=n,
            within=within,
            equivalence_classes=equivalence_classes,
        )
        return NearOptimalNetworks(found, problem, equivalence_classes)

"""The networks of resamples of a table. A resample is a weight for each row, and copies no rows.

It draws single rows, groups or blocks of them, from all or within labels.
"""

import math
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from typing import Any

import networkx as nx
import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from sklearn import get_config
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from skbn._core.arrays import Floats, Integers
from skbn._core.estimator import random_generator
from skbn._core.graphs import check_dag
from skbn._core.resources import (
    Listener,
    Progress,
    Resources,
    StoppedError,
    count_threads,
    explained,
    run_all,
)
from skbn._core.text import readable_value
from skbn._data.row_values import no_weight, read_row_groups
from skbn._data.sample import Sample
from skbn._displays.display import fitted_step
from skbn._estimators.fitting import constraints_of, search_settings
from skbn._estimators.learner import GaussianBNLearner
from skbn._estimators.learner_cv import searches_at_a_time
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.base import BaseScores
from skbn._scores.local_scores import LocalScores
from skbn._solver.engines import SearchSettings
from skbn._solver.problem import Problem
from skbn._solver.solve import problem_of, solve, work_of
from skbn.exceptions import DataWarning, MaxParentsWarning, PenaltyRangeWarning

Strata = dict[Any, Integers]  # the rows, or groups of rows, of each label


@dataclass(frozen=True)
class Draws:
    """How the rows of resamples are drawn."""

    # the rows, or the numbers of the groups, to draw from. Each of these arrays is drawn from on
    # its own.
    strata: list[Integers]
    n_drawn: list[int]  # how many to draw from each
    replace: bool
    # how many consecutive rows of a stratum are drawn at once. If not 1, `replace` is True, there
    # is one stratum, and its rows are series by series.
    block_length: int
    # one for each resample, so that no resample depends on which were drawn before
    seeds: list[np.random.SeedSequence]
    groups: list[Integers] | None = None  # the rows of each group, if whole groups are drawn
    starts: Integers | None = None  # the places in the stratum at which a block may begin

    @property
    def n_rows(self) -> int:
        """How many rows there are to draw from."""
        return sum(map(len, self.strata if self.groups is None else self.groups))

    def weight(self, number: int, sample: Sample) -> Floats:
        """Return how often each row was drawn for a resample, times its weight in the sample."""
        rows = self.rows(number)
        weight = np.bincount(rows, minlength=sample.shape[0]).astype(np.float64)
        if sample.weight is not None:
            weight *= sample.weight
        weight.setflags(write=False)
        return weight

    def rows(self, number: int) -> Integers:
        """Return the rows that were drawn for a resample, stratum by stratum."""
        rng = np.random.default_rng(self.seeds[number])
        strata = zip(self.strata, self.n_drawn, strict=True)
        drawn = np.concatenate([self._drawn_from(units, n, rng) for units, n in strata])
        groups = self.groups
        return drawn if groups is None else np.concatenate([groups[each] for each in drawn])

    def _drawn_from(self, rows: Integers, n_drawn: int, rng: np.random.Generator) -> Integers:
        if self.block_length == 1:
            return rng.choice(rows, n_drawn, replace=self.replace)
        assert self.starts is not None
        n_blocks = -(-n_drawn // self.block_length)
        starts = self.starts[rng.integers(len(self.starts), size=n_blocks)]
        blocks = starts[:, np.newaxis] + np.arange(self.block_length)
        return rows[blocks.ravel()[:n_drawn]]


def plan_draws(learner: Any, sample: Sample, stratify: Any = None, groups: Any = None) -> Draws:
    """Return how to draw resamples of a sample, by the parameters of a `BootstrapBNLearner`."""
    fraction, replace = learner.sample_fraction, learner.replace
    block_length = learner.block_length
    if block_length is not None:
        _check_blocks(sample, block_length, replace, stratify)
    strata, of_groups, starts = _strata(sample, stratify), None, None
    if block_length is not None:
        series = {None: strata[None]} if groups is None else _strata(sample, groups, "groups")
        strata = {None: np.concatenate([*series.values()])}
        starts = _starts(series, block_length)
    elif groups is not None:
        of_group = _strata(sample, groups, "groups")
        strata, of_groups = _strata_of_groups(of_group, strata), [*of_group.values()]
    what_is_drawn = "rows" if of_groups is None else "groups"
    n_rows = sum(map(len, strata.values()))
    n_drawn = {label: round(fraction * len(rows)) for label, rows in strata.items()}
    what = f"sample_fraction={readable_value(fraction)} of {n_rows} {what_is_drawn}"
    if sum(n_drawn.values()) < 2:
        raise ValueError(f"{what} draws fewer than two. Set a larger sample_fraction.")
    for label, n in n_drawn.items():
        if not n:
            raise ValueError(
                f"{what} draws none of those that stratify labels {readable_value(label)}, which "
                f"are {len(strata[label])}. Set a larger sample_fraction."
            )
    if not replace and sum(n_drawn.values()) == n_rows:
        raise ValueError(
            f"{what} draws all of them, so that without replacement all resamples are the same "
            f"{what_is_drawn}. Set a smaller sample_fraction, such as 0.5, or replace=True."
        )
    entropy = int.from_bytes(random_generator(learner.random_state).bytes(16), "little")
    seeds = np.random.SeedSequence(entropy).spawn(learner.n_resamples)
    drawn = [*n_drawn.values()]
    settings = replace, block_length or 1, seeds, of_groups, starts
    return Draws([*strata.values()], drawn, *settings)


def _strata_of_groups(of_group: Strata, strata: Strata) -> Strata:
    """Return the numbers of the groups of each label, or raise if a group has several labels."""
    if len(of_group) < 2:
        raise ValueError(
            f"All rows are of the group {readable_value(next(iter(of_group)))}, so that all "
            "resamples would be the same rows. Leave groups out; for a time series, set "
            "block_length."
        )
    found: Strata = {}
    for label, rows in strata.items():
        parts = [np.isin(own, rows) for own in of_group.values()]
        for group, part in zip(of_group, parts, strict=True):
            if part.any() and not part.all():
                raise ValueError(
                    f"Group {readable_value(group)} has rows that stratify labels "
                    f"{readable_value(label)}, and others. Whole groups are drawn, so give all "
                    "rows of a group the same label."
                )
        found[label] = np.flatnonzero([part.all() for part in parts])
    return found


def _starts(series: Strata, block_length: int) -> Integers:
    """Return where a block may begin in rows that are series by series."""
    starts, before = [], 0
    for name, rows in series.items():
        if len(rows) < block_length:
            raise ValueError(
                f"block_length={block_length} takes more rows than the {len(rows)} of group "
                f"{readable_value(name)}. Set a smaller block_length, or leave it out: whole "
                "groups are drawn then."
            )
        starts.append(before + np.arange(len(rows) - block_length + 1))
        before += len(rows)
    return np.concatenate(starts)


def _strata(sample: Sample, stratify: Any, parameter: str = "stratify") -> Strata:
    """Return the rows of each label, or all rows, without rows of weight 0."""
    n_rows = sample.shape[0]
    rows = np.arange(n_rows) if sample.weight is None else np.flatnonzero(sample.weight)
    if not rows.size:
        raise no_weight()
    if stratify is None:
        return {None: rows}
    number, labels = read_row_groups(stratify, sample.labels, n_rows, parameter)
    of_label = {label: rows[number[rows] == k] for k, label in enumerate(labels)}
    return {label: chosen for label, chosen in of_label.items() if chosen.size}


def _check_blocks(sample: Sample, block_length: int, replace: bool, stratify: Any) -> None:
    """Raise unless rows can be drawn in blocks of this length."""
    n_rows = sample.shape[0]
    if stratify is not None:
        raise ValueError(
            "block_length draws rows that follow each other, and stratify rows of one label, which "
            "need not. Give one of them."
        )
    if not replace:
        raise ValueError(
            "block_length draws blocks that may overlap, and replace=False draws each row once. "
            "Set replace=True."
        )
    if block_length >= n_rows:
        raise ValueError(
            f"block_length must be less than the number of rows, {n_rows}, because all resamples "
            f"would be the same rows; got {block_length}. By the rule of thumb it is "
            f"{round(n_rows ** (1 / 3))}."
        )
    if sample.weight is not None and not sample.weight.all():
        raise ValueError(
            "block_length draws rows that follow each other, and sample_weight is 0 for row "
            f"{int(np.argmin(sample.weight))}. Leave out the rows of weight 0 if those around them "
            "may count as neighbours."
        )


# With fewer, an interrupted bootstrap has no result.
_FEWEST_NETWORKS = 2
_EXPECTED = "a learner with a network_ or a dag_ after fit, or a pipeline or a search of one"


# How a learner is fitted to the rows with other weights


# Either can be sent to other processes. A fit advances the progress by `work`.


@dataclass(frozen=True)
class _SearchAgain:
    """Does only what a fit of a GaussianBNLearner does again for each resample: the search."""

    problem: Problem
    resources: Resources
    work: int
    settings: SearchSettings

    def network(self, weight: Floats, progress: Progress) -> GaussianBayesianNetwork:
        sample = self.problem.scores.sample
        resample = sample.weighted(weight)
        problem = self.problem.of_sample(resample, self.resources.n_jobs)
        (found,) = solve(problem, self.resources.reporting(progress), self.settings)
        return found.network


@dataclass(frozen=True)
class _Fit:
    """Fits a clone of any learner, to LocalScores if it reads them."""

    learner: Any
    X: Any
    given: dict[str, Any]
    columns: list[str | int]
    work: int = 1

    def network(self, weight: Floats, progress: Progress) -> GaussianBayesianNetwork:
        learner = clone(self.learner)
        if isinstance(self.X, LocalScores):
            sample = self.X.sample.weighted(weight)
            learner.fit(self.X._with_sample(sample, n_jobs=learner.n_jobs), **self.given)
        else:
            learner.fit(self.X, **self.given, sample_weight=weight)
        progress.advance(self.work)
        return fitted_network(learner, self.columns)


def check_takes_weight(learner: Any) -> None:
    """Raise unless the `fit` of a learner takes row weights."""
    if isinstance(learner, Pipeline) and not get_config()["enable_metadata_routing"]:
        raise TypeError(
            "estimator is a Pipeline, whose fit takes no sample_weight. Put its transformers "
            "before the bootstrap, as in make_pipeline(transformer, BootstrapBNLearner(learner)), "
            "or enable metadata routing."
        )
    parameters = signature(learner.fit).parameters.values()
    takes_any = any(each.kind is Parameter.VAR_KEYWORD for each in parameters)
    if not takes_any and not has_fit_parameter(learner, "sample_weight"):
        raise TypeError(
            f"The fit of {type(learner).__name__} takes no sample_weight, and resamples are "
            "weights of the rows. Give its fit that parameter, and pass it to the learner within."
        )


def fitted_network(learner: Any, columns: list[str | int]) -> GaussianBayesianNetwork:
    """Return the network that a learner has found, with the columns in their order for nodes."""
    if not (hasattr(learner, "network_") or hasattr(learner, "dag_")):
        learner = fitted_step(learner, ("dag_",), _EXPECTED)
    network = getattr(learner, "network_", None)
    if isinstance(network, GaussianBayesianNetwork) and network.nodes == columns:
        return network
    found = learner.dag_ if network is None else getattr(network, "dag", network)
    check_dag(found, f"The network of {type(learner).__name__}")
    numbers: list[Any] = list(range(len(columns)))
    nodes: list[Any] = numbers if set(found) == set(numbers) else [*columns]
    if set(found) != set(nodes):
        raise ValueError(
            f"The network of {type(learner).__name__} has the nodes {[*found]}, which are not the "
            f"columns of X, {columns}. The learner must keep the columns; select or combine them "
            "before the bootstrap."
        )
    ordered: nx.DiGraph = nx.DiGraph()
    name = dict(zip(nodes, columns, strict=True))
    ordered.add_nodes_from((name[v], found.nodes[v]) for v in nodes)
    ordered.add_edges_from((name[a], name[b], data) for a, b, data in found.edges(data=True))
    return GaussianBayesianNetwork(ordered)


# Resamples


@dataclass(frozen=True)
class Resamples:
    """The networks that a learner finds in resamples of a table."""

    sample: Sample  # the rows
    draws: Draws
    refit: _SearchAgain | _Fit
    n_jobs: int | None  # how many resamples are fitted at the same time, by joblib's rules
    n_threads: int | None  # how many threads fit them; None if the user has chosen processes

    def networks(
        self, listeners: tuple[Listener, ...], deadline: float = math.inf
    ) -> tuple[list[GaussianBayesianNetwork], str]:
        """Return the networks of the first resamples, and what ended them early, or "".

        That is "time_limit", at the deadline by ``time.monotonic()``, or "Ctrl-C", which raises
        KeyboardInterrupt before there are two networks.
        """
        n = len(self.draws.seeds)
        found: list[GaussianBayesianNetwork] = []
        progress = Progress(n * self.refit.work, listeners, False, deadline)
        try:
            with without_warnings():
                if self.n_threads is None:
                    self._by_processes(progress, found)
                else:
                    arguments = [(number, progress) for number in range(n)]
                    run_all(self.n_threads, self._network, arguments, progress, found)
        except StoppedError:
            return found, "time_limit" if len(found) < n else ""
        except KeyboardInterrupt:
            if len(found) < _FEWEST_NETWORKS:
                raise
            return found, "Ctrl-C" if len(found) < n else ""
        return found, ""

    def _by_processes(self, progress: Progress, found: list[GaussianBayesianNetwork]) -> None:
        tasks = (delayed(self._network_elsewhere)(i) for i in range(len(self.draws.seeds)))
        backend, _ = get_active_backend()
        if not getattr(backend, "supports_return_generator", False):
            found += Parallel(n_jobs=self.n_jobs)(tasks)
            progress.advance(self.refit.work * len(found))
            return
        with closing(Parallel(n_jobs=self.n_jobs, return_as="generator")(tasks)) as results:
            for network in results:
                found.append(network)
                progress.advance(self.refit.work)

    def _network_elsewhere(self, number: int) -> GaussianBayesianNetwork:
        with without_warnings():
            return self._network(number, Progress())

    def _network(self, number: int, progress: Progress) -> GaussianBayesianNetwork:
        weight = self.draws.weight(number, self.sample)

        def explain(error: ValueError) -> str:
            return (
                f"Resample {number + 1} of {len(self.draws.seeds)}, which has "
                f"{np.count_nonzero(weight)} of the {len(weight)} rows, cannot be fitted. {error} "
                "All rows together can be: resamples with more of them, such as those of "
                "replace=False and sample_fraction=0.9, fail less often, labels in stratify for "
                'rare values draw rows of each, and criterion="bge" fits any rows without holes.'
            )

        return explained(lambda: self.refit.network(weight, progress), explain)


def plan_resamples(
    learner: Any,
    X: Any,
    given: dict[str, Any],
    sample: Sample,
    columns: list[str | int],
    draws: Draws,
    n_jobs: int | None,
    start: list[int] | None = None,
) -> Resamples:
    """Decide how resamples are fitted, and how many of them at the same time.

    `X`: LocalScores for a learner that reads them; else what the learner is fitted to
    `given`: what else the learner is fitted to: y, interventions
    `start`: the masks of the parents in a network from which the order searches start
    """
    backend, _ = get_active_backend(prefer="threads")
    in_threads = getattr(backend, "supports_sharedmem", False)
    n_threads, n_resamples = count_threads(n_jobs), len(draws.seeds)
    n_at_a_time = min(n_threads, n_resamples)
    refit: _SearchAgain | _Fit
    if isinstance(X, BaseScores):
        # A copy without log-determinants: those of all rows cannot be used for a resample.
        problem = problem_of(X, constraints_of(learner, X))
        problem = problem.of_sample(problem.scores.sample)
        resources, settings = learner._resources(), search_settings(learner)
        if start is not None and not settings.is_exact:
            settings = settings._replace(start=tuple(start))
        resources = replace(resources, announce=None, progress=Progress())
        if in_threads:
            n_at_a_time = searches_at_a_time(problem, resources, n_threads, n_resamples, settings)
        resources = resources.share(n_at_a_time)
        if type(learner).fit is GaussianBNLearner.fit:
            resources = resources.with_jobs(learner.n_jobs or max(1, n_threads // n_at_a_time))
            work = work_of(problem, resources, settings)
            refit = _SearchAgain(problem, resources, work, settings)
        else:
            most = resources.available if resources.allowed is None else resources.allowed
            learner = clone(learner).set_params(max_memory=most)
            refit = _Fit(_for_resamples(learner), problem.scores, given, columns)
    else:
        refit = _Fit(_for_resamples(learner), X, given, columns)
    return Resamples(sample, draws, refit, n_jobs, n_at_a_time if in_threads else None)


def _for_resamples(learner: Any) -> Any:
    """Return a clone that takes one thread wherever it has no number of its own, and is silent."""
    learner = clone(learner)
    settings: dict[str, Any] = {}
    for name, value in learner.get_params().items():
        own_name = name.split("__")[-1]
        if own_name == "n_jobs" and value is None:
            settings[name] = 1
        elif own_name == "verbose":
            settings[name] = False
    return learner.set_params(**settings)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Ignore warnings of learners, which the fit to all rows has given already."""
    with warnings.catch_warnings():
        for category in (DataWarning, MaxParentsWarning, PenaltyRangeWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", category)
        # joblib's, of an interrupted bootstrap
        warnings.filterwarnings("ignore", ".* tasks .* successfully executed +but not used")
        yield

"""The networks of resamples of a table. A resample is a weight for each row, and copies no rows."""

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

from skbn._core.arrays import Floats
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
from skbn._data.sample import Sample
from skbn._displays.display import fitted_step
from skbn._estimators.draws import Draws
from skbn._estimators.fitting import constraints_of, network_of, search_settings
from skbn._estimators.learner import GaussianBNLearner
from skbn._estimators.learner_cv import searches_at_a_time
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.base import BaseScores
from skbn._scores.criteria import BGe
from skbn._scores.local_scores import LocalScores
from skbn._solver.engines import SearchSettings
from skbn._solver.problem import Problem
from skbn._solver.solve import problem_of, solve, work_of
from skbn.exceptions import DataWarning, MaxParentsWarning, PenaltyRangeWarning

# The share of rows that an error proposes to draw without replacement.
_LARGE_FRACTION = 0.9
# A resample of many may draw none of so few rows.
_FEW_ROWS = 10
# With fewer, an interrupted bootstrap has no result.
_FEWEST_NETWORKS = 2
_EXPECTED = "a learner with a network_ or a dag_ after fit, or a pipeline or a search of one"


# How a learner is fitted to the rows with other weights


# Either can be sent to other processes. A fit advances the progress by `work`.


@dataclass(frozen=True)
class _Search:
    """Does only what a fit of a GaussianBNLearner does again for each resample: the search."""

    problem: Problem
    resources: Resources
    work: int
    settings: SearchSettings

    def network(self, weight: Floats, progress: Progress) -> GaussianBayesianNetwork:
        sample = self.problem.scores.sample
        resample = sample.weighted(weight)
        problem = self.problem.of_sample(resample, self.resources.n_jobs)
        (solution,) = solve(problem, self.resources.reporting(progress), self.settings)
        return network_of(solution)


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
    name = type(learner).__name__
    if not hasattr(learner, "fit"):
        raise TypeError(f"estimator must have a fit method; got {name}.")
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
            f"The fit of {name} takes no sample_weight, and resamples are weights of the rows. "
            "Give its fit that parameter, and pass it to the learner within."
        )


def fitted_network(learner: Any, columns: list[str | int]) -> GaussianBayesianNetwork:
    """Return the network that a learner has found, with the columns for its nodes, in their order.

    Raises
    ------
    TypeError
        If it has found no network.
    ValueError
        If the nodes are neither the columns nor their numbers.
    """
    if not (hasattr(learner, "network_") or hasattr(learner, "dag_")):
        learner = fitted_step(learner, "dag_", _EXPECTED)
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
    """The networks that a learner finds in resamples of a table.

    Parameters
    ----------
    sample : Sample
        The rows.
    columns : list of str or int
        The names of the nodes.
    draws : Draws
    refit : _Search or _Fit
    n_jobs : int or None
        How many resamples are fitted at the same time, by joblib's rules.
    n_threads : int or None
        How many threads fit them; None if the user has chosen processes.
    """

    sample: Sample
    columns: list[str | int]
    draws: Draws
    refit: _Search | _Fit
    n_jobs: int | None
    n_threads: int | None

    def networks(
        self, listeners: tuple[Listener, ...], deadline: float = math.inf
    ) -> tuple[list[GaussianBayesianNetwork], str]:
        """Return the networks of the first resamples, and what ended them early, or "".

        That is "time_limit", at the deadline by ``time.monotonic()``, or "Ctrl-C". The number of
        threads does not change a bit of the networks.

        Raises
        ------
        ValueError
            As a fit of the learner, with the number of the resample.
        KeyboardInterrupt
            If Ctrl-C comes before there are two networks.
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
                f"All rows together can be fitted{self._remedy(weight)}"
            )

        return explained(lambda: self.refit.network(weight, progress), explain)

    def _remedy(self, weight: Floats) -> str:
        """Say what may let all resamples be fitted that has not been done yet."""
        draws, rows, nodes = self.draws, self.sample.rows, self.sample.nodes
        single_rows = draws.block_length == 1 and draws.groups is None
        drawn = rows[weight > 0]
        is_constant = np.fmin.reduce(drawn) == np.fmax.reduce(drawn)
        if is_constant.any():  # also name columns that are constant in other resamples
            others = ((rows != np.nanmedian(rows, axis=0)) & ~np.isnan(rows)).sum(axis=0)
            is_constant |= others <= min(_FEW_ROWS, len(rows) // 4)
        if nodes is not None:
            is_constant = np.logical_or.reduceat(is_constant, nodes.starts[:-1])
        columns = [self.columns[x] for x in np.flatnonzero(is_constant)]
        remedies = []
        if columns and single_rows:
            call = f"fit(X, stratify={self._labels_of(columns)})"
            remedies.append(f"{call} draws rows of each value of {', '.join(map(repr, columns))}")
        elif single_rows and (draws.replace or draws.fraction < _LARGE_FRACTION):
            remedies.append(
                "resamples with more of the rows, such as those of replace=False and "
                f"sample_fraction={_LARGE_FRACTION}, fail less often"
            )
        scorer = self.refit.problem.scorer if isinstance(self.refit, _Search) else None
        if scorer and self.sample.is_complete and not isinstance(scorer.criterion, BGe):
            remedies.append('criterion="bge" fits such resamples')
        return f": {', or '.join(remedies)}." if remedies else "."

    def _labels_of(self, columns: list[str | int]) -> str:
        """Return the code of labels that say which values a row has in some columns of X."""
        values = [
            f"X[{name!r}]" if isinstance(name, str) else f"numpy.asarray(X)[:, {name}]"
            for name in columns
        ]
        if len(self.draws.strata) > 1:
            values.insert(0, "labels")
        if len(values) == 1 and self.sample.is_complete:
            return values[0]
        together = values[0] if len(values) == 1 else f"zip({', '.join(values)})"
        return f"[str(value) for value in {together}]"


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

    Parameters
    ----------
    learner : estimator
        If it does not say how many threads a fit takes, it is one while resamples are fitted at
        the same time.
    X : object
        LocalScores for a learner that reads them; else what the learner is fitted to.
    given : dict
        What else the learner is fitted to: y, interventions.
    sample : Sample
        The rows of X.
    columns : list of str or int
    draws : Draws
    n_jobs : int or None
    start : list of int, optional
        The masks of the parents in a network from which the order searches start.
    """
    backend, _ = get_active_backend(prefer="threads")
    in_threads = getattr(backend, "supports_sharedmem", False)
    n_threads, n_resamples = count_threads(n_jobs), len(draws.seeds)
    n_at_a_time = min(n_threads, n_resamples)
    refit: _Search | _Fit
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
            refit = _Search(problem, resources, work, settings)
        else:
            most = resources.available if resources.allowed is None else resources.allowed
            learner = clone(learner).set_params(max_memory=most)
            refit = _Fit(_for_resamples(learner), problem.scores, given, columns)
    else:
        refit = _Fit(_for_resamples(learner), X, given, columns)
    return Resamples(sample, columns, draws, refit, n_jobs, n_at_a_time if in_threads else None)


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

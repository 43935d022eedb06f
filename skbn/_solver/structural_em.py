"""Structural EM: the network whose observed values have the highest penalised likelihood.

The score of a network is the log-likelihood of what is observed, at its maximum over parameters,
less the criterion's cost. No search proves its maximum. What comes near it are exact lists: the
best equivalence classes by what EM of the saturated model expects of the holes. These searches
count only as many rows as the two columns have that are observed together least; with all rows they
would take expected values for observed ones. Each class is then scored by an EM of its own. What EM
expects under the best of them makes the next list, until a list brings nothing better.

Then all rows are searched as EM expects them. A network that scores higher on these also has a
higher observed score (Friedman 1997, "Learning belief networks in the presence of missing values
and hidden variables"). At the end each edge is left out in turn.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from skbn._core.compile import compile_kernels
from skbn._core.graphs import Dag
from skbn._core.resources import ENDED_BY_TIME, Progress, Resources, one_blas_thread, run_all
from skbn._core.subsets import members_of
from skbn._core.text import internal_error
from skbn._missing.em import Estimate
from skbn._missing.em_kernels import maximise_likelihood
from skbn._networks.descriptions import score_losses
from skbn._regressions.set_function import SCORE_ACCURACY
from skbn._solver.engines import SearchSettings
from skbn._solver.incomplete_problem import COARSE, Expectation, IncompleteProblem
from skbn._solver.near_optimal import near_optimal
from skbn._solver.planner import Plan, plan_searches
from skbn._solver.problem import Found, Problem, Shape

# What `solve` does.
Search = Callable[[Problem, Resources, SearchSettings], list[Found]]

# The number of lists that the progress assumes; there are rarely more.
_LISTS = 3


class Candidate(NamedTuple):
    """A network whose observed values were scored, by an EM of its own."""

    parents: list[int]
    score: float  # in nats
    estimate: Estimate  # its parameters
    searched: float = np.nan  # the score by which it was listed; NaN if it was found in another way
    list_number: int = 0  # in which list it was first, from 0 on, or before which list it was found


class EMRecord(NamedTuple):
    """What structural EM tells of itself."""

    expected: Problem  # the problem of complete rows, as EM expects them under the network
    expectation: Expectation  # makes the same problem for another candidate
    candidates: list[Candidate]  # the best first
    listed: list[Candidate]  # each class once, the network found first
    remarks: list[str]  # what to warn of
    n_effective: float  # the number of rows of the searches that made lists of candidates
    # the observed-data score of the best network of the first list, and of each better one
    scores: list[float]


def structural_em(
    problem: IncompleteProblem, resources: Resources, settings: SearchSettings, search: Search
) -> Found:
    """Return the network with the highest observed-data score that was found.

    `resources`: a time limit ends it after the step that it falls in
    `search`: `solve`

    Raises ValueError, as `solve`, and if the likelihood is unbounded, naming a column.
    """
    _compile(problem, resources, settings)
    resources = resources.from_now()
    resources.progress.expect(work_of_em(settings))
    with one_blas_thread():
        em = _StructuralEM(problem, resources, settings, search)
        best = em.best_of_list(em.saturated)
        scores = [best.score]
        while not resources.is_over:
            better = em.better(best)
            if better is None:
                return em.found(best, scores, is_finished=not resources.is_over)
            best = better
            scores.append(best.score)
        return em.found(best, scores, is_finished=False)


class _StructuralEM:
    """Lists networks, and scores them by EM of their parameters.

    `saturated`: the estimate of the saturated model
    """

    def __init__(
        self,
        problem: IncompleteProblem,
        resources: Resources,
        settings: SearchSettings,
        search: Search,
    ) -> None:
        self._problem = problem
        self._resources = resources
        self._silent = replace(resources, announce=None, progress=Progress(), cluster=None)
        self._settings = settings
        self._search = search
        self._log_units = problem.rows.log_units()
        self._candidates: list[Candidate] = []
        self._n_lists = 0
        self._reduced_from: tuple[Candidate | None, dict[tuple[int, int], Candidate]] = None, {}
        self.saturated = problem.saturated(self._is_over_in_first_step)
        self._priced = problem.expected(self.saturated)
        self._free = self._priced.with_penalties([0.0])[0]

    def _is_over(self) -> bool:
        return self._resources.is_over

    def _is_over_in_first_step(self) -> bool:
        self._resources.progress.tell("EM of all columns together, before the first list")
        return self._is_over()

    # Networks

    def better(self, best: Candidate) -> Candidate | None:
        """Return a network with a higher score, if one of three ways finds one."""
        ways: tuple[Callable[[], Candidate], ...] = (
            lambda: self.best_of_list(best.estimate),
            lambda: self._searched(best),
            lambda: self._without_an_edge(best),
        )
        for way in ways:
            found = way()
            if found.score > best.score + self._settings.tolerance:
                return found
        return None

    def best_of_list(self, statistics: Estimate) -> Candidate:
        """Return the best of the classes that are listed by these expected rows."""
        parents, searched = self._listed(statistics)
        tried = {tuple(each.parents) for each in self._candidates}
        new = [i for i, each in enumerate(parents) if tuple(each) not in tried]
        scored = self._scored([parents[i] for i in new], statistics)
        for i, each in zip(new, scored, strict=True):
            if each is not None:
                self._keep(each, searched[i])
        self._n_lists += 1
        best = max(self._candidates, key=lambda each: each.score)
        if self._resources.announce is not None:
            self._resources.announce(
                f"list {self._n_lists} of {self._problem.n_effective:g} rows: {len(new)} "
                f"candidates more, best observed score {best.score:.3f}"
            )
        begin = next(
            (each.estimate for each in scored if each is not None and each.parents == best.parents),
            statistics,
        )
        return self._em(best.parents, begin, self._settings.tolerance)

    def _listed(self, statistics: Estimate) -> tuple[list[list[int]], list[float]]:
        """Return the best equivalence classes and their scores, or only the best network.

        That is all there is after an order search, and where a list does not fit in memory or is
        only known after a proof, which might take all the time that there is.
        """
        problem = self._problem.expected(statistics, effective=True)
        settings, resources = self._settings, self._silent
        if settings.is_exact and _plan_of_list(problem.read(), resources) is not None:
            n = settings.n_candidates
            near = near_optimal(problem, resources, n=n, within=None, equivalence_classes=True)
            return near.parents, near.scores.tolist()
        (found,) = self._search(problem, resources, settings)
        return [found.parents], [found.score]

    def _searched(self, best: Candidate) -> Candidate:
        """Return the best network of all rows as EM expects them, or the same one."""
        expected = self._problem.expected(best.estimate)
        (found,) = self._search(expected, self._silent, self._settings)
        if _score(expected, found.parents) <= _score(expected, best.parents):
            return best
        scored = self._em(found.parents, best.estimate, self._settings.tolerance)
        self._keep(scored)
        return scored

    def _without_an_edge(self, best: Candidate) -> Candidate:
        """Return the best network that has one edge less, or the same one if it has none."""
        required = self._problem.constraints.required
        others = [each for (a, b), each in self._reduced(best).items() if not required[b] >> a & 1]
        if not others:
            return best
        found = max(others, key=lambda each: each.score)
        if found.score <= best.score + self._settings.tolerance:
            return found
        scored = self._em(found.parents, found.estimate, self._settings.tolerance)
        self._keep(scored)
        return scored

    def _reduced(self, best: Candidate) -> dict[tuple[int, int], Candidate]:
        """Return the networks without one of the edges, by this edge's parent and child.

        Those for which no time is left are not there.
        """
        if self._reduced_from[0] is not best:
            edges = [(a, b) for b, mask in enumerate(best.parents) for a in members_of(mask)]

            def reduce(a: int, b: int) -> Candidate | None:
                if self._is_over():
                    return None
                without = [*best.parents]
                without[b] &= ~(1 << a)
                return self._em(without, best.estimate, COARSE)

            found = run_all(self._resources.n_threads, reduce, edges, Progress())
            scored = {
                edge: each for edge, each in zip(edges, found, strict=True) if each is not None
            }
            self._reduced_from = best, scored
        return self._reduced_from[1]

    def _keep(self, scored: Candidate, searched: float = np.nan) -> None:
        own = scored._replace(searched=searched, list_number=self._n_lists)
        self._candidates.append(own)

    # Scores

    def _scored(self, networks: list[list[int]], begin: Estimate) -> list[Candidate | None]:
        """Return the scores of networks; None for those for which no time is left."""
        resources = self._resources

        def score(i: int) -> Candidate | None:
            if resources.is_over and (i or self._candidates):
                return None
            scored = self._em(networks[i], begin, COARSE)
            if self._n_lists < _LISTS:
                resources.progress.advance(1)
            return scored

        arguments = [(i,) for i in range(len(networks))]
        # With a progress of their own: the caller of the search may yet explain an error.
        return run_all(resources.n_threads, score, arguments, Progress())

    def _em(self, parents: list[int], begin: Estimate, tolerance: float) -> Candidate:
        """Return the parameters and the observed-data score of a network."""
        found = self._problem.estimate(parents, begin, tolerance, self._is_over)
        score = found.log_likelihood - self._log_units - self._cost(parents)
        return Candidate(parents, score, found)

    def _cost(self, parents: list[int]) -> float:
        """Return what the criterion takes from the log-likelihood of a network, in nats."""
        return _score(self._free, parents) - _score(self._priced, parents)

    # The result

    def found(self, best: Candidate, scores: list[float], *, is_finished: bool) -> Found:
        """Return a network with the parameters that maximise its expected likelihood."""
        problem, parents = self._problem, best.parents
        expected = problem.expected(best.estimate)
        model = expected.model(parents)
        score = problem.log_likelihood(model) - self._cost(parents)
        # EM may end short of the maximum, by about its tolerance; rounding adds to this.
        accuracy = SCORE_ACCURACY + 2 * (self._settings.tolerance + problem.rounding(model))
        # A time limit may end EM on its way up: the model's own score is that of one step more.
        if not (abs(score - best.score) <= accuracy or (score > best.score and not is_finished)):
            raise internal_error(
                f"the score of the observed values is {best.score:.9g} by EM and {score:.9g} by "
                "independent regressions"
            )
        # The observed score of a network without an edge falls by no more than its expected score,
        # as each step of EM shows: that is all that is known of edges for which no time is left.
        losses = score_losses(Dag(expected.names, parents, [0] * len(parents)), expected.scores)
        for edge, without in self._reduced(best).items():
            losses[edge] = best.score - without.score
        candidates = sorted(self._candidates, key=lambda each: -each.score)
        listed = {tuple(parents): best._replace(score=score)}
        for each in candidates:
            listed.setdefault(tuple(each.parents), each)
        n_told = sum(each.list_number < _LISTS for each in self._candidates)
        self._resources.progress.advance(work_of_em(self._settings) - n_told)
        return Found(
            parents,
            score,
            gap=np.inf,
            n_iter=len(scores) - 1,
            why_ended="" if is_finished else ENDED_BY_TIME,
            network=expected.network(parents, is_observed=False, losses=losses, model=model),
            model=model,
            em=EMRecord(
                expected,
                problem.expectation,
                candidates,
                [*listed.values()],
                problem.remarks(),
                problem.n_effective,
                scores,
            ),
        )


def _compile(problem: IncompleteProblem, resources: Resources, settings: SearchSettings) -> None:
    """Compile at once what EM and the searches call, so that users are told the whole time."""
    shape = problem.read()
    plan = _plan_of_list(shape, resources) if settings.is_exact else None
    if plan is None:
        plan = plan_searches(shape, resources, settings)
    compile_kernels([maximise_likelihood, *plan.kernels])


def _plan_of_list(shape: Shape, resources: Resources) -> Plan | None:
    """Return the plan of a list of networks.

    It is None if the list does not fit in memory, or needs a proof that takes a time limit.
    """
    unlimited = replace(resources, time_limit=None)
    try:
        return plan_searches(shape, unlimited, SearchSettings(lists_networks=True))
    except ValueError:
        return None


def work_of_em(settings: SearchSettings) -> int:
    """Return by how much structural EM advances the progress."""
    return _LISTS * settings.n_candidates


def _score(problem: Problem, parents: Sequence[int]) -> float:
    return float(np.sum(problem.network_terms(parents)))

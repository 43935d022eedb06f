"""solve: read the rows, plan the search for the best network, run it, and certify its network.

The constraints cut the columns into groups, each of which is a search of its own (see
`Constraints.groups`).
"""

from collections.abc import Iterator, Sequence
from functools import singledispatch

import numpy as np

from skbn._core.compile import compile_kernels
from skbn._core.exact_sums import upper_sum
from skbn._core.resources import Resources, duration, one_blas_thread
from skbn._core.subsets import members_of
from skbn._scores.base import BaseScores
from skbn._scores.environment_scores import EnvironmentScores
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._solver.certificate import certify_constraints
from skbn._solver.constraints import Constraints
from skbn._solver.engines import EXACT, GroupSearch, SearchSettings, in_table
from skbn._solver.incomplete_problem import IncompleteProblem
from skbn._solver.listed_problem import ListedProblem
from skbn._solver.planner import LONG, Plan, expected_seconds, plan_searches
from skbn._solver.problem import Found, Problem
from skbn._solver.structural_em import structural_em, work_of_em
from skbn._solver.target_problem import TargetProblem


@singledispatch
def problem_of(scores: BaseScores, constraints: Constraints) -> Problem:
    """Return the problem of finding the best network by some scores, within constraints."""
    raise TypeError(f"There is no kind of Problem for {type(scores).__name__}; register one here.")


@problem_of.register
def _of_table(scores: LocalScores, constraints: Constraints) -> Problem:
    if scores.scorer.targets:
        # A column that is not modelled may have been set in all rows.
        outside = members_of(constraints.exogenous)
        scores = scores._of_rows(lambda sample: sample.never_set(outside))
    if all(each.sample.is_complete for each in scores._summands):
        return Problem(scores, constraints)
    problem = IncompleteProblem(scores, constraints)
    problem.require_likelihood()
    return problem


problem_of.register(ParentSetScores, ListedProblem)
problem_of.register(EnvironmentScores, TargetProblem)


def solve(
    problem: Problem,
    resources: Resources,
    settings: SearchSettings = EXACT,
    penalties: Sequence[float] | None = None,
) -> list[Found]:
    """Return the best network of a problem, for each of some penalties.

    `resources`: their progress is advanced by the plan's work. A time limit holds for each penalty.
    `settings`: by default the search is exact
    `penalties`: those of a table's scores, which share their log-determinants; by default the
        scores' own

    Raises ValueError if a search does not fit in memory (the message says what to do), or if no
    network that satisfies the constraints has a finite score; RuntimeError if independent
    regressions do not confirm the result of the search; ImportError if branch and cut is needed,
    and highspy is not installed.
    """
    if isinstance(problem, IncompleteProblem):
        incomplete = [problem] if penalties is None else problem.with_penalties(penalties)
        return [structural_em(each, resources, settings, solve) for each in incomplete]
    shape = problem.read()
    plan = plan_searches(shape, resources, settings)
    path = [problem] if penalties is None else problem.with_penalties(penalties)
    optima = _search(path, plan, resources)
    return [
        _certified(each, optimum, settings.tolerance)
        for each, optimum in zip(path, optima, strict=True)
    ]


def work_of(
    problem: Problem, resources: Resources, settings: SearchSettings, n_penalties: int = 1
) -> int:
    """Return by how much `solve` advances the progress."""
    if isinstance(problem, IncompleteProblem):
        return n_penalties * work_of_em(settings)
    return plan_searches(problem.read(), resources, settings).work(n_penalties)


def _search(path: Sequence[Problem], plan: Plan, resources: Resources) -> list[Found]:
    """Announce the plan, and return the best network of each of some problems."""
    if resources.announce is not None:
        time = _expected_time(plan, len(path), resources) if resources.cluster is None else ""
        resources.announce(f"{plan}{time}")
    compile_kernels(plan.kernels)
    resources.progress.expect(plan.work(len(path)))
    if not plan.heeds_time_limit:
        return _best_networks(path, plan, resources)
    return [
        optimum for each in path for optimum in _best_networks([each], plan, resources.from_now())
    ]


def _expected_time(plan: Plan, n_penalties: int, resources: Resources) -> str:
    """Return about how long a long dynamic program takes on a usual machine, in words."""
    n_threads = resources.n_threads
    seconds = expected_seconds(plan.work(n_penalties), resources)
    if plan.heeds_time_limit or seconds < LONG:
        return ""
    of_threads = f"{n_threads} threads" if n_threads > 1 else "one thread"
    return f", perhaps {duration(seconds)} with {of_threads}"


def _best_networks(path: Sequence[Problem], plan: Plan, resources: Resources) -> list[Found]:
    """Return the best network of each problem, put together from its groups' networks."""
    first = path[0]
    if plan.shared_work:
        first.prepare(resources.progress)
    m = len(first.constraints.allowed)
    found: list[Found | None] = [None] * len(path)
    for search, own in _in_turn(plan.searches, resources):
        search.begin(first, own)
    for search, own in _in_turn(plan.searches, resources):
        for i, problem in enumerate(path):
            optimum = search.optimum(problem, own)
            if optimum.score == -np.inf:
                names = [first.names[x] for x in search.columns]
                if not optimum.why_ended:
                    what, may = f"No acyclic network of the columns {names} has a finite score", ""
                else:
                    what = f"Found no acyclic network of the columns {names} with a finite score"
                    may = "may "
                raise ValueError(
                    f"{what}: the constraints, the criterion or the lack of listed families {may}"
                    "rule all out. Relax these."
                )
            of_all = optimum._replace(parents=in_table(search.columns, optimum.parents, m))
            before = found[i]
            found[i] = of_all if before is None else _joined(before, of_all)
    return [optimum for optimum in found if optimum is not None]


def _in_turn(
    searches: Sequence[GroupSearch], resources: Resources
) -> Iterator[tuple[GroupSearch, Resources]]:
    """Yield searches with their resources; those that heed a time limit first, and share it."""
    timed = [search for search in searches if search.heeds_time_limit]
    n_left = sum(len(search.columns) for search in timed)
    for search in timed:
        yield search, resources.of_share(len(search.columns) / n_left)
        n_left -= len(search.columns)
    yield from ((search, resources) for search in searches if not search.heeds_time_limit)


def _certified(problem: Problem, found: Found, tolerance: float) -> Found:
    """Return the network that was found, if regressions of their own confirm it.

    `tolerance` is the gap that a network that is called optimal may have, in nats.
    """
    if found.rounding > tolerance:
        found = found._replace(gap=upper_sum([found.gap, found.rounding]))
    certify_constraints(problem.names, problem.constraints, found.parents)
    with one_blas_thread():
        certified = problem.certified(found)
    return certified._replace(is_optimal=found.gap <= tolerance)


def _joined(one: Found, other: Found) -> Found:
    """Return what two groups of columns make together, each with parents in the masks of all."""
    return Found(
        [a | b for a, b in zip(one.parents, other.parents, strict=True)],
        one.score + other.score,
        upper_sum([one.gap, other.gap]),
        upper_sum([one.rounding, other.rounding]),
        one.n_iter + other.n_iter,
        one.n_nodes + other.n_nodes,
        one.why_ended or other.why_ended,
        one.is_settled and other.is_settled,
        _sum_of_losses(one.start_losses, other.start_losses),
    )


def _sum_of_losses(
    one: tuple[float, ...] | None, other: tuple[float, ...] | None
) -> tuple[float, ...] | None:
    """Return how much lower the starts of two groups score together: the best, the second, ...

    An exact search counts as one start; the last start of a group stands for those it lacks.
    """
    if one is None or other is None:
        return one or other
    n = max(len(one), len(other))
    padded = ((*each, *[each[-1]] * (n - len(each))) for each in (one, other))
    return tuple(map(sum, zip(*padded, strict=True)))

"""solve: plan the search for the best network, run it, and certify what it found.

The constraints cut the columns into groups, each of which is a search of its own (see
`Constraints.groups`). For each group the exact engine is taken that fits in memory and takes least
time, unless the order search is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from skbn._core.compile import compile_kernels
from skbn._core.graphs import dag_of
from skbn._core.resources import MARGIN, Listener, Progress, one_blas_thread
from skbn._core.text import rounded_up
from skbn._exact.plan import TooLargeError, what_would_fit
from skbn._networks.edge_table import score_losses
from skbn._networks.equivalence import canonical_member
from skbn._networks.gaussian import LinearGaussianModel, estimate_model
from skbn._scores.criteria import Criterion
from skbn._scores.criterion_checks import is_score_equivalent
from skbn._scores.families import SmallFamilies
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._solver.certificate import (
    certify_constraints,
    certify_listed_network,
    certify_network,
    certify_score,
)
from skbn._solver.constraints import Constraints, Group
from skbn._solver.engines import (
    Engine,
    GroupSearch,
    MemoryLimit,
    Optimum,
    Scores,
    plan_dense_search,
    plan_listed_search,
)
from skbn._solver.order_engine import OrderSettings, plan_order_search

__all__ = ["Plan", "Solution", "plan_searches", "solve"]

# Of engines that would take equally long, the first is used.
ENGINES: tuple[Engine, ...] = (plan_listed_search, plan_dense_search)
# The way out for tables beyond the exact search.
_NOT_EXACT = (
    ' Or set search="order", as in GaussianBNLearner(search="order"): its network has a very high '
    "score, but is not proven to be the best."
)


@dataclass(frozen=True)
class Solution:
    """The network that a search found, certified.

    Parameters
    ----------
    columns : list of m str or int
    parents : list of m int
        The mask of each column's parents.
    fixed : list of m int
        The masks of those parents whose edges the constraints do not let one reverse.
    score : float
        In nats.
    criterion : Criterion or None
        The criterion that it maximises; None for ParentSetScores.
    model : LinearGaussianModel or None
        The network with its parameters. None for ParentSetScores, which have no rows.
    score_losses : ndarray of shape (m, m)
        ``score_losses[i, j]`` is by how many nats the score is lower without the edge i -> j, as
        `GaussianBayesianNetwork.to_frame` defines it; NaN without an edge.
    is_optimal : bool
        Whether it is proven that no network within the constraints has a higher score.
    n_iter : int
        How many perturbed orders the order search started from again; 0 for an exact search.
    """

    columns: list[str | int]
    parents: list[int]
    fixed: list[int]
    score: float
    criterion: Criterion | None
    model: LinearGaussianModel | None
    score_losses: npt.NDArray[np.float64]
    is_optimal: bool
    n_iter: int

    @property
    def score_bound(self) -> float:
        """A score that no network within the constraints exceeds; infinite if none is known."""
        return self.score if self.is_optimal else math.inf


@dataclass(frozen=True)
class Plan:
    """The searches of all groups of columns.

    Parameters
    ----------
    searches : list of GroupSearch
    """

    searches: list[GroupSearch]

    def __str__(self) -> str:
        largest = max(self.searches, key=lambda search: search.n_bytes)
        n = len(self.searches)
        return f"{n} searches, the largest: {largest}" if n > 1 else str(largest)

    @property
    def kernels(self) -> list[Any]:
        """The kernels that the searches call, for `compile_kernels`."""
        return [kernel for search in self.searches for kernel in search.kernels]

    @property
    def shared_work(self) -> int:
        """The work of the log-determinants of all small sets, 0 if no search needs them."""
        return max(search.shared_work for search in self.searches)

    def work(self, n_penalties: int = 1) -> int:
        """Return about how long it takes, in units of one local score of a dense search."""
        return self.shared_work + sum(search.work(n_penalties) for search in self.searches)


def solve(
    scores: Scores,
    constraints: Constraints,
    memory: MemoryLimit,
    *,
    penalties: Sequence[float] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    listeners: tuple[Listener, ...] = (),
    announce: Callable[[str], None] | None = None,
    order: OrderSettings | None = None,
) -> list[Solution]:
    """Return the best network within constraints, for each of some penalties.

    Parameters
    ----------
    scores : LocalScores or ParentSetScores
    constraints : Constraints
    memory : MemoryLimit
    penalties : sequence of float, optional
        Those of LocalScores, which share their log-determinants; by default the scores' own.
    n_jobs : int or None
        Number of threads, by joblib's rules. It does not change a bit of the result.
    progress : Progress, optional
        Advanced by the plan's work; by default a new one.
    listeners : tuple of callable
        Called with the progress, if `progress` is not given.
    announce : callable, optional
        Called with the plan in words before the search begins.
    order : OrderSettings, optional
        With these, the order search is used, whose networks are not proven to be the best. Its
        time limit holds for each penalty.

    Raises
    ------
    ValueError
        If a search does not fit in memory (the message says what would), or if no network that
        satisfies the constraints has a finite score.
    RuntimeError
        If independent regressions do not confirm the result of the search.
    """
    plan = plan_searches(scores, constraints, memory, order, n_jobs=n_jobs)
    if announce is not None:
        announce(str(plan))
    compile_kernels(plan.kernels, verbose=announce is not None)
    path = [scores]
    if penalties is not None and isinstance(scores, LocalScores):
        path = [scores.with_penalty(penalty) for penalty in penalties]
    if progress is None:
        progress = Progress(plan.work(len(path)), listeners)
    if order is None:
        optima = _best_networks(path, plan, n_jobs, progress)
    else:
        optima = []
        for each in path:
            plan = plan_searches(each, constraints, memory, order.from_now(), n_jobs=n_jobs)
            optima += _best_networks([each], plan, n_jobs, progress)
    return [_certified(*each, constraints) for each in zip(path, optima, strict=True)]


# Plan


def plan_searches(
    scores: Scores,
    constraints: Constraints,
    memory: MemoryLimit,
    order: OrderSettings | None = None,
    *,
    n_jobs: int | None = None,
    must_be_exact: bool = False,
) -> Plan:
    """Plan the search of each group of columns: exact ones, or order searches with `order`.

    Raises
    ------
    ValueError
        If a search does not fit in memory: what the largest one needs, and what would make all of
        them fit. An order search is among these remedies unless `must_be_exact`.
    """
    searches, refusals = [], []
    n_left = len(scores.columns)
    for group in constraints.groups:
        if order is not None:
            order = order._replace(share=len(group.columns) / n_left)
            n_left -= len(group.columns)
        try:
            is_trivial = len(group.columns) + len(group.others) == 1
            if order is None or is_trivial:
                search = _plan_group(scores, constraints, group, memory)
            else:
                search = plan_order_search(scores, constraints, group, memory, order, n_jobs)
            searches.append(search)
        except TooLargeError as error:
            refusals.append(error)
    if not refusals:
        return Plan(searches)
    largest = max(refusals, key=lambda error: error.plan.n_bytes)
    remedies = ", or ".join(_remedies(scores, constraints, memory))
    way_out = "" if must_be_exact or order is not None else _NOT_EXACT
    raise ValueError(f"{largest}. {remedies[:1].upper()}{remedies[1:]}.{way_out}")


def _plan_group(
    scores: Scores, constraints: Constraints, group: Group, memory: MemoryLimit
) -> GroupSearch:
    """Return the fastest search of a group; if none fits, raise the smallest TooLargeError."""
    searches, refusals = [], []
    for plan_search in ENGINES:
        try:
            search = plan_search(scores, constraints, group, memory)
        except TooLargeError as error:
            refusals.append(error)
        else:
            if search is not None:
                searches.append(search)
    if not searches:
        raise min(refusals, key=lambda error: error.plan.n_bytes)
    return searches[0] if len(searches) == 1 else min(searches, key=lambda each: each.cost())


def _remedies(scores: Scores, constraints: Constraints, memory: MemoryLimit) -> list[str]:
    """Say what would make all searches fit in memory; each remedy is enough."""
    n_bytes = available = int(MARGIN * memory.available)
    remedies = []
    if memory.allowed is not None and memory.allowed < memory.available:
        n_bytes = memory.allowed
        needed = _least_memory(scores, constraints)
        if needed <= available:
            remedies.append(f"raise max_memory to {rounded_up(needed)}")
    groups = [(len(group.columns), len(group.others)) for group in constraints.groups]
    if isinstance(scores, ParentSetScores):
        max_parents: int | None = 0  # their families are listed already
    else:
        families = scores.scorer.families
        max_parents = families.max_parents if isinstance(families, SmallFamilies) else None
    fewest = max(mask.bit_count() for mask in constraints.required)
    remedies += what_would_fit(len(constraints.allowed), groups, max_parents, fewest, n_bytes)
    return remedies or ["free some memory: there is too little for any search"]


def _least_memory(scores: Scores, constraints: Constraints) -> int:
    """Return the fewest bytes with which the search of each group fits."""
    least = 0
    for group in constraints.groups:
        try:
            _plan_group(scores, constraints, group, MemoryLimit(0, 0))
        except TooLargeError as error:
            least = max(least, error.plan.n_bytes)
    return least


# Search


def _best_networks(
    path: Sequence[Scores], plan: Plan, n_jobs: int | None, progress: Progress
) -> list[Optimum]:
    """Return the best network of each of some scores, put together from those of the groups."""
    first = path[0]
    if plan.shared_work and isinstance(first, LocalScores):
        first.scorer.log_determinants(progress)
    parents = [[0] * len(first.columns) for _ in path]
    totals, are_optimal, n_iter = [0.0] * len(path), [True] * len(path), [0] * len(path)
    for search in plan.searches:
        for i, optimum in enumerate(search.optima(path, n_jobs, progress)):
            if optimum.score == -np.inf:
                names = [first.columns[x] for x in search.columns]
                if optimum.is_optimal:
                    what, may = f"No acyclic network of the columns {names} has a finite score", ""
                else:
                    what = f"Found no acyclic network of the columns {names} with a finite score"
                    may = "may "
                raise ValueError(
                    f"{what}: the constraints, the criterion or the lack of listed families {may}"
                    "rule all out. Relax these."
                )
            for x, mask in zip(search.columns, optimum.parents, strict=True):
                parents[i][x] = mask
            totals[i] += optimum.score
            are_optimal[i] &= optimum.is_optimal
            n_iter[i] += optimum.n_iter
    return [Optimum(*each) for each in zip(parents, totals, are_optimal, n_iter, strict=True)]


# Certify


def _certified(scores: Scores, optimum: Optimum, constraints: Constraints) -> Solution:
    """Return the network that was found, with parameters if there are rows to estimate them from.

    Raises
    ------
    RuntimeError
        If independent regressions do not confirm the result of the search.
    """
    parents, searched, is_optimal, n_iter = optimum
    columns = scores.columns
    certify_constraints(columns, constraints, parents)
    with one_blas_thread():
        if not isinstance(scores, LocalScores):
            score = certify_score(scores, parents, searched)
            certify_listed_network(scores, constraints, parents)
            fixed = constraints.fixed(parents)
            losses = score_losses(dag_of(columns, parents), scores)
            return Solution(columns, parents, fixed, score, None, None, losses, is_optimal, n_iter)
        scorer = scores.scorer
        if constraints.is_free and is_score_equivalent(scorer.tables):
            parents = canonical_member(parents)
        score = certify_score(scores, parents, searched)
        fixed, divisors = constraints.fixed(parents), scorer.noise_divisors
        model = estimate_model(scorer.statistics, parents, columns, fixed=fixed, divisors=divisors)
        losses = certify_network(scores, constraints, parents, model.coef)
    criterion = scores.criterion
    return Solution(columns, parents, fixed, score, criterion, model, losses, is_optimal, n_iter)

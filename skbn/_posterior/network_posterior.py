"""network_posterior: the posterior of all networks, put together from those of groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import Floats
from skbn._core.compile import compile_kernels
from skbn._core.resources import Resources
from skbn._core.subsets import bits_of
from skbn._posterior.family_weights import WEIGHT_KERNELS
from skbn._posterior.group_posterior import (
    GroupPosterior,
    Summation,
    group_posterior,
    group_work,
    prior_sum,
)
from skbn._posterior.group_weights import flat_weights, weights_of_group
from skbn._posterior.listed_weights import LISTED_KERNELS
from skbn._posterior.network_sums import NETWORK_KERNELS
from skbn._posterior.order_sums import GAMMA_KERNELS, ORDER_KERNELS
from skbn._posterior.plan import PosteriorPlan, plan_posterior
from skbn._posterior.structure_prior import log_prior_sum
from skbn._regressions.local_score import internal_error
from skbn._regressions.log_determinants import walk_seeds
from skbn._scores.regression_families import SmallFamilies
from skbn._solver.constraints import Constraints
from skbn._solver.problem import Problem

__all__ = ["NetworkPosterior", "network_posterior", "with_known_paths"]


@dataclass(frozen=True)
class NetworkPosterior:
    """The posterior of all networks.

    Parameters
    ----------
    prior : {"uniform", "order"}
    groups : list of GroupPosterior
    edges : ndarray of shape (m, m), float64
        At [i, j], the probability of the edge i -> j.
    paths : ndarray of shape (m, m), float64, or None
        At [i, j], the probability of a directed path from i to j, NaN if i and j are in different
        groups; None for the order prior.
    log_sum : float
        The logarithm of the sum of the weights of all networks, in nats.
    log_prior_sum : float
        The same of their prior odds alone.
    constraints : Constraints
    log_odds : ndarray of shape (m, m), float64, or None
        At [i, j], the logarithm of the prior odds of the edge i -> j.
    """

    prior: str
    groups: list[GroupPosterior]
    edges: Floats
    paths: Floats | None
    log_sum: float
    log_prior_sum: float
    constraints: Constraints
    log_odds: Floats | None

    n_chains = 0

    @property
    def log_evidence(self) -> float:
        """The logarithm of the mean marginal likelihood of all networks, in nats."""
        return self.log_sum - self.log_prior_sum

    @property
    def known_paths(self) -> Floats:
        """At [i, j], the probability of a directed path, NaN if neither sums nor knowledge say."""
        m = len(self.edges)
        paths = np.full((m, m), np.nan) if self.paths is None else self.paths.copy()
        return with_known_paths(paths, self.constraints)

    def top_parent_sets(self, x: int, k: int) -> tuple[list[int], Floats]:
        """Return the masks of the k most probable parent sets of a column, and their probabilities.

        They are in no order.
        """
        group, number = self.group_of(x)
        probabilities = group.parent_sets(number)
        k = min(k, len(probabilities))
        top = np.argpartition(probabilities, -k)[-k:]
        return [int(mask) for mask in group.masks(number, top)], probabilities[top]

    def group_of(self, column: int) -> tuple[GroupPosterior, int]:
        """Return the group of a column, and its number there."""
        for group in self.groups:
            if column in group.columns[: group.n_columns]:
                return group, group.columns.index(column)
        raise internal_error(f"column {column} is in no group")


def network_posterior(
    problem: Problem,
    resources: Resources,
    *,
    prior: str = "uniform",
    log_odds: Floats | None = None,
    sum_only: bool = False,
    instead: Sequence[str] = (),
) -> NetworkPosterior:
    """Return the posterior of all networks within constraints.

    Parameters
    ----------
    problem : Problem
        A problem with a table.
    resources : Resources
        The plan is announced before the sums begin.
    prior : {"uniform", "order", "auto"}
    log_odds : ndarray of shape (m, m), float64, optional
        At [i, j], the logarithm of the prior odds of the edge i -> j; finite.
    sum_only : bool
        Whether only `log_sum` is asked for: the probabilities of edges and paths are NaN then.
    instead : sequence of str
        What the caller can do if the sums do not fit in memory, for the error.

    Raises
    ------
    ValueError
        If the tables do not fit in memory, the scores differ by too much for the arithmetic, or no
        network that satisfies the constraints has a finite score.
    RuntimeError
        If the sums contradict each other.
    """
    scorer, constraints, names = problem.regressions, problem.constraints, problem.names
    m = len(names)
    plan = plan_posterior(problem.shape, prior, resources, names, instead)
    if resources.announce is not None:
        resources.announce(str(plan))
    is_uniform = plan.prior == "uniform"
    compile_kernels(_kernels(plan))
    constant = scorer.tables[0].copy()
    constant[constraints.max_parents + 1 :] = -np.inf
    prior_sums = [
        log_prior_sum(plan.prior, each.group, constraints, log_odds, constant)
        for each in plan.groups
    ]
    work = sum(
        group_work(each, sum_only, of_prior is None)
        for each, of_prior in zip(plan.groups, prior_sums, strict=True)
    )
    progress = resources.progress
    progress.expect(work)
    groups = []
    with resources.threads(m) as threads:
        summation = Summation(threads, progress)
        # Those of the prior come first, so that their tables are gone when the others are made.
        if not sum_only:
            for i, each in enumerate(plan.groups):
                if prior_sums[i] is None:
                    flat = flat_weights(each, constraints, log_odds, constant, threads)
                    prior_sums[i] = prior_sum(each, summation, flat)
                    del flat
        for each in plan.groups:
            children = each.group.columns
            weights = weights_of_group(each, constraints, log_odds, scorer, threads, resources)
            offsets = scorer.score_offsets[children]
            group = group_posterior(each, summation, weights, offsets, sum_only)
            if group is None:
                own = [names[x] for x in children]
                raise ValueError(
                    f"No acyclic network of the columns {own} has a finite score: the "
                    "constraints or the criterion rule all out. Relax these."
                )
            groups.append(group)
    edges = np.zeros((m, m))
    paths = np.full((m, m), np.nan) if is_uniform else None
    for group in groups:
        children = group.columns[: group.n_columns]
        edges[np.ix_(group.columns, children)] = group.edges
        if paths is not None and group.paths is not None:
            paths[np.ix_(children, children)] = np.minimum(group.paths, 1.0)
    # Extended floats have no exact 0: what constraints rule out would be about 1e-300.
    is_allowed = bits_of(constraints.allowed, m).T
    edges[~is_allowed] = 0.0
    if paths is not None:
        paths[~_reachable(is_allowed)] = 0.0
    log_sum = sum(group.log_sum for group in groups)
    log_prior = math.nan if sum_only else sum(each for each in prior_sums if each is not None)
    return NetworkPosterior(
        plan.prior, groups, edges, paths, log_sum, log_prior, constraints, log_odds
    )


def _kernels(plan: PosteriorPlan) -> tuple[Any, ...]:
    """Return the kernels that sums call."""
    kernels: tuple[Any, ...] = ORDER_KERNELS
    if plan.prior == "uniform":
        kernels += NETWORK_KERNELS
    else:
        kernels += GAMMA_KERNELS
    if any(each.listing is None for each in plan.groups):
        kernels += (walk_seeds, *WEIGHT_KERNELS)
    if any(each.listing is not None for each in plan.groups):
        kernels += (*SmallFamilies.kernels, *LISTED_KERNELS)
    return kernels


def with_known_paths(paths: Floats, constraints: Constraints) -> Floats:
    """Set the probabilities of the paths that the constraints rule out or require."""
    m = len(paths)
    paths[~_reachable(bits_of(constraints.allowed, m).T)] = 0.0
    paths[_reachable(bits_of(constraints.required, m).T)] = 1.0
    np.fill_diagonal(paths, 0.0)
    return paths


def _reachable(is_edge: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return at [i, j] whether a directed path leads from i to j."""
    reachable = is_edge.copy()
    for k in range(len(is_edge)):
        reachable |= reachable[:, k, np.newaxis] & reachable[k]
    return reachable

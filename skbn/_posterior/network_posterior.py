"""The posterior of the networks of each group of columns, and of all networks.

The constraints cut the columns into groups, whose networks are independent (see
`Constraints.groups`). A group's columns and the others that may be their parents have positions:
first the group's. `order_sums` sums the weights of a group's families, of all of them or of those
with few parents, over all orders; for the uniform prior, `network_sums` takes these as its scale
and counts each network once.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from skbn._core.arrays import Booleans, Floats, Integers
from skbn._core.compile import compile_kernels
from skbn._core.extended_floats import is_zero
from skbn._core.resources import Progress, Resources, Threads
from skbn._core.subsets import bits_of
from skbn._core.text import internal_error
from skbn._exact.plan import SearchPlan
from skbn._posterior.family_weights import WEIGHT_KERNELS, FamilyWeights
from skbn._posterior.few_columns import MOST_COLUMNS, SumsOfFew, WeightsOfFew, sums_of_few
from skbn._posterior.listed_weights import LISTED_KERNELS, FamilyList, ListedWeights, Weights
from skbn._posterior.network_sums import NETWORK_KERNELS, NetworkSums, network_sums, network_work
from skbn._posterior.order_sums import (
    GAMMA_KERNELS,
    ORDER_KERNELS,
    Alpha,
    OrderSums,
    order_sums,
    order_work,
)
from skbn._posterior.plan import WORK_OF_LISTED_FAMILY, GroupPlan, PosteriorPlan, plan_posterior
from skbn._posterior.prior import log_prior_sum
from skbn._regressions.log_determinants import log_determinants_work, walk_seeds
from skbn._regressions.set_function import SetFunctions, SetWeights
from skbn._scores.families import Limits, SmallFamilies
from skbn._scores.scorer import FamilyScorer
from skbn._solver.constraints import Constraints
from skbn._solver.problem import Problem


@dataclass(frozen=True)
class GroupFamilies:
    """The families of a group, whose weights are wanted."""

    plan: GroupPlan
    constraints: Constraints
    # (m, m): at [i, j], the logarithm of the prior odds of the edge i -> j; finite
    log_odds: Floats | None
    threads: Threads

    def weights(self, scorer: FamilyScorer, resources: Resources) -> Weights:
        """Return the weights of the families, by their scores and odds."""
        columns, children = self.plan.columns, self.plan.group.columns
        listing, most = self.plan.listing, self.constraints.max_parents
        if listing is None:
            return self._dense(scorer.functions_by_child(columns, children, most, resources))
        ascending = sorted(columns)
        place = [ascending.index(column) for column in columns]
        small = scorer.small_sets_by_child(ascending, children, listing.max_parents, resources)

        def scores_of(child: int, listed: FamilyList) -> Floats:
            families, log_det = small[child]
            tables = scorer.of_child(children[child]).tables.copy()
            tables[0, most + 1 :] = -np.inf
            places = ([place[p] for p in each] for each in (listed.required, listed.candidates))
            limits = Limits(place[child], *places)
            _, scores = families.scores_in_order(limits, log_det, tables)
            resources.progress.advance(WORK_OF_LISTED_FAMILY * len(scores))
            return scores

        return self._listed(scores_of)

    def flat_weights(self, constant: Floats) -> Weights:
        """Return the weights of the families if they have no scores, but their odds.

        `constant` is the criterion's table c, which is -inf for numbers of parents that are ruled
        out.
        """
        n_sets = len(self.plan.columns)
        flat = np.where(np.isfinite(constant[:n_sets]), 0.0, -np.inf)
        if self.plan.listing is None:
            tables = np.zeros((3, n_sets))
            tables[0] = flat
            return self._dense([SetWeights(tables).of_all(np.zeros(1 << n_sets))] * n_sets)

        def scores_of(child: int, listed: FamilyList) -> Floats:
            _, candidates, most = listed
            sizes = range(min(most, len(candidates)) + 1)
            n_families = [comb(len(candidates), size) for size in sizes]
            return np.repeat([flat[len(listed.required) + size] for size in sizes], n_families)

        return self._listed(scores_of)

    def lists(self) -> list[FamilyList]:
        """Return which families each of the group's columns has."""
        constraints = self.constraints
        position = {column: i for i, column in enumerate(self.plan.columns)}
        lists = []
        for x in self.plan.group.columns:
            _, *own = constraints.limits_of(x)
            required, candidates = ([position[p] for p in each] for each in own)
            most = min(constraints.max_parents - len(required), len(candidates))
            lists.append(FamilyList(required, candidates, most))
        return lists

    def _odds(self) -> Floats | None:
        """Return the log odds of the edges to each of the group's columns from each position."""
        if self.log_odds is None:
            return None
        return self.log_odds[np.ix_(self.plan.columns, self.plan.group.columns)].T.copy()

    def _listed(self, scores_of: Callable[[int, FamilyList], Floats]) -> ListedWeights:
        where = self.plan.layout, len(self.plan.columns), self.threads
        return ListedWeights(self.lists(), scores_of, *where, self._odds())

    def _dense(self, sets: list[SetFunctions]) -> FamilyWeights:
        columns, layout, odds = self.plan.columns, self.plan.layout, self._odds()
        if layout.n_columns == 1:  # nothing is ordered: `allowed` tells others from the column
            layout = SearchPlan(max(2, len(columns)), 0)
        if len(columns) == 1:  # vectors need four sets: a second column, which may not be a parent
            sets = [SetFunctions(*(np.tile(each, 2) for each in sets[0]))] * 2
        if odds is not None:
            odds = np.pad(odds, ((0, 0), (0, max(2, len(columns)) - len(columns))))
        limits = self.constraints.of_group(self.plan.group)
        kind = WeightsOfFew if is_of_few(self.plan) else FamilyWeights
        return kind(sets, layout, self.threads, *limits, odds)


# Probabilities must sum to 1 up to this many units of the last bit of an extended float. In tables
# of up to 22 columns the error was at most 100 units.
_TOLERANCE = 1 << 16


def _sums_of_single(weights: Weights, prior: str) -> NetworkSums:
    """Return the sums of a group of one column: it has any parents among the others."""
    wide, gammas = weights.wide, np.full((1, weights.n_parent_sets), weights.wide.one)
    sum_of_weights = weights.edge_sums(0, gammas[0], wide.bias)[-1]
    total = wide.from_float(sum_of_weights)
    log_total = math.log(sum_of_weights) if sum_of_weights > 0 else -math.inf
    paths = np.zeros((1, 1)) if prior == "uniform" else None
    return NetworkSums(np.empty(0, np.int64), total, log_total, log_total, paths, gammas)


# `total` is the weight of all networks, an extended float (1 for probabilities), `log_total` its
# logarithm without the weights' `log_scale`, and `gamma` is what `FamilyWeights.edge_sums` takes.
Sums = OrderSums | NetworkSums | SumsOfFew


@dataclass(frozen=True)
class GroupPosterior:
    """The posterior of the networks of one group of columns."""

    columns: list[int]  # the group's columns, then the others that may be their parents
    n_columns: int  # how many are the group's
    weights: Weights
    sums: Sums
    log_sum: float  # the logarithm of the weight of all networks, in nats
    # (m, n_columns): the probability of the edge to each of the group's columns from each column
    edges: Floats
    # (n_columns, n_columns): at [i, j], the probability of a directed path from i to j; None for
    # the order prior
    paths: Floats | None

    def parent_sets(self, child: int) -> Floats:
        """Return the probability of each parent set of a child.

        The child is a number within the group. `masks` says which sets they are: all, by their
        masks with the child's bit removed, or those of the listed families.
        """
        gamma = self.sums.gamma(child)
        exponent, mantissa = self.weights.wide.split(self.sums.total)
        weights = self.weights.parent_set_weights(child, gamma, exponent)
        weights /= mantissa
        np.minimum(weights, 1.0, out=weights)  # rounding
        if isinstance(self.weights, ListedWeights):
            return weights
        return weights[: 1 << (len(self.columns) - 1)]  # without a column that was only padding

    def masks(self, child: int, indices: Integers) -> Integers:
        """Return the masks over all columns of some parent sets, by their place among all."""
        return self.weights.masks(child, indices, self.columns)


def group_posterior(
    families: GroupFamilies, scorer: FamilyScorer, resources: Resources, sum_only: bool
) -> GroupPosterior | None:
    """Return the posterior of a group; None if no network has a finite score.

    `sum_only`: whether the probabilities of edges are left out
    """
    plan, progress = families.plan, resources.progress
    columns, n = plan.columns, len(plan.group.columns)
    weights = families.weights(scorer, resources)
    sums = _sums(families, weights, progress)
    if sums is None:
        return None
    exponent, mantissa = weights.wide.split(sums.total)

    def edges_to(child: int) -> Floats:
        of_child = weights.edge_sums(child, sums.gamma(child), exponent) / mantissa
        progress.advance(_edge_work(plan) / n)
        return of_child

    of_children = np.full((len(columns) + 1, n), np.nan)
    if not sum_only:
        of_children = np.stack([*families.threads.map(edges_to, [(x,) for x in range(n)])], axis=1)
        _certify_sum(of_children[-1], weights)
    offsets = scorer.score_offsets[plan.group.columns]
    log_sum = sums.log_total + weights.log_scale + float(offsets.sum())
    edges = np.minimum(of_children[: len(columns)], 1.0)
    return GroupPosterior(columns, n, weights, sums, log_sum, edges, sums.paths)


def _sums(families: GroupFamilies, weights: Weights, progress: Progress) -> Sums | None:
    """Return the sums of a group; None if no network has a weight."""
    plan, wide = families.plan, weights.wide
    if plan.layout.n_columns == 1:
        single = _sums_of_single(weights, plan.prior)
        return None if is_zero(single.total, wide) else single
    if isinstance(weights, WeightsOfFew):
        over_few = sums_of_few(weights, plan.prior)
        if over_few is not None:
            for totals in over_few.log_totals:
                _certify_equal(*totals, weights)
        progress.advance(_work_of_sums(plan))
        return over_few
    alpha = Alpha(weights, plan.layout, families.threads, progress)
    over_orders = order_sums(alpha)
    if is_zero(over_orders.total, wide):
        return None
    _certify_equal(over_orders.log_total, wide.log(over_orders.R[0]), weights)
    if plan.prior == "order":
        return over_orders
    over_networks = network_sums(alpha, over_orders.F, over_orders.R)
    _certify_equal(over_networks.log_total, over_networks.log_total_forward, weights)
    return over_networks


def prior_sum(families: GroupFamilies, constant: Floats, progress: Progress) -> float:
    """Return the logarithm of the sum of a group's prior odds over all networks."""
    weights = families.flat_weights(constant)
    sums = _sums(families, weights, progress)
    return -math.inf if sums is None else sums.log_total + weights.log_scale


def group_work(plan: GroupPlan, sum_only: bool, sum_prior: bool) -> int:
    """Return about how long a group takes, in units of one local score of a search."""
    of_sums = _work_of_sums(plan)
    of_scores = plan.n_walks * log_determinants_work(len(plan.columns))
    if plan.listing is not None:
        of_scores = plan.listing.work
    if sum_only:
        return of_sums + of_scores
    return of_sums + of_scores + _edge_work(plan) + of_sums * sum_prior


def _work_of_sums(plan: GroupPlan) -> int:
    """Return about how long the sums over all of a group's networks take."""
    n = len(plan.group.columns)
    if n == 1:
        return 0
    return order_work(plan.layout) + (network_work(n) if plan.prior == "uniform" else 0)


def _edge_work(plan: GroupPlan) -> int:
    """Return about how long the edges to all of a group's columns take."""
    if plan.listing is not None:
        return WORK_OF_LISTED_FAMILY * plan.listing.n_families
    return len(plan.group.columns) * 4 << len(plan.columns)


def _certify_sum(totals: Floats, weights: Weights) -> None:
    """Raise if the probabilities of a child's parent sets do not sum to 1."""
    error = np.abs(totals - 1.0).max()
    if not error <= _TOLERANCE * 2.0**-weights.wide.bits:
        raise internal_error(f"the probabilities of a column's parent sets sum to 1 +- {error:.1g}")


def _certify_equal(forward: float, backward: float, weights: Weights) -> None:
    """Raise if the sums from the first and from the last column differ."""
    error = abs(forward - backward)
    if not error <= _TOLERANCE * 2.0**-weights.wide.bits * max(1.0, abs(forward)):
        raise internal_error(f"forward and backward sums differ by {error:.1g} nats")


@dataclass(frozen=True)
class NetworkPosterior:
    """The posterior of all networks."""

    prior: str
    groups: list[GroupPosterior]
    edges: Floats  # (m, m): at [i, j], the probability of the edge i -> j
    # (m, m): at [i, j], the probability of a directed path from i to j, NaN if i and j are in
    # different groups; None for the order prior
    paths: Floats | None
    log_sum: float  # the logarithm of the sum of the weights of all networks, in nats
    log_prior_sum: float  # the same of their prior odds alone
    constraints: Constraints
    log_odds: Floats | None  # (m, m): at [i, j], the logarithm of the prior odds of the edge i -> j

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

    `problem`: a problem with a table
    `resources`: the plan is announced before the sums begin
    `sum_only`: whether only `log_sum` is asked for: the probabilities of edges and paths are NaN
        then
    `instead`: what the caller can do if the sums do not fit in memory, for the error

    Raises ValueError if the tables do not fit in memory, the scores differ by too much for the
    arithmetic, or no network that satisfies the constraints has a finite score; RuntimeError if the
    sums contradict each other.
    """
    scorer, constraints, names = problem.scorer, problem.constraints, problem.names
    m = len(names)
    plan = plan_posterior(problem.read(), prior, resources, names, instead)
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
        families = [GroupFamilies(each, constraints, log_odds, threads) for each in plan.groups]
        # Prior sums first: their tables are freed before the rest.
        if not sum_only:
            for i, each in enumerate(families):
                if prior_sums[i] is None:
                    prior_sums[i] = prior_sum(each, constant, progress)
        for of_group in families:
            group = group_posterior(of_group, scorer, resources, sum_only)
            if group is None:
                own = [names[x] for x in of_group.plan.group.columns]
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


def is_of_few(plan: GroupPlan) -> bool:
    """Whether a group has so few columns, with their parents, that numpy sums their weights."""
    return plan.listing is None and len(plan.columns) <= MOST_COLUMNS


def _kernels(plan: PosteriorPlan) -> tuple[Any, ...]:
    """Return the kernels that sums call."""
    kernels: tuple[Any, ...] = ()
    if any(each.listing is None for each in plan.groups):
        kernels += (walk_seeds,)
    if all(map(is_of_few, plan.groups)):
        return kernels
    kernels += ORDER_KERNELS
    kernels += NETWORK_KERNELS if plan.prior == "uniform" else GAMMA_KERNELS
    if any(each.listing is None and not is_of_few(each) for each in plan.groups):
        kernels += WEIGHT_KERNELS
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


def _reachable(is_edge: Booleans) -> Booleans:
    """Return at [i, j] whether a directed path leads from i to j."""
    reachable = is_edge.copy()
    for k in range(len(is_edge)):
        reachable |= reachable[:, k, np.newaxis] & reachable[k]
    return reachable

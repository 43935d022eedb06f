"""Branch and cut over all parent sets as an engine: a proof without a limit on parents.

The order search finds a network, relative to which `skbn._branch_and_cut` bounds all others.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from skbn._core.arrays import Floats, Integers
from skbn._core.resources import Resources, count_threads, duration, one_blas_thread
from skbn._core.subsets import mask_of, members_of
from skbn._exact.k_best import (
    EquivalenceFilter,
    NearOptimalNetwork,
    Removal,
    network_of_steps,
    tie_tolerance,
)
from skbn._scores.scorer import FamilyScorer
from skbn._solver.branch_engine import BYTES_OF_SOLVER, Notes, ProofSearch
from skbn._solver.constraints import Group
from skbn._solver.engines import GroupSearch, SearchSettings, Wanted
from skbn._solver.order_engine import order_search_bytes
from skbn._solver.problem import Found, Problem, Shape

if TYPE_CHECKING:  # pricing is imported where it is used: few fits need it
    from skbn._branch_and_cut.pricing_problem import Child, ChildCosts

# The lists of families, the cuts and the program, at first.
_BYTES_OF_LISTS = 1 << 28
# What a proof over n columns takes before its first bound, in seconds, over n**3: the products of
# children with the same rows, and the check of each child. It is not begun if that ends more than
# the last seconds too late.
_SECONDS_OF_PRODUCTS, _SECONDS_OF_CHILD, _GRACE = 4e-8, 3e-10, 1.0
# The rounding of products, where the factor has more digits, and that of what is solved by them.
_OF_PRODUCTS, _OF_SOLUTION = 2.0**-53, 2.0**-50


def can_price(shape: Shape) -> bool:
    """Whether all parent sets of a problem can be priced.

    Each score must be a multiple of the logarithm of the residual sum of squares, the same multiple
    for all families of a child, less what the number of parents, or of their columns, costs.
    """
    if shape.tables is None or not shape.is_independent:
        return False
    _, of_parents, of_family = shape.tables[:, : shape.families.max_parents + 1]
    is_same = (of_parents == of_parents[0]).all() and (of_family == -of_parents[0]).all()
    return bool(is_same and of_parents[0] > 0)


def plan_pricing(
    shape: Shape, group: Group, resources: Resources, settings: SearchSettings
) -> GroupSearch | None:
    """Plan branch and cut over all parent sets of a group's columns.

    None if the scores do not follow from regressions of single columns, or for more than a few
    columns without a time limit: nobody knows how long it takes.

    Raises TooLargeError if it does not fit in memory; ImportError if highspy is not installed.
    """
    if not can_price(shape) or (resources.time_limit is None and not group.is_small):
        return None
    n_bytes = pricing_bytes(shape, group, resources.n_jobs)
    search = _PricingSearch(shape, group, resources, settings, n_bytes, "the parent sets")

    from skbn._branch_and_cut.all_parent_sets import KERNELS_OF_ALL_PARENT_SETS

    search.kernels += KERNELS_OF_ALL_PARENT_SETS
    return search


def pricing_bytes(shape: Shape, group: Group, n_jobs: int | None) -> int:
    """Return about how much memory branch and cut over all parent sets takes."""
    m = len(group.columns) + len(group.others)
    k = max(shape.constraints.possible[x].bit_count() for x in group.columns)
    n_columns = 0 if shape.tables is None else shape.tables.shape[1]
    of_thread = 8 * (k + 1) * n_columns**2
    return (
        BYTES_OF_SOLVER
        + _BYTES_OF_LISTS
        + order_search_bytes(m, n_jobs)
        + of_thread * count_threads(n_jobs)
    )


class _PricingSearch(ProofSearch):
    _over = "branch and cut over all parent sets of"
    can_list = True

    def near_optimal(
        self, problem: Problem, wanted: Wanted, resources: Resources
    ) -> Iterator[NearOptimalNetwork]:
        from skbn._branch_and_cut.near_networks import Near, near_networks
        from skbn._branch_and_cut.pricing import OutOfTimeError, TooManyFamiliesError

        self.begin(problem, resources)
        numbers = self._numbers
        try:
            silent = resources.reporting(Notes(resources.progress))
            children, network, score, rounding, _ = self._begun(problem, silent)
            given = self._given(problem, silent, score)
            score_of = partial(_score_of, problem, numbers, children)
            tie, classes = tie_tolerance(score), None
            if wanted.equivalence_classes:
                rest = len(children), tie, problem.told_apart
                classes = EquivalenceFilter(numbers, score_of, *rest)
            within = None if wanted.within is None else wanted.within + 2 * tie

            def step_of(child: int, parents: tuple[int, ...]) -> Removal:
                mask = mask_of(numbers[p] for p in parents)
                return Removal(0.0, child, 0, mask, score_of(child, mask))

            near = Near(wanted.n, within, classes)
            with one_blas_thread():
                found = near_networks(children, network, step_of, near, rounding=rounding, **given)
        except OutOfTimeError:
            raise ValueError(
                f"The list of networks is not known after time_limit={resources.time_limit:g} "
                "seconds. Raise time_limit, or give a smaller n, or a smaller within."
            ) from None
        except TooManyFamiliesError:
            raise ValueError(
                "More networks, or families of these, are as near to the best one than can be "
                "listed. Give a smaller n, or a smaller within."
            ) from None
        resources.progress.advance(self.cost())
        return (network_of_steps(steps, numbers) for steps in found)

    def optimum(self, problem: Problem, resources: Resources) -> Found:
        from skbn._branch_and_cut.pricing import OutOfTimeError

        try:
            return super().optimum(problem, resources)
        except OutOfTimeError:
            return self._unproven(self._time_of_bound(problem, resources)[1], resources)

    def begin(self, problem: Problem, resources: Resources) -> None:
        seconds, told = self._time_of_bound(problem, resources)
        if resources.announce is not None and time.monotonic() + seconds > resources.deadline:
            resources.announce(told)
        super().begin(problem, resources)

    def _time_of_bound(self, problem: Problem, resources: Resources) -> tuple[float, str]:
        """Return about how long a first bound takes, also in words."""
        scorers = {id(each): each for each in map(problem.scorer.of_child, self.columns)}
        m, n = len(self.columns), len(next(iter(scorers.values())).statistics.scale)
        of_products = len(scorers) * _SECONDS_OF_PRODUCTS
        seconds = n**3 * (of_products + _SECONDS_OF_CHILD * m / resources.n_threads)
        return seconds, f"A first bound over {m:,} columns takes about {duration(seconds)}."

    @property
    def _numbers(self) -> list[int]:
        """The numbers in the table of the search's columns: the children, then the others."""
        return self.columns + self._group.others

    def _begun(
        self, problem: Problem, resources: Resources
    ) -> tuple[list[Child], list[tuple[int, ...]], float, float, Floats | None]:
        """Return the children, the network to begin with, its score, and what `_children` adds.

        Raises OutOfTimeError if there is no time for a first bound.
        """
        from skbn._branch_and_cut.pricing import OutOfTimeError

        seconds, _ = self._time_of_bound(problem, resources)
        if time.monotonic() + seconds > resources.deadline + _GRACE:
            raise OutOfTimeError
        assert self._by_orders is not None
        start = self._by_orders.parents
        score = float(problem.local_scores(self.columns, start).sum())
        score += float(problem.score_offsets[self.columns].sum())
        position = {column: i for i, column in enumerate(self._numbers)}
        network = [tuple(sorted(position[p] for p in members_of(mask))) for mask in start]
        with one_blas_thread():
            own = self.columns, self._numbers, network, self._settings.tolerance
            children, rounding, products = _children(problem, *own)
        return children, network, score, rounding, products

    def _proven(self, problem: Problem, resources: Resources) -> tuple[list[int], Any]:
        from skbn._branch_and_cut.all_parent_sets import best_of_all_parent_sets

        children, network, score, rounding, products = self._begun(problem, resources)
        given = self._given(problem, resources, score)
        correlations = problem.correlations(self.columns)
        with one_blas_thread():
            found = best_of_all_parent_sets(
                children,
                network,
                rounding=rounding,
                tolerance=self._settings.tolerance,
                ends_on_interrupt=resources.keeps_best_on_interrupt,
                most_bytes=self._available - (self.n_bytes - _BYTES_OF_LISTS),
                correlations=correlations,
                products=products,
                **given,
            )
        numbers = self._numbers
        return [mask_of(numbers[p] for p in parents) for parents in found.network], found


def _score_of(
    problem: Problem, numbers: list[int], children: Sequence[Child], child: int, parents: int
) -> float:
    """Return the local score with parents by their numbers; -inf if they are ruled out."""
    x = numbers[child]
    is_limited = children[child].costs.costs[parents.bit_count()] == np.inf
    if is_limited or not problem.constraints.allows(x, parents):
        return -np.inf
    return float(problem.local_scores([x], [parents])[0] - problem.listed_offsets[x])


def _children(
    problem: Problem,
    columns: list[int],
    numbers: list[int],
    network: list[tuple[int, ...]],
    tolerance: float,
) -> tuple[list[Child], float, Floats | None]:
    """Return the columns with their regressions, and by how much rounding puts a cost off.

    Costs are relative to those of a network's parents, which are places in `numbers`. There are
    exact products if rounding might hide half of the tolerance. Last come the float64 products of
    all columns if the children share them.
    """
    from skbn._branch_and_cut.pricing_checker import ROUNDING
    from skbn._branch_and_cut.pricing_problem import Child, ExactProducts

    position = {column: i for i, column in enumerate(numbers)}
    scorers = [problem.scorer.of_child(x) for x in columns]
    # Children that share their rows share one.
    by_rows = {id(scorer): scorer for scorer in scorers}
    of_rows = {own: _products(scorer, numbers) for own, scorer in by_rows.items()}
    of_products = _OF_PRODUCTS + (len(numbers) + 4) * float(np.finfo(np.longdouble).eps)
    sensitivity = max(each for *_, each in of_rows.values())
    rounding = ROUNDING + sensitivity * (of_products + _OF_SOLUTION)
    exact: dict[int, ExactProducts] = {}
    if 2 * len(columns) * rounding > tolerance / 2:
        rounding = ROUNDING + sensitivity * of_products
        for own, scorer in by_rows.items():
            factor = scorer.statistics.factor[:, scorer.nodes.columns_of(numbers)]
            exact[own] = ExactProducts.of_factor(factor)
    children = []
    for x, parents, scorer in zip(columns, network, scorers, strict=True):
        costs, candidates, at = _costs(problem, x, *of_rows[id(scorer)][:3], position)
        digits = exact[id(scorer)].of_columns(at) if exact else None
        child = Child(costs, candidates, 0.0, digits)
        children.append(child._replace(offset=child.exact_cost_of(parents)))
    products = None
    if len(of_rows) == 1 and scorers[0].nodes.are_columns:
        products = of_rows[id(scorers[0])][0]
    return children, rounding, products


def _products(scorer: FamilyScorer, nodes: list[int]) -> tuple[Floats, Floats, float, float]:
    """Return products of columns scaled to norm 1, a diagonal and an eigenvalue below them.

    Last comes a sensitivity: by how many nats relative errors of 1 of all products would put the
    cost of a family off.

    Errors of norm d change a residual sum of squares by the share d / s at most, where s is the
    smallest eigenvalue of the products.
    """
    from skbn._branch_and_cut.determinants import smallest_eigenvalue
    from skbn._branch_and_cut.pricing_problem import diagonal_below

    columns = scorer.nodes.columns_of(nodes)
    m, widest = len(columns), max(scorer.nodes.widths[v] for v in nodes)
    factor = scorer.statistics.factor[:, columns].astype(np.longdouble)
    factor /= np.sqrt((factor**2).sum(axis=0))
    products = (factor.T @ factor).astype(np.float64)
    eigenvalue = smallest_eigenvalue(products)
    weight = -float(scorer.column_tables[2, 0])
    if eigenvalue is not None:
        diagonal = diagonal_below(products) if scorer.nodes.are_columns else np.zeros(m)
        if smallest_eigenvalue(products - np.diag(diagonal)) is None:
            diagonal = np.zeros(m)
        return products, diagonal, eigenvalue, widest * weight * m / eigenvalue
    along = np.linalg.eigh(products)[1][:, 0]
    name = scorer.nodes.column_names[columns[int(np.argmax(np.abs(along)))]]
    raise ValueError(
        f"Column {name!r} is so nearly a combination of others that rounding would hide a bound "
        "over all parent sets. Leave it out, or set max_parents, to 3 for example, or "
        'search="order".'
    )


def _costs(
    problem: Problem,
    x: int,
    products: Floats,
    diagonal: Floats,
    eigenvalue: float,
    position: dict[int, int],
) -> tuple[ChildCosts, Integers, list[int]]:
    """Return what the families of a child cost, the places of its candidates, and its columns."""
    from skbn._branch_and_cut.pricing_problem import ChildCosts

    scorer = problem.scorer.of_child(x)
    _, required, candidates = problem.constraints.limits_of(x)
    of_family = [*required, *candidates, x]
    at, widths = ([each[p] for p in of_family] for each in (position, scorer.nodes.widths))
    first = np.cumsum([0, *(scorer.nodes.widths[v] for v in position)])
    columns = [c for p in at for c in range(first[p], first[p + 1])]
    products = np.ascontiguousarray(products[np.ix_(columns, columns)])
    weight, numbers = -float(scorer.column_tables[2, 0]), np.array(at[:-1], dtype=np.int64)
    k, n = len(at) - 1, len(columns)
    most = min(k, problem.constraints.max_parents, scorer.families.max_parents)
    costs, of_columns = np.full(k + 2, np.inf), np.zeros(n + 1)
    if scorer.nodes.are_columns:
        costs[: most + 1] = -scorer.tables[0, : most + 1]
    else:
        weights, own = scorer.weights_of(range(len(problem.names)), most), widths[-1]
        costs[: most + 1] = -np.diff(weights.node_terms)[: most + 1]
        constants = weights.of_family[0]
        of_columns[: n - own + 1] = constants[: n - own + 1] - constants[own : n + 1]
        of_columns[n - own + 1 :] = np.inf
    terms = costs, _least(costs), of_columns, _least(of_columns)
    starts, below = np.cumsum([0, *widths]), diagonal[columns[: -widths[-1]]]
    below = below if (below > 0).all() else np.empty(0)
    of_child = ChildCosts(products, starts, weight, *terms, len(required), below, eigenvalue)
    return of_child, numbers, columns


def _least(costs: Floats) -> Floats:
    """Return the least of each cost and those after it."""
    return np.minimum.accumulate(costs[::-1])[::-1].copy()

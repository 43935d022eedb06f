"""The check of a bound over all parent sets.

The claim: a network whose families are not all in the lists costs at least a number. The check
lists again every family whose reduced cost is below its child's threshold and that no subset
dominates, and requires that the lists have it, at no more than it costs. The search is that of
`pricing_kernels`, whose bounds include their rounding; all that it starts from is computed anew:
the discounts by the cuts of the proof, the least costs, an eigenvalue. So a network with another
family costs at least

    the bound of the multipliers - the least reduced cost of the child + the child's threshold.

A dominated family need not be listed: with the subset in its place a network costs no more.
"""

import math
import time
from collections.abc import Iterable, Sequence
from decimal import Decimal, localcontext
from operator import mul
from typing import Any

import numpy as np

from skbn._branch_and_cut.checker_kernels import EPSILON
from skbn._branch_and_cut.chosen_kernels import SetsFound, new_chosen, room_for, with_more_room
from skbn._branch_and_cut.determinants import least_log_determinant, smallest_eigenvalue
from skbn._branch_and_cut.pricing import matrices_of
from skbn._branch_and_cut.pricing_kernels import PRICING_KERNELS, search_parent_sets
from skbn._branch_and_cut.pricing_problem import Child, ChildCosts, Discounts, ExactProducts
from skbn._branch_and_cut.proof import Cut, DeterminantCut, LocalCut
from skbn._branch_and_cut.proof_checker import ProofError, checked_cut, checked_determinant
from skbn._branch_and_cut.walk_kernels import DONE, FULL, N_FOUND, Walk, new_walk
from skbn._core.arrays import Floats
from skbn._core.compile import compile_kernels
from skbn._core.exact_sums import lower_sum, two_product
from skbn._core.resources import Threads

# Between two looks at the clock, over the square of the number of columns.
_NODES = 1 << 23
_FIRST_ROOM = 1 << 8
# The digits of bounds by exact products, and how often float64 solves for what is left.
_DIGITS, _REFINEMENTS = 60, 4
# What rounding puts the cost of a family off, in nats, if the columns are not nearly collinear.
ROUNDING = 1e-9


def certified_bound_of_others(
    children: Sequence[Child],
    cuts: Sequence[Cut],
    multipliers: Floats,
    thresholds: Floats,
    listed: Sequence[dict[tuple[int, ...], float]],
    rounding: float,
    threads: Threads,
    *,
    with_dominated: bool = False,
    deadline: float = math.inf,
) -> tuple[float, float]:
    """Check lists of families; return what networks cost at least.

    Parameters
    ----------
    children : sequence of m Child
    cuts : sequence of Cut
    multipliers : ndarray of shape (n_cuts,), float64
        Not negative.
    thresholds : ndarray of shape (m,), float64
        All families of lower reduced costs are in the lists, unless a subset dominates them.
    listed : sequence of m dict
        What each listed family costs, by its parents.
    rounding : float
        By how much rounding may put the cost of a family off, in nats; the bounds are lowered by
        it, twice for each child.
    threads : Threads
    with_dominated : bool
        Whether the lists must have families that a subset dominates, too.
    deadline : float
        By ``time.monotonic()``: children that are not checked by then count by the reduced cost of
        all candidates without the costs of these. The bounds hold, but are lower.

    Returns
    -------
    bound : float
        No network costs less.
    bound_of_others : float
        No network with families that are not listed costs less, unless dominated families are left
        out: then another network may cost no more that has only listed ones.

    Raises
    ------
    ProofError
        If a cut does not hold, or grows with the parents, or if a list lacks a family.
    """
    compile_kernels(PRICING_KERNELS)
    m = len(children)
    if multipliers.shape != (len(cuts),) or not (multipliers >= 0).all():
        raise ProofError("the bound over all parent sets has negative or missing multipliers")
    if not len(thresholds) == len(listed) == m:
        raise ProofError("the bound over all parent sets lacks a child")
    terms: list[float] = []
    cuts = [_held(cut, i, children) for i, cut in enumerate(cuts)]
    for cut, multiplier in zip(cuts, multipliers.tolist(), strict=True):
        terms += two_product(multiplier, cut.bound)
    of_all = cuts, multipliers, rounding, with_dominated, deadline
    of_children = [(child, x, thresholds[x], *of_all) for x, child in enumerate(children)]
    least = []
    for x, child in enumerate(children):
        _require_exact(child, listed[x])
    thresholds = thresholds.copy()
    for x, (threshold, found) in enumerate(threads.map(_families_again, of_children)):
        thresholds[x] = threshold
        off = rounding if children[x].exact is None else ROUNDING
        for parents, cost, reduced in found:
            if not _has(listed[x], parents, cost + off, with_dominated):
                raise ProofError(f"the list of child {x} lacks the parents {parents}: {reduced}")
        least.append(min([float(thresholds[x]), *(reduced for _, _, reduced in found)]))
    lost = -m * 2 * rounding
    bound = lower_sum([*terms, *least, lost])
    distances = [lower_sum([float(t), -b]) for t, b in zip(thresholds, least, strict=True)]
    return bound, lower_sum([bound, min(distances)])


def certified_bound_by_determinant(
    children: Sequence[Child],
    products: Floats,
    share: float,
    weighed: Sequence[Child],
    cuts: Sequence[Cut],
    multipliers: Floats,
    thresholds: Floats,
    rounding: float,
    threads: Threads,
    deadline: float = math.inf,
) -> float:
    """Check a bound that leaves a share of the weight to families; return what networks cost.

    The residual sums of squares of a network multiply to the determinant of all products or more.
    So the rest of the weight has a bound by itself.

    Parameters
    ----------
    children : sequence of m Child
        Of one column each.
    products : ndarray of shape (n, n), float64
        Of the children, then of columns that are none.
    share : float
        From 0 to 1.
    weighed : sequence of m Child
        The children with this share of their weight.
    cuts, multipliers, thresholds, rounding, threads, deadline
        As for `certified_bound_of_others`, for children of this weight.

    Raises
    ------
    ProofError
        If the children have other products or weights, or a threshold does not hold.
    """
    weight = children[0].costs.weight
    for x, (child, own) in enumerate(zip(children, weighed, strict=True)):
        at = [*child.candidates.tolist(), x]
        same = own._replace(costs=own.costs._replace(weight=weight), offset=child.offset)
        arrays: Iterable[tuple[Any, Any]] = zip(
            (*child.costs, child.candidates), (*same.costs, same.candidates), strict=True
        )
        if (
            child.costs.weight != weight
            or own.costs.weight != share * weight
            or not np.array_equal(child.costs.products, products[np.ix_(at, at)])
            or not all(np.array_equal(a, b) for a, b in arrays)
        ):
            raise ProofError(f"child {x} has other products or another weight")
    nothing: list[dict[tuple[int, ...], float]] = [{} for _ in children]
    rest = thresholds, nothing, rounding, threads
    bound, _ = certified_bound_of_others(weighed, cuts, multipliers, *rest, deadline=deadline)
    # Logarithms of residuals of columns of norm 1 are not positive: more weight lowers the bound.
    others = math.nextafter(weight - share * weight, math.inf)
    determinant = least_log_determinant(products, len(products) - len(children))
    if determinant is None:
        raise ProofError("the products of the columns are too nearly singular to bound")
    offsets = [v for a, b in zip(children, weighed, strict=True) for v in (b.offset, -a.offset)]
    return lower_sum([bound, *two_product(others, determinant), *offsets])


def _has(
    listed: dict[tuple[int, ...], float],
    parents: tuple[int, ...],
    cost: float,
    with_dominated: bool,
) -> bool:
    """Whether a list has a family at no more than a cost or, if need be, one that dominates it."""
    if listed.get(parents, np.inf) <= cost:
        return True
    own = set(parents)
    return not with_dominated and any(
        own.issuperset(each) and value <= cost for each, value in listed.items()
    )


def _require_exact(child: Child, listed: dict[tuple[int, ...], float]) -> None:
    """Raise unless listed families cost no more than products with more digits say, if any."""
    exact = child.exact
    if exact is None or not listed:
        return
    eigenvalue = smallest_eigenvalue(child.costs.products)
    if eigenvalue is None:
        raise ProofError("the products of the columns are too nearly singular to bound")
    for parents, cost in listed.items():
        if not cost <= _exact_least(child, exact, parents, eigenvalue) + ROUNDING:
            raise ProofError(f"the family of the parents {parents} costs less than {cost}")


def _exact_least(
    child: Child, exact: ExactProducts, parents: tuple[int, ...], eigenvalue: float
) -> float:
    """Return at least what a family costs, by exact products."""
    costs, columns = child.costs, child.costs.columns_of(child.positions(parents))
    of_parents = costs.costs[len(parents)] + costs.costs_of_columns[len(columns)]
    total = float(of_parents) - child.offset
    for column in costs.columns_of([len(child.candidates)]):
        columns.append(column)
        inverse = _most_of_inverse(costs.products, exact, columns, eigenvalue)
        total -= costs.weight * math.log(inverse)
    return total


def _most_of_inverse(
    products: Floats, exact: ExactProducts, columns: list[int], eigenvalue: float
) -> float:
    """Return at most how large the last diagonal entry of the inverse of exact products is.

    This is the bound of the kernels. Each step of refinement makes its last term smaller.
    """
    inside, own = products[np.ix_(columns, columns)], exact.of_columns(columns).rows
    if not np.abs(np.array(own, dtype=np.float64) - inside).max() <= 4 * EPSILON:
        raise ProofError("the products with more digits are of other columns")
    with localcontext(prec=_DIGITS):
        v, left = [Decimal(0)] * len(columns), [*[Decimal(0)] * (len(columns) - 1), Decimal(1)]
        unit = left
        for _ in range(_REFINEMENTS):
            step = np.linalg.solve(inside, np.array(left, dtype=np.float64)).tolist()
            v = [a + Decimal(b) for a, b in zip(v, step, strict=True)]
            left = [a - sum(map(mul, row, v)) for a, row in zip(unit, own, strict=True)]
        squares = Decimal(sum(map(mul, left, left))) / Decimal(eigenvalue)
        return float(v[-1] + sum(map(mul, v, left)) + squares)


def _held(cut: Cut, i: int, children: Sequence[Child]) -> Cut:
    """Return a cut that holds, and whose coefficients do not grow with the parents."""
    m = len(children)
    if not isinstance(cut, DeterminantCut):
        bound = checked_cut(cut, i, m).bound
        if isinstance(cut, LocalCut):
            _require_decreasing(cut, i)
            cut = cut._replace(bound=bound)
        return cut
    cut = checked_determinant(cut, i, m)
    for x, child in enumerate(children):
        own = [*child.candidates.tolist(), x]
        starts = child.costs.starts
        for c, a, b in zip(own, starts[:-1], starts[1:], strict=True):
            if c < m and b - a != cut.starts[c + 1] - cut.starts[c]:
                raise ProofError(f"cut {i} has a matrix of other columns than child {x}")
    return cut


def _require_decreasing(cut: LocalCut, number: int) -> None:
    """Raise unless the coefficients of a cut never grow with the parents."""
    w = len(cut.columns)
    sets = np.arange(1 << w)
    for x in range(w):
        for y in range(w):
            if y != x:
                smaller = sets[(sets >> x & 1 == 0) & (sets >> y & 1 == 0)]
                if (cut.table[x, smaller | 1 << y] > cut.table[x, smaller]).any():
                    raise ProofError(f"cut {number} has coefficients that grow with the parents")


def _families_again(
    child: Child,
    number: int,
    threshold: float,
    cuts: Sequence[Cut],
    multipliers: Floats,
    rounding: float,
    with_dominated: bool,
    deadline: float,
) -> tuple[float, list[tuple[tuple[int, ...], float, float]]]:
    """Return a child's families below a threshold: parents, cost, reduced cost.

    The threshold comes first: a lower one, which takes no time, after the deadline.
    """
    costs, k = child.costs, len(child.candidates)
    eigenvalue = smallest_eigenvalue(costs.products)
    if eigenvalue is None:
        raise ProofError("the products of the columns are too nearly singular to bound")
    _require_below(costs)
    least_costs, least_of_columns = (
        np.minimum.accumulate(each[::-1])[::-1].copy()
        for each in (costs.costs, costs.costs_of_columns)
    )
    costs = costs._replace(
        least_costs=least_costs, least_of_columns=least_of_columns, eigenvalue=eigenvalue
    )
    discounts = _discounts(child, number, cuts, multipliers)
    tie = 0.0 if child.exact is None else 2 * rounding
    chosen = new_chosen(costs, discounts)
    rest = math.inf, 1 + _NODES // len(costs.products) ** 2

    def begin() -> tuple[Walk, SetsFound]:
        reach = threshold + child.offset
        return new_walk(costs, reach, with_dominated, tie), room_for(_FIRST_ROOM, k)

    walk, found = begin()
    while (state := search_parent_sets(costs, discounts, chosen, walk, found, *rest)) != DONE:
        if state == FULL:
            found = with_more_room(found)
        elif time.monotonic() >= deadline:
            of_none = discounts.of_no_parents(child.n_own)
            lowest = costs.least_cost() - child.offset - of_none - 2 * rounding
            if lowest < threshold:
                threshold = lowest
                walk, found = begin()
    n = int(walk.numbers[N_FOUND])
    again = []
    for row, cost, reduced in zip(found.parents[:n], found.cost, found.reduced, strict=False):
        parents = tuple(sorted(child.candidates[row[row >= 0]].tolist()))
        least = lower_sum([cost, -child.offset])
        if child.exact is not None:
            least = _exact_least(child, child.exact, parents, eigenvalue)
        reduced = lower_sum([reduced, -cost, least])
        if reduced < threshold:
            again.append((parents, least, reduced))
    return threshold, again


def _require_below(costs: ChildCosts) -> None:
    """Raise unless the candidates' products less the diagonal are positive definite."""
    d, k = costs.diagonal, len(costs.products) - 1
    if d.size and (
        d.shape != (k,)
        or costs.has_groups
        or not (d > 0).all()
        or smallest_eigenvalue(costs.products[:k, :k] - np.diag(d)) is None
    ):
        raise ProofError("the diagonal is not below the products of the columns")


def _discounts(child: Child, number: int, cuts: Sequence[Cut], multipliers: Floats) -> Discounts:
    """Return what the cuts that a child is in take from the costs of its families."""
    bits, starts, own, tables, n = [], [], [], [], 0
    position = {int(c): i for i, c in enumerate(child.candidates)}
    for cut, multiplier in zip(cuts, multipliers.tolist(), strict=True):
        columns = [] if isinstance(cut, DeterminantCut) else cut.columns.tolist()
        if number not in columns or multiplier == 0:
            continue
        table, shifts = np.array([1.0, 0.0]), [0] * len(columns)
        if isinstance(cut, LocalCut):
            table, shifts = cut.table[columns.index(number)], list(range(len(columns)))
        bit = np.zeros(len(position), dtype=np.uint16)
        for shift, column in zip(shifts, columns, strict=True):
            if column in position:
                bit[position[column]] = 1 << shift
        bits.append(bit)
        starts.append(n)
        own.append(multiplier)
        tables.append(table)
        n += len(table)
    return Discounts(
        np.array(bits, dtype=np.uint16).reshape(len(bits), len(position)),
        np.array(starts, dtype=np.int64),
        np.array(own),
        np.concatenate([*tables, np.zeros(1)]),
        *matrices_of(child, number, cuts, multipliers),
    )

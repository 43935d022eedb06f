"""The independent check of a bound over all parent sets.

The claim: a network whose families are not all in the lists costs at least a number. The check
lists again, by a search of its own with rounding included, every family whose reduced cost is below
its child's threshold and that no subset dominates, and requires that the lists have it, at no more
than it costs. So a network with another family costs at least

    the bound of the multipliers - the least reduced cost of the child + the child's threshold.

A dominated family need not be listed: with the subset in its place a network costs no more.
"""

from collections.abc import Sequence

import numpy as np

from skbn._branch_and_cut.checker_kernels import EPSILON
from skbn._branch_and_cut.chosen_kernels import new_chosen, room_for, with_more_room
from skbn._branch_and_cut.pricing_checker_kernels import (
    PRICING_CHECKER_KERNELS,
    Claim,
    list_families_again,
)
from skbn._branch_and_cut.pricing_problem import Child, ChildCosts, Discounts
from skbn._branch_and_cut.proof import Cut, LocalCut
from skbn._branch_and_cut.proof_checker import ProofError, checked_cut
from skbn._branch_and_cut.walk_kernels import DONE, FULL, N_FOUND, new_walk
from skbn._core.arrays import Floats
from skbn._core.compile import compile_kernels
from skbn._core.exact_sums import lower_sum, two_product
from skbn._core.resources import Threads

_NODES = 1 << 14
_FIRST_ROOM = 1 << 8
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
    compile_kernels(PRICING_CHECKER_KERNELS)
    m = len(children)
    if multipliers.shape != (len(cuts),) or not (multipliers >= 0).all():
        raise ProofError("the bound over all parent sets has negative or missing multipliers")
    terms = []
    for i, (cut, multiplier) in enumerate(zip(cuts, multipliers.tolist(), strict=True)):
        bound = checked_cut(cut, i, m).bound
        _require_decreasing(cut, i)
        terms += two_product(multiplier, bound)
    of_all = cuts, multipliers, with_dominated
    of_children = [(child, x, thresholds[x], *of_all) for x, child in enumerate(children)]
    least = []
    for x, found in enumerate(threads.map(_families_again, of_children)):
        for parents, cost, reduced in found:
            if not _has(listed[x], parents, cost + rounding, with_dominated):
                raise ProofError(f"the list of child {x} lacks the parents {parents}: {reduced}")
        least.append(min([float(thresholds[x]), *(reduced for _, _, reduced in found)]))
    lost = -m * 2 * rounding
    bound = lower_sum([*terms, *least, lost])
    distances = [lower_sum([float(t), -b]) for t, b in zip(thresholds, least, strict=True)]
    return bound, lower_sum([bound, min(distances)])


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


def _require_decreasing(cut: Cut, number: int) -> None:
    """Raise unless the coefficients of a cut never grow with the parents."""
    if not isinstance(cut, LocalCut):
        return
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
    with_dominated: bool,
) -> list[tuple[tuple[int, ...], float, float]]:
    """Return a child's families below a threshold: parents, cost, reduced cost."""
    costs, k = child.costs, len(child.candidates)
    eigenvalue = smallest_eigenvalue(costs.products)
    if eigenvalue is None:
        raise ProofError("the products of the columns are too nearly singular to bound")
    _require_below(costs)
    least_costs, least_of_columns = (
        np.minimum.accumulate(each[::-1])[::-1].copy()
        for each in (costs.costs, costs.costs_of_columns)
    )
    claim = Claim(
        costs._replace(least_costs=least_costs, least_of_columns=least_of_columns),
        eigenvalue,
        _discounts(child, number, cuts, multipliers),
        threshold + child.offset,
    )
    walk, chosen = new_walk(costs, np.inf, with_dominated), new_chosen(costs, claim.discounts)
    found = room_for(_FIRST_ROOM, k)
    while (state := list_families_again(claim, walk, chosen, found, _NODES)) != DONE:
        if state == FULL:
            found = with_more_room(found)
    n = int(walk.numbers[N_FOUND])
    return [
        (
            tuple(sorted(child.candidates[row[row >= 0]].tolist())),
            lower_sum([cost, -child.offset]),
            lower_sum([reduced, -child.offset]),
        )
        for row, cost, reduced in zip(found.parents[:n], found.cost, found.reduced, strict=False)
    ]


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
        columns = cut.columns.tolist()
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
    )


def smallest_eigenvalue(products: Floats) -> float | None:
    """Return a positive number below the smallest eigenvalue of a matrix of products, or None.

    If the Cholesky factor of the matrix less a multiple of the identity exists in spite of
    rounding, the multiple less what rounding amounts to is below it.
    """
    n = len(products)
    rounding = 4 * n * (n + 2) * EPSILON
    shift = 0.5 * float(np.linalg.eigvalsh(products)[0])
    if not shift > 2 * rounding:
        return None
    try:
        np.linalg.cholesky(products - shift * np.eye(n))
    except np.linalg.LinAlgError:
        return None
    return shift - rounding

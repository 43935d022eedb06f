"""Replaying a proof: what bound follows from its cuts, multipliers and branchings.

Nothing here relies on the search or on a solver: whatever a proof contains, the bound holds for
every network of the families.

The bound holds for the exact numbers that the families' costs stand for. Products are split into
two float64 without an error, and sums are kept in two parts, so that a sum of k terms is wrong by
at most about k**2 * 2**-104 times the sum of their absolute values. This is subtracted from each
reduced cost. Bounds of steps and of cuts are rounded down, and the least excess of a family that
is removed is rounded up.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._branch_and_cut.checker_kernels import (
    CHECKER_KERNELS,
    EPSILON,
    ROUNDING,
    TINY,
    Networks,
    Totals,
    add_cut,
    all_cost_more,
    least,
)
from skbn._branch_and_cut.determinants import (
    bound_of,
    coefficients,
    has_eigenvalues_above,
    is_accurate,
)
from skbn._branch_and_cut.proof import (
    Branch,
    ClusterCut,
    Cut,
    DeterminantCut,
    FamilyCosts,
    LocalCut,
    Node,
    Proof,
    Step,
)
from skbn._core.compile import compile_kernels
from skbn._core.exact_sums import lower_sum, two_product, two_sum, upper_sum

# The bound may be lower than claimed by this times 1 + |cutoff| and the numbers that it adds up.
_TOLERANCE = 1e-11
# By how much the cutoff is lowered, in units of it.
_MARGIN = 2.0**-45
# Larger numbers are refused, so that no sum of products overflows.
_LARGEST = 1e100
# The most columns of a local cut: its table has 2**w entries for each.
_MOST_COLUMNS = 20

Numbers = npt.NDArray[np.float64]
# The columns, bits and table of a cut whose coefficients are known.
_NOTHING = np.empty(0, np.int16), np.empty(0, np.int64), np.empty((0, 0))


class ProofError(RuntimeError):
    """A proof does not show the bound that it claims."""


def certified_bound(families: FamilyCosts, proof: Proof) -> float:
    """Replay a proof and return the bound that follows.

    The bound is the least of the cutoff and of the bounds of the tree's open leaves. It is
    computed with a cutoff that is lower by 2**-45 of it. So every family that a search removed is
    removed here too, although the two round differently, and nothing is claimed about networks at
    the cutoff itself.

    Parameters
    ----------
    families : FamilyCosts
    proof : Proof

    Returns
    -------
    bound : float
        No network of the families costs less. Lower than ``proof.bound`` by at most 1e-11 times
        the sum of 1, of |cutoff| and of the absolute values of what a step adds up.

    Raises
    ------
    ProofError
        If a cut does not hold for all networks, if the tree is malformed, or if a leaf's bound is
        lower than ``proof.bound``. Nodes are numbered in depth-first order, the first child
        before the second.
    """
    compile_kernels(CHECKER_KERNELS)
    return _Replay(_checked_families(families), proof).run()


class _Cut(NamedTuple):
    """A cut that holds.

    The table has only those sets that a family's parents can be: the cache holds more of them. All
    columns of a cluster share one bit.
    """

    columns: npt.NDArray[np.int16]
    bits: npt.NDArray[np.int64]
    table: Numbers
    bound: float
    of_families: Numbers | None = None  # the coefficients of all families in a determinant cut


@dataclass
class _Visit:
    """A node and what is inherited on the path from the root.

    Parameters
    ----------
    allowed : ndarray of int32
        The families that are left, ascending.
    reach : ndarray of shape (m, m + 1), bool
        Whether required arcs lead from one column to another. The last column is for -1.
    bound : float
        The largest bound of a step so far.
    magnitude : float
        The largest sum of absolute values of a step so far.
    depth : int
        How many branches are on the path.
    side : int
        Which child of the branch above this node is.
    """

    node: Node
    allowed: npt.NDArray[np.int32]
    reach: npt.NDArray[np.bool_]
    bound: float = -math.inf
    magnitude: float = 0.0
    depth: int = 0
    above: Branch | None = None
    side: int = 0


class _Replay:
    """The tree of a proof, gone through depth first."""

    def __init__(self, families: FamilyCosts, proof: Proof) -> None:
        self._families = families
        self._m = families.start.size - 1
        self._sets, self._rank = _sets_of_parents(families.parents.shape[1], proof)
        self._cuts = [self._held(cut, i) for i, cut in enumerate(proof.cuts)]
        self._root = proof.root
        if not proof.bound <= proof.cutoff:
            raise ProofError(f"the bound {proof.bound} is above the cutoff {proof.cutoff}")
        scale = next(filter(math.isfinite, (proof.cutoff, proof.bound)), 0.0)
        self._scale = 1.0 + abs(scale)
        is_finite = math.isfinite(proof.cutoff)
        self._cutoff = proof.cutoff - (_MARGIN * abs(scale) if is_finite else 0.0)
        self._claim = proof.bound
        self._name = ""

    def _held(self, given: Cut, i: int) -> _Cut:
        """Return a cut that holds, with what it says of these families only."""
        if isinstance(given, DeterminantCut):
            held = checked_determinant(given, i, self._m)
            own = coefficients(held, self._families.child, self._families.parents)
            return _Cut(*_NOTHING, held.bound, own)
        cut = checked_cut(given, i, self._m)
        used = np.searchsorted(self._sets, cut.table.shape[1])
        return cut._replace(table=np.ascontiguousarray(cut.table[:, self._sets[:used]]))

    def run(self) -> float:
        """Return the bound that follows from the tree."""
        n = self._families.cost.size
        reach = np.zeros((self._m, self._m + 1), dtype=np.bool_)
        pending = [_Visit(self._root, np.arange(n, dtype=np.int32), reach)]
        seen: set[int] = set()
        bound = self._cutoff
        while pending:
            visit = pending.pop()
            self._name = f"node {len(seen)} at depth {visit.depth}"
            if not isinstance(visit.node, Node) or id(visit.node) in seen:
                raise ProofError(f"{self._name} is missing, or in the tree twice")
            seen.add(id(visit.node))
            self._enter(visit)
            if self._closes(visit):
                continue
            if visit.node.branch is None:
                bound = min(bound, self._bound_of_leaf(visit))
            else:
                pending += self._children(visit, visit.node.branch)
        return bound

    def _bound_of_leaf(self, visit: _Visit) -> float:
        if visit.node.children is not None:
            raise ProofError(f"{self._name} has children without a branch")
        if not visit.bound >= self._claim - _TOLERANCE * (self._scale + visit.magnitude):
            raise ProofError(f"{self._name} is a leaf whose bound is only {visit.bound}")
        return visit.bound

    def _children(self, visit: _Visit, branch: Branch) -> list[_Visit]:
        """Return the children of a node, the first one last."""
        parent, child = branch.parent, branch.child
        if not (0 <= parent < self._m and 0 <= child < self._m and parent != child):
            raise ProofError(f"{self._name} branches on an arc from {parent} to {child}")
        children = visit.node.children
        if not isinstance(children, tuple) or len(children) != 2:
            raise ProofError(f"{self._name} has a branch without two children")
        inherited = visit.allowed, visit.reach, visit.bound, visit.magnitude
        return [
            _Visit(children[side], *inherited, visit.depth + 1, branch, side) for side in (1, 0)
        ]

    def _enter(self, visit: _Visit) -> None:
        """Remove what the branch above a node forbids."""
        if visit.above is None:
            return
        parent, child = visit.above
        keep = np.ones(visit.allowed.size, dtype=np.bool_)
        first = self._first(visit)
        self._select(visit, first, keep, child, parent, required=visit.side == 1)
        if visit.side == 1:
            self._require(visit, first, keep, parent, child)
        visit.allowed = visit.allowed[keep]

    def _select(
        self,
        visit: _Visit,
        first: npt.NDArray[np.int64],
        keep: npt.NDArray[np.bool_],
        child: int,
        parent: int,
        required: bool,
    ) -> None:
        """Keep families of a child only with, or only without, a parent."""
        part = slice(first[child], first[child + 1])
        has_parent = (self._families.parents[visit.allowed[part]] == parent).any(axis=1)
        keep[part] &= has_parent == required

    def _require(
        self,
        visit: _Visit,
        first: npt.NDArray[np.int64],
        keep: npt.NDArray[np.bool_],
        parent: int,
        child: int,
    ) -> None:
        """Remove families that would close a cycle with the required arcs, one of them new."""
        reach = visit.reach.copy()
        descendants = reach[child].copy()
        descendants[child] = True
        sources = reach[:, parent].copy()
        sources[parent] = True
        reach[sources] |= descendants
        for x in np.flatnonzero(sources):
            part = slice(first[x], first[x + 1])
            closing = reach[x][self._families.parents[visit.allowed[part]]].any(axis=1)
            keep[part] &= ~closing
        visit.reach = reach

    def _first(self, visit: _Visit) -> npt.NDArray[np.int64]:
        """Return where the allowed families of each column begin."""
        return np.searchsorted(visit.allowed, self._families.start).astype(np.int64)

    def _closes(self, visit: _Visit) -> bool:
        """Replay the steps of a node; return whether they close it."""
        first = self._first(visit)
        for i, step in enumerate(visit.node.steps):
            if (first[1:] == first[:-1]).any():
                break
            terms, excess = self._replay(visit, first, step, f"{self._name}, step {i}")
            bound = lower_sum(terms)
            visit.bound = max(visit.bound, bound)
            visit.magnitude = max(visit.magnitude, math.fsum(map(abs, terms)))
            if bound >= self._cutoff:
                return True
            # With another family in place of its child's cheapest, the bound is higher by the
            # family's excess.
            visit.allowed = visit.allowed[excess < upper_sum([self._cutoff, -bound])]
            first = self._first(visit)
        if (first[1:] == first[:-1]).any():
            return True
        if visit.node.is_enumerated:
            self._enumerate(visit, first)
        return visit.node.is_enumerated

    def _enumerate(self, visit: _Visit, first: npt.NDArray[np.int64]) -> None:
        """Raise an error unless all networks of the families that are left reach the cutoff."""
        if not visit.node.steps:
            raise ProofError(f"{self._name} has no step to enumerate its networks with")
        step, bounds = visit.node.steps[-1], []
        terms, excess = self._replay(visit, first, step, self._name)
        shares = np.zeros((len(excess), len(step.cuts)))
        for k, (i, multiplier) in enumerate(_checked_multipliers(step, self._name)):
            totals = self._totals(visit, first)
            self._add(self._cut(i, self._name), multiplier, totals, visit)
            shares[:, k] = totals.total[0]
            bounds.append(multiplier * self._cuts[i].bound)
        families, cuts = np.array(np.nonzero(shares))
        starts = np.searchsorted(families, np.arange(len(excess) + 1))
        most = upper_sum([self._cutoff, -lower_sum(terms)])
        # What the sums round off: the shares of each cut, and the costs of a network's families.
        m, n_cuts = self._m, len(bounds)
        largest = (m + 2) ** 2 * shares.sum(axis=1).max() + sum(bounds)
        most += EPSILON * (largest + 4 * m * (n_cuts + 1) * most)
        given = self._families
        which = given.parents, visit.allowed, first, given.cost, given.rest
        # A walk through the networks begins without a chosen family.
        reach = np.zeros((m + 1, m, m + 1), dtype=bool)
        reach[0] = np.eye(m, m + 1, dtype=bool)
        children, at = np.zeros((2, m), dtype=np.int64)
        networks = Networks(
            *which,
            excess,
            starts,
            cuts,
            shares[families, cuts],
            np.array(bounds),
            left=np.ones((m + 1, len(excess)), dtype=bool),
            costs=np.zeros(m + 1),
            totals=np.zeros((m + 1, n_cuts)),
            reach=reach,
            children=children,
            at=at,
            is_chosen=np.zeros(m, dtype=bool),
        )
        if not all_cost_more(networks, most, self._cutoff):
            raise ProofError(f"{self._name} has a network that costs less than the cutoff")

    def _totals(self, visit: _Visit, first: npt.NDArray[np.int64]) -> Totals:
        n_terms, bits = np.zeros((2, self._m + 1), dtype=np.int64)
        total = np.zeros((2, visit.allowed.size))
        return Totals(self._families.parents, visit.allowed, first, total, n_terms[:-1], bits)

    def _add(self, cut: _Cut, multiplier: float, totals: Totals, visit: _Visit) -> None:
        """Add a cut's coefficients, times a multiplier, to the totals of families."""
        if cut.of_families is not None:
            product, lacking = two_product(multiplier, cut.of_families[visit.allowed])
            totals.total[0], left = two_sum(totals.total[0], product)
            totals.total[1] += left + lacking
            totals.n_terms[:] += 1
        else:
            add_cut(cut.columns, cut.bits, cut.table, self._rank, multiplier, totals)

    def _replay(
        self, visit: _Visit, first: npt.NDArray[np.int64], step: Step, name: str
    ) -> tuple[list[float], Numbers]:
        """Return the terms of a step's bound, and the families' excesses over the cheapest."""
        families, totals = self._families, self._totals(visit, first)
        terms: list[float] = []
        for i, multiplier in _checked_multipliers(step, name):
            cut = self._cut(i, name)
            if multiplier > 0:
                self._add(cut, multiplier, totals, visit)
                terms += [*two_product(multiplier, cut.bound), -TINY]
        minima, excess = _reduced(families, totals)
        return terms + minima.ravel().tolist(), excess

    def _cut(self, i: int, name: str) -> _Cut:
        if not 0 <= i < len(self._cuts):
            raise ProofError(f"{name} uses cut {i}, which does not exist")
        return self._cuts[i]


def _reduced(families: FamilyCosts, totals: Totals) -> tuple[Numbers, Numbers]:
    """Return the least reduced cost of each child, and by how much others are above it, at least.

    No reduced cost is too high. The second part of a total of k terms, each a product and not
    negative, adds up 2 * k numbers of at most 2**-53 of the total each. Its rounding is below
    4 * k**2 * 2**-106 of the total, and that of the subtractions below 2 * k + 9 times 2**-106 of
    total and cost. More than the sum of these is subtracted.
    """
    first, total, n_families = totals.first[:-1], totals.total, np.diff(totals.first)
    share = np.where(totals.n_terms > 0, (totals.n_terms + 2.0) ** 2 * ROUNDING, 0.0)
    share = np.repeat(share, n_families)
    cost, rest = families.cost[totals.allowed], families.rest[totals.allowed]
    high, left = two_sum(cost, -total[0])
    low = (left + rest) - total[1]
    low -= np.where(share > 0, share * (np.abs(cost) + total[0]) + TINY, 0.0)
    high, low = two_sum(high, low)
    least_high = np.minimum.reduceat(high, first)
    of_high = np.repeat(least_high, n_families)
    least_low = np.minimum.reduceat(np.where(high == of_high, low, np.inf), first)
    over = (high - of_high) + (low - np.repeat(least_low, n_families))
    lost = ROUNDING * (np.abs(high) + np.abs(of_high)) + 2 * EPSILON * over
    return np.array([least_high, least_low]), over - lost


def _checked_multipliers(step: Step, name: str) -> list[tuple[int, float]]:
    """Return the numbers of a step's cuts, each with its multiplier."""
    cuts, multipliers = np.asarray(step.cuts), np.asarray(step.multipliers, dtype=np.float64)
    if cuts.ndim != 1 or cuts.shape != multipliers.shape or not _are_integers(cuts):
        raise ProofError(f"{name} does not have one multiplier for each cut")
    if not _are_in_range(multipliers):
        raise ProofError(f"{name} has a negative or infinite multiplier")
    return list(zip(cuts.tolist(), multipliers.tolist(), strict=True))


def checked_determinant(cut: DeterminantCut, i: int, m: int) -> DeterminantCut:
    """Return a cut with a bound that holds, or raise an error if that is not the cut's own."""
    matrix, offsets = (np.require(a, np.float64, ["C", "W"]) for a in (cut.matrix, cut.offsets))
    starts = np.asarray(cut.starts)
    is_partition = starts.shape == (m + 1,) and _are_integers(starts) and starts[0] == 0
    if not is_partition or (np.diff(starts) < 1).any() or matrix.shape != (starts[-1],) * 2:
        raise ProofError(f"cut {i} has a matrix of shape {matrix.shape}, not one of {m} columns")
    starts = np.require(starts, np.int64, ["C", "W"])
    if offsets.shape != (m,) or not _are_in_range(offsets):
        raise ProofError(f"cut {i} has negative, infinite or missing offsets")
    if not (np.array_equal(matrix, matrix.T) and (matrix.diagonal() <= 1).all()):
        raise ProofError(f"cut {i} has a matrix that is not symmetric, or above 1 on its diagonal")
    if not (cut.eigenvalue > 0 and has_eigenvalues_above(matrix, cut.eigenvalue)):
        raise ProofError(f"cut {i} has a matrix with eigenvalues below {cut.eigenvalue}")
    if not is_accurate(len(matrix), cut.eigenvalue):
        raise ProofError(f"cut {i} has the eigenvalue {cut.eigenvalue}, too small for float64")
    least = bound_of(matrix, offsets)
    if least is None or not -_LARGEST <= cut.bound <= least + _TOLERANCE * (1 + abs(least)):
        raise ProofError(f"cut {i} has a bound of {cut.bound}, but no more than {least} holds")
    return DeterminantCut(matrix, starts, offsets, cut.eigenvalue, min(float(cut.bound), least))


def checked_cut(cut: LocalCut | ClusterCut, i: int, m: int) -> _Cut:
    """Return a cut with a bound that holds, or raise an error if that is not the cut's own."""
    if not isinstance(cut, LocalCut | ClusterCut):
        raise ProofError(f"cut {i} is neither a local cut, nor that of a cluster or determinant")
    columns: npt.NDArray[Any] = np.asarray(cut.columns)
    if columns.ndim != 1 or columns.size == 0 or not _are_integers(columns):
        raise ProofError(f"cut {i} does not have a list of columns")
    if columns.min() < 0 or columns.max() >= m or np.unique(columns).size != columns.size:
        raise ProofError(f"cut {i} has columns that are repeated or out of range")
    columns = np.require(columns, np.int16, ["C", "W"])
    if isinstance(cut, ClusterCut):
        without_parents = np.tile([1.0, 0.0], (columns.size, 1))
        return _Cut(columns, np.ones(columns.size, dtype=np.int64), without_parents, 1.0)
    table, w = np.require(cut.table, np.float64, ["C", "W"]), columns.size
    if w > _MOST_COLUMNS or table.shape != (w, 1 << w):
        raise ProofError(f"cut {i} has a table of shape {table.shape} for {w} columns")
    if not _are_in_range(table):
        raise ProofError(f"cut {i} has a table with negative or infinite entries")
    minimum = lower_sum(least_total(table))
    # The search may have added up the w terms with rounding.
    if not -_LARGEST <= cut.bound <= minimum + w * EPSILON * minimum:
        raise ProofError(f"cut {i} has a bound of {cut.bound}, but a network attains {minimum}")
    return _Cut(columns, 1 << np.arange(w), table, min(float(cut.bound), minimum))


def least_total(table: Numbers) -> tuple[float, float]:
    """Return the least sum of table[i, S_i] over all sets S_i without directed cycles.

    It is in two parts, and not rounded up.
    """
    # cheapest[i, U]: the least of table[i, S] over the subsets S of U.
    cheapest = table.copy()
    for i in range(len(table)):
        without, with_it = np.moveaxis(cheapest.reshape(len(table), -1, 2, 1 << i), 2, 0)
        np.minimum(without, with_it, out=with_it)
    return least(cheapest, np.empty((2, table.shape[1])))


def _sets_of_parents(
    most: int, proof: Proof
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return the sets of at most `most` positions, as bits, and the rank of each among them.

    The ranks do not depend on the number of positions: a set comes after all those that lack its
    highest position.
    """
    widths = [np.size(cut.columns) for cut in proof.cuts if isinstance(cut, LocalCut)]
    w = min(_MOST_COLUMNS, max([2, *widths]))
    fits = np.bitwise_count(np.arange(1 << w)) <= most
    return np.flatnonzero(fits), np.cumsum(fits, dtype=np.int32) - np.int32(1)


def _checked_families(families: FamilyCosts) -> FamilyCosts:
    """Return the families as the kernels take them."""
    start = np.require(families.start, np.int64, ["C", "W"])
    cost, rest = (np.require(a, np.float64, ["C", "W"]) for a in (families.cost, families.rest))
    parents = np.require(families.parents, np.int16, ["C", "W"])
    m, n = start.size - 1, cost.size
    if m < 1 or start[0] != 0 or start[-1] != n or (np.diff(start) < 0).any():
        raise ProofError("the families are not those of one column after the other")
    child = np.repeat(np.arange(m, dtype=np.int16), np.diff(start))
    if not np.array_equal(child, families.child) or parents.ndim != 2 or len(parents) != n:
        raise ProofError("the families do not have one child and one set of parents each")
    are_costs = rest.shape == cost.shape and _are_in_range(np.abs([cost, rest]))
    if ((parents < -1) | (parents >= m)).any() or not are_costs:
        raise ProofError("the families have parents or costs out of range")
    return FamilyCosts(start, cost, parents, child, rest)


def _are_integers(numbers: npt.NDArray[Any]) -> bool:
    return np.issubdtype(numbers.dtype, np.integer)


def _are_in_range(numbers: Numbers) -> bool:
    return bool(((numbers >= 0) & (numbers <= _LARGEST)).all())  # not so for nan

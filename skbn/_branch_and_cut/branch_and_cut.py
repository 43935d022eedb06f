"""Branch and cut: the cheapest network of listed families, and the proof that it is.

A relaxation, in which a column may take a mixture of families, bounds the cost of all networks
from below. Cuts that its solution violates raise the bound, and families that no network below
the cutoff can have are removed. Where cuts bring little any more, an arc is forbidden on one side
and required on the other.
"""

import heapq
import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from skbn._branch_and_cut.branching import Arc, OpenNode, branches, choose_arc, has_all_columns
from skbn._branch_and_cut.cut_kernels import price
from skbn._branch_and_cut.determinant_cuts import Correlations, DeterminantSeparation
from skbn._branch_and_cut.near_kernels import NEAR_KERNELS, list_networks, new_tree
from skbn._branch_and_cut.proof import Branch, Cut, FamilyCosts, Node, NumberedCuts, Proof
from skbn._branch_and_cut.proof_checker import certified_bound
from skbn._branch_and_cut.relaxation import Pricing, Relaxation, choices_of
from skbn._branch_and_cut.separation import (
    SEPARATION_KERNELS,
    KeptCuts,
    Point,
    clusters_of_cycles,
    cuts_towards,
    local_cuts,
)
from skbn._branch_and_cut.walk_kernels import DONE, N_FOUND, N_NODES
from skbn._core.arrays import I1, Booleans, Integers
from skbn._core.resources import ENDED_BY_TIME, ENDED_BY_USER, Threads

BRANCH_AND_CUT_KERNELS = (price, *SEPARATION_KERNELS, *NEAR_KERNELS)

# Columns of the root's windows, which become wider each time the bound stalls. A cut of w columns
# has tables of 2**w entries.
_FIRST_WIDTH, _LAST_WIDTH = 8, 12
# The bound stalls if these rounds together close less than this share of the gap for each round. In
# a node, one round is enough to tell, and it is branched.
_ROUNDS_TO_JUDGE = 8
_LEAST_SHARE_OF_ROUND = 0.006
_LEAST_SHARE_OF_NODE = 0.01
# Cuts are violated by at least the first number, and by at least this share of the most that any
# cut of their window is violated by.
_LEAST_VIOLATION, _ACCEPTED_SHARE = 0.1, 0.8
# Before branching, windows of the second number of columns to the third are searched for smaller
# violations halfway to the network, and then the widest ones for even smaller violations.
_LEAST_VIOLATION_OF_WIDE, _WIDTH_OF_WIDE, _LAST_WIDTH_OF_WIDE = 0.02, 9, 13
_SMALLEST_VIOLATION, _STEP_OF_VIOLATION = 0.002, 3.0
# Cuts are set aside after this many solutions without a multiplier, in the root and in the tree.
_AGE, _AGE_IN_TREE = 5, 8
# The most cuts set aside that return in one round, and the most memory of their tables.
_MOST_KEPT_ADDED, _MOST_BYTES_KEPT = 60, 1 << 28
# The most rounds of cuts in a node of the tree, the windows of each (more if there were no cuts to
# begin with, as then more are missing), and the widths to draw from.
_MOST_ROUNDS_OF_NODE = 6
_WINDOWS_OF_NODE, _MORE_WINDOWS_OF_NODE = 6, 12
_WIDTHS_OF_NODE = (7, 11)
# How much work going through all networks of a node may take, at the root and in the tree: families
# that are left, times choices. One or two tenths of a second.
_WORK_OF_ROOT, _WORK_OF_NODE = 1 << 23, 1 << 22
# The most choices between two looks at the clock. Where a node's work is fewer choices than the
# second number, it is not begun.
_CHOICES, _FEWEST_CHOICES = 1 << 12, 1 << 10
# In the root, families are removed when the gap has shrunk by this share since the last time.
_SHRINKAGE = 0.1
# What is left of the time for the replay of the proof.
_SHARE_OF_CHECK = 0.05
# Nodes are closed at the first of these shares of the tolerance below the best network's cost. The
# proof claims no more than the second: what is between them is room for rounding.
_SHARE_OF_NODES, _SHARE_OF_PROOF = 0.5, 0.75
# The rounding of a bound and of an excess, in units of both: eight times one operation's.
_ROUNDING = 2.0**-49


class Result(NamedTuple):
    """What branch and cut found, and what it proved."""

    chosen: I1  # (m,): the family of each column
    cost: float  # rounded up
    bound: float  # no network costs less, as the replay of the proof shows
    proof: Proof
    n_nodes: int
    # whether the search ended by itself: `bound` is below `cost` by the tolerance at most, unless
    # rounding hides that
    is_finished: bool
    why_ended: str = ENDED_BY_TIME  # if it did not: why, in a sentence


def branch_and_cut(
    families: FamilyCosts,
    network: Integers,
    *,
    tolerance: float,
    deadline: float = math.inf,
    seed: int = 0,
    n_jobs: int | None = None,
    tell: Callable[[float, float, int], None] | None = None,
    ends_on_interrupt: bool = False,
    cuts: Sequence[Cut] = (),
    correlations: Correlations | None = None,
) -> Result:
    """Return the cheapest network of listed families, and a proof.

    Parameters
    ----------
    families : FamilyCosts
    network : ndarray of shape (m,), int64
        The families of a network that costs little.
    tolerance : float
        In nats: networks that are cheaper by less are not looked for.
    deadline : float
        By ``time.monotonic()``, when the search ends without the proof of the optimum.
    seed : int
    n_jobs : int or None
        Number of threads, by joblib's rules. It does not change a bit of the result.
    tell : callable, optional
        Called with the cost of the best network, the bound, and the number of nodes.
    ends_on_interrupt : bool
        Whether Ctrl-C ends the search as the deadline does.
    cuts : sequence of Cut, optional
        Cuts to begin with.
    correlations : Correlations, optional
        Those of the columns, from which determinant cuts are sought.
    """
    why_ended, now = ENDED_BY_TIME, time.monotonic()
    deadline = now + (1 - _SHARE_OF_CHECK) * (deadline - now)
    with Threads(n_jobs) as threads:
        own = families, network, tolerance, deadline, seed, threads, tell, cuts, correlations
        search = _Search(*own)
        try:
            search.run()
        except KeyboardInterrupt:
            if not ends_on_interrupt:
                raise
            why_ended = ENDED_BY_USER
    return search.result()._replace(why_ended=why_ended)


class _Search:
    def __init__(
        self,
        families: FamilyCosts,
        network: Integers,
        tolerance: float,
        deadline: float,
        seed: int,
        threads: Threads,
        tell: Callable[[float, float, int], None] | None,
        cuts: Sequence[Cut],
        correlations: Correlations | None,
    ) -> None:
        self._given = families
        self._deadline = deadline
        self._tell = tell
        self._rng = np.random.default_rng(seed)
        # The last arguments of every search for cuts.
        self._rest = _ACCEPTED_SHARE, self._rng, threads, deadline
        self._relaxation = Relaxation(families, network)
        self._relaxation.deadline = deadline
        parents = families.parents[network].tolist()
        self._separation = DeterminantSeparation(correlations, parents)
        self._relaxation.add_cuts(cuts)
        self._has_first_cuts = len(cuts) > 0
        self._m = families.start.size - 1
        # The number that each family of the relaxation has in the given ones.
        self._numbers = np.arange(families.cost.size)
        self._chosen = network.copy()
        self._cost = families.total(network)
        self._tolerance = tolerance
        # Without any cut, a network costs at least as much as the cheapest families.
        self._bound = float(np.minimum.reduceat(families.cost, families.start[:-1]).sum())
        self._kept = KeptCuts(self._m, _MOST_BYTES_KEPT)
        self._numbered = NumberedCuts()
        self._root = Node([self._numbered.step([], np.empty(0))])
        self._open: list[OpenNode] = []
        self._n_nodes = 0
        self._n_opened = 0
        # What proves the bound while only the root has been searched.
        self._pricing: Pricing | None = None

    @property
    def _cutoff(self) -> float:
        """What a node's bound must reach."""
        return self._cost - _SHARE_OF_NODES * self._tolerance

    def result(self) -> Result:
        self._end_root()
        cutoff = self._cost - _SHARE_OF_PROOF * self._tolerance
        is_finished = self._bound >= self._cutoff
        bound = cutoff if is_finished else min(self._bound, cutoff)
        proof = Proof(self._numbered.cuts, self._root, cutoff, bound)
        return Result(
            self._chosen,
            self._cost,
            certified_bound(self._given, proof),
            proof,
            self._n_nodes,
            is_finished,
        )

    def run(self) -> None:
        self._n_nodes = 1
        if self._search_root():
            self._bound = self._cutoff
        elif time.monotonic() < self._deadline:
            self._search_tree()

    # The root

    def _search_root(self) -> bool:
        """Add cuts until they bring little; return whether that closes the root."""
        relaxation, width = self._relaxation, _FIRST_WIDTH
        bounds: list[float] = []
        gap_of_removal, least = math.inf, _LEAST_VIOLATION
        while True:
            pricing = relaxation.solve_for_all(self._all_families(), self._cutoff)
            self._kept.add(relaxation.drop_idle_cuts(_AGE))
            if pricing.bound > self._bound:
                self._pricing = pricing
            self._bound = max(self._bound, min(pricing.bound, self._cutoff))
            gap = self._cost - self._bound
            if pricing.bound >= self._cutoff:
                return True
            self._report()
            if gap <= (1 - _SHRINKAGE) * gap_of_removal:
                gap_of_removal = gap
                if self._remove_from_root(pricing):
                    return True
            if time.monotonic() >= self._deadline:
                break
            point = relaxation.point()
            self._try(point)
            cuts = self._cuts_of_root(point, width, least)
            relaxation.add_cuts(cuts)
            bounds.append(self._bound)
            if not cuts or self._stalls(bounds):
                more = self._seek_more(width, least)
                if more is None:
                    break
                bounds, (width, least) = [], more
        self._end_root()
        return False

    def _seek_more(self, width: int, least: float) -> tuple[int, float] | None:
        """Return a larger width of windows or a smaller violation; None if it is time to branch."""
        is_wide = least <= _LEAST_VIOLATION_OF_WIDE
        goes_on = is_wide and not self._has_first_cuts  # given cuts were sought that far
        if width < (_LAST_WIDTH_OF_WIDE if goes_on else _LAST_WIDTH):
            return width + 1, least
        if not is_wide:
            return _WIDTH_OF_WIDE, _LEAST_VIOLATION_OF_WIDE
        is_left = goes_on and least > _SMALLEST_VIOLATION
        return (width, least / _STEP_OF_VIOLATION) if is_left else None

    def _remove_from_root(self, pricing: Pricing) -> bool:
        """Drop families that no network below the cutoff has; return whether it is closed."""
        relaxation, allowed = self._relaxation, self._all_families()
        if self._remove(self._root, pricing, allowed):
            self._numbers = self._numbers[allowed]
            if not has_all_columns(relaxation.families, allowed):
                return True
            relaxation.keep(allowed)
            pricing = relaxation.solve_for_all(self._all_families(), self._cutoff)
        return self._enumerate(self._root, pricing, self._all_families(), _WORK_OF_ROOT)

    def _all_families(self) -> Booleans:
        return np.ones(self._numbers.size, dtype=bool)

    def _end_root(self) -> None:
        """Put into the proof what the bound follows from."""
        if self._pricing is not None:
            self._root.steps.append(
                self._numbered.step(self._pricing.cuts, self._pricing.multipliers)
            )
            self._pricing = None

    def _stalls(self, bounds: list[float]) -> bool:
        if len(bounds) <= _ROUNDS_TO_JUDGE:
            return False
        least = _LEAST_SHARE_OF_ROUND * _ROUNDS_TO_JUDGE * (self._cost - self._bound)
        return bounds[-1] - bounds[-_ROUNDS_TO_JUDGE] < least

    # The tree

    def _search_tree(self) -> None:
        """Branch on arcs until no node is open, or time is up."""
        self._n_nodes = 0  # the root is the tree's first node
        self._push(self._bound, self._root, self._all_families(), ())
        while self._open and self._open[0].bound < self._cutoff:
            self._bound = max(self._bound, self._open[0].bound)
            if time.monotonic() >= self._deadline:
                return
            best = heapq.heappop(self._open)
            allowed = np.unpackbits(best.allowed, count=self._numbers.size).astype(bool)
            self._n_nodes += 1
            try:
                if self._search_node(best.node, best.bound, allowed):
                    continue
                bound = self._node_bound
                arc = choose_arc(self._relaxation, allowed, self._cutoff)
                if arc is None and self._enumerate(best.node, self._pricing_of_node, allowed):
                    continue
            except KeyboardInterrupt:
                heapq.heappush(self._open, best)
                raise
            if arc is None:  # time is up
                heapq.heappush(self._open, best)
                return
            nodes = best.node.split(Branch(*arc))
            left = branches(self._relaxation.families, allowed, arc, best.required)
            self._push(bound, nodes[0], left[0], best.required)
            self._push(bound, nodes[1], left[1], (*best.required, arc))
        self._bound = self._cutoff

    def _push(self, bound: float, node: Node, allowed: Booleans, required: tuple[Arc, ...]) -> None:
        self._n_opened += 1
        packed = np.packbits(allowed)
        heapq.heappush(self._open, OpenNode(bound, self._n_opened, node, packed, required))

    def _search_node(self, node: Node, bound: float, allowed: Booleans) -> bool:
        """Add cuts until they bring little, and remove families; return whether it is closed."""
        relaxation = self._relaxation
        if not has_all_columns(self._relaxation.families, allowed):
            return True
        relaxation.allow(allowed)
        previous = -math.inf
        for n_rounds in range(_MOST_ROUNDS_OF_NODE + 1):
            pricing = relaxation.solve_for_all(allowed, self._cutoff)
            if pricing.bound >= self._cutoff:
                node.steps.append(self._numbered.step(pricing.cuts, pricing.multipliers))
                return True
            gain = pricing.bound - previous
            is_last = n_rounds == _MOST_ROUNDS_OF_NODE or time.monotonic() >= self._deadline
            if is_last or gain < _LEAST_SHARE_OF_NODE * (self._cutoff - pricing.bound):
                point = relaxation.point()
                if self._relaxation.network(point) is None or self._try(point):
                    break
            previous = pricing.bound
            self._kept.add(relaxation.drop_idle_cuts(_AGE_IN_TREE))
            point = relaxation.point()
            self._try(point)
            cuts = self._cuts_of_node(point)
            if not cuts:
                break
            relaxation.add_cuts(cuts)
        self._node_bound, self._pricing_of_node = max(bound, pricing.bound), pricing
        self._remove(node, pricing, allowed)
        self._report()
        return not has_all_columns(self._relaxation.families, allowed) or self._enumerate(
            node, pricing, allowed, _WORK_OF_NODE
        )

    # What root and tree share

    def _cuts_of_root(self, point: Point, width: int, least: float) -> list[Cut]:
        """Return cuts that a point violates."""
        cuts = self._cuts_at_hand(point)
        if self._has_first_cuts or least <= _LEAST_VIOLATION_OF_WIDE:
            network = self._given.parents[self._chosen]
            return cuts + cuts_towards(network, point, width, least, *self._rest)
        # Far from the network, as at first, cuts of the point itself are found in less time.
        cuts += clusters_of_cycles(point)
        return cuts + local_cuts(point, width, self._m, least, *self._rest)

    def _cuts_of_node(self, point: Point) -> list[Cut]:
        """Return cuts that a point violates, of fewer windows, by more."""
        cuts = self._cuts_at_hand(point)
        cuts += clusters_of_cycles(point)
        width = int(self._rng.integers(*_WIDTHS_OF_NODE))
        n_windows = _WINDOWS_OF_NODE if self._has_first_cuts else _MORE_WINDOWS_OF_NODE
        cuts += local_cuts(point, width, n_windows, _LEAST_VIOLATION, *self._rest)
        return cuts

    def _cuts_at_hand(self, point: Point) -> list[Cut]:
        """Return cuts that a point violates and that were kept, and one of a determinant."""
        own = self._relaxation.cuts, self._relaxation.multipliers
        kept = self._kept.violated(point, _LEAST_VIOLATION, _MOST_KEPT_ADDED)
        return kept + self._separation.violated(point, *own)

    def _remove(self, node: Node, pricing: Pricing, allowed: Booleans) -> bool:
        """Remove families that no network below the cutoff has, by a step of the proof.

        Returns whether there are any.
        """
        # FamilyCosts that the replay keeps because of its own rounding must be kept here.
        margin = _ROUNDING * (abs(self._cutoff) + abs(pricing.bound))
        reached = (1 - _ROUNDING) * pricing.excess - margin
        is_gone = allowed & (reached > self._cutoff - pricing.bound)
        node.steps.append(self._numbered.step(pricing.cuts, pricing.multipliers))
        allowed &= ~is_gone
        return bool(is_gone.any())

    def _enumerate(
        self, node: Node, pricing: Pricing, allowed: Booleans, most: float = math.inf
    ) -> bool:
        """Go through all networks of a node with limited work; return whether that closes it.

        The cuts' multipliers bound the costs of networks that share some families.
        """
        which, families = np.flatnonzero(allowed), self._relaxation.families
        n_choices = int(min(_CHOICES * len(which), most)) // len(which)
        if n_choices < _FEWEST_CHOICES:
            return False
        choices, least = choices_of(families, which, pricing.cuts, pricing.multipliers)
        tree, found = new_tree(choices, least), np.empty((1, self._m), dtype=np.int32)
        # Networks that only rounding may bring below the cutoff are looked at too.
        size = np.abs(families.cost).max() + np.abs(choices.shares).sum(initial=0.0)
        cutoff = self._cutoff + _ROUNDING * self._m * size
        while not node.is_enumerated and tree.numbers[N_NODES] * len(which) < most:
            state = list_networks(choices, tree, cutoff, found, n_choices)
            node.is_enumerated = state == DONE
            if tree.numbers[N_FOUND]:
                self._take(which[found[0]])
                tree.numbers[N_FOUND] = 0
            if time.monotonic() >= self._deadline:
                break
        if node.is_enumerated:
            node.steps.append(self._numbered.step(pricing.cuts, pricing.multipliers))
            self._pricing = None
        return node.is_enumerated

    def _try(self, point: Point) -> bool:
        """Keep the point's network if it is one, and the best; return whether it is one."""
        chosen = self._relaxation.network(point)
        if chosen is None or clusters_of_cycles(point):
            return False
        self._take(chosen)
        return True

    def _take(self, chosen: Integers) -> None:
        """Keep a network, by its families, if it is the best."""
        cost = self._relaxation.families.total(chosen)
        if cost < self._cost:
            self._cost, self._chosen = cost, self._numbers[chosen]

    def _report(self) -> None:
        if self._tell is not None:
            self._tell(self._cost, self._bound, self._n_nodes)

"""A kernel that lists all networks of listed families up to a cost.

A network costs the sum of its families' reduced costs and, for each cut, of the multiplier times
its coefficients. These are at least the cut's bound, and at least those of the families chosen so
far: both make a bound for all networks that have these families. The search chooses a family of
one child after the other, next of the child that has fewest left, and drops those that would cost
too much or close a directed cycle.
"""

from typing import NamedTuple

import numpy as np
from numba import float64, int32, int64

from skbn._branch_and_cut.walk_kernels import DONE, FULL, LEVEL, N_FOUND, N_NODES, PAUSED
from skbn._core.arrays import B1, B2, F1, F2, I1, U2, U3
from skbn._core.compile import inner_kernel, kernel, pasted_kernel, tuple_type


class Choices(NamedTuple):
    """The families that networks are made of."""

    start: I1  # (m + 1,): child x has the families start[x], ..., start[x + 1] - 1
    excess: F1  # (n_families,): reduced costs, less the least of the child
    parents: U2  # (n_families, n_words): those among the children, a bit each
    first: I1  # (n_families + 1,): where the cuts of each family begin
    cuts: I1  # (n,)
    shares: F1  # (n,): multipliers times coefficients
    bounds: F1  # (n_cuts,): multipliers times bounds


class Tree(NamedTuple):
    """The state of a search, so that it can pause. A level is a child whose family is chosen."""

    is_left: B2  # (m + 1, n_families): which families may be chosen
    totals: F2  # (m + 1, n_cuts): what the chosen families share of each cut
    # (m + 1, m, n_words): the children that a directed path leads to from each one, and itself
    reached: U3
    costs: F1  # (m + 1,): what networks with the chosen families cost at least
    child: I1  # (m + 1,): the child of each level, and its family
    chosen: I1  # (m + 1,)
    numbers: I1  # (4,): as in `Walk`
    is_done: B1  # (m,): whether a family of each child was chosen


_CHOICES = tuple_type(Choices)
_TREE = tuple_type(Tree)


def new_tree(choices: Choices, cost: float) -> Tree:
    """Return the state in which a search begins; each network costs at least a number."""
    m, (n, n_words) = len(choices.start) - 1, choices.parents.shape
    reached = np.zeros((m + 1, m, n_words), dtype=np.uint64)
    for x in range(m):
        reached[0, x, x // 64] = np.uint64(1 << x % 64)
    child = np.full(m + 1, np.diff(choices.start).argmin())
    return Tree(
        np.ones((m + 1, n), dtype=bool),
        np.zeros((m + 1, len(choices.bounds))),
        reached,
        np.full(m + 1, cost),
        child,
        choices.start[child] - 1,
        np.zeros(4, dtype=np.int64),
        np.zeros(m, dtype=bool),
    )


@kernel(_CHOICES, _TREE, float64, int32[:, ::1], int64, seconds=0.8)
def list_networks(choices, tree, most, found, n_nodes):
    """List the networks that cost up to a number.

    Parameters
    ----------
    choices : Choices
    tree : Tree
        Where the search begins, or goes on.
    most : float
    found : ndarray of shape (n, m), int32
        Filled with the families of networks.
    n_nodes : int
        It pauses after this many choices.

    Returns
    -------
    state : int
        PAUSED, FULL if there is no room for a network, or DONE.
    """
    numbers, chosen, m = tree.numbers, tree.chosen, choices.start.size - 1
    end = numbers[N_NODES] + n_nodes
    while numbers[LEVEL] >= 0:
        if numbers[N_NODES] >= end:
            return PAUSED
        level = numbers[LEVEL]
        f, last = chosen[level] + 1, choices.start[tree.child[level] + 1]
        while f < last and not tree.is_left[level, f]:
            f += 1
        if f == last:
            tree.is_done[tree.child[level]] = False
            numbers[LEVEL] -= 1
            continue
        if level + 1 == m and numbers[N_FOUND] == found.shape[0]:
            return FULL
        chosen[level] = f
        numbers[N_NODES] += 1
        if _choose(choices, tree, level, f, most):
            if level + 1 < m:
                numbers[LEVEL] += 1
                chosen[level + 1] = choices.start[tree.child[level + 1]] - 1
            else:
                for i in range(m):
                    found[numbers[N_FOUND], tree.child[i]] = chosen[i]
                numbers[N_FOUND] += 1
    return DONE


@pasted_kernel
def _copy(source, target):
    for i in range(target.size):
        target[i] = source[i]


@pasted_kernel
def _choose(choices, tree, level, f, most):
    """Fill the next level: a family is chosen. Return whether all other children have some left."""
    m, x = choices.start.size - 1, tree.child[level]
    cost = tree.costs[level] + _increase(choices, tree.totals[level], f)
    if cost > most:
        return False
    tree.costs[level + 1] = cost
    totals, is_left, reached = tree.totals[level + 1], tree.is_left[level + 1], tree.reached
    _copy(tree.totals[level], totals)
    for i in range(choices.first[f], choices.first[f + 1]):
        totals[choices.cuts[i]] += choices.shares[i]
    for y in range(m):
        is_below = _meet(choices.parents[f], reached[level, y])
        for i in range(reached.shape[2]):
            more = reached[level, x, i] if is_below else np.uint64(0)
            reached[level + 1, y, i] = reached[level, y, i] | more
    _copy(tree.is_left[level], is_left)
    tree.is_done[x], fewest = True, choices.excess.size + 1
    for y in range(m):
        n = 0
        if tree.is_done[y]:
            continue
        for g in range(choices.start[y], choices.start[y + 1]):
            if is_left[g]:
                is_left[g] = (
                    not _meet(choices.parents[g], reached[level + 1, y])
                    and cost + _increase(choices, totals, g) <= most
                )
                n += is_left[g]
        if n < fewest:
            tree.child[level + 1], fewest = y, n
    return fewest > 0


@inner_kernel
def _increase(choices, totals, f):
    """Return by how much more networks cost with a family."""
    more = choices.excess[f]
    for i in range(choices.first[f], choices.first[f + 1]):
        total, bound = totals[choices.cuts[i]], choices.bounds[choices.cuts[i]]
        more += max(total + choices.shares[i], bound) - max(total, bound)
    return more


@inner_kernel
def _meet(one, other):
    """Whether two sets of bits have some in common."""
    common = np.uint64(0)
    for i in range(one.size):
        common |= one[i] & other[i]
    return common != 0


NEAR_KERNELS = (list_networks,)

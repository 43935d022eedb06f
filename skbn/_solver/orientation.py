"""The best directions of given pairs of columns: what an averaged network has between them.

All pairs stay joined. So an order of the columns decides everything: the parents of a column are
those of its neighbours that come before it, and the score of an order is

    sum over the columns x of local(x, the neighbours of x that come before x).

Connected parts of the graph of pairs are independent of each other. In a part, the best order ends
with the column x for which ``best(part - x) + local(x, its neighbours in part - x)`` is largest,
which a walk over all subsets of the part finds. In larger parts such walks direct the pairs around
one column after another, until that gains nothing.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cache
from heapq import heapify, heappop, heappush

import networkx as nx
import numpy as np

from skbn._core.arrays import Floats
from skbn._core.graphs import descendants_of
from skbn._core.resources import one_blas_thread
from skbn._core.subsets import mask_of, members_of
from skbn._scores.scorer import FamilyScorer
from skbn._solver.candidate_families import CandidateScores
from skbn._solver.constraints import Constraints

# The most columns of a part that one walk directs, the most of one in a larger part, and the most
# neighbours of a column whose subsets are all scored at once there.
_LARGEST_EXACT, _WINDOW, _MOST_NEIGHBOURS = 18, 8, 12
# In nats: the shares of networks with an edge decide between directions of nearly equal scores.
_TIE, _LEAST_GAIN = 1e-5, 1e-9


def best_directions(
    scorer: FamilyScorer,
    constraints: Constraints,
    pairs: Sequence[tuple[int, int]],
    shares: Floats,
    log_odds: Floats | None = None,
) -> tuple[list[int], bool]:
    """Return the highest-scoring acyclic network that joins given pairs, and no others.

    `pairs`: the surest first. A pair is left out if the constraints allow no network with it and
        those that were kept before it.
    `shares`: (m, m), how probable, or how frequent, the edge i -> j is. It decides between equal
        scores.

    Returns `parents`; `is_best`: whether no network of these pairs scores higher; otherwise a local
    search found it.
    """
    graph, before = _compatible(constraints, pairs), 0
    late = {x: sum(shares[z, x] - shares[x, z] for z in graph[x]) for x in graph}
    joined = [mask_of(graph[x]) if x in graph else 0 for x in range(len(shares))]
    parents = [0] * len(joined)
    for x in _order(constraints, graph, late):
        parents[x] = joined[x] & before
        before |= 1 << x
    odds = _TIE * shares + (0 if log_odds is None else log_odds)
    scores = _Scores(CandidateScores(scorer, constraints, odds), joined)
    parts = [mask_of(part) for part in nx.connected_components(graph)]
    with one_blas_thread():
        for part in parts:
            if part.bit_count() <= _LARGEST_EXACT:
                _redirect(part, scores, parents)
            else:
                _climb(part, scores, parents)
    return parents, all(part.bit_count() <= _LARGEST_EXACT for part in parts)


class _Scores:
    """The local scores of columns whose parents are some of their neighbours."""

    def __init__(self, score: CandidateScores, joined: list[int]) -> None:
        self.joined = joined
        self._all = cache(lambda x: score(x, members_of(joined[x])))
        self._one = cache(lambda x, mask: score.of_one(x, members_of(mask)))

    def of_subsets(self, x: int, free: list[int], fixed: int) -> Floats:
        """Return the scores with each subset of some neighbours, beside fixed ones, as parents."""
        sets = np.arange(1 << len(free))
        if not 1 < self.joined[x].bit_count() <= max(len(free), _MOST_NEIGHBOURS):
            chosen = [mask_of(free[i] for i in members_of(k)) for k in range(len(sets))]
            return np.array([self._one(x, fixed | mask) for mask in chosen])
        place = {z: i for i, z in enumerate(members_of(self.joined[x]))}
        at = np.full(len(sets), mask_of(place[z] for z in members_of(fixed)))
        for i, z in enumerate(free):
            at |= (sets >> i & 1) << place[z]
        return np.asarray(self._all(x)[at])


def _redirect(part: int, scores: _Scores, parents: list[int]) -> bool:
    """Direct the pairs within a part in the best way, and return whether that gains.

    No path leads out of the part and back into it, so that no cycle can pass through other columns.
    """
    columns = members_of(part)
    sets = np.arange(1 << len(columns))
    best, last = np.full(len(sets), -np.inf), np.zeros(len(sets), dtype=np.int64)
    size, tables, now = np.bitwise_count(sets), [], 0.0
    for x in columns:
        free = members_of(scores.joined[x] & part)
        tables.append(scores.of_subsets(x, free, parents[x] & ~part))
        now += tables[-1][mask_of(i for i, z in enumerate(free) if parents[x] >> z & 1)]
        places = [columns.index(z) for z in free]
        tables[-1] = tables[-1][sum(((sets >> p & 1) << i for i, p in enumerate(places)), 0 * sets)]
    best[0] = 0.0
    for k in range(len(columns)):
        layer = sets[size == k]
        for i in reversed(range(len(columns))):
            before = layer[layer >> i & 1 == 0]
            value, after = best[before] + tables[i][before], before | 1 << i
            is_better = value > best[after] + _LEAST_GAIN
            best[after[is_better]], last[after[is_better]] = value[is_better], i
    if not best[-1] > now + _LEAST_GAIN:
        return False
    left = part
    at = len(sets) - 1
    while left:
        i = int(last[at])
        at ^= 1 << i
        left ^= 1 << columns[i]
        parents[columns[i]] &= ~part
        parents[columns[i]] |= scores.joined[columns[i]] & left
    return True


def _climb(part: int, scores: _Scores, parents: list[int]) -> None:
    """Direct the pairs around one column after another, until that gains nothing."""
    waiting, after = dict.fromkeys(members_of(part)), descendants_of(parents)
    while waiting:
        x = next(iter(waiting))
        del waiting[x]
        window = _window(x, scores.joined, after)
        if _redirect(window, scores, parents):
            after = descendants_of(parents)
            waiting |= dict.fromkeys(members_of(window))


def _window(x: int, joined: list[int], after: list[int]) -> int:
    """Return columns around x, without a path that leads out of them and back."""
    window, queue = 1 << x, [x]
    for y in queue:
        for z in members_of(joined[y] & ~window):
            wider, follow = window | 1 << z, 0
            for w in members_of(wider):
                follow |= after[w]
            wider |= mask_of(v for v in members_of(follow & ~wider) if after[v] & wider)
            if wider.bit_count() <= _WINDOW:
                queue += members_of(wider & ~window)
                window = wider
    return window


# What the constraints allow


def _compatible(constraints: Constraints, pairs: Sequence[tuple[int, int]]) -> nx.Graph:
    """Return the graph of the pairs that some network joins, as `best_directions` says."""
    kept, rest = list[tuple[int, int]](), [*pairs]

    def has_no_order(n: int) -> bool:
        graph = nx.Graph([*kept, *rest[:n]])
        return len(_order(constraints, graph, {})) < len(graph)

    while has_no_order(len(rest)):
        n = bisect_left(range(1, len(rest)), True, key=has_no_order)
        kept, rest = [*kept, *rest[:n]], rest[n + 1 :]
    return nx.Graph([*kept, *rest])


def _order(constraints: Constraints, graph: nx.Graph, late: Mapping[int, float]) -> list[int]:
    """Return an order that the constraints allow, or as many last columns of one as fit into any.

    Columns that may come last are taken away, those with the largest values of `late` first. Taking
    one away leaves the others fewer neighbours, so that no choice makes another impossible.
    """
    left = {x: {*graph[x]} for x in graph}

    def may_be_last(x: int) -> bool:
        allowed = constraints.allowed[x]
        return len(left[x]) <= constraints.max_parents and all(allowed >> z & 1 for z in left[x])

    ready = [(-late.get(x, 0.0), -x) for x in graph if may_be_last(x)]
    heapify(ready)
    order, seen = [], {-x for _, x in ready}
    while ready:
        order.append(-heappop(ready)[1])
        for z in left[order[-1]]:
            left[z].remove(order[-1])
            if z not in seen and may_be_last(z):
                seen.add(z)
                heappush(ready, (-late.get(z, 0.0), -z))
    return order[::-1]

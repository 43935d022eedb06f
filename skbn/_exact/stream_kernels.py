"""Kernels of streams and of their heaps; `near_optimal` says what a stream is.

All streams share a few tables that grow at their ends, and refer to each other's rows:

- *networks*: the next network of the same stream (`NEXT`, -1 if it is not known), and the family of
  each column, or -1 if the network does not have the column;
- *heap*: what may come next in a stream. Each stream's nodes form a skew heap, a binary tree in
  which no node has a higher score than the node above it;
- *searches*: what is known of a child's parent sets among some candidates: the best of them, and
  the row of the search without one of its columns (see `_deepest`). A list of the best parent sets
  may belong to a search;
- *families*: score and parents, in runs that are each a list. `inside` has the parents as a mask of
  the search's columns.

A node of a heap stands for the network of a sink, a network on the other columns, and a family of
the sink. As long as only an upper bound of its score is known, its `KIND` says what is to be found
out:

- `FIRST`: the best parents of the sink among the other columns;
- `BEST`: the best network on the other columns;
- `LATER_FAMILY`: the family after the one of this rank in its list;
- `LATER_REST`: the network after this one on the other columns;
- `KNOWN`: nothing, the score is known.
"""

from __future__ import annotations

import numpy as np
from numba import float64, int32, int64, uint64

from skbn._core.compile import inner_kernel, kernel
from skbn._core.subsets import bit_length
from skbn._exact.network_key_kernels import mix

__all__ = [
    "lower_bound",
    "merge_heaps",
    "place_streams",
    "push_node",
    "stream_of",
    "take_top",
]

# Columns of the table of networks. The rest are for the sinks.
NEXT, FAMILIES = range(2)
# Columns of the table of the heap's nodes; the last two are the nodes below, or -1.
KIND, OF_SINK, OF_REST, OF_RANK, LEFT, RIGHT = range(6)
FIRST, BEST, LATER_FAMILY, LATER_REST, KNOWN = range(5)
# Columns of the table of streams: the mask of the columns, the heap's top, the first and the last
# network, or -1.
COLUMNS, TOP, OLDEST, NEWEST = range(4)
# Columns of the table of searches: the mask of the best parents, and where the list begins and ends
# among the families, BEGIN being -1 without one. Then, for each column, the search without it.
PARENTS, BEGIN, END, IS_COMPLETE, WITHOUT = range(5)
# How many networks, nodes and streams there are.
N_NETWORKS, N_NODES, N_STREAMS = range(3)
# What `next_network` returns.
FOUND, EXHAUSTED, NEEDS_SEARCH, NEEDS_LIST, NEEDS_ROOM, WAITS, GOES_ON = range(7)


@inner_kernel
def push_node(heap, heap_scores, streams, counts, stream, kind, x, rest, rank, score):
    """Add a node to the heap of a stream."""
    node = counts[N_NODES]
    counts[N_NODES] += 1
    heap[node, KIND] = kind
    heap[node, OF_SINK] = x
    heap[node, OF_REST] = rest
    heap[node, OF_RANK] = rank
    heap[node, LEFT] = -1
    heap[node, RIGHT] = -1
    heap_scores[node] = score
    streams[stream, TOP] = merge_heaps(heap, heap_scores, streams[stream, TOP], node)


@inner_kernel
def take_top(heap, scores, streams, stream):
    """Take the top off a stream's heap and return it."""
    node = streams[stream, TOP]
    streams[stream, TOP] = merge_heaps(heap, scores, heap[node, LEFT], heap[node, RIGHT])
    heap[node, LEFT] = -1
    heap[node, RIGHT] = -1
    return node


@inner_kernel
def merge_heaps(heap, scores, a, b):
    """Return the top of two skew heaps put together (Sleator & Tarjan 1986)."""
    top = np.int64(-1)
    above = np.int64(-1)
    while a >= 0 and b >= 0:
        if scores[b] > scores[a]:
            a, b = b, a
        if above < 0:
            top = a
        else:
            heap[above, LEFT] = a
        # The right side is merged with b, and becomes the left one.
        above, a = a, heap[a, RIGHT]
        heap[above, RIGHT] = heap[above, LEFT]
    left = max(a, b)
    if above < 0:
        return left
    heap[above, LEFT] = left
    return top


@kernel(
    int64,
    int32[:, ::1],
    float64[::1],
    uint64[:, ::1],
    int64[:, ::1],
    float64[::1],
    int64[:, ::1],
    int64[:, ::1],
    int64[:, ::1],
    int64[::1],
    int64[:, ::1],
    float64[::1],
    float64[::1],
    int64[::1],
)
def stream_of(
    columns,
    networks,
    network_scores,
    keys,
    heap,
    heap_scores,
    streams,
    without,
    search_of,
    places,
    searches,
    search_scores,
    best_network_score,
    counts,
):
    """Return the row of the stream of a set of columns, which is added if there is none.

    It is added with the best network of each sink, or a bound of it. The tables are those of
    `next_network`.
    """
    place = _place_of_stream(places, streams, columns)
    if places[place] >= 0:
        return places[place]
    stream = counts[N_STREAMS]
    counts[N_STREAMS] += 1
    streams[stream, COLUMNS] = columns
    streams[stream, TOP] = -1
    streams[stream, OLDEST] = -1
    streams[stream, NEWEST] = -1
    places[place] = stream
    n_sinks = 0
    for x in range(without.shape[1]):
        without[stream, x] = -1
        if columns >> x & 1:
            n_sinks += 1
            others = columns ^ 1 << x
            row, missing = _deepest(searches, x, others)
            search_of[stream, x] = row
            kind = BEST if missing < 0 else FIRST
            score = best_network_score[others] + search_scores[row]
            if score > -np.inf:
                push_node(heap, heap_scores, streams, counts, stream, kind, x, -1, 0, score)
    if n_sinks == 0:
        empty = counts[N_NETWORKS]
        counts[N_NETWORKS] += 1
        networks[empty] = -1
        network_scores[empty] = best_network_score[columns]
        keys[empty, 0] = 0
        keys[empty, 1] = 0
        streams[stream, OLDEST] = empty
        streams[stream, NEWEST] = empty
    return stream


@inner_kernel
def _place_of_stream(places, streams, columns):
    """Return where a hash table has the row of a set's stream, or -1 to be replaced by it."""
    i = np.int64(mix(np.uint64(columns)) & np.uint64(places.size - 1))
    while places[i] >= 0 and streams[places[i], COLUMNS] != columns:
        i = (i + 1) & (places.size - 1)
    return i


@kernel(int64[::1], int64[:, ::1], int64[::1])
def place_streams(places, streams, counts):
    """Fill the hash table of the streams' rows, all of whose entries are -1."""
    for stream in range(counts[N_STREAMS]):
        places[_place_of_stream(places, streams, streams[stream, COLUMNS])] = stream


@inner_kernel
def lower_bound(
    heap, heap_scores, streams, search_of, searches, search_scores, best_network_score, stream, work
):
    """Lower the bound at the top of a heap, of kind `FIRST`, as far as the searches allow.

    Returns `NEEDS_SEARCH` if they do not, with the column to leave out as in `next_network`.
    """
    node = take_top(heap, heap_scores, streams, stream)
    x = heap[node, OF_SINK]
    others = streams[stream, COLUMNS] ^ 1 << x
    row, missing = _deepest(searches, search_of[stream, x], others)
    score = best_network_score[others] + search_scores[row]
    is_lower = score < heap_scores[node]
    search_of[stream, x] = row
    heap_scores[node] = score
    if missing < 0:
        heap[node, KIND] = BEST
    if score > -np.inf:
        streams[stream, TOP] = merge_heaps(heap, heap_scores, streams[stream, TOP], node)
    if is_lower or missing < 0:
        return GOES_ON
    work[work.size - 3] = missing
    return NEEDS_SEARCH


@inner_kernel
def _deepest(searches, row, candidates):
    """Return the last search for some candidates from `row` on, and a column to leave out, or -1.

    The best parents among some columns are the best among fewer of them too, as long as none of
    these parents is left out. If one is, the search without this column is asked in the same way.
    """
    while True:
        lacking = searches[row, PARENTS] & ~candidates
        if lacking == 0:
            return row, -1
        missing = bit_length(lacking & -lacking) - 1
        if searches[row, WITHOUT + missing] < 0:
            return row, missing
        row = searches[row, WITHOUT + missing]

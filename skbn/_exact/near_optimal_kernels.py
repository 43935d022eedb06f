"""The kernel that finds the next network of a stream; `near_optimal` says what a stream is.

All streams share a few tables that grow at their ends, and refer to each other's rows:

- *networks*: the sink, its family, the network without it (`REST`), and the next network of the
  same stream (`NEXT`, -1 if it is not known);
- *families*: score and parents, in runs that are each a list of a child's parent sets;
- *heap*: what may come next in a stream. Each stream's nodes form a skew heap, a binary tree in
  which no node has a higher score than the node above it.

A node stands for the network of a sink, a network on the other columns, and a family of the sink.
As long as only an upper bound of its score is known, its `KIND` says what is to be found out:

- `FIRST`: whether the bound is the score of the best network with this sink;
- `BEST`: the best network on the other columns;
- `LATER_FAMILY`: the family after the one of this rank in its list;
- `LATER_REST`: the network after this one on the other columns;
- `KNOWN`: nothing, the score is known.
"""

from __future__ import annotations

import numpy as np
from numba import float64, int64, uint64

from skbn._core.compile import inner_kernel, kernel

__all__ = ["copy_keys", "next_network", "push_node", "set_bound"]

# Columns of the table of networks.
SINK, FAMILY, REST, NEXT = range(4)
# Columns of the table of the heap's nodes; the last two are the nodes below, or -1.
KIND, OF_SINK, OF_REST, OF_RANK, LEFT, RIGHT = range(6)
FIRST, BEST, LATER_FAMILY, LATER_REST, KNOWN = range(5)
# Columns of the table of streams: the heap's top, the first and the last network, or -1.
TOP, OLDEST, NEWEST = range(3)
# Columns of the table of lists.
BEGIN, END, IS_COMPLETE = range(3)
# How many networks and nodes there are, and how many keys have been seen.
N_NETWORKS, N_NODES, N_SEEN = range(3)
# What `next_network` returns.
FOUND, EXHAUSTED, NEEDS_BOUND, NEEDS_STREAM, NEEDS_LIST, NEEDS_ROOM, WAITS = range(7)

# Constants of the hash function splitmix64 (Steele, Lea & Flood 2014), and two salts.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTOR_1 = np.uint64(0xBF58476D1CE4E5B9)
_FACTOR_2 = np.uint64(0x94D049BB133111EB)
_SHIFT_1 = np.uint64(30)
_SHIFT_2 = np.uint64(27)
_SHIFT_3 = np.uint64(31)
_TWO_BYTES = np.uint64(16)
_FOUR_BYTES = np.uint64(32)
_ONE = np.uint64(1)
_WORD = 64
# In a key, what stands for the child of an edge, where v-structures have the number of theirs.
_NO_CHILD = 0xFFFF


@kernel(
    int64,
    int64[:, ::1],
    float64[::1],
    uint64[:, ::1],
    int64[:, ::1],
    float64[::1],
    int64[:, ::1],
    int64[:, ::1],
    int64[:, ::1],
    int64[:, ::1],
    float64[::1],
    uint64[:, ::1],
    int64[::1],
    int64[::1],
    uint64[:, ::1],
    int64[::1],
    int64,
    int64[::1],
)
def next_network(
    target,
    networks,
    network_scores,
    keys,
    heap,
    heap_scores,
    streams,
    without,
    list_of,
    lists,
    family_scores,
    parents,
    numbers,
    sinks,
    seen,
    counts,
    are_classes,
    work,
):
    """Find the next network of a stream, or say what has to be made for it first.

    Parameters
    ----------
    target : int
        The row of the stream.
    networks, network_scores, keys, heap, heap_scores, streams, lists, family_scores : ndarray
        The tables; `keys` has two words for each network.
    without, list_of : ndarray of shape (n_streams, n_sinks), int64
        For each stream and sink, the stream without the sink, and the list of the sink's parent
        sets among the other columns; -1 if there is none yet.
    parents : ndarray of shape (n_families, n_words), uint64
        The masks of the families' parents, in words of 64 bits.
    numbers : ndarray of shape (n_sinks,), int64
        The sinks' numbers in these masks.
    sinks : ndarray of shape (n_numbers,), int64
        The sink of each number; -1 for numbers that no sink has.
    seen : ndarray of shape (a power of 2, 2), uint64
        A hash table of the keys of all streams' networks.
    counts : ndarray of shape (3,), int64
    are_classes : int
        1 if only the best network of each equivalence class is to be found, else 0.
    work : ndarray of shape (n_sinks + 4,), int64
        Memory for the streams that wait for others. In the last two entries, the stream and the
        sink are returned for which something is missing.

    Returns
    -------
    status : int
        `FOUND`, `EXHAUSTED`, or what is missing: `NEEDS_BOUND`, `NEEDS_STREAM`, `NEEDS_LIST`, for
        a stream and a sink, or `NEEDS_ROOM` at the ends of the tables.
    """
    members = np.empty(sinks.size, np.int64)
    family_of = np.empty(numbers.size, np.int64)
    depth = 0
    work[0] = target
    status = FOUND
    while depth >= 0:
        stream = work[depth]
        node = streams[stream, TOP]
        if node < 0:
            status = EXHAUSTED
            depth -= 1
            continue
        if _is_full(networks, heap, seen, counts):
            return NEEDS_ROOM
        x = heap[node, OF_SINK]
        others, row = without[stream, x], list_of[stream, x]
        if heap[node, KIND] == KNOWN:
            family, rest = lists[row, BEGIN] + heap[node, OF_RANK], heap[node, OF_REST]
            family_score = family_scores[family]
            _push_successors(
                heap, heap_scores, streams, counts, networks, stream, others, family_score
            )
            new = counts[N_NETWORKS]
            network_scores[new] = network_scores[rest] + family_score
            networks[new, SINK] = x
            networks[new, FAMILY] = family
            networks[new, REST] = rest
            networks[new, NEXT] = -1
            if are_classes:
                _class_key(keys, new, networks, parents, numbers, sinks, members, family_of)
            else:
                _network_key(keys, new, networks, parents)
            if _see(seen, counts, keys[new, 0] ^ _mix(np.uint64(stream)), keys[new, 1]):
                _append(networks, streams, counts, stream)
                status = FOUND
                depth -= 1
        else:
            status = _find_out(heap, heap_scores, streams, networks, lists, stream, others, row)
            if status == WAITS:
                depth += 1
                work[depth] = others
            elif status != FOUND:
                work[work.size - 2] = stream
                work[work.size - 1] = x
                return status
            elif heap[node, KIND] == KNOWN:
                family = lists[row, BEGIN] + heap[node, OF_RANK]
                score = network_scores[heap[node, OF_REST]] + family_scores[family]
                heap_scores[node] = score
                streams[stream, TOP] = _merge(heap, heap_scores, streams[stream, TOP], node)
    return status


@inner_kernel
def _is_full(networks, heap, seen, counts):
    """Whether a table may be too small for one network more."""
    return (
        counts[N_NETWORKS] == networks.shape[0]
        or counts[N_NODES] == heap.shape[0]
        or 2 * counts[N_SEEN] >= seen.shape[0]
    )


@inner_kernel
def _push_successors(heap, heap_scores, streams, counts, networks, stream, others, family_score):
    """Put what may come after the network at the top of a heap in its place.

    Each pair of a network on the other columns and a family comes after one other pair: the one
    with the family before, or, for the first family, with the network before.
    """
    node = _take(heap, heap_scores, streams, stream)
    heap[node, KIND] = LATER_FAMILY
    streams[stream, TOP] = _merge(heap, heap_scores, streams[stream, TOP], node)
    rest, rank = heap[node, OF_REST], heap[node, OF_RANK]
    top = streams[others, TOP]
    if rank == 0 and (networks[rest, NEXT] >= 0 or top >= 0):
        score = heap_scores[node]
        if networks[rest, NEXT] < 0:
            score = heap_scores[top] + family_score
        x = heap[node, OF_SINK]
        push_node(heap, heap_scores, streams, counts, stream, LATER_REST, x, rest, rank, score)


@inner_kernel
def _find_out(heap, heap_scores, streams, networks, lists, stream, others, row):
    """Find out which network the top of a heap stands for, and take it off.

    It is made `KNOWN` if there is such a network. Returns `FOUND`, what is missing, or `WAITS` if
    the stream of the other columns has to find a network first; then it stays where it is.
    """
    node = streams[stream, TOP]
    kind, rest, rank = heap[node, KIND], heap[node, OF_REST], heap[node, OF_RANK]
    if kind == FIRST:
        return NEEDS_BOUND
    if others < 0:
        return NEEDS_STREAM
    if row < 0:
        return NEEDS_LIST
    if kind == LATER_FAMILY:
        rank += 1
        exists = lists[row, BEGIN] + rank < lists[row, END]
        if not exists and not lists[row, IS_COMPLETE]:
            return NEEDS_LIST
    else:
        rest = streams[others, OLDEST] if kind == BEST else networks[rest, NEXT]
        exists = rest >= 0
        if not exists and streams[others, TOP] >= 0:
            return WAITS
    _take(heap, heap_scores, streams, stream)
    if exists:
        heap[node, KIND] = KNOWN
        heap[node, OF_REST] = rest
        heap[node, OF_RANK] = rank
    return FOUND


@inner_kernel
def _append(networks, streams, counts, stream):
    """Append the network after the last one to its table, and to its stream."""
    new = counts[N_NETWORKS]
    counts[N_NETWORKS] += 1
    if streams[stream, NEWEST] < 0:
        streams[stream, OLDEST] = new
    else:
        networks[streams[stream, NEWEST], NEXT] = new
    streams[stream, NEWEST] = new


@inner_kernel
def _take(heap, scores, streams, stream):
    """Take the top off a stream's heap and return it."""
    node = streams[stream, TOP]
    streams[stream, TOP] = _merge(heap, scores, heap[node, LEFT], heap[node, RIGHT])
    heap[node, LEFT] = -1
    heap[node, RIGHT] = -1
    return node


@kernel(
    int64[:, ::1],
    float64[::1],
    int64[:, ::1],
    int64[::1],
    int64,
    int64,
    int64,
    int64,
    int64,
    float64,
)
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
    streams[stream, TOP] = _merge(heap, heap_scores, streams[stream, TOP], node)


@kernel(int64[:, ::1], float64[::1], int64[:, ::1], int64, float64, int64)
def set_bound(heap, heap_scores, streams, stream, score, is_exact):
    """Set the score of the `FIRST` node at the top of a heap, or a lower bound than it had."""
    node = _take(heap, heap_scores, streams, stream)
    heap_scores[node] = score
    heap[node, KIND] = BEST if is_exact else FIRST
    if score > -np.inf:
        streams[stream, TOP] = _merge(heap, heap_scores, streams[stream, TOP], node)


@inner_kernel
def _merge(heap, scores, a, b):
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


@inner_kernel
def _network_key(keys, new, networks, parents):
    """Set the key of a network: that of the network without its sink, and that of the family."""
    x, family, rest = networks[new, SINK], networks[new, FAMILY], networks[new, REST]
    for word in range(2):
        mixed = _mix(np.uint64(2 * x + word))
        for i in range(parents.shape[1]):
            mixed = _mix(mixed ^ parents[family, i])
        keys[new, word] = keys[rest, word] ^ mixed


@inner_kernel
def _class_key(keys, new, networks, parents, numbers, sinks, members, family_of):
    """Set the key of a network's equivalence class: its joined pairs, and its v-structures.

    Two parents of the sink are joined if one of them is a parent of the other. If neither is a
    sink, an edge between them is no part of these networks, and the pair is left out: networks
    with the same edges to the sink agree on it.
    """
    x, family, rest = networks[new, SINK], networks[new, FAMILY], networks[new, REST]
    below = rest
    while networks[below, REST] >= 0:
        family_of[networks[below, SINK]] = networks[below, FAMILY]
        below = networks[below, REST]
    n = 0
    for v in range(sinks.size):
        if _has(parents, family, v):
            members[n] = v
            n += 1
    for word in range(2):
        keys[new, word] = keys[rest, word]
    child = numbers[x]
    for i in range(n):
        u = members[i]
        _add_to_key(keys, new, min(u, child), max(u, child), _NO_CHILD)
        for k in range(i + 1, n):
            v = members[k]
            if sinks[u] >= 0 or sinks[v] >= 0:
                is_child_u = sinks[u] >= 0 and _has(parents, family_of[sinks[u]], v)
                is_child_v = sinks[v] >= 0 and _has(parents, family_of[sinks[v]], u)
                if not (is_child_u or is_child_v):
                    _add_to_key(keys, new, u, v, child)


@inner_kernel
def _has(parents, family, v):
    return parents[family, v // _WORD] >> np.uint64(v % _WORD) & _ONE == _ONE


@inner_kernel
def _add_to_key(keys, new, u, v, x):
    triple = np.uint64(u) | np.uint64(v) << _TWO_BYTES | np.uint64(x) << _FOUR_BYTES
    keys[new, 0] ^= _mix(triple)
    keys[new, 1] ^= _mix(~triple)


@inner_kernel
def _mix(z):
    """Return 64 bits that look random, by splitmix64."""
    z += _STEP
    z = (z ^ z >> _SHIFT_1) * _FACTOR_1
    z = (z ^ z >> _SHIFT_2) * _FACTOR_2
    return z ^ z >> _SHIFT_3


@inner_kernel
def _see(seen, counts, word, other):
    """Add a key to the hash table; return whether it is new. Free entries are 0, 0."""
    i = _place_of_key(seen, word, other)
    if seen[i, 0] == word and seen[i, 1] == other:
        return False
    seen[i, 0] = word
    seen[i, 1] = other
    counts[N_SEEN] += 1
    return True


@inner_kernel
def _place_of_key(seen, word, other):
    """Return the entry of a key, or the free entry for it."""
    i = np.int64(word & np.uint64(seen.shape[0] - 1))
    while (seen[i, 0] != 0 or seen[i, 1] != 0) and (seen[i, 0] != word or seen[i, 1] != other):
        i = (i + 1) & (seen.shape[0] - 1)
    return i


@kernel(uint64[:, ::1], uint64[:, ::1])
def copy_keys(seen, larger):
    """Copy the keys of a hash table to a larger one."""
    for i in range(seen.shape[0]):
        if seen[i, 0] != 0 or seen[i, 1] != 0:
            j = _place_of_key(larger, seen[i, 0], seen[i, 1])
            larger[j, 0] = seen[i, 0]
            larger[j, 1] = seen[i, 1]

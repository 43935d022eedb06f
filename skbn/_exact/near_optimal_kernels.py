"""The kernel that finds the next network of a stream, on the tables of `stream_kernels`."""

from __future__ import annotations

import numpy as np
from numba import float64, int32, int64, uint64

from skbn._core.compile import inner_kernel, kernel
from skbn._exact.network_key_kernels import is_new, mix, set_class_key, set_network_key
from skbn._exact.stream_kernels import (
    BEGIN,
    BEST,
    COLUMNS,
    END,
    EXHAUSTED,
    FAMILIES,
    FIRST,
    FOUND,
    GOES_ON,
    IS_COMPLETE,
    KIND,
    KNOWN,
    LATER_FAMILY,
    LATER_REST,
    N_NETWORKS,
    N_NODES,
    N_STREAMS,
    NEEDS_LIST,
    NEEDS_ROOM,
    NEWEST,
    NEXT,
    OF_RANK,
    OF_REST,
    OF_SINK,
    OLDEST,
    TOP,
    WAITS,
    lower_bound,
    merge_heaps,
    push_node,
    stream_of,
    take_top,
)

__all__ = ["next_network"]


@kernel(
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
    float64[::1],
    uint64[:, ::1],
    int64[::1],
    float64[::1],
    int64[::1],
    int64[::1],
    uint64[:, ::1],
    int64[::1],
    int64,
    int64[::1],
    seconds=2.7,
)
def next_network(
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
    list_ends,
    family_scores,
    parents,
    inside,
    best_network_score,
    numbers,
    sinks,
    seen,
    counts,
    are_classes,
    work,
):
    """Find the next network of the first stream, or say what has to be made for it first.

    Parameters
    ----------
    networks, network_scores, keys, heap, heap_scores, streams, searches, search_scores, \
family_scores, inside : ndarray
        The tables; `keys` has two words for each network. The first searches are those among all
        other columns, one for each sink.
    without, search_of : ndarray of shape (n_streams, n_sinks), int64
        For each stream and sink, the stream without the sink, and the search for the sink's parents
        among the other columns; -1 as long as it is not known.
    places : ndarray of shape (a power of 2,), int64
        A hash table of the streams' rows, see `_place_of_stream`.
    list_ends : ndarray of shape (n_searches,), float64
        Down to which local score each list goes.
    parents : ndarray of shape (n_families, n_words), uint64
        The masks of the families' parents by their numbers, in words of 64 bits.
    best_network_score : ndarray of shape (2**m,), float64
        F.
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
        Memory for the streams that wait for others. In the last two entries, the sink and the
        search are returned for which something is missing, and before them the column to leave out.

    Returns
    -------
    status : int
        `FOUND`, `EXHAUSTED`, or what is missing: `NEEDS_SEARCH`, one without a certain column;
        `NEEDS_LIST`, one that is longer; `NEEDS_ROOM` at the ends of the tables.
    """
    members = np.empty(sinks.size, np.int64)
    # A stream that others wait for goes on as long as what it may find next is as good as then.
    least = np.empty(work.size)
    depth = 0
    work[0] = 0
    least[0] = -np.inf
    status = EXHAUSTED
    while depth >= 0:
        stream = work[depth]
        node = streams[stream, TOP]
        if node < 0 or heap_scores[node] < least[depth]:
            status = EXHAUSTED
            depth -= 1
            continue
        if _is_full(networks, heap, streams, places, seen, counts, numbers.size):
            return NEEDS_ROOM
        x = heap[node, OF_SINK]
        kind = heap[node, KIND]
        if kind == FIRST:
            status = lower_bound(
                heap,
                heap_scores,
                streams,
                search_of,
                searches,
                search_scores,
                best_network_score,
                stream,
                work,
            )
        elif without[stream, x] < 0:
            status = GOES_ON
            without[stream, x] = stream_of(
                streams[stream, COLUMNS] ^ 1 << x,
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
            )
        elif kind == KNOWN:
            status = _take_known(
                networks,
                network_scores,
                keys,
                heap,
                heap_scores,
                streams,
                searches,
                family_scores,
                parents,
                numbers,
                sinks,
                seen,
                counts,
                are_classes,
                stream,
                without[stream, x],
                search_of[stream, x],
                members,
            )
        else:
            status = _find_out(
                heap,
                heap_scores,
                streams,
                networks,
                network_scores,
                searches,
                list_ends,
                family_scores,
                inside,
                stream,
                without[stream, x],
                search_of[stream, x],
            )
        if status == FOUND:
            depth -= 1
        elif status == WAITS:
            depth += 1
            work[depth] = without[stream, x]
            least[depth] = heap_scores[streams[work[depth], TOP]]
        elif status != GOES_ON:
            work[work.size - 2] = x
            work[work.size - 1] = search_of[stream, x]
            return status
    return status


@inner_kernel
def _is_full(networks, heap, streams, places, seen, counts, n_sinks):
    """Whether a table may be too small for one network and one stream more."""
    return (
        counts[N_NETWORKS] + 2 > networks.shape[0]
        or counts[N_NODES] + n_sinks + 2 > heap.shape[0]
        or counts[N_STREAMS] == streams.shape[0]
        or 2 * counts[N_STREAMS] >= places.size
        or 2 * counts[N_NETWORKS] >= seen.shape[0]
    )


@inner_kernel
def _take_known(
    networks,
    network_scores,
    keys,
    heap,
    heap_scores,
    streams,
    searches,
    family_scores,
    parents,
    numbers,
    sinks,
    seen,
    counts,
    are_classes,
    stream,
    others,
    row,
    members,
):
    """Take the network at the top of a heap. Returns `GOES_ON` if it was found before."""
    node, new = streams[stream, TOP], counts[N_NETWORKS]
    x, rest = heap[node, OF_SINK], heap[node, OF_REST]
    family = searches[row, BEGIN] + heap[node, OF_RANK]
    network_scores[new] = heap_scores[node]
    networks[new] = networks[rest]
    networks[new, NEXT] = -1
    networks[new, FAMILIES + x] = family
    if are_classes:
        of_rest = networks[rest, FAMILIES:]
        set_class_key(keys, new, rest, numbers[x], family, parents, sinks, members, of_rest)
    else:
        set_network_key(keys, new, rest, x, family, parents)
    score = family_scores[family]
    _push_successors(heap, heap_scores, streams, counts, networks, stream, others, score)
    if not is_new(seen, keys[new, 0] ^ mix(np.uint64(stream)), keys[new, 1]):
        return GOES_ON
    counts[N_NETWORKS] += 1
    if streams[stream, NEWEST] < 0:
        streams[stream, OLDEST] = new
    else:
        networks[streams[stream, NEWEST], NEXT] = new
    streams[stream, NEWEST] = new
    return FOUND


@inner_kernel
def _push_successors(heap, heap_scores, streams, counts, networks, stream, others, family_score):
    """Put what may come after the network at the top of a heap in its place.

    Each pair of a network on the other columns and a family comes after one other pair: the one
    with the family before, or, for the first family, with the network before.
    """
    node = take_top(heap, heap_scores, streams, stream)
    heap[node, KIND] = LATER_FAMILY
    streams[stream, TOP] = merge_heaps(heap, heap_scores, streams[stream, TOP], node)
    rest, rank = heap[node, OF_REST], heap[node, OF_RANK]
    top = streams[others, TOP]
    if rank == 0 and (networks[rest, NEXT] >= 0 or top >= 0):
        score = heap_scores[node]
        if networks[rest, NEXT] < 0:
            score = heap_scores[top] + family_score
        x = heap[node, OF_SINK]
        push_node(heap, heap_scores, streams, counts, stream, LATER_REST, x, rest, rank, score)


@inner_kernel
def _find_out(
    heap,
    heap_scores,
    streams,
    networks,
    network_scores,
    searches,
    list_ends,
    family_scores,
    inside,
    stream,
    others,
    row,
):
    """Find out the score of the network that the top of a heap stands for, or lower its bound.

    Returns `NEEDS_LIST`, or `WAITS` if the stream of the other columns has to go on first.
    """
    node = streams[stream, TOP]
    kind, rest, rank = heap[node, KIND], heap[node, OF_REST], heap[node, OF_RANK]
    begin, end = searches[row, BEGIN], searches[row, END]
    if begin < 0:
        return NEEDS_LIST
    bound = -np.inf
    if kind == LATER_FAMILY:
        rank = _next_rank(inside, begin, end, rank, streams[others, COLUMNS])
        is_known = begin + rank < end
        if not is_known:
            rank -= 1
            if not searches[row, IS_COMPLETE]:
                # Families that are not listed score lower than what the list goes down to.
                bound = network_scores[rest] + list_ends[row]
        missing = NEEDS_LIST
    else:
        later = streams[others, OLDEST] if kind == BEST else networks[rest, NEXT]
        is_known = later >= 0
        if is_known:
            rest = later
        elif streams[others, TOP] >= 0:
            bound = heap_scores[streams[others, TOP]] + family_scores[begin]
        missing = WAITS
    if bound >= heap_scores[node]:
        return missing
    take_top(heap, heap_scores, streams, stream)
    heap[node, OF_REST] = rest
    heap[node, OF_RANK] = rank
    if is_known:
        heap[node, KIND] = KNOWN
        bound = network_scores[rest] + family_scores[begin + rank]
    if bound > -np.inf:
        heap_scores[node] = bound
        streams[stream, TOP] = merge_heaps(heap, heap_scores, streams[stream, TOP], node)
    return GOES_ON


@inner_kernel
def _next_rank(inside, begin, end, rank, candidates):
    """Return the rank of the next parent set among some candidates; the list may be among more."""
    rank += 1
    while begin + rank < end and inside[begin + rank] & ~candidates:
        rank += 1
    return rank

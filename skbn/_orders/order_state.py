"""An order as kernels take it, and one climb from it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import Integers
from skbn._orders.insertion_kernels import Limits, State, choose_families, insert_marked
from skbn._orders.list_kernels import Lists
from skbn._orders.segment_kernels import Segment, improve_segments


def state_of(order: Integers, lists: Lists) -> State:
    """Return the state of an order; `choose_families` sets all but the order."""
    m, n_words = len(order), lists.sets.shape[1]
    return State(
        order.copy(),
        np.empty(m, dtype=np.int64),
        np.empty((m + 1, n_words), dtype=np.int64),
        np.empty(m, dtype=np.int64),
        np.zeros(m, dtype=np.bool_),
        np.zeros(m + 1, dtype=np.int64),
    )


def segment_of(width: int, lists: Lists) -> Segment:
    """Return scratch for segments of `width` columns. With one column, there are no segments."""
    width = width if width > 1 else 0
    return Segment(
        np.empty((width, 1 << width)),
        np.empty(1 << width),
        np.empty(1 << width, dtype=np.int64),
        np.empty(width, dtype=np.int64),
        np.empty(width, dtype=np.int64),
        np.empty(lists.sets.shape[1], dtype=np.int64),
    )


def climb(
    lists: Lists,
    state: State,
    segment: Segment,
    limits: Limits,
    most: int,
    random: npt.NDArray[np.uint64],
    i: int,
) -> float:
    """Improve all segments along an order once, and then insert columns; return the score.

    Parameters
    ----------
    segment : Segment
        Without columns, no segments are improved.
    most : int
        The largest number of columns to try to insert. If columns are marked in the end, it was
        reached; otherwise all have been tried since the last gain.
    random, i
        Generator i of `random` is used.
    """
    if len(segment.columns) > 0:
        improve_segments(lists, state, segment, limits, random, i)
    # All columns are tried, those that are marked already in the order of their marks.
    state.marked[1 + state.marked[0] :] = np.flatnonzero(~state.is_marked)
    state.marked[0], state.is_marked[:] = len(state.order), True
    insert_marked(lists, state, limits, most, random, i)
    # Added up again from the order, so that rounding of the gains does not matter.
    return float(choose_families(lists, state))

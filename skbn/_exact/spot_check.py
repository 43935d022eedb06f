"""Some maxima and states of the search computed once more, by NumPy and not by its kernels."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._core.accuracy import internal_error, score_tolerance
from skbn._core.subsets import remove_bit

__all__ = ["DrawnStates", "LocalMaxima", "check_slab", "draw_states", "local_maxima"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# So many states of so many columns are drawn: some thousand local scores. Two or more of
# the columns are inner ones.
_N_STATES = 16
_N_COLUMNS = 5
_FEWEST_INNER = 2


class DrawnStates(NamedTuple):
    """Some states of a slab, and the families that their best scores follow from.

    Parameters
    ----------
    columns : ndarray of shape (n_states,), int64
        The masks of the states.
    child, without_child : ndarray of shape (n_states, k), int64
        Each state's columns, the slab's outer ones first, and the masks of the others.
    parents : ndarray of shape (n_states, k, 2**(k - 1)), int64
        The masks of all subsets of these.
    n_parents : ndarray of shape (k, 2**(k - 1)), int64
        Their numbers of columns.
    n_outer : int
        How many columns are outer ones.
    in_table : ndarray of shape (n_states, k - n_outer), int64
        The numbers, in the table of an inner child, of the other columns.
    """

    columns: Integers
    child: Integers
    without_child: Integers
    parents: Integers
    n_parents: Integers
    n_outer: int
    in_table: Integers


class LocalMaxima(NamedTuple):
    """The best local score of each column of some states with parents among the others.

    Parameters
    ----------
    scores : ndarray of shape (n_states, k)
    largest_term : ndarray of shape (n_states, k)
        The largest magnitude of a number that enters each of them.
    """

    scores: Floats
    largest_term: Floats


@cache
def draw_states(m: int, n_inner: int, fixed: int) -> DrawnStates | None:
    """Draw states with these outer columns, the same in each run; None if these are too many."""
    outer = [n_inner + i for i in range(m - n_inner) if fixed >> i & 1]
    k = min(_N_COLUMNS, n_inner + len(outer))
    if k - len(outer) < min(_FEWEST_INNER, n_inner):
        return None
    order = np.random.default_rng(fixed).random((_N_STATES, n_inner)).argsort(axis=1)
    child = np.hstack([np.tile(outer, (_N_STATES, 1)), order[:, : k - len(outer)]]).astype(np.int64)
    bits, places = 1 << child, np.arange(1 << k)
    subsets = bits @ (places >> np.arange(k)[:, np.newaxis] & 1)
    lacking = np.array([places[places >> i & 1 == 0] for i in range(k)])
    columns = subsets[:, -1]
    without = columns[:, np.newaxis] ^ bits
    inner, x = without[:, len(outer) :] & ((1 << n_inner) - 1), child[:, len(outer) :]
    in_table = remove_bit.py_func(inner, x)
    n_parents = np.bitwise_count(lacking).astype(np.int64)
    return DrawnStates(
        columns, child, without, subsets[:, lacking], n_parents, len(outer), in_table
    )


def local_maxima(
    drawn: DrawnStates, log_det: Floats, tables: Floats, forbidden: Integers, required: Integers
) -> LocalMaxima:
    """Return the best local scores by going through all families.

    Parameters
    ----------
    drawn : DrawnStates
    log_det : ndarray of shape (2**m,), float64
    tables : ndarray of shape (3, m), float64
        The criterion's.
    forbidden, required : ndarray of shape (m,), int64
        Masks of the columns that may not, or must, be among each column's parents.
    """
    parents, child = drawn.parents, drawn.child[:, :, np.newaxis]
    constant, without, within = tables[:, drawn.n_parents]
    of_parents, of_family = without * log_det[parents], within * log_det[parents | 1 << child]
    scores = constant + of_parents + of_family
    scores[(parents & forbidden[child] | ~parents & required[child]) != 0] = -np.inf
    best = scores.argmax(axis=2)[:, :, np.newaxis]
    terms = np.stack([np.broadcast_to(constant, scores.shape), of_parents, of_family])
    of_best = np.take_along_axis(terms, best[np.newaxis], axis=3)[..., 0]
    largest = np.abs(of_best).max(axis=0, where=of_best > -np.inf, initial=0.0)
    return LocalMaxima(np.take_along_axis(scores, best, axis=2)[..., 0], largest)


def check_slab(
    drawn: DrawnStates, local: LocalMaxima, best: Floats, slab: Floats, starts: Integers
) -> None:
    """Raise unless the slab has these maxima, and the states follow from them.

    Parameters
    ----------
    drawn : DrawnStates
    local : LocalMaxima
    best : ndarray of shape (2**m,), float64
        The score of the best network on each set of columns.
    slab : ndarray, float64
        The children's tables one after the other.
    starts : ndarray of shape (m + 1,), int64
        Where each child's table starts in `slab`.
    """
    tolerance = score_tolerance(local.largest_term)
    maxima = slab[starts[drawn.child[:, drawn.n_outer :]] + drawn.in_table]
    expected = (best[drawn.without_child] + local.scores).max(axis=1)
    inner = slice(drawn.n_outer, None)
    is_right = _are_equal(maxima, local.scores[:, inner], tolerance[:, inner]).all(axis=1)
    is_right &= _are_equal(best[drawn.columns], expected, tolerance.sum(axis=1))
    if not is_right.all():
        columns = sorted(drawn.child[int(np.argmin(is_right))].tolist())
        raise internal_error(f"the best scores of the set {columns} are not those of its families")


def _are_equal(a: Floats, b: Floats, tolerance: Floats) -> npt.NDArray[np.bool_]:
    # Not by their difference, which infinite ones do not have.
    return (a <= b + tolerance) & (b <= a + tolerance)

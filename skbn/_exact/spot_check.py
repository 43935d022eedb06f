"""Independent verification of a few entries of B and F in each slab.

They are computed once more by NumPy, from all families of a few columns, without the kernels of the
search. See `recurrences` for B, F and slabs; a *state* is a set of columns W.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import Floats, Integers
from skbn._core.subsets import remove_bit
from skbn._exact.fill_kernels import ParentRules
from skbn._regressions.local_score import internal_error, score_tolerance
from skbn._regressions.set_function import SetFunctions, ruled_out

__all__ = ["DrawnStates", "LocalMaxima", "check_slab", "draw_states", "local_maxima"]


# 16 random states of up to five columns are drawn, which have 16 * 5 * 2**4 families. At least two
# of the columns are inner ones: with one, all parents in its table's entry would be outer columns.
_N_STATES = 16
_N_COLUMNS = 5
_FEWEST_INNER = 2


class DrawnStates(NamedTuple):
    """Some states of a slab, and the families that their best scores follow from.

    Parameters
    ----------
    columns : ndarray of shape (n_states,), int64
        The masks of the states.
    child : ndarray of shape (n_states, k), int64
        Each state's columns, the slab's outer ones first.
    candidates : ndarray of shape (n_states, k), int64
        For each child, the mask of the state's other columns.
    parents : ndarray of shape (n_states, k, 2**(k - 1)), int64
        The masks of all subsets of the candidates.
    n_outer : int
        How many of the columns are outer ones.
    in_table : ndarray of shape (n_states, k - n_outer), int64
        For each inner child, the index of its candidates in its table.
    """

    columns: Integers
    child: Integers
    candidates: Integers
    parents: Integers
    n_outer: int
    in_table: Integers


class LocalMaxima(NamedTuple):
    """The best local score of each column of some states, with parents among its other columns.

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
    """Draw states with these outer columns, the same in each run; None if there are too many."""
    outer = [n_inner + i for i in range(m - n_inner) if fixed >> i & 1]
    k = min(_N_COLUMNS, n_inner + len(outer))
    if k - len(outer) < min(_FEWEST_INNER, n_inner):
        return None
    order = np.random.default_rng(fixed).random((_N_STATES, n_inner)).argsort(axis=1)
    child = np.hstack([np.tile(outer, (_N_STATES, 1)), order[:, : k - len(outer)]]).astype(np.int64)
    bits, places = 1 << child, np.arange(1 << k)
    subsets = bits @ (places >> np.arange(k)[:, np.newaxis] & 1)
    without_column = np.array([places[places >> i & 1 == 0] for i in range(k)])
    columns = subsets[:, -1]
    candidates = columns[:, np.newaxis] ^ bits
    inner = candidates[:, len(outer) :] & ((1 << n_inner) - 1)
    in_table = remove_bit.py_func(inner, child[:, len(outer) :])
    return DrawnStates(columns, child, candidates, subsets[:, without_column], len(outer), in_table)


def local_maxima(
    drawn: DrawnStates, functions_of: Callable[[Integers], SetFunctions], rules: ParentRules
) -> LocalMaxima:
    """Return the best local scores, by going through all families of the states.

    Parameters
    ----------
    drawn : DrawnStates
    functions_of : callable
        Returns what local scores are differences of, for some sets.
    rules : ParentRules
    """
    parents, child = drawn.parents, drawn.child[:, :, np.newaxis]
    of_family = functions_of(parents | 1 << child).of_family
    of_parents = functions_of(parents).of_parents
    scores = ruled_out(of_family - of_parents)
    forbidden, required = rules.forbidden[child], rules.required[child]
    scores[(parents & forbidden | ~parents & required) != 0] = -np.inf
    best = scores.argmax(axis=2)[:, :, np.newaxis]
    of_best = np.take_along_axis(scores, best, axis=2)[..., 0]
    terms = np.maximum(np.abs(of_family), np.abs(of_parents))
    largest = np.take_along_axis(terms, best, axis=2)[..., 0]
    return LocalMaxima(of_best, np.where(of_best > -np.inf, largest, 0.0))


def check_slab(
    drawn: DrawnStates,
    local: LocalMaxima,
    best_network_scores: Callable[[Integers], Floats],
    best_parent_score: Floats,
    starts: Integers,
) -> None:
    """Raise unless B in the slab has these maxima, and F on the states follows from them.

    Parameters
    ----------
    drawn : DrawnStates
    local : LocalMaxima
    best_network_scores : callable
        Returns F of some sets.
    best_parent_score : ndarray, float64
        B for the slab: the columns' tables one after the other.
    starts : ndarray of shape (m + 1,), int64
        Where each table starts in it.
    """
    tolerance = score_tolerance(local.largest_term)
    maxima = best_parent_score[starts[drawn.child[:, drawn.n_outer :]] + drawn.in_table]
    expected = (best_network_scores(drawn.candidates) + local.scores).max(axis=1)
    inner = slice(drawn.n_outer, None)
    is_right = _are_equal(maxima, local.scores[:, inner], tolerance[:, inner]).all(axis=1)
    is_right &= _are_equal(best_network_scores(drawn.columns), expected, tolerance.sum(axis=1))
    if not is_right.all():
        columns = sorted(drawn.child[int(np.argmin(is_right))].tolist())
        raise internal_error(f"the best scores of the set {columns} are not those of its families")


def _are_equal(a: Floats, b: Floats, tolerance: Floats) -> npt.NDArray[np.bool_]:
    # Infinite numbers that are equal have no difference.
    return (a <= b + tolerance) & (b <= a + tolerance)

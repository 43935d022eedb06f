"""Some states of the search computed once more, by NumPy and not by its kernels."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["check_states"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# So many states of so many columns: some thousand local scores.
_N_STATES = 16
_MOST_COLUMNS = 5
# What scores may be off, in nats, and in units of the largest term that enters them.
_ROUNDING = 1e-3, 1e-10


def check_states(
    best: Floats,
    log_det: Floats,
    tables: Floats,
    forbidden: Integers,
    required: Integers,
) -> None:
    """Raise unless some states follow from those of one column less, and from families.

    Parameters
    ----------
    best : ndarray of shape (2**m,), float64
        The score of the best network on each set of columns.
    log_det : ndarray of shape (2**m,), float64
    tables : ndarray of shape (3, m), float64
        The criterion's.
    forbidden, required : ndarray of shape (m,), int64
        Masks of the columns that may not, or must, be among each column's parents.
    """
    drawn = _draw(len(forbidden))
    parents, child = drawn.parents, drawn.child
    bits = 1 << child[:, :, np.newaxis]
    constant, without, within = tables[:, drawn.n_parents]
    of_parents, of_family = without * log_det[parents], within * log_det[parents | bits]
    scores = constant + of_parents + of_family
    broken = parents & forbidden[child][:, :, np.newaxis]
    broken |= ~parents & required[child][:, :, np.newaxis]
    scores[broken != 0] = -np.inf
    expected = (best[drawn.without_child] + scores.max(axis=2)).max(axis=1)
    found = best[drawn.columns]
    largest = max(np.abs(of_parents).max(), np.abs(of_family).max())
    largest = max(largest, np.abs(constant[constant > -np.inf]).max(initial=0.0))
    nats, share = _ROUNDING
    tolerance = child.shape[1] * (nats + share * largest)
    # Not of the difference, which infinite ones do not have.
    is_right = (expected <= found + tolerance) & (found <= expected + tolerance)
    if not is_right.all():
        i = int(np.argmin(is_right))
        raise RuntimeError(
            f"the best score of the columns {sorted(child[i].tolist())} of a search is "
            f"{expected[i]:.17g}, and the search has {found[i]:.17g}; this is a defect of the "
            "library or of the machine, please report it"
        )


class _Drawn(NamedTuple):
    """Some states, and the families that their best scores follow from.

    Parameters
    ----------
    columns : ndarray of shape (n_states,), int64
        The masks of the states.
    child, without_child : ndarray of shape (n_states, k), int64
        Each state's columns, and the masks of what is left without them.
    parents : ndarray of shape (n_states, k, 2**(k - 1)), int64
        The masks of all subsets of these.
    n_parents : ndarray of shape (k, 2**(k - 1)), int64
        Their numbers of columns.
    """

    columns: Integers
    child: Integers
    without_child: Integers
    parents: Integers
    n_parents: Integers


@cache
def _draw(m: int) -> _Drawn:
    """Draw states of m columns, the same in each run."""
    order = np.random.default_rng(0).random((_N_STATES, m)).argsort(axis=1)
    child = order[:, :_MOST_COLUMNS]
    k = child.shape[1]
    bits, places = 1 << child, np.arange(1 << k)
    subsets = bits @ (places >> np.arange(k)[:, np.newaxis] & 1)
    lacking = np.array([places[places >> i & 1 == 0] for i in range(k)])
    columns = subsets[:, -1]
    n_parents = np.bitwise_count(lacking).astype(np.int64)
    return _Drawn(columns, child, columns[:, np.newaxis] ^ bits, subsets[:, lacking], n_parents)

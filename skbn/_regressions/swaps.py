"""Which neighbouring columns to swap so that every subset becomes a prefix.

The combinatorics of Alipourfard & Gao, "Solving all regression models for
learning Gaussian networks using Givens rotations", sections 3, 5 and 6, with
the slips in its pseudocode mended. Positions and columns count from 0 here,
from 1 in the paper.
"""

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import Integers, as_integer
from skbn._core.resources import require_memory
from skbn._core.subsets import mask_of


def greedy_swaps(m: int) -> npt.NDArray[np.intp]:
    """Return the shortest sequence of column swaps that passes all regressions.

    Starting from any order of `m` columns, each swap of the columns at positions
    i and i + 1 makes exactly one new set a prefix of the order, and in the end
    every set has been one. A triangular factor that follows the swaps therefore
    solves, one after the other, the regressions of all ``m * 2**(m - 1)`` families.

    Parameters
    ----------
    m : int
        Number of columns, at least 1.

    Returns
    -------
    swaps : ndarray of shape (2**m - m - 1,), dtype intp
        The left position of each swap.

    Raises
    ------
    ValueError
        If `m` is below 1, or the sequence does not fit in memory.
    TypeError
        If `m` is no integer.

    Notes
    -----
    ``swaps(m) = swaps(m - 1), [m - 2, ..., 0], swaps(m - 1) + 1``: all subsets
    without the last column, then this column moves to the front, then all subsets
    with it. (Algorithm GreedySwaps; as printed its last part lacks the ``+ 1``.)
    That no shorter sequence exists is shown in the paper's section 4.

    Examples
    --------
    >>> greedy_swaps(3).tolist()
    [0, 1, 0, 1]
    """
    m = as_integer(m, "m")
    if m < 1:
        raise ValueError(f"m must be at least 1, the number of columns; got {m}.")
    require_memory(16 << m, f"The sequence of 2**{m} - {m + 1} swaps", "give a smaller m")
    swaps = np.empty(0, dtype=np.intp)
    for last in range(1, m):
        swaps = np.concatenate([swaps, np.arange(last - 1, -1, -1), swaps + 1])
    return swaps


def seed_path(m: int, n_seeds: int, seed: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the initial column order and the swaps of one of 2**k seeds.

    The last k columns are the outer ones, and a seed is a set of them: its path
    passes the subsets that contain just these outer columns. The paths of all
    seeds pass every subset once, each seed independently of the others.

    Parameters
    ----------
    m : int
        Number of columns.
    n_seeds : int
        Number of seeds, a power of two, at most ``2**(m - 1)``.
    seed : int
        Number of this seed, from 0 to `n_seeds` - 1. Bit j says whether column
        ``m - k + j`` is in the seed's set.

    Returns
    -------
    order : ndarray of shape (m,), dtype intp
        The columns in their initial order: the seed's set, the inner columns
        0, ..., m-k-1, and the other outer columns, which the path never moves.
    swaps : ndarray of shape (2**(m-k) - (m-k) - 1,), dtype intp
        The left position of each swap.

    Raises
    ------
    ValueError
        If `n_seeds` is no such power of two, or there is no seed of that number.
    TypeError
        If one of them is no integer.

    Notes
    -----
    Algorithm SeedPathCalculator (the paper's section 6). A bit 1 inserts its
    column at the front, as the section's text has it; the algorithm as printed
    does so for a bit 0, and then its offset counts the wrong columns. Its k is the
    number of inner columns; here, as in the text, k is that of the outer ones.

    Examples
    --------
    >>> order, swaps = seed_path(4, n_seeds=2, seed=1)
    >>> order.tolist(), swaps.tolist()
    ([3, 0, 1, 2], [1, 2, 1, 2])
    """
    m, n_seeds, seed = as_integer(m, "m"), as_integer(n_seeds, "n_seeds"), as_integer(seed, "seed")
    if m < 1:
        raise ValueError(f"m must be at least 1, the number of columns; got {m}.")
    if n_seeds < 1 or n_seeds.bit_count() != 1 or n_seeds > 1 << (m - 1):
        raise ValueError(
            f"n_seeds must be a power of two from 1 to 2**(m - 1) = {1 << (m - 1)}; got {n_seeds}."
        )
    if not 0 <= seed < n_seeds:
        raise ValueError(f"seed must be from 0 to n_seeds - 1 = {n_seeds - 1}; got {seed}.")
    n_outer = n_seeds.bit_length() - 1
    n_inner = m - n_outer
    order = list(range(n_inner))
    for j in range(n_outer):
        if seed >> j & 1:
            order.insert(0, n_inner + j)
        else:
            order.append(n_inner + j)
    return np.array(order, dtype=np.intp), greedy_swaps(n_inner) + seed.bit_count()


def prefixes_of(order: npt.NDArray[np.intp], swaps: npt.NDArray[np.intp]) -> Integers:
    """Return the mask of the columns that each swap makes a prefix of the order.

    >>> prefixes_of([0, 1, 2], greedy_swaps(3)).tolist()
    [2, 6, 4, 5]
    """
    columns = list(order)
    prefixes = []
    for i in swaps:
        columns[i], columns[i + 1] = columns[i + 1], columns[i]
        prefixes.append(mask_of(columns[: i + 1]))
    return np.array(prefixes, dtype=np.int64)

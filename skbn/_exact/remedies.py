"""What would make a search fit in memory that does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from skbn._core.memory import largest_that_fits
from skbn._exact.plan import (
    TooLargeError,
    numbers_of_small_families,
    plan_all_families,
    plan_search,
)

__all__ = ["what_would_fit"]

_BYTES = 8  # of a float64
# Added to advice on max_parents: it must be lowered where the local scores are made.
_IN_TRANSFORMER = " (of the LocalScoreTransformer, if there is one)"


def what_would_fit(
    m: int,
    groups: Sequence[tuple[int, int]],
    max_parents: int | None,
    fewest_parents: int,
    n_bytes: int,
    fits_otherwise: Callable[[int], bool] = lambda _: False,
) -> list[str]:
    """Say what would make a search of all groups of columns fit in memory.

    Parameters
    ----------
    m : int
        Number of all columns.
    groups : sequence of (int, int)
        How many columns each group has, and how many others may be their parents.
    max_parents : int or None
        None stands for any number, and 0 for families that are listed already.
    fewest_parents : int
        The largest number of parents that a column is required to have.
    n_bytes : int
    fits_otherwise : callable
        Whether another search fits with so many parents.

    Returns
    -------
    remedies : list of str
        Each is enough by itself. Empty if there is too little memory for any search.
    """
    fewest = max(1, fewest_parents)
    most = m - 2 if max_parents is None else max_parents - 1
    few = largest_that_fits(
        lambda k: all(_fits(*group, m, k, n_bytes) for group in groups), fewest, most
    )
    remedies = [] if few is not None else _tiers_that_fit(m, max_parents, fewest, most, n_bytes)
    few = few or largest_that_fits(fits_otherwise, fewest, most)
    if few is not None:
        remedies.insert(0, f"set max_parents to {few} or less{_IN_TRANSFORMER}")
    left = largest_that_fits(lambda n: _fits(n, 0, n, max_parents, n_bytes), 2, m - 1)
    if left is not None:
        remedies.append(f"leave out columns until {left} or fewer are left")
    return remedies


def _fits(n_columns: int, n_others: int, m: int, max_parents: int | None, n_bytes: int) -> bool:
    """Whether a group's search fits in memory, if the table has m columns in all."""
    try:
        if max_parents is None:
            plan_all_families(n_columns, n_others, n_bytes)
        else:
            n_numbers = numbers_of_small_families(m, max_parents) if max_parents else 0
            plan_search(n_columns, n_bytes, n_log_determinants=n_numbers)
    except TooLargeError:
        return False
    return True


def _tiers_that_fit(
    m: int, max_parents: int | None, fewest: int, most: int, n_bytes: int
) -> list[str]:
    """Say how large tiers may be; and how many parents, if the number allowed now is too many.

    From `fewest` to `most` parents may be proposed.
    """
    also = ""
    if max_parents is None or not _fits(1, 0, m, max_parents, n_bytes):
        # The lists of families may take half of the memory; the other half is for the search.
        half = n_bytes // 2 // _BYTES
        max_parents = largest_that_fits(
            lambda k: numbers_of_small_families(m, k) <= half, fewest, most
        )
        if max_parents is None:
            return []
        also = f", and max_parents to {max_parents} or less{_IN_TRANSFORMER}"
    size = largest_that_fits(lambda n: _fits(n, 0, m, max_parents, n_bytes), 1, m - 1)
    return [] if size is None else [f"set tiers of {size} or fewer columns each{also}"]

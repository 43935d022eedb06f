"""What would make a computation fit in memory that does not: smaller problems that were planned."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from skbn._core.memory import largest_that_fits
from skbn._solver.problem import Shape

__all__ = ["smaller_problems"]

# Added to advice on max_parents: it must be lowered where the local scores are made.
_IN_TRANSFORMER = " (of the LocalScoreTransformer, if there is one)"
# Larger tiers are not tried together with fewer parents: their dynamic programs take hours.
_LARGEST_TIER = 25


def smaller_problems(
    shape: Shape,
    fits: Callable[[Shape], bool],
    fits_otherwise: Callable[[Shape], bool] = lambda _: False,
    *,
    tiers_always: bool = False,
) -> list[str]:
    """Say which smaller problems would fit in memory.

    Parameters
    ----------
    shape : Shape
        The problem that does not fit.
    fits : callable
        Whether the planner finds a plan for a problem.
    fits_otherwise : callable
        Whether another planner does with fewer parents, if the first one does not.
    tiers_always : bool
        Whether to propose tiers even if fewer parents are enough.

    Returns
    -------
    remedies : list of str
        Each is enough by itself. Empty if there is too little memory for any problem.
    """
    m, fewest = len(shape.constraints.allowed), shape.fewest_parents
    most = min(shape.constraints.max_parents, m - 1) - 1
    if shape.families.are_given:
        most = 0  # they take as much memory with fewer parents

    few = largest_that_fits(partial(_fits_with, shape, fits), fewest, most)
    tiers = []
    if few is None or tiers_always:
        tiers = _tiers(shape, fits, fewest, most, alone=few is not None)
    few = few or largest_that_fits(partial(_fits_with, shape, fits_otherwise), fewest, most)
    remedies = [] if few is None else [f"set max_parents to {few} or less{_IN_TRANSFORMER}"]
    remedies += tiers
    left = largest_that_fits(lambda n: fits(shape.of_columns(n)), 2, m - 1)
    if left is not None:
        remedies.append(f"leave out columns until {left} or fewer are left")
    return remedies


def _tiers(
    shape: Shape, fits: Callable[[Shape], bool], fewest: int, most: int, *, alone: bool
) -> list[str]:
    """Say how large tiers may be; with fewer parents too if they do not fit alone."""
    m, n_groups = len(shape.constraints.allowed), len(shape.constraints.groups)
    what = "set" if n_groups == 1 else "divide the columns of that group into"
    size = largest_that_fits(lambda n: fits(shape.in_tiers(n)), 1, m - 1)
    if size is not None:
        return [f"{what} tiers of {size} or fewer columns each"]
    if alone:
        return []
    for size in range(min(_LARGEST_TIER, m - 1), 0, -1):
        in_tiers = shape.in_tiers(size)
        few = largest_that_fits(partial(_fits_with, in_tiers, fits), fewest, most)
        if few is not None:
            return [
                f"{what} tiers of {size} or fewer columns each, and max_parents to {few} or less"
                f"{_IN_TRANSFORMER}"
            ]
    return []


def _fits_with(shape: Shape, fits: Callable[[Shape], bool], max_parents: int) -> bool:
    return fits(shape.with_max_parents(max_parents))

"""Branching on an arc: which families have it, and which would close a cycle with required ones."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from skbn._branch_and_cut.families import Families

__all__ = [
    "Arc",
    "families_closing_cycles",
    "families_with",
    "has_all_columns",
    "heaviest_free_arc",
]

Arc = tuple[int, int]  # parent and child

Marks = npt.NDArray[np.bool_]


def families_with(families: Families, arc: Arc) -> Marks:
    """Return which families have an arc."""
    parent, child = arc
    return (families.child == child) & (families.parents == parent).any(axis=1)


def families_closing_cycles(families: Families, required: Iterable[Arc]) -> Marks:
    """Return which families would close a directed cycle with required arcs."""
    m = families.start.size - 1
    reaches = np.eye(m, dtype=bool)
    for parent, child in required:
        reaches |= reaches[:, [parent]] & reaches[child]
    np.fill_diagonal(reaches, False)
    # The last column is for parents that a family lacks.
    reaches = np.column_stack([reaches, np.zeros(m, dtype=bool)])
    return np.any(reaches[families.child[:, np.newaxis], families.parents], axis=1)


def has_all_columns(families: Families, allowed: Marks) -> bool:
    """Return whether each column has an allowed family."""
    return len(np.unique(families.child[allowed])) == families.start.size - 1


def heaviest_free_arc(
    families: Families, allowed: Marks, weights: npt.NDArray[np.float64]
) -> Arc | None:
    """Return the heaviest arc that some allowed families of its child have and others do not.

    Parameters
    ----------
    families : Families
    allowed : ndarray of shape (n_families,), bool
    weights : ndarray of shape (m, m), float64
        Of all arcs; parents are rows.

    Returns
    -------
    arc : (int, int) or None
        None if each column has families of one set of parents only.
    """
    m = families.start.size - 1
    child = families.child[allowed]
    n_with = np.zeros((m + 1, m))
    np.add.at(n_with, (families.parents[allowed], child[:, np.newaxis]), 1)
    is_free = (n_with[:m] > 0) & (n_with[:m] < np.bincount(child, minlength=m))
    if not is_free.any():
        return None
    best = int(np.argmax(np.where(is_free, weights, -1.0)))
    return best // m, best % m

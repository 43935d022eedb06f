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
    "free_arcs",
    "has_all_columns",
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


def free_arcs(families: Families, allowed: Marks) -> Marks:
    """Return which arcs, as (m, m), some allowed families of their child have and others do not."""
    m = families.start.size - 1
    child = families.child[allowed]
    n_with = np.zeros((m + 1, m))
    np.add.at(n_with, (families.parents[allowed], child[:, np.newaxis]), 1)
    return (n_with[:m] > 0) & (n_with[:m] < np.bincount(child, minlength=m))

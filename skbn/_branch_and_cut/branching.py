"""Branching on an arc: which one to branch on, and which families each side leaves."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._branch_and_cut.proof import FamilyCosts, Node
from skbn._branch_and_cut.relaxation import Relaxation
from skbn._core.arrays import Booleans

# Arcs tried before one is branched on, each for this many simplex iterations: enough to tell which
# side of an arc costs more, and a small part of what a node takes.
_N_CANDIDATES, _N_ITERATIONS = 8, 60
# Arcs whose weight is nearer to 0 or 1 are not tried.
_WORTH_TRYING = 0.05
# The least cost of a side, in nats, so that a side that costs nothing does not make a product 0.
_LEAST_SIDE = 1e-3

Arc = tuple[int, int]  # parent and child


class OpenNode(NamedTuple):
    """An open node of the tree, sorted by its bound."""

    bound: float
    number: int
    node: Node
    allowed: npt.NDArray[np.uint8]  # packed bits
    required: tuple[Arc, ...]


def choose_arc(relaxation: Relaxation, allowed: Booleans, cutoff: float) -> Arc | None:
    """Return the arc whose two sides cost most, among the most fractional ones.

    None if each column has families of one set of parents only.
    """
    is_free = _free_arcs(relaxation.families, allowed)
    if not is_free.any():
        return None
    point, m = relaxation.point(), relaxation.m
    fractions = np.where(is_free, point.fractions, 0.0)
    order = np.argsort(-fractions, axis=None, kind="stable")[:_N_CANDIDATES]
    arcs = [(int(i // m), int(i % m)) for i in order if fractions.flat[i] > _WORTH_TRYING]
    if not arcs:
        heaviest = int(np.argmax(np.where(is_free, point.arcs, -1.0)))
        return heaviest // m, heaviest % m
    if len(arcs) == 1:
        return arcs[0]
    base = relaxation.objective
    most = cutoff - base
    gains = []
    for arc in arcs:
        has = _families_with(relaxation.families, arc)
        other = (relaxation.families.child == arc[1]) & ~has
        sides = (has, other | _families_with(relaxation.families, arc[::-1]))
        costs = [relaxation.objective_without(side, _N_ITERATIONS) - base for side in sides]
        gains.append(np.clip(costs, _LEAST_SIDE, most).prod())
    return arcs[int(np.argmax(gains))]


def branches(
    families: FamilyCosts, allowed: Booleans, arc: Arc, required: Sequence[Arc]
) -> tuple[Booleans, Booleans]:
    """Return the families allowed if an arc is forbidden, and if it is required with others."""
    has = _families_with(families, arc)
    is_other = (families.child == arc[1]) & ~has
    closes = _families_closing_cycles(families, [*required, arc])
    return allowed & ~has, allowed & ~is_other & ~closes


def _families_with(families: FamilyCosts, arc: Arc) -> Booleans:
    """Return which families have an arc."""
    parent, child = arc
    return (families.child == child) & (families.parents == parent).any(axis=1)


def _families_closing_cycles(families: FamilyCosts, required: Iterable[Arc]) -> Booleans:
    """Return which families would close a directed cycle with required arcs."""
    m = families.start.size - 1
    reaches = np.eye(m, dtype=bool)
    for parent, child in required:
        reaches |= reaches[:, [parent]] & reaches[child]
    np.fill_diagonal(reaches, False)
    # The last column is for parents that a family lacks.
    reaches = np.column_stack([reaches, np.zeros(m, dtype=bool)])
    return np.any(reaches[families.child[:, np.newaxis], families.parents], axis=1)


def has_all_columns(families: FamilyCosts, allowed: Booleans) -> bool:
    """Return whether each column has an allowed family."""
    return len(np.unique(families.child[allowed])) == families.start.size - 1


def _free_arcs(families: FamilyCosts, allowed: Booleans) -> Booleans:
    """Return which arcs, as (m, m), some allowed families of their child have and others do not."""
    m = families.start.size - 1
    child = families.child[allowed]
    n_with = np.zeros((m + 1, m))
    np.add.at(n_with, (families.parents[allowed], child[:, np.newaxis]), 1)
    return (n_with[:m] > 0) & (n_with[:m] < np.bincount(child, minlength=m))

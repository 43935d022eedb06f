"""EdgeChanges: what each edge that a network lacks or has would add to its score.

Independent of the search: LAPACK computes the regressions from the triangular factor of the rows,
whereas an order search works with their products, which lose the digits of nearly collinear
columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

import numpy as np

from skbn._core.arrays import Floats, Integers
from skbn._core.subsets import bits_of, members_of
from skbn._networks.equivalence import canonical_member
from skbn._regressions.local_score import internal_error, score_tolerance
from skbn._scores.scorer import FamilyScorer
from skbn._solver.constraints import Constraints

__all__ = ["EdgeChange", "EdgeChanges", "descendants_of", "gains_of_neighbours", "polished"]


class EdgeChange(NamedTuple):
    """An edge to add, delete or reverse.

    Parameters
    ----------
    child, parent : int
        The ends of the edge as it is, or as it will be if it is added.
    what : str
        "added", "deleted" or "reversed".
    gain : float
        By how many nats the network scores higher, and more than rounding explains.
    """

    child: int
    parent: int
    what: str
    gain: float


class EdgeChanges:
    """The networks that differ from a network by one edge, and their scores.

    Parameters
    ----------
    scorer : FamilyScorer
    constraints : Constraints
    parents : sequence of int
        The mask of each column's parents: an acyclic network within the constraints.

    Attributes
    ----------
    parents : list of int
        As given, and changed by `make`.
    of_parents, of_family : ndarray of shape (m, m)
        Row x, column z has the log-determinants of x's parents, and of these and x, after z has
        become a parent of x or ceased to be one; column x has those of the family as it is.
    gains : ndarray of shape (m, m), in nats
        Row x, column z: how much higher x's family scores with z added to its parents or
        removed from them.
    """

    def __init__(
        self, scorer: FamilyScorer, constraints: Constraints, parents: Sequence[int]
    ) -> None:
        m = len(parents)
        self.parents = list(parents)
        self.of_parents, self.of_family = np.empty((m, m)), np.empty((m, m))
        self.gains = np.empty((m, m))
        self._largest = np.empty((m, m))
        self._scorer = scorer
        self._constraints = constraints
        self._is_allowed, self._is_required = bits_of(
            [*constraints.allowed, *constraints.required], m
        ).reshape(2, m, m)
        self._score(np.arange(m))

    def best(self) -> EdgeChange | None:
        """Return the change that improves the score most; None if no change improves it.

        Differences that rounding may explain are no improvement, so that making one change
        after another comes to an end.

        Raises
        ------
        ValueError
            If the columns of a family that seems to score higher are not linearly independent.
        """
        m, follows = len(self.parents), descendants_of(self.parents)
        is_parent, is_after = bits_of([*self.parents, *follows], m).reshape(2, m, m)
        has_room = is_parent.sum(axis=1) < self._constraints.max_parents
        may_come = self._is_allowed & has_room[:, np.newaxis]
        may_go = is_parent & ~self._is_required
        # Few of the changes bring anything, so that the rest is not looked at. The comparison
        # keeps NaN, which dependent columns have.
        changes = []
        improves = ~(self.gains <= 0)
        for what, is_possible in (
            ("added", may_come & ~is_parent & ~is_after & improves),
            ("deleted", may_go & improves),
            ("reversed", may_go & may_come.T),
        ):
            child, parent = np.nonzero(is_possible)
            gain = self._beyond_rounding(child, parent)
            if what == "reversed":
                gain += self._beyond_rounding(parent, child)
                for i in np.flatnonzero(~(gain <= 0)):
                    # Reversing p -> x makes a cycle if another path leads from p to x.
                    if follows[parent[i]] & self.parents[child[i]]:
                        gain[i] = -np.inf
            if len(gain):
                best = int(np.argmax(gain))  # the first NaN if there is one
                edge = int(child[best]), int(parent[best])
                changes.append(EdgeChange(*edge, what, float(gain[best])))
        change = max(changes, key=lambda each: np.nan_to_num(each.gain, nan=np.inf), default=None)
        if change is None or change.gain <= 0:
            return None
        self._require_independence(change)
        if np.isnan(change.gain):
            raise internal_error(
                f"the score with the edge of columns {change.parent} and {change.child} "
                f"{change.what} is NaN"
            )
        return change

    def make(self, change: EdgeChange) -> None:
        """Change an edge of the network."""
        child, parent, what, _ = change
        changed = [child]
        self.parents[child] ^= 1 << parent
        if what == "reversed":
            self.parents[parent] ^= 1 << child
            changed.append(parent)
        self._score(np.array(changed))

    def _beyond_rounding(self, child: Integers, parent: Integers) -> Floats:
        """Return the gains of some changes of single families, less what rounding explains."""
        # The search treats differences below the rounding of the network's largest term as ties.
        of_network = np.diagonal(self._largest).max()
        largest = np.maximum(self._largest[child, parent], of_network)
        return np.asarray(self.gains[child, parent] - score_tolerance(largest))

    def _require_independence(self, change: EdgeChange) -> None:
        """Raise if a family of the changed network has dependent columns, and so no score."""
        child, parent = change.child, change.parent
        for x, z in ((child, parent), (parent, child)):
            if x == child or change.what == "reversed":
                others = members_of(self.parents[x] & ~(1 << z))
                self._scorer.require_independence([*others, z, x])

    def _score(self, children: Integers) -> None:
        """Compute the rows of some children."""
        is_parent = bits_of(self.parents, len(self.parents))
        for found, terms in self._scorer.neighbours(is_parent, children):
            x = found.children
            self.gains[x] = gains_of_neighbours(found.children, terms)
            self._largest[x] = np.abs(terms).max(axis=0)
            self.of_parents[x], self.of_family[x] = found.of_parents, found.of_family


def gains_of_neighbours(children: Integers, terms: Floats) -> Floats:
    """Return how much higher families score with one parent more, or one less.

    Parameters
    ----------
    children : ndarray of shape (k,), int64
    terms : ndarray of shape (3, k, m), float64
        Of the families that differ by one parent, as `FamilyScorer.neighbours` has them. At
        [:, i, children[i]] are those of the family as it is.

    Returns
    -------
    ndarray of shape (k, m), float64
        NaN for dependent columns, which no family may have.
    """
    with np.errstate(invalid="ignore"):
        scores = terms.sum(axis=0)
        return np.asarray(scores - np.take_along_axis(scores, children[:, np.newaxis], axis=1))


def polished(
    scorer: FamilyScorer, constraints: Constraints, parents: Sequence[int], any_member: bool
) -> list[int]:
    """Return a network that no added, deleted or reversed edge betters, climbing from another.

    Where equivalent networks may stand for each other, it is the canonical member of its class. An
    edge that would close a cycle in one member may be added to another, and so each is climbed
    from in turn.

    Parameters
    ----------
    scorer : FamilyScorer
    constraints : Constraints
    parents : sequence of int
        The mask of each column's parents: an acyclic network within the constraints.
    any_member : bool
        Whether equivalent networks may stand for each other.

    Raises
    ------
    ValueError
        If the columns of a family that seems to score higher are not linearly independent.
    """
    while True:
        start = canonical_member(list(parents)) if any_member else list(parents)
        changes = EdgeChanges(scorer, constraints, start)
        while (change := changes.best()) is not None:
            changes.make(change)
        parents = changes.parents
        if parents == start:
            return parents


def descendants_of(parents: Sequence[int]) -> list[int]:
    """Return the mask of the descendants of each column; raise if the network has a cycle."""
    members = [members_of(mask) for mask in parents]
    after = [0] * len(parents)
    try:
        order = [*TopologicalSorter(dict(enumerate(members))).static_order()]
    except CycleError as error:
        cycle = error.args[1]
        raise internal_error(f"the network found has a cycle of the columns {cycle}") from None
    for child in order[::-1]:
        for parent in members[child]:
            after[parent] |= 1 << child | after[child]
    return after

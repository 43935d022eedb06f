"""The form of a proof: a tree of branchings, with cuts and their multipliers at each node.

Every network of listed families costs at least a number that cuts and multipliers give. A cut is
an inequality that holds for every network: the coefficients of its families add up to the cut's
bound or more. With a multiplier l >= 0 for each cut, a family's reduced cost is its cost less the
sum of l times its coefficient, and a network costs at least

    the sum over columns of the least reduced cost of an allowed family
    + the sum over cuts of l times the cut's bound.

A family cannot be part of a network that costs less than the cutoff if this bound is the cutoff or
more with that family in place of its child's least: it is removed (reduced-cost fixing). What the
multipliers come from does not matter: any that are not negative give a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import F1, F2, I1, J1, S1, S2
from skbn._core.exact_sums import upper_sum


class FamilyCosts(NamedTuple):
    """Listed families with their costs. A network takes one for each column."""

    start: I1  # (m + 1,): column x has the families start[x], ..., start[x + 1] - 1, cheapest first
    cost: F1  # (n_families,): by how many nats the local score is below a number of the child's own
    parents: S2  # (n_families, K): ascending, and then -1 for parents that a family lacks
    child: S1  # (n_families,)
    rest: F1  # (n_families,): what rounding left out of the costs: the sum of both is exact

    def total(self, chosen: npt.NDArray[np.int64]) -> float:
        """Return what some families cost together, rounded up."""
        return upper_sum([*self.cost[chosen].tolist(), *self.rest[chosen].tolist()])


class LocalCut(NamedTuple):
    """An inequality for the parents that some columns have among each other.

    A family of ``columns[i]`` has the coefficient ``table[i, S]``, where S are its parents among
    these columns, bit j for ``columns[j]``. Families of other columns have the coefficient 0.
    """

    columns: S1  # (w,): ascending
    table: F2  # (w, 2**w): not negative. Entries where S contains i are not used
    # at most the least sum of coefficients over all choices of sets without directed cycles
    bound: float


class ClusterCut(NamedTuple):
    """The inequality that some column has no parent among these columns.

    Families of these columns without parents among them have the coefficient 1, all others 0.
    """

    columns: S1  # (w,): any number of different columns

    @property
    def bound(self) -> float:
        """What the coefficients of a network add up to at least."""
        return 1.0


class DeterminantCut(NamedTuple):
    """An inequality that follows from a positive definite matrix K over the columns.

    The residual variances K(x | P_x) of all columns x multiply to det(K) or more, whatever acyclic
    network has the parents P_x: given *all* columns before x in an order of the network, they
    would multiply to det(K), and with fewer parents none is smaller. A family of x has the
    coefficient ``log(K(x | P)) + offsets[x]``. Columns may stand for nodes of several columns; for
    these, K(x | P) is the determinant of the residuals.
    """

    matrix: F2  # (n, n): symmetric and positive definite, with no entry above 1 on the diagonal
    starts: I1  # (m + 1,): node x has the columns starts[x], ..., starts[x + 1] - 1
    offsets: F1  # (m,): with these, no coefficient is negative
    eigenvalue: float  # positive, and at most the smallest eigenvalue of the matrix
    bound: float  # at most log(det(K)) and the sum of the offsets


Cut = LocalCut | ClusterCut | DeterminantCut


class Step(NamedTuple):
    """Cuts and multipliers that give a bound, by which families are removed."""

    cuts: J1  # (k,): positions in the proof's list of cuts
    multipliers: F1  # (k,): not negative


class NumberedCuts:
    """The cuts of a proof that is being written, each of them once."""

    def __init__(self) -> None:
        self.cuts: list[Cut] = []
        self._numbers: dict[int, int] = {}

    def step(self, cuts: Sequence[Cut], multipliers: npt.NDArray[np.float64]) -> Step:
        """Return a step with some cuts and their multipliers."""
        for cut in cuts:
            if id(cut) not in self._numbers:
                self._numbers[id(cut)] = len(self.cuts)
                self.cuts.append(cut)
        numbers = [self._numbers[id(cut)] for cut in cuts]
        return Step(np.array(numbers, dtype=np.int32), multipliers)


class Branch(NamedTuple):
    """What the two children of a node tell apart: the first forbids an arc, the second requires it.

    Parameters
    ----------
    parent, child : int
        The columns that the arc leads from and to.
    """

    parent: int
    child: int


@dataclass(eq=False, repr=False)
class Node:
    """A node of the tree. A search fills it in while it goes on.

    The children of a node have fewer families: those with the arc of its branch, or those of the
    arc's child without it, are removed. With a required arc, families that would close a directed
    cycle with the required arcs on the path from the root are removed as well.

    The steps come after that, one after the other. A node is closed when a column has no family
    left or when a bound reaches the cutoff, and what it has beyond that is not looked at. One that
    is neither closed nor branched is open, and its bound is the largest of the steps at this node
    and on the path to it.

    Parameters
    ----------
    steps : list of Step
    branch : Branch or None
        None at a leaf.
    children : tuple of two Node, or None
    is_enumerated : bool
        Whether all networks of the families that are left cost the cutoff or more, as going through
        them with the cuts and multipliers of the last step shows. That closes the node.
    """

    steps: list[Step] = field(default_factory=list)
    branch: Branch | None = None
    children: tuple[Node, Node] | None = None
    is_enumerated: bool = False

    def split(self, branch: Branch) -> tuple[Node, Node]:
        """Branch here; return the two new children."""
        self.branch, self.children = branch, (Node(), Node())
        return self.children


class Proof(NamedTuple):
    """The claim that no network of listed families costs less than `bound`, and why.

    Parameters
    ----------
    cuts : list of LocalCut, ClusterCut or DeterminantCut
    root : Node
    cutoff : float
        Only networks that cost less than this are of interest.
    bound : float
        At most `cutoff`.
    """

    cuts: list[Cut]
    root: Node
    cutoff: float
    bound: float

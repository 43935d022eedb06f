"""Local scores as differences of functions of sets of columns.

A criterion is three tables c, a0 and a1 over the number l of parents, and L holds the
log-determinants of sets of columns. In ``c[l] + a0[l] * L[P] + a1[l] * L[P + x]``, the local score
of a column x with l parents P in nats, x enters only through the set P + x. So the score is
``of_family[P + x] - of_parents[P]``. Both are ``constant + factor * L[S]``, where constant and
factor depend only on the size of the set S.

If ``a0[l + 1] = -a1[l]``, as for all criteria that are score-equivalent, one function serves as
both, the *set function* ``F[S] = C[d] + a1[d - 1] * L[S]`` of sets S of d columns, where
``C[d] = c[0] + ... + c[d - 1]``.

Where a node has several columns, S is a set of nodes: d counts their columns, and what is paid for
edges counts the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import F1, Floats, Integers
from skbn._core.compile import inner_kernel, tuple_type

# How far a score may be from the exact one, in nats. Columns whose scores could be further off are
# refused.
SCORE_ACCURACY = 1e-3
# What rounding may cost, in units of the largest term of a score: about 4,500 roundings.
_ROUNDING = 1e-12


def local_score_terms(
    tables: Floats, n_parents: Any, of_parents: Any, of_family: Any
) -> tuple[Any, Any, Any]:
    """Return the three terms whose sum, from left to right, is the local score.

    `tables`: (3, m), c, a0 and a1 by the number of parents
    `n_parents`: int or ndarray of int
    `of_parents`, `of_family`: float or ndarray; the log-determinants L[P] and L[P + x]
    """
    c, a0, a1 = tables[:, n_parents]
    return c, a0 * of_parents, a1 * of_family


@inner_kernel
def local_score(tables, n_parents, of_parents, of_family):
    """Return the local score of one family."""
    return (
        tables[0, n_parents] + tables[1, n_parents] * of_parents + tables[2, n_parents] * of_family
    )


def score_tolerance(magnitude: npt.ArrayLike) -> Floats:
    """Return by how many nats a score may differ between two ways to compute it.

    `magnitude`: the largest magnitude of a term of each score
    """
    return SCORE_ACCURACY + _ROUNDING * np.asarray(magnitude, dtype=np.float64)


# Where families of more than k parents are ruled out, the set function falls by this number with
# each column from k + 2 on, so that their scores are about minus this: infinite ones would have no
# differences. No score that counts is below -1e250, and 2**22 times the number is finite.
_STEP = 2.0**1000
# A score below this is one that was ruled out.
LEAST_SCORE = -_STEP / 2
# In nats. If the machine precision times the largest partial sum of c exceeds this, two functions
# are kept, to save digits.
_MOST_ROUNDING = 1e-9
# Sets that NumPy weighs at a time.
_PIECE = 1 << 18


class SetFunctions(NamedTuple):
    """The two functions of all subsets of some columns, by their masks."""

    of_family: F1  # (2**m,): the same array if one function serves as both
    of_parents: F1  # (2**m,)

    def at(self, sets: Integers) -> SetFunctions:
        """Return the values of some sets."""
        return SetFunctions(self.of_family[sets], self.of_parents[sets])

    def local_score(self, child: int, parents: int) -> float:
        """Return the local score of a child with the parents of this mask."""
        score = float(self.of_family[parents | 1 << child] - self.of_parents[parents])
        return score if score >= LEAST_SCORE else -np.inf


SET_FUNCTIONS = tuple_type(SetFunctions)


class SetWeights:
    """How the two functions follow from the log-determinants of sets.

    `tables`: (3, m), the criterion's tables c, a0 and a1, see `local_score_terms`. c may be -inf
        for numbers of parents that are ruled out.

    `of_family`, `of_parents`: (2, m + 1), a constant, and what a log-determinant is multiplied by,
        for each number of columns
    `is_one`: whether one function serves as both
    `widths`: how many columns each node has; None for one each
    `node_terms`: what each number of nodes adds; empty for nothing
    """

    def __init__(self, tables: Floats) -> None:
        self.widths: Integers | None = None
        self.node_terms: Floats = np.empty(0)
        c, a0, a1 = tables
        m = len(c)
        n_allowed = int(np.argmin(np.append(c, -np.inf) > -np.inf))
        C = np.append(0.0, np.cumsum(c[:n_allowed]))
        self.is_one = bool(
            (c[n_allowed:] == -np.inf).all()
            and (a0[1:n_allowed] == -a1[: max(0, n_allowed - 1)]).all()
            and np.finfo(np.float64).eps * np.abs(C).max() <= _MOST_ROUNDING
        )
        weights = np.append(0.0, a1)
        if self.is_one:
            n_beyond = np.arange(m - n_allowed) + 1.0
            weights[n_allowed + 1 :] = 0.0
            self.of_family = np.stack([np.append(C, -_STEP * n_beyond), weights])
            self.of_parents = self.of_family
        else:
            self.of_family = np.stack([np.zeros(m + 1), weights])
            self.of_parents = -np.pad(
                tables[:2], ((0, 0), (0, 1))
            )  # padding: all columns together are nobody's parents

    @classmethod
    def of_nodes(
        cls, tables: Floats, widths: Sequence[int], node_terms: Floats, max_parents: int
    ) -> Self:
        """Return the weights of sets of nodes that have several columns each.

        `tables`: (3, n_columns), over the numbers of columns, finite, with ``a0[l + 1] == -a1[l]``
        `node_terms`: (m + 1,), what sets of 0, ..., m nodes have in addition
        `max_parents`: families of more parent nodes are ruled out
        """
        c, _, a1 = tables
        weights = cls.__new__(cls)
        weights.is_one = True
        weights.of_family = np.stack([np.append(0.0, np.cumsum(c)), np.append(0.0, a1)])
        weights.of_parents = weights.of_family
        weights.widths = np.array(widths, dtype=np.int64)
        n_beyond = np.arange(len(widths) + 1) - max_parents - 1.0
        weights.node_terms = node_terms - _STEP * np.maximum(n_beyond, 0.0)
        return weights

    def of_part(self, nodes: Sequence[int]) -> SetWeights:
        """Return the weights of sets of some of the nodes."""
        if self.widths is None:
            return self
        part = copy(self)
        part.widths = self.widths[list(nodes)]
        return part

    def __eq__(self, other: object) -> bool:
        names = ("of_family", "of_parents", "widths", "node_terms")
        return isinstance(other, SetWeights) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in names
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def has_ruled_out(self) -> bool:
        """Whether scores below `LEAST_SCORE` stand for families that are ruled out."""
        last = self.node_terms if self.node_terms.size else self.of_family[0]
        return bool(last[-1] < LEAST_SCORE)

    @property
    def n_functions(self) -> int:
        """How many arrays of all subsets there are."""
        return 1 if self.is_one else 2

    def at(self, sets: Integers, log_det: Floats) -> SetFunctions:
        """Return the values of some sets that have these log-determinants."""
        n_nodes = np.bitwise_count(sets)
        size = n_nodes if self.widths is None else columns_of_sets(sets, self.widths)

        def values(weights: Floats) -> Floats:
            constants, factors = weights[:, size]
            weighed: Floats = constants + factors * log_det
            return weighed + self.node_terms[n_nodes] if self.node_terms.size else weighed

        of_family = values(self.of_family)
        return SetFunctions(of_family, of_family if self.is_one else values(self.of_parents))

    def of_all(self, log_det: Floats) -> SetFunctions:
        """Return the values of all subsets of some columns, from their log-determinants."""
        functions = [np.empty(len(log_det)) for _ in range(self.n_functions)]
        for start in range(0, len(log_det), _PIECE):
            sets = np.arange(start, min(start + _PIECE, len(log_det)))
            for values, of_piece in zip(functions, self.at(sets, log_det[sets]), strict=False):
                values[sets] = of_piece
        return SetFunctions(functions[0], functions[-1])

    def spread(self, widths: Integers) -> tuple[Floats, Floats]:
        """Lay the weights out for the sets of some nodes, which are neighbours.

        `widths`: (k,), how many columns these nodes have

        Returns `spread`: (n_functions, 2, n_columns + 1, 2**k), if the other columns of the sets
        are s, the weights of set i are at ``[:, :, s, i]``; `node_terms`: (m + 1, 2**k), the same
        of `node_terms`, by the number of other nodes; empty if they are.
        """
        sets = np.arange(1 << len(widths))
        n_columns = self.of_family.shape[1] - 1
        size = np.arange(n_columns + 1)[:, np.newaxis] + columns_of_sets(sets, widths)
        functions = [self.of_family, self.of_parents][: self.n_functions]
        spread = np.stack([each[:, np.minimum(size, n_columns)] for each in functions])
        terms = self.node_terms
        if terms.size:
            n_nodes = np.arange(len(terms))[:, np.newaxis] + np.bitwise_count(sets)
            terms = terms[np.minimum(n_nodes, len(terms) - 1)]
        return np.ascontiguousarray(spread), terms.reshape(-1, len(sets))


def columns_of_sets(sets: Integers, widths: Integers) -> Integers:
    """Return how many columns each set of nodes has, by its mask."""
    if (widths == 1).all():
        return np.bitwise_count(sets).astype(np.int64)
    n_columns = np.zeros(sets.shape, dtype=np.int64)
    for node, width in enumerate(widths.tolist()):
        n_columns += (sets >> node & 1) * width
    return n_columns


def ruled_out(scores: Floats) -> Floats:
    """Return local scores with -inf for those of families that are ruled out."""
    return np.where(scores >= LEAST_SCORE, scores, -np.inf)

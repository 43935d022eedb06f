"""Local scores as differences of functions of sets of columns.

In ``c[l] + a0[l] * L[P] + a1[l] * L[P + x]``, the local score of a column x with l parents P, x
enters only through the set P + x. So the score is ``of_family[P + x] - of_parents[P]``. Both are
``constant + factor * L[S]``, where constant and factor depend only on the size of the set S.

If ``a0[l + 1] = -a1[l]``, as for all criteria that are score-equivalent, one function serves as
both, the *set function* ``F[S] = C[d] + a1[d - 1] * L[S]`` of sets S of d columns, where
``C[d] = c[0] + ... + c[d - 1]``.

This holds for sets of *nodes*, too, each a block of columns: with d the number of columns of all
nodes in S, ``F[P + x] - F[P]`` is what the columns of x score one after the other, each with those
before it as further parents. A term may be added that depends on the number of nodes only.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numba import float64

from skbn._core.arrays import Floats, Integers
from skbn._core.compile import tuple_type

__all__ = ["LEAST_SCORE", "SET_FUNCTIONS", "SetFunctions", "SetWeights", "columns_in", "ruled_out"]


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
    """The two functions of all subsets of some columns, by their masks.

    Parameters
    ----------
    of_family, of_parents : ndarray of shape (2**m,), float64
        The same array if one function serves as both.
    """

    of_family: Floats
    of_parents: Floats

    def at(self, sets: Integers) -> SetFunctions:
        """Return the values of some sets."""
        return SetFunctions(self.of_family[sets], self.of_parents[sets])

    def local_score(self, child: int, parents: int) -> float:
        """Return the local score of a child with the parents of this mask."""
        score = float(self.of_family[parents | 1 << child] - self.of_parents[parents])
        return score if score >= LEAST_SCORE else -np.inf

    def largest_term(self, child: int, parents: int) -> float:
        """Return the largest magnitude of a number that enters this local score."""
        return float(max(abs(self.of_family[parents | 1 << child]), abs(self.of_parents[parents])))


SET_FUNCTIONS = tuple_type(SetFunctions, float64[::1], float64[::1])


def columns_in(sets: Integers, widths: Integers | None) -> Integers:
    """Return how many columns sets of nodes have, given by their masks.

    Examples
    --------
    >>> columns_in(np.array([0, 1, 3]), np.array([1, 2])).tolist()
    [0, 1, 3]
    """
    if widths is None:
        return np.bitwise_count(sets)
    counts = np.zeros(np.shape(sets), dtype=np.int64)
    for node, width in enumerate(widths):
        counts += width * (sets >> node & 1)
    return counts


class SetWeights:
    """How the two functions follow from the log-determinants of sets.

    Parameters
    ----------
    tables : ndarray of shape (3, n_columns), float64
        The criterion's tables c, a0 and a1, see `local_score_terms`. c may be -inf for numbers of
        parents that are ruled out; where there are nodes, that counts as 0, and `max_parents` is
        what rules sets out.
    widths : sequence of m int, optional
        How many columns stand for each node. By default each column is a node.
    node_terms : ndarray of shape (m + 1,), float64, optional
        What is added to the set functions, by the number of nodes.
    max_parents : int, optional
        Families of more nodes as parents are ruled out.

    Attributes
    ----------
    of_family, of_parents : ndarray of shape (2, n_columns + 1), float64
        A constant, and what a log-determinant is multiplied by, for each number of columns.
    widths : ndarray of shape (m,), int64, or None
    node_terms : ndarray of shape (m + 1,), float64, or None
    is_one : bool
        Whether one function serves as both. Scores of nodes of several columns need that.
    """

    def __init__(
        self,
        tables: Floats,
        widths: Sequence[int] | Integers | None = None,
        node_terms: Floats | None = None,
        max_parents: int | None = None,
    ) -> None:
        self.widths: Integers | None = None
        self.node_terms: Floats | None = None
        if widths is None and node_terms is None and max_parents is None:
            self._weigh_columns(tables)
            return
        n_columns = tables.shape[1]
        self.widths = np.array([1] * n_columns if widths is None else widths, dtype=np.int64)
        n_nodes = np.arange(len(self.widths) + 1.0)
        if node_terms is not None:
            self.node_terms = np.array(node_terms, dtype=np.float64)
        if max_parents is not None:
            terms = np.zeros(len(n_nodes)) if self.node_terms is None else self.node_terms
            self.node_terms = terms - _STEP * np.maximum(n_nodes - 1 - max_parents, 0.0)
        c, a0, a1 = tables
        C = np.append(0.0, np.cumsum(np.where(c == -np.inf, 0.0, c)))
        self.is_one = bool((a0[1:] == -a1[:-1]).all())
        self.of_family = np.stack([C, np.append(0.0, a1)])
        self.of_parents = self.of_family if self.is_one else np.stack([C, np.append(-a0, 0.0)])

    def _weigh_columns(self, tables: Floats) -> None:
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

    def select(self, nodes: Sequence[int]) -> SetWeights:
        """Return the weights for sets of some of the nodes."""
        if self.widths is None:
            return self
        selected = copy(self)
        selected.widths = self.widths[list(nodes)]
        return selected

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SetWeights) and all(
            np.array_equal(a, b) for a, b in zip(self._numbers(), other._numbers(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def _numbers(self) -> list[Any]:
        return [self.of_family, self.of_parents, self.widths, self.node_terms]

    @property
    def has_ruled_out(self) -> bool:
        """Whether scores below `LEAST_SCORE` stand for families that are ruled out."""
        of_nodes = 0.0 if self.node_terms is None else self.node_terms[-1]
        return bool(self.of_family[0, -1] + of_nodes < LEAST_SCORE)

    @property
    def n_functions(self) -> int:
        """How many arrays of all subsets there are."""
        return 1 if self.is_one else 2

    def at(self, sets: Integers, log_det: Floats) -> SetFunctions:
        """Return the values of some sets that have these log-determinants."""
        size = columns_in(sets, self.widths)

        def values(weights: Floats) -> Floats:
            constants, factors = weights[:, size]
            weighed: Floats = constants + factors * log_det
            if self.node_terms is not None:
                weighed += self.node_terms[np.bitwise_count(sets)]
            return weighed

        of_family = values(self.of_family)
        return SetFunctions(of_family, of_family if self.is_one else values(self.of_parents))

    def of_all(self, log_det: Floats) -> SetFunctions:
        """Return the values of all subsets of some nodes, from their log-determinants."""
        functions = [np.empty(len(log_det)) for _ in range(self.n_functions)]
        for start in range(0, len(log_det), _PIECE):
            sets = np.arange(start, min(start + _PIECE, len(log_det)))
            for values, of_piece in zip(functions, self.at(sets, log_det[sets]), strict=False):
                values[sets] = of_piece
        return SetFunctions(functions[0], functions[-1])

    def spread(self, sizes: Integers) -> Floats:
        """Lay the weights out for neighbouring sets, whose sizes differ.

        Parameters
        ----------
        sizes : ndarray of shape (width,), int64
            How many columns each of them has more than the first.

        Returns
        -------
        spread : ndarray of shape (n_functions, 2, n_columns + 1, width), float64
            If the first of the sets has s columns, the weights of set i are at ``[:, :, s, i]``.
        """
        most = self.of_family.shape[1] - 1
        size = np.arange(most + 1)[:, np.newaxis] + sizes
        functions = [self.of_family, self.of_parents][: self.n_functions]
        spread = np.stack([each[:, np.minimum(size, most)] for each in functions])
        return np.ascontiguousarray(spread)

    def spread_node_terms(self, width: int) -> Floats:
        """Lay the terms by the number of nodes out for `width` neighbouring sets.

        Returns
        -------
        spread : ndarray of shape (m + 1, width), float64
            If the first of the sets has k nodes, the terms are at ``[k]``; empty if there are none.
        """
        if self.node_terms is None:
            return np.empty((0, 0))
        most = len(self.node_terms) - 1
        size = np.arange(most + 1)[:, np.newaxis] + np.bitwise_count(np.arange(width))
        return np.ascontiguousarray(self.node_terms[np.minimum(size, most)])


def ruled_out(scores: Floats) -> Floats:
    """Return local scores with -inf for those of families that are ruled out."""
    return np.where(scores >= LEAST_SCORE, scores, -np.inf)

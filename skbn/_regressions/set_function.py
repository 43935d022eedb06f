"""Local scores as differences of functions of sets of columns.

In ``c[l] + a0[l] * L[P] + a1[l] * L[P + x]``, the local score of a column x with l parents P, x
enters only through the set P + x. So the score is ``of_family[P + x] - of_parents[P]``. Both are
``constant + factor * L[S]``, where constant and factor depend only on the size of the set S.

If ``a0[l + 1] = -a1[l]``, as for all criteria that are score-equivalent, one function serves as
both, the *set function* ``F[S] = C[d] + a1[d - 1] * L[S]`` of sets S of d columns, where
``C[d] = c[0] + ... + c[d - 1]``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float64

from skbn._core.arrays import Floats, Integers
from skbn._core.compile import tuple_type

__all__ = ["LEAST_SCORE", "SET_FUNCTIONS", "SetFunctions", "SetWeights", "ruled_out"]


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


class SetWeights:
    """How the two functions follow from the log-determinants of sets.

    Parameters
    ----------
    tables : ndarray of shape (3, m), float64
        The criterion's tables c, a0 and a1, see `local_score_terms`. c may be -inf for numbers of
        parents that are ruled out.

    Attributes
    ----------
    of_family, of_parents : ndarray of shape (2, m + 1), float64
        A constant, and what a log-determinant is multiplied by, for each number of columns.
    is_one : bool
        Whether one function serves as both.
    """

    def __init__(self, tables: Floats) -> None:
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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SetWeights) and all(
            np.array_equal(a, b)
            for a, b in ((self.of_family, other.of_family), (self.of_parents, other.of_parents))
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def has_ruled_out(self) -> bool:
        """Whether scores below `LEAST_SCORE` stand for families that are ruled out."""
        return bool(self.of_family[0, -1] < LEAST_SCORE)

    @property
    def n_functions(self) -> int:
        """How many arrays of all subsets there are."""
        return 1 if self.is_one else 2

    def at(self, sets: Integers, log_det: Floats) -> SetFunctions:
        """Return the values of some sets that have these log-determinants."""
        size = np.bitwise_count(sets)

        def values(weights: Floats) -> Floats:
            constants, factors = weights[:, size]
            weighed: Floats = constants + factors * log_det
            return weighed

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

    def spread(self, width: int) -> Floats:
        """Lay the weights out for `width` neighbouring sets, whose sizes differ.

        Returns
        -------
        spread : ndarray of shape (n_functions, 2, m + 1, width), float64
            If the first of the sets has s columns, the weights of set i are at ``[:, :, s, i]``.
        """
        m = self.of_family.shape[1] - 1
        size = np.arange(m + 1)[:, np.newaxis] + np.bitwise_count(np.arange(width))
        functions = [self.of_family, self.of_parents][: self.n_functions]
        spread = np.stack([each[:, np.minimum(size, m)] for each in functions])
        return np.ascontiguousarray(spread)


def ruled_out(scores: Floats) -> Floats:
    """Return local scores with -inf for those of families that are ruled out."""
    return np.where(scores >= LEAST_SCORE, scores, -np.inf)

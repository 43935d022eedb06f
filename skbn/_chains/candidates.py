"""Which columns may be parents in a chain's state: candidates that are fixed, and random ones.

With many columns no table has all sets of parents. So each column x has fixed candidates D and R
others, E, which are part of the state: given a network, E is any set of R columns outside D that
contains the parents outside D, all with the same probability. With o of these parents, and M
columns outside D, there are C(M - o, R - o) such sets. So the weight of a parent set in a state is
that of its network divided by this number, and the sum over all E is the posterior itself. Only
families with more than R parents outside D are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from skbn._core.arrays import Floats, Integers

__all__ = ["Candidates"]


@dataclass(frozen=True)
class Candidates:
    """The columns that may be parents, and the scores of sets of them.

    Parameters
    ----------
    possible : list of m list of int
        The columns that may be parents of each column.
    required : list of m list of int
        Those of them that are.
    scores_of : callable
        Called with a column and a list of k others, which need not be possible parents; returns the
        local score of each of their subsets as parents, shape (2**k,), -inf if it is ruled out.
    n_fixed, n_random : int
        How many candidates of a column with more possible parents are fixed, and random.
    """

    possible: Sequence[Sequence[int]]
    required: Sequence[Sequence[int]]
    scores_of: Callable[[int, list[int]], Floats]
    n_fixed: int
    n_random: int
    _penalties: dict[int, Floats] = field(default_factory=dict)

    @property
    def m(self) -> int:
        """Number of columns."""
        return len(self.possible)

    @cached_property
    def n(self) -> int:
        """How many candidates each column has."""
        most = max(map(len, self.possible))
        return min(most, self.n_fixed + self.n_random)

    @cached_property
    def are_all(self) -> bool:
        """Whether all possible parents of all columns are candidates, so that none is random."""
        return max(map(len, self.possible)) == self.n

    def n_fixed_of(self, x: int) -> int:
        """Return how many of a column's candidates are fixed: all, if all are candidates."""
        return self.n if len(self.possible[x]) <= self.n else self.n_fixed

    def chosen(
        self, x: int, ranked: Sequence[int], parents: Sequence[int], rng: np.random.Generator
    ) -> tuple[list[int], list[int]]:
        """Choose the candidates of a column.

        Parameters
        ----------
        x : int
        ranked : sequence of int
            All possible parents, those first that are to be fixed: the most probable ones.
        parents : sequence of int
            They are candidates in any case.
        rng : numpy.random.Generator

        Returns
        -------
        candidates : list of n int
            Those that are fixed come first. If there are too few possible parents, the last ones
            are other columns.
        outside : list of int
            Possible parents that are not fixed.
        """
        possible = self.possible[x]
        first = dict.fromkeys([*self.required[x], *ranked])
        if len(possible) <= self.n:
            others = [z for z in range(self.m) if z != x and z not in possible]
            return [*first, *others][: self.n], []
        fixed = [*first][: self.n_fixed]
        missing = [z for z in parents if z not in fixed]
        for i in range(self.n_fixed - 1, -1, -1):  # more parents than there are random candidates
            if len(missing) <= self.n_random:
                break
            if fixed[i] not in parents:
                fixed[i] = missing.pop()
        outside = [z for z in possible if z not in fixed]
        drawn = rng.permutation([z for z in outside if z not in missing]).tolist()
        return [*fixed, *missing, *drawn][: self.n], outside

    def scores(self, x: int, candidates: Integers) -> Floats:
        """Return the scores of the sets of a column's candidates, less what counts random ones."""
        scores = self.scores_of(x, candidates.tolist())
        if len(self.possible[x]) <= self.n:
            return scores
        return scores - self._of_random(len(self.possible[x]) - self.n_fixed)

    def _of_random(self, n_outside: int) -> Floats:
        """Return ``log C(M - o, R - o)``, up to a constant, for each set of candidates."""
        if n_outside not in self._penalties:
            M, R = n_outside, self.n_random
            o = np.arange(R + 1)
            logs = gammaln(M - o + 1) - gammaln(R - o + 1) - gammaln(M - R + 1)
            n_random_parents = np.bitwise_count(np.arange(1 << self.n) >> self.n_fixed)
            self._penalties[n_outside] = (logs - logs[0])[n_random_parents]
        return self._penalties[n_outside]

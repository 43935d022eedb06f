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
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import gammaln

from skbn._core.arrays import Floats

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
        Called with a column and a list of k possible parents; returns the local score of each of
        their subsets as parents, shape (2**k,), -inf if it is ruled out.
    n_fewest : int
        How many candidates of a column are fixed at least.
    n_most : int
        How many candidates a column may have.
    n_random : int
        How many of them are random if it has more possible parents.
    """

    possible: Sequence[Sequence[int]]
    required: Sequence[Sequence[int]]
    scores_of: Callable[[int, list[int]], Floats]
    n_fewest: int
    n_most: int
    n_random: int

    @property
    def m(self) -> int:
        """Number of columns."""
        return len(self.possible)

    @property
    def are_all(self) -> bool:
        """Whether all possible parents of all columns are candidates, so that none is random."""
        return max(map(len, self.possible)) <= self.n_most

    def n_fixed(self, x: int, wanted: int) -> int:
        """Return how many candidates of a column are fixed, if so many are wanted at least."""
        n_possible = len(self.possible[x])
        if self.are_all:
            return n_possible
        n = max(self.n_fewest, wanted, len(self.required[x]))
        n = min(n, self.n_most - self.n_random)
        return n_possible if n_possible <= n + self.n_random else n

    def chosen(
        self,
        x: int,
        n_fixed: int,
        ranked: Sequence[int],
        parents: Sequence[int],
        rng: np.random.Generator,
    ) -> tuple[list[int], list[int]]:
        """Choose the candidates of a column.

        Parameters
        ----------
        x, n_fixed : int
        ranked : sequence of int
            All possible parents, those first that are to be fixed: the most probable ones.
        parents : sequence of int
            They are candidates in any case, if they are no more than these.
        rng : numpy.random.Generator

        Returns
        -------
        candidates : list of int
            Those that are fixed come first.
        outside : list of int
            Possible parents that are not fixed.
        """
        fixed = [*dict.fromkeys([*self.required[x], *ranked])][:n_fixed]
        missing = [z for z in parents if z not in fixed]
        for i in range(len(fixed) - 1, -1, -1):  # more parents than there are random candidates
            if len(missing) <= self.n_random:
                break
            if fixed[i] not in parents:
                fixed[i] = missing.pop()
        outside = [z for z in self.possible[x] if z not in fixed]
        drawn = rng.permutation([z for z in outside if z not in missing]).tolist()
        return [*fixed, *[*missing, *drawn][: self.n_random]], outside

    def log_counts(self, x: int, n_fixed: int) -> Floats:
        """Return ``log C(M - o, R - o)`` for o = 0, ..., R, up to a constant."""
        n_outside = len(self.possible[x]) - n_fixed
        return _log_counts(n_outside, self.n_random) if n_outside else np.zeros(self.n_random + 1)

    def scores(self, x: int, n_fixed: int, candidates: Sequence[int]) -> Floats:
        """Return the scores of the sets of a column's candidates, less what counts random ones."""
        n_random_parents = np.bitwise_count(np.arange(1 << len(candidates)) >> n_fixed)
        of_counts = self.log_counts(x, n_fixed)[n_random_parents]
        return self.scores_of(x, [*candidates]) - of_counts


@cache
def _log_counts(n_outside: int, n_random: int) -> Floats:
    M, R = n_outside, n_random
    o = np.arange(R + 1)
    logs = gammaln(M - o + 1) - gammaln(R - o + 1) - gammaln(M - R + 1)
    return np.asarray(logs - logs[0])

"""Which columns may be parents in a chain's state: candidates that are fixed, and random ones.

With many columns no table has all sets of parents. So each column x has fixed candidates D and R
others, E, which are part of the state: given a network, E is a random set of R columns outside D
that contains the parents outside D (see `candidate_kernels`). So the weight of a parent set in a
state is that of its network times the probability of E given the network, and the sum over all E is
the posterior itself. Only families with more than R parents outside D are left out.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from skbn._core.arrays import Booleans, Floats

# Up to this many expected parents outside the fixed candidates need no more random ones.
_FEW_OUTSIDE = 0.5


@dataclass(frozen=True)
class Candidates:
    """The columns that may be parents, and the scores of sets of them."""

    possible: Sequence[Sequence[int]]  # the columns that may be parents of each column
    required: Sequence[Sequence[int]]  # those of them that are
    # called with a column and a list of k possible parents; returns the local score of each of
    # their subsets as parents, shape (2**k,), -inf if it is ruled out
    scores_of: Callable[[int, list[int]], Floats]
    # called with a network, of which row x has the parents of x, shape (m, m); returns at [x, z]
    # how much the score of x rises if z is added to its parents or removed from them, -inf where
    # that is ruled out
    gains_of: Callable[[Booleans], Floats]
    n_fewest: int  # how many candidates of a column are fixed at least
    n_most: int  # how many candidates a column may have
    n_random: int  # how many of them are random at least, if it has more possible parents

    @property
    def m(self) -> int:
        """Number of columns."""
        return len(self.possible)

    @property
    def are_all(self) -> bool:
        """Whether all possible parents of all columns are candidates, so that none is random."""
        return max(map(len, self.possible)) <= self.n_most

    def sizes(self, x: int, n_wanted: int, chances: Floats) -> tuple[int, int]:
        """Return how many candidates of a column are fixed and how many are random.

        `n_wanted`: the least number of fixed ones
        `chances`: how probable the possible parents are, beginning with those to become fixed. If
            many parents are expected among the others, more are random, so that few families are
            left out.
        """
        n_possible, n_fewest = len(self.possible[x]), max(self.n_fewest, len(self.required[x]))
        if self.are_all:
            return n_possible, 0
        n_fixed = min(max(n_fewest, n_wanted), self.n_most - self.n_random)
        n_outside = max(float(chances[n_fixed:].sum()) - _FEW_OUTSIDE, 0.0)
        n_random = self.n_random + math.ceil(2 * n_outside)
        n_random = min(n_random, self.n_most - n_fewest)
        n_fixed = min(n_fixed, self.n_most - n_random)
        return (n_possible, 0) if n_possible <= n_fixed + n_random else (n_fixed, n_random)

    def chosen(
        self,
        x: int,
        n_fixed: int,
        n_random: int,
        ranked: Sequence[int],
        parents: Sequence[int],
        rng: np.random.Generator,
    ) -> tuple[list[int], list[int]]:
        """Choose the candidates of a column.

        `ranked`: all possible parents, beginning with those to become fixed: the most probable ones
        `parents`: always candidates, unless there are more than `n_fixed + n_random`

        Returns `candidates`: those that are fixed come first; `outside`: possible parents that are
        not fixed.
        """
        fixed = [*dict.fromkeys([*self.required[x], *ranked])][:n_fixed]
        missing = [z for z in parents if z not in fixed]
        for i in range(len(fixed) - 1, -1, -1):  # more parents than there are random candidates
            if len(missing) <= n_random:
                break
            if fixed[i] not in parents:
                fixed[i] = missing.pop()
        outside = [z for z in self.possible[x] if z not in fixed]
        drawn = rng.permutation([z for z in outside if z not in missing]).tolist()
        return [*fixed, *[*missing, *drawn][:n_random]], outside

    def chances(self, is_parent: Booleans, reaches: Booleans) -> Floats:
        """Return how probable each edge is given all others of a network.

        At [x, z] is the edge z -> x; `reaches` says at [x, z] whether a path leads from z to x.
        """
        gains = self.gains_of(is_parent)
        chances = np.asarray(expit(np.where(is_parent, -gains, gains)))
        chances[reaches.T] = 0.0  # it would close a cycle
        return chances

"""Parent sets of a child in order of their local score, listed on demand."""

from __future__ import annotations

import math

import numpy as np

from skbn._exact.family_sources import RankedFamilies

# Parent sets are listed down to this many nats below the best at first, and twice as far each time
# that more are needed. Lists this deep have dozens of parent sets.
_FIRST_DEPTH = 6.0
_LARGEST = float(np.finfo(np.float64).max)
_LARGEST_FACTOR = 1e150


class ParentSetList:
    """The parent sets of a child among some candidates, the best first.

    The best parents among some candidates are the best among fewer of them too, as long as none of
    these parents is left out. So one search and one list serve many sets of candidates; only if one
    of the best parents is left out, a list without this column is needed.
    """

    def __init__(self, families: RankedFamilies, child: int, candidates: int) -> None:
        self._families = families
        self._child = child
        self._candidates = candidates
        self._best, self._best_parents = families.best_parents(child, candidates)
        self._without: dict[int, ParentSetList] = {}
        self._listed: list[tuple[float, int, int]] = []
        self._depth = -math.inf
        self._factor = 2.0

    def reaching(
        self, candidates: int, lowest: float
    ) -> tuple[list[tuple[float, int, int]], float]:
        """Return the parent sets among fewer candidates whose local scores reach a bound.

        Returns
        -------
        reaching : list of (float, int, int)
            The score, and masks of the parents in the search and of all, by their numbers.
        beyond : float
            No other parent set scores higher than this.
        """
        found = self._for(candidates, lowest)
        if found._best < lowest or found._best == -math.inf:
            return [], found._best
        found._list_down_to(lowest)
        reaching: list[tuple[float, int, int]] = []
        for each in found._listed:
            if each[0] < lowest:
                return reaching, each[0]
            if not each[1] & ~candidates:
                reaching.append(each)
        return reaching, found._best - found._depth

    def _for(self, candidates: int, lowest: float) -> ParentSetList:
        """Return the list for some candidates, or one for more whose scores are too low already."""
        found = self
        while found._best >= lowest and (lacking := found._best_parents & ~candidates):
            column = lacking & -lacking
            if column not in found._without:
                fewer = found._candidates & ~column
                found._without[column] = ParentSetList(self._families, self._child, fewer)
            found = found._without[column]
        return found

    def _list_down_to(self, lowest: float) -> None:
        """List all parent sets whose scores reach a bound."""
        if self._best - lowest <= self._depth:
            return
        first = self._depth == -math.inf
        depth = max(self._best - lowest, _FIRST_DEPTH if first else self._depth * self._factor)
        if depth > _LARGEST_FACTOR:
            depth = math.inf
        threshold = max(self._best - depth, -_LARGEST)
        sets = self._families.parents_that_reach(self._child, self._candidates, threshold)
        if len(sets.scores) == len(self._listed):
            self._factor **= 2  # to be deep enough for all parent sets soon
        self._listed = list(
            zip(sets.scores.tolist(), sets.inside.tolist(), sets.parents, strict=True)
        )
        self._depth = depth

"""Which networks need not be listed when only the best of each equivalence class is.

An edge y -> x is covered if the other parents of x are those of y; reversing it gives a network of
the same class (Chickering 1995). A network is left out if one of its covered edges can be reversed
to give a higher score, or the same score and fewer edges from a later column to an earlier one. Of
the best networks of a class, one with the fewest such edges is never left out. Others of its class
may remain as well; they are dropped when they come up.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from skbn._core.subsets import members_of
from skbn._exact.family_sources import RankedFamilies
from skbn._exact.search_paths import Step


class EquivalenceFilter:
    """Says which networks to leave out, and whether the class of a listed one is new.

    Parameters
    ----------
    families : RankedFamilies
    n_sinks : int
    tie : float
        Scores that differ by no more tie.
    told_apart : sequence of int
        For each column, by the numbers that `families` has, the mask of the columns that
        experiments tell apart from it: the direction of an edge between the two belongs to the
        class.
    """

    def __init__(
        self, families: RankedFamilies, n_sinks: int, tie: float, told_apart: Sequence[int]
    ) -> None:
        self._families = families
        self._numbers = families.numbers
        self._sink_of = {families.numbers[x]: x for x in range(n_sinks)}
        self._tie = tie
        self._told_apart = told_apart
        self._scores: dict[tuple[int, int], float] = {}
        self._pairs: dict[tuple[int, int], tuple[int, int]] = {}
        self._seen: set[Any] = set()

    def leave_out(self, step: Step, before: Iterator[Step]) -> bool:
        """Whether a covered edge to an earlier sink leaves out the networks with a step."""
        y, number = step.sink, self._numbers[step.sink]
        bit, apart = 1 << number, self._told_apart[number]
        for of_child in before:
            if apart >> self._numbers[of_child.sink] & 1:
                continue
            if of_child.parents ^ bit == step.parents:
                x, reversed_parents = (
                    of_child.sink,
                    step.parents | 1 << self._numbers[of_child.sink],
                )
                gain = self._score(x, step.parents) + self._score(y, reversed_parents)
                gain -= of_child.score + step.score
                # One bound is twice the other, so that no rounding leads in a circle.
                if gain > (-self._tie / 2 if y > x else self._tie):
                    return True
        return False

    def _score(self, child: int, parents: int) -> float:
        score = self._scores.get((child, parents))
        if score is None:
            score = self._scores[child, parents] = self._families.score_of(child, parents)
        return score

    def is_new(self, steps: Iterator[Step]) -> bool:
        """Whether the class of a path's network comes up for the first time.

        Networks are of one class if they have the same joined pairs, the same v-structures
        (Verma & Pearl 1990) and the same directions of edges between columns that are told apart
        (Hauser & Bühlmann 2012).
        """
        joined, pairs_of, directed = 0, [], []
        for step in steps:
            edges, pairs = self._bits(step.sink, step.parents)
            joined |= edges
            pairs_of.append((step.sink, pairs))
            told = step.parents & self._told_apart[self._numbers[step.sink]]
            if told:
                directed.append((step.sink, told))
        v_structures = frozenset((x, pairs & ~joined) for x, pairs in pairs_of if pairs & ~joined)
        n_before = len(self._seen)
        self._seen.add((joined, v_structures, frozenset(directed)))
        return len(self._seen) > n_before

    def _bits(self, child: int, parents: int) -> tuple[int, int]:
        """Return the pairs that a family joins, and the pairs of its parents, as masks.

        A pair has a bit in the row of each column of the search. Pairs without such a column are
        left out: networks of one search with the same edges to the child agree on them.
        """
        found = self._pairs.get((child, parents))
        if found is None:
            n = self._families.n_numbers
            edges, pairs = parents << child * n, 0
            for number in members_of(parents):
                if number in self._sink_of:
                    row = self._sink_of[number] * n
                    edges |= 1 << row + self._numbers[child]
                    pairs |= (parents ^ 1 << number) << row
            found = self._pairs[child, parents] = edges, pairs
        return found

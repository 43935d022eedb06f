"""SumScorer: the local scores of several tables, added up family by family.

Each table's scores are differences of a function of sets, ``F[S]`` (see `set_function`), and so
their sum is a difference of the sum of these functions. One structure whose parameters each table
has for itself is scored like this: given the structure, the tables' likelihoods multiply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NoReturn, Self, TypeVar

import numpy as np

from skbn._core.arrays import Booleans, Floats, Integers
from skbn._core.resources import Progress, Resources, read_only
from skbn._data.nodes import Nodes
from skbn._regressions.least_squares import Neighbours
from skbn._regressions.log_determinants import log_determinants_work
from skbn._regressions.set_function import SetFunctions
from skbn._scores.families import AllFamilies, ScoredParentSets, ScoredPiece, SmallFamilies
from skbn._scores.scorer import FamilyScorer, ScoredGroup

Computed = TypeVar("Computed")


class SumScorer:
    """Scores families by the sum of several scorers. It has what a search asks of a scorer.

    Parameters
    ----------
    parts : sequence of FamilyScorer
        Of tables with the same columns, with one criterion that is score-equivalent.
    """

    why_listed = "of scores that are added up"
    column_tables = None  # no one regression scores a family

    def __init__(self, parts: Sequence[FamilyScorer]) -> None:
        self.parts = list(parts)
        first = self.parts[0]
        self.families, self.criterion, self.penalty = first.families, first.criterion, first.penalty
        self.targets = [*dict.fromkeys(mask for each in self.parts for mask in each.targets)]
        m = self.families.m
        tables = np.stack([np.zeros(m), -np.ones(m), np.ones(m)])
        tables[0, np.isneginf(first.tables[0])] = -np.inf
        self.tables = read_only(tables)  # those of a difference
        self._values: dict[tuple[int, ...], Floats] = {}

    def __getstate__(self) -> dict[str, Any]:
        # It takes longer to store the sums than to compute them again.
        return {**vars(self), "_values": {}}

    def with_penalty(self, penalty: float) -> Self:
        """Return the scorer of another penalty."""
        return type(self)([each.with_penalty(penalty) for each in self.parts])

    # The rows

    @property
    def row_groups(self) -> list[ScoredGroup]:
        """The nodes whose families are scored by the same rows of a table, for each table."""
        return [group for each in self.parts for group in each.row_groups]

    def read(self) -> list[ScoredGroup]:
        """Compute the statistics of all rows, as `FamilyScorer.read`."""
        return [group for each in self.parts for group in each.read()]

    def of_child(self, child: int) -> Self:
        """Return what scores the families of a child."""
        return self

    def scorers_of(self, child: int) -> list[FamilyScorer]:
        """Return the scorers whose scores of a child's families are added up."""
        return [scorer for each in self.parts for scorer in each.scorers_of(child)]

    def prepare(self, progress: Progress) -> None:
        """Compute what listed families need, and advance the progress by it."""
        for child in range(self.families.m):
            self._values_of(child)
        progress.advance(self.families.work)

    @property
    def n_bytes(self) -> int:
        """Memory that is taken already."""
        return sum(each.nbytes for each in self._values.values()) + sum(
            each.n_bytes for each in self.parts
        )

    def require_independence(self, nodes: Sequence[int]) -> None:
        """Raise if the columns of a family depend on each other in a table."""
        for each in self.parts:
            each.require_independence(nodes)

    @property
    def nodes(self) -> Nodes | None:
        """Which columns stand for each node, in the first table."""
        return self.parts[0].nodes

    @property
    def group_statistics(self) -> NoReturn:
        """Raise, as each table has parameters of its own."""
        raise ValueError(
            "These scores are those of several tables, each with parameters of its own. Fit to one "
            "of the tables, or ask compare_groups for the coefficients of each."
        )

    # The families

    @property
    def score_offsets(self) -> Floats:
        """What all local scores of each child have in common, shape (m,), in nats."""
        return np.sum([each.score_offsets for each in self.parts], axis=0)

    def local_score(self, child: int, parents: Sequence[int]) -> float:
        """Return the local score of a family."""
        return sum(each.local_score(child, parents) for each in self.parts)

    def terms(self, child: int, parents: list[int]) -> list[float]:
        """Return the three terms of a local score, which leave out the child's offset."""
        of_parts = [each.terms(child, parents) for each in self.parts]
        return [sum(terms) for terms in zip(*of_parts, strict=True)]

    def largest_term(self, child: int, parents: list[int]) -> float:
        """Return a bound of the magnitude of the numbers that enter a local score."""
        return sum(each.largest_term(child, parents) for each in self.parts)

    def network_terms(self, parents: Sequence[int]) -> Floats:
        """Return the terms of each column's local score and, last, `score_offsets`."""
        return np.sum([each.network_terms(parents) for each in self.parts], axis=0)

    def neighbours(
        self, is_parent: Booleans, children: Integers
    ) -> Iterator[tuple[Neighbours, Floats]]:
        """Yield the families that differ from a network's by one parent, and their terms.

        The log-determinants are NaN: there are several of each set.
        """
        children, m = np.asarray(children), len(is_parent)
        terms, place = np.zeros((3, len(children), m)), np.zeros(m, dtype=np.int64)
        place[children] = np.arange(len(children))
        for each in self.parts:
            for found, own in each.neighbours(is_parent, children):
                terms[:, place[found.children]] += own
        unknown = np.full((len(children), m), np.nan)
        yield Neighbours(children, unknown, unknown), terms

    def scored(self, child: int, candidates: list[int]) -> Iterator[ScoredPiece]:
        """Yield the scores of the families with parents among the candidates, in pieces."""
        offset, values = self.score_offsets[child], self._values_of(child)
        for scores, parents_at in self.families.scored(child, candidates, values, self.tables):
            yield scores + offset, parents_at

    def listed(
        self, child: int, required: list[int], candidates: list[int], with_dominated: bool = False
    ) -> ScoredParentSets:
        """Return a child's families, as `FamilyScorer.listed`."""
        where, values = (child, required, candidates), self._values_of(child)
        return self.families.listed(*where, values, self.tables, with_dominated)

    def functions_by_child(
        self, columns: list[int], children: list[int], max_parents: int, resources: Resources
    ) -> list[SetFunctions]:
        """Return what the local scores of each child are differences of."""
        quiet = replace(resources, progress=Progress())
        found = [
            each.functions_by_child(columns, children, max_parents, quiet) for each in self.parts
        ]
        resources.progress.advance(log_determinants_work(len(columns)))
        return _once_for_each(list(zip(*found, strict=True)), _sum_of_functions)

    def small_sets_by_child(
        self, columns: list[int], children: list[int], max_parents: int, resources: Resources
    ) -> list[tuple[SmallFamilies, Floats]]:
        """Return, for each child, the families of few parents, and F of the sets they need."""
        quiet = replace(resources, progress=Progress())
        found = []
        for each in self.parts:
            small = each.small_sets_by_child(columns, children, max_parents, quiet)
            tables = [each.of_child(child).tables for child in children]
            made = {
                id(values): (own, values, table)
                for (own, values), table in zip(small, tables, strict=True)
            }
            found.append([made[id(values)] for _, values in small])
        resources.progress.advance(found[0][0][0].work)
        return _once_for_each(list(zip(*found, strict=True)), _sum_of_small_sets)

    def _values_of(self, child: int) -> Floats:
        """Return F of the sets of all of a child's families."""
        scorers = self.scorers_of(child)
        key = tuple(map(id, scorers))
        if key not in self._values:
            self._values[key] = np.sum(
                [_values(self.families, each.log_determinants(), each.tables) for each in scorers],
                axis=0,
            )
        return self._values[key]


def _once_for_each(
    of_children: Sequence[tuple[Any, ...]], add: Callable[[tuple[Any, ...]], Computed]
) -> list[Computed]:
    """Return what is added up for each child, once for those that share all summands."""
    sums: dict[tuple[int, ...], Computed] = {}
    keys = [tuple(map(id, parts)) for parts in of_children]
    for key, parts in zip(keys, of_children, strict=True):
        if key not in sums:
            sums[key] = add(parts)
    return [sums[key] for key in keys]


def _sum_of_functions(parts: tuple[SetFunctions, ...]) -> SetFunctions:
    of_family = np.sum([each.of_family for each in parts], axis=0)
    if all(each.of_family is each.of_parents for each in parts):
        return SetFunctions(of_family, of_family)
    return SetFunctions(of_family, np.sum([each.of_parents for each in parts], axis=0))


def _sum_of_small_sets(
    parts: tuple[tuple[SmallFamilies, Floats, Floats], ...],
) -> tuple[SmallFamilies, Floats]:
    return parts[0][0], np.sum([_values(*each) for each in parts], axis=0)


def _values(families: AllFamilies | SmallFamilies, weighed: Floats, tables: Floats) -> Floats:
    """Return F of the sets of some families, from what their scorer's tables weigh."""
    if families.subsets is None:
        n_columns = np.bitwise_count(np.arange(families.n_subsets))
    else:
        subsets = families.subsets
        n_columns = np.repeat(np.arange(subsets.most + 1), np.diff(subsets.starts))
    # Numbers of parents that are ruled out are so by the tables of the sum.
    c = np.where(np.isfinite(tables[0]), tables[0], 0.0)
    constants, factors = np.append(0.0, np.cumsum(c)), np.append(0.0, tables[2])
    return np.asarray(constants[n_columns] + factors[n_columns] * weighed)

"""GroupedScorer: the local scores of families whose children have rows of their own.

Where an experimenter set some columns in some rows, a child's families are scored by the rows in
which it was not set. Where several tables share a structure but not its parameters, a family's
scores in the tables are added up, since likelihoods multiply. Each group of rows has its own
scorer, walk and set function. Set functions can be added up too: the difference of the sums is the
sum of the differences.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple, NoReturn, Self, TypeVar

import numpy as np

from skbn._core.arrays import Booleans, Floats, Integers
from skbn._core.resources import Progress, Resources, explained, read_only
from skbn._core.text import first_few
from skbn._data.degenerate_columns import joined
from skbn._data.nodes import Nodes
from skbn._data.sample import RowSummary, Sample
from skbn._data.statistics import GroupStatistics, Regression, SampleStatistics
from skbn._regressions.least_squares import Neighbours
from skbn._regressions.log_determinants import log_determinants_work
from skbn._regressions.set_function import SetFunctions
from skbn._scores.families import SmallFamilies, TableFamilies
from skbn._scores.scorer import FamilyScorer, ScoredNeighbours
from skbn.exceptions import DegenerateColumnsError

Computed = TypeVar("Computed")


def sum_of_scorers(parts: Sequence[FamilyScorer]) -> FamilyScorer:
    """Return a scorer that adds up the scores of tables with the same columns and criterion."""
    if len(parts) == 1:
        return parts[0]
    groups: list[TableGroup] = []
    for each in parts:
        every = [TableGroup([*range(each.families.m)], each, each)]
        groups += getattr(each, "groups", every)
    return GroupedScorer(groups, [*dict.fromkeys(mask for each in parts for mask in each.targets)])


class TableGroup(NamedTuple):
    """Nodes with rows that count for them, in a table."""

    nodes: list[int]
    scorer: FamilyScorer  # the scorer of these rows
    whole: FamilyScorer  # the scorer of all rows of the table, which knows its columns


class GroupedScorer(FamilyScorer):
    """Scores each family by the groups of rows that count for its child, added up.

    `groups`: with one criterion; each node is in one or more. If it is in several, the criterion is
        score-equivalent.
    `sample`: all rows, unless they are of several tables
    """

    is_plain = False

    def __init__(
        self, groups: list[TableGroup], targets: list[int], sample: Sample | None = None
    ) -> None:
        self.sample = sample  # type: ignore[assignment]
        self.groups = groups
        self.targets = targets
        self._whole = whole = groups[0].whole
        self.families, self.criterion, self.penalty = whole.families, whole.criterion, whole.penalty
        every = range(self.families.m)
        self._groups_of = [[i for i, each in enumerate(groups) if x in each.nodes] for x in every]
        self.is_sum = max(map(len, self._groups_of)) > 1
        self._sums: dict[tuple[int, ...], Floats] = {}
        self._checked_groups: set[int] = set()

    def __getstate__(self) -> dict[str, Any]:
        # It takes longer to store the sums than to compute them again.
        return {**vars(self), "_sums": {}}

    def with_penalty(self, penalty: float) -> Self:
        changed = {id(each): each.with_penalty(penalty) for _, *own in self.groups for each in own}
        groups = [
            TableGroup(nodes, changed[id(scorer)], changed[id(whole)])
            for nodes, scorer, whole in self.groups
        ]
        return type(self)(groups, self.targets, self.sample)

    # The rows

    @property
    def row_groups(self) -> list[tuple[list[int], FamilyScorer]]:
        """The groups of nodes and what scores them; it raises as `scorers_of`."""
        return [(each.nodes, self._checked(i)) for i, each in enumerate(self.groups)]

    def of_child(self, child: int) -> FamilyScorer:
        """Return what scores the families of a child; it raises as `scorers_of`."""
        return self if self.is_sum else self.scorers_of(child)[0]

    def scorers_of(self, child: int) -> list[FamilyScorer]:
        """Return the scorers whose scores of a child's families are added up.

        Raises ValueError, naming the child, if its rows are too few or their columns not
        independent.
        """
        return [self._checked(i) for i in self._groups_of[child]]

    def _checked(self, number: int) -> FamilyScorer:
        """Return the scorer of a group; it raises as `scorers_of`, naming what others lack too."""
        try:
            return self._of_group(number)
        except DegenerateColumnsError as error:
            first = error.explained_as(str(error))  # without a traceback, which keeps tables
        others = [partial(self._of_group, i) for i in range(len(self.groups)) if i != number]
        raise joined(first, *others)

    def _of_group(self, number: int) -> FamilyScorer:
        nodes, scorer, whole = self.groups[number]
        if number in self._checked_groups:
            return scorer
        if scorer is whole:
            _ = scorer.statistics
            return scorer
        n_rows, n = scorer.sample.shape[0], whole.sample.shape[0]
        names = first_few([whole.nodes.names[x] for x in nodes])

        def explain(error: ValueError) -> str:
            return (
                f"In the {n_rows} rows in which [{names}] was not set by interventions: {error} "
                "Only these rows say what it depends on."
            )

        if n_rows < 2:
            but = f"all but {n_rows} of the" if n_rows else "all"
            raise ValueError(
                f"interventions set the columns [{names}] in {but} {n} rows, so that nothing "
                "says what they depend on. Give rows in which they were not set, "
                f"leave them out, or let them be causes only, by exogenous=[{names}]."
            )
        explained(lambda: _require_same_columns(whole, scorer), explain)
        explained(lambda: scorer.statistics, explain)
        self._checked_groups.add(number)
        return scorer

    def read(self) -> list[FamilyScorer]:
        return [scorer for _, scorer in self.row_groups]

    @property
    def group_statistics(self) -> list[GroupStatistics]:
        self._require_one_table()
        return [
            GroupStatistics(scorer.nodes.columns_of(nodes), scorer.statistics)
            for nodes, scorer in self.row_groups
        ]

    @property
    def statistics(self) -> SampleStatistics:
        self._refuse("statistics")

    def log_determinants(self, progress: Progress | None = None) -> Floats:
        self._refuse("log-determinants")

    def _refuse(self, what: str) -> NoReturn:
        self._require_one_table()
        raise ValueError(
            f"With interventions each column has {what} of its own, by the rows in which it was "
            "not set. Ask local_score, coef or to_array."
        )

    def _require_one_table(self) -> None:
        if self.is_sum:
            raise ValueError(
                "These scores are those of several tables, each with parameters of its own. Fit to "
                "one of the tables, or ask compare_groups for the coefficients of each."
            )

    def prepare(self, progress: Progress) -> None:
        for own in {*map(tuple, self._groups_of)}:
            self._values_of(self.groups[own[0]].nodes[0])
        progress.advance(self.families.work)

    @property
    def n_bytes(self) -> int:
        sums = sum(each.nbytes for each in self._sums.values())
        return sums + sum(scorer.n_bytes for _, scorer, _ in self.groups)

    def require_independence(self, nodes: Sequence[int]) -> None:
        """Raise if the columns of a family, whose child comes last, depend on each other."""
        for each in self.scorers_of(nodes[-1]) if len(nodes) else ():
            each.require_independence(nodes)

    # The columns

    @cached_property
    def nodes(self) -> Nodes:
        return self._whole.nodes

    @property
    def summary(self) -> RowSummary:
        return self._whole.summary

    def kept(self, rows: Floats) -> Floats:
        return self._whole.kept(rows)

    # The criterion: which numbers of parents it allows, and whether it is score-equivalent, does
    # not depend on the rows

    @cached_property
    def tables(self) -> Floats:
        """The tables of the scores of a child, if one group counts for it; else of a difference."""
        tables = self.groups[0].scorer.tables
        if self.is_sum:
            constant = np.where(np.isneginf(tables[0]), -np.inf, 0.0)
            ones = np.ones(len(constant))
            tables = read_only(np.stack([constant, -ones, ones]))
        return tables

    @property
    def column_tables(self) -> Floats | None:  # type: ignore[override]
        """None if no one regression scores a family."""
        return None if self.is_sum else self.groups[0].scorer.column_tables

    @property
    def score_offsets(self) -> Floats:
        return np.array([*map(self._offset, range(self.families.m))])

    def _offset(self, child: int) -> float:
        return float(sum(each.score_offsets[child] for each in self.scorers_of(child)))

    # Families

    def local_score(self, child: int, parents: Sequence[int]) -> float:
        return float(sum(each.local_score(child, parents) for each in self.scorers_of(child)))

    def terms(self, child: int, parents: list[int]) -> tuple[float, float, float]:
        of_groups = [each.terms(child, parents) for each in self.scorers_of(child)]
        constant, of_parents, of_family = map(sum, zip(*of_groups, strict=True))
        return constant, of_parents, of_family

    def largest_term(self, child: int, parents: list[int]) -> float:
        return sum(each.largest_term(child, parents) for each in self.scorers_of(child))

    def regression(self, child: int, parents: Sequence[int]) -> Regression:
        self._require_one_table()
        return self.of_child(child).regression(child, parents)

    def network_terms(
        self, parents: Sequence[int], children: Sequence[int] | None = None
    ) -> Floats:
        terms = np.zeros((4, len(parents)))
        for nodes, scorer in self.row_groups:
            terms[:, nodes] += scorer.network_terms(parents, nodes)[:, nodes]
        return terms

    def neighbours(self, is_parent: Booleans, children: Integers) -> ScoredNeighbours:
        """Yield neighbours as `FamilyScorer.neighbours`.

        The log-determinants of sums are NaN: there are several of each set.
        """
        children, m = np.asarray(children), len(is_parent)
        found = [
            each
            for nodes, scorer in self.row_groups
            if len(asked := children[np.isin(children, nodes)])
            for each in scorer.neighbours(is_parent, asked)
        ]
        if not self.is_sum:
            yield from found
            return
        terms, place = np.zeros((3, len(children), m)), np.zeros(m, dtype=np.int64)
        place[children] = np.arange(len(children))
        for of_group, own in found:
            terms[:, place[of_group.children]] += own
        unknown = np.full((len(children), m), np.nan)
        yield Neighbours(children, unknown, unknown), terms

    def functions_by_child(
        self, columns: list[int], children: list[int], max_parents: int, resources: Resources
    ) -> list[SetFunctions]:
        given = columns, max_parents, resources.reporting(Progress())
        of_children = self._added(
            children, lambda scorer: scorer.set_functions_of(*given), _sum_of_functions
        )
        resources.progress.advance(log_determinants_work(len(columns)))
        return of_children + of_children[:1] * (len(columns) - len(children))

    def small_sets_by_child(
        self, columns: list[int], children: list[int], max_parents: int, resources: Resources
    ) -> list[tuple[SmallFamilies, Floats]]:
        def small_sets(scorer: FamilyScorer) -> tuple[SmallFamilies, Floats, Floats]:
            silent = resources.reporting(Progress())
            return *scorer.small_sets(columns, max_parents, silent), scorer.tables

        of_children = self._added(children, small_sets, _sum_of_small_sets)
        resources.progress.advance(of_children[0][0].work)
        return [(families, weighed) for families, weighed, *_ in of_children]

    def _values_of(self, child: int) -> tuple[Floats, Floats]:
        key, scorers = tuple(self._groups_of[child]), self.scorers_of(child)
        if not self.is_sum:
            return scorers[0].log_determinants(), scorers[0].tables
        if key not in self._sums:
            parts = [(self.families, each.log_determinants(), each.tables) for each in scorers]
            _, self._sums[key], *_ = _sum_of_small_sets(parts)
        return self._sums[key], self.tables

    def _added(
        self,
        children: list[int],
        compute: Callable[[FamilyScorer], Computed],
        add: Callable[[Sequence[Computed]], Computed],
    ) -> list[Computed]:
        """Return, for each child, the sum over its groups; each group is computed once."""
        of_groups: dict[int, Computed] = {}
        sums: dict[tuple[int, ...], Computed] = {}
        for child in children:
            key, scorers = tuple(self._groups_of[child]), self.scorers_of(child)
            for i, scorer in zip(key, scorers, strict=True):
                if i not in of_groups:
                    of_groups[i] = compute(scorer)
            if key not in sums:
                sums[key] = add([of_groups[i] for i in key]) if len(key) > 1 else of_groups[key[0]]
        return [sums[tuple(self._groups_of[child])] for child in children]


def _require_same_columns(whole: FamilyScorer, scorer: FamilyScorer) -> None:
    """Raise if a group has no rows of some level of a category."""
    own = {*scorer.nodes.column_names}
    if missing := [each for each in whole.nodes.column_names if each not in own]:
        raise ValueError(
            f"the columns [{first_few(missing)}] do not vary, or are determined by others of "
            "their node. Merge levels that have few rows."
        )


def _sum_of_functions(parts: Sequence[SetFunctions]) -> SetFunctions:
    of_family = np.sum([each.of_family for each in parts], axis=0)
    if all(each.of_family is each.of_parents for each in parts):
        return SetFunctions(of_family, of_family)
    return SetFunctions(of_family, np.sum([each.of_parents for each in parts], axis=0))


def _sum_of_small_sets(parts: Sequence[tuple[Any, Floats, Floats]]) -> tuple[Any, Floats, Floats]:
    """Return the function of sets whose differences are the summed scores."""
    return parts[0][0], np.sum([_values(*each) for each in parts], axis=0), parts[0][2]


def _values(families: TableFamilies, weighed: Floats, tables: Floats) -> Floats:
    """Return F of the sets of some families, from what their scorer's tables weigh."""
    if families.subsets is None:
        n_columns = np.bitwise_count(np.arange(families.n_subsets))
    else:
        subsets = families.subsets
        n_columns = np.repeat(np.arange(subsets.most + 1), np.diff(subsets.starts))
    # The tables of the sum rule out numbers of parents; infinities here would spoil the sums.
    c = np.where(np.isfinite(tables[0]), tables[0], 0.0)
    constants, factors = np.append(0.0, np.cumsum(c)), np.append(0.0, tables[2])
    return np.asarray(constants[n_columns] + factors[n_columns] * weighed)

"""InterventionalScorer: local scores where an experimenter set some columns in some rows.

Each child's families are scored by the rows in which it was not set. Children that share their rows
share one scorer, and so one walk and one set function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any, NoReturn, Self, TypeVar

import numpy as np

from skbn._core.arrays import Booleans, Floats, Integers
from skbn._core.resources import Progress, Resources, explained
from skbn._core.subsets import mask_of
from skbn._core.text import first_few
from skbn._data.degenerate_columns import joined
from skbn._data.sample import Sample
from skbn._data.statistics import GroupStatistics, SampleStatistics
from skbn._regressions.least_squares import Neighbours
from skbn._regressions.log_determinants import log_determinants_work
from skbn._regressions.set_function import SetFunctions
from skbn._scores.block_scorer import BlockScorer
from skbn._scores.criteria import Criterion
from skbn._scores.families import SmallFamilies
from skbn._scores.scorer import FamilyScorer, ScoredGroup
from skbn.exceptions import DegenerateColumnsError

Computed = TypeVar("Computed")


def _of_all_rows(name: str) -> Any:
    """Return a property, or a method, that is that of the scorer of all rows."""
    return property(lambda scorer: getattr(scorer.of_all_rows, name))


def _of_rows_of_child(name: str) -> Any:
    """Return a method that is that of the scorer of a child's rows; the child comes first."""

    def method(scorer: InterventionalScorer, child: int, *given: Any) -> Any:
        return getattr(scorer.of_child(child), name)(child, *given)

    return method


class InterventionalScorer(FamilyScorer):
    """Scores each family by the rows in which its child was not set.

    Parameters
    ----------
    sample : Sample
    names, criterion, penalty, max_parents, n_jobs
        As for `FamilyScorer`.

    Attributes
    ----------
    of_all_rows : FamilyScorer
        The scorer of all rows. It knows the nodes and their columns; its scores are not used.
    """

    why_listed = "with interventions"

    def __init__(
        self,
        sample: Sample,
        names: list[str | int],
        criterion: Criterion,
        penalty: float,
        max_parents: int | None,
        n_jobs: int | None,
    ) -> None:
        super().__init__(sample, names, criterion, penalty, max_parents, n_jobs)
        settings = names, criterion, penalty, max_parents, n_jobs
        kind = FamilyScorer if sample.nodes is None else BlockScorer
        self.of_all_rows = kind(sample.all_rows, *settings)
        self.targets = sample.targets
        self._groups = [ScoredGroup(nodes, kind(rows, *settings)) for nodes, rows in sample.groups]
        self._group_of = {x: i for i, (nodes, _) in enumerate(self._groups) for x in nodes}

    def with_penalty(self, penalty: float) -> Self:
        other = copy(self)
        other.penalty = penalty
        other.of_all_rows = self.of_all_rows.with_penalty(penalty)
        other._groups = [
            ScoredGroup(nodes, scorer.with_penalty(penalty)) for nodes, scorer in self._groups
        ]
        return other

    # The rows

    @property
    def row_groups(self) -> list[ScoredGroup]:
        """The nodes that share their rows, with what scores them; it raises as `of_child`."""
        return [ScoredGroup(nodes, self.of_child(nodes[0])) for nodes, _ in self._groups]

    def of_child(self, child: int) -> FamilyScorer:
        """Return what scores the families of a child.

        Raises
        ------
        ValueError
            If its rows are too few, or their columns not independent, naming it.
        """
        group = self._group_of[child]
        try:
            return self._of_group(group)
        except DegenerateColumnsError as error:
            first = error.explained_as(str(error))  # without a traceback, which keeps tables
        others = [partial(self._of_group, i) for i in range(len(self._groups)) if i != group]
        raise joined(first, *others)

    def read(self) -> list[ScoredGroup]:
        return self.row_groups

    def _of_group(self, group: int) -> FamilyScorer:
        """Return what scores the families of a group's nodes; it raises as `of_child`."""
        nodes, scorer = self._groups[group]
        n_rows = scorer.sample.shape[0]
        names = first_few([self._names[x] for x in nodes])

        def explain(error: ValueError) -> str:
            return (
                f"In the {n_rows} rows in which [{names}] was not set by interventions: {error} "
                "Only these rows say what it depends on."
            )

        if n_rows < 2:
            n = self._sample.shape[0]
            but = f"all but {n_rows} of the" if n_rows else "all"
            raise ValueError(
                f"interventions set the columns [{names}] in {but} {n} rows, so that nothing "
                "says what they depend on. Give rows in which they were not set, "
                f"leave them out, or let them be causes only, by exogenous=[{names}]."
            )
        explained(lambda: self._require_same_columns(scorer), explain)
        explained(lambda: scorer.statistics, explain)
        return scorer

    @property
    def group_statistics(self) -> list[GroupStatistics]:
        return [
            GroupStatistics(scorer.columns_of(mask_of(nodes)), scorer.statistics)
            for nodes, scorer in self.row_groups
        ]

    def _require_same_columns(self, scorer: FamilyScorer) -> None:
        """Raise if levels of a category have no rows among those of a group."""
        if missing := [each for each in self.column_names if each not in scorer.column_names]:
            raise ValueError(
                f"the columns [{first_few(missing)}] do not vary, or are determined by others of "
                "their node. Merge levels that have few rows."
            )

    @property
    def statistics(self) -> SampleStatistics:
        self._refuse("statistics")

    def log_determinants(self, progress: Progress | None = None) -> Floats:
        self._refuse("log-determinants")

    def _refuse(self, what: str) -> NoReturn:
        raise ValueError(
            f"With interventions each column has {what} of its own, by the rows in which it was "
            "not set. Ask local_score, coef or to_array."
        )

    def prepare(self, progress: Progress) -> None:
        for _, scorer in self.row_groups:
            scorer.log_determinants()
        progress.advance(self.families.work)

    @property
    def n_bytes(self) -> int:
        return sum(scorer.n_bytes for _, scorer in self._groups)

    def require_independence(self, nodes: Sequence[int]) -> None:
        """Raise if the columns of a family, whose child comes last, depend on each other."""
        if len(nodes):
            self.of_child(nodes[-1]).require_independence(nodes)

    # The columns

    summary = _of_all_rows("summary")
    nodes = _of_all_rows("nodes")
    column_names = _of_all_rows("column_names")
    is_number = _of_all_rows("is_number")
    parents_of_columns = _of_all_rows("parents_of_columns")
    fixed_of_columns = _of_all_rows("fixed_of_columns")
    columns_of_nodes = _of_all_rows("columns_of_nodes")
    kept = _of_all_rows("kept")
    has_complexity = _of_all_rows("has_complexity")

    # The criterion: which numbers of parents it allows, and whether it is score-equivalent, does
    # not depend on the rows

    @property
    def tables(self) -> Floats:
        return self._groups[0].scorer.tables

    @property
    def column_tables(self) -> Floats:
        return self._groups[0].scorer.column_tables

    @property
    def score_offsets(self) -> Floats:
        return np.array([self.of_child(x).score_offsets[x] for x in range(self.families.m)])

    # Families

    def functions_by_child(
        self, columns: list[int], children: list[int], max_parents: int, resources: Resources
    ) -> list[SetFunctions]:
        given = columns, max_parents, resources.n_jobs
        of_children = self._by_group(children, lambda scorer: scorer.set_functions_of(*given))
        resources.progress.advance(log_determinants_work(len(columns)))
        return of_children + of_children[:1] * (len(columns) - len(children))

    def small_sets_by_child(
        self, columns: list[int], children: list[int], max_parents: int, resources: Resources
    ) -> list[tuple[SmallFamilies, Floats]]:
        given = columns, max_parents, resources.n_jobs
        of_children = self._by_group(children, lambda scorer: scorer._small_sets(*given))
        families, _ = of_children[0]
        resources.progress.advance(families.work)
        return of_children

    def _by_group(
        self, children: list[int], compute: Callable[[FamilyScorer], Computed]
    ) -> list[Computed]:
        """Return what is computed from the rows of each child, once for those that share them."""
        found = {}
        for number in {self._group_of[x] for x in children}:
            found[number] = compute(self.of_child(self._groups[number].nodes[0]))
        return [found[self._group_of[x]] for x in children]

    local_score = _of_rows_of_child("local_score")
    terms = _of_rows_of_child("terms")
    regression = _of_rows_of_child("regression")
    scored = _of_rows_of_child("scored")
    listed = _of_rows_of_child("listed")

    def network_terms(self, parents: Sequence[int]) -> Floats:
        terms = np.zeros((4, len(parents)))
        for nodes, scorer in self.row_groups:
            own = [mask if x in nodes else 0 for x, mask in enumerate(parents)]
            terms[:, nodes] = scorer.network_terms(own)[:, nodes]
        return terms

    def neighbours(
        self, is_parent: Booleans, children: Integers
    ) -> Iterator[tuple[Neighbours, Floats]]:
        for nodes, scorer in self.row_groups:
            own = children[np.isin(children, nodes)]
            if len(own):
                yield from scorer.neighbours(is_parent, own)

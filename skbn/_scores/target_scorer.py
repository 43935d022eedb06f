"""TargetScorer: local scores where environments changed mechanisms, and nobody knows which.

The rows come from environments. For a child with its parents, each environment but the reference
either shares the pooled regression or has one of its own: it is a *target* of that environment.
With T the environments of which the child is a target, the local score is the maximum over all T of
the score of the pooled rows outside T, plus what the rows of each environment in T score on their
own, less a cost for each. This is a function of the child and its parents only, so that all
searches take it. In a posterior, the exponentials are added up instead.

Without a reference, T may be all environments but one. If no two environments share a mechanism,
it does not matter which one of them has the pooled regression: this is one model, listed and added
up once, and the child is a target of all environments. Only if targets are hard and the child has
parents are these models of their own, which keep the parents in one environment each.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.base import clone

from skbn._core.arrays import Booleans, Floats, Integers
from skbn._core.compile import compile_kernels
from skbn._core.resources import Progress, Resources, explained, read_only
from skbn._core.subsets import members_of
from skbn._data.nodes import Nodes
from skbn._data.sample import RowSummary, Sample
from skbn._data.statistics import GroupStatistics
from skbn._regressions.least_squares import Neighbours
from skbn._regressions.log_determinants import (
    FEWEST_NODES,
    SubsetWalk,
    log_determinants_work,
    set_functions,
)
from skbn._regressions.set_function import SetFunctions, local_score_terms
from skbn._scores import criteria
from skbn._scores.families import Limits, SmallFamilies
from skbn._scores.grouped_scorer import GroupedScorer, TableGroup
from skbn._scores.scorer import FamilyScorer, ScoredNeighbours
from skbn._scores.target_kernels import (
    BEGIN,
    MAXIMUM,
    SUM,
    TARGET_KERNELS,
    join_scores,
    share_of_targets,
)

# Each further environment doubles the walks through all sets of columns.
MOST_WALKS = 1 << 12
# All sets of columns are walked through faster than this share of them, the small ones, one by one.
_FASTER_BITS = 3
# Up to so many columns, preparing a walk takes longer than the walk.
_FEW_COLUMNS = 14


@dataclass(frozen=True)
class Environments:
    """The environments that rows come from, and what one may change."""

    names: list[Hashable]  # the reference first, if there is one
    summaries: list[RowSummary]  # of the rows of each
    number: Integers | None  # (n,): that of each row's environment; None if rows were not kept
    # "soft" if a target has its own regression on the same parents, "hard" if it has none any more
    kind: str
    cost: float = 0.0  # what each target costs besides its parameters, in nats
    is_sum: bool = False  # whether all sets of environments are added up, as likelihoods
    has_reference: bool = True  # whether the first environment changed nothing

    @property
    def is_hard(self) -> bool:
        """Whether a target is cut off from its parents."""
        return self.kind == "hard"

    @cached_property
    def masks(self) -> list[int]:
        """The sets of environments that may have changed a mechanism; the reference has no bit."""
        n = len(self.names)
        masks = range(1 << n - 1 if self.has_reference else (1 << n) - 1)
        return [mask for mask in masks if self.is_hard or not (self.is_apart(mask) and mask & 1)]

    def changed(self, mask: int) -> list[int]:
        """Return the numbers of the environments of a mask."""
        return [e + self.has_reference for e in members_of(mask)]

    def is_apart(self, mask: int) -> bool:
        """Whether no two environments share a mechanism, and none of them is a reference."""
        return not self.has_reference and mask.bit_count() == len(self.names) - 1 > 0

    def targets(self, mask: int) -> int:
        """Return the mask of the environments of which the child is a target."""
        return (1 << len(self.names)) - 1 if self.is_apart(mask) else mask

    @property
    def log_weights(self) -> Floats:
        """The logarithm of each mask's prior weight, or less its cost if the best is looked for."""
        weights = -self.cost * np.bitwise_count(self.masks)
        if self.is_sum:
            # If targets are hard, each environment is equally likely to keep the parents.
            n_alike = [len(self.names) if self.is_apart(mask) else 1 for mask in self.masks]
            weights -= self.is_hard * np.log(n_alike)
            weights -= np.logaddexp.reduce(weights)
        return np.asarray(weights)


class _PartScorer(FamilyScorer):
    """Scores the rows of some environments; what a criterion charges counts all rows."""

    def __init__(self, sample: Sample, n_all: float, has_edges: bool, *settings: Any) -> None:
        super().__init__(sample, *settings)
        self._n_all, self._has_edges = n_all, has_edges

    def _penalised_tables(self, criterion: Any, n: float, m: int) -> Floats:
        tables = criteria.tables_of_columns(criterion, n, m, self.penalty, self._n_all)
        if self._has_edges:
            tables[0] -= self.penalty * criteria.edge_costs(criterion, m)
        return tables


class TargetScorer(GroupedScorer):
    """Scores each family by the environments that are best taken to have changed its child.

    Each node is a column. `pooled` has the scorer of the rows outside each set of environments, by
    its mask, and `own` that of each environment but a reference.
    """

    def __init__(
        self,
        environments: Environments,
        sample: Sample,
        nodes: Nodes,
        criterion: criteria.Criterion,
        penalty: float,
        max_parents: int | None,
        n_jobs: int | None,
    ) -> None:
        self.environments = environments
        summaries = environments.summaries
        settings = nodes, _with_one_mean(criterion, sample.summary), penalty
        n_all = sample.summary.n_samples
        others = summaries[1:] if environments.has_reference else summaries
        # By the mask of the environments that are left out: the last has the reference only.
        every = (1 << len(others)) - 1
        of_rest = {every: summaries[0]} if environments.has_reference else {}
        for mask in range(every - 1, -1, -1):
            first = members_of(~mask & every)[0]
            more, own = of_rest.get(mask | 1 << first), others[first]
            of_rest[mask] = own if more is None else more.merge(own)
        self.pooled = {
            mask: _PartScorer(
                Sample.of_summary(of_rest[mask]), n_all, True, *settings, max_parents, n_jobs
            )
            for mask in environments.masks
        }
        largest = 0 if environments.is_hard else max_parents
        self.own = [
            _PartScorer(Sample.of_summary(each), n_all, False, *settings, largest, n_jobs)
            for each in others
        ]
        whole, columns = self.pooled[0], [*range(len(nodes.names))]
        super().__init__([TableGroup(columns, whole, whole)], [], sample)
        self.is_sum = True  # no one regression scores a family
        self._subset_walks: dict[tuple[int, int, int], tuple[SubsetWalk, bool]] = {}

    def __getstate__(self) -> dict[str, Any]:
        made_again = {"tables", "_factors", "_offsets", "_tables_of_all", "_shifts"}
        kept = {name: own for name, own in super().__getstate__().items() if name not in made_again}
        return {**kept, "_subset_walks": {}}

    def _changed(self, **changes: Any) -> Self:
        """Return a copy with other attributes that, like a pickle, computes the rest again."""
        other = copy(self)
        vars(other).update(changes)
        return other

    def with_penalty(self, penalty: float) -> Self:
        pooled = {mask: each.with_penalty(penalty) for mask, each in self.pooled.items()}
        whole = pooled[0]
        return self._changed(
            pooled=pooled,
            own=[each.with_penalty(penalty) for each in self.own],
            groups=[TableGroup(self.groups[0].nodes, whole, whole)],
            penalty=penalty,
            _whole=whole,
        )

    def with_sums(self) -> Self:
        """Return what adds up the likelihoods of all sets of environments."""
        return self._changed(environments=replace(self.environments, is_sum=True))

    def with_sample(self, sample: Sample) -> Self:
        """Return the scorer of the same rows, kept in another way."""
        if sample.has_rows:
            return self._changed(sample=sample)
        return self._changed(sample=sample, environments=replace(self.environments, number=None))

    # The rows

    def read(self) -> list[FamilyScorer]:
        """Compute the statistics of all rows; an error names the environment."""
        names, has_reference = self.environments.names, self.environments.has_reference

        def read(scorer: FamilyScorer, e: int) -> None:
            what = "the reference environment" if has_reference and e == 0 else "environment"
            where = f"In the rows of {what} {names[e]!r}"
            remedy = "Or merge it with another environment."
            explained(lambda: scorer.statistics, lambda error: f"{where}: {error} {remedy}")

        for mask, scorer in self.pooled.items():
            if mask.bit_count() == len(names) - 1:
                read(scorer, *{*range(len(names))}.difference(self.environments.changed(mask)))
        for e, scorer in enumerate(self.own, has_reference):
            read(scorer, e)
        for scorer in self.pooled.values():
            _ = scorer.statistics
        return [*self._regressed]

    @property
    def _regressed(self) -> list[_PartScorer]:
        """The scorers whose families have parents."""
        return [*self.pooled.values(), *([] if self.environments.is_hard else self.own)]

    @cached_property
    def _are_checked(self) -> bool:
        return all(each.statistics.is_checked for each in self._regressed)

    def scorers_of(self, child: int) -> list[FamilyScorer]:
        """Return the scorer of all rows, by which parents are ranked."""
        return [self._whole]

    def require_independence(self, nodes: Sequence[int]) -> None:
        for each in self._regressed:
            each.require_independence(nodes)

    def _require_one_table(self) -> NoReturn:
        raise ValueError(
            "With unknown targets each environment may have regressions of its own, which "
            "targets_.network(environment) of a GaussianBNLearner has. Only scores of families and "
            "probabilities of networks are known here."
        )

    def given(self, targets: Sequence[int]) -> GroupedScorer:
        """Return the scorer of the pooled rows, given which environments changed each column."""
        number, groups = self.environments.number, []
        for mask in dict.fromkeys(targets):
            scorer = self.pooled[mask]
            if number is not None:
                scorer = copy(scorer)
                scorer.sample = self.sample[~np.isin(number, self.environments.changed(mask))]
            own = [x for x, each in enumerate(targets) if each == mask]
            groups.append(TableGroup(own, scorer, scorer))
        return GroupedScorer(groups, self.masks_of(targets), self.sample)

    def of_environment(
        self, e: int, targets: Sequence[int]
    ) -> tuple[list[GroupStatistics], list[Floats]]:
        """Return what each column is regressed by in an environment, and its noise's divisors."""
        changed = self.environments.changed
        own = dict(enumerate(self.own, self.environments.has_reference))
        columns: dict[_PartScorer, list[int]] = {}
        for x, mask in enumerate(targets):
            scorer = own[e] if e in changed(mask) else self.pooled[mask]
            columns.setdefault(scorer, []).append(x)
        groups = [GroupStatistics(at, each.statistics) for each, at in columns.items()]
        return groups, [each.noise_divisors for each in columns]

    def masks_of(self, targets: Sequence[int]) -> list[int]:
        """Return the masks of the targets of each environment that has some, each once."""
        of_each = [
            sum(
                1 << x for x, mask in enumerate(targets) if self.environments.targets(mask) >> e & 1
            )
            for e in range(len(self.own))
        ]
        return sorted({*of_each} - {0})

    # The criterion

    @cached_property
    def _shifts(self) -> Floats:
        """What the scores of each set of environments and each child have beside regressions."""
        m = self.families.m
        of_own = [
            each.network_terms([0] * m).sum(axis=0)
            if self.environments.is_hard
            else each.score_offsets
            for each in self.own
        ]
        shifts = np.array([each.score_offsets for each in self.pooled.values()])
        shifts += self.environments.log_weights[:, np.newaxis] - self.score_offsets
        for mask, shift in zip(self.pooled, shifts, strict=True):
            for e in members_of(mask):
                shift += of_own[e]
        return read_only(shifts)

    # Families

    def by_targets(self, child: int, parents: Sequence[int]) -> Floats:
        """Return the scores of a family for each set of environments, without the offset."""
        scores = self._regression_scores(child, [*parents])
        of_own = scores[len(self.pooled) :]  # empty if targets are hard
        return scores[: len(self.pooled)] + self._sums_over_targets(of_own) + self._shifts[:, child]

    def _regression_scores(self, child: int, parents: list[int]) -> Floats:
        """Return the scores of a family by each of the regressed scorers."""
        if not self._are_checked:
            return np.array([sum(each.terms(child, parents)) for each in self._regressed])
        columns, n = [*parents, child], len(parents)
        triangles = np.linalg.qr(self._factors[:, :, columns], mode="r")
        logs = 2 * np.log(np.abs(np.diagonal(triangles, axis1=1, axis2=2)))
        if self._offsets is not None:
            logs += self._offsets[:, columns]
        of_parents, tables = logs[:, :n].sum(axis=1), self._tables_of_all[:, :, n].T
        c, of_parents, of_family = local_score_terms(
            tables[:, np.newaxis], 0, of_parents, of_parents + logs[:, n]
        )
        return np.asarray(c + of_parents + of_family)

    @cached_property
    def _factors(self) -> Floats:
        return read_only(np.stack([each.statistics.factor for each in self._regressed]))

    @cached_property
    def _offsets(self) -> Floats | None:
        offsets = [each.offsets for each in self._regressed]
        return None if any(each is None for each in offsets) else np.array(offsets)

    @cached_property
    def _tables_of_all(self) -> Floats:
        return read_only(np.stack([each.tables for each in self._regressed]))

    def _sums_over_targets(self, of_own: Any) -> Any:
        """Return the sum of what environments score on their own, for each set of them."""
        if not len(of_own):
            return 0.0
        sums: list[Any] = [np.zeros(np.shape(of_own[0]))]
        for each in of_own:
            sums += [every + each for every in sums]
        return np.array(sums)[self.environments.masks]

    def _joined(self, by_targets: Floats) -> Floats:
        """Return the maximum, or the sum of likelihoods, over the first axis."""
        if self.environments.is_sum:
            return np.asarray(np.logaddexp.reduce(by_targets, axis=0))
        return np.asarray(by_targets.max(axis=0))

    def local_score(self, child: int, parents: Sequence[int]) -> float:
        return float(self._joined(self.by_targets(child, parents))) + self._offset(child)

    def terms(self, child: int, parents: list[int]) -> tuple[float, float, float]:
        return float(self._joined(self.by_targets(child, parents))), 0.0, 0.0

    def largest_term(self, child: int, parents: list[int]) -> float:
        return max(each.largest_term(child, parents) for each in self._regressed)

    def network_terms(
        self, parents: Sequence[int], children: Sequence[int] | None = None
    ) -> Floats:
        scores, every = np.zeros(len(parents)), range(len(parents))
        for x in every if children is None else children:
            scores[x] = self._joined(self.by_targets(x, members_of(parents[x])))
        return np.stack([scores, self.score_offsets])

    def neighbours(self, is_parent: Booleans, children: Integers) -> ScoredNeighbours:
        children, m = np.asarray(children), len(is_parent)
        place = np.zeros(m, dtype=np.int64)
        place[children] = np.arange(len(children))

        def scores(scorer: FamilyScorer) -> Floats:
            of_all = np.empty((len(children), m))
            for found, terms in scorer.neighbours(is_parent, children):
                with np.errstate(invalid="ignore"):
                    of_all[place[found.children]] = terms.sum(axis=0)
            return of_all

        of_own = [np.zeros((len(children), m))] * len(self.own)
        if not self.environments.is_hard:
            of_own = [scores(each) for each in self.own]
        by_targets = np.array([scores(each) for each in self.pooled.values()])
        by_targets += self._sums_over_targets(of_own) + self._shifts[:, children, np.newaxis]
        unknown, nothing = np.full((len(children), m), np.nan), np.zeros((len(children), m))
        terms = np.stack([self._joined(by_targets), nothing, nothing])
        yield Neighbours(children, unknown, unknown), terms

    def functions_by_child(
        self, columns: list[int], children: list[int], max_parents: int, resources: Resources
    ) -> list[SetFunctions]:
        scores = np.zeros((len(children), 1 << len(columns)))
        work = log_determinants_work(len(columns))
        walks = self.walks(columns, max_parents, resources.n_jobs)
        for shift, (mask, functions) in zip(self._shifts, walks, strict=True):
            how = BEGIN if mask == 0 else SUM if self.environments.is_sum else MAXIMUM
            with resources.threads(len(columns)) as threads:
                tasks = [
                    (*functions, columns.index(x), shift[x], how, own)
                    for x, own in zip(children, scores, strict=True)
                ]
                for _ in threads.map(join_scores, tasks):
                    pass
            resources.progress.advance(work)
        of_children = [SetFunctions(each, each) for each in scores]
        return of_children + of_children[:1] * (len(columns) - len(children))

    def target_shares(
        self, columns: list[int], probabilities: Floats, max_parents: int, resources: Resources
    ) -> Floats:
        """Return the probability that each environment changed each child.

        `probabilities`: (n_children, 2**n), that of each set of parents of the first columns, by
            the places of all columns

        Returns an array with a row for each environment but a reference, and a column per child.
        """
        children = columns[: len(probabilities)]
        scores = self.functions_by_child(columns, children, max_parents, resources)
        shares = np.zeros((len(self.own), len(children)))
        walks = self.walks(columns, max_parents, resources.n_jobs)
        for shift, (mask, functions) in zip(self._shifts, walks, strict=True):
            changed = members_of(self.environments.targets(mask))
            for place, x in enumerate(children) if changed else ():
                joined = scores[place].of_family, probabilities[place]
                shares[changed, place] += share_of_targets(*functions, place, shift[x], *joined)
        return np.minimum(shares, 1.0)

    def walks(
        self, columns: list[int], max_parents: int, n_jobs: int | None
    ) -> Iterator[tuple[int, SetFunctions]]:
        """Yield each set of environments, and what its scores are differences of.

        They lack what `_shifts` adds.
        """
        compile_kernels(TARGET_KERNELS)
        k, most = len(columns), max_parents
        triangles = None
        if FEWEST_NODES <= k <= _FEW_COLUMNS and self._are_checked:  # one walk serves all
            triangles = np.linalg.qr(self._factors[:, :, columns], mode="r")

        def functions_of(i: int) -> SetFunctions:
            scorer = self._regressed[i]
            if not scorer.statistics.is_checked:  # look at each family
                scorer.small_sets(columns, most, Resources(0, n_jobs=n_jobs))
            if triangles is None:
                factor, offsets = scorer.factor_of(columns)
                weights = scorer.weights_of(columns, most)
                found, is_one = (
                    set_functions(factor, weights, n_jobs, None, offsets),
                    weights.is_one,
                )
            else:
                offsets = None if scorer.offsets is None else scorer.offsets[columns]
                if (i, k, most) not in self._subset_walks:
                    weights = scorer.weights_of(columns, most)
                    walk = SubsetWalk(triangles[i], offsets, weights)
                    self._subset_walks[i, k, most] = walk, weights.is_one
                walk, is_one = self._subset_walks[i, k, most]
                walk, found = walk.of_others(triangles[i], offsets), walk.allocate(1 << k)
                walk.fill(np.arange(walk.n_seeds), found)
            return SetFunctions(found.of_family, found[0 if is_one else 1])

        n = len(self.pooled)
        of_own = [functions_of(i) for i in range(n, len(self._regressed))]
        are_one = all(each.of_family is each.of_parents for each in of_own)
        for i, mask in enumerate(self.pooled):
            of_family, of_parents = functions_of(i)
            if of_family is of_parents and not are_one:
                of_parents = of_parents.copy()
            for own in [of_own[e] for e in members_of(mask)] if of_own else []:
                of_family += own.of_family
                if of_parents is not of_family:
                    of_parents += own.of_parents
            yield mask, SetFunctions(of_family, of_parents)

    def small_sets_by_child(
        self, columns: list[int], children: list[int], max_parents: int, resources: Resources
    ) -> list[tuple[SmallFamilies, Floats]]:
        silent = resources.reporting(Progress())
        families = SmallFamilies(len(columns), max_parents)
        are_many = families.n_subsets << _FASTER_BITS >= 1 << len(columns)
        if are_many and self._are_checked:
            of_all = self.functions_by_child(columns, children, max_parents, silent)
            masks = np.arange(1 << len(columns))
            size = np.bitwise_count(masks)
            order = np.lexsort((masks, size))[: families.n_subsets]
            resources.progress.advance(families.work)
            return [(families, own.of_family[order]) for own in of_all[: len(children)]]
        place = [columns.index(child) for child in children]
        every = range(len(columns))
        limits = [Limits(at, [], [x for x in every if x != at]) for at in place]

        def scores(scorer: FamilyScorer) -> list[Floats]:
            families, log_det = scorer.small_sets(columns, max_parents, silent)
            of_sets = log_det, scorer.tables[:, : len(columns)]
            return [families.scores_in_order(each, *of_sets)[1] for each in limits]

        of_own = [scores(each) for each in self.own] if not self.environments.is_hard else []
        joined: list[Floats] = []
        for shift, (mask, scorer) in zip(self._shifts, self.pooled.items(), strict=True):
            own = [of_own[e] for e in members_of(mask)] if of_own else []
            for i, values in enumerate(scores(scorer)):
                total = values + sum(each[i] for each in own) + shift[children[i]]
                if mask == 0:
                    joined.append(total)
                else:
                    joined[i] = self._joined(np.stack([joined[i], total]))
        resources.progress.advance(families.work)
        # The scores as differences: a set without the child has 0.
        number = np.arange(float(families.n_subsets))
        tables = np.outer([0.0, 0.0, 1.0], np.ones(len(columns)))
        found = []
        for each, values in zip(limits, joined, strict=True):
            of_sets = np.zeros(families.n_subsets)
            _, at = families.scores_in_order(each, number, tables)
            of_sets[at.astype(np.int64)] = values
            found.append((families, of_sets))
        return found

    def _values_of(self, child: int) -> tuple[Floats, Floats]:
        if (child,) not in self._sums:
            every, most = [*range(self.families.m)], self.families.max_parents
            resources = Resources(0, n_jobs=self._whole._n_jobs)
            if self.families.are_listed:
                of_all = self.small_sets_by_child(every, every, most, resources)
                found = [values for _, values in of_all]
            else:
                of_each = self.functions_by_child(every, every, most, resources)
                found = [each.of_family for each in of_each]
            self._sums = {(x,): values for x, values in enumerate(found)}
        return self._sums[child,], self.tables


def _with_one_mean(criterion: criteria.Criterion, summary: RowSummary) -> criteria.Criterion:
    """Return a criterion with one prior mean for all environments: that of all rows."""
    if isinstance(criterion, criteria.BGe) and criterion.nu is None:
        return clone(criterion).set_params(nu=summary.column_means)
    return criterion

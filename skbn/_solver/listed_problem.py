"""ListedProblem: the scores of families in a user's list, which rule out all others."""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.exact_sums import upper_sum
from skbn._core.graphs import Dag, descendants_of
from skbn._core.resources import IsOver
from skbn._core.subsets import mask_of, members_of
from skbn._core.text import internal_error
from skbn._data.sample import Sample
from skbn._networks.descriptions import score_losses
from skbn._regressions.set_function import SCORE_ACCURACY
from skbn._scores.families import Families, ScoredParentSets
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._solver.candidate_families import OrderFamilies, given_families
from skbn._solver.certificate import certify_listed_network, certify_score
from skbn._solver.constraints import Constraints
from skbn._solver.problem import TOLERANCE, Found, Problem, Shape


class ListedProblem(Problem):
    """The scores of listed families, and constraints."""

    scores: ParentSetScores
    may_be_likelihoods = True
    is_score_equivalent = has_model = False
    # Listed scores are exact numbers: networks tie only where sums of them are rounded.
    tie = TOLERANCE / 4

    def __init__(self, scores: ParentSetScores, constraints: Constraints) -> None:
        self.scores = scores
        self.constraints = constraints
        m = len(scores.columns)
        self.families = Families(m, scores.n_families, scores.largest_n_parents)

    def read(self) -> Shape:
        return Shape(self.families, self.constraints)

    @property
    def score_offsets(self) -> Floats:
        return self._of_modelled(self.scores._score_offsets)

    @property
    def listed_offsets(self) -> Floats:
        return self.scores._score_offsets

    def correlations(self, nodes: Sequence[int]) -> None:
        return None

    def with_penalties(self, penalties: Sequence[float]) -> Sequence[Self]:
        return [self]  # no penalty changes listed scores

    def of_sample(self, sample: Sample, n_jobs: int | None = None) -> Self:
        raise internal_error("listed scores have no rows")

    def without_rows(self) -> Self:
        return self

    # Families

    def listed(self, child: int, *, with_dominated: bool = False) -> ScoredParentSets:
        limits = self.constraints.limits_of(child)
        listed = self.scores._listed(limits, self.constraints.max_parents)
        if len(listed[1]) == 0:
            names = [self.names[p] for p in limits.required]
            must = f" that has the required parents {names} and" if names else " that"
            raise ValueError(
                f"Column {self.names[child]!r} has no listed family{must} satisfies the "
                "constraints. List more parent sets, or relax these."
            )
        return listed

    def local_scores(self, columns: Sequence[int], parents: Sequence[int]) -> Floats:
        score = self.scores.local_score
        return np.array(
            [score(x, members_of(mask)) for x, mask in zip(columns, parents, strict=True)]
        )

    def largest_term(self, child: int, parents: list[int]) -> float:
        scores = self.scores
        return float(scores._score_offsets[child] - scores.local_score(child, parents))

    def largest_named(self, columns: Sequence[int], parents: Sequence[int]) -> str:
        below = [
            self.largest_term(x, members_of(mask)) for x, mask in zip(columns, parents, strict=True)
        ]
        i = int(np.argmax(below))
        score = self.scores.local_score(columns[i], members_of(parents[i]))
        return (
            f" The largest is of column {self.names[columns[i]]!r}: a listed score of {score:.6g}, "
            f"which is {below[i]:.3g} nats below the best listed one."
        )

    def order_families(
        self, order: list[int], n_others: int, is_over: IsOver = bool
    ) -> OrderFamilies:
        """Return all families, as they are listed."""
        found = [self.families_of(x) for x in order[n_others:]]
        return given_families(found, len(self.names), order, n_others)

    # Networks

    def network_terms(self, parents: Sequence[int]) -> Floats:
        return self._of_modelled(self.scores._network_terms(parents))

    def gap_of_rounding(
        self, columns: Sequence[int], parents: Sequence[int], score: float, rounding: float
    ) -> tuple[float, float]:
        columns = list(columns)
        own = -self.local_scores(columns, parents)
        above = [score, rounding, *self.score_offsets[columns].tolist()]
        return max(0.0, upper_sum([*above, *own])), 0.0

    def climbed(
        self, columns: Sequence[int], parents: list[int], is_over: IsOver = bool
    ) -> list[int]:
        constraints, masks = self.constraints, [*parents]
        after, last = descendants_of(masks), columns[-1]
        while True:  # each step raises the score of one column and leaves the others
            for x in columns:
                if is_over():
                    return masks
                limits = constraints.limits_of(x, outside=after[x])
                sets, local = self.scores._listed(limits, constraints.max_parents)
                best = int(np.argmax(local))
                own = self.scores.local_score(x, members_of(masks[x]))
                if local[best] > own + SCORE_ACCURACY:
                    masks[x] = mask_of(p for p in sets[best].tolist() if p >= 0)
                    after, last = descendants_of(masks), x
                elif x == last:
                    return masks

    def certified(self, found: Found) -> Found:
        parents, modelled = found.parents, self.constraints.modelled
        certify_score(self.network_terms(parents), found.score)
        if found.is_settled:
            certify_listed_network(self.scores, self.constraints, parents)
        local = self.local_scores(modelled, [parents[x] for x in modelled])
        losses = score_losses(Dag(self.names, parents, [0] * len(parents)), self.scores)
        confirmed = self._confirmed(found, parents, math.fsum(local), losses)
        return confirmed._replace(score_bound=upper_sum([*local, found.gap]))

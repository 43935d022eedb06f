"""CandidateScores: the local scores of all sets of a few candidates as a column's parents."""

from collections.abc import Sequence

import numpy as np

from skbn._core.arrays import Booleans, Floats
from skbn._core.resources import Resources
from skbn._core.subsets import bits_of, mask_of, members_of
from skbn._regressions.log_determinants import FEWEST_NODES, SubsetWalk, sums_over_subsets
from skbn._regressions.set_function import ruled_out
from skbn._scores.families import Limits, ScoredParentSets, SetValues, drop_dominated
from skbn._scores.scorer import FamilyScorer
from skbn._solver.certificate import gains_of_neighbours
from skbn._solver.constraints import Constraints


class CandidateScores:
    """Scores sets of parents, with the prior odds of their edges.

    Parameters
    ----------
    scorer : FamilyScorer
    constraints : Constraints
    log_odds : ndarray of shape (m, m), float64, or None
        At [i, j], the logarithm of the prior odds of the edge i -> j.
    """

    def __init__(
        self, scorer: FamilyScorer, constraints: Constraints, log_odds: Floats | None
    ) -> None:
        self._scorer = scorer
        self._constraints = constraints
        self._log_odds = log_odds
        m = len(constraints.allowed)
        self._is_allowed, self._is_required = bits_of(
            [*constraints.allowed, *constraints.required], m
        ).reshape(2, m, m)
        self._walks: dict[tuple[FamilyScorer, tuple[int, ...]], tuple[SubsetWalk, bool]] = {}

    def __call__(self, child: int, candidates: list[int]) -> Floats:
        """Return the scores of the child with each subset of the candidates as its parents.

        Shape (2**k,), in nats, without the child's offset; -inf for what constraints rule out.
        Required parents must be among the candidates.
        """
        sets = np.arange(1 << len(candidates))
        if self._constraints.exogenous >> child & 1:
            return np.where(sets == 0, 0.0, -np.inf)
        scores = np.zeros(len(sets))
        for scorer in self._scorer.scorers_of(child):
            if not candidates:
                scores += sum(scorer.terms(child, []))
            elif scorer.statistics.is_checked and len(candidates) + 1 >= FEWEST_NODES:
                scores += self._scores_of_all(scorer, child, candidates)
            else:
                scores += self._scores_of_small(scorer, child, candidates)
        if not candidates:
            return scores
        if self._log_odds is not None:
            scores += sums_over_subsets(self._log_odds[candidates, child])
        allowed, required = (
            mask_of(i for i, z in enumerate(candidates) if mask >> z & 1)
            for mask in (self._constraints.allowed[child], self._constraints.required[child])
        )
        is_out = np.bitwise_count(sets) > self._constraints.max_parents
        is_out |= sets & ~allowed != 0
        is_out |= sets & required != required
        scores[is_out] = -np.inf
        return scores

    def gains(self, is_parent: Booleans) -> Floats:
        """Return how much each family of a network gains by one more parent, or one less.

        Parameters
        ----------
        is_parent : ndarray of shape (m, m), bool
            Row x has the parents of x.

        Returns
        -------
        ndarray of shape (m, m), float64
            At [x, z], in nats, what z adds to the score of x as another parent, or what it adds if
            it is one no longer; -inf for what constraints rule out.
        """
        constraints = self._constraints
        gains = np.full(is_parent.shape, -np.inf)
        for found, terms in self._scorer.neighbours(is_parent, np.array(constraints.modelled)):
            gains[found.children] = gains_of_neighbours(found.children, terms)
        if self._log_odds is not None:
            gains += np.where(is_parent, -1, 1) * self._log_odds.T
        has_room = is_parent.sum(axis=1, keepdims=True) < constraints.max_parents
        may_change = np.where(is_parent, ~self._is_required, self._is_allowed & has_room)
        return np.where(may_change & ~np.isnan(gains), gains, -np.inf)

    def _scores_of_all(self, scorer: FamilyScorer, child: int, candidates: list[int]) -> Floats:
        """Return the scores as differences of set functions, by a walk through all sets."""
        nodes = [*candidates, child]
        offsets = None if scorer.offsets is None else scorer.offsets[nodes]
        columns = scorer.statistics.factor[:, scorer.nodes.columns_of(nodes)]
        key = scorer, tuple(scorer.nodes.widths[v] for v in nodes)
        if key not in self._walks:
            factor, _ = scorer.factor_of(nodes)
            weights = scorer.weights_of(nodes, self._constraints.max_parents)
            walk = SubsetWalk(factor, offsets, weights, weights.widths, by_width=True)
            self._walks[key] = walk, weights.has_ruled_out
        walk, has_ruled_out = self._walks[key]
        walk = walk.of_others(columns, offsets)  # also the first time: all have the same rounding
        found = walk.allocate(1 << len(nodes))
        walk.fill(np.arange(walk.n_seeds), found)
        n = 1 << len(candidates)
        scores = found.of_family[n:] - found.of_parents[:n]
        return ruled_out(scores) if has_ruled_out else scores

    def _scores_of_small(self, scorer: FamilyScorer, child: int, candidates: list[int]) -> Floats:
        """Return the scores of small sets, whose regressions are looked at one by one.

        Only these are known to be independent if there are few rows.
        """
        k = len(candidates)
        most = min(self._constraints.max_parents, k)
        nodes = [*candidates, child]
        resources = Resources(available=0, n_jobs=1)
        ((families, values),) = scorer.small_sets_by_child(nodes, [child], most, resources)
        limits, of_sets = Limits(k, [], range(k)), SetValues(values, scorer.tables)
        known = families.scores_in_order(limits, most, of_sets)
        sets = np.arange(1 << k)
        n_parents = np.bitwise_count(sets)
        scores = np.full(len(sets), -np.inf)
        small = sets[n_parents <= most]
        scores[small[np.lexsort((small, n_parents[small]))]] = known
        return scores

    def families(self, child: int, candidates: list[int]) -> ScoredParentSets:
        """Return the child's families among the candidates that none with fewer parents beats.

        The scores are those of a call; a family is left out if they rule it out.
        """
        scores = self(child, candidates)
        keep = scores > -np.inf
        drop_dominated(keep, scores, len(candidates))
        kept = np.flatnonzero(keep)
        is_parent = kept[:, np.newaxis] >> np.arange(len(candidates)) & 1
        return np.where(is_parent, candidates, -1).astype(np.int16), scores[kept]


def ranked_parents(
    scorer: FamilyScorer, constraints: Constraints, children: Sequence[int], most: int
) -> dict[int, list[int]]:
    """Return the possible parents of some columns, ranked.

    The required ones come first, then a forward selection up to `most` in all, and then the rest.
    """
    m = len(constraints.allowed)
    required, allowed = (
        [members_of(mask) for mask in masks]
        for masks in (constraints.required, constraints.allowed)
    )
    ranked = {x: [*required[x]] for x in children}
    is_parent = np.zeros((m, m), dtype=np.bool_)
    for x, own in ranked.items():
        is_parent[x, own] = True
    most = min(constraints.max_parents, most)
    for _ in range(most):
        growing = [x for x in children if len(ranked[x]) < most]
        for found, terms in scorer.neighbours(is_parent, np.array(growing, dtype=np.int64)):
            scores = terms.sum(axis=0)
            for x, of_child in zip(found.children.tolist(), scores, strict=True):
                free = [z for z in allowed[x] if z not in ranked[x]]
                if free:
                    # NaN stands for families that depend on each other.
                    best = np.argmax(np.nan_to_num(of_child[free], nan=-np.inf))
                    ranked[x].append(free[int(best)])
        for x in growing:
            is_parent[x, ranked[x]] = True
    return {x: [*dict.fromkeys([*own, *allowed[x]])] for x, own in ranked.items()}

"""NonGaussianProblem: the search for the best network by the density of residuals."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.resources import Progress, Resources
from skbn._core.subsets import members_of, subsets_of
from skbn._networks.gaussian import LinearGaussianModel
from skbn._networks.network import GaussianBayesianNetwork
from skbn._non_gaussian.residual_scores import ResidualFamilies, ResidualScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._solver.constraints import Constraints
from skbn._solver.listed_problem import ListedProblem
from skbn._solver.problem import Found, Problem, Shape
from skbn._solver.solve import problem_of, solve

# In larger groups of columns a search for each edge would take minutes.
_MOST_COLUMNS = 20


class NonGaussianProblem(ListedProblem):
    """The scores of all families that constraints allow, by the density of residuals."""

    scores: ResidualScores
    may_be_likelihoods = False

    def __init__(self, scores: ResidualScores, constraints: Constraints) -> None:
        super().__init__(scores, constraints)
        # Parameters are least-squares estimates, as with Gaussian noise.
        self._gaussian = Problem(scores.gaussian, constraints)
        self.scorer = self._gaussian.scorer
        self.families = ResidualFamilies(
            len(scores.columns), scores.n_families, scores.largest_n_parents
        )
        self.families.work = scores.work

    def read(self) -> Shape:
        self.scorer.read()
        return super().read()

    def prepare(self, progress: Progress) -> None:
        self.scores.walk(progress)

    @property
    def scope(self) -> str:
        return self._gaussian.scope

    def irreversible(self, parents: list[int]) -> list[int]:
        return [*parents]  # the noise directs every edge

    def certified(self, found: Found) -> Found:
        return super().certified(found)._replace(model=self._directed(found.parents))

    def best_directions(
        self, pairs: Sequence[tuple[int, int]], shares: Floats, log_odds: Floats | None = None
    ) -> tuple[list[int], bool]:
        m, joined = len(self.names), [0] * len(self.names)
        for a, b in pairs:
            joined[a] |= 1 << b
            joined[b] |= 1 << a
        found = []
        for x, mask in enumerate(joined):
            own = {sets: self.scores.local_score(x, members_of(sets)) for sets in subsets_of(mask)}
            found.append({sets: score for sets, score in own.items() if score > -np.inf})
        # No network that leaves a pair out makes up for that.
        bonus = 1.0 + sum(max(own.values()) - min(own.values()) for own in found)
        families = []
        for own in found:
            rows = [members_of(sets) for sets in own]
            padded = [row + [-1] * (m - len(row)) for row in rows]
            local = [s + bonus * len(row) for s, row in zip(own.values(), rows, strict=True)]
            families.append((np.array(padded, dtype=np.int16), np.array(local)))
        listed = ParentSetScores([f"x{i}" for i in range(m)], families)
        resources = Resources.of_machine(None)
        (best,) = solve(ListedProblem(listed, self.constraints), resources)
        return best.parents, best.is_optimal

    def network(
        self,
        parents: list[int],
        is_observed: bool = True,
        losses: Floats | None = None,
        model: LinearGaussianModel | None = None,
    ) -> GaussianBayesianNetwork:
        return self._gaussian.network(parents, is_observed, losses, self._directed(parents))

    def _directed(self, parents: list[int]) -> LinearGaussianModel:
        return replace(self._gaussian.model(parents), fixed=[*parents])


problem_of.register(ResidualScores, NonGaussianProblem)


def reversal_losses(problem: NonGaussianProblem, found: Found, resources: Resources) -> Floats:
    """Return how much lower the best network scores that has an edge reversed, (m, m), in nats.

    At [i, j] for the edge i -> j; NaN without an edge or if the constraints leave more than 20
    columns unordered, and infinite if they allow no network with j -> i.
    """
    m, constraints = len(found.parents), problem.constraints
    losses = np.full((m, m), np.nan)
    if max(len(group.columns) for group in constraints.groups) > _MOST_COLUMNS:
        return losses
    silent = replace(resources, announce=None, progress=Progress())
    for child, mask in enumerate(found.parents):
        for parent in members_of(mask):
            losses[parent, child] = np.inf
            if not constraints.allowed[parent] >> child & 1:
                continue
            other = ListedProblem(problem.scores, _with_edge(constraints, child, parent))
            with suppress(ValueError):  # no network has it
                (best,) = solve(other, silent)
                losses[parent, child] = max(0.0, found.score - best.score)
    return losses


def _with_edge(constraints: Constraints, parent: int, child: int) -> Constraints:
    """Return constraints under which an edge is required, too."""
    allowed, required = [*constraints.allowed], [*constraints.required]
    allowed[parent] &= ~(1 << child)
    required[child] |= 1 << parent
    return constraints._replace(allowed=allowed, required=required)

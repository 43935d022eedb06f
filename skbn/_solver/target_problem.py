"""TargetProblem: scores of rows from environments, each of which may have changed mechanisms."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.graphs import Dag
from skbn._core.subsets import members_of
from skbn._networks.descriptions import score_losses
from skbn._networks.gaussian import estimate_model
from skbn._networks.network import GaussianBayesianNetwork
from skbn._networks.targets import Targets
from skbn._scores.environment_scores import EnvironmentScores
from skbn._scores.target_scorer import TargetScorer
from skbn._solver.certificate import EdgeChanges, certify_network, certify_score, require_best
from skbn._solver.problem import Found, Problem, Shape


class TargetProblem(Problem):
    """The scores of environments, and constraints.

    The best targets follow from a network: each column has those that its parents make best.
    """

    scores: EnvironmentScores
    scorer: TargetScorer
    has_classes = False
    # A network and its scores by targets, which several steps of a certificate ask for.
    _last: tuple[list[int], Floats] | None = None

    def read(self) -> Shape:
        # Each column has a function of its own; those of a walk are beside them.
        n_row_groups = len(self.names) + len(self.scorer.environments.names) + 1
        n_walks = len(self.scorer.pooled)
        return super().read()._replace(n_functions=1, n_row_groups=n_row_groups, n_walks=n_walks)

    def by_targets(self, parents: Sequence[int]) -> Floats:
        """Return each column's scores in a network for each set of environments, the last axis."""
        if self._last is None or self._last[0] != [*parents]:
            scores = np.full((len(parents), len(self.scorer.pooled)), -np.inf)
            scores[:, 0] = 0.0
            for x in self.constraints.modelled:
                scores[x] = self.scorer.by_targets(x, members_of(parents[x]))
            self._last = [*parents], scores
        return self._last[1]

    def targets_given(self, parents: Sequence[int]) -> list[int]:
        """Return the mask of the environments that changed each column, given its parents."""
        masks = self.scorer.environments.masks
        return [masks[i] for i in self.by_targets(parents).argmax(axis=1)]

    def known(self, parents: Sequence[int]) -> Problem:
        """Return the problem in which the best targets of a network are known.

        Each column has the rows that share its regression.
        """
        scores = copy(self.scores)
        known: Any = self.scorer.given(self.targets_given(parents))
        scores.scorer = known
        return Problem(scores, self.constraints)

    def irreversible(self, parents: list[int]) -> list[int]:
        return self.known(parents).irreversible(parents)

    def allowed_in_class(self, parents: Sequence[int]) -> list[int]:
        return self.known(parents).allowed_in_class(parents)

    def network(self, parents: list[int], *args: Any, **kwargs: Any) -> GaussianBayesianNetwork:
        return self.known(parents).network(parents, *args, **kwargs)

    def certified(self, found: Found) -> Found:
        parents = found.parents
        score = certify_score(self.network_terms(parents), found.score)
        climbed = self._last_climb()
        if found.is_settled:
            if climbed is None or not climbed.is_of(parents, self.constraints):
                climbed = EdgeChanges(self.scorer, self.constraints, parents)
            require_best(climbed, self.scores)
            losses = climbed.losses
        else:
            losses = score_losses(Dag(self.names, parents, [0] * len(parents)), self.scores)
        known = self.known(parents)
        model = known.model(parents)
        certify_network(known.scores, self.constraints, parents, [model.coef], is_settled=False)
        confirmed = known._confirmed(found, parents, score, losses, model)
        return confirmed._replace(targets=self._targets(parents, known.irreversible(parents)))

    def _targets(self, parents: list[int], fixed: list[int]) -> Targets:
        """Return the targets of each environment, and what the score loses without each."""
        scorer, of_column = self.scorer, self.targets_given(parents)
        environments, names = scorer.environments, scorer.environments.names
        losses = np.full((len(scorer.own), len(parents)), np.nan)
        masks = np.array([environments.targets(mask) for mask in environments.masks])
        for x in self.constraints.modelled:
            scores = self.by_targets(parents)[x]
            for e in members_of(environments.targets(of_column[x])):
                losses[e, x] = scores.max() - scores[masks >> e & 1 == 0].max()
        networks = []
        for e in range(len(names)):
            is_cut = [environments.is_hard and e in environments.changed(own) for own in of_column]
            own = [0 if cut else mask for cut, mask in zip(is_cut, parents, strict=True)]
            directed = [a & b for a, b in zip(fixed, own, strict=True)]
            groups, divisors = scorer.of_environment(e, of_column)
            exogenous = members_of(self.constraints.exogenous)
            model = estimate_model(
                *(groups, own, self.names), fixed=directed, exogenous=exogenous, divisors=divisors
            )
            networks.append(GaussianBayesianNetwork._from_model(model, scorer.nodes))
        return Targets._of(names, self.names, environments.kind, losses, networks)

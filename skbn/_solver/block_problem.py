"""BlockProblem: the scores of a table whose nodes have several columns each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from skbn._core.subsets import members_of
from skbn._core.threads import one_blas_thread
from skbn._networks.block_network import GaussianBlockNetwork
from skbn._networks.gaussian import LinearGaussianModel, estimate_model
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.block_scorer import BlockScorer
from skbn._solver.order_families import OrderFamilies, given_families
from skbn._solver.solution import Solution
from skbn._solver.table_problem import TableProblem

__all__ = ["BlockProblem"]


class BlockProblem(TableProblem):
    """The scores of nodes that are blocks of columns, and constraints on the nodes."""

    @property
    def _scorer(self) -> BlockScorer:
        scorer = self.scores.scorer
        assert isinstance(scorer, BlockScorer)
        return scorer

    def order_families(self, order: list[int], n_others: int) -> OrderFamilies:
        """Return the listed families: those that grow do so by regressions of single columns.

        Raises
        ------
        ValueError
            If the families of any size have scores, which are too many to list.
        """
        if not self.families.are_listed:
            raise ValueError(
                'search="order" of nodes of several columns chooses among listed families. Set '
                "max_parents, to 3 for example."
            )
        found = [self.families_of(x) for x in order[n_others:]]
        return given_families(found, len(self.names), order, n_others)

    def certified(self, parents: list[int], searched: float, gap: float) -> Solution:
        return replace(super().certified(parents, searched, gap), nodes=self._scorer.nodes)

    def network(self, parents: list[int]) -> GaussianBayesianNetwork:
        with one_blas_thread():
            model = self._model(parents)
        irreversible = self.constraints.irreversible(parents)
        return GaussianBlockNetwork._from_model(model, parents, self._scorer.nodes, irreversible)

    def _model(self, parents: list[int]) -> LinearGaussianModel:
        scorer = self._scorer
        return estimate_model(
            scorer.statistics,
            scorer.parents_of_columns(parents),
            scorer.column_names,
            divisors=scorer.noise_divisors,
        )

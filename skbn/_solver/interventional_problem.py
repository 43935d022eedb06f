"""InterventionalProblem: the scores of a table in which an experimenter set some columns."""

from __future__ import annotations

import numpy as np

from skbn._core.linear_model import propagate
from skbn._core.subsets import mask_of
from skbn._data.experiments import ExperimentalSample
from skbn._networks.conditional import conditional_model
from skbn._networks.gaussian import LinearGaussianModel, estimate_model
from skbn._solver.problem import Shape
from skbn._solver.table_problem import TableProblem

__all__ = ["InterventionalProblem"]


class InterventionalProblem(TableProblem):
    """The scores of a table with interventions, and constraints.

    Its equivalence classes are those of the interventional essential graph (Hauser & Bühlmann 2012,
    "Characterization and greedy learning of interventional Markov equivalence classes"): an edge of
    which just one end was set in some row has the same direction in all members.
    """

    why_listed = "with interventions"

    @property
    def targets(self) -> list[int]:
        sample = self.scores.sample
        assert isinstance(sample, ExperimentalSample)
        return sample.targets

    @property
    def shape(self) -> Shape:
        shapes = [self.shape_of(scorer) for _, scorer in self.regressions.row_groups]
        return shapes[0]._replace(
            n_bytes=sum(each.n_bytes for each in shapes),
            is_independent=all(each.is_independent for each in shapes),
            n_functions=max(each.n_functions for each in shapes),
            n_row_groups=len(shapes),
        )

    def model(self, parents: list[int]) -> LinearGaussianModel:
        """Return the columns' network, each with the parameters of the rows that count for it."""
        scorer, m = self.regressions, len(self.names)
        of_columns = scorer.parents_of_columns(parents)
        k = len(of_columns)
        coef, intercept, noise_variance = np.zeros((k, k)), np.empty(k), np.empty(k)
        for nodes, of_group in scorer.row_groups:
            own = scorer.parents_of_columns([parents[x] if x in nodes else 0 for x in range(m)])
            divisors = of_group.noise_divisors
            names = scorer.column_names
            model = estimate_model(of_group.statistics, own, names, divisors=divisors)
            at = scorer.columns_of(mask_of(nodes))
            coef[:, at], intercept[at] = model.coef[:, at], model.intercept[at]
            noise_variance[at] = model.noise_variance[at]
        fixed = scorer.fixed_of_columns(self.irreversible(parents))
        mean = propagate(intercept, coef, of_columns)
        rest = of_columns, coef, intercept, mean, noise_variance, fixed
        joined = LinearGaussianModel([*scorer.column_names], *rest)
        return conditional_model(joined, scorer.columns_of(self.constraints.exogenous))

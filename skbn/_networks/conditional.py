"""ConditionalModel: a network whose exogenous nodes are given, and not modelled.

Its density is that of the other nodes, given the exogenous ones. These have no parents among the
others, so that nothing depends on how they are distributed once all of them have values. In their
place stand Gaussians with the means and variances that they had in some table; their share of a
density is taken out again.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence

import networkx as nx
import numpy as np

from skbn._core.arrays import Booleans, Floats
from skbn._core.graphs import exogenous_nodes, propagate
from skbn._core.text import first_few
from skbn._networks.gaussian import LinearGaussianModel


def model_of_dag(dag: nx.DiGraph) -> LinearGaussianModel:
    """Return the model of a graph with parameters; it raises what `from_dag` does."""
    kind = _ConditionalModel if exogenous_nodes(dag) else LinearGaussianModel
    return kind.from_dag(dag)


def conditional_model(model: LinearGaussianModel, exogenous: Sequence[int]) -> LinearGaussianModel:
    """Return a model in which just these nodes are exogenous."""
    kind = _ConditionalModel if exogenous else LinearGaussianModel
    return kind(**{**vars(model), "exogenous": tuple(exogenous)})


def require_exogenous_values(exogenous: Sequence[Hashable], given: Container[Hashable]) -> None:
    """Raise a ValueError unless all exogenous nodes are among those that are given."""
    if missing := [node for node in exogenous if node not in given]:
        raise ValueError(
            f"The nodes [{first_few(missing)}] are exogenous, and the network does not say how "
            "they are distributed. Give their values: in condition or do, as `exogenous` of "
            "sample, or in the columns of X."
        )


class _ConditionalModel(LinearGaussianModel):
    """The distribution of a network's nodes, given the exogenous ones."""

    def require_distribution(self, given: Sequence[int] = ()) -> None:
        outside = [self.nodes[v] for v in self.exogenous if v not in given]
        require_exogenous_values(outside, ())

    def conditional_factor(
        self, given: list[int], values: Floats, others: list[int]
    ) -> tuple[Floats, Floats]:
        self.require_distribution(given)
        return super().conditional_factor(given, values, others)

    def unexplained(self, deviations: Floats) -> Floats:
        unexplained = super().unexplained(deviations)
        unexplained[:, list(self.exogenous)] = 0.0
        return unexplained

    def log_density(self, rows: Floats, is_set: Booleans | None = None) -> Floats:
        outside = list(self.exogenous)
        if is_set is not None:
            is_set = is_set.copy()
            is_set[:, outside] = False
        is_missing = np.isnan(rows[:, outside])
        if is_missing.any():
            row, i = np.argwhere(is_missing)[0]
            raise ValueError(
                f"Node {self.nodes[outside[i]]!r} is exogenous and has no value in row {row}. Give "
                "the values of all exogenous nodes, or leave the row out."
            )
        # Those that stand in count with their densities at their means, whatever the row.
        of_exogenous = -0.5 * np.log(2 * np.pi * self.noise_variance[outside]).sum()
        return np.asarray(super().log_density(rows, is_set) - of_exogenous)

    def _marginal_log_density(self, rows: Floats, seen: Booleans) -> Floats:
        effects = self._effects(rows[:, list(self.exogenous)])
        return super()._marginal_log_density(rows - effects, seen)

    def draw(self, noise: Floats, exogenous: Floats | None = None) -> Floats:
        if exogenous is None:
            self.require_distribution()
        assert exogenous is not None
        noise = noise.copy()
        noise[:, list(self.exogenous)] = 0.0
        return super().draw(noise) + self._effects(exogenous)

    def do(self, values: Mapping[int, float | Floats]) -> LinearGaussianModel:
        return conditional_model(super().do(values), [v for v in self.exogenous if v not in values])

    def _effects(self, exogenous: Floats) -> Floats:
        """Return by how much values of the exogenous nodes move all nodes, shape (n, m)."""
        outside = list(self.exogenous)
        own, coef = np.zeros((len(exogenous), len(self.nodes))), self.coef.copy()
        own[:, outside] = exogenous - self.mean[outside]
        coef[:, outside] = 0.0
        parents = [0 if v in outside else mask for v, mask in enumerate(self.parents)]
        return propagate(own, coef, parents)

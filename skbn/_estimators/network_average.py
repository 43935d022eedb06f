"""The average of networks of resamples, with parameters of all rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.threads import one_blas_thread
from skbn._data.nodes import Nodes
from skbn._data.sample import Sample
from skbn._data.statistics import SampleStatistics, sample_statistics
from skbn._data.table import Table, read_columns
from skbn._displays.fitted import fitted_network_and_table
from skbn._displays.frames import frame_of
from skbn._networks.averaging import EdgeSupport, averaged_parents
from skbn._networks.block_network import network_of_model
from skbn._networks.gaussian import estimate_model
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.local_scores import LocalScores

__all__ = ["NetworkAverage", "estimates_of", "union_of_masks"]


@dataclass(frozen=True)
class NetworkAverage:
    """The support of edges, and what the parameters of averaged networks are estimated from.

    Parameters
    ----------
    columns : list of m str or int
    support : EdgeSupport
    fixed : list of m int
        The masks of the parents whose edges are fixed in a network.
    statistics : SampleStatistics
        The statistics of all rows.
    divisors : ndarray of shape (m,) or None
        As in `estimate_model`.
    nodes : Nodes or None
        Which columns stand for each node; None if each is one.
    """

    columns: list[str | int]
    support: EdgeSupport
    fixed: list[int]
    statistics: SampleStatistics
    divisors: Floats | None
    nodes: Nodes | None = None

    def network(self, threshold: float) -> GaussianBayesianNetwork:
        """Return the averaged network with a threshold."""
        parents = averaged_parents(self.support, threshold)
        fixed = [mask & known for mask, known in zip(parents, self.fixed, strict=True)]
        with one_blas_thread():
            model = estimate_model(
                self.statistics,
                parents if self.nodes is None else self.nodes.parents_of_columns(parents),
                self.columns if self.nodes is None else self.nodes.column_names,
                fixed=fixed
                if self.nodes is None
                else self.nodes.parents_of_columns(fixed, within=False),
                divisors=self.divisors,
            )
        network = network_of_model(model, self.nodes)
        number = {column: v for v, column in enumerate(self.columns)}
        for parent, child, data in network.dag.edges(data=True):
            edge = number[parent], number[child]
            data["support"] = float(self.support.directed[edge])
            data["strength"] = float(self.support.strength[edge])
        return network

    def to_frame(self) -> Any:
        """Return a table of the pairs of columns that some network joins, the strongest first."""
        columns, (directed, strength, direction) = self.columns, self.support
        pairs = np.argwhere(np.triu(strength > 0, 1)).tolist()
        edges = [(a, b) if directed[a, b] >= directed[b, a] else (b, a) for a, b in pairs]
        edges.sort(key=lambda edge: (-strength[edge], -direction[edge]))
        return frame_of(
            {
                "parent": [columns[parent] for parent, _ in edges],
                "child": [columns[child] for _, child in edges],
                "strength": [float(strength[edge]) for edge in edges],
                "direction": [float(direction[edge]) for edge in edges],
            }
        )


def union_of_masks(masks: list[list[int]]) -> list[int]:
    """Return, for each column, the union of its masks."""
    return [reduce(or_, of_column) for of_column in zip(*masks, strict=True)]


def estimates_of(
    table: Any, sample: Sample, columns: list[str | int], fitted: Any
) -> tuple[SampleStatistics, Floats | None, Nodes | None]:
    """Return the statistics of all rows, and the divisors of the criterion if there is one.

    The rows are the table's or, if it lacks values, those that EM expects, or what reaches the
    learner of a pipeline.
    """
    if isinstance(table, LocalScores):
        if not table.sample.is_complete:
            table = fitted._searched_.scores  # of the rows that EM expects
        return table.scorer.statistics, table.scorer.noise_divisors, table.scorer.nodes
    if np.isnan(sample.rows).any():
        _, filled = fitted_network_and_table(fitted, table)
        sample = Sample(read_columns(Table(filled), columns, columns), sample.weight)
    summary = sample.summary
    # A family of as many columns as there are rows has no estimates.
    largest_family = min(len(columns), summary.n_rows - 1)
    return sample_statistics(summary, columns, largest_family=largest_family), None, None

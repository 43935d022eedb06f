"""The average of networks of resamples, with parameters of all rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from skbn._core.resources import one_blas_thread
from skbn._data.sample import Sample
from skbn._data.statistics import SampleStatistics, sample_statistics
from skbn._data.table import Table, read_columns
from skbn._displays.fitted import fitted_network_and_table
from skbn._displays.frames import frame_of
from skbn._networks.averaging import EdgeSupport, averaged_parents
from skbn._networks.gaussian import estimate_model
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.base import BaseScores
from skbn._solver.problem import Problem


@dataclass(frozen=True)
class NetworkAverage:
    """The support of edges, and what the parameters of averaged networks are estimated from.

    Parameters
    ----------
    columns : list of m str or int
    support : EdgeSupport
    all_rows : Problem or TableEstimates
        Estimates the parameters from all rows.
    """

    columns: list[str | int]
    support: EdgeSupport
    all_rows: Problem | TableEstimates

    def network(self, threshold: float) -> GaussianBayesianNetwork:
        """Return the averaged network with a threshold."""
        network = self.all_rows.network(averaged_parents(self.support, threshold))
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


@dataclass(frozen=True)
class TableEstimates:
    """Estimates the parameters of networks from a table by maximum likelihood.

    Parameters
    ----------
    columns : list of m str or int
    statistics : SampleStatistics
        Of all rows.
    fixed : list of m int
        The masks of the parents whose edges are fixed in a network.
    """

    columns: list[str | int]
    statistics: SampleStatistics
    fixed: list[int]

    def network(self, parents: list[int]) -> GaussianBayesianNetwork:
        """Return a network with parameters, from the masks of each column's parents."""
        fixed = [mask & known for mask, known in zip(parents, self.fixed, strict=True)]
        with one_blas_thread():
            model = estimate_model(self.statistics, parents, self.columns, fixed=fixed)
        return GaussianBayesianNetwork._from_model(model)


def estimates_of(
    table: Any, sample: Sample, columns: list[str | int], fitted: Any, fixed: list[list[int]]
) -> Problem | TableEstimates:
    """Return what estimates the parameters of networks from all rows.

    The rows are the table's or, if it lacks values, those that EM expects, or what reaches the
    learner of a pipeline. `fixed` has the masks of the parents whose edges are fixed, of each
    resample's network.
    """
    if isinstance(table, BaseScores):
        searched: Problem = fitted._searched_  # of the rows that EM expects, if values are missing
        return searched
    if np.isnan(sample.rows).any():
        _, filled = fitted_network_and_table(fitted, table)
        sample = Sample(read_columns(Table(filled), columns, columns), sample.weight)
    summary = sample.summary
    # A family of as many columns as there are rows has no estimates.
    largest_family = min(len(columns), summary.n_rows - 1)
    statistics = sample_statistics(summary, columns, largest_family=largest_family)
    known = [reduce(or_, of_column) for of_column in zip(*fixed, strict=True)]
    return TableEstimates(columns, statistics, known)

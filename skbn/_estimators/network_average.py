"""The average of networks of resamples, with parameters of all rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.resources import one_blas_thread
from skbn._core.subsets import members_of
from skbn._data.sample import Sample
from skbn._data.statistics import SampleStatistics, sample_statistics
from skbn._data.table import Table, read_columns
from skbn._displays.display import fitted_network_and_table
from skbn._displays.frames import frame_of
from skbn._networks.equivalence import compelled_parents, consistent_extension, joined_columns
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


class EdgeSupport(NamedTuple):
    """The share of some networks that have each edge, as arrays of shape (m, m).

    Parameters
    ----------
    directed : ndarray
        ``directed[i, j]`` is the share with i -> j, where an edge without a direction counts one
        half.
    strength : ndarray
        The share in which an edge joins the two columns, in either direction.
    direction : ndarray
        ``directed / strength``, and 0 where no network joins the two columns.
    """

    directed: Floats
    strength: Floats
    direction: Floats


def edge_support(parents: list[list[int]], fixed: list[list[int]]) -> EdgeSupport:
    """Count the edges of networks of the same columns.

    Parameters
    ----------
    parents, fixed : list of lists of m int
        For each network the masks of each column's parents, and of those parents whose edges are
        fixed: they have this direction in all networks that are considered equivalent.
    """
    n_networks, m = len(parents), len(parents[0])
    halves = np.zeros((m, m), dtype=np.int64)
    for masks, known in zip(parents, fixed, strict=True):
        compelled = compelled_parents(masks, known)
        for child, mask in enumerate(masks):
            for parent in members_of(mask):
                if compelled[child] >> parent & 1:
                    halves[parent, child] += 2
                else:
                    halves[parent, child] += 1
                    halves[child, parent] += 1
    # Quotients of whole numbers, so that equal shares are equal floats.
    joined = halves + halves.T
    direction = np.divide(halves, joined, out=np.zeros((m, m)), where=joined > 0)
    return EdgeSupport(halves / (2 * n_networks), joined / (2 * n_networks), direction)


def inclusion_threshold(strength: Floats) -> float:
    """Return the strength that separates the edges of a network from those that are noise.

    Parameters
    ----------
    strength : ndarray of shape (m, m)
        Symmetric; only pairs of different columns count.

    Notes
    -----
    If each strength were 0 or 1, their distribution function would be a constant t on [0, 1).
    Scutari & Nagarajan (2013), "Identifying significant edges in graphical models of molecular
    networks", take the t for which the area between this constant and the distribution function F
    of the strengths is smallest, and the edges that are stronger than the smallest x with
    F(x) >= t. The median of F(x) over x from 0 to 1 has the smallest area. F is not decreasing, so
    this is its value at x = 1/2, and the threshold is the largest strength below that: the edges
    above it are in at least half of the networks. If some strengths are exactly 1/2, the
    values of F on either side of it do equally well, and the lower is taken.
    """
    strengths = strength[np.triu_indices(len(strength), 1)]
    return float(strengths[strengths < 0.5].max(initial=0.0))


def averaged_parents(support: EdgeSupport, threshold: float) -> list[int]:
    """Return the masks of each column's parents in the network of the edges with much support.

    Parameters
    ----------
    support : EdgeSupport
    threshold : float
        Columns are joined if their strength is above it, or is 1.

    Notes
    -----
    Each edge has the direction with more support. Edges are added by decreasing strength, then by
    decreasing support of their direction, then in column order. The edge that would close a cycle,
    which is the weakest of that cycle, is left out. Edges whose directions have equal support come
    last. They are directed so that no unjoined columns become parents of the same column by them,
    as far as that is possible, and otherwise from the earlier column to the later unless that
    closes a cycle.
    """
    directed, strength = support.directed, support.strength
    m = len(directed)
    is_joined = (strength > threshold) | (strength == 1)
    parents, ancestors = [0] * m, [0] * m

    def add(parent: int, child: int) -> None:
        parents[child] |= 1 << parent
        before = ancestors[parent] | 1 << parent
        for x in range(m):
            if x == child or ancestors[x] >> child & 1:
                ancestors[x] |= before

    edges = np.argwhere(is_joined & (directed > directed.T))
    order = np.lexsort([-directed[tuple(edges.T)], -strength[tuple(edges.T)]])
    for parent, child in edges[order].tolist():
        if not ancestors[parent] >> child & 1:
            add(parent, child)
    ties = np.argwhere(np.triu(is_joined & (directed == directed.T), 1)).tolist()
    with_ties = [*parents]
    for a, b in ties:
        with_ties[b] |= 1 << a
    extension = consistent_extension(joined_columns(with_ties), parents)
    if extension is not None:
        return extension
    for a, b in ties:
        add(*((b, a) if ancestors[a] >> b & 1 else (a, b)))
    return parents

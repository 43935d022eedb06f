"""The network that a search found, with its parameters, certified."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skbn._data.nodes import Nodes
from skbn._data.statistics import GroupStatistics
from skbn._networks.gaussian import LinearGaussianModel
from skbn._scores.criteria import Criterion

__all__ = ["TOLERANCE", "Solution"]

# In nats. Smaller differences between networks are of the size of rounding.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Solution:
    """The network that a search found, certified.

    Parameters
    ----------
    columns : list of m str or int
    parents : list of m int
        The mask of each column's parents.
    irreversible : list of m int
        The masks of those parents whose edges the constraints do not let one reverse.
    score : float
        In nats.
    score_bound : float
        A score that no network within the constraints exceeds; infinite if none is known.
    score_losses : ndarray of shape (m, m)
        ``score_losses[i, j]`` is by how many nats the score is lower without the edge i -> j, as
        `GaussianBayesianNetwork.to_frame` defines it; NaN without an edge.
    criterion : Criterion or None
        The criterion that it maximises; None for listed scores.
    model : LinearGaussianModel or None
        The columns' network with its parameters. None for listed scores, which have no rows.
    nodes : Nodes or None
        The nodes, if these have several columns each; by default each column is one.
    gap : float
        No network within the constraints scores higher by more than this, in nats; infinite if
        nothing is known. It is about the networks: the score may be rounded by more.
    is_optimal : bool
        Whether the gap is within the tolerance.
    is_finished : bool
        Whether a search that proves its network ended by itself: if its network is not optimal
        then, rounding hides more than the tolerance.
    n_iter : int
        How many perturbed orders the order search started from again; 0 for an exact search.
    n_nodes : int
        How many nodes the trees of branch and cut have.
    start_losses : tuple of float or None
        For each start of an order search, how many nats its network scores below the best one,
        ascending from 0; None for an exact search.
    exogenous : tuple of str or int
        The columns that are not modelled, if there is no model to say so.
    statistics : list of GroupStatistics or None
        What the parameters were estimated from, if it is observed rows of a table.
    """

    columns: list[str | int]
    parents: list[int]
    irreversible: list[int]
    score: float
    score_bound: float
    score_losses: npt.NDArray[np.float64]
    criterion: Criterion | None = None
    model: LinearGaussianModel | None = None
    nodes: Nodes | None = None
    gap: float = 0.0
    is_optimal: bool = True
    is_finished: bool = True
    n_iter: int = 0
    n_nodes: int = 0
    start_losses: tuple[float, ...] | None = None
    exogenous: tuple[str | int, ...] = ()
    statistics: list[GroupStatistics] | None = None

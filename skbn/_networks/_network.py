"""A Gaussian network's parameters: estimates, density, and the graph that carries them.

Each column is a linear function of its parents plus independent Gaussian noise.
"""

from __future__ import annotations

from typing import NamedTuple

import networkx as nx
import numpy as np
import numpy.typing as npt

from skbn._scores._statistics import SampleStatistics
from skbn._subsets import members_of

__all__ = ["NetworkParameters", "estimate_parameters", "log_density", "to_digraph"]


class NetworkParameters(NamedTuple):
    """The parameters of a network of m columns.

    Parameters
    ----------
    coef : ndarray of shape (m, m)
        ``coef[i, j]`` is the weight of the edge i -> j, 0 where there is none.
    intercept : ndarray of shape (m,)
    noise_variance : ndarray of shape (m,)
    """

    coef: npt.NDArray[np.float64]
    intercept: npt.NDArray[np.float64]
    noise_variance: npt.NDArray[np.float64]


def estimate_parameters(
    statistics: SampleStatistics, parents: list[int], names: list[str | int]
) -> NetworkParameters:
    """Return the maximum-likelihood parameters of a network, given its parents' masks.

    Raises
    ------
    ValueError
        If the variance of a column's noise is below what float64 holds.
    """
    m = len(parents)
    coef = np.zeros((m, m))
    intercept = np.empty(m)
    noise_variance = np.empty(m)
    for child, mask in enumerate(parents):
        members = members_of(mask)
        regression = statistics.regression(child, members)
        coef[members, child] = regression.coefficients
        intercept[child] = regression.intercept
        noise_variance[child] = regression.residual_sum_of_squares / statistics.n_samples
        if noise_variance[child] < np.finfo(np.float64).tiny:
            raise ValueError(
                f"Column {names[child]!r} has noise of a variance below float64's range. Measure "
                "it in smaller units."
            )
    return NetworkParameters(coef, intercept, noise_variance)


def log_density(
    rows: npt.NDArray[np.float64],
    mean: npt.NDArray[np.float64],
    coef: npt.NDArray[np.float64],
    noise_variance: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return the log-density of each row under a network, shape (n,), in nats.

    The mean takes the place of the intercept, so that columns with a mean far
    from 0 lose no digits.
    """
    centred = rows - mean
    residual = centred - centred @ coef
    standardised = residual / np.sqrt(noise_variance)
    log_scale = np.log(2 * np.pi * noise_variance).sum()
    with np.errstate(over="ignore"):  # a row out of all proportion has log-density -inf
        return -0.5 * ((standardised**2).sum(axis=1) + log_scale)


def to_digraph(
    parents: list[int], parameters: NetworkParameters, names: list[str | int]
) -> nx.DiGraph:
    """Return a network as a graph: nodes in column order, parameters as attributes."""
    dag = nx.DiGraph()
    for child, name in enumerate(names):
        dag.add_node(
            name,
            intercept=float(parameters.intercept[child]),
            noise_variance=float(parameters.noise_variance[child]),
        )
    for child, mask in enumerate(parents):
        for parent in members_of(mask):
            weight = float(parameters.coef[parent, child])
            dag.add_edge(names[parent], names[child], weight=weight)
    return dag

"""Conditional distributions of a Gaussian, by a QR decomposition of its factor's columns."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._regressions._qr import solve_triangular, triangular_factor

__all__ = ["GaussianDistribution", "regress_on"]


class GaussianDistribution(NamedTuple):
    """A joint Gaussian distribution of k nodes.

    Parameters
    ----------
    nodes : list of k hashables
    mean : ndarray of shape (k,)
    covariance : ndarray of shape (k, k)
    """

    nodes: list[Hashable]
    mean: npt.NDArray[np.float64]
    covariance: npt.NDArray[np.float64]


def regress_on(
    given: list[int],
    others: list[int],
    factor: npt.NDArray[np.float64],
    nodes: list[Hashable],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Regress nodes on others under a Gaussian with the covariance ``factor.T @ factor``.

    Parameters
    ----------
    given, others : list of g and of k int
        Numbers of nodes: what is regressed on, and what is regressed.
    factor : ndarray of shape (m, m)
    nodes : list of m hashables

    Returns
    -------
    coefficients : ndarray of shape (g, k)
    residual_factor : ndarray of shape (r, k)
        The conditional covariance is ``residual_factor.T @ residual_factor``.

    Raises
    ------
    ValueError
        If a given node has no variance of its own beside those given before it.
    """
    g = len(given)
    columns = factor[:, [*given, *others]]
    norm = np.linalg.norm(columns, axis=0)
    norm[norm == 0] = 1  # nodes that an intervention holds fixed
    triangle = triangular_factor(columns / norm)
    own = np.abs(np.diag(triangle)[:g])
    for v, deviation in zip(given, own, strict=True):
        if deviation <= len(factor) * np.finfo(np.float64).eps:
            raise ValueError(
                f"Node {nodes[v]!r} cannot be given: the network, or the other nodes that are "
                "given, fix its value up to rounding. Leave it out."
            )
    coefficients = solve_triangular(triangle[:g, :g], triangle[:g, g:])
    return coefficients * (norm[g:] / norm[:g, np.newaxis]), triangle[g:, g:] * norm[g:]

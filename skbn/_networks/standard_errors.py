"""How far off the coefficients of a network's regressions may be, given its structure.

Each child is regressed on its parents by ordinary least squares. If the network is right, a
coefficient less its true value, divided by its standard error, has Student's distribution with
n - k - 1 degrees of freedom, for n rows and k parents. The errors ignore the search: edges that
were chosen by the same rows look surer than they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from skbn._core.arrays import Floats, finite_number
from skbn._core.subsets import bits_of
from skbn._core.text import readable_value
from skbn._data.statistics import GroupStatistics
from skbn._networks.gaussian import LinearGaussianModel


def standard_errors(groups: Sequence[GroupStatistics], parents: list[int]) -> tuple[Floats, Floats]:
    """Return the standard errors of a network's coefficients by ordinary least squares.

    Parameters
    ----------
    groups : sequence of GroupStatistics
        Each column is a child in one of them. Without the rows of a prior.
    parents : list of m int
        The masks of each column's parents.

    Returns
    -------
    std_err : ndarray of shape (m, m)
        ``std_err[i, j]`` is the standard error of the edge i -> j; NaN without an edge.
    degrees_of_freedom : ndarray of shape (m,)
        For each child's regression, the number of rows, or the sum of their weights, less the
        number of coefficients, the intercept included.

    Notes
    -----
    With the triangular factor R of the parents, the inverse of their scatter is the product of the
    inverse of R and its transpose: a coefficient's variance is the noise's, times the squared norm
    of a row of that inverse.
    """
    m = len(parents)
    std_err, degrees_of_freedom = np.full((m, m), np.nan), np.empty(m)
    for own, statistics in groups:
        is_parent = bits_of([mask if x in own else 0 for x, mask in enumerate(parents)], m)
        left = statistics.n_samples - is_parent.sum(axis=1) - 1.0
        degrees_of_freedom[own] = left[own]
        for families in statistics.families_of(is_parent):
            children, n_parents = families.children, families.n_parents
            if not n_parents.any():
                continue
            norms = np.linalg.norm(np.linalg.inv(families.first_block(n_parents)), axis=2)
            deviations = families.residual_norms() / np.sqrt(left[children])
            unscaled = norms * (deviations * statistics.scale[children])[:, np.newaxis]
            row, place = np.nonzero(np.arange(norms.shape[1]) < n_parents[:, np.newaxis])
            of_parents = families.columns[row, place]
            std_err[of_parents, children[row]] = unscaled[row, place] / statistics.scale[of_parents]
    return std_err, degrees_of_freedom


def check_confidence(confidence: Any) -> float:
    """Return the level of confidence intervals; raise unless it is between 0 and 1."""
    level = finite_number(confidence, "confidence")
    if not 0 < level < 1:
        raise ValueError(
            "confidence must be between 0 and 1, such as 0.95, or None to leave the intervals out; "
            f"got {readable_value(confidence)}."
        )
    return level


def interval_columns(
    groups: Sequence[GroupStatistics],
    model: LinearGaussianModel,
    edges: Sequence[tuple[int, int]],
    confidence: float,
) -> dict[str, Floats]:
    """Return what a table of edges says of the errors of their coefficients.

    Parameters
    ----------
    groups : sequence of GroupStatistics
        What the model was estimated from.
    model : LinearGaussianModel
    edges : sequence of (parent, child)
        By the numbers of their columns.
    confidence : float
        The level of the intervals.
    """
    parents, children = np.array(edges, dtype=int).reshape(-1, 2).T
    of_all, degrees_of_freedom = standard_errors(groups, model.parents)
    weight, std_err = model.coef[parents, children], of_all[parents, children]
    degrees_of_freedom = degrees_of_freedom[children]
    with np.errstate(divide="ignore", over="ignore"):
        t = weight / std_err
    margin = stdtrit(degrees_of_freedom, (1 + confidence) / 2) * std_err
    return {
        "std_err": std_err,
        "t": t,
        "p_value": 2 * stdtr(degrees_of_freedom, -np.abs(t)),
        "ci_low": weight - margin,
        "ci_high": weight + margin,
    }

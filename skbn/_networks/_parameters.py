"""A network's parameters, estimated from a table's statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._scores._statistics import SampleStatistics
from skbn._subsets import members_of

__all__ = ["NetworkParameters", "estimate_parameters"]


class NetworkParameters(NamedTuple):
    """The parameters of a network of m columns.

    Parameters
    ----------
    coef : ndarray of shape (m, m)
        ``coef[i, j]`` is the weight of the edge i -> j, 0 where there is none.
    mean : ndarray of shape (m,)
        The intercepts are ``mean - mean @ coef``.
    noise_variance : ndarray of shape (m,)
    """

    coef: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]
    noise_variance: npt.NDArray[np.float64]


def estimate_parameters(
    statistics: SampleStatistics,
    parents: list[int],
    names: Sequence[Any],
    divisors: npt.NDArray[np.float64] | None = None,
) -> NetworkParameters:
    """Return the least-squares parameters of a network, given its parents' masks.

    Parameters
    ----------
    statistics : SampleStatistics
    parents : list of m int
    names : sequence of length m
        What to call the columns in errors.
    divisors : ndarray of shape (m,), optional
        Of a child with l parents, the noise's variance is the residual sum of squares
        divided by ``divisors[l]``; by default by n, which maximises the likelihood.

    Raises
    ------
    ValueError
        If the variance of a column's noise is below what float64 holds.
    """
    m = len(parents)
    coef = np.zeros((m, m))
    noise_variance = np.empty(m)
    for child, mask in enumerate(parents):
        members = members_of(mask)
        regression = statistics.regression(child, members)
        divisor = statistics.n_samples if divisors is None else divisors[len(members)]
        if not divisor > 0:
            raise ValueError(
                f"The noise of column {names[child]!r} with {len(members)} parents cannot be "
                f"estimated: the criterion divides its residual sum of squares by {divisor!r}."
            )
        coef[members, child] = regression.coefficients
        noise_variance[child] = regression.residual_sum_of_squares / divisor
        if noise_variance[child] < np.finfo(np.float64).tiny:
            raise ValueError(
                f"Column {names[child]!r} has noise of a variance below float64's range. Measure "
                "it in smaller units."
            )
    return NetworkParameters(coef, statistics.mean.copy(), noise_variance)

"""A network's parameters, estimated from a table's statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._core.subsets import bits_of
from skbn._core.text import readable_value
from skbn._data.statistics import SampleStatistics
from skbn._regressions.triangular import first_block

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
        If a coefficient, or the variance of a column's noise, is out of float64's range.
    """
    m = len(parents)
    is_parent = bits_of(parents, m)
    n_parents = is_parent.sum(axis=1)
    factors, last = statistics.family_factors(is_parent), n_parents[:, np.newaxis]
    own = factors[np.arange(m)[:, np.newaxis], np.arange(factors.shape[1]), last]
    # Of the unit matrix beyond the parents, and of zeros, nothing comes.
    k = factors.shape[1] - 1
    right = np.where(np.arange(k) < last, own[:, :k], 0.0)
    solved = np.linalg.solve(first_block(factors, n_parents), right[:, :, np.newaxis])
    squares = (np.take_along_axis(own, last, axis=1)[:, 0] * statistics.scale) ** 2
    coef = np.zeros((m, m))
    noise_variance = np.empty(m)
    for child, n in enumerate(n_parents):
        divisor = statistics.n_samples if divisors is None else divisors[n]
        if not divisor > 0:
            fewer = f", or set max_parents to fewer than {n}" if n else ""
            raise ValueError(
                f"The noise of column {names[child]!r} with {n} parents cannot be "
                "estimated: the criterion divides its residual sum of squares by "
                f"{readable_value(divisor)}. Give more rows{fewer}."
            )
        members = is_parent[child]
        with np.errstate(over="ignore"):
            unscaled = solved[child, :n, 0] * statistics.scale[child]
            coef[members, child] = unscaled / statistics.scale[members]
        if not np.isfinite(coef[:, child]).all():
            parent = names[int(np.argmax(~np.isfinite(coef[:, child])))]
            raise ValueError(
                f"The coefficient of column {parent!r} for column {names[child]!r} is out of "
                "float64's range. Measure them in units nearer to each other."
            )
        noise_variance[child] = squares[child] / divisor
        if noise_variance[child] < np.finfo(np.float64).tiny:
            raise ValueError(
                f"Column {names[child]!r} has noise of a variance below float64's range. Measure "
                "it in smaller units."
            )
    return NetworkParameters(coef, statistics.mean.copy(), noise_variance)

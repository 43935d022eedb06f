"""The prior over networks: its edge odds, and what normalises it."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np
import numpy.typing as npt

from skbn._core.subsets import mask_of
from skbn._solver.constraints import Constraints, Group

__all__ = ["log_prior_sum"]


def log_prior_sum(
    prior: str,
    group: Group,
    constraints: Constraints,
    log_odds: npt.NDArray[np.float64] | None,
    constant: npt.NDArray[np.float64],
) -> float | None:
    """Return the logarithm of the sum of the odds of all networks of a group, in closed form.

    With odds of 1 this is the number of networks, or of networks with an order of their columns.
    None is returned if the columns have different constraints, edges different odds, or the
    criterion rules numbers of parents out, so that there is no closed form.

    Parameters
    ----------
    prior : {"uniform", "order"}
    group : Group
    constraints : Constraints
    log_odds : ndarray of shape (m, m), float64, or None
        The logarithm of the prior odds of each edge.
    constant : ndarray of shape (m,), float64
        The criterion's table c, which is -inf for numbers of parents that are ruled out.

    Notes
    -----
    If parents are chosen among l columns of the group and k others, their odds sum to
    ``alpha(l) = sum over i + j <= max_parents of C(l, i) C(k, j) odds**(i + j)``. Networks follow
    from Robinson's recurrence, by the number r of columns without children (Robinson 1973):
    ``a(n) = sum over r >= 1 of (-1)**(r + 1) C(n, r) alpha(n - r)**r a(n - r)``.
    """
    inside = mask_of(group.columns)
    n = len(group.columns)
    among_group = {constraints.allowed[x] & inside | 1 << x for x in group.columns}
    n_others = {(constraints.allowed[x] & ~inside).bit_count() for x in group.columns}
    is_symmetric = among_group == {inside} and not any(constraints.required)
    most = constraints.max_parents
    off_diagonal = ~np.eye(len(constraints.allowed), dtype=bool)
    odds = {1.0} if log_odds is None else set(np.exp(log_odds[off_diagonal]).tolist())
    if (
        not is_symmetric
        or max(len(n_others), len(odds)) > 1
        or np.isinf(constant[: most + 1]).any()
    ):
        return None
    (k,) = n_others
    q = Fraction(odds.pop())

    def alpha(n_candidates: int) -> Fraction:
        return sum(
            (
                comb(n_candidates, i) * comb(k, j) * q ** (i + j)
                for i in range(n_candidates + 1)
                for j in range(min(k, most - i) + 1)
            ),
            Fraction(0),
        )

    of_candidates = [alpha(i) for i in range(n)]
    sums = [Fraction(1)]
    for size in range(1, n + 1):
        if prior == "order":
            sums.append(size * of_candidates[size - 1] * sums[-1])
        else:
            sums.append(
                sum(
                    (
                        (-1) ** (r + 1)
                        * comb(size, r)
                        * of_candidates[size - r] ** r
                        * sums[size - r]
                        for r in range(1, size + 1)
                    ),
                    Fraction(0),
                )
            )
    return math.log(sums[-1].numerator) - math.log(sums[-1].denominator)

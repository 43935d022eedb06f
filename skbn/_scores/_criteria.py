"""Criteria: what a family's likelihood is worth, given its number of parameters.

A criterion is three tables over the number l of parents, which define the local
score of a child x with parents P as ``c[l] + a0[l] * L[P] + a1[l] * L[P + x]``,
where L holds the log-determinants of all subsets of the columns. Nothing that
searches needs to know more of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["COMPLEXITY_WEIGHTS", "InformationCriterion"]

COMPLEXITY_WEIGHTS: dict[str, Callable[[int], float]] = {
    "bic": lambda n_samples: math.log(n_samples) / 2,
    "aic": lambda n_samples: 1.0,
    "loglik": lambda n_samples: 0.0,
}
"""What one parameter costs, in nats, for a number of rows; by name of the criterion."""


@dataclass(frozen=True)
class InformationCriterion:
    """The maximised log-likelihood less a cost for each parameter, in nats.

    ``-n/2 * (log(2 pi RSS / n) + 1) - penalty * (|P| + 2) * weight(n)`` for the
    regression of a child on its parents P with residual sum of squares RSS: the
    parameters are the coefficients, the intercept and the noise's variance.
    Larger is better.

    Parameters
    ----------
    name : {"bic", "aic", "loglik"}
        The weight is log(n)/2 (Schwarz 1978), 1 (Akaike 1974) or 0.
    penalty : float, default=1.0
        Multiplies the cost.

    Examples
    --------
    >>> InformationCriterion("aic").tables(n_samples=100, m=3)[0].round(2).tolist()
    [86.36, 85.36, 84.36]
    """

    name: str = "bic"
    penalty: float = 1.0

    def tables(self, n_samples: int, m: int) -> npt.NDArray[np.float64]:
        """Return c, a0 and a1 as the rows of an array of shape (3, m)."""
        half_n = n_samples / 2
        n_parameters = np.arange(m) + 2
        cost = self.penalty * COMPLEXITY_WEIGHTS[self.name](n_samples) * n_parameters
        constant = -half_n * (1 + math.log(2 * math.pi / n_samples)) - cost
        return np.array([constant, np.full(m, half_n), np.full(m, -half_n)])

    def __str__(self) -> str:
        return f"criterion={self.name!r}, penalty={self.penalty:g}"

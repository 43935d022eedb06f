"""A joint Gaussian distribution, as users get it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["GaussianDistribution"]


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

"""GaussianDistribution: the joint distribution of some nodes, which shows itself as a table."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._core.text import html_table, readable_name, text_table

__all__ = ["GaussianDistribution"]

_HEADER = ("node", "mean", "standard deviation")


class GaussianDistribution(NamedTuple):
    """A joint Gaussian distribution of k nodes.

    Parameters
    ----------
    nodes : list of k hashables
    mean : ndarray of shape (k,)
    covariance : ndarray of shape (k, k)

    Examples
    --------
    >>> import numpy as np
    >>> GaussianDistribution(["a", "b"], np.array([13.5, 700.0]), np.diag([0.25, 1e4]))
    Distribution of 2 nodes
    node  mean  standard deviation
    a     13.5                 0.5
    b      700                 100
    """

    nodes: list[Hashable]
    mean: npt.NDArray[np.float64]
    covariance: npt.NDArray[np.float64]

    @property
    def standard_deviation(self) -> npt.NDArray[np.float64]:
        """The nodes' standard deviations, shape (k,)."""
        return np.sqrt(np.diag(self.covariance))

    def __repr__(self) -> str:
        return "\n".join([self._caption(), text_table(self._rows(), "lrr", _HEADER)])

    def _repr_html_(self) -> str | None:
        return html_table(self._caption(), self._rows(), ["left", "right", "right"], _HEADER)

    def _caption(self) -> str:
        return f"Distribution of {len(self.nodes)} node{'s' * (len(self.nodes) != 1)}"

    def _rows(self) -> list[tuple[str, str, str]]:
        numbers = zip(self.mean, self.standard_deviation, strict=True)
        return [
            (readable_name(node), f"{mean:.4g}", f"{deviation:.4g}")
            for node, (mean, deviation) in zip(self.nodes, numbers, strict=True)
        ]

"""GaussianDistribution: a joint Gaussian whose nodes have names."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.columns import named_nodes
from skbn._core.text import readable_name, text_table
from skbn._displays.frames import frame_of
from skbn._displays.notebook import html_table

__all__ = ["GaussianDistribution", "GaussianMarginal"]

_HEADER = ("node", "mean", "standard deviation")


class GaussianMarginal(NamedTuple):
    """The distribution of one node.

    Parameters
    ----------
    mean : float
    standard_deviation : float
        0 for a node whose value is fixed.
    """

    mean: float
    standard_deviation: float


@dataclass(frozen=True, eq=False, repr=False)
class GaussianDistribution:
    """A joint Gaussian distribution of k nodes.

    ``distribution["ash"]`` is the mean and the standard deviation of a node, and
    ``distribution[["ash", "hue"]]`` is the joint distribution of several nodes, in this order.
    It is displayed as a table.

    Parameters
    ----------
    nodes : list of k hashables
    mean : ndarray of shape (k,)
    covariance : ndarray of shape (k, k)

    See Also
    --------
    GaussianBayesianNetwork.condition : The distribution of nodes when others are known.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn import GaussianDistribution
    >>> wines = GaussianDistribution(
    ...     ["alcohol", "proline"], np.array([13.5, 700.0]), np.diag([0.25, 1e4])
    ... )
    >>> wines
    Distribution of 2 nodes
    node     mean  standard deviation
    alcohol  13.5                 0.5
    proline   700                 100
    >>> wines["proline"]
    GaussianMarginal(mean=700.0, standard_deviation=100.0)
    >>> mean, deviation = wines["alcohol"]
    >>> wines[["proline", "alcohol"]].covariance
    array([[1.0e+04, 0.0e+00],
           [0.0e+00, 2.5e-01]])
    """

    nodes: list[Hashable]
    mean: Floats
    covariance: Floats

    # Python would otherwise iterate by asking for 0, 1, 2 ..., which may be nodes.
    __iter__: ClassVar[None] = None

    @property
    def standard_deviation(self) -> Floats:
        """The nodes' standard deviations, shape (k,)."""
        return np.sqrt(np.diag(self.covariance))

    def __getitem__(self, node: Any) -> Any:
        """Return the marginal of a node, or the joint distribution of a list of nodes.

        Raises
        ------
        ValueError
            If one of them is not a node, or is named twice; if the list is empty.
        """
        chosen, is_single = named_nodes(node, self.nodes, "The index of a distribution")
        v = [self.nodes.index(each) for each in chosen]
        if is_single:
            return GaussianMarginal(float(self.mean[v[0]]), float(self.standard_deviation[v[0]]))
        return GaussianDistribution(chosen, self.mean[v], self.covariance[np.ix_(v, v)])

    def to_frame(self) -> Any:
        """Return the nodes' means and standard deviations as a table.

        Returns
        -------
        table : pandas.DataFrame
            With the columns `node`, `mean` and `standard_deviation`. Without pandas, a dict of
            these columns that is displayed as a table.

        Examples
        --------
        >>> import numpy as np
        >>> from skbn import GaussianDistribution
        >>> wines = GaussianDistribution(["alcohol"], np.array([13.5]), np.array([[0.25]]))
        >>> print(wines.to_frame().to_string(index=False))
           node  mean  standard_deviation
        alcohol  13.5                 0.5
        """
        return frame_of(
            {
                "node": self.nodes,
                "mean": self.mean,
                "standard_deviation": self.standard_deviation,
            }
        )

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

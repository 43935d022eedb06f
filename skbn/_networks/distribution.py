"""GaussianDistribution: a joint Gaussian whose nodes have names."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.columns import named_nodes
from skbn._core.text import readable_name, text_table
from skbn._displays.frames import frame_of, html_table

_HEADER = ("node", "mean", "standard deviation")
_MOST_SCENARIOS = 5  # whose means are displayed


class GaussianMarginal(NamedTuple):
    """The distribution of one node.

    Parameters
    ----------
    mean : float, or ndarray of shape (k,) for k scenarios
    standard_deviation : float
        0 for a node whose value is fixed.
    """

    mean: Any
    standard_deviation: float


@dataclass(frozen=True, eq=False, repr=False)
class GaussianDistribution:
    """A joint Gaussian distribution of k nodes.

    ``distribution["ash"]`` is the mean and the standard deviation of a node, and
    ``distribution[["ash", "hue"]]`` is the joint distribution of several nodes, in this order.
    It is displayed as a table.

    Parameters
    ----------
    nodes : list of m hashables
    mean : ndarray of shape (m,), or (k, m) for k scenarios
    covariance : ndarray of shape (m, m)
        Of the nodes in each scenario.
    columns : mapping of hashable to list of hashables, optional
        If the distribution is of columns, the columns of each node. A node can be looked up if all
        its columns are there.

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
    columns: Mapping[Hashable, list[Hashable]] = field(default_factory=dict)

    # Python would otherwise iterate by asking for 0, 1, 2 ..., which may be nodes.
    __iter__: ClassVar[None] = None

    @property
    def standard_deviation(self) -> Floats:
        """The nodes' standard deviations, shape (m,)."""
        return np.sqrt(np.diag(self.covariance))

    def __getitem__(self, node: Any) -> Any:
        """Return the marginal of a node, or the joint distribution of a list of nodes.

        Raises
        ------
        ValueError
            If one of them is not a node, or is named twice; if the list is empty.
        """
        what, there = "The index of a distribution", {*self.nodes}
        known = {name: own for name, own in self.columns.items() if there.issuperset(own)}
        known = {**known, **{name: [name] for name in self.nodes}}
        chosen, is_single = named_nodes(node, [*known], what)
        chosen, _ = named_nodes([each for name in chosen for each in known[name]], self.nodes, what)
        v = [self.nodes.index(each) for each in chosen]
        mean, covariance = self.mean[..., v], self.covariance[np.ix_(v, v)]
        if is_single and len(v) == 1:
            of_node = mean[..., 0]
            one = of_node if of_node.ndim else float(of_node)
            return GaussianMarginal(one, float(np.sqrt(covariance[0, 0])))
        return GaussianDistribution(chosen, mean, covariance, self.columns)

    def to_frame(self) -> Any:
        """Return the nodes' means and standard deviations as a table.

        Returns
        -------
        table : pandas.DataFrame
            With the columns `node`, `mean` and `standard_deviation`, after the column `scenario`
            (0, 1, ...) if there are several. Without pandas, a dict of these columns that is
            displayed as a table.

        Examples
        --------
        >>> import numpy as np
        >>> from skbn import GaussianDistribution
        >>> wines = GaussianDistribution(["alcohol"], np.array([13.5]), np.array([[0.25]]))
        >>> print(wines.to_frame().to_string(index=False))
           node  mean  standard_deviation
        alcohol  13.5                 0.5
        """
        n, m = len(np.atleast_2d(self.mean)), len(self.nodes)
        scenario = {"scenario": np.repeat(np.arange(n), m)} if self.mean.ndim > 1 else {}
        return frame_of(
            {
                **scenario,
                "node": self.nodes * n,
                "mean": self.mean.ravel(),
                "standard_deviation": np.tile(self.standard_deviation, n),
            }
        )

    def __repr__(self) -> str:
        return "\n".join([self._caption(), text_table(self._rows(), "lrr", _HEADER)])

    def _repr_html_(self) -> str | None:
        return html_table(self._caption(), self._rows(), "lrr", _HEADER)

    def _caption(self) -> str:
        of_nodes = f"{len(self.nodes)} node{'s' * (len(self.nodes) != 1)}"
        n = len(np.atleast_2d(self.mean))
        scenarios = f" in {n} scenario{'s' * (n != 1)}" if self.mean.ndim > 1 else ""
        return f"Distribution of {of_nodes}{scenarios}"

    def _rows(self) -> list[tuple[str, str, str]]:
        numbers = zip(np.atleast_2d(self.mean).T, self.standard_deviation, strict=True)
        return [
            (readable_name(node), _means(means), f"{deviation:.4g}")
            for node, (means, deviation) in zip(self.nodes, numbers, strict=True)
        ]


def _means(means: Floats) -> str:
    """Return the means of a node in all scenarios, cut if there are more than five."""
    texts = [f"{mean:.4g}" for mean in means[:_MOST_SCENARIOS]]
    return ", ".join(texts + ["..."] * (len(means) > _MOST_SCENARIOS))

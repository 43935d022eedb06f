"""NetworkDisplay: a network as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import networkx as nx
import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from skbn._layout import layered_layout

if TYPE_CHECKING:
    from skbn._learner import GaussianBNLearner

__all__ = ["NetworkDisplay"]

# Okabe & Ito (2008): told apart by colour-blind readers, and in grey by width alone.
_POSITIVE, _NEGATIVE = "#0072B2", "#D55E00"


class NetworkDisplay:
    """A picture of a Gaussian network.

    Parents stand above their children. An edge is blue if its weight is positive
    and orange if it is negative, and the wider, the larger the standardised weight:
    by how many of its own standard deviations the child changes with one of the
    parent's.

    Use `from_estimator` to make one. Needs matplotlib (``pip install skbn[plot]``).

    Parameters
    ----------
    dag : networkx.DiGraph
        With the attributes that `GaussianBNLearner` gives its `dag_`.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import GaussianBNLearner, NetworkDisplay
    >>> learner = GaussianBNLearner().fit(load_wine(as_frame=True).data)
    >>> display = NetworkDisplay.from_estimator(learner)
    >>> display.figure_.savefig("wine.png")  # doctest: +SKIP
    """

    def __init__(self, dag: nx.DiGraph) -> None:
        self.dag = dag

    @classmethod
    def from_estimator(cls, estimator: GaussianBNLearner, *, ax: Any = None) -> Self:
        """Draw the network of a fitted learner.

        Parameters
        ----------
        estimator : GaussianBNLearner
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        display : NetworkDisplay

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the learner is not fitted.
        """
        check_is_fitted(estimator)
        return cls(estimator.dag_).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the network.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        display : NetworkDisplay
            Itself.
        """
        positions = layered_layout(self.dag)
        if ax is None:
            ax = _new_axes(positions)
        labels = {
            node: ax.text(
                *position,
                str(node).replace("_", "\n", 1),
                ha="center",
                va="center",
                fontsize=9,
                color="#222222",
                zorder=3,
                bbox={"boxstyle": "round,pad=0.4", "facecolor": "#F3F3F0", "edgecolor": "#777777"},
            )
            for node, position in positions.items()
        }
        for (parent, child), weight in _standardised_weights(self.dag).items():
            _draw_edge(ax, positions, labels, parent, child, weight)
        xs, ys = zip(*positions.values(), strict=True)
        ax.set_xlim(min(xs) - 0.6, max(xs) + 0.6)
        ax.set_ylim(min(ys) - 0.5, max(ys) + 0.5)
        ax.set_axis_off()
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


def _new_axes(positions: dict[Any, tuple[float, float]]) -> Any:
    from matplotlib.figure import Figure

    xs, ys = zip(*positions.values(), strict=True)
    width = max(5.0, 1.5 * (max(xs) - min(xs) + 1))
    height = max(3.0, 1.0 * (max(ys) - min(ys) + 1))
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure.subplots()


def _draw_edge(
    ax: Any,
    positions: dict[Any, tuple[float, float]],
    labels: dict[Any, Any],
    parent: Any,
    child: Any,
    weight: float,
) -> None:
    from matplotlib.patches import FancyArrowPatch

    # An edge that skips a layer bends, so that it does not run through the nodes there.
    span = positions[parent][1] - positions[child][1]
    arrow = FancyArrowPatch(
        positions[parent],
        positions[child],
        arrowstyle="-|>",
        mutation_scale=12,
        connectionstyle=f"arc3,rad={0.12 if span > 1 else 0.0}",
        patchA=labels[parent].get_bbox_patch(),
        patchB=labels[child].get_bbox_patch(),
        shrinkA=0,
        shrinkB=1,
        linewidth=0.8 + 3 * min(abs(weight), 1),
        color=_POSITIVE if weight > 0 else _NEGATIVE,
        alpha=0.8,
        zorder=2,
    )
    ax.add_patch(arrow)


def _standardised_weights(dag: nx.DiGraph) -> dict[tuple[Any, Any], float]:
    deviation = dict(zip(dag, np.sqrt(_variances(dag)), strict=True))
    return {
        (parent, child): weight * deviation[parent] / deviation[child]
        for parent, child, weight in dag.edges(data="weight")
    }


def _variances(dag: nx.DiGraph) -> npt.NDArray[np.float64]:
    """Return the variance of each node that the network implies."""
    noise = np.array([dag.nodes[node]["noise_variance"] for node in dag])
    effects = np.linalg.inv(np.eye(len(dag)) - nx.to_numpy_array(dag))
    return noise @ effects**2

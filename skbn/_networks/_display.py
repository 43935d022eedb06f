"""NetworkDisplay: a network as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import networkx as nx
import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils.validation import check_is_fitted

from skbn._networks._layout import Layout, Point, layered_layout

if TYPE_CHECKING:
    from skbn._learner import GaussianBNLearner
    from skbn._networks._network import GaussianBayesianNetwork

__all__ = ["NetworkDisplay"]

# Okabe & Ito (2008): told apart by colour-blind readers, and in grey by width alone.
_POSITIVE, _NEGATIVE, _NEUTRAL = "#0072B2", "#D55E00", "#777777"
_LINE_LENGTH = 14  # of a node's name


class NetworkDisplay:
    """A picture of a Gaussian network.

    Parents stand above their children. An edge is blue if its weight is positive
    and orange if it is negative, and the wider, the larger the standardised weight:
    by how many of its own standard deviations the child changes with one of the
    parent's, up to 1. Edges without weights are grey, and those that a CPDAG leaves
    undirected have no arrowhead.

    Use `from_estimator` to make one. Needs matplotlib (``pip install skbn[plot]``).

    Parameters
    ----------
    dag : networkx.DiGraph
        Acyclic, with the attributes that `GaussianBNLearner` gives its `dag_`; or with
        no weights, as `GaussianBayesianNetwork.cpdag` gives it.

    Raises
    ------
    ValueError
        If it is not such a graph.

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
        if not isinstance(dag, nx.DiGraph) or not dag or not nx.is_directed_acyclic_graph(dag):
            raise ValueError(f"dag must be an acyclic networkx.DiGraph with nodes; got {dag}.")
        if _is_weighted(dag):
            bare = [node for node, data in dag.nodes(data=True) if "noise_variance" not in data]
            bare += [(a, b) for a, b, data in dag.edges(data=True) if "weight" not in data]
            if bare:
                raise ValueError(
                    "dag must have the attributes noise_variance of nodes and weight of edges, or "
                    f"no weights; {bare[0]!r} has not."
                )
        self.dag = dag

    @classmethod
    def from_estimator(
        cls, estimator: GaussianBNLearner | GaussianBayesianNetwork, *, ax: Any = None
    ) -> Self:
        """Draw the network of a fitted learner, or a network with parameters.

        Parameters
        ----------
        estimator : GaussianBNLearner or GaussianBayesianNetwork
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        display : NetworkDisplay

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        TypeError
            If it is another estimator.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "dag_"):
            raise TypeError(
                "estimator must be a GaussianBNLearner or a GaussianBayesianNetwork; got "
                f"{type(estimator).__name__}. Of a pipeline, give its last step."
            )
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

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        check_matplotlib_support("NetworkDisplay.plot")
        layout = layered_layout(self.dag)
        if ax is None:
            ax = _new_axes(layout)
        labels = {
            node: ax.text(
                *position,
                _label(node),
                parse_math=False,
                ha="center",
                va="center",
                fontsize=9,
                color="#222222",
                zorder=3,
                bbox={"boxstyle": "round,pad=0.4", "facecolor": "#F3F3F0", "edgecolor": "#777777"},
            )
            for node, position in layout.positions.items()
        }
        weights = _standardised_weights(self.dag) if _is_weighted(self.dag) else {}
        for (parent, child), route in layout.routes.items():
            arrow = "-" if self.dag.edges[parent, child].get("undirected") else "-|>"
            _draw_edge(ax, route, labels[child], weights.get((parent, child)), arrow)
        left, right, bottom, top = _extent(layout)
        ax.set_xlim(left, right)
        ax.set_ylim(bottom, top)
        ax.set_axis_off()
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


def _extent(layout: Layout) -> tuple[float, float, float, float]:
    points = [*layout.positions.values(), *(p for route in layout.routes.values() for p in route)]
    xs, ys = zip(*points, strict=True)
    return min(xs) - 0.7, max(xs) + 0.7, min(ys) - 0.4, max(ys) + 0.4


def _new_axes(layout: Layout) -> Any:
    from matplotlib.figure import Figure

    left, right, bottom, top = _extent(layout)
    size = (max(4.0, 1.15 * (right - left)), max(2.0, 0.9 * (top - bottom)))
    return Figure(figsize=size, layout="constrained").subplots()


def _is_weighted(dag: nx.DiGraph) -> bool:
    return any("weight" in data for _, _, data in dag.edges(data=True))


def _draw_edge(
    ax: Any, route: list[Point], child_label: Any, weight: float | None, arrow: str
) -> None:
    from matplotlib.patches import FancyArrowPatch, PathPatch
    from matplotlib.path import Path

    style: dict[str, Any] = {"linewidth": 1.5, "color": _NEUTRAL, "capstyle": "butt"}
    if weight is not None:
        style["linewidth"] = 0.8 + 3 * min(abs(weight), 1)
        style["color"] = _POSITIVE if weight > 0 else _NEGATIVE if weight < 0 else _NEUTRAL
    # Quadratic curves between the middles of the route's segments, and an arrow at its end.
    vertices, codes = [route[0]], [Path.MOVETO]
    for before, at, after in zip(route, route[1:], route[2:], strict=False):
        for code, point in ((Path.LINETO, _middle(before, at)), (Path.CURVE3, at)):
            vertices.append(point)
            codes.append(code)
        vertices.append(_middle(at, after))
        codes.append(Path.CURVE3)
    if len(route) > 2:
        ax.add_patch(PathPatch(Path(vertices, codes), fill=False, zorder=1, **style))
    ax.add_patch(
        FancyArrowPatch(
            vertices[-1],
            route[-1],
            arrowstyle=arrow,
            mutation_scale=11,
            patchB=child_label.get_bbox_patch(),
            shrinkA=0,
            shrinkB=1,
            zorder=2,
            **style,
        )
    )


def _middle(a: Point, b: Point) -> Point:
    return (a[0] + b[0]) / 2, (a[1] + b[1]) / 2


def _label(node: Any) -> str:
    """Break a long name into lines at its underscores."""
    first, *parts = str(node).split("_")
    lines = [first]
    for part in parts:
        if len(lines[-1]) + 1 + len(part) > _LINE_LENGTH:
            lines.append(part)
        else:
            lines[-1] += f"_{part}"
    return "\n".join(lines)


def _standardised_weights(dag: nx.DiGraph) -> dict[tuple[Any, Any], float]:
    """Return each edge's weight in units of the standard deviations that the network implies."""
    # In units of each node's noise, or of 1 without any: no variance over- or underflows.
    noise = np.sqrt([dag.nodes[node]["noise_variance"] for node in dag])
    unit = np.where(noise == 0, 1.0, noise)
    weights = nx.to_numpy_array(dag) * unit[:, np.newaxis] / unit
    effects = np.linalg.inv(np.eye(len(dag)) - weights)
    deviation = np.linalg.norm(effects * (noise > 0)[:, np.newaxis], axis=0)
    # What an intervention holds fixed has no deviation, and explains nothing.
    weights *= deviation[:, np.newaxis] / np.where(deviation == 0, 1.0, deviation)
    index = {node: i for i, node in enumerate(dag)}
    return {(a, b): float(weights[index[a], index[b]]) for a, b in dag.edges}

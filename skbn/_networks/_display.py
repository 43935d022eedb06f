"""NetworkDisplay: a network as a picture."""

from __future__ import annotations

from typing import Any, Self

import networkx as nx
import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils.validation import check_is_fitted

from skbn._graphs import check_dag
from skbn._networks._gaussian import LinearGaussianModel, is_parametrised
from skbn._networks._layout import Layout, Point, layered_layout

__all__ = ["NetworkDisplay"]

# Okabe & Ito (2008): told apart by colour-blind readers, and in grey by width alone.
_POSITIVE, _NEGATIVE, _NEUTRAL = "#0072B2", "#D55E00", "#777777"
_LINE_LENGTH = 14  # of a node's name
_EXPECTED = "a networkx.DiGraph (for estimators there is NetworkDisplay.from_estimator)"


class NetworkDisplay:
    """A picture of a Gaussian network.

    Parents stand above their children. An edge is blue if its weight is positive
    and orange if it is negative, and the wider, the larger the standardised weight:
    by how many of its own standard deviations the child changes with one of the
    parent's, up to 1. Edges of a graph without parameters, and those of weight 0, are
    grey; those that a CPDAG leaves undirected have no arrowhead.

    Use `from_estimator` to make one. Needs matplotlib (``pip install skbn[plot]``).

    Parameters
    ----------
    dag : networkx.DiGraph
        Acyclic, with the attributes that `GaussianBNLearner` gives its `dag_`; or with
        no parameters, as `GaussianBayesianNetwork.cpdag` gives it.

    Raises
    ------
    TypeError
        If it is no networkx.DiGraph.
    ValueError
        If it has a cycle or no nodes; if a parameter is missing, no finite number or a
        negative variance, or if a mean or a variance is out of float64's range.

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
        check_dag(dag, expected=_EXPECTED, may_be_undirected=True)
        _standardised_weights(dag)
        self.dag = dag

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the network of a fitted learner, or a network with parameters.

        Parameters
        ----------
        estimator : GaussianBNLearner, GaussianBNLearnerCV or GaussianBayesianNetwork
            Or a pipeline that ends with one, or a search such as GridSearchCV over one.
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
        ValueError
            As for the graph itself.
        """
        while not hasattr(type(estimator), "dag_"):  # else it says itself what it lacks
            check_is_fitted(estimator)
            if isinstance(estimator, Pipeline):
                estimator = estimator[-1]
            elif hasattr(estimator, "best_estimator_"):
                estimator = estimator.best_estimator_
            else:
                raise TypeError(
                    "estimator must be a learner, a GaussianBayesianNetwork, or a pipeline or a "
                    f"search that ends with one; got {type(estimator).__name__}."
                )
        try:
            dag = estimator.dag_
        except NotFittedError as error:
            raise NotFittedError(
                f"{error} NetworkDisplay(network.dag).plot() draws the graph alone."
            ) from None
        return cls(dag).plot(ax=ax)

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
        weights = _standardised_weights(self.dag)
        for (parent, child), route in layout.routes.items():
            edge = self.dag.edges[parent, child]
            style: dict[str, Any] = {"linewidth": 1.5, "color": _NEUTRAL}
            if (parent, child) in weights:
                # The sign is the weight's own: held parents have a standardised weight of 0.
                sign = np.sign(edge["weight"])
                style["color"] = {1: _POSITIVE, -1: _NEGATIVE}.get(sign, _NEUTRAL)
                style["linewidth"] = 0.8 + 3 * min(abs(weights[parent, child]), 1)
            _draw_edge(ax, route, labels[child], "-" if edge.get("undirected") else "-|>", style)
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


def _draw_edge(
    ax: Any, route: list[Point], child_label: Any, arrow: str, style: dict[str, Any]
) -> None:
    from matplotlib.patches import FancyArrowPatch, PathPatch
    from matplotlib.path import Path

    style = style | {"capstyle": "butt"}
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
    """Return each edge's weight in units of the standard deviations that the network implies.

    None without parameters; 0 where a node has no variance.
    """
    if not is_parametrised(dag):
        return {}
    model = LinearGaussianModel.from_dag(dag)
    deviation = model.standard_deviations()
    with np.errstate(over="ignore"):
        weights = (
            model.coef * deviation[:, np.newaxis] / np.where(deviation == 0, np.inf, deviation)
        )
    index = {node: i for i, node in enumerate(dag)}
    return {(a, b): float(weights[index[a], index[b]]) for a, b in dag.edges}

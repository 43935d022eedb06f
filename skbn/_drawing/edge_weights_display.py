"""EdgeWeightsDisplay: the weights of a network's edges as a heat map."""

from __future__ import annotations

from typing import Any, Self

import networkx as nx
import numpy as np

from skbn._core.graphs import check_dag
from skbn._core.linear_model import is_parametrised
from skbn._drawing.appearance import Style, check_axes, require_matplotlib, style_for
from skbn._drawing.fitted import fitted_graph
from skbn._drawing.labels import broken_into_lines, printable, text_width
from skbn._drawing.weights import readable_weight, strengths_of

__all__ = ["EdgeWeightsDisplay"]

_CELL = 2.6  # in sizes of the font
_ROOM = 10.0, 5.0  # beside (colour bar) and below (name of the axis), in sizes of the font
_LONGEST_NAME = 40  # characters in one line
_LARGEST_WITH_NUMBERS = 20  # nodes


class EdgeWeightsDisplay:
    """The standardised weights of a network's edges as a heat map.

    A row is a parent, a column a child. A cell is blue if the weight is positive and orange
    if it is negative, and empty where there is no edge. Nodes are in an order in which
    parents come before their children, so that all weights are above the diagonal.

    Use `from_estimator` or `from_graph` to make one. Needs matplotlib (``pip install
    skbn[plot]``).

    Parameters
    ----------
    dag : networkx.DiGraph
        An acyclic graph with the attributes of `GaussianBNLearner.dag_`.

    Attributes
    ----------
    nodes : list
        In the order of rows and columns.
    weights : ndarray of shape (m, m), float64
        The child's change in its standard deviations with one standard deviation of the
        parent. NaN where there is no edge, or where `do` holds the parent at a value.
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    im_ : matplotlib.image.AxesImage

    Raises
    ------
    TypeError
        If `dag` is not a networkx.DiGraph.
    ValueError
        If it has a cycle, no nodes, no parameters or undirected edges; if a parameter is
        missing, not a finite number or a negative variance, or if a mean or a variance is out of
        float64's range.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import EdgeWeightsDisplay, GaussianBNLearner
    >>> learner = GaussianBNLearner().fit(load_wine(as_frame=True).data)
    >>> display = EdgeWeightsDisplay.from_estimator(learner)
    >>> display.nodes[:3]
    ['ash', 'magnesium', 'proline']
    """

    def __init__(self, dag: nx.DiGraph) -> None:
        check_dag(dag)
        if not is_parametrised(dag):
            raise ValueError(
                "dag has no parameters, so its edges have no weights. Fit a "
                "GaussianBayesianNetwork of it."
            )
        number = {node: i for i, node in enumerate(dag)}
        self.nodes = list(nx.lexicographical_topological_sort(dag, number.__getitem__))
        place = {node: i for i, node in enumerate(self.nodes)}
        self.weights = np.full((len(dag), len(dag)), np.nan)
        for (parent, child), weight in strengths_of(dag).weights.items():
            self.weights[place[parent], place[child]] = weight

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the weights of a fitted learner's network, or of a network.

        Parameters
        ----------
        estimator : GaussianBNLearner, GaussianBNLearnerCV or GaussianBayesianNetwork
            Or a pipeline that ends with one, or a search such as GridSearchCV over one.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        display : EdgeWeightsDisplay

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        TypeError, ValueError, ImportError
            If it is another estimator, and as for the class and `plot`.
        """
        return cls(fitted_graph(estimator)).plot(ax=ax)

    @classmethod
    def from_graph(cls, graph: nx.DiGraph, *, ax: Any = None) -> Self:
        """Draw the weights of an acyclic graph with parameters.

        Parameters
        ----------
        graph : networkx.DiGraph
            As `dag` above.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        display : EdgeWeightsDisplay

        Raises
        ------
        TypeError, ValueError, ImportError
            As for the class and `plot`.
        """
        return cls(graph).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        display : EdgeWeightsDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError
            If `ax` is something else.
        """
        require_matplotlib("EdgeWeightsDisplay.plot")
        from matplotlib import pyplot, rcParams

        check_axes(ax)
        m = len(self.nodes)
        names = [_name(node) for node in self.nodes]
        if ax is None:
            font_size = float(rcParams["font.size"])
            lines = [line for name in names for line in name.split("\n")]
            room = max(text_width(line, font_size) for line in lines)
            side = m * _CELL * font_size + room
            figsize = (side + _ROOM[0] * font_size) / 72, (side + _ROOM[1] * font_size) / 72
            _, ax = pyplot.subplots(figsize=figsize, layout="constrained")
        style = style_for(ax)
        largest = np.nanmax(np.abs(self.weights), initial=0.0) or 1.0
        self.im_ = ax.imshow(
            self.weights, cmap=_colour_map(style), vmin=-largest, vmax=largest, origin="upper"
        )
        ax.set_facecolor(style.ground)
        ax.set_xticks(range(m), names, rotation=90, parse_math=False, usetex=False)
        ax.set_yticks(range(m), names, parse_math=False, usetex=False)
        ax.set(xlabel="child", ylabel="parent")
        ax.set_xticks(np.arange(m - 1) + 0.5, minor=True)
        ax.set_yticks(np.arange(m - 1) + 0.5, minor=True)
        ax.grid(visible=False, which="major")
        ax.grid(which="minor", color=style.border, linewidth=0.3)
        ax.tick_params(which="both", length=0)
        ax.figure.colorbar(self.im_, ax=ax, label="standardised weight", shrink=0.7)
        if m <= _LARGEST_WITH_NUMBERS:
            self._write_numbers(ax, style, largest)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _write_numbers(self, ax: Any, style: Style, largest: float) -> None:
        for row, column in np.argwhere(~np.isnan(self.weights)):
            weight = self.weights[row, column]
            ax.text(
                column,
                row,
                readable_weight(weight),
                ha="center",
                va="center",
                fontsize="x-small",
                color=style.ground if abs(weight) > 0.6 * largest else style.text,
            )


def _name(node: Any) -> str:
    name = printable(str(node))
    return name if len(name) <= _LONGEST_NAME else "\n".join(broken_into_lines(name))


def _colour_map(style: Style) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    ends = [style.negative, style.ground, style.positive]
    return LinearSegmentedColormap.from_list("weights", ends)

"""Heat maps of edges: a row for each parent and a column for each child.

`EdgeWeightsDisplay` draws the weights of a network's edges, and `EdgeProbabilitiesDisplay` the
probabilities of all edges, or their support.
"""

from collections.abc import Callable, Sequence
from typing import Any, Self

import networkx as nx
import numpy as np

from skbn._core.arrays import Floats, Names
from skbn._core.columns import named_nodes
from skbn._core.graphs import check_dag, is_parametrised
from skbn._core.text import must_be
from skbn._displays import appearance
from skbn._displays.appearance import style_for
from skbn._displays.display import Display, fitted_graph, fitted_network, fitted_step
from skbn._displays.labels import broken_into_lines, printable, text_width

_LARGEST_WITH_NUMBERS = 20  # nodes; in larger maps the numbers are too small to read
# In sizes of the font: a cell, and the room for the colour bar beside and an axis's name below.
_CELL = 2.6
_ROOM = 10.0, 5.0
_LONGEST_NAME = 40  # characters in one line
_EXPECTED = (
    "a GaussianBNPosterior or a BootstrapBNLearner, or a pipeline or a search that ends with one"
)
# Labels of the colour bar: for directed edges, and for pairs.
_LABELS = {
    "probability": ("probability of the edge", "probability that they are joined"),
    "support": ("support of the edge", "support of either direction"),
}


class _HeatMapDisplay(Display):
    """A display of a number for each pair of nodes."""

    nodes: list[Any]
    im_: Any

    def _draw_heat_map(
        self,
        values: Floats,
        *,
        ax: Any,
        colours: Sequence[str],
        limits: tuple[float, float],
        label: str,
        axes_labels: tuple[str, str] = ("parent", "child"),
        text_of: Callable[[float], str] | None,
    ) -> Self:
        """Draw an array of the nodes' pairs as a heat map.

        `values`: (m, m), cells of NaN stay empty
        `ax`: matplotlib.axes.Axes or None; None stands for axes in a new figure
        `colours`: which of a style's colours the map goes through, from the lower limit to the
            upper one
        `limits`: the upper one is the larger one in absolute value
        `label`: what the colour bar shows
        `axes_labels`: what rows and columns are
        `text_of`: returns the text of a cell, which may be empty; None writes nothing

        Raises TypeError if `ax` is something else.
        """
        self._require_matplotlib()
        from matplotlib import rcParams
        from matplotlib.colors import LinearSegmentedColormap

        m = len(self.nodes)
        names = [_name(node) for node in self.nodes]
        font_size = float(rcParams["font.size"])
        room = max(text_width(line, font_size) for name in names for line in name.split("\n"))
        side = m * _CELL * font_size + room
        figsize = (side + _ROOM[0] * font_size) / 72, (side + _ROOM[1] * font_size) / 72
        ax = self._own_axes(ax, figsize)
        style = style_for(ax)
        colour_map = LinearSegmentedColormap.from_list(
            label, [getattr(style, colour) for colour in colours]
        )
        image = ax.imshow(values, cmap=colour_map, vmin=limits[0], vmax=limits[1], origin="upper")
        ax.set_facecolor(style.ground)
        ax.set_xticks(range(m), names, rotation=90, parse_math=False, usetex=False)
        ax.set_yticks(range(m), names, parse_math=False, usetex=False)
        ax.set(xlabel=axes_labels[1], ylabel=axes_labels[0])
        ax.set_xticks(np.arange(m - 1) + 0.5, minor=True)
        ax.set_yticks(np.arange(m - 1) + 0.5, minor=True)
        ax.grid(visible=False, which="major")
        ax.grid(which="minor", color=style.border, linewidth=0.3)
        ax.tick_params(which="both", length=0)
        ax.figure.colorbar(image, ax=ax, label=label, shrink=0.7)
        for row, column in np.argwhere(~np.isnan(values)):
            value = values[row, column]
            text = "" if text_of is None else text_of(value)
            colour = style.ground if abs(value) > 0.6 * limits[1] else style.text
            if text:
                ax.text(
                    column, row, text, ha="center", va="center", fontsize="x-small", color=colour
                )
        self.im_ = image
        return self._drawn_on(ax=ax)


def _name(node: Any) -> str:
    name = printable(str(node))
    return name if len(name) <= _LONGEST_NAME else "\n".join(broken_into_lines(name))


class EdgeWeightsDisplay(_HeatMapDisplay):
    """The standardised weights of a network's edges as a heat map.

    A row is a parent, a column a child. A cell is blue if the weight is positive and orange
    if it is negative, and empty where there is no edge. Nodes are in an order in which
    parents come before their children, so that all weights are above the diagonal.

    Use `from_estimator` or `from_graph` to make one. Needs matplotlib (``pip install
    -e ".[plot]"``).

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

    See Also
    --------
    EdgeProbabilitiesDisplay : How sure the data are of each edge.

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
                "dag has nodes of several columns, whose edges have several weights. Pass the "
                "network to from_estimator."
                if any("coefficients" in data for _, _, data in dag.edges(data=True))
                else "dag has no parameters, so its edges have no weights. Fit a "
                "GaussianBayesianNetwork of it."
            )
        number = {node: i for i, node in enumerate(dag)}
        self.nodes = list(nx.lexicographical_topological_sort(dag, number.__getitem__))
        place = {node: i for i, node in enumerate(self.nodes)}
        self.weights = np.full((len(dag), len(dag)), np.nan)
        for (parent, child), weight in appearance.strengths_of(dag).weights.items():
            self.weights[place[parent], place[child]] = weight

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the weights of a fitted learner's network, or of a network.

        For a posterior, this is its median network. Each column of a category, or of another node
        of several columns, has a row and a column, with the standardised weights of
        `GaussianBayesianNetwork.to_frame`.

        Parameters
        ----------
        estimator : GaussianBNLearner, GaussianBNLearnerCV, GaussianBNPosterior or \
GaussianBayesianNetwork
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
        network = fitted_network(estimator)
        if not hasattr(network, "_blocks") or network._blocks.are_columns:
            return cls(fitted_graph(estimator)).plot(ax=ax)
        display, (table, _) = cls(network.columns_.dag_), network._edge_columns(confidence=None)
        display.weights[:] = np.nan
        rows, columns = ([*map(display.nodes.index, table[end])] for end in ("parent", "child"))
        display.weights[rows, columns] = table["standardised_weight"]
        return display.plot(ax=ax)

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
        largest = np.nanmax(np.abs(self.weights), initial=0.0) or 1.0
        has_numbers = len(self.nodes) <= _LARGEST_WITH_NUMBERS
        return self._draw_heat_map(
            self.weights,
            ax=ax,
            colours=("negative", "ground", "positive"),
            limits=(-largest, largest),
            label="standardised weight",
            text_of=appearance.readable_weight if has_numbers else None,
        )


class EdgeProbabilitiesDisplay(_HeatMapDisplay):
    """The probabilities of all edges, or their support, as a heat map.

    A row is a parent, a column a child. The more probable an edge is, the bluer is its cell. Nodes
    are in an order in which probable parents come before their children, so that most probable
    edges are above the diagonal. Two filled cells opposite each other show a direction that the
    data leave open.

    Use `from_estimator` or `from_probabilities` to make one. Needs matplotlib (``pip install
    -e ".[plot]"``).

    Parameters
    ----------
    probabilities : array-like of shape (m, m) or pandas.DataFrame
        At [i, j], the probability of the edge i -> j, from 0 to 1. The diagonal is not used. The
        rows and columns of a data frame have the same names, in any order.
    names : sequence of m names, optional
        By default the names in the data frame, or the numbers from 0.
    order : {"parents-first", "given"} or list of names, default="parents-first"
        The order of rows and columns. A list may leave columns out. "parents-first" begins with the
        column whose expected number of parents is smallest. Then it takes the column with the
        fewest expected parents among the columns left, and so on.
    measure : {"probability", "support"}, default="probability"
        What the numbers are, as the colour bar says: posterior probabilities, or shares of
        resamples as in a bootstrap.

    Attributes
    ----------
    nodes : list
        In the order of rows and columns.
    probabilities : ndarray of shape (m, m), float64
        In the same order; NaN on the diagonal.
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    im_ : matplotlib.image.AxesImage

    Raises
    ------
    ValueError
        If the array is not square, or a value is not a number from 0 to 1; if there is not one
        name for each column, or no such order or measure.

    See Also
    --------
    GaussianBNPosterior : Finds the probabilities.
    BootstrapBNLearner : Finds the support of edges.
    NetworkDisplay : Draws a network with the probabilities of its edges.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skbn import EdgeProbabilitiesDisplay, GaussianBNPosterior
    >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
    >>> scaler = StandardScaler().set_output(transform="pandas")
    >>> posterior = GaussianBNPosterior(structure_prior="order").fit(scaler.fit_transform(wine))
    >>> display = EdgeProbabilitiesDisplay.from_estimator(posterior)
    >>> display.nodes
    ['hue', 'alcohol', 'proline', 'ash']
    """

    def __init__(
        self,
        probabilities: Any,
        names: Names | None = None,
        *,
        order: Any = "parents-first",
        measure: str = "probability",
    ) -> None:
        if measure not in _LABELS:
            raise ValueError(must_be("measure", "'probability' or 'support'", measure))
        values, nodes = appearance.probability_array(probabilities, names)
        places = _places(values, nodes, order)
        self.nodes = [nodes[place] for place in places]
        self.probabilities = values[np.ix_(places, places)]
        self._measure = measure

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, order: Any = "parents-first", **options: Any
    ) -> Self:
        """Draw the probabilities of a fitted posterior, or the support of a fitted bootstrap.

        Parameters
        ----------
        estimator : GaussianBNPosterior or BootstrapBNLearner
            Or a pipeline that ends with one, or a search such as GridSearchCV over one.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.
        order : {"parents-first", "given"} or list of names, default="parents-first"
            As for the class.
        **options
            Options of `plot`.

        Returns
        -------
        display : EdgeProbabilitiesDisplay

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        TypeError, ValueError, ImportError
            If it is another estimator, and as for the class and `plot`.
        """
        step = fitted_step(estimator, ("edge_probabilities_", "edge_support_"), _EXPECTED)
        values, measure = getattr(step, "edge_support_", None), "support"
        if values is None:
            values, measure = step.edge_probabilities_, "probability"
        display = cls(values, list(step.dag_), order=order, measure=measure)
        return display.plot(ax=ax, **options)

    @classmethod
    def from_probabilities(
        cls,
        probabilities: Any,
        names: Names | None = None,
        *,
        ax: Any = None,
        order: Any = "parents-first",
        **options: Any,
    ) -> Self:
        """Draw an array or a data frame of probabilities.

        Parameters
        ----------
        probabilities : array-like of shape (m, m) or pandas.DataFrame
            As for the class.
        names : sequence of m names, optional
            As for the class.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.
        order : {"parents-first", "given"} or list of names, default="parents-first"
            As for the class.
        **options
            Options of `plot`.

        Returns
        -------
        display : EdgeProbabilitiesDisplay

        Raises
        ------
        TypeError, ValueError, ImportError
            As for the class and `plot`.

        Examples
        --------
        >>> from skbn import EdgeProbabilitiesDisplay
        >>> probabilities = [[0, 0.1, 0], [0.8, 0, 0.3], [0, 0.6, 0]]
        >>> display = EdgeProbabilitiesDisplay.from_probabilities(probabilities, ["a", "b", "c"])
        >>> display.nodes
        ['c', 'b', 'a']
        """
        return cls(probabilities, names, order=order).plot(ax=ax, **options)

    def plot(
        self, *, ax: Any = None, numbers: bool | None = None, either_way: bool = False
    ) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.
        numbers : bool, optional
            Whether to write the probabilities into the cells, except those that would read 0.00. By
            default they are written for up to 20 columns.
        either_way : bool, default=False
            Whether to draw the probability, or the support, of an edge between two columns,
            whatever its direction: the sum over both directions. The map is symmetric then.

        Returns
        -------
        display : EdgeProbabilitiesDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError
            If `ax` is something else.
        ValueError
            If `either_way` is set, and the probabilities of both directions exceed 1 in sum.
        """
        values = self.probabilities
        if either_way:
            values = appearance.joined_probabilities(values, self.nodes)
        if numbers is None:
            numbers = len(self.nodes) <= _LARGEST_WITH_NUMBERS
        return self._draw_heat_map(
            values,
            ax=ax,
            colours=("ground", "positive"),
            limits=(0.0, 1.0),
            label=_LABELS[self._measure][int(either_way)],
            axes_labels=("", "") if either_way else ("parent", "child"),
            text_of=_text if numbers else None,
        )


def _text(probability: float) -> str:
    """Return the number in a cell. Numbers near 0 stay empty, so that the others stand out."""
    text = appearance.readable_probability(probability)
    return "" if text == "0.00" else text


def _places(values: Floats, nodes: list[Any], order: Any) -> list[int]:
    """Return the numbers of the columns in the order in which they are shown."""
    if not isinstance(order, str):
        return [nodes.index(node) for node in named_nodes(order, nodes, "order")[0]]
    if order == "given":
        return list(range(len(nodes)))
    if order == "parents-first":
        return _parents_first(values)
    raise ValueError(must_be("order", "'parents-first', 'given' or a list of names", order))


def _parents_first(values: Floats) -> list[int]:
    """Return an order in which each column has fewest expected parents among those after it.

    It is a topological order if the edges of probability above 0 have no cycle.
    """
    n_parents = np.nansum(values, axis=0)
    places: list[int] = []
    for _ in range(len(values)):
        places.append(place := int(n_parents.argmin()))
        n_parents -= np.nan_to_num(values[place])
        n_parents[place] = np.inf
    return places

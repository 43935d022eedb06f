"""EdgeHeatMapDisplay: a number for each edge, parents in rows and children in columns."""

from typing import Any, Self

import numpy as np

from skbn._core.arrays import Floats, Names
from skbn._core.columns import named_nodes
from skbn._core.graphs import is_parametrised
from skbn._core.text import must_be
from skbn._displays import appearance
from skbn._displays.display import Display, fitted_graph, fitted_network, fitted_step
from skbn._displays.labels import broken_into_lines, printable, text_width

_LARGEST_WITH_NUMBERS = 20  # nodes; in larger maps the numbers are too small to read
# In sizes of the font: a cell, and the room for the colour bar beside and an axis's name below.
_CELL = 2.6
_ROOM = 10.0, 5.0
_LONGEST_NAME = 40  # characters in one line
_EXPECTED = "a posterior, a bootstrap, a learner or a network, or a pipeline that ends with one"
# Labels of the colour bar: for directed edges, and for pairs.
_LABELS = {
    "weight": ("standardised weight", ""),
    "probability": ("probability of the edge", "probability that they are joined"),
    "support": ("support of the edge", "support of either direction"),
}


class EdgeHeatMapDisplay(Display):
    """A number for each edge as a heat map: its probability, its support, or its weight.

    A row is a parent, a column a child. The more probable an edge is, the bluer is its cell; a
    weight is blue if it is positive and orange if it is negative, and there is none where the cell
    is empty. Nodes are in an order in which probable parents come before their children, so that
    most probable edges, and all weights of a network, are above the diagonal. Two filled cells
    opposite each other show a direction that the data leave open.

    Use `from_estimator` to make one of what was fitted. Needs matplotlib (``pip install -e
    ".[plot]"``).

    Parameters
    ----------
    values : array-like of shape (m, m) or pandas.DataFrame
        At [i, j], the number of the edge i -> j: a probability from 0 to 1, or a weight, which is
        NaN where there is no edge. The diagonal is not used. The rows and columns of a data frame
        have the same names, in any order.
    names : sequence of m names, optional
        By default the names in the data frame, or the numbers from 0.
    order : {"parents-first", "given"} or list of names, default="parents-first"
        The order of rows and columns. A list may leave columns out. "parents-first" takes the
        column with the fewest expected parents among the columns left, again and again.
    measure : {"probability", "support", "weight"}, default="probability"
        What the numbers are: posterior probabilities, shares of resamples as in a bootstrap, or
        standardised weights.

    Attributes
    ----------
    nodes : list
        In the order of rows and columns.
    values : ndarray of shape (m, m), float64
        In the same order; NaN on the diagonal.
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    im_ : matplotlib.image.AxesImage

    Raises
    ------
    ValueError
        If the array is not square, or a probability is not a number from 0 to 1; if there is not
        one name for each column, or no such order or measure.

    Examples
    --------
    >>> from skbn import EdgeHeatMapDisplay
    >>> probabilities = [[0, 0.1, 0], [0.8, 0, 0.3], [0, 0.6, 0]]
    >>> display = EdgeHeatMapDisplay(probabilities, ["a", "b", "c"]).plot()
    >>> display.nodes
    ['c', 'b', 'a']
    """

    def __init__(
        self,
        values: Any,
        names: Names | None = None,
        *,
        order: Any = "parents-first",
        measure: str = "probability",
    ) -> None:
        if measure not in _LABELS:
            raise ValueError(must_be("measure", "'probability', 'support' or 'weight'", measure))
        values, nodes = appearance.square_array(values, names)
        if measure != "weight":
            values = appearance.checked_probabilities(values, nodes)
        places = _places(~np.isnan(values) if measure == "weight" else values, nodes, order)
        self.nodes = [nodes[place] for place in places]
        self.values = values[np.ix_(places, places)]
        self._measure = measure

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        measure: str | None = None,
        ax: Any = None,
        order: Any = "parents-first",
        **options: Any,
    ) -> Self:
        """Draw the probabilities of a posterior, the support of a bootstrap, or weights.

        Parameters
        ----------
        estimator : fitted posterior, bootstrap or learner, or GaussianBayesianNetwork
            Or a pipeline that ends with one, or a search such as GridSearchCV over one.
        measure : {"probability", "support", "weight"}, optional
            By default what the estimator has, the first of these. Weights are the standardised ones
            of `GaussianBayesianNetwork.to_frame`, with a row and a column for each column of a
            category; those of a posterior are of its median network.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.
        order : {"parents-first", "given"} or list of names, default="parents-first"
            As for the class.
        **options
            Options of `plot`.

        Returns
        -------
        display : EdgeHeatMapDisplay

        Raises
        ------
        TypeError, ValueError, ImportError
            If it is another estimator or has no such numbers, and as for the class and `plot`.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import EdgeHeatMapDisplay, GaussianBNLearner
        >>> learner = GaussianBNLearner().fit(load_wine(as_frame=True).data)
        >>> EdgeHeatMapDisplay.from_estimator(learner).nodes[:3]
        ['ash', 'magnesium', 'proline']
        """
        arrays = {"probability": "edge_probabilities_", "support": "edge_support_"}
        step = fitted_step(estimator, (*arrays.values(), "dag_", "dag"), _EXPECTED)
        if measure is None:
            known = (name for name, attribute in arrays.items() if hasattr(step, attribute))
            measure = next(known, "weight")
        if measure == "weight":
            values, names = _weights_of(estimator)
        elif measure in arrays and hasattr(step, arrays[measure]):
            values, names = getattr(step, arrays[measure]), fitted_network(step).nodes
        else:
            raise ValueError(f"{type(step).__name__} has no {measure} of edges; leave measure out.")
        return cls(values, names, order=order, measure=measure).plot(ax=ax, **options)

    def plot(
        self, *, ax: Any = None, numbers: bool | None = None, either_way: bool = False
    ) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.
        numbers : bool, optional
            Whether to write the numbers into the cells, except probabilities that would read 0.00.
            By default they are written for up to 20 columns.
        either_way : bool, default=False
            Whether to draw the probability, or the support, of an edge between two columns,
            whatever its direction: the sum over both directions. The map is symmetric then.

        Returns
        -------
        display : EdgeHeatMapDisplay
            Itself.

        Raises
        ------
        TypeError, ValueError
            If `ax` is something else; if `either_way` is set for weights, or the probabilities of
            both directions exceed 1 in sum.
        """
        self._require_matplotlib()
        from matplotlib import rcParams
        from matplotlib.colors import LinearSegmentedColormap

        values, m, is_weight = self.values, len(self.nodes), self._measure == "weight"
        if either_way:
            if is_weight:
                raise ValueError("either_way sums probabilities, and not weights; leave it out.")
            values = appearance.joined_probabilities(values, self.nodes)
        names = [_name(node) for node in self.nodes]
        font_size = float(rcParams["font.size"])
        room = max(text_width(line, font_size) for name in names for line in name.split("\n"))
        side = m * _CELL * font_size + room
        figsize = (side + _ROOM[0] * font_size) / 72, (side + _ROOM[1] * font_size) / 72
        ax = self._own_axes(ax, figsize)
        style, label = appearance.style_for(ax), _LABELS[self._measure][int(either_way)]
        colours, limits = [style.ground, style.positive], (0.0, 1.0)
        if is_weight:
            largest = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
            colours, limits = [style.negative, *colours], (-largest, largest)
        image = ax.imshow(
            values,
            cmap=LinearSegmentedColormap.from_list(label, colours),
            vmin=limits[0],
            vmax=limits[1],
            origin="upper",
        )
        ax.set_facecolor(style.ground)
        ax.set_xticks(range(m), names, rotation=90, parse_math=False, usetex=False)
        ax.set_yticks(range(m), names, parse_math=False, usetex=False)
        ax.set(xlabel="" if either_way else "child", ylabel="" if either_way else "parent")
        ax.set_xticks(np.arange(m - 1) + 0.5, minor=True)
        ax.set_yticks(np.arange(m - 1) + 0.5, minor=True)
        ax.grid(visible=False, which="major")
        ax.grid(which="minor", color=style.border, linewidth=0.3)
        ax.tick_params(which="both", length=0)
        ax.figure.colorbar(image, ax=ax, label=label, shrink=0.7)
        for row, column in np.argwhere(~np.isnan(values)):
            text = appearance.readable_weight(values[row, column])
            has_text = m <= _LARGEST_WITH_NUMBERS if numbers is None else numbers
            if has_text and (is_weight or text != "0.00"):
                is_strong = abs(values[row, column]) > 0.6 * limits[1]
                ax.text(
                    column,
                    row,
                    text,
                    ha="center",
                    va="center",
                    fontsize="x-small",
                    color=style.ground if is_strong else style.text,
                )
        self.im_ = image
        return self._drawn_on(ax=ax)


def _name(node: Any) -> str:
    name = printable(str(node))
    return name if len(name) <= _LONGEST_NAME else "\n".join(broken_into_lines(name))


def _weights_of(estimator: Any) -> tuple[Floats, list[Any]]:
    """Return the standardised weights of a fitted network's edges, and the names of its columns."""
    network, graph = fitted_network(estimator), fitted_graph(estimator)
    if is_parametrised(graph):
        weights: Any = appearance.strengths_of(graph).weights.items()
    elif hasattr(network, "_blocks") and not network._blocks.are_columns:
        graph, (table, _) = network.columns_.dag, network._edge_columns(confidence=None)
        ends = zip(table["parent"], table["child"], strict=True)
        weights = zip(ends, table["standardised_weight"], strict=True)
    else:
        raise ValueError("The network has no parameters, so its edges have no weights. Fit it.")
    number = {node: i for i, node in enumerate(graph)}
    values = np.full((len(number), len(number)), np.nan)
    for (parent, child), weight in weights:
        values[number[parent], number[child]] = weight
    return values, list(graph)


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
    n_parents = np.nansum(values, axis=0, dtype=float)
    places: list[int] = []
    for _ in range(len(values)):
        places.append(place := int(n_parents.argmin()))
        n_parents -= np.nan_to_num(values[place])
        n_parents[place] = np.inf
    return places

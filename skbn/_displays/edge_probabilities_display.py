"""EdgeProbabilitiesDisplay: the probabilities of edges as a heat map."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.columns import named_nodes
from skbn._core.text import readable_value
from skbn._displays.edge_measures import (
    joined_probabilities,
    probability_array,
    readable_probability,
)
from skbn._displays.fitted import fitted_step
from skbn._displays.heat_map import LARGEST_WITH_NUMBERS, HeatMapDisplay

_EXPECTED = (
    "a GaussianBNPosterior or a BootstrapBNLearner, or a pipeline or a search that ends with one"
)
# What colour bars say that the numbers are, of edges and of pairs.
_LABELS = {
    "probability": ("probability of the edge", "probability that they are joined"),
    "support": ("support of the edge", "support of either direction"),
}


class EdgeProbabilitiesDisplay(HeatMapDisplay):
    """The probabilities of all edges, or their support, as a heat map.

    A row is a parent, a column a child. The more probable an edge is, the bluer is its cell. Nodes
    are in an order in which probable parents come before their children, so that most probable
    edges are above the diagonal. A cell below it that is not empty, opposite one that is not empty
    either, shows a direction that the data leave open.

    Use `from_estimator` or `from_probabilities` to make one. Needs matplotlib (``pip install
    -e ".[plot]"``).

    Parameters
    ----------
    probabilities : array-like of shape (m, m) or pandas.DataFrame
        At [i, j], the probability of the edge i -> j, from 0 to 1. The diagonal is not used. The
        rows and columns of a data frame have the same names, in any order.
    names : sequence of m names, optional
        By default those of the data frame, or the numbers from 0.
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
        names: Sequence[Hashable] | None = None,
        *,
        order: Any = "parents-first",
        measure: str = "probability",
    ) -> None:
        if measure not in _LABELS:
            raise ValueError(
                f"measure must be 'probability' or 'support'; got {readable_value(measure)}."
            )
        values, nodes = probability_array(probabilities, names)
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
        names: Sequence[Hashable] | None = None,
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
        self._require_matplotlib()
        values = self.probabilities
        if either_way:
            values = joined_probabilities(values, self.nodes)
        if numbers is None:
            numbers = len(self.nodes) <= LARGEST_WITH_NUMBERS
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
    """Return the number in a cell; most are almost 0 and stay empty, so that others stand out."""
    text = readable_probability(probability)
    return "" if text == "0.00" else text


def _places(values: Floats, nodes: list[Any], order: Any) -> list[int]:
    """Return the numbers of the columns in the order in which they are shown."""
    if isinstance(order, str):
        if order == "given":
            return list(range(len(nodes)))
        if order == "parents-first":
            return _parents_first(values)
        raise ValueError(
            "order must be 'parents-first', 'given' or a list of names; got "
            f"{readable_value(order)}."
        )
    chosen, _ = named_nodes(order, nodes, "order")
    return [nodes.index(node) for node in chosen]


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

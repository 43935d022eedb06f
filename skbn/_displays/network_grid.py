"""NetworkGridDisplay: several networks side by side, with the nodes at the same places."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self, Unpack

import networkx as nx
import numpy as np

from skbn._core.estimator import Interval, check_values
from skbn._core.graphs import check_same_nodes
from skbn._displays.appearance import style_for
from skbn._displays.composition import SMALL_TEXT, LegendRow, place_legend
from skbn._displays.display import Display, fitted_class, fitted_graph
from skbn._displays.layout.layered import Layout
from skbn._displays.network_display import NetworkDisplay, union
from skbn._displays.plot_options import PlotOptions, checked_size

_WIDEST = 936.0  # points of a new figure, where text can be read at that size
_SMALLEST = 0.75  # the least scale of a panel, at which labels can be read
_NARROWEST = 130.0  # points of a panel, in which its title has room
# Points: room above a panel, between panels, and for a legend below.
_TITLE, _GAP, _LEGEND = 24.0, 12.0, 84.0
_OF_PLACES = ("orientation", "pos", "tiers")  # options that say where nodes stand


class NetworkGridDisplay(Display):
    """Several networks on the same nodes as small multiples: each node has the same place in all.

    Use `from_networks` to make one, or `NearOptimalNetworks.plot`. Needs matplotlib (``pip install
    -e ".[plot]"``).

    Parameters
    ----------
    graphs : sequence of networkx.DiGraph
        As `dag` of `NetworkDisplay`, on the same nodes in any order.

    Attributes
    ----------
    displays : list of NetworkDisplay
        One for each network.
    axes_ : ndarray of matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Raises
    ------
    TypeError, ValueError
        If there are no graphs, or they do not have the same nodes; as for `NetworkDisplay`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import GaussianBNLearner, NetworkGridDisplay
    >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
    >>> learners = [GaussianBNLearner(penalty=k).fit(wine) for k in (1, 4)]
    >>> titles = "penalty 1", "penalty 4"
    >>> display = NetworkGridDisplay.from_networks(learners, titles=titles)
    >>> [ax.get_title() for ax in display.axes_]
    ['penalty 1', 'penalty 4']
    """

    def __init__(self, graphs: Sequence[nx.DiGraph]) -> None:
        self.displays = [NetworkDisplay(graph) for graph in graphs]
        if not self.displays:
            raise ValueError("There are no networks to draw; give one or more.")
        for each in self.displays[1:]:
            check_same_nodes(self.displays[0].dag, each.dag, names=("the first", "another network"))

    @classmethod
    def from_networks(cls, networks: Sequence[Any], *, cpdag: bool = False, **options: Any) -> Self:
        """Draw networks side by side.

        Parameters
        ----------
        networks : sequence of networkx.DiGraph, GaussianBayesianNetwork or fitted learner
        cpdag : bool, default=False
            Whether to draw edges without an arrowhead if the data do not tell their direction.
        **options
            `titles`, `axes`, `n_columns` and the other options of `plot`.

        Returns
        -------
        display : NetworkGridDisplay
        """
        read = fitted_class if cpdag else fitted_graph
        graphs = [each if isinstance(each, nx.Graph) else read(each) for each in networks]
        return cls(graphs).plot(**options)

    def plot(
        self,
        *,
        titles: Sequence[str] | None = None,
        axes: Any = None,
        n_columns: int = 3,
        **options: Unpack[PlotOptions],
    ) -> Self:
        """Draw the networks.

        Parameters
        ----------
        titles : sequence of str, optional
            What to write above each network.
        axes : sequence of matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure, with one legend.
        n_columns : int, default=3
            The most networks side by side in a new figure.
        **options
            Options of `NetworkDisplay.plot`; `figsize` is that of the whole figure.

        Returns
        -------
        display : NetworkGridDisplay
            Itself.

        Raises
        ------
        TypeError, ValueError
            As `NetworkDisplay.plot`; if there are not as many titles or axes as networks.
        """
        self._require_matplotlib()
        from matplotlib import pyplot

        n = len(self.displays)
        for name, given in (("titles", titles), ("axes", axes)):
            if given is not None and (isinstance(given, str) or np.size(given) != n):
                raise ValueError(f"{name} must be {n}, one for each network; got {given!r}.")
        check_values("plot", {"n_columns": [Interval(Integral, 1, None, closed="left")]}, locals())
        figsize = checked_size(options.pop("figsize", None), axes)
        base = NetworkDisplay(union(*(each.dag for each in self.displays)))
        of_places: Any = {k: v for k, v in options.items() if k in (*_OF_PLACES, "only")}
        base.plot(**of_places)
        pyplot.close(base.figure_)
        own: Any = {k: v for k, v in options.items() if k not in _OF_PLACES}
        size = 72 * base.figure_.get_size_inches()
        new = [] if axes is not None else _panels(n, min(n_columns, n), size, figsize)
        axes = np.ravel(new[:n] or axes)
        for each, ax, title in zip(self.displays, axes, titles or [""] * n, strict=True):
            each.plot(ax=ax, pos=base, **own)
            ax.set_title(str(title), color=style_for(ax).text)
        for ends in ("xlim", "ylim"):  # labels may need more room in some panels
            found = np.array([getattr(ax, f"get_{ends}")() for ax in axes])
            for ax in axes:
                getattr(ax, f"set_{ends}")(found[:, 0].min(), found[:, 1].max())
        for below in new[n:]:
            self._draw_legend(below)
        return self._drawn_on(axes=axes)

    def _draw_legend(self, ax: Any) -> None:
        """Explain below all networks what their pictures use."""
        from skbn._displays.picture import Canvas

        rows: dict[str, dict[str, Any]] = {}
        pictures: Any = [each._picture for each in self.displays]
        for title, entries in (row for each in pictures for row in each.legend_rows()):
            rows.setdefault(title, {}).update((text, look) for look, text in entries)
        merged = [LegendRow(title, [(v, k) for k, v in own.items()]) for title, own in rows.items()]
        width = 72 * ax.figure.get_figwidth()
        legend, _ = place_legend(merged, 0.0, width, 0.0, SMALL_TEXT * pictures[0].font_size)
        canvas = Canvas(ax)
        canvas.draw_legend(legend, style_for(ax))
        canvas.finish(Layout({}, {}, (0.0, width, -legend.height, 0.0)))


def _panels(n: int, n_columns: int, size: Any, figsize: Any) -> list[Any]:
    """Return axes of a new figure for n pictures of a size in points, and for a legend below."""
    from matplotlib import pyplot

    scale = min(1.0, max(_WIDEST / (n_columns * size[0]), _SMALLEST))
    width, height = max(scale * size[0], _NARROWEST) + _GAP, scale * size[1] + _TITLE
    n_rows = -(-n // n_columns)
    whole = n_columns * width / 72, (n_rows * height + _LEGEND) / 72
    if figsize is not None:
        whole = figsize[0], figsize[1] or whole[1] * figsize[0] / whole[0]
    figure = pyplot.figure(figsize=whole, layout="constrained")
    ratios = [height] * n_rows + [_LEGEND]
    grid = figure.add_gridspec(n_rows + 1, n_columns, height_ratios=ratios)
    places = [*(grid[divmod(i, n_columns)] for i in range(n)), grid[-1, :]]
    return [figure.add_subplot(place) for place in places]

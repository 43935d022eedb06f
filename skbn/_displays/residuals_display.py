"""ResidualsDisplay: how Gaussian the residuals of a network are, column by column."""

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, norm, skew

from skbn._core.arrays import Floats
from skbn._core.columns import named_nodes
from skbn._displays.appearance import Style, style_for
from skbn._displays.display import Display, check_axes, fitted_network_and_table, new_panels
from skbn._displays.labels import broken_into_lines

_PANEL = 2.1, 1.9  # width and height in inches
_PAIRS_A_ROW = {3: 1, 10: 2}  # 1 pair for at most 3 columns, 2 for at most 10, 3 for more
_MOST_POINTS = 2000  # drawn for each column: more would overlap and make files large
_EXTREMES = 25  # points at either end that are always drawn
_BAND = 0.95  # probability of the grey band
# The line through the residuals: rows that each mean is of, at least, and its number of means.
_ROWS_A_MEAN, _MOST_MEANS = 25, 20


class ResidualsDisplay(Display):
    """Residuals of a network's columns: their normal quantiles, and against fitted values.

    Two panels show the residuals of a column in units of its noise's standard deviation.
    The left panel plots them against the quantiles of a normal distribution. They should lie
    close to the line and mostly within the grey band, which contains 95 % of a normal sample at
    each place. A curve means that they are skewed, an S that there are too many large ones. The
    right panel plots them against what the parents predict, or against the row's number for
    columns without parents. The cloud should be level and equally wide everywhere. The coloured
    line joins the means of neighbouring points; if it bends, a parent's effect is not linear.

    If there are more than 2000 rows, each panel shows the 25 smallest and the 25 largest
    residuals, and others evenly spread over their ranks. The line of means uses all rows.

    Use `from_estimator` to make one. Needs matplotlib (``pip install -e ".[plot]"``).

    Parameters
    ----------
    network : GaussianBayesianNetwork
    X : array-like or data frame of shape (n_samples, m), or LocalScores
        As in `GaussianBayesianNetwork.residuals`; each row counts once.
    columns : node or list of nodes, optional
        Which nodes to show; by default all that are modelled, but for categories.

    Attributes
    ----------
    columns : list of k nodes, or of the columns of nodes that have several
    parents : list of k lists of the same
    residuals : ndarray of shape (n_samples, k), float64
        Divided by the standard deviation of the column's noise.
    fitted : ndarray of shape (n_samples, k), float64
        What the parents predict, in the columns' units.
    axes_ : ndarray of shape (k, 2) of matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Raises
    ------
    TypeError, ValueError
        If X is not such a table; if there is no such node, or it is a category or exogenous, or
        has no noise, as after `do`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import GaussianBNLearner, ResidualsDisplay
    >>> wine = load_wine(as_frame=True).data
    >>> learner = GaussianBNLearner().fit(wine)
    >>> display = ResidualsDisplay.from_estimator(learner, wine, columns=["hue", "ash"])
    >>> display.parents[1], display.residuals.shape
    ([], (178, 2))
    """

    def __init__(self, network: Any, X: Any, *, columns: Any = None) -> None:
        nodes, of_columns, levels = network.nodes, network.columns_, network._blocks.levels
        reasons = dict.fromkeys(levels, "a category, so it has no Gaussian residuals")
        reasons |= dict.fromkeys(network.exogenous, "exogenous, so it has no residuals")
        chosen: list[Hashable] = [node for node in nodes if node not in reasons]
        if columns is not None:
            chosen, _ = named_nodes(columns, nodes, "columns")
        for node in chosen:
            if node in reasons:
                raise ValueError(f"Node {node!r} is {reasons[node]}. Leave it out of columns.")
        self.columns: list[Hashable] = [name for node in chosen for name in network.nodes_[node]]
        if not self.columns:
            raise ValueError(
                "No node has Gaussian residuals: all are categories or exogenous. Fit a network "
                "with columns of numbers."
            )
        numbers = [of_columns.nodes.index(name) for name in self.columns]
        deviation = np.sqrt(network.noise_variance_[numbers])
        held = [node for node, s in zip(self.columns, deviation, strict=True) if s == 0]
        if held:
            raise ValueError(
                f"Node {held[0]!r} has no noise (as after do), so it has no residuals. Leave it "
                "out of columns."
            )
        residuals = np.asarray(network.residuals(X))[:, numbers]
        rows = network._rows_of(X, may_miss=False)[:, numbers]
        graph = of_columns._structure()
        self.parents = [list(graph.predecessors(name)) for name in self.columns]
        self.fitted = rows - residuals
        self.residuals = residuals / deviation

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, columns: Any = None, axes: Any = None
    ) -> Self:
        """Draw the residuals of a network: a learner's, or a posterior's median network.

        Parameters
        ----------
        estimator : fitted learner, GaussianBNPosterior or GaussianBayesianNetwork
            Or a pipeline that ends with one, or a search such as GridSearchCV over one.
        X : array-like or data frame of shape (n_samples, n_features), or LocalScores
            What the estimator takes, such as the table of `fit` or held-out rows. The steps of a
            pipeline transform it.
        columns : node or list of nodes, optional
            As for the class.
        axes : array-like of shape (k, 2) of matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        display : ResidualsDisplay

        Raises
        ------
        TypeError, ValueError, ImportError
            If it is another estimator, and as for the class and `plot`.
        """
        network, table = fitted_network_and_table(estimator, X)
        return cls(network, table, columns=columns).plot(axes=axes)

    def plot(self, *, axes: Any = None) -> Self:
        """Draw two panels for each column.

        Parameters
        ----------
        axes : array-like of shape (k, 2) of matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        display : ResidualsDisplay
            Itself.

        Raises
        ------
        ValueError, TypeError
            If there are not two axes for each column, or one of them is something else.
        """
        self._require_matplotlib()
        k = len(self.columns)
        if axes is None:
            n_pairs = next((n for most, n in _PAIRS_A_ROW.items() if k <= most), 3)
            axes = new_panels(2 * k, 2 * n_pairs, _PANEL).reshape(-1, 2)[:k]
            for left, right in axes:
                right.sharey(left)
                right.tick_params(labelleft=False)
        axes = np.asarray(axes, dtype=object)
        if axes.shape != (k, 2):
            raise ValueError(
                f"axes must be of shape ({k}, 2), two for each column; got {axes.shape}."
            )
        for ax in axes.flat:
            if ax is None:
                raise TypeError("axes must be matplotlib.axes.Axes; one is None.")
            check_axes(ax)
        style = style_for(axes[0, 0])
        for v, (left, right) in enumerate(axes):
            self._draw_quantiles(v, left, style)
            self._draw_fitted(v, right, style)
        return self._drawn_on(axes=axes)

    def _draw_quantiles(self, v: int, ax: Any, style: Style) -> None:
        residuals = np.sort(self.residuals[:, v])
        n = len(residuals)
        shown = _thinned(n)
        normal = norm.ppf((shown + 0.5) / n)
        # The order statistics of a uniform sample have beta distributions.
        ends = beta.ppf([[(1 - _BAND) / 2], [(1 + _BAND) / 2]], shown + 1, n - shown)
        low, high = norm.ppf(ends)
        ax.fill_between(normal, low, high, color=style.neutral, alpha=0.25, linewidth=0)
        ax.plot(normal, normal, color=style.neutral, linewidth=1)
        _draw_points(ax, normal, residuals[shown], style)
        title = "\n".join(broken_into_lines(str(self.columns[v])))
        ax.set_title(title, loc="left", parse_math=False, usetex=False)
        ax.set(xlabel="normal quantile", ylabel="residual / s.d.")
        centred = residuals - residuals.mean()
        if centred.any():
            skewness = round(skew(centred), 1) + 0.0  # avoids -0.0
            place = {"transform": ax.transAxes, "va": "top", "fontsize": "small"}
            ax.text(0.04, 0.96, f"skewness {skewness:.1f}", color=style.text, **place)

    def _draw_fitted(self, v: int, ax: Any, style: Style) -> None:
        residuals = self.residuals[:, v]
        n = len(residuals)
        has_parents = bool(self.parents[v])
        x = self.fitted[:, v] if has_parents else np.arange(n, dtype=np.float64)
        shown = np.argsort(residuals, kind="stable")[_thinned(n)]
        ax.axhline(0, color=style.neutral, linewidth=1)
        _draw_points(ax, x[shown], residuals[shown], style)
        n_means = min(n // _ROWS_A_MEAN, _MOST_MEANS)
        if n_means > 2:
            parts = np.array_split(np.argsort(x, kind="stable"), n_means)
            means = [(x[part].mean(), residuals[part].mean()) for part in parts]
            ax.plot(*np.transpose(means), color=style.negative, linewidth=2)
        ax.set(xlabel="fitted" if has_parents else "row (no parents)")


def _draw_points(ax: Any, x: Floats, y: Floats, style: Style) -> None:
    alpha = float(np.clip(30 / np.sqrt(len(x)), 0.35, 0.8))
    ax.plot(x, y, "o", markersize=3, markeredgewidth=0, alpha=alpha, color=style.positive)


def _thinned(n: int) -> npt.NDArray[np.intp]:
    """Return which ranks of n values to draw: the extremes, and others at equal distances."""
    if n <= _MOST_POINTS:
        return np.arange(n)
    middle = np.linspace(_EXTREMES, n - 1 - _EXTREMES, _MOST_POINTS - 2 * _EXTREMES)
    return np.r_[:_EXTREMES, np.round(middle).astype(np.intp), n - _EXTREMES : n]

"""What all displays share: Display, and how they find the graph of what was fitted."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Self

import networkx as nx
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skbn._core.graphs import exogenous_nodes


class Display:
    """Draws with matplotlib in `plot`, and keeps the axes and the figure.

    A derived class begins `plot` by `_require_matplotlib` and ends it by `_drawn_on`.
    """

    ax_: Any
    axes_: Any
    figure_: Any

    def _require_matplotlib(self) -> None:
        """Raise an ImportError that says how to install matplotlib, which is optional."""
        if find_spec("matplotlib") is None:
            raise ImportError(
                f"{type(self).__name__}.plot requires matplotlib. You can install it with "
                "`pip install matplotlib`."
            )

    def _own_axes(self, ax: Any, figsize: tuple[float, float]) -> Any:
        """Return the axes to draw on, or the axes of a new figure of this size in inches."""
        self._require_matplotlib()
        check_axes(ax)
        return new_panels(1, 1, figsize)[0, 0] if ax is None else ax

    def _drawn_on(self, *, ax: Any = None, axes: Any = None) -> Self:
        """Keep one axes or an array of several, with their figure; return the display."""
        if axes is None:
            self.ax_, self.figure_ = ax, ax.figure
        else:
            self.axes_, self.figure_ = axes, axes.flat[0].figure
        return self


def new_panels(n: int, n_columns: int, size: tuple[float, float]) -> Any:
    """Return the grid of axes of a new figure, n of which are there, each of a size in inches."""
    from matplotlib import pyplot

    n_rows = -(-n // n_columns)
    figsize = n_columns * size[0], n_rows * size[1]
    figure, grid = pyplot.subplots(
        n_rows, n_columns, figsize=figsize, layout="constrained", squeeze=False
    )
    for ax in [*grid.flat][n:]:
        figure.delaxes(ax)
    return grid


def check_axes(ax: Any) -> None:
    """Raise a TypeError unless a picture can be drawn on these axes, or they are None."""
    from matplotlib.axes import Axes

    if not (ax is None or (isinstance(ax, Axes) and ax.name != "3d")):
        raise TypeError(f"ax must be one matplotlib.axes.Axes in a plane; got {type(ax).__name__}.")


# What estimators of networks, and networks, have.
_GRAPHS = ("dag_", "dag")
_EXPECTED = (
    "a learner, a GaussianBNPosterior, a GaussianBayesianNetwork, or a pipeline or a search that "
    "ends with one"
)


def fitted_graph(estimator: Any) -> nx.DiGraph:
    """Return the graph of a fitted estimator, with parameters if there are any.

    Raises sklearn.exceptions.NotFittedError if the estimator is not fitted; TypeError if it does
    not estimate networks.
    """
    step = fitted_step(estimator, _GRAPHS, _EXPECTED)
    graph = getattr(_network(step), "dag", None)
    return step.dag_ if graph is None else graph


def fitted_network(estimator: Any) -> Any:
    """Return the network of a fitted estimator; raises as `fitted_graph`."""
    return _network(fitted_step(estimator, _GRAPHS, _EXPECTED))


def fitted_class(estimator: Any) -> nx.DiGraph:
    """Return the graph of a fitted estimator, with edges marked `undirected` as in its CPDAG.

    Raises sklearn.exceptions.NotFittedError if the estimator is not fitted; TypeError if it does
    not estimate networks.
    """
    graph = fitted_graph(estimator).copy()
    pattern = fitted_network(estimator).cpdag()
    for a, b, is_undirected in pattern.edges(data="undirected"):
        # The pattern may have an undirected edge the other way round.
        edge = (a, b) if graph.has_edge(a, b) else (b, a)
        graph.edges[edge]["undirected"] = is_undirected
    return graph


def add_score_losses(graph: nx.DiGraph, estimator: Any) -> None:
    """Set the attribute `score_loss` of a graph's edges from the table of a fitted network.

    It stays as it is if an edge has it, or if the network does not know it.
    """
    network = fitted_network(estimator)
    if any("score_loss" in data for _, _, data in graph.edges(data=True)):
        return
    table, edges = network._edge_columns(confidence=None)
    for edge, loss in zip(edges, table.get("score_loss", []), strict=False):
        graph.edges[edge]["score_loss"] = loss


def fitted_tiers(estimator: Any) -> Any:
    """Return the tiers that a fitted learner, or the learner inside a bootstrap, was given.

    Exogenous nodes that no tier names come first.
    """
    step = fitted_step(estimator, _GRAPHS, _EXPECTED)
    graph = fitted_graph(step)
    tiers = getattr(step, "tiers", None)
    if tiers is None:
        tiers = getattr(getattr(step, "estimator", None), "tiers", None)
    outside = exogenous_nodes(graph)
    if not outside:
        return tiers
    if tiers is None:
        return {"exogenous": outside, "modelled": ...}
    titled = tiers
    if not isinstance(tiers, Mapping):
        titled = {f"tier {i + 1}": tier for i, tier in enumerate(tiers)}
    nodes, named = list(graph), [v for tier in titled.values() if tier is not ... for v in tier]
    left = [v for v in outside if v not in named and nodes.index(v) not in named]
    return {"exogenous": left, **titled} if left else tiers


def fitted_network_and_table(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the network of a fitted estimator, and a table transformed for it.

    The steps of a pipeline before the learner transform the table.

    Raises sklearn.exceptions.NotFittedError if the estimator is not fitted; TypeError if it does
    not estimate networks.
    """
    step = fitted_step(estimator, _GRAPHS, _EXPECTED)
    while estimator is not step:
        if isinstance(estimator, Pipeline):
            X = estimator[:-1].transform(X) if len(estimator) > 1 else X
            estimator = estimator[-1]
        else:
            estimator = estimator.best_estimator_
    return _network(step), X


def _network(step: Any) -> Any:
    """Return a learner's network_, a posterior's median_network_, or the network itself."""
    network = getattr(step, "network_", getattr(step, "median_network_", step))
    if network is step and not hasattr(step, "dag"):
        check_is_fitted(step)
    return network


def fitted_step(estimator: Any, names: tuple[str, ...], expected: str) -> Any:
    """Return the last step or the best estimator that has one of some attributes."""
    while not any(
        hasattr(type(estimator), name) or name in getattr(estimator, "__dict__", {})
        for name in names
    ):
        if hasattr(estimator, "fit"):
            check_is_fitted(estimator)
        if isinstance(estimator, Pipeline):
            estimator = estimator[-1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif getattr(estimator, "refit", True) is False:
            raise TypeError(
                f"estimator must be {expected}; this {type(estimator).__name__} has refit=False "
                "and keeps no estimator. Pass refit=True."
            )
        else:
            raise TypeError(f"estimator must be {expected}; got {type(estimator).__name__}.")
    return estimator

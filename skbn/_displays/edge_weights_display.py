"""EdgeWeightsDisplay: the weights of a network's edges as a heat map."""

from __future__ import annotations

from typing import Any, Self

import networkx as nx
import numpy as np

from skbn._core.graphs import check_dag, is_parametrised
from skbn._displays.edge_measures import readable_weight, strengths_of
from skbn._displays.fitted import fitted_graph
from skbn._displays.heat_map import LARGEST_WITH_NUMBERS, HeatMapDisplay


class EdgeWeightsDisplay(HeatMapDisplay):
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

        For a posterior, this is its median network.

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
        self._require_matplotlib()
        largest = np.nanmax(np.abs(self.weights), initial=0.0) or 1.0
        return self._draw_heat_map(
            self.weights,
            ax=ax,
            colours=("negative", "ground", "positive"),
            limits=(-largest, largest),
            label="standardised weight",
            text_of=readable_weight if len(self.nodes) <= LARGEST_WITH_NUMBERS else None,
        )

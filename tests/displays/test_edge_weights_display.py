import networkx as nx
import numpy as np
import pytest
from drawn import weighted
from sklearn.preprocessing import scale

from skbn import EdgeWeightsDisplay, GaussianBayesianNetwork


def test_weights_are_the_standardised_coefficients(wine, learner):
    dag = learner.dag_
    unscaled = GaussianBayesianNetwork(nx.DiGraph(dag)).fit(wine)
    scaled = GaussianBayesianNetwork(nx.DiGraph(dag)).fit(scale(wine.to_numpy()))
    display = EdgeWeightsDisplay.from_estimator(unscaled)
    number = {node: i for i, node in enumerate(dag)}
    order = [number[node] for node in display.nodes]
    coef = scaled.coef_[np.ix_(order, order)]
    is_edge = nx.to_numpy_array(dag, nodelist=display.nodes, weight=None) > 0
    assert (np.isnan(display.weights) == ~is_edge).all()
    # Standardised by the deviations that the network implies, which are near the data's.
    assert display.weights[is_edge] == pytest.approx(coef[is_edge], abs=0.05)


def test_parents_come_before_children():
    dag = weighted("abcd", [("d", "a", 1.0), ("c", "b", -1.0)])
    display = EdgeWeightsDisplay.from_graph(dag)
    assert display.nodes == ["c", "b", "d", "a"]
    assert np.isnan(np.tril(display.weights)[np.tril_indices(4)]).all()
    assert display.weights[0, 1] == pytest.approx(-np.sqrt(0.5))
    assert display.weights[2, 3] == pytest.approx(np.sqrt(0.5))


def test_picture_has_names_and_numbers():
    display = EdgeWeightsDisplay(weighted(["$a_b$", "c"], [("$a_b$", "c", 2.0)])).plot()
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["$a_b$", "c"]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["$a_b$", "c"]
    assert [text.get_text() for text in display.ax_.texts] == ["0.89"]
    low, high = display.im_.get_clim()
    assert -low == high == pytest.approx(2 / np.sqrt(5))
    display.figure_.draw_without_rendering()


def test_network_without_edges_and_given_axes():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    display = EdgeWeightsDisplay.from_graph(weighted("ab"), ax=ax)
    assert display.ax_ is ax
    assert np.isnan(display.weights).all()
    display.figure_.draw_without_rendering()


def test_picture_does_not_depend_on_styles_for_other_plots():
    import matplotlib

    dag = weighted(["a\0", "b" * 60], [("a\0", "b" * 60, 2.0)])
    style = {"axes.grid": True, "image.origin": "lower", "axes.facecolor": "black"}
    with matplotlib.rc_context(style):
        display = EdgeWeightsDisplay.from_graph(dag)
        display.figure_.draw_without_rendering()
    bottom, top = display.ax_.get_ylim()
    assert bottom > top  # the first row stands above
    assert display.ax_.get_facecolor()[:3] == (1, 1, 1)
    assert not any(line.get_visible() for line in display.ax_.get_xgridlines())
    assert display.ax_.get_xticklabels()[0].get_text() == r"a\x00"


def test_weights_out_of_nodes_that_are_held_are_not_known():
    held = GaussianBayesianNetwork(weighted("ab", [("a", "b", 2.0)])).do({"a": 1.0})
    assert np.isnan(EdgeWeightsDisplay.from_estimator(held).weights).all()


def test_graphs_without_weights_are_refused():
    with pytest.raises(ValueError, match=r"no parameters.*Fit a GaussianBayesianNetwork"):
        EdgeWeightsDisplay.from_graph(nx.DiGraph([("a", "b")]))
    with pytest.raises(TypeError, match=r"must be a networkx\.DiGraph"):
        EdgeWeightsDisplay.from_graph(np.eye(2))

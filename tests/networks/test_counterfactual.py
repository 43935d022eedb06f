"""Rows as they would have been, had nodes been set to other values."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skbn import GaussianBayesianNetwork
from skbn.datasets import make_gaussian_network

pd = pytest.importorskip("pandas")

seeds = st.integers(0, 10**6)
numbers = st.floats(-1e3, 1e3)


def network_and_rows(seed, n=4):
    rows, network = make_gaussian_network(5, mean_degree=2.5, n_samples=n, random_state=seed)
    return network, rows


def step_by_step(network, row, do):
    """Abduction, action and prediction, equation by equation."""
    noise = row - network.intercept_ - row @ network.coef_
    changed = np.zeros(len(row))
    for node in nx.topological_sort(network.dag):
        predicted = network.intercept_[node] + changed @ network.coef_[:, node]
        changed[node] = do.get(node, predicted + noise[node])
    return changed


@given(seeds, st.dictionaries(st.integers(0, 4), numbers, max_size=3))
def test_by_abduction_action_and_prediction(seed, do):
    network, rows = network_and_rows(seed)
    expected = [step_by_step(network, row, do) for row in rows]
    assert_allclose(network.counterfactual(rows, do), expected, rtol=1e-9, atol=1e-9)


@given(seeds, st.sets(st.integers(0, 4)))
def test_of_what_was_observed_it_is_the_identity(seed, held):
    network, rows = network_and_rows(seed)
    assert_array_equal(network.counterfactual(rows, {}), rows)
    assert_array_equal(network.counterfactual(rows, {v: rows[:, v] for v in held}), rows)


def test_frames_keep_their_columns_and_labels():
    dag = nx.DiGraph([("a", "b"), ("b", "c")])
    X = pd.DataFrame({"id": [7, 8, 9], "c": [1, 5, 3], "b": [0.0, 3, 1], "a": [1, 2, 4]})
    X.index = ["x", "y", "z"]
    network = GaussianBayesianNetwork(dag).fit(X)
    weights = network.coef_[0, 1], network.coef_[1, 2]
    do = {"b": pd.Series({"z": 2.0, "x": 1.0, "y": 3.0})}  # by label
    found = network.counterfactual(X, do)
    assert list(found.columns) == list(X.columns)
    pd.testing.assert_frame_equal(found[["id", "a"]], X[["id", "a"]])
    assert_allclose(found["b"], [1, 3, 2])
    assert_allclose(found["c"], X["c"] + weights[1] * (found["b"] - X["b"]))
    polars = pytest.importorskip("polars")
    frame = network.counterfactual(polars.from_pandas(X), {"b": [1.0, 3.0, 2.0]})
    assert frame["c"].to_list() == found["c"].to_list()


def test_refusals():
    network, rows = network_and_rows(0)
    for do, message in [
        ({9: 1.0}, "9"),
        ({0: np.nan}, "finite number"),
        ({0: [1.0, 2.0]}, "node 0 in do must be a finite number, or one for each of the 4 rows"),
        ({0: [1.0, 2.0, np.inf, 0.0]}, "node 0 in do must be a finite number"),
        ({0: ["low"] * 4}, r"node 0 in do must be .* got \['low', 'low', 'low', 'low'\]"),
    ]:
        with pytest.raises(ValueError, match=message):
            network.counterfactual(rows, do)
    with pytest.raises(TypeError, match="do must be a dict"):
        network.counterfactual(rows, [1.0])
    rows[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"[Mm]issing"):
        network.counterfactual(rows, {1: 1.0})
    dag = nx.DiGraph([("a", "b", {"weight": 1e200})])
    nx.set_node_attributes(dag, {v: {"intercept": 0.0, "noise_variance": 1.0} for v in "ab"})
    with pytest.raises(ValueError, match="node 'b' in row 1 would be out of float64's range"):
        GaussianBayesianNetwork(dag).counterfactual([[-1e150, 1], [1e150, 1]], {"a": -1e150})

"""The graph of a fitted network carries its figures, and networkx writes and reads them."""

import io
import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from skbn import (
    BootstrapBNLearner,
    GaussianBayesianNetwork,
    GaussianBNLearner,
    GaussianBNPosterior,
    lagged,
)


def numbers():
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    y = x + rng.normal(size=120)
    return pd.DataFrame({"x": x, "y": 3 * y, "z": rng.normal(size=120) - y})


def with_holes():
    table = numbers()
    table.loc[::7, "y"] = np.nan
    return table


def with_categories():
    table = numbers()
    table["group"] = np.where(table["x"] > 0, "high", "low")
    table["site"] = np.array(["a", "b", "c"])[np.digitize(table["y"], [-2, 2])]
    return table


def bootstrap(nodes=None):
    return BootstrapBNLearner(GaussianBNLearner(nodes=nodes), n_resamples=4, random_state=0)


def of_series():
    series = lagged(numbers())
    return GaussianBNLearner(exogenous=series.exogenous).fit(series.table)


SHARES = {"support", "strength"}
FITTED = {
    "numbers": (lambda: GaussianBNLearner().fit(numbers()), set()),
    "no names": (lambda: GaussianBNLearner().fit(numbers().to_numpy()), set()),
    "em": (lambda: GaussianBNLearner(missing="em").fit(with_holes()), set()),
    "lags": (of_series, set()),
    "categories": (lambda: GaussianBNLearner(nodes="auto").fit(with_categories()), set()),
    "columns": (lambda: GaussianBNLearner(nodes={"n": ["x", "z"]}).fit(numbers()), set()),
    "bootstrap": (lambda: bootstrap().fit(numbers()), SHARES),
    "of categories": (lambda: bootstrap("auto").fit(with_categories()), SHARES),
    "average": (lambda: bootstrap().fit(numbers()).averaged_network(0.3), SHARES),
    "posterior": (lambda: GaussianBNPosterior().fit(numbers()), {"probability"}),
    "near": (lambda: GaussianBNLearner().fit(numbers()).near_optimal(within=5)[1], set()),
    "do": (lambda: GaussianBNLearner().fit(numbers()).network_.do({"y": 1.0}), set()),
}


def graphs_of(fitted):
    network = getattr(fitted, "network_", getattr(fitted, "median_network_", None))
    return [fitted.dag] if network is None else [fitted.dag_, network.dag]


def written_and_read(graph):
    """Return what networkx reads of a graph that it wrote in three formats."""
    graphml, gml = io.BytesIO(), io.BytesIO()
    nx.write_graphml(graph, graphml)
    nx.write_gml(graph, gml)
    graphml.seek(0)
    gml.seek(0)
    cytoscape = json.loads(json.dumps(nx.cytoscape_data(graph)))
    return nx.read_graphml(graphml), nx.read_gml(gml), nx.cytoscape_graph(cytoscape)


@pytest.mark.parametrize("kind", FITTED)
def test_graphs_carry_their_figures_into_files(kind):
    make, confidences = FITTED[kind]
    for graph in graphs_of(make()):
        assert graph.edges
        for read in written_and_read(graph):
            assert {(str(a), str(b)) for a, b in graph.edges} == {
                (str(a), str(b)) for a, b in read.edges
            }
            of_node = {str(v): data for v, data in read.nodes(data=True)}
            of_edge = {(str(a), str(b)): data for a, b, data in read.edges(data=True)}
            for node, data in graph.nodes(data=True):
                assert data.items() <= of_node[str(node)].items()
            for a, b, data in graph.edges(data=True):
                assert data.items() <= of_edge[str(a), str(b)].items()
                assert confidences <= {*data}


def test_standardised_weights_are_those_of_the_table():
    network = GaussianBNLearner().fit(numbers()).network_
    frame = network.to_frame()
    for row in frame.itertuples():
        edge = network.dag.edges[row.parent, row.child]
        assert edge == {"weight": row.weight, "standardised_weight": row.standardised_weight}
        assert edge == network.dag.edges[row.parent, row.child]


def test_figures_follow_the_parameters_and_stay_out_of_json():
    network = GaussianBNLearner().fit(numbers()).network_
    edge = next(iter(network.dag.edges))
    network.dag.edges[edge]["weight"] *= -2
    changed = network.dag.edges[edge]
    assert np.sign(changed["standardised_weight"]) == np.sign(changed["weight"])
    assert "standardised" not in network.to_json()


def test_graphs_out_of_range_have_weights_alone():
    dag = nx.DiGraph([("a", "b", {"weight": 1e300}), ("b", "c", {"weight": 1e300})])
    dag.add_nodes_from("abc", intercept=0.0, noise_variance=1.0)
    assert GaussianBayesianNetwork(dag).dag.edges["a", "b"] == {"weight": 1e300}

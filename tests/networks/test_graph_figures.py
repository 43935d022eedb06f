"""The graph of a fitted network carries its figures, and networkx writes and reads them."""

import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from drawn import weighted

import skbn
from skbn import BootstrapBNLearner, GaussianBayesianNetwork, GaussianBNLearner


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
    series = skbn.lagged(numbers())
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
    "posterior": (lambda: skbn.GaussianBNPosterior().fit(numbers()), {"probability"}),
    "near": (lambda: GaussianBNLearner().fit(numbers()).near_optimal(within=5)[1], set()),
    "do": (lambda: GaussianBNLearner().fit(numbers()).network_.do({"y": 1.0}), set()),
}


def graphs_of(fitted):
    network = getattr(fitted, "network_", getattr(fitted, "median_network_", None))
    return [fitted.dag] if network is None else [fitted.dag_, network.dag]


def written_and_read(graph):
    """Return what networkx reads of a graph that it wrote in three formats."""
    yield nx.parse_graphml("\n".join(nx.generate_graphml(graph)))
    yield nx.parse_gml([*nx.generate_gml(graph)])
    yield nx.cytoscape_graph(json.loads(json.dumps(nx.cytoscape_data(graph))))


@pytest.mark.parametrize("kind", FITTED)
def test_graphs_carry_their_figures_into_files(kind):
    make, confidences = FITTED[kind]
    for graph in graphs_of(make()):
        assert graph.edges
        named = nx.relabel_nodes(graph, str)
        assert all(confidences <= {*data} for *_, data in graph.edges(data=True))
        for read in written_and_read(graph):
            read = nx.relabel_nodes(read, str)
            assert {*read.edges} == {*named.edges}
            for node, data in named.nodes(data=True):
                assert data.items() <= read.nodes[node].items()
            for *edge, data in named.edges(data=True):
                assert data.items() <= read.edges[edge].items()


def test_standardised_weights_are_those_of_the_table_and_stay_out_of_json():
    network = GaussianBNLearner().fit(numbers()).network_
    for row in network.to_frame().itertuples():
        edge = network.dag.edges[row.parent, row.child]
        assert edge == {"weight": row.weight, "standardised_weight": row.standardised_weight}
    assert "standardised" not in network.to_json()
    dag = network.dag
    edge = next(iter(dag.edges))
    dag.edges[edge]["weight"] *= -2
    changed = GaussianBayesianNetwork(dag).dag.edges[edge]
    assert np.sign(changed["standardised_weight"]) == np.sign(changed["weight"])


def test_graphs_out_of_range_have_weights_alone():
    dag = weighted("abc", [("a", "b", 1e300), ("b", "c", 1e300)])
    assert GaussianBayesianNetwork(dag).dag.edges["a", "b"] == {"weight": 1e300}

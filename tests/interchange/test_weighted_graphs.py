"""Graphs with weights: against the posterior's probabilities, scores and counts of resamples."""

import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from agreement import raises
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

import skbn
from skbn import BootstrapBNLearner, GaussianBNLearner, GaussianBNPosterior
from skbn.io import to_weighted_graphs, to_weighted_json


def rows(n=40):
    table = np.random.default_rng(0).normal(size=(n, 3))
    table[:, 2] += table[:, 0]
    return pd.DataFrame(table, columns=[*"abc"])


def edges(graph):
    return frozenset((a, b, bool(is_open)) for a, b, is_open in graph.edges(data="undirected"))


def weights_of(graphs):
    """Return weights, which sum to 1 and descend, of graphs that do not come twice."""
    weights = [graph.graph["weight"] for graph in graphs]
    assert sum(weights) == pytest.approx(1)
    assert weights == sorted(weights, reverse=True)
    assert len({edges(graph) for graph in graphs}) == len(graphs)
    assert all([*graph] == [*"abc"] for graph in graphs)
    return np.array(weights)


def frequencies(graphs):
    """Return the weight of the graphs that have an edge, for each of them."""
    weighted = [nx.to_numpy_array(g, weight=None) * g.graph["weight"] for g in graphs]
    return np.sum(weighted, axis=0)


def test_weights_of_a_posterior_estimate_probabilities():
    posterior = GaussianBNPosterior().fit(rows())
    graphs = to_weighted_graphs(posterior, n_samples=5000, random_state=0)
    probabilities = np.exp([graph.graph["log_probability"] for graph in graphs])
    assert_allclose(weights_of(graphs), probabilities, atol=0.02)
    assert probabilities.sum() > 0.99
    assert_allclose(frequencies(graphs), posterior.edge_probabilities_, atol=0.03)
    assert graphs[0].graph["of"] == "5,000 networks drawn from the posterior"


@pytest.mark.parametrize(
    "settings",
    [{"method": "sampling", "n_samples": 1000}, {"missing": "augment", "n_imputations": 4}],
)
def test_estimated_posteriors_have_no_exact_probability(settings):
    table = rows()
    if "missing" in settings:
        table.iloc[3, 1] = np.nan
    posterior = GaussianBNPosterior(**settings, random_state=0).fit(table)
    graphs = to_weighted_graphs(posterior, n_samples=200, random_state=0)
    weights_of(graphs)
    assert "log_probability" not in graphs[0].graph


def test_weights_of_a_list_are_those_of_scores():
    learner = GaussianBNLearner("bge").fit(rows())
    near = learner.near_optimal(12, equivalence_classes=False)
    graphs = to_weighted_graphs(near)
    expected = np.exp(near.scores - near.scores.max())
    assert_allclose(weights_of(graphs), expected / expected.sum())
    assert {edges(each) for each in graphs} == {edges(each.dag) for each in near}
    classes = learner.near_optimal(6)
    graphs = to_weighted_graphs(classes)
    weights_of(graphs)
    assert {edges(each) for each in graphs} == {edges(each) for each in classes.cpdags}
    directed = [each for each in graphs if not any(is_open for *_, is_open in edges(each))]
    assert 0 < len(directed) < len(graphs)
    assert (frequencies(directed) <= classes.edge_frequencies() + 1e-12).all()


def test_weights_of_a_bootstrap_are_shares_of_resamples():
    bootstrap = BootstrapBNLearner(n_resamples=30, random_state=0).fit(rows())
    graphs = to_weighted_graphs(bootstrap)
    support = np.zeros((3, 3))
    for graph, weight in zip(graphs, weights_of(graphs), strict=True):
        for a, b, is_open in edges(graph):
            i, j = "abc".index(a), "abc".index(b)
            support[i, j] += weight * (0.5 if is_open else 1)
            support[j, i] += weight * (0.5 if is_open else 0)
    assert_allclose(support, bootstrap.edge_support_)
    assert graphs[0].graph["of"] == "30 resamples"


def test_json_is_read_by_networkx(tmp_path):
    posterior = GaussianBNPosterior().fit(rows())
    graphs = to_weighted_graphs(posterior, n_samples=50, random_state=1)
    text = to_weighted_json(posterior, n_samples=50, random_state=1)
    read = [nx.node_link_graph(each, edges="edges") for each in json.loads(text)]
    assert [edges(each) for each in read] == [edges(each) for each in graphs]
    assert [each.graph for each in read] == [each.graph for each in graphs]
    path = tmp_path / "graphs.json"
    assert to_weighted_json(posterior, path, n_samples=50, random_state=1) is None
    assert path.read_text(encoding="utf-8") == text + "\n"
    numbers = GaussianBNPosterior().fit(rows().to_numpy())
    (first, *_) = json.loads(to_weighted_json(numbers, random_state=0))
    assert [node["id"] for node in first["nodes"]] == [0, 1, 2]


def test_refused():
    for estimator in (GaussianBNPosterior(), BootstrapBNLearner()):
        raises("not fitted yet", to_weighted_graphs, estimator, kind=NotFittedError)
    network = skbn.GaussianBayesianNetwork(nx.DiGraph(["ab"]))
    message = "source must be a fitted GaussianBNPosterior or"
    raises(message, to_weighted_graphs, network, kind=TypeError)
    families = [([[-1], [1]], [-1.0, -0.5]), ([[-1], [0]], [-1.0, -0.5])]
    near = GaussianBNLearner().fit(skbn.ParentSetScores(["a", "b"], families)).near_optimal(3)
    raises("equivalence_classes=False", to_weighted_graphs, near)

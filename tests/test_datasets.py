"""Random networks: what their documentation promises, whatever was drawn."""

import networkx as nx
import numpy as np
import pytest
from agreement import raises
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, chi2, kstest
from threadpoolctl import threadpool_limits

from skbn import GaussianBNLearner
from skbn.datasets import load_network, make_gaussian_network

ranges = st.tuples(st.floats(0.01, 2), st.floats(0, 2)).map(lambda p: (p[0], p[0] + p[1]))
networks = st.builds(
    dict,
    n_columns=st.integers(1, 12),
    mean_degree=st.floats(0, 15),
    weight_range=ranges,
    noise_range=ranges,
    shuffle=st.booleans(),
    random_state=st.integers(0, 2**32 - 1),
)


@given(networks)
def test_a_network_is_as_its_parameters_say(parameters):
    network = make_gaussian_network(**parameters)
    m, dag = parameters["n_columns"], network.dag
    assert network.nodes == list(range(m))
    assert nx.is_directed_acyclic_graph(dag)
    if not parameters["shuffle"]:
        assert all(a < b for a, b in dag.edges)
    for _, _, weight in dag.edges(data="weight"):
        least, largest = parameters["weight_range"]
        assert least <= abs(weight) <= largest
    least, largest = np.square(parameters["noise_range"])
    assert ((least <= network.noise_variance_) & (network.noise_variance_ <= largest)).all()
    assert (network.mean_ == 0).all()
    if parameters["mean_degree"] >= m - 1:
        assert dag.number_of_edges() == m * (m - 1) // 2


@pytest.mark.parametrize("kind", [int, np.random.RandomState, np.random.default_rng])
def test_the_random_state_decides(kind):
    X, network = make_gaussian_network(6, n_samples=5, random_state=kind(7))
    again, same = make_gaussian_network(6, n_samples=5, random_state=kind(7))
    np.testing.assert_array_equal(X, again)
    assert nx.utils.graphs_equal(network.dag, same.dag)
    alone = make_gaussian_network(6, random_state=kind(7))
    assert nx.utils.graphs_equal(network.dag, alone.dag)
    other = make_gaussian_network(6, random_state=8)
    assert not nx.utils.graphs_equal(network.dag, other.dag)


def test_threads_of_linear_algebra_change_no_bit():
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, "blas"):
            rows, truth = make_gaussian_network(150, n_samples=100, random_state=0)
            learner = GaussianBNLearner("ebic", search="order", max_parents=3, random_state=0)
            network = learner.fit(rows).network_
            found.append([rows, truth.covariance_, network.coef_, network.score_samples(rows)])
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(("m", "mean_degree"), [(2, 0.5), (8, 2.1), (30, 4.0)])
def test_edges_and_their_signs_are_as_many_as_expected(m, mean_degree):
    rng, n_networks = np.random.default_rng(0), 80
    settings = {"mean_degree": mean_degree, "random_state": rng}
    dags = [make_gaussian_network(m, **settings).dag for _ in range(n_networks)]
    n_edges = sum(dag.number_of_edges() for dag in dags)
    n_pairs = n_networks * m * (m - 1) // 2
    assert 1e-4 < binom.cdf(n_edges, n_pairs, mean_degree / (m - 1)) < 1 - 1e-4
    sizes = [weight for dag in dags for _, _, weight in dag.edges(data="weight")]
    assert 1e-4 < binom.cdf(sum(np.array(sizes) > 0), n_edges, 0.5) < 1 - 1e-4
    assert kstest(np.abs(sizes) - 0.5, "uniform").pvalue > 1e-4


def test_the_order_of_the_columns_tells_nothing_of_the_causal_order():
    rng = np.random.default_rng(1)
    networks = (make_gaussian_network(8, random_state=rng) for _ in range(300))
    edges = [edge for network in networks for edge in network.dag.edges]
    assert 1e-4 < binom.cdf(sum(a < b for a, b in edges), len(edges), 0.5) < 1 - 1e-4
    children = np.bincount([b for _, b in edges], minlength=8)
    statistic = ((children - children.mean()) ** 2 / children.mean()).sum()
    assert chi2.sf(statistic, 7) > 1e-4


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_columns": 0}, r"n_columns must be at least 1; got 0\."),
        ({"n_columns": 10**7}, r"needs .*B of memory.*; lower n_columns or n_samples\."),
        ({"mean_degree": -1}, r"mean_degree must not be negative; got -1\.0\."),
        ({"mean_degree": np.nan}, r"mean_degree must be a finite number; got nan\."),
        ({"mean_degree": "two"}, r"mean_degree must be a finite number; got 'two'\."),
        ({"weight_range": 1}, r"weight_range must be two numbers, \(least, largest\); got 1\."),
        ({"weight_range": (2, 1)}, r"weight_range .* got \(2\.0, 1\.0\)\."),
        ({"weight_range": (-1, 1)}, r"weight_range .* got \(-1\.0, 1\.0\)\."),
        ({"weight_range": (0, np.inf)}, r"weight_range must be a finite number; got inf\."),
        ({"noise_range": (0, 1)}, r"noise_range .* 1e-150 and 1e\+150; got \(0\.0, 1\.0\)\."),
        ({"noise_range": (1, 1e200)}, r"noise_range .* 1e-150 and 1e\+150; got \(1\.0, 1e\+200\)"),
        ({"n_samples": 0}, r"n_samples must be at least 1, or None for no rows; got 0\."),
        ({"random_state": -1}, r"random_state must be .*; got -1\."),
        ({"random_state": "a"}, r"random_state must be .*; got 'a'\."),
        (
            {"n_columns": 40, "mean_degree": 39, "weight_range": (1e10, 1e10)},
            r"n_columns=40, mean_degree=39\.0, weight_range=\(10{10}\.0, 10{10}\.0\), .* Lower one",
        ),
    ],
)
def test_what_is_out_of_range_is_named(parameters, message):
    raises(message, make_gaussian_network, **{"random_state": 0, **parameters})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_columns": 2.5}, r"n_columns must be an integer; got 2\.5\."),
        ({"n_samples": "5"}, r"n_samples must be an integer; got '5'\."),
        ({"shuffle": "no"}, r"shuffle must be True or False; got 'no'\."),
    ],
)
def test_what_is_of_a_wrong_type_is_named(parameters, message):
    raises(message, make_gaussian_network, kind=TypeError, **parameters)


# Columns, edges and the most parents, as the Bayesian Network Repository states them.
PUBLISHED = {
    "arth150": (107, 150, 6),
    "ecoli70": (46, 70, 4),
    "magic-irri": (64, 102, 11),
    "magic-niab": (44, 66, 9),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_networks_are_as_the_repository_states(name):
    network = load_network(name)
    in_degrees = [degree for _, degree in network.dag.in_degree()]
    assert (len(network.nodes), sum(in_degrees), max(in_degrees)) == PUBLISHED[name]
    assert (network.noise_variance_ > 0).all()
    X = network.sample(50_000, random_state=0)
    scale = np.sqrt(np.diag(network.covariance_))
    np.testing.assert_allclose(np.mean(X, axis=0) / scale, network.mean_ / scale, atol=0.03)


def test_a_published_network_has_its_parameters():
    network = load_network("ecoli70")
    x = network.nodes.index("asnA")
    assert list(network.dag.predecessors("asnA")) == ["ygcE"]
    assert network.dag.edges["ygcE", "asnA"]["weight"] == 0.7975
    assert network.noise_variance_[x] == pytest.approx(0.0914)
    assert network.dag.nodes["asnA"]["intercept"] == 0.3494


@pytest.mark.parametrize("name", ["asia", "", 7, None, ["ecoli70"]])
def test_an_unknown_network_is_refused_by_name(name):
    raises("name must be one of 'arth150', 'ecoli70'", load_network, name)

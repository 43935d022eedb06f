"""GaussianBNPosterior(method="sampling"): what users get, and what they are told."""

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from agreement import raises
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from skbn import GaussianBNPosterior
from skbn.datasets import make_gaussian_network
from skbn.exceptions import SamplingWarning


@pytest.fixture(scope="module")
def rows():
    table, _ = make_gaussian_network(7, n_samples=80, random_state=1)
    return pd.DataFrame(table, columns=list("abcdefg"))


@pytest.fixture(scope="module")
def exact(rows):
    return GaussianBNPosterior().fit(rows)


@pytest.fixture(scope="module")
def sampled(rows):
    posterior = GaussianBNPosterior(method="sampling", n_samples=400, random_state=0)
    return posterior.fit(rows)


def test_attributes(rows, sampled, exact):
    m = rows.shape[1]
    assert_allclose(sampled.edge_probabilities_, exact.edge_probabilities_, rtol=0, atol=0.05)
    assert_allclose(sampled.path_probabilities_, exact.path_probabilities_, rtol=0, atol=0.05)
    for name in ("edge_standard_errors_", "r_hat_", "effective_sample_sizes_"):
        assert getattr(sampled, name).shape == (m, m)
    assert sampled.chain_edge_probabilities_.shape == (4, m, m)
    assert_allclose(sampled.chain_edge_probabilities_.mean(axis=0), sampled.edge_probabilities_)
    assert sampled.n_samples_ == 4 * 400
    assert sampled.structure_prior_ == "uniform"
    assert not hasattr(exact, "edge_standard_errors_")
    assert list(sampled.median_network_.dag.edges) == list(exact.median_network_.dag.edges)
    table, errors = sampled.to_frame(), {"standard_error", "reverse_standard_error"}
    assert {*table} - {*exact.to_frame()} == errors
    columns = list(rows.columns)
    for row in table.itertuples():
        i, j = columns.index(row.parent), columns.index(row.child)
        assert row.standard_error == sampled.edge_standard_errors_[i, j]
        assert row.reverse_standard_error == sampled.edge_standard_errors_[j, i]
    same = pickle.loads(pickle.dumps(sampled))
    assert_array_equal(same.edge_probabilities_, sampled.edge_probabilities_)


def test_networks(rows, sampled, exact):
    dags = sampled.sample_dags(400, random_state=0)
    assert all(nx.is_directed_acyclic_graph(dag) for dag in dags)
    columns = list(rows.columns)
    shares = sum(nx.to_numpy_array(dag, nodelist=columns) for dag in dags) / len(dags)
    assert_allclose(shares, exact.edge_probabilities_, rtol=0, atol=0.12)
    (network,) = sampled.sample_networks(1, random_state=0)
    assert np.isfinite(network.score_samples(rows)).all()
    found = sampled.probability(lambda dag: dag.number_of_edges(), random_state=0)
    expected = exact.probability(lambda dag: dag.number_of_edges(), random_state=0)
    assert found.value == pytest.approx(expected.value, abs=6 * found.standard_error + 0.2)
    of_sampled, of_exact = (
        {tuple(parents): p for parents, p in each.parent_set_probabilities("g", k=3)}
        for each in (sampled, exact)
    )
    assert of_sampled == pytest.approx(of_exact, abs=0.1)


def test_effects(rows, sampled, exact):
    found, known = (each.effects(n_samples=2000, random_state=0) for each in (sampled, exact))
    apart = np.abs(found.mean - known.mean)
    assert (apart <= 6 * (found.standard_error + known.standard_error) + 0.01).all()
    cause, outcome = rows.columns[:2]
    one = sampled.effect(cause, outcome, n_samples=2000, random_state=0)
    assert one.mean == found[cause, outcome].mean
    expected, atol = 1 - exact.path_probabilities_[0, 1], 6 * one.probability_zero_error + 0.02
    assert one.probability_zero == pytest.approx(expected, abs=atol)


def test_few_networks_are_taken_for_independent(sampled):
    found = sampled.probability(lambda dag: dag.has_edge("a", "b"), n_samples=3, random_state=0)
    assert 0 <= found.value <= 1
    assert np.isfinite(sampled.effects(n_samples=2, random_state=0).standard_error).all()
    for n in (1, 5, 4000):
        assert len(sampled.sample_dags(n, random_state=0)) == n


def test_knowledge_decides_paths(rows):
    tiers = [list(rows.columns[:3]), list(rows.columns[3:])]
    settings = {"method": "sampling", "n_samples": 400, "random_state": 0}
    posterior = GaussianBNPosterior(tiers=tiers, **settings).fit(rows)
    effects = posterior.effects(n_samples=100, random_state=0)
    assert not effects.path_probabilities[3:, :3].any()
    assert not effects.path_errors[3:, :3].any()
    assert not posterior.path_probabilities_[3:, :3].any()


def test_what_needs_sums_is_refused(sampled):
    reason = "is not known after method='sampling'"
    assert not hasattr(sampled, "log_evidence_")
    raises(reason, lambda: sampled.log_evidence_, kind=AttributeError)
    raises(reason, sampled.log_probability, sampled.dag_)
    raises("not fitted", lambda: GaussianBNPosterior().log_evidence_, kind=NotFittedError)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "mcmc"}, "The 'method' parameter"),
        ({"n_chains": 1}, "The 'n_chains' parameter"),
        ({"n_samples": 10}, "The 'n_samples' parameter"),
        ({"time_limit": 0}, "The 'time_limit' parameter"),
    ],
)
def test_what_is_refused(rows, settings, message):
    raises(message, GaussianBNPosterior(**settings).fit, rows)


def test_auto_sums_where_it_can(rows, exact):
    posterior = GaussianBNPosterior(method="auto").fit(rows)
    assert_array_equal(posterior.edge_probabilities_, exact.edge_probabilities_)


def test_auto_samples_where_sums_take_too_long(monkeypatch, rows):
    monkeypatch.setattr("skbn._posterior.plan.UNIFORM_LIMIT", 100)
    settings = {"method": "auto", "n_samples": 400, "random_state": 0}
    posterior = GaussianBNPosterior(structure_prior="uniform", **settings)
    with pytest.warns(SamplingWarning, match="took method='sampling'"):
        posterior.fit(rows)
    assert posterior.n_samples_ == 4 * 400


def test_chains_that_disagree_are_named():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 10)) @ rng.normal(size=(10, 10))
    posterior = GaussianBNPosterior(method="sampling", n_samples=100, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"differ by up to 0\.[0-9]+: [0-9] -> [0-9] \("):
        posterior.fit(rows)


SEVEN = [(i, 17) for i in range(7)]


FEWER_CHAINS = r"Lower n_chains, to 2 for example, or leave out columns\.$"
DOUBLING = r"They double with each of required_edges to 17: leave some out\.$"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("n_required", "max_memory", "message", "remedy"),
    [
        pytest.param(8, 3e6, FEWER_CHAINS, {"n_chains": 2}, marks=pytest.mark.slow),
        pytest.param(9, 3e6, DOUBLING, {"required_edges": SEVEN}, marks=pytest.mark.slow),
        (0, 1e5, r"allowed by max_memory\. Leave out columns\.$", {}),
    ],
)
def test_what_makes_tables_of_chains_fit(n_required, max_memory, message, remedy):
    rows = np.random.default_rng(0).normal(size=(60, 18))
    settings = {"method": "sampling", "n_samples": 100, "random_state": 0}
    required = [(i, 17) for i in range(n_required)]
    posterior = GaussianBNPosterior(max_memory=max_memory, required_edges=required, **settings)
    raises(message, posterior.fit, rows)
    found = posterior.set_params(**remedy).fit(rows if remedy else rows[:, :4])
    assert found.edge_probabilities_.max() <= 1.0

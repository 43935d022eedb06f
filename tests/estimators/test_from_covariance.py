"""Estimators fitted to a covariance matrix find what they find of the rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import skbn
from skbn import BGe, BootstrapBNLearner, GaussianBNLearner, LocalScoreTransformer, from_covariance
from skbn.datasets import make_gaussian_network

N = 60
NAMES = list("abcde")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    coef = np.tril(rng.normal(size=(5, 5)), -1)
    values = rng.normal(size=(N, 5)) @ np.linalg.inv(np.eye(5) - coef).T
    return pd.DataFrame(values + np.array([0, 5, 1, -3, 10]), columns=NAMES)


@pytest.fixture(scope="module")
def table(rows):
    return from_covariance(rows.cov(), N, rows.mean())


LEARNERS = {
    "exact": GaussianBNLearner(),
    "BGe": GaussianBNLearner(BGe()),
    "order search": GaussianBNLearner(search="order", random_state=0),
    "with constraints": GaussianBNLearner(max_parents=2, tiers=[["a", "b"], ["c", "d", "e"]]),
    "nodes": GaussianBNLearner(nodes={"pair": ["a", "c"]}),
    "missing": GaussianBNLearner(missing="em"),
}


def assert_same_network(ours, theirs):
    assert {*ours.dag.edges} == {*theirs.dag.edges}
    np.testing.assert_allclose(ours.mean_, theirs.mean_, rtol=1e-9)
    np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", LEARNERS)
def test_learners(kind, rows, table):
    learner = LEARNERS[kind]
    theirs = clone(learner).fit(rows)
    ours = learner.fit(table)
    assert ours.network_score_ == pytest.approx(theirs.network_score_, abs=1e-9)
    assert_same_network(ours.network_, theirs.network_)
    assert list(ours.feature_names_in_) == NAMES
    assert ours.score(table) == pytest.approx(theirs.score(rows), abs=1e-9)


def test_branch_and_cut():
    X, _ = make_gaussian_network(33, mean_degree=1.0, n_samples=200, random_state=0)
    table = from_covariance(np.cov(X, rowvar=False), len(X), X.mean(axis=0))
    ours, theirs = (GaussianBNLearner(max_parents=1).fit(each) for each in (table, X))
    assert ours.n_nodes_ >= 1
    assert ours.is_optimal_
    assert ours.network_score_ == pytest.approx(theirs.network_score_, abs=1e-9)
    assert_same_network(ours.network_, theirs.network_)


@pytest.mark.parametrize("method", ["exact", "sampling"])
def test_posteriors(method, rows, table):
    settings = {"method": method, "n_samples": 300, "n_chains": 2, "random_state": 0}
    ours, theirs = (skbn.GaussianBNPosterior(**settings).fit(each) for each in (table, rows))
    np.testing.assert_allclose(ours.edge_probabilities_, theirs.edge_probabilities_, atol=1e-9)


def test_local_scores(rows, table):
    ours, theirs = (LocalScoreTransformer().fit_transform(each) for each in (table, rows))
    np.testing.assert_allclose(ours.to_array(), theirs.to_array(), rtol=0, atol=1e-9)
    halves = [
        from_covariance(half.cov(), len(half), half.mean()) for half in (rows[:25], rows[25:])
    ]
    merged = LocalScoreTransformer().fit_transform(halves[0] + halves[1])
    chunks = LocalScoreTransformer().partial_fit(halves[0]).partial_fit(halves[1])
    for each in (chunks.local_scores_, merged):
        np.testing.assert_allclose(each.to_array(), theirs.to_array(), rtol=0, atol=1e-9)


def test_networks(rows, table):
    network = GaussianBNLearner().fit(rows).network_
    ours, theirs = (type(network)(network.dag).fit(each) for each in (table, rows))
    assert_same_network(ours, theirs)
    shuffled = from_covariance(rows[NAMES[::-1]].cov(), N, rows[NAMES[::-1]].mean())
    for each in (table, shuffled):
        assert network.score(each) == pytest.approx(network.score(rows), abs=1e-9)
        found, expected = network.fit_indices(each), network.fit_indices(rows)
        for name in ("chi2", "rmsea", "srmr", "log_likelihood", "fisher_c"):
            assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=1e-9), name


NEED_ROWS = {
    "resamples": lambda table, rows: BootstrapBNLearner(n_resamples=2).fit(table),
    "cross-validation": lambda table, rows: skbn.GaussianBNLearnerCV().fit(table),
    "interventions": lambda table, rows: GaussianBNLearner().fit(table, interventions=[None] * N),
    "imputation": lambda table, rows: skbn.GaussianBNImputer().fit(table).transform(table),
    "blanket": lambda table, rows: skbn.MarkovBlanketSelector().fit(table, rows["a"]),
    "lags": lambda table, rows: skbn.lagged(table),
    "each row": lambda table, rows: GaussianBNLearner().fit(rows).score_samples(table),
    "folds": lambda table, rows: cross_val_score(GaussianBNLearner(), table),
    "numpy": lambda table, rows: np.asarray(table),
}


@pytest.mark.parametrize("kind", NEED_ROWS)
def test_what_needs_rows_says_so(kind, rows, table):
    with pytest.raises(TypeError, match=r"has no rows, and rows are needed here. Pass the table"):
        NEED_ROWS[kind](table, rows)


def test_weights_belong_to_rows(table):
    with pytest.raises(ValueError, match="CovarianceTable, which has none"):
        GaussianBNLearner().fit(table, sample_weight=np.ones(N))

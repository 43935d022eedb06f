"""Posteriors that are sampled, against exact ones."""

import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
from problems import PLENTY, problem, resources

from skbn import BIC, LocalScoreTransformer
from skbn._core.resources import Resources
from skbn._posterior import sampled_posterior as module
from skbn._posterior.network_posterior import network_posterior
from skbn._posterior.sampled_posterior import ChainSettings, sampled_posterior
from skbn.datasets import make_gaussian_network


def settings(n_samples=600, seed=0, n_chains=4):
    return ChainSettings(n_chains, n_samples, np.random.SeedSequence(seed))


def rows_of(m, n=60, seed=0):
    return make_gaussian_network(m, n_samples=n, random_state=seed)[0]


def set_candidates(monkeypatch, fixed, random):
    """So many candidates are fixed, and so many random."""
    for name in ("_N_FIXED", "_MOST_FIXED", "_MOST_FIXED_OF_ALL"):
        monkeypatch.setattr(module, name, fixed)
    monkeypatch.setattr(module, "_N_RANDOM", random)
    monkeypatch.setattr(module, "_MOST_BYTES_OF_ALL", 0)


def assert_near(found, exact, errors=6.0):
    """Each probability within some standard errors, and 1e-3 for those that never vary."""
    agreement = found.agreement
    for values, expected, spread in (
        (found.edges, exact.edges, agreement.edge_errors),
        (found.paths, exact.paths, agreement.path_errors),
    ):
        known = ~np.isnan(expected)
        apart = np.abs(values - expected)[known]
        assert (apart < errors * spread[known] + 4e-3).all(), apart.max()


def assert_near_exact(scores, given):
    asked = problem(scores)
    exact = network_posterior(asked, resources(PLENTY, n_jobs=2), prior="uniform")
    found = sampled_posterior(asked, resources(PLENTY, n_jobs=2), given)
    assert_near(found, exact)
    return found


KNOWLEDGE = [
    {},
    {"max_parents": 2},
    {"required_edges": [(0, 1), (2, 1)]},
    {"forbidden_edges": [(0, 1), (3, 2), (4, 0)]},
    {"tiers": [[0, 1, 2], [3, 4], [5, 6]]},
    {"exogenous": [1, 3]},
]
OF_ALL_KINDS = {"required_edges": [(2, 1)], "forbidden_edges": [(3, 2)], "exogenous": [4]}


@pytest.mark.parametrize(
    ("knowledge", "few_candidates"),
    [*((each, False) for each in KNOWLEDGE), (OF_ALL_KINDS, True)],
    ids=lambda each: str(each) if isinstance(each, bool) else "-".join(each) or "free",
)
def test_probabilities_of_few_columns(monkeypatch, knowledge, few_candidates):
    """With all candidates, and with two fixed and three random ones."""
    m = 7
    if few_candidates:
        set_candidates(monkeypatch, fixed=2, random=3)
        knowledge = {"max_parents": 3, **knowledge}
    scores = LocalScoreTransformer("bge").fit_transform(rows_of(m))
    log_odds = np.log(np.random.default_rng(1).uniform(0.3, 2.0, size=(m, m)))
    asked = problem(scores, **knowledge)
    exact = network_posterior(asked, resources(PLENTY), prior="uniform", log_odds=log_odds)
    found = sampled_posterior(asked, resources(PLENTY), settings(200), log_odds)
    assert_near(found, exact)
    assert not found.edges[exact.edges == 0].any()
    networks = found.sampled(100, np.random.RandomState(0))
    assert all(
        asked.constraints.allows(x, mask)
        for row in networks.tolist()
        for x, mask in enumerate(row)
        if x in asked.constraints.modelled
    )


@pytest.mark.parametrize("criterion", ["bic", pytest.param("ebic", marks=pytest.mark.slow)])
def test_criteria(criterion):
    scores = LocalScoreTransformer(criterion).fit_transform(rows_of(6, seed=2))
    found = assert_near_exact(scores, settings())
    assert found.complaint(scores.columns) == ""


def test_nodes_and_interventions():
    rows = rows_of(7, n=90, seed=3)
    nodes = {"a": [0, 1], "b": [2], "c": [3, 4], "d": [5], "e": [6]}
    is_set = np.zeros(rows.shape, bool)
    is_set[:20, 0] = is_set[20:50, 1] = True
    for scores in (
        LocalScoreTransformer("bge", nodes=nodes).fit_transform(rows),
        LocalScoreTransformer("bge").fit_transform(rows, interventions=is_set),
    ):
        assert_near_exact(scores, settings(200))


@pytest.mark.parametrize("m", [2, 3])
def test_very_few_columns(m):
    rows = np.random.default_rng(m).normal(size=(30, m)).cumsum(axis=1)
    assert_near_exact(LocalScoreTransformer("bge").fit_transform(rows), settings())


@pytest.mark.usefixtures("two_blas_threads")
@pytest.mark.parametrize("m", [9, pytest.param(24, marks=pytest.mark.slow)])
def test_jobs_change_no_bit(monkeypatch, m):
    """With random candidates; chains of 24 columns begin with order searches."""
    set_candidates(monkeypatch, fixed=3, random=3)
    scores = LocalScoreTransformer("bge").fit_transform(rows_of(m, n=100))
    one, two = (
        sampled_posterior(problem(scores), resources(1 << 28, n_jobs=n), settings(40))
        for n in (1, 2)
    )
    assert one.edges.max() > 0.5
    np.testing.assert_array_equal(one.edges, two.edges)
    np.testing.assert_array_equal(one.agreement.of_chains, two.agreement.of_chains)
    np.testing.assert_array_equal(np.concatenate(one.parents), np.concatenate(two.parents))


def test_time_limit_and_progress():
    notes = []
    given = resources(
        PLENTY, listeners=(lambda percent, left, note: notes.append((percent, note)),)
    )
    scores = LocalScoreTransformer("bge").fit_transform(rows_of(8))
    found = sampled_posterior(problem(scores), replace(given, time_limit=0.5), settings())
    assert found.agreement.n > 4 * 20
    assert notes[-1][0] == 100
    assert sum("chains differ by up to 0." in note for _, note in notes) == 20


def test_ctrl_c_keeps_what_is_there():
    scores = LocalScoreTransformer("bge").fit_transform(rows_of(8))

    def interrupt(percent, left, note):
        if percent > 70 and not sent:
            sent.append(percent)
            signal.raise_signal(signal.SIGINT)

    sent = []
    given = resources(PLENTY, listeners=(interrupt,))
    found = sampled_posterior(problem(scores), given, settings(200))
    assert found.is_interrupted
    assert 0 < found.agreement.n < 4 * 200
    assert "Ctrl-C ended the Markov chains early" in found.complaint(scores.columns)


def test_ctrl_c_during_the_burn_in():
    scores = LocalScoreTransformer("bge").fit_transform(rows_of(8))

    def interrupt(percent, left, note):
        if percent > 10:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        sampled_posterior(problem(scores), resources(PLENTY, listeners=(interrupt,)), settings())
    assert threading.active_count() < 50


def test_memory():
    scores = LocalScoreTransformer("bge").fit_transform(rows_of(30))
    with pytest.raises(ValueError, match="The tables of 4 Markov chains"):
        sampled_posterior(problem(scores), Resources(1 << 20), settings())


def test_chains_that_disagree():
    """Few states of ten columns that all depend on each other."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 10)) @ rng.normal(size=(10, 10))
    scores = LocalScoreTransformer("bge").fit_transform(rows)
    found = sampled_posterior(problem(scores), resources(PLENTY), settings(100))
    i, j = divmod(int(found.agreement.differences.argmax()), 10)
    complaint = found.complaint(scores.columns)
    assert complaint.startswith("The Markov chains disagree. By chain")
    assert f": {i} -> {j} (" in complaint
    assert found.agreement.edge_errors[i, j] > 0.02


def sum_of_columns(n):
    """Scores of 26 columns in order, of which the last is the sum of the first n, with noise."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 26))
    rows[:, 25] = rows[:, :n].sum(axis=1) + rng.normal(size=400)
    scores = LocalScoreTransformer(BIC()).fit_transform(rows)
    return scores, problem(scores, tiers=[[z] for z in range(26)])


def test_columns_with_more_parents_than_candidates(monkeypatch):
    """A sum of 18 columns begins with as many as may be candidates, and the complaint names it."""
    set_candidates(monkeypatch, fixed=8, random=4)
    scores, asked = sum_of_columns(18)
    found = sampled_posterior(asked, resources(1 << 28), settings(40))
    assert found.shares_at_limit[25] > 0.9
    assert "The columns 25 often have as many parents" in found.complaint(scores.columns)


@pytest.mark.slow
def test_columns_with_many_parents():
    """The same with 13 columns, all of which may be candidates of the one that needs them."""
    _, asked = sum_of_columns(13)
    found = sampled_posterior(asked, resources(1 << 32), settings(200))
    assert (found.edges[:13, 25] > 0.999).all()
    assert (found.edges[13:25, 25] < 0.5).all()
    assert found.shares_at_limit[25] < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("has_random", [False, True])
def test_larger_tables(monkeypatch, has_random):
    if has_random:
        set_candidates(monkeypatch, fixed=6, random=4)
    rows = rows_of(18, n=200, seed=5)
    assert_near_exact(LocalScoreTransformer("bge").fit_transform(rows), settings(8000))

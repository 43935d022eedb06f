"""Samples of networks have the frequencies of the posterior, by enumeration or by its sums."""

import math
import signal
import threading
from collections import Counter
from dataclasses import replace

import enumerated
import numpy as np
import pytest
from agreement import LEAST_P_VALUE, assert_drawn_from, raises
from enumerated import PRIORS, scores_of
from problems import PLENTY, problem, resources
from scipy import stats

from skbn import BIC, LocalScoreTransformer
from skbn._core.resources import Resources, Threads
from skbn._posterior import sampled_posterior as module
from skbn._posterior.listed_weights import ListedWeights
from skbn._posterior.network_posterior import network_posterior
from skbn._posterior.sampled_posterior import ChainSettings, sampled_posterior
from skbn._posterior.sampling import sample_networks, sample_networks_of_group
from skbn.datasets import make_gaussian_network

pytestmark = pytest.mark.usefixtures("kernels_for_few_columns")

ROOTS = {"required_edges": [(1, 2)], "forbidden_edges": [(..., 0), (..., 3)]}
OTHERS = {"tiers": [[3, 4], [0, 1, 2]]}
EDGES_OF_OTHERS = {"required_edges": [(3, 0)], "forbidden_edges": [(4, 1), (3, 2)]}
TWO, FOUR, FIVE = ({"m": m, "n": 25} for m in (2, 4, 5))
# Tables, and what is known of their networks.
CASES = {
    **{f"{m} columns": ({"m": m}, {}) for m in (2, 3, 4)},
    "flat scores": ({"m": 4, "n": 2, "noise": 30.0}, {}),
    "steep scores": ({"m": 4, "n": 100_000, "noise": 30.0}, {}),
    "odds": ({"m": 4}, {"log_odds": np.log(np.random.default_rng(0).uniform(0.2, 3, (4, 4)))}),
    "edges": (FOUR, {"required_edges": [(0, 1)], "forbidden_edges": [(1, 0), (2, 3)]}),
    "roots": (FOUR, ROOTS),
    "an order": (FOUR, {"required_edges": [(1, 0), (2, 1), (3, 2)]}),
    "others": (FIVE, OTHERS),
    "others within constraints": (FIVE, {**OTHERS, **EDGES_OF_OTHERS}),
    "one column": (TWO, {"tiers": [[1], [0]]}),
    "one column without parents": (TWO, {"tiers": [[1], [0]], "forbidden_edges": [(1, 0)]}),
    "one column after three": (FOUR, {"tiers": [[1, 2, 3], [0]], "forbidden_edges": [(2, 0)]}),
}


def posterior_of(scores, prior, **knowledge):
    found = enumerated.posterior_of(scores, prior, **knowledge)
    limited = "max_parents" in knowledge
    assert limited or not any(isinstance(each.weights, ListedWeights) for each in found.groups)
    return found


def sampled(posterior, n_samples, seed=0, n_jobs=1):
    return sample_networks(posterior, n_samples, np.random.default_rng(seed), n_jobs)


def probabilities_of(scores, prior, **knowledge):
    """The probability of each network that has one, by the tuple of its parents' masks."""
    expected = enumerated.enumerated(scores, prior, **knowledge)
    pairs = zip(map(tuple, expected.networks.tolist()), expected.probabilities, strict=True)
    return {parents: p for parents, p in pairs if p > 0}


def assert_shares(found, expected, n_samples):
    """Each share is that of binomial counts."""
    expected = np.clip(expected, 0.0, 1.0)
    counts = np.rint(found * n_samples)
    above = stats.binom.sf(counts - 1, n_samples, expected)
    below = stats.binom.cdf(counts, n_samples, expected)
    assert np.minimum(above, below).min() > LEAST_P_VALUE / found.size


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("case", CASES)
def test_networks_have_their_frequencies(prior, case):
    drawn, knowledge = CASES[case]
    scores = scores_of(**drawn)
    samples = sampled(posterior_of(scores, prior, **knowledge), 20_000)
    found = Counter(map(tuple, samples.tolist()))
    assert_drawn_from(found, probabilities_of(scores, prior, **knowledge))


@pytest.mark.parametrize("prior", PRIORS)
def test_threads_do_not_change_samples(prior):
    posterior = posterior_of(scores_of(6), prior)
    samples = sampled(posterior, 3000, seed=3)
    assert np.array_equal(sampled(posterior, 3000, seed=3, n_jobs=3), samples)
    assert not np.array_equal(sampled(posterior, 3000, seed=4), samples)


@pytest.mark.parametrize("prior", PRIORS)
def test_samples_come_in_random_order(prior):
    samples = sampled(posterior_of(scores_of(5), prior), 20_000)
    n_roots = (samples == 0).sum(axis=1)
    n_edges = np.bitwise_count(samples).sum(axis=1)
    for numbers in (n_roots, n_edges, samples[:, 0]):
        correlation = np.corrcoef(numbers[1:], numbers[:-1])[0, 1]
        assert abs(correlation) < 6 / math.sqrt(len(samples))


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(
    ("m", "knowledge"),
    [
        (2, {}),
        (10, {"max_parents": 2, "required_edges": [(0, 3), (3, 5)], "forbidden_edges": [(1, 2)]}),
        (10, {"tiers": [[2], [4, 6, 8], ...]}),
        (9, {"tiers": [[5, 6], [1, 2, 3], [0], [4], ...], "max_parents": 3}),
    ],
)
def test_edges_and_paths_have_their_frequencies(prior, m, knowledge):
    posterior = posterior_of(scores_of(m, n=100), prior, **knowledge)
    n_samples = 10_000
    samples = sampled(posterior, n_samples)
    is_edge = np.stack([samples >> p & 1 for p in range(m)], axis=1).astype(bool)
    assert_shares(is_edge.mean(axis=0), posterior.edges, n_samples)
    if prior == "uniform":
        is_path = is_edge.copy()
        for via in range(m):
            is_path |= is_path[:, :, [via]] & is_path[:, [via], :]
        assert_shares(is_path.mean(axis=0), posterior.paths, n_samples)


@pytest.mark.parametrize("prior", PRIORS)
def test_no_samples(prior):
    assert sampled(posterior_of(scores_of(4), prior), 0).shape == (0, 4)


def with_sums(posterior, change):
    """A posterior whose one group has other sums, from which networks are drawn."""
    (group,) = posterior.groups
    name = "drawn_from" if posterior.prior == "uniform" else "F"
    sums = replace(group.sums, **{name: change(getattr(group.sums, name))})
    return replace(posterior, groups=[replace(group, sums=sums)])


def test_rounding_does_not_lead_to_impossible_networks():
    scores = scores_of(4)
    posterior = posterior_of(scores, "uniform", **ROOTS)
    noise = np.random.default_rng(0).integers(1 << posterior.groups[0].weights.wide.bits, size=16)
    rounded = with_sums(posterior, lambda M: np.where(M > 0, M + noise, M))
    rng, unused = np.random.default_rng(0), np.random.default_rng(0)
    samples = sample_networks(rounded, 20_000, rng)
    assert set(map(tuple, samples.tolist())) <= set(probabilities_of(scores, "uniform", **ROOTS))
    unused.integers(2**64, size=20_000, dtype=np.uint64)
    assert rng.random() != unused.random()  # some samples have been drawn again


@pytest.mark.parametrize("prior", PRIORS)
def test_sums_without_weight_are_an_internal_error(prior):
    empty = with_sums(posterior_of(scores_of(3), prior), np.zeros_like)
    raises("dead ends", sampled, empty, 5, kind=RuntimeError)


def test_too_little_memory():
    (group,) = posterior_of(scores_of(4), "order").groups
    words = r"Drawing 1000000000000 networks of 4 columns needs .* draw fewer at a time"
    with Threads(1) as threads, pytest.raises(ValueError, match=words):
        sample_networks_of_group("order", group, threads, 10**12, np.random.default_rng(0))


# Posteriors that are sampled, against exact ones


def settings(n_samples=600, seed=0, n_chains=4):
    return ChainSettings(n_chains, n_samples, np.random.SeedSequence(seed))


def table_of(m, n=60, seed=0):
    return make_gaussian_network(m, n_samples=n, random_state=seed)[0]


def bge_scores(*drawn, **settings):
    return LocalScoreTransformer("bge").fit_transform(table_of(*drawn, **settings))


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


KNOWN_TO_CHAINS = [
    {},
    {"max_parents": 2, "required_edges": [(0, 1), (2, 1)]},
    {"tiers": [[0, 1, 2], [3, 4], [5, 6]], "forbidden_edges": [(0, 1), (0, 3), (4, 6)]},
    {"exogenous": [1, 3]},
]
NODES = {"a": [0, 1], "b": [2], "c": [3, 4], "d": [5], "e": [6]}
IS_SET = np.zeros((90, 7), bool)
IS_SET[:20, 0] = IS_SET[20:50, 1] = True
OF_ALL_KINDS = {"required_edges": [(2, 1)], "forbidden_edges": [(3, 2)], "exogenous": [4]}


@pytest.mark.parametrize(
    ("knowledge", "few_candidates"),
    [*((each, False) for each in KNOWN_TO_CHAINS), (OF_ALL_KINDS, True)],
    ids=lambda each: str(each) if isinstance(each, bool) else "-".join(each) or "free",
)
def test_probabilities_of_few_columns(monkeypatch, knowledge, few_candidates):
    """With all candidates, and with two fixed and three random ones."""
    m = 7
    if few_candidates:
        set_candidates(monkeypatch, fixed=2, random=3)
        knowledge = {"max_parents": 3, **knowledge}
    scores = bge_scores(m)
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


@pytest.mark.parametrize(
    ("drawn", "n_samples", "options"),
    [
        *(((m, 30, m), 100, {"criterion": "bge"}) for m in (2, 3)),
        ((6, 60, 2), 600, {"criterion": "bic"}),
        pytest.param((6, 60, 2), 600, {"criterion": "ebic"}, marks=pytest.mark.slow),
        ((7, 90, 3), 80, {"criterion": "bge", "nodes": NODES}),
        ((7, 90, 3), 80, {"criterion": "bge", "interventions": IS_SET}),
    ],
)
def test_criteria_nodes_and_interventions(drawn, n_samples, options):
    given = {"interventions": options["interventions"]} if "interventions" in options else {}
    own = {key: value for key, value in options.items() if key not in given}
    scores = LocalScoreTransformer(**own).fit_transform(table_of(*drawn), **given)
    found = assert_near_exact(scores, settings(n_samples))
    assert n_samples < 600 or found.complaint(scores.columns) == ""


@pytest.mark.usefixtures("two_blas_threads")
@pytest.mark.parametrize("m", [9, pytest.param(24, marks=pytest.mark.slow)])
def test_jobs_change_no_bit(monkeypatch, m):
    """With random candidates; chains of 24 columns begin with order searches."""
    set_candidates(monkeypatch, fixed=3, random=3)
    scores = bge_scores(m, n=100)
    one, two = (
        sampled_posterior(problem(scores), resources(1 << 28, n_jobs=n), settings(20))
        for n in (1, 2)
    )
    assert one.edges.max() > 0.5
    np.testing.assert_array_equal(one.edges, two.edges)
    np.testing.assert_array_equal(one.agreement.of_chains, two.agreement.of_chains)
    np.testing.assert_array_equal(np.concatenate(one.parents), np.concatenate(two.parents))


def test_time_limit_and_progress():
    notes = []
    listeners = [lambda percent, left, note: notes.append((percent, note))]
    given = resources(PLENTY, listeners=listeners, time_limit=0.5)
    found = sampled_posterior(problem(bge_scores(8)), given, settings())
    assert found.agreement.n > 4 * 20
    assert notes[-1][0] == 100
    assert sum("chains differ by up to 0." in note for _, note in notes) == 20


def test_ctrl_c_keeps_what_is_there():
    scores = bge_scores(8)

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
    scores = bge_scores(8)

    def interrupt(percent, left, note):
        if percent > 10:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        sampled_posterior(problem(scores), resources(PLENTY, listeners=(interrupt,)), settings())
    assert threading.active_count() < 50


def test_memory():
    asked = problem(bge_scores(30)), Resources(1 << 20), settings()
    raises("The tables of 4 Markov chains", sampled_posterior, *asked)


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
    assert_near_exact(bge_scores(16, n=200, seed=5), settings(2000))

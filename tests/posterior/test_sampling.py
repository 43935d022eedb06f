"""Samples of networks have the frequencies of the posterior, found by enumeration or by its sums.

Seeds are fixed. A test of random numbers fails with a probability below 1e-6.
"""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from enumerated import enumerated
from problems import PLENTY, problem, resources
from scipy import stats

from skbn import BGe, LocalScoreTransformer
from skbn._core.resources import Threads
from skbn._posterior.listed_weights import ListedWeights
from skbn._posterior.network_posterior import network_posterior
from skbn._posterior.sampling import sample_networks, sample_networks_of_group

PRIORS = ["uniform", "order"]
LEAST_P_VALUE = 1e-7
ROOTS = {"required_edges": [(1, 2)], "forbidden_edges": [(..., 0), (..., 3)]}
KNOWLEDGE = {
    "edges": (4, {"required_edges": [(0, 1)], "forbidden_edges": [(1, 0), (2, 3)]}),
    "roots": (4, ROOTS),
    "an order": (4, {"required_edges": [(1, 0), (2, 1), (3, 2)]}),
    "others": (5, {"tiers": [[3, 4], [0, 1, 2]]}),
    "others within constraints": (
        5,
        {
            "tiers": [[3, 4], [0, 1, 2]],
            "required_edges": [(3, 0)],
            "forbidden_edges": [(4, 1), (3, 2)],
        },
    ),
    "one column": (2, {"tiers": [[1], [0]]}),
    "one column without parents": (2, {"tiers": [[1], [0]], "forbidden_edges": [(1, 0)]}),
    "one column after three": (4, {"tiers": [[1, 2, 3], [0]], "forbidden_edges": [(2, 0)]}),
}


def scores_of(m, n_rows=60, seed=0, noise=1.0):
    rng = np.random.default_rng([seed, m])
    X = noise * rng.normal(size=(n_rows, m)) + rng.normal(size=(n_rows, m)) @ rng.normal(
        size=(m, m)
    )
    return LocalScoreTransformer(BGe()).fit_transform(X)


def posterior_of(scores, prior, log_odds=None, **knowledge):
    asked = problem(scores, **knowledge)
    found = network_posterior(asked, resources(PLENTY), prior=prior, log_odds=log_odds)
    limited = "max_parents" in knowledge
    assert limited or not any(isinstance(each.weights, ListedWeights) for each in found.groups)
    return found


def sampled(posterior, n_samples, seed=0, n_jobs=1):
    return sample_networks(posterior, n_samples, np.random.default_rng(seed), n_jobs)


def probabilities_of(scores, prior, log_odds=None, **knowledge):
    """The probability of each network that has one, by the tuple of its parents' masks."""
    expected = enumerated(scores, prior, log_odds, **knowledge)
    pairs = zip(map(tuple, expected.networks.tolist()), expected.probabilities, strict=True)
    return {parents: p for parents, p in pairs if p > 0}


def check_frequencies(scores, prior, *given, **knowledge):
    samples = sampled(posterior_of(scores, prior, *given, **knowledge), 50_000)
    assert_frequencies(samples, probabilities_of(scores, prior, *given, **knowledge))


def assert_frequencies(samples, probabilities):
    """Pearson's chi-square test; networks with a probability of 0 must not be among the samples."""
    found = Counter(map(tuple, samples.tolist()))
    assert found.keys() <= probabilities.keys()
    counts = np.array([found[parents] for parents in probabilities])
    expected = len(samples) * np.array(list(probabilities.values()))
    is_rare = expected < 5
    counts = np.append(counts[~is_rare], counts[is_rare].sum())
    expected = np.append(expected[~is_rare], expected[is_rare].sum())
    if expected[-1] < 5:
        assert stats.poisson.sf(counts[-1] - 1, expected[-1]) > LEAST_P_VALUE
        counts, expected = counts[:-1], expected[:-1]
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert len(expected) == 1 or stats.chi2.sf(chi_square, len(expected) - 1) > LEAST_P_VALUE


def assert_shares(found, expected, n_samples):
    """Each share is that of binomial counts."""
    expected = np.clip(expected, 0.0, 1.0)
    counts = np.rint(found * n_samples)
    above = stats.binom.sf(counts - 1, n_samples, expected)
    below = stats.binom.cdf(counts, n_samples, expected)
    assert np.minimum(above, below).min() > LEAST_P_VALUE / found.size


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("m", [2, 3, 4])
def test_all_networks_have_their_frequencies(prior, m):
    check_frequencies(scores_of(m), prior)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("n_rows", [2, 100_000])
def test_flat_and_steep_scores(prior, n_rows):
    check_frequencies(scores_of(4, n_rows=n_rows, noise=30.0), prior)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("kind", KNOWLEDGE)
def test_networks_within_knowledge(prior, kind):
    m, knowledge = KNOWLEDGE[kind]
    check_frequencies(scores_of(m, n_rows=25), prior, **knowledge)


@pytest.mark.parametrize("prior", PRIORS)
def test_prior_odds_of_edges(prior):
    log_odds = np.log(np.random.default_rng(0).uniform(0.2, 3.0, size=(4, 4)))
    check_frequencies(scores_of(4), prior, log_odds)


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
    posterior = posterior_of(scores_of(m, n_rows=100), prior, **knowledge)
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
    name = "M" if posterior.prior == "uniform" else "F"
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
    with pytest.raises(RuntimeError, match="dead ends"):
        sampled(empty, 5)


def test_too_little_memory():
    (group,) = posterior_of(scores_of(4), "order").groups
    given = group.sums.F, group.weights, group.weights.plan
    words = r"Drawing 1000000000000 networks of 4 columns needs .* draw fewer at a time"
    with Threads(1) as threads, pytest.raises(ValueError, match=words):
        sample_networks_of_group("order", *given, threads, 10**12, np.random.default_rng(0))

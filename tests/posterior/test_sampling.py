"""Samples of networks have the frequencies of the posterior, found by enumeration or recurrences.

Seeds are fixed. A test of random numbers fails with a probability below 1e-6.
"""

import math
from collections import Counter

import mpmath
import numpy as np
import pytest
import reference
from problems import PLENTY, problem, resources
from scipy import stats

from skbn import BGe, LocalScoreTransformer
from skbn._core.compile import compile_kernels
from skbn._core.resources import Progress, Threads
from skbn._exact.plan import SearchPlan
from skbn._posterior.family_weights import WEIGHT_KERNELS, FamilyWeights
from skbn._posterior.network_posterior import network_posterior
from skbn._posterior.order_sums import ORDER_KERNELS, Alpha, order_sums
from skbn._posterior.sampling import (
    SAMPLING_KERNELS,
    sample_networks,
    sample_networks_of_group,
)
from skbn._regressions.set_function import SetWeights

PRIORS = ["uniform", "order"]
LEAST_P_VALUE = 1e-7


class Group:
    """The first columns of a table; the last `n_others` may only be their parents."""

    def __init__(self, scores, n_others=0, required=None, allowed=None, odds=1.0, n_outer=0):
        m = len(scores.columns)
        self.n = m - n_others
        self.plan = SearchPlan(self.n, n_outer, n_others)
        self.required = [0] * self.n if required is None else required
        self.allowed = (
            [reference.others_of(x, m) for x in range(self.n)] if allowed is None else allowed
        )
        self.log_weights = reference.with_edge_odds(reference.log_weights_of(scores), odds)
        # Others have no parents, and stand before all columns of the group.
        self.log_weights[self.n :] = [{0: 0.0}] * n_others
        self.log_weights = reference.restricted(
            self.log_weights, self.required + [0] * n_others, self.allowed + [0] * n_others
        )
        log_odds = np.log(np.broadcast_to(odds, (m, m)))[:, : self.n].T.copy()
        layout = self.plan if self.n > 1 else SearchPlan(m, 0)
        weights = SetWeights(scores.scorer.tables)
        sets = [weights.of_all(scores.scorer.log_determinants())] * m
        with Threads(1) as threads:
            self.weights = FamilyWeights(
                sets, layout, threads, self.allowed, self.required, log_odds
            )
        self.offsets = scores.scorer.score_offsets

    def sums(self, prior):
        if self.n == 1:
            return np.zeros(2, np.int64)
        return self.over_orders() if prior == "order" else self.completions()

    def over_orders(self):
        with Threads(1) as threads:
            return order_sums(Alpha(self.weights, self.plan, threads, Progress())).F

    def completions(self):
        """The backward sums of the reference, in the units of the weights."""
        wide = self.weights.wide
        others = len(self.log_weights) - self.n
        M = reference.uniform_recurrence(self.log_weights).backward
        scaled = np.zeros(1 << self.n, np.int64)
        shifts = wide.bias - self.weights.biases
        for U, weight in enumerate(M[((1 << others) - 1) << self.n :]):
            left = [x for x in range(self.n) if not U >> x & 1]
            unit = math.fsum(self.offsets[x] for x in left)
            if weight > 0:
                mantissa, exponent = mpmath.frexp(weight / mpmath.exp(mpmath.mpf(unit)))
                shifted = int(exponent) - int(sum(shifts[x] for x in left))
                scaled[U] = wide.from_float(float(mantissa)) + (shifted << wide.bits)
        return scaled

    def sample(self, prior, n_samples, seed=0, n_jobs=1, sums=None):
        rng = np.random.default_rng(seed)
        sums = self.sums(prior) if sums is None else sums
        with Threads(n_jobs) as threads:
            return sample_networks_of_group(
                prior, sums, self.weights, self.plan, threads, n_samples, rng
            )

    def probabilities(self, prior):
        """The probability of each network that has one, by the tuple of its parents' masks."""
        own = [(1 << self.n) - 1]  # only the group's columns are ordered
        found = reference.posterior_by_enumeration(self.log_weights, prior, groups=own)
        networks = found.networks[:, : self.n].tolist()
        pairs = zip(map(tuple, networks), found.probabilities, strict=True)
        return {parents: p for parents, p in pairs if p > 0}


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    of_samples = [*SAMPLING_KERNELS["uniform"], *SAMPLING_KERNELS["order"]]
    compile_kernels([*WEIGHT_KERNELS, *ORDER_KERNELS, *of_samples])


def scores_of(m, n_rows=60, seed=0, noise=1.0):
    rng = np.random.default_rng([seed, m])
    X = noise * rng.normal(size=(n_rows, m)) + rng.normal(size=(n_rows, m)) @ rng.normal(
        size=(m, m)
    )
    return LocalScoreTransformer(BGe()).fit_transform(X)


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
    group = Group(scores_of(m))
    assert_frequencies(group.sample(prior, 30_000), group.probabilities(prior))


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("n_rows", [2, 100_000])
def test_flat_and_steep_scores(prior, n_rows):
    group = Group(scores_of(4, n_rows=n_rows, noise=30.0))
    assert_frequencies(group.sample(prior, 50_000), group.probabilities(prior))


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(
    ("required", "allowed"),
    [
        ([0, 0b0001, 0, 0], [0b1100, 0b1101, 0b1011, 0b0011]),
        ([0, 0, 0b0010, 0], [0b0000, 0b1101, 0b1011, 0b0000]),
        ([0b0010, 0b0100, 0b1000, 0], [0b1110, 0b1101, 0b1011, 0b0111]),
    ],
)
def test_constraints(prior, required, allowed):
    group = Group(scores_of(4), required=required, allowed=allowed)
    assert_frequencies(group.sample(prior, 50_000), group.probabilities(prior))


@pytest.mark.parametrize("prior", PRIORS)
def test_prior_odds_of_edges(prior):
    odds = np.random.default_rng(0).uniform(0.2, 3.0, size=(4, 4))
    group = Group(scores_of(4), odds=odds)
    assert_frequencies(group.sample(prior, 50_000), group.probabilities(prior))


@pytest.mark.parametrize("prior", PRIORS)
def test_others_are_parents_only(prior):
    group = Group(scores_of(5, n_rows=25), n_others=2)
    assert_frequencies(group.sample(prior, 50_000), group.probabilities(prior))


@pytest.mark.parametrize("prior", PRIORS)
def test_others_within_constraints(prior):
    required = [0b01000, 0, 0]
    allowed = [0b11110, 0b01101, 0b10011]
    group = Group(scores_of(5, n_rows=25), n_others=2, required=required, allowed=allowed)
    assert_frequencies(group.sample(prior, 50_000), group.probabilities(prior))


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("n_others", "allowed"), [(1, 0b00), (1, 0b10), (3, 0b1110), (3, 0b1010)])
def test_one_column(prior, n_others, allowed):
    group = Group(scores_of(1 + n_others), n_others, allowed=[allowed])
    assert_frequencies(group.sample(prior, 20_000), group.probabilities(prior))


@pytest.mark.parametrize("n_outer", [1, 2])
def test_slabs_do_not_change_samples(n_outer):
    scores = scores_of(4)
    samples = Group(scores).sample("order", 5000)
    assert np.array_equal(Group(scores, n_outer=n_outer).sample("order", 5000), samples)


@pytest.mark.parametrize("prior", PRIORS)
def test_threads_do_not_change_samples(prior):
    group = Group(scores_of(6))
    sums = group.sums(prior)
    samples = group.sample(prior, 3000, seed=3, sums=sums)
    assert np.array_equal(group.sample(prior, 3000, seed=3, n_jobs=3, sums=sums), samples)
    assert not np.array_equal(group.sample(prior, 3000, seed=4, sums=sums), samples)


@pytest.mark.parametrize("prior", PRIORS)
def test_samples_come_in_random_order(prior):
    samples = Group(scores_of(5)).sample(prior, 20_000)
    n_roots = (samples == 0).sum(axis=1)
    n_edges = np.bitwise_count(samples).sum(axis=1)
    for numbers in (n_roots, n_edges, samples[:, 0]):
        correlation = np.corrcoef(numbers[1:], numbers[:-1])[0, 1]
        assert abs(correlation) < 6 / math.sqrt(len(samples))


def posterior_of(scores, prior, **knowledge):
    return network_posterior(problem(scores, **knowledge), resources(PLENTY), prior=prior)


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
    samples = sample_networks(posterior, n_samples, np.random.default_rng(0))
    is_edge = np.stack([samples >> p & 1 for p in range(m)], axis=1).astype(bool)
    assert_shares(is_edge.mean(axis=0), posterior.edges, n_samples)
    if prior == "uniform":
        is_path = is_edge.copy()
        for via in range(m):
            is_path |= is_path[:, :, [via]] & is_path[:, [via], :]
        assert_shares(is_path.mean(axis=0), posterior.paths, n_samples)


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS)
def test_edges_of_twenty_columns_have_their_frequencies(prior):
    posterior = posterior_of(scores_of(20, n_rows=1000), prior)
    samples = sample_networks(posterior, 5000, np.random.default_rng(0), n_jobs=2)
    is_edge = np.stack([samples >> p & 1 for p in range(20)], axis=1)
    assert_shares(is_edge.mean(axis=0), posterior.edges, 5000)
    assert np.array_equal(sample_networks(posterior, 5000, np.random.default_rng(0)), samples)


@pytest.mark.parametrize("prior", PRIORS)
def test_no_samples(prior):
    posterior = posterior_of(scores_of(4), prior)
    assert sample_networks(posterior, 0, np.random.default_rng(0)).shape == (0, 4)


def test_rounding_does_not_lead_to_impossible_networks():
    required, allowed = [0, 0, 0b0010, 0], [0b0000, 0b1101, 0b1011, 0b0000]
    group = Group(scores_of(4), required=required, allowed=allowed)
    M = group.completions()
    noise = np.random.default_rng(0).integers(1 << group.weights.wide.bits, size=len(M))
    rng, unused = np.random.default_rng(0), np.random.default_rng(0)
    samples = group.sample("uniform", 20_000, rng, sums=np.where(M > 0, M + noise, M))
    assert set(map(tuple, samples.tolist())) <= set(group.probabilities("uniform"))
    unused.integers(2**64, size=20_000, dtype=np.uint64)
    assert rng.random() != unused.random()  # some samples have been drawn again


@pytest.mark.parametrize("prior", PRIORS)
def test_sums_without_weight_are_an_internal_error(prior):
    group = Group(scores_of(3))
    with pytest.raises(RuntimeError, match="dead ends"):
        group.sample(prior, 5, sums=np.zeros(8, np.int64))


def test_too_little_memory():
    group = Group(scores_of(4))
    words = r"Drawing 1000000000000 networks of 4 columns needs .* draw fewer at a time"
    with pytest.raises(ValueError, match=words):
        group.sample("order", 10**12)

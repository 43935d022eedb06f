"""The posterior of all networks against enumeration, other recurrences and closed forms."""

import functools
import math
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
import reference
from agreement import raises
from enumerated import (
    PRIORS,
    assert_agree,
    enumerated,
    enumerated_prior,
    posterior_of,
    scores_of,
    weights_of,
)

from skbn import BIC, EBIC, BGe, Criterion, LocalScoreTransformer
from skbn._core.compile import compile_kernels
from skbn._core.extended_floats import WideFormat, is_zero
from skbn._core.resources import Progress, Threads
from skbn._exact.sink_kernels import Tables
from skbn._posterior import network_sums as module
from skbn._posterior.network_sum_kernels import ROW_BITS
from skbn._posterior.network_sums import NETWORK_KERNELS, network_sums
from skbn.datasets import make_gaussian_network

pytestmark = pytest.mark.usefixtures("kernels_for_few_columns")

KNOWLEDGE = [
    {},
    {"max_parents": 1},
    {"max_parents": 2},
    {"required_edges": [(0, 1)]},
    {"required_edges": [(0, 2), (1, 2)]},
    {"forbidden_edges": [(2, 1), (0, 2)]},
    {"tiers": [[0], [1, 2], ...]},
    {"tiers": [[2], [0], [1], ...]},
    {"tiers": [[0], [1], [2], [3], ...]},
    {"tiers": [[3, 1], [0], ...]},
    {"tiers": [[0, 1], ...], "forbidden_edges": [(0, 2)], "max_parents": 2},
]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("m", [2, 4, 5])
@pytest.mark.parametrize("criterion", [BGe(), BGe(alpha_mu=0.1), BIC(), EBIC()])
def test_all_networks_are_summed(prior, m, criterion):
    scores = scores_of(m, criterion, seed=m)
    found, expected = posterior_of(scores, prior), enumerated(scores, prior)
    assert_agree(found, expected)
    assert found.log_prior_sum == pytest.approx(expected.log_n, abs=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("m", [4, 5])
@pytest.mark.parametrize("knowledge", KNOWLEDGE)
def test_knowledge_and_prior_odds_are_conditioned_on(prior, m, knowledge):
    """Orders are counted within each tier."""
    scores = scores_of(m, seed=m)
    odds = None if m == 5 else np.random.default_rng(m).normal(size=(m, m))
    found = posterior_of(scores, prior, log_odds=odds, **knowledge)
    assert_agree(found, enumerated(scores, prior, odds, **knowledge))
    normaliser = enumerated_prior(scores, prior, odds, **knowledge).log_evidence
    assert found.log_prior_sum == pytest.approx(normaliser, abs=1e-12)


class TwoParentsOrNone(Criterion):
    """BGe's likelihood for families of no or two parents; others are ruled out."""

    marginal_likelihood = "exact"

    def tables(self, n_samples, m):
        tables = BIC().tables(n_samples, m)
        tables[0, [size for size in range(m) if size not in (0, 2)]] = -np.inf
        return tables


@pytest.mark.parametrize("prior", PRIORS)
def test_a_criterion_may_rule_families_out(prior):
    scores = scores_of(5, TwoParentsOrNone())
    assert_agree(posterior_of(scores, prior), enumerated(scores, prior))


@pytest.mark.parametrize("prior", PRIORS)
def test_recurrences_of_eight_columns(prior):
    rows = make_gaussian_network(8, n_samples=300, random_state=3)[0]
    scores = LocalScoreTransformer(BGe()).fit_transform(rows)
    found = posterior_of(scores, prior)
    recurrence = reference.order_recurrence if prior == "order" else reference.uniform_recurrence
    expected = recurrence(weights_of(scores)[0])
    np.testing.assert_allclose(found.edges, expected.edges, rtol=0, atol=1e-11)
    assert found.log_sum == pytest.approx(expected.log_evidence, rel=1e-14)
    if prior == "uniform":
        np.testing.assert_allclose(found.paths, expected.paths, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    ("m", "n_networks"), [(2, 3), (3, 25), (4, 543), (5, 29_281), (6, 3_781_503)]
)
def test_networks_and_orders_are_counted(m, n_networks):
    class NoData(Criterion):
        marginal_likelihood = "exact"

        def tables(self, n_samples, m):
            return np.zeros((3, m))

    scores = scores_of(m, NoData())
    n_in_orders = math.factorial(m) * 2 ** (m * (m - 1) // 2)
    for prior, expected in (("uniform", n_networks), ("order", n_in_orders)):
        found = posterior_of(scores, prior)
        assert math.exp(found.log_sum) == pytest.approx(expected, rel=1e-12)
        assert math.exp(found.log_prior_sum) == pytest.approx(expected, rel=1e-12)
        # Without data both directions of an edge are equally probable.
        np.testing.assert_allclose(found.edges, found.edges.T, atol=1e-13)


@pytest.mark.parametrize("prior", PRIORS)
def test_number_of_threads_changes_no_bit(prior, monkeypatch):
    monkeypatch.setattr("skbn._core.resources.FEWEST_COLUMNS", 0)
    rows = make_gaussian_network(14, n_samples=100, random_state=3)[0]
    scores = LocalScoreTransformer(BGe()).fit_transform(rows)
    one, *others = (posterior_of(scores, prior, n_jobs=n) for n in (1, 3))
    for other in others:
        np.testing.assert_array_equal(one.edges, other.edges)
        assert one.log_sum == other.log_sum
        if prior == "uniform":
            np.testing.assert_array_equal(one.paths, other.paths)


@pytest.mark.parametrize("prior", PRIORS)
def test_constraints_that_no_network_meets(prior):
    scores = scores_of(4, TwoParentsOrNone())
    message, knowledge = r"No acyclic network of .* has a finite score", {"max_parents": 1}
    raises(message, posterior_of, scores, prior, required_edges=[(0, 1)], **knowledge)


def test_too_little_memory_says_what_would_fit():
    scores = scores_of(16, n=100)
    message = r"16 columns with the uniform prior needs .* 1\.0 MB are allowed by max_memory\. .*"
    raises(message, posterior_of, scores, "uniform", allowed=1 << 20)


# The sums over all networks against recurrences to 40 digits


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    compile_kernels(NETWORK_KERNELS)


class Problem:
    """What the sums are given, in extended floats, from sums to 40 digits."""

    def __init__(self, log_weights):
        self.m = m = len(log_weights)
        # No child's largest weight is far from 1.
        best = [max(families.values()) for families in log_weights]
        self.log_weights = [
            {P: w - best[x] for P, w in families.items()} for x, families in enumerate(log_weights)
        ]
        fewest = [min(families, key=lambda P: P.bit_count()) for families in log_weights]
        of_fewest = sum(self.log_weights[x][fewest[x]] for x in range(m))
        self.wide = WideFormat.for_range(-of_fewest)
        over_orders = reference.order_recurrence(self.log_weights)
        starts = np.arange(m + 1) << (m - 1)
        self.alpha = Tables(np.zeros(m << (m - 1), dtype=np.int64), starts)
        with mpmath.workdps(reference.DIGITS):
            for x, families in enumerate(reference.weights_of(self.log_weights)):
                sums = reference.sums_over_subsets(families, m)
                for i, C in enumerate(reference.subsets_of(reference.others_of(x, m))):
                    self.alpha.entries[starts[x] + i] = self.to_wide(sums[C])
            self.F = np.array([self.to_wide(each) for each in over_orders.forward])
            self.R = np.array([self.to_wide(each) for each in over_orders.backward])

    @functools.cached_property
    def expected(self):
        return reference.uniform_recurrence(self.log_weights)

    def to_wide(self, number):
        if number == 0:
            return 0
        mantissa, exponent = mpmath.frexp(number)
        fraction = int(mpmath.nint((2 * mantissa - 1) * 2**self.wide.bits))
        return max((int(exponent) - 1 + self.wide.bias << self.wide.bits) + fraction, 0)

    def from_wide(self, number):
        exponent, mantissa = self.wide.split(int(number))
        return mpmath.ldexp(mantissa, exponent - self.wide.bias) if number else mpmath.mpf(0)

    def sums(self, n_jobs=1, progress=None):
        with Threads(n_jobs) as threads:
            return network_sums(self.as_made(threads, progress), self.F, self.R)

    def as_made(self, threads, progress=None):
        """The tables as the sums take them."""
        made = {"threads": threads, "progress": progress or Progress()}
        return SimpleNamespace(tables=self.alpha, wide=self.wide, **made)


def assert_near(found, expected, tolerance):
    """Compare numbers; those below 2**-800 count as zero."""
    assert abs(found - expected) <= tolerance * expected + mpmath.mpf(2) ** -800


def random_problem(m, spread=5.0, p_missing=0.0, required=None):
    rng = np.random.default_rng([m, int(spread)])
    log_weights = reference.random_log_weights(rng, m, spread, p_missing)
    return Problem(reference.restricted(log_weights, required))


def assert_sums_agree(problem, tolerance=1e-12):
    m, expected = problem.m, problem.expected
    found = problem.sums()
    assert found.log_total == pytest.approx(expected.log_evidence, abs=tolerance, rel=1e-15)
    assert found.log_total_forward == pytest.approx(found.log_total, abs=tolerance, rel=1e-15)
    np.testing.assert_allclose(found.paths, expected.paths, rtol=tolerance, atol=1e-13)
    possible = ~is_zero(problem.R, problem.wide)
    for U in np.flatnonzero(possible):
        assert_near(problem.from_wide(found.drawn_from[U]) / expected.backward[U], 1.0, tolerance)
    for x in range(m):
        gamma = [problem.from_wide(each) for each in found.gamma(x)[::-1]]
        beta = reference.weights_of(problem.log_weights)[x]
        for i, P in enumerate(reference.subsets_of(reference.others_of(x, m))):
            assert_near(beta[P] * gamma[i], beta[P] * expected.gamma[x][P], tolerance)
    return found


@pytest.mark.parametrize("m", range(2, 7))
@pytest.mark.parametrize("spread", [0.5, 5.0, 300.0])
def test_sums_agree_with_forty_digits(m, spread):
    assert_sums_agree(random_problem(m, spread))


@pytest.mark.parametrize("n_inner", [1, 3, 5])
def test_columns_may_be_split_anywhere(n_inner, monkeypatch):
    monkeypatch.setattr(module, "_inner_columns", lambda m: n_inner)
    assert_sums_agree(random_problem(6))


@pytest.mark.slow
def test_rows_may_be_cut(monkeypatch):
    problem = random_problem(11, spread=30.0)
    whole = problem.sums()
    monkeypatch.setattr(module, "_inner_columns", lambda m: 1)
    assert 11 - 1 >= ROW_BITS + 2 > 11 // 2
    cut = problem.sums()
    assert cut.log_total == pytest.approx(whole.log_total, abs=1e-13)
    assert cut.log_total_forward == pytest.approx(whole.log_total, abs=1e-13)
    np.testing.assert_allclose(cut.paths, whole.paths, rtol=0, atol=1e-13)
    logs = [[problem.wide.log(each) for each in sums.gammas.ravel()] for sums in (cut, whole)]
    np.testing.assert_allclose(*logs, rtol=0, atol=1e-11)


def test_weights_far_beyond_float64():
    problem = random_problem(6, spread=1e4)
    assert problem.wide.bias > 20_000
    assert_sums_agree(problem, 1e-11)


@pytest.mark.parametrize(
    ("spread", "p_missing", "required"),
    [
        (5.0, 0.6, None),
        (5.0, 0.0, [0b100000, 0, 0b1, 0, 0, 0]),
        (300.0, 0.3, [0, 0b1, 0b11, 0b111, 0b1111, 0b11111]),
        (5.0, 0.0, [0b111110, 0b111100, 0b111000, 0b110000, 0b100000, 0]),
    ],
)
def test_networks_without_weight(spread, p_missing, required, monkeypatch):
    monkeypatch.setattr(module, "_inner_columns", lambda m: 3)
    rng = np.random.default_rng(3)
    weights = reference.random_log_weights(rng, 6, spread)
    needed = [0] * 6 if required is None else required
    kept = [
        {P: w for P, w in each.items() if needed[x] == P or rng.random() >= p_missing}
        for x, each in enumerate(weights)
    ]
    found = assert_sums_agree(Problem(reference.restricted(kept, required)))
    assert np.isfinite(found.paths).all()

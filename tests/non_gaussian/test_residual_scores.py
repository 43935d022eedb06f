"""The scores of residuals, against general optimisers, quadrature and plain regressions."""

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal

from skbn import EBIC, GaussianBNLearner, NonGaussianBNLearner, ParentSetScores

pytestmark = pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")

NOISES = {
    "uniform": lambda rng, n: rng.uniform(-1, 1, n),
    "laplace": lambda rng, n: rng.laplace(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "t5": lambda rng, n: rng.standard_t(5, n),
    "normal": lambda rng, n: rng.normal(size=n),
    "two lumps": lambda rng, n: rng.normal(size=n) + 4 * rng.integers(2, size=n),
}


def drawn(m, n, noise="exponential", seed=0):
    """Rows of a network in which each column follows from the one before and the first."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((n, m))
    for x in range(m):
        rows[:, x] = NOISES[noise](rng, n) + 0.8 * rows[:, max(0, x - 1)] - 0.5 * rows[:, 0]
    return rows


def fitted(rows, weight=None, **settings):
    return NonGaussianBNLearner(**settings).fit(rows, sample_weight=weight)


@pytest.mark.parametrize("noise", NOISES)
def test_the_density_has_the_largest_likelihood_of_its_form(noise):
    rng = np.random.default_rng(1)
    rows = np.column_stack([NOISES[noise](rng, 150), rng.normal(size=150)])
    weight = rng.integers(1, 4, 150).astype(float)
    scores = fitted(rows, weight, criterion="loglik").local_scores_
    own = rows[:, 0] - np.average(rows[:, 0], weights=weight)
    assert_allclose(scores.local_score(0), reference.non_gaussian_score(own, weight), atol=1e-5)


@pytest.mark.parametrize("noise", NOISES)
def test_sharing_residuals_between_nodes_changes_little(noise):
    own = NOISES[noise](np.random.default_rng(2), 300)
    own -= own.mean()
    shared, smooth = reference.non_gaussian_score(own), reference.smooth_log_likelihood(own)
    assert_allclose(shared, smooth, atol=300 * 0.03)


def test_equal_values_and_outliers_have_a_finite_likelihood():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(2, size=200), rng.normal(size=(200, 2))])
    rows[0, 1] = 1e9
    scores = fitted(rows, criterion="loglik").local_scores_
    for child in range(3):
        own = rows[:, child] - rows[:, child].mean()
        # All residuals at one node would score this.
        most = -200 * np.log(own.std() / (np.pi / np.sqrt(12)) / 5)
        assert scores.local_score(child) < most
        assert np.isfinite(scores.local_score(child, [*{0, 1, 2} - {child}]))


def test_a_density_near_the_true_one_is_found():
    rng = np.random.default_rng(0)
    for noise, log_density in (
        ("laplace", -1 - np.log(2)),
        ("normal", -0.5 - np.log(2 * np.pi) / 2),
        ("exponential", -1.0),
        ("uniform", -np.log(2)),
    ):
        own = NOISES[noise](rng, 20_000)
        rows = np.column_stack([own, rng.normal(size=len(own))])
        score = fitted(rows, criterion="loglik").local_scores_.local_score(0) / len(own)
        assert log_density - 0.2 < score < log_density + 0.02


def test_residuals_are_those_of_plain_regressions():
    rows = drawn(5, 60) * [1, 100, 1e-3, 1, 7] + [0, 1e3, 0, 0, -5]
    scores = fitted(rows, criterion="bic").local_scores_
    for child, parents in reference.families(5):
        intercept, coefficients, _ = reference.regression(rows, child, parents)
        left = rows[:, child] - intercept - rows[:, [*parents]] @ coefficients
        alone = np.column_stack([left, np.random.default_rng(0).normal(size=60)])
        expected = fitted(alone, criterion="loglik").local_scores_.local_score(0)
        cost = (2 + len(parents)) * np.log(60) / 2
        assert_allclose(scores.local_score(child, parents), expected - cost, atol=1e-6)


def test_weights_are_repeated_rows():
    rows, weight = drawn(4, 80), np.random.default_rng(0).integers(0, 4, 80)
    weighted, repeated = fitted(rows, weight), fitted(np.repeat(rows, weight, axis=0))
    assert_allclose(weighted.network_score_, repeated.network_score_, atol=1e-7)
    for child, parents in reference.families(4):
        given = child, parents
        assert_allclose(
            weighted.local_scores_.local_score(*given),
            repeated.local_scores_.local_score(*given),
            atol=1e-7,
        )


def test_threads_change_no_bit():
    rows = drawn(9, 40)
    one, two = (fitted(rows, n_jobs=n_jobs).local_scores_ for n_jobs in (1, 2))
    for (sets, scores), (other_sets, other_scores) in zip(
        one._families, two._families, strict=True
    ):
        assert_array_equal(sets, other_sets)
        assert_array_equal(scores, other_scores)


@pytest.mark.parametrize(
    "settings",
    [
        {"max_parents": 2},
        {"tiers": [[0, 1, 2], [3, 4, 5, 6, 7, 8]]},
        {"required_edges": [(0, 5), (1, 5)], "forbidden_edges": [(2, 3)], "max_parents": 3},
        {"exogenous": [0, 4]},
    ],
    ids=str,
)
def test_constraints_leave_out_families_and_change_no_score(settings):
    rows = drawn(9, 50)
    every, some = fitted(rows).local_scores_, fitted(rows, **settings).local_scores_
    assert some.n_families < every.n_families
    modelled = set(range(9)) - {*settings.get("exogenous", ())}
    for child in modelled:
        for parents, score in zip(*some._families[child], strict=True):
            own = [p for p in parents.tolist() if p >= 0]
            assert_allclose(score, every.local_score(child, own), atol=1e-7)
            assert some.local_score(child, own) == score


def test_a_criterion_only_costs_parents():
    rows = drawn(4, 70)
    plain = fitted(rows, criterion="loglik").local_scores_
    for criterion, penalty, cost in (
        ("bic", 1.0, np.log(70) / 2),
        ("aic", 2.5, 2.5),
        (EBIC(gamma=1), 1.0, np.log(70) / 2 + 2 * np.log(4)),
    ):
        scores = fitted(rows, criterion=criterion, penalty=penalty).local_scores_
        gain = scores.local_score(2, [0, 1]) - scores.local_score(2)
        free = plain.local_score(2, [0, 1]) - plain.local_score(2)
        assert_allclose(gain, free - 2 * cost, atol=1e-8)


def test_a_file_of_the_scores_has_the_same_network(tmp_path):
    rows = drawn(5, 90)
    learner = fitted(rows)
    named = [f"x{i}" for i in range(5)]
    learner.local_scores_._columns = named
    learner.local_scores_.to_jkl(tmp_path / "scores.jkl")
    scores = ParentSetScores.from_jkl(tmp_path / "scores.jkl")
    other = GaussianBNLearner().fit(scores)
    assert_allclose(other.network_score_, learner.network_score_, atol=1e-8)
    assert {*other.dag_.edges} == {(named[a], named[b]) for a, b in learner.dag_.edges}


def test_directions_tie_with_gaussian_noise():
    rng = np.random.default_rng(3)
    losses = []
    for _ in range(20):
        cause = rng.normal(size=400)
        rows = np.column_stack([cause, cause + rng.normal(size=400)])
        losses.append(np.nanmax(fitted(rows).reversal_losses_))
    assert np.median(losses) < 3

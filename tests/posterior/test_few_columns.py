"""Sums and samples of few columns by numpy against those of the kernels."""

import numpy as np
import pytest
from enumerated import PRIORS, assert_agree, parent_sets, posterior_of, rows_of, scores_of
from numpy.testing import assert_allclose, assert_array_equal

from skbn import EBIC, BGe, LocalScoreTransformer
from skbn._core.extended_floats import WideFormat
from skbn._posterior import few_draws, network_posterior
from skbn._posterior.few_columns import MOST_COLUMNS, Numbers, WeightsOfFew, add_over_subsets
from skbn._posterior.sampling import sample_networks

KNOWLEDGE = {
    "2 columns": (2, {}),
    "3 columns": (3, {}),
    "8 columns": (8, {}),
    "required and forbidden": (
        5,
        {"required_edges": [(0, 1)], "forbidden_edges": [(2, 1), (3, 0)]},
    ),
    "few parents": (6, {"max_parents": 2}),
    "others": (8, {"tiers": [[5, 6, 7], [0, 1, 2, 3, 4]]}),
    "one column": (4, {"tiers": [[1, 2, 3], [0]]}),
    "an order": (4, {"required_edges": [(1, 0), (2, 1), (3, 2)]}),
}


def both(m, prior, scores, monkeypatch, **knowledge):
    """The posterior by numpy, and by the kernels."""
    by_numpy = posterior_of(scores, prior, **knowledge)
    with monkeypatch.context() as patch:
        patch.setattr(network_posterior, "MOST_COLUMNS", 0)
        return by_numpy, posterior_of(scores, prior, **knowledge)


def assert_same(by_numpy, by_kernels, prior, monkeypatch):
    assert_agree(by_numpy, by_kernels)
    assert by_numpy.log_prior_sum == pytest.approx(by_kernels.log_prior_sum, rel=1e-13)
    for x in range(len(by_numpy.edges)):
        expected = parent_sets(by_kernels, x)
        found = parent_sets(by_numpy, x)
        assert found.keys() == expected.keys()
        assert_allclose([*found.values()], [expected[P] for P in found], atol=1e-12)
    for n in (1, few_draws.MOST_SAMPLES):
        draws = [
            sample_networks(each, n, np.random.default_rng(n)) for each in (by_numpy, by_kernels)
        ]
        assert_array_equal(*draws)
    with monkeypatch.context() as patch:  # the kernels draw many samples, from numpy's sums
        patch.setattr("skbn._posterior.sampling.MOST_SAMPLES", 0)
        assert_array_equal(sample_networks(by_numpy, n, np.random.default_rng(n)), draws[-1])


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", KNOWLEDGE)
def test_numpy_and_kernels_agree(name, prior, monkeypatch):
    m, knowledge = KNOWLEDGE[name]
    rng = np.random.default_rng(m)
    log_odds = np.log(rng.uniform(0.2, 3, (m, m))) if m % 2 else None
    found = both(m, prior, scores_of(m, n=40), monkeypatch, log_odds=log_odds, **knowledge)
    for posterior, is_by_numpy in zip(found, (True, False), strict=True):
        assert {isinstance(each.weights, WeightsOfFew) for each in posterior.groups} == {
            is_by_numpy
        }
    assert_same(*found, prior, monkeypatch)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("criterion", "options"), [(BGe, {"n": 10**5, "noise": 30.0}), (EBIC, {})])
def test_steep_scores(criterion, options, prior, monkeypatch):
    scores = scores_of(6, criterion(), **options)
    assert_same(*both(6, prior, scores, monkeypatch), prior, monkeypatch)


def test_more_columns_are_summed_by_the_kernels():
    scores = LocalScoreTransformer(BGe()).fit_transform(rows_of(MOST_COLUMNS + 1))
    (group,) = posterior_of(scores, "uniform").groups
    assert not isinstance(group.weights, WeightsOfFew)


def test_numbers_beyond_the_range_of_float64():
    logs = np.array([[-np.inf, 3.0, -4000.0, 900.0], [-1e6, -1e6 + 1, -1e6, -np.inf]])
    numbers = Numbers.exponentials(logs)
    wide = WideFormat.for_range(2e6)
    assert numbers.wide(wide)[0, 0] == numbers.wide(wide)[1, 3] == 0
    again = Numbers.of_wide(numbers.wide(wide), wide)
    is_something = np.isfinite(logs)
    as_logs = [
        np.log(each.values[is_something]) + each.exponents[is_something] * np.log(2)
        for each in (numbers, again)
    ]
    for each in as_logs:
        assert_allclose(each, logs[is_something], rtol=1e-14, atol=1e-11)
    add_over_subsets(numbers)
    sums = [np.logaddexp.reduce(row) for row in logs]
    assert_allclose(np.log(numbers.values[:, 3]) + numbers.exponents[:, 3] * np.log(2), sums)

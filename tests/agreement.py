"""Whether two learners found the same, draws are from weights, and a call is refused or warned of.

Seeds are fixed. A test of random numbers fails with a probability below LEAST_P_VALUE.
"""

import warnings

import networkx as nx
import numpy as np
import pytest
from scipy import stats

LEAST_P_VALUE = 1e-6


def assert_same_network(found, expected, *, rtol=1e-8, score_rtol=1e-11):
    """Both have the same edges, and the same parameters and score up to rounding."""
    assert list(found.dag_) == list(expected.dag_)
    assert {*found.dag_.edges} == {*expected.dag_.edges}
    assert found.network_score_ == pytest.approx(expected.network_score_, rel=score_rtol)
    for name in ("coef_", "intercept_", "noise_variance_", "mean_"):
        ours, theirs = (getattr(each.network_, name) for each in (found, expected))
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol / 100)


def assert_same_bits(found, expected):
    """Both have the same network with its parameters, and the same score."""
    assert nx.utils.graphs_equal(found.dag_, expected.dag_)
    assert found.network_score_ == expected.network_score_


def assert_drawn_from(found, weights):
    """Pearson's chi-squared test of counts; what has no weight must not be among what was drawn."""
    total, n = sum(weights.values()), sum(found.values())
    assert set(found) <= {key for key, weight in weights.items() if weight > 0}
    expected = np.array(list(weights.values())) / total * n
    counts = np.array([found.get(key, 0) for key in weights])
    is_rare = expected < 5
    counts = np.append(counts[~is_rare], counts[is_rare].sum())
    expected = np.append(expected[~is_rare], expected[is_rare].sum())
    if expected[-1] < 5:
        assert stats.poisson.sf(counts[-1] - 1, expected[-1]) > LEAST_P_VALUE
        counts, expected = counts[:-1], expected[:-1]
    chi_squared = ((counts - expected) ** 2 / expected).sum()
    assert len(expected) == 1 or stats.chi2.sf(chi_squared, len(expected) - 1) > LEAST_P_VALUE


def raises(message, ask, *args, kind=ValueError, **settings):
    """Check that a call raises an error of a kind, whose text has a match of the message."""
    with pytest.raises(kind, match=message):
        ask(*args, **settings)


def warned_by(call, *args, **settings):
    """Return the warnings that a call gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*args, **settings)
    return caught

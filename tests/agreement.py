"""Whether two learners found the same, and whether a call is refused as it is to be."""

import networkx as nx
import numpy as np
import pytest


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


def raises(message, ask, *args, kind=ValueError, **settings):
    """Check that a call raises an error of a kind, whose text has a match of the message."""
    with pytest.raises(kind, match=message):
        ask(*args, **settings)

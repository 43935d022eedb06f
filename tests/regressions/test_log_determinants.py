import numpy as np
import pytest

from skbn._core.subsets import members_of
from skbn._regressions.log_determinants import log_determinants


def factor(m, seed=0):
    rows = np.random.default_rng(seed).normal(size=(m + 30, m))
    return np.linalg.qr(rows / np.linalg.norm(rows, axis=0), mode="r")


def reference_log_determinant(factor, subset):
    chosen = np.linalg.qr(factor[:, members_of(subset)], mode="r")
    return 2 * np.log(np.abs(np.diag(chosen))).sum()


@pytest.mark.parametrize("m", range(1, 12))
def test_all_subsets(m):
    r = factor(m)
    before = r.copy()
    expected = [reference_log_determinant(r, subset) for subset in range(2**m)]
    np.testing.assert_allclose(log_determinants(r), expected, rtol=0, atol=1e-13 * m)
    np.testing.assert_array_equal(r, before)


@pytest.mark.parametrize("m", [14, 15, 16, 19])
def test_some_subsets_of_many_columns(m):
    """With outer columns beside those of the lanes and of the walk."""
    r = factor(m)
    log_det = log_determinants(r)
    assert np.isfinite(log_det).all()
    for subset in np.random.default_rng(1).integers(0, 2**m, 500):
        expected = reference_log_determinant(r, subset)
        assert log_det[subset] == pytest.approx(expected, abs=1e-12)


def test_threads_change_no_bit():
    r = factor(20)
    np.testing.assert_array_equal(log_determinants(r, n_jobs=1), log_determinants(r, n_jobs=3))

"""Parts of the walk through all subsets, against the whole walk and against NumPy."""

import numpy as np
import pytest
import reference

from skbn._core.subsets import members_of
from skbn._regressions.log_determinants import SubsetWalk, log_determinants, settle_columns
from skbn._regressions.set_function import SetFunctions


def random_factor(m, seed=0):
    return np.triu(np.random.default_rng(seed).normal(size=(m, m))) + 3 * np.eye(m)


@pytest.mark.parametrize(
    ("m", "n"), [(14, 14), (15, 14), (16, 14), (16, 15), (17, 14), (17, 16), (18, 16)]
)
@pytest.mark.parametrize("has_offsets", [False, True])
def test_columns_joined_with_others_change_no_bit(m, n, has_offsets):
    factor = random_factor(m)
    offsets = np.random.default_rng(1).normal(size=m) if has_offsets else None
    expected = log_determinants(factor, offsets=offsets).reshape(-1, 1 << n)
    walk = SubsetWalk(factor, offsets)
    for others, of_piece in enumerate(expected):
        part = walk.with_columns(n, others)
        assert part.n_columns == n
        found = np.full(1 << n, np.nan)
        part.fill(np.arange(part.n_seeds), SetFunctions(found, found))
        np.testing.assert_array_equal(found, of_piece)
    assert walk.n_columns == m  # which its parts have not changed


def test_seeds_are_walked_one_by_one():
    m = 16
    factor, offsets = random_factor(m, 2), np.random.default_rng(3).normal(size=m)
    expected = log_determinants(factor, offsets=offsets)
    walk = SubsetWalk(factor, offsets)
    assert walk.n_seeds * walk.seed_size == 1 << m
    for seed in range(walk.n_seeds):
        found = np.full(1 << m, np.nan)
        walk.fill(np.array([seed]), SetFunctions(found, found))
        here = slice(seed * walk.seed_size, (seed + 1) * walk.seed_size)
        np.testing.assert_array_equal(found[here], expected[here])
        assert np.isnan(np.delete(found, np.arange(1 << m)[here])).all()


@pytest.mark.parametrize(("m", "n"), [(3, 3), (5, 2), (7, 4), (6, 1)])
def test_settled_columns(m, n):
    """What is left of the first columns are their residuals on the chosen ones."""
    factor = random_factor(m, m)
    before = factor.copy()
    gram = factor.T @ factor
    for chosen in range(1 << m - n):
        left, log_det = settle_columns(factor, np.arange(n, len(factor) + 1), chosen)
        later = [n + i for i in members_of(chosen)]
        assert log_det == pytest.approx(reference.log_det(gram, later), abs=1e-12)
        onto, _, _, _ = np.linalg.lstsq(factor[:, later], factor[:, :n], rcond=None)
        residuals = factor[:, :n] - factor[:, later] @ onto
        assert left.shape == (n, n)
        np.testing.assert_array_equal(left, np.triu(left))
        np.testing.assert_allclose(left.T @ left, residuals.T @ residuals, rtol=0, atol=1e-11)
        for columns in reference.subsets(range(n)):
            of_left = reference.log_det(left.T @ left, list(columns))
            together = reference.log_det(gram, [*columns, *later])
            assert log_det + of_left == pytest.approx(together, abs=1e-11)
    np.testing.assert_array_equal(factor, before)

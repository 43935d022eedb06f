import numpy as np
import pytest

from skbn import givens_column_swap, greedy_swaps


@pytest.fixture
def columns():
    return np.random.default_rng(3).normal(size=(20, 6))


@pytest.mark.parametrize("i", range(5))
def test_swap_gives_a_factor_of_the_swapped_columns(columns, i):
    factor = np.linalg.qr(columns, mode="r")
    before = factor.copy()
    swapped = givens_column_swap(factor, i)
    np.testing.assert_array_equal(factor, before)
    np.testing.assert_array_equal(swapped, np.triu(swapped))
    order = list(range(6))
    order[i], order[i + 1] = order[i + 1], order[i]
    other = columns[:, order]
    np.testing.assert_allclose(swapped.T @ swapped, other.T @ other, rtol=1e-12, atol=1e-12)
    untouched = [row for row in range(6) if row not in (i, i + 1)]
    np.testing.assert_array_equal(swapped[untouched], factor[untouched][:, order])
    assert swapped[i, i] >= 0


def test_one_factor_suffices_for_the_whole_walk(columns):
    """Swap by swap, a 6 x 6 array passes the log-determinant of every subset."""
    factor = np.linalg.qr(columns, mode="r")
    order = list(range(6))
    seen = {}

    def note(size):
        diagonal = np.abs(np.diag(factor)[:size])
        seen[frozenset(order[:size])] = 2 * np.log(diagonal).sum()

    for size in range(7):
        note(size)
    for i in greedy_swaps(6):
        factor = givens_column_swap(factor, i)
        order[i], order[i + 1] = order[i + 1], order[i]
        note(i + 1)
    assert len(seen) == 2**6
    for subset, value in seen.items():
        chosen = columns[:, sorted(subset)]
        assert value == pytest.approx(np.linalg.slogdet(chosen.T @ chosen)[1], abs=1e-11)


def test_two_dependent_columns_stay_triangular():
    swapped = givens_column_swap([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], 1)
    np.testing.assert_array_equal(swapped, [[1, 3, 2], [0, 0, 0], [0, 0, 0]])


def test_wrong_types_are_named():
    with pytest.raises(TypeError, match=r"i must be an integer; got 0\.5"):
        givens_column_swap(np.eye(3), 0.5)
    with pytest.raises(TypeError, match="factor must be real"):
        givens_column_swap(np.eye(3) * 1j, 0)


@pytest.mark.parametrize(
    ("factor", "i", "message"),
    [
        (np.ones((2, 3)), 0, r"square matrix; got shape \(2, 3\)"),
        (np.ones((2, 2)), 0, "upper triangular"),
        (np.diag([1.0, np.nan]), 0, "finite"),
        (np.eye(3), 2, "i must be from 0 to m - 2 = 1; got 2"),
        (np.eye(3), -1, "got -1"),
        (np.eye(1), 0, "must have two columns to swap; it has 1"),
    ],
)
def test_bad_input_is_named(factor, i, message):
    with pytest.raises(ValueError, match=message):
        givens_column_swap(factor, i)

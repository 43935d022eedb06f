import numpy as np
import pytest
import reference
from agreement import raises

from skbn.paper import givens_column_swap, greedy_swaps, seed_path


@pytest.mark.parametrize("m", range(1, 15))
def test_length_is_the_minimum(m):
    assert len(greedy_swaps(m)) == 2**m - m - 1


def test_counts_of_the_worked_example():
    reached, counts = set(), []
    for order in reference.follow("ABCD", greedy_swaps(4)):
        reached |= reference.families_of_order(order)
        counts.append(len(reached))
    # The paper prints 26 for the last but one, [D, B, A, C]; this order adds both
    # A and C on {B, D}, as every new set of two columns does.
    assert counts == [6, 9, 11, 14, 16, 17, 19, 22, 24, 25, 27, 28]
    assert reference.follow("ABCD", greedy_swaps(4))[-1] == tuple("DBCA")


@pytest.mark.parametrize("m", range(2, 7))
def test_each_swap_is_the_greedy_choice(m):
    order = tuple(range(m))
    reached = reference.families_of_order(order)
    for i in greedy_swaps(m):
        gains = []
        for j in range(m - 1):
            _, swapped = reference.follow(order, [j])
            gains.append(len(reference.families_of_order(swapped) - reached))
        assert i == np.argmax(gains)  # the leftmost of equal gains
        order = reference.follow(order, [i])[1]
        reached |= reference.families_of_order(order)


@pytest.mark.parametrize("m", range(2, 14))
def test_flops_are_those_of_section_5(m):
    flops = sum(6 * (m - int(i)) for i in greedy_swaps(m))
    assert flops == 3 * m * 2**m + 6 * 2**m - 3 * m**2 - 9 * m - 6


@pytest.mark.parametrize(("m", "k"), [(m, k) for m in range(1, 9) for k in range(m)])
def test_seeds_cover_each_subset_exactly_once(m, k):
    covered = []
    for seed in range(2**k):
        order, swaps = seed_path(m, 2**k, seed)
        assert sorted(order) == list(range(m))
        assert len(swaps) == 2 ** (m - k) - 1 - (m - k)
        in_front = seed.bit_count()
        visited = reference.follow(order, swaps)
        covered += [frozenset(order[:p]) for p in range(in_front, in_front + m - k + 1)]
        covered += [frozenset(after[: i + 1]) for after, i in zip(visited[1:], swaps, strict=True)]
    assert len(covered) == 2**m
    assert len(set(covered)) == 2**m


@pytest.mark.parametrize(("m", "k"), [*((m, 0) for m in range(1, 9)), (2, 1), (4, 2), (7, 3)])
def test_seeds_together_reach_every_family(m, k):
    reached = set()
    for seed in range(2**k):
        order, swaps = seed_path(m, 2**k, seed)
        for visited in reference.follow(order.tolist(), swaps):
            reached |= reference.families_of_order(visited)
    assert reached == {(x, frozenset(p)) for x, p in reference.families(m) if p}


def test_two_seeds_are_those_of_section_6():
    order, swaps = seed_path(5, 2, 0)
    assert order.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(swaps, greedy_swaps(4))
    order, swaps = seed_path(5, 2, 1)
    assert order.tolist() == [4, 0, 1, 2, 3]
    np.testing.assert_array_equal(swaps, greedy_swaps(4) + 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1, 0), "m must be at least 1.*got 0"),
        ((4, 3, 0), "n_seeds must be a power of two.*got 3"),
        ((4, 16, 0), "n_seeds must be a power of two.*= 8; got 16"),
        ((4, 2, 2), "seed must be from 0 to n_seeds - 1 = 1; got 2"),
    ],
)
def test_bad_seeds_are_named(arguments, message):
    raises(message, seed_path, *arguments)


def test_number_of_columns_must_be_an_integer():
    raises("m must be at least 1", greedy_swaps, 0)
    raises(r"51 swaps needs 18\.0 PB.* give a smaller m", greedy_swaps, 50)
    raises(r"m must be an integer; got 2\.5", greedy_swaps, 2.5, kind=TypeError)


# Givens swaps


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
    raises(r"i must be an integer; got 0\.5", givens_column_swap, np.eye(3), 0.5, kind=TypeError)
    raises("factor must be real", givens_column_swap, np.eye(3) * 1j, 0, kind=TypeError)


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
    raises(message, givens_column_swap, factor, i)

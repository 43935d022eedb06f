"""Lists of families, against dicts of sets of parents."""

import numpy as np
import pytest
import reference

from skbn._orders.family_lists import FamilyLists
from skbn._orders.insertion_kernels import choose_families, state_of
from skbn._orders.list_kernels import BLOCK

M = 100


def random_families(rng, child, n, columns):
    """Columns in any order, and distinct sets of a few of them with scores."""
    columns = rng.permutation([y for y in columns if y != child]).tolist()
    sets = rng.random((n, len(columns))) < rng.choice([0.02, 0.1, 0.5], size=(n, 1))
    sets = np.unique(sets, axis=0)
    return columns, sets, rng.normal(size=len(sets))


def as_dict(columns, sets, scores):
    return {
        frozenset(y for y, is_parent in zip(columns, row, strict=True) if is_parent): score
        for row, score in zip(sets, scores, strict=True)
    }


def families_in(listed, arrays, child):
    """The families of a child, with the first of those that stand in."""
    start, end = arrays.starts[child : child + 2]
    n = np.flatnonzero(arrays.scores[start:end] == listed.missing)[0]
    assert (end - start) % BLOCK == 0
    assert end - start - n <= BLOCK
    assert not arrays.sets[start + n : end].any()
    return [
        (listed.parents(arrays, child, family), float(arrays.scores[family]))
        for family in range(start, start + n + 1)
    ]


@pytest.mark.parametrize("n_columns", [1, 3, 64, 65, 100])
def test_families_come_back_best_first_without_the_dominated(n_columns):
    rng = np.random.default_rng(n_columns)
    listed, added = FamilyLists(M, -5.0), {x: {} for x in range(M)}
    for _ in range(6):
        child = int(rng.integers(4))
        # Each time also of columns that are new to the list.
        some = rng.choice(n_columns, size=rng.integers(1, n_columns + 1), replace=False)
        drawn = random_families(rng, child, int(rng.integers(0, 40)), some.tolist())
        for parents, score in as_dict(*drawn).items():
            added[child][parents] = max(score, added[child].get(parents, score))
        listed.add(child, *drawn)
    arrays = listed.arrays()
    for child in range(M):
        *found, last = families_in(listed, arrays, child)
        assert last == ([], -5.0)
        expected = reference.undominated(added[child])
        best_first = sorted(expected.items(), key=lambda pair: -pair[1])
        assert found == [(sorted(parents), score) for parents, score in best_first]
    assert listed.n_families == (arrays.scores > listed.missing).sum()
    assert_indices_agree(listed, arrays)


def assert_indices_agree(listed, arrays):
    """Compare what the arrays say of bits and first families with the families."""
    for child in range(M):
        columns = arrays.columns[child]
        for y in range(M):
            bit = arrays.bits[child, y]
            assert arrays.bits_in[y, child] == bit
            assert arrays.firsts_in[y, child] == arrays.firsts[child, y]
            assert (bit < 0) == (y not in columns)
            if bit >= 0:
                assert columns[bit] == y
                families = families_in(listed, arrays, child)
                having = [i for i, (parents, _) in enumerate(families) if y in parents]
                if having:
                    assert arrays.firsts[child, y] == arrays.starts[child] + having[0]


def test_of_equal_sets_the_best_and_of_equal_scores_the_first_stays():
    listed = FamilyLists(3, -9.0)
    listed.add(0, [1, 2], np.array([[1, 0], [0, 1], [1, 1]], dtype=bool), np.array([2.0, 1.0, 2.0]))
    listed.add(0, [2, 1], np.array([[0, 1], [1, 0]], dtype=bool), np.array([2.0, 3.0]))
    arrays = listed.arrays()
    assert families_in(listed, arrays, 0) == [([2], 3.0), ([1], 2.0), ([], -9.0)]
    assert listed.n_families == 2


def test_arrays_do_not_change_when_families_are_added():
    listed = FamilyLists(3, -9.0)
    listed.add(0, [1], np.array([[True]]), np.array([2.0]))
    before = listed.arrays()
    copies = [array.copy() for array in before]
    listed.add(0, [2], np.array([[True], [False]]), np.array([3.0, 2.5]))
    for array, copy in zip(before, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert families_in(listed, listed.arrays(), 0) == [([2], 3.0), ([], 2.5), ([], -9.0)]


def test_the_last_family_stands_in_where_none_fits():
    listed = FamilyLists(3, -9.0)
    for child in range(3):
        listed.add(child, [(child + 1) % 3], np.array([[True]]), np.array([1.0]))
    arrays = listed.arrays()
    state = state_of(np.array([2, 1, 0]), arrays)
    assert choose_families(arrays, state) == 1.0 + 1.0 - 9.0
    assert (arrays.scores[state.chosen] == -9.0).tolist() == [False, False, True]

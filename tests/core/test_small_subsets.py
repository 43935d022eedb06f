from itertools import combinations

import numpy as np
import pytest
from kernels import callable_from_python

from skbn._core.small_subsets import SmallSubsets, advance, rank


@pytest.mark.parametrize(("n", "most"), [(1, 0), (4, 2), (6, 6), (7, 3), (3, 5)])
def test_sets_are_numbered_by_size_and_then_from_the_last_column(n, most):
    subsets = SmallSubsets(n, most)
    expected = [
        list(members)
        for size in range(min(n, most) + 1)
        for members in sorted(combinations(range(n), size), key=lambda members: members[::-1])
    ]
    assert subsets.n_sets == len(expected)
    assert [subsets.members(i) for i in range(subsets.n_sets)] == expected
    assert [subsets.index(members) for members in expected] == list(range(len(expected)))
    assert subsets.index(expected[-1][::-1]) == len(expected) - 1


@pytest.mark.parametrize("size", [1, 2, 4])
def test_kernels_count_the_same_way(size):
    subsets = SmallSubsets(7, 4)
    members = np.arange(size)
    number, move_on = callable_from_python(rank), callable_from_python(advance)
    for i in range(subsets.starts[size], subsets.starts[size + 1]):
        assert members.tolist() == subsets.members(i)
        assert number(members, size, subsets.binomials) == i - subsets.starts[size]
        move_on(members, size)

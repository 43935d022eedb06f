import pytest
from kernels import callable_from_python

from skbn._core.subsets import (
    bit_length,
    insert_zero_bit,
    mask_of,
    members_of,
    popcount,
    remove_bit,
    submasks_by_size,
)


def test_masks_and_members_are_inverse():
    assert [mask_of(members_of(mask)) for mask in range(64)] == list(range(64))


@pytest.mark.parametrize("bit", range(6))
def test_masks_without_a_bit_are_numbered_without_gaps(bit):
    remove, insert = callable_from_python(remove_bit), callable_from_python(insert_zero_bit)
    masks = [mask for mask in range(64) if not mask >> bit & 1]
    assert [remove(mask, bit) for mask in masks] == list(range(32))
    assert [insert(index, bit) for index in range(32)] == masks


def test_bit_length():
    length = callable_from_python(bit_length)
    assert [length(mask) for mask in range(256)] == [mask.bit_length() for mask in range(256)]


def test_popcount():
    count = callable_from_python(popcount)
    assert [count(mask) for mask in range(256)] == [bin(mask).count("1") for mask in range(256)]


def test_submasks_by_size_are_a_partition():
    groups = submasks_by_size(5)
    assert sorted(mask for group in groups for mask in group) == list(range(32))
    assert all(bin(mask).count("1") == size for size, group in enumerate(groups) for mask in group)

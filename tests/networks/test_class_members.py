"""Numbers of networks in equivalence classes, against an enumeration."""

from math import factorial

import numpy as np
import pytest
import reference

from skbn._core.subsets import bits_of, mask_of
from skbn._networks.class_members import edge_shares, number_of_members


def classes(m, allowed):
    """The networks of allowed edges of each equivalence class, as lists of masks."""
    for members in reference.classes_of_dags(m):
        masks = [list(map(mask_of, dag)) for dag in members]
        found = [each for each in masks if not any(map(beyond, each, allowed))]
        if found:
            yield found


def beyond(mask, allowed):
    return mask & ~allowed


@pytest.mark.parametrize("m", [3, 4])
@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_members_are_counted(m, seed):
    allowed = [(1 << m) - 1] * m
    if seed is not None:
        forbidden = np.random.default_rng(seed).random((m, m)) < 0.3
        allowed = [mask & ~mask_of(np.flatnonzero(forbidden[x])) for x, mask in enumerate(allowed)]
    for members in classes(m, allowed):
        shares = np.mean([bits_of(masks, m).T for masks in members], axis=0)
        for masks in members[:2]:
            assert number_of_members(masks, allowed) == len(members)
            np.testing.assert_allclose(edge_shares(masks, allowed), shares, atol=1e-15)


@pytest.mark.slow
def test_members_of_all_classes_of_five_columns_are_counted():
    for members in classes(5, [31] * 5):
        assert number_of_members(members[0]) == len(members)


def test_members_of_large_classes_are_counted():
    m = 20
    chain = [0, *(1 << x for x in range(m - 1))]
    assert number_of_members(chain) == m  # one for each source
    complete = [(1 << x) - 1 for x in range(m)]
    assert number_of_members(complete) == factorial(m)

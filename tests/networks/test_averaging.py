"""The averages of networks, against counts over whole equivalence classes and hand-worked cases."""

from itertools import combinations, pairwise

import numpy as np
import pytest
import reference
from numpy.testing import assert_array_equal

from skbn._core.subsets import mask_of, members_of
from skbn._estimators.bootstrap import edge_support, inclusion_threshold


def as_masks(parents):
    return [mask_of(ps) for ps in parents]


def edges_of(parents):
    return {(p, x) for x, mask in enumerate(parents) for p in members_of(mask)}


# Support


def test_support_by_the_members_of_classes():
    """An edge is directed if all members of its class agree, and else counts half each way."""
    m = 4
    dags = reference.all_dags(m)
    chosen = [dags[i] for i in np.random.default_rng(0).integers(len(dags), size=40)]
    expected = np.zeros((m, m))
    for dag in chosen:
        members = reference.equivalent_dags(dag)
        for a, b in edges_of(as_masks(dag)):
            if all(a in member[b] for member in members):
                expected[a, b] += 1
            else:
                expected[[a, b], [b, a]] += 0.5
    support = edge_support([as_masks(dag) for dag in chosen], [[0] * m] * len(chosen))
    assert_array_equal(support.directed, expected / 40)
    assert_array_equal(support.strength, (expected + expected.T) / 40)
    with np.errstate(invalid="ignore"):
        direction = np.nan_to_num(expected / (expected + expected.T))
    assert_array_equal(support.direction, direction)


def test_fixed_edges_and_what_follows_from_them_have_a_direction():
    chain = [0, 0b001, 0b010]  # 0 -> 1 -> 2
    free = edge_support([chain], [[0, 0, 0]])
    assert free.directed[0, 1] == free.directed[1, 0] == free.directed[1, 2] == 0.5
    known = edge_support([chain], [[0, 0b001, 0]])
    assert known.directed[0, 1] == known.directed[1, 2] == 1
    assert known.directed[1, 0] == known.directed[2, 1] == 0


def test_strengths_of_three_networks_are_exactly_one():
    """Thirds do not add up to 1 in floats, but counts do."""
    collider, other = [0, 0b101, 0], [0b110, 0, 0]  # 0 -> 1 <- 2, and 1 -> 0 <- 2
    support = edge_support([collider, collider, other], [[0, 0, 0]] * 3)
    assert support.strength[0, 1] == 1
    assert support.direction[0, 1] == 2 / 3


# Threshold


def area(strengths, t):
    """Return the area between the constant t and the strengths' distribution function."""
    xs = np.unique([0.0, 1.0, *strengths])
    return sum((right - left) * abs(np.mean(strengths <= left) - t) for left, right in pairwise(xs))


@pytest.mark.parametrize("seed", range(15))
def test_the_threshold_has_the_smallest_area(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 8))
    strength = rng.integers(0, 21, (m, m)) / 20 * (rng.random((m, m)) < rng.random())
    strength = np.triu(strength, 1) + np.triu(strength, 1).T
    strengths = strength[np.triu_indices(m, 1)]
    threshold = inclusion_threshold(strength)
    t = np.mean(strengths <= threshold)
    assert threshold == 0 or threshold in strengths
    best = min(area(strengths, each) for each in np.linspace(0, 1, 421))
    assert area(strengths, t) <= best + 1e-12


def test_the_threshold_includes_the_edges_of_at_least_half_of_the_networks():
    strength = np.zeros((4, 4))
    for pair, share in zip(combinations(range(4), 2), (0.1, 0.45, 0.5, 0.55, 0.9, 0), strict=True):
        strength[pair] = strength[pair[::-1]] = share
    assert inclusion_threshold(strength) == 0.45
    assert inclusion_threshold(np.ones((3, 3))) == 0

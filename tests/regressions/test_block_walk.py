"""The walk through subsets of nodes that have several columns each."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skbn._core.subsets import SmallSubsets, members_of
from skbn._regressions.log_determinants import SubsetWalk, log_determinants, set_functions
from skbn._regressions.set_function import LEAST_SCORE, SetWeights
from skbn._regressions.small_walk import columns_of_small_sets, small_log_determinants

WIDTHS = st.lists(st.integers(1, 4), min_size=1, max_size=9)


def factor_of(widths, seed):
    rng = np.random.default_rng(seed)
    k = sum(widths)
    return np.linalg.qr(rng.normal(size=(k + 5, k)) @ (np.eye(k) + 0.3), mode="r")


def by_slogdet(factor, widths, chosen):
    node_of = np.repeat(np.arange(len(widths)), widths)
    return reference.log_det(factor.T @ factor, np.flatnonzero(np.isin(node_of, chosen)))


@given(WIDTHS, st.integers(0, 100))
def test_all_sets_have_the_determinants_of_their_columns(widths, seed):
    factor, m = factor_of(widths, seed), len(widths)
    offsets = np.random.default_rng(seed).normal(size=m)
    found = log_determinants(factor, 1, offsets=offsets, widths=widths)
    expected = [
        by_slogdet(factor, widths, members_of(mask)) + offsets[members_of(mask)].sum()
        for mask in range(1 << m)
    ]
    assert_allclose(found, expected, atol=1e-8)
    assert_array_equal(found, log_determinants(factor, 2, offsets=offsets, widths=widths))


@pytest.mark.parametrize("widths", [[14, 1, 2], [1] * 6 + [13, 13, 1], [2] * 9, [5, 4, 3, 2, 1]])
def test_nodes_may_be_wider_than_the_inner_columns(widths):
    factor = factor_of(widths, 1)
    found = log_determinants(factor, 1, widths=widths)
    expected = [by_slogdet(factor, widths, members_of(mask)) for mask in range(1 << len(widths))]
    assert_allclose(found, expected, atol=1e-8)


@given(WIDTHS, st.integers(0, 100), st.integers(0, 8))
def test_set_functions_count_columns_and_nodes(widths, seed, max_parents):
    factor, m, k = factor_of(widths, seed), len(widths), sum(widths)
    rng = np.random.default_rng(seed)
    tables, terms = rng.normal(size=(3, k)), np.append(0.0, rng.normal(size=m))
    weights = SetWeights.of_nodes(tables, widths, terms, max_parents)
    found = set_functions(factor, weights, 1).of_family
    for mask in range(1 << m):
        d = sum(widths[v] for v in members_of(mask))
        factor_of_set = tables[2, d - 1] if d else 0.0
        log_det = by_slogdet(factor, widths, members_of(mask))
        expected = tables[0, :d].sum() + terms[mask.bit_count()] + factor_of_set * log_det
        if mask.bit_count() > max_parents + 1:
            assert found[mask] < LEAST_SCORE
        else:
            assert_allclose(found[mask], expected, atol=1e-8)
            assert_allclose(weights.at(np.array([mask]), log_det).of_family, expected, atol=1e-8)


def test_parts_of_a_walk_are_the_same_bits():
    widths = np.array([1, 2, 1, 3, 1, 1, 4, 4, 3, 3, 1, 2])
    factor, offsets = factor_of(widths, 0), np.arange(12.0)
    terms = np.append(0.0, np.arange(12.0))
    tables = np.random.default_rng(1).normal(size=(3, widths.sum()))
    walk = SubsetWalk(factor, offsets, SetWeights.of_nodes(tables, widths, terms, 11), widths)
    whole = walk.allocate(1 << 12)
    walk.fill(np.arange(walk.n_seeds), whole)
    n = 10
    for others in range(4):
        part = walk.with_columns(n, others)
        sets = part.allocate(1 << n)
        part.fill(np.arange(part.n_seeds), sets)
        assert_array_equal(sets.of_family, whole.of_family[others << n : (others + 1) << n])


@given(WIDTHS.filter(lambda widths: len(widths) > 1), st.integers(0, 100), st.integers(1, 4))
def test_small_sets_have_the_determinants_of_their_columns(widths, seed, most):
    factor, m = factor_of(widths, seed), len(widths)
    offsets = np.random.default_rng(seed).normal(size=m)
    subsets = SmallSubsets(m, most)
    found = small_log_determinants(factor, subsets, offsets, 1, widths=widths)
    sizes = columns_of_small_sets(subsets, widths)
    for i in range(subsets.n_sets):
        chosen = subsets.members(i)
        expected = by_slogdet(factor, widths, chosen) + offsets[chosen].sum()
        assert_allclose(found[i], expected, atol=1e-8)
        assert sizes[i] == sum(widths[v] for v in chosen)


@pytest.mark.parametrize("m", [3, 6, 15])
def test_nodes_of_one_column_are_the_same_bits(m):
    factor = factor_of([1] * m, m)
    assert_array_equal(log_determinants(factor, 1), log_determinants(factor, 1, widths=[1] * m))

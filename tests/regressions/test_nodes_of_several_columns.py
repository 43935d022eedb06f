"""Walks through sets of nodes, each a block of columns, against NumPy and the plain formula."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from skbn import BIC
from skbn._core.subsets import SmallSubsets, mask_of, members_of
from skbn._regressions.log_determinants import SubsetWalk, log_determinants, set_functions
from skbn._regressions.set_function import LEAST_SCORE, SetFunctions, SetWeights, columns_in
from skbn._regressions.small_walk import columns_in_small_sets, small_log_determinants


def random_factor(n, seed=0):
    return np.triu(np.random.default_rng(seed).normal(size=(n, n))) + 3 * np.eye(n)


def table_of_bic(n_columns):
    return BIC().tables(200, n_columns)


WIDTHS = st.lists(st.integers(1, 4), min_size=1, max_size=7)


@settings(max_examples=40, deadline=None)
@given(WIDTHS, st.booleans(), st.integers(0, 99))
def test_every_set(widths, has_offsets, seed):
    factor = random_factor(sum(widths), seed)
    offsets = np.random.default_rng(seed).normal(size=len(widths)) if has_offsets else None
    expected = reference.block_log_determinants(factor, widths, offsets)
    found = log_determinants(factor, offsets=offsets, widths=widths)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    "widths",
    [[2, 1, 1, 3, 1, 1, 1, 2, 1], [14, 1, 2], [1] * 6 + [13, 13, 1], [2] * 9, [5, 4, 3, 2, 1]],
)
def test_nodes_wider_than_the_walk_is_made_for(widths):
    factor = random_factor(sum(widths))
    offsets = np.arange(1.0, len(widths) + 1)
    expected = reference.block_log_determinants(factor, widths, offsets)
    found = log_determinants(factor, offsets=offsets, widths=widths)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("m", [1, 2, 4, 15])
def test_single_columns_are_the_same_bits(m):
    factor, offsets = random_factor(m), np.arange(float(m))
    found = log_determinants(factor, offsets=offsets, widths=[1] * m)
    np.testing.assert_array_equal(found, log_determinants(factor, offsets=offsets))
    weights = SetWeights(table_of_bic(m)), SetWeights(table_of_bic(m), [1] * m)
    of_columns, of_nodes = (set_functions(factor, each, offsets=offsets) for each in weights)
    np.testing.assert_array_equal(of_nodes.of_family, of_columns.of_family)


MIXED = [1, 3, 1, 1, 2, 1, 1, 1, 2, 1, 1, 2, 1, 2, 1, 1]


def test_threads_change_no_bit():
    factor = random_factor(sum(MIXED))
    one, three = (log_determinants(factor, n_jobs, widths=MIXED) for n_jobs in (1, 3))
    np.testing.assert_array_equal(one, three)
    some = [1, 5, 17, 40_000, 65_535]
    for mask in some:
        first = np.cumsum([0, *MIXED])
        columns = [c for i in members_of(mask) for c in range(first[i], first[i + 1])]
        expected = np.linalg.slogdet(factor[:, columns].T @ factor[:, columns])[1]
        assert one[mask] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("n", [14, 15])
def test_nodes_joined_with_others_change_no_bit(n):
    m = len(MIXED)
    factor, offsets = random_factor(sum(MIXED)), np.arange(float(m))
    weights = SetWeights(table_of_bic(sum(MIXED)), MIXED, np.linspace(0, 1, m + 1) ** 2)
    walk = SubsetWalk(factor, offsets, weights, MIXED)
    assert walk.n_columns == m
    assert walk.n_seeds * walk.seed_size == 1 << m
    whole = walk.allocate(1 << m)
    walk.fill(np.arange(walk.n_seeds), whole)
    sets = set_functions(factor, weights, offsets=offsets)
    np.testing.assert_allclose(whole.of_family, sets.of_family, rtol=1e-12, atol=1e-10)
    for others, of_piece in enumerate(whole.of_family.reshape(-1, 1 << n)):
        part = walk.with_columns(n, others)
        found = np.full(1 << n, np.nan)
        part.fill(np.arange(part.n_seeds), SetFunctions(found, found))
        np.testing.assert_array_equal(found, of_piece)


@pytest.mark.parametrize("widths", [[2], [3, 1], [1, 2, 3], [2, 1, 1, 2, 1], MIXED])
@pytest.mark.parametrize("max_parents", [None, 0, 2])
@pytest.mark.parametrize("has_terms", [False, True])
def test_set_functions_by_the_formula(widths, max_parents, has_terms):
    n, m = sum(widths), len(widths)
    tables = table_of_bic(n)
    factor, offsets = random_factor(n), np.arange(float(m))
    terms = np.arange(m + 1.0) ** 2 if has_terms else None
    weights = SetWeights(tables, widths, terms, max_parents)
    assert weights.is_one
    assert weights.has_ruled_out == (max_parents is not None and max_parents + 1 < m)
    log_det = log_determinants(factor, offsets=offsets, widths=widths)
    sets = weights.of_all(log_det)
    masks = np.arange(1 << m)
    np.testing.assert_array_equal(weights.at(masks, log_det).of_family, sets.of_family)
    for n_jobs in (1, 2):
        found = set_functions(factor, weights, n_jobs, offsets=offsets)
        np.testing.assert_array_equal(found.of_family, sets.of_family)
    C = np.append(0.0, np.cumsum(tables[0]))
    for mask in (*range(min(1 << m, 64)), (1 << m) - 1):
        nodes = members_of(mask)
        d = sum(widths[i] for i in nodes)
        assert columns_in(masks, np.array(widths))[mask] == d
        expected = C[d] + (tables[2, d - 1] * log_det[mask] if d else 0.0)
        expected += terms[len(nodes)] if has_terms else 0.0
        if max_parents is None or len(nodes) <= max_parents + 1:
            assert sets.of_family[mask] == pytest.approx(expected, rel=1e-12)
        for x in nodes:
            is_ruled_out = max_parents is not None and len(nodes) > max_parents + 1
            assert (sets.local_score(x, mask ^ 1 << x) == -np.inf) == is_ruled_out
            step = sets.of_family[mask] - sets.of_family[mask ^ 1 << x]
            assert (step < LEAST_SCORE) == is_ruled_out


def test_two_functions_have_the_terms_of_nodes_too():
    tables = np.random.default_rng(0).normal(size=(3, 8))
    weights = SetWeights(tables, [2, 1, 1, 3, 1], np.arange(6.0))
    assert not weights.is_one
    factor = random_factor(8)
    expected = weights.of_all(log_determinants(factor, widths=weights.widths))
    found = set_functions(factor, weights)
    np.testing.assert_array_equal(found.of_family, expected.of_family)
    np.testing.assert_array_equal(found.of_parents, expected.of_parents)


def test_weights_of_some_nodes():
    tables = table_of_bic(8)
    weights = SetWeights(tables, [2, 1, 4, 1], max_parents=1)
    some = weights.select([3, 2])
    log_det = np.array([0.0, 1.0, 2.0, 3.0])
    expected = weights.at(np.array([0, 8, 4, 12]), log_det)
    np.testing.assert_array_equal(some.of_all(log_det).of_family, expected.of_family)
    assert SetWeights(tables).select([1]) == SetWeights(tables)
    assert weights == SetWeights(tables, [2, 1, 4, 1], max_parents=1)
    assert weights != some
    assert weights != SetWeights(tables, [2, 1, 4, 1])


def test_penalties_of_sizes_that_no_set_has_do_not_count():
    tables = table_of_bic(4)
    tables[0, 3] = -np.inf
    weights = SetWeights(tables, [2, 1, 1])
    assert weights.is_one
    assert np.isfinite(weights.of_family).all()


# Small sets


@settings(max_examples=30, deadline=None)
@given(WIDTHS, st.integers(1, 5), st.integers(0, 99))
def test_small_sets(widths, most, seed):
    m = len(widths)
    factor = random_factor(sum(widths), seed)
    offsets = np.random.default_rng(seed).normal(size=m)
    subsets = SmallSubsets(m, most)
    expected = reference.block_log_determinants(factor, widths, offsets)
    found = small_log_determinants(factor, subsets, offsets, widths=widths)
    n_columns = columns_in_small_sets(subsets, widths)
    assert len(found) == len(n_columns) == subsets.n_sets
    for index in range(subsets.n_sets):
        members = subsets.members(index)
        assert found[index] == pytest.approx(expected[mask_of(members)], abs=1e-11)
        assert n_columns[index] == sum(widths[i] for i in members)


def test_small_sets_of_single_columns_are_the_same_bits():
    factor, offsets, subsets = random_factor(12), np.arange(12.0), SmallSubsets(12, 4)
    found = small_log_determinants(factor, subsets, offsets, 2, widths=[1] * 12)
    expected = small_log_determinants(factor, subsets, offsets, 1)
    np.testing.assert_array_equal(found, expected)


def test_small_sets_of_fewer_rows_than_columns():
    """Only sets with too many columns are dependent."""
    widths = [2, 1, 3, 1, 2]
    rows = np.random.default_rng(0).normal(size=(5, 9))
    factor = np.zeros((9, 9))
    factor[:5] = np.linalg.qr(rows, mode="r")
    subsets = SmallSubsets(5, 2)
    found = small_log_determinants(factor, subsets, np.zeros(5), widths=widths)
    expected = reference.block_log_determinants(rows, widths)
    for index in range(subsets.n_sets):
        mask = mask_of(subsets.members(index))
        assert found[index] == pytest.approx(expected[mask], abs=1e-11)


def test_nodes_whose_own_columns_are_dependent():
    factor = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    found = small_log_determinants(factor, SmallSubsets(2, 1), np.zeros(2), widths=[2, 1])
    np.testing.assert_array_equal(found, [0.0, -np.inf, 0.0])

"""Parts of the walk through all subsets, against the whole walk and against NumPy."""

import numpy as np
import pytest
import reference
from agreement import raises
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skbn import LocalScoreTransformer
from skbn._core.subsets import SmallSubsets, members_of
from skbn._regressions.log_determinants import log_determinants, set_functions
from skbn._regressions.set_function import LEAST_SCORE, SetWeights
from skbn._regressions.small_walk import columns_of_small_sets, small_log_determinants
from skbn.datasets import make_gaussian_network

# All sets of columns


def random_factor(m, seed=0):
    rows = np.random.default_rng(seed).normal(size=(m + 30, m))
    return np.linalg.qr(rows / np.linalg.norm(rows, axis=0), mode="r")


def reference_log_determinant(factor, subset):
    chosen = np.linalg.qr(factor[:, members_of(subset)], mode="r")
    return 2 * np.log(np.abs(np.diag(chosen))).sum()


@pytest.mark.parametrize("m", range(1, 12))
def test_all_subsets(m):
    r = random_factor(m)
    before = r.copy()
    expected = [reference_log_determinant(r, subset) for subset in range(2**m)]
    np.testing.assert_allclose(log_determinants(r), expected, rtol=0, atol=1e-13 * m)
    np.testing.assert_array_equal(r, before)


@pytest.mark.parametrize("m", [14, 15, 16, 19])
def test_some_subsets_of_many_columns(m):
    """With outer columns beside those of the lanes and of the walk."""
    r = random_factor(m)
    log_det = log_determinants(r)
    assert np.isfinite(log_det).all()
    for subset in np.random.default_rng(1).integers(0, 2**m, 500):
        expected = reference_log_determinant(r, subset)
        assert log_det[subset] == pytest.approx(expected, abs=1e-12)


# The walk through subsets of nodes that have several columns each


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


# The log-determinants of small sets of columns


def test_threads_change_no_bit():
    factor = random_factor(20)
    subsets = SmallSubsets(20, 4)
    results = [
        small_log_determinants(factor, subsets, np.zeros(20), n_jobs) for n_jobs in (1, 2, 3)
    ]
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])


@pytest.mark.parametrize("criterion", ["bic", "bge"])
@pytest.mark.parametrize("max_parents", range(6))
def test_scores_equal_those_of_the_full_table(criterion, max_parents):
    rows = make_gaussian_network(6, n_samples=30, random_state=3)[0] * [1, 9, 0.2, 1, 1, 5]
    full = LocalScoreTransformer(criterion).fit_transform(rows)
    small = LocalScoreTransformer(criterion, max_parents=max_parents).fit_transform(rows)
    array, small_array = full.to_array(), small.to_array()
    families = [(x, p) for x, p in reference.families(6) if len(p) <= max_parents]
    assert small_array.shape == (6, len(families) / 6)
    assert small.n_families == len(families)
    assert len({small.family_index(*family) for family in families}) == len(families)
    for family in families:
        expected = array[full.family_index(*family)]
        assert small_array[small.family_index(*family)] == pytest.approx(expected, abs=1e-9)
        assert small.local_score(*family) == pytest.approx(expected, abs=1e-9)


def test_fewer_rows_than_columns():
    rows = make_gaussian_network(8, n_samples=6, random_state=3)[0]
    scores = LocalScoreTransformer(max_parents=2).fit_transform(rows)
    array = scores.to_array()
    for x, parents in reference.families(8):
        if len(parents) <= 2:
            expected = reference.local_score(rows, x, parents)
            assert array[scores.family_index(x, parents)] == pytest.approx(expected, abs=1e-8)
            assert scores.local_score(x, parents) == pytest.approx(expected, abs=1e-8)


def test_only_dependence_within_a_family_is_refused():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 5))
    rows = np.column_stack([rows, rows[:, :4].sum(axis=1)])  # six columns, five of them dependent
    scores = LocalScoreTransformer(max_parents=3).fit_transform(rows)
    for (x, parents), expected in reference.all_local_scores(rows).items():
        if len(parents) <= 3:
            assert scores.local_score(x, parents) == pytest.approx(expected, abs=1e-9)
    assert np.isfinite(scores.to_array()).all()
    wider = LocalScoreTransformer(max_parents=4).fit_transform(rows)
    sum_of_four = " . ".join(f"1 . column {j}" for j in range(4))
    message = f"Column 5 is collinear with others: column 5 = {sum_of_four}"
    raises(message, wider.to_array)
    raises("is collinear with others", wider.local_score, 0, [1, 2, 3, 5])
    assert np.isfinite(wider.local_score(0, [1, 2, 3, 4]))


def test_too_many_parents():
    scores = LocalScoreTransformer(max_parents=1).fit_transform(np.eye(5)[:, :4])
    raises(r"Column 0 was given 2 parents, .* max_parents=1", scores.local_score, 0, [1, 2])


def test_too_few_rows():
    rows = np.random.default_rng(0).normal(size=(4, 9))
    message = r"n_samples = 4 rows for children with up to 3 parents.*set max_parents to 2 or less"
    raises(message, LocalScoreTransformer(max_parents=3).fit_transform(rows).to_array)
    assert np.isfinite(LocalScoreTransformer(max_parents=2).fit_transform(rows).to_array()).all()


def test_sixty_columns():
    rows = make_gaussian_network(60, n_samples=200, random_state=0)[0]
    scores = LocalScoreTransformer(max_parents=3).fit_transform(rows)
    assert scores.n_families == 60 * (1 + 59 + 59 * 58 // 2 + 59 * 58 * 57 // 6)
    rng = np.random.default_rng(1)
    for _ in range(50):
        x, *parents = rng.permutation(60)[: rng.integers(1, 5)].tolist()
        [(top, score, _)] = scores.top_parents(x, 1, parents)
        assert set(top) <= set(parents)
        assert score == pytest.approx(reference.local_score(rows, x, top), abs=1e-9)

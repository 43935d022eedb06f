"""The log-determinants of small sets of columns."""

from itertools import combinations

import numpy as np
import pytest
import reference

from skbn import LocalScoreTransformer
from skbn._core.resources import Progress
from skbn._core.subsets import SmallSubsets
from skbn._regressions.small_walk import small_log_determinants, small_log_determinants_work
from skbn.datasets import make_gaussian_network


def unit_columns(n, m, seed=0):
    rows = make_gaussian_network(m, n_samples=n, random_state=seed)[0]
    rows -= rows.mean(axis=0)
    return rows / np.linalg.norm(rows, axis=0)


def padded_factor(columns):
    m = columns.shape[1]
    factor = np.zeros((m, m))
    triangle = np.linalg.qr(columns, mode="r")
    factor[: len(triangle)] = triangle
    return factor


@pytest.mark.parametrize(
    ("n", "m", "most"), [(20, 6, 1), (20, 6, 2), (9, 7, 4), (50, 6, 6), (6, 9, 4)]
)
def test_every_set(n, m, most):
    columns = unit_columns(n, m)
    subsets = SmallSubsets(m, most)
    offsets = np.random.default_rng(1).normal(size=m)
    seen = []
    progress = Progress(small_log_determinants_work(subsets), (lambda *args: seen.append(args),))
    log_det = small_log_determinants(padded_factor(columns), subsets, offsets, progress=progress)
    assert log_det[0] == 0.0
    for size in range(1, most + 1):
        for members in combinations(range(m), size):
            chosen = columns[:, members]
            expected = np.linalg.slogdet(chosen.T @ chosen)[1] + offsets[list(members)].sum()
            assert log_det[subsets.index(members)] == pytest.approx(expected, abs=1e-9)
    if most > 1:
        assert seen[-1][0] == 100


def test_threads_change_no_bit():
    factor = padded_factor(unit_columns(60, 20))
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
    with pytest.raises(ValueError, match=message):
        wider.to_array()
    with pytest.raises(ValueError, match="is collinear with others"):
        wider.local_score(0, [1, 2, 3, 5])
    assert np.isfinite(wider.local_score(0, [1, 2, 3, 4]))


def test_too_many_parents():
    scores = LocalScoreTransformer(max_parents=1).fit_transform(np.eye(5)[:, :4])
    with pytest.raises(ValueError, match=r"Column 0 was given 2 parents, .* max_parents=1"):
        scores.local_score(0, [1, 2])


def test_too_few_rows():
    rows = np.random.default_rng(0).normal(size=(4, 9))
    message = r"n_samples = 4 rows for children with up to 3 parents.*set max_parents to 2 or less"
    with pytest.raises(ValueError, match=message):
        LocalScoreTransformer(max_parents=3).fit_transform(rows).to_array()
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

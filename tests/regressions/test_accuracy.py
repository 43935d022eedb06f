"""Digits of all families' residual sums of squares, against rational arithmetic."""

import math

import numpy as np
import pytest
import reference
from hard_tables import hard_tables

from skbn import GaussianBNLearner, LocalScoreTransformer
from skbn._core.subsets import SmallSubsets
from skbn._data.sample import summarise
from skbn._regressions.log_determinants import log_determinants
from skbn._regressions.small_walk import small_log_determinants

TABLES = hard_tables()
SLOW = [name for name in TABLES if "twelve" in name or "1 to 10" in name]


def errors_of(log_det, exact, units):
    """Return the errors of log RSS of all families whose log-determinants there are."""
    return {
        (mask, x): abs(log_det[mask | 1 << x] - log_det[mask] + units[x] - log_rss)
        for (mask, x), log_rss in exact.items()
        if mask | 1 << x in log_det
    }


def by_householder(rows, exact):
    """Return the errors of a QR decomposition of each family's own centred columns."""
    scale = np.abs(rows).max(axis=0)
    centred = rows / scale - (rows / scale).mean(axis=0)
    centred -= centred.mean(axis=0)  # what the first mean's rounding left
    errors = {}
    for (mask, x), log_rss in exact.items():
        columns = [*(v for v in range(rows.shape[1]) if mask >> v & 1), x]
        last = np.linalg.qr(centred[:, columns], mode="r")[-1, -1]
        errors[mask, x] = abs(2 * (math.log(abs(last)) + math.log(scale[x])) - log_rss)
    return errors


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(rows, id=name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name, rows in TABLES.items()
    ],
)
def test_every_family_has_the_digits_that_its_condition_leaves(rows):
    rows, m = np.asarray(rows, dtype=float), np.shape(rows)[1]
    exact = reference.exact_log_rss(rows)
    summary = summarise(rows)
    norm = np.linalg.norm(summary.factor, axis=0)
    units = 2 * (np.log(norm) + summary.exponent * math.log(2))
    factor = summary.factor / norm
    limit = 1e-9
    if np.linalg.cond(factor) > 1e6:
        limit = 10 * max(by_householder(rows, exact).values())
    walk = errors_of(dict(enumerate(log_determinants(factor))), exact, units)
    assert len(walk) == m << (m - 1)
    assert max(walk.values()) <= limit
    subsets = SmallSubsets(m, 4)
    log_det = small_log_determinants(factor, subsets, np.zeros(m))
    masks = [sum(1 << v for v in subsets.members(i)) for i in range(subsets.n_sets)]
    few = errors_of(dict(zip(masks, log_det, strict=True)), exact, units)
    assert max(few.values()) <= limit


@pytest.mark.parametrize("name", ["powers 1 to 7 of 0..11", "Longley"])
def test_regressions_by_themselves_have_these_digits_too(name):
    scores = LocalScoreTransformer().fit_transform(TABLES[name])
    for (mask, x), log_rss in reference.exact_log_rss(TABLES[name]).items():
        parents = [v for v in range(scores.shape[1]) if mask >> v & 1]
        rss = scores.residual_sum_of_squares(x, parents)
        assert math.log(rss) == pytest.approx(log_rss, abs=1e-9)


def test_covariance_fails_where_the_walk_does_not():
    rows = TABLES["two columns apart by 1e-6"]
    centred = rows - rows.mean(axis=0)
    factor = np.linalg.cholesky(centred[:, [0, 3]].T @ centred[:, [0, 3]])
    log_rss = reference.exact_log_rss(rows)[1 << 0, 3]
    assert abs(2 * math.log(factor[1, 1]) - log_rss) > 1e-5
    by_walk = LocalScoreTransformer().fit_transform(rows).residual_sum_of_squares(3, [0])
    assert math.log(by_walk) == pytest.approx(log_rss, abs=1e-9)


@pytest.mark.parametrize("max_parents", [None, 1])
@pytest.mark.parametrize("n", [12, 200, 1000])
def test_only_columns_below_the_threshold_are_refused_and_others_are_right(n, max_parents):
    rng = np.random.default_rng(n)
    for times in [0.5, 0.9, 1.1, 2.0]:
        rows = rng.normal(size=(n, 3))
        first, other, last = (rows - rows.mean(axis=0)).T
        # The rule for last = first + residual, whose weights are 1; entries are small enough.
        threshold = 2 * np.finfo(float).eps * 1000 * n * math.sqrt(3)
        last -= (last @ first) / (first @ first) * first
        if max_parents is None:
            last -= (last @ other) / (other @ other) * other
        last *= times * threshold * np.linalg.norm(first) / np.linalg.norm(last)
        rows = np.c_[first, other, first + last]
        if times < 1:
            with pytest.raises(ValueError, match="collinear"):
                GaussianBNLearner(max_parents=max_parents).fit(rows)
            continue
        scores = LocalScoreTransformer("loglik", max_parents=max_parents).fit_transform(rows)
        for (mask, x), log_rss in reference.exact_log_rss(rows).items():
            parents = [v for v in range(3) if mask >> v & 1]
            if max_parents is None or len(parents) <= max_parents:
                expected = -n / 2 * (math.log(2 * math.pi / n) + log_rss + 1)
                place = scores.family_index(x, parents)
                assert scores.to_array()[place] == pytest.approx(expected, abs=1e-3)
        GaussianBNLearner(max_parents=max_parents).fit(scores)

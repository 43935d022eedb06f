"""Digits of all families' residual sums of squares, against rational arithmetic."""

import math
import sys
from math import comb
from pathlib import Path

import numpy as np
import pytest
import reference
from agreement import raises
from hard_tables import hard_tables, nearly_collinear

from skbn import BIC, EBIC, BGe, GaussianBNLearner, LocalScoreTransformer, LogLikelihood
from skbn._core.subsets import SmallSubsets, bits_of, mask_of, members_of
from skbn._data.sample import summarise
from skbn._regressions import least_squares
from skbn._regressions.least_squares import dependence_among, families_of, neighbours
from skbn._regressions.log_determinants import log_determinants, set_functions
from skbn._regressions.set_function import LEAST_SCORE, SetWeights, ruled_out
from skbn._regressions.small_walk import small_log_determinants
from skbn.datasets import make_gaussian_network

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


@pytest.mark.filterwarnings("ignore::skbn.exceptions.RedundantColumnsWarning")
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
            raises("collinear", GaussianBNLearner(max_parents=max_parents).fit, rows)
            continue
        scores = LocalScoreTransformer("loglik", max_parents=max_parents).fit_transform(rows)
        for (mask, x), log_rss in reference.exact_log_rss(rows).items():
            parents = [v for v in range(3) if mask >> v & 1]
            if max_parents is None or len(parents) <= max_parents:
                expected = -n / 2 * (math.log(2 * math.pi / n) + log_rss + 1)
                place = scores.family_index(x, parents)
                assert scores.to_array()[place] == pytest.approx(expected, abs=1e-3)
        GaussianBNLearner(max_parents=max_parents).fit(scores)


# Local scores as differences, against the formula with the criterion's tables


RNG = np.random.default_rng(0)


def capped(tables, most):
    tables = tables.copy()
    tables[0, most + 1 :] = -np.inf
    return tables


def with_gap(tables):
    tables = tables.copy()
    tables[0, 1] = -np.inf
    return tables


ONE = {
    "bic": lambda m: BIC().tables(200, m),
    "log-likelihood": lambda m: LogLikelihood(unbiased_variance=True).tables(200, m),
    "ebic": lambda m: EBIC(gamma=1).tables(50, m, penalty=3.0),
    "bge": lambda m: BGe(alpha_mu=0.1).tables(80, m),
    "of few parents": lambda m: capped(BIC().tables(200, m), 2),
    "of no parents": lambda m: capped(BIC().tables(200, m), 0),
    "of no families": lambda m: capped(BIC().tables(200, m), -1),
}
TWO = {
    "any": lambda m: RNG.normal(size=(3, m)),
    "with a gap": lambda m: with_gap(BIC().tables(200, m)),
    "of a penalty that would cost digits": lambda m: BIC().tables(200, m, penalty=1e9),
}


@pytest.mark.parametrize("kind", [*ONE, *TWO])
@pytest.mark.parametrize("m", [3, 5, 7])
def test_differences_are_the_local_scores(m, kind):
    tables = (ONE | TWO)[kind](m)
    log_det = np.append(0.0, RNG.normal(size=(1 << m) - 1))
    weights = SetWeights(tables)
    assert weights.is_one == (kind in ONE)
    sets = weights.of_all(log_det)
    assert (sets.of_family is sets.of_parents) == weights.is_one
    for (x, parents), expected in reference.scores_by_tables(tables, log_det).items():
        mask = mask_of(parents)
        score = sets.local_score(x, mask)
        if expected == -np.inf:
            assert score == -np.inf
            assert sets.of_family[mask | 1 << x] - sets.of_parents[mask] < LEAST_SCORE
        else:
            term = max(abs(sets.of_family[mask | 1 << x]), abs(sets.of_parents[mask]))
            assert score == pytest.approx(expected, rel=1e-13, abs=1e-14 * term)


@pytest.mark.parametrize("kind", [*ONE, *TWO])
@pytest.mark.parametrize("m", [1, 2, 3, 9, 15])
def test_the_walk_weighs_with_the_same_bits(m, kind):
    if m < 2 and kind == "with a gap":
        pytest.skip("no family has more than a parent")
    weights = SetWeights((ONE | TWO)[kind](m))
    factor = np.triu(RNG.normal(size=(m, m))) + 3 * np.eye(m)
    for offsets in (None, RNG.normal(size=m)):
        expected = weights.of_all(log_determinants(factor, offsets=offsets))
        for n_jobs in (1, 2):
            found = set_functions(factor, weights, n_jobs, offsets=offsets)
            np.testing.assert_array_equal(found.of_family, expected.of_family)
            np.testing.assert_array_equal(found.of_parents, expected.of_parents)


def test_weights_are_equal_if_their_functions_are():
    tables = BIC().tables(200, 4)
    assert SetWeights(tables) == SetWeights(tables.copy())
    assert SetWeights(tables) != SetWeights(capped(tables, 2))
    assert SetWeights(tables) != SetWeights(with_gap(tables))


def test_scores_that_are_ruled_out():
    scores = np.array([0.0, -1e250, -np.inf, 2 * LEAST_SCORE])
    np.testing.assert_array_equal(ruled_out(scores), [0.0, -1e250, -np.inf, -np.inf])


# The families near a network, each against a regression of its own


PARENTS = [0b100110, 0, 0b101001, 0b1, 0b101111, 0]


@pytest.fixture(params=[1 << 21, 40, 1], ids="batches of {} numbers".format)
def any_batches(request, monkeypatch):
    monkeypatch.setattr(least_squares, "_BATCH", request.param)


@pytest.fixture
def rows():
    return make_gaussian_network(6, n_samples=40, random_state=0)[0]


@pytest.mark.usefixtures("any_batches")
@pytest.mark.parametrize("chosen", [None, [4, 1], [2]])
def test_neighbours_are_regressions_with_a_parent_more_or_fewer(rows, chosen):
    factor, products = np.linalg.qr(rows, mode="r"), rows.T @ rows
    children = None if chosen is None else np.array(chosen)
    seen = []
    for found in neighbours(factor, bits_of(PARENTS, 6), children):
        for x, *of_child in zip(*found, strict=True):
            family = set(members_of(PARENTS[x]))
            for z, at_column in enumerate(zip(*of_child, strict=True)):
                changed = family if z == x else family ^ {z}
                expected = [
                    reference.log_det(products, sorted(s)) for s in (changed, changed | {x})
                ]
                assert at_column == pytest.approx(expected, abs=1e-12)
            seen.append(x)
    assert sorted(seen) == (list(range(6)) if chosen is None else sorted(chosen))


@pytest.mark.parametrize("others", [(), (1, 2)])
@pytest.mark.parametrize("digits", [2, 4, 6])
def test_what_a_family_leaves_of_nearly_collinear_columns_keeps_its_digits(digits, others):
    """A column's square less what the family explains would keep 16 - 2 * digits of them."""
    rows = nearly_collinear(digits, others=others)
    exact = reference.exact_log_rss(rows)
    factor = summarise(rows).factor
    factor = factor / np.linalg.norm(factor, axis=0)
    exact_units = np.array([exact[0, x] for x in range(6)])
    for parents in [[0] * 6, [0, 0b1, 0b11, 0b110, 0b101, 0b111], PARENTS]:
        for found in neighbours(factor, bits_of(parents, 6)):
            log_share = found.of_family - found.of_parents
            for x, shares in zip(found.children, log_share, strict=True):
                changed = [parents[x] if z == x else parents[x] ^ 1 << z for z in range(6)]
                expected = [exact[mask, x] - exact_units[x] for mask in changed]
                np.testing.assert_allclose(shares, expected, atol=10.0 ** (digits - 14), rtol=0)


@pytest.mark.usefixtures("any_batches")
def test_regressions_are_those_of_least_squares(rows):
    factor = np.linalg.qr(rows - rows.mean(axis=0), mode="r")
    seen = []
    for families in families_of(factor, bits_of(PARENTS, 6)):
        coefficients, left = families.regressions()
        for i, x in enumerate(families.children):
            parents = members_of(PARENTS[x])
            _, expected, rss = reference.regression(rows, x, parents)
            assert families.columns[i].tolist()[: len(parents) + 1] == [*parents, x]
            assert left[i] ** 2 == pytest.approx(rss, rel=1e-12)
            padded = [*expected, *[0.0] * (coefficients.shape[1] - len(parents))]
            np.testing.assert_allclose(coefficients[i], padded, atol=1e-12)
            seen.append(x)
    assert sorted(seen) == list(range(6))


@pytest.mark.parametrize("digits", range(2, 15))
def test_families_that_need_no_look_are_independent(rows, digits):
    rows = rows.copy()
    rows[:, 5] = rows[:, :5].sum(axis=1) + 10.0**-digits * rows[:, 5]
    factor = np.linalg.qr(rows - rows.mean(axis=0), mode="r")
    factor /= np.linalg.norm(factor, axis=0)
    rounding, n_passed = np.geomspace(1e-12, 1e-10, 6), 0
    (families,) = families_of(factor, bits_of([0, 1, 0b11, 0b111, 0b1111, 0b11111], 6))
    for i in np.flatnonzero(~families.may_be_dependent(rounding)):
        n, n_passed = families.n_parents[i] + 1, n_passed + 1
        columns = families.columns[i, :n].tolist()
        assert dependence_among(columns, families.factors[i, :n, :n], rounding) is None
    assert n_passed == (6 if digits < 9 else 5)


# The flops that tests/benchmarks/results/all_regressions.txt has


sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))


def greedy(m):
    return 3 * m * 2**m + 6 * 2**m - 3 * m**2 - 9 * m - 6


def clarke(m):
    n = m - 1
    return m * (greedy(n) + 6 * (2**n - n - 1))


def dropping_columns(m):
    n = m - 1
    return m * (21 * 2**n - 3 * n**2 - 15 * n - 24)


def brute_force(m):
    return sum(m * comb(m - 1, k) * (k + 1) * (k + 2) * (2 * k + 3) // 6 for k in range(m))


@pytest.mark.slow
@pytest.mark.parametrize("m", [3, 4, 7, 10])
def test_counted_flops(m):
    import all_regressions

    counted = {name: flops for name, (_, flops, _, _) in all_regressions.run(m).items()}
    assert counted == {
        "greedy swaps": greedy(m),
        "DCA": dropping_columns(m),
        "Clarke": clarke(m),
        "brute force": brute_force(m),
    }

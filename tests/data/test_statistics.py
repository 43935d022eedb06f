"""The statistics of a table: published regressions, and tables that are refused."""

from fractions import Fraction
from functools import reduce
from itertools import permutations

import numpy as np
import pytest
import reference
from agreement import raises
from hard_tables import LONGLEY
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skbn import GaussianBNLearner, LocalScores, LocalScoreTransformer, LogLikelihood
from skbn._data.sample import _ROWS_A_BLOCK, RowSummary, Sample, summarise

LONGLEY_INTERCEPT = -3482258.63459582
LONGLEY_COEFFICIENTS = [
    15.0618722713733,
    -0.358191792925910e-01,
    -2.02022980381683,
    -1.03322686717359,
    -0.511041056535807e-01,
    1829.15146461355,
]
LONGLEY_RSS = 836424.055505915


def test_certified_regression_of_longley():
    scores = LocalScoreTransformer().fit_transform(LONGLEY)
    intercept, coefficients = scores.coef(0, range(1, 7))
    assert intercept == pytest.approx(LONGLEY_INTERCEPT, rel=1e-9)
    assert_allclose(coefficients, LONGLEY_COEFFICIENTS, rtol=1e-8)
    assert scores.residual_sum_of_squares(0, range(1, 7)) == pytest.approx(LONGLEY_RSS, rel=1e-9)
    n = len(LONGLEY)
    expected = -n / 2 * (np.log(2 * np.pi * LONGLEY_RSS / n) + 1) - 4 * np.log(n)
    row, column = scores.family_index(0, range(1, 7))
    assert scores.to_array()[row, column] == pytest.approx(expected, abs=1e-7)


def table(m=4, n=30):
    return np.random.default_rng(0).normal(size=(n, m))


def refused(rows, message, columns=None):
    import pandas as pd

    X = rows if columns is None else pd.DataFrame(rows, columns=columns)
    raises(message, GaussianBNLearner().fit, X)
    raises(message, lambda: LocalScoreTransformer().fit_transform(X).log_determinants)


def with_column(column, values, m=4):
    rows = table(m)
    rows[:, column] = values
    return rows


A, B = table()[:, :2].T
COLLINEAR = r"Column 3 is collinear with others: column 3 = 1 \* column {} \+ constant"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        *(
            (with_column(2, value), "Column 2 has zero variance: all its values .* Leave it out")
            for value in (0.0, 0.1, -3e200, 1e-300)
        ),
        (with_column(1, [0.1 + 0.2, 0.3] * 15), "Column 1 has zero variance"),  # up to rounding
        (table() * [1, 1, 1, 1e-200], "Column 3 has values up to .* other units"),
        (table() * [1, 1, 1, 1e200], "Column 3 has values up to .* other units"),
        *((table(n=n), f"n_samples = {n} rows for 4 columns.*unbounded") for n in (2, 3, 4)),
        (with_column(3, B), COLLINEAR.format(1)),
        (with_column(3, A * (1 + 1e-15) + 1e8), COLLINEAR.format(0)),
        (with_column(2, table(3) @ [1, 1e-7, 0], m=3), r"= .*1e-07 \* column 1 \+ constant"),
        (
            np.random.default_rng(0).dirichlet(np.ones(6), size=100),
            " - ".join(rf"1 \* column {j}" for j in range(5)) + r" \+ constant",
        ),
    ],
)
def test_tables_that_are_refused(rows, message):
    refused(rows, message)


def test_columns_of_frames_are_named():
    refused(with_column(2, 0.1), "Column 'c' has zero variance", list("abcd"))
    assert len(GaussianBNLearner().fit(table(m=4, n=5)).dag_) == 4  # one row more suffices


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("unit", [1e-100, 1.0, 1e9])
def test_linear_combination(offset, unit):
    rows = table(m=5)
    rows[:, 2] = unit * (2 * rows[:, 0] - 0.5 * rows[:, 4] + offset)
    a, e = f"{2 * unit:g}".replace("+", r"\+"), f"{0.5 * unit:g}".replace("+", r"\+")
    # the last of the columns is the one that adds nothing
    relation = r"'e' = .* \* 'a' - .* \* 'c' \+ constant"
    refused(rows, f"Column 'e' is collinear with others: {relation}", list("abcde"))
    with pytest.raises(ValueError, match="collinear") as refusal:
        GaussianBNLearner().fit(rows[:, [0, 4, 2]])
    assert f"2 = {a} * column 0 - {e} * column 1 + constant".replace("\\", "") in str(refusal.value)


@pytest.mark.filterwarnings("ignore::skbn.exceptions.RedundantColumnsWarning")
@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("noise", [1e-3, 1e-6, 1e-9])
def test_nearly_collinear_columns_are_right(noise, order):
    """Against regressions in rational arithmetic, where `lstsq` would know few digits."""
    rows = table(m=3, n=15)
    rows[:, 2] = rows[:, 0] + noise * rows[:, 2]
    rows = rows[:, order]
    a, b, c = (order.index(j) for j in range(3))
    scores = LocalScoreTransformer().fit_transform(rows)
    array = scores.to_array()
    for child, parents in [(c, [a]), (a, [c]), (c, [a, b]), (b, [a, c]), (a, [b])]:
        parents = sorted(parents)
        expected = local_score_in_rationals(rows, child, parents)
        assert scores.local_score(child, parents) == pytest.approx(expected, abs=1e-3)
        assert array[scores.family_index(child, parents)] == pytest.approx(expected, abs=1e-3)
    assert GaussianBNLearner().fit(rows).dag_.number_of_edges() >= 1


def local_score_in_rationals(rows, child, parents):
    """By the products of deviations: a residual is a ratio of determinants."""
    n, k = len(rows), len(parents)
    products = reference.exact_products(rows[:, [*parents, child]])[0]
    rss = reference.determinant(products) / reference.determinant(products[:k, :k])
    return -n / 2 * (np.log(2 * np.pi * float(rss) / n) + 1) - (k + 2) * np.log(n) / 2


def test_nearly_collinear_columns_whose_light_rows_were_merged_one_by_one():
    """Each merge adds its rounding, and the weights' sum is too small to allow for them."""
    n, weight = 120, 2.0**-4
    rows = np.random.default_rng(0).normal(size=(n, 3))
    for noise in 10.0 ** np.arange(-8, -14, -1):
        nearly = rows.copy()
        nearly[:, 2] = rows[:, 0] + noise * rows[:, 2]
        summaries = (summarise(row[np.newaxis], np.array([weight])) for row in nearly)
        sample = Sample.of_summary(reduce(RowSummary.merge, summaries))
        scores = LocalScores._from_sample(sample, LogLikelihood())
        try:
            found = scores.local_score(2, [0])
        except ValueError:
            break
        # Equal weights multiply n, and the residual's sum of squares: their ratio stays.
        parameters = 3 * np.log(n) / 2
        expected = (local_score_in_rationals(nearly, 2, [0]) + parameters) * weight
        assert found == pytest.approx(expected, abs=1e-4)
    assert noise < 1e-9


@pytest.mark.filterwarnings("ignore::skbn.exceptions.RedundantColumnsWarning")
@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("noise", [1e-12, 1e-14, 0])
def test_too_nearly_collinear_columns_are_refused_in_any_order(noise, order):
    rows = table(m=3, n=30)
    rows[:, 2] = rows[:, 0] + noise * rows[:, 2]
    names = [["a", "b", "c"][j] for j in order]
    refused(rows[:, order], r"'[ac]' = 1 \* '[ac]' \+ constant, up to .* leave out one", names)


def test_an_outlier_of_next_to_no_weight_is_no_constant_column():
    rows = table(m=3)
    rows[0, 0] = 1e17
    weight = np.ones(len(rows))
    weight[0] = 1e-30
    message = r"Column 0 has zero variance up to rounding: .* to 1e\+17"
    raises(message, GaussianBNLearner().fit, rows, sample_weight=weight)


@pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")
@pytest.mark.parametrize(
    ("criterion", "n_samples", "message"),
    [
        ("bic", 1e9, r"weights of X's 100 rows sum to 1e\+09, .* sample_weight\.mean\(\)"),
        ("bge", 1e9, r"weights of X's 100 rows sum to 1e\+09, .* sample_weight\.mean\(\)"),
        ("bic", 1e12, r"n_samples = 1e\+12, .* sum of their weights, .* sample_weight\.mean\(\)"),
    ],
)
def test_weights_are_blamed_where_their_sum_makes_rounding_matter(criterion, n_samples, message):
    rows = table(2, 100)
    rows[:, 1] = rows[:, 0] + 1e-4 * rows[:, 1]
    weight = np.full(100, n_samples / 100)
    learner = GaussianBNLearner(criterion)
    raises(message, learner.fit, rows, sample_weight=weight)
    network = learner.fit(rows, sample_weight=weight / weight.mean()).network_
    raises(r"weights of X's 100 rows sum to", network.fit_indices, rows, sample_weight=weight)
    rows[:, 1] = rows[:, 0]
    with pytest.raises(ValueError, match=message if n_samples == 1e12 else "is collinear with"):
        GaussianBNLearner("bic").fit(rows, sample_weight=weight)


def test_large_offset_of_independent_columns_is_no_collinearity():
    rows = table(n=2000) + 1e8
    assert len(GaussianBNLearner().fit(rows).dag_) == 4


# Summaries of rows: exact scatter, weights as repeats, chunks as a whole


def assert_is_summary_of(summary, rows, weight, accuracy=1e-12):
    scatter, mean = reference.exact_products(rows, weight)
    spread = np.sqrt(scatter.diagonal().astype(float))
    spread[spread == 0] = 1
    factor = np.ldexp(summary.factor, summary.exponent) / spread
    expected = scatter.astype(float) / spread / spread[:, np.newaxis]
    assert_allclose(factor.T @ factor, expected, rtol=0, atol=accuracy)
    error = [abs(Fraction(a) - b) for a, b in zip(summary.column_means, mean, strict=True)]
    assert (np.array(error, dtype=float) <= 4e-16 * np.abs(rows).max(axis=0)).all()
    assert summary.n_samples == pytest.approx(np.sum(weight), rel=1e-15)
    assert_array_equal(summary.minimum, rows.min(axis=0))
    assert_array_equal(summary.maximum, rows.max(axis=0))


def uneven_table(seed, n, m=4):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, m)) @ rng.normal(size=(m, m))
    return rows * 10.0 ** rng.integers(-3, 4, size=m) + 10.0 ** rng.integers(-3, 6, size=m)


@given(
    st.integers(0, 1000),
    st.lists(st.integers(1, 9), min_size=1, max_size=6),
    st.sampled_from([None, "repeats", "reals"]),
)
def test_chunks_make_the_whole(seed, sizes, kind):
    n = sum(sizes)
    rows, rng = uneven_table(seed, n), np.random.default_rng(seed)
    weight = {None: None, "repeats": rng.integers(1, 5, n), "reals": rng.exponential(size=n)}[kind]
    weight = None if weight is None else weight.astype(float)
    chunks = np.split(np.arange(n), np.cumsum(sizes)[:-1])
    merged = reduce(
        RowSummary.merge,
        (summarise(rows[c], None if weight is None else weight[c]) for c in chunks),
    )
    ones = np.ones(n) if weight is None else weight
    # Deviations from a mean that is a million times larger have ten digits left.
    assert_is_summary_of(merged, rows, ones, accuracy=1e-8)
    assert_is_summary_of(summarise(rows, weight), rows, ones, accuracy=1e-8)
    assert merged.n_rows == n


def test_weights_of_many_blocks_stay_with_their_rows():
    n = 2 * _ROWS_A_BLOCK + 17
    rows, weight = uneven_table(1, n), np.random.default_rng(1).integers(0, 4, n)
    weight[_ROWS_A_BLOCK : 2 * _ROWS_A_BLOCK] = 0  # a block that does not count
    weighted = summarise(rows, weight.astype(float))
    repeated = summarise(rows.repeat(weight, axis=0))
    assert_allclose(weighted.column_means, repeated.column_means, rtol=1e-14)
    assert_allclose(weighted.column_means, np.average(rows, axis=0, weights=weight), rtol=1e-12)
    assert_array_equal(weighted.exponent, repeated.exponent)
    scatter, expected = (s.factor.T @ s.factor for s in (weighted, repeated))
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert_allclose(scatter / scale, expected / scale, atol=1e-9)
    assert (weighted.n_rows, weighted.n_samples) == ((weight > 0).sum(), weight.sum())
    assert isinstance(weighted.n_samples, int)


def test_large_means_leave_the_digits_of_small_spreads():
    """Deviations are exact if the mean is near; merging must not lose them."""
    rng = np.random.default_rng(0)
    rows = 2.0**30 + rng.integers(-64, 64, size=(60, 3)) * 2.0**-20
    merged = reduce(RowSummary.merge, map(summarise, np.split(rows, 6)))
    expected = reference.exact_products(rows)[0].astype(float)
    for summary in (merged, summarise(rows)):
        factor = np.ldexp(summary.factor, summary.exponent)
        assert_allclose(factor.T @ factor, expected, rtol=1e-12, atol=1e-21)


@pytest.mark.parametrize("scale", [1e-308, 1e-300, 1e-160, 1e150, 1e301])
def test_extreme_units_and_a_column_that_begins_with_zeros(scale):
    rows = uneven_table(5, 20) * scale
    rows[:10, 2] = 0
    merged = summarise(rows[:10]).merge(summarise(rows[10:]))
    assert_allclose(merged.column_means, rows.mean(axis=0), rtol=1e-12)
    factor, whole = merged.factor, summarise(rows)
    assert_array_equal(merged.exponent, whole.exponent)
    assert_allclose(factor.T @ factor, whole.factor.T @ whole.factor, rtol=1e-9, atol=1e-20)
    assert (np.abs(factor).max(axis=0) > 1e-12).all()

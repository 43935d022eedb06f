"""The statistics of a table: published regressions, and tables that are refused."""

from fractions import Fraction
from functools import reduce
from itertools import permutations
from operator import mul

import numpy as np
import pytest
from agreement import raises
from hard_tables import LONGLEY

from skbn import GaussianBNLearner, LocalScores, LocalScoreTransformer, LogLikelihood
from skbn._data.sample import RowSummary, Sample, summarise
from skbn._data.statistics import sample_statistics

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
    np.testing.assert_allclose(coefficients, LONGLEY_COEFFICIENTS, rtol=1e-8)
    assert scores.residual_sum_of_squares(0, range(1, 7)) == pytest.approx(LONGLEY_RSS, rel=1e-9)
    n = len(LONGLEY)
    expected = -n / 2 * (np.log(2 * np.pi * LONGLEY_RSS / n) + 1) - 4 * np.log(n)
    row, column = scores.family_index(0, range(1, 7))
    assert scores.to_array()[row, column] == pytest.approx(expected, abs=1e-7)


def test_mean_and_scale_of_a_large_offset():
    rows = np.random.default_rng(0).normal(size=(50, 2))
    shifted = rows + 2.0**40
    rows = shifted - 2.0**40
    statistics = sample_statistics(summarise(shifted), [0, 1])
    centred = rows - rows.mean(axis=0)
    np.testing.assert_allclose(statistics.scale, np.linalg.norm(centred, axis=0), rtol=1e-14)
    np.testing.assert_allclose(statistics.mean, shifted.mean(axis=0), rtol=1e-15)


def table(m=4, n=30):
    return np.random.default_rng(0).normal(size=(n, m))


def refused(rows, message, columns=None):
    import pandas as pd

    X = rows if columns is None else pd.DataFrame(rows, columns=columns)
    raises(message, GaussianBNLearner().fit, X)
    with pytest.raises(ValueError, match=message):
        _ = LocalScoreTransformer().fit_transform(X).log_determinants


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
    n = len(rows)
    columns = [[Fraction(value) for value in rows[:, j]] for j in [*parents, child]]
    centred = [[value - sum(column) / n for value in column] for column in columns]
    for i, column in enumerate(centred):
        for later in centred[i + 1 :]:
            weight = sum(map(mul, column, later)) / sum(map(mul, column, column))
            later[:] = [y - weight * x for x, y in zip(column, later, strict=True)]
    rss = float(sum(map(mul, centred[-1], centred[-1])))
    return -n / 2 * (np.log(2 * np.pi * rss / n) + 1) - (len(parents) + 2) * np.log(n) / 2


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
    with pytest.raises(
        ValueError, match=r"Column 0 has zero variance up to rounding: .* to 1e\+17"
    ):
        GaussianBNLearner().fit(rows, sample_weight=weight)


@pytest.mark.filterwarnings("ignore::skbn.exceptions.SampleWeightWarning")
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

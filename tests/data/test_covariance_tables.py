"""Covariance matrices in place of rows."""

import numpy as np
import pandas as pd
import pytest

from skbn import GaussianBNLearner, from_covariance

NAMES = list("abc")
S = np.array([[1, 0.5, -0.2], [0.5, 1, 0.4], [-0.2, 0.4, 1]])
STD = np.array([1.0, 30, 0.5])
FRAME = pd.DataFrame(S, NAMES, NAMES)
BELOW = np.tri(3) > 0


def scatter_of(table):
    """Return the sums of products that the summary of a table has, in its own units."""
    summary = table.as_sample().summary
    factor = summary.factor * np.ldexp(1.0, summary.exponent)
    return factor.T @ factor


MATRICES = {
    "array": lambda: S,
    "frame": lambda: FRAME,
    "rows' labels in a column": lambda: FRAME.reset_index(),
    "without rows' labels": lambda: FRAME.reset_index(drop=True),
    "lower triangle": lambda: [[1], [0.5, 1], [-0.2, 0.4, 1]],
    "upper triangle": lambda: [[1, 0.5, -0.2], [1, 0.4], [1]],
    "blank above": lambda: FRAME.where(BELOW),
    "zeros above": lambda: np.tril(S),
    "zeros below": lambda: np.triu(S),
    "None above": lambda: [[1, None, None], [0.5, 1, None], [-0.2, 0.4, 1]],
    "text": lambda: "1\n.5 1\n-.2 .4 1",
    "printed": lambda: "\n \u2014\n .50** \u2014\n \u2212.2  .4* \u2014\n",
    "full text": lambda: "1,.5,-.2\n.5,1,.4\n\u2013.2,.4,1",
    "blank diagonal": lambda: np.where(np.eye(3) > 0, np.nan, S),
}


@pytest.mark.parametrize("kind", MATRICES)
def test_matrices_are_read_as_they_are_printed(kind):
    table = from_covariance(MATRICES[kind](), 50)
    np.testing.assert_allclose(scatter_of(table), 49 * S, atol=1e-12)
    is_named = hasattr(MATRICES[kind](), "columns")
    assert table.columns == (NAMES if is_named else [0, 1, 2])
    assert table.is_standardised
    assert repr(table) == "<CovarianceTable of 50 rows x 3 columns, standardised>"


@pytest.mark.parametrize("values", [list, lambda v: pd.Series(v, NAMES)[::-1]])
def test_means_and_deviations_are_matched_by_name(values):
    table = from_covariance(S, 50, values(3 * STD), 0, std=values(STD), names=NAMES)
    np.testing.assert_allclose(scatter_of(table), 50 * S * np.outer(STD, STD), rtol=1e-12)
    np.testing.assert_allclose(table.as_sample().summary.column_means, 3 * STD, rtol=1e-15)
    assert not table.is_standardised


def test_tables_of_groups_add_up():
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=(n, 3)) * 10.0**n + n for n in (5, 8, 12)]
    tables = [
        from_covariance(np.cov(rows.T), len(rows), rows.mean(axis=0), names=NAMES)
        for rows in groups
    ]
    total = tables[0] + tables[1] + tables[2]
    expected = np.cov(np.vstack(groups).T) * 24
    np.testing.assert_allclose(scatter_of(total), expected, rtol=1e-9, atol=1e-9 * expected.max())
    assert total.shape == (25, 3)
    with pytest.raises(ValueError, match="Give both the same columns"):
        tables[0] + from_covariance(S, 50)
    with pytest.raises(TypeError, match="unsupported operand"):
        tables[0] + 1


def test_spread_far_below_the_mean_is_kept():
    rows = np.random.default_rng(1).normal(size=(50, 3))
    ours = from_covariance(np.cov(rows.T) * 1e-40, 50, [1e9, -1e9, 0])
    theirs = GaussianBNLearner().fit(rows * 1e-20)
    score = GaussianBNLearner().fit(ours).network_score_
    assert score == pytest.approx(theirs.network_score_, abs=1e-7)


@pytest.mark.parametrize(
    ("cov", "settings", "error", "message"),
    [
        ([[1], [0.9, 1], [0.1, 0.9, 1]], {}, ValueError, r"smallest eigenvalue .* is -0\.22"),
        (np.ones((2, 2)), {}, ValueError, "not positive definite"),
        ([[1, 0.2], [0.3, 1]], {}, ValueError, r"0\.2 for 0 and 1, and 0\.3 the other.*tril"),
        ([[1, np.nan], [0.3, 1], [1, 2]], {}, ValueError, "square matrix"),
        ([[1, np.nan, 0.1], [0.3, 1, 0], [0.1, 0, 1]], {}, ValueError, "nan for 0 and 1"),
        ([[1, 0], [0, 0]], {}, ValueError, "variance of column 1 is 0"),
        ([[1, 2, 3], [1], [1]], {}, ValueError, r"rows of cov have \[3, 1, 1\] numbers"),
        ("a 1\nb .2 1", {}, ValueError, "must be a square|have .* numbers"),
        ("a .2\n.2 1", {}, ValueError, "must hold numbers"),
        (FRAME[::-1], {}, ValueError, r"same order, as by cov.loc\[list"),
        ([[1]], {}, ValueError, "two columns or more"),
        (S, {"n_samples": 1}, ValueError, "at least 2; got 1"),
        (S, {"n_samples": "50"}, TypeError, "n_samples must be a number; got '50'"),
        (S, {"n_samples": np.nan}, ValueError, "at least 2; got nan"),
        (S, {"ddof": -1}, ValueError, "ddof must be at least 0"),
        (S, {"ddof": 50}, ValueError, "ddof must be at least 0"),
        (S, {"means": [1, 2]}, ValueError, "means must have a finite number for each"),
        (S, {"means": "abc"}, ValueError, "means must have a finite number for each"),
        (
            FRAME,
            {"means": {"a": 1}},
            ValueError,
            r"means has no value for the columns \['b', 'c'\]",
        ),
        (S * 2, {"std": STD}, ValueError, "Leave std out"),
        (S, {"std": [1, 0, 1]}, ValueError, "std must be positive; it is 0 for column 1"),
        (S, {"names": ["a", "b"]}, ValueError, "names must have one for each of the 3"),
        (S, {"names": list("aab")}, ValueError, "a name of its own"),
        (S, {"names": ["a", 1, 2]}, TypeError, "must be strings"),
    ],
)
def test_what_is_no_covariance_matrix_is_refused(cov, settings, error, message):
    with pytest.raises(error, match=message):
        from_covariance(cov, **{"n_samples": 50, **settings})


def test_shrinking_as_advised_is_enough():
    cov = np.array([[1, 0.9, 0.1], [0.9, 1, 0.9], [0.1, 0.9, 1]])
    with pytest.raises(ValueError, match="not positive definite") as error:
        from_covariance(cov, 50)
    shrunk = eval(str(error.value).partition("as by ")[2], {"cov": cov, "numpy": np})
    assert GaussianBNLearner().fit(from_covariance(shrunk, 50)).is_optimal_

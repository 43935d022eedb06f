"""Covariance matrices in place of rows."""

import pickle

import numpy as np
import pandas as pd
import pytest
from agreement import assert_same_network, raises

import skbn
from skbn import GaussianBNLearner, GaussianBNPosterior, LocalScoreTransformer, from_covariance
from skbn.exceptions import DegenerateColumnsError

NAMES = list("abc")
S = np.array([[1, 0.5, -0.2], [0.5, 1, 0.4], [-0.2, 0.4, 1]])
STD = np.array([1.0, 30, 0.5])
FRAME = pd.DataFrame(S, NAMES, NAMES)
BELOW = np.tri(3) > 0


def scatter_of(table):
    """Return the sums of products that the summary of a table has, in its own units."""
    summary = table._as_sample().summary
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
    np.testing.assert_allclose(table._as_sample().summary.column_means, 3 * STD, rtol=1e-15)
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
    raises("Give both the same columns", lambda: tables[0] + from_covariance(S, 50))
    raises("unsupported operand", lambda: tables[0] + 1, kind=TypeError)


def centres():
    """Tables of centres that differ in their means; one is small, in one a column is constant."""
    rng = np.random.default_rng(0)
    mix = np.eye(5) + np.triu(rng.normal(size=(5, 5)), 1)
    found = [rng.normal(size=(n, 5)) @ mix + rng.normal(size=5) for n in (100, 60, 4, 30)]
    found[3][:, 4] = 1.0
    return [pd.DataFrame(rows, columns=[*"abcde"]) for rows in found]


@pytest.mark.parametrize("criterion", ["bic", "bge"])
@pytest.mark.parametrize("keeps_means", [True, False])
def test_centres_together_are_their_pooled_rows(criterion, keeps_means):
    tables, means = centres(), [rows.mean() if keeps_means else None for rows in centres()]
    orders = [[*"abcde"], [*"edcba"], [*"abcde"], [*"caebd"]]
    summaries = [
        from_covariance(rows[order].cov(), len(rows), mean)
        for rows, order, mean in zip(tables, orders, means, strict=True)
    ]
    pooled = pd.concat([rows if keeps_means else rows - rows.mean() for rows in tables])
    found, expected = (GaussianBNLearner(criterion).fit(each) for each in (sum(summaries), pooled))
    assert_same_network(found, expected)
    if criterion == "bic":
        ours, theirs = (each.network_.to_frame().std_err for each in (found, expected))
    else:
        posteriors = (GaussianBNPosterior().fit(each) for each in (sum(summaries), pooled))
        ours, theirs = (each.edge_probabilities_ for each in posteriors)
    np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_a_centre_with_a_constant_column_cannot_stand_alone():
    table = from_covariance([[1, 0], [0, 0]], 50, [3, 7])
    raises("Column 1 has zero variance: all its values equal 7", GaussianBNLearner().fit, table)


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
        ([[1, 0.1], [0.1, 0]], {}, ValueError, "variance of column 1 is 0"),
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
        (S, {"means": [1, 2]}, ValueError, "means must have a number for each"),
        (S, {"means": "abc"}, ValueError, "means must be a finite number"),
        (FRAME, {"means": {"a": 1}}, ValueError, r"value for each column; missing \['b', 'c'\]"),
        (S * 2, {"std": STD}, ValueError, "Leave std out"),
        (S, {"std": [1, 0, 1]}, ValueError, "std must be positive; it is 0 for column 1"),
        (S, {"names": ["a", "b"]}, ValueError, "names must have one for each of the 3"),
        (S, {"names": list("aab")}, ValueError, "a name of its own"),
        (S, {"names": ["a", 1, 2]}, TypeError, "must be strings"),
    ],
)
def test_what_is_no_covariance_matrix_is_refused(cov, settings, error, message):
    raises(message, from_covariance, cov, **{"n_samples": 50, **settings}, kind=error)


def test_shrinking_as_advised_is_enough():
    cov = np.array([[1, 0.9, 0.1], [0.9, 1, 0.9], [0.1, 0.9, 1]])
    with pytest.raises(ValueError, match="not positive definite") as error:
        from_covariance(cov, 50)
    factor = float(str(error.value).partition("off the diagonal by ")[2].rstrip("."))
    shrunk = factor * cov + (1 - factor) * np.eye(3)
    assert GaussianBNLearner().fit(from_covariance(shrunk, 50)).is_optimal_


@pytest.mark.parametrize("settings", [{"max_parents": 2}, {"criterion": "bge"}])
def test_covariances_of_few_rows(settings):
    """They have the scores of their rows, and are refused where these are, or may have none."""
    rows = np.random.default_rng(5).normal(size=(8, 9)) * 10.0 ** np.arange(-4, 5)
    table = from_covariance(np.cov(rows.T), 8, rows.mean(axis=0))
    learner = GaussianBNLearner(**settings)
    expected = learner.fit(rows).network_score_
    assert learner.fit(table).network_score_ == pytest.approx(expected, abs=1e-6)
    if "max_parents" in settings:
        raises("set max_parents to 6 or less", GaussianBNLearner().fit, table)
        rows[:, 1] = 3 * rows[:, 0] + 1e-9 * rows[:, 1]
        with pytest.raises(DegenerateColumnsError, match="Column 1 is collinear"):
            learner.fit(from_covariance(np.cov(rows.T), 8))


# All constant and redundant columns are named in one error, and a table without them is fitted


def degenerate(n=120):
    """Eight columns that vary freely, two constants, a copy, a sum and an average of all."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(n, 8)), columns=list("abcdefgh"))
    return frame.assign(
        zero=0.0, third=1 / 3, copy=2 * frame["a"] + 3, total=frame["b"] + frame["c"], again=1.0
    ).assign(average=frame.mean(axis=1))


def log_determinants_of(table):
    return LocalScoreTransformer().fit_transform(table).log_determinants


def refusal(fit, table):
    with pytest.raises(DegenerateColumnsError) as refused:
        fit(table)
    return refused.value


@pytest.mark.filterwarnings("ignore::skbn.exceptions.ApproximateEvidenceWarning")
@pytest.mark.parametrize(
    ("fit", "collinear"),
    [
        (GaussianBNLearner().fit, ["copy", "total", "average"]),
        (GaussianBNLearner(max_parents=2).fit, ["copy", "total"]),
        (GaussianBNLearner(max_parents=1).fit, ["copy"]),
        (GaussianBNLearner(search="order").fit, ["copy", "total", "average"]),
        (GaussianBNPosterior("bic").fit, ["copy", "total", "average"]),
        (skbn.BootstrapBNLearner(n_resamples=2, random_state=0).fit, ["copy", "total", "average"]),
        (log_determinants_of, ["copy", "total", "average"]),
    ],
)
def test_one_error_names_all(fit, collinear):
    table = degenerate()
    error = refusal(fit, table)
    assert error.constant_columns == ["zero", "third", "again"]
    assert error.collinear_columns == collinear
    assert all(repr(name) in str(error) for name in error.columns)
    assert len(str(error)) < 1000
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.columns) == (str(error), error.columns)
    fit(table.drop(columns=error.columns))


def test_long_equations_and_lists_are_cut_short():
    rows = np.random.default_rng(0).normal(size=(100, 30))
    rows = np.column_stack([rows, rows @ np.ones((30, 8)) + rows[:, :8]])
    error = refusal(GaussianBNLearner(search="order").fit, rows)
    assert error.collinear_columns == list(range(30, 38))
    assert "+ 25 more terms + constant" in str(error)
    assert "; and 3 more. " in str(error)
    assert len(str(error)) < 1500


def test_columns_by_which_a_pair_far_apart_depends_need_a_limit():
    table = degenerate()[list("abcdefgh")].assign(total=lambda t: t.sum(axis=1))
    table["copy"] = -table["total"]  # of a column that depends on too many for a family
    error = refusal(GaussianBNLearner(max_parents=2).fit, table)
    assert error.columns == ["copy"]
    GaussianBNLearner(max_parents=2).fit(table.drop(columns="copy"))


def test_categories_are_named_by_their_columns():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(90, 2)), columns=["x", "y"])
    table["site"] = pd.Categorical(rng.choice(list("pqr"), 90), categories=list("pqr"))
    table = table.assign(region=table["site"].cat.rename_categories(list("PQR")), two=4.0)
    table = table.assign(flag=(table["site"] == "q").astype(float), u=0.5, v=0.25)
    table["state"] = pd.Categorical(["only"] * 90, categories=["only", "none"])
    single = {c: [c] for c in ["x", "y", "site", "region", "state", "two", "flag"]}
    error = refusal(GaussianBNLearner(nodes={"uv": ["u", "v"], **single}).fit, table)
    assert error.collinear_columns == ["region", "flag"]
    assert {*error.constant_columns} == {"two", "state", "u", "v"}
    GaussianBNLearner(nodes="auto").fit(table.drop(columns=error.columns))


def test_groups_of_rows_with_interventions_are_named_together():
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd"))
    is_set = np.zeros((80, 4), bool)
    is_set[:40, 0] = is_set[40:, 1] = True
    table.loc[40:, "c"] = 1.0  # constant in the rows that count for a
    table["d"] = np.where(np.arange(80) < 40, 2.0, table["d"])  # and for b
    set_in = pd.DataFrame(is_set, columns=table.columns)
    learner = GaussianBNLearner()
    error = refusal(lambda X: learner.fit(X, interventions=set_in), table)
    assert error.columns == ["c", "d"]
    left = table.drop(columns=error.columns)
    learner.fit(left, interventions=set_in[left.columns])

"""Bad input: each error names the column or the parameter, the value and the remedy."""

import datetime

import numpy as np
import pandas as pd
import pytest
from agreement import raises
from drawn import weighted
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

import skbn
from skbn import AIC, GaussianBNLearner, GaussianBNLearnerCV, LocalScoreTransformer
from skbn._data.sample import Sample


@pytest.fixture(params=[GaussianBNLearner, LocalScoreTransformer])
def estimator(request):
    return request.param


def table(m=3, n=20):
    return np.random.default_rng(0).normal(size=(n, m))


def frame(**columns):
    return pd.DataFrame(table(), columns=list("abc")).assign(**columns)


MASKED = np.ma.masked_array(10 * table(), np.arange(60).reshape(20, 3) == 9)


def among_ones(value):
    """A frame of which a column of objects has this value in row 3."""
    values = np.ones(20, dtype=object)
    values[3] = value
    return frame(d=values)


RED = "Column 'd' holds 'red' in row 0, which is not a number"
ODD = r"Column 'd' holds .* in row 3, which is not a number"
WITH_COMPLEX = pd.DataFrame({"a": [1.0, 2, 4, 3], "b": np.array([1, 2j, 0, 1], dtype=object)})
DATES = pd.date_range("2020-01-01", periods=20)


# More kinds of columns are in tests/data/test_table.py.
@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (frame(d=["red", "green"] * 10), ValueError, RED),
        (frame(d=pd.array(["red", "green"] * 10, dtype="string")), ValueError, RED),
        ([[1, 2.0], [3, "x"], [4, 5]], ValueError, "Column 1 holds text.* unlike 'x' in row 1"),
        (np.array([["1", "2"], ["3", "5"]]), ValueError, "Column 0 .*'1' in row 0.*to_numeric"),
        (frame(d=DATES), ValueError, r"Column 'd' holds .*2020-01-01.* not a number"),
        (among_ones(datetime.date(2020, 1, 1)), TypeError, ODD),
        (among_ones(pd.Timestamp("2020-01-01", tz="UTC")), TypeError, ODD),
        (among_ones([1, 2]), TypeError, ODD),
        (among_ones(10**400), ValueError, ODD),
        (WITH_COMPLEX, ValueError, r"Column 'b' holds '2j' in row 1.*a column each"),
        (WITH_COMPLEX.to_numpy(), ValueError, "Column 1 holds '2j' in row 1"),
        (table() + 1j, ValueError, "Complex data not supported"),
        (pd.DataFrame(MASKED.filled(np.nan)), ValueError, "missing values .* column 0, row 3"),
        *((MASKED.astype(k), ValueError, "missing .* in 1 of its") for k in (float, int, object)),
        (pd.DataFrame(table(), columns=["a", "b", "a"]), ValueError, r"\['a'\] .* once. Rename"),
        (table(m=1), ValueError, r"1 feature\(s\).*minimum of 2"),
        (table(n=1), ValueError, r"1 sample\(s\).*minimum of 2"),
        ([[1, 2], [3]], ValueError, "rows are of different lengths"),
        (pd.DataFrame(index=range(4)), ValueError, r"X has no columns; its shape is \(4, 0\)"),
    ],
)
def test_tables_that_are_refused(estimator, X, error, message):
    raises(message, estimator().fit, X, kind=error)


def test_missing_values_are_counted_and_the_first_is_named(estimator):
    rows = table(m=8)
    rows[[4, 7], 1] = np.nan
    rows[[7, 2], 2] = np.nan
    message = (
        r"missing values \(NaN\) in 2 of its 8 columns \({}\) and in 3 of its 20 rows; the first "
        r"is in column {}, row 4\. GaussianBNLearner\(missing='em'\) .* Or impute .*; dropping"
    )
    raises(message.format("1, 2", 1), estimator().fit, rows)
    named = pd.DataFrame(rows, columns=list("abcdefgh"))
    raises(message.format("'b', 'c'", "'b'"), estimator().fit, named)
    rows[0] = np.nan
    raises(r"in 8 of its 8 columns \(0, 1, 2, 3, 4, \.\.\.\)", estimator().fit, rows)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_told_from_missing_ones(estimator, value):
    rows = table()
    rows[[4, 7], 1] = value
    where = r"infinite values in 1 of its 3 columns \(1\) and in 2 of its 20 rows; .* row 4"
    raises(rf"^X has {where}\. Drop these rows or replace", estimator().fit, rows)
    rows[3, 2] = np.nan
    raises(rf"^X has missing .* It has {where}; drop or replace", estimator().fit, rows)


@pytest.mark.parametrize(
    "labels", [[7, 8, 9], [1, 0, 2], [("a", 0), ("a", 1), ("b", 0)], [0.5, 1.5, 2.5], [1, 2, 3]]
)
def test_labels_that_would_be_lost(estimator, labels):
    """Constraints and nodes are of positions then, and labels say otherwise."""
    frame = pd.DataFrame(table())
    frame.columns = labels
    raises(r"labelled .*, which are not strings.*Name them", estimator().fit, frame)
    fitted = estimator().fit(table())
    method = fitted.transform if hasattr(fitted, "transform") else fitted.score
    raises(r"labelled .*, which are not strings", method, frame)


def test_one_column_of_local_scores():
    scores = LocalScoreTransformer().fit_transform(table())
    one = type(scores)._from_sample(Sample(np.asarray(scores)[:, :1]), scores.criterion)
    for alone in (one, skbn.ParentSetScores(["a"], [([[-1]], [0.0])])):
        message = f"needs at least 2 columns; the {type(alone).__name__} have 1"
        for search in ("exact", "order"):
            raises(message, GaussianBNLearner(search=search).fit, alone)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.zeros(5), ValueError, r"two dimensions.*shape \(5,\)\. Reshape .*two or more of each"),
        (pd.Series(np.zeros(5)), ValueError, r"two dimensions.*Series of shape \(5,\)"),
        (np.zeros((2, 3, 4)), ValueError, r"two dimensions.*shape \(2, 3, 4\)"),
        (7, TypeError, "must be a data frame or an array .* got int"),
        (None, TypeError, "must be a data frame or an array .* got NoneType"),
        ("table.csv", TypeError, r"got str\. Read the file first, .* pandas\.read_csv\(X\)"),
        ({"a": [1.0, 2, 4], "b": [3.0, 1, 5]}, TypeError, r"got dict\. Pass pandas\.DataFrame"),
        ([{"a": 1.0, "b": 3.0}] * 3, TypeError, r"a list of dict, .* pass pandas\.DataFrame\(X\)"),
        (iter([[1.0, 2.0], [2.0, 4.0]]), TypeError, r"list_iterator\. Pass list\(X\)"),
        (np.eye(3).view(np.matrix), TypeError, r"pass numpy\.asarray\(X\)"),
        (csr_array(np.eye(3)), TypeError, r"pass X\.toarray\(\)"),
    ],
)
def test_no_table(estimator, X, error, message):
    raises(message, estimator().fit, X, kind=error)
    network = skbn.GaussianBayesianNetwork(weighted("ab", [("a", "b", 1.0)]))
    for read in (network.score, network.score_samples, network.fit):
        raises(message, read, X, kind=error)


def test_no_error_prints_a_table(estimator):
    rows = table(m=12, n=200)
    cells = np.empty((3, 2), dtype=object)
    cells[:] = 1.0
    cells[0, 0] = pd.DataFrame(rows)
    for X in (rows[:, 0], rows + 1j, rows[np.newaxis], {"a": rows}, cells, [*rows, rows[0, :2]]):
        with pytest.raises((TypeError, ValueError)) as caught:
            estimator().fit(X)
        assert len(str(caught.value)) < 300
        assert f"{rows[1, 0]:.4f}" not in str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"criterion": "bci"}, r"'criterion' parameter.*'bic'.*Got 'bci' instead"),
        ({"criterion": 3}, "'criterion' parameter.*Got 3 instead"),
        ({"penalty": -0.5}, r"'penalty' parameter.*\[0\.0, 1e\+100\].*Got -0\.5 instead"),
        ({"penalty": "1"}, "'penalty' parameter.*Got '1' instead"),
        ({"n_jobs": 0}, "'n_jobs' parameter.*Got 0 instead"),
    ],
)
def test_parameters(estimator, parameters, message):
    raises(message, estimator(**parameters).fit, table())


def test_noise_below_the_smallest_number():
    rows = table(m=2)
    rows[:, 1] = rows[:, 0] + 1e-5 * rows[:, 1]
    raises("has noise of a variance below float64's range", GaussianBNLearner().fit, rows * 1e-151)


@pytest.mark.parametrize("parameter", ["n_jobs", "max_parents", "max_memory", "verbose"])
def test_numbers_of_any_size(parameter, capsys):
    rows = table(m=18, n=40)
    expected = GaussianBNLearner().fit(rows).network_score_
    for value in (10**7, 2**70, np.int64(10**9)):
        learner = GaussianBNLearner(**{parameter: value}).fit(rows)
        assert learner.network_score_ == expected
    assert ("18 columns" in capsys.readouterr().out) == (parameter == "verbose")


@pytest.mark.parametrize("k", [12, 13, 2**63, 10**30, np.int64(12)])
def test_as_many_top_parents_as_there_are(k):
    for max_parents, n_sets in ((None, 8), (2, 7)):
        scores = LocalScoreTransformer(max_parents=max_parents).fit_transform(table(m=4))
        assert len(scores.top_parents(0, k)) == n_sets


SPLITS = [(np.arange(300), np.arange(9))]


def network_of(scores):
    return GaussianBNLearner().fit(scores).network_


# Values are shown as one types them, however they come
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.with_penalty(np.float64(-1.0)), r"got -1\.0\."),
        (lambda s: s.local_score(np.float64(0.0)), r"number; got 0\.0\."),
        (lambda s: s.local_score(np.int64(9)), "no column 9;"),
        (lambda s: s.local_score(table()), r"number; got ndarray of shape \(20, 3\)\."),
        (lambda s: s.local_score(frame()), r"number; got DataFrame of shape \(20, 3\)\."),
        (lambda s: s.top_parents(0, np.float64(2.0)), r"k must be an integer; got 2\.0\."),
        (lambda s: s.best_parents(np.int64(0), [0]), "Column 0 cannot be a candidate"),
        (lambda s: GaussianBNLearner(penalty=np.float64(3)).fit(s), r"penalty=3\.0 was asked for"),
        (lambda s: GaussianBNLearnerCV(penalties=np.array([1.0, -2.0])).fit(s), r"got -2\.0\."),
        (lambda s: GaussianBNLearnerCV(cv=SPLITS).fit(s), r"got ndarray of shape \(300,\)\."),
        (lambda s: network_of(s).condition({0: np.float64(np.inf)}), r"got inf\."),
        (lambda s: network_of(s).condition({np.int64(7): 1.0}), r"7 is not one of \[0, 1, 2\]"),
    ],
)
def test_values_are_shown_plainly(call, message):
    scores = LocalScoreTransformer().fit_transform(table())
    with pytest.raises((ValueError, TypeError), match=message) as refusal:
        call(scores)
    assert "np." not in str(refusal.value)
    assert len(str(refusal.value)) < 250


def test_what_a_transformer_refuses():
    transformer, message = LocalScoreTransformer(), "Transformer instance is not fitted yet"
    raises(message, transformer.transform, table(), kind=NotFittedError)
    raises("be in the same order", transformer.fit(frame()).transform, frame()[["b", "a", "c"]])
    raises("'penalty' parameter", transformer.set_params(penalty=-1).transform, frame())


@pytest.mark.parametrize("method", ["predict", "score", "score_samples"])
def test_other_tables_than_that_of_fit(method):
    unfitted, message = GaussianBNLearner(), "GaussianBNLearner instance is not fitted yet"
    raises(message, getattr(unfitted, method), table(), kind=NotFittedError)
    scores_of = LocalScoreTransformer().fit_transform
    named = getattr(GaussianBNLearner().fit(frame()), method)
    for X, message in (
        (frame(c=table()[:, 2] * ([1, 1, np.nan] + [1] * 17)), "missing .* column 'c', row 2"),
        (frame(c=["x"] * 20), "Column 'c' holds 'x' in row 0"),
        (frame()[["a", "b"]], "- c"),
        (frame()[["b", "a", "c"]], "must be in the same order"),
        (frame().rename(columns={"c": "d"}), "- d"),
        (scores_of(frame()[["a", "b"]]), "- c\nGive all columns of fit"),
        (scores_of(frame()[["b", "a", "c"]]), "must be in the same order"),
    ):
        raises(message, named, X)
    assert named(scores_of(frame())) is not None
    unnamed = getattr(GaussianBNLearner().fit(table()), method)
    for X in (table(m=2), scores_of(table(m=2))):
        raises(r"X has 2 features, but .* expecting 3", unnamed, X)


def test_criterion_of_the_local_scores_is_not_overruled():
    rows = table()
    scores = LocalScoreTransformer("aic", penalty=2).fit_transform(rows)
    expected = GaussianBNLearner("aic", penalty=2).fit(rows).network_score_
    aic, two = {"criterion": "aic"}, {"penalty": 2.0}
    for settings in ({}, aic, two, aic | two):
        learner = GaussianBNLearner(**settings).fit(scores)
        assert isinstance(learner.criterion_, AIC)
        assert learner.network_score_ == expected
    raises(r"'bic' was asked for.*criterion=AIC\(\)", GaussianBNLearner("bic").fit, scores)
    raises(r"penalty=1\.0 was asked for.*penalty=2\.0", GaussianBNLearner(penalty=1.0).fit, scores)


def test_memory_is_asked_for_before_the_search(monkeypatch):
    monkeypatch.setattr("skbn._core.resources.available_memory", lambda: 10**9)
    monkeypatch.setattr("skbn._scores.families.log_determinants", None)
    monkeypatch.setattr("skbn._scores.scorer.set_functions", None)
    rows = table(m=32, n=40)
    raises(r"over 32 columns needs 37\.3 GB.* and 1\.0 GB are", GaussianBNLearner().fit, rows)


@pytest.mark.parametrize("holder", [skbn.BootstrapBNLearner, skbn.MarkovBlanketSelector])
@pytest.mark.parametrize("estimator", [LinearRegression(), GaussianBNLearner, "bic"])
def test_estimators_that_learn_no_network(holder, estimator):
    y = (table()[:, 0],) if holder is skbn.MarkovBlanketSelector else ()
    message = f"{holder.__name__} needs .* such as GaussianBNLearner"
    raises(message, holder(estimator=estimator).fit, table(), *y, kind=TypeError)

"""Bad input: each error names the column or the parameter, the value and the remedy."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from skbn import AIC, GaussianBNLearner, LocalScoreTransformer

ESTIMATORS = [GaussianBNLearner, LocalScoreTransformer]
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)


def table(m=3, n=20):
    return np.random.default_rng(0).normal(size=(n, m))


def frame(**columns):
    rows = table()
    return pd.DataFrame({"a": rows[:, 0], "b": rows[:, 1], "c": rows[:, 2], **columns})


@each_estimator
@pytest.mark.parametrize(("value", "text"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_not_finite(estimator, value, text):
    rows = table()
    rows[[4, 7], 1] = value
    message = rf"contains {text} in row 4 \(2 of its values are NaN or infinity\)\. Impute or drop"
    with pytest.raises(ValueError, match=f"Column 1 {message}"):
        estimator().fit(rows)
    with pytest.raises(ValueError, match=f"Column 'b' {message}"):
        estimator().fit(pd.DataFrame(rows, columns=list("abc")))


@each_estimator
def test_missing_values_of_frames(estimator):
    with pytest.raises(ValueError, match="Column 'd' contains NaN in row 2"):
        estimator().fit(frame(d=pd.array([1, 2, None, 4] * 5, dtype="Int64")))
    rows = pl.DataFrame({"a": [1.0, 2, 4], "b": [3.0, None, 5]})
    with pytest.raises(ValueError, match="Column 'b' contains NaN in row 1"):
        estimator().fit(rows)


@each_estimator
@pytest.mark.parametrize(
    "values",
    [
        ["red", "green"] * 10,
        pd.Categorical(["red", "green"] * 10),
        pd.array(["red", "green"] * 10, dtype="string"),
    ],
)
def test_strings(estimator, values):
    with pytest.raises(ValueError, match="Column 'd' holds 'red' in row 0, which is not a number"):
        estimator().fit(frame(d=values))


@each_estimator
def test_strings_in_arrays(estimator):
    with pytest.raises(ValueError, match="Column 1 holds 'x' in row 1"):
        estimator().fit([[1, 2.0], [3, "x"], [4, 5]])
    with pytest.raises(ValueError, match=r"Column 0 holds .*'1' in row 0.*Encode it"):
        estimator().fit(np.array([["1", "2"], ["3", "5"], ["8", "9"]]))
    with pytest.raises(ValueError, match="Column 'd' holds 'red'"):
        estimator().fit(pl.DataFrame({"a": [1, 2], "d": ["red", "green"]}))


@each_estimator
def test_dates(estimator):
    with pytest.raises(ValueError, match=r"Column 'd' holds .*2020-01-01.* not a number"):
        estimator().fit(frame(d=pd.date_range("2020-01-01", periods=20)))


@each_estimator
@pytest.mark.parametrize(
    ("value", "error"),
    [
        (datetime.date(2020, 1, 1), TypeError),
        (pd.Timestamp("2020-01-01", tz="UTC"), TypeError),
        ([1, 2], TypeError),
        (10**400, ValueError),
    ],
)
def test_other_objects(estimator, value, error):
    values = np.empty(20, dtype=object)
    values[:] = 1
    values[3] = value
    with pytest.raises(error, match=r"Column 'd' holds .* in row 3, which is not a number"):
        estimator().fit(frame(d=values))


@each_estimator
def test_other_containers(estimator):
    rows = table()
    with pytest.raises(TypeError, match="masked array"):
        estimator().fit(np.ma.masked_array(rows, rows > 1))
    with pytest.raises(TypeError, match=r"call X\.collect\(\)"):
        estimator().fit(pl.DataFrame(rows).lazy())


def test_local_scores_are_not_transformed_again():
    transformer = LocalScoreTransformer()
    with pytest.raises(TypeError, match="are LocalScores already"):
        transformer.fit(transformer.fit_transform(table()))


@each_estimator
def test_columns_whose_names_are_not_strings(estimator):
    rows = table()
    rows[4, 1] = np.nan
    with pytest.raises(ValueError, match="Column 1 contains NaN in row 4"):
        estimator().fit(pd.DataFrame(rows))


@each_estimator
@pytest.mark.parametrize(
    "labels", [[7, 8, 9], [1, 0, 2], [("a", 0), ("a", 1), ("b", 0)], [0.5, 1.5, 2.5], [1, 2, 3]]
)
def test_labels_that_would_be_lost(estimator, labels):
    """Constraints and nodes are of positions then, and labels say otherwise."""
    frame = pd.DataFrame(table())
    frame.columns = labels
    with pytest.raises(ValueError, match=r"labelled .*, which are not strings.*Name them"):
        estimator().fit(frame)
    fitted = estimator().fit(table())
    method = fitted.transform if hasattr(fitted, "transform") else fitted.score
    with pytest.raises(ValueError, match=r"labelled .*, which are not strings"):
        method(frame)


class UnknownFrame:
    """A container whose columns' names scikit-learn does not read."""

    def __init__(self, frame):
        self._frame, self.columns, self.shape = frame, list(frame.columns), frame.shape

    def __array__(self, dtype=None, copy=None):
        return self._frame.to_numpy(dtype=dtype)

    def __len__(self):
        return len(self._frame)

    def __getitem__(self, name):
        return self._frame[name].to_numpy()


@each_estimator
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_names_that_scikit_learn_cannot_read_are_not_lost(estimator):
    message = r"cannot read the names of X's columns, as X is a \w+\.UnknownFrame.*pandas.DataFrame"
    with pytest.raises(ValueError, match=message):
        estimator().fit(UnknownFrame(frame()))
    fitted = estimator().fit(frame())
    method = fitted.transform if hasattr(fitted, "transform") else fitted.score
    with pytest.raises(ValueError, match=message):
        method(UnknownFrame(frame()[["b", "a", "c"]]))
    method(UnknownFrame(frame()))


def test_parameters_are_checked_before_a_transform():
    transformer = LocalScoreTransformer().fit(table()).set_params(penalty=-1)
    with pytest.raises(ValueError, match="'penalty' parameter"):
        transformer.transform(table())


@pytest.mark.parametrize("method", ["predict", "score", "score_samples"])
def test_bad_values_after_fit(method):
    learner = GaussianBNLearner().fit(frame())
    rows = frame()
    rows.loc[2, "c"] = np.nan
    with pytest.raises(ValueError, match="Column 'c' contains NaN in row 2"):
        getattr(learner, method)(rows)
    with pytest.raises(ValueError, match="Column 'c' holds 'x' in row 0"):
        getattr(learner, method)(frame(c=["x"] * 20))


def test_noise_below_the_smallest_number():
    rows = table(m=2)
    rows[:, 1] = rows[:, 0] + 1e-5 * rows[:, 1]
    with pytest.raises(ValueError, match="Column 1 has noise of a variance below float64's range"):
        GaussianBNLearner().fit(rows * 1e-151)


@each_estimator
def test_duplicate_names(estimator):
    with pytest.raises(ValueError, match=r"\['a'\] are given more than once. Rename"):
        estimator().fit(pd.DataFrame(table(), columns=["a", "b", "a"]))


@each_estimator
def test_one_column(estimator):
    with pytest.raises(ValueError, match=r"1 feature\(s\).*minimum of 2"):
        estimator().fit(table(m=1))


def test_one_column_of_local_scores():
    scores = LocalScoreTransformer().fit_transform(table())
    one = type(scores)(np.asarray(scores)[:, :1], scores.criterion)
    with pytest.raises(ValueError, match="needs at least 2 columns; the LocalScores have 1"):
        GaussianBNLearner().fit(one)


@each_estimator
def test_one_row(estimator):
    with pytest.raises(ValueError, match=r"1 sample\(s\).*minimum of 2"):
        estimator().fit(table(n=1))


@each_estimator
@pytest.mark.parametrize("X", [np.zeros(5), np.zeros((2, 3, 4)), 7, None, "table.csv"])
def test_no_table(estimator, X):
    with pytest.raises(ValueError):  # noqa: PT011 - in scikit-learn's words
        estimator().fit(X)


@each_estimator
def test_ragged_rows(estimator):
    with pytest.raises(ValueError, match="inhomogeneous"):
        estimator().fit([[1, 2], [3]])


@each_estimator
def test_complex_numbers_among_objects(estimator):
    rows = pd.DataFrame({"a": [1.0, 2.0, 4.0, 3.0], "b": np.array([1, 2j, 0, 1], dtype=object)})
    with pytest.raises(ValueError, match=r"Column 'b' holds '2j' in row 1.*a column each"):
        estimator().fit(rows)
    with pytest.raises(ValueError, match="Column 1 holds '2j' in row 1"):
        estimator().fit(rows.to_numpy())


@each_estimator
def test_frames_without_columns(estimator):
    with pytest.raises(ValueError, match=r"X has no columns; its shape is \(4, 0\)"):
        estimator().fit(pd.DataFrame(index=range(4)))


@each_estimator
def test_complex_numbers(estimator):
    with pytest.raises(ValueError, match="Complex data not supported"):
        estimator().fit(table() + 1j)


@each_estimator
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"criterion": "bci"}, r"'criterion' parameter.*'bic'.*Got 'bci' instead"),
        ({"criterion": 3}, "'criterion' parameter.*Got 3 instead"),
        ({"penalty": -0.5}, r"'penalty' parameter.*\[0\.0, 1e\+100\).*Got -0\.5 instead"),
        ({"penalty": np.nan}, "'penalty' parameter.*Got nan instead"),
        ({"penalty": np.inf}, "'penalty' parameter.*Got inf instead"),
        ({"penalty": "1"}, "'penalty' parameter.*Got '1' instead"),
        ({"n_jobs": 0}, "'n_jobs' parameter.*Got 0 instead"),
        ({"n_jobs": 1.5}, "'n_jobs' parameter.*Got 1.5 instead"),
    ],
)
def test_parameters(estimator, parameters, message):
    with pytest.raises(ValueError, match=message):
        estimator(**parameters).fit(table())


@pytest.mark.parametrize("method", ["predict", "score", "score_samples"])
def test_learner_before_fit(method):
    with pytest.raises(NotFittedError, match="GaussianBNLearner instance is not fitted yet"):
        getattr(GaussianBNLearner(), method)(table())


def test_transformer_before_fit():
    with pytest.raises(NotFittedError, match="LocalScoreTransformer instance is not fitted yet"):
        LocalScoreTransformer().transform(table())


@pytest.mark.parametrize("method", ["predict", "score", "score_samples"])
def test_other_columns_than_those_of_fit(method):
    learner = GaussianBNLearner().fit(frame())
    call = getattr(learner, method)
    with pytest.raises(ValueError, match="- c"):
        call(frame()[["a", "b"]])
    with pytest.raises(ValueError, match="must be in the same order"):
        call(frame()[["b", "a", "c"]])
    with pytest.raises(ValueError, match="- d"):
        call(frame().rename(columns={"c": "d"}))


@pytest.mark.parametrize("method", ["predict", "score", "score_samples"])
def test_another_number_of_columns(method):
    learner = GaussianBNLearner().fit(table())
    with pytest.raises(ValueError, match=r"X has 2 features, but .* expecting 3"):
        getattr(learner, method)(table()[:, :2])


@pytest.mark.parametrize("method", ["predict", "score", "score_samples"])
def test_other_columns_of_local_scores(method):
    learner = GaussianBNLearner().fit(frame())
    call = getattr(learner, method)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* expecting 3"):
        call(LocalScoreTransformer().fit_transform(frame()[["a", "b"]]))
    with pytest.raises(ValueError, match=r"\['a', 'b', 'c'\]; got \['b', 'a', 'c'\]"):
        call(LocalScoreTransformer().fit_transform(frame()[["b", "a", "c"]]))
    assert call(LocalScoreTransformer().fit_transform(frame())) is not None


def test_transformer_is_held_to_its_columns():
    transformer = LocalScoreTransformer().fit(frame())
    with pytest.raises(ValueError, match="must be in the same order"):
        transformer.transform(frame()[["b", "a", "c"]])


def test_criterion_of_the_local_scores_is_not_overruled():
    rows = table()
    scores = LocalScoreTransformer("aic", penalty=2).fit_transform(rows)
    for learner in (
        GaussianBNLearner(),
        GaussianBNLearner("aic"),
        GaussianBNLearner(penalty=2.0),
        GaussianBNLearner("aic", penalty=2),
    ):
        assert isinstance(learner.fit(scores).criterion_, AIC)
        assert (
            learner.network_score_ == GaussianBNLearner("aic", penalty=2).fit(rows).network_score_
        )
    with pytest.raises(ValueError, match=r"criterion='bic' was asked for.*criterion=AIC\(\)"):
        GaussianBNLearner("bic").fit(scores)
    with pytest.raises(ValueError, match=r"penalty=1\.0 was asked for.*penalty=2\.0"):
        GaussianBNLearner(penalty=1.0).fit(scores)


def test_memory_is_asked_for_before_the_search(monkeypatch):
    monkeypatch.setattr("skbn._estimators._network_learner.available_memory", lambda: 10**9)
    monkeypatch.setattr("skbn._scores._families.log_determinants", None)
    rows = table(m=32, n=40)
    with pytest.raises(ValueError, match=r"over 32 columns needs [\d,]+ bytes.*1,000,000,000"):
        GaussianBNLearner().fit(rows)


@pytest.mark.parametrize("learner", [GaussianBNLearner(), GaussianBNLearner().fit(table(4))])
def test_nothing_is_fitted_by_a_fit_that_fails(learner):
    rows = table()
    rows[:, 1] = rows[:, 0]
    with pytest.raises(ValueError, match="collinear"):
        learner.fit(rows)
    with pytest.raises(NotFittedError):
        learner.predict()

"""Networks and rows with missing values."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import reference
from agreement import raises
from incomplete_tables import correlated_rows, with_holes
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import StratifiedKFold

import skbn
from skbn import GaussianBNImputer, GaussianBNLearner, GaussianBNLearnerCV, LocalScoreTransformer


def fitted(seed=0, m=5, n=80, scale=None):
    """A network of random rows, and others with holes, one of them without any value."""
    rng = np.random.default_rng(seed)
    rows = correlated_rows(m, n, rng)
    holes = with_holes(correlated_rows(m, 40, rng), 0.3, rng)
    scale = np.ones(m) if scale is None else scale
    network = GaussianBNLearner().fit(rows * scale).network_
    holes[7] = np.nan
    holes[8] = rows[0]
    return network, holes * scale


def by_hand(network, row):
    """The mean and covariance of what is missing in a row."""
    seen = np.flatnonzero(~np.isnan(row))
    return reference.conditional(network.mean_, network.covariance_, seen, row[seen])


@pytest.mark.parametrize(("seed", "m"), [(0, 5), (1, 5), (2, 12), (3, 12)])
def test_log_densities_are_those_of_what_is_observed(seed, m):
    network, rows = fitted(seed, m)
    assert m == 5 or (np.isnan(rows).sum(axis=1) == 1).any()  # few values are lacking
    moments = network.mean_, network.covariance_
    expected = [reference.observed_log_likelihood(row[np.newaxis], *moments) for row in rows]
    assert_allclose(network.score_samples(rows), expected, rtol=1e-9)
    assert_array_equal(network.score_samples(rows), network.score_samples(rows))
    counts = ~np.isnan(rows).all(axis=1)  # the mean is of rows with a value
    assert network.score(rows) == pytest.approx(np.mean(expected, where=counts))
    weight = np.random.default_rng(seed).random(len(rows))
    weighted = network.score(rows, sample_weight=weight)
    assert weighted == pytest.approx(np.average(expected, weights=weight * counts))
    raises("No row has a density", network.score, rows[7:8])
    assert network.score_samples(rows)[8] == network.score_samples(rows[8:9])[0]


def test_means_are_of_rows_in_which_something_counts():
    rng = np.random.default_rng(0)
    rows = correlated_rows(3, 60, rng)
    is_set = np.zeros((60, 3), dtype=bool)
    is_set[:20] = True
    is_set[20:25, 1] = True
    learner = GaussianBNLearner(missing="em").fit(rows)
    expected = learner.score(rows[20:], interventions=is_set[20:])
    assert learner.score(rows, interventions=is_set) == pytest.approx(expected)
    rows[50:, :2] = np.nan  # with the last one exogenous, nothing of these rows is modelled
    given = GaussianBNLearner(exogenous=[2]).fit(rows[:50]).network_
    assert given.score(rows) == pytest.approx(given.score(rows[:50]))
    posterior = skbn.GaussianBNPosterior(missing="augment", random_state=0).fit(rows[:40])
    rows[41:45] = np.nan
    expected = posterior.score(rows[[40, 55]])
    assert posterior.score(rows[[*range(40, 45), 55]]) == pytest.approx(expected)


def test_an_imputer_needs_parameters():
    rows = correlated_rows(3, 60, np.random.default_rng(0))
    scores = LocalScoreTransformer().fit_transform(rows)
    raises("Fit the imputer to one table", GaussianBNImputer().fit, scores[:30] + scores[30:])
    rows[0, 1] = np.nan
    assert not np.isnan(GaussianBNImputer().fit(scores).transform(rows)).any()


def test_units_do_not_cost_digits():
    scale = np.array([1e-8, 1e8, 1.0, 1e-3, 1e5])
    network, rows = fitted(1)
    other, scaled = fitted(1, scale=scale)
    constant = (np.log(scale) * ~np.isnan(rows)).sum(axis=1)
    assert_allclose(other.score_samples(scaled) + constant, network.score_samples(rows), rtol=1e-7)
    assert_allclose(other.impute(scaled) / scale, network.impute(rows), rtol=1e-7)


def test_holes_are_filled_by_conditional_means():
    network, rows = fitted(2)
    filled = network.impute(rows)
    for row, complete in zip(rows, filled, strict=True):
        holes = np.isnan(row)
        assert_array_equal(complete[~holes], row[~holes])
        assert_allclose(complete[holes], by_hand(network, row)[0], atol=1e-9)


def test_draws_have_the_conditional_distribution():
    network, rows = fitted(3)
    row = rows[np.argmax(np.isnan(rows).sum(axis=1) == 2)]
    hidden = np.isnan(row)
    mean, covariance = by_hand(network, row)
    many = network.sample_missing(np.tile(row, (20_000, 1)), random_state=0)
    assert (many[:, ~hidden] == row[~hidden]).all()
    error = 4 * np.sqrt(np.diag(covariance) / 20_000)
    assert (abs(many[:, hidden].mean(axis=0) - mean) < error).all()
    found = np.cov(many[:, hidden].T)
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert (abs(found - covariance) < 4 * scale * np.sqrt(2 / 20_000)).all()


def test_predictions_use_what_a_row_has():
    network, rows = fitted(5)
    means = network.predict(rows, target=[2])
    for row, mean in zip(rows, means[:, 0], strict=True):
        evidence = {j: v for j, v in enumerate(row) if j != 2}
        known = {j: v for j, v in evidence.items() if not np.isnan(v)}
        for given in (evidence, known):
            assert mean == pytest.approx(network.condition(given)[2].mean)
    assert network.condition({0: None, 1: pd.NA}).nodes == network.nodes
    raises("must be a finite number", network.condition, {0: np.inf})


def test_frames_stay_frames():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(correlated_rows(3, 50, rng), columns=list("abc"), index=range(100, 150))
    network = GaussianBNLearner().fit(frame).network_
    holes = frame.mask(rng.random(frame.shape) < 0.2)
    holes.insert(1, "name", "x")
    filled = network.impute(holes)
    assert list(filled) == ["a", "name", "b", "c"]
    assert filled.index.equals(frame.index)
    assert holes.isna().any(axis=None)
    rows = holes[list("abc")]
    expected = network.impute(rows.to_numpy())
    assert not np.isnan(expected).any()
    assert_array_equal(filled[list("abc")], expected)
    polar = pl.from_pandas(rows)
    for table in (rows.convert_dtypes(), polar, np.ma.masked_invalid(rows.to_numpy())):
        assert_array_equal(network.impute(table), expected)
    assert isinstance(network.impute(polar), pl.DataFrame)
    assert network.impute(frame).equals(frame)
    raises("missing values", network.residuals, holes)


# Categories


def mixed(seed=0, n=200):
    rng = np.random.default_rng(seed)
    x = correlated_rows(3, n, rng, density=1.0)
    site = pd.Categorical.from_codes(np.digitize(x[:, 0], [-0.7, 0.7]), ["low", "mid", "high"])
    frame = pd.DataFrame({"x": x[:, 1], "site": site, "y": x[:, 2]})
    return GaussianBNLearner(nodes="auto").fit(frame).network_, frame


def test_a_missing_level_is_missing_in_all_indicators():
    network, holes = mixed()
    codes = pd.get_dummies(holes["site"], dtype=float)[["mid", "high"]]
    holes.loc[:20, "site"] = codes.loc[:20] = None
    holes.loc[10:30, "x"] = np.nan
    expected = network.columns_.score_samples(np.column_stack([holes["x"], codes, holes["y"]]))
    assert_allclose(network.score_samples(holes), expected, rtol=1e-9)


def test_missing_levels_become_the_most_probable():
    network, frame = mixed(1)
    holes = frame.copy()
    holes.loc[:50, "site"] = None
    holes.loc[40:60, "x"] = np.nan
    filled = network.impute(holes)
    best = network.predict(holes, target="site").idxmax(axis=1)
    assert (filled["site"][:51] == best[:51]).all()
    assert (filled["site"][51:] == frame["site"][51:]).all()
    assert filled["site"].dtype == frame["site"].dtype
    assert filled["site"].nunique() > 1
    assert not filled["x"].isna().any()
    polar = network.impute(pl.from_pandas(holes))
    assert polar["site"].to_list() == filled["site"].tolist()
    array = network.impute(holes.to_numpy(dtype=object))
    assert array[:, 1].tolist() == filled["site"].tolist()
    drawn = network.sample_missing(holes[60:].assign(site=frame["site"]), random_state=0)
    assert not drawn["x"].isna().any()


# Levels without rows that count: the reference is the first level that occurs


pytestmark = pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")

N = 120
RNG = np.random.default_rng(3)
CODE = RNG.integers(1, 4, N)
Y = 4 * CODE + RNG.normal(size=N)
LEVEL = np.array([*"zabcq"], dtype=object)[CODE]
LEARNER = GaussianBNLearner(nodes="auto")


def table(levels="zabcq", level=LEVEL):
    return pd.DataFrame({"g": pd.Categorical(level, categories=[*levels]), "y": Y})


def with_a_in(n):
    """The table with the level "a" in its first n rows, and in no others."""
    rare = np.where(LEVEL == "a", "b", LEVEL)
    return table("abc", np.where(np.arange(N) < n, "a", rare))


def test_a_declared_level_without_rows_changes_nothing():
    network, right = (LEARNER.fit(table(levels)).network_ for levels in ("zabcq", "abc"))
    assert network.blocks.levels == right.blocks.levels == {"g": ["a", "b", "c"]}
    assert network.nodes_ == right.nodes_
    pd.testing.assert_frame_equal(network.predict(table(), "g"), right.predict(table("abc"), "g"))
    found, expected = (each.condition({"g": "c"})["y"] for each in (network, right))
    assert found == pytest.approx(expected)
    holes = table()
    holes.loc[:9, "g"] = None
    assert network.impute(holes)["g"].tolist() == right.impute(holes)["g"].tolist()
    imputer = GaussianBNImputer(GaussianBNLearner(nodes="auto", missing="em"))
    filled = imputer.set_output(transform="pandas").fit_transform(holes)
    assert filled["g"].tolist() == right.impute(holes)["g"].tolist()
    assert (filled["g"] == LEVEL)[10:].all()


def unseen(level):
    return table(level=np.array([level, *LEVEL[1:]]))


def test_evidence_on_a_level_that_never_occurred_is_refused():
    learner = GaussianBNLearner(nodes="auto").fit(table())
    network = learner.network_
    scores = LocalScoreTransformer(nodes="auto").fit_transform(unseen("q"))
    for level in "zq":
        for ask in (network.condition, network.do):
            raises(f"level.*'{level}'", ask, {"g": level})
        for ask in (network.impute, learner.score, learner.score_samples, learner.impute):
            raises(f"level.*'{level}'", ask, unseen(level))
    for score in (learner.score, learner.score_samples):
        raises("level 'q', which fit did not see", score, scores)
    assert np.isfinite(learner.score(unseen("q"), sample_weight=np.arange(N)))


@pytest.mark.parametrize("exogenous", [None, ["g"]])
@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame])
def test_a_row_with_a_level_that_never_occurred_has_no_answer(exogenous, container):
    learner = GaussianBNLearner(nodes="auto", exogenous=exogenous).fit(table())
    network, seen, other = learner.network_, container(table()), container(unseen("z"))
    message = f"'g' has levels that fit did not see in 1 of {N} rows.*'z', in row 0"
    for ask, tolerance in [
        (lambda X: network.predict(X, "y"), 1e-12),
        (network.score_samples, 1e-12),
        (lambda X: network.anomalies(X).p_values, 0.02),  # adjusted for the number of values
        (lambda X: network.anomalies(X).row_p_values, 0.02),
        (lambda X: network.anomalies(X).log_density, 1e-12),
    ]:
        with pytest.warns(match=message):
            found = np.asarray(ask(other))
        assert np.isnan(found[0]).all()
        assert_allclose(found[1:], np.asarray(ask(seen))[1:], rtol=tolerance)
    with pytest.warns(match="did not see"):
        values = network.anomalies(unseen("z")).values
    assert values.iloc[0].isna().all()
    assert values.iloc[1:].notna().all(axis=None)


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("lacking", ["y", "g"])
def test_anomalies_of_rows_that_lack_a_column(container, lacking):
    network = GaussianBNLearner(nodes="auto").fit(table()).network_
    rows = table().head(20)
    found = network.anomalies(container(rows.drop(columns=lacking)))
    expected = network.anomalies(container(rows.assign(**{lacking: None})))
    for name in ("p_values", "row_p_values", "log_density"):
        assert_array_equal(getattr(found, name), getattr(expected, name))
    own = [*table()].index(lacking)
    assert np.isnan(np.asarray(found.p_values)[:, own]).all()
    raises("no columns", network.anomalies, pd.DataFrame({"other": [1.0]}))


def test_rows_of_weight_0_are_no_rows_of_a_level():
    X, em = with_a_in(5), GaussianBNLearner(nodes="auto", missing="em")
    right = GaussianBNLearner(nodes="auto").fit(X[5:]).network_
    for learner in (LEARNER, em, GaussianBNLearnerCV(nodes="auto", penalties=[1])):
        network = learner.fit(X, sample_weight=1.0 * (np.arange(N) >= 5)).network_
        assert network.blocks.levels["g"] == ["b", "c"]
        assert_allclose(network.predict(X[-1:], "g"), right.predict(X[-1:], "g"), rtol=1e-6)


def test_resamples_without_a_level_know_which_they_have():
    X, bootstrap = with_a_in(1), skbn.BootstrapBNLearner(LEARNER, n_resamples=8, random_state=0)
    networks = bootstrap.fit(X).networks_
    found = [network.blocks.levels["g"] for network in networks]
    assert {*map(tuple, found)} == {("a", "b", "c"), ("b", "c")}
    for network, levels in zip(networks, found, strict=True):
        assert network.nodes_["g"] == [f"g={v}" for v in levels[1:]]
        last = network.predict(X[-1:], "g")
        assert last.to_numpy().argmax() == levels.index(X["g"].iloc[-1])


def containers(given):
    yield table(level=given)
    yield table(level=given).astype({"g": object})
    arrow = pa.table({"g": pa.array(given).dictionary_encode(), "y": Y})
    yield arrow
    yield arrow.to_pandas(types_mapper=pd.ArrowDtype)
    for dtype in (pl.Enum([*"zabc"]), pl.Categorical, pl.String):
        yield pl.DataFrame({"g": pl.Series(given, dtype=dtype), "y": Y})
    yield np.array([*zip(given, Y, strict=True)], dtype=object)


def test_observed_values_never_change():
    is_seen = np.arange(N) % 7 != 1
    given = np.where(is_seen, LEVEL, None)
    learner = GaussianBNLearner(nodes="auto", missing="em")
    network = learner.fit(table("zabc", given)).network_
    right = learner.fit(table("abc", given)).network_.impute(table("abc", given))["g"]
    assert (right == LEVEL)[is_seen].all()
    for X in containers(given):
        filled = network.impute(X)
        own = filled if isinstance(filled, np.ndarray) else filled.to_numpy()
        assert (own[:, 0] == right).all()


ROWS = np.arange(N)
FOLDS = [(ROWS[::2], ROWS[1::2]), (ROWS[1::2], ROWS[::2])]  # to learn from, held out


@pytest.mark.parametrize("as_array", [False, True])
@pytest.mark.parametrize("rare", ["a", "c"])  # "a" is the reference
def test_a_held_out_level_that_its_fold_lacks_is_refused(rare, as_array):
    level = np.where(rare == LEVEL, "b", LEVEL)
    level[[1, 3, 5, 7]] = rare  # all held out by the first fold
    X = table(level=level)
    values = X["g"]
    if as_array:
        X = np.array([*zip(level, Y, strict=True)], dtype=object)
    learner = GaussianBNLearnerCV([1], nodes="auto", cv=FOLDS)
    message = f"of cv .*has the level '{rare}', which fit did"
    with pytest.raises(ValueError, match=message) as caught:
        learner.fit(X)
    cv = re.search(r"(list\(.*\)\)),", str(caught.value))[1]
    given = {"X": X, "values": values, "StratifiedKFold": StratifiedKFold}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        learner.set_params(cv=eval(cv, given)).fit(X)
    if not as_array:  # nothing is said of rows of weight 0
        weight = np.where(values == rare, 0, 1 + ROWS % 3)
        learner.set_params(cv=FOLDS).fit(X, sample_weight=weight)
        train, test = FOLDS[0][0], [row for row in FOLDS[0][1] if weight[row]]
        fitted = GaussianBNLearner(nodes="auto").fit(X.iloc[train], sample_weight=weight[train])
        right = fitted.score(X.iloc[test], sample_weight=weight[test])
        assert learner.cv_results_["split0_test_score"][0] == pytest.approx(right, rel=1e-12)

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
from sklearn.model_selection import StratifiedKFold

from skbn import (
    BootstrapBNLearner,
    GaussianBNImputer,
    GaussianBNLearner,
    GaussianBNLearnerCV,
    GaussianBNPosterior,
    LocalScoreTransformer,
)


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
    np.testing.assert_allclose(network.score_samples(rows), expected, rtol=1e-9)
    np.testing.assert_array_equal(network.score_samples(rows), network.score_samples(rows))
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
    posterior = GaussianBNPosterior(missing="augment", random_state=0).fit(rows[:40])
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
    np.testing.assert_allclose(
        other.score_samples(scaled) + constant, network.score_samples(rows), rtol=1e-7
    )
    np.testing.assert_allclose(other.impute(scaled) / scale, network.impute(rows), rtol=1e-7)


def test_holes_are_filled_by_conditional_means():
    network, rows = fitted(2)
    filled = network.impute(rows)
    for row, complete in zip(rows, filled, strict=True):
        holes = np.isnan(row)
        np.testing.assert_array_equal(complete[~holes], row[~holes])
        np.testing.assert_allclose(complete[holes], by_hand(network, row)[0], atol=1e-9)


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
        assert mean == pytest.approx(network.condition(evidence)[2].mean)
        known = {j: v for j, v in evidence.items() if not np.isnan(v)}
        assert mean == pytest.approx(network.condition(known)[2].mean)
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
    assert not filled.isna().any(axis=None)
    expected = network.impute(holes[list("abc")].to_numpy())
    np.testing.assert_array_equal(filled[list("abc")], expected)
    np.testing.assert_array_equal(network.impute(holes.convert_dtypes())[list("abc")], expected)
    polar = pl.DataFrame({c: pl.Series(holes[c]).fill_nan(None) for c in "abc"})
    np.testing.assert_array_equal(network.impute(polar), expected)
    assert isinstance(network.impute(polar), pl.DataFrame)
    masked = np.ma.masked_invalid(holes[list("abc")].to_numpy())
    np.testing.assert_array_equal(network.impute(masked), expected)
    assert network.impute(frame).equals(frame)


def test_residuals_refuse_holes():
    network, rows = fitted(6)
    raises("missing values", network.residuals, rows)


# Categories


def mixed(seed=0, n=200):
    rng = np.random.default_rng(seed)
    x = correlated_rows(3, n, rng, density=1.0)
    site = pd.Categorical.from_codes(np.digitize(x[:, 0], [-0.7, 0.7]), ["low", "mid", "high"])
    frame = pd.DataFrame({"x": x[:, 1], "site": site, "y": x[:, 2]})
    return GaussianBNLearner(nodes="auto").fit(frame).network_, frame


def test_a_missing_level_is_missing_in_all_indicators():
    network, frame = mixed()
    holes = frame.copy()
    holes.loc[:20, "site"] = None
    holes.loc[10:30, "x"] = np.nan
    columns = network.columns_
    codes = pd.get_dummies(frame["site"], dtype=float)[["mid", "high"]].to_numpy()
    rows = np.column_stack([frame["x"], codes, frame["y"]])
    rows[:21, 1:3] = np.nan
    rows[10:31, 0] = np.nan
    np.testing.assert_allclose(network.score_samples(holes), columns.score_samples(rows), rtol=1e-9)


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


def table(levels="zabcq", level=LEVEL):
    return pd.DataFrame({"g": pd.Categorical(level, categories=[*levels]), "y": Y})


def test_a_declared_level_without_rows_changes_nothing():
    network = GaussianBNLearner(nodes="auto").fit(table()).network_
    right = GaussianBNLearner(nodes="auto").fit(table("abc")).network_
    assert network.blocks.levels == right.blocks.levels == {"g": ["a", "b", "c"]}
    assert network.nodes_ == right.nodes_
    pd.testing.assert_frame_equal(network.predict(table(), "g"), right.predict(table("abc"), "g"))
    given_c = [each.condition({"g": "c"})["y"].mean for each in (network, right)]
    assert given_c[0] == pytest.approx(given_c[1])
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
    asked = [
        lambda level: network.condition({"g": level}),
        lambda level: network.do({"g": level}),
        lambda level: network.impute(unseen(level)),
        lambda level: learner.score(unseen(level)),
        lambda level: learner.score_samples(unseen(level)),
        lambda level: learner.impute(unseen(level)),
    ]
    for ask in asked:
        for level in "zq":
            raises(f"level.*'{level}'", ask, level)
    for score in (learner.score, learner.score_samples):
        raises("level 'q', which fit did not see", score, scores)
    assert np.isfinite(learner.score(unseen("q"), sample_weight=np.arange(N)))


@pytest.mark.parametrize("exogenous", [None, ["g"]])
@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame])
def test_a_row_with_a_level_that_never_occurred_has_no_answer(exogenous, container):
    learner = GaussianBNLearner(nodes="auto", exogenous=exogenous).fit(table())
    network, seen, other = learner.network_, container(table()), container(unseen("z"))
    asked = [
        lambda X: network.predict(X, "y"),
        network.score_samples,
        network.score_samples,
        lambda X: network.anomalies(X).p_values,
        lambda X: network.anomalies(X).row_p_values,
        lambda X: network.anomalies(X).log_density,
    ]
    for ask in asked:
        with pytest.warns(
            match=f"'g' has levels that fit did not see in 1 of {N} rows.*'z', in row 0"
        ):
            found = np.asarray(ask(other))
        assert np.isnan(found[0]).all()
        is_adjusted = found.ndim > 1 or ask is asked[4]  # for the number of values
        tolerance = {"rtol": 0.02} if is_adjusted else {"rtol": 1e-12}
        np.testing.assert_allclose(found[1:], np.asarray(ask(seen))[1:], **tolerance)
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
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    own = [*table()].index(lacking)
    assert np.isnan(np.asarray(found.p_values)[:, own]).all()
    raises("no columns", network.anomalies, pd.DataFrame({"other": [1.0]}))


def test_rows_of_weight_0_are_no_rows_of_a_level():
    level = np.where(np.arange(N) < 5, "a", np.where(LEVEL == "a", "b", LEVEL))
    weight = (np.arange(N) >= 5) * 1.0
    for learner in (
        GaussianBNLearner(nodes="auto"),
        GaussianBNLearner(nodes="auto", missing="em"),
        GaussianBNLearnerCV(nodes="auto", penalties=[1]),
    ):
        network = learner.fit(table(level=level), sample_weight=weight).network_
        assert network.blocks.levels["g"] == ["b", "c"]
        right = GaussianBNLearner(nodes="auto").fit(table(level=level)[5:]).network_
        of_c = network.predict(table(level=level)[-1:], "g")
        np.testing.assert_allclose(of_c, right.predict(table(level=level)[-1:], "g"), rtol=1e-6)


def test_resamples_without_a_level_know_which_they_have():
    level = np.where(np.arange(N) == 0, "a", np.where(LEVEL == "a", "b", LEVEL))
    learner = GaussianBNLearner(nodes="auto")
    bootstrap = BootstrapBNLearner(learner, n_resamples=8, random_state=0)
    networks = bootstrap.fit(table("abc", level)).networks_
    found = [network.blocks.levels["g"] for network in networks]
    assert {*map(tuple, found)} == {("a", "b", "c"), ("b", "c")}
    for network, levels in zip(networks, found, strict=True):
        assert network.nodes_["g"] == [f"g={v}" for v in levels[1:]]
        last = network.predict(table("abc", level)[-1:], "g")
        assert last.to_numpy().argmax() == levels.index(level[-1])


def containers():
    given = np.where(np.arange(N) % 7 == 1, None, LEVEL)
    yield table(level=given)
    yield table(level=given).astype({"g": object})
    arrow = pa.table({"g": pa.array(given).dictionary_encode(), "y": Y})
    yield arrow
    yield arrow.to_pandas(types_mapper=pd.ArrowDtype)
    for dtype in (pl.Enum([*"zabc"]), pl.Categorical, pl.String):
        yield pl.DataFrame({"g": pl.Series(given, dtype=dtype), "y": Y})
    yield np.array([*zip(given, Y, strict=True)], dtype=object)


def test_observed_values_never_change():
    given = np.where(np.arange(N) % 7 == 1, None, LEVEL)
    learner = GaussianBNLearner(nodes="auto", missing="em")
    network = learner.fit(table("zabc", given)).network_
    right = learner.fit(table("abc", given)).network_.impute(table("abc", given))["g"]
    for X in containers():
        filled = network.impute(X)
        own = filled if isinstance(filled, np.ndarray) else filled.to_numpy()
        seen = np.array([value is not None for value in given])
        assert (own[seen, 0] == LEVEL[seen]).all()
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
    with pytest.raises(
        ValueError, match=f"of cv .*has the level '{rare}', which fit did"
    ) as caught:
        learner.fit(X)
    cv = re.search(r"(list\(.*\)\)),", str(caught.value))[1]
    given = {"X": X, "values": values, "StratifiedKFold": StratifiedKFold}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        learner.set_params(cv=eval(cv, given)).fit(X)
    if not as_array:  # nothing is said of rows of weight 0
        weight = np.where(values == rare, 0, 1 + ROWS % 3)
        learner.set_params(cv=FOLDS).fit(X, sample_weight=weight)
        train, test = FOLDS[0]
        fitted = GaussianBNLearner(nodes="auto").fit(X.iloc[train], sample_weight=weight[train])
        right = fitted.score(
            X.iloc[test][weight[test] > 0], sample_weight=weight[test][weight[test] > 0]
        )
        assert learner.cv_results_["split0_test_score"][0] == pytest.approx(right, rel=1e-12)

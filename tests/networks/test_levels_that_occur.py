"""Levels without rows that count: the reference is the first level that occurs."""

import re
import warnings

import numpy as np
import pytest
from agreement import raises
from sklearn.model_selection import StratifiedKFold

from skbn import (
    BootstrapBNLearner,
    GaussianBNImputer,
    GaussianBNLearner,
    GaussianBNLearnerCV,
    LocalScoreTransformer,
)

pytestmark = pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")
pd = pytest.importorskip("pandas")

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
        lambda level: network.predict(unseen(level), "y"),
        lambda level: network.logpdf(unseen(level)),
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
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
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

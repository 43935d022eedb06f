"""Exogenous columns: what is read, fitted, listed and refused."""

import numpy as np
import pandas as pd
import pytest
from agreement import raises
from experiment_tables import experiment
from numpy.testing import assert_allclose, assert_array_equal

import skbn
from skbn import GaussianBNLearner, GaussianBNLearnerCV, GaussianBNPosterior, LocalScoreTransformer
from skbn._solver.constraints import read_constraints

NAMES = list("abcd")
ROWS, _ = experiment(4, [], n=60)
TABLE = pd.DataFrame(ROWS, columns=NAMES)


def learner(exogenous=("a",), **settings):
    return GaussianBNLearner(exogenous=exogenous, **settings)


@pytest.mark.parametrize(
    "exogenous",
    [["a"], [0], ("a",), {"a"}, ["a", 0], np.array(["a"]), pd.Series(["a"]), pd.Index(["a"])],
)
def test_forms(exogenous):
    known = read_constraints(NAMES, max_parents=3, exogenous=exogenous)
    assert known.exogenous == 1
    assert known.modelled == [1, 2, 3]
    assert known.allowed == [0, 0b1101, 0b1011, 0b0111]
    assert [group.columns for group in known.groups] == [[1, 2, 3]]
    fitted = learner(exogenous).fit(TABLE)
    assert fitted.network_.exogenous == ["a"]
    assert fitted.dag_.in_degree("a") == 0


@pytest.mark.parametrize("exogenous", [None, []])
def test_none(exogenous):
    expected = GaussianBNLearner().fit(TABLE)
    found = learner(exogenous).fit(TABLE)
    assert found.network_score_ == expected.network_score_
    assert [*found.dag_.edges] == [*expected.dag_.edges]
    assert found.network_.exogenous == []


@pytest.mark.parametrize(
    ("exogenous", "error", "message"),
    [
        (["x"], ValueError, "no column 'x'"),
        ([4], ValueError, "no column 4"),
        ([1.5], TypeError, "name or its number"),
        ("a", TypeError, "exogenous must be a list of columns; got 'a'"),
        (3, TypeError, "exogenous must be a list of columns; got 3"),
        (NAMES, ValueError, "exogenous has all columns"),
        (iter(["a"]), TypeError, r"exogenous is an iterator .* Wrap it in list"),
    ],
)
@pytest.mark.parametrize("kind", [GaussianBNLearner, GaussianBNPosterior])
def test_errors(kind, exogenous, error, message):
    raises(message, kind(exogenous=exogenous).fit, TABLE, kind=error)


def test_knowledge_that_contradicts():
    for edge in (("b", "a"), ("d", "a")):
        raises(r"a column that is exogenous", learner(["a", "d"], required_edges=[edge]).fit, TABLE)
    fitted = learner(required_edges=[("a", "c")], forbidden_edges=[("a", "b")]).fit(TABLE)
    assert fitted.dag_.has_edge("a", "c")
    assert not fitted.dag_.has_edge("a", "b")
    assert not learner(tiers=[["b"], ["a", "c", "d"]]).fit(TABLE).dag_.has_edge("a", "b")
    raises(r"\['d'\] are in no tier", learner(tiers=[["b"], ["c"]]).fit, TABLE)


@pytest.mark.parametrize("tiers", [[["b"], ["c", "d"]], [["a", "b"], ["c", "d"]], [["b"], ...]])
def test_tiers_need_not_name_them(tiers):
    fitted = learner(tiers=tiers).fit(TABLE)
    expected = GaussianBNLearner(tiers=[["a"], ["b"], ["c", "d"]]).fit(TABLE)
    assert {*fitted.dag_.edges} == {*expected.dag_.edges}
    own = LocalScoreTransformer().fit_transform(TABLE).local_score("a")
    assert fitted.network_score_ == pytest.approx(expected.network_score_ - own)


def test_listed_scores():
    families = [([[-1], [(i + 1) % 4]], [0.0, 1.0 + i]) for i in range(4)]
    scores = skbn.ParentSetScores(NAMES, families)
    fitted = learner(["b"]).fit(scores)
    assert fitted.network_score_ == 8  # a <- b, c <- d, d <- a
    assert {*fitted.dag_.edges} == {("b", "a"), ("d", "c"), ("a", "d")}
    assert_allclose(fitted.near_optimal(10).scores, [8, 7, 5, 4, 4, 3, 1, 0])


def test_they_have_no_score_and_no_residuals():
    fitted = learner(["a", "c"]).fit(TABLE)
    scores = LocalScoreTransformer().fit_transform(TABLE)
    assert scores.network_score(fitted.network_) == pytest.approx(fitted.network_score_)
    assert scores.network_score(fitted.dag_) == pytest.approx(fitted.network_score_)
    residuals = fitted.network_.residuals(TABLE)
    assert (residuals[["a", "c"]] == 0).all(axis=None)
    assert (residuals[["b", "d"]].std() > 0).all()
    display = skbn.ResidualsDisplay.from_estimator(fitted, TABLE)
    assert display.columns == ["b", "d"]
    with pytest.raises(ValueError, match="Node 'a' is exogenous, so it has no residuals"):
        skbn.ResidualsDisplay.from_estimator(fitted, TABLE, columns=["b", "a"])
    # A summary of the rows is enough to score them.
    kept = LocalScoreTransformer().fit(TABLE).local_scores_
    assert fitted.score(kept) == pytest.approx(fitted.score(TABLE))


# A column of any distribution


def awkward(n=400):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"dose": rng.choice([0.0, 1.0, 2.0], size=n)})
    table["skewed"] = rng.exponential(size=n) ** 3
    table["yes"] = (rng.random(n) < 0.3) * 1.0
    table["no"] = ((table["yes"] == 0) & (rng.random(n) < 0.5)) * 1.0
    table["y"] = table["dose"] + 0.2 * table["skewed"] + rng.normal(size=n)
    table["z"] = table["y"] - table["yes"] - table["no"] + rng.normal(size=n)
    return table


OUTSIDE = ["dose", "skewed", "yes", "no"]


@pytest.mark.parametrize("kind", [GaussianBNLearner, GaussianBNPosterior])
def test_no_warnings_are_about_them(kind):
    with pytest.warns() as caught:
        kind().fit(awkward())
    assert len(caught) > 0
    kind(exogenous=OUTSIDE).fit(awkward())
    kind(exogenous=OUTSIDE).fit(awkward())


def test_warnings_about_others_are_left():
    table = awkward()
    table["z"] = np.random.default_rng(1).exponential(size=len(table)) ** 2
    with pytest.warns(match="skewed") as caught:
        learner(OUTSIDE).fit(table)
    assert all("'z'" in str(each.message) for each in caught)
    assert not any("'skewed'" in str(each.message) for each in caught)


def test_unmodelled_columns_that_depend_on_each_other():
    table = awkward().assign(constant=1.0)
    raises("constant", learner([*OUTSIDE, "constant"]).fit, table)


def test_missing_values():
    posterior = GaussianBNPosterior(missing="augment", exogenous=["a"])
    for estimator in (learner(missing="em"), posterior):
        message = "Column 'a' is exogenous and has no value in row"
        raises(message, estimator.fit, TABLE.mask(ROWS > 3))


# Categories


@pytest.mark.parametrize("is_experiment", [False, True])
def test_an_exogenous_category(is_experiment):
    rng = np.random.default_rng(0)
    n = 150
    batch = pd.Categorical(rng.choice(["x", "y", "z"], size=n))
    b = 2.0 * batch.codes + rng.normal(size=n)
    table = pd.DataFrame({"batch": batch, "b": b, "c": b + rng.normal(size=n)})
    interventions = None
    if is_experiment:
        interventions = np.arange(n)[:, np.newaxis] < [0, 0, 50]
        table.loc[:49, "c"] = rng.normal(size=50)
    fitted = learner(["batch"], nodes="auto").fit(table, interventions=interventions)
    network = fitted.network_
    assert network.exogenous == ["batch"]
    assert {*network.dag.edges} == {("batch", "b"), ("b", "c")}
    assert fitted.targets_ in ([], [("c",)])
    mean = network.condition({"batch": "y"}).mean
    effects = {level: table["b"][batch == level].mean() for level in "xyz"}
    assert mean[0] == pytest.approx(effects["y"])
    predicted = network.predict(table[["batch"]], "b")
    assert_allclose(predicted, [effects[level] for level in batch])
    drawn = network.sample(exogenous=table[["batch"]], random_state=0)
    assert drawn.shape == (n, 4)
    assert_array_equal(drawn[:, :2], np.column_stack([batch == "y", batch == "z"]))
    for ask in (
        lambda: network.condition({"b": 1.0}),
        lambda: network.predict(table[["c"]], "b"),
        lambda: network.sample(3),
        lambda: network.predict(table, "batch"),
    ):
        raises(r"'batch'(\]|) (is|are) exogenous", ask)
    own = type(network).from_json(network.to_json())
    assert own.exogenous == ["batch"]
    assert own.score(table) == pytest.approx(network.score(table))
    assert set(network.to_frame()["child"]) == {"b", "c"}
    network.plot()
    assert "exogenous" in str(network)
    near = fitted.near_optimal(5, equivalence_classes=False)
    assert near.scores[0] == pytest.approx(fitted.network_score_)
    posterior = GaussianBNPosterior(nodes="auto", exogenous=["batch"])
    posterior.fit(table, interventions=interventions)
    assert (posterior.edge_probabilities_[:, 0] == 0).all()
    assert posterior.sample_networks(1, random_state=0)[0].exogenous == ["batch"]
    own = learner(["batch"], nodes="auto")
    for estimator in (
        skbn.BootstrapBNLearner(own, n_resamples=4, random_state=0),
        GaussianBNLearnerCV([1.0, 4.0], nodes="auto", exogenous=["batch"]),
    ):
        fitted = estimator.fit(table, interventions=interventions)
        assert fitted.network_.exogenous == ["batch"]


def test_nodes_of_several_columns():
    table = TABLE.assign(e=ROWS[:, 0] ** 2)
    fitted = learner(["wave"], nodes={"wave": ["a", "e"]}).fit(table)
    assert fitted.network_.exogenous == ["wave"]
    raises("write the node in place", learner(["a"], nodes={"wave": ["a", "e"]}).fit, table)


# Resamples and folds


@pytest.mark.parametrize("n_set", [20, 60])
@pytest.mark.parametrize("also", [[], ["b"]])
def test_resamples_and_folds_of_exogenous_columns_that_were_set(n_set, also):
    is_set = pd.DataFrame({"c": np.arange(60) < n_set, **{x: np.arange(60) < 15 for x in also}})
    own = is_set[also]
    settings = {"n_resamples": 4, "random_state": 0}
    found, expected = (
        skbn.BootstrapBNLearner(learner(["c"]), **settings).fit(TABLE, interventions=each)
        for each in (is_set, own)
    )
    assert_array_equal(found.edge_support_, expected.edge_support_)
    found, expected = (
        GaussianBNLearnerCV([1.0, 3.0], exogenous=["c"], cv=3).fit(TABLE, interventions=each)
        for each in (is_set, own)
    )
    for i in range(3):
        name = f"split{i}_test_score"
        assert_allclose(found.cv_results_[name], expected.cv_results_[name])
    assert {*found.dag_.edges} == {*expected.dag_.edges}


def test_resamples_and_folds():
    bootstrap = skbn.BootstrapBNLearner(learner(["a", "c"]), n_resamples=8, random_state=0).fit(
        TABLE
    )
    assert bootstrap.network_.exogenous == ["a", "c"]
    assert (bootstrap.edge_support_[:, [0, 2]] == 0).all()
    folds = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    cv = GaussianBNLearnerCV([1.0, 3.0], exogenous=["a", "c"], cv=folds).fit(TABLE)
    for i, (train, test) in enumerate(folds):
        fold = learner(["a", "c"], penalty=3.0).fit(TABLE.iloc[train])
        expected = fold.score(TABLE.iloc[test])
        assert cv.cv_results_[f"split{i}_test_score"][1] == pytest.approx(expected)

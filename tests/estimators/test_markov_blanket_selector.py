"""The columns in the Markov blanket of a target."""

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from agreement import raises
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skbn
from skbn import BootstrapBNLearner, GaussianBNLearner, MarkovBlanketSelector

pytestmark = pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")

BLANKET = ["parent", "child", "spouse"]


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 5)), columns=["far", "parent", "other", "child", "spouse"])
    X["parent"] += X["far"]
    y = 2 * X["parent"] + rng.normal(size=n)
    X["child"] += y + 2 * X["spouse"]
    return X, y.rename("target")


@pytest.mark.parametrize(
    "estimator",
    [
        None,
        GaussianBNLearner(forbidden_edges=[("child", "target")]),
        skbn.GaussianBNPosterior(),
        BootstrapBNLearner(n_resamples=10, random_state=0),
        make_pipeline(StandardScaler(), GaussianBNLearner()),
    ],
)
def test_the_blanket_of_a_target(estimator):
    X, y = table()
    selector = MarkovBlanketSelector(estimator).fit(X, y)
    assert list(selector.get_feature_names_out()) == BLANKET
    pd.testing.assert_frame_equal(
        selector.set_output(transform="pandas").transform(X), X[BLANKET], check_dtype=False
    )
    expected = selector.network_.markov_blanket(selector.target_)
    labels = selector.network_.nodes
    assert list(selector.get_support(indices=True)) == sorted(map(labels.index, expected))


def test_containers_agree():
    X, y = table()
    expected = MarkovBlanketSelector().fit(X, y)
    polars = pl.from_pandas(X)
    for found, target in (
        (MarkovBlanketSelector().fit(X.to_numpy(), y.to_numpy()), 5),
        (MarkovBlanketSelector().fit(X, y.sample(frac=1, random_state=0)), "target"),  # by labels
        (MarkovBlanketSelector().fit(polars, y.to_numpy()), "y"),
    ):
        assert found.target_ == target
        assert_allclose(found.partial_r2_, expected.partial_r2_)
    renamed = MarkovBlanketSelector().fit(X.rename(columns={"far": "target"}), y)
    assert renamed.target_ == "target_"


def test_partial_r2_by_regressions_of_all_edges():
    """In a complete network, the share of the residual sum of squares that a column explains."""
    X, y = table()
    order = [*X.columns, "target"]
    edges = [(a, b) for j, b in enumerate(order) for a in order[:j]]
    selector = MarkovBlanketSelector(GaussianBNLearner(required_edges=edges)).fit(X, y)

    def left(columns):
        return ((y - LinearRegression().fit(X[columns], y).predict(X[columns])) ** 2).sum()

    for share, name in zip(selector.partial_r2_, X, strict=True):
        assert share == pytest.approx(1 - left(list(X)) / left([c for c in X if c != name]))


@pytest.mark.parametrize("n", range(1, 5))
def test_the_strongest_columns_of_the_blanket(n):
    selector = MarkovBlanketSelector(n_features=n).fit(*table())
    shares = selector.partial_r2_
    assert sorted(shares[selector.get_support()]) == sorted(shares)[-min(n, 3) :]


def test_categories_are_selected_as_columns():
    X, y = table()
    X["site"] = np.where(y + X["other"] > 0, "north", "south")
    selector = MarkovBlanketSelector(GaussianBNLearner(nodes="auto")).fit(X, y)
    blanket = selector.network_.markov_blanket("target")
    assert list(selector.get_feature_names_out()) == [c for c in X if c in blanket]
    assert "site" in blanket
    assert (selector.partial_r2_ > 0).tolist() == [c in blanket for c in X]


def test_exogenous_columns_are_causes_only():
    X, y = table()
    learner = GaussianBNLearner(exogenous=["far", "child"])
    selector = MarkovBlanketSelector(learner).fit(X, y)
    assert {"child", "parent"} <= {*selector.get_feature_names_out()}
    assert selector.network_.dag.has_edge("child", "target")


def test_in_a_pipeline_and_a_grid():
    X, y = table()
    pipeline = make_pipeline(MarkovBlanketSelector(), LinearRegression())
    with_all = cross_val_score(LinearRegression(), X, y).mean()
    assert cross_val_score(pipeline, X, y).mean() == pytest.approx(with_all, abs=0.01)
    grid = {"markovblanketselector__n_features": [1, 3]}
    search = GridSearchCV(pipeline, grid).fit(X, y)
    assert search.best_params_ == {"markovblanketselector__n_features": 3}


def test_refusals():
    X, y = table(50)
    raises("requires y", MarkovBlanketSelector().fit, X, None)
    raises("'n_features' parameter", MarkovBlanketSelector(n_features=0).fit, X, y)
    fixed = skbn.GaussianBayesianNetwork(nx.DiGraph([("far", "target")]))
    raises("The estimator must keep the columns", MarkovBlanketSelector(fixed).fit, X, y)


@pytest.mark.parametrize(
    "container", [pd.DataFrame, pl.DataFrame, np.asarray, lambda X: X.to_numpy().tolist()]
)
@pytest.mark.parametrize("estimator", [None, GaussianBNLearner("bge", max_parents=3)])
def test_a_target_of_text_is_a_category(container, estimator):
    X, y = table()
    text = np.array(["low", "middle", "high"])[np.digitize(y, [-1.0, 1.0])]
    selector = MarkovBlanketSelector(estimator).fit(container(X), text)
    auto = GaussianBNLearner(nodes="auto") if estimator is None else clone(estimator)
    network = auto.set_params(nodes="auto").fit(X.assign(y=text)).network_
    found = X.columns[selector.get_support()]
    assert {*found} == {*network.markov_blanket("y")} >= {"parent", "child"}
    assert (selector.partial_r2_ > 0).tolist() == selector.get_support().tolist()
    assert estimator is None or estimator.nodes is None


def test_a_classifier_of_text_follows_in_a_pipeline():
    X, y = table()
    text = y.gt(0).map({True: "yes", False: "no"})
    pipeline = make_pipeline(StandardScaler(), MarkovBlanketSelector(), LogisticRegression())
    assert pipeline.fit(X, text).score(X, text) > 0.8
    assert {*pipeline.classes_} == {"yes", "no"}

"""Pipelines: the same results as without, under the columns' names, wherever they are run."""

import copy
import io
import pickle
from functools import cache
from numbers import Number

import cloudpickle
import joblib
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import skops.io as sio
from agreement import raises
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

import skbn
from skbn import BGe, BootstrapBNLearner, GaussianBNLearner, LocalScoreTransformer

WINE = load_wine(as_frame=True).data
TABLES = {
    "wine": WINE,
    "breast cancer": load_breast_cancer(as_frame=True).data.iloc[:, :9],
    "diabetes": load_diabetes(as_frame=True).data,
}
CV = skbn.GaussianBNLearnerCV([0.5, 4], cv=KFold(2, shuffle=True, random_state=0))


FAMILIES = [([[-1], [1]], [-9.5, -7.0]), ([[-1], [0]], [-8.0, -5.0])]
LISTED = skbn.ParentSetScores(["rain", "wet"], FAMILIES)


def edges(learner):
    return list(learner.dag_.edges(data=True))


@pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")
@pytest.mark.parametrize("learner", [GaussianBNLearner(), CV])
@pytest.mark.parametrize("table", TABLES)
def test_a_pipeline_finds_what_the_learner_finds(table, learner):
    rows = StandardScaler().fit_transform(TABLES[table])
    alone = clone(learner).fit(rows)
    pipeline = make_pipeline(StandardScaler(), LocalScoreTransformer(), clone(learner))
    piped = pipeline.fit(TABLES[table])
    assert len(edges(alone)) > len(alone.dag_)
    assert edges(piped[-1]) == edges(alone)
    assert piped[-1].network_score_ == alone.network_score_
    assert list(piped[:-1].get_feature_names_out()) == list(TABLES[table])
    assert piped.score(TABLES[table]) == alone.score(rows)
    assert_array_equal(piped.score_samples(TABLES[table]), alone.score_samples(rows))
    again = clone(pipeline).fit_predict(TABLES[table])
    assert list(again.edges(data=True)) == edges(alone)
    if learner is CV:
        assert piped[-1].penalty_ == alone.penalty_
        assert_array_equal(
            piped[-1].cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
        )


def test_scoring_held_out_rows_needs_no_search(wine, monkeypatch):
    piped = make_pipeline(StandardScaler(), LocalScoreTransformer(), GaussianBNLearner()).fit(wine)
    monkeypatch.setattr("skbn._scores.scorer.sample_statistics", None)
    monkeypatch.setattr("skbn._scores.families.log_determinants", None)
    monkeypatch.setattr("skbn._scores.scorer.set_functions", None)
    assert np.isfinite(piped.score(wine[:1]))
    assert len(piped[:-1].transform(wine[:5])) == 5


# Names


@pytest.mark.parametrize("learner", [GaussianBNLearner(), CV])
@pytest.mark.parametrize(
    "container", ["default", "pandas", pytest.param("polars", marks=pytest.mark.slow)]
)
def test_names_reach_the_nodes_with_set_output(wine, learner, container):
    expected = list(range(13)) if container == "default" else list(wine.columns)
    for steps in ([StandardScaler()], [StandardScaler(), LocalScoreTransformer()]):
        everywhere = clone(make_pipeline(*steps, learner)).set_output(transform=container)
        assert list(everywhere.fit(wine).predict(wine)) == expected
        with config_context(transform_output=container):
            by_configuration = clone(make_pipeline(*steps, learner)).fit(wine)
        assert list(by_configuration[-1].dag_) == expected
        scaler = StandardScaler().set_output(transform=container)
        alone = clone(make_pipeline(scaler, *steps[1:], learner)).fit(wine)
        assert list(alone[-1].dag_) == expected
        assert np.isfinite(alone.score(wine))


def test_refitting_on_an_array_forgets_the_names(wine):
    learner = GaussianBNLearner().fit(LocalScoreTransformer().fit_transform(wine))
    learner.fit(LocalScoreTransformer().fit_transform(wine.to_numpy()))
    assert not hasattr(learner, "feature_names_in_")
    assert list(learner.dag_) == list(range(13))


# Copies


@pytest.mark.parametrize("criterion", ["bic", BGe(alpha_mu=0.5)])
def test_a_second_fit_takes_scores_from_the_memory(wine, tmp_path, monkeypatch, criterion):
    steps = [StandardScaler(), LocalScoreTransformer(criterion), GaussianBNLearner()]
    pipeline = make_pipeline(*steps, memory=str(tmp_path))
    plain = clone(make_pipeline(*steps)).fit(wine)
    first = edges(pipeline.fit(wine)[-1])
    monkeypatch.setattr(LocalScoreTransformer, "fit_transform", None)
    again = clone(pipeline).fit(wine)
    assert edges(again[-1]) == first == edges(plain[-1])
    assert again.score(wine) == plain.score(wine)
    # Other rows are not in the memory.
    raises("not callable", clone(pipeline).fit, wine[:100], kind=TypeError)


@cache
def fitted_estimators():
    chunks = LocalScoreTransformer(BGe()).partial_fit(WINE[:90]).partial_fit(WINE[90:])
    return (
        GaussianBNLearner("aic", n_jobs=2).fit(WINE),
        clone(CV).fit(WINE),
        GaussianBNLearner().fit(chunks.local_scores_),
        make_pipeline(StandardScaler(), LocalScoreTransformer(), GaussianBNLearner()).fit(WINE),
        BootstrapBNLearner(n_resamples=3, random_state=0).fit(WINE),
        skbn.GaussianBNPosterior().fit(WINE.iloc[:, :5]),
    )


def by_joblib(estimator):
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


def by_cloudpickle(estimator):
    return pickle.loads(cloudpickle.dumps(estimator))


def by_skops(estimator):
    stored = sio.dumps(estimator)
    types = sio.get_untrusted_types(data=stored)
    splitters = {"sklearn.model_selection._split.KFold"}  # which only a user can have set
    assert all(name.startswith("skbn.") for name in set(types) - splitters)
    return sio.loads(stored, trusted=types)


COPIES = {
    "pickle": lambda estimator: pickle.loads(pickle.dumps(estimator)),
    "joblib": by_joblib,
    "cloudpickle": by_cloudpickle,
    "deepcopy": copy.deepcopy,
    "skops": by_skops,
}


@pytest.fixture(params=COPIES.values(), ids=COPIES)
def copied(request):
    return request.param


@pytest.mark.parametrize(
    "constraints",
    [
        {"forbidden_edges": [(..., "hue"), ("hue", "alcohol")]},
        {"tiers": [["hue"], ...], "forbidden_edges": {("alcohol", ...)}},
        {"tiers": (("hue",), ...)},
    ],
)
def test_copies_have_constraints_on_all_other_columns(wine, copied, constraints):
    X = wine[["alcohol", "hue", "ash"]]
    learner = GaussianBNLearner(**constraints).fit(X)
    other = copied(learner)
    assert {name: getattr(other, name) for name in constraints} == constraints
    assert edges(other.fit(X)) == edges(learner)


def test_copies_of_fitted_estimators_are_fitted(wine, copied):
    for estimator in [*fitted_estimators(), GaussianBNLearner().fit(wine).network_]:
        other, X = copied(estimator), wine[getattr(estimator, "feature_names_in_", [*wine])]
        check_is_fitted(other)
        assert other.score(X) == estimator.score(X)
        if hasattr(estimator, "dag_"):
            assert edges(other) == edges(estimator)
        assert repr(other) == repr(estimator)


def test_copies_of_scores_and_their_transformer(wine, copied):
    transformer = LocalScoreTransformer(BGe(), max_parents=3).fit(wine[:90])
    other = copied(transformer)
    for each in (transformer, other):
        each.partial_fit(wine[90:])
    assert_array_equal(other.local_scores_.to_array(), transformer.local_scores_.to_array())
    assert_array_equal(other.transform(wine).to_array(), transformer.transform(wine).to_array())
    weight = np.arange(len(wine)) % 10
    scores = transformer.transform(wine, sample_weight=weight)
    for is_computed in (False, True):
        again = copied(scores)
        assert repr(again) == repr(scores)
        assert_array_equal(np.asarray(again), wine)
        assert_array_equal(again.sample.weight, weight)
        assert again.local_score("hue", ["ash"]) == scores.local_score("hue", ["ash"])
        if not is_computed:
            assert_array_equal(again.to_array(), scores.to_array())


def test_copies_of_listed_scores_and_of_criteria(copied):
    scores = copied(LISTED)
    assert scores.local_score("rain", ["wet"]) == -7
    assert GaussianBNLearner().fit(scores).network_score_ == -14.5
    for criterion in (skbn.EBIC(gamma=0.25), BGe(nu=[1.0, 2.0])):
        assert repr(copied(criterion)) == repr(criterion)


def test_copies_of_networks_have_all_that_is_known(wine, copied):
    by_kind = wine.assign(kind=pd.Categorical(["a", "b"] * (len(wine) // 2)))
    fitted = skbn.GaussianBayesianNetwork(nx.DiGraph([("hue", "ash"), ("ash", "alcohol")]))
    for network in (
        BootstrapBNLearner(n_resamples=3, random_state=0).fit(wine).network_,
        GaussianBNLearner(nodes="auto").fit(by_kind).network_,
        GaussianBNLearner(exogenous=["hue", "ash"]).fit(wine).network_,
        fitted.fit(wine, groups=np.arange(len(wine)) // 5),
        fitted.do({"ash": 1.0}),
    ):
        other = copied(network)
        assert other.to_json() == network.to_json()
        assert nx.utils.graphs_equal(other.dag, network.dag)
        pd.testing.assert_frame_equal(other.to_frame(), network.to_frame())


def test_copies_have_the_graphs_among_parameters(copied):
    dag = nx.DiGraph([("ash", "hue", {"support": 0.5}), (3, "ash"), (("a", 1), 3)])
    network = copied(skbn.GaussianBayesianNetwork(dag))
    assert list(network.dag) == list(dag)
    assert list(network.dag.edges(data=True)) == list(dag.edges(data=True))
    learner = GaussianBNLearner(required_edges=nx.DiGraph([("ash", "hue")]))
    assert list(copied(learner).required_edges.edges) == [("ash", "hue")]


def assert_plain(value, path="state"):
    """Refuse all but numbers, texts, arrays, lists, dicts with texts for keys, and our classes."""
    if value is None or isinstance(value, str | Number | np.ndarray):
        return
    if isinstance(value, dict):
        assert all(type(key) is str for key in value), path
        items = value.items()
    elif type(value) in (list, tuple):
        items = enumerate(value)
    else:
        assert type(value).__module__.startswith("skbn."), f"{path} is {type(value)}"
        items = (value.__getstate__() or {}).items()
    for key, each in items:
        assert_plain(each, f"{path}, {key}")


def test_states_are_plain(wine):
    dag = nx.DiGraph([("ash", "hue")])
    learner = GaussianBNLearner(required_edges=dag).fit(wine)
    scores = LocalScoreTransformer("ebic", max_parents=2).fit_transform(wine)
    scores.best_parents("hue")
    network = skbn.GaussianBayesianNetwork(dag).fit(wine)
    cv = skbn.GaussianBNLearnerCV([1, 2], cv=2).fit(wine)
    for each in (fitted_estimators()[2], learner, learner.network_, scores, network, cv):
        assert_plain(each)
    assert_plain(LISTED)
    assert_plain(LocalScoreTransformer(BGe()).fit(wine))


# Attributes of the network


@pytest.mark.parametrize(
    ("estimator", "network"),
    [
        (GaussianBNLearner(), "network_"),
        (skbn.GaussianBNPosterior(), "median_network_"),
        (BootstrapBNLearner(n_resamples=3, random_state=0), "network_"),
        (skbn.GaussianBNLearnerCV(), "network_"),
    ],
)
def test_methods_of_the_network_are_found(wine, estimator, network):
    for each in (estimator, clone(estimator).fit(wine[["ash", "hue", "alcohol"]])):
        for name in ("do", "condition", "sample", "total_effect"):
            assert not hasattr(each, name)
            with pytest.raises(AttributeError, match=rf"'{name}'\. Ask .*\.{network}\.{name}\("):
                getattr(each, name)
        for name in ("transform", "dag", "_private", "tipo"):
            raises(f"no attribute '{name}'$", getattr, each, name, kind=AttributeError)
        assert repr(copy.deepcopy(each)) == repr(each)

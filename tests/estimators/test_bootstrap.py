"""BootstrapBNLearner, against refits by hand of the same resamples."""

import itertools
import re
import threading

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from agreement import raises, warned_by
from hypothesis import assume, given
from hypothesis import strategies as st
from joblib import parallel_config
from recording_callbacks import Interrupter, Stopper, needs_callbacks
from reference.networks import equivalent_dags
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

from skbn import (
    BGe,
    BootstrapBNLearner,
    GaussianBayesianNetwork,
    GaussianBNLearner,
    GaussianBNLearnerCV,
    LocalScoreTransformer,
    ParentSetScores,
)
from skbn._data.sample import Sample
from skbn._estimators.resamples import plan_draws
from skbn._networks.diagnostics import warn_about_groups
from skbn.datasets import make_gaussian_network
from skbn.exceptions import (
    DataWarning,
    DependentRowsWarning,
    PenaltyRangeWarning,
    RepeatedRowsWarning,
)

# Processes take seconds to begin.
BACKENDS = pytest.mark.parametrize(
    "backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)]
)


@pytest.fixture(scope="module")
def wine(wine):
    """Five columns, of which two are named in an order unlike that of their numbers."""
    return wine[["alcohol", "proline", "hue", "ash", "color_intensity"]]


class Wrapped(BaseEstimator):
    """A learner that a user might have written; it keeps no network but its graph."""

    def __init__(self, learner=None):
        self.learner = learner

    def fit(self, X, sample_weight=None):
        learner = GaussianBNLearner() if self.learner is None else clone(self.learner)
        self.weight_ = sample_weight
        self.dag_ = learner.fit(X, sample_weight=sample_weight).dag_
        return self


def weights_by_hand(n_rows, n_resamples, seed, *, n_drawn=None, replace=True):
    """Return the weights of resamples, shape (n_resamples, n_rows)."""
    entropy = int.from_bytes(np.random.RandomState(seed).bytes(16), "little")
    weights = np.zeros((n_resamples, n_rows))
    for weight, own in zip(
        weights, np.random.SeedSequence(entropy).spawn(n_resamples), strict=True
    ):
        rng = np.random.default_rng(own)
        for row in rng.choice(n_rows, n_rows if n_drawn is None else n_drawn, replace=replace):
            weight[row] += 1
    return weights


def support_by_hand(networks):
    """Return the support of edges, by the CPDAG of each network."""
    nodes = networks[0].nodes
    support = pd.DataFrame(0.0, nodes, nodes)
    for network in networks:
        for a, b, is_undirected in network.cpdag().edges(data="undirected"):
            support.loc[a, b] += 0.5 if is_undirected else 1
            support.loc[b, a] += 0.5 if is_undirected else 0
    return support.to_numpy() / len(networks)


def assert_same_networks(networks, others):
    assert len(networks) == len(others)
    for network, other in zip(networks, others, strict=True):
        assert network.nodes == other.nodes
        np.testing.assert_array_equal(network.coef_, other.coef_)
        np.testing.assert_array_equal(network.noise_variance_, other.noise_variance_)


# The resamples


@pytest.mark.parametrize(
    "learner",
    [
        GaussianBNLearner(),
        GaussianBNLearner("bge", max_parents=2),
        GaussianBNLearner(penalty=0.5, tiers=[["hue", "ash"], ...]),
        GaussianBNLearnerCV([0.5, 2], cv=2),
        Wrapped(GaussianBNLearner(required_edges=[("hue", "proline")])),
        pytest.param(
            GridSearchCV(GaussianBNLearner(), {"penalty": [1, 3]}, cv=KFold(3)),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["free", "bge", "tiers", "cv", "wrapped", "grid"],
)
def test_it_equals_refits_by_hand(wine, learner):
    bootstrap = BootstrapBNLearner(learner, n_resamples=8, random_state=3).fit(wine)
    refits = []
    for weight in weights_by_hand(len(wine), 8, seed=3):
        fitted = clone(learner).fit(wine, sample_weight=weight)
        fitted = getattr(fitted, "best_estimator_", fitted)
        refits.append(GaussianBayesianNetwork(fitted.dag_))
    assert_same_networks(bootstrap.networks_, refits)
    support = support_by_hand(refits)
    np.testing.assert_allclose(bootstrap.edge_support_, support, rtol=1e-15)
    np.testing.assert_allclose(bootstrap.strength_, support + support.T, rtol=1e-15)
    assert len({bootstrap.networks_[i].dag.number_of_edges() for i in range(8)}) > 1
    # The learner of all rows.
    np.testing.assert_array_equal(
        getattr(bootstrap.estimator_, "best_estimator_", bootstrap.estimator_).dag_.edges,
        getattr(fitted := clone(learner).fit(wine), "best_estimator_", fitted).dag_.edges,
    )


def test_rows_without_replacement(wine):
    settings = {"n_resamples": 3, "sample_fraction": 0.7, "replace": False, "random_state": 5}
    weights = weights_by_hand(len(wine), 3, seed=5, n_drawn=125, replace=False)
    assert round(0.7 * len(wine)) == 125
    assert [*map(set, weights)] == [{0, 1}] * 3
    networks = BootstrapBNLearner(**settings).fit(wine).networks_
    refits = [GaussianBNLearner().fit(wine[weight == 1]).network_ for weight in weights]
    for network, refit in zip(networks, refits, strict=True):
        np.testing.assert_allclose(network.coef_, refit.coef_, rtol=1e-9)


def test_weights_multiply_the_counts_of_the_rows_that_have_one(wine):
    sample_weight = np.arange(len(wine)) % 4.0
    rows = np.flatnonzero(sample_weight)
    bootstrap = BootstrapBNLearner(n_resamples=4, random_state=1)
    bootstrap.fit(wine, sample_weight=sample_weight)
    counts = weights_by_hand(len(rows), 4, seed=1)
    refits = [
        GaussianBNLearner().fit(wine.iloc[rows], sample_weight=count * sample_weight[rows])
        for count in counts
    ]
    assert_same_networks(bootstrap.networks_, [refit.network_ for refit in refits])
    scores = LocalScoreTransformer().fit_transform(wine, sample_weight=sample_weight)
    assert_same_networks(clone(bootstrap).fit(scores).networks_, bootstrap.networks_)
    assert_same_networks(
        clone(bootstrap)
        .set_params(estimator=Wrapped())
        .fit(wine, sample_weight=sample_weight)
        .networks_,
        bootstrap.networks_,
    )
    in_series = pd.Series(sample_weight, index=wine.index)[::-1]
    by_label = clone(bootstrap).fit(wine, sample_weight=in_series)
    np.testing.assert_array_equal(by_label.edge_support_, bootstrap.edge_support_)


@pytest.mark.usefixtures("two_blas_threads")
@pytest.mark.parametrize(
    "learner",
    [None, Wrapped(), pytest.param(GaussianBNLearnerCV([1, 2], cv=2), marks=pytest.mark.slow)],
)
@BACKENDS
def test_neither_threads_nor_processes_change_a_bit(wine, backend, learner, monkeypatch):
    monkeypatch.setattr("skbn._estimators.learner_cv.FEWEST_COLUMNS", 2)
    bootstrap = BootstrapBNLearner(learner, n_resamples=6, random_state=0, n_jobs=1).fit(wine)
    others = [clone(bootstrap).set_params(n_jobs=2).fit(wine)]
    with parallel_config(backend, n_jobs=2):
        others.append(clone(bootstrap).set_params(n_jobs=None).fit(wine))
    for other in others:
        assert_same_networks(other.networks_, bootstrap.networks_)
        np.testing.assert_array_equal(other.edge_support_, bootstrap.edge_support_)
        np.testing.assert_array_equal(other.network_.coef_, bootstrap.network_.coef_)


# The averaged network


def test_the_averaged_network_is_fitted_to_all_rows(wine):
    bootstrap = BootstrapBNLearner(n_resamples=20, random_state=0).fit(wine)
    for threshold in (None, 0.1, 0.9):
        network = bootstrap.averaged_network(threshold)
        refit = GaussianBayesianNetwork(nx.DiGraph(network.dag)).fit(wine)
        np.testing.assert_allclose(network.coef_, refit.coef_, rtol=1e-9)
        np.testing.assert_allclose(network.noise_variance_, refit.noise_variance_, rtol=1e-9)
        least = bootstrap.threshold_ if threshold is None else threshold
        names = [*wine.columns]
        for a, b, support in network.dag.edges(data="support"):
            i, j = names.index(a), names.index(b)
            assert support == bootstrap.edge_support_[i, j] >= bootstrap.edge_support_[j, i]
            assert bootstrap.strength_[i, j] > least or bootstrap.strength_[i, j] == 1
    assert bootstrap.network_.dag.edges == bootstrap.averaged_network().dag.edges
    is_found_by_most = np.triu(bootstrap.strength_ >= 0.5).sum()
    assert bootstrap.dag_.number_of_edges() == is_found_by_most
    assert bootstrap.score(wine) == bootstrap.network_.score(wine)
    assert nx.utils.graphs_equal(bootstrap.predict(wine), bootstrap.dag_)


def test_its_parameters_are_those_that_the_learner_would_estimate(wine):
    criterion = BGe(alpha_mu=50.0)
    bootstrap = BootstrapBNLearner(GaussianBNLearner(criterion), n_resamples=10, random_state=0)
    network = bootstrap.fit(wine).network_
    scores = LocalScoreTransformer(criterion).fit_transform(wine)
    for child in wine.columns:
        parents = [*network.dag.predecessors(child)]
        weights = [network.dag.edges[parent, child]["weight"] for parent in parents]
        np.testing.assert_allclose(weights, scores.coef(child, parents)[1], rtol=1e-9)
    refit = GaussianBayesianNetwork(nx.DiGraph(network.dag)).fit(wine)
    assert not np.allclose(network.coef_, refit.coef_, rtol=1e-3)


def test_edges_that_the_constraints_fix_stay_fixed(wine):
    learner = GaussianBNLearner(tiers=[["color_intensity", "hue"], ...])
    bootstrap = BootstrapBNLearner(learner, n_resamples=10, random_state=0).fit(wine)
    fixed = {(a, b) for a, b, is_fixed in bootstrap.dag_.edges(data="fixed") if is_fixed}
    first = {"color_intensity", "hue"}
    assert (
        fixed == {(a, b) for a, b in bootstrap.dag_.edges if (a in first) != (b in first)} != set()
    )
    assert bootstrap.edge_support_[np.ix_([0, 1, 3], [2, 4])].sum() == 0


def test_the_table_of_pairs(wine):
    bootstrap = BootstrapBNLearner(n_resamples=15, random_state=0).fit(wine)
    table = bootstrap.to_frame()
    assert [*table] == ["parent", "child", "strength", "direction"]
    assert table["strength"].is_monotonic_decreasing
    assert len(table) == np.count_nonzero(np.triu(bootstrap.strength_))
    names = [*wine.columns]
    for row in table.itertuples(index=False):
        i, j = names.index(row[0]), names.index(row[1])
        assert row.strength == bootstrap.strength_[i, j]
        assert row.direction == bootstrap.direction_[i, j] >= 0.5
    undirected = BootstrapBNLearner(n_resamples=3, random_state=0).fit(
        wine[["ash", "hue"]] * [1, 0]
        + np.outer(wine["ash"], [0, 1])
        + wine[["hue"]].to_numpy() * [0, 0.1]
    )
    assert undirected.to_frame().to_numpy().tolist() == [["ash", "hue", 1.0, 0.5]]


# Learners within


def test_pipelines_need_routing(wine):
    after = BootstrapBNLearner(n_resamples=3, random_state=0)
    make_pipeline(StandardScaler(), after).fit(wine)
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            GaussianBNLearner().set_fit_request(sample_weight=True),
        )
        bootstrap = BootstrapBNLearner(pipeline, n_resamples=3, random_state=0).fit(wine)
    np.testing.assert_array_equal(bootstrap.edge_support_, after.edge_support_)
    assert [*bootstrap.dag_] == [*wine.columns]  # the scaler hands on an array


@pytest.mark.usefixtures("two_blas_threads")
def test_a_learner_within_takes_one_thread_unless_told(wine):
    numbers, of_blas = [], set()

    class Recording(Wrapped):
        def __init__(self, learner=None, n_jobs=None):
            super().__init__(learner)
            self.n_jobs = n_jobs

        def fit(self, X, sample_weight=None):
            numbers.append((self.n_jobs, self.learner.n_jobs))
            if self.n_jobs == 1:
                pools = threadpool_info()
                of_blas.update(p["num_threads"] for p in pools if p["user_api"] == "blas")
            return super().fit(X, sample_weight)

    learner = Recording(GaussianBNLearner(n_jobs=2))
    BootstrapBNLearner(learner, n_resamples=3, n_jobs=2).fit(wine)
    assert numbers == [(None, 2)] + 3 * [(1, 2)]
    assert of_blas <= {1}  # more would wait for each other
    assert (learner.n_jobs, learner.learner.n_jobs) == (None, 2)


@pytest.mark.parametrize("learner", [None, Wrapped(), GaussianBNLearnerCV([1, 2], cv=2)])
@BACKENDS
def test_warnings_about_the_data_come_once(wine, learner, backend):
    rng = np.random.default_rng(0)
    skewed = wine.assign(ash=wine["hue"] + np.exp(2 * rng.normal(size=len(wine))))
    bootstrap = BootstrapBNLearner(learner, n_resamples=4, random_state=0)
    with parallel_config(backend, n_jobs=2), pytest.warns() as caught:
        bootstrap.fit(skewed)
    assert sum(issubclass(each.category, DataWarning) for each in caught) == 1


def test_a_penalty_at_the_end_is_warned_of_once():
    noise = np.random.default_rng(0).normal(size=(40, 4))
    learner = GaussianBNLearnerCV([0.25, 0.5], cv=2)
    with pytest.warns() as caught:
        BootstrapBNLearner(learner, n_resamples=4, random_state=0).fit(noise)
    assert [each.category for each in caught] == [PenaltyRangeWarning]


class Edgeless(BaseEstimator):
    def fit(self, X, sample_weight=None):
        self.dag_ = nx.empty_graph(X.shape[1], nx.DiGraph)
        return self


def repeats(X, learner=None, labels=None, **settings):
    """Return the message of a RepeatedRowsWarning, or ""."""
    bootstrap = BootstrapBNLearner(learner, n_resamples=3, random_state=0, **settings)
    caught = warned_by(bootstrap.fit, X, stratify=labels)
    return " ".join(str(each.message) for each in caught if each.category is RepeatedRowsWarning)


NOISE = np.random.default_rng(1).normal(size=(240, 60))


@pytest.mark.parametrize(
    ("X", "settings", "message"),
    [
        (NOISE[:, :15], {}, r"Resamples have 1\d edges, .* and all rows 3: they make edges"),
        (NOISE[:, :15], {"labels": [*range(120)] * 2}, r"Resamples have"),
        (NOISE[:, :50], {"learner": Edgeless()}, "With 50 columns, resamples make edges of chance"),
        (NOISE[:, :50], {"learner": Edgeless(), "replace": False, "sample_fraction": 0.5}, ""),
        (NOISE[:, :15], {"replace": False, "sample_fraction": 0.5}, ""),
        (NOISE[:, :15], {"block_length": 5}, ""),
        (NOISE[:, :15], {"labels": [0] + [1] * 239}, ""),  # of one row, no half can be drawn
        (NOISE[:59, :15], {}, ""),
        (NOISE[:, :3], {}, ""),
    ],
)
def test_half_samples_are_advised_where_resamples_make_edges(X, settings, message):
    assert re.fullmatch(message and f"{message}.*replace=False and .*", repeats(X, **settings))


# Errors


@BACKENDS
def test_a_resample_without_a_value_of_a_column(wine, backend):
    rare = wine.assign(ash=[1.0] + [0.0] * (len(wine) - 1))
    forbidden = [(a, "ash") for a in wine.columns if a != "ash"]  # else it is warned about
    message = (
        r"Resample \d+ of 10, which has \d+ of the 178 rows, cannot be fitted\. .*'ash' has zero"
    )
    learner = GaussianBNLearner(forbidden_edges=forbidden)
    all_rows = [(np.arange(178), np.arange(178))]
    for each in (
        learner,
        Wrapped(learner),
        GaussianBNLearnerCV(cv=all_rows, forbidden_edges=forbidden),
    ):
        bootstrap = BootstrapBNLearner(each, n_resamples=10, random_state=0)
        with parallel_config(backend, n_jobs=2):
            raises(message, bootstrap.fit, rare)
        assert not hasattr(bootstrap, "networks_")
    # The remedies.
    bootstrap.set_params(estimator=learner)
    bootstrap.set_params(estimator__criterion="bge").fit(rare)
    rare.loc[:1, "ash"] = 1.0
    few = {"replace": False, "sample_fraction": 0.9, "estimator__criterion": "bic"}
    bootstrap.set_params(**few).fit(rare)


LISTED = ParentSetScores(["a", "b"], [(np.full((1, 1), -1), np.array([-1.0]))] * 2)


@pytest.mark.parametrize(
    ("parameters", "table", "message"),
    [
        ({"replace": False}, "rows", "draws all of them.*Set a smaller sample_fraction"),
        ({"replace": False, "sample_fraction": 0.999}, "rows", "draws all of them"),
        ({"sample_fraction": 0.005}, "rows", "draws fewer than two.*larger"),
        ({"sample_fraction": 1.5}, "rows", r"'sample_fraction' parameter .* \(0\.0, 1\.0\]"),
        ({"n_resamples": 0}, "rows", "'n_resamples' parameter"),
        ({"threshold": 1.5}, "rows", "'threshold' parameter"),
        *(({"block_length": n}, "rows", "'block_length' parameter .* an int") for n in (0, 2.5)),
        ({"estimator": GaussianBNLearner(penalty=-1)}, "rows", "'penalty' parameter of Gaussian"),
        ({"estimator": StandardScaler()}, "rows", "estimator must be a learner with a network_"),
        ({}, "constant", "^Column 'ash' has zero variance"),  # not blamed on a resample
        ({}, "listed", "ParentSetScores have no rows"),
        ({}, "summaries", "built from summaries"),
        ({"estimator": Wrapped()}, "scores", "Wrapped may not take LocalScores"),
        ({"estimator": GaussianBNLearner("aic")}, "scores", "made with criterion="),
    ],
)
def test_what_is_refused(wine, parameters, table, message):
    transformer = LocalScoreTransformer()
    tables = {"rows": wine, "constant": wine.assign(ash=1.0), "listed": LISTED}
    tables["scores"] = transformer.fit_transform(wine)
    tables["summaries"] = transformer.partial_fit(wine).local_scores_
    with pytest.raises((ValueError, TypeError), match=message):
        BootstrapBNLearner(**parameters).fit(tables[table])


def test_learners_that_cannot_be_resampled(wine):
    class Unweighted(Wrapped):
        def fit(self, X):
            return super().fit(X)

    class Renaming(Wrapped):
        def fit(self, X, sample_weight=None):
            super().fit(X, sample_weight)
            self.dag_ = nx.relabel_nodes(self.dag_, {"ash": "cinders"})
            return self

    with pytest.raises(TypeError, match="The fit of Unweighted takes no sample_weight"):
        BootstrapBNLearner(Unweighted()).fit(wine)
    raises(r"of Renaming has the nodes .*'cinders'", BootstrapBNLearner(Renaming()).fit, wine)


# Progress, and ends


@BACKENDS
def test_progress_is_printed(wine, capsys, monkeypatch, backend):
    monkeypatch.setattr("skbn._core.resources.SECONDS_BETWEEN_LINES", 0.0)
    with parallel_config(backend, n_jobs=2):
        BootstrapBNLearner(Wrapped(), n_resamples=10, verbose=True).fit(wine)
    first, *lines = capsys.readouterr().out.splitlines()
    how = "2 at a time" if backend == "threading" else "in processes"
    assert first == f"[BootstrapBNLearner] 10 resamples, {how}"
    assert [line.split(" done")[0] for line in lines] == [
        f"[BootstrapBNLearner] {percent} %" for percent in range(10, 101, 10)
    ]


@needs_callbacks
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("learner", [None, Wrapped()])
def test_stopped_it_has_no_result_and_no_threads(wine, n_jobs, learner, monkeypatch):
    monkeypatch.setattr("skbn._estimators.learner_cv.FEWEST_COLUMNS", 2)
    bootstrap = BootstrapBNLearner(learner, n_resamples=60, n_jobs=n_jobs, random_state=0)
    before = threading.active_count()
    with pytest.raises(RuntimeError):
        bootstrap.set_callbacks(Stopper()).fit(wine)
    assert threading.active_count() <= before
    assert not hasattr(bootstrap, "networks_")
    bootstrap.set_callbacks().set_params(n_resamples=2).fit(wine)
    assert len(bootstrap.networks_) == 2


@needs_callbacks
@pytest.mark.parametrize(
    ("n_jobs", "learner"),
    [
        (2, None),
        (1, Wrapped()),
        pytest.param(1, None, marks=pytest.mark.slow),
        pytest.param(2, Wrapped(), marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_keeps_the_resamples_that_are_done(wine, n_jobs, learner, monkeypatch):
    monkeypatch.setattr("skbn._estimators.learner_cv.FEWEST_COLUMNS", 2)
    bootstrap = BootstrapBNLearner(learner, n_resamples=30, n_jobs=n_jobs, random_state=0)
    full = clone(bootstrap).fit(wine)
    with pytest.warns(ConvergenceWarning, match=r"Ctrl-C ended .* after \d+ of 30 resamples"):
        bootstrap.set_callbacks(Interrupter()).fit(wine)
    assert 2 <= bootstrap.n_resamples_ == len(bootstrap.networks_) < 30
    assert_same_networks(bootstrap.networks_, full.networks_[: bootstrap.n_resamples_])


@pytest.mark.parametrize("n_jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_time_limit_keeps_the_resamples_that_are_done(wine, n_jobs):
    bootstrap = BootstrapBNLearner(n_resamples=10_000, n_jobs=n_jobs, random_state=0)
    with pytest.warns(ConvergenceWarning, match="time_limit ended .* of 10000 resamples") as told:
        bootstrap.set_params(time_limit=1.5).fit(wine)
    assert [each.filename for each in told] == [__file__]
    n = bootstrap.n_resamples_
    first = BootstrapBNLearner(n_resamples=n, random_state=0).fit(wine)
    assert len(bootstrap.networks_) == n == first.n_resamples_
    with pytest.raises(ValueError, match="time_limit=1e-09 seconds ended the bootstrap with 0 of"):
        bootstrap.set_params(time_limit=1e-9).fit(wine)
    assert not hasattr(bootstrap, "networks_")


@pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")
def test_advice_is_not_repeated_after_it_was_followed(wine):
    table = wine.assign(hue=wine.ash + (np.arange(len(wine)) == 0))
    bootstrap = BootstrapBNLearner(n_resamples=100, random_state=0)
    raises(r"replace=False and sample_fraction=0\.9", bootstrap.fit, table)
    bootstrap.set_params(replace=False, sample_fraction=0.9)
    with pytest.raises(ValueError, match="is collinear with others") as refused:
        bootstrap.fit(table)
    assert "fail less often" not in str(refused.value)
    bootstrap.set_params(estimator=GaussianBNLearner("bge")).fit(table)


@pytest.mark.parametrize("named", [True, False])
def test_a_pipeline_that_imputes_is_given_the_rows_as_they_are(wine, named):
    holes = wine.mask(np.random.default_rng(0).random(wine.shape) < 0.1)
    imputer = SimpleImputer().set_output(transform="pandas" if named else "default")
    with config_context(enable_metadata_routing=True):
        learner = GaussianBNLearner().set_fit_request(sample_weight=True)
        pipeline = make_pipeline(imputer, learner)
        bootstrap = BootstrapBNLearner(pipeline, n_resamples=5, random_state=0).fit(holes)
        filled = holes.fillna(holes.mean())
        resamples = [
            clone(pipeline).fit(holes, sample_weight=weight)[-1].network_
            for weight in weights_by_hand(len(wine), 5, 0)
        ]
    for network, other in zip(bootstrap.networks_, resamples, strict=True):
        assert list(network.coef_.ravel()) == list(other.coef_.ravel())
    dag = bootstrap.network_.dag
    expected = GaussianBayesianNetwork(nx.DiGraph(dag)).fit(filled)
    np.testing.assert_allclose(bootstrap.network_.coef_, expected.coef_)
    raises(r"values \(NaN\) in 5 of its 5 columns", BootstrapBNLearner(n_resamples=5).fit, holes)


def test_a_threshold_can_be_a_parameter(wine):
    free = BootstrapBNLearner(n_resamples=20, random_state=0).fit(wine)
    strict = BootstrapBNLearner(n_resamples=20, random_state=0, threshold=0.8).fit(wine)
    assert strict.threshold_ == 0.8
    assert list(strict.dag_.edges) == list(free.averaged_network(0.8).dag.edges)
    assert len(strict.dag_.edges) < len(free.dag_.edges)
    few = clone(free).set_params(n_resamples=3)
    search = GridSearchCV(few, {"threshold": [0.2, 0.99]}, cv=2).fit(wine)
    assert search.best_estimator_.threshold_ in (0.2, 0.99)
    for wrong in (-0.1, 1.1, np.nan, "0.5"):
        raises("threshold must be a number from 0 to 1; got", free.averaged_network, wrong)


@pytest.mark.parametrize("time_limit", [None, 0.05])
def test_resamples_side_by_side_tell_one_progress(wine, time_limit, capsys, monkeypatch):
    monkeypatch.setattr("skbn._core.resources.SECONDS_BETWEEN_LINES", 0)
    settings = {"search": "order", "random_state": 0, "verbose": True, "time_limit": time_limit}
    learner = GaussianBNLearner(**settings)
    BootstrapBNLearner(learner, n_resamples=3, n_jobs=2, verbose=True, random_state=0).fit(wine)
    _, told = capsys.readouterr().out.split("[BootstrapBNLearner] 3 resamples")
    percents = re.findall(r"^\[BootstrapBNLearner\] (\d+) % done", told, re.MULTILINE)
    assert len(told.splitlines()) == 1 + len(percents)
    assert percents[-1] == "100"
    assert percents == sorted(percents, key=int)


def draws_of(
    n_rows,
    n_resamples=1,
    *,
    weight=None,
    labels=None,
    stratify=None,
    groups=None,
    seed=0,
    **settings,
):
    sample = Sample(np.zeros((n_rows, 2)), weight, labels)
    learner = BootstrapBNLearner(n_resamples=n_resamples, random_state=seed, **settings)
    return plan_draws(learner, sample, stratify, groups), sample


# Blocks


@given(st.integers(3, 40), st.integers(2, 39), st.floats(0.3, 1), st.integers(0, 99))
def test_blocks_are_of_consecutive_rows(n, block_length, fraction, seed):
    block_length = min(block_length, n - 1)
    if round(fraction * n) < 2:
        fraction = 1.0
    weight, settings = 1.0 + np.arange(n) % 3, {"sample_fraction": fraction, "seed": seed}
    draws, sample = draws_of(n, 3, weight=weight, block_length=block_length, **settings)
    for number in range(3):
        rows = draws.rows(number)
        assert len(rows) == round(fraction * n)
        assert 0 <= rows.min() <= rows.max() < n
        for start in range(0, len(rows), block_length):
            block = rows[start : start + block_length]
            assert (np.diff(block) == 1).all()
            assert block[0] <= n - block_length
        counts = np.zeros(n)
        np.add.at(counts, rows, 1)
        np.testing.assert_array_equal(draws.weight(number, sample), counts * weight)


@pytest.mark.parametrize("block_length", [2, 3, 5])
def test_rows_are_drawn_as_often_as_blocks_have_them(block_length):
    n, n_resamples = 9, 4000
    draws, sample = draws_of(n, n_resamples, block_length=block_length)
    found = np.mean([draws.weight(number, sample) for number in range(n_resamples)], axis=0)
    starts = np.arange(n - block_length + 1)
    n_blocks = -(-n // block_length)
    expected = np.zeros(n)
    for block in range(n_blocks):
        for start in starts:
            length = min(block_length, n - block * block_length)
            expected[start : start + length] += 1 / len(starts)
    np.testing.assert_allclose(found, expected, atol=0.08)  # five standard deviations
    assert expected.sum() == pytest.approx(n)


def test_blocks_of_one_row_are_single_rows():
    alone, _ = draws_of(20, block_length=1)
    without, _ = draws_of(20)
    np.testing.assert_array_equal(alone.rows(0), without.rows(0))


@pytest.fixture(scope="module")
def rows():
    return make_gaussian_network(4, n_samples=60, random_state=2)[0]


def test_networks_are_those_of_the_blocks(rows):
    settings = {"n_resamples": 4, "block_length": 6, "random_state": 3}
    bootstrap = BootstrapBNLearner(**settings).fit(rows)
    draws, _ = draws_of(60, 4, block_length=6, seed=3)
    for number, network in enumerate(bootstrap.networks_):
        refit = GaussianBNLearner().fit(rows[draws.rows(number)]).network_
        np.testing.assert_allclose(network.coef_, refit.coef_, rtol=1e-9, atol=1e-12)
    with parallel_config("threading", n_jobs=2):
        again = clone(bootstrap).fit(LocalScoreTransformer().fit_transform(rows))
    np.testing.assert_array_equal(again.edge_support_, bootstrap.edge_support_)
    for found, expected in zip(again.networks_, bootstrap.networks_, strict=True):
        np.testing.assert_array_equal(found.coef_, expected.coef_)


# Groups


@given(st.lists(st.sampled_from("abcdef"), min_size=8, max_size=30), st.integers(0, 99))
def test_whole_groups_are_drawn(groups, seed):
    assume(len({*groups}) > 1)
    draws, sample = draws_of(len(groups), groups=groups, seed=seed)
    weight = draws.weight(0, sample)
    own = {group: weight[np.array(groups) == group] for group in groups}
    assert all((each == each[0]).all() for each in own.values())
    assert sum(each[0] for each in own.values()) == len(own)


def test_half_of_the_groups_of_each_label():
    groups, labels = np.repeat(np.arange(12), 5), np.repeat([*"uuuuuuuuvvvv"], 5)
    draws, sample = draws_of(60, groups=groups, stratify=labels, sample_fraction=0.5, replace=False)
    weight = draws.weight(0, sample).reshape(12, 5)
    assert {*weight.ravel()} == {0.0, 1.0}
    assert (weight[:8].sum(), weight[8:].sum()) == (20, 10)


def test_blocks_stay_within_groups():
    groups = np.array([*"abc"])[np.arange(30) % 3]  # their rows alternate
    draws, _ = draws_of(30, groups=groups, block_length=4)
    rows = draws.rows(0)
    assert len(rows) == 30
    for start in range(0, 28, 4):
        assert (np.diff(rows[start : start + 4]) == 3).all()


def test_rows_of_weight_0_are_not_drawn_within_groups():
    groups, weight = np.array([*"aabbcc"]), np.array([1, 0, 2, 1, 0, 0.0])
    draws, sample = draws_of(6, weight=weight, groups=groups)
    assert len(draws.groups) == 2
    counts = draws.weight(0, sample)
    assert counts[[1, 4, 5]].tolist() == [0, 0, 0]
    assert counts[0] + counts[3] == 2


# Labels


@given(st.lists(st.sampled_from("abc"), min_size=4, max_size=30), st.booleans())
def test_each_label_has_its_share_of_the_rows(labels, replace):
    fraction = 1.0 if replace else 0.7
    counts = {label: labels.count(label) for label in labels}
    shares = {label: round(fraction * count) for label, count in counts.items()}
    assume(all(shares.values()) and (replace or shares != counts))
    draws, sample = draws_of(
        len(labels), stratify=labels, sample_fraction=fraction, replace=replace
    )
    weight = draws.weight(0, sample)
    for label, share in shares.items():
        assert weight[np.array(labels) == label].sum() == share
    if not replace:
        assert weight.max() == 1


def test_rows_of_weight_0_are_not_drawn_within_labels():
    labels, weight = np.array([*"aaaabbbbcc"]), np.array([1, 0, 2, 1, 1, 1, 0, 0, 0, 0.0])
    draws, sample = draws_of(10, weight=weight, stratify=labels)
    counts = np.bincount(draws.rows(0), minlength=10)
    assert (counts[:4].sum(), counts[4:8].sum(), counts[8:].sum()) == (3, 2, 0)
    np.testing.assert_array_equal(draws.weight(0, sample), counts * weight)


def test_labels_of_a_series_go_to_the_rows_with_its_index(rows):
    X = pd.DataFrame(rows, columns=list("wxyz"), index=[f"row {i}" for i in range(60)])
    labels = pd.Series(np.repeat([0, 1, 2], 20), X.index)
    bootstrap = BootstrapBNLearner(n_resamples=3, random_state=0)
    expected = bootstrap.fit(X, stratify=labels.to_numpy()).edge_support_
    np.testing.assert_array_equal(bootstrap.fit(X, stratify=labels[::-1]).edge_support_, expected)
    scores = LocalScoreTransformer().fit_transform(X)
    np.testing.assert_array_equal(
        bootstrap.fit(scores, stratify=labels[::-1]).edge_support_, expected
    )
    raises("stratify must have a value for each of the 60 rows", bootstrap.fit, X, stratify=[0, 1])
    raises("must have a value for each of the 60 rows", bootstrap.fit, X, groups=[0, 1])
    raises(r"stratify has no value .* 'row 59'", bootstrap.fit, X, stratify=labels[:-1])


# Effects over the resamples


def members_by_hand(bootstrap):
    """Yield a weight and the coefficients of each network that is equivalent to a resample's."""
    for network in bootstrap.networks_:
        nodes = network.nodes
        fixed = [
            (nodes.index(a), nodes.index(b))
            for a, b, d in network.cpdag().edges(data="undirected")
            if not d
        ]
        parents = tuple(
            tuple(sorted(nodes.index(p) for p in network.dag.predecessors(node))) for node in nodes
        )
        members = equivalent_dags(parents, fixed)
        for member in members:
            coef = np.zeros((len(nodes), len(nodes)))
            for child, own in enumerate(map(list, member)):
                covariance = network.covariance_
                coef[own, child] = np.linalg.solve(
                    covariance[np.ix_(own, own)], covariance[own, child]
                )
            yield 1 / (len(members) * len(bootstrap.networks_)), coef


@pytest.mark.parametrize("tiers", [None, {"first": ["alcohol"], "then": ...}])
def test_effects_and_weights_are_those_of_all_equivalent_networks(wine, tiers):
    table = wine.iloc[::4, :4]
    bootstrap = BootstrapBNLearner(
        GaussianBNLearner(tiers=tiers), n_resamples=6, random_state=0
    ).fit(table)
    weights, coefs = map(np.array, zip(*members_by_hand(bootstrap), strict=True))
    totals = np.linalg.inv(np.eye(4) - coefs)
    columns = list(table)
    effects = bootstrap.effects(0.9)
    assert len(effects) == 12
    assert (np.diff(effects["mean"].abs()) <= 0).all()
    for row in effects.to_dict("records"):
        i, j = columns.index(row["cause"]), columns.index(row["outcome"])
        assert row["mean"] == pytest.approx(weights @ totals[:, i, j])
        alone = bootstrap.effect(row["cause"], row["outcome"])
        assert (row["low"], row["high"]) == pytest.approx(alone.interval(0.9))
        paths = bootstrap.path_effects(row["cause"], row["outcome"])
        assert paths.total.mean == pytest.approx(row["mean"])
        assert paths.total.interval(0.9) == pytest.approx(alone.interval(0.9))
        assert paths.direct.mean == pytest.approx(weights @ coefs[:, i, j])
        for path, share in zip(paths.to_frame()["path"], paths.to_frame()["present"], strict=True):
            steps = [columns.index(each) for each in path]
            there = np.all([coefs[:, a, b] != 0 for a, b in itertools.pairwise(steps)], axis=0)
            assert share == pytest.approx(weights @ there)
    for row in bootstrap.to_frame(0.9).to_dict("records"):
        i, j = columns.index(row["parent"]), columns.index(row["child"])
        direct = bootstrap.path_effects(row["parent"], row["child"]).direct
        assert row["weight"] == pytest.approx(direct.mean)
        assert (row["low"], row["high"]) == pytest.approx(direct.interval(0.9))
    assert list(bootstrap.to_frame()) == ["parent", "child", "strength", "direction"]


def test_weights_of_categories_with_several_levels_are_unknown(wine):
    table = wine.iloc[:, :3].assign(kind=np.array(["u", "v", "w"])[np.arange(len(wine)) // 60])
    learner = GaussianBNLearner(nodes="auto", tiers=[["kind"], ...])
    bootstrap = BootstrapBNLearner(learner, n_resamples=3, random_state=0).fit(table)
    weights = bootstrap.to_frame(0.9).set_index("parent")["weight"]
    assert weights.isna().equals(pd.Series(weights.index == "kind", weights.index, name="weight"))
    raises(
        "cause must be a single node", bootstrap.path_effects, {"hue": 1.0, "kind": 1.0}, "proline"
    )


# Rows of one group that are alike


def of_persons(seed, share=0.8, n_persons=30, n=10):
    """Independent columns of persons measured often, of whose variance they are a share."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_persons), n)
    values = np.sqrt(share) * rng.normal(size=(n_persons, 3))[person]
    values += np.sqrt(1 - share) * rng.normal(size=(len(person), 3))
    return pd.DataFrame(values, columns=[*"abc"]), person


def warned_of_groups(X, groups, learner=None, **options):
    """Return the message that rows of a group are alike, or ""."""
    bootstrap = BootstrapBNLearner(learner, n_resamples=2, random_state=0)
    found = warned_by(bootstrap.fit, X, groups=groups, **options)
    kind = DependentRowsWarning
    return next((str(each.message) for each in found if each.category is kind), "")


def test_rows_of_one_group_that_are_alike_are_told_with_ways_out():
    X, person = of_persons(0)
    message = warned_of_groups(X, person)
    correlation = float(re.search("correlation of ([0-9.]+) within the 30 groups", message)[1])
    assert correlation == pytest.approx(0.8, abs=0.1)
    n, weight = re.search(r"numpy.full\((\d+), ([0-9.]+)\)", message).groups()
    assert int(n) * float(weight) == pytest.approx(300 / (1 + 9 * correlation), rel=0.05)
    weights = np.full(int(n), float(weight))
    assert not warned_of_groups(X, person, sample_weight=weights)
    assert not warned_of_groups(X - X.groupby(person).transform("mean"), person)
    assert not warned_of_groups(X, np.random.default_rng(0).permutation(person))
    assert not warned_of_groups(X, np.arange(len(X)))
    holes = X.mask(np.random.default_rng(1).random(X.shape) < 0.1)
    assert warned_of_groups(holes, person, GaussianBNLearner(missing="em"))
    assert warned_of_groups(X.to_numpy(), [f"p{each}" for each in person])


def test_columns_that_are_not_modelled_or_that_parents_explain_do_not_count():
    X, person = of_persons(0)
    rng = np.random.default_rng(3)
    # Half of the persons were given doses of their own.
    is_set = np.column_stack([person < 15, np.zeros(len(X), dtype=bool)])
    X = pd.DataFrame({"a": np.where(person < 15, X["a"], rng.normal(size=len(X)))})
    X["b"] = X["a"] + rng.normal(size=len(X))
    assert warned_of_groups(X, person)
    assert not warned_of_groups(X, person, GaussianBNLearner(exogenous=["a"]))
    assert not warned_of_groups(X, person, interventions=is_set)


def test_independent_rows_are_hardly_ever_taken_for_groups():
    n_found = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        rows = rng.standard_t(2, size=(60, 3)) if seed % 2 else rng.normal(size=(60, 3))
        model = GaussianBayesianNetwork(nx.empty_graph(3, nx.DiGraph)).fit(rows)._model()
        number = rng.integers(0, 12, size=60)
        groups = [np.flatnonzero(number == k) for k in range(12) if (number == k).any()]
        n_found += len(warned_by(warn_about_groups, model, rows, groups, 60.0))
    assert n_found <= 2

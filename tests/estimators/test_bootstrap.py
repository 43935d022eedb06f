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
from numpy.testing import assert_allclose, assert_array_equal
from recording_callbacks import Interrupter, Stopper, needs_callbacks
from reference.networks import equivalent_dags, parents_of
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

import skbn
from skbn import BootstrapBNLearner, GaussianBNLearner, GaussianBNLearnerCV, LocalScoreTransformer
from skbn._data.sample import Sample
from skbn._estimators.resamples import plan_draws
from skbn._networks.diagnostics import warn_about_groups
from skbn.datasets import make_gaussian_network

slow = pytest.mark.slow
# Processes take seconds to begin.
BACKENDS = pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=slow)])


@pytest.fixture(scope="module")
def wine(wine):
    """Five columns, of which two are named in an order unlike that of their numbers."""
    return wine[["alcohol", "proline", "hue", "ash", "color_intensity"]]


@pytest.fixture(scope="module")
def fitted(wine):
    return resampling(20).fit(wine)


def resampling(n_resamples=3, learner=None, **settings):
    return BootstrapBNLearner(learner, n_resamples=n_resamples, random_state=0, **settings)


class Wrapped(BaseEstimator):
    """A learner that a user might have written; it keeps no network but its graph."""

    def __init__(self, learner=None):
        self.learner = learner

    def fit(self, X, sample_weight=None):
        learner = GaussianBNLearner() if self.learner is None else clone(self.learner)
        self.dag_ = learner.fit(X, sample_weight=sample_weight).dag_
        return self


def weights_by_hand(n_rows, n_resamples, seed, *, sample_fraction=1.0, replace=True):
    """Return the weights of resamples, shape (n_resamples, n_rows)."""
    entropy = int.from_bytes(np.random.RandomState(seed).bytes(16), "little")
    weights = np.zeros((n_resamples, n_rows))
    seeds = np.random.SeedSequence(entropy).spawn(n_resamples)
    for weight, own in zip(weights, seeds, strict=True):
        rng = np.random.default_rng(own)
        for row in rng.choice(n_rows, round(sample_fraction * n_rows), replace=replace):
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
    for network, other in zip(networks, others, strict=True):
        assert network.nodes == other.nodes
        assert_array_equal(network.coef_, other.coef_)
        assert_array_equal(network.noise_variance_, other.noise_variance_)


# The resamples


@pytest.mark.parametrize(
    ("learner", "draw"),
    [
        (GaussianBNLearner(), {}),
        (GaussianBNLearner(), {"sample_fraction": 0.7, "replace": False}),
        (GaussianBNLearner("bge", max_parents=2), {}),
        (GaussianBNLearner(penalty=0.5, tiers=[["hue", "ash"], ...]), {}),
        (GaussianBNLearnerCV([0.5, 2], cv=2), {}),
        (Wrapped(GaussianBNLearner(required_edges=[("hue", "proline")])), {}),
        pytest.param(
            GridSearchCV(GaussianBNLearner(), {"penalty": [1, 3]}, cv=KFold(3)), {}, marks=slow
        ),
    ],
)
def test_it_equals_refits_by_hand(wine, learner, draw):
    def network_of(learner):
        return skbn.GaussianBayesianNetwork(getattr(learner, "best_estimator_", learner).dag_)

    bootstrap = BootstrapBNLearner(learner, n_resamples=8, random_state=3, **draw).fit(wine)
    weights = weights_by_hand(len(wine), 8, 3, **draw)
    refits = [network_of(clone(learner).fit(wine, sample_weight=weight)) for weight in weights]
    assert_same_networks(bootstrap.networks_, refits)
    support = support_by_hand(refits)
    assert_allclose(bootstrap.edge_support_, support, rtol=1e-15)
    assert_allclose(bootstrap.strength_, support + support.T, rtol=1e-15)
    assert len({network.dag.number_of_edges() for network in refits}) > 1
    of_all_rows = network_of(clone(learner).fit(wine))
    assert_same_networks([network_of(bootstrap.estimator_)], [of_all_rows])


def test_weights_multiply_the_counts_of_the_rows_that_have_one(wine):
    weight = np.arange(len(wine)) % 4.0
    rows = np.flatnonzero(weight)
    bootstrap = BootstrapBNLearner(n_resamples=4, random_state=1).fit(wine, sample_weight=weight)
    refits = [
        GaussianBNLearner().fit(wine.iloc[rows], sample_weight=count * weight[rows]).network_
        for count in weights_by_hand(len(rows), 4, seed=1)
    ]
    assert_same_networks(bootstrap.networks_, refits)
    scores = LocalScoreTransformer().fit_transform(wine, sample_weight=weight)
    labelled = pd.Series(weight, index=wine.index)[::-1]
    for learner, X, own in (
        (None, scores, None),
        (Wrapped(), wine, weight),
        (None, wine, labelled),
    ):
        again = clone(bootstrap).set_params(estimator=learner).fit(X, sample_weight=own)
        assert_same_networks(again.networks_, refits)


@pytest.mark.usefixtures("two_blas_threads")
@pytest.mark.parametrize(
    "learner", [None, Wrapped(), pytest.param(GaussianBNLearnerCV([1, 2], cv=2), marks=slow)]
)
@BACKENDS
def test_neither_threads_nor_processes_change_a_bit(wine, backend, learner, monkeypatch):
    monkeypatch.setattr("skbn._estimators.learner_cv.FEWEST_COLUMNS", 2)
    bootstrap = resampling(6, learner, n_jobs=1).fit(wine)
    others = [resampling(6, learner, n_jobs=2).fit(wine)]
    with parallel_config(backend, n_jobs=2):
        others.append(resampling(6, learner).fit(wine))
    for other in others:
        assert_same_networks(other.networks_, bootstrap.networks_)
        assert_same_networks([other.network_], [bootstrap.network_])
        assert_array_equal(other.edge_support_, bootstrap.edge_support_)


# The averaged network


def test_the_averaged_network_is_fitted_to_all_rows(wine, fitted):
    names = [*wine.columns]
    for threshold in (None, 0.1, 0.9):
        network = fitted.averaged_network(threshold)
        refit = skbn.GaussianBayesianNetwork(nx.DiGraph(network.dag)).fit(wine)
        assert_allclose(network.coef_, refit.coef_, rtol=1e-9)
        assert_allclose(network.noise_variance_, refit.noise_variance_, rtol=1e-9)
        least = fitted.threshold_ if threshold is None else threshold
        for a, b, support in network.dag.edges(data="support"):
            i, j = names.index(a), names.index(b)
            assert support == fitted.edge_support_[i, j] >= fitted.edge_support_[j, i]
            assert fitted.strength_[i, j] > least or fitted.strength_[i, j] == 1
    assert fitted.network_.dag.edges == fitted.averaged_network().dag.edges
    assert fitted.dag_.number_of_edges() == np.triu(fitted.strength_ >= 0.5).sum()
    assert fitted.score(wine) == fitted.network_.score(wine)
    assert nx.utils.graphs_equal(fitted.predict(wine), fitted.dag_)


def test_its_parameters_are_those_that_the_learner_would_estimate(wine):
    criterion = skbn.BGe(alpha_mu=50.0)
    network = resampling(10, GaussianBNLearner(criterion)).fit(wine).network_
    scores = LocalScoreTransformer(criterion).fit_transform(wine)
    for child in wine.columns:
        parents = [*network.dag.predecessors(child)]
        weights = [network.dag.edges[parent, child]["weight"] for parent in parents]
        assert_allclose(weights, scores.coef(child, parents)[1], rtol=1e-9)
    refit = skbn.GaussianBayesianNetwork(nx.DiGraph(network.dag)).fit(wine)
    assert not np.allclose(network.coef_, refit.coef_, rtol=1e-3)


def test_edges_that_the_constraints_fix_stay_fixed(wine):
    first = {"color_intensity", "hue"}
    bootstrap = resampling(10, GaussianBNLearner(tiers=[[*first], ...])).fit(wine)
    fixed = {(a, b) for a, b, is_fixed in bootstrap.dag_.edges(data="fixed") if is_fixed}
    between = {(a, b) for a, b in bootstrap.dag_.edges if (a in first) != (b in first)}
    assert fixed == between != set()
    assert bootstrap.edge_support_[np.ix_([0, 1, 3], [2, 4])].sum() == 0


def test_the_table_of_pairs(wine, fitted):
    table, names = fitted.to_frame(), [*wine.columns]
    assert [*table] == ["parent", "child", "strength", "direction"]
    assert table["strength"].is_monotonic_decreasing
    assert len(table) == np.count_nonzero(np.triu(fitted.strength_))
    for row in table.itertuples(index=False):
        i, j = names.index(row.parent), names.index(row.child)
        assert row.strength == fitted.strength_[i, j]
        assert row.direction == fitted.direction_[i, j] >= 0.5
    undirected = wine[["ash"]].assign(hue=wine["ash"] + 0.1 * wine["hue"])
    frame = resampling().fit(undirected).to_frame()
    assert frame.to_numpy().tolist() == [["ash", "hue", 1.0, 0.5]]


def test_a_threshold_can_be_a_parameter(wine, fitted):
    strict = resampling(20, threshold=0.8).fit(wine)
    assert strict.threshold_ == 0.8
    assert list(strict.dag_.edges) == list(fitted.averaged_network(0.8).dag.edges)
    assert len(strict.dag_.edges) < len(fitted.dag_.edges)
    search = GridSearchCV(resampling(), {"threshold": [0.2, 0.99]}, cv=2).fit(wine)
    assert search.best_estimator_.threshold_ in (0.2, 0.99)
    for wrong in (-0.1, 1.1, np.nan, "0.5"):
        raises("threshold must be a number from 0 to 1; got", fitted.averaged_network, wrong)


# Learners within


def test_pipelines_need_routing(wine):
    after = resampling()
    make_pipeline(StandardScaler(), after).fit(wine)
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        learner = GaussianBNLearner().set_fit_request(sample_weight=True)
        bootstrap = resampling(3, make_pipeline(scaler, learner)).fit(wine)
    assert_array_equal(bootstrap.edge_support_, after.edge_support_)
    assert [*bootstrap.dag_] == [*wine.columns]  # the scaler hands on an array


@pytest.mark.parametrize("container", ["pandas", "default"])
def test_a_pipeline_that_imputes_is_given_the_rows_as_they_are(wine, container):
    holes = wine.mask(np.random.default_rng(0).random(wine.shape) < 0.1)
    with config_context(enable_metadata_routing=True):
        learner = GaussianBNLearner().set_fit_request(sample_weight=True)
        pipeline = make_pipeline(SimpleImputer().set_output(transform=container), learner)
        bootstrap = resampling(5, pipeline).fit(holes)
        resamples = [
            clone(pipeline).fit(holes, sample_weight=weight)[-1].network_
            for weight in weights_by_hand(len(wine), 5, 0)
        ]
    for network, other in zip(bootstrap.networks_, resamples, strict=True):
        assert list(network.coef_.ravel()) == list(other.coef_.ravel())
    averaged = skbn.GaussianBayesianNetwork(nx.DiGraph(bootstrap.network_.dag))
    expected = averaged.fit(holes.fillna(holes.mean()))
    assert_allclose(bootstrap.network_.coef_, expected.coef_)
    raises(r"values \(NaN\) in 5 of its 5 columns", resampling().fit, holes)


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
    resampling(3, learner, n_jobs=2).fit(wine)
    assert numbers == [(None, 2)] + 3 * [(1, 2)]
    assert of_blas <= {1}  # more would wait for each other
    assert (learner.n_jobs, learner.learner.n_jobs) == (None, 2)


# Warnings


@pytest.mark.parametrize("learner", [None, Wrapped(), GaussianBNLearnerCV([1, 2], cv=2)])
@BACKENDS
def test_warnings_about_the_data_come_once(wine, learner, backend):
    rng = np.random.default_rng(0)
    skewed = wine.assign(ash=wine["hue"] + np.exp(2 * rng.normal(size=len(wine))))
    with parallel_config(backend, n_jobs=2), pytest.warns() as caught:
        resampling(4, learner).fit(skewed)
    assert sum(issubclass(each.category, skbn.exceptions.DataWarning) for each in caught) == 1


def test_a_penalty_at_the_end_is_warned_of_once():
    noise = np.random.default_rng(0).normal(size=(40, 4))
    caught = warned_by(resampling(4, GaussianBNLearnerCV([0.25, 0.5], cv=2)).fit, noise)
    assert [each.category for each in caught] == [skbn.exceptions.PenaltyRangeWarning]


def warned(kind, X, learner=None, settings=(), **given):
    """Return the message of a warning of this kind, or ""."""
    caught = warned_by(resampling(3, learner, **dict(settings)).fit, X, **given)
    return " ".join(str(each.message) for each in caught if each.category is kind)


class Edgeless(BaseEstimator):
    def fit(self, X, sample_weight=None):
        self.dag_ = nx.empty_graph(X.shape[1], nx.DiGraph)
        return self


NOISE = np.random.default_rng(1).normal(size=(240, 60))
HALF = {"replace": False, "sample_fraction": 0.5}


@pytest.mark.parametrize(
    ("X", "learner", "settings", "labels", "message"),
    [
        (NOISE[:, :15], None, {}, None, r"Resamples have 1\d edges, .* and all rows 3: they make"),
        (NOISE[:, :15], None, {}, [*range(120)] * 2, r"Resamples have"),
        (NOISE[:, :50], Edgeless(), {}, None, "With 50 columns, resamples make edges of chance"),
        (NOISE[:, :50], Edgeless(), HALF, None, ""),
        (NOISE[:, :15], None, HALF, None, ""),
        (NOISE[:, :15], None, {"block_length": 5}, None, ""),
        (NOISE[:, :15], None, {}, [0] + [1] * 239, ""),  # of one row, no half can be drawn
        (NOISE[:59, :15], None, {}, None, ""),
        (NOISE[:, :3], None, {}, None, ""),
    ],
)
def test_half_samples_are_advised_where_resamples_make_edges(X, learner, settings, labels, message):
    found = warned(skbn.exceptions.RepeatedRowsWarning, X, learner, settings, stratify=labels)
    assert re.fullmatch(message and f"{message}.*replace=False and .*", found)


def persons(seed=0, share=0.8, n_persons=30, n=10):
    """Independent columns of persons measured often, of whose variance they are a share."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_persons), n)
    values = np.sqrt(share) * rng.normal(size=(n_persons, 3))[person]
    values += np.sqrt(1 - share) * rng.normal(size=(len(person), 3))
    return pd.DataFrame(values, columns=[*"abc"]), person


def warned_of_groups(X, groups, learner=None, **given):
    return warned(skbn.exceptions.DependentRowsWarning, X, learner, groups=groups, **given)


def test_rows_of_one_group_that_are_alike_are_told_with_ways_out():
    X, person = persons()
    message = warned_of_groups(X, person)
    correlation = float(re.search("correlation of ([0-9.]+) within the 30 groups", message)[1])
    assert correlation == pytest.approx(0.8, abs=0.1)
    n, weight = map(float, re.search(r"numpy.full\((\d+), ([0-9.]+)\)", message).groups())
    assert n * weight == pytest.approx(300 / (1 + 9 * correlation), rel=0.05)
    assert not warned_of_groups(X, person, sample_weight=np.full(int(n), weight))
    assert not warned_of_groups(X - X.groupby(person).transform("mean"), person)
    assert not warned_of_groups(X, np.random.default_rng(0).permutation(person))
    assert not warned_of_groups(X, np.arange(len(X)))
    holes = X.mask(np.random.default_rng(1).random(X.shape) < 0.1)
    assert warned_of_groups(holes, person, GaussianBNLearner(missing="em"))
    assert warned_of_groups(X.to_numpy(), [f"p{each}" for each in person])


def test_columns_that_are_not_modelled_or_that_parents_explain_do_not_count():
    X, person = persons()
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
        model = skbn.GaussianBayesianNetwork(nx.empty_graph(3, nx.DiGraph)).fit(rows)._model()
        number = rng.integers(0, 12, size=60)
        groups = [np.flatnonzero(number == k) for k in np.unique(number)]
        n_found += len(warned_by(warn_about_groups, model, rows, groups, 60.0))
    assert n_found <= 2


# Errors


@BACKENDS
def test_a_resample_without_a_value_of_a_column(wine, backend):
    rare = wine.assign(ash=[1.0] + [0.0] * (len(wine) - 1))
    forbidden = [(a, "ash") for a in wine.columns if a != "ash"]  # else it is warned about
    learner = GaussianBNLearner(forbidden_edges=forbidden)
    all_rows = [(np.arange(178), np.arange(178))]
    chosen = GaussianBNLearnerCV(cv=all_rows, forbidden_edges=forbidden)
    message = r"Resample \d+ of 10, which has \d+ of the 178 rows, cannot be .*'ash' has zero"
    for each in (chosen, Wrapped(learner), learner):
        bootstrap = resampling(10, each)
        with parallel_config(backend, n_jobs=2):
            raises(message, bootstrap.fit, rare)
        assert not hasattr(bootstrap, "networks_")
    # The remedies.
    bootstrap.set_params(estimator__criterion="bge").fit(rare)
    rare.loc[:1, "ash"] = 1.0
    few = {"replace": False, "sample_fraction": 0.9, "estimator__criterion": "bic"}
    bootstrap.set_params(**few).fit(rare)


LISTED = skbn.ParentSetScores(["a", "b"], [(np.full((1, 1), -1), np.array([-1.0]))] * 2)


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
        ({"estimator": Wrapped()}, "scores", "X is already LocalScores"),
        ({"estimator": GaussianBNLearner("aic")}, "scores", "made with criterion="),
    ],
)
def test_what_is_refused(wine, parameters, table, message):
    transformer = LocalScoreTransformer()
    tables = {"rows": wine, "constant": wine.assign(ash=1.0), "listed": LISTED}
    tables["scores"] = transformer.fit_transform(wine)
    tables["summaries"] = transformer.partial_fit(wine).local_scores_
    fit = BootstrapBNLearner(**parameters).fit
    raises(message, fit, tables[table], kind=(ValueError, TypeError))


def test_learners_that_cannot_be_resampled(wine):
    class Unweighted(Wrapped):
        def fit(self, X):
            return super().fit(X)

    class Renaming(Wrapped):
        def fit(self, X, sample_weight=None):
            super().fit(X, sample_weight)
            self.dag_ = nx.relabel_nodes(self.dag_, {"ash": "cinders"})
            return self

    no_weight = "The fit of Unweighted takes no sample_weight"
    raises(no_weight, resampling(3, Unweighted()).fit, wine, kind=TypeError)
    raises(r"of Renaming has the nodes .*'cinders'", resampling(3, Renaming()).fit, wine)


# Progress, and ends


@BACKENDS
def test_progress_is_printed(wine, capsys, monkeypatch, backend):
    monkeypatch.setattr("skbn._core.resources.SECONDS_BETWEEN_LINES", 0.0)
    with parallel_config(backend, n_jobs=2):
        resampling(10, Wrapped(), verbose=True).fit(wine)
    first, *lines = capsys.readouterr().out.splitlines()
    how = "2 at a time" if backend == "threading" else "in processes"
    assert first == f"[BootstrapBNLearner] 10 resamples, {how}"
    shares = [f"[BootstrapBNLearner] {percent} %" for percent in range(10, 101, 10)]
    assert [line.split(" done")[0] for line in lines] == shares


@pytest.mark.parametrize("time_limit", [None, 0.05])
def test_resamples_side_by_side_tell_one_progress(wine, time_limit, capsys, monkeypatch):
    monkeypatch.setattr("skbn._core.resources.SECONDS_BETWEEN_LINES", 0)
    settings = {"search": "order", "random_state": 0, "verbose": True, "time_limit": time_limit}
    resampling(3, GaussianBNLearner(**settings), n_jobs=2, verbose=True).fit(wine)
    _, told = capsys.readouterr().out.split("[BootstrapBNLearner] 3 resamples")
    percents = re.findall(r"^\[BootstrapBNLearner\] (\d+) % done", told, re.MULTILINE)
    assert len(told.splitlines()) == 1 + len(percents)
    assert percents[-1] == "100"
    assert percents == sorted(percents, key=int)


@needs_callbacks
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("learner", [None, Wrapped()])
def test_stopped_it_has_no_result_and_interrupted_the_resamples_that_are_done(
    wine, n_jobs, learner, monkeypatch
):
    monkeypatch.setattr("skbn._estimators.learner_cv.FEWEST_COLUMNS", 2)
    bootstrap = resampling(30, learner, n_jobs=n_jobs)
    full = clone(bootstrap).fit(wine)
    before = threading.active_count()
    with pytest.raises(RuntimeError):
        bootstrap.set_callbacks(Stopper()).fit(wine)
    assert threading.active_count() <= before
    assert not hasattr(bootstrap, "networks_")
    with pytest.warns(ConvergenceWarning, match=r"Ctrl-C ended .* after \d+ of 30 resamples"):
        bootstrap.set_callbacks(Interrupter()).fit(wine)
    assert 2 <= bootstrap.n_resamples_ == len(bootstrap.networks_) < 30
    assert_same_networks(bootstrap.networks_, full.networks_[: bootstrap.n_resamples_])
    assert len(bootstrap.set_callbacks().fit(wine).networks_) == 30


@pytest.mark.parametrize("n_jobs", [pytest.param(1, marks=slow), 2])
def test_a_time_limit_keeps_the_resamples_that_are_done(wine, n_jobs):
    bootstrap = resampling(10_000, n_jobs=n_jobs, time_limit=1.5)
    with pytest.warns(ConvergenceWarning, match="time_limit ended .* of 10000 resamples") as told:
        bootstrap.fit(wine)
    assert [each.filename for each in told] == [__file__]
    n = bootstrap.n_resamples_
    assert len(bootstrap.networks_) == n == resampling(n).fit(wine).n_resamples_
    message = "time_limit=1e-09 seconds ended the bootstrap with 0 of"
    raises(message, bootstrap.set_params(time_limit=1e-9).fit, wine)
    assert not hasattr(bootstrap, "networks_")


# Draws


def draws_of(n_rows, n_resamples=1, *, weight=None, stratify=None, groups=None, **settings):
    sample = Sample(np.zeros((n_rows, 2)), weight, None)
    settings = {"n_resamples": n_resamples, "random_state": 0, **settings}
    return plan_draws(BootstrapBNLearner(**settings), sample, stratify, groups), sample


@given(st.integers(3, 40), st.integers(2, 39), st.floats(0.3, 1), st.integers(0, 99))
def test_blocks_are_of_consecutive_rows(n, block_length, fraction, seed):
    length = min(block_length, n - 1)
    fraction = fraction if round(fraction * n) > 1 else 1.0
    weight, settings = 1.0 + np.arange(n) % 3, {"sample_fraction": fraction, "random_state": seed}
    draws, sample = draws_of(n, 3, weight=weight, block_length=length, **settings)
    for number in range(3):
        rows = draws.rows(number)
        assert len(rows) == round(fraction * n)
        assert 0 <= rows.min() <= rows.max() < n
        for start in range(0, len(rows), length):
            block = rows[start : start + length]
            assert (np.diff(block) == 1).all()
            assert block[0] <= n - length
        counts = np.bincount(rows, minlength=n)
        assert_array_equal(draws.weight(number, sample), counts * weight)


@pytest.mark.parametrize("block_length", [2, 3, 5])
def test_rows_are_drawn_as_often_as_blocks_have_them(block_length):
    n, n_resamples = 9, 4000
    draws, sample = draws_of(n, n_resamples, block_length=block_length)
    found = np.mean([draws.weight(number, sample) for number in range(n_resamples)], axis=0)
    n_starts, expected = n - block_length + 1, np.zeros(n)
    for first, start in itertools.product(range(0, n, block_length), range(n_starts)):
        expected[start : start + min(block_length, n - first)] += 1 / n_starts
    assert_allclose(found, expected, atol=0.08)  # five standard deviations


def test_blocks_of_one_row_are_single_rows():
    (alone, _), (without, _) = draws_of(20, block_length=1), draws_of(20)
    assert_array_equal(alone.rows(0), without.rows(0))


@pytest.fixture(scope="module")
def rows():
    return make_gaussian_network(4, n_samples=60, random_state=2)[0]


def test_networks_are_those_of_the_blocks(rows):
    settings = {"n_resamples": 4, "block_length": 6, "random_state": 3}
    bootstrap = BootstrapBNLearner(**settings).fit(rows)
    draws, _ = draws_of(60, **settings)
    for number, network in enumerate(bootstrap.networks_):
        refit = GaussianBNLearner().fit(rows[draws.rows(number)]).network_
        assert_allclose(network.coef_, refit.coef_, rtol=1e-9, atol=1e-12)
    with parallel_config("threading", n_jobs=2):
        again = clone(bootstrap).fit(LocalScoreTransformer().fit_transform(rows))
    assert_array_equal(again.edge_support_, bootstrap.edge_support_)
    assert_same_networks(again.networks_, bootstrap.networks_)


@given(st.lists(st.sampled_from("abcdef"), min_size=8, max_size=30), st.integers(0, 99))
def test_whole_groups_are_drawn(groups, seed):
    assume(len({*groups}) > 1)
    draws, sample = draws_of(len(groups), groups=groups, random_state=seed)
    weight = draws.weight(0, sample)
    own = [{*weight[np.array(groups) == group]} for group in {*groups}]
    assert sum(count for (count,) in own) == len(own)


def test_half_of_the_groups_of_each_label():
    groups, labels = np.repeat(np.arange(12), 5), np.repeat([*"uuuuuuuuvvvv"], 5)
    draws, sample = draws_of(60, groups=groups, stratify=labels, **HALF)
    weight = draws.weight(0, sample).reshape(12, 5)
    assert {*weight.ravel()} == {0.0, 1.0}
    assert (weight[:8].sum(), weight[8:].sum()) == (20, 10)


def test_blocks_stay_within_groups():
    groups = np.array([*"abc"])[np.arange(30) % 3]  # their rows alternate
    draws, _ = draws_of(30, groups=groups, block_length=4)
    rows = draws.rows(0)
    assert len(rows) == 30
    assert all((np.diff(rows[start : start + 4]) == 3).all() for start in range(0, 28, 4))


def test_rows_of_weight_0_are_not_drawn():
    groups, weight = np.array([*"aabbcc"]), np.array([1, 0, 2, 1, 0, 0.0])
    draws, sample = draws_of(6, weight=weight, groups=groups)
    assert len(draws.groups) == 2
    counts = draws.weight(0, sample)
    assert counts[[1, 4, 5]].tolist() == [0, 0, 0]
    assert counts[0] + counts[3] == 2
    labels, weight = np.array([*"aaaabbbbcc"]), np.array([1, 0, 2, 1, 1, 1, 0, 0, 0, 0.0])
    draws, sample = draws_of(10, weight=weight, stratify=labels)
    counts = np.bincount(draws.rows(0), minlength=10)
    assert (counts[:4].sum(), counts[4:8].sum(), counts[8:].sum()) == (3, 2, 0)
    assert_array_equal(draws.weight(0, sample), counts * weight)


@given(st.lists(st.sampled_from("abc"), min_size=4, max_size=30), st.booleans())
def test_each_label_has_its_share_of_the_rows(labels, replace):
    fraction = 1.0 if replace else 0.7
    counts = {label: labels.count(label) for label in labels}
    shares = {label: round(fraction * count) for label, count in counts.items()}
    assume(all(shares.values()) and (replace or shares != counts))
    settings = {"sample_fraction": fraction, "replace": replace}
    draws, sample = draws_of(len(labels), stratify=labels, **settings)
    weight = draws.weight(0, sample)
    assert {label: weight[np.array(labels) == label].sum() for label in shares} == shares
    assert replace or weight.max() == 1


def test_labels_of_a_series_go_to_the_rows_with_its_index(rows):
    X = pd.DataFrame(rows, columns=list("wxyz"), index=[f"row {i}" for i in range(60)])
    labels = pd.Series(np.repeat([0, 1, 2], 20), X.index)
    bootstrap = resampling()
    expected = bootstrap.fit(X, stratify=labels.to_numpy()).edge_support_
    for table in (X, LocalScoreTransformer().fit_transform(X)):
        found = bootstrap.fit(table, stratify=labels[::-1]).edge_support_
        assert_array_equal(found, expected)
    raises("stratify must have a value for each of the 60 rows", bootstrap.fit, X, stratify=[0, 1])
    raises("must have a value for each of the 60 rows", bootstrap.fit, X, groups=[0, 1])
    raises(r"stratify has no value .* 'row 59'", bootstrap.fit, X, stratify=labels[:-1])


# Effects over the resamples


def members_by_hand(bootstrap):
    """Yield a weight and the coefficients of each network that is equivalent to a resample's."""
    for network in bootstrap.networks_:
        at, covariance = network.nodes.index, network.covariance_
        edges = network.cpdag().edges(data="undirected")
        fixed = [(at(a), at(b)) for a, b, is_undirected in edges if not is_undirected]
        members = equivalent_dags(parents_of(nx.relabel_nodes(network.dag, at)), fixed)
        for member in members:
            coef = np.zeros(covariance.shape)
            for child, own in enumerate(map(list, member)):
                of_parents = covariance[np.ix_(own, own)]
                coef[own, child] = np.linalg.solve(of_parents, covariance[own, child])
            yield 1 / (len(members) * len(bootstrap.networks_)), coef


@pytest.mark.parametrize("tiers", [None, {"first": ["alcohol"], "then": ...}])
def test_effects_and_weights_are_those_of_all_equivalent_networks(wine, tiers):
    table = wine.iloc[::4, :4]
    bootstrap = resampling(6, GaussianBNLearner(tiers=tiers)).fit(table)
    weights, coefs = map(np.array, zip(*members_by_hand(bootstrap), strict=True))
    totals, at = np.linalg.inv(np.eye(4) - coefs), [*table].index
    effects = bootstrap.effects(0.9)
    assert len(effects) == 12
    assert (np.diff(effects["mean"].abs()) <= 0).all()
    for row in effects.itertuples():
        i, j = at(row.cause), at(row.outcome)
        assert row.mean == pytest.approx(weights @ totals[:, i, j])
        alone = bootstrap.effect(row.cause, row.outcome)
        assert (row.low, row.high) == pytest.approx(alone.interval(0.9))
        paths = bootstrap.path_effects(row.cause, row.outcome)
        assert paths.total.mean == pytest.approx(row.mean)
        assert paths.total.interval(0.9) == pytest.approx(alone.interval(0.9))
        assert paths.direct.mean == pytest.approx(weights @ coefs[:, i, j])
        for path in paths.to_frame().itertuples():
            steps = itertools.pairwise(map(at, path.path))
            there = np.all([coefs[:, a, b] != 0 for a, b in steps], axis=0)
            assert path.present == pytest.approx(weights @ there)
    for row in bootstrap.to_frame(0.9).itertuples():
        direct = bootstrap.path_effects(row.parent, row.child).direct
        found = row.weight, row.low, row.high
        assert found == pytest.approx((direct.mean, *direct.interval(0.9)))


def test_weights_of_categories_with_several_levels_are_unknown(wine):
    table = wine.iloc[:, :3].assign(kind=np.array(["u", "v", "w"])[np.arange(len(wine)) // 60])
    learner = GaussianBNLearner(nodes="auto", tiers=[["kind"], ...])
    bootstrap = resampling(3, learner).fit(table)
    frame = bootstrap.to_frame(0.9)
    assert (frame["weight"].isna() == (frame["parent"] == "kind")).all()
    two = {"hue": 1.0, "kind": 1.0}
    raises("cause must be a single node", bootstrap.path_effects, two, "proline")

"""The penalty chosen by cross-validation: what a grid search chooses, at less work."""

import threading
import time
from itertools import product

import joblib
import numpy as np
import pandas as pd
import pytest
from agreement import assert_same_bits, raises
from problems import problem, resources
from recording_callbacks import Interrupter, Recorder, Stopper, needs_callbacks
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skbn
from skbn import GaussianBNLearner, GaussianBNLearnerCV, LocalScoreTransformer
from skbn._estimators import learner_cv as _held_out
from skbn._estimators.learner_cv import _chosen
from skbn._exact.plan import plan_search
from skbn._scores import families as _families
from skbn._scores import scorer as _scorer
from skbn._scores.scorer import FamilyScorer
from skbn._solver import engines
from skbn.datasets import make_gaussian_network
from skbn.exceptions import PenaltyRangeWarning

PENALTIES = [0.0, 0.5, 5.0]
FOLDS = KFold(4, shuffle=True, random_state=0)
REPEATED = RepeatedKFold(n_splits=4, n_repeats=3, random_state=0)


@pytest.fixture(autouse=True)
def _folds_in_threads(monkeypatch):
    """Folds of small tables too."""
    monkeypatch.setattr(_held_out, "FEWEST_COLUMNS", 2)


@pytest.fixture(scope="module")
def wine(wine):
    return wine.iloc[:, :9]


def chosen(X, penalties=PENALTIES, cv=FOLDS, **settings):
    return GaussianBNLearnerCV(penalties, cv=cv, **settings).fit(X)


@pytest.fixture(scope="module")
def expected(wine):
    return chosen(wine)


def assert_same_results(learner, expected):
    for key, values in expected.cv_results_.items():
        np.testing.assert_array_equal(learner.cv_results_[key], values)


def assert_same_as_grid_search(learner, grid):
    for key in ("mean_test_score", "std_test_score", "split0_test_score", "split3_test_score"):
        np.testing.assert_array_equal(learner.cv_results_[key], grid.cv_results_[key])
    assert learner.penalty_ == grid.best_params_["penalty"]
    assert_same_bits(learner, grid.best_estimator_)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        pytest.param({"criterion": "aic", "max_parents": 2}, marks=pytest.mark.slow),
        {"criterion": skbn.EBIC(1.0), "tiers": [["ash", "hue"], ...]},
        {"max_parents": 1, "forbidden_edges": [("alcohol", "ash")]},
        pytest.param({"required_edges": [("ash", "alcohol")]}, marks=pytest.mark.slow),
        pytest.param({"search": "order", "random_state": 0}, marks=pytest.mark.slow),
    ],
)
def test_it_is_a_grid_search(wine, settings):
    wine = wine.rename(columns={"malic_acid": "hue"})
    grid = GridSearchCV(GaussianBNLearner(**settings), {"penalty": PENALTIES}, cv=FOLDS).fit(wine)
    for n_jobs in (None, 2):
        learner = chosen(wine, n_jobs=n_jobs, **settings)
        assert_same_as_grid_search(learner, grid)
        assert learner.score(wine) == grid.score(wine)


def counted(function, calls):
    """A function that keeps its arguments in a list."""

    def call(*arguments):
        calls.append(arguments)
        return function(*arguments)

    return call


@pytest.mark.parametrize(
    ("settings", "module", "name", "n_calls"),
    [
        # Of few parents, once for each fold and for all rows.
        ({"max_parents": 2}, _families, "small_log_determinants", 4 + 1),
        # Of all sets, once for each group of each search.
        ({}, _scorer, "set_functions", 4 * 3 + 1),
        ({"tiers": [range(4), range(4, 9)]}, _scorer, "set_functions", 2 * (4 * 3 + 1)),
    ],
)
def test_how_often_log_determinants_are_computed(
    wine, settings, module, name, n_calls, monkeypatch
):
    calls = []
    monkeypatch.setattr(module, name, counted(getattr(module, name), calls))
    chosen(wine, **settings)
    assert len(calls) == n_calls


@pytest.mark.parametrize("cv", [KFold(11), pytest.param(REPEATED, marks=pytest.mark.slow)])
def test_means_over_many_folds_have_the_same_bits(wine, cv):
    wine, penalties = wine.iloc[:, :4], [0.0, 2.0]
    grid = GridSearchCV(GaussianBNLearner(), {"penalty": penalties}, cv=cv).fit(wine)
    assert_same_as_grid_search(chosen(wine, penalties, cv), grid)


def test_standard_errors_and_numbers_of_edges(wine, expected):
    results = expected.cv_results_
    scores = np.array([results[f"split{i}_test_score"] for i in range(4)])
    np.testing.assert_allclose(results["se_test_score"], scores.std(axis=0, ddof=1) / 2)
    np.testing.assert_array_equal(results["penalties"], PENALTIES)
    for penalty, mean in zip(PENALTIES, results["mean_n_edges"], strict=True):
        learner = GaussianBNLearner(penalty=penalty)
        fits = [learner.fit(wine.iloc[train]).dag_ for train, _ in FOLDS.split(wine)]
        assert mean == np.mean([dag.number_of_edges() for dag in fits])


def test_rules():
    results = {
        "penalties": np.array([8.0, 1.0, 2.0, 4.0]),
        "mean_test_score": np.array([-3.0, -1.0, -1.0, -1.4]),
        "se_test_score": np.array([9.0, 0.5, 0.1, 9.0]),
    }
    assert _chosen(results, "best") == 1  # the first of two equals
    assert _chosen(results, "one-standard-error") == 3
    results["se_test_score"][1] = 0.0
    assert _chosen(results, "one-standard-error") == 2


def test_the_rule_of_one_standard_error_gives_fewer_edges(wine, expected):
    near = chosen(wine, rule="one-standard-error")
    assert near.penalty_ > expected.penalty_
    assert near.dag_.number_of_edges() < expected.dag_.number_of_edges()
    assert_same_bits(near, GaussianBNLearner(penalty=near.penalty_).fit(wine))


@pytest.mark.usefixtures("two_blas_threads")
@pytest.mark.parametrize("backend", ["loky", "threading", "sequential"])
def test_any_backend_gives_the_same(wine, backend, expected):
    with joblib.parallel_config(backend=backend):
        assert_same_results(chosen(wine, n_jobs=2), expected)


def test_local_scores_have_their_own_criterion(wine):
    scores = LocalScoreTransformer("aic", penalty=7.0).fit_transform(wine)
    learner, alone = chosen(scores), chosen(wine, criterion="aic")
    assert learner.penalty_ == alone.penalty_
    assert learner.network_score_ == alone.network_score_
    assert type(learner.criterion_).__name__ == "AIC"
    message = r"criterion='bic' was asked for.*made with criterion=AIC"
    raises(message, GaussianBNLearnerCV(criterion="bic").fit, scores)
    scaler = StandardScaler().set_output(transform="pandas")
    piped = make_pipeline(scaler, LocalScoreTransformer(), GaussianBNLearnerCV([1], cv=FOLDS))
    assert set(piped.fit(wine).predict(wine)) == set(wine.columns)


def test_groups_go_to_the_splitter(wine):
    groups = np.arange(len(wine)) % 7
    with config_context(enable_metadata_routing=True):
        splitter = GroupKFold(4).set_split_request(groups=True)
        learner, again = (GaussianBNLearnerCV(PENALTIES, cv=splitter) for _ in range(2))
        dag = learner.fit_predict(wine, groups=groups)
        again.fit(wine, groups=pd.Series(groups, index=wine.index).sort_values())
        no_groups = GaussianBNLearnerCV(PENALTIES, cv=FOLDS)
        raises("groups", no_groups.fit, wine, groups=groups, kind=TypeError)
    assert_same_results(again, learner)
    assert list(dag.edges) == list(learner.dag_.edges)
    splits = list(GroupKFold(4).split(wine, groups=groups))
    assert_same_results(learner, chosen(wine, cv=splits))


SOME = np.arange(100)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"penalties": []}, "one or more numbers"),
        ({"penalties": [[1.0]]}, r"got \[1.0\]"),
        ({"penalties": [1.0, -2.0]}, "must be a number from 0 to .*; got -2.0"),
        ({"penalties": [1.0, np.nan]}, "got nan"),
        ({"penalties": [np.inf]}, "got inf"),
        ({"penalties": ["much"]}, "got 'much'"),
        ({"penalties": [True]}, "got True"),
        ({"penalties": 3.0}, "'penalties' parameter"),
        ({"penalties": np.array(3.0)}, "one or more numbers"),
        ({"penalties": {1.0, 2.0}}, "one or more numbers"),
        # which would yield 0 and 1
        ({"penalties": pd.DataFrame([[0.5, 4.0]])}, "one or more numbers"),
        ({"cv": []}, "yielded no splits"),
        ({"cv": [(SOME, np.arange(100, 179))]}, "from -178 to 177"),
        ({"cv": [(SOME, [-179])]}, "from -178 to 177"),
        ({"cv": [(SOME, [0.5])]}, r"got \[0.5\]"),
        ({"cv": [(SOME, [])]}, r"at least one row; got \[\]"),
        ({"cv": [(np.ones(100, dtype=bool), [0])]}, "masks of all rows"),
        ({"cv": [(None, [0])]}, "got None"),
        ({"cv": [(SOME, 3)]}, "got 3"),
        ({"cv": [(SOME, [0], [1])]}, "pairs"),
        ({"cv": [5]}, "pairs.*got 5"),
    ],
)
def test_penalties_and_splits_that_are_refused(wine, settings, message):
    raises(message, GaussianBNLearnerCV(**settings).fit, wine)


def test_what_else_is_refused(wine):
    single = [next(FOLDS.split(wine))]
    assert np.isnan(GaussianBNLearnerCV(cv=single).fit(wine).cv_results_["se_test_score"]).all()
    listed = skbn.ParentSetScores(["a", "b"], [([[-1]], [0.0])] * 2)
    raises("ParentSetScores have no rows", GaussianBNLearnerCV().fit, listed, kind=TypeError)
    raises("collinear", GaussianBNLearnerCV().fit, wine.assign(again=wine["ash"]))


def test_small_tables_are_not_worth_threads(wine, monkeypatch, capsys):
    monkeypatch.undo()
    chosen(wine, n_jobs=2, verbose=True)
    assert "4 folds, 1 at a time" in capsys.readouterr().out
    monkeypatch.setattr(_held_out, "_FEWEST_ROWS", len(wine))
    chosen(wine, n_jobs=2, verbose=True)
    assert "4 folds, 2 at a time" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("n_folds", "n_jobs", "of_folds"),
    [(4, 2, [1, 1, 1, 1]), (5, 2, [1, 1, 1, 1, 2]), (3, 8, [2, 2, 2]), (5, 3, [1, 1, 1, 1, 1])],
)
def test_the_last_folds_share_the_threads(wine, n_folds, n_jobs, of_folds):
    scores = LocalScoreTransformer().fit_transform(wine)
    splits = list(KFold(n_folds).split(wine))
    given = resources(1 << 40, n_jobs=n_jobs)
    folds = _held_out.HeldOutScores(problem(scores), [1.0], splits, given)
    assert folds._n_jobs == of_folds


def least_memory(m):
    """The fewest bytes with which a search of m columns can be planned."""
    too_few, enough = 0, 1 << 40
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        try:
            plan_search(m, middle, "are there")
            enough = middle
        except ValueError:
            too_few = middle
    return enough


def masks(train, test, n=178):
    return np.isin(np.arange(n), train), np.isin(np.arange(n), test)


def test_kinds_of_splits(wine, expected):
    pairs = list(FOLDS.split(wine))
    for splits in (
        iter(pairs),
        [masks(*pair) for pair in pairs],
        [(tuple(train), list(test)) for train, test in pairs],
        [(train - len(wine), test) for train, test in pairs],
    ):
        assert_same_results(chosen(wine, cv=splits), expected)
    with config_context(enable_metadata_routing=True):
        learner = GaussianBNLearnerCV(PENALTIES, cv=iter(pairs))
        make_pipeline(None, learner).fit(wine)
    assert_same_results(learner, expected)


def test_masks_go_by_the_labels_of_the_rows(wine, expected):
    table = wine.set_index(np.arange(len(wine))[::-1] + 1000)
    pairs = [masks(*pair) for pair in FOLDS.split(wine)]
    labelled = [[pd.Series(mask, index=table.index) for mask in pair] for pair in pairs]
    turned = [[mask.sort_index() for mask in pair] for pair in labelled]
    scores = LocalScoreTransformer().fit_transform(table)
    for X, splits in product((table, scores), (labelled, turned)):
        assert_same_results(chosen(X, cv=splits), expected)
    raises("mask that cv yields has no value for the row .* 0", chosen, wine, cv=labelled)
    backwards = [[mask.set_axis(range(178)[::-1]) for mask in pair] for pair in labelled]
    raises(r"mask that cv yields.*another order", chosen, wine.to_numpy(), cv=backwards)


class ByColumn(KFold):
    """Splits by the rows of a column, for which it needs the frame."""

    def split(self, X, y=None, groups=None):
        order = np.argsort(X["ash"].to_numpy(), kind="stable")
        for train, test in super().split(order):
            yield order[train], order[test]


def test_splitters_are_given_the_table_itself(wine):
    grid = GridSearchCV(GaussianBNLearner(), {"penalty": PENALTIES}, cv=ByColumn(4)).fit(wine)
    assert_same_as_grid_search(chosen(wine, cv=ByColumn(4)), grid)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("fold", [0, 3])
def test_an_error_of_a_fold_holds_no_tables(fold, n_jobs):
    rows = make_gaussian_network(14, n_samples=80, random_state=0)[0]
    rows[:, 13] = np.arange(80) // 20 == fold  # constant where this fold learns
    with pytest.raises(ValueError, match=r"learns from 60 rows.*Column 13 has zero") as caught:
        chosen(rows, cv=KFold(4), n_jobs=n_jobs)
    error, left = caught.value, []
    while error is not None:
        trace, error = error.__traceback__, error.__context__
        while trace is not None:
            held = trace.tb_frame.f_locals.values()
            left += [v for v in held if isinstance(v, skbn.LocalScores | FamilyScorer)]
            trace = trace.tb_next
    assert not left


def test_a_fold_that_fails_stops_the_others(wine, monkeypatch):
    """One thread fails at once, and the other, in its first search, has dozens to go."""
    bad = wine.copy()
    bad["ash"] = np.arange(len(bad)) >= 100
    splits = [(np.arange(100), [150]), (np.arange(178), [0])]
    searches = []
    monkeypatch.setattr(engines, "exact_search", counted(engines.exact_search, searches))
    message = r"learns from 100 rows.*'ash' has zero variance"
    raises(message, chosen, bad, np.linspace(1, 2, 500), splits, n_jobs=2)
    assert len(searches) < 250


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_tables_that_the_scores_have_are_no_room_for_folds(n_jobs, monkeypatch):
    """Scores that hold log-determinants do not need them again, and each fold needs its own."""
    rows = make_gaussian_network(12, n_samples=60, random_state=0)[0]
    scores = LocalScoreTransformer().fit_transform(rows)
    room = least_memory(12)
    assert scores.log_determinants.nbytes > room / 10
    module = "skbn._core.resources.available_memory"
    monkeypatch.setattr(module, lambda: 2 * room - scores.scorer.n_bytes)
    chosen(scores, n_jobs=n_jobs)


def test_as_many_folds_at_a_time_as_the_memory_has_room_for(capsys):
    rows = make_gaussian_network(9, n_samples=60, random_state=0)[0]
    least = least_memory(9)
    results = []
    for limit, n_at_a_time in ((least, 1), (2 * least - 1, 1), (2 * least, 2)):
        learner = chosen(rows, [1, 3], n_jobs=2, verbose=True, max_memory=limit)
        assert f"4 folds, {n_at_a_time} at a time, of 2 searches each" in capsys.readouterr().out
        results.append(learner.cv_results_["mean_test_score"].tolist())
    assert results[0] == results[1] == results[2]
    raises("are allowed by max_memory", chosen, rows, max_memory=1000)
    share = resources(90, 60).share(3)
    assert (share.available, share.allowed) == (30, 20)


class LateStopper(Recorder):
    """Stops the last search, that of all rows."""

    def on_fit_task_end(self, estimator, context):
        super().on_fit_task_end(estimator, context)
        return len(self.ended) == 99


@needs_callbacks
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("callback", [Stopper, Interrupter, LateStopper])
def test_stopped_it_has_no_result_and_no_threads(wine, n_jobs, callback):
    learner = chosen(wine, n_jobs=n_jobs)
    before = threading.active_count()
    with pytest.raises((RuntimeError, KeyboardInterrupt)):
        learner.set_callbacks(callback()).fit(wine)
    assert not any(hasattr(learner, name) for name in ("dag_", "penalty_", "cv_results_"))
    end = time.monotonic() + 5  # threads that have been told to end may need a moment
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() <= before
    assert learner.set_callbacks().fit(wine).penalty_ > 0


@pytest.mark.filterwarnings("error::skbn.exceptions.PenaltyRangeWarning")
def test_the_end_of_the_penalties_is_warned_about():
    table = np.random.default_rng(0).normal(size=(60, 5))
    advice = "0.2, is the largest of penalties.* Add larger ones"
    with pytest.warns(PenaltyRangeWarning, match=advice):
        chosen(table, [0.1, 0.2])
    for penalties in ([0.1, 1000.0], [1.0], [0.0, 0.0]):  # with the first, no edge is left
        chosen(table, penalties)

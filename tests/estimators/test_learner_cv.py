"""The penalty chosen by cross-validation: what a grid search chooses, at less work."""

import threading
import time
from contextlib import nullcontext

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

from skbn import (
    EBIC,
    GaussianBNLearner,
    GaussianBNLearnerCV,
    LocalScores,
    LocalScoreTransformer,
    ParentSetScores,
)
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


def assert_same_results(learner, expected):
    for key, values in expected.cv_results_.items():
        np.testing.assert_array_equal(learner.cv_results_[key], values)


def assert_same_as_grid_search(learner, grid):
    for key in ("mean_test_score", "std_test_score", "split0_test_score", "split3_test_score"):
        np.testing.assert_array_equal(learner.cv_results_[key], grid.cv_results_[key])
    assert learner.penalty_ == grid.best_params_["penalty"]
    best = grid.best_estimator_
    assert_same_bits(learner, best)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        pytest.param({"criterion": "aic", "max_parents": 2}, marks=pytest.mark.slow),
        {"criterion": EBIC(1.0), "tiers": [["ash", "hue"], None]},
        {"max_parents": 1, "forbidden_edges": [("alcohol", "ash")]},
        pytest.param({"required_edges": [("ash", "alcohol")]}, marks=pytest.mark.slow),
        pytest.param({"search": "order", "random_state": 0}, marks=pytest.mark.slow),
    ],
)
def test_it_is_a_grid_search(wine, settings):
    wine = wine.rename(columns={"malic_acid": "hue"})
    if "tiers" in settings:
        rest = [name for name in wine.columns if name not in settings["tiers"][0]]
        settings = {**settings, "tiers": [settings["tiers"][0], rest]}
    grid = GridSearchCV(GaussianBNLearner(**settings), {"penalty": PENALTIES}, cv=FOLDS).fit(wine)
    for n_jobs in (None, 2):
        learner = GaussianBNLearnerCV(PENALTIES, cv=FOLDS, n_jobs=n_jobs, **settings).fit(wine)
        assert_same_as_grid_search(learner, grid)
        assert learner.score(wine) == grid.score(wine)


def counted(function, calls):
    """A function that keeps its arguments in a list."""

    def call(*arguments):
        calls.append(arguments)
        return function(*arguments)

    return call


def test_a_fold_computes_the_log_determinants_of_few_parents_once(wine, monkeypatch):
    calls = []
    monkeypatch.setattr(
        _families, "small_log_determinants", counted(_families.small_log_determinants, calls)
    )
    GaussianBNLearnerCV(PENALTIES, cv=FOLDS, max_parents=2).fit(wine)
    assert len(calls) == 4 + 1  # of the folds, and of all rows


@pytest.mark.parametrize("tiers", [None, [list(range(4)), [4, 5, 6, 7, 8]]])
def test_each_search_of_a_fold_walks_through_all_sets_once(wine, tiers, monkeypatch):
    calls = []
    monkeypatch.setattr(_scorer, "set_functions", counted(_scorer.set_functions, calls))
    GaussianBNLearnerCV(PENALTIES, cv=FOLDS, tiers=tiers).fit(wine)
    n_groups = 1 if tiers is None else 2
    assert len(calls) == n_groups * (4 * len(PENALTIES) + 1)


@pytest.mark.parametrize("cv", [KFold(11), pytest.param(REPEATED, marks=pytest.mark.slow)])
def test_means_over_many_folds_have_the_same_bits(wine, cv):
    wine, penalties = wine.iloc[:, :4], [0.0, 2.0]
    grid = GridSearchCV(GaussianBNLearner(), {"penalty": penalties}, cv=cv).fit(wine)
    assert_same_as_grid_search(GaussianBNLearnerCV(penalties, cv=cv).fit(wine), grid)


def test_standard_errors_and_numbers_of_edges(wine):
    learner = GaussianBNLearnerCV(PENALTIES, cv=FOLDS).fit(wine)
    results = learner.cv_results_
    scores = np.array([results[f"split{i}_test_score"] for i in range(4)])
    np.testing.assert_allclose(results["se_test_score"], scores.std(axis=0, ddof=1) / 2)
    np.testing.assert_array_equal(results["penalties"], PENALTIES)
    n_edges = [
        [
            GaussianBNLearner(penalty=p).fit(wine.iloc[train]).dag_.number_of_edges()
            for p in PENALTIES
        ]
        for train, _ in FOLDS.split(wine)
    ]
    np.testing.assert_array_equal(results["mean_n_edges"], np.mean(n_edges, axis=0))


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


def test_the_rule_of_one_standard_error_gives_fewer_edges(wine):
    best = GaussianBNLearnerCV(PENALTIES, cv=FOLDS).fit(wine)
    near = GaussianBNLearnerCV(PENALTIES, cv=FOLDS, rule="one-standard-error").fit(wine)
    assert near.penalty_ > best.penalty_
    assert near.dag_.number_of_edges() < best.dag_.number_of_edges()
    expected = GaussianBNLearner(penalty=near.penalty_).fit(wine)
    assert list(near.dag_.edges) == list(expected.dag_.edges)


@pytest.mark.usefixtures("two_blas_threads")
@pytest.mark.parametrize("backend", ["loky", "threading", "sequential"])
def test_any_backend_gives_the_same(wine, backend):
    alone = GaussianBNLearnerCV(PENALTIES, cv=FOLDS).fit(wine)
    with joblib.parallel_config(backend=backend):
        learner = GaussianBNLearnerCV(PENALTIES, cv=FOLDS, n_jobs=2).fit(wine)
    assert_same_results(learner, alone)


def test_local_scores_have_their_own_criterion(wine):
    scores = LocalScoreTransformer("aic", penalty=7.0).fit_transform(wine)
    learner = GaussianBNLearnerCV(PENALTIES, cv=FOLDS).fit(scores)
    alone = GaussianBNLearnerCV(PENALTIES, cv=FOLDS, criterion="aic").fit(wine)
    assert learner.penalty_ == alone.penalty_
    assert learner.network_score_ == alone.network_score_
    assert type(learner.criterion_).__name__ == "AIC"
    piped = make_pipeline(
        StandardScaler().set_output(transform="pandas"),
        LocalScoreTransformer(),
        GaussianBNLearnerCV(PENALTIES, cv=FOLDS),
    ).fit(wine)
    assert set(piped.predict(wine)) == set(wine.columns)
    with pytest.raises(ValueError, match=r"criterion='bic' was asked for.*made with criterion=AIC"):
        GaussianBNLearnerCV(criterion="bic").fit(scores)


def test_groups_go_to_the_splitter(wine):
    groups = np.arange(len(wine)) % 7
    with config_context(enable_metadata_routing=True):
        splitter = GroupKFold(4).set_split_request(groups=True)
        learner = GaussianBNLearnerCV(PENALTIES, cv=splitter).fit(wine, groups=groups)
        again = GaussianBNLearnerCV(PENALTIES, cv=splitter).fit_predict(wine, groups=groups)
        labelled = pd.Series(groups, index=wine.index).sort_values()
        shuffled = GaussianBNLearnerCV(PENALTIES, cv=splitter).fit(wine, groups=labelled)
    assert_same_results(shuffled, learner)
    assert list(again.edges) == list(learner.dag_.edges)
    splits = list(GroupKFold(4).split(wine, groups=groups))
    assert_same_results(learner, GaussianBNLearnerCV(PENALTIES, cv=splits).fit(wine))
    with config_context(enable_metadata_routing=True), pytest.raises(TypeError, match="groups"):
        GaussianBNLearnerCV(PENALTIES, cv=FOLDS).fit(wine, groups=groups)  # of which it has none


@pytest.mark.parametrize(
    ("penalties", "message"),
    [
        ([], "one or more numbers"),
        ([[1.0]], r"got \[1.0\]"),
        ([1.0, -2.0], "must be a number from 0 to .*; got -2.0"),
        ([1.0, np.nan], "got nan"),
        ([np.inf], "got inf"),
        (["much"], "got 'much'"),
        ([True], "got True"),
        (3.0, "'penalties' parameter"),
        (np.array(3.0), "one or more numbers"),
        ({1.0, 2.0}, "one or more numbers"),
        (pd.DataFrame([[0.5, 4.0]]), "one or more numbers"),  # which would yield 0 and 1
    ],
)
def test_penalties_that_are_refused(wine, penalties, message):
    raises(message, GaussianBNLearnerCV(penalties).fit, wine)


def test_what_else_is_refused(wine):
    single = [next(FOLDS.split(wine))]
    assert np.isnan(GaussianBNLearnerCV(cv=single).fit(wine).cv_results_["se_test_score"]).all()
    parents = np.empty((1, 0), dtype=np.int16)
    with pytest.raises(TypeError, match="ParentSetScores have no rows"):
        GaussianBNLearnerCV().fit(ParentSetScores(["a", "b"], [(parents, [0.0])] * 2))
    raises("collinear", GaussianBNLearnerCV().fit, wine.assign(again=wine["ash"]))


def test_small_tables_are_not_worth_threads(wine, monkeypatch, capsys):
    monkeypatch.undo()
    GaussianBNLearnerCV(PENALTIES, cv=FOLDS, n_jobs=2, verbose=True).fit(wine)
    assert "4 folds, 1 at a time" in capsys.readouterr().out
    monkeypatch.setattr(_held_out, "_FEWEST_ROWS", len(wine))
    GaussianBNLearnerCV(PENALTIES, cv=FOLDS, n_jobs=2, verbose=True).fit(wine)
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


def test_kinds_of_splits(wine):
    expected = GaussianBNLearnerCV(PENALTIES, cv=FOLDS).fit(wine)
    pairs = list(FOLDS.split(wine))
    for splits in (
        iter(pairs),
        [masks(*pair) for pair in pairs],
        [(tuple(train), list(test)) for train, test in pairs],
        [(train - len(wine), test) for train, test in pairs],
    ):
        assert_same_results(GaussianBNLearnerCV(PENALTIES, cv=splits).fit(wine), expected)


def test_masks_go_by_the_labels_of_the_rows(wine):
    expected = GaussianBNLearnerCV(PENALTIES, cv=FOLDS).fit(wine)
    table = wine.set_index(np.arange(len(wine))[::-1] + 1000)
    pairs = [masks(*pair) for pair in FOLDS.split(wine)]
    labelled = [[pd.Series(mask, index=table.index) for mask in pair] for pair in pairs]
    turned = [[mask.sort_index() for mask in pair] for pair in labelled]
    for X in (table, LocalScoreTransformer().fit_transform(table)):
        for splits in (labelled, turned):
            assert_same_results(GaussianBNLearnerCV(PENALTIES, cv=splits).fit(X), expected)
    with pytest.raises(ValueError, match=r"mask that cv yields has no value for the row .* 0"):
        GaussianBNLearnerCV(PENALTIES, cv=labelled).fit(wine)
    backwards = [[mask.set_axis(range(178)[::-1]) for mask in pair] for pair in labelled]
    with pytest.raises(ValueError, match=r"mask that cv yields.*another order"):
        GaussianBNLearnerCV(PENALTIES, cv=backwards).fit(wine.to_numpy())


class ByColumn(KFold):
    """Splits by the rows of a column, for which it needs the frame."""

    def split(self, X, y=None, groups=None):
        order = np.argsort(X["ash"].to_numpy(), kind="stable")
        for train, test in super().split(order):
            yield order[train], order[test]


def test_splitters_are_given_the_table_itself(wine):
    grid = GridSearchCV(GaussianBNLearner(), {"penalty": PENALTIES}, cv=ByColumn(4)).fit(wine)
    assert_same_as_grid_search(GaussianBNLearnerCV(PENALTIES, cv=ByColumn(4)).fit(wine), grid)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([], "yielded no splits"),
        ([(np.arange(100), np.arange(100, 179))], "from -178 to 177"),
        ([(np.arange(100), [-179])], "from -178 to 177"),
        ([(np.arange(100), [0.5])], r"got \[0.5\]"),
        ([(np.arange(100), [])], r"at least one row; got \[\]"),
        ([(np.ones(100, dtype=bool), [0])], "masks of all rows"),
        ([(None, [0])], "got None"),
        ([(np.arange(100), 3)], "got 3"),
        ([(np.arange(100), [0], [1])], "pairs"),
        ([5], "pairs.*got 5"),
    ],
)
def test_splits_that_are_refused(wine, cv, message):
    raises(message, GaussianBNLearnerCV(cv=cv).fit, wine)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("fold", [0, 3])
def test_an_error_of_a_fold_holds_no_tables(fold, n_jobs):
    rows = make_gaussian_network(14, n_samples=80, random_state=0)[0]
    rows[:, 13] = np.arange(80) // 20 == fold  # constant where this fold learns
    with pytest.raises(ValueError, match=r"learns from 60 rows.*Column 13 has zero") as caught:
        GaussianBNLearnerCV(PENALTIES, cv=KFold(4), n_jobs=n_jobs).fit(rows)
    error, left = caught.value, []
    while error is not None:
        trace, error = error.__traceback__, error.__context__
        while trace is not None:
            held = trace.tb_frame.f_locals.values()
            left += [v for v in held if isinstance(v, LocalScores | FamilyScorer)]
            trace = trace.tb_next
    assert not left


def test_a_fold_that_fails_stops_the_others(wine, monkeypatch):
    """One thread fails at once, and the other, in its first search, has dozens to go."""
    bad = wine.copy()
    bad["ash"] = np.arange(len(bad)) >= 100
    splits = [(np.arange(100), [150]), (np.arange(178), [0])]
    searches = []
    monkeypatch.setattr(engines, "exact_search", counted(engines.exact_search, searches))
    with pytest.raises(ValueError, match=r"learns from 100 rows.*'ash' has zero variance"):
        GaussianBNLearnerCV(np.linspace(1, 2, 500), cv=splits, n_jobs=2).fit(bad)
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
    GaussianBNLearnerCV(PENALTIES, cv=FOLDS, n_jobs=n_jobs).fit(scores)


def test_a_generator_of_splits_in_a_pipeline_with_routing(wine):
    expected = GaussianBNLearnerCV(PENALTIES, cv=FOLDS).fit(wine)
    with config_context(enable_metadata_routing=True):
        learner = GaussianBNLearnerCV(PENALTIES, cv=iter([*FOLDS.split(wine)]))
        make_pipeline(None, learner).fit(wine)
    assert_same_results(learner, expected)


def test_as_many_folds_at_a_time_as_the_memory_has_room_for(capsys):
    rows = make_gaussian_network(9, n_samples=60, random_state=0)[0]
    least = least_memory(9)
    results = []
    for limit, n_at_a_time in ((least, 1), (2 * least - 1, 1), (2 * least, 2)):
        learner = GaussianBNLearnerCV(
            [1, 3], cv=FOLDS, n_jobs=2, verbose=True, max_memory=limit
        ).fit(rows)
        assert f"4 folds, {n_at_a_time} at a time, of 2 searches each" in capsys.readouterr().out
        results.append(learner.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    with pytest.raises(ValueError, match="are allowed by max_memory"):
        GaussianBNLearnerCV(PENALTIES, cv=FOLDS, max_memory=1000).fit(rows)
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
    learner = GaussianBNLearnerCV(PENALTIES, cv=FOLDS, n_jobs=n_jobs).fit(wine)
    before = threading.active_count()
    with pytest.raises((RuntimeError, KeyboardInterrupt)):
        learner.set_callbacks(callback()).fit(wine)
    assert not hasattr(learner, "dag_")
    assert not hasattr(learner, "penalty_")
    assert not hasattr(learner, "cv_results_")
    end = time.monotonic() + 5  # threads that have been told to end may need a moment
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() <= before
    assert learner.set_callbacks().fit(wine).penalty_ > 0


@pytest.mark.filterwarnings("always::skbn.exceptions.PenaltyRangeWarning")
@pytest.mark.parametrize(
    ("penalties", "advice"),
    [
        ([0.1, 0.2], "0.2, is the largest of penalties.* Add larger ones"),
        ([0.1, 1000.0], None),  # no edge is left
        ([1.0], None),
        ([0.0, 0.0], None),
    ],
)
def test_the_end_of_the_penalties_is_warned_about(penalties, advice):
    table = np.random.default_rng(0).normal(size=(60, 5))
    expected = pytest.warns(PenaltyRangeWarning, match=advice) if advice else nullcontext()
    with expected:
        GaussianBNLearnerCV(penalties, cv=FOLDS).fit(table)

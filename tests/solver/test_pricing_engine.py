"""Branch and cut over all parent sets as an engine: against dynamic programs, and how it ends."""

import numpy as np
import pytest
from agreement import raises
from branch_and_cut_alone import without_dynamic_programs
from random_learners import random_learner
from sklearn.exceptions import ConvergenceWarning

from skbn import GaussianBNLearner
from skbn._branch_and_cut.column_generation import ColumnGeneration
from skbn._branch_and_cut.relaxation import Relaxation
from skbn._solver import planner
from skbn.datasets import make_gaussian_network


@pytest.fixture
def alone(monkeypatch):
    """Leave no engine but branch and cut over all parent sets."""
    without_dynamic_programs(monkeypatch)
    monkeypatch.setattr(planner, "plan_branch_and_cut", lambda *_: None)


def rows_of(m, seed, n=120):
    return make_gaussian_network(m, mean_degree=3, n_samples=n, random_state=seed)[0]


@pytest.mark.parametrize(
    ("criterion", "settings"),
    [
        ("bic", {}),
        ("ebic", {"exogenous": [0, 3]}),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("aic", {"penalty": 2.0, "required_edges": [(0, 1), (2, 1)]}),
                ("bic", {"forbidden_edges": [(0, 1), (1, 0), (2, 3)]}),
            )
        ),
        ("bic", {"tiers": [[0, 1, 2, 3], [4, 5, 6, 7]]}),
    ],
)
def test_the_network_scores_as_that_of_dynamic_programming(criterion, settings, alone, monkeypatch):
    X = rows_of(8, 1)
    weight = np.random.default_rng(0).uniform(0.5, 1.5, len(X))
    weight *= len(X) / weight.sum()
    learner = GaussianBNLearner(criterion, time_limit=120, random_state=0, **settings)
    found = learner.fit(X, sample_weight=weight)
    monkeypatch.undo()
    best = GaussianBNLearner(criterion, **settings).fit(X, sample_weight=weight)
    assert found.network_score_ == pytest.approx(best.network_score_, abs=1e-6)
    assert found.is_optimal_
    assert found.optimality_gap_ <= found.tol
    assert found.score_bound_ >= best.network_score_ - 1e-9


@pytest.mark.parametrize(
    ("criterion", "settings", "given"),
    [
        ("bic", {}, {}),
        ("ebic", {"exogenous": ["b"], "required_edges": [("a", "c")]}, {}),
        ("aic", {"penalty": 1.5}, {"interventions": ["a"] * 20 + ["c"] * 10 + [None] * 90}),
    ],
)
def test_nodes_of_several_columns(criterion, settings, given, alone, monkeypatch):
    X = rows_of(10, 2)
    nodes = {"a": [0, 1], "b": [2], "c": [3, 4, 5], "d": [6], "e": [7], "f": [8, 9]}
    settings = {"nodes": nodes, "time_limit": 120, **settings}
    found = GaussianBNLearner(criterion, random_state=0, **settings).fit(X, **given)
    monkeypatch.undo()
    best = GaussianBNLearner(criterion, **settings).fit(X, **given)
    assert found.network_score_ == pytest.approx(best.network_score_, abs=1e-6)
    assert found.is_optimal_


@pytest.mark.parametrize("exogenous", [None, [1, 4]])
def test_columns_that_were_set_are_scored_by_the_other_rows(exogenous, alone, monkeypatch):
    X = rows_of(8, 3)
    given = {"interventions": [None] * 80 + [(0,)] * 10 + [(2, 5)] * 20 + [(5, 6)] * 10}
    settings = {"exogenous": exogenous, "time_limit": 120}
    found = GaussianBNLearner(random_state=0, **settings).fit(X, **given)
    monkeypatch.undo()
    best = GaussianBNLearner(**settings).fit(X, **given)
    assert found.network_score_ == pytest.approx(best.network_score_, abs=1e-6)
    assert found.is_optimal_


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_random_tables_and_settings(seed, alone, monkeypatch):
    X, settings, given = random_learner(np.random.default_rng(seed), most=12)
    found = GaussianBNLearner(time_limit=120, random_state=0, **settings).fit(X, **given)
    monkeypatch.undo()
    best = GaussianBNLearner(**settings).fit(X, **given)
    assert found.network_score_ == pytest.approx(best.network_score_, abs=1e-6)
    assert found.is_optimal_


@pytest.mark.slow
def test_forty_columns_are_proven_without_a_limit_on_parents():
    X = make_gaussian_network(40, mean_degree=1, n_samples=400, random_state=0)[0]
    learner = GaussianBNLearner("ebic", time_limit=300, random_state=0).fit(X)
    assert learner.is_optimal_
    of_few = GaussianBNLearner("ebic", max_parents=2).fit(X)
    assert learner.network_score_ >= of_few.network_score_ - 1e-6
    again = GaussianBNLearner("ebic", time_limit=300, random_state=0, n_jobs=2).fit(X[:, ::-1])
    assert again.network_score_ == pytest.approx(learner.network_score_, abs=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_a_bound_without_lists_holds(seed, alone, monkeypatch):
    monkeypatch.setattr(ColumnGeneration, "_list", lambda _: None)
    X = rows_of(9, seed, 60)
    learner = GaussianBNLearner("aic", penalty=0.7, time_limit=120, random_state=0).fit(X)
    monkeypatch.undo()
    best = GaussianBNLearner("aic", penalty=0.7).fit(X)
    assert learner.score_bound_ >= best.network_score_ - 1e-6
    assert learner.network_score_ >= best.network_score_ - learner.optimality_gap_ - 1e-6


def test_lists_that_take_all_memory_end_the_search_with_its_gap(alone, monkeypatch):
    monkeypatch.setattr(Relaxation, "n_bytes", 1 << 40)
    X = rows_of(9, 1, 60)
    message = r"ended, when families and cuts took all memory .* nats higher\. Raise max_memory if"
    with pytest.warns(ConvergenceWarning, match=message):
        learner = GaussianBNLearner("aic", time_limit=120, random_state=0).fit(X)
    monkeypatch.undo()
    best = GaussianBNLearner("aic").fit(X)
    assert not learner.is_optimal_
    assert 0 < learner.optimality_gap_ < np.inf
    assert learner.score_bound_ >= best.network_score_ - 1e-6


def test_without_a_time_limit_the_refusal_names_it():
    X = np.random.default_rng(0).normal(size=(60, 40))
    raises("Set time_limit, to 600 seconds for example", GaussianBNLearner().fit, X)
    raises(r"^((?!time_limit).)*$", GaussianBNLearner("bge").fit, X)


def test_what_cannot_be_priced_is_named():
    X = np.random.default_rng(0).normal(size=(60, 40))
    with pytest.raises(ValueError, match="A time_limit alone is enough for the BIC, AIC, EBIC or"):
        GaussianBNLearner("bge", time_limit=5).fit(X)


def test_near_optimal_networks_are_refused_with_the_reason(alone):
    learner = GaussianBNLearner(time_limit=60).fit(rows_of(5, 0))
    with pytest.raises(ValueError, match=r"cannot list those that score nearly as high\.$"):
        learner.near_optimal()


def test_columns_that_are_nearly_collinear_are_named(alone):
    X = rows_of(8, 0)
    X[:, 5] = X[:, 2] + 2e-6 * X[:, 5]
    with pytest.raises(ValueError, match=r"^Column [25] is so nearly a combination of others"):
        GaussianBNLearner(time_limit=60).fit(X)


def test_a_gap_says_what_rounding_may_hide(alone, monkeypatch):
    X = rows_of(6, 0)
    X[:, 5] = X[:, 2] + 1e-3 * X[:, 5]
    found = GaussianBNLearner(time_limit=60, tol=1e-3, random_state=0).fit(X)
    monkeypatch.undo()
    best = GaussianBNLearner().fit(X)
    assert found.network_score_ == pytest.approx(best.network_score_, abs=1e-3)
    assert 1e-6 < found.optimality_gap_ <= 1e-3

"""Learners with search="order": parameters, what they tell of the proof, and what they refuse."""

import time

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from agreement import raises
from numpy.testing import assert_allclose, assert_array_equal
from random_constraints import is_allowed
from random_learners import random_learner
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import KFold

import skbn
from skbn._core.graphs import parent_masks
from skbn._solver.order_engine import OrderGroupSearch
from skbn.datasets import make_gaussian_network

FOLDS = KFold(3, shuffle=True, random_state=0)


def order_learner(**settings):
    return skbn.GaussianBNLearner(**{"search": "order", "random_state": 0} | settings)


@pytest.fixture
def searched(monkeypatch):
    """The seed and the deadline of each order search."""
    searches, optimum = [], OrderGroupSearch.optimum

    def recording(search, problem, resources):
        searches.append((search._settings.seed, resources.deadline))
        return optimum(search, problem, resources)

    monkeypatch.setattr(OrderGroupSearch, "optimum", recording)
    return searches


# Attributes


def test_an_exact_search_and_one_without_a_choice_prove_their_network(rows):
    every = [(a, b) for a in range(6) for b in range(6) if a != b]
    for learner in (skbn.GaussianBNLearner(random_state=0), order_learner(forbidden_edges=every)):
        assert learner.fit(rows).is_optimal_ is True
        assert learner.score_bound_ == learner.network_score_
        assert learner.optimality_gap_ == learner.n_iter_ == 0


def test_an_order_search_proves_nothing_and_ranks_its_starts(rows):
    learner = order_learner().fit(rows)
    assert learner.is_optimal_ is False
    assert learner.score_bound_ == learner.optimality_gap_ == np.inf
    assert isinstance(learner.n_iter_, int)
    assert learner.n_iter_ >= 0
    exact = skbn.GaussianBNLearner().fit(rows)
    assert learner.network_score_ <= exact.network_score_ + 1e-6
    scores = skbn.LocalScoreTransformer().fit_transform(rows)
    assert learner.network_score_ == pytest.approx(scores.network_score(learner.dag_), abs=1e-6)
    assert nx.is_directed_acyclic_graph(learner.dag_)
    assert exact.start_scores_ is None
    assert learner.start_scores_.shape == (12,)
    assert learner.start_scores_[0] == learner.network_score_
    assert (np.diff(learner.start_scores_) <= 0).all()
    # Of so few columns most starts find the optimum.
    assert learner.start_scores_[3] == pytest.approx(learner.network_score_, abs=1e-3)
    cv = skbn.GaussianBNLearnerCV([1], cv=FOLDS, search="order", random_state=0).fit(rows)
    assert_array_equal(cv.start_scores_, learner.start_scores_)


def with_losses(monkeypatch, *losses):
    """Let the starts of one search after another end this far below the best."""
    left, optimum = iter(losses), OrderGroupSearch.optimum

    def planned(search, *given):
        return optimum(search, *given)._replace(start_losses=next(left))

    monkeypatch.setattr(OrderGroupSearch, "optimum", planned)


def test_starts_of_tiers_are_added_up_by_rank(rows, monkeypatch):
    with_losses(monkeypatch, (0.0, 1.0), (0.0, 0.5, 4.0))
    learner = order_learner(tiers=[[0], range(1, 3), range(3, 6)]).fit(rows)
    ranked = learner.network_score_ - np.array([0.0, 1.5, 5.0])
    np.testing.assert_allclose(learner.start_scores_, ranked)


def test_a_warning_says_if_one_start_alone_came_near_its_network(rows, monkeypatch):
    near, apart = (0.0, 2.9, 3.9), (0.0, 3.25, 4.25)
    with_losses(monkeypatch, *2 * [near, apart], *7 * [apart])
    for given in (rows, skbn.LocalScoreTransformer().fit_transform(rows)):
        order_learner().fit(given)
        message = r"Of 3 starts .* one alone .* 3\.25 nats below it.* fit with other values"
        with pytest.warns(ConvergenceWarning, match=message) as told:
            learner = order_learner().fit(given)
        assert told[0].filename == __file__
        ranked = learner.network_score_ - np.array(apart)
        np.testing.assert_allclose(learner.start_scores_, ranked)
    with pytest.warns(ConvergenceWarning, match="Of 3 starts") as told:
        skbn.GaussianBNLearnerCV([1], cv=FOLDS, search="order", random_state=0).fit(rows)
    assert [each.filename for each in told] == [__file__]


# Seeds


def test_without_a_seed_numpys_own_generator_draws_one(rows, searched):
    state = np.random.RandomState(3)
    for _ in range(2):
        order_learner(random_state=state).fit(rows)
    np.random.seed(3)  # noqa: NPY002
    order_learner(random_state=None).fit(rows)
    first, second, of_numpy = (seed for seed, _ in searched)
    assert first == of_numpy != second


def test_an_exact_search_draws_nothing_unless_it_is_told_to(rows):
    np.random.seed(3)  # noqa: NPY002
    skbn.GaussianBNLearner().fit(rows)
    drawn = np.random.randint(2**31)  # noqa: NPY002
    assert drawn == np.random.RandomState(3).randint(2**31)


def test_resamples_are_searched_with_the_seed_of_the_estimator(rows, searched):
    learner = order_learner(random_state=7, time_limit=600)
    one, two = (
        skbn.BootstrapBNLearner(learner, n_resamples=2, random_state=1, n_jobs=n_jobs).fit(rows)
        for n_jobs in (1, 2)
    )
    assert len(searched) == 2 * (1 + 2)
    assert len({seed for seed, _ in searched}) == 1
    for a, b in zip(one.networks_, two.networks_, strict=True):
        assert_array_equal(a.coef_, b.coef_)
    assert one.estimator_.is_optimal_ is False


def test_resamples_are_searched_from_the_network_of_all_rows_on(rows, monkeypatch):
    starts, found, optimum = [], [], OrderGroupSearch.optimum

    def recording(search, *given):
        starts.append(search._settings.start)
        return optimum(search, *given)

    monkeypatch.setattr(OrderGroupSearch, "optimum", recording)
    for from_all_rows in (True, False):
        settings = {"n_resamples": 2, "random_state": 1, "from_all_rows": from_all_rows}
        found.append(skbn.BootstrapBNLearner(order_learner(), **settings).fit(rows))
    own = parent_masks(found[0].estimator_.dag_)
    assert starts == [None, (*own,), (*own,), None, None, None]
    # Of so few columns both ways lead to the best network.
    assert_allclose(found[0].edge_support_, found[1].edge_support_)


# Time limits


def test_groups_share_the_time(rows, searched):
    start = time.monotonic()
    tiers = [range(3), range(3, 6)]
    learner = order_learner(tiers=tiers, time_limit=60).fit(rows)
    first, second = (deadline for _, deadline in searched)
    assert start + 30 <= first <= time.monotonic() + 30
    assert start + 60 <= second <= time.monotonic() + 60
    tier = {x: x >= 3 for x in range(6)}
    assert all(tier[a] <= tier[b] for a, b in learner.dag_.edges)


def test_each_search_of_a_fold_has_the_time(rows, searched):
    learner = skbn.GaussianBNLearnerCV(
        [1, 4], cv=FOLDS, search="order", time_limit=60, random_state=0
    ).fit(rows)
    assert len({deadline for _, deadline in searched}) == 2 * 3 + 1
    assert len({seed for seed, _ in searched}) == 1
    assert learner.is_optimal_ is False


# Errors


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"search": "orders"}, r"'search' .* a str among \{'exact', 'order'\}\. Got 'orders'"),
        ({"search": None}, r"'search' parameter of .* among \{'exact', 'order'\}\. Got None"),
        *(
            ({"time_limit": x}, rf"'time_limit' .* range \(0\.0, inf\) or None\. Got {x!r}")
            for x in (0, -1.5, np.inf, np.nan, "60")
        ),
    ],
)
def test_parameters_that_are_wrong(rows, settings, message):
    for estimator in (order_learner(), skbn.GaussianBNLearnerCV(search="order")):
        estimator.set_params(**settings)
        for error in (ValueError, TypeError):
            raises(message, estimator.fit, rows, kind=error)


def test_families_of_which_no_network_consists():
    both = [([[1]], [0.0]), ([[0]], [0.0])]  # each column needs the other
    message = r"There is no acyclic network of the columns \['a', 'b'\]"
    raises(message, order_learner().fit, skbn.ParentSetScores(["a", "b"], both))


def test_a_list_of_networks_does_not_name_an_order_search(rows, monkeypatch):
    learner = skbn.GaussianBNLearner(max_memory=1e9).fit(rows)
    learner.set_params(max_memory=1000)
    with pytest.raises(ValueError, match=r"are allowed by max_memory\. Raise max_memory") as error:
        learner.near_optimal()
    assert "order" not in str(error.value)


def test_near_optimal_networks_need_a_proof(rows):
    learner = order_learner()
    with pytest.raises(NotFittedError):
        learner.near_optimal()
    learner.fit(rows).set_params(search="exact")  # which it was not fitted with
    raises(r'does not prove which .* Fit with search="exact"', learner.near_optimal, 2)
    learner.fit(rows).set_params(search="order")
    assert len(learner.near_optimal(2)) == 2
    cv = skbn.GaussianBNLearnerCV([1, 2], cv=2, search="order", random_state=0).fit(rows)
    raises("does not prove which networks are near-optimal", cv.near_optimal)


# Scores, constraints and scikit-learn


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(8))
def test_with_a_limit_on_parents_all_kinds_of_scores_lead_to_the_best_network(seed):
    """Nodes, interventions, weights, constraints and sums of tables, as the proof has it."""
    rng = np.random.default_rng(seed)
    rows, settings, given = random_learner(rng, most=8)
    least = max(1, settings.get("max_parents", 1))
    settings["max_parents"] = int(rng.integers(least, least + 2))
    scores, of_scores = rows, {}
    names = ("criterion", "penalty", "nodes", "max_parents")
    if seed % 4 == 0:
        of_scores = {name: settings.pop(name) for name in names if name in settings}
        table, given = skbn.LocalScoreTransformer(**of_scores).fit_transform(rows), {}
        is_first = np.arange(len(rows)) % 2 == 0
        scores = table[is_first] + table[~is_first]
    best, found = (
        skbn.GaussianBNLearner(search=search, random_state=0, **settings).fit(scores, **given)
        for search in ("exact", "order")
    )
    assert found.network_score_ == pytest.approx(best.network_score_, abs=1e-6)
    for x in set(found.dag_) - set(settings.get("exogenous", ())):
        assert is_allowed(x, list(found.dag_.predecessors(x)), settings | of_scores)


@pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")
def test_more_columns_than_rows_need_a_limit_on_parents_only():
    """Families of up to 12 of 31 columns are too many to list."""
    rows = make_gaussian_network(31, n_samples=40, random_state=0)[0]
    table = pd.DataFrame(rows).rename(columns=str).assign(batch=list("abcab") * 8)
    given = {"interventions": [("3",) if i < 9 else None for i in range(40)]}
    learner = order_learner(criterion="ebic", max_parents=12, nodes="auto", exogenous=["batch"])
    network = learner.fit(table, **given).network_
    assert dict(network.dag.in_degree())["batch"] == 0
    assert max(dict(network.dag.in_degree()).values()) <= 12
    assert network.dag.number_of_edges() > 10


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_candidates_of_many_nodes(monkeypatch):
    """With few candidates listed, single edges still lead nearly as high as a list of all."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(80, 6)) @ np.triu(rng.normal(size=(6, 6)))
    given = {"interventions": [(2,) if i % 3 == 0 else None for i in range(80)]}
    best = skbn.GaussianBNLearner().fit(rows, **given)
    monkeypatch.setattr("skbn._solver.candidate_families.ORDER_SETS", (8, 0))
    found = skbn.GaussianBNLearner(search="order", random_state=0).fit(rows, **given)
    assert found.network_score_ <= best.network_score_ + 1e-6
    assert found.network_score_ > best.network_score_ - 10


def test_a_network_that_time_ran_out_for_is_not_certified_as_settled(rows, monkeypatch):
    monkeypatch.setattr("skbn._solver.order_engine._SECONDS_TO_SETTLE", -1.0)
    learner = order_learner(time_limit=1e-9).fit(rows)
    settled = order_learner().fit(rows)
    assert learner.network_score_ <= settled.network_score_
    score = skbn.LocalScoreTransformer().fit_transform(rows).network_score(learner.network_)
    assert score == pytest.approx(learner.network_score_, abs=1e-8)
    assert not learner.is_optimal_

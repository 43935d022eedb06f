"""Learners whose network branch and cut proves: parameters, attributes, warnings and refusals."""

import itertools
import pickle
import signal
import time

import networkx as nx
import numpy as np
import pytest
from agreement import raises, warned_by
from branch_and_cut_alone import result, unfinished, without_dynamic_programs
from problems import problem, resources
from recording_callbacks import interrupt
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

import skbn
from skbn import BootstrapBNLearner, GaussianBNLearner, GaussianBNLearnerCV, LocalScoreTransformer
from skbn._estimators.learner_cv import searches_at_a_time
from skbn._solver import branch_engine, order_engine, planner, pricing_engine
from skbn._solver.branch_engine import branch_and_cut_bytes
from skbn.datasets import make_gaussian_network

FOLDS = KFold(2, shuffle=True, random_state=0)
PROOF = {"is_optimal_", "score_bound_", "optimality_gap_", "n_iter_", "n_nodes_", "start_scores_"}


@pytest.fixture(scope="module")
def wide():
    return make_gaussian_network(36, n_samples=200, random_state=0)[0]


@pytest.fixture
def ended(monkeypatch):
    """Branch and cut takes all columns, and is ended before it proves anything."""
    without_dynamic_programs(monkeypatch)
    monkeypatch.setattr(branch_engine, "branch_and_cut", unfinished)


def with_gap(monkeypatch, gap, **more):
    """Let branch and cut prove the incumbent up to a gap."""

    def search(families, incumbent, **_):
        return result(families, incumbent, gap, 7, **more)

    without_dynamic_programs(monkeypatch)
    monkeypatch.setattr(branch_engine, "branch_and_cut", search)


# Attributes


def test_a_finished_search_proves_its_network(rows, monkeypatch, capsys):
    expected = GaussianBNLearner(max_parents=3).fit(rows)
    without_dynamic_programs(monkeypatch)
    learner = GaussianBNLearner(max_parents=3, verbose=True).fit(rows)
    plan = "[GaussianBNLearner] branch and cut over 6 columns: about "
    assert capsys.readouterr().out.startswith(plan)
    assert learner.network_score_ == pytest.approx(expected.network_score_, abs=1e-6)
    assert learner.is_optimal_ is True
    assert 0 <= learner.optimality_gap_ <= learner.tol
    assert learner.n_iter_ == 0
    assert learner.network_score_ <= learner.score_bound_ <= learner.network_score_ + 1e-6
    assert learner.n_nodes_ >= 1
    assert learner._shown_note() == ""
    assert expected.n_nodes_ == 0


def test_an_ended_search_tells_its_gap(rows, monkeypatch):
    best = GaussianBNLearner(max_parents=3).fit(rows)
    with_gap(monkeypatch, 12.345678, is_finished=False)
    ended = "The time limit ended the search."
    message = rf"score up to 12\.3 nats higher\. {ended} Raise time_limit, lower max_parents"
    with pytest.warns(ConvergenceWarning, match=message) as record:
        learner = GaussianBNLearner(max_parents=3, time_limit=100).fit(rows)
    assert record[0].filename == __file__
    assert learner.is_optimal_ is False
    assert learner.optimality_gap_ == pytest.approx(12.345678)
    bound = learner.network_score_ + learner.optimality_gap_
    assert learner.score_bound_ == pytest.approx(bound, rel=1e-15)
    assert learner.score_bound_ >= best.network_score_
    assert learner.n_nodes_ == 7
    scope = "among networks of at most 3 parents"
    note = f"Not proven optimal: at most 12.3 nats below the best {scope}. {ended}"
    assert learner._shown_note() == note
    assert note in learner._repr_mimebundle_()["text/html"]
    again = pickle.loads(pickle.dumps(learner))
    assert all(getattr(again, name) == getattr(learner, name) for name in PROOF)
    assert not any(hasattr(clone(learner), name) for name in PROOF)


def test_a_network_within_tol_is_called_optimal(rows, monkeypatch):
    with_gap(monkeypatch, 0.75, is_finished=True)
    learner = GaussianBNLearner(max_parents=3, tol=1.0).fit(rows)
    assert learner.is_optimal_ is True
    assert learner.optimality_gap_ == pytest.approx(0.75)
    with_gap(monkeypatch, 1e-9, is_finished=True)
    gap = GaussianBNLearner(max_parents=3).fit(rows).optimality_gap_
    assert gap == pytest.approx(1e-9, abs=1e-14)


def test_time_limits_leave_dynamic_programming_alone_and_a_moment_is_enough(rows, monkeypatch):
    learner = GaussianBNLearner(time_limit=1e-9).fit(rows)
    assert learner.is_optimal_ is True
    assert learner.network_score_ == GaussianBNLearner().fit(rows).network_score_
    without_dynamic_programs(monkeypatch)
    learner.set_params(max_parents=2)
    warned_by(learner.fit, rows)  # or it is proven all the same
    assert nx.is_directed_acyclic_graph(learner.dag_)
    assert learner.score_bound_ >= learner.network_score_


# A known order


@pytest.mark.parametrize("seed", range(4))
def test_small_groups_are_priced_as_dynamic_programming_finds_them(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    rows = make_gaussian_network(9, n_samples=60, random_state=seed)[0]
    tiers = np.array_split(rng.permutation(9), rng.integers(2, 10))
    pairs = itertools.combinations(tiers, 2)
    against = [(b, a) for first, later in pairs for b in later.tolist() for a in first.tolist()]
    knowledge = [{"tiers": tiers}, {"forbidden_edges": against}][seed % 2]
    settings = {"criterion": ["bic", "aic"][seed // 2], "n_jobs": 1 + seed % 2, **knowledge}
    expected = GaussianBNLearner(**settings).fit(rows)
    monkeypatch.setattr(planner, "_SHORT", -1.0)
    learner = GaussianBNLearner(**settings).fit(rows)
    assert learner.is_optimal_
    assert learner.network_score_ == pytest.approx(expected.network_score_, abs=1e-6)
    assert learner.score_bound_ >= expected.network_score_ - 1e-9


def test_a_known_order_needs_neither_time_nor_memory(wide):
    order = np.random.default_rng(0).permutation(36).tolist()
    settings = {"tiers": [[x] for x in order], "max_memory": "400MB"}
    learner = GaussianBNLearner(**settings).fit(wide)
    assert learner.is_optimal_
    # No parent can be added, taken away or exchanged.
    scores = LocalScoreTransformer().fit_transform(wide)
    for x in order[-3:]:
        parents = {*learner.dag_.predecessors(x)}
        best = scores.local_score(x, sorted(parents))
        for z in order[: order.index(x)]:
            for y in [None, *parents]:
                other = sorted((parents ^ {z}) - ({y} - {z}))
                assert scores.local_score(x, other) <= best + 1e-6


def test_all_order_searches_come_before_the_first_proof(rows, monkeypatch):
    calls, optimum = [], order_engine.OrderGroupSearch.optimum

    def by_orders(search, problem, resources):
        calls.append("orders")
        return optimum(search, problem, resources)

    def proof(families, incumbent, **_):
        calls.append("proof")
        return unfinished(families, incumbent)

    without_dynamic_programs(monkeypatch)
    monkeypatch.setattr(order_engine.OrderGroupSearch, "optimum", by_orders)
    monkeypatch.setattr(branch_engine, "branch_and_cut", proof)
    with pytest.warns(ConvergenceWarning):
        GaussianBNLearner(max_parents=3, tiers=[[0, 1, 2], [3, 4, 5]], time_limit=100).fit(rows)
    assert calls == ["orders", "orders", "proof", "proof"]


# Parameters


@pytest.mark.parametrize("tol", [0, -1.0, np.inf, np.nan, "1", None])
def test_tolerances_that_are_wrong(rows, tol):
    for estimator in (GaussianBNLearner(tol=tol), GaussianBNLearnerCV(tol=tol)):
        raises(r"'tol' parameter .* in the range \(0\.0, inf\)", estimator.fit, rows)


@pytest.mark.slow
def test_no_seed_changes_the_score(rows, monkeypatch):
    seeds, search = [], branch_engine.branch_and_cut

    def recording(families, incumbent, *, seed, **settings):
        seeds.append(seed)
        return search(families, incumbent, seed=seed, **settings)

    without_dynamic_programs(monkeypatch)
    monkeypatch.setattr(branch_engine, "branch_and_cut", recording)
    learners = [
        GaussianBNLearner(max_parents=3, random_state=state).fit(rows)
        for state in (None, None, 3, 3, np.random.RandomState(4))
    ]
    assert len({round(learner.network_score_, 5) for learner in learners}) == 1
    assert seeds[0] == seeds[1]
    assert seeds[2] == seeds[3]
    assert len({*seeds}) == 3


def test_ctrl_c_keeps_the_best_network_only_with_a_limit(rows, monkeypatch):
    def search(families, incumbent, *, ends_on_interrupt, **_):
        if not ends_on_interrupt:
            signal.raise_signal(signal.SIGINT)
        return unfinished(families, incumbent)

    without_dynamic_programs(monkeypatch)
    monkeypatch.setattr(branch_engine, "branch_and_cut", search)
    learner = GaussianBNLearner(max_parents=3)
    with pytest.raises(KeyboardInterrupt):
        learner.fit(rows)
    assert not hasattr(learner, "dag_")
    with pytest.warns(ConvergenceWarning):
        learner.set_params(time_limit=1000).fit(rows)
    assert learner.is_optimal_ is False


def test_ctrl_c_in_the_order_search_ends_the_proof_too(rows, monkeypatch):
    def search(families, incumbent, *, deadline, **_):
        assert deadline <= time.monotonic()
        return unfinished(families, incumbent)

    without_dynamic_programs(monkeypatch)
    monkeypatch.setattr(order_engine.OrderSearch, "_iterate", interrupt)
    monkeypatch.setattr(branch_engine, "branch_and_cut", search)
    with pytest.warns(ConvergenceWarning):
        learner = GaussianBNLearner(max_parents=3, time_limit=1000).fit(rows)
    assert nx.is_directed_acyclic_graph(learner.dag_)
    with pytest.raises(KeyboardInterrupt):
        learner.set_params(time_limit=None).fit(rows)


# Cross-validation and resamples


def test_a_penalty_chosen_by_branch_and_cut(rows, monkeypatch):
    settings = {"penalties": [0.5, 4.0], "cv": FOLDS, "max_parents": 2}
    expected = GaussianBNLearnerCV(**settings).fit(rows)
    without_dynamic_programs(monkeypatch)
    learner = GaussianBNLearnerCV(**settings).fit(rows)
    assert learner.penalty_ == expected.penalty_
    assert learner.network_score_ == pytest.approx(expected.network_score_, abs=1e-6)
    for name in ("mean_test_score", "mean_n_edges"):
        np.testing.assert_allclose(learner.cv_results_[name], expected.cv_results_[name], rtol=1e-5)
    assert learner.is_optimal_ is True
    assert learner.n_nodes_ >= 1


@pytest.mark.parametrize("how", ["columns", "nodes", "interventions"])
def test_it_tells_how_well_columns_explain_each_other(how, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(150, 6)) @ rng.normal(size=(6, 6))
    node_of = np.array([0, 0, 1, 1, 1, 2] if how == "nodes" else range(6))
    counts = np.ones(rows.shape, dtype=bool)
    if how == "interventions":
        counts[:40, 0] = counts[20:90, 3] = False
    given = {} if counts.all() else {"interventions": ~counts}
    shares = []
    for x in range(6):
        parents = np.flatnonzero(node_of != node_of[x])
        own = rows[counts[:, x]] - rows[counts[:, x]].mean(axis=0)
        left = own[:, x] - own[:, parents] @ np.linalg.lstsq(own[:, parents], own[:, x])[0]
        shares.append(1 - left @ left / (own[:, x] @ own[:, x]))
    with_gap(monkeypatch, 1.0, is_finished=False)
    learner = GaussianBNLearner(max_parents=2, verbose=True)
    if how == "nodes":
        learner.set_params(nodes={"a": [0, 1], "b": [2, 3, 4], "c": [5]})
    record = warned_by(learner.fit, rows, **given)
    expected = f"ll other columns explain a median of {100 * np.median(shares):.0f} % of a column's"
    assert any(expected in str(each.message) for each in record)
    assert expected in capsys.readouterr().out


def test_no_time_for_a_bound_is_told(monkeypatch):
    rows = make_gaussian_network(12, n_samples=100, random_state=0)[0]
    without_dynamic_programs(monkeypatch)
    monkeypatch.setattr(pricing_engine, "_SECONDS_OF_PRODUCTS", 1.0)
    message = "how much higher another one may score is not known"
    with pytest.warns(ConvergenceWarning, match=message):
        learner = GaussianBNLearner(time_limit=5.0).fit(rows)
    ordered = GaussianBNLearner(search="order", random_state=0).fit(rows)
    assert learner.network_score_ == pytest.approx(ordered.network_score_)
    assert (learner.is_optimal_, learner.optimality_gap_) == (False, np.inf)
    assert (learner.start_scores_, learner.n_iter_) == (None, 0)
    assert "no bound for the best over all networks. A first bound over 12 " in learner.summary()
    raises("not known after time_limit=5 seconds", learner.near_optimal, 2)


@pytest.mark.usefixtures("ended")
def test_folds_that_are_not_proven_are_counted(rows):
    with pytest.warns(ConvergenceWarning) as record:
        learner = GaussianBNLearnerCV([1.0, 4.0], cv=FOLDS, max_parents=2).fit(rows)
    told = [str(each.message) for each in record if each.category is ConvergenceWarning]
    assert len(told) == 2
    assert told[0].startswith("4 searches of folds ended before they proved")
    assert told[1].startswith("The search ended before it proved")
    assert {each.filename for each in record} == {__file__}
    assert learner.is_optimal_ is False


@pytest.mark.usefixtures("ended")
def test_resamples_are_searched_in_the_same_way(rows):
    learner = GaussianBNLearner(max_parents=2)
    bootstrap = BootstrapBNLearner(learner, n_resamples=3, random_state=0)
    assert len(warned_by(bootstrap.fit, rows)) == 1
    assert bootstrap.estimator_.is_optimal_ is False
    assert len(bootstrap.networks_) == 3


def test_searches_at_the_same_time_do_not_leave_dynamic_programming():
    rows = make_gaussian_network(24, n_samples=200, random_state=0)[0]
    scores = LocalScoreTransformer(max_parents=2).fit_transform(rows)
    few = problem(scores)
    (group,) = few.constraints.groups
    given = resources(400_000_000)  # of which a dynamic program takes at least 134 million
    assert branch_and_cut_bytes(few.read(), group, None) < given.share(4).available
    assert searches_at_a_time(few, given, 4, 4) == 2


# What needs a dynamic program


def test_lists_and_posteriors_are_refused(wide, monkeypatch):
    with_gap(monkeypatch, 0.0, is_finished=True)
    learner = GaussianBNLearner(max_parents=2).fit(wide)
    raises(r"36 columns needs .* time_limit, .* branch and cut then lists", learner.near_optimal)
    learner = GaussianBNLearner("bge", max_parents=2).fit(wide)
    raises(r"36 columns needs .*cannot list those .* as high\.$", learner.near_optimal)
    posterior = skbn.GaussianBNPosterior(max_parents=2)
    message = r"The posterior of 36 columns .* needs .*\. Set method .*, or set tiers"
    raises(message, posterior.fit, wide)


def test_without_highspy_it_says_how_to_install_it(wide, rows, monkeypatch):
    monkeypatch.setattr(branch_engine, "find_spec", lambda name: None)
    for estimator in (
        GaussianBNLearner(max_parents=2),
        GaussianBNLearnerCV([1.0], cv=2, max_parents=2),
    ):
        raises(r"`pip install highspy`\. Or set search=", estimator.fit, wide, kind=ImportError)
        estimator.fit(rows)

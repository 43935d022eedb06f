"""Branch and cut as an engine: against dynamic programming, and what it makes of each result."""

import itertools
from dataclasses import replace

import branch_and_cut_alone
import networkx as nx
import numpy as np
import pytest
from agreement import raises
from branch_and_cut_alone import random_lists, result, unfinished, without_dynamic_programs
from problems import problem, resources
from random_constraints import random_constraints
from random_learners import random_learner
from sklearn.exceptions import ConvergenceWarning

from skbn import GaussianBNLearner, LocalScoreTransformer, ParentSetScores
from skbn._branch_and_cut import near_networks
from skbn._branch_and_cut.column_generation import ColumnGeneration
from skbn._branch_and_cut.relaxation import Relaxation
from skbn._core.subsets import members_of
from skbn._solver import branch_engine, planner
from skbn._solver.branch_engine import undominated
from skbn._solver.engines import SearchSettings
from skbn._solver.planner import plan_searches
from skbn._solver.solve import solve
from skbn.datasets import make_gaussian_network


def scores_of(m, max_parents=3, seed=0, criterion="bic"):
    rows = make_gaussian_network(m, mean_degree=3, n_samples=150, random_state=seed)[0]
    return LocalScoreTransformer(criterion, max_parents=max_parents).fit_transform(rows)


def solved(scores, settings=None, given=None, **knowledge):
    given, settings = given or resources(), settings or SearchSettings()
    return solve(problem(scores, **knowledge), given, settings)[0]


@pytest.fixture
def calls(monkeypatch):
    """The families and incumbents that branch and cut is given, and its other arguments."""
    seen, search = [], branch_engine.branch_and_cut

    def recording(families, incumbent, **settings):
        seen.append((families, incumbent, settings))
        return search(families, incumbent, **settings)

    monkeypatch.setattr(branch_engine, "branch_and_cut", recording)
    return seen


def give(monkeypatch, search):
    """Let another function take the place of branch and cut."""
    without_dynamic_programs(monkeypatch)
    monkeypatch.setattr(branch_engine, "branch_and_cut", search)


# What it is given


def test_it_starts_from_the_network_of_the_order_search(monkeypatch, calls):
    scores = scores_of(8)
    by_orders = solved(scores, SearchSettings(is_exact=False))
    without_dynamic_programs(monkeypatch)
    solved(scores)
    ((families, incumbent, _),) = calls
    best = sum(
        branch_and_cut_alone.best_by_subsets(
            [y for y in range(8) if y != x], 3, lambda s, x=x: scores.local_score(x, s)
        )
        for x in range(8)
    )
    above_best = (families.cost[incumbent] - families.cost[families.start[:-1]]).sum()
    assert best - above_best == pytest.approx(by_orders.score, abs=1e-6)


def test_groups_share_the_time_and_add_up(monkeypatch):
    deadlines = []

    def search(families, incumbent, *, deadline, **_):
        deadlines.append(deadline)
        return result(families, incumbent, 2.0, 3)

    give(monkeypatch, search)
    tiers = [[0, 1, 2], [3, 4, 5]]
    found = solved(scores_of(6), given=resources(time_limit=1000.0), tiers=tiers)
    assert deadlines[1] - deadlines[0] == pytest.approx(500, abs=20)
    assert found.n_nodes == 6
    assert not found.is_optimal
    assert found.gap <= 4.0 + 1e-9
    assert found.score_bound == pytest.approx(found.score + found.gap, rel=1e-15)


# What it makes of results


@pytest.mark.parametrize("kind", ["rows", "lists"])
def test_a_network_that_is_not_proven_is_climbed_from(monkeypatch, kind):
    scores = scores_of(8) if kind == "rows" else random_lists(np.random.default_rng(0), 8)
    best = solved(scores)

    def empty(families, incumbent, **_):
        is_empty = (families.parents < 0).all(axis=1)
        return unfinished(families, np.flatnonzero(is_empty))

    give(monkeypatch, empty)
    found = solved(scores)  # the certificate accepts no network that a change of an edge betters
    assert any(found.parents)
    assert not found.is_optimal
    assert found.score <= best.score + 1e-6 <= found.score_bound + 2e-6
    assert np.isfinite(found.gap)


def test_a_bound_that_the_climb_reaches_is_a_proof(monkeypatch):
    scores = scores_of(6)
    best = solved(scores)

    def search(families, incumbent, **_):
        return result(families, incumbent, 0.5)

    give(monkeypatch, search)
    assert not solved(scores).is_optimal
    found = solved(scores, SearchSettings(tolerance=0.6))
    assert found.is_optimal
    assert found.score == pytest.approx(best.score, abs=1e-6)
    assert found.gap == pytest.approx(0.5)


def test_no_network_has_a_finite_score(monkeypatch):
    both = [([[1]], [0.0]), ([[0]], [0.0])]  # each column needs the other
    without_dynamic_programs(monkeypatch)
    raises(r"network of the columns \['a', 'b'\]", solved, ParentSetScores(["a", "b"], both))


def test_the_only_network_is_found_where_the_order_search_finds_none(monkeypatch):
    m = 33  # each column needs the one before it
    chain = [([[x - 1]] if x else [[-1]], [1.0]) for x in range(m)]
    without_dynamic_programs(monkeypatch)
    found = solved(ParentSetScores([f"x{x}" for x in range(m)], chain))
    assert found.parents == [0, *(1 << x for x in range(m - 1))]
    assert found.is_optimal


@pytest.mark.parametrize("scale", [1e-7, 1e-3, 1e6])
def test_scores_of_any_size_are_proven(monkeypatch, scale):
    lists = random_lists(np.random.default_rng(3), 7)
    scaled = [(rows, [scale * s for s in local]) for rows, local in lists._families]
    scores = ParentSetScores(lists.columns, scaled)
    best = solved(scores)
    without_dynamic_programs(monkeypatch)
    found = solved(scores, SearchSettings(tolerance=1e-6 * scale))
    assert found.is_optimal
    assert found.score == pytest.approx(best.score, rel=1e-9)


# Memory and installation


def test_families_that_do_not_fit_are_refused():
    tight = resources(60_000_000)
    with pytest.raises(ValueError, match=r"40 columns .* families of branch and cut") as refusal:
        plan_searches(problem(scores_of(40, 4)).read(), tight)
    assert "Set max_parents to a small number, such as 2" in str(refusal.value)
    plan = plan_searches(problem(scores_of(40, 3)).read(), tight)
    assert str(plan).startswith("branch and cut over 40 columns: about ")
    assert plan.heeds_time_limit


def test_more_undominated_families_than_expected(monkeypatch):
    without_dynamic_programs(monkeypatch)
    monkeypatch.setattr(branch_engine, "_SHARE_UNDOMINATED", 0.0)
    scores = scores_of(13, 4, criterion="loglik")
    n_bytes = plan_searches(problem(scores).read(), resources()).searches[0].n_bytes
    raises(r"columns runs short of memory .* max_parents", solved, scores, given=resources(n_bytes))


def test_all_sets_of_parents_are_not_listed(monkeypatch):
    without_dynamic_programs(monkeypatch)
    raises(r"over 6 columns needs .* its states", solved, scores_of(6, None))


def test_progress_ends_at_the_work_that_was_planned(monkeypatch):
    without_dynamic_programs(monkeypatch)
    scores, percents, notes = scores_of(7), [], []

    def listener(percent, seconds_left, note):
        (notes if note else percents).append(note or percent)

    solve(problem(scores), resources(listeners=(listener,)))
    assert percents == sorted(percents)
    assert percents[-1] == 100
    assert notes


@pytest.mark.parametrize("seed", range(3))
def test_undominated_sets(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.choice([9, 70]))
    sets = [
        sorted(rng.choice(9, int(rng.integers(0, 4)), replace=False).tolist()) for _ in range(40)
    ]
    sets = [[p * (m // 9) for p in each] for each in sets]
    rows = np.array([[*each, *[-1] * (4 - len(each))] for each in sets], dtype=np.int16)
    kept = undominated(rows, m)
    expected = [i for i, each in enumerate(sets) if not any({*s} <= {*each} for s in sets[:i])]
    assert kept.tolist() == expected


def test_unfinished_networks_of_many_columns_are_certified(monkeypatch):
    monkeypatch.setattr(branch_engine, "branch_and_cut", unfinished)
    found = solved(scores_of(36, 2))
    assert not found.is_optimal
    assert 0 < found.gap < np.inf
    assert len(members_of(max(found.parents))) <= 2


# Branch and cut over all parent sets as an engine: against dynamic programs, and how it ends


@pytest.fixture
def alone(monkeypatch):
    """Leave no engine but branch and cut over all parent sets."""
    without_dynamic_programs(monkeypatch)
    monkeypatch.setattr(planner, "plan_branch_and_cut", lambda *_: None)


def found_and_best(monkeypatch, X, criterion="bic", **settings):
    """What branch and cut finds, and then, with all engines, the best network."""
    settings = {"criterion": criterion, "random_state": 0, **settings}
    found = GaussianBNLearner(time_limit=120, **settings).fit(X)
    monkeypatch.undo()
    best = GaussianBNLearner(**settings).fit(X)
    assert found.network_score_ <= best.network_score_ + 1e-6
    assert found.score_bound_ >= best.network_score_ - 1e-6
    assert found.optimality_gap_ >= best.network_score_ - found.network_score_ - 1e-6
    return found, best


def rows_of(m, seed, n=120):
    return make_gaussian_network(m, mean_degree=3, n_samples=n, random_state=seed)[0]


def of_columns(criterion="bic", **settings):
    weight = np.random.default_rng(0).uniform(0.5, 1.5, 120)
    given = {"sample_weight": weight * 120 / weight.sum()}
    return lambda: (rows_of(8, 1), {"criterion": criterion, **settings}, given)


def of_nodes(criterion="bic", interventions=None, **settings):
    """Nodes of several columns."""
    nodes = {"a": [0, 1], "b": [2], "c": [3, 4, 5], "d": [6], "e": [7], "f": [8, 9]}
    settings |= {"criterion": criterion, "nodes": nodes}
    return lambda: (rows_of(10, 2), settings, {"interventions": interventions})


def of_experiments(exogenous=None):
    given = {"interventions": [None] * 80 + [(0,)] * 10 + [(2, 5)] * 20 + [(5, 6)] * 10}
    return lambda: (rows_of(8, 3), {"exogenous": exogenous}, given)


def constrained(seed):
    """Few columns with constraints of all kinds."""
    rng = np.random.default_rng(seed)
    m, most = int(rng.integers(6, 9)), int(rng.integers(2, 5))
    settings = random_constraints(rng, m) if seed % 4 else {}
    required = nx.DiGraph(settings.get("required_edges"))
    needed = (degree for _, degree in required.in_degree)
    settings["max_parents"] = max(min(most, settings.get("max_parents", m)), *needed, 0)
    return lambda: (rows_of(m, seed), {"criterion": ["bic", "bge", "aic"][seed % 3]} | settings, {})


def drawn(seed):
    return lambda: random_learner(np.random.default_rng(seed), most=12)


CASES = {
    "weights": of_columns(),
    "two exogenous": of_columns("ebic", exogenous=[0, 3]),
    "tiers": of_columns(tiers=[[0, 1, 2, 3], [4, 5, 6, 7]]),
    "nodes": of_nodes("ebic", exogenous=["b"], required_edges=[("a", "c")]),
    "nodes that were set": of_nodes("aic", ["a"] * 20 + ["c"] * 10 + [None] * 90, penalty=1.5),
    "experiments": of_experiments([1, 4]),
}
SLOW_CASES = {
    "nodes alone": of_nodes(),
    "experiments alone": of_experiments(),
    "required": of_columns("aic", penalty=2.0, required_edges=[(0, 1), (2, 1)]),
    "forbidden": of_columns(forbidden_edges=[(0, 1), (1, 0), (2, 3)]),
    **{f"drawn {seed}": drawn(seed) for seed in range(10)},
}
CONSTRAINED_CASES = {f"constrained {n}": constrained(n) for n in (0, 1, 2, 5, 6, 7, 10, 11)}
ENGINES = {
    "orders": {"search": "order"},
    "branch and cut of lists": {"max_parents": 2},
    "branch and cut": {"time_limit": 120},
}


@pytest.mark.filterwarnings("ignore::skbn.exceptions.MaxParentsWarning")
@pytest.mark.parametrize(
    ("case", "engine"),
    [
        *itertools.product(CASES, ENGINES),
        *((case, "branch and cut of lists") for case in CONSTRAINED_CASES),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in itertools.product(SLOW_CASES, ENGINES)
        ),
    ],
)
def test_each_engine_finds_what_dynamic_programs_find(case, engine, monkeypatch):
    X, settings, given = {**CASES, **SLOW_CASES, **CONSTRAINED_CASES}[case]()
    settings = ENGINES[engine] | settings
    if engine != "orders":
        without_dynamic_programs(monkeypatch)
    if engine == "branch and cut":
        monkeypatch.setattr(planner, "plan_branch_and_cut", lambda *_: None)
    found = GaussianBNLearner(random_state=0, **settings).fit(X, **given)
    monkeypatch.undo()
    best = GaussianBNLearner(**settings | {"search": "exact", "time_limit": None}).fit(X, **given)
    assert found.network_score_ == pytest.approx(best.network_score_, abs=1e-6)
    assert found.is_optimal_ == (engine != "orders")
    if found.is_optimal_:
        assert 0 <= found.optimality_gap_ <= found.tol
        assert not found.n_iter_
        assert found.score_bound_ >= best.network_score_ - 1e-9


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
def test_a_bound_without_lists_holds(alone, monkeypatch):
    monkeypatch.setattr(ColumnGeneration, "families_within", lambda _: None)
    found_and_best(monkeypatch, rows_of(9, 1, 60), "aic", penalty=0.7)


def test_lists_that_take_all_memory_end_the_search_with_its_gap(alone, monkeypatch):
    monkeypatch.setattr(Relaxation, "n_bytes", 1 << 40)
    message = (
        r"nats higher\. Families and cuts took all memory that they may take: raise max_memory"
    )
    with pytest.warns(ConvergenceWarning, match=message):
        found, _ = found_and_best(monkeypatch, rows_of(9, 1, 60), "aic")
    assert not found.is_optimal_
    assert 0 < found.optimality_gap_ < np.inf


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_missing_values_await_no_list_of_networks(alone, monkeypatch):
    monkeypatch.setattr(ColumnGeneration, "is_over", lambda *_: True)
    monkeypatch.setattr(near_networks, "_NODES", 1)
    X = rows_of(6, 0)
    X[:3, 0] = np.nan
    assert not found_and_best(monkeypatch, X, missing="em")[0].is_optimal_


def test_without_a_time_limit_the_refusal_names_it():
    X = np.random.default_rng(0).normal(size=(60, 40))
    raises("Set time_limit, to 600 seconds for example", GaussianBNLearner().fit, X)
    raises(r"^((?!time_limit).)*$", GaussianBNLearner("bge").fit, X)


def planned(scores, time_limit, **knowledge):
    given = replace(resources(900_000_000), time_limit=time_limit, n_jobs=1)
    return str(plan_searches(problem(scores, **knowledge).read(), given))


def test_a_dynamic_program_beyond_the_time_limit_is_not_begun():
    X = make_gaussian_network(34, mean_degree=1, n_samples=100, random_state=0)[0]
    scores = LocalScoreTransformer("ebic").fit_transform(X)
    tiers = [list(range(10)), list(range(10, 34))]
    of_pricing = "branch and cut over all parent sets of 24 columns"
    assert of_pricing in planned(scores, 60, tiers=tiers)
    for time_limit in (None, 1e5):
        assert "branch and cut" not in planned(scores, time_limit, tiers=tiers)


def test_lists_that_take_longer_than_the_time_limit_are_not_begun():
    X = make_gaussian_network(90, mean_degree=1, n_samples=100, random_state=0)[0]
    ebic, bge = (LocalScoreTransformer(c, max_parents=3).fit_transform(X) for c in ("ebic", "bge"))
    assert "branch and cut over all parent sets of 90 columns" in planned(ebic, 0.5)
    assert "branch and cut over 90 columns" in planned(ebic, 60)
    assert "branch and cut over 90 columns" in planned(bge, 0.5)
    with pytest.warns(ConvergenceWarning, match="Listing the families of 90 columns takes about"):
        learner = GaussianBNLearner("bge", time_limit=0.5, max_parents=3).fit(X)
    assert learner.optimality_gap_ == learner.score_bound_ == np.inf
    assert learner.dag_.number_of_edges() > 0


def test_what_cannot_be_priced_is_named():
    X = np.random.default_rng(0).normal(size=(60, 40))
    message = "A time_limit alone is enough for the BIC, AIC, EBIC or"
    raises(message, GaussianBNLearner("bge", time_limit=5).fit, X)


NODES = {"a": [0, 1], "b": [2], "c": [3, 4], "d": [5], "e": [6]}
SET = [(1,)] * 20 + [None] * 100
LISTED = [
    ("ebic", {"max_parents": 2}, {}, {"within": 3.0}),
    ("bic", {"tiers": [[0, 1, 2], [3, 4, 5, 6]]}, {}, {"within": 2.0}),
    ("ebic", {"nodes": NODES}, {}, {"n": 12}),
    *(
        pytest.param(*case, marks=pytest.mark.slow)
        for case in (
            ("bic", {}, {}, {"n": 30}),
            ("aic", {"required_edges": [(0, 1)], "forbidden_edges": [(2, 3)]}, {}, {"within": 1.0}),
            ("bic", {"exogenous": [0, 3]}, {"interventions": SET}, {"within": 2.0}),
        )
    ),
]


@pytest.mark.parametrize(("criterion", "settings", "given", "wanted"), LISTED)
def test_near_optimal_networks_are_those_of_dynamic_programming(
    criterion, settings, given, wanted, alone, monkeypatch
):
    learner = GaussianBNLearner(criterion, time_limit=120, random_state=0, **settings)
    learner.fit(rows_of(7, 4), **given)
    kinds = [{**wanted, "equivalence_classes": classes} for classes in (True, False)]
    lists = [learner.near_optimal(**kind) for kind in kinds]
    monkeypatch.undo()
    for kind, found in zip(kinds, lists, strict=True):
        expected = learner.near_optimal(**kind)
        assert found.is_complete == expected.is_complete
        assert found.scores == pytest.approx(expected.scores, abs=1e-7)
        if found.is_complete:
            listed, others = ({frozenset(n.dag.edges) for n in near} for near in (found, expected))
            assert len(listed) == len(found)
            assert kind["equivalence_classes"] or listed == others


def test_lists_of_networks_end_with_time_and_memory(alone, monkeypatch):
    learner = GaussianBNLearner(time_limit=60).fit(rows_of(5, 0))
    monkeypatch.setattr(near_networks, "_MOST_NETWORKS", 64)
    assert len(learner.near_optimal(20, equivalence_classes=False)) == 20
    raises("a smaller n, or a smaller within", learner.near_optimal, within=99.0)
    monkeypatch.setattr(ColumnGeneration, "is_over", lambda *_: True)
    monkeypatch.setattr(near_networks, "_NODES", 1)
    raises("Raise time_limit, or give a smaller n", learner.near_optimal)


def test_networks_within_reach_need_a_time_limit(alone):
    learner = GaussianBNLearner(time_limit=60).fit(rows_of(5, 0)).set_params(time_limit=None)
    raises("Set time_limit, .* branch and cut then lists them", learner.near_optimal)


@pytest.mark.filterwarnings("ignore::skbn.exceptions.RedundantColumnsWarning")
def test_columns_that_are_nearly_collinear_are_named(alone):
    X = rows_of(8, 0)
    X[:, 5] = X[:, 2] + 1e-7 * X[:, 5]
    with pytest.raises(ValueError, match=r"^Column [25] is so nearly a combination of others"):
        GaussianBNLearner(time_limit=60).fit(X)


@pytest.mark.filterwarnings("ignore::skbn.exceptions.RedundantColumnsWarning")
def test_a_gap_says_what_rounding_may_hide(alone, monkeypatch):
    X = rows_of(6, 0)
    X[:, 5] = X[:, 2] + 1e-3 * X[:, 5]
    found, best = found_and_best(monkeypatch, X, tol=1e-3)
    assert found.network_score_ == pytest.approx(best.network_score_, abs=1e-3)
    assert 1e-6 < found.optimality_gap_ <= 1e-3

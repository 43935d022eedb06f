"""The order search as a whole: against the exact search, and against all changes of its network."""

import signal
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from agreement import raises
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import problem, resources
from random_constraints import is_allowed, random_constraints
from recording_callbacks import interrupt

from skbn import BIC, BGe, GaussianBNLearner, LocalScoreTransformer, ParentSetScores
from skbn._core.subsets import members_of
from skbn._solver import order_engine
from skbn._solver.engines import SearchSettings
from skbn._solver.listed_problem import ListedProblem
from skbn._solver.planner import plan_searches
from skbn._solver.problem import Problem
from skbn._solver.solve import solve
from skbn.datasets import make_gaussian_network

CRITERIA = ["bic", "ebic", "aic", "bge", BIC(unbiased_variance=True), BGe(alpha_mu=0.1)]


def by_orders(**settings):
    return SearchSettings(is_exact=False, **settings)


def drawn_rows(m, n=100, seed=0):
    return make_gaussian_network(m, n_samples=n, random_state=seed)[0]


def fitted(rows, search="order", weight=None, **options):
    learner = GaussianBNLearner(search=search, random_state=0, **options)
    return learner.fit(rows, sample_weight=weight)


def assert_is_best(rows, *arguments, abs_tol=2e-3, **options):
    """The order search finds what the exact one finds; returns what it found."""
    exact, found = (fitted(rows, each, *arguments, **options) for each in ("exact", "order"))
    assert found.network_score_ == pytest.approx(exact.network_score_, abs=abs_tol)
    return found


def random_case(seed):
    """A table of a few columns, a criterion, weights or none, and constraints or none."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 11))
    n = int(rng.choice([30, 100, 1000]))
    rows = drawn_rows(m, n, seed)
    if rng.random() < 0.3:
        rows = np.round(2 * rows / rows.std(axis=0)) + 1e-3 * rows
    weight = rng.integers(1, 4, size=n).astype(float) if rng.random() < 0.3 else None
    options = {"criterion": CRITERIA[seed % len(CRITERIA)]}
    if rng.random() < 0.6:
        options |= random_constraints(rng, m)
    elif rng.random() < 0.5:
        options["max_parents"] = int(rng.integers(0, m))
    return rows, weight, options


# Against the exact search


@pytest.mark.parametrize(
    "seed", [0, 1, 3, 5, 6, 7, 9, *(pytest.param(s, marks=pytest.mark.slow) for s in (2, 4, 8))]
)
def test_few_columns_have_the_best_network(seed):
    rows, weight, options = random_case(seed)
    found = assert_is_best(rows, weight, **options)
    assert_is_network_of_score(found, rows, weight, options)


def assert_is_network_of_score(learner, rows, weight, options):
    assert nx.is_directed_acyclic_graph(learner.dag_)
    constraints = {"required_edges": [], "forbidden_edges": None} | options
    for x in learner.dag_:
        assert is_allowed(x, {*learner.dag_.predecessors(x)}, constraints)
    transformer = LocalScoreTransformer(options.get("criterion", "bic"))
    scores = transformer.fit_transform(rows, sample_weight=weight)
    assert learner.network_score_ == pytest.approx(scores.network_score(learner.dag_), abs=1e-6)


@given(st.integers(100, 10**6), st.integers(0, 2**31))
@settings(max_examples=8)
def test_networks_are_within_constraints_and_never_beyond_the_best(seed, state):
    rows, weight, options = random_case(seed)
    learner = GaussianBNLearner(search="order", random_state=state, **options)
    learner.fit(rows, sample_weight=weight)
    assert_is_network_of_score(learner, rows, weight, options)
    exact = fitted(rows, "exact", weight, **options)
    assert learner.network_score_ <= exact.network_score_ + 1e-6 * len(rows)
    twin = GaussianBNLearner(search="order", random_state=state, n_jobs=2, **options)
    twin.fit(rows, sample_weight=weight)
    assert twin.network_score_ == learner.network_score_
    assert twin.n_iter_ == learner.n_iter_
    np.testing.assert_array_equal(twin.network_.coef_, learner.network_.coef_)


@pytest.mark.parametrize(
    "options", [{"max_parents": 2}, {"criterion": "bge"}, {"criterion": "bge", "max_parents": 3}]
)
def test_tables_may_have_fewer_rows_than_columns(options):
    rows = np.random.default_rng(0).normal(size=(6, 9))
    rows[:, 4:] += rows[:, :5]
    assert assert_is_best(rows, **options).dag_.number_of_edges() > 3


@pytest.mark.parametrize("seed", range(2))
def test_tiers_are_searched_with_earlier_columns_as_parents(seed):
    rows = drawn_rows(7, seed=seed)
    for tiers in ([[3, 1, 2], [0, 4], [6, 5]], [range(6), [6]], [[0], range(1, 7)]):
        found = assert_is_best(rows, tiers=tiers)
        first = {*tiers[0]}
        assert any(a in first and b not in first for a, b in found.dag_.edges)


def test_one_column_of_a_group_may_have_several_roots():
    """Column 5 alone may have parents."""
    rows = drawn_rows(6, seed=1)
    forbidden = [(a, b) for a in range(6) for b in range(5) if a != b]
    found = assert_is_best(rows, forbidden_edges=forbidden, abs_tol=1e-6)
    assert {b for _, b in found.dag_.edges} == {5}


# Nearly collinear columns


def nearly_collinear(residual):
    """Column 3 is the sum of columns 0 and 1, but for a share of itself."""
    rows = np.random.default_rng(0).normal(size=(200, 6))
    rows[:, 3] = rows[:, 0] + rows[:, 1] + residual * rows[:, 3]
    rows[:, 4] += rows[:, 2]
    return rows


@pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")
@pytest.mark.parametrize("residual", [1e-5, 1e-8])
@pytest.mark.parametrize(
    "required",
    [
        [],
        [(0, 3), (1, 3)],
        [(0, 1), (1, 3), (0, 3)],
        [(0, 2), (1, 2), (3, 2)],
        [(3, 0), (1, 0), (5, 4)],
    ],
)
def test_what_products_cannot_tell_apart_is_told_by_regressions(residual, required):
    assert_is_best(nearly_collinear(residual), required_edges=required)


# Listed families


def listed_scores(tmp_path, rows, **limits):
    path = tmp_path / "scores.jkl"
    LocalScoreTransformer(**limits).fit_transform(rows).to_jkl(path)
    return ParentSetScores.from_jkl(path)


@pytest.mark.parametrize("seed", [0, 2])
def test_listed_families_have_the_best_network(tmp_path, seed):
    rng = np.random.default_rng(seed)
    scores = listed_scores(tmp_path, drawn_rows(8, seed=seed), max_parents=4)
    options = {}
    if seed > 1:  # a listed column is named by a string
        forbidden = [(str(a), str(b)) for a in range(8) for b in range(8) if rng.random() < 0.3]
        options = {"forbidden_edges": [edge for edge in forbidden if edge[0] != edge[1]]}
        options |= {"tiers": [["0", "1", "2"], ["3", "4", "5", "6", "7"]], "max_parents": 3}
    found = assert_is_best(scores, abs_tol=1e-5, **options)
    assert found.network_score_ == pytest.approx(scores.network_score(found.dag_), abs=1e-9)


def write_lists(path, lists):
    """Write families, a dict of a column's name to pairs of a score and parents."""
    lines = [str(len(lists))]
    for child, families in lists.items():
        lines.append(f"{child} {len(families)}")
        lines += [" ".join(map(str, [score, len(ps), *ps])) for score, ps in families]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ParentSetScores.from_jkl(path)


def test_lists_need_not_have_the_empty_set(tmp_path):
    lists = {
        "a": [(-1.0, [])],
        "b": [(-5.0, ["a"]), (-1.0, ["c"])],
        "c": [(-3.0, ["b"]), (-4.0, ["a"])],
        "d": [(-2.0, ["b", "c"]), (-1.0, ["c", "e"])],
        "e": [(-7.0, ["d"]), (-9.0, ["a", "b"])],
    }
    scores = write_lists(tmp_path / "some.jkl", lists)
    # a before c before b; then d before e.
    for search in ("order", "exact"):
        found = fitted(scores, search)
        assert found.network_score_ == -1 - 1 - 4 - 2 - 7
        assert {*found.dag_.edges} == {("c", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "e")}


@pytest.mark.filterwarnings("ignore:Of . starts:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(3))
def test_no_column_has_a_better_listed_family(tmp_path, seed):
    """Even if several columns have to move at once to make way for it."""
    rng, m = np.random.default_rng(seed), 60
    lists, families = {}, []
    for x in range(m):
        drawn = {frozenset(): -30 + rng.normal()}
        for _ in range(12):
            size = rng.integers(1, 4)
            some = rng.choice(np.delete(np.arange(m), x), size, replace=False)
            drawn[frozenset(some.tolist())] = -30 + 3 * size + 2 * rng.normal()
        families.append(drawn)
        lists[str(x)] = [(score, sorted(map(str, parents))) for parents, score in drawn.items()]
    found = fitted(write_lists(tmp_path / "drawn.jkl", lists), time_limit=1e-9)
    parents = [{int(p) for p in found.dag_.predecessors(str(x))} for x in range(m)]
    for x in range(m):
        after = {*map(int, nx.descendants(found.dag_, str(x)))}
        best = max(score for each, score in families[x].items() if not each & after)
        assert families[x][frozenset(parents[x])] == pytest.approx(best, abs=2e-3)


def test_scores_far_below_families_that_are_ruled_out_are_found():
    """In whatever units: what counts is the difference from the best that is left."""
    families = [
        ([[2], [3], [4]], [-50.3, -50.0, 0.0]),
        ([[3], [-1], [4]], [-50.3, -50.1, 0.0]),
        ([[0], [3], [4]], [-50.9, -50.1, 0.0]),
        ([[1], [4]], [-50.0, 0.0]),
        ([[-1]], [0.0]),
    ]
    for shift in (0.0, -1e9, 1e9):
        moved = [(parents, np.array(local) + shift) for parents, local in families]
        scores = ParentSetScores([*"abcde"], moved)
        forbidden = [("e", x) for x in "abcd"]
        found = fitted(scores, forbidden_edges=forbidden)
        assert found.network_score_ == pytest.approx(-200.2 + 5 * shift)
        assert {*found.dag_.edges} == {("d", "a"), ("d", "c"), ("b", "d")}


def test_a_network_is_found_if_all_but_one_column_are_tied_down():
    families = [([[1], [2]], [-50.0, 0.0]), ([[-1]], [0.0]), ([[-1]], [0.0])]
    scores = ParentSetScores([*"abc"], families)
    found = fitted(scores, forbidden_edges=[("c", "a")])
    assert found.network_score_ == -50
    assert {*found.dag_.edges} == {("b", "a")}


def test_a_chain_that_only_one_order_fits_is_found():
    """Random orders of 40 columns leave nearly all of them without a listed family."""
    order = np.random.default_rng(0).permutation(40)
    families = [([[-1]], [0.0])] * 40
    for before, x in pairwise(order.tolist()):
        families[x] = [[before]], [-1e9 * (x % 3) - x]
    scores = ParentSetScores([f"v{x}" for x in range(40)], families)
    for limit in (None, 1e-9):
        found = fitted(scores, time_limit=limit)
        assert found.dag_.number_of_edges() == 39


@pytest.mark.parametrize("factor", [1e9, 1e299])
def test_large_scores_are_no_trouble(factor):
    local = np.random.default_rng(0).uniform(-1, 1, size=(12, 12))
    sets = [np.r_[-1, np.delete(np.arange(12), x)][:, np.newaxis] for x in range(12)]
    columns = [f"v{x}" for x in range(12)]
    one, large = (
        ParentSetScores(columns, [*zip(sets, scale * local, strict=True)])
        for scale in (1.0, factor)
    )
    best = fitted(one, "exact").network_score_
    assert fitted(large).network_score_ == pytest.approx(factor * best, rel=1e-6)


# Time


def solved(scores, listeners=(), **given):
    return solve(problem(scores), resources(listeners=listeners, **given), by_orders())[0]


class InterruptingListener:
    """Presses Ctrl-C when the search tells something for the nth time."""

    def __init__(self, n):
        self.notes, self.n = [], n

    def __call__(self, percent, seconds_left, note):
        if note:
            self.notes.append(note)
            if len(self.notes) == self.n:
                signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("n", [1, 3])
def test_an_interrupted_search_with_a_limit_has_a_network(n):
    scores = LocalScoreTransformer().fit_transform(drawn_rows(12))
    listener = InterruptingListener(n)
    found = solved(scores, (listener,), time_limit=1000.0, ends_on_interrupt=True)
    assert len(listener.notes) == n
    dag = nx.DiGraph([(p, x) for x, mask in enumerate(found.parents) for p in members_of(mask)])
    assert nx.is_directed_acyclic_graph(dag)
    assert found.score == pytest.approx(scores.network_score(dag))
    assert not found.is_optimal
    assert found.n_iter > 0


def test_an_interrupted_learner_is_not_fitted(monkeypatch):
    monkeypatch.setattr(order_engine.OrderSearch, "_iterate", interrupt)
    learner = GaussianBNLearner(search="order", random_state=0)
    with pytest.raises(KeyboardInterrupt):
        learner.fit(drawn_rows(8))
    assert vars(learner).keys() == learner.get_params().keys()
    learner.set_params(time_limit=1000.0).fit(drawn_rows(8))
    assert learner.n_iter_ > 0
    assert nx.is_directed_acyclic_graph(learner.dag_)


def test_an_early_interruption_leaves_no_network_even_with_a_limit(monkeypatch):
    monkeypatch.setattr("skbn._orders.placement.PlacementSearch.begin", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fitted(drawn_rows(8), time_limit=1000.0)


@pytest.mark.parametrize("name", ["climb", "perturb"])
def test_an_interruption_of_the_first_phase_leaves_the_network_that_it_has(monkeypatch, name):
    monkeypatch.setattr(f"skbn._orders.placement.PlacementSearch.{name}", interrupt)
    rows = drawn_rows(8)
    learner = fitted(rows, time_limit=1000.0, required_edges=[(7, 0)])
    assert learner.n_iter_ == 0
    assert_is_network_of_score(learner, rows, None, {"required_edges": [(7, 0)]})
    with pytest.raises(KeyboardInterrupt):
        fitted(rows)


@pytest.mark.filterwarnings("ignore:Of . starts:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "options", [{}, {"criterion": "bge"}, {"max_parents": 2, "required_edges": [(5, 0), (3, 0)]}]
)
def test_a_moment_is_enough_for_a_network_within_constraints(options):
    rows = drawn_rows(30)
    learner = fitted(rows, time_limit=1e-9, **options)
    assert learner.n_iter_ == 0
    assert_is_network_of_score(learner, rows, None, options)


@pytest.mark.parametrize("is_listed", [False, True])
def test_an_interruption_while_single_changes_are_made_leaves_a_network(
    monkeypatch, tmp_path, is_listed
):
    rows = drawn_rows(6)
    scores = listed_scores(tmp_path, rows, max_parents=2) if is_listed else rows
    kind = ListedProblem if is_listed else Problem
    climbed, n_calls = kind.climbed, []

    def interrupted(*arguments):
        n_calls.append(1)
        if len(n_calls) == 1:
            signal.raise_signal(signal.SIGINT)
        return climbed(*arguments)

    monkeypatch.setattr(kind, "climbed", interrupted)
    learner = fitted(scores, time_limit=1000.0)
    assert len(n_calls) == 2
    assert nx.is_directed_acyclic_graph(learner.dag_)
    n_calls.clear()
    with pytest.raises(KeyboardInterrupt):
        fitted(scores)


def test_progress_ends_at_the_work_that_was_planned():
    scores = LocalScoreTransformer().fit_transform(drawn_rows(9))
    in_tiers = problem(scores, tiers=[[0, 1, 2, 3], [4, 5, 6, 7, 8]])
    percents = []
    given = resources(listeners=(lambda percent, *_: percents.append(percent),))
    plan = plan_searches(in_tiers.read(), given, by_orders())
    solve(in_tiers, given, by_orders())
    assert percents == sorted(percents)
    assert percents[-1] == 100
    assert "not proven" in str(plan)


def test_a_search_that_does_not_fit_is_refused():
    shape = problem(LocalScoreTransformer().fit_transform(drawn_rows(30))).read()
    message = r"over 30 columns needs .* Raise max_memory .*, or leave out columns\.$"
    raises(message, plan_searches, shape, resources(1 << 30, 1_000_000), by_orders())

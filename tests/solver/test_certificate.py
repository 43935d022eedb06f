"""What is proved again of a found network, and that each kind of defect is noticed."""

from itertools import permutations

import networkx as nx
import numpy as np
import pytest

from skbn import (
    BGe,
    GaussianBNLearner,
    InformationCriterion,
    LocalScoreTransformer,
    ParentSetScores,
)
from skbn._core.graphs import dag_of
from skbn._core.subsets import bits_of, mask_of, members_of
from skbn._exact.dense_families import DenseFamilies
from skbn._exact.plan import SearchPlan
from skbn._exact.recurrences import Slab, exact_search
from skbn._exact.spot_check import draw_states
from skbn._networks.gaussian import estimate_model
from skbn._regressions.triangular import families_first, neighbours, stacked_factors
from skbn._solver import solve
from skbn._solver.certificate import certify_network
from skbn._solver.constraints import read_constraints
from skbn._solver.engines import Optimum
from skbn.datasets import make_gaussian_network


def log_determinant(rows, columns):
    chosen = rows[:, sorted(columns)]
    return np.linalg.slogdet(chosen.T @ chosen)[1] if columns else 0.0


def test_neighbours_are_regressions_with_a_parent_more_or_fewer():
    rows = make_gaussian_network(6, n_samples=40, random_state=0)[0]
    parents = [0b100110, 0, 0b101001, 0b1, 0b101111, 0]
    is_parent = bits_of(parents, 6)
    orders = families_first(is_parent)
    found = neighbours(stacked_factors(np.linalg.qr(rows, mode="r"), orders), is_parent.sum(axis=1))
    for x, mask in enumerate(parents):
        family = set(members_of(mask))
        assert orders[x].tolist()[: len(family) + 1] == [*sorted(family), x]
        for place, column in enumerate(orders[x].tolist()):
            changed = family if column == x else family ^ {column}
            expected = log_determinant(rows, changed), log_determinant(rows, changed | {x})
            at_place = found.of_parents[x, place], found.of_family[x, place]
            assert at_place == pytest.approx(expected, abs=1e-12)


def constrained(seed, m):
    """Return constraints, at random, in which the order of the columns may be the network's."""
    rng = np.random.default_rng(seed)
    edges = [(a, b) for a in range(m) for b in range(m) if a != b]
    required = [edge for edge in edges if edge[0] < edge[1] and rng.random() < 0.1]
    forbidden = [edge for edge in edges if edge not in required and rng.random() < 0.2]
    constraints = read_constraints(
        list(range(m)), max_parents=3, required_edges=required, forbidden_edges=forbidden
    )
    pairs = {(a, b) for b in range(m) for a in members_of(constraints.allowed[b]) if a < b}
    drawn = [pair for pair in sorted(pairs) if rng.random() < 0.5]
    parents = [mask_of(a for a, c in {*drawn, *required} if c == b) for b in range(m)]
    return constraints, parents


def is_acyclic(parents):
    return nx.is_directed_acyclic_graph(dag_of(range(len(parents)), parents))


def neighbouring_networks(parents):
    """Yield all acyclic networks with an edge added, deleted or reversed."""
    m = len(parents)
    for a, b in permutations(range(m), 2):
        other = list(parents)
        other[b] ^= 1 << a
        if not parents[a] >> b & 1 and is_acyclic(other):
            yield other
        if parents[b] >> a & 1:
            turned = [mask | (x == a) << b for x, mask in enumerate(other)]
            if is_acyclic(turned):
                yield turned


def satisfies(constraints, parents):
    return all(
        mask & ~may == 0 and must & ~mask == 0 and mask.bit_count() <= constraints.max_parents
        for mask, may, must in zip(parents, constraints.allowed, constraints.required, strict=True)
    )


@pytest.mark.parametrize("criterion", ["bic", "aic", BGe()])
def test_a_network_is_refused_if_and_only_if_one_near_it_scores_higher(criterion):
    """On the way from random networks up to where none near is better."""
    m = 5
    rows = make_gaussian_network(m, n_samples=60, random_state=1)[0]
    scores = LocalScoreTransformer(criterion, max_parents=3).fit_transform(rows)
    for seed in range(12):
        constraints, parents = constrained(seed, m)
        better = parents if satisfies(constraints, parents) else None
        while better:
            parents, better = better, None
            estimated = estimate_model(scores.statistics, parents, scores.columns)
            best = scores.network_score(dag_of(range(m), parents)) + 0.002
            for other in neighbouring_networks(parents):
                if satisfies(constraints, other):
                    score = scores.network_score(dag_of(range(m), other))
                    best, better = (score, other) if score > best else (best, better)
            if better:
                with pytest.raises(RuntimeError, match=r"edge \d -> \d (add|delet|revers)ed"):
                    certify_network(scores, constraints, parents, estimated.coef)
            else:
                certify_network(scores, constraints, parents, estimated.coef)


@pytest.fixture
def rows():
    return make_gaussian_network(6, n_samples=80, random_state=2)[0]


def certify(scores, parents, change=lambda coef: coef):
    m = scores.shape[1]
    estimated = estimate_model(scores.statistics, parents, scores.columns)
    free = read_constraints(list(range(m)), max_parents=m - 1)
    certify_network(scores, free, parents, change(estimated.coef))


def best_parents(rows, **parameters):
    dag = GaussianBNLearner(**parameters).fit(rows).dag_
    return [mask_of(dag.predecessors(x)) for x in range(rows.shape[1])]


@pytest.mark.parametrize("weight", [None, np.linspace(0, 2, 80)])
@pytest.mark.parametrize("criterion", ["bic", BGe()])
def test_coefficients_that_are_not_least_squares_on_the_rows_are_noticed(rows, criterion, weight):
    learner = GaussianBNLearner(criterion).fit(rows, sample_weight=weight)
    parents = [mask_of(learner.dag_.predecessors(x)) for x in range(6)]
    scores = LocalScoreTransformer(criterion).fit_transform(rows, sample_weight=weight)
    certify(scores, parents)
    parent, child = next(iter(learner.dag_.edges))

    def with_coefficient(factor):
        def change(coef):
            changed = coef.copy()
            changed[parent, child] *= factor
            return changed

        return change

    certify(scores, parents, with_coefficient(1 + 1e-10))
    for factor in [1.1, 0.0, np.nan]:
        with pytest.raises(RuntimeError, match=rf"regression of column {child} on .*{parent}"):
            certify(scores, parents, with_coefficient(factor))


def test_a_factor_that_is_not_the_rows_is_noticed(rows):
    scores = LocalScoreTransformer().fit_transform(rows)
    parents = best_parents(rows)
    scores.statistics.factor.setflags(write=True)
    scores.statistics.factor[0, 0] *= 1.01
    with pytest.raises(RuntimeError, match="leaves a share of"):
        certify(scores, parents)


def test_rows_that_were_not_kept_are_not_asked_for(rows):
    transformer = LocalScoreTransformer().partial_fit(rows[:40]).partial_fit(rows[40:])
    learner = GaussianBNLearner().fit(transformer.local_scores_)
    expected = GaussianBNLearner().fit(rows)
    assert set(learner.dag_.edges) == set(expected.dag_.edges)
    assert learner.network_score_ == pytest.approx(expected.network_score_, abs=1e-9)


def returning(optimum):
    return lambda *_: [optimum]


def test_what_a_defective_search_ends_with_is_no_network(rows, monkeypatch):
    learner = GaussianBNLearner().fit(rows)
    scores = LocalScoreTransformer().fit_transform(rows)
    offset = scores.scorer.score_offsets.sum()  # which the search leaves out
    best, score = best_parents(rows), learner.network_score_ - offset
    empty = scores.network_score(nx.empty_graph(6, nx.DiGraph)) - offset
    for optimum, message in [
        (Optimum(best, score + 1), "the best network's score is .* from the search and"),
        (Optimum(best, np.nan), "the best network's score is nan from the search"),
        (Optimum([0] * 6, empty), "with the edge . -> . added the best network scores higher by"),
    ]:
        monkeypatch.setattr(solve, "_best_networks", returning(optimum))
        with pytest.raises(RuntimeError, match=message + ".*please report it"):
            learner.fit(rows)
        assert not hasattr(learner, "network_")
    monkeypatch.setattr(solve, "_best_networks", returning(Optimum(best, score)))
    assert learner.fit(rows).network_score_ == score + offset


def test_a_defective_search_of_listed_families_is_noticed(monkeypatch):
    families = [([[-1], [1]], [-10.0, -3.0]), ([[-1], [0]], [-9.0, -4.0])]
    scores = ParentSetScores(["a", "b"], families)
    assert GaussianBNLearner().fit(scores).network_score_ == -12.0
    monkeypatch.setattr(solve, "_best_networks", returning(Optimum([0, 1], -7.0)))
    assert GaussianBNLearner().fit(scores).network_score_ == -14.0  # none that differs in one
    monkeypatch.setattr(solve, "_best_networks", returning(Optimum([0, 0], -12.0)))
    with pytest.raises(RuntimeError, match=r"other parents of column 'a' the best .* by 7 nats"):
        GaussianBNLearner().fit(scores)


def test_of_many_columns_some_are_tried():
    m = 45
    rows = np.random.default_rng(3).normal(size=(200, m))
    rows[:, 1:] += 0.9 * rows[:, :-1]
    chain = [0, *(1 << x for x in range(m - 1))]
    scores = LocalScoreTransformer(max_parents=2).fit_transform(rows)
    estimated = estimate_model(scores.statistics, chain, scores.columns)
    order = [(a, b) for b in range(m) for a in range(b + 1, m)]
    one_order = read_constraints(list(range(m)), max_parents=2, forbidden_edges=order)
    edges = [(x, x + 1) for x in range(m - 1)]
    only = [(a, b) for a in range(m) for b in range(m) if a != b and (a, b) not in edges]
    certify_network(
        scores,
        read_constraints(list(range(m)), max_parents=2, forbidden_edges=only),
        chain,
        estimated.coef,
    )
    empty = [0] * m
    with pytest.raises(RuntimeError, match=r"edge \d+ -> \d+ added"):
        certify_network(scores, one_order, empty, np.zeros((m, m)))


class Cost(InformationCriterion):
    """A cost for each number of parents."""

    def __init__(self, cost=(0.0,)):
        self.cost = cost

    def complexity(self, n_samples, m):
        return np.resize(np.array(self.cost), m)


@pytest.mark.parametrize(
    ("cost", "edges"),
    [
        ((1e15, 0.0, 0.0, 0.0, 0.0, 0.0), None),
        ((1e15, 0.0, 0.0, 0.0, 0.0, 0.0), [(0, 2), (1, 2)]),
        ((0.0, 1.0, 1e15, 3.0, 1e99, 2.0), [(0, 2), (1, 2)]),
    ],
)
def test_a_huge_cost_that_no_network_avoids_is_refused(rows, cost, edges):
    """It hides differences between networks that all have to pay it."""
    learner = GaussianBNLearner(Cost(cost), required_edges=edges, max_parents=2)
    with pytest.raises(ValueError, match=r"known only to .* nats, and not to 0\.001"):
        learner.fit(rows)


def test_a_huge_cost_that_a_network_avoids_is_no_defect(rows):
    learner = GaussianBNLearner(Cost((0.0, 1.0, 1e15, 3.0, 1e99, 2.0))).fit(rows)
    assert nx.is_directed_acyclic_graph(learner.dag_)
    assert 2 not in dict(learner.dag_.in_degree()).values()


def test_what_a_huge_listed_score_hides_is_a_tie_and_no_defect():
    alone = [[-1]]
    pair = [([[-1], [2]], [-10.0, -3.0]), ([[-1], [1]], [-9.0, -4.0])]
    for huge in [1e17, -1e300]:
        scores = ParentSetScores(["a", "b", "c"], [(alone, [huge]), *pair])
        assert GaussianBNLearner().fit(scores).network_score_ == pytest.approx(huge)
    cancelling = [(alone, [5.0]), (alone, [1e20]), (alone, [-1e20])]
    assert GaussianBNLearner().fit(ParentSetScores(["a", "b", "c"], cancelling)).dag_.size() == 0


def test_a_network_that_breaks_constraints_is_noticed(rows, monkeypatch):
    parents = best_parents(rows)
    scores = LocalScoreTransformer().fit_transform(rows)
    score = scores.network_score(dag_of(range(6), parents))
    monkeypatch.setattr(solve, "_best_networks", returning(Optimum(parents, score)))
    child = next(x for x in range(6) if parents[x])
    parent = members_of(parents[child])[0]
    other = next(x for x in range(6) if x != child and not parents[child] >> x & 1)
    for constraints in [
        {"forbidden_edges": [(parent, child)]},
        {"required_edges": [(other, child)]},
        {"max_parents": max(mask.bit_count() for mask in parents) - 1},
    ]:
        with pytest.raises(RuntimeError, match=r"constraints do not allow column \d the parents"):
            GaussianBNLearner(**constraints).fit(rows)


def test_a_cycle_is_noticed(rows):
    scores = LocalScoreTransformer().fit_transform(rows)
    with pytest.raises(RuntimeError, match="a cycle of the columns"):
        certify(scores, [0b10, 0b1, 0, 0, 0, 0])


@pytest.mark.parametrize("criterion", ["bic", BGe()])
def test_log_determinants_of_the_search_that_are_wrong_are_noticed(rows, criterion):
    parents = best_parents(rows, criterion=criterion)
    for change in [1e-9, 0.1, np.nan]:
        scores = LocalScoreTransformer(criterion).fit_transform(rows)
        scores.scorer.log_determinants()[parents[5] | 1 << 5] += change
        if change == 1e-9:
            certify(scores, parents)
            continue
        with pytest.raises(RuntimeError, match="log-determinant of the columns"):
            certify(scores, parents)


def states_too_low(slab, best, fixed):
    best[np.arange(len(best)) & 0b1000 > 0] -= 1


def maxima_too_low(slab, best, fixed):
    slab.tables[slab.starts[3] : slab.starts[4]] -= 1


@pytest.mark.parametrize("defect", [states_too_low, maxima_too_low])
@pytest.mark.parametrize("constraints", [{}, {"required_edges": [(0, 6)], "max_parents": 4}])
def test_a_search_that_leaves_out_families_is_noticed(constraints, defect, monkeypatch):
    rows = make_gaussian_network(8, n_samples=60, random_state=4)[0]
    constrained = GaussianBNLearner(**constraints).fit(rows)
    assert constrained.dag_.number_of_nodes() == 8
    visit_sets = Slab.visit_sets

    def defective(slab, kernel, best, fixed):
        visit_sets(slab, kernel, best, fixed)
        defect(slab, best, fixed)

    monkeypatch.setattr(Slab, "visit_sets", defective)
    with pytest.raises(RuntimeError, match="the best scores of the set"):
        constrained.fit(rows)


@pytest.mark.parametrize("n_outer", range(5))
def test_the_drawn_states_of_each_slab_are_right(n_outer):
    plan = SearchPlan(7, n_outer)
    log_det = np.random.default_rng(n_outer).normal(size=1 << 7)
    tables = np.random.default_rng(5).normal(size=(3, 7))
    tables[0, 3] = -np.inf
    allowed = [0b1111111 ^ 1 << x for x in range(7)]
    allowed[2] ^= 0b10001
    families = DenseFamilies(log_det, tables, plan, allowed, [0, 0, 0, 1, 0, 0, 0b10])
    exact_search(families, plan)
    drawn = [draw_states(7, plan.n_inner, fixed) for fixed in range(1 << n_outer)]
    assert [None if each is None else each.n_outer for each in drawn] == [
        fixed.bit_count() if fixed.bit_count() <= 3 else None for fixed in range(1 << n_outer)
    ]

"""What is proved again of a found network, and that each kind of defect is noticed."""

import networkx as nx
import numpy as np
import pytest
from agreement import raises

import skbn
from skbn import BGe, GaussianBNLearner, LocalScoreTransformer, ParentSetScores
from skbn._core.graphs import dag_of
from skbn._core.subsets import mask_of, members_of
from skbn._exact.dense_families import DenseFamilies, draw_states
from skbn._exact.plan import SearchPlan
from skbn._exact.recurrences import Slab, exact_search
from skbn._networks.gaussian import estimate_model
from skbn._regressions.set_function import SetWeights
from skbn._solver import solve
from skbn._solver.certificate import certify_network
from skbn._solver.constraints import read_constraints
from skbn._solver.problem import Found
from skbn.datasets import make_gaussian_network


@pytest.fixture
def rows():
    return make_gaussian_network(6, n_samples=80, random_state=2)[0]


def certify(scores, parents, factors=1.0):
    """Certify a network whose coefficients are the right ones times factors."""
    m = scores.shape[1]
    estimated = estimate_model(scores.scorer.group_statistics, parents, scores.columns)
    free = read_constraints(list(range(m)), max_parents=m - 1)
    certify_network(scores, free, parents, [factors * estimated.coef])


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
        factors = np.ones((6, 6))
        factors[parent, child] = factor
        return factors

    certify(scores, parents, with_coefficient(1 + 1e-10))
    for factor in [1.1, 0.0, np.nan]:
        message = rf"regression of column {child} on .*{parent}"
        raises(message, certify, scores, parents, with_coefficient(factor), kind=RuntimeError)


def test_a_factor_that_is_not_the_rows_is_noticed(rows):
    scores = LocalScoreTransformer().fit_transform(rows)
    parents = best_parents(rows)
    scores.statistics.factor.setflags(write=True)
    scores.statistics.factor[0, 0] *= 1.01
    raises("leaves a share of", certify, scores, parents, kind=RuntimeError)


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
        (Found(best, score + 1, 0.0), "the best network's score is .* from the search and"),
        (Found(best, np.nan, 0.0), "the best network's score is nan from the search"),
        (Found([0] * 6, empty, 0.0), "edge . -> . added the network found scores higher by"),
    ]:
        monkeypatch.setattr(solve, "_best_networks", returning(optimum))
        raises(message + ".*please report it", learner.fit, rows, kind=RuntimeError)
        assert not hasattr(learner, "network_")
    monkeypatch.setattr(solve, "_best_networks", returning(Found(best, score, 0.0)))
    assert learner.fit(rows).network_score_ == score + offset


def test_a_defective_search_of_listed_families_is_noticed(monkeypatch):
    families = [([[-1], [1]], [-10.0, -3.0]), ([[-1], [0]], [-9.0, -4.0])]
    scores = ParentSetScores(["a", "b"], families)
    assert GaussianBNLearner().fit(scores).network_score_ == -12.0
    monkeypatch.setattr(solve, "_best_networks", returning(Found([0, 1], -7.0, 0.0)))
    assert GaussianBNLearner().fit(scores).network_score_ == -14.0  # none that differs in one
    monkeypatch.setattr(solve, "_best_networks", returning(Found([0, 0], -12.0, 0.0)))
    with pytest.raises(RuntimeError, match=r"other parents of column 'a' the network .* by 7 nats"):
        GaussianBNLearner().fit(scores)


@pytest.mark.parametrize(
    ("parents", "edge"),
    [
        ({100: [70, 98]}, None),
        ({100: [70]}, "98 -> 100 added"),
        ({100: [70, 90, 98]}, "90 -> 100 deleted"),
        ({100: [98], 70: [100]}, "100 -> 70 reversed"),
    ],
)
def test_a_faulty_edge_among_many_columns_is_noticed(parents, edge):
    m = 101
    rows = np.random.default_rng(3).normal(size=(2000, m))
    rows[:, 100] += rows[:, 98] - 2 * rows[:, 70]
    scores = LocalScoreTransformer(penalty=3).fit_transform(rows)
    masks = [mask_of(parents.get(x, [])) for x in range(m)]
    if edge is None:
        certify(scores, masks)
        return
    message = f"with the edge {edge} the network found scores higher"
    raises(message, certify, scores, masks, kind=RuntimeError)


class Cost(skbn.InformationCriterion):
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
    raises(r"known only to .* nats, and not to 0\.001", learner.fit, rows)


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
    monkeypatch.setattr(solve, "_best_networks", returning(Found(parents, score, 0.0)))
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
    raises("a cycle of the columns", certify, scores, [0b10, 0b1, 0, 0, 0, 0], kind=RuntimeError)


@pytest.mark.parametrize("criterion", ["bic", BGe()])
def test_log_determinants_of_the_search_that_are_wrong_are_noticed(rows, criterion):
    parents = best_parents(rows, criterion=criterion)
    for change in [1e-9, 0.1, np.nan]:
        scores = LocalScoreTransformer(criterion).fit_transform(rows)
        GaussianBNLearner().fit(scores)
        functions, _ = scores.scorer.searched
        functions.of_family[parents[5] | 1 << 5] += change
        if change == 1e-9:
            certify(scores, parents)
            continue
        raises("log-determinant of the columns", certify, scores, parents, kind=RuntimeError)


def states_too_low(slab, best):
    best[np.arange(len(best)) & 0b1000 > 0] -= 1


def maxima_too_low(slab, best):
    slab.tables[slab.starts[3] : slab.starts[4]] -= 1


@pytest.mark.parametrize("defect", [states_too_low, maxima_too_low])
@pytest.mark.parametrize("constraints", [{}, {"required_edges": [(0, 6)], "max_parents": 4}])
def test_a_search_that_leaves_out_families_is_noticed(constraints, defect, monkeypatch):
    rows = make_gaussian_network(8, n_samples=60, random_state=4)[0]
    constrained = GaussianBNLearner(**constraints).fit(rows)
    assert constrained.dag_.number_of_nodes() == 8
    extend = Slab.extend

    def defective(slab, best, store, fixed):
        extend(slab, best, store, fixed)
        defect(slab, best)

    monkeypatch.setattr(Slab, "extend", defective)
    raises("the best scores of the set", constrained.fit, rows, kind=RuntimeError)


@pytest.mark.parametrize("n_outer", range(5))
def test_the_drawn_states_of_each_slab_are_right(n_outer):
    plan = SearchPlan(7, n_outer)
    log_det = np.random.default_rng(n_outer).normal(size=1 << 7)
    tables = np.random.default_rng(5).normal(size=(3, 7))
    tables[0, 3] = -np.inf
    allowed = [0b1111111 ^ 1 << x for x in range(7)]
    allowed[2] ^= 0b10001
    sets = [SetWeights(tables).of_all(log_det)] * 7
    families = DenseFamilies(sets, plan, allowed, [0, 0, 0, 1, 0, 0, 0b10])
    exact_search(families, plan)
    drawn = [draw_states(7, plan.n_inner, fixed) for fixed in range(1 << n_outer)]
    assert [None if each is None else each.n_outer for each in drawn] == [
        fixed.bit_count() if fixed.bit_count() <= 3 else None for fixed in range(1 << n_outer)
    ]

"""Plan, search and certify in one call, by whatever engine fits."""

import itertools

import numpy as np
import pytest
import reference
from block_tables import block_sample, mixed_blocks
from branch_and_cut_alone import without_dynamic_programs
from experiment_tables import experiment
from numpy.testing import assert_allclose
from problems import problem, resources

from skbn import BIC, BGe, GaussianBNLearner, LocalScoreTransformer
from skbn._core.subsets import mask_of, members_of
from skbn._scores.local_scores import LocalScores
from skbn._solver import planner
from skbn._solver.engines import GroupSearch, Optimum, SearchSettings
from skbn._solver.near_optimal import near_optimal
from skbn._solver.planner import plan_searches
from skbn._solver.solve import solve
from skbn.datasets import make_gaussian_network


class OrderByOrder(GroupSearch):
    """An engine that tries all orders of the columns and knows local scores only."""

    n_bytes = 0
    kernels = ()

    def __init__(self, columns):
        self.columns = columns

    def __str__(self):
        return "order by order"

    def cost(self):
        return 0

    def work(self):
        return 1

    def optimum(self, problem, resources):
        scores, offset = problem.scores, problem.score_offsets.sum()
        found = []
        for order in itertools.permutations(self.columns):
            parents = [scores.best_parents(x, candidates=order[:i]) for i, x in enumerate(order)]
            total = sum(map(scores.local_score, order, parents)) - offset
            masks = dict(zip(order, map(mask_of, parents), strict=True))
            found.append((total, [masks[x] for x in self.columns]))
        total, masks = max(found)
        resources.progress.advance(1)
        return Optimum(masks, total, 0.0)


def plan_order_by_order(shape, group, resources, settings):
    return OrderByOrder(group.columns)


def solved(scores, announce=None, **options):
    return solve(problem(scores), resources(announce=announce), **options)


@pytest.mark.parametrize("seed", range(3))
def test_a_third_engine_needs_only_a_place_among_the_engines(monkeypatch, seed):
    rows = make_gaussian_network(4, n_samples=60, random_state=seed)[0]
    scores = LocalScoreTransformer().fit_transform(rows)
    (expected,) = solved(scores)
    monkeypatch.setattr(planner, "ENGINES", (*planner.ENGINES, plan_order_by_order))
    announced = []
    (found,) = solved(scores, announce=announced.append)
    assert announced == ["order by order"]
    assert found.parents == expected.parents
    assert found.score == pytest.approx(expected.score, abs=1e-9)


def test_an_engine_that_fits_is_taken_in_place_of_a_cheaper_one_that_does_not(monkeypatch):
    scores = LocalScoreTransformer().fit_transform(np.random.default_rng(0).normal(size=(50, 8)))
    shape, tight = problem(scores).read(), resources(1000)
    with pytest.raises(ValueError, match=r"needs .* of memory"):
        plan_searches(shape, tight)
    monkeypatch.setattr(planner, "ENGINES", (*planner.ENGINES, plan_order_by_order))
    assert str(plan_searches(shape, tight)) == "order by order"


def test_penalties_are_solved_as_one_by_one():
    rows = make_gaussian_network(6, n_samples=80, random_state=1)[0]
    scores = LocalScoreTransformer(BIC()).fit_transform(rows)
    penalties = [0.5, 2.0, 8.0]
    for penalty, solution in zip(penalties, solved(scores, penalties=penalties), strict=True):
        alone = GaussianBNLearner(penalty=penalty).fit(rows)
        assert solution.score == alone.network_score_
        parents = [mask_of(alone.dag_.predecessors(x)) for x in range(6)]
        assert solution.parents == parents


# Engines and lists of problems with interventions and exogenous columns, against each other


M = 6
KNOWLEDGE = {
    "interventions": ([{0}, {1, 2}, {4}], []),
    "exogenous": ([], [1, 4]),
    "both": ([{0}, {1, 2}, {4}], [2, 3]),
}


def scores_of(targets, max_parents, criterion="bic", seed=0):
    rows, is_set = experiment(M, targets, n=40, seed=seed)
    transformer = LocalScoreTransformer(criterion, max_parents=max_parents)
    return transformer.fit_transform(rows, interventions=is_set)


def solution_of(scores, settings=None, **knowledge):
    return solve(problem(scores, **knowledge), resources(), settings or SearchSettings())[0]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", KNOWLEDGE)
def test_engines_agree(monkeypatch, kind, seed):
    targets, exogenous = KNOWLEDGE[kind]
    few = scores_of(targets, 2, seed=seed)
    expected = solution_of(few, exogenous=exogenous)
    assert expected.score == pytest.approx(
        solution_of(scores_of(targets, None, seed=seed), exogenous=exogenous, max_parents=2).score
    )
    order = SearchSettings(is_exact=False)
    assert solution_of(few, order, exogenous=exogenous).score <= expected.score + 1e-9
    without_dynamic_programs(monkeypatch)
    found = solution_of(few, exogenous=exogenous)
    assert found.score == pytest.approx(expected.score)
    assert found.is_optimal


@pytest.mark.parametrize("criterion", ["bic", "bge"])
@pytest.mark.parametrize("n_exogenous", range(1, M))
def test_exogenous_columns_are_a_first_tier_without_a_score(criterion, n_exogenous):
    outside = np.random.default_rng(n_exogenous).permutation(M)[:n_exogenous].tolist()
    scores = scores_of([], None, criterion)
    rest = [x for x in range(M) if x not in outside]
    among = [(a, b) for a in outside for b in outside if a != b]
    tiers = solution_of(scores, tiers=[outside, rest], forbidden_edges=among)
    own = sum(scores.local_score(x) for x in outside)
    found = solution_of(scores, exogenous=outside)
    assert found.score == pytest.approx(tiers.score - own, rel=1e-10)
    assert found.parents == tiers.parents


# Searches for the best network of nodes that have several columns each


def tables(seed, m=4, n=60):
    return mixed_blocks(m, n, np.random.default_rng(seed))


def network_scores(blocks, criterion="bic"):
    m = len(blocks)
    local = {
        family: reference.block_score(blocks, *family, criterion)
        for family in reference.families(m)
    }
    return {
        parents: sum(local[x, ps] for x, ps in enumerate(parents))
        for parents in reference.all_dags(m)
    }


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("max_parents", [None, 1])
@pytest.mark.parametrize("constrained", [False, True])
def test_the_best_network_is_that_of_the_enumeration(seed, max_parents, constrained):
    blocks = tables(seed)
    known = {"required_edges": [("v2", "v3")], "forbidden_edges": [("v0", "v1"), ("v3", "v0")]}
    scores = LocalScores._from_sample(block_sample(blocks), BIC(), max_parents=max_parents)
    (found,) = solve(problem(scores, **(known if constrained else {})), resources())
    best = max(
        score
        for parents, score in network_scores(blocks).items()
        if all(len(ps) <= (max_parents or 3) for ps in parents)
        and not (constrained and (2 not in parents[3] or 0 in parents[1] or 3 in parents[0]))
    )
    assert_allclose(found.score, best, rtol=1e-10)
    members = tuple(tuple(members_of(mask)) for mask in found.parents)
    assert_allclose(network_scores(blocks)[members], best, rtol=1e-10)
    assert found.is_optimal
    # The losses are those of leaving single edges out.
    for x, parents in enumerate(members):
        for p in parents:
            rest = [v for v in parents if v != p]
            loss = reference.block_score(blocks, x, parents) - reference.block_score(
                blocks, x, rest
            )
            assert_allclose(found.score_losses[p, x], loss, atol=1e-7)


def test_a_list_has_the_classes_of_the_enumeration():
    blocks = tables(7)
    classes = {}
    for parents, score in network_scores(blocks, "bge").items():
        classes.setdefault(reference.equivalence_class(parents), []).append(score)
    for members in classes.values():  # score-equivalence
        assert np.ptp(members) < 1e-8
    expected = sorted((members[0] for members in classes.values()), reverse=True)[:12]
    scores = LocalScores._from_sample(block_sample(blocks), BGe())
    found = near_optimal(problem(scores), resources(), n=12, within=None, equivalence_classes=True)
    assert_allclose(found.scores, expected, rtol=1e-10)


@pytest.mark.parametrize("max_parents", [2, None])
def test_searches_in_little_memory_and_by_orders_find_the_same(max_parents):
    blocks = tables(3, m=9, n=80)
    scores = LocalScores._from_sample(block_sample(blocks), BIC(), max_parents=max_parents)
    (best,) = solve(problem(scores), resources())
    (by_orders,) = solve(problem(scores), resources(), SearchSettings(is_exact=False))
    assert_allclose(by_orders.score, best.score, rtol=1e-12)
    masks = [mask_of(members_of(mask)) for mask in best.parents]
    assert_allclose(scores.scorer.network_terms(masks).sum(), best.score, rtol=1e-12)

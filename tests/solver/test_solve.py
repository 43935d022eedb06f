"""Plan, search and certify in one call, by whatever engine fits."""

import itertools

import numpy as np
import pytest
from problems import problem, resources

from skbn import BIC, GaussianBNLearner, LocalScoreTransformer
from skbn._core.subsets import mask_of
from skbn._solver import planner
from skbn._solver.engines import GroupSearch, Optimum
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

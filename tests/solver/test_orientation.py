"""The best directions of given pairs, against all of them, and of averaged networks."""

from itertools import combinations, product

import numpy as np
import pytest
import reference
from random_constraints import is_allowed, random_constraints

from skbn import BootstrapBNLearner, GaussianBNLearner, GaussianBNPosterior, LocalScoreTransformer
from skbn._core.subsets import mask_of, members_of
from skbn._solver import orientation
from skbn._solver.constraints import read_constraints
from skbn._solver.orientation import best_directions
from skbn._solver.solve import problem_of

pytestmark = pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")


def table(rng, n, m, density=0.4):
    X = rng.normal(size=(n, m))
    for child in range(m):
        for parent in range(child):
            if rng.random() < density:
                X[:, child] += rng.normal() * X[:, parent]
    X -= X.mean(axis=0)
    return (X / X.std(axis=0))[:, rng.permutation(m)]


def problem(X, criterion="bic", **settings):
    scores = LocalScoreTransformer(criterion).fit_transform(X)
    settings = {"max_parents": X.shape[1] - 1} | settings
    return problem_of(scores, read_constraints(scores.columns, **settings))


def directed(pairs, m):
    """Yield the masks of parents of all networks of these pairs."""
    for ways in product([False, True], repeat=len(pairs)):
        parents = [[] for _ in range(m)]
        for (a, b), is_back in zip(pairs, ways, strict=True):
            parents[a if is_back else b].append(b if is_back else a)
        if reference.is_acyclic(parents):
            yield [mask_of(each) for each in parents]


def score(problem, parents):
    return problem.score_of(range(len(parents)), parents)


def random_pairs(rng, m, most):
    pairs = list(combinations(range(m), 2))
    return [pairs[i] for i in rng.permutation(len(pairs))[: rng.integers(1, most + 1)]]


def joined(parents):
    return {tuple(sorted((x, z))) for x, mask in enumerate(parents) for z in members_of(mask)}


@pytest.mark.parametrize("seed", range(20))
def test_they_are_the_best_of_all_that_the_constraints_allow(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 7))
    settings = random_constraints(rng, m)
    own = problem(table(rng, 40, m), **settings)
    required = list(getattr(settings["required_edges"], "edges", settings["required_edges"]))
    pairs = [tuple(sorted(edge)) for edge in required]
    pairs += [pair for pair in random_pairs(rng, m, 8) if pair not in pairs]

    def allowed(some):
        return [
            each
            for each in directed(some, m)
            if all(is_allowed(x, members_of(mask), settings) for x, mask in enumerate(each))
        ]

    parents, is_best = best_directions(own.scorer, own.constraints, pairs, np.zeros((m, m)))
    assert is_best
    kept = []
    for i, pair in enumerate(pairs):
        rest = pairs[i + 1 : len(required)]  # a network lacks none of them
        if allowed([*kept, pair, *rest]):
            kept.append(pair)
    assert joined(parents) == {*kept}
    best = max(score(own, each) for each in allowed(kept))
    assert score(own, parents) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_larger_parts_are_climbed(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    m = 12
    own = problem(table(rng, 60, m, 0.25))
    pairs = random_pairs(rng, m, 25)
    arguments = own.scorer, own.constraints, pairs, rng.random((m, m))
    best, _ = best_directions(*arguments)
    monkeypatch.setattr(orientation, "_LARGEST_EXACT", 2)
    monkeypatch.setattr(orientation, "_MOST_NEIGHBOURS", 3)
    monkeypatch.setattr(orientation, "_WINDOW", 6)
    found, is_best = best_directions(*arguments)
    assert not is_best
    assert joined(found) == joined(best) == {*pairs}
    assert reference.is_acyclic([members_of(mask) for mask in found])
    assert score(own, best) - 3 < score(own, found) < score(own, best) + 1e-6


def test_shares_decide_between_equal_scores():
    own = problem(np.random.default_rng(0).normal(size=(30, 3)))
    pairs = [(0, 1), (1, 2), (0, 2)]
    for order in ([2, 0, 1], [1, 2, 0]):
        shares = np.full((3, 3), 0.4)
        shares[np.ix_(order, order)] += 0.2 * np.triu(np.ones((3, 3)), 1)
        parents, _ = best_directions(own.scorer, own.constraints, pairs, shares)
        before = [mask_of(order[: order.index(x)]) for x in range(3)]
        assert parents == before
    # In column order where nothing else does
    assert best_directions(own.scorer, own.constraints, pairs, np.zeros((3, 3)))[0] == [0, 1, 3]


def test_prior_odds_count():
    own, odds = problem(np.random.default_rng(0).normal(size=(30, 2)), "bge"), np.zeros((2, 2))
    odds[1, 0] = 1.0
    arguments = own.scorer, own.constraints, [(0, 1)]
    assert best_directions(*arguments, np.zeros((2, 2)), odds)[0] == [2, 0]


def below_the_best(X, learner, criterion):
    """Return how far the network of a fitted learner is below the best one of its pairs."""
    own, m = problem(X, criterion), X.shape[1]
    dag = learner.predict()
    found = [mask_of(dag.predecessors(x)) for x in range(m)]
    return max(score(own, each) for each in directed([*dag.edges], m)) - score(own, found)


def averaged(seed):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(4, 7)), int(rng.integers(30, 120))
    X = table(rng, n, m, rng.choice([0.2, 0.35, 0.5]))
    learner = BootstrapBNLearner(GaussianBNLearner(), n_resamples=20, random_state=0)
    yield X, learner.fit(X), "bic", learner.strength_ >= 0.5
    posterior = GaussianBNPosterior().fit(X)
    either = posterior.edge_probabilities_ + posterior.edge_probabilities_.T
    yield X, posterior, "bge", either > 0.5


def check_averages(seeds):
    for seed in seeds:
        for X, learner, criterion, is_joined in averaged(seed):
            edges = {tuple(sorted(edge)) for edge in learner.predict().edges}
            assert edges == {*map(tuple, np.argwhere(np.triu(is_joined, 1)).tolist())}
            assert below_the_best(X, learner, criterion) < 1e-4


def test_averaged_networks_are_the_best_of_their_pairs():
    check_averages(range(8))


@pytest.mark.slow
def test_many_averaged_networks_are_the_best_of_their_pairs():
    check_averages(range(8, 150))

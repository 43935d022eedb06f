"""Lists of near-optimal networks, against an enumeration of all networks."""

import re
from math import inf, log

import networkx as nx
import numpy as np
import pytest
import reference
from agreement import raises
from enumerated_networks import check_lists, ranking
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes, load_iris, load_wine

import skbn
from skbn._core.subsets import mask_of, members_of

ROWS = np.random.default_rng(0).normal(size=(60, 5)) @ np.triu(np.ones((5, 5)))


@pytest.mark.parametrize(
    ("m", "criterion"), [(2, "bic"), (3, "bge"), pytest.param(4, "bge", marks=pytest.mark.slow)]
)
def test_all_networks_and_all_classes_are_listed_in_order(m, criterion):
    rows, is_bge = ROWS[:, :m], criterion == "bge"
    scores_of = reference.all_bge_local_scores if is_bge else reference.all_local_scores
    expected = ranking(scores_of(rows), m)
    n = {2: 3, 3: 25, 4: 543}[m]
    assert len(expected) == n
    learner = skbn.GaussianBNLearner(criterion).fit(rows)
    assert not learner.near_optimal(n - 1, equivalence_classes=False).is_complete
    assert learner.near_optimal(n, equivalence_classes=False).is_complete
    assert len(learner.near_optimal(within=inf)) == {2: 2, 3: 11, 4: 185}[m]
    check_lists(learner, expected)


def listed_scores(rng, m):
    """Random scores of some families of m columns, and ParentSetScores that have them."""
    scores = dict.fromkeys(reference.families(m), -np.inf)
    families = []
    for x in range(m):
        listed = [p for child, p in scores if child == x and (rng.random() < 0.6 or not p)]
        for p in listed:
            scores[x, p] = float(rng.integers(-8, 0))  # with ties
        padded = [sorted(p) + [-1] * (m - 1 - len(p)) for p in listed]
        families.append((np.array(padded), np.array([scores[x, p] for p in listed])))
    return scores, skbn.ParentSetScores([f"x{i}" for i in range(m)], families)


@pytest.mark.parametrize("seed", range(3))
def test_listed_families_with_ties(seed):
    scores, listed = listed_scores(np.random.default_rng(seed), 4)
    learner = skbn.GaussianBNLearner().fit(listed)
    expected = ranking(scores, 4)
    near = learner.near_optimal(10**6, equivalence_classes=False)
    found = [nx.relabel_nodes(network.dag, lambda name: int(name[1:])) for network in near]
    parents = map(reference.parents_of, found)
    assert sorted(parents) == sorted(parents for _, parents in expected)
    assert_allclose(near.scores, [score for score, _ in expected])
    classes, best = learner.near_optimal(10**6), {}
    for score, parents in expected:  # the best of a class comes first
        best.setdefault(reference.equivalence_class(parents), score)
    assert_allclose(classes.scores, [*best.values()])
    raises("may rule out some members", classes.edge_frequencies, weighted=False)
    assert "n_members" not in classes.to_frame()


def networks_within(scores, m, bound):
    """All networks within a bound of the best, by recursion on the last sink in column order.

    A later sink of the network without this one would be a sink of the whole network, unless it is
    a parent of this one: `blocked` has the columns that must not be sinks.
    """
    of_child = [
        sorted(((s, mask_of(p)) for (x, p), s in scores.items() if x == child), reverse=True)
        for child in range(m)
    ]
    best = [0.0] * (1 << m)
    for columns in range(1, 1 << m):
        best[columns] = max(
            best[rest := columns ^ 1 << x] + next(s for s, mask in of_child[x] if mask & ~rest == 0)
            for x in members_of(columns)
        )

    def extend(columns, blocked, lost, parents):
        if not columns:
            yield parents
        for x in members_of(columns & ~blocked):
            rest = columns ^ 1 << x
            least = best[columns] - best[rest] - (bound - lost)
            for s, mask in of_child[x]:
                if s < least:
                    break
                if mask & ~rest == 0:
                    later = (blocked | rest >> x << x) & ~mask
                    more = lost + best[columns] - best[rest] - s
                    yield from extend(rest, later, more, {**parents, x: mask})

    for parents in extend((1 << m) - 1, 0, 0.0, {}):
        yield tuple(tuple(members_of(parents[x])) for x in range(m))


TABLES = {
    "iris": load_iris().data,
    "diabetes": np.c_[load_diabetes().data, load_diabetes().target][:, 2:],
    "wine": load_wine().data[:, :8],
}


@pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")
@pytest.mark.parametrize("factor", [3, 8, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", TABLES)
def test_all_within_a_bound_are_listed(name, factor):
    rows = TABLES[name]
    m = rows.shape[1]
    learner = skbn.GaussianBNLearner().fit(rows)
    scores = skbn.LocalScoreTransformer().fit_transform(rows)
    local = {(x, p): scores.local_score(x, p) for x, p in reference.families(m)}
    expected = set(networks_within(local, m, log(factor) + 1e-9))
    networks = learner.near_optimal(within=log(factor), equivalence_classes=False)
    assert networks.is_complete
    assert {reference.parents_of(network.dag) for network in networks} == expected
    assert len(networks) == len(expected)
    classes = learner.near_optimal(within=log(factor))
    assert classes.is_complete
    assert len(classes) == len({reference.equivalence_class(parents) for parents in expected})


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("constraints", [{}, {"tiers": [[2, 0], [1, 3]]}, {"max_parents": 1}])
def test_frequencies_of_a_complete_list_are_the_posterior(classes, constraints):
    rows = ROWS[:, :4]
    posterior = skbn.GaussianBNPosterior(structure_prior="uniform", **constraints).fit(rows)
    learner = skbn.GaussianBNLearner("bge", **constraints).fit(rows)
    near = learner.near_optimal(10**6, equivalence_classes=classes)
    assert_allclose(near.edge_frequencies(), posterior.edge_probabilities_, atol=1e-9)


def test_unweighted_frequencies_are_shares_of_the_list():
    near = skbn.GaussianBNLearner().fit(ROWS).near_optimal(7, equivalence_classes=False)
    counts = sum((network.coef_ != 0).astype(float) for network in near)
    assert_allclose(near.edge_frequencies(weighted=False), counts / 7)


def test_a_limited_list_begins_like_a_longer_one_and_says_so():
    learner = skbn.GaussianBNLearner().fit(ROWS)
    short, long = learner.near_optimal(5), learner.near_optimal(within=4.0)
    assert not short.is_complete
    assert long.is_complete
    assert_allclose(short.scores, long.scores[:5])
    n = len(long)
    assert learner.near_optimal(n, within=4.0).is_complete
    assert not learner.near_optimal(n - 1, within=4.0).is_complete
    assert_allclose(learner.near_optimal().scores, long.scores[long.scores >= long.scores[0] - 3])


def test_the_first_is_the_network_of_the_learner(wine):
    for learner in (skbn.GaussianBNLearner("bge"), skbn.GaussianBNLearnerCV(cv=3)):
        near = learner.fit(wine).near_optimal(2)
        assert near[0].dag.edges == learner.dag_.edges
        assert_allclose(near[0].coef_, learner.network_.coef_)
        assert near.scores[0] == pytest.approx(learner.network_score_, abs=1e-6)
        undirected = nx.get_edge_attributes(learner.network_.cpdag(), "undirected")
        assert nx.get_edge_attributes(near.cpdags[0], "undirected") == undirected


def test_a_hundred_columns_in_a_known_order():
    rows = np.random.default_rng(0).normal(size=(50, 100))
    learner = skbn.GaussianBNLearner(max_parents=1, tiers=[[x] for x in range(100)]).fit(rows)
    near = learner.near_optimal(3, equivalence_classes=False)
    scores = skbn.LocalScoreTransformer(max_parents=1).fit_transform(rows)
    table = scores.to_array()
    steps = []  # from a column's best parents to the next best
    for x in range(1, 100):
        listed = [[], *([v] for v in range(x))]
        local = sorted(table[scores.family_index(x, parents)] for parents in listed)
        steps.append(local[-1] - local[-2])
    assert_allclose(near.scores[0] - near.scores[1:], sorted(steps)[:2], atol=1e-8)


def test_memory_that_runs_short_names_what_helps(monkeypatch):
    def refuse(n_bytes, purpose, remedy):
        raise ValueError(f"{purpose} needs {n_bytes}; {remedy}")

    learner = skbn.GaussianBNLearner().fit(ROWS)
    monkeypatch.setattr("skbn._exact.k_best.require_memory", refuse)
    settings = {"within": inf, "equivalence_classes": False}
    raises("give a smaller n, or a smaller within", learner.near_optimal, **settings)


def test_jobs_and_column_order_do_not_change_the_list(wine):
    rows = wine.to_numpy()[:, :9]
    order = np.random.default_rng(0).permutation(9)
    one = skbn.GaussianBNLearner(n_jobs=1).fit(rows).near_optimal(200)
    two = skbn.GaussianBNLearner(n_jobs=2).fit(rows).near_optimal(200)
    np.testing.assert_array_equal(one.scores, two.scores)
    permuted = skbn.GaussianBNLearner().fit(rows[:, order]).near_optimal(200)
    assert_allclose(permuted.scores, one.scores, atol=1e-8)


def test_the_frame_describes_each_network():
    learner = skbn.GaussianBNLearner().fit(ROWS)
    near = learner.near_optimal(20)
    frame = near.to_frame()
    for i, network in enumerate(near):
        assert frame["n_edges"][i] == network.dag.number_of_edges()
        assert frame["n_differences"][i] == network.compare(near[0]).cpdag_distance
        assert frame["difference"][i] == near.scores[0] - near.scores[i]
        assert frame["bayes_factor"][i] == pytest.approx(np.exp(frame["difference"][i]))
    assert near.cpdags[0].number_of_edges() == frame["n_edges"][0]
    networks = learner.near_optimal(20, equivalence_classes=False)
    assert "n_members" not in networks.to_frame()
    distances = [network.compare(networks[0]).distance for network in networks]
    assert list(networks.to_frame()["n_differences"]) == distances
    assert re.match("20 best equivalence classes, down to.*; there are more", repr(near))
    assert "<table" in near._repr_html_()
    assert len(near[2:5]) == len(near.cpdags[2:5]) == 3


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"n": 0}, ValueError, "n must be at least 1; got 0"),
        ({"n": 2.5}, TypeError, "n must be an integer"),
        ({"within": -1}, ValueError, "within must not be negative; got -1"),
        ({"within": np.nan}, ValueError, "within must be a finite number"),
        ({"equivalence_classes": "no"}, TypeError, "ence_classes must be True or False; got 'no'"),
    ],
)
def test_bounds_are_checked(arguments, kind, message):
    raises(message, skbn.GaussianBNLearner().fit(ROWS).near_optimal, kind=kind, **arguments)

"""NonGaussianBNLearner, against enumeration, and what it refuses."""

from itertools import product

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import reference
from agreement import raises
from enumerated_networks import ranking
from numpy.testing import assert_allclose

import skbn
from skbn import NonGaussianBNLearner
from skbn.exceptions import DegenerateColumnsError, UncertainDirectionsWarning

pytestmark = pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")


def chain(n=200, seed=0):
    """Rows of 3 -> 1 -> 0 <- 2 with exponential noise."""
    rng = np.random.default_rng(seed)
    rows = rng.exponential(size=(n, 4))
    rows[:, 1] += 0.8 * rows[:, 3]
    rows[:, 0] += 0.7 * rows[:, 1] - 0.9 * rows[:, 2]
    return rows


def test_the_network_is_the_best_of_all():
    rows = chain(50)
    expected = ranking(reference.all_non_gaussian_scores(rows, np.log(50) / 2), 4)
    learner = NonGaussianBNLearner("bic").fit(rows)
    assert reference.parents_of(learner.network_.dag) == expected[0][1]
    near = learner.near_optimal(10**6)
    assert near.is_complete
    assert len(near) == len(expected) == 543
    scores = near.scores + 4 * np.log(50)  # intercepts and variances
    assert_allclose(scores, [score for score, _ in expected], atol=2e-5)
    losses = learner.reversal_losses_
    for parent, child in learner.dag_.edges:
        other = max(score for score, parents in expected if child in parents[parent])
        assert_allclose(losses[parent, child], expected[0][0] - other, atol=1e-5)
    assert np.isfinite(losses).sum() == learner.dag_.number_of_edges()


def test_the_directions_are_found():
    learner = NonGaussianBNLearner().fit(chain())
    assert {*learner.dag_.edges} == {(3, 1), (1, 0), (2, 0)}
    weights = nx.to_numpy_array(learner.predict(), nodelist=range(4))
    assert_allclose(weights[[3, 1, 2], [1, 0, 0]], [0.8, 0.7, -0.9], atol=0.15)
    assert all(data["fixed"] for _, _, data in learner.dag_.edges(data=True))
    assert {*learner.network_.cpdag().edges} == {*learner.dag_.edges}
    table = learner.network_.to_frame()
    assert (table["reversal_loss"] > 3).all()
    assert not table["reversible"].any()
    assert "reversal   loses at least" in learner.summary()
    assert learner.is_optimal_


def test_names_and_scales_do_not_matter():
    rows = chain()
    plain = NonGaussianBNLearner().fit(rows)
    order = [2, 0, 3, 1]
    frame = pd.DataFrame(rows * [1e-6, 1.0, 1e9, 3.0], columns=[*"abcd"]).iloc[:, order]
    named = NonGaussianBNLearner().fit(frame)
    assert {*named.dag_.edges} == {("abcd"[i], "abcd"[j]) for i, j in plain.dag_.edges}
    assert_allclose(named.reversal_losses_, plain.reversal_losses_[np.ix_(order, order)], atol=1e-6)


def test_what_is_known_beforehand_is_kept():
    def learned(**knowledge):
        return NonGaussianBNLearner(**knowledge).fit(chain())

    required = learned(required_edges=[(0, 1)])
    assert required.dag_.has_edge(0, 1)
    assert np.isinf(required.reversal_losses_[0, 1])
    assert learned(tiers=[[0], [1, 2, 3]]).dag_.in_degree(0) == 0
    assert learned(forbidden_edges=[(3, ...)]).dag_.out_degree(3) == 0
    assert not learned(forbidden_edges=[(i, ...) for i in range(4)]).dag_.edges
    assert {*learned(exogenous=[3]).dag_.edges} == {(3, 1), (1, 0), (2, 0)}


def test_gaussian_noise_is_warned_of():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(100, 3))
    rows[:, 1:] += rows[:, :-1]
    with pytest.warns(UncertainDirectionsWarning, match="2 of 2 edges .* network_.cpdag"):
        NonGaussianBNLearner().fit(rows)


def test_support_of_edges():
    bootstrap = skbn.BootstrapBNLearner(NonGaussianBNLearner(), n_resamples=10, random_state=0)
    bootstrap.fit(chain())
    assert bootstrap.edge_support_[3, 1] > 0.7
    assert {*bootstrap.dag_.edges} == {(3, 1), (1, 0), (2, 0)}
    assert bootstrap.effect(3, 0).mean == pytest.approx(0.56, abs=0.2)


def test_pairs_are_directed_in_the_best_way():
    rows = chain(40)
    rows[:, 2] += 0.3 * rows[:, 3]
    learner = NonGaussianBNLearner("loglik", max_parents=2).fit(rows)
    pairs = [(0, 1), (1, 2), (0, 2), (2, 3)]
    parents, is_best = learner._searched_.best_directions(pairs, np.zeros((4, 4)))
    scores = learner.local_scores_
    ways = [nx.DiGraph(turned) for turned in product(*((pair, pair[::-1]) for pair in pairs))]
    best = max(filter(nx.is_directed_acyclic_graph, ways), key=scores.network_score)
    assert is_best
    assert parents == [sum(1 << p for p in best.predecessors(x)) for x in range(4)]


WITH_A_HOLE = np.where(np.arange(800).reshape(200, 4) == 7, np.nan, chain())
COVARIANCES, SCORES = skbn.from_covariance(np.eye(3) + 0.5, 100), skbn.LocalScoreTransformer()
WITH_TEXT = pd.DataFrame(chain(), columns=[*"abcd"]).assign(group="a")


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (COVARIANCES, "shape of the noise. Give the table of its rows"),
        (SCORES.fit_transform(chain()), "LocalScores, which says nothing"),
        (WITH_A_HOLE, "missing"),
        (WITH_TEXT, "group.*Let GaussianBNLearner take"),
        (chain(4), "rows"),
        (chain()[:, [0, 1, 1]], "collinear"),
        (chain() * [1, 1, 1, 0], "zero variance"),
    ],
)
def test_tables_that_do_not_suit_it_are_refused(X, message):
    raises(message, NonGaussianBNLearner().fit, X, kind=(ValueError, TypeError))


@pytest.mark.parametrize("criterion", ["bge", skbn.BGe()])
def test_criteria_of_gaussian_noise_are_refused(criterion):
    with pytest.raises(ValueError, match=r'density of the noise is estimated. Use "bic"'):
        NonGaussianBNLearner(criterion).fit(chain())


def test_a_walk_that_takes_long_is_refused_with_what_shortens_it():
    rows = np.random.default_rng(0).exponential(size=(200, 14))
    advice = r"114,688 families of 14 columns .* Set time_limit=\d+, set max_parents=2, give tiers"
    raises(advice, NonGaussianBNLearner(time_limit=0.2, n_jobs=1).fit, rows)
    for settings in ({"max_parents": 2}, {"tiers": [range(7), range(7, 14)], "max_parents": 3}):
        NonGaussianBNLearner(time_limit=0.2, n_jobs=1, **settings).fit(rows)
    many = np.random.default_rng(0).exponential(size=(200, 40))
    raises(r"families needs .* set max_parents=2", NonGaussianBNLearner().fit, many)


@pytest.mark.parametrize("size", [0.0, 1e-12, 1e-9])
@pytest.mark.parametrize("max_parents", [None, 1])
def test_columns_that_rounding_tells_apart_are_refused(size, max_parents):
    rows = chain(100)
    rows[:, 2] = 7 * rows[:, 1] + size * rows[:, 2]
    with pytest.raises(DegenerateColumnsError, match="collinear"):
        NonGaussianBNLearner(max_parents=max_parents).fit(rows)


def test_interventions_are_refused():
    rows = chain()
    with pytest.raises(TypeError, match=r"takes no interventions\. Leave out the rows"):
        NonGaussianBNLearner().fit(rows, interventions=[0] * len(rows))


def test_a_posterior_is_refused():
    learner = NonGaussianBNLearner().fit(chain())
    with pytest.raises((TypeError, ValueError)):
        skbn.GaussianBNPosterior().fit(learner.local_scores_)


def test_the_example_of_direct_lingam():
    """The tutorial of the package lingam: six columns with uniform noise."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(1000, 6))
    edges = {(3, 0): 3, (3, 2): 6, (0, 1): 3, (2, 1): 2, (0, 5): 4, (0, 4): 8, (2, 4): -1}
    for child in (0, 2, 1, 5, 4):
        for (parent, other), weight in edges.items():
            if other == child:
                rows[:, child] += weight * rows[:, parent]
    dag = NonGaussianBNLearner().fit(rows).dag_
    found = nx.get_edge_attributes(dag, "weight")
    assert found == pytest.approx(edges, abs=0.2)

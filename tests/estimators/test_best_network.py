"""best_network: the learner's search as a plain function."""

import numpy as np
import pytest

from skbn import GaussianBNLearner, LocalScoreTransformer, ParentSetScores, best_network


@pytest.mark.parametrize(
    "knowledge", [{}, {"tiers": [[3, 4], ...], "forbidden_edges": [(0, 1)]}, {"max_parents": 1}]
)
def test_it_finds_the_network_of_the_learner(rows, knowledge):
    found = best_network(LocalScoreTransformer().fit_transform(rows), **knowledge)
    learner = GaussianBNLearner(**knowledge).fit(rows)
    assert found.score == learner.network_score_
    assert found.is_optimal
    assert found.gap == 0
    assert [*found.network.dag.edges] == [*learner.dag_.edges]
    np.testing.assert_array_equal(found.network.coef_, learner.network_.coef_)


def test_listed_scores_have_a_network_without_parameters():
    empty = np.empty((1, 0), dtype=np.int16)
    scores = ParentSetScores(["a", "b"], [(empty, [-3.0]), ([[-1], [0]], [-4.0, -2.5])])
    found = best_network(scores)
    assert found.score == -5.5
    assert [*found.network.dag.edges] == [("a", "b")]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tol": 0}, "'tol' parameter of best_network"),
        ({"max_parents": -1}, "'max_parents' parameter of best_network"),
        ({"max_memory": 1000}, "Raise max_memory to"),
    ],
)
def test_what_is_refused(rows, settings, message):
    with pytest.raises(ValueError, match=message):
        best_network(LocalScoreTransformer().fit_transform(rows), **settings)


def test_tables_are_refused_with_what_to_give(rows):
    with pytest.raises(TypeError, match=r"LocalScoreTransformer\(\)\.fit_transform"):
        best_network(rows)

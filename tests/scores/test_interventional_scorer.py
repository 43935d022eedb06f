"""Local scores with interventions, against least squares on the rows of each child."""

import pickle

import numpy as np
import pandas as pd
import pytest
import reference
from block_tables import indicators
from experiment_tables import TARGETS, experiment
from numpy.testing import assert_allclose

from skbn import EBIC, BGe, GaussianBNLearner, LocalScoreTransformer

M = 4


def scores_of(rows, is_set, criterion="bic", **settings):
    transformer = LocalScoreTransformer(criterion, **settings)
    return transformer.fit_transform(rows, interventions=is_set)


def assert_scores(scores, expected):
    found = {key: scores.local_score(*key) for key in expected}
    assert_allclose([*found.values()], [*expected.values()], rtol=1e-10)


@pytest.mark.parametrize("targets", TARGETS)
@pytest.mark.parametrize("criterion", ["bic", "aic", "loglik"])
def test_families_are_scored_by_their_childs_rows(targets, criterion):
    rows, is_set = experiment(M, targets)
    assert_scores(
        scores_of(rows, is_set, criterion),
        reference.all_experimental_scores(rows, is_set, criterion),
    )


def test_the_penalty_counts_the_childs_rows():
    rows, is_set = experiment(M, TARGETS[4])
    for scores in (
        scores_of(rows, is_set, penalty=2.5),
        scores_of(rows, is_set, penalty=1.0).with_penalty(2.5),
    ):
        assert_scores(scores, reference.all_experimental_scores(rows, is_set, penalty=2.5))


def test_ebic_counts_the_childs_rows():
    rows, is_set = experiment(M, TARGETS[4])
    scores = scores_of(rows, is_set, EBIC())
    for x, p in reference.families(M):
        alone = LocalScoreTransformer(EBIC()).fit_transform(rows[~is_set[:, x]])
        assert scores.local_score(x, p) == pytest.approx(alone.local_score(x, p), rel=1e-12)


@pytest.mark.parametrize("nu", [None, [0.5, -1.0, 0.0, 2.0]])
def test_bge_is_the_marginal_likelihood_of_the_childs_rows(nu):
    rows, is_set = experiment(M, TARGETS[4], n=8)
    scores = scores_of(rows, is_set, BGe(nu=nu))
    for x in range(M):
        expected = reference.all_bge_local_scores(rows[~is_set[:, x]], nu=nu)
        assert_scores(scores, {key: expected[key] for key in expected if key[0] == x})


def test_weights_count_rows_several_times():
    rows, is_set = experiment(M, TARGETS[5])
    weight = np.random.default_rng(0).integers(0, 3, len(rows))
    repeated = np.repeat(np.arange(len(rows)), weight)
    expected = reference.all_experimental_scores(rows[repeated], is_set[repeated])
    weighted = LocalScoreTransformer().fit_transform(
        rows, sample_weight=weight, interventions=is_set
    )
    assert_scores(weighted, expected)
    plain = LocalScoreTransformer().fit_transform(rows, sample_weight=weight)
    assert_scores(plain.with_interventions(is_set), expected)
    assert_scores(scores_of(rows, is_set).with_sample_weight(weight), expected)


def test_few_parents():
    rows, is_set = experiment(M, TARGETS[6])
    scores = scores_of(rows, is_set, max_parents=2)
    expected = reference.all_experimental_scores(rows, is_set)
    few = {key: score for key, score in expected.items() if len(key[1]) <= 2}
    assert_scores(scores, few)
    parents = [(1, 2), (), (), (1, 2)]
    masks = [6, 0, 0, 6]
    assert scores.scorer.network_terms(masks).sum() == pytest.approx(
        sum(few[x, p] for x, p in enumerate(parents))
    )


def test_nodes_of_several_columns():
    rows, is_set = experiment(3, [{0}, {1, 2}], n=60)
    codes = np.searchsorted([-0.7, 0.7], rows[:, 1])
    blocks = [rows[:, :1], indicators(codes), rows[:, [2]]]
    table = pd.DataFrame({"a": rows[:, 0], "b": pd.Categorical(codes), "c": rows[:, 2]})
    scores = LocalScoreTransformer(nodes="auto").fit_transform(table, interventions=is_set)
    for x, p in reference.families(3):
        own = [block[~is_set[:, x]] for block in blocks]
        expected = reference.block_score(own, x, p)
        names = [table.columns[v] for v in p]
        assert scores.local_score(table.columns[x], names) == pytest.approx(expected, rel=1e-10)


def test_arrays_coefficients_and_networks():
    rows, is_set = experiment(M, TARGETS[4])
    scores = scores_of(rows, is_set)
    expected = reference.all_experimental_scores(rows, is_set)
    array = np.asarray(scores.to_array())
    for x, p in expected:
        assert array[scores.family_index(x, p)] == pytest.approx(expected[x, p], rel=1e-10)
        intercept, coef, _ = reference.regression(rows[~is_set[:, x]], x, p)
        found = scores.coef(x, p)
        assert found[0] == pytest.approx(intercept, abs=1e-9)
        assert_allclose(found[1], coef, atol=1e-9)
    network = GaussianBNLearner().fit(scores).network_
    score = sum(expected[x, tuple(sorted(network.dag.predecessors(x)))] for x in range(M))
    assert scores.network_score(network) == pytest.approx(score, rel=1e-12)
    assert scores.network_score(network.dag) == pytest.approx(score, rel=1e-12)


def test_columns_set_in_the_same_rows_share_a_scorer():
    rows, is_set = experiment(M, [{0, 2}, {1, 3}])
    groups = scores_of(rows, is_set).scorer.row_groups
    assert [group.nodes for group in groups] == [[0, 2], [1, 3]]
    together = is_set[:, [0, 0, 0, 1]]
    assert [g.nodes for g in scores_of(rows, together).scorer.row_groups] == [[0, 1, 2], [3]]


def test_scores_are_pickled_and_kept_without_rows():
    rows, is_set = experiment(M, TARGETS[5])
    transformer = LocalScoreTransformer().fit(rows, interventions=is_set)
    expected = reference.all_experimental_scores(rows, is_set)
    assert_scores(transformer.local_scores_, expected)
    assert_scores(pickle.loads(pickle.dumps(transformer)).local_scores_, expected)
    assert_scores(pickle.loads(pickle.dumps(scores_of(rows, is_set))), expected)
    assert_scores(transformer.transform(rows, interventions=is_set), expected)
    assert_scores(transformer.transform(rows), reference.all_local_scores(rows))
    scores = scores_of(rows, is_set)
    assert_scores(scores[::2], reference.all_experimental_scores(rows[::2], is_set[::2]))
    learner = GaussianBNLearner().fit(transformer.local_scores_)
    assert {*learner.dag_.edges} == {*GaussianBNLearner().fit(scores).dag_.edges}
    assert learner.targets_ == [(0, 1), (1, 2)]

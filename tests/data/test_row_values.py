"""Weights of rows: as repeats, zeros and means, by labels, and what is refused."""

import pickle
import re
from fractions import Fraction
from functools import partial

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from agreement import assert_same_network, raises, warned_by
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from skbn import (
    BIC,
    EBIC,
    BGe,
    BootstrapBNLearner,
    GaussianBayesianNetwork,
    GaussianBNImputer,
    GaussianBNLearner,
    GaussianBNLearnerCV,
    GaussianBNPosterior,
    LocalScoreTransformer,
)
from skbn.datasets import make_gaussian_network
from skbn.exceptions import SampleWeightWarning

CRITERIA = ["bic", "aic", "loglik", EBIC(1.0), BIC(unbiased_variance=True), BGe(alpha_mu=0.3)]


def score_of(X, weight=None):
    """The score of the best network of weighted rows."""
    return GaussianBNLearner().fit(X, sample_weight=weight).network_score_


def weighted_table(seed, m=4, n=30):
    rng = np.random.default_rng(seed)
    rows = make_gaussian_network(m, n_samples=n, random_state=rng)[0]
    return rows, rng.integers(0, 4, n)


@pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")
@given(st.integers(0, 10_000), st.sampled_from(CRITERIA), st.sampled_from([None, 1, 2]))
def test_weights_are_repeats(seed, criterion, max_parents):
    rows, weight = weighted_table(seed)
    learner = GaussianBNLearner(criterion, max_parents=max_parents)
    weighted = clone(learner).fit(rows, sample_weight=weight)
    repeated = learner.fit(rows.repeat(weight, 0))
    assert_same_network(weighted, repeated, rtol=1e-7, score_rtol=1e-9)
    test, test_weight = weighted_table(seed + 1)
    held_out = weighted.score(test, sample_weight=test_weight)
    assert held_out == pytest.approx(repeated.score(test.repeat(test_weight, 0)), rel=1e-9)


@pytest.mark.filterwarnings("ignore::skbn.exceptions.SampleWeightWarning")
def test_weights_of_any_size_are_least_squares_weights():
    rows, _ = weighted_table(2)
    weight = np.random.default_rng(3).exponential(3.0, len(rows))
    scores = LocalScoreTransformer().fit_transform(rows, sample_weight=weight)
    design = np.c_[np.ones(len(rows)), rows[:, [0, 2]]] * np.sqrt(weight)[:, np.newaxis]
    coef, rss, _, _ = np.linalg.lstsq(design, rows[:, 1] * np.sqrt(weight))
    regression = scores.regression(1, [0, 2])
    assert regression.intercept == pytest.approx(coef[0])
    np.testing.assert_allclose(regression.coefficients, coef[1:])
    assert regression.residual_sum_of_squares == pytest.approx(rss[0])
    n = weight.sum()
    expected = -n / 2 * (np.log(2 * np.pi * rss[0] / n) + 1) - 4 * np.log(n) / 2
    assert scores.local_score(1, [0, 2]) == pytest.approx(expected)


def test_a_row_out_of_all_proportion_does_not_count_at_weight_zero():
    learner = GaussianBNLearner().fit(weighted_table(4)[0])
    rows = np.vstack([learner.network_.mean_, np.full(4, 1e300)])
    assert learner.score(rows) == -np.inf
    assert np.isfinite(learner.score(rows, sample_weight=[1, 0]))


EXPANSION = np.linspace(20, 60, 40)  # persons that each row of a survey stands for
COUNTS = np.tile([0, 1, 3, 30], 10)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (EXPANSION, "sums to 1600 over 40 rows of X, and not all are whole .* len.X. / sample_"),
        (1 + EXPANSION / 100, "sums to 56 over 40 rows of X, and not all are whole"),
        (np.full(40, 11), "sums to 440 over 40 rows of X. .* If they count the rows of an aggreg"),
        (EXPANSION / EXPANSION.mean(), None),
        ((EXPANSION / EXPANSION.mean()).astype(np.float32), None),
        (np.tile([0.0, 2.0, 1.5, 0.5], 10), None),
        (COUNTS, None),
        (COUNTS * (1 + 1e-12), None),
        (COUNTS / 10, None),
    ],
)
def test_weights_that_are_hardly_counts_are_warned_of_once(weight, message):
    rows = make_gaussian_network(3, n_samples=40, random_state=0)[0]
    holes = rows.copy()
    holes[0, 0] = np.nan
    network = GaussianBNLearner().fit(rows).network_
    is_set = [[0]] * 5 + [[]] * 35
    of_posteriors = BootstrapBNLearner(GaussianBNPosterior(), n_resamples=2, n_jobs=1)
    uses = [
        (GaussianBNLearner().fit, rows),
        (partial(GaussianBNLearner().fit, interventions=is_set), rows),
        (GaussianBNLearner(missing="em").fit, holes),
        (GaussianBNLearnerCV([1, 2], cv=2).fit, rows),
        (GaussianBNPosterior().fit, rows),
        (BootstrapBNLearner(n_resamples=2).fit, rows),
        (of_posteriors.fit, rows),
        (LocalScoreTransformer().fit_transform, rows),
        (LocalScoreTransformer().partial_fit, rows),
        (LocalScoreTransformer().fit(rows).transform, rows),
        (network.fit, rows),
        (network.fit_indices, rows),
        (GaussianBNImputer().fit, holes),
    ]
    for use, X in uses if weight is EXPANSION else uses[:1]:
        caught = warned_by(lambda use=use, X=X: use(X, sample_weight=weight))
        own = [each for each in caught if each.category is SampleWeightWarning]
        assert len(own) == (message is not None)
        for each in own:
            assert each.filename == __file__
            assert re.search(message, str(each.message))
    network.score(rows, sample_weight=weight)  # a mean, for which only their ratios matter


def test_cross_validation_learns_and_holds_out_by_weights():
    rows, weight = weighted_table(7, n=60)
    folds = [(np.arange(0, 40), np.arange(40, 60)), (np.arange(20, 60), np.arange(20))]
    learner = GaussianBNLearnerCV([1, 3], cv=folds).fit(rows, sample_weight=weight)
    for i, (train, test) in enumerate(folds):
        for j, penalty in enumerate([1, 3]):
            alone = GaussianBNLearner(penalty=penalty).fit(rows[train], sample_weight=weight[train])
            expected = alone.score(rows[test], sample_weight=weight[test])
            found = learner.cv_results_[f"split{i}_test_score"][j]
            assert found == pytest.approx(expected, rel=1e-12)


def test_local_scores_carry_their_weights():
    rows, weight = weighted_table(8)
    scores = LocalScoreTransformer().fit_transform(rows, sample_weight=weight)
    by_scores = GaussianBNLearner().fit(scores)
    by_rows = GaussianBNLearner().fit(rows, sample_weight=weight)
    assert by_scores.network_score_ == by_rows.network_score_
    assert by_scores.score(scores) == by_rows.score(rows, sample_weight=weight)
    part = slice(5, 25)
    assert score_of(scores[part]) == pytest.approx(score_of(rows[part], weight[part]))
    assert score_of(scores, weight) == by_rows.network_score_  # the same ones
    raises(r"another sample_weight.*one place only", score_of, scores, weight + 1)
    raises("another sample_weight", by_scores.score, scores, sample_weight=weight + 1)


def test_kinds_of_weights():
    rows, _ = weighted_table(9)
    expected = score_of(rows, np.full(30, 3.0))
    series = pd.Series([3] * 30, index=range(7, 37))
    for weight in ([3] * 30, series, np.full(30, 3, np.float32), np.array([Fraction(3)] * 30)):
        assert score_of(rows, weight) == expected


LABELS = [f"row {i}" for i in range(30)]


def uses_of_weights(table, weight):
    """What each public taker of weights makes of them, as numbers."""
    learner = GaussianBNLearner().fit(table)
    chain = GaussianBayesianNetwork(nx.DiGraph([("a", "b"), ("b", "c"), ("c", "d")])).fit(table)
    transformer = LocalScoreTransformer().fit(table)
    scores = transformer.transform(table)
    cv = GaussianBNLearnerCV([1, 2], cv=3).fit(table, sample_weight=weight)
    of_scores = [
        LocalScoreTransformer().partial_fit(table, sample_weight=weight).local_scores_,
        transformer.transform(table, sample_weight=weight),
        transformer.fit_transform(table, sample_weight=weight),
        transformer.fit(table, sample_weight=weight).local_scores_,
        scores.with_sample_weight(weight),
    ]
    return [
        *(each.local_score("a", ["b"]) for each in of_scores),
        *cv.cv_results_["mean_test_score"],
        cv.network_score_,
        learner.score(table, sample_weight=weight),
        score_of(table, weight),
        score_of(scores, weight),
        clone(chain).fit(table, sample_weight=weight).score(table),
        clone(chain).fit(scores, sample_weight=weight).score(table),
        chain.score(table, sample_weight=weight),
    ]


@pytest.mark.parametrize("index", [range(100, 130), pd.date_range("2026-01-01", periods=30)])
def test_weights_go_by_the_labels_of_the_rows(index):
    rows, weight = weighted_table(9)
    table = pd.DataFrame(rows, columns=list("abcd"), index=index)
    series = pd.Series(weight, index=table.index)
    expected = uses_of_weights(table, weight)
    assert uses_of_weights(table, series) == expected
    assert uses_of_weights(table, series.sort_values()) == expected
    scores = pickle.loads(pickle.dumps(LocalScoreTransformer().fit_transform(table)))
    assert score_of(scores, series.sort_values()) == score_of(table, weight)


def test_rows_that_share_a_label_have_weights_in_their_order():
    rows, weight = weighted_table(9)
    table = pd.DataFrame(rows, index=[*LABELS[:-1], LABELS[0]])
    series = pd.Series(weight, index=table.index)
    assert score_of(table, series) == score_of(table, weight)
    message = r"label 'row 0' comes more than once.*to_numpy\(\)"
    raises(message, score_of, table, series.sort_index(ascending=False))


def test_parts_of_labelled_scores_keep_their_labels():
    rows, weight = weighted_table(9)
    table = pd.DataFrame(rows, index=LABELS)
    series = pd.Series(weight, index=LABELS)
    scores = LocalScoreTransformer().fit_transform(table)
    for chosen in (slice(5, 25), np.arange(29, 4, -1), weight > 1):
        part, numbers = pickle.loads(pickle.dumps(scores[chosen])), np.arange(30)[chosen]
        found = score_of(part, series.iloc[numbers].sort_index())
        assert found == pytest.approx(score_of(table.iloc[numbers], weight[chosen]), rel=1e-12)
    mask = pd.Series(weight > 1, index=LABELS).sort_index()
    assert scores[mask].shape == (int((weight > 1).sum()), 4)
    np.testing.assert_array_equal(np.asarray(scores[mask]), rows[weight > 1])


def test_rows_without_labels_take_weights_in_their_order_unless_the_labels_say_otherwise():
    """A pipeline hands on arrays, and the labels of the frame that it was given."""
    rows, weight = weighted_table(9)
    expected = score_of(rows, weight)
    for index in (LABELS, range(30), range(59, 29, -1)):
        assert score_of(rows, pd.Series(weight, index=index)) == expected
    series = pd.Series(weight).sort_values()
    message = r"number them in another order.*sort_index\(\).*to_numpy\(\)"
    for X in (rows, rows.tolist(), LocalScoreTransformer().fit_transform(rows)):
        raises(message, score_of, X, series)
        assert score_of(X, series.sort_index()) == expected


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(29), r"a weight for each of the 30 rows; got an array of shape \(29,\)"),
        (np.ones((30, 2)), r"got an array of shape \(30, 2\)"),
        ([1.0] * 29 + [-0.5], "not negative.*-0.5 for row 29"),
        ([1.0, np.nan] + [1.0] * 28, "finite.*nan for row 1"),
        ([1.0] * 28 + [np.inf, 1], "finite.*inf for row 28"),
        (np.full(30, 1e-310), "sum of sample_weight is 3e-309; it must be from"),
        ([10**400] * 30, "number that is out of float64's range"),
        ([[1.0]] * 15 + [[1.0, 2.0]] * 15, r"an array of shape \(0, 0\)"),
        (3.0, r"an array of shape \(\)"),
        ([1.0] * 4 + [0.0] * 26, "n_samples = 4 rows"),
        ([10.0] * 4 + [0.0] * 26, "n_samples = 4 rows"),
    ],
)
@pytest.mark.filterwarnings("ignore::skbn.exceptions.SampleWeightWarning")
@pytest.mark.parametrize("estimator", [GaussianBNLearner(), GaussianBNLearnerCV(cv=3)])
def test_what_is_refused(estimator, weight, message):
    rows, _ = weighted_table(9)
    raises(message, estimator.fit, rows, sample_weight=weight)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (["heavy"] * 30, "must hold numbers; got 'heavy' for row 0"),
        (["1"] * 30, "must hold numbers; got '1' for row 0"),
        ([1.0] * 29 + [None], "must hold numbers; got 'None' for row 29"),
        (["2020-01-01"] * 30, "must hold numbers"),
        (np.full(30, 1, dtype="timedelta64[D]"), "must hold numbers"),
        (np.full(30, 1 + 2j), r"must hold numbers; got '\(1\+2j\)' for row 0"),
        (np.ma.masked_array(np.ones(30), [0, 1] * 15), "mask would be lost"),
        (dict.fromkeys(range(30), 1.0), r"is a dict. Pass pandas\.Series\(sample_weight\)"),
    ],
)
def test_what_is_no_number_is_no_weight(weight, message):
    rows, _ = weighted_table(9)
    raises(message, score_of, rows, weight, kind=TypeError)


@pytest.mark.parametrize("factor", [1e-290, 1e290])
def test_means_by_weights_of_any_size(factor):
    rows, weight = weighted_table(9)
    network = GaussianBNLearner().fit(rows).network_
    expected = network.score(rows * 1e3, sample_weight=weight)
    assert network.score(rows * 1e3, sample_weight=weight * factor) == pytest.approx(expected)


def test_a_part_without_weight_is_refused():
    rows, weight = weighted_table(10)
    weight[:10] = 0
    scores = LocalScoreTransformer().fit_transform(rows, sample_weight=weight)
    for read in (score_of, GaussianBNLearner().fit(scores).score):
        raises("sample_weight is zero for all rows", read, scores[:10])

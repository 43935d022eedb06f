"""Rows of resamples: in blocks, and within labels."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from joblib import parallel_config
from sklearn.base import clone

from skbn import BootstrapBNLearner, GaussianBNLearner, LocalScoreTransformer
from skbn._data.sample import Sample
from skbn._estimators.draws import plan_draws
from skbn.datasets import make_gaussian_network


def draws_of(n_rows, n_resamples=1, *, weight=None, labels=None, seed=0, **settings):
    settings = {"fraction": 1.0, "replace": True, "block_length": None, "stratify": None} | settings
    sample = Sample(np.zeros((n_rows, 2)), weight, labels)
    return plan_draws(sample, n_resamples, random_state=seed, **settings), sample


# Blocks


@given(st.integers(3, 40), st.integers(2, 39), st.floats(0.3, 1), st.integers(0, 99))
def test_blocks_are_of_consecutive_rows(n, block_length, fraction, seed):
    block_length = min(block_length, n - 1)
    if round(fraction * n) < 2:
        fraction = 1.0
    draws, sample = draws_of(n, 3, block_length=block_length, fraction=fraction, seed=seed)
    for number in range(3):
        rows = draws.rows(number)
        assert len(rows) == round(fraction * n)
        assert 0 <= rows.min() <= rows.max() < n
        for start in range(0, len(rows), block_length):
            block = rows[start : start + block_length]
            assert (np.diff(block) == 1).all()
            assert block[0] <= n - block_length
        counts = np.zeros(n)
        np.add.at(counts, rows, 1)
        np.testing.assert_array_equal(draws.weight(number, sample), counts)


@pytest.mark.parametrize("block_length", [2, 3, 5])
def test_rows_are_drawn_as_often_as_blocks_have_them(block_length):
    n, n_resamples = 9, 4000
    draws, sample = draws_of(n, n_resamples, block_length=block_length)
    found = np.mean([draws.weight(number, sample) for number in range(n_resamples)], axis=0)
    starts = np.arange(n - block_length + 1)
    n_blocks = -(-n // block_length)
    expected = np.zeros(n)
    for block in range(n_blocks):
        for start in starts:
            length = min(block_length, n - block * block_length)
            expected[start : start + length] += 1 / len(starts)
    np.testing.assert_allclose(found, expected, atol=0.08)  # five standard deviations
    assert expected.sum() == pytest.approx(n)


def test_blocks_of_one_row_are_single_rows():
    alone, _ = draws_of(20, block_length=1)
    without, _ = draws_of(20)
    np.testing.assert_array_equal(alone.rows(0), without.rows(0))


@pytest.fixture(scope="module")
def rows():
    return make_gaussian_network(4, n_samples=60, random_state=2)[0]


def test_networks_are_those_of_the_blocks(rows):
    settings = {"n_resamples": 4, "block_length": 6, "random_state": 3}
    bootstrap = BootstrapBNLearner(**settings).fit(rows)
    draws, _ = draws_of(60, 4, block_length=6, seed=3)
    for number, network in enumerate(bootstrap.networks_):
        refit = GaussianBNLearner().fit(rows[draws.rows(number)]).network_
        np.testing.assert_allclose(network.coef_, refit.coef_, rtol=1e-9, atol=1e-12)
    with parallel_config("threading", n_jobs=2):
        again = clone(bootstrap).fit(LocalScoreTransformer().fit_transform(rows))
    np.testing.assert_array_equal(again.edge_support_, bootstrap.edge_support_)
    for found, expected in zip(again.networks_, bootstrap.networks_, strict=True):
        np.testing.assert_array_equal(found.coef_, expected.coef_)


@pytest.mark.slow
def test_missing_values_go_with_their_rows(rows):
    rows = np.where(np.random.default_rng(0).random(rows.shape) < 0.05, np.nan, rows)
    learner = GaussianBNLearner(missing="em")
    bootstrap = BootstrapBNLearner(learner, n_resamples=1, block_length=6, random_state=3)
    draws, _ = draws_of(60, block_length=6, seed=3)
    expected = learner.fit(rows[draws.rows(0)]).network_
    (network,) = bootstrap.fit(rows).networks_
    assert set(network.dag.edges) == set(expected.dag.edges)
    np.testing.assert_allclose(network.coef_, expected.coef_, rtol=1e-4, atol=1e-6)


def test_blocks_have_the_weights_of_their_rows(rows):
    weight = 1.0 + np.arange(60) % 3
    draws, sample = draws_of(60, weight=weight, block_length=7)
    counts = np.bincount(draws.rows(0), minlength=60)
    np.testing.assert_array_equal(draws.weight(0, sample), counts * weight)


@pytest.mark.parametrize(
    ("settings", "fit", "words"),
    [
        ({"block_length": 60}, {}, r"less than the number of rows, 60.*got 60.*it is 4\."),
        ({"block_length": 6, "replace": False, "sample_fraction": 0.5}, {}, "Set replace=True"),
        ({"block_length": 6}, {"stratify": [0, 1] * 30}, "Give one of them"),
        (
            {"block_length": 6},
            {"sample_weight": [1.0] * 7 + [0.0] + [1.0] * 52},
            "sample_weight is 0 for row 7. Leave out",
        ),
        ({"block_length": 0}, {}, "'block_length' parameter of BootstrapBNLearner must be an int"),
        (
            {"block_length": 2.5},
            {},
            "'block_length' parameter of BootstrapBNLearner must be an int",
        ),
    ],
)
def test_blocks_that_cannot_be_drawn(rows, settings, fit, words):
    with pytest.raises(ValueError, match=words):
        BootstrapBNLearner(n_resamples=2, **settings).fit(rows, **fit)


# Labels


@given(st.lists(st.sampled_from("abc"), min_size=4, max_size=30), st.booleans())
def test_each_label_has_its_share_of_the_rows(labels, replace):
    fraction = 1.0 if replace else 0.7
    counts = {label: labels.count(label) for label in labels}
    shares = {label: round(fraction * count) for label, count in counts.items()}
    assume(all(shares.values()) and (replace or shares != counts))
    draws, sample = draws_of(len(labels), stratify=labels, fraction=fraction, replace=replace)
    weight = draws.weight(0, sample)
    for label, share in shares.items():
        assert weight[np.array(labels) == label].sum() == share
    if not replace:
        assert weight.max() == 1


def test_rows_of_weight_0_are_not_drawn_within_labels():
    labels, weight = np.array([*"aaaabbbbcc"]), np.array([1, 0, 2, 1, 1, 1, 0, 0, 0, 0.0])
    draws, sample = draws_of(10, weight=weight, stratify=labels)
    counts = np.bincount(draws.rows(0), minlength=10)
    assert (counts[:4].sum(), counts[4:8].sum(), counts[8:].sum()) == (3, 2, 0)
    np.testing.assert_array_equal(draws.weight(0, sample), counts * weight)


def test_labels_of_a_series_go_to_the_rows_with_its_index(rows):
    X = pd.DataFrame(rows, columns=list("wxyz"), index=[f"row {i}" for i in range(60)])
    labels = pd.Series(np.repeat([0, 1, 2], 20), X.index)
    bootstrap = BootstrapBNLearner(n_resamples=3, random_state=0)
    expected = bootstrap.fit(X, stratify=labels.to_numpy()).edge_support_
    np.testing.assert_array_equal(bootstrap.fit(X, stratify=labels[::-1]).edge_support_, expected)
    scores = LocalScoreTransformer().fit_transform(X)
    np.testing.assert_array_equal(
        bootstrap.fit(scores, stratify=labels[::-1]).edge_support_, expected
    )
    with pytest.raises(ValueError, match=r"stratify has no value .* 'row 59'"):
        bootstrap.fit(X, stratify=labels[:-1])


def test_labels_that_cannot_be_drawn(rows):
    with pytest.raises(ValueError, match="none of those that stratify labels 'b', which are 1"):
        BootstrapBNLearner(sample_fraction=0.3).fit(rows, stratify=["a"] * 59 + ["b"])
    with pytest.raises(ValueError, match="stratify must have a value for each of the 60 rows"):
        BootstrapBNLearner().fit(rows, stratify=[0, 1])

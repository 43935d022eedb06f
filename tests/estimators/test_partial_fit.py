"""Rows in chunks: the whole table's result, found when it is asked for."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skbn import EBIC, BGe, GaussianBNLearner, LocalScoreTransformer
from skbn.datasets import make_gaussian_network

LAZY = ("dag_", "network_", "network_score_", "criterion_")


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data.iloc[:, :8]


def fed(estimator, *chunks, **options):
    for chunk in chunks:
        assert estimator.partial_fit(chunk, **options) is estimator
    return estimator


def assert_same_result(learner, expected):
    assert list(learner.dag_.edges) == list(expected.dag_.edges)
    assert learner.network_score_ == pytest.approx(expected.network_score_, rel=1e-11)
    for name in ("coef_", "intercept_", "noise_variance_", "mean_"):
        np.testing.assert_allclose(
            getattr(learner.network_, name), getattr(expected.network_, name), rtol=1e-8, atol=1e-10
        )


@settings(max_examples=30)
@given(
    st.integers(0, 10_000),
    st.lists(st.integers(1, 12), min_size=1, max_size=6),
    st.sampled_from(["bic", EBIC(1.0), BGe(alpha_mu=0.3)]),
)
def test_chunks_are_as_good_as_the_whole(seed, sizes, criterion):
    sizes = [*sizes, 10]
    rows = make_gaussian_network(4, n_samples=sum(sizes), random_state=seed)[0]
    chunks = np.split(rows, np.cumsum(sizes)[:-1])
    whole = GaussianBNLearner(criterion).fit(rows)
    assert_same_result(fed(GaussianBNLearner(criterion), *chunks), whole)
    scores = fed(LocalScoreTransformer(criterion), *chunks).local_scores_
    assert_same_result(GaussianBNLearner().fit(scores), whole)
    continued = GaussianBNLearner(criterion).fit(np.vstack([chunks[-1], chunks[0]]))
    assert_same_result(fed(continued, *chunks[1:-1]), whole)


def test_chunks_of_weighted_rows(wine):
    weight = np.random.default_rng(0).integers(0, 4, len(wine))
    whole = GaussianBNLearner().fit(wine, sample_weight=weight)
    learner = GaussianBNLearner()
    for part in (slice(0, 50), slice(50, 178)):
        learner.partial_fit(wine[part], sample_weight=weight[part])
    assert_same_result(learner, whole)
    learner.partial_fit(wine[:20] * 1000, sample_weight=np.zeros(20))  # which changes nothing
    assert_same_result(learner, whole)


def test_chunks_without_weight_may_come_first(wine):
    weight = np.arange(len(wine)) % 3
    whole = GaussianBNLearner().fit(wine, sample_weight=weight)
    learner, transformer = GaussianBNLearner(), LocalScoreTransformer()
    for i in range(len(wine)):
        for estimator in (learner, transformer):
            estimator.partial_fit(wine[i : i + 1], sample_weight=weight[i : i + 1])
    assert_same_result(learner, whole)
    assert_same_result(GaussianBNLearner().fit(transformer.local_scores_), whole)
    nothing = fed(GaussianBNLearner(), wine, wine, sample_weight=np.zeros(len(wine)))
    with pytest.raises(ValueError, match="no rows to compute scores from"):
        nothing.predict()
    with pytest.raises(ValueError, match="no rows to compute scores from"):
        GaussianBNLearner("bge").partial_fit(wine, sample_weight=np.zeros(len(wine))).predict()


def test_names_of_the_first_chunk_are_those_of_the_nodes(wine):
    learner = fed(GaussianBNLearner(), wine[:100], wine[100:])
    assert list(learner.predict(wine)) == list(wine.columns)
    assert list(learner.feature_names_in_) == list(wine.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        learner.partial_fit(wine[wine.columns[::-1]])
    transformer = fed(LocalScoreTransformer(), wine[:100], wine[100:])
    assert transformer.local_scores_.columns == list(wine.columns)


def test_the_search_waits_until_its_result_is_asked_for(wine, monkeypatch):
    searches = []
    search = GaussianBNLearner._search

    def counted(self, *arguments):
        searches.append(self)
        return search(self, *arguments)

    monkeypatch.setattr(GaussianBNLearner, "_search", counted)
    learner = fed(GaussianBNLearner(), wine[:60], wine[60:120])
    check_is_fitted(learner)
    # Neither who looks at it, nor who copies it, asks for the result.
    assert "partial_fit" in dir(learner)
    assert not set(LAZY) & set(dir(learner))
    assert "GaussianBNLearner" in learner._repr_html_()
    copied = pickle.loads(pickle.dumps(learner))
    assert not searches
    for _ in range(2):
        assert learner.score(wine) == learner.score_samples(wine).mean()
        assert learner.dag_ is learner.dag_
    assert searches == [learner]
    assert set(LAZY) <= set(dir(learner))
    assert_same_result(fed(copied, wine[120:]), GaussianBNLearner().fit(wine))


def test_a_result_is_of_all_rows_so_far(wine):
    learner = fed(GaussianBNLearner(), wine[:100])
    assert_same_result(learner, GaussianBNLearner().fit(wine[:100]))
    assert_same_result(fed(learner, wine[100:]), GaussianBNLearner().fit(wine))
    learner.set_params(penalty=5.0).partial_fit(wine[:1])
    again = GaussianBNLearner(penalty=5.0).fit(pd.concat([wine, wine[:1]]))
    assert_same_result(learner, again)


def test_fit_begins_anew(wine):
    learner = fed(GaussianBNLearner(), wine[:100] * 2).fit(wine)
    assert_same_result(learner, GaussianBNLearner().fit(wine))
    transformer = fed(LocalScoreTransformer(), wine[:100] * 2).fit(wine)
    assert len(transformer.local_scores_) == len(wine)
    assert not hasattr(clone(learner), "dag_")


def test_a_chunk_that_is_refused_changes_nothing(wine):
    expected = GaussianBNLearner().fit(wine)
    learner = fed(GaussianBNLearner(), wine[:100])
    transformer = fed(LocalScoreTransformer(), wine[:100])
    bad = wine[100:].copy()
    bad.iloc[3, 2] = np.nan
    for estimator in (learner, transformer):
        with pytest.raises(ValueError, match=rf"column '{wine.columns[2]}', row 3"):
            estimator.partial_fit(bad)
        with pytest.raises(ValueError, match="feature"):
            estimator.partial_fit(wine.iloc[:, :5])
        with pytest.raises(ValueError, match="not negative"):
            estimator.partial_fit(wine[100:], sample_weight=-np.ones(78))
        fed(estimator, wine[100:])
    assert_same_result(learner, expected)
    assert_same_result(GaussianBNLearner().fit(transformer.local_scores_), expected)


@pytest.mark.parametrize("estimator", [GaussianBNLearner(), LocalScoreTransformer()])
def test_a_first_chunk_that_is_refused_leaves_it_unfitted(estimator):
    with pytest.raises(ValueError, match="column 1, row 1"):
        estimator.partial_fit([[1, 2], [3, np.inf]])
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)
    fed(estimator, [[1, 2, 3]])  # of other columns


def test_what_fit_refuses_is_refused_where_the_result_is_asked_for():
    learner = fed(GaussianBNLearner(), [[1.0, 2.0]])
    with pytest.raises(ValueError, match="n_samples = 1 rows"):
        learner.predict()
    fed(learner, [[1.0, 3.0]], [[1.0, 4.0]])
    with pytest.raises(ValueError, match="Column 0 has zero variance"):
        _ = learner.dag_
    fed(learner, [[2.0, 3.0]])
    assert learner.dag_.number_of_nodes() == 2
    with pytest.raises(ValueError, match="'penalty' parameter"):
        learner.set_params(penalty=-1).partial_fit([[2.0, 2.0]])
    with pytest.raises(ValueError, match="'penalty' parameter"):
        LocalScoreTransformer(penalty=-1).partial_fit([[2.0, 2.0]])


def test_scores_and_rows_do_not_mix(wine):
    transformer = fed(LocalScoreTransformer(), wine)
    scores = transformer.local_scores_
    for estimator in (GaussianBNLearner(), LocalScoreTransformer()):
        with pytest.raises(TypeError, match="takes tables"):
            estimator.partial_fit(scores)
    weighted = LocalScoreTransformer("aic").fit_transform(wine)
    learner = GaussianBNLearner().fit(weighted, sample_weight=np.ones(len(wine)))
    with pytest.raises(ValueError, match="fitted to scores"):
        learner.partial_fit(wine)  # whose criterion would be another
    learner = GaussianBNLearner().fit(scores)
    with pytest.raises(ValueError, match="fitted to scores"):
        learner.partial_fit(wine)
    with pytest.raises(TypeError, match="do not keep the rows"):
        learner.score(scores)
    with pytest.raises(TypeError, match="do not keep the rows"):
        np.asarray(scores)
    with pytest.raises(TypeError, match="do not keep the rows"):
        scores[:10]
    assert list(learner.predict(scores)) == list(wine.columns)
    assert "178 rows x 8 columns" in repr(scores)
    assert scores.best_parents("ash") == (
        LocalScoreTransformer().fit_transform(wine).best_parents("ash")
    )

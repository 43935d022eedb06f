"""Rows in chunks: the transformer's scores are those of the whole table."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from agreement import assert_same_network, raises
from hypothesis import given
from hypothesis import strategies as st

from skbn import EBIC, BGe, GaussianBNLearner, LocalScoreTransformer
from skbn.datasets import make_gaussian_network


@pytest.fixture(scope="module")
def wine(wine):
    return wine.iloc[:, :8]


def fed(transformer, *chunks, **options):
    for chunk in chunks:
        assert transformer.partial_fit(chunk, **options) is transformer
    return transformer


def assert_same(transformer, expected):
    assert_same_network(GaussianBNLearner().fit(transformer.local_scores_), expected)


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
    assert_same(fed(LocalScoreTransformer(criterion), *chunks), whole)
    continued = LocalScoreTransformer(criterion).fit(np.vstack([chunks[-1], chunks[0]]))
    assert_same(fed(continued, *chunks[1:-1]), whole)


@pytest.mark.parametrize("size", [1, 50])  # of single rows, the first have weight 0
def test_chunks_of_weighted_rows(wine, size):
    weight, transformer = np.arange(len(wine)) % 3, LocalScoreTransformer()
    whole = GaussianBNLearner().fit(wine, sample_weight=weight)
    for i in range(0, len(wine), size):
        fed(transformer, wine[i : i + size], sample_weight=weight[i : i + size])
    assert_same(transformer, whole)
    fed(transformer, wine[:20] * 1000, sample_weight=np.zeros(20))  # which changes nothing
    assert_same(transformer, whole)
    for criterion in ("bic", "bge"):
        nothing = fed(LocalScoreTransformer(criterion), wine, sample_weight=np.zeros(len(wine)))
        raises("no rows to compute scores from", GaussianBNLearner().fit, nothing.local_scores_)


@pytest.mark.parametrize(
    "of",
    [
        *(lambda X: X, pd.DataFrame.to_numpy, lambda X: X.to_numpy().tolist(), pl.from_pandas),
        *(pa.Table.from_pandas, lambda X: dd.from_pandas(X, npartitions=2)),
    ],
)
def test_chunks_may_be_empty(wine, of):
    whole = GaussianBNLearner().fit(of(wine) if hasattr(of(wine), "shape") else wine.to_numpy())
    parts = wine[:0], wine[:100], wine[:0], wine[100:]
    for chunks in (parts, parts[::-1]):
        assert_same(fed(LocalScoreTransformer(), *map(of, chunks)), whole)
    nothing = fed(LocalScoreTransformer(), wine[:0])
    raises("no rows to compute scores from", GaussianBNLearner().fit, nothing.local_scores_)


def test_chunks_without_rows_tell_no_levels(wine):
    table = wine.iloc[:, :3].assign(kind=["a", "b"] * 89)
    whole = GaussianBNLearner(nodes="auto").fit(table)
    assert_same(fed(LocalScoreTransformer(nodes="auto"), table[:0], table[:90], table[90:]), whole)


def test_names_of_the_first_chunk_are_those_of_the_nodes(wine):
    transformer = fed(LocalScoreTransformer(), wine[:100], wine[100:])
    assert transformer.local_scores_.columns == list(wine.columns)
    raises("feature names should match", transformer.partial_fit, wine[wine.columns[::-1]])


def test_a_result_is_of_all_rows_so_far_and_fit_begins_anew(wine):
    transformer = fed(LocalScoreTransformer(), wine[:100])
    assert_same(transformer, GaussianBNLearner().fit(wine[:100]))
    assert_same(fed(transformer, wine[100:]), GaussianBNLearner().fit(wine))
    transformer.set_params(penalty=5.0).partial_fit(wine[:1])
    again = GaussianBNLearner(penalty=5.0).fit(pd.concat([wine, wine[:1]]))
    assert_same(transformer, again)
    assert len(transformer.fit(wine).local_scores_) == len(wine)
    assert_same(transformer, GaussianBNLearner(penalty=5.0).fit(wine))


def test_too_few_rows_so_far_are_refused_by_the_learner():
    transformer = fed(LocalScoreTransformer(), [[1.0, 2.0]])
    learner = GaussianBNLearner()
    raises("n_samples = 1 rows", learner.fit, transformer.local_scores_)
    fed(transformer, [[1.0, 3.0]], [[1.0, 4.0]])
    raises("Column 0 has zero variance", learner.fit, transformer.local_scores_)
    fed(transformer, [[2.0, 3.0]])
    assert learner.fit(transformer.local_scores_).dag_.number_of_nodes() == 2
    raises("'penalty' parameter", transformer.set_params(penalty=-1).partial_fit, [[2.0, 2.0]])


def test_scores_of_rows_that_were_not_kept(wine):
    transformer = fed(LocalScoreTransformer(), wine)
    scores = transformer.local_scores_
    raises("Pass the table", transformer.partial_fit, scores, kind=TypeError)
    learner = GaussianBNLearner().fit(scores)
    assert learner.score(scores) == pytest.approx(learner.score(wine), rel=1e-12)
    raises("cannot be", learner.score_samples, scores, kind=TypeError)
    raises("cannot be", np.asarray, scores, kind=TypeError)
    raises("cannot be", lambda: scores[:10], kind=TypeError)
    assert list(learner.predict(scores)) == list(wine.columns)
    assert "178 rows x 8 columns" in repr(scores)
    of_rows = LocalScoreTransformer().fit_transform(wine)
    assert scores.best_parents("ash") == of_rows.best_parents("ash")

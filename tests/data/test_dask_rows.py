"""Tables of dask: the same as in memory, block by block, and never in memory as a whole."""

import subprocess
import sys
from functools import cache

import dask
import dask.array as da
import dask.dataframe as dd
import distributed
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from agreement import assert_same_network, raises
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_info

from skbn import (
    BootstrapBNLearner,
    GaussianBayesianNetwork,
    GaussianBNLearner,
    GaussianBNLearnerCV,
    GaussianBNPosterior,
    LocalScoreTransformer,
)

NAMES = ["a", "b", "c"]


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def rows(n=100, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, 3))
    rows[:, 1] += rows[:, 0]
    return rows + np.array([0, 100, 0])


def weights(n=100):
    return np.random.default_rng(1).integers(0, 4, n).astype(float)


def frame(n_partitions=7, **others):
    table = pd.DataFrame(rows(), columns=NAMES).assign(**others)
    return dd.from_pandas(table, npartitions=n_partitions)


@cache
def arrays():
    """The same rows in blocks of many kinds."""
    X = da.from_array(rows(), chunks=(17, 3))
    return {
        "one block": da.from_array(rows(), chunks=(100, 3)),
        "many blocks": X,
        "blocks of a row": da.from_array(rows(), chunks=(1, 3)),
        "blocks of columns": da.from_array(rows(), chunks=(30, 2)),
        "empty blocks": da.concatenate([X[:0], X[:40], X[40:40], X[40:]]),
        "unknown sizes": X[X[:, 1] > -np.inf],
        "unknown sizes of columns": X.rechunk((17, 1))[X[:, 1] > -np.inf],
        "lost rows": X.map_blocks(lambda block: block, dtype=float, chunks=((np.nan,) * 6, (3,))),
        "of objects": X.astype(object),
        "of a frame": frame().to_dask_array(),
    }


def scores_of(X, weight=None):
    return LocalScoreTransformer().fit_transform(X, sample_weight=weight)


def fit(X, weight=None, **settings):
    return GaussianBNLearner(**settings).fit(X, sample_weight=weight)


def assert_same_statistics(scores, expected, accuracy=1e-12):
    a, b = scores.statistics, expected.statistics
    np.testing.assert_allclose(np.abs(a.factor), np.abs(b.factor), rtol=0, atol=accuracy)
    np.testing.assert_allclose(a.mean, b.mean, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(a.scale, b.scale, rtol=accuracy)
    assert a.n_samples == b.n_samples
    assert scores.shape[1] == expected.shape[1]


@pytest.fixture
def not_in_memory(monkeypatch):
    """Make it an error to bring an array or a data frame of dask into memory."""

    def refused(*args, **kwargs):
        raise AssertionError("the whole table was read")

    for kind in (da.Array, dd.DataFrame):
        for method in ("compute", "persist", "__array__"):
            monkeypatch.setattr(kind, method, refused)


# The same as in memory


@pytest.mark.parametrize("kind", arrays())
@pytest.mark.usefixtures("not_in_memory")
def test_an_array_gives_what_its_rows_give(kind):
    X, table = arrays()[kind], rows()
    transformer = LocalScoreTransformer().fit(X)
    by_parts = LocalScoreTransformer().partial_fit(X).local_scores_
    for scores in (transformer.local_scores_, transformer.transform(X), scores_of(X), by_parts):
        assert_same_statistics(scores, scores_of(table))
        assert scores.shape == (100, 3)
    learner, in_memory = fit(X), fit(table)
    assert_same_network(learner, in_memory)
    assert learner.n_features_in_ == 3
    assert not hasattr(learner, "feature_names_in_")
    assert learner.score(X) == pytest.approx(in_memory.score(table), rel=1e-12)
    assert list(learner.predict(X)) == [0, 1, 2]


@pytest.mark.usefixtures("not_in_memory")
def test_a_frame_keeps_its_names():
    X, table = frame(), pd.DataFrame(rows(), columns=NAMES)
    for learner in (
        GaussianBNLearner(),
        GaussianBNLearner("bge", max_parents=1),
        make_pipeline(LocalScoreTransformer("aic"), GaussianBNLearner()),
    ):
        expected = learner.fit(table).predict(table)
        assert list(learner.fit(X).predict(X).edges) == list(expected.edges)
        assert list(learner.feature_names_in_) == NAMES
    scores = LocalScoreTransformer().partial_fit(X).partial_fit(table).partial_fit(X)
    assert_same_statistics(scores.local_scores_, scores_of(pd.concat([table] * 3)))
    raises("unseen at fit time:\n- d\n", scores.partial_fit, X.rename(columns={"a": "d"}))
    raises("must be in the same order", fit(X).predict, X[["b", "a", "c"]])


@pytest.mark.usefixtures("not_in_memory")
def test_posteriors_are_of_all_blocks():
    table = pd.DataFrame(rows(), columns=NAMES)
    posterior, expected = (GaussianBNPosterior().fit(X) for X in (frame(), table))
    found = posterior.edge_probabilities_
    np.testing.assert_allclose(found, expected.edge_probabilities_, atol=1e-10)
    assert posterior.score(frame()) == pytest.approx(expected.score(table), rel=1e-10)


@pytest.mark.usefixtures("not_in_memory")
def test_networks_read_the_columns_of_their_nodes():
    network = GaussianBayesianNetwork(nx.DiGraph([("c", "a")]))
    X, table = frame(text="red"), pd.DataFrame(rows(), columns=NAMES)
    weight = weights()
    coef = network.fit(table, sample_weight=weight).coef_
    score = network.score(table, sample_weight=weight)
    np.testing.assert_allclose(network.fit(X, sample_weight=weight).coef_, coef, atol=1e-12)
    assert network.score(X, sample_weight=weight) == pytest.approx(score, rel=1e-12)
    by_position = GaussianBayesianNetwork(nx.DiGraph([("x", "y"), ("x", "z")]))
    coef = by_position.fit(rows()).coef_
    fitted = by_position.fit(arrays()["blocks of columns"])
    np.testing.assert_allclose(fitted.coef_, coef, atol=1e-12)
    raises(r"0 sample\(s\)", network.fit, X.loc[X["a"] > 1000])


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=25).filter(lambda sizes: sum(sizes) > 6),
    st.sampled_from([None, "array", "blocks", "other blocks"]),
)
def test_random_blocks(sizes, kind):
    n = sum(sizes)
    table, weight = rows(n), 2 * weights(n) + 1
    X = da.from_array(table, chunks=(tuple(sizes), 3))
    given = {
        None: None,
        "array": weight,
        "blocks": da.from_array(weight, chunks=(tuple(sizes),)),
        "other blocks": da.from_array(weight, chunks=4),
    }[kind]
    expected = scores_of(table, None if kind is None else weight)
    assert_same_statistics(scores_of(X, given), expected, accuracy=1e-11)


@pytest.mark.parametrize("kind", ["int8", "uint64", "bool", "float32"])
@pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")  # only rows show few values
def test_numbers_of_other_types(kind):
    numbers = rows() * 3
    table = (abs(numbers) if kind.startswith("u") else numbers).astype(kind)
    table[:50] = table[50:]
    in_blocks = da.from_array(table, chunks=9)
    assert_same_network(*(fit(X, criterion="bge") for X in (in_blocks, table)))


def test_one_block_gives_the_same_bits_as_memory():
    X = da.from_array(rows(9000), chunks=(9000, 3))
    assert fit(X).network_score_ == fit(rows(9000)).network_score_


@pytest.mark.usefixtures("two_blas_threads")
def test_no_scheduler_changes_a_bit():
    X = da.from_array(rows(600), chunks=(9, 2))
    expected = LocalScoreTransformer().fit(X).local_scores_.statistics
    for n_workers in (1, 5):
        with dask.config.set(scheduler="threads", num_workers=n_workers):
            found = LocalScoreTransformer().fit(X).local_scores_.statistics
        np.testing.assert_array_equal(found.factor, expected.factor)
        np.testing.assert_array_equal(found.mean, expected.mean)


@pytest.mark.usefixtures("two_blas_threads")
def test_linear_algebra_stays_in_the_threads_of_the_blocks():
    """Several threads of OpenBLAS, called from several threads, take ten times as long as one."""
    found = []

    def looked_at(block):
        pools = threadpool_info()
        found.extend(pool["num_threads"] for pool in pools if pool["user_api"] == "blas")
        return block

    X = da.from_array(rows(), chunks=17).map_blocks(looked_at, dtype=float, meta=np.empty((0, 0)))
    with dask.config.set(scheduler="threads", num_workers=2):
        LocalScoreTransformer().fit(X)
    assert set(found) <= {1}


@pytest.mark.slow
def test_a_cluster_gives_the_same_bits():
    X, table = da.from_array(rows(2000), chunks=(90, 3)), frame()
    expected = [LocalScoreTransformer().fit(each).local_scores_ for each in (X, table)]
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**settings) as cluster,
        distributed.Client(cluster),
        dask.config.set(scheduler=None),
    ):
        found = [LocalScoreTransformer().fit(each).local_scores_ for each in (X, table)]
        with pytest.raises(ValueError, match=r"column 'a', row 3\. .* block 0 of X"):
            GaussianBNLearner().fit(table.mask(table["a"] == rows()[3, 0]))
    for scores, of_one in zip(found, expected, strict=True):
        np.testing.assert_array_equal(scores.statistics.factor, of_one.statistics.factor)


# Weights


@cache
def weights_of_many_kinds():
    weight, series = weights(), pd.Series(weights())
    in_blocks = da.from_array(weight, chunks=30)
    of_a_frame = frame(weight=weight)["weight"]
    X = arrays()
    return {
        "an array": (X["many blocks"], weight),
        "an array, sizes unknown": (X["unknown sizes"], weight),
        "a list": (X["blocks of columns"], weight.tolist()),
        "a series": (X["many blocks"], series),
        "other blocks": (X["many blocks"], in_blocks),
        "blocks, sizes unknown": (X["unknown sizes"], da.from_array(weight, chunks=17)),
        "a series of dask": (frame().to_dask_array(), of_a_frame),
        "an array, of a frame": (frame(), weight),
        "a series in another order, of a frame": (frame(), series[::-1]),
        "a column of the frame": (frame(), of_a_frame),
        "blocks, of a frame": (frame(), of_a_frame.to_dask_array()),
        "of dask, of rows": (rows(), in_blocks),
        "of dask, of a frame in memory": (pd.DataFrame(rows()), of_a_frame),
    }


@pytest.mark.parametrize("kind", weights_of_many_kinds())
def test_weights_stay_with_their_rows(kind):
    X, weight = weights_of_many_kinds()[kind]
    scores = scores_of(X, weight)
    assert_same_statistics(scores, scores_of(rows(), weights()))
    assert scores.sample.summary.n_rows == (weights() > 0).sum()
    expected = fit(rows(), weights()).score(rows(), sample_weight=weights())
    found = fit(X, weight).score(X, sample_weight=weight)
    assert found == pytest.approx(expected, rel=1e-12)


def test_weights_that_do_not_match():
    X, table = arrays()["many blocks"], frame()
    of_shape = r"each of the 100 rows; got .* shape \(50,\)"
    raises(of_shape, fit, X, da.ones(50, chunks=17))
    for each in (X, table):
        raises(of_shape, fit, each, np.ones(50))
        raises("dask Array of 2 dimensions", fit, each, da.ones((100, 1)))
    of_blocks = da.ones(100, chunks=50)
    raises(r"has 2 blocks and X \d, and it is not known which", fit, table, of_blocks)
    some = frame(w=1.0)["w"].map_partitions(lambda weight: weight[weight.index != 20])
    raises(r"no value for the row of X labelled 20\. .* block 1 of", fit, table, some)


def test_weights_that_are_no_weights():
    X, weight = arrays()["many blocks"], weights()
    weight[40] = -1
    raises(r"got -1 for row 40\.$", fit, X, weight)
    message = r"got -1 for row 6\. .* block 2 of X"
    raises(message, fit, X, da.from_array(weight, chunks=50))
    raises(r"sum of sample_weight is 2e\+300", fit, X, da.full(100, 2e298, chunks=17))


def test_weights_of_zero():
    X, zeros = arrays()["many blocks"], da.zeros(100, chunks=17)
    network = GaussianBayesianNetwork(nx.DiGraph([(0, 1), (0, 2)]))
    transformer, learner = LocalScoreTransformer().fit(X), fit(X)
    estimators = [LocalScoreTransformer(), GaussianBNLearner("bge"), GaussianBNPosterior(), network]
    for read in (*(each.fit for each in estimators), transformer.transform, learner.score):
        raises("sample_weight is zero for all rows", read, X, sample_weight=zeros)
    transformer = LocalScoreTransformer().partial_fit(X, sample_weight=zeros).partial_fit(X)
    assert_same_statistics(transformer.local_scores_, scores_of(X))


# Errors


@pytest.mark.parametrize(("value", "kind"), [(np.nan, "missing"), (-np.inf, "infinite")])
def test_errors_name_column_row_and_block(value, kind):
    table = rows()
    table[55, 1] = value
    X = da.from_array(table, chunks=(20, 3))
    framed = dd.from_dask_array(X, columns=NAMES)
    where = "This is about block 2 of X, in which rows are counted: X"
    for read in (fit, LocalScoreTransformer().partial_fit):
        raises(rf"{kind} values .*column 1, row 15.*{where}\.blocks\[2\]\.compute\(\)", read, X)
        raises(rf"column 1, row 15.*{where}\.blocks", read, X[X[:, 0] > -np.inf])
        raises(rf"column 'b', row 15.*{where}\.partitions\[2\]\.compute\(\)", read, framed)


def test_values_that_are_no_numbers():
    table = rows().astype(object)
    table[30, 2] = "red"
    message = r"Column 2 holds text.* unlike 'red' in row 10\..* block 1 of X"
    raises(message, fit, da.from_array(table, chunks=20))
    raises(r"'d' holds 'red' in row 0, .* block \d of X", fit, frame(d="red"))
    masked = da.ma.masked_greater(arrays()["many blocks"], 1)
    raises(r"missing values .* block \d of X", fit, masked)
    raises(r"not supported.* block \d of X", fit, arrays()["many blocks"] * 1j)


def test_columns_are_judged_over_all_rows():
    table = rows()
    table[:, 0] = np.repeat(np.arange(10), 10)  # constant in each block
    assert_same_network(fit(da.from_array(table, chunks=10)), fit(table))
    for values, message in [
        (3, "Column 0 has zero variance: all its values equal 3"),
        (table[:, 2], "Column 2 is collinear with others: column 2 = 1 "),
    ]:
        table[:, 0] = values
        raises(message, fit, da.from_array(table, chunks=10))


def test_tables_without_rows_or_columns():
    X = arrays()["many blocks"]
    fitted = fit(X)
    unknown = X[X[:, 0] > 1000]
    for empty in (X[:0], unknown):
        for read in (fit, fitted.score):
            raises(r"0 sample\(s\)", read, empty)
        transformer = LocalScoreTransformer().partial_fit(empty).partial_fit(X).partial_fit(empty)
        assert_same_network(fit(transformer.local_scores_), fitted)
    raises(r"1 sample\(s\).*minimum of 2", LocalScoreTransformer().fit, X[:1])
    raises("n_samples = 2 rows", fit, X[:2])
    raises(r"1 feature\(s\).*minimum of 2", fit, X[:, :1])
    for single, kind in ((X[:, 0], "Array"), (frame()["a"], "Series")):
        raises(f"two dimensions.* got a dask {kind} with 1", fit, single)
    raises(r"columns it has\. Call X\.compute_chunk", fit, X[:, X[0] > -100])
    wrong = X.map_blocks(lambda block: block[:, :2], dtype=float)
    raises(r"to have the columns \[0, 1, 2\], but a block has", fit, wrong)


# What needs rows


@pytest.mark.usefixtures("not_in_memory")
def test_what_needs_rows_refuses_and_says_what_to_do():
    fitted, named = fit(rows()), fit(pd.DataFrame(rows(), columns=NAMES))
    of_any = [GaussianBNLearnerCV([1, 2]).fit, BootstrapBNLearner(n_resamples=2).fit]
    for X, learner in ((arrays()["many blocks"], fitted), (frame(), named)):
        for read in (*of_any, learner.score_samples, learner.network_.score_samples):
            raises(rf"X is a dask {type(X).__name__}, .*X\.compute\(\)", read, X, kind=TypeError)


def test_predict_does_not_read_rows():
    def fail(block):
        raise AssertionError

    X = arrays()["many blocks"]
    learner = GaussianBNLearner().fit(X)
    unread = X.map_blocks(fail, dtype=float, meta=np.empty((0, 0)))
    assert list(learner.predict(unread)) == [0, 1, 2]
    raises("X has 2 features", learner.predict, unread[:, :2])


@pytest.mark.slow
def test_dask_is_imported_only_by_those_who_use_it():
    program = (
        "import sys, numpy, skbn; rows = numpy.random.default_rng(0).normal(size=(20, 3)); "
        "skbn.GaussianBNLearner().fit(rows, sample_weight=numpy.ones(20)).score(rows); "
        "print({'dask', 'distributed'} & set(sys.modules))"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert printed.stdout.strip() == b"set()"


def test_columns_that_dask_sorts_in_name_only_are_matched_by_name(wine):
    frame = dd.from_pandas(wine, npartitions=3)
    standardised = (frame - frame.mean()) / frame.std()
    assert [*standardised.columns] != [*wine.columns]
    in_memory = ((wine - wine.mean()) / wine.std())[[*standardised.columns]]
    learner, expected = fit(standardised), fit(in_memory)
    assert list(learner.dag_.edges) == list(expected.dag_.edges)
    np.testing.assert_allclose(learner.network_.coef_, expected.network_.coef_, atol=1e-9)

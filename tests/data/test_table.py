"""Tables of pyarrow, polars, pandas and DuckDB: the same numbers in other containers."""

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.interchange
import pytest
from agreement import raises

import skbn
from skbn import GaussianBayesianNetwork, GaussianBNLearner, LocalScoreTransformer
from skbn._data.table import Table


def rows(n=40):
    rows = np.random.default_rng(0).normal(size=(n, 3))
    rows[:, 1] += rows[:, 0]
    return rows


def columns(n=40, **others):
    return {**dict(zip("abc", rows(n).T, strict=True)), **others}


def pyarrow_table(columns):
    return pa.table(columns)


def chunked_table(columns):
    table = pyarrow_table(columns)
    parts = [table.slice(0, 1), table.slice(1, 0), table.slice(1)]
    return pa.concat_tables(parts)


def pyarrow_batch(columns):
    return pa.RecordBatch.from_pydict(columns)


def arrow_frame(columns):
    return pd.DataFrame(columns).astype("float64[pyarrow]")


FRAMES = [pd.DataFrame, pl.DataFrame, pyarrow_table, chunked_table, pyarrow_batch, arrow_frame]
every_frame = pytest.mark.parametrize("frame", FRAMES)
arrow = pytest.mark.parametrize("frame", FRAMES[2:5])


def score_of(X):
    return GaussianBNLearner().fit(X).network_score_


@every_frame
def test_a_frame_gives_what_its_numbers_give(frame):
    table, array = frame(columns()), rows()
    expected = GaussianBNLearner().fit(array)
    learner = GaussianBNLearner().fit(table)
    assert list(learner.feature_names_in_) == ["a", "b", "c"]
    assert list(learner.dag_) == ["a", "b", "c"]
    assert learner.network_score_ == expected.network_score_
    assert learner.score(table) == expected.score(array)
    np.testing.assert_array_equal(learner.score_samples(table), expected.score_samples(array))
    assert list(learner.predict(table)) == ["a", "b", "c"]


@every_frame
def test_a_network_takes_the_columns_of_a_frame_by_name(frame):
    dag = nx.DiGraph([("b", "a")])
    array, table = rows()[:, [1, 0]], frame(columns())
    expected, network = (GaussianBayesianNetwork(dag).fit(X) for X in (array, table))
    np.testing.assert_array_equal(network.coef_, expected.coef_)
    np.testing.assert_array_equal(network.score_samples(table), expected.score_samples(array))
    assert network.score(table) == expected.score(array)
    predicted = network.predict(table, target="a")
    np.testing.assert_array_equal(predicted, expected.predict(array[:, :1], given="b")[:, 0])


@every_frame
def test_names_are_held_against_those_of_fit(frame):
    array, table = rows(), frame(columns())
    named, unnamed = GaussianBNLearner().fit(table), GaussianBNLearner().fit(array)
    other = columns()
    other["d"] = other.pop("c")
    in_other_order = dict(reversed(columns().items()))
    for method in ("score", "score_samples", "predict"):
        raises(r"at fit time:\n- d\n.*now missing:\n- c\n", getattr(named, method), frame(other))
        raises("must be in the same order", getattr(named, method), frame(in_other_order))
        with pytest.warns(UserWarning, match="X does not have valid feature names, but Gauss"):
            getattr(named, method)(array)
        with pytest.warns(UserWarning, match="X has feature names, but GaussianBNLearner was"):
            getattr(unnamed, method)(table)


@every_frame
def test_names_that_are_attributes_of_frames(frame):
    names = ["columns", "column_names", "compute", "isna", "type", "shape"]
    array = np.random.default_rng(0).normal(size=(20, 6))
    table = frame(dict(zip(names, array.T, strict=True)))
    learner = GaussianBNLearner().fit(table)
    assert list(learner.dag_) == names
    assert learner.score(table) == GaussianBNLearner().fit(array).score(array)


def test_labels_of_rows_that_are_attributes_of_columns():
    frame = pd.DataFrame(rows(4), columns=list("abc"), index=["type", "isna", "is_null", "shape"])
    expected = GaussianBNLearner("bge").fit(rows(4)).network_score_
    assert GaussianBNLearner("bge").fit(frame).network_score_ == expected


def readers():
    """What takes numbers alone, in columns a and b."""
    return [GaussianBNLearner().fit, LocalScoreTransformer().partial_fit]


ODD_COLUMNS = {
    "string": (["red", None, "blue"], "holds 'red' in row 0"),
    "large_string": (["red", None, "blue"], "holds 'red' in row 0"),
    "binary": ([b"red", b"2", b"blue"], "holds .* in row 0"),
    "timestamp[us]": ([1, 2, 3], "holds '1970-01-01.*' in row 0"),
    "date32": ([1, 2, 3], "holds '1970-01-02' in row 0"),
    "time64[us]": ([1, 2, 3], "holds '00:00:00.000001' in row 0"),
    "duration[s]": ([1, 2, 3], "holds '1 seconds' in row 0"),
}


WORDS = ["red", "blue", "red"]
NO_NUMBERS_OF_POLARS = [
    *(pl.Series(WORDS, dtype=dtype) for dtype in (None, pl.Categorical, pl.Enum(WORDS[:2]))),
    *(pl.Series([1, 2, 3], dtype=dtype) for dtype in (pl.Date, pl.Duration)),
    pl.Series([[1.0, 2], [2, 5], [3, 1]], dtype=pl.Array(pl.Float64, 2)),
    *([[1.0], [2.0, 5.0], [3.0]], [{"x": 1}, {"x": 2}, {"x": 4}]),
]


def check_refused(table, message):
    for read in readers():
        raises(message, read, table, kind=(ValueError, TypeError))


A = [1.0, 2.0, 4.0]
NULLS = [[1.0, None, 3.5], [1, 2, None], [True, None, False], [None] * 3]


def hole(row):
    return rf"missing values .* column 'b', row {row}\."


@arrow
@pytest.mark.parametrize("kind", ODD_COLUMNS)
def test_columns_of_arrow_that_are_no_numbers_are_named(frame, kind):
    values, message = ODD_COLUMNS[kind]
    table = frame({"a": A, "b": pa.array(values, pa.type_for_alias(kind))})
    check_refused(table, f"Column 'b' {message}, which is not")


@arrow
def test_nested_columns_and_nulls_of_arrow_are_named(frame):
    for values in ([[1.0], [2.0], [3.0]], [{"x": 1}, {"x": 2}, {"x": 5}]):
        check_refused(frame({"a": A, "b": values}), "Column 'b' holds")
    for values in NULLS:
        check_refused(frame({"a": A, "b": values}), hole(values.index(None)))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pd.Categorical(["red", "green", "red"]), "Column 'b' holds 'red' in row 0"),
        (pd.Categorical(pd.array(["red", "green", "red"], dtype="string")), "'b' holds 'red'"),
        (pd.Categorical([3, 1, None]), hole(2)),
        *((pl.Series(values), "Column 'b' holds") for values in NO_NUMBERS_OF_POLARS),
        *((pl.Series(values), hole(values.index(None))) for values in NULLS),
    ],
)
def test_columns_of_frames_that_are_no_numbers_are_named(values, message):
    frame = pl.DataFrame if isinstance(values, pl.Series) else pd.DataFrame
    check_refused(frame({"a": A, "b": values}), message)


def test_nulls_among_codes_are_missing_values():

    class Codes(pa.ExtensionType):
        def __init__(self):
            super().__init__(pa.dictionary(pa.int32(), pa.int64()), "skbn.codes")

        def __arrow_ext_serialize__(self):
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, storage, serialized):
            return cls()

    storage = pa.array([5, None, 6]).dictionary_encode()
    codes = pa.ExtensionArray.from_storage(Codes(), storage)
    check_refused(pa.table({"a": A, "b": codes}), hole(1))
    in_pandas = pd.Series([5, None, 6], dtype=pd.ArrowDtype(storage.type))
    check_refused(pd.DataFrame({"a": A, "b": in_pandas}), hole(1))


@arrow
def test_dictionaries_are_refused_as_their_nulls_are_lost(frame):
    """Numpy is given the last of the dictionary's values for a null."""
    for values in (["red", "red", "blue"], [5, 6, 5], [5, None, 6]):
        codes = pa.array(values).dictionary_encode()
        table = frame({"a": A, "b": codes})
        for read in readers():
            with pytest.raises(ValueError, match="Column 'b' is dictionary-encoded") as caught:
                read(table)
    advice = str(caught.value).partition("pass ")[2].rstrip(".")
    decoded = eval(advice, {"X": table})
    raises(r"missing values .* column 'b', row 1\.", GaussianBNLearner().fit, decoded)


@arrow
def test_numbers_of_any_type_are_read(frame):
    first, whole, flags = np.arange(5.0) ** 2, [1, 5, 2, 8, 4], [1, 0, 0, 1, 1]
    kinds = ["int8", "uint64", "float", "halffloat", "double"]
    kinds = [*map(pa.type_for_alias, kinds), pa.decimal128(22, 2), pa.decimal256(30, 1)]
    for values, kind in [*((whole, kind) for kind in kinds), (flags, pa.bool_())]:
        table = frame({"a": first, "b": pa.array(values).cast("double").cast(kind)})
        assert score_of(table) == score_of(np.c_[first, values])


@every_frame
def test_tables_without_rows(frame):
    empty = frame(columns(0))
    learner = GaussianBNLearner().fit(frame(columns()))
    network = GaussianBayesianNetwork(nx.DiGraph([("a", "b")]))
    for read in (GaussianBNLearner().fit, LocalScoreTransformer().fit, learner.score, network.fit):
        raises(r"0 sample\(s\)", read, empty)
    assert learner.network_score_ == score_of(rows())


@arrow
def test_names_that_are_given_twice(frame):
    kind = pa.RecordBatch if frame is pyarrow_batch else pa.Table
    table = kind.from_arrays([pa.array([1.0, 2.0, 4.0])] * 3, ["a", "b", "a"])
    check_refused(table, r"\['a'\] are given more than once\. Rename")


def test_relations_of_duckdb_can_be_converted_as_advised():
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    relation = connection.sql("SELECT i * i AS a, i % 3 AS b FROM range(9) t(i)")
    check_refused(relation, r"DuckDBPyRelation.*call X\.df\(\) .*X\.to_arrow_table\(\)")
    assert list(GaussianBNLearner().fit(relation.df()).dag_) == ["a", "b"]
    assert list(GaussianBNLearner().fit(relation.to_arrow_table()).dag_) == ["a", "b"]


def test_tables_without_values_can_be_converted_as_advised():
    table = pa.table(columns())
    read_later = pl.LazyFrame(columns())

    class Exported:
        def __arrow_c_stream__(self, requested_schema=None):
            return table.__arrow_c_stream__(requested_schema)

    class Exchanged:
        def __dataframe__(self, *args, **kwargs):
            return table.__dataframe__(*args, **kwargs)

    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    for X in (read_later, reader, Exported(), Exchanged()):
        for read in readers():
            with pytest.raises(TypeError, match=f"X is a {type(X).__name__}, .*; call ") as caught:
                read(X)
        advice = str(caught.value).partition("; call ")[2].rstrip(".").partition(", after")[0]
        converted = eval(advice, {"X": X, "pyarrow": pa})
        assert list(GaussianBNLearner().fit(converted).dag_) == ["a", "b", "c"]


@pytest.mark.parametrize("kind", ["Int64", "Float64", "boolean", "int64[pyarrow]", "bool[pyarrow]"])
def test_nullable_columns_of_pandas(kind):
    values = [1, 0, 0, 1, 1]
    frame = pd.DataFrame({"a": np.arange(5.0) ** 2, "b": pd.array(values, dtype=kind)})
    assert score_of(frame) == score_of(np.c_[np.arange(5.0) ** 2, values])
    frame.loc[3, "b"] = None
    assert frame["b"].dtype == kind
    check_refused(frame, hole(3))


def test_weights_of_pyarrow():
    weight = np.arange(40.0) % 11
    expected = GaussianBNLearner().fit(rows(), sample_weight=weight).network_score_
    for given in (pa.array(weight), pa.chunked_array([weight[:3], weight[3:]]), pl.Series(weight)):
        learner = GaussianBNLearner().fit(pyarrow_table(columns()), sample_weight=given)
        assert learner.network_score_ == expected


@pytest.mark.parametrize(
    "container",
    [
        *FRAMES[:4],
        lambda table: np.column_stack([*table.values()]),
        lambda table: np.column_stack([*table.values()]).astype(object),
        lambda table: np.column_stack([*table.values()]).tolist(),
    ],
)
def test_integers_that_would_lose_digits_are_named(container):
    small = np.random.default_rng(1).integers(0, 1000, size=(3, 40))
    table = dict(zip("abc", small, strict=True))
    GaussianBNLearner().fit(container(table | {"b": small[1] + 2**53 - 1000}))
    identifier = small[1] + 2**53 + 1
    message = f"holds {next(v for v in identifier.tolist() if v % 2)} in row .* would round"
    raises(message, GaussianBNLearner().fit, container(table | {"b": identifier}))


def test_an_integer_that_would_be_rounded_is_not_called_no_number():
    table = [[1, 2**53 + 1], [2, 5], [3, 4], [1, 7]]
    with pytest.raises(ValueError, match=r"^Column 1 holds 9007199254740993 in row 0, an integer"):
        GaussianBNLearner().fit(np.array(table, dtype=object))


# Matrices of covariances are no tables of rows


NAMES = list("abcd")
S = np.array([[1, 0.5, 0.2, 0], [0.5, 1, 0.4, -0.3], [0.2, 0.4, 1, 0.1], [0, -0.3, 0.1, 1]])
SCALED = S * np.outer([1, 3, 5, 2], [1, 3, 5, 2])
LABELLED = pd.DataFrame(S, NAMES, NAMES)
TRIANGLE = LABELLED.where(np.tri(4) > 0)


def made_by(package, table):
    module = pytest.importorskip(package)
    return module.DataFrame(table) if package == "polars" else module.table(table)


MATRICES = {
    "array": lambda: S,
    "objects": lambda: S.astype(object),
    "lists": lambda: SCALED.tolist(),
    "frame": lambda: LABELLED,
    "covariance": lambda: pd.DataFrame(SCALED, NAMES, NAMES),
    "without labels": lambda: pd.DataFrame(SCALED, columns=NAMES),
    "labels in a column": lambda: LABELLED.reset_index(),
    "lower triangle": lambda: TRIANGLE,
    "upper triangle": lambda: TRIANGLE.fillna(0.0).T,
    "polars": lambda: made_by("polars", dict(zip(NAMES, S, strict=True))),
    "pyarrow": lambda: made_by("pyarrow", dict(zip(["", *NAMES], [NAMES, *S], strict=True))),
}


@pytest.mark.parametrize("kind", MATRICES)
def test_matrices_are_refused_with_advice_that_works(kind):
    X = MATRICES[kind]()
    for fit in (GaussianBNLearner("bge", nodes="auto").fit, LocalScoreTransformer().partial_fit):
        with pytest.raises(ValueError, match="X is a matrix of its columns") as error:
            fit(X)
    advised = str(error.value).partition("their number n: ")[2]
    table = eval(advised, {"skbn": skbn, "X": X, "n": 50})
    summary = table._as_sample().summary
    factor = np.ldexp(summary.factor, summary.exponent)
    is_scaled = kind in ("lists", "covariance", "without labels")
    np.testing.assert_allclose(factor.T @ factor / 49, SCALED if is_scaled else S, atol=1e-12)


@pytest.mark.parametrize(
    "X",
    [
        np.eye(5),
        np.diag([0.5, 0.2, 0.1]),
        np.ones((3, 3)),
        [[0, 1, 2], [1, 0, 3], [2, 3, 0]],
        [[1.5, 0.5], [0.5, 2.5]],
        np.vander([1.5, 2.5, 3.5, 0.5]),
        pd.DataFrame(S[::-1], NAMES, NAMES),
    ],
)
def test_small_tables_are_read(X):
    assert Table(X).rows().shape == np.shape(X)

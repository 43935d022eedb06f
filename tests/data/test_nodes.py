"""Which columns stand for a node, and the numbers of categories."""

from decimal import Decimal
from functools import partial

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from agreement import raises
from numpy.testing import assert_array_equal

from skbn import GaussianBayesianNetwork, GaussianBNLearner
from skbn._data.encoding import encoded_rows, learn_nodes
from skbn._data.row_values import read_row_groups
from skbn._data.table import Table
from skbn.exceptions import NumericTextWarning

SITE = ["west", "north", "south", "north", "west", "south"]
AGE = [31.0, 44.0, 52.0, 28.0, 61.0, 39.0]
SMOKES = [True, False, False, True, False, True]


FRAME = pd.DataFrame({"site": SITE, "age": AGE, "smokes": SMOKES})
FRAMES = {
    "pandas": FRAME,
    "polars": pl.DataFrame({"site": SITE, "age": AGE, "smokes": SMOKES}),
    "arrow": pa.table({"site": pa.array(SITE).dictionary_encode(), "age": AGE, "smokes": SMOKES}),
    "categories": FRAME.astype({"site": "category", "smokes": "boolean"}),
}
EXPECTED = np.array(
    [[s == "south", s == "west", a, smokes] for s, a, smokes in zip(SITE, AGE, SMOKES, strict=True)]
).astype(float)


@pytest.mark.parametrize("kind", FRAMES)
def test_categories_have_an_indicator_for_each_level_but_the_first(kind):
    table = Table(FRAMES[kind])
    nodes = learn_nodes("auto", table)
    assert nodes.names == ["site", "age", "smokes"]
    assert nodes.column_names == ["site=south", "site=west", "age", "smokes=True"]
    assert nodes.levels == {"site": ["north", "south", "west"], "smokes": [False, True]}
    assert_array_equal(encoded_rows(nodes, table), EXPECTED)
    # The columns are found by name.
    assert_array_equal(encoded_rows(nodes, Table(FRAME[["smokes", "site", "age"]])), EXPECTED)


def test_arrays_of_objects_have_categories_by_number():
    table = Table(FRAME.to_numpy(dtype=object))
    nodes = learn_nodes("auto", table)
    assert nodes.names == [0, 1, 2]
    assert nodes.column_names == ["0=south", "0=west", 1, "2=True"]
    assert_array_equal(encoded_rows(nodes, table), EXPECTED)


def test_declared_levels_are_kept_in_their_order():
    levels = ["south", "north", "east", "west"]
    table = FRAME.assign(site=pd.Categorical(SITE, categories=levels))
    assert learn_nodes("auto", Table(table)).levels["site"] == levels


@pytest.mark.parametrize(
    ("spec", "names", "columns"),
    [
        ({"s": ["b", "d"]}, ["a", "s", "c"], ["a", "b", "d", "c"]),
        ({"s": [3, 0], "t": "b"}, ["s", "t", "c"], ["a", "d", "b", "c"]),
        (["u", "v", "u", "v"], ["u", "v"], ["a", "c", "b", "d"]),
        ([1, 0, 1, 0], [0, 1], ["b", "d", "a", "c"]),
    ],
)
def test_users_name_the_columns_of_nodes(spec, names, columns):
    X = pd.DataFrame(np.arange(12.0).reshape(3, 4), columns=list("abcd"))
    nodes = learn_nodes(spec, Table(X))
    assert (nodes.names, nodes.column_names) == (names, columns)
    assert_array_equal(encoded_rows(nodes, Table(X)), X[columns])


def test_unnamed_columns_beside_named_nodes_have_sklearns_names():
    nodes = learn_nodes({"s": [0, 2]}, Table(np.eye(4)))
    assert nodes.names == ["s", "x1", "x3"]
    assert nodes.column_names == [0, 2, 1, 3]


TWO = Table(pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]}))
THREE = Table(pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0], "c": [2.0, 5.0]}))


@pytest.mark.parametrize("spec", [None, "auto", {"a": ["a"]}, ["a", "b"], np.array("auto")])
def test_nodes_of_single_columns_are_the_columns(spec):
    assert learn_nodes(spec, TWO) is None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("all", "got 'all'"),
        ({"s": ["a", "z"]}, r"nodes\['s'\].*no column 'z'"),
        ({"s": ["a"], "t": ["a"]}, "column 'a' belongs to 's' and 't'"),
        ({"s": []}, r"nodes\['s'\] must be a list of columns"),
        ({"b": ["a"]}, "'b' is the name of a node and of a column"),
        (["u"], "a label for each of the 2 columns"),
        ([0, 2], "without gaps"),
        ({3: ["a"]}, "names of nodes must be strings"),
        ([0, "a"], "all strings or all integers"),
        (pd.Series({"x": "u", "y": "v"}), r"the labels .*nodes\.tolist\(\)"),
    ],
)
def test_wrong_nodes_are_refused(spec, message):
    raises(message, learn_nodes, spec, TWO, kind=(ValueError, TypeError))


@pytest.mark.parametrize(
    ("spec", "columns"),
    [
        (pd.Series(["u", "v", "u"]), ["a", "c", "b"]),
        (pd.Index([1, 0, 1]), ["b", "a", "c"]),
        (pd.Series({"c": "u", "a": "u", "b": "v"}), ["a", "c", "b"]),
    ],
)
def test_array_likes_say_which_node_each_column_is_of(spec, columns):
    assert learn_nodes(spec, THREE).column_names == columns


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1], r"Column 'g' holds \[1\] in row 1, a list, which is no level"),
        ({1: 2}, r"Column 'g' holds \{1: 2\} in row 1, a dict"),
        (np.array([1, 2]), "Column 'g' holds .* in row 1, a"),
        (True, "holds 1 in row 0 and True in row 1, which are equal"),
        (np.True_, "holds 1 in row 0 and True in row 1, which are equal"),
    ],
)
def test_values_that_are_no_levels_are_named(value, message):
    X = pd.DataFrame({"g": pd.Series([1, value, "a"], dtype=object)})
    raises(message, learn_nodes, "auto", Table(X), kind=(TypeError, ValueError))


def levels_with_holes():
    given = ["a", None, "b", "a"]
    plain = pa.array(given)
    whole = plain.dictionary_encode()
    within = pa.DictionaryArray.from_arrays([0, 1, 2, 0], ["a", None, "b"])
    for column in (plain, whole, within, pa.chunked_array([whole[:2], whole[2:]])):
        yield pa.table({"g": column})
        yield pd.DataFrame({"g": pd.Series(pd.array(column, pd.ArrowDtype(column.type)))})
    yield whole and pa.record_batch({"g": whole})
    for dtype in (object, "category", "string", "str"):
        yield pd.DataFrame({"g": pd.Series(given, dtype=dtype)})
    for dtype in (pl.String, pl.Categorical, pl.Enum(["z", "a", "b"])):
        yield pl.DataFrame({"g": pl.Series(given, dtype=dtype)})
    for hole in (None, np.nan, pd.NA, pd.NaT, np.ma.masked, Decimal("nan"), Decimal("snan")):
        values = np.array(given, dtype=object)
        values[1] = hole
        yield values[:, np.newaxis]
    mask = [[False], [True], [False], [False]]
    yield np.ma.array([["a"], ["x"], ["b"], ["a"]], mask=mask)


def test_holes_are_seen_in_every_container():
    for X in levels_with_holes():
        table = Table(X)
        raises(r"missing values: .* in row 1", learn_nodes, "auto", table)
        nodes = learn_nodes("auto", table, may_miss=True)
        (levels,) = nodes.levels.values()
        codes = encoded_rows(nodes, table, may_miss=True)
        of_a = codes[0]
        assert_array_equal(codes[3], of_a)
        assert np.isnan(codes[1]).all(), X
        assert not np.isnan(codes[[0, 2]]).any()
        assert {*levels} - {"z"} == {"a", "b"}


def test_holes_of_groups_and_of_numbers_are_seen():
    whole = pa.array(["a", None, "b", "a"]).dictionary_encode()
    for groups in (whole, pa.chunked_array([whole])):
        raises("has a missing value for row 1", read_row_groups, groups, None, 4, "stratify")
    holes = [None, Decimal("nan"), np.ma.masked, pd.NA, pd.NaT, Decimal("snan")]
    numbers = np.array([[1.0] * 6, holes], dtype=object).T
    assert_array_equal(Table(numbers).rows(may_miss=True)[:, 1], np.full(6, np.nan))


def test_whole_numbers_of_a_dictionary_stay_whole():
    codes = [2**60 + 1, None, 2**60 + 2]  # as floats they would be the same
    table = pa.table({"g": pa.array(codes).dictionary_encode(), "y": [1.0, 2.0, 3.0]})
    for X in (table, *table.to_batches()):
        nodes = learn_nodes("auto", Table(X), may_miss=True)
        assert nodes.levels["g"] == [2**60 + 1, 2**60 + 2]
        rows = encoded_rows(nodes, Table(X), may_miss=True)
        assert_array_equal(rows[:, 0], [0.0, np.nan, 1.0])


# Text that is a number is refused; text that is a category is not


NUMBERS = np.arange(1, 41) * 1.5 - 20
FORMS = {
    "plain": str,
    "padded": lambda v: f" {v:.2f} ",
    "exponent": lambda v: f"{v:e}",
    "mixed": lambda v: v,
    "decimal comma": lambda v: str(v).replace(".", ","),
    "thousands": lambda v: f"{1e4 * abs(v):,.0f}",
    "German": lambda v: f"{1e4 * abs(v):,.1f}".translate(str.maketrans(",.", ".,")),
    "Swiss": lambda v: f"{1e4 * abs(v):,.1f}".replace(",", "\u2019"),
    "unit": lambda v: f"{v} mg/dL",
    "percent": lambda v: f"{v}%",
    "no-break space": lambda v: f"\u00a0{v:.2f}\u00a0",
    "minus": lambda v: f"{v}".replace("-", "\u2212"),
    "accounts": lambda v: f"({-v} %)" if v < 0 else f"{v} %",
    "debit": lambda v: f"{v:.2f}".replace("-", "-$ ") if v < 0 else f"$ {v:.2f}",
    "currency": lambda v: f"${1e4 * abs(v):,.2f}",
    "bytes": lambda v: str(v).encode(),
}


def pandas_of(cells):
    return pd.DataFrame({"a": NUMBERS, "b": pd.Series(cells, dtype=object)})


def array_of(cells):
    return np.array([*zip(NUMBERS, cells, strict=True)], dtype=object)


def containers_of(cells):
    """Tables of numbers in column a or 0, and of cells in b or 1; the cells are of one type."""
    columns = {"a": NUMBERS, "b": cells}
    return [pandas_of(cells), array_of(cells), pl.DataFrame(columns), pa.table(columns)]


@pytest.mark.parametrize("odd", [None, "n.d.", "*", "<0.05"])
@pytest.mark.parametrize("form", FORMS)
def test_numbers_in_text_are_refused(form, odd):
    cells = [FORMS[form](v) for v in NUMBERS.tolist()]
    if odd or form == "mixed":
        cells[7] = (odd or "n.d.").encode() if form == "bytes" else odd or "n.d."
    is_mixed = form in ("mixed", "bytes")
    for table in [pandas_of(cells), array_of(cells)] if is_mixed else containers_of(cells):
        label = 1 if isinstance(table, np.ndarray) else "b"
        for read in (partial(learn_nodes, "auto"), Table.rows):
            with pytest.raises(ValueError, match=f"Column {label!r} holds text") as error:
                read(Table(table))
        message = str(error.value)
        if odd:
            assert "39 of its 40 values read as numbers" in message
            assert f"{cells[7]!r} in row 7" in message
            assert 'missing="em"' in message
        assert "write each like '-1234.5'" in message
        if isinstance(table, pd.DataFrame) and form in ("plain", "mixed", "exponent", "padded"):
            mended = pd.to_numeric(table[label], errors="coerce")
            np.testing.assert_allclose(mended, np.where(np.arange(40) == 7, mended[7], NUMBERS))


@pytest.mark.parametrize(
    "cells",
    [
        ["12345"[i % 5] for i in range(40)],
        [str(2001 + i % 20) for i in range(80)],
        [f"0{2100 + i % 30}" for i in range(90)],
        [("0.5", "1.0", "2.5", "*")[i % 4] for i in range(40)],
        [f"{5 * (i % 20)}-{5 * (i % 20) + 4}" for i in range(40)],
        [f"{i % 20}th" for i in range(40)],
        [f"gene{i % 20}" for i in range(40)],
        [f"2020-01-{i % 20:02}" for i in range(40)],
    ],
)
def test_texts_that_may_be_categories_stay_so_without_a_word(cells):
    table = Table(pd.DataFrame({"b": cells}))
    assert learn_nodes("auto", table).levels["b"] == sorted(set(cells))


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        ([f"gene{i}" for i in range(40)], "40 different values in 40 rows, as identifiers do"),
        ([f"gene{i % 21}" for i in range(40)], "21 different values in 40 rows"),
        ([f"g{i}" if i % 2 else None for i in range(60)], "30 different values in 30 rows"),
        ([f"g{i}" for i in range(20_000)], "10000 different values in 10000 rows"),
        ([b"g%d" % i for i in range(40)], "40 different values in 40 rows"),
        *(
            (pd.date_range("2025", periods=40).strftime(form), "read as dates, such as .*dt.days")
            for form in ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y %H:%M", "%d %b %Y", "%B %d, %Y", "%c")
        ),
    ],
)
def test_texts_with_a_level_for_most_rows_are_refused(cells, what):
    table = pd.DataFrame({"b": list(cells), "a": np.arange(len(cells)) ** 2.0})
    table["c"] = np.random.default_rng(0).normal(size=len(cells))
    containers = [table, table.astype({"b": "category"}), table.to_numpy(object)]
    if not isinstance(cells[0], bytes):
        containers += [pl.from_pandas(table), pa.Table.from_pandas(table)]
    for X in containers:
        for nodes in (None, "auto"):
            raises(f"Column ('b'|0) holds text, .*{what}", GaussianBNLearner(nodes=nodes).fit, X)
    network = GaussianBayesianNetwork(nx.DiGraph([("b", "a")]))
    raises(f"Column 'b' holds text, .*{what}", network.fit, table)


def test_dates_become_numbers_as_advised():
    days = pd.date_range("2025", periods=40, freq="D")
    table = pd.DataFrame({"a": np.random.default_rng(0).normal(size=40), "day": days})
    texts = table.assign(day=days.strftime("%Y-%m-%d"))
    for X in (table, texts, pl.from_pandas(texts), pa.Table.from_pandas(texts), texts.to_numpy()):
        advice = r"pandas\.to_datetime reads them, \(d - d\.min\(\)\)\.dt"
        raises(advice, GaussianBNLearner().fit, X)
    d = pd.to_datetime(texts["day"])
    GaussianBNLearner().fit(texts.assign(day=(d - d.min()).dt.days))


def test_what_the_user_calls_a_category_is_one():
    cells = [FORMS["plain"](v) for v in NUMBERS] * 2
    declared = pd.DataFrame({"b": pd.Categorical(cells)})
    for spec, table in (("auto", declared), ({"b": ["b"]}, pd.DataFrame({"b": cells}))):
        assert len(learn_nodes(spec, Table(table)).levels["b"]) == 40
        raises("40 different values in 79 rows", learn_nodes, spec, Table(table[:-1]))


def test_many_whole_numbers_are_taken_for_a_category_with_a_warning():
    cells = [str(10000 + i % 40) for i in range(120)]
    with pytest.warns(NumericTextWarning, match="Column 'b' holds text, and 120 of its 120"):
        assert len(learn_nodes("auto", Table(pd.DataFrame({"b": cells}))).levels["b"]) == 40
    learn_nodes({"b": "b"}, Table(pd.DataFrame({"b": cells})))

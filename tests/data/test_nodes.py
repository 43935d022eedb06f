"""Which columns stand for a node, and the numbers of categories."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skbn._data.encoding import encoded_rows, learn_nodes
from skbn._data.table import Table

pd = pytest.importorskip("pandas")

SITE = ["west", "north", "south", "north", "west", "south"]
AGE = [31.0, 44.0, 52.0, 28.0, 61.0, 39.0]
SMOKES = [True, False, False, True, False, True]


def frame():
    return pd.DataFrame({"site": SITE, "age": AGE, "smokes": SMOKES})


def as_polars():
    return pytest.importorskip("polars").DataFrame({"site": SITE, "age": AGE, "smokes": SMOKES})


def as_arrow():
    pa = pytest.importorskip("pyarrow")
    site = pa.array(SITE).dictionary_encode()
    return pa.table({"site": site, "age": AGE, "smokes": SMOKES})


def as_categorical():
    return frame().astype({"site": "category", "smokes": "boolean"})


EXPECTED = np.array(
    [[s == "south", s == "west", a, smokes] for s, a, smokes in zip(SITE, AGE, SMOKES, strict=True)]
).astype(float)


@pytest.mark.parametrize("make", [frame, as_polars, as_arrow, as_categorical])
def test_categories_have_an_indicator_for_each_level_but_the_first(make):
    table = Table(make())
    nodes = learn_nodes("auto", table)
    assert nodes.names == ["site", "age", "smokes"]
    assert nodes.column_names == ["site=south", "site=west", "age", "smokes=True"]
    assert nodes.levels == {"site": ["north", "south", "west"], "smokes": [False, True]}
    assert_array_equal(encoded_rows(nodes, table), EXPECTED)
    # The columns are found by name.
    assert_array_equal(encoded_rows(nodes, Table(frame()[["smokes", "site", "age"]])), EXPECTED)


def test_arrays_of_objects_have_categories_by_number():
    table = Table(frame().to_numpy(dtype=object))
    nodes = learn_nodes("auto", table)
    assert nodes.names == [0, 1, 2]
    assert nodes.column_names == ["0=south", "0=west", 1, "2=True"]
    assert_array_equal(encoded_rows(nodes, table), EXPECTED)


def test_declared_levels_are_kept_in_their_order():
    levels = ["south", "north", "east", "west"]
    table = frame().assign(site=pd.Categorical(SITE, categories=levels))
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


@pytest.mark.parametrize("spec", [None, "auto", {"a": ["a"]}, ["a", "b"]])
def test_nodes_of_single_columns_are_the_columns(spec):
    assert learn_nodes(spec, Table(pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]}))) is None


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
    ],
)
def test_wrong_nodes_are_refused(spec, message):
    table = Table(pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]}))
    with pytest.raises((ValueError, TypeError), match=message):
        learn_nodes(spec, table)


def test_categories_that_cannot_be_read_are_refused():
    with pytest.raises(ValueError, match="Column 'site' is a category with one level, 'a'"):
        learn_nodes("auto", Table(pd.DataFrame({"site": ["a", "a"], "b": [1.0, 2.0]})))
    with pytest.raises(ValueError, match="column 'site', a category, is in row 1"):
        learn_nodes("auto", Table(pd.DataFrame({"site": ["a", None, "b"]})))
    with pytest.raises(ValueError, match="is a category, which is a node by itself"):
        learn_nodes({"s": ["site", "age"]}, Table(frame()))
    with pytest.raises(ValueError, match=r"'site=b'\] would have the names of levels"):
        learn_nodes("auto", Table(pd.DataFrame({"site": ["a", "b"], "site=b": [1.0, 2.0]})))
    nodes = learn_nodes("auto", Table(frame()))
    with pytest.raises(ValueError, match=r"Column 'site' has the level 'east'.* saw"):
        encoded_rows(nodes, Table(frame().assign(site="east")))

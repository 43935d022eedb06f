"""Tables of results, with and without pandas."""

import sys

import numpy as np
import pytest

from skbn._displays.frames import PlainTable, frame_of

COLUMNS = {"parent": ["a", "b"], "weight": [1.5, 2.0]}


def test_a_frame_of_pandas():
    pd = pytest.importorskip("pandas")
    pd.testing.assert_frame_equal(frame_of(COLUMNS), pd.DataFrame(COLUMNS))


def test_without_pandas_the_same_columns_are_a_plain_table(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = frame_of(COLUMNS)
    assert isinstance(table, PlainTable)
    assert table == COLUMNS
    assert table.rows() == [("a", 1.5), ("b", 2.0)]


def test_a_plain_table_converts():
    pd = pytest.importorskip("pandas")
    pd.testing.assert_frame_equal(pd.DataFrame(PlainTable(COLUMNS)), pd.DataFrame(COLUMNS))


def test_other_libraries_take_a_plain_table():
    columns = {"parent": ["a", "b"], "weight": [1.5, 2.0], "reversible": [True, False]}
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    assert pl.DataFrame(PlainTable(columns)).to_dict(as_series=False) == columns
    assert pa.table(PlainTable(columns)).to_pydict() == columns


def test_numbers_are_aligned_at_the_right():
    table = PlainTable(
        {
            "weight": np.array([1.5, -22.25]),
            "n": [1, 10],
            "reversible": [True, False],
            "p": [0.5, None],
        }
    )
    assert repr(table).split("\n") == [
        "weight   n  reversible  p",
        "   1.5   1  True        0.5",
        "-22.25  10  False       None",
    ]


def test_a_long_plain_table_is_shown_by_its_ends():
    text = repr(PlainTable({"i": range(100)})).split("\n")
    assert len(text) == 1 + 5 + 1 + 5
    assert [line.strip() for line in text] == ["i", *"01234", "...", *map(str, range(95, 100))]
    assert "<td" in PlainTable({"i": range(100), "j": range(100)})._repr_html_()

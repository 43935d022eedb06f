"""Text that is a number is refused with a call that mends it; text that is a category is not."""

import re
from functools import partial

import numpy as np
import pytest

from skbn._data.encoding import learn_nodes
from skbn._data.table import Table
from skbn.exceptions import NumericTextWarning

pd = pytest.importorskip("pandas")

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
SCALED = "thousands", "German", "Swiss", "currency"


def as_polars(cells):
    return pytest.importorskip("polars").DataFrame({"a": NUMBERS, "b": cells})


def as_arrow(cells):
    return pytest.importorskip("pyarrow").table({"a": NUMBERS, "b": cells})


def as_pandas(cells):
    return pd.DataFrame({"a": NUMBERS, "b": pd.Series(cells, dtype=object)})


def as_array(cells):
    return np.array([*zip(NUMBERS, cells, strict=True)], dtype=object)


MAKERS = as_pandas, as_polars, as_arrow, as_array


@pytest.mark.parametrize("odd", [None, "n.d.", "*", "<0.05"])
@pytest.mark.parametrize("form", FORMS)
def test_numbers_in_text_are_refused_and_the_advice_mends_them(form, odd):
    cells = [FORMS[form](v) for v in NUMBERS.tolist()]
    right = 1e4 * abs(NUMBERS) if form in SCALED else NUMBERS.copy()
    if odd or form == "mixed":
        cells[7] = (odd or "n.d.").encode() if form == "bytes" else odd or "n.d."
        right[7] = np.nan
    for make in MAKERS[:1] + MAKERS[3:] if form in ("mixed", "bytes") else MAKERS:
        table = make(cells)
        label = 1 if make is as_array else "b"
        for read in (partial(learn_nodes, "auto"), Table.rows):
            with pytest.raises(ValueError, match=f"Column {label!r} holds text") as error:
                read(Table(table))
        message = str(error.value)
        if odd:
            assert "39 of its 40 values read as numbers" in message
            assert f"{cells[7]!r} in row 7" in message
            assert 'missing="em"' in message
        call = re.search(r"call (.*?)(, which leaves| \(or read|\. If they are cat)", message)[1]
        names = {"X": table, "pandas": pd}
        if make is as_polars:
            names["polars"] = pytest.importorskip("polars")
        exec(call, names)
        mended = np.asarray(names["X"][label], dtype=float)
        np.testing.assert_allclose(mended, right)


@pytest.mark.parametrize(
    "cells",
    [
        ["12345"[i % 5] for i in range(40)],
        [str(2001 + i % 20) for i in range(80)],
        [f"0{2100 + i % 30}" for i in range(90)],
        [("0.5", "1.0", "2.5", "*")[i % 4] for i in range(40)],
        [f"{5 * i}-{5 * i + 4}" for i in range(40)],
        [f"{i}th" for i in range(40)],
        [f"gene{i}" for i in range(40)],
        [f"2020-01-{i:02}" for i in range(40)],
    ],
)
def test_texts_that_may_be_categories_stay_so_without_a_word(cells):
    table = Table(pd.DataFrame({"b": cells}))
    assert learn_nodes("auto", table).levels["b"] == sorted(set(cells))


def test_what_the_user_calls_a_category_is_one():
    cells = [FORMS["plain"](v) for v in NUMBERS]
    declared = pd.DataFrame({"b": pd.Categorical(cells)})
    for spec, table in (("auto", declared), ({"b": ["b"]}, as_pandas(cells))):
        assert len(learn_nodes(spec, Table(table)).levels["b"]) == 40


def test_many_whole_numbers_are_taken_for_a_category_with_a_warning():
    cells = [str(10000 + i % 40) for i in range(120)]
    with pytest.warns(NumericTextWarning, match="Column 'b' holds text, and 120 of its 120"):
        assert len(learn_nodes("auto", Table(pd.DataFrame({"b": cells}))).levels["b"]) == 40
    learn_nodes({"b": "b"}, Table(pd.DataFrame({"b": cells})))

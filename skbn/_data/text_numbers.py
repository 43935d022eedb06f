"""Text that is a number: columns that are text for the sake of a few cells, commas or units.

As a category, such a column would have a level for nearly every number.
"""

import re
from collections import Counter
from collections.abc import Hashable
from decimal import Decimal
from numbers import Real
from typing import Any

from skbn._core.text import readable_value, warn
from skbn.exceptions import NumericTextWarning

_FORMS = {  # the first that matches, of a text without spaces around it, nor a currency
    "code": r"0\d+",
    "whole": r"[-+]?\d+(\.0*)?",
    "plain": r"[-+]?(\d+\.\d*|\d*\.\d+|\d+(?=[eE]))([eE][-+]?\d+)?",
    "thousands": r"[-+]?[1-9]\d{0,2}([,\s'\u2019]\d{3})+(\.\d*)?",
    "comma": r"[-+]?(\d*|\d{1,3}([.\s'\u2019]\d{3})+),\d+",
}
_SIGNS = {  # what is said of a form, and the option that reads it
    "comma": (" with a decimal comma", 'decimal=","'),
    "thousands": (" with separators of thousands", 'thousands=","'),
}
_CURRENCY = r"[\s$€£¥]*"
_UNIT = re.compile(rf"{_CURRENCY}(.*?\d)\s*((?!(?:st|nd|rd|th)\b)[^\d\s.,][^\d]*)?")
_NUMBER = rf"^{_CURRENCY}([-+]?\d*\.?\d+)\D*$"  # where a unit is cut off
# How else a negative number is written: (3.5) by accountants, -$3.5, and with a typeset minus.
_MINUS = r"^\s*(-[\s$€£¥]+|[(\u2212][\s$€£¥]*)"
# Texts of at most this many different numbers are categories without a word: whole numbers, such as
# years and codes, and others, such as doses. Half as many do if most rows have one of their own.
_MOST_WHOLE, _MOST_OTHERS = 20, 10


def _read(value: Any) -> tuple[str, str]:
    """Return how a number is written, "" if it is none, and its unit."""
    if type(value) is not bool and isinstance(value, Real | Decimal):
        return "whole" if value == value and value % 1 == 0 else "plain", ""
    text: Any = value.decode(errors="replace") if isinstance(value, bytes) else value
    if isinstance(text, str) and re.match(_MINUS, text):
        text = re.sub(_MINUS, "-", text).rstrip(") ")
    found = _UNIT.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        return "", ""
    number, unit = found[1], (found[2] or "").strip()
    if number != text.strip():  # an exponent would be cut off with a unit
        unit = unit or "currency"
        number = "" if "e" in number.lower() else number
    return next((form for form in _FORMS if re.fullmatch(_FORMS[form], number)), ""), unit


def check_is_category(values: list[Any], label: Hashable, library: str) -> None:
    """Raise or warn if a column of text, which its dtype does not call a category, holds numbers.

    Parameters
    ----------
    values : list of hashables
        None where they are missing.
    label : str or int
    library : str
        What the table's container is of.

    Raises
    ------
    ValueError
        If there are many, and other cells, or numbers that are not whole.

    Warns
    -----
    skbn.exceptions.NumericTextWarning
        If there are many, and all cells are whole numbers, which may be codes.
    """
    counts = Counter(value for value in values if value is not None)
    if len(counts) <= _MOST_OTHERS / 2:
        return
    numbers = [cell for cell in map(_read, counts) if cell[0]]
    is_whole = {*numbers} == {("whole", "")}
    most = (_MOST_WHOLE if is_whole else _MOST_OTHERS) // (1 + (2 * len(counts) > counts.total()))
    if len(numbers) <= max(most, len(counts) / 2) or any(form == "code" for form, _ in numbers):
        return
    message = numeric_text(values, label, library)
    if not is_whole or len(numbers) < len(counts):
        raise ValueError(message)
    warn(message, NumericTextWarning)


def numeric_text(values: list[Any], label: Hashable, library: str) -> str:
    """Return what is said of a column with text if most of its cells are numbers, else ""."""
    cells = {row: _read(value) for row, value in enumerate(values) if value is not None}
    forms = {form for form, _ in cells.values() if form}
    units = sorted({unit for form, unit in cells.values() if form and unit})
    n, n_odd = len(cells), sum(not form for form, _ in cells.values())
    texts = [value for value in values if isinstance(value, str | bytes)]
    if not texts or 2 * n_odd > n:
        return ""
    row = next(row for row, (form, _) in cells.items() if bool(form) != (n_odd > 0))
    shown = f"{readable_value(values[row])} in row {row}"
    do_not = "does not" if n_odd == 1 else "do not, the first"
    what = f"; {n_odd} {do_not}: {shown}" if n_odd else f", such as {shown}"
    sign = next((each for each in _SIGNS if each in forms), "")
    how, option = _SIGNS.get(sign, ("", ""))
    if library == "polars":
        option = "decimal_comma=True" if sign == "comma" else ""
    one = ", which must be the same" if len(units) > 1 else ""
    of_units = f" in {', '.join(units)}{one}" if units else ""
    node = label if isinstance(label, str) else f"x{label}"
    holes = ', which leaves holes for GaussianBNLearner(missing="em")'
    holes *= n_odd > 0 or n < len(values)
    return (
        f"Column {label!r} holds text, and {n - n_odd} of its {n} values read as numbers"
        f"{how}{of_units}{what}. If they are numbers, call "
        f"{_conversion(texts, sign, bool(units), label, library)}{holes}"
        f"{f' (or read the file with {option})' if option else ''}. If they are categories, "
        f"name the column in nodes={{{node!r}: [{label!r}]}} of a learner."
    )


def _conversion(texts: list[Any], sign: str, has_units: bool, label: Hashable, library: str) -> str:
    """Return the call that makes numbers of a column of text, NaN or null of what is none."""
    point = "." if sign == "comma" else ","  # between thousands
    is_comma, marks = sign == "comma", rf"[{point}\s'\u2019]"
    is_marked = any(re.search(marks + ".*,", str(text)) for text in texts) if is_comma else sign
    steps = [(marks, "")] * bool(is_marked) + [(",", ".")] * is_comma
    steps += [(_MINUS, "-"), (r"\)\s*$", "")] * any(re.match(_MINUS, str(text)) for text in texts)
    is_polars = library == "polars"
    replace, regex = (".str.replace_all", "") if is_polars else (".str.replace", ", regex=True")
    chain = "".join(f"{replace}(r\"{old}\", '{new}'{regex})" for old, new in steps)
    if has_units:
        chain += f".str.extract(r'{_NUMBER}'{'' if is_polars else ', expand=False'})"
    if is_polars:
        cleaned = f"polars.col({label!r}).str.strip_chars(){chain}"
        return f"X = X.with_columns({cleaned}.cast(polars.Float64, strict=False))"
    to_text = ".str.decode('utf-8')" if isinstance(texts[0], bytes) else ".astype(str)"
    # pandas.to_numeric leaves no-break spaces where they are
    chain = ".str.strip()" * any(str(text) != str(text).strip() for text in texts) + chain
    chain = to_text + chain if chain or isinstance(texts[0], bytes) else ""
    as_frame = {"pandas": "", "pyarrow": "X = X.to_pandas(); "}
    source = "X.compute()" if library == "dask" else "X"
    frame = as_frame.get(library, f"X = pandas.DataFrame({source}); ")
    return f'{frame}X[{label!r}] = pandas.to_numeric(X[{label!r}]{chain}, errors="coerce")'

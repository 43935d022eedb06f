"""Text that is a number: columns that are text for the sake of a few cells, commas or units.

As a category, such a column would have a level for nearly every number.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Hashable
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

from skbn._core.text import readable_value
from skbn.exceptions import NumericTextWarning

__all__ = ["check_is_category", "numeric_text"]

_FORMS = {  # the first that matches, of a text without spaces around it, nor a currency
    "code": r"0\d+",
    "whole": r"[-+]?\d+(\.0*)?",
    "plain": r"[-+]?(\d+\.\d*|\d*\.\d+|\d+(?=[eE]))([eE][-+]?\d+)?",
    "thousands": r"[-+]?[1-9]\d{0,2}([,\s'\u2019]\d{3})+(\.\d*)?",
    "comma": r"[-+]?(\d*|\d{1,3}([.\s'\u2019]\d{3})+),\d+",
}
_CURRENCY = r"[\s$€£¥]*"
_UNIT = re.compile(rf"{_CURRENCY}(.*?\d)\s*((?!(?:st|nd|rd|th)\b)[^\d\s.,][^\d]*)?")
_NUMBER = rf"^{_CURRENCY}([-+]?\d*\.?\d+)\D*$"  # where a unit is cut off
# Texts of so many different numbers are categories without a word: whole numbers, such as years
# and codes, and others, such as doses. Half as many do if most rows have one of their own.
_MOST_WHOLE, _MOST_OTHERS = 20, 10
_FRAME = {
    "pandas": "",
    "pyarrow": "X = X.to_pandas(); ",
    "dask": "X = pandas.DataFrame(X.compute()); ",
}


class _Cell(NamedTuple):
    """How a number is written; without a form it is none."""

    form: str = ""
    unit: str = ""


def _read(value: Any) -> _Cell:
    if isinstance(value, bool):
        return _Cell()
    if isinstance(value, Real | Decimal):
        return _Cell("whole" if value == value and value % 1 == 0 else "plain")
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    if not isinstance(text, str) or not (found := _UNIT.fullmatch(text.strip())):
        return _Cell()
    number, unit = found[1], (found[2] or "").strip()
    if number != text.strip():  # an exponent would be cut off with a unit
        unit = unit or "currency"
        number = "" if "e" in number.lower() else number
    forms = (form for form, pattern in _FORMS.items() if re.fullmatch(pattern, number))
    return _Cell(next(forms, ""), unit)


def check_is_category(values: list[Any], label: Hashable, library: str) -> None:
    """Raise or warn if a column of text, which its dtype does not call a category, holds numbers.

    Parameters
    ----------
    values : list
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
    cells = {value: _read(value) for value in counts}
    numbers = [cell for cell in cells.values() if cell.form]
    is_whole = {*numbers} <= {_Cell("whole")}
    most = _MOST_WHOLE if is_whole else _MOST_OTHERS
    most //= 1 + (2 * len(counts) > counts.total())
    is_code = any(cell.form == "code" for cell in numbers)
    if is_code or len(numbers) <= most or 2 * len(numbers) <= len(cells):
        return
    message = numeric_text(values, label, library)
    if not is_whole or len(numbers) < len(cells):
        raise ValueError(message)
    warnings.warn(message, NumericTextWarning, stacklevel=2)


def numeric_text(values: list[Any], label: Hashable, library: str) -> str:
    """Return what is said of a column of text if most of its cells are numbers, else ""."""
    counts = Counter(value for value in values if value is not None)
    cells = {value: _read(value) for value in counts}
    n_odd = sum(counts[value] for value, cell in cells.items() if not cell.form)
    if not counts or 2 * n_odd > counts.total():
        return ""
    is_odd = n_odd > 0
    row = next(i for i, v in enumerate(values) if v is not None and bool(cells[v].form) != is_odd)
    shown = f"{readable_value(values[row])} in row {row}"
    do_not = "does not" if n_odd == 1 else "do not, the first"
    what = f"; {n_odd} {do_not}: {shown}" if is_odd else f", such as {shown}"
    number = [cell for cell in cells.values() if cell.form]
    forms, units = {cell.form for cell in number}, sorted({cell.unit for cell in number} - {""})
    written = [
        *(["a decimal comma"] if "comma" in forms else []),
        *(["separators of thousands"] if "thousands" in forms and "comma" not in forms else []),
        *([f"the units {readable_value(units)}, which must be one"] if len(units) > 1 else []),
        *([f"the unit {units[0]!r}"] if len(units) == 1 else []),
    ]
    how = f", with {' and '.join(written)}" if written else ""
    option = 'decimal=","' if "comma" in forms else 'thousands=","'
    reading = f" (or read the file with {option})" if {"comma", "thousands"} & forms else ""
    has_holes = is_odd or None in values
    holes = ', which leaves holes for GaussianBNLearner(missing="em")' if has_holes else ""
    node = label if isinstance(label, str) else f"x{label}"
    return (
        f"Column {label!r} holds text, and {counts.total() - n_odd} of its {counts.total()} values "
        f"read as numbers{how}{what}. If they are numbers, call "
        f"{_conversion(counts, forms, bool(units), label, library)}{holes}{reading}. If they are "
        f"categories, name the column in nodes={{{node!r}: [{label!r}]}} of a learner."
    )


def _conversion(
    values: Counter[Any], forms: set[str], has_units: bool, label: Hashable, library: str
) -> str:
    """Return the call that makes numbers of a column of text, NaN or null of what is none."""
    replacements = []
    if "comma" in forms:
        if any(isinstance(value, str) and re.search(r"[.\s'\u2019].*,", value) for value in values):
            replacements.append((r"[.\s'\u2019]", ""))
        replacements.append((",", "."))
    elif "thousands" in forms:
        replacements.append((r"[,\s'\u2019]", ""))
    if library == "polars":
        steps = [f".str.replace_all(r{old!r}, {new!r})" for old, new in replacements]
        steps += [f".str.extract(r{_NUMBER!r})"] if has_units else [".str.strip_chars()"]
        chain = "".join(steps).replace("\\\\", "\\")
        return (
            f"X = X.with_columns(polars.col({label!r}){chain}.cast(polars.Float64, strict=False))"
        )
    steps = [f".str.replace(r{old!r}, {new!r}, regex=True)" for old, new in replacements]
    steps += [f".str.extract(r{_NUMBER!r}, expand=False)"] if has_units else []
    if any(isinstance(value, bytes) for value in values):
        steps.insert(0, ".str.decode('utf-8')")
    elif steps:
        steps.insert(0, ".astype(str)")
    chain = "".join(steps).replace("\\\\", "\\")
    frame = _FRAME.get(library, "X = pandas.DataFrame(X); ")
    return f'{frame}X[{label!r}] = pandas.to_numeric(X[{label!r}]{chain}, errors="coerce")'

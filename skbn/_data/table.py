"""Table: reads the tables that users pass as columns of finite numbers.

Errors name the column, the row and the value that is not a finite number. Text may be a number too:
a column may be text for the sake of a few cells, commas or units. As a category, it would have a
level for nearly every number.
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from datetime import date
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_array

from skbn._core.arrays import Booleans, Floats, Names
from skbn._core.columns import is_missing
from skbn._core.text import first_few, readable_value, shortened, warn
from skbn._data import containers
from skbn._data.covariance_tables import CovarianceTable, reject_covariance
from skbn._data.sample import TableMixin
from skbn.exceptions import NumericTextWarning

# Numbers without spaces around them, nor a currency: whole ones, and others, of which the last two
# lines have separators of thousands, and a decimal comma.
_WHOLE = r"[-+]?\d+(\.0*)?"
_OTHER = (
    r"[-+]?((\d+\.\d*|\d*\.\d+|\d+(?=[eE]))([eE][-+]?\d+)?"
    r"|[1-9]\d{0,2}([,\s'\u2019]\d{3})+(\.\d*)?"
    r"|(\d*|\d{1,3}([.\s'\u2019]\d{3})+),\d+)"
)
_CURRENCY = r"[\s$€£¥]*"
_UNIT = re.compile(rf"{_CURRENCY}(.*?\d)\s*((?!(?:st|nd|rd|th)\b)[^\d\s.,][^\d]*)?")
# How else a negative number is written: (3.5) by accountants, -$3.5, and with a typeset minus.
_MINUS = r"^\s*(-[\s$€£¥]+|[(\u2212][\s$€£¥]*)"
# Texts of at most this many different numbers are categories without a word: whole numbers, such as
# years and codes, and others, such as doses. Half as many do if most rows have one of their own.
_MOST_WHOLE, _MOST_OTHERS = 20, 10


# Fewer different texts are levels, whatever the number of rows.
MOST_LEVELS = 10
_N_LOOKED_AT = 10_000  # rows; half as many levels would be too many for any table
_N_READ = 500  # texts that tell whether they are numbers or dates
_DATE = re.compile(
    r"\s*(\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}[-. ]*[A-Za-z]{3,9}[-., ]*\d{2,4}"
    r"|([A-Za-z]{3,9}[., ]+)+\d{1,2}[, ]+[\d: ]+|\d{1,2}:\d\d)([T :].*)?"
)


def _form(value: Any) -> str:
    """Return "whole", "code" or "other", as a number is written, and "" if it is none."""
    if type(value) is not bool and isinstance(value, Real | Decimal):
        return "whole" if value == value and value % 1 == 0 else "other"
    text: Any = value.decode(errors="replace") if isinstance(value, bytes) else value
    if isinstance(text, str) and re.match(_MINUS, text):
        text = re.sub(_MINUS, "-", text).rstrip(") ")
    found = _UNIT.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        return ""
    number, has_unit = found[1], found[1] != text.strip()
    if has_unit and "e" in number.lower():  # an exponent would be cut off
        return ""
    if re.fullmatch(r"0\d+", number):
        return "code"
    if re.fullmatch(_WHOLE, number):
        return "other" if has_unit else "whole"
    return "other" if re.fullmatch(_OTHER, number) else ""


def check_is_category(values: list[Any], label: Hashable) -> None:
    """Raise or warn if a column of text, which its dtype does not call a category, holds numbers.

    `values`: list of hashables; None where they are missing

    Warns skbn.exceptions.NumericTextWarning if there are many, and all cells are whole numbers,
    which may be codes.
    """
    counts = Counter(value for value in values if value is not None)
    if len(counts) <= _MOST_OTHERS / 2:
        return
    numbers = [form for form in map(_form, counts) if form]
    is_whole = {*numbers} == {"whole"}
    most = (_MOST_WHOLE if is_whole else _MOST_OTHERS) // (1 + (2 * len(counts) > counts.total()))
    if len(numbers) <= max(most, len(counts) / 2) or "code" in numbers:
        return
    message = numeric_text(values, label)
    if not is_whole or len(numbers) < len(counts):
        raise ValueError(message)
    warn(message, NumericTextWarning)


def numeric_text(values: list[Any], label: Hashable) -> str:
    """Return what is said of a column with text if most of its cells are numbers, else ""."""
    is_number = {row: bool(_form(value)) for row, value in enumerate(values) if value is not None}
    n, n_odd = len(is_number), sum(not each for each in is_number.values())
    if not any(isinstance(value, str | bytes) for value in values) or 2 * n_odd > n:
        return ""
    row = next(row for row, each in is_number.items() if each != (n_odd > 0))
    node = label if isinstance(label, str) else f"x{label}"
    return (
        f"Column {label!r} holds text, and {n - n_odd} of its {n} values read as numbers, "
        f"{'unlike' if n_odd else 'such as'} {readable_value(values[row])} in row {row}. If they "
        "are numbers, write each like '-1234.5', with a decimal point and without units or "
        'separators of thousands, and call pandas.to_numeric(column, errors="coerce"), which '
        'leaves a hole for any other text, for GaussianBNLearner(missing="em"). If they are '
        f"categories, name the column in nodes={{{node!r}: [{label!r}]}} of a learner."
    )


def _identifiers(label: Hashable, n_levels: int, texts: list[Any]) -> str:
    """Return what is said of a column of text that has a level of its own for most rows."""
    what = f"Column {label!r} holds text, {n_levels} different values in {len(texts)} rows, "
    if not all(map(_is_date, texts[:_N_READ])):
        return f"{what}as identifiers do. Leave the column out, or merge levels."
    return f"{what}which read as dates, such as {texts[0]!r}. {_remedy_of_dates(label)}"


def _remedy_of_dates(label: Hashable) -> str:
    return (
        "Leave the column out, or make a number of it: with the dates d as pandas.to_datetime "
        "reads them, (d - d.min()).dt.days, or .dt.total_seconds() within days. If rows follow "
        f"each other in time, pass skbn.lagged(X, times={label!r}).table, in which gaps count."
    )


def _is_date(text: Any) -> bool:
    return isinstance(text, str) and _DATE.fullmatch(text) is not None


# Characters of a value that an error quotes: it may be a list, or a whole table.
_LONGEST_VALUE = 60
# Every integer up to this one is a float64.
_LARGEST_EXACT = 1 << 53
# float() would accept these types, or refuse them with an unhelpful message.
_NOT_REAL = (
    *(str, bytes, bytearray, complex),
    *(np.ndarray, np.complexfloating, np.datetime64, np.timedelta64),
)


class Table:
    """A table in any container that scikit-learn accepts, or in one of pyarrow's.

    `X`: array-like, data frame, pyarrow.Table, pyarrow.RecordBatch or LocalScores

    `labels`: the columns' labels, or their positions if the container has none
    `names`: the labels if all of them are strings, as in scikit-learn
    `container`: the name of its type
    `is_frame`: whether it has labels
    """

    def __init__(self, X: Any) -> None:
        self.container = type(X).__name__
        self._values: Any
        self.labels: list[Any]
        if containers.is_dask(X):
            containers.check_is_dask_table(X)
        labels = None if isinstance(X, TableMixin) else containers.frame_labels(X)
        self.is_frame = labels is not None
        if labels is not None:
            containers.check_labels(labels, X)
            self._values, self.labels = X, labels
        elif containers.is_dask(X):
            self._values, self.labels = X, list(range(X.shape[1]))
        elif isinstance(X, TableMixin):
            nodes = X.sample.nodes
            self._values = X.sample.rows
            self.labels = X.columns if nodes is None else [*nodes.column_names]
        else:
            self._values = containers.array_of(X)
            self.labels = list(range(self._values.shape[1]))
        are_names = self.labels and all(isinstance(label, str) for label in self.labels)
        self.names: list[Any] | None = self.labels if are_names else None
        m = len(self.labels)
        has_rows = not self.is_lazy and not isinstance(X, TableMixin)
        if has_rows and m > 1 and m - len(self._values) in (0, 1):
            columns = [self.column(j) for j in range(m)]
            reject_covariance(
                columns, self.labels, containers.row_labels(X), named=self.names is not None
            )

    @property
    def is_lazy(self) -> bool:
        """Whether the rows are not in memory, as in dask, or not known at all."""
        return containers.is_dask(self._values) or isinstance(self._values, CovarianceTable)

    def column(self, number: int) -> Any:
        """Return a column as its container has it."""
        if self.is_frame:
            return self._values[self.labels[number]]
        return self._values[:, number]

    def reject_identifiers(self, numbers: Iterable[int]) -> None:
        """Raise if columns of text have more levels than half of their rows, which are looked at.

        Numbers that are text are left to others.
        """
        if not self.is_frame and self._values.dtype.kind != "O":
            return
        for number in numbers:
            column, label = self.column(number), self.labels[number]
            if getattr(getattr(column, "dtype", None), "kind", "O") in "biufc":
                continue
            some = column[:: max(1, -(-len(column) // _N_LOOKED_AT))]
            values = containers.as_numpy(some, f"Column {label!r}", "Leave it out.")
            if values.ndim != 1 or values.dtype.kind not in "OSU":
                continue
            texts = [value for value in values.tolist() if isinstance(value, str | bytes)]
            n_levels, n_read = len({*texts}), len(texts[:_N_READ])
            n_numbers = sum(bool(_form(text)) for text in texts[:_N_READ])
            if n_levels > max(MOST_LEVELS, len(texts) / 2) and 2 * n_numbers < n_read:
                raise ValueError(_identifiers(label, n_levels, texts))

    def check_positions(self, nodes: Names = ()) -> None:
        """Check that labels that are not strings are the columns' positions, or the nodes.

        Nodes and constraints would take such columns by position, whatever their labels say.
        """
        labels, numbers = self.labels, list(range(len(self.labels)))
        if self.names is not None or not self.is_frame or {*labels} == {*nodes}:
            return
        if labels == numbers:
            stands_for = zip(labels, nodes, strict=False)
            if any(label != node and label in nodes for label, node in stands_for):
                raise ValueError(
                    f"The columns of X are labelled [{first_few(labels)}], and by position they "
                    f"stand for the nodes [{first_few(nodes)}], but some of these labels are the "
                    "names of other nodes. If the columns are in the order of the nodes, pass "
                    f"X.to_numpy(); otherwise a data frame with the columns {list(nodes)}."
                )
            return
        raise ValueError(
            f"The columns of X are labelled [{first_few(self.labels)}], which are not strings, so "
            "the columns would be taken by position. Name them, for example by "
            "X.columns = [str(c) for c in X.columns], or pass an array."
        )

    def rows(
        self,
        numbers: Sequence[int] | None = None,
        names: Names | None = None,
        *,
        may_miss: bool = False,
    ) -> Floats:
        """Return columns as an array of their own.

        `numbers`: the columns to read; by default all. Other columns are not checked.
        `names`: the columns' names in errors; by default their labels

        Returns `rows`: (n, k), finite, or NaN where values are missing.
        """
        if containers.is_dask(self._values):
            some = "X.sample(frac=0.1).compute()" if self.is_frame else "X[::10].compute()"
            raise TypeError(
                f"X is a dask {self.container}, whose rows would have to be in memory here. Pass "
                f"X.compute(), or some rows, as by {some}. LocalScoreTransformer, "
                "GaussianBNLearner, GaussianBNPosterior and GaussianBayesianNetwork are fitted to "
                "X as it is."
            )
        if self.is_lazy:
            np.asarray(self._values)  # raises, as there are no rows
        chosen = range(len(self.labels)) if numbers is None else numbers
        names = [self.labels[j] for j in chosen] if names is None else names
        if not self.is_frame and self._values.dtype.kind in "biuf":
            values = self._values if numbers is None else self._values[:, list(numbers)]
            _check_integers(values, names)
            with np.errstate(over="ignore"):  # a long double; infinity is refused
                rows = np.array(values, dtype=np.float64, order="C")
        else:
            self.reject_identifiers(chosen)
            columns = np.empty((len(chosen), len(self._values)))
            for k, (j, name) in enumerate(zip(chosen, names, strict=True)):
                columns[k] = self._column(j, name)
            rows = np.ascontiguousarray(columns.T)
        _check_finite(rows, names, len(self.labels), may_miss)
        return rows

    def _column(self, number: int, name: Hashable) -> Floats:
        column = self.column(number)
        try:
            if self.is_frame:
                return _floats_of_series(column, name, number)
            return _floats_of_values(column, name)
        except ValueError:
            values = np.array(column, dtype=object)
            values[containers.missing_in(column, values)] = None
            if message := numeric_text(values.tolist(), self.labels[number]):
                raise ValueError(message) from None
            raise


# What to do if a table without names has more or fewer columns than are wanted.
REMEDY = "Give these columns, or a data frame whose columns have the nodes' names."


def read_columns(
    table: Table, wanted: Names, columns: Names, remedy: str = REMEDY, *, may_miss: bool = False
) -> Floats:
    """Return the columns of a table that `numbers_of` finds, in an array of shape (n, k).

    Raises a ValueError or a TypeError if they hold values that are not finite numbers, too. With
    `may_miss`, values may be missing, which are NaN.
    """
    rows = table.rows(numbers_of(table, wanted, columns, remedy), wanted, may_miss=may_miss)
    if not rows.size:
        check_array(rows, ensure_all_finite=False, input_name="X")  # raises in scikit-learn's words
    return rows


def numbers_of(table: Table, wanted: Names, columns: Names, remedy: str = REMEDY) -> list[int]:
    """Return the numbers of columns, found by name if the names are strings, else by position.

    `table`: columns that are not wanted may hold anything
    `wanted`: the columns to return, in this order
    `columns`: the nodes that the columns stand for if they have no names
    `remedy`: what an error advises if the table has more or fewer columns than that
    """
    names: list[Any] | None = table.names
    if names is None:
        table.check_positions(columns)
        names = table.labels if {*table.labels} == {*columns} else list(columns)
        if len(table.labels) != len(names):
            hint = " Names of columns must be strings to be matched to the nodes."
            raise ValueError(
                f"X must be of shape (n, {len(names)}), its columns standing for {names}; got "
                f"{table.container} with {len(table.labels)} columns. {remedy}"
                f"{hint if table.is_frame else ''}"
            )
    missing = [node for node in wanted if node not in names]
    if missing:
        rename = "Rename them to the nodes, or give an array with the columns in the nodes' order."
        n_others = len({*names}.difference(wanted))
        raise ValueError(
            f"X has no columns {missing}; its columns are {names}. "
            f"{rename if n_others >= len(missing) else 'Add them.'}"
        )
    return [names.index(node) for node in wanted]


# Values


def _floats_of_series(column: Any, name: Hashable, number: int) -> Floats:
    """Return a data frame's column as numbers, with NaN for missing values."""
    if str(getattr(column, "type", "")).startswith("dictionary"):
        raise ValueError(
            f"Column {name!r} is dictionary-encoded, as categories are. Let GaussianBNLearner take "
            'it as a category by nodes="auto", leave it out, or, if they are numbers, pass '
            f"X.set_column({number}, {name!r}, X[{name!r}].cast('double'))."
        )
    values = containers.as_numpy(column, f"Column {name!r}", "Cast it to float64 or leave it out.")
    floats = _floats_of_values(values, name)
    floats[containers.missing_in(column, values)] = np.nan
    return floats


def _floats_of_values(values: npt.NDArray[Any], name: Hashable) -> Floats:
    """Return a column's values as a new array of numbers, with NaN for None."""
    if values.ndim != 1:
        raise TypeError(
            f"Column {name!r} holds several values in each row. Give each a column of its own, or "
            "leave it out."
        )
    if values.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: column {name!r} is complex. Give its real and imaginary "
            "part a column each."
        )
    if values.dtype.kind in "biuf":
        _check_integers(values[:, np.newaxis], [name])
        with np.errstate(over="ignore"):
            return values.astype(np.float64)
    return np.array([_float(value, name, row) for row, value in enumerate(values)], np.float64)


def _float(value: Any, name: Hashable, row: int) -> float:
    if is_missing(value):
        return np.nan
    reason = ""
    kind: type[Exception] = ValueError
    if not isinstance(value, _NOT_REAL):
        try:
            number = float(value)
        except (ValueError, OverflowError) as error:
            reason = f" ({error})"
        except TypeError as error:
            reason, kind = f" ({error})", TypeError
        else:
            if isinstance(value, Integral) and int(number) != value:
                raise ValueError(_inexact(int(value), name, row))
            return number
    remedy = "Encode it as numbers or leave the column out."
    if isinstance(value, str):
        remedy = (
            'Let GaussianBNLearner take the column as a category by nodes="auto", encode it as '
            "numbers, or leave it out."
        )
    if isinstance(value, np.datetime64 | date) or _is_date(value):
        remedy = _remedy_of_dates(name)
    if isinstance(value, (complex, np.complexfloating)):
        remedy = "Give its real and imaginary part a column each."
    text = shortened(str(value), _LONGEST_VALUE)
    raise kind(
        f"Column {name!r} holds {text!r} in row {row}, which is not a number{reason}. {remedy}"
    )


def _check_integers(values: npt.NDArray[Any], names: Names) -> None:
    """Raise if integers, of shape (n, k), would lose digits as float64."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return
    if values.max() <= _LARGEST_EXACT and values.min() >= -_LARGEST_EXACT:
        return
    for row, j in np.argwhere((values > _LARGEST_EXACT) | (values < -_LARGEST_EXACT)).tolist():
        value = int(values[row, j])
        if int(float(value)) != value:
            raise ValueError(_inexact(value, names[j], row))


def _inexact(value: int, name: Hashable, row: int) -> str:
    return (
        f"Column {name!r} holds {value} in row {row}, an integer that float64 would round. Leave "
        "the column out if it is an identifier; otherwise subtract a constant from it, or pass "
        "it as float64 if rounding does no harm."
    )


def _check_finite(rows: Floats, names: Names, n_columns: int, may_miss: bool = False) -> None:
    """Raise if values are missing or infinite; the rows may be some of `n_columns` columns.

    With `may_miss`, values may be missing.
    """
    if np.isfinite(rows).all():
        return
    missing, infinite = np.isnan(rows), np.isinf(rows)
    if may_miss and not infinite.any():
        return
    where = "" if not infinite.any() else _places(infinite, names, n_columns)
    if may_miss or not missing.any():
        raise ValueError(
            f"X has infinite values in {where}. Drop these rows or replace the values."
        )
    also = f" It has infinite values in {where}; drop or replace these first." if where else ""
    empty = [names[j] for j in np.flatnonzero(missing.all(axis=0)).tolist()]
    if empty and len(rows) > 1:
        also += f" Leave out the columns [{first_few(empty)}], which have no value at all."
    keep_names = '.set_output(transform="pandas")' if isinstance(names[0], str) else ""
    raise ValueError(
        f"X has missing values (NaN) in {_places(missing, names, n_columns)}.{also} "
        "GaussianBNLearner(missing='em') and GaussianBNPosterior(missing='augment') take missing "
        "values in tables in memory. Or impute them, by `impute` of a network, or by "
        f"sklearn.impute.IterativeImputer(){keep_names}, which needs "
        "`from sklearn.experimental import enable_iterative_imputer`; dropping the rows loses more."
    )


def _places(wrong: Booleans, names: Names, n_columns: int) -> str:
    n_rows, k = wrong.shape
    columns = np.flatnonzero(wrong.any(axis=0)).tolist()
    first = columns[0]
    read = f"its {k} columns" if k == n_columns else f"the {k} columns that are read"
    return (
        f"{len(columns)} of {read} ({first_few(names[j] for j in columns)}) and in "
        f"{wrong.any(axis=1).sum()} of its {n_rows} rows; the first is in column "
        f"{names[first]!r}, row {wrong[:, first].argmax()}"
    )

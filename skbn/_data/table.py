"""Table: reads the tables that users pass as columns of finite numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.utils.validation import check_array

from skbn._core.columns import is_labelled
from skbn._core.text import first_few, shortened
from skbn._data.sample import TableMixin

__all__ = ["Table", "read_columns", "row_labels"]

# A value that is quoted in an error may be a list, or a whole table.
_LONGEST_VALUE = 60
# Types that float() would accept, or refuse with an unhelpful message.
_NOT_REAL = (
    *(str, bytes, bytearray, complex),
    *(np.ndarray, np.complexfloating, np.datetime64, np.timedelta64),
)
# How to make a table of an object that holds no values yet, or that numpy cannot read. The first
# of these methods that the object has decides.
_CONVERSIONS = {
    "toPandas": "X.toPandas()",  # of Spark, whose collect gives a list of its rows
    "collect": "X.collect()",  # of polars.LazyFrame
    "to_arrow_table": "X.df() for a pandas data frame or X.to_arrow_table() for pyarrow",  # DuckDB
    "to_table": "X.to_table()",  # of pyarrow.dataset.Dataset
    "read_all": "X.read_all()",  # of pyarrow.RecordBatchReader
    "to_pandas": "X.to_pandas()",
    "__arrow_c_stream__": "pyarrow.table(X)",
    "__dataframe__": "pyarrow.interchange.from_dataframe(X), after `import pyarrow.interchange`",
}


class Table:
    """A table in any container that scikit-learn accepts, or in one of pyarrow's.

    Parameters
    ----------
    X : array-like, data frame, pyarrow.Table, pyarrow.RecordBatch or LocalScores

    Attributes
    ----------
    labels : list of m hashables
        The columns' labels, or their positions if the container has none.
    names : list of m str, or None
        The labels if all of them are strings, as in scikit-learn.
    container : str
        The name of its type.
    is_frame : bool
        Whether it has labels.

    Raises
    ------
    TypeError
        If X is no table, or holds no values yet; if some labels are strings and others
        are not.
    ValueError
        If X has no columns, or not two dimensions; if a label is given twice.
    """

    def __init__(self, X: Any) -> None:
        self.container = type(X).__name__
        self._values: Any
        self.labels: list[Any]
        labels = _frame_labels(X)
        self.is_frame = labels is not None
        if labels is not None:
            _check_labels(labels, X)
            # A dask frame would compute all of its columns for each of them.
            self._values = X.compute() if hasattr(type(X), "compute") else X
            self.labels = labels
        elif isinstance(X, TableMixin):
            self._values, self.labels = X.sample.rows, X.columns
        else:
            self._values = _as_array(X)
            self.labels = list(range(self._values.shape[1]))
        are_names = self.labels and all(isinstance(label, str) for label in self.labels)
        self.names: list[Any] | None = self.labels if are_names else None

    def check_positions(self, nodes: Sequence[Hashable] = ()) -> None:
        """Check that labels that are not strings are the columns' positions, or the nodes.

        Nodes and constraints would take such columns by position, whatever their labels say.

        Raises
        ------
        ValueError
            If they are neither.
        """
        labels, numbers = self.labels, list(range(len(self.labels)))
        if self.names is not None or not self.is_frame or labels == [*nodes]:
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
        self, numbers: Sequence[int] | None = None, names: Sequence[Hashable] | None = None
    ) -> npt.NDArray[np.float64]:
        """Return columns as an array of their own.

        Parameters
        ----------
        numbers : sequence of k int, optional
            The columns to read; by default all. Other columns are not checked.
        names : sequence of k hashables, optional
            The columns' names in errors; by default their labels.

        Returns
        -------
        rows : ndarray of shape (n, k), float64, C-contiguous
            Finite.

        Raises
        ------
        ValueError, TypeError
            If a column holds anything but real numbers, or values are missing or infinite;
            the error names the column.
        """
        chosen = range(len(self.labels)) if numbers is None else numbers
        names = [self.labels[j] for j in chosen] if names is None else names
        if not self.is_frame and self._values.dtype.kind in "biuf":
            values = self._values if numbers is None else self._values[:, list(numbers)]
            with np.errstate(over="ignore"):  # of a long double, which is refused as infinite
                rows = np.array(values, dtype=np.float64, order="C")
        else:
            columns = np.empty((len(chosen), len(self._values)))
            for k, (j, name) in enumerate(zip(chosen, names, strict=True)):
                columns[k] = self._column(j, name)
            rows = np.ascontiguousarray(columns.T)
        _check_finite(rows, names, len(self.labels))
        return rows

    def _column(self, number: int, name: Hashable) -> npt.NDArray[np.float64]:
        if self.is_frame:
            return _floats_of_series(self._values[self.labels[number]], name, number)
        return _floats(self._values[:, number], name)


def read_columns(
    table: Table,
    wanted: Sequence[Hashable],
    columns: Sequence[Hashable],
    remedy: str = "Give these columns, or a data frame whose columns have the nodes' names.",
) -> npt.NDArray[np.float64]:
    """Return some columns of a table, by name if the names are strings, else by position.

    Parameters
    ----------
    table : Table
        Columns that are not wanted may hold anything.
    wanted : sequence of k nodes
        The columns to return, in this order.
    columns : sequence of nodes
        The nodes that the columns stand for if they have no names.
    remedy : str, optional
        What an error advises if the table has more or fewer columns than that.

    Returns
    -------
    rows : ndarray of shape (n, k), float64

    Raises
    ------
    ValueError, TypeError
        Naming the columns: if some are missing, or hold values that are not finite numbers; if
        the labels are not strings, positions or nodes.
    """
    names: list[Any] | None = table.names
    if names is None:
        table.check_positions(columns)
        names = list(columns)
        if len(table.labels) != len(names):
            hint = " Names of columns must be strings to be matched to the nodes."
            raise ValueError(
                f"X must be of shape (n, {len(names)}), its columns standing for {names}; got "
                f"{table.container} with {len(table.labels)} columns. {remedy}"
                f"{hint if table.is_frame else ''}"
            )
    missing = [node for node in wanted if node not in names]
    if missing:
        raise ValueError(
            f"X has no columns {missing}; its columns are {names}. Rename them to the nodes, or "
            "give an array with the columns in the nodes' order."
        )
    rows = table.rows([names.index(node) for node in wanted], wanted)
    return np.asarray(check_array(rows, ensure_all_finite=False, input_name="X"))


# Containers


def row_labels(X: Any) -> Any:
    """Return the index of a pandas data frame, or None if the rows of the table have no labels."""
    if not (hasattr(X, "iloc") and hasattr(X, "columns")):
        return None
    # The index of a dask frame must be computed first.
    return X.index.compute() if hasattr(type(X), "compute") else X.index


def _frame_labels(X: Any) -> list[Any] | None:
    """Return the labels of a data frame's columns; None for anything else."""
    kind = type(X)  # not X, as a frame's columns are among its attributes
    if isinstance(X, np.ndarray | TableMixin) or not hasattr(kind, "__array__"):
        return None
    if hasattr(kind, "column_names"):  # pyarrow, whose `columns` are the values
        return list(X.column_names)
    return list(X.columns) if hasattr(kind, "columns") else None


def _check_labels(labels: list[Any], X: Any) -> None:
    if not labels:
        raise ValueError(f"X has no columns; its shape is {X.shape}. Pass at least two columns.")
    repeated = sorted({str(label) for label in labels if labels.count(label) > 1})
    if repeated:
        raise ValueError(
            f"Each column must have a name of its own; [{first_few(repeated)}] are given more than "
            "once. Rename these columns."
        )
    others = [label for label in labels if not isinstance(label, str)]
    if others and len(others) < len(labels):
        raise TypeError(
            "The names of X's columns must be strings, unless none of them is, as columns are then "
            f"taken by position; {others[0]!r} is not a string, and others are. Rename the "
            "columns, for example by X.columns = [str(c) for c in X.columns]."
        )


def _as_array(X: Any) -> npt.NDArray[Any]:
    """Return anything but a data frame as an array of two dimensions."""
    _reject_containers(X)
    kind = type(X).__name__
    values = _read(X, f"X, a {kind},", "Pass a data frame or an array of numbers.")
    # Beside strings, numpy makes strings of numbers.
    if isinstance(X, list | tuple) and values.dtype.kind in "US":
        values = np.asarray(X, dtype=object)
    if values.ndim == 0:  # numpy takes X for a single object
        raise TypeError(
            f"X must be a data frame or an array of shape (n, m); got {kind}.{_remedy(X)}"
        )
    if values.dtype.names is not None:
        raise TypeError(
            f"X is a structured array with the fields [{first_few(values.dtype.names)}]. Pass "
            "pandas.DataFrame(X), which keeps their names, or structured_to_unstructured(X), by "
            "`from numpy.lib.recfunctions import structured_to_unstructured`."
        )
    if values.ndim != 2:
        raise ValueError(
            f"X must have two dimensions, rows and columns; got {kind} of shape {values.shape}. "
            "Reshape your data: numpy.reshape(X, (-1, 1)) makes a single column of it, and "
            "numpy.reshape(X, (1, -1)) a single row. Learning a network takes two or more of each."
        )
    return values


def _reject_containers(X: Any) -> None:
    """Raise if X must be converted to a table first."""
    kind = type(X).__name__
    if hasattr(type(X), "local_score"):  # scores without rows
        raise TypeError(f"{kind} have no rows. Pass a table.")
    for row in X if isinstance(X, list | tuple) else ():
        if is_labelled(row) or hasattr(row, "_fields"):
            raise TypeError(
                f"X is a {kind} of {type(row).__name__}, whose labels would be lost; pass "
                "pandas.DataFrame(X)."
            )
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError(
            "X is a masked array, whose mask would be lost. Drop the rows with masked values by "
            "numpy.ma.compress_rows(X)."
        )
    if isinstance(X, np.matrix):
        raise TypeError("X is a numpy.matrix; pass numpy.asarray(X).")
    if scipy.sparse.issparse(X):
        raise TypeError(f"X is sparse, a {kind}, and must be dense; pass X.toarray().")
    if not isinstance(X, list | tuple) and not hasattr(type(X), "__array__"):
        for method, remedy in _CONVERSIONS.items():
            if hasattr(type(X), method):
                raise TypeError(f"X is a {kind}, which cannot be read as it is; call {remedy}.")


def _remedy(X: Any) -> str:
    if isinstance(X, Mapping):
        return " Pass pandas.DataFrame(X)."
    if isinstance(X, str | PathLike):
        return " Read the file first, for example by pandas.read_csv(X)."
    return " Pass list(X)." if isinstance(X, Iterator) else ""


def _read(values: Any, what: str, remedy: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(values)
    except MemoryError:
        raise
    except Exception as error:  # every library raises errors of its own
        if isinstance(values, list | tuple) and isinstance(error, ValueError):
            raise ValueError("X must be a table; its rows are of different lengths.") from None
        text = shortened(str(error), 2 * _LONGEST_VALUE)
        raise TypeError(f"{what} cannot be read as numbers ({text}). {remedy}") from error


# Columns


def _floats_of_series(column: Any, name: Hashable, number: int) -> npt.NDArray[np.float64]:
    """Return a data frame's column as numbers, with NaN for missing values."""
    if str(getattr(column, "type", "")).startswith("dictionary"):
        raise ValueError(
            f"Column {name!r} is dictionary-encoded, as categories are. Leave it out, or, if they "
            f"are numbers, pass X.set_column({number}, {name!r}, X[{name!r}].cast('double'))."
        )
    values = _read(column, f"Column {name!r}", "Cast it to float64 or leave it out.")
    floats = _floats(values, name)
    # In pyarrow's extension types a null may look like a number.
    for method in ("isna", "is_null"):
        if hasattr(type(column), method):  # not the column, as a row may have that label
            floats[np.asarray(getattr(column, method)(), dtype=bool)] = np.nan
    return floats


def _floats(values: npt.NDArray[Any], name: Hashable) -> npt.NDArray[np.float64]:
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
        with np.errstate(over="ignore"):
            return values.astype(np.float64)
    return np.array([_float(value, name, row) for row, value in enumerate(values)], np.float64)


def _float(value: Any, name: Hashable, row: int) -> float:
    if value is None or type(value).__name__ == "NAType":  # pandas.NA
        return np.nan
    reason = ""
    kind: type[Exception] = ValueError
    if not isinstance(value, _NOT_REAL):
        try:
            return float(value)
        except (ValueError, OverflowError) as error:
            reason = f" ({error})"
        except TypeError as error:
            reason, kind = f" ({error})", TypeError
    remedy = "Encode it as numbers or leave the column out."
    if isinstance(value, (complex, np.complexfloating)):
        remedy = "Give its real and imaginary part a column each."
    text = shortened(str(value), _LONGEST_VALUE)
    raise kind(
        f"Column {name!r} holds {text!r} in row {row}, which is not a number{reason}. {remedy}"
    )


def _check_finite(rows: npt.NDArray[np.float64], names: Sequence[Hashable], n_columns: int) -> None:
    """Raise if values are missing or infinite; the rows may be some of `n_columns` columns."""
    if np.isfinite(rows).all():
        return
    missing, infinite = np.isnan(rows), np.isinf(rows)
    where = "" if not infinite.any() else _places(infinite, names, n_columns)
    if not missing.any():
        raise ValueError(
            f"X has infinite values in {where}. Drop these rows or replace the values."
        )
    also = f" It has infinite values in {where}; drop or replace these first." if where else ""
    keep_names = '.set_output(transform="pandas")' if isinstance(names[0], str) else ""
    raise ValueError(
        f"X has missing values (NaN) in {_places(missing, names, n_columns)}.{also} Impute "
        f"the values, for example by sklearn.impute.IterativeImputer(){keep_names}, which needs "
        "`from sklearn.experimental import enable_iterative_imputer`; dropping the rows loses more."
    )


def _places(wrong: npt.NDArray[np.bool_], names: Sequence[Hashable], n_columns: int) -> str:
    n_rows, k = wrong.shape
    columns = np.flatnonzero(wrong.any(axis=0)).tolist()
    first = columns[0]
    read = f"its {k} columns" if k == n_columns else f"the {k} columns that are read"
    return (
        f"{len(columns)} of {read} ({first_few(names[j] for j in columns)}) and in "
        f"{wrong.any(axis=1).sum()} of its {n_rows} rows; the first is in column "
        f"{names[first]!r}, row {wrong[:, first].argmax()}"
    )

"""The containers in which users pass tables, and how to make a table of other objects."""

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from skbn._core.arrays import Booleans
from skbn._core.columns import is_labelled, is_missing
from skbn._core.text import first_few, shortened

_DASK = {"dask", "dask_expr"}  # the latter has the data frames of some versions
# Characters of another library's error that ours quotes.
_LONGEST_REASON = 120
# How to make a table of an object that holds no values yet, or that numpy cannot read, by the
# method that it has; the first in this order decides.
_CONVERSIONS = {
    "toPandas": "X.toPandas()",  # Spark, whose collect gives a list of its rows
    "collect": "X.collect()",  # polars.LazyFrame
    "to_arrow_table": "X.df() for a pandas data frame or X.to_arrow_table() for pyarrow",  # DuckDB
    "to_table": "X.to_table()",  # pyarrow.dataset.Dataset
    "read_all": "X.read_all()",  # pyarrow.RecordBatchReader
    "to_pandas": "X.to_pandas()",
    "__arrow_c_stream__": "pyarrow.table(X)",
    "__dataframe__": "pyarrow.interchange.from_dataframe(X), after `import pyarrow.interchange`",
}


def is_dask(values: Any) -> bool:
    """Whether this is an array, a data frame or a series of dask, or derived from one."""
    kind = type(values)
    return (
        hasattr(kind, "to_delayed")
        and hasattr(kind, "__array__")
        and any(base.__module__.partition(".")[0] in _DASK for base in kind.__mro__)
    )


def is_dask_frame(values: Any) -> bool:
    """Whether an object of dask is a data frame or a series, and no array."""
    return not hasattr(type(values), "chunks")


def check_is_dask_table(X: Any) -> None:
    """Check that an object of dask has rows and columns."""
    if X.ndim != 2:
        raise ValueError(
            "X must have two dimensions, rows and columns; got a dask "
            f"{type(X).__name__} with {X.ndim}. Reshape it, or pass a dask DataFrame."
        )
    if not is_dask_frame(X) and np.isnan(X.shape[1]):
        raise ValueError(
            "X is a dask Array that does not know how many columns it has. Call "
            "X.compute_chunk_sizes() first."
        )


def row_labels(X: Any) -> Any:
    """Return the index of a pandas data frame, or None if the rows of the table have no labels."""
    return X.index if hasattr(X, "iloc") and hasattr(X, "columns") else None


def with_columns(X: Any, labels: Sequence[Any]) -> Any:
    """Return a data frame of pandas or polars with missing values in the columns that it lacks.

    At least one of the columns is there. Others are returned as they are.
    """
    there = frame_labels(X) or []
    lacking = [label for label in labels if label not in there]
    if not lacking or len(lacking) == len(labels):
        return X
    if hasattr(X, "reindex"):
        return X.reindex(columns=[*there, *lacking])
    return X.with_columns(**dict.fromkeys(lacking)) if hasattr(X, "with_columns") else X


def frame_labels(X: Any) -> list[Any] | None:
    """Return the labels of a data frame's columns; None for anything else."""
    kind = type(X)  # not X, as a frame's columns are among its attributes
    if isinstance(X, np.ndarray) or not hasattr(kind, "__array__"):
        return None
    if hasattr(kind, "column_names"):  # pyarrow, whose `columns` are the values
        return list(X.column_names)
    return list(X.columns) if hasattr(kind, "columns") else None


def check_labels(labels: list[Any], X: Any) -> None:
    """Raise unless the columns of a frame have labels, each its own, and all strings or none."""
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


def array_of(X: Any) -> npt.NDArray[Any]:
    """Return anything but a data frame as an array of two dimensions."""
    _reject_containers(X)
    kind = type(X).__name__
    if isinstance(X, np.ma.MaskedArray):
        hole: Any = np.nan if X.dtype.kind == "f" else None
        X = np.where(np.ma.getmaskarray(X), hole, X.data) if np.ma.is_masked(X) else X.data
    values = as_numpy(X, f"X, a {kind},", "Pass a data frame or an array of numbers.")
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
    if hasattr(X, "table") and hasattr(X, "exogenous"):  # a LaggedTable
        return " Pass X.table, and its lagged copies by exogenous=X.exogenous."
    if isinstance(X, str | PathLike):
        return " Read the file first, for example by pandas.read_csv(X)."
    return " Pass list(X)." if isinstance(X, Iterator) else ""


def as_numpy(values: Any, what: str, remedy: str) -> npt.NDArray[Any]:
    """Return values as numpy reads them, or raise an error that says what they are."""
    try:
        if hasattr(type(values), "dictionary_decode"):  # numpy would make floats of whole numbers
            return np.array(values.to_pylist(), dtype=object)
        array = np.asarray(values)
        return array.astype(object) if array.dtype.kind == "T" else array
    except MemoryError:
        raise
    except Exception as error:  # every library raises errors of its own
        if isinstance(values, list | tuple) and isinstance(error, ValueError):
            raise ValueError("X must be a table; its rows are of different lengths.") from None
        text = shortened(str(error), _LONGEST_REASON)
        raise TypeError(f"{what} cannot be read as numbers ({text}). {remedy}") from error


def missing_in(column: Any, values: npt.NDArray[Any]) -> Booleans:
    """Return whether each value of a column is missing, whatever its container.

    `column`: ndarray, or a column of pandas, polars or pyarrow
    `values`: (n,), the column as numpy reads it. For pyarrow's dictionaries and extension types,
        numpy alone shows some other value for a null.

    >>> values = np.array(["red", None, float("nan")], dtype=object)
    >>> missing_in(values, values)
    array([False,  True,  True])
    """
    if values.dtype.kind in "fmM":
        missing = np.isnan(values)
    elif values.dtype.kind == "O":
        missing = np.fromiter(map(is_missing, values), bool, len(values))
    else:
        missing = np.zeros(len(values), bool)
    for method in ("isna", "is_null"):
        if hasattr(type(column), method):  # not the column, as a row may have that label
            missing = missing | np.asarray(getattr(column, method)(), dtype=bool)
    return missing

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
from skbn._core.text import first_few
from skbn._data.column_values import (
    as_numpy,
    check_finite,
    check_integers,
    floats_of_series,
    floats_of_values,
)
from skbn._data.dask_blocks import check_is_table, is_dask
from skbn._data.sample import TableMixin

__all__ = ["Table", "numbers_of", "read_columns", "row_labels"]

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
        if is_dask(X):
            check_is_table(X)
        labels = _frame_labels(X)
        self.is_frame = labels is not None
        if labels is not None:
            _check_labels(labels, X)
            self._values, self.labels = X, labels
        elif is_dask(X):
            self._values, self.labels = X, list(range(X.shape[1]))
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
        self,
        numbers: Sequence[int] | None = None,
        names: Sequence[Hashable] | None = None,
        *,
        may_miss: bool = False,
    ) -> npt.NDArray[np.float64]:
        """Return columns as an array of their own.

        Parameters
        ----------
        numbers : sequence of k int, optional
            The columns to read; by default all. Other columns are not checked.
        names : sequence of k hashables, optional
            The columns' names in errors; by default their labels.
        may_miss : bool
            Whether values may be missing.

        Returns
        -------
        rows : ndarray of shape (n, k), float64, C-contiguous
            Finite, or NaN where values are missing.

        Raises
        ------
        ValueError, TypeError
            If a column holds anything but real numbers, or values are missing or infinite;
            the error names the column.
        """
        if is_dask(self._values):
            some = "X.sample(frac=0.1).compute()" if self.is_frame else "X[::10].compute()"
            raise TypeError(
                f"X is a dask {self.container}, whose rows would have to be brought into memory "
                f"here. If they fit, pass X.compute(), or else some, as by {some}. "
                "LocalScoreTransformer, GaussianBNLearner, "
                "GaussianBNPosterior and GaussianBayesianNetwork are fitted to X as it is, block "
                "by block."
            )
        chosen = range(len(self.labels)) if numbers is None else numbers
        names = [self.labels[j] for j in chosen] if names is None else names
        if not self.is_frame and self._values.dtype.kind in "biuf":
            values = self._values if numbers is None else self._values[:, list(numbers)]
            check_integers(values, names)
            with np.errstate(over="ignore"):  # of a long double, which is refused as infinite
                rows = np.array(values, dtype=np.float64, order="C")
        else:
            columns = np.empty((len(chosen), len(self._values)))
            for k, (j, name) in enumerate(zip(chosen, names, strict=True)):
                columns[k] = self._column(j, name)
            rows = np.ascontiguousarray(columns.T)
        check_finite(rows, names, len(self.labels), may_miss)
        return rows

    def _column(self, number: int, name: Hashable) -> npt.NDArray[np.float64]:
        if self.is_frame:
            return floats_of_series(self._values[self.labels[number]], name, number)
        return floats_of_values(self._values[:, number], name)


def read_columns(
    table: Table,
    wanted: Sequence[Hashable],
    columns: Sequence[Hashable],
    remedy: str = "Give these columns, or a data frame whose columns have the nodes' names.",
) -> npt.NDArray[np.float64]:
    """Return the columns of a table that `numbers_of` finds, in an array of shape (n, k).

    Raises a ValueError or a TypeError if they hold values that are not finite numbers, too.
    """
    rows = table.rows(numbers_of(table, wanted, columns, remedy), wanted)
    return np.asarray(check_array(rows, ensure_all_finite=False, input_name="X"))


def numbers_of(
    table: Table,
    wanted: Sequence[Hashable],
    columns: Sequence[Hashable],
    remedy: str = "Give these columns, or a data frame whose columns have the nodes' names.",
) -> list[int]:
    """Return the numbers of columns, found by name if the names are strings, else by position.

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
    numbers : list of k int

    Raises
    ------
    ValueError
        Naming the columns, if some are missing, or the labels are not strings, positions or nodes.
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
    return [names.index(node) for node in wanted]


# Containers


def row_labels(X: Any) -> Any:
    """Return the index of a pandas data frame, or None if the rows of the table have no labels."""
    return X.index if hasattr(X, "iloc") and hasattr(X, "columns") else None


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

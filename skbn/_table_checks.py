"""What a table may not be: of another container, with names twice, with anything but numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skbn._scores._local_scores import LocalScores
from skbn._scores._parent_set_scores import ParentSetScores

__all__ = [
    "columns_of_other_types",
    "reject_lost_labels",
    "reject_no_columns",
    "reject_non_finite",
    "reject_non_numbers",
    "reject_other_containers",
    "reject_repeated_names",
    "reject_unread_names",
]

_MOST_LABELS = 5


def reject_other_containers(X: Any) -> None:
    """Raise if X is scores, a masked array or a frame that holds no values yet."""
    if isinstance(X, LocalScores | ParentSetScores):
        kind = type(X).__name__
        raise TypeError(f"X are {kind} already; give them to a GaussianBNLearner.")
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError("X is a masked array, whose mask would be lost; impute or drop rows.")
    if hasattr(X, "collect") and not hasattr(X, "to_numpy"):
        raise TypeError(f"X is a {type(X).__name__}, which holds no values yet; call X.collect().")


def reject_no_columns(X: Any) -> None:
    """Raise if a frame has no columns."""
    if hasattr(X, "columns") and not len(X.columns):
        raise ValueError(f"X has no columns; its shape is {X.shape}. Give a table of two or more.")


def reject_repeated_names(X: Any) -> None:
    """Raise if columns share a name."""
    if hasattr(X, "columns"):
        names = list(X.columns)
        repeated = sorted({str(name) for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(
                f"Each column must have a name of its own; {repeated} are given more than once. "
                "Rename them."
            )


def reject_lost_labels(X: Any, nodes: Sequence[Any] = ()) -> None:
    """Raise if columns have labels that are not strings, nor their positions or the nodes.

    Nodes and constraints would take such columns by position, whatever their labels say.
    """
    labels = list(getattr(X, "columns", []))
    if any(isinstance(label, str) for label in labels):
        return
    if labels != list(range(len(labels))) and labels != list(nodes):
        shown = ", ".join(repr(label) for label in labels[:_MOST_LABELS])
        more = ", ..." if len(labels) > _MOST_LABELS else ""
        raise ValueError(
            f"The columns of X are labelled [{shown}{more}], which are not strings, and would be "
            "taken by position. Name them, as by X.columns = [str(c) for c in X.columns], or give "
            "an array."
        )


def reject_unread_names(X: Any, names: Sequence[Any] | None) -> None:
    """Raise if the columns of X have names, and others or none were read.

    scikit-learn does not know every container, and an older one no new ones.
    """
    labels = list(getattr(X, "columns", []))
    if any(isinstance(label, str) for label in labels) and (names is None or labels != [*names]):
        raise ValueError(
            f"This version of scikit-learn cannot read the names of X's columns, as X is a "
            f"{type(X).__module__.partition('.')[0]}.{type(X).__name__}; they would be taken by "
            "position. Give a pandas.DataFrame, or an array, whose columns have no names."
        )


def columns_of_other_types(X: Any) -> Iterator[tuple[Any, npt.NDArray[Any]]]:
    """Yield those columns of a table whose dtype is not a number's, with their names."""
    if hasattr(X, "columns"):
        for name in X.columns:
            values = np.asarray(X[name])
            if values.dtype.kind not in "biufc":
                yield name, values
    elif isinstance(X, (np.ndarray, list, tuple)):
        try:
            table = np.asarray(X, dtype=None if isinstance(X, np.ndarray) else object)
        except ValueError:  # rows of different lengths, of which validate_data speaks
            return
        if table.ndim == 2 and table.dtype.kind not in "biufc":
            yield from enumerate(table.T)


def reject_non_numbers(name: Any, values: npt.NDArray[Any]) -> None:
    """Raise for the first value of a column that is no real number; missing ones pass."""
    for row, value in enumerate(values):
        if value is None or type(value).__name__ == "NAType":  # missing, as NaN is
            continue
        refusal = f"Column {name!r} holds {str(value)!r} in row {row}, which is not a number"
        if isinstance(value, (str, bytes, np.datetime64, np.timedelta64)):
            raise ValueError(f"{refusal}. Encode it as numbers or leave the column out.")
        if isinstance(value, (complex, np.complexfloating)):
            raise ValueError(f"{refusal}. Give its real and imaginary part a column each.")
        try:
            float(value)
        except (TypeError, ValueError, OverflowError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{refusal} ({error}). Encode it or leave the column out.") from None


def reject_non_finite(name: Any, column: npt.NDArray[np.float64]) -> None:
    """Raise if a column has NaN or an infinity."""
    bad = ~np.isfinite(column)
    if bad.any():
        row = int(np.argmax(bad))
        value = "NaN" if np.isnan(column[row]) else f"{column[row]}"
        n_bad = int(bad.sum())
        raise ValueError(
            f"Column {name!r} contains {value} in row {row} ({n_bad} of its values "
            f"{'is' if n_bad == 1 else 'are'} NaN or infinity). Impute or drop such rows."
        )

"""Tables of dask: their blocks of rows, with a weight for each row.

dask is optional: it is imported only where it must be there, since the user gave an object of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from skbn._core.columns import is_series
from skbn._data.containers import is_dask
from skbn._data.row_values import in_order_of_rows, read_sample_weight


def check_is_table(X: Any) -> None:
    """Check that an object of dask has rows and columns.

    Raises
    ------
    ValueError
        If it does not have two dimensions, or does not know how many columns it has.
    """
    if X.ndim != 2:
        raise ValueError(
            "X must have two dimensions, rows and columns; got a dask "
            f"{type(X).__name__} with {X.ndim}. Reshape it, or pass a dask DataFrame."
        )
    if not _is_frame(X) and np.isnan(X.shape[1]):
        raise ValueError(
            "X is a dask Array that does not know how many columns it has. Call "
            "X.compute_chunk_sizes() first."
        )


def with_whole_rows(X: Any) -> Any:
    """Return a table of dask whose blocks have all columns, in blocks of about the same size."""
    if _is_frame(X) or X.numblocks[1] <= 1:
        return X
    if np.isnan(X.shape[0]):
        return X.rechunk({1: -1})
    return X.rechunk({0: max(1, max(X.chunks[0]) // X.numblocks[1]), 1: -1})


def row_blocks(X: Any) -> list[Any]:
    """Return the blocks of a table, an index or a series of dask, as dask.delayed objects."""
    if not _is_frame(X):
        return list(X.to_delayed().ravel())
    # Columns and filters reach the reader of a file, but partitions are not merged, so that those
    # of a table, its index and its weights belong together.
    simple = X.simplify() if hasattr(X, "simplify") else X
    return list(simple.to_delayed(optimize_graph=False))


def block_places(X: Any) -> list[str]:
    """Return what errors say of where each block is, and how a user can look into it."""
    if _is_frame(X):
        starts: list[float] = [np.nan] * int(X.npartitions)
        blocks, change = "partitions", "map_partitions"
    else:
        starts = np.cumsum([0, *X.chunks[0][:-1]]).tolist()
        blocks, change = "blocks", "map_blocks"
    places = []
    for number, start in enumerate(starts):  # not a number after a block of unknown size
        first = "" if np.isnan(start) else f"; its row 0 is row {int(start)} of X"
        places.append(
            f"This is about block {number} of X, and rows are counted within it{first}. "
            f"X.{blocks}[{number}].compute() shows it, and X.{change} changes all blocks."
        )
    return places


def weight_blocks(sample_weight: Any, X: Any, blocks: Sequence[Any]) -> list[Any]:
    """Return the weights of each block's rows: dask.delayed objects, or arrays of numbers.

    Weights that are in memory have been checked; others are checked when they are computed.

    Parameters
    ----------
    sample_weight : array or series of dask, array-like, or None
        A pandas Series is matched to the rows of a data frame by its labels.
    X : array or data frame of dask
    blocks : sequence of dask.delayed objects
        Those of X.

    Raises
    ------
    ValueError, TypeError
        If the weights do not match the rows, as far as that is known.
    """
    if sample_weight is None:
        return [None] * len(blocks)
    if is_dask(sample_weight):
        return _delayed_weights(sample_weight, X, len(blocks))
    labels, sizes = _labels_and_sizes(X, blocks, wants_labels=is_series(sample_weight))
    n_rows = sum(sizes)
    in_order = in_order_of_rows(sample_weight, labels, n_rows, "sample_weight")
    weight = read_sample_weight(in_order, n_rows)
    bounds = np.cumsum([0, *sizes]).tolist()
    return [weight[start:stop] for start, stop in pairwise(bounds)]


def _is_frame(X: Any) -> bool:
    return not hasattr(type(X), "chunks")


def _delayed_weights(sample_weight: Any, X: Any, n_blocks: int) -> list[Any]:
    if sample_weight.ndim != 1:
        raise ValueError(
            "sample_weight must have a weight for each row, in one dimension; got a dask "
            f"{type(sample_weight).__name__} of {sample_weight.ndim} dimensions."
        )
    if not _is_frame(X) and not _is_frame(sample_weight):
        n_rows, n_weights = X.shape[0], sample_weight.shape[0]
        if n_rows == n_weights:
            sample_weight = sample_weight.rechunk((X.chunks[0],))
        elif not np.isnan(n_rows + n_weights):
            raise ValueError(
                f"sample_weight must have a weight for each of the {n_rows} rows; got an array of "
                f"shape ({n_weights},)."
            )
    weights = row_blocks(sample_weight)
    if len(weights) != n_blocks:
        raise ValueError(
            f"sample_weight has {len(weights)} blocks and X {n_blocks}, and it is not known which "
            "rows they are of. Pass sample_weight.compute(), or keep both as columns of one data "
            "frame."
        )
    return weights


def _labels_and_sizes(X: Any, blocks: Sequence[Any], wants_labels: bool) -> tuple[Any, list[int]]:
    """Return the labels of a data frame's rows if they are wanted, and the sizes of the blocks."""
    import dask

    if not _is_frame(X):
        if not np.isnan(X.shape[0]):
            return None, [*X.chunks[0]]
        return None, list(dask.compute(*(dask.delayed(len)(block) for block in blocks)))
    indices = row_blocks(X.index)
    if not wants_labels:
        return None, list(dask.compute(*(dask.delayed(len)(index) for index in indices)))
    computed = dask.compute(*indices)
    return computed[0].append(list(computed[1:])), [len(index) for index in computed]

"""The rows of a dask array or data frame, summarised where they are.

Each block of rows is read, checked and summarised in a task of its own, and the summaries are
merged in a tree of tasks: the triangular factor is that of a tall, skinny QR decomposition (TSQR).
Only summaries leave the workers. The tree is the same for any scheduler and any number of workers,
so that no bit of the result depends on these.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any
from uuid import uuid4

import numpy as np

from skbn._core.arrays import Floats, Names
from skbn._core.columns import is_series
from skbn._core.resources import one_blas_thread
from skbn._core.text import first_few
from skbn._data.containers import is_dask, is_dask_frame, row_labels
from skbn._data.covariance_tables import CovarianceTable
from skbn._data.row_values import (
    check_total_weight,
    in_order_of_rows,
    no_weight,
    read_sample_weight,
)
from skbn._data.sample import RowSummary, Sample, summarise
from skbn._data.table import Table


def with_whole_rows(X: Any) -> Any:
    """Return a table of dask whose blocks have all columns, in blocks of about the same size."""
    if is_dask_frame(X) or X.numblocks[1] <= 1:
        return X
    if np.isnan(X.shape[0]):
        return X.rechunk({1: -1})
    return X.rechunk({0: max(1, max(X.chunks[0]) // X.numblocks[1]), 1: -1})


def row_blocks(X: Any) -> list[Any]:
    """Return the blocks of a table, an index or a series of dask, as dask.delayed objects."""
    if not is_dask_frame(X):
        return list(X.to_delayed().ravel())
    # Columns and filters reach the reader of a file, but partitions are not merged, so that those
    # of a table, its index and its weights belong together.
    simple = X.simplify() if hasattr(X, "simplify") else X
    return list(simple.to_delayed(optimize_graph=False))


def weight_blocks(sample_weight: Any, X: Any, blocks: Sequence[Any]) -> list[Any]:
    """Return the weights of each block's rows: checked arrays, or dask.delayed objects.

    `sample_weight`: array or series of dask, array-like, or None; a pandas Series is matched to the
        rows of a data frame by its labels
    `X`: array or data frame of dask
    `blocks`: those of X
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


def _delayed_weights(sample_weight: Any, X: Any, n_blocks: int) -> list[Any]:
    if sample_weight.ndim != 1:
        raise ValueError(
            "sample_weight must have a weight for each row, in one dimension; got a dask "
            f"{type(sample_weight).__name__} of {sample_weight.ndim} dimensions."
        )
    if not is_dask_frame(X) and not is_dask_frame(sample_weight):
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

    if not is_dask_frame(X):
        if not np.isnan(X.shape[0]):
            return None, [*X.chunks[0]]
        return None, list(dask.compute(*(dask.delayed(len)(block) for block in blocks)))
    indices = row_blocks(X.index)
    if not wants_labels:
        return None, list(dask.compute(*(dask.delayed(len)(index) for index in indices)))
    computed = dask.compute(*indices)
    return computed[0].append(list(computed[1:])), [len(index) for index in computed]


# How many rows some blocks have, including rows of weight 0, and their summary.
_Part = tuple[int, RowSummary]
# Summaries merged by one task. Merging eight of 20 columns takes under a millisecond, about what a
# task costs.
_FAN_IN = 8


def read_summary(
    X: Any,
    sample_weight: Any = None,
    *,
    numbers: Sequence[int] | None = None,
    names: Names | None = None,
    is_chunk: bool = False,
) -> tuple[int, Sample]:
    """Summarise the rows of a table of dask, by the scheduler that dask is set to.

    `X`: array or data frame of dask, or CovarianceTable; the latter is a summary already
    `sample_weight`: array-like, or array or series of dask, of shape (n,)
    `numbers`: the columns to read; by default all
    `names`: what errors call these columns; by default their labels
    `is_chunk`: whether other rows will be added, so that all weights may be 0

    Returns `n_rows`: those of weight 0 included; `sample`: without rows.
    """
    if isinstance(X, CovarianceTable):
        return X.shape[0], X._as_sample(sample_weight, numbers)
    import dask

    labels = Table(X).labels
    if numbers is not None and hasattr(X, "columns"):  # so that no other columns are read
        X = X[[labels[j] for j in numbers]]
        labels, numbers = Table(X).labels, None
    X = with_whole_rows(X)
    blocks = row_blocks(X)
    weights = weight_blocks(sample_weight, X, blocks)
    fit, parts = uuid4().hex, "partitions" if is_dask_frame(X) else "blocks"
    summaries = []
    for i, (block, weight) in enumerate(zip(blocks, weights, strict=True)):
        place = (
            f"This is about block {i} of X, in which rows are counted: X.{parts}[{i}].compute() "
            "shows it."
        )
        read = partial(_summarise_block, labels=labels, numbers=numbers, names=names, place=place)
        task = dask.delayed(read, traverse=False)
        summaries.append(task(block, weight, dask_key_name=f"summarise-block-{fit}-{i}"))
    # Not only in the tasks: threads of this process other than the first to ask cannot set it.
    with one_blas_thread():
        while len(summaries) > 1:
            starts = range(0, len(summaries), _FAN_IN)
            few = [summaries[start : start + _FAN_IN] for start in starts]
            summaries = [dask.delayed(_merge, pure=False)(*each) for each in few]
        n_rows, summary = summaries[0].compute()
    if sample_weight is not None and summary.n_rows:
        check_total_weight(summary.n_samples)
    elif n_rows and summary.n_rows == 0 and not is_chunk:
        raise no_weight()
    return n_rows, Sample.of_summary(summary)


def _merge(*parts: _Part) -> _Part:
    n_rows, summary = parts[0]
    with one_blas_thread():
        for n_more, more in parts[1:]:
            n_rows, summary = n_rows + n_more, summary.merge(more)
    return n_rows, summary


def _summarise_block(
    block: Any,
    weight: Any,
    *,
    labels: list[Any],
    numbers: Sequence[int] | None,
    names: Names | None,
    place: str,
) -> _Part:
    """Summarise a block in a task; errors say which block it is."""
    try:
        rows, share = _rows_of_block(block, labels, numbers, names), None
        if weight is not None:
            in_order = in_order_of_rows(weight, row_labels(block), len(rows), "sample_weight")
            share = read_sample_weight(in_order, len(rows))
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{error} {place}") from None
    with one_blas_thread():
        return len(rows), summarise(rows, share)


def _rows_of_block(
    block: Any, labels: list[Any], numbers: Sequence[int] | None, names: Names | None
) -> Floats:
    table = Table(block)
    if table.labels == labels:
        return table.rows(numbers, names)
    # After arithmetic between frames, dask says that the columns are sorted, and they are not.
    if table.names is None or {*table.names} != {*labels}:
        raise ValueError(
            f"X was said to have the columns [{first_few(labels)}], but a block has "
            f"[{first_few(table.labels)}]. Give dask the meta of the blocks as they are."
        )
    wanted = labels if numbers is None else [labels[j] for j in numbers]
    return table.rows([table.names.index(name) for name in wanted], names or wanted)

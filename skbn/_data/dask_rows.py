"""The rows of a dask array or data frame, summarised where they are.

Each block of rows is read, checked and summarised in a task of its own, and the summaries are
merged in a tree of tasks: the triangular factor is that of a tall, skinny QR decomposition (TSQR).
Only summaries, of about m x m numbers, leave the workers, and few of them exist at a time. The tree
is the same for any scheduler and any number of workers, so that no bit of the result depends on
these.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.resources import one_blas_thread
from skbn._core.text import first_few
from skbn._data.containers import row_labels
from skbn._data.dask_blocks import block_places, row_blocks, weight_blocks, with_whole_rows
from skbn._data.row_values import (
    check_total_weight,
    in_order_of_rows,
    no_weight,
    read_sample_weight,
)
from skbn._data.sample import RowSummary, Sample, summarise
from skbn._data.table import Table

# Summaries merged by one task. Merging eight of 20 columns takes under a millisecond, about what a
# task costs.
_FAN_IN = 8


class _Part(NamedTuple):
    """How many rows some blocks have, those of weight 0 included, and their summary."""

    n_rows: int
    summary: RowSummary


def read_dask_rows(
    X: Any,
    sample_weight: Any = None,
    *,
    numbers: Sequence[int] | None = None,
    names: Sequence[Hashable] | None = None,
    is_chunk: bool = False,
) -> tuple[int, Sample]:
    """Summarise the rows of a table of dask, by the scheduler that dask is set to.

    Parameters
    ----------
    X : array or data frame of dask
    sample_weight : array-like, or array or series of dask, of shape (n,), optional
    numbers : sequence of int, optional
        The columns to read; by default all.
    names : sequence of hashables, optional
        What errors call these columns; by default their labels.
    is_chunk : bool
        Whether other rows will be added, so that all weights may be 0.

    Returns
    -------
    n_rows : int
        Those of weight 0 included.
    sample : Sample
        Without rows.

    Raises
    ------
    ValueError, TypeError
        If a block holds anything but finite numbers, naming column, row and block; if the weights
        do not match the rows.
    """
    import dask

    labels = Table(X).labels
    if numbers is not None and hasattr(X, "columns"):  # so that no other columns are read
        X = X[[labels[j] for j in numbers]]
        labels, numbers = Table(X).labels, None
    X = with_whole_rows(X)
    blocks = row_blocks(X)
    weights = weight_blocks(sample_weight, X, blocks)
    fit = uuid4().hex
    summaries = [
        dask.delayed(_BlockReader(labels, numbers, names, place), traverse=False)(
            block, weight, dask_key_name=f"summarise-block-{fit}-{i}"
        )
        for i, (block, weight, place) in enumerate(
            zip(blocks, weights, block_places(X), strict=True)
        )
    ]
    # Not only in the tasks: threads of this process other than the first to ask cannot set it.
    with one_blas_thread():
        n_rows, summary = _merged_in_a_tree(summaries).compute()
    if sample_weight is not None and summary.n_rows:
        check_total_weight(summary.n_samples)
    elif n_rows and summary.n_rows == 0 and not is_chunk:
        raise no_weight()
    return n_rows, Sample.of_summary(summary)


def _merged_in_a_tree(parts: list[Any]) -> Any:
    """Return the delayed merger of delayed parts."""
    import dask

    while len(parts) > 1:
        parts = [
            dask.delayed(_merge, pure=False)(*parts[start : start + _FAN_IN])
            for start in range(0, len(parts), _FAN_IN)
        ]
    return parts[0]


def _merge(*parts: _Part) -> _Part:
    n_rows, summary = parts[0]
    with one_blas_thread():
        for part in parts[1:]:
            n_rows, summary = n_rows + part.n_rows, summary.merge(part.summary)
    return _Part(n_rows, summary)


@dataclass(frozen=True)
class _BlockReader:
    """Summarises a block in a task; its errors say which block it is."""

    labels: list[Any]
    numbers: Sequence[int] | None
    names: Sequence[Hashable] | None
    place: str

    def __call__(self, block: Any, weight: Any) -> _Part:
        try:
            rows = self._rows(block)
            share = self._weight(weight, block, len(rows))
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{error} {self.place}") from None
        with one_blas_thread():
            return _Part(len(rows), summarise(rows, share))

    def _rows(self, block: Any) -> Floats:
        table = Table(block)
        table.library = "dask"
        if table.labels == self.labels:
            return table.rows(self.numbers, self.names)
        # After arithmetic between frames, dask says that the columns are sorted, and they are not.
        if table.names is None or {*table.names} != {*self.labels}:
            raise ValueError(
                f"X was said to have the columns [{first_few(self.labels)}], but a block has "
                f"[{first_few(table.labels)}]. Give dask the meta of the blocks as they are."
            )
        wanted = range(len(self.labels)) if self.numbers is None else self.numbers
        names = [self.labels[j] for j in wanted]
        return table.rows([table.names.index(name) for name in names], self.names or names)

    @staticmethod
    def _weight(weight: Any, block: Any, n_rows: int) -> Floats | None:
        if weight is None:
            return None
        in_order = in_order_of_rows(weight, row_labels(block), n_rows, "sample_weight")
        return np.asarray(read_sample_weight(in_order, n_rows))

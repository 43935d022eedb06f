"""The rows that scores are computed from: with their weights, or only a summary of them.

A summary is all that regressions need to know, and two of them can be merged. The scatter of two
sets of rows about their common mean is that of each set about its own mean, plus one more row, the
weighted difference of the means. So a QR decomposition of the two triangular factors and this row
is that of all rows, without squares, which would lose half the digits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import Booleans, Floats
from skbn._core.resources import one_blas_thread, read_only
from skbn._core.subsets import mask_of
from skbn._data import row_values
from skbn._data.containers import is_dask
from skbn._data.nodes import Nodes
from skbn._regressions.least_squares import triangular_factor

# A block of 8 columns takes 256 KiB, and stays in the second-level cache.
_ROWS_A_BLOCK = 4096
# Units are at most 2**1000 and at least 2**-1000: both are normal numbers.
_LARGEST_EXPONENT = 1000


class Sample:
    """The rows of a table and their weights, or only their summary.

    A value that an experimenter set says nothing about what the node depends on otherwise: the
    node's families are scored by the other rows (Cooper & Yoo 1999, "Causal discovery from a
    mixture of experimental and observational data"). Nodes that were set in the same rows share
    these.

    `rows`: (n, m), finite, or NaN where values are missing. There is no summary of rows with
        missing values.
    `weight`: (n,), how often each row counts; finite and not negative
    `labels`: pandas.Index or ndarray of length n; the labels of the table's rows, if it has any
    `is_set`: (n, n_nodes), which nodes an experimenter set in each row; None if none was set, or
        the rows were not kept

    `shape`: number of rows and of columns
    `is_complete`: whether no value is missing in a row of a positive weight
    `is_experiment`: whether nodes were set in some rows
    `groups`: a group for each set of rows that some nodes share
    `targets`: the masks of the nodes that were set together in some row, each once; none is 0
    """

    def __init__(
        self,
        rows: Floats,
        weight: Floats | None = None,
        labels: Any = None,
        nodes: Nodes | None = None,
        is_set: Booleans | None = None,
        *,
        may_miss: bool = False,
    ) -> None:
        self._rows: Floats | None = rows
        self._may_miss = may_miss
        counted = rows if weight is None or not may_miss else rows[weight > 0]
        self.is_complete = not (may_miss and np.isnan(counted).any())
        self._weight = weight
        self.labels = labels
        self.nodes = nodes
        self.is_set = None if is_set is None or not is_set.any() else read_only(is_set)
        self.is_experiment = self.is_set is not None
        self.shape: tuple[int, int] = rows.shape

    @classmethod
    def of_summary(
        cls,
        summary: RowSummary,
        nodes: Nodes | None = None,
        groups: Sequence[tuple[list[int], Sample]] = (),
        targets: Sequence[int] = (),
    ) -> Self:
        """Return a sample without its rows; with targets, the nodes have groups of rows."""
        sample = cls.__new__(cls)
        sample._rows = sample._weight = sample.labels = sample.is_set = None
        sample.is_complete, sample._may_miss = True, False
        sample.nodes = nodes
        sample.shape = (summary.n_rows, summary.n_columns)
        sample.summary = summary
        sample._groups, sample.targets = [*groups], sorted({*targets} - {0})
        sample.is_experiment = bool(sample.targets)
        return sample

    # The rows that count for each node

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.shape[1] if self.nodes is None else len(self.nodes.names)

    @property
    def groups(self) -> list[tuple[list[int], Sample]]:
        """The nodes that were set in the same rows, and the other rows, for each such set."""
        return self._groups if self.is_experiment else [([*range(self.n_nodes)], self)]

    @cached_property
    def _groups(self) -> list[tuple[list[int], Sample]]:
        assert self.is_set is not None
        members: dict[bytes, list[int]] = {}
        for node, was_set in enumerate(self.is_set.T):
            members.setdefault(was_set.tobytes(), []).append(node)
        every = self.all_rows
        return [(own, every[~self.is_set[:, own[0]]]) for own in members.values()]

    @cached_property
    def targets(self) -> list[int]:
        """The masks of the nodes that were set together."""
        if self.is_set is None:
            return []
        counts = self.is_set if self.weight is None else self.is_set[self.weight > 0]
        found = [np.frombuffer(row, bool) for row in {row.tobytes() for row in counts}]
        return sorted({mask_of(np.flatnonzero(row).tolist()) for row in found} - {0})

    @property
    def all_rows(self) -> Self:
        """The rows as if no node had been set."""
        if self._rows is None:
            return self.of_summary(self.summary, self.nodes)
        return self._chosen(slice(None), self.weight, None)

    def with_interventions(self, is_set: Booleans | None) -> Self:
        """Return the rows in which these nodes were set."""
        return self._chosen(slice(None), self.weight, is_set)

    def never_set(self, nodes: Sequence[int]) -> Self:
        """Return the rows as if some of the nodes had never been set."""
        if not any(mask & mask_of(nodes) for mask in self.targets):
            return self
        if self.is_set is not None:
            is_set = self.is_set.copy()
            is_set[:, nodes] = False
            return self.with_interventions(is_set)
        groups = [([x for x in own if x not in nodes], sample) for own, sample in self.groups]
        groups = [(own, sample) for own, sample in groups if own]
        groups.append((sorted(nodes), self.all_rows))
        targets = [mask & ~mask_of(nodes) for mask in self.targets]
        return self.of_summary(self.summary, self.nodes, groups, targets)

    def with_weight(self, sample_weight: Any) -> Self:
        """Return the sample with a user's weights; None leaves it as it is.

        The weights of a Series go to the rows of the same labels.
        """
        if sample_weight is None:
            return self
        n_rows = len(self.rows)
        if is_dask(sample_weight):  # as many numbers as the rows, which are in memory
            sample_weight = sample_weight.compute()
        in_order = row_values.in_order_of_rows(sample_weight, self.labels, n_rows, "sample_weight")
        weight = row_values.read_sample_weight(in_order, n_rows)
        if self.weight is None:
            return self.weighted(weight)
        if not np.array_equal(self.weight, weight):
            raise ValueError(
                "The LocalScores were made with another sample_weight. Pass sample_weight in one "
                "place only."
            )
        return self

    def counted(self, sample_weight: Any, n_rows: int | None = None) -> Self:
        """Return the sample, after a warning if the weights given for a fit are hardly counts."""
        if sample_weight is not None:
            weight = np.array(self.summary.n_samples) if self._weight is None else self._weight
            row_values.warn_unless_counts(weight, self.shape[0] if n_rows is None else n_rows)
        return self

    def without_rows(self) -> Self:
        """Return only what regressions need to know."""
        if not self.is_experiment:
            return self.of_summary(self.summary, self.nodes)
        groups = [(nodes, sample.without_rows()) for nodes, sample in self.groups]
        return self.of_summary(self.summary, self.nodes, groups, self.targets)

    def weighted(self, weight: Floats) -> Self:
        """Return the rows with these weights in place of their own."""
        return self._chosen(slice(None), weight, self.is_set)

    def _chosen(self, chosen: Any, weight: Floats | None, is_set: Booleans | None) -> Self:
        """Return the sample of some of the rows, with these weights and interventions."""
        labels = None if self.labels is None else self.labels[chosen]
        rows, may_miss = self.rows[chosen], self._may_miss
        return type(self)(rows, weight, labels, self.nodes, is_set, may_miss=may_miss)

    def select(self, columns: Sequence[int]) -> Sample:
        """Return the sample of some of the columns, which are nodes by themselves then."""
        if self._rows is None:
            return Sample.of_summary(self.summary.select(columns))
        chosen = self.rows[:, list(columns)]
        return Sample(chosen, self._weight, self.labels, may_miss=self._may_miss)

    @property
    def has_rows(self) -> bool:
        """Whether the rows were kept."""
        return self._rows is not None

    @property
    def rows(self) -> Floats:
        """The rows, read-only."""
        if self._rows is None:
            raise TypeError(
                "These LocalScores were built from summaries and have no rows, so they cannot be "
                "indexed or weighted, nor each row be scored. Pass the table."
            )
        return read_only(self._rows)

    @property
    def weight(self) -> Floats | None:
        """How often each row counts, shape (n,), read-only; None if each counts once."""
        return None if self._weight is None else read_only(self._weight)

    @cached_property
    def summary(self) -> RowSummary:
        """What regressions need to know about the rows."""
        self._require_weight()
        with one_blas_thread():
            return summarise(self.rows, self.weight)

    def mean(self, values: Floats) -> float:
        """Return the weighted mean of a value for each row."""
        if self.weight is None:
            return float(values.mean())
        self._require_weight()
        # Rows of weight 0 may have a log-likelihood of -inf.
        counts = self.weight > 0
        shares = self.weight[counts] / self.weight.max()
        return float(np.average(values[counts], weights=shares))

    def _require_weight(self) -> None:
        if self.weight is not None and not self.weight.any():
            raise row_values.no_weight()

    def __getstate__(self) -> dict[str, Any]:
        # skops does not know the type of a pandas index, so an array is stored.
        is_index = hasattr(self.labels, "to_numpy")
        return {**vars(self), "labels": self.labels.to_numpy() if is_index else self.labels}

    def __getitem__(self, chosen: Any) -> Self:
        """Return the sample of some of the rows."""
        weight, is_set = (
            None if each is None else each[chosen] for each in (self.weight, self.is_set)
        )
        return self._chosen(chosen, weight, is_set)


class TableMixin(ABC):
    """Lets numpy and scikit-learn treat an object as the table of its sample's rows."""

    @property
    @abstractmethod
    def sample(self) -> Sample:
        """The rows and their weights."""

    @property
    @abstractmethod
    def columns(self) -> list[str | int]:
        """The columns' names, or their numbers if they have none."""

    @abstractmethod
    def _with_sample(self, sample: Sample, n_jobs: int | None = None) -> Self:
        """Return the same for other rows, with the same settings except `n_jobs` if given."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.sample.shape

    @property
    def dtype(self) -> np.dtype[np.float64]:
        """The rows' dtype, float64."""
        return np.dtype(np.float64)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        return np.array(self.sample.rows, dtype=dtype, copy=copy)

    def __iter__(self) -> Iterator[Floats]:
        return iter(self.sample.rows)

    def __getitem__(self, rows: Any) -> Self | Floats:
        """Return the same for several rows; one row or a choice of columns as an array."""
        # scikit-learn takes rows by X[rows, ...] from objects that have a shape.
        if isinstance(rows, tuple) and len(rows) == 2 and _chooses_all(rows[1]):
            rows = rows[0]
        if row_values.is_mask(rows):
            rows = np.asarray(
                row_values.in_order_of_rows(rows, self.sample.labels, len(self), "the mask")
            )
        chosen = self.sample.rows[rows]
        if chosen.ndim != 2 or isinstance(rows, tuple):
            return chosen
        return self._with_sample(self.sample[rows])


def _chooses_all(chosen: Any) -> bool:
    """Whether columns are chosen by ``...`` or ``:``."""
    return chosen is Ellipsis or (isinstance(chosen, slice) and chosen == slice(None))


# Summaries


@dataclass(frozen=True)
class RowSummary:
    """The number, the means and the scatter of some rows of m columns."""

    n_rows: int  # number of rows of a positive weight
    n_samples: float  # sum of their weights
    minimum: Floats  # (m,): infinite if there are no rows
    maximum: Floats
    # (m,): the mean and the factor are in units of ``2**exponent``, so that no square is out of
    # range
    exponent: npt.NDArray[np.int32]
    mean: Floats  # (m,): the sum of the two is the mean, to more digits than one number holds
    mean_rest: Floats
    # (min(k, m), m): R of the QR decomposition of k rows, which are centred and multiplied by the
    # roots of their weights. Empty if there are no rows.
    factor: Floats

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.mean)

    @property
    def largest(self) -> Floats:
        """The largest magnitude in each column, shape (m,)."""
        return np.maximum(-self.minimum, self.maximum)

    @property
    def column_means(self) -> Floats:
        """The columns' means in their own units, shape (m,)."""
        return np.ldexp(self.mean + self.mean_rest, self.exponent)

    def in_units(self, exponent: npt.NDArray[np.int32]) -> Self:
        """Return the summary in other units, none smaller than its own."""
        shift = self.exponent - exponent
        return replace(
            self,
            exponent=exponent,
            mean=np.ldexp(self.mean, shift),
            mean_rest=np.ldexp(self.mean_rest, shift),
            factor=np.ldexp(self.factor, shift),
        )

    def select(self, columns: Sequence[int]) -> Self:
        """Return the summary of some of the columns, by their numbers."""
        at = list(columns)
        return replace(
            self,
            minimum=self.minimum[at],
            maximum=self.maximum[at],
            exponent=self.exponent[at],
            mean=self.mean[at],
            mean_rest=self.mean_rest[at],
            factor=triangular_factor(self.factor[:, at]),
        )

    def merge(self, other: Self) -> Self:
        """Return the summary of both sets of rows, which have the same columns."""
        if self.n_rows == 0:
            return other
        if other.n_rows == 0:
            return self
        exponent = np.maximum(self.exponent, other.exponent)
        a, b = self.in_units(exponent), other.in_units(exponent)
        n_samples = a.n_samples + b.n_samples
        difference = (b.mean - a.mean) + (b.mean_rest - a.mean_rest)
        between = np.sqrt(a.n_samples / n_samples * b.n_samples) * difference
        shift = difference * (b.n_samples / n_samples)
        mean = a.mean + shift
        return type(self)(
            a.n_rows + b.n_rows,
            n_samples,
            np.minimum(a.minimum, b.minimum),
            np.maximum(a.maximum, b.maximum),
            exponent,
            mean,
            a.mean_rest + (shift - (mean - a.mean)),
            triangular_factor(np.vstack([a.factor, b.factor, between])),
        )


def summarise(rows: Floats, weight: Floats | None = None) -> RowSummary:
    """Return the summary of a table's rows.

    `rows`: (n, m), finite. Not modified, nor copied as a whole.
    `weight`: (n,), how often each row counts; finite and not negative. Rows of weight 0 are left
        out.
    """
    m = rows.shape[1]
    infinite, zeros = np.full(m, np.inf), np.zeros(m)
    exponent = np.full(m, -_LARGEST_EXPONENT, dtype=np.int32)
    # Of no rows at first.
    summary = RowSummary(0, 0, infinite, -infinite, exponent, zeros, zeros, np.empty((0, m)))
    for block, share in _blocks(rows, weight):
        summary = summary.merge(_summarise_block(block, share))
    return summary


def centred_blocks(rows: Floats, weight: Floats | None, summary: RowSummary) -> Iterator[Floats]:
    """Yield the rows in pieces, centred and multiplied by the roots of their weights.

    `rows`, `weight`: as in `summarise`
    `summary`: the summary of these rows, in whose units they are returned
    """
    unit = np.ldexp(1.0, -summary.exponent)
    for block, share in _blocks(rows, weight):
        centred = block * unit
        centred -= summary.mean
        centred -= summary.mean_rest
        if share is not None:
            centred *= np.sqrt(share)[:, np.newaxis]
        yield centred


def _blocks(rows: Floats, weight: Floats | None) -> Iterator[tuple[Floats, Floats | None]]:
    """Yield blocks of rows of positive weight, and their weights."""
    for start in range(0, len(rows), _ROWS_A_BLOCK):
        part = slice(start, start + _ROWS_A_BLOCK)
        block, share = rows[part], None if weight is None else weight[part]
        if share is not None and not share.all():
            block, share = block[share > 0], share[share > 0]
        if len(block):
            yield block, share


def _summarise_block(rows: Floats, weight: Floats | None) -> RowSummary:
    minimum, maximum = rows.min(axis=0), rows.max(axis=0)
    # Powers of two change no digit, and keep sums and squares from overflowing.
    _, exponent = np.frexp(np.maximum(-minimum, maximum))
    exponent = exponent.clip(-_LARGEST_EXPONENT, _LARGEST_EXPONENT)
    exponent[(minimum == 0) & (maximum == 0)] = -_LARGEST_EXPONENT
    centred = rows * np.ldexp(1.0, -exponent)
    n_samples = len(rows) if weight is None else _int_if_whole(float(weight.sum()))
    mean = _sum(centred, weight) / n_samples
    centred -= mean
    # The rounding error of a large mean is itself the mean of what remains.
    rest = _sum(centred, weight) / n_samples
    centred -= rest
    if weight is not None:
        centred *= np.sqrt(weight)[:, np.newaxis]
    factor = triangular_factor(centred)
    return RowSummary(len(rows), n_samples, minimum, maximum, exponent, mean, rest, factor)


def _sum(rows: Floats, weight: Floats | None) -> Floats:
    return np.asarray(rows.sum(axis=0) if weight is None else weight @ rows)


def _int_if_whole(total: float) -> float:
    """Return a sum of weights as an int if it is a whole number of rows."""
    return int(total) if total.is_integer() and total < 2**53 else total

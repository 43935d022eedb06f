"""Summaries of rows: all that regressions need to know about them, in a form that can be merged.

The scatter of two sets of rows about their common mean is that of each set about its own
mean, plus one more row, the weighted difference of the means. A QR decomposition of the two
triangular factors and this row is therefore that of all rows. No row needs to be kept, and
squares, which would lose half the digits, are never formed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from skbn._regressions.triangular import triangular_factor

__all__ = ["RowSummary", "centred_blocks", "summarise"]

# Blocks of 4096 rows of 8 columns fill 256 KiB of the second-level cache.
_ROWS_A_BLOCK = 4096
# 2**1000 and 2**-1000 are both normal numbers.
_LARGEST_EXPONENT = 1000

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RowSummary:
    """The number, the means and the scatter of some rows of m columns.

    Parameters
    ----------
    n_rows : int
        Number of rows of a positive weight.
    n_samples : int or float
        Sum of their weights.
    minimum, maximum : ndarray of shape (m,)
        Infinite if there are no rows.
    exponent : ndarray of shape (m,), int
        The mean and the factor are in units of ``2**exponent``, so that no square is out of
        range.
    mean, mean_rest : ndarray of shape (m,)
        The sum of the two is the mean, to more digits than one number holds.
    factor : ndarray of shape (min(k, m), m)
        R of the QR decomposition of k rows, which are centred and multiplied by the roots of
        their weights. Empty if there are no rows.
    """

    n_rows: int
    n_samples: float
    minimum: Floats
    maximum: Floats
    exponent: npt.NDArray[np.int32]
    mean: Floats
    mean_rest: Floats
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

    Parameters
    ----------
    rows : ndarray of shape (n, m), float64
        Finite. Not modified, nor copied as a whole.
    weight : ndarray of shape (n,), float64, optional
        How often each row counts; finite and not negative. Rows of weight 0 are left out.
    """
    summary = _summary_of_no_rows(rows.shape[1])
    for block, share in _blocks(rows, weight):
        summary = summary.merge(_summarise_block(block, share))
    return summary


def centred_blocks(rows: Floats, weight: Floats | None, summary: RowSummary) -> Iterator[Floats]:
    """Yield the rows in pieces, centred and multiplied by the roots of their weights.

    Parameters
    ----------
    rows, weight
        As in `summarise`.
    summary : RowSummary
        The summary of these rows, in whose units they are returned.
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


def _summary_of_no_rows(m: int) -> RowSummary:
    infinite, zeros = np.full(m, np.inf), np.zeros(m)
    exponent = np.full(m, -_LARGEST_EXPONENT, dtype=np.int32)
    return RowSummary(0, 0, infinite, -infinite, exponent, zeros, zeros, np.empty((0, m)))


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

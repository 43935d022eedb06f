"""Signs that a table is not what it should be: codes, copies, rounded sums, row numbers.

Each function looks closely at what a quick test found, and returns what a warning says, or "".
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from skbn._core.arrays import Floats, Integers
from skbn._data.degenerate_columns import equation

# Numbers that stand for missing in many files: -1 to -9, and 77, 99, 888, 998, -999, 9999.9 ...
_CODE = re.compile(r"-?([789])\1+(\.9+|\.0)?|-?9+[78]\.0|-[1-9]\.0")
_MOST_CODES = 3  # on each side of the other values
_LARGEST_SHARE = 0.6  # of the rows with codes
LEAST_CORRELATION = 0.999  # of columns that are called copies
_SURE_CORRELATION = 0.9995  # also if trends alone might explain it
# A quick test looks for columns of which others leave no more than this share of the spread.
LARGEST_RESIDUAL = 0.1
# Then a relation is a plain sum, or leaves less than this.
_SMALLEST_RESIDUAL = 0.01
_SURE_RESIDUAL = 1e-5  # whatever the digits
# Rounding to a unit of 1 has a variance of 1/12. Residuals are so much larger at most.
_ROUNDING = 1.5
_ROW_NUMBER = re.compile(r"Unnamed: \d+(\.\d+)?")
_TIME = re.compile(r"(?i)t|(.*[\W_])?(time|trend|second|minute|hour|day|week|month|quarter|year)s?")
_MOST_SHOWN = 5
_FEWEST_NUMBERED, _FEWEST_REPEATED = 10, 20  # rows


def about_codes(names: Sequence[Any], rows: Floats, columns: Integers) -> str:
    """Return what is said of columns with a repeated value far from all others."""
    found = {v: codes for v in columns.tolist() if (codes := _codes_in(rows[:, v]))}
    if not found:
        return ""
    listed = [
        f"{names[v]!r} ({' and '.join(f'{value:.17g} in {n} rows' for value, n in codes.items())})"
        for v, codes in found.items()
    ]
    value = next(iter(next(iter(found.values()))))
    return (
        "Columns have a value that stands far from all their others, as codes for missing values "
        f"do: {', '.join(listed)}. If it is one, it makes and hides edges. Write NaN in its place, "
        f"as by X[column].replace({value:.17g}, numpy.nan) of pandas, before anything else is done "
        'with the table, and let a learner with missing="em" take it.'
    )


def _codes_in(column: Floats) -> dict[float, int]:
    """Return the values of a column that may be codes, with the number of their rows."""
    levels, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    k, n = len(levels), int(counts.sum())
    sides = sorted(product(range(_MOST_CODES + 1), repeat=2), key=sum, reverse=True)
    for low, high in sides:
        at = [*range(low), *range(k - high, k)]
        if not at or len(at) > k - 2 or counts[at].min() < 2:
            continue
        if counts[at].sum() > _LARGEST_SHARE * n:
            continue
        rest, weight = levels[low : k - high], counts[low : k - high]
        below, above = rest[0] - levels[low - 1], levels[-high] - rest[-1]
        if all(
            _is_code(float(levels[i]), below if i < low else above, int(counts[i]), rest, weight)
            for i in at
        ):
            return {float(levels[i]): int(counts[i]) for i in at}
    return {}


def _is_code(value: float, gap: float, count: int, rest: Floats, weight: Integers) -> bool:
    """Whether a value may be a code, by how far and how often it is from the others."""
    share = count / (count + weight.sum())
    spread = math.sqrt(np.cov(rest, fweights=weight))
    n_levels = len(rest)
    if n_levels >= 5 and gap >= 10 * (rest[-1] - rest[0]) and count >= 3 and share >= 0.01:
        return True
    if value == 0:  # which many columns have as a value
        return n_levels >= 10 and gap >= (1.9 if share <= 0.1 else 10) * spread and share <= 0.5
    if not _CODE.fullmatch(repr(value)):
        return False
    if value < 0 <= rest[0]:
        is_far = gap >= 0.5 * spread or rest[0] >= -10 * value or count >= 5 * weight.max()
        return n_levels >= (8 if value > -7 else 2) and (is_far or value <= -7)
    if n_levels >= 8:
        return gap >= 3 * spread or (value > 0 and gap >= 0.85 * spread and share >= 0.01)
    return abs(value) >= 10 and n_levels >= 3 and gap >= 5 * spread and share >= 0.01


def about_redundance(
    names: Sequence[Any], rows: Floats, modelled: set[int], max_parents: int
) -> str:
    """Return what is said of columns that are copies or sums of others, up to their digits.

    `modelled`: the columns that are not exogenous. Each copy or sum is one of them.
    `max_parents`: sums of more columns do no harm
    `rows`: (n, m)
    """
    rows = rows[~np.isnan(rows).any(axis=1)]
    centred = rows - rows.mean(axis=0)
    scale = np.linalg.norm(centred, axis=0)
    standardised = centred / np.where(scale > 0, scale, 1.0)
    correlation = np.abs(standardised.T @ standardised)
    copies = [
        (a, b)
        for a, b in np.argwhere(np.triu(correlation, 1) > LEAST_CORRELATION).tolist()
        if {a, b} <= modelled
        and (correlation[a, b] > _SURE_CORRELATION or _move_together(rows[:, [a, b]]))
    ]
    second = {b for _, b in copies}
    left = [v for v in np.flatnonzero(scale).tolist() if v not in second]
    sums = dict(_sums(names, rows, left, modelled, max_parents))
    told = [f"{names[a]!r} and {names[b]!r} (r = {correlation[a, b]:.6g})" for a, b in copies]
    told += sums.values()
    if not told:
        return ""
    more = f"; and {len(told) - _MOST_SHOWN} more" * (len(told) > _MOST_SHOWN)
    return (
        "Columns are nearly copies of others, or sums of them up to the digits that they have: "
        f"{'; '.join(told[:_MOST_SHOWN])}{more}. Their edges say this, in any direction, and hide "
        f"those of others. Leave out the columns {[names[v] for v in sorted(second | {*sums})]}."
    )


def _move_together(pair: Floats) -> bool:
    """Whether two columns are correlated from row to row too, and not only by a common trend."""
    (a, both), (_, b) = np.cov(np.diff(pair, axis=0).T)
    return bool(both**2 > 0.81 * a * b)


def _sums(
    names: Sequence[Any], rows: Floats, left: list[int], sought: set[int], most: int
) -> Iterator[tuple[int, str]]:
    """Yield columns that at most so many others explain up to rounding, with the equation.

    The residuals of a sum of rounded numbers vary as much as their rounding.
    """
    centred = rows - rows.mean(axis=0)
    scale = np.linalg.norm(centred, axis=0)
    while 2 < len(left) < len(rows) / 2:
        try:
            inverse = np.linalg.inv(np.linalg.qr(centred[:, left] / scale[left], mode="r"))
        except np.linalg.LinAlgError:
            return
        residuals = 1 / np.linalg.norm(inverse, axis=1)
        for i in np.argsort(residuals):
            if residuals[i] > LARGEST_RESIDUAL:
                return
            j, products = left[i], inverse @ inverse[i]
            weights = -products / products[i]
            weights[i] = 0.0
            terms = [left[k] for k in np.flatnonzero(np.abs(weights) > 3 * residuals[i])]
            coefficients = np.zeros(len(names))
            coefficients[left] = weights * scale[j] / scale[left]
            own = coefficients[terms]
            units = np.array([_unit(rows[:, v]) for v in [*terms, j]])
            rounding = np.linalg.norm(np.append(own, 1.0) * units) / math.sqrt(12)
            spread = residuals[i] * scale[j] / math.sqrt(len(rows) - len(left))
            is_sum = residuals[i] < _SMALLEST_RESIDUAL or (np.abs(np.abs(own) - 1) < 0.1).all()
            is_sum &= spread <= _ROUNDING * rounding or residuals[i] < _SURE_RESIDUAL
            if j in sought and 1 < len(terms) <= most and is_sum:
                yield j, equation(names[j], [names[v] for v in terms], own)
                left = [v for v in left if v != j]
                break
        else:
            return


def _unit(column: Floats) -> float:
    """Return the unit to which a column was rounded, if its values are on a grid, or float's."""
    gaps = np.diff(np.unique(column))
    gaps = gaps[gaps > 1e-9 * gaps.sum()]  # 0.1 + 0.2 is not 0.3
    steps = gaps / gaps.min()
    if (np.abs(steps - np.rint(steps)) < 0.01).all():
        return float(gaps.min())
    is_single = np.array_equal(column, column.astype(np.float32))
    kind = np.float32 if is_single else np.float64
    return float(np.abs(column).max() * np.finfo(kind).eps)


def row_numbers(names: Sequence[Any], rows: Floats) -> list[int]:
    """Return the columns that number the rows, from 0 or 1 or as pandas has written them."""
    steps, n = np.diff(rows, axis=0), len(rows)
    counts = (steps == 1).all(axis=0) & np.isin(rows[0], (0, 1)) & (n >= _FEWEST_NUMBERED)
    return [
        v
        for v, name in enumerate(map(str, names))
        if (counts[v] and not _TIME.fullmatch(name))
        or (_ROW_NUMBER.fullmatch(name) and len(np.unique(rows[:, v])) == n)
    ]


def about_row_numbers(names: Sequence[Any]) -> str:
    """Return what is said of columns that number the rows."""
    return (
        f"The columns {[*names]} only number the rows. Leave them out, as by pandas.read_csv(file, "
        "index_col=0); name one that is a time in exogenous. "
    )


def about_repeated_rows(rows: Floats) -> str:
    """Return what is said of a table of which each row comes several times, or most of them do."""
    counts = Counter(row.tobytes() for row in rows + 0.0)
    times, n_different = math.gcd(*counts.values()), len(counts)
    if n_different < _FEWEST_REPEATED or rows.shape[1] < 3:
        return ""
    if times == 1:
        different = np.frombuffer(b"".join(counts)).reshape(n_different, -1)
        most = max(len(np.unique(column)) for column in different.T)
        if 2 * n_different > len(rows) or 2 * most < n_different or rows.shape[1] < 4:
            return ""
    what = f"each comes {times} times" if times > 1 else "most come several times"
    return (
        f"The {len(rows)} rows are {n_different} different ones, and {what}, as after a merge of "
        "tables. Edges are then as certain as with so many independent rows, and many are false. "
        "Drop the copies: X.drop_duplicates() of pandas, or numpy.unique(X, axis=0)."
    )

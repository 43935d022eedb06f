"""IncompleteRows: rows with missing values, those with the same holes side by side.

Where an experimenter set columns, the rows of one set of targets are side by side. Columns that
were set in the same rows make a group: their parameters follow from the other rows.

All that the likelihood needs of the rows with the same holes is their weight, their mean and their
scatter. So where a pattern of holes has more rows than columns, a few rows take their place that
agree in all three.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import helmert

from skbn._core.arrays import B2, F1, F2, I1, Booleans, Floats, Integers
from skbn._data.degenerate_columns import constants_error
from skbn._regressions.least_squares import triangular_factor

# A smaller share of a column's values is lost in their rounding.
_ROUNDING = 8 * np.finfo(np.float64).eps
# Squares of deviations, and their sums, must be normal numbers.
_SMALLEST_SPREAD, _LARGEST_SPREAD = 1e-150, 1e150


class PatternedRows(NamedTuple):
    """Rows with holes, those of a pattern of holes and of a set of targets side by side."""

    values: F2  # (k, m): 0 where a value is missing
    weight: F1  # (k,): how often each row counts
    observed: B2  # (n_patterns, m): which columns each pattern of holes leaves
    starts: I1  # (n_patterns + 1,): where the rows of each pattern start, and where they end
    targets: B2  # (n_target_sets, m): which columns were set together, and are not modelled there
    targets_of: I1  # (n_patterns,): the set of targets of each pattern, ascending
    group_of: I1  # (m,): the group of rows by which each column's parameters are estimated
    counts: B2  # (n_groups, n_target_sets): which sets of targets each group has the rows of


@dataclass(frozen=True)
class IncompleteRows:
    """Rows in units in which each column's observed values have mean 0 and variance 1."""

    patterned: PatternedRows
    # (n_patterns,): the sum of the weights of each pattern's rows, as given: those of `patterned`
    # are rounded
    pattern_weights: Floats
    mean: Floats  # (m,): means and deviations of the observed values, in the columns' own units
    scale: Floats
    # (n_patterns,): how many rows each pattern has, of a positive weight and with a value
    rows_of_patterns: Integers
    # the columns of each group, which are modelled in the same sets of targets. The first group has
    # all rows, and the columns that were never set, or always.
    groups: list[Integers]

    @property
    def n_rows(self) -> int:
        """How many rows there are, of a positive weight and with a value."""
        return int(self.rows_of_patterns.sum())

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.patterned.values.shape[1]

    @property
    def n_samples(self) -> float:
        """Sum of the weights."""
        return float(self.pattern_weights.sum())

    @property
    def n_of_groups(self) -> Floats:
        """The sum of the weights of each group's rows, shape (n_groups,)."""
        of_patterns = self.patterned.counts[:, self.patterned.targets_of]
        return np.array([self.pattern_weights[own].sum() for own in of_patterns])

    def of_group(self, g: int) -> IncompleteRows:
        """Return the rows of a group, as if nothing had been set in them."""
        if g == 0 and not self.patterned.targets.any():
            return self
        values, weight, observed, starts, _, targets_of, _, counts = self.patterned
        chosen = np.flatnonzero(counts[g][targets_of])
        at = [np.arange(starts[p], starts[p + 1]) for p in chosen]
        some = np.concatenate(at)
        m = self.n_columns
        patterned = PatternedRows(
            values[some],
            weight[some],
            observed[chosen],
            np.cumsum([0, *map(len, at)]).astype(np.int64),
            np.zeros((1, m), dtype=bool),
            np.zeros(len(chosen), dtype=np.int64),
            np.zeros(m, dtype=np.int64),
            np.ones((1, 1), dtype=bool),
        )
        return replace(
            self,
            patterned=patterned,
            pattern_weights=self.pattern_weights[chosen],
            rows_of_patterns=self.rows_of_patterns[chosen],
            groups=[np.arange(m)],
        )

    def pair_weights(self, needed: Booleans | None = None) -> Floats:
        """Return the weight of the rows in which two columns are both observed, shape (m, m).

        It is infinite for pairs that are not `needed`; by default all are.
        """
        seen = self.patterned.observed.astype(np.float64)
        together = np.asarray(seen.T @ (seen * self.pattern_weights[:, np.newaxis]))
        return together if needed is None else np.where(needed, together, np.inf)

    def seen_least(self, names: Sequence[Any], needed: Booleans | None = None) -> str:
        """Return in words which columns are observed together least, and in how many rows."""
        together = self.pair_weights(needed)
        a, b = sorted(int(j) for j in np.unravel_index(together.argmin(), together.shape))
        n = "1 row" if together.min() == 1 else f"{together.min():g} rows"
        if names[a] == names[b]:  # one column, or two indicators of a category
            return f"Column {names[a]!r} has values in only {n}"
        if together.min() == 0:
            return f"Columns {names[a]!r} and {names[b]!r} are never observed together"
        return f"Columns {names[a]!r} and {names[b]!r} are observed together in only {n}"

    def log_units(self) -> float:
        """Return what units take from the log density of the observed values that were not set."""
        known = self.patterned.observed & ~self.patterned.targets[self.patterned.targets_of]
        return float(self.pattern_weights @ known @ np.log(self.scale))


def incomplete_rows(
    rows: Floats, weight: Floats | None = None, is_set: Booleans | None = None
) -> IncompleteRows:
    """Return rows by their patterns of holes.

    `rows`: (n, m), NaN where a value is missing, which none that was set is. `require_spread` has
        not refused a column. Rows without any value are left out.
    `weight`: (n,), how often each row counts. Rows of weight 0 are left out.
    `is_set`: (n, m), which values were set, or are not modelled; by default none
    """
    seen = ~np.isnan(rows)
    counts = seen.any(axis=1)
    if weight is not None:
        counts &= weight > 0
    rows, seen = rows[counts], seen[counts]
    own = np.ones(len(rows)) if weight is None else weight[counts]
    is_set = np.zeros(rows.shape, dtype=bool) if is_set is None else is_set[counts]
    mean, scale = _units(rows, seen, own)
    values = np.where(seen, (rows - mean) / scale, 0.0)
    pieces, observed, pattern_weights, n_rows = [], [], [], []
    targets: list[Booleans] = []
    targets_of: list[int] = []
    for of_targets, together in rows_by_pattern(is_set):
        for some, pattern in rows_by_pattern(seen[of_targets]):
            at = of_targets[some]
            observed.append(pattern)
            pattern_weights.append(own[at].sum())
            pieces.append(_fewer_rows(values[at], own[at], pattern))
            n_rows.append(len(at))
            targets_of.append(len(targets))
        targets.append(together)
    starts = np.cumsum([0, *(len(of_rows) for _, of_rows in pieces)])
    sets = np.array(targets)
    groups, group_of = _groups(sets), np.zeros(rows.shape[1], dtype=np.int64)
    has_rows = np.ones((len(groups), len(sets)), dtype=bool)
    for g, columns in enumerate(groups[1:], start=1):
        group_of[columns], has_rows[g] = g, ~sets[:, columns].any(axis=1)
    patterned = PatternedRows(
        np.concatenate([each for each, _ in pieces]),
        np.concatenate([each for _, each in pieces]),
        np.array(observed),
        starts.astype(np.int64),
        sets,
        np.array(targets_of, dtype=np.int64),
        group_of,
        has_rows,
    )
    return IncompleteRows(
        patterned, np.array(pattern_weights), mean, scale, np.array(n_rows), groups
    )


def _groups(targets: Booleans) -> list[Integers]:
    """Return the columns that are in the same sets of targets; first those in none, or in all."""
    first = targets.all(axis=0) | ~targets.any(axis=0)
    groups = [np.flatnonzero(first)]
    for own, is_in in rows_by_pattern(targets.T):
        if is_in.any() and not is_in.all():
            groups.append(own)
    return groups


def require_values(rows: Floats, names: Sequence[Any]) -> None:
    """Raise unless there are rows, and each column has a value, naming it."""
    if not len(rows):
        raise ValueError(
            "No row of X has both a value and a positive weight, so there is nothing to learn from."
        )
    for name, values in zip(names, rows.T, strict=True):
        if np.isnan(values).all():
            raise ValueError(
                f"Column {name!r} has no value: all {len(rows)} are missing. Leave it out."
            )


def require_spread(rows: Floats, names: Sequence[Any], labels: Sequence[Any] | None = None) -> None:
    """Raise unless each column has a spread that can be squared, naming all constant columns.

    `labels` says which of the user's columns each is made of.
    """
    require_values(rows, names)
    smallest, largest = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
    with np.errstate(over="ignore"):
        spread = largest - smallest
    reasons = {}
    for j in np.flatnonzero(spread <= _ROUNDING * np.maximum(-smallest, largest)).tolist():
        reasons[j] = (
            f"zero variance: all its observed values equal {smallest[j]:g}. Leave it out."
            if smallest[j] == largest[j]
            else f"zero variance up to rounding: its values are from {smallest[j]:.17g} to "
            f"{largest[j]:.17g}. Leave it out, or subtract a constant."
        )
    if reasons:
        raise constants_error(list(names), reasons, names if labels is None else labels)
    for j in np.flatnonzero((spread < _SMALLEST_SPREAD) | (spread > _LARGEST_SPREAD)).tolist():
        raise ValueError(
            f"Column {names[j]!r} has values from {smallest[j]:g} to {largest[j]:g}, and the "
            "square of their spread is out of float64's range. Measure it in other units."
        )


def rows_by_pattern(seen: Booleans) -> Iterator[tuple[Integers, Booleans]]:
    """Yield the numbers of the rows with the same holes, and which columns are observed in them.

    `seen`: (n, m)
    """
    _, pattern = np.unique(np.packbits(seen, axis=1), axis=0, return_inverse=True)
    pattern = pattern.ravel()  # some versions of numpy return a column
    order = np.argsort(pattern, kind="stable")
    for some in np.split(order, np.cumsum(np.bincount(pattern))[:-1]):
        if len(some):
            yield some, seen[some[0]]


def _units(rows: Floats, seen: Booleans, weight: Floats) -> tuple[Floats, Floats]:
    """Return the weighted means and standard deviations of the observed values, shape (m,)."""
    shares = seen * weight[:, np.newaxis]
    shares /= shares.sum(axis=0)
    filled = np.where(seen, rows, 0.0)
    # Powers of two change no digit, and keep squares from overflowing.
    unit = np.ldexp(1.0, np.frexp(np.abs(filled).max(axis=0))[1])
    mean = (shares * (filled / unit)).sum(axis=0)
    deviations = np.where(seen, filled / unit - mean, 0.0)
    return mean * unit, np.sqrt((shares * deviations**2).sum(axis=0)) * unit


def _fewer_rows(values: Floats, weight: Floats, observed: Booleans) -> tuple[Floats, Floats]:
    """Return rows and weights that have the same total weight, mean and scatter."""
    at = np.flatnonzero(observed)
    k = len(at)
    if len(values) <= k + 1:
        return values, weight
    total = weight.sum()
    mean = weight @ values / total
    factor = triangular_factor((values - mean)[:, at] * np.sqrt(weight)[:, np.newaxis])
    # The rows of a Helmert matrix are orthonormal and add up to 0.
    few = np.tile(mean, (k + 1, 1))
    few[:, at] += helmert(k + 1).T @ factor * np.sqrt((k + 1) / total)
    return few, np.full(k + 1, total / (k + 1))

"""Lagged copies of a table's columns, in its own container, and the times of its rows.

The times come from a pandas index, and say which rows are one step apart.
"""

import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from typing import Any

import numpy as np

from skbn._core.arrays import Booleans, Floats, Integers
from skbn._data.containers import frame_labels

# Fewer rows of a series do not tell a random walk from a column that returns slowly to its mean.
_FEWEST_ROWS = 50
# Columns whose own lag is less are not called random walks, whatever the test says.
_LEAST_OWN_LAG = 0.95
# Columns of fewer values are codes.
_FEWEST_VALUES = 5
# MacKinnon (2010): the 5 % critical value of the test with a constant, by powers of 1 / n.
_CRITICAL = -2.86154, -2.8903, -4.234, -40.04


def rows_of_lags(series: Integers, n_lags: int) -> Integers:
    """Return which row stands for each lag of the rows that have all their lags, (n_lags + 1, k).

    `series`: (n,), the number of the series of each row

    >>> rows_of_lags(np.array([0, 1, 0, 0, 1]), 1)
    array([[2, 3, 4],
           [0, 2, 1]])
    """
    by_series = np.argsort(series, kind="stable")
    ends = np.arange(n_lags, len(series))
    ends = ends[series[by_series[ends]] == series[by_series[ends - n_lags]]]
    rows = by_series[ends - np.arange(n_lags + 1)[:, np.newaxis]]
    return rows[:, np.argsort(rows[0])]


def rows_before_the_next(series: Integers, parts: Integers, n_lags: int) -> Integers:
    """Return which rows are the lags of the row that would follow each series, (n_lags, k).

    Only of the series that end with `n_lags` rows without a gap; `parts` are `series`, (n,),
    divided at gaps.

    >>> rows_before_the_next(np.array([0, 1, 0, 0, 1]), np.array([0, 1, 0, 0, 1]), 2)
    array([[3, 4],
           [2, 1]])
    """
    rows = rows_of_lags(parts, n_lags - 1)
    last = dict(zip(series.tolist(), range(len(series)), strict=True))
    rows = rows[:, np.isin(rows[0], [*last.values()])]
    return rows[:, np.argsort(series[rows[0]])]


def labels_after(index: Any, last: Any, n: int) -> Any:
    """Return the n labels that go on a pandas index of equal steps after its last, or 1 to n.

    >>> import pandas as pd
    >>> labels_after(pd.period_range("2020Q1", periods=3, freq="Q"), pd.Period("2020Q3"), 2)
    PeriodIndex(['2020Q4', '2021Q1'], dtype='period[Q-DEC]')
    >>> labels_after(None, None, 2)
    [1, 2]
    """
    pandas: Any = sys.modules.get("pandas")
    if pandas is not None and isinstance(index, pandas.PeriodIndex):
        return pandas.period_range(last, periods=n + 1, freq=index.freq)[1:]
    if pandas is not None and isinstance(index, pandas.DatetimeIndex) and len(index) > 2:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what newer versions return
            freq = index.freq or pandas.infer_freq(index)
        if freq is not None:
            return pandas.date_range(last, periods=n + 1, freq=freq)[1:]
    elif index is not None and index.dtype.kind in "iu":
        steps = np.unique(np.diff(index))
        if len(steps) == 1 and steps[0] > 0:
            return pandas.Index(last + steps[0] * np.arange(1, n + 1), name=index.name)
    return [*range(1, n + 1)]


def beside_lags(values: Any, rows: Integers, names: Sequence[Sequence[str]] | None) -> Any:
    """Return columns and their lagged copies, lag by lag from 0 on.

    `values`: ndarray, or a data frame of pandas, polars or pyarrow
    `rows`: (n_lags + 1, k), as from `rows_of_lags`
    `names`: what to call the columns of each lag; None for an array

    Returns `table`: (k, (n_lags + 1) * m), with the row labels of lag 0.
    """
    if names is None:
        return np.hstack([values[each] for each in rows])
    labels, kind = frame_labels(values) or [], type(values)
    parts = {
        name: (values[label], at)
        for at, own in zip(rows, names, strict=True)
        for label, name in zip(labels, own, strict=True)
    }
    if hasattr(values, "iloc"):
        index = values.index[rows[0]]
        return kind({name: x.iloc[at].set_axis(index) for name, (x, at) in parts.items()})
    if hasattr(values, "hstack"):  # polars
        return kind({name: x[at] for name, (x, at) in parts.items()})
    if hasattr(values, "append_column"):  # pyarrow
        return kind.from_pydict({name: x.take(at) for name, (x, at) in parts.items()})
    raise TypeError(
        f"X is a {type(values).__name__}. Pass a data frame of pandas or polars, a pyarrow.Table "
        "or an array."
    )


def column_values(values: Any, name: Any) -> Floats | None:
    """Return a column of numbers as floats, NaN where they are missing; None for another."""
    column = values[:, name] if isinstance(values, np.ndarray) else values[name]
    try:
        array = np.asarray(column)
        kind = array.dtype.kind
        if kind == "O" and any(isinstance(each, str) for each in array):
            return None  # also texts like "1", which are categories
        return array.astype(np.float64) if kind in "biufO" else None
    except (TypeError, ValueError):
        return None


def has_unit_root(column: Floats | None, numbers: Integers, parts: Integers) -> bool:
    """Whether a Dickey-Fuller test takes a column for a random walk, in most of its series.

    The changes are regressed on the last value, the last change and a constant, in each series of
    50 rows or more; not in all together, where means that differ would bias it. `numbers` are the
    series of the rows, `parts` the same, divided at gaps.
    """
    if column is None or len(column) < _FEWEST_ROWS or len(np.unique(column)) < _FEWEST_VALUES:
        return False
    rows = rows_of_lags(parts, 2)
    rows = rows[:, np.isfinite(column[rows]).all(axis=0)]
    rows = rows[:, np.argsort(numbers[rows[0]], kind="stable")]
    votes = []
    for own in np.split(rows, np.flatnonzero(np.diff(numbers[rows[0]])) + 1, axis=1):
        if own.shape[1] >= _FEWEST_ROWS - 2:
            own_lag, t = dickey_fuller(*column[own])
            critical = np.polyval(_CRITICAL[::-1], 1 / own.shape[1])
            votes.append(bool(own_lag > _LEAST_OWN_LAG and t > critical))
    return 2 * votes.count(True) > len(votes)


def dickey_fuller(now: Floats, last: Floats, before: Floats) -> tuple[float, float]:
    """Return the effect of a column's last value on it, and the t of its difference from 1."""
    scale = np.ptp(last) or 1.0
    terms = np.column_stack([last - last.mean(), last - before, np.full(len(now), scale)]) / scale
    changes = (now - last) / scale
    inverse = np.linalg.pinv(terms.T @ terms)
    slopes = inverse @ terms.T @ changes
    residuals = changes - terms @ slopes
    noise = residuals @ residuals / (len(now) - 3)
    if noise <= 1e-20:  # an exact line: fit refuses it beside its lag
        return 0.0, -np.inf
    return 1 + slopes[0], slopes[0] / np.sqrt(noise * inverse[0, 0])


# Steps of floats are compared up to this share of the shortest.
_PARTS_OF_FLOATS = 1000
# How else than in the ISO format dates are written as digits.
_COMPACT = "%YM%m", "%Y%m", "%Y%m%d", "%d-%b-%y"
_DIGITS = r"\d{4}M?\d{2,4}|\d\d-[A-Za-z]{3}-\d\d"
_QUARTER = r"^(?:(\d{4})[ -]?[Qq]([1-4])|[Qq]([1-4])[ /-]?(\d{4}))$"
# Three numbers, and a time of day that may follow.
_NUMBERS = r"^(\d{1,4})([-./])(\d{1,2})\2(\d{4}|\d{1,2})(?:[T, ]+(.*\d.*))?$"
_YEAR = r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)"


def as_times(labels: Any) -> Any:
    """Return row labels as an index of times or numbers; None if they are neither.

    Times are pandas' own, Python's, pyarrow's, or text that has one meaning.

    >>> import pandas as pd
    >>> as_times(pd.Index(["2020-01-31", "2020-02-29"], dtype=object)).month.tolist()
    [1, 2]
    >>> as_times(pd.Index(["north", "south"]))
    """
    pandas: Any = sys.modules["pandas"]
    if isinstance(labels, pandas.CategoricalIndex):
        labels = pandas.Index(labels.to_numpy())
    kind, first = pandas.api.types.infer_dtype(labels), str(labels[0]) if len(labels) else ""
    try:
        if kind in ("datetime64", "datetime", "date", "period", "timedelta", "timedelta64"):
            if hasattr(labels, "asi8"):  # pandas' own
                return labels
            labels = labels.astype(object)
            if kind == "period":
                return pandas.PeriodIndex(labels)
            return pandas.to_timedelta(labels) if "delta" in kind else _moments(pandas, labels)
        if kind == "string":
            with suppress(ValueError):
                labels = pandas.to_numeric(labels)
                kind = "integer" if labels.dtype.kind in "iu" else "floating"
        if kind == "string" or (kind == "integer" and len(first) in (6, 8)):
            dates = _dates(pandas, labels.astype(str).astype(object))
            if dates is not None or kind == "string":
                return dates
        if kind in ("integer", "floating", "decimal", "mixed-integer-float"):
            is_whole = kind == "integer" and not labels.hasnans
            numbers = pandas.Index(labels.to_numpy(np.int64 if is_whole else np.float64))
            return numbers.where(np.isfinite(numbers))
    except (ValueError, TypeError, OverflowError):  # no times, or out of range
        return None
    return None


def _dates(pandas: Any, texts: Any) -> Any:
    """Return the dates that texts are in the only way to read them, or None if there is none."""
    quarters = texts.str.extract(_QUARTER).fillna("")
    years, numbers = quarters[0] + quarters[3], quarters[1] + quarters[2]
    if (years != "").all():
        return pandas.PeriodIndex(years + "Q" + numbers, freq="Q")
    if texts.str.fullmatch(_DIGITS).all():
        read = (pandas.to_datetime(texts, format=form, errors="coerce") for form in _COMPACT)
        found = [dates for dates in read if not dates.hasnans]
        return found[0] if len(found) == 1 else None
    with suppress(ValueError):
        return _moments(pandas, texts, format="ISO8601")
    parts = texts.str.extract(_NUMBERS)
    if parts[0].notna().all():
        return _of_numbers(pandas, parts)
    if not texts.str.contains(_YEAR).all():
        return None
    return _moments(pandas, texts, format="mixed")


def are_dates(column: Any) -> bool:
    """Whether a data frame's column holds dates, also as texts."""
    first: Any = next((each for each in column if each is not None), None)
    first = first.as_py() if hasattr(first, "as_py") else first
    if not isinstance(first, str):
        return isinstance(first, date | np.datetime64) or hasattr(first, "to_timestamp")
    pandas: Any = sys.modules.get("pandas")
    if pandas is None or not any(character.isdigit() for character in first):
        return False
    texts = pandas.Index(column.to_pylist() if hasattr(column, "to_pylist") else [*column])
    return hasattr(as_times(texts.dropna().unique()), "asi8")


def _of_numbers(pandas: Any, parts: Any) -> Any:
    """Return dates by the parts of their texts, or None if day, month or year may be another."""
    first, separators, second, third, clock = (parts[part] for part in range(5))
    day_first, month_first = (third, second, first), (third, first, second)
    orders = [day_first] if (separators == ".").all() else [day_first, month_first]
    if first.str.len().max() == 4 or third.str.len().max() < 4:
        orders.append((first, second, third))
    times = _moments(pandas, "2000-01-01 " + clock.fillna("0:00"), format="mixed")
    times = (times - pandas.Timestamp("2000-01-01", tz=times.dt.tz)).array
    found: list[Any] = []
    for own in orders:
        texts = own[0] + "-" + own[1] + "-" + own[2]
        form = "%Y-%m-%d" if own[0].str.len().min() == 4 else "%y-%m-%d"
        dates = pandas.DatetimeIndex(pandas.to_datetime(texts, format=form, errors="coerce"))
        if not dates.hasnans and not any(dates.equals(other) for other in found):
            found.append(dates)
    return found[0] + times if len(found) == 1 else None


def may_be_dates(labels: Any) -> bool:
    """Whether all labels are texts with a year, a month, a time of day, or three numbers."""
    pandas: Any = sys.modules["pandas"]
    if pandas.api.types.infer_dtype(labels) not in ("string", "categorical"):
        return False
    months = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
    pattern = rf"(?i){_YEAR}|\d:\d\d|^\d\d?[-./]\d\d?[-./]\d\d|\d[-. ]?(?:{months})[a-z]*[-. ]\d"
    return bool(labels.astype(str).astype(object).str.contains(pattern).all())


def _moments(pandas: Any, labels: Any, **options: Any) -> Any:
    """Return dates and times as an index, in UTC if they have several offsets from it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)  # newer pandas raises
        try:
            return pandas.to_datetime(labels, **options)
        except (ValueError, FutureWarning):
            return pandas.to_datetime(labels, utc=True, **options)


def one_step_apart(times: Any, same: Booleans) -> Booleans:
    """Return whether each row is one step after the row before it.

    A step is the longest that divides all intervals between neighbours. Days, months and
    quarters are counted by the calendar, on working days alone if no row is of a weekend, and by
    the clock of the time zone: of these counts, the one with the fewest gaps holds.

    `times`: pandas.Index of length n; series by series, and increasing within each
    `same`: (n - 1,), whether neighbours belong to the same series. Only these are compared.

    >>> import pandas as pd
    >>> ends = pd.DatetimeIndex(["2020-01-31", "2020-02-29", "2020-04-30", "2020-05-31"])
    >>> one_step_apart(ends, np.full(3, True)).tolist()
    [True, False, True]
    """
    best = np.zeros(len(same), dtype=bool)
    for steps in _counts(times, same):
        apart = steps == np.gcd.reduce(steps[same])
        if np.count_nonzero(apart & same) > np.count_nonzero(best & same):
            best = apart
    return best


def _counts(times: Any, same: Booleans) -> list[Integers]:
    """Return the intervals between neighbours, in each unit that suits the times."""
    if not hasattr(times, "asi8"):
        intervals = np.diff(times.to_numpy())
        if intervals.dtype.kind == "f":
            shortest = intervals[same].min(initial=np.inf)
            intervals = np.rint(np.where(same, intervals, 0) * (_PARTS_OF_FLOATS / shortest))
        return [intervals.astype(np.int64)]
    counts = [np.diff(times.asi8)]
    if hasattr(times, "to_timestamp"):
        times = times.to_timestamp()
    if not hasattr(times, "tz_localize"):
        return counts
    clock = times.tz_localize(None)
    days, months = (clock.to_numpy().astype(f"datetime64[{unit}]") for unit in "DM")
    if clock.tz is not times.tz:
        counts.append(np.diff(clock.asi8))
    if len((clock - clock.normalize()).unique()) == 1:
        first = np.busday_offset(months.astype(days.dtype), 0, roll="forward")
        last = np.busday_offset((months + 1).astype(days.dtype), -1, roll="forward")
        same_day = clock.day == np.minimum(clock.day.max(), clock.days_in_month)
        if same_day.all() or (days == first).all() or (days == last).all():
            counts.append(np.diff(months.astype(np.int64)))
        if np.is_busday(days).all():
            counts.append(np.busday_count(days[:-1], days[1:]))
    return counts

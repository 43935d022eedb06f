"""The times of a table's rows, by its pandas index: which rows are one step apart."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

from skbn._core.arrays import Booleans, Integers

# Steps of floats are compared up to this share of the shortest.
_PARTS_OF_FLOATS = 1000
# How else than in the ISO format dates are written; the last two also as whole numbers.
_FORMATS = "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%YM%m", "%Y%m", "%Y%m%d"


def as_times(labels: Any) -> Any:
    """Return row labels as an index of times or numbers; None if they are neither.

    Times are pandas' own, Python's, pyarrow's, or text in one format alone.

    Examples
    --------
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
        if kind == "string" or (kind == "integer" and len(first) in (6, 8)):
            dates = _dates(pandas, labels.astype(str).astype(object))
            if dates is not None or not first.isdigit():
                return dates
        if kind in ("string", "integer", "floating", "decimal", "mixed-integer-float"):
            is_whole = kind in ("string", "integer") and not labels.hasnans
            numbers = pandas.Index(labels.to_numpy(np.int64 if is_whole else np.float64))
            return numbers.where(np.isfinite(numbers))
    except (ValueError, TypeError, OverflowError):  # no times, or out of range
        return None
    return None


def _dates(pandas: Any, texts: Any) -> Any:
    """Return the dates that texts are in one of the formats, or None if in none or several."""
    if "Q" in texts[0]:
        return pandas.PeriodIndex(texts, freq="Q")
    if "-" in texts[0]:
        return _moments(pandas, texts, format="ISO8601")
    read = (pandas.to_datetime(texts, format=form, errors="coerce") for form in _FORMATS)
    found = [dates for dates in read if not dates.hasnans]
    return found[0] if len(found) == 1 else None


def _moments(pandas: Any, labels: Any, **options: Any) -> Any:
    """Return dates and times as an index, in UTC if they have several offsets from it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)  # that of older pandas is an error of newer
        try:
            return pandas.to_datetime(labels, **options)
        except (ValueError, FutureWarning):
            return pandas.to_datetime(labels, utc=True, **options)


def one_step_apart(times: Any, same: Booleans) -> Booleans:
    """Return whether each row is one step after the row before it.

    A step is the longest that divides all intervals between neighbours. Days, months and
    quarters are counted by the calendar, on working days alone if no row is of a weekend, and by
    the clock of the time zone: of these counts, the one with the fewest gaps holds.

    Parameters
    ----------
    times : pandas.Index of length n
        As from `as_times`; series by series, and increasing within each.
    same : ndarray of shape (n - 1,), bool
        Whether neighbours belong to the same series. Only these are compared.

    Examples
    --------
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

"""Time series: a table with lagged copies of its columns, and pictures of networks of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from itertools import permutations
from numbers import Integral
from typing import Any, Unpack

import numpy as np

from skbn._core.arrays import Integers
from skbn._core.estimator import Interval, check_values
from skbn._core.text import readable_value
from skbn._data.containers import array_of, check_labels, frame_labels, is_dask, row_labels
from skbn._data.lags import beside_lags, rows_of_lags
from skbn._data.row_values import read_row_groups
from skbn._data.sample import TableMixin
from skbn._displays.fitted import fitted_graph
from skbn._displays.network_display import NetworkDisplay
from skbn._displays.plot_options import PlotOptions

__all__ = ["LaggedTable", "lagged"]


@dataclass(frozen=True, eq=False, repr=False)
class LaggedTable:
    """A time series with lagged copies of its columns, as `lagged` returns it.

    Its m columns come first, then their copies of lag 1 in the same order, then those of lag 2, and
    so on. The copy of column ``x`` that is two steps back is called ``x.L2``. In an array column j
    has its copy of lag k at number ``k * m + j``.

    Parameters
    ----------
    table : data frame or ndarray of shape (n, (n_lags + 1) * m)
        In the container of X, with the types of its columns and, in pandas, the index of its rows.
    columns : list of str or int
        The columns of X: their names, or 0 to m - 1.
    n_lags : int
    rows : ndarray of shape (n,), int64
        Which row of X each row of the table is, for what belongs to rows:
        ``sample_weight[series.rows]``.
    n_dropped : int
        The number of rows of X that are not in the table: the first `n_lags` of each series.
    dropped_groups : list
        The series that are not in the table, because they have `n_lags` rows or fewer.

    See Also
    --------
    lagged : Makes one, and has an example.
    """

    table: Any
    columns: list[str] | list[int]
    n_lags: int
    rows: Integers
    n_dropped: int
    dropped_groups: list[Any]

    @property
    def exogenous(self) -> list[str | int]:
        """The lagged copies: what may be a cause and is not modelled."""
        return [column for lag in range(1, self.n_lags + 1) for column in self._of_lag(lag)]

    @property
    def contemporaneous(self) -> list[tuple[str | int, str | int]]:
        """All ordered pairs of columns of X: as `forbidden_edges`, no effects within a step."""
        return list(permutations(self._of_lag(0), 2))

    def __repr__(self) -> str:
        steps = "1 lag" if self.n_lags == 1 else f"{self.n_lags} lags"
        first = "first" if self.n_lags == 1 else f"first {self.n_lags}"
        if self.n_dropped > self.n_lags:
            first += f" of each series, {self.n_dropped} in all"
        groups = self.dropped_groups
        short = f", and without the series {readable_value(groups)}" if groups else ""
        return (
            f"<{type(self).__name__} of {len(self.columns)} columns and {steps}: "
            f"{len(self.rows)} rows, without the {first}{short}>"
        )

    def plot(
        self, estimator: Any, *, ax: Any = None, cpdag: bool = False, **options: Unpack[PlotOptions]
    ) -> NetworkDisplay:
        """Draw a network of the table by lag: time from left to right, and a row for each column.

        Parameters
        ----------
        estimator : GaussianBNLearner, GaussianBNLearnerCV, GaussianBNPosterior, \
BootstrapBNLearner or GaussianBayesianNetwork
            Fitted to `table`, or to some of its columns; columns that it has besides stand on the
            left.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure of the size that the network takes.
        cpdag : bool, default=False
            Whether to draw edges without an arrowhead if the data, and the constraints of `fit`,
            do not tell their direction.
        **options
            Options of `NetworkDisplay.plot`. By default `tiers` are the lags, `lanes` the columns
            of X, and `orientation` is "left-right".

        Returns
        -------
        display : NetworkDisplay

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        ImportError
            If matplotlib is not installed.
        TypeError, ValueError
            As `NetworkDisplay.from_estimator`; if an edge leads back in time.

        See Also
        --------
        NetworkDisplay : What is drawn how.

        Examples
        --------
        >>> import numpy as np
        >>> from skbn import GaussianBNLearner, lagged
        >>> rng = np.random.default_rng(0)
        >>> series = lagged(rng.normal(size=(50, 3)).cumsum(axis=0))
        >>> learner = GaussianBNLearner(exogenous=series.exogenous).fit(series.table)
        >>> display = series.plot(learner, edge_label="weight")
        """
        nodes = list(fitted_graph(estimator))
        tiers: dict[str, list[Any]] = {}
        for lag in range(self.n_lags, -1, -1):
            tiers[f"t - {lag}" if lag else "t"] = [v for v in self._of_lag(lag) if v in nodes]
        known = {v for tier in tiers.values() for v in tier}
        others = [v for v in nodes if v not in known]
        lanes = [[v for v in lane if v in known] for lane in self._lanes()]
        by_lag: PlotOptions = {
            "tiers": {"other": others, **tiers} if others else tiers,
            "lanes": [*lanes, *([v] for v in others)],
            "orientation": "left-right",
            **options,
        }
        return NetworkDisplay.from_estimator(estimator, ax=ax, cpdag=cpdag, **by_lag)

    def _of_lag(self, lag: int) -> list[Any]:
        """Return the columns of the table that are so many steps back."""
        m = len(self.columns)
        return [
            (f"{column}.L{lag}" if lag else column) if isinstance(column, str) else lag * m + column
            for column in self.columns
        ]

    def _lanes(self) -> list[tuple[Any, ...]]:
        """Return each column with its copies."""
        return list(zip(*map(self._of_lag, range(self.n_lags + 1)), strict=True))


def lagged(X: Any, n_lags: int = 1, groups: Any = None) -> LaggedTable:
    """Put lagged copies of its columns beside the columns of a time series.

    In a network of the table, edges from the copies are effects of earlier values, and edges
    between the columns of X are effects within a step of time.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        Rows in order of time, the earliest first, at equal intervals, in memory. Columns may hold
        categories, and values may be missing; both are copied as they are. The names of a data
        frame's columns are strings.
    n_lags : int, default=1
        How many steps back the copies go, at least 1.
    groups : array-like of shape (n_samples,), optional
        The series that each row belongs to, if X has several, such as patients or countries. No
        lag goes from one to another. The rows of a series need not be adjacent; they follow each
        other in the order in which they stand in X. The values of a pandas Series go to the rows of
        the same labels.

    Returns
    -------
    series : LaggedTable
        With the new `table`, the names of its `exogenous` columns, the pairs of `contemporaneous`
        ones, and `n_dropped`.

    Raises
    ------
    ValueError
        If `n_lags` is not an integer of 1 or more; if no series has more rows than that; if columns
        have the same name, or one has that of a lagged copy; if there is not one value of `groups`
        for each row; if the index of a pandas data frame has times, and those of a series do not
        increase.
    TypeError
        If X is not a table in memory, or the names of its columns are not strings.

    See Also
    --------
    GaussianBNLearner : Takes `exogenous` columns, and `forbidden_edges`.
    BootstrapBNLearner : Draws blocks of rows by `block_length`.

    Notes
    -----
    A linear Gaussian network of the table, with the copies exogenous, is a structural vector
    autoregression (Swanson & Granger 1997, "Impulse response functions based on a causal approach
    to residual orthogonalization in vector autoregressions") with an acyclic graph within a step,
    in which coefficients may be 0. As a network that repeats itself in time, it is a dynamic
    Bayesian network (Dean & Kanazawa 1989, "A model for reasoning about persistence and
    causation").

    Examples
    --------
    >>> import pandas as pd
    >>> from skbn import lagged
    >>> X = pd.DataFrame({"rain": [1, 5, 2, 0, 3], "river": [3, 2, 6, 4, 1]})
    >>> series = lagged(X)
    >>> series.table
       rain  river  rain.L1  river.L1
    1     5      2        1         3
    2     2      6        5         2
    3     0      4        2         6
    4     3      1        0         4
    >>> series.exogenous, series.n_dropped
    (['rain.L1', 'river.L1'], 1)
    >>> series.contemporaneous
    [('rain', 'river'), ('river', 'rain')]

    Two series, of three rows and of two:

    >>> lagged(X, groups=["a", "a", "a", "b", "b"])
    <LaggedTable of 2 columns and 1 lag: 3 rows, without the first of each series, 2 in all>
    """
    check_values(
        "lagged", {"n_lags": [Interval(Integral, 1, None, closed="left")]}, {"n_lags": n_lags}
    )
    n_lags = int(n_lags)
    if is_dask(X):
        raise TypeError(
            f"X is a dask {type(X).__name__}, whose rows are not in memory. Pass X.compute(), or a "
            "table that has its lagged columns already."
        )
    labels = None if isinstance(X, TableMixin) else frame_labels(X)
    values = array_of(X) if labels is None else X
    columns: Any = list(range(values.shape[1])) if labels is None else _checked_names(labels, X)
    n_rows = len(values)
    if groups is None:
        numbers, names = np.zeros(n_rows, np.int64), [None]
    else:
        numbers, names = read_row_groups(groups, row_labels(X), n_rows, "groups")
    _check_times(row_labels(X), numbers, has_groups=groups is not None)
    counts = np.bincount(numbers, minlength=len(names))
    short = [name for name, count in zip(names, counts, strict=True) if count <= n_lags]
    if len(short) == len(names):
        what = f"X has {n_rows} rows"
        if groups is not None:
            what = f"none of the {len(names)} series has more than {max(counts, default=0)} rows"
        raise ValueError(
            f"n_lags={n_lags} takes more than {n_lags} rows of one series, but {what}. Give longer "
            "series, or a smaller n_lags."
        )
    rows = rows_of_lags(numbers, n_lags)
    series = LaggedTable(None, columns, n_lags, rows[0], n_rows - rows.shape[1], short)
    by_lag = None if labels is None else [series._of_lag(lag) for lag in range(n_lags + 1)]
    if by_lag is not None:
        _check_new_names(by_lag)
    return replace(series, table=beside_lags(values, rows, by_lag))


def _checked_names(labels: list[Any], X: Any) -> list[str]:
    """Return the names of a frame's columns, or raise unless each has one of its own."""
    check_labels(labels, X)
    if not isinstance(labels[0], str):
        raise TypeError(
            "The names of X's columns must be strings, to which the lag is added; got "
            f"{labels[0]!r}. Rename them, for example by X.columns = [str(c) for c in X.columns], "
            "or pass an array."
        )
    return labels


def _check_times(labels: Any, numbers: Integers, *, has_groups: bool) -> None:
    """Raise if the rows are labelled by times that do not increase within a series."""
    pandas: Any = sys.modules.get("pandas")
    if pandas is None or not isinstance(
        labels, pandas.DatetimeIndex | pandas.PeriodIndex | pandas.TimedeltaIndex
    ):
        return
    order = np.argsort(numbers, kind="stable")
    times = labels[order]
    later = (times[1:] > times[:-1]) | (np.diff(numbers[order]) != 0)
    if later.all():
        return
    first = int(np.argmin(later))
    remedy = " If X has several series, say by groups which row is of which." * (not has_groups)
    raise ValueError(
        f"The index of X says that its rows are not in order of time: row {order[first + 1]}, "
        f"{times[first + 1]}, follows row {order[first]}, {times[first]}. Sort them, by "
        f"X.sort_index() for example.{remedy}"
    )


def _check_new_names(by_lag: list[list[str]]) -> None:
    """Raise if a lagged copy would have the name of another column."""
    taken: set[str] = set()
    for lag, names in enumerate(by_lag):
        for name, column in zip(names, by_lag[0], strict=True):
            if name in taken:
                raise ValueError(
                    f"Lag {lag} of column {column!r} would be called {name!r}, and so is another "
                    "column. Rename one of them. If X has lagged copies already, leave them out."
                )
        taken.update(names)

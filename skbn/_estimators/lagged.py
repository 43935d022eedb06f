"""Time series: a table with lagged copies of its columns, and what networks of it say in time."""

from dataclasses import dataclass, field
from itertools import permutations
from numbers import Integral
from typing import Any, Literal, Unpack

import numpy as np

from skbn._core.arrays import Floats, Integers, as_integer, level_of
from skbn._core.estimator import Interval, StrOptions, check_values, random_generator
from skbn._core.text import readable_value, warn
from skbn._data import lags
from skbn._data.containers import array_of, check_labels, frame_labels, is_dask, row_labels
from skbn._data.row_values import in_order_of_rows, names_in, read_row_groups, without_named
from skbn._data.sample import TableMixin
from skbn._displays.display import fitted_graph
from skbn._displays.network_display import NetworkDisplay
from skbn._displays.plot_options import PlotOptions
from skbn._estimators import forecasts
from skbn._estimators.ensembles import networks_of
from skbn._estimators.forecasts import Dynamics, dynamics_of, held_values
from skbn._networks.network import GaussianBayesianNetwork
from skbn.exceptions import NonstationaryWarning

# Networks that are drawn for futures: each may have several.
_MOST_DRAWN = 1000
_ALLOWED: dict[str, list[Any]] = {
    "n_lags": [Interval(Integral, 1, None, closed="left")],
    "gaps": [StrOptions({"break", "join"}), None],
    "shock": [StrOptions({"unit", "deviation"})],
}


@dataclass(frozen=True, eq=False, repr=False)
class LaggedTable:
    """A time series with lagged copies of its columns, as `lagged` returns it.

    Its m columns come first, then their copies of lag 1, then those of lag 2, and so on. The copy
    of column ``x`` that is two steps back is called ``x.L2``; in an array column j has its copy of
    lag k at number ``k * m + j``.

    Parameters
    ----------
    table : data frame or ndarray of shape (n, (n_lags + 1) * m)
        In the container of X, with the types of its columns and, in pandas, the index of its rows.
    columns : list of str or int
        The columns of X: their names, or 0 to m - 1.
    n_lags : int
    rows : ndarray of shape (n,), int64
        Which row of X each row of the table is, as in ``sample_weight[series.rows]``.
    n_dropped : int
        The number of rows of X that are not in the table: the first `n_lags` of each series, and
        after each gap that breaks one.
    dropped_groups : list
        The series without any row in the table.
    groups : list, optional
        The series of each row of the table, for a bootstrap's `fit`; None if X is a single one.
    last : data frame or ndarray of shape (k, n_lags * m), optional
        The copies in the row that would follow each of k series; `next_row` returns them.
    last_groups : list of k hashables
        These series; [None] for a single one.

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
    groups: list[Any] | None = None
    last: Any = None
    last_groups: list[Any] = field(default_factory=lambda: [None])

    @property
    def exogenous(self) -> list[str | int]:
        """The lagged copies: what may be a cause and is not modelled."""
        return [
            column for lag in range(1, self.n_lags + 1) for column in _of_lag(self.columns, lag)
        ]

    @property
    def contemporaneous(self) -> list[tuple[str | int, str | int]]:
        """All ordered pairs of columns of X: as `forbidden_edges`, no effects within a step."""
        return list(permutations(_of_lag(self.columns, 0), 2))

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
            Fitted to `table`, or to some of its columns; others stand on the left.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.
        cpdag : bool, default=False
            Whether to draw edges without an arrowhead if nothing tells their direction.
        **options
            Options of `NetworkDisplay.plot`. By default `tiers` are the lags, and `orientation` is
            "left-right".

        Returns
        -------
        display : NetworkDisplay

        Raises
        ------
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
        >>> series = lagged(rng.normal(size=(50, 3)))
        >>> learner = GaussianBNLearner(exogenous=series.exogenous).fit(series.table)
        >>> display = series.plot(learner, edge_label="weight")
        """
        nodes = list(fitted_graph(estimator))
        tiers: dict[str, list[Any]] = {
            f"t - {lag}" if lag else "t": [v for v in _of_lag(self.columns, lag) if v in nodes]
            for lag in range(self.n_lags, -1, -1)
        }
        known = {v for tier in tiers.values() for v in tier}
        others = [v for v in nodes if v not in known]
        columns = zip(*(_of_lag(self.columns, lag) for lag in range(self.n_lags + 1)), strict=True)
        lanes = [[v for v in copies if v in known] for copies in columns]
        display = NetworkDisplay._of(estimator, cpdag, options)
        display._tiers = {"other": others, **tiers} if others else tiers
        display._lanes = {v: i for i, own in enumerate([*lanes, *zip(others)]) for v in own}
        sideways: PlotOptions = {"orientation": "left-right", **options}
        return display.plot(ax=ax, **sideways)

    def next_row(self) -> Any:
        """Return the lagged copies in the row that follows the series, for a network's `predict`.

        With columns of an array, name them by ``given=series.exogenous`` there.

        Returns
        -------
        row : data frame or ndarray of shape (k, n_lags * m)
            With the columns `exogenous`: a row for each series that ends with `n_lags` rows without
            a gap. In pandas its index is the next time or number, or the names of the series.

        Raises
        ------
        ValueError
            If no series ends with that many rows.

        Examples
        --------
        >>> import pandas as pd
        >>> from skbn import lagged
        >>> lagged(pd.DataFrame({"rain": [1, 5, 2], "river": [3, 2, 6]})).next_row()
           rain.L1  river.L1
        3        2         6
        """
        if self.last is None or not len(self.last):
            raise ValueError(
                f"No series ends with {self.n_lags} rows without a gap, which the next row needs. "
                "Give later rows, or a smaller n_lags."
            )
        if not hasattr(self.last, "iloc"):
            return self.last
        is_one = self.last_groups == [None]
        return self.last.set_axis(self._labels(1) if is_one else self.last_groups, axis="index")

    def forecast(
        self,
        network: Any,
        steps: int = 1,
        level: float = 0.9,
        *,
        do: Any = None,
        exogenous: Any = None,
        n_samples: int = 1000,
        random_state: Any = None,
    ) -> forecasts.Forecast:
        """Return the distribution of the next steps, by a network of the table or by many.

        Parameters
        ----------
        network : GaussianBNPosterior, BootstrapBNLearner, NearOptimalNetworks, list of \
networks, GaussianBayesianNetwork, or a learner that has a `network_`
            With parameters, of `table` or of some of its columns. Of several networks, intervals
            include that weights and edges are estimates; they count as in
            `GaussianBNPosterior.anomalies`.
        steps : int, default=1
        level : float, default=0.9
            The probability of the intervals of the result, unless another is given there.
        do : dict of column to float or list of floats, or data frame, optional
            What modelled columns are set to from outside: one value for all steps, or one for each,
            None where nothing is set. A dict by series gives each series its own.
        exogenous : dict of column to value or list of values, or data frame, optional
            The future of the columns that are not modelled and are no copies, such as a season, as
            in `do`.
        n_samples : int, default=1000
            How many networks are drawn, with parameters, from a posterior or near-optimal networks.
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        forecast : Forecast
            With `mean`, `std` and `interval`, which are exact for Gaussian noise and the networks'
            weights as they are; `to_frame` and `plot`.

        Raises
        ------
        ValueError, TypeError
            If `steps` is not a positive integer; if the last rows of a series miss values that the
            network uses; if values of exogenous columns are lacking; if an edge leads back in time.

        Notes
        -----
        Parameters are drawn from their posterior given a network, under a flat prior in place of
        BGe's default one, which expects little noise.

        With all edges it is the forecast of a vector autoregression that is estimated by least
        squares, with the noise's variance by maximum likelihood (Lütkepohl 2005, "New introduction
        to multiple time series analysis", section 2.2).

        Examples
        --------
        >>> import networkx as nx
        >>> import pandas as pd
        >>> from skbn import GaussianBayesianNetwork, lagged
        >>> series = lagged(pd.DataFrame({"a": [8.0, 4, 2, 1]}))
        >>> dag = nx.DiGraph([("a.L1", "a", {"weight": 0.5})])
        >>> nx.set_node_attributes(dag, 0.0, "intercept")
        >>> nx.set_node_attributes(dag, 1.0, "noise_variance")
        >>> forecast = series.forecast(GaussianBayesianNetwork(dag), 3)
        >>> forecast.mean["a"].tolist(), forecast.std["a"].round(3).tolist()
        ([0.5, 0.25, 0.125], [1.0, 1.118, 1.146])
        """
        steps = as_integer(steps, "steps", least=1)
        level = level_of(level)
        networks, source = networks_of(network, n_samples, random_generator(random_state))
        processes, past, held = self._future(networks, steps, do, exogenous)
        own, is_held = processes[0].modelled, ~np.isnan(held[0])
        return forecasts.Forecast(
            [processes[0].columns[v] for v in own],
            np.array([each.paths(past, held)[..., own] for each in processes]),
            np.array([each.standard_deviations(is_held)[:, own] for each in processes]),
            self.last_groups,
            self._labels(steps),
            level,
            source,
        )

    def simulate(
        self,
        network: Any,
        steps: int = 1,
        n_samples: int = 1,
        random_state: Any = None,
        *,
        do: Any = None,
        exogenous: Any = None,
    ) -> Any:
        """Draw futures of the series from a network of the table, or from many.

        Parameters
        ----------
        network : GaussianBayesianNetwork, or another source of networks as in `forecast`
            Of several networks, each future is of another, of up to 1,000.
        steps : int, default=1
        n_samples : int, default=1
            The number of futures.
        random_state : int, RandomState, Generator or None, default=None
        do, exogenous : dict or data frame, optional
            As in `forecast`.

        Returns
        -------
        futures : pandas.DataFrame
            A row for each future and step, and for each series if there are several, by its index.

        Raises
        ------
        ValueError, TypeError
            As `forecast`.
        """
        n, steps = as_integer(n_samples, "n_samples", least=1), as_integer(steps, "steps", least=1)
        rng = random_generator(random_state)
        networks, _ = networks_of(network, min(n, _MOST_DRAWN), rng)
        processes, past, held = self._future(networks, steps, do, exogenous)
        noise = rng.standard_normal((len(past), n, *held.shape[1:]))
        futures = np.empty_like(noise)
        # A random order, since there may be fewer futures than networks.
        of_future = rng.permutation(len(processes))[np.arange(n) % len(processes)]
        for number in np.unique(of_future):
            some = np.flatnonzero(of_future == number)
            whole = past.repeat(len(some), axis=0), held.repeat(len(some), axis=0)
            paths = processes[number].paths(*whole, noise[:, some].reshape(-1, *held.shape[1:]))
            futures[:, some] = paths.reshape(len(past), len(some), *held.shape[1:])
        own = processes[0].modelled
        outer = {} if self.groups is None else {"series": self.last_groups}
        columns = [processes[0].columns[v] for v in own]
        shaped = futures[..., own].reshape(*map(len, outer.values()), n, steps, len(own))
        outer |= {"sample": [*range(n)]}
        return forecasts.by_step(shaped, columns, outer, self._labels(steps))

    def impulse_responses(
        self,
        network: Any,
        steps: int = 10,
        *,
        shock: Literal["unit", "deviation"] = "unit",
        n_samples: int = 1000,
        random_state: Any = None,
    ) -> forecasts.ImpulseResponses:
        """Return how the columns respond, step by step, if the noise of one is raised once.

        Parameters
        ----------
        network : GaussianBayesianNetwork, or another source of networks as in `forecast`
            The responses of several networks have intervals. Where a list of classes or a bootstrap
            leaves directions open, each network is a random one of its class.
        steps : int, default=10
            How many steps after the shock.
        shock : {"unit", "deviation"}, default="unit"
            By how much it is raised: by one unit of the column, or by a standard deviation of its
            noise, in each network: orthogonalised responses in the network's order of the columns.
        n_samples : int, default=1000
            How many networks are drawn from a posterior or near-optimal networks.
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        responses : ImpulseResponses
            ``responses[cause, effect]`` has `steps` + 1 responses.

        Raises
        ------
        ValueError, TypeError
            As `forecast`; if networks do not model the same columns.

        Notes
        -----
        Sims (1980), "Macroeconomics and reality"; by the order of a graph, Swanson & Granger
        (1997), "Impulse response functions based on a causal approach to residual
        orthogonalization in vector autoregressions".

        Examples
        --------
        >>> import networkx as nx
        >>> import pandas as pd
        >>> from skbn import GaussianBayesianNetwork, lagged
        >>> series = lagged(pd.DataFrame({"a": [8.0, 4, 2, 1], "b": [1.0, 0, 1, 1]}))
        >>> edges = [("a.L1", "a", {"weight": 0.5}), ("a", "b", {"weight": 2.0})]
        >>> dag = nx.DiGraph(edges)
        >>> nx.set_node_attributes(dag, 0.0, "intercept")
        >>> nx.set_node_attributes(dag, 1.0, "noise_variance")
        >>> series.impulse_responses(GaussianBayesianNetwork(dag), 3)["a", "b"].tolist()
        [2.0, 1.0, 0.5, 0.25]
        """
        check_values("impulse_responses", _ALLOWED, {"shock": shock})
        steps = as_integer(steps, "steps", least=0)
        networks, _ = networks_of(network, n_samples, random_generator(random_state))
        found, processes = [], self._dynamics(networks)
        own = processes[0].modelled
        for each in processes:
            shocks = each.deviation if shock == "deviation" else np.ones(len(each.columns))
            found.append(each.responses(steps, shocks)[:, own][..., own])
        columns = [processes[0].columns[v] for v in own]
        return forecasts.ImpulseResponses(columns, np.array(found))

    def _dynamics(self, networks: list[Any]) -> list[Dynamics]:
        """Return networks as processes in time, with the columns in the order of the first."""
        copies = [_of_lag(self.columns, lag) for lag in range(1, self.n_lags + 1)]
        found: list[Dynamics] = []
        for network in networks:
            if not isinstance(network, GaussianBayesianNetwork):
                raise TypeError(
                    "network must be a GaussianBayesianNetwork, or a fitted estimator of networks, "
                    "such as GaussianBNLearner or GaussianBNPosterior; got "
                    f"{type(network).__name__}."
                )
            found.append(dynamics_of(network, self.columns, copies, *found[:1]))
        return found

    def _future(
        self, networks: list[Any], steps: int, do: Any, exogenous: Any
    ) -> tuple[list[Dynamics], Floats, Floats]:
        """Return networks as processes, their past, and what is given of their future."""
        processes, table = self._dynamics(networks), self.next_row()
        first = processes[0]
        acts = np.any([each.weights != 0 for each in processes], axis=0).any(axis=2)
        past = np.zeros((len(table), self.n_lags, len(first.columns)))
        for lag in range(1, self.n_lags + 1):
            for column, copy in zip(self.columns, _of_lag(self.columns, lag), strict=True):
                v = first.columns.index(column) if column in first.columns else None
                # A value that is k steps old at first is k + 1 steps old at the second step.
                if v is None or not acts[lag : lag + steps, v].any():
                    continue
                place = copy if isinstance(copy, str) else copy - len(self.columns)
                values = lags.column_values(table, place)
                if values is None or not np.isfinite(values).all():
                    raise ValueError(
                        f"Column {column!r} has no finite number {lag} steps before the first step "
                        "to forecast, in some series. Fill the last rows of X, for example by "
                        "GaussianBNImputer, or leave them out."
                    )
                past[:, lag - 1, v] = values
        held = held_values(first, networks[0], steps, self.last_groups, do, exogenous)
        return processes, past, held

    def _labels(self, n: int) -> Any:
        """Return what the next steps are called."""
        index = row_labels(self.table)
        if self.groups is not None or not hasattr(self.last, "iloc"):
            index = None
        return lags.labels_after(index, None if index is None else self.last.index[0], n)


def lagged(
    X: Any,
    n_lags: int = 1,
    groups: Any = None,
    *,
    times: Any = None,
    gaps: Literal["break", "join"] | None = None,
) -> LaggedTable:
    """Put lagged copies of its columns beside the columns of a time series.

    In a network of the table, edges from the copies are effects of earlier values, and edges
    between the columns of X are effects within a step of time.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        Rows in order of time, the earliest first, at equal intervals, in memory; `times`, or else a
        pandas index of times or numbers, is compared with that. Columns may hold categories, and
        values may be missing. The names of a data frame's columns are strings.
    n_lags : int, default=1
        How many steps back the copies go, at least 1.
    groups : array-like of shape (n_samples,), data frame, pandas.MultiIndex, str or list of str, \
optional
        The series that each row belongs to, if X has several, such as patients or countries; or
        the names of the columns or levels of a pandas index that say so, which are not lagged. Of
        several, such as patient and day, each combination is a series. No lag goes from one series
        to another. The rows of a series need not be adjacent. The values of a pandas Series go to
        the rows of the same labels.
    times : str or array-like of shape (n_samples,), optional
        The times of the rows, in place of an index: dates, numbers, or texts that are dates in one
        way only; or the name of a column or level, which is not lagged. They are read by pandas,
        and become the index of its tables.
    gaps : {"break", "join"}, optional
        What to do if there are gaps between the times, which is an error by default.
        "break": no lag goes across a gap, as if a new series began after it. "join": each row is
        one step after the row before it, whatever their labels. A step is the longest that divides
        all intervals within series. Months, quarters, years, working days and the days of a time
        zone have no gaps.

    Returns
    -------
    series : LaggedTable
        With the new `table`.

    Raises
    ------
    ValueError
        If no series has more than `n_lags` rows; if columns have the same name, or one has that of
        a lagged copy; if there is not one value of `groups` for each row, or no such column or
        level, or both; if the times of a series do not increase, have gaps without `gaps`, or are
        texts whose day and month may be either; if several levels of the index vary within a
        series; if a column holds times.
    TypeError
        If X is not a table in memory, or the names of its columns are not strings.
    ImportError
        If there are `times`, and pandas is not installed.

    Warns
    -----
    skbn.exceptions.NonstationaryWarning
        If columns look like random walks or trends.

    See Also
    --------
    GaussianBNLearner : Takes `exogenous` columns, and `forbidden_edges`.
    BootstrapBNLearner : Draws blocks of rows by `block_length`.

    Notes
    -----
    A linear Gaussian network of the table, with the copies exogenous, is a structural vector
    autoregression (Swanson & Granger 1997, "Impulse response functions based on a causal approach
    to residual orthogonalization in vector autoregressions") with an acyclic graph within a step,
    and a dynamic Bayesian network (Dean & Kanazawa 1989, "A model for reasoning about persistence
    and causation").

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

    One series without its second row: a lag of row 2 would be two steps long.

    >>> lagged(X.drop(index=1), gaps="break").table.index.tolist()
    [3, 4]
    """
    if isinstance(n_lags, bool | np.bool_):
        raise ValueError(f"The 'n_lags' parameter of lagged must be an int; got {n_lags}.")
    check_values("lagged", _ALLOWED, {"n_lags": n_lags, "gaps": gaps})
    n_lags = int(n_lags)
    if is_dask(X):
        raise TypeError(
            f"X is a dask {type(X).__name__}, whose rows are not in memory. Pass X.compute(), or a "
            "table that has its lagged columns already."
        )
    labels = None if isinstance(X, TableMixin) else frame_labels(X)
    if labels is not None:
        labels = _checked_names(labels, X)
    named, whose, moments = names_in(groups, X), groups, times
    if labels is not None:
        X, whose = without_named(X, labels, groups, "groups")
        X, moments = without_named(X, frame_labels(X) or [], times, "times")
        labels = _checked_names(frame_labels(X) or [], X)
        _refuse_times(X, labels)
    values: Any = array_of(X) if labels is None else X
    columns: Any = list(range(values.shape[1])) if labels is None else labels
    n_rows, index = len(values), row_labels(X)
    numbers, series = np.zeros(n_rows, np.int64), list[Any]([None])
    if groups is not None:
        numbers, series = read_row_groups(whose, index, n_rows, "groups")
    if times is not None:
        index = _read_times(moments, index, n_rows)
        values = values.set_axis(index) if hasattr(values, "iloc") else values
    elif index is not None:
        index = None if index.name in named else _times_in(index, groups, numbers)
    parts = _unbroken(index, numbers, gaps, times)
    if (longest := np.bincount(parts, minlength=1).max()) <= n_lags:
        raise ValueError(
            f"n_lags={n_lags} takes more than {n_lags} rows of one series without a gap, and the "
            f"longest series has {longest}. Give longer series, or a smaller n_lags."
        )
    rows = lags.rows_of_lags(parts, n_lags)
    kept = {*numbers[rows[0]].tolist()}
    short = [name for number, name in enumerate(series) if number not in kept]
    of_rows = None if groups is None else [series[number] for number in numbers[rows[0]]]
    before_next = lags.rows_before_the_next(numbers, parts, n_lags)
    going_on = [series[number] for number in numbers[before_next[0]]]
    by_lag = None if labels is None else [_of_lag(columns, lag) for lag in range(n_lags + 1)]
    if by_lag is not None:
        _check_new_names(by_lag)
    _warn_of_unit_roots(values, columns, numbers, parts)
    table = lags.beside_lags(values, rows, by_lag)
    last = lags.beside_lags(values, before_next, None if by_lag is None else by_lag[1:])
    last_groups = [None] if of_rows is None else going_on
    counts = n_lags, rows[0], n_rows - rows.shape[1], short
    return LaggedTable(table, columns, *counts, of_rows, last, last_groups)


def _of_lag(columns: list[Any], lag: int) -> list[Any]:
    """Return the columns of a lagged table that are some steps back."""
    if isinstance(columns[0], str):
        return [f"{column}.L{lag}" if lag else column for column in columns]
    return [lag * len(columns) + column for column in columns]


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


def _read_times(given: Any, labels: Any, n_rows: int) -> Any:
    """Return the times of the rows as an index of pandas."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("times are read by pandas. Install it: pip install pandas.") from None
    if isinstance(given, str):
        raise TypeError(f"times={given!r} is a name, and X has none. Pass the times themselves.")
    is_index = isinstance(given, pd.Index)
    values = given if is_index else in_order_of_rows(given, labels, n_rows, "times")
    for to_list in ("to_pylist", "to_list"):  # of pyarrow and polars: they keep time zones
        if not isinstance(values, pd.Series | pd.Index) and hasattr(values, to_list):
            values = getattr(values, to_list)()
    index = pd.Index(values)
    if index.nlevels > 1 or len(index) != n_rows:
        raise ValueError(f"times must have one value for each of the {n_rows} rows of X.")
    known = index[~index.isna()]
    read = lags.as_times(known) if len(known) else None
    if read is None and not (len(known) and lags.may_be_dates(known)):
        raise ValueError(
            f"times must be dates or numbers; got {index[0]!r}. Convert them, as by "
            "pandas.to_datetime, or leave times out."
        )
    return index if read is None or len(known) < n_rows else read.rename(index.name)


def _refuse_times(values: Any, labels: list[str]) -> None:
    """Raise if a column of a frame holds dates, of which no lag makes sense."""
    for label in labels:
        if lags.are_dates(values[label]):
            raise ValueError(
                f"Column {label!r} holds dates. If they are the times of the rows, pass "
                f"times={label!r}, so that gaps are seen. Otherwise leave the column out of X."
            )


def _times_in(index: Any, groups: Any, numbers: Integers) -> Any:
    """Return the level of an index that varies within series, or raise if there are several."""
    if index.nlevels == 1:
        return index
    varying = list(range(index.nlevels))
    if groups is not None:
        n_series = len(np.unique(numbers))
        pairs = [np.column_stack([numbers, codes]) for codes in index.codes]
        varying = [j for j in varying if len(np.unique(pairs[j], axis=0)) > n_series]
        if len(varying) < 2:
            return index.get_level_values(varying[0]) if varying else None
    times = [j for j in varying if hasattr(lags.as_times(index.get_level_values(j)), "asi8")]
    time = index.names[times[0] if len(times) == 1 else varying[-1]]
    raise ValueError(
        f"Several levels of X's index vary within a series, {[index.names[j] for j in varying]}, "
        "so that lags would go from one series to another. Name in groups all levels but the one "
        f"that is time, {time!r} perhaps; for levels without a name, pass X.index.droplevel of it. "
        "If X is one series in order of time, call X.reset_index(drop=True) first."
    )


def _times_of(index: Any, gaps: Any, source: str) -> Any:
    """Return the rows' times as times or numbers; None if they are neither."""
    is_hole = np.zeros(0, dtype=bool) if index is None else np.asarray(index.isna())
    known = None if is_hole.all() else index[~is_hole]
    times = None if known is None else lags.as_times(known)
    if times is None and known is not None and lags.may_be_dates(known):
        raise ValueError(
            f"{source} has texts that may be dates, such as {known[0]!r}, and cannot be read in "
            "one way only: day and month may be either, or forms differ. Convert them, for example "
            "by pandas.to_datetime(..., dayfirst=True)."
        )
    if times is None and gaps == "break":
        raise ValueError(
            'gaps="break" takes times or numbers, which tell where the gaps are: name their '
            "column, by times=..., or have them in the index of a pandas data frame, for "
            "texts by X.index = pandas.to_datetime(X.index). Or leave gaps out."
        )
    if times is not None and (is_hole.any() or times.hasnans):
        row = int(np.argmax(is_hole if is_hole.any() else times.isna()))
        raise ValueError(f"Row {row} of X has no time: its label is {index[row]}. Leave it out.")
    return times


def _unbroken(index: Any, numbers: Integers, gaps: Any, given: Any) -> Integers:
    """Return the number of the series of each row, which ends at gaps if these break it."""
    source = f"Column {given!r}" if isinstance(given, str) else "The array times"
    times = _times_of(index, gaps, "The index of X" if given is None else source)
    if times is None:
        return numbers
    if given is None:
        source, is_count = "The index of X", times.dtype.kind in "iuf"
        if is_count and times[0] < times[-1] and len(np.unique(np.diff(times))) == 1:
            return numbers  # the labels count rows, whatever their series
    order = np.argsort(numbers, kind="stable")
    times, same = times[order], np.diff(numbers[order]) == 0
    later = np.asarray(times[1:] > times[:-1]) | ~same
    apart = later if gaps == "join" or not later.all() else lags.one_step_apart(times, same) | ~same
    if apart.all():
        return numbers
    if later.all() and gaps == "break":
        parts = np.empty_like(numbers)
        parts[order] = np.cumsum([0, *~(apart & same)])
        return parts
    row = int(np.argmin(apart))
    after, before = order[row + 1], order[row]
    where = f"row {after}, {index[after]}, follows row {before}, {index[before]}"
    if later.all():
        raise ValueError(
            f"{source} has gaps: {where}, and other rows are closer. If rows are missing, pass "
            'gaps="break", and no lag goes across a gap. If neighbours are one step apart '
            'whatever their labels, as from one trading day to the next, pass gaps="join". '
            "If they are no times, call X.reset_index(drop=True)."
        )
    if times[row + 1] == times[row]:
        raise ValueError(
            f"Two rows have the same time: {where}. Leave one out, or say by groups which series "
            "each row is of."
        )
    raise ValueError(
        f"{source} says that the rows of X are not in order of time: {where}. Sort them, and "
        "groups or times beside X alike, by X.sort_index() for example, texts of dates once "
        "pandas.to_datetime has read them; or say by groups which series each row is of."
    )


def _warn_of_unit_roots(
    values: Any, columns: list[Any], numbers: Integers, parts: Integers
) -> None:
    """Warn of the columns that look like random walks."""
    series = numbers, parts
    found = [c for c in columns if lags.has_unit_root(lags.column_values(values, c), *series)]
    if not found:
        return
    warn(
        f"Columns look like random walks or trends, {readable_value(found)}: a Dickey-Fuller test "
        "does not reject a unit root. If they wander independently, edges among them may be false: "
        "replace them by their changes within each series, as diff() of pandas and polars takes "
        "them. If they wander together (cointegration, which statsmodels.tsa.stattools.coint "
        "tests), keep X as it is.",
        NonstationaryWarning,
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

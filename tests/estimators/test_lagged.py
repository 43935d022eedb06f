"""Tables with lagged copies: against a slow loop, in every container, and what is refused."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import reference
from agreement import raises
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.tsa import stattools

import skbn
from skbn import BootstrapBNLearner, GaussianBNLearner, compare_groups, lagged
from skbn._data.lags import _CRITICAL, as_times, dickey_fuller
from skbn.exceptions import NonstationaryWarning


@pytest.fixture
def panel():
    """Two interleaved series, of labelled rows; the third has one row only."""
    return pd.DataFrame(
        {
            "dose": [1, 2, 3, 4, 5, 6],
            "size": pd.Categorical(["s", "m", "s", "l", "l", "m"]),
            "temperature": [0.5, np.nan, 1.5, 2.5, 3.5, 4.5],
            "series": ["a", "b", "a", "c", "b", "b"],
        },
        index=[10, 10, 12, 10, 12, 14],
    )


# Against a slow loop


@given(st.data())
def test_it_equals_a_slow_loop(data):
    n, m = data.draw(st.integers(1, 14)), data.draw(st.integers(1, 3))
    n_lags = data.draw(st.integers(1, 4))
    groups = data.draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n))
    rows = np.arange(n * m).reshape(n, m)
    expected, numbers = reference.lagged_rows(rows, n_lags, groups)
    if not expected:
        raises(f"takes more than {n_lags} rows", lagged, rows, n_lags, groups)
        return
    series = lagged(rows, n_lags, groups)
    np.testing.assert_array_equal(series.table, expected)
    assert series.table.dtype == rows.dtype
    assert series.rows.tolist() == numbers
    assert series.n_dropped == n - len(numbers)
    short = {group for group in groups if groups.count(group) <= n_lags}
    assert sorted(series.dropped_groups) == sorted(short)
    frame = pd.DataFrame(rows, columns=[f"x{j}" for j in range(m)])
    np.testing.assert_array_equal(lagged(frame, n_lags, groups).table, expected)


def test_one_series():
    series = lagged(np.arange(8.0).reshape(4, 2), 2)
    np.testing.assert_array_equal(series.table, [[4, 5, 2, 3, 0, 1], [6, 7, 4, 5, 2, 3]])
    assert (series.columns, series.n_lags, series.n_dropped) == ([0, 1], 2, 2)
    assert series.exogenous == [2, 3, 4, 5]
    assert series.contemporaneous == [(0, 1), (1, 0)]
    assert repr(series) == "<LaggedTable of 2 columns and 2 lags: 2 rows, without the first 2>"


# Containers


def test_a_pandas_frame_keeps_its_index_and_types(panel):
    X = panel.drop(columns="series")
    series = lagged(X, groups=panel["series"].tolist())
    assert series.exogenous == ["dose.L1", "size.L1", "temperature.L1"]
    assert list(series.table) == [*X, *series.exogenous]
    assert series.table.index.tolist() == [12, 12, 14]  # although 10 comes twice
    assert series.table["dose.L1"].tolist() == [1, 2, 5]
    assert series.table["size.L1"].tolist() == ["s", "m", "l"]
    np.testing.assert_array_equal(series.table["temperature.L1"], [0.5, np.nan, 3.5])
    assert series.table.dtypes.tolist() == [*X.dtypes] * 2
    assert series.dropped_groups == ["c"]
    assert repr(series) == (
        "<LaggedTable of 3 columns and 1 lag: 3 rows, without the first of each series, 3 in all, "
        "and without the series ['c']>"
    )


@pytest.mark.parametrize("container", [pl.DataFrame, pa.table], ids=["polars", "pyarrow"])
def test_other_frames_are_of_their_own_kind(panel, container):
    X = panel[["dose", "temperature"]].reset_index(drop=True)
    expected = lagged(X, 2, panel["series"].to_numpy()).table
    found = lagged(container(dict(X.items())), 2, pl.Series(panel["series"].tolist())).table
    assert type(found) is type(container({}))
    pd.testing.assert_frame_equal(found.to_pandas(), expected.reset_index(drop=True))


def test_polars_keeps_categories():
    X = pl.DataFrame({"size": ["s", "m", "s"]}, schema={"size": pl.Categorical})
    table = lagged(X).table
    assert table.schema["size.L1"] == pl.Categorical
    assert table["size.L1"].to_list() == ["s", "m"]


def test_groups_of_a_series_go_to_the_rows_of_their_labels(panel):
    X = panel[["dose", "series"]].set_axis(list("uvwxyz"))
    X, groups = X[["dose"]], X["series"]
    series = lagged(X, groups=groups[::-1])
    pd.testing.assert_frame_equal(series.table, lagged(X, groups=groups.tolist()).table)
    raises("groups has no value for the row of X labelled 'z'", lagged, X, groups=groups.iloc[:5])


def test_lists_masked_arrays_and_labels_of_several_kinds_are_read():
    np.testing.assert_array_equal(lagged([[1], [2], [3]]).table, [[2, 1], [3, 2]])
    masked = np.ma.masked_equal([[1.0], [2.0], [3.0]], 2.0)
    np.testing.assert_array_equal(lagged(masked).table, [[np.nan, 1], [3, np.nan]])
    assert lagged(np.arange(4.0)[:, None], groups=[1, "1", 1, "1"]).rows.tolist() == [2, 3]


# What is refused


TIMES = [
    pd.date_range("2020", periods=5, freq="D", tz="CET"),
    pd.period_range("2020", periods=5, freq="Q"),
    pd.timedelta_range("1h", periods=5, freq="h"),
]


@pytest.mark.parametrize("times", TIMES, ids=lambda times: type(times).__name__)
def test_an_index_of_times_must_increase(times):
    X = pd.DataFrame({"a": np.arange(5.0), "b": 1.0}, index=times)
    assert len(lagged(X).rows) == 4
    swapped = X.iloc[[0, 2, 1, 3, 4]]
    raises(r"row 2, .*, follows row 1, .*sort_index", lagged, swapped)
    assert len(lagged(swapped.sort_index()).rows) == 4
    twice = pd.concat([X, X])
    raises(r"row 5, .*, follows row 4, .* say by groups", lagged, twice)
    groups = np.repeat(["x", "y"], 5)
    assert len(lagged(twice, groups=groups).rows) == 8
    turned = twice.iloc[[*range(8), 9, 8]]
    raises(r"row 9, .*, follows row 8, .* Sort them", lagged, turned, groups=groups)


MONTHS = pd.date_range("2020-01-31", periods=9, freq="ME")
OFFSETS = [*pd.date_range("2020-03-26", periods=8, tz="CET").astype(str)]  # of two kinds
SEVERAL = pd.MultiIndex.from_product([["u", "v"], pd.date_range("2020", periods=4)])


@pytest.mark.parametrize(
    "index",
    [
        MONTHS,
        pd.date_range("2020", periods=9, freq="MS"),
        pd.date_range("2020", periods=9, freq="BQE"),
        pd.date_range("2020", periods=9, freq="BMS"),
        pd.date_range("2020", periods=9, freq="YE"),
        pd.bdate_range("2020", periods=9),
        pd.date_range("2020-03-26", periods=9, tz="CET"),
        pd.date_range("2020-03-28 20:00", periods=9, freq="h", tz="CET"),
        pd.period_range("2020", periods=9, freq="W"),
        pd.Index(MONTHS.date),
        *(pd.Index(MONTHS.strftime(f)) for f in ("%Y-%m-%d", "%m/%d/%Y", "%d.%m.%Y", "%YM%m")),
        *(pd.Index(MONTHS.strftime(f).astype(int)) for f in ("%Y%m", "%Y%m%d")),
        pd.Index([str(year) for year in range(1990, 2008, 2)]),
        pd.Index([f"{2020 + i // 4}Q{i % 4 + 1}" for i in range(9)]),
        pd.Index(MONTHS).astype("timestamp[ns][pyarrow]"),
        pd.CategoricalIndex(MONTHS),
        pd.timedelta_range("1h", periods=9, freq="h"),
        pd.RangeIndex(9),
        pd.Index(range(1990, 2008, 2), dtype="Int64"),
        pd.Index(np.arange(9) * 0.1),
    ],
    ids=lambda index: f"{type(index).__name__}-{index.dtype}",
)
def test_each_kind_of_index_tells_order_and_gaps(index):
    X = pd.DataFrame({"a": np.arange(9.0)}, index=index)
    assert len(lagged(X, 2).rows) == 7
    raises("not in order of time: row 1", lagged, X[::-1])
    raises("Two rows have the same time", lagged, X.iloc[[0, 1, 1, 2]])
    holed = X.drop(index=index[4])
    raises(r"gaps: row 4, .*, follows row 3, .* gaps=\"join\"", lagged, holed)
    assert lagged(holed, 2, gaps="break").rows.tolist() == [2, 3, 6, 7]
    assert lagged(holed, 2, gaps="join").rows.tolist() == [2, 3, 4, 5, 6, 7]


FORMS = [
    *("%Y-%m-%d %H:%M", "%d/%m/%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%Y/%m/%d %H:%M"),
    *("%m/%d/%Y %I:%M %p", "%d-%m-%Y %H:%M", "%Y-%m-%dT%H:%M:%SZ", "%d-%b-%Y %H:%M"),
    *("%b %d, %Y %H:%M", "%A %d %B %Y %H:%M", "%Y%m%dT%H%M%S", "%d.%m.%Y, %H:%M:%S.%f"),
]


@pytest.mark.parametrize("form", FORMS)
def test_texts_of_dates_are_read(form):
    moments = pd.date_range("2024-01-25 01:00", periods=40, freq="6h")
    read = as_times(pd.Index(moments.strftime(form))).tz_localize(None)
    assert (read == moments).all()
    X = pd.DataFrame({"a": np.arange(40.0)}, index=moments.strftime(form))
    raises("not in order of time", lagged, X[::-1])
    raises("has gaps", lagged, X.drop(index=X.index[5:8]))


@pytest.mark.parametrize(
    ("texts", "first"),
    [
        ("05-Mar-2024, 06-Mar-2024", "2024-03-05"),
        ("05-MAR-24, 06-MAR-24", "2024-03-05"),
        ("13.1.2024, 14.1.2024", "2024-01-13"),
        ("1/13/2024, 1/14/2024", "2024-01-13"),
        ("Jan-2024, Feb-2024", "2024-01-01"),
        ("Q2 2024, Q3 2024", "2024Q2"),
        ("2024-q2, 2024-q3", "2024Q2"),
    ],
)
def test_other_forms_of_dates(texts, first):
    assert str(as_times(pd.Index(texts.split(", ")))[0]).startswith(first)


UNREAD = [
    *("01/02/2024, 02/02/2024", "24-01-05, 24-01-06", "2024-01-25, 26/01/2024"),
    *("5 Mär 2024, 6 Mär 2024", "13:00, 14:00", "2024-W05, 2024-W06"),
]


@pytest.mark.parametrize("texts", UNREAD)
def test_dates_that_are_not_read_are_refused(texts):
    X = pd.DataFrame({"a": [1.0, 2.0]}, index=texts.split(", "))
    raises("may be dates, such as .*, and cannot be read", lagged, X)
    raises("Column 't' has texts that may be dates", lagged, X.assign(t=X.index), times="t")


@pytest.mark.parametrize("texts", ["north, south", "A1, A2", "may, june", "1.2.3, x"])
def test_other_texts_are_no_times(texts):
    assert len(lagged(pd.DataFrame({"a": [1.0, 2.0]}, index=texts.split(", "))).rows) == 1


def days_with_gaps():
    days = pd.date_range("2022-01-10", periods=30, tz="Europe/Berlin")
    X = pd.DataFrame({"day": days, "a": np.arange(30.0), "b": 1.0})
    return X.drop(index=[3, 4, 11]).reset_index(drop=True)


def test_times_in_a_column():
    X = days_with_gaps()
    expected = lagged(X.set_index("day"), 2, gaps="break")
    found = lagged(X, 2, times="day", gaps="break")
    pd.testing.assert_frame_equal(found.table, expected.table)
    texts = X["day"].dt.strftime("%d.%m.%Y")
    naive = X.assign(day=X["day"].dt.tz_localize(None))
    for same in (
        X.assign(day=texts),
        X.assign(day=naive["day"].dt.date),
        X.assign(day=naive["day"].dt.to_period("D")),
        X.assign(day=(X["day"] - X["day"].min()).dt.days),
        pl.from_pandas(X),
        pl.from_pandas(naive).with_columns(pl.col("day").cast(pl.Date)),
        pa.Table.from_pandas(naive),
    ):
        series = lagged(same, 2, times="day", gaps="break")
        assert series.columns == ["a", "b"]
        assert series.rows.tolist() == expected.rows.tolist()
        raises("Column 'day' has gaps", lagged, same, times="day")
    values, rows = X[["a", "b"]], expected.rows.tolist()
    for times in (X["day"], X["day"].tolist(), texts.tolist(), naive["day"].to_numpy()):
        for table in (values, values.to_numpy()):
            assert lagged(table, 2, times=times, gaps="break").rows.tolist() == rows
    assert lagged(values, 2, times=X["day"][::-1], gaps="break").rows.tolist() == rows


def test_a_column_of_dates_needs_to_be_named():
    X = days_with_gaps()
    for same in (X, X.assign(day=X["day"].dt.strftime("%d/%m/%Y")), pl.from_pandas(X)):
        raises(r"Column 'day' holds dates.*pass times='day'", lagged, same)
        advice = r"skbn\.lagged\(X, times='day'\)\.table"
        raises(advice, GaussianBNLearner().fit, same, kind=(ValueError, TypeError))


def test_times_that_are_refused():
    X = days_with_gaps()
    raises("times='when' is neither a column", lagged, X, times="when")
    raises("times='day' is a name", lagged, X["a"].to_numpy()[:, None], kind=TypeError, times="day")
    raises("one value for each of the 27 rows", lagged, X[["a"]], times=[1, 2])
    raises("must be dates or numbers; got 'x'", lagged, X[["a"]], times=["x"] * 27)
    late = X.assign(day=X["day"].where(X["a"] != 7))
    raises("has no time", lagged, late, times="day")


# Groups by several columns or levels


@pytest.fixture
def diary():
    index = pd.MultiIndex.from_product([["p", "q"], [1, 2], range(5)], names=["id", "day", "beep"])
    return pd.DataFrame({"mood": np.arange(20.0), "sleep": np.arange(20.0) ** 2}, index=index)


def test_groups_of_several_columns_or_levels(diary):
    flat, inner = diary.reset_index(), diary.index.droplevel("beep")
    labels = [*zip(flat["id"], flat["day"], strict=True)]
    expected = lagged(diary.to_numpy(), groups=labels)
    assert expected.last_groups == [("p", 1), ("p", 2), ("q", 1), ("q", 2)]
    plain = flat.drop(columns="beep")
    for X, groups in (
        (diary, inner),
        (diary, ["id", "day"]),
        (plain, ["id", "day"]),
        (plain, ("id", "day")),
        (plain.set_index("id"), ["id", "day"]),
        (pl.from_pandas(plain), ["id", "day"]),
        (plain[["mood", "sleep"]], plain[["id", "day"]][::-1]),
        (plain[["mood", "sleep"]], pl.from_pandas(plain[["id", "day"]])),
        (diary.to_numpy(), plain[["id", "day"]].to_numpy()),
    ):
        found = lagged(X, groups=groups)
        assert found.groups == expected.groups
        np.testing.assert_array_equal(found.table, expected.table)
    raises(r"\['id', 'day', 'beep'\].*that is time, 'beep' perhaps", lagged, diary)
    holes = plain[["id", "day"]].assign(day=[np.nan] + [1.0] * 19)
    raises("missing value for row 0", lagged, plain[["mood"]], groups=holes)
    raises(r"If these are columns, pass their values", lagged, plain, groups=["id", "dy"])


@pytest.mark.filterwarnings("ignore::skbn.exceptions.DependentRowsWarning")
def test_other_groups_of_several_columns(diary):
    X = diary + np.random.default_rng(0).normal(size=(20, 2))
    X.index = diary.index
    inner = X.index.droplevel("beep")
    bootstrap = BootstrapBNLearner(n_resamples=3, random_state=0)
    expected = bootstrap.fit(X, groups=inner).strength_
    for groups in ([*map(tuple, inner)], inner.to_frame(index=False).to_numpy()):
        np.testing.assert_array_equal(bootstrap.fit(X, groups=groups).strength_, expected)
    assert "('p', 2) (5 rows), ('q', 1) (5 rows)" in repr(compare_groups(X, inner))
    flat = X.reset_index().drop(columns="beep")
    assert repr(compare_groups(flat, ["id", "day"])) == repr(compare_groups(X, inner))


@given(st.data())
def test_lags_end_at_gaps_as_in_a_dictionary_of_times(data):
    n_lags = data.draw(st.integers(1, 3))
    places = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), min_size=1, unique=True)
    rows = sorted(data.draw(places), key=lambda row: row[::-1])
    days = pd.to_datetime("2020-02-27") + pd.to_timedelta([day for _, day in rows], "D")
    index = pd.MultiIndex.from_arrays([[name for name, _ in rows], days], names=["id", "day"])
    X = pd.DataFrame({"x": np.arange(len(rows))}, index=index)
    number = {row: i for i, row in enumerate(rows)}
    steps = {b[1] - a[1] for a in rows for b in rows if a[0] == b[0] and a < b}
    step = np.gcd.reduce([*steps]) if steps else 1
    expected = []
    for name, day in rows:
        whole = [(name, day - lag * step) for lag in range(n_lags + 1)]
        if all(row in number for row in whole):
            expected.append([number[row] for row in whole])
    if (days.day_of_week < 5).all():
        return  # these may be working days
    if not expected:
        # No level of the index varies within series of one row each: none of them is time.
        words = f"n_lags={n_lags} takes more" if steps else "takes more|takes times or numbers"
        raises(words, lagged, X, n_lags, groups="id", gaps="break")
        return
    table = lagged(X, n_lags, groups="id", gaps="break").table
    assert table.to_numpy().tolist() == expected
    other = lagged(X.reset_index("id"), n_lags, groups="id", gaps="break").table
    assert other.to_numpy().tolist() == expected


def in_the_index(columns):
    return pd.DataFrame(columns).set_index("id")


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame, pa.table, in_the_index])
def test_groups_may_be_a_column(container):
    series = lagged(container({"id": [*"abab"], "x": [1, 2, 3, 4]}), groups="id")
    assert (series.columns, series.rows.tolist()) == (["x"], [2, 3])


def rows_indexed(index):
    return pd.DataFrame({"x": range(8)}, index=index)


SIX, EIGHT = np.zeros((6, 2)), rows_indexed(None)
SCORES = skbn.LocalScoreTransformer().fit_transform(np.random.default_rng(0).normal(size=(9, 2)))
NO_LAGS = "'n_lags' parameter of lagged must be an int"


@pytest.mark.parametrize(
    ("X", "options", "kind", "words"),
    [
        *((SIX, {"n_lags": n}, ValueError, NO_LAGS) for n in (0, -1, 1.5, "2", None, True)),
        (EIGHT, {"gaps": "skip"}, ValueError, "'gaps' parameter of lagged must be a str among"),
        # Groups
        (SIX, {"groups": "series"}, TypeError, r"got 'series'. If this is a col.*X\['series'\]"),
        (SIX, {"groups": {0: "a"}}, TypeError, r"groups is a dict. Pass pandas.Series\(groups\)"),
        (SIX, {"groups": ["a"] * 5}, ValueError, r"each of the 6 rows of X; got .* shape \(5,\)"),
        (SIX, {"groups": np.zeros((6, 1))}, ValueError, r"shape \(6, 1\)"),
        (SIX, {"groups": [*"aabb", np.nan, "b"]}, ValueError, "missing value for row 4"),
        (SIX, {"groups": pd.array([1, None, 1, 1, 1, 1])}, ValueError, "missing value for row 1"),
        (SIX, {"groups": np.array(["NaT"] * 6, "M8[ns]")}, ValueError, "missing value for row 0"),
        (SIX, {"groups": [pd.NaT] * 6}, ValueError, "groups has a missing value for row 0"),
        (SIX, {"groups": [["a"]] * 6}, TypeError, r"hashable values; got \['a'\] for row 0"),
        (SIX, {"groups": np.ma.masked_equal([1, 1, 1, 2, 2, 2], 2)}, TypeError, "masked array"),
        (SIX, {"groups": range(6)}, ValueError, "the longest series has 1"),
        # Tables
        (pd.DataFrame({"x.L1": range(5), "x": range(5)}), {}, ValueError, "Lag 1 of column 'x'"),
        (pd.DataFrame(SIX, columns=["x", "x"]), {}, ValueError, "given more than once"),
        (pd.DataFrame(SIX, columns=[0, "x"]), {}, TypeError, "must be strings"),
        (pd.DataFrame(SIX), {}, TypeError, r"lag is added; got 0.*by X.columns = \[str\("),
        (pd.Series(range(5)), {}, ValueError, "two dimensions"),
        (np.zeros(5), {}, ValueError, "two dimensions"),
        (SCORES, {}, TypeError, "LocalScores have no rows"),
        # What an index leaves open
        (rows_indexed([*"abcdefgh"]), {"gaps": "break"}, ValueError, "takes times or numbers"),
        (rows_indexed([-np.inf, *range(1, 8)]), {}, ValueError, "Row 0 of X has no time"),
        (rows_indexed(OFFSETS), {}, ValueError, "has gaps"),
        (rows_indexed(OFFSETS[::-1]), {}, ValueError, "not in order of time"),
        (rows_indexed(SEVERAL[::-1]), {"groups": [*"vvvvuuuu"]}, ValueError, "not in order"),
    ],
)
def test_what_is_refused(X, options, kind, words):
    raises(words, lagged, X, kind=kind, **options)


def test_random_walks_are_named():
    numbers = np.random.default_rng(0).normal(size=(300, 3))
    numbers[:, [0, 2]] = numbers[:, [0, 2]].cumsum(axis=0)
    X = pd.DataFrame(numbers, columns=list("abc"))
    with pytest.warns(NonstationaryWarning, match=r"\['a', 'c'\].*diff\(\)"):
        lagged(X)
    with pytest.warns(NonstationaryWarning, match="within each series"):
        lagged(X, groups=np.arange(300) // 150)
    lagged(X, groups=np.arange(300) // 30)  # too short to tell
    with pytest.warns(NonstationaryWarning, match="independently.*together.*cointegration"):
        lagged(X)


def test_dickey_fuller_is_that_of_statsmodels():
    x = np.random.default_rng(0).normal(size=200).cumsum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a change of what is returned
        t, _, _, n, critical, *_ = stattools.adfuller(x, maxlag=1, autolag=None)
    assert dickey_fuller(x[2:], x[1:-1], x[:-2])[1] == pytest.approx(t)
    assert np.polyval(_CRITICAL[::-1], 1 / n) == pytest.approx(critical["5%"])


# Networks


def test_a_network_finds_the_lag_of_each_effect():
    rng = np.random.default_rng(0)
    cause, effect = rng.normal(size=(2, 400))
    effect[2:] += cause[:-2]
    series = lagged(pd.DataFrame({"effect": effect, "cause": cause}), 2)
    learner = GaussianBNLearner(forbidden_edges=[(..., copy) for copy in series.exogenous])
    assert [*learner.fit(series.table).dag_.edges] == [("cause.L2", "effect")]
    within = GaussianBNLearner(forbidden_edges=series.contemporaneous).fit(series.table)
    assert not {("effect", "cause"), ("cause", "effect")} & {*within.dag_.edges}


# Pictures


NAMES = ["sun", "rain", "river"]


@pytest.fixture(scope="module")
def walk():
    """Noise in three columns with two lags, and a learner of the table."""
    rows = np.random.default_rng(1).normal(size=(60, 3))
    series = lagged(pd.DataFrame(rows, columns=NAMES), 2)
    edges = [("sun.L1", "sun"), ("rain.L2", "river"), ("sun", "rain"), ("rain", "river")]
    forbidden = [(..., copy) for copy in series.exogenous]
    learner = GaussianBNLearner(forbidden_edges=forbidden, required_edges=edges)
    return series, learner.fit(series.table)


def centres(display):
    return {v: text.get_position() for v, text in display.names_.items()}


def titles(display):
    return [text.get_text() for text in display.ax_.texts if re.match(r"t|other", text.get_text())]


def test_copies_stand_in_columns_by_time_and_in_rows_by_column(walk):
    series, learner = walk
    display = series.plot(learner, edge_label="weight")
    at = centres(display)
    x, y = np.array([[at[f"{v}{lag}"] for v in NAMES] for lag in ("", ".L1", ".L2")]).T
    np.testing.assert_allclose(x[:, 1:], np.tile(x[:1, 1:], (3, 1)))
    np.testing.assert_allclose(y, np.tile(y[:, :1], 3))
    assert x[0, 2] < x[0, 1] < x[:, 0].min()
    assert y[0, 0] > y[1, 0] > y[2, 0]
    for a, b in learner.dag_.edges:
        assert at[a][0] < at[b][0]
    assert titles(display) == ["t - 2", "t - 1", "t"]


def test_pictures_of_some_columns_and_of_others(walk):
    series, _ = walk
    table = series.table.drop(columns="rain.L2").assign(season=np.arange(58) % 4)
    learner = GaussianBNLearner(forbidden_edges=[(..., v) for v in table if v not in NAMES])
    display = series.plot(learner.fit(table))
    at = centres(display)
    assert set(at) == {*table}
    assert at["season"][0] < min(x for v, (x, _) in at.items() if v != "season")
    assert at["rain.L1"][1] == pytest.approx(at["rain"][1])
    assert titles(display) == ["other", "t - 2", "t - 1", "t"]


def test_options_replace_those_by_lag(walk):
    series, learner = walk
    at = centres(series.plot(learner, orientation="top-bottom"))
    assert at["sun.L2"][0] == pytest.approx(at["sun.L1"][0])
    assert at["sun.L2"][1] > at["sun.L1"][1] > at["sun"][1]
    rows = np.random.default_rng(1).normal(size=(60, 2))
    arrays = lagged(rows)
    network = GaussianBNLearner(tiers=[arrays.exogenous, ...]).fit(arrays.table).network_
    at = centres(arrays.plot(network))
    assert at[2][1] == pytest.approx(at[0][1])
    assert at[2][0] < at[0][0]

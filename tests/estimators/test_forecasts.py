"""Forecasts and impulse responses: against statsmodels, simulations and the unrolled network."""

from itertools import combinations, product

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
import statsmodels.tsa.api as tsa
from agreement import raises
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from statsmodels.tsa.vector_ar import var_model

import skbn
from skbn import BootstrapBNLearner, GaussianBayesianNetwork, GaussianBNLearner, lagged

N_LAGS = 2


def market(n=200, seed=0):
    rng = np.random.default_rng(seed)
    x = np.zeros((n, 3))
    for t in range(2, n):
        x[t] = 0.5 * x[t - 1] + 0.3 * x[t - 2][[1, 2, 0]] + rng.normal(size=3)
        x[t, 1] += 0.8 * x[t, 0] + 2
        x[t, 2] -= 0.5 * x[t, 1]
    return pd.DataFrame(x, columns=["cold", "demand", "price"])


def full_network(series):
    """The network of all edges, in column order."""
    dag = nx.DiGraph(combinations(series.columns, 2))
    dag.add_edges_from((copy, child) for copy in series.exogenous for child in series.columns)
    for copy in series.exogenous:
        dag.nodes[copy]["exogenous"] = True
    return GaussianBayesianNetwork(dag).fit(series.table)


@pytest.fixture(scope="module")
def series():
    return lagged(market(), N_LAGS)


@pytest.fixture(scope="module")
def found(series):
    return GaussianBNLearner(exogenous=series.exogenous).fit(series.table)


def test_forecasts_of_statsmodels(series):
    X, network = market(), full_network(series)
    var = tsa.VAR(X).fit(N_LAGS)
    forecast = series.forecast(network, 12)
    assert_allclose(forecast.mean, var.forecast(X.to_numpy()[-2:], 12), rtol=1e-8)
    # statsmodels divides by the degrees of freedom, and fit by the rows.
    ratio = var.df_resid / var.nobs
    variances = np.diagonal(var.forecast_cov(12), axis1=1, axis2=2) * ratio
    assert_allclose(forecast.std**2, variances, rtol=1e-8)
    low, high = forecast.interval(0.95)
    width = 2 * 1.959963984540054 * np.sqrt(variances)
    assert_allclose(high - low, width, rtol=1e-8)
    assert forecast.mean.index.tolist() == list(range(200, 212))
    theirs = var.orth_ma_rep(12, P=np.linalg.cholesky(var.sigma_u_mle)).transpose(0, 2, 1)
    ours = series.impulse_responses(network, 12, shock="deviation")
    assert_allclose(ours.mean, theirs, rtol=1e-8, atol=1e-8)


def network_of(equations):
    """Return the network of equations as `reference.future_of_equations` takes them."""
    dag = nx.DiGraph()
    for child, (intercept, variance, weights) in equations.items():
        dag.add_node(child, intercept=intercept, noise_variance=variance)
        for (column, lag), weight in weights.items():
            dag.add_edge(f"{column}.L{lag}" if lag else column, child, weight=weight)
    for node in {*dag} - {*equations}:
        dag.add_node(node, intercept=0.0, noise_variance=1.0, exogenous=True)
    return GaussianBayesianNetwork(dag)


def random_equations(rng, columns, n_lags):
    """Return equations in which each effect of each lag is there or not."""
    equations = {}
    for number, child in enumerate(columns):
        own = {(column, 0) for column in columns[:number]}
        own |= {(column, lag) for column in columns for lag in range(1, n_lags + 1)}
        weights = {place: rng.normal() / 2 for place in sorted(own) if rng.random() < 0.3}
        equations[child] = (rng.normal(), rng.uniform(0.5, 2), weights)
    return equations


@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_any_pattern_of_lags(n_lags, seed):
    """Two series, an exogenous season, values that are set, and impulse responses."""
    rng, columns = np.random.default_rng(seed), [*"abc"]
    equations = random_equations(rng, columns, n_lags)
    X = pd.DataFrame(rng.normal(size=(2 * n_lags + 4, 4)), columns=[*columns, "season"])
    of = np.arange(len(X)) % 2
    is_given = rng.random() < 0.5
    if is_given:
        equations["c"][2]["season", int(rng.integers(n_lags + 1))] = 1.5
    series, network = lagged(X, n_lags, groups=of), network_of(equations)
    steps = 6
    set_to = [None if rng.random() < 0.7 else rng.normal() for _ in range(steps)]
    season = rng.normal(size=steps)
    held = [
        {"season": s} if b is None else {"season": s, "b": b}
        for s, b in zip(season, set_to, strict=True)
    ]
    outside = {"season": season} if is_given else None
    found = series.forecast(network, steps, do={"b": set_to}, exogenous=outside)
    for number in range(2):
        past = X[of == number].iloc[-n_lags:].to_dict("records")
        future = reference.future_of_equations(equations, past, held)
        means, variances = (pd.DataFrame(each)[columns] for each in future)
        assert_allclose(found.mean.loc[number][columns], means, rtol=1e-9, atol=1e-9)
        assert_allclose(found.std.loc[number][columns] ** 2, variances, rtol=1e-9, atol=1e-12)
    responses = series.impulse_responses(network, steps)
    nothing = [dict.fromkeys([*columns, "season"], 0.0)] * n_lags
    base = reference.future_of_equations(equations, nothing, [{"season": 0.0}] * (steps + 1))[0]
    for column in columns:
        intercept, *others = equations[column]
        raised = {**equations, column: (intercept + 1, *others)}
        first = reference.future_of_equations(raised, nothing, [{"season": 0.0}])[0]
        now = [*nothing[1:], first[0]]
        later = reference.future_of_equations(equations, now, [{"season": 0.0}] * steps)[0]
        expected = pd.DataFrame(first + later) - pd.DataFrame(base)
        found = np.column_stack([responses[column, effect] for effect in columns])
        assert_allclose(found, expected[columns], atol=1e-9)


@pytest.mark.parametrize("n_lags", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(5))
def test_vector_autoregressions_with_missing_lags(n_lags, seed):
    rng, columns = np.random.default_rng(seed), [*"abc"]
    equations = random_equations(rng, columns, n_lags)
    weights = np.zeros((n_lags + 1, 3, 3))
    intercepts, variances, by_lag = zip(*equations.values(), strict=True)
    for child, own in enumerate(by_lag):
        for (column, lag), weight in own.items():
            weights[lag, child, columns.index(column)] = weight
    whole = np.linalg.inv(np.eye(3) - weights[0])
    noise = whole @ np.diag(variances) @ whole.T
    var = var_model.VARProcess(whole @ weights[1:], None, noise)
    X = pd.DataFrame(rng.normal(size=(9, 3)), columns=columns)
    series, network = lagged(X, n_lags), network_of(equations)
    found = series.forecast(network, 7)
    means = var_model.forecast(X.to_numpy()[-n_lags:], var.coefs, whole @ intercepts, 7)
    assert_allclose(found.mean[columns], means)
    variances = np.diagonal(var.forecast_cov(7), axis1=1, axis2=2)
    assert_allclose(found.std[columns] ** 2, variances)
    ours = series.impulse_responses(network, 7, shock="deviation")
    theirs = var.orth_ma_rep(7, P=np.linalg.cholesky(noise))
    for (i, cause), (j, effect) in product(enumerate(columns), enumerate(columns)):
        assert_allclose(ours[cause, effect], theirs[:, j, i], atol=1e-12)
    futures = series.simulate(network, 3, 4000, random_state=0)
    for step in futures.index.unique(level="step"):
        some = futures.xs(step, level="step")[columns]
        error = found.std.loc[step, columns] / 4000**0.5
        assert (abs(some.mean() - found.mean.loc[step, columns]) < 5 * error).all()


@pytest.mark.parametrize("do", [{}, {"demand": 3.0}, {"demand": [None, 1.0, None, 2.0], "cold": 0}])
def test_forecasts_are_those_of_simulations(series, found, do):
    forecast = series.forecast(found, 4, do=do)
    futures = series.simulate(found, 4, 20_000, random_state=0, do=do)
    by_step = futures.groupby(level="step")
    assert_allclose(forecast.mean, by_step.mean(), atol=0.06)
    assert_allclose(forecast.std, by_step.std(), atol=0.03)
    for step, value in enumerate(np.broadcast_to(do.get("demand"), 4)):
        if value is not None:
            own = forecast.mean["demand"].iloc[step], forecast.std["demand"].iloc[step]
            assert own == (value, 0)


def test_containers(found):
    X = market()
    expected = lagged(X, N_LAGS).forecast(found, 2)
    array = lagged(X.to_numpy(), N_LAGS)
    fitted = GaussianBNLearner(exogenous=array.exogenous).fit(array.table)
    assert_allclose(array.forecast(fitted, 2).mean, expected.mean)
    assert array.forecast(fitted, 2).mean.index.tolist() == [1, 2]
    assert array.next_row().shape == (1, 6)
    polars = lagged(pl.from_pandas(X), N_LAGS)
    assert polars.next_row().columns == polars.exogenous
    assert_allclose(polars.forecast(found, 2).mean, expected.mean)
    flags = X.assign(cold=X["cold"] > 0)
    expected = lagged(flags.astype(float), N_LAGS).forecast(found, 2).mean
    for same in (flags, pl.from_pandas(flags), flags.astype(object), flags.convert_dtypes()):
        assert_allclose(lagged(same, N_LAGS).forecast(found, 2).mean, expected)
    quarters = X.set_axis(pd.period_range("1970Q1", periods=200, freq="Q"))
    labels = lagged(quarters, N_LAGS).forecast(found, 2).mean.index
    assert labels.astype(str).tolist() == ["2020Q1", "2020Q2"]
    days = lagged(X.set_axis(pd.date_range("2024-01-01", periods=200)), N_LAGS)
    assert str(days.next_row().index[0]) == "2024-07-19 00:00:00"


def test_panels(found):
    X = market()
    plants = np.repeat(["A", "B"], 100)
    panel = lagged(X, N_LAGS, plants)
    assert panel.groups == list(plants[panel.rows])
    assert panel.next_row().index.tolist() == ["A", "B"]
    do = {"demand": {"A": 1.0, "B": [2.0, None, 3.0]}}
    raises("the same steps of all series", panel.forecast, found, 3, do=do)
    do["demand"]["B"] = [2.0, 4.0, 3.0]
    together = panel.forecast(found, 3, do=do)
    assert together.mean.index.names == ["series", "step"]
    for name in "AB":
        own = {"demand": do["demand"][name]}
        alone = lagged(X[plants == name], N_LAGS).forecast(found, 3, do=own)
        assert_allclose(together.mean.loc[name], alone.mean)
        assert_allclose(together.std.loc[name], alone.std)
    assert {*together.to_frame()["series"]} == {"A", "B"}
    futures = panel.simulate(found, 3, 4, random_state=0)
    assert futures.shape == (24, 3)
    assert futures.index.names == ["series", "sample", "step"]


def test_exogenous_columns():
    X = market().assign(season=(np.arange(200) % 4 == 0) * 1.0)
    X["demand"] += 3 * X["season"]
    series = lagged(X[["cold", "demand", "price"]])
    table = series.table.assign(season=X["season"].iloc[1:])
    outside = [*series.exogenous, "season"]
    learner = GaussianBNLearner(exogenous=outside, required_edges=[("season", "demand")])
    learner.fit(table)
    raises(r"\['season'\] are exogenous.*Give 2 values", series.forecast, learner, 2)
    path = series.forecast(learner, 2, exogenous={"season": [1, 0]})
    assert path.columns == ["cold", "demand", "price"]
    none = series.forecast(learner, 2, exogenous=pd.DataFrame({"season": [0.0, 0]}))
    effect = learner.network_.total_effect("season", "demand")
    assert_allclose((path.mean - none.mean)["demand"].iloc[0], effect)
    assert_allclose(path.std, none.std)
    levels = table.assign(season=np.where(table["season"] == 1, "high", "low"))
    levels["season"] = pd.Categorical(levels["season"], ["low", "high"])
    by_level = clone(learner).set_params(nodes="auto").fit(levels)
    again = series.forecast(by_level, 2, exogenous={"season": ["high", "low"]})
    assert_allclose(again.mean, path.mean)


def test_bands(series, found):
    posterior = skbn.GaussianBNPosterior(exogenous=series.exogenous).fit(series.table)
    responses = series.impulse_responses(posterior, 5, n_samples=200, random_state=0)
    assert responses.mean.shape == (6, 3, 3)
    low, high = responses.interval(0.9)
    one = series.impulse_responses(found, 5)
    inside = (low - 0.1 <= one.mean) & (one.mean <= high + 0.1)
    assert inside.mean() > 0.9
    assert (responses.std[0].diagonal() < 1e-12).all()
    assert_allclose(one["cold", "price"][0], found.network_.total_effect("cold", "price"))
    bootstrap = BootstrapBNLearner(found, n_resamples=5, random_state=0).fit(series.table)
    assert len(series.impulse_responses(bootstrap, 2).values) == 5
    assert [*responses.to_frame()] == ["cause", "effect", "step", "response", "low", "high"]
    assert [*one.to_frame()] == ["cause", "effect", "step", "response"]
    raises("single network does not say", lambda: one.std)
    assert repr(one) == "<ImpulseResponses of 3 columns, steps 0 to 5, by one network>"


def test_pictures(series, found):
    forecast = series.forecast(found, 4).plot()
    assert [ax.get_title() for ax in forecast.figure_.axes] == ["cold", "demand", "price"]
    responses = series.impulse_responses(found, 4).plot(["cold"], ["price"])
    assert responses.figure_.axes[0].get_title() == "cold on price"


def test_frames_without_pandas(series, found, monkeypatch):
    forecast = series.forecast(found, 2)
    expected = forecast.mean
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    plain = forecast.mean
    assert plain["step"] == [200, 201]
    assert plain["price"] == expected["price"].tolist()


def test_a_gap_at_the_end():
    X = market()
    X.index = [*range(198), 300, 301]
    joined = lagged(X, N_LAGS, gaps="break")
    assert joined.next_row().index.tolist() == [302]
    X.index = [*range(199), 300]
    raises("No series ends with 2 rows without a gap", lagged(X, N_LAGS, gaps="break").next_row)


def test_copies_that_are_modelled(series, found):
    """Only the equations of the present count, whatever the copies are."""
    dag = nx.DiGraph(found.dag_.edges)
    dag.add_edges_from([("cold.L2", "cold.L1"), ("price.L2", "demand.L1")])
    network = GaussianBayesianNetwork(dag).fit(series.table)
    expected = series.forecast(found, 3)
    assert_allclose(series.forecast(network, 3).mean[[*expected.mean]], expected.mean)


def test_a_category_of_the_series_is_refused():
    X = market(120).assign(regime=pd.Categorical(np.arange(120) // 7 % 2))
    series = lagged(X)
    learner = GaussianBNLearner(exogenous=series.exogenous, nodes="auto").fit(series.table)
    raises("Column 'regime.*whose future the network does not say", series.forecast, learner, 2)


def test_some_columns_of_the_table(series):
    """A column with copies in the network, and none of its own, must be given."""
    copies = ["price.L2", "price.L1", "cold.L1"]
    learner = GaussianBNLearner(exogenous=copies, required_edges=[("price.L1", "cold")])
    learner.fit(series.table[[*copies, "cold"]])
    raises(r"\['price'\] are exogenous.*Give 2 values", series.forecast, learner, 2)
    forecast = series.forecast(learner, 2, exogenous={"price": [5.0, 0.0]})
    row = series.next_row().assign(**{"price.L1": 5.0, "cold.L1": forecast.mean["cold"].iloc[0]})
    row["price.L2"] = series.table["price"].iloc[-1]
    assert_allclose(learner.network_.predict(row)["cold"], forecast.mean["cold"].iloc[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps must be"),
        ({"level": 1.5}, "level must be between 0 and 1"),
        ({"do": {"q": 1}}, "do must name nodes; 'q'"),
        ({"do": {"cold.L1": 1}}, "do must name nodes; 'cold.L1'"),
        ({"do": {"cold": [1, 2]}}, "do of 'cold' must have 3 values, one for each step; got 2"),
        ({"do": {"cold": "red"}}, "do of 'cold' must be a finite number"),
        ({"do": {"cold": np.inf}}, "do of 'cold' must be a finite number"),
        ({"exogenous": {"cold": 1}}, "exogenous must name nodes; 'cold'"),
    ],
)
def test_refused(series, found, options, message):
    raises(message, series.forecast, found, **{"steps": 3} | options)


def test_refused_networks(series, found):
    back = GaussianBayesianNetwork(nx.DiGraph([("price", "cold.L1"), ("cold.L1", "cold")]))
    raises("'price' -> 'cold.L1' leads back in time", series.forecast, back.fit(series.table))
    for wrong in (GaussianBNLearner(), "network"):
        expected = "must be a GaussianBayesianNetwork, or a fitted"
        raises(expected, series.forecast, wrong, kind=TypeError)
    raises("do must be a dict or a data frame", series.forecast, found, kind=TypeError, do=[1])
    holes = market()
    holes.loc[199, "price"] = np.nan
    message = "'price' has no finite number 1 steps before"
    raises(message, lagged(holes, N_LAGS).forecast, full_network(series))

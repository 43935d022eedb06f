"""Answers by many networks: against Student's distribution, by hand, over equivalent networks."""

from collections import Counter
from itertools import combinations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import reference
from agreement import raises
from numpy.testing import assert_allclose
from scipy.stats import norm, t
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skbn
from skbn import BootstrapBNLearner, GaussianBayesianNetwork, GaussianBNLearner, GaussianBNPosterior
from skbn._core.subsets import mask_of, members_of
from skbn._estimators.ensembles import edges_of_fdr
from skbn._networks.equivalence import random_member

COLUMNS = [*"abc"]


def few_rows(n=18, seed=0):
    rng, x = np.random.default_rng(seed), np.zeros((n, 3))
    for step in range(1, n):
        x[step] = 0.5 * x[step - 1] + rng.normal(size=3)
        x[step, 1] += x[step, 0]
    return pd.DataFrame(x, columns=COLUMNS)


def network_of(edges, table):
    return GaussianBayesianNetwork(nx.DiGraph(edges)).fit(table)


def categories():
    rng = np.random.default_rng(0)
    group = rng.choice([*"uvw"], 80)
    y = (group == "u") + rng.normal(size=80)
    return pd.DataFrame({"group": pd.Categorical(group), "y": y, "z": y + rng.normal(size=80)})


@pytest.fixture(scope="module")
def series():
    return skbn.lagged(few_rows())


@pytest.fixture(scope="module")
def every_edge(series):
    """All edges into the present, required, so that the networks differ in parameters alone."""
    edges = [(copy, child) for copy in series.exogenous for child in COLUMNS]
    return {"exogenous": series.exogenous, "required_edges": [*edges, *combinations(COLUMNS, 2)]}


@pytest.fixture(scope="module")
def sources(series, every_edge):
    learner = GaussianBNLearner(**every_edge).fit(series.table)
    return {
        "bge": GaussianBNPosterior(**every_edge).fit(series.table),
        "near": learner.near_optimal(n=1),
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["bge", "near"])
def test_one_step_has_the_distribution_of_student(series, sources, name):
    """With a flat prior, as of a regression on the copies alone."""
    forecast = series.forecast(sources[name], n_samples=1500, random_state=0)
    low, high = forecast.interval(0.95)
    copies, n = series.table[series.exogenous], len(series.table)
    Z = np.column_stack([np.ones(n), copies])
    new = np.r_[1.0, series.next_row().iloc[0]]
    leverage = new @ np.linalg.inv(Z.T @ Z) @ new
    for child in COLUMNS[:1]:  # it has no parents within the step
        weights, squares, *_ = np.linalg.lstsq(Z, series.table[child])
        spread = np.sqrt(squares[0] / (n - 4) * (1 + leverage))
        ends = new @ weights + t.ppf([0.025, 0.975], n - 4) * spread
        assert_allclose([low[child].iloc[0], high[child].iloc[0]], ends, atol=0.25)


def test_forecasts_of_several_networks_are_their_mixture(series, sources):
    networks = sources["bge"].sample_networks(5, random_state=0)
    parts = [series.forecast(network, 3) for network in networks]
    found = series.forecast(networks, 3, level=0.8)
    means, deviations = (np.array([getattr(part, a) for part in parts]) for a in ("mean", "std"))
    assert_allclose(found.mean, means.mean(axis=0))
    variance = (deviations**2 + means**2).mean(axis=0) - means.mean(axis=0) ** 2
    assert_allclose(found.std, np.sqrt(variance))
    low, high = found.interval()
    for step, column in np.ndindex(3, 3):
        own = means[:, step, column], deviations[:, step, column]
        for q, end in ((0.1, low), (0.9, high)):
            quantile = end.iloc[step, column]
            assert norm.cdf(quantile, *own).mean() == pytest.approx(q)
    assert repr(found).startswith("<Forecast of 3 steps by 5 networks>")
    assert "leave out that it is an estimate" in repr(parts[0])
    futures = series.simulate(networks, 3, 20_000, random_state=0).groupby(level="step")
    assert_allclose(futures.mean(), found.mean, atol=0.15)
    assert_allclose(futures.std(), found.std, rtol=0.04)
    frame = found.to_frame()
    assert frame["low"].tolist() == low.to_numpy().ravel().tolist()
    found.plot()
    held = series.forecast(networks, 2, do={"a": 2.0})
    assert held.interval()[0]["a"].tolist() == [2.0, 2.0]


def test_networks_of_other_columns_are_refused(series):
    networks = [network_of([("a.L1", "a"), ("b.L1", v)], series.table) for v in "bc"]
    raises("must model the same columns", series.forecast, networks)
    raises("must model the same columns", series.impulse_responses, networks)


def test_columns_in_another_order(series):
    edges = [("a.L1", "a"), ("a", "b"), ("b.L1", "b"), ("a.L1", "b")]
    networks = [network_of(each, series.table) for each in (edges, edges[::-1])]
    one, two = (series.forecast(network, 2) for network in networks)
    both = series.forecast(networks, 2)
    assert_allclose(both.mean, one.mean)
    assert_allclose(both.mean[["b", "a"]], two.mean[["b", "a"]])


# Members of equivalence classes


@pytest.mark.parametrize("m", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_members_are_equally_probable(m):
    rng = np.random.default_rng(0)
    for members in reference.classes_of_dags(m):
        dag = members[0]
        if len(members) == 1 or rng.random() < 0.5:
            continue
        masks = [mask_of(parents) for parents in dag]
        n = 100 * len(members)
        drawn = Counter(
            tuple(tuple(members_of(mask)) for mask in random_member(masks, None, rng))
            for _ in range(n)
        )
        assert {*drawn} == {tuple(map(tuple, each)) for each in members}
        assert max(drawn.values()) < 170
        assert min(drawn.values()) > 50


def test_resamples_are_members_with_the_noise_of_all_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) @ [[1, 1, 0], [0, 1, 1], [0, 0, 1]]
    bootstrap = BootstrapBNLearner(n_resamples=20, random_state=0).fit(X)
    networks, what = bootstrap._networks(1, rng)
    assert what == "20 resamples"
    for given, network in zip(bootstrap.networks_, networks, strict=True):
        assert nx.utils.edges_equal(given.cpdag().edges, network.cpdag().edges)
        for child in range(3):
            own, covariance = [*network.dag.predecessors(child)], given.covariance_
            weights = np.linalg.solve(covariance[np.ix_(own, own)], covariance[own, child])
            assert_allclose(network.coef_[own, child], weights)
        assert_allclose(network.mean_, given.mean_)
        n_left = 40 - 1 - network._model().coef.astype(bool).sum(axis=0)
        squares = (network.residuals(X) ** 2).sum(axis=0)
        assert_allclose(network.noise_variance_, squares / n_left)


def test_responses_do_not_depend_on_the_member():
    """Two columns within a step that nothing orders: each is the cause in half of the networks."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 2)), columns=["x", "y"])
    X["y"] += 2 * X["x"]
    series = skbn.lagged(X)
    learner = GaussianBNLearner(exogenous=series.exogenous).fit(series.table)
    bootstrap = BootstrapBNLearner(learner, n_resamples=60, random_state=0).fit(series.table)
    for source in (learner.near_optimal(n=1), bootstrap):
        responses = series.impulse_responses(source, 0, n_samples=300, random_state=0).values[:, 0]
        share = (responses[:, 0, 1] == 0).mean()
        assert 0.3 < share < 0.7
        assert ((responses[:, 0, 1] == 0) != (responses[:, 1, 0] == 0)).all()


def test_a_pipeline_that_changes_units_is_refused(series):
    with config_context(enable_metadata_routing=True):
        learner = GaussianBNLearner().set_fit_request(sample_weight=True)
        scale = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scale.set_output(transform="pandas"), learner)
        bootstrap = BootstrapBNLearner(pipeline, n_resamples=2, random_state=0)
        bootstrap.fit(series.table[COLUMNS])
    raises("change the units of the columns", bootstrap.anomalies, series.table[COLUMNS])


# Anomalies


@pytest.mark.filterwarnings("ignore")
def test_anomalies_of_a_posterior_have_the_distribution_of_student():
    """P-values by one graph are those of least squares, which know the weights' errors."""
    X = few_rows(14)
    edges, new = [*combinations(COLUMNS, 2)], few_rows(6, seed=1)
    known = {"required_edges": edges, "tiers": [[v] for v in COLUMNS]}
    expected = network_of(edges, X).anomalies(new)
    for source in (
        GaussianBNPosterior(**known).fit(X),
        GaussianBNLearner(**known).fit(X).near_optimal(n=1),
    ):
        found = source.anomalies(new, n_samples=1000, random_state=0)
        p_values = found.unadjusted_p_values
        assert_allclose(p_values, expected.unadjusted_p_values, atol=0.03)
        assert_allclose(found.expected, expected.expected, atol=0.1)


def test_anomalies_are_means_over_networks():
    X, new = few_rows(30), few_rows(5, seed=1)
    new.iloc[2, 0] = np.nan
    bootstrap = BootstrapBNLearner(n_resamples=8, random_state=0).fit(X)
    found = bootstrap.anomalies(new, random_state=0)
    networks, _ = bootstrap._networks(1, np.random.RandomState(0))
    parts = [network.anomalies(new) for network in networks]
    tails = np.array([norm.cdf(sign * part.residuals) for sign in (1, -1) for part in parts])
    known = ~np.isnan(tails[:8]).any(axis=0)
    means = tails.reshape(2, 8, *new.shape).mean(axis=1)
    p_values = found.unadjusted_p_values.to_numpy()
    assert_allclose(p_values[known], 2 * means.min(axis=0)[known])
    assert np.isnan(p_values[2, 0])
    density = np.log(np.mean(np.exp([part.log_density for part in parts]), axis=0))
    assert_allclose(found.log_density, density)
    wrong = new.assign(b=[0, 30, 0, 0, 0])
    assert bootstrap.anomalies(wrong).to_frame()["column"].iloc[0] == "b"
    raises("not fitted", BootstrapBNLearner().anomalies, X)


# False discoveries


def largest_sets(shares, fdr):
    """Return the sizes and means of 1 - share of all sets of entries whose mean is at most fdr."""
    allowed = [0]
    for n in range(1, len(shares) + 1):
        if any(np.mean([1 - p for p in own]) <= fdr + 1e-12 for own in combinations(shares, n)):
            allowed.append(n)
    return max(allowed)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_no_larger_set_has_as_few_false_edges(seed, directed):
    rng = np.random.default_rng(seed)
    shares = np.triu(rng.choice([0.0, 0.2, 0.5, 0.6, 0.9, 1.0], (4, 4)), 1)
    turned = rng.random((4, 4)) * shares
    shares = shares - turned + turned.T
    own = shares if directed else np.triu(shares + shares.T)
    for fdr in (0.01, 0.1, 0.3, 0.6, 0.99):
        found = edges_of_fdr([*"abcd"], shares, fdr, directed, ("p", "joined", "fdr"))
        assert [*found] == [*"abcd"]
        assert len(found.edges) == largest_sets(own[own > 0].tolist(), fdr)
        values = [each for *_, each in found.edges(data="p" if directed else "joined")]
        assert found.graph["fdr"] == pytest.approx(1 - np.mean(values) if values else 0.0)
        assert found.graph["fdr"] <= fdr + 1e-12
        if directed:
            assert found.graph["is_acyclic"] == nx.is_directed_acyclic_graph(found)


def test_edges_with_a_cycle_say_so():
    shares = np.array([[0, 0.6, 0], [0, 0, 0.6], [0.6, 0, 0]])
    found = edges_of_fdr([*"abc"], shares, 0.4, True, ("p", "joined", "fdr"))
    assert [*found.edges] == [("a", "b"), ("b", "c"), ("c", "a")]
    assert found.graph["is_acyclic"] is False


ROWS = few_rows(60)
WITH_HOLES = ROWS.where(np.random.default_rng(0).random((60, 3)) > 0.1)
IN_SOME_ROWS = {"interventions": [[0]] * 20 + [[]] * 40}
TWENTY = BootstrapBNLearner(n_resamples=20, random_state=0)


@pytest.mark.parametrize(
    ("posterior", "table", "given"),
    [
        (GaussianBNPosterior(nodes="auto"), categories(), {}),
        (GaussianBNPosterior(tiers=[["c"], ...], max_parents=1), ROWS, {}),
        (GaussianBNPosterior(exogenous=["a"]), ROWS, {}),
        (GaussianBNPosterior(), ROWS.to_numpy(), IN_SOME_ROWS),
        (GaussianBNPosterior(missing="augment", random_state=0, n_imputations=4), WITH_HOLES, {}),
        (GaussianBNPosterior(method="sampling", n_samples=1000, random_state=0), ROWS, {}),
        (TWENTY, ROWS, {}),
        (clone(TWENTY).set_params(estimator=GaussianBNLearner(nodes="auto")), categories(), {}),
    ],
)
def test_false_discoveries_of_all_kinds(posterior, table, given):
    posterior.fit(table, **given)
    is_bootstrap = isinstance(posterior, BootstrapBNLearner)
    shares = posterior.edge_support_ if is_bootstrap else posterior.edge_probabilities_
    names, word = [*posterior.predict()], "support" if is_bootstrap else "probability"
    for fdr in (0.4, 0.8):
        found = posterior.predict(table, fdr=fdr)
        assert [*found] == names
        assert found.number_of_edges() or fdr < 0.8
        for a, b, share in found.edges(data=word):
            assert share == pytest.approx(shares[names.index(a), names.index(b)])
        least = min((each for *_, each in found.edges(data=word)), default=1.0)
        assert len(found.edges) >= (shares > least + 1e-12).sum()
        expected = found.graph["expected_by_support" if is_bootstrap else "expected_fdr"]
        assert expected <= fdr + 1e-12
        pairs = posterior.predict(fdr=fdr, directed=False)
        assert not pairs.is_directed()
        assert len(pairs.edges) >= found.to_undirected().number_of_edges()
    joined = posterior.predict(directed=False)
    assert {*joined.edges} == {*posterior.predict().to_undirected().edges}


@pytest.mark.parametrize("fdr", [0, 1, -0.1, 1.5, "0.1", np.nan, [0.1], True])
def test_no_rate_of_false_discoveries(fdr):
    fitted = GaussianBNPosterior().fit(few_rows())
    raises("fdr must be", fitted.predict, fdr=fdr)

"""The parameters and the fit of a given graph: categories, holes, experiments and weights."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from agreement import raises
from drawn import graph_of
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import chi2, multivariate_normal
from sklearn.exceptions import ConvergenceWarning

from skbn import GaussianBayesianNetwork, GaussianBNLearner, LocalScoreTransformer
from skbn._networks.estimation import errors_by_em
from skbn.exceptions import MissingValuesWarning

pytestmark = pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")


def table(n=150, seed=0, share=0.0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = a + rng.normal(size=n)
    g = np.where(b + rng.normal(size=n) > 0.5, "x", rng.choice(["y", "z"], n))
    c = b - a + (g == "x") + rng.normal(size=n)
    X = pd.DataFrame({"a": a, "b": b, "g": pd.Categorical(g), "c": c})
    for column in ("b", "g", "c"):
        X.loc[rng.random(n) < share, column] = None
    return X


def chain():
    return GaussianBayesianNetwork(nx.DiGraph([("a", "b"), ("b", "c")]))


DAG = nx.DiGraph([("a", "b"), ("b", "g"), ("b", "c"), ("g", "c")])
TARGETS = [("b",) if i % 4 == 0 else None for i in range(150)]


@pytest.mark.parametrize("settings", [{}, {"interventions": TARGETS}, {"sample_weight": True}])
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_a_graph_has_the_parameters_that_a_learner_gives_it(settings, share):
    X, given = table(share=share), dict(settings)
    if "interventions" in given:  # what was set is known
        X.loc[::4, "b"] = table()["b"][::4]
    if "sample_weight" in given:
        given["sample_weight"] = np.resize([1.0, 2.0, 0.0], 150)
    network = GaussianBayesianNetwork(DAG).fit(X, **given)
    edges = {"required_edges": DAG, "forbidden_edges": nx.complement(DAG)}
    missing = "em" if share else "error"
    learner = GaussianBNLearner("loglik", nodes="auto", missing=missing, **edges).fit(X, **given)
    assert network.nodes_["g"] == ["g=y", "g=z"]
    assert {*learner.dag_.edges} == {*DAG.edges}
    expected = learner.network_.columns_
    found = network.columns_[expected.nodes]
    assert_allclose(found.covariance, expected.covariance_, atol=2e-5)
    assert_allclose(found.mean, expected.mean_, atol=2e-5)
    assert network.score(X) == pytest.approx(learner.score(X), abs=1e-6)


def test_scores_of_a_learner_are_taken_with_what_was_set():
    X = table()[["a", "b", "c"]]
    network = chain().fit(X, interventions=TARGETS)
    scores = LocalScoreTransformer().fit_transform(X).with_interventions(TARGETS)
    again = chain().fit(scores)
    assert_allclose(again.coef_, network.coef_)
    assert again.score(scores) == pytest.approx(network.score(X, interventions=TARGETS))
    rows = X[np.arange(150) % 4 != 0]
    assert network.coef_[0, 1] == pytest.approx(np.polyfit(rows["a"], rows["b"], 1)[0])
    raises("which say themselves what was set", network.fit, scores, interventions=TARGETS)


def test_truth_values_and_numbers_stay_numbers():
    X = pd.DataFrame({"a": np.arange(9.0) ** 2, "b": np.resize([True, False, False], 9)})
    network = GaussianBayesianNetwork(nx.DiGraph([("b", "a")])).fit(X)
    assert network.nodes_ == {"b": ["b"], "a": ["a"]}
    assert network.blocks is None


# Missing values


def log_likelihood(mean, covariance, rows):
    """The log-likelihood of the observed values."""
    total, is_seen = 0.0, ~np.isnan(rows)
    for seen in np.unique(is_seen, axis=0):
        own = multivariate_normal(mean[seen], covariance[np.ix_(seen, seen)])
        total += own.logpdf(rows[(is_seen == seen).all(axis=1)][:, seen]).sum()
    return total


def largest_log_likelihood(rows, edges):
    """The same of the best parameters of a network, by a general optimiser."""
    m = rows.shape[1]

    def of_parameters(values):
        coef = np.zeros((m, m))
        for edge, weight in zip(edges, values[2 * m :], strict=True):
            coef[edge] = weight
        factor = np.diag(np.exp(values[m : 2 * m] / 2)) @ np.linalg.inv(np.eye(m) - coef)
        return -log_likelihood(values[:m], factor.T @ factor, rows)

    start = np.zeros(2 * m + len(edges))
    start[:m] = np.nanmean(rows, axis=0)
    start[m : 2 * m] = np.log(np.nanvar(rows, axis=0))
    return -minimize(of_parameters, start, method="L-BFGS-B", options={"ftol": 1e-13}).fun


@pytest.fixture(scope="module")
def with_holes():
    """A table, and the log-likelihoods of a chain of its columns, of no edges and of all."""
    X = table(40, seed=1)[["a", "b", "c"]]
    X.loc[::5, "b"] = X.loc[3::7, "c"] = np.nan
    graphs = [(0, 1), (1, 2)], [], [(0, 1), (0, 2), (1, 2)]
    return X, [largest_log_likelihood(X.to_numpy(), edges) for edges in graphs]


@pytest.mark.parametrize("exogenous", [False, True])
def test_indices_with_holes_are_those_of_the_largest_likelihoods(with_holes, exogenous):
    X, (*best, every) = with_holes
    rows, dag = X.to_numpy(), chain().dag
    dag.nodes["a"]["exogenous"] = exogenous
    network = GaussianBayesianNetwork(dag).fit(X)
    indices = network.fit_indices(X)
    of_a = multivariate_normal(rows[:, 0].mean(), rows[:, 0].var()).logpdf(rows[:, 0]).sum()
    assert indices.log_likelihood == pytest.approx(best[0] - exogenous * of_a, abs=1e-5)
    n_counted = (~np.isnan(rows[:, exogenous:])).any(axis=1).sum()
    assert indices.log_likelihood == pytest.approx(n_counted * network.score(X), abs=1e-6)
    assert indices.chi2 == pytest.approx(2 * (every - best[0]), abs=1e-4)
    assert indices.baseline_chi2 == pytest.approx(2 * (every - best[1]), abs=1e-4)
    assert (indices.df, indices.baseline_df, indices.n_samples) == (1, 3, 40)
    assert indices.p_value == pytest.approx(chi2(1).sf(indices.chi2))
    (tested,) = indices.d_separations.to_dict("records")
    assert (tested["a"], tested["b"], tested["given"]) == ("a", "c", ["b"])
    assert tested["p_value"] == pytest.approx(indices.p_value, abs=1e-6)  # of the same edge


def test_indices_without_holes_agree():
    X = table(60)
    network = GaussianBayesianNetwork(DAG).fit(X)
    complete = network.fit_indices(X)
    X = pd.DataFrame({name: [*X[name], None] for name in X})
    X.loc[60, "a"] = 0.3  # which says something of itself alone
    with_hole = network.fit_indices(X)
    X.loc[60] = [0.3, 0.2, "y", None]
    nearly = network.fit_indices(X, sample_weight=[1.0] * 60 + [1e-9])
    assert nearly.chi2 == pytest.approx(complete.chi2, abs=1e-5)
    assert nearly.srmr == pytest.approx(complete.srmr, abs=1e-6)
    assert nearly.baseline_chi2 == pytest.approx(complete.baseline_chi2, abs=1e-4)
    assert with_hole.df == complete.df


def test_holes_that_nothing_fills_are_refused():
    X = table(share=0.1)
    dag = DAG.copy()
    dag.nodes["b"]["exogenous"] = True
    dag.remove_edge("a", "b")
    raises(r"'b' is exogenous and has missing values.* tiers", GaussianBayesianNetwork(dag).fit, X)
    X.loc[X["b"].notna(), "c"] = np.nan
    raises("observed together", GaussianBayesianNetwork(DAG).fit, X)


def never_together():
    """Rows of a -> c <- b -> d in which a and b, and a and d, are never both observed."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 400))
    c, d = 0.8 * a - 0.5 * b + rng.normal(size=400), 0.7 * b + rng.normal(size=400)
    X = pd.DataFrame({"a": a, "b": b, "c": c, "d": d})
    X.loc[:199, "a"] = X.loc[200:, ["b", "d"]] = np.nan
    return X


@pytest.mark.parametrize("with_targets", [False, True])
def test_errors_after_em_are_those_of_least_squares_without_holes(with_targets):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 4)) @ np.triu(rng.normal(size=(4, 4))) * [1.0, 10.0, 100.0, 0.01]
    dag = nx.DiGraph([(0, 1), (0, 2), (1, 2), (2, 3)])
    is_set = np.zeros((80, 4), dtype=bool)
    is_set[::3, 1] = with_targets
    network = GaussianBayesianNetwork(dag).fit(rows, interventions=is_set)
    sample, targets = network._rows_and_set(rows, None, is_set)
    errors, freedom = errors_by_em(sample, targets, network._graph_of_columns())
    frame = network.to_frame()
    at = frame["parent"], frame["child"]
    assert_allclose(errors[at], frame["std_err"], rtol=1e-6)
    assert_allclose(freedom[at[1]], [(~is_set[:, c]).sum() - dag.in_degree(c) - 1 for c in at[1]])
    assert np.isnan(errors).sum() == 16 - 4


def test_errors_with_holes_are_those_of_the_likelihood():
    """By second differences of the log-likelihood, with few holes and many."""
    X = table(60, seed=3, share=0.2)[["a", "b", "c"]]
    network = chain().fit(X)
    sample, _ = network._rows_and_set(X, None, None)
    errors, _ = errors_by_em(sample, None, network._graph_of_columns())
    start = np.r_[network.coef_[[0, 1], [1, 2]], network.intercept_, network.noise_variance_]
    dag = network.dag

    def minus(parameters):
        for (a, b), weight in zip([("a", "b"), ("b", "c")], parameters, strict=False):
            dag.edges[a, b]["weight"] = weight
        for v, node in enumerate("abc"):
            dag.nodes[node].update(intercept=parameters[2 + v], noise_variance=parameters[5 + v])
        return -GaussianBayesianNetwork(dag).score_samples(X).sum()

    information, steps = np.empty((8, 8)), 1e-3 * np.eye(8)
    for i, j in np.ndindex(8, 8):
        corners = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
        terms = [s * t * minus(start + s * steps[i] + t * steps[j]) for s, t in corners]
        information[i, j] = sum(terms) / 4e-6
    expected = np.sqrt(np.diag(np.linalg.inv(information))[:2])
    expected *= np.sqrt(60 / (60 - 2))  # as least squares divide by the degrees of freedom
    assert_allclose(errors[[0, 1], [1, 2]], expected, rtol=1e-3)


def test_columns_that_no_edge_joins_need_not_be_observed_together():
    X, edges = never_together(), [(0, 2), (1, 2), (1, 3)]
    dag = graph_of("abcd", ["ac", "bc", "bd"])
    network = GaussianBayesianNetwork(dag).fit(X)
    expected = largest_log_likelihood(X.to_numpy(), edges)
    assert network.score(X) * 400 == pytest.approx(expected, abs=1e-5)
    raises("'a' and '[bd]' are never observed together", network.fit_indices, X)
    dag.add_edge("a", "b")
    message = r"\['a', 'b'\] are observed together in rows of weight 0"
    raises(message, GaussianBayesianNetwork(dag).fit, X)
    forbidden = [("a", "b"), ("a", "d"), ("b", "a"), ("d", "a")]
    with pytest.warns(MissingValuesWarning, match="may have the same score"):
        learner = GaussianBNLearner(missing="em", forbidden_edges=forbidden).fit(X)
    assert {*learner.dag_.to_undirected().edges} == {("a", "c"), ("b", "c"), ("b", "d")}
    mean = learner.network_.score(X)
    n_parameters = learner.dag_.number_of_edges() + 8
    assert learner.network_score_ == pytest.approx(mean * 400 - np.log(400) / 2 * n_parameters)
    assert mean * 400 == pytest.approx(expected, abs=1e-4)
    with pytest.warns(ConvergenceWarning):
        near = learner.near_optimal(within=1e-3)
    edges = [{*each.dag.edges} for each in near]
    assert len(edges) == 2  # nothing tells a -> c <- b from a <- c <- b
    assert sum({("a", "c"), ("b", "c")} <= own for own in edges) == 1


# Experiments


def test_densities_of_holes_given_what_was_set():
    X = table(12, seed=2)[["a", "b", "c"]]
    network = chain().fit(table()[["a", "b", "c"]])
    X.loc[2:8, "a"] = X.loc[6:, "c"] = np.nan
    targets, expected = [("b",) if i % 2 else None for i in range(12)], []
    for row, target in zip(X.to_numpy(), targets, strict=True):
        own = network if target is None else network.do({"b": row[1]})
        seen = [v for v in range(3) if not np.isnan(row[v]) and not (target and v == 1)]
        if seen:
            some = own[["abc"[v] for v in seen]]
            expected.append(multivariate_normal(some.mean, some.covariance).logpdf(row[seen]))
    assert network.score(X, interventions=targets) == pytest.approx(np.mean(expected))


def test_indices_by_groups_of_rows_with_the_same_nodes_set():
    X = table(200, seed=3)[["a", "b", "c"]]
    targets = [("b",) if i % 2 else None for i in range(200)]
    network = chain().fit(X, interventions=targets)
    indices = network.fit_indices(X, interventions=targets)
    free, held = X.to_numpy()[::2], X.to_numpy()[1::2]

    def gaussian(rows, given=None):
        """The log-likelihood of an unrestricted regression on what is given, or of the rows."""
        own = np.ones((len(rows), 1)) if given is None else np.column_stack([given, given**0])
        left = rows - own @ np.linalg.lstsq(own, rows, rcond=None)[0]
        covariance = left.T @ left / len(rows)
        return multivariate_normal(np.zeros(len(covariance)), covariance).logpdf(left).sum()

    every = gaussian(free) + gaussian(held[:, [0, 2]], held[:, 1])
    alone = sum(gaussian(free[:, [v]]) for v in range(3))
    alone += sum(gaussian(held[:, [v]]) for v in (0, 2))
    own = 200 * network.score(X, interventions=targets)
    assert indices.log_likelihood == pytest.approx(own)
    assert indices.chi2 == pytest.approx(2 * (every - own))
    assert indices.baseline_chi2 == pytest.approx(2 * (every - alone))
    # 9 and 2 + 2 + 3 parameters of the groups; 2 + 3 + 3 of the network.
    assert (indices.df, indices.baseline_df, indices.n_parameters) == (9 + 7 - 8, 3 + 3, 8)
    excess = (indices.chi2 - indices.df) / (indices.df * 200)
    assert indices.rmsea == pytest.approx(np.sqrt(2 * max(0.0, excess)))
    assert len(indices.d_separations) == 1
    raises(r"network.fit_indices\(X, interventions=interventions\)", network.fit_indices)
    few = [("b",) if i < 3 else None for i in range(200)]
    raises(r"3 rows have just the nodes \['b'\] set", network.fit_indices, X, interventions=few)
    # A row that hardly counts, with a hole, takes the other way to the same numbers.
    X.loc[200] = [0.1, 0.2, np.nan]
    weight, targets = [1.0] * 200 + [1e-7], [*targets, None]
    with_hole = network.fit_indices(X, sample_weight=weight, interventions=targets)
    for name in ("chi2", "baseline_chi2", "log_likelihood", "srmr", "rmsea"):
        assert getattr(with_hole, name) == pytest.approx(getattr(indices, name), abs=1e-5)
    assert np.isnan(with_hole.fisher_p_value)


def test_counterfactuals_of_rows_with_holes_are_expected_values():
    network = GaussianBayesianNetwork(DAG).fit(table())
    X = table(6, seed=4)
    X["g"] = X["g"].astype(object)
    X.loc[0, "b"] = X.loc[1, "c"] = np.nan
    X.loc[2, "g"] = None
    found = network.counterfactual(X, {"a": 1.0})
    draws = [network.counterfactual(network.sample_missing(X, k), {"a": 1.0}) for k in range(36)]
    for row, column in ((0, "b"), (0, "c"), (1, "c"), (2, "c")):
        values = [draw.loc[row, column] for draw in draws]
        error = np.std(values) / 6 + 1e-9
        # Drawn levels are whole, so that they lead elsewhere than expected indicators do.
        assert abs(np.mean(values) - found.loc[row, column]) < 5 * error + 0.15 * (row == 2)
    assert network.counterfactual(X, {"c": 1.0})["b"].isna()[0]

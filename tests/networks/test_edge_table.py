"""The table of a network's edges: standardised weights, score losses, which are reversible."""

import pickle
import sys
from copy import deepcopy
from itertools import combinations
from random import Random

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import reference
import statsmodels.api as sm
from agreement import raises
from drawn import graph_of, weighted
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import t
from sklearn.base import clone
from sklearn.datasets import load_diabetes

import skbn
from skbn import BGe, GaussianBayesianNetwork, GaussianBNLearner
from skbn.datasets import make_gaussian_network

# fit warns of the two values of sex, and of skewed residuals.
pytestmark = pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(as_frame=True, scaled=False).data


@pytest.fixture(scope="module")
def learner(diabetes):
    return GaussianBNLearner().fit(diabetes)


def losses_of(network, *args, **settings):
    """Return the column of score losses as a dict, or None without one."""
    frame = network.to_frame(*args, **settings)
    if "score_loss" not in frame:
        return None
    edges = zip(frame["parent"], frame["child"], strict=True)
    return dict(zip(edges, frame["score_loss"], strict=True))


def differences(scores, dag):
    """Return the difference of two local scores for each edge."""
    return {
        (a, b): scores.local_score(b, dag.predecessors(b))
        - scores.local_score(b, [p for p in dag.predecessors(b) if p != a])
        for a, b in dag.edges
    }


# Rows and weights


def test_a_row_for_each_edge_by_child_and_parent(learner):
    frame, dag = learner.network_.to_frame(), learner.dag_
    nodes = list(dag)
    expected = [(a, b) for b in nodes for a in nodes if dag.has_edge(a, b)]
    assert list(zip(frame["parent"], frame["child"], strict=True)) == expected
    assert list(frame["weight"]) == [dag.edges[edge]["weight"] for edge in expected]
    about_the_edge = ["parent", "child", "weight", "standardised_weight", "score_loss"]
    assert list(frame.columns) == [*about_the_edge, "reversible", *COLUMNS]
    assert frame["reversible"].dtype == bool
    # In a sparse network, standardised weights are those that its covariance has.
    network = learner.network_
    deviation = np.sqrt(np.diag(network.covariance_))
    i, j = (frame[end].map(network.nodes.index) for end in ("parent", "child"))
    expected = network.coef_[i, j] * deviation[i] / deviation[j]
    assert_allclose(frame["standardised_weight"], expected, rtol=1e-12)


def test_weights_where_there_are_any():
    chain = GaussianBayesianNetwork(weighted("abc", [("a", "b", 2.0), ("b", "c", 3.0)]))
    frame = chain.do({"b": 1.0}).to_frame()  # b does not vary
    assert list(frame["weight"]) == [3.0]
    assert np.isnan(frame["standardised_weight"]).all()
    frame = GaussianBayesianNetwork(nx.DiGraph([("a", "b")])).to_frame()
    assert frame.to_dict("list") == {"parent": ["a"], "child": ["b"], "reversible": [True]}
    empty = GaussianBayesianNetwork(graph_of(range(3))).to_frame()
    assert list(empty.columns) == ["parent", "child", "reversible"]
    assert len(empty) == 0


def test_probability_and_support_where_edges_carry_them(diabetes):
    posterior = skbn.GaussianBNPosterior("bge").fit(diabetes.iloc[:, :5])
    frame = posterior.median_network_.to_frame()
    for parent, child, probability in frame[["parent", "child", "probability"]].values:
        i, j = map(list(diabetes).index, (parent, child))
        assert probability == posterior.edge_probabilities_[i, j]
    assert "support" not in frame
    dag = nx.DiGraph([("a", "b", {"support": 0.25}), ("b", "c")])
    frame = GaussianBayesianNetwork(dag).to_frame()
    assert_array_equal(frame["support"], [0.25, np.nan])
    assert "probability" not in frame
    dag.edges["b", "c"]["support"] = "high"
    raises(r"support of edge 'b' -> 'c' .* got 'high'", GaussianBayesianNetwork, dag)


def test_a_table_without_pandas(learner, monkeypatch):
    frame = learner.network_.to_frame()
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert learner.network_.to_frame() == frame.to_dict("list")


# Reversible edges


@pytest.mark.parametrize("m", [2, 3, 4, 5])
def test_reversible_edges_are_those_that_some_equivalent_network_reverses(m):
    random, rng = Random(m), np.random.default_rng(m)
    for _ in range(15):
        parents = reference.parents_of(reference.random_graph(rng, m, 0.6))
        edges = [(p, c) for c, ps in enumerate(parents) for p in ps]
        dag = reference.graph_of(parents)
        fixed = {edge for edge in edges if random.random() < 0.2}
        for known in (set(), fixed):
            nx.set_edge_attributes(dag, dict.fromkeys(known, True), "fixed")
            members = reference.equivalent_dags(parents, known)
            expected = [any(c in other[p] for other in members) for p, c in edges]
            assert list(GaussianBayesianNetwork(dag).to_frame()["reversible"]) == expected


# Score losses


@pytest.mark.parametrize("criterion", ["bic", "aic", skbn.BGe()])
@pytest.mark.parametrize("settings", [{}, {"max_parents": 1}, {"tiers": [["bmi", "age"], ...]}])
def test_score_losses_are_differences_of_local_scores(diabetes, criterion, settings):
    scores = skbn.LocalScoreTransformer(criterion).fit_transform(diabetes)
    learner = GaussianBNLearner(**settings).fit(scores)
    expected = pytest.approx(differences(scores, learner.dag_), abs=1e-8)
    assert losses_of(learner.network_) == expected
    assert losses_of(learner.network_, scores) == expected
    by_hand = GaussianBayesianNetwork(nx.DiGraph(learner.dag_.edges))
    assert losses_of(by_hand, diabetes, criterion=criterion) == expected


def test_score_losses_of_a_penalty_and_of_many_columns(diabetes):
    learner = skbn.GaussianBNLearnerCV([3.0], cv=3).fit(diabetes)
    scores = skbn.LocalScoreTransformer(penalty=3.0).fit_transform(diabetes)
    expected = pytest.approx(differences(scores, learner.dag_), abs=1e-8)
    assert losses_of(learner.network_) == expected
    # The certificate tries only some columns as further parents, but removes each parent.
    rows, _ = make_gaussian_network(60, n_samples=200, mean_degree=3, random_state=0)
    scores = skbn.LocalScoreTransformer(max_parents=2).fit_transform(rows)
    learner = GaussianBNLearner(tiers=[[x] for x in range(60)]).fit(scores)
    expected = differences(scores, learner.dag_)
    assert len(expected) > 32
    assert losses_of(learner.network_) == pytest.approx(expected, abs=1e-8)


def test_the_bic_is_the_default_for_tables_in_any_order(learner, diabetes):
    expected = pytest.approx(losses_of(learner.network_), abs=1e-8)
    other_order = diabetes[list(diabetes)[::-1]].assign(note="a column of text")
    assert losses_of(learner.network_, other_order) == expected
    assert losses_of(learner.network_, diabetes.to_numpy()) == expected
    scores = skbn.LocalScoreTransformer().fit_transform(diabetes[list(diabetes)[::-1]])
    assert losses_of(learner.network_, scores) == expected


def test_listed_parent_sets():
    """Where the smaller set is not listed, its best listed subset takes its place."""
    alone = [([[-1, -1]], [-1.0])] * 2
    families = [*alone, ([[0, 1], [0, -1], [-1, -1]], [-2.0, -5.0, -9.0])]
    scores = skbn.ParentSetScores(["a", "b", "c"], families)
    learner = GaussianBNLearner().fit(scores)
    expected = {("a", "c"): 7.0, ("b", "c"): 3.0}
    assert losses_of(learner.network_) == losses_of(learner.network_, scores) == expected
    only = skbn.ParentSetScores(["a", "b", "c"], [*alone, ([[0, 1]], [-2.0])])
    assert losses_of(learner.network_, only) == {("a", "c"): np.inf, ("b", "c"): np.inf}


def test_losses_are_those_of_the_graph(learner, diabetes):
    network, losses = learner.network_, losses_of(learner.network_)
    for kept in (deepcopy(network), pickle.loads(pickle.dumps(learner)).network_):
        assert losses_of(kept) == losses
    fitted = deepcopy(network).fit(diabetes[:100])
    copied = GaussianBayesianNetwork(learner.dag_)
    for other in (network.do({"bmi": 25.0}), clone(network), fitted, copied):
        assert losses_of(other) is None


def test_scores_that_do_not_fit_are_refused(learner, diabetes):
    transform, table = skbn.LocalScoreTransformer().fit_transform, diabetes
    for scores, criterion, message in [
        (None, "aic", "criterion='aic' .* as scores"),
        (table, "BIC", "Got 'BIC'"),
        (transform(table), "bic", "Leave it at None"),
        (table.drop(columns="bmi"), None, "bmi"),
        (table.assign(bmi=1.0), None, "bmi"),
        (transform(table.iloc[:, 1:]), None, "age"),
    ]:
        raises(message, learner.network_.to_frame, scores, criterion=criterion)
    raises("str", learner.network_.to_frame, "table", kind=(TypeError, ValueError))


# Standard errors, p-values and intervals of coefficients, given the structure


COLUMNS = ["std_err", "t", "p_value", "ci_low", "ci_high"]
DAG = graph_of(range(5), [(0, 3), (1, 3), (2, 3), (3, 4), (0, 4)])


def table(n=40, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 5)) * [1, 1e3, 1e-3, 1, 1] + [0, 1e4, 5, 0, 0]
    rows[:, 3] += rows[:, 0] + 2e-3 * rows[:, 1]
    rows[:, 4] += rows[:, 3] / 2
    return rows


@pytest.mark.parametrize("weight", [None, np.arange(40) % 4])
def test_errors_of_statsmodels(weight):
    rows = table()
    frame = GaussianBayesianNetwork(DAG).fit(rows, sample_weight=weight).to_frame(confidence=0.9)
    repeated = rows if weight is None else np.repeat(rows, weight, axis=0)
    for child, of_child in frame.groupby("child"):
        design = sm.add_constant(repeated[:, of_child["parent"]])
        fit = sm.OLS(repeated[:, child], design).fit()
        expected = np.c_[fit.bse, fit.tvalues, fit.pvalues, fit.conf_int(alpha=0.1)]
        assert_allclose(of_child[COLUMNS], expected[1:], rtol=1e-8)


def test_a_learner_knows_the_errors():
    frame = pd.DataFrame(table(), columns=list("abcde"))
    network = GaussianBNLearner().fit(frame).network_
    expected = GaussianBayesianNetwork(network.dag).fit(frame).to_frame()
    pd.testing.assert_frame_equal(network.to_frame()[COLUMNS], expected[COLUMNS])
    stored = pickle.loads(pickle.dumps(network)).to_frame()
    pd.testing.assert_frame_equal(stored, network.to_frame())
    assert "std_err" not in network.to_frame(confidence=None)
    near = GaussianBNLearner().fit(frame).near_optimal(2)[1].to_frame()
    assert np.isfinite(near["std_err"]).all()
    changed = network.dag
    changed.remove_edge(*next(iter(changed.edges)))
    assert "std_err" not in GaussianBayesianNetwork(changed).to_frame()


def test_with_interventions_each_child_has_the_errors_of_its_own_rows():
    rows, is_set = table(60), np.zeros((60, 5), dtype=bool)
    is_set[:20, 3] = is_set[20:30, 4] = is_set[25:40, 0] = True
    learner = GaussianBNLearner(required_edges=list(DAG.edges)).fit(rows, interventions=is_set)
    for row in learner.network_.to_frame().to_dict("records"):
        parents, counts = sorted(learner.dag_.predecessors(row["child"])), ~is_set[:, row["child"]]
        errors = reference.standard_errors(rows[counts], row["child"], parents)
        assert row["std_err"] == pytest.approx(errors[parents.index(row["parent"])], rel=1e-9)
        quantile = t.ppf(0.975, counts.sum() - len(parents) - 1)
        assert row["ci_high"] - row["weight"] == pytest.approx(quantile * row["std_err"])


def test_no_errors_with_a_prior_or_holes_or_parameters_of_a_graph():
    rows = table(60)
    learned = GaussianBNLearner(BGe(), max_parents=2).fit(rows).network_
    assert "std_err" not in learned.to_frame()
    assert "std_err" not in GaussianBayesianNetwork(learned.dag).to_frame()
    assert "std_err" in GaussianBayesianNetwork(learned.dag).fit(rows).to_frame()
    assert "std_err" not in learned.do({0: 1.0}).to_frame()
    rows[0, 0] = np.nan
    missing = GaussianBNLearner(missing="em", n_candidates=2, max_parents=1).fit(rows)
    assert "std_err" not in missing.network_.to_frame()
    for level in (0, 1, -0.5, 95, np.nan):
        raises("confidence", GaussianBayesianNetwork(DAG).to_frame, confidence=level)


# What `print` shows of a network


def lines(network):
    return str(network).split("\n")


def test_regressions():
    a, b, c = "dose, mg", "b", "c\nd"
    edges = [(a, b, 1234.0), (a, c, -2.5e-7), (b, c, 3)]
    dag = weighted([a, b, c], edges, noise_variance=4.0, intercept=-0.0)
    dag.add_node(a, intercept=-12.3456, noise_variance=0.0)
    dag.add_node(c, noise_variance=1e12)
    assert lines(GaussianBayesianNetwork(dag)) == [
        "GaussianBayesianNetwork of 3 nodes and 3 edges (3 reversible)",
        "dose, mg = -12.3, no noise",
        "b = 1230 dose, mg, noise sd 2, R2 0.000",
        "'c\\nd' = -2.5e-07 dose, mg + 3 b, noise sd 1e+06, R2 0.000",
    ]


def test_nodes_that_are_numbers_are_not_taken_for_values():
    rows = np.random.default_rng(0).normal(size=(50, 2)) @ [[2.0, 6.0], [0.0, 1.0]] + [0, 1]
    network = GaussianBayesianNetwork(nx.DiGraph([(0, 1)])).fit(rows)
    slope, intercept = np.polyfit(*rows.T, 1)
    share, noise = np.corrcoef(rows.T)[0, 1] ** 2, np.sqrt(network.noise_variance_[1])
    assert network.r2_ == {0: 0.0, 1: pytest.approx(share)}
    expected = f"{intercept:.3g} + {slope:.3g} x[0], noise sd {noise:.3g}, R2 {share:.3f}"
    assert lines(network)[2] == f"x[1] = {expected}"


def test_r2_is_that_of_regressions():
    """Of a network with all edges, and of one with exogenous nodes that are correlated."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(80, 4)) @ rng.normal(size=(4, 4)), columns=list("abcd"))
    every = nx.DiGraph([*combinations("abcd", 2)])
    given = nx.DiGraph([("a", "c"), ("b", "c"), ("c", "d"), ("a", "d"), ("b", "d")])
    nx.set_node_attributes(given, dict.fromkeys("ab", True), "exogenous")
    for dag in (every, given):
        network = GaussianBayesianNetwork(dag).fit(rows)
        for node in "cd":
            regressors = sm.add_constant(rows[[*dag.predecessors(node)]])
            expected = sm.OLS(rows[node], regressors).fit().rsquared
            assert network.r2_[node] == pytest.approx(expected)
    assert np.isnan(network.r2_["a"])
    copied = GaussianBayesianNetwork(network.dag)  # which does not know how a and b vary together
    assert np.isnan(copied.r2_["c"])
    assert "R2" not in str(copied)
    held = GaussianBayesianNetwork(every).fit(rows).do({"b": 1.0})
    assert np.isnan(held.r2_["b"])
    unexplained = held.noise_variance_[3] / held.covariance_[3, 3]
    assert held.r2_["d"] == pytest.approx(1 - unexplained)


def test_without_parameters_only_the_structure():
    dag = graph_of("acbde", ["ac", "bc", "cd"])
    first = "GaussianBayesianNetwork of 5 nodes and 3 edges (0 reversible)"
    assert lines(GaussianBayesianNetwork(dag)) == [first, "c <- a, b", "d <- c"]
    dag.remove_edge("a", "c")
    assert lines(GaussianBayesianNetwork(dag))[0].endswith("5 nodes and 2 edges (2 reversible)")
    dag.edges["b", "c"]["fixed"] = True  # and so c -> d too
    assert lines(GaussianBayesianNetwork(dag))[0].endswith("(0 reversible)")


def test_large_networks_are_cut():
    names = [f"n{v}" for v in range(30)]
    dag = graph_of(names, [(name, "n3") for name in names if name != "n3"])
    dag.add_edges_from((name, "n29") for name in names[4:29])
    network = GaussianBayesianNetwork(dag)
    assert lines(network)[1:] == [
        "n3 <- n0, n1, n2, n4, n5, 24 more parents",
        "n29 <- n4, n5, n6, n7, n8, 20 more parents",
    ]
    found = lines(network.fit(np.random.default_rng(0).normal(size=(100, 30))))
    assert len(found) == 1 + 15
    assert found[1].startswith("n0 = ")
    assert " n5 + 24 more parents, noise sd " in found[4]
    assert found[-1] == "... and 16 more nodes"

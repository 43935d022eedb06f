"""The table of a network's edges: standardised weights, score losses, which are reversible."""

import pickle
import sys
from copy import deepcopy
from random import Random

import networkx as nx
import numpy as np
import pytest
import reference
from agreement import raises
from sklearn.base import clone
from sklearn.datasets import load_diabetes

import skbn
from skbn.datasets import make_gaussian_network

pytest.importorskip("pandas")
# fit warns of the two values of sex, and of skewed residuals.
pytestmark = pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(as_frame=True, scaled=False).data


@pytest.fixture(scope="module")
def learner(diabetes):
    return skbn.GaussianBNLearner().fit(diabetes)


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
    assert list(frame.columns) == [
        *("parent", "child", "weight", "standardised_weight", "score_loss", "reversible"),
        *("std_err", "t", "p_value", "ci_low", "ci_high"),
    ]
    assert frame["reversible"].dtype == bool


def test_standardised_weights_of_the_joint_distribution(learner):
    """In a sparse network, those that the covariance of the network has."""
    network = learner.network_
    deviation = np.sqrt(np.diag(network.covariance_))
    i, j = (network.to_frame()[end].map(network.nodes.index) for end in ("parent", "child"))
    expected = network.coef_[i, j] * deviation[i] / deviation[j]
    np.testing.assert_allclose(network.to_frame()["standardised_weight"], expected, rtol=1e-12)


def test_nodes_that_do_not_vary_have_no_standardised_weights():
    dag = nx.DiGraph()
    dag.add_nodes_from("abc", intercept=0.0, noise_variance=1.0)
    dag.add_weighted_edges_from([("a", "b", 2.0), ("b", "c", 3.0)])
    frame = skbn.GaussianBayesianNetwork(dag).do({"b": 1.0}).to_frame()
    assert list(frame["weight"]) == [3.0]
    assert np.isnan(frame["standardised_weight"]).all()


def test_without_parameters_there_are_no_weights():
    frame = skbn.GaussianBayesianNetwork(nx.DiGraph([("a", "b")])).to_frame()
    assert frame.to_dict("list") == {"parent": ["a"], "child": ["b"], "reversible": [True]}
    empty = skbn.GaussianBayesianNetwork(nx.empty_graph(3, nx.DiGraph)).to_frame()
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
    frame = skbn.GaussianBayesianNetwork(dag).to_frame()
    np.testing.assert_array_equal(frame["support"], [0.25, np.nan])
    assert "probability" not in frame
    dag.edges["b", "c"]["support"] = "high"
    raises(r"support of edge 'b' -> 'c' .* got 'high'", skbn.GaussianBayesianNetwork(dag).to_frame)


def test_a_table_without_pandas(learner, monkeypatch):
    frame = learner.network_.to_frame()
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert learner.network_.to_frame() == frame.to_dict("list")


# Reversible edges


@pytest.mark.parametrize("m", [2, 3, 4, 5])
def test_reversible_edges_are_those_that_some_equivalent_network_reverses(m):
    random = Random(m)
    for _ in range(15):
        order = random.sample(range(m), m)
        parents = [
            sorted(p for p in order[: order.index(x)] if random.random() < 0.6) for x in range(m)
        ]
        edges = [(p, c) for c, ps in enumerate(parents) for p in ps]
        dag = reference.graph_of(parents)
        fixed = {edge for edge in edges if random.random() < 0.2}
        for known in (set(), fixed):
            nx.set_edge_attributes(dag, dict.fromkeys(known, True), "fixed")
            members = reference.equivalent_dags(parents, known)
            expected = [any(c in other[p] for other in members) for p, c in edges]
            assert list(skbn.GaussianBayesianNetwork(dag).to_frame()["reversible"]) == expected


# Score losses


@pytest.mark.parametrize("criterion", ["bic", "aic", skbn.BGe()])
@pytest.mark.parametrize("settings", [{}, {"max_parents": 1}, {"tiers": [["bmi", "age"], ...]}])
def test_score_losses_are_differences_of_local_scores(diabetes, criterion, settings):
    scores = skbn.LocalScoreTransformer(criterion).fit_transform(diabetes)
    learner = skbn.GaussianBNLearner(**settings).fit(scores)
    expected = pytest.approx(differences(scores, learner.dag_), abs=1e-8)
    assert losses_of(learner.network_) == expected
    assert losses_of(learner.network_, scores) == expected
    by_hand = skbn.GaussianBayesianNetwork(nx.DiGraph(learner.dag_.edges))
    by_hand.dag.add_nodes_from(diabetes)
    assert losses_of(by_hand, diabetes, criterion=criterion) == expected


def test_score_losses_of_a_penalty(diabetes):
    learner = skbn.GaussianBNLearnerCV([3.0], cv=3).fit(diabetes)
    scores = skbn.LocalScoreTransformer(penalty=3.0).fit_transform(diabetes)
    expected = pytest.approx(differences(scores, learner.dag_), abs=1e-8)
    assert losses_of(learner.network_) == expected


def test_many_columns_with_few_parents():
    """The certificate tries only some columns as further parents, but removes each parent."""
    rows, _ = make_gaussian_network(60, n_samples=200, mean_degree=3, random_state=0)
    scores = skbn.LocalScoreTransformer(max_parents=2).fit_transform(rows)
    learner = skbn.GaussianBNLearner(tiers=[[x] for x in range(60)]).fit(scores)
    expected = differences(scores, learner.dag_)
    assert len(expected) > 32
    assert losses_of(learner.network_) == pytest.approx(expected, abs=1e-8)


def test_a_required_edge_may_be_better_left_out(diabetes):
    learner = skbn.GaussianBNLearner(required_edges=[("age", "s1"), ("sex", "s1")]).fit(diabetes)
    assert min(losses_of(learner.network_).values()) < 0


def test_the_bic_is_the_default_for_tables_in_any_order(learner, diabetes):
    expected = pytest.approx(losses_of(learner.network_), abs=1e-8)
    other_order = diabetes[list(diabetes)[::-1]].assign(note="a column of text")
    assert losses_of(learner.network_, other_order) == expected
    assert losses_of(learner.network_, diabetes.to_numpy()) == expected
    scores = skbn.LocalScoreTransformer().fit_transform(diabetes[list(diabetes)[::-1]])
    assert losses_of(learner.network_, scores) == expected


def test_listed_parent_sets():
    """Where the smaller set is not listed, its best listed subset takes its place."""
    families = [
        ([[-1, -1]], [-1.0]),
        ([[-1, -1]], [-1.0]),
        ([[0, 1], [0, -1], [-1, -1]], [-2.0, -5.0, -9.0]),
    ]
    scores = skbn.ParentSetScores(["a", "b", "c"], families)
    learner = skbn.GaussianBNLearner().fit(scores)
    expected = {("a", "c"): 7.0, ("b", "c"): 3.0}
    assert losses_of(learner.network_) == losses_of(learner.network_, scores) == expected
    only = skbn.ParentSetScores(["a", "b", "c"], [*families[:2], ([[0, 1]], [-2.0])])
    assert losses_of(learner.network_, only) == {("a", "c"): np.inf, ("b", "c"): np.inf}


def test_losses_are_those_of_the_graph(learner, diabetes):
    losses = losses_of(learner.network_)
    kept = [deepcopy(learner.network_), pickle.loads(pickle.dumps(learner)).network_]
    kept[0].dag.edges["s5", "bmi"]["fixed"] = True  # has nothing to do with the score
    for network in kept:
        assert losses_of(network) == losses
    network = deepcopy(learner.network_)
    assert losses_of(network.do({"bmi": 25.0})) is None
    assert losses_of(clone(network)) is None
    network.dag.remove_edge("s6", "age")
    network.dag.add_edge("age", "s6", weight=1.0)
    assert losses_of(network) is None
    network = deepcopy(learner.network_).fit(diabetes[:100])
    assert losses_of(network) is None
    assert losses_of(skbn.GaussianBayesianNetwork(learner.dag_)) is None


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (lambda table, _: ((), {"criterion": "aic"}), ValueError, "criterion='aic' .* as scores"),
        (lambda table, _: ((table,), {"criterion": "BIC"}), ValueError, "got 'BIC'"),
        (lambda _, scores: ((scores,), {"criterion": "bic"}), ValueError, "Leave it at None"),
        (lambda table, _: ((table.drop(columns="bmi"),), {}), ValueError, "bmi"),
        (lambda table, _: ((table.assign(bmi=1.0),), {}), ValueError, "bmi"),
        (lambda table, _: (("table",), {}), (TypeError, ValueError), "str"),
        (
            lambda table, _: ((skbn.LocalScoreTransformer().fit_transform(table.iloc[:, 1:]),), {}),
            ValueError,
            "age",
        ),
    ],
)
def test_scores_that_do_not_fit_are_refused(learner, diabetes, arguments, error, message):
    scores = skbn.LocalScoreTransformer().fit_transform(diabetes)
    given, settings = arguments(diabetes, scores)
    raises(message, learner.network_.to_frame, *given, kind=error, **settings)

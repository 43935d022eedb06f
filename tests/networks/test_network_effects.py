"""Total effects, their parts along paths, and the effects in all members of a class."""

from collections import Counter
from itertools import combinations
from math import factorial

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
from agreement import raises
from drawn import weighted
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skbn import GaussianBayesianNetwork, GaussianBNLearner
from skbn._networks.equivalence import members_by_parents
from skbn.datasets import make_gaussian_network

pytestmark = pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")


def random_network(seed, m=6):
    return GaussianBayesianNetwork(reference.random_graph(np.random.default_rng(seed), m))


@given(st.integers(0, 10**6))
def test_total_effects_add_up_over_all_paths(seed):
    network = random_network(seed)
    frame, expected = network.effects(), reference.total_effects(network.coef_)
    assert len(frame) == np.isfinite(expected).sum()
    for row in frame.to_dict("records"):
        pair = row["cause"], row["outcome"]
        assert row["total"] == pytest.approx(expected[pair])
        assert network.total_effect(*pair) == row["total"]
        assert row["direct"] == network.coef_[pair]
        assert row["total"] == pytest.approx(row["direct"] + row["indirect"])
        paths = network.path_effects(*pair)
        assert len(paths) == row["n_paths"]
        assert paths["effect"].sum() == pytest.approx(row["total"])
        assert list(paths["path"].map(len)) == sorted(paths["path"].map(len))


def test_without_a_path_there_is_no_effect():
    network = GaussianBayesianNetwork(weighted(range(3), [(0, 1, 2.0)]))
    assert network.total_effect(1, 0) == network.total_effect(0, 2) == 0
    assert list(network.path_effects(1, 0).columns) == ["path", "effect"]
    assert len(network.path_effects(1, 0)) == 0


def test_too_many_paths_are_refused_and_counted():
    complete = weighted(range(20), [(a, b, 1.0) for a, b in combinations(range(20), 2)])
    network = GaussianBayesianNetwork(complete)
    assert network.total_effect(0, 19) == 2**18
    raises(r"262,144 directed paths lead from 0 to 19", network.path_effects, 0, 19)


# The class


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3]))
def test_class_effects_are_those_of_all_members(seed, share_fixed):
    dag = random_network(seed, m=5).dag
    rng = np.random.default_rng(seed)
    fixed = {edge for edge in dag.edges if rng.random() < share_fixed}
    nx.set_edge_attributes(dag, dict.fromkeys(fixed, True), "fixed")
    network = GaussianBayesianNetwork(dag)
    covariance = network.covariance_
    counts, effects = Counter(), {}
    for parents in reference.equivalent_dags(reference.parents_of(dag), fixed):
        coef = np.zeros((5, 5))
        for child, p in enumerate(map(list, parents)):
            coef[p, child] = np.linalg.solve(covariance[np.ix_(p, p)], covariance[p, child])
        counts[parents[0]] += 1
        effects[parents[0]] = np.linalg.inv(np.eye(5) - coef)[0]
    for outcome in range(1, 5):
        frame = network.class_effects(0, outcome)
        found = {tuple(row["adjusted_for"]): row for row in frame.to_dict("records")}
        assert {key: row["n_members"] for key, row in found.items()} == counts
        for key, row in found.items():
            assert row["effect"] == pytest.approx(effects[key][outcome], abs=1e-9)
        assert list(frame["n_members"]) == sorted(frame["n_members"], reverse=True)


def test_counts_of_large_classes():
    m = 9
    complete = [(1 << x) - 1 for x in range(m)]
    counts = {each[4]: n for each, n in members_by_parents(complete, [4])}
    assert sum(counts.values()) == factorial(m)
    for mask, n in counts.items():
        before = mask.bit_count()
        assert n == factorial(before) * factorial(m - 1 - before)
    chain = [0, *(1 << x for x in range(29))]
    counts = {each[9]: n for each, n in members_by_parents(chain, [9])}
    assert counts == {0: 1, 1 << 8: 9, 1 << 10: 20}
    complete = [(1 << x) - 1 for x in range(15)]
    raises("more than 8,192 sets of parents", members_by_parents, complete, [4])


def test_knowledge_and_experiments_narrow_the_effects_down():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)), columns=list("abc"))
    X["b"] += X["a"]
    X["c"] += X["b"]
    is_set = np.zeros((200, 2), dtype=bool)
    is_set[100:, 0] = True

    def effects(cause, outcome, X, interventions=None, **knowledge):
        learner = GaussianBNLearner(**knowledge).fit(X, interventions=interventions)
        return learner.network_.class_effects(cause, outcome)

    assert sorted(effects("b", "c", X)["n_members"]) == [1, 1, 1]
    known = effects("b", "c", X, tiers=[["a"], ["b", "c"]])
    assert list(known["adjusted_for"]) == [["a"]]
    assert_allclose(known["effect"], X["b"].cov(X["c"]) / X["b"].var(), rtol=0.05)
    X = X[["a", "b"]]
    assert len(effects("a", "b", X)) == 2
    found = effects("a", "b", X, interventions=is_set)
    assert (list(found["n_members"]), list(found["adjusted_for"])) == ([1], [[]])
    found = effects("a", "b", X, exogenous=["a"])
    assert_allclose(found["effect"], [np.polyfit(X["a"], X["b"], 1)[0]])


@pytest.mark.parametrize("method", ["total_effect", "path_effects", "class_effects"])
def test_refusals(method):
    ask = getattr(random_network(0), method)
    for cause, message in [
        (9, r"cause must .*node.*9"),
        ([0], "cause must be a single node"),
        (0, "must differ; both are 0"),
    ]:
        raises(message, ask, cause, 0)
    X = pd.DataFrame({"site": np.resize(["n", "s", "w"], 20), "x": np.arange(20.0) ** 2})
    blocks = GaussianBNLearner(nodes="auto").fit(X).network_
    ask = getattr(blocks, method)
    for pair, message in [
        (("site", "x"), r"two different levels .* cause=\('site', 'n', 's'\)"),
        ((("site", "n", "n"), "x"), "two different levels"),
        ((("site", "n", "e"), "x"), "two different levels"),
        (("x", "site"), r"one of its levels .* outcome=\('site', 'w'\)"),
        ((("site", "n", "s"), "site=w"), "must differ; both are 'site'"),
    ]:
        raises(message, ask, *pair)
    if method == "class_effects":
        raises("Node 2 has no noise", random_network(0).do({2: 1.0}).class_effects, 0, 1)


# Nodes of several columns


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    n = 300
    age = rng.normal(size=n)
    site = np.where(age + rng.normal(size=n) > 0.5, "w", rng.choice(["n", "s"], n))
    x = rng.normal(size=n) + (site == "w")
    X = pd.DataFrame({"age": age, "site": site, "x": x, "x2": x**2 + rng.normal(size=n) + age})
    X["smokes"] = rng.normal(size=n) + 0.5 * (site == "s") > 0.3
    X["y"] = x + X["x2"] + X["smokes"] + (site == "w") - age + rng.normal(size=n)
    after_site = [("site", node) for node in ("spline", "smokes", "y")]
    required = [("age", "site"), ("age", "spline"), *after_site, ("spline", "y"), ("smokes", "y")]
    forbidden = [("age", "y"), ("age", "smokes")]
    learner = GaussianBNLearner(
        nodes={"spline": ["x", "x2"]}, required_edges=required, forbidden_edges=forbidden
    )
    return learner.fit(X).network_, X


def test_contrasts_are_differences_of_interventions(mixed):
    network, _ = mixed
    means = {level: network.do({"site": level}) for level in "nsw"}
    for before, after in [("n", "s"), ("s", "w"), ("w", "n")]:
        for outcome in ("y", "x2"):
            found = network.total_effect(("site", before, after), outcome)
            assert found == pytest.approx(means[after][outcome].mean - means[before][outcome].mean)
        found = network.total_effect(("site", before, after), ("smokes", False))
        smokes = [means[level]["smokes"][False] for level in (before, after)]
        assert found == pytest.approx(smokes[1] - smokes[0])
    mean = [network.do({"spline": [0.0, x2]})["y"].mean for x2 in (0.0, 1.0)]
    assert network.total_effect("x2", "y") == pytest.approx(mean[1] - mean[0])
    held = [network.columns_.do({"age": age}) for age in (0.0, 1.0)]
    for level in "sw":
        change = held[1][f"site={level}"].mean - held[0][f"site={level}"].mean
        assert network.total_effect("age", ("site", level)) == pytest.approx(change)
    raises(r"'spline' has the columns \['x', 'x2'\]. Name one", network.total_effect, "spline", "y")


def test_tables_of_effects_name_contrasts(mixed):
    network, _ = mixed
    frame = network.effects()
    for row in frame.to_dict("records"):
        assert row["total"] == pytest.approx(row["direct"] + row["indirect"])
        node, *change = row["cause"].replace(" to ", ": ").split(": ")
        if change and node == "smokes":
            change = [False, True]
        cause = (node, *change) if change else node
        assert network.total_effect(cause, row["outcome"]) == row["total"]
        paths = network.path_effects(cause, row["outcome"])
        assert len(paths) == row["n_paths"]
        assert paths["effect"].sum() == pytest.approx(row["total"])
    assert {"site: n to s", "site: n to w", "smokes: False to True"} <= {*frame["cause"]}


def test_class_effects_of_nodes_are_those_of_members(mixed):
    network, X = mixed
    free = GaussianBayesianNetwork(nx.DiGraph(network.dag.edges), network.blocks).fit(X)
    frame = free.class_effects(("site", "s", "w"), "x2")
    effects = {tuple(p): e for p, e in zip(frame["adjusted_for"], frame["effect"], strict=True)}
    order = free.nodes
    numbered = nx.relabel_nodes(free.dag, {node: v for v, node in enumerate(order)})
    members = reference.equivalent_dags(reference.parents_of(numbered))
    assert len(members) > 1
    for parents in members:
        dag = nx.relabel_nodes(reference.graph_of(parents), dict(enumerate(order)))
        member = GaussianBayesianNetwork(dag, network.blocks).fit(X)
        adjusted = tuple(order[v] for v in sorted(parents[order.index("site")]))
        found = member.total_effect(("site", "s", "w"), "x2")
        assert effects[adjusted] == pytest.approx(found, abs=1e-9)


def test_counterfactuals_of_categories_follow_the_columns(mixed):
    network, rows = mixed[0], mixed[1].head(6)
    levels = {f"site={level}": rows["site"] == level for level in "sw"}
    encoded = rows.assign(**levels, **{"smokes=True": rows["smokes"]}).drop(columns="site")
    assert np.isfinite(network.columns_.residuals(encoded)).all(axis=None)
    found = network.counterfactual(rows, {"site": "w"})
    of_columns = network.columns_.counterfactual(encoded, {"site=s": 0.0, "site=w": 1.0})
    for column in ("age", "x", "x2", "y"):
        assert list(found[column]) == pytest.approx(list(of_columns[column]))
    assert set(found["site"]) == {"w"}
    assert list(found["smokes"]) == list(of_columns["smokes=True"] > 0.5)
    assert found.dtypes.equals(rows.dtypes)
    each = network.counterfactual(rows, {"site": pd.Series(list("nswnsw"), rows.index)})
    for row, level in enumerate("nsw"):
        alone = network.counterfactual(rows.iloc[[row]], {"site": level})
        assert list(each.iloc[[row]]["y"]) == pytest.approx(list(alone["y"]))
    same = network.counterfactual(rows, {"site": rows["site"].tolist()})
    assert same.equals(rows)
    raises("one for each of the 6 rows", network.counterfactual, rows, {"site": ["n", "w"]})


# Rows as they would have been, had nodes been set to other values


seeds = st.integers(0, 10**6)
numbers = st.floats(-1e3, 1e3)


def network_and_rows(seed, n=4):
    rows, network = make_gaussian_network(5, mean_degree=2.5, n_samples=n, random_state=seed)
    return network, rows


def step_by_step(network, row, do):
    """Abduction, action and prediction, equation by equation."""
    noise = row - network.intercept_ - row @ network.coef_
    changed = np.zeros(len(row))
    for node in nx.topological_sort(network.dag):
        predicted = network.intercept_[node] + changed @ network.coef_[:, node]
        changed[node] = do.get(node, predicted + noise[node])
    return changed


@given(seeds, st.dictionaries(st.integers(0, 4), numbers, max_size=3))
def test_by_abduction_action_and_prediction(seed, do):
    network, rows = network_and_rows(seed)
    expected = [step_by_step(network, row, do) for row in rows]
    assert_allclose(network.counterfactual(rows, do), expected, rtol=1e-9, atol=1e-9)
    assert_array_equal(network.counterfactual(rows, {}), rows)  # also of what was observed
    assert_array_equal(network.counterfactual(rows, {v: rows[:, v] for v in do}), rows)


def test_frames_keep_their_columns_and_labels():
    dag = nx.DiGraph([("a", "b"), ("b", "c")])
    X = pd.DataFrame({"id": [7, 8, 9], "c": [1, 5, 3], "b": [0.0, 3, 1], "a": [1, 2, 4]})
    X.index = ["x", "y", "z"]
    network = GaussianBayesianNetwork(dag).fit(X)
    weights = network.coef_[0, 1], network.coef_[1, 2]
    do = {"b": pd.Series({"z": 2.0, "x": 1.0, "y": 3.0})}  # by label
    found = network.counterfactual(X, do)
    assert list(found.columns) == list(X.columns)
    pd.testing.assert_frame_equal(found[["id", "a"]], X[["id", "a"]])
    assert_allclose(found["b"], [1, 3, 2])
    assert_allclose(found["c"], X["c"] + weights[1] * (found["b"] - X["b"]))
    frame = network.counterfactual(pl.from_pandas(X), {"b": [1.0, 3.0, 2.0]})
    assert frame["c"].to_list() == found["c"].to_list()


def test_refusals_of_counterfactual():
    network, rows = network_and_rows(0)
    for do, message in [
        ({9: 1.0}, "9"),
        ({0: np.nan}, "finite number"),
        ({0: [1.0, 2.0]}, "node 0 in do must be one for all, or one for each of the 4 rows"),
        ({0: [1.0, 2.0, np.inf, 0.0]}, "node 0 in do, entry 2, must be a finite number"),
        ({0: ["low"] * 4}, "node 0 in do, entry 0, must be a finite number; got 'low'"),
    ]:
        raises(message, network.counterfactual, rows, do)
    raises("do must be a dict", network.counterfactual, rows, [1.0], kind=TypeError)
    steep, rows = weighted("ab", [("a", "b", 1e200)]), [[-1e150, 1], [1e150, 1]]
    message, ask = "node 'b' in row 1 would be out of", GaussianBayesianNetwork(steep)
    raises(message, ask.counterfactual, rows, {"a": -1e150})

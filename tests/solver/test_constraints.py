"""Required and forbidden edges, tiers and numbers of parents."""

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
from agreement import raises
from random_constraints import is_allowed, random_constraints
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid, cross_val_score

from skbn import BIC, GaussianBNLearner, GaussianBNLearnerCV, LocalScoreTransformer
from skbn._core.subsets import mask_of
from skbn._solver.constraints import read_constraints
from skbn.datasets import make_gaussian_network

COLUMNS = list("abcde")
ROWS = make_gaussian_network(5, n_samples=80, random_state=0)[0]
FRAME = pd.DataFrame(ROWS, columns=COLUMNS)
EDGES = pd.DataFrame({"parent": ["d", "c"], "child": ["a", "b"]})


@pytest.mark.parametrize(
    ("m", "n_cases"),
    [
        *((2, 20), (3, 20), (4, 12), (5, 3), (6, 3), (7, 3), (8, 2)),
        pytest.param(4, 300, marks=pytest.mark.slow),
    ],
)
def test_optimum_is_that_of_the_dynamic_program(m, n_cases):
    rng = np.random.default_rng(m)
    for _ in range(n_cases):
        n = int(rng.integers(m + 2, 100))
        rows = make_gaussian_network(m, n_samples=n, random_state=rng)[0]
        settings = random_constraints(rng, m)
        local = {
            (x, parents): score if is_allowed(x, parents, settings) else -np.inf
            for (x, parents), score in reference.all_local_scores(rows).items()
        }
        best = reference.best_score_by_dynamic_program(local, m)
        learner = GaussianBNLearner(**settings).fit(rows)
        assert learner.network_score_ == pytest.approx(best, abs=1e-8)
        own = sum(local[x, parents] for x, parents in enumerate(reference.parents_of(learner.dag_)))
        assert own == pytest.approx(best, abs=1e-8)
        # The other way to search, by lists of the families that no subset beats.
        limited = settings | {"max_parents": settings.get("max_parents", m - 1)}
        learner = GaussianBNLearner(**limited).fit(rows)
        assert learner.network_score_ == pytest.approx(best, abs=1e-8)


def test_a_search_beyond_thirty_columns():
    """Four tiers, each tier's optimum known: a search of its own with the earlier ones given."""
    rows = make_gaussian_network(36, n_samples=300, random_state=0)[0]
    tiers = [list(range(i, i + 9)) for i in range(0, 36, 9)]
    learner = GaussianBNLearner(tiers=tiers, max_parents=2).fit(rows)
    assert all(a // 9 <= b // 9 for a, b in learner.dag_.edges)
    assert nx.is_directed_acyclic_graph(learner.dag_)
    scores = LocalScoreTransformer(max_parents=2).fit_transform(rows)
    for x in tiers[3]:  # no family with parents from earlier tiers only beats the chosen one
        chosen = scores.local_score(x, learner.dag_.predecessors(x))
        assert chosen >= scores.top_parents(x, 1, range(27))[0].score - 1e-9
    swapped = GaussianBNLearner(tiers=[range(18), range(18, 36)], max_parents=2)
    assert swapped.fit(rows).network_score_ >= learner.network_score_ - 1e-9


def test_a_total_order_is_regression_by_regression():
    rows = make_gaussian_network(9, n_samples=80, random_state=0)[0]
    order = [4, 2, 8, 0, 1, 7, 3, 6, 5]
    scores = LocalScoreTransformer().fit_transform(rows)
    expected = [scores.best_parents(x, order[:i]) for i, x in enumerate(order)]
    for settings in (
        {"tiers": [[x] for x in order]},
        {"tiers": [[x] for x in order], "max_parents": 8},
        {"forbidden_edges": [(b, a) for i, a in enumerate(order) for b in order[i:] if a != b]},
    ):
        dag = GaussianBNLearner(**settings).fit(rows).dag_
        assert [sorted(dag.predecessors(x)) for x in order] == expected


@pytest.mark.parametrize(
    "edges",
    [
        EDGES,
        pl.DataFrame({"parent": ["d", "c"], "child": [0, 1]}),
        EDGES.astype("category"),
        EDGES.to_numpy(),
        np.array([[3, 0], [2, 1]]),
        EDGES.to_records(index=False),
        pd.Series([("d", "a"), ("c", "b")]),
        list(EDGES.itertuples(index=False)),
        EDGES.rename(columns={"parent": "dag"}),
        nx.DiGraph([("d", "a"), ("c", "b")]),
        [("d", 0), [2, "b"]],
    ],
)
@pytest.mark.parametrize(
    ("parameter", "settings"),
    [
        ("required_edges", {"penalty": 1e3}),  # no edge is worth its price
        ("forbidden_edges", {"penalty": 0.0, "tiers": [["c", "d"], ...]}),  # each edge is
    ],
)
def test_edges_in_a_table_are_those_of_a_list(edges, parameter, settings):
    learner = clone(GaussianBNLearner(**{parameter: edges}, **settings))
    assert parameter in repr(learner)
    assert learner.get_params()[parameter] is getattr(learner, parameter)
    stated = {("d", "a"), ("c", "b")}
    free = GaussianBNLearner(**settings).fit(FRAME).dag_
    for _ in range(2):  # a second fit reads the same edges
        found = set(learner.fit(FRAME).dag_.edges)
        if parameter == "required_edges":
            assert found == stated
            assert not free.edges
        else:
            assert not found & stated
            assert stated <= set(free.edges)


def test_all_edges_at_a_column_can_be_forbidden_at_once():
    some = [(..., "b"), ("d", ...), ("a", "c")]
    others = [*((x, "b") for x in "acde"), *(("d", x) for x in "abce"), ("a", "c")]
    expected = GaussianBNLearner(penalty=0, forbidden_edges=others).fit(FRAME).dag_
    found = GaussianBNLearner(penalty=0, forbidden_edges=some).fit(FRAME).dag_
    assert list(found.edges) == list(expected.edges)
    assert not list(found.predecessors("b")) + list(found.successors("d"))


@pytest.mark.parametrize("edges", [np.empty((0, 2)), pd.DataFrame(), [], np.array([])])
def test_an_empty_table_has_no_edges(edges):
    free = GaussianBNLearner().fit(ROWS).dag_
    assert list(GaussianBNLearner(required_edges=edges).fit(ROWS).dag_.edges) == list(free.edges)


def test_an_adjacency_matrix_is_given_as_the_refusal_says():
    matrix = np.eye(5, k=1)
    for table in (matrix, pd.DataFrame(matrix)):
        with pytest.raises(ValueError, match=r"shape is \(5, 5\).*give numpy\.argwhere of it"):
            GaussianBNLearner(required_edges=table).fit(ROWS)
        dag = GaussianBNLearner(required_edges=np.argwhere(table)).fit(ROWS).dag_
        assert {(0, 1), (1, 2), (2, 3), (3, 4)} <= set(dag.edges)


@pytest.mark.parametrize(
    ("tiers", "in_full"),
    [
        ([["d"], ...], [["d"], ["a", "b", "c", "e"]]),
        ([..., ["a", "c"]], [["b", "d", "e"], ["a", "c"]]),
        ([["e"], ..., ["a", "c"]], [["e"], ["b", "d"], ["a", "c"]]),
        ([["a", "b", "c"], ..., ["d", "e"]], [["a", "b", "c"], ["d", "e"]]),
        ([...], [COLUMNS]),
        ({"first": ["d"], "then": ...}, [["d"], ["a", "b", "c", "e"]]),
        (({3}, np.array(["a", "b"]), ...), [["d"], ["a", "b"], ["c", "e"]]),
    ],
)
def test_the_rest_is_a_tier_of_all_columns_not_named(tiers, in_full):
    constraints, expected = (
        read_constraints(COLUMNS, max_parents=4, tiers=each) for each in (tiers, in_full)
    )
    assert constraints == expected
    learner = clone(GaussianBNLearnerCV(tiers=tiers, cv=2, penalties=[0.0]))
    expected_dag = GaussianBNLearner(tiers=in_full, penalty=0.0).fit(FRAME).dag_
    assert set(learner.fit(FRAME).dag_.edges) == set(expected_dag.edges)
    assert "Ellipsis" in repr(learner)


def test_a_search_over_constraints():
    grid = {"tiers": [None, [["d"], ...], [..., ["a"]]], "required_edges": [None, EDGES]}
    search = GridSearchCV(GaussianBNLearner(), grid, cv=3).fit(FRAME)
    alone = [
        cross_val_score(GaussianBNLearner(**each), FRAME, cv=3).mean()
        for each in ParameterGrid(grid)
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], alone)
    assert len(set(np.round(alone, 9))) > 1


def test_groups_are_what_no_constraint_puts_in_order():
    tiers = [["a", "d"], ["c", "e"], ["b"]]
    groups = read_constraints(COLUMNS, max_parents=4, tiers=tiers).groups
    assert groups == [([0, 3], []), ([1], [0, 2, 3, 4]), ([2, 4], [0, 3])]
    chain = read_constraints(COLUMNS, max_parents=4, required_edges=[("a", "b"), ("b", "c")])
    assert chain.allowed[0] == mask_of([3, 4])  # neither b nor c
    assert chain.groups == [([0, 1, 2, 3, 4], [])]
    full = read_constraints(COLUMNS, max_parents=1, required_edges=[("a", "b")])
    assert full.allowed[1] == mask_of([0])


# Errors

BAD_CONSTRAINTS = [
    ({"required_edges": [("a", "x")]}, "There is no column 'x'"),
    ({"required_edges": [(0, 7)]}, "There is no column 7"),
    ({"required_edges": nx.DiGraph({"a": ["b"], "z": []})}, "There is no column 'z'"),
    ({"forbidden_edges": [("a", "a")]}, "forbidden_edges has an edge from column 'a' to itself"),
    ({"required_edges": [("a", "b"), ("b", "c"), ("c", "a")]}, "cycle, 'a' -> 'b' -> 'c' -> 'a'"),
    (
        {"required_edges": [("a", "b")], "forbidden_edges": [("b", "a"), ("a", "b")]},
        "The required edge 'a' -> 'b' is among the forbidden edges",
    ),
    (
        {"required_edges": [("c", "b")], "tiers": [["a", "b"], ["c", "d", "e"]]},
        "The required edge 'c' -> 'b' points from tier 1 back to tier 0",
    ),
    (
        {"required_edges": [("a", "c"), ("b", "c")], "max_parents": 1},
        r"Column 'c' has 2 required parents, \['a', 'b'\], and max_parents=1",
    ),
    (
        {"tiers": [["a", "b"], ["c", "d"]]},
        r"The columns \['e'\] are in no tier.* the tier `\.\.\.`.* tiers=\[\['a', 'b'\], \.\.\.\]",
    ),
    ({"tiers": [..., ["a"], ...]}, "`...` twice"),
    ({"required_edges": np.zeros((2, 3))}, r"two columns, parent and child.* is \(2, 3\)"),
    ({"required_edges": np.array("ab")}, r"two columns, parent and child.* is \(\)"),
    ({"tiers": [["a", "b"], ["c", "d", "e", "a"]]}, "Column 'a' is given twice in the tiers"),
    ({"forbidden_edges": [(..., ...)]}, r"the pair .*`\.\.\.` stands for all other columns"),
    ({"required_edges": [(..., "a")]}, r"required_edges has the pair .* name columns here"),
    ({"max_parents": -1}, "'max_parents' parameter of GaussianBNLearner must be"),
]


@pytest.mark.parametrize(("settings", "message"), BAD_CONSTRAINTS)
def test_contradictions_are_named(settings, message):
    raises(message, GaussianBNLearner(**settings).fit, FRAME)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"required_edges": "ab"}, r"required_edges must be a list of pairs .* got 'ab'"),
        ({"required_edges": ["ab"]}, r"must hold pairs \(parent, child\); got 'ab'"),
        ({"forbidden_edges": [("a", "b", "c")]}, r"must hold pairs .* got \('a', 'b', 'c'\)"),
        ({"required_edges": nx.Graph([("a", "b")])}, "required_edges must be directed"),
        ({"forbidden_edges": [("a", 1.5)]}, "by its name or its number; got 1.5"),
        ({"tiers": "abcde"}, "tiers must be a list of lists of columns, or a dict .* got 'abcde'"),
        ({"tiers": ["abc", "de"]}, "list of lists of columns; one of them is 'abc'"),
        ({"tiers": [["a"], None]}, "list of lists of columns; one of them is None"),
        ({"tiers": [["a", ...]]}, r"`\.\.\.` is a tier by itself"),
        ({"required_edges": np.zeros((1, 2))}, r"by its name or its number; got 0\.0\."),
        ({"required_edges": [(np.float64(0.0), 1)]}, r"or its number; got 0\.0\."),
        # What has no order, or comes only once.
        ({"required_edges": [{"a", "b"}]}, r"must hold pairs \(parent, child\)"),
        ({"required_edges": (edge for edge in [("a", "b")])}, r"iterator .*Wrap it in list\(\)"),
        ({"forbidden_edges": zip("ab", "bc", strict=True)}, r"iterator \(zip\), .*in list\(\)"),
        ({"tiers": (tier for tier in [["a"], list("bcde")])}, r"iterator .*Wrap it in list\(\)"),
        ({"tiers": [iter("ab"), ...]}, r"One of the tiers is an iterator .*Wrap it in list\(\)"),
        ({"required_edges": EDGES.itertuples()}, r"list\(\), or give a data frame's two columns"),
        ({"required_edges": list(EDGES.itertuples())}, "got Pandas.* index, by index=False"),
        ({"required_edges": EDGES.to_records()}, r"got \(0, 'd', 'a'\).* index, by index=False"),
        ({"tiers": {("a",), tuple("bcde")}}, "tiers must be a list of lists"),
        ({"tiers": {("a",): 1, tuple("bcde"): 0}}, "tiers must be a list of lists"),
        ({"tiers": pd.Series([["a"], list("bcde")], [1, 0])}, "tiers must be a list of lists"),
        ({"forbidden_edges": {("a", "b"): True, ("b", "a"): False}}, "must be a list of pairs"),
    ],
)
def test_other_types(settings, message):
    raises(message, GaussianBNLearner(**settings).fit, FRAME, kind=TypeError)


def test_what_is_too_large_says_what_would_fit():
    rows = np.random.default_rng(0).normal(size=(100, 60))
    message = r"2\*\*60 states.* Set time_limit, .* or set max_parents to a .* or set tiers of"
    raises(message, GaussianBNLearner().fit, rows)
    learner = GaussianBNLearner(max_parents=3, max_memory=1e7)
    raises(r"over 60 columns needs .* families of branch and cut", learner.fit, rows)
    learner.set_params(tiers=[range(15), range(15, 60)])
    raises(r"over 45 columns .* tiers of .*, or leave out columns", learner.fit, rows)
    tiers = [range(i, i + 15) for i in range(0, 60, 15)]
    message = r"over 15 columns with 45 others as parents needs .* Set tiers of few columns and"
    raises(message, GaussianBNLearner(tiers=tiers, max_memory=1e6).fit, rows)


def test_scores_of_fewer_parents_than_asked_for():
    scores = LocalScoreTransformer(BIC(), max_parents=2).fit_transform(ROWS)
    with pytest.raises(ValueError, match=r"max_parents=3 was asked for, .* with max_parents=2"):
        GaussianBNLearner(max_parents=3).fit(scores)
    one = GaussianBNLearner(max_parents=1).fit(scores)
    assert one.network_score_ == GaussianBNLearner(max_parents=1).fit(ROWS).network_score_
    assert max(degree for _, degree in one.dag_.in_degree) <= 1
    assert GaussianBNLearner("bic").fit(scores).criterion_.get_params() == BIC().get_params()


def test_many_columns_with_many_parents_say_what_they_need():
    rows = np.random.default_rng(0).normal(size=(60, 300))
    scores = LocalScoreTransformer(max_parents=30).fit_transform(rows)
    assert "max_parents=30" in repr(scores)
    raises(r"log-determinants needs .* a smaller max_parents", scores.top_parents, 0)
    raises("over 300 columns needs", GaussianBNLearner().fit, scores)


def test_a_network_states_edges_and_its_class_does_not():
    network = GaussianBNLearner().fit(ROWS).network_
    required = GaussianBNLearner(required_edges=network, max_parents=4).fit(ROWS)
    assert set(network.dag.edges) <= set(required.dag_.edges)
    scores = LocalScoreTransformer().fit_transform(ROWS)
    assert scores.network_score(network) == pytest.approx(required.network_score_)
    chain = GaussianBNLearner(required_edges=[(0, 1), (1, 2)], max_parents=1).fit(ROWS).network_
    for call in (scores.network_score, lambda g: GaussianBNLearner(required_edges=g).fit(ROWS)):
        raises("must have directed edges only", call, chain.cpdag(knowledge=False))


@pytest.mark.parametrize("names", [("child", "parent"), ("target", "source"), ("To", "From")])
def test_tables_of_edges_whose_columns_are_named_the_other_way_round_are_refused(names):
    table = pd.DataFrame([["a", "d"]], columns=names)
    for edges in (table, pl.DataFrame(table.to_dict("list")), table.to_records(index=False)):
        with pytest.raises(ValueError, match=r"parents in the first column .* Swap them"):
            read_constraints(COLUMNS, max_parents=4, required_edges=edges)
    right = read_constraints(COLUMNS, max_parents=4, required_edges=table[list(names[::-1])])
    assert right.required == [0b1000, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"required_edges": [("a", "d")]}, "'d'; .* write the node in place"),
        ({"tiers": [["c=high"], ...]}, "'c=high'; .* write the node in place"),
        ({"forbidden_edges": [("none", "a")]}, "There is no column 'none'"),
    ],
)
def test_columns_of_nodes_are_named_by_their_node(setting, message):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=[*"ade"])
    X["c"] = pd.Categorical(["low", "high"] * 20, categories=["low", "high"])
    nodes = {"a": "a", "pair": ["d", "e"], "c": "c"}
    raises(message, GaussianBNLearner(nodes=nodes, **setting).fit, X)

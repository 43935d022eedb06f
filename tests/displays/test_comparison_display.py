import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from skbn import GaussianBayesianNetwork, GaussianBNLearner, NetworkComparisonDisplay

EXPECTED = nx.DiGraph([("a", "b"), ("b", "c"), ("a", "d")])
FOUND = nx.DiGraph([("a", "b"), ("c", "b"), ("c", "d")])


@st.composite
def dags(draw):
    order = draw(st.permutations(range(5)))
    pairs = [(a, b) for i, b in enumerate(order) for a in order[:i]]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True))
    dag = nx.DiGraph()
    dag.add_nodes_from(draw(st.permutations(range(5))))
    dag.add_edges_from(chosen)
    return dag


@given(dags(), dags())
def test_differences_are_those_that_the_distance_counts(expected, found):
    network, other = GaussianBayesianNetwork(expected), GaussianBayesianNetwork(found)
    for cpdag in (False, True):
        graphs = [x.cpdag() if cpdag else x.dag for x in (network, other)]
        display = NetworkComparisonDisplay(*graphs)
        differences = [*display.missing, *display.extra, *display.reversed]
        distance = network.structural_hamming_distance(other, cpdag=cpdag)
        assert len(differences) == distance
        own = [*display.common, *display.missing, *display.reversed]
        assert sorted(own) == sorted(graphs[0].edges)
        assert all(edge in graphs[1].edges for edge in display.extra)


@given(dags(), dags())
def test_order_of_the_networks_swaps_missing_and_extra(expected, found):
    there = NetworkComparisonDisplay(expected, found)
    back = NetworkComparisonDisplay(found, expected)
    assert set(there.missing) == set(back.extra)
    assert set(there.extra) == set(back.missing)
    assert set(there.common) == set(back.common)
    assert {frozenset(edge) for edge in there.reversed} == {frozenset(e) for e in back.reversed}


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_picture_tells_kinds_of_edges_apart():
    display = NetworkComparisonDisplay.from_networks(EXPECTED, FOUND, titles=("truth", "mine"))
    left, right = display.axes_
    assert (left.get_title(), right.get_title()) == ("truth", "mine")
    assert legend(left) == ["common (1)", "missing (1)", "reversed (1)"]
    assert legend(right) == ["common (1)", "extra (1)", "reversed (1)"]
    colours = [
        {line.get_label(): line.get_color() for line in ax.get_legend().get_lines()}
        for ax in display.axes_
    ]
    both = colours[0] | colours[1]
    assert len({*both.values()}) == len(both) == 4
    assert colours[0]["reversed (1)"] == colours[1]["reversed (1)"]


def places(ax):
    from matplotlib.patches import FancyBboxPatch

    boxes = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    return {
        text.get_text(): (box.get_x(), box.get_y())
        for text, box in zip(ax.texts, boxes, strict=True)
    }


def test_nodes_have_the_same_places():
    shuffled = nx.DiGraph()
    shuffled.add_nodes_from("dcba")
    shuffled.add_edges_from(FOUND.edges)
    display = NetworkComparisonDisplay.from_networks(EXPECTED, shuffled)
    left, right = display.axes_
    assert places(left) == places(right)
    assert len(places(left)) == 4


def test_reversed_edges_have_their_heads_at_other_ends():
    from matplotlib.patches import Polygon

    a_to_b, b_to_a = nx.DiGraph([("a", "b")]), nx.DiGraph([("b", "a")])
    display = NetworkComparisonDisplay.from_networks(a_to_b, b_to_a)
    tips = [
        next(patch.get_xy()[0] for patch in ax.patches if isinstance(patch, Polygon))
        for ax in display.axes_
    ]
    assert tips[1][1] > tips[0][1]  # a stands above b


def test_networks_and_learners_are_compared(small_wine):
    learner = GaussianBNLearner().fit(small_wine)
    sparse = GaussianBNLearner(penalty=100).fit(small_wine)
    display = NetworkComparisonDisplay.from_networks(learner, sparse.network_)
    assert set(display.missing) == set(learner.dag_.edges)
    assert display.common == display.extra == display.reversed == []
    assert display.axes_[1].get_legend() is None
    with pytest.raises(NotFittedError):
        NetworkComparisonDisplay.from_networks(learner, GaussianBNLearner())


def test_given_axes_are_used():
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    axes = figure.subplots(2, 1)
    display = NetworkComparisonDisplay.from_networks(EXPECTED, FOUND, axes=axes)
    assert list(display.axes_) == list(axes)
    assert display.figure_ is figure
    figure.draw_without_rendering()


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((EXPECTED, nx.DiGraph([("a", "b")])), {}, ValueError, r"missing \['c', 'd'\]"),
        ((nx.DiGraph(["ab"]), nx.DiGraph(["ac"])), {}, ValueError, r"unexpected \['c'\]"),
        ((EXPECTED, nx.Graph(EXPECTED)), {}, TypeError, "found must be a networkx.DiGraph"),
        ((nx.DiGraph(["ab", "ba"]), FOUND), {}, ValueError, "expected must be acyclic"),
        ((EXPECTED, FOUND), {"titles": "ab"}, ValueError, "titles must be two"),
        ((EXPECTED, FOUND), {"titles": ["a"]}, ValueError, "titles must be two"),
        ((EXPECTED, FOUND), {"axes": [None]}, ValueError, "axes must be two"),
        ((EXPECTED, 7), {}, TypeError, "got int"),
    ],
)
def test_bad_input_is_named(arguments, options, error, message):
    with pytest.raises(error, match=message):
        NetworkComparisonDisplay.from_networks(*arguments, **options)

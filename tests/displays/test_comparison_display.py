import networkx as nx
import numpy as np
import pytest
from agreement import raises
from drawn import texts, weighted
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import rc_context
from matplotlib.colors import same_color
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from skbn import (
    GaussianBayesianNetwork,
    GaussianBNLearner,
    NetworkComparisonDisplay,
    NetworkDisplay,
    NetworkGridDisplay,
)
from skbn._displays.labels import broken_into_lines

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
        comparison = network.compare(other)
        assert len(differences) == (comparison.cpdag_distance if cpdag else comparison.distance)
        own = [*display.common, *display.missing, *display.reversed]
        assert sorted(own) == sorted(graphs[0].edges)
        assert all(edge in graphs[1].edges for edge in display.extra)


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
    raises(message, NetworkComparisonDisplay.from_networks, *arguments, **options, kind=error)


# Parts of networks, names of nodes, signs at arrowheads, and pictures of a given width


def sparse_network(n, n_edges, seed):
    """Return a graph of n nodes with names of several words, and edges between near ones."""
    rng = np.random.RandomState(seed)
    words = ["alcohol", "acid", "magnesium", "intensity", "mean", "worst", "fractal", "proline"]
    names = [f"{'_'.join(rng.choice(words, rng.randint(1, 4)))}_{v}" for v in range(n)]
    pairs = [(names[a], names[b]) for b in range(n) for a in range(max(0, b - 8), b)]
    dag = weighted(names)
    for i in rng.choice(len(pairs), n_edges, replace=False):
        dag.add_edge(*pairs[i], weight=float(rng.uniform(-1, 1)))
    return dag


def samples_of(display):
    return texts(display)[len(display.names_) + len(display.labels_) :]


# Width


@pytest.mark.parametrize(
    "n_edges", [75, *(pytest.param(n, marks=pytest.mark.slow) for n in (43, 55))]
)
def test_a_large_network_is_readable_in_a_column_of_a_paper(n_edges):
    display = NetworkDisplay.from_graph(sparse_network(43, n_edges, 0), figsize=(3.4, None))
    display.figure_.draw_without_rendering()
    assert min(text.get_fontsize() for text in display.ax_.texts) >= 5.99
    boxes = [box.get_window_extent() for box in display.nodes_.values()]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert min(box.x0 for box in boxes) >= display.figure_.bbox.x0
    assert max(box.x1 for box in boxes) <= display.figure_.bbox.x1


# Parts


def test_part_has_the_looks_of_the_whole(learner):
    whole = learner.plot(edge_label="standardised_weight")
    members = ["hue", *learner.network_.markov_blanket("hue")]
    part = learner.plot(edge_label="standardised_weight", only=members)
    assert list(part.nodes_) == [node for node in learner.dag_ if node in members]
    assert list(part.edges_) == [edge for edge in learner.dag_.edges if {*edge} <= {*members}]
    for edge, line in part.edges_.items():
        assert line.get_edgecolor() == whole.edges_[edge].get_edgecolor()
        assert part.labels_[edge].get_text() == whole.labels_[edge].get_text()
    widths = {edge: line.get_linewidth() for edge, line in part.edges_.items()}
    assert widths == {edge: whole.edges_[edge].get_linewidth() for edge in widths}
    assert learner.dag_.number_of_nodes() == 13


def test_options_of_hidden_nodes_are_kept_for_the_others():
    dag = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "d")])
    nx.set_edge_attributes(dag, {("a", "b"): 0.2, ("b", "c"): 0.95, ("c", "d"): 0.6}, "support")
    display = NetworkDisplay.from_graph(
        dag,
        only=["b", "c"],
        node_color={"a": "gone", "b": "kept", "c": "kept"},
        edge_label={("a", "b"): "x", ("b", "c"): "y"},
        tiers={"first": ["a"], "second": ["b"], "third": ["c", "d"]},
        highlight="a",
    )
    assert texts(display)[:5] == ["b", "c", "y", "second", "third"]
    assert "kept" in texts(display)
    assert "gone" not in texts(display)
    marked = NetworkDisplay.from_graph(dag, highlight="a")
    for node, box in display.nodes_.items():
        assert box.get_linewidth() == marked.nodes_[node].get_linewidth()
    firm = NetworkDisplay.from_graph(dag, only=["b", "c"])
    assert samples_of(firm) == ["bootstrap support", "0.9 to 1"]
    placed = NetworkDisplay.from_graph(dag, only=["b", "c"], pos={"b": (0, 0), "c": (1, 0)})
    assert list(placed.nodes_) == ["b", "c"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"node_color": {"x": 1, "a": 2, 7: 3}}, ValueError, "must name nodes; 'x' is not"),
        ({"only": ["a", "x"]}, ValueError, "only: there is no node 'x'; the nodes are"),
        ({"pos": {"b": (0, 0)}, "only": ["a", "b"]}, ValueError, "no place for the node 'a'"),
        ({"label": {}}, TypeError, "label"),
    ],
)
def test_bad_options_are_named(options, error, message):
    dag = nx.DiGraph([("a", "b"), ("b", "c")])
    raises(message, NetworkDisplay.from_graph, dag, kind=error, **options)
    raises(message, GaussianBayesianNetwork(dag).plot, kind=error, **options)


# Signs and directions


SIGNS = weighted("abcd", [("a", "b", 3.0), ("a", "c", -0.1), ("a", "d", 0.0)])


@pytest.mark.parametrize("facecolor", ["white", "#102030"])
def test_negative_edges_have_hollow_heads(facecolor):
    with rc_context({"figure.facecolor": facecolor}):
        display = NetworkDisplay.from_graph(SIGNS)
    ax = display.ax_
    positive, negative, zero = display.heads_.values()
    for head, (edge, line) in zip(display.heads_.values(), display.edges_.items(), strict=True):
        inside = facecolor if edge == ("a", "c") else line.get_edgecolor()
        assert same_color(head.get_facecolor(), inside)
    assert same_color(negative.get_edgecolor(), display.edges_["a", "c"].get_edgecolor())
    assert negative.get_linewidth() > 0
    assert positive.get_linewidth() == zero.get_linewidth() == 0
    samples = [p for p in ax.patches if isinstance(p, Polygon) and p not in display.heads_.values()]
    faces = [sample.get_facecolor() for sample in samples]
    assert same_color(faces, [positive.get_facecolor(), negative.get_facecolor()])


def test_legend_tells_edges_without_direction():
    display = NetworkDisplay.from_graph(
        GaussianBayesianNetwork(nx.DiGraph([("a", "c"), ("b", "c"), ("b", "d")])).cpdag()
    )
    assert samples_of(display) == ["edge", "directed", "undirected"]
    chain = GaussianBayesianNetwork(nx.DiGraph([("a", "b")])).cpdag()
    assert samples_of(NetworkDisplay.from_graph(chain)) == ["edge", "undirected"]
    assert samples_of(NetworkDisplay.from_graph(nx.DiGraph([("a", "b")]))) == []


def test_undirected_edges_have_dots_at_both_ends():
    from matplotlib.patches import Circle

    pattern = GaussianBayesianNetwork(nx.DiGraph([("a", "c"), ("b", "c"), ("b", "d")])).cpdag()
    display = NetworkDisplay.from_graph(pattern, ax=Figure().subplots())
    dots = [patch.center for patch in display.ax_.patches if isinstance(patch, Circle)]
    line = display.edges_["b", "d"].get_path().vertices
    assert sorted(dots) == sorted(map(tuple, line[[0, -1]]))


@pytest.mark.parametrize("nodes", [None, "auto"])
def test_legends_explain_what_do_holds(small_wine, nodes):
    table = small_wine.assign(kind=np.where(np.arange(len(small_wine)) % 3, "u", "v"))
    table = small_wine if nodes is None else table
    network = GaussianBNLearner(nodes=nodes).fit(table).network_
    first = table.columns[-1]
    held = network.do({first: table[first].iloc[0]})
    assert "held at a value by do" not in samples_of(network.plot())
    display = held.plot()
    assert samples_of(display).count("held at a value by do") == 1
    display.figure_.draw_without_rendering()
    others = [box.get_linewidth() for node, box in display.nodes_.items() if node != first]
    assert display.nodes_[first].get_linewidth() > max(others)


# Several networks


@pytest.fixture(scope="module")
def near(small_wine):
    return GaussianBNLearner().fit(small_wine).near_optimal(within=6)


def test_small_multiples_have_nodes_at_the_same_places(near):
    display = near.plot(n=4, n_columns=2, edge_label="weight")
    display.figure_.draw_without_rendering()
    first, *others = display.displays
    assert len(display.axes_) == len(display.displays) == 4
    for each in others:
        for node, box in first.nodes_.items():
            assert box.get_bbox().bounds == each.nodes_[node].get_bbox().bounds
        assert (each.ax_.get_xlim(), each.ax_.get_ylim()) == (
            first.ax_.get_xlim(),
            first.ax_.get_ylim(),
        )
    for each, network in zip(display.displays, near[:4], strict=True):
        undirected = {frozenset(edge) for edge in each.edges_ if edge not in each.heads_}
        pattern = network.cpdag().edges(data="undirected")
        assert {frozenset(edge) for edge in each.edges_} == {
            frozenset((a, b)) for a, b, _ in pattern
        }
        assert undirected == {frozenset((a, b)) for a, b, is_open in pattern if is_open}
    titles = [ax.get_title() for ax in display.axes_]
    assert titles[0] == "best"
    assert float(titles[1].split()[0]) == pytest.approx(near.scores[0] - near.scores[1], abs=0.005)


def test_lists_that_are_shorter_are_drawn_whole(near):
    assert len(near.plot(n=10**6).axes_) == len(near)
    raises("'n' parameter of plot must be", near.plot, n=0)


def test_grids_take_graphs_and_axes_and_refuse_others():
    axes = Figure().subplots(1, 2)
    display = NetworkGridDisplay.from_networks([EXPECTED, FOUND], axes=axes, titles=["x", "y"])
    assert [*display.axes_] == [*axes]
    assert [ax.get_title() for ax in axes] == ["x", "y"]
    assert {*display.displays[1].edges_} == {*FOUND.edges}
    raises("axes must be 3", NetworkGridDisplay([EXPECTED] * 3).plot, axes=axes)
    raises("titles must be 1", NetworkGridDisplay([EXPECTED]).plot, titles=["x", "y"])
    raises("'n_columns' parameter of plot", NetworkGridDisplay([EXPECTED]).plot, n_columns=0)
    with pytest.warns(match="Names are drawn at"):
        wide = NetworkGridDisplay([EXPECTED]).plot(figsize=(1, None))
    assert wide.figure_.get_figwidth() == 1
    raises("no networks", NetworkGridDisplay, [])
    raises("missing", NetworkGridDisplay, [EXPECTED, nx.DiGraph([("a", "b")])])


def test_a_display_gives_another_its_places():
    left, right = Figure().subplots(1, 2)
    first = NetworkDisplay.from_graph(EXPECTED, ax=left, tiers={"one": ["a"], "two": ...})
    second = NetworkDisplay.from_graph(FOUND, ax=right, pos=first)
    for node, box in first.nodes_.items():
        assert box.get_bbox().bounds == second.nodes_[node].get_bbox().bounds
    assert left.get_xlim() == right.get_xlim()
    common, other = first.edges_["a", "b"].get_path(), second.edges_["a", "b"].get_path()
    assert_array_equal(common.vertices, other.vertices)
    raises("plot first", NetworkDisplay(FOUND).plot, pos=NetworkDisplay(EXPECTED))
    part = NetworkDisplay.from_graph(EXPECTED, only=["a", "b"])
    raises("no node 'c'", NetworkDisplay(FOUND).plot, pos=part)


# Names


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("color_intensity", ["color_intensity"]),
        ("alcalinity_of_ash", ["alcalinity_", "of_ash"]),
        ("price in $ and $", ["price in $ and $"]),
        (
            "a_name_that_is_much_longer_than_the_others",
            ["a_name_that_is_", "much_longer_", "than_the_others"],
        ),
        ("", [""]),
        ("a\nb", ["a", "b"]),
    ],
)
def test_names_break_where_there_is_no_room(name, lines):
    assert broken_into_lines(name) == lines

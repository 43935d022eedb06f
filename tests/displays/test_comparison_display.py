import networkx as nx
import numpy as np
import pytest
from agreement import raises
from drawn import graph_of, texts, weighted
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import rc_context
from matplotlib.colors import same_color
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, Polygon
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

import skbn
from skbn import GaussianBayesianNetwork, GaussianBNLearner, NetworkDisplay, NetworkGridDisplay
from skbn._displays.labels import broken_into_lines

EXPECTED = nx.DiGraph(["ab", "bc", "ad"])
FOUND = nx.DiGraph(["ab", "cb", "cd"])
COLLIDER = GaussianBayesianNetwork(nx.DiGraph(["ac", "bc", "bd"])).cpdag()
compare = skbn.NetworkComparisonDisplay.from_networks
draw_graph = NetworkDisplay.from_graph


@st.composite
def dags(draw):
    order = draw(st.permutations(range(5)))
    pairs = [(a, b) for i, b in enumerate(order) for a in order[:i]]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True))
    return graph_of(draw(st.permutations(range(5))), chosen)


@given(dags(), dags())
def test_differences_are_those_that_the_distance_counts(expected, found):
    network, other = GaussianBayesianNetwork(expected), GaussianBayesianNetwork(found)
    for cpdag in (False, True):
        graphs = [x.cpdag() if cpdag else x.dag for x in (network, other)]
        display = skbn.NetworkComparisonDisplay(*graphs)
        differences = [*display.missing, *display.extra, *display.reversed]
        comparison = other.compare(network)
        assert cpdag or {*display.missing} == {*comparison.missing}
        assert cpdag or {*display.extra} == {*comparison.extra}
        assert len(differences) == (comparison.cpdag_distance if cpdag else comparison.distance)
        own = [*display.common, *display.missing, *display.reversed]
        assert sorted(own) == sorted(graphs[0].edges)
        assert all(edge in graphs[1].edges for edge in display.extra)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_picture_tells_kinds_of_edges_apart():
    display = compare(EXPECTED, FOUND, titles=("truth", "mine"))
    left, right = display.axes_
    assert (left.get_title(), right.get_title()) == ("truth", "mine")
    assert legend(left) == ["common (1)", "missing (1)", "reversed (1)"]
    assert legend(right) == ["common (1)", "extra (1)", "reversed (1)"]
    lines = [ax.get_legend().get_lines() for ax in display.axes_]
    own, others = ({line.get_label(): line.get_color() for line in each} for each in lines)
    both = own | others
    assert len({*both.values()}) == len(both) == 4
    assert own["reversed (1)"] == others["reversed (1)"]


def patches(ax, kind):
    return [patch for patch in ax.patches if isinstance(patch, kind)]


def places(ax):
    boxes = [(box.get_x(), box.get_y()) for box in patches(ax, FancyBboxPatch)]
    return dict(zip([text.get_text() for text in ax.texts], boxes, strict=True))


def test_nodes_have_the_same_places_and_reversed_edges_their_heads_at_other_ends():
    left, right = compare(EXPECTED, graph_of("dcba", FOUND.edges)).axes_
    assert places(left) == places(right)
    assert len(places(left)) == 4
    display = compare(nx.DiGraph(["ab"]), nx.DiGraph(["ba"]))
    of_a_to_b, of_b_to_a = (patches(ax, Polygon)[0].get_xy()[0] for ax in display.axes_)
    assert of_b_to_a[1] > of_a_to_b[1]  # a stands above b


def test_networks_and_learners_are_compared(small_wine):
    learner = GaussianBNLearner().fit(small_wine)
    sparse = GaussianBNLearner(penalty=100).fit(small_wine)
    display = compare(learner, sparse.network_)
    assert set(display.missing) == set(learner.dag_.edges)
    assert display.common == display.extra == display.reversed == []
    assert display.axes_[1].get_legend() is None
    raises("not fitted", compare, learner, GaussianBNLearner(), kind=NotFittedError)


def test_given_axes_are_used():
    figure = Figure(layout="constrained")
    axes = figure.subplots(2, 1)
    display = compare(EXPECTED, FOUND, axes=axes)
    assert [*display.axes_, display.figure_] == [*axes, figure]
    figure.draw_without_rendering()


def test_bad_input_is_named():
    for arguments, options, error, message in [
        ((EXPECTED, nx.DiGraph([("a", "b")])), {}, ValueError, r"missing \['c', 'd'\]"),
        ((nx.DiGraph(["ab"]), nx.DiGraph(["ac"])), {}, ValueError, r"unexpected \['c'\]"),
        ((EXPECTED, nx.Graph(EXPECTED)), {}, TypeError, "found must be a networkx.DiGraph"),
        ((nx.DiGraph(["ab", "ba"]), FOUND), {}, ValueError, "expected must be acyclic"),
        ((EXPECTED, FOUND), {"titles": "ab"}, ValueError, "titles must be two"),
        ((EXPECTED, FOUND), {"titles": ["a"]}, ValueError, "titles must be two"),
        ((EXPECTED, FOUND), {"axes": [None]}, ValueError, "axes must be two"),
        ((EXPECTED, 7), {}, TypeError, "got int"),
    ]:
        raises(message, compare, *arguments, **options, kind=error)


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
    display = draw_graph(sparse_network(43, n_edges, 0), figsize=(3.4, None))
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
        assert line.get_linewidth() == whole.edges_[edge].get_linewidth()
        assert part.labels_[edge].get_text() == whole.labels_[edge].get_text()
    assert learner.dag_.number_of_nodes() == 13


def test_options_of_hidden_nodes_are_kept_for_the_others():
    support = {"ab": 0.2, "bc": 0.95, "cd": 0.6}
    dag = nx.DiGraph([(*edge, {"support": share}) for edge, share in support.items()])
    display = draw_graph(
        dag,
        only=["b", "c"],
        node_color={"a": "gone", "b": "kept", "c": "kept"},
        edge_label={("a", "b"): "x", ("b", "c"): "y"},
        tiers={"first": ["a"], "second": ["b"], "third": ["c", "d"]},
        highlight="a",
    )
    assert texts(display)[:5] == ["b", "c", "y", "second", "third"]
    assert {"kept", "gone"} & {*texts(display)} == {"kept"}
    marked = draw_graph(dag, highlight="a")
    for node, box in display.nodes_.items():
        assert box.get_linewidth() == marked.nodes_[node].get_linewidth()
    firm = draw_graph(dag, only=["b", "c"])
    assert samples_of(firm) == ["bootstrap support", "0.9 to 1"]
    placed = draw_graph(dag, only=["b", "c"], pos={"b": (0, 0), "c": (1, 0)})
    assert list(placed.nodes_) == ["b", "c"]


def test_bad_options_are_named():
    dag = nx.DiGraph(["ab", "bc"])
    for options, error, message in [
        ({"node_color": {"x": 1, "a": 2, 7: 3}}, ValueError, "must name nodes; 'x' is not"),
        ({"only": ["a", "x"]}, ValueError, "only: there is no node 'x'; the nodes are"),
        ({"pos": {"b": (0, 0)}, "only": ["a", "b"]}, ValueError, "no place for the node 'a'"),
        ({"label": {}}, TypeError, "label"),
    ]:
        raises(message, draw_graph, dag, kind=error, **options)
        raises(message, GaussianBayesianNetwork(dag).plot, kind=error, **options)


# Signs and directions


SIGNS = weighted("abcd", [("a", "b", 3.0), ("a", "c", -0.1), ("a", "d", 0.0)])


@pytest.mark.parametrize("facecolor", ["white", "#102030"])
def test_negative_edges_have_hollow_heads(facecolor):
    with rc_context({"figure.facecolor": facecolor}):
        display = draw_graph(SIGNS)
    ax = display.ax_
    positive, negative, zero = display.heads_.values()
    for head, (edge, line) in zip(display.heads_.values(), display.edges_.items(), strict=True):
        inside = facecolor if edge == ("a", "c") else line.get_edgecolor()
        assert same_color(head.get_facecolor(), inside)
    assert same_color(negative.get_edgecolor(), display.edges_["a", "c"].get_edgecolor())
    assert negative.get_linewidth() > 0
    assert positive.get_linewidth() == zero.get_linewidth() == 0
    samples = [p for p in patches(ax, Polygon) if p not in display.heads_.values()]
    faces = [sample.get_facecolor() for sample in samples]
    assert same_color(faces, [positive.get_facecolor(), negative.get_facecolor()])


def test_legend_tells_edges_without_direction():
    edge = nx.DiGraph(["ab"])
    assert samples_of(draw_graph(COLLIDER)) == ["edge", "directed", "undirected"]
    assert samples_of(draw_graph(GaussianBayesianNetwork(edge).cpdag())) == ["edge", "undirected"]
    assert samples_of(draw_graph(edge)) == []


def test_undirected_edges_have_dots_at_both_ends():
    display = draw_graph(COLLIDER, ax=Figure().subplots())
    dots = [dot.center for dot in patches(display.ax_, Circle)]
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


def assert_same_places(one, other):
    for node, box in one.nodes_.items():
        assert box.get_bbox().bounds == other.nodes_[node].get_bbox().bounds
    assert one.ax_.get_xlim() == other.ax_.get_xlim()


def test_small_multiples_have_nodes_at_the_same_places(near):
    display = near.plot(n=4, n_columns=2, edge_label="weight")
    display.figure_.draw_without_rendering()
    first = display.displays[0]
    assert len(display.axes_) == len(display.displays) == 4
    for each, network in zip(display.displays, near[:4], strict=True):
        assert_same_places(each, first)
        assert each.ax_.get_ylim() == first.ax_.get_ylim()
        undirected = {frozenset(edge) for edge in each.edges_ if edge not in each.heads_}
        pattern = network.cpdag().edges(data="undirected")
        assert {*map(frozenset, each.edges_)} == {frozenset((a, b)) for a, b, _ in pattern}
        assert undirected == {frozenset((a, b)) for a, b, is_open in pattern if is_open}
    titles = [ax.get_title() for ax in display.axes_]
    assert titles[0] == "best"
    assert float(titles[1].split()[0]) == pytest.approx(near.scores[0] - near.scores[1], abs=0.005)
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
    first = draw_graph(EXPECTED, ax=left, tiers={"one": ["a"], "two": ...})
    second = draw_graph(FOUND, ax=right, pos=first)
    assert_same_places(first, second)
    common, other = first.edges_["a", "b"].get_path(), second.edges_["a", "b"].get_path()
    assert_array_equal(common.vertices, other.vertices)
    raises("plot first", NetworkDisplay(FOUND).plot, pos=NetworkDisplay(EXPECTED))
    part = draw_graph(EXPECTED, only=["a", "b"])
    raises("no node 'c'", NetworkDisplay(FOUND).plot, pos=part)


# Names


def test_names_break_where_there_is_no_room():
    for lines in [
        ["color_intensity"],
        ["alcalinity_", "of_ash"],
        ["price in $ and $"],
        ["a_name_that_is_", "much_longer_", "than_the_others"],
        [""],
    ]:
        assert broken_into_lines("".join(lines)) == lines
    assert broken_into_lines("a\nb") == ["a", "b"]

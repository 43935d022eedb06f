import matplotlib
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from agreement import raises
from drawn import faces, graph_of, texts, weighted
from matplotlib.figure import Figure

import skbn
from skbn import GaussianBayesianNetwork, NetworkDisplay
from skbn._displays.appearance import strengths_of


@pytest.fixture(scope="module")
def small_learner(wine):
    columns = ["hue", "ash", "alcohol", "proline", "color_intensity"]
    return skbn.GaussianBNLearner().fit(wine[columns])


draw = NetworkDisplay.from_graph
EDGE = nx.DiGraph(["ab"])


def edge_colours(display):
    return {edge: line.get_edgecolor()[:3] for edge, line in display.edges_.items()}


def widths(display):
    return {edge: line.get_linewidth() for edge, line in display.edges_.items()}


def assert_same_lines(display, expected):
    assert edge_colours(display) == edge_colours(expected)
    assert widths(display) == widths(expected)


def test_picture_has_all_nodes_and_edges(learner, tmp_path):
    display, dag = learner.plot(), learner.dag_
    assert {text.get_text().replace("\n", "") for text in display.names_.values()} == {*dag}
    assert display.nodes_.keys() == {*dag}
    assert display.edges_.keys() == display.heads_.keys() == {*dag.edges}
    for (_, child), head in display.heads_.items():  # which points at the border of the child
        x, y = head.get_xy()[0]
        box = display.nodes_[child].get_bbox()
        beside, above = (abs(x - (box.x0 + box.x1) / 2), abs(y - (box.y0 + box.y1) / 2))
        outside = max(beside - box.width / 2, above - box.height / 2)
        assert abs(outside) < 2.5  # a corner is rounded
    display.figure_.savefig(tmp_path / "wine.png")
    assert (tmp_path / "wine.png").stat().st_size > 10_000


@pytest.mark.filterwarnings("ignore:Names are drawn at")
def test_names_keep_to_their_boxes_on_small_and_on_large_axes(learner):
    sizes = []
    for side in (3, 6, 40):
        ax = Figure(figsize=(side, side), layout="constrained").subplots()
        display = learner.plot(ax=ax)
        assert display.ax_ is ax
        display.figure_.draw_without_rendering()
        for node, text in display.names_.items():
            name, box = text.get_window_extent(), display.nodes_[node].get_window_extent()
            assert box.x0 < name.x0 < name.x1 < box.x1
            assert box.y0 < name.y0 < name.y1 < box.y1
        sizes.append(display.names_["alcohol"].get_fontsize())
    assert sizes[1] == pytest.approx(2 * sizes[0], rel=0.1)
    assert 10 < sizes[2] < 18


def test_edges_show_the_sign_and_the_strength_unless_nodes_are_held():
    dag = weighted("abcd", [("a", "b", 3.0), ("a", "c", -0.1), ("a", "d", 0.0)])
    for display in (draw(dag), GaussianBayesianNetwork(dag).do({"a": 1.0}).plot()):
        positive, negative, grey = edge_colours(display).values()
        assert positive[2] > positive[0]  # blue
        assert negative[0] > negative[2]  # orange
        assert len(set(grey)) == 1
    assert set(widths(display).values()) == set(widths(draw(EDGE)).values())
    assert widths(draw(dag))["a", "b"] > 2 * widths(draw(dag))["a", "c"]


def test_edges_of_a_class_are_grey_and_the_undirected_have_no_head():
    dag = nx.DiGraph([("a", "c"), ("b", "c"), ("b", "d")])
    weights_alone = nx.DiGraph([("a", "b", {"weight": 2.0})])
    (colour,) = edge_colours(NetworkDisplay(weights_alone).plot()).values()
    assert len(set(colour)) == 1  # no parameters
    display = NetworkDisplay(GaussianBayesianNetwork(dag).cpdag()).plot()
    assert len(set(widths(display).values())) == 1
    assert all(red == green == blue for red, green, blue in edge_colours(display).values())
    assert display.heads_.keys() == {("a", "c"), ("b", "c")}


def test_networks_are_drawn_also_after_an_intervention(learner, tmp_path):
    network = GaussianBayesianNetwork(learner.dag_).do({"proline": 700, "hue": 1})
    display = network.plot(edge_label="standardised_weight")
    display.figure_.savefig(tmp_path / "do.png")
    weights = strengths_of(network.dag).weights
    deviation = dict(zip(network.nodes, np.sqrt(np.diag(network.covariance_)), strict=True))
    for (parent, child), weight in weights.items():
        raw = network.dag.edges[parent, child]["weight"]
        assert weight == pytest.approx(raw * deviation[parent] / deviation[child])
    unknown = {*network.dag.edges} - {*weights}
    assert {parent for parent, _ in unknown} == {"proline"}  # hue has no children
    assert display.labels_.keys() == weights.keys()
    borders = {node: box.get_linewidth() for node, box in display.nodes_.items()}
    assert {node for node in borders if borders[node] > 2} == {"proline", "hue"}


def test_highlighted_nodes_stand_out(small_learner):
    one = faces(small_learner.plot(highlight="hue"))
    for highlight in (["hue", "ash"], {"hue": 1, "ash": 2}.keys(), np.array(["ash", "hue"])):
        marked = faces(small_learner.plot(highlight=highlight))
        assert {node for node in marked if marked[node] == one["hue"]} == {"hue", "ash"}


def test_highlighted_edges_are_strong_and_the_rest_is_faint():
    path = nx.path_graph("abcde", nx.DiGraph)
    for highlight, edges, marked in (
        ([("b", "c")], {("b", "c")}, "bc"),
        (["e", ["a", "b"]], {("d", "e"), ("a", "b")}, "abe"),
        ("c", {("b", "c"), ("c", "d")}, "c"),
        (np.array([["b", "c"], ["c", "d"]]), {("b", "c"), ("c", "d")}, "bcd"),
    ):
        display = draw(path, highlight=highlight)
        lines, boxes = edge_colours(display), faces(display)
        assert {edge for edge in path.edges if lines[edge] == lines[min(edges)]} == edges
        assert {v for v in path if boxes[v] == boxes[marked[0]]} == {*marked}
    assert len({*faces(draw(path, highlight=[])).values()}) == 1
    tuples = nx.DiGraph([((0, 1), (1, 0))])
    boxes = faces(draw(tuples, highlight=(0, 1)))
    assert boxes[0, 1] != boxes[1, 0]
    assert faces(draw(tuples, highlight=[(0, 1)])) == boxes


def test_a_part_of_a_network_is_drawn():
    for only, nodes, edges, n_left_out in [
        (None, "abcd", ["ab", "bc", "cd"], 0),
        (["a", "c", "b"], "abc", ["ab", "bc"], 0),
        ("b", "b", [], 0),
        ([("a", "b")], "ab", ["ab"], 0),
        ([["a", "b"], ["b", "c"]], "abc", ["ab", "bc"], 0),
        (pd.DataFrame({"parent": ["a"], "child": ["b"]}), "ab", ["ab"], 0),
        (np.array([["a", "b"], ["c", "d"]]), "abcd", ["ab", "cd"], 1),
        (["d", ("a", "b"), "c"], "abcd", ["ab"], 2),
    ]:
        dag = nx.DiGraph(["ab", "bc", "cd"])
        for options in ({}, {"ax": Figure().subplots()}):
            display = draw(dag, only=only, **options)
            assert list(display.nodes_) == list(nodes)
            assert list(display.edges_) == [tuple(edge) for edge in edges]
            n = len(edges) + n_left_out
            notes = [f"{n_left_out} of {n} edges not shown"] if n_left_out else []
            assert [text for text in texts(display) if "not shown" in text] == notes


def test_edges_that_are_chosen():
    dag = nx.DiGraph([("a", "b", {"undirected": True}), ("b", "c", {"undirected": False})])
    boxes = faces(draw(dag, only=["c", ("a", "b")], highlight="b"))
    assert len({*boxes.values()}) == 3  # the ends of edges that are drawn are marked
    assert boxes["c"] == faces(draw(dag, highlight="a"))["c"]
    assert [*draw(dag, only=[("b", "a")]).edges_] == [("a", "b")]  # undirected
    raises(r"there is no edge \('c', 'b'\)", draw, dag, only=[("c", "b")])


def labels(display):
    return {edge: text.get_text() for edge, text in display.labels_.items()}


def test_edge_labels():
    dag = weighted("abc")
    dag.add_edge("a", "b", weight=2.0, probability=0.25, note="seen", is_known=True)
    dag.add_edge("b", "c", weight=0.0, probability=1)

    def written(edge_label):
        return labels(draw(dag, edge_label=edge_label))

    ab, bc = dag.edges
    assert written(None) == written({}) == written([]) == {}
    assert written("standardised_weight") == {ab: "0.89", bc: "0.00"}  # 2 / sqrt(5)
    assert written("weight") == {ab: "2", bc: "0"}
    assert written("probability") == {ab: "0.25", bc: "1.00"}
    assert written("note") == {ab: "seen"}
    assert written(["weight", "note", "probability"]) == {ab: "2, seen, 0.25", bc: "0, 1.00"}
    assert written("is_known") == {ab: "True"}
    assert written({ab: "$x_"}) == {ab: "$x_"}


def opacities(display):
    return {edge: line.get_edgecolor()[3] for edge, line in display.edges_.items()}


def test_opacity_grows_with_the_probability(small_learner):
    dag = small_learner.dag_.copy()
    probabilities = dict(zip(dag.edges, np.linspace(0, 1, len(dag.edges)), strict=True))
    nx.set_edge_attributes(dag, probabilities, "probability")
    display = draw(dag)
    expected = {edge: 0.3 + 0.7 * value for edge, value in probabilities.items()}
    assert opacities(display) == pytest.approx(expected)
    heads = {edge: head.get_facecolor()[3] for edge, head in display.heads_.items()}
    assert heads == pytest.approx(expected)
    plain = small_learner.plot()
    assert set(opacities(plain).values()) == {1}
    assert_same_lines(display, plain)
    cpdag = GaussianBayesianNetwork(EDGE).cpdag()  # undirected edges may have probabilities
    nx.set_edge_attributes(cpdag, 0.5, "probability")
    display = draw(cpdag, edge_label="probability")
    assert labels(display) == {("a", "b"): "0.50"}
    assert opacities(display) == {("a", "b"): pytest.approx(0.65)}
    dag = nx.DiGraph()  # faint edges are equally faint
    edges = [("a", "b", 0.5), ("c", "d", 0.1), ("e", "f", 0.9)]
    dag.add_weighted_edges_from(edges, weight="probability")
    display = draw(dag, highlight="a")
    assert [*opacities(display).values()] == pytest.approx([0.65, 1, 1])
    _, one, other = edge_colours(display).values()
    assert one == other


def test_labels_of_probabilities_and_of_small_weights():
    values = {"b": 0.8749, "c": 0.994, "d": 0.996, "e": 1, "f": np.float32(0.25), "g": 1 + 1e-12}
    dag = nx.DiGraph([("a", node, {"probability": value}) for node, value in values.items()])
    display = draw(dag, edge_label="probability")
    assert [*labels(display).values()] == ["0.87", "0.99", "1.00", "1.00", "0.25", "1.00"]
    small = weighted("ab", [("a", "b", -1e-4)])
    assert labels(draw(small, edge_label="standardised_weight")) == {("a", "b"): "0.00"}


def test_labels_have_room_and_those_of_faint_edges_are_faint():
    display = draw(EDGE, edge_label={("a", "b"): "a strong effect"})
    display.figure_.draw_without_rendering()
    label, figure = display.labels_["a", "b"].get_window_extent(), display.figure_.bbox
    assert figure.x0 < label.x0 < label.x1 < figure.x1
    written = {("a", "b"): "x", ("c", "d"): "y"}
    display = draw(nx.DiGraph(["ab", "cd"]), highlight="a", edge_label=written)
    strong, faint = (text.get_color() for text in display.labels_.values())
    assert strong != faint == display.names_["c"].get_color()


def test_later_changes_of_the_graph_are_not_drawn():
    dag = nx.DiGraph([("a", "b")])
    display = NetworkDisplay(dag)
    dag.add_edge("b", "a")
    assert list(display.plot().edges_) == [("a", "b")]


def test_names_are_not_set_by_tex(small_learner):
    with matplotlib.rc_context({"text.usetex": True}):
        display = small_learner.plot(edge_label="standardised_weight")
        assert not any(text.get_usetex() for text in display.ax_.texts)


def test_ground_is_that_of_the_figure_or_the_subfigure():
    parts = Figure(facecolor="white").subfigures(1, 2)
    parts[1].set_facecolor("#102030")
    light, dark = (draw(EDGE, ax=each.subplots(), edge_label={("a", "b"): "x"}) for each in parts)
    assert np.mean(faces(dark)["a"]) < 0.5 < np.mean(faces(light)["a"])
    label = dark.labels_["a", "b"].get_bbox_patch()
    assert label.get_facecolor()[:3] == pytest.approx((16 / 255, 32 / 255, 48 / 255))


def test_bad_options_are_named():
    for options, message in [
        ({"highlight": "c"}, r"highlight: there is no node 'c'; the nodes are \['a', 'b'\]"),
        ({"highlight": ["a", "c"]}, "highlight: there is no node 'c'"),
        ({"highlight": [None]}, "highlight: there is no node None"),
        ({"highlight": [("b", "a")]}, r"no edge \('b', 'a'\); the nodes are"),
        ({"only": [("a", "bb")]}, r"only: there is no edge \('a', 'bb'\)"),
        ({"only": "ab"}, "only: there is no node 'ab'"),
        ({"only": []}, "only must name a node or an edge; leave it out to draw all"),
        ({"highlight": ["x", ("a", "y")]}, "there is no node 'x'; the nodes are"),
        ({"only": [("a", "b", 1)]}, r"only: there is no node \('a', 'b', 1\)"),
        ({"highlight": np.array("c")}, "highlight: there is no node"),
        ({"edge_label": {"ab": "x"}}, "edge_label: there is no edge 'ab'"),
        ({"edge_label": {7: "x"}}, "edge_label: there is no edge 7"),
        ({"edge_label": {("b", "a"): "x"}}, r"edge_label: there is no edge \('b', 'a'\)"),
        ({"edge_label": "weight"}, "no attribute weight. .* Draw a fitted network"),
        ({"edge_label": "standardised_weight"}, "no attribute standardised_weight"),
        ({"edge_label": "probability"}, "the edges have no attribute probability"),
        ({"edge_label": "weights"}, r"the edges have no attribute weights. They have \[\]"),
        ({"orientation": "down"}, "'orientation' parameter of plot must be .* Got 'down'"),
        ({"figsize": 3}, r"figsize must be \(width, height\) in inches.* got 3"),
        ({"figsize": (3, 0)}, r"figsize must be positive; got \(3, 0\)"),
        ({"figsize": (None, 3)}, "width in figsize must be a finite number; got None"),
        ({"pos": {"a": (0, 0)}}, "pos has no place for the node 'b'"),
        ({"pos": {"a": (0, 0), "b": 1}}, r"the place of node 'b' must be \(x, y\); got 1"),
        ({"pos": {"a": (0, 0), "b": (0, np.nan)}}, "x and y of node 'b' must be a finite number"),
        ({"pos": {"a": (0, 0), "b": (0, 0)}}, "node 'b' has the same place as another"),
        ({"pos": {"c": (0, 0)}}, "pos must name nodes; 'c' is not one of"),
        ({"pos": {"a": (0, 0), "b": (1, 0)}, "tiers": ["ab"]}, "tiers are .*; give one"),
        ({"tiers": [["a"]]}, r"The nodes \['b'\] are in no tier"),
        ({"tiers": [["a", "a"], ...]}, "Node 'a' is given twice in the tiers"),
        ({"tiers": [["c"], ...]}, "There is no column 'c'"),
        ({"tiers": [["b"], ["a"]]}, "'a' -> 'b' leads from 'tier 2' back to 'tier 1'"),
        ({"node_color": {"c": 1}}, "node_color must name nodes; 'c' is not one of"),
        ({"node_color": {"a": 1, "b": np.inf}}, "node_color: the numbers must be finite"),
    ]:
        raises(message, draw, EDGE, **options)


def test_options_of_other_types_are_named():
    for options, message in [
        ({"ax": "axes"}, r"ax must be one matplotlib.axes.Axes .*got"),
        ({"ax": np.zeros(2)}, r"ax must be one matplotlib.axes.Axes .*got"),
        ({"ax": 7}, r"ax must be one matplotlib.axes.Axes .*got"),
        ({"edge_label": np.zeros(2)}, r"edge_label must be .* got \[0\.0, 0\.0\]"),
        ({"edge_label": True}, "edge_label must be None, the name of an attribute"),
        ({"pos": [(0, 0)]}, r"pos must be a dict of node to \(x, y\); got list"),
        ({"tiers": 2}, "tiers must be a list of lists of nodes, or a dict of title to list; got 2"),
        ({"tiers": ["a", "b"]}, "tiers must be a list of lists of nodes; one of them is 'a'"),
        ({"node_color": 1}, "node_color must be a colour of matplotlib, or a dict"),
        ({"node_color": "no colour"}, "node_color must be a colour .* got 'no colour'"),
    ]:
        raises(message, draw, EDGE, kind=TypeError, **options)


def test_the_graph_of_a_class_has_no_weights_to_be_written():
    cpdag = GaussianBayesianNetwork(nx.DiGraph(["ab", "bc"])).cpdag()
    for edge_label in ("standardised_weight", "weight"):
        raises("Draw a fitted network for weights", draw, cpdag, edge_label=edge_label)
    draw(cpdag, edge_label={("a", "b"): "x"})


def test_a_network_is_drawn_as_its_class_with_weights(learner):
    plain, drawn = learner.plot(), learner.plot(cpdag=True, edge_label="standardised_weight")
    compelled = [edge for edge in learner.network_.cpdag().edges.data("undirected") if not edge[2]]
    assert drawn.heads_.keys() == {(a, b) for a, b, _ in compelled} != plain.heads_.keys()
    assert drawn.labels_.keys() == drawn.edges_.keys() == plain.edges_.keys()
    assert_same_lines(drawn, plain)


def test_weights_of_variances_out_of_range():
    weights = strengths_of(weighted("abc", [("a", "b", -1e200), ("b", "c", 1e100)])).weights
    assert weights == pytest.approx({("a", "b"): -1.0, ("b", "c"): 1.0})


@pytest.mark.parametrize("nodes", ["0", "0123"])
def test_nodes_without_edges(nodes):
    display = draw(graph_of(nodes))
    assert texts(display) == [*nodes]
    assert display.edges_ == {}
    display.figure_.draw_without_rendering()


def test_any_name_can_be_drawn(tmp_path):
    for name in [
        *("x" * 300, 7, ("a", 1), "a\nb", 1.5, "price\xa0EUR", "a\u200cb", "a\0b"),
        *(r"$\frac$", "price in $ and $", "a_name_that_is_much_longer_than_the_others"),
    ]:
        display = draw(nx.DiGraph([(name, "b")]))
        display.figure_.savefig(tmp_path / "name.png")
        drawn = "".join(texts(display)[0].split())
        assert drawn == "".join(str(name).replace("\0", r"\x00").split())


@pytest.mark.parametrize("name", ["", " ", "\n"])
def test_empty_names_have_a_box(name):
    display = draw(nx.DiGraph([(name, "b")]))
    display.figure_.draw_without_rendering()
    assert display.nodes_[name].get_bbox().width > 10


def with_probability(probability, *others):
    return nx.DiGraph([*others, ("a", "b", {"probability": probability})])


def test_bad_graphs_are_named():
    for dag, error, message in [
        (nx.DiGraph(), ValueError, "at least one node"),
        (nx.Graph([(0, 1)]), TypeError, "must be a networkx.DiGraph .*; got Graph"),
        (nx.DiGraph([(0, 1), (1, 0)]), ValueError, "acyclic"),
        (
            graph_of("ab", ["ab"], intercept=0, noise_variance=1),
            ValueError,
            "edge 'a' -> 'b' has no attribute weight",
        ),
        (weighted("ab", [("a", "b", 1)], -1), ValueError, "'a' must not be negative"),
        (with_probability(1.5), ValueError, r"edge 'a' -> 'b' must be from 0 to 1; got 1\.5"),
        (with_probability(-0.1), ValueError, "edge 'a' -> 'b' must be from 0 to 1"),
        (with_probability(np.nan), ValueError, "edge 'a' -> 'b' must be a finite number; got nan"),
        (with_probability("0.5"), ValueError, "edge 'a' -> 'b' must be a finite number; got '0.5'"),
        (with_probability(None), ValueError, "edge 'a' -> 'b' must be a finite number; got None"),
        (with_probability(0.5, ("b", "c")), ValueError, "'b' -> 'c' has no .*, but 'a' -> 'b' has"),
        (GaussianBayesianNetwork(EDGE), TypeError, "is NetworkDisplay.from_estimator"),
    ]:
        raises(message, NetworkDisplay, dag, kind=error)


def test_pairs_have_an_arrowhead_where_one_way_is_likely():
    dag = nx.DiGraph()
    for child, share, joined in [("b", 0.4, 0.79), ("c", 0.8, 0.95), ("d", 0.1, 0.9)]:
        dag.add_edge("a", child, probability=share, joined=joined)
    display = draw(dag)
    assert [*labels(display).values()] == ["0.79, either way", "0.95", "0.90, mostly back"]
    assert [*display.heads_] == [("a", "c")]
    assert opacities(display)["a", "b"] == pytest.approx(0.3 + 0.7 * 0.79)
    assert labels(draw(dag, edge_label={})) == {}
    assert labels(draw(dag, edge_label="probability"))["a", "b"] == "0.40"


@pytest.mark.parametrize("cpdag", [False, True])
def test_averaged_networks_show_no_open_direction(cpdag):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    X[:, 2] += 0.4 * X[:, 0] + 0.4 * X[:, 1]  # 0 -> 2 <- 1, weakly
    bootstrap = skbn.BootstrapBNLearner(n_resamples=20, random_state=0, threshold=0.1).fit(X)
    posterior = skbn.GaussianBNPosterior().fit(X / X.std(axis=0))
    for learner, shares in (
        (bootstrap, bootstrap.edge_support_),
        (posterior, posterior.edge_probabilities_),
    ):
        display = learner.plot(cpdag=cpdag)
        assert display.edges_
        for a, b in display.heads_:
            assert shares[a, b] > 0.75 * (shares[a, b] + shares[b, a])
        open_ways = {edge for edge, text in labels(display).items() if "either way" in text}
        assert not open_ways & display.heads_.keys()

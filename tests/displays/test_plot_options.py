"""Options of `plot`: sizes that can be read, bands, places, colours of nodes, labels, legends."""

import re
import zlib
from contextlib import suppress
from itertools import combinations
from xml.etree import ElementTree

import matplotlib.style
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from agreement import raises
from drawn import faces, graph_of, texts, weighted
from matplotlib.colors import same_color, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.transforms import Bbox

from skbn import GaussianBayesianNetwork, GaussianBNLearner, NetworkDisplay
from skbn._displays.appearance import DARK, LIGHT

WIDE = 13.33, 7.5  # a slide of 16:9, in inches
draw = NetworkDisplay.from_graph


@pytest.fixture(scope="module")
def small(wine):
    return GaussianBNLearner().fit(wine[["alcohol", "hue", "ash", "proline"]])


def network(n, n_edges, seed, attribute="probability"):
    """Return a graph of n nodes with parameters, and how sure its edges are."""
    rng = np.random.RandomState(seed)
    order = rng.permutation(n)
    pairs = [(int(a), int(b)) for i, b in enumerate(order) for a in order[max(0, i - 8) : i]]
    dag = weighted(f"column {v}" for v in range(n))
    for i in rng.choice(len(pairs), n_edges, replace=False):
        a, b = pairs[i]
        values = {"weight": float(rng.uniform(-1, 1)), attribute: float(rng.uniform())}
        dag.add_edge(f"column {a}", f"column {b}", **values)
    return dag


def drawn_sizes(display):
    display.figure_.draw_without_rendering()
    return [text.get_fontsize() for text in display.ax_.texts]


def window_extents(artists):
    return {key: artist.get_window_extent() for key, artist in artists.items()}


def check_inside(display, artists):
    figure = display.figure_.bbox
    for box in (artist.get_window_extent() for artist in artists):
        assert figure.x0 <= box.x0 < box.x1 <= figure.x1
        assert figure.y0 <= box.y0 < box.y1 <= figure.y1


def polyline(display, edge):
    """Return points of a drawn edge in pixels, half a pixel apart."""
    patch = display.edges_[edge]
    path = patch.get_transform().transform_path(patch.get_path())
    (points,) = path.to_polygons(closed_only=False)
    steps = np.hypot(*np.diff(points, axis=0).T)
    lengths = np.append(0, np.cumsum(steps))
    at = np.arange(0, lengths[-1], 0.5)
    return np.column_stack([np.interp(at, lengths, points[:, i]) for i in (0, 1)])


# Sizes


@pytest.mark.filterwarnings("ignore:Names are drawn at")
@pytest.mark.parametrize(("figsize", "orientation"), [(WIDE, "left-right"), ((9, 2), "top-bottom")])
def test_figures_have_the_size_that_was_asked_for(learner, figsize, orientation):
    display = learner.plot(figsize=figsize, orientation=orientation)
    assert display.figure_.get_size_inches() == pytest.approx(figsize)
    display.figure_.draw_without_rendering()
    check_inside(display, [*display.nodes_.values(), *display.names_.values()])


def test_wine_fills_a_slide_from_left_to_right(learner):
    display = learner.plot(figsize=WIDE, orientation="left-right")
    assert min(drawn_sizes(display)) > 8
    boxes, figure = window_extents(display.nodes_), display.figure_.bbox
    whole = Bbox.union([*boxes.values()])
    assert whole.width > 0.95 * figure.width
    assert whole.height > 0.6 * figure.height  # edges and the legend take the rest
    assert all(boxes[a].x1 < boxes[b].x0 for a, b in display.edges_)


@pytest.mark.parametrize("options", [{"figsize": (3.4, 2.5)}, {"ax": (3.4, 2.5)}])
def test_small_text_is_warned_of(learner, options):
    if "ax" in options:
        options = {"ax": Figure(figsize=options["ax"]).subplots()}
    with pytest.warns(UserWarning, match="Names are drawn at .* pt") as found:
        display = learner.plot(**options)
    (message,) = [str(each.message) for each in found]
    (size,) = re.findall(r"drawn at ([\d.]+) pt", message)
    assert float(size) <= min(drawn_sizes(display)) < float(size) + 0.1
    assert found[0].filename == __file__


def test_new_figures_are_large_enough_for_the_smallest_text(small):
    with matplotlib.rc_context({"font.size": 4}):
        assert min(drawn_sizes(small.plot())) == pytest.approx(6)
    assert drawn_sizes(small.plot())[0] == pytest.approx(10)


# Places and bands


def test_nodes_stand_where_pos_says(learner):
    places = nx.circular_layout(learner.dag_)
    display = learner.plot(pos=places)
    boxes = {node: box.get_bbox() for node, box in display.nodes_.items()}
    middles = np.array([middle_of(box) for box in boxes.values()])
    given = np.array([places[node] for node in boxes])
    for axis in (0, 1):
        slope, _ = np.polyfit(given[:, axis], middles[:, axis], 1)
        assert np.corrcoef(given[:, axis], middles[:, axis])[0, 1] > 0.9999
        assert slope > 0
    assert not any(a.overlaps(b) for a, b in combinations(boxes.values(), 2))


def middle_of(box):
    return (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2


def bands(display):
    """Return the bands' rectangles in the order of the nodes' flow."""
    return [p for p in display.ax_.patches if type(p) is Rectangle and p.get_zorder() < 1]


@pytest.mark.parametrize("orientation", ["top-bottom", "left-right"])
def test_tiers_of_the_learner_are_bands(wine, orientation):
    tiers = [["ash", "proline"], ..., ["hue"]]
    columns = ["hue", "ash", "alcohol", "proline", "malic_acid"]
    learner = GaussianBNLearner(tiers=tiers).fit(wine[columns])
    display = learner.plot(orientation=orientation)
    rectangles = [patch.get_bbox() for patch in bands(display)]
    assert len(rectangles) == 3
    members = [{"ash", "proline"}, {"alcohol", "malic_acid"}, {"hue"}]
    for node, box in display.nodes_.items():
        middle = middle_of(box.get_bbox())
        inside = [i for i, rectangle in enumerate(rectangles) if rectangle.contains(*middle)]
        assert inside == [i for i, names in enumerate(members) if node in names]
    assert {"tier 1", "tier 2", "tier 3"} <= {*texts(display)}
    placed = learner.plot(pos=nx.circular_layout(learner.dag_))
    for without in (learner.plot(tiers=None), placed, learner.network_.plot()):
        assert bands(without) == []
    dag = nx.DiGraph([(0, 1), (1, 2)])
    display = draw(dag, tiers={"before": [0], "empty": [], "after": ...})
    assert texts(display)[3:] == ["before", "after"]
    assert len(bands(display)) == 2


# Colours of nodes


def contrast(one, other):
    """Return the contrast of the Web Content Accessibility Guidelines."""

    def luminance(colour):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
        return np.dot([0.2126, 0.7152, 0.0722], linear)

    low, high = sorted([luminance(to_rgb(one)), luminance(to_rgb(other))])
    return (high + 0.05) / (low + 0.05)


def test_colours_of_nodes(small):
    assert {*faces(small.plot(node_color="tab:blue")).values()} == {to_rgb("tab:blue")}
    plain = faces(small.plot())
    found = faces(small.plot(node_color={"hue": "#123456", "ash": (1, 0, 0)}))
    assert same_color(found.pop("hue"), "#123456")
    assert same_color(found.pop("ash"), "red")
    assert found.items() <= plain.items()


def test_groups_of_nodes(small):
    display = small.plot(node_color={"hue": "b", "ash": "c", "proline": "b", "alcohol": None})
    found = faces(display)
    assert found["hue"] == found["proline"] != found["ash"]
    assert found["alcohol"] == faces(small.plot())["alcohol"]
    assert texts(display)[-2:] == ["b", "c"]  # too short to be meant as colours
    samples = [p for p in display.ax_.patches if type(p) is Rectangle]
    assert [p.get_facecolor()[:3] for p in samples] == [found["hue"], found["ash"]]
    # As many as can be told apart.
    display = draw(graph_of(range(10)), node_color={v: f"group {v % 9}" for v in range(10)})
    assert len({*faces(display).values()}) == 9


def test_numbers_of_nodes(small):
    numbers = pd.Series({"alcohol": 5, "hue": -1.5, "ash": 2.0, "proline": 1e1}, name="spread")
    display = small.plot(node_color=numbers)
    found = faces(display)
    light = {node: np.mean(face) for node, face in found.items()}
    assert sorted(light, key=light.get) == list(numbers.sort_values().index)
    legend = texts(display)[-5:]
    assert legend[0] == "spread"
    assert [*map(float, legend[1:])] == pytest.approx(np.linspace(-1.5, 10, 4), rel=0.01)
    assert len({*faces(small.plot(node_color=dict.fromkeys(numbers.index, 3))).values()}) == 1
    missing = small.plot(node_color=numbers.where(numbers.index != "hue"))
    assert faces(missing)["hue"] == faces(small.plot())["hue"]


@pytest.mark.parametrize(
    "style", ["default", pytest.param("dark_background", marks=pytest.mark.slow)]
)
def test_names_can_be_read_on_any_colour(style):
    dag = graph_of(range(12))
    with matplotlib.style.context(style):
        for colours in ({v: v for v in dag}, {v: f"group {v % 9}" for v in dag}, "navy", "gold"):
            for marked in ([], [0, 1]):
                display = draw(dag, node_color=colours, highlight=marked)
                for node, face in faces(display).items():
                    least = 4.4 if node in marked or not marked else 1.9
                    assert contrast(face, display.names_[node].get_color()) > least


# Machado, Oliveira & Fernandes (2009), severity 1, on linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}


def lab(colour, matrix):
    """Return CIE L*a*b* of a colour as a colour-blind reader sees it."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(matrix) @ linear, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ linear / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("blindness", BLINDNESS)
@pytest.mark.parametrize("style", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_differ_also_for_colour_blind_readers(style, blindness):
    signs = [style.positive, style.negative, style.neutral]
    kinds = [style.missing, style.extra, style.reversed, style.neutral]
    for colours in (signs, kinds):
        seen = [lab(colour, BLINDNESS[blindness]) for colour in colours]
        assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 20
    plain = [[lab(c, np.eye(3)) for c in colours] for colours in (signs[:2], kinds[:2])]
    assert min(np.linalg.norm(a - b) for a in plain[0] for b in plain[1]) > 40


# Labels


def check_labels(display):
    """Each label stands on its edge, and covers no other edge, no node and no other label."""
    display.figure_.draw_without_rendering()
    labels = window_extents(display.labels_)
    assert labels.keys() == display.edges_.keys()
    for one, other in combinations(labels.values(), 2):
        assert not one.overlaps(other)
    lines = {edge: polyline(display, edge) for edge in labels}
    for edge, label in labels.items():
        assert not any(label.overlaps(box) for box in window_extents(display.nodes_).values())
        for other, line in lines.items():
            covers = ((line > label.min) & (line < label.max)).all(axis=1).any()
            assert other == edge or not covers
        middle, half = (label.min + label.max) / 2, (label.max - label.min) / 2
        away = (np.abs(lines[edge] - middle) - half).max(axis=1).min()
        assert away < 2  # pixels


@pytest.mark.parametrize(
    ("n", "n_edges"),
    [(8, 10), *(pytest.param(n, k, marks=pytest.mark.slow) for n, k in ((13, 18), (20, 26)))],
)
@pytest.mark.parametrize("orientation", ["top-bottom", "left-right"])
def test_labels_cover_neither_edges_nor_nodes_nor_each_other(n, n_edges, orientation):
    dag = network(n, n_edges, seed=n)
    options = {"edge_label": "probability", "orientation": orientation}
    check_labels(draw(dag, **options))


@pytest.mark.parametrize("font_size", [pytest.param(10, marks=pytest.mark.slow), 20])
def test_wine_has_all_its_labels_clear(learner, font_size):
    with matplotlib.rc_context({"font.size": font_size}):
        check_labels(learner.plot(edge_label="standardised_weight"))


def test_labels_of_what_the_score_loses_without_an_edge(small):
    display = small.plot(edge_label="score_loss")
    table = small.network_.to_frame()
    losses = zip(table["parent"], table["child"], table["score_loss"], strict=True)
    expected = {(parent, child): f"{loss:.3g}" for parent, child, loss in losses}
    assert {edge: text.get_text() for edge, text in display.labels_.items()} == expected
    assert all("score_loss" not in data for _, _, data in small.dag_.edges(data=True))
    copied = GaussianBayesianNetwork(small.dag_)
    message = r"no attribute score_loss\. .* a learner for score_loss"
    raises(message, copied.plot, edge_label="score_loss")


# Confidence


@pytest.mark.parametrize(
    ("attribute", "name"),
    [("probability", "posterior probability"), ("support", "bootstrap support")],
)
def test_firm_and_doubtful_edges_differ_in_opacity_and_dashes(attribute, name):
    values = {("a", "b"): 1.0, ("a", "c"): 0.9, ("b", "d"): 0.89, ("c", "d"): 0.5, ("a", "d"): 0.1}
    dag = nx.DiGraph([(*edge, {attribute: value}) for edge, value in values.items()])
    display = draw(dag, edge_label=attribute)
    assert texts(display)[-4:] == [name, "0.9 to 1", "0.5 to 0.9", "below 0.5"]
    dashes = [display.edges_[edge].get_linestyle() for edge in values]
    assert dashes[0] == dashes[1]
    assert dashes[0] in ("-", "solid")
    assert dashes[2] == dashes[3] not in (dashes[0], dashes[4])
    opacities = [display.edges_[edge].get_edgecolor()[3] for edge in values]
    assert sorted(opacities, reverse=True) == opacities
    assert opacities[0] == 1
    assert opacities[-1] < 0.5


def test_probability_goes_before_support_which_is_checked():
    dag = nx.DiGraph([("a", "b", {"probability": 1.0, "support": 0.2})])
    display = draw(dag, edge_label=["probability", "support"])
    assert display.labels_["a", "b"].get_text() == "1.00, 0.20"
    assert display.edges_["a", "b"].get_edgecolor()[3] == 1
    assert "posterior probability" in texts(display)
    dag = nx.DiGraph([("a", "b", {"support": 2}), ("b", "c", {"support": 1})])
    raises("support of edge 'a' -> 'b' must be from 0 to 1; got 2", NetworkDisplay, dag)
    del dag.edges["a", "b"]["support"]
    raises("edge 'a' -> 'b' has no attribute support", NetworkDisplay, dag)


# Legends


def test_legends_explain_what_is_drawn(learner, small):
    signs, widths = ["weight", "positive", "negative"], ["standardised weight", "0.25"]
    assert texts(learner.plot())[13:] == [*signs, *widths, "0.5", "1 or more"]
    ax = Figure(figsize=(8, 9)).subplots()
    assert texts(learner.plot(ax=ax))[13:] == []
    assert texts(draw(nx.DiGraph(["ab"]))) == ["a", "b"]
    only_positive = draw(weighted("ab", [("a", "b", 0.1)]))
    assert texts(only_positive)[2:] == [*signs[:2], *widths]


def test_legends_stay_in_the_figure_and_hide_nothing():
    dag = weighted("ab")
    dag.add_edge("a", "b", weight=3.0, support=0.7)
    groups = {"a": "a group with a very long name", "b": "another group with a long name"}
    display = draw(dag, node_color=groups)
    display.figure_.draw_without_rendering()
    check_inside(display, display.ax_.texts)
    extents = [text.get_window_extent() for text in display.ax_.texts]
    assert not any(a.overlaps(b) for a, b in combinations(extents, 2))


# Files


def test_text_in_files_can_be_edited(small, tmp_path):
    with matplotlib.rc_context({"svg.fonttype": "none", "pdf.fonttype": 42}):
        display = small.plot()
        for kind in ("svg", "pdf"):
            display.figure_.savefig(tmp_path / f"network.{kind}")
    svg = ElementTree.parse(tmp_path / "network.svg")
    elements = [each for each in svg.iter() if each.tag.endswith("}text")]
    written = {"".join(text.itertext()).strip() for text in elements}
    assert {*texts(display)} <= written
    pdf = (tmp_path / "network.pdf").read_bytes()
    objects = pdf
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL):
        with suppress(zlib.error):
            objects += zlib.decompress(stream)
    assert b"/CIDFontType2" in objects  # a font of type 42; type 3 has only outlines
    assert b"/Type3" not in objects


def test_no_warnings_for_pictures_of_their_own_size(learner):
    learner.plot(orientation="left-right", cpdag=True, edge_label="weight")
    assert isinstance(learner.plot(node_color=pd.Series({"hue": "#ffffff"})), NetworkDisplay)

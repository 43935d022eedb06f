"""Where nodes and edges are drawn: clear of each other, with few crossings, always the same."""

import math
from itertools import combinations, permutations, product

import networkx as nx
import numpy as np
import pytest
import reference
from drawn import graph_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from skbn._displays.layout.coordinates import CORNER, cut_at_end, split
from skbn._displays.layout.layered import LayeredGraph, Layout, PlacedGraph
from skbn._displays.layout.order import order_by_lanes, order_layers, shortest_layers

CLEARANCE = 3.5


def random_dag(n, n_edges, seed):
    rng = np.random.RandomState(seed)
    order = rng.permutation(n)
    pairs = [(int(a), int(b)) for i, b in enumerate(order) for a in order[:i]]
    return graph_of(range(n), [pairs[i] for i in rng.choice(len(pairs), n_edges, replace=False)])


def same_sizes(dag, width=30.0, height=22.0):
    return dict.fromkeys(dag, (width, height))


def shape(layout):
    """The width and the height of what is drawn."""
    left, right, bottom, top = layout.extent
    return right - left, top - bottom


def random_sizes(dag, seed=0):
    rng = np.random.RandomState(seed)
    return {node: (float(rng.uniform(25, 140)), float(rng.uniform(20, 34))) for node in dag}


def sampled(curve):
    curve, t = np.array(curve), np.linspace(0, 1, 40)[:, None]
    weights = np.hstack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])
    return np.concatenate([weights @ curve[k : k + 4] for k in range(0, len(curve) - 1, 3)])


def distances(points, centre, size):
    """Tell how far points are from a box with rounded corners; inside, less than 0."""
    beyond = np.abs(np.array(points) - centre) - np.array(size) / 2 + CORNER
    return np.hypot(*np.maximum(beyond, 0).T) + np.minimum(beyond.max(1), 0) - CORNER


def crossings(layout):
    """Count the pairs of edges without a common end whose curves meet."""
    lines = {edge: sampled(curve)[::8] for edge, curve in layout.routes.items()}

    def sides(line, points):
        along, away = np.diff(line, axis=0)[:, None], points[None] - line[:-1, None]
        return along[..., 0] * away[..., 1] > along[..., 1] * away[..., 0]

    def cross(one, other):
        a, b = sides(one, other), sides(other, one)
        return ((a[:, 1:] != a[:, :-1]) & (b[:, 1:] != b[:, :-1]).T).any()

    return sum(cross(lines[e], lines[f]) for e, f in combinations(lines, 2) if not set(e) & set(f))


def check(dag, sizes, layout, is_sideways=False):
    """Check that boxes and edges are clear of each other, and that edges go one way."""
    positions, routes = layout.positions, layout.routes
    ahead, way = (0, 1) if is_sideways else (1, -1)
    assert list(positions) == list(dag)
    assert list(routes) == list(dag.edges)
    for a, b in combinations(dag, 2):
        apart = np.abs(np.subtract(positions[a], positions[b]))
        assert (apart >= np.add(sizes[a], sizes[b]) / 2 + 8).any()
    for (a, b), curve in routes.items():
        gap = way * (positions[b][ahead] - positions[a][ahead])
        assert gap > (sizes[a][ahead] + sizes[b][ahead]) / 2
        assert len(curve) % 3 == 1
        points = sampled(curve)
        for node in dag:
            away = distances(points, positions[node], sizes[node])
            if node in (a, b):
                end = 0 if node == a else -1
                assert away[end] == pytest.approx(0, abs=0.01)
                assert away.min() > -0.01
            else:
                assert away.min() >= CLEARANCE
    boxes = np.array([[*positions[v], *sizes[v]] for v in dag])
    low, high = boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2
    points = np.concatenate([low, high, *map(sampled, routes.values())])
    left, right, bottom, top = layout.extent
    assert (points >= np.subtract((left, bottom), 1e-3)).all()
    assert (points <= np.add((right, top), 1e-3)).all()


def laid_out(dag, sizes=None, stretch=(1.0, 1.0), **options):
    sizes = random_sizes(dag) if sizes is None else sizes
    layout = LayeredGraph(dag, sizes, **options).layout(stretch)
    check(dag, sizes, layout, options.get("is_sideways", False))
    return layout


@settings(max_examples=12)
@given(st.data())
def test_random_networks(data):
    n = data.draw(st.integers(1, 9))
    dag = random_dag(n, data.draw(st.integers(0, n * (n - 1) // 2)), data.draw(st.integers(0, 99)))
    laid_out(dag, random_sizes(dag, data.draw(st.integers(0, 99))))


@pytest.mark.parametrize(("n", "n_edges"), [(13, 27), (20, 26)])
def test_networks_of_usual_size(n, n_edges):
    laid_out(random_dag(n, n_edges, 0))


def test_isolated_nodes_are_packed():
    dag = graph_of(range(12))
    width, height = shape(laid_out(dag, same_sizes(dag, 80.0)))
    assert 0.75 <= width / height <= 3


def test_parts_do_not_mix():
    dag = nx.disjoint_union_all([random_dag(5, 6, seed) for seed in range(4)])
    dag.add_nodes_from("xyz")
    layout = laid_out(dag)
    width, height = shape(layout)
    assert 0.5 <= width / height <= 2.5
    assert crossings(layout) <= 4


@settings(max_examples=25)
@given(st.data())
def test_ordered_layers_cost_what_is_said(data):
    n = data.draw(st.integers(2, 12))
    n_edges = data.draw(st.integers(0, min(2 * n, n * (n - 1) // 2)))
    dag = random_dag(n, n_edges, data.draw(st.integers(0, 99)))
    edges, widths = list(dag.edges), [float(size) for size, _ in random_sizes(dag).values()]
    widest = data.draw(st.sampled_from([150.0, 300.0, 1e6]))
    passing = data.draw(st.sampled_from([0.0, 7.0]))
    layers = shortest_layers(n, edges)
    cost, found, orders = order_layers(layers, edges, widths, widest, passing=passing)
    assert cost == reference.cost_of_layers(orders, n, edges, widths, widest, passing)
    places = {v: k for k, order in enumerate(orders) for v in order if v < n}
    assert places == dict(enumerate(found))
    for e, (a, b) in enumerate(edges):
        passed = [k for k, order in enumerate(orders) if n + e in order]
        assert passed == list(range(found[a] + 1, found[b]))


def test_layers_of_a_given_width_keep_to_it():
    dag = random_dag(30, 40, 0)
    sizes = same_sizes(dag, 80.0, 24.0)
    assert shape(laid_out(dag, sizes, width=300.0))[0] <= 301
    assert shape(laid_out(dag, sizes))[0] > 400


@pytest.mark.parametrize("is_reversed", [False, True])
def test_wide_layers_are_split(is_reversed):
    star = nx.DiGraph([("hub", i) for i in range(20)])
    dag = star.reverse() if is_reversed else star
    width, height = shape(laid_out(dag, same_sizes(dag, 80.0)))
    assert width / height < 3


def test_chain_is_straight_and_a_parent_above_the_middle_of_its_children():
    layout = laid_out(nx.path_graph(5, nx.DiGraph))
    assert np.ptp([x for x, _ in layout.positions.values()]) < 0.1
    dag = nx.DiGraph(["ab", "ac", "ad"])
    positions = laid_out(dag, same_sizes(dag, 40.0)).positions
    xs = sorted(positions[v][0] for v in "bcd")
    assert positions["a"][0] == pytest.approx(xs[1], abs=0.1)
    assert xs[2] - xs[1] == pytest.approx(xs[1] - xs[0], abs=0.1)


def test_nodes_alike_are_in_the_order_of_the_columns():
    dag = nx.DiGraph([*product("abc", "defg"), ("a", "h"), ("h", "z"), ("c", "z")])
    positions = laid_out(dag, same_sizes(dag)).positions
    for layer in {positions[node][1] for node in "defg"}:
        nodes = [node for node in "defg" if positions[node][1] == layer]
        assert sorted(nodes, key=lambda node: positions[node][0]) == nodes
    dag = nx.DiGraph([(i, "y") for i in range(7)])
    positions = laid_out(dag, same_sizes(dag)).positions
    xs = [positions[i][0] for i in range(7)]
    assert xs == sorted(xs)


@pytest.mark.parametrize("nodes", ["abxy", "bayx"])
def test_the_first_nodes_are_left(nodes):
    dag = graph_of(nodes, ["ax", "ay", "by"])
    positions = laid_out(dag, same_sizes(dag)).positions
    assert positions[nodes[0]][0] < positions[nodes[1]][0]
    assert positions[nodes[2]][0] < positions[nodes[3]][0]


def test_grids_and_trees_are_uncrossed():
    rng = np.random.RandomState(0)
    ways = [(a, b) for a, b in permutations(product(range(4), repeat=2), 2) if a < b]
    grid = nx.DiGraph([(a, b) for a, b in ways if math.dist(a, b) == 1])
    for graph in (nx.balanced_tree(2, 3, nx.DiGraph), grid):
        nodes = list(graph)
        dag = graph_of([nodes[i] for i in rng.permutation(len(nodes))], graph.edges)
        assert crossings(laid_out(dag)) == 0


def test_fewer_crossings_than_layers_in_the_order_of_the_columns():
    dag = random_dag(13, 24, 3)
    positions = nx.multipartite_layout(dag, dict(enumerate(nx.topological_generations(dag))))
    thirds = np.linspace(0, 1, 4)[:, None]
    lines = {(a, b): (1 - thirds) * positions[a] + thirds * positions[b] for a, b in dag.edges}
    assert crossings(laid_out(dag)) < crossings(Layout(positions, lines, (0, 0, 0, 0))) / 2


def test_picture_of_the_wine_data(learner):
    """The picture as it is, to notice when it changes: look at both, then write down the better."""
    dag = learner.dag_
    drawn = LayeredGraph(dag, same_sizes(dag, 80.0, 24.0)).layout()
    xs = [72, 70, 208, 293, 222, 177, 183, 346, 177, 92, 67, 112, 154]
    ys = [-332, -268, -12, -268, -76, -524, -204, -332, -268, -460, -524, -396, -140]
    assert np.array([*drawn.positions.values()]) == pytest.approx(np.c_[xs, ys], abs=1)
    assert drawn.extent == pytest.approx((0, 386, -536, 0), abs=1)


def test_names_do_not_matter():
    dag = random_dag(9, 14, 2)
    names = {node: f"{(node * 7) % 9} {node}" for node in dag}
    sizes = random_sizes(dag)
    renamed = {names[node]: size for node, size in sizes.items()}
    one = LayeredGraph(dag, sizes).layout()
    other = LayeredGraph(nx.relabel_nodes(dag, names), renamed).layout()
    assert list(other.positions.values()) == list(one.positions.values())
    assert {(names[a], names[b]): curve for (a, b), curve in one.routes.items()} == other.routes


@pytest.mark.parametrize(
    ("n", "n_edges"), [(6, 5), (13, 27), pytest.param(20, 26, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("is_sideways", [False, True])
def test_stretched_layouts_stay_clear(n, n_edges, is_sideways):
    dag = random_dag(n, n_edges, 1)
    width, height = shape(laid_out(dag, is_sideways=is_sideways))
    wider, higher = shape(laid_out(dag, is_sideways=is_sideways, stretch=(2.5, 1.5)))
    assert 1.1 < wider / width <= 2.51
    assert 1.1 < higher / height <= 1.51


def test_sideways_the_first_nodes_are_above():
    dag = nx.DiGraph(["ax", "ay", "by"])
    positions = laid_out(dag, same_sizes(dag, 90.0), is_sideways=True).positions
    assert positions["a"][0] == positions["b"][0] < positions["x"][0] == positions["y"][0]
    assert positions["a"][1] > positions["b"][1]
    assert positions["x"][1] > positions["y"][1]


def random_bands(dag, n_bands, seed):
    """Cut a topological order into bands."""
    rng = np.random.RandomState(seed)
    order = list(nx.topological_sort(dag))
    cuts = np.sort(rng.choice(np.arange(1, len(order)), n_bands - 1, replace=False))
    return {node: int((cuts <= i).sum()) for i, node in enumerate(order)}


@settings(max_examples=12)
@given(st.data())
def test_bands_hold_their_nodes_and_nothing_else(data):
    n, is_sideways = data.draw(st.integers(3, 9)), data.draw(st.booleans())
    dag = random_dag(n, data.draw(st.integers(0, n)), data.draw(st.integers(0, 99)))
    bands = random_bands(dag, data.draw(st.integers(1, 3)), data.draw(st.integers(0, 99)))
    sizes = random_sizes(dag)
    layout = laid_out(dag, sizes, is_sideways=is_sideways, bands=bands)
    assert layout.bands.keys() == {*bands.values()}
    for node, (x, y) in layout.positions.items():
        half_width, half_height = np.array(sizes[node]) / 2
        for band, (left, right, bottom, top) in layout.bands.items():
            if band == bands[node]:
                assert left < x - half_width < x + half_width < right
                assert bottom < y - half_height < y + half_height < top
            else:
                beyond = [left - x - half_width, x - half_width - right]
                beyond += [bottom - y - half_height, y - half_height - top]
                assert max(beyond) > 0
    extents = np.array(list(layout.bands.values()))
    assert layout.extent[0] == extents[:, 0].min()
    assert layout.extent[3] == extents[:, 3].max()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_bands", [1, 2])
def test_shortest_layers(seed, n_bands):
    """Against all ways to put five nodes into five layers."""
    dag = random_dag(5, 6 if n_bands == 1 else 4, seed)
    band_of = random_bands(dag, n_bands, seed)
    bands, edges = [band_of[v] for v in range(5)], list(dag.edges)
    layers = shortest_layers(5, edges, bands) if n_bands > 1 else shortest_layers(5, edges)

    def is_allowed(way):
        first, last = ([way[v] for v in dag if bands[v] == band] for band in (0, 1))
        return max(first) < min(last, default=5) and all(way[a] < way[b] for a, b in edges)

    def length(way):
        return sum(way[b] - way[a] for a, b in edges)

    allowed = [way for way in product(range(5), repeat=5) if is_allowed(way)]
    assert is_allowed(layers)
    assert length(layers) == min(map(length, allowed))
    if n_bands == 1:
        shortest = [way for way in allowed if length(way) == length(layers)]
        assert layers == np.min(shortest, axis=0).tolist()


def overlapping(dag, sizes, layout):
    def overlap(a, b):
        apart = np.abs(np.subtract(layout.positions[a], layout.positions[b]))
        return (apart < np.add(sizes[a], sizes[b]) / 2).all()

    return [pair for pair in combinations(dag, 2) if overlap(*pair)]


@pytest.mark.parametrize("seed", range(3))
def test_nodes_stand_where_they_are_put(seed):
    dag = random_dag(8, 10, seed)
    sizes = random_sizes(dag)
    places = nx.circular_layout(dag)
    layout = PlacedGraph(dag, sizes, places).layout()
    drawn, given = (pdist([of[v] for v in dag]) for of in (layout.positions, places))
    ratios = drawn / given  # of distances
    assert np.ptp(ratios) < 1e-3 * ratios.mean()
    assert overlapping(dag, sizes, layout) == []
    for edge, route in layout.routes.items():
        for node in dag:
            if node not in edge:
                assert distances(sampled(route), layout.positions[node], sizes[node]).min() > 0


def test_nodes_put_close_together_are_pushed_apart():
    dag = random_dag(12, 15, 0)
    sizes = random_sizes(dag)
    rng = np.random.RandomState(0)
    places = {v: rng.normal(size=2) for v in dag}
    places[3] = places[4] + 1e-6
    layout = PlacedGraph(dag, sizes, places).layout()
    assert overlapping(dag, sizes, layout) == []
    assert math.prod(shape(layout)) < 40 * sum(map(math.prod, sizes.values()))


def test_edges_bend_around_nodes_in_their_way():
    dag = nx.DiGraph(["ac", "ab"])
    sizes = same_sizes(dag, 60.0, 24.0)
    layout = PlacedGraph(dag, sizes, {"a": (0, 0), "b": (1, 0), "c": (2, 0)}).layout()
    around, straight = layout.routes["a", "c"], layout.routes["a", "b"]
    assert distances(sampled(around), layout.positions["b"], sizes["b"]).min() > 2
    assert np.ptp([y for _, y in straight]) == 0
    for (a, b), route in layout.routes.items():
        for node, end in ((a, route[0]), (b, route[-1])):
            beyond = np.abs(np.subtract(end, layout.positions[node])) - np.array(sizes[node]) / 2
            assert beyond.max() == pytest.approx(0, abs=0.01)


# Lanes


def in_time(n_columns, n_lags, density, seed):
    """Return edges from lagged copies and within a step, with the lane and the band of nodes."""
    rng = np.random.default_rng(seed)
    nodes = [(lag, x) for lag in range(n_lags, -1, -1) for x in range(n_columns)]
    dag, order = graph_of(nodes), rng.permutation(n_columns).tolist()
    for (lag, x), y in product(nodes, range(n_columns)):
        if rng.random() < density and (lag > 0 or order[x] < order[y]):
            dag.add_edge((lag, x), (0, y))
    return dag, {v: v[1] for v in nodes}, {v: n_lags - v[0] for v in nodes}


@pytest.mark.parametrize("is_sideways", [True, pytest.param(False, marks=pytest.mark.slow)])
@given(n_columns=st.integers(1, 6), n_lags=st.integers(1, 3), seed=st.integers(0, 999))
def test_nodes_of_a_lane_stand_in_one_line(n_columns, n_lags, seed, is_sideways):
    dag, lanes, bands = in_time(n_columns, n_lags, seed % 7 / 12, seed)
    sizes = random_sizes(dag, seed)
    graph = LayeredGraph(dag, sizes, is_sideways=is_sideways, bands=bands, lanes=lanes)
    layout = graph.layout((1.5, 1.3) if seed % 2 else (1.0, 1.0))
    across, along = (1, 0) if is_sideways else (0, 1)
    sign = -1 if is_sideways else 1
    lags, columns = range(n_lags + 1), range(n_columns)
    places = [[sign * layout.positions[lag, x][across] for lag in lags] for x in columns]
    assert np.ptp(places, axis=1).max() < 0.05
    assert (np.diff(np.mean(places, axis=1)) > 20).all()
    for lag in range(1, n_lags + 1):
        assert len({layout.positions[lag, x][along] for x in range(n_columns)}) == 1
    for a, b in dag.edges:
        assert sign * layout.positions[a][along] > sign * layout.positions[b][along]
    for edge, curve in layout.routes.items():
        for v in set(dag) - set(edge):
            apart = distances(sampled(curve), layout.positions[v], sizes[v]).min()
            assert apart > CLEARANCE, (edge, v)


def test_edges_of_one_line_do_not_cross():
    # From both copies of a column to the column, past a layer of another.
    layers, lanes = [0, 1, 3, 2], [0, 0, 0, 1]
    assert order_by_lanes(layers, [(1, 2), (0, 2)], lanes) == [(0,), (5, 1), (5, 4, 3), (2,)]


def test_parts_are_packed_beside_and_below_each_other():
    chain = nx.path_graph(8, nx.DiGraph)
    pairs = nx.relabel_nodes(nx.DiGraph([(a, a + 1) for a in range(0, 40, 2)]), lambda v: v + 100)
    graphs = nx.compose(chain, pairs), chain
    both, alone = (shape(LayeredGraph(g, same_sizes(g, 40.0)).layout()) for g in graphs)
    assert both[1] < 1.2 * alone[1]  # the pairs fill the room beside it
    assert 0.5 < both[0] / both[1] < 2


# Curves


ARCH = [(0, 0), (0, 60), (100, 60), (100, 0)]
TWO_PIECES = [*ARCH, (100, -2), (100, -4), (100, -5)]


def bernstein(piece, t):
    weights = [math.comb(3, k) * t**k * (1 - t) ** (3 - k) for k in range(4)]
    return tuple(sum(w * p[i] for w, p in zip(weights, piece, strict=True)) for i in (0, 1))


@pytest.mark.parametrize("t", [0, 0.2, 0.5, 1])
def test_points_are_those_of_bernstein_polynomials(t):
    assert split(ARCH, t)[-1] == pytest.approx(bernstein(ARCH, t))


@pytest.mark.parametrize("route", [ARCH, TWO_PIECES])
@pytest.mark.parametrize("length", [1.0, 4.9, 20.0])
def test_cut_ends_at_the_distance_and_follows_the_curve(route, length):
    cut = cut_at_end(route, length)
    assert math.dist(cut[-1], route[-1]) == pytest.approx(length)
    assert cut[0] == route[0]
    assert (len(cut) - 1) % 3 == 0
    # A part of a cubic is the cubic at a share of its parameter.
    middle = point_at(cut, 0.5 / ((len(cut) - 1) // 3))
    nearest = min(math.dist(middle, point_at(route, i / 10_000)) for i in range(10_001))
    assert nearest < 0.05


def test_short_curves_are_cut_in_half():
    line = [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert cut_at_end(line, 100)[-1] == pytest.approx((0, 1.5))


def point_at(route, share):
    """Return the point at a share of a curve, whose pieces all count as equally long."""
    n_pieces = (len(route) - 1) // 3
    piece = min(int(share * n_pieces), n_pieces - 1)
    return bernstein(route[3 * piece : 3 * piece + 4], share * n_pieces - piece)

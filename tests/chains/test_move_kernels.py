"""A move draws from the conditional distribution given the rest, found by enumeration."""

import math
from collections import Counter

import networkx as nx
import numpy as np
import pytest
import reference
from agreement import assert_drawn_from
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from states import bits_of, layers_of, masks_of, network_in, random_scores, state_of, values_of

from skbn._chains.block_kernels import blocks_of, redraw_blocks
from skbn._chains.family_kernels import draw_network, edges_given_partition, reach, sum_subsets
from skbn._chains.move_kernels import move_related
from skbn._chains.place_kernels import moves_of
from skbn._core.compile import compile_kernels

ALL = np.array([1.0])


def without(layers, columns):
    """The layers that are left when some columns are taken out."""
    left = (tuple(v for v in layer if v not in columns) for layer in layers)
    return tuple(layer for layer in left if layer)


@pytest.mark.parametrize("ruled_out", [0.0, 0.5])
@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_a_move_is_a_draw_given_the_rest(width, ruled_out):
    """From one state again and again: each move's columns are known by what did not change."""
    m = 4
    scores = random_scores(m, width, ruled_out=ruled_out)
    weights = reference.weights_of_partitions(values_of(scores), m)
    start = next(each for each in reversed(weights) if len(each) == 3 and weights[each] > 0)
    columns = list(range(width))
    expected = {
        each: weight
        for each, weight in weights.items()
        if without(each, columns) == without(start, columns)
    }
    # Only these columns are movable, so that all moves of this width are of them.
    found = Counter()
    related = np.cumsum(np.tile(np.arange(m) < width, (m, 1)).astype(float), axis=1)
    shares = np.append(np.zeros(width - 1), 1.0)
    state = state_of(scores, start)
    layers = state.layers.copy()
    for _ in range(4000):
        state.layers[:], state.n_layers[0] = layers, len(start)
        assert move_related(state, np.array(columns), related, shares, 1, moves_of(m, width))
        found[layers_of(state)] += 1
    assert_drawn_from(found, expected)


def test_weights_that_differ_by_more_than_float64_holds():
    """Each column needs all columns before it as parents, by hundreds of nats each."""
    m = 5
    scores = np.zeros((m, 1 << (m - 1)))
    for x in range(m):
        for mask in range(1 << (m - 1)):
            own = [z for p, z in enumerate(z for z in range(m) if z != x) if mask >> p & 1]
            scores[x, mask] = sum(300.0 if z < x else -300.0 for z in own)
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(m).tolist()
        state = state_of(scores, [[x] for x in order], seed)
        related = np.cumsum(np.ones((m, m)), axis=1)
        shares = np.array([0.3, 0.8, 1.0])
        assert move_related(state, np.arange(m), related, shares, 200, moves_of(m, 3)) == 200
        assert layers_of(state) == tuple((x,) for x in range(m))


def test_columns_whose_parents_in_the_last_layer_are_improbable():
    """Differences of sums have no digit left here: what meets the last layer weighs 1e-30."""
    m = 3
    scores = np.full((m, 4), -np.inf)
    scores[0, 0] = 0.0  # no parents
    scores[1, 0b01] = 0.0  # 0 alone
    scores[2, 0b01], scores[2, 0b11] = 0.0, -70.0  # 0, or 0 and 1
    weights = reference.weights_of_partitions(values_of(scores), m)
    assert sum(weight > 0 for weight in weights.values()) == 2
    state = state_of(scores, [[0], [1], [2]])
    related = np.cumsum(np.ones((m, m)), axis=1)
    # Given that 1 and 2 are in layers of their own, the column 0 has one place.
    assert move_related(state, np.array([0]), related, ALL, 1, moves_of(m, 1))
    assert layers_of(state) == ((0,), (1,), (2,))
    assert move_related(state, np.array([2]), related, ALL, 1, moves_of(m, 1))
    assert layers_of(state) == ((0,), (1, 2))


def test_related_columns_are_moved_together():
    """With relations between 0 and 1 alone, moves of two columns are of these."""
    m = 4
    scores = random_scores(m, 3, spread=0.1)
    related = np.full((m, m), 1e-12)
    related[0, 1] = related[1, 0] = 1.0
    state = state_of(scores, [range(m)])
    for _ in range(300):
        before = layers_of(state)
        pair, shares = np.array([0, 1]), np.array([0.0, 1.0])
        sums = np.cumsum(related, axis=1)
        assert move_related(state, pair, sums, shares, 1, moves_of(m, 2))
        assert without(layers_of(state), [0, 1]) == without(before, [0, 1])


# New parents of a block leave the networks as probable as they were, given all other families


M = 4
NETWORKS = [[(), (), (0, 1), (2,)], [(1,), (2,), (3,), ()], [(), (0,), (0,), (1, 2)]]
RULED_OUT = [0.0, 0.4, 0.4]


def redrawn(scores, starts, columns):
    """How often each network follows on these when the parents of a block are drawn anew."""
    state = state_of(scores, [range(M)])
    related = np.cumsum(np.tile(np.isin(range(M), columns).astype(float), (M, 1)), axis=1)
    shares = np.append(np.zeros(len(columns) - 1), 1.0)
    found, blocks = Counter(), blocks_of(M, len(columns))
    for parents in starts:
        masks = np.array(masks_of(parents))
        is_parent = np.zeros((M, M), np.bool_)
        for x, own in enumerate(parents):
            is_parent[x, list(own)] = True
        redraw_blocks(state, np.array(columns), related, shares, 1, masks, is_parent, blocks)
        network = network_in(is_parent)
        assert masks_of(network) == tuple(masks.tolist())
        assert layers_of(state) == generations_of(network)
        found[network] += 1
    return found


def drawn_by(weights, n):
    """Networks drawn by their weights."""
    networks, values = list(weights), np.array([*weights.values()])
    chosen = np.random.default_rng(0).choice(len(networks), n, p=values / values.sum())
    return [networks[i] for i in chosen]


def generations_of(network):
    """The layers of a network: each column comes right after the last of its parents."""
    edges = [(z, x) for x, own in enumerate(network) for z in own]
    graph = nx.DiGraph(edges)
    graph.add_nodes_from(range(M))
    return tuple(tuple(sorted(layer)) for layer in nx.topological_generations(graph))


def weights_given(scores, parents, columns):
    """The weights of all networks whose other columns have the same parents."""
    values = values_of(scores)
    return {
        network: np.prod([values[x, own] for x, own in enumerate(network)])
        for network in reference.all_dags(M)
        if all(network[x] == parents[x] for x in range(M) if x not in columns)
    }


@pytest.mark.parametrize(("parents", "ruled_out"), [*zip(NETWORKS, RULED_OUT, strict=True)])
@pytest.mark.parametrize("columns", [[2], [0, 3], [1, 2], [0, 1, 2], [3, 1, 0]])
def test_a_block_given_all_others(columns, parents, ruled_out):
    scores = random_scores(M, 3, spread=1.5, ruled_out=ruled_out)
    scores[range(M), masks_of(parents)] = 0.0  # a chain is in no state without a weight
    weights = weights_given(scores, parents, columns)
    starts = drawn_by(weights, 1000)
    assert_drawn_from(redrawn(scores, starts, columns), weights)


@pytest.mark.slow
@pytest.mark.parametrize("width", [2, 3, 4])
def test_all_networks_of_four_columns(width):
    """In the long run blocks alone lead to all networks, as probable as they are."""
    scores = random_scores(M, 5, spread=1.0)
    weights = weights_given(scores, [()] * M, range(M))
    related, shares = np.cumsum(np.ones((M, M)), axis=1), np.append(np.zeros(width - 1), 1.0)
    state, masks = state_of(scores, [range(M)]), np.zeros(M, np.int64)
    is_parent = np.zeros((M, M), np.bool_)
    found, blocks = Counter(), blocks_of(M, width)
    for _ in range(20_000):
        redraw_blocks(state, np.arange(M), related, shares, 20, masks, is_parent, blocks)
        found[network_in(is_parent)] += 1
    assert_drawn_from(found, weights)


def test_columns_that_want_each_other_as_parents():
    """Without the other one their families weigh less than float64 holds beside those with it."""
    scores = np.zeros((M, 1 << (M - 1)))
    for x, z in ((0, 1), (1, 0)):
        with_other = np.arange(1 << (M - 1)) & bits_of(M)[x][z] != 0
        scores[x] = np.where(with_other, 1500.0 + x, 0.0)
    found = redrawn(scores, [[(), (), (), ()]] * 3000, [0, 1])
    n_of_1 = sum(n for network, n in found.items() if 0 in network[1])
    assert all((1 in network[0]) != (0 in network[1]) for network in found)
    # Each of them has as many sets of other parents in both cases.
    assert n_of_1 / 3000 == pytest.approx(np.e / (1 + np.e), abs=0.05)


# Families given a partition, against sums and enumeration


LOGARITHMS = st.one_of(st.just(-math.inf), st.floats(-2000, 2000))


@given(st.lists(LOGARITHMS, min_size=8, max_size=8).filter(lambda each: max(each) > -math.inf))
def test_sums_over_subsets(scores):
    compile_kernels([sum_subsets])
    sums = np.empty(8)
    sum_subsets(np.array(scores), sums)
    for found, members in zip(sums, reference.joined_over_subsets(scores, list), strict=True):
        assert found == pytest.approx(logsumexp(members), rel=1e-13, abs=1e-11)


def sets_given(values, layers):
    """The parent sets that each column may have in a partition, with their weights."""
    of_columns = {}
    for i, layer in enumerate(layers):
        before = sorted(v for earlier in layers[:i] for v in earlier)
        for x in layer:
            of_columns[x] = {
                parents: values[x, parents]
                for parents in reference.subsets(before)
                if not i or not set(layers[i - 1]).isdisjoint(parents)
            }
    return of_columns


PARTITIONS = [
    [[0, 1, 2, 3, 4]],
    [[3], [0, 1], [4], [2]],
    [[4], [2], [0], [3], [1]],
    [[1, 2], [0, 3, 4]],
]


@pytest.mark.parametrize("layers", PARTITIONS)
@pytest.mark.parametrize("ruled_out", [0.0, 0.3])
def test_networks_and_edges_of_a_partition(layers, ruled_out):
    m = 5
    scores = random_scores(m, 1, spread=2.0, ruled_out=ruled_out)
    sets = sets_given(values_of(scores), layers)
    if any(sum(of_column.values()) == 0 for of_column in sets.values()):
        pytest.skip("no network has this partition")
    state = state_of(scores, layers)
    edges = np.empty((m, m))
    edges_given_partition(state, edges)
    for x, of_column in sets.items():
        total = sum(of_column.values())
        for z in range(m):
            share = sum(weight for parents, weight in of_column.items() if z in parents) / total
            assert edges[z, x] == pytest.approx(share, abs=1e-12)
    masks, is_parent = np.empty(m, np.int64), np.empty((m, m), np.bool_)
    drawn = [Counter() for _ in range(m)]
    for _ in range(2000):
        draw_network(state, masks, is_parent)
        for of_column, parents in zip(drawn, network_in(is_parent), strict=True):
            of_column[parents] += 1
    for x, of_column in sets.items():
        assert_drawn_from(drawn[x], of_column)
    assert layers_of(state) == tuple(tuple(sorted(layer)) for layer in layers)


@pytest.mark.parametrize("mean_odds", [-1.0, 2.0])
def test_parents_are_drawn_one_by_one_where_there_are_many_sets(mean_odds):
    """Of 13 candidates in two layers; sets in the thousands are compared by edges and size."""
    m, n = 14, 3000
    scores = np.full((m, 1 << (m - 1)), -np.inf)
    scores[:, 0] = 0.0
    rng = np.random.default_rng(0)
    masks = np.arange(1 << (m - 1))
    odds = rng.normal(mean_odds, 1.0, size=m - 1)
    of_last = (masks[:, np.newaxis] >> np.arange(m - 1) & 1) @ odds
    scores[m - 1] = of_last + rng.normal(scale=0.3, size=len(masks))
    scores[m - 1, rng.random(len(masks)) < 0.3] = -np.inf
    first, second = list(range(9)), list(range(9, 13))
    state = state_of(scores, [first, second, [13]])
    scores[range(9, 13), 1] = 0.0  # a parent in the first layer
    state = state_of(scores, [first, second, [13]])
    own = np.exp(scores[13])
    own[masks >> 9 == 0] = 0.0  # none in the second layer
    found, is_parent = np.empty(m, np.int64), np.empty((m, m), np.bool_)
    drawn = np.zeros(len(masks))
    for _ in range(n):
        draw_network(state, found, is_parent)
        drawn[found[13]] += 1
    assert not drawn[own == 0].any()
    own /= own.sum()
    for z in range(m - 1):
        has = masks >> z & 1 == 1
        share, error = own[has].sum(), math.sqrt(own[has].sum() * (1 - own[has].sum()) / n)
        assert abs(drawn[has].sum() / n - share) < 5 * error
    sizes = np.bitwise_count(masks)
    for size in range(1, 14):
        share = own[sizes == size].sum()
        assert abs(drawn[sizes == size].sum() / n - share) < 5 * math.sqrt(share / n) + 1e-9
    edges = np.empty((m, m))
    edges_given_partition(state, edges)
    for z in range(m - 1):
        assert edges[z, 13] == pytest.approx(own[masks >> z & 1 == 1].sum(), abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_paths_are_those_of_networkx(seed):
    m = 12
    rng = np.random.default_rng(seed)
    order = rng.permutation(m)
    is_parent = np.zeros((m, m), np.bool_)
    for i, x in enumerate(order):
        is_parent[x, order[:i][rng.random(i) < 0.25]] = True
    dag = nx.from_numpy_array(is_parent.T, create_using=nx.DiGraph)
    state = state_of(np.zeros((m, 1 << (m - 1))), [*nx.topological_generations(dag)])
    reaches = np.empty((m, m), np.bool_)
    reach(state, is_parent, reaches)
    for x in range(m):
        assert set(np.flatnonzero(reaches[x])) == nx.ancestors(dag, x)

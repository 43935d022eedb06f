"""Families given a partition, against sums and enumeration."""

import math
from collections import Counter

import networkx as nx
import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from states import (
    assert_drawn_from,
    layers_of,
    random_scores,
    state_of,
    values_of,
)

from skbn._chains.family_kernels import (
    draw_network,
    edges_given_partition,
    reach,
    sum_subsets,
)
from skbn._core.compile import compile_kernels


@given(
    st.lists(st.one_of(st.just(-math.inf), st.floats(-2000, 2000)), min_size=8, max_size=8).filter(
        lambda scores: max(scores) > -math.inf
    )
)
def test_sums_over_subsets(scores):
    compile_kernels([sum_subsets])
    sums = np.empty(8)
    sum_subsets(np.array(scores), sums)
    for found, members in zip(sums, reference.joined_over_subsets(scores, list), strict=True):
        top = max(members)
        expected = (
            top
            if top == -math.inf
            else top + math.log(sum(math.exp(score - top) for score in members))
        )
        assert found == pytest.approx(expected, rel=1e-13, abs=1e-11)


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
        for x in range(m):
            drawn[x][tuple(np.flatnonzero(is_parent[x]).tolist())] += 1
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

"""Two columns' new parents are drawn given all other families, by enumeration."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest
import reference
from states import (
    assert_drawn_from,
    bits_of,
    layers_of,
    masks_of,
    random_scores,
    state_of,
    values_of,
)

from skbn._chains.pair_kernels import redraw_pairs

M = 4
NETWORKS = [
    [(), (), (0, 1), (2,)],
    [(1,), (2,), (3,), ()],
    [(), (0,), (0,), (1, 2)],
]


def redrawn(scores, parents, columns, n):
    """How often each network follows on one when the parents of two columns are drawn anew."""
    state = state_of(scores, [range(M)])
    related = np.cumsum(np.tile(np.isin(range(M), columns).astype(float), (M, 1)), axis=1)
    found = Counter()
    for _ in range(n):
        masks = np.array(masks_of(parents))
        is_parent = np.zeros((M, M), np.bool_)
        for x, own in enumerate(parents):
            is_parent[x, list(own)] = True
        redraw_pairs(state, np.array(columns), related, 1, masks, is_parent)
        network = tuple(tuple(np.flatnonzero(row).tolist()) for row in is_parent)
        assert masks_of(network) == tuple(masks.tolist())
        assert layers_of(state) == generations_of(network)
        found[network] += 1
    return found


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


@pytest.mark.parametrize("ruled_out", [0.0, 0.4])
@pytest.mark.parametrize("parents", NETWORKS)
@pytest.mark.parametrize("columns", [[0, 1], [0, 3], [1, 2]])
def test_two_columns_given_all_others(columns, parents, ruled_out):
    scores = random_scores(M, 3, spread=1.5, ruled_out=ruled_out)
    scores[range(M), masks_of(parents)] = 0.0  # a chain is in no state without a weight
    assert_drawn_from(
        redrawn(scores, parents, columns, 1500), weights_given(scores, parents, columns)
    )


def test_columns_that_want_each_other_as_parents():
    """Without the other one their families weigh less than float64 holds beside those with it."""
    scores = np.zeros((M, 1 << (M - 1)))
    for x, z in ((0, 1), (1, 0)):
        with_other = np.arange(1 << (M - 1)) & bits_of(M)[x][z] != 0
        scores[x] = np.where(with_other, 1500.0 + x, 0.0)
    found = redrawn(scores, [(), (), (), ()], [0, 1], 3000)
    n_of_1 = sum(n for network, n in found.items() if 0 in network[1])
    assert all((1 in network[0]) != (0 in network[1]) for network in found)
    # Each of them has as many sets of other parents in both cases.
    assert n_of_1 / 3000 == pytest.approx(np.e / (1 + np.e), abs=0.05)

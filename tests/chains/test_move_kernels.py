"""A move draws from the conditional distribution given the rest, found by enumeration."""

from collections import Counter

import numpy as np
import pytest
import reference
from states import assert_drawn_from, layers_of, random_scores, state_of, values_of

from skbn._chains.move_kernels import move_related

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
        assert move_related(state, np.array(columns), related, shares, 1)
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
        assert move_related(state, np.arange(m), related, np.array([0.3, 0.8, 1.0]), 200) == 200
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
    assert move_related(state, np.array([0]), related, ALL, 1)
    assert layers_of(state) == ((0,), (1,), (2,))
    assert move_related(state, np.array([2]), related, ALL, 1)
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
        assert move_related(
            state, np.array([0, 1]), np.cumsum(related, axis=1), np.array([0.0, 1.0]), 1
        )
        assert without(layers_of(state), [0, 1]) == without(before, [0, 1])

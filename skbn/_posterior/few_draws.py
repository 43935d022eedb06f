"""Exact samples of networks of few columns by numpy, from the random numbers of the kernels.

`sampling` says how networks are drawn. All samples advance together, each by its own generator.
"""

import numpy as np

from skbn._core.arrays import Floats, Integers
from skbn._core.random_numbers import uniform_numbers
from skbn._posterior.few_columns import Numbers, SumsOfFew, WeightsOfFew, products_by_set, sets_of
from skbn._posterior.sampling_kernels import States

# With more samples the kernels are faster, even if they must be compiled in the first call.
MOST_SAMPLES = 200


def draw_candidates_of_few(
    prior: str, sums: SumsOfFew, states: States, candidates: Integers, needed: Integers
) -> None:
    """Set the candidates of each column, and those of which at least one must be a parent."""
    if prior == "uniform":
        _draw_layers(sums, states, candidates, needed)
    else:
        _draw_orders(sums, states, candidates)


def _draw_layers(sums: SumsOfFew, states: States, candidates: Integers, needed: Integers) -> None:
    n, n_samples = candidates.shape
    used, last = np.zeros(n_samples, np.int64), np.zeros(n_samples, np.int64)
    left = np.arange(n_samples)
    while len(left):
        # Samples with the same columns so far, and the same last layer, share their weights.
        states_of, of_sample = np.unique(used[left] << n | last[left], return_inverse=True)
        weights = _layer_weights(sums, states_of >> n, states_of & (1 << n) - 1)
        cumulative = weights.cumsum(axis=1)[of_sample.ravel()]
        layer = _drawn(cumulative, states, left)
        candidates[:, left[layer < 0]], used[left[layer < 0]] = -1, (1 << n) - 1
        left, layer = left[layer >= 0], layer[layer >= 0]
        is_in = (layer >> np.arange(n)[:, np.newaxis] & 1).astype(bool)
        candidates[:, left] = np.where(is_in, used[left], candidates[:, left])
        needed[:, left] = np.where(is_in, last[left], needed[:, left])
        used[left] |= layer
        last[left] = layer
        left = left[used[left] < (1 << n) - 1]


def _layer_weights(sums: SumsOfFew, used: Integers, last: Integers) -> Floats:
    """Return the weights of the next layers, (n_states, 2**n), in units of M[used]'s power."""
    alpha, M = sums.alpha, sums.numbers
    n, size = alpha.values.shape
    of_used, without = (alpha.at((slice(None), sets)) for sets in (used, used & ~last))
    is_open = of_used.values > 0
    before = Numbers(np.where(is_open, without.values, 0.0), without.exponents)
    ratios = before.over(of_used.exponents) / np.where(is_open, of_used.values, 1.0)
    # the shares of each column's families that have a parent in the last layer, if there is one
    has_new = np.where(is_open, np.where(used > 0, np.maximum(1.0 - ratios, 0.0), 1.0), 0.0)
    shares = products_by_set(1.0, Numbers(has_new, np.zeros(has_new.shape, np.int64))).values
    joined = M.at(used[:, np.newaxis] | np.arange(size))
    of_sets = products_by_set(1.0, of_used).times(joined)
    terms = of_sets.over(M.exponents[used][:, np.newaxis])
    for x in range(n):
        halves = terms.reshape(len(used), -1, 2, 1 << x)
        halves[:, :, 0] += halves[:, :, 1]
    weights = np.maximum(shares * terms, 0.0)
    weights[:, 0] = 0.0
    return weights


def _drawn(cumulative: Floats, states: States, samples: Integers) -> Integers:
    """Return the places that samples draw by running sums, (n_samples, k); -1 if all are 0."""
    totals = cumulative[:, -1]
    target = uniform_numbers(states, samples) * totals
    place = (cumulative > target[:, np.newaxis]).argmax(axis=1)
    return np.where(totals > 0, place, -1)


def _draw_orders(sums: SumsOfFew, states: States, candidates: Integers) -> None:
    """Set the candidates of each column: those before it in an order."""
    n, n_samples = candidates.shape
    alpha, F, samples = sums.alpha, sums.numbers, np.arange(n_samples)
    columns = np.full(n_samples, (1 << n) - 1)
    every = np.arange(n)
    for _ in range(n):
        is_left = columns[:, np.newaxis] >> every & 1
        rest = columns[:, np.newaxis] & ~(1 << every)
        weights = (
            F.at(rest).times(alpha.at((every, rest))).over(F.exponents[columns][:, np.newaxis])
        )
        sink = _drawn((weights * is_left).cumsum(axis=1), states, samples)
        columns = rest[samples, sink]
        candidates[sink, samples] = columns


def draw_parents_of_few(
    weights: WeightsOfFew, states: States, candidates: Integers, needed: Integers
) -> Integers:
    """Draw the parents of all columns, shape (n_columns, n_samples); -1 at dead ends."""
    n, n_samples = candidates.shape
    low_size = 1 << weights.n_positions // 2
    every = sets_of(weights.n_positions)
    others = (1 << weights.n_positions) - 1 >> n << n
    parents = np.full((n, n_samples), -1)
    for child in range(n):
        left = np.flatnonzero(candidates[child] >= 0)
        sets, of_child = every.without[child], weights.numbers.at(child)
        among = (candidates[child, left] | others)[:, np.newaxis]
        one_of = needed[child, left][:, np.newaxis]
        is_possible = (sets & ~among == 0) & ((sets & one_of > 0) | (one_of == 0))
        is_possible &= of_child.values > 0
        possible = of_child.where(is_possible)
        shares = possible.over(possible.exponents.max(axis=1, keepdims=True))
        by_high = shares.reshape(len(left), -1, low_size)
        high = _drawn(by_high.sum(axis=2).cumsum(axis=1), states, left)
        is_alive = high >= 0
        left, high, by_high = left[is_alive], high[is_alive], by_high[is_alive]
        low = _drawn(by_high[np.arange(len(left)), high].cumsum(axis=1), states, left)
        parents[child, left] = sets[high * low_size + low]
    return parents

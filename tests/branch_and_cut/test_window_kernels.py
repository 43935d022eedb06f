"""Networks of a window and lifted cuts, against enumerations."""

import numpy as np
import pytest
from kernels import callable_from_python
from windows import networks_of, random_weights, random_window

from skbn._branch_and_cut import window_kernels
from skbn._branch_and_cut.window_kernels import WindowFamilies, lift

fill_cheapest = callable_from_python(window_kernels.fill_cheapest)
costs_by_predecessors = callable_from_python(window_kernels.costs_by_predecessors)
cost_of_cheapest = callable_from_python(window_kernels.cost_of_cheapest)

WIDTHS = pytest.mark.parametrize("w", [3, 4, 5])
SEEDS = pytest.mark.parametrize("seed", range(3))


def instance(w, seed):
    """A window, coefficients of which some are equal and some 0, and the costs that follow."""
    rng = np.random.default_rng(seed)
    window = random_window(rng, w, 5)
    n = window.masks.size
    coefficients, costs = (
        rng.integers(0, 5, size=n) / 4 + 0.1 * rng.random(n),
        np.empty((w, 1 << w)),
    )
    costs_by_predecessors(window.starts, window.masks, coefficients, costs)
    return rng, window, coefficients, costs


@WIDTHS
@SEEDS
def test_costs_by_predecessors(w, seed):
    _, window, coefficients, costs = instance(w, seed)
    for x in range(w):
        own = slice(window.starts[x], window.starts[x + 1])
        for s in range(1 << w):
            if not s >> x & 1:
                fits = window.masks[own] & ~s == 0
                assert costs[x, s] == coefficients[own][fits].min()


@WIDTHS
@SEEDS
def test_cheapest_network_with_each_column_last(w, seed):
    _, window, coefficients, costs = instance(w, seed)
    networks, found, forward = np.empty((w, w), dtype=np.int64), np.empty(w), np.empty(1 << w)
    families = WindowFamilies(window.starts, window.masks, coefficients)
    cost = cost_of_cheapest(costs, forward)
    fill_cheapest(families, coefficients, costs, forward, networks, found)
    totals = coefficients[window.networks].sum(axis=1)
    assert cost == pytest.approx(totals.min())
    has_as_parent = window.masks[window.networks][:, :, np.newaxis] >> np.arange(w) & 1
    is_sink = ~has_as_parent.any(axis=1)
    listed = set(map(tuple, window.networks.tolist()))
    for x in range(w):
        assert found[x] == pytest.approx(totals[is_sink[:, x]].min())
        assert tuple(networks[x].tolist()) in listed
        assert coefficients[networks[x]].sum() == pytest.approx(found[x])
        assert not (window.masks[networks[x]] >> x & 1).any()


@WIDTHS
@SEEDS
def test_lifted_cut_is_valid_and_no_coefficient_can_be_lower(w, seed):
    rng, window, coefficients, costs = instance(w, seed)
    before = costs.copy()
    first = cost_of_cheapest(costs, np.empty(1 << w))
    weights = random_weights(rng, window)
    families, order = WindowFamilies(window.starts, window.masks, weights), np.arange(w)
    random = rng.integers(2**63, size=1, dtype=np.uint64)
    bound, violation = lift(families, coefficients, costs, np.empty((3, 1 << w)), order, random)
    assert sorted(order) == list(range(w))
    assert bound == pytest.approx(first)
    columns = np.repeat(np.arange(w), np.diff(window.starts))
    assert violation == pytest.approx(bound - weights @ costs[columns, window.masks])
    networks = np.array(networks_of(w))
    totals = costs[np.arange(w), networks].sum(axis=1)
    assert totals.min() == pytest.approx(bound)
    for x in range(w):
        for s in range(1 << w):
            if not s >> x & 1:
                assert 0 <= costs[x, s] <= before[x, s] + 1e-12
                if costs[x, s] > 1e-12:
                    assert totals[networks[:, x] == s].min() == pytest.approx(bound)

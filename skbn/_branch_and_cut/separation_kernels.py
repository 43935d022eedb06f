"""Kernels that find a cut of a window that a point violates.

The point gives each family of the window a weight y. If it is no mixture of networks, a cut
``sum of alpha * y >= beta``, with alpha from 0 to 1, is violated: the one with the largest
``beta - sum of alpha * y`` solves a linear program with a row for each network. Its dual mixes
networks so that the mixture exceeds y by as little as possible. Networks come from a dynamic
program: first those that a subgradient method meets, and then those that make a mixture better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import float64, int64, uint64

from skbn._branch_and_cut.mixture_kernels import (
    add_network,
    begin,
    minimise,
    new_mixture,
    rate_of,
)
from skbn._branch_and_cut.window_kernels import (
    cheapest_networks,
    cost_of_cheapest,
    costs_by_predecessors,
    lift,
)
from skbn._core.compile import inner_kernel, kernel
from skbn._core.random_numbers import random_below, uniform

__all__ = ["separate"]

# A network is new if it makes the excess smaller at this rate.
_LEAST_RATE = 1e-8
# Of weights, which makes ties between pivots rare.
_PERTURBATION = 1e-3
_MOST_PIVOTS = 3000
_MOST_NETWORKS = 1024
# Steps of the subgradient method, and how many networks of each are kept.
_N_STEPS = 80
_N_KEPT = 4
# By how much steps aim to be better than the best coefficients, and what remains of that.
_FIRST_DELTA = 0.5
_DECAY = 0.95
# Of the best coefficients, where prices are smoothed (Wentges 1997).
_SHARE_OF_BEST = 0.8
# Coefficients are multiples of 1 / this.
_STEPS_OF_ONE = 2.0**32


class Window(NamedTuple):
    """A window's families and their weights; see `separate`."""

    starts: npt.NDArray[np.int64]
    masks: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]


class Trial(NamedTuple):
    """The coefficients that are tried, and the best ones so far.

    Parameters
    ----------
    coefficients : ndarray of shape (n_families,), float64
    costs : ndarray of shape (w, 2**w), float64
    forward : ndarray of shape (2**w,), float64
    networks : ndarray of shape (w, w), int64
    found : ndarray of shape (w,), float64
        The cheapest networks by the coefficients; see `cheapest_networks`.
    best : ndarray of shape (n_families,), float64
    violation : ndarray of shape (1,), float64
        By how much the point violates the cut of the best coefficients.
    """

    coefficients: npt.NDArray[np.float64]
    costs: npt.NDArray[np.float64]
    forward: npt.NDArray[np.float64]
    networks: npt.NDArray[np.int64]
    found: npt.NDArray[np.float64]
    best: npt.NDArray[np.float64]
    violation: npt.NDArray[np.float64]


@kernel(
    int64[::1],
    int64[::1],
    float64[::1],
    int64,
    float64,
    float64,
    uint64[::1],
    float64[:, ::1],
    seconds=17,
)
def separate(starts, masks, weights, w, least, accept, random, table):
    """Find a cut of a window that a point violates, and lift it.

    Parameters
    ----------
    starts : ndarray of shape (w + 1,), int64
        Column x has the families starts[x], ..., starts[x + 1] - 1; one of them has no parents.
    masks : ndarray of shape (n_families,), int64
        Parents, as masks of positions in the window.
    weights : ndarray of shape (n_families,), float64
        Of each column they add up to 1.
    w : int
        The number of columns, 3 or more.
    least : float
        Cuts that are violated by less are not worth having.
    accept : float
        The share of the largest violation that is good enough, below 1.
    random : ndarray of shape (1,), uint64
        The state of a random generator.
    table : ndarray of shape (w, 2**w), float64
        Filled with the coefficients of the cut, 0 for sets with the column itself.

    Returns
    -------
    bound : float
        Of the cut, the cost of the cheapest network by `table`.
    violation : float
        0 if no cut is violated by `least`.
    """
    n = 1 << w
    trial = Trial(
        np.empty(masks.size),
        np.empty((w, n)),
        np.empty(n),
        np.empty((w, w), dtype=np.int64),
        np.empty(w),
        np.empty(masks.size),
        np.full(1, -np.inf),
    )
    window = Window(starts, masks, weights)
    if not _find_violated(window, least, accept, random, trial):
        return 0.0, 0.0
    costs, forward = trial.costs, trial.forward
    # Sums and differences of multiples of a power of two are exact, so the bound is exact.
    for f in range(masks.size):
        trial.best[f] = np.rint(trial.best[f] * _STEPS_OF_ONE) / _STEPS_OF_ONE
    costs_by_predecessors(starts, masks, trial.best, w, costs)
    bound = cost_of_cheapest(costs, w, forward)
    order = np.arange(w)
    for i in range(w - 1, 0, -1):
        j = random_below(random, 0, i + 1)
        order[i], order[j] = order[j], order[i]
    bound = lift(costs, w, bound, order, forward, np.empty(n), np.empty(n))
    violation = bound
    for x in range(w):
        for f in range(starts[x], starts[x + 1]):
            violation -= weights[f] * costs[x, masks[f]]
        for s in range(n):
            table[x, s] = 0.0 if s >> x & 1 else costs[x, s]
    if violation < least:
        return 0.0, 0.0
    return bound, violation


@inner_kernel
def _find_violated(window, least, accept, random, trial):
    """Find good coefficients; return whether their cut is violated by at least `least`."""
    n_families = window.masks.size
    y = np.empty(n_families + 1)
    for f in range(n_families):
        y[f] = window.weights[f] + _PERTURBATION * (0.5 + uniform(random, 0))
        is_empty = window.masks[f] == 0
        trial.coefficients[f] = (1.0 if is_empty else 0.0) + 1e-3 * uniform(random, 0)
    y[n_families] = 1.0
    mixture = new_mixture(n_families, window.starts.size - 1, _MOST_NETWORKS)
    _ascend(window, trial, mixture)
    return _generate(window, y, least, accept, trial, mixture) and trial.violation[0] >= least


@inner_kernel
def _evaluate(window, trial):
    """Find the cheapest networks by the coefficients; keep these if they are the best.

    Returns
    -------
    violation : float
        By how much the point violates the cut of the coefficients.
    """
    violation = cheapest_networks(
        window.starts,
        window.masks,
        trial.coefficients,
        window.starts.size - 1,
        trial.costs,
        trial.forward,
        trial.networks,
        trial.found,
    )
    for f in range(window.masks.size):
        violation -= trial.coefficients[f] * window.weights[f]
    if violation > trial.violation[0]:
        trial.violation[0] = violation
        trial.best[:] = trial.coefficients
    return violation


@inner_kernel
def _ascend(window, trial, mixture):
    """Improve the coefficients along subgradients, and collect the networks on the way."""
    delta = _FIRST_DELTA
    for _ in range(_N_STEPS):
        violation = _evaluate(window, trial)
        order = np.argsort(trial.found)
        for i in range(min(order.size, _N_KEPT)):
            if mixture.n_networks[0] < _MOST_NETWORKS:
                add_network(mixture, trial.networks[order[i]], 0)
        network = trial.networks[order[0]]
        square = _squared_distance(window.weights, network)
        if square < 1e-9:
            break
        step = (max(trial.violation[0], 0.0) + delta - violation) / square
        _step_towards(window, network, step, trial.coefficients)
        delta *= _DECAY


@inner_kernel
def _squared_distance(weights, network):
    """Return the squared distance of a network from the point: of the subgradient from 0."""
    square = 0.0
    for f in range(weights.size):
        square += weights[f] * weights[f]
    for x in range(network.size):
        square += 1.0 - 2.0 * weights[network[x]]
    return square


@inner_kernel
def _step_towards(window, network, step, coefficients):
    """Take a step that makes a network dearer and the point cheaper; stay between 0 and 1."""
    for f in range(coefficients.size):
        coefficients[f] -= step * window.weights[f]
    for x in range(network.size):
        coefficients[network[x]] += step
    for x in range(network.size):
        least = np.inf
        for f in range(window.starts[x], window.starts[x + 1]):
            least = min(least, coefficients[f])
        for f in range(window.starts[x], window.starts[x + 1]):
            coefficients[f] = min(coefficients[f] - least, 1.0)


@inner_kernel
def _generate(window, y, least, accept, trial, mixture):
    """Add networks to the mixture until its prices, as coefficients, are good enough.

    Returns
    -------
    may_be_violated : bool
        False if the mixture shows that no cut is violated by `least`.
    """
    objective = begin(mixture, y)
    n_left = _MOST_PIVOTS
    share = 0.0
    while True:
        objective, n_left = minimise(mixture, objective, n_left)
        if n_left == 0:
            return True
        if objective < least:
            return False
        _smooth(mixture.prices, share, trial)
        _evaluate(window, trial)
        is_full = mixture.n_networks[0] + trial.found.size > _MOST_NETWORKS
        if trial.violation[0] >= accept * objective or is_full:
            return True
        if _add_better(trial.networks, mixture) > 0:
            share = _SHARE_OF_BEST
        elif share > 0:
            share = 0.0
        else:
            return True


@inner_kernel
def _smooth(prices, share, trial):
    """Fill the coefficients: the mixture's prices, and a share of the best ones so far."""
    for f in range(trial.coefficients.size):
        own = min(max(-prices[f], 0.0), 1.0)
        trial.coefficients[f] = share * trial.best[f] + (1.0 - share) * own


@inner_kernel
def _add_better(networks, mixture):
    """Add the networks that make the mixture better; return how many are new."""
    n_before = mixture.n_networks[0]
    for x in range(networks.shape[0]):
        if rate_of(mixture, networks[x]) < -_LEAST_RATE:
            add_network(mixture, networks[x], n_before)
    return mixture.n_networks[0] - n_before

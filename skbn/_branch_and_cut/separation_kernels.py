"""Kernels that find a cut of a window that a point violates.

The point gives each family of the window a weight. If it is no mixture of networks, a cut
``sum of alpha * weight >= beta``, with alpha from 0 to 1, is violated: the one with the largest
``beta - sum of alpha * weight`` solves a linear program with a row for each network. Its dual mixes
networks so that the mixture exceeds the point by as little as possible. Networks come from a
dynamic program: first those that a subgradient method meets, and then those that make a mixture
better.
"""

from typing import NamedTuple

import numpy as np
from numba import float64, int64, uint64

from skbn._branch_and_cut.mixture_kernels import MIXTURE, add_network, begin, minimise, rate_of
from skbn._branch_and_cut.window_kernels import (
    WINDOW,
    cost_of_cheapest,
    costs_by_predecessors,
    fill_cheapest,
    lift,
)
from skbn._core.arrays import F1, F2, I2, T1, ZERO
from skbn._core.compile import inner_kernel, kernel, pasted_kernel, tuple_type
from skbn._core.random_numbers import uniform

# A network is new if it makes the excess smaller at this rate: well above rounding, and too little
# to matter to a cut.
_LEAST_RATE = 1e-8
# Weights are raised by about this much at random, so that ties between pivots are rare.
_PERTURBATION = 1e-3
# Bounds the time of one window.
_MOST_PIVOTS = 3000
# Steps of the subgradient method, and how many networks of each are kept.
_N_STEPS = 80
_N_KEPT = 4
# A step aims at a violation that is larger than the largest so far by this much, at first, and each
# time by this share of the last.
_FIRST_DELTA = 0.5
_DECAY = 0.95
# The share of the best coefficients in those tried next: prices are smoothed (Wentges 1997).
_SHARE_OF_BEST = 0.8
# Adding this number to one from 0 to 1 rounds it to a multiple of 2**-32: of such coefficients, the
# bound of a cut is exact.
_ROUNDS = 2.0**20


class Trial(NamedTuple):
    """The coefficients that are tried, and the best ones so far."""

    coefficients: F1  # (n_families,)
    costs: F2  # (w, 2**w)
    forward: F1  # (2**w,)
    networks: I2  # (w, w)
    found: F1  # (w,): the cheapest networks by the coefficients; see `fill_cheapest`
    best: F1  # (n_families,)
    violation: F1  # (1,): by how much the point violates the cut of the best coefficients
    places: T1  # (2**w,): scratch


TRIAL = tuple_type(Trial)


@kernel(
    *(WINDOW, TRIAL, MIXTURE, float64, float64, float64[:, ::1], int64[::1], uint64[::1]),
    seconds=3.0,
)
def find_cut(window, trial, mixture, least, accept, scratch, order, random):
    """Find a cut of a window that a point violates, and lift it.

    Parameters
    ----------
    window : WindowFamilies
    trial : Trial
        Its costs are filled with the coefficients of the cut; see `lift`.
    mixture : Mixture
    least : float
        Cuts that are violated by less are not worth having.
    accept : float
        The share of the largest violation that is good enough, below 1.
    scratch, order, random
        As for `lift`.

    Returns
    -------
    bound, violation : float
        As `lift` returns them, or 0 if no cut is violated by `least`.
    """
    _perturb(window, trial.coefficients, mixture.values, random)
    delta = _FIRST_DELTA
    for _ in range(_N_STEPS):  # along subgradients
        violation = _evaluate(window, trial)
        cheapest = _add_cheapest(mixture, trial.networks, trial.found)
        network = trial.networks[cheapest]
        square = _squared_distance(window.weights, network)
        if square < 1e-9:
            break
        step = (max(trial.violation[0], 0.0) + delta - violation) / square
        _step_towards(window, network, step, trial.coefficients)
        delta *= _DECAY
    # Networks are added to the mixture until its prices, as coefficients, are good enough.
    objective = begin(mixture)
    n_left, share = np.int64(_MOST_PIVOTS), 0.0
    while True:
        objective, n_left = minimise(mixture, objective, n_left)
        if n_left == 0:
            break
        if objective < least:  # as the mixture shows, no cut is violated by `least`
            return 0.0, 0.0
        _smooth(mixture.prices, share, trial.best, trial.coefficients)
        _evaluate(window, trial)
        is_full = mixture.n_networks[0] + trial.found.size > mixture.networks.shape[0]
        if trial.violation[0] >= accept * objective or is_full:
            break
        if _add_better(trial.networks, mixture) > 0:
            share = _SHARE_OF_BEST
        elif share > 0:
            share = 0.0
        else:
            break
    if trial.violation[0] < least:
        return 0.0, 0.0
    _round(trial.best, trial.coefficients)
    _evaluate(window, trial)
    return lift(window, trial.costs, trial.forward, scratch, order, random)


@inner_kernel
def _evaluate(window, trial):
    """Find the cheapest networks by the coefficients; keep these if they are the best.

    Returns
    -------
    violation : float
        By how much the point violates the cut of the coefficients.
    """
    coefficients, costs, forward = trial.coefficients, trial.costs, trial.forward
    costs_by_predecessors(window, coefficients, costs, forward, trial.places)
    violation = cost_of_cheapest(costs, forward)
    fill_cheapest(window, coefficients, costs, forward, trial.networks, trial.found)
    for f in range(coefficients.size):
        violation -= coefficients[f] * window.weights[f]
    if violation > trial.violation[0]:
        trial.violation[0] = violation
        for f in range(coefficients.size):
            trial.best[f] = coefficients[f]
    return violation


@pasted_kernel
def _perturb(window, coefficients, values, random):
    """Fill coefficients to begin with, and the mixture's values: the weights, perturbed."""
    for f in range(coefficients.size):
        values[f] = window.weights[f] + _PERTURBATION * (0.5 + uniform(random, ZERO))
        is_empty = window.masks[f] == 0
        coefficients[f] = (1.0 if is_empty else 0.0) + 1e-3 * uniform(random, ZERO)
    values[coefficients.size] = 1.0


@pasted_kernel
def _add_cheapest(mixture, networks, found):
    """Add the cheapest networks to the mixture; return which one is the cheapest of all."""
    cheapest = 0
    for i in range(min(found.size, _N_KEPT)):
        x = 0
        for y in range(found.size):
            if found[y] < found[x]:
                x = y
        found[x] = np.inf
        if i == 0:
            cheapest = x
        if mixture.n_networks[0] < mixture.networks.shape[0]:
            add_network(mixture, networks[x], ZERO)
    return cheapest


@pasted_kernel
def _squared_distance(weights, network):
    """Return the squared distance of a network from the point: of the subgradient from 0."""
    square = 0.0
    for f in range(weights.size):
        square += weights[f] * weights[f]
    for x in range(network.size):
        square += 1.0 - 2.0 * weights[network[x]]
    return square


@pasted_kernel
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


@pasted_kernel
def _smooth(prices, share, best, coefficients):
    """Fill the coefficients: the mixture's prices, and a share of the best ones so far."""
    for f in range(coefficients.size):
        own = min(max(-prices[f], 0.0), 1.0)
        coefficients[f] = share * best[f] + (1.0 - share) * own


@pasted_kernel
def _add_better(networks, mixture):
    """Add the networks that make the mixture better; return how many are new."""
    n_before = mixture.n_networks[0]
    for x in range(networks.shape[0]):
        if rate_of(mixture, networks[x]) < -_LEAST_RATE:
            add_network(mixture, networks[x], n_before)
    return mixture.n_networks[0] - n_before


@pasted_kernel
def _round(best, coefficients):
    """Fill the coefficients with the best ones, rounded."""
    for f in range(coefficients.size):
        coefficients[f] = (best[f] + _ROUNDS) - _ROUNDS

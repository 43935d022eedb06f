"""Kernels that mix networks so that the mixture exceeds a point by little: a small simplex method.

The point gives each family of a window a weight y. The linear program is

    minimise sum(excess)  subject to  mixture + slack - excess = y,  sum of the weights = 1,

where the mixture is a weighted sum of those networks that are known. The basis has a row for each
family and one for the sum of the weights, a few dozens; its inverse is kept as a dense matrix.
The program's columns are numbered: the slack of each family, its excess, and then the networks.
"""

from typing import NamedTuple

import numpy as np

from skbn._core.arrays import F1, F2, I1, I2
from skbn._core.compile import inner_kernel, pasted_kernel, tuple_type

# Reduced costs nearer to 0, and pivots nearer to 0, are rounding: numbers of size 1 that a thousand
# pivots have changed.
_TOLERANCE = 1e-9
_PIVOT = 1e-9


class Mixture(NamedTuple):
    """A basis of the linear program, and what follows from it."""

    networks: I2  # (most, w): the families of each known network
    n_networks: I1  # (1,)
    inverse: F2  # (n_families + 1, n_families + 1): the transposed inverse of the basis
    values: F1  # (n_families + 1,): values of the variables in the basis, and prices of the rows
    prices: F1  # (n_families + 1,)
    # (2 * n_families + most,): reduced cost and Devex weight of each of the program's columns
    rates: F1
    norms: F1  # (2 * n_families + most,)
    column: F1  # (n_families + 1,): the entering column by the basis, and the row that leaves it
    pivot_row: F1  # (n_families + 1,)
    entries: F1  # (2 * n_families + most,): scratch


MIXTURE = tuple_type(Mixture)


def new_mixture(n_families: int, w: int, most: int) -> Mixture:
    """Return a mixture without networks and without a basis, with room for `most` networks."""
    size = n_families + 1
    n_columns = 2 * n_families + most
    return Mixture(
        np.empty((most, w), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.eye(size),
        np.empty(size),
        np.zeros(size),
        np.empty(n_columns),
        np.ones(n_columns),
        np.empty(size),
        np.empty(size),
        np.empty(n_columns),
    )


@inner_kernel
def add_network(mixture, network, first):
    """Add a network unless it is among those from number `first` on; return whether it is new."""
    networks, n = mixture.networks, mixture.n_networks[0]
    for k in range(first, n):
        x = 0
        while x < network.size and networks[k, x] == network[x]:
            x += 1
        if x == network.size:
            return False
    k = 2 * (mixture.values.size - 1) + n
    mixture.rates[k] = rate_of(mixture, network)
    mixture.norms[k] = 1.0
    for x in range(network.size):
        networks[n, x] = network[x]
    mixture.n_networks[0] += 1
    return True


@inner_kernel
def rate_of(mixture, network):
    """Return the reduced cost of a network."""
    rate = -mixture.prices[mixture.values.size - 1]
    for x in range(network.size):
        rate -= mixture.prices[network[x]]
    return rate


@pasted_kernel
def begin(mixture):
    """Make the first basis: a network, the excess of its families, and the slack of the others.

    Parameters
    ----------
    mixture : Mixture
        With at least one network, and without a basis. Its values are positive weights of the
        families, and 1.

    Returns
    -------
    objective : float
    """
    inverse, values, prices, rates = mixture.inverse, mixture.values, mixture.prices, mixture.rates
    n_families = values.size - 1
    objective = 0.0
    for x in range(mixture.networks.shape[1]):
        f = mixture.networks[0, x]
        sign = 1.0 if values[f] < 1.0 else -1.0  # a weight of 1, perturbed, leaves no excess
        inverse[f, f] = -sign
        inverse[n_families, f] = sign
        values[f] = sign * (1.0 - values[f])
        if sign > 0:
            objective += values[f]
            prices[f] = -1.0
            prices[n_families] += 1.0
    for f in range(n_families):
        rates[f] = -prices[f]
        rates[n_families + f] = 1.0 + prices[f]
    for k in range(mixture.n_networks[0]):
        rates[2 * n_families + k] = rate_of(mixture, mixture.networks[k])
    return objective


@inner_kernel
def minimise(mixture, objective, most_pivots):
    """Pivot until no known network makes the excess smaller.

    Returns
    -------
    objective : float
    n_left : int
        Pivots left of `most_pivots`; 0 if that is not the optimum.
    """
    for n_left in range(most_pivots, 0, -1):
        entering = _entering(mixture)
        if entering < 0:
            return objective, n_left
        _fill_column(mixture, entering)
        row = _leaving(mixture)
        if row < 0:
            break
        step = mixture.values[row] / mixture.column[row]
        objective += mixture.rates[entering] * step
        _replace(mixture, row, step)
        _price(mixture, entering)
    return objective, 0


@pasted_kernel
def _entering(mixture):
    """Return the column with the steepest descent by Devex weights, or -1 at the optimum."""
    rates, norms = mixture.rates, mixture.norms
    entering = -1
    steepest = 0.0
    for k in range(2 * (mixture.values.size - 1) + mixture.n_networks[0]):
        if rates[k] < -_TOLERANCE and rates[k] * rates[k] > steepest * norms[k]:
            steepest = rates[k] * rates[k] / norms[k]
            entering = k
    return entering


@pasted_kernel
def _fill_column(mixture, entering):
    """Fill the entering column, expressed by the basis."""
    inverse, column = mixture.inverse, mixture.column
    n_families = column.size - 1
    if entering >= 2 * n_families:
        for i in range(column.size):
            column[i] = inverse[n_families, i]
        for x in range(mixture.networks.shape[1]):
            f = np.uint64(mixture.networks[entering - 2 * n_families, x])
            for i in range(column.size):
                column[i] += inverse[f, i]
    elif entering < n_families:
        # A loop: to assign a row, numba also compiles the text of an error about its shape.
        for i in range(column.size):
            column[i] = inverse[entering, i]
    else:
        for i in range(column.size):
            column[i] = -inverse[entering - n_families, i]


@pasted_kernel
def _leaving(mixture):
    """Return the row whose variable reaches 0 first, or -1 if none does."""
    values, column = mixture.values, mixture.column
    step = np.inf
    row = -1
    for i in range(values.size):
        if column[i] > _PIVOT:
            ratio = values[i] / column[i]
            if ratio < step or (ratio == step and column[i] > column[row]):
                step = ratio
                row = i
    return row


@pasted_kernel
def _replace(mixture, row, step):
    """Replace the row's variable in the basis by the entering column."""
    inverse, values, column = mixture.inverse, mixture.values, mixture.column
    pivot_row = mixture.pivot_row
    pivot = column[row]
    for i in range(values.size):
        values[i] = max(0.0, values[i] - step * column[i])
    values[row] = step
    for j in range(values.size):
        pivot_row[j] = inverse[j, row] / pivot
        if pivot_row[j] != 0.0:
            # `column` is an array apart from `inverse`, of which this is one row: it vectorises.
            for i in range(values.size):
                inverse[j, i] -= column[i] * pivot_row[j]
            inverse[j, row] = pivot_row[j]


@pasted_kernel
def _price(mixture, entering):
    """Update prices, reduced costs and Devex weights after a pivot."""
    pivot_row, entries = mixture.pivot_row, mixture.entries
    n_families = pivot_row.size - 1
    rate, norm = mixture.rates[entering], mixture.norms[entering]
    for j in range(pivot_row.size):
        mixture.prices[j] += rate * pivot_row[j]
    for f in range(n_families):
        entries[f] = pivot_row[f]
        entries[n_families + f] = -pivot_row[f]
    for k in range(mixture.n_networks[0]):
        entry = pivot_row[n_families]
        for x in range(mixture.networks.shape[1]):
            # Numba tests indices for being negative, unless they are unsigned.
            entry += pivot_row[np.uint64(mixture.networks[k, x])]
        entries[2 * n_families + k] = entry
    n_columns = 2 * n_families + mixture.n_networks[0]
    rates, norms = mixture.rates[:n_columns], mixture.norms[:n_columns]
    for k in range(n_columns):
        rates[k] -= rate * entries[k]
        norms[k] = max(norms[k], entries[k] * entries[k] * norm)
    rates[entering] = 0.0

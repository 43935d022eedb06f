"""The walk through all families of a child, which carries residuals and scores them.

The walk adds one parent at a time. Of the columns that may still be added, and of the child, it has
the residuals given the parents so far: with another parent z, whose residuals are r_z, the
residuals r of a column become ``r - (r'r_z / r_z'r_z) r_z``, a pass over the rows. All products are
weighted by the rows' weights.

A family is worth the log-likelihood of the child's residuals r under a density that adapts to them.
With ``x = a r / s``, s their standard deviation, and ``z = tanh(x)``, it is

    f(r) = (a / s) (1 - z**2) exp(theta_1 P_1(z) + ... + theta_K P_K(z) + theta_0 x**2) / Z(theta),

a logistic density that the Legendre polynomials P_k of z bend, with lighter tails if theta_0 < 0.
Each residual is shared between the two nearest of equally spaced nodes x, so that residuals that
are all alike have a finite likelihood, and the rest needs no pass over the rows. The logarithm is
concave in theta, and Newton's method finds its maximum.
"""

import math

import numpy as np
from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel, pasted_kernel
from skbn._core.subsets import rank

# The scale at which a logistic distribution has variance 1.
SCALE = math.pi / math.sqrt(12)
# Of the residuals of a column of variance 1: smaller ones have lost too many digits.
SMALLEST = 1e-8
# The nodes: their distance, and how many there are on each side of 0.
STEP, N_ASIDE = 0.2, 50
# Half of this times the square of theta is subtracted, so that it stays finite.
_RIDGE = 1e-3
_MOST_STEPS, _SHORTEST, _ACCURACY = 50, 1e-6, 1e-12


@kernel(
    float64[:, ::1],
    float64[::1],
    int64[::1],
    int64,
    int64,
    int64[:, ::1],
    int64[::1],
    float64[:, ::1],
    float64[::1],
    float64[::1],
    seconds=2.4,
)
def walk_families(rows, weight, first, begin, most, binomials, starts, statistics, shares, scores):
    """Set the log-likelihoods of the families with some first candidates and any later ones.

    `rows`: (1 + n_candidates, n), the residuals of the child, then those of the candidates, given
        what all families share
    `first`: the candidates below `begin` that are in all of these families, ascending
    `most`: the largest number of candidates in a family
    `binomials`, `starts`: those of the `SmallSubsets` that number the families
    `statistics`: (n_nodes, K + 1), the Legendre polynomials at the nodes of the integral Z, and
        u**2
    `shares`: (n_nodes,), the weights of these nodes
    `scores`: one for each of the `SmallSubsets`
    """
    n_candidates = rows.shape[0] - 1
    levels = np.empty((most + 1, n_candidates + 1, rows.shape[1]))
    chosen = np.empty(most + 1, dtype=np.int64)
    for row in range(n_candidates + 1):
        for i in range(rows.shape[1]):
            levels[0, row, i] = rows[row, i]
    theta = np.empty(statistics.shape[1])
    depth = 0
    candidate = begin
    while True:
        if depth >= first.size:
            scores[starts[depth] + rank(chosen, depth, binomials)] = log_likelihood(
                levels[depth, 0], weight, statistics, shares, theta
            )
            while candidate == n_candidates or depth == most:
                if depth == first.size:
                    return
                depth -= 1
                candidate = chosen[depth] + 1
            added = candidate
            candidate += 1
        else:
            added = first[depth]
        # No candidate is added to the largest families, so that none needs residuals there.
        following = added + 1 if depth + 1 < most else n_candidates
        _add(levels, weight, depth, added, following)
        chosen[depth] = added
        depth += 1


@pasted_kernel
def _add(levels, weight, depth, candidate, following):
    """Regress the child, and the candidates from `following` on, on one candidate more."""
    pivot = levels[depth, 1 + candidate]
    square = 0.0
    for t in range(pivot.size):
        square += weight[t] * pivot[t] * pivot[t]
    _sweep(levels[depth, 0], pivot, weight, square, levels[depth + 1, 0])
    for j in range(1 + following, levels.shape[1]):
        _sweep(levels[depth, j], pivot, weight, square, levels[depth + 1, j])


@inner_kernel
def _sweep(column, pivot, weight, square, left):
    """Set `left` to the residuals of a column on another one."""
    product = 0.0
    for t in range(pivot.size):
        product += weight[t] * pivot[t] * column[t]
    slope = product / square
    for t in range(pivot.size):
        left[t] = column[t] - slope * pivot[t]


@pasted_kernel
def log_likelihood(residuals, weight, statistics, shares, theta):
    """Return the largest log-likelihood of residuals; set `theta` to where it is attained.

    It is NaN if rounding may have changed their shape.
    """
    total = 0.0
    square = 0.0
    for t in range(residuals.size):
        total += weight[t]
        square += weight[t] * residuals[t] * residuals[t]
    if not square > SMALLEST * SMALLEST * total:
        return math.nan
    unit = math.sqrt(square / total) * STEP / SCALE  # the distance of the nodes, as a residual
    counts = np.empty(shares.size)
    for i in range(shares.size):
        counts[i] = 0.0
    beyond = 0.0
    last = 2.0 * N_ASIDE
    for t in range(residuals.size):
        place = residuals[t] / unit + N_ASIDE
        inside = min(max(place, 0.0), last)
        beyond += weight[t] * abs(place - inside)
        i = min(int(inside), 2 * N_ASIDE - 1)
        share = inside - i
        counts[i] += weight[t] * (1 - share)
        counts[i + 1] += weight[t] * share
    base = -2 * STEP * beyond  # the slope of the logarithm of the logistic density
    means = np.empty(theta.size)
    for k in range(theta.size):
        means[k] = 0.0
    for i in range(shares.size):
        base += counts[i] * math.log(shares[i])
        for k in range(theta.size):
            means[k] += counts[i] * statistics[i, k]
    for k in range(theta.size):
        means[k] /= total
    value = _maximise(means, statistics, shares, _RIDGE / total, theta)
    return base + total * (value - math.log(unit))


@inner_kernel
def _maximise(means, statistics, shares, ridge, theta):
    """Return the largest ``theta' means - log Z(theta)``, less a small ridge, by Newton's method.

    The last entry of theta must not be positive, as the density could not be normalised. It is 0
    until the others are found, and moves only if it then falls: the objective is concave.
    """
    size = theta.size - 1
    density = np.empty(shares.size)
    curvature = np.empty((theta.size, theta.size))
    step = np.empty(theta.size)
    trial = np.empty(theta.size)
    for k in range(theta.size):
        theta[k] = 0.0
    value = _objective(means, statistics, shares, ridge, theta, density)
    for _ in range(_MOST_STEPS):
        _differentiate(means, statistics, density, ridge, theta, step, curvature)
        falls = step[theta.size - 1] < 0
        promised = _solve(curvature, step, size)
        if promised < _ACCURACY:
            if size == theta.size or not falls:
                break
            size += 1
            continue
        for k in range(size, theta.size):
            step[k] = 0.0
        length = 2.0
        better = -math.inf
        while better < value + 0.1 * length * promised and length > _SHORTEST:
            length /= 2
            for k in range(theta.size):
                trial[k] = theta[k] + length * step[k]
            better = _objective(means, statistics, shares, ridge, trial, density)
        for k in range(theta.size):
            theta[k] = trial[k]
        value = better
    return value


@pasted_kernel
def _differentiate(means, statistics, density, ridge, theta, slope, curvature):
    """Set the gradient of the objective, and the lower half of its Hessian times -1."""
    centre = np.empty(theta.size)
    for k in range(theta.size):
        centre[k] = 0.0
        for j in range(theta.size):
            curvature[k, j] = 0.0
    for i in range(density.size):
        for k in range(theta.size):
            part = density[i] * statistics[i, k]
            centre[k] += part
            for j in range(k + 1):
                curvature[k, j] += part * statistics[i, j]
    for k in range(theta.size):
        slope[k] = means[k] - centre[k] - ridge * theta[k]
        for j in range(k + 1):
            curvature[k, j] -= centre[k] * centre[j]
        curvature[k, k] += ridge


@inner_kernel
def _objective(means, statistics, shares, ridge, theta, density):
    """Return the objective at theta; set `density` to the probabilities of the nodes."""
    largest = -math.inf
    value = 0.0
    for k in range(theta.size):
        value += theta[k] * means[k] - 0.5 * ridge * theta[k] * theta[k]
    for i in range(shares.size):
        exponent = 0.0
        for k in range(theta.size):
            exponent += theta[k] * statistics[i, k]
        density[i] = exponent
        largest = max(largest, exponent)
    integral = 0.0
    for i in range(shares.size):
        density[i] = shares[i] * math.exp(density[i] - largest)
        integral += density[i]
    for i in range(shares.size):
        density[i] /= integral
    return value - math.log(integral) - largest


@pasted_kernel
def _solve(matrix, vector, size):
    """Solve the first equations of a positive definite system in place.

    Returns the product of the solution and the vector.
    """
    squares = 0.0
    for k in range(size):
        for j in range(k + 1):
            entry = matrix[k, j]
            for i in range(j):
                entry -= matrix[k, i] * matrix[j, i]
            # Rounding may leave a pivot that is not positive.
            matrix[k, j] = math.sqrt(max(entry, 1e-12)) if j == k else entry / matrix[j, j]
        for j in range(k):
            vector[k] -= matrix[k, j] * vector[j]
        vector[k] /= matrix[k, k]
        squares += vector[k] * vector[k]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            vector[k] -= matrix[j, k] * vector[j]
        vector[k] /= matrix[k, k]
    return squares

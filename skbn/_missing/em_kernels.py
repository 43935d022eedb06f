"""The kernel of EM: the parameters of a Gaussian network that make rows with holes most probable.

Values that were set are given: in rows of a set of targets, the arrows into these are cut. The
targets have all values there, so that nothing depends on how they are distributed; in the place of
their own distributions stand independent standard normal ones, whose share of the likelihood is
taken out again. A column's parameters are those of the rows in which it was not set: expected
moments are summed by groups of rows, one for all columns that share theirs.

An E-step takes one Cholesky decomposition for each pattern of holes, of the fewer of the observed
columns and the hidden ones. That of the observed columns' covariance, continued, leaves the
regressions of the hidden columns on them, and the hidden columns' conditional covariance. This is
also the inverse of the hidden columns' block of the precision matrix, whose other rows have the
regressions.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64

from skbn._core.arrays import F2, F3
from skbn._core.compile import inner_kernel, kernel, pasted_kernel, tuple_type
from skbn._missing.incomplete_rows import PatternedRows


class Moments(NamedTuple):
    """The parameters of a network, and what they say of the complete rows."""

    expected_mean: F2  # (n_groups, m): that of the rows of each group
    # (n_groups, m, m): the expected scatter of the complete rows about their expected mean
    scatter: F3
    mean: F2  # (n_target_sets, m): where the arrows into these targets are cut
    covariance: F3  # (n_target_sets, m, m)


# A column that leaves a smaller share of its variance on others is determined by them: its
# likelihood would be off by more than a thousandth of a nat.
_LEAST_SHARE = 1e-9
# A column that leaves a smaller share of its variance costs the precision matrix too many digits.
_LEAST_FOR_PRECISION = 1e-6


@inner_kernel
def eliminate(matrix, n_first):
    """Take the first columns out of a symmetric matrix, of which the upper half is given.

    Their rows become the Cholesky factor's; the rest of the upper half becomes the others'
    covariance given these. Return the place of the first column that others determine, or -1.
    """
    m = matrix.shape[0]
    for i in range(n_first):
        matrix[i, i] = math.sqrt(matrix[i, i])
        for j in range(i + 1, m):
            matrix[i, j] /= matrix[i, i]
        for r in range(i + 1, m):
            weight = matrix[i, r]
            before = matrix[r, r]
            for j in range(r, m):
                matrix[r, j] -= weight * matrix[i, j]
            if not matrix[r, r] > _LEAST_SHARE * before:
                return r
    return -1


@inner_kernel
def log_determinant(factor, n_first):
    """Return that of R'R, given the first columns of R."""
    total = 0.0
    for i in range(n_first):
        total += 2 * math.log(factor[i, i])
    return total


@inner_kernel
def observed_first(is_observed, columns):
    """Set `columns` to the observed columns and then the hidden ones; return how many are seen."""
    k = 0
    for j in range(columns.size):
        if is_observed[j]:
            columns[k] = j
            k += 1
    place = k
    for j in range(columns.size):
        if not is_observed[j]:
            columns[place] = j
            place += 1
    return k


@inner_kernel
def take_columns(symmetric, columns, matrix):
    """Set the upper half of `matrix` to these rows and columns of a symmetric matrix."""
    for i in range(columns.size):
        for j in range(i, columns.size):
            matrix[i, j] = symmetric[columns[i], columns[j]]


@inner_kernel
def take_block(matrix, first, block):
    """Set the upper half of `block` to the rows and columns of a matrix from the first on."""
    for i in range(len(block)):
        for j in range(i, len(block)):
            block[i, j] = matrix[first + i, first + j]


@inner_kernel
def clear(sums, squares):
    """Set sums of rows, and of their squares, to 0."""
    for i in range(sums.size):
        sums[i] = 0.0
        for j in range(sums.size):
            squares[i, j] = 0.0


@inner_kernel
def complete(row, mean, columns, k, matrix, left, deviation):
    """Set `deviation` to a row's expected difference from the mean; return a sum of squares.

    `matrix` is what `eliminate` leaves of the covariance of `columns`, of which k are observed. The
    sum is the squared Mahalanobis distance of what is observed.
    """
    m = columns.size
    for i in range(k):
        left[i] = row[columns[i]] - mean[columns[i]]
        deviation[columns[i]] = left[i]
    left[k:] = 0.0
    squares = 0.0
    for i in range(k):
        own = left[i] / matrix[i, i]
        squares += own * own
        for j in range(i + 1, m):
            left[j] -= own * matrix[i, j]
    for i in range(k, m):
        deviation[columns[i]] = -left[i]
    return squares


@inner_kernel
def invert(factor, inverse):
    """Set a matrix to the inverse of R'R, given R as the upper half of `factor`."""
    k = factor.shape[0]
    solved = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            solved[i, j] = inverse[i, j] = 0.0
    for i in range(k):
        solved[i, i] = 1.0
        for r in range(i):
            for j in range(r + 1):
                solved[i, j] -= factor[r, i] * solved[r, j]
        for j in range(i + 1):
            solved[i, j] /= factor[i, i]
        for r in range(i + 1):
            for j in range(i + 1):
                inverse[r, j] += solved[i, r] * solved[i, j]


@inner_kernel
def invert_covariance(covariance, inverse):
    """Set the inverse of a covariance; return the logarithm of the covariance's determinant and -1.

    If it is singular, a column that others determine is returned in place of -1.
    """
    m = covariance.shape[0]
    factor = np.empty((m, m))
    take_block(covariance, 0, factor)
    column = eliminate(factor, m)
    invert(factor, inverse)
    return log_determinant(factor, m), column


@pasted_kernel
def precision_of(covariance, precision):
    """Set the inverse of a covariance; return the logarithm of the covariance's determinant.

    Return NaN if a column leaves too little of its variance on the others.
    """
    log_det, column = invert_covariance(covariance, precision)
    if column >= 0:
        return np.nan
    for i in range(len(covariance)):
        if not precision[i, i] * covariance[i, i] * _LEAST_FOR_PRECISION < 1:
            return np.nan
    return log_det


@inner_kernel
def complete_by_precision(row, mean, columns, k, precision, hidden, pull, deviation):
    """Do what `complete` does, given the precision and the hidden columns' covariance."""
    m = columns.size
    pull[:] = 0.0
    for i in range(k):
        x = columns[i]
        deviation[x] = row[x] - mean[x]
        for j in range(m):
            pull[j] += deviation[x] * precision[x, j]
    squares = 0.0
    for i in range(k, m):
        x = columns[i]
        deviation[x] = 0.0
        for j in range(k, m):
            deviation[x] -= hidden[i - k, j - k] * pull[columns[j]]
    for x in range(m):
        squares += deviation[x] * pull[x]
    return squares


@inner_kernel
def add_square(deviation, weight, shift, scatter):
    """Add a weighted difference from the mean to the sum, and its square to the upper half."""
    m = deviation.size
    for i in range(m):
        own = weight * deviation[i]
        shift[i] += own
        for j in range(i, m):
            scatter[i, j] += own * deviation[j]


@inner_kernel
def add_hidden(hidden, weight, columns, scatter):
    """Add the weighted covariance of hidden columns, which ascend, to the upper half."""
    for i in range(columns.size):
        for j in range(i, columns.size):
            scatter[columns[i], columns[j]] += weight * hidden[i, j]


@inner_kernel
def count(flags):
    """Return how many flags of a table are set."""
    total = 0
    for i in range(flags.shape[0]):
        for j in range(flags.shape[1]):
            total += flags[i, j]
    return total


@inner_kernel
def squares_of(deviation, chosen):
    """Return the sum of the squares of some differences."""
    total = 0.0
    for i in range(deviation.size):
        if chosen[i]:
            total += deviation[i] * deviation[i]
    return total


@pasted_kernel
def expect_rows(rows, t, mean, covariance, shift, scatter):
    """Set the sums of the expected rows of a set of targets, and of their squares, about the mean.

    Return their log-likelihood and -1. If the covariance is singular, a column that others
    determine is returned in place of -1.
    """
    values, weight, observed = rows.values, rows.weight, rows.observed
    starts, targets, targets_of = rows.starts, rows.targets, rows.targets_of
    m = values.shape[1]
    log_likelihood = 0.0
    clear(shift, scatter)
    columns = np.empty(m, np.int64)
    matrix = np.empty((m, m))
    left = np.empty(m)
    deviation = np.empty(m)
    precision = np.empty((m, m))
    log_det_of_all = precision_of(covariance, precision)
    n_set = count(targets[t : t + 1])
    for g in range(observed.shape[0]):
        if targets_of[g] != t:
            continue
        k = observed_first(observed[g], columns)
        log_det = (k - n_set) * math.log(2 * math.pi)
        by_precision = m - k < k and not math.isnan(log_det_of_all)
        factor = np.empty((m - k, m - k))
        hidden = np.empty((m - k, m - k))
        if by_precision:
            take_columns(precision, columns[k:], factor)
            eliminate(factor, m - k)
            invert(factor, hidden)
            log_det += log_det_of_all + log_determinant(factor, m - k)
        else:
            take_columns(covariance, columns, matrix)
            determined = eliminate(matrix, k)
            if determined >= 0:
                return np.nan, columns[determined]
            take_block(matrix, k, hidden)
            log_det += log_determinant(matrix, k)
        of_pattern = 0.0
        for r in range(starts[g], starts[g + 1]):
            row = values[r]
            if by_precision:
                squares = complete_by_precision(
                    row, mean, columns, k, precision, hidden, left, deviation
                )
            else:
                squares = complete(row, mean, columns, k, matrix, left, deviation)
            squares -= squares_of(deviation, targets[t])
            add_square(deviation, weight[r], shift, scatter)
            log_likelihood -= 0.5 * weight[r] * (log_det + squares)
            of_pattern += weight[r]
        add_hidden(hidden, of_pattern, columns[k:], scatter)
    return log_likelihood, -1


@inner_kernel
def move(shift, squares, weight, point, other, sum_of_rows, scatter):
    """Add sums of rows about one point to sums about another."""
    for i in range(shift.size):
        along_i = point[i] - other[i]
        sum_of_rows[i] += shift[i] + weight * along_i
        for j in range(i, shift.size):
            along_j = point[j] - other[j]
            between = shift[i] * along_j + along_i * (shift[j] + weight * along_j)
            scatter[i, j] += squares[i, j] + between


@inner_kernel
def centre(weight, point, mean, scatter):
    """Replace sums about a point by the mean, and by the scatter about this."""
    m = mean.size
    for i in range(m):
        for j in range(i, m):
            scatter[i, j] -= mean[i] * mean[j] / weight
            scatter[j, i] = scatter[i, j]
    for i in range(m):
        mean[i] = point[i] + mean[i] / weight


@pasted_kernel
def weigh(rows, weight_of_targets, totals):
    """Set the weights of the rows of each set of targets, and of each group."""
    for t in range(weight_of_targets.size):
        weight_of_targets[t] = 0.0
    for p in range(rows.targets_of.size):
        for r in range(rows.starts[p], rows.starts[p + 1]):
            weight_of_targets[rows.targets_of[p]] += rows.weight[r]
    for g in range(totals.size):
        totals[g] = 0.0
        for t in range(weight_of_targets.size):
            if rows.counts[g, t]:
                totals[g] += weight_of_targets[t]


@pasted_kernel
def expect(rows, weight_of_targets, totals, moments):
    """Set the expected mean and scatter of the complete rows of each group.

    The scatter is about the expected mean. Return the log-likelihood and -1; if a covariance is
    singular, a column that others determine in place of -1.
    """
    expected_mean, scatter = moments.expected_mean, moments.scatter
    mean, covariance = moments.mean, moments.covariance
    n_groups, m = expected_mean.shape
    log_likelihood = 0.0
    shift = np.empty(m)
    squares = np.empty((m, m))
    for g in range(n_groups):
        clear(expected_mean[g], scatter[g])
    for t in range(len(mean)):
        own, column = expect_rows(rows, t, mean[t], covariance[t], shift, squares)
        if column >= 0:
            return np.nan, column
        log_likelihood += own
        for g in range(n_groups):
            if rows.counts[g, t]:
                total = weight_of_targets[t]
                move(shift, squares, total, mean[t], mean[0], expected_mean[g], scatter[g])
    for g in range(n_groups):
        centre(totals[g], mean[0], expected_mean[g], scatter[g])
    return log_likelihood, -1


@inner_kernel
def regress(matrix, k, coefficients):
    """Set the coefficients of column k on those before it, from what `eliminate` leaves of them."""
    for i in range(k - 1, -1, -1):
        coefficients[i] = matrix[i, k]
        for j in range(i + 1, k):
            coefficients[i] -= matrix[i, j] * coefficients[j]
        coefficients[i] /= matrix[i, i]


@pasted_kernel
def fit(rows, order, is_parent, totals, prior, moments):
    """Set the means and covariances of a network fitted to the moments of groups.

    Return a column that its parents determine, or -1.
    """
    expected_mean, scatter = moments.expected_mean, moments.scatter
    mean, covariance = moments.mean, moments.covariance
    m = order.size
    columns = np.empty(m, np.int64)
    coefficients = np.empty((m, m))
    variance = np.empty(m)
    if len(mean) == 1 and not count(rows.targets) and count(is_parent) == m * (m - 1) // 2:
        for i in range(m):  # any covariance is that of a complete network
            mean[0, i] = expected_mean[0, i]
            for j in range(m):
                covariance[0, i, j] = scatter[0, i, j] / (totals[0] + prior)
        family = np.empty((m, m))
        take_columns(scatter[0], order, family)
        determined = eliminate(family, m)
        return -1 if determined < 0 else order[determined]
    for place in range(m):
        x = order[place]
        k = parents_before(order, place, is_parent, columns)
        g = rows.group_of[x]
        matrix = np.empty((k + 1, k + 1))
        take_columns(scatter[g], columns[: k + 1], matrix)
        if not matrix[k, k] > 0 or eliminate(matrix, k) >= 0:
            return x
        regress(matrix, k, coefficients[x])
        variance[x] = matrix[k, k] / (totals[g] + prior)
    for t in range(len(mean)):
        for place in range(m):
            x, g = order[place], rows.group_of[order[place]]
            if rows.targets[t, x]:
                columns[0], k = x, 0
                mean[t, x], variance_left = 0.0, 1.0
            else:
                k = parents_before(order, place, is_parent, columns)
                mean[t, x], variance_left = expected_mean[g, x], variance[x]
            for i in range(k):
                y = columns[i]
                mean[t, x] += coefficients[x, i] * (mean[t, y] - expected_mean[g, y])
            join(coefficients[x, :k], columns, order[:place], x, variance_left, covariance[t])
    return -1


@inner_kernel
def join(coefficients, parents, before, x, variance, covariance):
    """Set the covariances of a column with those before it, and its variance."""
    for y in before:
        total = 0.0
        for i in range(coefficients.size):
            total += coefficients[i] * covariance[parents[i], y]
        covariance[x, y] = covariance[y, x] = total
    for i in range(coefficients.size):
        variance += coefficients[i] * covariance[parents[i], x]
    covariance[x, x] = variance


@inner_kernel
def parents_before(order, place, is_parent, columns):
    """Set `columns` to the parents of a column by its place in the order, and then itself.

    Return how many parents it has.
    """
    x = order[place]
    k = 0
    for before in range(place):
        if is_parent[x, order[before]]:
            columns[k] = order[before]
            k += 1
    columns[k] = x
    return k


@pasted_kernel
def log_density_of_unit_rows(covariance):
    """Return the mean log density of rows about the mean whose scatter is the identity.

    Without the constant of normal densities.
    """
    m = covariance.shape[0]
    inverse = np.empty((m, m))
    log_det, _ = invert_covariance(covariance, inverse)
    trace = 0.0
    for i in range(m):
        trace += inverse[i, i]
    return -0.5 * (log_det + trace)


@kernel(
    tuple_type(PatternedRows),
    *(int64[::1], boolean[:, ::1], float64, float64, float64, int64),
    tuple_type(Moments),
    seconds=3.7,
)
def maximise_likelihood(rows, order, is_parent, prior, tolerance, before, most, moments):
    """Improve the mean and covariance of a network by EM until the likelihood hardly rises.

    `order`: (m,), the columns, parents before their children
    `prior`: how many rows are added to the scatter, of independent columns of variance 1
    `tolerance`: in nats
    `before`: the penalised log-likelihood that the last step reached; -inf at first
    `most`: number of E-steps at most, from 1 on
    `moments`: EM begins with the expected ones. All are replaced by those found.

    Returns `log_likelihood`: the log-likelihood of the observed values under the parameters found,
    in nats; `penalised`: the same with the density of the prior's rows; `n_steps`: the number of
    E-steps; `column`: a column that others determine, so that the likelihood is unbounded; -1 if
    the likelihood hardly rises any more, and -2 if it still does.
    """
    n_groups = len(rows.counts)
    totals = np.empty(n_groups)
    weight_of_targets = np.empty(len(rows.targets))
    weigh(rows, weight_of_targets, totals)
    log_likelihood = np.nan
    for step in range(most):
        for g in range(n_groups):
            for j in range(order.size):
                moments.scatter[g, j, j] += prior
        column = fit(rows, order, is_parent, totals, prior, moments)
        if column >= 0:
            return log_likelihood, before, step, column
        log_likelihood, column = expect(rows, weight_of_targets, totals, moments)
        if column >= 0:
            return log_likelihood, before, step + 1, column
        penalised = log_likelihood
        if prior > 0:
            penalised += prior * log_density_of_unit_rows(moments.covariance[0])
        if not penalised - before > tolerance:
            return log_likelihood, penalised, step + 1, -1
        before = penalised
    return log_likelihood, before, most, -2

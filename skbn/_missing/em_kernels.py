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
from numba import float64, int64

from skbn._core.arrays import F1, F2, F3, I1, I2
from skbn._core.compile import inner_kernel, kernel, pasted_kernel, tuple_type
from skbn._missing.incomplete_rows import PatternedRows


class Problem(NamedTuple):
    """What EM fits, and scratch."""

    rows: PatternedRows
    order: I1  # (m,): the columns, parents before their children
    parents: I2  # (m, m): each column's parents, by their places in the order, and then itself
    n_parents: I1  # (m,)
    is_saturated: bool  # whether any covariance is that of the network
    columns: I2  # (n_patterns, m): the columns that a pattern observes, and then the hidden ones
    n_observed: I1  # (n_patterns,)
    n_set: I1  # (n_target_sets,): how many columns were set
    weights: F1  # (n_target_sets,): of the rows of each set of targets
    totals: F1  # (n_groups,): of the rows of each group
    prior: float  # how many rows are added to the scatter, of independent columns of variance 1
    left: F1  # (m,): scratch, as all that follows
    deviation: F1  # (m,)
    shift: F1  # (m,): the sum of the rows of a set of targets, less the mean
    squares: F2  # (m, m): the sum of the squares of these
    matrix: F2  # (m, m)
    solved: F2  # (m, m)
    hidden: F2  # (m, m): the conditional covariance of hidden columns
    inverse: F2  # (m, m): the precision, or coefficients


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
def eliminate(matrix, m, n_first):
    """Take the first columns out of a symmetric m x m matrix, of which the upper half is given.

    Their rows become the Cholesky factor's; the rest of the upper half becomes the others'
    covariance given these. Return the place of the first column that others determine, or -1.
    """
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
def clear(sums, squares):
    """Set sums of rows, and of their squares, to 0."""
    for i in range(sums.size):
        sums[i] = 0.0
        for j in range(sums.size):
            squares[i, j] = 0.0


@pasted_kernel
def complete(problem, r, g, moments, t):
    """Set `deviation` to a row's expected difference from the mean; return a sum of squares.

    `matrix` is what `eliminate` leaves of the covariance of `columns`, of which k are observed. The
    sum is the squared Mahalanobis distance of what is observed.
    """
    columns, values, mean = problem.columns[g], problem.rows.values, moments.mean
    matrix, left, deviation = problem.matrix, problem.left, problem.deviation
    m, k = columns.size, problem.n_observed[g]
    for i in range(k):
        left[i] = values[r, columns[i]] - mean[t, columns[i]]
        deviation[columns[i]] = left[i]
    for i in range(k, m):
        left[i] = 0.0
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
def invert(factor, k, solved, inverse):
    """Set `inverse` to that of the k x k matrix R'R, given R as the upper half of `factor`."""
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


@pasted_kernel
def complete_by_precision(problem, r, g, moments, t):
    """Do what `complete` does, given the precision and the hidden columns' covariance."""
    columns, values, mean = problem.columns[g], problem.rows.values, moments.mean
    precision, hidden = problem.inverse, problem.hidden
    pull, deviation = problem.left, problem.deviation
    m, k = columns.size, problem.n_observed[g]
    for j in range(m):
        pull[j] = 0.0
    for i in range(k):
        x = columns[i]
        deviation[x] = values[r, x] - mean[t, x]
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


@pasted_kernel
def add_square(problem, weight):
    """Add a weighted difference from the mean to the sum, and its square to the upper half."""
    deviation, shift, squares = problem.deviation, problem.shift, problem.squares
    m = deviation.size
    for i in range(m):
        own = weight * deviation[i]
        shift[i] += own
        for j in range(i, m):
            squares[i, j] += own * deviation[j]


@pasted_kernel
def add_hidden(problem, weight, g):
    """Add the weighted covariance of hidden columns, which ascend, to the upper half."""
    columns, hidden, squares = problem.columns[g], problem.hidden, problem.squares
    k = problem.n_observed[g]
    for i in range(k, columns.size):
        for j in range(i, columns.size):
            squares[columns[i], columns[j]] += weight * hidden[i - k, j - k]


@pasted_kernel
def squares_of_targets(problem, t):
    """Return the sum of the squares of the differences of the columns that were set."""
    total = 0.0
    for i in range(problem.deviation.size):
        if problem.rows.targets[t, i]:
            total += problem.deviation[i] * problem.deviation[i]
    return total


@pasted_kernel
def move(problem, t, g, moments):
    """Add sums of the rows of a set of targets to those of a group, about the first mean."""
    shift, squares, weight = problem.shift, problem.squares, problem.weights[t]
    mean, scatter = moments.mean, moments.scatter
    for i in range(shift.size):
        along_i = mean[t, i] - mean[0, i]
        moments.expected_mean[g, i] += shift[i] + weight * along_i
        for j in range(i, shift.size):
            along_j = mean[t, j] - mean[0, j]
            between = shift[i] * along_j + along_i * (shift[j] + weight * along_j)
            scatter[g, i, j] += squares[i, j] + between


@pasted_kernel
def centre(weight, g, moments):
    """Replace sums about the first mean by the mean, and by the scatter about this."""
    mean, scatter = moments.expected_mean, moments.scatter
    m = mean.shape[1]
    for i in range(m):
        for j in range(i, m):
            scatter[g, i, j] -= mean[g, i] * mean[g, j] / weight
            scatter[g, j, i] = scatter[g, i, j]
    for i in range(m):
        mean[g, i] = moments.mean[0, i] + mean[g, i] / weight


@pasted_kernel
def regress(problem, x, k):
    """Set the coefficients of x on k columns, from what `eliminate` leaves of these and it."""
    matrix, coefficients = problem.matrix, problem.inverse
    for i in range(k - 1, -1, -1):
        coefficients[x, i] = matrix[i, k]
        for j in range(i + 1, k):
            coefficients[x, i] -= matrix[i, j] * coefficients[x, j]
        coefficients[x, i] /= matrix[i, i]


@pasted_kernel
def join(problem, place, k, variance, moments, t):
    """Set the covariances of a column with those before it, and its variance."""
    order, coefficients, covariance = problem.order, problem.inverse, moments.covariance
    x = order[place]
    parents = problem.parents[x]
    for before in range(place):
        y = order[before]
        total = 0.0
        for i in range(k):
            total += coefficients[x, i] * covariance[t, parents[i], y]
        covariance[t, x, y] = covariance[t, y, x] = total
    for i in range(k):
        variance += coefficients[x, i] * covariance[t, parents[i], x]
    covariance[t, x, x] = variance


@inner_kernel
def take_columns(symmetric, columns, first, end, matrix):
    """Set the upper half of `matrix` to the columns at these places of a symmetric matrix."""
    for i in range(first, end):
        for j in range(i, end):
            matrix[i - first, j - first] = symmetric[columns[i], columns[j]]


@pasted_kernel
def invert_covariance(problem, moments, t):
    """Set `inverse` to that of a covariance; return the logarithm of its determinant.

    Return also whether each column leaves enough of its variance on the others.
    """
    factor, covariance, m = problem.matrix, moments.covariance, problem.order.size
    for i in range(m):
        for j in range(i, m):
            factor[i, j] = covariance[t, i, j]
    is_precise = eliminate(factor, m, m) < 0
    invert(factor, m, problem.solved, problem.inverse)
    for i in range(m):
        is_precise &= problem.inverse[i, i] * covariance[t, i, i] * _LEAST_FOR_PRECISION < 1
    return log_determinant(factor, m), is_precise


@pasted_kernel
def decompose(problem, g, moments, t, by_precision):
    """Decompose what a pattern needs to complete rows, and set `hidden`; return two numbers.

    They are the logarithm of the determinant of the precision of the hidden columns or of the
    covariance of the observed ones, and -1 or the place of a column that others determine.
    """
    matrix, hidden, columns = problem.matrix, problem.hidden, problem.columns[g]
    m, k = columns.size, problem.n_observed[g]
    symmetric, first, n = moments.covariance[t], np.int64(0), k
    if by_precision:
        symmetric, first, n = problem.inverse, k, m - k
    take_columns(symmetric, columns, first, m, matrix)
    determined = eliminate(matrix, m - first, n)
    if by_precision:
        invert(matrix, n, problem.solved, hidden)
        determined = np.int64(-1)
    else:
        for i in range(k, m):
            for j in range(i, m):
                hidden[i - k, j - k] = matrix[i, j]
    return log_determinant(matrix, n), determined


@inner_kernel
def expect_rows(problem, t, moments):
    """Set the sums of the expected rows of a set of targets, and of their squares, about the mean.

    Return their log-likelihood and -1, and the mean log density of rows about the mean whose
    scatter is the identity, without the constant of normal densities. If the covariance is
    singular, a column that others determine is returned in place of -1.
    """
    rows = problem.rows
    m = problem.order.size
    log_likelihood, trace = 0.0, 0.0
    clear(problem.shift, problem.squares)
    log_det_of_all, is_precise = invert_covariance(problem, moments, t)
    for i in range(m):
        trace += problem.inverse[i, i]
    for g in range(rows.targets_of.size):
        if rows.targets_of[g] != t:
            continue
        k = problem.n_observed[g]
        by_precision = m - k < k and is_precise
        of_pattern, determined = decompose(problem, g, moments, t, by_precision)
        if determined >= 0:
            return np.nan, problem.columns[g, determined], np.nan
        log_det = (k - problem.n_set[t]) * math.log(2 * math.pi)
        log_det += log_det_of_all + of_pattern if by_precision else of_pattern
        weight = 0.0
        for r in range(rows.starts[g], rows.starts[g + 1]):
            if by_precision:
                squares = complete_by_precision(problem, r, g, moments, t)
            else:
                squares = complete(problem, r, g, moments, t)
            squares -= squares_of_targets(problem, t)
            add_square(problem, rows.weight[r])
            log_likelihood -= 0.5 * rows.weight[r] * (log_det + squares)
            weight += rows.weight[r]
        add_hidden(problem, weight, g)
    return log_likelihood, np.int64(-1), -0.5 * (log_det_of_all + trace)


@pasted_kernel
def expect(problem, moments):
    """Set the expected mean and scatter of the complete rows of each group.

    The scatter is about the expected mean. Return the log-likelihood, the log density of the
    prior's rows, and -1; if a covariance is singular, a column that others determine in place of
    -1.
    """
    n_groups, n_target_sets = problem.rows.counts.shape
    log_likelihood, of_prior = 0.0, 0.0
    for g in range(n_groups):
        clear(moments.expected_mean[g], moments.scatter[g])
    for t in range(n_target_sets):
        own, column, log_density = expect_rows(problem, t, moments)
        if column >= 0:
            return np.nan, np.nan, column
        log_likelihood += own
        if t == 0:
            of_prior = problem.prior * log_density
        for g in range(n_groups):
            if problem.rows.counts[g, t]:
                move(problem, t, g, moments)
    for g in range(n_groups):
        centre(problem.totals[g], g, moments)
    return log_likelihood, of_prior, np.int64(-1)


@pasted_kernel
def fit(problem, moments):
    """Set the means and covariances of a network fitted to the moments of groups.

    Return a column that its parents determine, or -1.
    """
    rows, order, matrix = problem.rows, problem.order, problem.matrix
    totals, prior, variance = problem.totals, problem.prior, problem.left
    expected_mean, scatter = moments.expected_mean, moments.scatter
    mean, covariance = moments.mean, moments.covariance
    m, is_saturated = order.size, problem.is_saturated
    for place in range(m - 1 if is_saturated else 0, m):
        x = order[place]
        k, g = problem.n_parents[x], rows.group_of[x]
        take_columns(scatter[g], problem.parents[x], np.int64(0), k + 1, matrix)
        is_constant = not matrix[k, k] > 0
        determined = eliminate(matrix, k + 1, k)
        if is_constant or determined >= 0:
            return order[determined] if is_saturated else x
        regress(problem, x, k)
        variance[x] = matrix[k, k] / (totals[g] + prior)
    if is_saturated:
        for i in range(m):
            mean[0, i] = expected_mean[0, i]
            for j in range(m):
                covariance[0, i, j] = scatter[0, i, j] / (totals[0] + prior)
        return np.int64(-1)
    for t in range(len(mean)):
        for place in range(m):
            x, g = order[place], rows.group_of[order[place]]
            k = problem.n_parents[x]
            mean[t, x], variance_left = expected_mean[g, x], variance[x]
            if rows.targets[t, x]:
                k, mean[t, x], variance_left = np.int64(0), 0.0, 1.0
            for i in range(k):
                y = problem.parents[x, i]
                mean[t, x] += problem.inverse[x, i] * (mean[t, y] - expected_mean[g, y])
            join(problem, place, k, variance_left, moments, t)
    return np.int64(-1)


@kernel(tuple_type(Problem), float64, float64, int64, tuple_type(Moments), seconds=2.9)
def maximise_likelihood(problem, tolerance, before, most, moments):
    """Improve the mean and covariance of a network by EM until the likelihood hardly rises.

    `tolerance`: in nats
    `before`: the penalised log-likelihood that the last step reached; -inf at first
    `most`: number of E-steps at most, from 1 on
    `moments`: EM begins with the expected ones. All are replaced by those found.

    Returns `log_likelihood`: the log-likelihood of the observed values under the parameters found,
    in nats; `penalised`: the same with the density of the prior's rows; `n_steps`: the number of
    E-steps; `column`: a column that others determine, so that the likelihood is unbounded; -1 if
    the likelihood hardly rises any more, and -2 if it still does.
    """
    log_likelihood, prior = np.nan, problem.prior
    for step in range(most):
        for g in range(problem.totals.size):
            for j in range(problem.order.size):
                moments.scatter[g, j, j] += prior
        column = fit(problem, moments)
        if column >= 0:
            return log_likelihood, before, step, column
        log_likelihood, of_prior, column = expect(problem, moments)
        if column >= 0:
            return log_likelihood, before, step + 1, column
        penalised = log_likelihood + of_prior if prior > 0 else log_likelihood
        if not penalised - before > tolerance:
            return log_likelihood, penalised, step + 1, -1
        before = penalised
    return log_likelihood, before, most, -2

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
    # (n_patterns + 1, m): the columns that a pattern observes, and then the hidden ones; at last a
    # pattern that observes all
    columns: I2
    n_observed: I1  # (n_patterns + 1,)
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
def decompose(symmetric, columns, first, end, n, matrix):
    """Take the first n of some columns out of the symmetric matrix of those in a range of places.

    Their rows of the upper half of `matrix` become the Cholesky factor's; the rest of it becomes
    the others' covariance given these. Return the place of the first column that others determine,
    or -1.
    """
    m = end - first
    for i in range(m):
        x = columns[first + i]
        for j in range(i, m):
            matrix[i, j] = symmetric[x, columns[first + j]]
    for i in range(n):
        root = math.sqrt(matrix[i, i])
        matrix[i, i] = root
        for j in range(i + 1, m):
            matrix[i, j] /= root
        for r in range(i + 1, m):
            weight = matrix[i, r]
            before = matrix[r, r]
            for j in range(r, m):
                matrix[r, j] -= weight * matrix[i, j]
            if not matrix[r, r] > _LEAST_SHARE * before:
                return r
    return -1


@pasted_kernel
def clear(sums, squares):
    """Set sums of rows, and the upper half of those of their squares, to 0."""
    for i in range(sums.size):
        sums[i] = 0.0
        for j in range(i, sums.size):
            squares[i, j] = 0.0


@pasted_kernel
def invert(factor, k, solved, inverse):
    """Set `inverse` to that of the k x k matrix R'R, given R as the upper half of `factor`."""
    for i in range(k):
        for j in range(i + 1):
            solved[i, j] = inverse[i, j] = inverse[j, i] = 0.0
        solved[i, i] = 1.0
        for r in range(i):
            weight = factor[r, i]
            for j in range(r + 1):
                solved[i, j] -= weight * solved[r, j]
        own = factor[i, i]
        for j in range(i + 1):
            solved[i, j] /= own
        for r in range(i + 1):
            weight = solved[i, r]
            for j in range(i + 1):
                inverse[r, j] += weight * solved[i, j]


@pasted_kernel
def complete(problem, r, columns, k, mean, by_precision):
    """Set `deviation` to a row's expected difference from the mean; return a sum of squares.

    Its first k columns are observed. By precision, `left` is the pull on each column, and the sum
    is left to the caller. Else `matrix` is what `decompose` leaves of the columns' covariance, and
    the sum is the squared Mahalanobis distance of what is observed.
    """
    values, matrix, precision = problem.rows.values, problem.matrix, problem.inverse
    left, deviation, m, squares = problem.left, problem.deviation, columns.size, 0.0
    for i in range(m):
        left[i] = 0.0
    for i in range(k):
        x = columns[i]
        own = values[r, x] - mean[x]
        deviation[x] = own
        if by_precision:
            for j in range(m):
                left[j] += own * precision[x, j]
        else:
            left[i] = own
    for i in range(0 if by_precision else k):
        own = left[i] / matrix[i, i]
        squares += own * own
        for j in range(i + 1, m):
            left[j] -= own * matrix[i, j]
    for i in range(k, m):
        own = -left[i]
        if by_precision:
            own = 0.0
            for j in range(k, m):
                own -= problem.hidden[i - k, j - k] * left[columns[j]]
        deviation[columns[i]] = own
    return squares


@pasted_kernel
def expect_pattern(problem, g, t, mean, log_likelihood, log_det, by_precision):
    """Add the rows of a pattern, and their squares to the upper half; return the log-likelihood.

    `log_det`: the logarithm of the determinant of the observed columns' covariance, with the
    constant of normal densities
    """
    rows, columns, k = problem.rows, problem.columns[g], problem.n_observed[g]
    deviation, sums, m, of_pattern = problem.deviation, problem.squares, columns.size, 0.0
    for r in range(rows.starts[g], rows.starts[g + 1]):
        squares = complete(problem, r, columns, k, mean, by_precision)
        weight, of_targets = rows.weight[r], 0.0
        for i in range(m):
            own = deviation[i]
            if by_precision:
                squares += own * problem.left[i]
            if rows.targets[t, i]:
                of_targets += own * own
            own *= weight
            problem.shift[i] += own
            for j in range(i, m):
                sums[i, j] += own * deviation[j]
        log_likelihood -= 0.5 * weight * (log_det + (squares - of_targets))
        of_pattern += weight
    conditional, first = problem.matrix, k
    if by_precision:
        conditional, first = problem.hidden, np.int64(0)
    for i in range(k, m):  # the hidden columns ascend
        for j in range(i, m):
            own = of_pattern * conditional[i - k + first, j - k + first]
            sums[columns[i], columns[j]] += own
    return log_likelihood


@inner_kernel
def expect_rows(problem, t, moments):
    """Set the sums of the expected rows of a set of targets, and of their squares, about the mean.

    Return their log-likelihood and -1, and the mean log density of rows about the mean whose
    scatter is the identity, without the constant of normal densities. If the covariance is
    singular, a column that others determine is returned in place of -1.
    """
    targets_of, matrix, precision = problem.rows.targets_of, problem.matrix, problem.inverse
    mean, covariance = moments.mean[t], moments.covariance[t]
    m = mean.size
    log_likelihood, trace, log_det_of_all, is_precise = 0.0, 0.0, 0.0, False
    clear(problem.shift, problem.squares)
    for g in range(-1, targets_of.size):  # all columns, for the precision, and the patterns
        if g >= 0 and targets_of[g] != t:
            continue
        k = problem.n_observed[g]
        by_precision = m - k < k and is_precise
        symmetric, first, n, inverse = covariance, np.int64(0), k, precision
        if by_precision:
            symmetric, first, n, inverse = precision, k, m - k, problem.hidden
        determined = decompose(symmetric, problem.columns[g], first, m, n, matrix)
        log_det = 0.0
        for i in range(n):
            log_det += 2 * math.log(matrix[i, i])
        if g < 0 or by_precision:
            invert(matrix, n, problem.solved, inverse)
        elif determined >= 0:
            return np.nan, problem.columns[g, determined], np.nan
        if g < 0:
            log_det_of_all, is_precise = log_det, determined < 0
            for i in range(m):
                trace += precision[i, i]
                is_precise &= precision[i, i] * covariance[i, i] * _LEAST_FOR_PRECISION < 1
            continue
        log_det += log_det_of_all if by_precision else 0.0
        log_det += (k - problem.n_set[t]) * math.log(2 * math.pi)
        log_likelihood = expect_pattern(problem, g, t, mean, log_likelihood, log_det, by_precision)
    return log_likelihood, np.int64(-1), -0.5 * (log_det_of_all + trace)


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
def regress(matrix, k, coefficients, x):
    """Set the coefficients of x on k columns, from what `decompose` leaves of these and it."""
    for i in range(k - 1, -1, -1):
        own = matrix[i, k]
        for j in range(i + 1, k):
            own -= matrix[i, j] * coefficients[x, j]
        coefficients[x, i] = own / matrix[i, i]


@pasted_kernel
def join(problem, place, k, variance, covariance, t):
    """Set the covariances of a column with those before it, and at last its variance."""
    order, coefficients = problem.order, problem.inverse
    x = order[place]
    parents = problem.parents[x]
    for before in range(place + 1):
        y = order[before]
        total = variance if before == place else 0.0
        for i in range(k):
            total += coefficients[x, i] * covariance[t, parents[i], y]
        covariance[t, x, y] = covariance[t, y, x] = total


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
    parents, coefficients = problem.parents, problem.inverse
    totals, prior, variance = problem.totals, problem.prior, problem.left
    expected_mean, scatter = moments.expected_mean, moments.scatter
    mean, covariance = moments.mean, moments.covariance
    m, is_saturated = order.size, problem.is_saturated
    for place in range(m - 1 if is_saturated else 0, m):
        x = order[place]
        k, g = problem.n_parents[x], rows.group_of[x]
        is_constant = not scatter[g, x, x] > 0
        determined = decompose(scatter[g], parents[x], np.int64(0), k + 1, k, matrix)
        if is_constant or determined >= 0:
            return order[determined] if is_saturated else x
        regress(matrix, k, coefficients, x)
        variance[x] = matrix[k, k] / (totals[g] + prior)
    if is_saturated:
        for i in range(m):
            mean[0, i] = expected_mean[0, i]
            for j in range(m):
                covariance[0, i, j] = scatter[0, i, j] / (totals[0] + prior)
        return np.int64(-1)
    for t in range(len(mean)):
        for place in range(m):
            x = order[place]
            k, g, left = problem.n_parents[x], rows.group_of[x], variance[x]
            own = expected_mean[g, x]
            if rows.targets[t, x]:
                k, own, left = np.int64(0), 0.0, 1.0
            for i in range(k):
                y = parents[x, i]
                own += coefficients[x, i] * (mean[t, y] - expected_mean[g, y])
            mean[t, x] = own
            join(problem, place, k, left, covariance, t)
    return np.int64(-1)


@kernel(tuple_type(Problem), float64, float64, int64, tuple_type(Moments), seconds=2.6)
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

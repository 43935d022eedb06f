"""Least squares, exact or with holes, and EM."""

import math
from fractions import Fraction

import numpy as np

from reference.networks import covariance_of_network


def regression(rows, child, parents):
    """Intercept, coefficients and residual sum of squares, by least squares on centred rows."""
    mean = rows.mean(axis=0)
    centred = rows - mean
    design = centred[:, list(parents)]
    coefficients = np.linalg.lstsq(design, centred[:, child], rcond=None)[0]
    residual = centred[:, child] - design @ coefficients
    return mean[child] - coefficients @ mean[list(parents)], coefficients, residual @ residual


def standard_errors(rows, child, parents):
    """Those of the coefficients of least squares, by the inverse of the normal equations."""
    n, k = len(rows), len(parents)
    centred = rows[:, list(parents)] - rows[:, list(parents)].mean(axis=0)
    variance = regression(rows, child, parents)[2] / (n - k - 1)
    return np.sqrt(variance * np.diag(np.linalg.inv(centred.T @ centred)))


def exact_products(rows, weight=None):
    """Sums of products of deviations from the weighted mean, and it, in rational arithmetic."""
    exactly = np.vectorize(lambda value: Fraction(float(value)), otypes=[object])
    rows, weight = exactly(rows), exactly(np.ones(len(rows)) if weight is None else weight)
    mean = weight @ rows / sum(weight)
    return (rows - mean).T @ (weight[:, np.newaxis] * (rows - mean)), mean


def exact_log_rss(rows):
    """Log residual sums of squares of all families, by rational arithmetic.

    Of the very numbers in the table: dict of (mask of the parents, child) to float. The parents
    are eliminated one by one from the centred columns' products; what remains on the diagonal
    are the other columns' residual sums of squares.
    """
    columns = range(rows.shape[1])
    logs = {}

    def eliminate(products, mask, first):
        others = [x for x in columns if not mask >> x & 1]
        for x in others:
            rss = products[x, x]
            logs[mask, x] = math.log(rss.numerator) - math.log(rss.denominator)
        for parent in columns[first:]:
            rest = products.copy()
            for a in others:
                share = products[a, parent] / products[parent, parent]
                rest[a, others] -= share * products[parent, others]
            eliminate(rest, mask | 1 << parent, parent + 1)

    eliminate(exact_products(rows)[0], 0, 0)
    return logs


def families_of_order(order):
    """The regressions that a triangular factor of columns in this order solves."""
    return {(x, frozenset(order[:i])) for i in range(1, len(order)) for x in order[i:]}


def follow(order, swaps):
    """The column orders that a path visits, the first included."""
    order = list(order)
    visited = [tuple(order)]
    for i in swaps:
        order[i], order[i + 1] = order[i + 1], order[i]
        visited.append(tuple(order))
    return visited


def conditional(mean, covariance, given, values):
    """The textbook's conditional distribution of the other columns, in a joint normal."""
    others = [v for v in range(len(mean)) if v not in given]
    cross = covariance[np.ix_(others, given)]
    coefficients = cross @ np.linalg.inv(covariance[np.ix_(given, given)])
    return (
        mean[others] + coefficients @ (values - mean[given]),
        covariance[np.ix_(others, others)] - coefficients @ cross.T,
    )


def observed_log_likelihood(rows, mean, covariance, weight=None):
    """The log-likelihood of the values that are not NaN."""
    total = 0.0
    for row, w in zip(rows, np.ones(len(rows)) if weight is None else weight, strict=True):
        seen = np.flatnonzero(~np.isnan(row))
        if len(seen) and w:
            own = covariance[np.ix_(seen, seen)]
            deviation = row[seen] - mean[seen]
            _, log_det = np.linalg.slogdet(2 * np.pi * own)
            total -= w / 2 * (log_det + deviation @ np.linalg.solve(own, deviation))
    return total


def em_step(rows, parents, mean, covariance, weight=None, prior=None):
    """The mean and covariance of a network after a step of EM, row by row.

    The prior is a scatter, and its weight in rows.
    """
    n, m = rows.shape
    weight = np.ones(n) if weight is None else weight
    filled, hidden_scatter = rows.copy(), np.zeros((m, m))
    for i, row in enumerate(rows):
        seen, hidden = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        filled[i, hidden], left = conditional(mean, covariance, seen, row[seen])
        hidden_scatter[np.ix_(hidden, hidden)] += weight[i] * left
    mean = np.average(filled, axis=0, weights=weight)
    scatter = (filled - mean).T @ ((filled - mean) * weight[:, np.newaxis]) + hidden_scatter
    scale = weight.sum()
    if prior is not None:
        scatter, scale = scatter + prior[0], scale + prior[1]
    return mean, covariance_of_network(scatter / scale, parents)


def distribution_given(row, is_given, coef, intercept, noise):
    """Which columns are not given, and their mean and covariance if arrows into others are cut."""
    free = np.flatnonzero(~is_given)
    constant = intercept[free] + row[is_given] @ coef[np.ix_(is_given, free)]
    inverse = np.linalg.inv(np.eye(len(free)) - coef[np.ix_(free, free)])
    return free, constant @ inverse, inverse.T @ np.diag(noise[free]) @ inverse


def log_likelihood_given(rows, is_given, coef, intercept, noise, weight=None):
    """The log-likelihood of what is observed, given the values that were set in each row."""
    total = 0.0
    weight = np.ones(len(rows)) if weight is None else weight
    for row, given, w in zip(rows, is_given, weight, strict=True):
        free, mean, covariance = distribution_given(row, given, coef, intercept, noise)
        total += observed_log_likelihood(row[np.newaxis, free], mean, covariance, [w])
    return total


def em_step_given(rows, is_given, parents, coef, intercept, noise, weight=None):
    """The coefficients, intercepts and variances after a step of EM, row by row.

    Those of a column are by the rows in which it was not set; others are left as they are.
    """
    n, m = rows.shape
    weight = np.ones(n) if weight is None else weight
    filled, hidden_covariance = rows.copy(), np.zeros((n, m, m))
    for i, row in enumerate(rows):
        free, mean, covariance = distribution_given(row, is_given[i], coef, intercept, noise)
        seen, hidden = np.flatnonzero(~np.isnan(row[free])), free[np.isnan(row[free])]
        filled[i, hidden], left = conditional(mean, covariance, seen, row[free[seen]])
        hidden_covariance[np.ix_([i], hidden, hidden)] = left
    coef, intercept, noise = np.zeros((m, m)), intercept.copy(), noise.copy()
    for x in range(m):
        counts = ~is_given[:, x] & (weight > 0)
        if not counts.any():
            continue
        w, own = weight[counts], filled[counts]
        mean = np.average(own, axis=0, weights=w)
        scatter = (own - mean).T @ ((own - mean) * w[:, np.newaxis])
        scatter += np.tensordot(w, hidden_covariance[counts], axes=1)
        p = list(parents[x])
        coef[p, x] = np.linalg.solve(scatter[np.ix_(p, p)], scatter[p, x])
        intercept[x] = mean[x] - mean[p] @ coef[p, x]
        noise[x] = (scatter[x, x] - scatter[x, p] @ coef[p, x]) / w.sum()
    return coef, intercept, noise


def lagged_rows(rows, n_lags, groups):
    """Each row with those before it of its group, latest first, and its number in the table."""
    found, numbers = [], []
    for i, row in enumerate(rows):
        before = [rows[j] for j in range(i) if groups[j] == groups[i]]
        if len(before) >= n_lags:
            found.append([*row, *(x for k in range(1, n_lags + 1) for x in before[-k])])
            numbers.append(i)
    return found, numbers


def future_of_equations(equations, past, held):
    """Means and variances of later steps; each value is a mean and a weight for each noise.

    equations has, for each column, its intercept, noise variance and weights by (column, lag), in
    an order in which those of lag 0 come first. past has rows of all columns, the latest last, and
    held, for each step, the columns that are set or given.
    """
    values = [{column: (value, {}) for column, value in row.items()} for row in past]
    for step, fixed in enumerate(held):
        values.append({column: (value, {}) for column, value in fixed.items()})
        for child, (intercept, variance, weights) in equations.items():
            if child in fixed:
                continue
            mean, noises = intercept, {(child, step): variance**0.5}
            for (column, lag), weight in weights.items():
                own, theirs = values[len(past) + step - lag][column]
                mean += weight * own
                for noise, size in theirs.items():
                    noises[noise] = noises.get(noise, 0) + weight * size
            values[-1][child] = mean, noises
    means = [{column: value[0] for column, value in row.items()} for row in values[len(past) :]]
    variances = [
        {column: sum(size**2 for size in value[1].values()) for column, value in row.items()}
        for row in values[len(past) :]
    ]
    return means, variances

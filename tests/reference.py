"""The obvious, slow way to each result. Nothing here uses the library."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from itertools import chain, combinations, permutations, product

import mpmath
import numpy as np


def subsets(items):
    """All subsets, the fewest items first, then in the order of the items."""
    items = list(items)
    return list(chain.from_iterable(combinations(items, size) for size in range(len(items) + 1)))


def families(m):
    """All pairs of a child and a tuple of parents."""
    return [(x, p) for x in range(m) for p in subsets(v for v in range(m) if v != x)]


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


def local_score(rows, child, parents, criterion="bic", penalty=1.0):
    n = len(rows)
    rss = regression(rows, child, parents)[2]
    weight = {"bic": np.log(n) / 2, "aic": 1.0, "loglik": 0.0}[criterion]
    return -n / 2 * (np.log(2 * np.pi * rss / n) + 1) - penalty * (len(parents) + 2) * weight


def bge_local_score(rows, child, parents, alpha_mu=1.0, alpha_w=None, nu=None):
    """Log marginal likelihood of the family less that of the parents, to 40 digits.

    That of l columns under the complete network on them is, with N rows and n columns,
    (a_mu / (N + a_mu))^(l/2) G_l((N + a_w - n + l) / 2) / (pi^(l N / 2) G_l((a_w - n + l) / 2))
    |T|^((a_w - n + l) / 2) / |R|^((N + a_w - n + l) / 2), where G_l is the multivariate gamma
    function: equations (4) and (18) of Geiger & Heckerman (2002), with the T and R of the
    columns themselves, as Kuipers, Moffa & Heckerman (2014) correct it.
    """
    with mpmath.workdps(40):
        together = _bge_marginal(rows, [*parents, child], alpha_mu, alpha_w, nu)
        return float(together - _bge_marginal(rows, list(parents), alpha_mu, alpha_w, nu))


def all_bge_local_scores(rows, **settings):
    """The BGe score of each family, as a dict."""
    prior = {"alpha_mu": 1.0, "alpha_w": None, "nu": None} | settings
    columns = range(rows.shape[1])
    with mpmath.workdps(40):
        marginal = {s: _bge_marginal(rows, list(s), **prior) for s in subsets(columns)}
        return {
            (x, p): float(marginal[tuple(sorted((*p, x)))] - marginal[p])
            for x, p in families(len(columns))
        }


def _bge_marginal(rows, columns, alpha_mu, alpha_w, nu):
    n_rows, m = rows.shape
    size = len(columns)
    if size == 0:
        return mpmath.mpf(0)
    alpha_mu = mpmath.mpf(alpha_mu)
    alpha_w = mpmath.mpf(m + 2 if alpha_w is None else alpha_w)
    t = alpha_mu * (alpha_w - m - 1) / (alpha_mu + 1)
    table = mpmath.matrix(rows[:, columns].tolist())
    mean = [mpmath.fsum(table[:, j]) / n_rows for j in range(size)]
    prior_mean = mean if nu is None else [mpmath.mpf(nu[c]) for c in columns]
    posterior = mpmath.matrix(size, size)
    for i, j in product(range(size), repeat=2):
        scatter = mpmath.fsum(
            (table[k, i] - mean[i]) * (table[k, j] - mean[j]) for k in range(n_rows)
        )
        shift = (mean[i] - prior_mean[i]) * (mean[j] - prior_mean[j])
        weight = alpha_mu * n_rows / (alpha_mu + n_rows)
        posterior[i, j] = (i == j) * t + scatter + weight * shift
    freedom = alpha_w - m + size

    def log_gamma(a):  # of dimension `size`, less the power of pi that cancels
        return mpmath.fsum(mpmath.loggamma(a - mpmath.mpf(i) / 2) for i in range(size))

    return (
        size * mpmath.log(alpha_mu / (n_rows + alpha_mu)) / 2
        + log_gamma((n_rows + freedom) / 2)
        - log_gamma(freedom / 2)
        - size * n_rows * mpmath.log(mpmath.pi) / 2
        + freedom * size * mpmath.log(t) / 2
        - (n_rows + freedom) * mpmath.log(mpmath.det(posterior)) / 2
    )


def block_score(blocks, child, parents, criterion="bic", penalty=1.0):
    """The score of a block of columns given others: one of its columns after the other.

    For "bge" the blocks of several columns are whitened.
    """
    if criterion == "bge":
        blocks = [
            b
            if b.shape[1] == 1
            else b @ np.linalg.inv(np.linalg.cholesky(np.cov(b.T, bias=True))).T
            for b in blocks
        ]
    rows = np.hstack(blocks)
    start = np.cumsum([0, *(b.shape[1] for b in blocks)])
    before = [c for p in parents for c in range(start[p], start[p + 1])]
    score = 0.0
    for column in range(start[child], start[child + 1]):
        if criterion == "bge":
            score += bge_local_score(rows, column, before)
        else:
            score += local_score(rows, column, before, criterion, penalty)
        before.append(column)
    return score


def all_local_scores(rows, criterion="bic", penalty=1.0):
    """The score of each family, as a dict."""
    return {(x, p): local_score(rows, x, p, criterion, penalty) for x, p in families(rows.shape[1])}


def best_score_by_dynamic_program(scores, m):
    """The best network's score, by the best last column of each set of columns."""
    best_parents = {}
    for x in range(m):
        for candidates in subsets(v for v in range(m) if v != x):
            fewer = (tuple(v for v in candidates if v != c) for c in candidates)
            best_parents[x, candidates] = max(
                [scores[x, candidates], *(best_parents[x, some] for some in fewer)]
            )
    best = {(): 0.0}
    for columns in subsets(range(m))[1:]:
        rests = ((x, tuple(v for v in columns if v != x)) for x in columns)
        best[columns] = max(best[rest] + best_parents[x, rest] for x, rest in rests)
    return best[tuple(range(m))]


def joined_over_subsets(values, join):
    """For each mask, the join (`max` or `sum`) of the values of all its subsets."""
    return [
        join(value for subset, value in enumerate(values) if subset & ~mask == 0)
        for mask in range(len(values))
    ]


def sums_over_orders(values, m):
    """For each set of columns, the sum over their orders of the product over their columns.

    A column's factor is the sum of the values of its families whose parents come before it.
    """
    return {
        columns: sum(
            math.prod(
                sum(values[x, parents] for parents in subsets(sorted(order[:i])))
                for i, x in enumerate(order)
            )
            for order in permutations(columns)
        )
        for columns in subsets(range(m))
    }


def number_of_orders(parents):
    """In how many orders of a network's columns parents come before their children."""
    return sum(
        all(order.index(p) < order.index(x) for x in order for p in parents[x])
        for order in permutations(range(len(parents)))
    )


def all_dags(m):
    """All acyclic networks, each as a tuple with the parents of each column."""
    choices = [subsets(v for v in range(m) if v != x) for x in range(m)]
    return [parents for parents in product(*choices) if is_acyclic(parents)]


def is_acyclic(parents):
    """Whether columns can be taken away one after the other, each without parents then."""
    rest = set(range(len(parents)))
    while rest:
        roots = [x for x in rest if rest.isdisjoint(parents[x])]
        if not roots:
            return False
        rest.difference_update(roots)
    return True


def equivalence_class(parents):
    """What equivalent networks share: which columns are joined, and the colliders."""
    joined = {frozenset((p, x)) for x, ps in enumerate(parents) for p in ps}
    colliders = {
        (a, x, b)
        for x, ps in enumerate(parents)
        for a, b in combinations(sorted(ps), 2)
        if frozenset((a, b)) not in joined
    }
    return frozenset(joined), frozenset(colliders)


def ordered_partitions(items):
    """All ways to put items into layers that come one after the other, none of them empty."""
    items = tuple(items)
    if not items:
        return [()]
    return [
        (first, *rest)
        for first in subsets(items)[1:]
        for rest in ordered_partitions(v for v in items if v not in first)
    ]


def weight_of_partition(values, layers):
    """The sum over the networks of an ordered partition of the product over their columns.

    `values` has the weight of each column's parent set. A column has a parent in the layer before
    its own, if there is one, and its others in any layers before.
    """
    product_of_columns = 1.0
    for i, layer in enumerate(layers):
        before = sorted(v for earlier in layers[:i] for v in earlier)
        last = set(layers[i - 1]) if i else set()
        for x in layer:
            product_of_columns *= sum(
                values[x, parents]
                for parents in subsets(before)
                if not i or not last.isdisjoint(parents)
            )
    return product_of_columns


def families_of_order(order):
    """The regressions that a triangular factor of columns in this order solves."""
    return {(x, frozenset(order[:i])) for i in range(1, len(order)) for x in order[i:]}


def is_first_in_order(parents, others):
    """Whether a parent set precedes all others: fewer columns, then column by column."""
    return all((len(parents), tuple(parents)) <= (len(o), tuple(o)) for o in others)


def exact_log_rss(rows):
    """Log residual sums of squares of all families, by rational arithmetic.

    Of the very numbers in the table: dict of (mask of the parents, child) to float. The parents
    are eliminated one by one from the centred columns' products; what remains on the diagonal
    are the other columns' residual sums of squares.
    """
    columns = [[Fraction(float(value)) for value in column] for column in np.asarray(rows).T]
    # In whole numbers: of the units here, each value is a multiple.
    unit = [max(value.denominator for value in column) for column in columns]
    whole = [[int(value * u) for value in column] for column, u in zip(columns, unit, strict=True)]
    centred = [[len(rows) * value - sum(column) for value in column] for column in whole]
    unit = [len(rows) * u for u in unit]
    products = [
        [Fraction(sum(map(operator.mul, a, b)), u * v) for b, v in zip(centred, unit, strict=True)]
        for a, u in zip(centred, unit, strict=True)
    ]
    logs = {}

    def eliminate(products, mask, first):
        others = [x for x in range(len(columns)) if not mask >> x & 1]
        for x in others:
            rss = products[x][x]
            logs[mask, x] = math.log(rss.numerator) - math.log(rss.denominator)
        for parent in range(first, len(columns)):
            rest = [list(row) for row in products]
            for a in others:
                share = products[a][parent] / products[parent][parent]
                for b in others:
                    rest[a][b] -= share * products[parent][b]
            eliminate(rest, mask | 1 << parent, parent + 1)

    eliminate(products, 0, 0)
    return logs


def follow(order, swaps):
    """The column orders that a path visits, the first included."""
    order = list(order)
    visited = [tuple(order)]
    for i in swaps:
        order[i], order[i + 1] = order[i + 1], order[i]
        visited.append(tuple(order))
    return visited


# Effects


def total_effects(coef):
    """The sums over all directed paths of the products of their coefficients; NaN without one.

    `coef[i, j]` is the coefficient of the edge i -> j, and 0 stands for no edge.
    """
    m = len(coef)

    def paths(x, y):
        """The product of each path's coefficients."""
        if x == y:
            return [1.0]
        return [coef[x, z] * rest for z in range(m) if coef[x, z] for rest in paths(z, y)]

    effects = np.full((m, m), np.nan)
    for x in range(m):
        for y in range(m):
            if x != y and paths(x, y):
                effects[x, y] = sum(paths(x, y))
    return effects


# Pictures


def cost_of_layers(orders, n, edges, widths, widest, passing=0.0):
    """What layers of items cost: nodes are 0, ..., n - 1, and n + e is edge e where it passes.

    1000 for a crossing, 250 for a layer that an edge passes, 8 for half a place sideways, 3000 for
    each node but one in a layer that is too wide, and 100 for a point of that if edges take room.
    """
    total = 0
    layer_of = {item: k for k, order in enumerate(orders) for item in order if item < n}
    for k, order in enumerate(orders):
        nodes = [item for item in order if item < n]
        total += 250 * (len(order) - len(nodes))
        width = sum(widths[v] for v in nodes) + passing * (len(order) - len(nodes))
        if width > widest:
            total += 3000 * max(len(nodes) - 1, 0) + int(100 * (width - widest)) * (passing > 0)
        links = []
        for e, (a, b) in enumerate(edges):
            if layer_of[a] <= k < layer_of[b]:
                upper = a if layer_of[a] == k else n + e
                lower = b if layer_of[b] == k + 1 else n + e
                links.append((order.index(upper), orders[k + 1].index(lower)))
        for i, j in links:
            middle, other = len(order), len(orders[k + 1])
            total += 8 * abs(2 * i + 1 - middle - (2 * j + 1 - other))
        crossed = [(p, q) for p, q in combinations(links, 2) if (p[0] - q[0]) * (p[1] - q[1]) < 0]
        total += 1000 * len(crossed)
    return total


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
        slopes = np.zeros((len(hidden), len(seen)))
        if len(seen):
            slopes = covariance[np.ix_(hidden, seen)] @ np.linalg.inv(
                covariance[np.ix_(seen, seen)]
            )
        filled[i, hidden] = mean[hidden] + slopes @ (row[seen] - mean[seen])
        left = covariance[np.ix_(hidden, hidden)] - slopes @ covariance[np.ix_(seen, hidden)]
        hidden_scatter[np.ix_(hidden, hidden)] += weight[i] * left
    mean = np.average(filled, axis=0, weights=weight)
    scatter = (filled - mean).T @ ((filled - mean) * weight[:, np.newaxis]) + hidden_scatter
    scale = weight.sum()
    if prior is not None:
        scatter, scale = scatter + prior[0], scale + prior[1]
    return mean, covariance_of_network(scatter / scale, parents)


def covariance_of_network(covariance, parents):
    """The covariance of a network fitted to a covariance, by regressions."""
    m = len(parents)
    coef, noise = np.zeros((m, m)), np.empty(m)
    for x, of_child in enumerate(parents):
        p = list(of_child)
        coef[p, x] = np.linalg.solve(covariance[np.ix_(p, p)], covariance[p, x])
        noise[x] = covariance[x, x] - coef[p, x] @ covariance[p, x]
    whole = np.linalg.inv(np.eye(m) - coef)
    return whole.T @ np.diag(noise) @ whole


def lagged_rows(rows, n_lags, groups):
    """Each row with those before it of its group, latest first, and its number in the table."""
    found, numbers = [], []
    for i, row in enumerate(rows):
        before = [rows[j] for j in range(i) if groups[j] == groups[i]]
        if len(before) >= n_lags:
            found.append([*row, *(x for k in range(1, n_lags + 1) for x in before[-k])])
            numbers.append(i)
    return found, numbers


# Experiments


def experimental_score(rows, is_set, child, parents, criterion="bic", penalty=1.0):
    """The score of a family, by the rows in which its child was not set."""
    return local_score(rows[~is_set[:, child]], child, parents, criterion, penalty)


def all_experimental_scores(rows, is_set, criterion="bic", penalty=1.0):
    """The score of each family, as a dict."""
    return {
        (x, p): experimental_score(rows, is_set, x, p, criterion, penalty)
        for x, p in families(rows.shape[1])
    }


def interventional_class(parents, targets):
    """What equivalent networks share under interventions, each on a set of targets.

    Their skeleton and v-structures, and for each intervention those of the network without the
    edges into its targets (Hauser & Buhlmann 2012, theorem 10).
    """
    cut = (tuple(() if x in target else ps for x, ps in enumerate(parents)) for target in targets)
    return equivalence_class(parents), *map(equivalence_class, cut)


def essential_edges(members):
    """The edges that all members of a class share, and the pairs joined in both directions."""
    edges = [{(p, x) for x, ps in enumerate(parents) for p in ps} for parents in members]
    return set.intersection(*edges), {frozenset(e) for e in set.union(*edges)}

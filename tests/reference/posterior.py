"""The obvious, slow way to each posterior probability.

Sets of columns are masks. `log_weights` is a list with a dict for each column: parent set to log
weight. A family that is missing, or whose log weight is -inf, has weight 0.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import mpmath
import numpy as np

from reference.scores import all_bge_local_scores

DIGITS = 40


def members_of(mask):
    return [x for x in range(mask.bit_length()) if mask >> x & 1]


def sums_over(dags, local, odds=1.0):
    """The log evidence, the log probability of each network, and the probability of each edge.

    `dags`: networks as tuples of parents, whose prior is the odds to the power of the edges
    `local`: the local score of each (child, parents)
    """
    prior = np.log(odds) * np.array([sum(map(len, dag)) for dag in dags])
    logs = np.array([sum(local[x, p] for x, p in enumerate(dag)) for dag in dags]) + prior
    total, edges = np.logaddexp.reduce(logs), np.zeros((len(dags[0]),) * 2)
    for dag, share in zip(dags, np.exp(logs - total), strict=True):
        for x, parents in enumerate(dag):
            edges[list(parents), x] += share
    return total - np.logaddexp.reduce(prior), logs - total, edges


def subsets_of(mask):
    """All subsets of a mask, ascending."""
    return [subset for subset in range(mask + 1) if subset & ~mask == 0]


def others_of(x, m):
    """The mask of all columns but one."""
    return (1 << m) - 1 & ~(1 << x)


# Weights


def log_weights_of(scores, max_parents=None, required=None, allowed=None):
    """The local scores, one by one, of the families that satisfy the constraints."""
    columns = scores.columns
    m = len(columns)
    log_weights = [
        {
            parents: scores.local_score(columns[x], [columns[p] for p in members_of(parents)])
            for parents in subsets_of(others_of(x, m))
            if max_parents is None or parents.bit_count() <= max_parents
        }
        for x in range(m)
    ]
    return restricted(log_weights, required, allowed)


def bge_log_weights(rows, **settings):
    """BGe's scores less those of no parents; rows may count `repeats` times."""
    m = rows.shape[1]
    scores = all_bge_local_scores(rows, **settings)
    return [
        {P: scores[x, tuple(members_of(P))] - scores[x, ()] for P in subsets_of(others_of(x, m))}
        for x in range(m)
    ]


def restricted(log_weights, required=None, allowed=None):
    """The families with a weight whose parents include `required` and are among `allowed`.

    Both are masks, one for each column.
    """
    m = len(log_weights)
    required = [0] * m if required is None else required
    allowed = [others_of(x, m) for x in range(m)] if allowed is None else allowed
    return [
        {
            parents: weight
            for parents, weight in log_weights[x].items()
            if weight > -math.inf and required[x] & ~parents == 0 and parents & ~allowed[x] == 0
        }
        for x in range(m)
    ]


def with_edge_odds(log_weights, odds):
    """The log weights plus the log odds of the edges: a number, or a matrix [i, j] for i -> j."""
    m = len(log_weights)
    with np.errstate(divide="ignore"):
        log_odds = np.broadcast_to(np.log(odds), (m, m))
    return [
        {
            parents: math.fsum([weight, *(log_odds[p, x] for p in members_of(parents))])
            for parents, weight in families.items()
        }
        for x, families in enumerate(log_weights)
    ]


def all_ones(log_weights):
    """Weight 1 for each family that has a weight."""
    return [dict.fromkeys(families, 0.0) for families in restricted(log_weights)]


def random_log_weights(rng, m, spread=5.0, p_missing=0.0):
    """Normal log weights; some families have none, but those without parents always have one."""
    return [
        {
            parents: rng.normal(scale=spread)
            for parents in subsets_of(others_of(x, m))
            if not parents or rng.random() >= p_missing
        }
        for x in range(m)
    ]


# Enumeration of all networks


@dataclass
class Posterior:
    """Posterior probabilities, and the sums of weights that normalise them.

    `log_evidence` is the log of the sum of all networks' weights. `log_n` is the log of the same
    sum with weight 1 for each family that has a weight: `log_evidence - log_n` is the evidence
    under a normalised prior. `edges[i, j]` and `paths[i, j]` are the probabilities of an edge and
    of a directed path from i to j. `parent_sets[x]` maps each set without x to the probability
    that it is the set of x's parents. `networks` is `dag_table(m).parents`, all
    DAGs even where some have no weight, and `probabilities[k]` belongs to `networks[k]`.
    """

    log_evidence: float
    log_n: float
    edges: np.ndarray
    paths: np.ndarray
    parent_sets: list[dict[int, float]]
    networks: np.ndarray
    probabilities: np.ndarray


def posterior_by_enumeration(log_weights, prior, required=None, allowed=None, groups=None):
    """The posterior of at most 5 columns; with prior "order", each DAG counts once per order.

    Orders are those of all columns, or of each of some groups of them, given as masks.
    """
    log_weights = restricted(log_weights, required, allowed)
    m = len(log_weights)
    dags = dag_table(m)
    copies = np.ones(len(dags.parents))
    if prior == "order":
        for group in [(1 << m) - 1] if groups is None else groups:
            copies = copies * orders_within(dags.parents, group)

    table = np.full((m, 1 << m), -np.inf)
    for x, families in enumerate(log_weights):
        table[x, list(families)] = list(families.values())
    possible, best, weights = _weights_of_dags(m, table.tobytes())
    weights = weights * copies

    total = math.fsum(weights)
    probabilities = weights / total
    parent_sets = _shares_of_sets(dags.parents, probabilities)
    return Posterior(
        log_evidence=math.fsum([*best, math.log(total)]),
        log_n=math.log(math.fsum(copies[possible])),
        edges=edges_of(parent_sets),
        paths=np.tensordot(probabilities, dags.is_path, axes=1),
        parent_sets=parent_sets,
        networks=dags.parents,
        probabilities=probabilities,
    )


@functools.lru_cache(maxsize=16)
def _weights_of_dags(m, table):
    """Which DAGs have a weight, the terms of the best, and all weights as shares of that one's.

    The weights are kept for the other prior, with which tests often ask again.
    """
    terms = np.frombuffer(table).reshape(m, 1 << m)[np.arange(m), dag_table(m).parents]
    possible = np.isfinite(terms).all(axis=1)
    if not possible.any():
        raise ValueError("No network has a weight.")
    best = terms[terms.sum(axis=1).argmax()]
    # Large local scores cancel: only their exact sum keeps the digits of a small difference.
    weights = np.zeros(len(terms))
    weights[possible] = [math.exp(math.fsum([*row, *-best])) for row in terms[possible]]
    return possible, best, weights


def _shares_of_sets(sets, probabilities):
    """For each column, each set's probability if column x of network k has `sets[k, x]`."""
    m = sets.shape[1]
    shares = [np.bincount(sets[:, x], probabilities, minlength=1 << m) for x in range(m)]
    return [{s: float(shares[x][s]) for s in subsets_of(others_of(x, m))} for x in range(m)]


def edges_of(parent_sets):
    """The edges' probabilities: sums of those of the parent sets that contain the parent."""
    m = len(parent_sets)
    return np.array(
        [
            [float(sum(p for s, p in parent_sets[j].items() if s >> i & 1)) for j in range(m)]
            for i in range(m)
        ]
    )


@dataclass
class DagTable:
    """All DAGs of some columns, in ascending order of their rows of `parents`.

    `parents` has a mask for each column (shape (n_dags, m)), `is_path[k, i, j]` tells of a path
    from i to j.
    """

    parents: np.ndarray
    is_path: np.ndarray


@functools.cache
def dag_table(m):
    """All DAGs of m columns: the choices of parents whose columns can be put into an order."""
    choices = [subsets_of(others_of(x, m)) for x in range(m)]
    parents = np.stack(np.meshgrid(*choices, indexing="ij"), axis=-1).reshape(-1, m)
    placed = np.zeros(len(parents), dtype=np.int64)
    for _ in range(m):
        for x in range(m):
            placed |= (parents[:, x] & ~placed == 0).astype(np.int64) << x
    parents = parents[placed == (1 << m) - 1]

    is_path = np.stack([parents >> p & 1 for p in range(m)], axis=1).astype(bool)
    for via in range(m):
        is_path |= is_path[:, :, [via]] & is_path[:, [via], :]
    return DagTable(parents, is_path)


def orders_within(parents, group):
    """In how many orders of some columns parents come before their children, in each network."""
    n_orders = {0: np.ones(len(parents))}
    for columns in subsets_of(group)[1:]:
        # An order ends with a column whose parents in the group are all in the rest of the set.
        rests = [(x, columns & ~(1 << x)) for x in members_of(columns)]
        n_orders[columns] = sum(
            n_orders[rest] * (parents[:, x] & group & ~rest == 0) for x, rest in rests
        )
    return n_orders[group]


# Recurrences over sets of columns, to 40 digits


@dataclass
class Recurrence:
    """Sums over sets of columns; the first three are those of `Posterior`.

    `forward` and `backward` have a sum for each set: over the orders or networks of its columns,
    and over the ways to go on from it with all others. `gamma[x][P]` is what the weight of x's
    parents P is multiplied by in the probability of P. All are mpmath numbers, in lists by mask;
    entries of sets with x are 0 in `gamma[x]`.
    """

    log_evidence: float
    edges: np.ndarray
    paths: np.ndarray | None
    forward: list
    backward: list
    gamma: list


def order_recurrence(log_weights):
    """Order-modular posterior: each DAG counts once per topological order."""
    m = len(log_weights)
    full = (1 << m) - 1
    with mpmath.workdps(DIGITS):
        alpha = [sums_over_subsets(b, m) for b in weights_of(log_weights)]
        F = _weights_of_orders(alpha)
        R = [mpmath.mpf(0)] * full + [mpmath.mpf(1)]
        for W in reversed(range(full)):
            for x in members_of(full & ~W):
                R[W] += alpha[x][W] * R[W | 1 << x]
        q = [_without(x, m, lambda C, bit=1 << x: F[C] * R[C | bit] / F[full]) for x in range(m)]
        return _recurrence(log_weights, F, R, q)


def _weights_of_orders(alpha):
    """For each set, the sum over its orders, by the last column."""
    F = [mpmath.mpf(1)]
    for W in range(1, len(alpha[0])):
        rests = [(x, W & ~(1 << x)) for x in members_of(W)]
        F.append(mpmath.fsum(F[rest] * alpha[x][rest] for x, rest in rests))
    return F


def uniform_recurrence(log_weights):
    """Structure-modular posterior: each DAG counts once.

    Forward is Z[W], the weight of the networks on W; backward is M[U], that of the ways to give
    all columns outside U their parents, in U or outside, without a cycle.
    """
    m = len(log_weights)
    full = (1 << m) - 1
    with mpmath.workdps(DIGITS):
        alpha = [sums_over_subsets(b, m) for b in weights_of(log_weights)]
        Z = _weights_of_networks(alpha)
        M = [mpmath.mpf(0)] * full + [mpmath.mpf(1)]
        # M[U]'s terms with x in S add up to alpha[x][U] alone[x][U], the weight of the ways in
        # which x is the only column outside U that has all its parents in U.
        alone = [[mpmath.mpf(0)] * (1 << m) for _ in range(m)]
        for U in reversed(range(full)):
            product = _signed_products(alpha, U, full)
            M[U] = -mpmath.fsum(product[S] * M[U | S] for S in product if S)
            for x in members_of(full & ~U):
                more = [S for S in product if not S >> x & 1]
                alone[x][U] = mpmath.fsum(product[S] * M[U | 1 << x | S] for S in more)
        q = [_without(x, m, lambda C, x=x: alone[x][C] * Z[C] / Z[full]) for x in range(m)]
        non_descendants = [
            {C: float(alpha[x][C] * q[x][C]) for C in subsets_of(others_of(x, m))} for x in range(m)
        ]
        return _recurrence(log_weights, Z, M, q, non_descendants)


def _recurrence(log_weights, forward, backward, q, non_descendants=None):
    """`q[x][C]` is the share of what can stand before and after x, with C before it."""
    m = len(log_weights)
    beta = weights_of(log_weights)
    gamma = [_sums_over_supersets(each, m) for each in q]
    parent_sets = [
        {P: float(beta[x][P] * gamma[x][P]) for P in subsets_of(others_of(x, m))} for x in range(m)
    ]
    return Recurrence(
        log_evidence=float(mpmath.log(forward[-1])),
        edges=edges_of(parent_sets),
        paths=None if non_descendants is None else _paths_of(non_descendants),
        forward=forward,
        backward=backward,
        gamma=gamma,
    )


def _weights_of_networks(alpha):
    """For each set, the sum over its networks: sets S of sinks, by inclusion and exclusion."""
    Z = [mpmath.mpf(1)]
    for W in range(1, len(alpha[0])):
        Z.append(mpmath.mpf(0))
        for rest in subsets_of(W)[:-1]:
            sinks = members_of(W & ~rest)
            Z[W] -= (-1) ** len(sinks) * mpmath.fprod(alpha[x][rest] for x in sinks) * Z[rest]
    return Z


def _signed_products(alpha, U, full):
    """For each set S of columns outside U, the product over S of -alpha[x][U]."""
    product = {0: mpmath.mpf(1)}
    for S in subsets_of(full & ~U)[1:]:
        x = S.bit_length() - 1
        product[S] = -alpha[x][U] * product[S & ~(1 << x)]
    return product


def _paths_of(non_descendants):
    """The paths' probabilities: a path leads from x to all but its non-descendants and itself."""
    m = len(non_descendants)
    return np.array(
        [
            [
                float(sum(p for C, p in sets.items() if not C >> y & 1)) if y != x else 0.0
                for y in range(m)
            ]
            for x, sets in enumerate(non_descendants)
        ]
    )


def weights_of(log_weights):
    """The weights of all masks, as a list for each column."""
    return [
        [mpmath.exp(mpmath.mpf(families.get(P, -math.inf))) for P in range(1 << len(log_weights))]
        for families in log_weights
    ]


def sums_over_subsets(values, m):
    sums = list(values)
    for bit in (1 << x for x in range(m)):
        for s in range(1 << m):
            if s & bit:
                sums[s] += sums[s & ~bit]
    return sums


def _sums_over_supersets(values, m):
    """Supersets of a set are the subsets of its complement, whose mask counts from the end."""
    return sums_over_subsets(values[::-1], m)[::-1]


def _without(x, m, value):
    """A list by mask with value(C) for the sets without x, and 0 for the others."""
    return [mpmath.mpf(0) if C >> x & 1 else value(C) for C in range(1 << m)]


# Closed forms


def weight_of_dags(m, odds=1):
    """The sum over all DAGs of odds ** number of edges; exact if the odds are a whole number.

    Robinson's recurrence (1973), by the k columns without children, with inclusion and exclusion:
    each of the other columns is or is not a parent of each of these.
    """
    weights = [1]
    for n in range(1, m + 1):
        weights.append(
            sum(
                (-1) ** (k + 1) * math.comb(n, k) * (1 + odds) ** (k * (n - k)) * weights[n - k]
                for k in range(1, n + 1)
            )
        )
    return weights[m]


# Effects, in networks with parameters from their posterior


def effect_moments(parents, matrix, freedom):
    """The first two moments of all total effects in one network, as arrays [cause, outcome].

    `matrix` is the posterior's, of sums of squares and products; `freedom[l]` the degrees of
    freedom of the noise of a child with l parents. The coefficients of a child are a multivariate
    t distribution, independent of those of others: from the moments of the effects on a child's
    parents follow those of the effects on the child.
    """
    m = len(parents)
    order = sorted(range(m), key=lambda x: _n_ancestors(parents, x))
    mean, second = np.zeros((m, m)), np.zeros((m, m))
    for cause in range(m):
        effect, products = np.zeros(m), np.zeros((m, m))  # products: E[effect on i * effect on j]
        effect[cause] = products[cause, cause] = 1
        for y in order:
            p = members_of(parents[y])
            if y == cause or not p:
                continue
            inverse = np.linalg.inv(matrix[np.ix_(p, p)])
            b = inverse @ matrix[p, y]
            covariance = (matrix[y, y] - b @ matrix[p, y]) / (freedom[len(p)] - 2) * inverse
            effect[y] = b @ effect[p]
            products[y] = products[:, y] = b @ products[p]
            products[y, y] = ((np.outer(b, b) + covariance) * products[np.ix_(p, p)]).sum()
        mean[cause], second[cause] = effect, np.diag(products)
    np.fill_diagonal(mean, 0)
    np.fill_diagonal(second, 0)
    return mean, second


def _n_ancestors(parents, x):
    found = 0
    left = parents[x]
    while left & ~found:
        found |= left
        for p in members_of(found):
            left |= parents[p]
    return found.bit_count()


def effects_by_enumeration(networks, probabilities, matrix, freedom):
    """The mean and the standard deviation of each total effect, over networks and parameters."""
    moments = [effect_moments(each, matrix, freedom) for each in networks.tolist()]
    mean, second = (
        np.tensordot(probabilities, [each[i] for each in moments], axes=1) for i in (0, 1)
    )
    return mean, np.sqrt(np.maximum(second - mean**2, 0))

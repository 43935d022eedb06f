"""Kernels for a family whose parents are chosen one after the other: its cost and its discount."""

import math
from typing import NamedTuple

import numpy as np

from skbn._branch_and_cut.checker_kernels import EPSILON
from skbn._branch_and_cut.pricing_problem import ChildCosts, Discounts
from skbn._core.arrays import F1, F2, F3, I1, I2
from skbn._core.compile import inner_kernel, pasted_kernel, tuple_type


class SetsFound(NamedTuple):
    """Families that a search or a descent found."""

    parents: I2  # (n, width): positions of candidates, then -1
    reduced: F1  # (n,)
    cost: F1  # (n,)


class Chosen(NamedTuple):
    """The chosen nodes in order, and what follows from the first q of them, at index q."""

    nodes: I1  # (k,)
    n_columns: I1  # (k + 1,): how many columns they have
    columns: I1  # (n,): their columns
    rows: F2  # (n, n): rows of the Cholesky factor whose pivots are these columns
    # (n + 1, n): products of each column with the last one, and with itself, after regression on
    # the first columns
    covariances: F2
    variances: F2  # (n + 1, n)
    entries: I2  # (k + 1, n_cuts): the number of each cut's entry
    discount: F1  # (k + 1,)
    lost: F2  # (k + 1, k): by how much the discount is less with one more node
    members: I2  # (n_cuts, width): the candidates in each cut, then -1
    # the child's products, then the matrices of determinant cuts; the same rows, covariances and
    # variances by each of these
    matrices: F3  # (n_matrices + 1, n, n)
    all_rows: F3  # (n_matrices + 1, n, n)
    all_covariances: F3  # (n_matrices + 1, n + 1, n)
    all_variances: F3  # (n_matrices + 1, n + 1, n)
    v: F1  # (n,): memory for a column of an inverse


FOUND = tuple_type(SetsFound)
CHOSEN = tuple_type(Chosen)


def new_chosen(child: ChildCosts, discounts: Discounts) -> Chosen:
    """Return memory for chosen nodes."""
    k, n, n_cuts = len(child.starts) - 2, len(child.products), len(discounts.starts)
    matrices = np.concatenate([child.products[np.newaxis], discounts.matrices])
    rows, (covariances, variances) = np.zeros_like(matrices), np.zeros((2, len(matrices), n + 1, n))
    # Before any column is chosen.
    covariances[:, 0], variances[:, 0] = matrices[:, -1], np.diagonal(matrices, axis1=1, axis2=2)
    is_in = discounts.bits > 0
    members = np.full((n_cuts, int(is_in.sum(axis=1).max(initial=0))), -1, dtype=np.int64)
    cuts, nodes = np.nonzero(is_in)
    members[cuts, (np.cumsum(is_in, axis=1) - 1)[cuts, nodes]] = nodes
    return Chosen(
        np.zeros(k, dtype=np.int64),
        np.zeros(k + 1, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        rows[0],
        covariances[0],
        variances[0],
        np.zeros((k + 1, n_cuts), dtype=np.int64),
        np.zeros(k + 1),
        np.zeros((k + 1, k)),
        members,
        matrices,
        rows,
        covariances,
        variances,
        np.zeros(n),
    )


def room_for(n: int, width: int) -> SetsFound:
    """Return memory for families."""
    return SetsFound(np.empty((n, width), dtype=np.int64), np.empty(n), np.empty(n))


def with_more_room(found: SetsFound) -> SetsFound:
    """Return families with room for as many again."""
    n, width = found.parents.shape
    larger = room_for(2 * n, width)
    for new, old in zip(larger, found, strict=True):
        new[:n] = old
    return larger


@pasted_kernel
def begin(child, discounts, chosen):
    """Choose the required nodes only."""
    for a in range(child.n_required):
        choose(child, discounts, chosen, a, a)
    fill_discount(child, discounts, chosen, child.n_required)


@inner_kernel
def choose(child, discounts, chosen, q, a):
    """Choose a node after the first q; no discount is filled."""
    n = chosen.n_columns[q]
    for column in range(child.starts[a], child.starts[a + 1]):
        chosen.columns[n] = column
        for i in range(chosen.matrices.shape[0]):
            regress_on(chosen, i, n, column)
        n += 1
    chosen.nodes[q] = a
    chosen.n_columns[q + 1] = n
    for i in range(discounts.starts.size):
        chosen.entries[q + 1, i] = chosen.entries[q, i] | discounts.bits[i, a]


@inner_kernel
def regress_on(chosen, i, q, a):
    """Regress by a matrix on a column, after the first q columns."""
    covariances, variances = chosen.all_covariances[i], chosen.all_variances[i]
    products, rows = chosen.matrices[i], chosen.all_rows[i]
    k = products.shape[0] - 1
    root = math.sqrt(max(variances[q, a], 1e-300))
    row = rows[q]
    for b in range(k + 1):
        row[b] = products[a, b]
    for h in range(q):
        factor = rows[h, a]
        if factor != 0:
            for b in range(k + 1):
                row[b] -= rows[h, b] * factor
    of_child = row[k] / root
    for b in range(k + 1):
        row[b] /= root
        covariances[q + 1, b] = covariances[q, b] - row[b] * of_child
        variances[q + 1, b] = max(variances[q, b] - row[b] * row[b], 1e-300)


@inner_kernel
def fill_discount(child, discounts, chosen, q):
    """Fill the discount of the first q chosen nodes, and what one more loses of it.

    The discount is rounded up, by more than rounding may add to the losses.
    """
    total = discount_of(discounts, chosen.members, chosen.entries[q], chosen.lost[q])
    total += _discount_of_matrices(child, discounts, chosen, q)
    n_terms = discounts.starts.size + discounts.weights.size
    chosen.discount[q] = (1 + 4 * (n_terms + 4) * EPSILON) * total


@pasted_kernel
def _discount_of_matrices(child, discounts, chosen, q):
    """Return the discount by determinant cuts; add what one more node loses of it."""
    n, last = chosen.n_columns[q], child.products.shape[0] - 1
    size = n + 2 + last - child.starts[child.starts.size - 2]  # with the child and one more column
    total = discounts.constant + size * (size + 2) * discounts.rounding
    for i in range(1, chosen.matrices.shape[0]):
        weight = discounts.weights[i - 1]
        covariances, variances = chosen.all_covariances[i], chosen.all_variances[i]
        add_losses(child.starts, weight, covariances[n], variances[n], chosen.lost[q])
        at = n
        for column in range(child.starts[child.starts.size - 2], last):
            total += weight * math.log(max(variances[at, column], 1e-300))
            regress_on(chosen, i, at, column)
            at += 1
        total += weight * math.log(max(covariances[at, last], 1e-300))
    return total


@pasted_kernel
def add_losses(starts, weight, covariances, variances, lost):
    """Add what one more node loses of the discount by a determinant cut, at least.

    Of several columns, that is what one of them explains of the child's last one.
    """
    own = covariances[covariances.size - 1]
    for a in range(lost.size):
        most = 0.0
        for c in range(starts[a], starts[a + 1]):
            most = max(most, covariances[c] * covariances[c] / variances[c])
        if most > 0:
            lost[a] += weight * math.log(own / max(own - most, 1e-300))


@pasted_kernel
def discount_of(discounts, members, entries, lost):
    """Return the discount by the entries of the cuts; fill what one more node loses of it."""
    for a in range(lost.size):
        lost[a] = 0.0
    total = 0.0
    for i in range(discounts.starts.size):
        entry = entries[i]
        table = discounts.tables[discounts.starts[i] :]
        own = table[entry]
        if own > 0:
            multiplier = discounts.multipliers[i]
            total += multiplier * own
            for a in members[i]:
                if a < 0:
                    break
                with_it = entry | discounts.bits[i, a]
                if with_it != entry:
                    lost[a] += multiplier * (own - table[with_it])
    return total

"""Kernels that lower the reduced cost of families of single columns step by step."""

import math
from typing import NamedTuple

import numpy as np
from numba import int64

from skbn._branch_and_cut.chosen_kernels import (
    CHOSEN,
    FOUND,
    add_losses,
    choose,
    discount_of,
    fill_discount,
)
from skbn._branch_and_cut.pricing_problem import CHILD_COSTS, DISCOUNTS
from skbn._core.arrays import B1, F1, F3, I1, I2
from skbn._core.compile import inner_kernel, kernel, pasted_kernel, tuple_type

# A step must gain as many nats.
_LEAST_GAIN = 1e-9


class DescentMemory(NamedTuple):
    """Memory of a descent, for the family that it is at."""

    family: I1  # (width,), or (1,): the parents, in no order
    is_in: B1  # (k,): which candidates are its parents
    # (n_matrices + 1, width, width): the inverses of the parents' Cholesky factors, by the child's
    # products and by the matrices of determinant cuts
    inverses: F3
    # (n_matrices + 1, width, k + 1): those of all columns' regressions on the parents
    coefficients: F3
    # (3, n_cuts): the numbers of the cuts' entries, the bits that two parents or more have, and the
    # numbers without one parent
    entries: I2
    lost: F1  # (k,): what one more column loses of the discount without that parent
    covariances: F1  # (k + 1,): as in `Chosen`, without that parent
    variances: F1  # (k + 1,)


_MEMORY = tuple_type(DescentMemory)


def new_memory(n: int, n_cuts: int, n_matrices: int, width: int) -> DescentMemory:
    """Return memory for families of up to `width` of n columns without the child."""
    return DescentMemory(
        np.empty(max(width, 1), dtype=np.int64),
        np.empty(n - 1, dtype=np.bool_),
        np.empty((n_matrices + 1, width, width)),
        np.empty((n_matrices + 1, width, n)),
        np.empty((3, n_cuts), dtype=np.int64),
        np.empty(n - 1),
        np.empty(n),
        np.empty(n),
    )


@kernel(CHILD_COSTS, DISCOUNTS, CHOSEN, int64[:, ::1], int64[::1], FOUND, _MEMORY, seconds=2.8)
def descend(child, discounts, chosen, starts, sizes, found, work):
    """Lower the reduced costs of families by adding, leaving out and exchanging a parent.

    A parent is exchanged where no addition and no omission gains: an exchange takes longer to find.

    Parameters
    ----------
    child : ChildCosts
    discounts : Discounts
    chosen : Chosen
    starts : ndarray of shape (n, width), int64
        The candidates of each family to begin with, the required ones first.
    sizes : ndarray of shape (n,), int64
    found : SetsFound
        Filled with the families on the way, as long as there is room.
    work : DescentMemory

    Returns
    -------
    n_found : int
    """
    n_found = np.int64(0)
    width, family = found.parents.shape[1], work.family
    for start in range(sizes.size):
        size = sizes[start]
        for t in range(size):
            family[t] = starts[start, t]
        while n_found < found.cost.size:
            _choose_all(child, discounts, chosen, family, size)
            rss = max(chosen.covariances[size, child.products.shape[0] - 1], 1e-300)
            cost = child.weight * math.log(rss) + (child.costs[size] + child.costs_of_columns[size])
            reduced = cost - chosen.discount[size]
            for t in range(width):
                found.parents[n_found, t] = family[t] if t < size else -1
            found.reduced[n_found], found.cost[n_found] = reduced, cost
            n_found += 1
            limit = reduced - _LEAST_GAIN
            _fill_memory(discounts, chosen, family, size, work)
            added, left_out = _best_step(
                child, discounts, chosen, family, size, size < width, work, limit
            )
            if added < 0 and left_out < 0:
                added, left_out = _best_exchange(
                    child, discounts, chosen, family, size, work, limit
                )
            if added < 0 and left_out < 0:
                break
            if left_out >= 0:
                size -= 1
                for i in range(left_out, size):
                    family[i] = family[i + 1]
            if added >= 0:
                family[size] = added
                size += 1
    return n_found


@pasted_kernel
def _choose_all(child, discounts, chosen, family, q):
    """Choose the first q columns of a family."""
    for t in range(q):
        choose(child, discounts, chosen, t, family[t])
    fill_discount(child, discounts, chosen, q)


@pasted_kernel
def _fill_memory(discounts, chosen, family, q, work):
    """Fill what the first q columns of a family, its parents, lead to."""
    for a in range(work.is_in.size):
        work.is_in[a] = False
    for t in range(q):
        work.is_in[family[t]] = True
    for c in range(chosen.matrices.shape[0]):
        _fill_inverse(chosen.all_rows[c], chosen.columns, q, work.inverses[c], work.coefficients[c])
    _fill_entries(discounts, family, q, work.entries)


@pasted_kernel
def _best_step(child, discounts, chosen, family, q, may_grow, work, limit):
    """Return the column to add, or the place of the one to leave out; -1 for none.

    Both are -1 if no reduced cost is below the limit.
    """
    added, left_out = -1, -1
    least = limit
    if may_grow:
        best, cost = _best_added(
            child, work.is_in, chosen.covariances[q], chosen.variances[q], chosen.lost[q], q
        )
        if cost - chosen.discount[q] < least:
            added, least = best, cost - chosen.discount[q]
    for i in range(child.n_required, q):
        reduced = child.costs[q - 1]
        for c in range(chosen.matrices.shape[0]):
            inverse, coefficients = work.inverses[c], work.coefficients[c]
            rss = _rss_without(inverse, coefficients, chosen.all_covariances[c, q], q, i)
            if c == 0:
                reduced += child.weight * math.log(rss)
                reduced -= _discount_without(discounts, family[i], work.entries)
            else:
                reduced -= discounts.weights[c - 1] * math.log(rss)
        reduced -= discounts.constant
        if reduced < least:
            added, left_out, least = -1, i, reduced
    return added, left_out


@inner_kernel
def _best_added(child, is_in, covariances, variances, lost, q):
    """Return the column whose addition to q parents makes the least reduced cost, or -1.

    The cost comes without the discount of the q parents.
    """
    k = is_in.size
    best, least = -1, np.inf
    of_child = covariances[k]
    for a in range(k):
        if not is_in[a]:
            left = of_child - covariances[a] * covariances[a] / variances[a]
            cost = child.weight * math.log(max(left, 1e-300)) + child.costs[q + 1] + lost[a]
            if cost < least:
                best, least = a, cost
    return best, least


@pasted_kernel
def _fill_inverse(rows, columns, q, inverse, coefficients):
    """Fill the inverse of the factor of q columns, and all columns' coefficients on them."""
    for i in range(q - 1, -1, -1):
        pivot = rows[i, columns[i]]
        for j in range(i, q):
            total = 1.0 if i == j else 0.0
            for h in range(i + 1, j + 1):
                total -= rows[i, columns[h]] * inverse[h, j]
            inverse[i, j] = total / pivot
    for i in range(q):
        for b in range(coefficients.shape[1]):
            coefficients[i, b] = 0.0
        for j in range(i, q):
            factor = inverse[i, j]
            for b in range(coefficients.shape[1]):
                coefficients[i, b] += factor * rows[j, b]


@pasted_kernel
def _diagonal(inverse, q, i):
    """Return an entry of the diagonal of the inverse of the products of q columns."""
    total = 0.0
    for j in range(i, q):
        total += inverse[i, j] * inverse[i, j]
    return total


@pasted_kernel
def _rss_without(inverse, coefficients, covariances, q, i):
    """Return what q parents leave of the child without the i-th."""
    k = covariances.size - 1
    own = coefficients[i, k]
    return max(covariances[k] + own * own / _diagonal(inverse, q, i), 1e-300)


@pasted_kernel
def _fill_entries(discounts, family, q, entries):
    """Fill the numbers of the cuts' entries, and the bits that two parents or more have."""
    for i in range(discounts.starts.size):
        entry, twice = 0, 0
        for t in range(q):
            twice |= entry & discounts.bits[i, family[t]]
            entry |= discounts.bits[i, family[t]]
        entries[0, i], entries[1, i] = entry, twice


@pasted_kernel
def _entry_without(discounts, i, a, entries):
    """Return the number of a cut's entry without a parent."""
    return entries[0, i] & ~(discounts.bits[i, a] & ~entries[1, i])


@pasted_kernel
def _discount_without(discounts, a, entries):
    """Return the discount of a family without a parent."""
    total = 0.0
    for i in range(discounts.starts.size):
        entry = _entry_without(discounts, i, a, entries)
        total += discounts.multipliers[i] * discounts.tables[discounts.starts[i] + entry]
    return total


@inner_kernel
def _best_exchange(child, discounts, chosen, family, q, work, limit):
    """Return the best column to add, and the place of the one that it replaces.

    Both are -1 if no reduced cost is below the limit.
    """
    k = work.is_in.size
    added, left_out = -1, -1
    covariances, variances, without = work.covariances, work.variances, work.entries[2]
    for i in range(child.n_required, q):
        for c in range(without.size):
            without[c] = _entry_without(discounts, c, family[i], work.entries)
        discount = discounts.constant
        discount += discount_of(discounts, chosen.members, without, work.lost)
        n_matrices = chosen.matrices.shape[0]
        for t in range(1, n_matrices + 1):  # last by the child's products
            c = t if t < n_matrices else 0
            own, given = work.coefficients[c, i], chosen.all_covariances[c, q]
            scale = 1.0 / _diagonal(work.inverses[c], q, i)
            _fill_without(own, scale, given, chosen.all_variances[c, q], covariances, variances)
            if c > 0:
                weight = discounts.weights[c - 1]
                add_losses(child.starts, weight, covariances, variances, work.lost)
                discount += weight * math.log(max(covariances[k], 1e-300))
        best, cost = _best_added(child, work.is_in, covariances, variances, work.lost, q - 1)
        if cost - discount < limit:
            added, left_out, limit = best, i, cost - discount
    return added, left_out


@pasted_kernel
def _fill_without(own, scale, given, of_all, covariances, variances):
    """Fill products with the child, and of each column with itself, without a parent."""
    k = own.size - 1
    for b in range(k + 1):
        factor = own[b] * scale
        covariances[b] = given[b] + factor * own[k]
        variances[b] = of_all[b] + factor * own[b]


DESCENT_KERNELS = (descend,)

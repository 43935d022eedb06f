"""Sums over all networks, each counted once (Tian and He 2009).

With alpha_x[C], the weight of a column x with any parents among the candidates C, and V all
columns (see `order_sums`),

- ``M[U] = sum over {} ≠ S ⊆ V - U of s(S) (product over x in S of alpha_x[U]) M[U + S]``, with
  ``M[V] = 1`` and the sign ``s(S) = -(-1)**|S|``, is the weight of all ways to add the other
  columns to a network on U. In the term of S, all columns of S have their parents in U. In each of
  these ways some columns have, and by inclusion and exclusion, it counts once.
- ``Z[W] = sum over {} ≠ S ⊆ W of s(S) (product over x in S of alpha_x[W - S]) Z[W - S]``, with
  ``Z[{}] = 1``, is the weight of all networks on W. In the term of S, all columns of S are sinks.

``Z[V] = M[{}]`` is the weight of all networks. Let M_x[C] be the sum of the terms of M[C] in which
x is in S. The probability that C are exactly the other columns that are no descendants of x is
``h_x[C] = Z[C] M_x[C] / Z[V]``. Summed over the sets without j, this is the probability of a
directed path from x to j. With ``q_x = h_x / alpha_x`` and ``gamma_x[P] = sum over C ⊇ P of
q_x[C]``, the parents of x are P with probability ``beta_x(P) gamma_x[P]``.

Both recurrences have 3**m terms. Their signs cost few digits: the terms of M[U] without their
signs, over M[U], sum to less than the mean of 2**n over the ways to add the other columns, if n of
these have all their parents in U.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skbn._core.arrays import Floats, Integers
from skbn._core.compile import kernels_of
from skbn._core.resources import allocate
from skbn._core.subsets import submasks_by_size
from skbn._exact.recurrences import fill_array
from skbn._posterior import network_sum_kernels
from skbn._posterior.family_weights import sum_zeta
from skbn._posterior.order_sums import Alpha
from skbn._posterior.plan import NUMBERS_HANDED_OVER

NETWORK_KERNELS = (*kernels_of("skbn._posterior.network_sum_kernels"), sum_zeta)

# Inner columns of a task at most: more rows would not fit in the caches, and tasks would be too few
# and too long to share among threads.
_MOST_INNER_COLUMNS = 9
# Task size in terms, 0.2 s: Ctrl-C is handled between tasks.
_TASK = 1 << 28


@dataclass(frozen=True)
class NetworkSums:
    """Sums over all networks of m columns."""

    # (2**m,): extended floats: M, for each set of columns the weight of all ways to add the others;
    # empty for a single column
    drawn_from: Integers
    total: int  # the weight of all networks that `gamma` refers to, an extended float
    # the logarithm of the weight of all networks, from M and from Z; equal up to rounding
    log_total: float
    log_total_forward: float
    # (m, m): at [i, j], the probability of a directed path from i to j; None if that is unknown
    paths: Floats | None
    gammas: Integers  # (m, 2**(m - 1))

    def gamma(self, child: int) -> Integers:
        """Return gamma of a child, at ``[~P]``, as `FamilyWeights.edge_sums` takes it."""
        return self.gammas[child]


def network_work(m: int) -> int:
    """Return about how long the sums take, in units of a local score of the search."""
    return 3**m


def network_sums(alpha: Alpha, F: Integers, R: Integers) -> NetworkSums:
    """Sum the weights of all networks of m columns, at least two.

    `alpha`: with the tables of all columns. Its progress is advanced by ``network_work(m)`` in all.
    `F`, `R`: (2**m,), the sums over orders. The weight of all networks must be in the range of
        their format.
    """
    tables, wide = alpha.tables, alpha.wide
    m = len(tables.starts) - 1
    n_inner = _inner_columns(m)
    shares = allocate(m << (m - 1)).reshape(m, -1)
    M = _backward(alpha, R, shares, n_inner)
    Z = _forward(alpha, F, n_inner)
    total = int(M[0])
    paths = np.zeros((m, m))
    gammas = shares.view(np.int64)

    def finish(child: int) -> None:
        sums = np.empty(m)
        network_sum_kernels.non_descendants(shares[child], Z, F, R, child, total, wide, sums)
        paths[child] = np.insert(sums[:-1], child, 0.0)
        table = tables.entries[tables.starts[child] : tables.starts[child + 1]]
        network_sum_kernels.quotients(shares[child], table, gammas[child], wide)
        sum_zeta(gammas[child], 0, m - 1, wide)

    list(alpha.threads.map(finish, [(x,) for x in range(m)]))
    of_orders, _ = wide.split(int(F[-1]))
    forward = wide.log(of_orders << wide.bits) + float(np.log(Z[-1]))
    return NetworkSums(M, wide.one, wide.log(total), forward, paths, gammas)


def _inner_columns(m: int) -> int:
    """Return how many columns differ within a task.

    With few of them rows are long, and with many there are many rows for each set, over which the
    preparation is shared.
    """
    return max(1, min(m // 2, _MOST_INNER_COLUMNS))


def _backward(alpha: Alpha, R: Integers, shares: Floats, n_inner: int) -> Integers:
    """Return M, and set `shares`."""
    m = len(shares)
    M = allocate(1 << m).view(np.int64)
    fill_array(shares.ravel(), 0.0, alpha.threads)

    def run(tasks: Integers) -> None:
        memory = network_sum_kernels.new_memory(n_inner, _n_free(m, n_inner, tasks))
        network_sum_kernels.backward_networks(
            alpha.tables, R, M, shares, n_inner, tasks, memory, alpha.wide
        )

    for level, work in reversed(list(_levels(m, n_inner))):
        parts = alpha.threads.split(level, work // _TASK)
        for _ in alpha.threads.map(run, [(part,) for part in parts]):
            alpha.progress.advance(work / 2 / len(parts))
    return M


def _forward(alpha: Alpha, F: Integers, n_inner: int) -> Floats:
    """Return Z, in units of the powers of two in F.

    Tasks do not write to the same sets: this thread adds what they push, in the same order with
    any number of threads.
    """
    m = len(alpha.tables.starts) - 1
    Z = allocate(1 << m)
    fill_array(Z, 0.0, alpha.threads)

    def run(tasks: Integers) -> tuple[Integers, Floats]:
        n_free = _n_free(m, n_inner, tasks)
        pushed = np.zeros((len(tasks), network_sum_kernels.n_pushed(n_inner, n_free)))
        memory = network_sum_kernels.new_memory(n_inner, n_free)
        network_sum_kernels.forward_networks(
            alpha.tables, F, Z, n_inner, tasks, pushed, memory, alpha.wide
        )
        return tasks, pushed

    for level, work in _levels(m, n_inner):
        n_numbers = len(level) * network_sum_kernels.n_pushed(n_inner, _n_free(m, n_inner, level))
        parts = alpha.threads.split(level, max(work // _TASK, n_numbers // NUMBERS_HANDED_OVER))
        for tasks, pushed in alpha.threads.map(run, [(part,) for part in parts]):
            network_sum_kernels.add_pushed(pushed, Z, n_inner, tasks)
            alpha.progress.advance(work / 2 / len(parts))
    return Z


def _n_free(m: int, n_inner: int, tasks: Integers) -> int:
    """Return how many outer columns are missing in each of some tasks of one size."""
    return m - n_inner - int(tasks[0]).bit_count()


def _levels(m: int, n_inner: int) -> Iterator[tuple[Integers, int]]:
    """Yield the sets of outer columns by their size, and how many terms each size has."""
    n_outer = m - n_inner
    for size, level in enumerate(submasks_by_size(n_outer)):
        yield level, len(level) * 3**n_inner << (n_outer - size)

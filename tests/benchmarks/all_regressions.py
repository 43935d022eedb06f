"""Count the flops and time the four algorithms in the paper's Table 1.

    python tests/benchmarks/all_regressions.py [most columns]

Each algorithm computes the residual sum of squares of every family, a child and a set of parents,
of the same columns. All algorithms are compiled alike, run in one thread, and share only the work
that their authors describe. Flops are counted in the code that does them; those that turn a factor
into residual sums of squares are counted separately from those of the factorisations. Storage is a
count of numbers, not including the results.
"""

from __future__ import annotations

import math
import sys
import time

import numba
import numpy as np

from skbn._core.subsets import insert_zero_bit, remove_bit
from skbn.paper import greedy_swaps

kernel = numba.njit(nogil=True, error_model="numpy", cache=True)


@kernel
def rotate(factor, i, n):
    """Make entry (i + 1, i) zero by a rotation of rows i and i + 1; return the flops."""
    length = math.hypot(factor[i, i], factor[i + 1, i])
    cos = factor[i, i] / length
    sin = factor[i + 1, i] / length
    for column in range(i, n):
        upper = factor[i, column]
        lower = factor[i + 1, column]
        factor[i, column] = cos * upper + sin * lower
        factor[i + 1, column] = cos * lower - sin * upper
    return 6 * (n - i)


@kernel
def swap(factor, order, i, n):
    for row in range(i + 2):
        factor[row, i], factor[row, i + 1] = factor[row, i + 1], factor[row, i]
    order[i], order[i + 1] = order[i + 1], order[i]
    return rotate(factor, i, n)


@kernel
def greedy_column_swapping(factor, swaps, rss):
    """Alipourfard & Gao: one path past all sets; each set is a prefix that serves all children.

    ``tails[p, x]`` is the residual sum of squares of column x on the first p columns; a
    swap at i changes only row i + 1 of ``tails``.
    """
    m = len(factor)
    factor = factor.copy()
    order = np.arange(m)
    tails = np.zeros((m + 1, m))
    flops = 0
    flops_of_tails = 0
    for row in range(m - 1, -1, -1):
        for column in range(m):
            tails[row, column] = tails[row + 1, column] + factor[row, column] ** 2
        flops_of_tails += 2 * m
    for p in range(m):
        record_prefix(order, tails, p, rss)
    for i in swaps:
        flops += swap(factor, order, i, m)
        tails[i + 2, order[i + 1]] = 0.0  # this column has no entries below its diagonal
        for position in range(i + 1, m):
            column = order[position]
            tails[i + 1, column] = tails[i + 2, column] + factor[i + 1, position] ** 2
        flops_of_tails += 2 * (m - i - 1)
        record_prefix(order, tails, i + 1, rss)
    return flops, flops_of_tails, factor.size + tails.size


@kernel
def record_prefix(order, tails, p, rss):
    prefix = 0
    for position in range(p):
        prefix |= 1 << order[position]
    for position in range(p, len(order)):
        child = order[position]
        rss[child, remove_bit(prefix, child)] = tails[p, child]


@kernel
def clarke(factors, swaps, rss):
    """Clarke (AS 163): for each child a path past all sets of the others, with the child last."""
    m = len(factors)
    tail = np.zeros(m + 1)
    flops = 0
    flops_of_tails = 0
    for child in range(m):
        factor = factors[child].copy()
        order = np.arange(m)
        for row in range(m - 1, -1, -1):
            tail[row] = tail[row + 1] + factor[row, m - 1] ** 2
            rss[child, (1 << row) - 1] = tail[row]
        flops_of_tails += 2 * m
        for i in swaps:
            flops += swap(factor, order, i, m)
            tail[i + 1] = tail[i + 2] + factor[i + 1, m - 1] ** 2
            flops_of_tails += 2
            prefix = 0
            for position in range(i + 1):
                prefix |= 1 << order[position]
            rss[child, prefix] = tail[i + 1]
    return flops, flops_of_tails, m * m + m + 1


@kernel
def dropping_columns(factors, rss):
    """Gatu & Kontoghiorghes (DCA): for each child a tree of factors, each less one column.

    A node is a factor of n columns and the child, with a number k. It yields the models of
    its first k + 1, ..., n columns. Its child nodes are (the factor without column j, j) for
    j = k, ..., n - 2. The tree is walked depth first, with one factor for each level.
    """
    m = len(factors)
    levels = np.empty((m, m, m))
    columns = np.empty((m, m), dtype=np.int64)
    sizes = np.empty(m, dtype=np.int64)
    next_drop = np.empty(m, dtype=np.int64)
    flops = 0
    flops_of_tails = 0
    for child in range(m):
        levels[0] = factors[child]
        columns[0] = np.arange(m)
        sizes[0] = m - 1
        next_drop[0] = 0
        rss[child, 0] = (factors[child, :, m - 1] ** 2).sum()
        flops_of_tails += 2 * m + record_node(levels[0], columns[0], m - 1, 0, rss[child])
        depth = 0
        while depth >= 0:
            n = sizes[depth]
            j = next_drop[depth]
            if j > n - 2:
                depth -= 1
                continue
            next_drop[depth] += 1
            flops += drop_column(levels[depth], levels[depth + 1], n, j)
            for position in range(n - 1):
                columns[depth + 1, position] = columns[depth, position + (position >= j)]
            depth += 1
            sizes[depth] = n - 1
            next_drop[depth] = j
            node = levels[depth]
            flops_of_tails += record_node(node, columns[depth], n - 1, j, rss[child])
    storage = 0
    for n in range(1, m):  # the triangle of each level
        storage += (n + 1) * (n + 2) // 2
    return flops, flops_of_tails, storage


@kernel
def drop_column(source, target, n, j):
    """Retriangularise n columns and the child without column j; return the flops."""
    for row in range(n + 1):
        for column in range(n):
            target[row, column] = source[row, column + (column >= j)]
    flops = 0
    for i in range(j, n):
        flops += rotate(target, i, n)
    return flops


@kernel
def record_node(factor, columns, n, k, rss):
    """Record the models of the first k + 1, ..., n columns; return the flops."""
    prefix = 0
    for position in range(n):
        prefix |= 1 << columns[position]
    tail = 0.0
    for p in range(n, k, -1):
        tail += factor[p, n] ** 2
        rss[prefix] = tail
        prefix ^= 1 << columns[p - 1]
    return 2 * (n - k)


@kernel
def brute_force(covariance, rss):
    """Take the Cholesky factor of each family's covariance, with the child last."""
    m = len(covariance)
    factor = np.empty((m, m))
    members = np.empty(m, dtype=np.int64)
    flops = 0
    for child in range(m):
        for number in range(1 << (m - 1)):
            parents = insert_zero_bit(number, child)
            k = 0
            for column in range(m):
                if parents >> column & 1:
                    members[k] = column
                    k += 1
            members[k] = child
            flops += cholesky(covariance, members, k + 1, factor)
            rss[child, number] = factor[k, k] ** 2
    return flops, m << (m - 1), covariance.size + factor.size


@kernel
def cholesky(covariance, members, n, factor):
    flops = 0
    for i in range(n):
        for j in range(i + 1):
            value = covariance[members[i], members[j]]
            for k in range(j):
                value -= factor[i, k] * factor[j, k]
            factor[i, j] = math.sqrt(value) if i == j else value / factor[j, j]
            flops += 2 * j + 1
    return flops


PRINTED = {
    "greedy swaps": lambda m: 3 * m * 2**m,
    "DCA": lambda m: 9 * m * 2**m,
    "Clarke": lambda m: 1.5 * m**2 * 2**m,
    "brute force": lambda m: 0.5 * m**3 * 2**m,
}


def run(m: int) -> dict[str, tuple[float, int, int, int]]:
    """Return seconds, the two counts of flops and the storage of each algorithm."""
    rows = np.random.default_rng(m).normal(size=(200, m)) @ (np.eye(m) + np.tri(m, k=-1) / 3)
    rows -= rows.mean(axis=0)
    factor = np.linalg.qr(rows, mode="r")
    child_last = [[*(x for x in range(m) if x != child), child] for child in range(m)]
    factors = np.stack([np.linalg.qr(factor[:, order], mode="r") for order in child_last])
    calls = {
        "greedy swaps": (greedy_column_swapping, factor, greedy_swaps(m)),
        "DCA": (dropping_columns, factors),
        "Clarke": (clarke, factors, greedy_swaps(m - 1)),
        "brute force": (brute_force, rows.T @ rows),
    }
    results = {}
    reference = None
    for name, (function, *arguments) in calls.items():
        rss = np.full((m, 1 << (m - 1)), np.nan)
        times = []
        for _ in range(5):
            start = time.perf_counter()
            counts = function(*arguments, rss)
            times.append(time.perf_counter() - start)
        if reference is None:
            reference = rss
        np.testing.assert_allclose(rss, reference, rtol=1e-9, err_msg=name)
        results[name] = (float(np.median(times)), *counts)
    return results


def main(most_columns: int = 16) -> None:
    run(4)  # compiled
    print("| m | algorithm | flops | of the printed | flops for RSS | storage | ms | of greedy |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for m in range(4, most_columns + 1):
        results = run(m)
        for name, (seconds, flops, flops_of_rss, storage) in results.items():
            ratio = seconds / results["greedy swaps"][0]
            print(
                f"| {m} | {name} | {flops:,} | {flops / PRINTED[name](m):.2f} | "
                f"{flops_of_rss:,} | {storage:,} | {1000 * seconds:.3f} | {ratio:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

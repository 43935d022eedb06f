"""The sink recursion with sums and products: it goes through all orders of the columns."""

import math

import numpy as np
import pytest
import reference
from sum_kernels import sum_blocks, sum_with_sink, sum_zeta

from skbn._core.subsets import mask_of, submasks_by_size
from skbn._exact.plan import SearchPlan
from skbn._exact.sink_kernels import Tables


def sums_over_orders(values, plan, block_bits):
    """Return, for each set of columns, the sum over their orders of products of parents' sums.

    The loops are those of the search: slab by slab, each with a table for each child.
    """
    m, n_inner = plan.n_columns, plan.n_inner
    masks = [{mask_of(p): v for (x, p), v in values.items() if x == child} for child in range(m)]
    starts = np.cumsum([0, *(plan.table_size(x) for x in range(m))])
    F = np.zeros(1 << m)
    F[0] = 1.0
    for fixed in range(1 << plan.n_outer):
        B = np.zeros(plan.slab_size)
        for x in plan.children(fixed):
            table = B[starts[x] : starts[x + 1]]
            for parents, value in masks[x].items():
                if parents >> n_inner & ~fixed == 0:
                    inner = parents & ((1 << n_inner) - 1)
                    low = inner & ((1 << x) - 1)
                    table[inner >> 1 & -(1 << x) | low if x < n_inner else inner] += value
            sum_zeta(table, 0, plan.table_bits(x))
        slabs = F.reshape(-1, 1 << n_inner)
        for x in range(n_inner, m):
            if fixed << n_inner >> x & 1:
                sum_with_sink(slabs[fixed], slabs[fixed ^ 1 << x - n_inner], B, starts[x])
        for blocks in submasks_by_size(n_inner - block_bits):
            sum_blocks(slabs[fixed], Tables(B, starts), n_inner, block_bits, blocks)
    return F


@pytest.mark.parametrize("m", range(1, 7))
def test_sums_over_orders_and_parent_sets(m):
    rng = np.random.default_rng(m)
    values = {family: int(rng.integers(4)) for family in reference.families(m)}
    expected = reference.sums_over_orders(values, m)
    for n_outer in range(m):
        plan = SearchPlan(m, n_outer)
        for block_bits in range(plan.n_inner + 1):
            found = sums_over_orders(values, plan, block_bits)
            assert {p: found[mask_of(p)] for p in reference.subsets(range(m))} == expected


def test_each_network_is_counted_once_for_each_of_its_orders():
    m = 4
    ones = dict.fromkeys(reference.families(m), 1)
    orders = sum(reference.number_of_orders(parents) for parents in reference.all_dags(m))
    assert sums_over_orders(ones, SearchPlan(m, 1), 2)[-1] == orders == math.factorial(m) * 2**6

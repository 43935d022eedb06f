"""The zeta transform and the sink recursion with sums and products of float64.

Of small integers these are exact, unlike those of extended floats.
"""

from numba import njit
from numba.extending import register_jitable

from skbn._core.subsets import zeta_transform
from skbn._core.vectors import plus, raised_by_bit_0, raised_by_bit_1, times
from skbn._exact.sink_kernels import add_column, extend_block


@njit(error_model="numpy")
def sum_zeta(table, first_bit, last_bit):
    """Turn entries into sums over subsets."""
    zeta_transform(table, first_bit, last_bit, _sum, _sum_within_vector, None)


@njit(error_model="numpy")
def sum_with_sink(F, G, B, start):
    """Add the sums of another slab, each with the same outer column as a sink."""
    add_column((F, 0), (G, 0), (B, start), F.size, _sum, _product, None)


@njit(error_model="numpy")
def sum_blocks(F, tables, n_inner, block_bits, blocks):
    """Finish sums over orders on some blocks of a slab."""
    for block in blocks:
        first = block << block_bits
        extend_block(F, tables, n_inner, first, 1 << block_bits, _sum, _product, None)


@register_jitable
def _sum(a, b, wide):
    return plus(a, b)


@register_jitable
def _sum_within_vector(x, wide):
    x = plus(x, raised_by_bit_0(x))
    return plus(x, raised_by_bit_1(x))


@register_jitable
def _product(a, b, wide):
    return times(a, b)

"""The zeta transform and the sink recursion with sums and products, where the search has maxima."""

import numpy as np
from numba import njit
from numba.extending import register_jitable

from skbn._core.vectors import load, plus, times, without_bit_0, without_bit_1
from skbn._core.zeta import zeta_transform
from skbn._exact.best_sinks import extend_block

HAS_BIT_0 = np.array([0.0, 1.0, 0.0, 1.0])
HAS_BIT_1 = np.array([0.0, 0.0, 1.0, 1.0])


@njit(error_model="numpy")
def sum_zeta(table, first_bit, last_bit):
    """Turn entries into sums over subsets."""
    zeta_transform(table, first_bit, last_bit, plus, _sum_within_vector)


@register_jitable
def _sum_within_vector(x):
    x = plus(x, times(without_bit_0(x, x), load(HAS_BIT_0, 0)))
    return plus(x, times(without_bit_1(x, x), load(HAS_BIT_1, 0)))


@njit(error_model="numpy")
def sum_blocks(F, B, starts, n_inner, fixed, block_bits, blocks):
    """Finish sums over orders on some blocks of a slab."""
    for block in blocks:
        extend_block(F, B, starts, n_inner, fixed, block_bits, block, plus, times)

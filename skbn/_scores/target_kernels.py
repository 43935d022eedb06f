"""Kernels of scores with unknown targets: they are compiled only when these are used."""

import math

import numpy as np
from numba import float64, int64

from skbn._core.compile import inner_kernel, kernel

BEGIN, MAXIMUM, SUM = range(3)
# Beyond this difference, in nats, the smaller of two likelihoods does not change their sum.
_NEGLIGIBLE = 40.0


@inner_kernel
def _joined(a, b, how):
    if how == BEGIN:
        return b
    high, low = max(a, b), min(a, b)
    if how == SUM and high - low < _NEGLIGIBLE:
        high += math.log1p(math.exp(low - high))
    return high


@kernel(float64[::1], float64[::1], int64, float64, int64, float64[::1])
def join_scores(of_family, of_parents, child, shift, how, scores):
    """Join a child's local scores for one set of changed environments with those of others.

    `how`: `BEGIN` stores the scores, `MAXIMUM` keeps the larger ones, `SUM` adds their exponentials
    `scores`: (2**m,), joined in place, at the sets with the child; others are not touched
    """
    bit = np.int64(1) << child
    for high in range(0, scores.size, 2 * bit):
        for parents in range(high, high + bit):
            score = of_family[parents + bit] - of_parents[parents] + shift
            scores[parents + bit] = _joined(scores[parents + bit], score, how)


@kernel(float64[::1], float64[::1], int64, float64, float64[::1], float64[::1])
def share_of_targets(of_family, of_parents, child, shift, scores, probabilities):
    """Return the probability that just one set of environments changed a child.

    `scores`: the scores of all sets of environments, joined by `SUM`
    `probabilities`: (2**m,), that of each set of parents
    """
    bit = np.int64(1) << child
    total = 0.0
    for high in range(0, scores.size, 2 * bit):
        for parents in range(high, high + bit):
            if probabilities[parents] > 0.0:
                score = of_family[parents + bit] - of_parents[parents] + shift
                total += probabilities[parents] * math.exp(score - scores[parents + bit])
    return total


TARGET_KERNELS = (join_scores, share_of_targets)

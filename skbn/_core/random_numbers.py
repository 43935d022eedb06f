"""Random numbers in kernels, by SplitMix64 (Steele, Lea and Flood 2014).

The state of a generator is one number of an array. What a kernel draws depends on that number
alone, and not on the thread that runs it.
"""

import numpy as np
import numpy.typing as npt

from skbn._core.compile import inner_kernel

# The constants of SplitMix64.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_FACTOR = np.uint64(0x94D049BB133111EB)


@inner_kernel
def uniform(states, i):
    """Return the next random number of generator i, from 0 to below 1."""
    states[i] += _STEP
    z = states[i]
    z = (z ^ (z >> np.uint64(30))) * _FIRST_FACTOR
    z = (z ^ (z >> np.uint64(27))) * _SECOND_FACTOR
    z ^= z >> np.uint64(31)
    return np.float64(z >> np.uint64(11)) * 2.0**-53


def uniform_numbers(
    states: npt.NDArray[np.uint64], some: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return the next random number of some different generators, as `uniform` does."""
    states[some] += _STEP
    z = states[some]
    z = (z ^ (z >> np.uint64(30))) * _FIRST_FACTOR
    z = (z ^ (z >> np.uint64(27))) * _SECOND_FACTOR
    z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


@inner_kernel
def random_below(states, i, n):
    """Return a random whole number from 0 to below n, which is below 2**53."""
    return np.int64(uniform(states, i) * n)


@inner_kernel
def first_above(cumulative, first, last, target):
    """Return the first place of ascending numbers with one above the target, or the last place."""
    while first < last:
        middle = (first + last) >> 1
        if cumulative[middle] > target:
            last = middle
        else:
            first = middle + 1
    return first

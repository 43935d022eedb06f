"""Types of arrays by what they hold, and numbers as users pass them."""

import math
import operator
from collections.abc import Hashable, Mapping, Sequence, Set
from decimal import Decimal
from numbers import Real
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from numba import boolean, float32, float64, int16, int32, int64, uint16, uint64

from skbn._core.text import must_be, readable_value

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
ShortIntegers = npt.NDArray[np.int16]

# Arrays as kernels take them: what they hold, and the number of dimensions.
B1 = Annotated[Booleans, boolean[::1]]
B2 = Annotated[Booleans, boolean[:, ::1]]
B3 = Annotated[Booleans, boolean[:, :, ::1]]
F1 = Annotated[Floats, float64[::1]]
F2 = Annotated[Floats, float64[:, ::1]]
F3 = Annotated[Floats, float64[:, :, ::1]]
F4 = Annotated[Floats, float64[:, :, :, ::1]]
G2 = Annotated[npt.NDArray[np.float32], float32[:, ::1]]
I1 = Annotated[Integers, int64[::1]]
I2 = Annotated[Integers, int64[:, ::1]]
I3 = Annotated[Integers, int64[:, :, ::1]]
J1 = Annotated[npt.NDArray[np.int32], int32[::1]]
J2 = Annotated[npt.NDArray[np.int32], int32[:, ::1]]
S1 = Annotated[ShortIntegers, int16[::1]]
S2 = Annotated[ShortIntegers, int16[:, ::1]]
T1 = Annotated[npt.NDArray[np.uint16], uint16[::1]]
T2 = Annotated[npt.NDArray[np.uint16], uint16[:, ::1]]
U2 = Annotated[npt.NDArray[np.uint64], uint64[:, ::1]]
U3 = Annotated[npt.NDArray[np.uint64], uint64[:, :, ::1]]

BYTES = 8  # of a float64 or an int64

Names = Sequence[Hashable]  # of columns or nodes
Random = np.random.Generator | np.random.RandomState


def finite_number(value: Any, name: str) -> float:
    """Return a number, or an array of no dimensions that holds one, as a float."""
    if type(value) is np.ndarray and value.ndim == 0:
        value = value[()]
    try:
        number = float(value) if isinstance(value, Real | Decimal) else math.nan
    except (OverflowError, ValueError):  # a huge integer, or a decimal's signalling NaN
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{name} must be a finite number; got {readable_value(value)}.")
    return number


def level_of(value: Any, name: str = "level") -> float:
    """Return a level between 0 and 1, as a float, or raise a ValueError."""
    level = finite_number(value, name)
    if not 0 < level < 1:
        raise ValueError(must_be(name, "between 0 and 1, such as 0.95", value))
    return level


def numbers_in(value: Any, name: str) -> float | Floats:
    """Return a number as a float, and a list of numbers as an array."""
    if not is_listed(value):
        return finite_number(value, name)
    parts = enumerate(value)
    return np.array([finite_number(part, f"{name}, entry {i},") for i, part in parts])


def is_listed(value: Any) -> bool:
    """Whether this is a list of values: a sequence, a Series or an array with dimensions.

    >>> [is_listed(value) for value in ([1], range(3), np.ones(2), np.array(1.0), "red", {"a": 1})]
    [True, True, True, False, False, False]
    """
    is_single = isinstance(value, str | bytes | Mapping | Set) or getattr(value, "ndim", 1) == 0
    return hasattr(value, "__len__") and not is_single


def as_integer(value: int, name: str, least: float = -math.inf) -> int:
    """Return an integer of any type as an int."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer; got {readable_value(value)}.") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}; got {number}.")
    return number


def random_seeds(random: Random, n: int) -> list[int]:
    """Draw n whole numbers below 2**31, for other generators to begin with."""
    draw = random.integers if isinstance(random, np.random.Generator) else random.randint
    return [int(seed) for seed in draw(1 << 31, size=n)]


# Numbers for kernels. A literal is a type of its own: numba compiles all that is called with it
# once more.
ZERO, NONE, NO, YES = np.int64(0), np.int64(-1), np.bool_(False), np.bool_(True)

"""Types of arrays, by what they hold, and the bytes of a number in them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["BYTES", "Booleans", "Floats", "Integers", "ShortIntegers"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
ShortIntegers = npt.NDArray[np.int16]

BYTES = 8  # of a float64 or an int64

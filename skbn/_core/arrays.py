"""Types of arrays, by what they hold."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["Booleans", "Floats", "Integers"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

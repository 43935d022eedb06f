"""What a swap of two neighbouring columns does to a triangular factor."""

import math

import numpy as np
import numpy.typing as npt
from numba import float64, int64

from skbn._core.arrays import Floats, as_integer
from skbn._core.compile import compile_kernels, inner_kernel, kernel, pasted_kernel
from skbn._core.vectors import load, minus, negative, over, plus, square_root, store, times


def givens_column_swap(factor: npt.ArrayLike, i: int) -> Floats:
    """Swap columns i and i + 1 of a triangular factor and make it triangular again.

    If `factor` is the R of a QR decomposition of some columns, the result is an R
    of the same columns with the two exchanged. It differs in rows i and i + 1 and
    in the order of the two columns only.

    Parameters
    ----------
    factor : array-like of shape (m, m)
        An upper triangular matrix. It is not modified.
    i : int
        Position of the left column, from 0 to m - 2.

    Returns
    -------
    swapped : ndarray of shape (m, m), dtype float64
        Upper triangular; the signs of rows i and i + 1 are as they come out of
        the rotation, which has ``swapped[i, i] >= 0``.

    Raises
    ------
    ValueError
        If `factor` is not square, not upper triangular or not finite, or there is
        no such position.
    TypeError
        If `factor` is complex, or `i` no integer.

    Notes
    -----
    The operator GRC_(i+1) of Alipourfard & Gao, section 1.3, at a cost of
    6 (m - i) flops. The rotation has ``cos = r[i, i+1] / rho`` and
    ``sin = r[i+1, i+1] / rho``, ``rho`` the root of their squares' sum (the
    paper prints the cosine for both).

    Examples
    --------
    >>> import numpy as np
    >>> givens_column_swap([[2.0, 3.0], [0.0, 4.0]], 0)
    array([[ 5. ,  1.2],
           [ 0. , -1.6]])
    """
    if np.iscomplexobj(factor):
        raise TypeError("factor must be real; it has complex entries.")
    swapped = np.array(factor, dtype=np.float64, order="C")
    if swapped.ndim != 2 or swapped.shape[0] != swapped.shape[1]:
        raise ValueError(f"factor must be a square matrix; got shape {swapped.shape}.")
    if not np.isfinite(swapped).all():
        raise ValueError("factor must be finite; it contains NaN or infinity.")
    if np.tril(swapped, -1).any():
        raise ValueError("factor must be upper triangular; it has entries below its diagonal.")
    i = as_integer(i, "i")
    if len(swapped) < 2:
        raise ValueError(f"factor must have two columns to swap; it has {len(swapped)}.")
    if not 0 <= i < len(swapped) - 1:
        raise ValueError(f"i must be from 0 to m - 2 = {len(swapped) - 2}; got {i}.")
    compile_kernels([_swap_columns_of])
    _swap_columns_of(swapped, i)
    return swapped


@kernel(float64[:, ::1], int64)
def _swap_columns_of(factor, i):
    """Apply GRC at position `i` to a whole factor, in place."""
    swap_columns(factor, i, factor.shape[0])


@pasted_kernel
def swap_columns(factor, i, n):
    """Apply GRC at position `i`, in place, to the leading n x n block of `factor`."""
    for row in range(i + 1):
        factor[row, i], factor[row, i + 1] = factor[row, i + 1], factor[row, i]
    first, second, left = factor[i, i], factor[i + 1, i + 1], factor[i, i + 1]
    rho = math.hypot(first, second)
    if rho == 0.0:  # both columns depend on those before them: triangular already
        return
    cos, sin = first / rho, second / rho
    factor[i, i], factor[i, i + 1], factor[i + 1, i + 1] = rho, cos * left, -sin * left
    for column in range(i + 2, n):
        upper = factor[i, column]
        lower = factor[i + 1, column]
        factor[i, column] = cos * upper + sin * lower
        factor[i + 1, column] = cos * lower - sin * upper


@pasted_kernel
def swap_columns_in_lanes(factors, order, i, numbers, lanes, cos):
    """Apply GRC at position `i`, in place, to many factors that share their column order.

    The columns stay where they are and `order` is changed instead, so that the
    rotation is the only work; the lanes lie side by side, one to a SIMD element.

    `factors`: (k, k, lanes), all non-singular; their number is a multiple of four. Only entries on
        and above the diagonal, in the order of the columns, are read or set.
    `order`: (k,), ``order[p]`` is the column that stands at position p
    `numbers`: scratch for cosines and sines from the place `cos` on, and then the squares of the
        new diagonal elements at position i
    """
    left = order[i]
    right = order[i + 1]
    order[i] = right
    order[i + 1] = left
    sin, squared = cos + lanes, cos + 2 * lanes
    upper = i * order.size * lanes
    lower = upper + order.size * lanes
    for lane in range(0, lanes, 4):
        x = load(factors, upper + right * lanes + lane)
        y = load(factors, lower + right * lanes + lane)
        square = plus(times(x, x), times(y, y))
        length = square_root(square)
        scale = over(length, square)  # one division, not two
        c = times(x, scale)
        s = times(y, scale)
        z = load(factors, upper + left * lanes + lane)
        store(numbers, squared + lane, square)
        store(numbers, cos + lane, c)
        store(numbers, sin + lane, s)
        store(factors, upper + right * lanes + lane, length)
        store(factors, upper + left * lanes + lane, times(c, z))
        store(factors, lower + left * lanes + lane, negative(times(s, z)))
    for position in range(i + 2, order.size):
        column = order[position] * lanes
        for lane in range(0, lanes, 4):
            x = load(factors, upper + column + lane)
            y = load(factors, lower + column + lane)
            c = load(numbers, cos + lane)
            s = load(numbers, sin + lane)
            store(factors, upper + column + lane, plus(times(c, x), times(s, y)))
            store(factors, lower + column + lane, minus(times(c, y), times(s, x)))


@inner_kernel
def move_last_in_front(source, factor, start, end):
    """Project the columns from `start` on out of those before; return their log-determinant.

    `source`: the leading end x end block of this array is copied to `factor`, and moved there
    """
    for row in range(end):
        for column in range(end):
            factor[row, column] = source[row, column]
    log_det = 0.0
    for size in range(end - 1, start - 1, -1):
        for i in range(size - 1, -1, -1):
            swap_columns(factor, i, size + 1)
        log_det += 2.0 * math.log(abs(factor[0, 0]))
        for row in range(size):
            for column in range(row, size):
                factor[row, column] = factor[row + 1, column + 1]
    return log_det

"""Kernels that only other kernels call, for tests to call."""

from functools import cache

import numba


@cache
def callable_from_python(inner):
    """Return a function that calls an inner kernel, compiled once in each process.

    Its code is not kept on disk: numba would not notice a change of the kernel, in another file.
    """
    return numba.njit(lambda *arguments: inner(*arguments))

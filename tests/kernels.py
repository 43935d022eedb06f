"""Kernels that only other kernels call, for tests to call."""

import numba


def callable_from_python(inner):
    """Return a function that calls an inner kernel."""
    return numba.njit(lambda *arguments: inner(*arguments))

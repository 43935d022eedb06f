"""How kernels are compiled: one decorator, so that all of them agree.

A cached kernel does not notice a change of one that it calls from another file. Whoever
edits kernels deletes ``skbn/**/__pycache__``; the tests keep a cache for each state of
the sources.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numba

__all__ = ["inner_kernel", "kernel"]

# The GIL is released, so that kernels run side by side in threads. There is no
# `fastmath`: scores may be infinite, and two runs must agree in every bit.
_njit = partial(numba.njit, nogil=True, error_model="numpy")


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function of arrays and numbers, cached on disk where possible.

    One whose name begins with an underscore is an `inner_kernel`.
    """
    return _compiled(function, within=function.__name__.startswith("_"))


def inner_kernel(function: Callable[..., Any]) -> Any:
    """Compile what other kernels call and Python does not: the way into it is left out."""
    return _compiled(function, within=True)


def _compiled(function: Callable[..., Any], *, within: bool) -> Any:
    options = {"no_cpython_wrapper": within, "no_cfunc_wrapper": True}
    try:
        dispatcher = _njit(function, cache=True, **options)
    except RuntimeError:  # numba found no folder that it may write to
        return _njit(function, **options)
    cache = dispatcher._cache
    cache.load_overload = _unless_it_fails(cache.load_overload)
    cache.save_overload = _unless_it_fails(cache.save_overload)
    return dispatcher


def _unless_it_fails(access: Callable[..., Any]) -> Callable[..., Any]:
    """Let a cache that cannot be read or written cost a compilation, and not the fit."""

    def guarded(*arguments: Any) -> Any:
        with suppress(OSError):
            return access(*arguments)

    return guarded

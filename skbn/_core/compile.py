"""How kernels are compiled: two decorators, and one function that estimators call first."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Any

import numba
from numba.core import event

from skbn._core.resources import say

__all__ = ["compile_kernels", "inner_kernel", "kernel"]

_MESSAGE = "Compiling; this happens once and takes 10 to 60 seconds."

# The GIL is released, so that kernels run side by side in threads. There is no
# `fastmath`: scores may be infinite, and two runs must agree in every bit.
_njit = partial(numba.njit, nogil=True, error_model="numpy", no_cfunc_wrapper=True)
# The argument types of each kernel.
_signatures: dict[Any, tuple[Any, ...]] = {}


def kernel(*signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Declare a function that Python calls, its code cached on disk where numba can write.

    `compile_kernels` compiles it. numba notices a change in this function's own file only, so
    whoever edits an inner kernel in another file deletes the folders ``__pycache__``.

    Parameters
    ----------
    *signature : numba type
        The type of each argument: ``float64[::1]`` is a contiguous array that can be written.
    """

    def declare(function: Callable[..., Any]) -> Any:
        with _compiler_enabled():
            try:
                dispatcher = _njit(function, cache=True)
            except RuntimeError:  # numba found no folder that it may write to
                dispatcher = _njit(function)
        _signatures[dispatcher] = signature
        return dispatcher

    return declare


def inner_kernel(function: Callable[..., Any]) -> Any:
    """Declare a function that only kernels call; it is compiled and cached with them."""
    with _compiler_enabled():
        return _njit(function, no_cpython_wrapper=True)


def compile_kernels(kernels: Iterable[Any], verbose: int = False) -> None:
    """Compile what a computation is about to call, or load it from the cache.

    Another thread does it, since Ctrl-C interrupts only the main thread: interrupted halfway,
    numba may be left without an entry that it was about to register. Ctrl-C is answered at once,
    and the other thread finishes; a later fit waits for it.

    Parameters
    ----------
    kernels : iterable of kernel
    verbose : bool or int
        Whether to print that kernels are compiled, once in a process. The logger "skbn" is
        told so too, at level INFO.
    """
    missing = [each for each in kernels if not each.signatures]
    if missing:
        pool = ThreadPoolExecutor(1)
        compiled = pool.submit(_compile, missing, verbose)
        pool.shutdown(wait=False)
        compiled.result()


def _compile(kernels: list[Any], verbose: int) -> None:
    with event.install_listener("numba:compile", _Announcer(verbose)):
        for each in kernels:
            with suppress(OSError):  # the disk is full: compiled all the same, but not cached
                each.compile(_signatures[each])


class _Announcer(event.Listener):
    """Announces the first kernel that is compiled; those in the cache are not."""

    def __init__(self, verbose: int) -> None:
        self._verbose = verbose

    def on_start(self, event: event.Event) -> None:
        """Announce that a kernel is compiled, unless it is somebody else's."""
        if event.data["dispatcher"] in _signatures:
            _tell_once(logging.getLogger("skbn").info, _MESSAGE)
            if self._verbose:
                _tell_once(say, f"[skbn] {_MESSAGE}")

    def on_end(self, event: event.Event) -> None:
        """Do nothing."""


@cache
def _tell_once(tell: Callable[[str], None], message: str) -> None:
    tell(message)


@contextmanager
def _compiler_enabled() -> Iterator[None]:
    """Compile even if NUMBA_DISABLE_JIT is set, as users do to debug kernels of their own.

    Kernels with vectors of four numbers cannot run in Python.
    """
    disabled = numba.config.DISABLE_JIT
    numba.config.DISABLE_JIT = False
    try:
        yield
    finally:
        numba.config.DISABLE_JIT = disabled

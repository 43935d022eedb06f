"""How kernels are compiled: one decorator, so that all of them agree."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import numba
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

from skbn._core.kernel_cache import KernelCache
from skbn._core.memory import has_room_for_thread

__all__ = ["announcing_compilation", "compilations", "inner_kernel", "kernel"]

_MESSAGE = "Compiling the search; this happens once and takes some 10 seconds."

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
    with _compiler_enabled():
        try:
            dispatcher = _njit(function, cache=not within, **options)
        except RuntimeError:  # numba found no folder that it may write to
            dispatcher = _njit(function, **options)
    dispatcher.compile = _undisturbed(dispatcher.compile)
    cache = dispatcher._cache
    # Without a folder, or with another numba, the cache is numba's own, if there is any.
    with suppress(OSError, AttributeError):
        stamp = cache._impl.locator.get_source_stamp()
        cache._cache_file = KernelCache(cache.cache_path, cache._impl.filename_base, stamp)
    cache.load_overload = _unless_it_fails(cache.load_overload)
    cache.save_overload = _unless_it_fails(cache.save_overload)
    return dispatcher


@contextmanager
def _compiler_enabled() -> Iterator[None]:
    """Compile for those too who set NUMBA_DISABLE_JIT for code of their own.

    Kernels with vectors of four cannot run in Python.
    """
    disabled = numba.config.DISABLE_JIT
    numba.config.DISABLE_JIT = False
    try:
        yield
    finally:
        numba.config.DISABLE_JIT = disabled


def _undisturbed(compile_: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Compile in another thread than the main one, which alone can be interrupted.

    Interrupted halfway, numba may lack for good what it was about to register. So the
    interruption is answered at once, and the kernel is finished all the same.
    """

    def compile_aside(signature: Any) -> Any:
        is_main = threading.current_thread() is threading.main_thread()
        # The lock may be held by this thread.
        if not is_main or global_compiler_lock.is_locked() or not has_room_for_thread():
            return compile_(signature)
        pool = ThreadPoolExecutor(1)
        try:
            compiled = pool.submit(compile_, signature)
        except RuntimeError:  # no thread can be started
            return compile_(signature)
        finally:
            pool.shutdown(wait=False)
        return compiled.result()

    return compile_aside


def _unless_it_fails(access: Callable[..., Any]) -> Callable[..., Any]:
    """Let a cache that cannot be read or written cost a compilation, and not the fit."""

    def guarded(*arguments: Any) -> Any:
        try:
            return access(*arguments)
        except MemoryError:
            raise
        except Exception:  # whatever a damaged file makes of unpickling and linking
            return None

    return guarded


class _Compilations(event.Listener):
    """Hears of each kernel that is compiled, and not of those that the cache has.

    The logger "skbn" is told of the first one at level INFO, and so is the first speaker there is.
    """

    def __init__(self) -> None:
        self.speakers: list[Callable[[str], None]] = []
        self._is_logged = self._is_said = False
        self._depth = 0  # compiling a kernel compiles those that it calls
        self._start = self._finished = 0.0

    @property
    def seconds(self) -> float:
        """How long kernels have been compiled in this process."""
        return self._finished + (time.perf_counter() - self._start if self._depth else 0.0)

    def on_start(self, event: event.Event) -> None:
        """Start the clock, and announce the first kernel."""
        if not _is_of_skbn(event):
            return
        if self._depth == 0:
            self._start = time.perf_counter()
        self._depth += 1
        if not self._is_logged:
            self._is_logged = True
            logging.getLogger("skbn").info(_MESSAGE)
        if self.speakers and not self._is_said:
            self._is_said = True
            self.speakers[0](f"[skbn] {_MESSAGE}")

    def on_end(self, event: event.Event) -> None:
        """Stop the clock."""
        if _is_of_skbn(event):
            self._depth -= 1
            if self._depth == 0:
                self._finished += time.perf_counter() - self._start


def _is_of_skbn(event: event.Event) -> bool:
    # Other code may compile what has no module: a function made by exec, or a lifted loop.
    function = getattr(event.data["dispatcher"], "py_func", None)
    return str(getattr(function, "__module__", None)).startswith("skbn.")


compilations = _Compilations()
"""The compilations of this process. numba reports each while it holds the compiler's lock."""
event.register("numba:compile", compilations)


@contextmanager
def announcing_compilation(say: Callable[[str], None]) -> Iterator[None]:
    """Say that kernels are compiled when the first one of this process is."""
    compilations.speakers.append(say)
    try:
        yield
    finally:
        compilations.speakers.remove(say)


if hasattr(os, "register_at_fork"):
    # A process that forks while another of its threads compiles waits for that: in the
    # child nobody would ever set the compiler free again.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )

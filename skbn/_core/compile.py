"""How kernels are compiled: two decorators, and one function that estimators call first."""

import gc
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Annotated, Any, get_origin, get_type_hints

import numba
import numpy as np
from numba import types
from numba.core import event

from skbn._core.references import Reference, pass_by_reference
from skbn._core.resources import say

# Shorter compilations are not announced.
_LONG = 1.0
_SECONDS = 0.4

# The GIL is released, so that kernels run side by side in threads. There is no
# `fastmath`: scores may be infinite, and two runs must agree in every bit.
_njit = partial(numba.njit, nogil=True, error_model="numpy", no_cfunc_wrapper=True)
# The argument types of each kernel, and about how long it takes to compile.
_signatures: dict[Any, tuple[Any, ...]] = {}
_seconds: dict[Any, float] = {}


def kernel(
    *signature: Any, seconds: float = _SECONDS, is_called: bool = True
) -> Callable[[Callable[..., Any]], Any]:
    """Declare a function that Python calls, its code cached on disk where numba can write.

    `compile_kernels` compiles it. numba notices a change in this function's own file only, so
    whoever edits an inner kernel in another file deletes the folders ``__pycache__``.

    `*signature`: numba type; the type of each argument: ``float64[::1]`` is a contiguous array that
        can be written
    `seconds`: about how long it takes to compile, if more than a second. Users who wait are told
        the sum.
    `is_called`: whether Python calls it; otherwise only kernels do, by its address
    """
    settings = {"no_cpython_wrapper": not is_called}

    def declare(function: Callable[..., Any]) -> Any:
        with _compiler_enabled():
            try:
                dispatcher = _njit(function, cache=True, **settings)
            except RuntimeError:  # numba found no folder that it may write to
                dispatcher = _njit(function, **settings)
        _signatures[dispatcher], _seconds[dispatcher] = signature, seconds
        return dispatcher

    return declare


def inner_kernel(function: Callable[..., Any]) -> Any:
    """Declare a function that only kernels call; it is compiled and cached with them."""
    with _compiler_enabled():
        return _njit(function, no_cpython_wrapper=True)


def inlined_kernel(function: Callable[..., Any]) -> Any:
    """Declare a function that is compiled into each of the kernels that call it.

    Calling a short function with a tuple of many arrays takes longer than running it.
    """
    with _compiler_enabled():
        return _njit(function, no_cpython_wrapper=True, forceinline=True)


def pasted_kernel(function: Callable[..., Any]) -> Any:
    """Declare a function that numba pastes where a kernel calls it, uncompiled.

    A separately compiled function is optimised again, with all that it calls, in each kernel. So
    this is for functions that kernels call in one place each.
    """
    with _compiler_enabled():
        return _njit(function, no_cpython_wrapper=True, inline="always")


def tuple_type(kind: type, *fields: Any) -> Any:
    """Return the numba type of a named tuple, by its annotations or from its fields' types.

    Kernels get those with arrays by reference, and read their fields by name. With the wrong type,
    numba recompiles the kernel at its first call.
    """
    fields = fields or _field_types(kind)
    if not any(isinstance(each, types.Array | Reference) for each in fields):
        return types.BaseTuple.from_types(fields, kind)
    pass_by_reference(kind)
    return Reference(kind, fields)


@cache
def _field_types(kind: Any) -> tuple[Any, ...]:
    """Return the numba types of a named tuple's fields, by its annotations."""
    return tuple(map(_numba_type, get_type_hints(kind, include_extras=True).values()))


def _numba_type(hint: Any) -> Any:
    """Return the numba type of a field: a number, a kernel's array, or another named tuple."""
    numbers = {int: types.int64, float: types.float64, bool: types.boolean}
    if hint in numbers:
        return numbers[hint]
    return hint.__metadata__[0] if get_origin(hint) is Annotated else tuple_type(hint)


def zeros(kind: Callable[..., Any], *shapes: Any) -> Any:
    """Return a named tuple of zeros in arrays of these shapes, by its annotations."""
    types_and_shapes = zip(_field_types(kind), shapes, strict=True)
    return kind(*(np.zeros(shape, dtype=str(each.dtype)) for each, shape in types_and_shapes))


def signature_of(kernel: Any) -> tuple[Any, ...]:
    """Return the types of a kernel's arguments."""
    return _signatures[kernel]


def kernels_of(module: str) -> list[Any]:
    """Return the kernels that a module declares, once it is imported."""
    return [each for each in _signatures if each.py_func.__module__ == module]


def compile_kernels(kernels: Iterable[Any], *, silently: bool = False) -> None:
    """Compile what a computation is about to call, or load it from the cache.

    A line on standard error, and the logger "skbn" at level INFO, say so if it will take more than
    a second. Call it before anything that is timed.

    Another thread compiles, since Ctrl-C interrupts only the main thread: interrupted halfway,
    numba may be left without an entry that it was about to register. Ctrl-C is answered at once,
    and the other thread finishes; a later fit waits for it.

    `silently`: whether to say nothing
    """
    missing = [each for each in dict.fromkeys(kernels) if not each.overloads]
    if missing:
        pool = ThreadPoolExecutor(1)
        compiled = pool.submit(_compile, missing, silently)
        pool.shutdown(wait=False)
        compiled.result()


def _compile(kernels: list[Any], silently: bool) -> None:
    announcer = _Announcer(is_told=silently)
    with event.install_listener("numba:compile", announcer), _without_garbage_collection():
        for i, each in enumerate(kernels):
            announcer.seconds_left = sum(_seconds[other] for other in kernels[i:])
            with suppress(OSError):  # the disk is full: compiled, but not cached
                try:
                    each.compile(_signatures[each])
                except (AttributeError, ImportError):  # cached with names of an earlier version
                    each.recompile()  # empties the cache
                    each.compile(_signatures[each])


class _Announcer(event.Listener):
    """Announces the first kernel that is compiled; those in the cache are not.

    If one is missing in the cache, the later ones usually are, too.
    """

    def __init__(self, is_told: bool) -> None:
        self._is_told = is_told
        self.seconds_left = 0.0

    def on_start(self, event: event.Event) -> None:
        """Announce that a kernel is compiled, unless it belongs to another program."""
        is_ours = event.data["dispatcher"] in _signatures
        if is_ours and not self._is_told and self.seconds_left > _LONG:
            self._is_told = True
            message = f"Compiling kernels, once on this machine: about {self.seconds_left:.0f} s."
            logging.getLogger("skbn").info(message)
            say(f"[skbn] {message}", sys.stderr)

    def on_end(self, event: event.Event) -> None:
        """Do nothing."""


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Switch garbage collection off: searching numba's many objects takes a tenth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


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

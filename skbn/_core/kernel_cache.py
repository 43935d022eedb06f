"""Compiled kernels on disk, such that none is loaded that is damaged or out of date.

numba's own cache keeps an index of numbered files. Those who write to it at once may
exchange the files' numbers; whoever is stopped between the two leaves an index to a file
of earlier sources; and it does not notice a change in another file of sources. Here the
name of a file says what it was compiled from, by what and for which processor, and its
beginning whether it is whole.
"""

from __future__ import annotations

import os
import pickle
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import llvmlite
import numba
from numba.core.serialize import dumps

__all__ = ["KernelCache"]

_DIGEST_SIZE = 32
_NAME_SIZE = 24


class KernelCache:
    """The files of one kernel: one for each signature, processor and version of numba.

    It has the methods of numba's IndexDataCacheFile, whose place it takes.

    Parameters
    ----------
    folder : str
    base_name : str
        What the files' names begin with.
    source_stamp : object
        What numba tells states of the kernel's own source by.
    """

    def __init__(self, folder: str, base_name: str, source_stamp: object) -> None:
        self._folder = Path(folder)
        self._base_name = base_name
        made_from = f"{source_stamp} {_digest_of_sources()}"
        self._made_from = sha256(made_from.encode()).hexdigest()[:_NAME_SIZE]

    def load(self, key: object) -> Any:
        """Return what was saved for a key; None if there is nothing, or it is damaged."""
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        data = content[_DIGEST_SIZE:]
        if sha256(data).digest() != content[:_DIGEST_SIZE]:
            return None
        return pickle.loads(data)

    def save(self, key: object, code: object) -> None:
        """Save what was compiled for a key, in place of what other sources have left."""
        data = dumps(code)
        path = self._path(key)
        unfinished = path.with_name(f"{path.name}.tmp.{uuid4().hex[:16]}")
        try:
            unfinished.write_bytes(sha256(data).digest() + data)
            unfinished.replace(path)
        except BaseException:  # the user's interruption too
            _remove(unfinished)
            raise
        for other in self._folder.glob(f"{self._base_name}.*.nbc"):
            if self._made_from not in other.name:
                _remove(other)

    def flush(self) -> None:
        """Remove all files of the kernel."""
        for path in self._folder.glob(f"{self._base_name}.*.nbc"):
            _remove(path)

    def _path(self, key: object) -> Path:
        # numba's own key has the processor. With the versions too, different installations can
        # share a folder.
        compiled_by = numba.__version__, llvmlite.__version__, key
        name = sha256(repr(compiled_by).encode()).hexdigest()[:_NAME_SIZE]
        return self._folder / f"{self._base_name}.{self._made_from}.{name}.nbc"


def _remove(path: Path) -> None:
    with suppress(OSError):
        os.unlink(path)


@cache
def _digest_of_sources() -> str:
    """Return a digest of all sources that kernels are compiled from."""
    digest = sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        source = path.read_bytes()
        if b"numba" in source or b"skbn._core.compile" in source:
            digest.update(source)
    return digest.hexdigest()

"""FileStore: the best scores F of a search in a file, for more columns than memory has room for."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from skbn._core.arrays import BYTES, Floats, Integers
from skbn._core.resources import allocate
from skbn._core.subsets import members_of
from skbn._exact.plan import SearchPlan, scratch_error

# Ctrl-C is handled between pieces of a file.
_PIECE = 1 << 24


class FileStore:
    """Keeps the scores in a file.

    `file`: binary file; open for reading and writing, unbuffered

    Raises OSError, from the methods, if the disk fails.
    """

    def __init__(self, file: Any, plan: SearchPlan) -> None:
        self._file = file
        self._size = plan.inner_size
        self._new = allocate(self._size)
        self._read = allocate(self._size)

    def room(self, fixed: int) -> Floats:
        if hasattr(os, "posix_fadvise"):  # what the slab draws on is read while it is filled
            for x in members_of(fixed):
                place = self._place(fixed ^ 1 << x), BYTES * self._size
                os.posix_fadvise(self._file.fileno(), *place, os.POSIX_FADV_WILLNEED)
        return self._new

    def _place(self, fixed: int) -> int:
        return BYTES * self._size * fixed

    def keep(self, fixed: int, scores: Floats) -> None:
        self._file.seek(self._place(fixed))
        for piece in _pieces(scores):
            while piece.nbytes:
                piece = piece[self._file.write(piece) :]

    def slab(self, fixed: int) -> Floats:
        self._fill(self._read, self._place(fixed))
        return self._read

    def values(self, sets: Integers) -> Floats:
        scores = np.empty(sets.shape)
        for place, of_set in zip(scores.reshape(-1, 1), sets.ravel().tolist(), strict=True):
            self._fill(place, BYTES * of_set)
        return scores

    def _fill(self, scores: Floats, place: int) -> None:
        self._file.seek(place)
        for piece in _pieces(scores):
            while piece.nbytes:
                n_bytes = self._file.readinto(piece)
                if not n_bytes:
                    raise OSError("The temporary file of the search has become shorter.")
                piece = piece[n_bytes:]


def _pieces(scores: Floats) -> list[memoryview]:
    view = memoryview(scores.view(np.uint8))  # type: ignore[arg-type]
    return [view[i : i + _PIECE] for i in range(0, len(view), _PIECE)]


def _take_space(file: Any, n_bytes: int) -> None:
    """Give a file its full size, so that others cannot fill the disk meanwhile."""
    if hasattr(os, "posix_fallocate"):
        for start in range(0, n_bytes, 64 * _PIECE):
            os.posix_fallocate(file.fileno(), start, min(64 * _PIECE, n_bytes - start))
    else:
        file.truncate(n_bytes)


@contextmanager
def file_store(plan: SearchPlan) -> Iterator[FileStore]:
    """Make the file that a plan has chosen.

    It has no name, or disappears with the process, so nothing is left of it, whatever happens.

    Raises ValueError if the folder cannot be written to, or has too little space, all of which is
    taken at once.
    """
    with ExitStack() as stack:
        try:
            file = stack.enter_context(
                tempfile.TemporaryFile(dir=plan.scratch, prefix="skbn-", buffering=0)
            )
            _take_space(file, plan.n_scratch_bytes)
        except OSError as error:
            raise scratch_error(plan, error) from error
        yield FileStore(file, plan)

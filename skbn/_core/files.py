"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

__all__ = ["replaced_file"]

# What is open already, maybe a regular file: it is written on, from where it has come to.
_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}


@contextmanager
def replaced_file(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    """Open a text file to write in UTF-8, which takes the place of an old one at the end.

    The lines go to a temporary file in the same directory. If anything is raised before the
    end, it is removed, and an old file is as it was. The file has the permissions that
    ``open`` would give or leave to it. A symbolic link is followed. What is no regular file,
    such as a pipe or ``/dev/stdout``, is written as it is.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    path = Path(path)
    old = _status(path)
    stream = _STREAMS.get(str(path))
    if stream is not None or (old is not None and not stat.S_ISREG(old.st_mode)):
        where = path if stream is None else os.dup(stream)
        with open(where, "w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    if old is not None:
        os.close(os.open(target, os.O_WRONLY))  # a file that must not be written is left alone
    unfinished = target.with_name(f".{secrets.token_hex(8)}.unfinished")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(unfinished, flags, 0o666)
    except OSError as error:
        error.filename = str(path)
        raise
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
        if old is not None:
            os.chmod(unfinished, stat.S_IMODE(old.st_mode))
        os.replace(unfinished, target)
    except BaseException:
        with suppress(FileNotFoundError):
            unfinished.unlink()
        raise


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None

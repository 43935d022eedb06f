"""Files of users, which are replaced as a whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

__all__ = ["replaced_file"]

# Opened by their names, files that the shell redirects these to would be overwritten.
_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}


@contextmanager
def replaced_file(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    """Open a text file in UTF-8 that replaces an old one when it is complete.

    Until then its lines are in a temporary file beside it, which an error removes. A symbolic
    link is followed and an old file's permissions are kept. A pipe or a device, such as
    ``/dev/stdout``, is written directly.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    target = Path(os.path.realpath(path))
    is_old = target.exists()
    stream = _STREAMS.get(str(path))
    if stream is not None or (is_old and not target.is_file()):
        where = path if stream is None else os.dup(stream)
        with open(where, "w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    if is_old:
        target.open("a", encoding="utf-8").close()  # raises if the file is write-protected
    unfinished = target.with_name(f".{secrets.token_hex(8)}.unfinished")
    try:
        with open(unfinished, "x", encoding="utf-8", newline="\n") as file:
            yield file
        if is_old:
            shutil.copymode(target, unfinished)
        os.replace(unfinished, target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise

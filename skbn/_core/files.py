"""Files of users, which are replaced as a whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replaced_file(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    """Open a text file in UTF-8 that replaces an old one when it is complete.

    Until then its lines are in a temporary file beside it, which an error removes. A symbolic
    link is followed and an old file's permissions are kept.

    Raises OSError if the file cannot be written.
    """
    target = Path(os.path.realpath(path))
    is_old = target.exists()
    if is_old:
        if not target.is_file():  # replacing a device by a file would break it
            raise OSError(f"{path} is not a regular file. Name one, or print the text.")
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

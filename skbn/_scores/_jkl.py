"""The text format of GOBNILP and BLIP for local scores, by Cussens.

The number of columns, and for each: a line with its name and its number of parent
sets, and of these a line each with the score, the number of parents and their names.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from skbn._scores._families import Listed

__all__ = ["read_jkl", "write_jkl"]

_MOST_COLUMNS = 32767  # of int16
_LONGEST_LINE = 1 << 20


def write_jkl(
    path: str | os.PathLike[str], columns: list[str | int], families: Iterable[Listed]
) -> None:
    """Write the families of each column; the file appears when it is complete.

    Raises
    ------
    ValueError
        If a column's name is empty or has white space in it.
    """
    names = [str(column) for column in columns]
    for name in names:
        if len(name.split()) != 1 or name.strip() != name:
            raise ValueError(
                f"Column {name!r} cannot be written, as the format separates by spaces; rename it."
            )
    target = Path(path)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    try:
        with unfinished.open("w", encoding="utf-8") as file:
            file.write(f"{len(names)}\n")
            for name, (parents, scores) in zip(names, families, strict=True):
                file.write(f"{name} {len(scores)}\n")
                for row, score in zip(parents.tolist(), scores.tolist(), strict=True):
                    members = [names[p] for p in row if p >= 0]
                    file.write(" ".join([repr(score), str(len(members)), *members]) + "\n")
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def read_jkl(path: str | os.PathLike[str]) -> tuple[list[str], list[Listed]]:
    """Return the columns' names, and the families of each.

    Raises
    ------
    ValueError
        If the file is not of this format, naming the line.
    """
    with Path(path).open(encoding="utf-8-sig", errors="replace") as file:
        reader = _Reader(file, path)
        fields = reader.fields(None, "the number of columns")
        while fields[0] == "META":  # what GOBNILP may write before it
            fields = reader.fields(None, "the number of columns")
        number = " ".join(fields)
        n_columns = reader.integer(number, 1, _MOST_COLUMNS)
        names: dict[str, None] = {}
        unresolved = []
        for _ in range(n_columns):
            name, count = reader.fields(2, "a column's name and its number of parent sets")
            if name in names:
                raise reader.error(f"the column {name!r} comes a second time")
            names[name] = None
            n_sets = reader.integer(count, 0, None)
            unresolved.append([reader.family() for _ in range(n_sets)])
        reader.end()
    numbers = {name: j for j, name in enumerate(names)}
    return list(names), [
        _resolve(reader, child, families, numbers) for child, families in enumerate(unresolved)
    ]


class _Reader:
    """Lines of a file, their fields, and errors that name the line."""

    def __init__(self, file: Iterable[str], path: str | os.PathLike[str]) -> None:
        self._lines = self._of_bounded_length(file)
        self._path = path
        self.line = 0

    def _of_bounded_length(self, file: Iterable[str]) -> Iterator[str]:
        while line := file.readline(_LONGEST_LINE):  # type: ignore[attr-defined]
            self.line += 1
            if len(line) == _LONGEST_LINE:
                raise self.error(f"a line has {_LONGEST_LINE:,} characters or more")
            if line.strip():
                yield line

    def error(self, what: str, line: int | None = None) -> ValueError:
        return ValueError(f"{self._path}, line {line or self.line}: {what}.")

    def fields(self, number: int | None, what: str) -> list[str]:
        line = next(self._lines, None)
        if line is None:
            raise self.error(f"the file ends where {what} should be")
        fields = line.split()
        if number is not None and len(fields) != number:
            raise self.error(f"there should be {what}; there is {line.strip()[:80]!r}")
        return fields

    def integer(self, text: str, least: int, most: int | None) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) < least:
            raise self.error(f"there should be a number from {least} on; there is {text[:80]!r}")
        if most is not None and int(text) > most:
            raise self.error(f"{text} is more than the {most} columns that there may be")
        return int(text)

    def family(self) -> tuple[float, list[str], int]:
        """Return the score, the parents' names and the number of the line."""
        what = "a score, a number of parents and their names"
        fields = self.fields(None, what)
        try:
            score = float(fields[0])
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            raise self.error(f"{fields[0][:80]!r} is not a finite score")
        parents = fields[2:]
        if len(fields) < 2 or self.integer(fields[1], 0, None) != len(parents):
            raise self.error(f"there should be {what}; {len(parents)} names follow")
        return score, parents, self.line

    def end(self) -> None:
        if next(self._lines, None) is not None:
            raise self.error("the file goes on after the last column's parent sets")


def _resolve(
    reader: _Reader,
    child: int,
    families: list[tuple[float, list[str], int]],
    numbers: dict[str, int],
) -> Listed:
    """Return the families with their parents as numbers."""
    seen = set()
    members = []
    for _, names, line in families:
        for name in names:
            if name not in numbers:
                raise reader.error(f"the parent {name[:80]!r} is none of the columns", line)
        parents = sorted({numbers[name] for name in names})
        if len(parents) < len(names) or child in parents:
            raise reader.error("a parent is named twice, or is the child itself", line)
        if tuple(parents) in seen:
            raise reader.error("the same parents come a second time", line)
        seen.add(tuple(parents))
        members.append(parents)
    width = max(map(len, members), default=0)
    rows = [parents + [-1] * (width - len(parents)) for parents in members]
    scores = np.array([score for score, _, _ in families])
    return np.array(rows, dtype=np.int16).reshape(len(rows), width), scores

"""The text format of GOBNILP and BLIP for local scores, by Cussens.

The number of columns, and for each: a line with its name and its number of parent
sets, and of these a line each with the score, the number of parents and their names.
"""

from __future__ import annotations

import math
import os
import re
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._core.files import replaced_file
from skbn._core.text import readable_value
from skbn._scores.families import Listed
from skbn._scores.parent_rows import MOST_COLUMNS, padded_rows, repeated_row

__all__ = ["LARGEST_SCORE", "read_jkl", "write_jkl"]

# The sum of as many of these as there may be columns is finite.
LARGEST_SCORE = 1e300
_LONGEST_LINE = 1 << 20
# Without white space, control characters, and bytes that are not UTF-8.
_NAME = re.compile(r"[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
# The padding of the rows of parents: so many times their members, or this many numbers.
_PADDING, _MOST_PADDED = 16, 1 << 27


def write_jkl(
    path: str | os.PathLike[str], columns: list[str | int], families: Iterable[Listed]
) -> None:
    """Write the families of each column; the file appears when it is complete.

    Raises
    ------
    ValueError
        If a column's name is empty or has white space or control characters in it; if a
        line would be longer than `read_jkl` reads, or a score larger.
    """
    names = [str(column) for column in columns]
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"Column {name!r} cannot be written, as the format separates by spaces and keeps "
                "no control characters; rename it."
            )
    with replaced_file(path) as file:
        file.write(f"{len(names)}\n")
        for name, (parents, scores) in zip(names, families, strict=True):
            _write(file, f"{name} {len(scores)}\n", name)
            for row, score in zip(parents.tolist(), scores.tolist(), strict=True):
                members = [names[p] for p in row if p >= 0]
                if not abs(score) <= LARGEST_SCORE:
                    raise ValueError(
                        f"Column {name!r} with the parents {members} has the score "
                        f"{readable_value(score)}, which cannot be written: it is not finite, or "
                        f"beyond {LARGEST_SCORE}."
                    )
                _write(file, " ".join([repr(score), str(len(members)), *members]) + "\n", name)


def _write(file: IO[str], line: str, name: str) -> None:
    if len(line) >= _LONGEST_LINE:
        raise ValueError(
            f"Column {_cut(name)} cannot be written: a line has {_LONGEST_LINE:,} characters or "
            "more. Rename the columns."
        )
    file.write(line)


def read_jkl(path: str | os.PathLike[str]) -> tuple[list[str], list[Listed]]:
    """Return the columns' names, and the families of each.

    Raises
    ------
    ValueError
        If the file is not of this format, naming the line.
    """
    with Path(path).open(encoding="utf-8-sig", errors="surrogateescape") as file:
        reader = _Reader(file, path)
        fields = reader.fields("the number of columns")
        while fields[0] == "META":  # what GOBNILP may write before it
            fields = reader.fields("the number of columns")
        n_columns = reader.integer(" ".join(fields), 1, MOST_COLUMNS)
        names: dict[str, _Families] = {}
        for _ in range(n_columns):
            reader.column(names)
        reader.end(list(names))
    return list(names), reader.listed(names)


class _Families(NamedTuple):
    """Families of a column; names stand for themselves by the order of their first mention."""

    scores: array[float]
    sizes: array[int]
    members: array[int]
    lines: array[int]


class _Reader:
    """Lines of a file, their fields, and errors that name the line."""

    def __init__(self, file: IO[str], path: str | os.PathLike[str]) -> None:
        self._lines = self._fields_of_lines(file)
        self._path = path
        self._line = 0
        self._mentions: dict[str, int] = {}  # the number of each name
        self._mention_lines: list[int] = []
        self._fields: list[str] = []  # of this line
        self._ends_in_space = True  # the file, if it has been read to its end

    def _fields_of_lines(self, file: IO[str]) -> Iterator[list[str]]:
        """Yield the fields of each line that has any."""
        rest = ""
        while piece := file.read(_LONGEST_LINE):
            *lines, rest = (rest + piece).split("\n")
            for text in lines:
                self._line += 1
                if fields := text.split():
                    if len(text) >= _LONGEST_LINE:
                        raise self._too_long()
                    yield fields
            if len(rest) >= _LONGEST_LINE:
                self._line += 1
                raise self._too_long()
        if fields := rest.split():
            self._line += 1
            self._ends_in_space = rest[-1].isspace()
            yield fields

    def _too_long(self) -> ValueError:
        return self.error(f"a line has {_LONGEST_LINE:,} characters or more")

    def error(self, what: str, line: int | None = None) -> ValueError:
        return ValueError(f"{self._path}, line {line or self._line}: {what}.")

    def fields(self, what: str) -> list[str]:
        for fields in self._lines:
            self._fields = fields
            return fields
        raise self.error(f"the file ends where {what} should be")

    def integer(self, text: str, least: int, most: int | None = None) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) < least:
            raise self.error(f"there should be a number from {least} on; there is {_cut(text)}")
        if most is not None and int(text) > most:
            raise self.error(f"{text} is more than the {most} columns that there may be")
        return int(text)

    def column(self, names: dict[str, _Families]) -> None:
        """Read a column's line and its families."""
        what = "a column's name and its number of parent sets"
        fields = self.fields(what)
        if len(fields) != 2:
            raise self.error(f"there should be {what}; there is {_cut(' '.join(fields))}")
        name, count = fields
        if name in names:
            raise self.error(f"the column {_cut(name)} comes a second time")
        child = self._number(name)
        n_sets = self.integer(count, 0)
        names[name] = families = _Families(array("d"), array("q"), array("q"), array("q"))
        for _ in range(n_sets):
            self._family(child, families)

    def _family(self, child: int, families: _Families) -> None:
        what = "a score, a number of parents and their names"
        fields = self.fields(what)
        score = self._score(fields[0])
        parents = fields[2:]
        n_parents = len(parents)
        if len(fields) < 2 or (
            fields[1] != str(n_parents) and self.integer(fields[1], 0) != n_parents
        ):
            raise self.error(f"there should be {what}; {n_parents} names follow")
        try:
            members = [self._mentions[name] for name in parents]
        except KeyError:
            members = [self._number(name) for name in parents]
        if child in members or len(set(members)) < n_parents:
            raise self.error("a parent is named twice, or is the child itself")
        families.scores.append(score)
        families.sizes.append(n_parents)
        families.members.extend(members)
        families.lines.append(self._line)

    def _score(self, text: str) -> float:
        try:
            score = float(text)
        except ValueError:
            score = math.nan
        # Python reads 1_000 and the digits of all scripts as well.
        if -LARGEST_SCORE <= score <= LARGEST_SCORE and text.isascii() and "_" not in text:
            return score
        if math.isfinite(score) and abs(score) > LARGEST_SCORE:
            raise self.error(f"the score {_cut(text)} is beyond {LARGEST_SCORE}")
        raise self.error(f"{_cut(text)} is not a finite score; a family without one is left out")

    def _number(self, name: str) -> int:
        """Return the number of a name."""
        number = self._mentions.get(name)
        if number is None:
            if not _NAME.fullmatch(name):
                raise self.error(
                    f"the name {_cut(name)} has bytes that are not UTF-8, or control characters"
                )
            number = self._mentions[name] = len(self._mentions)
            self._mention_lines.append(self._line)
        return number

    def end(self, names: list[str]) -> None:
        """Raise if the file goes on, or may be cut off within a parent's name."""
        last = self._fields
        if next(self._lines, None) is not None:
            raise self.error("the file goes on after the last column's parent sets")
        if self._ends_in_space or len(last) < 3:
            return
        for name in names:
            if name.startswith(last[-1]) and name != last[-1]:
                raise self.error(
                    f"the file may have been cut off: it ends with {_cut(last[-1])}, with which "
                    f"the column {_cut(name)} begins, and without a line break. If it is "
                    "complete, add one"
                )

    def listed(self, names: dict[str, _Families]) -> list[Listed]:
        """Return the families with their parents as columns' numbers."""
        for name, line in zip(self._mentions, self._mention_lines, strict=True):
            if name not in names:
                raise self.error(f"the parent {_cut(name)} is none of the columns", line)
        column_of = np.empty(len(names), dtype=np.int16)
        column_of[[self._mentions[name] for name in names]] = np.arange(len(names))
        self._check_padding(names)
        return [self._rows(families, column_of) for families in names.values()]

    def _rows(self, families: _Families, column_of: npt.NDArray[np.int16]) -> Listed:
        members = column_of[np.array(families.members, dtype=np.int64)]
        rows = padded_rows(members, np.array(families.sizes, dtype=np.int64))
        repeated = repeated_row(rows)
        if repeated is not None:
            line = families.lines[repeated]
            raise self.error("the same parents come a second time", line)
        return rows, np.array(families.scores)

    def _check_padding(self, names: dict[str, _Families]) -> None:
        """Raise if rows as long as the longest would take far more memory than the file."""
        n_padded = n_members = 0
        for name, (scores, sizes, members, lines) in names.items():
            width = max(sizes, default=0)
            n_padded += width * len(scores)
            n_members += len(scores) + len(members)
            if n_padded > max(_MOST_PADDED, _PADDING * n_members):
                raise self.error(
                    f"this parent set of the column {_cut(name)} has {width:,} members, and most "
                    f"others are far smaller: a table of {n_padded:,} numbers would be needed. "
                    "Leave it out",
                    lines[sizes.index(width)],
                )


def _cut(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")

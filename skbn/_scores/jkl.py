"""The text format of GOBNILP and BLIP for local scores, by Cussens.

The first line is the number of columns. Each column has a line with its name and its number of
parent sets, and then a line for each set: the score, the number of parents and their names.
"""

import math
import os
import re
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import numpy as np

from skbn._core.arrays import Floats, Integers, ShortIntegers
from skbn._core.files import replaced_file
from skbn._core.text import readable_value
from skbn._scores.families import ScoredParentSets

# Rows of parents are of int16. A sum of this many of the largest scores is finite.
MOST_COLUMNS = np.iinfo(np.int16).max
LARGEST_SCORE = 1e300
# The families of a column, as they are read: their scores, their parents as rows of the numbers in
# `_Reader.mentions`, padded with -1, and their lines.
_Listed = tuple[Floats, Integers, "array[int]"]
# No white space, no control characters, and no bytes that are not UTF-8.
_NAME = re.compile(r"[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


def write_jkl(
    path: str | os.PathLike[str], columns: list[str | int], families: Iterable[ScoredParentSets]
) -> None:
    """Write the families of each column; the file appears when it is complete."""
    names = [str(column) for column in columns]
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"Column {name!r} cannot be written, as the format separates names by spaces and "
                "has no control characters. Rename it."
            )
    with replaced_file(path) as file:
        file.write(f"{len(names)}\n")
        for name, (parents, scores) in zip(names, families, strict=True):
            file.write(f"{name} {len(scores)}\n")
            for row, score in zip(parents.tolist(), scores.tolist(), strict=True):
                members = [names[p] for p in row if p >= 0]
                if not abs(score) <= LARGEST_SCORE:
                    raise ValueError(
                        f"Column {name!r} with the parents {members} has the score "
                        f"{readable_value(score)}, which cannot be written: it is not finite, or "
                        f"beyond {LARGEST_SCORE}."
                    )
                file.write(" ".join([repr(score), str(len(members)), *members]) + "\n")


def read_jkl(path: str | os.PathLike[str]) -> tuple[list[str], list[ScoredParentSets]]:
    """Return the columns' names, and the families of each.

    Raises ValueError if the file is not of this format, naming the line.
    """
    with Path(path).open(encoding="utf-8-sig", errors="surrogateescape") as file:
        reader = _Reader(file, path)
        what = "the number of columns"
        fields = reader.fields(what)
        while fields[0] == "META":  # GOBNILP may write such lines before it
            fields = reader.fields(what)
        n_columns = reader.integer(" ".join(fields), 1, MOST_COLUMNS)
        found: dict[str, _Listed] = {}
        for _ in range(n_columns):
            reader.read_column(found)
        reader.require_end(found)
    for name, line in zip(reader.mentions, reader.mention_lines, strict=True):
        if name not in found:
            raise reader.error(f"the parent {_cut(name)} is not a column", line)
    place = {name: x for x, name in enumerate(found)}
    # The column of each name that the file mentions, and of the padding, which is sorted last.
    column_of = np.array([*map(place.get, reader.mentions), MOST_COLUMNS], dtype=np.int16)
    families = []
    for scores, mentioned, lines in found.values():
        rows = np.sort(column_of[mentioned], axis=1)
        rows[rows == MOST_COLUMNS] = -1
        repeated = repeated_row(rows)
        if repeated is not None:
            raise reader.error("the same set of parents is repeated", lines[repeated])
        families.append((rows, scores))
    return list(found), families


class _Reader:
    """Lines of a file, their fields, and errors that name the line.

    `mentions`: the names in the order in which they come up first, by which they are numbered
    `mention_lines`: the line in which each comes up first
    """

    def __init__(self, file: IO[str], path: str | os.PathLike[str]) -> None:
        self._file, self._path = file, path
        self._line, self._text = 0, "\n"
        self._fields: list[str] = []
        self.mentions: dict[str, int] = {}
        self.mention_lines: list[int] = []

    def error(self, what: str, line: int | None = None) -> ValueError:
        return ValueError(f"{self._path}, line {line or self._line}: {what}.")

    def fields(self, what: str = "") -> list[str]:
        """Return the fields of the next line that has any; none at the end, if none is expected."""
        for text in self._file:
            self._line, self._text = self._line + 1, text
            if fields := text.split():
                self._fields = fields
                return fields
        if what:
            raise self.error(f"the file ends; expected {what}")
        return []

    def integer(self, text: str, least: int, most: int | None = None) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) < least:
            raise self.error(f"expected a number of at least {least}; got {_cut(text)}")
        if most is not None and int(text) > most:
            raise self.error(f"{text} is more than {most}, the largest number of columns")
        return int(text)

    def read_column(self, found: dict[str, _Listed]) -> None:
        """Read a column's line and its families."""
        what = "a column's name and its number of parent sets"
        fields = self.fields(what)
        if len(fields) != 2:
            raise self.error(f"expected {what}; got {_cut(' '.join(fields))}")
        name, count = fields
        if name in found:
            raise self.error(f"the column {_cut(name)} is repeated")
        child, n_sets = self._number(name), self.integer(count, 0)
        scores, sizes, members, lines = array("d"), array("q"), array("q"), array("q")
        for _ in range(n_sets):
            score, parents = self._family(child)
            scores.append(score)
            sizes.append(len(parents))
            members.extend(parents)
            lines.append(self._line)
        width = max(sizes, default=0)
        mentioned = np.full((n_sets, width), -1)
        mentioned[np.arange(width) < np.array(sizes)[:, np.newaxis]] = members
        found[name] = np.array(scores), mentioned, lines

    def _family(self, child: int) -> tuple[float, list[int]]:
        """Return the score on the next line, and the parents by their numbers."""
        what = "a score, a number of parents and their names"
        fields = self.fields(what)
        score, parents = self._score(fields[0]), fields[2:]
        n = len(parents)
        if len(fields) < 2 or (fields[1] != str(n) and self.integer(fields[1], 0) != n):
            raise self.error(f"expected {what}; {n} names follow")
        try:
            members = [self.mentions[name] for name in parents]
        except KeyError:
            members = [self._number(name) for name in parents]
        if child in members or len(set(members)) < n:
            raise self.error("a parent is named twice, or is the child itself")
        return score, members

    def _score(self, text: str) -> float:
        try:
            score = float(text)
        except ValueError:
            score = math.nan
        # Python also reads 1_000, and the digits of all scripts.
        if abs(score) <= LARGEST_SCORE and text.isascii() and "_" not in text:
            return score
        if LARGEST_SCORE < abs(score) < math.inf:
            raise self.error(f"the score {_cut(text)} is beyond {LARGEST_SCORE}")
        raise self.error(f"{_cut(text)} is not a finite score. Leave out families without one")

    def _number(self, name: str) -> int:
        """Return the number of a name; a new name gets the next one."""
        if name not in self.mentions:
            if not _NAME.fullmatch(name):
                raise self.error(
                    f"the name {_cut(name)} has bytes that are not UTF-8, or control characters"
                )
            self.mentions[name] = len(self.mentions)
            self.mention_lines.append(self._line)
        return self.mentions[name]

    def require_end(self, names: Iterable[str]) -> None:
        """Raise if the file goes on, or may be cut off within a parent's name."""
        last = self._fields
        if self.fields():
            raise self.error("the file goes on after the last column's parent sets")
        for name in names if len(last) > 2 and not self._text[-1].isspace() else []:
            if name.startswith(last[-1]) and name != last[-1]:
                raise self.error(
                    f"the file may have been cut off: it ends without a line break with "
                    f"{_cut(last[-1])}, which may be the beginning of the column {_cut(name)}. If "
                    "the file is complete, add a line break"
                )


def repeated_row(rows: ShortIntegers) -> int | None:
    """Return the number of the first row that equals an earlier one, or None.

    >>> repeated_row(np.array([[1, 2], [1, 3], [1, 2]], dtype=np.int16))
    2
    """
    n, width = rows.shape
    if n < 2 or width == 0:
        return 1 if n > 1 else None
    order = np.lexsort(rows.T)  # stable: among equal rows, later ones follow
    repeats = (rows[order[1:]] == rows[order[:-1]]).all(axis=1)
    return int(order[1:][repeats].min()) if repeats.any() else None


def _cut(text: str) -> str:
    """Return a quoted text, shortened to 80 characters."""
    return repr(text if len(text) <= 80 else text[:77] + "...")

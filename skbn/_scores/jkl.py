"""The text format of GOBNILP and BLIP for local scores, by Cussens.

The first line is the number of columns. Each column has a line with its name and its number of
parent sets, and then a line for each set: the score, the number of parents and their names.
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

from skbn._core.arrays import ShortIntegers
from skbn._core.files import replaced_file
from skbn._core.text import readable_value
from skbn._scores.families import ScoredParentSets

# Rows of parents are of int16. A sum of this many of the largest scores is finite.
MOST_COLUMNS = np.iinfo(np.int16).max
LARGEST_SCORE = 1e300
# No white space, no control characters, and no bytes that are not UTF-8.
_NAME = re.compile(r"[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


def write_jkl(
    path: str | os.PathLike[str], columns: list[str | int], families: Iterable[ScoredParentSets]
) -> None:
    """Write the families of each column; the file appears when it is complete.

    Raises
    ------
    ValueError
        If a column's name is empty or contains white space or control characters; if a
        score is beyond `LARGEST_SCORE`.
    """
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

    Raises
    ------
    ValueError
        If the file is not of this format, naming the line.
    """
    with Path(path).open(encoding="utf-8-sig", errors="surrogateescape") as file:
        reader = _Reader(file, path)
        fields = reader.fields("the number of columns")
        while fields[0] == "META":  # GOBNILP may write such lines before it
            fields = reader.fields("the number of columns")
        n_columns = reader.integer(" ".join(fields), 1, MOST_COLUMNS)
        names: dict[str, _Families] = {}
        for _ in range(n_columns):
            reader.column(names)
        reader.end(list(names))
    return list(names), reader.listed(names)


class _Families(NamedTuple):
    """The families of a column, as they are read; one entry for each, except `members`."""

    scores: array[float]
    sizes: array[int]
    members: array[int]  # of all sets, one after the other, by the order of the names' first use
    lines: array[int]


class _Reader:
    """Lines of a file, their fields, and errors that name the line."""

    def __init__(self, file: IO[str], path: str | os.PathLike[str]) -> None:
        self._lines = self._lines_with_fields(file)
        self._path = path
        self._line = 0
        self._mentions: dict[str, int] = {}  # the number of each name, from its first use on
        self._mention_lines: list[int] = []
        self._fields: list[str] = []  # of this line
        self._ends_in_space = True  # of this line, or of the file once it has been read

    def _lines_with_fields(self, file: IO[str]) -> Iterator[list[str]]:
        """Yield the fields of each line that has any."""
        for text in file:
            self._line += 1
            self._ends_in_space = text[-1].isspace()
            if fields := text.split():
                yield fields

    def error(self, what: str, line: int | None = None) -> ValueError:
        return ValueError(f"{self._path}, line {line or self._line}: {what}.")

    def fields(self, what: str) -> list[str]:
        for fields in self._lines:
            self._fields = fields
            return fields
        raise self.error(f"the file ends; expected {what}")

    def integer(self, text: str, least: int, most: int | None = None) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) < least:
            raise self.error(f"expected a number of at least {least}; got {_cut(text)}")
        if most is not None and int(text) > most:
            raise self.error(f"{text} is more than {most}, the largest number of columns")
        return int(text)

    def column(self, names: dict[str, _Families]) -> None:
        """Read a column's line and its families."""
        what = "a column's name and its number of parent sets"
        fields = self.fields(what)
        if len(fields) != 2:
            raise self.error(f"expected {what}; got {_cut(' '.join(fields))}")
        name, count = fields
        if name in names:
            raise self.error(f"the column {_cut(name)} is repeated")
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
            raise self.error(f"expected {what}; {n_parents} names follow")
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
        # Python also reads 1_000, and the digits of all scripts.
        if -LARGEST_SCORE <= score <= LARGEST_SCORE and text.isascii() and "_" not in text:
            return score
        if math.isfinite(score) and abs(score) > LARGEST_SCORE:
            raise self.error(f"the score {_cut(text)} is beyond {LARGEST_SCORE}")
        raise self.error(f"{_cut(text)} is not a finite score. Leave out families without one")

    def _number(self, name: str) -> int:
        """Return the number of a name; a new name gets the next one."""
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
                    f"the file may have been cut off: it ends without a line break with "
                    f"{_cut(last[-1])}, which may be the beginning of the column {_cut(name)}. If "
                    "the file is complete, add a line break"
                )

    def listed(self, names: dict[str, _Families]) -> list[ScoredParentSets]:
        """Return the families with their parents as columns' numbers."""
        for name, line in zip(self._mentions, self._mention_lines, strict=True):
            if name not in names:
                raise self.error(f"the parent {_cut(name)} is not a column", line)
        column_of = np.empty(len(names), dtype=np.int16)
        column_of[[self._mentions[name] for name in names]] = np.arange(len(names))
        return [self._scored_sets(families, column_of) for families in names.values()]

    def _scored_sets(self, families: _Families, column_of: ShortIntegers) -> ScoredParentSets:
        members = column_of[np.array(families.members, dtype=np.int64)]
        rows = _padded_rows(members, np.array(families.sizes, dtype=np.int64))
        repeated = repeated_row(rows)
        if repeated is not None:
            line = families.lines[repeated]
            raise self.error("the same set of parents is repeated", line)
        return rows, np.array(families.scores)


def _padded_rows(members: ShortIntegers, sizes: npt.NDArray[np.intp]) -> ShortIntegers:
    """Return sets as rows, padded with -1, from their members one after the other.

    Examples
    --------
    >>> _padded_rows(np.array([7, 3, 5], dtype=np.int16), np.array([2, 0, 1]))
    array([[ 3,  7],
           [-1, -1],
           [ 5, -1]], dtype=int16)
    """
    width = int(sizes.max(initial=0))
    rows = np.full((len(sizes), width), MOST_COLUMNS, dtype=np.int16)  # sorted behind any column
    rows[np.arange(width) < sizes[:, None]] = members
    rows.sort(axis=1)
    rows[rows == MOST_COLUMNS] = -1
    return rows


def repeated_row(rows: ShortIntegers) -> int | None:
    """Return the number of the first row that equals an earlier one, or None.

    Examples
    --------
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

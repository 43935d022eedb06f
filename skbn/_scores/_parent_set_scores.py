"""ParentSetScores: the scores of listed families, without the rows they come from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Self

import numpy as np
import numpy.typing as npt

from skbn._columns import family_numbers
from skbn._scores._families import Listed, Scored
from skbn._scores._jkl import read_jkl
from skbn._scores._scored_families import ScoredFamilies
from skbn._scores._summary import ScoresSummary

__all__ = ["ParentSetScores"]


class ParentSetScores(ScoredFamilies):
    """The local scores of some families of each column; all others are ruled out.

    `GaussianBNLearner` finds the best network of these families, whatever computed
    their scores, Gaussian or not. Without rows it has no parameters.

    Parameters
    ----------
    columns : list of str
    families : list of (parents, scores)
        For each column as a child: its parents' numbers, ascending, as an array of shape
        (n_families, width), rows padded with -1 at their end; and the local scores in nats,
        shape (n_families,), finite. A set of parents comes once.

    Attributes
    ----------
    feature_names_in_ : ndarray of shape (m,) of str
        The columns' names.

    Raises
    ------
    ValueError
        If the columns or the families are not as above, naming the child.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from skbn import GaussianBNLearner, ParentSetScores
    >>> lines = ["2", "rain 2", "-9.5 0", "-7.0 1 wet", "wet 2", "-8.0 0", "-5.0 1 rain"]
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "scores.jkl"
    ...     _ = path.write_text(chr(10).join(lines))
    ...     scores = ParentSetScores.from_jkl(path)
    >>> scores
    <ParentSetScores of 4 families, 2 columns, 40 B>
    >>> GaussianBNLearner().fit(scores).network_score_
    -14.5
    """

    def __init__(self, columns: list[str], families: list[Listed]) -> None:
        if len(set(columns)) < len(columns) or len(columns) != len(families):
            raise ValueError(
                f"There must be families of each of the columns, and no column twice; got "
                f"{columns} and {len(families)} lists of families."
            )
        self._columns = list(columns)
        self._families = [_checked(columns, x, *listed) for x, listed in enumerate(families)]
        self.feature_names_in_ = np.array(columns, dtype=object)

    @classmethod
    def from_jkl(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file of local scores as GOBNILP, BLIP and `to_jkl` write it.

        Its first line is the number of columns. For each column follow a line with its
        name and its number of parent sets, and a line for each of these: the local score,
        the number of parents, and their names. Spaces separate.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        scores : ParentSetScores

        Raises
        ------
        ValueError
            If the file is not of this format, with the number of the line; if a name is
            not that of a column, a parent set comes twice, or a score is not finite.
        OSError
            If it cannot be read.
        """
        names, families = read_jkl(path)
        return cls(names, families)

    @property
    def columns(self) -> list[str | int]:
        """The columns' names."""
        return [*self._columns]

    @property
    def n_families(self) -> int:
        """Number of families."""
        return sum(len(scores) for _, scores in self._families)

    def local_score(self, child: str | int, parents: Iterable[str | int] = ()) -> float:
        """Return the local score of a family, in nats; larger is better.

        Parameters
        ----------
        child : str or int
            A column, by name or number.
        parents : iterable of str or int
            Other columns.

        Returns
        -------
        score : float
            -inf if the family is not listed.

        Raises
        ------
        ValueError
            If there is no such column, one is given twice, or the child is among its
            parents.
        TypeError
            If a column is given as anything else, or the parents are no list.
        """
        x, others = family_numbers(self.columns, child, parents)
        listed, scores = self._families[x]
        width = listed.shape[1]
        if len(others) > width:
            return -np.inf
        row = np.array(sorted(others) + [-1] * (width - len(others)), dtype=listed.dtype)
        found = np.flatnonzero((listed == row).all(axis=1))
        return float(scores[found[0]]) if len(found) else -np.inf

    def magnitude(self, child: int, parents: list[int]) -> float:
        """Return the magnitude of a listed local score."""
        return abs(self.local_score(child, parents))

    def listed(
        self, child: int, required: list[int], candidates: list[int], max_parents: int
    ) -> Listed:
        """Return the families whose parents are the required and any of the candidates."""
        parents, scores = self._families[child]
        # The last of each array is what -1, which pads the rows, stands for.
        may_be, must_be = np.zeros((2, len(self._columns) + 1), dtype=bool)
        may_be[[*required, *candidates, -1]] = True
        must_be[required] = True
        allowed = may_be[parents].all(axis=1) & ((parents >= 0).sum(axis=1) <= max_parents)
        if required:
            allowed &= must_be[parents].sum(axis=1) == len(required)
        return parents[allowed], scores[allowed]

    def _overview(self) -> ScoresSummary:
        n_bytes = sum(parents.nbytes + scores.nbytes for parents, scores in self._families)
        return ScoresSummary(type(self).__name__, self.n_families, None, self._columns, {}, n_bytes)

    def _scored(self, child: int, candidates: list[int]) -> Iterator[Scored]:
        parents, scores = self.listed(child, [], candidates, len(self._columns))
        yield scores, lambda i: [int(p) for p in parents[i] if p >= 0]

    def _undominated(self, child: int) -> Listed:
        """Return the families of a child that score higher than all with fewer of their parents."""
        parents, scores = self._families[child]
        members = [frozenset(row[row >= 0].tolist()) for row in parents]
        kept: dict[frozenset[int], int] = {}
        # Better ones, and of equals the smaller ones, come first.
        for i in sorted(range(len(scores)), key=lambda i: (-scores[i], len(members[i]))):
            if not _has_subset(members[i], kept):
                kept[members[i]] = i
        rows = sorted(kept.values())
        return parents[rows], scores[rows]


def _has_subset(members: frozenset[int], sets: dict[frozenset[int], int]) -> bool:
    """Whether one of some sets is a subset of another set: the shorter way to see."""
    if len(sets) < 1 << len(members):
        return any(each <= members for each in sets)
    sizes = range(len(members) + 1)
    return any(frozenset(some) in sets for size in sizes for some in combinations(members, size))


def _checked(
    columns: list[str], child: int, parents: npt.ArrayLike, scores: npt.ArrayLike
) -> Listed:
    """Return the families of a child as arrays of their own."""
    rows = np.array(parents, dtype=np.int16, ndmin=2)
    values = np.array(scores, dtype=np.float64)
    is_parent = rows >= 0
    is_fine = bool(rows.ndim == 2 and values.shape == (len(rows),) and np.isfinite(values).all())
    if is_fine:
        ascends = (np.diff(rows, axis=1) > 0) | ~is_parent[:, 1:]
        in_front = is_parent[:, :-1] | ~is_parent[:, 1:]
        others = (rows >= -1) & (rows < len(columns)) & (rows != child)
        once = len(np.unique(rows, axis=0)) == len(rows)
        is_fine = bool(ascends.all() and in_front.all() and others.all() and once)
    if not is_fine:
        raise ValueError(
            f"The families of column {columns[child]!r} must be rows of other columns' numbers, "
            "ascending and padded with -1, each once, and a finite score for each."
        )
    return rows, values

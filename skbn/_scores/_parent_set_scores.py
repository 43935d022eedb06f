"""ParentSetScores: the scores of listed families, without the rows they come from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Self

import numpy as np

from skbn._columns import family_numbers
from skbn._scores._families import Listed, Scored
from skbn._scores._jkl import read_jkl
from skbn._scores._scored_families import ScoredFamilies

__all__ = ["ParentSetScores"]


class ParentSetScores(ScoredFamilies):
    """The local scores of some families of each column; all others are ruled out.

    `GaussianBNLearner` finds the best network of these families, whatever computed
    their scores, Gaussian or not. Without rows it has no parameters.

    Parameters
    ----------
    columns : list of str or int
    families : list of (parents, scores)
        For each column as a child: its parents' numbers, ascending, as an ndarray of
        shape (n_families, width), int16, rows padded with -1; and the local scores in
        nats, shape (n_families,), float64. A set of parents comes once.

    Attributes
    ----------
    feature_names_in_ : ndarray of shape (m,) of str
        Only if all columns have names.

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
    <ParentSetScores of 4 families, 2 columns>
    >>> GaussianBNLearner().fit(scores).network_score_
    -14.5
    """

    def __init__(self, columns: list[str | int], families: list[Listed]) -> None:
        self._columns = columns
        self._families = families
        if all(isinstance(column, str) for column in columns):
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
        return cls(list(names), families)

    @property
    def columns(self) -> list[str | int]:
        """The columns' names."""
        return list(self._columns)

    @property
    def n_families(self) -> int:
        """Number of families."""
        return sum(len(scores) for _, scores in self._families)

    def __repr__(self) -> str:
        return f"<ParentSetScores of {self.n_families} families, {len(self._columns)} columns>"

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
        x, others = family_numbers(self._columns, child, parents)
        listed, scores = self._families[x]
        width = listed.shape[1]
        if len(others) > width:
            return -np.inf
        row = np.array(sorted(others) + [-1] * (width - len(others)), dtype=listed.dtype)
        found = np.flatnonzero((listed == row).all(axis=1))
        return float(scores[found[0]]) if len(found) else -np.inf

    def listed(
        self, child: int, required: list[int], candidates: list[int], max_parents: int
    ) -> Listed:
        """Return the families whose parents are the required and any of the candidates."""
        parents, scores = self._families[child]
        allowed = np.isin(parents, [-1, *required, *candidates]).all(axis=1)
        allowed &= (parents >= 0).sum(axis=1) <= max_parents
        for column in required:
            allowed &= (parents == column).any(axis=1)
        return parents[allowed], scores[allowed]

    def _scored(self, child: int, candidates: list[int]) -> Iterator[Scored]:
        parents, scores = self.listed(child, [], candidates, len(self._columns))
        yield scores, lambda i: [int(p) for p in parents[i] if p >= 0]

    def _undominated(self, child: int) -> Listed:
        """Return the families of a child that score higher than all with fewer of their parents."""
        parents, scores = self._families[child]
        members = [frozenset(row[row >= 0].tolist()) for row in parents]
        order = sorted(range(len(scores)), key=lambda i: (-scores[i], len(members[i])))
        kept: list[int] = []
        for i in order:  # better ones, and of equals the smaller ones, come first
            if not any(members[j] <= members[i] for j in kept):
                kept.append(i)
        kept.sort()
        return parents[kept], scores[kept]

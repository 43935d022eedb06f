"""ParentSetScores: the scores of listed families, without the rows they come from."""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import Floats
from skbn._core.columns import family_numbers, is_labelled
from skbn._core.resources import read_only
from skbn._core.subsets import members_of
from skbn._core.text import readable_value
from skbn._data.containers import row_labels
from skbn._data.row_values import in_order_of_rows
from skbn._data.sample import Sample
from skbn._scores.base import BaseScores
from skbn._scores.families import Limits, ScoredParentSets, ScoredPiece
from skbn._scores.jkl import LARGEST_SCORE, MOST_COLUMNS, read_jkl, repeated_row


class ParentSetScores(BaseScores):
    """The local scores of some families of each column; all others are ruled out.

    `GaussianBNLearner` finds the best network of these families, whatever program computed
    their scores, Gaussian or not. As there are no rows, the network has no parameters.

    Parameters
    ----------
    columns : list of str
        Different names.
    families : list of (parents, scores)
        For each column as a child: its parents' numbers, ascending, as an array of shape
        (n_families, width), rows padded with -1 at their end; and the local scores in nats,
        shape (n_families,), finite and at most 1e300 in magnitude. A set of parents comes once.

    Attributes
    ----------
    feature_names_in_ : ndarray of shape (m,) of str
        The columns' names.

    Raises
    ------
    ValueError
        If the columns or the families are not as above, naming the child.

    See Also
    --------
    LocalScores : Scores of all families of a table.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from skbn import GaussianBNLearner, ParentSetScores
    >>> lines = ["2", "rain 2", "-9.5 0", "-7.0 1 wet", "wet 2", "-8.0 0", "-5.0 1 rain"]
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "scores.jkl"
    ...     _ = path.write_text(chr(10).join(lines), encoding="utf-8")
    ...     scores = ParentSetScores.from_jkl(path)
    >>> scores
    <ParentSetScores of 4 families, 2 columns, 40 B>
    >>> GaussianBNLearner().fit(scores).network_score_
    -14.5
    """

    _why_no_rows = (
        "sample_weight and interventions need rows; ParentSetScores have none. List scores of "
        "weighted rows, or of the rows in which each child was not set."
    )

    def __init__(self, columns: list[str], families: list[ScoredParentSets]) -> None:
        columns = list(columns)
        if is_labelled(families):
            raise TypeError(
                "families must be a list with those of each column, in the order of the columns; "
                f"got {type(families).__name__}."
            )
        _check_columns(columns, len(families))
        self._columns = columns
        self._families = [
            _checked_families(columns, x, *listed) for x, listed in enumerate(families)
        ]
        self.feature_names_in_ = read_only(np.array(columns, dtype=object))

    @classmethod
    def from_jkl(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file of local scores as GOBNILP, BLIP and `to_jkl` write it.

        The first line is the number of columns. Then each column has a line with its name
        and its number of parent sets, followed by a line for each set with the local score,
        the number of parents, and their names. Fields are separated by spaces. Empty lines
        are skipped, and so are lines at the beginning that start with META.

        Larger local scores are better: scores of a program that minimises must be negated
        first. A family that is not in the file is ruled out.

        Parameters
        ----------
        path : str or path
            A file in UTF-8. Its contents are checked.

        Returns
        -------
        scores : ParentSetScores

        Raises
        ------
        ValueError
            If the file is not of this format, naming the line: for example, if a parent is
            not a column, a name has control characters, a parent set comes twice, a score is
            not finite or beyond 1e300, or the last name may have been cut off.
        OSError
            If the file cannot be read.
        """
        names, families = read_jkl(path)
        return cls(names, families)

    @property
    def columns(self) -> list[str | int]:
        """The columns' names."""
        return [*self._columns]

    @property
    def sample(self) -> Sample:
        """Raise a TypeError, since there are no rows."""
        raise TypeError("ParentSetScores have no rows. Pass the table.")

    @property
    def n_families(self) -> int:
        """Number of families."""
        return sum(len(scores) for _, scores in self._families)

    @property
    def largest_n_parents(self) -> int:
        """The largest number of parents of a family."""
        return max(parents.shape[1] for parents, _ in self._families)

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
            If a column is given as anything else, or the parents are not a list.
        """
        x, others = family_numbers(self.columns, child, parents)
        listed, scores = self._families[x]
        width = listed.shape[1]
        if len(others) > width:
            return -np.inf
        row = np.array(sorted(others) + [-1] * (width - len(others)), dtype=listed.dtype)
        found = np.flatnonzero((listed == row).all(axis=1))
        return float(scores[found[0]]) if len(found) else -np.inf

    @cached_property
    def _score_offsets(self) -> Floats:
        """The best local score of each child, shape (m,), in nats, read-only.

        The search compares scores by their differences from it, so that a constant that
        all of a child's scores share costs no digits.
        """
        best = [scores.max(initial=-LARGEST_SCORE) for _, scores in self._families]
        return read_only(np.array(best))

    def _network_terms(self, parents: Sequence[int]) -> Floats:
        """Return the terms of each column's local score, shape (k, m)."""
        scores = np.array([self.local_score(x, members_of(mask)) for x, mask in enumerate(parents)])
        return np.array([scores - self._score_offsets, self._score_offsets])

    def _listed(self, limits: Limits, max_parents: int) -> ScoredParentSets:
        """Return the families with all required parents and any of the candidates."""
        child, required, candidates = limits
        parents, scores = self._families[child]
        # Index -1, which pads the rows, is the last entry of each array.
        is_possible, is_required = np.zeros((2, len(self._columns) + 1), dtype=bool)
        is_possible[[*required, *candidates, -1]] = True
        is_required[required] = True
        allowed = is_possible[parents].all(axis=1) & ((parents >= 0).sum(axis=1) <= max_parents)
        if required:
            allowed &= is_required[parents].sum(axis=1) == len(required)
        return parents[allowed], scores[allowed]

    @property
    def _n_bytes(self) -> int:
        return sum(parents.nbytes + scores.nbytes for parents, scores in self._families)

    def _scored(self, child: int, candidates: list[int]) -> Iterator[ScoredPiece]:
        parents, scores = self._listed(Limits(child, [], candidates), len(self._columns))
        yield scores, lambda i: [int(p) for p in parents[i] if p >= 0]

    def _families_to_write(self, child: int) -> ScoredParentSets:
        return self._families[child]


def _check_columns(columns: list[str], n_lists: int) -> None:
    """Raise unless the columns are different names, one for each list of families."""
    if not 0 < len(columns) == n_lists <= MOST_COLUMNS:
        raise ValueError(
            f"There must be from 1 to {MOST_COLUMNS} columns, and a list of families for each; "
            f"got {len(columns)} columns and {n_lists} lists of families."
        )
    seen = set()
    for column in columns:
        if not isinstance(column, str):
            raise ValueError(f"Columns must be named by strings; got {readable_value(column)}.")
        if column in seen:
            raise ValueError(f"Columns must differ; got {readable_value(column)} twice.")
        seen.add(column)


def _checked_families(
    columns: list[str], child: int, parents: npt.ArrayLike, scores: npt.ArrayLike
) -> ScoredParentSets:
    """Return the families of a child as arrays of their own."""
    what = f"The scores of column {columns[child]!r}"
    scores = in_order_of_rows(scores, row_labels(parents), np.size(scores), what)
    rows, values = _array_of_kinds(parents, "iu", 2), _array_of_kinds(scores, "iuf", 1)
    if rows is not None and values is not None and _are_families(rows, values, child, len(columns)):
        return rows.astype(np.int16), values.astype(np.float64)
    raise ValueError(
        f"The families of column {columns[child]!r} must be rows of other columns' numbers, "
        "ascending and padded with -1, each once, and for each a finite score of at most "
        f"{LARGEST_SCORE} in magnitude."
    )


def _array_of_kinds(values: npt.ArrayLike, kinds: str, ndmin: int) -> npt.NDArray[Any] | None:
    """Return an array whose dtype is of one of these kinds; None if it is another."""
    try:
        array = np.array(values, ndmin=ndmin)
    except ValueError:  # lists of different lengths
        return None
    return array if array.dtype.kind in kinds or array.size == 0 else None


def _are_families(rows: npt.NDArray[Any], values: npt.NDArray[Any], child: int, m: int) -> bool:
    """Whether the rows are different sets of other columns than the child, with finite scores."""
    if rows.ndim != 2 or values.shape != (len(rows),):
        return False
    is_parent = rows >= 0
    ascends = (np.diff(rows, axis=1) > 0) | ~is_parent[:, 1:]
    is_padded_last = is_parent[:, :-1] | ~is_parent[:, 1:]
    is_other_column = (rows >= -1) & (rows < m) & (rows != child)
    are_sets = bool(ascends.all() and is_padded_last.all() and is_other_column.all())
    have_scores = bool((np.abs(values) <= LARGEST_SCORE).all())
    return are_sets and have_scores and repeated_row(rows.astype(np.int16)) is None

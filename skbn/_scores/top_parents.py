"""TopParents: a child's best sets of parents, as a list that shows itself as a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from skbn._core.text import html_table, readable_name, text_table

__all__ = ["ScoredParents", "TopParents"]

_MOST_ROWS = 50
_HEADER = ("rank", "score", "difference", "parents")


class ScoredParents(NamedTuple):
    """A set of parents and what it is worth to a child.

    Parameters
    ----------
    parents : list of str or int
        Columns, by name if they have names.
    score : float
        The family's local score, in nats.
    difference : float
        The score less that of the best parents; not positive.
    """

    parents: list[str | int]
    score: float
    difference: float


class TopParents(list[ScoredParents]):
    """A list of sets of parents, the best one first.

    Slices and sums of it are plain lists, since the ranks would not be theirs.

    Parameters
    ----------
    child : str or int
        Whose parents these are.
    top : iterable of ScoredParents

    Examples
    --------
    >>> TopParents("c", [ScoredParents(["a", "b"], -7.5, 0.0), ScoredParents([], -10.0, -2.5)])
    Parents of 'c', best first
    rank   score  difference  parents
       1   -7.50        0.00  a, b
       2  -10.00       -2.50  (none)
    """

    def __init__(self, child: str | int, top: Iterable[ScoredParents]) -> None:
        super().__init__(top)
        self.child = child

    def __repr__(self) -> str:
        return "\n".join([self._caption(), text_table(self._rows(), "rrrl", _HEADER)])

    def _repr_html_(self) -> str | None:
        return html_table(
            self._caption(), self._rows(), ["right", "right", "right", "left"], _HEADER
        )

    def _caption(self) -> str:
        return f"Parents of {self.child!r}, best first"

    def _rows(self) -> list[tuple[str, str, str, str]]:
        """Return the first sets as texts, and in a last row how many more there are."""
        rows = [
            (str(rank), f"{score:.2f}", f"{difference:.2f}", _joined(parents))
            for rank, (parents, score, difference) in enumerate(self[:_MOST_ROWS], start=1)
        ]
        n_left = len(self) - len(rows)
        return [*rows, ("...", "", "", f"and {n_left:,} more")] if n_left else rows


def _joined(parents: list[str | int]) -> str:
    names = [repr(name) if "," in str(name) else readable_name(name) for name in parents]
    return ", ".join(names) if names else "(none)"

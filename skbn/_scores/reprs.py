"""How scores and lists of parents are shown: as text, or as a table in a notebook."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeVar

from skbn._core.text import readable_count, readable_name, readable_size, shortened
from skbn._displays.notebook import TableRepr, html_table

# What is shown stays on one screen.
_MOST_NAMES = 20
_NAME_LENGTH = 40
_SETTING_LENGTH = 80
_MOST_ROWS = 50


@dataclass(frozen=True)
class ScoresSummary:
    """Numbers and names that are known before any score is computed.

    Parameters
    ----------
    kind : str
        The name of the class.
    n_families : int
    n_rows : int or None
        None if there are no rows.
    columns : sequence of str or int
        Names, or numbers if there are none.
    settings : mapping of str to str
    n_bytes : int
        Memory that the scores take, or will take.
    memory_note : str, default=""
        Text that follows the memory in the table.

    Examples
    --------
    >>> print(ScoresSummary("Scores", 4, None, ["a", "b"], {}, 48).line())
    <Scores of 4 families, 2 columns, 48 B>
    """

    kind: str
    n_families: int
    n_rows: int | None
    columns: Sequence[str | int]
    settings: Mapping[str, str]
    n_bytes: int
    memory_note: str = ""

    def line(self) -> str:
        """Return everything except the columns' names, on one line."""
        rows = "" if self.n_rows is None else f"{self.n_rows:,} rows x "
        parts = [
            f"{readable_count(self.n_families)} families",
            f"{rows}{len(self.columns):,} column{'s' * (len(self.columns) != 1)}",
            *(f"{name}={value}" for name, value in self._settings()),
            readable_size(self.n_bytes),
        ]
        return f"<{self.kind} of {', '.join(parts)}>"

    def html(self) -> str | None:
        """Return a table, or None if scikit-learn is set to display text."""
        rows = [
            ("families", readable_count(self.n_families)),
            *([] if self.n_rows is None else [("rows", f"{self.n_rows:,}")]),
            ("columns", f"{len(self.columns):,}{self._names()}"),
            *self._settings(),
            ("memory", readable_size(self.n_bytes) + self.memory_note),
        ]
        return html_table(self.kind, rows, "ll")

    def _settings(self) -> list[tuple[str, str]]:
        return [(name, shortened(value, _SETTING_LENGTH)) for name, value in self.settings.items()]

    def _names(self) -> str:
        """Return the first of the columns' names, as text to follow their number."""
        first = [name for name in self.columns[:_MOST_NAMES] if isinstance(name, str)]
        if not first:
            return ", without names"
        names = [shortened(readable_name(name), _NAME_LENGTH) for name in first]
        n_left = len(self.columns) - len(first)
        return f": {', '.join(names)}{f', ... and {n_left:,} more' if n_left else ''}"


class ScoredParents(NamedTuple):
    """A set of parents and the score of a child with them.

    Parameters
    ----------
    parents : list of str or int
        Columns, by name if they have names.
    score : float
        The family's local score, in nats.
    difference : float
        The score minus the best parents' score; not positive.
    """

    parents: list[str | int]
    score: float
    difference: float


Item = TypeVar("Item")


class _ParentSets(TableRepr, list[Item]):
    """Sets of parents of a child, shown as a table."""

    _what: ClassVar[str]

    def __init__(self, child: str | int, items: Iterable[Item]) -> None:
        super().__init__(items)
        self.child = child

    def _caption(self) -> str:
        return f"Parents of {self.child!r}, {self._what} first"

    def _rows(self) -> list[tuple[str, ...]]:
        """Return the first sets as texts, and in a last row the number of the others."""
        rows = [self._row(rank, item) for rank, item in enumerate(self[:_MOST_ROWS], start=1)]
        n_left, more = len(self) - len(rows), ("...", *[""] * (len(self._header) - 2))
        return [*rows, (*more, f"and {n_left:,} more")] if n_left else rows

    @abstractmethod
    def _row(self, rank: int, item: Item) -> tuple[str, ...]:
        """Return the texts of a set."""


class TopParents(_ParentSets[ScoredParents]):
    """A list of sets of parents, the best one first.

    Slices and sums of it are plain lists, since the ranks would not apply to them.

    Parameters
    ----------
    child : str or int
        The column whose parents these are.
    top : iterable of ScoredParents

    Examples
    --------
    >>> TopParents("c", [ScoredParents(["a", "b"], -7.5, 0.0), ScoredParents([], -10.0, -2.5)])
    Parents of 'c', best first
    rank   score  difference  parents
       1   -7.50        0.00  a, b
       2  -10.00       -2.50  (none)
    """

    _what, _alignments = "best", "rrrl"
    _header = ("rank", "score", "difference", "parents")

    def _row(self, rank: int, item: ScoredParents) -> tuple[str, ...]:
        return str(rank), f"{item.score:.2f}", f"{item.difference:.2f}", _joined(item.parents)


class ProbableParents(NamedTuple):
    """A set of parents, and how probable it is that these are a child's parents.

    Parameters
    ----------
    parents : list of str or int
        Columns, by name if they have names.
    probability : float
    """

    parents: list[str | int]
    probability: float


class ProbableParentSets(_ParentSets[ProbableParents]):
    """A list of sets of parents, the most probable one first.

    Parameters
    ----------
    child : str or int
        The column whose parents these are.
    parent_sets : iterable of ProbableParents

    Examples
    --------
    >>> ProbableParentSets("c", [ProbableParents(["a", "b"], 0.9), ProbableParents([], 0.0625)])
    Parents of 'c', most probable first
    probability  parents
          0.900  a, b
          0.062  (none)
    """

    _what, _alignments = "most probable", "rl"
    _header = ProbableParents._fields[::-1]

    def _row(self, rank: int, item: ProbableParents) -> tuple[str, ...]:
        return f"{item.probability:.3f}", _joined(item.parents)


def _joined(parents: list[str | int]) -> str:
    names = [repr(name) if "," in str(name) else readable_name(name) for name in parents]
    return ", ".join(names) if names else "(none)"

"""What scores of families tell of themselves, on a line or in a notebook's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skbn._core.text import html_table, readable_count, readable_name, readable_size, shortened

__all__ = ["ScoresSummary"]

_MOST_NAMES = 20
_NAME_LENGTH = 40
_SETTING_LENGTH = 80


@dataclass(frozen=True)
class ScoresSummary:
    """Numbers and names that are there before any score is computed.

    Parameters
    ----------
    kind : str
        The class.
    n_families : int
    n_rows : int or None
        None if there are no rows.
    columns : sequence of str or int
        Names, or numbers if there are none.
    settings : mapping of str to str
    n_bytes : int
        Memory that the scores take, or would take.
    of_what : str, default=""
        What follows the memory in the table.

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
    of_what: str = ""

    def line(self) -> str:
        """Return all but the columns' names on one line."""
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
            ("memory", readable_size(self.n_bytes) + self.of_what),
        ]
        return html_table(self.kind, rows, ["left", "left"])

    def _settings(self) -> list[tuple[str, str]]:
        return [(name, shortened(value, _SETTING_LENGTH)) for name, value in self.settings.items()]

    def _names(self) -> str:
        """Return what follows the number of columns: the first of their names."""
        first = [name for name in self.columns[:_MOST_NAMES] if isinstance(name, str)]
        if not first:
            return ", without names"
        names = [shortened(readable_name(name), _NAME_LENGTH) for name in first]
        n_left = len(self.columns) - len(first)
        return f": {', '.join(names)}{f', ... and {n_left:,} more' if n_left else ''}"

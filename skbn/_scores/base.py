"""BaseScores: what `LocalScores` and `ParentSetScores` share, and how scores are shown."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import networkx as nx
import numpy as np
import numpy.typing as npt

from skbn._core.arrays import Floats, Names, as_integer
from skbn._core.columns import column_number, column_numbers, parents_in
from skbn._core.graphs import exogenous_nodes
from skbn._core.subsets import mask_of
from skbn._core.text import readable_count, readable_name, readable_size, readable_value, shortened
from skbn._data.nodes import Nodes
from skbn._data.sample import Sample
from skbn._displays.notebook import TableRepr, html_table
from skbn._scores.families import ScoredParentSets, ScoredPiece
from skbn._scores.jkl import write_jkl

# What is shown stays on one screen.
_MOST_NAMES = 20
_NAME_LENGTH = 40
_SETTING_LENGTH = 80
_MOST_ROWS = 50


class ScoredParents(NamedTuple):
    """A set of parents and the score of a child with them."""

    parents: list[str | int]  # columns, by name if they have names
    score: float  # the family's local score, in nats
    difference: float  # the score minus the best parents' score; not positive


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

    `child`: the column whose parents these are

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
    """A set of parents, and how probable it is that these are a child's parents."""

    parents: list[str | int]  # columns, by name if they have names
    probability: float


class ProbableParentSets(_ParentSets[ProbableParents]):
    """A list of sets of parents, the most probable one first.

    `child`: the column whose parents these are

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


def _first_names(columns: Names) -> str:
    """Return the first of the columns' names, as text to follow their number."""
    first = [name for name in columns[:_MOST_NAMES] if isinstance(name, str)]
    if not first:
        return ", without names"
    names = [shortened(readable_name(name), _NAME_LENGTH) for name in first]
    n_left = len(columns) - len(first)
    return f": {', '.join(names)}{f', ... and {n_left:,} more' if n_left else ''}"


class BaseScores(ABC):
    """The local scores of families, each a child with a set of parents."""

    _nodes: Nodes | None = None  # which columns of a table make up each column here
    _why_no_rows: ClassVar[str] = ""  # why weights and interventions cannot be given, as an error

    @property
    @abstractmethod
    def columns(self) -> list[str | int]:
        """The columns' names, or their numbers if they have none."""

    @property
    @abstractmethod
    def sample(self) -> Sample:
        """The rows and their weights.

        Raises
        ------
        TypeError
            If there are none.
        """

    def with_sample_weight(self, sample_weight: npt.ArrayLike | None) -> Self:
        """Return these scores if there are no weights.

        Parameters
        ----------
        sample_weight : None

        Returns
        -------
        scores : same type

        Raises
        ------
        TypeError
            If there are weights: they belong to the rows of a table.
        """
        return self._without(sample_weight)

    def with_interventions(self, interventions: Any) -> Self:
        """Return these scores if there are no interventions.

        Parameters
        ----------
        interventions : None

        Returns
        -------
        scores : same type

        Raises
        ------
        TypeError
            If there are interventions: they belong to the rows of a table.
        """
        return self._without(interventions)

    def _without(self, given: Any) -> Self:
        if given is not None:
            raise TypeError(self._why_no_rows)
        return self

    @abstractmethod
    def local_score(self, child: str | int, parents: Iterable[str | int] = ()) -> float:
        """Return the local score of a family, in nats; larger is better."""

    @abstractmethod
    def _scored(self, child: int, candidates: list[int]) -> Iterator[ScoredPiece]:
        """Yield the scores of the families with parents among the candidates, in pieces."""

    @abstractmethod
    def _families_to_write(self, child: int) -> ScoredParentSets:
        """Return the families of a child that `to_jkl` writes."""

    # What is shown of the scores, without computing any

    @property
    @abstractmethod
    def n_families(self) -> int:
        """Number of families."""

    @property
    @abstractmethod
    def _n_bytes(self) -> int:
        """Memory that the scores take, or will take."""

    def _memory_note(self) -> str:
        """Return text that follows the memory in the table."""
        return ""

    def _n_rows(self) -> int | None:
        """Return the number of rows; None if there are none."""
        return None

    def _settings(self) -> dict[str, str]:
        """Return the settings by name, as text."""
        return {}

    def __repr__(self) -> str:
        n_rows, m = self._n_rows(), len(self.columns)
        rows = "" if n_rows is None else f"{n_rows:,} rows x "
        parts = [
            f"{readable_count(self.n_families)} families",
            f"{rows}{m:,} column{'s' * (m != 1)}",
            *map("=".join, self._shortened_settings()),
            readable_size(self._n_bytes),
        ]
        return f"<{type(self).__name__} of {', '.join(parts)}>"

    def _repr_html_(self) -> str | None:
        n_rows = self._n_rows()
        rows = [
            ("families", readable_count(self.n_families)),
            *([] if n_rows is None else [("rows", f"{n_rows:,}")]),
            ("columns", f"{len(self.columns):,}{_first_names(self.columns)}"),
            *self._shortened_settings(),
            ("memory", readable_size(self._n_bytes) + self._memory_note()),
        ]
        return html_table(type(self).__name__, rows, "ll")

    def _shortened_settings(self) -> list[tuple[str, str]]:
        return [(name, shortened(own, _SETTING_LENGTH)) for name, own in self._settings().items()]

    def best_parents(
        self, child: str | int, candidates: Iterable[str | int] | None = None
    ) -> list[str | int]:
        """Return the parents with which a child has its highest local score.

        Parameters
        ----------
        child : str or int
            A column, by name or number.
        candidates : iterable of str or int, optional
            The columns that may be parents; by default all others.

        Returns
        -------
        parents : list of str or int
            In column order. If several sets have the highest score, the smallest of them,
            and among equally small ones the first when their columns are compared in order.

        Raises
        ------
        ValueError
            If there is no such column, the child is among the candidates, or no family with
            these candidates has a finite score.
        TypeError
            If a column is given as anything else.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import LocalScoreTransformer
        >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
        >>> scores = LocalScoreTransformer().fit_transform(wine)
        >>> scores.best_parents("proline")
        ['alcohol', 'hue']
        >>> scores.best_parents("proline", candidates=["hue", "ash"])
        ['hue', 'ash']
        """
        top = self.top_parents(child, 1, candidates)
        if not top:
            raise ValueError(
                f"Column {readable_value(child)} has no family with a finite score whose parents "
                "are among the candidates."
            )
        return top[0].parents

    def top_parents(
        self, child: str | int, k: int = 10, candidates: Iterable[str | int] | None = None
    ) -> TopParents:
        """Return the k sets of parents with which a child has its highest local scores.

        Parameters
        ----------
        child : str or int
            A column, by name or number.
        k : int, default=10
            The number of sets; if there are fewer, all of them are returned.
        candidates : iterable of str or int, optional
            The columns that may be parents; by default all others.

        Returns
        -------
        top : list of ScoredParents
            Named tuples of `parents`, `score` and `difference` from the best score, in
            nats, the best one first. The list is shown as a table, and
            ``pandas.DataFrame(top)`` makes a data frame of it.

        Raises
        ------
        ValueError
            If there is no such column, the child is among the candidates, or k is not
            positive.
        TypeError
            If a column is given as anything else, or k is not an integer.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import LocalScoreTransformer
        >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
        >>> scores = LocalScoreTransformer().fit_transform(wine)
        >>> top = scores.top_parents("hue", 3)
        >>> top
        Parents of 'hue', best first
        rank  score  difference  parents
           1  13.84        0.00  alcohol, proline
           2  12.39       -1.45  alcohol, proline, ash
           3   7.98       -5.86  proline
        >>> top[0].parents
        ['alcohol', 'proline']
        """
        k = as_integer(k, "k", least=1)
        x = column_number(self.columns, child)
        if candidates is None:
            among = [v for v in range(len(self.columns)) if v != x]
        else:
            among = sorted(set(column_numbers(self.columns, candidates, "candidates")))
        if x in among:
            raise ValueError(
                f"Column {readable_value(child)} cannot be a candidate for its own parents."
            )
        top: list[tuple[float, int, list[int]]] = []
        for scores, parents_at in self._scored(x, among):
            least = np.partition(scores, -k)[-k] if len(scores) > k else -np.inf
            if len(top) == k:
                least = max(least, -top[-1][0])
            for i in np.flatnonzero((scores >= least) & (scores > -np.inf)):
                parents = parents_at(int(i))
                top.append((-float(scores[i]), len(parents), parents))
            top = sorted(top)[:k]
        ranked = [
            ScoredParents([self.columns[p] for p in parents], -minus, top[0][0] - minus)
            for minus, _, parents in top
        ]
        return TopParents(self.columns[x], ranked)

    def network_score(self, dag: nx.DiGraph) -> float:
        """Return the score of a network, the sum of its families' local scores, in nats.

        Nodes that the graph calls exogenous have no score.

        Parameters
        ----------
        dag : networkx.DiGraph or GaussianBayesianNetwork
            Acyclic; its nodes are the columns, by name or number.

        Returns
        -------
        score : float

        Raises
        ------
        ValueError
            If the graph has a cycle, or its nodes are not the columns.
        TypeError
            If it is not a directed graph.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import LocalScoreTransformer
        >>> rows = [[0, 0], [1, 2], [2, 5], [3, 5]]
        >>> scores = LocalScoreTransformer().fit_transform(rows)
        >>> round(scores.network_score(nx.DiGraph([(0, 1)])), 2)
        -13.67
        """
        masks = [mask_of(parents) for parents in parents_in(dag, self.columns)]
        graph = getattr(dag, "dag", dag)
        outside = {column_number(self.columns, node) for node in exogenous_nodes(graph)}
        modelled = [x for x in range(len(masks)) if x not in outside]
        *terms, shared = self._network_terms(masks)[:, modelled]
        return float(sum(terms).sum()) + float(shared.sum())

    @abstractmethod
    def _network_terms(self, parents: Sequence[int]) -> Floats:
        """Return the terms of each column's local score, shape (k, m).

        The last row has the term that all scores of a child share, which cancels in comparisons.

        Returns `terms`: (k, m).
        """

    def to_jkl(self, path: str | os.PathLike[str]) -> None:
        """Write the local scores to a file that GOBNILP, BLIP and others read.

        `LocalScores` leave out the families that do not score higher than all with fewer of
        their parents: no best network needs them, unless edges are required.
        `ParentSetScores` write all of their families.

        Parameters
        ----------
        path : str or path
            ``ParentSetScores.from_jkl`` describes the format, and reads the same scores back,
            to the last bit. An existing file is replaced when all is written, and left as it
            is if that fails. A symbolic link is followed.

        Raises
        ------
        ValueError
            If a column's name is empty or contains a space or a control character, as the
            format separates by spaces; if a score is beyond 1e300; and if the log-determinants
            of LocalScores cannot be computed.
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> from skbn import LocalScoreTransformer
        >>> rows = [[0, 0], [1, 2], [2, 5], [3, 5]]
        >>> scores = LocalScoreTransformer().fit_transform(rows)
        >>> scores.to_jkl("scores.jkl")  # doctest: +SKIP
        """
        listed = (self._families_to_write(child) for child in range(len(self.columns)))
        write_jkl(path, self.columns, listed)

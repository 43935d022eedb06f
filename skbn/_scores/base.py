"""BaseScores: the methods that `LocalScores` and `ParentSetScores` share."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import networkx as nx
import numpy as np
import numpy.typing as npt

from skbn._core.arrays import Floats, as_integer
from skbn._core.columns import column_number, column_numbers, parents_in
from skbn._core.graphs import exogenous_nodes
from skbn._core.subsets import mask_of
from skbn._core.text import readable_value
from skbn._data.nodes import Nodes
from skbn._data.sample import Sample
from skbn._scores.families import ScoredParentSets, ScoredPiece
from skbn._scores.jkl import write_jkl
from skbn._scores.reprs import ScoredParents, ScoresSummary, TopParents


class BaseScores(ABC):
    """The local scores of families, each a child with a set of parents."""

    _nodes: Nodes | None = None  # which columns of a table make up each column here

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

    @abstractmethod
    def with_sample_weight(self, sample_weight: npt.ArrayLike | None) -> Self:
        """Return the local scores of the rows with weights."""

    @abstractmethod
    def with_interventions(self, interventions: Any) -> Self:
        """Return the local scores of the rows of an experiment."""

    @abstractmethod
    def local_score(self, child: str | int, parents: Iterable[str | int] = ()) -> float:
        """Return the local score of a family, in nats; larger is better."""

    @abstractmethod
    def _scored(self, child: int, candidates: list[int]) -> Iterator[ScoredPiece]:
        """Yield the scores of the families with parents among the candidates, in pieces."""

    @abstractmethod
    def _families_to_write(self, child: int) -> ScoredParentSets:
        """Return the families of a child that `to_jkl` writes."""

    @abstractmethod
    def _summary(self) -> ScoresSummary:
        """Return what is shown of the scores, without computing any."""

    def __repr__(self) -> str:
        return self._summary().line()

    def _repr_html_(self) -> str | None:
        return self._summary().html()

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

        Parameters
        ----------
        parents : sequence of m int
            The masks of each column's parents.

        Returns
        -------
        terms : ndarray of shape (k, m), float64, nats
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

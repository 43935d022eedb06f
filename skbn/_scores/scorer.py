"""FamilyScorer: the local scores of a sample's families, by the numbers of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from skbn._core.memory import read_only, require_memory
from skbn._core.progress import Progress
from skbn._core.subsets import bits_of, mask_of
from skbn._data.statistics import SampleStatistics
from skbn._regressions.neighbours import family_log_determinants
from skbn._scores.criterion import is_scale_free, largest_constant, noise_divisors
from skbn._scores.families import Families, Listed, Scored, fewer_families
from skbn._scores.subset_determinants import SubsetDeterminants

__all__ = ["FamilyScorer"]

_BYTES = 8  # of a float64


class FamilyScorer:
    """Scores the families of a sample's columns.

    Parameters
    ----------
    determinants : SubsetDeterminants
    penalty : float
    """

    def __init__(self, determinants: SubsetDeterminants, penalty: float) -> None:
        self.determinants = determinants
        self.penalty = penalty

    def with_penalty(self, penalty: float) -> Self:
        """Return the scorer of another penalty, with the same log-determinants."""
        return type(self)(self.determinants, penalty)

    @property
    def families(self) -> Families:
        """How the families are numbered, and in what order the log-determinants are."""
        return self.determinants.families

    @property
    def statistics(self) -> SampleStatistics:
        """What the regressions depend on: number of rows, means, triangular factor."""
        return self.determinants.statistics

    @cached_property
    def tables(self) -> npt.NDArray[np.float64]:
        """The criterion's tables over the number of parents, shape (3, m), read-only.

        The largest entry of c is taken out of c and put into `score_offsets`: a constant that
        all families share would cost the search digits, and cannot change its result.
        """
        tables = self._given_tables.copy()
        tables[0] -= largest_constant(tables)
        return read_only(tables)

    @cached_property
    def _given_tables(self) -> npt.NDArray[np.float64]:
        """The tables as the criterion has them."""
        return self.determinants.tables(self.penalty)

    @cached_property
    def score_offsets(self) -> npt.NDArray[np.float64]:
        """What all local scores of each child have in common, shape (m,), in nats, read-only.

        It is the constant that `tables` leave out, and what the child's unit adds: the
        log-determinants are those of columns of unit norm, and in its own units a child's
        residual sum of squares is larger by its scale squared. The unit adds nothing if the
        log-determinants are those of the columns in their own units.
        """
        offsets = np.full(self.families.m, largest_constant(self._given_tables))
        if is_scale_free(self.tables):
            offsets += 2 * self.tables[2, 0] * np.log(self.statistics.scale)
        return read_only(offsets)

    @property
    def noise_divisors(self) -> npt.NDArray[np.float64]:
        """By what residual sums of squares are divided, by the number of parents."""
        criterion = self.determinants.criterion
        return noise_divisors(criterion, self.statistics.n_samples, self.families.m)

    @property
    def n_bytes(self) -> int:
        """Memory that the log-determinants take already."""
        return self.determinants.n_bytes

    def log_determinants(self, progress: Progress | None = None) -> npt.NDArray[np.float64]:
        """Return what the families need, and advance the progress by ``families.work``."""
        return self.determinants.values(progress)

    def local_score(self, child: int, parents: Sequence[int]) -> float:
        """Return the local score of a family, without the log-determinants of all."""
        constant, of_parents, of_family = self.terms(child, list(parents))
        return constant + of_parents + of_family + float(self.score_offsets[child])

    def network_terms(self, parents: Sequence[Sequence[int]]) -> npt.NDArray[np.float64]:
        """Return the numbers of which each column's local score is the sum, shape (4, m).

        The last row is `score_offsets`.

        Parameters
        ----------
        parents : sequence of m sequences of int
        """
        is_parent = bits_of([mask_of(each) for each in parents], len(parents))
        n = is_parent.sum(axis=1)
        without, within = family_log_determinants(self.statistics.family_factors(is_parent), n)
        if self.determinants.offsets is not None:
            without += is_parent @ self.determinants.offsets
            within += is_parent @ self.determinants.offsets + self.determinants.offsets
        constant, of_parents, of_family = self.tables[:, n]
        return np.stack([constant, of_parents * without, of_family * within, self.score_offsets])

    def largest_term(self, child: int, parents: list[int]) -> float:
        """Return the largest magnitude of a term of this local score, apart from its offset."""
        return max(map(abs, self.terms(child, parents)))

    def terms(self, child: int, parents: list[int]) -> tuple[float, float, float]:
        """Return the numbers of which this local score, less the child's offset, is the sum."""
        log_det, log_det_with_child = self.statistics.log_determinants(child, parents)
        offsets = self.determinants.offsets
        if offsets is not None:
            log_det += offsets[parents].sum()
            log_det_with_child += offsets[[*parents, child]].sum()
        constant, without, within = self.tables[:, len(parents)]
        return float(constant), float(without * log_det), float(within * log_det_with_child)

    def scored(self, child: int, candidates: list[int]) -> Iterator[Scored]:
        """Yield the scores of the families with parents among the candidates, in pieces."""
        offset = self.score_offsets[child]
        log_det = self.log_determinants()
        for scores, parents_at in self.families.scored(child, candidates, log_det, self.tables):
            yield scores + offset, parents_at

    def undominated(self, child: int, required: list[int], candidates: list[int]) -> Listed:
        """Return the families of a child that score higher than all with fewer of their parents.

        Parameters
        ----------
        child : int
        required : list of int
            Columns that are parents in all of them, ascending.
        candidates : list of int
            Columns that may be parents as well, ascending.

        Returns
        -------
        parents : ndarray of shape (n_families, width), int16
            Ascending, rows padded with -1.
        scores : ndarray of shape (n_families,), float64, nats
            Less the child's offset.
        """
        log_det = self.log_determinants()
        return self.families.undominated(child, required, candidates, log_det, self.tables)

    def to_array(self) -> npt.NDArray[np.float64]:
        """Return the local scores of all families, shape (m, n_parent_sets)."""
        m, size = self.families.m, self.families.n_parent_sets
        missing = 0 if self.n_bytes else self.families.n_subsets
        require_memory(
            _BYTES * ((m + 8) * size + missing),
            "The array of all local scores",
            lambda n_bytes: fewer_families(
                self.families, lambda few: (few.m + 8) * few.n_parent_sets + few.n_subsets, n_bytes
            ),
        )
        array = np.empty((m, size))
        for child in range(m):
            start = 0
            for scores, _ in self.scored(child, [v for v in range(m) if v != child]):
                array[child, start : start + len(scores)] = scores
                start += len(scores)
        return array

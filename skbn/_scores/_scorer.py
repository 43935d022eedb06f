"""FamilyScorer: the local scores of a table's families, by the numbers of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from skbn._memory import require_memory
from skbn._parallel import one_blas_thread
from skbn._progress import Progress
from skbn._scores._criterion import (
    Criterion,
    criterion_tables,
    is_scale_free,
    noise_divisors,
    prior_of,
)
from skbn._scores._families import AllFamilies, Families, Listed, Scored, SmallFamilies
from skbn._scores._statistics import SampleStatistics, column_means, sample_statistics

__all__ = ["FamilyScorer"]

_BYTES = 8  # of a float64


class FamilyScorer:
    """Scores the families of a table's columns; what it has computed, it keeps.

    Parameters
    ----------
    rows : ndarray of shape (n, m), float64
    names : list of str or int
        What to call the columns in errors.
    criterion : Criterion
    penalty : float
    max_parents : int or None
    n_jobs : int or None

    Attributes
    ----------
    families : AllFamilies or SmallFamilies
        How the families are numbered, and in what order the log-determinants are.
    """

    def __init__(
        self,
        rows: npt.NDArray[np.float64],
        names: list[str | int],
        criterion: Criterion,
        penalty: float,
        max_parents: int | None,
        n_jobs: int | None,
    ) -> None:
        m = rows.shape[1]
        self.families: Families = (
            AllFamilies(m) if max_parents is None else SmallFamilies(m, max_parents)
        )
        self._rows = rows
        self._names = names
        self._criterion = criterion
        self._penalty = penalty
        self._n_jobs = n_jobs
        self._log_determinants: npt.NDArray[np.float64] | None = None

    @cached_property
    def statistics(self) -> SampleStatistics:
        """What the regressions depend on: number of rows, means, triangular factor."""
        n_samples = len(self._rows)
        if n_samples == 0:
            raise ValueError("There are no rows to compute scores from; give some.")
        prior = prior_of(self._criterion, n_samples, column_means(self._rows))
        with one_blas_thread():
            return sample_statistics(
                self._rows,
                self._names,
                prior=prior,
                largest_family=self.families.max_parents + 1,
                weight=float(2 * np.abs(self.tables[1:]).max()),
            )

    @cached_property
    def tables(self) -> npt.NDArray[np.float64]:
        """The criterion's tables over the number of parents, shape (3, m)."""
        n, m = self._rows.shape
        return criterion_tables(self._criterion, self._penalty, n, m, self.families.max_parents)

    @cached_property
    def log_determinant_offsets(self) -> npt.NDArray[np.float64] | None:
        """What each column's unit adds to the log-determinants, shape (m,); None for nothing."""
        return None if is_scale_free(self.tables) else 2 * np.log(self.statistics.scale)

    @cached_property
    def score_offsets(self) -> npt.NDArray[np.float64]:
        """What each child's unit adds to its local scores, shape (m,), in nats.

        The log-determinants are those of columns of unit norm; in its own units a
        child's residual sum of squares is larger by its scale squared. 0 if they are those
        of the columns in their own units.
        """
        if not is_scale_free(self.tables):
            return np.zeros(self._rows.shape[1])
        return 2 * self.tables[2, 0] * np.log(self.statistics.scale)

    @property
    def noise_divisors(self) -> npt.NDArray[np.float64]:
        """By what residual sums of squares are divided, by the number of parents."""
        return noise_divisors(self._criterion, *self._rows.shape)

    @property
    def n_bytes(self) -> int:
        """Memory that the log-determinants take already."""
        return 0 if self._log_determinants is None else self._log_determinants.nbytes

    def log_determinants(self, progress: Progress | None = None) -> npt.NDArray[np.float64]:
        """Return what the families need, and advance the progress by ``families.work``."""
        families = self.families
        if self._log_determinants is None:
            statistics, offsets = self.statistics, self.log_determinant_offsets
            require_memory(
                _BYTES * families.n_subsets,
                f"The table of {families.n_subsets:,} log-determinants",
                "leave out columns, or set max_parents to fewer",
            )
            log_det = families.log_determinants(statistics.factor, offsets, self._n_jobs, progress)
            if not statistics.is_checked:
                # Were a combination of k columns too nearly 0, one of them would leave no
                # more than k times the largest rounding on the others.
                threshold = (families.max_parents + 1) * statistics.independence.rounding.max()
                for columns in families.suspects(log_det, offsets, threshold):
                    statistics.check(columns)
            self._log_determinants = log_det
        elif progress is not None:
            progress.advance(families.work)
        return self._log_determinants

    def local_score(self, child: int, parents: Sequence[int]) -> float:
        """Return the local score of a family, without the log-determinants of all."""
        parents = list(parents)
        log_det, log_det_with_child = self.statistics.log_determinants(child, parents)
        offsets = self.log_determinant_offsets
        if offsets is not None:
            log_det += offsets[parents].sum()
            log_det_with_child += offsets[[*parents, child]].sum()
        constant, without, within = self.tables[:, len(parents)]
        score = constant + without * log_det + within * log_det_with_child
        return float(score + self.score_offsets[child])

    def largest_term(self, child: int, parents: list[int]) -> float:
        """Return the largest magnitude of a number that enters this local score."""
        log_det, log_det_with_child = self.statistics.log_determinants(child, parents)
        constant, without, within = self.tables[:, len(parents)]
        return max(abs(constant), abs(without * log_det), abs(within * log_det_with_child))

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
        """
        log_det = self.log_determinants()
        parents, scores = self.families.undominated(
            child, required, candidates, log_det, self.tables
        )
        return parents, scores + self.score_offsets[child]

    def to_array(self) -> npt.NDArray[np.float64]:
        """Return the local scores of all families, shape (m, n_parent_sets)."""
        m, size = self._rows.shape[1], self.families.n_parent_sets
        require_memory(_BYTES * (m + 8) * size, "The array of all local scores")
        array = np.empty((m, size))
        for child in range(m):
            start = 0
            for scores, _ in self.scored(child, [v for v in range(m) if v != child]):
                array[child, start : start + len(scores)] = scores
                start += len(scores)
        return array

"""SubsetDeterminants: a sample's regressions, as the log-determinants of its columns' subsets."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from skbn._core.compile import compile_kernels
from skbn._core.memory import require_memory
from skbn._core.progress import Progress
from skbn._core.text import readable_count
from skbn._core.threads import one_blas_thread
from skbn._data.row_summary import centred_blocks
from skbn._data.sample import Sample
from skbn._data.statistics import SampleStatistics, sample_statistics
from skbn._scores.criterion import (
    Criterion,
    InformationCriterion,
    criterion_for,
    criterion_tables,
    is_scale_free,
    prior_of,
)
from skbn._scores.families import AllFamilies, Families, SmallFamilies, fewer_families

__all__ = ["SubsetDeterminants"]

_BYTES = 8  # of a float64


class SubsetDeterminants:
    """What scores of all penalties have in common; what it has computed, it keeps.

    Parameters
    ----------
    sample : Sample
    names : list of str or int
        The columns' names, or numbers: what to call them in errors, and how a criterion's
        labelled parameters name them.
    criterion : Criterion
    max_parents : int or None
    n_jobs : int or None

    Attributes
    ----------
    criterion : Criterion
        The one that is right for these columns.
    families : AllFamilies or SmallFamilies
        How the families are numbered, and in what order the log-determinants are.
    """

    def __init__(
        self,
        sample: Sample,
        names: list[str | int],
        criterion: Criterion,
        max_parents: int | None,
        n_jobs: int | None,
    ) -> None:
        m = sample.shape[1]
        self.families: Families = (
            AllFamilies(m) if max_parents is None else SmallFamilies(m, max_parents)
        )
        self.criterion = criterion_for(criterion, names)
        self._sample = sample
        self._names = names
        self._n_jobs = n_jobs
        self._log_determinants: npt.NDArray[np.float64] | None = None

    @cached_property
    def statistics(self) -> SampleStatistics:
        """What the regressions depend on: number of rows, means, triangular factor."""
        summary = self._sample.summary
        prior = prior_of(self.criterion, summary.n_samples, summary.column_means)
        with one_blas_thread():
            return sample_statistics(
                summary,
                self._names,
                prior=prior,
                largest_family=self.families.max_parents + 1,
                sensitivity=float(2 * np.abs(self._any_tables[1:]).max()),
            )

    def unit_rows(self) -> Iterator[npt.NDArray[np.float64]]:
        """Yield the rows that the statistics' factor is of, some at a time.

        They are centred and the columns of unit norm; those of a prior come last.
        """
        sample, scale = self._sample, self.statistics.scale
        summary = sample.summary
        for rows in centred_blocks(sample.rows, sample.weight, summary):
            rows *= np.ldexp(1 / scale, summary.exponent)
            yield rows
        prior = prior_of(self.criterion, summary.n_samples, summary.column_means)
        if prior is not None:
            yield prior.rows / scale

    def tables(self, penalty: float) -> npt.NDArray[np.float64]:
        """Return the criterion's tables over the number of parents, shape (3, m)."""
        n, m = self._sample.summary.n_samples, self.families.m
        if n == 0:
            raise ValueError("There are no rows to compute scores from; give some.")
        return criterion_tables(self.criterion, penalty, n, m, self.families.max_parents)

    @property
    def _any_tables(self) -> npt.NDArray[np.float64]:
        """The tables whose second and third row are those of every penalty."""
        return self.tables(0.0 if isinstance(self.criterion, InformationCriterion) else 1.0)

    @cached_property
    def offsets(self) -> npt.NDArray[np.float64] | None:
        """What each column's unit adds to the log-determinants, shape (m,); None for nothing."""
        return None if is_scale_free(self._any_tables) else 2 * np.log(self.statistics.scale)

    def __getstate__(self) -> dict[str, Any]:
        # It takes longer to store 2**m numbers than to compute them again.
        return {**vars(self), "_log_determinants": None}

    @property
    def n_bytes(self) -> int:
        """Memory that the log-determinants take already."""
        return 0 if self._log_determinants is None else self._log_determinants.nbytes

    def values(self, progress: Progress | None = None) -> npt.NDArray[np.float64]:
        """Return what the families need, and advance the progress by ``families.work``."""
        families = self.families
        if self._log_determinants is None:
            statistics, offsets = self.statistics, self.offsets
            require_memory(
                _BYTES * families.n_subsets,
                f"The table of {readable_count(families.n_subsets)} log-determinants",
                lambda n_bytes: fewer_families(families, lambda few: few.n_subsets, n_bytes),
            )
            compile_kernels(families.kernels)
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

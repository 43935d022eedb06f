"""Held-out log-likelihood for each penalty, by the folds of a cross-validation."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from traceback import clear_frames
from typing import Any

import numpy as np
import numpy.typing as npt

from skbn._core.resources import (
    FEWEST_COLUMNS,
    Progress,
    StoppedError,
    Threads,
    count_threads,
    one_blas_thread,
)
from skbn._core.text import readable_value
from skbn._data.row_values import in_order_of_rows, is_mask
from skbn._data.sample import Sample
from skbn._estimators.network_learner import network_of
from skbn._scores.local_scores import LocalScores
from skbn._solver.constraints import Constraints
from skbn._solver.engines import MemoryLimit
from skbn._solver.order_engine import OrderSettings
from skbn._solver.solve import plan_searches, solve

__all__ = ["HeldOutScores", "Split", "read_splits", "searches_at_a_time"]

# With fewer rows and few columns, threads spend most of the time waiting for the GIL.
_FEWEST_ROWS = 100_000
# The numbers of the rows to learn from, and of those held out.
Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]
# For one penalty: the mean log-likelihood of a held-out row, and the number of edges.
Outcome = tuple[float, int]


def read_splits(splits: Iterable[Any], sample: Sample) -> list[Split]:
    """Return the splits as row numbers of a sample.

    A mask in a Series is matched to the rows by its labels.

    Raises
    ------
    ValueError
        If there are no splits, or one is not a pair of row numbers or of masks; if a mask does
        not have the labels of the rows.
    """
    pairs = []
    for split in splits:
        try:
            train, test = split
        except (TypeError, ValueError):
            raise ValueError(
                "cv must yield pairs of rows to learn from and rows to hold out; got "
                f"{readable_value(split)}."
            ) from None
        pairs.append((_row_numbers(train, sample), _row_numbers(test, sample)))
    if not pairs:
        raise ValueError("cv yielded no splits. Is it an exhausted generator? Pass a list.")
    return pairs


def _row_numbers(rows: Any, sample: Sample) -> npt.NDArray[np.intp]:
    n_rows = sample.shape[0]
    if is_mask(rows):
        rows = in_order_of_rows(rows, sample.labels, n_rows, "a mask that cv yields")
    try:
        numbers = np.asarray(rows)
    except ValueError:  # lists of different lengths
        numbers = np.empty(0)
    if numbers.dtype == np.bool_ and numbers.shape == (n_rows,):
        numbers = np.flatnonzero(numbers)
    is_fine = (
        numbers.ndim == 1
        and numbers.size > 0
        and numbers.dtype.kind in "iu"
        and -n_rows <= numbers.min()
        and numbers.max() < n_rows
    )
    if not is_fine:
        raise ValueError(
            f"cv must yield row numbers from {-n_rows} to {n_rows - 1}, or masks of all rows, and "
            f"at least one row; got {readable_value(rows)}."
        )
    return numbers.astype(np.intp)


def searches_at_a_time(
    scores: LocalScores,
    constraints: Constraints,
    memory: MemoryLimit,
    n_threads: int,
    n_searches: int,
    order: OrderSettings | None = None,
) -> int:
    """Return how many searches of some of the rows may run at the same time, in threads."""
    n_rows, m = scores.shape
    is_small = m < FEWEST_COLUMNS and n_rows < _FEWEST_ROWS
    for n in range(1 if is_small else min(n_threads, n_searches), 1, -1):
        with suppress(ValueError):  # raised if they do not fit in memory
            plan_searches(scores, constraints, memory.share(n), order)
            return n
    return 1


class HeldOutScores:
    """The folds of a cross-validation, searched at the same time as far as memory allows.

    Parameters
    ----------
    scores : LocalScores
        Those of all rows.
    constraints : Constraints
    penalties : list of float
    splits : list of Split
    memory : MemoryLimit
        Limit for all searches that run at the same time.
    n_jobs : int or None
        Number of threads, by joblib's rules.
    order : OrderSettings or None
        None for exact searches.

    Attributes
    ----------
    n_at_a_time : int
    work : int
        About how long it takes, in the unit of `Plan.work`.
    """

    def __init__(
        self,
        scores: LocalScores,
        constraints: Constraints,
        penalties: list[float],
        splits: list[Split],
        memory: MemoryLimit,
        n_jobs: int | None,
        order: OrderSettings | None = None,
    ) -> None:
        # A copy without log-determinants: those of all rows cannot be used for a fold.
        self._scores = scores = scores.of_sample(scores.sample)
        self._constraints = constraints
        self._penalties = penalties
        self._splits = splits
        self._order = order
        n_threads = count_threads(n_jobs)
        self.n_at_a_time = searches_at_a_time(
            scores, constraints, memory, n_threads, len(splits), order
        )
        self._memory = memory.share(self.n_at_a_time)
        # The last folds share the threads that would be idle otherwise.
        n_last = len(splits) % self.n_at_a_time
        n_first = len(splits) - n_last
        self._n_jobs = [n_threads // self.n_at_a_time] * n_first
        self._n_jobs += [n_threads // max(n_last, 1)] * n_last
        plan = plan_searches(scores, constraints, self._memory, order)
        self.work = len(splits) * plan.work(len(penalties))

    def compute(
        self, progress: Progress
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the held-out scores and the numbers of edges, shape (n_penalties, n_splits).

        Raises
        ------
        ValueError
            As a search of the rows of a fold, with their number.
        """
        arguments = [
            (progress, n_jobs, *split)
            for n_jobs, split in zip(self._n_jobs, self._splits, strict=True)
        ]
        with Threads(self.n_at_a_time) as threads:
            try:
                outcomes = np.array([*threads.map(self._fold, arguments)], dtype=np.float64)
            except BaseException as error:
                progress.stop(error)
                clear_frames(error.__traceback__)
        if progress.error is not None:
            raise progress.error
        held_out, n_edges = outcomes.transpose(2, 1, 0)
        return np.ascontiguousarray(held_out), np.ascontiguousarray(n_edges)

    def _fold(
        self,
        progress: Progress,
        n_jobs: int,
        train: npt.NDArray[np.intp],
        test: npt.NDArray[np.intp],
    ) -> list[Outcome]:
        try:
            return self._outcomes(progress, n_jobs, train, test)
        except StoppedError:
            raise
        except ValueError as error:
            sizes = f"{len(train)} rows and holds out {len(test)}"
            failure: BaseException = ValueError(
                f"In a fold of cv that learns from {sizes}: {error}"
            )
        except BaseException as error:
            failure = error
        progress.stop(failure)  # the other threads
        # Raised outside the except block: a chained error's traceback would keep the tables alive.
        try:
            raise failure
        finally:
            del failure  # it refers to this frame, and the frame to it

    def _outcomes(
        self,
        progress: Progress,
        n_jobs: int,
        train: npt.NDArray[np.intp],
        test: npt.NDArray[np.intp],
    ) -> list[Outcome]:
        # The search needs only a summary of the rows to learn from.
        learned = Sample.of_summary(self._scores.sample[train].summary)
        held_out = self._scores.sample[test]
        scores = self._scores.of_sample(learned, n_jobs=n_jobs)
        solutions = solve(
            scores,
            self._constraints,
            self._memory,
            penalties=self._penalties,
            n_jobs=n_jobs,
            progress=progress,
            order=self._order,
        )
        outcomes = []
        for solution in solutions:
            network = network_of(solution)
            with one_blas_thread():
                score = held_out.mean(network.logpdf(held_out.rows))
            outcomes.append((score, network.dag.number_of_edges()))
        return outcomes

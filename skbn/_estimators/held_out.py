"""Held-out log-likelihood for each penalty, by the folds of a cross-validation."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import Booleans, Floats
from skbn._core.resources import FEWEST_COLUMNS, Resources, explained, one_blas_thread, run_all
from skbn._core.text import readable_value
from skbn._data.encoding import require_levels
from skbn._data.nodes import Nodes
from skbn._data.row_values import in_order_of_rows, is_mask
from skbn._data.sample import Sample
from skbn._solver.engines import EXACT, SearchSettings
from skbn._solver.planner import plan_searches
from skbn._solver.problem import Problem, Shape
from skbn._solver.solve import solve, work_of

# With fewer rows and few columns, threads spend most of the time waiting for the GIL.
_FEWEST_ROWS = 100_000
# The numbers of the rows to learn from, and of those held out.
Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]
# For one penalty: the mean log-likelihood of a held-out row, the number of edges, and whether the
# network is not proven to be the best.
Outcome = tuple[float, int, bool]


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
    problem: Problem,
    resources: Resources,
    n_threads: int,
    n_searches: int,
    settings: SearchSettings = EXACT,
) -> int:
    """Return how many searches of some of the rows may run at the same time, in threads."""
    n_rows, m = problem.scores.sample.shape
    is_small = m < FEWEST_COLUMNS and n_rows < _FEWEST_ROWS
    most = 1 if is_small else min(n_threads, n_searches)
    if most == 1:
        return 1
    shape = problem.read()
    by_dynamic_programs = _are_dynamic_programs(shape, resources, settings)
    for n in range(most, 1, -1):
        # Raised if they do not fit in memory, or only branch and cut that is not installed.
        with suppress(ValueError, ImportError):
            share = resources.share(n)
            # Less memory must not make branch and cut take the place of dynamic programming.
            if _are_dynamic_programs(shape, share, settings) == by_dynamic_programs:
                return n
    return 1


def _are_dynamic_programs(
    shape: Shape, resources: Resources, settings: SearchSettings
) -> list[bool]:
    """Return whether the search of each group of columns is a dynamic program."""
    plan = plan_searches(shape, resources, settings)
    return [not search.heeds_time_limit for search in plan.searches]


class HeldOutScores:
    """The folds of a cross-validation, searched at the same time as far as memory allows.

    Parameters
    ----------
    problem : Problem
        That of all rows.
    penalties : list of float
    splits : list of Split
    resources : Resources
        For all searches that run at the same time.
    settings : SearchSettings, optional

    Attributes
    ----------
    n_at_a_time : int
    work : int
        About how long it takes, in the unit of `Plan.work`.
    """

    def __init__(
        self,
        problem: Problem,
        penalties: list[float],
        splits: list[Split],
        resources: Resources,
        settings: SearchSettings = EXACT,
    ) -> None:
        # A copy without log-determinants: those of all rows cannot be used for a fold.
        self._problem = problem = problem.of_sample(problem.scores.sample)
        self._penalties = penalties
        self._splits = splits
        self._settings = settings
        n_threads = resources.n_threads
        self.n_at_a_time = searches_at_a_time(problem, resources, n_threads, len(splits), settings)
        self._resources = resources.share(self.n_at_a_time)
        # The last folds share the threads that would be idle otherwise.
        n_last = len(splits) % self.n_at_a_time
        n_first = len(splits) - n_last
        self._n_jobs = [n_threads // self.n_at_a_time] * n_first
        self._n_jobs += [n_threads // max(n_last, 1)] * n_last
        self.work = len(splits) * work_of(problem, self._resources, settings, len(penalties))

    def compute(self) -> tuple[Floats, Floats, int]:
        """Return the held-out scores, the numbers of edges, and how many networks are not proven.

        The first two are of shape (n_penalties, n_splits).

        Raises
        ------
        ValueError
            As a search of the rows of a fold, with their number.
        """
        arguments = [
            (n_jobs, *split) for n_jobs, split in zip(self._n_jobs, self._splits, strict=True)
        ]
        outcomes = run_all(self.n_at_a_time, self._fold, arguments, self._resources.progress)
        numbers = np.array(outcomes, dtype=np.float64)
        held_out, n_edges, is_unproven = numbers.transpose(2, 1, 0)
        scores = np.ascontiguousarray(held_out)
        return scores, np.ascontiguousarray(n_edges), int(is_unproven.sum())

    def _fold(
        self,
        n_jobs: int,
        train: npt.NDArray[np.intp],
        test: npt.NDArray[np.intp],
    ) -> list[Outcome]:
        sizes = f"{len(train)} rows and holds out {len(test)}"
        return explained(
            lambda: self._outcomes(n_jobs, train, test),
            lambda error: f"In a fold of cv that learns from {sizes}: {error}",
        )

    def _outcomes(
        self,
        n_jobs: int,
        train: npt.NDArray[np.intp],
        test: npt.NDArray[np.intp],
    ) -> list[Outcome]:
        sample = self._problem.scores.sample
        learned, held_out = sample[train], sample[test]
        if sample.is_complete:  # the search needs only a summary of the rows to learn from
            learned = learned.without_rows()
        resources = self._resources.with_jobs(n_jobs)
        problem = self._problem.of_sample(learned, n_jobs)
        solutions = solve(problem, resources, self._settings, self._penalties)
        if problem.nodes is not None:
            require_levels(held_out, problem.nodes)
        outcomes = []
        for solution in solutions:
            assert solution.model is not None
            with one_blas_thread():
                rows = problem.kept(held_out.rows)
                is_set = _sets_of_columns(held_out, problem.nodes)
                score = held_out.mean(solution.model.log_density(rows, is_set))
            n_edges = sum(mask.bit_count() for mask in solution.parents)
            is_unproven = sample.is_complete and not solution.is_optimal
            outcomes.append((score, n_edges, is_unproven))
        return outcomes


def _sets_of_columns(sample: Sample, nodes: Nodes | None) -> Booleans | None:
    """Return which of the columns of a model were set in each row, if some were."""
    if sample.is_set is None or nodes is None:
        return sample.is_set
    return nodes.by_column(sample.is_set)

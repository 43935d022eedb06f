"""HeldOutScores: how well networks of some rows foretell others, for each of some penalties."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs

from skbn._constraints import Constraints
from skbn._found_network import found_network
from skbn._optimum import MemoryLimit, best_networks, plan_groups, work_of
from skbn._parallel import Threads
from skbn._progress import Progress, StoppedError
from skbn._scores._local_scores import LocalScores
from skbn._scores._sample import Sample

__all__ = ["HeldOutScores", "Split"]

# The numbers of the rows to learn from, and of those held out.
Split = tuple[npt.NDArray[Any], npt.NDArray[Any]]
# Of a penalty: the mean log-likelihood of a held-out row, and the network's number of edges.
Outcome = tuple[float, int]


class HeldOutScores:
    """The folds of a cross-validation, as many at a time as the memory has room for.

    Parameters
    ----------
    scores : LocalScores
        Of all rows.
    constraints : Constraints
    penalties : list of float
    splits : list of Split
    memory : MemoryLimit
        Of all searches that run at a time.
    n_jobs : int or None
        Number of threads, by joblib's rules.

    Attributes
    ----------
    n_at_a_time : int
    work : int
        About how long it takes, in the unit of `work_of`.
    """

    def __init__(
        self,
        scores: LocalScores,
        constraints: Constraints,
        penalties: list[float],
        splits: list[Split],
        memory: MemoryLimit,
        n_jobs: int | None,
    ) -> None:
        self._scores = scores
        self._constraints = constraints
        self._penalties = penalties
        self._splits = splits
        n_threads = effective_n_jobs(n_jobs)
        self.n_at_a_time = 1
        for n in range(min(n_threads, len(splits)), 1, -1):
            with suppress(ValueError):  # they do not fit
                plan_groups(scores, constraints, memory.share(n))
                self.n_at_a_time = n
                break
        self._memory = memory.share(self.n_at_a_time)
        self._n_jobs = n_threads // self.n_at_a_time
        searches = plan_groups(scores, constraints, self._memory)
        self.work = len(splits) * work_of([scores] * len(penalties), searches)

    def compute(
        self, progress: Progress
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the held-out scores and the numbers of edges, shape (n_splits, n_penalties).

        Raises
        ------
        ValueError
            As a search of some of the rows, naming how many these are.
        """
        with Threads(self.n_at_a_time) as threads:
            try:
                arguments = [(progress, *split) for split in self._splits]
                outcomes = np.array([*threads.map(self._fold, arguments)], dtype=np.float64)
            except BaseException as error:
                progress.stop(error)
                if isinstance(error, StoppedError) and progress.error is not None:
                    raise progress.error from None
                raise
        return outcomes[..., 0], outcomes[..., 1]

    def _fold(
        self, progress: Progress, train: npt.NDArray[Any], test: npt.NDArray[Any]
    ) -> list[Outcome]:
        try:
            sample = self._scores.sample
            return self._outcomes(sample[train], sample[test], progress)
        except StoppedError:
            raise
        except BaseException as error:
            if isinstance(error, ValueError | IndexError):
                sizes = f"{len(train)} rows and holds out {len(test)}"
                error = ValueError(f"In a fold of cv that learns from {sizes}: {error}")
            progress.stop(error)  # in the other threads too
            raise error from None

    def _outcomes(self, sample: Sample, held_out: Sample, progress: Progress) -> list[Outcome]:
        scores = self._scores.of_sample(sample, n_jobs=self._n_jobs)
        path = [scores.with_penalty(penalty) for penalty in self._penalties]
        searches = plan_groups(scores, self._constraints, self._memory)
        optima = best_networks(path, self._constraints, searches, self._n_jobs, progress)
        outcomes = []
        for each, optimum in zip(path, optima, strict=True):
            network = found_network(each, self._constraints, optimum).network
            score = network.score(held_out.rows, sample_weight=held_out.weight)
            outcomes.append((score, network.dag.number_of_edges()))
        return outcomes

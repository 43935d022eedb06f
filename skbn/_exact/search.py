"""The search as a whole: fill the tables, extend the best networks, walk back."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._core.accuracy import SCORE_ACCURACY
from skbn._core.memory import allocate
from skbn._core.progress import Progress
from skbn._core.threads import Threads
from skbn._exact.family_source import FamilySource
from skbn._exact.plan import SearchPlan
from skbn._exact.slab import Slab
from skbn._exact.walk_back import walk_back

__all__ = ["SearchResult", "best_scores", "exact_search"]

_EPS = np.finfo(np.float64).eps
# Rounding of one local score, in units of the largest term that enters it.
_ROUNDING = 64 * _EPS
# Size of a piece of work: Ctrl-C is handled between pieces, every few tenths of a second.
_PIECE = 1 << 24


class SearchResult(NamedTuple):
    """The optimum: the mask of each child's parents, and the sum of their local scores.

    The uncertainty is how far rounding may put the score of a network off, in nats.
    """

    parents: list[int]
    score: float
    uncertainty: float


def exact_search(
    families: FamilySource,
    plan: SearchPlan,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> SearchResult:
    """Return a network of the highest score.

    Parameters
    ----------
    families : FamilySource
        Of the columns of the plan.
    plan : SearchPlan
    n_jobs : int or None
        Number of threads, by joblib's rules. It does not change a bit of the result.
    progress : Progress or None
        Advanced by ``plan.work`` in all.

    Returns
    -------
    result : SearchResult
        Of several networks whose scores are equal up to rounding, the one that
        `walk_back` describes. Without parents, and of score -inf, if there is no acyclic
        network of these families.
    """
    with Threads(n_jobs, plan.n_columns + plan.n_others) as threads:
        best, best_local = best_scores(families, plan, threads, progress or Progress())
        if best[-1] == -np.inf:
            return SearchResult([], -math.inf, 0.0)
        walk = partial(walk_back, best, best_local, families, plan.n_roots, threads)
        parents = walk(0.0)
        largest_term = max(families.largest_term(x, mask) for x, mask in enumerate(parents))
        # Among the networks that tie with this one, find the one that ties are broken to. All
        # sinks together may lose no more than a score may be off.
        m, score = plan.n_columns, float(best[-1])
        parents = walk(min(_ROUNDING * m * largest_term, SCORE_ACCURACY / m))
    return SearchResult(parents, score, m * _EPS * (largest_term + 8 * abs(score)))


def best_scores(
    families: FamilySource,
    plan: SearchPlan,
    threads: Threads,
    progress: Progress,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the score of the best network on each set of columns, and each child's best score.

    Returns
    -------
    best : ndarray of shape (2**m,), float64
    best_local : ndarray of shape (m,), float64
        Each child's best local score with any parents.
    """
    best = allocate(1 << plan.n_columns)
    pieces = [(best[i : i + _PIECE], -np.inf) for i in range(0, len(best), _PIECE)]
    list(threads.map(np.copyto, pieces))
    best[0] = 0.0
    slab = Slab(families, plan, threads, progress)
    for fixed in range(1 << plan.n_outer):
        slab.fill(fixed)
        slab.transform(fixed)
        slab.extend(best, fixed)
        slab.check(best, fixed)
    return best, slab.best_local

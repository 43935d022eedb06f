"""ResidualScores: the local scores of all families by the density of the child's residuals."""

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.polynomial.legendre import legvander

from skbn._core.arrays import BYTES, Floats, Integers, ShortIntegers
from skbn._core.columns import family_numbers
from skbn._core.compile import compile_kernels
from skbn._core.resources import Progress, Threads, duration, require_memory
from skbn._core.subsets import SmallSubsets, members_of
from skbn._core.text import readable_value
from skbn._data.sample import Sample
from skbn._non_gaussian.walk_kernels import N_ASIDE, SMALLEST, STEP, walk_families
from skbn._scores.criteria import Criterion, InformationCriterion
from skbn._scores.families import Families, ScoredParentSets, list_families
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._solver.constraints import Constraints
from skbn.exceptions import DegenerateColumnsError

# Degree of the polynomials that bend the density; chosen by how well held-out rows are predicted
# and edges directed (tests/benchmarks/non_gaussian.py).
DEGREE = 4
# A child's families are cut into tasks by which of the first candidates they have, at most so many,
# and a task has families of so many others.
_FIRST_CANDIDATES, _OTHER_CANDIDATES = 6, 8
# About how long a family takes in one thread: so many seconds, and so many more for each row.
_SECONDS_OF_FAMILY, _SECONDS_OF_ROW = 1.5e-5, 1e-8
# In units of one local score of a dense search, of which a thread makes so many in a second.
_WORK_A_SECOND = 5e8
# Longer walks must be asked for.
_LONGEST = 600.0
_FEWER = "set max_parents=2, give tiers of few columns, or leave out columns"


class ResidualFamilies(Families):
    """Families that a walk scores: as many as the constraints allow."""

    kernels = (walk_families, list_families)


class ResidualScores(ParentSetScores):
    """The local scores of families by the density of the child's residuals.

    `NonGaussianBNLearner` makes them. That of a family is the largest log-likelihood of the
    child's least-squares residuals under a density that adapts to them, less the criterion's cost
    of the parents. Families that the constraints rule out have no score.

    Attributes
    ----------
    criterion : InformationCriterion
    penalty : float
    feature_names_in_ : ndarray of shape (m,) of str
        Only if the columns have strings for names.

    See Also
    --------
    ParentSetScores : The local scores of families in a list.
    """

    def __init__(
        self,
        gaussian: LocalScores,
        constraints: Constraints,
        n_jobs: int | None,
        time_limit: float | None,
    ) -> None:
        self.gaussian = gaussian  # of the same rows
        self._columns: list[str | int] = gaussian.columns  # type: ignore[assignment]
        self._n_jobs = n_jobs
        if hasattr(gaussian, "feature_names_in_"):
            self.feature_names_in_ = gaussian.feature_names_in_
        self._limits = [constraints.limits_of(x) for x in range(len(constraints.allowed))]
        rooms = [max(0, constraints.max_parents - len(each.required)) for each in self._limits]
        every = zip(self._limits, rooms, strict=True)
        self._numbered = [SmallSubsets(len(each.candidates), room) for each, room in every]
        self._modelled = constraints.modelled
        seconds = self.n_families * (_SECONDS_OF_FAMILY + _SECONDS_OF_ROW * len(self.sample.rows))
        self.work = int(seconds * _WORK_A_SECOND)
        n_threads = Threads(n_jobs).n_threads
        self._check_size(seconds / n_threads, n_threads, time_limit)
        self._listed_families: list[ScoredParentSets] | None = None

    @property
    def criterion(self) -> Criterion:
        """The criterion whose cost of parents is subtracted."""
        return self.gaussian.criterion

    @property
    def penalty(self) -> float:
        """What multiplies this cost."""
        return self.gaussian.penalty

    @property
    def sample(self) -> Sample:
        """The rows and their weights."""
        return self.gaussian.sample

    @property
    def n_families(self) -> int:
        """Number of families."""
        return sum(self._numbered[x].n_sets for x in self._modelled)

    @property
    def largest_n_parents(self) -> int:
        """The largest number of parents of a family."""
        return max(
            len(limits.required) + sets.most
            for limits, sets in zip(self._limits, self._numbered, strict=True)
        )

    def _check_size(self, seconds: float, n_threads: int, time_limit: float | None) -> None:
        """Raise if the walk takes longer, or more memory, than it may."""
        m, n_rows = len(self._columns), len(self.sample.rows)
        most = max(sets.most for sets in self._numbered)
        n_bytes = self._n_bytes + BYTES * n_threads * (most + 1) * m * n_rows
        require_memory(n_bytes, f"Scoring the {self.n_families:,} families", _FEWER)
        longest = _LONGEST if time_limit is None else time_limit
        if seconds > longest:
            raise ValueError(
                f"The {self.n_families:,} families of {m} columns with {n_rows:,} rows take about "
                f"{duration(seconds)} to score, and time_limit allows {duration(longest)}. Set "
                f"time_limit={math.ceil(2 * seconds)}, {_FEWER}."
            )

    @property
    def _n_bytes(self) -> int:
        """How many bytes the list of families takes."""
        return self.n_families * (2 * self.largest_n_parents + BYTES)

    # The walk

    @property
    def _families(self) -> list[ScoredParentSets]:  # type: ignore[override]
        if self._listed_families is None:
            self.walk(Progress())
        assert self._listed_families is not None
        return self._listed_families

    def walk(self, progress: Progress) -> None:
        """Score all families, and advance the progress by `work`."""
        if self._listed_families is not None:
            progress.advance(self.work)
            return
        compile_kernels(ResidualFamilies.kernels)
        rows, weight = self._unit_rows
        costs, unit = self._costs, weight.sum() * np.log(self._scale)
        scores = [np.empty(sets.n_sets) for sets in self._numbered]
        tasks = [
            (x, base, weight, np.array(first, dtype=np.int64), begin, scores[x])
            for x in self._modelled
            for base in [self._base(x, rows, weight)]
            for begin in [min(max(len(base) - 1 - _OTHER_CANDIDATES, 0), _FIRST_CANDIDATES)]
            for size in range(min(begin, self._numbered[x].most) + 1)
            for first in combinations(range(begin), size)
        ]
        with Threads(self._n_jobs) as threads:
            for _ in threads.map(self._walk_part, tasks):
                progress.advance(self.work / len(tasks))
        listed = []
        for limits, sets, local in zip(self._limits, self._numbered, scores, strict=True):
            members = np.full((sets.n_sets, len(limits.required) + sets.most), -1, dtype=np.int16)
            required, candidates = (np.array(each, dtype=np.int64) for each in limits[1:])
            keep = np.ones(sets.n_sets, dtype=bool)
            list_families(required, candidates, sets.most, keep, members)
            if limits.child not in self._modelled:
                local[:] = 0.0
            else:
                self._require_digits(limits.child, members[np.isnan(local)])
                local -= costs[(members >= 0).sum(axis=1)] + unit[limits.child]
            listed.append((members, local))
        self._listed_families = listed

    def _require_digits(self, child: int, lost: ShortIntegers) -> None:
        """Raise if families of a column leave it too small residuals."""
        if len(lost) == 0:
            return
        fewest = lost[np.argmin((lost >= 0).sum(axis=1))]
        name, parents = self._columns[child], [self._columns[p] for p in fewest if p >= 0]
        raise DegenerateColumnsError(
            f"Column {name!r} is nearly collinear with {parents}: they leave less than "
            f"{SMALLEST:g} of its spread, which has too few digits to show the shape of the noise. "
            "Leave out one of these columns.",
            [],
            [name],
        )

    def _walk_part(
        self, x: int, base: Floats, weight: Floats, first: Integers, begin: int, scores: Floats
    ) -> None:
        """Score the families of a column that have these of its first candidates."""
        sets = self._numbered[x]
        numbers = sets.binomials, sets.starts
        walk_families(base, weight, first, begin, sets.most, *numbers, *_STATISTICS, scores)

    @property
    def _unit_rows(self) -> tuple[Floats, Floats]:
        """The centred columns, of variance 1 and as rows, and the weights of the table's rows."""
        rows, weight = self.sample.rows, self.sample.weight
        weight = np.ones(len(rows)) if weight is None else weight
        rows, weight = rows[weight > 0], np.ascontiguousarray(weight[weight > 0])
        centred = (rows - self.gaussian.scorer.statistics.mean) / self._scale
        centred -= np.average(centred, axis=0, weights=weight)
        return np.ascontiguousarray(centred.T), weight

    @property
    def _scale(self) -> Floats:
        """The columns' standard deviations."""
        statistics = self.gaussian.scorer.statistics
        return statistics.scale / math.sqrt(statistics.n_samples)

    def _base(self, x: int, rows: Floats, weight: Floats) -> Floats:
        """Return the residuals of a column and its candidates given its required parents."""
        _, required, candidates = self._limits[x]
        own = rows[[x, *candidates]]
        return residuals(own, rows[required], weight) if required else own

    @property
    def _costs(self) -> Floats:
        """What the criterion subtracts for each number of parents, shape (m,)."""
        n, m = self.gaussian.scorer.statistics.n_samples, len(self._columns)
        criterion = self.gaussian.scorer.criterion
        assert isinstance(criterion, InformationCriterion)
        free, costly = (criterion.tables(n, m, penalty)[0] for penalty in (0.0, self.penalty))
        return np.asarray(free - costly)

    # Single families

    def local_score(self, child: str | int, parents: Iterable[str | int] = ()) -> float:
        x, others = family_numbers(self.columns, child, parents)
        _, required, candidates = self._limits[x]
        free = [p for p in others if p not in required]
        fits = len(free) == len(others) - len(required) <= self._numbered[x].most
        if not fits or not {*free} <= {*candidates}:
            return -np.inf
        position = [candidates.index(p) for p in free]
        return float(self._families[x][1][self._numbered[x].index(position)])

    local_score.__doc__ = ParentSetScores.local_score.__doc__

    def _network_terms(self, parents: Sequence[int]) -> Floats:
        """Return the terms of each column's local score, by regressions of their own."""
        (rows, weight), scores = self._unit_rows, np.zeros(len(parents))
        costs, unit = self._costs, weight.sum() * np.log(self._scale)
        for x in self._modelled:
            others = members_of(parents[x])
            left = residuals(rows[[x]], rows[others], weight)
            score, sets = np.empty(1), SmallSubsets(0, 0)
            none = np.zeros(0, dtype=np.int64)
            numbers = sets.binomials, sets.starts
            walk_families(left, weight, none, 0, 0, *numbers, *_STATISTICS, score)
            scores[x] = score[0] - unit[x] - costs[len(others)]
        return np.array([scores - self._score_offsets, self._score_offsets])

    def _n_rows(self) -> int:
        return len(self.sample.rows)

    def _settings(self) -> dict[str, str]:
        return {"criterion": str(self.criterion), "penalty": f"{self.penalty:g}"}


def residuals(columns: Floats, others: Floats, weight: Floats) -> Floats:
    """Return the residuals of columns on others by least squares; both are arrays of rows."""
    root = np.sqrt(weight)
    solution = np.linalg.lstsq((others * root).T, (columns * root).T)[0]
    return np.ascontiguousarray(columns - solution.T @ others)


def require_likelihood(criterion: Criterion) -> None:
    """Raise unless a criterion only says what parents cost."""
    if not isinstance(criterion, InformationCriterion) or criterion.unbiased_variance:
        raise ValueError(
            f"criterion={readable_value(criterion)} scores Gaussian noise, and here the density of "
            'the noise is estimated. Use "bic", "ebic", "aic", "loglik" or an InformationCriterion '
            "without unbiased variances, whose cost of parents is subtracted."
        )


def statistics_of_density(degree: int) -> tuple[Floats, Floats]:
    """Return what bends the density at the nodes, and the logistic density's shares of them.

    The former are the Legendre polynomials of the hyperbolic tangent, and the square, of shape
    (n_nodes, degree + 1).
    """
    x = STEP * np.arange(-N_ASIDE, N_ASIDE + 1)
    polynomials = legvander(np.tanh(x), degree)[:, 1:]
    shares = np.cosh(x) ** -2.0
    return np.ascontiguousarray(np.column_stack([polynomials, x**2])), shares / shares.sum()


_STATISTICS: tuple[Any, ...] = statistics_of_density(DEGREE)

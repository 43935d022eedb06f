"""LocalScores: a table's rows, and with them the scores of all its families."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy, deepcopy
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import BYTES, Floats
from skbn._core.columns import family_numbers
from skbn._core.resources import read_only
from skbn._core.text import readable_value
from skbn._data.experiments import read_interventions
from skbn._data.nodes import Nodes
from skbn._data.sample import Sample, TableMixin
from skbn._data.statistics import Regression, SampleStatistics
from skbn._scores import criteria
from skbn._scores.base import BaseScores
from skbn._scores.block_scorer import BlockScorer
from skbn._scores.families import Limits, ScoredParentSets, ScoredPiece
from skbn._scores.grouped_scorer import GroupedScorer, TableGroup, sum_of_scorers
from skbn._scores.scorer import FamilyScorer


class LocalScores(TableMixin, BaseScores):
    """The local scores of all families of a table's columns.

    A *family* is a child and a set of parents; m columns have ``m * 2**(m - 1)``.
    All their scores follow from the 2**m log-determinants of the columns' subsets,
    which are computed when they are first needed. The score of a single family never
    waits for them.

    To numpy and scikit-learn this object is the table itself: it has the table's shape
    and rows, so that it can take the table's place in a pipeline. A slice or an array of
    row numbers gives the LocalScores of these rows.

    The sum of the LocalScores of several tables with the same columns, ``scores_a + scores_b`` or
    ``sum(list_of_scores)``, scores one structure whose parameters differ between tables: a
    network's score is the sum of its scores in all tables, or the logarithm of the product of their
    marginal likelihoods. Learners and posteriors take it in the place of a table, and its attribute
    `tables` lists what was added up. The networks that they find have no parameters: fit these to a
    table.

    `LocalScoreTransformer` makes these objects; there is no constructor.

    Attributes
    ----------
    sample : Sample
        The rows and their weights.
    feature_names_in_ : ndarray of shape (m,) of str
        Only if the columns have names.
    scorer : FamilyScorer
        Scores families by the numbers of their columns; for the search.

    See Also
    --------
    LocalScoreTransformer : What makes them.
    ParentSetScores : Scores of listed families only.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import LocalScoreTransformer
    >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue"]]
    >>> scores = LocalScoreTransformer().fit_transform(wine)
    >>> scores
    <LocalScores of 12 families, 178 rows x 3 columns, criterion=BIC(), penalty=1, 64 B>
    >>> round(scores.local_score("proline", ["alcohol"]), 2)
    -1236.13
    >>> scores[:90] + scores[90:]
    <SummedScores of 12 families, 3 columns, tables=2, criterion=BIC(), penalty=1, 64 B>
    """

    feature_names_in_: npt.NDArray[np.object_]
    scorer: FamilyScorer
    _sample: Sample
    _criterion: criteria.Criterion
    _max_parents: int | None
    _n_jobs: int | None
    _nodes: Nodes

    def __init__(self) -> None:
        raise TypeError(
            "LocalScores are made from a table: call LocalScoreTransformer().fit_transform(X)."
        )

    @classmethod
    def _from_sample(
        cls,
        sample: Sample,
        criterion: criteria.Criterion,
        feature_names: npt.NDArray[np.object_] | None = None,
        *,
        penalty: float = 1.0,
        max_parents: int | None = None,
        n_jobs: int | None = None,
    ) -> Self:
        """Return the local scores of a sample's rows, or of its summary."""
        self = cls.__new__(cls)
        self._sample = sample
        self._criterion = criterion
        self._max_parents = max_parents
        self._n_jobs = n_jobs
        names = [*range(sample.shape[1])] if feature_names is None else map(str, feature_names)
        self._nodes = sample.nodes or Nodes.of_single_columns([*names])
        if feature_names is not None:
            self.feature_names_in_ = read_only(feature_names)
        settings = self._nodes, criterion, penalty, max_parents, n_jobs
        is_plain = sample.nodes is None or sample.nodes.are_columns
        if not is_plain and getattr(criterion, "nu", None) is not None:
            raise ValueError(
                "nu is a prior mean of columns, and nodes of several columns are whitened first. "
                "Leave nu=None, which takes the means of the table."
            )
        kind = FamilyScorer if is_plain else BlockScorer
        if sample.is_experiment:
            whole = kind(sample.all_rows, *settings)
            groups = [TableGroup(own, kind(rows, *settings), whole) for own, rows in sample.groups]
            self.scorer = GroupedScorer(groups, sample.targets, sample)
        else:
            self.scorer = kind(sample, *settings)
        return self

    def with_penalty(self, penalty: float) -> Self:
        """Return the local scores with another penalty; the log-determinants are shared.

        Parameters
        ----------
        penalty : float
            Multiplies the complexity term of an information criterion; from 0 to 1e100.

        Returns
        -------
        scores : LocalScores

        Raises
        ------
        ValueError
            If the penalty is not such a number, or the criterion has no complexity term.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import LocalScoreTransformer
        >>> wine = load_wine(as_frame=True).data
        >>> scores = LocalScoreTransformer().fit_transform(wine)
        >>> [len(scores.with_penalty(p).best_parents("hue")) for p in (1, 4, 16)]
        [4, 3, 0]
        """
        penalty = criteria.read_penalty(penalty)
        if penalty != 1 and not isinstance(self._criterion, criteria.InformationCriterion):
            raise ValueError(
                f"criterion={readable_value(self._criterion)} has no complexity term that "
                f"penalty={readable_value(penalty)} could multiply. Leave it at 1."
            )
        other = copy(self)
        other.scorer = self.scorer.with_penalty(penalty)
        return other

    @property
    def _summands(self) -> list[LocalScores]:
        return [self]

    def __add__(self, other: Any) -> SummedScores:
        """Return the scores of one structure for two tables, with parameters of each.

        Raises ValueError if they have other columns, another criterion, penalty or max_parents; if
        values are missing; if the criterion gives equivalent networks different scores.
        """
        others = getattr(other, "_summands", [])
        return SummedScores._of([*self._summands, *others]) if others else NotImplemented

    def __radd__(self, other: Any) -> Self:
        """Return these scores as a sum: ``sum`` begins with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    @property
    def sample(self) -> Sample:
        """The rows and their weights."""
        return self._sample

    # The settings are read-only, as the scores depend on them.

    @property
    def criterion(self) -> criteria.Criterion:
        """A copy of the criterion."""
        return deepcopy(self._criterion)

    @property
    def penalty(self) -> float:
        """The factor of the complexity term of an information criterion."""
        return self.scorer.penalty

    @property
    def max_parents(self) -> int | None:
        """The largest number of parents; None for any number."""
        return self._max_parents

    @property
    def n_jobs(self) -> int | None:
        """Number of threads, by joblib's rules."""
        return self._n_jobs

    # The table

    @property
    def columns(self) -> list[str | int]:
        """The columns' names, or their numbers if they have none."""
        return [*self._nodes.names]

    def with_sample_weight(self, sample_weight: npt.ArrayLike | None) -> Self:
        """Return the local scores of the rows with weights, which count as repeats of them.

        Parameters
        ----------
        sample_weight : array-like of shape (n,), or None
            How often each row counts, not negative. None returns these scores. The weights
            of a pandas Series go to the rows of the same labels, if the table had labels.

        Returns
        -------
        scores : LocalScores

        Raises
        ------
        ValueError, TypeError
            If they are not weights of these rows, the rows have other weights already, or
            the rows were not kept.
        """
        sample = self.sample.with_weight(sample_weight)
        return self if sample is self.sample else self._with_sample(sample.counted(sample_weight))

    def with_interventions(self, interventions: Any) -> Self:
        """Return the local scores of the rows of an experiment.

        A column's families are then scored by the rows in which it was not set.

        Parameters
        ----------
        interventions : data frame or array-like of bool, or sequence of length n, or None
            Which columns an experimenter set in each row, as in `GaussianBNLearner.fit`. None
            returns these scores.

        Returns
        -------
        scores : LocalScores

        Raises
        ------
        ValueError, TypeError
            If they are not interventions on these columns in these rows, the rows have others
            already, or the rows were not kept; if values are missing.

        Examples
        --------
        >>> import numpy as np
        >>> from skbn import LocalScoreTransformer
        >>> rng = np.random.default_rng(0)
        >>> rows = rng.normal(size=(100, 2))
        >>> rows[:, 1] += rows[:, 0]
        >>> rows[50:, 1] = rng.normal(size=50)  # set by the experimenter
        >>> scores = LocalScoreTransformer().fit_transform(rows)
        >>> tested = scores.with_interventions([None] * 50 + [1] * 50)
        >>> scores.coef(1, [0])[1].round(2), tested.coef(1, [0])[1].round(2)
        (array([0.41]), array([1.18]))
        """
        if interventions is None:
            return self
        sample = self.sample
        is_set = read_interventions(interventions, sample, self.columns)
        if sample.is_experiment:
            if sample.is_set is None or not np.array_equal(is_set, sample.is_set):
                raise ValueError(
                    "The LocalScores were made with other interventions. Pass interventions in one "
                    "place only."
                )
            return self
        return self._with_sample(sample.with_interventions(is_set)) if is_set.any() else self

    def _with_sample(
        self,
        sample: Sample,
        n_jobs: int | None = None,
        max_parents: int | None = None,
        criterion: criteria.Criterion | None = None,
    ) -> Self:
        names = getattr(self, "feature_names_in_", None)
        return self._from_sample(
            sample,
            self._criterion if criterion is None else criterion,
            names,
            penalty=self.penalty,
            max_parents=self.max_parents if max_parents is None else max_parents,
            n_jobs=self._n_jobs if n_jobs is None else n_jobs,
        )

    def _of_rows(self, change: Callable[[Sample], Sample]) -> LocalScores:
        """Return the scores of changed rows, each table on its own."""
        sample = change(self.sample)
        return self if sample is self.sample else self._with_sample(sample)

    # The families

    @property
    def n_families(self) -> int:
        """Number of families; ``m * 2**(m - 1)`` without `max_parents`."""
        return self.scorer.families.n_families

    @property
    def statistics(self) -> SampleStatistics:
        """What the regressions depend on: number of rows, means, triangular factor.

        Raises
        ------
        ValueError
            If a regression leaves no residual, since then the likelihood is
            unbounded: because of a constant column, collinear columns or too few rows.
        """
        return self.scorer.statistics

    @property
    def log_determinants(self) -> Floats:
        """The logarithms of det(Z'Z) for the subsets Z of the centred columns; read-only.

        Shape (2**m,), where bit v of an index stands for column v; with `max_parents` only
        the sets of up to ``max_parents + 1`` columns, smaller ones first. The columns are of
        unit norm if the criterion does not depend on their units, which holds for all
        information criteria; otherwise they are in their own units. Computed at the first
        access, by Givens column swaps.

        Raises
        ------
        ValueError
            If `statistics` raises it, or memory does not suffice; if nodes have several columns,
            whose scores are kept in their place.
        """
        if not self._nodes.are_columns:
            raise ValueError(
                "Log-determinants of nodes of several columns are not kept, but what their scores "
                "are differences of. Ask local_score, or to_array for the scores of all families."
            )
        return read_only(self.scorer.log_determinants())

    def local_score(self, child: str | int, parents: Iterable[str | int] = ()) -> float:
        """Return the local score of a family, in nats; larger is better.

        Parameters
        ----------
        child : str or int
            A column, by name or number.
        parents : iterable of str or int
            Other columns.

        Returns
        -------
        score : float

        Raises
        ------
        ValueError
            If there is no such column, one is given twice, or the child is among
            its parents; or if `statistics` raises it.
        TypeError
            If a column is given as anything else, or the parents are not a list.

        Examples
        --------
        >>> from skbn import LocalScoreTransformer
        >>> rows = [[0, 0], [1, 2], [2, 5], [3, 5]]
        >>> scores = LocalScoreTransformer().fit_transform(rows)
        >>> round(scores.local_score(1, [0]), 6)
        -6.15818
        """
        x, others = self._family(child, parents)
        return self.scorer.local_score(x, others)

    def residual_sum_of_squares(self, child: str | int, parents: Iterable[str | int] = ()) -> float:
        """Return the residual sum of squares of a child's regression on its parents.

        The regression has an intercept. Raises the errors of `local_score`.

        Parameters
        ----------
        child, parents : as in `local_score`

        Returns
        -------
        residual_sum_of_squares : float
            In the child's units, squared.

        Examples
        --------
        >>> from skbn import LocalScoreTransformer
        >>> rows = [[0, 0], [1, 2], [2, 5], [3, 5]]
        >>> scores = LocalScoreTransformer().fit_transform(rows)
        >>> round(scores.residual_sum_of_squares(1, [0]), 6)
        1.8
        """
        return self.regression(child, parents).residual_sum_of_squares

    def coef(self, child: str | int, parents: Iterable[str | int] = ()) -> tuple[float, Floats]:
        """Return the intercept and the coefficients of a child's regression on its parents.

        Raises the errors of `local_score`.

        Parameters
        ----------
        child, parents : as in `local_score`

        Returns
        -------
        intercept : float
        coefficients : ndarray of shape (n_parents,)
            In the order of `parents`.

        Examples
        --------
        >>> from skbn import LocalScoreTransformer
        >>> rows = [[0, 0], [1, 2], [2, 5], [3, 5]]
        >>> scores = LocalScoreTransformer().fit_transform(rows)
        >>> intercept, coefficients = scores.coef(1, [0])
        >>> round(intercept, 6), coefficients.round(6)
        (0.3, array([1.8]))
        """
        regression = self.regression(child, parents)
        return regression.intercept, regression.coefficients

    def regression(self, child: str | int, parents: Iterable[str | int] = ()) -> Regression:
        """Return a child's regression on its parents: intercept, coefficients and residual.

        With `BGe` the rows of its prior take part, and the coefficients are posterior means.
        Raises the errors of `local_score`.

        Parameters
        ----------
        child, parents : as in `local_score`

        Returns
        -------
        regression : Regression
            A named tuple of `intercept`, `coefficients` and `residual_sum_of_squares`.
        """
        x, others = self._family(child, parents)
        return self.scorer.regression(x, others)

    def family_index(self, child: str | int, parents: Iterable[str | int] = ()) -> tuple[int, int]:
        """Return the row and column of a family's score in the array of `to_array`.

        Raises the errors of `local_score`.

        Parameters
        ----------
        child, parents : as in `local_score`

        Returns
        -------
        row, column : int

        Examples
        --------
        >>> import numpy as np
        >>> from skbn import LocalScoreTransformer
        >>> rows = np.random.default_rng(0).normal(size=(50, 4))
        >>> LocalScoreTransformer().fit_transform(rows).family_index(1, [0, 3])
        (1, 5)
        """
        x, others = self._family(child, parents)
        return x, self.scorer.families.parent_set_index(x, others)

    def to_array(self) -> Floats:
        """Return the local scores of all families.

        Returns
        -------
        scores : ndarray of shape (m, n_families / m), float64, nats
            A row for each child and a column for each set of parents. In the number of a
            column, bit v stands for the v-th of the other columns; with `max_parents`, sets
            of fewer parents come first, and sets of one size are ordered by their last
            parents. `family_index` returns a family's row and column.

        Raises
        ------
        ValueError
            If `log_determinants` raises it, or memory does not suffice.

        Examples
        --------
        >>> from skbn import LocalScoreTransformer
        >>> rows = [[0, 0], [1, 2], [2, 5], [3, 5]]
        >>> scores = LocalScoreTransformer().fit_transform(rows)
        >>> scores.to_array().round(2)
        array([[ -7.51,  -3.6 ],
               [-10.07,  -6.16]])
        """
        return self.scorer.to_array()

    def _network_terms(self, parents: Sequence[int]) -> Floats:
        """Return the terms of each column's local score, shape (k, m)."""
        return self.scorer.network_terms(parents)

    def _family(self, child: str | int, parents: Iterable[str | int]) -> tuple[int, list[int]]:
        x, others = family_numbers(self.columns, child, parents)
        if len(others) > self.scorer.families.max_parents:
            raise ValueError(
                f"Column {readable_value(child)} was given {len(others)} parents, but the "
                f"LocalScores were made with max_parents={self.max_parents}. Make them with more."
            )
        return x, others

    @property
    def _n_bytes(self) -> int:
        return BYTES * self.scorer.families.n_subsets

    def _memory_note(self) -> str:
        return f" of log-determinants, {'computed' if self.scorer.n_bytes else 'not computed yet'}"

    def _n_rows(self) -> int | None:
        return self.shape[0]

    def _settings(self) -> dict[str, str]:
        settings = {"criterion": str(self._criterion)}
        if isinstance(self._criterion, criteria.InformationCriterion):
            settings["penalty"] = f"{self.penalty:g}"
        if self.max_parents is not None:
            settings["max_parents"] = str(self.max_parents)
        return settings

    def _scored(self, child: int, candidates: list[int]) -> Iterator[ScoredPiece]:
        return self.scorer.scored(child, candidates)

    def _families_to_write(self, child: int) -> ScoredParentSets:
        others = [v for v in range(len(self._nodes.names)) if v != child]
        parents, scores = self.scorer.listed(Limits(child, [], others))
        return parents, scores + self.scorer.score_offsets[child]


class SummedScores(LocalScores):
    """The local scores of several tables with the same columns, added up."""

    tables: list[LocalScores]
    with_sample_weight = BaseScores.with_sample_weight
    with_interventions = BaseScores.with_interventions
    _why_no_rows = (
        "sample_weight and interventions belong to the rows of each table. Give them where its "
        "LocalScores are made, before these are added up."
    )

    def __init__(self) -> None:
        raise TypeError("SummedScores are sums of LocalScores: write scores_a + scores_b.")

    @classmethod
    def _of(cls, tables: Sequence[LocalScores]) -> SummedScores:
        """Return the sum of the scores of tables; raise unless it is one of a structure."""
        self, first = cls.__new__(cls), tables[0]
        for each in tables:
            _require_summand(first, each)
        vars(self).update(vars(first))  # their settings are the same
        self.tables = list(tables)
        self.scorer = sum_of_scorers([each.scorer for each in tables])
        return self

    @property
    def _summands(self) -> list[LocalScores]:
        return self.tables

    @property
    def sample(self) -> NoReturn:
        """Raise a TypeError, since the rows belong to several tables."""
        raise TypeError(
            "SummedScores are of several tables, which have their rows: see their attribute "
            "tables. Pass one of these, or a table."
        )

    def with_penalty(self, penalty: float) -> SummedScores:
        return self._of([each.with_penalty(penalty) for each in self.tables])

    def _with_sample(self, sample: Sample, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("SummedScores are of several tables. Take rows of each table.")

    def _of_rows(self, change: Callable[[Sample], Sample]) -> LocalScores:
        return self._of([each._of_rows(change) for each in self.tables])

    def _memory_note(self) -> str:
        return ""

    def _n_rows(self) -> None:
        return None

    def _settings(self) -> dict[str, str]:
        return {"tables": str(len(self.tables)), **super()._settings()}


def _require_summand(first: Any, other: Any) -> None:
    """Raise unless two tables' scores may be added up."""
    if type(other) is not LocalScores:
        raise TypeError(
            f"{type(other).__name__} cannot be added up. Add the LocalScores of whole tables."
        )
    if other.columns != first.columns or other._nodes != first._nodes:
        raise ValueError(
            "LocalScores that are added up must have the same columns, in one order, and the same "
            f"levels of categories: got {readable_value(first.columns)} and "
            f"{readable_value(other.columns)}. Make the scores of one table, and index them by the "
            "rows of each group, as in scores[labels == 'a'] + scores[labels == 'b']."
        )
    for name in ("criterion", "penalty", "max_parents"):
        own, given = getattr(first, name), getattr(other, name)
        if not (criteria.same_criterion(own, given) if name == "criterion" else own == given):
            raise ValueError(
                f"LocalScores that are added up must have the same {name}; got "
                f"{readable_value(own)} and {readable_value(given)}."
            )
    if not other.sample.is_complete:
        raise ValueError(
            "LocalScores of tables with missing values cannot be added up. Complete the tables "
            "first, by GaussianBNImputer for example."
        )
    if not criteria.is_score_equivalent(other.scorer.tables):
        raise ValueError(
            f"criterion={readable_value(first.criterion)} gives equivalent networks different "
            "scores, which cannot be added up. Use 'bic', 'aic', 'ebic', 'loglik' or 'bge'."
        )

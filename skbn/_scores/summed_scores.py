"""SummedScores: the local scores of several tables, for one structure with parameters of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn, Self

import numpy.typing as npt

from skbn._core.arrays import BYTES, Floats
from skbn._core.text import readable_value
from skbn._scores.base import BaseScores
from skbn._scores.criteria import Criterion, is_score_equivalent, same_criterion
from skbn._scores.families import ScoredParentSets, ScoredPiece
from skbn._scores.reprs import ScoresSummary
from skbn._scores.sum_scorer import SumScorer


class SummedScores(BaseScores):
    """The local scores of several tables with the same columns, added up.

    The score of a network is then that of one structure whose parameters each table has for
    itself: the sum of the network's scores in all tables, or the logarithm of the product of their
    marginal likelihoods. The sum of `LocalScores`, ``scores_a + scores_b`` or
    ``sum(list_of_scores)``, makes these objects; learners and posteriors take them in the place of
    a table. The networks that they find have no parameters: fit these to a table.

    Attributes
    ----------
    tables : list of LocalScores
        Those that were added up.
    feature_names_in_ : ndarray of shape (m,) of str
        Only if the columns have names.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import GaussianBNLearner, LocalScoreTransformer
    >>> wine = load_wine(as_frame=True)
    >>> table = wine.data[["alcohol", "proline", "hue", "ash"]]
    >>> scores = LocalScoreTransformer().fit_transform(table)
    >>> added = scores[wine.target == 1] + scores[wine.target == 2]
    >>> added
    <SummedScores of 32 families, 4 columns, tables=2, criterion=BIC(), penalty=1, 128 B>
    >>> learner = GaussianBNLearner().fit(added)
    >>> round(learner.network_score_, 2)
    -836.06
    >>> network = learner.network_.fit(table[wine.target == 1])
    """

    tables: list[Any]
    feature_names_in_: npt.NDArray[Any]
    scorer: SumScorer

    def __init__(self) -> None:
        raise TypeError("SummedScores are sums of LocalScores: write scores_a + scores_b.")

    @classmethod
    def _of(cls, tables: Sequence[Any]) -> Self:
        """Return the sum of the scores of tables; raise unless it is one of a structure."""
        self = cls.__new__(cls)
        self.tables = list(tables)
        first = self.tables[0]
        for each in self.tables:
            _require_summand(first, each)
        self._nodes = first._nodes
        if hasattr(first, "feature_names_in_"):
            self.feature_names_in_ = first.feature_names_in_
        self.scorer = SumScorer([each.scorer for each in self.tables])
        return self

    @property
    def _summands(self) -> list[Any]:
        return self.tables

    def __add__(self, other: Any) -> SummedScores:
        """Return the scores with those of other tables added."""
        summands = other._summands if isinstance(other, BaseScores) else []
        return self._of([*self.tables, *summands]) if summands else NotImplemented

    @property
    def columns(self) -> list[str | int]:
        """The columns' names, or their numbers if they have none."""
        return list(self.tables[0].columns)

    @property
    def criterion(self) -> Criterion:
        """A copy of the criterion."""
        criterion: Criterion = self.tables[0].criterion
        return criterion

    @property
    def penalty(self) -> float:
        """The factor of the complexity term of an information criterion."""
        return self.scorer.penalty

    @property
    def max_parents(self) -> int | None:
        """The largest number of parents; None for any number."""
        most: int | None = self.tables[0].max_parents
        return most

    @property
    def n_families(self) -> int:
        """Number of families."""
        return len(self.columns) * self.scorer.families.n_parent_sets

    @property
    def sample(self) -> NoReturn:
        """Raise a TypeError, since the rows are those of several tables."""
        raise TypeError(
            "SummedScores are of several tables, which have their rows: see their attribute "
            "tables. Pass one of these, or a table."
        )

    def with_penalty(self, penalty: float) -> SummedScores:
        """Return the sum with another penalty; log-determinants are shared.

        Parameters
        ----------
        penalty : float
            As in `LocalScores.with_penalty`.

        Returns
        -------
        scores : SummedScores
        """
        return self._of([each.with_penalty(penalty) for each in self.tables])

    def with_sample_weight(self, sample_weight: npt.ArrayLike | None) -> Self:
        """Return these scores if there are no weights.

        Parameters
        ----------
        sample_weight : None

        Returns
        -------
        scores : SummedScores

        Raises
        ------
        TypeError
            If there are weights: they belong to the rows of each table.
        """
        self._refuse("sample_weight", sample_weight)
        return self

    def with_interventions(self, interventions: Any) -> Self:
        """Return these scores if there are no interventions.

        Parameters
        ----------
        interventions : None

        Returns
        -------
        scores : SummedScores

        Raises
        ------
        TypeError
            If there are interventions: they belong to the rows of each table.
        """
        self._refuse("interventions", interventions)
        return self

    def _refuse(self, name: str, given: Any) -> None:
        if given is not None:
            raise TypeError(
                f"{name} belong to the rows of each table. Give them where its LocalScores are "
                "made, before these are added up."
            )

    def local_score(self, child: str | int, parents: Iterable[str | int] = ()) -> float:
        """Return the sum of a family's local scores, in nats; larger is better.

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
        ValueError, TypeError
            As `LocalScores.local_score`.
        """
        return float(sum(each.local_score(child, parents) for each in self.tables))

    def _network_terms(self, parents: Sequence[int]) -> Floats:
        return self.scorer.network_terms(parents)

    def _scored(self, child: int, candidates: list[int]) -> Iterator[ScoredPiece]:
        return self.scorer.scored(child, candidates)

    def _families_to_write(self, child: int) -> ScoredParentSets:
        others = [v for v in range(len(self.columns)) if v != child]
        parents, scores = self.scorer.listed(child, [], others)
        return parents, scores + self.scorer.score_offsets[child]

    def _summary(self) -> ScoresSummary:
        of_first = self.tables[0]._summary()
        settings = {"tables": str(len(self.tables)), **of_first.settings}
        n_bytes = BYTES * self.scorer.families.n_subsets
        return ScoresSummary(
            type(self).__name__, self.n_families, None, self.columns, settings, n_bytes
        )


def _require_summand(first: Any, other: Any) -> None:
    """Raise unless two tables' scores may be added up."""
    if other.columns != first.columns or other._nodes != first._nodes:
        raise ValueError(
            "LocalScores that are added up must have the same columns, in one order, and the same "
            f"levels of categories: got {readable_value(first.columns)} and "
            f"{readable_value(other.columns)}. Make the scores of one table, and index them by the "
            "rows of each group, as in scores[labels == 'a'] + scores[labels == 'b']."
        )
    for name in ("criterion", "penalty", "max_parents"):
        own, given = getattr(first, name), getattr(other, name)
        if not (same_criterion(own, given) if name == "criterion" else own == given):
            raise ValueError(
                f"LocalScores that are added up must have the same {name}; got "
                f"{readable_value(own)} and {readable_value(given)}."
            )
    if not other.sample.is_complete:
        raise ValueError(
            "LocalScores of tables with missing values cannot be added up. Complete the tables "
            "first, by GaussianBNImputer for example."
        )
    if not is_score_equivalent(other.scorer.tables):
        raise ValueError(
            f"criterion={readable_value(first.criterion)} gives equivalent networks different "
            "scores, which cannot be added up. Use 'bic', 'aic', 'ebic', 'loglik' or 'bge'."
        )

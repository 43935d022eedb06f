"""EnvironmentScores: the local scores of rows from environments whose targets are unknown."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy
from functools import partial
from typing import Any, NoReturn, Self

import numpy as np

from skbn._core.resources import explained
from skbn._core.text import readable_value
from skbn._data.row_values import read_row_groups
from skbn._data.sample import Sample
from skbn._scores.local_scores import LocalScores
from skbn._scores.target_scorer import MOST_WALKS, Environments, TargetScorer


class EnvironmentScores(LocalScores):
    """The local scores of all families, where environments changed unknown mechanisms.

    A learner or a posterior with `targets` makes them from a table and the environments of its
    rows.

    See Also
    --------
    LocalScores : The same of one environment.
    """

    scorer: TargetScorer

    @classmethod
    def _of(cls, scores: LocalScores, environments: Environments) -> Self:
        self = cls.__new__(cls)
        vars(self).update(vars(scores))
        settings = scores._nodes, scores._criterion, scores.penalty, scores._max_parents
        self.scorer = TargetScorer(environments, scores.sample, *settings, scores._n_jobs)
        return self

    def with_sums(self) -> Self:
        """Return the scores that add up the likelihoods of all targets."""
        other = copy(self)
        other.scorer = self.scorer.with_sums()
        return other

    def __add__(self, other: Any) -> NoReturn:
        raise TypeError(
            "Scores of environments cannot be added up. Give the rows of all tables together, and "
            "a name for each environment of each table."
        )

    __radd__ = __add__

    def _with_sample(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "Rows, weights and interventions of scores with environments cannot be changed. Change "
            "those of the table, and of the environments, before the scores are made."
        )

    def _of_rows(self, change: Callable[[Sample], Sample]) -> LocalScores:
        other = copy(self)
        other._sample = change(self.sample)
        other.scorer = self.scorer.with_sample(other._sample)
        return other


def with_environments(
    scores: Any, given: Any, kind: str, reference: Hashable | None, cost: float
) -> LocalScores:
    """Return the scores of rows from environments, each of which may have changed columns.

    `given`: (n,), the environment of each row
    `reference`: the environment that changed nothing; None for that of the first row; False if any
        may have changed something

    Raises ValueError or TypeError if they are not environments of these rows, or the scores are of
    a kind that cannot have them.
    """
    if type(scores) is not LocalScores:
        raise TypeError(
            f"environments need a table or its LocalScores; X is {type(scores).__name__}."
        )
    sample = scores.sample
    for name, is_so, remedy in (
        ("missing values", not sample.is_complete, "Complete them first, by GaussianBNImputer"),
        ("interventions", sample.is_experiment, "Leave out the rows in which columns were set"),
        ("nodes of several columns", not scores._nodes.are_columns, "Set nodes=None"),
    ):
        if is_so:
            raise ValueError(f"environments do not work with {name} yet. {remedy}.")
    if not sample.has_rows:
        raise TypeError(
            "environments are those of rows in memory, and X is a table of dask, or a summary "
            "without rows, such as covariances. Pass the rows, as by X.compute() of dask."
        )
    number, names = read_row_groups(given, sample.labels, len(sample.rows), "environments")
    first, has_reference = 0, not (isinstance(reference, bool | np.bool_) and not reference)
    if not has_reference:
        if any(isinstance(name, bool | np.bool_) and not name for name in names):
            raise ValueError(
                "reference=False means that no environment is the reference, but one of them is "
                "called False. Give names as text, as by [str(each) for each in environments]."
            )
    elif reference is not None:
        if reference not in names:
            raise ValueError(
                f"reference={readable_value(reference)} is none of the environments "
                f"{readable_value(names)}. Name one of them, or set None for the first, or "
                "False for none."
            )
        first = names.index(reference)
    if 1 << len(names) - has_reference > MOST_WALKS:
        raise ValueError(
            f"There are {len(names)} environments, and each one more doubles the search: "
            f"{1 << len(names) - has_reference} walks through all sets of columns. Merge "
            f"environments until there are {MOST_WALKS.bit_length() - 1 + has_reference} or fewer."
        )
    order = [first, *(e for e in range(len(names)) if e != first)]
    number = np.argsort(order)[number]
    names = [names[e] for e in order]
    summaries = [
        explained(
            partial(getattr, sample[number == e], "summary"),
            partial("In environment {0!r}: {1}".format, name),
        )
        for e, name in enumerate(names)
    ]
    settings = names, summaries, number, kind, cost
    environments = Environments(*settings, has_reference=has_reference)
    return EnvironmentScores._of(scores, environments)

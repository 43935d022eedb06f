"""Checks of what users give to estimators: parameters, tables and scores."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array

from skbn._core.estimator import Interval, StrOptions
from skbn._core.text import readable_value
from skbn._data.containers import is_dask, row_labels
from skbn._data.dask_rows import read_dask_rows
from skbn._data.encoding import encoded_rows, learn_nodes
from skbn._data.nodes import Nodes
from skbn._data.sample import Sample
from skbn._data.table import Table
from skbn._scores.base import BaseScores
from skbn._scores.criteria import CRITERIA, Criterion, as_criterion, criterion_for
from skbn._scores.criterion_checks import LARGEST_PENALTY, same_criterion
from skbn._scores.local_scores import LocalScores

__all__ = [
    "PARAMETER_CONSTRAINTS",
    "check_columns",
    "check_settings",
    "learn_columns",
    "make_scores",
    "most_parents",
    "read_sample",
]

_MOST_SHOWN = 5

PARAMETER_CONSTRAINTS: dict[str, list[Any]] = {
    "criterion": [StrOptions(set(CRITERIA)), Criterion],
    "penalty": [Interval(Real, 0, LARGEST_PENALTY, closed="both")],
    "max_parents": [Interval(Integral, 0, None, closed="left"), None],
    "nodes": [StrOptions({"auto"}), dict, "array-like", None],
    "n_jobs": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Integral, None, -1, closed="right"),
        None,
    ],
}
"""Constraints on the parameters that the estimators share."""


def make_scores(estimator: BaseEstimator, sample: Sample, penalty: float) -> LocalScores:
    """Return the local scores of a sample, with an estimator's settings; by default the BIC."""
    return LocalScores(
        sample,
        as_criterion(
            estimator._default_criterion if estimator.criterion is None else estimator.criterion
        ),
        vars(estimator).get("feature_names_in_"),
        penalty=float(penalty),
        max_parents=estimator.max_parents,
        n_jobs=estimator.n_jobs,
    )


def read_sample(
    estimator: BaseEstimator,
    X: Any,
    sample_weight: Any = None,
    *,
    reset: bool,
    min_samples: int = 1,
    needs_rows: bool = True,
    is_chunk: bool = False,
    may_miss: bool = False,
    nodes: Any = None,
) -> Sample:
    """Return the rows of a table with their weights, or their summary if the table is of dask.

    The rows are copied to a read-only array.

    Parameters
    ----------
    estimator : estimator
        Its number and names of columns are set if `reset`, and checked otherwise.
    X : array-like or data frame of shape (n, m)
    sample_weight : array-like of shape (n,), optional
    reset : bool
    min_samples : int
    needs_rows : bool
        Whether a summary is not enough. A table of dask is then refused.
    is_chunk : bool
        Whether other rows will be added, so that all weights of a table of dask may be 0.
    may_miss : bool
        Whether values may be missing.
    nodes : optional
        What nodes to learn if `reset`; by default those that the estimator's parameter `nodes`
        asks for.

    Returns
    -------
    sample : Sample

    Raises
    ------
    ValueError, TypeError
        As `Table`, and if the columns are not those of `fit`; if there are too few columns
        or rows; if the weights do not match the rows.
    """
    if isinstance(X, BaseScores):
        kind = type(X).__name__
        raise TypeError(f"X is already {kind}. Pass it to a GaussianBNLearner.")
    table = Table(X)
    table.check_positions()
    if not reset:
        check_columns(estimator, table.names, len(table.labels))

    # Holes do not matter in rows of weight 0; those of other rows are refused below.
    refuses_holes = not may_miss
    may_miss = may_miss or sample_weight is not None
    learned = _learned_nodes(estimator, table, nodes, may_miss) if reset else estimator._nodes_
    fewest = min_samples, 2 if reset else 1

    def check_shape(rows: npt.NDArray[np.float64]) -> None:
        if rows.shape[0] < fewest[0] or rows.shape[1] < fewest[1]:
            check_array(  # raises in scikit-learn's words, and would take longer than all else here
                rows,
                ensure_all_finite=False,
                ensure_min_samples=fewest[0],
                ensure_min_features=fewest[1],
                estimator=estimator,
            )

    if is_dask(X) and not needs_rows:
        m = len(table.labels)
        check_shape(np.zeros((min_samples, m)))  # before the rows are read
        n_rows, sample = read_dask_rows(X, sample_weight, is_chunk=is_chunk)
        check_shape(np.zeros((min(n_rows, min_samples), m)))
        if learned is not None:
            chosen = [column.source for column in learned.columns]
            sample = Sample.of_summary(sample.summary.select(chosen), learned)
    else:
        read = table.rows if learned is None else partial(encoded_rows, learned, table)
        rows = read(may_miss=may_miss)
        check_shape(rows)
        rows.setflags(write=False)
        sample = Sample(rows, None, row_labels(X), learned, may_miss=may_miss)
        sample = sample.with_weight(sample_weight)
        if refuses_holes and not sample.is_complete:
            read(may_miss=False)
        n_rows = len(rows)
    if sample_weight is not None and (reset or is_chunk):
        sample.counted(sample_weight, n_rows)
    if reset:
        learn_columns(estimator, table.names, len(table.labels), learned)
    return sample


def _learned_nodes(
    estimator: BaseEstimator, table: Table, nodes: Any, may_miss: bool
) -> Nodes | None:
    """Return the nodes that `nodes`, or else the estimator's parameter, makes of a table."""
    spec = getattr(estimator, "nodes", None) if nodes is None else nodes
    if spec is None:
        return None
    if table.is_lazy and isinstance(spec, str):
        raise ValueError(
            "nodes='auto' needs the rows in memory, to see the levels of categories; X is a table "
            "of dask. Encode the categories and give nodes as a dict, or pass X.compute()."
        )
    learned = learn_nodes(spec, table, may_miss=may_miss)
    if learned is not None and len(learned.names) < 2:
        raise ValueError(f"At least two nodes are needed; nodes makes {learned.names} of X.")
    return learned


def learn_columns(
    estimator: BaseEstimator,
    names: Sequence[str] | None,
    n_columns: int,
    nodes: Nodes | None = None,
) -> None:
    """Set `n_features_in_` and `feature_names_in_`, as scikit-learn's estimators do, and nodes."""
    estimator.n_features_in_ = n_columns
    estimator._nodes_ = nodes
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif "feature_names_in_" in vars(estimator):
        del estimator.feature_names_in_


def check_columns(estimator: BaseEstimator, names: Sequence[str] | None, n_columns: int) -> None:
    """Compare columns with those of `fit`.

    scikit-learn's `validate_data` does the same, but only for the frames whose names it can read,
    which depend on its version.

    Warns
    -----
    UserWarning
        If only one of the two has names.

    Raises
    ------
    ValueError
        If the number of columns or their names differ.
    """
    estimator_name = type(estimator).__name__
    fitted = getattr(estimator, "feature_names_in_", None)
    if names is None and fitted is not None:
        warnings.warn(
            f"X does not have valid feature names, but {estimator_name} was fitted with feature "
            "names",
            stacklevel=3,
        )
    elif names is not None and fitted is None:
        warnings.warn(
            f"X has feature names, but {estimator_name} was fitted without feature names",
            stacklevel=3,
        )
    elif names is not None and fitted is not None and list(names) != list(fitted):
        raise ValueError(_difference(list(names), list(fitted)))
    if n_columns != estimator.n_features_in_:
        raise ValueError(
            f"X has {n_columns} features, but {estimator_name} is expecting "
            f"{estimator.n_features_in_} features as input. Give the columns of fit."
        )


def _difference(names: list[str], fitted: list[str]) -> str:
    """Describe how names differ from those of `fit`, in scikit-learn's words."""
    message = "The feature names should match those that were passed during fit.\n"
    differences = {
        "unseen at fit time": sorted(set(names) - set(fitted)),
        "seen at fit time, yet now missing": sorted(set(fitted) - set(names)),
    }
    for what, some in differences.items():
        if some:
            shown = [*some[:_MOST_SHOWN], *(["..."] if len(some) > _MOST_SHOWN else [])]
            message += f"Feature names {what}:\n" + "".join(f"- {name}\n" for name in shown)
    if not any(differences.values()):
        message += "Feature names must be in the same order as they were in fit.\n"
    return f"{message}Give the columns of fit, in their order: X[list(learner.feature_names_in_)]."


def check_settings(
    scores: BaseScores,
    *,
    criterion: str | Criterion | None,
    penalty: float | None,
) -> None:
    """Check that the criterion and penalty of a learner are those of the scores.

    Raises
    ------
    ValueError
        If the scores were made with different ones.
    """
    made = getattr(scores, "criterion", None)
    made_penalty = getattr(scores, "penalty", None)
    same_penalty = penalty in (None, made_penalty)
    same = criterion is None or (
        made is not None and _same_for(scores.columns, as_criterion(criterion), made)
    )
    if same and same_penalty:
        return
    parameter, asked, has = (
        ("penalty", penalty, made_penalty) if same else ("criterion", criterion, made)
    )
    raise ValueError(
        f"{parameter}={readable_value(asked)} was asked for, but the {type(scores).__name__} were "
        f"made with {parameter}={readable_value(has)}. Set it where they are made, and "
        f"{parameter}=None here."
    )


def _same_for(columns: list[str | int], a: Criterion, b: Criterion) -> bool:
    """Whether two criteria are the same for these columns, by name or by position."""
    return same_criterion(criterion_for(a, columns), criterion_for(b, columns))


def most_parents(max_parents: int | None, scores: BaseScores) -> int:
    """Return the largest number of parents that a user and the scores allow.

    Raises
    ------
    ValueError
        If the user allows more than the scores were made with.
    """
    made_with = getattr(scores, "max_parents", None)
    most = len(scores.columns) - 1
    if max_parents is None:
        return most if made_with is None else min(made_with, most)
    if made_with is not None and max_parents > made_with:
        raise ValueError(
            f"max_parents={max_parents} was asked for, but the LocalScores were made with "
            f"max_parents={made_with}. Make them with a larger max_parents, or leave the "
            "learner's at None."
        )
    return min(max_parents, most)

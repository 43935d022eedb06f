"""EM: the parameters of a Gaussian network that make rows with holes most probable.

Columns with holes of which some are combinations of others, wherever they are observed, are refused
first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skbn._core.arrays import Floats, Integers, Names
from skbn._core.compile import compile_kernels
from skbn._core.graphs import topological_order
from skbn._core.resources import IsOver
from skbn._core.subsets import bits_of
from skbn._data.degenerate_columns import collinear_error, equation
from skbn._missing.em_kernels import Moments, Problem, maximise_likelihood
from skbn._missing.incomplete_rows import IncompleteRows, incomplete_rows
from skbn._regressions.least_squares import Dependence

# Rows of independent columns that keep the likelihood of the saturated model bounded. A whole row
# would show in columns that nearly depend on each other.
PRIOR_ROWS = 0.1
# Far more than EM takes, unless the likelihood is unbounded.
_MOST_STEPS = 10_000
# Multiplications of one call of the kernel.
_OPERATIONS = 100_000_000


class UnboundedError(ValueError):
    """A column is determined by its parents, so that the likelihood has no maximum."""

    def __init__(self, column: int) -> None:
        super().__init__(column)
        self.column = column


@dataclass(frozen=True)
class Estimate:
    """Parameters of a network in the units of `IncompleteRows`, and what they say of the holes."""

    # (n_target_sets, m): where the arrows into each set of targets are cut; there is one set of
    # none without any
    mean: Floats
    covariance: Floats  # (n_target_sets, m, m)
    # the log-likelihood of the observed values, given those that were set, in nats and in these
    # units
    log_likelihood: float
    expected_mean: Floats  # (n_groups, m): that of the rows of each group
    scatter: Floats  # (n_groups, m, m): the expected scatter of the complete rows about this mean
    n_steps: int  # how many E-steps it took


def start(rows: IncompleteRows) -> Estimate:
    """Return independent columns with the moments of their observed values."""
    m = rows.n_columns
    n_sets = len(rows.patterned.targets)
    zeros, unit = np.zeros((n_sets, m)), np.tile(np.eye(m), (n_sets, 1, 1))
    n = rows.n_of_groups
    return Estimate(
        zeros, unit, -np.inf, np.zeros((len(n), m)), n[:, np.newaxis, np.newaxis] * np.eye(m), 0
    )


def estimate(
    rows: IncompleteRows,
    parents: Sequence[int],
    begin: Estimate,
    *,
    tolerance: float,
    prior: float = 0.0,
    is_over: IsOver = bool,
) -> Estimate:
    """Return the parameters of a network by EM.

    `begin`: EM begins with the parameters that make its expected rows most probable
    `tolerance`: in nats: EM ends with the first step that raises the log-likelihood by no more
    `prior`: how many rows of independent columns of variance 1 are added
    `is_over`: whether to end after the step that was begun, at least the first

    Raises UnboundedError if a column's parents determine it.
    """
    compile_kernels([maximise_likelihood])
    problem = _problem(rows, parents, prior)
    n_sets, m = rows.patterned.targets.shape
    moments = Moments(
        begin.expected_mean.copy(),
        begin.scatter.copy(),
        np.empty((n_sets, m)),
        np.empty((n_sets, m, m)),
    )
    # A call of the kernel holds up interrupts, and takes a few tenths of a second.
    at_once = max(1, _OPERATIONS // (len(rows.patterned.observed) * m**3))
    penalised, n_steps, column = -np.inf, 0, -2
    while column == -2 and n_steps < _MOST_STEPS and not (n_steps and is_over()):
        log_likelihood, penalised, n_more, column = maximise_likelihood(
            problem, tolerance, penalised, at_once, moments
        )
        n_steps += n_more
    if column >= 0:
        raise UnboundedError(column)
    return Estimate(
        moments.mean,
        moments.covariance,
        log_likelihood,
        moments.expected_mean,
        moments.scatter,
        n_steps,
    )


def _problem(rows: IncompleteRows, parents: Sequence[int], prior: float) -> Problem:
    """Return what the kernel needs to know, and scratch."""
    given, m = rows.patterned, rows.n_columns
    observed = np.append(given.observed, np.ones((1, m), dtype=bool), axis=0)
    order = np.array(topological_order(parents), dtype=np.int64)
    is_parent = bits_of(parents, m)
    n_parents = is_parent.sum(axis=1)
    # Parents by their places in the order, then the column, and then what is neither.
    kind = np.where(is_parent, 0, 2) - np.eye(m, dtype=np.int64)
    of_rows = np.repeat(given.targets_of, np.diff(given.starts))
    weights = np.bincount(of_rows, given.weight, len(given.targets)).astype(np.float64)
    return Problem(
        given,
        order,
        order[np.argsort(kind[:, order], axis=1, kind="stable")],
        n_parents,
        not given.targets.any() and int(n_parents.sum()) == m * (m - 1) // 2,
        np.argsort(~observed, axis=1, kind="stable"),
        observed.sum(axis=1),
        given.targets.sum(axis=1),
        weights,
        (given.counts * weights).cumsum(axis=1)[:, -1].copy(),
        prior,
        *np.empty((3, m)),
        *np.empty((5, m, m)),
    )


def saturated(rows: IncompleteRows, tolerance: float, is_over: IsOver = bool) -> Estimate:
    """Return the parameters of the complete network, whose likelihood a small prior bounds.

    The rows of each group have an EM of their own, as if nothing had been set in them: what their
    columns depend on is the same in all of these. The expected scatter includes the prior, in
    proportion.
    """
    m = rows.n_columns
    complete = [(1 << x) - 1 for x in range(m)]
    found = []
    for g in range(len(rows.groups)):
        own = rows.of_group(g)
        each = estimate(
            own, complete, start(own), tolerance=tolerance, prior=PRIOR_ROWS, is_over=is_over
        )
        share = own.n_samples / (own.n_samples + PRIOR_ROWS)
        found.append(replace(each, scatter=share * (each.scatter + PRIOR_ROWS * np.eye(m))))
    if len(found) == 1:
        return found[0]
    return replace(
        found[0],
        log_likelihood=np.nan,  # the groups have rows in common
        expected_mean=np.concatenate([each.expected_mean for each in found]),
        scatter=np.concatenate([each.scatter for each in found]),
        n_steps=sum(each.n_steps for each in found),
    )


# Columns that depend on each other wherever they are observed

# A column whose residual is a smaller share of its spread is a combination of others. EM meets one
# that is less exact if a network has such a family.
_EXACT, _DETERMINED = 1e-6, 3e-5
# Where columns are combinations, the saturated model leaves no more than its prior's scatter, times
# the squared weights, and what EM is short of.
_SUSPECT = 10
_FEWEST_TOGETHER = 4
# Squares of larger numbers may overflow; EM says so of columns in such units.
_LARGEST = 1e100
_COARSE = 1e-2


def require_independent(
    rows: Floats,
    names: Names,
    *,
    labels: Sequence[Any],
    node_of: Integers,
    largest_family: int,
    weight: Floats | None = None,
    scatter: Floats | None = None,
    is_unbounded: bool = False,
) -> None:
    """Raise if columns are combinations of others, naming all of them.

    `rows`: (n, m), NaN where a value is missing. Columns that do not vary are left out.
    `labels`, `node_of`: which of the user's columns, and which node, each column is of
    `largest_family`: how many nodes take part in a regression
    `scatter`: (m, m), that of the saturated model, if all columns vary
    `is_unbounded`: whether EM has met a family with too small a residual
    """
    size = np.nanmax(np.abs(rows), axis=0)
    rows = np.where((size > 1 / _LARGEST) & (size < _LARGEST), rows, 0.0)
    kept = np.flatnonzero(np.nanmin(rows, axis=0) < np.nanmax(rows, axis=0)).tolist()
    if len(kept) < 2:
        return
    if scatter is None or len(kept) < len(size):
        (of_kept,) = saturated(incomplete_rows(rows[:, kept], weight), _COARSE).scatter
        scatter = np.zeros((rows.shape[1],) * 2)
        scatter[np.ix_(kept, kept)] = of_kept
    deviations = rows - np.nanmean(rows, axis=0)
    scale = np.nanstd(rows, axis=0)
    deviations[:, kept] /= scale[kept]
    combinations = []
    for last in (True, False):  # columns that others before them make up, if they do
        precision = np.zeros_like(scatter)
        precision[np.ix_(kept, kept)] = np.linalg.inv(scatter[np.ix_(kept, kept)])
        is_suspect = np.diag(precision) <= _SUSPECT * PRIOR_ROWS * (precision**2).sum(axis=1)
        for j in [j for j in kept if is_suspect[j]]:
            others = [i for i in kept if i < j or (i > j and not last)]
            own = _combination(deviations, j, others)
            if own is None:
                continue
            n_nodes = len({*node_of[[j, *own.others]]})
            if n_nodes <= largest_family:
                kept.remove(j)
                combinations += [own] if n_nodes > 1 or is_unbounded else []
    if min((each.residual for each in combinations), default=1.0) <= (
        _DETERMINED if is_unbounded else _EXACT
    ):
        raise collinear_error(
            [names[each.column] for each in combinations],
            [labels[each.column] for each in combinations],
            [
                equation(
                    names[each.column],
                    [names[i] for i in each.others],
                    each.weights * (scale[each.column] / scale[each.others]),
                )
                for each in combinations
            ],
            "In the rows in which they are observed together, the likelihood is unbounded. Leave "
            "out {}, or give rows in which they differ.",
        )


def _combination(rows: Floats, column: int, others: list[int]) -> Dependence | None:
    """Return a column as a combination of some others, if it is one.

    They are found one by one: the next is the one that explains most of what is left.
    """
    of_all = _regressed(rows, column, others)
    if of_all is not None and of_all[1] > _DETERMINED:
        return None
    chosen: list[int] = []
    while (own := _regressed(rows, column, chosen)) is not None:
        weights, residual, seen, left = own
        if residual <= _DETERMINED:
            counts = np.abs(weights) > _EXACT
            return Dependence(column, np.array(chosen)[counts].tolist(), weights[counts], residual)
        more = [i for i in others if i not in chosen]
        if not more:
            return None
        values = np.nan_to_num(rows[seen][:, more])
        norms = np.linalg.norm(values, axis=0)
        chosen.append(more[int(np.argmax(np.abs(left @ values) / np.where(norms > 0, norms, 1)))])
    return None


def _regressed(
    rows: Floats, column: int, others: list[int]
) -> tuple[Floats, float, Integers, Floats] | None:
    """Return a column's weights on others, the share that is left, the rows and what is left there.

    Return None if too few rows have all of these columns.
    """
    values = rows[:, [*others, column]]
    seen = np.flatnonzero(~np.isnan(values).any(axis=1))
    if len(seen) < max(_FEWEST_TOGETHER, len(others) + 2):
        return None
    values = values[seen] - values[seen].mean(axis=0)
    norm = np.linalg.norm(values[:, -1])
    weights = np.linalg.lstsq(values[:, :-1], values[:, -1], rcond=None)[0]
    left = values[:, -1] - values[:, :-1] @ weights
    return weights, float(np.linalg.norm(left) / norm) if norm else 1.0, seen, left

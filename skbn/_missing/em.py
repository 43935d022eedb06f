"""EM: the parameters of a Gaussian network that make rows with holes most probable."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import networkx as nx
import numpy as np

from skbn._core.arrays import Floats
from skbn._core.compile import compile_kernels
from skbn._core.graphs import dag_of
from skbn._core.subsets import bits_of
from skbn._missing.em_kernels import Moments, maximise_likelihood
from skbn._missing.incomplete_rows import IncompleteRows

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
    """Parameters of a network in the units of `IncompleteRows`, and what they say of the holes.

    Parameters
    ----------
    mean : ndarray of shape (n_target_sets, m)
        Where the arrows into each set of targets are cut; there is one set of none without any.
    covariance : ndarray of shape (n_target_sets, m, m)
    log_likelihood : float
        The log-likelihood of the observed values, given those that were set, in nats and in these
        units.
    expected_mean : ndarray of shape (n_groups, m)
        That of the rows of each group.
    scatter : ndarray of shape (n_groups, m, m)
        The expected scatter of the complete rows about this mean.
    n_steps : int
        How many E-steps it took.
    """

    mean: Floats
    covariance: Floats
    log_likelihood: float
    expected_mean: Floats
    scatter: Floats
    n_steps: int


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
    is_over: Callable[[], bool] = bool,
) -> Estimate:
    """Return the parameters of a network by EM.

    Parameters
    ----------
    rows : IncompleteRows
    parents : sequence of m int
        The masks of the columns' parents.
    begin : Estimate
        EM begins with the parameters that make its expected rows most probable.
    tolerance : float
        In nats: EM ends with the first step that raises the log-likelihood by no more.
    prior : float
        How many rows of independent columns of variance 1 are added.
    is_over : callable
        Whether to end after the step that was begun, at least the first.

    Raises
    ------
    UnboundedError
        If a column's parents determine it.
    """
    m = rows.n_columns
    is_parent = bits_of(parents, m)
    compile_kernels([maximise_likelihood])
    order = np.array([*nx.topological_sort(dag_of(range(m), list(parents)))], dtype=np.int64)
    n_sets = len(rows.patterned.targets)
    moments = Moments(
        begin.expected_mean.copy(),
        begin.scatter.copy(),
        np.empty((n_sets, m)),
        np.empty((n_sets, m, m)),
    )
    groups = rows.group_of, rows.counts
    # A call of the kernel holds up interrupts, and takes a few tenths of a second.
    at_once = max(1, _OPERATIONS // (len(rows.patterned.observed) * m**3))
    penalised, n_steps, column = -np.inf, 0, -2
    while column == -2 and n_steps < _MOST_STEPS and not (n_steps and is_over()):
        log_likelihood, penalised, n_more, column = maximise_likelihood(
            rows.patterned, *groups, order, is_parent, prior, tolerance, penalised, at_once, moments
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


def saturated(
    rows: IncompleteRows, tolerance: float, is_over: Callable[[], bool] = bool
) -> Estimate:
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

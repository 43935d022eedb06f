"""A warning that `max_parents` costs a network much of its score.

In sparse networks a few columns may have many parents. A limit below that can cost hundreds of
nats, far more than a search can lose that is not exact.
"""

from __future__ import annotations

import warnings

import networkx as nx
import numpy as np
import numpy.typing as npt

from skbn._core.estimator import N_WRAPPERS
from skbn._core.subsets import members_of
from skbn._core.threads import one_blas_thread
from skbn._networks.gaussian import LinearGaussianModel
from skbn._regressions.local_score import local_score_terms
from skbn._scores.criteria import InformationCriterion
from skbn._scores.scorer import FamilyScorer
from skbn.exceptions import MaxParentsWarning

__all__ = ["gains_of_one_more_parent", "warn_about_limit"]

# How many columns at the limit are many, and the gain in nats that is worth a warning. A Bayes
# factor of 20, the logarithm of which is 3.0, is strong evidence (Kass & Raftery 1995, "Bayes
# factors").
_FEWEST_COLUMNS = 3
_SMALLEST_SHARE = 0.1
_SMALLEST_GAIN = 3.0
# The share of a column's scatter that a family must leave unexplained, or it counts as dependent on
# the family: differences from 1 are known to about 1e-16.
_SMALLEST_RESIDUAL = 1e-12
# Calls from here up to the user's line: a learner's _fit and fit, and the wrappers around fit.
_STACK_LEVEL = 4 + N_WRAPPERS

Floats = npt.NDArray[np.float64]


def warn_about_limit(
    scorer: FamilyScorer, model: LinearGaussianModel, possible: list[int], max_parents: int
) -> None:
    """Warn if many columns have `max_parents` parents and the score would gain from more.

    Parameters
    ----------
    scorer : FamilyScorer
    model : LinearGaussianModel
        The network that was found.
    possible : list of m int
        The masks of the parents that each column may have.
    max_parents : int
        No warning if it is 0, which asks for the empty network, or all other columns.
    """
    m = len(model.parents)
    full = [x for x, mask in enumerate(model.parents) if mask.bit_count() == max_parents]
    if not 0 < max_parents < m - 1 or len(full) < max(_FEWEST_COLUMNS, _SMALLEST_SHARE * m):
        return
    gains = gains_of_one_more_parent(scorer, model.parents, possible, full)
    gain = float(np.maximum(gains, 0).sum())
    if gain >= _SMALLEST_GAIN:
        warnings.warn(
            f"{len(full)} of the {m} columns have as many parents as max_parents={max_parents} "
            "allows. With one more parent for each, and no other change, the score would be up to "
            f"{gain:.3g} nats higher. Raise max_parents (of the LocalScoreTransformer, if there is "
            'one). With more rows than columns, GaussianBNLearner(search="order") needs no limit.',
            MaxParentsWarning,
            stacklevel=_STACK_LEVEL,
        )


def gains_of_one_more_parent(
    scorer: FamilyScorer, parents: list[int], possible: list[int], children: list[int]
) -> Floats:
    """Return by how many nats one more parent, the best, raises the local scores of columns.

    Parameters
    ----------
    scorer : FamilyScorer
    parents : list of m int
        The masks of each column's parents in a network.
    possible : list of m int
        The masks of the parents that each column may have. Descendants never become parents.
    children : list of int

    Returns
    -------
    gains : ndarray of shape (len(children),), in nats
        -inf for a column that can have no further parent.
    """
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(range(len(parents)))
    graph.add_edges_from((p, x) for x, mask in enumerate(parents) for p in members_of(mask))
    tables = _tables_without_limit(scorer)
    gains = np.full(len(children), -np.inf)
    with one_blas_thread():
        for i, child in enumerate(children):
            own = members_of(parents[child])
            closed = {child, *own, *nx.descendants(graph, child)}
            further = [z for z in members_of(possible[child]) if z not in closed]
            if further:
                gains[i] = _gains(scorer, tables, child, own, further).max()
    return gains


def _tables_without_limit(scorer: FamilyScorer) -> Floats:
    """Return the criterion's tables, in which the scorer's rule out families beyond its limit."""
    n, m, criterion = scorer.statistics.n_samples, scorer.families.m, scorer.criterion
    if isinstance(criterion, InformationCriterion):
        return np.asarray(criterion.tables(n, m, scorer.penalty))
    return np.asarray(criterion.tables(n, m))


def _gains(
    scorer: FamilyScorer, tables: Floats, child: int, parents: list[int], further: list[int]
) -> Floats:
    """Return how much higher the child's family scores with each of some further parents.

    It is -inf for columns that the family determines, up to rounding.
    """
    statistics, offsets, k = scorer.statistics, scorer.offsets, len(parents)
    basis, factor = np.linalg.qr(statistics.factor[:, [*parents, child]])
    diagonal = 2 * np.log(np.abs(np.diag(factor)))
    of_parents, of_family = diagonal[:k].sum(), diagonal.sum()
    # The columns of the factor are of unit norm.
    explained = (basis.T @ statistics.factor)[:, further] ** 2
    given_parents = 1 - explained[:k].sum(axis=0)
    given_family = given_parents - explained[k]
    added = np.zeros(len(further))
    if offsets is not None:
        of_parents += offsets[parents].sum()
        of_family += offsets[[*parents, child]].sum()
        added = offsets[further]
    with np.errstate(divide="ignore", invalid="ignore"):
        higher = sum(
            local_score_terms(
                tables,
                k + 1,
                of_parents + np.log(given_parents) + added,
                of_family + np.log(given_family) + added,
            )
        )
    gains = higher - sum(local_score_terms(tables, k, of_parents, of_family))
    is_known = (given_family > _SMALLEST_RESIDUAL) & np.isfinite(gains)
    return np.where(is_known, gains, -np.inf)

"""The network that a search found, with its parameters, certified."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skbn._core.exact_sums import upper_sum
from skbn._core.graphs import dag_of
from skbn._core.subsets import members_of
from skbn._core.threads import one_blas_thread
from skbn._networks.descriptions import score_losses
from skbn._networks.equivalence import canonical_member
from skbn._networks.gaussian import LinearGaussianModel, estimate_model
from skbn._scores.criteria import Criterion
from skbn._scores.criterion_checks import is_score_equivalent
from skbn._scores.local_scores import LocalScores
from skbn._solver.certificate import (
    certify_constraints,
    certify_listed_network,
    certify_network,
    certify_score,
)
from skbn._solver.constraints import Constraints
from skbn._solver.engines import Optimum, Scores

__all__ = ["Solution", "certified"]


Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Solution:
    """The network that a search found, certified.

    Parameters
    ----------
    columns : list of m str or int
    parents : list of m int
        The mask of each column's parents.
    fixed : list of m int
        The masks of those parents whose edges the constraints do not let one reverse.
    score : float
        In nats.
    criterion : Criterion or None
        The criterion that it maximises; None for ParentSetScores.
    model : LinearGaussianModel or None
        The network with its parameters. None for ParentSetScores, which have no rows.
    score_losses : ndarray of shape (m, m)
        ``score_losses[i, j]`` is by how many nats the score is lower without the edge i -> j, as
        `GaussianBayesianNetwork.to_frame` defines it; NaN without an edge.
    gap : float
        No network within the constraints scores higher by more than this, in nats; infinite if
        nothing is known. It is about the networks: the score may be rounded by more.
    score_bound : float
        A score that no network within the constraints exceeds; infinite if none is known.
    is_optimal : bool
        Whether the gap is within the tolerance.
    is_finished : bool
        Whether a search that proves its network ended by itself: if its network is not optimal
        then, rounding hides more than the tolerance.
    n_iter : int
        How many perturbed orders the order search started from again; 0 for an exact search.
    n_nodes : int
        How many nodes the trees of branch and cut have.
    start_losses : tuple of float or None
        By how many nats what each start of the order search found scores lower, ascending from 0;
        None for an exact search.
    """

    columns: list[str | int]
    parents: list[int]
    fixed: list[int]
    score: float
    criterion: Criterion | None
    model: LinearGaussianModel | None
    score_losses: npt.NDArray[np.float64]
    gap: float
    score_bound: float
    is_optimal: bool
    is_finished: bool
    n_iter: int
    n_nodes: int
    start_losses: tuple[float, ...] | None = None


def certified(
    scores: Scores, optimum: Optimum, constraints: Constraints, tolerance: float
) -> Solution:
    """Return the network that was found, with parameters if there are rows to estimate them from.

    Parameters
    ----------
    scores : LocalScores or ParentSetScores
    optimum : Optimum
        Of all groups of columns together.
    constraints : Constraints
    tolerance : float
        The gap that a network that is called optimal may have, in nats.

    Raises
    ------
    RuntimeError
        If independent regressions do not confirm the result of the search.
    """
    parents, searched, gap = optimum.parents, optimum.score, optimum.gap
    if optimum.rounding > tolerance:
        gap = upper_sum([gap, optimum.rounding])
    columns = scores.columns

    def solution(
        fixed: list[int],
        score: float,
        bound: float,
        model: LinearGaussianModel | None,
        losses: Floats,
    ) -> Solution:
        return Solution(
            columns,
            parents,
            fixed,
            score,
            getattr(scores, "criterion", None),
            model,
            losses,
            gap,
            score_bound=bound,
            is_optimal=gap <= tolerance,
            is_finished=optimum.is_finished,
            n_iter=optimum.n_iter,
            n_nodes=optimum.n_nodes,
            start_losses=optimum.start_losses,
        )

    certify_constraints(columns, constraints, parents)
    with one_blas_thread():
        if not isinstance(scores, LocalScores):
            certify_score(scores, parents, searched)
            certify_listed_network(scores, constraints, parents)
            local = [scores.local_score(x, members_of(mask)) for x, mask in enumerate(parents)]
            losses = score_losses(dag_of(columns, parents), scores)
            bound = upper_sum([*local, gap])
            return solution(constraints.fixed(parents), math.fsum(local), bound, None, losses)
        scorer = scores.scorer
        if constraints.is_free and is_score_equivalent(scorer.tables):
            parents = canonical_member(parents)
        score = certify_score(scores, parents, searched)
        fixed, divisors = constraints.fixed(parents), scorer.noise_divisors
        model = estimate_model(scorer.statistics, parents, columns, fixed=fixed, divisors=divisors)
        losses = certify_network(scores, constraints, parents, model.coef)
    bound = upper_sum([score, gap]) if gap else score
    return solution(fixed, score, bound, model, losses)

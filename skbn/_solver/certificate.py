"""Independent verification of the network found.

The search compares numbers from compiled kernels. Here LAPACK computes the regressions of the
network's families again, and those of the families that differ by one parent. The residuals of
the rows themselves are compared with the scores. A defect of a kernel, or of the machine,
therefore raises an error instead of returning a wrong network.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import Booleans, Floats
from skbn._core.subsets import bits_of, mask_of, members_of
from skbn._core.text import readable_value
from skbn._regressions.least_squares import families_of
from skbn._regressions.local_score import internal_error, score_tolerance
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._scores.scorer import FamilyScorer
from skbn._solver.constraints import Constraints
from skbn._solver.edge_changes import EdgeChanges, descendants_of

__all__ = [
    "certify_constraints",
    "certify_listed_network",
    "certify_network",
    "certify_score",
]


def certify_constraints(
    names: Sequence[str | int], constraints: Constraints, parents: list[int]
) -> None:
    """Raise unless the constraints allow the parents of each column."""
    for x, (mask, allowed, required) in enumerate(
        zip(parents, constraints.allowed, constraints.required, strict=True)
    ):
        is_allowed = mask & ~allowed == 0 and required & ~mask == 0
        if not is_allowed or mask.bit_count() > constraints.max_parents:
            chosen = [names[p] for p in members_of(mask)]
            raise internal_error(
                f"the constraints do not allow column {names[x]!r} the parents {chosen}"
            )


def certify_score(network_terms: Floats, searched: float) -> float:
    """Return a network's score, computed from its own families, if the search found the same.

    Each family may differ by `SCORE_ACCURACY` and by the rounding of the largest term. The score
    of the search leaves out the offsets that all families of a child share, which are the last of
    the terms.
    """
    *terms, shared = network_terms
    score, offset = float(sum(terms).sum()), float(shared.sum())
    tolerance = len(shared) * score_tolerance(np.abs(terms).max())
    if not np.isfinite(score) or not abs(score - searched) <= tolerance:
        raise internal_error(
            f"the best network's score is {readable_value(offset + searched)} from the search and "
            f"{readable_value(offset + score)} from independent regressions"
        )
    return offset + score


def certify_network(
    scores: LocalScores, constraints: Constraints, parents: list[int], coef: Floats
) -> Floats:
    """Raise unless a network is the best of its neighbours, and fits the rows themselves.

    Parameters
    ----------
    scores : LocalScores
    constraints : Constraints
    parents : list of int
        The mask of each column's parents.
    coef : ndarray of shape (n_columns, n_columns)
        The weights of the edges between columns, ``coef[i, j]`` that of i -> j.

    Returns
    -------
    score_losses : ndarray of shape (m, m)
        ``score_losses[i, j]`` is how many nats the network scores less without the edge i -> j; NaN
        without an edge.

    Raises
    ------
    RuntimeError
        If a network with one edge added, deleted or reversed scores higher; if the
        log-determinants of the search differ from those computed here; if the residual sums of
        squares that the coefficients leave are not those of the scores, or other coefficients
        would leave less. The last check is skipped if the rows were not kept.
    """
    changes = EdgeChanges(scores.scorer, constraints, parents)
    groups = scores.scorer.row_groups
    for nodes, scorer in groups:
        _check_determinants(scorer, changes, nodes)
    better = changes.best()
    if better is not None:
        child, parent, what, gain = better
        raise internal_error(
            f"with the edge {scores.columns[parent]!r} -> {scores.columns[child]!r} {what} the "
            f"network found scores higher by {gain:g} nats and more"
        )
    if scores.sample.has_rows:
        of_columns = scores.scorer.parents_of_columns(parents)
        is_parent = bits_of(of_columns, len(of_columns))
        for nodes, scorer in groups:
            if len(nodes) < len(parents) or constraints.exogenous:
                # Others have no parents here, so that their rows are not looked at.
                own = scorer.columns_of(mask_of(nodes) & ~constraints.exogenous)
                counts = np.isin(np.arange(len(of_columns)), own)
                _check_rows(scorer, is_parent & counts[:, np.newaxis], coef * counts)
            else:
                _check_rows(scorer, is_parent, coef)
    return np.where(bits_of(parents, len(parents)), -changes.gains, np.nan).T


def certify_listed_network(
    scores: ParentSetScores, constraints: Constraints, parents: list[int]
) -> None:
    """Raise unless no column has a better family that makes no cycle."""
    descendants = descendants_of(parents)
    own, offsets = scores.network_terms(parents)
    tolerance = score_tolerance(np.abs(own[constraints.modelled]).max())
    for child in constraints.modelled:
        name = scores.columns[child]
        required = members_of(constraints.required[child])
        may_be = members_of(constraints.allowed[child] & ~descendants[child])
        _, local = scores.listed(child, required, may_be, constraints.max_parents)
        best = local.max() - offsets[child]
        if not best <= own[child] + tolerance:
            raise internal_error(
                f"with other parents of column {name!r} the network found scores higher by "
                f"{best - own[child]:g} nats"
            )


def _check_determinants(scorer: FamilyScorer, changes: EdgeChanges, children: list[int]) -> None:
    """Raise unless the search took its scores from the same log-determinants, if it kept them."""
    if scorer.searched is None:
        return
    m, one = len(changes.parents), 1 << np.arange(len(changes.parents))
    found, weights = scorer.searched
    own_parents = np.array(changes.parents, dtype=np.int64)[:, np.newaxis]
    every: npt.NDArray[np.int64] = own_parents ^ np.where(np.eye(m, dtype=bool), 0, one)
    masks, families = every[children], (every | one[:, np.newaxis])[children]
    of_parents, of_family = changes.of_parents[children], changes.of_family[children]
    largest = scorer.largest_weight
    for sets, own, searched, expected in (
        (
            masks,
            of_parents,
            found.at(masks).of_parents,
            weights.at(masks, of_parents).of_parents,
        ),
        (
            families,
            of_family,
            found.at(families).of_family,
            weights.at(families, of_family).of_family,
        ),
    ):
        is_same = searched == expected  # as infinite ones are that rule families out
        off = np.abs(np.subtract(searched, expected, where=~is_same, out=np.zeros(own.shape)))
        off -= m * score_tolerance(largest * np.abs(own))
        at = np.unravel_index(np.argmax(off), off.shape)
        if not off[at] <= 0:
            columns = members_of(int(sets[at]))
            raise internal_error(
                f"the log-determinant of the columns {columns} is {own[at]:.17g} by independent "
                f"regressions, which makes {expected[at]:.17g} of scores, and the search took "
                f"{searched[at]:.17g}"
            )


def _check_rows(scorer: FamilyScorer, is_parent: Booleans, coef: Floats) -> None:
    """Raise unless the residuals are those of least squares, and agree with the scores."""
    m, names = len(is_parent), scorer.column_names
    scale = scorer.statistics.scale
    # The columns of unit norm times this matrix are the residuals.
    residual_of = np.eye(m) - coef * scale[:, np.newaxis] / scale
    squares, products = np.zeros(m), np.zeros((m, m))
    for rows in scorer.unit_rows():
        residuals = rows @ residual_of
        squares += np.einsum("ij,ij->j", residuals, residuals)
        products += rows.T @ residuals
    for families in families_of(scorer.statistics.factor, is_parent):
        children, n_parents, columns, _ = families
        by_scores = families.residual_norms() ** 2
        # How much of the residuals other coefficients could explain, by an orthonormal basis.
        k = int(n_parents.max())
        with_parents = np.where(
            np.arange(k) < n_parents[:, np.newaxis],
            products[columns[:, :k], children[:, np.newaxis]],
            0.0,
        )
        transposed = families.first_block(n_parents).transpose(0, 2, 1)
        in_basis = np.linalg.solve(transposed, with_parents[:, :, np.newaxis])
        explained = (in_basis[:, :, 0] ** 2).sum(axis=1)
        weight = scorer.residual_weights[n_parents]
        off = np.abs(np.log(squares[children] / by_scores)) + explained / by_scores
        is_off = ~(weight * off <= score_tolerance(weight))
        if is_off.any():
            i = int(np.argmax(is_off))
            x, n = children[i], n_parents[i]
            parents = [names[p] for p in columns[i, :n]]
            raise internal_error(
                f"the regression of column {names[x]!r} on {parents} leaves a share of "
                f"{squares[x]:.17g} of its scatter in the rows and {by_scores[i]:.17g} in the "
                f"scores, and other coefficients would explain {explained[i]:g} more"
            )

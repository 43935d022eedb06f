"""Independent verification of the network found.

The search compares numbers from compiled kernels. Here LAPACK computes the regressions of the
network's families again, and those of the families that differ by one parent. The residuals of
the rows themselves are compared with the scores. A defect of a kernel, or of the machine,
therefore raises an error instead of returning a wrong network.
"""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

import numpy as np
import numpy.typing as npt

from skbn._core.subsets import bits_of, members_of
from skbn._core.text import readable_value
from skbn._regressions.local_score import internal_error, local_score_terms, score_tolerance
from skbn._regressions.triangular import (
    Neighbours,
    families_first,
    neighbours,
    stacked_factors,
)
from skbn._scores.families import AllFamilies
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._scores.scorer import FamilyScorer
from skbn._solver.constraints import Constraints

__all__ = [
    "certify_constraints",
    "certify_listed_network",
    "certify_network",
    "certify_score",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

# At most this many other columns, drawn at random, are tried as a further parent of each column:
# the time for all of them would grow as the fourth power of their number.
_MOST_OTHERS = 32


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


def certify_score(
    scores: LocalScores | ParentSetScores, parents: list[int], searched: float
) -> float:
    """Return a network's score, computed from its own families, if the search found the same.

    Each family may differ by `SCORE_ACCURACY` and by the rounding of the largest term. The score
    of the search leaves out the offsets that all families of a child share.
    """
    *terms, shared = scores.network_terms([members_of(mask) for mask in parents])
    score, offset = float(sum(terms).sum()), float(shared.sum())
    tolerance = len(parents) * score_tolerance(np.abs(terms).max())
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
    coef : ndarray of shape (m, m)
        The edges' weights, ``coef[i, j]`` that of i -> j.

    Returns
    -------
    score_losses : ndarray of shape (m, m)
        ``score_losses[i, j]`` is how many nats the network scores less without the edge i -> j; NaN
        without an edge.

    Raises
    ------
    RuntimeError
        If a network with one edge added, deleted or reversed scores higher (at most
        `_MOST_OTHERS` further parents are tried for each column); if the log-determinants of the
        search differ from those computed here; if the residual sums of squares that the
        coefficients leave are not those of the scores, or other coefficients would leave less.
        The last check is skipped if the rows were not kept.
    """
    is_parent = bits_of(parents, len(parents))
    n_parents = is_parent.sum(axis=1)
    orders = _orders(is_parent, int(n_parents.max()) + 1 + _MOST_OTHERS)
    factors = stacked_factors(scores.scorer.statistics.factor, orders)
    found = neighbours(factors, n_parents)
    offsets = scores.scorer.offsets
    scored = found if offsets is None else _in_own_units(found, orders, n_parents, offsets)
    _check_determinants(scores.scorer, parents, orders, scored)
    gains, tolerance = _gains(scores.scorer, orders, n_parents, scored)
    _check_edges(scores.columns, gains - tolerance, constraints, parents)
    if scores.sample.has_rows:
        _check_rows(scores, orders, n_parents, coef, found)
    return np.where(is_parent, -gains, np.nan).T


def certify_listed_network(
    scores: ParentSetScores, constraints: Constraints, parents: list[int]
) -> None:
    """Raise unless no column has a better family that makes no cycle."""
    descendants = _descendants(parents)
    own, offsets = scores.network_terms([members_of(mask) for mask in parents])
    tolerance = score_tolerance(np.abs(own).max())
    for child, name in enumerate(scores.columns):
        required = members_of(constraints.required[child])
        may_be = members_of(constraints.allowed[child] & ~descendants[child])
        _, local = scores.listed(child, required, may_be, constraints.max_parents)
        best = local.max() - offsets[child]
        if not best <= own[child] + tolerance:
            raise internal_error(
                f"with other parents of column {name!r} the best network scores higher by "
                f"{best - own[child]:g} nats"
            )


def _orders(is_parent: Booleans, width: int) -> Integers:
    """Return, for each column, its parents, itself and others, shape (m, width or fewer)."""
    if width >= len(is_parent):
        return families_first(is_parent)
    others = np.random.default_rng(0).uniform(1, 2, is_parent.shape)  # the same in each run
    return families_first(is_parent, others)[:, :width]


def _in_own_units(
    found: Neighbours, orders: Integers, n_parents: Integers, offsets: Floats
) -> Neighbours:
    """Return the log-determinants of the columns in their own units, which add the offsets."""
    own = n_parents[:, np.newaxis]
    place = np.arange(orders.shape[1])
    shared = np.where(place < own, offsets[orders], 0.0).sum(axis=1, keepdims=True)
    added = shared + np.sign(place - own) * offsets[orders]
    of_parents = found.of_parents + added
    of_family = found.of_family + added + offsets[:, np.newaxis]
    return Neighbours(of_parents, of_family, found.inverse)


def _check_determinants(
    scorer: FamilyScorer, parents: list[int], orders: Integers, found: Neighbours
) -> None:
    """Raise unless the search has the same log-determinants, if it keeps them."""
    if scorer.n_bytes == 0 or not isinstance(scorer.families, AllFamilies):
        return
    log_det, child = scorer.log_determinants(), np.arange(len(orders))[:, np.newaxis]
    masks = np.array(parents)[:, np.newaxis] ^ np.where(orders == child, 0, 1 << orders)
    weight = np.abs(scorer.tables[1:]).max()
    for sets, own in ((masks, found.of_parents), (masks | 1 << child, found.of_family)):
        searched = log_det[sets]
        off = weight * np.abs(searched - own) - len(orders) * score_tolerance(weight * np.abs(own))
        at = np.unravel_index(np.argmax(off), off.shape)
        if not off[at] <= 0:
            columns = members_of(int(sets[at]))
            raise internal_error(
                f"the log-determinant of the columns {columns} is {own[at]:.17g} by independent "
                f"regressions, and {searched[at]:.17g} in the search"
            )


def _gains(
    scorer: FamilyScorer, orders: Integers, n_parents: Integers, found: Neighbours
) -> tuple[Floats, Floats]:
    """Return how much higher families score than the network's own, and the rounding errors.

    Both of shape (m, m). Row x, column z is for x with z added to its parents or removed from them;
    a gain that was not tried is -inf.
    """
    m, own = len(orders), n_parents[:, np.newaxis]
    change = np.sign(np.arange(orders.shape[1]) - own)
    gains, tolerance = np.full((m, m), -np.inf), np.zeros((m, m))
    with np.errstate(invalid="ignore"):  # dependent columns, which are in no family together
        terms = np.stack(
            local_score_terms(scorer.tables, own + change, found.of_parents, found.of_family)
        )
        scores = terms.sum(axis=0)
        higher = scores - np.take_along_axis(scores, own, axis=1)
        # The search treats differences below the rounding of the network's largest term as ties.
        largest = np.abs(terms).max(axis=0)
        of_network = np.take_along_axis(largest, own, axis=1).max()
        rounding = score_tolerance(np.maximum(largest, of_network))
    np.put_along_axis(gains, orders, higher, axis=1)
    np.put_along_axis(tolerance, orders, rounding, axis=1)
    return gains, tolerance


def _check_edges(
    names: Sequence[str | int], gains: Floats, constraints: Constraints, parents: list[int]
) -> None:
    """Raise if adding, deleting or reversing an edge, where allowed, improves the score."""
    m = len(parents)
    masks = [*parents, *constraints.required, *constraints.allowed, *_descendants(parents)]
    is_parent, is_required, is_allowed, follows = bits_of(masks, m).reshape(4, m, m)
    has_room = is_parent.sum(axis=1) < constraints.max_parents
    may_come = is_allowed & has_room[:, np.newaxis]
    may_go = is_parent & ~is_required
    # Reversing p -> x would make a cycle if another path leads from p to x.
    has_other_path = follows.T.astype(np.float32) @ is_parent.astype(np.float32) > 0
    for what, is_possible, gain in (
        ("added", may_come & ~is_parent & ~follows, gains),
        ("deleted", may_go, gains),
        ("reversed", may_go & may_come.T & ~has_other_path, gains + gains.T),
    ):
        is_better = is_possible & ~(gain <= 0)
        if is_better.any():
            child, parent = np.argwhere(is_better)[0]
            raise internal_error(
                f"with the edge {names[parent]!r} -> {names[child]!r} {what} the best network "
                f"scores higher by {gain[child, parent]:g} nats and more"
            )


def _descendants(parents: list[int]) -> list[int]:
    """Return the mask of the descendants of each column."""
    members = [members_of(mask) for mask in parents]
    after = [0] * len(parents)
    try:
        order = [*TopologicalSorter(dict(enumerate(members))).static_order()]
    except CycleError as error:
        cycle = error.args[1]
        raise internal_error(f"the best network has a cycle of the columns {cycle}") from None
    for child in order[::-1]:
        for parent in members[child]:
            after[parent] |= 1 << child | after[child]
    return after


def _check_rows(
    scores: LocalScores,
    orders: Integers,
    n_parents: Integers,
    coef: Floats,
    found: Neighbours,
) -> None:
    """Raise unless the residuals are those of least squares, and agree with the scores."""
    scorer, scale, m = scores.scorer, scores.scorer.statistics.scale, len(orders)
    # The columns of unit norm times this matrix are the residuals.
    residual_of = np.eye(m) - coef * scale[:, np.newaxis] / scale
    squares, products = np.zeros(m), np.zeros((m, m))
    for rows in scorer.unit_rows():
        residuals = rows @ residual_of
        squares += np.einsum("ij,ij->j", residuals, residuals)
        products += rows.T @ residuals
    child, k = np.arange(m), found.inverse.shape[1]
    by_scores = np.exp(found.of_family[child, n_parents] - found.of_parents[child, n_parents])
    # How much of the residuals other coefficients could explain, by an orthonormal basis.
    is_parent = np.arange(k) < n_parents[:, np.newaxis]
    with_parents = np.where(is_parent, products[orders[:, :k], child[:, np.newaxis]], 0.0)
    in_basis = np.einsum("xij,xi->xj", found.inverse, with_parents)
    explained = np.where(is_parent, in_basis**2, 0.0).sum(axis=1)
    weight = np.abs(scorer.tables[2, n_parents])
    off = weight * (np.abs(np.log(squares / by_scores)) + explained / by_scores)
    is_off = ~(off <= score_tolerance(weight))
    if is_off.any():
        x = int(np.argmax(is_off))
        parents = [scores.columns[p] for p in orders[x, : n_parents[x]]]
        raise internal_error(
            f"the regression of column {scores.columns[x]!r} on {parents} leaves a share of "
            f"{squares[x]:.17g} of its scatter in the rows and {by_scores[x]:.17g} in the scores, "
            f"and other coefficients would explain {explained[x]:g} more"
        )

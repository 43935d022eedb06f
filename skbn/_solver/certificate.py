"""Independent verification of the network found.

The search compares numbers from compiled kernels. Here LAPACK computes the regressions of the
network's families again, and those of the families that differ by one parent. The residuals of
the rows themselves are compared with the scores. A defect of a kernel, or of the machine,
therefore raises an error instead of returning a wrong network. `EdgeChanges` has what each edge
that the network lacks or has would add to its score, by the same regressions: an order search works
with products of columns, which lose the digits of nearly collinear ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import Booleans, Floats, Integers
from skbn._core.graphs import Dag, descendants_of
from skbn._core.resources import IsOver
from skbn._core.subsets import bits_of, members_of
from skbn._core.text import internal_error, readable_value
from skbn._networks.descriptions import score_losses
from skbn._networks.equivalence import canonical_member
from skbn._regressions.least_squares import families_of
from skbn._regressions.set_function import score_tolerance
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._scores.scorer import FamilyScorer
from skbn._solver.constraints import Constraints

# The residuals of this many children are computed together, from the columns that these use; and
# their neighbours between two looks at the clock.
_BLOCK = 64


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
    scores: LocalScores,
    constraints: Constraints,
    parents: list[int],
    coefs: Sequence[Floats],
    is_settled: bool = True,
    climbed: EdgeChanges | None = None,
) -> Floats:
    """Raise unless a network is the best of its neighbours, and fits the rows themselves.

    `coefs`: for each of the tables whose scores these are, the weights of the edges between
        columns, (n_columns, n_columns), ``coef[i, j]`` that of i -> j
    `is_settled`: whether a search had the time to make each change of a single edge that betters
        the network; if not, only the edges that the network has are looked at
    `climbed`: what `polished` ended with. It is used if it is of this network.

    Returns `score_losses`: (m, m), ``score_losses[i, j]`` is how many nats the network scores less
    without the edge i -> j; NaN without an edge.

    Raises RuntimeError if a network with one edge added, deleted or reversed scores higher, and it
    is settled; if the log-determinants of the search differ from those computed here; if the
    residual sums of squares that the coefficients leave are not those of the scores, or other
    coefficients would leave less. The last check is skipped if the rows were not kept.
    """
    tables = scores._summands if scores.scorer.is_sum else [scores]
    groups = [table.scorer.row_groups for table in tables]
    keeps = any(scorer.searched is not None for of_table in groups for _, scorer in of_table)
    if is_settled or keeps:
        changes = climbed
        if keeps or changes is None or not changes.is_of(parents, constraints):
            changes = EdgeChanges(scores.scorer, constraints, parents, keeps)
        for table, of_table in zip(tables, groups, strict=True):
            is_one = table.scorer is scores.scorer
            own = changes if is_one else EdgeChanges(table.scorer, constraints, parents, keeps)
            for nodes, scorer in of_table:
                _check_determinants(scorer, own, nodes)
        if is_settled:
            require_best(changes, scores)
        losses = changes.losses
    else:
        losses = score_losses(Dag(scores.columns, parents, [0] * len(parents)), scores)
    for table, of_table, coef in zip(tables, groups, coefs, strict=True):
        _check_rows_of(table, of_table, constraints, parents, coef)
    return losses


def require_best(changes: EdgeChanges, scores: LocalScores) -> None:
    """Raise if a network with one edge added, deleted or reversed scores higher."""
    better = changes.best()
    if better is not None:
        child, parent, what, gain = better
        raise internal_error(
            f"with the edge {scores.columns[parent]!r} -> {scores.columns[child]!r} {what} the "
            f"network found scores higher by {gain:g} nats and more"
        )


def _check_rows_of(
    scores: LocalScores,
    groups: Sequence[tuple[list[int], FamilyScorer]],
    constraints: Constraints,
    parents: list[int],
    coef: Floats,
) -> None:
    """Raise unless the rows, if they were kept, leave the residuals that scores have."""
    if not scores.sample.has_rows:
        return
    of_columns = scores.scorer.nodes.parents_of_columns(parents)
    is_parent = bits_of(of_columns, len(of_columns))
    for nodes, scorer in groups:
        if len(nodes) < len(parents) or constraints.exogenous:
            # Others have no parents here, so that their rows are not looked at.
            own = scorer.nodes.columns_of([x for x in nodes if not constraints.exogenous >> x & 1])
            counts = np.isin(np.arange(len(of_columns)), own)
            _check_rows(scorer, is_parent & counts[:, np.newaxis], coef * counts)
        else:
            _check_rows(scorer, is_parent, coef)


def certify_listed_network(
    scores: ParentSetScores, constraints: Constraints, parents: list[int]
) -> None:
    """Raise unless no column has a better family that makes no cycle."""
    descendants = descendants_of(parents)
    own, offsets = scores._network_terms(parents)
    tolerance = score_tolerance(np.abs(own[constraints.modelled]).max())
    for child in constraints.modelled:
        name = scores.columns[child]
        limits = constraints.limits_of(child, outside=descendants[child])
        _, local = scores._listed(limits, constraints.max_parents)
        best = local.max() - offsets[child]
        if not best <= own[child] + tolerance:
            raise internal_error(
                f"with other parents of column {name!r} the network found scores higher by "
                f"{best - own[child]:g} nats"
            )


def _check_determinants(scorer: FamilyScorer, changes: EdgeChanges, children: list[int]) -> None:
    """Raise unless the search took its scores from the same log-determinants, if it kept them."""
    kept = scorer.searched
    if kept is None:
        return
    m, one = len(changes.parents), 1 << np.arange(len(changes.parents))
    found, weights = kept
    own_parents = np.array(changes.parents, dtype=np.int64)[:, np.newaxis]
    every: npt.NDArray[np.int64] = own_parents ^ np.where(np.eye(m, dtype=bool), 0, one)
    masks, families = every[children], (every | one[:, np.newaxis])[children]
    of_parents, of_family = changes.of_parents[children], changes.of_family[children]
    largest = scorer.largest_weight
    # The second and the first of the `SetFunctions`.
    for k, sets, own in ((1, masks, of_parents), (0, families, of_family)):
        searched, expected = found.at(sets)[k], weights.at(sets, own)[k]
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
    """Raise unless the residuals are least-squares residuals, and agree with the scores."""
    m, names = len(is_parent), scorer.nodes.column_names
    scale = scorer.statistics.scale
    is_used = is_parent | (coef != 0).T
    is_used[np.diag_indices(m)] = True
    blocks = []
    for begin in range(0, m, _BLOCK):
        children = np.arange(begin, min(begin + _BLOCK, m))
        used = np.flatnonzero(is_used[children].any(axis=0))
        # The columns of unit norm times this matrix are the residuals.
        residual_of = coef[used[:, np.newaxis], children] * -scale[used, np.newaxis]
        residual_of /= scale[children]
        residual_of[np.searchsorted(used, children), children - begin] += 1.0
        blocks.append((children, used, residual_of, np.zeros(residual_of.shape)))
    squares = np.zeros(m)
    for rows in scorer.unit_rows():
        for children, used, residual_of, products in blocks:
            of_block = rows if len(used) == m else rows[:, used]
            residuals = of_block @ residual_of
            squares[children] += np.einsum("ij,ij->j", residuals, residuals)
            products += of_block.T @ residuals
    for families in families_of(scorer.statistics.factor, is_parent):
        children, n_parents, columns, _ = families
        by_scores = families.residual_norms() ** 2
        # How much of the residuals other coefficients could explain, by an orthonormal basis.
        k = int(n_parents.max())
        with_parents = np.zeros((len(children), k))
        for i, x in enumerate(children):
            _, used, _, products = blocks[x // _BLOCK]
            with_parents[i, : n_parents[i]] = products[is_parent[x, used], x % _BLOCK]
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


class EdgeChange(NamedTuple):
    """An edge to add, delete or reverse."""

    child: int  # the ends of the edge as it is, or as it will be if it is added
    parent: int
    what: str  # "added", "deleted" or "reversed"
    gain: float  # by how many nats the network scores higher, and more than rounding explains


class EdgeChanges:
    """The networks that differ from a network by one edge, and their scores.

    `parents`: the mask of each column's parents: an acyclic network within the constraints
    `keeps`: whether to keep the log-determinants, to compare them with a search's
    `is_over`: whether to leave out the children that are not scored yet

    `parents`: as given, and changed by `make`
    `of_parents`, `of_family`: (m, m), row x, column z has the log-determinants of x's parents, and
        of these and x, after z has become a parent of x or ceased to be one; column x has those of
        the family as it is. Empty unless they are kept.
    `gains`: (m, m), row x, column z: how much higher x's family scores with z added to its parents
        or removed from them
    """

    def __init__(
        self,
        scorer: FamilyScorer,
        constraints: Constraints,
        parents: Sequence[int],
        keeps: bool = False,
        is_over: IsOver = bool,
    ) -> None:
        m = len(parents)
        self.parents = list(parents)
        self._keeps = keeps
        self.of_parents, self.of_family = np.empty((2, m, m if keeps else 0))
        self.gains = np.empty((m, m))
        # The largest terms of each column's neighbouring families, and of its family as it is.
        self._largest, self._own_largest = np.empty((2, m))
        self._scorer = scorer
        self._constraints = constraints
        self._is_allowed, self._is_required = constraints.bits
        self._is_complete = self._score(np.arange(m), is_over)

    def is_of(self, parents: Sequence[int], constraints: Constraints) -> bool:
        """Whether these are all changes of a network, within these constraints."""
        is_same = self._constraints is constraints and self.parents == parents
        return is_same and self._is_complete

    def best(self) -> EdgeChange | None:
        """Return the change that improves the score most; None if no change improves it.

        Differences that rounding may explain are no improvement, so that making one change
        after another comes to an end.

        Raises ValueError if the columns of a family that seems to score higher are not linearly
        independent.
        """
        m, follows = len(self.parents), descendants_of(self.parents)
        is_parent, is_after = bits_of([*self.parents, *follows], m).reshape(2, m, m)
        has_room = is_parent.sum(axis=1) < self._constraints.max_parents
        may_come = self._is_allowed & has_room[:, np.newaxis]
        may_go = is_parent & ~self._is_required
        # Few of the changes bring anything, so that the rest is not looked at. The comparison
        # keeps NaN, which dependent columns have.
        changes = []
        improves = ~(self.gains <= 0)
        for what, is_possible in (
            ("added", may_come & ~is_parent & ~is_after & improves),
            ("deleted", may_go & improves),
            ("reversed", may_go & may_come.T),
        ):
            child, parent = np.nonzero(is_possible)
            gain = self._beyond_rounding(child, parent)
            if what == "reversed":
                gain += self._beyond_rounding(parent, child)
                for i in np.flatnonzero(~(gain <= 0)):
                    # Reversing p -> x makes a cycle if another path leads from p to x.
                    if follows[parent[i]] & self.parents[child[i]]:
                        gain[i] = -np.inf
            if len(gain):
                best = int(np.argmax(gain))  # the first NaN if there is one
                edge = int(child[best]), int(parent[best])
                changes.append(EdgeChange(*edge, what, float(gain[best])))
        change = max(changes, key=lambda each: np.nan_to_num(each.gain, nan=np.inf), default=None)
        if change is None or change.gain <= 0:
            return None
        self._require_independence(change)
        if np.isnan(change.gain):
            raise internal_error(
                f"the score with the edge of columns {change.parent} and {change.child} "
                f"{change.what} is NaN"
            )
        return change

    @property
    def losses(self) -> Floats:
        """How many nats the network scores less without the edge i -> j, at [i, j]; else NaN."""
        is_parent = bits_of(self.parents, len(self.parents))
        return np.where(is_parent, -self.gains, np.nan).T

    def make(self, change: EdgeChange) -> None:
        """Change an edge of the network."""
        child, parent, what, _ = change
        changed = [child]
        self.parents[child] ^= 1 << parent
        if what == "reversed":
            self.parents[parent] ^= 1 << child
            changed.append(parent)
        self._score(np.array(changed))

    def _beyond_rounding(self, child: Integers, parent: Integers) -> Floats:
        """Return the gains of some changes of single families, less what rounding explains."""
        # The search treats differences below the rounding of the network's largest term as ties.
        largest = np.maximum(self._largest[child], self._own_largest.max())
        return np.asarray(self.gains[child, parent] - score_tolerance(largest))

    def _require_independence(self, change: EdgeChange) -> None:
        """Raise if a family of the changed network has dependent columns, and so no score."""
        child, parent = change.child, change.parent
        for x, z in ((child, parent), (parent, child)):
            if x == child or change.what == "reversed":
                others = members_of(self.parents[x] & ~(1 << z))
                self._scorer.require_independence([*others, z, x])

    def _score(self, children: Integers, is_over: IsOver = bool) -> bool:
        """Compute the rows of some children; return whether there was time for all of them."""
        is_parent = bits_of(self.parents, len(self.parents))
        for part in np.split(children, range(_BLOCK, len(children), _BLOCK)):
            if is_over():
                return False
            for found, terms in self._scorer.neighbours(is_parent, part):
                x = found.children
                self.gains[x] = gains_of_neighbours(found.children, terms)
                largest = np.abs(terms).max(axis=0)
                self._own_largest[x] = largest[np.arange(len(x)), x]
                # Those of dependent columns, which no family may have, are infinite.
                self._largest[x] = largest.max(axis=1, where=np.isfinite(largest), initial=0.0)
                if self._keeps:
                    self.of_parents[x], self.of_family[x] = found.of_parents, found.of_family
        return True


def gains_of_neighbours(children: Integers, terms: Floats) -> Floats:
    """Return how much higher families score with one parent more, or one less.

    `terms`: (3, k, m), terms of the families that differ by one parent, as
        `FamilyScorer.neighbours` has them. The family itself has its terms at [:, i, children[i]].
    `children`: (k,)

    Returns (k, m), NaN for dependent columns, which no family may have.
    """
    with np.errstate(invalid="ignore"):
        scores = terms.sum(axis=0)
        return np.asarray(scores - np.take_along_axis(scores, children[:, np.newaxis], axis=1))


def polished(
    scorer: FamilyScorer,
    constraints: Constraints,
    parents: Sequence[int],
    any_member: bool,
    is_over: IsOver = bool,
) -> EdgeChanges:
    """Climb from a network to one that no added, deleted or reversed edge betters.

    Where equivalent networks may stand for each other, it is the canonical member of its class. An
    edge that would close a cycle in one member may be added to another, and so each is climbed
    from in turn.

    `parents`: the mask of each column's parents: an acyclic network within the constraints
    `any_member`: whether equivalent networks may stand for each other
    `is_over`: whether to end with the best network so far

    Returns `changes`: those of the network that the climb ended with.

    Raises ValueError if the columns of a family that seems to score higher are not linearly
    independent.
    """
    while True:
        start = canonical_member(list(parents)) if any_member else list(parents)
        changes = EdgeChanges(scorer, constraints, start, is_over=is_over)
        while not is_over() and (change := changes.best()) is not None:
            changes.make(change)
        parents = changes.parents
        if not any_member or parents == start or is_over():
            return changes

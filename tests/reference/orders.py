"""Searching among orders the obvious, slow way.

`families` has, for each column as a child, pairs of the set of its parents and a score, the best
first. Where none of them fits an order, the column scores `missing`.
"""

import math
from itertools import permutations

import numpy as np

from reference.networks import subsets

LEAST_PIVOT = 1e-12


# Orders


def best_family(families, child, before, missing):
    """The score and the parents of the first family whose parents are all among some columns."""
    fitting = ((score, parents) for parents, score in families[child] if parents <= before)
    return next(fitting, (missing, frozenset()))


def score_of_order(families, order, missing):
    total, before = 0.0, set()
    for x in order:
        total += best_family(families, x, before, missing)[0]
        before.add(x)
    return total


def insertions(order, first=0):
    """All orders with one column elsewhere; those before the first one stay."""
    for i in range(first, len(order)):
        rest = [*order[:i], *order[i + 1 :]]
        for k in range(first, len(order)):
            yield [*rest[:k], order[i], *rest[k:]]


def best_insertion(families, order, missing, first=0):
    """The highest score of an order with one column elsewhere."""
    return max(score_of_order(families, each, missing) for each in insertions(order, first))


def best_order(families, order, missing, first=0):
    """The highest score of all orders; the columns before the first one stay."""
    return max(
        score_of_order(families, [*order[:first], *others], missing)
        for others in permutations(order[first:])
    )


def undominated(scores, least=0.0):
    """Those of a dict of sets of parents that score higher than all of their subsets."""
    return {
        parents: score
        for parents, score in scores.items()
        if score > -math.inf
        and all(score > other + least for fewer, other in scores.items() if fewer < parents)
    }


# Scores


def log_det(products, columns):
    return np.linalg.slogdet(products[np.ix_(columns, columns)])[1] if len(columns) else 0.0


def left_of(products, column, given):
    """What some columns leave of the square of another."""
    given = list(given)
    weights = np.linalg.solve(products[np.ix_(given, given)], products[given, column])
    return products[column, column] - products[column, given] @ weights


def are_apart(products, columns):
    """Whether each of some columns is more than rounding apart from those before it."""
    return all(left_of(products, y, columns[:i]) >= LEAST_PIVOT for i, y in enumerate(columns))


def family_score(products, offsets, tables, child, parents):
    """The criterion's score: c + a0 * log det of the parents + a1 * log det of the family."""
    parents = sorted(parents)
    family = [*parents, child]
    c, a0, a1 = tables[:, len(parents)]
    of_parents = log_det(products, parents) + sum(offsets[y] for y in parents)
    of_family = log_det(products, family) + sum(offsets[y] for y in family)
    return c + a0 * of_parents + a1 * of_family


def all_subset_scores(products, offsets, tables, child, fixed, free, max_parents):
    """The scores of a child with fixed parents and some free ones; -inf if it may not have them."""
    scores = {}
    for some in subsets(free):
        parents = [*fixed, *some]
        is_possible = len(parents) <= max_parents and are_apart(products, [*parents, child])
        scores[frozenset(some)] = (
            family_score(products, offsets, tables, child, parents) if is_possible else -math.inf
        )
    return scores


class Growing:
    """Grows and shrinks the parents of a child, by a score of each family that it meets.

    Parameters
    ----------
    score : callable
        Of a frozenset of parents.
    required : set
    max_parents : int
    least : float
    """

    def __init__(self, score, required, max_parents, least):
        self.known, self._score = {}, score
        self.required, self.max_parents, self.least = required, max_parents, least

    def score(self, parents):
        parents = frozenset(parents)
        if parents not in self.known:
            self.known[parents] = self._score(parents)
        return self.known[parents]

    def grow(self, parents, candidates):
        """Return the parents when no single addition, and then no single deletion, helps."""
        parents, start = set(parents), None
        while parents != start:
            start = set(parents)
            while len(parents) < self.max_parents:
                others = [{*parents, y} for y in candidates if y not in parents]
                best = max(others, key=self.score, default=parents)
                if not self.score(best) > self.score(parents) + self.least:
                    break
                parents = best
            while parents - self.required:
                best = max((parents - {y} for y in parents - self.required), key=self.score)
                if not self.score(best) > self.score(parents) + self.least:
                    break
                parents = best
        return frozenset(parents)

    def grow_about(self, order, child, allowed, members):
        """Yield the parents for an order, and for each insertion, and what they may be.

        In the order as it is, starting from `members`; with one later column that gains by itself
        in front of the child; with one parent behind it; with the child further behind, past each
        such column; and further in front, past each parent.
        """
        where = order.index(child)
        before, after = order[:where], [y for y in order[where + 1 :] if y in allowed]
        is_open = allowed & {*before}
        if not self.required <= is_open:
            return
        members = self.grow(members, is_open)
        yield members, is_open
        for y in after:
            if self._gains(members, y):
                yield self.grow(members | {y}, is_open | {y}), is_open | {y}
        for y in members - self.required:
            yield self.grow(members - {y}, is_open - {y}), is_open - {y}
        parents = members
        for i, y in enumerate(after):
            if self._gains(parents, y):
                now = is_open | {*after[: i + 1]}
                parents = self.grow(parents, now)
                yield parents, now
        parents = members
        for k in range(where - 1, -1, -1):
            if order[k] in self.required:
                return
            if order[k] in parents:
                now = allowed & {*order[:k]}
                parents = self.grow(parents - {order[k]}, now)
                yield parents, now

    def _gains(self, parents, y):
        return (
            len(parents) < self.max_parents
            and self.score(parents | {y}) > self.score(parents) + self.least
        )

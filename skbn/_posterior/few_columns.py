"""Sums over the networks of few columns by numpy: kernels would take seconds to compile.

They are those of `order_sums` and `network_sums`. A number is a pair of a float64 and the exponent
of a power of two, since no range of float64 holds them all.
"""

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from skbn._core.arrays import Booleans, Floats, Integers
from skbn._core.extended_floats import WideFormat, is_zero
from skbn._core.resources import Threads
from skbn._core.subsets import submasks_by_size
from skbn._posterior.family_weights import FamilyWeights
from skbn._regressions.set_function import LEAST_SCORE

# Beyond, arrays of pairs of sets outgrow the caches.
MOST_COLUMNS = 8
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LEAST_LOG = -1e15  # the exponentials of smaller numbers are 0
_NO_EXPONENT = -(1 << 40)  # that of 0
_MOST_SHIFT = 1100  # down by as much, every mantissa becomes 0; only zeros are shifted up by more


class Numbers(NamedTuple):
    """An array of numbers, at least 0: ``values * 2**exponents``."""

    values: Floats
    exponents: Integers

    @classmethod
    def of(cls, values: Floats, exponents: Integers) -> "Numbers":
        """Return numbers with values from 1/2 to below 1, or 0."""
        fractions, shifts = np.frexp(values)
        return cls(fractions, np.where(values > 0, exponents + shifts, _NO_EXPONENT))

    def at(self, key: Any) -> "Numbers":
        """Return some of the numbers."""
        return Numbers(self.values[key], self.exponents[key])

    def take(self, indices: Integers) -> "Numbers":
        """Return the numbers at some indices of a vector."""
        return Numbers(self.values.take(indices), self.exponents.take(indices))

    def where(self, condition: Booleans) -> "Numbers":
        """Return the numbers where a condition holds, and 0 elsewhere."""
        values = np.where(condition, self.values, 0.0)
        return Numbers(values, np.where(condition, self.exponents, _NO_EXPONENT))

    def put(self, key: Any, numbers: "Numbers") -> None:
        """Set some of the numbers."""
        self.values[key], self.exponents[key] = numbers

    @classmethod
    def zeros(cls, *shape: int) -> "Numbers":
        """Return an array of zeros."""
        return cls(np.zeros(shape), np.full(shape, _NO_EXPONENT))

    def reshaped(self, *shape: int) -> "Numbers":
        """Return views of another shape."""
        return Numbers(self.values.reshape(shape), self.exponents.reshape(shape))

    def times(self, other: "Numbers") -> "Numbers":
        """Return the products."""
        return Numbers(self.values * other.values, self.exponents + other.exponents)

    def over(self, exponents: Any) -> Floats:
        """Return float64, in units of powers of two."""
        shifts = np.maximum(self.exponents - exponents, -_MOST_SHIFT)
        return np.ldexp(self.values, np.minimum(shifts, _MOST_SHIFT).astype(np.intc))

    def total(self, axis: int) -> "Numbers":
        """Return the sums along an axis."""
        exponents = self.exponents.max(axis=axis, keepdims=True)
        return Numbers.of(self.over(exponents).sum(axis=axis), exponents.squeeze(axis))

    def wide(self, wide: WideFormat) -> Integers:
        """Return extended floats."""
        fractions, shifts = np.frexp(self.values)
        exponents = np.where(self.values > 0, self.exponents + shifts, _NO_EXPONENT)
        mantissas = np.rint(np.ldexp(2 * fractions - 1, wide.bits)).astype(np.int64)
        numbers = (np.maximum(exponents - 1 + wide.bias, 0) << wide.bits) + mantissas
        return np.where(exponents + wide.bias > 0, numbers, 0)

    @classmethod
    def of_wide(cls, numbers: Integers, wide: WideFormat) -> "Numbers":
        """Return the numbers of extended floats."""
        mantissas = 1.0 + np.ldexp((numbers & (1 << wide.bits) - 1).astype(float), -wide.bits)
        exponents = (numbers >> wide.bits) - wide.bias
        return cls(mantissas, exponents).where(~is_zero(numbers, wide))

    @classmethod
    def exponentials(cls, logs: Floats) -> "Numbers":
        """Return the exponentials of float64, which may be -inf."""
        finite = np.maximum(logs, _LEAST_LOG)
        exponents = np.rint(finite / math.log(2))
        values = np.exp(finite - exponents * _LN2_HIGH - exponents * _LN2_LOW)
        return cls.of(np.where(logs > _LEAST_LOG, values, 0.0), exponents.astype(np.int64))


def add_over_subsets(numbers: Numbers) -> None:
    """Turn numbers into sums over the subsets of their last axis' index, in place."""
    half = 1
    while half < numbers.values.shape[-1]:
        pairs = numbers.reshaped(-1, 2, half)
        exponents = np.maximum(pairs.exponents[:, 0], pairs.exponents[:, 1])
        both = pairs.over(exponents[:, np.newaxis])
        pairs.put((slice(None), 1), Numbers.of(both[:, 0] + both[:, 1], exponents))
        half *= 2


class Level(NamedTuple):
    """The sets U with the same number of columns, one to a row."""

    sets: Integers  # (n_sets,)
    inside: Integers  # (n_sets, size): their columns
    outside: Integers  # (n_sets, n - size): the other columns
    # for each set S of other columns but the empty one, the place of the pair U and S among all
    # pairs of sets, the set U + S, and whether S has each column
    added: Integers  # (n_sets, 2**(n - size) - 1)
    joined: Integers
    members: Floats  # (n_sets, 2**(n - size) - 1, n)
    # for each subset S of U but the empty one, the place of the pair U - S and S, and U - S
    removed: Integers  # (n_sets, 2**size - 1)
    left: Integers


class Sets(NamedTuple):
    """All sets of n columns."""

    levels: list[Level]  # by their number of columns
    is_in: Floats  # (2**n, n): whether each column is in each set
    without: Integers  # (n, 2**(n - 1)): the sets without each column, ascending


@cache
def sets_of(n: int) -> Sets:
    """Return all sets of n columns."""
    every = np.arange(1 << n)
    is_in = (every[:, np.newaxis] >> np.arange(n) & 1).astype(bool)
    levels = []
    for size, sets in enumerate(submasks_by_size(n)):
        column, own = sets[:, np.newaxis], is_in[sets]
        is_other = (column & every == 0) & (every > 0)
        others = np.broadcast_to(every, is_other.shape)[is_other].reshape(len(sets), -1)
        is_subset = (~column & every == 0) & (every > 0)
        subsets = np.broadcast_to(every, is_subset.shape)[is_subset].reshape(len(sets), -1)
        levels.append(
            Level(
                sets,
                np.nonzero(own)[1].reshape(len(sets), size),
                np.nonzero(~own)[1].reshape(len(sets), n - size),
                column << n | others,
                column | others,
                is_in[others].astype(float),
                (column ^ subsets) << n | subsets,
                column ^ subsets,
            )
        )
    without = np.array([np.flatnonzero(~is_in[:, x]) for x in range(n)])
    return Sets(levels, is_in.astype(float), without)


class WeightsOfFew(FamilyWeights):
    """The weights of the families of few columns, by numpy."""

    def _range(self, child: int) -> tuple[float, float]:
        scores = self._scores[child]
        return scores.max(), scores.min(initial=math.inf, where=np.isfinite(scores))

    @cached_property
    def _scores(self) -> Floats:
        """The scores, with prior odds, of each child's parent sets; -inf for those ruled out."""
        rules = self._columns.rules
        n, sets = len(rules.forbidden), sets_of(self.n_positions)
        parents = sets.without[:n]
        families = parents | 1 << np.arange(n)[:, np.newaxis]
        scores = np.stack(
            [
                each.of_family[own] - each.of_parents[others]
                for each, own, others in zip(self._sets, families, parents, strict=False)
            ]
        )
        if self._log_odds is not None:
            scores += (sets.is_in[parents] @ self._log_odds[:, :, np.newaxis])[:, :, 0]
        broken = parents & rules.forbidden[:, np.newaxis] | ~parents & rules.required[:, np.newaxis]
        scores[(broken != 0) | (scores < LEAST_SCORE)] = -np.inf
        return scores

    @cached_property
    def numbers(self) -> Numbers:
        """The weight of each parent set of each child."""
        weights = Numbers.exponentials(self._scores)
        shifts = self.biases[:, np.newaxis] - self.wide.bias
        return Numbers(weights.values, weights.exponents + shifts)

    def weights_of(self, child: int, threads: Threads, weights: Integers) -> None:
        """Set `weights` to the weight of each parent set of a child, an extended float."""
        weights[:] = self.numbers.at(child).wide(self.wide)

    def parent_set_weights(self, child: int, gamma: Integers, exponent: int) -> Floats:
        """Return the weight of all networks with each parent set of the child, (2**(m - 1),)."""
        of_others = Numbers.of_wide(gamma[::-1], self.wide)
        # The parents' highest bits are those of others.
        own = self.numbers.at(child).reshaped(-1, len(gamma))
        return own.times(of_others).over(exponent - self.wide.bias).ravel()

    def edge_sums(self, child: int, gamma: Integers, exponent: int) -> Floats:
        """Return the weight of the networks with each column as a parent; last, of all."""
        weights = self.parent_set_weights(child, gamma, exponent)
        sets = sets_of(self.n_positions)
        return np.append(weights @ sets.is_in[sets.without[child]], weights.sum())


@dataclass(frozen=True)
class SumsOfFew:
    """Sums over all networks of few columns."""

    alpha: Numbers  # (n, 2**n): 0 for sets with the column itself
    # (2**n,): what samples are drawn by: the forward sums over orders, or the backward sums over
    # networks
    numbers: Numbers
    wide: WideFormat
    total: int  # the weight of all networks that `gamma` refers to, an extended float
    # the logarithm of the weight of all networks, twice for each kind of sums, which must agree
    log_totals: list[tuple[float, float]]
    paths: Floats | None  # (n, n): as in `NetworkSums`
    gammas: Integers  # (n, 2**(n - 1))

    @property
    def drawn_from(self) -> Integers:
        """What the kernels draw samples by: `numbers` as extended floats."""
        return self.numbers.wide(self.wide)

    @property
    def log_total(self) -> float:
        """The logarithm of the weight of all networks."""
        return self.log_totals[-1][0]

    def gamma(self, child: int) -> Integers:
        """Return gamma of a child, at ``[~P]``, as `FamilyWeights.edge_sums` takes it."""
        return self.gammas[child]


def sums_of_few(weights: WeightsOfFew, prior: str) -> SumsOfFew | None:
    """Return the sums over all networks; None if none has a weight."""
    wide, n = weights.wide, weights.plan.n_columns
    sets, alpha = sets_of(n), _alpha(weights, n)
    F, R = (_over_orders(sets.levels, alpha, is_forward) for is_forward in (True, False))
    if not F.values[-1]:
        return None
    log_totals = [(_log(F, -1), _log(R, 0))]
    if prior == "order":
        numbers = np.arange(n)[:, np.newaxis]
        products = F.at(sets.without).times(R.at(sets.without | 1 << numbers))
        return SumsOfFew(
            alpha, F, wide, int(F.wide(wide)[-1]), log_totals, None, _gammas(products, wide)
        )
    M, Z, shares = _over_networks(sets, alpha, F, R)
    of_total = Numbers(np.maximum(shares * Z / M.values[0], 0.0), F.exponents + R.exponents)
    probabilities = of_total.over(M.exponents[0])
    paths = probabilities @ (1.0 - sets.is_in)
    np.fill_diagonal(paths, 0.0)
    of_candidates = alpha.at((np.arange(n)[:, np.newaxis], sets.without))
    own = np.take_along_axis(probabilities, sets.without, axis=1)
    is_something = of_candidates.values > 0
    quotients = np.divide(own, of_candidates.values, out=np.zeros_like(own), where=is_something)
    of_rest = Numbers.of(quotients, -of_candidates.exponents)
    log_totals.append((_log(M, 0), F.exponents[-1] * math.log(2) + math.log(Z[-1])))
    return SumsOfFew(alpha, M, wide, wide.one, log_totals, paths, _gammas(of_rest, wide))


def _log(numbers: Numbers, index: int) -> float:
    return int(numbers.exponents[index]) * math.log(2) + math.log(numbers.values[index])


def _alpha(weights: WeightsOfFew, n: int) -> Numbers:
    """Return the sums of weights over the parents among each set of candidates, (n, 2**n)."""
    of_families = weights.numbers.at(slice(n)).reshaped(n, -1, 1 << (n - 1))
    sums = of_families.total(1)  # over the parents that are not in the group
    add_over_subsets(sums)
    alpha = Numbers.zeros(n, 1 << n)
    alpha.put((np.arange(n)[:, np.newaxis], sets_of(n).without), sums)
    return alpha


def _over_orders(levels: list[Level], alpha: Numbers, is_forward: bool) -> Numbers:
    """Return the forward sums over orders, or the backward ones."""
    size = alpha.values.shape[1]
    sums = Numbers.zeros(size)
    sums.put(0 if is_forward else -1, Numbers.of(np.ones(()), np.zeros((), np.int64)))
    for level in levels[1:] if is_forward else levels[-2::-1]:
        x, sets = level.inside if is_forward else level.outside, level.sets[:, np.newaxis]
        source = sets ^ (1 << x)
        weights = alpha.at((x, source if is_forward else sets))
        sums.put(level.sets, sums.take(source).times(weights).total(1))
    return sums


def products_by_set(of_empty: float, factors: Numbers) -> Numbers:
    """Return at [i, S] the product of `of_empty` and all ``-factors[x, i]`` with x in S.

    `factors`: (n, k), of numbers

    Returns `products`: (k, 2**n).
    """
    n, k = factors.values.shape
    values, exponents = np.empty((k, 1 << n)), np.empty((k, 1 << n), np.int64)
    values[:, 0], exponents[:, 0] = of_empty, 0
    for x in range(n):
        low, high = slice(1 << x), slice(1 << x, 2 << x)
        np.multiply(values[:, low], -factors.values[x, :, np.newaxis], out=values[:, high])
        np.add(exponents[:, low], factors.exponents[x, :, np.newaxis], out=exponents[:, high])
    return Numbers(values, exponents)


def _over_networks(
    sets: Sets, alpha: Numbers, F: Numbers, R: Numbers
) -> tuple[Numbers, Floats, Floats]:
    """Return M; Z in units of F's powers of two; and the terms of M with each column in S.

    The last are in units of R's powers of two, shape (n, 2**n).
    """
    n, size = alpha.values.shape
    products = products_by_set(-1.0, alpha).reshaped(-1)  # at [U * 2**n + S]; 0 if S meets U
    M = Numbers.zeros(size)
    M.put(-1, R.at(-1))
    shares = np.zeros((n, size))
    for U, _, _, pairs, joined, members, *_ in sets.levels[-2::-1]:
        of_term = products.take(pairs).times(M.take(joined))
        terms = of_term.over(R.exponents[U][:, np.newaxis])
        M.put(U, Numbers.of(np.maximum(terms.sum(axis=1), 0.0), R.exponents[U]))
        shares[:, U] = (terms[:, np.newaxis] @ members)[:, 0].T
    Z = np.zeros(size)
    Z[0] = F.values[0]
    for W, *_, pairs, left in sets.levels[1:]:
        of_term = products.take(pairs).times(Numbers(Z.take(left), F.exponents.take(left)))
        terms = of_term.over(F.exponents[W][:, np.newaxis])
        Z[W] = np.where(F.values[W] > 0, terms.sum(axis=1), 0.0)
    return M, Z, shares


def _gammas(products: Numbers, wide: WideFormat) -> Integers:
    """Return sums over supersets of the sets without each column, at ``[~P]``."""
    sums = Numbers(products.values[:, ::-1].copy(), products.exponents[:, ::-1].copy())
    add_over_subsets(sums)
    return sums.wide(wide)

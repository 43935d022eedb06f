"""Coefficients of cuts, and families priced with them, against plain Python."""

from fractions import Fraction

import numpy as np
import pytest
import reference
from random_proofs import as_arrays, plain, random_cuts, random_families

from skbn._branch_and_cut.cut_kernels import (
    count_coefficients,
    list_coefficients,
    price,
    violations,
)
from skbn._branch_and_cut.separation import arrays_of

SEEDS = pytest.mark.parametrize("seed", range(4))


def instance(seed, m=6):
    """Families, cuts, and the coefficient of each family in each cut."""
    rng = np.random.default_rng(seed)
    families = random_families(rng, m, 5, 3)
    cuts = random_cuts(rng, m, 4, share_of_clusters=0.2)
    coefficients = np.array(
        [
            [reference.coefficient(plain(cut), x, parents) for cut in cuts]
            for x in range(m)
            for _, parents in families[x]
        ],
        dtype=float,
    )
    return rng, as_arrays(families), cuts, coefficients


@SEEDS
def test_price(seed):
    rng, families, cuts, coefficients = instance(seed)
    allowed = rng.random(families.cost.size) < 0.7
    multipliers = np.where(rng.random(len(cuts)) < 0.3, 0.0, rng.exponential(size=len(cuts)))
    families = families._replace(rest=rng.uniform(-1e-17, 1e-17, size=families.cost.size))
    values, minima = np.empty((2, families.cost.size)), np.empty((2, 6))
    arrays = arrays_of(cuts, 6)
    start, cost, parents, child, rest = families
    price(start, cost, rest, parents, allowed, arrays, multipliers, values, minima)
    expected = np.where(allowed, families.cost - coefficients @ multipliers, np.inf)
    np.testing.assert_allclose(values[0], expected, atol=1e-12)
    exactly = [
        Fraction(cost[f]) + Fraction(rest[f]) - sum(map(Fraction.__mul__, *terms))
        for f, terms in enumerate(as_fractions(coefficients, multipliers))
    ]
    found = [sum(map(Fraction, value)) for value in values.T[allowed]]
    for value, exact in zip(found, np.array(exactly)[allowed], strict=True):
        assert abs(value - exact) < 1e-28
    for x in range(6):
        own = [value for value, y in zip(found, child[allowed], strict=True) if x == y]
        if own:
            assert sum(map(Fraction, minima[:, x])) == min(own)
        else:
            assert minima[0, x] == np.inf


def as_fractions(coefficients, multipliers):
    for row in coefficients:
        yield list(map(Fraction, row)), list(map(Fraction, multipliers))


@SEEDS
def test_coefficients(seed):
    rng, families, cuts, coefficients = instance(seed)
    some = rng.permutation(families.cost.size)[:9].astype(np.int64)
    arrays, counts = arrays_of(cuts, 6), np.empty(9, dtype=np.int64)
    count_coefficients(families.child, families.parents, some, arrays, counts)
    assert counts.tolist() == np.count_nonzero(coefficients[some], axis=1).tolist()
    starts = np.concatenate([[0], np.cumsum(counts)])
    numbers, values = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1])
    list_coefficients(families.child, families.parents, some, arrays, starts, numbers, values)
    found = np.zeros((9, len(cuts)))
    found[np.repeat(np.arange(9), counts), numbers] = values
    assert (found == coefficients[some]).all()


@SEEDS
def test_violations(seed):
    rng, families, cuts, coefficients = instance(seed)
    weights = rng.random(families.cost.size)
    bounds = np.array([cut.bound for cut in cuts])
    missing = bounds.copy()
    violations(families.child, families.parents, weights, arrays_of(cuts, 6), missing)
    np.testing.assert_allclose(missing, bounds - weights @ coefficients, atol=1e-12)

"""Coefficients of cuts, and families priced with them, against plain Python."""

from fractions import Fraction

import numba
import numpy as np
import pytest
import reference
from random_proofs import as_arrays, plain, random_cuts, random_families
from windows import largest_violation, mixture, random_weights, random_window

from skbn._branch_and_cut import relaxation, separation
from skbn._branch_and_cut.cut_kernels import price
from skbn._branch_and_cut.relaxation import coefficients_of
from skbn._branch_and_cut.separation import (
    KeptCuts,
    Point,
    arrays_of,
    clusters_of_cycles,
    local_cuts,
    separate,
)
from skbn._branch_and_cut.window_kernels import (
    WindowFamilies,
    cost_of_cheapest,
    costs_by_predecessors,
    lift,
)
from skbn._core.resources import Threads

SEEDS = pytest.mark.parametrize("seed", range(4))


def instance(seed, m=6):
    """Families, cuts, and the coefficient of each family in each cut."""
    rng = np.random.default_rng(seed)
    families = random_families(rng, m, 5, 3)
    cuts = random_cuts(rng, m, 4, share_of_clusters=0.2, n_determinants=0)
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
def test_coefficients(seed, monkeypatch):
    rng, families, cuts, coefficients = instance(seed)
    some = rng.permutation(families.cost.size)[:9].astype(np.int64)
    monkeypatch.setattr(relaxation, "_COEFFICIENTS", 2 * len(cuts))  # in several parts
    starts, numbers, values = coefficients_of(families, some, cuts, arrays_of(cuts, 6))
    found = np.zeros((9, len(cuts)))
    found[np.repeat(np.arange(9), np.diff(starts)), numbers] = values
    assert (found == coefficients[some]).all()
    assert len(values) == np.count_nonzero(coefficients[some])


@SEEDS
def test_violated_cuts(seed):
    rng, families, cuts, coefficients = instance(seed)
    weights, kept = rng.random(families.cost.size), KeptCuts(6, 1 << 20)
    kept.add(cuts)
    missing = np.array([cut.bound for cut in cuts]) - weights @ coefficients
    least = float(np.median(missing)) - 1e-9
    found = kept.violated(Point.of(families.child, families.parents, weights, 6), least, 100)
    order = [i for i in np.argsort(-missing) if missing[i] > least]
    assert [id(cut) for cut in found] == [id(cuts[i]) for i in order]


# Lifted cuts, against enumerations


WIDTHS = pytest.mark.parametrize("w", [3, 4, 5])
SEEDS_OF_WINDOWS = pytest.mark.parametrize("seed", range(3))


def windowed(w, seed):
    """A window, coefficients of which some are equal and some 0, and the costs that follow."""
    rng = np.random.default_rng(seed)
    window = random_window(rng, w, 5)
    n = window.masks.size
    coefficients = rng.integers(0, 5, size=n) / 4 + 0.1 * rng.random(n)
    costs = np.empty((w, 1 << w))
    for x, s in np.ndindex(costs.shape):
        own = slice(window.starts[x], window.starts[x + 1])
        costs[x, s] = coefficients[own][window.masks[own] & ~s == 0].min()
    return rng, window, coefficients, costs


@numba.njit
def lifted(window, coefficients, costs, order, random):
    """A kernel's steps: the costs by coefficients, and the lifted cut."""
    forward, scratch = np.empty(costs.shape[1]), np.empty((2, costs.shape[1]))
    costs_by_predecessors(window, coefficients, costs, forward, np.empty(forward.size, np.uint16))
    cost_of_cheapest(costs, forward)
    return lift(window, costs, forward, scratch, order, random)


@WIDTHS
@SEEDS_OF_WINDOWS
def test_lifted_cut_is_valid_and_no_coefficient_can_be_lower(w, seed):
    rng, window, coefficients, costs = windowed(w, seed)
    before = costs.copy()
    first = coefficients[window.networks].sum(axis=1).min()
    weights = random_weights(rng, window)
    families, order = WindowFamilies(window.starts, window.masks, weights), np.arange(w)
    random = rng.integers(2**63, size=1, dtype=np.uint64)
    bound, violation = lifted(families, coefficients, costs, order, random)
    assert sorted(order) == list(range(w))
    assert bound == pytest.approx(first)
    columns = np.repeat(np.arange(w), np.diff(window.starts))
    assert violation == pytest.approx(bound - weights @ costs[columns, window.masks])
    networks = np.array(reference.acyclic_masks(w))
    totals = costs[np.arange(w), networks].sum(axis=1)
    assert totals.min() == pytest.approx(bound)
    for x in range(w):
        for s in range(1 << w):
            if not s >> x & 1:
                assert 0 <= costs[x, s] <= before[x, s] + 1e-12
                if costs[x, s] > 1e-12:
                    assert totals[networks[:, x] == s].min() == pytest.approx(bound)


# Cuts that a point violates: of windows, against linear programs, and of clusters


# Weights are perturbed by up to that, which hides violations that are smaller.
PERTURBATION = 1.5e-3


def separated(window, weights, least, accept, seed=0):
    return separate(WindowFamilies(window.starts, window.masks, weights), least, accept, seed)


@pytest.mark.parametrize("w", [3, 4, 5])
@pytest.mark.parametrize("accept", [0.5, 0.999])
@pytest.mark.parametrize("seed", range(4))
def test_cut_is_valid_and_violated_as_much_as_wanted(w, accept, seed):
    rng = np.random.default_rng([seed, w])
    window = random_window(rng, w, 4)
    weights = random_weights(rng, window)
    bound, violation, table = separated(window, weights, 0.03, accept, seed)
    promised = accept * (largest_violation(window, weights) - PERTURBATION * weights.size)
    if violation == 0:
        assert promised < 0.03
        return
    assert violation >= max(promised, 0.03)
    columns = np.repeat(np.arange(w), np.diff(window.starts))
    assert violation == pytest.approx(bound - weights @ table[columns, window.masks])
    totals = table[np.arange(w), np.array(reference.acyclic_masks(w))].sum(axis=1)
    assert totals.min() == pytest.approx(bound)
    assert (table >= 0).all()
    for x in range(w):
        assert (table[x, np.arange(1 << w) >> x & 1 == 1] == 0).all()


def test_points_of_the_tests_are_mostly_violated():
    violations = []
    for seed in range(10):
        rng = np.random.default_rng([seed, 4])
        window = random_window(rng, 4, 4)
        violations.append(separated(window, random_weights(rng, window), 0.03, 0.5)[1])
    assert np.count_nonzero(violations) >= 5


@pytest.mark.parametrize("w", [3, 4, 5, 6])
@pytest.mark.parametrize("seed", range(4))
def test_no_cut_for_a_mixture_of_networks(w, seed):
    rng = np.random.default_rng([seed, w])
    window = random_window(rng, min(w, 5), 4)
    if w == 6:
        window = _with_a_column_more(window)
    assert separated(window, mixture(rng, window), 1e-3, 0.999)[:2] == (0.0, 0.0)


def _with_a_column_more(window):
    """A sixth column, the child of any other or of none."""
    n, w = window.masks.size, window.w
    masks = np.append(window.masks, [0, *(1 << np.arange(w))])
    more = n + np.arange(w + 1)
    networks = [[*network, f] for network in window.networks for f in more]
    return type(window)(w + 1, np.append(window.starts, masks.size), masks, np.array(networks))


def test_the_seed_determines_the_cut():
    rng = np.random.default_rng(0)
    window = random_window(rng, 5, 4)
    weights = random_weights(rng, window)
    first, again = (separated(window, weights, 0.01, 0.7, seed=3) for _ in range(2))
    assert first[1] > 0
    assert first[:2] == again[:2]
    assert first[2].tobytes() == again[2].tobytes()


def test_no_violation_below_the_least():
    """The violation of a cycle of two arcs is 1."""
    starts, masks = np.array([0, 2, 4, 5]), np.array([0, 2, 0, 1, 0])
    weights = np.array([0.0, 1.0, 0.0, 1.0, 1.0])
    window = WindowFamilies(starts, masks, weights)
    assert separate(window, 0.9, 0.99, 0)[1] == pytest.approx(1.0, abs=0.02)
    assert separate(window, 1.1, 0.99, 0)[1] == 0


# Points of many columns


def random_point(rng, m, n=4):
    """Up to n families with weight for each column, of up to two parents."""
    child, parents, weight = [], [], []
    for x in range(m):
        others = [y for y in range(m) if y != x]
        sets = {tuple(sorted(rng.choice(others, rng.integers(1, 3), False))) for _ in range(n)}
        child += [x] * len(sets)
        parents += [[*s, *[-1] * (2 - len(s))] for s in sorted(sets)]
        weight += rng.dirichlet(np.full(len(sets), 0.5)).tolist()
    return separation.Point.of(
        np.array(child, dtype=np.int16), np.array(parents, dtype=np.int16), np.array(weight), m
    )


def violation(point, cut, bound, table=None):
    columns = cut.columns.tolist()
    families = zip(point.child.tolist(), point.parents.tolist(), point.weight, strict=True)
    plain = (columns, table, bound)
    return bound - sum(
        weight * reference.coefficient(plain, child, set(parents))
        for child, parents, weight in families
    )


@pytest.mark.parametrize("seed", range(5))
def test_clusters_are_violated(seed):
    point = random_point(np.random.default_rng(seed), 6, n=2)
    cuts = clusters_of_cycles(point)
    columns = [tuple(cut.columns.tolist()) for cut in cuts]
    assert len(set(columns)) == len(columns)
    for cut in cuts:
        assert (np.diff(cut.columns) > 0).all()
        assert violation(point, cut, 1.0) >= 0.02 - 1e-9


@pytest.mark.parametrize("seed", range(15))
def test_an_integral_point_has_a_cluster_unless_it_is_a_network(seed):
    point = random_point(np.random.default_rng(seed), 5, n=1)
    parents = [{p for p in row if p >= 0} for row in point.parents.tolist()]
    assert bool(clusters_of_cycles(point)) != reference.is_acyclic(parents)


def drawn_cuts(point, n_jobs):
    with Threads(n_jobs) as threads:
        return local_cuts(point, 5, 9, 0.03, 0.7, np.random.default_rng(1), threads)


def test_local_cuts_are_violated_and_do_not_depend_on_threads():
    point = random_point(np.random.default_rng(2), 9)
    cuts, of_two = drawn_cuts(point, 1), drawn_cuts(point, 2)
    assert len(cuts) > 2
    for cut in cuts:
        assert violation(point, cut, cut.bound, cut.table) >= 0.03 - 1e-9
        assert len(cut.columns) <= 5
        assert (np.diff(cut.columns) > 0).all()
        w = len(cut.table)
        totals = cut.table[np.arange(w), np.array(reference.acyclic_masks(w))]
        assert totals.sum(axis=1).min() >= cut.bound - 1e-9
    assert [(c.columns.tobytes(), c.table.tobytes(), c.bound) for c in cuts] == [
        (c.columns.tobytes(), c.table.tobytes(), c.bound) for c in of_two
    ]

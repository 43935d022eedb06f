"""Cuts that a point violates: of windows, against linear programs, and of clusters."""

import numpy as np
import pytest
import reference
from windows import largest_violation, mixture, networks_of, random_weights, random_window

from skbn._branch_and_cut.separation import Point, clusters_of_cycles, local_cuts, separate
from skbn._branch_and_cut.window_kernels import WindowFamilies
from skbn._core.resources import Threads

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
    totals = table[np.arange(w), np.array(networks_of(w))].sum(axis=1)
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
    return Point.of(
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


def test_integral_networks_have_no_cluster():
    point = Point.of(
        np.arange(4, dtype=np.int16),
        np.array([[-1, -1], [0, -1], [0, 1], [1, 2]], dtype=np.int16),
        np.ones(4),
        4,
    )
    assert clusters_of_cycles(point) == []
    with Threads(1) as threads:
        assert local_cuts(point, 4, 8, 0.01, 0.9, np.random.default_rng(0), threads) == []


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
        totals = cut.table[np.arange(len(cut.table)), np.array(networks_of(len(cut.table)))]
        assert totals.sum(axis=1).min() >= cut.bound - 1e-9
    assert [(c.columns.tobytes(), c.table.tobytes(), c.bound) for c in cuts] == [
        (c.columns.tobytes(), c.table.tobytes(), c.bound) for c in of_two
    ]

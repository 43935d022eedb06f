"""Determinant cuts: their bounds hold, their numbers are right, and better ones are found."""

import itertools

import numpy as np
import pytest
import random_proofs
import reference
from random_proofs import as_arrays, plain, random_determinant, random_families, random_local_cut

from skbn._branch_and_cut import determinant_cuts, determinants
from skbn._branch_and_cut.branch_and_cut import branch_and_cut
from skbn._branch_and_cut.determinant_cuts import covariance_of_network, determinant_cut
from skbn._branch_and_cut.determinants import coefficients, smallest_eigenvalue
from skbn._branch_and_cut.proof import Node, Proof, Step
from skbn._branch_and_cut.proof_checker import certified_bound
from skbn._branch_and_cut.separation import Point

WIDTHS = [1, 2, 1, 3]


def all_families(m):
    """All families of m columns: children, and rows of parents."""
    pairs = [
        (x, parents)
        for x in range(m)
        for k in range(m)
        for parents in itertools.combinations([p for p in range(m) if p != x], k)
    ]
    rows = np.full((len(pairs), m), -1, dtype=np.int16)
    for row, (_, parents) in zip(rows, pairs, strict=True):
        row[: len(parents)] = parents
    return pairs, np.array([x for x, _ in pairs], dtype=np.int16), rows


@pytest.mark.parametrize("widths", [[1] * 5, WIDTHS])
@pytest.mark.parametrize("seed", range(3))
def test_coefficients_and_what_networks_add_up_to(seed, widths):
    m = len(widths)
    cut = random_determinant(np.random.default_rng(seed), widths)
    pairs, child, parents = all_families(m)
    found = coefficients(cut, child, parents)
    expected = np.array([reference.coefficient(plain(cut), *pair) for pair in pairs])
    assert (found >= 0).all()
    assert (found >= expected - 1e-14).all()
    np.testing.assert_allclose(found, expected, atol=1e-11)
    # No network adds up to less, and those of all edges to no more.
    costs = {pair: -value for pair, value in zip(pairs, found.tolist(), strict=True)}
    least = -reference.best_score_by_dynamic_program(costs, m)
    assert cut.bound <= least
    assert cut.bound == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize("noise", [1.0, 1e-2, 1e-4])
def test_rounding_never_raises_a_log_determinant(noise):
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 12):
        rows = rng.normal(size=(2 * n, n))
        rows[:, -1] = rows[:, 0] + noise * rows[:, -1]
        rows /= np.linalg.norm(rows, axis=0)
        matrix = rows.T @ rows
        for n_given in {0, n // 2}:
            given = matrix[n - n_given :, n - n_given :]
            exact = reference.log_determinant(matrix) - reference.log_determinant(given)
            found = determinants.least_log_determinant(matrix, n_given)
            assert found <= exact
            assert float(exact - found) <= 1e-12 * max(1.0, n / noise)
    assert determinants.least_log_determinant(np.array([[1.0, 2.0], [2.0, 1.0]])) is None


def test_smallest_eigenvalues():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(9, 4))
    matrix = rows.T @ rows / 40
    least = np.linalg.eigvalsh(matrix)[0]
    assert least / 4 < smallest_eigenvalue(matrix) < least
    assert determinants.has_eigenvalues_above(matrix, 0.999 * least)
    assert not determinants.has_eigenvalues_above(matrix, 1.001 * least)
    assert smallest_eigenvalue(np.ones((3, 3))) is None
    assert determinant_cut(np.array([[1.0, 2.0], [2.0, 1.0]]), np.arange(3)) is None


def claim_of(seed):
    """Families, and a proof by determinant cuts and another cut, with its bound."""
    rng = np.random.default_rng(seed)
    families = random_families(rng, 4, 7, 3)
    cuts = [*(random_determinant(rng, [1] * 4) for _ in range(2)), random_local_cut(rng, 4, 3)]
    root = Node([Step(np.arange(3, dtype=np.int32), rng.exponential(size=3))])
    proof = Proof(cuts, root, np.inf, -np.inf)
    return families, proof, certified_bound(as_arrays(families), proof)


@pytest.mark.parametrize("seed", range(6))
def test_defects_of_determinant_cuts_are_refused(seed):
    families, proof, bound = claim_of(seed)
    cut = proof.cuts[0]
    assert bound <= reference.cheapest_network(families)
    other = cut.matrix.copy()
    other[0, 1] = other[1, 0] = 0.5 * other[0, 1]
    skewed, large, indefinite = cut.matrix.copy(), 1.1 * cut.matrix, cut.matrix.copy()
    skewed[0, 1] += 1e-9
    indefinite[2, 3] = indefinite[3, 2] = 1.5
    of_other = determinants.bound_of(other, cut.offsets)
    for change, message in [
        ({"bound": cut.bound + 1e-6}, "cut 0 has a bound of"),
        ({"matrix": other, "eigenvalue": 1e-3, "bound": of_other + 1e-6}, "cut 0 has a bound of"),
        ({"offsets": cut.offsets - 1e-6}, "cut 0 has a bound of|negative"),
        ({"offsets": cut.offsets[1:]}, "missing offsets"),
        ({"matrix": skewed}, "not symmetric"),
        ({"matrix": large}, "above 1 on its diagonal"),
        ({"matrix": indefinite}, "eigenvalues below"),
        ({"eigenvalue": 2 * np.linalg.eigvalsh(cut.matrix)[0]}, "eigenvalues below"),
        ({"eigenvalue": 0.0}, "eigenvalues below"),
        ({"eigenvalue": 1e-15}, "too small for float64"),
        ({"starts": np.array([0, 1, 1, 3, 4])}, "not one of 4 columns"),
        ({"starts": cut.starts[:-1]}, "not one of 4 columns"),
        ({"matrix": cut.matrix[1:, 1:]}, "not one of 4 columns"),
    ]:
        cuts = [cut._replace(**change), *proof.cuts[1:]]
        random_proofs.assert_refused(families, proof._replace(cuts=cuts), message)
    less = [cut._replace(bound=cut.bound - 1.0), *proof.cuts[1:]]
    by = proof.root.steps[0].multipliers[0]
    weaker = certified_bound(as_arrays(families), proof._replace(cuts=less))
    assert weaker == pytest.approx(bound - by, abs=1e-9)


# Which cuts are sought


def random_point(rng, widths):
    """A point in which each column mixes three families."""
    m = len(widths)
    _, child, parents = all_families(m)
    which = [rng.choice(np.flatnonzero(child == x), 3, replace=False) for x in range(m)]
    which = np.concatenate(which)
    weight = rng.dirichlet(np.ones(3), size=m).ravel()
    return Point.of(child[which], parents[which], weight, m)


def random_violation(rng, widths):
    """A matrix and its columns, a point, and the point's families by size."""
    starts, point = np.cumsum([0, *widths]), random_point(rng, widths)
    matrix = random_determinant(rng, widths).matrix
    return matrix, starts, point, determinant_cuts._families_by_size(starts, point)


@pytest.mark.parametrize("widths", [[1] * 5, WIDTHS])
def test_the_gradient_of_the_violation(widths):
    rng = np.random.default_rng(2)
    matrix, starts, point, families = random_violation(rng, widths)
    value, slope = determinant_cuts.violation(matrix, families)
    cut = determinant_cut(matrix, starts)
    own = coefficients(cut, point.child, point.parents)
    assert value == pytest.approx(cut.bound - point.weight @ own, abs=1e-4)
    for _ in range(5):
        step = rng.normal(size=matrix.shape)
        step = 1e-6 * (step + step.T)
        up, down = (determinant_cuts.violation(matrix + s, families)[0] for s in (step, -step))
        assert (up - down) / 2 == pytest.approx((slope * step).sum(), rel=1e-4)


@pytest.mark.parametrize("widths", [[1] * 5, WIDTHS])
def test_steps_raise_the_violation(widths):
    matrix, starts, point, families = random_violation(np.random.default_rng(3), widths)
    value, better = determinant_cuts.more_violated(matrix, starts, point)
    assert value > determinant_cuts.violation(matrix, families)[0]
    assert value == pytest.approx(determinant_cuts.violation(better, families)[0])


@pytest.mark.parametrize("widths", [[1] * 5, WIDTHS])
def test_the_covariance_of_a_network(widths):
    rng = np.random.default_rng(4)
    starts, m = np.cumsum([0, *widths]), len(widths)
    given = random_determinant(rng, widths).matrix
    full = [tuple(range(x)) for x in range(m)]
    np.testing.assert_allclose(covariance_of_network(given, starts, full), given, atol=1e-12)
    # The residuals of its families are those of the given covariance: their product is the
    # determinant. Numbers beyond the columns are left out.
    network = [(), (0, m), (1,), (0, 2)]
    found = covariance_of_network(given, starts, [*network, *[()] * (m - 4)])
    for x, parents in enumerate(network):
        family = (x, [p for p in parents if p < m])
        values = [
            reference.determinant_coefficient(each, starts, np.zeros(m), *family)
            for each in (given, found)
        ]
        assert values[0] == pytest.approx(values[1])


def test_no_cuts_without_correlations_or_with_too_many_columns(monkeypatch):
    rng = np.random.default_rng(5)
    given = random_determinant(rng, [1] * 4).matrix, np.arange(5)
    point = random_point(rng, [1] * 4)
    with_cuts = determinant_cuts.DeterminantSeparation(given, [(), (0,), (1,), (0, 2)])
    assert len(with_cuts.violated(point, [], np.empty(0))) == 2
    (more,) = with_cuts.violated(point, [], np.empty(0))
    assert more.bound > point.weight @ coefficients(more, point.child, point.parents)
    monkeypatch.setattr(determinant_cuts, "_MOST_COLUMNS", 3)
    for correlations in (None, given):
        without = determinant_cuts.DeterminantSeparation(correlations, [()] * 4)
        assert without.violated(point, [], np.empty(0)) == []


@pytest.mark.parametrize("seed", range(4))
def test_any_correlations_lead_to_the_cheapest_network(seed):
    rng = np.random.default_rng(seed)
    listed = random_families(rng, 5, 12, 3)
    families = as_arrays(listed)
    empty = np.flatnonzero((families.parents < 0).all(axis=1))
    correlations = random_determinant(rng, [1] * 5).matrix, np.arange(6)
    result = branch_and_cut(families, empty, tolerance=1e-6, correlations=correlations, n_jobs=1)
    assert result.cost == pytest.approx(reference.cheapest_network(listed), abs=1e-6)
    assert result.is_finished

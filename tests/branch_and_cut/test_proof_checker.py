"""Replayed proofs, against enumerations of all networks and a replay with sets and dicts."""

import copy
import math
from fractions import Fraction

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from random_proofs import (
    as_arrays,
    assert_refused,
    nodes_of,
    plain,
    random_cuts,
    random_families,
    random_proof,
    random_step,
)

from skbn._branch_and_cut.checker_kernels import least
from skbn._branch_and_cut.proof import Branch, ClusterCut, LocalCut, Node, Proof, Step
from skbn._branch_and_cut.proof_checker import certified_bound

# Bounds


@pytest.mark.parametrize("seed", range(9))
def test_bound_of_a_tree(seed):
    families, proof, cheapest = random_proof(
        seed, share_of_clusters=[0.2, 1.0][seed % 2], noise=[0.0, 0.3, 1.0][seed % 3]
    )
    expected = reference.replay(families, list(map(plain, proof.cuts)), proof.root, proof.cutoff)
    bound = certified_bound(as_arrays(families), proof)
    assert bound == pytest.approx(expected, rel=1e-8, abs=1e-8)
    assert bound <= min(proof.cutoff, cheapest)
    claimed = proof._replace(bound=min(expected, proof.cutoff))
    assert certified_bound(as_arrays(families), claimed) == bound
    assert_refused(families, claimed._replace(bound=claimed.bound + 1e-5 * (1 + proof.cutoff)))


@pytest.mark.parametrize("seed", range(5))
def test_bound_reaches_the_cheapest_network(seed):
    families, proof, cheapest = random_proof(seed, cutoff=1e3)
    bound = certified_bound(as_arrays(families), proof)
    at_optimum = random_proof(seed, cutoff=cheapest)[1]
    # All cuts of clusters and a few branchings leave no gap in instances as small as these.
    assert cheapest - 1e-6 * (1 + 1e3) <= bound <= cheapest
    assert cheapest - 1e-6 * (1 + cheapest) <= certified_bound(as_arrays(families), at_optimum)
    assert certified_bound(as_arrays(families), at_optimum) <= cheapest


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 3.0), st.floats(0.5, 2.0))
def test_any_multipliers_and_branchings_give_a_bound(seed, scale, share):
    families, proof, cheapest = random_proof(seed % 50, 0.5, noise=0.5)
    rng = np.random.default_rng(seed)
    root = copy.deepcopy(proof.root)
    for node in nodes_of(root):
        node.steps = [
            Step(step.cuts, step.multipliers * rng.uniform(0.0, scale, size=step.cuts.size))
            for step in node.steps
        ]
    proof = proof._replace(root=root, cutoff=cheapest * share)
    assert certified_bound(as_arrays(families), proof) <= min(proof.cutoff, cheapest)


def exactly(cut):
    """A cut as the reference has it, its bound without rounding."""
    columns, table, bound = plain(cut)
    if table is not None:
        table = [list(map(Fraction, row)) for row in table]
        bound = reference.value_of_masks(table, reference.cheapest_masks(table))
    return columns, table, bound


@pytest.mark.parametrize("seed", range(8))
def test_rounding_never_raises_a_bound(seed):
    rng = np.random.default_rng(seed)
    families = random_families(rng, 4, 7, 3)
    cuts = random_cuts(rng, 4, 30)
    k = int(rng.integers(1, 200))
    multipliers = rng.exponential(size=k) * 10.0 ** rng.uniform(-3, 6, size=k)
    root = Node([Step(rng.integers(len(cuts), size=k).astype(np.int32), multipliers)])
    bound = certified_bound(as_arrays(families), Proof(cuts, root, math.inf, -math.inf))
    exact, _ = reference.bound_and_reduced_costs(
        families, list(map(exactly, cuts)), root.steps[0], Fraction
    )
    magnitude = multipliers.sum() * 4
    assert exact - Fraction(1e-11 * magnitude) <= Fraction(bound) <= exact


@pytest.mark.parametrize("seed", range(5))
def test_rounding_of_the_sum_of_cuts_never_raises_a_bound(seed):
    """No family has a coefficient, and all cost nothing: what is left are the cuts' bounds."""
    families = [[(0.0, frozenset((1,)))], [(0.0, frozenset((0,)))]]
    multipliers = np.random.default_rng(seed).exponential(size=5)
    root = Node([Step(np.zeros(5, dtype=np.int32), multipliers)])
    cuts = [ClusterCut(np.array([0, 1], dtype=np.int16))]
    bound = certified_bound(as_arrays(families), Proof(cuts, root, math.inf, -math.inf))
    exact = sum(map(Fraction, multipliers))
    assert exact - Fraction(1e-14) <= Fraction(bound) <= exact


@pytest.mark.parametrize("seed", range(2))
def test_rounding_of_a_sum_of_coefficients_never_raises_a_bound(seed):
    families = [[(0.0, frozenset())], [(0.0, frozenset())]]
    rng = np.random.default_rng(seed)
    n = 20000
    root = Node([Step(np.zeros(n, dtype=np.int32), rng.exponential(size=n))])
    cuts = [LocalCut(np.array([0], dtype=np.int16), rng.random((1, 2)), 0.0)]
    bound = certified_bound(as_arrays(families), Proof(cuts, root, math.inf, -math.inf))
    exact = -sum(map(Fraction, root.steps[0].multipliers)) * Fraction(cuts[0].table[0, 0])
    assert exact * Fraction(1 + 1e-11) <= Fraction(bound) <= exact


def test_infinite_cutoff_and_no_network():
    families = [[(0.0, frozenset((1,)))], [(0.0, frozenset((0,)))]]
    root = Node()
    for child in root.split(Branch(0, 1)):
        child.steps.append(Step(np.empty(0, np.int32), np.empty(0)))
    proof = Proof([], root, math.inf, math.inf)
    assert certified_bound(as_arrays(families), proof) == math.inf
    families[1].append((1.0, frozenset()))
    assert_refused(families, proof)
    assert certified_bound(as_arrays(families), proof._replace(bound=0.0)) == pytest.approx(1.0)


# Cuts


@pytest.mark.parametrize("w", [1, 2, 3, 4])
def test_least_value_of_a_table(w):
    rng = np.random.default_rng(w)
    for _ in range(30 if w < 4 else 1):
        table = rng.random((w, 1 << w)) * (rng.random((w, 1 << w)) < 0.8)
        masks = reference.cheapest_masks(table)
        exact = reference.value_of_masks([list(map(Fraction, row)) for row in table], masks)
        assert exact - Fraction(1e-30) <= sum(map(Fraction, least(table))) <= exact


def test_unused_entries_of_a_table_do_not_matter():
    table = np.array([[1.0, 0.0, 0.5, 0.0], [0.7, 0.2, 0.0, 0.0]])
    assert sum(least(table)) == pytest.approx(min(1.7, 1.0 + 0.2, 0.5 + 0.7))


# Branches


def only_children_of(*arcs):
    """Column 1 needs 0, 2 needs 1, and 0 needs 2: no network, but no two columns show it."""
    return [[(0.0, frozenset((arc,)))] for arc in arcs]


def nested(branches, sides):
    """A tree that goes on at one side of each branch; returns its nodes on that path."""
    path = [Node()]
    for branch, side in zip(branches, sides, strict=True):
        path.append(path[-1].split(branch)[side])
    return path


def test_cycles_are_closed_by_several_required_arcs():
    families = only_children_of(2, 0, 1)
    families[0].append((1.0, frozenset((3,))))
    families[0].append((2.0, frozenset((2, 3))))
    families += [[(0.0, frozenset())]]
    empty = Step(np.empty(0, np.int32), np.empty(0))
    path = nested([Branch(0, 1), Branch(1, 2)], [1, 1])
    path[-1].steps.append(empty)
    # The other children are closed: columns 1 and 2 have no other families.
    proof = Proof([], path[0], 10.0, 0.9)
    assert certified_bound(as_arrays(families), proof) == pytest.approx(1.0)
    path[-1].steps, path[-2].steps = [], [empty]  # before the second arc is required
    assert_refused(families, proof, "node 4 at depth 2")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_arcs_are_required_in_any_order(order):
    """0 -> 1 and 2 -> 3 first, then 1 -> 2: 3 is no parent of 0, nor of 1."""
    families = [
        [(0.0, frozenset((3,))), (1.0, frozenset())],
        [(0.0, frozenset((0,))), (0.0, frozenset((0, 3)))],
        [(0.0, frozenset((1,)))],
        [(0.0, frozenset((2,)))],
    ]
    first = [Branch(0, 1), Branch(2, 3)]
    path = nested([*(first[i] for i in order), Branch(1, 2)], [1, 1, 1])
    path[-1].steps.append(Step(np.empty(0, np.int32), np.empty(0)))
    bound = certified_bound(as_arrays(families), Proof([], path[0], 10.0, 0.9))
    assert bound == pytest.approx(1.0)


@pytest.mark.parametrize("side", [0, 1])
def test_deep_trees(side):
    rng = np.random.default_rng(1)
    families = [*random_families(rng, 4, 7, 3)]
    cuts = random_cuts(rng, 4, 3)
    n, path = 1500, [Node()]
    for _ in range(n):
        path.append(path[-1].split(Branch(0, 1))[side])
    step = random_step(rng, families, list(map(plain, cuts)), 0.0)
    path[0].steps.append(step)
    expected, _ = reference.bound_and_reduced_costs(families, list(map(plain, cuts)), step)
    proof = Proof(cuts, path[0], 1e3, expected)
    bound = certified_bound(as_arrays(families), proof)
    assert bound == pytest.approx(expected)
    path[-1].steps.append(Step(np.array([len(cuts)]), np.ones(1)))
    assert_refused(families, proof, f"at depth {n}")

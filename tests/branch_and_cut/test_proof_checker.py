"""Replayed proofs, against enumerations of all networks and a replay with sets and dicts."""

import copy
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import random_proofs
import reference
from hypothesis import given
from hypothesis import strategies as st
from random_proofs import assert_refused, plain, random_cuts, random_families, random_proof

from skbn._branch_and_cut.proof import Branch, ClusterCut, LocalCut, Node, Proof, Step
from skbn._branch_and_cut.proof_checker import certified_bound, least_total

NO_CUTS = np.empty(0, np.int32), np.empty(0)


def bound_of(families, proof):
    return certified_bound(random_proofs.as_arrays(families), proof)


# Bounds


@pytest.mark.parametrize("seed", range(9))
def test_bound_of_a_tree(seed):
    families, proof, cheapest = random_proof(
        seed, share_of_clusters=[0.2, 1.0][seed % 2], noise=[0.0, 0.3, 1.0][seed % 3]
    )
    expected = reference.replay(families, list(map(plain, proof.cuts)), proof.root, proof.cutoff)
    bound = bound_of(families, proof)
    assert bound == pytest.approx(expected, rel=1e-8, abs=1e-8)
    assert bound <= min(proof.cutoff, cheapest)
    claimed = proof._replace(bound=min(expected, proof.cutoff))
    assert bound_of(families, claimed) == bound
    assert_refused(families, claimed._replace(bound=claimed.bound + 1e-5 * (1 + proof.cutoff)))


@pytest.mark.parametrize("seed", range(5))
def test_bound_reaches_the_cheapest_network(seed):
    families, proof, cheapest = random_proof(seed, cutoff=1e3)
    bound = bound_of(families, proof)
    at_optimum = random_proof(seed, cutoff=cheapest)[1]
    # All cuts of clusters and a few branchings leave no gap in instances as small as these.
    assert cheapest - 1e-6 * (1 + 1e3) <= bound <= cheapest
    assert cheapest - 1e-6 * (1 + cheapest) <= bound_of(families, at_optimum)
    assert bound_of(families, at_optimum) <= cheapest


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 3.0), st.floats(0.5, 2.0))
def test_any_multipliers_and_branchings_give_a_bound(seed, scale, share):
    families, proof, cheapest = random_proof(seed % 50, 0.5, noise=0.5)
    rng = np.random.default_rng(seed)
    root = copy.deepcopy(proof.root)
    for node in random_proofs.nodes_of(root):
        node.steps = [
            Step(step.cuts, step.multipliers * rng.uniform(0.0, scale, size=step.cuts.size))
            for step in node.steps
        ]
    proof = proof._replace(root=root, cutoff=cheapest * share)
    assert bound_of(families, proof) <= min(proof.cutoff, cheapest)


def exactly(cut):
    """A cut as the reference has it, its coefficients and its bound without rounding."""
    columns, table, bound = plain(cut)
    if callable(table):

        def of_columns(columns):
            return reference.log_determinant(cut.matrix[np.ix_(columns, columns)])

        def coefficient(child, parents):
            own = of_columns([*parents, child]) - of_columns([*parents])
            return own + Fraction(cut.offsets[child])

        table, bound = coefficient, of_columns(columns) + sum(map(Fraction, cut.offsets))
    elif table is not None:
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
    bound = bound_of(families, Proof(cuts, root, math.inf, -math.inf))
    exact, _ = reference.bound_and_reduced_costs(
        families, list(map(exactly, cuts)), root.steps[0], Fraction
    )
    magnitude = multipliers.sum() * 4
    assert exact - Fraction(1e-11 * magnitude) <= Fraction(bound) <= exact


@pytest.mark.parametrize("seed", range(2))
def test_rounding_of_a_sum_of_coefficients_never_raises_a_bound(seed):
    families = [[(0.0, frozenset())], [(0.0, frozenset())]]
    rng = np.random.default_rng(seed)
    n = 20000
    root = Node([Step(np.zeros(n, dtype=np.int32), rng.exponential(size=n))])
    cuts = [LocalCut(np.array([0], dtype=np.int16), rng.random((1, 2)), 0.0)]
    bound = bound_of(families, Proof(cuts, root, math.inf, -math.inf))
    exact = -sum(map(Fraction, root.steps[0].multipliers)) * Fraction(cuts[0].table[0, 0])
    assert exact * Fraction(1 + 1e-11) <= Fraction(bound) <= exact


def test_infinite_cutoff_and_no_network():
    families = [[(0.0, frozenset((1,)))], [(0.0, frozenset((0,)))]]
    root = Node()
    for child in root.split(Branch(0, 1)):
        child.steps.append(Step(*NO_CUTS))
    proof = Proof([], root, math.inf, math.inf)
    assert bound_of(families, proof) == math.inf
    families[1].append((1.0, frozenset()))
    assert_refused(families, proof)
    assert bound_of(families, proof._replace(bound=0.0)) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(6))
def test_all_networks_are_gone_through_with_any_multipliers(seed):
    rng = np.random.default_rng(seed)
    families, cuts = random_families(rng, 5, 6, 3), random_cuts(rng, 5, 10)
    cheapest = reference.cheapest_network(families)
    multipliers = rng.exponential(size=len(cuts)) * (rng.random(len(cuts)) < 0.3)
    root = Node([Step(np.arange(len(cuts), dtype=np.int32), multipliers)], is_enumerated=True)
    proof = Proof(cuts, root, cheapest - 1e-9, -math.inf)
    assert bound_of(families, proof) == pytest.approx(cheapest, abs=1e-8)
    assert_refused(families, proof._replace(cutoff=cheapest + 1e-9), "costs less than the cutoff")
    assert_refused(families, proof._replace(root=Node(is_enumerated=True)), "has no step")


# Cuts


@pytest.mark.parametrize("w", [1, 2, 3, 4])
def test_least_value_of_a_table(w):
    rng = np.random.default_rng(w)
    for _ in range(30 if w < 4 else 1):
        table = rng.random((w, 1 << w)) * (rng.random((w, 1 << w)) < 0.8)
        masks = reference.cheapest_masks(table)
        exact = reference.value_of_masks([list(map(Fraction, row)) for row in table], masks)
        assert exact - Fraction(1e-30) <= sum(map(Fraction, least_total(table))) <= exact


def test_unused_entries_of_a_table_do_not_matter():
    table = np.array([[1.0, 0.0, 0.5, 0.0], [0.7, 0.2, 0.0, 0.0]])
    assert sum(least_total(table)) == pytest.approx(min(1.7, 1.0 + 0.2, 0.5 + 0.7))


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
    empty = Step(*NO_CUTS)
    path = nested([Branch(0, 1), Branch(1, 2)], [1, 1])
    path[-1].steps.append(empty)
    # The other children are closed: columns 1 and 2 have no other families.
    proof = Proof([], path[0], 10.0, 0.9)
    assert bound_of(families, proof) == pytest.approx(1.0)
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
    path[-1].steps.append(Step(*NO_CUTS))
    bound = bound_of(families, Proof([], path[0], 10.0, 0.9))
    assert bound == pytest.approx(1.0)


@pytest.mark.parametrize("side", [0, 1])
def test_deep_trees(side):
    rng = np.random.default_rng(1)
    families = [*random_families(rng, 4, 7, 3)]
    cuts = random_cuts(rng, 4, 3)
    n, path = 1500, [Node()]
    for _ in range(n):
        path.append(path[-1].split(Branch(0, 1))[side])
    step = random_proofs.random_step(rng, families, list(map(plain, cuts)), 0.0)
    path[0].steps.append(step)
    expected, _ = reference.bound_and_reduced_costs(families, list(map(plain, cuts)), step)
    proof = Proof(cuts, path[0], 1e3, expected)
    bound = bound_of(families, proof)
    assert bound == pytest.approx(expected)
    path[-1].steps.append(Step(np.array([len(cuts)]), np.ones(1)))
    assert_refused(families, proof, f"at depth {n}")


# Proofs that do not show what they claim: each is refused

FAMILIES = random_families(np.random.default_rng(0), 4, 5, 2)


# Cuts

FIRST, TABLE = np.array([0, 1], np.int16), np.ones((2, 4))
BAD_CUTS = {
    "repeated column": (np.array([1, 1], np.int16), TABLE, 1.0),
    "column too high": (np.array([1, 4], np.int16), TABLE, 1.0),
    "negative column": (np.array([-1, 2], np.int16), TABLE, 1.0),
    "column that int16 lacks": (np.array([1, 2**16], np.int64), TABLE, 1.0),
    "no columns": (np.empty(0, np.int16), np.ones((0, 1)), 0.0),
    "wrong shape": (FIRST, np.ones((2, 8)), 1.0),
    "negative entry": (FIRST, -1e-9 * TABLE, -1.0),
    "nan entry": (FIRST, math.nan * TABLE, 0.0),
    "infinite entry": (FIRST, math.inf * TABLE, 1.0),
    "nan bound": (FIRST, TABLE, math.nan),
    "bound too high": (FIRST, TABLE, 2.0 + 1e-13),
    "edge that no branch requires": (FIRST, np.array([[0.0, 0, 1, 0], [0, 1, 0, 0]]), 1.0),
}


BAD_CLUSTERS = [ClusterCut(np.array(own, dtype=np.int16)) for own in ([0, 0], [4], [-1, 0], [])]


@pytest.mark.parametrize("cut", [*(LocalCut(*cut) for cut in BAD_CUTS.values()), *BAD_CLUSTERS])
def test_cuts_that_do_not_hold_are_refused(cut):
    assert_refused(FAMILIES, Proof([cut], Node(), 9.0, -math.inf), "cut 0")


@pytest.mark.parametrize(
    ("cuts", "multipliers", "message"),
    [
        *(([i], [1.0], f"cut {i}") for i in (-1, 1, 2)),
        ([0], [1.0, 1.0], "node 0"),
        ([0.5], [1.0], "node 0"),
        ([[0]], [[1.0]], "node 0"),
    ],
)
def test_steps_of_other_cuts_or_multipliers_are_refused(cuts, multipliers, message):
    root = Node([Step(np.array(cuts), np.array(multipliers))])
    cluster = ClusterCut(np.array([0, 1], dtype=np.int16))
    assert_refused(FAMILIES, Proof([cluster], root, 9.0, -math.inf), message)


# Trees


def drop_a_step(rng, node):
    if node.steps:
        del node.steps[rng.integers(len(node.steps))]


def drop_all_steps(rng, node):
    node.steps = []


def replace_a_child(rng, node):
    if node.children is not None:
        a, b = node.children
        node.children = (a, Node()) if rng.integers(2) else (Node(), b)


def close_the_required_child(rng, node):
    if node.children is not None:
        node.children = (node.children[0], Node())


def swap_children(rng, node):
    if node.children is not None:
        node.children = node.children[::-1]


def cut_off_the_tree(rng, node):
    node.branch = node.children = None


def change_the_branch(rng, node):
    if node.branch is not None:
        node.branch = Branch(node.branch.child, node.branch.parent)


def change_multipliers(rng, node):
    node.steps = [Step(step.cuts, step.multipliers * 0.9) for step in node.steps]


def change_cuts(rng, node):
    node.steps = [
        Step(np.roll(step.cuts, int(rng.integers(1, len(step.cuts)))), step.multipliers)
        for step in node.steps
    ]


CHANGES = [
    *(drop_a_step, drop_all_steps, replace_a_child, close_the_required_child, swap_children),
    *(cut_off_the_tree, change_the_branch, change_multipliers, change_cuts),
]


def bound_shown(families, proof, root):
    """What the reference makes of a tree; a cut that is not there shows nothing."""
    try:
        return reference.replay(families, list(map(plain, proof.cuts)), root, proof.cutoff)
    except (IndexError, TypeError):
        return -math.inf


@cache
def proof_of(seed):
    """Families, and a proof that claims the bound it has."""
    families, proof, _ = random_proof(seed, 0.3, noise=0.1, depth=3, cutoff=1e3)
    bound = bound_of(families, proof)
    proof = proof._replace(bound=bound)
    assert bound_of(families, proof) == bound
    return families, proof


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_trees_that_show_less_are_refused(change):
    n_refused = 0
    for seed in (11, 13):
        families, proof = proof_of(seed)
        for i in range(len(list(random_proofs.nodes_of(proof.root)))):
            root = copy.deepcopy(proof.root)
            change(np.random.default_rng(seed), list(random_proofs.nodes_of(root))[i])
            if bound_shown(families, proof, root) < proof.bound - 1e-5:
                assert_refused(families, proof._replace(root=root))
                n_refused += 1
            else:
                bound_of(families, proof._replace(root=root))
    assert n_refused >= 2


@pytest.mark.parametrize("seed", range(13))
def test_cuts_that_claim_more_are_refused(seed):
    families, proof, _ = random_proof(seed, depth=1)
    rng = np.random.default_rng(seed)
    local = [i for i, cut in enumerate(proof.cuts) if isinstance(cut, LocalCut)]
    i = local[rng.integers(len(local))]

    def with_cut(**changes):
        cuts = proof.cuts.copy()
        cuts[i] = cuts[i]._replace(**changes)
        return proof._replace(cuts=cuts)

    cut = proof.cuts[i]
    bound_of(families, with_cut(bound=cut.bound - 1e-3))
    assert_refused(families, with_cut(bound=cut.bound + 1e-12), f"cut {i} ")
    lower, masks = cut.table.copy(), reference.cheapest_masks(cut.table)
    position = int(np.argmax([row[mask] for row, mask in zip(lower, masks, strict=True)]))
    lower[position, masks[position]] *= 1 - 1e-9
    assert_refused(families, with_cut(table=lower), f"cut {i} ")


@pytest.mark.parametrize("multiplier", [-1e-9, math.nan, math.inf, 1e200])
def test_multipliers_that_give_no_bound_are_refused(multiplier):
    families, proof, _ = random_proof(3)
    multipliers = proof.root.steps[0].multipliers.copy()
    multipliers[1] = multiplier
    root = Node([Step(proof.root.steps[0].cuts, multipliers)])
    assert_refused(families, proof._replace(root=root), "node 0 at depth 0, step 0")


OWN_CHILD = Node([], Branch(0, 1))
OWN_CHILD.children = (OWN_CHILD, OWN_CHILD)
MALFORMED = [
    (Branch(1, 1), (Node(), Node())),
    (Branch(0, 4), (Node(), Node())),
    (Branch(-1, 0), (Node(), Node())),
    (Branch(0, 1), None),
    (Branch(0, 1), (Node(),)),
    (Branch(0, 1), (Node(), None)),
    (Branch(0, 1), (None, Node())),
    (None, (Node(), Node())),
]


@pytest.mark.parametrize(
    ("root", "cutoff", "bound", "message"),
    [
        *((Node([Step(*NO_CUTS)], *own), 1e3, -math.inf, "node") for own in MALFORMED),
        (OWN_CHILD, 1e3, -math.inf, "twice"),
        (Node(), 1.0, 1.1, "above the cutoff"),
        (Node(), math.nan, 0.0, "above the cutoff"),
        (Node(), 1.0, math.nan, "above the cutoff"),
    ],
)
def test_malformed_trees_and_bounds_above_the_cutoff_are_refused(root, cutoff, bound, message):
    assert_refused(FAMILIES, Proof([], root, cutoff, bound), message)

"""Proofs that do not show what they claim: each is refused."""

import copy
import math
from functools import cache

import numpy as np
import pytest
import reference
from random_proofs import as_arrays, assert_refused, nodes_of, plain, random_families, random_proof

from skbn._branch_and_cut.proof import Branch, ClusterCut, LocalCut, Node, Proof, Step
from skbn._branch_and_cut.proof_checker import certified_bound

# Cuts

BAD_CUTS = {
    "repeated column": (np.array([1, 1], np.int16), np.ones((2, 4)), 1.0),
    "column too high": (np.array([1, 4], np.int16), np.ones((2, 4)), 1.0),
    "negative column": (np.array([-1, 2], np.int16), np.ones((2, 4)), 1.0),
    "column that int16 lacks": (np.array([1, 2**16], np.int64), np.ones((2, 4)), 1.0),
    "no columns": (np.empty(0, np.int16), np.ones((0, 1)), 0.0),
    "wrong shape": (np.array([0, 1], np.int16), np.ones((2, 8)), 1.0),
    "negative entry": (np.array([0, 1], np.int16), np.full((2, 4), -1e-9), -1.0),
    "nan entry": (np.array([0, 1], np.int16), np.full((2, 4), np.nan), 0.0),
    "infinite entry": (np.array([0, 1], np.int16), np.full((2, 4), np.inf), 1.0),
    "nan bound": (np.array([0, 1], np.int16), np.ones((2, 4)), math.nan),
    "bound too high": (np.array([0, 1], np.int16), np.ones((2, 4)), 2.0 + 1e-13),
    "edge that no branch requires": (
        np.array([0, 1], np.int16),
        np.array([[0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0]]),
        1.0,
    ),
}


@pytest.mark.parametrize("what", BAD_CUTS)
def test_cuts_that_do_not_hold_are_refused(what):
    families = random_families(np.random.default_rng(0), 4, 5, 2)
    assert_refused(families, Proof([LocalCut(*BAD_CUTS[what])], Node(), 9.0, -math.inf), "cut 0")


@pytest.mark.parametrize("columns", [[0, 0], [4], [-1, 0], []])
def test_clusters_of_other_columns_are_refused(columns):
    families = random_families(np.random.default_rng(0), 4, 5, 2)
    cut = ClusterCut(np.array(columns, dtype=np.int16))
    assert_refused(families, Proof([cut], Node(), 9.0, -math.inf), "cut 0")


# Trees


def drop_a_step(rng, node):
    if node.steps:
        del node.steps[rng.integers(len(node.steps))]


def drop_all_steps(rng, node):
    node.steps = []


def replace_a_child(rng, node):
    if node.children is not None:
        children = list(node.children)
        children[rng.integers(2)] = Node()
        node.children = tuple(children)


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
    for i, step in enumerate(node.steps):
        node.steps[i] = Step(step.cuts, step.multipliers * 0.9)


def change_cuts(rng, node):
    for i, step in enumerate(node.steps):
        n = len(step.cuts)
        node.steps[i] = Step(np.roll(step.cuts, int(rng.integers(1, n))), step.multipliers)


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
    bound = certified_bound(as_arrays(families), proof)
    proof = proof._replace(bound=bound)
    assert certified_bound(as_arrays(families), proof) == bound
    return families, proof


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_trees_that_show_less_are_refused(change):
    n_refused = 0
    for seed in (1, 4):
        families, proof = proof_of(seed)
        for i in range(len(list(nodes_of(proof.root)))):
            root = copy.deepcopy(proof.root)
            change(np.random.default_rng(seed), list(nodes_of(root))[i])
            if bound_shown(families, proof, root) < proof.bound - 1e-5:
                assert_refused(families, proof._replace(root=root))
                n_refused += 1
            else:
                certified_bound(as_arrays(families), proof._replace(root=root))
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
    certified_bound(as_arrays(families), with_cut(bound=cut.bound - 1e-3))
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


@pytest.mark.parametrize("i", [-1, 1, 2])
def test_cuts_that_are_not_there_are_refused(i):
    families = random_families(np.random.default_rng(0), 4, 5, 2)
    root = Node([Step(np.array([i], dtype=np.int32), np.ones(1))])
    cuts = [ClusterCut(np.array([0, 1], dtype=np.int16))]
    assert_refused(families, Proof(cuts, root, 9.0, -math.inf), f"cut {i}")


def test_steps_without_one_multiplier_for_each_cut_are_refused():
    families = random_families(np.random.default_rng(0), 4, 5, 2)
    cuts = [ClusterCut(np.array([0, 1], dtype=np.int16))]
    for ids, multipliers in [([0], [1.0, 1.0]), ([0.5], [1.0]), ([[0]], [[1.0]])]:
        root = Node([Step(np.array(ids), np.array(multipliers))])
        assert_refused(families, Proof(cuts, root, 9.0, -math.inf), "node 0")


@pytest.mark.parametrize(
    ("branch", "children"),
    [
        (Branch(1, 1), (Node(), Node())),
        (Branch(0, 4), (Node(), Node())),
        (Branch(-1, 0), (Node(), Node())),
        (Branch(0, 1), None),
        (Branch(0, 1), (Node(),)),
        (Branch(0, 1), (Node(), None)),
        (Branch(0, 1), (None, Node())),
        (None, (Node(), Node())),
    ],
)
def test_malformed_branches_are_refused(branch, children):
    families = random_families(np.random.default_rng(0), 4, 5, 2)
    root = Node([Step(np.empty(0, np.int32), np.empty(0))], branch, children)
    assert_refused(families, Proof([], root, 1e3, -math.inf), "node")


def test_nodes_that_are_their_own_children_are_refused():
    families = random_families(np.random.default_rng(0), 4, 5, 2)
    root = Node([], Branch(0, 1))
    root.children = (root, root)
    assert_refused(families, Proof([], root, 1e3, -math.inf), "twice")


@pytest.mark.parametrize(("cutoff", "bound"), [(1.0, 1.1), (math.nan, 0.0), (1.0, math.nan)])
def test_bounds_above_the_cutoff_are_refused(cutoff, bound):
    families = random_families(np.random.default_rng(0), 4, 5, 2)
    assert_refused(families, Proof([], Node(), cutoff, bound), "above the cutoff")

"""Small random instances, and proofs for them from the duals of linear programs."""

import math
from functools import cache, partial
from itertools import combinations

import numpy as np
import reference
from agreement import raises
from scipy.optimize import linprog

from skbn._branch_and_cut.determinant_cuts import determinant_cut
from skbn._branch_and_cut.proof import (
    Branch,
    ClusterCut,
    DeterminantCut,
    FamilyCosts,
    LocalCut,
    Node,
    Proof,
    Step,
)
from skbn._branch_and_cut.proof_checker import ProofError, certified_bound

SIZES = {4: 7, 5: 5, 6: 4}  # columns, and families of each


def random_families(rng, m, n, most_parents):
    """For each column n families at most, cheapest first, with the empty set among them."""
    families = []
    for x in range(m):
        others = [y for y in range(m) if y != x]
        sizes = range(1, most_parents + 1)
        sets = [frozenset(some) for size in sizes for some in combinations(others, size)]
        drawn = sorted(sets, key=sorted)
        drawn = [drawn[i] for i in rng.permutation(len(drawn))[: n - 1]]
        # More parents fit better, so that the cheapest families close cycles.
        costs = [float(rng.exponential(3.0) / len(parents)) for parents in drawn]
        least = min(costs)
        listed = [(cost - least, parents) for cost, parents in zip(costs, drawn, strict=True)]
        listed.append((float(rng.uniform(2.0, 8.0)), frozenset()))
        families.append(sorted(listed, key=lambda family: family[0]))
    return families


def as_arrays(families):
    k = max(len(parents) for listed in families for _, parents in listed)
    rows = [sorted(parents) + [-1] * (k - len(parents)) for each in families for _, parents in each]
    sizes = [len(listed) for listed in families]
    return FamilyCosts(
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        np.array([cost for listed in families for cost, _ in listed]),
        np.array(rows, dtype=np.int16).reshape(len(rows), k),
        np.repeat(np.arange(len(families)), sizes).astype(np.int16),
        np.zeros(len(rows)),
    )


def random_local_cut(rng, m, w):
    columns = np.sort(rng.permutation(m)[:w]).astype(np.int16)
    table = rng.random((w, 1 << w)) * (rng.random((w, 1 << w)) < 0.7)
    table[:, 0] = rng.uniform(0.5, 1.5)
    masks = reference.cheapest_masks(table)
    return LocalCut(columns, table, float(reference.value_of_masks(table, masks)))


def random_cuts(rng, m, n_local, share_of_clusters=1.0, n_determinants=2):
    clusters = [
        ClusterCut(np.array(columns, dtype=np.int16))
        for size in range(2, m + 1)
        for columns in combinations(range(m), size)
        if rng.random() < share_of_clusters
    ]
    local = [random_local_cut(rng, m, int(rng.integers(2, 4))) for _ in range(n_local)]
    cuts = [*clusters, *local, *(random_determinant(rng, [1] * m) for _ in range(n_determinants))]
    return [cuts[i] for i in rng.permutation(len(cuts))]


def random_determinant(rng, widths):
    """A determinant cut of nodes of some widths."""
    n = sum(widths)
    rows = rng.normal(size=(3 * n, n)) + rng.normal(size=(3 * n, 1))
    return determinant_cut(rows.T @ rows, np.cumsum([0, *widths]))


def plain(cut):
    """A cut as the reference has it."""
    if isinstance(cut, DeterminantCut):
        own = partial(reference.determinant_coefficient, cut.matrix, cut.starts, cut.offsets)
        return [*range(len(cut.offsets))], own, cut.bound
    if isinstance(cut, ClusterCut):
        return cut.columns.tolist(), None, 1
    return cut.columns.tolist(), cut.table.tolist(), cut.bound


def solved_program(families, cuts, is_allowed=None):
    """The linear program over all families that are allowed, with the reference's cuts."""
    listed = [(x, *family) for x in range(len(families)) for family in families[x]]
    rows = [[-reference.coefficient(cut, x, parents) for x, _, parents in listed] for cut in cuts]
    return linprog(
        [cost for _, cost, _ in listed],
        A_ub=np.array(rows) if rows else None,
        b_ub=[-cut[2] for cut in cuts] or None,
        A_eq=[[float(x == child) for x, _, _ in listed] for child in range(len(families))],
        b_eq=np.ones(len(families)),
        bounds=None if is_allowed is None else [(0, None if each else 0) for each in is_allowed],
    )


def dual_multipliers(families, cuts):
    """The optimal multipliers of cuts."""
    result = solved_program(families, cuts)
    if result.status != 0:  # no choice of families satisfies the cuts
        return np.full(len(cuts), 10.0)
    return np.maximum(0.0, -result.ineqlin.marginals)


def random_step(rng, families, cuts, noise):
    """A step from duals, some of them changed by a share of up to `noise`."""
    multipliers = dual_multipliers(families, cuts)
    multipliers *= rng.uniform(1.0 - noise, 1.0 + noise, size=len(cuts))
    return Step(np.arange(len(cuts), dtype=np.int32), multipliers)


def grow(rng, families, cuts, cutoff, depth, noise, required=frozenset()):
    """Return a random tree; `cuts` are those of the reference."""
    node = Node()
    if not all(families):
        return node
    for _ in range(rng.integers(1, 3)):
        node.steps.append(random_step(rng, families, cuts, noise))
        step = reference.bound_and_reduced_costs(families, cuts, node.steps[-1])
        families = reference.without_expensive(families, *step, cutoff)
        if not all(families):
            return node
    if depth == 0 or rng.random() < 0.1:
        return node
    a, b = map(int, rng.permutation(len(families))[:2])
    branch = Branch(a, b)
    node.split(branch)
    children = []
    for side in (0, 1):
        allowed, arcs = reference.of_child(families, required, branch, side)
        children.append(grow(rng, allowed, cuts, cutoff, depth - 1, noise, arcs))
    node.children = (children[0], children[1])
    return node


@cache
def random_proof(seed, share_of_clusters=1.0, noise=0.0, depth=3, cutoff=None):
    """FamilyCosts as lists, a proof that claims nothing yet, and the cheapest network.

    Whoever changes the tree copies it.
    """
    rng = np.random.default_rng(seed)
    m = int(rng.choice(list(SIZES)))
    families = random_families(rng, m, SIZES[m], int(rng.integers(2, 4)))
    cheapest = reference.cheapest_network(families)
    if cutoff is None:
        cutoff = cheapest * rng.choice([0.8, 0.999, 1.001, 1.3]) + rng.choice([0.0, 0.0, 50.0])
    cuts = random_cuts(rng, m, 6, share_of_clusters)
    root = grow(rng, families, list(map(plain, cuts)), cutoff, depth, noise)
    return families, Proof(cuts, root, float(cutoff), -math.inf), cheapest


def assert_refused(families, proof, match=None):
    raises(match, certified_bound, as_arrays(families), proof, kind=ProofError)


def nodes_of(node):
    yield node
    for child in node.children or ():
        yield from nodes_of(child)

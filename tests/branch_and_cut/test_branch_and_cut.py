"""Branch and cut, against enumerations; its proofs are replayed."""

import itertools
import math
import subprocess
import sys
import time
from functools import cache

import networkx as nx
import numpy as np
import pytest
import reference
from agreement import raises
from random_proofs import as_arrays, nodes_of, plain, random_cuts, random_families, solved_program

from skbn._branch_and_cut import branch_and_cut as module
from skbn._branch_and_cut import relaxation as relaxation_module
from skbn._branch_and_cut.branch_and_cut import branch_and_cut
from skbn._branch_and_cut.near_kernels import Choices, list_networks, new_tree
from skbn._branch_and_cut.proof import DeterminantCut
from skbn._branch_and_cut.proof_checker import ProofError, certified_bound
from skbn._branch_and_cut.relaxation import Relaxation
from skbn._branch_and_cut.walk_kernels import DONE, N_FOUND
from skbn._core.subsets import bits_of_rows

SEEDS = pytest.mark.parametrize("seed", range(6))
TOLERANCE = 1e-6


@cache
def instance(seed):
    rng = np.random.default_rng(seed)
    m, n = [(4, 12), (5, 8), (6, 6)][seed % 3]
    listed = random_families(rng, m, n, 3)
    return listed, as_arrays(listed), reference.cheapest_network(listed)


@cache
def ring(m):
    """Columns with the next ones as cheap parents, which close cycles wherever one begins."""
    rng = np.random.default_rng(0)
    listed = []
    for x in range(m):
        sets = {frozenset((x + step) % m for step in steps) for steps in STEPS}
        costs = [float(rng.exponential(2.0) / len(parents)) for parents in sets]
        sets = sorted(zip(costs, sets, strict=True), key=lambda family: family[0])
        sets = [(cost - sets[0][0], parents) for cost, parents in sets]
        listed.append([*sets, (sets[-1][0] + 4.0, frozenset())])
    return as_arrays(listed)


STEPS = ((1,), (2,), (5,), (1, 2), (3, 7), (4, 6), (1, 9), (2, 11, 13), (1, 3, 8))


def empty_network(families):
    return np.flatnonzero((families.parents < 0).all(axis=1))


def cost_if_network(families, chosen):
    """The cost of the chosen families, which are those of a network, one for each column."""
    assert families.child[chosen].tolist() == list(range(families.start.size - 1))
    sets = [{p for p in row if p >= 0} for row in families.parents[chosen].tolist()]
    assert reference.is_acyclic(sets)
    return families.cost[chosen].sum()


def bits(result):
    proof = result.proof
    steps = [
        (step.cuts.tobytes(), step.multipliers.tobytes())
        for node in nodes_of(proof.root)
        for step in node.steps
    ]
    cuts = [tuple(np.asarray(part).tobytes() for part in cut) for cut in proof.cuts]
    return result.chosen.tobytes(), result.cost, proof.bound, result.n_nodes, steps, cuts


@pytest.fixture
def enumerates_nothing(monkeypatch):
    """Nodes are bounded and branched, however few networks they have."""
    monkeypatch.setattr(module, "_WORK_OF_ROOT", 0)
    monkeypatch.setattr(module, "_WORK_OF_NODE", 0)


def search(families, start=None, **settings):
    """A search that begins with some network, by itself with the empty one."""
    start = empty_network(families) if start is None else start
    return branch_and_cut(families, start, **{"tolerance": TOLERANCE, **settings})


def assert_finds_the_cheapest(number, **settings):
    _, families, cheapest = instance(number)
    result = search(families, **settings)
    assert result.is_finished
    assert result.cost == pytest.approx(cheapest)
    assert result.cost == pytest.approx(cost_if_network(families, result.chosen))
    assert cheapest - 2 * TOLERANCE <= result.proof.bound <= result.proof.cutoff <= cheapest
    certified = certified_bound(families, result.proof)
    assert result.proof.bound - 1e-6 <= certified <= cheapest
    return families, result, cheapest


@SEEDS
def test_cheapest_network_and_its_proof(seed):
    """A search that begins with the empty network, and another with the optimum."""
    _, result, _ = assert_finds_the_cheapest(seed)
    assert_finds_the_cheapest(seed, start=result.chosen, seed=1)


@pytest.fixture
def branches_early(monkeypatch, enumerates_nothing):
    """No local cuts, which would prove small instances at the root."""
    clusters = module.clusters_of_cycles
    monkeypatch.setattr(module, "cuts_towards", lambda _, point, *__: clusters(point))
    monkeypatch.setattr(module, "local_cuts", lambda *_: [])


@SEEDS
@pytest.mark.parametrize("has_clusters", [True, False])
@pytest.mark.usefixtures("branches_early")
def test_tree(seed, has_clusters, monkeypatch):
    """Nodes are closed by bounds, or when each column has one family left."""
    if not has_clusters:
        monkeypatch.setattr(module._Search, "_cuts_of_root", lambda *_: [])
        monkeypatch.setattr(module._Search, "_cuts_of_node", lambda *_: [])
    assert_finds_the_cheapest(seed)


@SEEDS
def test_networks_are_enumerated(seed, monkeypatch):
    """Without cuts, and against planted defects."""
    monkeypatch.setattr(module._Search, "_cuts_of_root", lambda *_: [])
    families, result, cheapest = assert_finds_the_cheapest(seed)
    assert result.proof.root.is_enumerated
    result.proof.root.is_enumerated = False
    raises("is a leaf", certified_bound, families, result.proof, kind=ProofError)
    result.proof.root.is_enumerated = True
    cutoff = cheapest + TOLERANCE
    claimed = result.proof._replace(cutoff=cutoff, bound=cutoff)
    raises("costs less than the cutoff", certified_bound, families, claimed, kind=ProofError)


@pytest.mark.usefixtures("enumerates_nothing")
def test_threads_change_no_bit():
    one, two = (search(ring(10), n_jobs=n) for n in (1, 2))
    assert one.is_finished
    assert len(one.proof.cuts) > 0
    assert bits(one) == bits(two)


@SEEDS
def test_tolerance(seed):
    _, families, cheapest = instance(seed)
    result = search(families, tolerance=5.0)
    assert result.is_finished
    assert cheapest - 1e-9 <= result.cost <= cheapest + 5.0
    assert result.cost - 5.0 - 1e-5 <= certified_bound(families, result.proof) <= cheapest


# Searches that are ended


@SEEDS
def test_deadline_in_the_past(seed):
    _, families, cheapest = instance(seed)
    result = search(families, deadline=time.monotonic() - 1)
    assert cost_if_network(families, result.chosen) == pytest.approx(result.cost)
    assert result.proof.bound <= cheapest <= result.cost + 1e-9
    assert result.proof.bound - 1e-6 <= certified_bound(families, result.proof) <= cheapest
    assert result.is_finished == (result.proof.bound >= result.cost - 2 * TOLERANCE)


def interrupted(families, n_calls, **options):
    """The result of a search that is interrupted when it tells of its progress again."""
    calls = []

    def tell(cost, bound, n_nodes):
        calls.append((cost, bound, n_nodes))
        if len(calls) == n_calls:
            raise KeyboardInterrupt

    return search(families, tell=tell, **options), calls


@pytest.mark.usefixtures("enumerates_nothing")
@pytest.mark.parametrize("n_calls", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_interruption_that_ends_the_search(n_calls):
    families = ring(10)
    result, calls = interrupted(families, n_calls, ends_on_interrupt=True)
    assert len(calls) == n_calls
    assert not result.is_finished
    cost = search(families, result.chosen).cost
    assert cost_if_network(families, result.chosen) == pytest.approx(result.cost)
    assert result.proof.bound == pytest.approx(calls[-1][1])
    assert certified_bound(families, result.proof) <= cost


@pytest.mark.usefixtures("enumerates_nothing")
@pytest.mark.parametrize("n_calls", [1, 4])
def test_interruption_that_is_raised(n_calls):
    with pytest.raises(KeyboardInterrupt):
        interrupted(ring(10), n_calls)


@pytest.mark.usefixtures("enumerates_nothing")
@pytest.mark.parametrize("n_calls", [1, 16, 25])
@pytest.mark.usefixtures("branches_early")
def test_interruption_within_the_tree(n_calls):
    families = ring(8)
    result, calls = interrupted(families, n_calls, ends_on_interrupt=True)
    full = search(families)
    assert full.is_finished
    assert calls[-1][2] > 1 or n_calls < 20
    assert result.proof.bound == pytest.approx(min(calls[-1][1], result.proof.cutoff))
    assert certified_bound(families, result.proof) <= full.cost


def test_progress():
    _, calls = interrupted(ring(10), math.inf)
    costs, bounds, nodes = zip(*calls, strict=True)
    assert list(costs) == sorted(costs, reverse=True)
    assert list(bounds) == sorted(bounds)
    assert list(nodes) == sorted(nodes)
    assert all(bound <= cost for cost, bound, _ in calls)


# The linear relaxation, against linear programs of scipy and enumerations


FIVE_SEEDS = pytest.mark.parametrize("seed", range(5))


class Instance:
    """Families, cuts, and a relaxation that begins with the network of empty sets."""

    def __init__(self, seed, m=5, n=12):
        self.rng = np.random.default_rng(seed)
        self.listed = random_families(self.rng, m, n, 3)
        self.families = as_arrays(self.listed)
        self.cuts = random_cuts(self.rng, m, 5)
        empty = np.flatnonzero((self.families.parents < 0).all(axis=1))
        self.relaxation = Relaxation(self.families, empty)
        self.everything = np.ones(self.families.cost.size, dtype=bool)

    def optimum(self, cuts, allowed=None):
        """What the cheapest point costs, of all families if none are named."""
        allowed = self.everything if allowed is None else allowed
        result = solved_program(self.listed, list(map(plain, cuts)), allowed)
        assert result.status == 0
        return pytest.approx(result.fun)

    def solve(self, allowed=None):
        allowed = self.everything if allowed is None else allowed
        return self.relaxation.solve_for_all(allowed, np.inf)

    def some(self):
        """All families without parents, and most of the others."""
        is_empty = (self.families.parents < 0).all(axis=1)
        return (self.rng.random(self.everything.size) < 0.7) | is_empty


def relaxed(seed, **settings):
    """An instance whose relaxation has all cuts, and the relaxation."""
    instance = Instance(seed, **settings)
    instance.relaxation.add_cuts(instance.cuts)
    return instance, instance.relaxation


@FIVE_SEEDS
def test_bound_is_the_optimum_and_below_all_networks(seed):
    instance = Instance(seed)
    assert instance.solve().bound == instance.optimum([])
    instance.relaxation.add_cuts(instance.cuts)
    pricing = instance.solve()
    assert pricing.bound == instance.optimum(instance.cuts)
    assert pricing.bound <= reference.cheapest_network(instance.listed) + 1e-9
    assert (pricing.multipliers > 0).all()
    step = type("Step", (), {"cuts": range(len(pricing.cuts)), "multipliers": pricing.multipliers})
    cuts = [plain(cut) for cut in pricing.cuts]
    bound, reduced = reference.bound_and_reduced_costs(instance.listed, cuts, step)
    assert pricing.bound == pytest.approx(bound)
    excess = [value - min(own) for own in reduced for value in own]
    np.testing.assert_allclose(pricing.excess, excess, atol=1e-9)


@FIVE_SEEDS
def test_families_are_generated_until_none_is_missing(seed, monkeypatch):
    monkeypatch.setattr(relaxation_module, "_FIRST_FAMILIES", 1)
    monkeypatch.setattr(relaxation_module, "_NEW_FAMILIES", 1)
    instance, relaxation = relaxed(seed)
    assert instance.solve().bound == instance.optimum(instance.cuts)
    assert relaxation.n_solved > 1


@FIVE_SEEDS
def test_determinant_cuts_are_dropped(seed):
    instance, relaxation = relaxed(seed)
    assert instance.solve().bound == instance.optimum(instance.cuts)
    relaxation.drop_determinants()
    others = [cut for cut in instance.cuts if not isinstance(cut, DeterminantCut)]
    assert relaxation.cuts == others
    assert len(others) < len(instance.cuts)
    assert instance.solve().bound == instance.optimum(others)


@FIVE_SEEDS
def test_kept_families(seed):
    instance = Instance(seed)
    relaxation, kept = instance.relaxation, instance.some()
    relaxation.add_cuts(instance.cuts[::2])
    instance.solve()
    relaxation.keep(kept)
    families = relaxation.families
    assert (families.cost == instance.families.cost[kept]).all()
    assert (families.parents == instance.families.parents[kept]).all()
    assert families.start.tolist() == np.searchsorted(families.child, range(6)).tolist()
    relaxation.add_cuts(instance.cuts[1::2])
    pricing = relaxation.solve_for_all(np.ones(kept.sum(), dtype=bool), np.inf)
    assert pricing.bound == instance.optimum(instance.cuts, kept)
    point = relaxation.point()
    cost = 0.0
    for x, parents, weight in zip(point.child, point.parents, point.weight, strict=True):
        fits = (families.child == x) & (families.parents == parents).all(axis=1)
        cost += weight * families.cost[fits].item()
    assert cost == pytest.approx(pricing.bound)


@FIVE_SEEDS
def test_idle_cuts_are_dropped_and_change_nothing(seed):
    instance, relaxation = relaxed(seed, m=6)
    bound = instance.solve().bound
    used = {id(cut) for cut in instance.solve().cuts}
    assert relaxation.drop_idle_cuts(2) == []
    dropped = relaxation.drop_idle_cuts(2)
    assert len(dropped) + len(relaxation.cuts) == len(instance.cuts)
    assert not used & set(map(id, dropped))
    assert len(dropped) >= 20
    assert instance.solve().bound == pytest.approx(bound)
    assert instance.solve().bound == instance.optimum(relaxation.cuts)
    # Rows and cuts are still in the same order.
    relaxation.add_cuts(dropped)
    assert instance.solve().bound == pytest.approx(bound)


@FIVE_SEEDS
def test_allowed_families_and_the_objective_without_some_of_them(seed):
    instance, relaxation = relaxed(seed)
    allowed = instance.some()
    relaxation.allow(allowed)
    pricing = instance.solve(allowed)
    assert pricing.bound == instance.optimum(instance.cuts, allowed)
    assert (np.isinf(pricing.excess) == ~allowed).all()
    without = ~instance.some()
    expected = instance.optimum(instance.cuts, allowed & ~without)
    assert relaxation.objective_without(without, 10_000) == expected
    assert instance.solve(allowed).bound == pytest.approx(pricing.bound)
    relaxation.allow(instance.everything)
    assert instance.solve().bound == instance.optimum(instance.cuts)


def test_highs_prints_nothing():
    """In a process of its own: it prints its banner once."""
    code = "from skbn._branch_and_cut.relaxation import _SilentHighs; _SilentHighs().run()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("", "")


def test_networks_of_more_children_than_a_word_has_bits():
    # Children 0 to 65 have one family; four more may be parents of each other.
    rng = np.random.default_rng(0)
    m, last = 70, range(66, 70)
    own = [[()] for _ in range(66)] + [[(), *((p,) for p in last if p != x)] for x in last]
    start = np.cumsum([0, *map(len, own)])
    excess = rng.uniform(size=start[-1])
    excess -= np.repeat(np.minimum.reduceat(excess, start[:-1]), np.diff(start))
    parents = np.array([[*each, -1][:1] for families in own for each in families], dtype=np.int16)
    none = np.empty(0, dtype=np.int64)
    choices = Choices(
        start, excess, bits_of_rows(parents, m), np.zeros(start[-1] + 1, np.int64), none,
        np.empty(0), np.empty(0),
    )  # fmt: skip
    tree = new_tree(choices, 0.0)
    # What follows the last level in memory stays as it is.
    reached = np.zeros((2 * m, *tree.reached.shape[1:]), dtype=np.uint64)
    reached[0] = tree.reached[0]
    tree = tree._replace(reached=reached[: m + 1])
    found = np.empty((1000, m), dtype=np.int32)
    assert list_networks(choices, tree, 1.0, found, 10**6) == DONE
    listed = {tuple(row) for row in found[: tree.numbers[N_FOUND]].tolist()}
    expected = set()
    for some in itertools.product(*(range(start[x], start[x + 1]) for x in last)):
        graph = nx.DiGraph([(int(parents[f, 0]), x) for f, x in zip(some, last, strict=True)])
        graph.remove_nodes_from([-1])
        if nx.is_directed_acyclic_graph(graph) and excess[list(some)].sum() <= 1.0:
            expected.add((*range(66), *some))
    assert listed == expected
    assert len(expected) > 10
    assert not reached[m + 1 :].any()

"""Branch and cut, against enumerations; its proofs are replayed."""

import math
import time
from functools import cache

import numpy as np
import pytest
import reference
from random_proofs import as_arrays, nodes_of, random_families

from skbn._branch_and_cut import branch_and_cut as module
from skbn._branch_and_cut.branch_and_cut import branch_and_cut
from skbn._branch_and_cut.proof_checker import certified_bound

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


@SEEDS
def test_cheapest_network_and_its_proof(seed):
    """A search that begins with the empty network, and another with the optimum."""
    _, families, cheapest = instance(seed)
    result = branch_and_cut(families, empty_network(families), tolerance=TOLERANCE)
    assert result.is_finished
    assert result.cost == pytest.approx(cheapest)
    assert result.cost == pytest.approx(cost_if_network(families, result.chosen))
    assert cheapest - 2 * TOLERANCE <= result.proof.bound <= result.proof.cutoff <= cheapest
    certified = certified_bound(families, result.proof)
    assert result.proof.bound - 1e-6 <= certified <= cheapest
    again = branch_and_cut(families, result.chosen, tolerance=TOLERANCE, seed=1)
    assert again.cost == pytest.approx(cheapest)
    assert again.is_finished
    assert certified_bound(families, again.proof) == pytest.approx(cheapest, abs=1e-5)


@pytest.fixture
def branches_early(monkeypatch):
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
    _, families, cheapest = instance(seed)
    result = branch_and_cut(families, empty_network(families), tolerance=TOLERANCE)
    assert result.is_finished
    assert result.cost == pytest.approx(cheapest)
    assert certified_bound(families, result.proof) == pytest.approx(cheapest, abs=1e-5)


@pytest.mark.usefixtures("branches_early")
def test_trees_are_branched():
    nodes = []
    for seed in range(12):
        _, families, _ = instance(seed)
        result = branch_and_cut(families, empty_network(families), tolerance=TOLERANCE)
        nodes.append(result.n_nodes)
    assert max(nodes) > 2


def test_threads_change_no_bit():
    families = ring(10)
    start = empty_network(families)
    one, two = (branch_and_cut(families, start, tolerance=TOLERANCE, n_jobs=n) for n in (1, 2))
    assert one.is_finished
    assert len(one.proof.cuts) > 0
    assert bits(one) == bits(two)


@SEEDS
def test_tolerance(seed):
    _, families, cheapest = instance(seed)
    result = branch_and_cut(families, empty_network(families), tolerance=5.0)
    assert result.is_finished
    assert cheapest - 1e-9 <= result.cost <= cheapest + 5.0
    assert result.cost - 5.0 - 1e-5 <= certified_bound(families, result.proof) <= cheapest


# Searches that are ended


@SEEDS
def test_deadline_in_the_past(seed):
    _, families, cheapest = instance(seed)
    result = branch_and_cut(
        families, empty_network(families), tolerance=TOLERANCE, deadline=time.monotonic() - 1
    )
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

    start = empty_network(families)
    return branch_and_cut(families, start, tolerance=TOLERANCE, tell=tell, **options), calls


@pytest.mark.parametrize("n_calls", [1, 4])
def test_interruption_that_ends_the_search(n_calls):
    families = ring(10)
    result, calls = interrupted(families, n_calls, ends_on_interrupt=True)
    assert len(calls) == n_calls
    assert not result.is_finished
    cost = branch_and_cut(families, result.chosen, tolerance=TOLERANCE).cost
    assert cost_if_network(families, result.chosen) == pytest.approx(result.cost)
    assert result.proof.bound == pytest.approx(calls[-1][1])
    assert certified_bound(families, result.proof) <= cost


@pytest.mark.parametrize("n_calls", [1, 4])
def test_interruption_that_is_raised(n_calls):
    with pytest.raises(KeyboardInterrupt):
        interrupted(ring(10), n_calls)


@pytest.mark.parametrize("n_calls", [1, 16, 25])
@pytest.mark.usefixtures("branches_early")
def test_interruption_within_the_tree(n_calls):
    families = ring(8)
    result, calls = interrupted(families, n_calls, ends_on_interrupt=True)
    full = branch_and_cut(families, empty_network(families), tolerance=TOLERANCE)
    assert full.is_finished
    assert calls[-1][2] > 1 or n_calls < 20
    assert result.proof.bound == pytest.approx(min(calls[-1][1], result.proof.cutoff))
    assert certified_bound(families, result.proof) <= full.cost


def test_progress():
    _, calls = interrupted(ring(12), math.inf)
    costs, bounds, nodes = zip(*calls, strict=True)
    assert list(costs) == sorted(costs, reverse=True)
    assert list(bounds) == sorted(bounds)
    assert list(nodes) == sorted(nodes)
    assert all(bound <= cost for cost, bound, _ in calls)

"""The linear relaxation, against linear programs of scipy and enumerations."""

import subprocess
import sys

import numpy as np
import pytest
import reference
from random_proofs import as_arrays, plain, random_cuts, random_families, solved_program

from skbn._branch_and_cut import relaxation as relaxation_module
from skbn._branch_and_cut.relaxation import Relaxation

SEEDS = pytest.mark.parametrize("seed", range(5))


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

    def optimum(self, cuts, allowed):
        """What the cheapest point costs."""
        result = solved_program(self.listed, list(map(plain, cuts)), allowed)
        assert result.status == 0
        return result.fun

    def solve(self, allowed=None):
        allowed = self.everything if allowed is None else allowed
        return self.relaxation.solve_for_all(allowed, np.inf)

    def some(self):
        """All families without parents, and most of the others."""
        return (self.rng.random(self.everything.size) < 0.7) | (self.families.parents < 0).all(
            axis=1
        )


@SEEDS
def test_bound_is_the_optimum_and_below_all_networks(seed):
    instance = Instance(seed)
    assert instance.solve().bound == pytest.approx(instance.optimum([], instance.everything))
    instance.relaxation.add_cuts(instance.cuts)
    pricing = instance.solve()
    assert pricing.bound == pytest.approx(instance.optimum(instance.cuts, instance.everything))
    assert pricing.bound <= reference.cheapest_network(instance.listed) + 1e-9
    assert (pricing.multipliers > 0).all()
    step = type("Step", (), {"cuts": range(len(pricing.cuts)), "multipliers": pricing.multipliers})
    cuts = [plain(cut) for cut in pricing.cuts]
    bound, reduced = reference.bound_and_reduced_costs(instance.listed, cuts, step)
    assert pricing.bound == pytest.approx(bound)
    excess = [value - min(own) for own in reduced for value in own]
    np.testing.assert_allclose(pricing.excess, excess, atol=1e-9)


@SEEDS
def test_families_are_generated_until_none_is_missing(seed, monkeypatch):
    monkeypatch.setattr(relaxation_module, "_FIRST_FAMILIES", 1)
    monkeypatch.setattr(relaxation_module, "_NEW_FAMILIES", 1)
    instance = Instance(seed)
    instance.relaxation.add_cuts(instance.cuts)
    expected = instance.optimum(instance.cuts, instance.everything)
    assert instance.solve().bound == pytest.approx(expected)
    assert instance.relaxation.n_solved > 1


@SEEDS
def test_allowed_families(seed):
    instance = Instance(seed)
    relaxation, allowed = instance.relaxation, instance.some()
    relaxation.add_cuts(instance.cuts)
    relaxation.allow(allowed)
    pricing = instance.solve(allowed)
    assert pricing.bound == pytest.approx(instance.optimum(instance.cuts, allowed))
    assert np.isinf(pricing.excess[~allowed]).all()
    assert np.isfinite(pricing.excess[allowed]).all()
    relaxation.allow(instance.everything)
    expected = instance.optimum(instance.cuts, instance.everything)
    assert instance.solve().bound == pytest.approx(expected)


@SEEDS
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
    assert pricing.bound == pytest.approx(instance.optimum(instance.cuts, kept))
    point = relaxation.point()
    cost = 0.0
    for x, parents, weight in zip(point.child, point.parents, point.weight, strict=True):
        fits = (families.child == x) & (families.parents == parents).all(axis=1)
        cost += weight * families.cost[fits].item()
    assert cost == pytest.approx(pricing.bound)


@SEEDS
def test_idle_cuts_are_dropped_and_change_nothing(seed):
    instance = Instance(seed, m=6)
    relaxation = instance.relaxation
    relaxation.add_cuts(instance.cuts)
    bound = instance.solve().bound
    used = {id(cut) for cut in instance.solve().cuts}
    assert relaxation.drop_idle_cuts(2) == []
    dropped = relaxation.drop_idle_cuts(2)
    assert len(dropped) + len(relaxation.cuts) == len(instance.cuts)
    assert not used & set(map(id, dropped))
    assert len(dropped) >= 20
    assert instance.solve().bound == pytest.approx(bound)
    expected = instance.optimum(relaxation.cuts, instance.everything)
    assert instance.solve().bound == pytest.approx(expected)
    # Rows and cuts are still in the same order.
    relaxation.add_cuts(dropped)
    assert instance.solve().bound == pytest.approx(bound)


@SEEDS
def test_objective_without_families_leaves_the_program_as_it_was(seed):
    instance = Instance(seed)
    relaxation, allowed = instance.relaxation, instance.some()
    relaxation.add_cuts(instance.cuts)
    relaxation.allow(allowed)
    before = instance.solve(allowed).bound
    without = ~instance.some()
    expected = instance.optimum(instance.cuts, allowed & ~without)
    assert relaxation.objective_without(without, 10_000) == pytest.approx(expected)
    assert instance.solve(allowed).bound == pytest.approx(before)
    relaxation.allow(instance.everything)
    expected = instance.optimum(instance.cuts, instance.everything)
    assert instance.solve().bound == pytest.approx(expected)


def test_highs_prints_nothing():
    """In a process of its own: it prints its banner once."""
    code = "from skbn._branch_and_cut.relaxation import _SilentHighs; _SilentHighs().run()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("", "")

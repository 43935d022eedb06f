"""Bounds, gaps and proofs of listed scores, against the exact sums of all networks."""

import itertools
import re
from fractions import Fraction

import numpy as np
import pytest
from branch_and_cut_alone import (
    own_sets,
    plan_single_columns,
    random_lists,
    without_dynamic_programs,
)
from hypothesis import given
from hypothesis import strategies as st
from problems import problem, resources
from reference import is_acyclic
from sklearn.exceptions import ConvergenceWarning

from skbn import GaussianBNLearner, ParentSetScores
from skbn._core.subsets import members_of
from skbn._solver import planner
from skbn._solver.engines import SearchSettings
from skbn._solver.solve import solve


def solved(scores, tolerance=1e-6, **knowledge):
    settings = SearchSettings(tolerance=tolerance)
    return solve(problem(scores, **knowledge), resources(), settings)[0]


def exact_score(scores, parents):
    return sum(Fraction(scores.local_score(x, members_of(mask))) for x, mask in enumerate(parents))


def highest_score(scores):
    """The exact score of the best network, by trying all."""
    local = [[Fraction(score) for score in own] for _, own in scores._families]
    unit = max(score.denominator for own in local for score in own)  # a power of two, as are all
    sums = map(sum, itertools.product(*([int(unit * score) for score in own] for own in local)))
    networks = itertools.product(*(own_sets(rows) for rows, _ in scores._families))
    best = None
    for of_network, network in zip(sums, networks, strict=True):
        if (best is None or of_network > best) and is_acyclic(network):
            best = of_network
    return Fraction(best, unit)


def assert_right(scores, found, tolerance, best):
    """What is claimed of a network holds in exact arithmetic."""
    own = exact_score(scores, found.parents)
    assert abs(Fraction(found.score) - own) <= Fraction(np.spacing(abs(found.score))) / 2
    assert Fraction(found.score_bound) >= best
    assert Fraction(found.gap) >= best - own
    assert found.is_optimal == (found.gap <= tolerance)


def with_a_choice():
    """Columns that choose among small scores, and two of which only one may have a high one."""
    rng = np.random.default_rng(1)
    families = [([[-1], [1]], [0.0, 9.5e8]), ([[-1], [0]], [0.0, 9.5e8])]
    for x in range(2, 9):
        others = [y for y in range(2, 9) if y != x]
        sets = {tuple(sorted(rng.choice(others, 2, replace=False).tolist())) for _ in range(15)}
        local = [0.0, *(3e-3 * rng.random(len(sets))).tolist()]
        families.append(([[-1, -1], *map(list, sets)], local))
    return ParentSetScores([f"v{i}" for i in range(9)], families)


@pytest.mark.parametrize("tolerance", [1e-9, 1e-4])
def test_small_scores_beside_large_ones(monkeypatch, tolerance):
    """Without the two columns, dynamic programming finds the best to all digits."""
    scores = with_a_choice()
    shifted = [(np.where(rows >= 0, rows - 2, -1), local) for rows, local in scores._families[2:]]
    rest = solved(ParentSetScores(scores.columns[2:], shifted))
    best = exact_score(ParentSetScores(scores.columns[2:], shifted), rest.parents)
    best += Fraction(9.5e8)
    for engine in ("dynamic program", "branch and cut"):
        if engine == "branch and cut":
            without_dynamic_programs(monkeypatch)
        found = solved(scores, tolerance)
        assert_right(scores, found, tolerance, best)
        assert found.gap < max(1e-5, tolerance)


@pytest.mark.parametrize("tolerance", [0.1, 0.5])
def test_gaps_are_within_the_tolerance_to_the_last_bit(monkeypatch, tolerance):
    scores = random_lists(np.random.default_rng(0), 9)
    without_dynamic_programs(monkeypatch)
    for tiers in (None, [[*range(4)], [*range(4, 9)]], [[0, 1, 2], [3, 4, 5], [6, 7, 8]]):
        found = solved(scores, tolerance, tiers=tiers)
        assert found.is_optimal
        assert found.gap <= tolerance


def is_refused(scores):
    try:
        solved(scores)
    except ValueError as error:
        return bool(re.search(r"known only to .* The largest is of column 'x\d'", str(error)))
    return False


CONSTANTS = st.sampled_from([0.0, 1e3, 1e6, 4e8 / 3, 1e9 / 3, 9.5e8, 1e12])


@given(
    st.integers(0, 2**32 - 1),
    st.integers(4, 5),
    st.lists(CONSTANTS, min_size=2, max_size=2),
    st.sampled_from([1e-9, 1e-6, 0.5]),
    st.booleans(),
)
def test_lists_with_constants(seed, m, constants, tolerance, is_branched):
    """Constants that all scores of a column share, and some that only some of its scores have."""
    rng = np.random.default_rng(seed)
    lists = random_lists(rng, m, 4)
    common, some = constants
    families = [
        (rows, [s + common / (x + 1) + some * rng.integers(2) for s in local])
        for x, (rows, local) in enumerate(lists._families)
    ]
    scores = ParentSetScores(lists.columns, families)
    engines = (plan_single_columns,) if is_branched else planner.ENGINES
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planner, "ENGINES", engines)
        # A thousandth of a nat is lost where the largest terms add up to more than 1e9.
        if some >= 1e8 and is_refused(scores):
            return
        found = solved(scores, tolerance)
    assert_right(scores, found, tolerance, highest_score(scores))
    assert found.is_optimal or not is_branched


@pytest.mark.parametrize("scale", [1e16, 1e100, 1e298])
@pytest.mark.parametrize("is_branched", [False, True])
def test_scores_without_digits_are_refused(monkeypatch, scale, is_branched):
    lists = random_lists(np.random.default_rng(0), 6)
    scaled = [(rows, [scale * s for s in local]) for rows, local in lists._families]
    if is_branched:
        without_dynamic_programs(monkeypatch)
    with pytest.raises(ValueError, match=r"olumn 'x\d'.* score of .* forbidden_edges"):
        solved(ParentSetScores(lists.columns, scaled))


@pytest.mark.parametrize("score", [-1e9, -1e100, -1e300])
def test_sets_of_parents_that_no_network_needs(monkeypatch, score):
    lists = random_lists(np.random.default_rng(1), 6)
    expected = solved(lists)
    families = []
    for x, (rows, local) in enumerate(lists._families):
        others = [y for y in range(6) if y != x]
        rows = np.pad(rows, ((0, 0), (0, 1)), constant_values=-1)
        families.append(([*rows.tolist(), others[:4]], [*local, score]))
    without_dynamic_programs(monkeypatch)
    found = solved(ParentSetScores(lists.columns, families))
    assert found.score == pytest.approx(expected.score, abs=1e-6)
    assert found.is_optimal


def test_a_gap_of_rounding_is_reported():
    """Beside 9.5e8, the sums of dynamic programming have too few digits for 1e-9 nats."""
    scores = with_a_choice()
    with pytest.warns(ConvergenceWarning, match="Rounding hides differences .* Raise tol to more"):
        learner = GaussianBNLearner(tol=1e-9).fit(scores)
    assert not learner.is_optimal_
    assert 1e-9 < learner.optimality_gap_ < 1e-5
    assert GaussianBNLearner(tol=1e-4).fit(scores).is_optimal_

"""Plan, search and certify in one call, by whatever engine fits."""

import itertools
import re
from fractions import Fraction

import branch_and_cut_alone
import numpy as np
import pytest
import reference
from agreement import raises
from block_tables import block_sample, mixed_blocks
from branch_and_cut_alone import plan_single_columns, random_lists, without_dynamic_programs
from experiment_tables import experiment
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from problems import problem, resources
from reference import is_acyclic
from sklearn.exceptions import ConvergenceWarning

from skbn import BIC, BGe, GaussianBNLearner, LocalScoreTransformer, ParentSetScores
from skbn._core.subsets import mask_of, members_of
from skbn._scores.local_scores import LocalScores
from skbn._solver import planner
from skbn._solver.engines import GroupSearch, SearchSettings
from skbn._solver.near_optimal import near_optimal
from skbn._solver.planner import plan_searches
from skbn._solver.problem import Found
from skbn._solver.solve import solve
from skbn.datasets import make_gaussian_network


class OrderByOrder(GroupSearch):
    """An engine that tries all orders of the columns and knows local scores only."""

    n_bytes = 0
    kernels = ()

    def __init__(self, columns):
        self.columns = columns

    def __str__(self):
        return "order by order"

    def cost(self):
        return 0

    def work(self):
        return 1

    def optimum(self, problem, resources):
        scores, offset = problem.scores, problem.score_offsets.sum()
        found = []
        for order in itertools.permutations(self.columns):
            parents = [scores.best_parents(x, candidates=order[:i]) for i, x in enumerate(order)]
            total = sum(map(scores.local_score, order, parents)) - offset
            masks = dict(zip(order, map(mask_of, parents), strict=True))
            found.append((total, [masks[x] for x in self.columns]))
        total, masks = max(found)
        resources.progress.advance(1)
        return Found(masks, total, 0.0)


def plan_order_by_order(shape, group, resources, settings):
    return OrderByOrder(group.columns)


def solved(scores, announce=None, **options):
    return solve(problem(scores), resources(announce=announce), **options)


@pytest.mark.parametrize("seed", range(3))
def test_a_third_engine_needs_only_a_place_among_the_engines(monkeypatch, seed):
    rows = make_gaussian_network(4, n_samples=60, random_state=seed)[0]
    scores = LocalScoreTransformer().fit_transform(rows)
    (expected,) = solved(scores)
    monkeypatch.setattr(planner, "ENGINES", (*planner.ENGINES, plan_order_by_order))
    announced = []
    (found,) = solved(scores, announce=announced.append)
    assert announced == ["order by order"]
    assert found.parents == expected.parents
    assert found.score == pytest.approx(expected.score, abs=1e-9)


def test_an_engine_that_fits_is_taken_in_place_of_a_cheaper_one_that_does_not(monkeypatch):
    scores = LocalScoreTransformer().fit_transform(np.random.default_rng(0).normal(size=(50, 8)))
    shape, tight = problem(scores).read(), resources(1000)
    raises(r"needs .* of memory", plan_searches, shape, tight)
    monkeypatch.setattr(planner, "ENGINES", (*planner.ENGINES, plan_order_by_order))
    assert str(plan_searches(shape, tight)) == "order by order"


# Engines and lists of problems with interventions and exogenous columns, against each other


M = 6


def scores_of(targets, max_parents, criterion="bic", seed=0):
    rows, is_set = experiment(M, targets, n=40, seed=seed)
    transformer = LocalScoreTransformer(criterion, max_parents=max_parents)
    return transformer.fit_transform(rows, interventions=is_set)


def solution_of(scores, settings=None, **knowledge):
    return solve(problem(scores, **knowledge), resources(), settings or SearchSettings())[0]


@pytest.mark.parametrize("criterion", ["bic", "bge"])
@pytest.mark.parametrize("n_exogenous", range(1, M))
def test_exogenous_columns_are_a_first_tier_without_a_score(criterion, n_exogenous):
    outside = np.random.default_rng(n_exogenous).permutation(M)[:n_exogenous].tolist()
    scores = scores_of([], None, criterion)
    rest = [x for x in range(M) if x not in outside]
    among = [(a, b) for a in outside for b in outside if a != b]
    tiers = solution_of(scores, tiers=[outside, rest], forbidden_edges=among)
    own = sum(scores.local_score(x) for x in outside)
    found = solution_of(scores, exogenous=outside)
    assert found.score == pytest.approx(tiers.score - own, rel=1e-10)
    assert found.parents == tiers.parents


# Searches for the best network of nodes that have several columns each


def tables(seed, m=4, n=60):
    return mixed_blocks(m, n, np.random.default_rng(seed))


def network_scores(blocks, criterion="bic"):
    m = len(blocks)
    local = {
        family: reference.block_score(blocks, *family, criterion)
        for family in reference.families(m)
    }
    return {
        parents: sum(local[x, ps] for x, ps in enumerate(parents))
        for parents in reference.all_dags(m)
    }


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("max_parents", [None, 1])
@pytest.mark.parametrize("constrained", [False, True])
def test_the_best_network_is_that_of_the_enumeration(seed, max_parents, constrained):
    blocks = tables(seed)
    known = {"required_edges": [("v2", "v3")], "forbidden_edges": [("v0", "v1"), ("v3", "v0")]}
    scores = LocalScores._from_sample(block_sample(blocks), BIC(), max_parents=max_parents)
    found = solution_of(scores, **(known if constrained else {}))
    best = max(
        score
        for parents, score in network_scores(blocks).items()
        if all(len(ps) <= (max_parents or 3) for ps in parents)
        and not (constrained and (2 not in parents[3] or 0 in parents[1] or 3 in parents[0]))
    )
    assert_allclose(found.score, best, rtol=1e-10)
    members = tuple(tuple(members_of(mask)) for mask in found.parents)
    assert_allclose(network_scores(blocks)[members], best, rtol=1e-10)
    assert found.is_optimal
    # The losses are those of leaving single edges out.
    for x, parents in enumerate(members):
        for p in parents:
            rest = [v for v in parents if v != p]
            whole, less = (reference.block_score(blocks, x, each) for each in (parents, rest))
            assert_allclose(found.network._score_losses[p, x], whole - less, atol=1e-7)


def test_a_list_has_the_classes_of_the_enumeration():
    blocks = tables(7)
    classes = {}
    for parents, score in network_scores(blocks, "bge").items():
        classes.setdefault(reference.equivalence_class(parents), []).append(score)
    for members in classes.values():  # score-equivalence
        assert np.ptp(members) < 1e-8
    expected = sorted((members[0] for members in classes.values()), reverse=True)[:12]
    scores = LocalScores._from_sample(block_sample(blocks), BGe())
    found = near_optimal(problem(scores), resources(), n=12, within=None, equivalence_classes=True)
    assert_allclose(found.scores, expected, rtol=1e-10)


# Bounds, gaps and proofs of listed scores, against the exact sums of all networks


def proven(scores, tolerance=1e-6, **knowledge):
    return solution_of(scores, SearchSettings(tolerance=tolerance), **knowledge)


def exact_score(scores, parents):
    return sum(Fraction(scores.local_score(x, members_of(mask))) for x, mask in enumerate(parents))


def highest_score(scores):
    """The exact score of the best network, by trying all."""
    local = [[Fraction(score) for score in own] for _, own in scores._families]
    unit = max(score.denominator for own in local for score in own)  # a power of two, as are all
    sums = map(sum, itertools.product(*([int(unit * score) for score in own] for own in local)))
    networks = itertools.product(
        *(branch_and_cut_alone.own_sets(rows) for rows, _ in scores._families)
    )
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
    rest = proven(ParentSetScores(scores.columns[2:], shifted))
    best = exact_score(ParentSetScores(scores.columns[2:], shifted), rest.parents)
    best += Fraction(9.5e8)
    for engine in ("dynamic program", "branch and cut"):
        if engine == "branch and cut":
            without_dynamic_programs(monkeypatch)
        found = proven(scores, tolerance)
        assert_right(scores, found, tolerance, best)
        assert found.gap < max(1e-5, tolerance)


@pytest.mark.parametrize("tolerance", [0.1, 0.5])
def test_gaps_are_within_the_tolerance_to_the_last_bit(monkeypatch, tolerance):
    scores = random_lists(np.random.default_rng(0), 9)
    without_dynamic_programs(monkeypatch)
    for tiers in (None, [[*range(4)], [*range(4, 9)]], [[0, 1, 2], [3, 4, 5], [6, 7, 8]]):
        found = proven(scores, tolerance, tiers=tiers)
        assert found.is_optimal
        assert found.gap <= tolerance


def is_refused(scores):
    try:
        proven(scores)
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
        found = proven(scores, tolerance)
    assert_right(scores, found, tolerance, highest_score(scores))
    assert found.is_optimal or not is_branched


@pytest.mark.parametrize("scale", [1e16, 1e100, 1e298])
@pytest.mark.parametrize("is_branched", [False, True])
def test_scores_without_digits_are_refused(monkeypatch, scale, is_branched):
    lists = random_lists(np.random.default_rng(0), 6)
    scaled = [(rows, [scale * s for s in local]) for rows, local in lists._families]
    if is_branched:
        without_dynamic_programs(monkeypatch)
    message = r"olumn 'x\d'.* score of .* forbidden_edges"
    raises(message, proven, ParentSetScores(lists.columns, scaled))


@pytest.mark.parametrize("score", [-1e9, -1e100, -1e300])
def test_sets_of_parents_that_no_network_needs(monkeypatch, score):
    lists = random_lists(np.random.default_rng(1), 6)
    expected = proven(lists)
    families = []
    for x, (rows, local) in enumerate(lists._families):
        others = [y for y in range(6) if y != x]
        rows = np.pad(rows, ((0, 0), (0, 1)), constant_values=-1)
        families.append(([*rows.tolist(), others[:4]], [*local, score]))
    without_dynamic_programs(monkeypatch)
    found = proven(ParentSetScores(lists.columns, families))
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

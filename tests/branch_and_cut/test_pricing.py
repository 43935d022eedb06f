"""Pricing of all parent sets, against all of them, and the check of lists, with planted defects."""

import itertools
import math
import time
import warnings
from fractions import Fraction

import numpy as np
import pytest
import reference
from agreement import raises
from branch_and_cut_alone import without_dynamic_programs
from hostile_tables import hostile_table
from random_proofs import plain, random_determinant
from sklearn.exceptions import ConvergenceWarning

from skbn import GaussianBNLearner
from skbn._branch_and_cut import (
    all_parent_sets,
    column_generation,
    determinant_bound,
    pricing,
    pricing_checker,
)
from skbn._branch_and_cut.column_generation import (
    ENDED_BY_BOUND,
    ENDED_BY_MEMORY,
    ColumnGeneration,
    Generated,
)
from skbn._branch_and_cut.determinants import smallest_eigenvalue
from skbn._branch_and_cut.pricing import (
    ChildSearch,
    OutOfTimeError,
    TooManyFamiliesError,
    WeighedCuts,
    discounts_of,
    price_all,
    price_near,
)
from skbn._branch_and_cut.pricing_checker import (
    ROUNDING,
    certified_bound_by_determinant,
    certified_bound_of_others,
)
from skbn._branch_and_cut.pricing_problem import Child, ChildCosts, ExactProducts, diagonal_below
from skbn._branch_and_cut.proof import ClusterCut, DeterminantCut, LocalCut
from skbn._branch_and_cut.proof_checker import ProofError
from skbn._branch_and_cut.rounding_kernels import bounds_of_inverse, most_of_inverse
from skbn._branch_and_cut.walk_kernels import leave_out, new_walk
from skbn._core.resources import ENDED_BY_TIME, ENDED_BY_USER, Threads
from skbn._solver import planner
from skbn.datasets import make_gaussian_network
from skbn.exceptions import DataWarning


def random_rows(rng, m, n):
    rows = make_gaussian_network(m, mean_degree=m / 2, n_samples=n, random_state=rng)[0]
    rows -= rows.mean(axis=0)
    return rows / np.linalg.norm(rows, axis=0)


def children_of(rows, penalty, n_required=0, most=None, widths=None):
    """Children of all columns, or of nodes of some widths; the first others are required."""
    n, starts = len(rows), np.cumsum([0, *(widths or [1] * rows.shape[1])])
    m = len(starts) - 1
    children = []
    for x in range(m):
        others = [p for p in range(m) if p != x]
        of_family = rows[:, [c for p in [*others, x] for c in range(starts[p], starts[p + 1])]]
        products = of_family.T @ of_family
        costs, of_columns = penalty * np.arange(m + 1.0), np.zeros(len(products) + 1)
        if most is not None:
            costs[most + 1 :] = np.inf
        if widths is not None:
            of_columns = costs_of_columns(len(products))
        own = np.cumsum([0, *(starts[p + 1] - starts[p] for p in [*others, x])])
        diagonal = np.empty(0) if widths else diagonal_below(products)[:-1].copy()
        terms = costs, least_from(costs), of_columns, least_from(of_columns)
        of_child = ChildCosts(
            products, own, n / 2, *terms, n_required, diagonal, smallest_eigenvalue(products)
        )
        children.append(Child(of_child, np.array(others), 0.0))
    return children


def least_from(costs):
    return np.minimum.accumulate(costs[::-1])[::-1].copy()


def costs_of_columns(n):
    """What 0, ..., n columns of parents cost: not more with every column."""
    return 0.3 * np.arange(n + 1.0) + np.where(np.arange(n + 1) % 3 == 2, 0.5, 0.0)


def all_costs(child):
    """The costs of all parent sets, by determinants."""
    costs = child.costs if child.exact is None else child.costs._replace(products=child.exact.rows)
    terms = costs.products, costs.starts, costs.weight, costs.costs, costs.costs_of_columns
    return {
        tuple(sorted(child.candidates[list(places)].tolist())): cost - child.offset
        for places, cost in reference.priced_families(*terms, costs.n_required).items()
    }


def random_cut(rng, m, w):
    """A cut whose coefficients never grow with the parents."""
    columns = np.sort(rng.permutation(m)[:w]).astype(np.int16)
    table = rng.random((w, 1 << w)) * 3
    for x, y in itertools.product(range(w), range(w)):
        for s in range(1 << w):
            if s >> y & 1:
                table[x, s] = min(table[x, s], table[x, s ^ 1 << y])
    for x in range(w):
        table[x, [s for s in range(1 << w) if s >> x & 1]] = 0.0
    masks = reference.cheapest_masks(table)
    return LocalCut(columns, table, float(reference.value_of_masks(table, masks)))


def random_priced(seed, m=7, **limits):
    """Children, cuts, multipliers, and all reduced costs and costs of each child."""
    rng = np.random.default_rng(seed)
    if limits.get("widths"):
        limits = {**limits, "widths": limits["widths"][:m]}
    n_columns = sum(limits.get("widths") or [1] * m)
    rows, penalty = random_rows(rng, n_columns, 60), 2.0
    children = children_of(rows, penalty, **limits)
    cuts = [random_cut(rng, m, int(rng.integers(3, 5))) for _ in range(5)]
    cuts.append(ClusterCut(np.sort(rng.permutation(m)[:3]).astype(np.int16)))
    cuts += [random_determinant(rng, limits.get("widths") or [1] * m) for _ in range(2)]
    multipliers = rng.exponential(2.0, len(cuts)) * (rng.random(len(cuts)) < 0.9)
    costs = [all_costs(child) for child in children]
    reduced = [
        {
            parents: cost
            - sum(
                multiplier * reference.coefficient(plain(cut), x, parents)
                for cut, multiplier in zip(cuts, multipliers, strict=True)
            )
            for parents, cost in costs[x].items()
        }
        for x in range(m)
    ]
    return children, cuts, multipliers, costs, reduced


def undominated(costs):
    scores = {frozenset(parents): -cost for parents, cost in costs.items()}
    return {tuple(sorted(parents)) for parents in reference.undominated(scores)}


def cheapest_network(costs):
    scores = {(x, p): -cost for x, families in enumerate(costs) for p, cost in families.items()}
    return -reference.best_score_by_dynamic_program(scores, len(costs))


WIDTHS = (2, 1, 3, 1, 1, 2, 1)
LIMITS = [
    {},
    {"most": 3},
    {"n_required": 2},
    {"n_required": 1, "most": 2},
    {"widths": WIDTHS},
    {"widths": WIDTHS, "n_required": 1, "most": 3},
]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("limits", LIMITS)
def test_all_parent_sets_are_priced(seed, limits):
    children, cuts, multipliers, costs, reduced = random_priced(seed, **limits)
    m = len(children)
    for x, child in enumerate(children):
        discounts = discounts_of(child, x, WeighedCuts.of(cuts, multipliers, m))
        least = min(reduced[x].values())
        for slack in (0.0, 4.0):
            found = price_all(child, discounts, math.inf, slack, lambda: False)
            assert found.least == pytest.approx(least, abs=1e-9)
            for parents, r, c in zip(found.parents, found.reduced, found.cost, strict=True):
                assert (r, c) == pytest.approx((reduced[x][parents], costs[x][parents]), abs=1e-9)
            within = {p for p in undominated(costs[x]) if reduced[x][p] <= least + slack - 1e-9}
            assert within <= set(found.parents)
            all_of_them = price_all(
                child, discounts, math.inf, slack, lambda: False, with_dominated=True
            )
            within = {p for p, r in reduced[x].items() if r <= least + slack - 1e-9}
            assert within <= set(all_of_them.parents)
        below = price_all(child, discounts, least - 1.0, 0.0, lambda: False)
        assert below.least == least - 1.0
        assert below.parents == []


@pytest.mark.parametrize("limits", LIMITS[:5])
def test_no_single_change_lowers_the_end_of_a_descent(limits):
    children, cuts, multipliers, costs, reduced = random_priced(3, **limits)
    m = len(children)
    for x, child in enumerate(children):
        discounts = discounts_of(child, x, WeighedCuts.of(cuts, multipliers, m))
        start = min(costs[x], key=len)
        found = price_near(child, discounts, [start])
        for parents, r, c in zip(found.parents, found.reduced, found.cost, strict=True):
            assert (r, c) == pytest.approx((reduced[x][parents], costs[x][parents]), abs=1e-9)
        best = found.parents[0]
        near = [
            p for p in reduced[x] if len(set(p) ^ set(best)) <= 2 and abs(len(p) - len(best)) < 2
        ]
        assert found.least <= min(reduced[x][p] for p in near) + 1e-8
        if "widths" in limits:
            assert found.least == pytest.approx(min(reduced[x].values()), abs=1e-9)


def without_dominated(found):
    families = dict(zip(map(frozenset, found.parents), found.cost, strict=True))
    return {
        parents
        for parents, cost in families.items()
        if not any(other < parents and families[other] <= cost for other in families)
    }


@pytest.mark.parametrize("seed", range(2))
def test_the_relaxation_rules_out_no_family_within_reach(seed):
    rng, m = np.random.default_rng(seed), 16
    rows = random_rows(rng, m, 100)
    rows[:, 8:] = rng.normal(size=(100, 8))  # noise
    rows /= np.linalg.norm(rows, axis=0)
    cuts = [random_cut(rng, m, 4) for _ in range(4)] + [random_determinant(rng, [1] * m)]
    n_nodes, n_without = 0, 0
    for x, child in enumerate(children_of(rows, 4.0)):
        discounts = discounts_of(child, x, WeighedCuts.of(cuts, np.ones(5), m))
        plain = child._replace(costs=child.costs._replace(diagonal=np.empty(0)))
        found, same = (price_all(c, discounts, 1e3, 3.0, lambda: False) for c in (child, plain))
        assert found.least == pytest.approx(same.least, abs=1e-9)
        assert without_dominated(found) == without_dominated(same)
        n_nodes, n_without = n_nodes + found.n_nodes, n_without + same.n_nodes
    assert n_nodes < n_without


def test_a_search_gives_up(monkeypatch):
    monkeypatch.setattr(pricing, "_NODES", 1)
    children, cuts, multipliers, _, _ = random_priced(0)
    discounts = discounts_of(children[0], 0, WeighedCuts.of(cuts, multipliers, len(children)))
    with pytest.raises(TooManyFamiliesError):
        price_all(children[0], discounts, math.inf, 1e3, lambda: False, most_nodes=3)
    with pytest.raises(OutOfTimeError):
        price_all(children[0], discounts, math.inf, 1e3, lambda: True)


def cut_short(monkeypatch):
    """Let each try of a search end after a few nodes."""
    monkeypatch.setattr(pricing, "_NODES", 1)
    monkeypatch.setattr(pricing, "_NODES_OF_TRY", 1)


@pytest.mark.parametrize("seed", range(len(LIMITS)))
def test_a_search_proves_more_and_more(monkeypatch, seed):
    cut_short(monkeypatch)
    children, cuts, multipliers, _, reduced = random_priced(seed, 5, **LIMITS[seed])
    n_steps = 0
    for x, child in enumerate(children):
        discounts = discounts_of(child, x, WeighedCuts.of(cuts, multipliers, len(children)))
        least = min(reduced[x].values())
        # With goals above the least reduced cost and below it.
        for goal in (least + 3.0, least - 0.5):
            search = ChildSearch(child, discounts, goal)
            proven = [search.least]
            while not search.is_done:
                search.go_on(lambda: False)
                proven.append(search.least)
            assert proven == sorted(proven)
            assert proven[-1] == pytest.approx(min(least, goal), abs=1e-8)
            assert (len(search.found.parents) > 0) == (goal > least)
            n_steps += len(proven)
    assert n_steps > 4 * len(children)


# Rounding


@pytest.mark.parametrize("noise", [1.0, 1e-3, 1e-6])
def test_no_rounding_breaks_the_bounds_of_inverses(noise):
    rng, m = np.random.default_rng(0), 9
    rows = random_rows(rng, m, 60)
    rows[:, 2] = rows[:, 0] - rows[:, 5] + noise * rng.normal(size=60)
    rows /= np.linalg.norm(rows, axis=0)
    child = children_of(rows, 2.0)[4].costs
    products = [[Fraction(entry) for entry in row] for row in child.products]
    walk = new_walk(child, math.inf)
    for level in range(m - 2):
        n = m - level
        left = walk.left[level, :n].tolist()
        for at in range(n):
            row = [Fraction(entry) for entry in walk.inverses[level, at, :n]]
            residual = [
                int(a == at) - sum(v * products[p][q] for v, q in zip(row, left, strict=True))
                for a, p in enumerate(left)
            ]
            error = walk.errors[level, at]
            assert sum(r * r for r in residual) <= Fraction(error) ** 2
            # What it leaves of the column, once the others are before it.
            order = np.array([*left[:at], *left[at + 1 :], left[at]])
            of_order = [[products[p][q] for q in order] for p in order]
            others = reference.determinant([each[:-1] for each in of_order[:-1]])
            exact = others / reference.determinant(of_order)
            most = most_of_inverse.py_func(float(row[at]), error, child.eigenvalue)
            assert exact <= Fraction(most)
            v = np.array([float(row[left.index(p)]) for p in order])
            low, high = bounds_of_inverse.py_func(child.products, order, n, v, child.eigenvalue)
            assert Fraction(low) <= exact <= Fraction(high)
            assert noise < 1e-4 or high - low <= 1e-6 * exact
        leave_out.py_func(child, walk, level, int(rng.integers(n - 1)), n, level + 1)


# The check


def claim_of(seed, **limits):
    """A true claim: children, cuts, multipliers, thresholds and lists."""
    children, cuts, multipliers, costs, reduced = random_priced(seed, m=6, **limits)
    thresholds = np.array([min(each.values()) + 3.0 for each in reduced])
    listed = [
        {p: c for p, c in costs[x].items() if reduced[x][p] < thresholds[x]}
        for x in range(len(children))
    ]
    return children, cuts, multipliers, thresholds, listed, costs, reduced


def check(children, cuts, multipliers, thresholds, listed, **settings):
    with Threads(1) as threads:
        rest = thresholds, listed, ROUNDING, threads
        return certified_bound_of_others(children, cuts, multipliers, *rest, **settings)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("limits", LIMITS)
def test_the_bounds_hold_for_all_networks(seed, limits):
    *claim, costs, reduced = claim_of(seed, **limits)
    _, cuts, multipliers, _, listed = claim
    bound, of_others = check(*claim)
    expected = sum(min(each.values()) for each in reduced)
    expected += sum(by * cut.bound for by, cut in zip(multipliers, cuts, strict=True))
    assert expected - 1e-6 <= bound <= expected
    assert of_others == pytest.approx(expected + 3.0, abs=1e-6)
    cheapest = cheapest_network(costs)
    assert bound <= cheapest
    assert min(of_others, cheapest_network(listed)) <= cheapest + 1e-9


def test_a_missing_family_is_refused():
    children, cuts, multipliers, thresholds, listed, costs, _ = claim_of(1)
    for x, families in enumerate(listed):
        for parents in undominated(costs[x]) & set(families):
            fewer = [dict(each) for each in listed]
            del fewer[x][parents]
            with pytest.raises(ProofError, match=rf"list of child {x} lacks the parents"):
                check(children, cuts, multipliers, thresholds, fewer)


def test_a_missing_dominated_family_is_refused_if_all_are_wanted():
    children, cuts, multipliers, thresholds, listed, costs, _ = claim_of(1)
    check(children, cuts, multipliers, thresholds, listed, with_dominated=True)
    dominated = [(x, p) for x, own in enumerate(listed) for p in set(own) - undominated(costs[x])]
    for x, parents in dominated[:20]:
        fewer = [dict(each) for each in listed]
        del fewer[x][parents]
        check(children, cuts, multipliers, thresholds, fewer)
        with pytest.raises(ProofError, match=rf"list of child {x} lacks the parents"):
            check(children, cuts, multipliers, thresholds, fewer, with_dominated=True)


def test_defects_are_refused():
    children, cuts, multipliers, thresholds, listed, costs, _ = claim_of(2)
    dear = [dict(each) for each in listed]
    best = min(costs[0], key=costs[0].get)
    dear[0][best] += 1e-6
    with pytest.raises(ProofError, match="lacks the parents"):
        check(children, cuts, multipliers, thresholds, dear)
    with pytest.raises(ProofError, match="lacks the parents"):
        check(children, cuts, multipliers, thresholds + 4.0, listed)
    raises("negative", check, children, cuts, -multipliers, thresholds, listed, kind=ProofError)
    raised = [cuts[0]._replace(bound=cuts[0].bound + 1e-6), *cuts[1:]]
    with pytest.raises(ProofError, match="cut 0 has a bound"):
        check(children, raised, multipliers, thresholds, listed)
    table = cuts[0].table.copy()
    y = 1 if len(cuts[0].columns) > 1 else 0
    table[0, 1 << y] = table[0, 0] + 1.0
    grown = [cuts[0]._replace(table=table, bound=0.0), *cuts[1:]]
    with pytest.raises(ProofError, match="cut 0 has coefficients that grow"):
        check(children, grown, multipliers, thresholds, listed)


def test_bounds_of_children_that_did_not_end_are_checked(monkeypatch):
    cut_short(monkeypatch)
    monkeypatch.setattr(pricing_checker, "_NODES", 1)
    children, cuts, multipliers, _, reduced = random_priced(3)
    m = len(children)
    weighed = WeighedCuts.of(cuts, multipliers, m)
    least = np.array([min(each.values()) for each in reduced])
    searches = [
        ChildSearch(child, discounts_of(child, x, weighed), least[x] + 1.0)
        for x, child in enumerate(children)
    ]
    for search in searches[::2]:
        search.go_on(lambda: False)
    proven = np.array([search.least for search in searches])
    assert (proven < least - 1e-3).sum() > 1
    nothing = [{} for _ in children]
    claim = children, cuts, multipliers, proven - 1e-6, nothing
    of_cuts = sum(multipliers * [cut.bound for cut in cuts])
    bound, of_others = check(*claim)
    assert bound == of_others == pytest.approx(proven.sum() + of_cuts, abs=1e-4)
    for x in range(m):
        raised = proven - 1e-6
        raised[x] = least[x] + 1e-3
        with pytest.raises(ProofError, match=f"child {x} lacks"):
            check(children, cuts, multipliers, raised, nothing)
        # After the deadline each child counts by what takes no time.
        late = check(children, cuts, multipliers, raised, nothing, deadline=-math.inf)
        assert late[0] <= bound + 1e-4
    with pytest.raises(ProofError, match="lacks a child"):
        check(children, cuts, multipliers, proven[1:], nothing)
    with pytest.raises(ProofError, match="lacks a child"):
        check(*claim[:4], nothing[1:])


def determinant_claim(seed, share, **limits):
    """A bound by the determinant with cuts, and what the cheapest network costs."""
    rng = np.random.default_rng(seed)
    m = 5
    rows = random_rows(rng, m, 40)
    products = rows.T @ rows
    children = []
    for x, child in enumerate(children_of(rows, 2.0, **limits)):
        at = [*child.candidates.tolist(), x]
        costs = child.costs._replace(products=np.ascontiguousarray(products[np.ix_(at, at)]))
        children.append(child._replace(costs=costs))
    cheapest = cheapest_network([all_costs(child) for child in children])
    first = [tuple(child.candidates[: child.costs.n_required].tolist()) for child in children]
    weighed = [child.with_weight(share, own) for child, own in zip(children, first, strict=True)]
    cuts = [random_cut(rng, m, 3) for _ in range(3)]
    multipliers = rng.exponential(share, len(cuts))
    least = [
        price_all(
            child,
            discounts_of(child, x, WeighedCuts.of(cuts, multipliers, m)),
            math.inf,
            0.0,
            lambda: False,
        ).least
        for x, child in enumerate(weighed)
    ]
    thresholds = np.array(least) - 1e-6
    return [children, products, share, weighed, cuts, multipliers, thresholds], cheapest


def bound_by_determinant(claim):
    with Threads(1) as threads:
        return certified_bound_by_determinant(*claim, ROUNDING, threads)


@pytest.mark.parametrize("limits", [{}, {"most": 2}])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_no_network_costs_less_than_the_bound_by_the_determinant(seed, share, limits):
    claim, cheapest = determinant_claim(seed, share, **limits)
    assert bound_by_determinant(claim) <= cheapest
    # Without penalties and cuts, the network of all edges costs no more than the determinant.
    children, products, *_ = claim
    free = [
        child._replace(costs=child.costs._replace(costs=0 * c, least_costs=0 * c))
        for child in children
        for c in [child.costs.costs]
        if not limits
    ]
    if free:
        weighed = [child.with_weight(0.0, ()) for child in free]
        own = [free, products, 0.0, weighed, [], np.empty(0), np.full(len(free), -1e-6)]
        bound, network = bound_by_determinant(own), cheapest_network([*map(all_costs, free)])
        assert bound == pytest.approx(network, abs=1e-3)
        assert bound <= network


def test_defects_of_a_bound_by_the_determinant_are_refused():
    claim, _ = determinant_claim(0, 0.3)
    children, products, share, weighed, cuts, multipliers, thresholds = claim
    bound_by_determinant(claim)
    raised, other = thresholds.copy(), products.copy()
    raised[2] += 1e-3
    other[0, 1] = other[1, 0] = 0.9 * other[0, 1]
    light = [*weighed[:4], children[4].with_weight(0.2, ())]
    cheap = [*weighed[:4], weighed[4]._replace(costs=children[3].costs)]
    for defect, message in [
        ([children, products, share, weighed, cuts, multipliers, raised], "lacks the parents"),
        ([children, other, share, weighed, cuts, multipliers, thresholds], "other products"),
        ([children, products, 0.2, weighed, cuts, multipliers, thresholds], "another weight"),
        ([children, products, share, light, cuts, multipliers, thresholds], "another weight"),
        ([children, products, share, cheap, cuts, multipliers, thresholds], "another weight"),
        ([children, products, share, weighed, cuts, multipliers, thresholds[1:]], "lacks a child"),
        ([children, products, share, weighed, cuts, -multipliers, thresholds], "negative"),
    ]:
        with pytest.raises(ProofError, match=message):
            bound_by_determinant(defect)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_by_the_determinant_hold_for_the_best_network(monkeypatch, seed):
    settings = {"mean_degree": 4, "n_samples": 50, "random_state": seed}
    rows = make_gaussian_network(7, **settings)[0]
    given = [{}, {"max_parents": 2}, {"exogenous": [1, 4]}, {"required_edges": [(0, 1)]}][seed % 4]
    best = GaussianBNLearner(**given).fit(rows)
    found = []

    def kept(*claim, **settings):
        found.append(certified_bound_by_determinant(*claim, **settings))
        return found[-1]

    monkeypatch.setattr(determinant_bound, "certified_bound_by_determinant", kept)
    monkeypatch.setattr(ColumnGeneration, "_generate", lambda _: None)
    monkeypatch.setattr(planner, "plan_branch_and_cut", lambda *_: None)
    without_dynamic_programs(monkeypatch)
    with pytest.warns(ConvergenceWarning):
        learner = GaussianBNLearner(**given, time_limit=60).fit(rows)
    assert found
    assert learner.network_score_ <= best.network_score_ + 1e-6
    assert learner.score_bound_ >= best.network_score_ - 1e-9


@pytest.mark.parametrize(
    ("most", "expected"),
    [(0.1, [0.5, 0.25, 0.12, 0.06, 0.09, 0.12]), (0.3, [0.5, 0.25, 0.35]), (1.0, [0.5])],
)
def test_shares_of_the_likelihood_go_down_until_pricing_ends_then_up(monkeypatch, most, expected):
    children, products, *_ = determinant_claim(0, 0.3)[0]
    settings = {"tolerance": 1e-6, "deadline": 1e12, "seed": 0, "tell": None}
    tried = []

    def bound_of(_, share, *, is_brief):
        tried.append(share)
        return share if share <= most else -1.0

    monkeypatch.setattr(determinant_bound.DeterminantBound, "_try", bound_of)
    monkeypatch.setattr(determinant_bound.DeterminantBound, "_about", lambda _, share: share / 2)
    given = children, [()] * 5, products, -1.0, [], ROUNDING
    with Threads(1) as threads:
        of_dense = determinant_bound.DeterminantBound(
            *given, **settings, threads=threads, most_bytes=1 << 30, late=math.inf
        )
        of_dense.run()
    *tried, last = tried
    assert tried == expected
    # The last one lies between the best share and the next one.
    best = max(share for share in tried if share <= most)
    assert best < last < min([1.0, *(share for share in tried if share > best)])


class NoTime(ColumnGeneration):
    """Column generation that knows only what the cost of all candidates says."""

    def run(self, **_):
        return Generated(self._best, self._network, self._cost, None, ENDED_BY_TIME)


def random_table(rng, most=12):
    """Rows of 6 to 12 columns, and settings of a learner and its fit."""
    m, n = int(rng.integers(6, most + 1)), int(rng.integers(30, 300))
    degree = rng.uniform(0.8, 1.6)
    rows = make_gaussian_network(m, mean_degree=degree, n_samples=n, random_state=rng)[0]
    limits = [{}, {}, {"max_parents": int(rng.integers(2, 5))}, {"exogenous": [0, 3]}]
    limits.append({"required_edges": [(1, 0), (2, 5)]})
    settings = {"criterion": str(rng.choice(["bic", "ebic", "aic"])), **rng.choice(limits)}
    weights = rng.integers(1, 4, n).astype(float) if rng.random() < 0.2 else None
    return rows, settings, weights


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 150), marks=pytest.mark.slow)])
def test_short_searches_prove_the_best_network(monkeypatch, seeds):
    cut_short(monkeypatch)
    monkeypatch.setattr(planner, "plan_branch_and_cut", lambda *_: None)
    for seed in seeds:
        rows, settings, weights = random_table(np.random.default_rng(seed))
        best = GaussianBNLearner(**settings).fit(rows, sample_weight=weights)
        with monkeypatch.context() as patch:
            without_dynamic_programs(patch)
            found = GaussianBNLearner(**settings, time_limit=60).fit(rows, sample_weight=weights)
        assert found.n_nodes_ is not None
        assert found.network_score_ == pytest.approx(best.network_score_, abs=2e-6)
        assert best.network_score_ <= found.score_bound_ <= best.network_score_ + 4e-6


def best_and_bounded(monkeypatch, time_limit, rows, settings, weights):
    """The best network, and one with a bound, which must hold, by branch and cut."""
    best = GaussianBNLearner(**settings).fit(rows, sample_weight=weights)
    with monkeypatch.context() as patch, warnings.catch_warnings():
        without_dynamic_programs(patch)
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner = GaussianBNLearner(**settings, time_limit=time_limit)
        found = learner.fit(rows, sample_weight=weights)
    assert found.network_score_ <= best.network_score_ + 1e-6
    assert found.score_bound_ >= best.network_score_ - 1e-9
    return best, found


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 103), marks=pytest.mark.slow)])
def test_determinant_cuts_prove_the_best_network(monkeypatch, seeds):
    monkeypatch.setattr(planner, "plan_branch_and_cut", lambda *_: None)
    # They are sought from the first round on.
    monkeypatch.setattr(column_generation, "_ROUNDS_OF_WINDOWS", 0)
    monkeypatch.setattr(column_generation, "_SHARE_OF_WINDOWS", 0.0)
    monkeypatch.setattr(column_generation, "_LEAST_OF_WINDOWS", 0.0)
    kinds, n_proven = [], 0

    def kept(children, cuts, *claim, **settings):
        kinds.extend(map(type, cuts))
        return certified_bound_of_others(children, cuts, *claim, **settings)

    monkeypatch.setattr(all_parent_sets, "certified_bound_of_others", kept)
    for seed in seeds:
        rows, settings, weights = random_table(np.random.default_rng(1000 + seed), most=16)
        if seed % 4 == 1 and "required_edges" not in settings:
            settings["nodes"] = {"several": [3, 5]}
        best, found = best_and_bounded(monkeypatch, 3.0, rows, settings, weights)
        if found.is_optimal_:
            assert found.network_score_ == pytest.approx(best.network_score_, abs=2e-6)
            n_proven += 1
    assert DeterminantCut in kinds
    assert n_proven > 0.8 * len(seeds)


@pytest.mark.slow
def test_no_share_of_the_likelihood_bounds_the_best_network_wrongly(monkeypatch):
    monkeypatch.setattr(planner, "plan_branch_and_cut", lambda *_: None)
    monkeypatch.setattr(all_parent_sets, "ColumnGeneration", NoTime)
    monkeypatch.setattr(determinant_bound, "_SHARES", (0.01, 0.1, 0.4))
    shares = []

    def kept(children, products, share, *claim):
        shares.append(share)
        return certified_bound_by_determinant(children, products, share, *claim)

    monkeypatch.setattr(determinant_bound, "certified_bound_by_determinant", kept)
    for seed in range(150, 300):
        rows, settings, weights = random_table(np.random.default_rng(seed))
        best_and_bounded(monkeypatch, 0.15, rows, settings, weights)
    assert len({*shares}) > 3


def nearly_collinear_claim():
    """A true claim about columns that float64 hardly tells apart, without cuts."""
    rng = np.random.default_rng(0)
    factor = np.linalg.qr(rng.normal(size=(30, 4)))[1]
    factor[:, 3] = factor[:, 0] + 1e-6 * factor[:, 3]
    exact, children, listed = ExactProducts.of_factor(factor), [], []
    for x, child in enumerate(children_of(factor / np.linalg.norm(factor, axis=0), 2.0)):
        own = child._replace(exact=exact.of_columns([*child.candidates, x]))
        sets = [p for k in range(4) for p in itertools.combinations(child.candidates.tolist(), k)]
        children.append(own)
        listed.append({parents: own.exact_cost_of(parents) for parents in sets})
    thresholds = np.array([min(each.values()) + 3.0 for each in listed])
    return children, [], np.empty(0), thresholds, listed


def test_exact_products_have_all_digits():
    factor = np.random.default_rng(1).integers(-9, 10, (5, 4)).astype(float)
    factor[:, 3] = factor[:, 0] * 2.0**20 + factor[:, 3]
    exact = ExactProducts.of_factor(factor)
    products = [
        [sum(int(a) * int(b) for a, b in zip(u, v, strict=True)) for u in factor.T]
        for v in factor.T
    ]

    def minor(rows):
        if not rows:
            return 1
        signs = itertools.cycle([1, -1])
        return sum(
            next(signs) * rows[0][i] * minor([[*row[:i], *row[i + 1 :]] for row in rows[1:]])
            for i in range(len(rows))
        )

    def determinant(columns):
        return minor([[products[a][b] for b in columns] for a in columns])

    for parents, own in [([], [3]), ([0], [3]), ([0, 1], [3]), ([1], [0, 3]), ([0, 1, 2], [3])]:
        scale = math.prod(products[a][a] for a in own)
        expected = Fraction(determinant([*parents, *own]), determinant(parents) * scale)
        assert exact.log_determinant(parents, own) == pytest.approx(math.log(expected), rel=1e-14)


def test_defects_are_refused_where_columns_are_nearly_collinear():
    children, *claim, listed = nearly_collinear_claim()
    _, of_others = check(children, *claim, listed)
    assert of_others == pytest.approx(sum(min(each.values()) for each in listed) + 3.0, abs=1e-6)
    for x, families in enumerate(listed):
        for parents in families:
            dear = [dict(each) for each in listed]
            dear[x][parents] += 1e-7
            with pytest.raises(ProofError, match="costs less than"):
                check(children, *claim, dear)
    fewer = [dict(each) for each in listed]
    del fewer[3][(0,)]
    with pytest.raises(ProofError, match="list of child 3 lacks the parents"):
        check(children, *claim, fewer)
    others = [children[0]._replace(exact=children[1].exact), *children[1:]]
    with pytest.raises(ProofError, match="other columns"):
        check(others, *claim, listed)


def test_digits_are_not_compared_where_no_family_needs_them(monkeypatch):
    children, *claim, listed = nearly_collinear_claim()
    claim[-1] = np.array([min(each.values()) - 1.0 for each in listed])
    bound, _ = check(children, *claim, [{} for _ in listed])
    monkeypatch.delattr(ExactProducts, "rows")
    assert check(children, *claim, [{} for _ in listed])[0] == bound
    assert bound == pytest.approx(claim[-1].sum(), abs=1e-3)


def test_a_diagonal_that_is_not_below_the_products_is_refused():
    children, *claim = claim_of(2)[:5]
    for change in (lambda d: d * 1e3, lambda d: -d, lambda d: d[1:]):
        changed = [
            c._replace(costs=c.costs._replace(diagonal=change(c.costs.diagonal))) for c in children
        ]
        raises("the diagonal is not below", check, changed, *claim, kind=ProofError)


def test_singular_products_are_refused():
    rng = np.random.default_rng(0)
    children = [
        child._replace(costs=child.costs._replace(products=np.ones((4, 4))))
        for child in children_of(random_rows(rng, 4, 30), 2.0)
    ]
    with pytest.raises(ProofError, match="too nearly singular"):
        check(children, [], np.empty(0), np.full(4, -1e3), [{}] * 4)


# The check, replayed


def replayed(children, cuts, multipliers, thresholds, listed, rounding, with_dominated):
    """What a slow replay of a claim says."""
    families = [all_costs(child) for child in children]
    rest = thresholds.tolist(), listed, with_dominated, 2 * rounding + 1e-9
    return reference.replay_lists(families, [*map(plain, cuts)], multipliers.tolist(), *rest)


@pytest.fixture
def claims(monkeypatch):
    """Requires of each claim that a slow replay says the same; counts them."""
    found = []

    def both(children, cuts, multipliers, thresholds, listed, rounding, threads, **settings):
        claim = children, cuts, multipliers, thresholds, listed, rounding
        bounds = certified_bound_of_others(*claim, threads, **settings)
        *expected, lacking = replayed(*claim, settings["with_dominated"])
        assert not lacking
        # Coefficients of determinants are rounded up.
        lost = 1e-5 if any(isinstance(cut, DeterminantCut) for cut in cuts) else 1e-6
        for bound, value in zip(bounds, expected, strict=True):
            assert value - lost - 4 * len(children) * rounding <= bound <= value
        found.append(len(cuts))
        return bounds

    monkeypatch.setattr(all_parent_sets, "certified_bound_of_others", both)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_a_slow_replay_of_a_proof_says_the_same(monkeypatch, claims, seed):
    rng = np.random.default_rng(seed)
    rows, settings = hostile_table(rng, most=6)
    if seed % 3 == 1:
        settings |= {"nodes": {"pair": [0, 1]}}
    without_dynamic_programs(monkeypatch)
    monkeypatch.setattr(planner, "plan_branch_and_cut", lambda *_: None)
    warnings.simplefilter("ignore", DataWarning)
    try:
        GaussianBNLearner(**settings, time_limit=60).fit(rows)
    except ValueError as error:
        pytest.skip(str(error))
    assert claims


# Column generation


@pytest.mark.parametrize("seed", range(4))
def test_the_lists_have_all_families_of_better_networks(seed):
    rng = np.random.default_rng(seed)
    m, penalty = 7, 2.0
    rows = random_rows(rng, m, 80)
    network = [() for _ in range(m)]
    children = [child._replace(offset=child.cost_of(())) for child in children_of(rows, penalty)]
    relative = [all_costs(child) for child in children]
    with Threads(1) as threads:
        found = ColumnGeneration(children, network, 1e-6, math.inf, 0, threads).run()
    cheapest = cheapest_network(relative)
    assert found.bound.bound <= cheapest + 1e-6
    assert found.cost >= cheapest - 1e-9
    start = found.lists.families.start
    listed = [
        dict(
            zip(
                found.lists.parents[start[x] : start[x + 1]],
                found.lists.families.cost[start[x] : start[x + 1]],
                strict=True,
            )
        )
        for x in range(m)
    ]
    assert cheapest_network(listed) == pytest.approx(cheapest, abs=1e-8)


def test_families_and_cuts_take_no_more_memory_than_they_may():
    rows = random_rows(np.random.default_rng(1), 9, 80)
    children = [child._replace(offset=child.cost_of(())) for child in children_of(rows, 2.0)]
    with Threads(1) as threads:
        settings = [()] * 9, 1e-6, math.inf, 0, threads, None
        free = ColumnGeneration(children, *settings).run()
        full = ColumnGeneration(children, *settings, 1 << 16).run()
    assert (free.why_ended, full.why_ended) == ("", ENDED_BY_MEMORY)
    assert full.lists is None
    assert -math.inf < full.bound.bound <= free.bound.bound


def test_a_search_says_why_it_ended_without_lists(monkeypatch):
    rows = random_rows(np.random.default_rng(1), 7, 80)
    children = [child._replace(offset=child.cost_of(())) for child in children_of(rows, 2.0)]

    def why_ended(deadline=math.inf):
        with Threads(1) as threads:
            search = ColumnGeneration(children, [()] * 7, 1e-6, deadline, 0, threads)
            return search.run(ends_on_interrupt=True).why_ended

    assert why_ended(0.0) == ENDED_BY_TIME
    monkeypatch.setattr(ColumnGeneration, "families_within", lambda _: None)
    monkeypatch.setattr(ColumnGeneration, "_violated", lambda _: [])
    assert why_ended() == ENDED_BY_BOUND

    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ColumnGeneration, "_violated", interrupt)
    assert why_ended() == ENDED_BY_USER


@pytest.mark.parametrize("is_late", [False, True])
def test_lists_that_were_not_checked_in_time_prove_nothing(monkeypatch, is_late):
    rows = random_rows(np.random.default_rng(1), 6, 80)
    children = [child._replace(offset=child.cost_of(())) for child in children_of(rows, 2.0)]
    if is_late:
        monkeypatch.setattr(all_parent_sets, "checked", lambda *_: (-5000.0, -4000.0))
    rest = {"rounding": 1e-12, "tolerance": 1e-6, "deadline": math.inf}
    found = all_parent_sets.best_of_all_parent_sets(children, [()] * 6, **rest)
    assert found.is_finished is not is_late
    assert found.bound == -4000.0 if is_late else found.bound >= found.cost - 1e-6


def test_a_proof_begins_with_the_network_where_first_searches_find_nothing(monkeypatch):
    monkeypatch.setattr(pricing, "_NODES_NEAR", 1)
    monkeypatch.setattr(column_generation, "_SHARE_OF_FIRST", 0.0)
    rows = random_rows(np.random.default_rng(0), 7, 60)
    network = [(), (0,), (0, 1), (0, 1, 2)]
    children = [
        child._replace(offset=child.cost_of(parents))
        for child, parents in zip(children_of(rows, 0.1, widths=(2, 1, 3, 1)), network, strict=True)
    ]
    with Threads(1) as threads:
        deadline = time.monotonic() + 60
        found = ColumnGeneration(children, network, 1e-6, deadline, 0, threads).run()
    cheapest = cheapest_network([all_costs(child) for child in children])
    assert found.bound.bound <= cheapest + 1e-6
    assert found.cost >= cheapest - 1e-6


def test_without_time_the_bound_is_that_of_all_candidates(monkeypatch):
    monkeypatch.setattr(pricing, "_NODES", 1)
    rows = random_rows(np.random.default_rng(0), 5, 50)
    children = children_of(rows, 2.0)
    with Threads(1) as threads:
        found = ColumnGeneration(children, [()] * 5, 1e-6, -math.inf, 0, threads).run()
    assert found.lists is None
    free = children_of(rows, 0.0)
    of_all = [all_costs(child)[tuple(child.candidates.tolist())] for child in free]
    assert found.bound.bound == pytest.approx(sum(of_all), abs=1e-3)
    assert found.bound.bound <= sum(of_all)

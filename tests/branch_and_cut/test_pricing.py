"""Pricing of all parent sets, against all of them, and the check of lists, with planted defects."""

import itertools
import math
import time
import warnings
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
import reference
from agreement import raises
from branch_and_cut_alone import without_dynamic_programs
from hostile_tables import hostile_table
from random_proofs import plain, random_determinant
from sklearn.exceptions import ConvergenceWarning

from skbn import GaussianBNLearner
from skbn._branch_and_cut import all_parent_sets, column_generation, determinant_bound, pricing
from skbn._branch_and_cut import pricing_checker as checker
from skbn._branch_and_cut.column_generation import ColumnGeneration, Generated
from skbn._branch_and_cut.determinants import smallest_eigenvalue
from skbn._branch_and_cut.pricing import ChildSearch, WeighedCuts, discounts_of, price_all
from skbn._branch_and_cut.pricing_problem import Child, ChildCosts, ExactProducts, diagonal_below
from skbn._branch_and_cut.proof import ClusterCut, Cut, DeterminantCut, LocalCut
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
    costs, of_reference = [*map(all_costs, children)], [*map(plain, cuts)]
    reduced = [
        reference.reduced_costs(own, x, of_reference, multipliers) for x, own in enumerate(costs)
    ]
    return children, cuts, multipliers, costs, reduced


def all_discounts(children, cuts, multipliers):
    """Each child, and what cuts take from its costs."""
    weighed = WeighedCuts.of(cuts, multipliers, len(children))
    return [(child, discounts_of(child, x, weighed)) for x, child in enumerate(children)]


def never():
    return False


def assert_priced(found, reduced, costs):
    for parents, r, c in zip(found.parents, found.reduced, found.cost, strict=True):
        assert (r, c) == pytest.approx((reduced[parents], costs[parents]), abs=1e-9)


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
    *priced, all_of_costs, all_of_reduced = random_priced(seed, **limits)
    of_children = zip(all_discounts(*priced), all_of_costs, all_of_reduced, strict=True)
    for (child, discounts), costs, reduced in of_children:
        least = min(reduced.values())
        for slack in (0.0, 4.0):
            search = child, discounts, math.inf, slack, never
            found = price_all(*search)
            assert found.least == pytest.approx(least, abs=1e-9)
            assert_priced(found, reduced, costs)
            within = {p for p, r in reduced.items() if r <= least + slack - 1e-9}
            assert within & undominated(costs) <= set(found.parents)
            assert within <= set(price_all(*search, with_dominated=True).parents)
        below = price_all(child, discounts, least - 1.0, 0.0, never)
        assert (below.least, below.parents) == (least - 1.0, [])


@pytest.mark.parametrize("limits", LIMITS[:5])
def test_no_single_change_lowers_the_end_of_a_descent(limits):
    *priced, all_of_costs, all_of_reduced = random_priced(3, **limits)
    of_children = zip(all_discounts(*priced), all_of_costs, all_of_reduced, strict=True)
    for (child, discounts), costs, reduced in of_children:
        found = pricing.price_near(child, discounts, [min(costs, key=len)])
        assert_priced(found, reduced, costs)
        best = found.parents[0]
        near = [p for p in reduced if len(set(p) ^ set(best)) <= 2 and abs(len(p) - len(best)) < 2]
        assert found.least <= min(reduced[p] for p in near) + 1e-8
        if "widths" in limits:
            assert found.least == pytest.approx(min(reduced.values()), abs=1e-9)


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
    for child, discounts in all_discounts(children_of(rows, 4.0), cuts, np.ones(5)):
        plain = child._replace(costs=child.costs._replace(diagonal=np.empty(0)))
        found, same = (price_all(c, discounts, 1e3, 3.0, never) for c in (child, plain))
        assert found.least == pytest.approx(same.least, abs=1e-9)
        assert without_dominated(found) == without_dominated(same)
        n_nodes, n_without = n_nodes + found.n_nodes, n_without + same.n_nodes
    assert n_nodes < n_without


def test_a_search_gives_up(monkeypatch):
    monkeypatch.setattr(pricing, "_NODES", 1)
    search = *all_discounts(*random_priced(0)[:3])[0], math.inf, 1e3
    with pytest.raises(pricing.TooManyFamiliesError):
        price_all(*search, never, most_nodes=3)
    with pytest.raises(pricing.OutOfTimeError):
        price_all(*search, lambda: True)


def cut_short(monkeypatch):
    """Let each try of a search end after a few nodes."""
    monkeypatch.setattr(pricing, "_NODES", 1)
    monkeypatch.setattr(pricing, "_NODES_OF_TRY", 1)


@pytest.mark.parametrize("seed", range(len(LIMITS)))
def test_a_search_proves_more_and_more(monkeypatch, seed):
    cut_short(monkeypatch)
    *priced, _, reduced = random_priced(seed, 5, **LIMITS[seed])
    n_steps = 0
    for (child, discounts), own in zip(all_discounts(*priced), reduced, strict=True):
        least = min(own.values())
        # With goals above the least reduced cost and below it.
        for goal in (least + 3.0, least - 0.5):
            search = ChildSearch(child, discounts, goal)
            proven = [search.least]
            while not search.is_done:
                search.go_on(never)
                proven.append(search.least)
            assert proven == sorted(proven)
            assert proven[-1] == pytest.approx(min(least, goal), abs=1e-8)
            assert (len(search.found.parents) > 0) == (goal > least)
            n_steps += len(proven)
    assert n_steps > 4 * len(reduced)


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


class Claim(NamedTuple):
    """What a check of lists is given."""

    children: list[Child]
    cuts: list[Cut]
    multipliers: np.ndarray
    thresholds: np.ndarray
    listed: list[dict]

    def without(self, x, parents):
        """The claim without a listed family."""
        fewer = [dict(each) for each in self.listed]
        del fewer[x][parents]
        return self._replace(listed=fewer)

    def dearer(self, x, parents, by):
        """The claim with a listed family that costs more."""
        dear = [dict(each) for each in self.listed]
        dear[x][parents] += by
        return self._replace(listed=dear)

    def with_cut(self, **changes):
        """The claim with a change of its first cut."""
        return self._replace(cuts=[self.cuts[0]._replace(**changes), *self.cuts[1:]])


def claim_of(seed, **limits):
    """A true claim, and all costs and reduced costs."""
    *priced, costs, reduced = random_priced(seed, m=6, **limits)
    thresholds = np.array([min(each.values()) + 3.0 for each in reduced])
    listed = [
        {p: c for p, c in own.items() if of_child[p] < threshold}
        for own, of_child, threshold in zip(costs, reduced, thresholds, strict=True)
    ]
    return Claim(*priced, thresholds, listed), costs, reduced


def check(claim, **settings):
    with Threads(1) as threads:
        return checker.certified_bound_of_others(*claim, checker.ROUNDING, threads, **settings)


def refuses(message, claim, **settings):
    raises(message, check, claim, kind=ProofError, **settings)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("limits", LIMITS)
def test_the_bounds_hold_for_all_networks(seed, limits):
    claim, costs, reduced = claim_of(seed, **limits)
    bound, of_others = check(claim)
    expected = sum(min(each.values()) for each in reduced)
    expected += sum(by * cut.bound for by, cut in zip(claim.multipliers, claim.cuts, strict=True))
    assert expected - 1e-6 <= bound <= expected
    assert of_others == pytest.approx(expected + 3.0, abs=1e-6)
    cheapest = cheapest_network(costs)
    assert bound <= cheapest
    assert min(of_others, cheapest_network(claim.listed)) <= cheapest + 1e-9


def test_a_missing_family_is_refused():
    claim, costs, _ = claim_of(1)
    check(claim, with_dominated=True)
    for x, families in enumerate(claim.listed):
        needed = undominated(costs[x]) & set(families)
        for parents in needed:
            refuses(f"list of child {x} lacks the parents", claim.without(x, parents))
        for parents in sorted(set(families) - needed)[:4]:
            check(claim.without(x, parents))
            lacking = f"list of child {x} lacks the parents"
            refuses(lacking, claim.without(x, parents), with_dominated=True)


def test_defects_are_refused():
    claim, costs, _ = claim_of(2)
    first = claim.cuts[0]
    best = min(costs[0], key=costs[0].get)
    table = first.table.copy()
    y = 1 if len(first.columns) > 1 else 0
    table[0, 1 << y] = table[0, 0] + 1.0
    refuses("lacks the parents", claim.dearer(0, best, 1e-6))
    refuses("lacks the parents", claim._replace(thresholds=claim.thresholds + 4.0))
    refuses("negative", claim._replace(multipliers=-claim.multipliers))
    refuses("cut 0 has a bound", claim.with_cut(bound=first.bound + 1e-6))
    refuses("cut 0 has coefficients that grow", claim.with_cut(table=table, bound=0.0))
    for change in (lambda d: d * 1e3, lambda d: -d, lambda d: d[1:]):
        changed = [
            child._replace(costs=child.costs._replace(diagonal=change(child.costs.diagonal)))
            for child in claim.children
        ]
        refuses("the diagonal is not below", claim._replace(children=changed))


def test_bounds_of_children_that_did_not_end_are_checked(monkeypatch):
    cut_short(monkeypatch)
    monkeypatch.setattr(checker, "_NODES", 1)
    children, cuts, multipliers, _, reduced = random_priced(3)
    least = np.array([min(each.values()) for each in reduced])
    searches = [
        ChildSearch(*own, goal)
        for own, goal in zip(all_discounts(children, cuts, multipliers), least + 1.0, strict=True)
    ]
    for search in searches[::2]:
        search.go_on(never)
    proven = np.array([search.least for search in searches])
    assert (proven < least - 1e-3).sum() > 1
    claim = Claim(children, cuts, multipliers, proven - 1e-6, [{} for _ in children])
    of_cuts = sum(multipliers * [cut.bound for cut in cuts])
    bound, of_others = check(claim)
    assert bound == of_others == pytest.approx(proven.sum() + of_cuts, abs=1e-4)
    for x in range(len(children)):
        raised = claim._replace(thresholds=proven - 1e-6)
        raised.thresholds[x] = least[x] + 1e-3
        refuses(f"child {x} lacks", raised)
        # After the deadline each child counts by what takes no time.
        assert check(raised, deadline=-math.inf)[0] <= bound + 1e-4
    refuses("lacks a child", claim._replace(thresholds=proven[1:]))
    refuses("lacks a child", claim._replace(listed=claim.listed[1:]))


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
        price_all(*own, math.inf, 0.0, never).least
        for own in all_discounts(weighed, cuts, multipliers)
    ]
    thresholds = np.array(least) - 1e-6
    return [children, products, share, weighed, cuts, multipliers, thresholds], cheapest


def bound_by_determinant(*claim):
    with Threads(1) as threads:
        return checker.certified_bound_by_determinant(*claim, checker.ROUNDING, threads)


@pytest.mark.parametrize("limits", [{}, {"most": 2}])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_no_network_costs_less_than_the_bound_by_the_determinant(seed, share, limits):
    claim, cheapest = determinant_claim(seed, share, **limits)
    assert bound_by_determinant(*claim) <= cheapest
    if limits:
        return
    # Without penalties and cuts, the network of all edges costs no more than the determinant.
    children, products, *_ = claim
    free = [
        child._replace(costs=child.costs._replace(costs=np.zeros(6), least_costs=np.zeros(6)))
        for child in children
    ]
    weighed = [child.with_weight(0.0, ()) for child in free]
    bound = bound_by_determinant(free, products, 0.0, weighed, [], np.empty(0), np.full(5, -1e-6))
    network = cheapest_network([*map(all_costs, free)])
    assert network - 1e-3 <= bound <= network


def test_defects_of_a_bound_by_the_determinant_are_refused():
    claim, _ = determinant_claim(0, 0.3)
    children, products, _, weighed, _, multipliers, thresholds = claim
    bound_by_determinant(*claim)
    raised, other = thresholds.copy(), products.copy()
    raised[2] += 1e-3
    other[0, 1] = other[1, 0] = 0.9 * other[0, 1]
    light = [*weighed[:4], children[4].with_weight(0.2, ())]
    cheap = [*weighed[:4], weighed[4]._replace(costs=children[3].costs)]
    for place, defect, message in [
        (6, raised, "lacks the parents"),
        (1, other, "other products"),
        (2, 0.2, "another weight"),
        (3, light, "another weight"),
        (3, cheap, "another weight"),
        (6, thresholds[1:], "lacks a child"),
        (5, -multipliers, "negative"),
    ]:
        changed = [*claim[:place], defect, *claim[place + 1 :]]
        raises(message, bound_by_determinant, *changed, kind=ProofError)


@pytest.mark.parametrize(
    ("most", "expected"),
    [(0.1, [0.5, 0.25, 0.12, 0.06, 0.09, 0.12]), (0.3, [0.5, 0.25, 0.35]), (1.0, [0.5])],
)
def test_shares_of_the_likelihood_go_down_until_pricing_ends_then_up(monkeypatch, most, expected):
    children, products, *_ = determinant_claim(0, 0.3)[0]
    settings = {"tolerance": 1e-6, "deadline": 1e12, "seed": 0, "tell": None}
    settings |= {"most_bytes": 1 << 30, "late": math.inf}
    kind, tried = determinant_bound.DeterminantBound, []

    def bound_of(_, share, *, is_brief):
        tried.append(share)
        return share if share <= most else -1.0

    monkeypatch.setattr(kind, "_try", bound_of)
    monkeypatch.setattr(kind, "_about", lambda _, share: share / 2)
    given = children, [()] * 5, products, -1.0, [], checker.ROUNDING
    with Threads(1) as threads:
        kind(*given, **settings, threads=threads).run()
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


def fitted(settings, rows, weights, **more):
    return GaussianBNLearner(**settings, **more).fit(rows, sample_weight=weights)


@pytest.fixture
def alone(monkeypatch):
    """Only searches over all parent sets; what they claim to be checked is kept."""
    monkeypatch.setattr(planner, "plan_branch_and_cut", lambda *_: None)
    claims = []
    for module in (all_parent_sets, determinant_bound):
        keep(monkeypatch, module, claims)
    return claims


def keep(monkeypatch, module, claims):
    [name] = [name for name in vars(module) if name.startswith("certified_bound")]
    certified = getattr(checker, name)

    def kept(*claim, **settings):
        claims.append(claim)
        return certified(*claim, **settings)

    monkeypatch.setattr(module, name, kept)


def best_and_bounded(monkeypatch, time_limit, rows, settings, weights=None):
    """The best network, and one with a bound, which must hold, by branch and cut."""
    best = fitted(settings, rows, weights)
    with monkeypatch.context() as patch, warnings.catch_warnings():
        without_dynamic_programs(patch)
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = fitted(settings, rows, weights, time_limit=time_limit)
    assert found.n_nodes_ is not None
    assert found.network_score_ <= best.network_score_ + 1e-6
    assert found.score_bound_ >= best.network_score_ - 1e-9
    if found.is_optimal_:
        assert found.network_score_ == pytest.approx(best.network_score_, abs=2e-6)
    return best, found


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 80), marks=pytest.mark.slow)])
@pytest.mark.usefixtures("alone")
def test_short_searches_prove_the_best_network(monkeypatch, seeds):
    cut_short(monkeypatch)
    for seed in seeds:
        table = random_table(np.random.default_rng(seed))
        best, found = best_and_bounded(monkeypatch, 60, *table)
        assert found.is_optimal_
        assert best.network_score_ <= found.score_bound_ <= best.network_score_ + 4e-6


@pytest.mark.parametrize(
    ("seeds", "time_limit"),
    [(range(3), 30), pytest.param(range(3, 60), 3, marks=pytest.mark.slow)],
)
def test_determinant_cuts_prove_the_best_network(monkeypatch, alone, seeds, time_limit):
    # They are sought from the first round on.
    monkeypatch.setattr(column_generation, "_ROUNDS_OF_WINDOWS", 0)
    monkeypatch.setattr(column_generation, "_SHARE_OF_WINDOWS", 0.0)
    monkeypatch.setattr(column_generation, "_LEAST_OF_WINDOWS", 0.0)
    n_proven = 0
    for seed in seeds:
        rows, settings, weights = random_table(np.random.default_rng(1000 + seed), most=16)
        if seed % 4 == 1 and "required_edges" not in settings:
            settings["nodes"] = {"several": [3, 5]}
        found = best_and_bounded(monkeypatch, time_limit, rows, settings, weights)[1]
        n_proven += found.is_optimal_
    assert any(isinstance(cut, DeterminantCut) for claim in alone for cut in claim[1])
    assert n_proven > 0.8 * len(seeds)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_by_the_determinant_hold_for_the_best_network(monkeypatch, alone, seed):
    monkeypatch.setattr(ColumnGeneration, "_generate", lambda _: None)
    settings = {"mean_degree": 4, "n_samples": 50, "random_state": seed}
    rows = make_gaussian_network(7, **settings)[0]
    given = [{}, {"max_parents": 2}, {"exogenous": [1, 4]}, {"required_edges": [(0, 1)]}][seed % 4]
    best_and_bounded(monkeypatch, 60, rows, given)
    assert any(isinstance(claim[2], float) for claim in alone)  # a share


@pytest.mark.slow
def test_no_share_of_the_likelihood_bounds_the_best_network_wrongly(monkeypatch, alone):
    monkeypatch.setattr(all_parent_sets, "ColumnGeneration", NoTime)
    monkeypatch.setattr(determinant_bound, "_SHARES", (0.01, 0.1, 0.4))
    for seed in range(150, 230):
        best_and_bounded(monkeypatch, 0.15, *random_table(np.random.default_rng(seed)))
    assert len({claim[2] for claim in alone if isinstance(claim[2], float)}) > 3


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
    return Claim(children, [], np.empty(0), thresholds, listed)


def test_exact_products_have_all_digits():
    factor = np.random.default_rng(1).integers(-9, 10, (5, 4)).astype(float)
    factor[:, 3] = factor[:, 0] * 2.0**20 + factor[:, 3]
    exact = ExactProducts.of_factor(factor)
    whole = [[Fraction(entry) for entry in row] for row in factor]
    products = np.array(whole).T @ np.array(whole)

    def determinant(columns):
        return reference.determinant(products[np.ix_(columns, columns)])

    for parents, own in [([], [3]), ([0], [3]), ([0, 1], [3]), ([1], [0, 3]), ([0, 1, 2], [3])]:
        scale = math.prod(products[a][a] for a in own)
        expected = determinant([*parents, *own]) / determinant(parents) / scale
        assert exact.log_determinant(parents, own) == pytest.approx(math.log(expected), rel=1e-14)


def test_defects_are_refused_where_columns_are_nearly_collinear():
    claim = nearly_collinear_claim()
    least = sum(min(each.values()) for each in claim.listed)
    assert check(claim)[1] == pytest.approx(least + 3.0, abs=1e-6)
    for x, families in enumerate(claim.listed):
        for parents in families:
            refuses("costs less than", claim.dearer(x, parents, 1e-7))
    refuses("list of child 3 lacks the parents", claim.without(3, (0,)))
    children = claim.children
    others = [children[0]._replace(exact=children[1].exact), *children[1:]]
    refuses("other columns", claim._replace(children=others))


def test_digits_are_not_compared_where_no_family_needs_them(monkeypatch):
    claim = nearly_collinear_claim()
    claim = claim._replace(thresholds=claim.thresholds - 4.0, listed=[{} for _ in claim.listed])
    bound, _ = check(claim)
    monkeypatch.delattr(ExactProducts, "rows")
    assert check(claim)[0] == bound
    assert bound == pytest.approx(claim.thresholds.sum(), abs=1e-3)


def test_singular_products_are_refused():
    rng = np.random.default_rng(0)
    children = [
        child._replace(costs=child.costs._replace(products=np.ones((4, 4))))
        for child in children_of(random_rows(rng, 4, 30), 2.0)
    ]
    claim = Claim(children, [], np.empty(0), np.full(4, -1e3), [{}] * 4)
    refuses("too nearly singular", claim)


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
        bounds = checker.certified_bound_of_others(*claim, threads, **settings)
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
        found = GaussianBNLearner(**settings, time_limit=60, random_state=0).fit(rows)
    except ValueError as error:
        pytest.skip(str(error))
    assert claims
    monkeypatch.undo()
    best = GaussianBNLearner(**settings).fit(rows)
    assert found.is_optimal_
    assert found.network_score_ == pytest.approx(best.network_score_, abs=1e-6)
    assert found.score_bound_ >= best.network_score_ - 1e-6


# Column generation


def children_from(seed, m, penalty=2.0):
    """Children of random rows, for which the empty network costs 0."""
    rows = random_rows(np.random.default_rng(seed), m, 80)
    return [child._replace(offset=child.cost_of(())) for child in children_of(rows, penalty)]


def generated(children, network=None, deadline=math.inf, *settings, **of_run):
    """What column generation finds that begins with a network, by itself with the empty one."""
    with Threads(1) as threads:
        given = children, network or [()] * len(children), 1e-6, deadline, 0, threads
        return ColumnGeneration(*given, *settings).run(**of_run)


@pytest.mark.parametrize("seed", range(4))
def test_the_lists_have_all_families_of_better_networks(seed):
    children = children_from(seed, 7)
    found = generated(children)
    cheapest = cheapest_network([*map(all_costs, children)])
    assert found.bound.bound <= cheapest + 1e-6
    assert found.cost >= cheapest - 1e-9
    families = found.lists.families
    listed = [{} for _ in children]
    for x, parents, cost in zip(families.child, found.lists.parents, families.cost, strict=True):
        listed[x][parents] = cost
    assert cheapest_network(listed) == pytest.approx(cheapest, abs=1e-8)


def test_families_and_cuts_take_no_more_memory_than_they_may():
    children = children_from(1, 9)
    free = generated(children)
    full = generated(children, None, math.inf, None, 1 << 16)
    assert (free.why_ended, full.why_ended) == ("", column_generation.ENDED_BY_MEMORY)
    assert full.lists is None
    assert -math.inf < full.bound.bound <= free.bound.bound


def test_a_search_says_why_it_ended_without_lists(monkeypatch):
    children = children_from(1, 7)

    def why_ended(deadline=math.inf):
        return generated(children, None, deadline, ends_on_interrupt=True).why_ended

    assert why_ended(0.0) == ENDED_BY_TIME
    monkeypatch.setattr(ColumnGeneration, "families_within", lambda _: None)
    monkeypatch.setattr(ColumnGeneration, "_violated", lambda _: [])
    assert why_ended() == column_generation.ENDED_BY_BOUND

    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ColumnGeneration, "_violated", interrupt)
    assert why_ended() == ENDED_BY_USER


@pytest.mark.parametrize("is_late", [False, True])
def test_lists_that_were_not_checked_in_time_prove_nothing(monkeypatch, is_late):
    children = children_from(1, 6)
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
    found = generated(children, network, time.monotonic() + 60)
    cheapest = cheapest_network([all_costs(child) for child in children])
    assert found.bound.bound <= cheapest + 1e-6
    assert found.cost >= cheapest - 1e-6


def test_without_time_the_bound_is_that_of_all_candidates(monkeypatch):
    monkeypatch.setattr(pricing, "_NODES", 1)
    rows = random_rows(np.random.default_rng(0), 5, 50)
    children = children_of(rows, 2.0)
    found = generated(children, None, -math.inf)
    assert found.lists is None
    free = children_of(rows, 0.0)
    of_all = [all_costs(child)[tuple(child.candidates.tolist())] for child in free]
    assert found.bound.bound == pytest.approx(sum(of_all), abs=1e-3)
    assert found.bound.bound <= sum(of_all)

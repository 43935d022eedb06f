"""Sums over listed families against enumeration, and against sums over all families."""

import math

import enumerated
import numpy as np
import pytest
import reference
from agreement import raises
from enumerated import PRIORS, assert_agree, parent_sets, rows_of, scores_of
from hypothesis import given
from hypothesis import strategies as st
from problems import PLENTY, problem, resources

from skbn import BIC, BGe, GaussianBNPosterior, LocalScoreTransformer
from skbn._exact.plan import SearchPlan
from skbn._posterior import network_posterior as module
from skbn._posterior import plan as planning
from skbn._posterior.listed_weights import FamilyList, ListedWeights
from skbn._posterior.network_posterior import network_posterior
from skbn._posterior.sampling import sample_networks
from skbn._scores.families import AllFamilies
from skbn._solver.constraints import read_constraints
from skbn._solver.problem import Shape
from skbn.datasets import make_gaussian_network

pytestmark = pytest.mark.usefixtures("kernels_for_few_columns")


def posterior_of(scores, prior, is_listed=True, **settings):
    """The posterior with all groups' families listed, or with none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "_dense_work", lambda _: math.inf if is_listed else 0)
        found = enumerated.posterior_of(scores, prior, **settings)
    assert all(isinstance(each.weights, ListedWeights) == is_listed for each in found.groups)
    return found


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("whole", [True, False])
@given(seed=st.integers(0, 10_000))
def test_lists_and_all_families_agree(prior, whole, seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 8))
    edges = [(i, j) for i in range(m) for j in range(m) if i != j]
    knowledge = {"max_parents": int(rng.integers(0, m))}
    if rng.random() < 0.5:
        knowledge["forbidden_edges"] = [edges[i] for i in rng.integers(len(edges), size=m)]
    if rng.random() < 0.5:
        knowledge["tiers"] = [rng.permutation(m)[: m // 2].tolist(), ...]
    if knowledge["max_parents"] and rng.random() < 0.5:
        first = {*knowledge.get("tiers", [range(m)])[0]}
        out = {*knowledge.get("forbidden_edges", [])}
        allowed = [e for e in edges if e not in out and (e[0] in first or e[1] not in first)]
        knowledge["required_edges"] = allowed[: rng.integers(2)]
    log_odds = rng.normal(size=(m, m)) if rng.random() < 0.5 else None
    scores = scores_of(m, BGe() if rng.random() < 0.7 else BIC(), seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "_MOST_IN_ONE_GROUP", 20 if whole else 0)
        listed, dense = (
            posterior_of(scores, prior, is_listed, log_odds=log_odds, **knowledge)
            for is_listed in (True, False)
        )
    assert_agree(listed, dense)
    assert listed.log_prior_sum == pytest.approx(dense.log_prior_sum, abs=1e-11)


@pytest.mark.parametrize("is_listed", [True, False])
@pytest.mark.parametrize("n_outer", [1, 3])
def test_slabs_change_rounding_only(n_outer, is_listed, monkeypatch):
    scores = scores_of(10)
    whole = posterior_of(scores, "order", is_listed, max_parents=3)

    def in_slabs(shape, prior, *_):
        constraints = shape.constraints
        (group,) = constraints.groups
        listing = planning._listing(group, constraints) if is_listed else None
        plan = planning.GroupPlan(group, prior, SearchPlan(10, n_outer), 1, listing)
        return planning.PosteriorPlan(prior, [plan])

    monkeypatch.setattr(module, "plan_posterior", in_slabs)
    parts = posterior_of(scores, "order", is_listed, max_parents=3)
    np.testing.assert_allclose(parts.edges, whole.edges, rtol=0, atol=1e-13)
    assert parts.log_sum == pytest.approx(whole.log_sum, rel=1e-15)
    samples = (sample_networks(each, 200, np.random.default_rng(0)) for each in (whole, parts))
    np.testing.assert_array_equal(*samples)


@pytest.mark.parametrize("prior", PRIORS)
def test_number_of_threads_changes_no_bit(prior):
    scores = scores_of(14)
    tiers = [list(range(4)), list(range(4, 14))]
    one, three = (posterior_of(scores, prior, n_jobs=n, max_parents=3, tiers=tiers) for n in (1, 3))
    np.testing.assert_array_equal(one.edges, three.edges)
    assert one.log_sum == three.log_sum
    samples = [sample_networks(one, 200, np.random.default_rng(0), n_jobs=n) for n in (1, 3)]
    np.testing.assert_array_equal(*samples)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("knowledge", [{}, {"tiers": [[3], [0, 2], [1, 4]]}])
def test_samples_have_the_probabilities_of_networks(prior, knowledge, monkeypatch):
    monkeypatch.setattr(planning, "_MOST_IN_ONE_GROUP", 0)
    scores = scores_of(5, n=20)
    found = posterior_of(scores, prior, max_parents=2, **knowledge)
    n_samples = 20_000
    samples = sample_networks(found, n_samples, np.random.default_rng(0))
    for x in range(5):
        masks, counts = np.unique(samples[:, x], return_counts=True)
        probabilities = parent_sets(found, x)
        expected = n_samples * np.array([probabilities[mask] for mask in masks.tolist()])
        is_rare = expected < 20
        assert counts[is_rare].sum() < expected[is_rare].sum() + 40
        error = np.sqrt(expected)[~is_rare]
        assert (np.abs(counts - expected)[~is_rare] / error).max() < 6


def test_all_work_is_told():
    told = []
    scores = scores_of(9)
    few = problem(scores, max_parents=2, forbidden_edges=[(0, 1)])
    given = resources(PLENTY, listeners=(lambda *args: told.append(args),))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "_dense_work", lambda _: math.inf)
        network_posterior(few, given)
    assert told[-1][0] == 100


def in_pairs(m):
    return [[x, x + 1] for x in range(0, m, 2)]


def pair_posterior(scores, tiers, most):
    """The probability of each parent set of columns in tiers of two, by their families."""
    expected = [{} for _ in scores.columns]
    for i, (a, b) in enumerate(tiers):
        earlier = [x for tier in tiers[:i] for x in tier]
        weights = {}
        for child, other in ((a, b), (b, a)):
            lists = FamilyList([], list(range(len(earlier) + 1)), most)
            candidates = [*earlier, other]
            base = scores.local_score(child, [])
            masks = lists.masks([1 << x for x in range(len(candidates))]).tolist()
            for mask in masks:
                parents = [candidates[j] for j in reference.members_of(mask)]
                weight = math.exp(scores.local_score(child, parents) - base)
                weights[child, sum(1 << p for p in parents)] = weight
        free = dict.fromkeys((a, b), 0.0)
        joined = dict.fromkeys((a, b), 0.0)
        for (child, mask), weight in weights.items():
            has_other = mask >> (a + b - child) & 1
            (joined if has_other else free)[child] += weight
        total = free[a] * free[b] + joined[a] * free[b] + free[a] * joined[b]
        for (child, mask), weight in weights.items():
            other = a + b - child
            rest = free[other] + (0 if mask >> other & 1 else joined[other])
            expected[child][mask] = weight * rest / total
    return expected


@pytest.mark.parametrize(("m", "most"), [(32, 2), (66, 1)])
def test_more_columns_than_a_table_of_all_sets_has_bits(m, most):
    scores = scores_of(m, n=100, max_parents=most)
    tiers = in_pairs(m)
    given = problem(scores, tiers=tiers)
    found = network_posterior(given, resources(PLENTY))
    expected = pair_posterior(scores, tiers, most)
    for x in range(m):
        of_child = parent_sets(found, x)
        assert of_child.keys() >= expected[x].keys()
        for mask, probability in of_child.items():
            assert expected[x].get(mask, 0.0) == pytest.approx(probability, abs=1e-11)
        for p in range(m):
            joined = sum(each for mask, each in expected[x].items() if mask >> p & 1)
            assert found.edges[p, x] == pytest.approx(joined, abs=1e-11)
    samples = sample_networks(found, 100, np.random.default_rng(0))
    for row in samples.tolist():
        assert all(given.constraints.allows(x, mask) for x, mask in enumerate(row))


def test_scores_of_all_families_are_not_needed():
    rows = make_gaussian_network(40, n_samples=200, random_state=0)[0]
    scores = LocalScoreTransformer("bge").fit_transform(rows)  # of 2**39 families each
    knowledge = {"max_parents": 1, "tiers": [list(range(s, s + 8)) for s in range(0, 40, 8)]}
    found = GaussianBNPosterior(**knowledge).fit(scores)
    of_table = GaussianBNPosterior(**knowledge).fit(rows)
    ours, theirs = (each.edge_probabilities_ for each in (found, of_table))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


def test_methods_of_a_posterior_of_many_columns():
    rows = make_gaussian_network(66, n_samples=80, random_state=0)[0]
    tiers = [list(range(s, s + 6)) for s in range(0, 66, 6)]
    posterior = GaussianBNPosterior(max_parents=1, tiers=tiers).fit(rows)
    table = posterior.to_frame()
    assert len(table) == 66 * 65 // 2
    dag = posterior.sample_dags(1, random_state=0)[0]
    assert -1000 < posterior.log_probability(dag) < 0
    assert posterior.parent_set_probabilities(65, k=1)[0].probability > 0
    assert math.isfinite(posterior.score(rows[:5]))
    networks = posterior.sample_networks(2, random_state=0)
    dags = posterior.sample_dags(2, random_state=0)
    assert [set(each.dag.edges) for each in networks] == [set(dag.edges) for dag in dags]
    effect = posterior.effect(60, 61, n_samples=50, random_state=0)
    assert effect.mean == posterior.effects(n_samples=50, random_state=0).mean[60, 61]
    few = GaussianBNPosterior(max_parents=1, tiers=tiers[:10]).fit(rows[:, :60])
    assert few.effect(58, 59, n_samples=50).probability_zero > 0
    assert len(few.sample_networks(2, random_state=0)) == 2


@pytest.mark.filterwarnings("ignore::skbn.exceptions.ApproximateEvidenceWarning")
def test_dependent_columns_of_a_family_are_named():
    rows = rows_of(8, n=12)
    rows[:, 5] = rows[:, 2]
    tiers = [[0, 1, 2, 3], [4, 5, 6, 7]]
    posterior = GaussianBNPosterior("bic", max_parents=1, tiers=tiers)
    raises("Column 5 is collinear", posterior.fit, rows)


def planned(m, n_bytes, prior="auto", **knowledge):
    constraints = read_constraints(list(range(m)), **{"max_parents": m - 1, **knowledge})
    shape = Shape(AllFamilies(m), constraints)
    return planning.plan_posterior(shape, prior, resources(n_bytes, n_jobs=1), range(m))


def refusal(*given, **knowledge):
    """The message of a plan that does not fit."""
    with pytest.raises(ValueError, match="of memory") as error:
        planned(*given, **knowledge)
    return str(error.value)


def tiers_of(m, size):
    return [list(range(start, min(start + size, m))) for start in range(0, m, size)]


@pytest.mark.parametrize("prior", ["auto", *PRIORS])
@pytest.mark.parametrize("knowledge", [{}, {"max_parents": 3}, {"tiers": tiers_of(60, 10)}])
def test_small_tiers_and_few_parents_make_a_posterior_small(knowledge, prior):
    n_bytes = 1 << 32
    message = refusal(60, n_bytes, prior, **knowledge)
    assert "et tiers of few columns and a small max_parents" in message
    assert planned(60, n_bytes, prior, tiers=tiers_of(60, 10), max_parents=2)


def test_the_order_prior_is_a_remedy_where_it_fits():
    assert "structure_prior to 'order'" in refusal(24, 1 << 31, "uniform")
    assert planned(24, 1 << 31, "order")
    assert "structure_prior" not in refusal(60, 1 << 31, "uniform")


def test_the_largest_group_is_named():
    message = refusal(60, 1 << 34, tiers=[list(range(45)), ...], max_parents=2)
    assert "45 columns, the largest of 2 groups, [0, 1, 2, 3, 4, ...]," in message

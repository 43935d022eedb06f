"""The posterior of all networks against enumeration, other recurrences and closed forms."""

import math

import numpy as np
import pytest
import reference
from enumerated import enumerated, enumerated_prior, scores_of, weights_of
from problems import PLENTY, problem, resources

from skbn import BIC, EBIC, BGe, Criterion, LocalScoreTransformer
from skbn._posterior.network_posterior import network_posterior
from skbn.datasets import make_gaussian_network

PRIORS = ["uniform", "order"]
KNOWLEDGE = [
    {},
    {"max_parents": 1},
    {"max_parents": 2},
    {"required_edges": [(0, 1)]},
    {"required_edges": [(0, 2), (1, 2)]},
    {"forbidden_edges": [(2, 1), (0, 2)]},
    {"tiers": [[0], [1, 2], ...]},
    {"tiers": [[2], [0], [1], ...]},
    {"tiers": [[0], [1], [2], [3], ...]},
    {"tiers": [[3, 1], [0], ...]},
    {"tiers": [[0, 1], ...], "forbidden_edges": [(0, 2)], "max_parents": 2},
]


def posterior_of(scores, prior, *, log_odds=None, n_jobs=None, allowed=None, **knowledge):
    given = resources(PLENTY, allowed, n_jobs=n_jobs)
    return network_posterior(problem(scores, **knowledge), given, prior=prior, log_odds=log_odds)


def assert_agree(found, expected, tolerance=1e-12):
    np.testing.assert_allclose(found.edges, expected.edges, rtol=0, atol=tolerance)
    assert found.log_sum == pytest.approx(expected.log_evidence, rel=1e-13, abs=1e-12)
    if found.paths is not None:
        known = ~np.isnan(found.paths)
        np.testing.assert_allclose(
            found.paths[known], expected.paths[known], rtol=0, atol=tolerance
        )
    for x, of_child in enumerate(expected.parent_sets):
        group, number = found.group_of(x)
        probabilities = group.parent_sets(number)
        masks = group.masks(number, np.arange(len(probabilities)))
        np.testing.assert_allclose(
            probabilities, [of_child[int(mask)] for mask in masks], rtol=0, atol=tolerance
        )


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("m", [2, 4, 5])
@pytest.mark.parametrize("criterion", [BGe(), BGe(alpha_mu=0.1), BIC(), EBIC()])
def test_all_networks_are_summed(prior, m, criterion):
    scores = scores_of(m, criterion, seed=m)
    found, expected = posterior_of(scores, prior), enumerated(scores, prior)
    assert_agree(found, expected)
    assert found.log_prior_sum == pytest.approx(expected.log_n, abs=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("m", [pytest.param(4, marks=pytest.mark.slow), 5])
@pytest.mark.parametrize("knowledge", KNOWLEDGE)
def test_knowledge_is_conditioned_on(prior, m, knowledge):
    """Orders are counted within each tier."""
    scores = scores_of(m, seed=m)
    found = posterior_of(scores, prior, **knowledge)
    assert_agree(found, enumerated(scores, prior, **knowledge))
    flat = enumerated_prior(scores, prior, **knowledge).log_evidence
    assert found.log_prior_sum == pytest.approx(flat, abs=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
def test_what_knowledge_rules_out_has_probability_0(prior):
    scores = scores_of(6)
    found = posterior_of(scores, prior, tiers=[[0, 1], [2, 3], ...], forbidden_edges=[(0, 1)])
    tier = np.array([0, 0, 1, 1, 2, 2])
    ruled_out = (tier[:, np.newaxis] > tier) | np.eye(6, dtype=bool)
    ruled_out[0, 1] = True
    assert (found.edges[ruled_out] == 0).all()
    assert (found.edges[~ruled_out] > 0).all()
    if prior == "uniform":
        assert (found.paths[ruled_out] == 0).all()
        assert (found.paths[~ruled_out] > 0).all()


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("m", [3, 4])
@pytest.mark.parametrize("knowledge", [{}, {"max_parents": 2}, {"forbidden_edges": [(0, 1)]}])
def test_prior_odds_of_edges_weigh_families(prior, m, knowledge):
    rng = np.random.default_rng(m)
    scores = scores_of(m, seed=m)
    for log_odds in (np.full((m, m), math.log(0.1)), rng.normal(size=(m, m))):
        found = posterior_of(scores, prior, log_odds=log_odds, **knowledge)
        assert_agree(found, enumerated(scores, prior, log_odds, **knowledge))
        normaliser = enumerated_prior(scores, prior, log_odds, **knowledge).log_evidence
        assert found.log_prior_sum == pytest.approx(normaliser, abs=1e-12)


class TwoParentsOrNone(Criterion):
    """BGe's likelihood for families of no or two parents; others are ruled out."""

    marginal_likelihood = "exact"

    def tables(self, n_samples, m):
        tables = BIC().tables(n_samples, m)
        tables[0, [size for size in range(m) if size not in (0, 2)]] = -np.inf
        return tables


@pytest.mark.parametrize("prior", PRIORS)
def test_a_criterion_may_rule_families_out(prior):
    scores = scores_of(5, TwoParentsOrNone())
    assert_agree(posterior_of(scores, prior), enumerated(scores, prior))


@pytest.mark.parametrize("prior", PRIORS)
def test_recurrences_of_eight_columns(prior):
    rows = make_gaussian_network(8, n_samples=300, random_state=3)[0]
    scores = LocalScoreTransformer(BGe()).fit_transform(rows)
    found = posterior_of(scores, prior)
    recurrence = reference.order_recurrence if prior == "order" else reference.uniform_recurrence
    expected = recurrence(weights_of(scores)[0])
    np.testing.assert_allclose(found.edges, expected.edges, rtol=0, atol=1e-11)
    assert found.log_sum == pytest.approx(expected.log_evidence, rel=1e-14)
    if prior == "uniform":
        np.testing.assert_allclose(found.paths, expected.paths, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    ("m", "n_networks"), [(2, 3), (3, 25), (4, 543), (5, 29_281), (6, 3_781_503)]
)
def test_networks_and_orders_are_counted(m, n_networks):
    class NoData(Criterion):
        marginal_likelihood = "exact"

        def tables(self, n_samples, m):
            return np.zeros((3, m))

    scores = scores_of(m, NoData())
    for prior, expected in (
        ("uniform", n_networks),
        ("order", math.factorial(m) * 2 ** (m * (m - 1) // 2)),
    ):
        found = posterior_of(scores, prior)
        assert math.exp(found.log_sum) == pytest.approx(expected, rel=1e-12)
        assert math.exp(found.log_prior_sum) == pytest.approx(expected, rel=1e-12)
        # Without data both directions of an edge are equally probable.
        np.testing.assert_allclose(found.edges, found.edges.T, atol=1e-13)


@pytest.mark.parametrize("prior", PRIORS)
def test_number_of_threads_changes_no_bit(prior, monkeypatch):
    monkeypatch.setattr("skbn._core.resources.FEWEST_COLUMNS", 0)
    rows = make_gaussian_network(14, n_samples=100, random_state=3)[0]
    scores = LocalScoreTransformer(BGe()).fit_transform(rows)
    one, *others = (posterior_of(scores, prior, n_jobs=n) for n in (1, 3))
    for other in others:
        np.testing.assert_array_equal(one.edges, other.edges)
        assert one.log_sum == other.log_sum
        if prior == "uniform":
            np.testing.assert_array_equal(one.paths, other.paths)


@pytest.mark.parametrize("prior", PRIORS)
def test_constraints_that_no_network_meets(prior):
    scores = scores_of(4, TwoParentsOrNone())
    with pytest.raises(ValueError, match=r"No acyclic network of .* has a finite score"):
        posterior_of(scores, prior, required_edges=[(0, 1)], max_parents=1)


def test_too_little_memory_says_what_would_fit():
    scores = scores_of(16, n=100)
    message = r"16 columns with the uniform prior needs .* 1\.0 MB are allowed by max_memory\. .*"
    with pytest.raises(ValueError, match=message):
        posterior_of(scores, "uniform", allowed=1 << 20)

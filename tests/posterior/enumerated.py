"""Random tables, and posteriors by enumeration within knowledge."""

import numpy as np
import pytest
import reference
from problems import PLENTY, problem, resources

from skbn import BGe, LocalScoreTransformer
from skbn._core.subsets import mask_of
from skbn._posterior.network_posterior import network_posterior
from skbn._solver.constraints import read_constraints

PRIORS = ["uniform", "order"]


def rows_of(m, n=60, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, m)) @ rng.normal(size=(m, m))
    return rows + noise * rng.normal(size=(n, m))


def scores_of(m, criterion=None, max_parents=None, **options):
    transformer = LocalScoreTransformer(criterion or BGe(), max_parents=max_parents)
    return transformer.fit_transform(rows_of(m, **options))


def weights_of(scores, log_odds=None, **knowledge):
    """The log weights of the families that knowledge allows, and the groups that it leaves open."""
    most = len(scores.columns) - 1
    given = read_constraints(scores.columns, **{"max_parents": most, **knowledge})
    weights = reference.log_weights_of(scores, given.max_parents, given.required, given.allowed)
    if log_odds is not None:
        weights = reference.with_edge_odds(weights, np.exp(log_odds))
    return weights, [mask_of(group.columns) for group in given.groups]


def enumerated(scores, prior, log_odds=None, **knowledge):
    weights, groups = weights_of(scores, log_odds, **knowledge)
    return reference.posterior_by_enumeration(weights, prior, groups=groups)


def enumerated_prior(scores, prior, log_odds=None, **knowledge):
    """The same without data."""
    weights, groups = weights_of(scores, **knowledge)
    weights = reference.all_ones(weights)
    if log_odds is not None:
        weights = reference.with_edge_odds(weights, np.exp(log_odds))
    return reference.posterior_by_enumeration(weights, prior, groups=groups)


def posterior_of(scores, prior, *, log_odds=None, n_jobs=None, allowed=None, **knowledge):
    given = resources(PLENTY, allowed, n_jobs=n_jobs)
    return network_posterior(problem(scores, **knowledge), given, prior=prior, log_odds=log_odds)


def parent_sets(found, column):
    """The probability of each set of parents that a posterior has."""
    group, number = found.group_of(column)
    probabilities = group.parent_sets(number)
    masks = group.masks(number, np.arange(len(probabilities))).tolist()
    return dict(zip(masks, probabilities.tolist(), strict=True))


def assert_agree(found, expected, tolerance=1e-12):
    """Hold a posterior against an enumeration, or another posterior that has more families."""
    np.testing.assert_allclose(found.edges, expected.edges, rtol=0, atol=tolerance)
    is_enumerated = hasattr(expected, "parent_sets")
    log_sum = expected.log_evidence if is_enumerated else expected.log_sum
    assert found.log_sum == pytest.approx(log_sum, rel=1e-13, abs=1e-11)
    if found.paths is not None:
        known = ~np.isnan(found.paths)
        assert is_enumerated or (known == ~np.isnan(expected.paths)).all()
        np.testing.assert_allclose(
            found.paths[known], expected.paths[known], rtol=0, atol=tolerance
        )
    for x in range(len(found.edges)):
        all_sets = expected.parent_sets[x] if is_enumerated else parent_sets(expected, x)
        of_child = parent_sets(found, x)
        assert of_child.keys() <= all_sets.keys()
        for mask, probability in all_sets.items():
            assert of_child.get(mask, 0.0) == pytest.approx(probability, abs=tolerance)

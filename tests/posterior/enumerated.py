"""Random tables, and posteriors by enumeration within knowledge."""

import numpy as np
import reference

from skbn import BGe, LocalScoreTransformer
from skbn._core.subsets import mask_of
from skbn._solver.constraints import read_constraints


def rows_of(m, n=60, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, m)) @ rng.normal(size=(m, m))


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

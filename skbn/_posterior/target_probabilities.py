"""How probable it is that an environment changed a node, by sums over networks and targets."""

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.resources import Progress, Resources
from skbn._posterior.network_posterior import GroupPosterior, NetworkPosterior
from skbn._scores.target_scorer import TargetScorer


def target_probabilities(
    scorer: TargetScorer, posterior: NetworkPosterior, resources: Resources
) -> Floats:
    """Return the probability that each environment changed each node; NaN for exogenous ones.

    Given the parents of a node, the probabilities of its targets follow from its local scores; they
    are averaged over the posterior of the parents. The array has a row for each environment but the
    reference.
    """
    m, silent = scorer.families.m, resources.reporting(Progress())
    found = np.full((len(scorer.own), m), np.nan)
    for group in posterior.groups:
        children = group.columns[: group.n_columns]
        most = posterior.constraints.max_parents
        given = group.columns, _parent_sets(group), most, silent
        found[:, children] = scorer.target_shares(*given)
    return found


def _parent_sets(group: GroupPosterior) -> Floats:
    """Return the probabilities of each child's parent sets, by the places of a group's columns."""
    probabilities = np.zeros((group.n_columns, 1 << len(group.columns)))
    for child in range(group.n_columns):
        own = group.parent_sets(child)
        masks = group.masks(child, np.arange(len(own)))
        places = np.zeros(len(own), dtype=np.int64)
        for place, column in enumerate(group.columns):
            places |= (masks >> column & 1).astype(np.int64) << place
        probabilities[child, places] = own
    return probabilities

"""Random tables with settings of a learner, of all kinds that all parent sets are priced for."""

import numpy as np
from random_constraints import random_constraints

from skbn import EBIC, InformationCriterion
from skbn.datasets import make_gaussian_network


class Costs(InformationCriterion):
    """The likelihood less given costs of 0, 1, ... parents, in any order."""

    def __init__(self, costs, *, unbiased_variance=False):
        super().__init__(unbiased_variance=unbiased_variance)
        self.costs = costs

    def complexity(self, n_samples, m):
        return np.array(self.costs[:m])


def random_criterion(rng, m):
    """A criterion or its name."""
    kind = rng.integers(7)
    if kind < 4:
        return ["bic", "ebic", "aic", "loglik"][kind]
    if kind == 4:
        return EBIC(gamma=rng.uniform(0, 1), form=str(rng.choice(["foygel-drton", "chen-chen"])))
    costs = rng.exponential(3.0, m).cumsum() if kind == 5 else rng.exponential(8.0, m)
    return Costs(costs.tolist(), unbiased_variance=bool(rng.random() < 0.5))


def random_learner(rng, most=16):
    """Rows, settings of a learner, and further arguments of its fit.

    Some network satisfies the constraints.
    """
    m = int(rng.integers(6, most + 1))
    criterion = random_criterion(rng, m)
    if criterion == "loglik":  # all networks in which all columns are joined score the same
        m = min(m, 8)
    widths = np.ones(m, dtype=int)
    if not isinstance(criterion, Costs) and rng.random() < 0.25:
        widths = rng.integers(1, 4, m)
    k = int(widths.sum())
    n = int(rng.integers(k + 10, 300))
    X = make_gaussian_network(k, mean_degree=rng.uniform(1, 4), n_samples=n, random_state=rng)[0]
    settings = random_constraints(rng, m) if rng.random() < 0.7 else {}
    if not settings and rng.random() < 0.4:
        outside = rng.permutation(m)[: rng.integers(1, m - 1)]
        settings = {"exogenous": outside.tolist()}
    settings = {"criterion": criterion, **settings}
    if k > m:
        settings["nodes"] = np.repeat(np.arange(m), widths).tolist()
    if rng.random() < 0.4:
        settings["penalty"] = float(rng.uniform(0.5, 2))
    given = {}
    if rng.random() < 0.4:
        weight = rng.uniform(0.5, 1.5, n)
        given["sample_weight"] = weight * n / weight.sum()
    if rng.random() < 0.25:
        n_set = int(rng.integers(1, max(2, (n - k) // 4)))
        targets = rng.integers(m, size=n_set).tolist()
        given["interventions"] = [(x,) for x in targets] + [None] * (n - n_set)
    return X, settings, given

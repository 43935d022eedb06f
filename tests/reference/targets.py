"""Unknown targets: the score of each family for each set of environments that changed its child."""

from itertools import product

import numpy as np

from reference.networks import families, subsets
from reference.regressions import regression
from reference.scores import bge_local_score


def _likelihood(rows, child, parents):
    n = len(rows)
    return -n / 2 * (np.log(2 * np.pi * regression(rows, child, parents)[2] / n) + 1)


def target_scores(tables, kind, criterion="bic", cost=0.0, has_reference=True):
    """The score of each (child, parents) and tuple of changed environments, as a dict.

    `tables` are those of the environments, the reference first. Each parameter costs half the
    logarithm of the number of all rows, unless the criterion is "bge". Without a reference, all
    sets but that of all environments are there, also those of one and the same model.
    """
    every = np.vstack(tables)
    price, mean = np.log(len(every)) / 2, every.mean(axis=0)

    def score(rows, child, parents):
        if criterion == "bge":
            return bge_local_score(rows, child, parents, nu=mean)
        return _likelihood(rows, child, parents) - (len(parents) + 2) * price

    found, others = {}, range(has_reference, len(tables))
    for (child, parents), changed in product(families(every.shape[1]), subsets(others)):
        if len(changed) == len(tables):
            continue
        pooled = np.vstack([t for e, t in enumerate(tables) if e not in changed])
        total = score(pooled, child, parents) - cost * len(changed)
        if criterion == "ebic":  # what an edge costs besides its parameters, once
            total -= len(parents) * np.log(every.shape[1])
        for e in changed:
            total += score(tables[e], child, () if kind == "hard" else parents)
        found[child, parents, changed] = total
    return found

"""Tables of experiments: rows in which some columns were set."""

import numpy as np

# What was set together in the rows of each group, for up to four columns.
TARGETS = [[], [{0}], [{1}, {2}], [{0, 1}], [{0}, {1, 3}], [{0, 1}, {1, 2}], [{0}, {1}, {2}, {3}]]


def experiment(m, targets, *, n=25, seed=0):
    """Return rows of a random network with m columns, and which columns were set in each.

    The first n rows are observations. In n further rows for each set of targets, these were set.
    """
    rng = np.random.default_rng(seed)
    is_set = np.zeros(((1 + len(targets)) * n, m), dtype=bool)
    for i, target in enumerate(targets, start=1):
        is_set[i * n : (i + 1) * n, list(target)] = True
    is_set = rng.permutation(is_set)
    given = 1.5 * rng.normal(size=is_set.shape) + 1
    rows = rng.normal(size=is_set.shape)
    order = rng.permutation(m)
    for i, x in enumerate(order):
        rows[:, x] += rows[:, order[:i]] @ rng.normal(size=i)
        rows[:, x] = np.where(is_set[:, x], given[:, x], rows[:, x])
    return rows, is_set

"""What several chains say together, and whether they agree.

Each chain is cut into batches, whose means are nearly independent of each other if a batch is much
longer than the chain remembers. Their spread gives a chain's standard errors. Chains that have
found different parts of the posterior agree within themselves, but not with each other: the
standard errors are therefore at least those that the spread between chains gives. Rare parts are
found by few chains, and all edges together say how much larger that makes errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skbn._chains.chain import Batch
from skbn._core.arrays import Booleans, Floats, Integers

# More improbable, or more certain, edges are not compared between chains.
_LEAST_UNCERTAIN = 0.01
_MANY_ERRORS = 3.0
# In nats: smaller errors of log weights are rounding.
_LEAST_ERROR = 1e-6
# Batches that states of a chain are cut into.
_BATCHES_A_CHAIN = 10
# Batches that are joined to see whether a batch is long enough, and the fewest of such long ones.
_BATCHES_JOINED, _FEWEST_LONG = 4, 4
# Variances below this are rounding errors.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Agreement:
    """Means over chains, and how far these are apart; arrays are of shape (m, m) if not told."""

    edges: Floats  # the means of the probabilities of edges and paths
    paths: Floats
    # their standard errors: the larger of those by batches, by the factor that all edges together
    # have, and those between chains
    edge_errors: Floats
    path_errors: Floats
    of_chains: Floats  # (n_chains, m, m): the probabilities of edges by chain
    # the potential scale reduction of the probabilities of edges, by halves of chains (Gelman et
    # al. 2013, "Bayesian data analysis", section 11.4); 1 where nothing varies.
    r_hat: Floats
    # how many independent states would have the same standard errors; NaN where nothing varies
    sample_sizes: Floats
    # the share of uncertain edges and pairs of chains that differ by more than three standard
    # errors
    share_far_apart: float
    # the largest difference of the mean log weights of two chains, in standard errors
    weights_apart: float
    n: int  # the number of states

    def with_least_errors(self, may_vary: Booleans) -> Agreement:
        """Give no edge an error below 1/n, unless its probability is known beforehand.

        What has a probability of 1/n is likely to be in none of n independent states, with the
        effective sample size for n that is usual for the edges.

        `may_vary`: (m, m), which edges the constraints leave open
        """
        known = self.sample_sizes[~np.isnan(self.sample_sizes)]
        least = 1.0 / max(1.0, float(np.median(known)) if known.size else float(self.n))
        return replace(self, edge_errors=np.maximum(self.edge_errors, may_vary * least))

    @property
    def differences(self) -> Floats:
        """How far the chains are apart in each edge: the largest difference of two."""
        return differences_of(self.of_chains)


def differences_of(of_chains: Floats) -> Floats:
    """Return the largest difference of two chains in each edge, from those of the chains."""
    return np.asarray(of_chains.max(axis=0) - of_chains.min(axis=0))


def agreement_of(chains: Sequence[Sequence[Batch]]) -> Agreement:
    """Return what chains say together, each of which has the same number of batches, at least 2."""
    n = np.array([[batch.n for batch in chain] for chain in chains])
    shape = (*n.shape, 1, 1)
    edges = np.array([[batch.edges for batch in chain] for chain in chains]) / n.reshape(shape)
    of_chains = _means_of_chains(edges, n)
    paths = np.array([[batch.paths for batch in chain] for chain in chains]) / n.reshape(shape)
    paths_of_chains = _means_of_chains(paths, n)
    errors = _joint_errors(of_chains, edges)
    weights = np.array([[np.mean(batch.log_weights) for batch in chain] for chain in chains])
    variance, r_hat = _scale_reduction(chains)
    varies = variance > _ROUNDING
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.where(varies, np.minimum(variance / errors**2, n.sum()), np.nan)
    return Agreement(
        of_chains.mean(axis=0),
        paths_of_chains.mean(axis=0),
        errors,
        _joint_errors(paths_of_chains, paths),
        of_chains,
        r_hat,
        sizes,
        _share_far_apart(of_chains, _errors_by_batches(edges)),
        _weights_apart(weights),
        int(n.sum()),
    )


def _means_of_chains(values: Floats, n: Integers) -> Floats:
    """Return the means of chains, from the means of batches with n states each."""
    weights = (n / n.sum(axis=1, keepdims=True))[..., np.newaxis, np.newaxis]
    return np.minimum((values * weights).sum(axis=1), 1.0)  # rounding


def _errors_by_batches(values: Floats) -> Floats:
    """Return the standard errors of the means of chains, from the means of batches."""
    n_batches = values.shape[1]
    if n_batches == 1:
        return np.zeros((len(values), *values.shape[2:]))  # unknown
    return np.asarray(values.std(axis=1, ddof=1) / np.sqrt(n_batches))


def chains_to_compare(n_chains: int, n: int) -> int:
    """Return how many chains n states are compared as; 0 if there are too few to compare chains."""
    return n_chains if n >= 2 * n_chains else 0


def batches_of_states(n: int, n_chains: int) -> Integers:
    """Return the number of the batch of each of n states, which come chain after chain.

    There are at least two states of each chain.
    """
    n_batches = n_chains * min(_BATCHES_A_CHAIN, max(1, n // (2 * max(n_chains, 1))))
    return np.arange(n) * n_batches // n


def errors_of_batches(means: Floats) -> Floats:
    """Return the standard errors of means over chains, from the means of batches.

    `means`: (n_chains, n_batches, ...)
    """
    return _joint_errors(means.mean(axis=1), means)


def _joint_errors(of_chains: Floats, values: Floats) -> Floats:
    """Return the standard errors of the mean of some chains, from their means and of batches.

    Slow moves between modes show in few edges, chains and batches, by chance in none of an edge's
    own. So all edges together say how much larger errors are than those by batches.
    """
    within = _mean_errors(values)
    between = of_chains.std(axis=0, ddof=1) / np.sqrt(len(of_chains))
    slower = [between]
    n_long = values.shape[1] // _BATCHES_JOINED
    if n_long >= _FEWEST_LONG:
        parts = values[:, : n_long * _BATCHES_JOINED]
        shape = (len(values), n_long, _BATCHES_JOINED, *values.shape[2:])
        slower.append(_mean_errors(parts.reshape(shape).mean(axis=2)))
    total = float((within**2).sum())
    factor = max(1.0, *(float((each**2).sum()) / total for each in slower)) if total else 1.0
    return np.asarray(np.maximum(math.sqrt(factor) * within, between))


def _mean_errors(values: Floats) -> Floats:
    """Return the standard errors of the mean of chains that agree, from the means of batches."""
    by_batches = _errors_by_batches(values)
    return np.asarray(np.sqrt((by_batches**2).sum(axis=0)) / len(values))


def _scale_reduction(chains: Sequence[Sequence[Batch]]) -> tuple[Floats, Floats]:
    """Return the variance of the states within halves of chains, and R-hat."""
    means, variances, sizes = [], [], []
    for chain in chains:
        for half in (chain[: len(chain) // 2], chain[len(chain) // 2 :]):
            n = sum(batch.n for batch in half)
            mean = np.asarray(sum(batch.edges for batch in half)) / n
            square = np.asarray(sum(batch.squares for batch in half)) / n
            means.append(mean)
            variances.append(np.maximum(square - mean**2, 0.0))
            sizes.append(n)
    size = float(np.mean(sizes))
    within = np.mean(variances, axis=0)
    between = np.var(means, axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        r_hat = np.sqrt((size - 1) / size + between / within)
    return within, np.where(np.maximum(within, between) > _ROUNDING, r_hat, 1.0)


def _share_far_apart(means: Floats, errors: Floats) -> float:
    """Return in what share of uncertain edges and pairs of chains these differ significantly."""
    mean = means.mean(axis=0)
    is_uncertain = np.minimum(mean, 1 - mean) > _LEAST_UNCERTAIN
    if not is_uncertain.any():
        return 0.0
    shares = [
        np.abs(means[i] - means[j]) > _MANY_ERRORS * np.hypot(errors[i], errors[j])
        for i in range(len(means))
        for j in range(i)
    ]
    return float(np.mean([each[is_uncertain].mean() for each in shares]))


def _weights_apart(batches: Floats) -> float:
    """Return how far apart the mean log weights of two chains are, in standard errors.

    `batches` has the means of batches, shape (n_chains, n_batches).
    """
    means = batches.mean(axis=1)
    squares = batches.var(axis=1, ddof=1) / batches.shape[1]
    apart = np.abs(means[:, np.newaxis] - means)
    errors = np.sqrt(squares[:, np.newaxis] + squares)
    return float((apart / np.maximum(errors, _LEAST_ERROR)).max())

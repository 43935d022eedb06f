"""Data augmentation: the posterior of networks from a table with missing values.

A Markov chain over networks, parameters and holes, all of which have their joint posterior: given
the completed table, a network and its parameters are drawn exactly and independently of the last
ones; given these, the holes of each row (Tanner & Wong 1987, "The calculation of posterior
distributions by data augmentation"). The probabilities of edges given each completed table are
exact, and their mean over the chain has less noise than the share of its networks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skbn._core.arrays import Floats, Integers, Random, random_seeds
from skbn._core.resources import Progress, Resources
from skbn._data.sample import Sample
from skbn._missing.em import saturated
from skbn._missing.incomplete_rows import incomplete_rows
from skbn._networks.gaussian import LinearGaussianModel, NetworkParameters
from skbn._networks.network import GaussianBayesianNetwork
from skbn._networks.partial_rows import filled
from skbn._posterior.network_posterior import NetworkPosterior
from skbn._posterior.parameter_draws import with_parameters
from skbn._posterior.sampling import sample_networks
from skbn._scores.local_scores import LocalScores

# The chain begins with holes drawn from the saturated model; later states hardly depend on them.
_BURN_IN = 10
# Networks that are kept of each table, to be sampled.
_NETWORKS_A_TABLE = 100
# In nats. It is only where the chain begins.
_COARSE = 1e-2
# Of the probabilities' autocorrelation: a shorter chain cannot tell more.
_LARGEST_CORRELATION = 0.9


@dataclass(frozen=True)
class AugmentedPosterior:
    """Means over a chain of completed tables.

    Parameters
    ----------
    prior : {"uniform", "order"}
    edges : ndarray of shape (m, m), float64
        At [i, j], the probability of the edge i -> j.
    errors : ndarray of shape (m, m), float64
        The Monte-Carlo standard errors of `edges`.
    paths : ndarray of shape (m, m), float64, or None
        The probabilities of directed paths; None for the order prior.
    tables : list of LocalScores
        The completed tables.
    parents : ndarray of shape (n_tables, n_networks, m), int64
        The masks of the parents in networks sampled from the posterior of each table.
    """

    prior: str
    edges: Floats
    errors: Floats
    paths: Floats | None
    tables: list[LocalScores]
    parents: Integers

    why_no_sums = (
        "after missing='augment'. Draw networks by sample_networks, and average over these; or fit "
        "a posterior to each of imputed_tables_."
    )

    @property
    def log_evidence(self) -> float:
        """No evidence is known."""
        raise AttributeError(f"log_evidence_ is not known {self.why_no_sums}")

    @property
    def estimates(self) -> dict[str, Any]:
        """What only this posterior has, as fitted attributes."""
        return {
            "edge_standard_errors_": self.errors.copy(),
            "imputed_tables_": [table.sample.rows for table in self.tables],
        }

    def stacked(self) -> Sample:
        """Return the rows of all completed tables, which count as one table's in all."""
        rows = np.vstack([table.sample.rows for table in self.tables])
        return Sample(rows, np.full(len(rows), 1 / len(self.tables)))

    def sampled(self, n: int, random_state: Random) -> Integers:
        """Return the masks of the parents in n networks, (n, m); none twice before all are."""
        return self._with_tables(n, random_state)[0]

    def _with_tables(self, n: int, random_state: Random) -> tuple[Integers, Integers]:
        """Return the same masks, and the tables that the networks are of."""
        n_tables, n_networks, m = self.parents.shape
        size = n_tables * n_networks
        chosen = np.concatenate(
            [random_state.permutation(size)[: n - start] for start in range(0, n, size)]
        )
        return self.parents.reshape(size, m)[chosen], chosen // n_networks

    def networks(self, n: int, random_state: Random) -> list[GaussianBayesianNetwork]:
        """Return n networks with parameters drawn from the posterior of their tables."""
        parents, table = self._with_tables(n, random_state)
        found: dict[int, GaussianBayesianNetwork] = {}
        for t, scores in enumerate(self.tables):
            at = np.flatnonzero(table == t)
            if len(at):
                networks = with_parameters(scores, parents[at], random_state)
                found |= dict(zip(at.tolist(), networks, strict=True))
        return [found[i] for i in range(n)]


def augmented_posterior(
    scores: LocalScores,
    posterior_of: Callable[[LocalScores, Resources], NetworkPosterior],
    resources: Resources,
    *,
    n_tables: int,
    random_state: Random,
) -> AugmentedPosterior:
    """Return the mean posterior over a chain of completed tables.

    Parameters
    ----------
    scores : LocalScores
        Of rows with holes, in each of which a value is observed.
    posterior_of : callable
        Returns the posterior of all networks by the scores of a complete table.
    resources : Resources
        Its progress is advanced by one for each table. The first plan is announced.
    n_tables : int
        How many tables the chain goes on for after its burn-in.
    random_state : numpy.random.RandomState or Generator
    """
    rows = scores.sample.rows
    complete = filled(_saturated_model(rows), rows, random_state)
    edges, paths, tables, parents = [], [], [], []
    progress = resources.progress
    progress.expect(_BURN_IN + n_tables)
    for step in range(_BURN_IN + n_tables):
        table = scores.of_sample(Sample(complete, labels=scores.sample.labels))
        posterior = posterior_of(table, resources.reporting(Progress()))
        resources = replace(resources, announce=None)
        is_kept = step >= _BURN_IN
        n_networks = _NETWORKS_A_TABLE if is_kept else 1
        rng = np.random.default_rng(random_seeds(random_state, 4))
        networks = sample_networks(posterior, n_networks, rng, resources.n_jobs)
        if is_kept:
            edges.append(posterior.edges)
            paths.append(posterior.paths)
            tables.append(table.of_sample(table.sample))  # without log-determinants
            parents.append(networks)
        (network,) = with_parameters(table, networks[:1], random_state)
        complete = filled(network._model(), rows, random_state)
        progress.advance(1)
    known_paths = [each for each in paths if each is not None]
    return AugmentedPosterior(
        posterior.prior,
        np.mean(edges, axis=0),
        _standard_errors(np.array(edges)),
        np.mean(known_paths, axis=0) if known_paths else None,
        tables,
        np.array(parents),
    )


def _saturated_model(rows: Floats) -> LinearGaussianModel:
    """Return the saturated model of rows with holes, with parameters by EM."""
    known = incomplete_rows(rows)
    found = saturated(known, _COARSE)
    m = known.n_columns
    coef, noise = np.zeros((m, m)), np.empty(m)
    for x in range(m):
        before = found.covariance[:x, :x]
        coef[:x, x] = np.linalg.solve(before, found.covariance[:x, x])
        noise[x] = found.covariance[x, x] - coef[:x, x] @ found.covariance[:x, x]
    units = known.scale
    parameters = NetworkParameters(
        coef * units / units[:, np.newaxis], known.mean + found.mean * units, noise * units**2
    )
    parents = [(1 << x) - 1 for x in range(m)]
    return LinearGaussianModel.from_estimates([*range(m)], parents, parameters, [0] * m)


def _standard_errors(chain: Floats) -> Floats:
    """Return the standard errors of the means of a chain, along its first axis.

    The chain is taken for autoregressive of order 1, with one correlation for all probabilities:
    that of neighbours in the chain, weighted by variance.
    """
    n = len(chain)
    if n == 1:
        return np.full(chain.shape[1:], np.nan)
    deviations = chain - chain.mean(axis=0)
    squares = float((deviations**2).sum())
    correlation = 0.0
    if squares > 0:
        # Deviations from a mean of n are correlated by -1/n even in a chain that is not.
        correlation = float((deviations[1:] * deviations[:-1]).sum()) / squares + 1 / n
    correlation = min(max(correlation, 0.0), _LARGEST_CORRELATION)
    variance = chain.var(axis=0, ddof=1)
    return np.asarray(np.sqrt(variance / n * (1 + correlation) / (1 - correlation)))

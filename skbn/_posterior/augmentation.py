"""Data augmentation: the posterior of networks from a table with missing values.

A Markov chain over networks, parameters and holes, all of which have their joint posterior: given
the completed table, a network and its parameters are drawn exactly and independently of the last
ones; given these, the holes of each row (Tanner & Wong 1987, "The calculation of posterior
distributions by data augmentation"). The probabilities of edges given each completed table are
exact, and their mean over the chain has less noise than the share of its networks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from skbn._core.arrays import Booleans, Floats, Integers, Random, random_seeds
from skbn._core.resources import Progress, Resources
from skbn._core.text import readable_value, warn
from skbn._data.degenerate_columns import raise_joined
from skbn._data.sample import Sample
from skbn._missing.dependences import require_independent
from skbn._missing.em import saturated
from skbn._missing.incomplete_rows import incomplete_rows, require_spread
from skbn._networks.gaussian import LinearGaussianModel, NetworkParameters
from skbn._networks.network import GaussianBayesianNetwork
from skbn._networks.partial_rows import filled
from skbn._posterior.effects import Batches, KnownPaths, SampledNetworks
from skbn._posterior.network_posterior import network_posterior
from skbn._posterior.parameter_draws import with_parameters
from skbn._posterior.sampling import sample_networks
from skbn._scores.criteria import BGe
from skbn._scores.local_scores import LocalScores
from skbn._solver.constraints import Constraints
from skbn._solver.solve import problem_of
from skbn.exceptions import MissingValuesWarning

# The chain begins with holes drawn from the saturated model; later states hardly depend on them.
_BURN_IN = 10
# Networks that are kept of each table, to be sampled.
_NETWORKS_A_TABLE = 100
# In nats. A coarse start is enough: the chain only begins there.
_COARSE = 1e-2
# A short chain cannot tell how strongly its probabilities are correlated beyond this.
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
    paths, path_errors : ndarray of shape (m, m), float64, or None
        The probabilities of directed paths and their errors; None for the order prior.
    tables : list of LocalScores
        The completed tables.
    parents : ndarray of shape (n_tables, n_networks, m), int64
        The masks of the parents in networks sampled from the posterior of each table.
    """

    prior: str
    edges: Floats
    errors: Floats
    paths: Floats | None
    path_errors: Floats | None
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

    def sampled_tables(self, n: int, random_state: Random) -> list[SampledNetworks]:
        """Return n networks in all, nearly as many of each table, in the chain's order."""
        n_tables, n_networks, _ = self.parents.shape
        chosen = np.arange(n) * n_tables // n  # with few networks, of some tables
        found = []
        for t, size in zip(*np.unique(chosen, return_counts=True), strict=True):
            order = [random_state.permutation(n_networks) for _ in range(-(-size // n_networks))]
            scorer = self.tables[t].scorer
            parents = self.parents[t][np.concatenate(order)[:size]]
            found.append(SampledNetworks(scorer.group_statistics, scorer.criterion, parents))
        return found

    def paths_of(self, tables: Sequence[SampledNetworks]) -> KnownPaths:
        """Return what is known of paths beside these networks."""
        of_network = np.repeat(np.arange(len(tables)), [len(each.parents) for each in tables])
        batches, unknown = Batches(of_network, _standard_errors), np.full(self.edges.shape, np.nan)
        if self.paths is None or self.path_errors is None:
            return KnownPaths(unknown, unknown, batches)
        return KnownPaths(self.paths, self.path_errors, batches)

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


def scores_to_complete(scores: LocalScores, exogenous: Any) -> LocalScores:
    """Return the scores of the rows with a value; raise if draws cannot complete them.

    Parameters
    ----------
    scores : LocalScores
        Of rows with holes.
    exogenous : object
        The columns that the user calls exogenous, or None.

    Raises
    ------
    ValueError
        If there are exogenous columns, nodes of several columns, or weights other than 0 and 1; if
        a column does not vary, or two are never observed together.

    Warns
    -----
    skbn.exceptions.MissingValuesWarning
        If rows have no value.
    """
    sample = scores.sample
    if exogenous is not None:
        raise ValueError(
            "missing='augment' draws missing values from networks, which do not say how exogenous "
            f"columns are distributed; exogenous={readable_value(exogenous)} was asked for. "
            "Complete the table first, or model these columns."
        )
    if sample.nodes is not None:
        raise ValueError(
            "missing='augment' draws numbers, and nodes of several columns may be categories. "
            "Leave nodes at None, or complete the table first."
        )
    if sample.weight is not None and not np.isin(sample.weight, (0, 1)).all():
        raise ValueError(
            "missing='augment' draws the missing values of each row once, which is not right for a "
            "row that counts more than once, or for a part of one. Repeat rows instead of giving "
            "sample_weight."
        )
    counts: Booleans = np.logical_not(np.isnan(sample.rows).all(axis=1))
    if not counts.all():
        n_empty = int(np.count_nonzero(~counts))
        warn(
            f"{n_empty} of {len(counts)} rows of X have no value and are ignored.",
            MissingValuesWarning,
        )
    if sample.weight is not None:
        counts &= sample.weight > 0
    known = Sample(sample.rows[counts])
    _require_regular(known.rows, scores)
    by_pattern = incomplete_rows(known.rows)
    if not by_pattern.pair_weights().all():
        raise ValueError(
            f"{by_pattern.seen_least(scores.columns)}, so that draws of their holes hardly leave "
            "the dependence that they begin with. Leave one of them out."
        )
    criterion = scores.criterion
    if isinstance(criterion, BGe) and criterion.nu is None:  # one prior for all tables
        criterion.set_params(nu=np.nanmean(known.rows, axis=0))
    names = getattr(scores, "feature_names_in_", None)
    return LocalScores._from_sample(
        known, criterion, names, max_parents=scores.max_parents, n_jobs=scores.n_jobs
    )


def _require_regular(rows: Floats, scores: LocalScores) -> None:
    """Raise if columns with holes do not vary, or if a likelihood is unbounded."""
    names, most = scores.columns, scores.max_parents
    m = len(names)
    largest = m if most is None else most + 1
    calls: list[Callable[[], None]] = [partial(require_spread, rows, names)]
    if not isinstance(scores.criterion, BGe):  # whose prior bounds the likelihood
        own = partial(require_independent, rows, names, labels=names, node_of=np.arange(m))
        calls.append(partial(own, largest_family=largest))
    raise_joined(*calls)


def augmented_posterior(
    scores: LocalScores,
    constraints: Constraints,
    resources: Resources,
    *,
    prior: str,
    log_odds: Floats | None,
    n_tables: int,
    random_state: Random,
) -> AugmentedPosterior:
    """Return the mean posterior over a chain of completed tables.

    Parameters
    ----------
    scores : LocalScores
        The scores of rows with holes; each row has an observed value.
    constraints : Constraints
    resources : Resources
        Its progress is advanced by one for each table. The first plan is announced.
    prior, log_odds
        As in `network_posterior`.
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
        table = scores._with_sample(Sample(complete, labels=scores.sample.labels))
        posterior = network_posterior(
            problem_of(table, constraints),
            resources.reporting(Progress()),
            prior=prior,
            log_odds=log_odds,
        )
        resources = replace(resources, announce=None)
        is_kept = step >= _BURN_IN
        n_networks = _NETWORKS_A_TABLE if is_kept else 1
        rng = np.random.default_rng(random_seeds(random_state, 4))
        networks = sample_networks(posterior, n_networks, rng, resources.n_jobs)
        if is_kept:
            edges.append(posterior.edges)
            paths.append(posterior.paths)
            tables.append(table._with_sample(table.sample))  # without log-determinants
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
        _standard_errors(np.array(known_paths)) if known_paths else None,
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

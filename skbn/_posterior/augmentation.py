"""Data augmentation: the posterior of networks from a table with missing values.

Markov chains over networks, parameters and holes, all of which have their joint posterior: given
the completed table, a network and its parameters are drawn exactly and independently of the last
ones; given these, the holes of each row (Tanner & Wong 1987, "The calculation of posterior
distributions by data augmentation"). The probabilities of edges given each completed table are
exact, and their mean over the chains has less noise than the share of their networks. With many
holes, neighbouring tables of a chain are alike, and what the mean is worth shows between chains.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import Floats, Integers, Random, random_seeds
from skbn._core.resources import Progress, Resources
from skbn._core.text import warn
from skbn._data.sample import Sample
from skbn._missing.em import saturated
from skbn._missing.em_in_numpy import MOST_PATTERNS, saturated_by_pattern
from skbn._missing.incomplete_rows import incomplete_rows
from skbn._networks.gaussian import LinearGaussianModel
from skbn._networks.inference import filled, with_levels
from skbn._networks.network import GaussianBayesianNetwork
from skbn._posterior.effects import Batches, KnownPaths
from skbn._posterior.network_posterior import NetworkPosterior
from skbn._posterior.parameter_draws import DrawParameters, SampledNetworks, with_parameters
from skbn._posterior.sampled_posterior import SampledPosterior
from skbn._posterior.sampling import sample_networks
from skbn._scores.criteria import BGe
from skbn._scores.local_scores import LocalScores
from skbn._solver.constraints import Constraints
from skbn._solver.incomplete_problem import IncompleteProblem
from skbn._solver.problem import Problem
from skbn._solver.solve import problem_of
from skbn.exceptions import MissingValuesWarning

PosteriorOfTable = Callable[[Problem, Resources], NetworkPosterior | SampledPosterior]

# Each chain begins with holes drawn from the saturated model; later states hardly depend on them.
_CHAINS, _BURN_IN = 4, 10
# Networks that are kept of each table, to be sampled.
_NETWORKS_A_TABLE = 100
# In nats. A coarse start is enough: the chain only begins there.
_COARSE = 1e-2
# Rows that are repeated as often as they count are in memory.
_MOST_ROWS = 10**7
# Sums of variances below this are rounding errors.
_TINY = 1e-20


@dataclass(frozen=True)
class AugmentedPosterior:
    """Means over chains of completed tables."""

    prior: str
    edges: Floats  # (m, m): at [i, j], the probability of the edge i -> j
    errors: Floats  # (m, m): the Monte-Carlo standard errors of `edges`
    # (m, m): the probabilities of directed paths and their errors; None for the order prior
    paths: Floats | None
    path_errors: Floats | None
    tables: list[LocalScores]  # the completed tables
    # (n_tables, n_networks, m): the masks of the parents in networks sampled from the posterior of
    # each table
    parents: Integers
    exogenous: int  # the mask of the columns that are not modelled

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
            "imputed_tables_": [_shown(table.sample) for table in self.tables],
        }

    def stacked(self) -> Sample:
        """Return the rows of all completed tables, which count as one table's in all."""
        n, sample = len(self.tables), self.tables[0].sample
        rows = np.vstack([table.sample.rows for table in self.tables])
        is_set = None if sample.is_set is None else np.tile(sample.is_set, (n, 1))
        return Sample(rows, np.full(len(rows), 1 / n), None, sample.nodes, is_set)

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

    def networks(
        self, n: int, random_state: Random, draw: DrawParameters = with_parameters
    ) -> list[GaussianBayesianNetwork]:
        """Return n networks with parameters drawn from the posterior of their tables."""
        parents, table = self._with_tables(n, random_state)
        found: dict[int, GaussianBayesianNetwork] = {}
        for t, scores in enumerate(self.tables):
            at = np.flatnonzero(table == t)
            if len(at):
                networks = draw(scores, parents[at], random_state, self.exogenous)
                found |= dict(zip(at.tolist(), networks, strict=True))
        return [found[i] for i in range(n)]


def _shown(sample: Sample) -> Any:
    """Return a completed table in the user's columns, with the levels of categories."""
    nodes = sample.nodes
    return sample.rows if nodes is None or nodes.are_columns else with_levels(nodes, sample.rows)


def scores_to_complete(scores: LocalScores, constraints: Constraints) -> LocalScores:
    """Return the scores of the rows with a value; raise if draws cannot complete them.

    Their columns are those that vary; a row of weight 2 is there twice.

    `scores`: scores of rows with holes

    Warns skbn.exceptions.MissingValuesWarning if rows have no value.
    """
    problem = IncompleteProblem(scores._with_sample(_repeated(scores.sample)), constraints)
    for remark in problem.ignored():
        warn(remark, MissingValuesWarning)
    known, criterion = problem.observed, scores.criterion
    if not isinstance(criterion, BGe):  # whose prior bounds the likelihood
        problem.require_independent()
    by_pattern = incomplete_rows(known.rows)
    if not by_pattern.pair_weights().all():
        raise ValueError(
            f"{by_pattern.seen_least(problem.nodes.column_names)}, so that draws of their holes "
            "hardly leave the dependence that they begin with. Leave one of them out."
        )
    if isinstance(criterion, BGe) and criterion.nu is None and problem.nodes.are_columns:
        criterion.set_params(nu=np.nanmean(known.rows, axis=0))  # one prior for all tables
    names = getattr(scores, "feature_names_in_", None)
    return LocalScores._from_sample(
        known, criterion, names, max_parents=scores.max_parents, n_jobs=scores.n_jobs
    )


def _repeated(sample: Sample) -> Sample:
    """Return the rows as often as they count, so that the holes of each are drawn anew."""
    weight = sample.weight
    if weight is None:
        return sample
    if (weight != np.round(weight)).any():
        row = int(np.argmax(weight != np.round(weight)))
        raise ValueError(
            "missing='augment' draws the missing values of a row as often as it counts, and row "
            f"{row} has sample_weight {weight[row]:g}: a part of a row has no draws. Use "
            "BootstrapBNLearner(GaussianBNLearner(missing='em')), which takes any weights, or give "
            "whole numbers."
        )
    if weight.sum() > _MOST_ROWS:
        raise ValueError(
            f"missing='augment' repeats rows as often as they count, and the weights sum to "
            f"{weight.sum():g}, more than {_MOST_ROWS:,}. Give smaller weights."
        )
    chosen = np.repeat(np.arange(len(weight)), weight.astype(np.int64))
    is_set = None if sample.is_set is None else sample.is_set[chosen]
    return Sample(sample.rows[chosen], None, None, sample.nodes, is_set, may_miss=True)


def augmented_posterior(
    scores: LocalScores,
    constraints: Constraints,
    resources: Resources,
    *,
    posterior_of: PosteriorOfTable,
    n_tables: int,
    random_state: Random,
) -> AugmentedPosterior:
    """Return the mean posterior over chains of completed tables.

    `scores`: the scores of rows with holes; each row has an observed value
    `resources`: its progress is advanced by one for each table. The first plan is announced.
    `posterior_of`: returns the posterior of the networks of a complete table
    `n_tables`: how many tables are kept, of all chains together, after their burn-in
    """
    sample = scores.sample
    rows, nodes, is_set = sample.rows, scores._nodes, sample.is_set
    is_given = None if is_set is None else nodes.by_column(is_set)
    model = _saturated_model(rows)
    edges, paths, tables, parents = [], [], [], []
    progress = resources.progress
    lengths = [len(part) for part in _by_chain(np.arange(n_tables))]
    progress.expect(_BURN_IN * len(lengths) + n_tables)
    for step in [at for n in lengths for at in range(-_BURN_IN, n)]:
        if step == -_BURN_IN:
            complete = filled(model, nodes, rows, random_state)
        table = scores._with_sample(Sample(complete, None, sample.labels, nodes, is_set))
        problem = problem_of(table, constraints)
        assert isinstance(problem.scores, LocalScores)
        table = problem.scores  # without interventions on exogenous columns
        posterior = posterior_of(problem, resources.reporting(Progress()))
        resources = replace(resources, announce=None)
        n_networks = _NETWORKS_A_TABLE if step >= 0 else 1
        rng = np.random.default_rng(random_seeds(random_state, 4))
        if isinstance(posterior, SampledPosterior):
            networks = posterior.sampled(n_networks, rng)
        else:
            networks = sample_networks(posterior, n_networks, rng, resources.n_jobs)
        if step >= 0:
            edges.append(posterior.edges)
            paths.append(posterior.paths)
            tables.append(table._with_sample(table.sample))  # without log-determinants
            parents.append(networks)
        (network,) = with_parameters(table, networks[:1], random_state, constraints.exogenous)
        complete = filled(network._model(), nodes, rows, random_state, is_given)
        progress.advance(1)
    known_paths = [each for each in paths if each is not None]
    return AugmentedPosterior(
        posterior.prior,
        np.mean(edges, axis=0),
        _errors_of_probabilities(np.array(edges)),
        np.mean(known_paths, axis=0) if known_paths else None,
        _errors_of_probabilities(np.array(known_paths)) if known_paths else None,
        tables,
        np.array(parents),
        constraints.exogenous,
    )


def _saturated_model(rows: Floats) -> LinearGaussianModel:
    """Return the saturated model of rows with holes, with parameters by EM."""
    known = incomplete_rows(rows)
    if len(known.patterned.observed) <= MOST_PATTERNS:
        mean, covariance = saturated_by_pattern(known, _COARSE)
    else:
        found = saturated(known, _COARSE)
        (mean,), (covariance,) = found.mean, found.covariance
    m = known.n_columns
    coef, noise = np.zeros((m, m)), np.empty(m)
    for x in range(m):
        of_column = covariance[:x, x]
        coef[:x, x] = np.linalg.solve(covariance[:x, :x], of_column)
        noise[x] = covariance[x, x] - coef[:x, x] @ of_column
    units = known.scale
    own = coef * units / units[:, np.newaxis], known.mean + mean * units, noise * units**2
    return LinearGaussianModel.about_mean(range(m), [(1 << x) - 1 for x in range(m)], *own)


def _by_chain(values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Return the parts of the chains, whose tables come chain after chain."""
    return np.array_split(values, min(_CHAINS, len(values)))


def _standard_errors(values: Floats) -> Floats:
    """Return the standard errors of means over the tables of all chains, along the first axis.

    They follow from the spread between chains. Chains are few, so some errors come out too small.
    An error is therefore at least the error of independent tables times one factor for all
    probabilities, since the tables are correlated.
    """
    if len(values) == 1:
        return np.full(values.shape[1:], np.nan)
    means = np.array([part.mean(axis=0) for part in _by_chain(values)])
    between = means.var(axis=0, ddof=1) / len(means)
    independent = values.var(axis=0, ddof=1) / len(values)
    factor = max(1.0, float(between.sum()) / max(float(independent.sum()), _TINY))
    return np.asarray(np.sqrt(np.maximum(between, factor * independent)))


def _errors_of_probabilities(values: Floats) -> Floats:
    """Return the standard errors of mean probabilities, which may change in tables not drawn.

    n independent tables may easily miss what holds in a share of 1/n of all tables. So the error of
    a probability that varies at all is at least 1/n of the usual deviation between tables.
    """
    errors, variances = _standard_errors(values), values.var(axis=0)
    varies = variances > _TINY
    if varies.any():
        usual = float(variances[varies].mean())
        least = float((errors[varies] ** 2).mean()) / usual**0.5  # n is usual / mean squared error
        errors[varies] = np.maximum(errors[varies], least)
    return errors

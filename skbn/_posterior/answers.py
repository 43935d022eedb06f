"""Answers to what users ask of a posterior: probabilities, tables, a network, densities."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from skbn._chains.convergence import batches_of_states, errors_of_batches
from skbn._core.arrays import Booleans, Floats, as_integer, finite_number
from skbn._core.columns import column_number, parents_in
from skbn._core.graphs import dag_of
from skbn._core.resources import Resources
from skbn._core.subsets import mask_of, members_of
from skbn._core.text import readable_value, warn
from skbn._data.nodes import Nodes
from skbn._data.sample import Sample
from skbn._networks.gaussian import LinearGaussianModel
from skbn._networks.network import GaussianBayesianNetwork
from skbn._posterior.network_posterior import NetworkPosterior, network_posterior
from skbn._posterior.order_sums import log_number_of_orders
from skbn._posterior.parameter_draws import SampledNetworks, log_predictive
from skbn._posterior.sampled_posterior import SampledPosterior
from skbn._scores.base import ProbableParents, ProbableParentSets
from skbn._scores.criteria import BGe, Criterion
from skbn._scores.local_scores import LocalScores
from skbn._solver.problem import Problem
from skbn._solver.solve import problem_of
from skbn.exceptions import ApproximateEvidenceWarning, SamplingWarning


def parent_set_probabilities(
    posterior: NetworkPosterior | SampledPosterior,
    columns: list[str | int],
    child: str | int,
    k: int,
) -> ProbableParentSets:
    """Return the k most probable sets of parents of a column, without sets of probability 0."""
    k = as_integer(k, "k", least=1)
    x = column_number(columns, child)
    ranked = sorted(
        (-float(probability), mask.bit_count(), members_of(mask))
        for mask, probability in zip(*posterior.top_parent_sets(x, k), strict=True)
        if probability > 0 and posterior.constraints.allows(x, mask)
    )
    return ProbableParentSets(
        columns[x],
        [ProbableParents([columns[p] for p in parents], -minus) for minus, _, parents in ranked],
    )


def log_probability(posterior: NetworkPosterior, scores: LocalScores, dag: nx.DiGraph) -> float:
    """Return the log probability of a network, in nats; -inf if constraints rule it out."""
    parents = parents_in(dag, scores.columns)
    masks = [mask_of(each) for each in parents]
    if not all(posterior.constraints.allows(x, mask) for x, mask in enumerate(masks)):
        return -math.inf
    *terms, shared = scores.scorer.network_terms(masks)
    weight = float((sum(terms) + shared)[posterior.constraints.modelled].sum())
    log_odds = posterior.log_odds
    if log_odds is not None:
        weight += sum(float(log_odds[each, x].sum()) for x, each in enumerate(parents))
    if posterior.prior == "order":
        weight += sum(
            log_number_of_orders(masks, group.columns[: group.n_columns])
            for group in posterior.groups
        )
    return min(weight - posterior.log_sum, 0.0)


def median_network(
    problem: Problem, edges: Floats, log_odds: Floats | None = None, is_observed: bool = True
) -> GaussianBayesianNetwork:
    """Return the best network of the pairs joined with probability above 1/2, with parameters.

    Its edges have the attributes `probability`, of their direction, and `joined`, of either one.
    """
    is_joined = edges + edges.T > 0.5
    names = "probability", "joined"
    return problem.averaged_network(
        edges, is_joined, names, log_odds=log_odds, is_observed=is_observed
    )


def pair_columns(
    names: Sequence[Any], edges: Floats, paths: Floats | None, errors: Floats | None
) -> dict[str, Any]:
    """Return the columns of a table with a row for each pair, the most probably joined first.

    `edges`, `paths`: (m, m), at [i, j], the probability of an edge and of a directed path from i to
        j; None leaves the paths out
    `errors`: (m, m), the standard errors of the edges, if these are estimates
    """
    first, second = np.triu_indices(len(names), 1)
    is_backward = edges[second, first] > edges[first, second]
    parent, child = np.where(is_backward, [second, first], [first, second])
    # A network has one of the two edges at most, so that rounding alone lifts the sum above 1.
    joined = np.minimum(edges[parent, child] + edges[child, parent], 1.0)
    order = np.lexsort((child, parent, -edges[parent, child], -joined))
    parent, child, joined = parent[order], child[order], joined[order]
    table = {
        "parent": [names[x] for x in parent],
        "child": [names[x] for x in child],
        "joined": joined,
        "probability": edges[parent, child],
        "reverse": edges[child, parent],
    }
    if errors is not None:
        table |= {
            "standard_error": errors[parent, child],
            "reverse_standard_error": errors[child, parent],
        }
    if paths is not None:
        table |= {"path": paths[parent, child], "reverse_path": paths[child, parent]}
    return table


# With fewer networks behind it, the log of a mean density is off by half a nat or more.
_FEWEST_EFFECTIVE = 5
# A score of BGe is rounded by about 1e-16 times alpha_w nats: up to this limit, 1e-12.
_LARGEST_ALPHA_W = 1e4


def check_evidence(scores: LocalScores) -> None:
    """Raise unless exponentials of the scores are marginal likelihoods; warn if approximately."""
    criterion = scores.criterion
    name = type(criterion).__name__
    alpha_w = getattr(criterion, "alpha_w", None)
    if isinstance(criterion, BGe) and alpha_w is not None and alpha_w > _LARGEST_ALPHA_W:
        m = len(scores.columns)
        raise ValueError(
            f"alpha_w must be more than m + 1 = {m + 1} and at most {_LARGEST_ALPHA_W:g} for a "
            f"posterior of m = {m} columns; got {readable_value(alpha_w)}. The rounding of BGe's "
            "scores grows with it, and probabilities would lose digits. Give a smaller alpha_w."
        )
    if criterion.marginal_likelihood == "none":
        raise ValueError(
            f"criterion={readable_value(criterion)} was asked for, but the exponential of {name} "
            "is no marginal likelihood, so there are no posterior probabilities. Use "
            "criterion='bge', or 'bic' for an approximation."
        )
    if scores.penalty != 1:
        raise ValueError(
            f"The LocalScores were made with penalty={scores.penalty}; the exponential of {name} "
            "is a marginal likelihood with penalty=1 only. Make them with penalty=1."
        )
    if criterion.marginal_likelihood == "approximate":
        warn(
            f"The probabilities are exact sums over all networks, but {name} only approximates "
            "each network's marginal likelihood. Use criterion='bge' for exact ones.",
            ApproximateEvidenceWarning,
        )


def require_density(criterion: Criterion) -> None:
    """Raise a ValueError unless the criterion's marginal likelihood is a density of rows."""
    if not isinstance(criterion, BGe):
        raise ValueError(
            f"The posterior predictive density is known for criterion='bge' only; "
            f"{type(criterion).__name__} is no density of rows. Fit with BGe."
        )


def densities_given_networks(
    table: SampledNetworks,
    nodes: Nodes,
    modelled: Sequence[int],
    sample: Sample,
    is_set: Booleans | None,
) -> Floats:
    """Return the log density of all new rows given each network, parameters integrated out.

    `modelled`: the numbers of the nodes that are
    `sample`: complete rows of the nodes' columns
    `is_set`: (n, m), which nodes were set in each row
    """
    rows, weight, is_set = _counted(sample, is_set)
    of_column = {x: statistics for own, statistics in table.groups for x in own}
    counts = ~is_set if is_set is not None else np.ones((len(rows), len(nodes.names)), dtype=bool)
    known: dict[tuple[int, int], float] = {}

    def density(node: int, mask: int) -> float:
        if (node, mask) not in known:
            before, own, total = nodes.columns_of(members_of(mask)), counts[:, node], 0.0
            for child in nodes.columns_of([node]):
                given = of_column[child], table.criterion, child, before
                total += log_predictive(*given, rows[own], weight[own])
                before = [*before, child]
            known[node, mask] = total
        return known[node, mask]

    return np.array(
        [sum(density(x, masks[x]) for x in modelled) for masks in table.parents.tolist()]
    )


def _counted(sample: Sample, is_set: Booleans | None) -> tuple[Floats, Floats, Booleans | None]:
    """Return the rows of a positive weight, their weights, and what was set in them."""
    if sample.weight is None:
        return sample.rows, np.ones(len(sample.rows)), is_set
    counts = sample.weight > 0
    return sample.rows[counts], sample.weight[counts], None if is_set is None else is_set[counts]


def densities_given_parameters(
    models: Sequence[LinearGaussianModel], sample: Sample, is_set: Booleans | None
) -> Floats:
    """Return the log density of all new rows by each of some networks with parameters.

    `sample`: rows of their columns, in which values may be missing
    `is_set`: (n, n_columns), which columns were set in each row
    """
    rows, weight, is_set = _counted(sample, is_set)
    return np.array([float(weight @ model.log_density(rows, is_set)) for model in models])


def log_of_mean(logs: Floats) -> float:
    """Return the logarithm of the mean of drawn densities, from their logarithms.

    Warns SamplingWarning if a few of the draws make up nearly all of the mean.
    """
    shares = np.exp(logs - logs.max())
    n_effective = shares.sum() ** 2 / (shares**2).sum()
    if n_effective < _FEWEST_EFFECTIVE:
        warn(
            f"The predictive density of these rows rests on about {n_effective:.0f} of "
            f"{len(logs)} drawn networks, so that it is a rough estimate. Score fewer rows at a "
            "time, or rows without missing values.",
            SamplingWarning,
        )
    return float(logs.max() + np.log(shares.mean()))


def mean_log_predictive_density(
    fitted: NetworkPosterior, scores: LocalScores, sample: Sample, resources: Resources
) -> float:
    """Return the mean log posterior predictive density of new rows, in nats.

    It is the evidence of all rows divided by the evidence of the fitted rows.

    `scores`: those of the fitted rows
    `sample`: the new rows
    """
    criterion = scores.scorer.criterion
    assert isinstance(criterion, BGe)
    # By default the prior mean is the mean of the rows; new rows must not change it.
    nu = scores.sample.summary.column_means if criterion.nu is None else criterion.nu
    both = LocalScores._from_sample(
        Sample.of_summary(scores.sample.summary.merge(sample.summary), scores.sample.nodes),
        clone(criterion).set_params(nu=nu),
        getattr(scores, "feature_names_in_", None),
        max_parents=scores.max_parents,
        n_jobs=resources.n_jobs,
    )
    of_both = network_posterior(
        problem_of(both, fitted.constraints),
        replace(resources, announce=None),
        prior=fitted.prior,
        log_odds=fitted.log_odds,
        sum_only=True,
    )
    return (of_both.log_sum - fitted.log_sum) / sample.summary.n_samples


class EstimatedProbability(NamedTuple):
    """A mean over sampled networks."""

    value: float
    standard_error: float  # by the spread of the samples; 0 if all of them agree
    n_samples: int


def estimated_probability(
    feature: Callable[[nx.DiGraph], Any],
    columns: list[str | int],
    parents: npt.NDArray[Any],
    n_chains: int = 0,
) -> EstimatedProbability:
    """Return the mean of a feature over networks, from the masks of each column's parents.

    `n_chains` is the number of Markov chains that the networks were drawn from, chain after chain,
    or 0 for independent draws.
    """
    values = np.empty(len(parents))
    for i, masks in enumerate(parents.tolist()):
        value = feature(dag_of(columns, masks))
        is_bool = isinstance(value, np.bool_)
        values[i] = finite_number(bool(value) if is_bool else value, "What feature returns")
    error = float(values.std(ddof=1) / math.sqrt(len(values)))
    if n_chains:
        batch = batches_of_states(len(values), n_chains)
        means = np.bincount(batch, values) / np.bincount(batch)
        error = float(errors_of_batches(means.reshape(n_chains, -1)))
    return EstimatedProbability(float(values.mean()), error, len(values))


def require_feature(feature: Any) -> None:
    """Raise unless the feature of networks is a function."""
    if not callable(feature):
        raise TypeError(
            "feature must be a function of a network, such as networkx.is_weakly_connected; "
            f"got {readable_value(feature)}."
        )


def require_two(n_samples: int) -> None:
    if as_integer(n_samples, "n_samples") < 2:
        raise ValueError(f"n_samples must be at least 2 for a standard error; got {n_samples}.")

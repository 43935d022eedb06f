"""What is made of sampled networks: their parameters, and means over them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import numpy.typing as npt

from skbn._chains.convergence import batches_of_states, errors_of_batches
from skbn._core.arrays import as_integer, finite_number
from skbn._core.graphs import dag_of
from skbn._core.text import readable_value
from skbn._networks.block_network import network_of_model
from skbn._networks.gaussian import LinearGaussianModel
from skbn._networks.network import GaussianBayesianNetwork
from skbn._posterior.family_weights import mask_type
from skbn._posterior.parameter_draws import NETWORKS_AT_A_TIME, draw_parameters
from skbn._scores.local_scores import LocalScores


class EstimatedProbability(NamedTuple):
    """A mean over sampled networks.

    Parameters
    ----------
    value : float
    standard_error : float
        The mean's, by the spread of the samples; 0 if all of them agree.
    n_samples : int
    """

    value: float
    standard_error: float
    n_samples: int


def estimated_probability(
    feature: Callable[[nx.DiGraph], Any],
    columns: list[str | int],
    parents: npt.NDArray[Any],
    n_chains: int = 0,
) -> EstimatedProbability:
    """Return the mean of a feature over networks, from the masks of each column's parents.

    `n_chains` is of how many Markov chains they are states, chain after chain, or 0 if they are
    independent of each other.
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


def with_parameters(
    scores: LocalScores,
    parents: npt.NDArray[Any],
    random_state: np.random.RandomState,
    exogenous: int = 0,
) -> list[GaussianBayesianNetwork]:
    """Return networks with parameters drawn from their posterior.

    `exogenous` is the mask of the columns that are not modelled.
    """
    scorer, groups = scores.scorer, scores.scorer.group_statistics
    outside = tuple(scorer.columns_of(exogenous))
    networks = []
    for start in range(0, len(parents), NETWORKS_AT_A_TIME):
        some = parents[start : start + NETWORKS_AT_A_TIME]
        of_columns: npt.NDArray[Any] = np.array(
            [scorer.parents_of_columns(masks) for masks in some.tolist()],
            dtype=mask_type(len(scorer.column_names)),
        )
        drawn = draw_parameters(groups, scorer.criterion, of_columns, random_state)
        for columns, parameters in zip(of_columns.tolist(), drawn, strict=True):
            model = LinearGaussianModel.from_estimates(
                scorer.column_names, columns, parameters, [0] * len(columns)
            )
            networks.append(network_of_model(replace(model, exogenous=outside), scorer.nodes))
    return networks


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

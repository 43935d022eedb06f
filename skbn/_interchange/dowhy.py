"""Fitted causal models of dowhy's package gcm."""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import numpy as np
from scipy.stats import norm
from sklearn.linear_model import LinearRegression

from skbn._core.text import readable_value
from skbn._interchange.exported import noisy_dag, optional_module


def to_dowhy(network: Any) -> Any:
    """Return a network as a fitted causal model of ``dowhy.gcm``.

    It has the network's own parameters, so that `counterfactual_samples`, `interventional_samples`,
    `attribute_anomalies`, `intrinsic_causal_influence` and the like run at once. The model has a
    graph of its own: whatever gcm writes into it, the network stays as it is.

    Parameters
    ----------
    network : GaussianBayesianNetwork
        With parameters. The nodes are the columns of the data frames that gcm takes.

    Returns
    -------
    model : dowhy.gcm.InvertibleStructuralCausalModel
        Nodes without parents have a normal distribution, the others a linear regression with
        normal noise. ``gcm.fit(model, X)`` replaces the parameters of the regressions.

    Raises
    ------
    ImportError
        If dowhy is not installed.
    TypeError
        If it is not a network, or one with nodes of several columns.
    sklearn.exceptions.NotFittedError
        If there are no parameters.
    ValueError
        If a node is not a string, is exogenous, or has no noise.

    See Also
    --------
    skbn.GaussianBayesianNetwork.counterfactual : Without dowhy.

    Examples
    --------
    >>> from dowhy import gcm  # doctest: +SKIP
    >>> model = to_dowhy(learner.network_)  # doctest: +SKIP
    >>> gcm.interventional_samples(  # doctest: +SKIP
    ...     model, {"hue": lambda hue: 1.2}, num_samples_to_draw=1000
    ... )
    """
    dag = noisy_dag(network, "to_dowhy")
    for node in dag:
        if not isinstance(node, str):
            raise ValueError(
                f"dowhy names nodes by strings; got {readable_value(node)}. Rename it with "
                "networkx.relabel_nodes."
            )
    gcm = optional_module("dowhy.gcm", "dowhy")
    parents_during_fit = optional_module("dowhy.gcm.causal_models", "dowhy").PARENTS_DURING_FIT
    graph = nx.DiGraph()
    graph.add_nodes_from(dag)
    graph.add_edges_from(dag.edges)
    model = gcm.InvertibleStructuralCausalModel(graph)
    for node, data in dag.nodes(data=True):
        deviation = math.sqrt(data["noise_variance"])
        parents = sorted(dag.predecessors(node))  # gcm's order of columns
        if parents:
            weights = np.array([dag.edges[parent, node]["weight"] for parent in parents])
            noise = gcm.ScipyDistribution(norm, loc=0.0, scale=deviation)
            regression = gcm.ml.SklearnRegressionModel(_regression(weights, data["intercept"]))
            model.set_causal_mechanism(node, gcm.AdditiveNoiseModel(regression, noise))
        else:
            alone = gcm.ScipyDistribution(norm, loc=data["intercept"], scale=deviation)
            model.set_causal_mechanism(node, alone)
        model.graph.nodes[node][parents_during_fit] = parents  # by which gcm knows fitted nodes
    return model


def _regression(weights: Any, intercept: float) -> LinearRegression:
    regression = LinearRegression()
    regression.coef_, regression.intercept_ = weights, intercept
    regression.n_features_in_ = len(weights)
    return regression

"""Models of pgmpy."""

import math
from collections.abc import Hashable, Mapping
from typing import Any

import networkx as nx

from skbn._core.arrays import finite_number
from skbn._core.graphs import check_dag
from skbn._core.text import must_be, readable_value
from skbn._interchange.models import check_single_columns, optional_module
from skbn._networks.network import GaussianBayesianNetwork


def to_pgmpy(network: Any) -> Any:
    """Return a network as a model of pgmpy.

    Parameters
    ----------
    network : GaussianBayesianNetwork
        With parameters.

    Returns
    -------
    model : pgmpy.models.LinearGaussianBayesianNetwork
        It keeps standard deviations, whose squares may differ from the variances in the last bit.
        It does not keep the attribute `fixed` of edges.

    Raises
    ------
    ImportError, TypeError, ValueError
        If pgmpy is not installed; if it is not a network, or its nodes have several columns, or are
        categories; if nodes are exogenous, as pgmpy needs distributions of all.

    Examples
    --------
    >>> to_pgmpy(network).get_cpds("b")  # doctest: +SKIP
    <LinearGaussianCPD: P(b | a) = N(2.0*a + 1.0; 0.5) at 0x7f5ff6c1e110>
    """
    check_single_columns(network, "to_pgmpy")
    network._model().require_distribution()
    dag = network.dag
    model = optional_module("pgmpy.models").LinearGaussianBayesianNetwork()
    model.add_nodes_from(dag)
    model.add_edges_from(dag.edges)
    conditional = optional_module("pgmpy.factors.continuous").LinearGaussianCPD
    for node, data in dag.nodes(data=True):
        parents = list(dag.predecessors(node))
        beta = [data["intercept"], *(dag.edges[parent, node]["weight"] for parent in parents)]
        model.add_cpds(conditional(node, beta, math.sqrt(data["noise_variance"]), parents))
    return model


def from_pgmpy(model: Any) -> GaussianBayesianNetwork:
    """Read a network from a model of pgmpy.

    Parameters
    ----------
    model : pgmpy.models.LinearGaussianBayesianNetwork
        With the conditional distributions of all its nodes.

    Returns
    -------
    network : GaussianBayesianNetwork

    Raises
    ------
    ImportError, TypeError, ValueError
        If pgmpy is not installed; if it is another model; if a node's conditional distribution is
        missing or does not fit its parents.

    Examples
    --------
    >>> from pgmpy.models import LinearGaussianBayesianNetwork  # doctest: +SKIP
    >>> model = LinearGaussianBayesianNetwork([("a", "b")]).fit(table)  # doctest: +SKIP
    >>> network = from_pgmpy(model)  # doctest: +SKIP
    """
    if not isinstance(model, optional_module("pgmpy.models").LinearGaussianBayesianNetwork):
        raise TypeError(must_be("model", "a pgmpy LinearGaussianBayesianNetwork", type(model)))
    distributions: Mapping[Hashable, Any] = {cpd.variable: cpd for cpd in model.cpds}
    dag = nx.DiGraph()
    dag.add_nodes_from(model)
    for node in model:
        if node not in distributions:
            raise ValueError(f"model has no CPD of node {node!r}; add one, or fit the model.")
        cpd = distributions[node]
        parents, beta = list(cpd.evidence), list(cpd.beta)
        if set(parents) != set(model.predecessors(node)) or len(beta) != len(parents) + 1:
            raise ValueError(
                f"The CPD of node {node!r} must have a coefficient for each of its parents "
                f"{list(model.predecessors(node))} and one before them; it has {beta} for "
                f"{parents}."
            )
        deviation = finite_number(cpd.std, f"std of node {node!r}")
        if deviation < 0:
            raise ValueError(
                f"std of node {node!r} must not be negative; got {readable_value(deviation)}."
            )
        dag.add_node(node, intercept=beta[0], noise_variance=deviation * deviation)
        dag.add_weighted_edges_from((p, node, w) for p, w in zip(parents, beta[1:], strict=True))
    check_dag(dag, "model")
    return GaussianBayesianNetwork(dag)

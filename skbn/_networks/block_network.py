"""stub"""

from __future__ import annotations

from collections.abc import Sequence

from skbn._core.graphs import dag_of
from skbn._data.nodes import Nodes
from skbn._networks.gaussian import LinearGaussianModel
from skbn._networks.network import GaussianBayesianNetwork


class GaussianBlockNetwork(GaussianBayesianNetwork):
    pass


def network_of_model(
    model: LinearGaussianModel,
    parents: Sequence[int],
    nodes: Nodes | None,
    irreversible: Sequence[int] | None = None,
) -> GaussianBayesianNetwork:
    """Return the network of nodes that has these parameters of columns."""
    if nodes is None:
        return GaussianBayesianNetwork._from_model(model)
    return GaussianBayesianNetwork(dag_of(nodes.names, list(parents), irreversible))

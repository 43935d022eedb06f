"""What can be written for another program, and under which names."""

from __future__ import annotations

import re
from collections.abc import Hashable
from importlib import import_module
from typing import Any

import networkx as nx

from skbn._networks.network import GaussianBayesianNetwork

# R's, which lavaan reads.
_RESERVED = {
    *("if", "else", "repeat", "while", "function", "for", "next", "break", "in"),
    *("TRUE", "FALSE", "NULL", "Inf", "NaN", "NA"),
}


def check_network(network: Any) -> None:
    """Raise a TypeError if this is not a network."""
    if not isinstance(network, GaussianBayesianNetwork):
        raise TypeError(
            "network must be a GaussianBayesianNetwork, such as network_ of a fitted learner; got "
            f"{type(network).__name__}."
        )


def check_single_columns(network: Any, function: str) -> None:
    """Raise a TypeError if this is not a network whose nodes are single columns."""
    check_network(network)
    if not has_single_columns(network):
        raise TypeError(
            f"{function} is for networks whose nodes are single columns. Use "
            f"skbn.io.{function}(network.columns_), which is about the columns."
        )


def has_single_columns(network: Any) -> bool:
    """Whether each node of a network is the column of its name."""
    return all(columns == [node] for node, columns in network.nodes_.items())


def noisy_dag(network: Any, function: str) -> nx.DiGraph:
    """Return a copy of a network's graph, after checking that all its nodes have a distribution.

    Raises
    ------
    TypeError
        If its nodes are not single columns.
    sklearn.exceptions.NotFittedError
        If there are no parameters.
    ValueError
        If a node is exogenous, or its noise variance is 0.
    """
    check_single_columns(network, function)
    if exogenous := network.exogenous:
        raise ValueError(
            f"{function} needs the distributions of all nodes, and {exogenous[0]!r} is exogenous. "
            "Fit a network of the graph without the attribute exogenous."
        )
    dag: nx.DiGraph = network.dag_.copy()
    for node, variance in dag.nodes(data="noise_variance"):
        if variance == 0:
            raise ValueError(
                f"{function} needs nodes with noise, and the noise variance of {node!r} is 0. "
                "Give the network before do, or leave the node out."
            )
    return dag


def legal_names(network: Any) -> dict[Hashable, str]:
    """Return a name for each node that consists of ASCII letters, digits and underscores.

    Model strings use these names, for programs that read other characters as operators.

    Parameters
    ----------
    network : GaussianBayesianNetwork

    Returns
    -------
    names : dict of node to str
        All different. ``X.rename(columns=names)`` renames the columns of a data frame.

    Raises
    ------
    TypeError, ValueError
        If it is not a network, or its graph has a cycle.

    Examples
    --------
    >>> import networkx as nx
    >>> from skbn import GaussianBayesianNetwork
    >>> from skbn.io import legal_names
    >>> dag = nx.DiGraph([("od280/od315", "od280 od315"), (7, "in")])
    >>> list(legal_names(GaussianBayesianNetwork(dag)).values())
    ['od280_od315', 'od280_od315_2', 'x7', 'in_']
    """
    check_network(network)
    names: dict[Hashable, str] = {}
    taken = {str(node) for node in network.nodes if _is_legal(str(node))}
    for node in network.nodes:
        name = str(node)
        if not _is_legal(name) or name in names.values():
            plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
            plain = plain if re.match("[A-Za-z]", plain) else f"x{plain}"
            plain = f"{plain}_" if plain in _RESERVED else plain
            name, number = plain, 1
            while name in taken:
                number += 1
                name = f"{plain}_{number}"
            taken.add(name)
        names[node] = name
    return names


def _is_legal(name: str) -> bool:
    return bool(re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name)) and name not in _RESERVED


def optional_module(name: str, package: str) -> Any:
    """Import a module of a package that need not be installed.

    Raises
    ------
    ImportError
        If it is not.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"This needs {package}: pip install {package} ({error}).") from error

"""Model strings of lavaan and semopy."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from skbn._interchange.exported import check_single_columns, legal_names


def to_lavaan(network: Any, *, fixed: bool = False) -> str:
    """Return a network as a model string for lavaan in R and semopy in Python.

    Both then fit the same model as `GaussianBayesianNetwork.fit`: all covariances are written down,
    those between nodes without parents and between nodes without children as 0, because both
    programs would otherwise add them.

    Parameters
    ----------
    network : GaussianBayesianNetwork
        Its parameters are not needed, unless `fixed`.
    fixed : bool, default=False
        Whether to fix all coefficients and variances to the network's, to see how it fits other
        rows. Intercepts are left out.

    Returns
    -------
    model : str
        The nodes have their `legal_names`. Rename the table's columns by these.

    Raises
    ------
    TypeError, ValueError
        If it is not a network, or one with nodes of several columns; if its graph has a cycle.
    sklearn.exceptions.NotFittedError
        If `fixed` and there are no parameters.

    See Also
    --------
    legal_names : What the model calls each node.
    skbn.GaussianBayesianNetwork.fit_indices : The chi-squared statistic, CFI, TLI and RMSEA that
        lavaan reports, without it.

    Notes
    -----
    In lavaan, ``sem(model, data)`` gives the chi-squared statistic of `fit_indices`. Exogenous
    nodes have free variances and covariances, so that log-likelihood, AIC and BIC include them.

    Examples
    --------
    >>> import networkx as nx
    >>> from skbn import GaussianBayesianNetwork
    >>> from skbn.io import to_lavaan
    >>> dag = nx.DiGraph([("hue", "od280/od315"), ("ash", "od280/od315")])
    >>> print(to_lavaan(GaussianBayesianNetwork(dag)))
    od280_od315 ~ hue + ash
    hue ~~ hue
    od280_od315 ~~ od280_od315
    ash ~~ ash
    hue ~~ 0*ash
    """
    check_single_columns(network, "to_lavaan")
    exogenous = set(network.exogenous)  # raises if the graph is wrong
    dag = network.dag_ if fixed else network.dag
    names = legal_names(network)
    lines = []
    for node in dag:
        parents = [
            f"{dag.edges[parent, node]['weight']!r}*{names[parent]}" if fixed else names[parent]
            for parent in dag.predecessors(node)
        ]
        if parents:
            lines.append(f"{names[node]} ~ {' + '.join(parents)}")
    for node, variance in dag.nodes(data="noise_variance"):
        factor = f"{variance!r}*" if fixed else ""
        lines.append(f"{names[node]} ~~ {factor}{names[node]}")
    roots = [node for node in dag if not dag.in_degree(node)]
    leaves = [node for node in dag if not dag.out_degree(node)]
    for a, b in dict.fromkeys([*combinations(roots, 2), *combinations(leaves, 2)]):
        factor = "" if {a, b} <= exogenous else "0*"
        lines.append(f"{names[a]} ~~ {factor}{names[b]}")
    return "\n".join(lines)

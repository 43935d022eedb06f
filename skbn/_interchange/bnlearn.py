"""bnlearn: code for fitted networks."""

import json
import math
from typing import Any

from skbn._interchange.model_strings import to_modelstring
from skbn._interchange.models import noisy_dag


def to_bnlearn(network: Any) -> str:
    """Return R code whose value is the network as a fitted one of bnlearn.

    Write it to a file and call ``fitted <- source("network.R")$value``.

    Parameters
    ----------
    network : GaussianBayesianNetwork
        With parameters.

    Returns
    -------
    code : str
        A call of bnlearn's `custom.fit`, with the model string and the coefficients.

    Raises
    ------
    TypeError, ValueError
        If it is not a network, or one with nodes of several columns; if a node's name has a
        bracket, ``|`` or ``:``; if a node is exogenous, or has no noise.

    Examples
    --------
    >>> import networkx as nx
    >>> from skbn import GaussianBayesianNetwork
    >>> from skbn.io import to_bnlearn
    >>> dag = nx.DiGraph()
    >>> dag.add_nodes_from("ab", intercept=0.5, noise_variance=4.0)
    >>> dag.add_edge("a", "b", weight=2.0)
    >>> print(to_bnlearn(GaussianBayesianNetwork(dag)))
    bnlearn::custom.fit(bnlearn::model2network("[a][b|a]"), list(
      "a" = list(coef = c("(Intercept)" = 0.5), sd = 2.0),
      "b" = list(coef = c("(Intercept)" = 0.5, "a" = 2.0), sd = 2.0)
    ))
    """
    dag = noisy_dag(network, "to_bnlearn")
    text = to_modelstring(network)  # raises for names that bnlearn cannot have
    rows = []
    for node, data in dag.nodes(data=True):
        weights = [(p, edge["weight"]) for p, edge in dag.pred[node].items()]
        terms = [f'"(Intercept)" = {data["intercept"]!r}']
        terms += [f"{_quoted(parent)} = {weight!r}" for parent, weight in weights]
        deviation = math.sqrt(data["noise_variance"])
        rows.append(f"  {_quoted(node)} = list(coef = c({', '.join(terms)}), sd = {deviation!r})")
    call = f"bnlearn::custom.fit(bnlearn::model2network({_quoted(text)}), list("
    return "\n".join([call, ",\n".join(rows), "))"])


def _quoted(text: Any) -> str:
    # R's escapes in strings are among JSON's, but for the slash, which json does not escape.
    return json.dumps(str(text), ensure_ascii=False)

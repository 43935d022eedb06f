"""A network in words and equations, as `print` shows it."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence

import networkx as nx
import numpy as np

from skbn._core.graphs import fixed_parent_masks, parent_masks
from skbn._core.subsets import members_of
from skbn._core.text import readable_name
from skbn._networks.equivalence import compelled_parents
from skbn._networks.gaussian import LinearGaussianModel

__all__ = ["network_text"]

# More lines would fill the screen, and a line of more parents would be broken.
_MOST_LINES = 15
_MOST_PARENTS = 6


def network_text(title: str, dag: nx.DiGraph, model: LinearGaussianModel | None) -> str:
    """Return a few lines: what the network consists of, and the regression of each node.

    Parameters
    ----------
    title : str
        What the object is.
    dag : networkx.DiGraph
        Acyclic.
    model : LinearGaussianModel or None
        Its parameters; without them, nodes are listed with their parents.

    Examples
    --------
    >>> import networkx as nx
    >>> print(network_text("Network", nx.DiGraph([("a", "c"), ("b", "c")]), None))
    Network of 3 nodes and 2 edges (0 reversible)
    c <- a, b
    """
    nodes, parents = list(dag), parent_masks(dag)
    compelled = compelled_parents(parents, fixed_parent_masks(dag))
    n_edges = dag.number_of_edges()
    n_reversible = n_edges - sum(mask.bit_count() for mask in compelled)
    caption = f"{title} of {_count(len(nodes), 'node')} and {_count(n_edges, 'edge')}"
    if n_edges:
        caption += f" ({n_reversible} reversible)"
    lines = [
        _structure_line(nodes, v, members_of(mask))
        if model is None
        else _equation(model, v, members_of(mask))
        for v, mask in enumerate(parents)
        if mask or model is not None
    ]
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES - 1 :] = [f"... and {len(lines) - _MOST_LINES + 1} more nodes"]
    return "\n".join([caption, *lines])


def _structure_line(nodes: Sequence[Hashable], child: int, parents: list[int]) -> str:
    names = [_symbol(nodes[p]) for p in parents]
    return f"{_symbol(nodes[child])} <- {', '.join(_first(names, ''))}"


def _equation(model: LinearGaussianModel, child: int, parents: list[int]) -> str:
    """Return the regression of a node on its parents, such as ``b = 1 - 2 a, noise sd 3``."""
    slopes = []
    for p in parents:
        weight = model.coef[p, child]
        sign = "-" if weight < 0 else "+"
        slopes.append(f"{sign} {_number(abs(weight))} {_symbol(model.nodes[p])}")
    mean = " ".join([_number(model.intercept[child]), *_first(slopes, "+ ")])
    if slopes:
        mean = re.sub(r"^-?0 (?:\+ |(-) )", r"\1", mean)  # no intercept of 0
    deviation = np.sqrt(model.noise_variance[child])
    noise = f"noise sd {_number(deviation)}" if deviation else "no noise"
    return f"{_symbol(model.nodes[child])} = {mean}, {noise}"


def _first(texts: list[str], prefix: str) -> list[str]:
    """Return the texts about some parents, and the number of the others if there are too many."""
    if len(texts) <= _MOST_PARENTS:
        return texts
    n_others = len(texts) - _MOST_PARENTS + 1
    return [*texts[: _MOST_PARENTS - 1], f"{prefix}{n_others} more parents"]


def _symbol(node: Hashable) -> str:
    """Return the name of a node, such that a number is not taken for a value."""
    return readable_name(node) if isinstance(node, str) else f"x[{readable_name(node)}]"


def _number(value: float) -> str:
    """Return a number to three digits, without an exponent if that is short: 1230, not 1.23e+03."""
    return f"{float(f'{value:.3g}'):g}"


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"

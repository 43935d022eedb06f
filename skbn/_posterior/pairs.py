"""A table of the pairs of columns: how probably each is joined, in which direction, by a path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skbn._core.arrays import Floats


def pair_columns(
    names: Sequence[Any], edges: Floats, paths: Floats | None, errors: Floats | None
) -> dict[str, Any]:
    """Return the columns of a table with a row for each pair, the most probably joined first.

    Parameters
    ----------
    names : sequence of m str or int
    edges, paths : ndarray of shape (m, m)
        At [i, j], the probability of an edge and of a directed path from i to j; None leaves the
        paths out.
    errors : ndarray of shape (m, m), or None
        The standard errors of the edges, if these are estimates.
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

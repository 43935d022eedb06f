"""Standard errors where rows of one group may depend on each other: the cluster sandwich.

A coefficient of least squares differs from the truth by the sum of its *influences*,

    inv(scatter of the parents) @ parents[i] * residual[i],

over the rows i. Summed by group, they are independent of each other. So the variance of a sum of
coefficients is the sum over the groups of its squared influences (Liang & Zeger 1986, "Longitudinal
data analysis using generalized linear models"). As in Stata, it is multiplied by
``g / (g - 1) * (n - 1) / (n - k - 1)`` for g groups, n rows and k parents, and Student's
distribution has g - 1 degrees of freedom.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from skbn._core.arrays import Booleans, Floats
from skbn._core.resources import one_blas_thread
from skbn._core.subsets import members_of
from skbn._core.text import readable_name
from skbn._data.nodes import Nodes
from skbn._data.row_values import read_row_groups
from skbn._data.sample import Sample


class Influences(NamedTuple):
    """How much each group of rows moves each coefficient of a network."""

    of_edges: dict[int, dict[int, Floats]]  # by child and parent, (n_groups,)
    freedom: Floats  # (m,), the groups with rows that count for each child, less 1

    def error(self, parts: Iterable[tuple[int, int, float]]) -> tuple[float, float]:
        """Return the standard error of a sum of coefficients with weights, and its freedom."""
        total, freedom = np.zeros(1), np.inf
        for parent, child, weight in parts:
            total = total + weight * self.of_edges[child][parent]
            freedom = min(freedom, self.freedom[child])
        return float(np.sqrt(np.sum(np.square(total)))), float(freedom)


class ClusterErrors(NamedTuple):
    """The influences of groups of rows on a network."""

    with_own: Influences  # on the coefficients of parents, with the others of a child's own node
    between: Influences  # on those of the columns of other nodes alone


@one_blas_thread()
def cluster_errors(
    sample: Sample, is_set: Booleans | None, blocks: Nodes, parents: list[int], groups: Any
) -> ClusterErrors:
    """Return the influences of the groups on least squares; raise if a child has a single group.

    `is_set`: (n, n_nodes), which nodes were set in each row
    `parents`: the masks of the columns' parents
    """
    if not sample.has_rows:
        raise TypeError("groups need rows in memory. Pass the table, as by X.compute().")
    codes, _ = read_row_groups(groups, sample.labels, len(sample.rows), "groups")
    weight = np.ones(len(codes)) if sample.weight is None else sample.weight
    counts = np.repeat(weight[:, np.newaxis], len(parents), axis=1)
    if is_set is not None:
        counts[blocks.by_column(is_set)] = 0
    known = sample.rows, counts, codes, blocks.column_names
    with_own = _influences(*known, parents)
    if blocks.are_columns:
        return ClusterErrors(with_own, with_own)
    outer = blocks.parents_of_columns(blocks.parents_of_nodes(parents), within=False)
    return ClusterErrors(with_own, _influences(*known, outer))


def _influences(
    rows: Floats, counts: Floats, codes: Any, names: Sequence[Any], parents: list[int]
) -> Influences:
    found, freedom = dict[int, dict[int, Floats]](), np.full(len(parents), np.inf)
    for child, given in ((x, members_of(mask)) for x, mask in enumerate(parents) if mask):
        own = counts[:, child] > 0
        weight, group = counts[own, child], codes[own]
        n, n_groups, k = weight.sum(), len(np.unique(group)), len(given)
        if n_groups < 2:
            raise ValueError(
                f"groups must have two groups or more, and twenty for good intervals; all rows "
                f"that count for {readable_name(names[child])} are in one. Leave groups out for "
                "independent rows."
            )
        family = rows[own][:, [*given, child]]
        root = np.sqrt(weight)[:, np.newaxis]
        family = (family - weight @ family / n) * root
        scale = np.sqrt((family**2).sum(axis=0))
        q, r = np.linalg.qr(family[:, :-1] / scale[:-1])
        residuals = family[:, -1] - q @ (q.T @ family[:, -1])
        of_rows = q * residuals[:, np.newaxis] @ np.linalg.inv(r).T / scale[:-1]
        factor = n_groups / (n_groups - 1) * (n - 1) / (n - k - 1)
        sums = (np.bincount(group, own, minlength=codes.max() + 1) for own in of_rows.T)
        found[child] = {p: own * np.sqrt(factor) for p, own in zip(given, sums, strict=True)}
        freedom[child] = n_groups - 1
    return Influences(found, freedom)

"""Nodes of several columns: which columns of numbers stand for each node.

A category is a node of k - 1 indicators, those of all its levels but the first; a spline or a
sensor of several channels is a node of the columns that the user names. All other columns are nodes
of their own. Scores, networks and displays know nodes; regressions know columns.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from skbn._core.arrays import Booleans, Floats, Integers
from skbn._core.subsets import mask_of, members_of


class NodeColumn(NamedTuple):
    """A column of numbers."""

    name: str | int  # for an indicator, the node and the level: "site=north"
    source: int  # the number of the user's column that it is made of
    level: Any = None  # the level that it indicates; None for a column that is taken as it is


@dataclass(frozen=True)
class Nodes:
    """The nodes of a table, and the columns that stand for each."""

    names: list[str | int]  # the nodes, in their order
    columns: list[NodeColumn]  # those of a node stand together; the nodes are in order
    widths: list[int]  # how many columns each node has
    # all levels of each category, the one without an indicator first
    levels: dict[str | int, list[Any]]
    labels: list[Hashable]  # the labels of the user's columns, or their numbers if they have none

    @classmethod
    def of_single_columns(cls, names: Sequence[Any]) -> Self:
        """Return nodes that are a column each, of the same name."""
        columns = [NodeColumn(name, j) for j, name in enumerate(names)]
        return cls(list(names), columns, [1] * len(columns), {}, list(names))

    @cached_property
    def are_columns(self) -> bool:
        """Whether each node is a column of numbers."""
        return not self.levels and self.names == self.column_names

    @cached_property
    def column_names(self) -> list[str | int]:
        """The names of all columns."""
        return [column.name for column in self.columns]

    @cached_property
    def starts(self) -> Integers:
        """Where the columns of each node start, and where they end; shape (m + 1,)."""
        return np.concatenate([[0], np.cumsum(self.widths)])

    @property
    def are_numbers(self) -> Booleans:
        """Which of the columns are nodes by themselves, and no indicators; shape (n_columns,)."""
        is_number = [
            width == 1 and name not in self.levels
            for name, width in zip(self.names, self.widths, strict=True)
        ]
        return self.by_column(np.array(is_number))

    def columns_of(self, nodes: Iterable[int]) -> list[int]:
        """Return the numbers of the columns of some nodes, node by node."""
        if len(self.columns) == len(self.names):
            return [*nodes]
        starts = self.starts
        return [column for node in nodes for column in range(starts[node], starts[node + 1])]

    def parents_of_columns(self, parents: Sequence[int], *, within: bool = True) -> list[int]:
        """Return the masks of each column's parents in a network of nodes.

        They are the columns of the node's parents and, unless `within` is False, those before it in
        its own node.
        """
        if len(self.columns) == len(self.names):
            return [*parents]
        of_columns = []
        for node, mask in enumerate(parents):
            others = mask_of(self.columns_of(members_of(mask)))
            for column in self.columns_of([node]):
                of_columns.append(others)
                others |= within << column
        return of_columns

    def levels_of(self, v: int) -> list[Any]:
        """Return the levels of a category that have a share, the one without an indicator first."""
        first = self.levels[self.names[v]][0]
        return [first, *(self.columns[i].level for i in self.columns_of([v]))]

    def parents_of_nodes(self, masks: Sequence[int]) -> list[int]:
        """Return the masks of each node's parents, from the masks of the columns' parents."""
        node_of = self.by_column(np.arange(len(self.names)))
        # No parent of a node's first column is in the same node.
        first = [masks[start] for start in self.starts[:-1]]
        return [mask_of({*node_of[members_of(mask)].tolist()}) for mask in first]

    def solved_within(self, coef: Floats) -> Floats:
        """Return coefficients, (..., k, k), of each node's columns on those of its parents alone.

        Where columns depend on those before them in their node, they are solved for.
        """
        for start, end in zip(self.starts[:-1], self.starts[1:], strict=True):
            if end - start > 1:
                own = slice(start, end)
                within = np.eye(end - start) - coef[..., own, own]
                coef = coef.copy()
                coef[..., own, own] = 0.0
                of_own = np.swapaxes(coef[..., own], -1, -2)
                solved = np.linalg.solve(np.swapaxes(within, -1, -2), of_own)
                coef[..., own] = np.swapaxes(solved, -1, -2)
        return coef

    def by_column(self, of_nodes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return what an array has for each node, shape (..., m), for each of its columns."""
        return np.repeat(of_nodes, self.widths, axis=-1)

    def select_nodes(self, nodes: Sequence[int]) -> Self:
        """Return some of the nodes, with the user's columns that they are made of."""
        chosen = [self.columns[i] for i in self.columns_of(nodes)]
        sources = sorted({column.source for column in chosen})
        names = [self.names[v] for v in nodes]
        return replace(
            self,
            names=names,
            columns=[column._replace(source=sources.index(column.source)) for column in chosen],
            widths=[self.widths[v] for v in nodes],
            levels={name: self.levels[name] for name in names if name in self.levels},
            labels=[self.labels[source] for source in sources],
        )

    def select(self, kept: Sequence[int], levels: dict[str | int, list[Any]] | None = None) -> Self:
        """Return the nodes with only some of their columns, given by number in ascending order.

        Each node must keep one. `levels` are the remaining levels of each category, the one without
        an indicator first; by default all.
        """
        node_of = self.by_column(np.arange(len(self.names)))
        widths = np.bincount(node_of[list(kept)], minlength=len(self.names)).tolist()
        columns = [self.columns[i] for i in kept]
        return replace(
            self, columns=columns, widths=widths, levels=self.levels if levels is None else levels
        )

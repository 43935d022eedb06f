"""BlockProblem: the scores of a table whose nodes have several columns each."""

from __future__ import annotations

from skbn._solver.table_problem import TableProblem

__all__ = ["BlockProblem"]


class BlockProblem(TableProblem):
    """The scores of nodes that are blocks of columns, and constraints on the nodes."""

    why_listed = "of nodes of several columns"

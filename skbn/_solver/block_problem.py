"""BlockProblem: the scores of a table whose nodes have several columns each."""

from __future__ import annotations

from skbn._solver.order_families import OrderFamilies, given_families
from skbn._solver.table_problem import TableProblem

__all__ = ["BlockProblem", "listed_order_families"]


class BlockProblem(TableProblem):
    """The scores of nodes that are blocks of columns, and constraints on the nodes."""

    def order_families(self, order: list[int], n_others: int) -> OrderFamilies:
        """Return the listed families: those that grow do so by regressions of single columns.

        Raises
        ------
        ValueError
            If the families of any size have scores, which are too many to list.
        """
        return listed_order_families(self, "of nodes of several columns", order, n_others)


def listed_order_families(
    problem: TableProblem, what: str, order: list[int], n_others: int
) -> OrderFamilies:
    """Return what an order search begins with if all families are listed; raise if they are not."""
    if not problem.families.are_listed:
        raise ValueError(
            f'search="order" {what} chooses among listed families. Set max_parents, to 3 for '
            "example."
        )
    found = [problem.families_of(x) for x in order[n_others:]]
    return given_families(found, len(problem.names), order, n_others)

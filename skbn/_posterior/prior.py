"""Priors over networks: uniform or by orders, and the odds of edges."""

import math
from fractions import Fraction
from math import comb
from numbers import Real
from typing import Any

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.columns import column_number
from skbn._core.subsets import mask_of
from skbn._core.text import readable_value
from skbn._solver.constraints import Constraints, Group


def log_prior_sum(
    prior: str, group: Group, constraints: Constraints, log_odds: Floats | None, constant: Floats
) -> float | None:
    """Return the logarithm of the sum of the odds of all networks of a group, in closed form.

    With odds of 1 this is the number of networks, or of networks with an order of their columns.
    None is returned if the columns have different constraints, edges different odds, or the
    criterion rules numbers of parents out, so that there is no closed form.

    `constant`: (m,), the criterion's table c, which is -inf for numbers of parents that are ruled
        out

    If parents are chosen among l columns of the group and k others, their odds sum to
    ``alpha(l) = sum over i + j <= max_parents of C(l, i) C(k, j) odds**(i + j)``. Networks follow
    from Robinson's recurrence, by the number r of columns without children (Robinson 1973):
    ``a(n) = sum over r >= 1 of (-1)**(r + 1) C(n, r) alpha(n - r)**r a(n - r)``.
    """
    inside = mask_of(group.columns)
    n = len(group.columns)
    among_group = {constraints.allowed[x] & inside | 1 << x for x in group.columns}
    n_others = {(constraints.allowed[x] & ~inside).bit_count() for x in group.columns}
    most = constraints.max_parents
    off_diagonal = ~np.eye(len(constraints.allowed), dtype=bool)
    odds = {1.0} if log_odds is None else set(np.exp(log_odds[off_diagonal]).tolist())
    is_symmetric = among_group == {inside} and len(n_others) == len(odds) == 1
    if not is_symmetric or any(constraints.required) or np.isinf(constant[: most + 1]).any():
        return None
    (k,) = n_others
    q = Fraction(odds.pop())

    def alpha(n_columns: int) -> Fraction:
        sizes = ((i, j) for i in range(n_columns + 1) for j in range(min(k, most - i) + 1))
        return sum((comb(n_columns, i) * comb(k, j) * q ** (i + j) for i, j in sizes), Fraction(0))

    of_candidates = [alpha(n_columns) for n_columns in range(n)]
    sums = [Fraction(1)]
    for size in range(1, n + 1):
        # With an order, the last column is chosen, which has no children.
        most_sinks = 1 if prior == "order" else size
        terms = [
            (-1) ** (r + 1) * comb(size, r) * of_candidates[size - r] ** r * sums[size - r]
            for r in range(1, most_sinks + 1)
        ]
        sums.append(sum(terms, Fraction(0)))
    return math.log(sums[-1].numerator) - math.log(sums[-1].denominator)


def read_edge_prior(
    edge_prior: Any, columns: list[str | int]
) -> tuple[Floats, list[tuple[int, int]]]:
    """Return the logarithms of prior odds, and the edges that they forbid.

    `edge_prior`: float, array-like of shape (m, m), or pandas.DataFrame

    Returns `log_odds`: (m, m), at [i, j] that of the edge i -> j; 0 for forbidden edges and on the
    diagonal; `forbidden`: the parent and the child of the edges whose odds are 0.
    """
    m = len(columns)
    if isinstance(edge_prior, Real):
        odds = np.full((m, m), float(edge_prior))
    else:
        odds = _by_column(edge_prior, columns)
    off_diagonal = ~np.eye(m, dtype=bool)
    wrong = off_diagonal & ~((odds >= 0) & np.isfinite(odds))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise ValueError(
            f"edge_prior must have finite odds of at least 0; that of the edge {columns[i]!r} -> "
            f"{columns[j]!r} is {odds[i, j]}. 1 leaves an edge as it is, 0 forbids it, and "
            "required_edges requires it."
        )
    is_forbidden = off_diagonal & (odds == 0)
    log_odds = np.zeros((m, m))
    np.log(odds, out=log_odds, where=off_diagonal & ~is_forbidden)
    return log_odds, [(int(i), int(j)) for i, j in np.argwhere(is_forbidden)]


def with_edge_prior(
    constraints: Constraints, edge_prior: Any, columns: list[str | int]
) -> tuple[Constraints, Floats | None]:
    """Return constraints that forbid the edges of odds 0, and the log odds of edges."""
    if edge_prior is None:
        return constraints, None
    log_odds, forbidden = read_edge_prior(edge_prior, columns)
    allowed, possible = [*constraints.allowed], [*constraints.possible]
    for parent, child in forbidden:
        if constraints.required[child] >> parent & 1:
            raise ValueError(
                f"The edge {columns[parent]!r} -> {columns[child]!r} is in required_edges, but "
                "edge_prior has odds of 0 for it. Take it out of one of them."
            )
        allowed[child] &= ~(1 << parent)
        possible[child] &= ~(1 << parent)
    return constraints._replace(allowed=allowed, possible=possible), log_odds


def _by_column(edge_prior: Any, columns: list[str | int]) -> Floats:
    """Return the odds as an array in the columns' order."""
    m = len(columns)
    try:
        odds = np.asarray(edge_prior)
        if odds.dtype.kind == "c":
            raise TypeError
        odds = odds.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"edge_prior must be numbers; got {readable_value(edge_prior)}. Give one number, or "
            "those of all pairs of columns."
        ) from None
    if odds.shape != (m, m):
        raise ValueError(
            f"edge_prior has shape {odds.shape}, and the table {m} columns. Give the odds of the "
            f"edge from column i to column j at [i, j], in shape {(m, m)}."
        )
    if not (hasattr(edge_prior, "index") and hasattr(edge_prior, "columns")):
        return odds
    orders = []
    for axis in ("index", "columns"):
        names = getattr(edge_prior, axis)
        try:
            positions = [column_number(columns, name) for name in names]
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"edge_prior.{axis}: {error} Label the odds by these, or give an array."
            ) from None
        if sorted(positions) != list(range(m)):
            raise ValueError(f"edge_prior.{axis} must name each column once; got {list(names)}.")
        orders.append(np.argsort(positions))
    return odds[np.ix_(*orders)]

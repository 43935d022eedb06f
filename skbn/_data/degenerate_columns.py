"""Columns that are constant or combinations of others: all of them named in one error."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skbn._core.arrays import Floats, Names
from skbn._data.nodes import Nodes
from skbn._regressions.least_squares import (
    Dependence,
    dependence_among,
    solve_triangular,
    triangular_factor,
)
from skbn._regressions.set_function import SCORE_ACCURACY
from skbn.exceptions import DegenerateColumnsError

# An equation of more terms is cut short, and so is a list of more equations.
_MOST_SHOWN = 5


@dataclass(frozen=True)
class IndependenceCheck:
    """Refuses columns if one of them is a linear combination of others, or nearly so.

    A residual is too small if it is no larger than the sum of `rounding`, weighted by the
    combination's coefficients, in units of the columns' norms.
    """

    names: Names
    scale: Floats  # (m,): the columns' norms
    rounding: Floats  # (m,): the error of a column's residual, in units of its norm
    has_prior: bool  # whether the rows of a prior are stacked under the columns
    factor: Floats  # (m, m): that of all columns, of unit norm
    largest_family: int  # how many columns take part in a regression
    nodes: Nodes | None = None  # which columns stand for each node; by default each is one
    remedy: str = "leave out {}."  # what the error advises, with braces for the columns
    # (m,): how many rows there are, the sum of their weights, and what `rounding` would be if each
    # row counted once: columns that would do then are not to blame
    weights: tuple[int, float, Floats] = (0, 0.0, np.empty(0))

    def check(self, factor: Floats, columns: list[int]) -> None:
        """Raise if these columns, which have this triangular factor, are not independent."""
        found = dependence_among(columns, factor, self.rounding)
        if found is not None:
            raise degenerate_error(self, found)

    def check_all(self) -> None:
        """Raise if columns depend on each other within any family's reach."""
        if found := _redundant(self):
            raise degenerate_error(self, found[0])


def labels_of(names: Sequence[Any], nodes: Nodes | None) -> list[Any]:
    """Return which of the user's columns each column is made of."""
    return [*names] if nodes is None else [nodes.labels[each.source] for each in nodes.columns]


def joined(error: DegenerateColumnsError, *calls: Callable[[], Any]) -> DegenerateColumnsError:
    """Return an error together with what calls raise about further columns."""
    for call in calls:
        try:
            call()
        except DegenerateColumnsError as more:
            if not {*more.columns} <= {*error.columns}:
                error = DegenerateColumnsError(
                    f"{error} {more}",
                    error.constant_columns + more.constant_columns,
                    error.collinear_columns + more.collinear_columns,
                )
        except ValueError:  # what is left is refused for another reason
            pass
    return error.explained_as(str(error))


def constants_error(
    names: Sequence[Any], reasons: Mapping[int, str], labels: Sequence[Any]
) -> DegenerateColumnsError:
    """Return an error that names columns that do not vary."""
    columns = [labels[j] for j in reasons]
    if len(reasons) == 1:
        ((j, reason),) = reasons.items()
        return DegenerateColumnsError(f"Column {names[j]!r} has {reason}", columns)
    return DegenerateColumnsError(
        f"Columns {[names[j] for j in reasons]} have zero variance, up to rounding: each has only "
        "one value. Leave them out.",
        columns,
    )


def collinear_error(
    names: Sequence[Any], columns: Sequence[Any], equations: Sequence[str], ending: str
) -> DegenerateColumnsError:
    """Return an error that names columns that are combinations of others.

    `names`, `columns`: what the columns are called, and which of the user's columns they are made
        of
    `ending`: with braces for the columns to leave out
    """
    error = DegenerateColumnsError("", (), columns)
    is_one = len(equations) == 1
    subject = f"Column {names[0]!r} is" if is_one else f"Columns {[*names]} are"
    more = f"; and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return error.explained_as(
        f"{subject} collinear with others: {'; '.join(equations[:_MOST_SHOWN])}{more}. "
        + ending.format("one of these columns" if is_one else f"all of {error.columns}")
    )


def equation(name: Any, names: Sequence[Any], coefficients: Floats, ending: str = "") -> str:
    """Return in words what a column is, in at most five terms."""
    shown = " ".join(
        f"{'-' if value < 0 else '+'} {abs(value):.6g} * {_named(each)}"
        for value, each in zip(coefficients[:_MOST_SHOWN], names, strict=False)
    )
    more = f" + {len(names) - _MOST_SHOWN} more terms" if len(names) > _MOST_SHOWN else ""
    return f"{_named(name)} = {shown.removeprefix('+ ')}{more} + constant{ending}"


def _named(name: Any) -> str:
    """Return a column's name, or its number in a form unlike a coefficient."""
    return repr(name) if isinstance(name, str) else f"column {name!r}"


def degenerate_error(check: IndependenceCheck, first: Dependence) -> ValueError:
    """Return the error that names all columns to leave out, or weights to blame."""
    n_rows, n_samples, once = check.weights
    if n_samples > n_rows and (
        first.residual > once[first.column] + once[first.others] @ np.abs(first.weights)
    ):
        return ValueError(
            f"The sample weights of X's {n_rows} rows sum to {n_samples:g}, as if there were so "
            f"many rows. Then the rounding of column {check.names[first.column]!r} changes scores "
            f"by more than {SCORE_ACCURACY} nats. Pass smaller weights, such as "
            "sample_weight / sample_weight.mean()."
        )
    found = _all_dependences(check, first)
    labels = labels_of(check.names, check.nodes)
    equations = []
    for each in found:
        at, weights = np.array(each.others)[each.involved], each.weights[each.involved]
        coefficients = weights * check.scale[each.column] / check.scale[at]
        ending = f", up to {each.residual:.0e} of its spread"
        terms = [check.names[j] for j in at]
        equations.append(equation(check.names[each.column], terms, coefficients, ending))
    consequence = (
        "The prior is too small relative to the columns' spread for an accurate score; "
        "standardise the columns, give a prior mean nearer to theirs if it has one, or"
        if check.has_prior
        else "The likelihood is unbounded there, or known to too few digits;"
    )
    return collinear_error(
        [check.names[each.column] for each in found],
        [labels[each.column] for each in found],
        equations,
        f"{consequence} {check.remedy}",
    )


def _all_dependences(check: IndependenceCheck, first: Dependence) -> list[Dependence]:
    """Return one dependence for each column that has to be left out."""
    m = len(check.scale)
    found = _redundant(check)
    left_out = {each.column for each in found}
    if check.largest_family < m:
        in_first = {first.column, *np.array(first.others)[first.involved]}
        return found if left_out & in_first else [first, *found]
    while True:  # nearly dependent columns, none of which adds nothing to those before it
        kept = [j for j in range(m) if j not in left_out]
        factor = triangular_factor(check.factor[:, kept])
        more = dependence_among(kept, factor, check.rounding)
        if more is None:
            return found
        found.append(more)
        left_out.add(more.column)


def _redundant(check: IndependenceCheck) -> list[Dependence]:
    """Return the columns that are combinations of earlier ones, of no more than a family has."""
    m = len(check.scale)
    basis, triangle = np.zeros((m, m)), np.zeros((m, m))
    kept: list[int] = []
    passed: list[int] = []  # combinations of too many columns
    found = []
    for j in range(m):
        k, left = len(kept), check.factor[:, j].copy()
        along = np.zeros(k)
        for _ in range(2):  # twice, as the first leaves rounding along the basis
            part = basis[:, :k].T @ left
            left -= basis[:, :k] @ part
            along += part
        residual = float(np.linalg.norm(left))
        weights = solve_triangular(triangle[:k, :k], along)
        if residual > check.rounding[j] + check.rounding[kept] @ np.abs(weights):
            basis[:, k], triangle[:k, k], triangle[k, k] = left / residual, along, residual
            kept.append(j)
            continue
        ways = [Dependence(j, [*kept], weights, residual), *_copies(check, j, kept + passed)]
        own = next((each for each in ways if _fits_in_family(check, each)), None)
        if own is None:
            passed.append(j)
        else:
            found.append(own)
    return found


def _copies(check: IndependenceCheck, column: int, others: list[int]) -> list[Dependence]:
    """Return the dependences of a column on single others."""
    own, rest = check.factor[:, column], check.factor[:, others]
    weights = own @ rest
    left = np.linalg.norm(own[:, np.newaxis] - weights * rest, axis=0)
    at = np.flatnonzero(left <= check.rounding[column] + check.rounding[others] * np.abs(weights))
    return [Dependence(column, [others[i]], weights[[i]], float(left[i])) for i in at]


def _fits_in_family(check: IndependenceCheck, found: Dependence) -> bool:
    """Whether a dependence has no more nodes than a child with its parents."""
    columns = [found.column, *np.array(found.others, dtype=np.intp)[found.involved]]
    if check.nodes is None:
        return len(columns) <= check.largest_family
    widest = np.cumsum(sorted(check.nodes.widths, reverse=True))
    node_of = check.nodes.by_column(np.arange(len(check.nodes.names)))
    return len(np.unique(node_of[columns])) <= (widest <= check.largest_family).sum()

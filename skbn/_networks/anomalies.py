"""Which rows, and which columns of a row, do not follow a network.

A column's residual, its difference from what its parents predict, is divided by its standard
deviation. If the network was fitted to other rows by least squares, the ratio has Student's
distribution: its variance has the errors of the weights, too, by the leverage of the row. The
ratios of a row are independent, because each has this distribution whatever the columns before it
are. For a row of the fit it is the ratio by a fit without it (Cook & Weisberg 1982, "Residuals and
influence in regression", section 2.2). Otherwise the parameters are taken for the true ones, and
the ratios are normal.

A wrong value also makes the residuals of its column's children large. To find the column, look at
each value given *all* others of its row: there the wrong one stands out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc, ndtr, ndtri, stdtr

from skbn._core.arrays import Floats
from skbn._core.resources import one_blas_thread
from skbn._core.subsets import members_of
from skbn._core.text import readable_value
from skbn._data.nodes import Nodes
from skbn._data.statistics import Groups
from skbn._displays.notebook import frame_of
from skbn._networks.categories import levels_given_parents, of_all_levels
from skbn._networks.gaussian import LinearGaussianModel
from skbn._networks.inference import like_pandas, shares_of_levels
from skbn._regressions.least_squares import solve_triangular, triangular_factor

# Probabilities that differ by less are equal, and p-values are not smaller than the second.
_ROUNDING, _LEAST = 1e-9, 1e-300


@dataclass(frozen=True, eq=False, repr=False)
class Anomalies:
    """How well rows and their values follow a network, as its method `anomalies` returns it.

    Values are *cells*: (n, m) arrays, or data frames with the index of a pandas table, with a
    column for each node, or for each column of a node of numbers. They are NaN where a value or one
    of its parents is missing, and in exogenous columns. The p-value of a category is the
    probability, given its parents, of all levels that are no more probable than its own; residuals
    and `given_others` it has none.

    Parameters
    ----------
    p_values : ndarray or pandas.DataFrame of shape (n, m)
        For each cell, given its parents, adjusted for the number of cells: in a table that follows
        the network, the smallest is below 0.05 with a probability of 5 %.
    unadjusted_p_values : of the same shape
        For each cell on its own.
    residuals : of the same shape
        The differences from what the parents predict, in their standard deviations.
    given_others : of the same shape
        The differences from what all other values of the row predict, in their standard deviations
        by the network's parameters. In exogenous columns, too; NaN if the row lacks values.
    row_p_values : ndarray or pandas.Series of shape (n,)
        For each row, from the sum of its squared residuals, adjusted for the number of rows.
    log_density : ndarray or pandas.Series of shape (n,)
        As `score_samples`, in nats.
    values, expected : of shape (n, m)
        The table, and what the parents predict: of a category, the most probable level.
    """

    p_values: Any
    unadjusted_p_values: Any
    residuals: Any
    given_others: Any
    row_p_values: Any
    log_density: Any
    values: Any
    expected: Any

    def to_frame(self, level: float = 0.05) -> Any:
        """Return a table of the cells that do not follow the network, the least probable first.

        Parameters
        ----------
        level : float, default=0.05
            Cells with an adjusted p-value up to this are listed.

        Returns
        -------
        table : pandas.DataFrame
            With the columns `row` (its label in pandas, or its number), `column`, `value`,
            `expected`, `residual`, `given_others`, `p_value` and `row_p_value`. Without pandas, a
            dict of these that is displayed as a table.

        Raises
        ------
        ValueError
            If the level is not between 0 and 1.
        """
        if isinstance(level, bool) or not 0 < level <= 1:
            raise ValueError(f"level must be above 0, up to 1; got {readable_value(level)}.")
        cells = np.asarray(self.p_values)
        rows, columns = (cells <= level).nonzero()
        size = np.abs(np.asarray(self.residuals))[rows, columns]
        order = np.lexsort([-size, cells[rows, columns]])
        rows, columns = rows[order], columns[order]
        n, m = cells.shape
        labels = getattr(self.p_values, "index", range(n))
        names = getattr(self.p_values, "columns", range(m))
        parts = "value", "expected", "residual", "given_others", "p_value"
        tables = self.values, self.expected, self.residuals, self.given_others, self.p_values
        return frame_of(
            {"row": [labels[i] for i in rows], "column": [names[j] for j in columns]}
            | {
                part: np.asarray(table)[rows, columns]
                for part, table in zip(parts, tables, strict=True)
            }
            | {"row_p_value": np.asarray(self.row_p_values)[rows]}
        )

    def __repr__(self) -> str:
        cells = np.asarray(self.p_values)
        found = cells <= 0.05
        n_rows = np.count_nonzero(found.any(axis=1))
        return (
            f"<Anomalies: {np.count_nonzero(found)} of {np.count_nonzero(~np.isnan(cells))} cells, "
            f"in {n_rows} of {len(cells)} rows, have p-values up to 0.05>"
        )


@one_blas_thread()
def anomalies(
    models: Sequence[LinearGaussianModel],
    rows: Floats,
    X: Any,
    groups: Groups | None,
    *,
    in_fit: bool,
    nodes: Nodes,
    unseen: list[int],
) -> Anomalies:
    """Return how well the rows of a table follow a network, or several of the same nodes.

    `models`: of several, each number is the mean over those in which it is known
    `X`: the table, in whose container the results are
    `groups`: the statistics from which least squares estimated the model, if known
    `in_fit`: whether it was estimated from these rows
    `unseen`: rows with levels that the network does not know, about which it says nothing
    `rows`: (n, m)
    """
    log_density = np.full(len(rows), -np.inf)
    totals: list[Any] = [0.0] * 6
    counts: list[Any] = [0] * 6
    for model in models:
        log_density = np.logaddexp(log_density, model.log_density(rows))
        for i, part in enumerate(_by_model(model, rows, groups, in_fit, nodes)):
            part[unseen] = np.nan
            totals[i] = totals[i] + np.where(np.isnan(part), 0.0, part)
            counts[i] = counts[i] + ~np.isnan(part)
    with np.errstate(invalid="ignore"):
        means = map(np.divide, totals, counts)
        lower, upper, of_rows, residuals, given_others, expected = means
    p_values = 2 * np.minimum(lower, upper)
    rows[unseen] = log_density[unseen] = np.nan

    names, kept = [*models[0].nodes], [*range(rows.shape[1])]
    categories = {nodes.columns_of([v])[0]: v for v in _categories(nodes)}
    for i, v in categories.items():  # a category's cell is in its first column
        names[i] = nodes.names[v]
        kept = [k for k in kept if k not in nodes.columns_of([v])[1:]]

    def cells(values: Any) -> Any:
        return like_pandas(values[:, kept], X, [names[k] for k in kept], is_single=False)

    def shown(values: Floats) -> Any:
        result = values.astype(object) if categories else values
        for i, v in categories.items():
            levels, shares = shares_of_levels(nodes, v, values)
            result[:, i] = [None if np.isnan(s[0]) else levels[s.argmax()] for s in shares]
        result = cells(result)
        return result.infer_objects() if hasattr(result, "infer_objects") else result

    def by_row(values: Floats, name: str) -> Any:
        return like_pandas(values[:, np.newaxis], X, [name], is_single=True)

    return Anomalies(
        cells(_adjusted(p_values)),
        cells(p_values),
        cells(residuals),
        cells(given_others),
        by_row(_adjusted(of_rows), "p_value"),
        by_row(log_density - np.log(len(models)), "log_density"),
        shown(rows),
        shown(expected),
    )


def _by_model(
    model: LinearGaussianModel, rows: Floats, groups: Groups | None, in_fit: bool, nodes: Nodes
) -> tuple[Floats, ...]:
    """Return both tails' probabilities, rows' p-values, residuals, given others, and expected."""
    differences, outside = model.residuals(rows), [*model.exogenous]
    differences[:, outside] = rows[:, outside] - model.mean[outside]
    if groups is not None:
        residuals, freedom = _studentised(model, rows, differences, groups, in_fit)
    elif in_fit:
        raise ValueError(
            "in_fit=True takes a network that knows the rows of its fit by least squares, without "
            "a prior. Fit it to them, by network.fit(X)."
        )
    else:
        residuals = differences / np.sqrt(model.noise_variance)
        freedom = np.full(rows.shape[1], np.inf)
    categories, expected = _categories(nodes), rows - differences
    residuals[:, [*nodes.columns_of(categories), *model.exogenous]] = np.nan
    lower, upper = (
        np.where(np.isinf(freedom), ndtr(each), stdtr(np.minimum(freedom, 1e9), each))
        for each in (residuals, -residuals)
    )
    for v in categories:
        own = nodes.columns_of([v])
        if own[0] not in model.exogenous:  # the levels that are no more probable than the own one
            shares = levels_given_parents(model, nodes, v, rows)
            probability = (shares * of_all_levels(rows[:, own])).sum(axis=1, keepdims=True)
            tail = (shares * (shares <= probability * (1 + _ROUNDING))).sum(axis=1)
            lower[:, own[0]] = upper[:, own[0]] = np.clip(tail, _LEAST, 1.0) / 2
            expected[:, own] = shares[:, 1:]
    p_values = 2 * np.minimum(lower, upper)
    counts = np.count_nonzero(~np.isnan(p_values), axis=1)
    sums = np.nansum(ndtri(p_values / 2) ** 2, axis=1)
    of_rows = np.where(counts, chdtrc(np.maximum(counts, 1), sums), np.nan)
    given_others = _given_others(model, differences)
    given_others[:, nodes.columns_of(categories)] = np.nan
    return lower, upper, of_rows, residuals, given_others, expected


def _categories(nodes: Nodes) -> list[int]:
    return [v for v, node in enumerate(nodes.names) if node in nodes.levels]


def _adjusted(p_values: Floats) -> Floats:
    """Return p-values adjusted for their number (Šidák 1967): exact if they are independent."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(np.count_nonzero(~np.isnan(p_values)) * np.log1p(-p_values)))


def _given_others(model: LinearGaussianModel, differences: Floats) -> Floats:
    """Return the differences from what all other values predict, in their standard deviations."""
    own = 1 / model.noise_variance
    own[list(model.exogenous)] = 0.0  # they have no density
    scaled = differences * own
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(own + model.coef**2 @ own)
        return np.asarray((scaled - scaled @ model.coef.T) / spread)


def _studentised(
    model: LinearGaussianModel, rows: Floats, differences: Floats, groups: Groups, in_fit: bool
) -> tuple[Floats, Floats]:
    """Return the residuals with Student's distribution, and its degrees of freedom by column."""
    residuals, freedom = np.full(rows.shape, np.nan), np.empty(rows.shape[1])
    for own, statistics in groups:
        units = (rows - statistics.mean) / statistics.scale
        for child in own:
            parents = members_of(model.parents[child])
            k, n = len(parents), statistics.n_samples
            triangle = triangular_factor(statistics.factor[:, [*parents, child]])
            along = solve_triangular(triangle[:k, :k], units[:, parents].T, transposed=True)
            leverage = 1 / n + (along**2).sum(axis=0)
            squares = (triangle[k, k] * statistics.scale[child]) ** 2
            left, spread = n - k - 1, 1 + leverage
            if in_fit:
                left, spread = left - 1, 1 - leverage
                squares = np.maximum(squares - differences[:, child] ** 2 / spread, 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                residuals[:, child] = differences[:, child] / np.sqrt(squares / left * spread)
            freedom[child] = left
    return residuals, freedom

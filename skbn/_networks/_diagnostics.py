"""What a careful statistician would remark about a network and the rows that it was found in.

Three things that linear effects and Gaussian noise do not allow for: children of few values,
residuals that are strongly skewed, and edges among the dummies of one category.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from skbn._networks._gaussian import LinearGaussianModel
from skbn._parallel import one_blas_thread
from skbn._scores._sample import Sample
from skbn._subsets import members_of
from skbn.exceptions import DiscreteChildWarning, DummyEdgeWarning, SkewedResidualsWarning

__all__ = ["warn_of_doubts"]

# Ordered categories may be treated as continuous from five levels on: Rhemtulla, Brosseau-Liard &
# Savalei (2012), "When can categorical variables be treated as continuous?", Psychological
# Methods 17, 354-373.
_MOST_LEVELS = 4
# With fewer rows for each level, values of a continuous column may repeat by rounding.
_LEAST_ROWS_A_LEVEL = 5
# West, Finch & Curran (1995), "Structural equation models with nonnormal variables", find normal
# theory misleading from a skewness of 2 on, which is that of an exponential distribution. In 500
# rows of Gaussian networks of 8 columns that are observed through exponential functions, the
# search gets three times as many pairs wrong as without these when residuals have 1.8.
_LARGEST_SKEWNESS = 2.0
# In 30 rows 6 of 100,000 Gaussian columns exceed that, and fewer in more rows.
_FEWEST_ROWS = 30
# What Bulmer (1979), "Principles of Statistics", calls highly skewed.
_HIGH_SKEWNESS = 1.0

_ROWS_A_BLOCK = 1024
_ROWS_AT_A_GLANCE = 64
_USER = 6  # frames above: a learner's _fit and fit, two of scikit-learn's, and whoever calls fit

Floats = npt.NDArray[np.float64]


def warn_of_doubts(model: LinearGaussianModel, sample: Sample) -> None:
    """Warn of what makes a network doubtful, once of each kind.

    Parameters
    ----------
    model : LinearGaussianModel
    sample : Sample
        The rows that it was found in; its columns are the nodes, in their order. If the rows
        were not kept, there are no warnings.
    """
    if not sample.has_rows:
        return
    rows, weight, n_samples = sample.rows, sample.weight, sample.summary.n_samples
    if weight is not None and not weight.all():
        rows, weight = rows[weight > 0], weight[weight > 0]
    n_levels = _n_levels(rows, int(min(_MOST_LEVELS, n_samples // _LEAST_ROWS_A_LEVEL)))
    groups = _joined_dummies(model.parents, rows, [v for v, n in n_levels.items() if n == 2])
    if groups:
        warnings.warn(_about_dummies(model, groups), DummyEdgeWarning, stacklevel=_USER)
    children = _discrete_children(model.parents, n_levels, groups)
    if children:
        warnings.warn(_about_discrete(model, children), DiscreteChildWarning, stacklevel=_USER)
    if n_samples < _FEWEST_ROWS:
        return
    skewness = _residual_skewness(model, rows, weight)
    # What depends on a cause or a group of few values does not depend on how large the groups are.
    skewness[list(n_levels)] = 0
    skewed = np.flatnonzero(np.abs(skewness) > _LARGEST_SKEWNESS)
    if len(skewed):
        own = _column_skewness(model, rows, weight, skewed)
        message = _about_skewness(model, skewed.tolist(), skewness[skewed], own)
        warnings.warn(message, SkewedResidualsWarning, stacklevel=_USER)


# Few values


def _n_levels(rows: Floats, most: int) -> dict[int, int]:
    """Return how many different values each column has that has no more than `most`."""
    first = np.sort(rows[:_ROWS_AT_A_GLANCE].T)
    few = np.flatnonzero((first[:, 1:] != first[:, :-1]).sum(axis=1) < most)
    n_levels = {}
    for v in few.tolist():
        values = np.empty(0)
        for part in _parts(len(rows)):
            column = rows[part, v]
            values = np.union1d(values, column[~np.isin(column, values)])
            if len(values) > most:
                break
        else:
            n_levels[v] = len(values)
    return n_levels


def _discrete_children(
    parents: list[int], n_levels: dict[int, int], groups: list[list[int]]
) -> dict[int, int]:
    """Return the discrete columns with parents, other than dummies of the same category."""
    own = {v: set(group) for group in groups for v in group}
    return {v: n for v, n in n_levels.items() if set(members_of(parents[v])) - own.get(v, set())}


def _about_discrete(model: LinearGaussianModel, children: dict[int, int]) -> str:
    listed = ", ".join(f"{model.nodes[v]!r} ({n} values)" for v, n in children.items())
    return (
        f"Columns of few different values have parents in the network: {listed}. Their noise "
        "cannot be Gaussian. Let them be parents only: add all edges into them to the list "
        f"forbidden_edges, by {_forbidding_edges_into([*children], model)}, or leave them out."
    )


def _forbidding_edges_into(columns: list[int], model: LinearGaussianModel) -> str:
    """Return the code that adds all edges into some columns to those that are forbidden."""
    # Unlike X.columns, these do not depend on the container of X.
    nodes = "learner.feature_names_in_"
    if not isinstance(model.nodes[0], str):
        nodes = f"range({len(model.nodes)})"
    return (
        "learner.set_params(forbidden_edges=[*(learner.forbidden_edges or []), *((a, b) for b in "
        f"{[model.nodes[v] for v in columns]} for a in {nodes} if a != b)])"
    )


# Dummies


def _joined_dummies(parents: list[int], rows: Floats, binary: list[int]) -> list[list[int]]:
    """Return groups of columns that are never 1 in the same row, and of which an edge joins two.

    For 1 counts the larger of a column's two values, so that scaling changes nothing.
    """
    edges = [(a, b) for b in binary for a in binary if parents[b] >> a & 1]
    groups: list[list[int]] = []
    if not edges:
        return groups
    is_one = {v: rows[:, v] == rows[:, v].max() for v in binary}
    for a, b in edges:
        is_grouped = any(a in group and b in group for group in groups)
        if is_grouped or (is_one[a] & is_one[b]).any():
            continue
        group, is_taken = [a, b], is_one[a] | is_one[b]
        for v in binary:
            if v not in group and not (is_taken & is_one[v]).any():
                group.append(v)
                is_taken = is_taken | is_one[v]
        groups.append(sorted(group))
    return groups


def _about_dummies(model: LinearGaussianModel, groups: list[list[int]]) -> str:
    listed = ", and ".join(
        f"{len(group)} columns {[model.nodes[v] for v in group]}" for group in groups
    )
    dummies = sorted({v for group in groups for v in group})
    return (
        f"Edges join columns of which at most one is 1 in each row: {listed}. If they are dummies "
        "of one category, these edges only say how it was coded. Let dummies be parents only: "
        "add all edges into them to the list forbidden_edges, by "
        f"{_forbidding_edges_into(dummies, model)}, or leave the category out."
    )


# Skewness


def _residual_skewness(model: LinearGaussianModel, rows: Floats, weight: Floats | None) -> Floats:
    unit = np.sqrt(model.noise_variance)
    return _skewness(rows, weight, lambda block: model.residuals(block) / unit)


def _column_skewness(
    model: LinearGaussianModel, rows: Floats, weight: Floats | None, columns: npt.NDArray[np.intp]
) -> Floats:
    mean, unit = model.mean[columns], np.sqrt(model.noise_variance[columns])
    return _skewness(rows, weight, lambda block: (block[:, columns] - mean) / unit)


def _skewness(rows: Floats, weight: Floats | None, values_of: Callable[[Floats], Floats]) -> Floats:
    """Return the skewness of columns that are computed block by block; NaN if out of range."""
    sums: list[Floats] = []
    total = 0.0
    with one_blas_thread(), np.errstate(all="ignore"):
        for part in _parts(len(rows)):
            x = values_of(rows[part])
            share = np.ones(len(x)) if weight is None else weight[part]
            square = x * x
            sums.append(np.stack([share @ x, share @ square, share @ (square * x)]))
            total += share.sum()
        mean, square, cube = np.sum(sums, axis=0) / total
        skewness: Floats = (cube - 3 * mean * square + 2 * mean**3) / (square - mean**2) ** 1.5
    return skewness


def _about_skewness(
    model: LinearGaussianModel, columns: list[int], of_residuals: Floats, own: Floats
) -> str:
    names = [model.nodes[v] for v in columns]
    listed = ", ".join(
        f"{name!r} (skewness {skewness:.1f})"
        for name, skewness in zip(names, of_residuals, strict=True)
    )
    text = (
        f"Columns have strongly skewed residuals: {listed}. The model assumes Gaussian "
        "residuals, and a few rows may decide about the edges of these columns."
    )
    is_skewed = np.abs(own) > _HIGH_SKEWNESS
    keep_names = '.set_output(transform="pandas")' if isinstance(names[0], str) else ""
    if is_skewed.any():
        text += (
            " Take the logarithms of skewed columns, or put sklearn.preprocessing."
            f"PowerTransformer(){keep_names} before the learner in a pipeline."
        )
    others = [name for name, skewed in zip(names, is_skewed, strict=True) if not skewed]
    if others:
        text += (
            f" The columns {others} are not skewed themselves: a parent's effect may not be "
            "linear, or a few rows may be outliers. skbn.ResidualsDisplay.from_estimator(learner, "
            f"X, columns={others}) may show which. It plots residuals against fitted values; plot "
            "the same columns of learner.network_.residuals(X) against each of their parents too."
        )
    return text


def _parts(n_rows: int) -> list[slice]:
    return [slice(start, start + _ROWS_A_BLOCK) for start in range(0, n_rows, _ROWS_A_BLOCK)]

"""Warnings about a network that was found: the model may not suit the rows, or the limit is low.

The table may not be what it should be: codes for missing values, columns that are copies or sums of
others, or number the rows, and repeated rows. Quick tests find suspects; `skbn._data.suspicions`
looks closely.

Three things contradict linear effects with Gaussian noise: children with few different values,
strongly skewed residuals, and edges between the dummies of one category.

A low `max_parents` can cost far more than a search that is not exact: in sparse networks a few
columns may have many parents, and a limit below that can cost hundreds of nats.
"""

import inspect
from collections.abc import Hashable, Sequence
from typing import Any

import networkx as nx
import numpy as np
from scipy.special import fdtrc

from skbn import exceptions
from skbn._core.arrays import Booleans, Floats, Integers
from skbn._core.graphs import dag_of
from skbn._core.resources import one_blas_thread
from skbn._core.subsets import bits_of, mask_of, members_of
from skbn._core.text import warn
from skbn._data import suspicions
from skbn._data.sample import Sample
from skbn._networks.gaussian import LinearGaussianModel
from skbn._regressions.least_squares import Neighbours, neighbours
from skbn._regressions.set_function import local_score_terms
from skbn._scores.criteria import InformationCriterion
from skbn._scores.scorer import FamilyScorer

# A column of more values is not discrete. Categories may be treated as continuous from five on:
# Rhemtulla, Brosseau-Liard & Savalei (2012), "When can categorical variables be treated as
# continuous?", Psychological Methods 17, 354-373.
_MOST_LEVELS = 4
# With fewer rows per level, values of a continuous column may repeat because of rounding.
_FEWEST_ROWS_PER_LEVEL = 5
# West, Finch & Curran (1995), "Structural equation models with nonnormal variables", find normal
# theory misleading from a skewness of 2 on. An exponential distribution has that skewness.
_LARGEST_SKEWNESS = 2.0
# 72 of a million simulated Gaussian columns of 30 rows exceed that; with more rows, fewer do.
_FEWEST_ROWS = 30

# Of an F test of any column's residuals that finds groups where there are none.
_LARGEST_PROBABILITY = 1e-3

# Fewer columns at the limit, or a smaller share of all, do not warn.
_FEWEST_COLUMNS = 3
_SMALLEST_SHARE = 0.1
# In nats. A Bayes factor of 20, the logarithm of which is 3.0, is strong evidence (Kass & Raftery
# 1995, "Bayes factors").
_SMALLEST_GAIN = 3.0
# A column counts as dependent on a family that leaves less of its scatter unexplained: rounding
# leaves about 1e-16.
_SMALLEST_RESIDUAL = 1e-12

_ROWS_PER_BLOCK = 1024  # temporary arrays stay small
# Copies and sums are looked for in at most so many columns, and in rows that take at most so many
# multiplications, but not in fewer rows than these.
_MOST_COLUMNS, _MOST_PRODUCTS, _FEWEST_OF_MANY = 2000, 2 * 10**7, 500
_RIDGE = 1e-9  # keeps matrices of correlations regular
_FEWEST_COMPARED = 10  # in fewer rows, columns may look like copies by chance
_N_PROBES = 4  # rows of which one comes again if most do
_FIRST_ROWS = 64  # most columns of many values show more than four of them in these

_FITS_FOLDS = "sklearn.model_selection._validation"  # the module that fits a search's folds
# Kinds of warnings, with their columns, already given for a fold of a search.
_told_of_folds: set[tuple[type[exceptions.DataWarning], tuple[Hashable, ...]]] = set()


@one_blas_thread()
def warn_about_data(
    model: LinearGaussianModel,
    scorer: FamilyScorer,
    observed: Sample | None = None,
    *,
    is_gaussian: bool = True,
) -> None:
    """Warn if rows contradict the model of the network found in them, once for each reason.

    `scorer`: knows the rows in which the network was found. If they were not kept, there are no
        warnings. Columns of nodes that have several are skipped: they are not meant to be Gaussian.
    `observed`: the model's columns with holes, instead of the scorer's rows. A residual is known
        where the column and its parents are observed.
    `is_gaussian`: whether noise is meant to be Gaussian, and not skewed.
    """
    sample = scorer.sample if observed is None else observed
    if not sample.has_rows:
        return
    rows = scorer.kept(sample.rows) if observed is None else sample.rows
    weight, n_samples = sample.weight, float(sample.shape[0])
    if weight is not None:
        rows, weight = rows[weight > 0], weight[weight > 0]
        share = weight / weight.max()
        n_samples = share.sum() ** 2 / (share**2).sum()  # Kish's (1965) effective number
    n_levels = _n_levels(rows, int(min(_MOST_LEVELS, n_samples // _FEWEST_ROWS_PER_LEVEL)))
    is_number = scorer.nodes.are_numbers
    own, most = _never_set(rows, sample, scorer), scorer.families.max_parents
    has_codes = _warn_about_table(model, rows, own, is_number, most)
    is_number[list(model.exogenous)] = False
    n_levels = {v: n for v, n in n_levels.items() if is_number[v]}
    groups = _joined_dummies(model.parents, rows, [v for v, n in n_levels.items() if n == 2])
    if groups:
        _warn(model, exceptions.DummyEdgeWarning, _about_dummies(model, groups))
    category = {v: {*group} for group in groups for v in group}
    children = {
        v: n
        for v, n in n_levels.items()
        if {*members_of(model.parents[v])} - category.get(v, set())
    }
    if children:
        _warn(model, exceptions.DiscreteChildWarning, _about_discrete(model, children, n_levels))
    if not is_gaussian or n_samples < _FEWEST_ROWS or has_codes:  # which make residuals skewed
        return
    skewness = _residual_skewness(model, rows, weight)
    if sample.is_set is not None:  # residuals of values that were set say nothing
        for nodes, counts in sample.groups:
            at = scorer.nodes.columns_of(nodes)
            skewness[at] = 0
            if len(counts.rows) >= _FEWEST_ROWS:
                kept = scorer.kept(counts.rows) if observed is None else counts.rows
                skewness[at] = _residual_skewness(model, kept, counts.weight)[at]
    # The skewness of a column with few values only says how often each value occurs.
    skewness[[*n_levels, *np.flatnonzero(~is_number)]] = 0
    skewed = np.flatnonzero(np.abs(skewness) > _LARGEST_SKEWNESS)
    if len(skewed):
        message = _about_skewness(model, skewed.tolist(), skewness[skewed])
        _warn(model, exceptions.SkewedResidualsWarning, message)


def warn_about_groups(
    model: LinearGaussianModel, rows: Floats, groups: Sequence[Integers], n_samples: float
) -> None:
    """Warn if rows of one group have residuals alike, by analyses of variance of their ranks.

    `rows`: (n, m), NaN where a column has no value, or one that was set
    `groups`: the rows of each group
    `n_samples`: how many independent rows they count as in the search
    """
    from scipy.stats import rankdata  # which takes long to import

    residuals = model.residuals(rows[np.concatenate(groups)])
    known = ~np.isnan(residuals)
    # Ranks, because a few large values would make a group of their own
    values = np.nan_to_num(rankdata(residuals, axis=0, nan_policy="omit"))
    starts = np.cumsum([0, *map(len, groups[:-1])])
    n_of, sums = (np.add.reduceat(each, starts, dtype=np.float64) for each in (known, values))
    n, k, explained = n_of.sum(axis=0), (n_of > 0).sum(axis=0), sums**2 / np.maximum(n_of, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (explained.sum(axis=0) - sums.sum(axis=0) ** 2 / n) / (k - 1)
        within = ((values**2).sum(axis=0) - explained.sum(axis=0)) / (n - k)
        size = (n - (n_of**2).sum(axis=0) / n) / (k - 1)
        correlation = (between - within) / (between + (size - 1) * within)
        n_effective = n / (1 + (size - 1) * correlation)
        probability = fdtrc(k - 1, n - k, between / within)
    alike = np.flatnonzero(probability * len(n) < _LARGEST_PROBABILITY)
    if not len(alike):
        return
    worst = alike[np.argmin(n_effective[alike])]
    least = float(n_effective[worst])
    if n_samples <= 1.1 * least:
        return
    others = f" (and those of {len(alike) - 1} others)" if len(alike) > 1 else ""
    warn(
        f"Rows of one group are alike: the residuals of column {model.nodes[worst]!r}{others} have "
        f"an intraclass correlation of {correlation[worst]:.2g} within the {len(groups)} groups. A "
        f"search takes the {len(residuals)} rows as independent and finds edges of chance, which "
        "resamples of whole groups confirm. For differences between groups, fit their means, "
        "X.groupby(groups).mean(), without groups; for changes within groups, fit "
        'X - X.groupby(groups).transform("mean"). Or let the rows count as the '
        f"{least:.0f} independent ones that they are worth, by "
        f"sample_weight=numpy.full({len(rows)}, {least / len(residuals):.3g}).",
        exceptions.DependentRowsWarning,
    )


def _warn(model: LinearGaussianModel, category: type[exceptions.DataWarning], message: str) -> None:
    """Warn at the user's line; for the folds of a search once in a process, without details.

    Each fold would name other columns, so that no filter could tell that it is the same warning.
    Nothing is said without a message.
    """
    if not message:
        return
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__") != _FITS_FOLDS:
        frame = frame.f_back
    if frame is not None:  # in a fold
        fold = category, tuple(model.nodes)
        if fold in _told_of_folds:
            return
        _told_of_folds.add(fold)
        first, _, _ = message.partition(":")
        message = f"{first}, in a fold of a search. Fit the learner to the table to see which."
    warn(message, category)


# The table


def _warn_about_table(
    model: LinearGaussianModel, rows: Floats, own: Floats, is_number: Booleans, max_parents: int
) -> bool:
    """Warn if the table is not what it should be; return whether it has codes for missing values.

    `own` are the rows without the values that were set; `is_number` says which columns are nodes by
    themselves.
    """
    names, n, codes, text = model.nodes, len(rows), "", ""
    lowest, highest = _range_of(own)
    at_ends = own == lowest, own == highest
    # In most tables each column has its lowest and its highest value once, as one count shows.
    n_ends = 2 * np.count_nonzero(~np.isnan(lowest))
    may_repeat = sum(map(np.count_nonzero, at_ends)) > n_ends
    if may_repeat:
        repeats = np.any([at.sum(axis=0) > 1 for at in at_ends], axis=0) & is_number
        codes = suspicions.about_codes(names, own, np.flatnonzero(repeats))
    numbering: list[int] = []
    if (highest - lowest == n - 1).any() or any(str(name).startswith("Unnamed") for name in names):
        numbering = suspicions.row_numbers(names, rows)
    if not {*numbering} <= {*model.exogenous}:
        text = suspicions.about_row_numbers([names[v] for v in numbering])
    others = [v for v in range(len(names)) if v not in numbering]
    numbers = [v for v in others if is_number[v]]
    most = max(_FEWEST_OF_MANY, _MOST_PRODUCTS // max(len(numbers), 1) ** 2)
    some = rows[:: -(-n // most)]
    some = some if len(numbers) == len(names) else some[:, numbers]
    if not codes and _may_be_redundant(some):
        modelled = {i for i, v in enumerate(numbers) if v not in model.exogenous}
        of_numbers = [names[v] for v in numbers]
        text += suspicions.about_redundance(of_numbers, some, modelled, max_parents)
    _warn(model, exceptions.MissingCodeWarning, codes)
    _warn(model, exceptions.RedundantColumnsWarning, text)
    probes = rows[:: 1 + n // _N_PROBES] if may_repeat and others else ()
    if any(_comes_again(row, rows, others) for row in probes):
        text = suspicions.about_repeated_rows(rows[:, others])
        _warn(model, exceptions.RepeatedRowsWarning, text)
    return bool(codes)


def _range_of(rows: Floats) -> tuple[Floats, Floats]:
    """Return the lowest and the highest value of each column, of those that are not NaN."""
    # Numpy is much faster along contiguous rows than down a few columns.
    ends = []
    for part in _blocks(len(rows)):
        columns = np.ascontiguousarray(rows[part].T)
        ends.append((np.fmin.reduce(columns, axis=1), np.fmax.reduce(columns, axis=1)))
    lowest, highest = zip(*ends, strict=True)
    return np.fmin.reduce(lowest), np.fmax.reduce(highest)


def _comes_again(row: Floats, rows: Floats, columns: list[int]) -> bool:
    """Whether a row comes more than once in a table, by some columns."""
    same = rows[rows[:, columns[0]] == row[columns[0]]][:, columns]
    return bool((same == row[columns]).all(axis=1).sum() > 1)


def _never_set(rows: Floats, sample: Sample, scorer: FamilyScorer) -> Floats:
    """Return these rows, those of a positive weight, with NaN for values that were set."""
    if sample.is_set is None:
        return rows
    counts = slice(None) if sample.weight is None else sample.weight > 0
    return np.where(scorer.nodes.by_column(sample.is_set[counts]), np.nan, rows)


def _may_be_redundant(rows: Floats) -> bool:
    """Whether a column may be a copy or a sum of others, which inflates a variance."""
    missing = np.isnan(rows)
    rows = rows[~missing.any(axis=1)] if missing.any() else rows
    n, m = rows.shape
    if not 1 < m <= _MOST_COLUMNS or n < _FEWEST_COMPARED:
        return False
    centred = rows - np.full(n, 1 / n) @ rows
    products = centred.T @ centred
    scale = np.sqrt(products.diagonal())
    scale[scale == 0] = 1.0  # columns may not vary in these rows
    correlation = products / scale / scale[:, np.newaxis]
    correlation.flat[:: m + 1] += _RIDGE
    inflation = np.linalg.inv(correlation).diagonal() if n > m + 1 else np.inf
    return bool(np.max(inflation) > 1 / suspicions.LARGEST_RESIDUAL**2)


# Few values


def _n_levels(rows: Floats, most: int) -> dict[int, int]:
    """Return the number of different values of each column that has at most `most`."""
    first = np.sort(rows[:_FIRST_ROWS].T)
    few = np.flatnonzero((first[:, 1:] > first[:, :-1]).sum(axis=1) < most)
    n_levels = {}
    for v in few.tolist():
        values = np.empty(0)
        for part in _blocks(len(rows)):
            column = rows[part, v]
            values = np.union1d(values, column[~np.isin(column, values) & ~np.isnan(column)])
            if len(values) > most:
                break
        else:
            n_levels[v] = len(values)
    return n_levels


def _about_discrete(
    model: LinearGaussianModel, children: dict[int, int], n_levels: dict[int, int]
) -> str:
    # Their discrete parents are named too: otherwise these would be the next discrete children.
    parents = {u for v in children for u in members_of(model.parents[v]) if u in n_levels}
    listed = ", ".join(f"{model.nodes[v]!r} ({n} values)" for v, n in children.items())
    or_exogenous = _or_exogenous(sorted({*children} | parents), model)
    return (
        f"Columns of few different values have parents in the network: {listed}. Their noise "
        "cannot be Gaussian. If they are categories, pass them in a categorical dtype to a "
        f'learner with nodes="auto"{or_exogenous}, or leave them out.'
    )


def _or_exogenous(columns: list[int], model: LinearGaussianModel) -> str:
    """Return the advice not to model some columns, if others are left."""
    if len({*columns, *model.exogenous}) == len(model.nodes):
        return ""
    names = [model.nodes[v] for v in columns]
    return f", or let them be parents only, by adding {names} to exogenous"


# Dummies


def _joined_dummies(parents: list[int], rows: Floats, binary: list[int]) -> list[list[int]]:
    """Return groups of columns that are never 1 in the same row, if an edge joins two of them.

    The larger of a column's two values counts as 1, so that scaling makes no difference.
    """
    edges = [(a, b) for b in binary for a in binary if parents[b] >> a & 1]
    groups: list[list[int]] = []
    if not edges:
        return groups
    is_one = {v: rows[:, v] == np.nanmax(rows[:, v]) for v in binary}
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
        "of one category, these edges only say how it was coded. Pass the category itself to a "
        f'learner with nodes="auto"{_or_exogenous(dummies, model)}, or leave the category out.'
    )


# Skewness


def _residual_skewness(model: LinearGaussianModel, rows: Floats, weight: Floats | None) -> Floats:
    """Return the skewness of residuals; 0 if few of a column are known, NaN if out of range."""
    unit, total, n_known = np.sqrt(model.noise_variance), np.zeros(1), np.zeros(1)
    sums: list[Any] = [0.0, 0.0, 0.0]  # of the values, their squares and their cubes
    with np.errstate(all="ignore"):
        for part in _blocks(len(rows)):
            x = model.residuals(rows[part]) / unit
            share = np.ones(len(x)) if weight is None else weight[part]
            if np.isnan(rows[part]).any():
                known = ~np.isnan(x)
                total, n_known = total + share @ known, n_known + known.sum(axis=0)
                x = np.where(known, x, 0.0)
            else:
                total, n_known = total + share.sum(), n_known + len(x)
            for k, power in enumerate((x, x * x, x * x * x)):
                sums[k] = sums[k] + share @ power
        mean, square, cube = (each / total for each in sums)
        skewness = (cube - 3 * mean * square + 2 * mean**3) / (square - mean**2) ** 1.5
    return np.where(n_known < _FEWEST_ROWS, 0.0, skewness)


def _about_skewness(model: LinearGaussianModel, columns: list[int], skewness: Floats) -> str:
    names = [model.nodes[v] for v in columns]
    pairs = zip(names, skewness, strict=True)
    keep_names = '.set_output(transform="pandas")' if isinstance(names[0], str) else ""
    return (
        f"Columns have strongly skewed residuals: "
        f"{', '.join(f'{name!r} (skewness {each:.1f})' for name, each in pairs)}. The model "
        "assumes Gaussian residuals, and a few rows may decide about the edges of these columns. "
        "If a column itself is skewed, take its logarithm, or put sklearn.preprocessing."
        f"PowerTransformer(){keep_names} before the learner in a pipeline. If not, a parent's "
        "effect may not be linear, or a few rows may be outliers: "
        f"skbn.ResidualsDisplay.from_estimator(learner, X, columns={names}) may show which, and "
        "plot the same columns of learner.network_.residuals(X) against each of their parents."
    )


def _blocks(n_rows: int) -> list[slice]:
    return [slice(start, start + _ROWS_PER_BLOCK) for start in range(0, n_rows, _ROWS_PER_BLOCK)]


# The limit on parents


def warn_about_limit(
    scorer: FamilyScorer, model: LinearGaussianModel, possible: list[int], max_parents: int
) -> None:
    """Warn if many columns have `max_parents` parents and the score would gain from more.

    `model`: the network that was found
    `possible`: the masks of the parents that each column may have
    `max_parents`: no warning if it is 0, which asks for the empty network, or all other columns
    """
    m = len(model.parents) - len(model.exogenous)
    full = [x for x, mask in enumerate(model.parents) if mask.bit_count() == max_parents]
    if not 0 < max_parents < m - 1 or len(full) < max(_FEWEST_COLUMNS, _SMALLEST_SHARE * m):
        return
    if not scorer.nodes.are_columns:  # gains are known for single columns only
        return
    gains = gains_of_one_more_parent(scorer, model.parents, possible, full)
    gain = float(np.maximum(gains, 0).sum())
    if gain >= _SMALLEST_GAIN:
        warn(
            f"{len(full)} of the {m} columns have as many parents as max_parents={max_parents} "
            "allows. With one more parent for each, and no other change, the score would be up to "
            f"{gain:.3g} nats higher. Raise max_parents (of the LocalScoreTransformer, if there is "
            'one). With more rows than columns, GaussianBNLearner(search="order") needs no limit.',
            exceptions.MaxParentsWarning,
        )


def gains_of_one_more_parent(
    scorer: FamilyScorer, parents: list[int], possible: list[int], children: list[int]
) -> Floats:
    """Return by how many nats one more parent, the best, raises the local scores of columns.

    `parents`: the masks of each column's parents in a network
    `possible`: the masks of the parents that each column may have. Descendants never become
        parents.

    Returns `gains`: (len(children),), -inf for a column that can have no further parent.
    """
    m = len(parents)
    graph, is_parent = dag_of(range(m), parents), bits_of(parents, m)
    closed = [mask_of([x, *nx.descendants(graph, x)]) | parents[x] for x in children]
    further = bits_of([possible[x] & ~own for x, own in zip(children, closed, strict=True)], m)
    gains, position = np.empty(len(children)), {x: i for i, x in enumerate(children)}
    with one_blas_thread():
        for nodes, own in scorer.row_groups:
            asked = np.array([x for x in nodes if x in position], dtype=np.int64)
            for found in neighbours(own.statistics.factor, is_parent, asked):
                at = [position[x] for x in found.children.tolist()]
                of_each = np.where(further[at], _gains(own, is_parent, found), -np.inf)
                gains[at] = of_each.max(axis=1)
    return gains


def _gains(scorer: FamilyScorer, is_parent: Booleans, found: Neighbours) -> Floats:
    """Return how much higher families score with each column as a further parent, (n, m).

    It is -inf for columns that the family determines, up to rounding.
    """
    # The scorer's tables rule out families beyond its limit.
    n, m, criterion = scorer.statistics.n_samples, scorer.families.m, scorer.criterion
    penalty = [scorer.penalty] if isinstance(criterion, InformationCriterion) else []
    tables = np.asarray(criterion.tables(n, m, *penalty))
    x, of_parents, of_family = found.children, found.of_parents, found.of_family
    own = np.arange(len(x)), x  # where the families themselves are
    # The columns of the factor are of unit norm.
    is_known = of_family - of_family[own][:, np.newaxis] > np.log(_SMALLEST_RESIDUAL)
    is_added = np.ones(of_family.shape, dtype=int)
    is_added[own] = 0
    if scorer.offsets is not None:
        added = (is_parent[x] @ scorer.offsets)[:, np.newaxis] + is_added * scorer.offsets
        of_parents = of_parents + added
        of_family = of_family + added + scorer.offsets[x][:, np.newaxis]
    n_parents = np.minimum(is_parent[x].sum(axis=1, keepdims=True) + is_added, m - 1)
    with np.errstate(invalid="ignore"):
        scores = sum(local_score_terms(tables, n_parents, of_parents, of_family))
        gains = scores - scores[own][:, np.newaxis]
    return np.where(is_known & np.isfinite(gains), gains, -np.inf)

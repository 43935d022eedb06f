"""The parameters of a given graph by maximum likelihood: regressions, or EM if values are missing.

Where an experimenter set nodes, a node is regressed on its parents in the other rows.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skbn._core.arrays import Booleans, Floats
from skbn._core.graphs import propagate
from skbn._core.resources import one_blas_thread
from skbn._core.subsets import bits_of, members_of
from skbn._core.text import readable_value
from skbn._data.nodes import Nodes
from skbn._data.sample import Sample
from skbn._data.statistics import GroupStatistics, sample_statistics
from skbn._missing.em import Estimate, UnboundedError, estimate, saturated
from skbn._missing.incomplete_rows import IncompleteRows, incomplete_rows, require_spread
from skbn._networks.gaussian import LinearGaussianModel, estimate_model, require_values_set
from skbn.exceptions import DegenerateColumnsError

# In nats. EM begins with the saturated model, of which a coarse estimate will do.
_COARSE, _FINE = 1e-3, 1e-10


class GraphOfColumns(NamedTuple):
    """A graph whose parameters are to be estimated."""

    blocks: Nodes
    parents: list[int]  # the masks of the columns' parents, and of those whose edges are fixed
    fixed: list[int]
    exogenous: list[int]  # the columns that are not modelled


def by_least_squares(
    sample: Sample, is_set: Booleans | None, graph: GraphOfColumns
) -> tuple[LinearGaussianModel, list[GroupStatistics]]:
    """Return the parameters by regressions, and the statistics of the rows of each."""
    blocks, parents, fixed, exogenous = graph
    names, m = blocks.column_names, len(blocks.names)
    of_nodes = None if blocks.are_columns else blocks
    groups = [(list(range(m)), sample)]
    if is_set is not None:
        own_rows = sample.rows, sample.weight, None, of_nodes, is_set
        groups = [(own, each) for own, each in Sample(*own_rows).groups]
    sizes = [mask.bit_count() for mask in parents]
    statistics = []
    for nodes, rows in groups:
        own = blocks.columns_of(nodes)
        largest = max((sizes[i] for i in own), default=0)
        n_rows = rows.summary.n_rows
        if n_rows < largest + 2:
            node = names[max(own, key=lambda i: sizes[i])]
            not_set = " in which it was not set" if is_set is not None else ""
            raise ValueError(
                f"X has n_samples = {n_rows} rows{not_set}, and node {node!r} with its parents "
                f"makes {largest + 1} columns: with no more rows than that, the likelihood "
                "is unbounded. Give more rows, or the node fewer parents."
            )
        found = sample_statistics(rows.summary, names, largest_family=largest + 1, nodes=of_nodes)
        statistics.append(GroupStatistics(own, found))
    model = estimate_model(statistics, parents, names, fixed=fixed, exogenous=exogenous)
    return model, statistics


# Missing values


def by_em(sample: Sample, is_set: Booleans | None, graph: GraphOfColumns) -> LinearGaussianModel:
    """Return the parameters that make the observed values most probable, by EM."""
    rows = rows_with_holes(sample, graph, is_set)
    return model_of(em_of_network(rows, graph, saturated_em(rows)), rows, graph)


def rows_with_holes(
    sample: Sample, graph: GraphOfColumns, is_set: Booleans | None = None
) -> IncompleteRows:
    """Return the rows by their holes, if they tell the parameters of each family."""
    blocks = graph.blocks
    names, labels = blocks.column_names, [blocks.labels[each.source] for each in blocks.columns]
    known = sample.rows if sample.weight is None else sample.rows[sample.weight > 0]
    for v in graph.exogenous:
        if np.isnan(known[:, v]).any():
            raise ValueError(
                f"Column {labels[v]!r} is exogenous and has missing values, and nothing says how "
                "it is distributed. Complete it first, or model it: as a node that is not "
                "exogenous, in the first of a learner's tiers."
            )
    require_spread(known, names, labels)
    is_given = None
    if is_set is not None:
        is_given = blocks.by_column(is_set)
        require_values_set(sample.rows, is_given, labels)
        is_given[:, graph.exogenous] = True
    rows = incomplete_rows(sample.rows, sample.weight, is_given)
    for child, mask in enumerate(graph.parents):
        family = [*members_of(mask), child]
        of_child = rows.of_group(int(rows.patterned.group_of[child]))
        # The covariance of two parents that no edge joins follows from those of other edges.
        others = family if is_set is not None else [child]
        together = of_child.pair_weights()[np.ix_(family, others)]
        if together.min() <= len(family):
            i, j = np.unravel_index(together.argmin(), together.shape)
            two = readable_value([names[family[i]], names[others[j]]])
            raise ValueError(
                f"Node {names[child]!r} with its parents makes {len(family)} columns, of which "
                f"{two} are observed together in rows of weight {together.min():g} only. "
                "Give more rows, or the node fewer parents."
            )
    return rows


def joined_outside(parents: Sequence[int], exogenous: Sequence[int]) -> list[int]:
    """Return the masks of the parents with all edges among the exogenous columns."""
    joined, before = [*parents], 0
    for v in exogenous:
        joined[v] = before
        before |= 1 << v
    return joined


@one_blas_thread()
def saturated_em(
    rows: IncompleteRows, begin: Estimate | None = None, order: Sequence[int] = ()
) -> Estimate:
    """Return an estimate of the saturated model, a coarse one to begin with."""
    if begin is None:
        return saturated(rows, _COARSE)
    return estimate_masks(rows, begin, joined_outside([0] * len(order), order))


def estimate_masks(rows: IncompleteRows, begin: Estimate, parents: Sequence[int]) -> Estimate:
    """Return the parameters of a network by EM, as exactly as its steps allow."""
    return estimate(rows, parents, begin, tolerance=_FINE)


@one_blas_thread()
def em_of_network(
    rows: IncompleteRows, graph: GraphOfColumns, begin: Estimate, parents: list[int] | None = None
) -> Estimate:
    """Return the parameters of a network by EM, by default those of the graph.

    Raises DegenerateColumnsError if the likelihood is unbounded, naming a column.
    """
    masks = joined_outside(graph.parents, graph.exogenous) if parents is None else parents
    try:
        return estimate_masks(rows, begin, masks)
    except UnboundedError as error:
        column = graph.blocks.columns[error.column]
    raise DegenerateColumnsError(
        f"Column {column.name!r} is collinear with its parents in the rows in which they are "
        "observed together, and the likelihood is unbounded there. Leave out one of these columns, "
        "or give more rows.",
        (),
        [graph.blocks.labels[column.source]],
    )


def model_of(found: Estimate, rows: IncompleteRows, graph: GraphOfColumns) -> LinearGaussianModel:
    """Return the model that EM has found, in the columns' units."""
    scaled, intercept, noise = _regressions(found, rows, graph.parents)
    coef = scaled * rows.scale / rows.scale[:, np.newaxis]
    intercept = rows.mean + intercept * rows.scale - rows.mean @ coef
    mean = propagate(intercept, coef, graph.parents)
    rest = coef, intercept, mean, noise * rows.scale**2, graph.fixed, tuple(graph.exogenous)
    return LinearGaussianModel([*graph.blocks.column_names], graph.parents, *rest)


def _regressions(
    found: Estimate, rows: IncompleteRows, parents: Sequence[int]
) -> tuple[Floats, Floats, Floats]:
    """Return the coefficients, intercepts and noise variances that EM has found, in its units."""
    m = len(parents)
    coef, intercept, noise = np.zeros((m, m)), np.empty(m), np.empty(m)
    for x, mask in enumerate(parents):
        g, own = int(rows.patterned.group_of[x]), members_of(mask)
        mean, scatter = found.expected_mean[g], found.scatter[g] / rows.n_of_groups[g]
        coef[own, x] = np.linalg.solve(scatter[np.ix_(own, own)], scatter[own, x])
        intercept[x] = mean[x] - mean @ coef[:, x]
        noise[x] = scatter[x, x] - scatter[x] @ coef[:, x]
    return coef, intercept, noise


_STEP = 1e-4  # of differences, in units in which columns have variance 1


@one_blas_thread()
def errors_by_em(
    sample: Sample, is_set: Booleans | None, graph: GraphOfColumns
) -> tuple[Floats, Floats]:
    """Return standard errors of the coefficients that EM finds, and degrees of freedom.

    They are those of the observed information. Its score is that of the complete rows that EM
    expects (Fisher's identity); differences of it are taken as by Jamshidian & Jennrich (2000),
    "Standard errors for EM estimation". Without holes they are those of least squares. A child has
    as many degrees of freedom as rows in which it and any of its parents are both observed, less
    its coefficients. Returns `std_err`: (m, m), NaN without an edge, and if the parameters are not
    identified; `freedom`: (m,).
    """
    masks = joined_outside(graph.parents, graph.exogenous)
    rows = rows_with_holes(sample, graph, is_set)
    found = em_of_network(rows, graph, saturated_em(rows))
    m, n, group_of = len(masks), rows.n_of_groups, rows.patterned.group_of
    parent, child = np.nonzero(bits_of(masks, m).T)
    k, every = len(parent), np.arange(m)
    coef, *others = _regressions(found, rows, masks)
    start = np.concatenate([coef[parent, child], others[0], np.log(others[1])])

    def score(parameters: Floats) -> Floats:
        contrast = np.eye(m)  # column x times the columns is x less what its parents explain
        contrast[parent, child] = -parameters[:k]
        intercept, noise = parameters[k : k + m], np.exp(parameters[k + m :])
        paths = np.linalg.inv(contrast)
        mean, covariance = intercept @ paths, paths.T @ (noise[:, np.newaxis] * paths)
        begin = Estimate(
            *(mean, covariance, -np.inf, np.tile(mean, (len(n), 1))),
            *(n[:, np.newaxis, np.newaxis] * covariance, 0),
        )
        expected = estimate(rows, masks, begin, tolerance=np.inf)
        means = expected.expected_mean
        left = (means @ contrast)[group_of, every] - intercept
        own_n = n[group_of]
        products = (expected.scatter @ contrast)[group_of, :, every].T  # columns by residuals
        of_columns = products + own_n * left * means[group_of].T
        squares = (contrast * products).sum(axis=0) + own_n * left**2
        return np.concatenate(
            [of_columns[parent, child] / noise[child], own_n * left / noise, squares / noise / 2]
        )

    steps = _STEP * np.eye(len(start))
    information = [(score(start - step) - score(start + step)) / (2 * _STEP) for step in steps]
    std_err, freedom = np.full((m, m), np.nan), np.zeros(m)
    for x, mask in enumerate(masks):
        family = [*members_of(mask), x]
        together = rows.of_group(int(group_of[x])).pair_weights()[family, x]
        freedom[x] = together.min() - len(family)
    symmetric = (np.array(information) + np.array(information).T) / 2
    if np.linalg.eigvalsh(symmetric)[0] > 0:
        variance = np.diag(np.linalg.inv(symmetric))[:k]
        own_n = n[group_of[child]]
        variance = variance * own_n / (own_n - bits_of(masks, m).sum(axis=1)[child] - 1)
        std_err[parent, child] = np.sqrt(variance) * rows.scale[child] / rows.scale[parent]
    return std_err, freedom

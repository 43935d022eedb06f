"""BlockScorer: the local scores of nodes that have several columns each.

The score of a node x with the parents P is ``F[P + x] - F[P]``. For nodes S with d columns in all,
``F[S] = C[d] + a1[d - 1] * L[S]``, less the cost of their edges. This is the sum of the local
scores of x's columns, in any order, each with the columns of P and those before it as parents. An
information criterion's F changes by a constant for each node if a node's columns are replaced by
another basis of their span; for other criteria each node's columns are whitened first, which makes
F the same for all bases.

References
----------
Andrews, Ramsey & Cooper (2019), "Learning high-dimensional directed acyclic graphs with mixed
data-types", has this score, the degenerate Gaussian, for categories.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from skbn._core.arrays import Booleans, Floats, Integers
from skbn._core.resources import Resources, read_only
from skbn._core.subsets import members_of
from skbn._core.text import readable_value
from skbn._data.degenerate_columns import joined, labels_of
from skbn._data.nodes import Nodes
from skbn._data.sample import RowSummary
from skbn._data.statistics import Prior, SampleStatistics, sample_statistics
from skbn._regressions.least_squares import (
    Neighbours,
    left_by,
    solve_triangular,
    triangular_factor,
    without_zeros,
)
from skbn._regressions.log_determinants import set_functions
from skbn._regressions.set_function import SetWeights
from skbn._regressions.small_walk import columns_of_small_sets, small_log_determinants
from skbn._scores import criteria
from skbn._scores.families import TableFamilies
from skbn._scores.scorer import FamilyScorer, ScoredNeighbours
from skbn.exceptions import DegenerateColumnsError

# A column depends on the others of its node if its residual on them is a smaller share of its norm.
_LEAST_SHARE = 1e-10


class BlockScorer(FamilyScorer):
    """Scores the families of nodes, and keeps what it has computed.

    Sets of nodes have values of F in place of log-determinants, so that `tables` only take a
    difference. F leaves out what is in `score_offsets`.

    `sample`, `nodes`, `criterion`, `penalty`, `max_parents`, `n_jobs`: as for `FamilyScorer`

    `nodes`: with the columns that are independent within their node in these rows: a level without
        rows, for example, has no indicator
    """

    is_plain = False
    _of_penalty = (*FamilyScorer._of_penalty, *("_node_terms", "_column_constant", "_weights"))

    # The columns

    @cached_property
    def _independent(self) -> tuple[list[int], dict[str | int, list[Any]]]:
        return independent_columns(self.sample.summary, self.given_nodes)

    @property
    def _kept(self) -> list[int]:
        return self._independent[0]

    @cached_property
    def nodes(self) -> Nodes:
        """The nodes with their columns that are independent of each other."""
        return self.given_nodes.select(*self._independent)

    @cached_property
    def summary(self) -> RowSummary:
        """The summary of these columns."""
        summary = self.sample.summary
        return summary if len(self._kept) == summary.n_columns else summary.select(self._kept)

    def kept(self, rows: Floats) -> Floats:
        return rows[:, self._kept]

    @property
    def _most_columns(self) -> int:
        return sum(sorted(self.nodes.widths)[-self.families.max_parents - 1 :])

    # The criterion

    @cached_property
    def _criterion_tables(self) -> Floats:
        """The tables over the numbers of columns, shape (3, n_columns), without costs of edges."""
        most = self._most_columns
        tables = self._checked_tables(len(self.nodes.columns), most - 1)
        tables[0, most:] = 0.0  # no family has this many columns
        if not (
            np.isfinite(tables[0]).all() and (tables[1, 1:most] == -tables[2, : most - 1]).all()
        ):
            raise ValueError(
                f"criterion={readable_value(self.criterion)} cannot score nodes of several "
                "columns: the score of a node must be the difference of one function of sets, with "
                "a0[l + 1] == -a1[l] and finite c in its tables. Use 'bic', 'ebic', 'aic', "
                "'loglik' or 'bge', limit parents by max_parents, or leave nodes at None."
            )
        return tables

    def _penalised_tables(self, criterion: Any, n: float, m: int) -> Floats:
        return criteria.tables_of_columns(criterion, n, m, self.penalty)

    @property
    def column_tables(self) -> Floats:
        return self._criterion_tables

    @cached_property
    def tables(self) -> Floats:
        """The tables of a difference, shape (3, m), read-only."""
        m = self.families.m
        tables = np.stack([np.zeros(m), -np.ones(m), np.ones(m)])
        tables[0, self.families.max_parents + 1 :] = -np.inf
        return read_only(tables)

    @cached_property
    def _node_terms(self) -> Floats:
        """What sets of 0, ..., m nodes pay for their edges, shape (m + 1,)."""
        m = self.families.m
        if not isinstance(self.criterion, criteria.InformationCriterion):
            return np.zeros(m + 1)
        return np.append(0.0, -np.cumsum(self.penalty * criteria.edge_costs(self.criterion, m)))

    @cached_property
    def _column_constant(self) -> float:
        """A constant of each column, which is left out of F."""
        return float(self._criterion_tables[0, : self._most_columns].max())

    @cached_property
    def _weights(self) -> SetWeights:
        """The weights of sets of all nodes."""
        return self.weights_of(range(self.families.m), self.families.max_parents)

    def weights_of(self, columns: Sequence[int], max_parents: int) -> SetWeights:
        tables = self._criterion_tables.copy()
        tables[0] -= self._column_constant
        widths = [self.nodes.widths[v] for v in columns]
        most = min(max_parents, self.families.max_parents)
        terms = self._node_terms[: len(widths) + 1]
        return SetWeights.of_nodes(tables[:, : sum(widths)], widths, terms, most)

    # Units

    @property
    def _is_scale_free(self) -> bool:
        return criteria.is_scale_free(self._criterion_tables[:, : self._most_columns])

    @cached_property
    def _factors_within(self) -> list[Floats]:
        """The factor that whitens each node's columns, in their own units.

        A single column's factor is 1: its unit is the user's choice.
        """
        summary, nodes = self.summary, self.nodes
        factors = []
        for node, width in enumerate(nodes.widths):
            at = nodes.columns_of([node])
            within = triangular_factor(summary.factor[:, at]) / np.sqrt(summary.n_samples)
            factors.append(np.ldexp(within, summary.exponent[at]) if width > 1 else np.eye(1))
        return factors

    @cached_property
    def offsets(self) -> Floats | None:
        """What whitened columns, in their units, add to log-determinants; shape (m,), or None."""
        if self._is_scale_free:
            return None
        own = np.array([2 * np.log(np.abs(np.diag(u))).sum() for u in self._factors_within])
        return np.asarray(self._sum_by_node(2 * np.log(self.statistics.scale)) - own)

    @cached_property
    def score_offsets(self) -> Floats:
        offsets = self._column_constant * np.array(self.nodes.widths, dtype=np.float64)
        if self._is_scale_free:
            units = self._sum_by_node(np.log(self.statistics.scale))
            offsets += 2 * self._criterion_tables[2, 0] * units
        return read_only(offsets)

    def _sum_by_node(self, values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(values, self.nodes.starts[:-1]))

    # Regressions

    def _prior(self) -> Prior | None:
        """Return the criterion's prior of the whitened columns, as rows of the columns."""
        summary = self.summary
        if type(self.criterion).prior is criteria.Criterion.prior:
            return None
        k = len(self.nodes.columns)
        of_columns = np.zeros((k, k))
        for node, factor in enumerate(self._factors_within):
            at = self.nodes.columns_of([node])
            of_columns[np.ix_(at, at)] = factor
        whitened = solve_triangular(of_columns, np.eye(k))
        prior = self.criterion.prior(summary.n_samples, summary.column_means @ whitened)
        prior = criteria.check_prior(prior, f"{type(self.criterion).__name__}.prior", k)
        return None if prior is None else Prior(prior.rows @ of_columns, prior.mean @ of_columns)

    def _statistics(self, prior: Prior | None, **_: Any) -> SampleStatistics:
        summary, nodes, most = self.summary, self.nodes, self._most_columns
        n = min(summary.n_rows, summary.n_samples)
        if prior is None and n <= most:
            raise too_many_columns(nodes, most, summary.n_rows, summary.n_samples)
        remedy = "merge levels that stand for the same rows, or leave out {}."
        return super()._statistics(prior, nodes=nodes, remedy=remedy)

    def _values(self, families: TableFamilies, columns: list[int], resources: Resources) -> Floats:
        factor, offsets = self.factor_of(columns)
        given = resources.n_jobs, resources.progress
        subsets, widths = families.subsets, [self.nodes.widths[v] for v in columns]
        if subsets is None:
            weights = self.weights_of(columns, families.max_parents)
            return set_functions(factor, weights, *given, offsets).of_family
        added = np.zeros(len(columns)) if offsets is None else offsets
        log_det = small_log_determinants(factor, subsets, added, *given, widths=widths)
        # What a node adds to a set, relative to its own determinant, is the product of what its
        # columns leave: if one is too small, so is the product.
        own = np.array([self._own_log_determinant(node) for node in columns])
        self._check(families, log_det, own, columns)
        n_nodes = np.repeat(np.arange(subsets.most + 1), np.diff(subsets.starts))
        return self._value(columns_of_small_sets(subsets, widths), n_nodes, log_det)

    def _value(self, n_columns: Integers, n_nodes: Integers, log_det: Floats) -> Floats:
        """Return F of sets with these numbers of columns and nodes, without the offsets."""
        constants, factors = self._weights.of_family[:, n_columns]
        return np.asarray(constants + self._weights.node_terms[n_nodes] + factors * log_det)

    # Single families

    def _own_log_determinant(self, node: int) -> float:
        """Return the log-determinant of a node, whose columns must be independent."""
        if self.nodes.widths[node] == 1:  # of unit norm
            return 0.0 if self.offsets is None else float(self.offsets[node])
        self.require_independence([node])
        return self._log_determinants([], [node])[1]

    def _log_determinants(self, parents: Sequence[int], own: Sequence[int]) -> tuple[float, float]:
        """Return the log-determinants of some nodes, and of these with others, by LAPACK."""
        of_parents = self.nodes.columns_of(parents)
        every = [*of_parents, *self.nodes.columns_of(own)]
        with np.errstate(divide="ignore"):  # of dependent columns, which no family may have
            diagonal = np.abs(np.diag(triangular_factor(self.statistics.factor[:, every])))
            logs = 2 * np.log(np.append(diagonal, np.zeros(len(every) - len(diagonal))))
        k = len(of_parents)
        before, after = float(logs[:k].sum()), float(logs.sum())
        if self.offsets is not None:
            before += float(self.offsets[list(parents)].sum())
            after += float(self.offsets[[*parents, *own]].sum())
        return before, after

    def terms(self, child: int, parents: list[int]) -> tuple[float, float, float]:
        self.require_independence([*parents, child])
        log_det = np.array(self._log_determinants(parents, [child]))
        width = sum(self.nodes.widths[p] for p in parents)
        n_columns = np.array([width, width + self.nodes.widths[child]])
        n_nodes = np.array([len(parents), len(parents) + 1])
        before, after = self._value(n_columns, n_nodes, log_det).tolist()
        return 0.0, -before, after

    def network_terms(
        self, parents: Sequence[int], children: Sequence[int] | None = None
    ) -> Floats:
        terms = np.zeros((3, len(parents)))
        for x in range(len(parents)) if children is None else children:
            terms[:, x] = self.terms(x, members_of(parents[x]))
        return np.vstack([terms, self.score_offsets])

    def neighbours(self, is_parent: Booleans, children: Integers) -> ScoredNeighbours:
        m, widths = len(is_parent), np.array(self.nodes.widths)
        factor = np.asfortranarray(without_zeros(self.statistics.factor))
        squares = (factor**2).sum(axis=0)
        for x in np.asarray(children).tolist():
            own = is_parent[x]
            parents, change = np.flatnonzero(own).tolist(), np.where(own, -1, 1)
            change[x] = 0
            basis, _ = np.linalg.qr(factor[:, self.nodes.columns_of([*parents, x])])
            log_det = np.array([self._log_determinants(parents, [x])] * m).T
            for k, of_sets in zip((-widths[x], None), log_det, strict=True):
                of_sets += self._added_by_nodes(factor, squares, basis[:, :k])
            for z in (*parents, x):
                fewer = [p for p in parents if p != z]
                log_det[:, z] = self._log_determinants(fewer, [x])
            # A family of more parents than the limit is never chosen, and may have no score.
            n_nodes = len(parents) + change + np.array([[0], [1]])
            is_out = n_nodes[0] > self.families.max_parents
            n_columns = widths[parents].sum() + change * widths + [[0], [widths[x]]]
            n_columns[:, is_out] = 0
            before, after = self._value(n_columns, n_nodes, log_det)
            terms = np.stack([np.zeros(m), -before, after])[:, np.newaxis]
            terms[..., is_out], log_det[:, is_out] = -np.inf, np.nan
            yield Neighbours(np.array([x]), log_det[:1], log_det[1:]), terms

    def _added_by_nodes(self, factor: Floats, squares: Floats, basis: Floats) -> Floats:
        """Return what each node adds to the log-determinant of others, by a basis of these."""
        with np.errstate(divide="ignore"):  # of dependent columns, which no family may have
            added = self._sum_by_node(np.log(left_by(basis, factor, squares)))
            widths = np.array(self.nodes.widths)
            for width in {*self.nodes.widths} - {1}:
                nodes = np.flatnonzero(widths == width)
                columns = factor[:, self.nodes.columns_of(nodes.tolist())]
                left = columns - basis @ (basis.T @ columns)
                by_node = left.reshape(len(factor), len(nodes), width).transpose(1, 0, 2)
                diagonals = np.diagonal(np.linalg.qr(by_node, mode="r"), axis1=1, axis2=2)
                added[nodes] = 2 * np.log(np.abs(diagonals)).sum(axis=1)
        return added if self.offsets is None else added + self.offsets


def independent_columns(
    summary: RowSummary, nodes: Nodes
) -> tuple[list[int], dict[str | int, list[Any]]]:
    """Return the columns that are independent in their node, and the levels that have rows.

    A column that is a combination of those before it is left out. Indicators are so if the level
    without one has no rows; then the first level with rows takes its place.

    Raises DegenerateColumnsError, naming the nodes of several columns that do not vary, and what
    else is degenerate.
    """
    kept: list[int] = []
    levels = {name: [*own] for name, own in nodes.levels.items()}
    constant: dict[int, str] = {}
    for node, name in enumerate(nodes.names):
        columns = nodes.columns_of([node])
        if len(columns) == 1:  # it is refused by its own regressions if it does not vary
            kept += columns
            continue
        varies = [j for j in columns if summary.minimum[j] < summary.maximum[j]]
        factor = summary.factor[:, varies]
        norms = np.linalg.norm(factor, axis=0)
        basis = np.zeros((len(factor), 0))
        own = []
        for j, column, norm in zip(varies, factor.T, norms, strict=True):
            left = column
            for _ in range(2):  # twice, as the first leaves rounding along the basis
                left = left - basis @ (basis.T @ left)
            length = np.linalg.norm(left)
            if length > _LEAST_SHARE * norm:
                basis = np.column_stack([basis, left / length])
                own.append(j)
        if name in levels and varies:
            reference = levels[name][0]
            if len(own) < len(varies):
                reference, own = nodes.columns[varies[0]].level, varies[1:]
            levels[name] = [reference, *(nodes.columns[j].level for j in own)]
        if not own:
            one = "only one of its levels has rows"
            seen = one if name in nodes.levels else "they are constant"
            constant[node] = (
                f"Node {name!r} has {len(columns)} columns that do not vary: {seen}. Leave it out."
            )
        kept += own
    if constant:
        names = nodes.column_names
        labels, rest = labels_of(names, nodes), nodes.select(kept)
        own_names = [names[j] for j in kept]
        message = " ".join(constant.values())
        error = DegenerateColumnsError(message, [labels[j] for j in nodes.columns_of(constant)])
        # What is degenerate about the other nodes is told too.
        raise joined(error, lambda: sample_statistics(summary.select(kept), own_names, nodes=rest))
    return kept, levels


def too_many_columns(
    nodes: Nodes, most: int, n_rows: int, n_samples: float, *, holes: bool = False
) -> ValueError:
    """Return the error that a family may have as many columns as there are rows, or more."""
    widest = int(np.argmax(nodes.widths))
    what = "levels" if nodes.names[widest] in nodes.levels else "columns"
    n_parts = nodes.widths[widest] + (what == "levels")
    merge = "Merge rare levels (as OneHotEncoder(min_frequency=...) does), leave"
    return ValueError(
        f"X has {n_rows} rows, whose weights sum to {n_samples:g}, and nodes of {most} columns "
        "take part in a regression: with no more rows than columns, the likelihood is unbounded. "
        f"Node {nodes.names[widest]!r} alone has {n_parts} {what}. "
        f"{merge if nodes.levels else 'Leave'} nodes out, or set a lower max_parents"
        + (', or use criterion="bge".' if not holes else ".")
    )

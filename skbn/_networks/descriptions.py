"""A network in text and equations, and as a table of its edges and their worth."""

import json
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import networkx as nx
import numpy as np
from scipy.special import fdtrc, stdtr, stdtrit

from skbn._core.arrays import Floats, finite_number
from skbn._core.columns import column_number, parents_in
from skbn._core.estimator import StrOptions, check_values
from skbn._core.graphs import CONFIDENCES, equilibrated, fixed_parent_masks, parent_masks
from skbn._core.subsets import bits_of, members_of
from skbn._core.text import readable_name
from skbn._data.containers import row_labels
from skbn._data.encoding import encoded_rows
from skbn._data.nodes import Nodes
from skbn._data.sample import Sample
from skbn._data.statistics import Groups
from skbn._data.table import Table
from skbn._networks.equivalence import compelled_parents
from skbn._networks.gaussian import LinearGaussianModel
from skbn._regressions.least_squares import triangular_factor
from skbn._scores.base import BaseScores
from skbn._scores.criteria import CRITERIA, Criterion, as_criterion
from skbn._scores.local_scores import LocalScores

# Longer texts are cut: more lines would fill the screen, and more parents would break the line.
_MOST_LINES = 15
_MOST_PARENTS = 6


# Text


def network_text(
    title: str, dag: nx.DiGraph, model: LinearGaussianModel | None, max_rows: int | None = None
) -> str:
    """Return a few lines: what the network consists of, and the regression of each node.

    Parameters
    ----------
    title : str
        What the object is.
    dag : networkx.DiGraph
        Acyclic.
    model : LinearGaussianModel or None
        Its parameters; without them, nodes are listed with their parents.
    max_rows : int or None
        The most nodes that are listed; by default, as many as fill a screen.

    Examples
    --------
    >>> import networkx as nx
    >>> print(network_text("Network", nx.DiGraph([("a", "c"), ("b", "c")]), None))
    Network of 3 nodes and 2 edges (0 reversible)
    c <- a, b
    """
    nodes, parents = list(dag), parent_masks(dag)
    compelled = compelled_parents(parents, fixed_parent_masks(dag))
    n_edges = dag.number_of_edges()
    n_reversible = n_edges - sum(mask.bit_count() for mask in compelled)
    caption = f"{title} of {_count(len(nodes), 'node')} and {_count(n_edges, 'edge')}"
    if n_edges:
        caption += f" ({n_reversible} reversible)"
    lines = [
        f"{_symbol(nodes[v])} <- {', '.join(_first([_symbol(nodes[p]) for p in own], ''))}"
        if model is None
        else f"{_symbol(nodes[v])} is exogenous"
        if v in model.exogenous
        else _equation(model, v, own)
        for v, own in enumerate(map(members_of, parents))
        if own or model is not None
    ]
    most, kept = (_MOST_LINES, _MOST_LINES - 1) if max_rows is None else (max_rows, max_rows)
    if len(lines) > most:
        lines[kept:] = [f"... and {_count(len(lines) - kept, 'more node')}"]
    return "\n".join([caption, *lines])


def _equation(model: LinearGaussianModel, child: int, parents: list[int]) -> str:
    """Return the regression of a node on its parents, such as ``b = 1 - 2 a, noise sd 3``."""
    slopes = []
    for p in parents:
        weight = model.coef[p, child]
        sign = "-" if weight < 0 else "+"
        slopes.append(f"{sign} {_number(abs(weight))} {_symbol(model.nodes[p])}")
    mean = " ".join([_number(model.intercept[child]), *_first(slopes, "+ ")])
    if slopes:
        mean = re.sub(r"^-?0 (?:\+ |(-) )", r"\1", mean)  # no intercept of 0
    deviation = np.sqrt(model.noise_variance[child])
    noise = f"noise sd {_number(deviation)}" if deviation else "no noise"
    return f"{_symbol(model.nodes[child])} = {mean}, {noise}"


def _first(texts: list[str], prefix: str) -> list[str]:
    """Return the texts about some parents, and the number of the others if there are too many."""
    if len(texts) <= _MOST_PARENTS:
        return texts
    n_others = len(texts) - _MOST_PARENTS + 1
    return [*texts[: _MOST_PARENTS - 1], f"{prefix}{n_others} more parents"]


def _symbol(node: Hashable) -> str:
    """Return the name of a node, marked so that a number is not read as a value."""
    return readable_name(node) if isinstance(node, str) else f"x[{readable_name(node)}]"


def _number(value: float) -> str:
    """Return a number to three digits, without an exponent if that is short: 1230, not 1.23e+03."""
    return f"{float(f'{value:.3g}'):g}"


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


# The table


def edge_columns(
    dag: nx.DiGraph,
    blocks: Nodes,
    model: LinearGaussianModel | None,
    losses: Floats | None,
    groups: Groups | None,
    confidence: float | None,
) -> dict[str, Any]:
    """Return the columns of a table with a row for each edge.

    Parameters
    ----------
    dag : networkx.DiGraph
        Acyclic.
    blocks : Nodes
        Which columns stand for each node.
    model : LinearGaussianModel or None
        The parameters of the columns, if there are any.
    losses : ndarray of shape (m, m), or None
        How much the score loses without each edge, if that is known, as `score_losses` returns it.
    groups : sequence of GroupStatistics, or None
        The statistics from which the model was estimated; with them, there are standard errors.
    confidence : float or None
        The level of the intervals; None leaves them and the standard errors out.
    """
    nodes, parents = list(dag), parent_masks(dag)
    compelled = compelled_parents(parents, fixed_parent_masks(dag))
    pairs = [(p, c) for c, mask in enumerate(parents) for p in members_of(mask)]
    edges = [(nodes[p], nodes[c]) for p, c in pairs]
    columns: dict[str, Any] = {
        "parent": [parent for parent, _ in edges],
        "child": [child for _, child in edges],
    }
    if model is not None:
        columns |= _Edges(blocks, model, parents, pairs).weights()
    if losses is not None:
        columns["score_loss"] = [float(losses[pair]) for pair in pairs]
    # Truth values also without any edge, so that they can select rows.
    columns["reversible"] = np.array([not compelled[c] >> p & 1 for p, c in pairs], dtype=bool)
    for name in CONFIDENCES:
        values = [dag.edges[edge].get(name) for edge in edges]
        if any(value is not None for value in values):
            columns[name] = [
                np.nan
                if value is None
                else finite_number(value, f"{name} of edge {parent!r} -> {child!r}")
                for value, (parent, child) in zip(values, edges, strict=True)
            ]
    if model is not None and groups is not None and confidence is not None:
        columns |= _Edges(blocks, model, parents, pairs).intervals(groups, confidence)
    return columns


def score_losses(
    dag: nx.DiGraph,
    scores: Any,
    criterion: str | Criterion | None = None,
    blocks: Nodes | None = None,
) -> Floats:
    """Return by how much a network's score is lower without each of its edges, in nats.

    Parameters
    ----------
    dag : networkx.DiGraph
    scores : LocalScores, ParentSetScores, or array-like or data frame of shape (n, m)
        If ParentSetScores do not list the child's other parents, the child keeps the best listed
        subset of them; the loss is infinite if there is none.
    criterion : str, Criterion or None
        For a table; by default the BIC.
    blocks : Nodes, optional
        Which columns of a table stand for each node; by default one.

    Returns
    -------
    losses : ndarray of shape (m, m)
        ``losses[i, j]`` for the edge from the i-th node to the j-th; NaN without an edge.

    Raises
    ------
    ValueError, TypeError
        If the columns are not the nodes; if a regression on a table leaves no residual; if a
        criterion is given for scores, which have one.
    """
    if isinstance(scores, BaseScores):
        if criterion is not None:
            raise ValueError(
                "criterion says how to score a table; the scores given here are made already. "
                "Leave it at None."
            )
        parents_in(dag, scores.columns)  # checks that the nodes are the columns
        number = [column_number(scores.columns, node) for node in dag]
    else:
        scores = _scores_of_table(dag, scores, criterion, blocks)
        number = list(range(len(dag)))
    losses = np.full((len(dag), len(dag)), np.nan)
    for child, mask in enumerate(parent_masks(dag)):
        parents = members_of(mask)
        with_all = scores.local_score(number[child], [number[p] for p in parents])
        for parent in parents:
            others = [number[p] for p in parents if p != parent]
            without = scores.local_score(number[child], others)
            if without == -np.inf and (best := scores.top_parents(number[child], 1, others)):
                without = best[0].score
            losses[parent, child] = with_all - without
    return losses


def _scores_of_table(
    dag: nx.DiGraph, X: Any, criterion: str | Criterion | None, blocks: Nodes | None
) -> LocalScores:
    """Return the local scores of a table for the nodes in their order."""
    criterion = "bic" if criterion is None else criterion
    allowed = {"criterion": [StrOptions(CRITERIA), Criterion]}
    check_values("to_frame", allowed, {"criterion": criterion})
    blocks = Nodes.of_single_columns([*dag]) if blocks is None else blocks
    is_plain = not blocks.levels and {*blocks.widths} == {1}
    are_names = is_plain and all(isinstance(node, str) for node in dag)
    return LocalScores._from_sample(
        Sample(
            encoded_rows(blocks, Table(X)), labels=row_labels(X), nodes=None if is_plain else blocks
        ),
        as_criterion(criterion),
        np.array([*dag], dtype=object) if are_names else None,
        max_parents=max(degree for _, degree in dag.in_degree()),
    )


# Standard errors


def standard_errors(groups: Groups, parents: list[int]) -> tuple[Floats, Floats]:
    """Return the standard errors of a network's coefficients by ordinary least squares.

    Parameters
    ----------
    groups : sequence of GroupStatistics
        Each column is a child in one of them. Without the rows of a prior.
    parents : list of m int
        The masks of each column's parents.

    Returns
    -------
    std_err : ndarray of shape (m, m)
        ``std_err[i, j]`` is the standard error of the edge i -> j; NaN without an edge.
    degrees_of_freedom : ndarray of shape (m,)
        For each child's regression, the number of rows, or the sum of their weights, less the
        number of coefficients, the intercept included.

    Notes
    -----
    If the network is right, a coefficient less its true value, divided by its standard error, has
    Student's distribution with n - k - 1 degrees of freedom, for n rows and k parents. The errors
    ignore the search: edges that were chosen by the same rows look surer than they are.

    With the triangular factor R of the parents, the inverse of their scatter is the product of the
    inverse of R and its transpose: a coefficient's variance is the noise's, times the squared norm
    of a row of that inverse.
    """
    m = len(parents)
    std_err, degrees_of_freedom = np.full((m, m), np.nan), np.empty(m)
    for own, statistics in groups:
        is_parent = bits_of([mask if x in own else 0 for x, mask in enumerate(parents)], m)
        left = statistics.n_samples - is_parent.sum(axis=1) - 1.0
        degrees_of_freedom[own] = left[own]
        for families in statistics.families_of(is_parent):
            children, n_parents = families.children, families.n_parents
            if not n_parents.any():
                continue
            norms = np.linalg.norm(np.linalg.inv(families.first_block(n_parents)), axis=2)
            deviations = families.residual_norms() / np.sqrt(left[children])
            unscaled = norms * (deviations * statistics.scale[children])[:, np.newaxis]
            row, place = np.nonzero(np.arange(norms.shape[1]) < n_parents[:, np.newaxis])
            of_parents = families.columns[row, place]
            std_err[of_parents, children[row]] = unscaled[row, place] / statistics.scale[of_parents]
    return std_err, degrees_of_freedom


# What is known of edges, also between nodes of several columns


@dataclass(frozen=True)
class _Edges:
    """Edges of a network of nodes, by number, with the parameters of the nodes' columns."""

    blocks: Nodes
    model: LinearGaussianModel
    parents: list[int]  # the masks of each node's
    edges: list[tuple[int, int]]

    def weights(self) -> dict[str, Any]:
        """Return the columns of a table that say what the edges' parameters are."""
        blocks, model, edges = self.blocks, self.model, self.edges
        if blocks.are_columns:
            standardised = model.standardised_weights()
            ends = [(model.nodes[p], model.nodes[c]) for p, c in edges]
            return {
                "weight": [float(model.coef[edge]) for edge in edges],
                "standardised_weight": [standardised.get(edge, np.nan) for edge in ends],
            }
        weights = [self._by_columns(blocks.solved_within(model.coef), *edge) for edge in edges]
        return {
            "weight": [next(iter(each.values())) if len(each) == 1 else np.nan for each in weights],
            "coefficients": weights,
            "partial_r2": partial_r2(model, blocks, edges, self.parents),
        }

    def intervals(self, groups: Groups, confidence: float) -> dict[str, Any]:
        """Return what a table of edges says of the errors of their coefficients.

        Edges of several coefficients have NaN, and `std_errs`, a dict of both columns' names to the
        standard error; their `p_value` is that all coefficients are 0.
        """
        starts, widths = self.blocks.starts, self.blocks.widths
        ends = np.array([(starts[p], starts[c]) for p, c in self.edges], dtype=int)
        first, last = ends.reshape(-1, 2).T
        errors, degrees_of_freedom = standard_errors(groups, self.model.parents)
        weight, std_err = self.model.coef[first, last], errors[first, last]
        freedom = degrees_of_freedom[last]
        with np.errstate(divide="ignore", over="ignore"):
            t = weight / std_err
        margin = stdtrit(freedom, (1 + confidence) / 2) * std_err
        columns: dict[str, Any] = {
            "std_err": std_err,
            "t": t,
            "p_value": 2 * stdtr(freedom, -np.abs(t)),
            "ci_low": weight - margin,
            "ci_high": weight + margin,
        }
        if self.blocks.are_columns:
            return columns
        is_single = np.array([widths[p] == widths[c] == 1 for p, c in self.edges], dtype=bool)
        columns = {name: np.where(is_single, each, np.nan) for name, each in columns.items()}
        of_columns = self.blocks.parents_of_columns(self.parents, within=False)
        errors, _ = standard_errors(groups, of_columns)
        columns["std_errs"] = [self._by_columns(errors, *edge) for edge in self.edges]
        columns["p_value"] = np.array([self._p_value(groups, *edge) for edge in self.edges], float)
        return columns

    def _by_columns(
        self, of_columns: Floats, parent: int, child: int
    ) -> dict[tuple[Hashable, Hashable], float]:
        """Return numbers of a parent's and a child's columns, from (k, k), by the names of both."""
        rows, columns = (self.blocks.columns_of([v]) for v in (parent, child))
        names = self.blocks.column_names
        return {(names[i], names[j]): float(of_columns[i, j]) for i, j in product(rows, columns)}

    def _p_value(self, groups: Groups, parent: int, child: int) -> float:
        """Return the p-value of no coefficient of a parent's columns, in regressions of a child's.

        By Rao's (1951) F for Wilks' lambda, which is exact if one of the two has at most two
        columns; for one column of the child, it is the F test of least squares.
        """
        rest = [v for v in members_of(self.parents[child]) if v != parent]
        own, of_child, others = (self.blocks.columns_of(v) for v in ([parent], [child], rest))
        statistics = next(each for columns, each in groups if of_child[0] in columns)

        def log_det(columns: list[int]) -> float:
            factor = triangular_factor(statistics.factor[:, columns])
            return 2 * float(np.log(np.abs(np.diag(factor))).sum())

        with_parent = log_det([*others, *own, *of_child]) - log_det([*others, *own])
        log_lambda = with_parent - (log_det([*others, *of_child]) - log_det(others))
        p, q = len(of_child), len(own)
        left = statistics.n_samples - 1 - len(others) - q
        root = 1.0
        if p * p + q * q > 5:
            root = float(np.sqrt((p * p * q * q - 4) / (p * p + q * q - 5)))
        freedom = (left + q - (p + q + 1) / 2) * root - (p * q - 2) / 2
        if freedom <= 0:
            return np.nan
        return float(fdtrc(p * q, freedom, np.expm1(-log_lambda / root) * freedom / (p * q)))


def partial_r2(
    model: LinearGaussianModel,
    blocks: Nodes,
    edges: Sequence[tuple[int, int]],
    parents: Mapping[int, int] | Sequence[int],
) -> list[float]:
    """Return the share of its child's generalised variance that each edge's parent explains."""
    scaled, _ = equilibrated(model.factor())
    correlation, varies = scaled.T @ scaled, np.abs(scaled).max(axis=0) > 0

    def log_det(nodes: Sequence[int]) -> float:
        at = [i for i in blocks.columns_of(nodes) if varies[i]]  # `do` holds some
        return float(np.linalg.slogdet(correlation[np.ix_(at, at)])[1])

    found = []
    for parent, child in edges:
        others = [v for v in members_of(parents[child]) if v != parent]
        with_parent = log_det([*others, parent, child]) - log_det([*others, parent])
        without = log_det([*others, child]) - log_det(others)
        found.append(1 - np.exp(with_parent - without))
    return found


def describe(dag: nx.DiGraph, blocks: Nodes, model: LinearGaussianModel) -> nx.DiGraph:
    """Write the parameters into the attributes of a graph's nodes and edges."""
    columns = [blocks.columns_of([v]) for v in range(len(blocks.names))]
    names, standardised = blocks.column_names, model.standardised_weights()
    number = {node: v for v, node in enumerate(dag)}
    for node in blocks.levels:
        own = columns[number[node]]
        dag.nodes[node]["levels"] = len(own) + 1
        if len(own) == 1:
            dag.nodes[node]["level"] = str(names[own[0]])
    for node, own in zip(dag, columns, strict=True):
        if not model.noise_variance[own].any():
            dag.nodes[node]["held"] = True
    edges = [(number[p], number[c]) for p, c in dag.edges]
    # Each column of a child has those before it as parents too; these are solved for.
    coef = blocks.solved_within(model.coef)
    shares = partial_r2(model, blocks, edges, parent_masks(dag))
    for (a, b), data, share in zip(edges, dict(dag.edges).values(), shares, strict=True):
        coefficients = coef[np.ix_(columns[a], columns[b])]
        data |= {"coefficients": json.dumps(coefficients.tolist()), "partial_r2": float(share)}
        if coefficients.size == 1:
            data["weight"] = float(coefficients[0, 0])
            ends = names[columns[a][0]], names[columns[b][0]]
            if ends in standardised:
                data["standardised_weight"] = standardised[ends]
    return dag

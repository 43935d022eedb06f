"""A network in text and equations, and as a table of its edges and their worth."""

import json
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import networkx as nx
import numpy as np
from scipy.special import fdtrc, stdtr, stdtrit

from skbn._core.arrays import Booleans, Floats
from skbn._core.columns import column_number, parents_in
from skbn._core.estimator import StrOptions, check_values
from skbn._core.graphs import Dag, equilibrated, parent_masks, propagate
from skbn._core.subsets import bits_of, members_of
from skbn._core.text import readable_name
from skbn._data.containers import row_labels
from skbn._data.encoding import encoded_rows
from skbn._data.nodes import Nodes
from skbn._data.sample import Sample
from skbn._data.statistics import Groups
from skbn._data.table import Table
from skbn._networks.clusters import ClusterErrors
from skbn._networks.equivalence import compelled_parents
from skbn._networks.gaussian import LinearGaussianModel
from skbn._regressions.least_squares import triangular_factor
from skbn._scores.base import BaseScores
from skbn._scores.criteria import CRITERIA, Criterion, as_criterion
from skbn._scores.local_scores import LocalScores

# Longer texts are cut: more lines would fill the screen, and more parents would break the line.
MOST_LINES = 15
_MOST_PARENTS = 6


# Text


def network_text(
    title: str,
    dag: Dag,
    model: LinearGaussianModel | None = None,
    max_rows: int | None = None,
    shares: Mapping[int, float] | None = None,
) -> str:
    """Return a few lines: what the network consists of, and the regression of each node.

    `title`: what the object is
    `model`: the parameters of its columns; without them, nodes are listed with their parents
    `max_rows`: the most nodes that are listed; by default, as many as fill a screen
    `shares`: the R2 of some columns, by number

    >>> print(network_text("Network", Dag(["a", "b", "c"], [0, 0, 3], [0, 0, 0])))
    Network of 3 nodes and 2 edges (0 reversible)
    c <- a, b
    """
    compelled, shares = compelled_parents(dag.parents, dag.fixed), shares or {}
    n_edges = sum(mask.bit_count() for mask in dag.parents)
    n_reversible = n_edges - sum(mask.bit_count() for mask in compelled)
    caption = f"{title} of {_count(len(dag.nodes), 'node')} and {_count(n_edges, 'edge')}"
    if n_edges:
        caption += f" ({n_reversible} reversible)"
    shown = dag if model is None else model
    nodes = shown.nodes
    lines = [
        f"{_symbol(nodes[v])} <- {', '.join(_first([_symbol(nodes[p]) for p in own], ''))}"
        if model is None
        else f"{_symbol(nodes[v])} is exogenous"
        if v in model.exogenous
        else _equation(model, v, own) + (f", R2 {shares[v]:.3f}" if own and v in shares else "")
        for v, own in enumerate(map(members_of, shown.parents))
        if own or model is not None
    ]
    most, kept = (MOST_LINES, MOST_LINES - 1) if max_rows is None else (max_rows, max_rows)
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


# What a table of edges has for each coefficient; all else is of the edge.
OF_COEFFICIENTS = ["weight", "standardised_weight", "std_err", "t", "p_value", "ci_low", "ci_high"]


def edge_columns(
    dag: Dag,
    blocks: Nodes,
    model: LinearGaussianModel | None,
    losses: Floats | None,
    groups: Groups | None,
    clusters: ClusterErrors | None,
    confidence: float | None,
) -> tuple[dict[str, Any], list[tuple[Hashable, Hashable]]]:
    """Return the columns of a table with a row for each coefficient, and the edge of each row.

    `model`: the parameters of the columns. Without them, there is a row for each edge.
    `losses`: as `score_losses` returns them, if they are known
    `groups`: the statistics from which the model was estimated, if there are to be errors
    `clusters`: if rows come in groups, the standard errors by these instead
    `confidence`: the level of the intervals; None leaves them and the standard errors out
    """
    nodes, parents = dag.nodes, dag.parents
    compelled = compelled_parents(parents, dag.fixed)
    pairs = [(p, c) for c, mask in enumerate(parents) for p in members_of(mask)]
    ends = pairs if model is None else _ends(blocks, pairs)
    if model is not None:
        node_of = blocks.by_column(np.arange(len(nodes)))
        pairs = [(int(node_of[i]), int(node_of[j])) for i, j in ends]
    edges = [(nodes[p], nodes[c]) for p, c in pairs]
    names: Sequence[Any] = nodes if model is None else blocks.column_names
    columns: dict[str, Any] = {"parent": [names[i] for i, _ in ends]}
    columns["child"] = [names[j] for _, j in ends]
    if model is not None:
        coef, standardised = blocks.solved_within(model.coef), standardised_weights(model, blocks)
        columns["weight"] = [float(coef[each]) for each in ends]
        columns["standardised_weight"] = [float(standardised[each]) for each in ends]
    if losses is not None:
        columns["score_loss"] = [float(losses[pair]) for pair in pairs]
    # Truth values also without any edge, so that they can select rows.
    columns["reversible"] = np.array([not compelled[c] >> p & 1 for p, c in pairs], dtype=bool)
    for name, known in dag.notes.items():
        values = [float(known[pair]) for pair in pairs]
        if any(value == value for value in values):
            columns[name] = values
    if model is not None and groups is not None and confidence is not None:
        first, last = np.array(ends, dtype=int).reshape(-1, 2).T
        weight = np.array(columns["weight"])
        if clusters is None:
            of_columns = blocks.parents_of_columns(parents, within=False)
            every, free = standard_errors(groups, of_columns)
            errors, freedom = every[first, last], free[last]
        else:
            each = [clusters.between.error([(*end, 1.0)]) for end in ends]
            errors, freedom = np.array(each).reshape(-1, 2).T
        columns |= _intervals(weight, errors, freedom, confidence)
    if model is not None and not blocks.are_columns:
        shares = partial_r2(model, blocks, [*dict.fromkeys(pairs)], parents)
        of_edge = dict(zip(dict.fromkeys(pairs), shares, strict=True))
        columns["partial_r2"] = [of_edge[pair] for pair in pairs]
        if "p_value" in columns and clusters is None:
            tests = {pair: _p_value(blocks, parents, groups or [], *pair) for pair in of_edge}
            columns["edge_p_value"] = [tests[pair] for pair in pairs]
    return columns, edges


def _ends(blocks: Nodes, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pairs of columns that edges of nodes stand for, regression by regression."""
    ends = [
        each for p, c in pairs for each in product(blocks.columns_of([p]), blocks.columns_of([c]))
    ]
    return sorted(ends, key=lambda each: each[1])


def standardised_weights(model: LinearGaussianModel, blocks: Nodes) -> Floats:
    """Return weights per standard deviation of the child and, unless it is a level, of the parent.

    Returns `weights`: (n_columns, n_columns), NaN where one of the two does not vary.
    """
    deviation = model.standard_deviations()
    is_level = blocks.by_column(np.array([node in blocks.levels for node in blocks.names], bool))
    unit = np.where(is_level & (deviation > 0), 1.0, deviation)
    with np.errstate(all="ignore"):
        weights = blocks.solved_within(model.coef) * (unit[:, np.newaxis] / deviation)
    weights[:, deviation == 0], weights[deviation == 0] = np.nan, np.nan
    return np.asarray(weights)


def score_losses(
    dag: Dag, scores: Any, criterion: str | Criterion | None = None, blocks: Nodes | None = None
) -> Floats:
    """Return by how much a network's score is lower without each of its edges, in nats, (m, m).

    Entry [i, j] is for the edge i -> j, NaN without one. If ParentSetScores do not list the child's
    other parents, the child keeps the best listed subset of them; the loss is infinite if there is
    none.

    `scores`: LocalScores, ParentSetScores, or a table
    `criterion`: for a table; by default the BIC
    `blocks`: which columns of a table stand for each node; by default one
    """
    if isinstance(scores, BaseScores):
        if criterion is not None:
            raise ValueError(
                "criterion says how to score a table; the scores given here are made already. "
                "Leave it at None."
            )
        parents_in(dag.to_networkx(), scores.columns)  # checks that the nodes are the columns
        number = [column_number(scores.columns, node) for node in dag.nodes]
    else:
        scores = _scores_of_table(dag, scores, criterion, blocks)
        number = list(range(len(dag.nodes)))
    losses = np.full((len(number), len(number)), np.nan)
    for child, mask in enumerate(dag.parents):
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
    dag: Dag, X: Any, criterion: str | Criterion | None, blocks: Nodes | None
) -> LocalScores:
    """Return the local scores of a table for the nodes in their order."""
    criterion = "bic" if criterion is None else criterion
    allowed = {"criterion": [StrOptions(CRITERIA), Criterion]}
    check_values("to_frame", allowed, {"criterion": criterion})
    blocks = Nodes.of_single_columns(dag.nodes) if blocks is None else blocks
    is_plain = not blocks.levels and {*blocks.widths} == {1}
    are_names = is_plain and all(isinstance(node, str) for node in dag.nodes)
    return LocalScores._from_sample(
        Sample(
            encoded_rows(blocks, Table(X)), labels=row_labels(X), nodes=None if is_plain else blocks
        ),
        as_criterion(criterion),
        np.array(dag.nodes, dtype=object) if are_names else None,
        max_parents=max(mask.bit_count() for mask in dag.parents),
    )


# Standard errors


def standard_errors(groups: Groups, parents: list[int]) -> tuple[Floats, Floats]:
    """Return the standard errors of a network's coefficients by ordinary least squares.

    With the triangular factor R of the parents, a coefficient's variance is the noise's, times the
    squared norm of a row of the inverse of R. If the network is right, the error over its standard
    error has Student's distribution. The errors ignore the search: edges that were chosen by the
    same rows look surer than they are.

    `groups`: each column is a child in one of them. Without the rows of a prior.

    Returns `std_err`: (m, m), entry [i, j] for the edge i -> j; NaN without one;
    `degrees_of_freedom`: (m,), the number of rows, or the sum of their weights, less the number of
    coefficients, with the intercept.
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


def _intervals(
    weight: Floats, std_err: Floats, freedom: Floats, confidence: float
) -> dict[str, Any]:
    """Return what a table of edges says of the errors of its coefficients."""
    with np.errstate(divide="ignore", over="ignore"):
        t = weight / std_err
    margin = stdtrit(freedom, (1 + confidence) / 2) * std_err
    return {
        "std_err": std_err,
        "t": t,
        "p_value": 2 * stdtr(freedom, -np.abs(t)),
        "ci_low": weight - margin,
        "ci_high": weight + margin,
    }


def _p_value(blocks: Nodes, parents: list[int], groups: Groups, parent: int, child: int) -> float:
    """Return the p-value of no coefficient of a parent's columns, in regressions of a child's.

    By Rao's (1951) F for Wilks' lambda, which is exact if one of the two has at most two columns;
    for one column of the child, it is the F test of least squares.
    """
    rest = [v for v in members_of(parents[child]) if v != parent]
    own, of_child, others = (blocks.columns_of(v) for v in ([parent], [child], rest))
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
    terms = [
        (child, [v for v in members_of(parents[child]) if v != parent], [parent])
        for parent, child in edges
    ]
    return _explained(model.factor(), blocks, terms)


def _explained(
    factor: Floats, blocks: Nodes, terms: Iterable[tuple[int, list[int], list[int]]]
) -> list[float]:
    """Return the shares of children's generalised variances, given nodes, that others explain.

    `factor` is a matrix F of the columns' covariance F'F, and `terms` have the numbers of a child,
    of the nodes that are given, and of the others.
    """
    scaled, _ = equilibrated(factor)
    varies: Booleans = np.any(scaled, axis=0)

    def log_det(nodes: Sequence[int]) -> float:
        own = scaled[:, [i for i in blocks.columns_of(nodes) if varies[i]]]  # `do` holds some
        return float(np.linalg.slogdet(own.T @ own)[1])

    found = []
    for child, given, others in terms:
        with_others = log_det([*given, *others, child]) - log_det([*given, *others])
        without = log_det([*given, child]) - log_det(given)
        found.append(float(1 - np.exp(with_others - without)))
    return found


def r2(
    model: LinearGaussianModel, blocks: Nodes, groups: Groups | None, nodes: Sequence[int]
) -> dict[int, float]:
    """Return the share of each node's generalised variance that its parents explain.

    It is NaN for nodes that are exogenous or do not vary, and for all that depend on several
    exogenous nodes if the rows behind the estimates, which have their covariance, are not known.
    """
    outside, parents = list(model.exogenous), blocks.parents_of_nodes(model.parents)
    factor = model.factor()
    is_known: Booleans = np.any(factor, axis=0)
    if len(outside) > 1 and groups is None:
        is_known &= (factor[outside] != 0).sum(axis=0) < 2
    elif len(outside) > 1:
        statistics = next(each for columns, each in groups or [] if outside[0] in columns)
        own = triangular_factor(statistics.factor[:, outside]) * statistics.scale[outside]
        noise = np.diag(np.sqrt(model.noise_variance))
        noise[np.ix_(outside, outside)] = own / np.sqrt(statistics.n_samples)
        factor = propagate(noise, model.coef, model.parents)
    is_known[outside] = False
    known = [v for v in nodes if is_known[blocks.columns_of([v])].all()]
    given: list[int] = []
    terms = [(v, given, members_of(parents[v])) for v in known]
    found = dict(zip(known, _explained(factor, blocks, terms), strict=True))
    return {v: found.get(v, np.nan) for v in nodes}


def describe(dag: nx.DiGraph, blocks: Nodes, model: LinearGaussianModel) -> nx.DiGraph:
    """Write the parameters into the attributes of a graph's nodes and edges."""
    columns = [blocks.columns_of([v]) for v in range(len(blocks.names))]
    names, standardised = blocks.column_names, standardised_weights(model, blocks)
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
        data |= {"coefficients": json.dumps(coefficients.tolist()), "partial_r2": share}
        if coefficients.size == 1:
            data["weight"] = float(coefficients[0, 0])
            if not np.isnan(of_edge := standardised[columns[a][0], columns[b][0]]):
                data["standardised_weight"] = float(of_edge)
    return dag

"""Edges between nodes of several columns: their coefficients, strengths and attributes."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from itertools import product
from typing import Any

import networkx as nx
import numpy as np
from scipy.special import fdtrc

from skbn._core.arrays import Floats
from skbn._core.graphs import equilibrated, parent_masks
from skbn._core.subsets import members_of
from skbn._data.nodes import Nodes
from skbn._data.statistics import GroupStatistics, SampleStatistics
from skbn._networks.descriptions import standard_errors
from skbn._networks.gaussian import LinearGaussianModel
from skbn._regressions.least_squares import triangular_factor


def describe(dag: nx.DiGraph, blocks: Nodes, model: LinearGaussianModel) -> nx.DiGraph:
    """Set the attributes of a graph's nodes and edges that say what the parameters are."""
    names = blocks.column_names
    columns = [[names[i] for i in blocks.columns_of([v])] for v in range(len(blocks.names))]
    standardised = model.standardised_weights()
    number = {node: v for v, node in enumerate(dag)}
    for node in blocks.levels:
        own = columns[number[node]]
        dag.nodes[node]["levels"] = len(own) + 1
        if len(own) == 1:
            dag.nodes[node]["level"] = str(own[0])
    edges = [(number[p], number[c]) for p, c in dag.edges]
    shares = partial_r2(blocks, model, parent_masks(dag), edges)
    for (a, b), data, share in zip(edges, dict(dag.edges).values(), shares, strict=True):
        coefficients = coefficients_of(blocks, model, a, b)
        data |= {"coefficients": json.dumps(coefficients.tolist()), "partial_r2": float(share)}
        if coefficients.size == 1:
            data["weight"] = float(coefficients[0, 0])
            ends = columns[a][0], columns[b][0]
            if ends in standardised:
                data["standardised_weight"] = standardised[ends]
    return dag


def weight_columns(
    blocks: Nodes,
    model: LinearGaussianModel,
    parents: list[int],
    edges: list[tuple[int, int]],
) -> dict[str, Any]:
    """Return the columns of a table that say what the edges' parameters are."""
    weights = [coefficients_of(blocks, model, *edge) for edge in edges]
    return {
        "weight": [float(each[0, 0]) if each.size == 1 else np.nan for each in weights],
        "coefficients": [
            by_columns(blocks, each, *edge) for each, edge in zip(weights, edges, strict=True)
        ],
        "partial_r2": partial_r2(blocks, model, parents, edges),
    }


def coefficients_of(blocks: Nodes, model: LinearGaussianModel, parent: int, child: int) -> Floats:
    """Return the coefficients of a child's columns on a parent's, shape (n_parent, n_child).

    Each column of the child has those before it as parents too; these are solved for.
    """
    of_parent, of_child = (blocks.columns_of([v]) for v in (parent, child))
    return np.asarray(blocks.solved_within(model.coef)[np.ix_(of_parent, of_child)])


def by_columns(
    blocks: Nodes, coefficients: Floats, parent: int, child: int
) -> dict[tuple[Hashable, Hashable], float]:
    """Return coefficients by the names of both columns."""
    rows, columns = (
        [blocks.column_names[i] for i in blocks.columns_of([v])] for v in (parent, child)
    )
    return dict(zip(product(rows, columns), coefficients.ravel().tolist(), strict=True))


def partial_r2(
    blocks: Nodes,
    model: LinearGaussianModel,
    parents: list[int],
    edges: Sequence[tuple[int, int]],
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


def interval_columns(
    blocks: Nodes,
    groups: Sequence[GroupStatistics],
    parents: list[int],
    edges: Sequence[tuple[int, int]],
) -> dict[str, Any]:
    """Return what a table of edges says of the errors of coefficients between columns.

    Parameters
    ----------
    blocks : Nodes
    groups : sequence of GroupStatistics
        What the parameters were estimated from.
    parents : list of int
        The masks of the nodes' parents.
    edges : sequence of (parent, child)
        The numbers of their nodes.

    Returns
    -------
    columns : dict
        `std_errs`, a dict of both columns' names to the standard error for each edge, and
        `p_value`, that all coefficients of the edge are 0.
    """
    errors, _ = standard_errors(groups, blocks.parents_of_columns(parents, within=False))
    of_column = {x: statistics for own, statistics in groups for x in own}
    listed, p_values = [], []
    for parent, child in edges:
        rows, columns = (blocks.columns_of([v]) for v in (parent, child))
        listed.append(by_columns(blocks, errors[np.ix_(rows, columns)], parent, child))
        others = [v for v in members_of(parents[child]) if v != parent]
        family = rows, columns, blocks.columns_of(others)
        p_values.append(_p_value(of_column[columns[0]], *family))
    return {"std_errs": listed, "p_value": np.array(p_values, dtype=float)}


def _p_value(
    statistics: SampleStatistics, parent: list[int], child: list[int], others: list[int]
) -> float:
    """Return the p-value of no coefficient of a parent's columns, in the regressions of a child's.

    By Rao's (1951) F for Wilks' lambda, which is exact if one of the two has at most two columns;
    for one column of the child, it is the F test of least squares.
    """

    def log_det(columns: list[int]) -> float:
        factor = triangular_factor(statistics.factor[:, columns])
        return 2 * float(np.log(np.abs(np.diag(factor))).sum())

    with_parent = log_det([*others, *parent, *child]) - log_det([*others, *parent])
    log_lambda = with_parent - (log_det([*others, *child]) - log_det(others))
    p, q = len(child), len(parent)
    left = statistics.n_samples - 1 - len(others) - q
    root = 1.0
    if p * p + q * q > 5:
        root = float(np.sqrt((p * p * q * q - 4) / (p * p + q * q - 5)))
    freedom = (left + q - (p + q + 1) / 2) * root - (p * q - 2) / 2
    if freedom <= 0:
        return np.nan
    return float(fdtrc(p * q, freedom, np.expm1(-log_lambda / root) * freedom / (p * q)))

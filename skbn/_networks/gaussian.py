"""The joint Gaussian of a network, in arrays: factor, density, conditioning, interventions.

Each node is a linear function of its parents plus independent Gaussian noise:
``x_j = intercept_j + sum_i x_i coef_ij + noise_j``.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Self

import networkx as nx
import numpy as np
import numpy.typing as npt

from skbn._core.graphs import dag_of, fixed_masks, parent_masks
from skbn._core.text import readable_value
from skbn._networks.arguments import attribute
from skbn._networks.parameters import NetworkParameters
from skbn._regressions.triangular import solve_triangular, triangular_factor

__all__ = ["LinearGaussianModel", "is_parametrised"]


@dataclass(frozen=True)
class LinearGaussianModel:
    """A network of m nodes and its parameters, in node order.

    Parameters
    ----------
    nodes : list of m hashables
    parents : list of m int
        The masks of each node's parents.
    coef : ndarray of shape (m, m)
        ``coef[i, j]`` is the weight of the edge i -> j, 0 where there is none.
    intercept, mean, noise_variance : ndarray of shape (m,)
        The mean is kept beside the intercepts: differences from it have all digits
        where a mean is far from 0.
    fixed : list of m int
        The masks of those parents whose edges are known to have this direction.
    """

    nodes: list[Hashable]
    parents: list[int]
    coef: npt.NDArray[np.float64]
    intercept: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]
    noise_variance: npt.NDArray[np.float64]
    fixed: list[int]

    @classmethod
    def from_estimates(
        cls,
        nodes: list[Hashable],
        parents: list[int],
        parameters: NetworkParameters,
        fixed: list[int],
    ) -> Self:
        """Complete estimates by the intercepts."""
        coef, mean, noise_variance = parameters
        return cls(nodes, parents, coef, mean - mean @ coef, mean, noise_variance, fixed)

    @classmethod
    def from_dag(cls, dag: nx.DiGraph) -> Self:
        """Read an acyclic graph's attributes.

        Raises
        ------
        ValueError
            Naming the node or the edge: if one is missing, is no finite number, or is a
            negative variance.
        """
        nodes = list(dag)
        number = {node: v for v, node in enumerate(nodes)}
        intercept, noise_variance = np.empty(len(nodes)), np.empty(len(nodes))
        for node, data in dag.nodes(data=True):
            intercept[number[node]] = attribute(data, "intercept", f"node {node!r}")
            variance = attribute(data, "noise_variance", f"node {node!r}")
            if variance < 0:
                raise ValueError(
                    f"noise_variance of node {node!r} must not be negative; got "
                    f"{readable_value(variance)}."
                )
            noise_variance[number[node]] = variance
        coef = np.zeros((len(nodes), len(nodes)))
        for a, b, data in dag.edges(data=True):
            coef[number[a], number[b]] = attribute(data, "weight", f"edge {a!r} -> {b!r}")
        parents = parent_masks(dag)
        mean = _propagate(intercept, coef, _causal_order(nodes, parents))
        _require_finite(mean, nodes)
        return cls(nodes, parents, coef, intercept, mean, noise_variance, fixed_masks(dag))

    def to_dag(self) -> nx.DiGraph:
        """Return the graph with the parameters as attributes, nodes in their order."""
        dag = dag_of(self.nodes, self.parents, self.fixed)
        for v, node in enumerate(self.nodes):
            dag.nodes[node]["intercept"] = float(self.intercept[v])
            dag.nodes[node]["noise_variance"] = float(self.noise_variance[v])
        number = {node: v for v, node in enumerate(self.nodes)}
        for a, b, data in dag.edges(data=True):
            data["weight"] = float(self.coef[number[a], number[b]])
        return dag

    def factor(self) -> npt.NDArray[np.float64]:
        """Return the matrix that turns rows of standard noise into rows about the mean.

        ``F = diag(sqrt(noise_variance)) (I - coef)^-1``, and the covariance is F'F.
        """
        order = _causal_order(self.nodes, self.parents)
        # Column by column in the units of the columns, so that hard units overflow nothing.
        factor = _propagate(np.diag(np.sqrt(self.noise_variance)), self.coef, order)
        _require_finite(factor, self.nodes)
        return factor

    def covariance(self) -> npt.NDArray[np.float64]:
        """Return the joint covariance, shape (m, m)."""
        factor = self.factor()
        with np.errstate(over="ignore"):
            covariance = factor.T @ factor
        _require_finite(covariance, self.nodes)
        return np.asarray(covariance)

    def condition(
        self, given: list[int], values: npt.NDArray[np.float64], others: list[int]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the distribution of nodes given others, by a QR decomposition of the factor.

        Parameters
        ----------
        given, others : list of g and of k int
            Numbers of nodes.
        values : ndarray of shape (g,) or (n, g)

        Returns
        -------
        mean : ndarray of shape (k,) or (n, k)
        covariance : ndarray of shape (k, k)

        Raises
        ------
        ValueError
            If a given node has no variance of its own beside those given before it; if
            the result is out of float64's range.
        """
        g = len(given)
        scaled, unit = _equilibrated(self.factor()[:, [*given, *others]])
        _require_finite(unit, [self.nodes[v] for v in [*given, *others]])
        triangle = triangular_factor(scaled)
        own = np.abs(np.diag(triangle)[:g])
        # Rounding leaves some m eps of a node that others fix, the more, the nearer these are to
        # fixing each other.
        rounding = 10 * len(self.nodes) * np.finfo(np.float64).eps
        for v, deviation in zip(given, own, strict=True):
            if deviation <= rounding:
                raise ValueError(
                    f"Node {self.nodes[v]!r} cannot be given: the network, or the other nodes that "
                    "are given, fix its value up to rounding. Leave it out."
                )
        coefficients = solve_triangular(triangle[:g, :g], triangle[:g, g:])
        with np.errstate(over="ignore", invalid="ignore"):
            deviations = (values - self.mean[given]) / unit[:g]
            mean = self.mean[others] + deviations @ coefficients * unit[g:]
            factor = triangle[g:, g:] * unit[g:]
            covariance = factor.T @ factor
        left = [self.nodes[v] for v in others]
        _require_finite(mean, left)
        _require_finite(covariance, left)
        return np.asarray(mean), np.asarray(covariance)

    def standard_deviations(self) -> npt.NDArray[np.float64]:
        """Return the nodes' standard deviations, shape (m,), where variances may be out of range.

        They are 0 just where neither the node nor an ancestor has noise.
        """
        factor = self.factor()
        return np.where(factor.any(axis=0), _equilibrated(factor)[1], 0.0)

    def residuals(self, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return each row's differences from what the nodes' parents predict, shape (n, m).

        They are infinite or NaN where the difference of a row from the mean is out of range.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            centred = rows - self.mean
            return np.asarray(centred - centred @ self.coef)

    def log_density(self, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the log density of each row, shape (n,), in nats.

        Raises
        ------
        ValueError
            If a node has no noise.
        """
        for node, variance in zip(self.nodes, self.noise_variance, strict=True):
            if variance == 0:
                raise ValueError(
                    f"Node {node!r} has no noise, so that the network has no density: rows lie in "
                    "a subspace. Use mean_ and covariance_, sample or condition."
                )
        with np.errstate(over="ignore", invalid="ignore"):
            squares = ((self.residuals(rows) / np.sqrt(self.noise_variance)) ** 2).sum(axis=1)
        # A row out of all proportion has log density -inf.
        squares[np.isnan(squares)] = np.inf
        log_scale = (np.log(2 * np.pi) + np.log(self.noise_variance)).sum()
        return np.asarray(-0.5 * (squares + log_scale))

    def do(self, values: dict[int, float]) -> Self:
        """Return the model whose nodes of these numbers are cut off and set to the values."""
        held = list(values)
        parents, fixed = (
            [0 if v in values else mask for v, mask in enumerate(masks)]
            for masks in (self.parents, self.fixed)
        )
        coef, intercept = self.coef.copy(), self.intercept.copy()
        noise_variance, shift = self.noise_variance.copy(), np.zeros(len(parents))
        coef[:, held] = 0
        noise_variance[held] = 0
        intercept[held] = list(values.values())
        shift[held] = intercept[held] - self.mean[held]
        mean = self.mean + _propagate(shift, coef, _causal_order(self.nodes, parents))
        mean[held] = intercept[held]
        _require_finite(mean, self.nodes)
        return type(self)(self.nodes, parents, coef, intercept, mean, noise_variance, fixed)


def is_parametrised(dag: nx.DiGraph) -> bool:
    """Whether a graph is meant to carry parameters, be they complete or not.

    Weights alone are none: other programs' graphs have them for other reasons.
    """
    return any("intercept" in data or "noise_variance" in data for _, data in dag.nodes(data=True))


def _causal_order(nodes: list[Hashable], parents: list[int]) -> list[int]:
    return list(nx.topological_sort(dag_of(range(len(nodes)), parents)))


def _propagate(
    own: npt.NDArray[np.float64], coef: npt.NDArray[np.float64], order: list[int]
) -> npt.NDArray[np.float64]:
    """Solve ``x = own + x @ coef``, of shape (m,) or (k, m), parents before children."""
    x = own.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        for v in order:
            x[..., v] += x @ coef[:, v]
    return x


def _equilibrated(
    columns: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return columns of norm 1, and the norms; columns of 0 remain as they are."""
    # First by the largest entry, as the squares of the entries may over- or underflow.
    largest = np.abs(columns).max(axis=0)
    largest[largest == 0] = 1
    columns = columns / largest
    norm = np.linalg.norm(columns, axis=0)
    norm[norm == 0] = 1
    with np.errstate(over="ignore"):
        return columns / norm, largest * norm


def _require_finite(x: npt.NDArray[np.float64], nodes: list[Hashable]) -> None:
    for node, values in zip(nodes, x.T, strict=True):
        if not np.isfinite(values).all():
            raise ValueError(
                f"The mean or the variance of node {node!r} is out of float64's range. Measure "
                "the nodes in other units."
            )

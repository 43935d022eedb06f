"""The joint Gaussian of a network, in arrays: estimates, density, conditioning, interventions.

Each node is a linear function of its parents plus independent Gaussian noise:
``x_j = intercept_j + sum_i x_i coef_ij + noise_j``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import networkx as nx
import numpy as np
import numpy.typing as npt

from skbn._core.columns import finite_number
from skbn._core.graphs import dag_of, fixed_parent_masks, parent_masks
from skbn._core.notebook import html_table
from skbn._core.subsets import bits_of
from skbn._core.text import readable_name, readable_value, text_table
from skbn._data.statistics import SampleStatistics
from skbn._regressions.triangular import first_block, solve_triangular, triangular_factor

__all__ = [
    "GaussianDistribution",
    "LinearGaussianModel",
    "NetworkParameters",
    "estimate_model",
    "is_parametrised",
]


class NetworkParameters(NamedTuple):
    """The parameters of a network of m columns.

    Parameters
    ----------
    coef : ndarray of shape (m, m)
        ``coef[i, j]`` is the weight of the edge i -> j, or 0 without an edge.
    mean : ndarray of shape (m,)
        The intercepts are ``mean - mean @ coef``.
    noise_variance : ndarray of shape (m,)
    """

    coef: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]
    noise_variance: npt.NDArray[np.float64]


def estimate_model(
    statistics: SampleStatistics,
    parents: list[int],
    nodes: Sequence[Hashable],
    *,
    fixed: list[int] | None = None,
    divisors: npt.NDArray[np.float64] | None = None,
) -> LinearGaussianModel:
    """Return the model of a network with parameters by least squares.

    Parameters
    ----------
    statistics : SampleStatistics
    parents : list of m int
        The masks of each node's parents.
    nodes : sequence of m hashables
    fixed : list of m int, optional
        The masks of those parents whose edges are known to have this direction; by default none.
    divisors : ndarray of shape (m,), optional
        The variance of the noise of a child with l parents is its residual sum of squares
        divided by ``divisors[l]``. The default is n, which maximises the likelihood.

    Raises
    ------
    ValueError
        If a coefficient, or the variance of a column's noise, is out of float64's range.
    """
    m = len(parents)
    is_parent = bits_of(parents, m)
    n_parents = is_parent.sum(axis=1)
    factors, last = statistics.family_factors(is_parent), n_parents[:, np.newaxis]
    own = factors[np.arange(m)[:, np.newaxis], np.arange(factors.shape[1]), last]
    # Beyond its parents, a child has a unit matrix and zeros here, and so a solution of 0.
    k = factors.shape[1] - 1
    right = np.where(np.arange(k) < last, own[:, :k], 0.0)
    solved = np.linalg.solve(first_block(factors, n_parents), right[:, :, np.newaxis])
    squares = (np.take_along_axis(own, last, axis=1)[:, 0] * statistics.scale) ** 2
    coef = np.zeros((m, m))
    noise_variance = np.empty(m)
    for child, n in enumerate(n_parents):
        divisor = statistics.n_samples if divisors is None else divisors[n]
        if not divisor > 0:
            fewer = f", or set max_parents to fewer than {n}" if n else ""
            raise ValueError(
                f"The noise of column {nodes[child]!r} with {n} parents cannot be "
                "estimated: the criterion divides its residual sum of squares by "
                f"{readable_value(divisor)}. Give more rows{fewer}."
            )
        members = is_parent[child]
        with np.errstate(over="ignore"):
            unscaled = solved[child, :n, 0] * statistics.scale[child]
            coef[members, child] = unscaled / statistics.scale[members]
        if not np.isfinite(coef[:, child]).all():
            parent = nodes[int(np.argmax(~np.isfinite(coef[:, child])))]
            raise ValueError(
                f"The coefficient of column {parent!r} for column {nodes[child]!r} is out of "
                "float64's range. Measure them in units nearer to each other."
            )
        noise_variance[child] = squares[child] / divisor
        if noise_variance[child] < np.finfo(np.float64).tiny:
            raise ValueError(
                f"Column {nodes[child]!r} has noise of a variance below float64's range. Measure "
                "it in smaller units."
            )
    parameters = NetworkParameters(coef, statistics.mean.copy(), noise_variance)
    fixed = [0] * m if fixed is None else fixed
    return LinearGaussianModel.from_estimates(nodes, parents, parameters, fixed)


@dataclass(frozen=True)
class LinearGaussianModel:
    """A network of m nodes and its parameters, in node order.

    Parameters
    ----------
    nodes : list of m hashables
    parents : list of m int
        The masks of each node's parents.
    coef : ndarray of shape (m, m)
        ``coef[i, j]`` is the weight of the edge i -> j, or 0 without an edge.
    intercept, mean, noise_variance : ndarray of shape (m,)
        The mean is kept beside the intercepts, because differences from it keep all digits
        when it is far from 0.
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
        nodes: Sequence[Hashable],
        parents: list[int],
        parameters: NetworkParameters,
        fixed: list[int],
    ) -> Self:
        """Return the model of a graph, with its intercepts computed from the estimates."""
        coef, mean, noise_variance = parameters
        intercept = mean - mean @ coef
        return cls(list(nodes), parents, coef, intercept, mean, noise_variance, fixed)

    @classmethod
    def from_dag(cls, dag: nx.DiGraph) -> Self:
        """Read the parameters from the attributes of an acyclic graph.

        Raises
        ------
        ValueError
            Naming the node or the edge: if an attribute is missing or not a finite number, or a
            variance is negative.
        """
        nodes = list(dag)
        number = {node: v for v, node in enumerate(nodes)}
        intercept, noise_variance = np.empty(len(nodes)), np.empty(len(nodes))
        for node, data in dag.nodes(data=True):
            intercept[number[node]] = _attribute(data, "intercept", f"node {node!r}")
            variance = _attribute(data, "noise_variance", f"node {node!r}")
            if variance < 0:
                raise ValueError(
                    f"noise_variance of node {node!r} must not be negative; got "
                    f"{readable_value(variance)}."
                )
            noise_variance[number[node]] = variance
        coef = np.zeros((len(nodes), len(nodes)))
        for a, b, data in dag.edges(data=True):
            coef[number[a], number[b]] = _attribute(data, "weight", f"edge {a!r} -> {b!r}")
        parents = parent_masks(dag)
        mean = _propagate(intercept, coef, _causal_order(parents))
        _require_finite(mean, nodes)
        return cls(nodes, parents, coef, intercept, mean, noise_variance, fixed_parent_masks(dag))

    def to_dag(self) -> nx.DiGraph:
        """Return the graph with the parameters as attributes."""
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
        order = _causal_order(self.parents)
        # Column by column in the columns' own units, so that extreme units do not overflow.
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
            If the nodes given before it already determine a given node; if the result is out of
            float64's range.
        """
        g = len(given)
        scaled, unit = _equilibrated(self.factor()[:, [*given, *others]])
        _require_finite(unit, [self.nodes[v] for v in [*given, *others]])
        triangle = triangular_factor(scaled)
        own = np.abs(np.diag(triangle)[:g])
        # Where others determine a node, rounding leaves a multiple of m eps of it, and more if they
        # nearly determine each other.
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
        """Return the nodes' standard deviations, shape (m,), even if variances are out of range.

        They are 0 only where neither the node nor an ancestor has noise.
        """
        factor = self.factor()
        return np.where(factor.any(axis=0), _equilibrated(factor)[1], 0.0)

    def residuals(self, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return each row's differences from what the nodes' parents predict, shape (n, m).

        They are infinite or NaN if the difference of a row from the mean is out of range.
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
        # A row so far off that its squares overflow has log density -inf.
        squares[np.isnan(squares)] = np.inf
        log_scale = (np.log(2 * np.pi) + np.log(self.noise_variance)).sum()
        return np.asarray(-0.5 * (squares + log_scale))

    def do(self, values: dict[int, float]) -> Self:
        """Return the model after nodes, by number, lose their parents and are set to values."""
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
        mean = self.mean + _propagate(shift, coef, _causal_order(parents))
        mean[held] = intercept[held]
        _require_finite(mean, self.nodes)
        return type(self)(self.nodes, parents, coef, intercept, mean, noise_variance, fixed)


def is_parametrised(dag: nx.DiGraph) -> bool:
    """Whether a graph is meant to carry parameters, complete or not.

    Weights alone do not count: other programs' graphs have them for other reasons.
    """
    return any("intercept" in data or "noise_variance" in data for _, data in dag.nodes(data=True))


def _attribute(data: Mapping[str, Any], key: str, owner: str) -> float:
    """Return a finite number among the attributes of a node or an edge."""
    if key not in data:
        raise ValueError(
            f"{owner} has no attribute {key}. Give each node an intercept and a noise_variance and "
            "each edge a weight."
        )
    return finite_number(data[key], f"{key} of {owner}")


def _causal_order(parents: list[int]) -> list[int]:
    return list(nx.topological_sort(dag_of(range(len(parents)), parents)))


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
    """Return columns scaled to norm 1, and the norms; columns of zeros remain as they are."""
    # Divide by the largest entry first, because squares of the entries may over- or underflow.
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


_HEADER = ("node", "mean", "standard deviation")


class GaussianDistribution(NamedTuple):
    """A joint Gaussian distribution of k nodes.

    Parameters
    ----------
    nodes : list of k hashables
    mean : ndarray of shape (k,)
    covariance : ndarray of shape (k, k)

    Examples
    --------
    >>> import numpy as np
    >>> GaussianDistribution(["a", "b"], np.array([13.5, 700.0]), np.diag([0.25, 1e4]))
    Distribution of 2 nodes
    node  mean  standard deviation
    a     13.5                 0.5
    b      700                 100
    """

    nodes: list[Hashable]
    mean: npt.NDArray[np.float64]
    covariance: npt.NDArray[np.float64]

    @property
    def standard_deviation(self) -> npt.NDArray[np.float64]:
        """The nodes' standard deviations, shape (k,)."""
        return np.sqrt(np.diag(self.covariance))

    def __repr__(self) -> str:
        return "\n".join([self._caption(), text_table(self._rows(), "lrr", _HEADER)])

    def _repr_html_(self) -> str | None:
        return html_table(self._caption(), self._rows(), ["left", "right", "right"], _HEADER)

    def _caption(self) -> str:
        return f"Distribution of {len(self.nodes)} node{'s' * (len(self.nodes) != 1)}"

    def _rows(self) -> list[tuple[str, str, str]]:
        numbers = zip(self.mean, self.standard_deviation, strict=True)
        return [
            (readable_name(node), f"{mean:.4g}", f"{deviation:.4g}")
            for node, (mean, deviation) in zip(self.nodes, numbers, strict=True)
        ]

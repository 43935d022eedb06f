"""Gaussian Bayesian networks, random and published, and tables drawn from them.

``import skbn`` is enough to use ``skbn.datasets``.
"""

import json
from importlib.resources import files
from typing import Any

import networkx as nx
import numpy as np

from skbn._core.arrays import as_integer, finite_number
from skbn._core.estimator import random_generator
from skbn._core.resources import require_memory
from skbn._networks.network import GaussianBayesianNetwork

__all__ = ["load_network", "make_gaussian_network"]

_PUBLISHED = ("arth150", "ecoli70", "magic-irri", "magic-niab")

# A standard deviation up to this has a variance, and an inverse of that, within float64's range.
_LARGEST_DEVIATION = 1e150


def make_gaussian_network(
    n_columns: int = 10,
    *,
    mean_degree: float = 2.0,
    weight_range: tuple[float, float] = (0.5, 1.5),
    noise_range: tuple[float, float] = (0.5, 1.5),
    shuffle: bool = True,
    n_samples: int | None = None,
    random_state: Any = None,
) -> Any:
    """Draw a random sparse Gaussian Bayesian network and, optionally, rows from it.

    Each pair of columns is joined by an edge with the same probability, independently of the other
    pairs. Each edge starts at the column that is earlier in a causal order.

    Parameters
    ----------
    n_columns : int, default=10
        At least 1. The nodes of the network are the numbers 0, ..., n_columns - 1.
    mean_degree : float, default=2.0
        The expected number of neighbours of a column, parents and children; not negative. A pair is
        joined with probability ``mean_degree / (n_columns - 1)``, or 1 if that is larger, so that
        ``n_columns * mean_degree / 2`` edges are expected.
    weight_range : (float, float), default=(0.5, 1.5)
        The least and the largest absolute value of a weight, not negative. Absolute values are
        uniform between them, and both signs are equally likely.
    noise_range : (float, float), default=(0.5, 1.5)
        The least and the largest standard deviation of a column's noise, from 1e-150 to 1e150.
        Standard deviations are uniform between them.
    shuffle : bool, default=True
        Whether the causal order is a random permutation of the columns. If not, it is 0, ...,
        n_columns - 1: every edge leads to a column with a larger number.
    n_samples : int, optional
        The number of rows to draw, at least 1. By default, only the network is returned.
    random_state : int, RandomState, Generator or None, default=None
        A seed or a generator of numpy.random. With a number, each call draws the same network and
        the same rows, and the network does not depend on `n_samples`.

    Returns
    -------
    X : ndarray of shape (n_samples, n_columns), float64
        Independent rows of the network, if `n_samples` is given.
    network : GaussianBayesianNetwork
        With parameters. All intercepts, and so all means, are 0.

    Raises
    ------
    TypeError, ValueError
        If a parameter is of another type or out of its range; if a column's variance is out of
        float64's range, because effects multiply along paths; if the network needs more memory than
        there is.

    Notes
    -----
    The variance of a column is the variance of its noise plus what its ancestors add. Later columns
    therefore tend to vary more, and the variances hint at the causal order. They do not in most
    real tables (Reisach, Seiler & Weichwald 2021, "Beware of the simulated DAG!"). Standardise the
    rows before you give them to a method that depends on scales. BIC, AIC and EBIC do not.

    Examples
    --------
    >>> from skbn import GaussianBNLearner
    >>> from skbn.datasets import make_gaussian_network
    >>> X, truth = make_gaussian_network(8, n_samples=1000, random_state=2)
    >>> truth.dag.number_of_edges()
    9
    >>> found = GaussianBNLearner().fit(X).network_
    >>> found.compare(truth).cpdag_distance
    0
    """
    m = as_integer(n_columns, "n_columns", least=1)
    degree = finite_number(mean_degree, "mean_degree")
    if degree < 0:
        raise ValueError(f"mean_degree must not be negative; got {degree!r}.")
    weights = _range(weight_range, "weight_range")
    deviations = _range(noise_range, "noise_range")
    if deviations[0] < 1 / _LARGEST_DEVIATION or deviations[1] > _LARGEST_DEVIATION:
        raise ValueError(
            f"noise_range must lie between {1 / _LARGEST_DEVIATION!r} and {_LARGEST_DEVIATION!r}; "
            f"got {deviations}."
        )
    if not isinstance(shuffle, bool | np.bool_):
        raise TypeError(f"shuffle must be True or False; got {shuffle!r}.")
    n = None if n_samples is None else as_integer(n_samples, "n_samples")
    if n is not None and n < 1:
        raise ValueError(f"n_samples must be at least 1, or None for no rows; got {n}.")
    n_bytes = 8 * m * (8 * m + 2 * (n or 0))
    require_memory(n_bytes, "The network with its rows", "lower n_columns or n_samples")

    random = random_generator(random_state)
    order = random.permutation(m) if shuffle else np.arange(m)
    joined = np.triu(random.random((m, m)) < degree / max(m - 1, 1), k=1)
    coef = joined * random.choice([-1, 1], (m, m)) * random.uniform(*weights, (m, m))
    coef = coef[np.ix_(order, order)]
    deviation = random.uniform(*deviations, m)
    dag = nx.DiGraph()
    for column in range(m):
        dag.add_node(column, intercept=0.0, noise_variance=float(deviation[column] ** 2))
    for a, b in np.argwhere(joined[np.ix_(order, order)]).tolist():
        dag.add_edge(a, b, weight=float(coef[a, b]))
    network = GaussianBayesianNetwork(dag)
    try:
        rows = None if n is None else network.sample(n, random)
        network.covariance_  # noqa: B018
    except ValueError:
        raise ValueError(
            "Effects multiply along paths, and a column's variance is out of float64's range: "
            f"n_columns={m}, mean_degree={degree!r}, weight_range={weights}, "
            f"noise_range={deviations}. Lower one of them."
        ) from None
    return network if rows is None else (rows, network)


def load_network(name: str) -> GaussianBayesianNetwork:
    """Return one of four published networks, with its parameters.

    They come from the Bayesian Network Repository, https://www.bnlearn.com/bnrepository (CC BY-SA
    3.0), and many papers draw tables from them.

    Parameters
    ----------
    name : {"arth150", "ecoli70", "magic-irri", "magic-niab"}
        ================ ======= ===== ============ ============================================
        name             columns edges most parents what it is about
        ================ ======= ===== ============ ============================================
        ``"magic-niab"`` 44      66    9            wheat: traits and markers [1]_
        ``"ecoli70"``    46      70    4            genes of *Escherichia coli* [2]_
        ``"magic-irri"`` 64      102   11           rice: traits and markers [3]_
        ``"arth150"``    107     150   6            genes of *Arabidopsis thaliana* [4]_
        ================ ======= ===== ============ ============================================

    Returns
    -------
    network : GaussianBayesianNetwork
        Draw rows from it by :meth:`~skbn.GaussianBayesianNetwork.sample`.

    Raises
    ------
    ValueError
        If there is no network of this name.

    References
    ----------
    .. [1] M. Scutari, P. Howell, D. J. Balding, I. Mackay (2014). Multiple quantitative trait
       analysis using Bayesian networks. Genetics 198, 129-137.
    .. [2] J. Schäfer, K. Strimmer (2005). A shrinkage approach to large-scale covariance matrix
       estimation and implications for functional genomics. Statistical Applications in Genetics
       and Molecular Biology 4, 32.
    .. [3] N. Bandillo et al. (2013). Multi-parent advanced generation inter-cross (MAGIC)
       populations in rice. Rice 6, 11. The network is by M. Scutari.
    .. [4] R. Opgen-Rhein, K. Strimmer (2007). From correlation to causation networks. BMC Systems
       Biology 1, 37.

    Examples
    --------
    >>> from skbn.datasets import load_network
    >>> truth = load_network("magic-niab")
    >>> X = truth.sample(1000, random_state=0)
    >>> X.shape
    (1000, 44)
    """
    if name not in _PUBLISHED:
        raise ValueError(f"name must be one of {', '.join(map(repr, _PUBLISHED))}; got {name!r}.")
    path = files("skbn._networks") / "published" / f"{name}.json"
    dag = nx.DiGraph()
    for node, own in json.loads(path.read_text(encoding="utf-8"))["nodes"].items():
        dag.add_node(node, intercept=own["intercept"], noise_variance=own["variance"])
        edges = [(parent, node, weight) for parent, weight in own["coefficients"].items()]
        dag.add_weighted_edges_from(edges)
    return GaussianBayesianNetwork(dag)


def _range(value: Any, name: str) -> tuple[float, float]:
    """Return two numbers, the first not negative and not above the second."""
    try:
        least, largest = value
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be two numbers, (least, largest); got {value!r}.") from None
    least, largest = finite_number(least, name), finite_number(largest, name)
    if not 0 <= least <= largest:
        raise ValueError(
            f"{name} must be (least, largest) with 0 <= least <= largest; got {(least, largest)}."
        )
    return least, largest

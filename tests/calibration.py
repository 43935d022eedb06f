"""Data sets drawn from the prior that BGe means, and how often edges of some probability are there.

A data set is drawn in three steps, each from the prior of the posterior that it is compared with:

- a network, uniformly among all acyclic graphs on N_COLUMNS columns;
- for each column with l parents, the noise's variance, the coefficients and the intercept. By
  global independence and parameter modularity they are distributed as in a complete network, where
  the covariance is inverse Wishart with alpha_w degrees of freedom and the matrix ``t * I``. So
  ``t / variance`` is chi-squared with ``alpha_w - m + l + 1`` degrees of freedom. Given the
  variance, each coefficient is normal about 0 with variance ``variance / t``, and the intercept,
  for prior means nu = 0, with ``variance / alpha_mu``;
- the rows, between N_ROWS of them.
"""

from __future__ import annotations

import networkx as nx
import numpy as np
import reference

from skbn import BGe, GaussianBayesianNetwork

N_COLUMNS = 5
N_ROWS = (20, 50)
N_SETS = 500
# Few edges have a higher probability than 0.7 with this few rows.
BOUNDS = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1)
N_BINS = len(BOUNDS) - 1
# By default the prior means are those of the rows, and no rows can be drawn from such a prior.
CRITERION = BGe(nu=np.zeros(N_COLUMNS))


def draw_network(parents, rng, alpha_mu=1.0, alpha_w=None):
    """Return a network with these sets of parents and parameters from the prior of BGe."""
    m = len(parents)
    alpha_w = m + 2 if alpha_w is None else alpha_w
    t = alpha_mu * (alpha_w - m - 1) / (alpha_mu + 1)
    dag = nx.DiGraph()
    dag.add_nodes_from(range(m))
    for x, own in enumerate(parents):
        variance = t / rng.chisquare(alpha_w - m + len(own) + 1)
        intercept = rng.normal(0, np.sqrt(variance / alpha_mu))
        dag.add_node(x, intercept=intercept, noise_variance=variance)
        for p in sorted(own):
            dag.add_edge(p, x, weight=rng.normal(0, np.sqrt(variance / t)))
    return GaussianBayesianNetwork(dag)


def data_sets(seed=0, n_sets=N_SETS):
    """Yield networks from the prior, and rows drawn from each."""
    rng = np.random.default_rng(seed)
    graphs = reference.all_dags(N_COLUMNS)
    for _ in range(n_sets):
        network = draw_network(graphs[rng.integers(len(graphs))], rng)
        rows = network.sample(rng.integers(N_ROWS[0], N_ROWS[1], endpoint=True), rng)
        yield network, rows


def edges_and_paths(network):
    """Return which edges and which directed paths a network has, as matrices of 0 and 1."""
    graphs = network.dag, nx.transitive_closure_dag(network.dag)
    return [nx.to_numpy_array(dag, nodelist=range(N_COLUMNS), weight=None) for dag in graphs]


def bins_of(is_there, probabilities):
    """Return for each bin the number of probabilities, their sum, and how many edges are there."""
    off_diagonal = ~np.eye(N_COLUMNS, dtype=bool)
    p, there = probabilities[off_diagonal], is_there[off_diagonal]
    place = np.searchsorted(BOUNDS[1:-1], p, side="right")
    return np.array([np.bincount(place, each, N_BINS) for each in (np.ones_like(p), p, there)])


def distance_from_calibration(bins):
    """Return a number that is chi-squared with N_BINS degrees of freedom for true probabilities.

    Parameters
    ----------
    bins : ndarray of shape (n_sets, 3, N_BINS)
        The results of `bins_of`. The edges of one data set depend on each other, those of
        different ones do not; so the covariance is that among data sets.
    """
    excess = bins[:, 2] - bins[:, 1]
    covariance = np.cov(excess.T)
    mean = excess.mean(axis=0)
    return len(bins) * mean @ np.linalg.pinv(covariance, hermitian=True) @ mean

"""Faithful random networks, samples of them, and what theory says of how they are found again."""

from itertools import combinations

import networkx as nx
import numpy as np
import reference
from scipy.special import comb
from scipy.stats import beta, chi2

from skbn.datasets import make_gaussian_network


def draw_faithful(rng, m, smallest=0.03):
    """The first network drawn that is faithful enough, and how many were drawn."""
    n_drawn = 1
    network = make_gaussian_network(m, random_state=rng)
    while smallest_partial_correlation(network) < smallest:
        network = make_gaussian_network(m, random_state=rng)
        n_drawn += 1
    return network, n_drawn


def sample_moments(rng, network, n):
    """Few weighted rows with means 0 and the random covariance of n rows (Bartlett 1933)."""
    m = len(network.nodes)
    factor = np.tril(rng.standard_normal((m, m)), k=-1)
    factor[range(m), range(m)] = np.sqrt(rng.chisquare(n - 1 - np.arange(m)))
    rows = (np.linalg.cholesky(network.covariance_) @ factor).T * np.sqrt(m / n)
    return np.concatenate([rows, -rows]), np.full(2 * m, n / (2 * m))


def parents_of(network):
    return tuple(tuple(np.flatnonzero(column).tolist()) for column in network.coef_.T)


def smallest_partial_correlation(network):
    """The smallest that is not 0 among columns at most two edges apart, given any set of others."""
    weights = network.coef_
    m = len(weights)
    sets = np.arange(1 << m)
    inside = (sets[:, np.newaxis] >> np.arange(m) & 1).astype(float)
    blocks = inside[:, :, np.newaxis] * inside[:, np.newaxis] * network.covariance_
    blocks[:, range(m), range(m)] += 1 - inside
    log_det = np.linalg.slogdet(blocks)[1]
    joined = ((weights != 0) | (weights.T != 0)).astype(int)
    smallest = np.inf
    for a, b in zip(*np.nonzero(np.triu(joined + joined @ joined, k=1)), strict=True):
        given = sets[sets & (1 << a | 1 << b) == 0]
        with_a, with_b = log_det[given | 1 << a], log_det[given | 1 << b]
        log_rest = log_det[given | 1 << a | 1 << b] + log_det[given] - with_a - with_b
        size = np.sqrt(np.abs(np.expm1(log_rest)))
        smallest = min(smallest, size.min(where=size > 1e-6, initial=np.inf))
    return smallest


def equivalent_networks(parents):
    """All of the class: covered edges, reversed one after the other, lead to each of them."""
    found, new = {parents}, [parents]
    while new:
        network = new.pop()
        for child, own in enumerate(network):
            for parent in own:
                if set(own) - {parent} == set(network[parent]):
                    other = list(network)
                    other[child] = network[parent]
                    other[parent] = tuple(sorted((*network[parent], child)))
                    if tuple(other) not in found:
                        found.add(tuple(other))
                        new.append(tuple(other))
    return found


def chance_of_false_edges(parents, n, penalty=1.0):
    """At most how likely a BIC is to prefer a network that has an equivalent one's edges and more.

    Such a network has some column's parents in an equivalent network, and more parents for it:
    k useless ones gain half a chi-squared of k degrees of freedom, and cost k log(n) / 2. The sum
    over all such families bounds the chance; one more parent is counted once for each pair of
    columns and set that they are independent given, since the gain is the same in both directions.
    More than three are left out: four have the probability 2e-9 at 100,000 rows.
    """
    one_more, more = set(), set()
    for network in equivalent_networks(parents):
        graph = reference.graph_of(network)
        for child, own in enumerate(network):
            useless = {*graph} - nx.descendants(graph, child) - {child, *own}
            one_more |= {(frozenset((child, other)), own) for other in useless}
            more |= {
                (child, own, others) for k in (2, 3) for others in combinations(sorted(useless), k)
            }
    places = {1: len(one_more), 2: 0, 3: 0}
    for *_, others in more:
        places[len(others)] += 1
    return sum(places[k] * chi2.sf(k * penalty * np.log(n), k) for k in places)


def chance_of_any_edge(m, n, cost):
    """Between which bounds the chance lies that independent columns get an edge.

    k parents gain n/2 log(1 / (1 - R^2)), where R^2 has the beta distribution of k/2 and
    (n - 1 - k)/2, and cost k times `cost`. There is an edge if and only if some family is better
    than its child alone. The squared correlations are independent in pairs: the chance is at
    least that of Bonferroni's second inequality for them, and at most the sum over the families,
    with each pair of columns counted once.
    """
    chances = [family_chance(n, k, k * cost) for k in range(1, m)]
    n_pairs = comb(m, 2)
    larger = sum(m * comb(m - 1, k) * chances[k - 1] for k in range(2, m))
    pairs = n_pairs * chances[0]
    return pairs - comb(n_pairs, 2) * chances[0] ** 2, pairs + larger


def family_chance(n, k, cost):
    """How likely k useless parents are to gain more than a cost."""
    return beta.sf(-np.expm1(-2 * cost / n), k / 2, (n - 1 - k) / 2)

"""Networks of a posterior, a bootstrap or a list: answers that say how sure they are."""

from typing import Any

import networkx as nx
import numpy as np

from skbn._core.arrays import Floats, Random, level_of
from skbn._core.estimator import random_generator
from skbn._networks.anomalies import Anomalies
from skbn._networks.network import GaussianBayesianNetwork

_ROUNDING = 1e-12  # of exact probabilities


class EnsembleMixin:
    """What has many networks, which together tell how sure an answer is."""

    def _networks(self, n: int, rng: Random) -> tuple[list[GaussianBayesianNetwork], str]:
        """Return networks that count alike, and what they are; n of them if they are drawn."""
        raise NotImplementedError

    def anomalies(self, X: Any, *, n_samples: int = 1000, random_state: Any = None) -> Anomalies:
        """Return which rows, and which of their values, follow hardly any of the networks.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, m), or LocalScores
            New rows, as in `GaussianBayesianNetwork.anomalies`; values may be missing.
        n_samples : int, default=1000
            How many networks are drawn, with parameters, from a posterior or a list. All resamples
            of a bootstrap count.
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        anomalies : Anomalies
            Its residuals, densities and p-values of rows are means over the networks. The
            unadjusted p-value of a value follows from the mean probability of smaller values, given
            its parents, over networks in which the parents have values.

        Raises
        ------
        ValueError, TypeError
            As `GaussianBayesianNetwork.anomalies`; if no parameters can be drawn.

        Notes
        -----
        Parameters are drawn from their posterior given a network, under a flat prior in place of
        BGe's default one, which expects little noise. Near-optimal networks count by their scores,
        as if there were no others. A bootstrap's networks have the weights of the resamples, and
        the variances of all rows about them.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import GaussianBNPosterior
        >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
        >>> known, new = wine[::2], wine[1::2].copy()
        >>> new.loc[101, "alcohol"] += 5
        >>> found = GaussianBNPosterior().fit(known).anomalies(new, random_state=0)
        >>> [*found.to_frame()["row"]]
        [101]
        """
        networks, _ = self._networks(n_samples, random_generator(random_state))
        return networks[0]._anomalies(X, [network._model() for network in networks])


def networks_of(source: Any, n: int, rng: Random) -> tuple[list[Any], str]:
    """Return networks that count alike, and what they are: nothing to say of a single one."""
    if isinstance(source, EnsembleMixin):
        return source._networks(n, rng)
    networks = [*source] if isinstance(source, list | tuple) and source else [source]
    found = [getattr(each, "network_", each) for each in networks]
    return found, f"{len(found)} networks" if len(found) > 1 else ""


def edges_of_fdr(
    names: list[Any], shares: Floats, fdr: Any, directed: bool, attributes: tuple[str, str, str]
) -> nx.Graph:
    """Return the most edges, or joined pairs, whose expected share of false ones is at most `fdr`.

    `shares`: (m, m), how probable, or how frequent, the edge i -> j is
    `attributes`: what the shares of edges, of pairs, and of false ones are called
    """
    fdr = level_of(fdr, "fdr")
    shares = np.minimum(shares if directed else np.triu(shares + shares.T, 1), 1.0)
    first, second = np.nonzero(shares > 0)
    surest = np.argsort(-shares[first, second], kind="stable")
    first, second = first[surest], second[surest]
    # This mean grows with each less probable edge, so that the surest edges are the largest set.
    false = np.cumsum(1 - shares[first, second]) / np.arange(1, len(surest) + 1)
    n = np.count_nonzero(false <= fdr + _ROUNDING)
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(names)
    for a, b in zip(first[:n].tolist(), second[:n].tolist(), strict=True):
        graph.add_edge(names[a], names[b], **{attributes[not directed]: float(shares[a, b])})
    graph.graph[attributes[2]] = float(false[n - 1]) if n else 0.0
    if directed:
        graph.graph["is_acyclic"] = nx.is_directed_acyclic_graph(graph)
    return graph

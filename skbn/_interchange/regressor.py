"""One node of a network as a fitted regression of scikit-learn."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from skbn._core.text import readable_value
from skbn._interchange.exported import noisy_dag


def to_regressor(network: Any, target: Hashable) -> LinearRegression:
    """Return the prediction of a node from all others as a fitted regression of scikit-learn.

    It predicts what `GaussianBayesianNetwork.predict` does from complete rows, and goes wherever
    scikit-learn's own models go: the last step of a pipeline, ``cross_val_score`` of a frozen
    estimator, permutation importance, partial dependence, ONNX.

    Parameters
    ----------
    network : GaussianBayesianNetwork
        With parameters.
    target : node

    Returns
    -------
    regressor : sklearn.linear_model.LinearRegression
        Its features are the other nodes in their order. Those outside the node's Markov blanket
        have the coefficient 0. If all names are strings it has `feature_names_in_`, and takes data
        frames with these columns.

    Raises
    ------
    TypeError
        If it is not a network, or one with nodes of several columns.
    sklearn.exceptions.NotFittedError
        If there are no parameters.
    ValueError
        If `target` is not a node, or the only one; if a node is exogenous, or has no noise.

    See Also
    --------
    skbn.MarkovBlanketSelector : For a pipeline that learns the network from each training set.

    Notes
    -----
    A `fit` of it, as by ``cross_val_score``, is ordinary least squares on all columns and forgets
    the network: wrap it in ``sklearn.frozen.FrozenEstimator`` to keep the coefficients.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import GaussianBNLearner
    >>> from skbn.io import to_regressor
    >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue"]]
    >>> network = GaussianBNLearner().fit(wine).network_
    >>> regressor = to_regressor(network, "alcohol")
    >>> round(regressor.score(wine[["proline", "hue"]], wine["alcohol"]), 2)
    0.47
    """
    dag = noisy_dag(network, "to_regressor")
    nodes = list(dag)
    if target not in nodes:
        raise ValueError(
            f"target must be a node of the network; got {readable_value(target)}. The nodes are "
            f"{readable_value(nodes)}."
        )
    if len(nodes) == 1:
        raise ValueError(f"{target!r} is the only node, so that nothing predicts it.")
    # The row of the target in the inverse covariance: only terms of its own regression and of
    # those of its children have the target in them.
    precision = dict.fromkeys(nodes, 0.0)
    for child in [target, *dag.successors(target)]:
        terms = {child: 1.0, **{p: -edge["weight"] for p, edge in dag.pred[child].items()}}
        factor = terms[target] / dag.nodes[child]["noise_variance"]
        for node, coefficient in terms.items():
            precision[node] += factor * coefficient
    others = [node for node in nodes if node != target]
    mean = dict(zip(network.nodes, network.mean_.tolist(), strict=True))
    regressor = LinearRegression()
    regressor.coef_ = np.array([-precision[node] / precision[target] for node in others])
    centre = sum(w * mean[v] for w, v in zip(regressor.coef_.tolist(), others, strict=True))
    regressor.intercept_ = mean[target] - centre
    regressor.n_features_in_ = len(others)
    if all(isinstance(node, str) for node in others):
        regressor.feature_names_in_ = np.array(others, dtype=object)
    return regressor

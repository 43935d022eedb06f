"""Kinds of tables together: each combination is fitted, and one fact of each answer is checked."""

import itertools

import numpy as np
import pandas as pd
import pytest

from skbn import GaussianBNLearner, GaussianBNLearnerCV, GaussianBNPosterior

pytestmark = pytest.mark.filterwarnings("ignore")
KINDS = ("nodes", "missing", "interventions", "exogenous", "weights")
N = 120
PAIRS = [*itertools.combinations(KINDS, 2)]
TRIPLES = [*itertools.combinations(KINDS, 3)]
FAST = [KINDS]  # all kinds at once have each pair
TOGETHER = [
    pytest.param(kinds, id="+".join(kinds), marks=[] if kinds in FAST else pytest.mark.slow)
    for kinds in (*PAIRS, *TRIPLES, KINDS)
]


def table(kinds):
    """A table of these kinds, the parameters of estimators and those of fit."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N, 4)) @ np.array(
        [[1, 0.8, 0, 0.6], [0, 1, 0.7, 0], [0, 0, 1, -0.5], [0, 0, 0, 1]]
    )
    X = pd.DataFrame(rows, columns=[*"abcd"])
    parameters, given = {}, {}
    if "nodes" in kinds:
        X["g"] = pd.Categorical(np.where(rows[:, 2] + rng.normal(size=N) > 0.5, "x", "y"))
        parameters["nodes"] = "auto"
    if "missing" in kinds:
        for column in [each for each in "cdg" if each in X]:
            X.loc[rng.random(N) < 0.12, column] = np.nan
    if "interventions" in kinds:
        given["interventions"] = [("b",) if i % 4 == 0 else None for i in range(N)]
    if "exogenous" in kinds:
        parameters["exogenous"] = ["a"]
    if "weights" in kinds:
        given["sample_weight"] = rng.integers(1, 3, N).astype(float)
    return X, parameters, given


def learned(X, kinds, parameters, given, **more):
    missing = "em" if "missing" in kinds else "error"
    return GaussianBNLearner(missing=missing, **{**parameters, **more}).fit(X, **given)


@pytest.mark.parametrize("kinds", TOGETHER)
def test_the_score_is_the_likelihood_less_its_cost_in_orders_lists_and_folds_too(kinds):
    X, parameters, given = table(kinds)
    learner = learned(X, kinds, parameters, given)
    weight = given.get("sample_weight", np.ones(N))
    was_set = np.array([each == ("b",) for each in given.get("interventions", [None] * N)])
    cost = 0.0
    for x in X.columns:
        if x not in parameters.get("exogenous", []):
            n = weight[~was_set].sum() if x == "b" else weight.sum()
            cost += np.log(n) / 2 * (2 + learner.dag_.in_degree(x))
    likelihood = learner.score(X, **given) * weight.sum()
    assert learner.network_score_ == pytest.approx(likelihood - cost, abs=1e-6)
    assert learner.is_optimal_ == ("missing" not in kinds)
    near = learner.near_optimal(3)
    assert near.scores[0] == pytest.approx(learner.network_score_, abs=1e-6)
    assert near[0].dag.edges == learner.dag_.edges
    order = learned(X, kinds, parameters, given, search="order", random_state=0)
    assert order.network_score_ == pytest.approx(learner.network_score_, abs=1.0)
    even, odd = np.arange(0, N, 2), np.arange(1, N, 2)
    chosen = GaussianBNLearnerCV([1.0], cv=[(even, odd), (odd, even)], missing=learner.missing)
    chosen.set_params(**parameters).fit(X, **given)
    assert chosen.network_score_ == learner.network_score_


@pytest.mark.parametrize("kinds", TOGETHER)
def test_probabilities_are_those_of_networks(kinds):
    X, parameters, given = table(kinds)
    missing = "augment" if "missing" in kinds else "error"
    settings = {"missing": missing, "n_imputations": 2, "random_state": 0, **parameters}
    posterior = GaussianBNPosterior("bic", **settings).fit(X, **given)
    edges = posterior.edge_probabilities_
    assert ((edges + edges.T) <= 1 + 1e-9).all()
    assert edges[1, 2] + edges[2, 1] > 0.9  # b and c are neighbours
    dags = posterior.sample_dags(200, random_state=0)
    share = np.mean([dag.has_edge("b", "c") for dag in dags])
    assert share == pytest.approx(edges[1, 2], abs=0.2)
    if "exogenous" in kinds:
        assert (edges[:, 0] == 0).all()

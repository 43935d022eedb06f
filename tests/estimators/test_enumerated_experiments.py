"""Constraints, interventions and exogenous columns, against an enumeration of all networks."""

import warnings
from itertools import product
from math import inf

import hypothesis.strategies as st
import numpy as np
import pytest
import reference
from enumerated_networks import check_lists, ranking
from experiment_tables import TARGETS, experiment
from hypothesis import given
from numpy.testing import assert_allclose

from skbn import GaussianBNLearner
from skbn.exceptions import MaxParentsWarning

# Targets, exogenous columns, and other settings.
CASES = {
    "observations": ([], [], {}),
    "one target": ([{2}], [], {}),
    "all apart": (TARGETS[6], [], {}),
    "overlapping": (TARGETS[5], [], {}),
    "max_parents=1": (TARGETS[4], [], {"max_parents": 1}),
    "max_parents=2": (TARGETS[5], [], {"max_parents": 2}),
    "tiers": (TARGETS[3], [], {"tiers": [[0, 2], ...]}),
    "required": (TARGETS[2], [], {"required_edges": [(2, 0)], "forbidden_edges": [(3, 1)]}),
    "exogenous": ([], [2], {}),
    "two exogenous": ([], [0, 3], {}),
    "three exogenous": ([], [0, 1, 3], {}),
    "exogenous, max_parents": ([], [1], {"max_parents": 2}),
    "exogenous, required": ([], [1], {"required_edges": [(1, 3)], "forbidden_edges": [(1, 0)]}),
    "exogenous and tiers": ([], [1], {"tiers": [[0], [2, 3]]}),
    "both": ([{0}, {1, 2}], [3], {}),
    "a target is exogenous": ([{0}, {1}], [1], {}),
    "both and max_parents": ([{0}, {1, 2}], [1], {"max_parents": 1}),
}
CONSTRAINTS = {
    "aic": {"criterion": "aic", "required_edges": [(3, 0), (1, 2)]},
    "one parent": {"max_parents": 1},
    "two parents": {"max_parents": 2},
    "forbidden edges": {"forbidden_edges": [(0, 1), (1, 0), (2, 3), (3, 1)]},
    "two tiers": {"tiers": [[2, 0], [1, 3]]},
    "a tier of one column": {"tiers": [[0, 1, 3], [2]]},
    "two groups before a third": {"forbidden_edges": [(0, 1), (1, 0), *product((2, 3), (0, 1))]},
    "tiers and max_parents": {"tiers": [[3], [0, 1, 2]], "max_parents": 2},
    "required and max_parents": {"required_edges": [(3, 0)], "max_parents": 1},
}


def scores_of(rows, is_set, exogenous, criterion="bic"):
    """The score of each family; that of exogenous columns is 0."""
    scores = {}
    for x, p in reference.families(rows.shape[1]):
        scores[x, p] = -inf if p else 0.0
        if x not in exogenous:
            scores[x, p] = reference.experimental_score(rows, is_set, x, p, criterion)
    return scores


def check(m, targets, exogenous, settings):
    rows, is_set = experiment(m, targets, seed=m)
    scores = scores_of(rows, is_set, exogenous, settings.get("criterion", "bic"))
    knowledge = dict(settings)
    if "tiers" in knowledge:
        knowledge["tiers"] = [each if each is ... else [*each] for each in knowledge["tiers"]]
        if exogenous:
            knowledge["tiers"] = [[*exogenous], *knowledge["tiers"]]
    expected = ranking(scores, m, **knowledge)
    learner = GaussianBNLearner(exogenous=exogenous or None, **settings)
    learner.fit(rows, interventions=is_set)
    best, _ = expected[0]
    assert learner.network_score_ == pytest.approx(best, abs=1e-8)
    found = reference.parents_of(learner.dag_)
    assert sum(scores[x, p] for x, p in enumerate(found)) == pytest.approx(best, abs=1e-8)
    for x, p in enumerate(found):
        if x not in exogenous:
            intercept, coef, rss = reference.regression(rows[~is_set[:, x]], x, p)
            node = learner.network_.dag.nodes[x]
            assert node["intercept"] == pytest.approx(intercept, abs=1e-9)
            assert node["noise_variance"] == pytest.approx(rss / (~is_set[:, x]).sum())
            of_edges = [learner.network_.dag.edges[v, x]["weight"] for v in p]
            assert_allclose(of_edges, coef, atol=1e-9)
    check_lists(learner, expected, [target - {*exogenous} for target in targets])


FAST = ["exogenous and tiers", "both"]


def mark(name):
    return pytest.param(CASES[name], id=name, marks=[] if name in FAST else pytest.mark.slow)


@pytest.mark.parametrize("case", [*map(mark, CASES)])
def test_all_networks_of_four_columns(case):
    check(4, *case)


@pytest.mark.parametrize("constraints", CONSTRAINTS.values(), ids=CONSTRAINTS)
def test_all_networks_within_constraints(constraints):
    check(4, [], [], constraints)


def test_an_exogenous_column_may_be_set_in_all_rows():
    rows, is_set = experiment(4, [{0}, {1, 2}])
    is_set[:, 3] = True
    expected = ranking(scores_of(rows, is_set, [3]), 4)
    learner = GaussianBNLearner(exogenous=[3]).fit(rows, interventions=is_set)
    assert learner.network_score_ == pytest.approx(expected[0][0], abs=1e-8)
    check_lists(learner, expected, [{0}, {1, 2}])
    assert learner.targets_ == [(0,), (1, 2)]


@given(st.data())
def test_the_best_of_random_problems(data):
    m = data.draw(st.integers(2, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    exogenous = rng.permutation(m)[: rng.integers(m)].tolist()
    most = data.draw(st.integers(0, m - 1))
    rows = rng.normal(size=(60, m)) @ rng.normal(size=(m, m))
    is_set = rng.random((60, m)) < rng.choice([0.0, 0.1, 0.5], size=m)
    is_set[:, data.draw(st.integers(0, m - 1))] |= rng.random(60) < 0.3
    weight = rng.integers(0, 3, 60) if data.draw(st.booleans()) else np.ones(60, dtype=int)
    some = np.repeat(np.arange(60), weight)
    scores = scores_of(rows[some], is_set[some], exogenous)
    limited = {key: score if len(key[1]) <= most else -inf for key, score in scores.items()}
    given_ = {"sample_weight": weight, "interventions": is_set}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MaxParentsWarning)
        found = GaussianBNLearner(exogenous=exogenous, max_parents=most).fit(rows, **given_)
    best = reference.best_score_by_dynamic_program(limited, m)
    assert found.network_score_ == pytest.approx(best, rel=1e-9)
    free = GaussianBNLearner(exogenous=exogenous).fit(rows, **given_)
    best = reference.best_score_by_dynamic_program(scores, m)
    assert free.network_score_ == pytest.approx(best, rel=1e-9)

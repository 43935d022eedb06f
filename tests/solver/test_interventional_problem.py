"""Engines and lists of problems with interventions and exogenous columns, against each other."""

import numpy as np
import pytest
from branch_and_cut_alone import without_dynamic_programs
from experiment_tables import experiment
from problems import problem, resources

from skbn import LocalScoreTransformer
from skbn._solver.engines import SearchSettings
from skbn._solver.solve import solve

M = 6
KNOWLEDGE = {
    "interventions": ([{0}, {1, 2}, {4}], []),
    "exogenous": ([], [1, 4]),
    "both": ([{0}, {1, 2}, {4}], [2, 3]),
}


def scores_of(targets, max_parents, criterion="bic", seed=0):
    rows, is_set = experiment(M, targets, n=40, seed=seed)
    transformer = LocalScoreTransformer(criterion, max_parents=max_parents)
    return transformer.fit_transform(rows, interventions=is_set)


def solved(scores, settings=None, **knowledge):
    return solve(problem(scores, **knowledge), resources(), settings or SearchSettings())[0]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", KNOWLEDGE)
def test_engines_agree(monkeypatch, kind, seed):
    targets, exogenous = KNOWLEDGE[kind]
    few = scores_of(targets, 2, seed=seed)
    expected = solved(few, exogenous=exogenous)
    assert expected.score == pytest.approx(
        solved(scores_of(targets, None, seed=seed), exogenous=exogenous, max_parents=2).score
    )
    order = SearchSettings(is_exact=False)
    assert solved(few, order, exogenous=exogenous).score <= expected.score + 1e-9
    without_dynamic_programs(monkeypatch)
    found = solved(few, exogenous=exogenous)
    assert found.score == pytest.approx(expected.score)
    assert found.is_optimal


@pytest.mark.parametrize("criterion", ["bic", "bge"])
@pytest.mark.parametrize("n_exogenous", range(1, M))
def test_exogenous_columns_are_a_first_tier_without_a_score(criterion, n_exogenous):
    outside = np.random.default_rng(n_exogenous).permutation(M)[:n_exogenous].tolist()
    scores = scores_of([], None, criterion)
    rest = [x for x in range(M) if x not in outside]
    among = [(a, b) for a in outside for b in outside if a != b]
    tiers = solved(scores, tiers=[outside, rest], forbidden_edges=among)
    own = sum(scores.local_score(x) for x in outside)
    found = solved(scores, exogenous=outside)
    assert found.score == pytest.approx(tiers.score - own, rel=1e-10)
    assert found.parents == tiers.parents

"""The scores of all sets of some candidates against those of single families."""

import math

import numpy as np
import pytest
from agreement import raises
from reference import members_of

from skbn import BIC, EBIC, BGe, LocalScores, LocalScoreTransformer
from skbn._data.sample import Sample
from skbn._solver.candidate_families import CandidateScores
from skbn._solver.constraints import read_constraints

M = 8


def rows_of(m, n=60):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, m)) @ rng.normal(size=(m, m))


def expected_scores(scores, constraints, child, candidates, log_odds):
    columns = scores.columns
    expected = []
    for mask in range(1 << len(candidates)):
        parents = [candidates[p] for p in members_of(mask)]
        if not constraints.allows(child, sum(1 << p for p in parents)):
            expected.append(-math.inf)
            continue
        score = scores.local_score(columns[child], [columns[p] for p in parents])
        score -= scores.scorer.score_offsets[child]
        expected.append(score + sum(log_odds[p, child] for p in parents))
    return expected


def assert_scores(scores, *, log_odds=None, **knowledge):
    m = len(scores.columns)
    constraints = read_constraints(scores.columns, **{"max_parents": m - 1, **knowledge})
    found = CandidateScores(scores.scorer, constraints, log_odds)
    odds = np.zeros((m, m)) if log_odds is None else log_odds
    rng = np.random.default_rng(1)
    for k in (1, 2, 4, 4):
        for child in range(m):
            required = members_of(constraints.required[child])
            others = [z for z in range(m) if z != child and z not in required]
            candidates = [*required, *rng.permutation(others).tolist()][: max(k, len(required))]
            expected = expected_scores(scores, constraints, child, candidates, odds)
            of_child = found(child, candidates)
            if constraints.exogenous >> child & 1:
                expected = [0.0] + [-math.inf] * (len(expected) - 1)
            np.testing.assert_allclose(of_child, expected, rtol=0, atol=1e-9)
    assert_gains(scores, constraints, found, odds)


def score_of(scores, odds, x, parents):
    names = [scores.columns[z] for z in parents]
    return scores.local_score(scores.columns[x], names) + odds[parents, x].sum()


def assert_gains(scores, constraints, found, odds):
    """Those of every edge, at parent sets that are drawn among all that constraints allow."""
    m = len(scores.columns)
    rng = np.random.default_rng(2)
    for _ in range(3):
        is_parent = np.zeros((m, m), np.bool_)
        for x in constraints.modelled:
            allowed = [mask for mask in range(1 << m) if constraints.allows(x, mask)]
            is_parent[x, members_of(int(rng.choice(allowed)))] = True
        gains = found.gains(is_parent)
        for x in range(m):
            own = np.flatnonzero(is_parent[x]).tolist()
            for z in range(m):
                changed = [y for y in range(m) if is_parent[x, y] != (y == z)]
                expected = -math.inf
                if constraints.allows(x, sum(1 << y for y in changed)) and z != x:
                    expected = score_of(scores, odds, x, changed) - score_of(scores, odds, x, own)
                assert gains[x, z] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("criterion", [BGe(), BIC(), EBIC(), BGe(alpha_w=30, alpha_mu=2)])
@pytest.mark.parametrize("max_parents", [None, 2])
def test_criteria(criterion, max_parents):
    transformer = LocalScoreTransformer(criterion, max_parents=max_parents)
    limit = {} if max_parents is None else {"max_parents": max_parents}
    assert_scores(transformer.fit_transform(rows_of(M)), **limit)


@pytest.mark.parametrize(
    "knowledge",
    [
        {"required_edges": [(0, 1), (2, 1)]},
        {"forbidden_edges": [(0, 1), (3, 2)]},
        {"tiers": [[0, 1, 2], [3, 4], [5, 6, 7]], "max_parents": 3},
        {"exogenous": [2, 5]},
    ],
)
def test_constraints_and_odds(knowledge):
    scores = LocalScoreTransformer("bge").fit_transform(rows_of(M))
    log_odds = np.random.default_rng(0).normal(size=(M, M))
    assert_scores(scores, log_odds=log_odds, **knowledge)


def test_nodes_of_several_columns():
    rows = rows_of(m=9)
    nodes = {"a": [0, 1], "b": [2], "c": [3, 4, 5], "d": [6], "e": [7, 8]}
    for criterion in ("bic", "bge"):
        assert_scores(LocalScoreTransformer(criterion, nodes=nodes).fit_transform(rows))


def test_interventions():
    rows = rows_of(M, n=90)
    is_set = np.zeros(rows.shape, bool)
    is_set[:20, 0] = is_set[20:50, 1] = is_set[40:50, 0] = True
    scores = LocalScoreTransformer("bge").fit_transform(rows, interventions=is_set)
    assert_scores(scores)


def test_few_rows():
    """Six rows of eight columns: only families of few parents are independent."""
    scores = LocalScoreTransformer("bic", max_parents=2).fit_transform(rows_of(M, n=6))
    assert_scores(scores, max_parents=2)


def test_dependent_columns_are_named():
    """Ten rows of twelve columns, of which one is a combination of two others."""
    rows = rows_of(n=10, m=12)
    rows[:, 3] = rows[:, 0] - 2 * rows[:, 1]
    scores = LocalScores._from_sample(Sample(rows), BIC(), max_parents=2)
    constraints = read_constraints(list(range(12)), max_parents=2)
    found = CandidateScores(scores.scorer, constraints, None)
    assert np.isfinite(found(3, [0, 2, 5])[:3]).all()
    raises("3", found, 3, [0, 1, 2])

"""Searches for the best network of nodes that have several columns each."""

import numpy as np
import pytest
import reference
from block_tables import block_sample, mixed_blocks
from numpy.testing import assert_allclose
from problems import problem, resources

from skbn import BIC, BGe
from skbn._core.subsets import mask_of, members_of
from skbn._scores.local_scores import LocalScores
from skbn._solver.engines import SearchSettings
from skbn._solver.near_optimal import near_optimal
from skbn._solver.solve import solve


def tables(seed, m=4, n=60):
    return mixed_blocks(m, n, np.random.default_rng(seed))


def network_scores(blocks, criterion="bic"):
    m = len(blocks)
    local = {
        family: reference.block_score(blocks, *family, criterion)
        for family in reference.families(m)
    }
    return {
        parents: sum(local[x, ps] for x, ps in enumerate(parents))
        for parents in reference.all_dags(m)
    }


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("max_parents", [None, 1])
@pytest.mark.parametrize("constrained", [False, True])
def test_the_best_network_is_that_of_the_enumeration(seed, max_parents, constrained):
    blocks = tables(seed)
    known = {"required_edges": [("v2", "v3")], "forbidden_edges": [("v0", "v1"), ("v3", "v0")]}
    scores = LocalScores._from_sample(block_sample(blocks), BIC(), max_parents=max_parents)
    (found,) = solve(problem(scores, **(known if constrained else {})), resources())
    best = max(
        score
        for parents, score in network_scores(blocks).items()
        if all(len(ps) <= (max_parents or 3) for ps in parents)
        and not (constrained and (2 not in parents[3] or 0 in parents[1] or 3 in parents[0]))
    )
    assert_allclose(found.score, best, rtol=1e-10)
    members = tuple(tuple(members_of(mask)) for mask in found.parents)
    assert_allclose(network_scores(blocks)[members], best, rtol=1e-10)
    assert found.is_optimal
    # The losses are those of leaving single edges out.
    for x, parents in enumerate(members):
        for p in parents:
            rest = [v for v in parents if v != p]
            loss = reference.block_score(blocks, x, parents) - reference.block_score(
                blocks, x, rest
            )
            assert_allclose(found.score_losses[p, x], loss, atol=1e-7)


def test_a_list_has_the_classes_of_the_enumeration():
    blocks = tables(7)
    classes = {}
    for parents, score in network_scores(blocks, "bge").items():
        classes.setdefault(reference.equivalence_class(parents), []).append(score)
    for members in classes.values():  # score-equivalence
        assert np.ptp(members) < 1e-8
    expected = sorted((members[0] for members in classes.values()), reverse=True)[:12]
    scores = LocalScores._from_sample(block_sample(blocks), BGe())
    found = near_optimal(problem(scores), resources(), n=12, within=None, equivalence_classes=True)
    assert_allclose(found.scores, expected, rtol=1e-10)


@pytest.mark.parametrize("max_parents", [2, None])
def test_searches_in_little_memory_and_by_orders_find_the_same(max_parents):
    blocks = tables(3, m=9, n=80)
    scores = LocalScores._from_sample(block_sample(blocks), BIC(), max_parents=max_parents)
    (best,) = solve(problem(scores), resources())
    if max_parents is None:
        with pytest.raises(ValueError, match="Set max_parents"):
            solve(problem(scores), resources(), SearchSettings(is_exact=False))
    else:
        (by_orders,) = solve(problem(scores), resources(), SearchSettings(is_exact=False))
        assert_allclose(by_orders.score, best.score, rtol=1e-12)
    masks = [mask_of(members_of(mask)) for mask in best.parents]
    assert_allclose(scores.scorer.network_terms(masks).sum(), best.score, rtol=1e-12)

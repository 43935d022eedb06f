"""Scores of nodes that have several columns each."""

import numpy as np
import pytest
import reference
from block_tables import block_sample, indicators, mixed_blocks
from numpy.testing import assert_allclose

from skbn import AIC, BIC, EBIC, BGe, Criterion, LogLikelihood
from skbn._data.nodes import Nodes
from skbn._data.sample import Sample
from skbn._scores.local_scores import LocalScores

CRITERIA = {"bic": BIC, "aic": AIC, "loglik": LogLikelihood, "bge": BGe}


def scores_of(blocks, criterion=None, **settings):
    return LocalScores._from_sample(block_sample(blocks), criterion or BIC(), **settings)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("max_parents", [None, 2])
def test_families_score_as_their_columns_do_one_after_the_other(criterion, max_parents):
    blocks = mixed_blocks(4, 30, np.random.default_rng(5))
    scores = scores_of(blocks, CRITERIA[criterion](), max_parents=max_parents)
    names, table = scores.columns, scores.to_array()
    for child, parents in reference.families(4):
        if max_parents is not None and len(parents) > max_parents:
            continue
        expected = reference.block_score(blocks, child, parents, criterion)
        family = names[child], [names[p] for p in parents]
        assert_allclose(scores.local_score(*family), expected, rtol=1e-9)
        assert_allclose(table[scores.family_index(*family)], expected, rtol=1e-9)


@pytest.mark.parametrize("form", ["foygel-drton", "chen-chen"])
def test_the_extended_bic_counts_nodes(form):
    blocks = mixed_blocks(4, 50, np.random.default_rng(2))
    criterion = EBIC(gamma=1, form=form)
    extended, plain = scores_of(blocks, criterion, penalty=2.0), scores_of(blocks, penalty=2.0)
    cost = EBIC(gamma=1, form=form).edge_complexity(4)
    assert_allclose(cost[1], 2 * np.log(4) if form == "foygel-drton" else np.log(3))
    for child, parents in reference.families(4):
        difference = extended.local_score(child, parents) - plain.local_score(child, parents)
        assert_allclose(difference, -2 * cost[len(parents)], atol=1e-8)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_another_basis_changes_scores_by_a_constant_of_each_node(criterion):
    rng = np.random.default_rng(8)
    codes = rng.integers(0, 4, size=80)
    x = rng.normal(size=(80, 1)) + (codes == 2)[:, np.newaxis]
    first = [indicators(codes), x, rng.normal(size=(80, 2))]
    other = [indicators(codes, reference=2), x, first[2] @ rng.normal(size=(2, 2))]
    a, b = (scores_of(blocks, CRITERIA[criterion]()).to_array() for blocks in (first, other))
    shift = (a - b)[:, :1]
    assert_allclose(a - b, np.broadcast_to(shift, a.shape), atol=1e-8)
    assert abs(shift[1, 0]) < 1e-9


@pytest.mark.parametrize("criterion", [BIC(), EBIC(), BGe()])
@pytest.mark.parametrize("max_parents", [None, 2])
def test_blocks_of_one_column_score_as_columns_do(criterion, max_parents):
    blocks = mixed_blocks(5, 40, np.random.default_rng(1), widest=1)
    settings = {"max_parents": max_parents}
    rows = np.hstack(blocks)
    names = np.array([f"v{i}" for i in range(5)], dtype=object)
    of_columns = LocalScores._from_sample(Sample(rows), criterion, names, **settings)
    of_nodes = scores_of(blocks, criterion, **settings)
    assert_allclose(of_nodes.to_array(), of_columns.to_array(), rtol=1e-12)


def test_permuted_nodes_permute_the_scores():
    blocks = mixed_blocks(5, 60, np.random.default_rng(3))
    order = [3, 0, 4, 2, 1]
    scores, permuted = scores_of(blocks), scores_of([blocks[i] for i in order])
    for child, parents in reference.families(5):
        expected = scores.local_score(order[child], [order[p] for p in parents])
        assert_allclose(permuted.local_score(child, parents), expected, rtol=1e-11)


def test_a_level_without_rows_leaves_its_indicator_out():
    rng = np.random.default_rng(0)
    codes, x = rng.integers(0, 3, size=60), rng.normal(size=(60, 1))
    full = np.column_stack([(codes == v) * 1.0 for v in (1, 2, 3)])  # nobody has level 3
    without_reference = np.column_stack([(codes == v) * 1.0 for v in (0, 1, 2)])
    expected = scores_of([indicators(codes), x])
    for block in (full, without_reference):
        scores = scores_of([block, x])
        assert scores.scorer.nodes.widths == [2, 1]
        assert_allclose(
            scores.local_score("v1", ["v0"]), expected.local_score("v1", ["v0"]), rtol=1e-12
        )


class NoSetFunction(Criterion):
    def tables(self, n_samples, m):
        return np.array([-3.0 * np.arange(m), np.full(m, n_samples), np.full(m, -n_samples / 2)])


def test_refusals_name_the_node_or_the_criterion():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(20, 1))
    wide = [rng.normal(size=(20, 15)), x, rng.normal(size=(20, 6))]
    with pytest.raises(ValueError, match=r"Node 'v0' alone has 15 columns"):
        scores_of(wide).local_score("v1")
    assert np.isfinite(scores_of(wide, BGe()).local_score("v1", ["v0", "v2"]))
    blocks = mixed_blocks(3, 40, rng)
    with pytest.raises(ValueError, match=r"NoSetFunction.* cannot score nodes of several"):
        scores_of(blocks, NoSetFunction()).to_array()
    with pytest.raises(ValueError, match="nu is a prior mean of columns"):
        scores_of(blocks, BGe(nu=[0.0] * 3))
    with pytest.raises(ValueError, match="Node 'v0' has 2 columns that do not vary"):
        scores_of([np.ones((20, 2)), x]).local_score("v1")
    unknown = np.arange(20) < 4
    codes = [np.where(unknown, 9, rng.integers(0, 3, size=20)) for _ in range(2)]
    with pytest.raises(ValueError, match=r"collinear.*leave out one of these columns"):
        scores_of([indicators(codes[0]), indicators(codes[1]), x]).to_array()
    with pytest.raises(ValueError, match=r"Log-determinants of nodes .* are not kept"):
        _ = scores_of(blocks).log_determinants
    with pytest.raises(ValueError, match="a regression of its own"):
        scores_of([*blocks, rng.normal(size=(40, 2))]).coef("v3")


def test_nodes_know_their_columns():
    blocks = mixed_blocks(3, 20, np.random.default_rng(0))
    nodes: Nodes = block_sample(blocks).nodes
    assert nodes.columns_of([2, 0]) == [
        *range(nodes.starts[2], nodes.starts[3]),
        *range(nodes.starts[0], nodes.starts[1]),
    ]

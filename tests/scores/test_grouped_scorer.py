"""Local scores with interventions, against least squares on the rows of each child."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
import reference
from agreement import raises
from block_tables import block_sample, indicators, mixed_blocks
from experiment_tables import TARGETS, experiment
from numpy.testing import assert_allclose
from reference.networks import all_dags, graph_of

import skbn
from skbn import BIC, EBIC, BGe, GaussianBNLearner, GaussianBNPosterior, LocalScoreTransformer
from skbn._scores.local_scores import LocalScores
from skbn.exceptions import ApproximateEvidenceWarning

M = 4


def scores_of(rows, is_set, criterion="bic", **settings):
    transformer = LocalScoreTransformer(criterion, **settings)
    return transformer.fit_transform(rows, interventions=is_set)


def assert_scores(scores, expected):
    found = {key: scores.local_score(*key) for key in expected}
    assert_allclose([*found.values()], [*expected.values()], rtol=1e-10)


@pytest.mark.parametrize("targets", TARGETS)
@pytest.mark.parametrize("criterion", ["bic", "aic", "loglik"])
def test_families_are_scored_by_their_childs_rows(targets, criterion):
    rows, is_set = experiment(M, targets)
    assert_scores(
        scores_of(rows, is_set, criterion),
        reference.all_experimental_scores(rows, is_set, criterion),
    )


def test_the_penalty_counts_the_childs_rows():
    rows, is_set = experiment(M, TARGETS[4])
    for scores in (
        scores_of(rows, is_set, penalty=2.5),
        scores_of(rows, is_set, penalty=1.0).with_penalty(2.5),
    ):
        assert_scores(scores, reference.all_experimental_scores(rows, is_set, penalty=2.5))


def test_ebic_counts_the_childs_rows():
    rows, is_set = experiment(M, TARGETS[4])
    scores = scores_of(rows, is_set, EBIC())
    for x, p in reference.families(M):
        alone = LocalScoreTransformer(EBIC()).fit_transform(rows[~is_set[:, x]])
        assert scores.local_score(x, p) == pytest.approx(alone.local_score(x, p), rel=1e-12)


@pytest.mark.parametrize("nu", [None, [0.5, -1.0, 0.0, 2.0]])
def test_bge_is_the_marginal_likelihood_of_the_childs_rows(nu):
    rows, is_set = experiment(M, TARGETS[4], n=8)
    scores = scores_of(rows, is_set, BGe(nu=nu))
    for x in range(M):
        expected = reference.all_bge_local_scores(rows[~is_set[:, x]], nu=nu)
        assert_scores(scores, {key: expected[key] for key in expected if key[0] == x})


def test_weights_count_rows_several_times():
    rows, is_set = experiment(M, TARGETS[5])
    weight = np.random.default_rng(0).integers(0, 3, len(rows))
    repeated = np.repeat(np.arange(len(rows)), weight)
    expected = reference.all_experimental_scores(rows[repeated], is_set[repeated])
    transformer = LocalScoreTransformer()
    weighted = transformer.fit_transform(rows, sample_weight=weight, interventions=is_set)
    assert_scores(weighted, expected)
    plain = LocalScoreTransformer().fit_transform(rows, sample_weight=weight)
    assert_scores(plain.with_interventions(is_set), expected)
    assert_scores(scores_of(rows, is_set).with_sample_weight(weight), expected)


def test_few_parents():
    rows, is_set = experiment(M, TARGETS[6])
    scores = scores_of(rows, is_set, max_parents=2)
    expected = reference.all_experimental_scores(rows, is_set)
    few = {key: score for key, score in expected.items() if len(key[1]) <= 2}
    assert_scores(scores, few)
    parents = [(1, 2), (), (), (1, 2)]
    masks = [6, 0, 0, 6]
    assert scores.scorer.network_terms(masks).sum() == pytest.approx(
        sum(few[x, p] for x, p in enumerate(parents))
    )


def test_nodes_of_several_columns():
    rows, is_set = experiment(3, [{0}, {1, 2}], n=60)
    codes = np.searchsorted([-0.7, 0.7], rows[:, 1])
    blocks = [rows[:, :1], indicators(codes), rows[:, [2]]]
    table = pd.DataFrame({"a": rows[:, 0], "b": pd.Categorical(codes), "c": rows[:, 2]})
    scores = LocalScoreTransformer(nodes="auto").fit_transform(table, interventions=is_set)
    for x, p in reference.families(3):
        own = [block[~is_set[:, x]] for block in blocks]
        expected = reference.block_score(own, x, p)
        names = [table.columns[v] for v in p]
        assert scores.local_score(table.columns[x], names) == pytest.approx(expected, rel=1e-10)


def test_arrays_coefficients_and_networks():
    rows, is_set = experiment(M, TARGETS[4])
    scores = scores_of(rows, is_set)
    expected = reference.all_experimental_scores(rows, is_set)
    array = np.asarray(scores.to_array())
    for x, p in expected:
        assert array[scores.family_index(x, p)] == pytest.approx(expected[x, p], rel=1e-10)
        intercept, coef, _ = reference.regression(rows[~is_set[:, x]], x, p)
        found = scores.coef(x, p)
        assert found[0] == pytest.approx(intercept, abs=1e-9)
        assert_allclose(found[1], coef, atol=1e-9)
    network = GaussianBNLearner().fit(scores).network_
    score = sum(expected[x, tuple(sorted(network.dag.predecessors(x)))] for x in range(M))
    assert scores.network_score(network) == pytest.approx(score, rel=1e-12)
    assert scores.network_score(network.dag) == pytest.approx(score, rel=1e-12)


def test_scores_are_pickled_and_kept_without_rows():
    rows, is_set = experiment(M, TARGETS[5])
    transformer = LocalScoreTransformer().fit(rows, interventions=is_set)
    expected = reference.all_experimental_scores(rows, is_set)
    assert_scores(transformer.local_scores_, expected)
    assert_scores(pickle.loads(pickle.dumps(transformer)).local_scores_, expected)
    assert_scores(pickle.loads(pickle.dumps(scores_of(rows, is_set))), expected)
    assert_scores(transformer.transform(rows, interventions=is_set), expected)
    assert_scores(transformer.transform(rows), reference.all_local_scores(rows))
    scores = scores_of(rows, is_set)
    assert_scores(scores[::2], reference.all_experimental_scores(rows[::2], is_set[::2]))
    learner = GaussianBNLearner().fit(transformer.local_scores_)
    assert {*learner.dag_.edges} == {*GaussianBNLearner().fit(scores).dag_.edges}
    assert learner.targets_ == [(0, 1), (1, 2)]


# Scores of nodes that have several columns each


CRITERIA = {"bic": BIC, "aic": skbn.AIC, "loglik": skbn.LogLikelihood, "bge": BGe}


def block_scores(blocks, criterion=None, **settings):
    return LocalScores._from_sample(block_sample(blocks), criterion or BIC(), **settings)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("max_parents", [None, 2])
def test_families_score_as_their_columns_do_one_after_the_other(criterion, max_parents):
    blocks = mixed_blocks(4, 30, np.random.default_rng(5))
    scores = block_scores(blocks, CRITERIA[criterion](), max_parents=max_parents)
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
    extended, plain = (block_scores(blocks, each, penalty=2.0) for each in (criterion, BIC()))
    cost = criterion.edge_complexity(4)
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
    a, b = (block_scores(blocks, CRITERIA[criterion]()).to_array() for blocks in (first, other))
    shift = (a - b)[:, :1]
    assert_allclose(a - b, np.broadcast_to(shift, a.shape), atol=1e-8)
    assert abs(shift[1, 0]) < 1e-9


def test_a_level_without_rows_leaves_its_indicator_out():
    rng = np.random.default_rng(0)
    codes, x = rng.integers(0, 3, size=60), rng.normal(size=(60, 1))
    full = np.column_stack([(codes == v) * 1.0 for v in (1, 2, 3)])  # nobody has level 3
    without_reference = np.column_stack([(codes == v) * 1.0 for v in (0, 1, 2)])
    expected = block_scores([indicators(codes), x]).local_score("v1", ["v0"])
    for block in (full, without_reference):
        scores = block_scores([block, x])
        assert scores.scorer.nodes.widths == [2, 1]
        assert_allclose(scores.local_score("v1", ["v0"]), expected, rtol=1e-12)


class NoSetFunction(skbn.Criterion):
    def tables(self, n_samples, m):
        return np.array([-3.0 * np.arange(m), np.full(m, n_samples), np.full(m, -n_samples / 2)])


def test_refusals_name_the_node_or_the_criterion():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(20, 1))
    wide = [rng.normal(size=(20, 15)), x, rng.normal(size=(20, 6))]
    raises(r"Node 'v0' alone has 15 columns", block_scores(wide).local_score, "v1")
    assert np.isfinite(block_scores(wide, BGe()).local_score("v1", ["v0", "v2"]))
    blocks = mixed_blocks(3, 40, rng)
    message = r"NoSetFunction.* cannot score nodes of several"
    raises(message, lambda: block_scores(blocks, NoSetFunction()).to_array())
    raises("nu is a prior mean of columns", block_scores, blocks, BGe(nu=[0.0] * 3))
    raises("has 2 columns that do not vary", block_scores([np.ones((20, 2)), x]).local_score, "v1")
    unknown = np.arange(20) < 4
    codes = [np.where(unknown, 9, rng.integers(0, 3, size=20)) for _ in range(2)]
    collinear = block_scores([*map(indicators, codes), x])
    raises(r"collinear.*leave out one of these columns", collinear.to_array)
    message = r"Log-determinants of nodes .* are not kept"
    raises(message, lambda: block_scores(blocks).log_determinants)
    raises("a regression of its own", block_scores([*blocks, rng.normal(size=(40, 2))]).coef, "v3")


# Scores of several tables that are added up, against all networks of four columns


NAMES = ["a", "b", "c", "d"]


class Unequal(skbn.Criterion):
    """Gives equivalent networks different scores."""

    def tables(self, n_samples, m):
        n = np.arange(m)
        return np.array([-2.0 * n, n_samples / 2 + n, -n_samples / 2 - 2 * n])


def tables_of(seed, sizes=(40, 60, 25)):
    """Return tables of four columns, each with a structure and parameters of its own."""
    rng = np.random.default_rng(seed)
    tables = []
    for n in sizes:
        coef = np.triu(rng.normal(size=(4, 4)) * (rng.random((4, 4)) < 0.6), 1)
        rows = rng.normal(size=(n, 4)) @ np.linalg.inv(np.eye(4) - coef)
        tables.append(pd.DataFrame(rows, columns=NAMES))
    return tables


def added(tables, transformer):
    return sum(transformer.fit_transform(table) for table in tables)


@pytest.mark.parametrize("criterion", [BIC(), BGe(nu=[0.0] * 4)])
@pytest.mark.parametrize("max_parents", [None, 2])
def test_best_network_list_and_posterior_are_those_of_all_networks(criterion, max_parents):
    tables = tables_of(0)
    transformer = LocalScoreTransformer(criterion, max_parents=max_parents)
    each_table = [LocalScoreTransformer(criterion).fit_transform(table) for table in tables]
    local = {
        family: sum(s.local_score(*family) for s in each_table) for family in reference.families(4)
    }
    most = 3 if max_parents is None else max_parents
    dags = [dag for dag in all_dags(4) if max(map(len, dag)) <= most]
    evidence, logs, edges = reference.sums_over(dags, local)
    totals = evidence + np.log(len(dags)) + logs
    scores = added(tables, transformer)
    learner = GaussianBNLearner().fit(scores)
    assert learner.network_score_ == pytest.approx(totals.max(), abs=1e-8)
    assert scores.network_score(learner.dag_) == pytest.approx(totals.max(), abs=1e-8)
    near = learner.near_optimal(50, equivalence_classes=False)
    np.testing.assert_allclose(near.scores, np.sort(totals)[::-1][:50], atol=1e-8)
    search = "exact" if max_parents is None else "order"
    found = GaussianBNLearner(random_state=0, search=search).fit(scores)
    assert found.network_score_ <= totals.max() + 1e-8
    posterior = GaussianBNPosterior()
    if isinstance(criterion, BIC):
        with pytest.warns(ApproximateEvidenceWarning):
            posterior.fit(scores)
    else:
        posterior.fit(scores)
    np.testing.assert_allclose(posterior.edge_probabilities_, edges, atol=1e-9)
    assert posterior.log_evidence_ == pytest.approx(evidence, abs=1e-8)
    some = graph_of(dags[7])
    assert posterior.log_probability(some) == pytest.approx(logs[7], abs=1e-8)


def test_losses_of_edges_are_those_of_the_sum():
    scores = added(tables_of(0), LocalScoreTransformer())
    learner = GaussianBNLearner().fit(scores)
    for parent, child in learner.dag_.edges:
        without = learner.dag_.copy()
        without.remove_edge(parent, child)
        loss = learner.network_score_ - scores.network_score(without)
        frame = learner.network_.to_frame()
        row = frame[(frame["parent"] == parent) & (frame["child"] == child)]
        assert row["score_loss"].item() == pytest.approx(loss, abs=1e-8)


@pytest.mark.slow
def test_sampled_posterior_agrees_with_sums():
    scores = added(tables_of(1), LocalScoreTransformer(BGe(nu=[0.0] * 4)))
    exact = GaussianBNPosterior().fit(scores).edge_probabilities_
    sampled = GaussianBNPosterior(method="sampling", random_state=0).fit(scores)
    off = np.abs(sampled.edge_probabilities_ - exact)
    assert (off <= 5 * sampled.edge_standard_errors_ + 1e-3).all()


def test_nodes_and_interventions_may_differ_between_tables():
    tables = tables_of(2, (60, 60))
    for each in tables:
        each["d"] = pd.qcut(each["d"], 3, labels=["low", "middle", "high"])
    nodes = LocalScoreTransformer(nodes="auto", max_parents=2)
    parts = [nodes.fit_transform(table) for table in tables]
    is_set = pd.DataFrame(False, tables[0].index, NAMES)
    is_set.loc[:20, "b"] = True
    parts[0] = parts[0].with_interventions(is_set)
    scores = parts[0] + parts[1]
    totals = [
        sum(scores.local_score(x, members) for x, members in enumerate(parents))
        for parents in all_dags(4)
        if max(map(len, parents)) <= 2
    ]
    learner = GaussianBNLearner().fit(scores)
    assert learner.network_score_ == pytest.approx(max(totals), abs=1e-8)
    assert learner.targets_ == [("b",)]
    assert scores.top_parents("c", 3)[0].score == pytest.approx(
        max(
            scores.local_score("c", members)
            for k in range(3)
            for members in itertools.combinations("abd", k)
        )
    )


def test_the_sum_of_one_table_has_its_scores():
    (table,) = tables_of(3, (50,))
    scores = LocalScoreTransformer().fit_transform(table)
    alone, summed = GaussianBNLearner().fit(scores), GaussianBNLearner().fit(sum([scores]))
    assert summed.network_score_ == pytest.approx(alone.network_score_, abs=1e-9)
    assert summed.dag_.edges == alone.dag_.edges
    doubled = scores.with_penalty(2.0) + scores.with_penalty(2.0)
    assert (scores + scores).with_penalty(2.0).local_score("a", ["b"]) == doubled.local_score(
        "a", ["b"]
    )


def test_what_cannot_be_added_is_refused():
    one, two, _ = tables_of(0)
    scores = LocalScoreTransformer().fit_transform(one)
    with pytest.raises(ValueError, match="same columns"):
        scores + LocalScoreTransformer().fit_transform(two[["b", "a", "c", "d"]])
    for name, other in [
        ("criterion", LocalScoreTransformer("aic")),
        ("penalty", LocalScoreTransformer(penalty=2.0)),
        ("max_parents", LocalScoreTransformer(max_parents=1)),
    ]:
        raises(f"the same {name}", scores.__add__, other.fit_transform(two))
    unequal = LocalScoreTransformer(Unequal()).fit_transform(one)
    raises("equivalent networks different", lambda: unequal + unequal)
    for wrong in (1, "a", None):
        with pytest.raises(TypeError):
            scores + wrong
    summed = scores + scores
    for what in ({"sample_weight": [1.0] * 40}, {"interventions": [None] * 40}):
        with pytest.raises(TypeError, match="belong to the rows of each table"):
            GaussianBNLearner().fit(summed, **what)
    with pytest.raises(ValueError, match="several tables"):
        GaussianBNPosterior("bge").fit(
            sum(LocalScoreTransformer("bge").fit_transform(each) for each in (one, two))
        ).effect("a", "b")
    raises("several tables", lambda: summed.sample, kind=TypeError)

"""Scores of several tables that are added up, against all networks of four columns."""

import itertools

import numpy as np
import pandas as pd
import pytest
from reference.networks import all_dags, graph_of
from scipy.special import logsumexp

from skbn import (
    BIC,
    BGe,
    Criterion,
    GaussianBayesianNetwork,
    GaussianBNLearner,
    GaussianBNPosterior,
    LocalScoreTransformer,
)
from skbn.exceptions import ApproximateEvidenceWarning

NAMES = ["a", "b", "c", "d"]


class Unequal(Criterion):
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


def enumerated(tables, transformer):
    """Return all networks of the columns, and the sums of their scores, term by term."""
    scores = [transformer.fit_transform(table) for table in tables]
    dags = list(all_dags(4))
    return dags, np.array(
        [
            sum(
                each.local_score(x, members) for each in scores for x, members in enumerate(parents)
            )
            for parents in dags
        ]
    )


def added(tables, transformer):
    return sum(transformer.fit_transform(table) for table in tables)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("criterion", [BIC(), BGe(nu=[0.0] * 4)])
@pytest.mark.parametrize("max_parents", [None, 2])
def test_best_network_list_and_posterior_are_those_of_all_networks(seed, criterion, max_parents):
    tables = tables_of(seed)
    transformer = LocalScoreTransformer(criterion, max_parents=max_parents)
    dags, totals = enumerated(tables, LocalScoreTransformer(criterion))
    if max_parents is not None:
        few = [max(map(len, parents)) <= max_parents for parents in dags]
        dags = list(itertools.compress(dags, few))
        totals = totals[few]
    scores = added(tables, transformer)
    learner = GaussianBNLearner().fit(scores)
    assert learner.network_score_ == pytest.approx(totals.max(), abs=1e-8)
    assert scores.network_score(learner.dag_) == pytest.approx(totals.max(), abs=1e-8)
    near = learner.near_optimal(50, equivalence_classes=False)
    np.testing.assert_allclose(near.scores, np.sort(totals)[::-1][:50], atol=1e-8)
    kwargs = {} if max_parents is None else {"search": "order"}
    assert (
        GaussianBNLearner(random_state=0, **kwargs).fit(scores).network_score_
        <= totals.max() + 1e-8
    )

    posterior = GaussianBNPosterior()
    if isinstance(criterion, BIC):
        with pytest.warns(ApproximateEvidenceWarning):
            posterior.fit(scores)
    else:
        posterior.fit(scores)
    shares = np.exp(totals - logsumexp(totals))
    edges = np.zeros((4, 4))
    for parents, share in zip(dags, shares, strict=True):
        for x, members in enumerate(parents):
            edges[list(members), x] += share
    np.testing.assert_allclose(posterior.edge_probabilities_, edges, atol=1e-9)
    evidence = logsumexp(totals) - np.log(len(totals))
    assert posterior.log_evidence_ == pytest.approx(evidence, abs=1e-8)
    some = graph_of(dags[7])
    assert posterior.log_probability(some) == pytest.approx(np.log(shares[7]), abs=1e-8)


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


def test_parameters_are_those_of_a_table():
    tables = tables_of(0)
    learner = GaussianBNLearner().fit(added(tables, LocalScoreTransformer()))
    network = learner.network_.fit(tables[1])
    expected = GaussianBayesianNetwork(learner.dag_).fit(tables[1])
    np.testing.assert_array_equal(network.coef_, expected.coef_)


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
        with pytest.raises(ValueError, match=f"the same {name}"):
            scores + other.fit_transform(two)
    unequal = LocalScoreTransformer(Unequal()).fit_transform(one)
    with pytest.raises(ValueError, match="equivalent networks different"):
        unequal + unequal
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
    with pytest.raises(TypeError, match="several tables"):
        _ = summed.sample

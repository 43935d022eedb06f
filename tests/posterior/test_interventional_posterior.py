"""Posteriors with interventions and exogenous columns, against an enumeration of all networks."""

from math import log

import hypothesis.strategies as st
import networkx as nx
import numpy as np
import pytest
import reference
from agreement import raises
from block_tables import mixed_blocks, nodes_of
from experiment_tables import TARGETS, experiment
from hypothesis import given
from numpy.testing import assert_allclose

from skbn import BGe, GaussianBNPosterior
from skbn._core.graphs import dag_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::skbn.exceptions.ApproximateEvidenceWarning"),
    pytest.mark.filterwarnings("ignore::skbn.exceptions.OrderPriorWarning"),
]
NU = [0.3, -0.5, 1.0, 0.0, 0.2]
PRIORS = ["uniform", "order"]
KNOWLEDGE = {
    "nothing": {},
    "max_parents": {"max_parents": 1},
    "two parents": {"max_parents": 2},
    "edges": {"required_edges": [(2, 0)], "forbidden_edges": [(3, 1)]},
}


def masks_to_scores(rows, is_set, criterion):
    """The log weight of each family, by the rows of its child; a dict for each column."""
    m = rows.shape[1]
    weights = []
    for x in range(m):
        own = rows[~is_set[:, x]]
        if criterion == "bge":
            scores = reference.all_bge_local_scores(own, nu=NU[:m])
        else:
            scores = reference.all_local_scores(own, criterion)
        weights.append({sum(1 << v for v in p): s for (y, p), s in scores.items() if y == x})
    return weights


def expected_posterior(weights, exogenous, prior, knowledge, odds=None):
    """The sums over all networks in which exogenous columns have no parents, and weight 1."""
    m = len(weights)
    weights = [{0: 0.0} if x in exogenous else each for x, each in enumerate(weights)]
    most = knowledge.get("max_parents", m)
    weights = [
        {mask: w for mask, w in each.items() if mask.bit_count() <= most} for each in weights
    ]
    required, allowed = [0] * m, [reference.others_of(x, m) for x in range(m)]
    for a, b in knowledge.get("required_edges", []):
        required[b] |= 1 << a
    for a, b in knowledge.get("forbidden_edges", []):
        allowed[b] &= ~(1 << a)
    # Each network counts once, or once for each order of the columns that are modelled.
    group = sum(1 << x for x in range(m) if x not in exogenous)
    given = prior, required, allowed, [group]
    odds = 1.0 if odds is None else odds
    found, flat = (
        reference.posterior_by_enumeration(reference.with_edge_odds(each, odds), *given)
        for each in (weights, reference.all_ones(weights))
    )
    return found, found.log_evidence - flat.log_evidence


def check(m, targets, exogenous, prior, knowledge, criterion="bge", odds=None):
    rows, is_set = experiment(m, targets, n=10, seed=m)
    weights = masks_to_scores(rows, is_set, criterion)
    expected, evidence = expected_posterior(weights, exogenous, prior, knowledge, odds)
    posterior = GaussianBNPosterior(
        BGe(nu=NU[:m]) if criterion == "bge" else criterion,
        structure_prior=prior,
        exogenous=exogenous or None,
        edge_prior=odds,
        **knowledge,
    )
    posterior.fit(rows, interventions=is_set)
    np.testing.assert_allclose(posterior.edge_probabilities_, expected.edges, atol=1e-9)
    assert posterior.log_evidence_ == pytest.approx(evidence, abs=1e-8)
    if prior == "uniform":
        paths = posterior.path_probabilities_
        known = ~np.isnan(paths)
        assert known[[x for x in range(m) if x not in exogenous]].all()
        np.testing.assert_allclose(paths[known], expected.paths[known], atol=1e-9)
    some = np.random.default_rng(0).choice(len(expected.networks), 20)
    for k in [*some, expected.probabilities.argmax()]:
        dag = dag_of(range(m), expected.networks[k].tolist())
        found = posterior.log_probability(dag)
        if expected.probabilities[k] == 0:
            assert found == -np.inf or found < -600
        elif prior == "uniform":
            assert found == pytest.approx(log(expected.probabilities[k]), abs=1e-7)
    return posterior


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("knowledge", KNOWLEDGE.values(), ids=KNOWLEDGE)
@pytest.mark.parametrize(
    ("targets", "exogenous"),
    [(TARGETS[4], []), ([], [1]), ([], [0, 3]), ([{0}, {1, 2}], [1])],
    ids=["interventions", "exogenous", "two exogenous", "both"],
)
def test_knowledge(prior, knowledge, targets, exogenous):
    if exogenous == [0, 3]:  # no edge leads to these
        knowledge = {key: value for key, value in knowledge.items() if "edges" not in key}
    check(4, targets, exogenous, prior, knowledge, "bic")


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS)
def test_bge_with_a_prior_mean(prior):
    check(4, [{0}, {1}], [1], prior, {})


@pytest.mark.parametrize("prior", PRIORS)
def test_odds_of_edges(prior):
    odds = np.exp(np.random.default_rng(0).normal(size=(4, 4)))
    np.fill_diagonal(odds, 1)
    check(4, [{0}, {1, 2}], [3], prior, {}, "bic", odds=odds)
    check(4, [{0}, {1, 2}], [3], prior, {"max_parents": 1}, "bic", odds=odds)


@given(st.data())
def test_random_problems(data):
    m = data.draw(st.integers(2, 4))
    columns = st.integers(0, m - 1)
    targets = data.draw(st.lists(st.sets(columns, min_size=1), max_size=3))
    exogenous = data.draw(st.lists(columns, unique=True, max_size=m - 1))
    most = data.draw(st.integers(0, m))
    prior = data.draw(st.sampled_from(PRIORS))
    check(m, targets, exogenous, prior, {"max_parents": most} if most < m else {}, "bic")


def test_an_exogenous_column_may_be_set_in_all_rows():
    rows, is_set = experiment(4, TARGETS[1], n=20)
    expected = GaussianBNPosterior(exogenous=[3]).fit(rows, interventions=is_set)
    is_set[:, 3] = True
    found = GaussianBNPosterior(exogenous=[3]).fit(rows, interventions=is_set)
    np.testing.assert_array_equal(found.edge_probabilities_, expected.edge_probabilities_)
    assert found.log_evidence_ == expected.log_evidence_
    assert found.targets_ == [(0,)]


# Effects and parameters


def families_posterior(rows, x, p, alpha_mu=1.0):
    """Mean and covariance of coefficients under BGe with its defaults, by the child's rows."""
    n, m = rows.shape
    centred = rows - rows.mean(axis=0)
    matrix = centred.T @ centred + np.eye(m) * alpha_mu * (m + 2 - m - 1) / (alpha_mu + 1)
    p = list(p)
    inverse = np.linalg.inv(matrix[np.ix_(p, p)])
    b = inverse @ matrix[p, x]
    freedom = n + 3 + len(p) - 1
    return b, (matrix[x, x] - b @ matrix[p, x]) / (freedom - 1) * inverse


@pytest.mark.parametrize("exogenous", [pytest.param(None, marks=pytest.mark.slow), [0]])
def test_effects_by_the_rows_that_count(exogenous):
    """In three ordered columns, all effects have closed forms given the network."""
    rng = np.random.default_rng(0)
    is_set = rng.random((60, 3)) < [0.3, 0.4, 0.2]
    rows = rng.normal(size=(60, 3)) * [1.0, 2.0, 0.5]
    rows[:, 1] += np.where(is_set[:, 1], 5.0, 3 * rows[:, 0])
    rows[:, 2] += np.where(is_set[:, 2], -4.0, 2 * rows[:, 1] - rows[:, 0])
    posterior = GaussianBNPosterior(
        "bge", required_edges=[(0, 1), (0, 2), (1, 2)], exogenous=exogenous
    ).fit(rows, interventions=is_set)
    first, of_first = families_posterior(rows[~is_set[:, 1]], 1, [0])
    second, of_second = families_posterior(rows[~is_set[:, 2]], 2, [0, 1])
    expected = second[0] + first[0] * second[1]
    effects = posterior.effects(random_state=0)
    assert effects.mean[0, 1] == pytest.approx(first[0], rel=1e-9)
    assert effects.mean[1, 2] == pytest.approx(second[1], rel=1e-9)
    assert effects.mean[0, 2] == pytest.approx(expected, abs=0.02)
    assert effects.std[0, 1] == pytest.approx(np.sqrt(of_first[0, 0]), rel=0.1)
    assert effects.std[1, 2] == pytest.approx(np.sqrt(of_second[1, 1]), rel=0.1)
    alone = posterior.effect(0, 2, random_state=0)
    assert alone.mean == pytest.approx(expected, abs=0.02)

    networks = posterior.sample_networks(1000, random_state=0)
    coef = np.array([network.coef_ for network in networks])
    assert coef[:, 0, 1].mean() == pytest.approx(first[0], abs=5 * coef[:, 0, 1].std() / 1000**0.5)
    for x, p in ((1, [0]), (2, [0, 1])):
        own = rows[~is_set[:, x]].mean(axis=0)
        at_means = [n.intercept_[x] + own[p] @ n.coef_[p, x] for n in networks]
        error = np.std(at_means) / len(networks) ** 0.5
        assert np.mean(at_means) == pytest.approx(own[x], abs=5 * error)
    assert all(network.exogenous == (exogenous or []) for network in networks[:3])


def test_predictions_given_exogenous_values():
    """The predictive density is a ratio of marginal likelihoods, added up over networks."""
    rows, _ = experiment(3, [], n=25)
    new, _ = experiment(3, [], n=3, seed=1)
    nu = [0.1, 0.2, 0.3]
    posterior = GaussianBNPosterior(BGe(nu=nu), exogenous=[1]).fit(rows)
    sums = []
    for seen in (rows, np.vstack([rows, new])):
        scores = reference.all_bge_local_scores(seen, nu=nu) | {(1, ()): 0.0}
        dags = [dag for dag in reference.all_dags(3) if not dag[1]]
        sums.append(reference.sums_over(dags, scores)[0])
    assert posterior.score(new) == pytest.approx((sums[1] - sums[0]) / len(new), abs=1e-8)


def test_predictions_after_experiments():
    """The ratio of marginal likelihoods, of which the mean over sampled networks is an estimate."""
    rows, is_set = experiment(3, [{0}, {1, 2}], n=25)
    seen, new = slice(0, 70), slice(70, None)
    nu = [0.1, 0.2, 0.3]
    posterior = GaussianBNPosterior(BGe(nu=nu), random_state=0)
    posterior.fit(rows[seen], interventions=is_set[seen])
    sums = []
    for part in (seen, slice(None)):
        scores = {}
        for x in range(3):
            own = reference.all_bge_local_scores(rows[part][~is_set[part, x]], nu=nu)
            scores |= {family: score for family, score in own.items() if family[0] == x}
        sums.append(reference.sums_over(reference.all_dags(3), scores)[0])
    score = posterior.score(rows[new], interventions=is_set[new])
    assert score == pytest.approx((sums[1] - sums[0]) / 5, abs=0.02)
    weight = np.array([2.0, 0.0, 1.0, 1.0, 1.0])
    twice = [70, 70, 72, 73, 74]
    weighted = posterior.score(rows[new], sample_weight=weight, interventions=is_set[new])
    repeated = posterior.score(rows[twice], interventions=is_set[twice])
    assert weighted == pytest.approx(repeated)


def test_what_is_not_known_is_refused():
    rows, is_set = experiment(4, TARGETS[1])
    outside = GaussianBNPosterior(exogenous=[0]).fit(rows)
    raises("Column 0 is exogenous and has no parents", outside.parent_set_probabilities, 0)
    dag = nx.DiGraph([(1, 0)])
    dag.add_nodes_from([2, 3])
    assert outside.log_probability(dag) == -np.inf
    assert (outside.edge_probabilities_[:, 0] == 0).all()
    assert outside.effect(1, 0, random_state=0).mean == 0
    holes = np.where(rows > 2, np.nan, rows)
    fit = GaussianBNPosterior(missing="augment", exogenous=[0]).fit
    raises("how exogenous columns are distributed", fit, holes)
    fit = GaussianBNPosterior(missing="augment").fit
    raises("interventions set column", fit, holes, interventions=is_set)


# The posterior of networks whose nodes have several columns each, against enumeration


@pytest.mark.parametrize("max_parents", [None, 1])
def test_edges_and_evidence_are_those_of_all_networks(max_parents):
    blocks = mixed_blocks(4, 25, np.random.default_rng(6))
    local = {each: reference.block_score(blocks, *each, "bge") for each in reference.families(4)}
    most = 3 if max_parents is None else max_parents
    dags = [dag for dag in reference.all_dags(4) if max(map(len, dag)) <= most]
    odds = 0.4  # the prior counts edges between nodes
    evidence, _, expected = reference.sums_over(dags, local, odds)
    labels = np.repeat(np.arange(4), nodes_of(blocks).widths)
    posterior = GaussianBNPosterior(
        nodes=labels, structure_prior="uniform", edge_prior=odds, max_parents=max_parents
    ).fit(np.hstack(blocks))
    assert_allclose(posterior.edge_probabilities_, expected, atol=1e-9)
    assert_allclose(posterior.log_evidence_, evidence, rtol=1e-9)

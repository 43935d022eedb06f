"""Networks and unknown targets together, against an enumeration and published results."""

import json
import re
from functools import cache
from math import log
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import reference
from agreement import raises
from enumerated_networks import ranking
from numpy.testing import assert_allclose
from random_constraints import is_allowed
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skbn
from skbn import GaussianBNLearner, GaussianBNPosterior, LocalScoreTransformer

# The first two data sets of 10 columns of the repository AtomXT/micodag-intervenion (graph1), as
# triangular factors of each environment's rows.
_MICODAG = Path(__file__).with_name("micodag_environments.json")
# The least values of its authors' objective, by an exhaustive program that shares no code with the
# library: the negative log-likelihood per row without constants, plus .01 for each edge and target.
_LEAST_OBJECTIVES = [21.2367884358234, 21.232793922353963]


@pytest.fixture(params=["hard", "soft"])
def kind(request):
    return request.param


@pytest.fixture(params=[True, False])
def has_reference(request):
    return request.param


@cache
def environments(seed=0, m=4, n=(30, 20, 25), shift=1.0):
    """Rows of a random network, and of environments that changed one column each."""
    rng = np.random.default_rng(seed)
    coef = np.triu(rng.normal(size=(m, m)), 1)
    tables = []
    for e, size in enumerate(n):
        own, x = coef.copy(), rng.integers(m)
        noise = rng.normal(size=(size, m))
        if e:
            own[:, x] *= -1
            noise[:, x] += shift
        tables.append(noise @ np.linalg.inv(np.eye(m) - own))
    order = rng.permutation(m)
    return [t[:, order] for t in tables]


def stacked(tables):
    return np.vstack(tables), np.repeat(np.arange(len(tables)), [len(t) for t in tables])


def fit(tables, kind, criterion="bic", **settings):
    rows, labels = stacked(tables)
    return GaussianBNLearner(criterion, targets=kind, **settings).fit(rows, environments=labels)


def scores_of_targets(scores, child, parents):
    """The scores of a family by the environments that changed it."""
    return {changed: score for (*key, changed), score in scores.items() if key == [child, parents]}


def best_scores(scores):
    """The best score of each family over all targets."""
    best = {}
    for (*key, _), score in scores.items():
        best[tuple(key)] = max(score, best.get(tuple(key), -np.inf))
    return best


def check(learner, scores, **settings):
    """Raise unless a learner's network and targets are the best of all that settings allow."""
    (score, _), *_ = ranking(best_scores(scores), len(learner.dag_), **settings)
    assert_allclose(learner.network_score_, score, rtol=1e-9)
    total, targets = 0.0, dict.fromkeys(learner.targets_, ())
    for x, parents in enumerate(reference.parents_of(learner.network_.dag)):
        own = scores_of_targets(scores, x, parents)
        best = max(own, key=own.get)
        total += own[best]
        targets |= {e: (*targets[e], x) for e in best}
    assert_allclose(total, score, rtol=1e-9)
    assert dict(learner.targets_) == targets


def test_scores_that_are_not_score_equivalent(kind):
    learner = fit(environments(13), kind, skbn.BIC(unbiased_variance=True))
    scores = learner._searched_.scores
    local = {(x, p): scores.local_score(x, p) for x, p in reference.families(4)}
    assert_allclose(learner.network_score_, ranking(local, 4)[0][0], rtol=1e-10)
    assert_allclose(scores.to_array().max(), max(local.values()), rtol=1e-10)


# The environments, and the settings of a search.
CASES = {
    **{f"{m} columns": ({"seed": 12, "m": m}, {}) for m in (2, 3, 5)},
    **{f"table {seed}": ({"seed": seed}, {}) for seed in range(3)},
    "two environments": ({"m": 3, "n": (30, 20), "shift": 2.0}, {}),
    "four environments": ({"seed": 1, "m": 3, "n": (20, 25, 22, 30), "shift": 2.0}, {}),
    "max_parents": ({"seed": 7}, {"max_parents": 1}),
    "tiers": ({"seed": 7}, {"tiers": [[2], ...]}),
    "required": ({"seed": 7}, {"required_edges": [(3, 0)], "forbidden_edges": [(0, 1)]}),
    "exogenous": ({"seed": 8}, {"exogenous": [2]}),
    "cost": ({"seed": 7}, {"target_cost": 2.5}),
    "order": ({"seed": 7}, {"search": "order", "random_state": 0}),
    "ebic": ({"seed": 7}, {"criterion": "ebic"}),
    "bge": ({"seed": 2, "n": (8, 3, 4)}, {"criterion": "bge"}),  # one prior mean for all
}


@pytest.mark.parametrize("case", CASES)
def test_settings_of_a_search(kind, case, has_reference):
    drawn, settings = CASES[case]
    tables = environments(**drawn)
    known = {k: v for k, v in settings.items() if k in ("max_parents", "tiers") or "_edges" in k}
    criterion, cost = settings.get("criterion", "bic"), settings.get("target_cost", 0.0)
    scores = reference.target_scores(tables, kind, criterion, cost, has_reference)
    if case == "exogenous":  # no target, and without a score
        own = {key: score for key, score in scores.items() if key[0] != 2}
        scores = own | {(2, (), ()): 0.0}
    if has_reference:
        check(fit(tables, kind, **settings), scores, **known)
    else:
        check_without_reference(fit(tables, kind, reference=False, **settings), scores, **known)


@pytest.mark.parametrize("criterion", ["bge", "bic"])
def test_local_scores_and_near_optimal_networks(kind, criterion, has_reference):
    tables, settings = environments(3), {} if has_reference else {"reference": False}
    best = best_scores(
        reference.target_scores(tables, kind, criterion, has_reference=has_reference)
    )
    learner = fit(tables, kind, criterion, **settings)
    few = fit(tables, kind, criterion, max_parents=1, **settings)
    for scores, most in ((learner._searched_.scores, 3), (few._searched_.scores, 1)):
        array = scores.to_array()
        for (x, parents), score in best.items():
            if len(parents) <= most:
                assert_allclose(scores.local_score(x, parents), score, rtol=1e-10)
                assert_allclose(array[scores.family_index(x, parents)], score, rtol=1e-10)
    near = learner.near_optimal(30, equivalence_classes=False)
    assert_allclose(near.scores, [score for score, _ in ranking(best, 4)[:30]], rtol=1e-10)
    raises("equivalence_classes=False", learner.near_optimal, 3)


def test_one_environment_is_the_plain_fit(kind):
    rows, _ = stacked(environments(4))
    plain = GaussianBNLearner().fit(rows)
    one = GaussianBNLearner(targets=kind).fit(rows, environments=["all"] * len(rows))
    assert one.network_score_ == plain.network_score_
    assert_allclose(one.network_.coef_, plain.network_.coef_, rtol=0, atol=0)
    assert list(one.dag_.edges(data="fixed")) == list(plain.dag_.edges(data="fixed"))
    assert dict(one.targets_) == {}


def test_orders_of_rows_columns_and_environments_change_nothing(kind):
    tables, rng = environments(5), np.random.default_rng(0)
    rows, labels = stacked(tables)
    table = pd.DataFrame(rows, columns=list("abcd"))
    names = pd.Series([*"xyz"])[labels].set_axis(table.index)
    learner = GaussianBNLearner(targets=kind).fit(table, environments=names.to_numpy())
    mixed = table.iloc[rng.permutation(len(rows)), rng.permutation(4)]
    again = GaussianBNLearner(targets=kind, reference="x").fit(mixed, environments=names)
    assert_allclose(again.network_score_, learner.network_score_, rtol=1e-12)
    assert {*again.dag_.edges} == {*learner.dag_.edges}
    ours, theirs = ({e: {*own} for e, own in each.targets_.items()} for each in (again, learner))
    assert ours == theirs


@pytest.mark.filterwarnings("ignore::skbn.exceptions.RepeatedRowsWarning")
def test_weights_count_rows(kind):
    rows, labels = stacked(environments(6))
    weight = np.random.default_rng(0).integers(0, 4, size=len(rows))
    repeated = np.repeat(np.arange(len(rows)), weight)
    learner = GaussianBNLearner(targets=kind, reference=0)
    learner.fit(rows, sample_weight=weight, environments=labels)
    score, targets = learner.network_score_, dict(learner.targets_)
    again = learner.fit(rows[repeated], environments=labels[repeated])
    assert_allclose(again.network_score_, score, rtol=1e-12)
    assert dict(again.targets_) == targets


def test_hard_targets_are_interventions_once_they_are_known():
    tables = environments(9, n=(200, 150, 150), shift=6.0)
    rows, labels = stacked(tables)
    learner = fit(tables, "hard")
    assert any(learner.targets_.values())
    is_set = np.zeros(rows.shape, dtype=bool)
    for e, own in learner.targets_.items():
        is_set[np.ix_(labels == e, own)] = True
    known = LocalScoreTransformer("loglik").fit_transform(rows).with_interventions(is_set)
    plain = GaussianBNLearner("loglik", required_edges=[*learner.dag_.edges], max_parents=3)
    plain.fit(rows, interventions=is_set)
    for x in range(4):
        parents = [*learner.dag_.predecessors(x)]
        intercept, coefficients = known.coef(x, parents)
        assert_allclose(learner.network_.intercept_[x], intercept, rtol=1e-9)
        assert_allclose(learner.network_.coef_[parents, x], coefficients, rtol=1e-9)
    assert {*learner.targets_.values()} - {()} == {*plain.targets_}


def check_regression(network, rows, x, parents):
    """Raise unless a network has the coefficients of a child's regression on its parents."""
    intercept, coefficients, left = reference.regression(rows, x, parents)
    assert_allclose(network.intercept_[x], intercept, rtol=1e-8)
    assert_allclose(network.coef_[list(parents), x], coefficients, rtol=1e-8)
    assert_allclose(network.noise_variance_[x], left / len(rows), rtol=1e-8)


def test_targets_tell_of_themselves(kind):
    tables = environments(10, n=(80, 60, 60), shift=3.0)
    learner, scores = fit(tables, kind), reference.target_scores(tables, kind)
    targets, parents = learner.targets_, reference.parents_of(learner.network_.dag)
    assert isinstance(targets, skbn.Targets)
    assert targets.reference == 0
    frame = targets.to_frame()
    assert len(frame) == sum(map(len, targets.values())) > 0
    for e, x, loss in frame.itertuples(index=False):
        own = scores_of_targets(scores, x, parents[x])
        without = max(score for changed, score in own.items() if e not in changed)
        assert_allclose(loss, max(own.values()) - without, rtol=1e-7)
        given = () if kind == "hard" else parents[x]
        check_regression(targets.network(e), tables[e], x, given)
        assert set(targets.network(e).dag.predecessors(x)) == {*given}
    assert re.search("(?s)targets.*environments|environments.*targets", learner.summary())
    assert repr(targets).startswith("Targets of 2 environments beside 0")
    raises("no environment 7", targets.network, 7, kind=KeyError)
    class_ = learner.network_.cpdag(targets=targets)
    for a, b, undirected in class_.edges(data="undirected"):
        if any((a in own) != (b in own) for own in targets.values()):
            assert not undirected


def is_apart(changed, n):
    """Whether no two of n environments share a mechanism."""
    return len(changed) == n - 1


def models_of(kind, parents, n, odds, *, has_reference=True):
    """The models of a family's environments: prior weight, changed ones, and whose targets."""
    if has_reference:
        for changed in reference.subsets(range(1, n)):
            yield odds ** len(changed), changed, [e - 1 for e in changed]
        return
    for changed in reference.subsets(range(n)):
        if len(changed) < n - 1:
            yield odds ** len(changed), changed, changed
    alone = [tuple(e for e in range(n) if e != one) for one in range(n)]
    if kind == "soft" or not parents:  # the same model, whichever is chosen
        alone = alone[-1:]
    for changed in alone:
        yield odds ** (n - 1) / len(alone), changed, range(n)


def check_posterior(tables, kind, criterion="bge", odds=1.0, *, has_reference=True, **settings):
    """Raise unless probabilities are sums over all networks and all targets."""
    rows, labels = stacked(tables)
    options = {"targets": kind, "target_prior": odds, "structure_prior": "uniform", **settings}
    options |= {} if has_reference else {"reference": False}
    posterior = GaussianBNPosterior(criterion, **options).fit(rows, environments=labels)
    scores = reference.target_scores(tables, kind, criterion, has_reference=has_reference)
    m, shape = rows.shape[1], posterior.target_probabilities_.shape
    score, targets_of = {}, {}
    for x, p in reference.families(m):
        models = [*models_of(kind, p, len(tables), odds, has_reference=has_reference)]
        weights = np.array([weight for weight, *_ in models])
        own = np.log(weights / weights.sum()) + [scores[x, p, changed] for _, changed, _ in models]
        score[x, p] = np.logaddexp.reduce(own)
        targets_of[x, p] = np.zeros(shape[0])
        for share, (*_, changed) in zip(np.exp(own - score[x, p]), models, strict=True):
            targets_of[x, p][list(changed)] += share
    allowed = {key: is_allowed(*key, settings) for key in score}
    dags = [dag for dag in reference.all_dags(m) if all(allowed[each] for each in enumerate(dag))]
    evidence, logs, edges = reference.sums_over(dags, score)
    targets = np.zeros(shape)
    for dag, weight in zip(dags, np.exp(logs), strict=True):
        for x, p in enumerate(dag):
            targets[:, x] += weight * targets_of[x, p]
    assert_allclose(posterior.edge_probabilities_, edges, atol=1e-10)
    assert_allclose(posterior.target_probabilities_, targets, atol=1e-10)
    assert_allclose(posterior.log_evidence_, evidence, rtol=1e-10)
    for e, x, probability in posterior.targets_to_frame().itertuples(index=False):
        at = posterior.environments_.index(e)
        assert probability == posterior.target_probabilities_[at - has_reference, x]


@pytest.mark.filterwarnings("ignore::skbn.exceptions.ApproximateEvidenceWarning")
@pytest.mark.parametrize(
    "settings",
    [{}, {"odds": 0.3}, {"max_parents": 1}, {"tiers": [[3, 1], [0, 2]]}, {"criterion": "bic"}],
)
def test_posterior_sums_over_networks_and_targets(kind, settings):
    n = (30, 20, 25) if settings.get("criterion") == "bic" else (8, 5, 6)
    check_posterior(environments(14, n=n), kind, **settings)


@pytest.mark.parametrize("n", [(8, 5), (8, 5, 6), (5, 6, 5, 7)])
@pytest.mark.parametrize("odds", [1.0, 0.3])
def test_posterior_without_a_reference_sums_over_models(kind, n, odds):
    check_posterior(environments(14, m=3, n=n), kind, odds=odds, has_reference=False)


def test_posterior_tells_of_itself():
    rows, labels = stacked(environments(16, n=(30, 30, 30), shift=3.0))
    posterior = GaussianBNPosterior(targets="hard", exogenous=[1]).fit(rows, environments=labels)
    assert posterior.environments_ == [0, 1, 2]
    assert np.isnan(posterior.target_probabilities_[:, 1]).all()
    frame = posterior.targets_to_frame()
    assert len(frame) == 6
    assert frame["probability"].is_monotonic_decreasing
    raises("unknown targets", posterior.sample_networks, 2, 0)
    raises("unknown targets", posterior.effects)
    raises("unknown targets", posterior.score, rows)
    raises("without environments", GaussianBNPosterior().fit(rows).targets_to_frame)
    sampling = GaussianBNPosterior(targets="hard", method="sampling")
    message = "method='sampling' does not work with environments"
    raises(message, sampling.fit, rows, environments=labels)


def micodag(number):
    """Rows, weights and environments with the products of a published table, and its rows.

    micodag does not centre: each row is there with its negative.
    """
    rows, weights, labels = [], [], []
    for e, table in enumerate(json.loads(_MICODAG.read_text(encoding="utf-8"))[number]):
        weight = table["n"] // 10
        factor = np.zeros((10, 10))
        factor[np.triu_indices(10)] = np.concatenate(table["factor"])
        rows += [factor / np.sqrt(weight), -factor / np.sqrt(weight)]
        weights += [weight] * 20
        labels += [e] * 20
    return np.vstack(rows), np.array(weights), labels


@pytest.mark.parametrize("number", [0, 1])
def test_least_objectives_of_micodag_are_reached(number):
    rows, weights, labels = micodag(number)
    n, m = weights.sum() / 2, 10
    price = 0.01 * n  # of an edge and of a target, in nats
    settings = {"penalty": price / (log(2 * n) / 2), "targets": "hard", "target_cost": -price}
    learner = GaussianBNLearner(**settings)
    learner.fit(rows, sample_weight=weights, environments=labels)
    likelihood = learner.network_score_ + 2 * m * price
    objective = -likelihood / n - m * log(2 * np.pi)
    assert_allclose(objective, _LEAST_OBJECTIVES[number], rtol=1e-10)
    assert learner.is_optimal_


WITH_A_HOLE = stacked(environments(0))[0].copy()
WITH_A_HOLE[3, 1] = np.nan
SOFT, HARD = {"targets": "soft"}, {"targets": "hard"}
FEW, MANY = [0] * 71 + [7] * 4, np.arange(75) % 13


@pytest.mark.parametrize(
    ("settings", "given", "message"),
    [
        ({}, {}, "set targets to"),
        (HARD | {"missing": "em"}, {"X": WITH_A_HOLE}, "missing values"),
        (SOFT | {"nodes": {"ab": [0, 1]}}, {}, "nodes of several columns"),
        (SOFT, {"interventions": [None] * 74 + [1]}, "interventions"),
        (SOFT | {"reference": "x"}, {}, "none of the environments"),
        (SOFT, {"environments": [0, 1]}, "a value for each of the 75 rows"),
        (SOFT, {"X": skbn.from_covariance(np.eye(4), 75)}, "in memory"),
        (SOFT | {"time_limit": 1e-6}, {}, "Merge environments, each"),
        (SOFT, {"environments": FEW}, "environment 7: .*row"),
        (SOFT, {"environments": np.arange(75) // 5}, "Merge environments"),
        *((k | {"reference": False}, {"environments": FEW}, "ment 7: .*row") for k in (SOFT, HARD)),
        *(
            (k | {"reference": False}, {"environments": MANY}, "8192 walks .* are 12 or fewer")
            for k in (SOFT, HARD)
        ),
    ],
)
def test_what_does_not_work_is_refused_by_name(settings, given, message):
    rows, labels = stacked(environments(0))
    given = {"X": rows, "environments": labels, **given}
    raises(message, GaussianBNLearner(**settings).fit, kind=(ValueError, TypeError), **given)


def test_scores_with_environments_are_not_changed():
    rows, labels = stacked(environments(0))
    scores = fit(environments(0), "soft")._searched_.scores
    plain = LocalScoreTransformer().fit_transform(rows)
    for change in (
        lambda: scores + scores,
        lambda: plain + scores,
        lambda: scores + plain,
        lambda: scores[:10],
        lambda: GaussianBNLearner(targets="soft").fit(scores, environments=labels),
        lambda: GaussianBNLearner().fit(scores),
        lambda: GaussianBNPosterior("bic").fit(scores),
        lambda: GaussianBNLearner(targets="soft").fit(plain + plain, environments=labels),
    ):
        with pytest.raises((TypeError, ValueError)):
            change()
    learner = GaussianBNLearner(targets="soft")
    listed = skbn.ParentSetScores(["a", "b"], [([[-1], [other]], [0.0, 1.0]) for other in (1, 0)])
    raises("ParentSetScores", learner.fit, listed, kind=TypeError, environments=labels)
    of_scores = learner.fit(plain, environments=labels)
    assert dict(of_scores.targets_) == dict(fit(environments(0), "soft").targets_)


def test_few_parents_of_many_columns(kind):
    tables = environments(17, m=9)
    few, every = (fit(tables, kind, max_parents=most)._searched_.scores for most in (1, None))
    array = few.to_array()
    for x, p in reference.families(9):
        if len(p) < 2:
            score = every.local_score(x, p)
            assert_allclose(few.local_score(x, p), score, rtol=1e-10)
            assert_allclose(array[few.family_index(x, p)], score, rtol=1e-10)


def test_changes_of_all_nodes_direct_nothing():
    learner = fit(environments(18), "hard", target_cost=-1e3)
    assert learner.targets_[1] == learner.targets_[2] == (0, 1, 2, 3)
    assert "1: all nodes, which directs no edge" in learner.summary()
    assert not any(fixed for *_, fixed in learner.dag_.edges(data="fixed"))


# Without a reference


def check_without_reference(learner, scores, **settings):
    """Raise unless network, targets and fixed edges are those of all networks and all targets."""
    n = len(learner.targets_)
    ranked = ranking(best_scores(scores), len(learner.dag_), **settings)
    assert_allclose(learner.network_score_, ranked[0][0], rtol=1e-10)
    for x, p in enumerate(reference.parents_of(learner.network_.dag)):
        own = scores_of_targets(scores, x, p)
        top = [changed for changed, score in own.items() if score > max(own.values()) - 1e-7]
        apart = all(is_apart(changed, n) for changed in top)
        assert apart or len(top) == 1  # these are the only ties
        for e in range(n):
            is_target = x in learner.targets_[e]
            assert is_target == (apart or e in top[0])
            if is_target:
                others = [own[c] for c in own if e not in c and not is_apart(c, n)]
                loss = max(own.values()) - max(others)
                assert_allclose(learner.targets_.score_losses[e, x], loss, rtol=1e-6)
    # An edge is directed only if all networks with the same score have it; if soft, whenever.
    equal = [network for score, network in ranked if score > ranked[0][0] - 1e-7]
    class_ = learner.network_.cpdag(targets=learner.targets_)
    for a, b, fixed in learner.dag_.edges(data="fixed"):
        in_all = all(a in network[b] for network in equal)
        is_directed = not class_.has_edge(b, a) and not class_.edges[a, b]["undirected"]
        assert in_all or not (fixed or is_directed)
        assert is_directed or not in_all or learner.targets_.kind == "hard"


def test_without_a_reference_the_order_of_environments_changes_nothing(kind):
    rows, labels = stacked(environments(5, n=(12, 10, 11, 12)))
    at, settings = np.argsort(-labels, kind="stable"), {"targets": kind, "reference": False}
    one = GaussianBNLearner(**settings).fit(rows, environments=labels)
    two = GaussianBNLearner(**settings).fit(rows[at], environments=labels[at])
    assert_allclose(one.network_score_, two.network_score_, rtol=1e-12)
    assert dict(one.targets_) == dict(two.targets_)
    assert [*one.dag_.edges(data="fixed")] == [*two.dag_.edges(data="fixed")]
    one = GaussianBNPosterior(**settings).fit(rows, environments=labels)
    two = GaussianBNPosterior(**settings).fit(rows[at], environments=labels[at])
    assert one.environments_ == two.environments_[::-1]
    assert_allclose(one.target_probabilities_, two.target_probabilities_[::-1], atol=1e-10)
    assert_allclose(one.edge_probabilities_, two.edge_probabilities_, atol=1e-10)


def test_two_environments_do_not_tell_who_changed():
    tables = environments(10, n=(60, 60), shift=3.0)
    learner, known = fit(tables, "soft", reference=False), fit(tables, "soft")
    assert_allclose(learner.network_score_, known.network_score_, rtol=1e-12)
    assert [*learner.dag_.edges(data="fixed")] == [*known.dag_.edges(data="fixed")]
    assert learner.targets_[0] == learner.targets_[1] == known.targets_[1] != ()
    assert "the score cannot tell which environment changed" in learner.summary()
    assert "without a reference" in learner.summary()
    assert repr(learner.targets_).startswith("Targets of 2 environments, soft: ")
    one = fit(tables[:1], "hard", reference=False)
    assert dict(one.targets_) == {0: ()}
    assert one.network_score_ == GaussianBNLearner().fit(tables[0]).network_score_


def test_networks_of_environments_without_a_reference(kind):
    tables = environments(10, n=(80, 60, 60), shift=3.0)
    learner = fit(tables, kind, reference=False)
    scores = reference.target_scores(tables, kind, has_reference=False)
    for x, p in enumerate(reference.parents_of(learner.network_.dag)):
        own = scores_of_targets(scores, x, p)
        changed = max(own, key=own.get)
        shared = [table for e, table in enumerate(tables) if e not in changed]
        for e, table in enumerate(tables):
            given = () if kind == "hard" and e in changed else p
            rows = table if x in learner.targets_[e] else np.vstack(shared)
            check_regression(learner.targets_.network(e), rows, x, given)


def test_environments_called_false_or_zero():
    rows, labels = stacked(environments(0, n=(30, 25)))
    learner = GaussianBNLearner(targets="soft", reference=False)
    assert [*learner.fit(rows, environments=labels).targets_] == [0, 1]
    raises("one of them is called False", learner.fit, rows, environments=labels == 1)
    names = (labels == 1).astype(str)
    assert [*learner.fit(rows, environments=names).targets_] == ["False", "True"]
    of_zero = GaussianBNLearner(targets="soft", reference=0).fit(rows, environments=labels)
    assert of_zero.targets_.reference == 0
    of_first = GaussianBNLearner(targets="soft").fit(rows, environments=labels == 1)
    assert [*of_first.targets_] == [True]
    assert "compared with False" in of_first.summary()


def test_what_does_not_take_environments_refuses_targets():
    rows, labels = stacked(environments(0))
    learner = GaussianBNLearner(targets="soft")
    piped = skbn.BootstrapBNLearner(make_pipeline(StandardScaler(), learner))
    for fitted in (
        lambda own: skbn.BootstrapBNLearner(own, n_resamples=2).fit(rows),
        lambda own: skbn.MarkovBlanketSelector(own).fit(rows[:, 1:], rows[:, 0]),
        lambda own: skbn.GaussianBNImputer(own).fit(rows),
        lambda own: skbn.compare_groups(rows, labels, own),
    ):
        raises(r"does not take environments.* Set targets to None", fitted, learner)
        fitted(GaussianBNLearner())
    raises("BootstrapBNLearner does not take environments", piped.fit, rows)

"""GaussianBNLearner(missing="em"), and what else takes tables with holes."""

import math

import numpy as np
import pandas as pd
import pytest
import reference
from agreement import assert_same_bits, raises, warned_by
from incomplete_tables import correlated_rows, with_holes
from problems import problem as problem_of_scores
from problems import resources
from random_constraints import is_allowed
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

import skbn
from skbn import BootstrapBNLearner, GaussianBNLearner, GaussianBNPosterior, LocalScoreTransformer
from skbn._data.sample import Sample
from skbn._missing.em import estimate, saturated
from skbn._missing.incomplete_rows import incomplete_rows
from skbn._scores.local_scores import LocalScores
from skbn._solver.incomplete_problem import IncompleteProblem
from skbn._solver.solve import solve
from skbn.exceptions import DegenerateColumnsError, MaxParentsWarning, MissingValuesWarning

slow = pytest.mark.slow


def table(seed=0, m=5, n=150, share=0.2, at_random=True):
    rng = np.random.default_rng(seed)
    return with_holes(correlated_rows(m, n, rng), share, rng, at_random=at_random)


def learned(X, **parameters):
    return GaussianBNLearner(missing="em", **parameters).fit(X)


def bic_cost(n, m, k):
    return math.log(n) / 2 * (k + 2 * m)


def observed_score(network, rows, penalty=1.0, cost=bic_cost):
    """The score of a network with its parameters, by another program."""
    mean, covariance = np.asarray(network.mean_), np.asarray(network.covariance_)
    likelihood = reference.observed_log_likelihood(rows, mean, covariance)
    return likelihood - penalty * cost(*rows.shape, network.dag.number_of_edges())


# The score


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(s, marks=slow) for s in (2, 3))])
@pytest.mark.parametrize(
    ("parameters", "cost"),
    [
        ({}, bic_cost),
        ({"penalty": 2.5}, bic_cost),
        ({"max_parents": 1}, bic_cost),
        ({"tiers": [[4, 2], ...]}, bic_cost),
        ({"required_edges": [(0, 1)], "forbidden_edges": [(2, ...)]}, bic_cost),
        ({"search": "order", "random_state": 0}, bic_cost),
        ({"max_parents": 2, "tiers": [[4, 2], ...], "required_edges": [(2, 0)]}, bic_cost),
        ({"criterion": "aic"}, lambda n, m, k: k + 2 * m),
        ({"criterion": "loglik"}, lambda n, m, k: 0.0),
        (
            {"criterion": skbn.EBIC(gamma=1)},
            lambda n, m, k: bic_cost(n, m, k) + 2 * k * math.log(m),
        ),
    ],
)
def test_the_score_is_that_of_the_observed_values(seed, parameters, cost):
    rows = table(seed, at_random=seed % 2 == 0)
    learner = learned(rows, **parameters)
    expected = observed_score(learner.network_, rows, parameters.get("penalty", 1.0), cost)
    assert learner.network_score_ == pytest.approx(expected, abs=1e-6)
    assert not learner.is_optimal_
    assert learner.optimality_gap_ == learner.score_bound_ == np.inf
    known = {"required_edges": [], "forbidden_edges": None} | parameters
    assert all(is_allowed(x, {*learner.dag_.predecessors(x)}, known) for x in range(5))
    best = learner.candidates_["observed_score"].max()
    assert learner.network_score_ - 0.01 < best <= learner.network_score_ + 1e-9
    for a, b, loss in learner.network_.to_frame()[["parent", "child", "score_loss"]].to_numpy():
        assert loss > -1e-6 or learner.dag_.edges[a, b]["fixed"]


def test_the_loss_of_an_edge_is_that_of_the_observed_score():
    rows = table(4)
    learner = learned(rows)
    known = incomplete_rows(rows)
    assert learner.dag_.edges
    for a, b, loss in learner.network_.to_frame()[["parent", "child", "score_loss"]].to_numpy():
        others = [(c, d) for c, d in learner.dag_.edges if (c, d) != (a, b)]
        parents = [sum(1 << c for c, d in others if d == x) for x in range(5)]
        found = estimate(known, parents, saturated(known, 1e-4), tolerance=1e-8)
        score = found.log_likelihood - known.log_units() - bic_cost(150, 5, len(others))
        assert loss == pytest.approx(learner.network_score_ - score, abs=0.02)


def test_a_table_without_holes_is_fitted_as_always():
    rows = correlated_rows(5, 100, np.random.default_rng(0))
    with_em = learned(rows)
    assert_same_bits(with_em, GaussianBNLearner().fit(rows))
    assert with_em.is_optimal_
    assert with_em.near_optimal(3).is_proven
    assert not hasattr(with_em, "candidates_")


# The search


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(s, marks=slow) for s in range(3, 10))])
def test_the_score_never_falls(seed):
    rows = Sample(table(seed, m=8, n=120, share=0.35), may_miss=True)
    problem = problem_of_scores(LocalScores._from_sample(rows, skbn.BIC()))
    (solution,) = solve(problem, resources(n_jobs=1))
    assert (np.diff(solution.em.scores) > -1e-9).all()


def best_observed_score(rows):
    """The highest score of all classes, each by its own EM from the saturated model."""
    known, found = incomplete_rows(rows), []
    begin = saturated(known, 1e-4)
    classes = {reference.equivalence_class(p): p for p in reference.all_dags(rows.shape[1])}
    for parents in classes.values():
        masks = [sum(1 << p for p in each) for each in parents]
        own = estimate(known, masks, begin, tolerance=1e-7)
        cost = bic_cost(*rows.shape, sum(map(len, parents)))
        found.append(own.log_likelihood - known.log_units() - cost)
    return max(found)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(s, marks=slow) for s in range(4, 30))])
def test_the_best_of_all_classes_is_found(seed):
    rng = np.random.default_rng(100 + seed)
    rows = with_holes(correlated_rows(4, 100, rng), 0.3, rng, at_random=seed % 2 == 0)
    assert learned(rows).network_score_ == pytest.approx(best_observed_score(rows), abs=1e-3)


@pytest.mark.usefixtures("two_blas_threads")
@pytest.mark.parametrize("n_jobs", [2, 3])
def test_the_number_of_jobs_does_not_change_a_bit(n_jobs):
    rows = table(6, m=8)
    one, other = learned(rows, n_jobs=1), learned(rows, n_jobs=n_jobs)
    assert_same_bits(one, other)
    pd.testing.assert_frame_equal(one.candidates_, other.candidates_)


def test_candidates_are_in_order():
    learner = learned(table(7), n_candidates=12)
    frame = learner.candidates_
    assert frame["observed_score"].is_monotonic_decreasing
    assert (frame["list"] == 0).sum() == 12
    assert learner.n_iter_ >= (frame["list"].iloc[0] > 0)
    of_orders = learned(table(8), search="order", random_state=0).candidates_
    assert (np.bincount(of_orders["list"]) == 1).all()


@pytest.mark.slow
def test_many_columns_with_few_parents():
    rng = np.random.default_rng(0)
    rows = with_holes(correlated_rows(32, 400, rng, 0.03), 0.1, rng)
    learner = learned(rows, max_parents=1)
    assert (np.bincount(learner.candidates_["list"]) == 1).all()  # no list fits
    expected = observed_score(learner.network_, rows)
    assert learner.network_score_ == pytest.approx(expected, abs=1e-6)


# Nodes of several columns


def mixed_frame(seed=0, n=200, share=0.15):
    rng = np.random.default_rng(seed)
    x = correlated_rows(3, n, rng)
    site = pd.Categorical.from_codes(np.digitize(x[:, 0], [-0.7, 0.7]), ["low", "mid", "high"])
    frame = pd.DataFrame({"x": x[:, 1], "site": site, "y": x[:, 2]})
    holes = rng.random(frame.shape) < share
    holes[holes.all(axis=1), 0] = False
    return frame.mask(holes)


def test_a_missing_level_is_missing_in_all_indicators():
    frame = mixed_frame()
    learner = learned(frame, nodes="auto")
    columns = learner.network_.columns_
    codes = pd.get_dummies(frame["site"], dtype=float)[["mid", "high"]]
    codes[frame["site"].isna()] = np.nan
    rows = pd.concat([frame[["x"]], codes, frame[["y"]]], axis=1).to_numpy()
    assert columns.nodes == ["x", "site=mid", "site=high", "y"]
    sizes = {"x": 1, "site": 2, "y": 1}
    edges = sum(sizes[a] * sizes[b] for a, b in learner.dag_.edges) + 1  # one within site
    model = learner.network_._model()
    found = reference.observed_log_likelihood(rows, model.mean, model.covariance())
    assert learner.network_score_ == pytest.approx(found - bic_cost(200, 4, edges), abs=1e-6)
    frame["site"] = frame["site"].cat.add_categories(["far"])  # a level without rows
    assert "site=far" not in learned(frame, nodes="auto").network_.columns_.nodes


# Tables


def test_rows_without_values_are_ignored_and_counted():
    rows = table(10)
    score = learned(rows).network_score_
    more = np.insert(rows, [3, 3, 50], np.nan, axis=0)
    with pytest.warns(MissingValuesWarning, match=r"^3 of 153 rows of X have no value"):
        assert learned(more).network_score_ == score


def test_few_rows_of_a_pair_are_named():
    rows = table(11, share=0.0)
    rows[:70, 1] = np.nan
    rows[62 + 30 :, 3] = np.nan
    message = "Columns 1 and 3 are observed together in only 22 rows, .* 5 for each of the 5 col"
    with pytest.warns(MissingValuesWarning, match=message):
        learner = learned(rows)
    assert learner.n_effective_ == 22


def with_values(at, values):
    rows = table(12)
    rows[at] = values
    return rows


SECOND, FOURS = (slice(None), 1), [np.nan, 4.0] * 75
WITH_SUM = np.column_stack([table(14), table(14)[:, 0] + table(14)[:, 1]])
IN_TURNS = np.where(np.arange(150)[:, np.newaxis] < [75, 150, 0], table(m=3, share=0.0), np.nan)
MIXED, HALF = mixed_frame(), np.arange(200) < 100
APART = MIXED.assign(site=MIXED["site"].where(HALF), y=MIXED["y"].where(~HALF))
WITHOUT_SITE = MIXED.assign(site=MIXED["site"].where([False] * 200))


@pytest.mark.parametrize(
    ("X", "settings", "message"),
    [
        (with_values(SECOND, np.nan), {}, "Column 1 has no value: all 150 are missing"),
        (with_values(SECOND, FOURS), {}, "Column 1 has zero variance: all its observed .* 4"),
        (IN_TURNS, {}, "Column 2 has no value"),
        (with_values((3, 2), np.inf), {}, r"^X has infinite values in 1 of its 5 columns \(2\)"),
        (WITH_SUM, {}, r"Column 5 .* = 1 \* column 0 \+ 1 \* column 1 .* unbounded.* Leave out"),
        (WITHOUT_SITE, {"nodes": "auto"}, "^Column 'site' has no value: all"),
        (APART, {"nodes": "auto"}, "^Columns 'site' and 'y' are never observed together"),
        (table(), {"missing": "drop"}, "missing"),
    ],
)
def test_what_is_refused(X, settings, message):
    raises(message, GaussianBNLearner(**{"missing": "em", **settings}).fit, X)


def fit_by_em(X, weight):
    return GaussianBNLearner(missing="em").fit(X, sample_weight=weight)


def test_tables_in_which_no_row_counts_are_told():
    nothing = np.full((60, 3), np.nan)
    message = "No row of X has both a value and a positive weight"
    with pytest.warns(MissingValuesWarning, match="60 of 60 rows"):
        raises(message, GaussianBNPosterior(missing="augment").fit, nothing)
    raises(message, learned, nothing)
    raises("sample_weight is zero for all rows", fit_by_em, table(), np.zeros(150))


@pytest.mark.parametrize("offset", [1e8, 1e13, pytest.param(1e14, marks=slow), 3e14])
def test_columns_far_from_zero_have_scores_up_to_the_rounding_of_their_means(offset):
    rows = table(12) + offset  # which rounds the values, too
    learner = learned(rows)
    exact = learned(rows - offset).network_score_
    off = np.ldexp(1.0, np.frexp(offset)[1] - 53)
    assert learner.network_score_ == pytest.approx(exact, abs=1e-3 + 150 * 5 * 8 * off**2)


def test_only_rows_that_count_are_looked_at():
    rows = table(12)
    rows[1:, 1] = np.where(np.isnan(rows[1:, 1]), np.nan, 4.0)
    weight = np.arange(150) > 0
    raises("1 has zero variance", fit_by_em, rows, weight)
    rows[:, 1] = np.where(weight, np.nan, 1.0)
    raises("Column 1 has no value: all 149 are missing", fit_by_em, rows, weight)


def test_columns_that_are_never_seen_together_are_named():
    rows = table(13, share=0.0)
    rows[:75, 0] = np.nan
    rows[75:, 2] = np.nan
    raises(r"Columns 0 and 2 are never observed together.* Leave ", learned, rows)
    forbidden, advice = [(0, 2), (2, 0)], "or forbid a learner both edges between them"
    raises(advice, learned, rows, forbidden_edges=forbidden[:1])
    with pytest.warns(MissingValuesWarning):
        learned(rows, forbidden_edges=forbidden)
    rows[75:79, 2] = 1.0, 2.0, 4.0, -1.0
    raises("observed together in only 4 rows.*set max_parents to 2 or less", learned, rows)
    with pytest.warns(MissingValuesWarning):
        learned(rows, max_parents=2)


def test_parts_of_rows_count_as_with_complete_tables():
    rows = table(13, share=0.0)
    rows[::7, 1] = np.nan
    with pytest.warns(MissingValuesWarning, match=r"together in only 5.12 rows, which is fewer"):
        fit_by_em(rows, np.full(150, 0.04))
    few = r"rows of weight 0.15 for 5 columns, too few to tell"
    raises(few, fit_by_em, rows, np.full(150, 0.001))


def test_near_optimal_classes_are_those_that_em_compared():
    rows = table()
    learner = learned(rows)
    with pytest.warns(ConvergenceWarning, match="has what structural EM compared"):
        near = learner.near_optimal(3)
    assert not near.is_proven
    assert "not proven" in repr(near)
    assert near[0].dag.edges == learner.dag_.edges
    np.testing.assert_allclose(near.scores, learner.candidates_["observed_score"][:3], atol=0.01)
    for network, score in zip(near, near.scores, strict=True):
        assert score == pytest.approx(observed_score(network, rows), abs=0.02)
    raises("compares equivalence classes", learner.near_optimal, 3, equivalence_classes=False)
    assert "missing=" in learner._shown_note()


def test_penalties_are_compared_by_what_is_observed():
    rows = table(21, m=4, n=90)
    folds = list(KFold(2, shuffle=True, random_state=0).split(rows))
    chosen = skbn.GaussianBNLearnerCV([1, 4], cv=folds, missing="em").fit(rows)
    for penalty, mean in zip([1, 4], chosen.cv_results_["mean_test_score"], strict=True):
        held_out = [learned(rows[a], penalty=penalty).score(rows[b]) for a, b in folds]
        assert mean == pytest.approx(np.mean(held_out), abs=1e-9)
    again = learned(rows, penalty=chosen.penalty_)
    assert chosen.network_score_ == again.network_score_
    assert len(chosen.candidates_) == len(again.candidates_)


def test_a_low_limit_on_parents_is_told():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 8))
    rows[:, 5:] += rows[:, :3].sum(axis=1, keepdims=True)
    with pytest.warns(MaxParentsWarning):
        learned(with_holes(rows, 0.05, rng), max_parents=1)


# Other estimators


def test_a_bootstrap_resamples_rows_with_their_holes():
    rows = table(15)
    learner = learned(rows, n_candidates=5)
    settings = {"n_resamples": 3, "random_state": 0}
    one, two = (BootstrapBNLearner(learner, n_jobs=n, **settings).fit(rows) for n in (None, 2))
    assert one.estimator_.network_score_ == learner.network_score_
    np.testing.assert_array_equal(one.strength_, two.strength_)
    for other in (BootstrapBNLearner(GaussianBNLearner()), skbn.GaussianBNLearnerCV()):
        raises("missing values", other.fit, rows)
    rows = table(15, share=0.0)
    rows[9:, 1] = np.nan
    bootstrap = BootstrapBNLearner(learner, n_resamples=20, random_state=0, n_jobs=1)
    with pytest.warns(MissingValuesWarning):
        raises(r"^Resample .* is collinear .* fail less often", bootstrap.fit, rows)


def test_transformers_return_the_scores_of_expected_rows():
    rows = table(16)
    scores = LocalScoreTransformer(missing="em").fit_transform(rows)
    known = incomplete_rows(rows)
    expected = saturated(known, 1e-4)
    n = known.pair_weights().min()
    assert scores.statistics.n_samples == n
    child, parents = 2, [0, 1]
    scatter = expected.scatter[0] * n / len(rows) * np.outer(known.scale, known.scale)
    slope = np.linalg.solve(scatter[np.ix_(parents, parents)], scatter[parents, child])
    rss = scatter[child, child] - slope @ scatter[parents, child]
    local = -n / 2 * (math.log(2 * math.pi * rss / n) + 1) - 2 * math.log(n)
    assert scores.local_score(child, parents) == pytest.approx(local, rel=1e-9)
    first = learned(rows).candidates_.query("list == 0")["searched_score"].max()
    assert GaussianBNLearner().fit(scores).network_score_ == pytest.approx(first, rel=1e-12)
    frame = mixed_frame()
    frame["site"] = frame["site"].cat.add_categories(["far"])
    transformer = LocalScoreTransformer(missing="em", nodes="auto")
    of_nodes, kept = transformer.fit_transform(frame), transformer.local_scores_
    assert kept.local_score("y", ["site"]) == of_nodes.local_score("y", ["site"])
    complete = correlated_rows(3, 40, np.random.default_rng(0))
    assert LocalScoreTransformer(missing="em").fit_transform(complete).sample.has_rows


# Holes in rows of weight 0, and the usual warnings


def named_table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)), columns=list("abcd"))


@pytest.mark.parametrize(
    "estimator",
    [
        *(GaussianBNLearner(missing=missing) for missing in ("error", "em")),
        *(GaussianBNLearner(missing=missing, nodes="auto") for missing in ("error", "em")),
        *(GaussianBNPosterior(missing=missing) for missing in ("error", "augment")),
    ],
)
def test_holes_in_rows_of_weight_0_do_not_count(estimator):
    attribute = "network_score_" if hasattr(estimator, "search") else "log_evidence_"
    whole, weight = named_table(), np.ones(60)
    if estimator.nodes:
        whole["site"] = np.random.default_rng(1).choice(["p", "q"], 60)
    holes = whole.copy()
    holes.iloc[3, 1:] = holes.iloc[9, 2:] = None
    weight[[3, 9]] = 0
    expected = getattr(estimator.fit(whole.drop(index=[3, 9])), attribute)
    found = getattr(estimator.fit(holes, sample_weight=weight), attribute)
    assert found == pytest.approx(expected)
    assert getattr(estimator, "is_optimal_", True)
    weight[9] = 0.5
    if estimator.missing == "error":
        raises(r"missing|no value|NaN", estimator.fit, holes, sample_weight=weight)
    elif estimator.missing == "em":
        assert not estimator.fit(holes, sample_weight=weight).is_optimal_


def awkward():
    """A 0/1 child and skewed residuals."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    flag = (x + rng.normal(size=400) > 0).astype(int)
    skewed = np.exp(2 * rng.normal(size=400))
    return pd.DataFrame({"x": x, "f": flag, "s": skewed, "z": x + flag + rng.normal(size=400)})


@pytest.mark.parametrize("share", [None, 0.1])
@pytest.mark.parametrize("settings", [{}, {"search": "order"}, {"nodes": "auto"}])
def test_a_table_with_holes_gets_the_same_warnings(share, settings):
    X = awkward()
    if share is None:
        X.loc[5, "x"] = np.nan
    else:
        X = X.mask(np.random.default_rng(1).random(X.shape) < share)
    first = ["x"]
    if "nodes" in settings:
        X["site"] = np.random.default_rng(2).choice(["p", "q", "r"], 400)
        first = ["x", "site"]
    caught = warned_by(learned, X, tiers=[first, ["f", "s"], ["z"]], **settings)
    assert {each.filename for each in caught} == {__file__}
    kinds = [each.category.__name__ for each in caught]
    assert kinds == ["DiscreteChildWarning", "SkewedResidualsWarning"]


def test_a_wide_category_is_named_whatever_the_holes():
    X = named_table().assign(id=[f"P{i}" for i in range(60)])
    X.loc[3, "a"] = X.loc[4, "c"] = np.nan
    for max_parents in (None, 1):
        message, limit = "Column 'id' holds text, 60 different values", {"max_parents": max_parents}
        raises(message, learned, X, nodes="auto", **limit)
    learned(X.drop(columns="id"), nodes="auto")
    wide = X.assign(id=[f"P{i % 30}" for i in range(60)], p=[f"p{i % 29}" for i in range(60)])
    advice = r"Node 'id' alone has 30 levels.*nodes out, or set a lower max_parents\.$"
    raises(advice, learned, wide, nodes="auto")
    few = named_table().mask(np.eye(60, 4) > 0)[:3]
    raises("rows of weight 3 for 4 columns, too few .* Leave columns", learned, few)


@pytest.mark.parametrize("search", ["exact", "order"])
def test_a_time_limit_that_ends_in_the_first_step_leaves_an_answer(search):
    X = named_table().mask(np.random.default_rng(3).random((60, 4)) < 0.2)
    learner = learned(X, search=search, random_state=0)
    best = learner.network_score_
    warned_by(learner.set_params(time_limit=1e-9).fit, X)
    assert not learner.is_optimal_
    assert learner.network_score_ <= best + 1e-6


@pytest.mark.parametrize(
    ("more", "constant", "collinear"),
    [
        ({"u": lambda X: 1.0}, ["u"], []),
        ({"u": lambda X: 1.0, "a2": lambda X: 2 * X["a"]}, ["u"], ["a2"]),
        ({"sum": lambda X: X["a"] + X["b"], "b2": lambda X: 1 - X["b"]}, [], ["sum", "b2"]),
        # x = s - l, of which EM's prior hides the small one
        ({"l": lambda X: 1e3 * X["a"], "s": lambda X: X["b"] + 1e3 * X["a"]}, [], ["l", "s"]),
    ],
)
@pytest.mark.parametrize(
    "kind", ["learner", *(pytest.param(k, marks=slow) for k in ("nodes", "posterior"))]
)
@pytest.mark.filterwarnings("ignore::skbn.exceptions.ApproximateEvidenceWarning")
def test_all_degenerate_columns_with_holes_are_named_at_once(more, constant, collinear, kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd")).assign(**more)
    X = X.mask(rng.random(X.shape) < 0.1)
    estimator = GaussianBNLearner(missing="em")
    if kind == "nodes":
        X = X.assign(only="p", same="q", site=rng.choice(["p", "q"], 200))
        words = r"'only' is .* 'same' is .* levels"
        raises(words, estimator.set_params(nodes="auto").fit, X, kind=DegenerateColumnsError)
        X = X.drop(columns=["only", "same"])
    elif kind == "posterior":
        estimator = GaussianBNPosterior("bic", missing="augment", n_imputations=2, random_state=0)
    with pytest.raises(DegenerateColumnsError) as refused:
        estimator.fit(X)
    found = refused.value
    assert sorted(found.constant_columns) == sorted(constant)
    assert len(found.collinear_columns) == len(collinear)
    assert {*found.collinear_columns} <= {*more, "a", "b"}
    estimator.fit(X.drop(columns=found.columns))


def test_relations_beyond_a_family_are_left_alone():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd"))
    X = X.assign(total=X.sum(axis=1)).mask(rng.random((200, 5)) < 0.05)
    learned(X, max_parents=1)
    raises("'total' = 1 ", learned, X, kind=DegenerateColumnsError)
    posterior = GaussianBNPosterior(missing="augment", n_imputations=2, random_state=0)
    warned_by(posterior.fit, X[["a", "b"]].assign(a2=2 * X["a"]))


def test_after_the_time_limit_no_edge_has_an_em_of_its_own(monkeypatch):
    """What an edge loses is known from expected rows then: no less than EM finds."""
    rows = table()
    whole = learned(rows)
    n_estimates, own = [], IncompleteProblem.estimate

    def counted(self, *args):
        n_estimates.append(1)
        return own(self, *args)

    monkeypatch.setattr(IncompleteProblem, "estimate", counted)
    with pytest.warns(ConvergenceWarning, match="time_limit ended structural EM"):
        ended = learned(rows, time_limit=1e-9)
    assert len(n_estimates) == 2  # the first candidate, coarsely and then to the tolerance
    by_em, expected = whole.network_.to_frame(), ended.network_.to_frame()
    assert by_em[["parent", "child"]].equals(expected[["parent", "child"]])
    assert (expected["score_loss"] > by_em["score_loss"]).all()

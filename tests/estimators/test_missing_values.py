"""GaussianBNLearner(missing="em"), and what else takes tables with holes."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
import reference
from agreement import assert_same_bits, raises
from incomplete_tables import correlated_rows, with_holes
from random_constraints import is_allowed
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from skbn import (
    BIC,
    EBIC,
    BootstrapBNLearner,
    GaussianBNLearner,
    GaussianBNLearnerCV,
    GaussianBNPosterior,
    LocalScoreTransformer,
)
from skbn._core.resources import Resources
from skbn._data.sample import Sample
from skbn._missing.em import estimate, saturated
from skbn._missing.incomplete_rows import incomplete_rows
from skbn._scores.local_scores import LocalScores
from skbn._solver.constraints import read_constraints
from skbn._solver.incomplete_problem import IncompleteProblem
from skbn._solver.solve import problem_of, solve
from skbn.exceptions import (
    DegenerateColumnsError,
    DiscreteChildWarning,
    MaxParentsWarning,
    MissingValuesWarning,
    SkewedResidualsWarning,
)


def table(seed=0, m=5, n=150, share=0.2, at_random=True):
    rng = np.random.default_rng(seed)
    return with_holes(correlated_rows(m, n, rng), share, rng, at_random=at_random)


def learned(X, **parameters):
    return GaussianBNLearner(missing="em", **parameters).fit(X)


def observed_score(learner, rows, penalty=1.0, weight=None, cost=None):
    """The score of a learner's network with its parameters, by another program."""
    network = learner.network_
    n = len(rows) if weight is None else weight.sum()
    m, k = rows.shape[1], network.dag.number_of_edges()
    cost = math.log(n) / 2 * (k + 2 * m) if cost is None else cost
    found = reference.observed_log_likelihood(
        rows, np.asarray(network.mean_), np.asarray(network.covariance_), weight
    )
    return found - penalty * cost


def fixed(learner):
    """Which edges of the network's table are fixed."""
    frame = learner.network_.to_frame()
    pairs = zip(frame["parent"], frame["child"], strict=True)
    return np.array([learner.dag_.edges[pair].get("fixed", False) for pair in pairs], dtype=bool)


# The score


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(s, marks=pytest.mark.slow) for s in (2, 3))])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"penalty": 2.5},
        {"max_parents": 1},
        {"tiers": [[4, 2], ...]},
        {"required_edges": [(0, 1)], "forbidden_edges": [(2, ...)]},
        {"search": "order", "random_state": 0},
        {"max_parents": 2, "tiers": [[4, 2], ...], "required_edges": [(2, 0)]},
    ],
)
@pytest.mark.filterwarnings("ignore::skbn.exceptions.MaxParentsWarning")
def test_the_score_is_that_of_the_observed_values(seed, parameters):
    rows = table(seed, at_random=seed % 2 == 0)
    learner = learned(rows, **parameters)
    expected = observed_score(learner, rows, parameters.get("penalty", 1.0))
    assert learner.network_score_ == pytest.approx(expected, abs=1e-6)
    assert not learner.is_optimal_
    assert learner.optimality_gap_ == learner.score_bound_ == np.inf
    known = {"required_edges": [], "forbidden_edges": None} | parameters
    assert all(is_allowed(x, {*learner.dag_.predecessors(x)}, known) for x in range(5))
    best = learner.candidates_["observed_score"].max()
    assert learner.network_score_ - 0.01 < best <= learner.network_score_ + 1e-9
    assert (learner.network_.to_frame()["score_loss"][~fixed(learner)] > -1e-6).all()


@pytest.mark.parametrize(
    ("criterion", "cost"),
    [
        ("aic", lambda n, m, k: k + 2 * m),
        ("loglik", lambda n, m, k: 0.0),
        (EBIC(gamma=1), lambda n, m, k: math.log(n) / 2 * (k + 2 * m) + 2 * k * math.log(m)),
    ],
)
def test_other_criteria(criterion, cost):
    rows = table(3, m=4)
    learner = learned(rows, criterion=criterion)
    k = learner.dag_.number_of_edges()
    by_hand = observed_score(learner, rows, cost=cost(150, 4, k))
    assert learner.network_score_ == pytest.approx(by_hand, abs=1e-6)


def test_the_loss_of_an_edge_is_that_of_the_observed_score():
    rows = table(4)
    learner = learned(rows)
    frame = learner.network_.to_frame()
    assert len(frame)
    for a, b, loss in zip(frame["parent"], frame["child"], frame["score_loss"], strict=True):
        others = [(c, d) for c, d in learner.dag_.edges if (c, d) != (a, b)]
        parents = [sum(1 << c for c, d in others if d == x) for x in range(5)]
        known = incomplete_rows(rows)
        found = estimate(known, parents, saturated(known, 1e-4), tolerance=1e-8)
        cost = math.log(150) / 2 * (len(others) + 10)
        score = found.log_likelihood - known.log_units() - cost
        assert loss == pytest.approx(learner.network_score_ - score, abs=0.02)


def test_a_table_without_holes_is_fitted_as_always():
    rows = correlated_rows(5, 100, np.random.default_rng(0))
    with_em = learned(rows)
    assert_same_bits(with_em, GaussianBNLearner().fit(rows))
    assert with_em.is_optimal_
    assert not hasattr(with_em, "candidates_")


# The search


def solution_of(rows, **settings):
    scores = LocalScores._from_sample(Sample(rows, may_miss=True), BIC())
    m = rows.shape[1]
    problem = problem_of(scores, read_constraints(scores.columns, max_parents=m - 1))
    (solution,) = solve(problem, Resources.of_machine(None, n_jobs=1), **settings)
    return solution


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(s, marks=pytest.mark.slow) for s in range(3, 10))]
)
def test_the_score_never_falls(seed):
    scores = solution_of(table(seed, m=8, n=120, share=0.35)).em.scores
    assert (np.diff(scores) > -1e-9).all()


def classes(m):
    """A network of each equivalence class, as tuples of parents."""
    return list({reference.equivalence_class(p): p for p in reference.all_dags(m)}.values())


def best_observed_score(rows):
    """The highest score of all classes, each by its own EM from the saturated model."""
    known = incomplete_rows(rows)
    begin = saturated(known, 1e-4)
    n, m = rows.shape
    found = []
    for parents in classes(m):
        masks = [sum(1 << p for p in each) for each in parents]
        own = estimate(known, masks, begin, tolerance=1e-7)
        cost = math.log(n) / 2 * (sum(map(len, parents)) + 2 * m)
        found.append(own.log_likelihood - known.log_units() - cost)
    return max(found)


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(s, marks=pytest.mark.slow) for s in range(4, 30))]
)
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
    first = frame[frame["list"] == 0]["searched_score"]
    assert learner.n_iter_ >= (frame["list"].iloc[0] > 0)
    assert len(first) == 12


def test_an_order_search_has_one_network_a_list():
    learner = learned(table(8), search="order", random_state=0)
    assert (np.bincount(learner.candidates_["list"]) == 1).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skbn.exceptions.MaxParentsWarning")
def test_many_columns_with_few_parents():
    rng = np.random.default_rng(0)
    rows = with_holes(correlated_rows(32, 400, rng, 0.03), 0.1, rng)
    learner = learned(rows, max_parents=1)
    assert (np.bincount(learner.candidates_["list"]) == 1).all()  # no list fits
    assert learner.network_score_ == pytest.approx(observed_score(learner, rows), abs=1e-6)


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
    edges = sum(sizes[a] * sizes[b] for a, b in learner.dag_.edges)
    cost = math.log(len(rows)) / 2 * (edges + 1 + 2 * 4)  # an edge within site
    model = learner.network_._model()
    found = reference.observed_log_likelihood(rows, model.mean, model.covariance())
    assert learner.network_score_ == pytest.approx(found - cost, abs=1e-6)


def test_a_level_without_rows_is_left_out():
    frame = mixed_frame()
    frame["site"] = frame["site"].cat.add_categories(["far"])
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


def with_column(values, column=1):
    rows = table(12)
    rows[:, column] = values
    return rows


WITH_INFINITY, WITH_SUM, MIXED = table(12), table(14), mixed_frame()
WITH_INFINITY[3, 2] = np.inf
WITH_SUM = np.column_stack([WITH_SUM, WITH_SUM[:, 0] + WITH_SUM[:, 1]])
HALF = np.arange(200) < 100


@pytest.mark.parametrize(
    ("X", "settings", "message"),
    [
        (with_column(np.nan), {}, "Column 1 has no value: all 150 are missing"),
        (with_column([np.nan, 4.0] * 75), {}, "Column 1 has zero variance: all its observed .* 4"),
        (
            np.where(np.arange(150)[:, np.newaxis] < [75, 150, 0], table(m=3, share=0.0), np.nan),
            {},
            "Column 2 has no value",
        ),
        (WITH_INFINITY, {}, r"^X has infinite values in 1 of its 5 columns \(2\)"),
        (WITH_SUM, {}, r"Column 5 .* = 1 \* column 0 \+ 1 \* column 1 .* unbounded.* Leave out"),
        (
            MIXED.assign(site=MIXED["site"].where([False] * 200)),
            {"nodes": "auto"},
            "^Column 'site' has no value: all",
        ),
        (
            MIXED.assign(site=MIXED["site"].where(HALF), y=MIXED["y"].where(~HALF)),
            {"nodes": "auto"},
            "^Columns 'site' and 'y' are never observed together",
        ),
        (table(), {"missing": "drop"}, "missing"),
    ],
)
def test_what_is_refused(X, settings, message):
    raises(message, GaussianBNLearner(**{"missing": "em", **settings}).fit, X)


def test_tables_in_which_no_row_counts_are_told():
    with pytest.warns(MissingValuesWarning, match="60 of 60 rows"):  # noqa: SIM117
        with pytest.raises(ValueError, match="No row of X has both a value and a positive weight"):
            GaussianBNPosterior(missing="augment").fit(np.full((60, 3), np.nan))
    raises("No row of X has both a value and a positive weight", learned, np.full((60, 3), np.nan))
    with pytest.raises(ValueError, match="sample_weight is zero for all rows"):
        GaussianBNLearner(missing="em").fit(table(), sample_weight=np.zeros(150))


@pytest.mark.parametrize(
    "offset", [1e8, 3e14, *(pytest.param(x, marks=pytest.mark.slow) for x in (1e13, 1e14))]
)
def test_columns_far_from_zero_have_scores_up_to_the_rounding_of_their_means(offset):
    rows = table(12) + offset  # which rounds the values, too
    learner = learned(rows)
    off = np.ldexp(1.0, np.frexp(offset)[1] - 53)
    exact = learned(rows - offset)
    allowed = 1e-3 + 150 * 5 * 8 * off**2
    assert learner.network_score_ == pytest.approx(exact.network_score_, abs=allowed)


def test_only_rows_that_count_are_looked_at():
    rows = table(12)
    rows[1:, 1] = np.where(np.isnan(rows[1:, 1]), np.nan, 4.0)
    weight = np.ones(150)
    weight[0] = 0
    raises("1 has zero variance", GaussianBNLearner(missing="em").fit, rows, sample_weight=weight)
    rows[:, 1] = np.where(np.arange(150) < 1, 1.0, np.nan)
    with pytest.raises(ValueError, match="Column 1 has no value: all 149 are missing"):
        GaussianBNLearner(missing="em").fit(rows, sample_weight=weight)


def test_columns_that_are_never_seen_together_are_named():
    rows = table(13, share=0.0)
    rows[:75, 0] = np.nan
    rows[75:, 2] = np.nan
    raises(r"Columns 0 and 2 are never observed together.* Leave ", learned, rows)
    advice = "or forbid a learner both edges between them"
    raises(advice, learned, rows, forbidden_edges=[(0, 2)])
    with pytest.warns(MissingValuesWarning):
        learned(rows, forbidden_edges=[(0, 2), (2, 0)])
    rows[75:79, 2] = 1.0, 2.0, 4.0, -1.0
    message = "observed together in only 4 rows.*set max_parents to 2 or less"
    raises(message, learned, rows)
    with pytest.warns(MissingValuesWarning):
        learned(rows, max_parents=2)


def test_parts_of_rows_count_as_with_complete_tables():
    rows = table(13, share=0.0)
    rows[::7, 1] = np.nan
    message = r"together in only 5.12 rows, which is fewer"
    with pytest.warns(MissingValuesWarning, match=message):
        GaussianBNLearner(missing="em").fit(rows, sample_weight=np.full(150, 0.04))
    with pytest.raises(ValueError, match=r"rows of weight 0.15 for 5 columns, too few to tell"):
        GaussianBNLearner(missing="em").fit(rows, sample_weight=np.full(150, 0.001))


def test_near_optimal_classes_are_those_that_em_compared():
    rows = table()
    learner = learned(rows)
    with pytest.warns(ConvergenceWarning, match="has what structural EM compared"):
        near = learner.near_optimal(3)
    assert not near.is_proven
    assert "not proven" in repr(near)
    assert near[0].dag.edges == learner.dag_.edges
    expected = learner.candidates_["observed_score"][:3]
    np.testing.assert_allclose(near.scores, expected, atol=0.01)
    for network, score in zip(near, near.scores, strict=True):
        k = network.dag.number_of_edges()
        found = reference.observed_log_likelihood(rows, network.mean_, network.covariance_)
        assert score == pytest.approx(found - math.log(150) / 2 * (k + 10), abs=0.02)
    raises("compares equivalence classes", learner.near_optimal, 3, equivalence_classes=False)
    assert "missing=" in learner._shown_note()
    learner.missing = "error"
    learner.fit(correlated_rows(4, 50, np.random.default_rng(0)))
    assert learner.near_optimal(3).is_proven


def test_penalties_are_compared_by_what_is_observed():
    rows = table(21, m=4, n=90)
    folds = list(KFold(2, shuffle=True, random_state=0).split(rows))
    chosen = GaussianBNLearnerCV([1, 4], cv=folds, missing="em").fit(rows)
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
    learner = GaussianBNLearner(missing="em", n_candidates=5)
    bootstrap, again = (
        BootstrapBNLearner(learner, n_resamples=3, random_state=0, n_jobs=n_jobs).fit(rows)
        for n_jobs in (None, 2)
    )
    assert bootstrap.estimator_.network_score_ == learned(rows, n_candidates=5).network_score_
    np.testing.assert_array_equal(bootstrap.strength_, again.strength_)
    for other in (BootstrapBNLearner(GaussianBNLearner(), n_resamples=2), GaussianBNLearnerCV()):
        raises("missing values", other.fit, rows)


def test_a_resample_that_cannot_be_fitted_is_named():
    rows = table(15, share=0.0)
    rows[9:, 1] = np.nan
    bootstrap = BootstrapBNLearner(
        GaussianBNLearner(missing="em", n_candidates=3), n_resamples=20, random_state=0, n_jobs=1
    )
    with (
        pytest.warns(MissingValuesWarning),
        pytest.raises(ValueError, match=r"^Resample .* is collinear .* fail less often\.$"),
    ):
        bootstrap.fit(rows)


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
    learner = GaussianBNLearner().fit(scores)
    first = learned(rows).candidates_.query("list == 0")["searched_score"].max()
    assert learner.network_score_ == pytest.approx(first, rel=1e-12)
    frame = mixed_frame()
    frame["site"] = frame["site"].cat.add_categories(["far"])
    transformer = LocalScoreTransformer(missing="em", nodes="auto")
    of_nodes = transformer.fit_transform(frame)
    kept = transformer.local_scores_.local_score("y", ["site"])
    assert kept == of_nodes.local_score("y", ["site"])
    complete = correlated_rows(3, 40, np.random.default_rng(0))
    assert LocalScoreTransformer(missing="em").fit_transform(complete).sample.has_rows


# Holes in rows of weight 0, and the usual warnings


def named_table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)), columns=list("abcd"))


@pytest.mark.parametrize("missing", ["error", "em"])
@pytest.mark.parametrize("nodes", [None, "auto"])
def test_holes_in_rows_of_weight_0_do_not_count(missing, nodes):
    whole = named_table()
    if nodes:
        whole["site"] = np.random.default_rng(1).choice(["p", "q"], 60)
    holes, weight = whole.copy(), np.ones(60)
    holes.iloc[3, 1:] = holes.iloc[9, 2:] = None
    weight[[3, 9]] = 0
    learner = GaussianBNLearner(missing=missing, nodes=nodes)
    expected = learner.fit(whole.drop(index=[3, 9])).network_score_
    assert learner.fit(holes, sample_weight=weight).is_optimal_
    assert learner.network_score_ == pytest.approx(expected)
    weight[9] = 0.5
    if missing == "error":
        raises(r"missing|no value|NaN", learner.fit, holes, sample_weight=weight)
    else:
        assert not learner.fit(holes, sample_weight=weight).is_optimal_


@pytest.mark.parametrize("missing", ["error", "augment"])
def test_posteriors_ignore_holes_in_rows_of_weight_0(missing):
    whole, weight = named_table(), np.ones(60)
    holes = whole.copy()
    holes.iloc[3, 1] = np.nan
    weight[3] = 0
    posterior = GaussianBNPosterior("bge", missing=missing)
    expected = posterior.fit(whole.drop(index=3)).log_evidence_
    assert posterior.fit(holes, sample_weight=weight).log_evidence_ == pytest.approx(expected)


def awkward():
    """A 0/1 child and skewed residuals."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    flag = (x + rng.normal(size=400) > 0).astype(int)
    skewed = np.exp(2 * rng.normal(size=400))
    return pd.DataFrame({"x": x, "f": flag, "s": skewed, "z": x + flag + rng.normal(size=400)})


def kinds_of_warnings(estimator, X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X)
    assert all(each.filename == __file__ for each in caught)
    return [each.category for each in caught]


@pytest.mark.parametrize("share", [None, 0.1])
@pytest.mark.parametrize("search", ["exact", "order"])
def test_a_table_with_holes_gets_the_same_warnings(share, search):
    X = awkward()
    if share is None:
        X.loc[5, "x"] = np.nan
    else:
        X = X.mask(np.random.default_rng(1).random(X.shape) < share)
    learner = GaussianBNLearner(missing="em", tiers=[["x"], ["f", "s"], ["z"]], search=search)
    assert kinds_of_warnings(learner, X) == [DiscreteChildWarning, SkewedResidualsWarning]
    categories = X.assign(site=np.random.default_rng(2).choice(["p", "q", "r"], 400))
    learner = GaussianBNLearner(
        missing="em", nodes="auto", tiers=[["x", "site"], ["f", "s"], ["z"]]
    )
    assert kinds_of_warnings(learner, categories) == [DiscreteChildWarning, SkewedResidualsWarning]


def test_a_wide_category_is_named_whatever_the_holes():
    X = named_table().assign(id=[f"P{i}" for i in range(60)])
    X.loc[3, "a"] = X.loc[4, "c"] = np.nan
    for max_parents in (None, 1):
        with pytest.raises(ValueError, match="Column 'id' holds text, 60 different values"):
            GaussianBNLearner(nodes="auto", missing="em", max_parents=max_parents).fit(X)
    GaussianBNLearner(nodes="auto", missing="em").fit(X.drop(columns="id"))
    wide = X.assign(id=[f"P{i % 30}" for i in range(60)], p=[f"p{i % 29}" for i in range(60)])
    with pytest.raises(
        ValueError, match=r"Node 'id' alone has 30 levels.*nodes out, or set a lower max_parents\.$"
    ):
        GaussianBNLearner(nodes="auto", missing="em").fit(wide)
    with pytest.raises(
        ValueError, match=r"rows of weight 3 for 4 columns, too few .* Leave columns"
    ):
        GaussianBNLearner(missing="em").fit(named_table().mask(np.eye(60, 4) > 0)[:3])


@pytest.mark.parametrize("search", ["exact", "order"])
def test_a_time_limit_that_ends_in_the_first_step_leaves_an_answer(search):
    X = named_table().mask(np.random.default_rng(3).random((60, 4)) < 0.2)
    learner = GaussianBNLearner(missing="em", search=search, random_state=0)
    best = learner.fit(X).network_score_
    learner.set_params(time_limit=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(X)
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
    "kind", ["learner", *(pytest.param(k, marks=pytest.mark.slow) for k in ("nodes", "posterior"))]
)
@pytest.mark.filterwarnings("ignore::skbn.exceptions.ApproximateEvidenceWarning")
def test_all_degenerate_columns_with_holes_are_named_at_once(more, constant, collinear, kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd")).assign(**more)
    X = X.mask(rng.random(X.shape) < 0.1)
    estimator = GaussianBNLearner(missing="em")
    if kind == "nodes":
        X = X.assign(only="p", same="q", site=rng.choice(["p", "q"], 200))
        with pytest.raises(DegenerateColumnsError, match=r"'only' is .* 'same' is .* one level"):
            estimator.set_params(nodes="auto").fit(X)
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
    GaussianBNLearner(missing="em", max_parents=1).fit(X)
    raises("'total' = 1 ", GaussianBNLearner(missing="em").fit, X, kind=DegenerateColumnsError)
    collinear = X[["a", "b"]].assign(a2=2 * X["a"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        GaussianBNPosterior("bge", missing="augment", n_imputations=2, random_state=0).fit(
            collinear
        )


def test_after_the_time_limit_no_edge_has_an_em_of_its_own(monkeypatch):
    """What an edge loses is known from expected rows then: no less than EM finds."""
    rows = table()
    whole = learned(rows)
    n_estimates = []

    def counted(self, *args):
        n_estimates.append(1)
        return own(self, *args)

    own = IncompleteProblem.estimate
    monkeypatch.setattr(IncompleteProblem, "estimate", counted)
    with pytest.warns(ConvergenceWarning, match="time_limit ended structural EM"):
        ended = learned(rows, time_limit=1e-9)
    assert len(n_estimates) == 2  # the first candidate, coarsely and then to the tolerance
    by_em, expected = (
        each.network_.to_frame().set_index(["parent", "child"]).score_loss
        for each in (whole, ended)
    )
    assert by_em.index.equals(expected.index)
    assert (expected > by_em).all()

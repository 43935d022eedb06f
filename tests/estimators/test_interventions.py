"""Fits with interventions: by every route, and what is refused."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import reference
from agreement import assert_same_bits, raises
from experiment_tables import experiment
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbn import (
    BootstrapBNLearner,
    GaussianBayesianNetwork,
    GaussianBNLearner,
    GaussianBNLearnerCV,
    GaussianBNPosterior,
    LocalScoreTransformer,
    ParentSetScores,
)
from skbn._core.graphs import Dag
from skbn.exceptions import SkewedResidualsWarning

NAMES = list("abcd")
ROWS, IS_SET = experiment(4, [{0}, {1, 2}])
N = len(ROWS)
TABLE = pd.DataFrame(ROWS, columns=NAMES)
NAMED = [tuple(np.array(NAMES)[row]) or None for row in IS_SET]
FOLDS = KFold(3, shuffle=True, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    return GaussianBNLearner().fit(TABLE, interventions=IS_SET)


@pytest.mark.parametrize(
    "interventions",
    [NAMED, pd.DataFrame(IS_SET, columns=NAMES)[["c", "a", "b", "d"]], IS_SET.tolist()],
)
def test_forms_of_interventions(fitted, interventions):
    scores = LocalScoreTransformer().fit_transform(TABLE)
    made = LocalScoreTransformer().fit_transform(TABLE, interventions=interventions)
    for X, given in ((TABLE, interventions), (scores, interventions), (made, None), (made, IS_SET)):
        assert_same_bits(GaussianBNLearner().fit(X, interventions=given), fitted)


def test_targets_and_fixed_edges(fitted):
    assert fitted.targets_ == [("a",), ("b", "c")]
    parents = tuple(tuple(fitted.network_.dag.predecessors(x)) for x in NAMES)
    targets = [{"a"}, {"b", "c"}]
    for x, node in enumerate(NAMES):
        for parent in parents[x]:
            apart = any((node in target) != (parent in target) for target in targets)
            assert fitted.network_.dag.edges[parent, node].get("fixed", False) == apart
    assert GaussianBNLearner().fit(TABLE, interventions=IS_SET).fit(TABLE).targets_ == []
    assert GaussianBNLearner().fit(TABLE, interventions=[None] * N).targets_ == []
    network = fitted.network_
    found = network.cpdag(knowledge=False, targets=fitted.targets_)
    assert [*found.edges(data="undirected")] == [*network.cpdag().edges(data="undirected")]


@pytest.mark.parametrize("nothing", [[None] * N, np.zeros((N, 4), bool), [()] * N])
def test_no_intervention_changes_no_bit(nothing):
    plain = GaussianBNLearner().fit(TABLE)
    assert_same_bits(GaussianBNLearner().fit(TABLE, interventions=nothing), plain)
    few = GaussianBNLearner(max_parents=2).fit(TABLE)
    assert_same_bits(GaussianBNLearner(max_parents=2).fit(TABLE, interventions=nothing), few)


def test_searches_of_other_kinds(fitted, tmp_path):
    for settings in ({"scratch": str(tmp_path)}, {"n_jobs": 1}, {"n_jobs": 2}):
        assert_same_bits(GaussianBNLearner(**settings).fit(TABLE, interventions=IS_SET), fitted)
    for most in (2, None):
        exact, order = (
            GaussianBNLearner(search=search, max_parents=most, random_state=0)
            for search in ("exact", "order")
        )
        best = exact.fit(TABLE, interventions=IS_SET).network_score_
        found = order.fit(TABLE, interventions=IS_SET).network_score_
        assert found == pytest.approx(best)


# What is refused


def set_but(n, column=0):
    """The first column was set in all rows but n."""
    is_set = np.zeros((N, 4), dtype=bool)
    is_set[n:, column] = True
    return is_set


@pytest.mark.parametrize("kind", [GaussianBNLearner, GaussianBNPosterior, LocalScoreTransformer])
def test_a_column_that_was_set_in_all_rows(kind):
    estimator = kind()
    fit = getattr(estimator, "fit_transform", estimator.fit)

    def use(interventions, **given):
        found = fit(TABLE, interventions=interventions, **given)
        return found.to_array() if kind is LocalScoreTransformer else found

    for n, rows in ((0, "all 75 rows"), (1, "all but 1 of the 75 rows")):
        raises(rf"\['a'\] in {rows}.*exogenous=\['a'\]", use, set_but(n))
    raises(r"\['a', 'b', 'c', 'd'\] in all 75 rows", use, np.ones((N, 4), dtype=bool))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_too_few_rows(n):
    with pytest.raises(ValueError, match=rf"In the {n} rows in which \['a'\] was not set"):
        GaussianBNLearner().fit(TABLE, interventions=set_but(n))
    # The criterion has a prior.
    GaussianBNLearner("bge").fit(TABLE, interventions=set_but(n))
    GaussianBNLearner(exogenous=["a"]).fit(TABLE, interventions=set_but(n))


def test_rows_of_weight_0_do_not_count():
    weight = np.where(IS_SET[:, 0], 1.0, 0.0)
    with pytest.raises(ValueError, match=r"In the 50 rows in which \['a'\] was not set.*weight"):
        GaussianBNLearner().fit(TABLE, sample_weight=weight, interventions=IS_SET)


def test_a_column_that_is_constant_in_the_rows_of_another():
    table = TABLE.assign(b=np.where(IS_SET[:, 0], TABLE["b"], 1.0))
    with pytest.raises(ValueError, match=r"'a'.* was not set.*Column 'b' has zero variance"):
        GaussianBNLearner().fit(table, interventions=IS_SET & [True, False, False, False])


def test_missing_values():
    table = TABLE.mask((ROWS > 3) & ~IS_SET)
    scores = LocalScoreTransformer(missing="em").fit_transform(table, interventions=IS_SET)
    assert sorted(nodes for nodes, _ in scores.sample.groups) == [[0], [1, 2], [3]]
    later = LocalScoreTransformer(missing="em").fit(TABLE).transform(table, interventions=IS_SET)
    assert later.local_score("a", ["b"]) == scores.local_score("a", ["b"])
    raises("missing", GaussianBNLearner().fit, table, interventions=IS_SET)


def test_scores_and_tables_that_cannot_have_interventions(fitted):
    listed = ParentSetScores(NAMES, [([[-1]], [0.0])] * 4)
    with pytest.raises(TypeError, match="interventions need rows; ParentSetScores have none"):
        GaussianBNLearner().fit(listed, interventions=IS_SET)
    summary = LocalScoreTransformer().fit(TABLE).local_scores_
    raises("have no rows", GaussianBNLearner().fit, summary, kind=TypeError, interventions=IS_SET)
    made = LocalScoreTransformer().fit_transform(TABLE, interventions=IS_SET)
    with pytest.raises(TypeError, match=r"X\.compute\(\)"):
        GaussianBNLearner().fit(da.from_array(ROWS), interventions=IS_SET)
    raises("There is no column 'x'", GaussianBNLearner().fit, TABLE, interventions=["x"] * N)
    assert "4 columns" in repr(made)


def test_scores_without_rows():
    # Columns that are exogenous may have been set, also in all rows.
    everywhere = IS_SET | [False, False, False, True]
    cases = {None: IS_SET, ("a",): IS_SET, ("d",): everywhere, ("a", "d"): everywhere}
    for exogenous, is_set in (cases | {("a", "b", "c"): IS_SET}).items():
        learner = GaussianBNLearner(exogenous=exogenous)
        expected = clone(learner).fit(TABLE, interventions=is_set)
        kept = LocalScoreTransformer().fit(TABLE, interventions=is_set).local_scores_
        found = learner.fit(kept)
        assert found.network_score_ == pytest.approx(expected.network_score_)
        assert found.targets_ == expected.targets_
        assert {*found.dag_.edges} == {*expected.dag_.edges}
        raises("no rows that say which values were set", expected.score, kept)
    assert found.targets_ == []


def test_rows_of_scores_with_interventions(fitted):
    made = LocalScoreTransformer().fit_transform(TABLE, interventions=IS_SET)
    expected = [fitted.score(TABLE.iloc[[i]], interventions=IS_SET[[i]]) for i in range(N)]
    np.testing.assert_allclose(fitted.score_samples(made), expected)
    assert fitted.score(made) == pytest.approx(np.mean(expected))
    assert fitted.network_.score(made) == pytest.approx(np.mean(expected))
    network = GaussianBayesianNetwork(fitted.network_.dag).fit(made)
    np.testing.assert_allclose(network.coef_, fitted.network_.coef_)


# Warnings


def test_set_values_cause_no_warnings():
    rng = np.random.default_rng(0)
    n = 600
    a = rng.normal(size=n)
    b = a + rng.normal(size=n)
    c = b + rng.normal(size=n)
    is_set = np.zeros((n, 3), dtype=bool)
    is_set[:200, 1] = is_set[200:400, 2] = True
    b[:200] = rng.exponential(size=200) ** 3  # skewed where they were set
    c[:200] = b[:200] + rng.normal(size=200)
    c[200:400] = 5.0 * (rng.random(200) < 0.1)
    rows = np.column_stack([a, b, c])
    GaussianBNLearner().fit(rows, interventions=is_set)
    # Nor do few rows say how a residual is skewed.
    is_set[:, 1] = True
    is_set[400:420, 1] = False
    rows[419, 1] = 90.0
    is_set[419, 2] = True
    GaussianBNLearner().fit(rows, interventions=is_set)
    is_set[420:460, 1] = False
    with pytest.warns(SkewedResidualsWarning, match=r"'?1'? \(skewness"):
        GaussianBNLearner().fit(rows, interventions=is_set)


# Cross-validation and routing


def held_out(learner):
    return [learner.cv_results_[f"split{i}_test_score"].tolist() for i in range(3)]


def test_held_out_likelihoods_do_not_count_set_values():
    penalties = [0.5, 2.0]
    expected = []
    for train, test in FOLDS.split(ROWS):
        of_fold = []
        for penalty in penalties:
            learner = GaussianBNLearner(penalty=penalty)
            learner.fit(TABLE.iloc[train], interventions=IS_SET[train])
            of_fold.append(learner.score(TABLE.iloc[test], interventions=IS_SET[test]))
        expected.append(of_fold)
    scores = LocalScoreTransformer().fit_transform(TABLE, interventions=IS_SET)
    found = GaussianBNLearnerCV(penalties, cv=FOLDS).fit(scores)
    np.testing.assert_allclose(held_out(found), expected, rtol=1e-9)
    assert found.targets_ == [("a",), ("b", "c")]
    table = GaussianBNLearnerCV(penalties, cv=FOLDS).fit(TABLE, interventions=NAMED)
    np.testing.assert_allclose(held_out(table), expected, rtol=1e-9)
    for i, penalty in enumerate(penalties):
        of_folds = cross_val_score(GaussianBNLearner(), scores.with_penalty(penalty), cv=FOLDS)
        np.testing.assert_allclose(of_folds, [each[i] for each in expected], rtol=1e-9)
    with config_context(enable_metadata_routing=True):
        learner = GaussianBNLearner().set_fit_request(interventions=True)
        grid = GridSearchCV(
            learner.set_score_request(interventions=True), {"penalty": penalties}, cv=FOLDS
        )
        for interventions in (IS_SET, NAMED, pd.DataFrame(IS_SET, columns=NAMES)):
            grid.fit(TABLE, interventions=interventions)
            np.testing.assert_allclose(held_out(grid), expected, rtol=1e-9)


def test_categories_that_were_set_are_held_out():
    codes = np.searchsorted([-0.7, 0.7], ROWS[:, 1])
    table = TABLE.assign(b=pd.Categorical(codes))
    scores = LocalScoreTransformer(nodes="auto").fit_transform(table, interventions=IS_SET)
    found = GaussianBNLearnerCV([1.0, 2.0], cv=FOLDS).fit(scores)
    train, test = next(FOLDS.split(ROWS))
    learner = GaussianBNLearner(nodes="auto").fit(table.iloc[train], interventions=IS_SET[train])
    expected = learner.score(table.iloc[test], interventions=IS_SET[test])
    assert held_out(found)[0][0] == pytest.approx(expected)


def test_pipelines(fitted):
    piped = make_pipeline(LocalScoreTransformer(), GaussianBNLearner())
    for step in ("localscoretransformer", "gaussianbnlearner"):
        piped.fit(TABLE, **{f"{step}__interventions": NAMED})
        assert_same_bits(piped[-1], fitted)
    scaled = make_pipeline(StandardScaler().set_output(transform="pandas"), GaussianBNLearner())
    scaled.fit(TABLE, gaussianbnlearner__interventions=NAMED)
    assert {*scaled[-1].dag_.edges} == {*fitted.dag_.edges}
    with config_context(enable_metadata_routing=True):
        transformer = LocalScoreTransformer().set_transform_request(interventions=True)
        learner = GaussianBNLearner().set_fit_request(interventions=False)
        piped = make_pipeline(transformer, learner.set_score_request(interventions=True))
        piped.fit(TABLE, interventions=NAMED)
        assert_same_bits(piped[-1], fitted)


# Resamples


def test_resamples_take_rows_with_their_interventions(fitted):
    bootstrap = BootstrapBNLearner(n_resamples=8, random_state=0).fit(TABLE, interventions=NAMED)
    scores = LocalScoreTransformer().fit_transform(TABLE, interventions=IS_SET)
    for X, given, n_jobs in ((scores, None, None), (TABLE, IS_SET, 1), (TABLE, IS_SET, 2)):
        again = clone(bootstrap).set_params(n_jobs=n_jobs).fit(X, interventions=given)
        np.testing.assert_array_equal(again.edge_support_, bootstrap.edge_support_)


def test_the_averaged_network_has_the_estimates_of_the_rows_that_count():
    bootstrap = BootstrapBNLearner(n_resamples=8, random_state=0).fit(TABLE, interventions=NAMED)
    dag = bootstrap.network_.dag
    assert dag.number_of_edges() > 1
    for x, node in enumerate(NAMES):
        parents = [*dag.predecessors(node)]
        own = ROWS[~IS_SET[:, x]]
        intercept, coef, rss = reference.regression(own, x, [NAMES.index(p) for p in parents])
        assert dag.nodes[node]["intercept"] == pytest.approx(intercept)
        assert dag.nodes[node]["noise_variance"] == pytest.approx(rss / len(own))
        weights = [dag.edges[parent, node]["weight"] for parent in parents]
        np.testing.assert_allclose(weights, coef)
    told_apart = [
        sum(
            1 << i
            for i, p in enumerate(NAMES)
            if dag.has_edge(p, node) and (IS_SET[:, x] != IS_SET[:, i]).any()
        )
        for x, node in enumerate(NAMES)
    ]
    assert Dag.from_networkx(dag).fixed == told_apart


def test_resamples_within_conditions():
    is_set = np.zeros((N, 4), dtype=bool)
    is_set[7:, 0] = True  # resamples of all rows often have too few of the others
    settings = {"n_resamples": 20, "random_state": 0}
    with pytest.raises(ValueError, match=r"Resample .* In the 7 rows in which \['a'\] was not set"):
        BootstrapBNLearner(GaussianBNLearner(), **settings).fit(TABLE, interventions=is_set)
    half = BootstrapBNLearner(GaussianBNLearner(), replace=False, sample_fraction=0.8, **settings)
    half.fit(TABLE, interventions=is_set, stratify=is_set[:, 0])
    assert half.network_.nodes == NAMES

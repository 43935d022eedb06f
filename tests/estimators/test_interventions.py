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

import skbn
from skbn import BootstrapBNLearner, GaussianBNLearner, GaussianBNLearnerCV, LocalScoreTransformer
from skbn._core.graphs import Dag
from skbn.exceptions import SkewedResidualsWarning

NAMES = list("abcd")
ROWS, IS_SET = experiment(4, [{0}, {1, 2}])
N = len(ROWS)
TABLE = pd.DataFrame(ROWS, columns=NAMES)
NAMED = [tuple(np.array(NAMES)[row]) or None for row in IS_SET]
FOLDS = KFold(3, shuffle=True, random_state=0)


def learned(X=TABLE, interventions=IS_SET, **settings):
    return GaussianBNLearner(**settings).fit(X, interventions=interventions)


def scores_of(X=TABLE, interventions=IS_SET, **settings):
    return LocalScoreTransformer(**settings).fit_transform(X, interventions=interventions)


@pytest.fixture(scope="module")
def fitted():
    return learned()


@pytest.mark.parametrize(
    "interventions",
    [NAMED, pd.DataFrame(IS_SET, columns=NAMES)[["c", "a", "b", "d"]], IS_SET.tolist()],
)
def test_forms_of_interventions(fitted, interventions):
    scores, made = scores_of(interventions=None), scores_of(interventions=interventions)
    for X, given in ((TABLE, interventions), (scores, interventions), (made, None), (made, IS_SET)):
        assert_same_bits(learned(X, given), fitted)


def test_targets_and_fixed_edges(fitted):
    assert fitted.targets_ == [("a",), ("b", "c")]
    for parent, node, fixed in fitted.network_.dag.edges(data="fixed", default=False):
        apart = any((node in target) != (parent in target) for target in fitted.targets_)
        assert fixed == apart
    assert learned().fit(TABLE).targets_ == []
    assert learned(interventions=[None] * N).targets_ == []
    network = fitted.network_
    found = network.cpdag(knowledge=False, targets=fitted.targets_)
    assert [*found.edges(data="undirected")] == [*network.cpdag().edges(data="undirected")]


@pytest.mark.parametrize("nothing", [[None] * N, np.zeros((N, 4), bool), [()] * N])
def test_no_intervention_changes_no_bit(nothing):
    for most in (None, 2):
        plain = GaussianBNLearner(max_parents=most).fit(TABLE)
        assert_same_bits(learned(interventions=nothing, max_parents=most), plain)


def test_searches_of_other_kinds(fitted, tmp_path):
    for settings in ({"scratch": str(tmp_path)}, {"n_jobs": 1}, {"n_jobs": 2}):
        assert_same_bits(learned(**settings), fitted)
    for most in (2, None):
        order = learned(search="order", max_parents=most, random_state=0)
        assert order.network_score_ == pytest.approx(learned(max_parents=most).network_score_)


# What is refused


def set_but(n, column=0):
    """The first column was set in all rows but n."""
    is_set = np.zeros((N, 4), dtype=bool)
    is_set[n:, column] = True
    return is_set


@pytest.mark.parametrize(
    "kind", [GaussianBNLearner, skbn.GaussianBNPosterior, LocalScoreTransformer]
)
def test_a_column_that_was_set_in_all_rows(kind):
    def use(interventions):
        found = getattr(kind(), "fit_transform", kind().fit)(TABLE, interventions=interventions)
        return found.to_array() if kind is LocalScoreTransformer else found

    for n, rows in ((0, "all 75 rows"), (1, "all but 1 of the 75 rows")):
        raises(rf"\['a'\] in {rows}.*exogenous=\['a'\]", use, set_but(n))
    raises(r"\['a', 'b', 'c', 'd'\] in all 75 rows", use, np.ones((N, 4), dtype=bool))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_too_few_rows(n):
    message = rf"In the {n} rows in which \['a'\] was not set"
    raises(message, learned, interventions=set_but(n))
    learned(interventions=set_but(n), criterion="bge")  # which has a prior
    learned(interventions=set_but(n), exogenous=["a"])


def test_rows_of_weight_0_do_not_count():
    weight = np.where(IS_SET[:, 0], 1.0, 0.0)
    message, given = (
        r"In the 50 rows in which \['a'\] was not set.*weight",
        {"sample_weight": weight},
    )
    raises(message, GaussianBNLearner().fit, TABLE, interventions=IS_SET, **given)


def test_a_column_that_is_constant_in_the_rows_of_another():
    table = TABLE.assign(b=np.where(IS_SET[:, 0], TABLE["b"], 1.0))
    message = r"'a'.* was not set.*Column 'b' has zero variance"
    raises(message, learned, table, IS_SET & [True, False, False, False])


def test_missing_values():
    table = TABLE.mask((ROWS > 3) & ~IS_SET)
    scores = scores_of(table, missing="em")
    assert sorted(nodes for nodes, _ in scores.sample.groups) == [[0], [1, 2], [3]]
    later = LocalScoreTransformer(missing="em").fit(TABLE).transform(table, interventions=IS_SET)
    assert later.local_score("a", ["b"]) == scores.local_score("a", ["b"])
    raises("missing", learned, table)


def test_scores_and_tables_that_cannot_have_interventions():
    listed = skbn.ParentSetScores(NAMES, [([[-1]], [0.0])] * 4)
    raises("interventions need rows; ParentSetScores have none", learned, listed, kind=TypeError)
    summary = LocalScoreTransformer().fit(TABLE).local_scores_
    raises("have no rows", learned, summary, kind=TypeError)
    raises(r"X\.compute\(\)", learned, da.from_array(ROWS), kind=TypeError)
    raises("There is no column 'x'", learned, interventions=["x"] * N)
    assert "4 columns" in repr(scores_of())


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
    made = scores_of()
    expected = [fitted.score(TABLE.iloc[[i]], interventions=IS_SET[[i]]) for i in range(N)]
    np.testing.assert_allclose(fitted.score_samples(made), expected)
    assert fitted.score(made) == pytest.approx(np.mean(expected))
    assert fitted.network_.score(made) == pytest.approx(np.mean(expected))
    network = skbn.GaussianBayesianNetwork(fitted.network_.dag).fit(made)
    np.testing.assert_allclose(network.coef_, fitted.network_.coef_)


# Warnings


def test_set_values_cause_no_warnings():
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 600)).cumsum(axis=0)
    is_set = np.zeros((600, 3), dtype=bool)
    is_set[:200, 1] = is_set[200:400, 2] = True
    b[:200] = rng.exponential(size=200) ** 3  # skewed where they were set
    c[:200] = b[:200] + rng.normal(size=200)
    c[200:400] = 5.0 * (rng.random(200) < 0.1)
    rows = np.column_stack([a, b, c])
    learned(rows, is_set)
    # Nor do few rows say how a residual is skewed.
    is_set[:, 1] = True
    is_set[400:420, 1] = False
    rows[419, 1] = 90.0
    is_set[419, 2] = True
    learned(rows, is_set)
    is_set[420:460, 1] = False
    with pytest.warns(SkewedResidualsWarning, match=r"'?1'? \(skewness"):
        learned(rows, is_set)


# Cross-validation and routing


def held_out(learner):
    return [learner.cv_results_[f"split{i}_test_score"].tolist() for i in range(3)]


def test_held_out_likelihoods_do_not_count_set_values():
    penalties, expected = [0.5, 2.0], []
    for train, test in FOLDS.split(ROWS):
        learners = [learned(TABLE.iloc[train], IS_SET[train], penalty=p) for p in penalties]
        test, given = TABLE.iloc[test], {"interventions": IS_SET[test]}
        expected.append([learner.score(test, **given) for learner in learners])
    scores = scores_of()
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
        learner.set_score_request(interventions=True)
        grid = GridSearchCV(learner, {"penalty": penalties}, cv=FOLDS)
        for interventions in (IS_SET, NAMED, pd.DataFrame(IS_SET, columns=NAMES)):
            grid.fit(TABLE, interventions=interventions)
            np.testing.assert_allclose(held_out(grid), expected, rtol=1e-9)


def test_categories_that_were_set_are_held_out():
    codes = np.searchsorted([-0.7, 0.7], ROWS[:, 1])
    table = TABLE.assign(b=pd.Categorical(codes))
    scores = scores_of(table, nodes="auto")
    found = GaussianBNLearnerCV([1.0, 2.0], cv=FOLDS).fit(scores)
    train, test = next(FOLDS.split(ROWS))
    learner = learned(table.iloc[train], IS_SET[train], nodes="auto")
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


def test_resamples_take_rows_with_their_interventions():
    bootstrap = BootstrapBNLearner(n_resamples=8, random_state=0).fit(TABLE, interventions=NAMED)
    for X, given, n_jobs in ((scores_of(), None, None), (TABLE, IS_SET, 1), (TABLE, IS_SET, 2)):
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
    told_apart = [0] * 4
    for parent, node in dag.edges:
        i, x = NAMES.index(parent), NAMES.index(node)
        told_apart[x] |= (IS_SET[:, x] != IS_SET[:, i]).any() << i
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

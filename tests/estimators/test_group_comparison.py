"""compare_groups: against single fits, enumeration, and regressions of statsmodels' kind."""

from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from agreement import raises
from reference.networks import all_dags, families
from reference.posterior import sums_over
from scipy.stats import t
from sklearn.datasets import load_wine

import skbn
from skbn import BGe, GaussianBNLearner, GaussianBNPosterior, LocalScoreTransformer, compare_groups
from skbn.exceptions import ApproximateEvidenceWarning

COLUMNS = ["alcohol", "color_intensity", "flavanoids", "hue"]


@pytest.fixture(scope="module")
def wines():
    data = load_wine(as_frame=True)
    return data.data[COLUMNS], data.target


def null_table(rng, m=5, n=200):
    coef = np.triu(rng.normal(size=(m, m)) * 0.6 * (rng.random((m, m)) < 0.4), 1)
    return rng.normal(size=(n, m)) @ np.linalg.inv(np.eye(m) - coef), rng.random(n) < 0.4


def test_answers_are_those_of_all_networks(wines):
    table, target = wines
    comparison = compare_groups(table, target)
    rows = table / table.std(ddof=0)
    criterion = BGe(nu=rows.mean().tolist())

    def evidence(*tables):
        scores = [LocalScoreTransformer(criterion).fit_transform(each) for each in tables]
        local = {f: sum(each.local_score(*f) for each in scores) for f in families(4)}
        return sums_over(all_dags(4), local)[0]

    groups = [rows[target == label] for label in range(3)]
    expected = evidence(rows), evidence(*groups), sum(map(evidence, groups))
    np.testing.assert_allclose([*comparison.answers.values()], expected, atol=1e-7)
    assert comparison.kind == "log evidence"
    assert comparison.n_rows == {0: 59, 1: 71, 2: 48}
    assert comparison.n_tests == 12 * 3


def test_scores_of_best_networks(wines):
    table, target = wines
    comparison = compare_groups(table, target, GaussianBNLearner("bic"))
    scores = [LocalScoreTransformer().fit_transform(table[target == k]) for k in range(3)]
    best = [GaussianBNLearner().fit(X).network_score_ for X in (table, sum(scores), *scores)]
    expected = best[0], best[1], sum(best[2:])
    np.testing.assert_allclose([*comparison.answers.values()], expected, atol=1e-8)
    assert "joined" not in comparison.to_frame()


def test_differences_are_those_of_regressions(wines):
    table, target = wines
    comparison = compare_groups(table, target, level=0.9)
    frame = comparison.to_frame()
    assert frame["is_edge"].sum() == 3 * comparison.structure.dag.number_of_edges()
    for _, row in frame.iterrows():
        others = list(comparison.structure.dag.predecessors(row["child"]))
        others += [row["parent"]] * (not row["is_edge"])
        found = []
        for label in (row["group"], row["other"]):
            own = table[target == label]
            X = np.column_stack([np.ones(len(own)), own[others]])
            beta = np.linalg.lstsq(X, own[row["child"]])[0]
            freedom = len(X) - X.shape[1]
            noise = ((own[row["child"]] - X @ beta) ** 2).sum() / freedom
            at = 1 + others.index(row["parent"])
            found.append((beta[at], np.linalg.inv(X.T @ X)[at, at] * noise, freedom))
        (a, va, fa), (b, vb, fb) = found
        assert row["weight"] == pytest.approx(a)
        assert row["difference"] == pytest.approx(a - b)
        freedom, error = min(fa, fb), np.sqrt(va + vb)
        margin = t.ppf(1 - 0.1 / (2 * comparison.n_tests), freedom) * error
        assert row["high"] - row["low"] == pytest.approx(2 * margin)
        p_value = 2 * t.sf(abs(a - b) / error, freedom) * comparison.n_tests
        assert row["p_value"] == pytest.approx(min(1, p_value))
        assert row["differs"] == (p_value < 0.1)
        if row["is_edge"]:
            edges = comparison.networks[row["group"]].dag.edges
            assert edges[row["parent"], row["child"]]["weight"] == pytest.approx(a)


def test_joined_columns_have_the_probabilities_of_posteriors(wines):
    table, target = wines
    rows = target > 0
    frame = compare_groups(table[rows], target[rows]).to_frame()
    standardised = table[rows] / table[rows].std(ddof=0)
    prior = BGe(nu=standardised.mean().tolist())
    for label, name in ((1, "joined_in_group"), (2, "joined_in_other")):
        own = GaussianBNPosterior(prior).fit(standardised[target[rows] == label])
        joined = own.edge_probabilities_ + own.edge_probabilities_.T
        for _, row in frame.iterrows():
            i, j = COLUMNS.index(row["parent"]), COLUMNS.index(row["child"])
            assert row[name] == pytest.approx(joined[i, j], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [None, GaussianBNLearner()])
def test_null_tables_have_no_more_differences_than_the_level(estimator):
    rng = np.random.default_rng(0)
    n_called = 0
    for _ in range(200):
        X, groups = null_table(rng)
        n_called += bool(compare_groups(X, groups, estimator).to_frame()["differs"].any())
    assert n_called <= 10


def test_a_planted_difference_is_found():
    rng = np.random.default_rng(0)
    X, groups = null_table(rng, n=400)
    X[:, 4] = rng.normal(size=400) + np.where(groups, 1.0, -1.0) * X[:, 0]
    comparison = compare_groups(X, groups)
    frame = comparison.to_frame()
    differs = frame[frame["differs"]]
    assert len(differs) >= 1
    assert set(zip(differs["parent"], differs["child"], strict=True)) <= {(0, 4), (4, 0)}
    assert max(comparison.answers, key=comparison.answers.get) == "one structure"
    display = comparison.plot()
    assert display.marked.sum() == len(differs)
    assert f"{len(differs)} of" in repr(comparison)


def test_groups_of_categories(wines):
    table, target = wines
    table = table.assign(hue=pd.qcut(table["hue"], 3, labels=["low", "middle", "high"]))
    posterior = GaussianBNPosterior("bic", nodes="auto", max_parents=2)
    with pytest.warns(ApproximateEvidenceWarning):
        comparison = compare_groups(table[target > 0], target[target > 0], posterior)
    frame = comparison.to_frame()
    with_hue = (frame["parent"] == "hue") | (frame["child"] == "hue")
    assert frame["difference"].isna().equals(with_hue)
    assert not frame["differs"][with_hue].any()


def experiment(seed, holes=0.0):
    """Rows of two groups, in some of which column 1 was set; means and one weight differ."""
    rng = np.random.default_rng(seed)
    is_set, groups = np.zeros((300, 3), dtype=bool), np.arange(300) % 2
    is_set[:, 1] = rng.random(300) < 0.3
    a = rng.normal(size=300) + groups
    b = np.where(is_set[:, 1], 2 * rng.normal(size=300), a * (0.3 + groups) + rng.normal(size=300))
    rows = np.column_stack([a, b, 0.8 * b + rng.normal(size=300) - groups])
    rows[(rng.random(rows.shape) < holes) & ~is_set] = np.nan
    return rows, is_set, groups


@pytest.mark.filterwarnings("ignore::skbn.exceptions.MissingValuesWarning")
@pytest.mark.parametrize("holes", [0.0, 0.15])
def test_experiments_are_compared_by_the_rows_that_count(holes):
    rows, is_set, groups = experiment(0, holes)
    learner = GaussianBNLearner(missing="em" if holes else "error")
    found = compare_groups(rows, groups, learner, interventions=is_set)
    assert {*found.structure.dag.edges} == {(0, 1), (1, 2)}
    frame = found.to_frame()
    differing = frame[frame["differs"]]
    assert differing[["parent", "child"]].values.tolist() == [[0, 1]]
    assert -1.5 < differing["difference"].item() < -0.5
    for label in (0, 1):
        own = skbn.GaussianBayesianNetwork(found.structure.dag)
        own.fit(rows[groups == label], interventions=is_set[groups == label])
        np.testing.assert_allclose(found.networks[label].coef_, own.coef_)


@pytest.mark.filterwarnings("ignore::skbn.exceptions.MissingValuesWarning")
def test_one_structure_with_holes_is_the_best_of_all():
    rows, _, groups = experiment(1)
    rows[np.random.default_rng(0).random(rows.shape) < 0.2] = np.nan
    found = compare_groups(rows, groups, GaussianBNLearner(missing="em"))
    totals = []
    for parents in all_dags(3):
        edges = {(p, c) for c, own in enumerate(parents) for p in own}
        others = [pair for pair in permutations(range(3), 2) if pair not in edges]
        fixed = GaussianBNLearner(missing="em", required_edges=[*edges], forbidden_edges=others)
        totals.append(sum(fixed.fit(rows[groups == k]).network_score_ for k in (0, 1)))
    assert found.answers["one structure"] == pytest.approx(max(totals), abs=1e-4)
    own = [GaussianBNLearner(missing="em").fit(rows[groups == k]).network_score_ for k in (0, 1)]
    assert found.answers["own structures"] == pytest.approx(sum(own))


def test_holes_that_say_nothing_change_no_difference():
    rows, _, groups = experiment(2)
    alone = np.array([[0.5, np.nan, np.nan], [1.0, np.nan, np.nan]])  # of a column without parents
    learner = GaussianBNLearner(missing="em")
    found = compare_groups(np.vstack([rows, alone]), [*groups, 0, 1], learner)
    expected = compare_groups(rows, groups, GaussianBNLearner())
    names = ["parent", "child", "difference", "low", "high", "p_value"]
    edges = expected.to_frame().query("is_edge")[names]
    assert {*found.structure.dag.edges} == {(0, 1), (1, 2)}
    pd.testing.assert_frame_equal(found.to_frame()[names], edges.reset_index(drop=True), rtol=0.02)


def test_what_cannot_be_compared_is_refused(wines):
    table, target = wines
    holes = table.mask(np.eye(*table.shape, dtype=bool))
    augmented = GaussianBNPosterior(missing="augment")
    advice = r'or pass GaussianBNLearner\(missing="em"\)'
    raises(advice, compare_groups, holes, target, augmented)
    raises("value for each of the 178 rows", compare_groups, table, [0, 1])
    raises("two groups or more", compare_groups, table, np.zeros(178))
    raises("missing value for row 0", compare_groups, table, [None, *target[1:]])
    raises("must be a GaussianBNPosterior", compare_groups, table, target, BGe(), kind=TypeError)
    raises("level must be", compare_groups, table, target, level=95)
    labels = np.where(np.arange(178) < 3, "few", "many")
    raises("rows of group 'few'", compare_groups, table, labels, GaussianBNLearner())
    raises("groups='x' is neither a column of X", compare_groups, table, "x")


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame])
def test_groups_of_a_column(wines, container):
    table, target = wines
    labels = np.array(["x", "y", "z"])[target]
    found = compare_groups(container(table.assign(kind=labels)), "kind", GaussianBNLearner())
    expected = compare_groups(table, labels, GaussianBNLearner())
    pd.testing.assert_frame_equal(found.to_frame(), expected.to_frame())
    order = ["z", "x", "unused", "y"]
    kinds = pd.Series(pd.Categorical(labels, order), table.index)
    if container is pl.DataFrame:
        kinds = pl.Series(labels).cast(pl.Enum(order))
    assert compare_groups(table, kinds, GaussianBNLearner()).groups == ["z", "x", "y"]


def test_few_rows_have_evidence_and_no_coefficients(wines):
    table, _ = wines
    labels = np.repeat(["few", "more", "most"], [3, 75, 100])
    found = compare_groups(table, labels)
    rows = table / table.std(ddof=0)
    bge = GaussianBNPosterior(BGe(nu=rows.mean().tolist()))
    own = [bge.fit(rows[labels == label]).log_evidence_ for label in found.groups]
    assert found.answers["own structures"] == pytest.approx(sum(own))
    assert [*found.networks] == ["more", "most"]
    frame = found.to_frame()
    assert (frame["difference"].isna() == (frame[["group", "other"]] == "few").any(axis=1)).all()
    pairs = compare_groups(table[3:], labels[3:]).n_tests
    assert found.n_tests == pairs == 12
    assert "none are known of few" in str(found)
    few = compare_groups(table, labels == "few")
    assert few.n_tests == 0
    raises("no differences to draw", few.plot)

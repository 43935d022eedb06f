"""Warnings of a fit: where a statistician raises a hand, and what to do that then works."""

import ast
import re
import warnings
from collections import Counter
from itertools import permutations, product

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from agreement import warned_by
from numpy.testing import assert_allclose
from scipy.stats import skew
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler

import skbn
from skbn import GaussianBNLearner, GaussianBNLearnerCV, LocalScoreTransformer, ParentSetScores
from skbn._core.graphs import parent_masks
from skbn._networks import diagnostics
from skbn._networks.diagnostics import gains_of_one_more_parent
from skbn.datasets import make_gaussian_network
from skbn.exceptions import DiscreteChildWarning, MaxParentsWarning, SkewedResidualsWarning

scored = LocalScoreTransformer().fit_transform
CONTAINERS = {
    "frame": lambda table: table,
    "array": lambda table: table.to_numpy(),
    "polars": pl.DataFrame,
    "pyarrow": pa.Table.from_pandas,
    "standardised": StandardScaler().set_output(transform="pandas").fit_transform,
    "local scores": scored,
    "local scores of an array": lambda table: scored(table.to_numpy()),
}


def warnings_of(learner, X, **params):
    """Fit, and return the messages of the warnings by their kinds, of which each comes once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # It is not about the data.
        warnings.simplefilter("ignore", skbn.exceptions.PenaltyRangeWarning)
        learner.fit(X, **params)
    kinds = [each.category for each in caught]
    assert len(set(kinds)) == len(kinds)
    return {each.category: str(each.message) for each in caught}


def follow(message, learner):
    """Add to exogenous what a message advises to."""
    (names,) = re.findall(r"by adding (\[.*\]) to exogenous, or leave", message)
    learner.set_params(exogenous=[*(learner.exogenous or []), *ast.literal_eval(names)])


def effects(n=200, seed=0):
    """Causes x and y, and two columns of few values that depend on them."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, n))
    grade = np.digitize(y + 0.5 * rng.normal(size=n), [-0.7, 0.7]) + 1
    is_high = x + 0.5 * rng.normal(size=n) > 0
    return pd.DataFrame({"x": x, "is_high": is_high, "grade": grade, "y": y})


def categories(n=300, seed=0):
    """The dummies of a category of four, each but the first, and what depends on it."""
    rng = np.random.default_rng(seed)
    category = rng.integers(4, size=n)
    table = pd.DataFrame({f"is_{k}": (category == k).astype(float) for k in (1, 2, 3)})
    return table.assign(y=category + rng.normal(size=n), z=rng.normal(size=n))


def lognormal(n=200, seed=0):
    """A chain of three Gaussian columns, of which the exponential functions are observed."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = a + rng.normal(size=n)
    return pd.DataFrame(np.exp(np.c_[a, b, b + rng.normal(size=n)]), columns=list("abc"))


# Few values


@pytest.mark.parametrize("container", CONTAINERS)
def test_children_of_few_values_are_named_and_the_remedy_works(container):
    X = CONTAINERS[container](effects())
    causes, names = ([0, 3], [1, 2]) if "array" in container else ("xy", ["is_high", "grade"])
    learner = GaussianBNLearner(tiers=[[*causes], names])
    (message,) = warnings_of(learner, X).values()
    assert f"{names[0]!r} (2 values), {names[1]!r} (3 values)" in message
    follow(message, learner.set_params(tiers=None))
    assert warnings_of(learner, X) == {}
    assert set(learner.dag_.nodes) == set(learner.network_.nodes)


def test_causes_of_few_values_are_fine_however_rare():
    rng = np.random.default_rng(0)
    treated, is_rare = rng.integers(2, size=500), rng.random(500) < 0.05
    y = 2 * treated + 3 * is_rare + rng.normal(size=500)
    table = np.column_stack([treated, is_rare, y, y + rng.normal(size=500)])
    learner = GaussianBNLearner(tiers=[[0, 1], [2, 3]])
    assert warnings_of(learner, table) == {}
    assert set(learner.dag_.predecessors(2)) == {0, 1}


def test_counts_of_five_values_and_tables_of_few_rows_are_let_pass():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    count = np.clip(np.round(x + 2 + 0.3 * rng.normal(size=300)), 0, 4)
    assert len(np.unique(count)) == 5
    assert warnings_of(GaussianBNLearner(), np.c_[x, count]) == {}
    assert warnings_of(GaussianBNLearner(), [[0, 0], [1, 2], [2, 5], [3, 5]]) == {}


def test_values_that_come_late_are_counted():
    x = np.random.default_rng(0).normal(size=10_000)
    x = x[np.argsort(np.abs(x), kind="stable")]
    table, learner = np.c_[x, np.round(x)], GaussianBNLearner(tiers=[[0], [1]])
    assert len(np.unique(table[:5000, 1])) == 3  # of some nine values
    assert warnings_of(learner, table) == {}
    assert "1 (3 values)" in warnings_of(learner, table[:5000])[DiscreteChildWarning]


# Dummies


@pytest.mark.parametrize("container", CONTAINERS)
def test_dummies_of_one_category_are_named_and_the_remedy_works(container):
    X = CONTAINERS[container](categories())
    learner = GaussianBNLearner()
    message = warnings_of(learner, X)[skbn.exceptions.DummyEdgeWarning]
    assert f"3 columns {learner.network_.nodes[:3]}" in message
    follow(message, learner)
    assert warnings_of(learner, X) == {}  # nor that a dummy is the child of another column


@pytest.mark.parametrize("learner", [GaussianBNLearner(), GaussianBNLearnerCV([1], cv=3)])
@pytest.mark.parametrize("is_reversed", [False, True])
def test_remedies_add_to_each_other_and_to_what_is_forbidden_already(learner, is_reversed):
    table = categories(200).drop(columns=["y", "z"]).join(effects(200))
    known = [("x", "y"), ("y", "x")]
    learner = clone(learner).set_params(forbidden_edges=known)
    found = warnings_of(learner, table)
    assert found.keys() == {skbn.exceptions.DummyEdgeWarning, DiscreteChildWarning}
    for message in sorted(found.values(), reverse=is_reversed):
        follow(message, learner)
    assert warnings_of(learner, table) == {}
    assert learner.forbidden_edges == known
    assert {*learner.exogenous} == {"is_1", "is_2", "is_3", "is_high"}


def test_two_categories_are_told_apart():
    first, second = (categories(1000, seed)[["is_1", "is_2", "is_3"]] for seed in (0, 1))
    table = first.join(second.rename(columns=lambda name: name.replace("is", "has")))
    dummies = list(table)
    table["y"] = np.random.default_rng(2).normal(size=len(table))
    learner = GaussianBNLearner()
    message = warnings_of(learner, table)[skbn.exceptions.DummyEdgeWarning]
    assert f"3 columns {dummies[:3]}, and 3 columns {dummies[3:]}" in message
    follow(message, learner)
    assert learner.exogenous == dummies
    (message,) = warnings_of(learner.set_params(exogenous=None), first).values()
    assert "exogenous" not in message  # columns are left to model
    first.loc[0] = 1.0  # columns that share a row are no dummies
    assert set(warnings_of(learner, first[["is_1", "is_2"]])) == {DiscreteChildWarning}


# Skewness


def test_skewness_is_that_of_the_residuals():
    table = load_breast_cancer(as_frame=True).data.iloc[:, 10:15]
    learner = GaussianBNLearner()
    message = warnings_of(learner, table)[SkewedResidualsWarning]
    residuals = learner.network_.residuals(table)
    for column, expected in zip(table, skew(residuals), strict=True):
        assert (f"{column!r} (skewness {expected:.1f})" in message) == (abs(expected) > 2)


@pytest.mark.parametrize(
    "table", [lognormal(), load_breast_cancer(as_frame=True).data.iloc[:, 8:18]]
)
def test_a_power_transformer_is_a_remedy(table):
    message = warnings_of(GaussianBNLearner(), table)[SkewedResidualsWarning]
    (code,) = re.findall(r"put sklearn\.preprocessing\.(.*) before the learner", message)
    transformer = eval(code, {"PowerTransformer": PowerTransformer})
    pipeline = make_pipeline(transformer, GaussianBNLearner())
    assert warnings_of(pipeline, table) == {}
    assert pipeline[-1].network_.nodes == list(table)
    message = warnings_of(GaussianBNLearner(), table.to_numpy())[SkewedResidualsWarning]
    assert "sklearn.preprocessing.PowerTransformer() before" in message  # which keeps an array


def test_skewness_that_comes_from_a_skewed_parent_is_not_the_childs():
    rng = np.random.default_rng(0)
    cause = np.exp(rng.normal(size=500))
    table = pd.DataFrame({"cause": cause, "effect": cause + 0.1 * rng.normal(size=500)})
    assert skew(table["effect"]) > 2
    learner = GaussianBNLearner(required_edges=[("cause", "effect")])
    message = warnings_of(learner, table)[SkewedResidualsWarning]
    assert re.findall("'(cause|effect)' ", message) == ["cause"]


def test_an_effect_that_is_not_linear_is_told_from_a_skewed_column():
    """The diabetes data's s2 was computed from s1, s3 and the exponential function of s5."""
    table = load_diabetes(as_frame=True).data.drop(columns="sex")
    learner = GaussianBNLearner()
    message = warnings_of(learner, table)[SkewedResidualsWarning]
    assert "Take the logarithms" not in message
    (code,) = re.findall(r"skbn\.ResidualsDisplay\.from_estimator\(.*?\)", message)
    display = eval(code, {"skbn": skbn, "learner": learner, "X": table})
    assert display.columns == ["s2"]
    assert "plot the same columns of learner.network_.residuals(X) against each of their" in message
    residual = learner.network_.residuals(table)["s2"]

    def bend(x):
        return abs(np.corrcoef((x - x.mean()) ** 2, residual)[0, 1])

    assert max(learner.dag_.predecessors("s2"), key=lambda p: bend(table[p])) == "s5"
    assert bend(table["s5"]) > 0.9
    assert bend(table["s2"] - residual) < 0.1  # what the display shows


@pytest.mark.parametrize("n_rows", [20, 200])
def test_gaussian_tables_get_no_warning(n_rows):
    rng = np.random.default_rng(n_rows)
    for _ in range(20):
        mixed = rng.normal(size=(n_rows, 5)) @ rng.normal(size=(5, 5))
        assert warnings_of(GaussianBNLearner(), mixed) == {}
        weight = rng.lognormal(0, 2, 100)  # a few heavy rows are no reason to warn
        rows, weight = rng.normal(size=(100, 5)), weight / weight.mean()
        assert warnings_of(GaussianBNLearner(), rows, sample_weight=weight) == {}


# Which rows, and whom it is told


def test_weights_count_as_repeats():
    table = categories(100).join(effects(100).drop(columns="y")).join(lognormal(100))
    times = np.random.default_rng(5).integers(0, 3, size=100)
    repeated = table.loc[np.repeat(table.index, times)]
    expected = warnings_of(GaussianBNLearner(max_parents=3), repeated)
    assert len(expected) == 3
    learner = GaussianBNLearner(max_parents=3)
    assert warnings_of(learner, table, sample_weight=times) == expected


def test_a_learner_that_cross_validates_looks_at_all_rows_once():
    table = categories().join(lognormal(300))
    learner = GaussianBNLearnerCV([1], cv=3)
    found = warnings_of(learner, table)
    assert found == warnings_of(GaussianBNLearner(penalty=learner.penalty_), table)
    assert {skbn.exceptions.DummyEdgeWarning, SkewedResidualsWarning} <= set(found)


def test_without_rows_nothing_is_said(tmp_path):
    table = categories().join(lognormal(300))
    scored(table).to_jkl(tmp_path / "scores.jkl")
    scores = ParentSetScores.from_jkl(tmp_path / "scores.jkl")
    chunks = LocalScoreTransformer().partial_fit(table[:100]).partial_fit(table[100:])
    learner = GaussianBNLearner().fit(chunks.local_scores_)
    assert learner.network_.nodes == list(table)
    assert GaussianBNLearner().fit(scores).dag_.number_of_edges() > 0


@pytest.mark.parametrize("learner", [GaussianBNLearner(), GaussianBNLearnerCV([1], cv=2)])
def test_a_warning_points_to_the_line_that_fits(learner):
    with pytest.warns(SkewedResidualsWarning) as caught:
        learner.fit(lognormal())
    assert {each.filename for each in caught} == {__file__}


def test_a_search_over_folds_warns_once_of_each_kind(monkeypatch):
    monkeypatch.setattr(diagnostics, "_told_of_folds", set())
    table = effects(300).join(lognormal(300))
    search = GridSearchCV(GaussianBNLearner(), {"max_parents": [1, 2, 3]}, cv=5)
    caught = warned_by(search.fit, table)
    told = [(each.category, "in a fold of a search" in str(each.message)) for each in caught]
    told = Counter(each for each in told if issubclass(each[0], skbn.exceptions.DataWarning))
    # Once for the folds, and once for the table, with names.
    assert told == dict.fromkeys(product([DiscreteChildWarning, SkewedResidualsWarning], [0, 1]), 1)
    assert (
        "Columns have strongly skewed residuals, in a fold of a search. Fit the learner to the "
        "table to see which."
    ) in [str(each.message) for each in caught]


# The warning that `max_parents` costs much of the score, against regressions one by one


MESSAGE = re.compile(
    r"(\d+) of the (\d+) columns have as many parents as max_parents=(\d+) allows\. With one more "
    r"parent for each, and no other change, the score would be up to (\S+) nats higher\."
)


@pytest.fixture(scope="module")
def rows():
    return make_gaussian_network(9, mean_degree=5, n_samples=300, random_state=2)[0]


def expected_gains(rows, criterion, dag, children, settings, weight=None):
    """The best gain of each child, from scores of families of any size, one after the other."""
    transformer, gains = LocalScoreTransformer(criterion, **settings), []
    scores = transformer.fit_transform(rows, sample_weight=weight)
    for x in children:
        parents = list(dag.predecessors(x))
        further = set(dag) - {x, *parents, *nx.descendants(dag, x)}
        own = scores.local_score(x, parents)
        gains.append(max((scores.local_score(x, [*parents, z]) - own for z in further), default=0))
    return gains


@pytest.mark.parametrize(
    ("criterion", "settings"),
    [
        ("bic", {}),
        ("bic", {"penalty": 0.5}),
        ("ebic", {}),
        ("bge", {}),
        (skbn.BGe(alpha_mu=0.1), {}),
    ],
)
@pytest.mark.parametrize("weight", [None, np.linspace(0.4, 1.6, 300)])
@pytest.mark.parametrize("max_parents", [1, 2])
def test_the_warning_has_the_gains_of_regressions(rows, criterion, settings, weight, max_parents):
    rows = rows * 2.0 ** np.arange(9)  # the units matter to BGe
    learner = GaussianBNLearner(criterion, max_parents=max_parents, **settings)
    with pytest.warns(MaxParentsWarning) as caught:
        learner.fit(rows, sample_weight=weight)
    assert [warning.filename for warning in caught] == [__file__]
    full = [x for x in range(9) if learner.dag_.in_degree(x) == max_parents]
    gains = expected_gains(rows, criterion, learner.dag_, full, settings, weight)
    *counts, gain = MESSAGE.match(str(caught[0].message)).groups()
    assert [*map(int, counts)] == [len(full), 9, max_parents]
    assert float(gain) == pytest.approx(sum(max(each, 0) for each in gains), rel=6e-3)


def gains_of_any_parent(learner, scores):
    masks, m = parent_masks(learner.dag_), len(learner.dag_)
    return gains_of_one_more_parent(scores.scorer, masks, [(1 << m) - 1] * m, list(range(m)))


def test_each_gain_is_that_of_a_single_regression(rows):
    learner = GaussianBNLearner(penalty=8).fit(rows)
    gains = gains_of_any_parent(learner, scored(rows))
    expected = expected_gains(rows, "bic", learner.dag_, range(9), {})
    has_further = gains > -np.inf
    assert has_further.sum() >= 6
    assert_allclose(gains[has_further], np.array(expected)[has_further], atol=1e-9)


def test_only_parents_that_the_constraints_allow_count(rows):
    learner = GaussianBNLearner(max_parents=1)
    with pytest.warns(MaxParentsWarning):
        learner.fit(rows)
    kept = set(learner.dag_.edges)
    others = {*permutations(range(9), 2)} - kept
    assert not warned_by(learner.set_params(forbidden_edges=[*others]).fit, rows)
    assert set(learner.dag_.edges) == kept


@pytest.mark.parametrize("max_parents", [None, 0, 8])
def test_without_a_limit_there_is_no_warning(rows, max_parents):
    assert not warned_by(GaussianBNLearner("aic", max_parents=max_parents).fit, rows)


@pytest.mark.parametrize(("m", "fewest"), [(8, 3), (30, 3), (31, 4), (40, 4)])
def test_few_columns_at_the_limit_get_no_warning(m, fewest):
    rows = np.random.default_rng(0).normal(size=(300, m))
    for n_children in (fewest - 1, fewest):
        table = rows.copy()
        table[:, 2 : 2 + n_children] += table[:, :1] + table[:, 1:2]  # of which one is allowed
        learner = GaussianBNLearner(max_parents=1, tiers=[[x] for x in range(m)], penalty=4)
        caught = warned_by(learner.fit, table)
        assert sum(degree == 1 for _, degree in learner.dag_.in_degree) == n_children
        assert len(caught) == (n_children == fewest)


def test_small_gains_get_no_warning():
    rows = np.random.default_rng(0).normal(size=(300, 4))
    rows[:, 1:] += rows[:, :1]  # all three have one parent, and no more
    learner = GaussianBNLearner(max_parents=1)
    assert not warned_by(learner.fit, rows)
    assert sum(degree == 1 for _, degree in learner.dag_.in_degree) == 3


@pytest.mark.parametrize("search", ["exact", "order"])
def test_the_limit_of_local_scores_counts(rows, search):
    scores = LocalScoreTransformer(max_parents=2).fit_transform(rows[:, :5])
    learner = GaussianBNLearner(search=search, random_state=0)
    with pytest.warns(MaxParentsWarning, match=r"as many parents as max_parents=2 allows"):
        learner.fit(scores)
    cv = GaussianBNLearnerCV([1], cv=2, search=search, random_state=0)
    with pytest.warns(MaxParentsWarning) as caught:  # of all rows, not of the folds
        cv.fit(scores)
    of_limit = [each.filename for each in caught if each.category is MaxParentsWarning]
    assert of_limit == [__file__]


def test_resamples_do_not_warn(rows):
    learner = GaussianBNLearnerCV([1], cv=2, max_parents=1)
    with pytest.warns(MaxParentsWarning) as caught:
        skbn.BootstrapBNLearner(learner, n_resamples=3, random_state=0).fit(rows)
    assert len(caught) == 1


def test_listed_families_do_not_warn():
    families = [([[-1], [1]], [0.0, 9.0]), ([[-1], [2]], [0.0, 9.0]), ([[-1], [3]], [0.0, 9.0])]
    scores = ParentSetScores([*"abcd"], [*families, ([[-1]], [0.0])])
    learner = GaussianBNLearner(max_parents=1)
    assert not warned_by(learner.fit, scores)
    assert learner.dag_.number_of_edges() == 3


def test_columns_that_depend_on_the_family_promise_nothing():
    """With one parent, a column may be the sum of two others; with both it has no residual."""
    rows = np.random.default_rng(0).normal(size=(100, 6))
    rows[:, 2] = rows[:, 0] + rows[:, 1]
    rows[:, 5] = rows[:, 3] + rows[:, 4]
    learner = GaussianBNLearner(max_parents=1)
    assert not warned_by(learner.fit, rows)
    scores = LocalScoreTransformer(max_parents=1).fit_transform(rows)
    assert gains_of_any_parent(learner, scores).max() < 10

"""Holes in rows of weight 0 do not count, and tables with holes get the usual warnings."""

import warnings

import numpy as np
import pandas as pd
import pytest

from skbn import GaussianBNLearner, GaussianBNPosterior
from skbn.exceptions import DegenerateColumnsError, DiscreteChildWarning, SkewedResidualsWarning


def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)), columns=list("abcd"))


@pytest.mark.parametrize("missing", ["error", "em"])
@pytest.mark.parametrize("nodes", [None, "auto"])
def test_holes_in_rows_of_weight_0_do_not_count(missing, nodes):
    whole = table()
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
        with pytest.raises(ValueError, match=r"missing|no value|NaN"):
            learner.fit(holes, sample_weight=weight)
    else:
        assert not learner.fit(holes, sample_weight=weight).is_optimal_


@pytest.mark.parametrize("missing", ["error", "augment"])
def test_posteriors_ignore_holes_in_rows_of_weight_0(missing):
    whole, weight = table(), np.ones(60)
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
    X = table().assign(id=[f"P{i}" for i in range(60)])
    X.loc[3, "a"] = X.loc[4, "c"] = np.nan
    for max_parents in (None, 1):
        with pytest.raises(ValueError, match="Node 'id' alone has 60 levels"):
            GaussianBNLearner(nodes="auto", missing="em", max_parents=max_parents).fit(X)
    GaussianBNLearner(nodes="auto", missing="em").fit(X.drop(columns="id"))
    wide = X.assign(id=[f"P{i % 35}" for i in range(60)], p=[f"p{i % 34}" for i in range(60)])
    with pytest.raises(
        ValueError, match=r"Node 'id' alone has 35 levels.*nodes out, or set a lower max_parents\.$"
    ):
        GaussianBNLearner(nodes="auto", missing="em").fit(wide)
    with pytest.raises(
        ValueError, match=r"rows of weight 3 for 4 columns, too few .* Leave columns"
    ):
        GaussianBNLearner(missing="em").fit(table().mask(np.eye(60, 4) > 0)[:3])


@pytest.mark.parametrize("search", ["exact", "order"])
def test_a_time_limit_that_ends_in_the_first_step_leaves_an_answer(search):
    X = table().mask(np.random.default_rng(3).random((60, 4)) < 0.2)
    learner = GaussianBNLearner(missing="em", search=search, random_state=0)
    best = learner.fit(X).network_score_
    learner.set_params(time_limit=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(X)
    assert not learner.is_optimal_
    assert learner.network_score_ <= best + 1e-6


def test_copies_with_holes_are_named_with_their_partners():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd"))
    X = X.assign(a2=2 * X["a"] + 3, b2=-X["b"]).mask(rng.random((200, 6)) < 0.1)
    with pytest.raises(DegenerateColumnsError, match=r"'a2' = 2 \* 'a' \+ const.*'b'") as refused:
        GaussianBNLearner(missing="em").fit(X)
    assert refused.value.columns == ["a2", "b2"]
    GaussianBNLearner(missing="em").fit(X.drop(columns=refused.value.columns))
    with pytest.raises(DegenerateColumnsError, match="have zero variance") as refused:
        GaussianBNLearner(missing="em").fit(X.assign(u=1.0, v=2.0))
    assert refused.value.constant_columns == ["u", "v"]


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
@pytest.mark.parametrize("kind", ["learner", "nodes", "posterior"])
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
    with pytest.raises(DegenerateColumnsError, match="'total' = 1 "):
        GaussianBNLearner(missing="em").fit(X)
    collinear = X[["a", "b"]].assign(a2=2 * X["a"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        GaussianBNPosterior("bge", missing="augment", n_imputations=2, random_state=0).fit(
            collinear
        )

"""All constant and redundant columns are named in one error, and a table without them is fitted."""

import pickle

import numpy as np
import pandas as pd
import pytest

from skbn import BootstrapBNLearner, GaussianBNLearner, GaussianBNPosterior, LocalScoreTransformer
from skbn.exceptions import DegenerateColumnsError


def degenerate(n=120):
    """Eight columns that vary freely, two constants, a copy, a sum and an average of all."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(n, 8)), columns=list("abcdefgh"))
    return frame.assign(
        zero=0.0, third=1 / 3, copy=2 * frame["a"] + 3, total=frame["b"] + frame["c"], again=1.0
    ).assign(average=frame.mean(axis=1))


def refusal(fit, table):
    with pytest.raises(DegenerateColumnsError) as refused:
        fit(table)
    return refused.value


@pytest.mark.filterwarnings("ignore::skbn.exceptions.ApproximateEvidenceWarning")
@pytest.mark.parametrize(
    ("fit", "collinear"),
    [
        (GaussianBNLearner().fit, ["copy", "total", "average"]),
        (GaussianBNLearner(max_parents=2).fit, ["copy", "total"]),
        (GaussianBNLearner(max_parents=1).fit, ["copy"]),
        (GaussianBNLearner(search="order").fit, ["copy", "total", "average"]),
        (GaussianBNPosterior("bic").fit, ["copy", "total", "average"]),
        (
            lambda X: BootstrapBNLearner(n_resamples=2, random_state=0).fit(X),
            ["copy", "total", "average"],
        ),
        (
            lambda X: LocalScoreTransformer().fit_transform(X).log_determinants,
            ["copy", "total", "average"],
        ),
    ],
)
def test_one_error_names_all(fit, collinear):
    table = degenerate()
    error = refusal(fit, table)
    assert error.constant_columns == ["zero", "third", "again"]
    assert error.collinear_columns == collinear
    assert all(repr(name) in str(error) for name in error.columns)
    assert len(str(error)) < 1000
    fit(table.drop(columns=error.columns))


def test_long_equations_and_lists_are_cut_short():
    rows = np.random.default_rng(0).normal(size=(100, 30))
    rows = np.column_stack([rows, rows @ np.ones((30, 8)) + rows[:, :8]])
    error = refusal(GaussianBNLearner(search="order").fit, rows)
    assert error.collinear_columns == list(range(30, 38))
    assert "+ 25 more terms + constant" in str(error)
    assert "; and 3 more. " in str(error)
    assert len(str(error)) < 1500


def test_columns_by_which_a_pair_far_apart_depends_need_a_limit():
    table = degenerate()[list("abcdefgh")].assign(total=lambda t: t.sum(axis=1))
    table["copy"] = -table["total"]  # of a column that depends on too many for a family
    error = refusal(GaussianBNLearner(max_parents=2).fit, table)
    assert error.columns == ["copy"]
    GaussianBNLearner(max_parents=2).fit(table.drop(columns="copy"))


def test_categories_are_named_by_their_columns():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(90, 2)), columns=["x", "y"])
    table["site"] = pd.Categorical(rng.choice(list("pqr"), 90), categories=list("pqr"))
    table = table.assign(region=table["site"].cat.rename_categories(list("PQR")), two=4.0)
    table = table.assign(flag=(table["site"] == "q").astype(float), u=0.5, v=0.25)
    table["state"] = pd.Categorical(["only"] * 90, categories=["only", "none"])
    learner = GaussianBNLearner(
        nodes={
            "uv": ["u", "v"],
            **{c: [c] for c in ["x", "y", "site", "region", "state", "two", "flag"]},
        }
    )
    error = refusal(learner.fit, table)
    assert error.collinear_columns == ["region", "flag"]
    assert {*error.constant_columns} == {"two", "state", "u", "v"}
    learner = GaussianBNLearner(nodes="auto")
    learner.fit(table.drop(columns=error.columns))


def test_groups_of_rows_with_interventions_are_named_together():
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd"))
    is_set = np.zeros((80, 4), bool)
    is_set[:40, 0] = is_set[40:, 1] = True
    table.loc[40:, "c"] = 1.0  # constant in the rows that count for a
    table["d"] = np.where(np.arange(80) < 40, 2.0, table["d"])  # and for b
    set_in = pd.DataFrame(is_set, columns=table.columns)
    learner = GaussianBNLearner()
    error = refusal(lambda X: learner.fit(X, interventions=set_in), table)
    assert error.columns == ["c", "d"]
    left = table.drop(columns=error.columns)
    learner.fit(left, interventions=set_in[left.columns])


def test_the_error_can_be_pickled():
    error = refusal(GaussianBNLearner().fit, degenerate())
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.columns) == (str(error), error.columns)

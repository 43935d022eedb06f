"""What holds for every estimator: weights, kinds of tables, what is told, and fits that fail."""

import re
from itertools import product

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from recording_callbacks import Recorder, needs_callbacks
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import skbn
from skbn.datasets import make_gaussian_network

pytestmark = pytest.mark.filterwarnings("ignore")

TABLE = pd.DataFrame(make_gaussian_network(4, n_samples=60, random_state=1)[0], columns=[*"abcd"])
HOLES = TABLE.mask(np.arange(240).reshape(60, 4) % 50 == 0)
TARGET = TABLE["a"] + np.random.default_rng(0).normal(size=60)
PAIR = {"ab": ["a", "b"], "c": ["c"], "d": ["d"]}


# Each with a function late in its fit, by whose failure much is done already.
ESTIMATORS = {
    "learner": (skbn.GaussianBNLearner, {}, "_estimators.fitting.warn_about_data"),
    "EM": (skbn.GaussianBNLearner, {"missing": "em"}, "_estimators.fitting.warn_about_data"),
    "order": (
        skbn.GaussianBNLearner,
        {"search": "order", "random_state": 0},
        "_estimators.fitting.network_of",
    ),
    "CV": (skbn.GaussianBNLearnerCV, {"cv": 2}, "_estimators.fitting.warn_about_data"),
    "posterior": (skbn.GaussianBNPosterior, {}, "_posterior.answers.median_network"),
    "sampling": (
        skbn.GaussianBNPosterior,
        {"method": "sampling", "n_samples": 100, "n_chains": 2, "random_state": 0},
        "_posterior.answers.median_network",
    ),
    "augment": (
        skbn.GaussianBNPosterior,
        {"missing": "augment", "n_imputations": 2, "random_state": 0},
        "_posterior.answers.median_network",
    ),
    "bootstrap": (
        skbn.BootstrapBNLearner,
        {"n_resamples": 3, "random_state": 0},
        "_estimators.bootstrap.edge_support",
    ),
    "scores": (skbn.LocalScoreTransformer, {}, "_estimators.transformer.make_scores"),
    "first chunk": (skbn.LocalScoreTransformer, {}, "_estimators.transformer.make_scores"),
    "second chunk": (skbn.LocalScoreTransformer, {}, "_estimators.transformer.make_scores"),
    "selector": (skbn.MarkovBlanketSelector, {}, "_estimators.markov_blanket_selector._partial_r2"),
    "imputer": (skbn.GaussianBNImputer, {}, "_estimators.fitting.warn_about_data"),
    "network": (
        skbn.GaussianBayesianNetwork,
        {"dag": nx.DiGraph([("a", "b"), ("b", "c"), ("b", "d")])},
        "_core.graphs.graph_contents",
    ),
    "blocks": (None, {}, "_core.graphs.graph_contents"),
}
WITH_TEXT = TABLE.astype(object)
WITH_TEXT.iloc[3, 1] = "n.d."
TABLES = {
    "text": WITH_TEXT,
    "infinite": TABLE.assign(a=np.inf),
    "no row": TABLE[:0],
    "other columns": TABLE[["a"]].assign(z=["x", "y"] * 30),
    "copied": TABLE.assign(b=TABLE["a"]),
    "not a table": 3,
}


def made(name, table):
    """Return an estimator that is not fitted, but for the network of blocks."""
    kind, settings, _ = ESTIMATORS[name]
    return kind(**settings) if kind else skbn.GaussianBNLearner(nodes=PAIR).fit(table).network_


def table_of(name):
    return HOLES if name in ("EM", "augment", "imputer") else TABLE


def fit(name, estimator, table, weight=None):
    if name == "selector":
        return estimator.fit(table, TARGET if weight is None else weight)
    return getattr(estimator, "partial_fit" if "chunk" in name else "fit")(
        table, sample_weight=weight
    )


def numbers(estimator):
    """Return the numbers of the network, or of the scores, that a fit found."""
    check_is_fitted(estimator)
    if isinstance(estimator, skbn.LocalScoreTransformer):
        return estimator.local_scores_.to_array()
    network = getattr(estimator, "median_network_", getattr(estimator, "network_", estimator))
    probabilities = getattr(estimator, "edge_probabilities_", np.zeros(0))
    return np.r_[nx.to_numpy_array(network.dag_).ravel(), network.mean_, probabilities.ravel()]


@pytest.mark.parametrize(
    "name", ["learner", "EM", "order", "posterior", "scores", "first chunk", "imputer", "network"]
)
def test_weights_are_repeated_rows(name):
    table, weight = table_of(name), np.random.default_rng(0).integers(0, 4, 60)
    weighted = numbers(fit(name, made(name, table), table, weight))
    repeated = numbers(fit(name, made(name, table), table.loc[table.index.repeat(weight)]))
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if "chunk" not in name])
def test_frames_are_arrays_with_names(name):
    table = table_of(name)
    found = [
        numbers(fit(name, made(name, table), each))
        for each in (table.to_numpy(), table, pl.from_pandas(table, nan_to_null=True))
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


@needs_callbacks
@pytest.mark.parametrize("name", ["learner", "order", "CV", "posterior", "sampling", "bootstrap"])
def test_progress_is_told_in_a_hundred_steps(name):
    recorder, estimator = Recorder(), made(name, TABLE)
    fit(name, estimator.set_callbacks(recorder), TABLE)
    kind = type(estimator).__name__
    own = [told for told in recorder.ended if told[0] == kind]
    assert own == [(kind, "percent of the search")] * 100 + [(kind, "fit")]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("learner", "4 columns"),
        ("EM", "list 1 of \\d+ rows: 30 candidates more, best observed score -"),
        ("order", ".*4 columns"),
        ("CV", "2 folds, 1 at a time"),
        ("posterior", "uniform prior, 4 columns: "),
        ("bootstrap", "3 resamples"),
    ],
)
def test_plans_are_printed_where_they_are_asked_for(name, line, capsys):
    table = table_of(name)
    estimator = fit(name, made(name, table), table)
    assert capsys.readouterr().out == ""
    fit(name, estimator.set_params(verbose=True), table)
    printed = capsys.readouterr().out
    assert re.match(rf"\[{type(estimator).__name__}\] {line}", printed), printed


@pytest.mark.parametrize(
    ("name", "failure"),
    [
        pytest.param(*case, marks=pytest.mark.slow)
        if case[0] in ("augment", "sampling", "imputer") and case[1] in TABLES
        else case
        for case in product(ESTIMATORS, [*TABLES, "weights", "memory", "Ctrl-C"])
    ],
)
def test_a_failed_refit_leaves_all_or_nothing(name, failure, monkeypatch):
    table = table_of(name)
    estimator = made(name, table)
    if name != "first chunk":
        fit(name, estimator, table)
        old = numbers(estimator)
    before = {**vars(estimator)}

    def fail(*_, **__):
        raise MemoryError("allocate 8 MB") if failure == "memory" else KeyboardInterrupt

    if failure in ("memory", "Ctrl-C"):
        monkeypatch.setattr(f"skbn.{ESTIMATORS[name][-1]}", fail)
    weight = [-1.0] * 59 + [np.inf] if failure == "weights" else None
    try:
        fit(name, estimator, TABLES.get(failure, table), weight)
    except (ValueError, TypeError, MemoryError, KeyboardInterrupt) as error:
        monkeypatch.undo()
        said = str(error)
    else:
        assert failure == "copied"  # which not all refuse
        return
    if failure == "memory" and name in ("learner", "CV", "scores"):
        assert "allocate 8 MB. Free some, leave out columns" in said
    if vars(estimator).keys() == estimator.get_params().keys():
        with pytest.raises(NotFittedError):
            numbers(estimator)
    else:
        assert vars(estimator).keys() == before.keys()
        assert all(vars(estimator)[key] is value for key, value in before.items())
        np.testing.assert_array_equal(numbers(estimator), old)

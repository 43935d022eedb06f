"""What holds for every estimator: weights, kinds of tables, what is told, and fits that fail."""

import re
from collections import Counter
from itertools import product

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from agreement import raises
from recording_callbacks import Recorder, needs_callbacks
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

import skbn
from skbn import BootstrapBNLearner, GaussianBNLearner, GaussianBNLearnerCV, GaussianBNPosterior
from skbn.datasets import make_gaussian_network

pytestmark = pytest.mark.filterwarnings("ignore")

TABLE = pd.DataFrame(make_gaussian_network(4, n_samples=60, random_state=1)[0], columns=[*"abcd"])
HOLES = TABLE.mask(np.arange(240).reshape(60, 4) % 50 == 0)
TARGET = TABLE["a"] + np.random.default_rng(0).normal(size=60)
PAIR = {"ab": ["a", "b"], "c": ["c"], "d": ["d"]}


# Each with a function late in its fit, by whose failure much is done already.
LEARNED, SUMMED = "_estimators.fitting.warn_about_data", "_posterior.answers.median_network"
SCORED, ESTIMATED = "_estimators.transformer.make_scores", "_networks.estimation.by_least_squares"
SAMPLING = GaussianBNPosterior(method="sampling", n_samples=100, n_chains=2, random_state=0)
AUGMENTING = GaussianBNPosterior(missing="augment", n_imputations=2, random_state=0)
DAG = nx.DiGraph([("a", "b"), ("b", "c"), ("b", "d")])
ESTIMATORS = {
    "learner": (GaussianBNLearner(), LEARNED),
    "non-Gaussian": (skbn.NonGaussianBNLearner(), LEARNED),
    "EM": (GaussianBNLearner(missing="em"), LEARNED),
    "order": (GaussianBNLearner(search="order", random_state=0), LEARNED),
    "CV": (GaussianBNLearnerCV(cv=2), LEARNED),
    "posterior": (GaussianBNPosterior(), SUMMED),
    "sampling": (SAMPLING, SUMMED),
    "augment": (AUGMENTING, SUMMED),
    "bootstrap": (
        BootstrapBNLearner(n_resamples=3, random_state=0),
        "_estimators.bootstrap.edge_support",
    ),
    "scores": (skbn.LocalScoreTransformer(), SCORED),
    "first chunk": (skbn.LocalScoreTransformer(), SCORED),
    "second chunk": (skbn.LocalScoreTransformer(), SCORED),
    "selector": (skbn.MarkovBlanketSelector(), "_estimators.markov_blanket_selector.partial_r2"),
    "imputer": (skbn.GaussianBNImputer(), LEARNED),
    "network": (skbn.GaussianBayesianNetwork(DAG), ESTIMATED),
    "blocks": (GaussianBNLearner(nodes=PAIR), ESTIMATED),
}
WITH_TEXT = TABLE.astype(object)
WITH_TEXT.iloc[3, 1] = "n.d."
SLOW = ["EM", "augment", "bootstrap", "CV", "imputer", "order", "sampling"]
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
    asked = ESTIMATORS[name][0]
    estimator = type(asked)(**asked.get_params(deep=False))
    return estimator.fit(table).network_ if name == "blocks" else estimator


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
    return np.r_[nx.to_numpy_array(network.dag).ravel(), network.mean_, probabilities.ravel()]


WEIGHTED = ["learner", "non-Gaussian", "EM", "order", "posterior", "scores", "first chunk"]


@pytest.mark.parametrize("name", [*WEIGHTED, "imputer", "network"])
def test_weights_are_repeated_rows(name):
    table, weight = table_of(name), np.random.default_rng(0).integers(0, 4, 60)
    weighted = numbers(fit(name, made(name, table), table, weight))
    repeated = numbers(fit(name, made(name, table), table.loc[table.index.repeat(weight)]))
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if "chunk" not in name])
def test_frames_are_arrays_with_names(name):
    table = table_of(name)
    expected = numbers(fit(name, made(name, table), table.to_numpy()))
    for frame in (table, pl.from_pandas(table, nan_to_null=True)):
        np.testing.assert_array_equal(numbers(fit(name, made(name, table), frame)), expected)


@needs_callbacks
@pytest.mark.parametrize(
    "name", ["learner", "non-Gaussian", "order", "CV", "posterior", "sampling", "bootstrap"]
)
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
        ("non-Gaussian", "4 columns"),
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


def cases_of_failures():
    for name, failure in product(ESTIMATORS, [*TABLES, "weights", "memory", "Ctrl-C"]):
        is_slow = name in SLOW and failure in TABLES
        yield pytest.param(name, failure, marks=[pytest.mark.slow] if is_slow else [])


@pytest.mark.parametrize(("name", "failure"), [*cases_of_failures()])
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
        # Copies are not refused by all; a chunk may have no row.
        assert failure == "copied" or (failure == "no row" and "chunk" in name)
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


# scikit-learn's own checks of every estimator


CONFIGURATIONS = [
    skbn.LocalScoreTransformer(),
    GaussianBNLearner(),
    GaussianBNLearnerCV([1, 3], cv=3, rule="one-standard-error", criterion="aic", n_jobs=2),
    GaussianBNPosterior(),
    BootstrapBNLearner(n_resamples=3, random_state=0),
    skbn.GaussianBNImputer(),
    skbn.MarkovBlanketSelector(),
    skbn.NonGaussianBNLearner(),
]
SLOW_CONFIGURATIONS = [
    skbn.LocalScoreTransformer("aic", penalty=2.0, n_jobs=2),
    skbn.LocalScoreTransformer("bge", max_parents=2),
    GaussianBNLearner("loglik", penalty=0.5, n_jobs=2),
    GaussianBNLearner(skbn.BGe(alpha_mu=0.1), tol=1e-3, time_limit=60.0, max_memory=1e9),
    GaussianBNLearner(search="order", random_state=0),
    GaussianBNLearner(nodes="auto"),
    skbn.LocalScoreTransformer(nodes="auto"),
    GaussianBNLearner(missing="em", n_candidates=3),
    skbn.LocalScoreTransformer(missing="em"),
    skbn.MarkovBlanketSelector(GaussianBNLearner("bge"), n_features=1),
    GaussianBNLearnerCV(),
    GaussianBNLearnerCV([1, 3], cv=3, search="order", time_limit=5.0, random_state=0),
]
RETURNS_A_GRAPH = "predict returns one graph, and not a value for each row"
UNBOUNDED = "the check's table has 15 rows of 30 columns, on which the likelihood is unbounded"
TOO_MANY = "the check's table has 30 columns, whose search takes more than 8 GB"


NO_ROWS = "expected rows are a summary, which is no array"


def expected_failures(estimator):
    if isinstance(estimator, skbn.LocalScoreTransformer):
        return {"check_estimators_pickle": NO_ROWS} if estimator.missing == "em" else {}
    if isinstance(estimator, skbn.GaussianBNImputer):
        return {"check_sample_weight_equivalence_on_dense_data": UNBOUNDED}
    if isinstance(estimator, skbn.MarkovBlanketSelector):
        return {}
    criterion = getattr(estimator, "criterion", None)
    is_bge = isinstance(criterion, skbn.BGe) or isinstance(estimator, skbn.GaussianBNPosterior)
    return {
        "check_methods_sample_order_invariance": RETURNS_A_GRAPH,
        "check_methods_subset_invariance": RETURNS_A_GRAPH,
        "check_sample_weight_equivalence_on_dense_data": TOO_MANY if is_bge else UNBOUNDED,
    }


def checks_of(configurations):
    return parametrize_with_checks(configurations, expected_failed_checks=expected_failures)


@checks_of(CONFIGURATIONS)
def test_common_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@checks_of(SLOW_CONFIGURATIONS)
def test_common_checks_of_more_settings(estimator, check):
    check(estimator)


def check_that_none_is_lost(request, test, configurations):
    items = [item for item in request.session.items if item.path == request.node.path]
    collected = [item for item in items if item.originalname == test.__name__]
    if not collected:
        pytest.skip("the checks themselves were not asked for")
    counts = Counter(repr(item.callspec.params["estimator"]) for item in collected)
    for configuration in configurations:
        assert counts[repr(configuration)] >= 45, configuration


def test_no_common_check_is_lost(request):
    check_that_none_is_lost(request, test_common_checks, CONFIGURATIONS)


@pytest.mark.slow
def test_no_common_check_of_more_settings_is_lost(request):
    check_that_none_is_lost(request, test_common_checks_of_more_settings, SLOW_CONFIGURATIONS)


def test_every_estimator_is_checked():
    public = [getattr(skbn, name) for name in skbn.__all__]
    estimators = {each for each in public if isinstance(each, type) and hasattr(each, "fit")}
    # The graph that it is made with fixes the columns, and the checks bring others.
    estimators -= {skbn.GaussianBayesianNetwork}
    assert estimators == {type(configuration) for configuration in CONFIGURATIONS}


@pytest.mark.parametrize("estimator", CONFIGURATIONS, ids=lambda each: type(each).__name__)
def test_what_an_estimator_has_besides_its_parameters_is_fitted_or_a_method(estimator):
    own = {name for name in dir(estimator) if name[0] != "_" and name[-1] != "_"}
    values = {name for name in own if not callable(getattr(type(estimator), name, None))}
    assert values == set(estimator.get_params(deep=False))


# A random_state means the same wherever one is taken


ROWS = np.random.default_rng(0).normal(size=(60, 3))
ROWS[:, 2] += ROWS[:, 0]
POSTERIOR = GaussianBNPosterior().fit(ROWS)


def learned(state, search="order"):
    return GaussianBNLearner(search=search, random_state=state).fit(ROWS)


def held_out(state):
    settings = {"cv": 2, "search": "order", "random_state": state}
    return GaussianBNLearnerCV((1, 2), **settings).fit(ROWS)


def completed(state):
    holes = np.where(np.arange(180).reshape(60, 3) % 31, ROWS, np.nan)
    return clone(AUGMENTING).set_params(random_state=state).fit(holes)


def resampled(state):
    return BootstrapBNLearner(n_resamples=9, random_state=state).fit(ROWS)


def has_edge(dag):
    return dag.has_edge(0, 2)


# What each draws, as something to compare.
DRAWS = {
    "order search": lambda state: learned(state).start_scores_,
    "exact search": lambda state: learned(state, "exact").network_score_,
    "folds": lambda state: held_out(state).penalty_,
    "bootstrap": lambda state: resampled(state).edge_support_,
    "chains": lambda s: clone(SAMPLING).set_params(random_state=s).fit(ROWS).edge_probabilities_,
    "holes": lambda state: completed(state).edge_probabilities_,
    "networks": lambda state: [list(dag.edges) for dag in POSTERIOR.sample_dags(20, state)],
    "parameters": lambda state: [network.coef_ for network in POSTERIOR.sample_networks(20, state)],
    "feature": lambda state: POSTERIOR.probability(has_edge, 50, state).value,
    "effect": lambda state: POSTERIOR.effect(0, 2, n_samples=50, random_state=state).mean,
    "effects": lambda state: POSTERIOR.effects(n_samples=50, random_state=state).mean,
    "rows": lambda state: POSTERIOR.median_network_.sample(5, state),
    "missing values": lambda s: POSTERIOR.median_network_.sample_missing([[1, np.nan, 1]], s),
    "network": lambda state: make_gaussian_network(4, n_samples=3, random_state=state)[0],
}
each_draw = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)


@each_draw
def test_seeds_and_both_kinds_of_generators_are_taken(draw):
    as_seed = draw(0)
    np.testing.assert_equal(draw(np.int64(0)), as_seed)
    np.testing.assert_equal(draw(np.random.RandomState(0)), as_seed)
    np.testing.assert_equal(draw(np.random.default_rng(1)), draw(np.random.default_rng(1)))
    draw(None)


@each_draw
@pytest.mark.parametrize("wrong", [-1, 2**32, 2.5, "a", [1]], ids=str)
def test_what_else_is_refused_with_its_value(draw, wrong):
    # An estimator's parameter is refused in scikit-learn's words: "Got 'a' instead."
    allowed = "must be None, an integer from 0 to .*RandomState of numpy.random"
    raises(f"random_state.* {allowed}.*ot {re.escape(repr(wrong))}", draw, wrong)


@pytest.mark.parametrize("name", ["bootstrap", "parameters", "rows", "network"])
def test_a_generator_goes_on(name):
    rng = np.random.default_rng(0)
    assert not np.array_equal(DRAWS[name](rng), DRAWS[name](rng))

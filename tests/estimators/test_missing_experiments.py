"""Missing values with interventions, exogenous columns, weights and nodes of several columns."""

import itertools

import numpy as np
import pandas as pd
import pytest
import reference
from agreement import raises
from experiment_tables import TARGETS, experiment
from incomplete_tables import with_holes

from skbn import GaussianBNLearner
from skbn._core.subsets import mask_of
from skbn._scores.criteria import BIC
from skbn._scores.local_scores import LocalScores
from skbn._solver.constraints import read_constraints
from skbn._solver.solve import problem_of

pytestmark = pytest.mark.filterwarnings(
    "ignore::skbn.exceptions.MissingValuesWarning", "ignore::skbn.exceptions.DataWarning"
)


def holey_experiment(seed, m=4, targets=TARGETS[5], n=50, exogenous=(), share=0.15):
    """Rows with holes where nothing was set, which values were, and weights."""
    rng = np.random.default_rng(seed)
    rows, is_set = experiment(m, targets, n=n, seed=seed)
    is_given = is_set.copy()
    is_given[:, list(exogenous)] = True
    holes = np.where(is_given, rows, with_holes(rows, share, rng))
    return holes, is_set, is_given, rng.integers(1, 3, len(rows)).astype(float)


def cost(parents, rows, is_given, weight):
    """What the BIC takes; rows of which all values that are not given are missing do not count."""
    says = (~np.isnan(rows) & ~is_given).any(axis=1)
    n = [(weight * says)[~is_given[:, x]].sum() for x in range(len(parents))]
    return sum(np.log(n[x]) / 2 * (2 + len(p)) for x, p in enumerate(parents) if n[x])


CASES = [([], (2,)), (TARGETS[3], ()), (TARGETS[5], ()), (TARGETS[1], (3,)), (TARGETS[6], (1, 2))]


@pytest.mark.parametrize(("targets", "exogenous"), CASES)
def test_the_score_is_that_of_the_rows_with_their_arrows_cut(targets, exogenous):
    rows, is_set, is_given, weight = holey_experiment(1, targets=targets, exogenous=exogenous)
    learner = GaussianBNLearner(missing="em", exogenous=[*exogenous] or None)
    learner.fit(rows, interventions=is_set, sample_weight=weight)
    model = learner.network_._model()
    parameters = model.coef, model.intercept, model.noise_variance
    likelihood = reference.log_likelihood_given(rows, is_given, *parameters, weight)
    parents = [tuple(sorted(learner.dag_.predecessors(x))) for x in range(4)]
    by_hand = likelihood - cost(parents, rows, is_given, weight)
    assert learner.network_score_ == pytest.approx(by_hand, abs=1e-6)
    mean = learner.score(rows, interventions=is_set, sample_weight=weight)
    counts = (~np.isnan(rows) & ~is_given).any(axis=1)
    assert mean * weight[counts].sum() == pytest.approx(likelihood, abs=1e-8)
    for _ in range(3):  # no step of EM, row by row, leads higher
        parameters = reference.em_step_given(rows, is_given, parents, *parameters, weight)
    better = reference.log_likelihood_given(rows, is_given, *parameters, weight)
    assert better == pytest.approx(likelihood, abs=1e-5)
    for a, b, fixed in learner.dag_.edges(data="fixed"):
        assert fixed or not any((a in target) != (b in target) for target in targets)


def mixed_table(seed):
    """Two numbers, a category and a pair of columns, with holes, targets and weights."""
    rows, is_set, _, weight = holey_experiment(seed, m=5, targets=[{0}, {1}], n=60)
    X = pd.DataFrame(rows, columns=[*"abcde"])
    levels = np.select([rows[:, 2] > 0.6, rows[:, 2] < -0.6], ["high", "low"], "middle")
    X["c"] = pd.Categorical(np.where(np.isnan(rows[:, 2]), None, levels))
    X.loc[X["d"].isna(), "e"] = np.nan
    interventions = pd.DataFrame(is_set[:, :2], columns=["a", "b"])
    return X, {"a": "a", "b": "b", "c": "c", "pair": ["d", "e"]}, interventions, weight


@pytest.mark.parametrize("exogenous", [pytest.param(None, marks=pytest.mark.slow), ["b"]])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_all_networks_of_four_nodes_with_holes_targets_and_weights(seed, exogenous):
    X, nodes, interventions, weight = mixed_table(seed)
    if exogenous:
        X["b"] = X["b"].fillna(0.0)
    learner = GaussianBNLearner(missing="em", nodes=nodes, exogenous=exogenous)
    learner.fit(X, interventions=interventions, sample_weight=weight)
    columns = learner.network_.columns_
    rows = np.column_stack([X["a"], X["b"], *(X["c"] == v for v in columns_of_levels(columns))])
    rows = np.column_stack([rows.astype(float), X["d"], X["e"]])
    rows[X["c"].isna(), 2:4] = np.nan
    is_given = np.zeros(rows.shape, dtype=bool)
    is_given[:, :2] = interventions
    is_given[:, 1] |= exogenous is not None
    model = columns._model()
    parents = [[i for i in range(6) if mask >> i & 1] for mask in model.parents]
    parameters = model.coef, model.intercept, model.noise_variance
    likelihood = reference.log_likelihood_given(rows, is_given, *parameters, weight)
    for _ in range(2):
        parameters = reference.em_step_given(rows, is_given, parents, *parameters, weight)
    better = reference.log_likelihood_given(rows, is_given, *parameters, weight)
    assert better == pytest.approx(likelihood, abs=1e-5)
    assert learner.network_score_ == pytest.approx(best_score(learner, X, interventions, weight))


def columns_of_levels(columns):
    """The levels of the category that have an indicator, by the names of the columns."""
    names = [name.split("=")[1] for name in columns.dag.nodes if name.startswith("c=")]
    assert len(names) == 2
    return names


def best_score(learner, X, interventions, weight):
    """The highest score of all networks of four nodes, each by an EM of its own."""
    sample = learner._sample(X, weight)
    scores = LocalScores._from_sample(sample, BIC(), learner.feature_names_in_)
    scores = scores.with_interventions(interventions)
    constraints = read_constraints(scores.columns, max_parents=3, exogenous=learner.exogenous)
    problem = problem_of(scores, constraints)
    begin = problem.saturated()
    full, free = problem.expected(begin), problem.expected(begin).with_penalties([0.0])[0]
    found = []
    for tuples in reference.all_dags(4):
        parents = [mask_of(p) for p in tuples]
        if any(mask & ~may for mask, may in zip(parents, constraints.allowed, strict=True)):
            continue
        own = problem.estimate(parents, begin, 1e-7)
        paid = (free.network_terms(parents) - full.network_terms(parents)).sum()
        found.append(own.log_likelihood - problem.rows.log_units() - paid)
    return max(found)


def test_experiments_without_holes_are_fitted_as_always():
    rows, is_set = experiment(4, TARGETS[5])
    ours = GaussianBNLearner(missing="em").fit(rows, interventions=is_set)
    theirs = GaussianBNLearner().fit(rows, interventions=is_set)
    assert ours.network_score_ == theirs.network_score_
    assert ours.is_optimal_


@pytest.mark.parametrize("settings", [{"search": "order", "max_parents": 2}, {"max_parents": 1}])
def test_limits_tiers_and_orders(settings):
    rows, is_set, _, _ = holey_experiment(2, targets=TARGETS[1])
    learner = GaussianBNLearner(missing="em", tiers=[[1, 2], ...], random_state=0, **settings)
    learner.fit(rows, interventions=is_set)
    assert max(dict(learner.dag_.in_degree).values()) <= settings["max_parents"]
    forbidden = itertools.product((0, 3), (1, 2))
    assert not any(learner.dag_.has_edge(a, b) for a, b in forbidden)


def test_values_that_were_set_are_not_missing():
    rows, is_set, _, _ = holey_experiment(0, targets=[{0}])
    row = int(np.argmax(is_set[:, 0]))
    rows[row, 0] = np.nan
    weight = np.arange(len(rows)) != row
    learner, outside = (GaussianBNLearner(missing="em", exogenous=each) for each in (None, [0]))
    learner.fit(rows, interventions=is_set, sample_weight=weight)
    where = rf"interventions set column 0 in row {row}, where"
    raises(where, learner.fit, rows, interventions=is_set)
    advice = r"Column 0 is exogenous .* tiers=\[\[0\], \.\.\.\]"
    raises(advice, outside.fit, rows, interventions=is_set)


def test_rows_with_given_values_alone_say_nothing():
    rows, is_set, _, _ = holey_experiment(0, targets=[{0}])
    more = np.vstack([rows, [1.0, np.nan, np.nan, np.nan]])
    is_set_too = np.vstack([is_set, [True, False, False, False]])
    with pytest.warns(match="1 of 101 rows of X have no value but given ones"):
        longer = GaussianBNLearner(missing="em").fit(more, interventions=is_set_too)
    once = GaussianBNLearner(missing="em").fit(rows, interventions=is_set)
    assert longer.network_score_ == pytest.approx(once.network_score_, abs=1e-9)


@pytest.mark.parametrize(
    ("n_free", "message"),
    [
        (3, r"In the rows in which \[1\] was not set by interventio"),
        (0, r"interventions set the columns \[1\] in all \d+ rows"),
    ],
)
def test_a_column_that_was_set_nearly_always_is_named(n_free, message):
    rows, is_set, _, _ = holey_experiment(0, targets=[{0}])
    is_set[: len(rows) - n_free, 1] = True
    rows[:, 1] = np.where(np.isnan(rows[:, 1]), 0.5, rows[:, 1])
    raises(message, GaussianBNLearner(missing="em").fit, rows, interventions=is_set)
    assert GaussianBNLearner(missing="em", exogenous=[1]).fit(rows, interventions=is_set).dag_

"""A random_state means the same wherever one is taken."""

import numpy as np
import pytest

from skbn import BootstrapBNLearner, GaussianBNLearner, GaussianBNLearnerCV, GaussianBNPosterior
from skbn.datasets import make_gaussian_network

ROWS = np.random.default_rng(0).normal(size=(60, 3))
ROWS[:, 2] += ROWS[:, 0]
POSTERIOR = GaussianBNPosterior().fit(ROWS)

# What each draws, as something to compare.
DRAWS = {
    "order search": lambda state: (
        GaussianBNLearner(search="order", random_state=state).fit(ROWS).start_scores_
    ),
    "exact search": lambda state: GaussianBNLearner(random_state=state).fit(ROWS).network_score_,
    "folds": lambda state: (
        GaussianBNLearnerCV((1, 2), cv=2, search="order", random_state=state).fit(ROWS).penalty_
    ),
    "bootstrap": lambda state: (
        BootstrapBNLearner(n_resamples=9, random_state=state).fit(ROWS).edge_support_
    ),
    "chains": lambda state: (
        GaussianBNPosterior(method="sampling", n_samples=100, n_chains=2, random_state=state)
        .fit(ROWS)
        .edge_probabilities_
    ),
    "holes": lambda state: (
        GaussianBNPosterior(missing="augment", n_imputations=2, random_state=state)
        .fit(np.where(np.arange(180).reshape(60, 3) % 31, ROWS, np.nan))
        .edge_probabilities_
    ),
    "networks": lambda state: [list(dag.edges) for dag in POSTERIOR.sample_dags(20, state)],
    "parameters": lambda state: [network.coef_ for network in POSTERIOR.sample_networks(20, state)],
    "feature": lambda state: POSTERIOR.probability(lambda dag: dag.has_edge(0, 2), 50, state).value,
    "effect": lambda state: POSTERIOR.effect(0, 2, n_samples=50, random_state=state).mean,
    "effects": lambda state: POSTERIOR.effects(n_samples=50, random_state=state).mean,
    "rows": lambda state: POSTERIOR.median_network_.sample(5, state),
    "missing values": lambda state: POSTERIOR.median_network_.sample_missing(
        [[1, np.nan, 1]], state
    ),
    "network": lambda state: make_gaussian_network(4, n_samples=3, random_state=state)[0],
}
each_draw = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)


@each_draw
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_seeds_and_both_kinds_of_generators_are_taken(draw):
    as_seed = draw(0)
    np.testing.assert_equal(draw(np.int64(0)), as_seed)
    np.testing.assert_equal(draw(np.random.RandomState(0)), as_seed)
    np.testing.assert_equal(draw(np.random.default_rng(1)), draw(np.random.default_rng(1)))
    draw(None)


@each_draw
@pytest.mark.parametrize("wrong", [-1, 2**32, 2.5, "a", [1]], ids=str)
def test_what_else_is_refused_with_its_value(draw, wrong):
    with pytest.raises(
        ValueError, match=r"random_state.* must be None, an integer from 0 to"
    ) as error:
        draw(wrong)
    # An estimator's parameter is refused in scikit-learn's words: "Got 'a' instead."
    assert f"ot {wrong!r}" in str(error.value).partition("RandomState of numpy.random")[2]


@pytest.mark.parametrize("name", ["bootstrap", "parameters", "rows", "network"])
def test_a_generator_goes_on(name):
    rng = np.random.default_rng(0)
    assert not np.array_equal(DRAWS[name](rng), DRAWS[name](rng))

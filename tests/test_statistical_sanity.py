"""What the theory of the scores says of random tables, at rates that are derived.

Seeds are fixed. A count is held against the binomial distribution of the derived rate, where it
would lie with probability 1 - 1e-6 were the seed drawn anew.
"""

import json
from pathlib import Path

import calibration
import numpy as np
import pytest
import reference
import sparse_networks as sparse
from scipy.special import digamma
from scipy.stats import binom, chi2, multivariate_normal, multivariate_t

import skbn
from skbn import AIC, BIC, EBIC, GaussianBayesianNetwork, GaussianBNLearner, LocalScoreTransformer
from skbn.datasets import make_gaussian_network

ALPHA = 1e-6


def within(count, trials, lowest, highest):
    """Whether a count is what a rate between two bounds makes."""
    fewest = binom.ppf(ALPHA / 2, trials, lowest)
    most = binom.isf(ALPHA / 2, trials, min(highest, 1))
    return fewest <= count <= most


# The structure


# The few rows that have these moments are not Gaussian.
@pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")
def test_moments_of_many_rows_give_the_class_of_the_network():
    """20 networks of 8 to 12 columns with no weak dependence, at 100,000 rows.

    The smallest partial correlation gains n r^2 / 2 = 45 nats and more, against a price of 6:
    what is there is missed with probability below 1e-8. So the networks not found are those with
    an edge too many, whose number is bounded by a binomial with the mean chance (Hoeffding 1956).
    """
    rng = np.random.default_rng(0)
    n, n_wrong, chances = 100_000, 0, []
    for i in range(20):
        network, _ = sparse.draw_faithful(rng, m=8 + i % 5)
        parents = sparse.parents_of(network)
        chances.append(sparse.chance_of_false_edges(parents, n))
        rows, row_weights = sparse.sample_moments(rng, network, n)
        learner = GaussianBNLearner().fit(rows, sample_weight=row_weights)
        found = sparse.parents_of(learner.network_)
        n_wrong += reference.equivalence_class(found) != reference.equivalence_class(parents)
    print(f"{n_wrong} of {len(chances)} wrong, at most {sum(chances):.2f} expected")
    assert n_wrong <= binom.isf(ALPHA, len(chances), np.mean(chances))


N_PAIRS, N_TABLES, N_ROWS = 6, 50, 20


@pytest.mark.parametrize(
    ("criterion", "penalty", "cost", "rate"),
    [
        (BIC(), 1.0, np.log(N_ROWS) / 2, 0.1053),
        (BIC(), 0.5, np.log(N_ROWS) / 4, 0.2521),
        (AIC(), 1.0, 1.0, 0.1857),
        (AIC(), 2.0, 2.0, 0.0613),
        (EBIC(), 0.5, np.log(N_ROWS) / 4 + np.log(12) / 2, 0.0618),
        (EBIC(form="chen-chen"), 1.0, np.log(N_ROWS) / 2 + np.log(11) / 2, 0.0297),
    ],
    ids=lambda value: f"{value:.3g}" if isinstance(value, float) else str(value),
)
def test_independent_pairs_are_joined_at_the_rate_of_the_penalty(criterion, penalty, cost, rate):
    """Exactly: r^2 has a beta distribution."""
    assert sparse.family_chance(N_ROWS, 1, cost) == pytest.approx(rate, abs=5e-5)
    rng = np.random.default_rng(1)
    transformer, count = LocalScoreTransformer(criterion, penalty=penalty), 0
    for _ in range(N_TABLES):
        scores = transformer.fit_transform(rng.normal(size=(N_ROWS, 2 * N_PAIRS)))
        pairs = range(0, 2 * N_PAIRS, 2)
        count += sum(bool(scores.best_parents(i + 1, candidates=[i])) for i in pairs)
    print(f"{criterion}, penalty {penalty}: {count} of {N_PAIRS * N_TABLES}, {rate:.1%} expected")
    assert within(count, N_PAIRS * N_TABLES, rate, rate)


def test_independent_columns_have_no_edges_at_the_rate_of_the_penalty():
    n, penalty = 40, 2.0
    lowest, highest = sparse.chance_of_any_edge(5, n, penalty * np.log(n) / 2)
    rng = np.random.default_rng(2)
    learner, trials = GaussianBNLearner(penalty=penalty), 75
    tables = (rng.normal(size=(n, 5)) for _ in range(trials))
    count = sum(learner.fit(rows).dag_.number_of_edges() > 0 for rows in tables)
    print(f"{count} of {trials} have edges, {lowest:.1%} to {highest:.1%} expected")
    assert within(count, trials, lowest, highest)


# The parameters


def expected_loss(n, n_parents):
    """Nats a new row loses by estimating a family of that many parents from n rows.

    n / variance estimate is inverse chi-squared with n - l - 1 degrees of freedom, and the
    regression's error at a new row independent of it.
    """
    log_variance = digamma((n - n_parents - 1) / 2) + np.log(2 / n)
    squared_error = (n + 1) * (n - 2) / ((n - n_parents - 2) * (n - n_parents - 3))
    return (log_variance + squared_error - 1) / 2


def as_network(parents):
    return GaussianBayesianNetwork(reference.graph_of(parents))


def test_held_out_rows_are_likeliest_under_the_network_found():
    """More than under the empty and the full one; what estimates cost is the derived mean."""
    rng = np.random.default_rng(3)
    n, m, n_new = 100, 10, 1000
    full = as_network([tuple(range(x)) for x in range(m)])
    empty = as_network([()] * m)
    losses = {"found": [], "full": [], "empty": [], "true graph": []}
    excess = []
    for _ in range(30):
        rows, network = make_gaussian_network(m, n_samples=n + n_new, random_state=rng)
        rows, new = np.split(rows, [n])
        true = GaussianBayesianNetwork(network.dag)
        best = multivariate_normal(np.zeros(m), network.covariance_).logpdf(new)
        found = GaussianBNLearner().fit(rows)
        others = [found, full.fit(rows), empty.fit(rows), true.fit(rows)]
        for loss, other in zip(losses.values(), others, strict=True):
            loss.append(best.mean() - other.score(new))
        expected = sum(expected_loss(n, len(own)) for own in sparse.parents_of(network))
        excess.append(losses["true graph"][-1] - expected)

    losses = {name: np.array(loss) for name, loss in losses.items()}
    for name, loss in losses.items():
        print(f"{name}: {loss.mean():.3f} +- {standard_error(loss):.3f} nats lost")
    full_loss = sum(expected_loss(n, n_parents) for n_parents in range(m))
    assert abs(losses["full"].mean() - full_loss) < 5 * standard_error(losses["full"])
    assert abs(np.mean(excess)) < 5 * standard_error(excess)
    for other in ("full", "empty"):
        gain = losses[other] - losses["found"]
        print(f"better than {other} by {gain.mean():.3f}, {(gain > 0).sum()} of {len(gain)}")
        assert gain.mean() > 5 * standard_error(gain)
        assert (gain > 0).mean() > 0.9


def standard_error(values):
    return np.std(values, ddof=1) / np.sqrt(len(values))


# Posterior probabilities are shares: of tables drawn from the prior, as many have the edge


FIGURES = Path(__file__).parents[1] / "docs" / "theory" / "figures"


@pytest.mark.parametrize(("alpha_mu", "alpha_w"), [(1.0, 7), (0.3, 9.5)])
@pytest.mark.parametrize("parents", [[], [3], [0, 1, 3, 4]])
def test_local_scores_are_densities_of_rows_from_the_prior(alpha_mu, alpha_w, parents):
    """With coefficients and intercept integrated out, a child's rows have a t distribution."""
    rng = np.random.default_rng(0)
    n, m = 7, 5
    rows = rng.normal(1, 2, size=(n, m))
    scores = LocalScoreTransformer(skbn.BGe(alpha_mu, alpha_w, nu=np.zeros(m))).fit_transform(rows)
    t = alpha_mu * (alpha_w - m - 1) / (alpha_mu + 1)
    freedom = alpha_w - m + len(parents) + 1
    of_parents = rows[:, parents]
    per_variance = np.eye(n) + 1 / alpha_mu + of_parents @ of_parents.T / t
    density = multivariate_t(np.zeros(n), t / freedom * per_variance, df=freedom)
    assert scores.local_score(2, parents) == pytest.approx(density.logpdf(rows[:, 2]), rel=1e-12)


def bins_of_the_uniform_prior():
    edges, paths = [], []
    for network, rows in calibration.data_sets():
        posterior = skbn.GaussianBNPosterior(calibration.CRITERION, structure_prior="uniform")
        posterior.fit(rows)
        there, path_there = calibration.edges_and_paths(network)
        edges.append(calibration.bins_of(there, posterior.edge_probabilities_))
        paths.append(calibration.bins_of(path_there, posterior.path_probabilities_))
    return np.array(edges), np.array(paths)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")
def test_probabilities_of_edges_and_paths_are_calibrated():
    edges, paths = bins_of_the_uniform_prior()
    for bins in edges, paths:
        distance = calibration.distance_from_calibration(bins)
        chance = chi2.sf(distance, calibration.N_BINS)
        print(f"chi-squared {distance:.1f}, exceeded with probability {chance:.2g}")
        assert chance > ALPHA
    # A wrong answer would be seen: probabilities less sure by a tenth of their distance from 1/4.
    number, total, _ = edges.transpose(1, 0, 2)
    duller = edges.copy()
    duller[:, 1] = 0.9 * total + 0.1 * number / 4
    assert chi2.sf(calibration.distance_from_calibration(duller), calibration.N_BINS) < 0.05
    stored = json.loads((FIGURES / "calibration.json").read_text(encoding="utf-8"))
    np.testing.assert_allclose(np.array(stored["uniform"])[:3], edges.sum(axis=0), atol=1e-6)

"""Posterior probabilities are shares: of tables drawn from the prior, as many have the edge."""

import json
from pathlib import Path

import calibration
import numpy as np
import pytest
from scipy.stats import chi2, multivariate_t

from skbn import BGe, GaussianBNPosterior, LocalScoreTransformer

FIGURES = Path(__file__).parents[1] / "docs" / "theory" / "figures"
ALPHA = 1e-6


@pytest.mark.parametrize(("alpha_mu", "alpha_w"), [(1.0, 7), (0.3, 9.5)])
@pytest.mark.parametrize("parents", [[], [3], [0, 1, 3, 4]])
def test_local_scores_are_densities_of_rows_from_the_prior(alpha_mu, alpha_w, parents):
    """With coefficients and intercept integrated out, a child's rows have a t distribution."""
    rng = np.random.default_rng(0)
    n, m = 7, 5
    rows = rng.normal(1, 2, size=(n, m))
    scores = LocalScoreTransformer(BGe(alpha_mu, alpha_w, nu=np.zeros(m))).fit_transform(rows)
    t = alpha_mu * (alpha_w - m - 1) / (alpha_mu + 1)
    freedom = alpha_w - m + len(parents) + 1
    of_parents = rows[:, parents]
    per_variance = np.eye(n) + 1 / alpha_mu + of_parents @ of_parents.T / t
    density = multivariate_t(np.zeros(n), t / freedom * per_variance, df=freedom)
    assert scores.local_score(2, parents) == pytest.approx(density.logpdf(rows[:, 2]), rel=1e-12)


def test_parameters_are_drawn_from_the_prior():
    """The rows of many networks with two columns have the moments of their t distribution."""
    rng = np.random.default_rng(1)
    alpha_mu, alpha_w, m = 2.0, 14.0, 2
    t = alpha_mu * (alpha_w - m - 1) / (alpha_mu + 1)
    covariance = t / (alpha_w - m - 1) * (1 + 1 / alpha_mu) * np.eye(m)  # 1 by the choice of t
    networks = [
        calibration.draw_network(parents, rng, alpha_mu, alpha_w)
        for parents in ((set(), {0}), ({1}, set()))
        for _ in range(800)
    ]
    rows = np.array([network.sample(1, rng)[0] for network in networks])
    products = rows[:, :, np.newaxis] * rows[:, np.newaxis]
    error = products.std(axis=0, ddof=1) / np.sqrt(len(rows))
    assert (abs(products.mean(axis=0) - covariance) < 5 * error).all()


def bins_of_the_uniform_prior():
    edges, paths = [], []
    for network, rows in calibration.data_sets():
        posterior = GaussianBNPosterior(calibration.CRITERION, structure_prior="uniform").fit(rows)
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

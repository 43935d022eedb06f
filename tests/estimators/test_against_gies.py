"""The gies package's greedy search, which never finds a better network than the best one.

Its score centres each environment by its own means: an intercept for each, which it does not count.
Its penalty is log(n) / 2 for each edge and each column, with n all rows, whether they count for the
column or not. Ours has one intercept for all rows that count for a column, counts it, and takes the
logarithm of their number.
"""

import numpy as np
import pytest
import reference
from experiment_tables import experiment

from skbn import GaussianBNLearner, LocalScoreTransformer

gies = pytest.importorskip("gies")
from gies.scores import GaussIntL0Pen  # noqa: E402
from gies.scores.decomposable_score import DecomposableScore  # noqa: E402

# The programs to compare with are there when the slow tests are run.
pytestmark = pytest.mark.slow


class OurScore(DecomposableScore):
    """The local scores of this library, in the form that the package asks for."""

    def __init__(self, environments, targets, scores):
        super().__init__(environments, targets, cache=True, debug=0)
        self.p = environments[0].shape[1]
        self.scores = scores

    def _compute_local_score(self, x, pa):
        return self.scores.local_score(int(x), [int(p) for p in pa])

    def full_score(self, A):
        return sum(self.local_score(x, set(np.flatnonzero(A[:, x]))) for x in range(self.p))


def simulated(m, seed):
    """Rows, which columns were set in each, and the same by environments."""
    rng = np.random.default_rng(seed)
    targets = [{int(x)} for x in rng.permutation(m)[:2]] + [{0, m - 1}]
    rows, is_set = experiment(m, targets, n=30, seed=seed)
    patterns, number = np.unique(is_set, axis=0, return_inverse=True)
    environments = [rows[number.ravel() == k] for k in range(len(patterns))]
    return rows, is_set, environments, [np.flatnonzero(p).tolist() for p in patterns]


def greedy(score, environments, targets):
    """The score of the network that GIES finds."""
    pattern, _ = gies.fit(score)
    network = gies.utils.pdag_to_dag(pattern)
    return score.full_score(network)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("m", [5, 8])
def test_on_our_score(m, seed):
    rows, is_set, environments, targets = simulated(m, seed)
    scores = LocalScoreTransformer().fit_transform(rows, interventions=is_set)
    best = GaussianBNLearner().fit(scores)
    assert greedy(OurScore(environments, targets, scores), environments, targets) <= (
        best.network_score_ + 1e-8
    )


def test_likelihoods_of_centred_environments_agree():
    rows, is_set, environments, targets = simulated(5, 0)
    score = GaussIntL0Pen(environments, targets, lmbda=0.0)
    centred = rows.copy()
    for pattern in np.unique(is_set, axis=0):
        own = (is_set == pattern).all(axis=1)
        centred[own] -= rows[own].mean(axis=0)
    ours = LocalScoreTransformer("loglik").fit_transform(centred, interventions=is_set)
    for x, p in reference.families(5):
        constant = -(~is_set[:, x]).sum() / 2 * np.log(2 * np.pi)
        assert ours.local_score(x, p) == pytest.approx(score.local_score(x, set(p)) + constant)

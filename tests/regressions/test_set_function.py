"""Local scores as differences, against the formula with the criterion's tables."""

import numpy as np
import pytest
import reference

from skbn import BIC, EBIC, BGe, LogLikelihood
from skbn._core.subsets import mask_of
from skbn._regressions.log_determinants import log_determinants, set_functions
from skbn._regressions.set_function import LEAST_SCORE, SetWeights, ruled_out

RNG = np.random.default_rng(0)


def capped(tables, most):
    tables = tables.copy()
    tables[0, most + 1 :] = -np.inf
    return tables


def with_gap(tables):
    tables = tables.copy()
    tables[0, 1] = -np.inf
    return tables


ONE = {
    "bic": lambda m: BIC().tables(200, m),
    "log-likelihood": lambda m: LogLikelihood(unbiased_variance=True).tables(200, m),
    "ebic": lambda m: EBIC(gamma=1).tables(50, m, penalty=3.0),
    "bge": lambda m: BGe(alpha_mu=0.1).tables(80, m),
    "of few parents": lambda m: capped(BIC().tables(200, m), 2),
    "of no parents": lambda m: capped(BIC().tables(200, m), 0),
    "of no families": lambda m: capped(BIC().tables(200, m), -1),
}
TWO = {
    "any": lambda m: RNG.normal(size=(3, m)),
    "with a gap": lambda m: with_gap(BIC().tables(200, m)),
    "of a penalty that would cost digits": lambda m: BIC().tables(200, m, penalty=1e9),
}


@pytest.mark.parametrize("kind", [*ONE, *TWO])
@pytest.mark.parametrize("m", [3, 5, 7])
def test_differences_are_the_local_scores(m, kind):
    tables = (ONE | TWO)[kind](m)
    log_det = np.append(0.0, RNG.normal(size=(1 << m) - 1))
    weights = SetWeights(tables)
    assert weights.is_one == (kind in ONE)
    sets = weights.of_all(log_det)
    assert (sets.of_family is sets.of_parents) == weights.is_one
    for (x, parents), expected in reference.scores_by_tables(tables, log_det).items():
        mask = mask_of(parents)
        score = sets.local_score(x, mask)
        if expected == -np.inf:
            assert score == -np.inf
            assert sets.of_family[mask | 1 << x] - sets.of_parents[mask] < LEAST_SCORE
        else:
            term = sets.largest_term(x, mask)
            assert score == pytest.approx(expected, rel=1e-13, abs=1e-14 * term)


@pytest.mark.parametrize("kind", [*ONE, *TWO])
@pytest.mark.parametrize("m", [1, 2, 3, 9, 15])
def test_the_walk_weighs_with_the_same_bits(m, kind):
    if m < 2 and kind == "with a gap":
        pytest.skip("no family has more than a parent")
    weights = SetWeights((ONE | TWO)[kind](m))
    factor = np.triu(RNG.normal(size=(m, m))) + 3 * np.eye(m)
    for offsets in (None, RNG.normal(size=m)):
        expected = weights.of_all(log_determinants(factor, offsets=offsets))
        for n_jobs in (1, 2):
            found = set_functions(factor, weights, n_jobs, offsets=offsets)
            np.testing.assert_array_equal(found.of_family, expected.of_family)
            np.testing.assert_array_equal(found.of_parents, expected.of_parents)


def test_weights_are_equal_if_their_functions_are():
    tables = BIC().tables(200, 4)
    assert SetWeights(tables) == SetWeights(tables.copy())
    assert SetWeights(tables) != SetWeights(capped(tables, 2))
    assert SetWeights(tables) != SetWeights(with_gap(tables))


def test_scores_that_are_ruled_out():
    scores = np.array([0.0, -1e250, -np.inf, 2 * LEAST_SCORE])
    np.testing.assert_array_equal(ruled_out(scores), [0.0, -1e250, -np.inf, -np.inf])

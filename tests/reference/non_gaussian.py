"""Log-likelihoods of residuals under a density that adapts to them, by general optimisers."""

import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import eval_legendre

from reference.networks import families
from reference.regressions import regression

_SCALE, _DEGREE = np.pi / np.sqrt(12), 4
_NODES = np.arange(-50, 51) / 5


def density_statistics(x):
    """Return what bends the density, at these arguments of the hyperbolic tangent."""
    return np.array([*(eval_legendre(k, np.tanh(x)) for k in range(1, _DEGREE + 1)), np.square(x)])


def log_logistic(x):
    """Return the logarithm of the density of a logistic variable of scale 1/2."""
    return np.log(2) - 2 * np.abs(x) - 2 * np.log1p(np.exp(-2 * np.abs(x)))


def shares_of_nodes(x, weight):
    """Return how many of some values are shared out to each node, by the nearest two."""
    hats = np.maximum(0, 1 - np.abs(np.clip(x, -10, 10) - _NODES[:, np.newaxis]) * 5)
    return hats @ weight


def best_density(x, weight, ridge=1e-3):
    """Return the coefficients that maximise the log-likelihood, the last one not positive."""
    statistics, base = density_statistics(_NODES), np.exp(log_logistic(_NODES))
    means = statistics @ shares_of_nodes(x, weight) / weight.sum()

    def lost(theta):
        part = base * np.exp(theta @ statistics)
        shrinkage = ridge / weight.sum() * theta
        value = np.log(part.sum() / 5) - theta @ means + theta @ shrinkage / 2
        return value, statistics @ part / part.sum() - means + shrinkage

    bounds = [(None, None)] * _DEGREE + [(None, 0)]
    how = {"jac": True, "bounds": bounds, "method": "L-BFGS-B"}
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000, "maxfun": 20000}
    return minimize(lost, np.zeros(_DEGREE + 1), options=options, **how).x


def log_density(x, theta):
    """Return the logarithm of the density, normalised by adaptive quadrature."""

    def bent(x):
        return np.exp(log_logistic(x) + theta @ density_statistics(x))

    total = quad(bent, -30, 30, points=[-3, 0, 3], limit=500, epsabs=1e-13)[0]
    return log_logistic(x) + theta @ density_statistics(x) - np.log(total)


def non_gaussian_score(residuals, weight=None, ridge=1e-3):
    """Return the log-likelihood of residuals, less what shrinks the coefficients."""
    weight = np.ones(len(residuals)) if weight is None else weight
    deviation = np.sqrt(np.average(residuals**2, weights=weight))
    x = residuals / deviation * _SCALE
    theta = best_density(x, weight, ridge)
    beyond = weight @ (np.abs(x) - np.clip(np.abs(x), 0, 10))
    score = shares_of_nodes(x, weight) @ log_density(_NODES, theta) - 2 * beyond
    return score + weight.sum() * np.log(_SCALE / deviation) - ridge * theta @ theta / 2


def smooth_log_likelihood(residuals):
    """Return the log-likelihood of the residuals themselves under their density."""
    deviation = np.sqrt(np.mean(residuals**2))
    x = residuals / deviation * _SCALE
    theta = best_density(x, np.ones(len(x)))
    return log_density(x, theta).sum() + len(x) * np.log(_SCALE / deviation)


def all_non_gaussian_scores(rows, cost):
    """Return the score of each family, as a dict; each parent costs some nats."""
    n, found = len(rows), {}
    for x, parents in families(rows.shape[1]):
        intercept, coefficients, _ = regression(rows, x, parents)
        residuals = rows[:, x] - intercept - rows[:, [*parents]] @ coefficients
        assert len(residuals) == n
        found[x, parents] = non_gaussian_score(residuals) - cost * len(parents)
    return found

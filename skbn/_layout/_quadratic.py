"""Convex quadratic programs with linear inequalities, by an interior-point method."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

__all__ = ["minimise_quadratic"]

_TOLERANCE = 1e-9
_MAX_ITERATIONS = 60
_SHY = 0.99  # of the way to the border


def minimise_quadratic(
    hessian: sparse.csc_matrix, rows: sparse.csr_matrix, bounds: np.ndarray
) -> np.ndarray:
    """Minimise x'Hx / 2 subject to Gx >= b, by Mehrotra's predictor and corrector.

    Parameters
    ----------
    hessian : sparse matrix of shape (n, n)
        H, positive definite: the minimum is unique.
    rows : sparse matrix of shape (k, n)
        G.
    bounds : ndarray of shape (k,)
        b.

    Returns
    -------
    ndarray of shape (n,)
    """
    x = np.zeros(hessian.shape[0])
    if not len(bounds):
        return x
    scale = max(1.0, float(np.abs(bounds).max()))
    bounds = bounds / scale
    columns = rows.T.tocsc()
    slack = np.ones(len(bounds))
    price = np.ones(len(bounds))
    for _ in range(_MAX_ITERATIONS):
        dual = hessian @ x - columns @ price
        primal = rows @ x - slack - bounds
        gap = slack @ price / len(bounds)
        if max(np.abs(dual).max(), np.abs(primal).max(), gap) < _TOLERANCE:
            break
        system = hessian + columns @ sparse.diags(price / slack) @ rows
        try:
            solve = splu(system.tocsc(), permc_spec="MMD_AT_PLUS_A").solve
        except RuntimeError:  # singular up to rounding, as it gets near the minimum only
            break
        state = slack, price, primal, dual
        _, ds, dp = _newton_step(solve, rows, columns, state, np.zeros_like(slack))
        length = min(_longest(slack, ds), _longest(price, dp))
        reached = (slack + length * ds) @ (price + length * dp) / len(bounds)
        target = (reached / gap) ** 3 * gap - ds * dp
        dx, ds, dp = _newton_step(solve, rows, columns, state, target)
        length = _SHY * min(_longest(slack, ds), _longest(price, dp))
        x = x + length * dx
        slack = slack + length * ds
        price = price + length * dp
    return x * scale


def _newton_step(
    solve: Callable[[np.ndarray], np.ndarray],
    rows: sparse.csr_matrix,
    columns: sparse.csc_matrix,
    state: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    target: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give the step of x, slack and price towards slack * price == target."""
    slack, price, primal, dual = state
    dx = solve(columns @ ((target - slack * price - price * primal) / slack) - dual)
    ds = rows @ dx + primal
    return dx, ds, (target - slack * price - price * ds) / slack


def _longest(values: np.ndarray, steps: np.ndarray) -> float:
    """By how much of the steps positive values can change and stay positive, 1 at most."""
    falling = steps < 0
    return min(1.0, float((-values[falling] / steps[falling]).min(initial=np.inf)))

"""Convex quadratic programs with linear inequalities, by an interior-point method."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

__all__ = ["minimise_quadratic"]

_TOLERANCE = 1e-9
_MAX_ITERATIONS = 60
_STEP_SHARE = 0.99  # of the way to where an inequality would be violated


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
        If it has not converged after 60 iterations, what they have reached.
    """
    x = np.zeros(hessian.shape[0])
    if not len(bounds):
        return x
    scale = max(1.0, float(np.abs(bounds).max()))
    bounds = bounds / scale
    columns = rows.T.tocsc()
    slack = np.ones(len(bounds))
    multipliers = np.ones(len(bounds))
    for _ in range(_MAX_ITERATIONS):
        dual_residual = hessian @ x - columns @ multipliers
        residual = rows @ x - slack - bounds
        gap = slack @ multipliers / len(bounds)
        if max(np.abs(dual_residual).max(), np.abs(residual).max(), gap) < _TOLERANCE:
            break
        solve = _solver(hessian + columns @ sparse.diags(multipliers / slack) @ rows)
        state = slack, multipliers, residual, dual_residual
        _, ds, dp = _newton_step(solve, rows, columns, state, np.zeros_like(slack))
        length = min(_longest(slack, ds), _longest(multipliers, dp))
        reached = (slack + length * ds) @ (multipliers + length * dp) / len(bounds)
        target = (reached / gap) ** 3 * gap - ds * dp
        dx, ds, dp = _newton_step(solve, rows, columns, state, target)
        length = _STEP_SHARE * min(_longest(slack, ds), _longest(multipliers, dp))
        x = x + length * dx
        slack = slack + length * ds
        multipliers = multipliers + length * dp
    return x * scale


def _solver(system: sparse.csc_matrix) -> Callable[[np.ndarray], np.ndarray]:
    """Factor a positive definite matrix, pivots on the diagonal, so that little fills in."""
    system = system.tocsc()
    # What rounding takes from it near the minimum, where multipliers / slack are far apart.
    system = system + 1e-15 * system.diagonal().max() * sparse.identity(len(system.diagonal()))
    options = {"SymmetricMode": True}
    lu = splu(system.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    return lu.solve


def _newton_step(
    solve: Callable[[np.ndarray], np.ndarray],
    rows: sparse.csr_matrix,
    columns: sparse.csc_matrix,
    state: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    target: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give the step of x, slack and multipliers towards slack * multipliers == target."""
    slack, multipliers, residual, dual_residual = state
    dx = solve(columns @ ((target - multipliers * (slack + residual)) / slack) - dual_residual)
    ds = rows @ dx + residual
    return dx, ds, (target - multipliers * (slack + ds)) / slack


def _longest(values: np.ndarray, steps: np.ndarray) -> float:
    """By how much of the steps positive values can change and stay positive, 1 at most."""
    falling = steps < 0
    return min(1.0, float((-values[falling] / steps[falling]).min(initial=np.inf)))

"""Errors of log residual sums of squares, by three routes, as columns come close to collinear."""

import numpy as np
from figure_style import BLUE, GREEN, GREY, ORANGE, card
from regression_routes import by_covariance, by_lstsq, by_swaps, exact, families_of

from skbn import LocalScoreTransformer

m, n = 5, 30
families = families_of(m)


def is_refused(rows):
    """Whether the library refuses the table."""
    try:
        return not len(LocalScoreTransformer().fit_transform(rows).log_determinants)
    except ValueError:
        return True


base = np.random.default_rng(0).normal(size=(n, m))
conditions, errors, refused = [], [], []
for exponent in np.arange(0, 12.1, 0.75):
    rows = base.copy()
    rows[:, 4] = base[:, 0] - base[:, 1] + 0.5 * base[:, 2] + 10.0**-exponent * base[:, 4]
    centred = rows - rows.mean(axis=0)
    conditions.append(np.linalg.cond(centred / np.linalg.norm(centred, axis=0)))
    found = [route(centred, families) for route in (by_covariance, by_lstsq, by_swaps)]
    errors.append(np.abs(found - exact(rows, families)))
    refused.append(is_refused(rows))
errors = np.maximum(errors, 1e-16)  # of shape (tables, routes, families)

figure, axes = card(3.1, 1, 3, sharey=True)
titles = ["covariance,\nCholesky factor", "least squares\n(lstsq)", "column swaps\n(skbn)"]
kappa = np.array(conditions)
first_refused = refused.index(True)
limit = np.sqrt(kappa[first_refused - 1] * kappa[first_refused])
for route, (ax, title, colour) in enumerate(zip(axes, titles, [ORANGE, BLUE, GREEN], strict=True)):
    points = np.stack([np.repeat(kappa, len(families)), errors[:, route].ravel()])
    ax.scatter(*np.unique(points, axis=1), s=7, color=colour, alpha=0.5, linewidth=0)
    ax.plot(kappa, errors[:, route].max(axis=1), color=colour, linewidth=1.8)
    has_none = np.isnan(errors[:, route]).any(axis=1)
    ax.scatter(kappa[has_none], np.full(has_none.sum(), 3e3), marker="x", color=colour, s=22)
    ax.plot(kappa, 2.2e-16 * kappa, color=GREY, linestyle=":", linewidth=1.2)
    ax.plot(kappa, 2.2e-16 * kappa**2, color=GREY, linestyle="--", linewidth=1.2)
    ax.axvspan(limit, 1e13, color=GREY, alpha=0.18, linewidth=0)
    ax.set(xscale="log", yscale="log", xlim=(1, 1e13), ylim=(5e-17, 2e4), title=title)
    ax.set(xticks=[1, 1e4, 1e8, 1e12])
    ax.minorticks_off()
axes[0].set_ylabel("error of log RSS")
axes[1].set_xlabel("condition number of the columns")

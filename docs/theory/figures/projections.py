"""The tree of projections: how the factors that seeds start from follow from one factor."""

import numpy as np
from figure_style import BLUE, FAINT, GREY, INK, ORANGE, card
from matplotlib.patches import Polygon

from skbn.paper import givens_column_swap

m, n_outer = 6, 3
rows = np.random.default_rng(0).normal(size=(30, m))
start = np.linalg.qr(rows, mode="r")


def project_out_last(factor):
    """Return the log of the last column's square, and the factor of the others without it."""
    for i in range(len(factor) - 2, -1, -1):
        factor = givens_column_swap(factor, i)
    return 2 * np.log(factor[0, 0]), factor[1:, 1:]


figure, ax = card(4.0)
unit = 0.105


def draw(factor, in_front, log_det, x, level):
    """Draw a factor as a triangle at a node, and the two that follow from it below."""
    chosen = rows[:, [column - 1 for column in in_front]]
    expected = np.linalg.slogdet(chosen.T @ chosen)[1] if in_front else 0.0
    np.testing.assert_allclose(log_det, expected, atol=1e-12)
    size = len(factor) * unit
    top = -1.15 * level
    half = size / 2
    corners = [(x - half, top), (x + half, top), (x + half, top - size * 0.8)]
    is_leaf = level == n_outer
    ax.add_patch(Polygon(corners, facecolor=BLUE if is_leaf else GREY, edgecolor=INK, zorder=2))
    text = "{" + ",".join(map(str, sorted(in_front))) + "}" if in_front else "{ }"
    ax.text(x, top - size * 0.8 - 0.04, text, ha="center", va="top", fontsize=8.5, zorder=3,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})  # fmt: skip
    ax.text(
        x - half - 0.04, top + 0.02, len(factor), ha="right", va="top", fontsize=8.5, color=GREY
    )
    if is_leaf:
        return
    below = 2.0 / 2**level
    for is_moved in (False, True):
        x_below = x + (below if is_moved else -below)
        colour = ORANGE if is_moved else GREY
        ends = [x, x_below], [top - size * 0.8 - 0.22, top - 1.15 + 0.02]
        ax.plot(*ends, color=colour, linewidth=2.4 if is_moved else 1.2, zorder=1)
        if is_moved:
            log_square, rest = project_out_last(factor)
            draw(rest, [len(factor), *in_front], log_det + log_square, x_below, level + 1)
        else:
            draw(factor[:-1, :-1], in_front, log_det, x_below, level + 1)


draw(start, [], 0.0, 0.0, 0)
for level in range(n_outer):
    y = -1.15 * level - 0.72
    ax.axhspan(y - 0.13, y + 0.13, color=FAINT, alpha=0.5, zorder=0, linewidth=0)
    ax.text(-4.75, y, f"column {m - level}", va="center", fontsize=8.5)
ax.text(-4.75, 0.12, "thin: the column drops out", color=GREY, va="center")
ax.text(4.05, 0.12, "thick: it is projected out", color="#a36f00", va="center", ha="right")
ax.set(xlim=(-4.8, 4.1), ylim=(-4.15, 0.25))
ax.axis("off")

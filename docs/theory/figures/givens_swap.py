"""One swap of neighbouring columns: before, exchanged, the rotation, triangular again."""

import numpy as np
from figure_style import INK, OF_COLUMN, VERMILION, card, number
from matplotlib.patches import Rectangle

from skbn.paper import givens_column_swap

rows = np.random.default_rng(2).normal(size=(12, 4)) + np.arange(12)[:, np.newaxis] / 6
factor = np.linalg.qr(rows, mode="r")
factor *= np.sign(np.diag(factor))[:, np.newaxis]
i = 1  # the second column and the third
after = givens_column_swap(factor, i)
exchanged = factor[:, [0, 2, 1, 3]]
rho = np.hypot(exchanged[i, i], exchanged[i + 1, i])
cos, sin = exchanged[i, i] / rho, exchanged[i + 1, i] / rho
rotation = np.eye(4)
rotation[i : i + 2, i : i + 2] = [[cos, sin], [-sin, cos]]
np.testing.assert_allclose(rotation @ exchanged, after, atol=1e-12)


def draw(ax, matrix, columns, title, marked):
    """Draw a matrix as cells, its columns in their colours, some cells framed."""
    for (row, column), value in np.ndenumerate(np.where(np.abs(matrix) < 1e-12, 0, matrix)):
        colour = OF_COLUMN[columns[column]] if columns else INK
        if value:
            tint = Rectangle((column, row), 1, 1, facecolor=colour, alpha=0.3 if columns else 0.1)
            ax.add_patch(tint)
            text = number(value, 2) if columns or 0 < abs(value) < 1 else "1"
            ax.text(column + 0.5, row + 0.5, text, ha="center", va="center")
        ax.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor="white", linewidth=2))
        if columns:
            ax.text(column + 0.5, -0.12, columns[column], ha="center", weight="bold", color=colour)
    for row, column, width, height, colour in marked:
        frame = Rectangle((column, row), width, height, fill=False, edgecolor=colour, linewidth=2.2)
        ax.add_patch(frame)
    ax.set_title(title, pad=4)
    ax.set(xlim=(-0.05, 4.05), ylim=(4.05, -0.5), aspect="equal")
    ax.axis("off")


figure, axes = card(5.2, 2, 2)
draw(axes[0, 0], factor, "ABCD", "1. a triangular factor $R$", [])
draw(axes[0, 1], exchanged, "ACBD", "2. columns exchanged", [(i + 1, i, 1, 1, VERMILION)])
draw(axes[1, 0], rotation, "", "3. the rotation $G$", [(i, i, 2, 2, INK)])
draw(axes[1, 1], after, "ACBD", "4. their product", [(i, i, 3, 2, INK)])

"""GreedySwaps for m = 4: the columns' positions, and the set that each swap makes a prefix."""

from itertools import pairwise

import numpy as np
from figure_style import FAINT, GREY, INK, OF_COLUMN, card, name_of
from matplotlib.patches import FancyBboxPatch

from skbn.paper import greedy_swaps

m = 4
swaps = greedy_swaps(m).tolist()
orders = [list("ABCD")]
for i in swaps:
    after = orders[-1].copy()
    after[i], after[i + 1] = after[i + 1], after[i]
    orders.append(after)

figure, ax = card(3.1)
for step, i in enumerate(swaps, start=1):
    box = FancyBboxPatch(
        (step - 0.27, 0.75), 0.54, i + 0.5, boxstyle="round,pad=0,rounding_size=0.2"
    )
    box.set(facecolor=FAINT, edgecolor="none", zorder=0)
    ax.add_patch(box)
    ax.text(step, m + 0.75, name_of(orders[step][: i + 1]), ha="center", weight="bold")
ax.text(0, m + 0.75, "start", ha="center", color=GREY)

ease = 0.5 - 0.5 * np.cos(np.linspace(0, np.pi, 30))
for column, colour in OF_COLUMN.items():
    positions = [order.index(column) + 1 for order in orders]
    x = np.concatenate([step + np.linspace(0.2, 0.8, 30) for step in range(len(swaps))])
    y = np.concatenate([a + (b - a) * ease for a, b in pairwise(positions)])
    x, y = np.r_[-0.2, x, len(swaps) + 0.2], np.r_[positions[0], y, positions[-1]]
    ax.plot(x, y, color=colour, linewidth=3.5, solid_capstyle="round")
    box = {"boxstyle": "circle,pad=0.16", "facecolor": colour, "edgecolor": "white"}
    for step, position in enumerate(positions):
        ax.text(
            step, position, column, ha="center", va="center", fontsize=8.5, weight="bold",
            color="white", bbox=box,
        )  # fmt: skip

for first, last, text in [
    (1, 4, "sets without D"),
    (5, 7, "D to the front"),
    (8, 11, "sets with D"),
]:
    ax.plot([first - 0.35, last + 0.35], [0.42, 0.42], color=INK, linewidth=1)
    ax.text((first + last) / 2, 0.3, text, ha="center", va="bottom")
ax.set(xlim=(-0.5, len(swaps) + 0.5), ylim=(m + 1.0, 0.0), yticks=range(1, m + 1))
ax.set(xlabel="swap", ylabel="position in the order", xticks=range(len(swaps) + 1))
ax.tick_params(length=0)
for spine in ax.spines.values():
    spine.set_visible(False)

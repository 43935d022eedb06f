"""The path over six columns, and the pieces of it that four seeds walk independently."""

import numpy as np
from figure_style import BLUE, GREEN, GREY, ORANGE, PURPLE, card

from skbn.paper import greedy_swaps, seed_path

m, n_seeds = 6, 4
swaps = greedy_swaps(m)
moves = np.ones(len(swaps), dtype=bool)  # what no seed walks: outer columns on their way
figure, ax = card(2.9)
ax.plot(range(1, len(swaps) + 1), swaps + 1, color=GREY, linewidth=0.8, zorder=1)

start = 0
for seed, colour in zip(range(n_seeds), [BLUE, ORANGE, GREEN, PURPLE], strict=True):
    order, piece = seed_path(m, n_seeds, seed)
    while swaps[start : start + len(piece)].tolist() != piece.tolist():
        start += 1
    steps = np.arange(start, start + len(piece))
    moves[steps] = False
    ax.axvspan(start + 0.5, steps[-1] + 1.5, color=colour, alpha=0.16, linewidth=0)
    ax.scatter(steps + 1, piece + 1, s=26, color=colour, zorder=2)
    in_front = [column + 1 for column in order[: bin(seed).count("1")]]
    label = ", ".join(map(str, in_front)) or "none"
    ax.text(steps.mean() + 1, 0.45, f"seed {seed}\nin front:\n{label}", ha="center", va="bottom")
    start += len(piece)
assert moves.sum() == len(swaps) - n_seeds * len(piece)
ax.scatter(np.flatnonzero(moves) + 1, swaps[moves] + 1, s=16, color=GREY, zorder=2)
ax.set(
    xlabel="swap of the whole path (grey: those that no seed needs)",
    ylabel="left position of the swap",
)
ax.set(ylim=(5.4, 0.4), xlim=(0, len(swaps) + 1), yticks=range(1, m))

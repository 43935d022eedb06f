"""The max zeta transform over three bits: the best local score of alcohol among sets of parents."""

import numpy as np
from figure_style import BLUE, FAINT, GREEN, GREY, INK, ORANGE, card, number
from sklearn.datasets import load_wine

from skbn import LocalScoreTransformer

child, others = "alcohol", ["malic_acid", "total_phenols", "flavanoids"]
rows = load_wine(as_frame=True).data[[*others, child]]
scores = LocalScoreTransformer().fit_transform(rows)
table = scores.to_array()[3]  # bit v stands for the v-th of the others
stages = [table]
for bit in range(3):
    table = table.copy()
    for i in range(8):
        if i >> bit & 1:
            table[i] = max(table[i], table[i ^ 1 << bit])
    stages.append(table)
for i in range(8):
    candidates = [name for v, name in enumerate(others) if i >> v & 1]
    best = scores.best_parents(child, candidates=candidates)
    np.testing.assert_allclose(table[i], scores.local_score(child, best), rtol=1e-12)
assert sorted(best) == ["malic_acid", "total_phenols"]

figure, ax = card(4.3)
for bit, colour in enumerate([BLUE, ORANGE, GREEN]):
    for i in range(8):
        ax.plot([bit, bit + 1], [i, i], color=GREY, linewidth=1, zorder=0)
        if i >> bit & 1:
            ax.plot([bit, bit + 1], [i ^ 1 << bit, i], color=colour, linewidth=1.8, zorder=1)
for stage, values in enumerate(stages):
    for i, value in enumerate(values):
        is_raised = stage > 0 and value != stages[stage - 1][i]
        colour = [BLUE, ORANGE, GREEN][stage - 1] if is_raised else FAINT
        box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": colour}
        box |= {"linewidth": 2.2 if is_raised else 1.0}
        text = number(value, 1)
        ax.text(stage, i, text, ha="center", va="center", fontsize=9.5, bbox=box, color=INK)
for i in range(8):
    letters = "".join(name[0] for v, name in enumerate(others) if i >> v & 1)
    ax.text(-0.42, i, letters or "∅", ha="right", va="center", weight="bold")
headings = ["local\nscore", "over m", "over t", "over f"]
for stage, (heading, colour) in enumerate(zip(headings, [INK, BLUE, ORANGE, GREEN], strict=True)):
    ax.text(stage, -0.6, heading, ha="center", va="bottom", color=colour, weight="bold")
ax.set(xlim=(-0.85, 3.4), ylim=(7.5, -1.3))
ax.axis("off")

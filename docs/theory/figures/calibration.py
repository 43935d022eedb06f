"""How often edges of some probability are there, in tables drawn from the prior."""

import json
from pathlib import Path

import figure_style
import numpy as np
from figure_style import BLUE, GREY, ORANGE, VERMILION, card

# Written by `python tests/benchmarks/calibration.py --write docs/theory/figures/calibration.json`.
path = Path(figure_style.__file__).with_name("calibration.json")
stored = json.loads(path.read_text(encoding="utf-8"))

figure, axes = card(2.1, columns=3, sharex=True, sharey=True)
titles = {"uniform": "uniform prior", "order": "order prior", "bootstrap": "bootstrap"}
for ax, (name, title), colour in zip(axes, titles.items(), (BLUE, ORANGE, VERMILION), strict=True):
    number, total, there, error = np.array(stored[name])
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1)
    ax.errorbar(total / number, there / number, 2 * error, color=colour, marker="o", markersize=4)
    ax.set(title=title, xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=(0, 0.5, 1))
    ax.set_xticks((0, 0.5, 1), ("0", "0.5", "1"))
    ax.set_yticks((0, 0.5, 1), ("0", "0.5", "1"))
axes[0].set_ylabel("share there")
axes[1].set_xlabel("probability of an edge, or its support")

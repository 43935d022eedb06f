"""Errors of other programs' edge probabilities, and how many of them are certain."""

import json
from pathlib import Path

import figure_style
from figure_style import BLUE, GREY, ORANGE, VERMILION, card

# Lines written by `python tests/benchmarks/posterior_calibration.py --columns 8 --write FILE`.
path = Path(figure_style.__file__).with_name("other_posteriors.jsonl")
found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
names = {
    "exact": "exact",
    "sampled": "sampled",
    "sumu, splits corrected": "sumu, corrected",
    "sumu": "sumu",
    "bootstrap": "bootstrap",
    "bootstrap of causal-learn's GES": "bootstrap of GES",
    "DiBS": "DiBS",
    "DiBS, mixture": "DiBS, mixture",
}

figure, axes = card(2.9, columns=2, sharey=True)
axes[0].set(title="mean error", xscale="log", xlim=(1e-3, 0.3))
axes[1].set(title="share of certain pairs", xlim=(-0.03, 0.8))
for ax, measure in zip(axes, ("mean error", "certain"), strict=True):
    for n_rows, colour, marker in ((50, ORANGE, "o"), (200, VERMILION, "s"), (1000, BLUE, "^")):
        of_program = {each["program"]: each[measure] for each in found if each["rows"] == n_rows}
        shown = {i: of_program[name] for i, name in enumerate(names) if name in of_program}
        label = f"{n_rows:,} rows"
        ax.plot([*shown.values()], [*shown], marker, color=colour, markersize=5, label=label)
    ax.grid(axis="y", color=GREY, alpha=0.3)
    ax.set_yticks(range(len(names)), names.values())
axes[0].invert_yaxis()
axes[1].legend(frameon=False, fontsize=8.5, loc="upper right")

"""The sets of four columns of the wine data, their best scores, and the path to the optimum."""

from itertools import combinations

from figure_style import BLUE, FAINT, GREY, INK, SKY, card, number
from sklearn.datasets import load_wine

from skbn import GaussianBNLearner, LocalScoreTransformer

names = ["alcohol", "color_intensity", "flavanoids", "proline"]
rows = load_wine(as_frame=True).data[names]
scores = LocalScoreTransformer().fit_transform(rows)
best, sinks = {frozenset(): 0.0}, {}
for size in range(1, 5):
    for members in map(frozenset, combinations(names, size)):
        of_sink = {}
        for sink in members:
            rest = members - {sink}
            parents = scores.best_parents(sink, candidates=sorted(rest))
            of_sink[sink] = best[rest] + scores.local_score(sink, parents), sorted(parents)
        best[members] = max(score for score, _ in of_sink.values())
        sinks[members] = {
            sink: parents
            for sink, (score, parents) in of_sink.items()
            if score > best[members] - 1e-9
        }
everything = frozenset(names)
learner = GaussianBNLearner().fit(rows)
assert abs(best[everything] - learner.network_score_) < 1e-9

place = {}
for members in best:
    row = [s for s in best if len(s) == len(members)]
    place[members] = ((row.index(members) - (len(row) - 1) / 2) * 1.0, len(members) * 1.0)


def letters(members):
    """Return the first letters of some columns."""
    return "".join(sorted(name[0] for name in members)) or "∅"


figure, ax = card(4.9)
for members, (x, y) in place.items():
    for sink in members:
        below = place[members - {sink}]
        is_best = sink in sinks[members]
        style = {"color": SKY if is_best else FAINT, "linewidth": 2 if is_best else 1}
        ax.plot([below[0], x], [below[1], y], zorder=1 if is_best else 0, **style)
remaining = everything
while remaining:
    sink = max(sinks[remaining])  # the last column that can be a sink
    (x1, y1), (x0, y0) = place[remaining], place[remaining - {sink}]
    ax.plot([x0, x1], [y0, y1], color=BLUE, linewidth=5, zorder=2, solid_capstyle="round")
    parents = sinks[remaining][sink]
    assert set(learner.dag_.predecessors(sink)) == set(parents)
    text = f"{sink[0]} | {letters(parents)}"
    box = {"boxstyle": "round,pad=0.2", "facecolor": BLUE, "edgecolor": "white"}
    ax.text(
        (x0 + x1) / 2, (y0 + y1) / 2, text, ha="center", va="center", fontsize=9.5, color="white",
        weight="bold", zorder=4, bbox=box,
    )  # fmt: skip
    remaining -= {sink}
for members, (x, y) in place.items():
    text = f"{letters(members)}\n{number(best[members], 1)}"
    box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": GREY}
    ax.text(x, y, text, ha="center", va="center", fontsize=9.5, color=INK, bbox=box, zorder=3)
ax.set(xlim=(-2.9, 2.9), ylim=(-0.25, 4.25))
ax.axis("off")

"""The subsets of four columns, numbered by the swap that first makes each a prefix."""

from itertools import combinations, pairwise

from figure_style import BLUE, FAINT, GREEN, GREY, INK, ORANGE, card, name_of

from skbn import greedy_swaps

columns = "ABCD"
place = {}
for size in range(5):
    sets = [frozenset(members) for members in combinations(columns, size)]
    for i, members in enumerate(sets):
        place[members] = ((i - (len(sets) - 1) / 2) * 1.0, size * 1.0)

order = list(columns)
first_visit = {frozenset(order[:size]): 0 for size in range(5)}
for swap, i in enumerate(greedy_swaps(4).tolist(), start=1):
    order[i], order[i + 1] = order[i + 1], order[i]
    assert frozenset(order[: i + 1]) not in first_visit
    first_visit[frozenset(order[: i + 1])] = swap
assert len(first_visit) == 2**4


def colour_of(visit):
    """Return the colour of the path's part: start, without D, D to the front, with D."""
    return GREY if visit == 0 else BLUE if visit <= 4 else ORANGE if visit <= 7 else GREEN


figure, ax = card(4.4)
for members, (x, y) in place.items():
    for column in members:
        below = place[members - {column}]
        ax.plot([below[0], x], [below[1], y], color=FAINT, linewidth=1.2, zorder=0)
path = sorted((visit, members) for members, visit in first_visit.items() if visit)
for (_, before), (visit, after) in pairwise(path):
    arrow = {"arrowstyle": "-|>", "color": colour_of(visit), "linewidth": 1.8}
    arrow |= {"connectionstyle": "arc3,rad=0.16", "shrinkA": 15, "shrinkB": 15}
    ax.annotate("", place[after], place[before], arrowprops=arrow, zorder=1)
for members, (x, y) in place.items():
    visit = first_visit[members]
    ax.scatter(x, y, s=860, color="white", edgecolor=colour_of(visit), linewidth=2.2, zorder=2)
    ax.text(x, y + 0.07, name_of(members), ha="center", va="center", fontsize=9, zorder=3)
    ax.text(
        x, y - 0.12, visit, ha="center", va="center", fontsize=9.5,
        color=INK if visit else GREY, weight="bold", zorder=3,
    )  # fmt: skip
for colour, text, y in [
    (GREY, "0: first order", 4.0),
    (BLUE, "without D", 3.8),
    (ORANGE, "D to the front", 3.6),
    (GREEN, "with D", 3.4),
]:
    ax.text(-2.75, y, text, color=colour, weight="bold", va="center")
ax.set(xlim=(-2.85, 2.85), ylim=(-0.3, 4.3))
ax.axis("off")

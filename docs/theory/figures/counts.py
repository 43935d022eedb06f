"""How many acyclic graphs, families and sets of columns there are."""

from math import comb

from figure_style import BLUE, GREEN, VERMILION, card

n_dags = [1]
for m in range(1, 31):
    signed = (
        (-1) ** (k + 1) * comb(m, k) * 2 ** (k * (m - k)) * n_dags[m - k] for k in range(1, m + 1)
    )
    n_dags.append(sum(signed))
assert n_dags[1:6] == [1, 3, 25, 543, 29281]

columns = range(2, 31)
figure, ax = card(2.9)
for counts, colour in [
    (n_dags[2:], VERMILION),
    ([m * 2 ** (m - 1) for m in columns], BLUE),
    ([2**m for m in columns], GREEN),
]:
    ax.plot(columns, [float(count) for count in counts], color=colour, linewidth=2)
ax.text(20, 1e85, "acyclic graphs", color=VERMILION, ha="right")
ax.text(24, 1e14, "families, $m\\,2^{m-1}$", color=BLUE, ha="right", va="bottom")
ax.text(30, 1e14, "sets, $2^m$", color=GREEN, ha="right", va="bottom")
ax.set(yscale="log", xlabel="columns $m$", ylabel="how many", xlim=(2, 30.5), ylim=(1, None))
ax.set_yticks([10.0**power for power in (0, 50, 100, 150)])
ax.minorticks_off()

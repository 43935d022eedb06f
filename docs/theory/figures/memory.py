"""The memory of the search in bytes a set of columns, by the number of outer columns."""

from figure_style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILION, card

from skbn._exact.plan import SearchPlan, plan_search

columns = range(16, 31)
figure, ax = card(3.5)
colours = [INK, VERMILION, ORANGE, GREEN, SKY, BLUE]
for n_outer, colour in zip([0, 1, 2, 3, 5, 8], colours, strict=True):
    bytes_a_set = [SearchPlan(m, n_outer).n_bytes / 2**m for m in columns]
    ax.plot(columns, bytes_a_set, color=colour, linewidth=1.8)
    y = bytes_a_set[-1] + {5: 1, 8: -2.5}.get(n_outer, 0)
    ax.text(30.55, y, f"{n_outer}", color=colour, va="center", weight="bold")
ax.text(30.65, 146, "outer\ncolumns", fontsize=9, va="bottom", ha="center")

chosen = [plan_search(m, 2**60).n_bytes for m in columns]
ax.scatter(
    columns, [n / 2**m for n, m in zip(chosen, columns, strict=True)], color=PURPLE, zorder=3
)
for m, n_bytes in zip(columns, chosen, strict=True):
    if m in (18, 20, 24, 26, 28, 30):
        text = f"{n_bytes / 1e9:.2g} GB"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8}
        y = n_bytes / 2**m + 5
        ax.text(m, y, text, color=INK, ha="center", fontsize=8.5, zorder=4, bbox=box)
ax.axhline(16, color=GREY, linestyle=":", zorder=0)
ax.text(16, 13, "$L$ and $F$ alone", color=GREY, va="top")
ax.set(xlabel="columns $m$", ylabel="bytes a set of columns", xticks=range(16, 31, 2))
ax.set(xlim=(15.7, 31.2), ylim=(0, 145))

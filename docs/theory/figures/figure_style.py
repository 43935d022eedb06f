"""What the figures of the theory pages share: colours, text sizes and the card they are on.

The colours are those of Okabe & Ito, which the colour-blind tell apart. Figures are narrow
and have a white ground, so that they can be read on a phone and in the dark theme.
"""

import matplotlib.pyplot as plt

BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
SKY, VERMILION = "#56B4E9", "#D55E00"
INK, GREY, FAINT = "#1a1a1a", "#8c8c8c", "#e6e6e6"
OF_COLUMN = {"A": BLUE, "B": ORANGE, "C": GREEN, "D": PURPLE}
WIDTH = 4.7


def card(height, rows=1, columns=1, **options):
    """Return a figure of the common width and its axes."""
    plt.rcParams.update(
        {
            "font.size": 9.5,
            "axes.titlesize": 9.5,
            "axes.labelsize": 9.5,
            "xtick.labelsize": 9,
            "ytick.labelsize": 9,
            "text.color": INK,
            "axes.labelcolor": INK,
            "axes.edgecolor": GREY,
            "xtick.color": INK,
            "ytick.color": INK,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "mathtext.fontset": "cm",
            "svg.hashsalt": "skbn",
            "figure.facecolor": "white",
            "savefig.facecolor": "white",
        }
    )
    return plt.subplots(rows, columns, figsize=(WIDTH, height), layout="constrained", **options)


def name_of(columns):
    """Return a set of columns as its letters, in order."""
    return "".join(sorted(columns)) or "∅"


def number(value, digits):
    """Return a number as text, with a minus sign that is not a hyphen."""
    return f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")

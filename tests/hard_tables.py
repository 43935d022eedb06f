"""Tables whose regressions are hard to compute, of numbers that float64 holds."""

import math

import numpy as np

# J. W. Longley (1967), JASA 62, 819-841: employment on price deflator, gross national
# product, unemployed, armed forces, population, year. The certified regression is that
# of the NIST Statistical Reference Datasets.
LONGLEY = np.array(
    [
        [60323, 83.0, 234289, 2356, 1590, 107608, 1947],
        [61122, 88.5, 259426, 2325, 1456, 108632, 1948],
        [60171, 88.2, 258054, 3682, 1616, 109773, 1949],
        [61187, 89.5, 284599, 3351, 1650, 110929, 1950],
        [63221, 96.2, 328975, 2099, 3099, 112075, 1951],
        [63639, 98.1, 346999, 1932, 3594, 113270, 1952],
        [64989, 99.0, 365385, 1870, 3547, 115094, 1953],
        [63761, 100.0, 363112, 3578, 3350, 116219, 1954],
        [66019, 101.2, 397469, 2904, 3048, 117388, 1955],
        [67857, 104.6, 419180, 2822, 2857, 118734, 1956],
        [68169, 108.4, 442769, 2936, 2798, 120445, 1957],
        [66513, 110.8, 444546, 4681, 2637, 121950, 1958],
        [68655, 112.6, 482704, 3813, 2552, 123366, 1959],
        [69564, 114.2, 502601, 3931, 2514, 125368, 1960],
        [69331, 115.7, 518173, 4806, 2572, 127852, 1961],
        [70551, 116.9, 554894, 4007, 2827, 130081, 1962],
    ]
)


def whole_numbers(m=6):
    return np.random.default_rng(0).integers(-1000, 1000, size=(30, m)).astype(float)


def powers(degree):
    """The powers of some first whole numbers, as in a polynomial on equidistant points."""
    return np.arange(degree + 5)[:, None] ** np.arange(1.0, degree + 1)


def nearly_collinear(digits, *, others=(), m=6):
    """Column 3 is column 0, and others, and a share of itself, 10**-digits."""
    rows = whole_numbers(m)
    share = 2.0 ** -round(digits * math.log2(10))
    rows[:, 3] = rows[:, 0] + rows[:, list(others)].sum(axis=1) + share * rows[:, 3]
    return rows


def hard_tables():
    """Each table, by a name."""
    tables = {f"powers 1 to {k} of 0..{k + 4}": powers(k) for k in range(4, 11)}
    for k in range(3, 13):
        tables[f"two columns apart by 1e-{k}"] = nearly_collinear(k)
        tables[f"four columns apart by 1e-{k}"] = nearly_collinear(k, others=(1, 2))
    for k in (6, 10):
        tables[f"four of twelve apart by 1e-{k}"] = nearly_collinear(k, others=(7, 11), m=12)
    for k in (20, 30, 40):
        tables[f"means 2^{k}, spread 1000"] = whole_numbers() + 2.0**k
    units = 2.0 ** np.array([-505, 495, -300, 0, 300, 400])
    tables["units from 2^-505 to 2^495"] = whole_numbers() * units
    tables["Longley"] = LONGLEY
    return tables

"""Bounds over all parent sets the obvious, slow way, with the products as exact fractions."""

import math
from fractions import Fraction
from itertools import combinations

import mpmath

from reference.branch_and_cut import coefficient


def determinant(rows):
    """The determinant of a positive definite matrix, by elimination."""
    rows, product = [list(row) for row in rows], Fraction(1)
    while rows:
        (pivot, *first), *others = rows
        product *= pivot
        rows = [
            [entry - row[0] / pivot * above for entry, above in zip(row[1:], first, strict=True)]
            for row in others
        ]
    return product


def log_determinant(matrix):
    """The log-determinant of a positive definite matrix of float64, with 50 digits."""
    value = determinant([[Fraction(entry) for entry in row] for row in matrix])
    with mpmath.workdps(60):
        return Fraction(str(mpmath.log(mpmath.mpf(value.numerator) / value.denominator)))


def priced_families(products, starts, weight, costs, costs_of_columns, n_required):
    """What each family costs, by the places of its parents; the last node is the child."""
    rows = [[Fraction(entry) for entry in row] for row in products]

    def minor(columns):
        return determinant([[rows[a][b] for b in columns] for a in columns])

    k, found = len(starts) - 2, {}
    for size in range(n_required, k + 1):
        for some in combinations(range(n_required, k), size - n_required):
            parents = (*range(n_required), *some)
            columns = [c for p in parents for c in range(starts[p], starts[p + 1])]
            if math.isfinite(costs[size] + costs_of_columns[len(columns)]):
                residuals = minor([*columns, *range(starts[k], starts[k + 1])]) / minor(columns)
                cost = weight * math.log(residuals)
                found[parents] = cost + costs[size] + costs_of_columns[len(columns)]
    return found


def reduced_costs(costs, child, cuts, multipliers):
    """What families cost less what cuts pay for them, by their parents."""
    weighed = [*zip(cuts, multipliers, strict=True)]
    return {
        parents: cost - sum(by * coefficient(cut, child, parents) for cut, by in weighed)
        for parents, cost in costs.items()
    }


def replay_lists(families, cuts, multipliers, thresholds, listed, with_dominated, tolerance):
    """The bounds that follow from lists, and the families that these lack.

    `families` and `listed` have, for each child, what families cost by their parents.
    """
    least, lacking = [], []
    for x, (own, known, threshold) in enumerate(zip(families, listed, thresholds, strict=True)):
        reduced = reduced_costs(own, x, cuts, multipliers)
        least.append(min([threshold, *reduced.values()]))
        for parents, value in reduced.items():
            if value < threshold - tolerance and not any(
                cost <= own[parents] + tolerance
                and (each == parents or (not with_dominated and set(each) < set(parents)))
                for each, cost in known.items()
            ):
                lacking.append((x, parents))
    bound = sum(least) + sum(by * cut[2] for cut, by in zip(cuts, multipliers, strict=True))
    return bound, bound + min(t - b for t, b in zip(thresholds, least, strict=True)), lacking

"""Branch and cut the obvious, slow way.

`families` has, for each column as a child, pairs of a cost and a frozenset of parents. A cut is a
triple of its columns, its table and its bound; the table is None for the cut of a cluster.
"""

import math
from functools import cache
from itertools import permutations, product

import numpy as np

from reference.networks import is_acyclic


def cheapest_network(families):
    """The least cost of a network of families; infinite if there is none."""
    costs = product(*([cost for cost, _ in each] for each in families))
    networks = product(*([parents for _, parents in each] for each in families))
    least = math.inf
    for cost, network in zip(map(sum, costs), networks, strict=True):
        if cost < least and is_acyclic(network):
            least = cost
    return least


@cache
def acyclic_masks(w):
    """All choices of sets of positions that precede each in some order, as bits."""
    networks = set()
    for order in permutations(range(w)):
        choices = [[]] * w
        before = [0]
        for x in order:
            choices[x] = before
            before = [*before, *(mask | 1 << x for mask in before)]
        networks.update(product(*choices))
    return sorted(networks)


def cheapest_masks(table):
    """The acyclic choice whose table entries have the least sum."""
    return min(acyclic_masks(len(table)), key=lambda masks: value_of_masks(table, masks))


def value_of_masks(table, masks):
    return sum(row[mask] for row, mask in zip(table, masks, strict=True))


def coefficient(cut, child, parents):
    columns, table, _ = cut
    if callable(table):
        return table(child, parents)
    columns = list(columns)
    if child not in columns:
        return 0
    among = [y in parents for y in columns]
    if table is None:
        return 0 if any(among) else 1
    return table[columns.index(child)][sum(1 << i for i, is_in in enumerate(among) if is_in)]


def determinant_coefficient(matrix, starts, offsets, child, parents):
    """The coefficient of a family in a determinant cut."""
    inside = [p for p in parents if p < len(offsets)]
    before = [c for p in inside for c in range(starts[p], starts[p + 1])]
    family = [*before, *range(starts[child], starts[child + 1])]
    terms = [math.log(np.linalg.det(matrix[np.ix_(each, each)])) for each in (family, before)]
    return terms[0] - terms[1] + offsets[child]


def bound_and_reduced_costs(families, cuts, step, number=float):
    """The bound of a step, and the reduced cost of each family."""
    used = [
        (cuts[i], number(multiplier))
        for i, multiplier in zip(step.cuts, step.multipliers, strict=True)
    ]
    reduced = []
    for x, of_child in enumerate(families):
        own = [(cut, m) for cut, m in used if x in cut[0]]  # coefficients of others are 0
        reduced.append(
            [
                number(cost) - sum(m * number(coefficient(cut, x, parents)) for cut, m in own)
                for cost, parents in of_child
            ]
        )
    return sum(map(min, reduced)) + sum(m * number(cut[2]) for cut, m in used), reduced


def without_expensive(families, bound, reduced, cutoff):
    """The families that can be part of a network that costs less than the cutoff."""
    return [
        [
            family
            for family, value in zip(families[x], reduced[x], strict=True)
            if bound - min(reduced[x]) + value < cutoff
        ]
        for x in range(len(families))
    ]


def of_child(families, required, branch, side):
    """The families and the required arcs of a node's child."""
    a, b = branch.parent, branch.child
    forbidden = {(a, b)} if side == 0 else set()
    required = required | {(a, b)} if side == 1 else required

    def fits(x, parents):
        arcs = {(p, x) for p in parents}
        if arcs & forbidden or not {(p, y) for p, y in required if y == x} <= arcs:
            return False
        together = arcs | required
        return is_acyclic([{p for p, y in together if y == z} for z in range(len(families))])

    return [[f for f in families[x] if fits(x, f[1])] for x in range(len(families))], required


def replay(families, cuts, node, cutoff, required=frozenset(), best=-math.inf):
    """The bound that follows from a tree."""
    for step in node.steps:
        if not all(families):
            return cutoff
        bound, reduced = bound_and_reduced_costs(families, cuts, step)
        best = max(best, bound)
        families = without_expensive(families, bound, reduced, cutoff)
    if not all(families):
        return cutoff
    if node.branch is None:
        return min(best, cutoff)
    bounds = []
    for side, child in enumerate(node.children):
        inherited = of_child(families, required, node.branch, side)
        bounds.append(replay(inherited[0], cuts, child, cutoff, inherited[1], best))
    return min(bounds)

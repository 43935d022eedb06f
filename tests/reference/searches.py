"""Dynamic programs over sets of columns, in plain Python."""

import math

from reference.networks import families, ordered_partitions, subsets


def scores_by_tables(tables, log_det):
    """The score of each family: c + a0 * log det of the parents + a1 * log det of the family.

    The log-determinants are by mask.
    """
    scores = {}
    for x, parents in families(tables.shape[1]):
        mask = sum(1 << p for p in parents)
        c, a0, a1 = tables[:, len(parents)]
        scores[x, parents] = c + a0 * log_det[mask] + a1 * log_det[mask | 1 << x]
    return scores


def best_score_by_dynamic_program(scores, m):
    """The best network's score, by the best last column of each set of columns.

    Families may be missing, and have parents beside the m columns.
    """
    among = {}
    for (x, parents), score in scores.items():
        family = x, tuple(p for p in parents if p < m)
        among[family] = max(score, among.get(family, -math.inf))
    best_parents = {}
    for x in range(m):
        for candidates in subsets(v for v in range(m) if v != x):
            fewer = (tuple(v for v in candidates if v != c) for c in candidates)
            best_parents[x, candidates] = max(
                [among.get((x, candidates), -math.inf), *(best_parents[x, some] for some in fewer)]
            )
    best = {(): 0.0}
    for columns in subsets(range(m))[1:]:
        rests = ((x, tuple(v for v in columns if v != x)) for x in columns)
        best[columns] = max(best[rest] + best_parents[x, rest] for x, rest in rests)
    return best[tuple(range(m))]


def is_first_in_order(parents, others):
    """Whether a parent set precedes all others: fewer columns, then column by column."""
    return all((len(parents), tuple(parents)) <= (len(o), tuple(o)) for o in others)


def joined_over_subsets(values, join):
    """For each mask, the join (`max` or `sum`) of the values of all its subsets."""
    return [
        join(value for subset, value in enumerate(values) if subset & ~mask == 0)
        for mask in range(len(values))
    ]


def weights_of_partitions(values, m):
    """The weight of each ordered partition of the columns."""
    return {each: weight_of_partition(values, each) for each in ordered_partitions(range(m))}


def weight_of_partition(values, layers):
    """The sum over the networks of an ordered partition of the product over their columns.

    `values` has the weight of each column's parent set. A column has a parent in the layer before
    its own, if there is one, and its others in any layers before.
    """
    product_of_columns = 1.0
    for i, layer in enumerate(layers):
        before = sorted(v for earlier in layers[:i] for v in earlier)
        last = set(layers[i - 1]) if i else set()
        for x in layer:
            product_of_columns *= sum(
                values[x, parents]
                for parents in subsets(before)
                if not i or not last.isdisjoint(parents)
            )
    return product_of_columns

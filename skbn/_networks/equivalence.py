"""Markov equivalence: which edges of a network could as well be reversed.

Networks are equivalent if they state the same independences, and then a
score-equivalent criterion gives them the same score. Here they are lists of the masks
of each column's parents. Knowledge of directions is a list of masks too: of each column's
parents whose edges are fixed, as the knowledge rules out the reverse. Which pairs are
joined is the same in a whole class, so that knowledge says no more than this of its members.
"""

from __future__ import annotations

from itertools import combinations

from skbn._core.subsets import members_of

__all__ = ["canonical_member", "compelled_parents"]


def compelled_parents(parents: list[int], fixed: list[int] | None = None) -> list[int]:
    """Return the mask of each column's parents whose edges no equivalent network reverses.

    Parameters
    ----------
    parents : list of int
        The masks of the parents in an acyclic network.
    fixed : list of int, optional
        The masks of those parents whose edges are fixed. Only networks with these edges count
        then.

    Notes
    -----
    The edges that meet in a child without being joined at their other ends are
    compelled, and so are the fixed ones and those that follow by the four rules of Meek (1995),
    "Causal inference and causal explanation with background knowledge".
    """
    m = len(parents)
    joined = _neighbours(parents)
    compelled = [
        sum(1 << p for p in members_of(mask) if mask & ~joined[p] & ~(1 << p)) for mask in parents
    ]
    if fixed is not None:
        compelled = [own | known for own, known in zip(compelled, fixed, strict=True)]
    changed = True
    while changed:
        changed = False
        for child in range(m):
            for parent in members_of(parents[child] & ~compelled[child]):
                if _is_forced(parent, child, compelled, joined):
                    compelled[child] |= 1 << parent
                    changed = True
    return compelled


def _is_forced(parent: int, child: int, compelled: list[int], joined: list[int]) -> bool:
    # Rule 1: else a new pair of unjoined parents would meet in `parent`.
    if compelled[parent] & ~joined[child] & ~(1 << child):
        return True
    # Rule 2: else a cycle.
    between = compelled[child]
    if any(compelled[c] >> parent & 1 for c in members_of(between)):
        return True
    # Rule 3: else, of two unjoined parents of the child, one would have to meet the
    # other in `parent`, or the edges would close a cycle.
    spouses = members_of(between & joined[parent] & ~compelled[parent])
    if any(not joined[a] >> b & 1 for a, b in combinations(spouses, 2)):
        return True
    # Rule 4, which knowledge alone needs: else, where a -> b -> child and a is joined to the
    # parent and not to the child, `parent` -> a would close a cycle, and a -> `parent` would
    # make a new pair of unjoined parents.
    return any(
        compelled[b] & joined[parent] & ~joined[child] & ~(1 << child)
        for b in members_of(between & joined[parent])
    )


def canonical_member(parents: list[int], fixed: list[int] | None = None) -> list[int]:
    """Return the member of a network's equivalence class that the column order picks.

    Built from its last column back: of the columns that can be a sink of what
    remains, the last in column order is taken. It depends on the class and the knowledge
    alone.

    Parameters
    ----------
    parents : list of int
        The masks of the parents in an acyclic network.
    fixed : list of int, optional
        The masks of those parents whose edges the member must have too.

    Notes
    -----
    The algorithm of Dor & Tarsi (1992), "A simple algorithm to construct a
    consistent extension of a partially oriented graph".
    """
    joined = _neighbours(parents)
    compelled = compelled_parents(parents, fixed)
    member = [0] * len(parents)
    remaining = (1 << len(parents)) - 1
    while remaining:
        sink = next(
            x
            for x in reversed(members_of(remaining))
            if _can_be_sink(x, joined[x] & remaining, compelled, joined)
        )
        remaining ^= 1 << sink
        member[sink] = joined[sink] & remaining
    return member


def _can_be_sink(x: int, around: int, compelled: list[int], joined: list[int]) -> bool:
    """Whether all edges around x may point to it without a new pair of unjoined parents."""
    if any(compelled[y] >> x & 1 for y in members_of(around)):
        return False
    reversible = around & ~compelled[x]
    return all(not around & ~joined[y] & ~(1 << y) for y in members_of(reversible))


def _neighbours(parents: list[int]) -> list[int]:
    joined = list(parents)
    for child, mask in enumerate(parents):
        for parent in members_of(mask):
            joined[parent] |= 1 << child
    return joined

"""Networks that chains begin with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skbn._chains.candidates import Candidates

__all__ = ["random_parents"]


def random_parents(
    candidates: Candidates, movable: Sequence[int], max_parents: int, rng: np.random.Generator
) -> list[list[int]]:
    """Return the parents of each column in a random network: the required ones and at most one."""
    parents: list[list[int]] = [[] for _ in range(candidates.m)]
    waiting = rng.permutation(movable).tolist()
    placed = [z for z in range(candidates.m) if z not in waiting]
    while waiting:
        # A column whose required parents are placed.
        x = next(x for x in waiting if set(candidates.required[x]) <= set(placed))
        waiting.remove(x)
        parents[x] = [*candidates.required[x]]
        further = [z for z in candidates.possible[x] if z in placed and z not in parents[x]]
        if further and len(parents[x]) < max_parents:
            parents[x].append(int(rng.choice(further)))
        placed.append(x)
    return parents

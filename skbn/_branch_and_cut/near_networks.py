"""All networks, of all parent sets, that cost no more than some nats above the best one.

Column generation closes the gap of the root, so that few families are within reach: all of these
are listed, and a search chooses among them.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from skbn._branch_and_cut.all_parent_sets import checked
from skbn._branch_and_cut.column_generation import Bound, ColumnGeneration, Lists, Parents
from skbn._branch_and_cut.near_kernels import list_networks, new_tree
from skbn._branch_and_cut.pricing import OutOfTimeError, TooManyFamiliesError
from skbn._branch_and_cut.pricing_problem import Child
from skbn._branch_and_cut.relaxation import choices_of
from skbn._branch_and_cut.walk_kernels import DONE, FULL, N_FOUND
from skbn._core.resources import Threads
from skbn._exact.k_best import EquivalenceFilter, Removal

# In nats: the gap with which the root ends, how far down networks are listed if only their number
# is given, at first and at most, and what rounding may add to a cost.
_MOST_GAP, _FIRST_DEPTH, _LAST_DEPTH, _ROUNDING = 0.1, 1.0, 2.0**20, 1e-7
# Between two looks at the clock: some tenths of a second.
_NODES = 1 << 14
_MOST_NETWORKS = 1 << 17


class Near(NamedTuple):
    """Which networks are listed.

    Parameters
    ----------
    n : int or None
        How many are wanted; one more may be listed. None for all within the bound.
    within : float or None
        How much more than the best one they may cost; None for any number, if `n` is given.
    classes : EquivalenceFilter or None
        If given, only the best network of each class is listed.
    """

    n: int | None
    within: float | None
    classes: EquivalenceFilter | None


def near_networks(
    children: Sequence[Child],
    network: Sequence[Parents],
    step_of: Callable[[int, Parents], Removal],
    near: Near,
    *,
    rounding: float,
    deadline: float,
    seed: int = 0,
    n_jobs: int | None = None,
    tell: Callable[[float, float, str], None] | None = None,
) -> list[list[Removal]]:
    """Return the best networks, the best first: each the step of every child.

    Parameters
    ----------
    children, network, rounding, deadline, seed, n_jobs, tell
        As for `best_of_all_parent_sets`.
    step_of : callable
        The step of a child with some parents.
    near : Near

    Raises
    ------
    OutOfTimeError
        If the deadline has passed.
    TooManyFamiliesError
        If there are too many networks, or families that these may have.
    ProofError
        If the check finds that the families are not all that are within reach.
    """
    with Threads(n_jobs) as threads:
        settings = _ROUNDING, deadline, seed, threads, tell
        search = ColumnGeneration(
            children, network, *settings, most_gap=_MOST_GAP, rounding=rounding
        )
        generated = search.run()
        depth = _FIRST_DEPTH if near.within is None else near.within
        while True:
            lists = search.families_within(depth, with_dominated=True)
            if lists is None:
                raise TooManyFamiliesError
            steps = [step_of(*label) for label in lists.labels()]
            most = generated.cost + depth + _ROUNDING
            found = _networks(lists, steps, generated.bound, near, most, search.is_over)
            if near.within is not None or len(found) > (near.n or 0) or depth > _LAST_DEPTH:
                checked(children, generated._replace(lists=lists), rounding, threads, beyond=depth)
                return [[steps[f] for f in chosen] for chosen in found]
            depth *= 2


def _networks(
    lists: Lists,
    steps: list[Removal],
    bound: Bound,
    near: Near,
    most: float,
    is_over: Callable[[], bool],
) -> list[list[int]]:
    """Return networks of listed families by these, the cheapest first: the first n + 1, or all."""
    n, classes = near.n, near.classes
    families, rivals = lists.families, _rivals(lists, steps, classes)
    every = np.arange(families.cost.size)
    choices, least = choices_of(families, every, bound.cuts, bound.multipliers, rivals)
    tree, cost = new_tree(choices, least), families.cost
    found = np.empty((_MOST_NETWORKS, len(choices.start) - 1), dtype=np.int32)

    def best() -> list[list[int]]:
        own = found[: tree.numbers[N_FOUND]]
        kept: dict[Any, list[int]] = {}
        for i in np.argsort(cost[own].sum(axis=1), kind="stable").tolist():
            chosen = own[i].tolist()
            key = i if classes is None else classes.class_of(iter([steps[f] for f in chosen]))
            kept.setdefault(key, chosen)
            if n is not None and len(kept) > n:
                break
        return [*kept.values()]

    while (state := list_networks(choices, tree, most, found, _NODES)) != DONE:
        if is_over():
            raise OutOfTimeError
        if state == FULL:
            kept = best()
            if n is None or not n < len(kept) <= _MOST_NETWORKS // 2:
                raise TooManyFamiliesError
            most = float(cost[kept[-1]].sum()) + _ROUNDING
            found[: len(kept)] = kept
            tree.numbers[N_FOUND] = len(kept)
    return best()


def _rivals(
    lists: Lists, steps: list[Removal], classes: EquivalenceFilter | None
) -> list[tuple[int, int]]:
    """Return pairs of families with a covered edge that a listed network has the other way."""
    number = {label: f for f, label in enumerate(lists.labels())}
    return [
        (f, g)
        for (_, parents), f in number.items()
        for y in parents
        if (g := number.get((y, tuple(p for p in parents if p != y)))) is not None
        and classes is not None
        and classes.leave_out(steps[g], iter([steps[f]]))
    ]

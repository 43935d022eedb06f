"""The best network over all parent sets, and a bound that is checked.

Column generation bounds what any network costs, and lists the families that a better one may have;
branch and cut ends on the list.
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from skbn._branch_and_cut.branch_and_cut import BRANCH_AND_CUT_KERNELS, branch_and_cut
from skbn._branch_and_cut.checker_kernels import CHECKER_KERNELS
from skbn._branch_and_cut.column_generation import (
    ENDED_BY_BOUND,
    ColumnGeneration,
    Generated,
    Parents,
    margin_of,
)
from skbn._branch_and_cut.descent_kernels import DESCENT_KERNELS
from skbn._branch_and_cut.determinant_bound import DeterminantBound
from skbn._branch_and_cut.determinant_cuts import Correlations
from skbn._branch_and_cut.pricing_checker import (
    ROUNDING,
    certified_bound_of_others,
)
from skbn._branch_and_cut.pricing_kernels import PRICING_KERNELS
from skbn._branch_and_cut.pricing_problem import Child
from skbn._branch_and_cut.proof import DeterminantCut
from skbn._core.arrays import Floats
from skbn._core.exact_sums import lower_sum
from skbn._core.resources import ENDED_BY_TIME, Threads

KERNELS_OF_ALL_PARENT_SETS = (
    *BRANCH_AND_CUT_KERNELS,
    *CHECKER_KERNELS,
    *DESCENT_KERNELS,
    *PRICING_KERNELS,
)

# The share of the time for a bound by a share of the likelihood, in the end, and at first where
# pricing takes too long even without cuts.
_SHARE_OF_LIKELIHOOD, _SHARE_OF_DENSE = 0.1, 0.4
# The check of a bound may take this share of the time more: else its work would be lost.
_SHARE_OF_GRACE = 0.05


class Proven(NamedTuple):
    """A network, and what its check shows.

    Parameters
    ----------
    network : list of tuple of int
        The parents of each child.
    cost, bound : float
        What it costs, and what any network costs at least.
    n_nodes : int
        How many nodes the tree of branch and cut has.
    is_finished : bool
        Whether the search ended by itself.
    why_ended : str
        If it did not: why, in a sentence.
    """

    network: list[Parents]
    cost: float
    bound: float
    n_nodes: int
    is_finished: bool
    why_ended: str = ENDED_BY_TIME


def best_of_all_parent_sets(
    children: Sequence[Child],
    network: Sequence[Parents],
    *,
    rounding: float,
    tolerance: float,
    deadline: float,
    seed: int = 0,
    n_jobs: int | None = None,
    tell: Callable[[float, float, str], None] | None = None,
    ends_on_interrupt: bool = False,
    most_bytes: int = 1 << 62,
    correlations: Correlations | None = None,
    products: Floats | None = None,
) -> Proven:
    """Return the best network found, with a bound over all parent sets that was checked.

    Parameters
    ----------
    children : sequence of Child
    network : sequence of tuple of int
        As for `ColumnGeneration`.
    rounding : float
        By how much rounding may put the cost of a family off, in nats.
    tolerance, deadline, seed, n_jobs, ends_on_interrupt
        As for `branch_and_cut`.
    tell : callable, optional
        Called with the cost of the best network, the bound, and a note.
    most_bytes : int
        The most memory of families and cuts.
    correlations : Correlations, optional
        As for `ColumnGeneration`.
    products : ndarray of shape (n, n), float64, optional
        Those of the children, then of columns that are none, if all children share them.
    """
    began = time.monotonic()
    with Threads(n_jobs) as threads:
        is_limited = products is not None and math.isfinite(deadline)
        of_search = deadline - (_SHARE_OF_LIKELIHOOD * (deadline - began) if is_limited else 0.0)
        rest = seed, threads, tell, most_bytes, math.inf, rounding, correlations
        late = deadline + _SHARE_OF_GRACE * (deadline - began)
        search = ColumnGeneration(
            children, network, tolerance, of_search, *rest, gives_up=is_limited
        )
        generated = search.run(ends_on_interrupt=ends_on_interrupt)
        bound, bound_of_others = checked(children, generated, rounding, threads, late)
        may_go_on = is_limited and generated.why_ended in {ENDED_BY_TIME, ENDED_BY_BOUND}
        if may_go_on and products is not None:
            now = time.monotonic()
            of_share = DeterminantBound(
                children,
                generated.network,
                products,
                bound,
                generated.bound.cuts,
                rounding,
                tolerance=tolerance,
                deadline=now + (_SHARE_OF_DENSE if search.gave_up else 1.0) * (deadline - now),
                seed=seed,
                threads=threads,
                tell=tell,
                most_bytes=most_bytes,
                late=late,
            )
            of_share.run()
            bound = of_share.bound
            if search.gave_up:
                search = ColumnGeneration(children, network, tolerance, deadline, *rest)
                generated = search.run(ends_on_interrupt=ends_on_interrupt)
                of_again, bound_of_others = checked(children, generated, rounding, threads, late)
                bound = max(bound, of_again)
        lists = generated.lists
    if lists is None:
        is_finished = generated.cost - bound <= tolerance
        return Proven(generated.network, generated.cost, bound, 0, is_finished, generated.why_ended)

    def tell_of_tree(cost: float, of_tree: float, n_nodes: int) -> None:
        if tell is not None:
            tell(cost, min(of_tree, bound_of_others), f"{n_nodes:,} nodes")

    needs_determinants = any(isinstance(cut, DeterminantCut) for cut in generated.bound.cuts)
    # Rounding may put the costs of both networks off: the tree leaves room for it.
    of_listed = rounding if children[0].exact is None else ROUNDING
    off = 2 * len(children) * of_listed
    found = branch_and_cut(
        lists.families,
        lists.chosen(generated.network),
        tolerance=max(tolerance - off, tolerance / 2),
        deadline=deadline,
        seed=seed,
        n_jobs=n_jobs,
        tell=tell_of_tree,
        ends_on_interrupt=ends_on_interrupt,
        cuts=generated.bound.cuts,
        correlations=correlations if needs_determinants else None,
    )
    of_lists = lower_sum([found.bound, -off])
    # Of lists that were checked in time, no rounding puts a better network outside.
    is_checked = bound_of_others >= found.cost - tolerance
    return Proven(
        [lists.parents[f] for f in found.chosen],
        found.cost,
        max(bound, min(of_lists, bound_of_others)),
        found.n_nodes,
        found.is_finished and is_checked,
        found.why_ended,
    )


def checked(
    children: Sequence[Child],
    generated: Generated,
    rounding: float,
    threads: Threads,
    deadline: float = math.inf,
    beyond: float | None = None,
) -> tuple[float, float]:
    """Return what networks cost at least, and those with families that are not listed.

    The lists are about networks that are better than the best one or, dominated families included,
    about all that cost no more than a number beyond it.
    """
    bound, lists = generated.bound, generated.lists
    margin = margin_of(rounding, len(children))
    if lists is None:
        # Rounding must not decide about the families of the least reduced cost.
        thresholds = bound.least - margin
        listed: list[dict[Parents, float]] = [{} for _ in children]
    else:
        slack = max(generated.cost - bound.bound, 0.0) + (beyond or 0.0)
        thresholds = bound.least + (slack + margin / 2)
        listed = lists.by_child()
    rest = bound.cuts, bound.multipliers, thresholds, listed, rounding, threads
    return certified_bound_of_others(
        children, *rest, with_dominated=beyond is not None, deadline=deadline
    )

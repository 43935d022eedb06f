"""A bound for dense networks: the determinant of all products bounds most of the likelihood.

The rest of the likelihood is small beside the penalties, so that all parent sets are quickly
searched. How much is left to the families is found by trial.
"""

import math
import time
from collections.abc import Callable, Sequence

import numpy as np

from skbn._branch_and_cut.column_generation import ColumnGeneration, Parents, margin_of
from skbn._branch_and_cut.pricing import WeighedCuts, discounts_of, price_near
from skbn._branch_and_cut.pricing_checker import certified_bound_by_determinant
from skbn._branch_and_cut.pricing_problem import Child
from skbn._branch_and_cut.proof import Cut
from skbn._core.arrays import Floats
from skbn._core.resources import Threads

# The shares of the weight of the likelihood that families keep.
_SHARES = (0.005, 0.008, 0.011, 0.016, 0.022, 0.03, 0.045, 0.06, 0.09, 0.12, 0.18, 0.25, 0.35, 0.5)
# Where a search takes too long, the share goes down by this many. Another one is tried while this
# share of the time is left.
_STEPS_DOWN, _LEAST_SHARE_OF_TIME = 2, 0.05


class DeterminantBound:
    """What the determinant of all products proves of all networks.

    Parameters
    ----------
    children : sequence of Child
        Of one column each.
    network : sequence of tuple of int
        The best network found.
    products : ndarray of shape (n, n), float64
        Of the children, then of columns that are none.
    bound : float
        What networks are known to cost at least.
    cuts : sequence of Cut
        Those to begin with.
    rounding : float
        By how much rounding may put the cost of a family off, in nats.
    tolerance, deadline, seed, threads, tell, most_bytes
        As for `ColumnGeneration`.
    late : float
        When checks end at the latest, by ``time.monotonic()``.

    Attributes
    ----------
    bound : float
        What networks cost at least. It was checked.
    """

    def __init__(
        self,
        children: Sequence[Child],
        network: Sequence[Parents],
        products: Floats,
        bound: float,
        cuts: Sequence[Cut],
        rounding: float,
        *,
        tolerance: float,
        deadline: float,
        seed: int,
        threads: Threads,
        tell: Callable[[float, float, str], None] | None,
        most_bytes: int,
        late: float,
    ) -> None:
        if children[0].exact is not None:
            # What is solved with float64 may be off by eight times as much as the products.
            children, rounding = [child._replace(exact=None) for child in children], 9 * rounding
        self._children, self._network, self._products = children, network, products
        self.bound, self._cuts, self._rounding = bound, list(cuts), rounding
        self._tolerance, self._seed, self._threads = tolerance, seed, threads
        self._tell, self._most_bytes, self._late = tell, most_bytes, late
        self._deadline = deadline
        m = len(children)
        log_determinant = float(np.linalg.slogdet(products)[1])
        log_determinant -= float(np.linalg.slogdet(products[m:, m:])[1])
        self._of_all = children[0].costs.weight * log_determinant

    def run(self) -> None:
        """Try shares until the time is over."""
        # Without cuts, the bound is a concave function of the share.
        without_cuts: list[float] = []
        for share in _SHARES:
            if time.monotonic() >= self._deadline:
                return
            without_cuts.append(self._about(share))
            if without_cuts[-1] < max(without_cuts):
                break
        i = best = int(np.argmax(without_cuts))
        least_left = _LEAST_SHARE_OF_TIME * (self._deadline - time.monotonic())
        highest = -math.inf
        # With cuts, larger shares give better bounds, until their pricing takes too long.
        while i < len(_SHARES) and self._deadline - time.monotonic() > least_left:
            found, lower = self._try(_SHARES[i], is_brief=True), max(i - _STEPS_DOWN, 0)
            if math.isinf(highest) and found < without_cuts[lower] and lower < i:
                i = lower
            elif found > highest:
                highest, best, i = found, i, i + 1
            else:
                break
        if self._deadline - time.monotonic() > least_left:
            self._try(math.sqrt(_SHARES[best] * (*_SHARES, 1.0)[best + 1]), is_brief=False)

    def _weighed(self, share: float) -> tuple[list[Child], float]:
        """Return the children with a share of their weight, and a bound of the rest."""
        children = self._children
        weighed = [c.with_weight(share, p) for c, p in zip(children, self._network, strict=True)]
        offsets = math.fsum(b.offset - a.offset for a, b in zip(children, weighed, strict=True))
        return weighed, offsets + (1 - share) * self._of_all

    def _about(self, share: float) -> float:
        """Return about the bound without cuts."""
        weighed, constant = self._weighed(share)
        none = WeighedCuts.of([], np.empty(0), len(weighed))

        def near(x: int) -> float:
            child = weighed[x]
            starts = [self._network[x], child.candidates[: child.costs.n_required].tolist()]
            return price_near(child, discounts_of(child, x, none), starts).least

        return constant + math.fsum(self._threads.map(near, [(x,) for x in range(len(weighed))]))

    def _try(self, share: float, *, is_brief: bool) -> float:
        """Return the bound with a share, about; if it is the best one, check it.

        A brief trial takes half of the time at most, and ends once the bound stalls.
        """
        weighed, constant = self._weighed(share)

        def tell(cost: float, bound: float, note: str) -> None:
            if self._tell is not None:
                self._tell(0.0, max(self.bound, constant + bound), f"with the determinant; {note}")

        deadline = (time.monotonic() + self._deadline) / 2 if is_brief else self._deadline
        found = ColumnGeneration(
            weighed,
            self._network,
            self._tolerance,
            deadline,
            self._seed,
            self._threads,
            tell,
            self._most_bytes,
            -math.inf,
            self._rounding,
            gives_up=is_brief,
            is_brief=is_brief,
            cuts=self._cuts,
        )
        of_weighed = found.run().bound
        self._cuts += of_weighed.cuts
        about = constant + of_weighed.bound
        if about > self.bound:
            thresholds = of_weighed.least - margin_of(self._rounding, len(weighed))
            claim = weighed, of_weighed.cuts, of_weighed.multipliers, thresholds, self._rounding
            rest = *claim, self._threads, self._late
            checked = certified_bound_by_determinant(self._children, self._products, share, *rest)
            self.bound = max(self.bound, checked)
        return about

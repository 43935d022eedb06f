"""FamilyWeights: the weights of all families of a group of columns, as extended floats."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from skbn._core.arrays import Floats, Integers
from skbn._core.extended_floats import WideFormat
from skbn._core.resources import Threads, allocate
from skbn._core.subsets import members_of
from skbn._exact.dense_families import Part, SearchColumns, fill_by_blocks, parts_in_memory
from skbn._exact.fill_kernels import BlockTables
from skbn._exact.plan import SearchPlan
from skbn._posterior.family_weight_kernels import (
    WeighedFamilies,
    edge_sums,
    family_weights,
    fill_sums,
    score_range,
    weights_with_descendants,
)
from skbn._regressions.set_function import SetFunctions

WEIGHT_KERNELS = (score_range, fill_sums, edge_sums)
PARENT_SET_KERNELS = (family_weights, weights_with_descendants)

# Ctrl-C is handled between tasks of this many families, about a tenth of a second.
_TASK = 1 << 25
MASK_BITS = 62  # of an int64, with room for a sign and a mark


class FamilyWeights:
    """The weight ``beta_x(P)`` of each family: exp(local score), times its prior odds.

    The weights of a child are divided by a power of two, so that the largest is about 1.

    Parameters
    ----------
    sets : sequence of SetFunctions
        What the local scores of each child are differences of, for all subsets of the columns: at
        least two.
    plan : SearchPlan
    allowed, required : sequence of n_children int
        As for `SearchColumns`; the plan may have more columns than there are children.
    log_odds : ndarray of shape (n_children, m), float64, optional
        The logarithm of the prior odds of the edge to each child from each parent.
    threads : Threads

    Attributes
    ----------
    wide : WideFormat
    log_scale : float
        Sums over networks are to be multiplied by the exponential of this, in nats.

    Raises
    ------
    ValueError
        If the scores differ by so much that extended floats would have too few digits.
    """

    def __init__(
        self,
        sets: Sequence[SetFunctions],
        plan: SearchPlan,
        threads: Threads,
        allowed: Sequence[int],
        required: Sequence[int],
        log_odds: Floats | None = None,
    ) -> None:
        self.n_positions = len(sets[0].of_parents).bit_length() - 1
        self._columns = SearchColumns(self.n_positions, plan.n_columns, allowed, required)
        self.plan = plan
        self._sets = sets
        n_children, n_low = len(allowed), plan.block_bits
        low = np.zeros((1, 1 << n_low))
        single = np.zeros((n_children, self.n_positions))
        if log_odds is not None:
            low = _odds_of_low_parents(log_odds, n_low)
            single[:, n_low:] = log_odds[:, n_low:]
        self._log_odds = log_odds
        self._families = [
            WeighedFamilies(*each, *self._columns.rules, low, single, n_low) for each in sets
        ]
        ranges = list(threads.map(self._score_range, [(x,) for x in range(n_children)]))
        self.wide, self.biases, self.log_scale = scale_of_weights(ranges)

    def _score_range(self, child: int) -> tuple[float, float]:
        """Return a child's highest score, and that of its fewest parents if this is finite.

        The sum over all networks is at least the weight of the one in which all columns have no
        parents but the required ones.
        """
        best, least = score_range(self._families[child], child)
        fewest = int(self._columns.required[child])
        of_fewest = self._sets[child].local_score(child, fewest)
        if self._log_odds is not None:
            of_fewest += float(self._log_odds[child, members_of(fewest)].sum())
        return best, of_fewest if math.isfinite(of_fewest) else least

    def fill(
        self, tables: BlockTables, fixed: int, children: Integers, threads: Threads, n_tasks: int
    ) -> Iterator[float]:
        """Fill the children's tables with weights; see `TableSource`."""
        outer = fixed | self._columns.others >> tables.n_inner
        parts = parts_in_memory(self._sets, tables.n_inner, outer, children)
        return fill_by_blocks(self._fill_blocks, parts, tables, threads, n_tasks)

    def _fill_blocks(self, part: Part, blocks: Integers, tables: BlockTables) -> None:
        rest = part.children, blocks, tables, self.wide, self.biases
        fill_sums(part.pieces, self._families[part.children[0]], *rest)

    def edge_sums(self, child: int, gamma: Integers, exponent: int) -> Floats:
        """Return the weight of the networks in which each column is the child's parent.

        Parameters
        ----------
        child : int
        gamma : ndarray of shape (2**(n_columns - 1),), int64
            At ``[~P]``, the weight of everything but the child's own family, summed over the sets
            of columns that contain P; the child's bit is removed.
        exponent : int
            The sums are in units of ``2**(exponent - bias)``.

        Returns
        -------
        sums : ndarray of shape (m + 1,), float64
            The last entry is the weight of all networks.
        """
        sums = np.empty(self.n_positions + 1)
        edge_sums(
            self._families[child],
            self.plan.n_columns,
            child,
            gamma,
            exponent,
            self.wide,
            self.biases,
            sums,
        )
        return sums

    def parent_set_weights(
        self, child: int, gamma: Integers, exponent: int, threads: Threads
    ) -> Floats:
        """Return the weight of all networks with each parent set of the child.

        The other parameters are those of `edge_sums`.

        Returns
        -------
        weights : ndarray of shape (2**(m - 1),), float64
            By the mask of the parents, with the child's bit removed.
        """
        weights = allocate(self.n_parent_sets)
        families = weights.view(np.int64)
        self.weights_of(child, threads, families)
        weights_with_descendants(families, gamma, exponent, self.wide, weights)
        return weights

    @property
    def n_parent_sets(self) -> int:
        """How many parent sets a child has: ``2**(m - 1)``."""
        return len(self._sets[0].of_parents) // 2

    def weights_of(self, child: int, threads: Threads, weights: Integers) -> None:
        """Set `weights` to the weight of each parent set of a child, an extended float.

        Parameters
        ----------
        child : int
        threads : Threads
        weights : ndarray of shape (2**(m - 1),), int64
            By the mask of the parents, with the child's bit removed.
        """

        def run(bases: Integers) -> None:
            families = self._families[child]
            family_weights(families, child, bases, self.wide, self.biases, weights)

        n_sets = len(self._sets[0].of_parents)
        bases = np.arange(0, n_sets, 1 << self.plan.block_bits)
        parts = threads.split(bases, n_sets // _TASK)
        list(threads.map(run, [(part,) for part in parts]))

    def masks(self, child: int, indices: Integers, columns: Sequence[int]) -> Integers:
        """Return the masks of some parent sets, from the number of each position's column."""
        masks: Integers = np.zeros(len(indices), dtype=mask_type(1 + max(columns)))
        for bit, column in enumerate([c for i, c in enumerate(columns) if i != child]):
            masks |= (indices >> bit & 1).astype(masks.dtype) << column
        return masks


def _odds_of_low_parents(log_odds: Floats, n_low: int) -> Floats:
    """Return what the parents among the lowest columns add to the scores of each child.

    They are in the order of a block's part of the child's table: its own bit is removed.
    """
    sets = np.arange(1 << n_low)
    is_parent = sets[:, np.newaxis] >> np.arange(n_low) & 1
    odds: Floats = log_odds[:, :n_low] @ is_parent.T.astype(float)
    for child in range(min(n_low, len(odds))):
        without = sets[sets >> child & 1 == 0]
        odds[child, : len(without)] = odds[child, without]
    return np.ascontiguousarray(odds)


def mask_type(n_columns: int) -> type:
    """Return the type of masks of n columns: Python's integers if int64 has too few bits."""
    return np.int64 if n_columns <= MASK_BITS else object


def scale_of_weights(ranges: list[tuple[float, float]]) -> tuple[WideFormat, Integers, float]:
    """Return the format of weights, the bias of each child's, and the logarithm of their unit.

    Parameters
    ----------
    ranges : list of n_children (float, float)
        Each child's highest score, and one that some network with all least scores has.

    Raises
    ------
    ValueError
        If the scores differ by so much that extended floats would have too few digits.
    """
    best = np.array([high for high, _ in ranges])
    log_range = sum(high - low for high, low in ranges if high > -math.inf)
    wide = WideFormat.for_range(log_range)
    if wide is None:
        raise ValueError(
            f"The local scores of the families differ by up to {log_range:.3g} nats in all, "
            "too much to add up their exponentials: probabilities would have fewer than 36 "
            "bits. Set method to 'sampling', give fewer rows or smaller sample weights, such as "
            "sample_weight / sample_weight.mean(), or leave out columns that are nearly "
            "combinations of others."
        )
    shifts = np.rint(np.where(np.isfinite(best), best, 0.0) / math.log(2)).astype(np.int64)
    return wide, wide.bias - shifts, float(shifts.sum()) * math.log(2)

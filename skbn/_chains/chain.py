"""Chain: a Markov chain over networks whose stationary distribution is their posterior.

Its state is a partition of the columns into layers (see `partition_kernels`) and the random
candidates of each column (see `candidates`). A step makes as many moves as there are columns, each
of which draws the places of one to three related columns from their joint distribution given the
rest, and then draws the random candidates of some columns anew. All of these are draws from
conditional distributions, so that there are no proposals to be rejected.

Probabilities of edges are read off each state, given its partition and candidates; what depends on
whole networks, such as paths, is read off one network that is drawn from each state.

During the burn-in the fixed candidates, and which columns are related, are chosen again by the
probabilities so far. After it nothing of the chain depends on its past.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from skbn._chains.candidates import Candidates
from skbn._chains.family_kernels import (
    draw_network,
    edges_given_partition,
    reach,
    redraw_candidates,
    sum_subsets,
)
from skbn._chains.move_kernels import move_related
from skbn._chains.partition_kernels import Partition
from skbn._core.arrays import BYTES, Floats, Integers
from skbn._regressions.local_score import internal_error

__all__ = ["CHAIN_KERNELS", "Batch", "Chain", "empty_tables", "fill_tables", "table_bytes"]

CHAIN_KERNELS = (
    *(move_related, redraw_candidates, sum_subsets),
    *(draw_network, edges_given_partition, reach),
)

# Cumulative probabilities of moves of one, two and three columns.
_SHARES_OF_WIDTH = np.array([0.2, 0.6, 1.0])
_FEWEST_MOVES = 20
# How many columns get new random candidates in a step, of all, and at least.
_SHARE_REDRAWN, _FEWEST_REDRAWN = 1 / 10, 2
# Rows whose distance is a power of two would share the same lines of the processor's cache.
_PADDING = 536
# The weight of all columns together in the choice of those that are moved with one, beside the
# probabilities of edges: so any may be moved together.
_ANY = 0.5
# With more candidates the tables do not fit in the processor's cache, and drawing a network takes
# long: then one of so many states has one.
_MOST_CANDIDATES_IN_CACHE, _STATES_A_NETWORK = 14, 4


@dataclass
class Batch:
    """Sums over some neighbouring states of a chain.

    Parameters
    ----------
    edges, squares : ndarray of shape (m, m), float64
        The sums of the probabilities of edges given each state, and of their squares.
    paths : ndarray of shape (m, m), float64
        In how many networks there is a directed path.
    n_at_limit : ndarray of shape (m,), float64
        In how many of the networks each column has as many parents among its random candidates as
        there are of these.
    n : int
        The number of states.
    log_weights : list of float
        The logarithm of each network's posterior probability, up to a constant that is the same for
        all chains. Not every state has a network.
    networks : list of ndarray of uint8
        The bits of ``is_parent``, of which row x has the parents of x.
    """

    edges: Floats
    squares: Floats
    paths: Floats
    n_at_limit: Floats
    n: int = 0
    log_weights: list[float] = field(default_factory=list)
    networks: list[npt.NDArray[np.uint8]] = field(default_factory=list)

    @classmethod
    def empty(cls, m: int) -> Batch:
        """Return a batch without states."""
        edges, squares, paths = np.zeros((3, m, m))
        return cls(edges, squares, paths, np.zeros(m))


def table_bytes(m: int, n: int, n_chains: int = 1) -> int:
    """Return how many bytes tables of up to n candidates of m columns take, for so many chains."""
    return 2 * BYTES * n_chains * m << n


def empty_tables(m: int, n: int) -> tuple[Floats, Floats]:
    """Return memory for scores and sums of up to n candidates of m columns."""
    scores, sums = np.empty((2, m, (1 << n) + _PADDING))
    return scores, sums


def fill_tables(
    candidates: Candidates,
    x: int,
    n_fixed: int,
    chosen: Sequence[int],
    scores: Floats,
    sums: Floats,
) -> None:
    """Set the rows of a column's tables to those of the candidates that were chosen."""
    size = 1 << len(chosen)
    scores[x, :size] = candidates.scores(x, n_fixed, chosen)
    sum_subsets(scores[x, :size], sums[x, :size])


class Chain:
    """A chain over the networks of m columns.

    Parameters
    ----------
    candidates : Candidates
    movable : list of int
        The columns that are modelled: others have no parents.
    parents : list of m list of int
        The network that it begins with.
    ranked : list of m list of int
        The possible parents of each column, those first that are to be fixed candidates.
    seed : numpy.random.SeedSequence
    tables : tuple of ndarray of shape (m, 2**n_most), optional
        Scores and sums if all possible parents are candidates, for all chains together.
    """

    def __init__(
        self,
        candidates: Candidates,
        movable: Sequence[int],
        parents: Sequence[Sequence[int]],
        ranked: Sequence[Sequence[int]],
        seed: np.random.SeedSequence,
        tables: tuple[Floats, Floats] | None = None,
    ) -> None:
        m, n = candidates.m, candidates.n_most
        self._candidates = candidates
        self._rng = np.random.default_rng(seed)
        self._has_shared_tables = tables is not None
        scores, sums = tables or empty_tables(m, n)
        self._state = Partition(
            np.zeros((m, n), dtype=np.int64),
            np.zeros(m, dtype=np.int64),
            np.empty((m, m), dtype=np.int64),
            scores,
            sums,
            np.zeros(m, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
            self._rng.integers(0, 1 << 64, size=1, dtype=np.uint64),
        )
        self._movable = np.array(movable, dtype=np.int64)
        self._set_layers(parents)
        self._fix(np.array([len(own) + 1 for own in parents]))
        self._set_candidates(parents, ranked)
        self._relate(np.zeros((m, m)))
        self._masks = np.empty(m, dtype=np.int64)
        self._edges, self._is_parent = np.empty((m, m)), np.empty((m, m), dtype=np.bool_)
        self._reaches = np.empty((m, m), dtype=np.bool_)
        self.batch = Batch.empty(m)

    def _set_layers(self, parents: Sequence[Sequence[int]]) -> None:
        layers = self._state.layers
        layers[:] = 0
        while not layers.all():
            for x in np.flatnonzero(layers == 0).tolist():
                above = layers[list(parents[x])]
                if above.all():
                    layers[x] = 1 + above.max(initial=0)
        self._state.n_layers[0] = layers.max()

    def _set_candidates(
        self, parents: Sequence[Sequence[int]], ranked: Sequence[Sequence[int]]
    ) -> None:
        state = self._state
        state.places[:] = -1
        self._outside: list[Integers] = []
        for x, n_fixed in enumerate(self._n_fixed.tolist()):
            chosen, outside = self._candidates.chosen(x, n_fixed, ranked[x], parents[x], self._rng)
            state.n_candidates[x] = len(chosen)
            state.candidates[x, : len(chosen)] = chosen
            state.places[x, chosen] = np.arange(len(chosen))
            self._outside.append(np.array(outside, dtype=np.int64))
            if not self._has_shared_tables:
                self._fill(x)
        self._redrawn = np.flatnonzero([len(outside) for outside in self._outside])

    def _fix(self, wanted: Integers) -> None:
        """Set how many candidates are fixed: so many, as far as there is room for their tables."""
        sizes = [self._candidates.n_fixed(x, n) for x, n in enumerate(wanted.tolist())]
        self._n_fixed = np.array(sizes, dtype=np.int64)
        self._log_counts = np.array(
            [self._candidates.log_counts(x, n) for x, n in enumerate(sizes)]
        )

    def _fill(self, x: int) -> None:
        state = self._state
        chosen = state.candidates[x, : state.n_candidates[x]].tolist()
        n_fixed = int(self._n_fixed[x])
        fill_tables(self._candidates, x, n_fixed, chosen, state.scores, state.sums)

    def _relate(self, edges: Floats) -> None:
        """Say which columns are moved together, by probabilities of edges."""
        m = len(edges)
        weights = edges + edges.T + _ANY / m
        np.fill_diagonal(weights, 0.0)
        weights[:, np.setdiff1d(np.arange(m), self._movable)] = 0.0
        self._related = np.cumsum(weights, axis=1)

    # Steps

    def step(self) -> None:
        """Make some moves, draw some candidates anew, and add the state to the batch."""
        state, m = self._state, self._candidates.m
        n_moves = max(_FEWEST_MOVES, m)
        if not move_related(state, self._movable, self._related, _SHARES_OF_WIDTH, n_moves):
            raise internal_error("no move of a Markov chain has a weight")
        if len(self._redrawn):
            n_redrawn = max(_FEWEST_REDRAWN, round(m * _SHARE_REDRAWN))
            for x in self._rng.choice(self._redrawn, n_redrawn).tolist():
                redraw_candidates(state, x, self._n_fixed[x], self._outside[x])
                self._fill(x)
        self._add_state()

    def _add_state(self) -> None:
        batch, state = self.batch, self._state
        edges_given_partition(state, self._edges)
        batch.edges += self._edges
        batch.squares += self._edges * self._edges
        batch.n += 1
        is_wide = self._has_shared_tables and len(state.candidates[0]) > _MOST_CANDIDATES_IN_CACHE
        if is_wide and batch.n % _STATES_A_NETWORK != 1:
            return
        in_state = draw_network(state, self._masks, self._is_parent)
        n_random = np.bitwise_count(self._masks >> self._n_fixed)
        of_counts = self._log_counts[np.arange(len(n_random)), n_random].sum()
        batch.log_weights.append(in_state + of_counts)
        batch.n_at_limit[self._redrawn] += n_random[self._redrawn] == self._candidates.n_random
        reach(state, self._is_parent, self._reaches)
        batch.paths += self._reaches.T
        batch.networks.append(np.packbits(self._is_parent))

    def adapt(self) -> None:
        """Choose fixed candidates and related columns by the states so far, and forget these."""
        edges = self.batch.edges / self.batch.n
        self._relate(edges)
        if len(self._redrawn):
            draw_network(self._state, self._masks, self._is_parent)
            parents = [np.flatnonzero(row).tolist() for row in self._is_parent]
            # One more than the expected parents, so that random candidates are seldom parents.
            least = [len(own) - self._candidates.n_random for own in parents]
            self._fix(np.maximum(np.ceil(edges.sum(axis=0)).astype(np.int64) + 1, least))
            possible = [np.array(each, dtype=np.int64) for each in self._candidates.possible]
            ranked = [
                own[np.argsort(-edges[own, x], kind="stable")].tolist()
                for x, own in enumerate(possible)
            ]
            self._set_candidates(parents, ranked)
        self.forget()

    def forget(self) -> None:
        """Begin a new batch."""
        self.batch = Batch.empty(self._candidates.m)

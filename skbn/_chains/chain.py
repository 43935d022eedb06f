"""Chain: a Markov chain over networks whose stationary distribution is their posterior.

Its state is a partition of the columns into layers (see `partition_kernels`) and the random
candidates of each column (see `candidates`). In a step, some columns get new places in the
partition, up to three related ones jointly given all others (`move_kernels`); some columns get new
random candidates; and then a network is drawn, in which blocks of columns get new parents
(`block_kernels`). All of these are draws from conditional distributions, or nearly: only some new
parents of blocks are rejected.

The probabilities of edges from candidates that are fixed are read off each state's partition. Those
of edges from all others are the conditional ones given the rest of a network, that of every fourth
state. What depends on whole networks, such as paths, is read off each state's network.

During the burn-in the fixed candidates, the weights of the others, and which columns are related,
are chosen again by the probabilities so far. After it nothing of the chain depends on its past.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import networkx as nx
import numpy as np
import numpy.typing as npt

from skbn._chains.block_kernels import blocks_of, redraw_blocks
from skbn._chains.candidate_kernels import redraw_candidates, weigh_candidates
from skbn._chains.candidates import Candidates
from skbn._chains.family_kernels import draw_network, edges_given_partition, reach, sum_subsets
from skbn._chains.move_kernels import move_related
from skbn._chains.partition_kernels import Partition
from skbn._chains.place_kernels import moves_of
from skbn._core.arrays import BYTES, Floats, Integers

CHAIN_KERNELS = (
    *(move_related, redraw_blocks, sum_subsets, draw_network, edges_given_partition, reach),
)

# Cumulative probabilities of moves of one to three columns, and of blocks of one to six.
_SHARES_OF_WIDTH = np.array([0.2, 0.6, 1.0])
_SHARES_OF_BLOCKS = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
# Moves and blocks in a step, for each column: if no candidate is random, and else. Tables of new
# random candidates take most of a step, in which more moves bring nothing.
_MOVES_A_COLUMN, _BLOCKS_A_COLUMN, _FEWEST_MOVES = (3 / 2, 1 / 2), (1 / 4, 3 / 4), 20
# How many columns get new random candidates in a step, of all, and at least.
_SHARE_REDRAWN, _FEWEST_REDRAWN = 1 / 20, 2
# Look at edges from columns outside the fixed candidates in every fourth state only: a look costs
# more than a move, and neighbouring states differ little.
_STATES_A_LOOK = 4
# Rows whose distance is a power of two would share the same lines of the processor's cache.
_PADDING = 536
# The weight of all columns together in the choice of those that are moved with one, and in that of
# random candidates, beside the probabilities of edges: so any may be chosen.
_ANY_RELATED, _ANY_CANDIDATE = 0.5, 1.0
# Candidates are fixed if they are parents with this probability. To reverse an edge, a column may
# need its children, and other parents of these, as parents: so the probabilities that a column is
# one of them count as well, by this share.
_LEAST_FIXED, _SHARE_OF_REVERSED = 0.1, 0.2
# Without random candidates nothing is drawn.
_NONE_RANDOM = np.zeros(1)


@dataclass
class Batch:
    """Sums over some neighbouring states of a chain."""

    # (m, m): the sums of the probabilities of edges given parts of each state, and of their squares
    edges: Floats
    squares: Floats
    paths: Floats  # (m, m): in how many networks there is a directed path
    # (m,): in how many of the networks each column has as many parents among its random candidates
    # as there are of these
    n_at_limit: Floats
    n: int = 0  # the number of states
    # the logarithm of the posterior probability of each state's network, up to a constant that is
    # the same for all chains
    log_weights: list[float] = field(default_factory=list)
    # the bits of each state's ``is_parent``, of which row x has the parents of x
    networks: list[npt.NDArray[np.uint8]] = field(default_factory=list)

    @classmethod
    def empty(cls, m: int) -> Batch:
        """Return a batch without states."""
        edges, squares, paths = np.zeros((3, m, m))
        return cls(edges, squares, paths, np.zeros(m))


def table_bytes(m: int, n: int, n_chains: int = 1) -> int:
    """Return how many bytes tables of up to n candidates of m columns take for some chains."""
    return 2 * BYTES * n_chains * m << n


def empty_tables(m: int, n: int) -> tuple[Floats, Floats]:
    """Return memory for scores and sums of up to n candidates of m columns."""
    scores, sums = np.empty((2, m, (1 << n) + _PADDING))
    return scores, sums


def fill_tables(
    candidates: Candidates,
    x: int,
    chosen: Sequence[int],
    scores: Floats,
    sums: Floats,
    log_shares: Floats = _NONE_RANDOM,
) -> None:
    """Set the rows of a column's tables to those of the candidates that were chosen.

    `log_shares` has the log probability of the random ones, given each set of them as parents.
    """
    size = 1 << len(chosen)
    of_sets = candidates.scores_of(x, [*chosen]).reshape(len(log_shares), -1)
    scores[x, :size] = (of_sets + log_shares[:, np.newaxis]).ravel()
    sum_subsets(scores[x, :size], sums[x, :size])


class Chain:
    """A chain over the networks of m columns.

    `movable`: the columns that are modelled: others have no parents
    `parents`: the network that it begins with
    `ranked`: the possible parents of each column, beginning with those to become fixed candidates
    `tables`: (m, 2**n_most), scores and sums if all possible parents are candidates, for all chains
        together
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
        self._n_fixed, self._n_random = np.zeros((2, m), dtype=np.int64)
        self._weights = np.ones((m, m))
        self._log_shares = np.zeros((m, 1 << (n - min(n, candidates.n_fewest))))
        self._set_candidates(parents, ranked, [len(own) + 1 for own in parents], np.zeros((m, m)))
        self._relate(np.zeros((m, m)))
        self._moves = moves_of(m, _SHARES_OF_WIDTH.size)
        self._blocks = blocks_of(m, _SHARES_OF_BLOCKS.size)
        self._masks = np.empty(m, dtype=np.int64)
        self._edges, self._is_parent = np.empty((m, m)), np.empty((m, m), dtype=np.bool_)
        self._reaches = np.empty((m, m), dtype=np.bool_)
        self._from_outside = np.zeros((m, m))
        self.batch = Batch.empty(m)

    def _set_layers(self, parents: Sequence[Sequence[int]]) -> None:
        dag = nx.DiGraph(dict(enumerate(parents))).reverse()
        layers = list(nx.topological_generations(dag))
        for number, columns in enumerate(layers, 1):
            self._state.layers[columns] = number
        self._state.n_layers[0] = len(layers)

    def _set_candidates(
        self,
        parents: Sequence[Sequence[int]],
        ranked: Sequence[Sequence[int]],
        n_wanted: Sequence[int],
        edges: Floats,
    ) -> None:
        """Choose the candidates of all columns; `edges` are probabilities, at [z, x] for z -> x."""
        state = self._state
        state.places[:] = -1
        self._is_outside = np.zeros((len(parents), len(parents)), dtype=np.bool_)
        for x, own in enumerate(parents):
            sizes = self._candidates.sizes(x, n_wanted[x], edges[ranked[x], x])
            chosen, outside = self._candidates.chosen(x, *sizes, ranked[x], own, self._rng)
            self._n_fixed[x], self._n_random[x] = sizes
            state.n_candidates[x] = len(chosen)
            state.candidates[x, : len(chosen)] = chosen
            state.places[x, chosen] = np.arange(len(chosen))
            self._is_outside[x, outside] = True
            if not self._has_shared_tables:
                self._fill(x)
        self._has_random = self._is_outside.any(axis=1)
        self._until_look = 0

    def _fill(self, x: int) -> None:
        state = self._state
        chosen = state.candidates[x, : state.n_candidates[x]].tolist()
        log_shares = _NONE_RANDOM
        if self._is_outside[x].any():
            log_shares = self._log_shares[x, : 1 << self._n_random[x]]
            weigh_candidates(state, x, *self._random_candidates(x), log_shares)
        fill_tables(self._candidates, x, chosen, state.scores, state.sums, log_shares)

    def _random_candidates(self, x: int) -> tuple[int, Integers, Floats]:
        """Return how many candidates are fixed, the columns outside, and the weights of these."""
        outside = np.flatnonzero(self._is_outside[x])
        return int(self._n_fixed[x]), outside, self._weights[x, outside]

    def _relate(self, edges: Floats) -> None:
        """Say which columns are moved together, by probabilities of edges."""
        m = len(edges)
        weights = edges + edges.T + _ANY_RELATED / m
        np.fill_diagonal(weights, 0.0)
        weights[:, np.setdiff1d(np.arange(m), self._movable)] = 0.0
        self._related = np.cumsum(weights, axis=1)

    # Steps

    def step(self) -> None:
        """Make some moves, draw some candidates and a network anew, and add them to the batch."""
        state, m = self._state, self._candidates.m
        has_random = bool(self._has_random.any())
        n_moves = max(_FEWEST_MOVES, round(m * _MOVES_A_COLUMN[has_random]))
        n_blocks = max(1, round(m * _BLOCKS_A_COLUMN[has_random]))
        move_related(state, self._movable, self._related, _SHARES_OF_WIDTH, n_moves, self._moves)
        if has_random:
            n_redrawn = max(_FEWEST_REDRAWN, round(m * _SHARE_REDRAWN))
            for x in self._rng.choice(np.flatnonzero(self._has_random), n_redrawn).tolist():
                redraw_candidates(state, x, *self._random_candidates(x))
                self._fill(x)
        draw_network(state, self._masks, self._is_parent)
        chosen = self._movable, self._related, _SHARES_OF_BLOCKS, n_blocks
        redraw_blocks(state, *chosen, self._masks, self._is_parent, self._blocks)
        self._add_state()

    def _add_state(self) -> None:
        batch, state = self.batch, self._state
        reach(state, self._is_parent, self._reaches)
        edges_given_partition(state, self._edges)
        log_weight = state.scores[np.arange(len(self._masks)), self._masks].sum()
        if self._has_random.any():
            random_parents = (self._masks >> self._n_fixed)[self._has_random]
            log_weight -= self._log_shares[self._has_random, random_parents].sum()
            is_full = np.bitwise_count(random_parents) == self._n_random[self._has_random]
            batch.n_at_limit[self._has_random] += is_full
            if self._until_look == 0:
                self._look_outside(np.flatnonzero(self._has_random)[is_full])
                self._until_look = _STATES_A_LOOK
            self._until_look -= 1
            self._edges.T[self._is_outside] = self._from_outside[self._is_outside]
        batch.edges += self._edges
        batch.squares += self._edges * self._edges
        batch.paths += self._reaches.T
        batch.n += 1
        batch.log_weights.append(log_weight)
        batch.networks.append(np.packbits(self._is_parent))

    def _look_outside(self, full: Integers) -> None:
        """Set how probable edges are from columns that are no fixed candidates.

        Those that are `full` have as many such parents as there are random candidates.
        """
        self._from_outside = self._candidates.chances(self._is_parent, self._reaches)
        self._from_outside[full] *= self._is_parent[full]

    def adapt(self) -> None:
        """Choose candidates and related columns by the states so far, and forget these."""
        edges = self.batch.edges / self.batch.n
        self._relate(edges)
        if self._has_random.any():
            draw_network(self._state, self._masks, self._is_parent)
            parents = [np.flatnonzero(row).tolist() for row in self._is_parent]
            reversed_edges = np.minimum(edges.T + edges @ edges.T, 1.0)
            wanted = edges + _SHARE_OF_REVERSED * reversed_edges
            ranked = [
                [possible[i] for i in np.argsort(-wanted[possible, x], kind="stable")]
                for x, possible in enumerate(self._candidates.possible)
            ]
            n_wanted = (wanted > _LEAST_FIXED).sum(axis=0).tolist()
            self._weights = edges.T + _ANY_CANDIDATE / self._candidates.m
            self._set_candidates(parents, ranked, n_wanted, edges)
        self.forget()

    def forget(self) -> None:
        """Begin a new batch."""
        self.batch = Batch.empty(self._candidates.m)

"""sample_networks: exact samples from the posterior of networks, independent of each other.

First each column's candidates are drawn, then its parents among them.

- A network counted once (the uniform prior) is drawn layer by layer (Kuipers and Moffa 2015;
  Talvitie, Vuoksenmaa and Koivisto 2019). The first layer has the columns without parents, and the
  next one, after the columns U of all layers so far, those of the others that have all parents in
  U: at least one is in the last layer R, or they would have come before it. With M[U], the weight
  of all ways to give the columns outside U parents, the next layer is S with the weight

  ``(product over x in S of (1 - alpha_x[U - R] / alpha_x[U]))
  * sum over Q ⊇ S of (-1)**|Q - S| (product over x in Q of alpha_x[U]) M[U + Q]``

  by inclusion and exclusion of the columns that have all parents in U.
- A network counted once for each of its orders is drawn by its order, from the last column back:
  the last of the columns W is x with the weight ``F[W - x] alpha_x[W - x]`` (see `order_sums`).

A parent set is drawn in two steps, of about 2**(m / 2) numbers each, from a table of the weights of
a child's parent sets and one of their sums over the lower half of the bits. The columns that are
not in the group, and may only be parents, are candidates of all children. If families are listed,
the parents in the group are drawn first, and then the others.
"""

import numpy as np

from skbn._core.arrays import BYTES, Integers
from skbn._core.compile import compile_kernels
from skbn._core.extended_floats import WideFormat
from skbn._core.resources import Progress, Threads, allocate, require_memory
from skbn._core.text import internal_error
from skbn._exact.plan import SearchPlan
from skbn._posterior.family_weights import PARENT_SET_KERNELS, WEIGHT_KERNELS, mask_type, sum_zeta
from skbn._posterior.few_columns import SumsOfFew, WeightsOfFew
from skbn._posterior.few_draws import MOST_SAMPLES, draw_candidates_of_few, draw_parents_of_few
from skbn._posterior.listed_weights import LISTED_KERNELS, ListedWeights, Weights
from skbn._posterior.network_posterior import GroupPosterior, NetworkPosterior
from skbn._posterior.order_sums import ORDER_KERNELS, Alpha
from skbn._posterior.sampling_kernels import (
    LayerMemory,
    LayerWalks,
    OrderWalks,
    ParentDraws,
    ParentSetTable,
    States,
    draw_layers,
    draw_orders,
    draw_parents,
)

SAMPLING_KERNELS = {
    "uniform": (draw_layers, draw_parents, *PARENT_SET_KERNELS),
    "order": (draw_orders, draw_parents, *PARENT_SET_KERNELS),
}

# Rounding leads a sample to a dead end with a probability of about 2**m times the rounding error of
# an extended float: 1e-4 at worst. Samples that came to one are drawn again.
_MOST_ATTEMPTS = 100
# With fewer samples, starting threads takes longer than they save.
_FEWEST_SAMPLES_TO_SHARE = 64
# Ctrl-C is handled between tasks of about this many steps, a few tenths of a second.
_TASK = 1 << 27


def sample_networks(
    posterior: NetworkPosterior, n_samples: int, rng: np.random.Generator, n_jobs: int | None = None
) -> Integers:
    """Draw networks with the probabilities of their posterior.

    Returns `networks`: (n_samples, m), the mask of each column's parents; Python's integers for
    more than 62 columns.

    Raises ValueError if the tables do not fit in memory.
    """
    if not all(_is_by_numpy(each.weights, n_samples) for each in posterior.groups):
        is_listed = any(isinstance(each.weights, ListedWeights) for each in posterior.groups)
        kernels = (*ORDER_KERNELS, *SAMPLING_KERNELS[posterior.prior])
        compile_kernels((*WEIGHT_KERNELS, *kernels, *(LISTED_KERNELS if is_listed else ())))
    m = len(posterior.edges)
    # The networks themselves, and the parents and candidates of a group while it is drawn.
    require_memory(3 * BYTES * n_samples * m, f"A sample of {n_samples} networks", "draw fewer")
    networks: Integers = np.zeros((n_samples, m), mask_type(m))
    with Threads(n_jobs, m) as threads:
        for group in posterior.groups:
            parents = sample_networks_of_group(posterior.prior, group, threads, n_samples, rng)
            for i, column in enumerate(group.columns):
                is_parent = (parents >> i & 1).astype(networks.dtype)
                networks[:, group.columns[: group.n_columns]] |= is_parent << column
    return networks


def sample_networks_of_group(
    prior: str, group: GroupPosterior, threads: Threads, n_samples: int, rng: np.random.Generator
) -> Integers:
    """Draw networks of a group of columns, with the probabilities of their posterior.

    The kernels of `SAMPLING_KERNELS`, of the weights and of the sums must be compiled.

    `group`: at least one of its networks must have a weight
    `threads`: how many there are does not change the samples
    `rng`: one number is drawn for each sample, the seed of its own generator; and more if a sample
        has to be drawn again

    Returns `parents`: (n_samples, n_columns), the mask of each column's parents, over the group's
    columns and the others after them.

    Raises ValueError if the tables do not fit in memory.
    """
    weights, sums = group.weights, group.sums.drawn_from
    plan = weights.plan if group.n_columns > 1 else SearchPlan(1, 0, len(group.columns) - 1)
    require_memory(
        _n_bytes(prior, weights, plan, threads.n_threads, n_samples),
        f"Drawing {n_samples} networks of {plan.described_columns}",
        "draw fewer at a time, or leave out columns",
    )
    networks: Integers = np.empty((n_samples, plan.n_columns), mask_type(weights.n_positions))
    left = np.arange(n_samples)
    for _ in range(_MOST_ATTEMPTS):
        states = rng.integers(2**64, size=len(left), dtype=np.uint64)
        shape = plan.n_columns, len(left)
        candidates, needed = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        if isinstance(weights, WeightsOfFew) and _is_by_numpy(weights, n_samples):
            if isinstance(group.sums, SumsOfFew):
                draw_candidates_of_few(prior, group.sums, states, candidates, needed)
            parents = draw_parents_of_few(weights, states, candidates, needed)
        else:
            if plan.n_columns > 1:
                alpha = Alpha(weights, plan, threads, Progress())
                if prior == "uniform":
                    _draw_layers(sums, alpha, states, candidates, needed)
                else:
                    _draw_orders(sums, alpha, states, candidates)
                del alpha  # the same memory is for the tables of parent sets
            parents = _draw_parents(weights, threads, states, candidates, needed)
        networks[left] = parents.T
        left = left[(parents < 0).any(axis=0)]
        if len(left) == 0:
            return networks
    raise internal_error(f"{_MOST_ATTEMPTS} times drawing {len(left)} networks led to dead ends")


def _is_by_numpy(weights: Weights, n_samples: int) -> bool:
    """Whether numpy draws so few networks of so few columns."""
    return isinstance(weights, WeightsOfFew) and n_samples <= MOST_SAMPLES


def _n_bytes(prior: str, weights: Weights, plan: SearchPlan, n_threads: int, n_samples: int) -> int:
    """Return how much memory drawing takes at most, beside the weights and their sums."""
    size = 1 << plan.n_columns
    # Peak memory: three tables (first layer), or two per thread (later layers).
    of_layers = max(3, 2 * n_threads) * size if prior == "uniform" else 0
    of_candidates = plan.slab_size + of_layers if plan.n_columns > 1 else 0
    # The masks of the parents, twice, and of two sets of candidates.
    of_samples = 4 * plan.n_columns * n_samples
    return BYTES * (max(of_candidates, 2 * weights.n_parent_sets) + of_samples)


def _draw_layers(
    M: Integers, alpha: Alpha, states: States, candidates: Integers, needed: Integers
) -> None:
    """Set the candidates of each column, and those of which at least one must be a parent."""
    alpha.make(0)
    n_columns, n_samples = candidates.shape
    used, last = np.zeros(n_samples, np.int64), np.zeros(n_samples, np.int64)
    walks = LayerWalks(states, used, last, candidates, needed)

    def run(samples: Integers, most: int) -> None:
        memory = LayerMemory.new(n_columns)
        draw_layers(M, alpha.tables, samples, most, walks, memory, alpha.wide)

    run(np.arange(n_samples), 1)
    # Samples with equal first layers become neighbours. The order in which they are drawn makes no
    # difference: each has its own random numbers.
    parts = _shared(np.argsort(used, kind="stable"), len(M), alpha.threads)
    list(alpha.threads.map(run, [(part, n_columns) for part in parts]))


def _draw_orders(F: Integers, alpha: Alpha, states: States, candidates: Integers) -> None:
    """Set the candidates of each column: those before it in an order."""
    n_samples = len(states)
    columns = np.full(n_samples, len(F) - 1)
    next_sinks = np.zeros(n_samples, np.int64)
    targets = np.full(n_samples, -1.0)
    walks = OrderWalks(states, columns, next_sinks, targets, candidates)
    plan = alpha.plan
    parts = _shared(np.arange(n_samples), plan.n_columns**2, alpha.threads)
    for fixed in reversed(range(1 << plan.n_outer)):
        alpha.make(fixed)
        of_slab = F, alpha.tables, plan.n_inner, fixed
        tasks = [(*of_slab, part, walks, alpha.wide) for part in parts]
        list(alpha.threads.map(draw_orders, tasks))


def _draw_parents(
    weights: Weights, threads: Threads, states: States, candidates: Integers, needed: Integers
) -> Integers:
    """Draw the parents of all columns, shape (n_columns, n_samples); -1 at dead ends."""
    n_columns, n_samples = candidates.shape
    parents = np.empty_like(candidates)
    drawn: Integers = np.empty(candidates.shape, mask_type(weights.n_positions))
    table, low_sums = (allocate(weights.n_parent_sets).view(np.int64) for _ in range(2))
    low_bits = len(table).bit_length() // 2
    others = (2 * len(table) - 1) >> n_columns << n_columns
    parts = _shared(np.arange(n_samples), 1 << low_bits, threads)
    for child in range(n_columns):
        weights.weights_of(child, threads, table)
        _sum_low_bits(table, low_bits, weights.wide, threads, low_sums)
        of_child = ParentSetTable(table, low_sums, low_bits), child, others
        draws = ParentDraws(states, candidates[child], needed[child], parents[child])
        tasks = [(*of_child, part, draws, weights.wide) for part in parts]
        list(threads.map(draw_parents, tasks))
        drawn[child] = parents[child]
        if isinstance(weights, ListedWeights):
            drawn[child] = weights.draw_others(child, parents[child], states)
    return drawn


def _sum_low_bits(
    table: Integers, low_bits: int, wide: WideFormat, threads: Threads, sums: Integers
) -> None:
    """Set `sums` to the sums of a table over subsets of the lowest bits."""

    def run(pieces: Integers) -> None:
        piece = slice(pieces[0] << low_bits, (pieces[-1] + 1) << low_bits)
        sums[piece] = table[piece]
        sum_zeta(sums[piece], 0, low_bits, wide)

    parts = threads.split(np.arange(len(table) >> low_bits), len(table) * low_bits // _TASK)
    list(threads.map(run, [(part,) for part in parts]))


def _shared(samples: Integers, work: int, threads: Threads) -> list[Integers]:
    """Cut samples, each of which takes about `work` steps, into tasks."""
    if len(samples) < _FEWEST_SAMPLES_TO_SHARE and len(samples) * work < _TASK:
        return [samples]
    return threads.split(samples, len(samples) * work // _TASK)

"""SampledPosterior: the posterior of the networks of many columns, by Markov chains.

Where sums over all networks do not fit in memory, chains draw networks from the same posterior (see
`skbn._chains`). The chains begin with different networks, and are trusted as far as they agree.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from skbn._chains.candidates import Candidates
from skbn._chains.chain import CHAIN_KERNELS, Batch, Chain, empty_tables, fill_tables, table_bytes
from skbn._chains.convergence import Agreement, agreement_of, differences_of
from skbn._chains.run import run_chains
from skbn._core.arrays import Floats, Integers, Names, Random
from skbn._core.compile import compile_kernels, kernels_of
from skbn._core.resources import Progress, Resources, one_blas_thread
from skbn._core.subsets import members_of
from skbn._core.text import readable_size, readable_sizes
from skbn._posterior.family_weights import mask_type
from skbn._posterior.network_posterior import with_known_paths
from skbn._regressions.log_determinants import walk_seeds
from skbn._solver.candidate_families import CandidateScores, ranked_parents
from skbn._solver.constraints import Constraints
from skbn._solver.engines import SearchSettings
from skbn._solver.problem import Problem
from skbn._solver.solve import solve

# With no more columns than these in a group, the best network is found at once, and chains begin
# there; else order searches find good ones.
_MOST_TO_SEARCH_ALL = 20
# The share of a time limit that order searches may take.
_SHARE_OF_SEARCHES = 0.1


def searched_networks(
    problem: Problem, resources: Resources, n_chains: int, rng: np.random.Generator
) -> list[list[list[int]]]:
    """Return the parents of each column in networks that searches have found, to begin with."""
    n_searched = n_chains - max(1, n_chains // 3)
    largest = max(len(group.columns) for group in problem.constraints.groups)
    is_exact = largest <= _MOST_TO_SEARCH_ALL
    limit = resources.time_limit
    searching = replace(
        resources,
        time_limit=None if limit is None else limit * _SHARE_OF_SEARCHES / n_searched,
        progress=Progress(),
        announce=None,
        deadline=math.inf,
    )
    found = []
    for _ in range(1 if is_exact else n_searched):
        settings = SearchSettings(is_exact=is_exact, seed=int(rng.integers(1 << 31)))
        try:
            (best,) = solve(problem, searching, settings)
        except ValueError:  # it does not fit in memory; chains begin elsewhere
            break
        found.append([members_of(mask) for mask in best.parents])
    return found * n_searched if is_exact else found


def networks_to_begin_with(
    candidates: Candidates,
    constraints: Constraints,
    found: list[list[list[int]]],
    n_chains: int,
    rng: np.random.Generator,
) -> list[list[list[int]]]:
    """Return the parents in the networks that chains begin with: those found, and random ones."""
    most, modelled = constraints.max_parents, constraints.modelled
    n_random = n_chains - len(found)
    drawn = [random_network(candidates, modelled, most, rng) for _ in range(n_random)]
    # A column with more parents than candidates begins with some of them.
    return [
        [
            [*dict.fromkeys([*required, *own])][: candidates.n_most]
            for required, own in zip(candidates.required, parents, strict=True)
        ]
        for parents in [*found, *drawn]
    ]


def random_network(
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


# Candidates of each column where not all can be: fixed ones, at least and at most, and random ones.
_N_FIXED, _MOST_FIXED, _N_RANDOM = 6, 10, 4
# If columns have more parents in networks that were found, there are more fixed ones, up to these.
_MOST_FIXED_OF_ALL = 12
# All possible parents are candidates if the tables of all columns take no more than this.
_MOST_BYTES_OF_ALL = 1 << 30
# The share of the progress that searches take.
_WORK_OF_STARTS = 0.05
# Chains disagree if two differ by more than the first number in an edge, if more than the second, a
# share of the edges, differ by three standard errors, or mean log weights by the third number.
_FAR_APART, _MOST_FAR_APART, _WEIGHTS_APART = 0.1, 0.02, 4.0
# In at most this share of states may a column's random candidates all be parents.
_MOST_AT_LIMIT = 0.1
_N_WORST = 3


@dataclass(frozen=True)
class ChainSettings:
    """How long chains run."""

    n_chains: int  # at least 2
    n_samples: int  # how many states of each chain are kept, if there is no time limit
    seed: np.random.SeedSequence


@dataclass(frozen=True)
class SampledPosterior:
    """Means over the states of Markov chains."""

    agreement: Agreement  # the probabilities of edges and paths, with their errors
    # (n_chains, n_networks, m): the masks of the parents in networks of each chain, in the chain's
    # order
    parents: list[Integers]
    constraints: Constraints
    # (m,): in what share of the networks each column has as many parents among its random
    # candidates as there are of these: families with more are left out
    shares_at_limit: Floats
    is_interrupted: bool

    prior = "uniform"
    why_no_sums = (
        "after method='sampling': chains know how probable networks are relative to each other, "
        "but not the sum over all. Average over sample_dags, or fit fewer columns with "
        "method='exact'."
    )

    @property
    def n_chains(self) -> int:
        """The number of chains."""
        return len(self.parents)

    @property
    def log_evidence(self) -> float:
        """No evidence is known."""
        raise AttributeError(f"log_evidence_ is not known {self.why_no_sums}")

    @property
    def estimates(self) -> dict[str, Any]:
        """What only this posterior has, as fitted attributes."""
        agreement = self.agreement
        return {
            "edge_standard_errors_": agreement.edge_errors.copy(),
            "r_hat_": agreement.r_hat.copy(),
            "effective_sample_sizes_": agreement.sample_sizes.copy(),
            "chain_edge_probabilities_": agreement.of_chains.copy(),
            "n_samples_": agreement.n,
        }

    @property
    def known_paths(self) -> Floats:
        """At [i, j], the probability of a directed path where knowledge decides it, else NaN."""
        return with_known_paths(np.full(self.edges.shape, np.nan), self.constraints)

    def top_parent_sets(self, x: int, k: int) -> tuple[list[int], Floats]:
        """Return the masks of the k most probable parent sets of a column, and their probabilities.

        They are shares of the networks, in no order.
        """
        masks = np.concatenate(self.parents)[:, x].tolist()
        top = Counter(masks).most_common(k)
        return [mask for mask, _ in top], np.array([n / len(masks) for _, n in top])

    @property
    def edges(self) -> Floats:
        """At [i, j], the probability of the edge i -> j."""
        return self.agreement.edges

    @property
    def paths(self) -> Floats:
        """At [i, j], the probability of a directed path from i to j."""
        return self.agreement.paths

    def complaint(self, names: Names) -> str:
        """Return why the probabilities may be wrong, naming edges or columns; else ""."""
        agreement = self.agreement
        apart = agreement.differences
        agrees = (
            apart.max(initial=0.0) <= _FAR_APART
            and agreement.share_far_apart <= _MOST_FAR_APART
            and agreement.weights_apart <= _WEIGHTS_APART
        )
        complaints = []
        if self.is_interrupted:
            complaints.append("Ctrl-C ended the Markov chains early.")
        if not agrees:
            worst = np.argsort(-apart, axis=None, kind="stable")[:_N_WORST].tolist()
            listed = ", ".join(
                f"{names[i]!r} -> {names[j]!r} ({agreement.of_chains[:, i, j].min():.2f} to "
                f"{agreement.of_chains[:, i, j].max():.2f})"
                for i, j in (divmod(at, len(names)) for at in worst)
            )
            complaints.append(
                "The Markov chains disagree. By chain, the probabilities of edges differ by up to "
                f"{apart.max(initial=0.0):.2f}: {listed}. Trust edges no further than "
                "edge_standard_errors_ and chain_edge_probabilities_ say, and raise n_samples or "
                "time_limit."
            )
        limited = np.flatnonzero(self.shares_at_limit > _MOST_AT_LIMIT)
        if len(limited):
            at = ", ".join(repr(names[x]) for x in limited[:_N_WORST].tolist())
            complaints.append(
                f"The columns {at} often have as many parents as the sampler's random candidates, "
                "and families with more of them are left out. Set max_parents, or sample fewer "
                "columns."
            )
        return " ".join(complaints)

    def sampled(self, n: int, random_state: Random) -> Integers:
        """Return the masks of the parents in n networks, shape (n, m), evenly from all chains.

        They are in the order of the chains. None is there twice before all are.
        """
        n_chains, start = self.n_chains, random_state.random()
        drawn = []
        for c, networks in enumerate(self.parents):
            own = n * (c + 1) // n_chains - n * c // n_chains
            places = (np.arange(own) + start) * (len(networks) / max(own, 1))
            drawn.append(networks[np.minimum(places.astype(np.int64), len(networks) - 1)])
        return np.concatenate(drawn)


def sampled_posterior(
    problem: Problem, resources: Resources, settings: ChainSettings, log_odds: Floats | None = None
) -> SampledPosterior:
    """Return the posterior of all networks within constraints, by Markov chains.

    `problem`: a problem with a table
    `resources`: with a time limit, the chains run for that long, otherwise until they have kept
        enough states. Ctrl-C ends them with the states so far, once there are a few batches.

    Raises ValueError if the tables do not fit in memory.
    """
    constraints, scorer = problem.constraints, problem.scorer
    compile_kernels((*CHAIN_KERNELS, walk_seeds))
    own, *seeds = settings.seed.spawn(1 + settings.n_chains)
    rng = np.random.default_rng(own)
    resources.progress.expect(1.0)
    found = searched_networks(problem, resources, settings.n_chains, rng)
    resources.progress.advance(_WORK_OF_STARTS)
    candidates = _candidates(problem, log_odds, resources, settings.n_chains, found)
    if not candidates.are_all:
        compile_kernels(kernels_of("skbn._chains.candidate_kernels"))
    if resources.announce is not None:
        resources.announce(_plan(candidates, settings, resources))
    with one_blas_thread():
        of_modelled = ranked_parents(scorer, constraints, constraints.modelled, candidates.n_fewest)
        ranked = [of_modelled.get(x, []) for x in range(candidates.m)]
        starts = networks_to_begin_with(candidates, constraints, found, settings.n_chains, rng)
        tables = _shared_tables(candidates, ranked, resources)
        chains = [
            Chain(candidates, constraints.modelled, parents, ranked, seed, tables)
            for parents, seed in zip(starts, seeds, strict=True)
        ]
        report = partial(_report, resources.progress, problem.names)
        batches, is_interrupted = run_chains(
            chains, settings.n_samples, resources, 1 - _WORK_OF_STARTS, report
        )
    networks = [_masks_of(of_chain, candidates.m) for of_chain in batches]
    n_at_limit = [batch.n_at_limit for of_chain in batches for batch in of_chain]
    allowed, required = constraints.bits
    agreement = agreement_of(batches).with_least_errors((allowed & ~required).T)
    return SampledPosterior(
        agreement, networks, constraints, np.sum(n_at_limit, axis=0) / agreement.n, is_interrupted
    )


def _candidates(
    problem: Problem,
    log_odds: Floats | None,
    resources: Resources,
    n_chains: int,
    found: list[list[list[int]]],
) -> Candidates:
    """Choose how many candidates columns may have; raise if their tables do not fit in memory.

    A column's tables double with each candidate; only those that have many parents get many.
    """
    constraints = problem.constraints
    m = len(problem.names)
    possible = [members_of(mask) for mask in constraints.allowed]
    required = [members_of(mask) for mask in constraints.required]
    n_all = max(map(len, possible))
    available, limit = resources.beside(problem.read().n_bytes)

    fewest = max(_N_FIXED, *map(len, required)) + _N_RANDOM
    n_parents = max([0, *(len(own) for parents in found for own in parents)])
    most_fixed = min(max(_MOST_FIXED, n_parents + 1), _MOST_FIXED_OF_ALL)
    most = max(fewest, most_fixed + _N_RANDOM)
    while most > fewest and table_bytes(m, most, n_chains) > available:
        most -= 1
    if n_all > most and table_bytes(m, n_all) <= min(available // 2, _MOST_BYTES_OF_ALL):
        most = n_all
    most = min(most, n_all)
    needed = table_bytes(m, most, 1 if most == n_all else n_chains)
    if needed > available:
        sizes = readable_sizes(needed, available)
        remedy = "Leave out columns"
        if table_bytes(m, most, 2) <= available:
            remedy = "Lower n_chains, to 2 for example, or leave out columns"
        elif max(map(len, required)) > _N_FIXED:
            heaviest = problem.names[int(np.argmax([*map(len, required)]))]
            remedy = f"They double with each of required_edges to {heaviest!r}: leave some out"
        raise ValueError(
            f"The tables of {n_chains} Markov chains over {m} columns need {sizes[0]} of memory, "
            f"and {sizes[1]} {limit}. {remedy}."
        )
    scores = CandidateScores(problem.scorer, constraints, log_odds)
    return Candidates(possible, required, scores, scores.gains, fewest - _N_RANDOM, most, _N_RANDOM)


def _plan(candidates: Candidates, settings: ChainSettings, resources: Resources) -> str:
    n_tables = 1 if candidates.are_all else settings.n_chains
    size = readable_size(table_bytes(candidates.m, candidates.n_most, n_tables))
    length = (
        f"{settings.n_samples:,} states each"
        if resources.time_limit is None
        else f"{resources.time_limit:g} s"
    )
    among = "all others" if candidates.are_all else f"up to {candidates.n_most} candidates"
    return (
        f"{settings.n_chains} Markov chains over {candidates.m} columns, parents among {among}, "
        f"{length}: {size} of memory"
    )


def _shared_tables(
    candidates: Candidates, ranked: list[list[int]], resources: Resources
) -> tuple[Floats, Floats] | None:
    """Return the tables of all chains, if all possible parents are candidates."""
    if not candidates.are_all:
        return None
    scores, sums = empty_tables(candidates.m, candidates.n_most)
    tasks = [(candidates, x, ranked[x], scores, sums) for x in range(candidates.m)]
    with resources.threads() as threads:
        list(threads.map(fill_tables, tasks))
    return scores, sums


def _report(progress: Progress, names: Names, batches: Sequence[Sequence[Batch]]) -> None:
    """Tell in which edge the chains differ most so far."""
    means = np.array(
        [
            sum(batch.edges for batch in of_chain) / sum(batch.n for batch in of_chain)
            for of_chain in batches
        ]
    )
    apart = differences_of(means)
    i, j = divmod(int(np.argmax(apart)), len(names))
    progress.tell(
        f"chains differ by up to {apart[i, j]:.3f}, in the edge {names[i]!r} -> {names[j]!r}"
    )


def _masks_of(batches: list[Batch], m: int) -> Integers:
    """Return the masks of the parents in the networks of a chain's batches, shape (n, m)."""
    packed = [network for batch in batches for network in batch.networks]
    is_parent = np.unpackbits(np.array(packed, dtype=np.uint8), axis=1, count=m * m)
    rows = np.packbits(is_parent.reshape(-1, m), axis=1, bitorder="little")
    masks = [int.from_bytes(row.tobytes(), "little") for row in rows]
    return np.array(masks, dtype=mask_type(m)).reshape(-1, m)

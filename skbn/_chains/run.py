"""Markov chains side by side, through a burn-in and then batch by batch."""

import math
import time
from collections.abc import Callable
from threading import Event

from skbn._chains.chain import Batch, Chain
from skbn._core.resources import Resources, Threads

# Slices of the burn-in, after each of which candidates are chosen anew, and batches of the rest.
# The burn-in takes 30 % of the time.
_BURN_IN_SLICES, _BATCHES = 8, 20
_SHARE_OF_BURN_IN = 0.3
_FEWEST_BATCHES = 4


def run_chains(
    chains: list[Chain],
    n_samples: int,
    resources: Resources,
    work: float,
    report: Callable[[list[list[Batch]]], None],
) -> tuple[list[list[Batch]], bool]:
    """Return the batches of each chain, as many for all, and whether Ctrl-C ended them early.

    `n_samples`: how many states of each chain are kept, if there is no time limit
    `resources`: the progress is advanced by `work` in all
    `report`: called with the batches of each chain after each batch

    Raises KeyboardInterrupt if Ctrl-C ends them before there are some batches.
    """
    kept: list[list[Batch]] = [[] for _ in chains]
    is_over = Event()

    def go_on(threads: Threads, i: int, n: int, share: float) -> None:
        """Let all chains go through slice i of n, which take this share of the time in all."""
        n_steps, seconds = None, math.inf
        if resources.time_limit is None:
            of_all = round(n_samples * share / (1 - _SHARE_OF_BURN_IN))
            n_steps = of_all * (i + 1) // n - of_all * i // n
        else:
            n_rounds = -(-len(chains) // threads.n_threads)
            seconds = resources.time_limit * share / (n * n_rounds)
        for _ in threads.map(_steps, [(chain, n_steps, seconds, is_over) for chain in chains]):
            resources.progress.advance(work * share / (n * len(chains)))

    try:
        with resources.threads() as threads:
            try:
                for i in range(_BURN_IN_SLICES):
                    go_on(threads, i, _BURN_IN_SLICES, _SHARE_OF_BURN_IN)
                    list(threads.map(Chain.adapt, [(chain,) for chain in chains]))
                for i in range(_BATCHES):
                    go_on(threads, i, _BATCHES, 1 - _SHARE_OF_BURN_IN)
                    for chain, of_chain in zip(chains, kept, strict=True):
                        of_chain.append(chain.batch)
                        chain.forget()
                    report(kept)
            except KeyboardInterrupt:
                is_over.set()  # threads at work are waited for, and look at it
                raise
    except KeyboardInterrupt:
        if min(map(len, kept)) < _FEWEST_BATCHES:
            raise
    n = min(map(len, kept))
    return [of_chain[:n] for of_chain in kept], is_over.is_set()


def _steps(chain: Chain, n_steps: int | None, seconds: float, is_over: Event) -> None:
    """Let a chain make some steps, or go on for some seconds, by at least one step."""
    end = time.monotonic() + seconds
    n = 0
    while not is_over.is_set() and (n_steps is None or n < n_steps):
        chain.step()
        n += 1
        if time.monotonic() >= end:
            break

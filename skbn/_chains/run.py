"""ChainRun: Markov chains side by side, through a burn-in and then batch by batch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from skbn._chains.chain import Batch, Chain
from skbn._core.resources import Resources, Threads

# Slices of the burn-in, after each of which candidates are chosen anew, and batches of the rest.
# The burn-in takes 30 % of the time.
_BURN_IN_SLICES, _BATCHES = 8, 20
_SHARE_OF_BURN_IN = 0.3
_FEWEST_BATCHES = 4


class ChainRun:
    """Markov chains while they run.

    Parameters
    ----------
    chains : list of Chain
    n_samples : int
        How many states of each chain are kept, if there is no time limit.
    resources : Resources
        The progress is advanced by `work` in all.
    work : float
    report : callable
        Called with the batches of each chain after each batch.

    Attributes
    ----------
    is_interrupted : bool
        Whether Ctrl-C ended the chains early.
    """

    def __init__(
        self,
        chains: list[Chain],
        n_samples: int,
        resources: Resources,
        work: float,
        report: Callable[[list[list[Batch]]], None],
    ) -> None:
        self._chains, self._resources = chains, resources
        self._n_samples, self._work, self._report = n_samples, work, report
        self._is_over = False
        self.is_interrupted = False
        self._kept: list[list[Batch]] = [[] for _ in chains]

    def batches(self) -> list[list[Batch]]:
        """Run, and return the batches of each chain, as many for all.

        Raises
        ------
        KeyboardInterrupt
            If Ctrl-C ends them before there are some batches.
        """
        try:
            with self._resources.threads() as threads:
                try:
                    self._run(threads)
                except KeyboardInterrupt:
                    self._is_over = True  # threads at work are waited for, and look at it
                    raise
        except KeyboardInterrupt:
            if min(map(len, self._kept)) < _FEWEST_BATCHES:
                raise
            self.is_interrupted = True
        n = min(map(len, self._kept))
        return [of_chain[:n] for of_chain in self._kept]

    def _run(self, threads: Threads) -> None:
        of_rest = 1 - _SHARE_OF_BURN_IN
        for i in range(_BURN_IN_SLICES):
            self._go_on(threads, i, _BURN_IN_SLICES, _SHARE_OF_BURN_IN)
            list(threads.map(Chain.adapt, [(chain,) for chain in self._chains]))
        for i in range(_BATCHES):
            self._go_on(threads, i, _BATCHES, of_rest)
            for chain, of_chain in zip(self._chains, self._kept, strict=True):
                of_chain.append(chain.batch)
                chain.forget()
            self._report(self._kept)

    def _go_on(self, threads: Threads, i: int, n: int, share: float) -> None:
        """Let all chains go through slice i of n, which take this share of the time in all."""
        limit = self._resources.time_limit
        arguments: list[tuple[Chain, int | None, float]]
        if limit is None:
            n_steps = round(self._n_samples * share / (1 - _SHARE_OF_BURN_IN))
            own = n_steps * (i + 1) // n - n_steps * i // n
            arguments = [(chain, own, math.inf) for chain in self._chains]
        else:
            n_rounds = -(-len(self._chains) // threads.n_threads)
            seconds = limit * share / (n * n_rounds)
            arguments = [(chain, None, seconds) for chain in self._chains]
        work = self._work * share / (n * len(self._chains))
        for _ in threads.map(self._steps, arguments):
            self._resources.progress.advance(work)

    def _steps(self, chain: Chain, n_steps: int | None, seconds: float) -> None:
        """Let a chain make so many steps, or go on for some seconds, by at least one step."""
        end = time.monotonic() + seconds
        n = 0
        while not self._is_over and (n_steps is None or n < n_steps):
            chain.step()
            n += 1
            if time.monotonic() >= end:
                break

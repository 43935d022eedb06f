"""ChainRun: Markov chains side by side, through a burn-in and then batch by batch."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from skbn._chains.chain import Batch, Chain
from skbn._core.resources import Resources
from skbn._core.threads import Threads

__all__ = ["ChainRun"]

# Slices of the burn-in, after some of which candidates are chosen anew, and batches of the rest.
# The burn-in takes 40 % of the time.
_BURN_IN_SLICES, _ADAPT_AFTER, _BATCHES = 8, (2, 5, 8), 20
_SHARE_OF_BURN_IN = 0.4
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
        burn_in = self._slices(threads, _BURN_IN_SLICES, _SHARE_OF_BURN_IN)
        for i in range(_BURN_IN_SLICES):
            self._advance(threads, burn_in, _SHARE_OF_BURN_IN / _BURN_IN_SLICES)
            if i + 1 in _ADAPT_AFTER:
                list(threads.map(Chain.adapt, [(chain,) for chain in self._chains]))
        for chain in self._chains:
            chain.forget()
        kept = self._slices(threads, _BATCHES, 1 - _SHARE_OF_BURN_IN)
        for _ in range(_BATCHES):
            self._advance(threads, kept, (1 - _SHARE_OF_BURN_IN) / _BATCHES)
            for chain, of_chain in zip(self._chains, self._kept, strict=True):
                of_chain.append(chain.batch)
                chain.forget()
            self._report(self._kept)

    def _slices(self, threads: Threads, n: int, share: float) -> Callable[[Chain], None]:
        """Return what makes a chain go through one of n slices, which have this share of all."""
        if self._resources.time_limit is None:
            n_steps = -(-round(self._n_samples * share / (1 - _SHARE_OF_BURN_IN)) // n)
            return partial(self._go_steps, n_steps=n_steps)
        left = self._resources.deadline - time.monotonic()
        if share < 0.5:  # of what is left now, and the rest is left for later
            left *= share
        rounds = -(-len(self._chains) // threads.n_threads)
        return partial(self._go_seconds, seconds=max(left, 0.0) / (n * rounds))

    def _go_steps(self, chain: Chain, *, n_steps: int) -> None:
        for _ in range(n_steps):
            if self._is_over:
                break
            chain.step()

    def _go_seconds(self, chain: Chain, *, seconds: float) -> None:
        end = time.monotonic() + seconds
        while True:  # at least one step
            chain.step()
            if self._is_over or time.monotonic() >= end:
                break

    def _advance(self, threads: Threads, go: Callable[[Chain], None], share: float) -> None:
        work = share * self._work / len(self._chains)
        for _ in threads.map(go, [(chain,) for chain in self._chains]):
            self._resources.progress.advance(work)

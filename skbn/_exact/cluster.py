"""The exact search on a cluster: a slab is a task of the workers of dask.distributed.

A task takes F of the slabs that its slab draws on, and returns F of its own. All of these stay on
the workers, which pass them to each other; if a worker is lost, dask runs its tasks again. The walk
back asks the workers for single scores.
"""

import math
import socket
from collections import Counter
from copy import copy
from threading import Lock
from typing import Any

import numpy as np
from psutil import Process

from skbn._core.arrays import Floats, Integers
from skbn._core.compile import compile_kernels
from skbn._core.resources import Progress, Threads, Workers, allocate, available_memory
from skbn._core.subsets import members_of
from skbn._exact.family_sources import FamilySource
from skbn._exact.plan import SearchPlan
from skbn._exact.recurrences import SearchResult, Slab, best_network, slab_kernels, solve_slab
from skbn._exact.walked_families import WALKING_KERNELS

_SHARE_OF_LIMIT = 0.75
# A worker with several threads is given several tasks at once, but each task may use all threads.
_one_task = Lock()


def current_cluster() -> Workers:
    """Return the workers of the client that is in use, as in ``with Client(...):``.

    Raises ImportError without distributed; ValueError without a client that is running, or without
    workers.
    """
    try:
        from distributed import get_client
    except ImportError as error:
        raise ImportError(
            "scheduler='dask' needs dask.distributed: pip install distributed."
        ) from error
    example = "with distributed.Client(...): learner.fit(X)"
    if _is_in_task():
        raise ValueError(
            "scheduler='dask' cannot be used in a task of dask: the task would wait for others "
            f"that wait for its worker. Leave it out there, or call fit outside, as in: {example}"
        )
    try:
        client = get_client()
    except ValueError as error:
        raise ValueError(
            f"scheduler='dask' needs a client of dask.distributed, and none is in use. Call fit as "
            f"in: {example}"
        ) from error
    if client.status != "running":
        raise ValueError(
            f"scheduler='dask' needs a client that is running, and the one in use is "
            f"{client.status}. Make a new one, as in: {example}"
        )
    memory = client.run(_memory_of_worker)
    if not memory:
        raise ValueError("scheduler='dask' needs workers, and the client in use has none.")
    n_on_host = Counter(host for host, *_ in memory.values())
    limits = [min(n_bytes / n_on_host[host], own) for host, n_bytes, own in memory.values()]
    return Workers(client, len(memory), int(min(limits)))


def _is_in_task() -> bool:
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True


def _memory_of_worker(dask_worker: Any) -> tuple[str, int, float]:
    """Return the host, the memory available there, and what is left of the worker's own limit.

    dask stops workers that come near their limit.
    """
    limit = dask_worker.memory_manager.memory_limit or math.inf
    left = _SHARE_OF_LIMIT * limit - Process().memory_info().rss
    return socket.gethostname(), available_memory(), max(0, left)


def search_on_cluster(
    families: FamilySource,
    plan: SearchPlan,
    cluster: Workers,
    n_jobs: int | None,
    progress: Progress,
) -> SearchResult:
    """Return a network with the highest score, as `exact_search` does.

    `n_jobs`: number of threads of the walk back, which is done here
    `progress`: advanced by ``plan.work`` in all
    """
    from distributed import as_completed

    client = cluster.client
    # A separate task, so that workers that join later get the families too.
    shared = client.submit(_same, families, pure=False)
    slabs: list[Any] = []
    try:
        for fixed in range(1 << plan.n_outer):
            given = [slabs[fixed ^ 1 << x] for x in members_of(fixed)]
            slabs.append(client.submit(_solve, shared, plan, fixed, *given, pure=False))
        number = {slab.key: fixed for fixed, slab in enumerate(slabs)}
        for slab in as_completed(slabs):
            if slab.status != "finished":
                slab.result()  # raises its error
            progress.advance(sum(plan.slab_works[number[slab.key].bit_count()]))
        best_local_score = client.submit(_of_last, slabs[-1], pure=False).result()
        store = _StoreOfWorkers(client, slabs, plan.inner_size)
        with Threads(n_jobs, plan.n_columns + plan.n_others) as threads:
            of_sets = store.values, best_local_score
            return best_network(families, plan, *of_sets, threads, progress)
    finally:
        client.cancel([shared, *slabs])


# On the workers


def _same(families: FamilySource) -> FamilySource:
    return families


def _solve(
    families: FamilySource, plan: SearchPlan, fixed: int, *given: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Return F on the sets of a slab, and the last entry of each B."""
    from distributed import get_worker

    slabs = {fixed ^ 1 << x: F for x, (F, _) in zip(members_of(fixed), given, strict=True)}
    store = _StoreOfTask(plan, slabs)
    with _one_task:
        compile_kernels((*WALKING_KERNELS, *slab_kernels(plan)))
        with Threads(get_worker().state.nthreads, plan.n_columns + plan.n_others) as threads:
            own = copy(families)  # its memory is free again after the task
            slab = Slab(own.fill, plan, threads, Progress(math.inf))
            solve_slab(slab, own, store, fixed)
    return slabs[fixed], slab.with_any_parents


class _StoreOfTask:
    """The slabs that a task is given, and its own; see `Store`."""

    def __init__(self, plan: SearchPlan, slabs: dict[int, Floats]) -> None:
        self._size = plan.inner_size
        self._slabs = slabs

    def room(self, fixed: int) -> Floats:
        return allocate(self._size)

    def keep(self, fixed: int, scores: Floats) -> None:
        self._slabs[fixed] = scores

    def slab(self, fixed: int) -> Floats:
        return self._slabs[fixed]

    def values(self, sets: Integers) -> Floats:
        found = [
            self._slabs[mask // self._size][mask % self._size] for mask in sets.ravel().tolist()
        ]
        return np.array(found).reshape(sets.shape)


def _of_last(result: tuple[Floats, Floats]) -> Floats:
    return result[1]


def _take(result: tuple[Floats, Floats], places: Integers) -> Floats:
    return result[0][places]


# On the client


class _StoreOfWorkers:
    """Reads single scores of slabs that are on the workers."""

    def __init__(self, client: Any, slabs: list[Any], size: int) -> None:
        self._client, self._slabs, self._size = client, slabs, size

    def values(self, sets: Integers) -> Floats:
        """Return the scores of some sets."""
        slab, place = np.divmod(sets, self._size)
        asked = np.unique(slab)
        parts = [
            self._client.submit(_take, self._slabs[number], place[slab == number], pure=False)
            for number in asked.tolist()
        ]
        scores = np.empty(sets.shape)
        for number, found in zip(asked, self._client.gather(parts), strict=True):
            scores[slab == number] = found
        return scores

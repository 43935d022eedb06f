"""The search on the workers of a cluster: the same network, and what may go wrong there."""

import os
import re
import signal
import sys

import distributed
import numpy as np
import pytest
from agreement import raises
from families_of_factors import network_of, random_case

from skbn import GaussianBNLearner
from skbn._core.resources import Progress
from skbn._exact.cluster import current_cluster, search_on_cluster
from skbn.datasets import make_gaussian_network

pytestmark = pytest.mark.filterwarnings("ignore:Sending large graph")


@pytest.fixture(
    scope="module", params=["threads", pytest.param("processes", marks=pytest.mark.slow)]
)
def client(request):
    """A client of two workers, in threads of this process or in processes of their own."""
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    settings["processes"] = request.param == "processes"
    with (
        # Workers in threads share the memory of this process, which other tests have filled too.
        distributed.LocalCluster(**settings, memory_limit="4GB") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def searched(client, case, n_outer, n_varying, progress=None):
    plan, families = case.walked(n_outer, n_varying)
    plan = type(plan)(**{**vars(plan), "n_workers": 2})
    with client.as_current():
        cluster = current_cluster()
        return search_on_cluster(families, plan, cluster, 1, progress or Progress(plan.work))


def n_tasks(client):
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def check_nothing_is_left(client):
    """No result stays on the workers."""
    for _ in range(100):
        if not client.futures and not n_tasks(client):
            return
        client.run(int)
    raise AssertionError(f"{n_tasks(client)} tasks are left")


def test_a_cluster_changes_no_bit(client):
    case = random_case(16, has_offsets=True, is_constrained=True)
    told = []
    plan, _ = case.walked(2, 1)
    progress = Progress(plan.work, [lambda percent, *_: told.append(percent)])
    found = searched(client, case, 2, 1, progress)
    assert found == network_of(*case.in_memory())
    assert told[-1] == 100
    check_nothing_is_left(client)


def test_a_learner_finds_the_same_network(client, capsys):
    rows = make_gaussian_network(18, n_samples=150, random_state=18)[0]
    expected = GaussianBNLearner().fit(rows)
    learner = GaussianBNLearner(scheduler="dask", max_memory=4_000_000, verbose=True)
    with client.as_current():
        learner.fit(rows)
    assert "of memory on each of 2 workers" in capsys.readouterr().out
    assert list(learner.dag_.edges(data=True)) == list(expected.dag_.edges(data=True))
    assert learner.network_score_ == expected.network_score_
    assert learner.is_optimal_
    listed = learner.set_params(max_memory=None, verbose=False).near_optimal(2)  # no client
    assert listed.scores[0] == pytest.approx(expected.network_score_, abs=1e-9)
    check_nothing_is_left(client)


class Interrupting(Progress):
    """Does something when the third slab is finished."""

    def __init__(self, work, act):
        super().__init__(work)
        self.n_slabs, self.act = 0, act

    def advance(self, work):
        super().advance(work)
        self.n_slabs += 1
        if self.n_slabs == 3:
            self.act()


def raise_interrupt():
    raise KeyboardInterrupt


def test_an_interruption_leaves_nothing_on_the_workers(client):
    case = random_case(17)
    with pytest.raises(KeyboardInterrupt):
        searched(client, case, 3, 1, Interrupting(1e30, raise_interrupt))
    check_nothing_is_left(client)


def test_an_error_of_a_task_reaches_the_caller(client):
    case = random_case(16)
    plan, families = case.walked(2, 1)
    plan = type(plan)(**{**vars(plan), "n_workers": 2})
    families.check = raise_fault
    with client.as_current(), pytest.raises(ArithmeticError, match="a fault of a task"):
        search_on_cluster(families, plan, current_cluster(), 1, Progress(plan.work))
    check_nothing_is_left(client)


def raise_fault(*_):
    raise ArithmeticError("a fault of a task")


@pytest.mark.slow
def test_a_cluster_with_too_little_memory_says_so(client):
    rows = make_gaussian_network(18, n_samples=150, random_state=0)[0]
    learner = GaussianBNLearner(scheduler="dask", max_memory=1_000_000)
    with client.as_current(), pytest.raises(ValueError, match="on each of 2 workers") as caught:
        learner.fit(rows)
    assert "scratch" not in str(caught.value)
    needed = re.search(r"needs ([\d.]+) MB .* Raise max_memory above", str(caught.value)).group(1)
    assert float(needed) < 4
    with client.as_current():
        learner.set_params(max_memory=(float(needed) + 0.1) * 1e6).fit(rows)
    assert learner.is_optimal_


def test_without_a_client():
    learner = GaussianBNLearner(scheduler="dask")
    raises("needs a client of dask", learner.fit, np.random.default_rng(0).normal(size=(20, 3)))


def test_an_order_search_needs_no_client():
    rows = np.random.default_rng(0).normal(size=(20, 3))
    learner = GaussianBNLearner(scheduler="dask", search="order", random_state=0).fit(rows)
    assert not learner.is_optimal_


def test_what_stays_here_has_the_memory_of_this_process(client):
    learner = GaussianBNLearner(scheduler="dask")
    with client.as_current():
        given = learner._resources()
    assert given.cluster.n_workers == 2
    assert given.cluster.n_bytes < given.available


def test_without_distributed(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    rows = np.random.default_rng(0).normal(size=(20, 3))
    raises("install distributed", GaussianBNLearner(scheduler="dask").fit, rows, kind=ImportError)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("client", ["processes"], indirect=True)
def test_a_worker_that_is_killed_is_made_up_for(client):
    """Its nanny starts another one, and what was lost is computed again."""
    case = random_case(18)
    pids = list(client.run(os.getpid).values())
    killed = []

    def kill():
        os.kill(pids[0], signal.SIGKILL)
        killed.append(pids[0])

    found = searched(client, case, 4, 1, Interrupting(1e30, kill))
    assert killed
    assert found == network_of(*case.in_memory())
    client.wait_for_workers(2, timeout=60)
    assert pids[0] not in client.run(os.getpid).values()
    check_nothing_is_left(client)


def test_a_closed_client_is_refused(client):
    other = distributed.Client(client.cluster, set_as_default=False)
    with other.as_current():
        other.close()
        with pytest.raises(ValueError, match=r"the one in use is closed. Make a new one, as in"):
            GaussianBNLearner(scheduler="dask").fit(np.eye(9)[:, :8])

import pickle
import re
import threading
import time
from dataclasses import replace

import joblib
import numpy as np
import psutil
import pytest
from agreement import raises
from threadpoolctl import threadpool_info

from skbn import GaussianBNLearner
from skbn._core import resources
from skbn._core.resources import Progress, Resources, Threads, one_blas_thread, telling_listener
from skbn.datasets import make_gaussian_network

# Memory


@pytest.fixture
def control_group(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "_CONTROL_GROUP", tmp_path)
    return tmp_path


def test_without_a_container_the_machine_sets_the_limit(control_group):
    assert 0 < resources.available_memory() < psutil.virtual_memory().total


def test_a_container_sets_the_limit_if_it_has_one(control_group):
    (control_group / "memory.max").write_text("1000000\n", encoding="utf-8")
    (control_group / "memory.current").write_text("200000\n", encoding="utf-8")
    assert resources.available_memory() == 760_000  # less a twentieth
    (control_group / "memory.max").write_text("max\n", encoding="utf-8")
    assert resources.available_memory() > 10_000_000


def test_memory_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(resources, "available_memory", lambda: 2_000_000)
    resources.require_memory(2_000_000, "This")
    message = r"This needs 3\.0 MB of memory, and 2\.0 MB are available; leave out"
    raises(message, resources.require_memory, 3_000_000, "This")


# What a refusal advises works


@pytest.mark.parametrize(
    "constraints",
    [
        {},
        {"max_parents": 2},
        {"tiers": [range(4), range(4, 12)]},
        {"tiers": [range(17), range(17, 20)]},  # its last three columns need most
        {"required_edges": [(0, 9), (1, 9), (2, 9), (2, 8)]},
    ],
)
def test_a_search_fits_in_the_memory_that_a_refusal_names(constraints):
    m = 1 + max((x for tier in constraints.get("tiers", ()) for x in tier), default=19)
    rows, _ = make_gaussian_network(m, n_samples=60, random_state=0)
    learner = GaussianBNLearner(max_memory=20_000, **constraints)
    with pytest.raises(ValueError, match=r"needs .* Raise max_memory above") as refusal:
        learner.fit(rows)
    needed, unit = re.search(r"needs (\S+) (\wB)", str(refusal.value)).groups()
    learner.set_params(max_memory=f"{1.01 * float(needed)}{unit}").fit(rows)
    raises("search over", learner.set_params(max_memory=f"{0.9 * float(needed)}{unit}").fit, rows)


def test_tiers_and_few_parents_make_a_search_small():
    rows = np.random.default_rng(0).normal(size=(60, 40))
    learner = GaussianBNLearner(max_memory=3e5)
    with pytest.raises(ValueError, match=r"Set tiers of few columns and a small max_p") as refusal:
        learner.fit(rows)
    assert "raise max_memory" not in str(refusal.value)  # to 18 TB
    tiers = [range(i, i + 8) for i in range(0, 40, 8)]
    learner.set_params(tiers=tiers, max_parents=1).fit(rows)


def test_amounts_that_differ_look_different():
    rows = np.random.default_rng(0).normal(size=(60, 14))
    GaussianBNLearner(max_memory=267_776).fit(rows)
    for n_bytes, message in [
        (267_775, r"needs 267\.776 kB of memory .*, and 267\.775 kB are allowed"),
        (267_760, r"needs 267\.78 kB of memory .*, and 267\.76 kB are allowed"),
        (200_000, r"needs 267\.8 kB of memory .*, and 200\.0 kB are allowed"),
    ]:
        raises(message, GaussianBNLearner(max_memory=n_bytes).fit, rows)


def test_allocated_memory_is_there():
    for size in (0, 1, 1000, 3_000_000):
        array = resources.allocate(size)
        assert array.shape == (size,)
        assert array.dtype == float
    del array
    before = psutil.Process().memory_info().rss
    array = resources.allocate(20_000_000)
    assert psutil.Process().memory_info().rss - before > 0.9 * array.nbytes


# Threads


def test_work_on_many_columns_is_shared():
    both = threading.Barrier(2)
    with Threads(n_jobs=2, n_columns=24) as threads:
        list(threads.map(both.wait, [(60,), (60,)]))  # raises unless two wait at once
        pieces = threads.split(np.arange(100))
    assert len(pieces) > 2
    np.testing.assert_array_equal(np.concatenate(pieces), np.arange(100))


def test_work_on_few_columns_stays_in_the_thread():
    idents = []
    with Threads(n_jobs=2, n_columns=8) as threads:
        list(threads.map(lambda i: idents.append((i, threading.get_ident())), [(1,), (2,), (3,)]))
        assert len(threads.split(np.arange(100))) == 1
    assert idents == [(i, threading.get_ident()) for i in (1, 2, 3)]
    assert len(Threads(n_jobs=2, n_columns=8).split(np.arange(0))) == 1


def test_number_of_threads_follows_joblib():
    assert Threads(n_jobs=None, n_columns=24).n_threads == 1
    assert Threads(n_jobs=3, n_columns=24).n_threads == 3
    assert Threads(n_jobs=-1, n_columns=24).n_threads == joblib.cpu_count()
    with joblib.parallel_config(n_jobs=2):
        assert Threads(n_jobs=None, n_columns=24).n_threads == 2


def test_an_error_drops_what_has_not_begun():
    begun = []
    failed = threading.Event()

    def work(i):
        begun.append(i)
        if i == 0:
            failed.set()
            raise MemoryError
        failed.wait(60)
        time.sleep(0.001)  # leaves the calling thread seconds to notice, on a busy machine too

    with pytest.raises(MemoryError), Threads(n_jobs=2, n_columns=24) as threads:
        list(threads.map(work, [(i,) for i in range(10_000)]))
    assert len(begun) < 10_000


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.usefixtures("two_blas_threads")
def test_linear_algebra_in_one_thread_until_the_last_leaves():
    before = blas_threads()
    if not before:
        pytest.skip("threadpoolctl does not know this BLAS, Apple's for one")
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    assert set(blas_threads()) == {1}
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


# Progress


def table(m, n=200):
    return make_gaussian_network(m, n_samples=n, random_state=m)[0]


def test_listeners_hear_of_each_percent_once():
    heard = []
    progress = Progress(50.0, (lambda *told: heard.append(told),))
    for _ in range(200):
        progress.advance(0.25)
    percents, seconds_left, notes = zip(*heard, strict=True)
    assert percents == tuple(range(1, 101))
    assert min(seconds_left) == seconds_left[-1] == 0
    assert not any(notes)


def test_listeners_hear_notes_at_any_time():
    heard = []
    progress = Progress(2.0, (lambda *told: heard.append(told),))
    progress.tell("a first network")
    progress.advance(1.0)
    progress.tell("a better one")
    expected = [(0, "a first network"), (50, ""), (50, "a better one")]
    assert [(percent, note) for percent, _, note in heard] == expected


def test_large_steps_skip_percents():
    heard = []
    progress = Progress(4, (lambda percent, *_: heard.append(percent),))
    for _ in range(4):
        progress.advance(1)
    assert heard == [25, 50, 75, 100]


# What `verbose` prints


def test_verbose_prints_the_time_left(capsys, monkeypatch):
    monkeypatch.setattr("skbn._core.resources.SECONDS_BETWEEN_LINES", 0)
    GaussianBNLearner(verbose=True).fit(table(5))
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "[GaussianBNLearner] 100 % done, about 0.0 s left"


def test_lines_of_progress_come_ever_less_often(monkeypatch):
    now, told = [0.0], []
    monkeypatch.setattr("skbn._core.resources.time.monotonic", lambda: now[0])
    listen = telling_listener("Search", lambda line: told.append((now[0], line)))
    for tenth in range(36_000):
        now[0] = tenth / 10
        listen(50, 1.0, "")
    assert told[0] == (2.0, "[Search] 50 % done, about 1.0 s left")
    pauses = np.diff([at for at, _ in told])
    assert (pauses[1:] > pauses[:-1]).all()
    assert sum(at <= 180 for at, _ in told) == 14
    assert len(told) == 27


# Resources: limits, shares and deadlines


def test_the_tighter_limit_holds_and_says_why():
    assert Resources(100).beside(20) == (120, "are available")
    assert Resources(100, 150).beside(20) == (120, "are available")
    assert Resources(100, 50).beside(20) == (50, "are allowed by max_memory")


def test_shares_of_memory():
    share = Resources(90, 60, scratch="a folder").share(3)
    assert (share.available, share.allowed, share.scratch) == (30, 20, "a folder")
    assert Resources(90).share(3).allowed is None


def test_a_deadline_begins_with_the_search():
    assert Resources(1).from_now().deadline == float("inf")
    assert Resources(1).of_share(0.5).deadline == float("inf")
    begun = Resources(1, time_limit=100.0).from_now()
    now = time.monotonic()
    assert begun.deadline == pytest.approx(now + 100, abs=5)
    assert begun.of_share(0.25).deadline == pytest.approx(now + 25, abs=5)
    part = begun.of_share(0.25)  # what it begins in turn ends with it
    assert part.from_now().deadline == part.deadline


@pytest.mark.parametrize("time_limit", [None, 10.0])
@pytest.mark.parametrize("ends_on_interrupt", [False, True])
def test_an_interrupted_search_keeps_its_best_only_within_a_limit(time_limit, ends_on_interrupt):
    given = Resources(1, time_limit=time_limit, ends_on_interrupt=ends_on_interrupt)
    assert given.keeps_best_on_interrupt == (time_limit is not None and ends_on_interrupt)


def test_work_is_expected_once():
    percents = []
    progress = Progress(listeners=(lambda percent, *_: percents.append(percent),))
    progress.advance(5.0)  # nobody knows yet of how much
    assert percents == []
    progress.expect(10.0)
    progress.expect(1000.0)
    progress.advance(5.0)
    assert percents == [50]


def test_resources_can_be_sent_to_another_process():
    given = Resources(90, 60, n_jobs=2, progress=Progress(10.0, (print,)))
    sent = pickle.loads(pickle.dumps(given))
    assert replace(sent, progress=given.progress) == given
    sent.progress.advance(1.0)

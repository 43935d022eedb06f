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

from skbn import GaussianBNLearner, GaussianBNLearnerCV, LocalScoreTransformer
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
    with pytest.raises(
        ValueError, match=r"This needs 3\.0 MB of memory, and 2\.0 MB are available; leave out"
    ):
        resources.require_memory(3_000_000, "This")


# What a refusal says would fit does fit, followed literally

REMEDIES = {
    "max_memory": r"raise max_memory to (\d+(?:\.\de\d+)?)",
    "tiers": r"tiers of (\d+) or fewer columns each",
    "max_parents": r"max_parents to (\d+) or less",
    "columns": r"leave out columns until (\d+) or fewer are left",
}


def remedies_of(rows, **settings):
    """Return each remedy of a refusal, with its number or, of tiers with few parents, both."""
    with pytest.raises(ValueError, match=r"search over .* are allowed by max_memory\.") as refusal:
        GaussianBNLearner(**settings).fit(rows)
    remedies = {}
    for part in str(refusal.value).lower().split(", or "):
        found = {name: re.search(form, part) for name, form in REMEDIES.items()}
        numbers = {name: float(match[1]) for name, match in found.items() if match}
        assert numbers
        remedies[next(iter(numbers))] = numbers
    return remedies


def settings_of(remedy, settings, m):
    """Return a learner's settings with a remedy taken, and the number of columns."""
    settings, m = dict(settings), int(remedy.get("columns", m))
    if "max_memory" in remedy:
        settings["max_memory"] = remedy["max_memory"]
    if "max_parents" in remedy:
        settings["max_parents"] = int(remedy["max_parents"])
    if "tiers" in remedy:
        size = int(remedy["tiers"])
        settings["tiers"] = [range(i, min(i + size, m)) for i in range(0, m, size)]
    if m < 12 and settings.get("tiers"):
        settings["tiers"] = [[x for x in tier if x < m] for tier in settings["tiers"]]
    return settings, m


@pytest.mark.parametrize(
    "constraints",
    [
        pytest.param({}, marks=pytest.mark.slow),
        pytest.param({"max_parents": 2}, marks=pytest.mark.slow),
        {"tiers": [range(4), range(4, 12)]},
        pytest.param({"tiers": [range(6), range(6, 12)], "max_parents": 9}, marks=pytest.mark.slow),
        {"tiers": [[x] for x in range(12)]},
        pytest.param({"required_edges": [(0, 9), (1, 9), (2, 9), (2, 8)]}, marks=pytest.mark.slow),
    ],
)
def test_a_search_that_is_refused_fits_as_the_refusal_says(constraints):
    rows, _ = make_gaussian_network(12, n_samples=60, random_state=0)
    needed = remedies_of(rows, max_memory=1, **constraints)["max_memory"]["max_memory"]
    for share in (0.5, 0.05):
        settings = {**constraints, "max_memory": share * needed}
        for remedy in remedies_of(rows, **settings).values():
            if "columns" in remedy and "required_edges" in settings:
                continue  # these name columns that are left out
            taken, m = settings_of(remedy, settings, 12)
            GaussianBNLearner(**taken).fit(rows[:, :m])
            scores = LocalScoreTransformer(max_parents=taken.get("max_parents"))
            GaussianBNLearner(**taken).fit(scores.fit_transform(rows[:, :m]))
            GaussianBNLearnerCV([1.0], cv=2, **taken).fit(rows[:, :m])


def test_a_refusal_names_the_largest_numbers_that_fit():
    rows = np.random.default_rng(0).normal(size=(60, 14))
    remedies = remedies_of(rows, max_memory=2e5)
    assert remedies.keys() == {"max_memory", "max_parents", "columns"}
    for beyond in (
        {"max_parents": remedies["max_parents"]["max_parents"] + 1},
        {"columns": remedies["columns"]["columns"] + 1},
        {"max_memory": remedies["max_memory"]["max_memory"] * 0.9},
    ):
        settings, m = settings_of(beyond, {"max_memory": 2e5}, 14)
        raises("search over", GaussianBNLearner(**settings).fit, rows[:, :m])
    remedies = remedies_of(rows, max_memory=1e5, max_parents=2)
    assert remedies.keys() == {"max_memory", "tiers", "columns"}
    larger = [range(int(remedies["tiers"]["tiers"]) + 1)]
    larger.append(range(len(larger[0]), 14))
    raises("search over", GaussianBNLearner(max_memory=1e5, max_parents=2, tiers=larger).fit, rows)


@pytest.mark.parametrize("max_memory", [2**20, 2**21, 2_150_000, 2**23])
def test_a_refusal_is_of_the_largest_search_as_the_tiers_have_it(max_memory):
    rows = make_gaussian_network(20, n_samples=100, random_state=0)[0]
    learner = GaussianBNLearner(tiers=[range(17), range(17, 20)], max_memory=max_memory)
    message = (
        r"over 3 columns with 17 others as parents needs (\S+) MB of memory for the 2\*\*20 "
        r"sets of these, and (\S+) MB are allowed by max_memory\. Raise max_memory to (\S+),"
    )
    with pytest.raises(ValueError, match=message) as refusal:
        learner.fit(rows)
    needed, allowed, remedy = map(float, re.search(message, str(refusal.value)).groups())
    assert allowed < needed <= remedy / 1e6 < 1.1 * needed
    learner.set_params(max_memory=remedy).fit(rows)


def test_amounts_that_differ_look_different():
    rows = np.random.default_rng(0).normal(size=(60, 14))
    GaussianBNLearner(max_memory=267_776).fit(rows)
    for n_bytes, message in [
        (267_775, r"needs 267\.776 kB of memory .*, and 267\.775 kB are allowed"),
        (267_760, r"needs 267\.78 kB of memory .*, and 267\.76 kB are allowed"),
        (200_000, r"needs 267\.8 kB of memory .*, and 200\.0 kB are allowed"),
    ]:
        raises(message, GaussianBNLearner(max_memory=n_bytes).fit, rows)


def test_few_parents_are_no_remedy_for_many_states():
    rows = np.random.default_rng(0).normal(size=(60, 40))
    remedies = remedies_of(rows, max_memory=3e5)
    assert remedies.keys() == {"tiers", "columns"}
    assert remedies["tiers"].keys() == {"tiers", "max_parents"}
    settings, _ = settings_of(remedies["tiers"], {"max_memory": 3e5}, 40)
    GaussianBNLearner(**settings).fit(rows)


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
    assert [(percent, note) for percent, _, note in heard] == [
        (0, "a first network"),
        (50, ""),
        (50, "a better one"),
    ]


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
    assert Resources(1).end_of_share(0.5) == float("inf")
    begun = Resources(1, time_limit=100.0).from_now()
    now = time.monotonic()
    assert begun.deadline == pytest.approx(now + 100, abs=5)
    assert begun.end_of_share(0.25) == pytest.approx(now + 25, abs=5)


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

"""Plans: what they choose, what they take, and what their progress adds up to."""

import errno
import os
import re
import shutil
import subprocess
import sys
import tracemalloc
from collections import namedtuple
from dataclasses import replace

import numpy as np
import pytest
from agreement import raises
from families_of_factors import network_of, random_case

from skbn._core.resources import Progress
from skbn._core.subsets import members_of
from skbn._exact import file_store, recurrences
from skbn._exact.file_store import FileStore
from skbn._exact.plan import (
    SearchPlan,
    TooLargeError,
    plan_on_workers,
    plan_search,
    space_of_scratch,
)
from skbn._exact.recurrences import ArrayStore, Slab, exact_search, open_store
from skbn._scores.families import SmallFamilies

Usage = namedtuple("Usage", "total used free")
PLENTY = 1 << 50


@pytest.fixture
def folder(monkeypatch):
    """A folder with a lot of space, which nothing writes to."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(PLENTY, 0, PLENTY))
    return "a folder"


def least_bytes(m, **options):
    with pytest.raises(TooLargeError) as caught:
        plan_search(m, 0, **options)
    return caught.value.needed


# What is chosen


@pytest.mark.parametrize("m", [18, 22, 26, 30, 32])
def test_memory_then_windows_then_a_file(m, folder):
    in_memory = least_bytes(m, in_memory=True)
    windows = least_bytes(m)
    with_file = least_bytes(m, scratch=folder)
    assert with_file < windows < in_memory
    fastest = plan_search(m, PLENTY)
    assert fastest.n_varying is None
    for n_bytes in (fastest.n_bytes, PLENTY):
        assert plan_search(m, n_bytes, scratch=folder) == fastest
    for n_bytes in (in_memory, fastest.n_bytes - 1):
        plan = plan_search(m, n_bytes, scratch=folder)
        assert plan.work <= plan_search(m, n_bytes, in_memory=True).work
        assert plan.n_bytes <= n_bytes
    for n_bytes in (in_memory - 1, windows):
        plan = plan_search(m, n_bytes)
        assert plan.n_varying is not None
        assert plan.scratch is None
    plan = plan_search(m, windows - 1, scratch=folder)
    assert plan.scratch == folder
    for n_bytes in (with_file, windows - 1, windows, in_memory - 1):
        assert plan_search(m, n_bytes, scratch=folder).n_bytes <= n_bytes
    for n_bytes, options in [
        (in_memory - 1, {"in_memory": True, "scratch": folder}),
        (windows - 1, {}),
        (with_file - 1, {"scratch": folder}),
    ]:
        raises(f"over {m} columns needs", plan_search, m, n_bytes, kind=TooLargeError, **options)


def test_more_memory_never_takes_longer(folder):
    m = 20
    least, most = least_bytes(m, scratch=folder), plan_search(m, PLENTY).n_bytes
    limits = np.linspace(least, most, 40).astype(int)
    work = [plan_search(m, int(n_bytes), scratch=folder).work for n_bytes in limits]
    assert work == sorted(work, reverse=True)
    assert len(set(work)) > 4


def test_a_folder_without_room_is_not_taken(monkeypatch):
    m = 20
    windows = least_bytes(m)
    for missing in (0, 1):
        usage = Usage(PLENTY, 0, (8 << m) - missing)
        monkeypatch.setattr(shutil, "disk_usage", lambda _, usage=usage: usage)
        if missing:
            message = r"scratch='f' has .* of the 8\.[34]"
            raises(message, plan_search, m, windows - 1, scratch="f", kind=TooLargeError)
        else:
            assert plan_search(m, windows - 1, scratch="f").scratch == "f"


@pytest.mark.parametrize("m", [18, 24, 30])
def test_the_space_that_a_refusal_names_is_enough(m):
    least = least_bytes(m)
    assert space_of_scratch(m, least - 1) == 8 << m
    assert space_of_scratch(m, 1000) is None
    assert space_of_scratch(14, PLENTY) is None  # of few columns, nothing is walked again


def test_lists_of_families_have_no_windows(folder):
    n_numbers = SmallFamilies(20, 2).numbers_while_listed
    in_memory = least_bytes(20, n_log_determinants=n_numbers)
    plan = plan_search(20, in_memory - 1, n_log_determinants=n_numbers, scratch=folder)
    assert plan.scratch == folder
    assert plan.n_varying is None
    too_large = {"n_log_determinants": n_numbers, "kind": TooLargeError}
    raises("needs", plan_search, 20, in_memory - 1, **too_large)


def test_workers_share_the_best_scores():
    m, n_bytes = 24, 1 << 27
    few, many = (plan_on_workers(m, 0, n, n_bytes, "are there", PLENTY) for n in (2, 50))
    assert few.n_workers == 2
    assert many.n_workers == 50
    for plan in (few, many):
        assert plan.n_varying is not None
        assert plan.scratch is None
        assert plan.n_bytes <= n_bytes
    alone = replace(few, n_workers=1)
    assert alone.work_of_workers == alone.work
    assert few.work / 2 <= few.work_of_workers < few.work
    message = r"its part of the 2\*\*24 states, and 1.* MB are there on each of 2 workers"
    raises(message, plan_on_workers, m, 0, 2, 1_000_000, "are there", PLENTY, kind=TooLargeError)


def test_the_window_of_the_walk_back_fits_in_this_process():
    large = plan_on_workers(24, 0, 2, PLENTY, "", PLENTY)
    small = plan_on_workers(24, 0, 2, PLENTY, "", 8 * large.window_size - 1)
    assert small.window_size < large.window_size


def test_plans_in_words(folder):
    assert re.fullmatch(r"20 columns in 2 parts: [\d.]+ MB of memory", str(SearchPlan(20, 1)))
    plan = plan_search(24, least_bytes(24, scratch=folder), scratch=folder)
    words = r"24 columns in 256 parts: [\d.]+ MB of memory and 134\.\d MB of a folder"
    assert re.fullmatch(words, str(plan))
    of_workers = replace(plan, scratch=None, n_workers=3)
    assert str(of_workers).endswith("MB of memory on each of 3 workers")


# What is taken


@pytest.mark.parametrize(
    ("n_outer", "n_varying", "is_file"),
    [(1, 1, True), *(pytest.param(n, n, n == 3, marks=pytest.mark.slow) for n in (2, 3))],
)
def test_the_memory_and_the_progress_are_those_of_the_plan(n_outer, n_varying, is_file, tmp_path):
    case = random_case(17)
    plan, _ = case.walked(n_outer, n_varying, tmp_path if is_file else None)
    network_of(*random_case(15).walked(1, 1))  # compiled
    told = []
    progress = Progress(plan.work, [lambda percent, *_: told.append(percent)])
    _, families = case.walked(n_outer, n_varying, tmp_path if is_file else None)
    tracemalloc.start()
    exact_search(families, plan, 1, progress)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    of_blocks = 16 * min(8, 1 << n_outer) << plan.block_bits
    assert 0.97 * plan.n_bytes < peak < 1.03 * (plan.n_bytes + of_blocks) + 700_000
    assert progress._done == pytest.approx(plan.work, rel=1e-9)
    assert told[-1] == 100


@pytest.mark.parametrize("n_outer", [1, 4])
def test_the_work_is_that_of_all_slabs(n_outer):
    for options in ({}, {"n_varying": 1}, {"n_varying": 1, "scratch": "a folder"}):
        plan = SearchPlan(18, n_outer, **options)
        of_slabs = sum(sum(plan.slab_works[fixed.bit_count()]) for fixed in range(1 << n_outer))
        assert plan.work == of_slabs + plan.work_of_walk_back
        assert (plan.work_of_walk_back > 0) == (plan.n_varying is not None)


# Stores of the best scores, and what is left of a file: nothing, whatever happens


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="files and limits of Linux")


def plan_of(m, n_outer, scratch=None):
    return SearchPlan(m, n_outer, n_varying=1, scratch=scratch and str(scratch))


@pytest.fixture
def case():
    return random_case(16, is_constrained=True)


# What is kept


@pytest.mark.parametrize("is_file", [False, True])
@pytest.mark.parametrize(("m", "n_outer"), [(5, 2), (8, 3), (4, 0)])
@pytest.mark.parametrize("piece", [1 << 24, 24])
def test_what_was_kept_is_there(is_file, m, n_outer, piece, tmp_path, monkeypatch):
    monkeypatch.setattr(file_store, "_PIECE", piece)
    plan = plan_of(m, n_outer, tmp_path if is_file else None)
    scores = np.random.default_rng(0).normal(size=1 << m)
    scores[3], scores[-2] = -np.inf, -0.0
    slabs = scores.reshape(1 << n_outer, -1)
    with open_store(plan) as store:
        assert type(store) is (FileStore if is_file else ArrayStore)
        for fixed, expected in enumerate(slabs):
            room = store.room(fixed)
            assert room.shape == (plan.inner_size,)
            room[:] = expected
            store.keep(fixed, room)
            for x in members_of(fixed):
                np.testing.assert_array_equal(store.slab(fixed ^ 1 << x), slabs[fixed ^ 1 << x])
        for fixed in (0, len(slabs) - 1):
            np.testing.assert_array_equal(store.slab(fixed), slabs[fixed])
        sets = np.random.default_rng(1).integers(0, 1 << m, (7, 3))
        for some in (sets, sets[0, :1], np.array([(1 << m) - 1, 0])):
            found = store.values(some)
            np.testing.assert_array_equal(found, scores[some])
            assert found.shape == some.shape


def written_in_parts(file):
    class Halting:
        """A file of which each call reads or writes a few bytes only, as the system may."""

        def __init__(self):
            self.seek, self.fileno = file.seek, file.fileno

        def write(self, piece):
            return file.write(piece[:11])

        def readinto(self, piece):
            return file.readinto(piece[:13])

    return Halting()


def test_a_system_that_reads_and_writes_less_than_asked_for(tmp_path):
    plan = plan_of(6, 2, tmp_path)
    scores = np.random.default_rng(0).normal(size=(4, 16))
    with open(tmp_path / "scores", "w+b", buffering=0) as file:
        store = FileStore(written_in_parts(file), plan)
        for fixed, of_slab in enumerate(scores):
            store.keep(fixed, of_slab)
        np.testing.assert_array_equal(store.slab(2), scores[2])
        np.testing.assert_array_equal(store.values(np.arange(64)), scores.ravel())
        file.truncate(8 * 40)
        np.testing.assert_array_equal(store.slab(1), scores[1])
        raises("has become shorter", store.slab, 2, kind=OSError)
        raises("has become shorter", store.values, np.array([40]), kind=OSError)


# What is left


@linux_only
def test_the_file_has_no_name_and_all_of_its_space(case, tmp_path, monkeypatch):
    seen = []
    keep = FileStore.keep

    def look_and_keep(store, fixed, scores):
        taken = os.stat(store._file.fileno())
        seen.append((os.listdir(tmp_path), taken.st_size, taken.st_blocks * 512))
        keep(store, fixed, scores)

    monkeypatch.setattr(FileStore, "keep", look_and_keep)
    plan, families = case.walked(2, 1, tmp_path)
    network_of(plan, families)
    assert len(seen) == 4
    for names, size, taken in seen:
        assert names == []
        assert size == plan.n_scratch_bytes == 8 << 16
        assert taken >= size


STAGES = {
    "fill": (Slab, "fill"),
    "transform": (Slab, "transform"),
    "extend": (Slab, "extend"),
    "keep": (FileStore, "keep"),
    "read": (FileStore, "slab"),
    "walk back": (recurrences, "best_network"),
}


def count_open_files():
    return len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0


ERRORS = [KeyboardInterrupt, MemoryError, OSError(errno.EIO, "gone")]


@pytest.mark.parametrize(
    ("stage", "error"),
    [
        pytest.param(stage, ERRORS[i % 3], marks=[pytest.mark.slow] if i % 3 != 1 else [])
        for i, stage in enumerate(STAGES)
    ],
)
def test_nothing_is_left_of_a_search_that_ends_early(stage, error, case, tmp_path, monkeypatch):
    owner, name = STAGES[stage]
    original, n_calls = getattr(owner, name), []

    def raise_the_second_time(*given):
        n_calls.append(1)
        if len(n_calls) == 2 or name == "best_network":
            raise error
        return original(*given)

    plan, families = case.walked(2, 1, tmp_path)
    network = network_of(plan, families)
    assert os.listdir(tmp_path) == []
    n_files = count_open_files()
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, raise_the_second_time)
        with pytest.raises(error if isinstance(error, type) else OSError):
            network_of(plan, families)
    assert os.listdir(tmp_path) == []
    assert count_open_files() == n_files
    assert network_of(plan, families) == network  # the families still serve


# Folders that cannot be used


def refusal_of(plan):
    with pytest.raises(ValueError, match="Name another folder, or free some space") as caught:
        open_store(plan).__enter__()
    return str(caught.value)


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="space is not taken at once")
def test_a_full_disk_is_named_with_the_space(tmp_path, monkeypatch):
    taken = []

    def take(descriptor, start, n_bytes):
        taken.append(n_bytes)
        if len(taken) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", take)
    message = refusal_of(plan_of(30, 8, tmp_path))
    assert repr(str(tmp_path)) in message
    assert "8.6 GB" in message
    assert os.strerror(errno.ENOSPC) in message
    assert len(taken) == 3  # pieces, between which Ctrl-C is handled
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="space is not taken at once")
def test_all_space_is_taken_piece_by_piece(tmp_path, monkeypatch):
    ends = [0]

    def take(descriptor, start, n_bytes):
        assert start == ends[-1]
        ends.append(start + n_bytes)

    monkeypatch.setattr(os, "posix_fallocate", take)
    monkeypatch.setattr(file_store, "_PIECE", 1 << 4)
    with open_store(plan_of(10, 2, tmp_path)):
        assert ends[-1] == 8 << 10
        assert len(ends) == 9
    with monkeypatch.context() as patch:
        patch.delattr(os, "posix_fallocate")
        with open_store(plan_of(10, 2, tmp_path)) as store:
            assert os.fstat(store._file.fileno()).st_size == 8 << 10


@pytest.mark.parametrize("kind", ["missing", "file", "locked"])
def test_folders_that_cannot_be_written_to(kind, tmp_path, monkeypatch):
    folder = tmp_path / kind
    if kind == "file":
        folder.write_text("", encoding="utf-8")
    elif kind == "locked":  # of another user; root may write anywhere
        folder.mkdir()
        denied = OSError(errno.EACCES, os.strerror(errno.EACCES))
        Tempfile = namedtuple("Tempfile", "TemporaryFile")

        def deny(**_):
            raise denied

        monkeypatch.setattr(file_store, "tempfile", Tempfile(deny))
    message = refusal_of(plan_of(10, 2, folder))
    assert repr(str(folder)) in message
    assert re.search(r"a file of 8\.\d kB", message)


LIMITED = """
import os, resource, sys
import numpy as np
from skbn import GaussianBNLearner
folder = sys.argv[1]
rows = np.random.default_rng(0).normal(size=(60, 18))
expected = GaussianBNLearner().fit(rows)
learner = GaussianBNLearner(scratch=folder, max_memory=2_500_000)
learner.fit(rows)
assert learner.network_score_ == expected.network_score_
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
try:
    learner.fit(rows)
except ValueError as error:
    print(error)
assert vars(learner).keys() == learner.get_params().keys()
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 21, resource.RLIM_INFINITY))
assert learner.fit(rows).network_score_ == expected.network_score_
assert os.listdir(folder) == []
"""


@pytest.mark.slow
@linux_only
def test_a_limit_of_the_size_of_files(tmp_path):
    """The system refuses the file's last byte."""
    command = [sys.executable, "-c", LIMITED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    message = f"scratch={str(tmp_path)!r} cannot take a file of 2.1 MB: {os.strerror(errno.EFBIG)}."
    assert done.stdout.startswith(message)

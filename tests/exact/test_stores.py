"""Stores of the best scores, and what is left of a file: nothing, whatever happens."""

import errno
import os
import re
import subprocess
import sys
from collections import namedtuple

import numpy as np
import pytest
from agreement import raises
from families_of_factors import network_of, random_case

from skbn._core.subsets import members_of
from skbn._exact import file_store, recurrences
from skbn._exact.file_store import FileStore
from skbn._exact.plan import SearchPlan
from skbn._exact.recurrences import ArrayStore, Slab, open_store

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
        pytest.param(stage, ERRORS[i % 3], marks=[pytest.mark.slow] if i % 2 else [])
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

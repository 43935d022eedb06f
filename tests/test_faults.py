"""What happens to the machine or to the process gives no wrong result."""

import contextlib
import io
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import joblib
import numpy as np
import pytest

from skbn import GaussianBNLearner, GaussianBNLearnerCV, LocalScoreTransformer
from skbn._core import memory as _memory
from skbn._core import threads as _parallel
from skbn._core.kernel_cache import KernelCache
from skbn._core.threads import Threads, count_threads
from skbn.datasets import make_gaussian_network

ESTIMATORS = [GaussianBNLearner(), GaussianBNLearnerCV(cv=2), LocalScoreTransformer()]


def table(m, n=200):
    return make_gaussian_network(m, n_samples=n, random_state=m)[0]


# The cache of kernels


@pytest.fixture
def cache(tmp_path):
    cache = KernelCache(str(tmp_path), "module.kernel-1", "stamp")
    cache.save("signature", {"code": 1})
    return cache


def test_a_kernel_is_kept_for_its_signature_and_sources(cache, tmp_path):
    cache.save("other signature", {"code": 2})
    assert cache.load("signature") == {"code": 1}
    assert cache.load("other signature") == {"code": 2}
    edited = KernelCache(str(tmp_path), "module.kernel-1", "other stamp")
    assert edited.load("signature") is None
    edited.save("signature", {"code": 3})
    assert edited.load("signature") == {"code": 3}
    assert len(list(tmp_path.iterdir())) == 1  # what earlier sources left is gone
    edited.flush()
    assert list(tmp_path.iterdir()) == []


def test_versions_of_numba_keep_each_others_kernels(cache, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("numba.__version__", "0.0")
        assert cache.load("signature") is None
        cache.save("signature", {"code": 2})
        assert cache.load("signature") == {"code": 2}
    assert cache.load("signature") == {"code": 1}


@pytest.mark.parametrize("damage", [lambda b: b[:40], lambda b: b"", lambda b: b[:-1] + b"\0\0"])
def test_a_damaged_kernel_is_not_loaded(cache, tmp_path, damage):
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert cache.load("signature") is None
    cache.save("signature", {"code": 1})
    assert cache.load("signature") == {"code": 1}


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_kernel_that_is_not_saved_leaves_no_file(cache, tmp_path, monkeypatch, error):
    def fail(*_):
        raise error

    before = list(tmp_path.iterdir())
    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(error):
        cache.save("other signature", {"code": 2})
    assert list(tmp_path.iterdir()) == before


# Memory


@pytest.mark.skipif(sys.platform != "linux", reason="where limits of the process count")
def test_a_limit_of_the_process_counts(monkeypatch):
    taken = _memory.psutil.Process().memory_info()
    limits = {
        _memory.resource.RLIMIT_AS: (taken.vms + (100 << 20), -1),
        _memory.resource.RLIMIT_DATA: (-1, -1),
    }
    monkeypatch.setattr(_memory.resource, "getrlimit", limits.get)
    assert 0 < _memory.available_memory() <= 95 << 20
    limits[_memory.resource.RLIMIT_AS] = (1 << 20, -1)  # set when more was taken already
    assert _memory.available_memory() == 0


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_refused_memory_leaves_nothing_half_fitted(estimator, monkeypatch):
    def refuse(*_):
        raise MemoryError("Unable to allocate 8.00 MiB")

    rows = table(4)
    learned = {*vars(estimator.fit(rows))}
    with monkeypatch.context() as patch:
        where = "transformer.make_scores" if hasattr(estimator, "transform") else "learner{}.{}"
        where = where.format("_cv" * hasattr(estimator, "cv"), "best_networks")
        patch.setattr(f"skbn._estimators.{where}", refuse)
        with pytest.raises(MemoryError, match=r"allocate 8\.00 MiB\. Free some, leave out columns"):
            estimator.fit(rows)
    assert vars(estimator).keys() == estimator.get_params().keys()
    assert vars(estimator.fit(rows)).keys() == learned


def test_refused_memory_leaves_rows_that_came_in_chunks(monkeypatch):
    rows = table(4)
    learner = GaussianBNLearner().partial_fit(rows)
    with monkeypatch.context() as patch:
        patch.setattr("skbn._exact.recurrences.allocate", Mock(side_effect=MemoryError))
        with pytest.raises(MemoryError, match=r"seemed to be available\. Free some"):
            learner.network_score_  # noqa: B018
    assert learner.network_score_ == GaussianBNLearner().fit(rows).network_score_


# Threads and processes


def test_fewer_threads_than_asked_for_do_all_the_work(monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    expected = GaussianBNLearner().fit(table(18))
    monkeypatch.setattr(threading.Thread, "start", refuse)
    fitted = GaussianBNLearner(n_jobs=3).fit(table(18))
    assert fitted.network_score_ == expected.network_score_
    assert list(fitted.dag_.edges) == list(expected.dag_.edges)


def test_no_thread_begins_when_the_interpreter_ends():
    with Threads(3) as threads:
        threads._helpers.shutdown()
        assert list(threads.map(abs, [(-1,), (-2,), (-3,)])) == [1, 2, 3]


def test_processes_of_joblib_know_how_many_threads():
    with joblib.parallel_config(backend="loky", n_jobs=3):
        assert count_threads(None) == 3
        assert count_threads(2) == 2
        assert count_threads(1) == 1
    with joblib.parallel_config(backend="sequential"):
        assert count_threads(4) == 1
    with ThreadPoolExecutor(1) as pool, joblib.parallel_config(backend="loky"):
        assert pool.submit(count_threads, 2).result() == 2


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a fork beside threads may hang")
def test_a_forked_process_inherits_no_lock():
    expected = GaussianBNLearner(n_jobs=2).fit(table(18)).network_score_
    with _parallel._blas._lock, one_blas_thread_elsewhere():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
            pid = os.fork()
        if pid == 0:  # the thread that has the lock in the parent is not here
            signal.alarm(60)  # ends this process
            with contextlib.suppress(BaseException):
                right = GaussianBNLearner(n_jobs=2).fit(table(18)).network_score_ == expected
                os._exit(0 if right else 1)
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@contextlib.contextmanager
def one_blas_thread_elsewhere():
    _parallel._blas._users.add("another thread")
    yield
    _parallel._blas._users.discard("another thread")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a fork beside threads may hang")
def test_forked_workers_fit():
    expected = fit_of(2)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(fit_of, [1, 2, -1]) == [expected] * 3


def fit_of(n_jobs):
    return GaussianBNLearner(n_jobs=n_jobs).fit(table(18)).network_score_


def test_sixteen_fits_at_once():
    def fit(i):
        learner = (GaussianBNLearnerCV if i % 4 == 3 else GaussianBNLearner)(n_jobs=1 + i % 2)
        fitted = learner.fit(table(4 + i % 5))
        return fitted.network_score_, list(fitted.dag_.edges(data="weight"))

    expected = [fit(i) for i in range(16)]
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(fit, range(16))) == expected


def test_a_learner_pickled_while_it_is_fitted_is_fitted_or_not():
    learner = GaussianBNLearner()
    expected = GaussianBNLearner().fit(table(5)).network_score_
    fits = threading.Thread(target=lambda: [learner.fit(table(5)) for _ in range(10)])
    fits.start()
    while fits.is_alive():
        copy = pickle.loads(pickle.dumps(learner))
        if copy.__sklearn_is_fitted__():
            assert copy.network_score_ == expected
            assert "_summary" in vars(copy)
    fits.join()


# What a process may have set


def test_a_closed_terminal_does_not_end_a_search(monkeypatch):
    monkeypatch.setattr("skbn._core.progress._SECONDS_BETWEEN_LINES", 0)
    expected = GaussianBNLearner().fit(table(5)).network_score_
    closed = io.StringIO()
    closed.close()
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8") as nobody_reads:
        for stream in (None, closed, nobody_reads):
            monkeypatch.setattr(sys, "stdout", stream)
            assert GaussianBNLearner(verbose=True).fit(table(5)).network_score_ == expected
        with contextlib.suppress(OSError):
            nobody_reads.flush()
        monkeypatch.undo()
        os.dup2(os.open(os.devnull, os.O_WRONLY), nobody_reads.fileno())


def test_underflow_is_not_raised():
    rows = table(5) * 1e-300
    expected = GaussianBNLearner("bge").fit(rows).network_score_
    with np.errstate(all="raise"):
        assert GaussianBNLearner("bge").fit(rows).network_score_ == expected

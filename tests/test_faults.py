"""What happens to the machine or to the process gives no wrong result."""

import contextlib
import io
import multiprocessing
import os
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest

from skbn import GaussianBNLearner, GaussianBNLearnerCV
from skbn._core import resources
from skbn._core.resources import count_threads
from skbn.datasets import make_gaussian_network


def table(m, n=200):
    return make_gaussian_network(m, n_samples=n, random_state=m)[0]


# Memory


@pytest.mark.skipif(sys.platform != "linux", reason="where limits of the process count")
def test_a_limit_of_the_process_counts(monkeypatch):
    taken = resources.psutil.Process().memory_info()
    limits = {
        resources.resource.RLIMIT_AS: (taken.vms + (100 << 20), -1),
        resources.resource.RLIMIT_DATA: (-1, -1),
    }
    monkeypatch.setattr(resources.resource, "getrlimit", limits.get)
    monkeypatch.setattr(resources.psutil.Process, "memory_info", lambda _: taken)
    assert 0 < resources.available_memory() <= 95 << 20
    limits[resources.resource.RLIMIT_AS] = (1 << 20, -1)  # set when more was taken already
    assert resources.available_memory() == 0


# Threads and processes


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
def test_forked_workers_fit():
    expected = fit_of(2)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(fit_of, [1, 2, -1]) == [expected] * 3


def fit_of(n_jobs):
    return GaussianBNLearner(n_jobs=n_jobs).fit(table(18)).network_score_


def test_sixteen_fits_at_once():
    def fit(i):
        learner = GaussianBNLearnerCV([1, 4], cv=3) if i % 4 == 3 else GaussianBNLearner()
        learner.set_params(n_jobs=1 + i % 2)
        fitted = learner.fit(table(18 if i % 8 == 1 else 4 + i % 5))
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
            assert copy.dag_.number_of_nodes() == 5
    fits.join()


# What a process may have set


def test_a_closed_terminal_does_not_end_a_search(monkeypatch):
    monkeypatch.setattr("skbn._core.resources.SECONDS_BETWEEN_LINES", 0)
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

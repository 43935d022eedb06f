import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from skbn import GaussianBNLearner
from skbn._core.threads import Threads, one_blas_thread
from skbn.datasets import make_gaussian_network


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

    with pytest.raises(MemoryError), Threads(n_jobs=2, n_columns=24) as threads:
        list(threads.map(work, [(i,) for i in range(10_000)]))
    assert len(begun) < 10_000


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


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


def test_two_fits_at_once():
    tables = [make_gaussian_network(18, n_samples=200, random_state=i)[0] for i in range(4)]
    expected = [GaussianBNLearner().fit(rows) for rows in tables]
    with ThreadPoolExecutor(4) as pool:
        fitted = list(pool.map(lambda rows: GaussianBNLearner(n_jobs=2).fit(rows), tables))
    for one, other in zip(expected, fitted, strict=True):
        assert one.network_score_ == other.network_score_
        np.testing.assert_array_equal(one.network_.coef_, other.network_.coef_)

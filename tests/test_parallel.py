import threading

import numpy as np

from skbn._parallel import Threads


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

import gc
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")
gc.disable()  # until all tests are collected: of what they import nothing is garbage
# As many processes as there are cores run the tests, and OpenBLAS reads this when it is loaded. Its
# threads wait for one another by spinning: on a core that another process uses that takes most of
# the time of the tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import joblib
import pytest
import sklearn
from joblib.externals.loky import get_reusable_executor
from packaging.version import Version
from sklearn.datasets import load_wine
from threadpoolctl import threadpool_limits

from skbn import GaussianBNLearner
from skbn.compile import compile_kernels
from skbn.datasets import make_gaussian_network

for name, max_examples in {"repeatable": 10, "thorough": 200}.items():
    hypothesis.settings.register_profile(
        name,
        max_examples=max_examples,
        derandomize=True,
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("repeatable")


def pytest_xdist_auto_num_workers(config):
    """Return how many processes run the tests: one a core, but none for files that are named."""
    paths = [Path(argument.partition("::")[0]) for argument in config.args]
    return 0 if any(path.is_file() for path in paths) else joblib.cpu_count()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session):
    """Compile all kernels first: two processes would compile the same ones at once."""
    option = session.config.option
    if getattr(option, "numprocesses", None) and not option.collectonly:
        with suppress(RuntimeError):  # no folder can be written to
            compile_kernels()
        get_reusable_executor().shutdown()  # whose processes hold much memory


def pytest_collection_finish(session):
    """Leave what was imported out of garbage collections: to go through it takes half a second."""
    gc.freeze()
    gc.enable()


def pytest_runtest_setup(item):
    for mark in item.iter_markers("needs_sklearn"):
        version, why = mark.args
        if Version(sklearn.__version__) < Version(version):
            pytest.skip(f"scikit-learn {why} from {version} on")


@pytest.fixture(scope="session")
def wine():
    """The 178 wines of scikit-learn; some modules have a fixture with fewer of the columns."""
    table = load_wine(as_frame=True).data
    yield table
    assert table.equals(load_wine(as_frame=True).data), "a test has changed the table of all tests"


@pytest.fixture(scope="session")
def small_wine(wine):
    return wine[["alcohol", "proline", "hue", "ash"]]


@pytest.fixture(scope="session")
def learner(wine):
    """A learner that is fitted to the wines, not to be changed."""
    return GaussianBNLearner().fit(wine)


@pytest.fixture(scope="session")
def rows():
    """Rows of a network of six columns, which cannot be changed."""
    rows = make_gaussian_network(6, n_samples=200, random_state=0)[0]
    rows.setflags(write=False)
    return rows


@pytest.fixture
def two_blas_threads():
    """Linear algebra takes two threads where nothing keeps it to one, as in a process of a user."""
    with threadpool_limits(2, "blas"):
        yield


@pytest.fixture(autouse=True, scope="session")
def _interruptible():
    """Ctrl-C, which some tests send, is ignored by what a shell runs in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")

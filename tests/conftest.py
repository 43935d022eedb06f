import os
import signal
import sys

os.environ.setdefault("MPLBACKEND", "Agg")

import hypothesis
import pytest
import sklearn
from packaging.version import Version
from sklearn.datasets import load_wine

for name, max_examples in {"repeatable": 40, "thorough": 200}.items():
    hypothesis.settings.register_profile(
        name,
        max_examples=max_examples,
        derandomize=True,
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("repeatable")


def pytest_runtest_setup(item):
    for mark in item.iter_markers("needs_sklearn"):
        version, why = mark.args
        if Version(sklearn.__version__) < Version(version):
            pytest.skip(f"scikit-learn {why} from {version} on")


@pytest.fixture(scope="module")
def wine():
    """The 178 wines of scikit-learn; some modules have a fixture with fewer of the columns."""
    return load_wine(as_frame=True).data


@pytest.fixture(autouse=True, scope="session")
def _interruptible():
    """Ctrl-C, which some tests send, is ignored by what a shell runs in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")

import hashlib
import os
import signal
import sys
from pathlib import Path

# A cached kernel does not notice a change of a kernel that it calls from another file:
# each state of the sources gets a cache of its own. Before numba is imported.
ROOT = Path(__file__).parents[1]
SOURCES = b"".join(path.read_bytes() for path in sorted(ROOT.glob("skbn/**/*.py")))
os.environ["NUMBA_CACHE_DIR"] = str(
    ROOT / ".pytest_cache" / "numba" / hashlib.sha256(SOURCES).hexdigest()[:16]
)
os.environ.setdefault("MPLBACKEND", "Agg")

import hypothesis
import pytest

for name, max_examples in {"repeatable": 40, "thorough": 200}.items():
    hypothesis.settings.register_profile(
        name,
        max_examples=max_examples,
        derandomize=True,
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("repeatable")


@pytest.fixture(autouse=True, scope="session")
def _interruptible():
    """Ctrl-C, which some tests send, is ignored by what a shell runs in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")

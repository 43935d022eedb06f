"""Faults that take a process of their own: limits, interruptions, kills."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="limits and signals of Linux"),
]

BEGIN = """
import os, resource, signal, sys, threading, time
import numpy as np
from skbn import GaussianBNLearner, GaussianBNLearnerCV
rng = np.random.default_rng(0)
def table(m):
    rows = rng.normal(size=(200, m))
    rows[:, 1:] += 0.5 * rows[:, :-1]
    return rows
small = table(6)
"""
FIT = "print(repr(GaussianBNLearner().fit(small).network_score_), flush=True)\n"


def run(program, **options):
    command = [sys.executable, "-c", BEGIN + program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def expected():
    (score,) = run(FIT)
    return score


LIMITED = """
rows = table(20)
GaussianBNLearner().fit(table(18))  # kernels and BLAS are there
for extra in (0, 1, 4, 10, 20, 24, 40, 80, 150):
    with open("/proc/self/statm", encoding="utf-8") as pages:
        taken = int(pages.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + (extra << 20), -1))
    learner = GaussianBNLearner()
    try:
        learner.fit(rows)
    except MemoryError as error:
        assert "Free some" in str(error)
        assert vars(learner).keys() == learner.get_params().keys()
    except ValueError as error:
        assert "B are available. " in str(error)
        assert vars(learner).keys() == learner.get_params().keys()
    if extra >= 4:
        GaussianBNLearner().fit(small)
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
"""


def test_memory_refused_at_any_point(expected):
    assert run(LIMITED + FIT) == [expected]


INTERRUPTED = """
class Interrupt:
    def __init__(self, percent):
        self.left = percent
    def setup(self, estimator, context):
        pass
    teardown = on_fit_task_begin = setup
    def on_fit_task_end(self, estimator, context, **_):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)
one = GaussianBNLearner()
two = GaussianBNLearner(n_jobs=2)
folds = GaussianBNLearnerCV(cv=2, penalties=[1, 2], n_jobs=2)
for estimator, percent in [(e, p) for e in (one, two, folds) for p in (1, 30, 60, 95)]:
    unfitted = {*vars(estimator.set_callbacks(Interrupt(percent)))}
    try:
        estimator.fit(table(19))
    except KeyboardInterrupt:
        assert {*vars(estimator)} == unfitted
    else:
        raise AssertionError(percent)
    for thread in threading.enumerate():  # the interruption may come while one is waited for
        if thread is not threading.main_thread():
            thread.join(10)
    assert threading.active_count() == 1
"""


@pytest.mark.needs_sklearn("1.9", "has callbacks")
def test_interrupted_at_any_stage(expected):
    program = "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    assert run(program + INTERRUPTED + FIT) == [expected]


KILLED = """
from sklearn.model_selection import GridSearchCV
class Killed(GaussianBNLearner):
    def fit(self, X, y=None, sample_weight=None):
        os.kill(os.getpid(), signal.SIGKILL)
search = GridSearchCV(Killed(), {"penalty": [1, 2]}, cv=2, n_jobs=2)
try:
    search.fit(small)
except Exception as error:
    assert type(error).__name__ == "TerminatedWorkerError", error
assert not hasattr(search, "best_estimator_")
grid = {"penalty": [1, 2]}
alone, shared = (
    GridSearchCV(GaussianBNLearner(), grid, cv=2, n_jobs=n).fit(small).cv_results_ for n in (1, 2)
)
assert (alone["mean_test_score"] == shared["mean_test_score"]).all()
"""


def test_a_worker_that_is_killed(expected, tmp_path):
    program = tmp_path / "program.py"  # of which processes can unpickle the class
    program.write_text(BEGIN + KILLED + FIT, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{expected}\n"


def test_terminated_halfway(tmp_path):
    program = "print('ready', flush=True)\nwhile True: GaussianBNLearner(n_jobs=2).fit(table(20))"
    process = subprocess.Popen(
        [sys.executable, "-c", BEGIN + program], stdout=subprocess.PIPE, cwd=tmp_path
    )
    assert process.stdout.readline() == b"ready\n"
    process.terminate()
    assert process.wait(60) == -signal.SIGTERM
    process.stdout.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "settings",
    [
        {"NUMBA_DISABLE_JIT": "1", "OPENBLAS_NUM_THREADS": "2", "LC_ALL": "de_DE.UTF-8"},
        {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "TMPDIR": "/no", "HOME": "/no"},
    ],
)
def test_settings_of_the_process(expected, settings, monkeypatch):
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert run(FIT, stdin=subprocess.DEVNULL) == [expected]


def test_a_folder_that_is_removed(expected, tmp_path):
    here = f"os.makedirs({str(tmp_path / 'here')!r}); os.chdir({str(tmp_path / 'here')!r})\n"
    here += "os.rmdir(os.getcwd())\nos.close(0)\n"
    assert run(here + FIT) == [expected]

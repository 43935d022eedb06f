import os
import subprocess
import sys

import pytest

from skbn._core.compile import kernel


def test_a_kernel_without_a_place_for_its_cache_still_compiles():
    namespace = {}
    exec("def increment(x): return x + 1", namespace)  # of no file, so of no cache folder
    assert kernel(namespace["increment"])(1) == 2


PROGRAM = """
import shutil, sys
from skbn import GaussianBNLearner
shutil.rmtree(sys.argv[1], ignore_errors=True)
open(sys.argv[1], "wb").close()  # no folder can be made here any more
print(list(GaussianBNLearner().fit([[0, 0], [1, 2], [2, 5], [3, 5]]).dag_.edges))
"""


FIT = """
from skbn import GaussianBNLearner
GaussianBNLearner().fit([[0, 0], [1, 2], [2, 5], [3, 5]])
"""


TOLD = """
import logging, sys
import numba
import numpy as np
logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
namespace = {}
exec("def f(x): return x + 1", namespace)
for others in (namespace["f"], lambda x: x + 1):  # what others compile is not skbn's
    numba.njit(others)(1)
numba.njit(namespace["f"])(1.0)
logging.info("before")
from skbn import GaussianBNLearner, GaussianBNLearnerCV
rows = np.random.default_rng(0).normal(size=(100, 19))
learner = GaussianBNLearnerCV(cv=2, verbose=True) if "cv" in sys.argv else GaussianBNLearner()
learner.fit(rows[:, :5])
GaussianBNLearner(verbose=True, max_parents=2).fit(rows)
"""
MESSAGE = "Compiling the search; this happens once and takes some 10 seconds."


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["cv", "none that is verbose"])
def test_a_compilation_is_told_of_once_and_a_cached_kernel_is_not(learner, tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", TOLD, learner]
    for is_first in (True, False):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        logged = done.stderr.splitlines()
        assert logged == ["root: before", *[f"skbn: {MESSAGE}"] * is_first]
        lines = done.stdout.splitlines()
        assert lines.count(f"[skbn] {MESSAGE}") == is_first
        # It is told before the last search that is verbose, or in it.
        plan = next(i for i, line in enumerate(lines) if "19 columns" in line)
        assert not is_first or (lines.index(f"[skbn] {MESSAGE}") < plan) == (learner == "cv")
        assert not [line for line in lines if "% done" in line]


@pytest.mark.slow
def test_processors_that_share_a_folder_keep_each_others_kernels(tmp_path):
    def kernels_after_a_fit(processor):
        environment = {name: value for name, value in os.environ.items() if name[:5] != "NUMBA"}
        environment |= {"NUMBA_CACHE_DIR": str(tmp_path)} | processor
        subprocess.run([sys.executable, "-c", FIT], env=environment, check=True)
        return {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")}

    own = kernels_after_a_fit({})
    both = kernels_after_a_fit({"NUMBA_CPU_NAME": "generic"})
    assert len(both) == 2 * len(own) > 0
    assert own.items() <= both.items()
    assert kernels_after_a_fit({"NUMBA_CPU_NAME": "generic"}) == both  # nothing is compiled again
    assert kernels_after_a_fit({}) == both


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_costs_a_compilation_only(tmp_path):
    folder = str(tmp_path / "cache")
    environment = os.environ | {"NUMBA_CACHE_DIR": folder}
    command = [sys.executable, "-c", PROGRAM, folder]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[(0, 1)]\n"
    assert done.stderr == ""

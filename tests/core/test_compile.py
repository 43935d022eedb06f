import importlib
import os
import pkgutil
import re
import stat
import subprocess
import sys
from types import ModuleType

import networkx as nx
import numpy as np
import pytest
from agreement import raises
from numba import float64, int64
from numba.types import Tuple

import skbn
import skbn.compile
from skbn import GaussianBayesianNetwork, GaussianBNLearner, GaussianBNPosterior, ParentSetScores
from skbn._core import compile as _compile
from skbn._core.addresses import address_of, by_address
from skbn._core.compile import compile_kernels, kernel


def test_a_kernel_without_a_place_for_its_cache_still_compiles(monkeypatch):
    monkeypatch.setattr(_compile, "_signatures", {})
    namespace = {}
    exec("def increment(x): return x + 1", namespace)  # of no file, so of no cache folder
    increment = kernel(int64)(namespace["increment"])
    compile_kernels([increment])
    assert increment.signatures == [(int64,)]
    assert increment(1) == 2


def test_a_kernel_is_called_by_its_address(monkeypatch):
    monkeypatch.setattr(_compile, "_signatures", {})

    @kernel(int64[::1], int64)
    def item(items, i):
        return items[i] + 1, 0.5

    item_at = by_address(item, Tuple((int64, float64)))

    @kernel(int64, int64[::1])
    def total(address, items):
        total = 0.0
        for i in range(items.size):
            number, half = item_at(address, items, i)
            total += number + half
        return total

    assert total(address_of(item), np.arange(4)) == 12.0
    assert item(np.arange(4), 2) == (3, 0.5)


def test_kernels_are_compiled_for_their_own_signature_alone(tmp_path):
    rows = np.random.default_rng(0).normal(size=(60, 20))
    for m, settings in [(2, {}), (8, {}), (20, {"n_jobs": 2}), (20, {"max_parents": 2})]:
        GaussianBNLearner(**settings).fit(rows[:, :m])
    few = GaussianBNLearner("bge", max_parents=2, required_edges=[(0, 1)])
    few.fit(rows.astype(np.float32)[::-1])
    skbn.GaussianBNLearnerCV(cv=2, penalties=[1, 2]).fit(rows[:, :3])
    for prior in ("uniform", "order"):
        posterior = GaussianBNPosterior(structure_prior=prior).fit(rows[:, :13])
        posterior.sample_dags(3)
        posterior.parent_set_probabilities(0)
        tiers = [range(1), range(1, 15)]  # families with few parents are listed
        posterior.set_params(max_parents=1, tiers=tiers).fit(rows[:, :15]).sample_dags(3)
    called = {each: types for each, types in _compile._signatures.items() if each.signatures}
    assert len(called) >= 30
    for each, types in called.items():
        assert each.signatures == [types], each.__name__


def run_python(code, folder, **settings):
    """Run code in a process of its own, with a cache of kernels in a folder."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    given = {"capture_output": True, "text": True, **settings}
    return subprocess.run([sys.executable, "-c", code], env=environment, **given)


VERSION = """
from typing import NamedTuple
import numpy as np
from skbn._core import arrays
from skbn._core.addresses import address_of, by_address
from skbn._core.compile import compile_kernels, kernel, tuple_type
class NAME(NamedTuple):
    first: arrays.F1
    second: arrays.F1
@kernel(tuple_type(NAME))
def total(pair):
    return pair.first[0] + pair.second[0]
def run():
    compile_kernels([total])
    print(total(NAME(np.ones(1), np.full(1, 2.0))))
"""


@pytest.mark.slow
def test_a_cache_of_an_earlier_version_is_replaced(tmp_path):
    for name in ("Pair", "Pair", "TwoArrays"):
        (tmp_path / "module.py").write_text(VERSION.replace("NAME", name))
        code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import module; module.run()"
        run = run_python(code, tmp_path / "cache")
        assert run.stdout == "3.0\n", run.stderr


TOLD = """
import logging
import numba
import numpy as np
logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
namespace = {}
exec("def f(x): return x + 1", namespace)
for others in (namespace["f"], lambda x: x + 1):  # what others compile is not skbn's
    numba.njit(others)(1)
numba.njit(namespace["f"])(1.0)
logging.info("before")
from skbn import GaussianBNLearnerCV
rows = np.random.default_rng(0).normal(size=(100, 19))
learner = GaussianBNLearnerCV(cv=2)  # several searches
learner.fit(rows[:, :5])
learner.near_optimal(2)
"""
MESSAGE = r"Compiling kernels, once on this machine: about \d+ s\."


@pytest.mark.slow
def test_a_compilation_is_told_of_once_and_a_cached_kernel_is_not(tmp_path):
    for is_first in (True, False):
        done = run_python(TOLD, tmp_path, check=True)
        told = [rf"skbn: {MESSAGE}", rf"\[skbn\] {MESSAGE}"]
        # By the fit: the list that follows has no kernels of its own.
        expected = ["root: before", *(told if is_first else [])]
        lines = [line for line in done.stderr.splitlines() if "% done" not in line]
        assert len(lines) == len(expected)
        for line, pattern in zip(lines, expected, strict=True):
            assert re.fullmatch(pattern, line), line
        assert done.stdout == ""


INTERRUPTED = """
import os, signal, threading, time
from numba.core import event
from skbn import GaussianBNLearner
signal.signal(signal.SIGINT, signal.default_int_handler)
rows = [[0, 0, 1], [1, 2, 0], [2, 5, 3], [3, 5, 2], [4, 1, 1]]
compiled = []
class Interrupter(event.Listener):
    def on_start(self, event):
        compiled.append(threading.current_thread() is threading.main_thread())
        if len(compiled) == 2:
            os.kill(os.getpid(), signal.SIGINT)
    def on_end(self, event):
        pass
event.register("numba:compile", Interrupter())
start = time.perf_counter()
try:
    GaussianBNLearner().fit(rows)
except KeyboardInterrupt:
    answered = time.perf_counter() - start
else:
    raise AssertionError
print(GaussianBNLearner().fit(rows).network_score_)
assert not any(compiled)
assert answered < (time.perf_counter() - start) / 2
"""


@pytest.mark.slow
def test_an_interrupted_compilation_is_answered_at_once_and_finished(tmp_path):
    compiled = INTERRUPTED.replace("raise AssertionError", "answered = 0")
    runs = [run_python(code, tmp_path, check=True) for code in (INTERRUPTED, compiled)]
    assert runs[0].stdout == runs[1].stdout


def test_all_kernels_can_be_compiled_ahead():
    for module in pkgutil.walk_packages(skbn.__path__, "skbn."):
        importlib.import_module(module.name)
    declared = {each.py_func.__module__ for each in _compile._signatures}
    assert declared == set(skbn.compile._MODULES)


def test_kernels_that_cannot_be_kept_are_not_compiled_in_vain(monkeypatch):
    namespace = {"__name__": "nowhere"}
    exec("def increment(x): return x + 1", namespace)
    monkeypatch.setattr(_compile, "_signatures", {})
    monkeypatch.setitem(sys.modules, "nowhere", ModuleType("nowhere"))
    kernel(int64)(namespace["increment"])
    monkeypatch.setattr(skbn.compile, "_MODULES", ("nowhere",))
    raises("NUMBA_CACHE_DIR to one", skbn.compile.compile_kernels, n_jobs=1, kind=RuntimeError)


# Files that are replaced as a whole or not at all, and paths that are not files


def network():
    dag = nx.DiGraph()
    dag.add_node("a", intercept=0.1, noise_variance=1 / 3)
    return GaussianBayesianNetwork(dag)


@pytest.mark.parametrize("read", [ParentSetScores.from_jkl, GaussianBayesianNetwork.from_json])
def test_what_is_no_file(tmp_path, read):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "missing")
    raises(re.escape(tmp_path.name), read, tmp_path, kind=OSError)


def test_a_failed_writing_leaves_the_old_network(tmp_path, monkeypatch):
    path = tmp_path / "network.json"
    path.write_text("old", encoding="utf-8")

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        network().to_json(path)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError, match="missing"):
        network().to_json(tmp_path / "missing" / "network.json")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_permissions_are_those_of_open(tmp_path):
    path, plain = tmp_path / "a", tmp_path / "b"
    for mask in (0o022, 0o077):
        old = os.umask(mask)
        try:
            network().to_json(path)
            plain.write_text("", encoding="utf-8")
        finally:
            os.umask(old)
        assert path.stat().st_mode == plain.stat().st_mode
        path.unlink()
        plain.unlink()
    path.write_text("", encoding="utf-8")
    path.chmod(0o640)
    network().to_json(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o400)
    if os.geteuid() != 0:
        with pytest.raises(PermissionError):
            network().to_json(path)


@pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX")
def test_links_are_followed_and_only_files_replaced(tmp_path):
    real, link, pipe = tmp_path / "real", tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(real)
    network().to_json(link)  # to a file that is not there yet
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == network().to_json() + "\n"
    real.write_text("old", encoding="utf-8")
    network().to_json(link)
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == network().to_json() + "\n"
    os.mkfifo(pipe)
    for other in (pipe, tmp_path):
        raises("is not a regular file", network().to_json, other, kind=OSError)
    assert stat.S_ISFIFO(pipe.stat().st_mode)

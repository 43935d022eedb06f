import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from agreement import raises
from packaging.requirements import Requirement

import skbn

MODULES = ["datasets", "exceptions"]


def test_every_public_name_is_there():
    assert set(MODULES) < set(skbn.__all__) == set(dir(skbn))
    for name in skbn.__all__:
        assert getattr(skbn, name).__name__.removeprefix("skbn.") == name


def test_the_module_of_data_sets_is_there_without_an_import_of_its_own(monkeypatch):
    monkeypatch.delattr(skbn, "datasets", raising=False)
    assert "datasets" in dir(skbn)
    assert skbn.datasets.make_gaussian_network.__module__ == "skbn.datasets"


def test_there_is_no_other_name():
    raises("GaussianLearner", lambda: skbn.GaussianLearner, kind=AttributeError)


def test_the_import_alone_loads_no_library():
    program = "import skbn, sys; print({'numba', 'numpy', 'sklearn'} & set(sys.modules))"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert printed.stdout.strip() == b"set()"


def test_versions_of_all_that_users_install_are_shown(capsys):
    skbn.show_versions()
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    pyproject = Path(__file__).parents[1] / "pyproject.toml"
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for need in [*project["dependencies"], *extras["plot"], *extras["examples"]]:
        name = Requirement(need).name
        assert f"{name}: {skbn.__version__ if name == 'skbn' else version(name)}" in lines
    assert f"executable: {sys.executable}" in lines
    assert any(line.startswith("n_jobs: None is 1, -1 is ") for line in lines)
    assert "Threads of blas:" in lines


def test_versions_of_what_is_missing_are_none(capsys, monkeypatch):
    monkeypatch.setattr("skbn._core.show_versions._DEPENDENCIES", ["numpy", "no-such-library"])
    skbn.show_versions()
    assert "no-such-library: None\n" in capsys.readouterr().out


# The library asks for no network, and runs no code that it reads


NETWORK = "('socket.', 'urllib.', 'http.', 'ftplib.', 'imaplib.', 'poplib.', 'smtplib.')"
CODE = "{'exec', 'compile', 'marshal.loads', 'pickle.find_class'}"
HOOK = f"""
import sys

reading = False  # else only what the library's own lines ask for: imports execute code too

def refuse(event, arguments):
    if event.startswith({NETWORK}):
        raise PermissionError(event)
    if event in {CODE}:
        caller = sys._getframe().f_back
        if reading or caller and caller.f_code.co_filename.startswith(sys.argv[1]):
            raise PermissionError(event)

sys.addaudithook(refuse)

def is_refused(job, *arguments):
    try:
        job(*arguments)
    except PermissionError:
        return True
    return False
"""

JOBS = """
import pickle, socket

for job in (socket.socket, lambda: socket.getaddrinfo("localhost", 80)):
    assert is_refused(job), "the hook does not see sockets"
reading, code = True, pickle.dumps(print)
assert is_refused(eval, "1") and is_refused(pickle.loads, code), "the hook does not see code"
reading = False

import joblib
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score
import skbn
from skbn import *

wine = load_wine(as_frame=True).data[["alcohol", "malic_acid", "ash", "hue", "proline"]]
learner = GaussianBNLearner(n_jobs=2).fit(wine)
network = learner.network_
learner.predict(), learner.score(wine), network.sample(3), network.condition({"ash": 2.0})
learner.plot(), NetworkDisplay.from_graph(network.cpdag())
learner._repr_html_(), network._repr_html_()
GaussianBNLearnerCV(penalties=[1, 2, 8, 64], cv=2, n_jobs=2).fit(wine)
with joblib.parallel_config("loky"):  # processes, which talk through pipes
    cross_val_score(learner, wine, cv=2, n_jobs=2)
scores = LocalScoreTransformer().fit_transform(wine)
scores.to_jkl(sys.argv[2])
skbn.io.to_dot(network), skbn.io.to_mermaid(network)
for reading in (False, True):  # the first time it imports
    ParentSetScores.from_jkl(sys.argv[2]), GaussianBayesianNetwork.from_json(network.to_json())
print("done")
"""


@pytest.mark.slow
def test_nothing_asks_for_a_network_or_runs_code(tmp_path):
    folder, file = Path(skbn.__file__).parent, tmp_path / "scores.jkl"
    command = [sys.executable, "-c", HOOK + JOBS, str(folder), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("done\n", "")

"""The library asks for no network, and runs no code that it reads.

Python tells audit hooks of sockets, look-ups of names, compiled and executed code, and of what
pickles ask for. A hook cannot be taken away again, so the jobs run in a process of their own.
"""

import subprocess
import sys
from pathlib import Path

import pytest

import skbn

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
from skbn import *

wine = load_wine(as_frame=True).data[["alcohol", "malic_acid", "ash", "hue", "proline"]]
learner = GaussianBNLearner(n_jobs=2).fit(wine)
network = learner.network_
learner.predict(), learner.score(wine), network.sample(3), network.condition({"ash": 2.0})
learner.plot(), NetworkDisplay.from_graph(network.cpdag())
learner._repr_html_(), network._repr_html_()
cross_validated = GaussianBNLearnerCV(penalties=[1, 2, 8, 64], cv=2, n_jobs=2).fit(wine)
PenaltyDisplay.from_estimator(cross_validated)
with joblib.parallel_config("loky"):  # processes, which talk through pipes
    cross_val_score(learner, wine, cv=2, n_jobs=2)
scores = LocalScoreTransformer().fit_transform(wine)
scores.to_jkl(sys.argv[2])
network.to_dot(), network.to_mermaid()
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

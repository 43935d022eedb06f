"""What type checkers know of the library, by mypy as a user runs it."""

import os
import re
from pathlib import Path

import pytest
from mypy import api

import skbn

PROGRAM = """
import numpy as np
import skbn
from skbn import (
    GaussianBayesianNetwork, GaussianBNLearner, GaussianBNLearnerCV, LocalScoreTransformer
)

X = np.zeros((5, 2))
learner = GaussianBNLearner().fit(X)
cv = GaussianBNLearnerCV().fit(X, groups=[1, 2])
transformer = LocalScoreTransformer().fit(X)
"""
ARRAY = "numpy.ndarray[tuple[Any, ...], numpy.dtype[numpy.{}]]"
DAG = "networkx.classes.digraph.DiGraph"
NETWORK = "skbn._networks.network.GaussianBayesianNetwork"
LEARNER = "skbn._estimators.learner.GaussianBNLearner"
TRANSFORMER = "skbn._estimators.transformer.LocalScoreTransformer"
SCORES = "skbn._scores.local_scores.LocalScores"
TYPES = {
    "learner": LEARNER,
    "learner.fit(X, sample_weight=X[0]).dag_": DAG,
    "learner.dag_": DAG,
    "learner.predict()": DAG,
    "learner.fit_predict(X)": DAG,
    "learner.network_": NETWORK,
    "learner.network_.fit(X)": NETWORK,
    "learner.network_.dag": DAG,
    "learner.network_.set_output(transform='pandas')": NETWORK,
    "learner.network_.condition({})": "skbn._networks.inference.GaussianDistribution",
    "learner.plot(highlight='a', figsize=(5, 3))": "skbn._displays.network_display.NetworkDisplay",
    "learner.network_score_": "float",
    "learner.criterion_": "skbn._scores.criteria.Criterion | None",
    "learner.n_features_in_": "int",
    "learner.feature_names_in_": ARRAY.format("object_"),
    "learner.score_samples(X)": ARRAY.format("float64"),
    "cv": "skbn._estimators.learner_cv.GaussianBNLearnerCV",
    "cv.dag_": DAG,
    "cv.penalty_": "float",
    "cv.cv_results_": f"dict[str, {ARRAY.format('float64')}]",
    "cv.n_features_in_": "int",
    "transformer": TRANSFORMER,
    "transformer.partial_fit(X)": TRANSFORMER,
    "transformer.fit_transform(X)": SCORES,
    "transformer.transform(X)": SCORES,
    "transformer.local_scores_": SCORES,
    "transformer.n_features_in_": "int",
    "transformer.feature_names_in_": ARRAY.format("object_"),
    "skbn.show_versions()": "None",
}
WRONG = [
    "learner.fit()",
    "learner.fit(X, [], [], [], [])",
    "learner.plot(highlights='a')",
    "skbn.GaussianLearner",
]
# networkx has no types of its own.
CONFIGURATION = """
[mypy]
follow_imports = silent
ignore_missing_imports = true
[mypy-networkx.*]
follow_untyped_imports = true
"""


@pytest.fixture
def says(tmp_path, monkeypatch):
    """A function that returns what mypy says of a program's lines: types, and errors."""
    root = Path(skbn.__file__).parents[1]
    if root.name != "site-packages":
        monkeypatch.setitem(os.environ, "MYPYPATH", str(root))
    monkeypatch.chdir(tmp_path)

    def check(program):
        Path("program.py").write_text(program, encoding="utf-8")
        Path("mypy.ini").write_text(CONFIGURATION, encoding="utf-8")
        printed, errors, _ = api.run(["program.py"])
        assert not errors
        said = re.findall(
            r"^program.py:(\d+): (?:note: (?=Revealed)|error: )(.*)$", printed, re.MULTILINE
        )
        return {int(n): re.sub('^Revealed type is "(.*)"$', r"\1", text) for n, text in said}

    return check


def test_types_of_what_is_fitted(says):
    lines = [*(f"reveal_type({expression})" for expression in TYPES), *WRONG]
    said = says(PROGRAM + "\n".join(lines))
    first = PROGRAM.count("\n") + 1
    found = [said.get(first + i, "nothing") for i in range(len(lines))]
    assert dict(zip(TYPES, found, strict=False)) == TYPES
    for line, error in zip(WRONG, found[len(TYPES) :], strict=True):
        assert re.search(r"\[(call-arg|attr-defined)\]$", error), (line, error)
    assert set(said) == set(range(first, first + len(lines)))

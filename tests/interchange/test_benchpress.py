"""The module for Benchpress, run as Benchpress runs it, by a stand-in for its runner."""

import json
import re
import runpy
import sys
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import skbn
from skbn import GaussianBNLearner

FOLDER = Path(__file__).parents[2] / "docs" / "benchpress"
UTILITY = '''
from contextlib import contextmanager

@contextmanager
def timeoutf(seconds, adjmat, time, ntests, start):
    """Write what Benchpress writes if the time is over."""
    try:
        assert isinstance(seconds, int) and seconds > 0  # as signal.alarm asks for
        yield
        if seconds == 1:
            raise TimeoutError
    except TimeoutError:
        for name, text in ((adjmat, ""), (time, "1.0"), (ntests, "None")):
            with open(name, "w") as file:
                file.write(text)
'''
DEFAULTS = {"criterion": "bic", "penalty": "1", "search": "exact", "seed": "3"}
DEFAULTS |= dict.fromkeys(["max_parents", "time_limit", "timeout"], "None")


def read(name):
    return (FOLDER / name).read_text(encoding="utf-8")


def items():
    return json.loads(read("schema.json"))["items"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs the script with parameters, and returns its output files."""
    utils = tmp_path / "workflow" / "scripts" / "utils"
    utils.mkdir(parents=True)
    (utils / "add_timeout.py").write_text(UTILITY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "add_timeout", raising=False)

    def run_script(table, **parameters):
        table.to_csv("data.csv", index=False)
        names = re.findall(r"^        (\w+)=alg_output", read("rule.smk"), re.MULTILINE)
        output = {name: str(tmp_path / f"{name}.csv") for name in names}
        (name,) = re.findall(r"^        (\w+)=alg_input_data\(\),$", read("rule.smk"), re.MULTILINE)
        wildcards = {**DEFAULTS, **parameters}
        runner = SimpleNamespace(input={name: "data.csv"}, output=output, wildcards=wildcards)
        runpy.run_path(str(FOLDER / "script.py"), {"snakemake": runner})
        sys.modules.pop("add_timeout")
        return {name: Path(path).read_text(encoding="utf-8") for name, path in output.items()}

    return run_script


def table(m=6):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, m)) @ (np.eye(m) + np.triu(rng.normal(size=(m, m)), 1))
    return pd.DataFrame(rows, columns=[f"gene {i}" for i in range(m)])


@pytest.mark.parametrize(
    ("parameters", "settings"),
    [
        ({}, {}),
        ({"criterion": "aic", "penalty": "1.5"}, {"criterion": "aic", "penalty": 1.5}),
        ({"criterion": "ebic", "max_parents": "2"}, {"criterion": "ebic", "max_parents": 2}),
        ({"criterion": "bge"}, {"criterion": "bge"}),
        ({"search": "order", "time_limit": "30.5"}, {"search": "order", "random_state": 3}),
        ({"timeout": "600"}, {}),
    ],
)
def test_the_script_writes_the_learners_graph(run, parameters, settings):
    found = run(table(), **parameters)
    matrix = pd.read_csv(StringIO(found["adjmat"]))
    assert [*matrix.columns] == [*table().columns]
    expected = GaussianBNLearner(**settings).fit(table()).dag_
    edges = {(matrix.columns[i], matrix.columns[j]) for i, j in np.argwhere(matrix.to_numpy())}
    assert edges == {*expected.edges}
    assert {*np.unique(matrix)} == {0, 1}
    assert 0 < float(found["time"]) < 600
    assert found["ntests"] == "None"


def test_after_the_timeout_there_is_no_graph(run):
    assert run(table(), timeout="0.4") == {"adjmat": "", "time": "1.0", "ntests": "None"}


def test_the_schema_has_the_parameters_of_the_script():
    own = {*items()["properties"]} - {"id"}
    assert own | {"seed"} == {*DEFAULTS}
    asked = re.findall(r'wildcards\["(\w+)"\]|optional\("(\w+)"', read("script.py"))
    assert {first or second for first, second in asked} == {*DEFAULTS}
    assert {*items()["required"]} == own | {"id"}
    page = re.findall(r"^\* ``(\w+)``", read("docs.rst"), re.MULTILINE)
    assert sorted(page) == sorted(own)


def test_the_examples_follow_the_schema():
    jsonschema = pytest.importorskip("jsonschema")
    number, integer = ({"type": kind, "minimum": 0} for kind in ("number", "integer"))
    lists, null = {"type": "array", "items": number}, {"type": "null"}
    definitions = {
        "flexnonnegnum": {"anyOf": [number, lists]},
        "flexnonnegnumnull": {"anyOf": [number, lists, null]},
        "flexnonnegintnull": {"anyOf": [integer, lists, null]},
    }
    schema = json.loads(read("schema.json")) | {"$defs": definitions}
    examples = items()["examples"]
    jsonschema.validate(examples, schema)
    for wrong in ({"search": "greedy"}, {"criterion": ["bic", "mdl"]}, {"penalty": -1}, {"k": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate([{**examples[0], **wrong}], schema)


def test_files_have_the_version():
    assert json.loads(read("info.json"))["version"] == skbn.__version__
    assert f'"docker://bpimages/skbn:{skbn.__version__}"' in read("rule.smk")
    assert f'"skbn[large]=={skbn.__version__}"' in read("Dockerfile")
    assert read("bibtex.bib") in (FOLDER.parent / "guide" / "cite.md").read_text(encoding="utf-8")

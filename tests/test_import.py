import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
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
    with pytest.raises(AttributeError, match="GaussianLearner"):
        skbn.GaussianLearner  # noqa: B018


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

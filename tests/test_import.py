import subprocess
import sys

import pytest

import skbn


def test_every_public_name_is_there():
    assert set(skbn.__all__) == set(skbn._MODULES)
    for name in skbn.__all__:
        assert getattr(skbn, name).__name__ == name
        assert name in dir(skbn)


def test_the_module_of_data_sets_is_there_without_an_import_of_its_own(monkeypatch):
    monkeypatch.delattr(skbn, "datasets", raising=False)
    assert "datasets" in dir(skbn)
    assert skbn.datasets.make_gaussian_network.__module__ == "skbn.datasets"


def test_there_is_no_other_name():
    with pytest.raises(AttributeError, match="'skbn' has no attribute 'GaussianLearner'"):
        skbn.GaussianLearner  # noqa: B018


def test_the_import_alone_loads_no_library():
    program = "import skbn, sys; print({'numba', 'numpy', 'sklearn'} & set(sys.modules))"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert printed.stdout.strip() == b"set()"

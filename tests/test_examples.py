"""The notebook's stored outputs are those of its code; the stored network is the table's."""

import copy
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from skbn import GaussianBayesianNetwork, LocalScoreTransformer

EXAMPLES = Path(__file__).parents[1] / "examples"


def outputs(notebook):
    return [
        output.get("data", {})
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    ]


def kinds(notebook):
    return [sorted(data) for data in outputs(notebook)]


def texts(notebook):
    """Return what is shown as text alone; versions of pandas and matplotlib set the rest."""
    return [data["text/plain"] for data in outputs(notebook) if list(data) == ["text/plain"]]


@pytest.mark.slow
def test_the_notebook_shows_what_its_code_gives(monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.delenv("MPLBACKEND", raising=False)  # or it would show no pictures
    stored = nbformat.read(EXAMPLES / "quick_start.ipynb", as_version=4)
    run = copy.deepcopy(stored)
    NotebookClient(run, resources={"metadata": {"path": EXAMPLES}}).execute()
    assert kinds(run) == kinds(stored)
    assert texts(run) == texts(stored)
    assert "-3490.9553" in texts(run)


def test_the_stored_network_of_30_columns_is_fitted_to_the_table():
    table = load_breast_cancer(as_frame=True).data
    text = (EXAMPLES / "breast_cancer.json").read_text(encoding="utf-8")
    network = GaussianBayesianNetwork.from_json(text)
    assert network.nodes == list(table.columns)
    score = LocalScoreTransformer().fit_transform(table).network_score(network.dag_)
    assert score == pytest.approx(17565.4626, abs=1e-4)
    fitted = GaussianBayesianNetwork(network.dag_).fit(table)
    np.testing.assert_allclose(network.coef_, fitted.coef_, rtol=1e-6)
    np.testing.assert_allclose(network.noise_variance_, fitted.noise_variance_, rtol=1e-9)

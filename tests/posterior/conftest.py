"""A fixture of the tests of posteriors."""

import pytest


@pytest.fixture
def kernels_for_few_columns(monkeypatch):
    """Sum by the kernels where numpy does otherwise."""
    monkeypatch.setattr("skbn._posterior.network_posterior.MOST_COLUMNS", 0)

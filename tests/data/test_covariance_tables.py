"""A matrix of correlations or covariances is no table of rows."""

import numpy as np
import pytest

from skbn import GaussianBNLearner, LocalScoreTransformer
from skbn._data.table import Table

pd = pytest.importorskip("pandas")

NAMES = list("abcd")
S = np.array([[1, 0.5, 0.2, 0], [0.5, 1, 0.4, -0.3], [0.2, 0.4, 1, 0.1], [0, -0.3, 0.1, 1]])
SCALED = S * np.outer([1, 3, 5, 2], [1, 3, 5, 2])
LABELLED = pd.DataFrame(S, NAMES, NAMES)
TRIANGLE = LABELLED.where(np.tri(4) > 0)


def other(package, table):
    module = pytest.importorskip(package)
    return module.DataFrame(table) if package == "polars" else module.table(table)


MATRICES = {
    "array": lambda: S,
    "objects": lambda: S.astype(object),
    "lists": lambda: SCALED.tolist(),
    "frame": lambda: LABELLED,
    "covariance": lambda: pd.DataFrame(SCALED, NAMES, NAMES),
    "without labels": lambda: pd.DataFrame(SCALED, columns=NAMES),
    "labels in a column": lambda: LABELLED.reset_index(),
    "lower triangle": lambda: TRIANGLE,
    "upper triangle": lambda: TRIANGLE.fillna(0.0).T,
    "polars": lambda: other("polars", dict(zip(NAMES, S, strict=True))),
    "pyarrow": lambda: other("pyarrow", dict(zip(["", *NAMES], [NAMES, *S], strict=True))),
}


@pytest.mark.parametrize("kind", MATRICES)
def test_matrices_are_refused_with_rows_that_work(kind):
    X = MATRICES[kind]()
    for fit in (GaussianBNLearner("bge", nodes="auto").fit, LocalScoreTransformer().partial_fit):
        with pytest.raises(ValueError, match="X is a matrix of its columns") as error:
            fit(X)
    names = {"X": X, "n": 50}
    exec(str(error.value).partition("covariance: ")[2], names)
    is_scaled = kind in ("lists", "covariance", "without labels")
    np.testing.assert_allclose(
        np.cov(names["X"].T, bias=True), SCALED if is_scaled else S, atol=1e-12
    )


@pytest.mark.parametrize(
    "X",
    [
        np.eye(5),
        np.diag([0.5, 0.2, 0.1]),
        np.ones((3, 3)),
        [[0, 1, 2], [1, 0, 3], [2, 3, 0]],
        [[1.5, 0.5], [0.5, 2.5]],
        np.vander([1.5, 2.5, 3.5, 0.5]),
        pd.DataFrame(S[::-1], NAMES, NAMES),
    ],
)
def test_small_tables_are_read(X):
    assert Table(X).rows().shape == np.shape(X)

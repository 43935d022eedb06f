"""LocalScores: a table's rows, and with them the scores of all its families."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Self

import networkx as nx
import numpy as np
import numpy.typing as npt

from skbn._columns import column_number
from skbn._memory import require_memory
from skbn._parallel import one_blas_thread
from skbn._progress import Progress
from skbn._regressions._log_determinants import log_determinants, log_determinants_work
from skbn._scores._criteria import InformationCriterion
from skbn._scores._statistics import Regression, SampleStatistics, sample_statistics
from skbn._subsets import mask_of

__all__ = ["LocalScores"]

_BYTES = 8  # of a float64


class LocalScores:
    """The local scores of all families of a table's columns.

    A *family* is a child and a set of parents; m columns have ``m * 2**(m - 1)``.
    All their scores follow from the 2**m log-determinants of the columns' subsets,
    which are computed when first asked for. The score of a single family never
    waits for them.

    As an array this is the table itself: it has its shape and its rows, so that it
    passes through a pipeline in the place of the table. A slice or an array of row
    numbers gives the LocalScores of these rows.

    `LocalScoreTransformer` makes these objects.

    Parameters
    ----------
    rows : ndarray of shape (n, m), float64
        Finite values.
    criterion : InformationCriterion
    feature_names : ndarray of shape (m,) of str, or None
    n_jobs : int or None, default=None
        Number of threads, by joblib's rules.

    Attributes
    ----------
    criterion : InformationCriterion
    n_jobs : int or None
    feature_names_in_ : ndarray of shape (m,) of str
        Only if the columns have names.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import LocalScoreTransformer
    >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue"]]
    >>> scores = LocalScoreTransformer().fit_transform(wine)
    >>> scores
    <LocalScores of 12 families, 178 rows x 3 columns, criterion='bic', penalty=1>
    >>> round(scores.local_score("proline", ["alcohol"]), 2)
    -1236.13
    """

    def __init__(
        self,
        rows: npt.NDArray[np.float64],
        criterion: InformationCriterion,
        feature_names: npt.NDArray[np.object_] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self._rows = rows.view()
        self._rows.setflags(write=False)
        self.criterion = criterion
        self.n_jobs = n_jobs
        self._log_determinants: npt.NDArray[np.float64] | None = None
        if feature_names is not None:
            self.feature_names_in_ = feature_names

    # The table

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        n, m = self._rows.shape
        return n, m

    @property
    def columns(self) -> list[str | int]:
        """The columns' names, or their numbers if they have none."""
        names = getattr(self, "feature_names_in_", None)
        return list(range(self.shape[1])) if names is None else [str(name) for name in names]

    @property
    def dtype(self) -> np.dtype[np.float64]:
        """The rows' dtype, float64."""
        return self._rows.dtype

    def __len__(self) -> int:
        return len(self._rows)

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        return np.array(self._rows, dtype=dtype, copy=copy)

    def __getitem__(self, rows: Any) -> Self | npt.NDArray[np.float64]:
        """Return the LocalScores of several rows; one row or a choice of columns as an array."""
        chosen = self._rows[rows]
        if chosen.ndim != 2 or isinstance(rows, tuple):
            return chosen
        names = getattr(self, "feature_names_in_", None)
        return type(self)(chosen, self.criterion, names, self.n_jobs)

    def __repr__(self) -> str:
        n, m = self.shape
        return (
            f"<LocalScores of {self.n_families} families, {n} rows x {m} columns, {self.criterion}>"
        )

    # The families

    @property
    def n_families(self) -> int:
        """Number of families, ``m * 2**(m - 1)``."""
        m = self.shape[1]
        return m << (m - 1)

    @cached_property
    def statistics(self) -> SampleStatistics:
        """What the regressions depend on: number of rows, means, triangular factor.

        Raises
        ------
        ValueError
            If a regression leaves no residual, since then the likelihood is
            unbounded: a constant column, collinear columns, no more rows than columns.
        """
        with one_blas_thread():
            return sample_statistics(self._rows, self.columns)

    @property
    def log_determinants(self) -> npt.NDArray[np.float64]:
        """The logarithms of det(Z'Z) for all subsets Z of the columns, centred and of unit norm.

        Shape (2**m,); bit v of an index stands for column v. Computed when first
        asked for, by the paper's greedy Givens column swaps.

        Raises
        ------
        ValueError
            As `statistics`, and if the memory does not suffice.
        """
        return self.compute_log_determinants()

    @property
    def n_bytes(self) -> int:
        """Memory that the log-determinants take already."""
        return 0 if self._log_determinants is None else self._log_determinants.nbytes

    def compute_log_determinants(self, progress: Progress | None = None) -> npt.NDArray[np.float64]:
        """Return `log_determinants`, and advance the progress by the work they take."""
        if self._log_determinants is None:
            factor = self.statistics.factor
            m = self.shape[1]
            require_memory(_BYTES << m, f"The table of 2**{m} log-determinants")
            self._log_determinants = log_determinants(factor, self.n_jobs, progress)
        elif progress is not None:
            progress.advance(log_determinants_work(self.shape[1]))
        return self._log_determinants

    @property
    def score_tables(self) -> npt.NDArray[np.float64]:
        """The criterion's tables over the number of parents, shape (3, m)."""
        return self.criterion.tables(*self.shape)

    @property
    def score_offsets(self) -> npt.NDArray[np.float64]:
        """What each child's scale adds to its local scores, shape (m,), in nats.

        The log-determinants are those of columns of unit norm; in its own units a
        child's residual sum of squares is larger by its scale squared.
        """
        return 2 * self.score_tables[2, 0] * np.log(self.statistics.scale)

    def local_score(self, child: str | int, parents: Iterable[str | int] = ()) -> float:
        """Return the local score of a family, in nats; larger is better.

        Parameters
        ----------
        child : str or int
            A column, by name or number.
        parents : iterable of str or int
            Other columns.

        Returns
        -------
        score : float

        Raises
        ------
        ValueError
            If there is no such column, one is given twice, or the child is among
            its parents; and as `statistics`.
        TypeError
            If a column is given as anything else, or the parents are no list.

        Examples
        --------
        >>> from skbn import LocalScoreTransformer
        >>> rows = [[0, 0], [1, 2], [2, 5], [3, 5]]
        >>> scores = LocalScoreTransformer().fit_transform(rows)
        >>> round(scores.local_score(1, [0]), 6)
        -6.15818
        """
        x, others = self._family(child, parents)
        log_det, log_det_with_child = self.statistics.log_determinants(x, others)
        constant, without, within = self.score_tables[:, len(others)]
        return float(
            constant + without * log_det + within * log_det_with_child + self.score_offsets[x]
        )

    def residual_sum_of_squares(self, child: str | int, parents: Iterable[str | int] = ()) -> float:
        """Return the residual sum of squares of a child's regression on its parents.

        Parameters and errors are those of `local_score`. The regression has an
        intercept.

        Returns
        -------
        residual_sum_of_squares : float
            In the child's units, squared.

        Examples
        --------
        >>> from skbn import LocalScoreTransformer
        >>> rows = [[0, 0], [1, 2], [2, 5], [3, 5]]
        >>> scores = LocalScoreTransformer().fit_transform(rows)
        >>> round(scores.residual_sum_of_squares(1, [0]), 6)
        1.8
        """
        return self.regression(child, parents).residual_sum_of_squares

    def coef(
        self, child: str | int, parents: Iterable[str | int] = ()
    ) -> tuple[float, npt.NDArray[np.float64]]:
        """Return the intercept and the coefficients of a child's regression on its parents.

        Parameters and errors are those of `local_score`.

        Returns
        -------
        intercept : float
        coefficients : ndarray of shape (n_parents,)
            In the order of `parents`.

        Examples
        --------
        >>> from skbn import LocalScoreTransformer
        >>> rows = [[0, 0], [1, 2], [2, 5], [3, 5]]
        >>> scores = LocalScoreTransformer().fit_transform(rows)
        >>> intercept, coefficients = scores.coef(1, [0])
        >>> round(intercept, 6), coefficients.round(6)
        (0.3, array([1.8]))
        """
        regression = self.regression(child, parents)
        return regression.intercept, regression.coefficients

    def regression(self, child: str | int, parents: Iterable[str | int] = ()) -> Regression:
        """Return a child's regression on its parents: intercept, coefficients and residual.

        Parameters and errors are those of `local_score`.

        Returns
        -------
        regression : Regression
            A named tuple of `intercept`, `coefficients` and `residual_sum_of_squares`.
        """
        x, others = self._family(child, parents)
        return self.statistics.regression(x, others)

    def family_index(self, child: str | int, parents: Iterable[str | int] = ()) -> tuple[int, int]:
        """Return where the array of `to_array` holds a family's score.

        Parameters and errors are those of `local_score`.

        Examples
        --------
        >>> import numpy as np
        >>> from skbn import LocalScoreTransformer
        >>> rows = np.random.default_rng(0).normal(size=(50, 4))
        >>> LocalScoreTransformer().fit_transform(rows).family_index(1, [0, 3])
        (1, 5)
        """
        x, others = self._family(child, parents)
        return x, mask_of(other - (other > x) for other in others)

    def to_array(self) -> npt.NDArray[np.float64]:
        """Return the local scores of all families.

        Returns
        -------
        scores : ndarray of shape (m, 2**(m - 1)), float64, nats
            A row for each child. In the number of a column, bit v stands for the
            v-th of the other columns; `family_index` gives it for a family.

        Raises
        ------
        ValueError
            As `log_determinants`.

        Examples
        --------
        >>> from skbn import LocalScoreTransformer
        >>> rows = [[0, 0], [1, 2], [2, 5], [3, 5]]
        >>> scores = LocalScoreTransformer().fit_transform(rows)
        >>> scores.to_array().round(2)
        array([[ -7.51,  -3.6 ],
               [-10.07,  -6.16]])
        """
        m = self.shape[1]
        require_memory(_BYTES * (self.n_families + (4 << m)), "The array of all local scores")
        log_det = self.log_determinants
        constant, without, within = self.score_tables
        offsets = self.score_offsets
        index = np.arange(1 << (m - 1))
        size = np.bitwise_count(index)
        scores = np.empty((m, len(index)))
        for child in range(m):
            parents = index + (index >> child << child)  # a zero bit inserted
            scores[child] = (
                constant[size]
                + without[size] * log_det[parents]
                + within[size] * log_det[parents | 1 << child]
                + offsets[child]
            )
        return scores

    def network_score(self, dag: nx.DiGraph) -> float:
        """Return the score of a network, the sum of its families' local scores, in nats.

        Parameters
        ----------
        dag : networkx.DiGraph
            Acyclic, its nodes the columns, by name or number.

        Raises
        ------
        ValueError
            If the graph has a cycle, or its nodes are not the columns.
        TypeError
            If it is not a directed graph.

        Examples
        --------
        >>> import networkx as nx
        >>> from skbn import LocalScoreTransformer
        >>> rows = [[0, 0], [1, 2], [2, 5], [3, 5]]
        >>> scores = LocalScoreTransformer().fit_transform(rows)
        >>> round(scores.network_score(nx.DiGraph([(0, 1)])), 2)
        -13.67
        """
        if not isinstance(dag, nx.DiGraph) or dag.is_multigraph():
            raise TypeError(f"dag must be a networkx.DiGraph; got {type(dag).__name__}.")
        nodes = {column_number(self.columns, node): node for node in dag}
        if len(nodes) < len(dag):
            raise ValueError("dag names a column twice, by its name and by its number.")
        missing = [name for j, name in enumerate(self.columns) if j not in nodes]
        if missing:
            raise ValueError(f"dag has no node for the columns {missing}; add one for each.")
        if not nx.is_directed_acyclic_graph(dag):
            cycle = [edge[0] for edge in nx.find_cycle(dag)]
            raise ValueError(f"dag must be acyclic; it has the cycle {cycle}.")
        return float(
            sum(self.local_score(j, dag.predecessors(nodes[j])) for j in range(len(nodes)))
        )

    def _family(self, child: str | int, parents: Iterable[str | int]) -> tuple[int, list[int]]:
        if isinstance(parents, str) or not isinstance(parents, Iterable):
            raise TypeError(f"parents must be a list of columns; got {parents!r}.")
        x = column_number(self.columns, child)
        others = [column_number(self.columns, parent) for parent in parents]
        if x in others:
            raise ValueError(f"Column {child!r} cannot be a parent of itself.")
        if len(set(others)) < len(others):
            named = [self.columns[other] for other in others]
            raise ValueError(f"Each parent may be given once; got the columns {named}.")
        return x, others

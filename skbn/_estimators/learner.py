"""GaussianBNLearner: from a table, or its local scores, to its best network."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from skbn._core.callbacks import fit_method, fit_task, listeners_of
from skbn._core.compile import compile_kernels
from skbn._core.progress import Progress, say
from skbn._data.row_summary import RowSummary
from skbn._data.sample import Sample
from skbn._estimators.chunks import add_rows
from skbn._estimators.found_network import FoundNetwork, found_network
from skbn._estimators.network_learner import NetworkLearner
from skbn._estimators.validation import PARAMETER_CONSTRAINTS, check_settings
from skbn._networks.diagnostics import warn_about_data
from skbn._scores.criterion import Criterion
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._solver.solve import best_networks, kernels_of, plan_groups, work_of

__all__ = ["GaussianBNLearner"]


class GaussianBNLearner(NetworkLearner):
    """Find the Gaussian Bayesian network of the highest score, among all there are.

    Each column is a linear function of its parents plus Gaussian noise. The search
    is exact: no other acyclic network on the columns has a higher score, beyond
    rounding (about 1e-12 of the score; 1e-3 nats for columns on the verge of
    collinearity, and `fit` refuses what would exceed that).

    Parameters
    ----------
    criterion : {"bic", "aic", "loglik", "ebic", "bge"}, Criterion or None, default=None
        The score that is maximised, as in `LocalScoreTransformer`. None takes that
        of the LocalScores that `fit` is given, and "bic" for a table.
    penalty : float or None, default=None
        Multiplies the criterion's complexity term; from 0 to 1e100. None takes that
        of the LocalScores that `fit` is given, and 1 for a table.
    max_parents : int or None, default=None
        The largest number of parents. None takes that of the LocalScores that `fit` is
        given, and any number for a table. There may then be many columns, if constraints
        put them in order.
    required_edges : list of (parent, child), table of two columns, networkx.DiGraph or \
None, default=None
        Edges that the network must have. A table, which is a data frame or an array, has a row
        for each edge: the parent and the child. A GaussianBayesianNetwork stands for its graph.
        Columns are given by name or by number. Required parents count towards `max_parents`.
    forbidden_edges : list of (parent, child), table of two columns, networkx.DiGraph or \
None, default=None
        Edges that the network must not have, given in the same ways.
    tiers : list of lists of columns and at most one ``...``, or None, default=None
        Groups of columns in their order: no edge points from a later group to an earlier
        one. Each column is in one group; ``...`` in place of a list is the group of all
        columns that are not named. The search then takes ``2**t`` states for a group of t
        columns, and not ``2**m`` for all of them; other constraints that order the columns do
        the same.
    n_jobs : int or None, default=None
        Number of threads, by joblib's rules. It does not change a bit of the result.
        The log-determinants of LocalScores are computed with the `n_jobs` of these.
    max_memory : float or None, default=None
        How many bytes the search's tables may take. With less, it goes through more
        parts one after the other, which takes longer and changes no bit of the result.
        None allows for what is available, with a little left for others.
    verbose : bool or int, default=False
        Whether to print how the search is laid out, and every few seconds how far it
        has come. `set_callbacks` shows the same in scikit-learn's progress bars, which it has
        from version 1.9 on. It also prints once when kernels are compiled, as the first fit
        after installing does; the logger "skbn" has that at level INFO too.

    Attributes
    ----------
    dag_ : networkx.DiGraph
        The network's graph. Its nodes are the columns, by name if all names are strings, else
        by position, with the attributes `intercept` and `noise_variance`; its edges have
        the attribute `weight`, the coefficient of the child's regression, and `fixed`, True,
        if the constraints rule out their reverse.
    network_score_ : float
        Its score, in nats.
    network_ : GaussianBayesianNetwork
        The network as an object of its own: densities, samples, conditional distributions,
        interventions, equivalence, interchange. It has no parameters yet if `fit` was given
        ParentSetScores.
    criterion_ : Criterion or None
        The criterion that was maximised; None if `fit` was given ParentSetScores.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,) of str
        Only if `fit` was given columns that all have strings for names.

    See Also
    --------
    LocalScoreTransformer : Computes the local scores as a step of its own.

    Notes
    -----
    Dynamic programming over the sets of columns (Silander & Myllymäki 2006, "A
    simple approach for finding the globally optimal Bayesian network structure"):
    time and memory grow as 2**m, and `fit` refuses what does not fit in memory.

    Ties, that is scores that are equal up to rounding, are broken by column order.
    Of parent sets that tie, one with the fewest columns is taken, and of these the
    first when their columns are compared in order. Networks that imply the same
    independences always tie; of these it is the one built from the end: again and
    again the last column that can be a sink of what remains. With constraints on edges,
    or a criterion under which such networks need not tie, it is the one that the search
    itself ends with: again and again the last column that can be a sink of a best network.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import GaussianBNLearner
    >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
    >>> learner = GaussianBNLearner().fit(wine)
    >>> for parent, child, weight in learner.dag_.edges(data="weight"):
    ...     print(f"{parent} -> {child}: {weight:.3g}")
    alcohol -> proline: 258
    proline -> ash: 0.000195
    hue -> proline: 391
    >>> round(learner.network_score_, 2)
    -1465.36
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NetworkLearner._parameter_constraints,
        "penalty": [*PARAMETER_CONSTRAINTS["penalty"], None],
    }

    def __init__(
        self,
        criterion: str | Criterion | None = None,
        *,
        penalty: float | None = None,
        max_parents: int | None = None,
        required_edges: Any = None,
        forbidden_edges: Any = None,
        tiers: Any = None,
        n_jobs: int | None = None,
        max_memory: float | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.criterion = criterion
        self.penalty = penalty
        self.max_parents = max_parents
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.tiers = tiers
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.verbose = verbose

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the best network and estimate its parameters.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or LocalScores
            Finite numbers, at least 2 columns, and more rows than columns; with
            ``max_parents=K`` at least K + 2 rows, with `BGe` any number. Or
            ParentSetScores, which have no rows.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts, not negative: 2 as if it came twice, 0 as if it did
            not come. The sum takes the place of the number of rows. The weights of a pandas
            Series go to the rows of the same labels, if X is a pandas data frame, or
            LocalScores of one.

        Returns
        -------
        self : GaussianBNLearner

        Raises
        ------
        ValueError, TypeError
            If X is not such a table; if a column is constant or depends linearly
            on others, as the likelihood is unbounded then (with `BGe` it is not); if no
            network satisfies the constraints; if these are given by an iterator, which a
            second fit would find empty; if the search needs more memory than there
            is or than `max_memory`; if a parameter is not one of those above, or differs
            from that of the LocalScores; if the weights are not those of the rows.
        RuntimeError
            If a callback asks to stop before the search is finished; if regressions apart from
            the search do not confirm its network, by a defect of the library or of the machine.
        MemoryError
            If the system refuses memory that seemed to be available.

        Warns
        -----
        skbn.exceptions.DataWarning
            If the rows and the network show that the table may not suit the model: a
            `DiscreteChildWarning`, a `SkewedResidualsWarning` or a `DummyEdgeWarning`.
        """
        with self._fitting(), fit_task(self, X, y, sample_weight, max_subtasks=100) as context:
            return self._fit(X, sample_weight, context)

    def _fit(self, X: Any, sample_weight: Any, context: Any) -> Self:
        scores = self._read_scores(X, sample_weight, self._table_penalty)
        if isinstance(X, LocalScores | ParentSetScores):
            check_settings(X, criterion=self.criterion, penalty=self.penalty)
        found = self._search(scores, context)
        if isinstance(scores, LocalScores):
            warn_about_data(found.network._model(), scores.sample)
        learned: dict[str, Any] = {"_found": found}
        # Scores have settings of their own, which rows of `partial_fit` have not.
        if isinstance(scores, LocalScores) and not isinstance(X, LocalScores):
            learned["_summary"] = scores.sample.summary
        self.__dict__.update(learned)  # in one step, for whoever looks on in another thread
        return self

    @fit_method
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take more rows; the search begins when its result is first asked for.

        Of the rows only their number, means and triangular factor are kept, so that there
        may be more of them than the memory holds. The result is that of one table of all
        rows, up to rounding. Rows come in addition to those of an earlier `fit` of a table.
        The search has the parameters that are set when its result is asked for.

        The search prints what `verbose` asks for, and tells callbacks nothing, as they belong
        to `fit`. To look at a learner, in a notebook for one, does not begin it.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Finite numbers; at least 2 columns, and one row.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            As in `fit`.

        Returns
        -------
        self : GaussianBNLearner

        Raises
        ------
        ValueError, TypeError
            If X is not such a table, its columns are not those of the rows before, or an
            earlier `fit` was given scores. The rows before are kept then. What `fit` raises
            of all rows together is raised where the result is asked for.

        Examples
        --------
        >>> import numpy as np
        >>> from skbn import GaussianBNLearner
        >>> rng = np.random.default_rng(0)
        >>> learner = GaussianBNLearner()
        >>> for _ in range(10):
        ...     cause = rng.normal(size=1000)
        ...     _ = learner.partial_fit(np.c_[cause, 2 * cause + rng.normal(size=1000)])
        >>> round(learner.dag_.edges[0, 1]["weight"], 1)
        2.0
        """
        before = getattr(self, "_summary", None)
        if hasattr(self, "_found") and before is None:
            raise ValueError(
                "This GaussianBNLearner was fitted to scores, to which no rows can be added; give "
                "rows to another one."
            )
        summary = add_rows(self, before, X, sample_weight)
        self.__dict__.update(_summary=summary, _found=None)
        return self

    _summary: RowSummary

    @property
    def _table_penalty(self) -> float:
        return 1.0 if self.penalty is None else float(self.penalty)

    def _find(self) -> FoundNetwork:
        """Search for the best network of the rows that came in chunks."""
        self._validate_params()
        sample = Sample.of_summary(self._summary)
        return self._search(self._scores_of(sample, self._table_penalty))

    def _search(self, scores: LocalScores | ParentSetScores, context: Any = None) -> FoundNetwork:
        constraints = self._constraints(scores)
        searches = plan_groups(scores, constraints, self._memory())
        if self.verbose:
            largest = max((search.plan for search in searches), key=lambda plan: plan.n_bytes)
            several = f"{len(searches)} searches, the largest: " if len(searches) > 1 else ""
            say(f"[{type(self).__name__}] {several}{largest}")
        compile_kernels(kernels_of(scores, searches), self.verbose)
        progress = Progress(work_of([scores], searches), listeners_of(self, context))
        (optimum,) = best_networks([scores], constraints, searches, self.n_jobs, progress)
        return found_network(scores, constraints, optimum)

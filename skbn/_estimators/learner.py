"""GaussianBNLearner, and what it shares with other learners: their parameters and methods."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from skbn._core.columns import as_integer, finite_number
from skbn._core.estimator import (
    all_or_nothing,
    fit_method,
    fit_task,
    listeners_of,
)
from skbn._core.graphs import dag_of
from skbn._core.text import readable_value
from skbn._data.sample import Sample
from skbn._estimators.near_optimal import NearOptimalNetworks
from skbn._estimators.network_estimator import OneNetworkEstimator
from skbn._estimators.validation import (
    PARAMETER_CONSTRAINTS,
    check_settings,
)
from skbn._networks.diagnostics import warn_about_data
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.criteria import Criterion
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._solver.constraints import Constraints
from skbn._solver.engines import Scores
from skbn._solver.near_optimal import near_optimal
from skbn._solver.solve import Solution, solve

__all__ = ["GaussianBNLearner", "NetworkLearner", "network_of"]

# In nats. Beyond a Bayes factor of 20, the logarithm of which is 3.0, evidence is called strong
# (Kass & Raftery 1995, "Bayes factors").
_WITHIN = 3.0


def network_of(solution: Solution) -> GaussianBayesianNetwork:
    """Return the network of a solution, without parameters if it has none."""
    if solution.model is None:
        dag = dag_of(solution.columns, solution.parents, solution.fixed)
    else:
        dag = solution.model.to_dag()
    network = GaussianBayesianNetwork(dag)
    network._keep(solution.model, solution.score_losses)
    return network


class NetworkLearner(OneNetworkEstimator):
    """A learner that searches. Derived classes have the parameters of `NetworkEstimator`."""

    network_score_: float
    criterion_: Criterion | None
    _searched_: tuple[Scores, Constraints]

    if not TYPE_CHECKING:  # a type checker would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            if name == "partial_fit":
                raise AttributeError(
                    f"{type(self).__name__} has no partial_fit. Give the chunks to "
                    "LocalScoreTransformer().partial_fit, and then its local_scores_ to fit: "
                    "GaussianBNLearner().fit(transformer.local_scores_)."
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _keep(
        self, solution: Solution, scores: Scores, constraints: Constraints, **learned: Any
    ) -> None:
        """Keep what was found as attributes, and what `near_optimal` needs to search again."""
        network = network_of(solution)
        if isinstance(scores, LocalScores):
            scores = scores.of_sample(Sample.of_summary(scores.sample.summary))
        # In one step, for threads that read the estimator meanwhile.
        self.__dict__.update(
            learned,
            network_=network,
            dag_=network.dag.copy(),
            network_score_=solution.score,
            criterion_=solution.criterion,
            _searched_=(scores, constraints),
        )

    def near_optimal(
        self,
        n: int | None = None,
        *,
        within: float | None = None,
        equivalence_classes: bool = True,
    ) -> NearOptimalNetworks:
        """Return the networks that score nearly as high as the best, in order of their score.

        The list is exact: no network or class that it leaves out scores higher than the last one.

        Parameters
        ----------
        n : int or None, default=None
            The largest number of networks, or of equivalence classes. It is the safe bound: how
            many are within so many nats grows exponentially with the columns.
        within : float or None, default=None
            How far below the best a score may be, in nats; ``math.inf`` lists all networks, of
            which 5 columns have 29,281. If `n` is None as well, `within` is 3: by a log marginal
            likelihood, the data make the best network up to 20 times as probable as the others.
        equivalence_classes : bool, default=True
            Whether to list equivalence classes, each as the best of its networks, instead of all
            networks one by one.

        Returns
        -------
        near_optimal : NearOptimalNetworks

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError, TypeError
            If `n` is not a positive integer, `within` not a number from 0 on, or
            `equivalence_classes` not a bool; if the list takes more memory than there is.

        Notes
        -----
        The constraints and `max_parents` of `fit` hold for all networks of the list. The search
        runs once more, with `n_jobs` and `max_memory`; the list takes memory of its own. Networks
        whose scores are equal up to rounding come in no particular order.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skbn import GaussianBNLearner
        >>> learner = GaussianBNLearner("bge").fit(load_iris(as_frame=True).data)
        >>> near = learner.near_optimal(3)
        >>> near.scores.round(2)
        array([-419.5 , -421.09, -421.4 ])
        >>> near.is_complete
        False
        """
        check_is_fitted(self)
        if not isinstance(equivalence_classes, bool):
            raise TypeError(
                "equivalence_classes must be True or False; got "
                f"{readable_value(equivalence_classes)}."
            )
        if n is not None and (n := as_integer(n, "n")) < 1:
            raise ValueError(f"n must be at least 1; got {n}.")
        if within is not None and within != math.inf:
            within = finite_number(within, "within")
            if within < 0:
                raise ValueError(f"within must not be negative; got {within}.")
        if n is None and within is None:
            within = _WITHIN
        scores, constraints = self._searched_
        # The log-determinants of a copy are dropped when the list is made.
        again = scores.of_sample(scores.sample) if isinstance(scores, LocalScores) else scores
        found = near_optimal(
            again,
            constraints,
            self._memory(),
            n=n,
            within=within,
            equivalence_classes=equivalence_classes,
            n_jobs=self.n_jobs,
            listeners=listeners_of(self, None),
            announce=self._announce if self.verbose else None,
        )
        return NearOptimalNetworks(found, scores, constraints, equivalence_classes)


class GaussianBNLearner(NetworkLearner):
    """Find the Gaussian Bayesian network with the highest score of all.

    Each column is a linear function of its parents plus Gaussian noise. The search is exact: no
    other acyclic network on the columns has a higher score, up to rounding. Rounding is about
    1e-12 of the score. For nearly collinear columns it may reach 1e-3 nats, and `fit` refuses
    tables for which it would be larger.

    Parameters
    ----------
    criterion : {"bic", "aic", "loglik", "ebic", "bge"}, Criterion or None, default=None
        The score to maximise, as in `LocalScoreTransformer`. None means "bic" for a table, and
        the criterion of the LocalScores if `fit` is given those.
    penalty : float or None, default=None
        Multiplies the criterion's complexity term; from 0 to 1e100. None means 1 for a table, and
        the penalty of the LocalScores if `fit` is given those.
    max_parents : int or None, default=None
        The largest number of parents. None means any number for a table, and the `max_parents`
        of the LocalScores if `fit` is given those. With a small number, the search takes many
        columns if constraints put them in order.
    required_edges : list of (parent, child), table of two columns, networkx.DiGraph or \
None, default=None
        Edges that the network must have. A table (a data frame or an array) has a row for each
        edge, with the parent and the child. A GaussianBayesianNetwork is taken as its graph.
        Columns are given by name or by number. Required parents count towards `max_parents`.
    forbidden_edges : list of (parent, child), table of two columns, networkx.DiGraph or \
None, default=None
        Edges that the network must not have, in the same forms.
    tiers : list of lists of columns and at most one ``...``, or None, default=None
        Ordered groups of columns: no edge points from a later group to an earlier one. Each
        column is in one group, and ``...`` in place of a list is the group of all columns that
        are not named. The search then takes ``2**t`` states for each group of t columns instead
        of ``2**m`` for all of them. Other constraints that order the columns have the same
        effect.
    n_jobs : int or None, default=None
        Number of threads, by joblib's rules. It does not change a bit of the result. The
        log-determinants of LocalScores are computed with their own `n_jobs`.
    max_memory : float or None, default=None
        How many bytes the tables of the search may take. With less memory, the search goes
        through more parts one after the other, which takes longer and does not change a bit of
        the result. None means the memory that is available, less a little for other programs.
    verbose : bool or int, default=False
        Whether to print the plan of the search and, every few seconds, its progress. It also
        prints a line when kernels are compiled, as the first fit after installation does; the
        logger "skbn" reports that too, at level INFO. From scikit-learn 1.9 on, `set_callbacks`
        shows the progress in scikit-learn's progress bars.

    Attributes
    ----------
    dag_ : networkx.DiGraph
        The network's graph. Its nodes are the columns, by name if all names are strings and by
        position otherwise, with the attributes `intercept` and `noise_variance`. Its edges have
        the attribute `weight`, the coefficient in the child's regression, and `fixed`, which is
        True, if the constraints rule out the reverse edge.
    network_score_ : float
        The network's score, in nats.
    network_ : GaussianBayesianNetwork
        The network as an object with densities, samples, conditional distributions,
        interventions, equivalence and interchange formats. Its `to_frame` is a table of the edges,
        with what the score loses without each. After a fit to ParentSetScores it has no parameters
        yet.
    criterion_ : Criterion or None
        The criterion that was maximised; None after a fit to ParentSetScores.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,) of str
        Only if all columns given to `fit` have strings for names.

    See Also
    --------
    LocalScoreTransformer : Computes the local scores separately, also from chunks of rows.

    Notes
    -----
    Dynamic programming over the sets of columns (Silander & Myllymäki 2006, "A
    simple approach for finding the globally optimal Bayesian network structure"):
    time and memory grow as 2**m, and `fit` refuses tables whose search does not fit in memory.

    Ties, that is scores that are equal up to rounding, are broken by column order. Among parent
    sets that tie, the search takes one with the fewest columns, and among those the first when
    their columns are compared in order. Networks that imply the same independences always tie.
    The one returned is built from its last column back: each step takes the last column that
    can be a sink of the remaining ones. With constraints on edges, or a criterion under which
    such networks need not tie, each step takes the last column that can be a sink of a best
    network instead.

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

    _allowed_values: ClassVar[dict[str, Any]] = {
        **NetworkLearner._allowed_values,
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
            Finite numbers, at least 2 columns, and more rows than columns. With
            ``max_parents=K``, K + 2 rows suffice, and with `BGe` any number. X may also be
            ParentSetScores, which have no rows.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts; not negative. A row of weight 2 counts as two rows, and a
            row of weight 0 is left out. The sum takes the place of the number of rows. A pandas
            Series is matched to the rows by its labels if X is a pandas data frame or the
            LocalScores of one.

        Returns
        -------
        self : GaussianBNLearner

        Raises
        ------
        ValueError, TypeError
            If X is not such a table; if a column is constant or depends linearly on others,
            since the likelihood is then unbounded (with `BGe` it is not); if no network satisfies
            the constraints; if constraints are given by an iterator, which a second fit would
            find empty; if the search needs more memory than is available or than `max_memory`;
            if a parameter has a value other than those above, or differs from that of the
            LocalScores; if the weights do not match the rows.
        RuntimeError
            If a callback asks to stop before the search is finished; if regressions that are
            independent of the search do not confirm its network, which means a defect of the
            library or of the machine.
        MemoryError
            If the system refuses memory that seemed to be available.

        Warns
        -----
        skbn.exceptions.DataWarning
            If the table may not suit the model: a `DiscreteChildWarning`, a
            `SkewedResidualsWarning` or a `DummyEdgeWarning`.
        """
        with all_or_nothing(self), fit_task(self, X, y, sample_weight, max_subtasks=100) as context:
            return self._fit(X, sample_weight, context)

    def _fit(self, X: Any, sample_weight: Any, context: Any) -> Self:
        penalty = 1.0 if self.penalty is None else float(self.penalty)
        scores = self._read_scores(X, sample_weight, penalty)
        if isinstance(X, LocalScores | ParentSetScores):
            check_settings(X, criterion=self.criterion, penalty=self.penalty)
        constraints = self._constraints(scores)
        (solution,) = solve(
            scores,
            constraints,
            self._memory(),
            n_jobs=self.n_jobs,
            listeners=listeners_of(self, context),
            announce=self._announce if self.verbose else None,
        )
        self._keep(solution, scores, constraints)
        if isinstance(scores, LocalScores) and solution.model is not None:
            warn_about_data(solution.model, scores.sample)
        return self

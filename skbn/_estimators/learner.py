"""GaussianBNLearner: the network with the highest score of all."""

import os
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

from skbn._core import estimator
from skbn._core.resources import Resources
from skbn._core.text import readable_value
from skbn._estimators import fitting
from skbn._estimators.network_estimators import NetworkLearner
from skbn._exact.cluster import current_cluster
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.base import BaseScores
from skbn._scores.criteria import Criterion
from skbn._solver.solve import problem_of, solve


@estimator.answers_other_names
@dataclass(eq=False, repr=False)
class GaussianBNLearner(NetworkLearner):
    """Find the Gaussian Bayesian network with the highest score of all.

    Each column is a linear function of its parents plus Gaussian noise. By default the search is
    exact: no other acyclic network on the columns has a higher score, up to rounding, which is
    about 1e-12 of the score. For nearly collinear columns it may reach 1e-3 nats; `fit` refuses
    tables for which it would be larger.

    The exact search takes up to about 30 columns in the memory of one machine, a few more with
    `scratch` or `scheduler`, and often many more with a small `max_parents`: see the notes. For
    hundreds or thousands, ``search="order"`` finds a network with a very high score that is not
    proven to be the highest; `is_optimal_` says so.

    Parameters
    ----------
    criterion : {"bic", "aic", "loglik", "ebic", "bge"}, Criterion or None, default=None
        The score to maximise, as in `LocalScoreTransformer`. None means "bic" for a table, and
        the criterion of the LocalScores if `fit` is given those.
    penalty : float or None, default=None
        Multiplies the criterion's complexity term; from 0 to 1e100. None means 1 for a table, and
        the penalty of the LocalScores if `fit` is given those.
    max_parents : int or None, default=None
        The largest number of parents. None means any number for a table, and that of the
        LocalScores if `fit` is given those. With a small number, such as 3, the exact search takes
        more columns; a `MaxParentsWarning` says if it costs the network much of its score.
    nodes : "auto", dict, array-like of shape (n_features,) or None, default=None
        Which columns make a node. None: each is one. "auto": columns of a categorical, bool,
        string or object dtype are categories, whose nodes have an indicator for each level but the
        first; the others are nodes of numbers. A dict has lists of columns, by name or number, for
        nodes of several columns, such as splines or the channels of a sensor; columns that it does
        not name are nodes as in "auto". An array has the node of each column. Edges, parents,
        tiers and `max_parents` are then of nodes.
    missing : {"error", "em"}, default="error"
        What to do with missing values: NaN, None, pandas.NA, nulls of polars and pyarrow, and
        masked values. "error" refuses them. "em" looks for the network whose *observed* values have
        the highest penalised likelihood, by structural EM: see the notes. It is not proven to be
        the best. A table without holes is fitted as always.
    n_candidates : int, default=30
        How many equivalence classes ``missing="em"`` scores by the observed values. More take
        longer and may find a better network.
    required_edges : list of (parent, child), table of two columns, networkx.DiGraph or \
None, default=None
        Edges that the network must have, with columns by name or number. A table (data frame or
        array) has a row for each edge; a GaussianBayesianNetwork is taken as its graph. Required
        parents count towards `max_parents`.
    forbidden_edges : list of (parent, child), table of two columns, networkx.DiGraph or \
None, default=None
        Edges that the network must not have, in the same forms. In a pair, ``...`` stands for all
        other columns: ``(..., "sex")`` forbids all edges into sex.
    tiers : list of lists of columns and at most one ``...``, dict of title to list, or None
        Ordered groups of columns: no edge points from a later group to an earlier one. Each
        column is in one group, and ``...`` is the group of all columns that are not named. The
        search then takes ``2**t`` states for each group of t columns instead of ``2**m`` for all,
        as it does with other constraints that order the columns.
    exogenous : list of columns, or None, default=None
        Columns (or nodes) that may be parents and are not modelled, such as a dose, a batch or
        earlier values: no edge leads to one, and they may have any distribution. The score is that
        of the t other columns given these, for which the search has ``2**t`` states. `tiers` need
        not name them.
    search : {"exact", "order"}, default="exact"
        "exact" finds the network with the highest score of all. "order" finds one with a very high
        score, also for thousands of columns and without `max_parents`: see the notes.
    tol : float, default=1e-6
        In nats. Branch and cut ends when it has proven that no network scores higher by more than
        this, and only then is a network called optimal. Dynamic programming leaves a gap only where
        the rounding of its sums exceeds this.
    time_limit : float or None, default=None
        After how many seconds the order search, or branch and cut, ends with the best network it
        has found, not counting the time to read the table, and to verify and fit the network. None
        means that it ends by itself. With a limit, Ctrl-C ends it in the same way; without one,
        Ctrl-C leaves the learner unfitted. Dynamic programming ignores the limit, because it has no
        network before it is finished; with `verbose`, it tells how long it takes.
    random_state : int, RandomState, Generator or None, default=None
        The seed of the order search and of branch and cut, or a generator of numpy.random that
        draws it. With a number, each fit without `time_limit` finds the same network. With None, an
        exact search always takes the same seed; with any, it finds the same score, up to `tol`.
    n_jobs : int or None, default=None
        Number of threads, by joblib's rules. It does not change a bit of the result. LocalScores
        are computed with their own `n_jobs`.
    max_memory : float, str or None, default=None
        How many bytes the tables of the search may take, or a size such as "2GB"; None means what
        is available, less a little for other programs. With less memory, the search goes through
        more parts one after the other, with the same result to the bit; if dynamic programming
        does not fit at all, branch and cut takes its place.
    targets : {"soft", "hard"} or None, default=None
        For rows from several environments, of which it is not known what each changed: `fit` takes
        `environments`, and finds the network and the targets with the highest score together. A
        *soft* target has a regression of its own on the same parents; a *hard* one has no parents,
        but a mean and a variance of its own.
    reference : hashable, None or False, default=None
        The environment that the others are compared with; None means that of the first row. With
        False there is none: any environments may share a mechanism, and each of the others has one
        of its own. A node is a target of all if no two share its mechanism.
    target_cost : float, default=0.0
        What each target costs besides its parameters, in nats. It may be negative.
    scratch : str, path or None, default=None
        A folder for the best scores of dynamic programming, ``8 * 2**m`` bytes for m columns, used
        if these and the log-determinants do not both fit in memory and the search is not faster
        without. The result does not change by a bit. On Linux the space is taken before the search
        begins; it is free again when the search ends, whatever ends it.
    scheduler : {"dask"} or None, default=None
        "dask" lets the workers of a cluster search, as in ``with distributed.Client(...):
        learner.fit(X)``: they have the best scores in their memory, and `max_memory` is for each of
        them. The result does not change by a bit. Searches through lists of families, as with
        `max_parents`, stay in this process. This needs ``pip install -e ".[dask]"``.
    verbose : bool or int, default=False
        Whether to print the plan of the search and, every few seconds, its progress. The logger
        "skbn" is told of it too, at level INFO, and from scikit-learn 1.9 on the progress bars of
        `set_callbacks`.

    Attributes
    ----------
    dag_ : networkx.DiGraph
        The network's graph. Its nodes are the columns, by name if all names are strings and by
        position otherwise, with the attributes `intercept` and `noise_variance`. Edges have the
        attributes `weight`, the coefficient in the child's regression, `standardised_weight`, that
        between columns of standard deviation 1, and `fixed` if the constraints rule out the
        reverse.
    network_score_ : float
        The network's score, in nats. With missing values, it is the log-likelihood of those that
        are observed, less the criterion's cost.
    is_optimal_ : bool
        Whether it is proven that no network within the constraints scores higher by more than
        `tol`. True after an exact search that no `time_limit` ended, unless the scores are so large
        that rounding hides more than `tol`.
    score_bound_ : float
        A score that no network within the constraints exceeds, in nats, rounded up; inf after
        ``search="order"``, with missing values, and where `time_limit` left no time for a bound.
    optimality_gap_ : float
        By how much another network may score higher at most, in nats. It is 0 after dynamic
        programming over a table, and the rounding of its sums over ParentSetScores, whose scores
        are taken as exact numbers.
    n_iter_ : int
        How many perturbed orders of the columns the order search started from again; 0 for an
        exact search. With missing values, how many better networks were found after the first list
        of candidates.
    n_nodes_ : int
        How many nodes the tree of branch and cut has, or 0.
    start_scores_ : ndarray of shape (n_starts,) or None
        The score of the best network that each start of the order search found, in nats, the
        highest first; None for an exact search. Starts that agree make it likely, but do not prove,
        that no network scores much higher. With `tiers`, the starts of each group are ranked, and
        those of the same rank added up.
    n_effective_ : float
        Only with missing values: the smallest number of rows in which any two columns are both
        observed that an edge may join. The searches that list candidates count this many rows.
    candidates_ : pandas.DataFrame, or a table that converts to one if pandas is not installed
        Only with missing values: a row for each equivalence class that was scored by its observed
        values, the best first. Its columns are, in nats, `observed_score` and `searched_score`, by
        which the class was listed, for `n_effective_` rows (NaN if it was found in another way);
        `list`, in which list it was first; and `n_edges`.
    targets_ : list of tuple, or Targets
        The columns that interventions set together in some row, each combination once. With
        `targets`, the `Targets` of each environment. `cpdag` and distances between networks take
        either.
    network_ : GaussianBayesianNetwork
        The network as an object with densities, samples, conditional distributions, interventions,
        equivalence and interchange formats. Its `to_frame` is a table of the edges, with what the
        score loses without each. It has no parameters after a fit to ParentSetScores.
    criterion_ : Criterion or None
        The criterion that was maximised; None after a fit to ParentSetScores.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,) of str
        Only if all columns given to `fit` have strings for names.

    See Also
    --------
    LocalScoreTransformer : Computes the local scores separately, also from chunks of rows.
    GaussianBNLearnerCV : The penalty by cross-validation.
    GaussianBNPosterior : How probable each edge is.
    BootstrapBNLearner : How often resamples find an edge again.
    GaussianBayesianNetwork : What it learns, as `network_`.

    Notes
    -----
    The exact search is dynamic programming over the sets of columns (Silander & Myllymäki 2006, "A
    simple approach for finding the globally optimal Bayesian network structure"): time and memory
    grow as 2**m, for up to 36 columns. With less memory it recomputes log-determinants that it
    cannot keep; with `scratch` or `scheduler` the best scores need not fit in memory either. Where
    it does not fit, and `time_limit` or `max_parents` is given or X are ParentSetScores, the search
    is branch and cut (Bartlett & Cussens 2017, "Integer linear programming for the Bayesian network
    structure learning problem"): it bounds the score of all networks by linear programs, and
    divides them until the bound is the score of one of them. This needs
    ``pip install -e ".[large]"``. Without `max_parents` it prices all parent sets, which takes a
    criterion other than BGe, and a `time_limit`, unless constraints order all but a few columns.
    Otherwise `fit` refuses tables whose search does not fit.

    The order search (Teyssier & Koller 2005, "Ordering-based search: a simple and effective
    algorithm for learning Bayesian networks") looks for an order of the columns in which the best
    parents of each column among the earlier ones give a high score. It moves single columns, and
    starts again from perturbed orders. Each fit verifies that no edge that is added, deleted or
    reversed raises the score.

    With missing values the score has no closed form, and no search proves its maximum. EM estimates
    the saturated model and completes the rows; an exact search lists the best equivalence classes
    of these, counted as `n_effective_` rows; each class is scored by an EM of its own, and the rows
    completed under the best of them make the next list, until a list brings nothing better.
    Structural EM goes on from there (Friedman 1997, "Learning belief networks in the presence of
    missing values and hidden variables"): it searches all rows as EM expects them, exactly, and at
    the end leaves out each edge in turn. The observed score never falls. With ``search="order"``,
    and where a list does not fit in memory, each list is one network. Values must be missing at
    random: whether one is may depend on observed values only.

    Ties (scores that are equal up to rounding) are broken by column order. Of tied parent sets, the
    search takes one with the fewest columns, and of those the first by its columns in order.
    Networks that imply the same independences always tie; the one returned is built from its last
    column back, each step taking the last column that can be a sink of the remaining ones (of a
    best network, with constraints on edges or a criterion under which such networks need not tie).

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
        **fitting.TARGET_CONSTRAINTS,
        "scratch": [str, os.PathLike, None],
        "scheduler": [estimator.StrOptions({"dask"}), None],
    }

    criterion: str | Criterion | None = None
    _: KW_ONLY
    penalty: float | None = None
    targets: str | None = None
    reference: Any = None
    target_cost: float = 0.0
    scratch: str | os.PathLike[str] | None = None
    scheduler: str | None = None

    @estimator.fit_method
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        interventions: Any = None,
        *,
        environments: Any = None,
    ) -> Self:
        """Find the best network and estimate its parameters.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or LocalScores
            Finite numbers, at least 2 columns, and more rows than columns; with ``max_parents=K``,
            K + 2 rows suffice, and with `BGe` any number. X may also be ParentSetScores, or a dask
            array or data frame, whose blocks are summarised in parallel and need not fit in memory
            together. With ``missing="em"`` values may be missing; two columns must be observed
            together in more rows than the largest family has columns.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts; not negative. The sum takes the place of the number of rows.
            A pandas Series is matched to the rows by its labels if X is a pandas data frame or the
            LocalScores of one. For a table of dask, as in `LocalScoreTransformer.transform`.
        interventions : data frame or array-like of shape (n_samples, n_features) of bool, or \
sequence of length n_samples, optional
            Which columns an experimenter *set* in each row, to a value that does not depend on the
            other columns: True in a table like X (a data frame may lack columns), or a column, a
            tuple of columns or None for each row. The family of a column is scored by the rows in
            which it was not set, and the penalty counts these. Edges that such experiments direct
            are fixed.
        environments : array-like of shape (n_samples,), optional
            With `targets`: the name of the environment that each row comes from; those of a pandas
            Series by its labels.

        Returns
        -------
        self : GaussianBNLearner

        Raises
        ------
        ValueError, TypeError
            If X is not such a table; if a column is constant or depends linearly on others,
            since the likelihood is then unbounded (with `BGe` it is not); if no network satisfies
            the constraints, or an iterator gives them; if the search needs more memory than is
            available or than `max_memory`, or more space than `scratch` has; if this is no folder
            that can be written to; if a parameter has a value other than those above, or differs
            from that of the LocalScores; if the weights or interventions do not match the rows; if
            a column was set in too many of them; if values are missing and the criterion is no
            log-likelihood less a cost, or has unbiased variances; if a value is missing that was
            set, or one of an exogenous column.
        RuntimeError
            If a callback asks to stop; if regressions that are independent of the search do not
            confirm its network, which means a defect of the library or of the machine.
        MemoryError
            If the system refuses memory that seemed to be available.
        OSError
            If the disk of `scratch` fails.
        ImportError
            If branch and cut is needed and highspy is not installed, or `scheduler` is "dask" and
            distributed is not.

        Warns
        -----
        skbn.exceptions.DataWarning
            If the table may not suit the model: its subclasses say how. Not for dask tables, whose
            rows are not kept, nor for tables with missing values.
        skbn.exceptions.MissingValuesWarning
            If two columns are observed together in fewer rows than five for each column, or rows
            have no value, which are ignored.
        skbn.exceptions.MaxParentsWarning
            If `max_parents` costs the network much of its score.
        sklearn.exceptions.ConvergenceWarning
            If an exact search did not prove its network, because it ended early or rounding hides
            more than `tol`; if one start alone of an order search came within 3 nats of its
            network.
        """
        self._folder()  # refused before the table is read
        scores = fitting.read_scores(self, X, sample_weight, interventions)
        scores = fitting.with_environments(self, scores, environments, float(self.target_cost))
        problem = problem_of(scores, fitting.constraints_of(self, scores))
        resources = replace(self._resources(), ends_on_interrupt=True)
        (found,) = solve(problem, resources, fitting.search_settings(self))
        fitting.keep_search(self, found, problem)
        return self

    def _resources(self) -> Resources:
        is_on_cluster = self.scheduler is not None and self.search == "exact"
        cluster = current_cluster() if is_on_cluster else None
        how = {"scratch": self._folder(), "cluster": cluster}
        return fitting.resources_of(self, self.time_limit, **how)

    def _folder(self) -> str | None:
        """Return the folder of `scratch`; raise if there is none."""
        if self.scratch is None:
            return None
        folder = os.fsdecode(self.scratch)
        if not os.path.isdir(folder):
            raise ValueError(
                f"scratch must be a folder; there is none at {folder!r}. Make it first, as "
                f"os.makedirs({folder!r}) does."
            )
        return folder


class BestNetwork(NamedTuple):
    """The network of the highest score, and what is known of that."""

    network: GaussianBayesianNetwork  # with parameters, unless the scores are ParentSetScores
    score: float  # in nats
    is_optimal: bool  # whether no network scores higher by more than `tol`
    gap: float  # by how many nats another network might score higher


def best_network(
    scores: BaseScores,
    *,
    max_parents: int | None = None,
    required_edges: Any = None,
    forbidden_edges: Any = None,
    tiers: Any = None,
    tol: float = 1e-6,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
) -> BestNetwork:
    """Return the network with the highest score of all.

    `GaussianBNLearner` does the same from a table, with scikit-learn's API, progress, warnings
    and more ways to search.

    Parameters
    ----------
    scores : LocalScores or ParentSetScores
        The local scores of the families to choose from.
    max_parents : int or None, default=None
        As in `GaussianBNLearner`, and so are all the following.
    required_edges : list of (parent, child), table of two columns, networkx.DiGraph or \
None, default=None
    forbidden_edges : list of (parent, child), table of two columns, networkx.DiGraph or \
None, default=None
    tiers : list of lists of columns and at most one ``...``, dict of title to list, or None
    tol : float, default=1e-6
    time_limit : float or None, default=None
    n_jobs : int or None, default=None
    max_memory : float, str or None, default=None

    Returns
    -------
    best : named tuple
        Of `network`, which has parameters unless the scores are ParentSetScores; `score` in nats;
        `is_optimal`; and `gap`, by how many nats another network might score higher.

    Raises
    ------
    ValueError, TypeError
        If `scores` are no scores, or as `GaussianBNLearner.fit`.
    RuntimeError
        If regressions that are independent of the search do not confirm its network.
    ImportError
        If branch and cut is needed and highspy is not installed.

    See Also
    --------
    GaussianBNLearner : The same as an estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import LocalScoreTransformer, best_network
    >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
    >>> scores = LocalScoreTransformer().fit_transform(wine)
    >>> network, score, is_optimal, gap = best_network(scores)
    >>> round(score, 2), is_optimal, gap
    (-1465.36, True, 0.0)
    >>> list(network.dag.edges)
    [('alcohol', 'proline'), ('proline', 'ash'), ('hue', 'proline')]
    """
    if not isinstance(scores, BaseScores):
        raise TypeError(
            f"scores must be LocalScores or ParentSetScores; got {readable_value(scores)}. Give "
            "LocalScoreTransformer().fit_transform(X), or fit a GaussianBNLearner to the table."
        )
    learner = GaussianBNLearner(
        max_parents=max_parents,
        required_edges=required_edges,
        forbidden_edges=forbidden_edges,
        tiers=tiers,
        tol=tol,
        time_limit=time_limit,
        n_jobs=n_jobs,
        max_memory=max_memory,
    )
    estimator.check_values("best_network", GaussianBNLearner._allowed_values, vars(learner))
    problem = problem_of(scores, fitting.constraints_of(learner, scores))
    (found,) = solve(problem, learner._resources(), fitting.search_settings(learner))
    return BestNetwork(found.network, found.score, found.is_optimal, found.gap)

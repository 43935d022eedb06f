"""GaussianBNPosterior: the posterior of the networks of a table, exact or sampled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import networkx as nx
import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from skbn._chains.convergence import chains_to_compare
from skbn._core.arrays import (
    Booleans,
    Floats,
    Random,
    as_integer,
    random_seeds,
)
from skbn._core.columns import column_number
from skbn._core.estimator import (
    Interval,
    StrOptions,
    all_or_nothing,
    fit_method,
    fit_task,
    random_generator,
)
from skbn._core.graphs import dag_of
from skbn._core.resources import Resources
from skbn._core.text import readable_value, warn
from skbn._data.degenerate_columns import raise_joined
from skbn._data.experiments import ExperimentalSample, require_no_interventions
from skbn._data.sample import Sample
from skbn._displays.frames import frame_of
from skbn._estimators.network_estimator import (
    PARAMETER_CONSTRAINTS,
    NetworkEstimator,
    check_settings,
    targets_of,
)
from skbn._missing.dependences import require_independent
from skbn._missing.incomplete_rows import incomplete_rows, require_spread
from skbn._networks.diagnostics import warn_about_data
from skbn._networks.network import GaussianBayesianNetwork
from skbn._posterior.answers import (
    EstimatedProbability,
    check_evidence,
    estimated_probability,
    log_probability,
    mean_log_predictive_density,
    median_network,
    pair_columns,
    parent_set_probabilities,
    require_feature,
    require_two,
)
from skbn._posterior.augmentation import AugmentedPosterior, augmented_posterior
from skbn._posterior.effects import EffectPosterior, TotalEffects, total_effects
from skbn._posterior.network_posterior import NetworkPosterior, network_posterior
from skbn._posterior.parameter_draws import with_parameters
from skbn._posterior.plan import sums_fit
from skbn._posterior.prior import read_edge_prior
from skbn._posterior.sampled_posterior import (
    ChainSettings,
    SampledPosterior,
    sampled_posterior,
)
from skbn._posterior.sampling import sample_networks
from skbn._scores.base import BaseScores
from skbn._scores.criteria import BGe, Criterion
from skbn._scores.local_scores import LocalScores
from skbn._scores.parent_set_scores import ParentSetScores
from skbn._scores.reprs import ProbableParentSets
from skbn._solver.constraints import Constraints
from skbn._solver.problem import Problem
from skbn._solver.solve import problem_of
from skbn.exceptions import MissingValuesWarning, OrderPriorWarning, SamplingWarning


class GaussianBNPosterior(NetworkEstimator):
    """Find the exact posterior probability of every edge, path and parent set.

    The learners find the best network of all; but others may be nearly as good, and the data
    rarely decide on one. This estimator sums over all networks: the probability of an edge is the
    total posterior probability of the networks that have it. Unless `method` says otherwise, no
    Markov chain and no sampling is involved, and the probabilities are exact up to rounding, about
    1e-12. For more columns than sums have room for, Markov chains estimate them.

    Parameters
    ----------
    criterion : {"bge", "bic", "ebic"}, Criterion or None, default=None
        Its exponential is the marginal likelihood of a network: exactly with `BGe`,
        approximately with `BIC` and `EBIC`, with a warning. Others are refused, unless one of
        your own sets ``Criterion.marginal_likelihood``. None means "bge" for a table, and the
        criterion of the LocalScores if `fit` is given those; any other must be theirs. The
        `alpha_w` of a `BGe` may be 1e4 at most, as rounding errors of the scores grow with it.
    method : {"exact", "sampling", "auto"}, default="exact"
        "exact" sums over all networks, and raises an error if that does not fit in memory: with
        more than some 28 columns whose order is free. "sampling" draws networks by Markov chains,
        for tables of up to a hundred columns; the probabilities are estimates then, with standard
        errors, and a warning says if the chains have not agreed. "auto" samples, with a warning,
        where sums do not fit in memory, or would take hours.
    structure_prior : {"auto", "uniform", "order"}, default="auto"
        The prior over networks. "uniform" gives each network the same probability, "order" one
        proportional to the number of its topological orders, which favours networks with few
        edges or separate parts. "auto" takes the uniform prior up to 22 columns whose order is
        free, for which it needs minutes, and the other one beyond, with a warning. Sampling has
        the uniform prior alone.
    edge_prior : float, array-like of shape (m, m), pandas.DataFrame or None, default=None
        Prior odds of edges, by which each network's prior is multiplied: one number for all
        edges, or at [i, j] that of the edge i -> j. Below 1 they penalise edges; 0 forbids them.
        The rows and columns of a data frame are the names of the table's columns, in any order.
    max_parents : int or None, default=None
        The largest number of parents; None stands for any number. With a small number, families
        are listed one by one if that is faster, so that in tiers there may be many columns.
    nodes : "auto", dict, array-like of shape (n_features,) or None, default=None
        Which columns make a node. None: each is one. "auto": columns of a categorical, bool,
        string or object dtype are categories, whose nodes have an indicator for each level but the
        first; the others are nodes of numbers. A dict has lists of columns, by name or number, for
        nodes of several columns, such as splines or the channels of a sensor; columns that it does
        not name are nodes as in "auto". An array has the node of each column. Edges, parents,
        tiers and `max_parents` are then of nodes.
    missing : {"error", "augment"}, default="error"
        What to do with missing values. "augment" averages over draws of them: a Markov chain
        completes the table, sums over all networks of the completed table, draws one of these and
        its parameters, and by them completes the table anew. Values must be missing at random.
    n_imputations : int, default=20
        How many completed tables are averaged, after 10 that are not. Each takes as long as a fit.
    n_chains : int, default=4
        How many Markov chains sample, at least 2. A third of them, but at least one, begin with
        random networks, the others with networks that searches have found.
    n_samples : int, default=2000
        How many states of each chain are kept, at least 100. Before them each chain goes through
        nearly half as many, to learn which columns to move together.
    time_limit : float or None, default=None
        How long the chains run, in seconds, instead of `n_samples`. Ctrl-C ends them earlier.
    random_state : int, RandomState, Generator or None, default=None
        The seed of draws of missing values, and of Markov chains.
    required_edges : collection of (parent, child), table or networkx.DiGraph, default=None
        Edges that every network has, as for `GaussianBNLearner`: all else is conditional on them.
    forbidden_edges : collection of (parent, child), table or networkx.DiGraph, default=None
        Edges that no network has, in the same forms.
    tiers : collection of collections of columns, default=None
        Knowledge about the order of columns, as for `GaussianBNLearner`.
    exogenous : list of columns, or None, default=None
        Columns that may be parents and are not modelled, as for `GaussianBNLearner`. The sums are
        over the networks of the other columns.
    n_jobs : int or None, default=None
        Number of threads, by joblib's rules. It does not change a bit of the result, but with a
        `time_limit` chains that run side by side have more states.
    max_memory : float, str or None, default=None
        How many bytes the sums, or the tables of chains, may take, or a size such as "2GB"; by
        default all that are available.
    verbose : bool or int, default=False
        Whether to print the plan, and how much is done.

    Attributes
    ----------
    edge_probabilities_ : ndarray of shape (m, m), float64
        At [i, j], the posterior probability of the edge i -> j. With missing values, the mean of
        the exact probabilities given each completed table. By sampling, the mean over the states
        of all chains.
    edge_standard_errors_ : ndarray of shape (m, m), float64
        Only by sampling or with missing values: the Monte-Carlo standard errors of these means.
        By sampling, the larger of those by batches of states and those by the spread of chains.
        With missing values, those by the spread over the chain, where neighbours are taken to have
        one correlation, the same for all edges. With many holes they are too small: see the notes.
    chain_edge_probabilities_ : ndarray of shape (n_chains, m, m), float64
        Only by sampling: the means over the states of each chain.
    r_hat_ : ndarray of shape (m, m), float64
        Only by sampling: R-hat of each edge by halves of chains, which is near 1 if they agree.
    effective_sample_sizes_ : ndarray of shape (m, m), float64
        Only by sampling: how many independent states would give the same standard errors; NaN for
        edges that have one probability in all states.
    n_samples_ : int
        Only by sampling: the number of states of all chains.
    imputed_tables_ : list of ndarray of shape (n_samples, m), float64
        Only with missing values: the completed tables, without rows that have no value.
    path_probabilities_ : ndarray of shape (m, m), float64
        At [i, j], the probability of a directed path from i to j. Only with the uniform prior;
        with the order prior, `probability` estimates one from samples.
        With more than 20 columns, or if memory is short, NaN if knowledge alone decides which of
        the two may come first in an order. By sampling, shares of the networks of the chains.
    log_evidence_ : float
        The logarithm of the marginal likelihood of the table, in nats: the mean over all networks,
        weighted by their prior. Not by sampling, nor with missing values.
    structure_prior_ : {"uniform", "order"}
    median_network_ : GaussianBayesianNetwork
        The network of the edges whose probability is above 1/2, with fitted parameters. Edges that
        would close a cycle, or exceed `max_parents`, are left out, the least probable first. Its
        `to_frame` is a table of the edges with their probabilities. With missing values, the
        parameters are fitted to all completed tables together.
    dag_ : networkx.DiGraph
        Its graph, each edge with its `probability`, `weight` and `standardised_weight`.
    criterion_ : Criterion
    local_scores_ : LocalScores
    posterior_ : NetworkPosterior, SampledPosterior or, with missing values, AugmentedPosterior
        The sums over networks, or samples, for the methods. They take most of the memory, also of a
        pickle.
    targets_ : list of tuple
        As in `GaussianBNLearner`.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (m,)
        Only if the columns have names.

    See Also
    --------
    GaussianBNLearner : The one best network.

    Notes
    -----
    The order prior is summed as by Koivisto and Sood (2004), "Exact Bayesian structure discovery
    in Bayesian networks", in ``O(m 2**m)`` steps; the uniform prior as by Tian and He (2009),
    "Computing posterior probabilities of structural features in Bayesian networks", in
    ``O(3**m)``. Under knowledge that cuts the columns into groups, such as tiers, the order prior
    counts the orders within each group.

    The chains move over ordered partitions of the columns (Kuipers and Moffa 2017, "Partition MCMC
    for inference on acyclic digraphs"): a move draws the places of one to three columns jointly and
    exactly, or the parents of two columns in a network of the partition. With more than some 20
    columns, the tables have 6 or more fixed candidates for the parents of each column and 4 or more
    random ones, which change. Families with more parents outside the fixed ones are left out, and a
    warning says if that may matter.

    With many holes, a completed table depends much on the one before it, and 20 tables do not show
    how much: with 40 % of the values missing, the standard errors were two thirds of the standard
    deviation of the probabilities over seeds, and half of it in some tables. Then raise
    `n_imputations`, and compare several seeds.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skbn import GaussianBNPosterior
    >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
    >>> scaler = StandardScaler().set_output(transform="pandas")
    >>> posterior = GaussianBNPosterior().fit(scaler.fit_transform(wine))
    >>> posterior.edge_probabilities_.round(2)
    array([[0.  , 0.88, 0.09, 0.25],
           [0.12, 0.  , 0.09, 0.35],
           [0.12, 0.9 , 0.  , 0.05],
           [0.21, 0.15, 0.03, 0.  ]])
    >>> posterior.parent_set_probabilities("proline", k=3)
    Parents of 'proline', most probable first
    probability  parents
          0.755  alcohol, hue
          0.094  alcohol, hue, ash
          0.049  (none)
    """

    _default_criterion = "bge"
    _network_name = "median_network_"
    _allowed_values: ClassVar[dict[str, Any]] = {
        **NetworkEstimator._allowed_values,
        "criterion": [*PARAMETER_CONSTRAINTS["criterion"], None],
        "method": [StrOptions({"exact", "sampling", "auto"})],
        "structure_prior": [StrOptions({"auto", "uniform", "order"})],
        "missing": [StrOptions({"error", "augment"})],
        "n_imputations": [Interval(Integral, 1, None, closed="left")],
        "n_chains": [Interval(Integral, 2, None, closed="left")],
        "n_samples": [Interval(Integral, 100, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "edge_prior": [
            Interval(Real, 0, None, closed="left"),
            "array-like",
            None,
        ],
    }

    structure_prior_: str
    edge_probabilities_: Floats
    path_probabilities_: Floats
    edge_standard_errors_: Floats
    r_hat_: Floats
    effective_sample_sizes_: Floats
    chain_edge_probabilities_: Floats
    n_samples_: int
    median_network_: GaussianBayesianNetwork
    local_scores_: LocalScores
    posterior_: NetworkPosterior | AugmentedPosterior | SampledPosterior

    def __init__(
        self,
        criterion: str | Criterion | None = None,
        *,
        method: str = "exact",
        structure_prior: str = "auto",
        edge_prior: Any = None,
        max_parents: int | None = None,
        nodes: Any = None,
        missing: str = "error",
        n_imputations: int = 20,
        n_chains: int = 4,
        n_samples: int = 2000,
        time_limit: float | None = None,
        random_state: int | Random | None = None,
        required_edges: Any = None,
        forbidden_edges: Any = None,
        tiers: Any = None,
        exogenous: Any = None,
        n_jobs: int | None = None,
        max_memory: float | str | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.criterion = criterion
        self.method = method
        self.structure_prior = structure_prior
        self.edge_prior = edge_prior
        self.max_parents = max_parents
        self.nodes = nodes
        self.missing = missing
        self.n_imputations = n_imputations
        self.n_chains = n_chains
        self.n_samples = n_samples
        self.time_limit = time_limit
        self.random_state = random_state
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.tiers = tiers
        self.exogenous = exogenous
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.verbose = verbose

    @fit_method
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, interventions: Any = None
    ) -> Self:
        """Sum over all networks, or sample them.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or LocalScores
            As for `GaussianBNLearner.fit`. Standardise the columns for `BGe`, whose score depends
            on their units. With ``missing="augment"`` values may be missing.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts, as for `GaussianBNLearner.fit`.
        interventions : data frame or array-like of bool, or sequence of length n_samples, optional
            Which columns an experimenter set in each row, as for `GaussianBNLearner.fit`. With
            `BGe` and nu=None, the prior mean of each family is that of the rows that count for it.

        Returns
        -------
        self : GaussianBNPosterior

        Raises
        ------
        ValueError, TypeError
            As `GaussianBNLearner.fit`; if the criterion's exponential is no marginal likelihood;
            if the local scores differ by too much for extended floats to hold their exponentials;
            if values are missing and a column has none, two columns are never observed together,
            rows have weights other than 0 and 1, or nodes have several columns.
        RuntimeError
            If sums that must be equal are not, which means a defect of the library or of the
            machine.

        Warns
        -----
        skbn.exceptions.OrderPriorWarning
            If `structure_prior="auto"` does not take the uniform prior.
        skbn.exceptions.SamplingWarning
            If `method="auto"` takes "sampling".
        sklearn.exceptions.ConvergenceWarning
            If Markov chains have not agreed, naming the edges in which they differ most.
        skbn.exceptions.ApproximateEvidenceWarning
            If the criterion only approximates the marginal likelihood.
        skbn.exceptions.DataWarning
            If the table may not suit the model, unless values are missing; a
            `MissingValuesWarning` if rows have no value.
        """
        with all_or_nothing(self), fit_task(self, X, y, sample_weight, max_subtasks=100) as context:
            return self._fit(X, sample_weight, interventions, context)

    def _fit(self, X: Any, sample_weight: Any, interventions: Any, context: Any) -> Self:
        if isinstance(X, ParentSetScores):
            raise TypeError(
                "ParentSetScores leave families out that a posterior needs. Pass the table, or its "
                "LocalScores."
            )
        scores = self._read_scores(X, sample_weight, 1.0, interventions)
        assert isinstance(scores, LocalScores)
        if isinstance(X, BaseScores):
            check_settings(X, criterion=self.criterion, penalty=None)
        check_evidence(scores)
        is_complete = scores.sample.is_complete
        if not is_complete:
            scores = self._augmentable(scores)
        observed = None if is_complete else scores.sample
        constraints, log_odds = self._knowledge(scores)
        problem = problem_of(scores, constraints)
        resources = self._resources(context)
        posterior: NetworkPosterior | AugmentedPosterior | SampledPosterior
        if not is_complete:
            posterior = self._augmented(scores, constraints, log_odds, resources)
            scores = scores.of_sample(posterior.stacked())
            problem = problem_of(scores, constraints)
        elif self._samples(problem, resources):
            posterior = self._sampled_posterior(problem, log_odds, resources)
        else:
            uniform = " and structure_prior to 'auto'" if self.structure_prior == "order" else ""
            posterior = network_posterior(
                problem,
                resources,
                prior=self.structure_prior,
                log_odds=log_odds,
                instead=[f"set method to 'sampling'{uniform}, for estimates by Markov chains"],
            )
        if self.structure_prior == "auto" and posterior.prior == "order":
            warn(
                "structure_prior='auto' took the order prior, which favours networks with "
                "few edges: for this many columns the uniform prior takes too long, or too much "
                "memory. Set structure_prior to 'order' to accept this, or leave out columns or "
                "give tiers of fewer columns for the uniform prior.",
                OrderPriorWarning,
            )
        network = median_network(problem, posterior.edges)
        self.__dict__.update(self._learned(posterior, problem, network))
        if scores.sample.has_rows:
            warn_about_data(network._model(), problem.regressions, observed)
        return self

    def _augmented(
        self,
        scores: LocalScores,
        constraints: Constraints,
        log_odds: Floats | None,
        resources: Resources,
    ) -> AugmentedPosterior:
        def posterior_of(table: LocalScores, resources: Resources) -> NetworkPosterior:
            problem = problem_of(table, constraints)
            return network_posterior(
                problem, resources, prior=self.structure_prior, log_odds=log_odds
            )

        return augmented_posterior(
            scores,
            posterior_of,
            resources,
            n_tables=self.n_imputations,
            random_state=random_generator(self.random_state),
        )

    def _samples(self, problem: Problem, resources: Resources) -> bool:
        """Whether to sample; "auto" does so, with a warning, where sums do not fit in memory."""
        if self.method == "exact":
            return False
        if self.method == "sampling":
            if self.structure_prior == "order":
                raise ValueError(
                    "structure_prior='order' was asked for, but method='sampling' draws networks "
                    "with the uniform prior. Leave structure_prior at 'auto'."
                )
            return True
        if sums_fit(problem.shape, self.structure_prior, resources):
            return False
        if self.structure_prior == "order":
            raise ValueError(
                "method='auto' would take method='sampling', as the sums do not fit in memory, but "
                "that has no order prior. Leave structure_prior at 'auto', or set method='exact' "
                "to see what would fit."
            )
        warn(
            f"method='auto' took method='sampling': sums over the networks of "
            f"{len(problem.names)} columns take too much memory, or too long. The probabilities "
            "are estimates, with edge_standard_errors_. Set method to 'sampling' to accept this.",
            SamplingWarning,
        )
        return True

    def _sampled_posterior(
        self, problem: Problem, log_odds: Floats | None, resources: Resources
    ) -> SampledPosterior:
        seed = np.random.SeedSequence(random_seeds(random_generator(self.random_state), 4))
        settings = ChainSettings(self.n_chains, self.n_samples, seed)
        posterior = sampled_posterior(
            problem, replace(resources, time_limit=self.time_limit), settings, log_odds
        )
        complaint = posterior.complaint(problem.names)
        if complaint:
            warn(complaint, ConvergenceWarning)
        return posterior

    def _learned(
        self,
        posterior: NetworkPosterior | AugmentedPosterior | SampledPosterior,
        problem: Problem,
        network: GaussianBayesianNetwork,
    ) -> dict[str, Any]:
        """Return the fitted attributes."""
        scores = problem.scores
        assert isinstance(scores, LocalScores)
        learned: dict[str, Any] = {
            "posterior_": posterior,
            "local_scores_": scores,
            "structure_prior_": posterior.prior,
            "edge_probabilities_": posterior.edges.copy(),
            "median_network_": network,
            "dag_": network.dag.copy(),
            "criterion_": scores.criterion,
            "targets_": targets_of(problem),
        }
        if not isinstance(posterior, NetworkPosterior):
            learned |= posterior.estimates
        if posterior.paths is not None:
            learned["path_probabilities_"] = posterior.paths.copy()
        return learned

    def _augmentable(self, scores: LocalScores) -> LocalScores:
        """Return the scores of the rows with a value; raise if they cannot be completed."""
        sample = scores.sample
        if self.method == "sampling":
            raise ValueError(
                "missing='augment' sums over all networks of each completed table, and "
                "method='sampling' was asked for. Set method to 'exact', or complete the table "
                "first."
            )
        if self.exogenous is not None:
            raise ValueError(
                "missing='augment' draws missing values from networks, which do not say how "
                f"exogenous columns are distributed; exogenous={readable_value(self.exogenous)} "
                "was asked for. Complete the table first, or model these columns."
            )
        if sample.nodes is not None:
            raise ValueError(
                "missing='augment' draws numbers, and nodes of several columns may be categories. "
                "Leave nodes at None, or complete the table first."
            )
        if sample.weight is not None and not np.isin(sample.weight, (0, 1)).all():
            raise ValueError(
                "missing='augment' draws the missing values of each row once, which is not right "
                "for a row that counts more than once, or for a part of one. Repeat rows instead "
                "of giving sample_weight."
            )
        counts: Booleans = np.logical_not(np.isnan(sample.rows).all(axis=1))
        if not counts.all():
            n_empty = int(np.count_nonzero(~counts))
            warn(
                f"{n_empty} of {len(counts)} rows of X have no value and are ignored.",
                MissingValuesWarning,
            )
        if sample.weight is not None:
            counts &= sample.weight > 0
        known = Sample(sample.rows[counts])
        _require_regular(known.rows, scores)
        by_pattern = incomplete_rows(known.rows)
        if not by_pattern.pair_weights().all():
            raise ValueError(
                f"{by_pattern.seen_least(scores.columns)}, so that draws of their holes hardly "
                "leave the dependence that they begin with. Leave one of them out."
            )
        criterion = scores.criterion
        if isinstance(criterion, BGe) and criterion.nu is None:  # one prior for all tables
            criterion.set_params(nu=np.nanmean(known.rows, axis=0))
        names = getattr(scores, "feature_names_in_", None)
        return LocalScores(
            known, criterion, names, max_parents=scores.max_parents, n_jobs=scores.n_jobs
        )

    @property
    def log_evidence_(self) -> float:
        """The logarithm of the marginal likelihood of the table, in nats."""
        check_is_fitted(self)
        return self.posterior_.log_evidence

    def _sums(self, what: str) -> NetworkPosterior:
        """Return the sums over networks; raise if they are of several tables, or samples."""
        check_is_fitted(self)
        if not isinstance(self.posterior_, NetworkPosterior):
            raise ValueError(f"{what} is not known {self.posterior_.why_no_sums}")
        return self.posterior_

    def _one_table(self, what: str) -> NetworkPosterior | SampledPosterior:
        """Return what is known of the networks of one table; raise if it was completed."""
        check_is_fitted(self)
        if isinstance(self.posterior_, AugmentedPosterior):
            raise ValueError(f"{what} is not known {self.posterior_.why_no_sums}")
        return self.posterior_

    def _new_graph(self) -> nx.DiGraph:
        return self.median_network_.dag.copy()

    def _knowledge(self, scores: LocalScores) -> tuple[Constraints, Floats | None]:
        """Return the constraints, with the edges of odds 0 forbidden, and the log odds of edges."""
        constraints = self._constraints(scores)
        log_odds, forbidden = read_edge_prior(self.edge_prior, scores.columns)
        allowed, possible = [*constraints.allowed], [*constraints.possible]
        for parent, child in forbidden:
            if constraints.required[child] >> parent & 1:
                names = f"{scores.columns[parent]!r} -> {scores.columns[child]!r}"
                raise ValueError(
                    f"The edge {names} is in required_edges, but edge_prior has odds of 0 for it. "
                    "Take it out of one of them."
                )
            allowed[child] &= ~(1 << parent)
            possible[child] &= ~(1 << parent)
        return constraints._replace(allowed=allowed, possible=possible), log_odds

    # Families and networks

    def to_frame(self) -> Any:
        """Return the probabilities of each pair of columns.

        Returns
        -------
        table : pandas.DataFrame, or a table as a dict of lists without pandas
            A row for each pair, those that are joined most probably first:

            - `parent` and `child`, in the direction of the more probable edge, or in column order
              if both are as probable;
            - `joined`, the probability of an edge in either direction;
            - `probability` of the edge parent -> child, and `reverse`, that of child -> parent;
            - `standard_error` and `reverse_standard_error` of these two, where they are estimates:
              from Markov chains, or over imputed tables;
            - `path`, the probability of a directed path from the parent to the child, and
              `reverse_path`, that of one back. With the order prior, which does not know them,
              these columns are left out. They are NaN where `path_probabilities_` is.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import StandardScaler
        >>> from skbn import GaussianBNPosterior
        >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue"]]
        >>> scaler = StandardScaler().set_output(transform="pandas")
        >>> GaussianBNPosterior().fit(scaler.fit_transform(wine)).to_frame().round(2)
            parent    child  joined  probability  reverse  path  reverse_path
        0  alcohol  proline    1.00          0.9     0.10   0.9          0.10
        1      hue  proline    0.99          0.9     0.09   0.9          0.09
        2      hue  alcohol    0.19          0.1     0.09   0.1          0.09
        """
        check_is_fitted(self)
        columns, posterior = self.local_scores_.columns, self.posterior_
        errors = getattr(self, "edge_standard_errors_", None)
        return frame_of(pair_columns(columns, posterior.edges, posterior.paths, errors))

    def parent_set_probabilities(self, child: str | int, k: int = 10) -> ProbableParentSets:
        """Return the k most probable sets of parents of a column.

        Parameters
        ----------
        child : str or int
            A column, by name or number.
        k : int, default=10
            The number of sets; those of probability 0 are left out.

        Returns
        -------
        parent_sets : list of ProbableParents
            Named tuples of `parents` and `probability`, the most probable first. The list is shown
            as a table, and ``pandas.DataFrame(parent_sets)`` makes a data frame of it.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError, TypeError
            If there is no such column, or k is not a positive integer.

        Examples
        --------
        >>> import numpy as np
        >>> from skbn import GaussianBNPosterior
        >>> rows = np.random.default_rng(0).normal(size=(50, 3))
        >>> rows[:, 2] += rows[:, 0]
        >>> GaussianBNPosterior().fit(rows).parent_set_probabilities(2, k=3)
        Parents of 2, most probable first
        probability  parents
              0.487  (none)
              0.467  0
              0.029  0, 1
        """
        posterior = self._one_table("The probability of a set of parents")
        x = column_number(self.local_scores_.columns, child)
        if posterior.constraints.exogenous >> x & 1:
            raise ValueError(f"Column {readable_value(child)} is exogenous and has no parents.")
        return parent_set_probabilities(posterior, self.local_scores_.columns, child, k)

    def log_probability(self, dag: nx.DiGraph) -> float:
        """Return the logarithm of the posterior probability of a network.

        Parameters
        ----------
        dag : networkx.DiGraph or GaussianBayesianNetwork
            Acyclic; its nodes are the columns, by name or number.

        Returns
        -------
        log_probability : float
            In nats; -inf if `fit` was told to rule the network out.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If the graph has a cycle, or its nodes are not the columns.
        TypeError
            If it is not a directed graph.

        Examples
        --------
        >>> from skbn import GaussianBNPosterior
        >>> posterior = GaussianBNPosterior().fit([[0, 0], [1, 2], [2, 5], [3, 5]])
        >>> round(posterior.log_probability(posterior.predict()), 3)
        -4.529
        """
        posterior = self._sums("The probability of a network")
        return log_probability(posterior, self.local_scores_, dag)

    # Samples

    def sample_dags(self, n_samples: int = 1, random_state: Any = None) -> list[nx.DiGraph]:
        """Draw networks from the posterior: exactly, and independently of each other.

        After ``method="sampling"`` they are states of the chains, evenly spaced, chain after chain.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        dags : list of networkx.DiGraph
            Without parameters; see `sample_networks`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError, TypeError
            If `n_samples` is not a positive integer.

        Examples
        --------
        >>> from skbn import GaussianBNPosterior
        >>> posterior = GaussianBNPosterior().fit([[0, 0], [1, 2], [2, 5], [3, 5]])
        >>> dags = posterior.sample_dags(100, random_state=0)
        >>> sum(dag.has_edge(0, 1) for dag in dags)
        45
        """
        parents = self._sampled(n_samples, random_state)
        return [dag_of(self.local_scores_.columns, masks) for masks in parents.tolist()]

    def _sampled(self, n_samples: int, random_state: Any) -> npt.NDArray[np.int64]:
        """Return the masks of each column's parents in sampled networks, (n_samples, m)."""
        check_is_fitted(self)
        n_samples = _number_of_samples(n_samples)
        random_state = random_generator(random_state)
        if not isinstance(self.posterior_, NetworkPosterior):
            return self.posterior_.sampled(n_samples, random_state)
        rng = np.random.default_rng(random_seeds(random_state, 4))
        return sample_networks(self.posterior_, n_samples, rng, self.n_jobs)

    def sample_networks(
        self, n_samples: int = 1, random_state: Any = None
    ) -> list[GaussianBayesianNetwork]:
        """Draw networks from the posterior, with parameters from theirs.

        The parameters of a network are drawn from their normal-Wishart posterior with `BGe`, and
        from the posterior under a flat prior with `BIC`.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        networks : list of GaussianBayesianNetwork

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError, TypeError
            If `n_samples` is not a positive integer; if the posterior of the parameters is not
            known for the criterion, or has no degrees of freedom with this few rows.

        Examples
        --------
        >>> from skbn import GaussianBNPosterior
        >>> posterior = GaussianBNPosterior().fit([[0, 0], [1, 2], [2, 5], [3, 5]])
        >>> networks = posterior.sample_networks(100, random_state=0)
        >>> sum(network.dag.number_of_edges() for network in networks)
        99
        """
        check_is_fitted(self)
        random_state = random_generator(random_state)
        if isinstance(self.posterior_, AugmentedPosterior):
            return self.posterior_.networks(_number_of_samples(n_samples), random_state)
        parents = self._sampled(n_samples, random_state)
        exogenous = self.posterior_.constraints.exogenous
        return with_parameters(self.local_scores_, parents, random_state, exogenous)

    def probability(
        self,
        feature: Callable[[nx.DiGraph], Any],
        n_samples: int = 1000,
        random_state: Any = None,
    ) -> EstimatedProbability:
        """Estimate the probability of a feature of networks, or the mean of a number, by samples.

        After ``method="sampling"`` the standard error is that by batches of states and by chains.

        Parameters
        ----------
        feature : callable
            Called with the networkx.DiGraph of each sampled network; returns a bool or a number.
        n_samples : int, default=1000
            At least 2.
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        estimate : EstimatedProbability
            A named tuple of `value`, `standard_error` and `n_samples`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError, TypeError
            If `n_samples` is not an integer of at least 2; if the feature is no function, or does
            not return a bool or a finite number.

        Examples
        --------
        >>> from skbn import GaussianBNPosterior
        >>> posterior = GaussianBNPosterior().fit([[0, 0], [1, 2], [2, 5], [3, 5]])
        >>> estimate = posterior.probability(lambda dag: len(dag.edges) == 1, random_state=0)
        >>> estimate.value
        0.995
        >>> round(estimate.standard_error, 4)
        0.0022
        """
        posterior = self._one_table("The standard error of a probability")
        require_two(n_samples)
        require_feature(feature)
        parents = self._sampled(n_samples, random_state)
        columns = self.local_scores_.columns
        n_chains = chains_to_compare(posterior.n_chains, len(parents))
        return estimated_probability(feature, columns, parents, n_chains)

    # Effects

    def effect(
        self,
        cause: str | int,
        outcome: str | int,
        *,
        n_samples: int = 10_000,
        random_state: Any = None,
    ) -> EffectPosterior:
        """Return the posterior of the total effect of do(cause) on an outcome.

        It averages over all networks and their parameters, by samples that are exact and
        independent of each other: those that `sample_networks` draws with the same
        `random_state`. For many pairs, `effects` draws only once.

        Parameters
        ----------
        cause, outcome : str or int
            Two columns, by name or number.
        n_samples : int, default=10_000
            At least 2. The standard error of the mean falls with its square root.
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        effect : EffectPosterior
            Its mean, standard deviation and quantiles, and the probability that there is no
            effect. This is exact with the uniform prior, except that with more than 20 columns
            it comes from the samples if knowledge decides which of the two may come first; so
            it does with the order prior.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError, TypeError
            If there is no such column or both are the same; if `n_samples` is not an integer of
            at least 2; as `sample_networks` does.

        Examples
        --------
        >>> import numpy as np
        >>> from skbn import GaussianBNPosterior
        >>> rows = np.random.default_rng(0).normal(size=(50, 3))
        >>> rows[:, 2] += rows[:, 0]
        >>> GaussianBNPosterior().fit(rows).effect(0, 2, random_state=0)
        Effect of do(0) on 2
        probability of no effect       0.504
        mean                           0.561
        standard error of the mean     9e-06
        standard deviation             0.571
        95 % interval               0 to 1.3
        """
        self._one_table("The posterior of an effect")
        scores = self.local_scores_
        self._require_columns("Effects")
        x, y = (column_number(scores.columns, column) for column in (cause, outcome))
        if x == y:
            raise ValueError(
                f"cause and outcome are both column {scores.columns[x]!r}. Give two columns."
            )
        return self._effects([x], n_samples, random_state)[x, y]

    def effects(self, *, n_samples: int = 10_000, random_state: Any = None) -> TotalEffects:
        """Return the posterior of the total effects of all columns on all others.

        Parameters
        ----------
        n_samples : int, default=10_000
            At least 2. They take 8 bytes times the number of columns squared each.
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        effects : TotalEffects
            ``effects[cause, outcome]`` is what `effect` returns for two columns with the same
            `random_state`; ``effects.mean`` and its like are arrays, ``effects.to_frame()`` is a
            table.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError, TypeError
            If `n_samples` is not an integer of at least 2; as `sample_networks` does.

        Examples
        --------
        >>> import numpy as np
        >>> from skbn import GaussianBNPosterior
        >>> rows = np.random.default_rng(0).normal(size=(50, 3))
        >>> rows[:, 2] += rows[:, 0]
        >>> effects = GaussianBNPosterior().fit(rows).effects(random_state=0)
        >>> effects.mean.round(2)
        array([[0.  , 0.  , 0.56],
               [0.01, 0.  , 0.  ],
               [0.31, 0.  , 0.  ]])
        """
        self._one_table("The posterior of an effect")
        self._require_columns("Effects")
        return self._effects(range(len(self.local_scores_.columns)), n_samples, random_state)

    def _require_columns(self, what: str) -> None:
        """Raise if nodes have several columns."""
        if self._nodes_ is not None:
            raise ValueError(
                f"{what} of nodes of several columns are not known. Draw networks by "
                "sample_networks, and ask each, by do or logpdf."
            )

    def _effects(self, causes: Sequence[int], n_samples: int, random_state: Any) -> TotalEffects:
        require_two(n_samples)
        random_state = random_generator(random_state)
        parents = self._sampled(n_samples, random_state)
        scorer = self.local_scores_.scorer
        posterior = self._one_table("The posterior of an effect")
        return total_effects(
            scorer.group_statistics,
            scorer.criterion,
            parents,
            random_state,
            posterior.known_paths,
            causes,
            chains_to_compare(posterior.n_chains, len(parents)),
        )

    # Prediction

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log posterior predictive density of rows, in nats.

        The density of new rows, given those of `fit`, averaged over all networks and parameters:
        the evidence of all rows divided by that of the rows of `fit`. Larger is better, so that
        a grid search chooses the prior that predicts held-out rows best. It takes as long
        as a fit.

        Parameters
        ----------
        X : array-like, data frame or LocalScores of shape (n_samples, n_features)
            The columns of `fit`.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        score : float

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError, TypeError
            If X is not a table of these columns, or the weights do not match its rows; if the
            criterion is not `BGe`: others are no densities of rows.

        Examples
        --------
        >>> from skbn import GaussianBNPosterior
        >>> posterior = GaussianBNPosterior().fit([[0, 0], [1, 2], [2, 5], [3, 5]])
        >>> round(posterior.score([[1, 2], [2, 4]]), 3)
        -1.772
        """
        posterior = self._sums("The predictive density")
        self._require_columns("Predictive densities")
        if isinstance(self.local_scores_.sample, ExperimentalSample):
            raise ValueError("Predictive densities are not known after a fit with interventions.")
        require_no_interventions(X, "GaussianBNPosterior.score")
        sample = self._sample(X, sample_weight, needs_rows=False)
        return mean_log_predictive_density(posterior, self.local_scores_, sample, self._resources())


def _number_of_samples(n_samples: Any) -> int:
    n_samples = as_integer(n_samples, "n_samples")
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1; got {n_samples}.")
    return n_samples


def _require_regular(rows: Floats, scores: LocalScores) -> None:
    """Raise if columns with holes do not vary, or if a likelihood is unbounded."""
    names, most = scores.columns, scores.max_parents
    m = len(names)
    largest = m if most is None else most + 1
    calls: list[Callable[[], None]] = [partial(require_spread, rows, names)]
    if not isinstance(scores.criterion, BGe):  # whose prior bounds the likelihood
        own = partial(require_independent, rows, names, labels=names, node_of=np.arange(m))
        calls.append(partial(own, largest_family=largest))
    raise_joined(*calls)

"""GaussianBNPosterior: the posterior of the networks of a table, exact or sampled."""

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import networkx as nx
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from skbn._chains.convergence import chains_to_compare
from skbn._core.arrays import Floats, Integers, Random, as_integer, random_seeds
from skbn._core.columns import column_number
from skbn._core.estimator import (
    Interval,
    StrOptions,
    answers_other_names,
    fit_method,
    random_generator,
)
from skbn._core.graphs import dag_of
from skbn._core.resources import Resources
from skbn._core.text import readable_value, warn
from skbn._data.nodes import Nodes
from skbn._displays.notebook import frame_of
from skbn._estimators.ensembles import EnsembleMixin, edges_of_fdr
from skbn._estimators.fitting import (
    TARGET_CONSTRAINTS,
    constraints_of,
    read_scores,
    resources_of,
    targets_of,
    with_environments,
)
from skbn._estimators.network_estimators import NetworkEstimator, SearchParameters
from skbn._networks import effect_estimates
from skbn._networks.diagnostics import warn_about_data
from skbn._networks.effects import Combination, all_changes, all_readings, change_and_reading
from skbn._networks.gaussian import have_density
from skbn._networks.network import GaussianBayesianNetwork
from skbn._posterior import answers
from skbn._posterior.augmentation import AugmentedPosterior, augmented_posterior, scores_to_complete
from skbn._posterior.effects import Batches, KnownPaths, TotalEffects, total_effects
from skbn._posterior.network_posterior import NetworkPosterior, network_posterior
from skbn._posterior.parameter_draws import (
    DrawParameters,
    SampledNetworks,
    with_parameters,
    with_predictive_parameters,
)
from skbn._posterior.plan import sums_fit
from skbn._posterior.prior import with_edge_prior
from skbn._posterior.sampled_posterior import ChainSettings, SampledPosterior, sampled_posterior
from skbn._posterior.sampling import sample_networks
from skbn._posterior.target_probabilities import target_probabilities
from skbn._scores.base import ProbableParentSets
from skbn._scores.criteria import Criterion
from skbn._scores.environment_scores import EnvironmentScores
from skbn._scores.local_scores import LocalScores, SummedScores
from skbn._solver.problem import Problem
from skbn._solver.solve import problem_of
from skbn.exceptions import OrderPriorWarning, SamplingWarning

# Networks by which a predictive density is estimated.
_DENSITY_DRAWS = 1000


@answers_other_names
@dataclass(eq=False, repr=False)
class GaussianBNPosterior(EnsembleMixin, SearchParameters, NetworkEstimator):
    """Find the exact posterior probability of every edge, path and parent set.

    The data rarely decide on one network. This estimator sums over all of them: the probability of
    an edge is the total posterior probability of the networks that have it, exact up to rounding,
    about 1e-12. For more columns than sums have room for, Markov chains estimate it.

    Parameters
    ----------
    criterion : {"bge", "bic", "ebic"}, Criterion or None, default=None
        Its exponential is the marginal likelihood of a network: exactly with `BGe`,
        approximately with `BIC` and `EBIC`, with a warning. Others are refused, unless one of
        your own sets ``Criterion.marginal_likelihood``. None means "bge" for a table, and the
        criterion of the LocalScores if `fit` is given those. The `alpha_w` of a `BGe` may be 1e4 at
        most, as rounding errors of the scores grow with it.
    method : {"exact", "sampling", "auto"}, default="exact"
        "exact" sums over all networks, and raises an error if that does not fit in memory: with
        more than about 28 columns whose order is free. "sampling" draws networks by Markov chains,
        for up to a hundred columns; the probabilities are estimates then, with standard errors, and
        a warning says if the chains have not agreed. "auto" samples, with a warning, where sums do
        not fit in memory, or would take hours.
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
    targets : {"soft", "hard"} or None, default=None
        For rows from several environments, of which it is not known what each changed, as for
        `GaussianBNLearner`: the sums are over networks and targets together.
    reference : hashable, None or False, default=None
        As in `GaussianBNLearner`. With False, that no two environments share a mechanism is one
        case, which is counted once.
    target_prior : float, default=1.0
        Prior odds that an environment changed a node, whatever it changed else. Without a
        reference, a case has the prior weight ``target_prior**k`` if all but k environments share
        the mechanism; k is n_environments - 1 if no two do.
    max_parents : int or None, default=None
        The largest number of parents; None stands for any number. With a small number, families
        are listed one by one if that is faster, so that in tiers there may be many columns.
    nodes : "auto", dict, array-like of shape (n_features,) or None, default=None
        Which columns make a node, as in `GaussianBNLearner`. None: each is one.
    missing : {"error", "augment"}, default="error"
        What to do with missing values. "augment" averages over draws of them: four Markov chains
        complete the table, sum over all networks of the completed table (or sample them, by
        `method`), draw one of these and its parameters, and by them complete the table anew.
        Values must be missing at random. A row that counts twice is completed twice.
    n_imputations : int, default=20
        How many completed tables are averaged, a quarter from each chain, whose first 10 tables are
        left out. Each takes as long as a fit.
    n_chains : int, default=4
        How many Markov chains sample, at least 2. A third of them, but at least one, begin with
        random networks, the others with networks that searches have found.
    n_samples : int, default=2000
        How many states of each chain are kept, at least 100. Before them each chain goes through
        nearly half as many, to learn which columns to move together.
    time_limit : float or None, default=None
        How long the chains run, in seconds, instead of `n_samples`; with missing values, for each
        completed table. Ctrl-C ends them earlier.
    random_state : int, RandomState, Generator or None, default=None
        The seed of draws of missing values, and of Markov chains.
    required_edges : collection of (parent, child), table or networkx.DiGraph, default=None
        Edges that every network has: all else is conditional on them. This and the next three are
        as in `GaussianBNLearner`.
    forbidden_edges : collection of (parent, child), table or networkx.DiGraph, default=None
    tiers : collection of collections of columns, dict of title to collection, or None
    exogenous : list of columns, or None, default=None
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
        At [i, j], the posterior probability of the edge i -> j: with missing values, its mean over
        the completed tables; by sampling, over the states of all chains.
    edge_standard_errors_ : ndarray of shape (m, m), float64
        Only by sampling or with missing values: the Monte-Carlo standard errors of these means.
        Each is the larger of the error by the spread between chains and the error by the spread
        within them, multiplied by one factor for all edges, by which these vary more between
        chains; and at least 1 over the usual effective sample size, also for edges in no state.
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
        Only with missing values: the completed tables, without rows that have no value; a row of
        weight 2 is there twice. With `nodes` they are objects, with levels of categories.
    path_probabilities_ : ndarray of shape (m, m), float64
        At [i, j], the probability of a directed path from i to j. Only with the uniform prior;
        with the order prior, `probability` estimates one. With more than 20 columns, or if memory
        is short, NaN if knowledge alone decides which of the two may come first in an order.
    log_evidence_ : float
        The logarithm of the marginal likelihood of the table, in nats: the mean over all networks,
        weighted by their prior. Not by sampling, nor with missing values.
    structure_prior_ : {"uniform", "order"}
    median_network_ : GaussianBayesianNetwork
        The best network of the pairs that are joined with a probability above 1/2, in either
        direction, with fitted parameters. Its directions are those with the highest score, and
        among equal scores the most probable; in connected parts of more than 18 columns, those of a
        local search, which the graph's attribute `directions` says. Pairs that no network within
        the constraints joins together are left out, the least probable first.
    dag_ : networkx.DiGraph
        Its graph, each edge with the `probability` of its direction and of being `joined`, its
        `weight` and `standardised_weight`.
    criterion_ : Criterion
    local_scores_ : LocalScores
    posterior_ : NetworkPosterior, SampledPosterior or, with missing values, AugmentedPosterior
        The sums over networks, or samples. They take most of the memory, also of a pickle.
    targets_ : list of tuple
        As in `GaussianBNLearner`.
    target_probabilities_ : ndarray of shape (n_environments - 1, m), float64
        Only with `targets`: how probable it is that each environment but the reference changed each
        node; NaN for exogenous columns. With ``reference=False`` it has n_environments rows: how
        probable it is that each environment shares the node's mechanism with no other.
    environments_ : list of hashable
        Only with `targets`: the environments, the reference first.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (m,)
        Only if the columns have names.

    See Also
    --------
    GaussianBNLearner : The one best network.
    BootstrapBNLearner : Support by resamples, for any learner.
    skbn.io.to_arviz : Its draws for ArviZ.

    Notes
    -----
    The order prior is summed as by Koivisto and Sood (2004), "Exact Bayesian structure discovery
    in Bayesian networks", in ``O(m 2**m)`` steps; the uniform prior as by Tian and He (2009),
    "Computing posterior probabilities of structural features in Bayesian networks", in
    ``O(3**m)``. In tiers, the order prior counts the orders within each tier.

    The chains move over ordered partitions of the columns (Kuipers and Moffa 2017, "Partition MCMC
    for inference on acyclic digraphs"): a move draws the places of one to three columns jointly and
    exactly, or the parents of two to six columns in a network of it. With more than about 20
    columns, the tables have 6 or more fixed candidates for the parents of each column and 4 or more
    random ones, which change. Families with more parents outside the fixed ones are left out, and a
    warning says if that may matter.

    With many holes, a completed table depends much on the one before it: raise `n_imputations` if
    `edge_standard_errors_` are large.

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
        "method": [StrOptions({"exact", "sampling", "auto"})],
        "structure_prior": [StrOptions({"auto", "uniform", "order"})],
        "missing": [StrOptions({"error", "augment"})],
        "n_imputations": [Interval(Integral, 1, None, closed="left")],
        "n_chains": [Interval(Integral, 2, None, closed="left")],
        "n_samples": [Interval(Integral, 100, None, closed="left")],
        "targets": TARGET_CONSTRAINTS["targets"],
        "target_prior": [Interval(Real, 1e-100, 1e100, closed="both")],
        "edge_prior": [Interval(Real, 0, None, closed="left"), "array-like", None],
    }

    criterion: str | Criterion | None = None
    _: KW_ONLY
    method: str = "exact"
    structure_prior: str = "auto"
    edge_prior: Any = None
    targets: str | None = None
    reference: Any = None
    target_prior: float = 1.0
    n_imputations: int = 20
    n_chains: int = 4
    n_samples: int = 2000
    structure_prior_: str = field(init=False)
    edge_probabilities_: Floats = field(init=False)
    path_probabilities_: Floats = field(init=False)
    edge_standard_errors_: Floats = field(init=False)
    r_hat_: Floats = field(init=False)
    effective_sample_sizes_: Floats = field(init=False)
    chain_edge_probabilities_: Floats = field(init=False)
    n_samples_: int = field(init=False)
    target_probabilities_: Floats = field(init=False)
    environments_: list[Any] = field(init=False)
    median_network_: GaussianBayesianNetwork = field(init=False)
    local_scores_: LocalScores = field(init=False)
    posterior_: NetworkPosterior | AugmentedPosterior | SampledPosterior = field(init=False)

    @fit_method
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        interventions: Any = None,
        *,
        environments: Any = None,
    ) -> Self:
        """Sum over all networks, or sample them.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or LocalScores
            As for `GaussianBNLearner.fit`, and so are the others. Standardise the columns for
            `BGe`, whose score depends on their units.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
        interventions : data frame or array-like of bool, or sequence of length n_samples, optional
            With `BGe` and nu=None, the prior mean of each family is that of the rows that count for
            it.
        environments : array-like of shape (n_samples,), optional
            With `BGe` and nu=None, all environments have one prior mean, that of all rows.

        Returns
        -------
        self : GaussianBNPosterior

        Raises
        ------
        ValueError, TypeError
            As `GaussianBNLearner.fit`; if the criterion's exponential is no marginal likelihood;
            if the local scores differ by too much for extended floats to hold their exponentials;
            if values are missing and a column has none, two columns are never observed together,
            or a weight is no whole number.
        RuntimeError
            If sums that must be equal are not: a defect of the library or of the machine.

        Warns
        -----
        skbn.exceptions.OrderPriorWarning, skbn.exceptions.SamplingWarning
            If "auto" does not take the uniform prior, or the exact method.
        sklearn.exceptions.ConvergenceWarning
            If Markov chains have not agreed, naming the edges in which they differ most.
        skbn.exceptions.ApproximateEvidenceWarning
            If the criterion only approximates the marginal likelihood.
        skbn.exceptions.DataWarning
            If the table may not suit the model; a `MissingValuesWarning` if rows have no value.
        """
        scores = read_scores(self, X, sample_weight, interventions)
        if not isinstance(scores, LocalScores):
            raise TypeError(
                f"{type(scores).__name__} leave families out that a posterior needs. Pass the "
                "table, or its LocalScores."
            )
        scores = self._with_environments(scores, environments)
        answers.check_evidence(scores)
        constraints, log_odds = with_edge_prior(
            constraints_of(self, scores), self.edge_prior, scores.columns
        )
        table = None if isinstance(scores, SummedScores) else scores
        observed = None
        if table is not None and not table.sample.is_complete:
            scores = table = scores_to_complete(table, constraints)
            observed = table.sample
        resources = resources_of(self)
        posterior: NetworkPosterior | AugmentedPosterior | SampledPosterior
        random_state = self.random_state
        if observed is not None:
            random_state = random_generator(random_state)  # one for all completed tables
        complaints: list[str] = []
        posterior_of = partial(self._posterior_of, log_odds, random_state, complaints)
        if table is None or observed is None:
            problem = problem_of(scores, constraints)
            posterior = posterior_of(problem, resources)
        else:
            posterior = augmented_posterior(
                table,
                constraints,
                resources,
                posterior_of=posterior_of,
                n_tables=self.n_imputations,
                random_state=random_generator(random_state),
            )
            scores = table = table._with_sample(posterior.stacked())
            problem = problem_of(scores, constraints)
        if complaints:
            warn(complaints[-1], ConvergenceWarning)
        if self.structure_prior == "auto" and posterior.prior == "order":
            warn(
                "structure_prior='auto' took the order prior, which favours networks with few "
                "edges: the uniform prior takes too long, or too much memory. Set structure_prior "
                "to 'order' to accept this, leave out columns, or give tiers of fewer columns.",
                OrderPriorWarning,
            )
        network = answers.median_network(problem, posterior.edges, log_odds, observed is None)
        learned = self._learned(scores, posterior, resources)
        if self.targets is not None:
            problem = problem.known(network._graph.parents)
        # In one step, since other threads may read the estimator meanwhile.
        self.__dict__.update(
            learned,
            posterior_=posterior,
            local_scores_=scores,
            structure_prior_=posterior.prior,
            edge_probabilities_=posterior.edges.copy(),
            median_network_=network,
            criterion_=scores.criterion,
            targets_=targets_of(problem),
        )
        if table is not None and table.sample.has_rows:
            warn_about_data(network._model(), problem.scorer, observed)
        return self

    def _with_environments(self, scores: LocalScores, environments: Any) -> LocalScores:
        """Return the scores that add up all targets, if environments are given."""
        found: Any = with_environments(self, scores, environments, -math.log(self.target_prior))
        if found is scores:
            return scores
        if self.method != "exact":
            raise ValueError(
                f"method={self.method!r} does not work with environments yet. Leave method at "
                "'exact'."
            )
        return found.with_sums()

    def _learned(self, scores: Any, posterior: Any, resources: Resources) -> dict[str, Any]:
        """Return the attributes that only some kinds of posteriors have."""
        learned = {} if isinstance(posterior, NetworkPosterior) else posterior.estimates
        if posterior.paths is not None:
            learned["path_probabilities_"] = posterior.paths.copy()
        if self.targets is not None:
            shares = target_probabilities(scores.scorer, posterior, resources)
            learned |= {
                "environments_": [*scores.scorer.environments.names],
                "target_probabilities_": shares,
            }
        return learned

    def _posterior_of(
        self,
        log_odds: Floats | None,
        random_state: int | Random | None,
        complaints: list[str],
        problem: Problem,
        resources: Resources,
    ) -> NetworkPosterior | SampledPosterior:
        """Return the posterior of the networks of a complete table: sums, or samples.

        If chains have not agreed, that is added to the complaints.
        """
        if not self._samples(problem, resources):
            uniform = " and structure_prior to 'auto'" if self.structure_prior == "order" else ""
            return network_posterior(
                problem,
                resources,
                prior=self.structure_prior,
                log_odds=log_odds,
                instead=[f"set method to 'sampling'{uniform}, for estimates by Markov chains"],
            )
        seed = np.random.SeedSequence(random_seeds(random_generator(random_state), 4))
        settings = ChainSettings(self.n_chains, self.n_samples, seed)
        posterior = sampled_posterior(
            problem, replace(resources, time_limit=self.time_limit), settings, log_odds
        )
        complaint = posterior.complaint(problem.names)
        complaints += [complaint] if complaint else []
        return posterior

    def _samples(self, problem: Problem, resources: Resources) -> bool:
        """Whether to sample; "auto" does so, with a warning, where sums do not fit in memory."""
        if self.method == "exact":
            return False
        is_automatic = self.method == "auto"
        if is_automatic and sums_fit(problem.read(), self.structure_prior, resources):
            return False
        if self.structure_prior == "order":
            raise ValueError(
                "structure_prior='order' was asked for, but Markov chains draw networks with the "
                "uniform prior. Leave structure_prior at 'auto', or set method='exact', which says "
                "what the sums need."
            )
        if is_automatic:
            warn(
                "method='auto' took method='sampling': sums over the networks of "
                f"{len(problem.names)} columns take too much memory, or too long. The "
                "probabilities are estimates, with edge_standard_errors_. Set method to 'sampling' "
                "to accept this.",
                SamplingWarning,
            )
        return True

    @property
    def log_evidence_(self) -> float:
        """The logarithm of the marginal likelihood of the table, in nats."""
        check_is_fitted(self)
        return self.posterior_.log_evidence

    def _known(self, what: str, kinds: Any = NetworkPosterior | SampledPosterior) -> Any:
        """Return the posterior if it is of some kind, by default of one table; raise otherwise."""
        check_is_fitted(self)
        posterior: Any = self.posterior_
        if not isinstance(posterior, kinds):
            raise ValueError(f"{what} is not known {posterior.why_no_sums}")
        return posterior

    # Families and networks

    def predict(self, X: Any = None, *, fdr: float | None = None, directed: bool = True) -> Any:
        """Return the median network's graph, or the edges of a false discovery rate.

        Parameters
        ----------
        X : array-like, data frame or LocalScores, optional
            Must have the columns of `fit`; not used otherwise.
        fdr : float, optional
            Between 0 and 1: the largest expected share of false edges. The graph then has the
            largest set of edges whose mean probability of not existing is at most this.
        directed : bool, default=True
            Whether an edge is false if it points the other way. Otherwise the graph has pairs
            joined in either direction.

        Returns
        -------
        graph : networkx.DiGraph, or networkx.Graph if not directed
            With `fdr`, edges have the attribute `probability`, or `joined` for pairs. The graph's
            attribute `expected_fdr` is the expected share of false ones. `is_acyclic` says whether
            directed edges are free of cycles, as edges that are probable one by one need not be.

        Raises
        ------
        ValueError, TypeError
            If X is not a table of these columns; if `fdr` is not between 0 and 1.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import StandardScaler
        >>> from skbn import GaussianBNPosterior
        >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
        >>> scaler = StandardScaler().set_output(transform="pandas")
        >>> posterior = GaussianBNPosterior().fit(scaler.fit_transform(wine))
        >>> found = posterior.predict(fdr=0.12)
        >>> list(found.edges), round(found.graph["expected_fdr"], 3), found.graph["is_acyclic"]
        ([('alcohol', 'proline'), ('hue', 'proline')], 0.112, True)
        >>> list(posterior.predict(fdr=0.12, directed=False).edges)
        [('alcohol', 'proline'), ('proline', 'hue')]
        """
        graph = super().predict(X)
        if fdr is None:
            return graph if directed else graph.to_undirected()
        names, attributes = self.local_scores_.columns, ("probability", "joined", "expected_fdr")
        return edges_of_fdr(names, self.posterior_.edges, fdr, directed, attributes)

    def to_frame(self) -> Any:
        """Return the probabilities of each pair of columns.

        Returns
        -------
        table : pandas.DataFrame, or a table as a dict of lists without pandas
            A row for each pair, the most probably joined ones first:

            - `parent` and `child`, in the direction of the more probable edge, or in column order
              if both are as probable;
            - `joined`, the probability of an edge in either direction;
            - `probability` of the edge parent -> child, and `reverse`, that of child -> parent;
            - `standard_error` and `reverse_standard_error` of these two, where they are estimates;
            - `path` and `reverse_path`, the probabilities of a directed path and of one back, as
              far as there are `path_probabilities_`.

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
        return frame_of(answers.pair_columns(columns, posterior.edges, posterior.paths, errors))

    def targets_to_frame(self) -> Any:
        """Return the probability that each environment changed each node.

        Returns
        -------
        table : pandas.DataFrame, or a table that converts to one if pandas is not installed
            With the columns `environment`, `node` and `probability`, the most probable first.

        Raises
        ------
        ValueError
            After a fit without environments.

        Examples
        --------
        >>> import numpy as np
        >>> from skbn import GaussianBNPosterior
        >>> rng = np.random.default_rng(0)
        >>> site = np.repeat(["a", "b"], 50)
        >>> cause = rng.normal(size=100) + (site == "b")
        >>> rows = np.stack([cause, cause + rng.normal(size=100)], axis=1)
        >>> posterior = GaussianBNPosterior(targets="soft").fit(rows, environments=site)
        >>> posterior.targets_to_frame().round(2)
          environment  node  probability
        0           b     0          1.0
        1           b     1          0.0
        """
        check_is_fitted(self)
        if "target_probabilities_" not in vars(self):
            raise ValueError(
                "The posterior was fitted without environments. Set targets to 'soft' or 'hard', "
                "and give fit the environments of the rows."
            )
        shares, columns = self.target_probabilities_, self.local_scores_.columns
        at = sorted(np.argwhere(~np.isnan(shares)).tolist(), key=lambda place: -shares[*place])
        return frame_of(
            {
                "environment": [self.environments_[e - len(shares)] for e, _ in at],
                "node": [columns[x] for _, x in at],
                "probability": [float(shares[e, x]) for e, x in at],
            }
        )

    def parent_set_probabilities(self, child: str | int, k: int = 10) -> ProbableParentSets:
        """Return the k most probable sets of parents of a column.

        Parameters
        ----------
        child : str or int
            A column, by name or number.
        k : int, default=10
            The number of sets; sets of probability 0 are left out.

        Returns
        -------
        parent_sets : list of ProbableParents
            Named tuples of `parents` and `probability`, the most probable first, shown as a table.

        Raises
        ------
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
        posterior = self._known("The probability of a set of parents")
        x = column_number(self.local_scores_.columns, child)
        if posterior.constraints.exogenous >> x & 1:
            raise ValueError(f"Column {readable_value(child)} is exogenous and has no parents.")
        return answers.parent_set_probabilities(posterior, self.local_scores_.columns, child, k)

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
        ValueError, TypeError
            If it is no acyclic directed graph, or its nodes are not the columns.

        Examples
        --------
        >>> from skbn import GaussianBNPosterior
        >>> posterior = GaussianBNPosterior().fit([[0, 0], [1, 2], [2, 5], [3, 5]])
        >>> round(posterior.log_probability(posterior.predict()), 3)
        -0.704
        """
        posterior = self._known("The probability of a network", NetworkPosterior)
        return answers.log_probability(posterior, self.local_scores_, dag)

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

    def _sampled(self, n_samples: int, random_state: Any) -> Integers:
        """Return the masks of each column's parents in sampled networks, (n_samples, m)."""
        check_is_fitted(self)
        n_samples = as_integer(n_samples, "n_samples", least=1)
        random_state = random_generator(random_state)
        if not isinstance(self.posterior_, NetworkPosterior):
            return self.posterior_.sampled(n_samples, random_state)
        rng = np.random.default_rng(random_seeds(random_state, 4))
        return sample_networks(self.posterior_, n_samples, rng, self.n_jobs)

    def sample_networks(
        self, n_samples: int = 1, random_state: Any = None
    ) -> list[GaussianBayesianNetwork]:
        """Draw networks from the posterior, with parameters from theirs.

        That is normal-Wishart with `BGe`, and the posterior under a flat prior with `BIC`.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        networks : list of GaussianBayesianNetwork

        Raises
        ------
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
        return self._drawn(n_samples, random_generator(random_state), with_parameters)

    def _drawn(
        self, n_samples: int, rng: Random, draw: DrawParameters
    ) -> list[GaussianBayesianNetwork]:
        n_samples = as_integer(n_samples, "n_samples", least=1)
        if isinstance(self.posterior_, AugmentedPosterior):
            return self.posterior_.networks(n_samples, rng, draw)
        parents = self._sampled(n_samples, rng)
        return draw(self.local_scores_, parents, rng, self.posterior_.constraints.exogenous)

    def _networks(self, n: int, rng: Random) -> tuple[list[GaussianBayesianNetwork], str]:
        check_is_fitted(self)
        networks = self._drawn(n, rng, with_predictive_parameters)
        return networks, f"{n} networks drawn from the posterior"

    def probability(
        self, feature: Callable[[nx.DiGraph], Any], n_samples: int = 1000, random_state: Any = None
    ) -> answers.EstimatedProbability:
        """Estimate the probability of a feature of networks, or the mean of a number, by samples.

        Parameters
        ----------
        feature : callable
            Called with the networkx.DiGraph of each sampled network; returns a bool or a number.
        n_samples : int, default=1000
            At least 2.
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        estimate : named tuple
            Its `value`, `standard_error`, by the spread of the samples (or of batches of states and
            of chains), and `n_samples`.

        Raises
        ------
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
        posterior = self._known("The standard error of a probability")
        answers.require_two(n_samples)
        answers.require_feature(feature)
        parents = self._sampled(n_samples, random_state)
        columns = self.local_scores_.columns
        n_chains = chains_to_compare(posterior.n_chains, len(parents))
        return answers.estimated_probability(feature, columns, parents, n_chains)

    # Effects

    def effect(
        self, cause: Any, outcome: Any, *, n_samples: int = 10_000, random_state: Any = None
    ) -> effect_estimates.EffectEstimate:
        """Return the posterior of the total effect of do(cause) on an outcome.

        It averages over all networks and their parameters, by the samples that `sample_networks`
        draws with the same `random_state`. For many pairs, `effects` draws only once.

        Parameters
        ----------
        cause, outcome : str or int
            Two columns, by name or number. For an intervention on several columns at once, the
            cause is a dict of them, as in `GaussianBayesianNetwork.effect`.
        n_samples : int, default=10_000
            At least 2. The standard error of the mean falls with its square root.
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        effect : EffectEstimate
            Its mean, standard deviation and quantiles, and the probability that there is no effect,
            which is exact where `path_probabilities_` is.

        Raises
        ------
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
        given                       the posterior
        no effect                           0.504
        mean                                0.561
        standard error of the mean          9e-06
        standard deviation                  0.571
        95 % interval                    0 to 1.3
        """
        check_is_fitted(self)
        if isinstance(cause, Mapping):
            answers.require_two(n_samples)
            asked = effect_estimates.read_intervention(self._known_nodes, cause, outcome)
            if len(asked.causes) == 1:
                pair = [asked.change], [asked.reading]
                return self._effects(*pair, n_samples, random_state)._effect(0, 0)
            networks = self.sample_networks(n_samples, random_state)
            found = [network._effect_of(asked) for network in networks]
            parts = [each._replace(errors=np.zeros(1)) for each in found]
            return effect_estimates.mixture(
                asked, parts, f"the posterior, by {len(parts):,} networks"
            )
        number_of = partial(column_number, self.local_scores_.columns)
        change, reading = change_and_reading(self._known_nodes, cause, outcome, number_of)
        return self._effects([change], [reading], n_samples, random_state)[cause, outcome]

    def path_effects(
        self, cause: Any, outcome: Any, *, n_samples: int = 1000, random_state: Any = None
    ) -> effect_estimates.PathEffects:
        """Return through what a cause acts: the effects along all directed paths, by samples.

        Parameters
        ----------
        cause, outcome : as in `effect`, by name
        n_samples : int, default=1000
            At least 2, as `sample_networks` draws them with the same `random_state`.
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        effects : PathEffects
            Of each path and each node between, and `total`, `direct` and `indirect` ones.

        Raises
        ------
        ValueError, TypeError
            As `effect`; if a sampled network has more than 100,000 paths.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import GaussianBNPosterior
        >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "color_intensity"]]
        >>> posterior = GaussianBNPosterior().fit((wine - wine.mean()) / wine.std())
        >>> posterior.path_effects("color_intensity", "proline", random_state=0)
        Effect of do(color_intensity) on proline: 0.108, 88 % mediated; 4 paths
        path                                          present      mean  95 % interval  share
        color_intensity -> alcohol -> proline            0.28    0.0982     0 to 0.424   0.91
        color_intensity -> proline                      0.056    0.0125     0 to 0.239   0.12
        color_intensity -> hue -> proline               0.009  -0.00264         0 to 0  -0.02
        color_intensity -> alcohol -> hue -> proline    0.001  9.75e-05         0 to 0   0.00
        """
        check_is_fitted(self)
        answers.require_two(n_samples)
        networks = self.sample_networks(n_samples, random_state)
        models = [network._model() for network in networks]
        source = f"the posterior, by {n_samples:,} networks"
        return effect_estimates.path_estimates(models, networks[0]._blocks, cause, outcome, source)

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
            ``effects[cause, outcome]`` is what `effect` returns with the same `random_state`;
            ``effects.mean`` and its like are arrays, ``effects.to_frame()`` is a table.

        Raises
        ------
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
        check_is_fitted(self)
        changes, readings = (f(self._known_nodes) for f in (all_changes, all_readings))
        return self._effects(changes, readings, n_samples, random_state)

    @property
    def _known_nodes(self) -> Nodes:
        """The nodes, and which columns stand for each."""
        nodes: Nodes = self.local_scores_.scorer.nodes
        return nodes

    def _effects(
        self,
        causes: list[Combination],
        outcomes: list[Combination],
        n_samples: int,
        random_state: Any,
    ) -> TotalEffects:
        answers.require_two(n_samples)
        random_state = random_generator(random_state)
        tables, paths = self._sampled_tables(n_samples, random_state)
        return total_effects(tables, self._known_nodes, causes, outcomes, paths, random_state)

    def _sampled_tables(
        self, n_samples: int, random_state: Random
    ) -> tuple[list[SampledNetworks], KnownPaths]:
        """Return sampled networks with the tables that they are of, and what is known of paths."""
        posterior = self.posterior_
        if isinstance(posterior, AugmentedPosterior):
            tables = posterior.sampled_tables(as_integer(n_samples, "n_samples"), random_state)
            return tables, posterior.paths_of(tables)
        scorer, parents = self.local_scores_.scorer, self._sampled(n_samples, random_state)
        known = posterior.known_paths
        n_chains = chains_to_compare(posterior.n_chains, len(parents))
        batches = Batches.of_chains(len(parents), n_chains)
        tables = [SampledNetworks(scorer.group_statistics, scorer.criterion, parents)]
        return tables, KnownPaths(known, np.zeros(known.shape), batches)

    # Prediction

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, interventions: Any = None
    ) -> float:
        """Return the mean log posterior predictive density of rows, in nats.

        The density of new rows, given those of `fit`, averaged over all networks and parameters:
        the evidence of all rows divided by that of the rows of `fit`. It takes as long as a fit.

        After a fit to missing values, to interventions, to nodes of several columns or by sampling,
        the density is estimated, as the mean over 1000 networks sampled with the seed
        `random_state`. Values that are missing in X are integrated out.

        Parameters
        ----------
        X : array-like, data frame or LocalScores of shape (n_samples, n_features)
            The columns of `fit`. Values may be missing after a fit with ``missing="augment"``.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        interventions : data frame or array-like of bool, or sequence of length n_samples, optional
            As in `fit`. The density of a row is then that of the other columns, given those that
            were set.

        Returns
        -------
        score : float

        Raises
        ------
        ValueError, TypeError
            If X is not a table of these columns, or the weights or interventions do not match its
            rows; if the criterion is not `BGe`: others are no densities of rows.

        Warns
        -----
        skbn.exceptions.SamplingWarning
            If an estimate rests on a few of the drawn networks, as it may for many rows.

        Examples
        --------
        >>> from skbn import GaussianBNPosterior
        >>> posterior = GaussianBNPosterior().fit([[0, 0], [1, 2], [2, 5], [3, 5]])
        >>> round(posterior.score([[1, 2], [2, 4]]), 3)
        -1.772
        """
        check_is_fitted(self)
        answers.require_density(self.local_scores_.criterion)
        if isinstance(self.local_scores_, EnvironmentScores):
            _ = self.local_scores_.scorer.group_statistics  # raises: there is no one density
        sample, is_set = self._sample_and_set(X, sample_weight, interventions)
        posterior, scores, nodes = self.posterior_, self.local_scores_, self._known_nodes
        is_plain = is_set is None and sample.is_complete and nodes.are_columns
        is_plain &= not scores.sample.is_experiment
        if is_plain and isinstance(posterior, NetworkPosterior):
            known = posterior, scores, sample
            return answers.mean_log_predictive_density(*known, resources_of(self))
        rng, own = random_generator(self.random_state), self.median_network_._own_columns(sample)
        of_columns = None if is_set is None else nodes.by_column(is_set)
        outside = self.median_network_._graph.exogenous
        if sample.is_complete:
            modelled = [x for x in range(len(nodes.names)) if x not in outside]
            tables, _ = self._sampled_tables(_DENSITY_DRAWS, rng)
            found = [
                answers.densities_given_networks(t, nodes, modelled, own, is_set) for t in tables
            ]
            logs = np.concatenate(found)
        else:
            models = [each._model() for each in self.sample_networks(_DENSITY_DRAWS, rng)]
            logs = answers.densities_given_parameters(models, own, of_columns)
        counts = have_density(own, own.rows, nodes.columns_of(outside), of_columns)
        n = float(counts.sum() if own.weight is None else own.weight[counts].sum())
        return answers.log_of_mean(logs) / n

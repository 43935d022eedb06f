"""GaussianBNPosterior: the posterior of the networks of a table, exact or sampled."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skbn._core.arrays import Floats, Random, random_seeds
from skbn._core.estimator import Interval, StrOptions, fit_method, random_generator
from skbn._core.resources import Resources
from skbn._core.text import warn
from skbn._estimators.fitting import (
    constraints_of,
    read_scores,
    resources_of,
    targets_of,
)
from skbn._estimators.posterior_answers import PosteriorAnswers
from skbn._networks.diagnostics import warn_about_data
from skbn._posterior.answers import check_evidence, median_network
from skbn._posterior.augmentation import (
    AugmentedPosterior,
    augmented_posterior,
    scores_to_complete,
)
from skbn._posterior.network_posterior import NetworkPosterior, network_posterior
from skbn._posterior.plan import sums_fit
from skbn._posterior.prior import with_edge_prior
from skbn._posterior.sampled_posterior import (
    ChainSettings,
    SampledPosterior,
    sampled_posterior,
)
from skbn._scores.criteria import Criterion
from skbn._scores.local_scores import LocalScores
from skbn._scores.summed_scores import SummedScores
from skbn._solver.problem import Problem
from skbn._solver.solve import problem_of
from skbn.exceptions import OrderPriorWarning, SamplingWarning


class GaussianBNPosterior(PosteriorAnswers):
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
        With ``method="sampling"`` Markov chains take the place of the sum, for each table. A row
        that counts twice is completed twice, and indicators of categories are drawn as the model
        has them, as Gaussian numbers.
    n_imputations : int, default=20
        How many completed tables are averaged, after 10 that are not. Each takes as long as a fit.
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
        By sampling, the larger of those by batches of states and those by the spread of chains;
        of an edge in no state, or in all, one part in the usual effective sample size.
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
        Only with missing values: the completed tables, without rows that have no value; a row of
        weight 2 is there twice. With `nodes` they are objects, with the nearest levels.
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
    _allowed_values: ClassVar[dict[str, Any]] = {
        **PosteriorAnswers._allowed_values,
        "method": [StrOptions({"exact", "sampling", "auto"})],
        "structure_prior": [StrOptions({"auto", "uniform", "order"})],
        "missing": [StrOptions({"error", "augment"})],
        "n_imputations": [Interval(Integral, 1, None, closed="left")],
        "n_chains": [Interval(Integral, 2, None, closed="left")],
        "n_samples": [Interval(Integral, 100, None, closed="left")],
        "edge_prior": [Interval(Real, 0, None, closed="left"), "array-like", None],
    }

    structure_prior_: str
    edge_probabilities_: Floats
    path_probabilities_: Floats
    edge_standard_errors_: Floats
    r_hat_: Floats
    effective_sample_sizes_: Floats
    chain_edge_probabilities_: Floats
    n_samples_: int

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
            or a weight is no whole number.
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
        scores = read_scores(self, X, sample_weight, interventions)
        if not isinstance(scores, (LocalScores, SummedScores)):
            raise TypeError(
                f"{type(scores).__name__} leave families out that a posterior needs. Pass the "
                "table, or its LocalScores."
            )
        check_evidence(scores)
        constraints, log_odds = with_edge_prior(
            constraints_of(self, scores), self.edge_prior, scores.columns
        )
        table = scores if isinstance(scores, LocalScores) else None  # None for a sum of tables
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
                "structure_prior='auto' took the order prior, which favours networks with "
                "few edges: for this many columns the uniform prior takes too long, or too much "
                "memory. Set structure_prior to 'order' to accept this, or leave out columns or "
                "give tiers of fewer columns for the uniform prior.",
                OrderPriorWarning,
            )
        network = median_network(problem, posterior.edges)
        learned = {} if isinstance(posterior, NetworkPosterior) else posterior.estimates
        if posterior.paths is not None:
            learned["path_probabilities_"] = posterior.paths.copy()
        # In one step, for threads that read the estimator meanwhile.
        self.__dict__.update(
            learned,
            posterior_=posterior,
            local_scores_=scores,
            structure_prior_=posterior.prior,
            edge_probabilities_=posterior.edges.copy(),
            median_network_=network,
            dag_=network.dag.copy(),
            criterion_=scores.criterion,
            targets_=targets_of(problem),
        )
        if table is not None and table.sample.has_rows:
            warn_about_data(network._model(), problem.scorer, observed)
        return self

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
        if self.method == "sampling":
            if self.structure_prior == "order":
                raise ValueError(
                    "structure_prior='order' was asked for, but method='sampling' draws networks "
                    "with the uniform prior. Leave structure_prior at 'auto'."
                )
            return True
        if sums_fit(problem.read(), self.structure_prior, resources):
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

"""What users ask of a posterior: probabilities, samples, effects and predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from skbn._chains.convergence import chains_to_compare
from skbn._core.arrays import Random, as_integer, random_seeds
from skbn._core.columns import column_number
from skbn._core.estimator import random_generator
from skbn._core.graphs import dag_of
from skbn._core.text import readable_value
from skbn._data.nodes import Nodes
from skbn._displays.frames import frame_of
from skbn._estimators.fitting import resources_of
from skbn._estimators.network_estimator import NetworkEstimator
from skbn._networks.effect_estimates import (
    EffectEstimate,
    PathEffects,
    mixture,
    path_estimates,
    read_intervention,
)
from skbn._networks.effects import Combination, all_changes, all_readings, change_and_reading
from skbn._networks.network import GaussianBayesianNetwork
from skbn._posterior.answers import (
    EstimatedProbability,
    densities_given_networks,
    densities_given_parameters,
    estimated_probability,
    log_of_mean,
    log_probability,
    mean_log_predictive_density,
    pair_columns,
    parent_set_probabilities,
    require_density,
    require_feature,
    require_two,
)
from skbn._posterior.augmentation import AugmentedPosterior
from skbn._posterior.effects import (
    Batches,
    EffectPosterior,
    KnownPaths,
    SampledNetworks,
    TotalEffects,
    total_effects,
)
from skbn._posterior.network_posterior import NetworkPosterior
from skbn._posterior.parameter_draws import with_parameters
from skbn._posterior.sampled_posterior import SampledPosterior
from skbn._posterior.sampling import sample_networks
from skbn._scores.local_scores import LocalScores
from skbn._scores.reprs import ProbableParentSets

# Networks by which a predictive density is estimated.
_DENSITY_DRAWS = 1000


class PosteriorAnswers(NetworkEstimator):
    """The methods of a fitted `GaussianBNPosterior`."""

    _network_name = "median_network_"
    median_network_: GaussianBayesianNetwork
    local_scores_: LocalScores
    posterior_: NetworkPosterior | AugmentedPosterior | SampledPosterior
    random_state: Any

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
            return self.posterior_.networks(
                as_integer(n_samples, "n_samples", least=1), random_state
            )
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
        cause: Any,
        outcome: Any,
        *,
        n_samples: int = 10_000,
        random_state: Any = None,
    ) -> EffectPosterior | EffectEstimate:
        """Return the posterior of the total effect of do(cause) on an outcome.

        It averages over all networks and their parameters, by samples that are exact and
        independent of each other: those that `sample_networks` draws with the same
        `random_state`. For many pairs, `effects` draws only once.

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
        effect : EffectPosterior, or EffectEstimate for a dict
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
        check_is_fitted(self)
        if isinstance(cause, Mapping):
            require_two(n_samples)
            networks = self.sample_networks(n_samples, random_state)
            asked = read_intervention(networks[0]._blocks, cause, outcome)
            found = [network._effect_of(asked) for network in networks]
            parts = [each._replace(errors=np.zeros(1)) for each in found]
            return mixture(asked, parts, f"the posterior, by {len(parts):,} networks")
        number_of = partial(column_number, self.local_scores_.columns)
        change, reading = change_and_reading(self._known_nodes, cause, outcome, number_of)
        return self._effects([change], [reading], n_samples, random_state)[cause, outcome]

    def path_effects(
        self, cause: Any, outcome: Any, *, n_samples: int = 1000, random_state: Any = None
    ) -> PathEffects:
        """Return through what a cause acts: the effects along all directed paths, by samples.

        Parameters
        ----------
        cause, outcome : as in `effect`, by name
        n_samples : int, default=1000
            At least 2. The networks are those that `sample_networks` draws with the same
            `random_state`.
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        effects : PathEffects
            Its `total`, `direct` and `indirect` effects have intervals; `to_frame` has a row for
            each path, `mediators` one for each node between, and `mediated_share` is the part of
            the mean total effect that is indirect.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
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
        require_two(n_samples)
        networks = self.sample_networks(n_samples, random_state)
        models = [network._model() for network in networks]
        source = f"the posterior, by {n_samples:,} networks"
        return path_estimates(models, networks[0]._blocks, cause, outcome, source)

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
        check_is_fitted(self)
        changes, readings = (f(self._known_nodes) for f in (all_changes, all_readings))
        return self._effects(changes, readings, n_samples, random_state)

    @property
    def _known_nodes(self) -> Nodes:
        """The nodes, and which columns stand for each."""
        scores = self.local_scores_
        return scores.scorer.nodes or Nodes.of_single_columns(scores.columns)

    def _effects(
        self,
        causes: list[Combination],
        outcomes: list[Combination],
        n_samples: int,
        random_state: Any,
    ) -> TotalEffects:
        require_two(n_samples)
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
        the evidence of all rows divided by that of the rows of `fit`. Larger is better, so that
        a grid search chooses the prior that predicts held-out rows best. It takes as long
        as a fit.

        After a fit to missing values, to interventions, to nodes of several columns or by sampling,
        the density is estimated: it is the mean over 1000 sampled networks of the density given
        each, of which `random_state` is the seed. Values that are missing in X are integrated out,
        by the networks with drawn parameters.

        Parameters
        ----------
        X : array-like, data frame or LocalScores of shape (n_samples, n_features)
            The columns of `fit`. Values may be missing after a fit with ``missing="augment"``.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        interventions : data frame or array-like of bool, or sequence of length n_samples, optional
            Which columns an experimenter set in each row, as in `fit`. The density of a row is then
            that of the other columns, given those that were set.

        Returns
        -------
        score : float

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
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
        require_density(self.local_scores_.criterion)
        sample, is_set = self._sample_and_set(X, sample_weight, interventions)
        posterior, scores, nodes = self.posterior_, self.local_scores_, self._known_nodes
        is_plain = is_set is None and sample.is_complete and nodes.are_columns
        is_plain &= not scores.sample.is_experiment
        if is_plain and isinstance(posterior, NetworkPosterior):
            return mean_log_predictive_density(posterior, scores, sample, resources_of(self))
        rng, own = random_generator(self.random_state), self.median_network_._own_columns(sample)
        if sample.is_complete:
            outside = self.median_network_._exogenous_numbers()
            modelled = [x for x in range(len(nodes.names)) if x not in outside]
            tables, _ = self._sampled_tables(_DENSITY_DRAWS, rng)
            found = [densities_given_networks(t, nodes, modelled, own, is_set) for t in tables]
            logs = np.concatenate(found)
        else:
            models = [each._model() for each in self.sample_networks(_DENSITY_DRAWS, rng)]
            of_columns = None if is_set is None else nodes.by_column(is_set)
            logs = densities_given_parameters(models, own, of_columns)
        n = len(own.rows) if own.weight is None else float(own.weight.sum())
        return log_of_mean(logs) / n

"""BootstrapBNLearner: how often each edge is found again in resamples of the rows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import reduce
from numbers import Integral, Real
from operator import or_
from typing import Any, ClassVar, NamedTuple, Self

import networkx as nx
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skbn._core.arrays import F1, Floats, Integers, Random
from skbn._core.estimator import (
    Interval,
    answers_other_names,
    check_parameters,
    fit_method,
    listeners_of,
)
from skbn._core.resources import say
from skbn._core.subsets import members_of
from skbn._core.text import must_be, warn
from skbn._data.sample import Sample
from skbn._data.statistics import Groups
from skbn._data.table import Table, read_columns
from skbn._displays.display import fitted_network_and_table
from skbn._displays.notebook import frame_of
from skbn._estimators import fitting, resamples
from skbn._estimators.ensembles import EnsembleMixin, edges_of_fdr
from skbn._estimators.learner import GaussianBNLearner
from skbn._estimators.learner_cv import GaussianBNLearnerCV
from skbn._estimators.network_estimators import OneNetworkEstimator, SearchingEstimator
from skbn._estimators.resamples import Draws, plan_draws
from skbn._networks import effect_estimates as estimates
from skbn._networks import effects
from skbn._networks.diagnostics import warn_about_groups
from skbn._networks.effect_estimates import EffectEstimate, PathEffects
from skbn._networks.equivalence import compelled_parents, random_member
from skbn._networks.gaussian import LinearGaussianModel
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.base import BaseScores
from skbn._scores.criteria import BIC
from skbn._scores.local_scores import LocalScores
from skbn._solver.constraints import Constraints
from skbn._solver.problem import Problem
from skbn._solver.solve import problem_of
from skbn.exceptions import RepeatedRowsWarning

# From this many columns on, half-samples are the better and faster choice.
_MANY = 50
_FROM_0_TO_1 = Interval(Real, 0, 1, closed="both")


@answers_other_names
@dataclass(eq=False, repr=False)
class BootstrapBNLearner(EnsembleMixin, OneNetworkEstimator):
    """Learn a network from each of many resamples of the rows, and average these networks.

    The support of an edge is the share of the networks that have it. It says how stable the edge
    is under other samples of this size, and is not a probability of the edge: for that, see
    `GaussianBNPosterior`. The averaged network joins the pairs of columns that at least half of the
    resamples join, in either direction.

    Parameters
    ----------
    estimator : estimator, default=None
        What learns a network from a resample: None for `GaussianBNLearner()`, or any estimator
        whose `fit` takes `sample_weight` and which then has a `network_` or a `dag_`.
    n_resamples : int, default=200
        The number of resamples.
    sample_fraction : float, default=1.0
        How many rows a resample draws, as a share of the rows; above 0, up to 1.
    threshold : float or None, default=None
        The strength, from 0 to 1, above which `network_` joins two columns; None chooses it as in
        Scutari & Nagarajan (2013).
    replace : bool, default=True
        Whether a row can be drawn more than once for a resample. If not, `sample_fraction` must
        be less than 1.
    block_length : int or None, default=None
        For rows in order of time that depend on their neighbours: how many consecutive rows are
        drawn at once, less than the number of rows. None draws single rows, or the whole `groups`
        of `fit`.
    time_limit : float or None, default=None
        After how many seconds `fit` ends with the resamples that are done, with a warning. The
        search of a resample by the learners of this library ends then, too; other estimators, and
        fits in processes, finish the resample that they are at. If the fit to all rows takes
        longer, `fit` fails.
    from_all_rows : bool, default=True
        Whether a `GaussianBNLearner` with ``search="order"`` searches each resample from the
        network of all rows on, which takes a fraction of the time, or anew from several starts.
    random_state : int, RandomState, Generator or None, default=None
        A seed or a generator of numpy.random. With a number, each fit draws the same resamples. An
        order search is seeded by its own `random_state`, the same for all resamples; give both a
        number to find the same networks again. The estimator's own `time_limit` holds for each
        resample, and may leave networks unproven without a warning.
    n_jobs : int or None, default=None
        How many resamples are fitted at the same time, by joblib's rules: in threads, or by the
        backend that ``joblib.parallel_config`` chooses, such as processes ("loky") or a dask
        cluster. It does not change a bit of the result. Each fit takes one thread, unless
        `n_jobs` of the estimator says otherwise. With fewer than 18 columns the learners of this
        library are fitted one after the other, unless in processes.
    verbose : bool or int, default=False
        Whether to print the progress every few seconds, and then ever less often.

    Attributes
    ----------
    edge_support_ : ndarray of shape (`n_features_in_`, `n_features_in_`)
        ``edge_support_[i, j]`` is the share of the networks that have the edge i -> j. An edge
        that could as well be reversed counts one half in each direction.
    strength_ : ndarray of shape (`n_features_in_`, `n_features_in_`)
        The share of the networks in which an edge joins i and j, in either direction.
    direction_ : ndarray of shape (`n_features_in_`, `n_features_in_`)
        ``edge_support_ / strength_``: of the networks that join i and j, the share in which
        the edge is i -> j; 0 if none joins them.
    n_resamples_ : int
        How many resamples the fit has: `n_resamples`, or the first ones after `time_limit` or
        Ctrl-C.
    networks_ : list of GaussianBayesianNetwork
        The network of each resample, with the parameters of the resample.
    threshold_ : float
        `threshold`, or the one that was chosen.
    network_ : GaussianBayesianNetwork
        The averaged network with this threshold, with parameters fitted to all rows.
    dag_ : networkx.DiGraph
        Its graph. Its edges also have the attributes `support` and `strength`.
    estimator_ : estimator
        The estimator, fitted to all rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,) of str
        Only if all columns given to `fit` have strings for names.

    See Also
    --------
    GaussianBNPosterior : Gives edges probabilities, from a sum over all networks.

    Notes
    -----
    The bootstrap of networks is due to Friedman, Goldszmidt & Wyner (1999), "Data analysis with
    Bayesian networks: a bootstrap approach". The default threshold is that of Scutari & Nagarajan
    (2013), "Identifying significant edges in graphical models of molecular networks", which is the
    largest strength below 1/2.

    Each network counts as its equivalence class, given the constraints of its learner: directions
    that the scores cannot tell apart do not depend on the order of the columns.

    With `sample_weight`, rows are still drawn with equal probability, and a row that is drawn twice
    counts twice its weight. If a row of weight 3 stands for three observations, pass it three times
    instead.

    With `block_length` a resample is made of blocks of that many consecutive rows, whose first rows
    are drawn with equal probability from all rows that have a whole block ahead; the last block is
    cut where the resample has its number of rows. This is the moving-block bootstrap of Künsch
    (1989), "The jackknife and the bootstrap for general stationary observations". A block must be
    longer than the time over which rows depend on each other, and much shorter than the table.
    ``round(n ** (1 / 3))`` for n rows is the usual rule of thumb: the best length for a variance
    grows with this power (Hall, Horowitz & Jing 1995, "On blocking rules for the bootstrap with
    dependent data"). See whether half and twice the length give the same support. With `groups`, no
    block goes from one series to another.

    With `groups` and no `block_length`, a resample draws as many whole groups as there are, times
    `sample_fraction`: the cluster bootstrap (Davison & Hinkley 1997, "Bootstrap methods and their
    application", section 3.8). It needs some twenty groups or more.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import BootstrapBNLearner
    >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
    >>> bootstrap = BootstrapBNLearner(random_state=0).fit(wine)
    >>> for parent, child, support in bootstrap.dag_.edges(data="support"):
    ...     print(f"{parent} -> {child}: {support:.3f}")
    alcohol -> proline: 0.800
    proline -> ash: 0.345
    hue -> proline: 0.873
    """

    _allowed_values: ClassVar[dict[str, Any]] = {
        **OneNetworkEstimator._allowed_values,
        "n_resamples": [Interval(Integral, 1, None, closed="left")],
        "sample_fraction": [Interval(Real, 0, 1, closed="right")],
        "threshold": [_FROM_0_TO_1, None],
        "replace": ["boolean"],
        "from_all_rows": ["boolean"],
        "block_length": [Interval(Integral, 1, None, closed="left"), None],
    }
    estimator: Any = None
    _: KW_ONLY
    n_resamples: int = 200
    sample_fraction: float = 1.0
    threshold: float | None = None
    replace: bool = True
    block_length: int | None = None
    time_limit: float | None = None
    from_all_rows: bool = True
    random_state: int | Random | None = None
    n_jobs: int | None = None
    verbose: bool | int = False
    edge_support_: Floats = field(init=False)
    strength_: Floats = field(init=False)
    direction_: Floats = field(init=False)
    n_resamples_: int = field(init=False)
    estimator_: Any = field(init=False)
    networks_: list[GaussianBayesianNetwork] = field(init=False)
    threshold_: float = field(init=False)
    _support_: EdgeSupport = field(init=False)
    _all_rows_: AllRows = field(init=False)

    @fit_method
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        interventions: Any = None,
        stratify: Any = None,
        groups: Any = None,
    ) -> Self:
        """Fit the estimator to all rows and to each resample, and average the networks.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or LocalScores
            As the estimator takes it; with numbers in all columns, and in memory. Values may be
            missing if the estimator is a pipeline that fills them in. LocalScores need a
            GaussianBNLearner or a GaussianBNLearnerCV for the estimator.
        y : object, optional
            Passed to the estimator unless it is None.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts when it is drawn, as in `GaussianBNLearner.fit`. Rows of
            weight 0 are never drawn, and refused with `block_length`.
        interventions : data frame or array-like of bool, or sequence of length n_samples, optional
            Which columns an experimenter set in each row, as in `GaussianBNLearner.fit`.
        stratify : array-like of shape (n_samples,), optional
            A label for each row, such as the condition of an experiment. Each resample then draws
            as many rows of each label as X has, times `sample_fraction`. A Series is matched by its
            index.
        groups : array-like of shape (n_samples,), optional
            The person, or the series, that each row belongs to. Resamples draw whole groups, in
            which all rows have the same label of `stratify`; with `block_length`, they draw blocks
            of rows within them.

        Returns
        -------
        self : BootstrapBNLearner

        Raises
        ------
        ValueError, TypeError
            As the `fit` of the estimator, for all rows or for a resample, which may have a constant
            column, or too few different rows; if a resample would draw fewer than two rows, none of
            a label, or, without replacement, all of them; if `block_length` is not less than the
            number of rows, of all or of a group, or is given with `stratify`, ``replace=False`` or
            rows of weight 0; if there is a single group; if the estimator does not take
            `sample_weight`, or finds no network of the columns; if `time_limit` is over before two
            resamples are done.
        RuntimeError, MemoryError
            As `GaussianBNLearner.fit`.

        Warns
        -----
        skbn.exceptions.DataWarning, skbn.exceptions.MaxParentsWarning
            As the estimator, for all rows together but not for the resamples; a
            `RepeatedRowsWarning` where half-samples are the better choice; and a
            `DependentRowsWarning` if rows of one of the `groups` are alike.
        sklearn.exceptions.ConvergenceWarning
            If `time_limit` or Ctrl-C ended the fit early, with two resamples or more.
        """
        began = time.monotonic()
        learner = fitting.to_fit(type(self).__name__, self.estimator, GaussianBNLearner())
        given = {} if y is None else {"y": y}
        if isinstance(learner, GaussianBNLearner | GaussianBNLearnerCV):
            table = self._scores(learner, X, sample_weight, interventions)
            sample, columns, weighted = table.sample, table.columns, given
        else:
            table, sample = X, self._read_table(learner, X, sample_weight)
            columns = [*vars(self).get("feature_names_in_", range(self.n_features_in_))]
            if interventions is not None:
                given["interventions"] = interventions
            weighted = given if sample_weight is None else {**given, "sample_weight": sample_weight}
        draws = plan_draws(self, sample, stratify, groups)
        fitted = clone(learner).fit(table, **weighted)
        of_all = resamples.fitted_network(fitted, columns)  # raises now if there is none
        self._warn_of_repeats(draws, sample.shape[1])
        start = of_all._graph.parents if self.from_all_rows else None
        plan = resamples.plan_resamples(
            learner, table, given, sample, columns, draws, self.n_jobs, start
        )
        if self.verbose:
            at_a_time = "in processes" if plan.n_threads is None else f"{plan.n_threads} at a time"
            say(f"[{type(self).__name__}] {self.n_resamples} resamples, {at_a_time}")
        deadline = math.inf if self.time_limit is None else began + self.time_limit
        networks, ended_by = plan.networks(listeners_of(self), deadline)
        if ended_by:
            self._warn_of_fewer(len(networks), ended_by)
        self._warn_of_repeats(draws, sample.shape[1], [of_all, *networks])
        fixed = [network._graph.fixed for network in networks]
        parents = [network._graph.parents for network in networks]
        support = edge_support(parents, fixed)
        all_rows = all_rows_of(table, sample, columns, fitted, fixed)
        chosen = inclusion_threshold(support.strength)
        threshold = chosen if self.threshold is None else float(self.threshold)
        network = _averaged(support, all_rows, threshold)
        if draws.groups is not None and (all_rows.is_observed or all_rows.keeps_units):
            _warn_about_groups(network._model(), all_rows.problem, sample, draws.groups)
        # In one step, for threads that read the estimator meanwhile.
        self.__dict__.update(
            _support_=support,
            _all_rows_=all_rows,
            edge_support_=support.directed.copy(),
            strength_=support.strength.copy(),
            direction_=support.direction.copy(),
            n_resamples_=len(networks),
            networks_=networks,
            threshold_=threshold,
            network_=network,
            estimator_=fitted,
        )
        return self

    def _warn_of_fewer(self, n: int, ended_by: str) -> None:
        """Say how many resamples were done, or raise if they are too few."""
        if n < 2:
            raise ValueError(
                f"time_limit={self.time_limit:g} seconds ended the bootstrap with {n} of "
                f"{self.n_resamples} resamples; it needs two. Raise it, or take a faster estimator."
            )
        warn(
            f"{ended_by} ended the bootstrap after {n} of {self.n_resamples} resamples, of which "
            f"all shares are. The standard error of a support of 0.5 is {0.5 / n**0.5:.2f}.",
            ConvergenceWarning,
        )

    def _warn_of_repeats(self, draws: Draws, m: int, networks: Sequence[Any] = ()) -> None:
        """Advise half-samples: before the resamples if there are many columns, else by these."""
        # Half of the rows should be two for each column, and one of each label.
        is_few = draws.n_rows < 4 * m or min(map(len, draws.strata)) < 2
        if is_few or not self.replace or self.block_length or (m >= _MANY) == bool(networks):
            return
        found = f"With {m} columns, resamples"
        if networks:
            masks = [network._graph.parents for network in networks]
            of_all, *edges = [sum(mask.bit_count() for mask in each) for each in masks]
            mean = sum(edges) / len(edges)
            if mean - of_all < max(of_all / 2, 5):
                return
            found = f"Resamples have {mean:.0f} edges, on average, and all rows {of_all}: they"
        warn(
            f"{found} make edges of chance from rows that are drawn more than once. Half-samples, "
            "by replace=False and sample_fraction=0.5, make fewer, usually in less time.",
            RepeatedRowsWarning,
        )

    @property
    def _may_miss(self) -> bool:
        return getattr(self.estimator, "missing", "error") != "error"

    def _scores(self, learner: Any, X: Any, sample_weight: Any, interventions: Any) -> BaseScores:
        """Return X as scores, which the learner and all resamples share."""
        if isinstance(X, BaseScores):
            _ = X.sample.rows  # raises if there are none
        check_parameters(learner)
        scores = fitting.read_scores(learner, X, sample_weight, interventions, needs_rows=True)
        fitting.learn_columns(self, *fitting.columns_of(scores))
        learner.nodes = None  # the scores have them
        return scores

    def _read_table(self, learner: Any, X: Any, sample_weight: Any) -> Sample:
        """Return the rows of X, which a learner that does not read scores is fitted to."""
        resamples.check_takes_weight(learner)
        with resamples.without_warnings():  # which the learner gives
            return fitting.read_sample(self, X, sample_weight, reset=True, may_miss=True)

    def predict(self, X: Any = None, *, fdr: float | None = None, directed: bool = True) -> Any:
        """Return the averaged network's graph, or the edges of most support.

        Parameters
        ----------
        X : array-like, data frame or LocalScores, optional
            Must have the columns of `fit`; not used otherwise.
        fdr : float, optional
            Between 0 and 1. The graph then has the largest set of edges whose mean of 1 - support
            is at most this: the share of false edges that would be expected if support were a
            probability, which it is not. `GaussianBNPosterior.predict` has probabilities.
        directed : bool, default=True
            If False, the graph has pairs joined in either direction, by their strength.

        Returns
        -------
        graph : networkx.DiGraph, or networkx.Graph if not directed
            With `fdr`, edges have the attribute `support`, or `strength` for pairs, and the graph
            `expected_by_support`, the mean of 1 less these, and `is_acyclic`.

        Raises
        ------
        ValueError, TypeError
            If X is not a table of these columns; if `fdr` is not between 0 and 1.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import BootstrapBNLearner
        >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
        >>> bootstrap = BootstrapBNLearner(n_resamples=50, random_state=0).fit(wine)
        >>> list(bootstrap.predict(fdr=0.2).edges(data="support"))
        [('alcohol', 'proline', 0.82), ('hue', 'proline', 0.92)]
        """
        graph = super().predict(X)
        if fdr is None:
            return graph if directed else graph.to_undirected()
        attributes = "support", "strength", "expected_by_support"
        return edges_of_fdr([*graph], self._support_.directed, fdr, directed, attributes)

    def averaged_network(self, threshold: float | None = None) -> GaussianBayesianNetwork:
        """Return the best network of the pairs of columns with a strength above a threshold.

        Its directions are those with the highest score on all rows; among equal scores, support
        decides. In connected parts of more than 18 columns a local search finds them, which the
        graph's attribute `directions` says. If the constraints, or `max_parents`, allow no network
        of all pairs, weak ones are left out.

        Parameters
        ----------
        threshold : float, optional
            From 0 to 1, by default `threshold_`. Two columns are joined if their strength is above
            it, or is 1.

        Returns
        -------
        network : GaussianBayesianNetwork
            With parameters fitted to all rows, and edges with the attributes `support` and
            `strength`. After a fit to missing values it has no standard errors.

        Raises
        ------
        ValueError
            If the threshold is not a number from 0 to 1.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import BootstrapBNLearner
        >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
        >>> bootstrap = BootstrapBNLearner(n_resamples=50, random_state=0).fit(wine)
        >>> list(bootstrap.averaged_network(threshold=0.8).dag.edges)
        [('alcohol', 'proline'), ('hue', 'proline')]
        """
        check_is_fitted(self)
        if threshold is None:
            threshold = self.threshold_
        if not _FROM_0_TO_1.allows(threshold):
            raise ValueError(must_be("threshold", "a number from 0 to 1", threshold))
        return _averaged(self._support_, self._all_rows_, float(threshold))

    def effect(self, cause: Any, outcome: Any) -> EffectEstimate:
        """Return the total effect of an intervention on an outcome, over the resamples' networks.

        Where a resample leaves edges undirected, the effects in all networks of the equivalence
        class share its weight.

        Parameters
        ----------
        cause, outcome : as in `GaussianBayesianNetwork.effect`

        Returns
        -------
        effect : EffectEstimate
            Its standard deviation and quantiles are those of the resamples, and its shares are no
            probabilities.

        Raises
        ------
        ValueError, TypeError
            As `GaussianBayesianNetwork.effect`; if the resamples' networks have no parameters.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import BootstrapBNLearner
        >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
        >>> bootstrap = BootstrapBNLearner(n_resamples=50, random_state=0).fit(wine)
        >>> bootstrap.effect("alcohol", "proline")
        Effect of do(alcohol) on proline
        given               50 resamples
        no effect                   0.18
        mean                         214
        standard deviation           102
        95 % interval           0 to 321
        """
        check_is_fitted(self)
        asked = estimates.read_intervention(self.networks_[0]._blocks, cause, outcome)
        found = [network._effect_of(asked, of_class=True) for network in self.networks_]
        parts = [each._replace(errors=np.zeros(len(each.values))) for each in found]
        return estimates.mixture(asked, parts, self._source)

    def effects(self, level: float = 0.95) -> Any:
        """Return a table of the total effects of all columns on all others, the largest first.

        Parameters
        ----------
        level : float, default=0.95
            The share of the resamples in the intervals, from 0 to 1.

        Returns
        -------
        table : pandas.DataFrame, or a table as a dict of lists without pandas
            A row for each pair, as `effect(cause, outcome).to_frame(level)` has it.

        Raises
        ------
        ValueError, TypeError
            As `effect`.
        """
        check_is_fitted(self)
        nodes, found = self.networks_[0]._blocks, list[EffectEstimate]()
        readings = effects.all_readings(nodes)
        for change in effects.all_changes(nodes):
            models, weights = self._members([change.node])
            values = np.stack(
                [effects.total_effects(each, nodes, [change], readings)[0] for each in models]
            )
            found += [
                estimates.of_values(change.label, reading.label, own, weights, self._source)
                for reading, own in zip(readings, values.T, strict=True)
                if reading.node != change.node
            ]
        return estimates.effects_frame(sorted(found, key=lambda effect: -abs(effect.mean)), level)

    def path_effects(self, cause: Any, outcome: Any) -> PathEffects:
        """Return through what a cause acts: the effects along all directed paths, by resamples.

        Parameters
        ----------
        cause, outcome : as in `effect`, for a single cause

        Returns
        -------
        effects : PathEffects
            Its `direct` effect is that of the edge: a cross-lag, if the outcome is a later wave.

        Raises
        ------
        ValueError, TypeError
            As `effect`; if a network has more than 100,000 paths, or too many equivalent ones.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import BootstrapBNLearner
        >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
        >>> bootstrap = BootstrapBNLearner(n_resamples=50, random_state=0).fit(wine)
        >>> bootstrap.path_effects("alcohol", "proline")
        Effect of do(alcohol) on proline: 214, 0 % mediated; 2 paths
        path                       present   mean  95 % interval  share
        alcohol -> proline            0.82    213       0 to 302   1.00
        alcohol -> ash -> proline     0.02  0.338         0 to 0   0.00
        """
        check_is_fitted(self)
        nodes = self.networks_[0]._blocks
        change, reading = effects.change_and_reading(nodes, cause, outcome)
        first, last = nodes.names[change.node], nodes.names[reading.node]

        def on_paths(network: GaussianBayesianNetwork) -> list[int]:
            graph = network.cpdag()
            ends = [(b, a) for a, b, is_open in graph.edges(data="undirected") if is_open]
            graph.add_edges_from(ends)
            between = nx.descendants(graph, first) & {*nx.ancestors(graph, last), last}
            return [v for v, name in enumerate(nodes.names) if name in between]

        models, weights = self._members(on_paths)
        return estimates.path_estimates(models, nodes, cause, outcome, self._source, weights)

    @property
    def _source(self) -> str:
        return f"{self.n_resamples_} resamples"

    def _members(
        self, chosen: list[int] | Callable[[GaussianBayesianNetwork], list[int]]
    ) -> tuple[list[LinearGaussianModel], Floats]:
        """Return networks for all choices of parents of the chosen columns, and their weights."""
        models, weights = list[LinearGaussianModel](), list[float]()
        for network in self.networks_:
            model, nodes = network._model(), network._blocks
            columns = chosen(network) if callable(chosen) else chosen
            members = effects.class_members(model, nodes, columns)
            n_members = sum(n for _, n in members)
            models += [effects.equivalent_model(model, nodes, member) for member, _ in members]
            weights += [n / (n_members * self.n_resamples_) for _, n in members]
        return models, np.array(weights)

    def _networks(self, n: int, rng: Random) -> tuple[list[GaussianBayesianNetwork], str]:
        """Return a random member of the class of each resample's network, with its weights.

        The variance of noise is that of all rows about these weights: the rows that made them are
        nearer to them.
        """
        check_is_fitted(self)
        all_rows = self._all_rows_
        if not all_rows.keeps_units:
            raise ValueError(
                "The steps of the pipeline before the learner change the units of the columns, so "
                "that the networks of the resamples do not have those of X. Transform X first, and "
                "pass a BootstrapBNLearner of the learner alone."
            )
        groups = all_rows.problem.scorer.group_statistics
        networks = []
        for network in self.networks_:
            model, nodes = network._model(), network._blocks
            member = random_member(*effects.parents_in_class(model, nodes), rng)
            model = effects.equivalent_model(model, nodes, member)
            intercept, noise = model.mean - model.mean @ model.coef, noise_of_rows(model, groups)
            model = replace(model, intercept=intercept, noise_variance=noise)
            networks.append(GaussianBayesianNetwork._from_model(model, nodes))
        return networks, self._source

    def to_frame(self, level: float | None = None) -> Any:
        """Return the support of each pair of columns that some network joins.

        Parameters
        ----------
        level : float, optional
            With a share of the resamples, such as 0.95, the table also has the weights of the
            edges.

        Returns
        -------
        table : pandas.DataFrame, or a table as a dict of lists without pandas
            A row for each pair, the strongest first: `parent` and `child` in the direction with
            more support, or in column order if both have as much; `strength` and `direction`. With
            a `level` also the mean `weight` of the edge in this direction and the ends of its
            interval, `low` and `high`: 0 in networks without it, NaN between nodes of several
            columns.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import BootstrapBNLearner
        >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
        >>> BootstrapBNLearner(n_resamples=50, random_state=0).fit(wine).to_frame().round(3)
            parent    child  strength  direction
        0  alcohol  proline      1.00      0.820
        1      hue  proline      0.94      0.979
        2  proline      ash      0.50      0.620
        3  alcohol      ash      0.40      0.525
        4      hue  alcohol      0.18      1.000
        5      hue      ash      0.08      0.750
        """
        check_is_fitted(self)
        columns, (directed, strength, direction) = self.network_.nodes, self._support_
        pairs = np.argwhere(np.triu(strength > 0, 1)).tolist()
        edges = [(a, b) if directed[a, b] >= directed[b, a] else (b, a) for a, b in pairs]
        edges.sort(key=lambda edge: (-strength[edge], -direction[edge]))
        table: dict[str, Any] = {
            "parent": [columns[parent] for parent, _ in edges],
            "child": [columns[child] for _, child in edges],
            "strength": [float(strength[edge]) for edge in edges],
            "direction": [float(direction[edge]) for edge in edges],
        }
        if level is not None:
            nodes, weights = self.networks_[0]._blocks, []
            of_child = {c: self._members([c]) for c in {c for _, c in edges}}
            for edge in edges:
                models, shares = of_child[edge[1]]
                (i, *more), (j, *others) = (nodes.columns_of([v]) for v in edge)
                single = np.nan if more or others else 1.0
                values = single * np.array([model.coef[i, j] for model in models])
                weights.append(estimates.of_values(*edge, values, shares, self._source))
            ends = [weight.interval(level) for weight in weights]
            table["weight"] = [weight.mean for weight in weights]
            table["low"], table["high"] = ([each[side] for each in ends] for side in (0, 1))
        return frame_of(table)


def _warn_about_groups(
    model: LinearGaussianModel, problem: Problem, sample: Sample, groups: list[Integers]
) -> None:
    """Warn if rows of one group are alike where nobody set them."""
    rows = problem.scorer.kept(sample.rows)
    if sample.is_set is not None:
        rows = np.where(problem.nodes.by_column(sample.is_set), np.nan, rows)
    n_samples = sample.summary.n_samples if sample.is_complete else len(rows)
    warn_about_groups(model, rows, groups, n_samples)


def _averaged(support: EdgeSupport, all_rows: AllRows, threshold: float) -> GaussianBayesianNetwork:
    """Return the averaged network with a threshold, with parameters of all rows."""
    strength = support.strength
    is_joined, names = (strength > threshold) | (strength == 1), ("support", "strength")
    return all_rows.problem.averaged_network(
        support.directed, is_joined, names, is_observed=all_rows.is_observed
    )


class AllRows(NamedTuple):
    """All rows of a table, or what stands for them."""

    # its scores direct the pairs of averaged networks, whose parameters it estimates
    problem: Problem
    is_observed: bool  # whether no value was missing
    # whether the learner is given the table as it is, where values are known
    keeps_units: bool = True


def all_rows_of(
    table: Any, sample: Sample, columns: list[str | int], fitted: Any, fixed: list[list[int]]
) -> AllRows:
    """Return the problem of all rows: as they are, as EM expects them, or as they reach a learner.

    A learner that does not say its criterion gets the BIC, and the edges that `fixed`, the masks of
    each resample's network, has.
    """
    if isinstance(fitted, SearchingEstimator):
        searched = fitted._searched_  # of the rows that EM expects, if values are missing
        return AllRows(searched, sample.is_complete)
    is_observed = not np.isnan(sample.rows).any()
    is_transformed = isinstance(fitted, Pipeline) or hasattr(fitted, "best_estimator_")
    may_differ = is_transformed or not is_observed
    reached = fitted_network_and_table(fitted, table)[1] if may_differ else table
    seen, filled = ~np.isnan(sample.rows), read_columns(Table(reached), columns, columns)
    keeps_units = np.allclose(filled[seen], sample.rows[seen])
    if not is_observed:
        sample = Sample(filled, sample.weight)
    m = len(columns)
    # A family of as many columns as there are rows has no estimates.
    most = max(1, min(m - 1, sample.summary.n_rows - 2))
    names = None if columns == [*range(m)] else np.array(columns, dtype=object)
    scores = LocalScores._from_sample(sample, BIC(), names, max_parents=most)
    known = [reduce(or_, of_column) for of_column in zip(*fixed, strict=True)]
    allowed = [(1 << m) - 1 ^ 1 << x for x in range(m)]
    for child, mask in enumerate(known):
        for parent in members_of(mask & ~known[child]):
            allowed[parent] &= ~(1 << child)
    problem = problem_of(scores, Constraints(allowed, [0] * m, most, allowed))
    return AllRows(problem, is_observed, keeps_units)


def noise_of_rows(model: LinearGaussianModel, groups: Groups) -> Floats:
    """Return the variances of rows about what a model expects, by their degrees of freedom."""
    variance, outside = model.noise_variance.copy(), {*model.exogenous}
    for own, statistics in groups:
        residuals = model.unexplained(statistics.factor * statistics.scale)
        at_mean = model.residuals(statistics.mean[np.newaxis])[0]
        squares = (residuals**2).sum(axis=0) + statistics.n_samples * at_mean**2
        for child in {*own} - outside:
            n_left = statistics.n_samples - model.parents[child].bit_count() - 1
            variance[child] = squares[child] / max(n_left, 1)
    return variance


class EdgeSupport(NamedTuple):
    """The share of some networks that have each edge, as arrays of shape (m, m)."""

    # ``directed[i, j]`` is the share with i -> j, where an edge without a direction counts one half
    directed: F1
    strength: F1  # the share in which an edge joins the two columns, in either direction
    direction: F1  # ``directed / strength``, and 0 where no network joins the two columns


def edge_support(parents: list[list[int]], fixed: list[list[int]]) -> EdgeSupport:
    """Count the edges of networks of the same columns.

    `parents`, `fixed`: for each network the masks of each column's parents, and of those whose
        edges are fixed in its equivalence class
    """
    n_networks, m = len(parents), len(parents[0])
    halves = np.zeros((m, m), dtype=np.int64)
    for masks, known in zip(parents, fixed, strict=True):
        compelled = compelled_parents(masks, known)
        for child, mask in enumerate(masks):
            for parent in members_of(mask):
                if compelled[child] >> parent & 1:
                    halves[parent, child] += 2
                else:
                    halves[parent, child] += 1
                    halves[child, parent] += 1
    # Quotients of whole numbers, so that equal shares are equal floats.
    joined = halves + halves.T
    direction = np.divide(halves, joined, out=np.zeros((m, m)), where=joined > 0)
    return EdgeSupport(halves / (2 * n_networks), joined / (2 * n_networks), direction)


def inclusion_threshold(strength: Floats) -> float:
    """Return the strength that separates the edges of a network from noise.

    `strength`: (m, m), symmetric; only pairs of different columns count

    If each strength were 0 or 1, their distribution function would be a constant t on [0, 1).
    Scutari & Nagarajan (2013) take the t for which the area between this constant and the
    distribution function F of the strengths is smallest, and the edges that are stronger than the
    smallest x with F(x) >= t. The median of F(x) over x from 0 to 1 has the smallest area. F is not
    decreasing, so this is F(1/2), and the threshold is the largest strength below 1/2. If some
    strengths are exactly 1/2, the values of F on either side do equally well; take the lower.
    """
    strengths = strength[np.triu_indices(len(strength), 1)]
    return float(strengths[strengths < 0.5].max(initial=0.0))

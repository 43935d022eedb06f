"""What learners share: how they search, what they keep of it, and lists of further networks."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from skbn._core.columns import as_integer, finite_number
from skbn._core.estimator import N_WRAPPERS, Interval, StrOptions
from skbn._core.graphs import dag_of
from skbn._core.resources import Resources
from skbn._core.subsets import members_of
from skbn._core.text import readable_value
from skbn._estimators.near_optimal_networks import NearOptimalNetworks
from skbn._estimators.network_estimator import NetworkEstimator, OneNetworkEstimator
from skbn._estimators.summary import learner_summary
from skbn._networks.block_network import network_of_model
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.criteria import Criterion
from skbn._solver.engines import SearchSettings
from skbn._solver.near_optimal import near_optimal
from skbn._solver.problem import Problem
from skbn._solver.solution import Solution
from skbn.exceptions import MissingValuesWarning

__all__ = ["NetworkLearner", "network_of", "targets_of"]

# In nats. Beyond a Bayes factor of 20, the logarithm of which is 3.0, evidence is called strong
# (Kass & Raftery 1995, "Bayes factors").
_WITHIN = 3.0

_LESS_TO_PROVE = (
    "Raise time_limit, lower max_parents, or raise tol to what differences in score do not matter."
)
# Calls from `_warn` up to the user's line: _warn_about_proof, _fit and fit, and the wrappers.
_STACK_LEVEL = 5 + N_WRAPPERS


def _warn(message: str, stack_level: int = _STACK_LEVEL) -> None:
    warnings.warn(message, ConvergenceWarning, stacklevel=stack_level)


def network_of(solution: Solution) -> GaussianBayesianNetwork:
    """Return the network of a solution, without parameters if it has none."""
    if solution.model is None:
        dag = dag_of(solution.columns, solution.parents, solution.irreversible)
        dag.add_nodes_from(solution.exogenous, exogenous=True)
        network = GaussianBayesianNetwork(dag)
    elif solution.nodes is None:
        network = GaussianBayesianNetwork(solution.model.to_dag())
    else:
        network = network_of_model(solution.model, solution.nodes)
    network._keep(solution.model, solution.score_losses, solution.statistics)
    return network


def targets_of(problem: Problem) -> list[tuple[str | int, ...]]:
    """Return the columns that an experimenter set together, by name."""
    return [tuple(problem.names[x] for x in members_of(mask)) for mask in problem.targets]


class NetworkLearner(OneNetworkEstimator):
    """A learner that searches, exactly or not. Derived classes have the parameters below.

    They also have those of `NetworkEstimator`.
    """

    _allowed_values: ClassVar[dict[str, Any]] = {
        **OneNetworkEstimator._allowed_values,
        "search": [StrOptions({"exact", "order"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": [
            Interval(Integral, 0, 2**32 - 1, closed="both"),
            np.random.RandomState,
            None,
        ],
    }
    search: str
    tol: float
    time_limit: float | None
    random_state: int | np.random.RandomState | None
    network_score_: float
    is_optimal_: bool
    score_bound_: float
    optimality_gap_: float
    n_iter_: int
    n_nodes_: int
    start_scores_: npt.NDArray[np.float64] | None
    criterion_: Criterion | None
    _searched_: Problem
    _search_: str
    _is_finished_: bool

    def _search_settings(self) -> SearchSettings:
        """Return the settings of the search, with a seed drawn for it.

        An exact search finds a network of the same score with any seed: it has one of its own
        unless the user gives one.
        """
        is_exact = self.search == "exact"
        if is_exact and self.random_state is None:
            seed = 0
        else:
            seed = int(check_random_state(self.random_state).randint(2**31))
        return SearchSettings(is_exact, seed, float(self.tol))

    def _resources(self, context: Any = None) -> Resources:
        limit = None if self.time_limit is None else float(self.time_limit)
        return replace(super()._resources(context), time_limit=limit)

    def _warn_about_proof(self, n_unproven: int = 0) -> None:
        """Warn if an exact search did not prove its network, or starts of an order search disagree.

        Parameters
        ----------
        n_unproven : int
            How many searches of folds did.
        """
        if self.search == "order":
            self._warn_about_starts()
            return
        if n_unproven:
            _warn(
                f"{n_unproven} searches of folds ended before they proved that their networks are "
                f"the best. {_LESS_TO_PROVE}"
            )
        if not self.is_optimal_ and self._is_finished_:
            _warn(
                f"Rounding hides differences between scores of up to {self.optimality_gap_:.3g} "
                "nats: another network may score so much higher. Raise tol to more than that, or "
                "leave out families whose scores are far below those of others."
            )
        elif not self.is_optimal_:
            _warn(
                "The search ended before it proved that its network is the best: another one may "
                f"score up to {self.optimality_gap_:.3g} nats higher. {_LESS_TO_PROVE}"
            )

    def _warn_about_missing(self, remarks: list[str]) -> None:
        """Warn of what a table with missing values lacks, and of a time limit that was reached."""
        for remark in remarks:
            warnings.warn(remark, MissingValuesWarning, stacklevel=_STACK_LEVEL)
        if not self._is_finished_:
            _warn(
                "time_limit ended structural EM before it had scored all candidates, or while the "
                "score still rose. Raise it, or lower n_candidates.",
                6 + N_WRAPPERS,
            )

    def _warn_about_starts(self) -> None:
        """Warn if other starts of an order search did not come near its network."""
        starts = self.start_scores_
        if starts is None or len(starts) == 1 or starts[0] - starts[1] <= _WITHIN:
            return
        more = "raise time_limit, or " if self.time_limit is not None else ""
        _warn(
            f"Of {len(starts)} starts of the order search, one alone came within {_WITHIN:g} nats "
            f"of the best network; the next is {starts[0] - starts[1]:.3g} nats below it. There "
            f"may be a better network: {more}fit with other values of random_state, and keep the "
            "highest network_score_.",
            6 + N_WRAPPERS,
        )

    def _keep(self, solution: Solution, problem: Problem, **learned: Any) -> None:
        """Keep what was found as attributes, and what `near_optimal` needs to search again."""
        network, losses = network_of(solution), solution.start_losses
        learned["targets_"] = targets_of(problem)
        # In one step, for threads that read the estimator meanwhile.
        self.__dict__.update(
            learned,
            network_=network,
            dag_=network.dag.copy(),
            network_score_=solution.score,
            is_optimal_=solution.is_optimal,
            score_bound_=solution.score_bound,
            optimality_gap_=solution.gap,
            n_iter_=solution.n_iter,
            n_nodes_=solution.n_nodes,
            start_scores_=None if losses is None else solution.score - np.array(losses),
            criterion_=solution.criterion,
            _searched_=problem.without_rows(),
            _is_finished_=solution.is_finished,
            _search_=self.search,
        )

    def _shown_note(self) -> str:
        if vars(self).get("is_optimal_", True):
            return ""
        if "candidates_" in vars(self):
            return 'Not proven optimal: found by missing="em".'
        if self._search_ == "order":
            return 'Not proven optimal: found by search="order".'
        return f"Not proven optimal: at most {self.optimality_gap_:.3g} nats below the best."

    def summary(self, max_rows: int | None = None) -> str:
        """Return what the fit found, on one screen of text.

        Parameters
        ----------
        max_rows : int, optional
            How many regressions to list at most, one for each node. The last line says how many
            are left out. By default they fill 15 lines at most.

        Returns
        -------
        summary : str
            To be printed: rows and columns, criterion, score in nats, what is proven of it, edges,
            how well the network fits if that is known, and regressions.

        Raises
        ------
        ValueError, TypeError
            If `max_rows` is not an integer of 1 or more.
        sklearn.exceptions.NotFittedError
            Before `fit`.

        Notes
        -----
        The indices of fit are those of `GaussianBayesianNetwork.fit_indices` for the rows that the
        network was searched for in, which they fit too well.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import GaussianBNLearner
        >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue"]]
        >>> print(GaussianBNLearner().fit(wine).summary())
        GaussianBNLearner
        table      178 rows, 3 columns
        criterion  BIC()
        score      -1440.3031 nats
        proof      No network has a higher score.
        network    3 nodes and 2 edges (0 reversible)
        fit        chi2 0.9187 with 1 df, p = 0.338; CFI 1.000, RMSEA 0.000 (0.000 to 0.195), \
SRMR 0.038
        <BLANKLINE>
        alcohol = 13, noise sd 0.81
        proline = -2980 + 258 alcohol + 391 hue, noise sd 223
        hue = 0.957, noise sd 0.228
        """
        check_is_fitted(self)
        if max_rows is not None:
            check_scalar(max_rows, "max_rows", Integral, min_val=1)
        return learner_summary(self, max_rows)

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
            `equivalence_classes` not a bool; if the list takes more memory than there is, as after
            a fit by branch and cut; after a fit with ``search="order"`` or to missing values, which
            do not prove what they leave out.

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
        if "candidates_" in vars(self):
            raise ValueError(
                "Structural EM does not prove which networks are near-optimal for a table with "
                "missing values. candidates_ has the scores of those that it compared."
            )
        if self._search_ == "order":
            raise ValueError(
                "The order search does not prove which networks are near-optimal. Fit with "
                'search="exact" to list them; max_parents or tiers make it fit more columns.'
            )
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
        problem = self._searched_
        found = near_optimal(
            problem.without_rows(),  # its log-determinants are dropped when the list is made
            NetworkEstimator._resources(self),  # a list is made in the memory of this process
            n=n,
            within=within,
            equivalence_classes=equivalence_classes,
        )
        return NearOptimalNetworks(found, problem, equivalence_classes)

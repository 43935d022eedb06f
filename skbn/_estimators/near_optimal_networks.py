"""NearOptimalNetworks: what `near_optimal` of a learner returns."""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from numbers import Integral
from typing import Any, Self, TypeVar, overload

import networkx as nx
import numpy as np
import numpy.typing as npt

from skbn._core.arrays import Floats, Integers, Random, as_integer
from skbn._core.estimator import Interval, check_values
from skbn._core.graphs import dag_of
from skbn._core.resources import read_only
from skbn._core.subsets import bits_of
from skbn._displays.network_grid import NetworkGridDisplay
from skbn._displays.notebook import TableRepr, frame_of
from skbn._estimators.ensembles import EnsembleMixin
from skbn._networks.effect_estimates import EffectEstimate, mixture, read_intervention
from skbn._networks.equivalence import (
    compelled_parents,
    cpdag,
    edge_shares,
    number_of_members,
    random_member,
)
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.local_scores import LocalScores
from skbn._solver.incomplete_problem import Expectation
from skbn._solver.near_optimal import NearOptimal
from skbn._solver.problem import Problem
from skbn._solver.structural_em import Candidate

Item = TypeVar("Item")

# How many rows of the list are shown.
_SHOWN = 5
# Scores that are larger are shown with six digits.
_LARGEST_PLAIN = 1e12


class NearOptimalNetworks(EnsembleMixin, TableRepr, Sequence[GaussianBayesianNetwork]):
    """The networks that score nearly as high as the best, in order of their score.

    `GaussianBNLearner.near_optimal` returns it. It is a sequence of networks, whose parameters are
    estimated when one is taken from it; an equivalence class is there as one of its networks.

    Attributes
    ----------
    scores : ndarray of shape (n,), float64, nats
        Descending. Read-only.
    is_complete : bool
        Whether the list has every network, or class, within the bound that was asked for. False if
        it ends because `n` does.
    is_proven : bool
        Whether no network, or class, that the list leaves out scores higher than the last one; not
        so after a fit to missing values.
    equivalence_classes : bool
        Whether these are equivalence classes, or all networks one by one.

    See Also
    --------
    GaussianBNLearner.near_optimal : What returns it.
    GaussianBNPosterior : Sums over all networks.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import GaussianBNLearner
    >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
    >>> near = GaussianBNLearner("bge").fit(wine).near_optimal(within=2)
    >>> near
    4 best equivalence classes, down to 1.74 nats below the best
          score  difference  edges
    0  -1495.36           0      3
    1  -1496.20       0.839      4
    2  -1496.82        1.45      3
    3  -1497.10        1.74      2
    >>> near.to_frame().round(2)[["difference", "bayes_factor", "n_members"]]
       difference  bayes_factor  n_members
    0        0.00          1.00          1
    1        0.84          2.31          1
    2        1.45          4.28          2
    3        1.74          5.68          1
    >>> list(near[0].dag_.edges)
    [('alcohol', 'ash'), ('proline', 'alcohol'), ('hue', 'alcohol')]
    """

    _alignments = "rrrr"
    _header = "", "score", "difference", "edges"
    scores: Floats
    is_complete: bool
    is_proven: bool
    equivalence_classes: bool
    _parents: list[list[int]]
    _problem: Problem
    # Where networks have rows of their own, as EM expects them under each.
    _problems: list[Problem] | None = None

    def __init__(self) -> None:
        raise TypeError("NearOptimalNetworks are made by near_optimal() of a fitted learner.")

    @classmethod
    def _of_problem(cls, found: NearOptimal, problem: Problem, equivalence_classes: bool) -> Self:
        """Return the networks found, which were learned from a problem."""
        self = cls.__new__(cls)
        self.scores = read_only(found.scores)
        self.is_complete, self.is_proven = found.is_complete, True
        self.equivalence_classes = equivalence_classes
        self._parents = found.parents
        self._problem = problem
        return self

    @classmethod
    def _of_listed(cls, listed: Sequence[Candidate], expectation: Expectation) -> Self:
        """Return the classes that structural EM compared."""
        parents, scores = [each.parents for each in listed], [each.score for each in listed]
        found = NearOptimal(parents, np.array(scores), is_complete=False)
        problems = [expectation.problem(each.estimate) for each in listed]
        self = cls._of_problem(found, problems[0], equivalence_classes=True)
        self.is_proven, self._problems = False, problems
        return self

    def __len__(self) -> int:
        return len(self._parents)

    @overload
    def __getitem__(self, index: int) -> GaussianBayesianNetwork: ...
    @overload
    def __getitem__(self, index: slice) -> list[GaussianBayesianNetwork]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self.networks[index]

    @property
    def networks(self) -> Sequence[GaussianBayesianNetwork]:
        """The networks, with parameters unless they were learned from ParentSetScores."""
        problems: Sequence[Problem] = self._problems or [self._problem] * len(self)
        is_observed = self._problems is None
        return _LazySequence(
            len(self), lambda i: problems[i].network(self._parents[i], is_observed)
        )

    @property
    def cpdags(self) -> Sequence[nx.DiGraph]:
        """The networks' equivalence classes, as graphs like a network's `cpdag`."""
        return _LazySequence(len(self), self._cpdag)

    def _cpdag(self, i: int) -> nx.DiGraph:
        parents, problem = self._parents[i], self._problem
        return cpdag(dag_of(problem.names, parents), problem.irreversible(parents))

    def to_frame(self) -> Any:
        """Return a table with a row for each network, or equivalence class.

        Returns
        -------
        frame : pandas.DataFrame, or a table that converts to one if pandas is not installed
            The columns are

            - `score`, in nats;
            - `difference`: how far the score is below the best, in nats;
            - `bayes_factor`: the exponential of the difference, infinite beyond 709 nats. The data
              make the best network that many times as probable as this one; by the BIC,
              approximately. Criteria that are no marginal likelihood, such as the AIC, have no such
              column;
            - `n_members`: how many networks of the class the constraints allow; only in a
              list of classes, and not with ParentSetScores, which may rule out some of them;
            - `n_edges`;
            - `n_differences`: how many pairs of columns are joined differently from the best
              network, or class.
        """
        difference = self.scores[0] - self.scores
        with np.errstate(over="ignore"):
            factor = np.exp(difference)
        columns: dict[str, Any] = {"score": self.scores, "difference": difference}
        if self._problem.may_be_likelihoods:
            columns["bayes_factor"] = factor
        if self.equivalence_classes and not self._problem.families.are_given:
            columns["n_members"] = self._n_members
        columns["n_edges"] = self._n_edges
        patterns = [self._pattern(parents) for parents in self._parents]
        columns["n_differences"] = [int((each != patterns[0]).sum()) // 2 for each in patterns]
        return frame_of(columns)

    def edge_frequencies(self, *, weighted: bool = True) -> Floats:
        """Return in what share of the listed networks each edge is.

        The list is only a part of all networks, so these are not edge probabilities, which
        `GaussianBNPosterior` has.

        Parameters
        ----------
        weighted : bool, default=True
            Whether a network counts by the exponential of its score. Otherwise all count alike. A
            class counts as all its members if it is weighted, and otherwise once, as their mean.

        Returns
        -------
        frequencies : ndarray of shape (m, m), float64
            ``[i, j]`` is for the edge i -> j.

        Raises
        ------
        ValueError
            For classes of ParentSetScores, which may rule out some of their members; if classes
            are to be weighted under a criterion that is not score-equivalent, because their members
            have different scores.
        """
        m = len(self._problem.names)
        log_weights = self._log_weights(weighted)
        weights = np.exp(log_weights - log_weights.max())
        weights /= weights.sum()
        if not self.equivalence_classes:
            edges = bits_of([mask for parents in self._parents for mask in parents], m)
            of_children = edges.reshape(len(self), m, m)
            return np.asarray(np.einsum("k,kji->ij", weights, of_children))
        frequencies = np.zeros((m, m))
        for weight, parents in zip(weights, self._parents, strict=True):
            frequencies += weight * edge_shares(parents, self._problem.allowed_in_class(parents))
        return frequencies

    def effect(self, cause: Any, outcome: Any) -> EffectEstimate:
        """Return the total effect of an intervention on an outcome, over the listed networks.

        They count as in `edge_frequencies`, and each has its standard error. They are only a part
        of all networks, over which `GaussianBNPosterior.effect` averages.

        Parameters
        ----------
        cause, outcome : as in `GaussianBayesianNetwork.effect`

        Returns
        -------
        effect : EffectEstimate
            With a criterion that has a prior, as BGe has, its parameters are taken as known.

        Raises
        ------
        ValueError, TypeError
            As `GaussianBayesianNetwork.effect` and `edge_frequencies`.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skbn import GaussianBNLearner
        >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
        >>> near = GaussianBNLearner().fit(wine).near_optimal(within=5)
        >>> near.effect("alcohol", "proline")
        Effect of do(alcohol) on proline
        given               28 classes listed
        no effect                       0.246
        mean                              192
        standard deviation                112
        95 % interval                0 to 297
        """
        log_weights = self._log_weights()
        asked = read_intervention(self[0]._blocks, cause, outcome)
        parts = []
        for network, log_weight in zip(self.networks, log_weights, strict=True):
            part = network._effect_of(asked, of_class=self.equivalence_classes)
            parts.append(part._replace(weights=part.weights * math.exp(log_weight)))
        source = f"{len(parts)} {'classes' if self.equivalence_classes else 'networks'} listed"
        if any(np.isnan(each.errors).any() for each in parts):
            parts = [each._replace(errors=np.zeros(len(each.values))) for each in parts]
            source += ", with their parameters"
        return mixture(asked, parts, source)

    def plot(self, n: int = 6, **options: Any) -> NetworkGridDisplay:
        """Draw the best networks, or classes, as small multiples.

        Each node has the same place in all, and edges that a class leaves open have no arrowhead.

        Parameters
        ----------
        n : int, default=6
            How many, from the best on.
        **options
            As for `NetworkGridDisplay.plot`.

        Returns
        -------
        display : NetworkGridDisplay

        Raises
        ------
        TypeError, ValueError, ImportError
            As `NetworkGridDisplay.plot`.
        """
        check_values("plot", {"n": [Interval(Integral, 1, None, closed="left")]}, {"n": n})
        far = (self.scores[0] - self.scores)[:n]
        titles = ["best", *(f"{each:.2f} nats below" for each in far[1:])]
        how: Any = {"titles": titles, "cpdag": self.equivalence_classes} | options
        return NetworkGridDisplay.from_networks(self[:n], **how)

    def _networks(self, n: int, rng: Random) -> tuple[list[GaussianBayesianNetwork], str]:
        """Draw networks by their scores, and parameters from their posterior given the network.

        After EM, which has rows of its own for each network, these have their parameters.
        """
        from skbn._posterior.family_weights import mask_type  # which learners do without
        from skbn._posterior.parameter_draws import with_predictive_parameters

        self[0]._model()  # raises if there are no parameters
        problem, log_weights = self._problem, self._log_weights()
        weights = np.exp(log_weights - log_weights.max())
        times = rng.multinomial(as_integer(n, "n_samples", least=1), weights / weights.sum())
        what = f"{n} networks drawn from {len(self)} listed"
        if self._problems is not None:
            found = [each for i, k in enumerate(times.tolist()) for each in [self[i]] * k]
            return found, f"{what}, with their parameters"
        drawn = []
        for parents, k in zip(self._parents, times.tolist(), strict=True):
            if self.equivalence_classes:
                allowed = problem.allowed_in_class(parents)
                drawn += [random_member(parents, allowed, rng) for _ in range(k)]
            else:
                drawn += [parents] * k
        masks: Integers = np.array(drawn, dtype=mask_type(len(problem.names)))
        scores, outside = problem.scores, problem.constraints.exogenous
        assert isinstance(scores, LocalScores)  # others have no parameters
        return with_predictive_parameters(scores, masks, rng, outside), what

    def _log_weights(self, weighted: bool = True) -> Floats:
        """Return by what each network or class counts; raise if a class has no known weight."""
        log_weights = self.scores - self.scores[0] if weighted else np.zeros(len(self))
        if not self.equivalence_classes:
            return log_weights
        problem = self._problem
        if problem.families.are_given:
            raise ValueError(
                "ParentSetScores may rule out some members of these equivalence classes. List "
                "networks by near_optimal(equivalence_classes=False)."
            )
        if not weighted:
            return log_weights
        if not problem.is_score_equivalent:
            raise ValueError(
                "The members of these equivalence classes have different scores, so that a class "
                "has no weight. Give weighted=False, or list networks by "
                "near_optimal(equivalence_classes=False)."
            )
        return log_weights + [math.log(n) for n in self._n_members]

    @cached_property
    def _n_members(self) -> list[int]:
        return [
            number_of_members(parents, self._problem.allowed_in_class(parents))
            for parents in self._parents
        ]

    @cached_property
    def _n_edges(self) -> list[int]:
        return [sum(mask.bit_count() for mask in parents) for parents in self._parents]

    def _pattern(self, parents: list[int]) -> npt.NDArray[np.int8]:
        """Return how pairs of columns are joined: 0, an arrow out 1, in 2, and undirected 3."""
        m = len(parents)
        joined = bits_of(parents, m)
        if not self.equivalence_classes:
            return np.asarray(joined + 2 * joined.T, dtype=np.int8)
        is_in = bits_of(compelled_parents(parents, self._problem.irreversible(parents)), m)
        directed = is_in + 2 * is_in.T
        return np.where((joined | joined.T) & (directed == 0), 3, directed).astype(np.int8)

    def _caption(self) -> str:
        kind = "equivalence class" if self.equivalence_classes else "network"
        plural = "es" if self.equivalence_classes else "s"
        far = self.scores[0] - self.scores[-1]
        best = "best" if self.is_proven else "good"
        what = f"{len(self)} {best} {kind}{plural * (len(self) != 1)}"
        left = "" if self.is_complete else "; there are more"
        if not self.is_proven:
            left = "; it is not proven that none better is left out"
        return f"{what}, down to {far:.3g} nats below the best{left}"

    def _rows(self) -> list[list[str]]:
        rows = [
            [
                str(i),
                f"{score:.2f}" if abs(score) < _LARGEST_PLAIN else f"{score:.6g}",
                f"{self.scores[0] - score:.3g}",
                str(n_edges),
            ]
            for i, (score, n_edges) in enumerate(
                zip(self.scores[:_SHOWN], self._n_edges, strict=False)
            )
        ]
        return rows if len(self) <= _SHOWN else [*rows, ["..."] * len(self._header)]


class _LazySequence(Sequence[Item]):
    """A sequence whose items are made when they are taken."""

    def __init__(self, n: int, make: Callable[[int], Item]) -> None:
        self._places = range(n)
        self._make = make

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"<{len(self)} graphs or networks, made when they are taken by index>"

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._make(i) for i in self._places[index]]
        return self._make(self._places[index])

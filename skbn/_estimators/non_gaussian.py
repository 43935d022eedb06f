"""NonGaussianBNLearner: the network of the highest score where noise is not Gaussian."""

import math
from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from skbn._core import estimator
from skbn._core.arrays import Floats
from skbn._core.text import readable_name, warn
from skbn._data.covariance_tables import CovarianceTable
from skbn._estimators import fitting
from skbn._estimators.near_optimal_networks import NearOptimalNetworks
from skbn._estimators.network_estimators import SearchingEstimator
from skbn._non_gaussian.problem import NonGaussianProblem, reversal_losses
from skbn._non_gaussian.residual_scores import ResidualScores, require_likelihood
from skbn._scores.base import BaseScores
from skbn._scores.criteria import Criterion, as_criterion
from skbn._solver.solve import solve
from skbn.exceptions import UncertainDirectionsWarning


@estimator.answers_other_names
@dataclass(eq=False, repr=False)
class NonGaussianBNLearner(SearchingEstimator):
    """Find the best network of linear relations whose noise is not Gaussian (LiNGAM).

    Each column is a linear function of its parents plus independent noise of any shape. Where at
    most one noise is Gaussian, the distribution tells the direction of every edge (Shimizu et al.
    2006). The score of a family is the largest log-likelihood of the child's least-squares
    residuals under a density that adapts to them, less the criterion's cost of the parents. The
    search is exact.

    Parameters
    ----------
    criterion : {"bic", "aic", "loglik", "ebic"}, InformationCriterion or None, default=None
        What parents cost, as in `LocalScoreTransformer`. None means "ebic": where all directions
        compete, the BIC lets through about half an edge too many in ten columns.
    penalty : float or None, default=None
        Multiplies this cost; from 0 to 1e100. None means 1.
    max_parents : int or None, default=None
        The largest number of parents; None means any number. With a small number, such as 3, more
        columns can be searched.
    required_edges : list of (parent, child), table of two columns, networkx.DiGraph or \
None, default=None
        As in `GaussianBNLearner`, and so are the next three.
    forbidden_edges : list of (parent, child), table of two columns, networkx.DiGraph or \
None, default=None
    tiers : list of lists of columns and at most one ``...``, dict of title to list, or None
    exogenous : list of columns, or None, default=None
    time_limit : float or None, default=None
        `fit` refuses a table whose families are predicted to take longer to score, in seconds; None
        stands for 600. Where columns are too many for dynamic programming, branch and cut ends
        after this time with the best network it has found.
    n_jobs : int or None, default=None
        As in `GaussianBNLearner`, and so are the last two.
    max_memory : float, str or None, default=None
    verbose : bool or int, default=False

    Attributes
    ----------
    dag_ : networkx.DiGraph
        The network's graph, as of `GaussianBNLearner`. All edges are `fixed`, and have the
        attribute `reversal_loss` unless the constraints direct them.
    network_ : GaussianBayesianNetwork
        The network as an object. Its weights are least-squares estimates, and its effects, means
        and covariances hold for noise of any shape. Densities, samples and intervals take the noise
        as Gaussian.
    network_score_ : float
        The network's score, in nats.
    reversal_losses_ : ndarray of shape (`n_features_in_`, `n_features_in_`)
        ``reversal_losses_[i, j]`` is by how many nats the best network with the edge j -> i scores
        lower than the one found, which has i -> j; NaN without an edge, and if the constraints
        leave more than 20 columns unordered; infinite if they rule j -> i out.
    local_scores_ : ParentSetScores
        The scores of all families; `top_parents` lists the best of a column.
    is_optimal_ : bool
        This and the next two are as in `GaussianBNLearner`.
    score_bound_ : float
    optimality_gap_ : float
    criterion_ : Criterion
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,) of str
        Only if all columns given to `fit` have strings for names.

    See Also
    --------
    GaussianBNLearner : The same for Gaussian noise, which leaves some directions open.
    BootstrapBNLearner : How often resamples find an edge again.

    Notes
    -----
    The density of residuals with standard deviation s is ``f(r) ~ (1 - z**2) exp(g(z) - b u**2)``
    with ``u = r / s`` and ``z = tanh(pi u / sqrt(12))``: a logistic density, times the exponential
    of a polynomial g of degree 4, and with lighter tails if b > 0. It has the largest likelihood of
    this form, and takes the place of the approximate entropy (Hyvärinen 1998) by which DirectLiNGAM
    compares directions (Shimizu et al. 2011, "DirectLiNGAM: a direct method for learning a linear
    non-Gaussian structural equation model").

    The residuals of all families follow from one walk through the sets of parents, a pass over
    the rows each. Dynamic programming finds the network, as in `GaussianBNLearner`.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn import NonGaussianBNLearner
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.exponential(size=300)
    >>> effect = 0.8 * cause + rng.uniform(size=300)
    >>> learner = NonGaussianBNLearner().fit(np.column_stack([effect, cause]))
    >>> for parent, child, weight in learner.dag_.edges(data="weight"):
    ...     print(f"{parent} -> {child}: {weight:.2f}")
    1 -> 0: 0.79
    """

    _allowed_values: ClassVar[dict[str, Any]] = {
        **SearchingEstimator._allowed_values,
        "time_limit": [estimator.Interval(Real, 0, None, closed="neither"), None],
    }
    _default_criterion = "ebic"
    criterion: str | Criterion | None = None
    _: KW_ONLY
    penalty: float | None = None
    max_parents: int | None = None
    required_edges: Any = None
    forbidden_edges: Any = None
    tiers: Any = None
    exogenous: Any = None
    time_limit: float | None = None
    n_jobs: int | None = None
    max_memory: float | str | None = None
    verbose: bool | int = False
    reversal_losses_: Floats = field(init=False)
    local_scores_: ResidualScores = field(init=False)

    @estimator.fit_method
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, interventions: Any = None
    ) -> Self:
        """Find the best network and estimate its parameters.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Finite numbers, at least 2 columns, and more rows than columns.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts, as in `GaussianBNLearner.fit`.
        interventions : None
            Rows of experiments are not taken.

        Returns
        -------
        self : NonGaussianBNLearner

        Raises
        ------
        ValueError, TypeError
            If X is not such a table, has missing values or text, or is LocalScores or a covariance
            matrix, which say nothing of the noise's shape; if a column is constant or depends
            linearly on others; if no network satisfies the constraints; if scoring the families
            takes longer than `time_limit`, or more memory than there is; if the criterion has a
            prior or unbiased variances; if a parameter has a value other than those above.
        RuntimeError, ImportError
            As `GaussianBNLearner.fit`.

        Warns
        -----
        skbn.exceptions.DataWarning
            If the table may not suit the model: an `UncertainDirectionsWarning`, if reversing an
            edge loses less than 3 nats for most of them, a `DiscreteChildWarning` or a
            `DummyEdgeWarning`.
        skbn.exceptions.MaxParentsWarning
            If `max_parents` costs the network much of its score.
        sklearn.exceptions.ConvergenceWarning
            If branch and cut ended before it proved its network.
        """
        _require_rows(X, interventions)
        if self.criterion is not None:
            require_likelihood(as_criterion(self.criterion))
        sample = fitting.read_sample(self, X, sample_weight, reset=True)
        gaussian = fitting.make_scores(self, sample)
        constraints = fitting.constraints_of(self, gaussian)
        scores = ResidualScores(gaussian, constraints, self.n_jobs, self.time_limit)
        problem = NonGaussianProblem(scores, constraints)
        resources = fitting.resources_of(self, self.time_limit)
        (found,) = solve(problem, resources)
        losses = reversal_losses(problem, found, resources)
        learned = {"reversal_losses_": losses, "local_scores_": scores}
        fitting.keep_found(self, found, problem, **learned)
        self.network_ = self.network_._with_notes(
            reversal_loss=np.where(np.isfinite(losses), losses, np.nan)
        )
        self._warn_of_open_directions()
        fitting.warn_about_proof(self)
        fitting.warn_about_network(found, problem, is_gaussian=False)
        return self

    def near_optimal(
        self,
        n: int | None = None,
        *,
        within: float | None = None,
        equivalence_classes: bool = False,
    ) -> NearOptimalNetworks:
        """Return the networks that score nearly as high as the best, in order of their score.

        Parameters
        ----------
        n : int or None, default=None
        within : float or None, default=None
            As in `GaussianBNLearner.near_optimal`.
        equivalence_classes : bool, default=False
            Whether to list only the best network of each class of networks that Gaussian noise
            could not tell apart.

        Returns
        -------
        near_optimal : NearOptimalNetworks

        Raises
        ------
        ValueError, TypeError
            As `GaussianBNLearner.near_optimal`.

        Examples
        --------
        >>> import numpy as np
        >>> from skbn import NonGaussianBNLearner
        >>> rng = np.random.default_rng(0)
        >>> cause = rng.exponential(size=60)
        >>> effect = cause + rng.uniform(size=60)
        >>> learner = NonGaussianBNLearner().fit(np.column_stack([effect, cause]))
        >>> [list(network.dag.edges) for network in learner.near_optimal(2)]
        [[(1, 0)], [(0, 1)]]
        """
        how = {"within": within, "equivalence_classes": equivalence_classes}
        return super().near_optimal(n, **how)  # type: ignore[arg-type]

    def _warn_of_open_directions(self) -> None:
        """Warn if most directions are uncertain."""
        n_edges, n_open = self._n_open()
        if 2 * n_open > n_edges:
            warn(
                f"Reversing any of {n_open} of {n_edges} edges lowers the score by less than "
                f"{fitting.STRONG_EVIDENCE:g} nats: the noise is too close to Gaussian, or the "
                "rows are too few, to tell these directions. reversal_losses_ says which; "
                "GaussianBNLearner shows what is known without them, by network_.cpdag().",
                UncertainDirectionsWarning,
            )

    def _n_open(self) -> tuple[int, int]:
        """Return how many edges constraints do not direct, and how many directions are unsure."""
        found = self.reversal_losses_[np.isfinite(self.reversal_losses_)]
        return len(found), int((found < fitting.STRONG_EVIDENCE).sum())

    def _summary_lines(self) -> list[tuple[str, str]]:
        n_edges, n_open = self._n_open()
        if not n_edges:
            return []
        names, losses = self.network_.nodes, self.reversal_losses_
        finite = np.where(np.isfinite(losses), losses, math.inf)
        i, j = np.unravel_index(np.argmin(finite), finite.shape)
        edge = f"{readable_name(names[i])} -> {readable_name(names[j])}"
        least = f"{finite[i, j]:.3g} nats for {edge}"
        return [
            ("reversal", f"loses at least {least}; less than 3 for {n_open} of {n_edges} edges")
        ]


def _require_rows(X: Any, interventions: Any) -> None:
    """Raise if X has no rows, whose noise has a shape, or if columns were set in some."""
    if isinstance(X, BaseScores | CovarianceTable):
        raise TypeError(
            f"X is {type(X).__name__}, which says nothing of the shape of the noise. Give the "
            "table of its rows, or fit a GaussianBNLearner to it."
        )
    if interventions is not None:
        raise TypeError(
            "NonGaussianBNLearner takes no interventions. Leave out the rows in which a column was "
            "set, make columns that were set in all rows exogenous, or fit a GaussianBNLearner."
        )

"""The criteria: what a family of a child and its parents is worth, in nats.

A criterion is three tables over the number l of parents, which define the local score of a
child x with the parents P as ``c[l] + a0[l] * L[P] + a1[l] * L[P + x]``, where L holds the
log-determinants of all subsets of the columns. The search knows nothing else about it.

`Criterion` and `InformationCriterion` are the classes to derive from; `LogLikelihood`, `AIC`,
`BIC`, `EBIC` and `BGe` are the criteria that have names.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, gammaln
from sklearn.base import BaseEstimator, clone

from skbn._core.arrays import Floats
from skbn._core.columns import by_label, is_labelled, numbers_by_column
from skbn._core.estimator import Interval, StrOptions, check_parameters
from skbn._core.text import first_few, must_be, readable_value
from skbn._data.statistics import Prior
from skbn._displays.notebook import DocLinkMixin
from skbn._regressions.set_function import SCORE_ACCURACY

# A numpy number, so that a float32 can be compared with it without a warning.
LARGEST_PENALTY = np.float64(1e100)
# Sums of larger scores might be infinite. The largest penalty times the largest gamma of
# `EBIC` remains below it.
_LARGEST = 1e250
# If c is below its largest entry by this share of its magnitude, its rounding does not matter:
# no likelihood makes up for the difference.
_FAR_BELOW = 1 / 16
# The rounding of a log-determinant, about 1e-14, times its weight in a score must stay small.
_LARGEST_WEIGHT = 1e9
# The square of a larger mean is out of float64's range, or nearly.
_LARGEST_MEAN = 1e150


def read_penalty(penalty: Any) -> float:
    """Return a penalty as a number."""
    is_number = isinstance(penalty, Real) and not isinstance(penalty, bool | np.bool_)
    if not (is_number and 0 <= penalty <= LARGEST_PENALTY):
        raise ValueError(must_be("A penalty", f"a number from 0 to {LARGEST_PENALTY:g}", penalty))
    return float(penalty)


# What a criterion's methods return


def check_numbers(values: Any, shape: tuple[int, ...], what: str) -> Floats:
    """Return a copy of an array of real numbers of this shape."""
    _reject_labels(values, what)
    try:
        array = np.array(values)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if array.dtype.kind not in "biuf" or array.shape != shape:
        raise ValueError(must_be(what, f"an array of numbers of shape {shape}", values))
    return array.astype(np.float64)


def check_noise_divisors(divisors: Any, name: str, n_samples: float, m: int) -> Floats:
    """Return what the criterion of this name divides by for 0, ..., m - 1 parents."""
    what = f"{name}.noise_divisors({n_samples:.10g}, {m})"
    divisors = check_numbers(divisors, (m,), what)
    if np.isnan(divisors).any():
        raise ValueError(f"{what} must not be NaN; got {readable_value(divisors.tolist())}.")
    return divisors


def check_prior_mean(nu: Any, m: int) -> Floats:
    """Return the prior means of m columns, as `BGe` has them in `nu`."""
    means = np.asarray(nu)
    is_real = means.dtype.kind in "biuf"
    if not is_real or means.shape != (m,) or not (np.abs(means) <= _LARGEST_MEAN).all():
        raise ValueError(
            f"nu must hold a finite prior mean for each of the {m} columns, of at most "
            f"{_LARGEST_MEAN:g} in magnitude; got {readable_value(means)}."
        )
    return means.astype(np.float64)


def check_prior(prior: Any, what: str, m: int) -> Prior | None:
    """Return a criterion's prior for m columns with arrays of its own."""
    if prior is None:
        return None
    if not isinstance(prior, Prior):
        raise TypeError(f"{what} must return a Prior or None; got {readable_value(prior)}.")
    rows = check_numbers(prior.rows, (len(prior.rows), m), f"{what}: the rows")
    mean = check_numbers(prior.mean, (m,), f"{what}: the mean")
    if not np.isfinite(rows).all() or not np.isfinite(mean).all():
        raise ValueError(f"{what} must be finite; got {readable_value(prior)}.")
    return Prior(rows, mean)


def check_tables(tables: Any, name: str, n_samples: float, m: int, max_parents: int) -> Floats:
    """Return the tables of the criterion of this name with -inf in c beyond `max_parents`."""
    what = f"{name}.tables({n_samples:.10g}, {m})"
    tables = check_numbers(tables, (3, m), what)
    tables[0, max_parents + 1 :] = -np.inf
    largest_weight = np.abs(tables[1:]).max()
    if _LARGEST_WEIGHT < largest_weight < np.inf:
        raise ValueError(
            f"With n_samples = {n_samples:g}, the number of rows or the sum of their weights, "
            f"{name} weighs log-determinants by up to {largest_weight:g}, and with more than "
            f"{_LARGEST_WEIGHT:g} scores are known to too few digits; pass smaller weights, such "
            "as sample_weight / sample_weight.mean(), lower the criterion's parameters, or give "
            "fewer rows."
        )
    if np.isnan(tables).any() or (tables[0] > _LARGEST).any() or np.isinf(largest_weight):
        raise ValueError(must_be(what, "finite, except for -inf in its first row", tables.tolist()))
    tables[0, tables[0] < -_LARGEST] = -np.inf
    _check_differences(tables, what)
    return tables


def _check_differences(tables: Floats, what: str) -> None:
    """Raise if the rounding of c's entries hides differences between them that may matter."""
    largest = largest_constant(tables)
    differences = largest - tables[0]
    magnitude = np.maximum(np.abs(tables[0]), abs(largest))
    # Each of two entries has a rounding of its own and one from the product with the penalty.
    error = 2 * np.finfo(np.float64).eps * magnitude
    is_uncertain = (error > SCORE_ACCURACY) & (differences < _FAR_BELOW * magnitude)
    is_uncertain[np.argmax(tables[0])] = False  # the entry that the others are compared with
    if is_uncertain.any():
        n_parents = int(np.argmax(is_uncertain))
        raise ValueError(
            f"{what} has {tables[0, n_parents]:g} in its first row for {n_parents} parents, where "
            f"float64 cannot tell scores apart to {SCORE_ACCURACY} nats. Leave out a constant that "
            "families of all sizes share, or lower the penalty; -inf rules out a number of parents."
        )


def _reject_labels(values: Any, what: str) -> None:
    """Raise if values whose order alone counts have labels other than 0, 1, ..."""
    for axis in getattr(values, "axes", []):
        labels = list(axis)
        if labels != list(range(len(labels))):
            raise ValueError(
                f"{what} must come without labels, because its values are taken in their order; "
                f"got the labels [{first_few(labels)}]. Bring them into that order and return an "
                "array, for example by to_numpy()."
            )


# What tables imply


def largest_constant(tables: Floats) -> float:
    """Return the largest entry of c in a criterion's tables, 0 if all are -inf."""
    largest = float(tables[0].max())
    return largest if largest > -np.inf else 0.0


def is_scale_free(tables: Floats) -> bool:
    """Whether a column's unit adds a constant to all its local scores, whatever its parents."""
    return bool((tables[1] == -tables[2, 0]).all() and (tables[2] == tables[2, 0]).all())


def is_score_equivalent(tables: Floats) -> bool:
    """Whether networks that imply the same independences have the same score.

    Reversing an edge between columns with the same other parents exchanges their numbers
    of parents, so that c cancels; what remains is the set of these parents and one column.
    """
    return bool((tables[2, :-1] == -tables[1, 1:]).all())


# Comparison


def same_criterion(a: BaseEstimator, b: BaseEstimator) -> bool:
    """Whether two criteria are of one class and have the same parameters."""
    return type(a) is type(b) and all(
        _same_parameter(value, getattr(b, name)) for name, value in a.get_params(deep=False).items()
    )


def _same_parameter(a: Any, b: Any) -> bool:
    if isinstance(a, BaseEstimator) and isinstance(b, BaseEstimator):
        return same_criterion(a, b)
    if is_labelled(a) or is_labelled(b):
        if not (is_labelled(a) and is_labelled(b)):
            return False
        a, b = (by_label(values, "A criterion's parameter", "label") for values in (a, b))
        return a.keys() == b.keys() and all(_same_parameter(a[label], b[label]) for label in a)
    return a is b or bool(np.array_equal(a, b))


class Criterion(DocLinkMixin, BaseEstimator, ABC):
    """What the families of a network are worth; derive from it to write your own.

    A network's score is the sum of its families' local scores. That of a child x
    with a set P of l parents is ``c[l] + a0[l] * L[P] + a1[l] * L[P + x]`` nats,
    where ``L[S] = log det(Z'Z)`` for the centred columns Z in S. The residual sum of
    squares of x on P is ``exp(L[P + x] - L[P])``.

    A derived class defines `tables`. One that is a log-likelihood less a cost for
    each parameter derives from `InformationCriterion` instead and defines its cost.

    Attributes
    ----------
    marginal_likelihood : {"exact", "approximate", "none"}
        Whether the exponential of a network's score is the probability density of the table, given
        the network, up to a factor that is the same for all networks. `GaussianBNPosterior` needs
        it. A derived class has "none" unless it says otherwise.

    See Also
    --------
    InformationCriterion : The log-likelihood less a cost for each parameter.

    Examples
    --------
    The log-likelihood, up to a constant, less three nats for each edge:

    >>> import numpy as np
    >>> from skbn import Criterion, GaussianBNLearner
    >>> class ThreeNatsAnEdge(Criterion):
    ...     def tables(self, n_samples, m):
    ...         n_parents = np.arange(m)
    ...         half_n = np.full(m, n_samples / 2)
    ...         return np.array([-3.0 * n_parents, half_n, -half_n])
    >>> rows = np.random.default_rng(0).normal(size=(50, 3))
    >>> GaussianBNLearner(ThreeNatsAnEdge()).fit(rows).dag_.number_of_edges()
    0
    """

    marginal_likelihood: ClassVar[str] = "none"

    @abstractmethod
    def tables(self, n_samples: float, m: int) -> Floats:
        """Return c, a0 and a1 as the rows of an array of shape (3, m).

        Parameters
        ----------
        n_samples : int or float
            Number of rows of the table, or the sum of their weights.
        m : int
            Number of its columns. A child has from 0 to m - 1 parents.

        Returns
        -------
        tables : ndarray of shape (3, m), float64
            Finite, except that c may be -inf for numbers of parents that are ruled out.
        """

    def for_columns(self, columns: list[str | int]) -> Criterion:
        """Return the criterion as it is for these columns; by default itself.

        The other methods know columns only by position. A criterion whose parameters are
        given by column name puts them in order here. Scores of a table call this method
        first, and then use only the criterion that it returns.

        Parameters
        ----------
        columns : list of str or int
            The columns' names in their order, or their numbers if they have none.

        Returns
        -------
        criterion : Criterion
            The criterion itself, or another one; it is not changed.

        Raises
        ------
        ValueError
            If a parameter does not go with these columns.
        """
        return self

    def prior(self, n_samples: float, mean: Floats) -> Prior | None:
        """Return rows to be stacked under the centred table; by default none.

        With such rows no likelihood is unbounded, however few rows the table has.

        Parameters
        ----------
        n_samples : int or float
            Number of rows, or the sum of their weights.
        mean : ndarray of shape (m,)
            The means of the table's columns.

        Returns
        -------
        prior : Prior or None
            A named tuple of `rows`, of shape (k, m), and `mean`, of shape (m,): the
            estimates of the columns' means from table and prior together.
        """
        return None

    def noise_divisors(self, n_samples: float, m: int) -> Floats:
        """Return the divisors of a residual sum of squares that give the noise's variance.

        Parameters
        ----------
        n_samples : int or float
            Number of rows, or the sum of their weights.
        m : int
            Number of columns.

        Returns
        -------
        divisors : ndarray of shape (m,), float64
            For 0, ..., m - 1 parents; n for the maximum-likelihood estimate.
        """
        return np.full(m, float(n_samples))


class InformationCriterion(Criterion):
    """The maximised log-likelihood less a cost for each parameter; derive to write your own.

    A derived class defines `complexity`. It may have parameters of its own, as keyword
    arguments of its ``__init__`` that are kept under their names. With n rows and the
    residual sum of squares RSS of the child's regression on its l parents, a family's
    score in nats is::

        -n/2 * (log(2 pi RSS / n) + 1) - penalty * complexity(n, m)[l]

    The `penalty` is a parameter of the estimator that is given the criterion.

    Parameters
    ----------
    unbiased_variance : bool, default=False
        Whether the noise's variance is estimated by ``RSS / (n - l - 1)``, as R's bnlearn
        does ("loglik-g", "aic-g", "bic-g", "ebic-g"). The log-likelihood is then not the
        maximum but ``-n/2 * log(2 pi RSS / (n - l - 1)) - (n - l - 1) / 2``. The difference,
        ``n/2 * log((n - l - 1) / n) + (l + 1) / 2``, depends on l alone.

    Examples
    --------
    The criterion of Hannan & Quinn (1979):

    >>> import numpy as np
    >>> from skbn import GaussianBNLearner, InformationCriterion
    >>> class HannanQuinn(InformationCriterion):
    ...     def complexity(self, n_samples, m):
    ...         n_parameters = np.arange(m) + 2
    ...         return n_parameters * np.log(np.log(n_samples))
    >>> rows = np.random.default_rng(0).normal(size=(50, 3))
    >>> GaussianBNLearner(HannanQuinn(), penalty=1.5).fit(rows).criterion_
    HannanQuinn()
    """

    _allowed_values: ClassVar[dict[str, list[Any]]] = {"unbiased_variance": ["boolean"]}

    unbiased_variance = False  # for derived classes without this parameter

    def __init__(self, *, unbiased_variance: bool = False) -> None:
        self.unbiased_variance = unbiased_variance

    @abstractmethod
    def complexity(self, n_samples: float, m: int) -> Floats:
        """Return the cost of a child with 0, ..., m - 1 parents, shape (m,), in nats.

        A child with l parents has l + 2 parameters: l coefficients, the intercept and the
        noise's variance.

        Parameters
        ----------
        n_samples : int or float
            Number of rows, or the sum of their weights.
        m : int
            Number of columns.

        Returns
        -------
        cost : ndarray of shape (m,), float64
        """

    def edge_complexity(self, m: int) -> Floats:
        """Return a further cost of a child with 0, ..., m - 1 parents; by default none.

        Where nodes have several columns each, `complexity` counts columns, as each has a
        coefficient, and this cost counts nodes, as edges join these.

        Parameters
        ----------
        m : int
            Number of nodes.

        Returns
        -------
        cost : ndarray of shape (m,), float64, nats
        """
        return np.zeros(m)

    def tables(self, n_samples: float, m: int, penalty: float = 1.0) -> Floats:
        """Return c, a0 and a1 as the rows of an array of shape (3, m).

        Parameters
        ----------
        n_samples : int or float
            Number of rows, or the sum of their weights.
        m : int
            Number of columns.
        penalty : float, default=1.0
            Multiplies the complexity.

        Returns
        -------
        tables : ndarray of shape (3, m), float64
        """
        tables = tables_of_columns(self, n_samples, m, penalty)
        tables[0] -= penalty * edge_costs(self, m)
        return tables

    def noise_divisors(self, n_samples: float, m: int) -> Floats:
        n_coefficients = np.arange(1, m + 1) if self.unbiased_variance else np.zeros(m)
        return n_samples - n_coefficients.astype(np.float64)


def tables_of_columns(
    criterion: InformationCriterion,
    n_samples: float,
    m: int,
    penalty: float,
    n_all: float | None = None,
) -> Floats:
    """Return a criterion's tables for m columns without what it charges for edges.

    Its complexity counts `n_all` rows; by default those of the likelihood.
    """
    n_counted = n_samples if n_all is None else n_all
    check_parameters(criterion)
    half_n = n_samples / 2
    name = type(criterion).__name__
    divisors = check_noise_divisors(criterion.noise_divisors(n_samples, m), name, n_samples, m)
    cost = check_numbers(
        criterion.complexity(n_counted, m), (m,), f"{name}.complexity({n_counted:.10g}, {m})"
    )
    # A divisor of 0: as many coefficients as rows leave no noise to estimate.
    log_divisors = np.log(divisors, where=divisors > 0, out=np.full(m, -np.inf))
    constant = half_n * (log_divisors - math.log(2 * math.pi)) - divisors / 2
    # An infinite cost rules a number of parents out, whatever the penalty.
    constant = constant - np.multiply(penalty, cost, where=cost < np.inf, out=cost)
    return np.array([constant, np.full(m, half_n), np.full(m, -half_n)])


def edge_costs(criterion: InformationCriterion, m: int) -> Floats:
    """Return what a criterion charges for 0, ..., m - 1 edges to a node, after checking it."""
    what = f"{type(criterion).__name__}.edge_complexity({m})"
    return check_numbers(criterion.edge_complexity(m), (m,), what)


class LogLikelihood(InformationCriterion):
    """The maximised log-likelihood, in nats. It grows with every parent.

    ``-n/2 * (log(2 pi RSS / n) + 1)`` for a child with the residual sum of squares RSS.

    Parameters
    ----------
    unbiased_variance : bool, default=False
        As in `InformationCriterion`: bnlearn's "loglik-g".

    See Also
    --------
    AIC : A cost of 1 for each parameter.
    BIC : A cost that grows with the rows.

    Examples
    --------
    >>> from skbn import LogLikelihood
    >>> LogLikelihood().tables(n_samples=100, m=2).round(2).tolist()
    [[88.36, 88.36], [50.0, 50.0], [-50.0, -50.0]]
    """

    def complexity(self, n_samples: float, m: int) -> Floats:
        return np.zeros(m)


class AIC(InformationCriterion):
    """The criterion of Akaike (1974), "A new look at the statistical model identification".

    ``-n/2 * (log(2 pi RSS / n) + 1) - penalty * (l + 2)`` nats, -1/2 of the usual AIC,
    for a child with l parents and the residual sum of squares RSS.

    Parameters
    ----------
    unbiased_variance : bool, default=False
        As in `InformationCriterion`: bnlearn's "aic-g".

    See Also
    --------
    BIC : A larger cost, for tables from which edges are read.

    Examples
    --------
    >>> from skbn import AIC
    >>> AIC().tables(n_samples=100, m=3)[0].round(2).tolist()
    [86.36, 85.36, 84.36]
    """

    def complexity(self, n_samples: float, m: int) -> Floats:
        return np.arange(2.0, m + 2)


class BIC(InformationCriterion):
    """The criterion of Schwarz (1978), "Estimating the dimension of a model".

    ``-n/2 * (log(2 pi RSS / n) + 1) - penalty * (l + 2) * log(n) / 2`` nats, -1/2 of the
    usual BIC, for a child with l parents and the residual sum of squares RSS.

    Parameters
    ----------
    unbiased_variance : bool, default=False
        As in `InformationCriterion`: bnlearn's "bic-g".

    See Also
    --------
    EBIC : A larger cost, for many columns.
    BGe : A marginal likelihood, with priors.

    Examples
    --------
    >>> from skbn import BIC
    >>> BIC().tables(n_samples=100, m=3)[0].round(2).tolist()
    [83.76, 81.46, 79.15]
    """

    marginal_likelihood: ClassVar[str] = "approximate"

    def complexity(self, n_samples: float, m: int) -> Floats:
        return np.arange(2.0, m + 2) * (math.log(n_samples) / 2)


class EBIC(BIC):
    """The extended BIC, for many columns and few rows.

    ``-n/2 * (log(2 pi RSS / n) + 1) - penalty * ((l + 2) * log(n) / 2 + gamma * e(l))``
    nats for a child with l of m - 1 possible parents; `form` chooses e(l).

    Parameters
    ----------
    gamma : float, default=0.5
        From 0, which gives the BIC, to 1e100.
    form : {"foygel-drton", "chen-chen", "bnlearn"}, default="foygel-drton"
        - "foygel-drton": ``e(l) = 2 * l * log(m)``, of Foygel & Drton (2010), "Extended
          Bayesian information criteria for Gaussian graphical models", which counts edges.
        - "chen-chen": ``e(l) = log(binomial(m - 1, l))``, of Chen & Chen (2008), "Extended
          Bayesian information criteria for model selection with large model spaces", which
          counts the regressions with l predictors.
        - "bnlearn": ``e(l) = 4 * l * log(m)``, as in R's bnlearn.
    unbiased_variance : bool, default=False
        As in `InformationCriterion`; with ``form="bnlearn"`` bnlearn's "ebic-g".

    See Also
    --------
    BIC : The same with ``gamma=0``.

    Examples
    --------
    >>> from skbn import EBIC
    >>> EBIC(gamma=1).tables(n_samples=100, m=3)[0].round(2).tolist()
    [83.76, 79.26, 74.76]
    """

    _allowed_values: ClassVar[dict[str, list[Any]]] = {
        **InformationCriterion._allowed_values,
        "gamma": [Interval(Real, 0, LARGEST_PENALTY, closed="both")],
        "form": [StrOptions({"foygel-drton", "chen-chen", "bnlearn"})],
    }

    def __init__(
        self, gamma: float = 0.5, *, form: str = "foygel-drton", unbiased_variance: bool = False
    ) -> None:
        super().__init__(unbiased_variance=unbiased_variance)
        self.gamma = gamma
        self.form = form

    def edge_complexity(self, m: int) -> Floats:
        n_parents = np.arange(float(m))
        if self.form == "chen-chen":
            extension = gammaln(m) - gammaln(n_parents + 1) - gammaln(m - n_parents)
        else:
            extension = (4 if self.form == "bnlearn" else 2) * n_parents * math.log(m)
        return np.asarray(self.gamma * extension)


class BGe(Criterion):
    """The Bayesian Gaussian score: a network's likelihood with its parameters integrated out.

    The prior of Geiger & Heckerman (2002), "Parameter priors for directed acyclic graphical
    models and the characterization of several probability distributions", in the form that
    Kuipers, Moffa & Heckerman (2014), "Addendum on the scoring of Gaussian directed acyclic
    graphical models", corrected: the precision matrix W has a Wishart distribution with
    `alpha_w` degrees of freedom and the parametric matrix T, the means given W are normal
    about `nu` with precision ``alpha_mu * W``, and ``T = t * I`` with
    ``t = alpha_mu * (alpha_w - m - 1) / (alpha_mu + 1)`` for m columns. For n rows with
    mean x and scatter S about it, let
    ``R = T + S + alpha_mu * n / (alpha_mu + n) * (x - nu)(x - nu)'`` and ``a = alpha_w - m``.
    For a child with a set P of l parents, and Q the parents with the child, the local score
    in nats is::

        1/2 * log(alpha_mu / (n + alpha_mu)) - n/2 * log(pi)
        + lgamma((n + a + l + 1) / 2) - lgamma((a + l + 1) / 2)
        + (a + 2 * l + 1) / 2 * log(t)
        + (n + a + l) / 2 * log(det(R[P, P])) - (n + a + l + 1) / 2 * log(det(R[Q, Q]))

    R is positive definite even with few rows or dependent columns, so no family's score is
    unbounded. The score depends on the columns' units; standardised columns suit the default
    prior.

    Parameters
    ----------
    alpha_mu : float, default=1.0
        How many rows the prior mean counts for, from 1e-100 to 1e100; ``iss.mu`` in bnlearn,
        ``am`` in BiDAG.
    alpha_w : float or None, default=None
        Degrees of freedom of the Wishart prior, more than m + 1 and up to 1e8; None stands
        for m + 2. ``iss.w`` in bnlearn, ``aw`` in BiDAG. A `GaussianBNPosterior` takes up to 1e4.
    nu : array-like of shape (m,), dict, pandas.Series or None, default=None
        The prior mean of the columns, each of at most 1e150 in magnitude. A dict or a Series
        names each column once, by its name or its number, in any order. An array or a list is
        in the columns' order. None stands for the columns' means.

    See Also
    --------
    BIC : Without priors, whatever the columns' units.
    GaussianBNPosterior : Probabilities of edges by this score.

    Notes
    -----
    The parameters of a network that is learned with this score are the posterior means of
    its coefficients, its noises' precisions and the columns' means.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn import BGe, GaussianBNLearner
    >>> rows = np.random.default_rng(0).normal(size=(4, 6))  # fewer rows than columns
    >>> rows[:, 1] = rows[:, 0]
    >>> list(GaussianBNLearner(BGe(alpha_mu=0.1)).fit(rows).dag_.edges)
    [(0, 1), (2, 5), (4, 5)]
    """

    marginal_likelihood: ClassVar[str] = "exact"

    _allowed_values: ClassVar[dict[str, list[Any]]] = {
        "alpha_mu": [Interval(Real, np.float64(1e-100), np.float64(1e100), closed="both")],
        "alpha_w": [Interval(Real, 0, np.float64(1e8), closed="right"), None],
        "nu": ["array-like", dict, None],
    }

    def __init__(
        self,
        alpha_mu: float = 1.0,
        alpha_w: float | None = None,
        nu: npt.ArrayLike | Mapping[str | int, float] | None = None,
    ) -> None:
        self.alpha_mu = alpha_mu
        self.alpha_w = alpha_w
        self.nu = nu

    def for_columns(self, columns: list[str | int]) -> Self:
        if not is_labelled(self.nu):
            return self
        return clone(self).set_params(nu=numbers_by_column(columns, self.nu, "nu"))

    def tables(self, n_samples: float, m: int) -> Floats:
        a, t = self._freedom_and_scale(m)
        n, alpha_mu = n_samples, float(self.alpha_mu)
        n_parents = np.arange(m)
        family = a + n_parents + 1
        constant = (
            0.5 * math.log(alpha_mu / (n + alpha_mu))
            - n / 2 * math.log(math.pi)
            + gammaln(n / 2)
            - betaln(family / 2, n / 2)  # gammaln((n + family) / 2) - gammaln(family / 2)
            + (family + n_parents) / 2 * math.log(t)
        )
        weights = (n + a + np.arange(m + 1)) / 2
        return np.array([constant, weights[:-1], -weights[1:]])

    def prior(self, n_samples: float, mean: Floats) -> Prior:
        m = len(mean)
        _, t = self._freedom_and_scale(m)
        nu = mean
        if self.nu is not None:
            nu = check_prior_mean(self.for_columns(list(range(m))).nu, m)
        weight = float(self.alpha_mu) / (float(self.alpha_mu) + n_samples)
        shift = math.sqrt(weight * n_samples) * (mean - nu)
        rows = np.vstack([math.sqrt(t) * np.eye(m), shift])  # rows.T @ rows is R - S
        return Prior(rows, mean + weight * (nu - mean))

    def noise_divisors(self, n_samples: float, m: int) -> Floats:
        a, _ = self._freedom_and_scale(m)
        return np.arange(1.0, m + 1) + (n_samples + a)

    def _freedom_and_scale(self, m: int) -> tuple[float, float]:
        """Return ``alpha_w - m`` and t."""
        check_parameters(self)
        a = 2.0 if self.alpha_w is None else float(self.alpha_w) - m
        if a <= 1:
            raise ValueError(
                f"alpha_w must be larger than m + 1 = {m + 1} for m = {m} columns, or the prior's "
                f"T = t * I is not positive definite; got {readable_value(self.alpha_w)}."
            )
        alpha_mu = float(self.alpha_mu)  # a float32 would cut the result to seven digits
        return a, alpha_mu * (a - 1) / (alpha_mu + 1)


CRITERIA: dict[str, type[Criterion]] = {
    "loglik": LogLikelihood,
    "aic": AIC,
    "bic": BIC,
    "ebic": EBIC,
    "bge": BGe,
}
"""The criteria that a string stands for, with their default parameters."""


def as_criterion(criterion: str | Criterion) -> Criterion:
    """Return the criterion of that name, or a copy of the object."""
    return CRITERIA[criterion]() if isinstance(criterion, str) else clone(criterion)


def criterion_for(criterion: Criterion, columns: list[str | int]) -> Criterion:
    """Return what a criterion's `for_columns` returns, if it is a `Criterion`."""
    found: Any = criterion.for_columns(columns)
    if not isinstance(found, Criterion):
        name = type(criterion).__name__
        raise TypeError(f"{name}.for_columns must return a Criterion; got {found!r}.")
    return found

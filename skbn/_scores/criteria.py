"""The criteria that have names: information criteria and the BGe score."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, gammaln
from sklearn.base import clone

from skbn._core.columns import numbers_by_column
from skbn._core.labels import by_label, is_labelled
from skbn._core.parameters import Interval, StrOptions, check_parameters
from skbn._core.text import readable_value
from skbn._data.statistics import Prior
from skbn._scores.criterion import LARGEST_PENALTY, Criterion, InformationCriterion

__all__ = [
    "AIC",
    "BIC",
    "CRITERIA",
    "EBIC",
    "BGe",
    "LogLikelihood",
    "as_criterion",
    "same_criterion",
]


# The square of a larger mean is out of float64's range, or nearly.
_LARGEST_MEAN = 1e150


class LogLikelihood(InformationCriterion):
    """The maximised log-likelihood, in nats; the more parents, the larger.

    ``-n/2 * (log(2 pi RSS / n) + 1)`` for a child with the residual sum of squares RSS.

    Parameters
    ----------
    unbiased_variance : bool, default=False
        As in `InformationCriterion`: bnlearn's "loglik-g".

    Examples
    --------
    >>> from skbn import LogLikelihood
    >>> LogLikelihood().tables(n_samples=100, m=2).round(2).tolist()
    [[88.36, 88.36], [50.0, 50.0], [-50.0, -50.0]]
    """

    def complexity(self, n_samples: float, m: int) -> npt.NDArray[np.float64]:
        """Return zeros.

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
        return np.zeros(m)


class AIC(InformationCriterion):
    """The criterion of Akaike (1974), "A new look at the statistical model identification".

    ``-n/2 * (log(2 pi RSS / n) + 1) - penalty * (l + 2)`` nats, -1/2 of the usual AIC,
    for a child with l parents and the residual sum of squares RSS.

    Parameters
    ----------
    unbiased_variance : bool, default=False
        As in `InformationCriterion`: bnlearn's "aic-g".

    Examples
    --------
    >>> from skbn import AIC
    >>> AIC().tables(n_samples=100, m=3)[0].round(2).tolist()
    [86.36, 85.36, 84.36]
    """

    def complexity(self, n_samples: float, m: int) -> npt.NDArray[np.float64]:
        """Return l + 2 for l = 0, ..., m - 1 parents.

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
        return np.arange(2.0, m + 2)


class BIC(InformationCriterion):
    """The criterion of Schwarz (1978), "Estimating the dimension of a model".

    ``-n/2 * (log(2 pi RSS / n) + 1) - penalty * (l + 2) * log(n) / 2`` nats, -1/2 of the
    usual BIC, for a child with l parents and the residual sum of squares RSS.

    Parameters
    ----------
    unbiased_variance : bool, default=False
        As in `InformationCriterion`: bnlearn's "bic-g".

    Examples
    --------
    >>> from skbn import BIC
    >>> BIC().tables(n_samples=100, m=3)[0].round(2).tolist()
    [83.76, 81.46, 79.15]
    """

    def complexity(self, n_samples: float, m: int) -> npt.NDArray[np.float64]:
        """Return (l + 2) * log(n) / 2 for l = 0, ..., m - 1 parents.

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
        return np.arange(2.0, m + 2) * (math.log(n_samples) / 2)


class EBIC(BIC):
    """The extended BIC, for many columns and few rows.

    ``-n/2 * (log(2 pi RSS / n) + 1) - penalty * ((l + 2) * log(n) / 2 + gamma * e(l))``
    nats for a child with l of m - 1 possible parents, where e(l) is one of several.

    Parameters
    ----------
    gamma : float, default=0.5
        From 0, which is the BIC, to 1e100.
    form : {"foygel-drton", "chen-chen", "bnlearn"}, default="foygel-drton"
        - "foygel-drton": ``e(l) = 2 * l * log(m)``, of Foygel & Drton (2010), "Extended
          Bayesian information criteria for Gaussian graphical models", who count edges.
        - "chen-chen": ``e(l) = log(binomial(m - 1, l))``, of Chen & Chen (2008), "Extended
          Bayesian information criteria for model selection with large model spaces", who
          count the regressions with l predictors.
        - "bnlearn": ``e(l) = 4 * l * log(m)``, as R's bnlearn has it.
    unbiased_variance : bool, default=False
        As in `InformationCriterion`; with ``form="bnlearn"`` bnlearn's "ebic-g".

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
        self,
        gamma: float = 0.5,
        *,
        form: str = "foygel-drton",
        unbiased_variance: bool = False,
    ) -> None:
        super().__init__(unbiased_variance=unbiased_variance)
        self.gamma = gamma
        self.form = form

    def complexity(self, n_samples: float, m: int) -> npt.NDArray[np.float64]:
        """Return the BIC's complexity and gamma * e(l) for l = 0, ..., m - 1 parents.

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
        n_parents = np.arange(float(m))
        if self.form == "chen-chen":
            extension = gammaln(m) - gammaln(n_parents + 1) - gammaln(m - n_parents)
        else:
            extension = (4 if self.form == "bnlearn" else 2) * n_parents * math.log(m)
        return super().complexity(n_samples, m) + self.gamma * extension


class BGe(Criterion):
    """The Bayesian Gaussian score: a network's marginal likelihood, parameters integrated out.

    The prior of Geiger & Heckerman (2002), "Parameter priors for directed acyclic graphical
    models and the characterization of several probability distributions", in the form that
    Kuipers, Moffa & Heckerman (2014), "Addendum on the scoring of Gaussian directed acyclic
    graphical models", corrected: the precision matrix W has a Wishart distribution with
    `alpha_w` degrees of freedom and the parametric matrix T, the means given W are normal
    about `nu` with precision ``alpha_mu * W``, and ``T = t * I`` with
    ``t = alpha_mu * (alpha_w - m - 1) / (alpha_mu + 1)`` for m columns. With n rows, of
    mean x and scatter S about it, let
    ``R = T + S + alpha_mu * n / (alpha_mu + n) * (x - nu)(x - nu)'`` and ``a = alpha_w - m``.
    The local score of a child with a set P of l parents, Q = P and the child, in nats::

        1/2 * log(alpha_mu / (n + alpha_mu)) - n/2 * log(pi)
        + lgamma((n + a + l + 1) / 2) - lgamma((a + l + 1) / 2)
        + (a + 2 * l + 1) / 2 * log(t)
        + (n + a + l) / 2 * log(det(R[P, P])) - (n + a + l + 1) / 2 * log(det(R[Q, Q]))

    R is positive definite however few rows there are and however they depend on each
    other, so no family's score is unbounded. The score depends on the columns' units;
    standardised columns suit the default prior.

    Parameters
    ----------
    alpha_mu : float, default=1.0
        How many rows the prior mean counts for; from 1e-100 to 1e100. bnlearn's ``iss.mu``,
        BiDAG's ``am``.
    alpha_w : float or None, default=None
        Degrees of freedom of the Wishart prior, more than m + 1 and up to 1e8. None is
        m + 2. bnlearn's ``iss.w``, BiDAG's ``aw``.
    nu : array-like of shape (m,), dict, pandas.Series or None, default=None
        The prior mean of the columns, each of at most 1e150 in magnitude. A dict or a Series
        names each column once, by its name or its number, in any order. An array or a list is
        in the columns' order. None is the columns' means.

    Notes
    -----
    A network's parameters are then the posterior means of its coefficients, of its
    noises' precisions and of the columns' means.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn import BGe, GaussianBNLearner
    >>> rows = np.random.default_rng(0).normal(size=(4, 6))  # fewer rows than columns
    >>> rows[:, 1] = rows[:, 0]
    >>> list(GaussianBNLearner(BGe(alpha_mu=0.1)).fit(rows).dag_.edges)
    [(0, 1), (2, 5), (4, 5)]
    """

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
        """Return the criterion with `nu` in the order of these columns.

        Parameters
        ----------
        columns : list of str or int
            The columns' names in their order, or their numbers if they have none.

        Returns
        -------
        criterion : BGe
            The criterion itself unless `nu` is a dict or a Series.

        Raises
        ------
        ValueError
            If a label is no column's or comes twice, a column has none, or a value is no finite
            number.

        Examples
        --------
        >>> from skbn import BGe
        >>> BGe(nu={"hue": 1, "ash": 2}).for_columns(["ash", "hue"])
        BGe(nu=[2.0, 1.0])
        """
        if not is_labelled(self.nu):
            return self
        return clone(self).set_params(nu=numbers_by_column(columns, self.nu, "nu"))

    def tables(self, n_samples: float, m: int) -> npt.NDArray[np.float64]:
        """Return c, a0 and a1 as the rows of an array of shape (3, m).

        Parameters
        ----------
        n_samples : int or float
            Number of rows, or the sum of their weights.
        m : int
            Number of columns.

        Returns
        -------
        tables : ndarray of shape (3, m), float64

        Raises
        ------
        ValueError
            If `alpha_w` is not larger than m + 1, or a parameter is not as above.
        """
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

    def prior(self, n_samples: float, mean: npt.NDArray[np.float64]) -> Prior:
        """Return the rows whose cross-products add up to R - S, and the posterior mean.

        Parameters
        ----------
        n_samples : int or float
            Number of rows, or the sum of their weights.
        mean : ndarray of shape (m,)
            The means of the table's columns.

        Returns
        -------
        prior : Prior
            A named tuple of `rows`, of shape (m + 1, m), and `mean`, of shape (m,).

        Raises
        ------
        ValueError
            If `nu` does not hold a finite number for each column, or names columns other
            than by their numbers, which `for_columns` resolves.
        """
        m = len(mean)
        _, t = self._freedom_and_scale(m)
        nu = self.for_columns(list(range(m)))._prior_mean(mean)
        weight = float(self.alpha_mu) / (float(self.alpha_mu) + n_samples)
        shift = math.sqrt(weight * n_samples) * (mean - nu)
        rows = np.vstack([math.sqrt(t) * np.eye(m), shift])
        return Prior(rows, mean + weight * (nu - mean))

    def noise_divisors(self, n_samples: float, m: int) -> npt.NDArray[np.float64]:
        """Return the posterior's degrees of freedom for a family, by the number of parents.

        Parameters
        ----------
        n_samples : int or float
            Number of rows, or the sum of their weights.
        m : int
            Number of columns.

        Returns
        -------
        divisors : ndarray of shape (m,), float64
        """
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

    def _prior_mean(self, mean: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if self.nu is None:
            return mean
        nu = np.asarray(self.nu)
        is_real = nu.dtype.kind in "biuf"
        if not is_real or nu.shape != mean.shape or not (np.abs(nu) <= _LARGEST_MEAN).all():
            raise ValueError(
                f"nu must hold a finite prior mean for each of the {len(mean)} columns, of at most "
                f"{_LARGEST_MEAN:g} in magnitude; got {readable_value(nu)}."
            )
        return nu.astype(np.float64)


CRITERIA: dict[str, type[Criterion]] = {
    "loglik": LogLikelihood,
    "aic": AIC,
    "bic": BIC,
    "ebic": EBIC,
    "bge": BGe,
}
"""The criteria that can be asked for by name, with their default parameters."""


def as_criterion(criterion: str | Criterion) -> Criterion:
    """Return the criterion of that name, or a copy of the object."""
    return CRITERIA[criterion]() if isinstance(criterion, str) else clone(criterion)


def same_criterion(a: Criterion, b: Criterion) -> bool:
    """Whether two criteria are of one kind and have the same parameters.

    Parameters
    ----------
    a, b : Criterion
    """
    return type(a) is type(b) and all(
        _same(value, getattr(b, name)) for name, value in a.get_params(deep=False).items()
    )


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Criterion) and isinstance(b, Criterion):
        return same_criterion(a, b)
    if is_labelled(a) or is_labelled(b):
        if not (is_labelled(a) and is_labelled(b)):
            return False
        a, b = (by_label(values, "A criterion's parameter", "label") for values in (a, b))
        return a.keys() == b.keys() and all(_same(a[label], b[label]) for label in a)
    return a is b or bool(np.array_equal(a, b))

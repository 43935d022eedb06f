"""What a criterion is: the worth of a family, by its likelihood and its number of parents.

A criterion is three tables over the number l of parents, which define the local
score of a child x with parents P as ``c[l] + a0[l] * L[P] + a1[l] * L[P + x]``,
where L holds the log-determinants of all subsets of the columns. Nothing that
searches needs to know more of it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from skbn._core.accuracy import SCORE_ACCURACY
from skbn._core.estimator import DocLinkMixin
from skbn._core.labels import reject_labels
from skbn._core.parameters import check_parameters
from skbn._core.text import readable_value
from skbn._data.statistics import Prior

__all__ = [
    "LARGEST_PENALTY",
    "Criterion",
    "InformationCriterion",
    "criterion_for",
    "criterion_tables",
    "is_scale_free",
    "is_score_equivalent",
    "largest_constant",
    "noise_divisors",
    "prior_of",
    "read_penalty",
]


# A numpy number, so that a float32 can be compared with it without a warning.
LARGEST_PENALTY = np.float64(1e100)
# Beyond this, sums of scores might be infinite. The largest penalty and the largest gamma of
# `EBIC` together remain below it.
_LARGEST = 1e250
# A family whose c is so far below the largest, as a share of c itself, is known to enough digits,
# and no likelihood makes up for it.
_FAR_BELOW = 1 / 16
# The rounding of a log-determinant, about 1e-14, times its weight in a score must stay small.
_LARGEST_WEIGHT = 1e9


class Criterion(DocLinkMixin, BaseEstimator, ABC):
    """What the families of a network are worth; derive from it to make your own.

    A network's score is the sum of its families' local scores. That of a child x
    with a set P of l parents is ``c[l] + a0[l] * L[P] + a1[l] * L[P + x]`` nats,
    where ``L[S] = log det(Z'Z)`` for the centred columns Z in S. The residual sum of
    squares of x on P is ``exp(L[P + x] - L[P])``.

    A derived class defines `tables`. One that is a log-likelihood less a cost for
    each parameter derives from `InformationCriterion` instead and defines its cost.

    See Also
    --------
    InformationCriterion : The log-likelihood less a cost for each parameter.

    Examples
    --------
    By how many nats the likelihood exceeds that of independent columns, up to a constant,
    less three nats for each edge:

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

    @abstractmethod
    def tables(self, n_samples: float, m: int) -> npt.NDArray[np.float64]:
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
        given by column name puts them in order here. The scores of a table call this method
        first, and then use only what it returns.

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

    def prior(
        self,
        n_samples: float,
        mean: npt.NDArray[np.float64],
    ) -> Prior | None:
        """Return rows to be stacked under the centred table; by default none.

        With them no likelihood is unbounded, however few rows there are.

        Parameters
        ----------
        n_samples : int or float
        mean : ndarray of shape (m,)
            The means of the table's columns.

        Returns
        -------
        prior : Prior or None
            A named tuple of `rows`, of shape (k, m), and `mean`, of shape (m,): what the
            columns' means are estimated to be, table and prior together.
        """
        return None

    def noise_divisors(self, n_samples: float, m: int) -> npt.NDArray[np.float64]:
        """Return by what a child's residual sum of squares is divided to estimate its noise.

        Parameters
        ----------
        n_samples : int or float
            Number of rows, or the sum of their weights.
        m : int
            Number of columns.

        Returns
        -------
        divisors : ndarray of shape (m,), float64
            By the number of parents; n for the maximum-likelihood estimate.
        """
        return np.full(m, float(n_samples))


class InformationCriterion(Criterion):
    """The maximised log-likelihood less a cost for each parameter; derive to make your own.

    A derived class may have parameters of its own, as keyword arguments of its
    ``__init__`` that are kept under their names.

    With n rows, the residual sum of squares RSS of the child's regression on its l
    parents, and ``complexity(n, m)[l]`` of the derived class, in nats::

        -n/2 * (log(2 pi RSS / n) + 1) - penalty * complexity[l]

    The `penalty` is that of the estimator which is given the criterion.

    Parameters
    ----------
    unbiased_variance : bool, default=False
        Whether the likelihood is that of noise of variance ``RSS / (n - l - 1)``, which
        is not the maximum: ``-n/2 * log(2 pi RSS / (n - l - 1)) - (n - l - 1) / 2``. So it
        is in R's bnlearn ("loglik-g", "aic-g", "bic-g", "ebic-g"). The difference,
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

    unbiased_variance = False  # of a derived class without this parameter

    def __init__(self, *, unbiased_variance: bool = False) -> None:
        self.unbiased_variance = unbiased_variance

    @abstractmethod
    def complexity(self, n_samples: float, m: int) -> npt.NDArray[np.float64]:
        """Return the cost of a child with 0, ..., m - 1 parents, shape (m,), in nats.

        The parameters of a child with l parents are l coefficients, the intercept and
        the noise's variance: l + 2.

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

    def tables(self, n_samples: float, m: int, penalty: float = 1.0) -> npt.NDArray[np.float64]:
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
        check_parameters(self)
        half_n = n_samples / 2
        divisors = noise_divisors(self, n_samples, m)
        # With as many coefficients as rows there is no noise, whose variance could be estimated.
        log_divisors = np.log(divisors, where=divisors > 0, out=np.full(m, -np.inf))
        constant = half_n * (log_divisors - math.log(2 * math.pi)) - divisors / 2
        what = f"{type(self).__name__}.complexity({n_samples:.10g}, {m})"
        cost = _numbers(self.complexity(n_samples, m), (m,), what)
        # An infinite cost rules a number of parents out, whatever the penalty.
        constant = constant - np.multiply(penalty, cost, where=cost < np.inf, out=cost)
        return np.array([constant, np.full(m, half_n), np.full(m, -half_n)])

    def noise_divisors(self, n_samples: float, m: int) -> npt.NDArray[np.float64]:
        """Return n, or n - l - 1 for the unbiased estimate, by the number l of parents.

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
        n_coefficients = np.arange(1, m + 1) if self.unbiased_variance else np.zeros(m)
        return n_samples - n_coefficients.astype(np.float64)


def read_penalty(penalty: Any) -> float:
    """Return a penalty as a number.

    Raises
    ------
    ValueError
        If it is no finite number, or negative.
    """
    is_number = isinstance(penalty, Real) and not isinstance(penalty, bool | np.bool_)
    if not (is_number and 0 <= penalty <= LARGEST_PENALTY):
        raise ValueError(
            f"A penalty must be a number from 0 to {LARGEST_PENALTY:g}; got "
            f"{readable_value(penalty)}."
        )
    return float(penalty)


def criterion_tables(
    criterion: Criterion, penalty: float, n_samples: float, m: int, max_parents: int
) -> npt.NDArray[np.float64]:
    """Return a criterion's tables, checked, with -inf in c beyond `max_parents`.

    Raises
    ------
    ValueError
        If they have another shape or hold NaN; if there is no complexity for the
        penalty to multiply; if float64 cannot tell families apart to `SCORE_ACCURACY`.
    """
    name = type(criterion).__name__
    if isinstance(criterion, InformationCriterion):
        tables = criterion.tables(n_samples, m, penalty)
    elif penalty == 1:
        tables = criterion.tables(n_samples, m)
    else:
        raise ValueError(
            f"penalty={readable_value(penalty)} was asked for, but {name} has no complexity term "
            "that it could multiply. Leave the penalty at its default."
        )
    what = f"{name}.tables({n_samples:.10g}, {m})"
    tables = _numbers(tables, (3, m), what)
    tables[0, max_parents + 1 :] = -np.inf
    largest_weight = np.abs(tables[1:]).max()
    if _LARGEST_WEIGHT < largest_weight < np.inf:
        raise ValueError(
            f"{name} weighs log-determinants by up to {largest_weight:g}, and with more than "
            f"{_LARGEST_WEIGHT:g} scores are known to too few digits; lower its parameters or "
            "the sample weights, or give fewer rows."
        )
    if np.isnan(tables).any() or (tables[0] > _LARGEST).any() or np.isinf(largest_weight):
        raise ValueError(
            f"{what} must be finite, except for -inf in its first row; got "
            f"{readable_value(tables.tolist())}."
        )
    tables[0, tables[0] < -_LARGEST] = -np.inf
    _check_differences(tables, what)
    return tables


def largest_constant(tables: npt.NDArray[np.float64]) -> float:
    """Return the largest entry of c in a criterion's tables, 0 if all are -inf."""
    largest = float(tables[0].max())
    return largest if largest > -np.inf else 0.0


def _check_differences(tables: npt.NDArray[np.float64], what: str) -> None:
    """Raise if the rounding of c's entries hides differences between them that may matter."""
    largest = largest_constant(tables)
    differences = largest - tables[0]
    magnitude = np.maximum(np.abs(tables[0]), abs(largest))
    # Two entries, each off by a rounding of its own and one of the product with the penalty.
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


def noise_divisors(criterion: Criterion, n_samples: float, m: int) -> npt.NDArray[np.float64]:
    """Return a criterion's `noise_divisors`, checked.

    Raises
    ------
    ValueError
        If they are not m numbers, or NaN.
    """
    what = f"{type(criterion).__name__}.noise_divisors({n_samples:.10g}, {m})"
    divisors = _numbers(criterion.noise_divisors(n_samples, m), (m,), what)
    if np.isnan(divisors).any():
        raise ValueError(f"{what} must not be NaN; got {readable_value(divisors.tolist())}.")
    return divisors


def criterion_for(criterion: Criterion, columns: list[str | int]) -> Criterion:
    """Return a criterion's `for_columns`, checked.

    Raises
    ------
    TypeError
        If it is no `Criterion`.
    ValueError
        What `for_columns` raises.
    """
    found: Any = criterion.for_columns(columns)
    if not isinstance(found, Criterion):
        name = type(criterion).__name__
        raise TypeError(f"{name}.for_columns must return a Criterion; got {found!r}.")
    return found


def prior_of(criterion: Criterion, n_samples: float, mean: npt.NDArray[np.float64]) -> Prior | None:
    """Return a criterion's prior, checked.

    Raises
    ------
    TypeError
        If it is no `Prior`.
    ValueError
        If its arrays are not finite numbers of the columns.
    """
    prior = criterion.prior(n_samples, mean)
    if prior is None:
        return None
    what = f"{type(criterion).__name__}.prior"
    if not isinstance(prior, Prior):
        raise TypeError(f"{what} must return a Prior or None; got {readable_value(prior)}.")
    m = len(mean)
    rows = _numbers(prior.rows, (len(prior.rows), m), f"{what}: the rows")
    means = _numbers(prior.mean, (m,), f"{what}: the mean")
    if not np.isfinite(rows).all() or not np.isfinite(means).all():
        raise ValueError(f"{what} must be finite; got {readable_value(prior)}.")
    return Prior(rows, means)


def _numbers(values: Any, shape: tuple[int, ...], what: str) -> npt.NDArray[np.float64]:
    """Return a copy of an array of real numbers of this shape."""
    reject_labels(values, what)
    try:
        array = np.array(values)
    except ValueError:  # of rows of different lengths
        array = np.array(None)
    if array.dtype.kind not in "biuf" or array.shape != shape:
        raise ValueError(
            f"{what} must be an array of numbers of shape {shape}; got {readable_value(values)}."
        )
    return array.astype(np.float64)


def is_scale_free(tables: npt.NDArray[np.float64]) -> bool:
    """Whether a column's unit adds a constant to all its local scores, whatever its parents."""
    return bool((tables[1] == -tables[2, 0]).all() and (tables[2] == tables[2, 0]).all())


def is_score_equivalent(tables: npt.NDArray[np.float64]) -> bool:
    """Whether networks that imply the same independences have the same score.

    Reversing an edge between columns with the same other parents exchanges their numbers
    of parents, so that c cancels; what remains is the set of these parents and one column.
    """
    return bool((tables[2, :-1] == -tables[1, 1:]).all())

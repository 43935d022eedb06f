"""How well a network fits a table, against the network of all edges and the one of none.

Formulas as in lavaan (Rosseel 2012, "lavaan: an R package for structural equation
modeling") for a model without latent variables, estimated by maximum likelihood, whose nodes
without parents are uncorrelated: there, `fixed.x = FALSE`, and their covariances set to 0.
Exogenous nodes are as there with `fixed.x = TRUE`. Fisher's C is the test of Shipley (2000), "A new
inferential test for path models based on directed acyclic graphs".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaln, chdtrc, chndtr, ndtri, stdtr

from skbn._core.arrays import Floats
from skbn._core.graphs import propagate
from skbn._core.subsets import bits_of, members_of
from skbn._core.text import text_table
from skbn._data.statistics import SampleStatistics
from skbn._displays.frames import frame_of, html_table
from skbn._networks.gaussian import scaled_regressions
from skbn._regressions.least_squares import triangular_factor

_HEADER = ("measure", "value")
_LEAST_P_VALUE = 1e-300  # below it, the logarithm is computed by itself
_MOST_CHI2 = 1e9  # scipy's noncentral distribution function is NaN from 5e9 on
_OF_TESTS = ("a", "b", "given", "partial_correlation", "p_value", "log_p_value")
_OF_FISHER = ("fisher_c", "fisher_df", "fisher_p_value")


@dataclass(frozen=True, eq=False, repr=False)
class FitIndices:
    """How well a network fits a table, as `GaussianBayesianNetwork.fit_indices` returns it.

    The indices take the network as given. A network that was searched for in the same rows fits
    them better than its p-values and its RMSEA say.

    Parameters
    ----------
    n_samples : int or float
        Number of rows, or the sum of their weights.
    n_parameters : int
        The weights, the intercepts and the variances of the noise.
    chi2, df, p_value : float
        Twice the log-likelihood ratio of the saturated model, which has all edges, to the network;
        the number of missing edges; and the probability of a larger ratio if the network is right,
        for many rows. It is NaN without degrees of freedom.
    baseline_chi2, baseline_df : float
        The same for the independence model, which has no edges.
    cfi, tli : float
        The comparative fit index and the Tucker-Lewis index: 1 for a good fit, 0 for one no better
        than the independence model's. The TLI may leave [0, 1].
    rmsea, rmsea_low, rmsea_high : float
        The root mean square error of approximation, by n and not n - 1, and its 90 % interval.
    srmr : float
        The standardised root mean square residual of the covariances, without the means:
        `srmr_bentler_nomean` of lavaan.
    log_likelihood : float
        In nats.
    aic, bic : float
        Minus twice the log-likelihood, plus 2 or log(n) for each parameter; smaller is better.
    test_separations : callable
        Returns the columns of `d_separations`.

    Attributes
    ----------
    fisher_c, fisher_df, fisher_p_value : float
        Fisher's C of `d_separations`, twice their number, and the probability of a larger C if
        the network is right. It is NaN without separations.
    d_separations : pandas.DataFrame, or a table that converts to one if pandas is not installed
        The basis set: a row for each pair `a`, `b` without an edge. By the network they are
        independent `given` the parents of both. `partial_correlation` is theirs, with its
        `p_value`.

    See Also
    --------
    GaussianBayesianNetwork.fit_indices : Computes them.
    """

    n_samples: float
    n_parameters: int
    chi2: float
    df: int
    p_value: float
    baseline_chi2: float
    baseline_df: int
    cfi: float
    tli: float
    rmsea: float
    rmsea_low: float
    rmsea_high: float
    srmr: float
    log_likelihood: float
    aic: float
    bic: float
    test_separations: Callable[[], dict[str, Any]]

    @cached_property
    def _tests(self) -> dict[str, Any]:
        return self.test_separations()

    @property
    def d_separations(self) -> Any:
        """A table of the independences of the basis set, with their p-values.

        They are computed when they are first asked for.
        """
        return frame_of({name: self._tests[name] for name in self._tests if name != "log_p_value"})

    @property
    def fisher_c(self) -> float:
        """Minus twice the sum of the logarithms of the p-values of `d_separations`."""
        return 2 * float(-self._tests["log_p_value"].sum() + 0.0)  # and never -0

    @property
    def fisher_df(self) -> int:
        """Twice the number of `d_separations`."""
        return 2 * len(self._tests["p_value"])

    @property
    def fisher_p_value(self) -> float:
        """The probability of a larger C if the network is right; NaN without separations."""
        return _tail(self.fisher_c, self.fisher_df)

    def to_frame(self) -> Any:
        """Return the numbers as a table.

        Returns
        -------
        table : pandas.DataFrame
            With the columns `measure` and `value`. Without pandas, a dict of these columns that is
            displayed as a table.
        """
        values = self._values()
        return frame_of({"measure": list(values), "value": [float(v) for v in values.values()]})

    def _values(self) -> dict[str, float]:
        names = [each.name for each in fields(self) if each.name != "test_separations"]
        return {name: getattr(self, name) for name in (*names, *_OF_FISHER)}

    def __repr__(self) -> str:
        return text_table(self._rows(), "lr", _HEADER)

    def _repr_html_(self) -> str | None:
        return html_table("Fit of a network", self._rows(), "lr", _HEADER)

    def _rows(self) -> list[tuple[str, str]]:
        return [(name, f"{value:.6g}") for name, value in self._values().items()]


def check_n(n: float, m: int) -> None:
    """Raise a ValueError unless the saturated model of m columns can be fitted to n rows."""
    if n <= m:
        raise ValueError(
            f"The fit is compared with that of the saturated model, which takes more rows than the "
            f"{m} columns; there are {n:g}. Give more rows."
        )


def fit_indices(
    statistics: SampleStatistics,
    parents: list[int],
    names: Sequence[Hashable],
    exogenous: Sequence[int] = (),
) -> FitIndices:
    """Return how well a network fits a table when its parameters have the highest likelihood.

    Parameters
    ----------
    statistics : SampleStatistics
        Of the columns, without the rows of a prior.
    parents : list of m int
        The masks of each column's parents.
    names : sequence of m hashables
    exogenous : sequence of int
        The columns that are not modelled: they may depend on each other in all models.

    Raises
    ------
    ValueError
        If there are no more rows than columns, or the columns are collinear: the saturated model's
        likelihood is unbounded then.
    """
    n, m = statistics.n_samples, len(parents)
    check_n(n, m)
    if not statistics.is_checked:
        statistics.check(range(m))
    modelled = [v for v in range(m) if v not in exogenous]
    parents = _saturated_among(exogenous, parents)
    is_parent = bits_of(parents, m)
    coef, left = scaled_regressions(statistics, is_parent)
    of_all = triangular_factor(statistics.factor[:, [*exogenous, *modelled]])
    log_det = 2 * float(np.log(np.abs(np.diag(of_all)))[len(exogenous) :].sum())
    log_det_of_model = 2 * float(np.log(left[modelled]).sum())
    n_edges = int(is_parent[modelled].sum())
    n_pairs = m * (m - 1) // 2 - len(exogenous) * (len(exogenous) - 1) // 2
    chi2, df = max(0.0, n * (log_det_of_model - log_det)), n_pairs - n_edges
    baseline_chi2 = max(0.0, -n * log_det)
    cfi, tli = comparative_indices(chi2, df, baseline_chi2, n_pairs)
    error, low, high = rmsea(chi2, df, n)
    variances = (2 * (np.log(left) + np.log(statistics.scale)) - np.log(n))[modelled]
    log_likelihood = -n / 2 * float((np.log(2 * np.pi) + 1 + variances).sum())
    n_parameters = n_edges + 2 * len(modelled)
    return FitIndices(
        n_samples=n,
        n_parameters=n_parameters,
        chi2=chi2,
        df=df,
        p_value=_tail(chi2, df),
        baseline_chi2=baseline_chi2,
        baseline_df=n_pairs,
        cfi=cfi,
        tli=tli,
        rmsea=error,
        rmsea_low=low,
        rmsea_high=high,
        srmr=_srmr(statistics, coef, left, parents),
        log_likelihood=log_likelihood,
        aic=2 * n_parameters - 2 * log_likelihood,
        bic=float(np.log(n)) * n_parameters - 2 * log_likelihood,
        test_separations=partial(d_separations, statistics, parents, names),
    )


def _saturated_among(exogenous: Sequence[int], parents: list[int]) -> list[int]:
    """Return the masks of the parents with all edges among the exogenous columns."""
    joined, before = [*parents], 0
    for v in exogenous:
        joined[v] = before
        before |= 1 << v
    return joined


def comparative_indices(
    chi2: float, df: float, baseline_chi2: float, baseline_df: float
) -> tuple[float, float]:
    """Return the comparative fit index and the Tucker-Lewis index.

    The CFI is 1 if the network's chi-squared does not exceed its degrees of freedom; the TLI is 1
    if there are none.

    Examples
    --------
    >>> cfi, tli = comparative_indices(14.21, 10, 258.43, 20)
    >>> round(cfi, 7), round(tli, 7)
    (0.9823428, 0.9646857)
    """
    excess, of_baseline = chi2 - df, baseline_chi2 - baseline_df
    worst = max(excess, of_baseline, 0.0)
    cfi = 1 - max(excess, 0.0) / worst if worst > 0 else 1.0
    tli = 1 - excess * baseline_df / (of_baseline * df) if df and of_baseline else 1.0
    return cfi, tli


def rmsea(chi2: float, df: float, n: float) -> tuple[float, float, float]:
    """Return the root mean square error of approximation and the ends of its 90 % interval.

    The ends are those noncentralities of a chi-squared distribution for which 95 % and 5 % of it
    are below the statistic. All are 0 without degrees of freedom.

    Examples
    --------
    >>> error, low, high = rmsea(14.21, 10, 300)
    >>> round(error, 8)
    0.03746109
    """
    if not df:
        return 0.0, 0.0, 0.0
    ends = (_noncentrality(chi2, df, share) for share in (0.95, 0.05))
    low, high = (float(np.sqrt(end / (n * df))) for end in ends)
    return float(np.sqrt(max(chi2 - df, 0.0) / (n * df))), low, high


def _noncentrality(chi2: float, df: float, share: float) -> float:
    """Return the noncentrality with which this share of the distribution is below chi2, or 0."""
    if chi2 > _MOST_CHI2:  # the distribution is normal, up to 1 part in 1e9
        z, above = float(ndtri(share)), chi2 - df
        return max(0.0, above + 2 * z * z - z * float(np.sqrt(4 * (above + z * z) + 2 * df)))

    def excess(noncentrality: float) -> float:
        return float(chndtr(chi2, df, noncentrality)) - share

    if excess(0.0) <= 0:
        return 0.0
    far = chi2 + df
    while excess(far) > 0:
        far *= 2
    return float(brentq(excess, 0.0, far))


def _tail(chi2: float, df: int) -> float:
    """Return the probability of a larger value of chi-squared; NaN without degrees of freedom."""
    return float(chdtrc(df, chi2)) if df else np.nan


def _srmr(statistics: SampleStatistics, coef: Floats, left: Floats, parents: list[int]) -> float:
    """Return the root mean square of the differences of correlations from the network's."""
    m = len(parents)
    factor = propagate(np.diag(left), coef, parents)
    residuals = statistics.factor.T @ statistics.factor - factor.T @ factor
    return float(np.sqrt((residuals[np.triu_indices(m)] ** 2).mean()))


def d_separations(
    statistics: SampleStatistics, parents: list[int], names: Sequence[Hashable]
) -> dict[str, Any]:
    """Return the columns of a table of the independences that a network implies.

    The pairs without an edge, each given the parents of both, make a basis set: all independences
    of the network follow from them.

    Parameters
    ----------
    statistics, parents, names : as in `fit_indices`

    Notes
    -----
    The partial correlation of a pair is read from the triangular factor of the columns given and
    of the pair. Its p-value belongs to the coefficient in the regression of one on the other and
    the columns given.
    """
    rows = []
    for a, b in combinations(range(len(parents)), 2):
        if parents[a] >> b & 1 or parents[b] >> a & 1:
            continue
        others = members_of(parents[a] | parents[b])
        corner = triangular_factor(statistics.factor[:, [*others, a, b]])[-2:, -2:]
        explained, left = corner[0, 1] * np.sign(corner[0, 0]), abs(corner[1, 1])
        degrees_of_freedom = statistics.n_samples - len(others) - 2
        t = explained / left * np.sqrt(degrees_of_freedom)
        total = np.hypot(explained, left)
        p_value = 2 * float(stdtr(degrees_of_freedom, -abs(t)))
        if p_value > _LEAST_P_VALUE:
            log_p_value = np.log(p_value)
        else:
            shares = left / total, abs(explained) / total
            log_p_value = _log_of_tiny(degrees_of_freedom / 2, *shares)
        given = [names[v] for v in others]
        rows.append((names[a], names[b], given, explained / total, p_value, log_p_value))
    found = {name: [row[i] for row in rows] for i, name in enumerate(_OF_TESTS)}
    return found | {name: np.array(found[name], dtype=float) for name in _OF_TESTS[3:]}


def _log_of_tiny(a: float, left: float, explained: float) -> float:
    """Return the logarithm of a p-value that may underflow, of a correlation `explained`.

    The p-value is the regularised incomplete beta function of a, 1/2 and ``left**2``, the share
    that is not explained. The terms of the series fall fast where the p-value is below 1e-300.
    """
    term = series = 1.0
    for k in range(10):
        term *= -(k + 0.5) / (a + 1 + k) * (left / explained) ** 2
        series += term
    logs = 2 * a * np.log(left) - np.log(explained) + np.log(series)
    return float(logs - np.log(a) - betaln(a, 0.5))

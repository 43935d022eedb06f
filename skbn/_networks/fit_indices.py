"""How well a network fits a table, compared with the models of all edges and of none.

Formulas as in lavaan (Rosseel 2012, "lavaan: an R package for structural equation
modeling") for a model without latent variables, estimated by maximum likelihood, whose nodes
without parents are uncorrelated: there, `fixed.x = FALSE`, and their covariances set to 0.
Exogenous nodes are as there with `fixed.x = TRUE`. Fisher's C is the test of Shipley (2000), "A new
inferential test for path models based on directed acyclic graphs".
"""

from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field, fields
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaln, chdtrc, chndtr, log_ndtr, ndtri, stdtr

from skbn._core.arrays import Booleans, Floats, Names
from skbn._core.graphs import propagate, topological_order
from skbn._core.resources import one_blas_thread
from skbn._core.subsets import bits_of, members_of
from skbn._core.text import readable_value, text_table
from skbn._data.sample import Sample
from skbn._data.statistics import Groups, GroupStatistics, SampleStatistics, sample_statistics
from skbn._displays.notebook import frame_of, html_table
from skbn._missing.incomplete_rows import IncompleteRows, incomplete_rows, rows_by_pattern
from skbn._networks import estimation
from skbn._networks.estimation import GraphOfColumns
from skbn._networks.gaussian import LinearGaussianModel, scaled_regressions
from skbn._regressions.least_squares import triangular_factor

_HEADER = ("measure", "value")
_LEAST_P_VALUE = 1e-300  # below it, the logarithm is computed by itself
_MOST_CHI2 = 1e9  # scipy's noncentral distribution function is NaN from 5e9 on
# A set column counts as determined by others if a smaller share of its spread is left.
_LEAST_SHARE = 1e-9
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
    chi2, df : float
        Twice the log-likelihood ratio of the saturated model, which has all edges, to the network;
        and the number of missing edges.
    baseline_chi2, baseline_df : float
        The same for the independence model, which has no edges.
    srmr : float
        The standardised root mean square residual of the covariances, without the means:
        `srmr_bentler_nomean` of lavaan.
    log_likelihood : float
        In nats.
    test_separations : callable
        Returns the columns of `d_separations`.
    n_groups : int, default=1
        Groups of rows with the same nodes set, by whose mean size the RMSEA is computed.

    Attributes
    ----------
    p_value : float
        The probability of a larger `chi2` if the network is right, for many rows; NaN if `df` is 0.
    cfi, tli : float
        The comparative fit index and the Tucker-Lewis index: 1 for a good fit, 0 for one no better
        than the independence model's. The TLI may leave [0, 1].
    rmsea, rmsea_low, rmsea_high : float
        The root mean square error of approximation, by n and not n - 1, and its 90 % interval.
    aic, bic : float
        Minus twice the log-likelihood, plus 2 or log(n) for each parameter; smaller is better.
    fisher_c, fisher_df, fisher_p_value : float
        Fisher's C of `d_separations`, twice their number, and the probability of a larger C if the
        network is right. It is NaN without separations.
    d_separations : pandas.DataFrame, or a table that converts to one if pandas is not installed
        The basis set: a row for each pair `a`, `b` without an edge. By the network they are
        independent `given` the parents of both. `partial_correlation` is theirs, with its
        `p_value`.
    """

    n_samples: float
    n_parameters: int
    chi2: float
    df: int
    p_value: float = field(init=False)
    baseline_chi2: float
    baseline_df: int
    cfi: float = field(init=False)
    tli: float = field(init=False)
    rmsea: float = field(init=False)
    rmsea_low: float = field(init=False)
    rmsea_high: float = field(init=False)
    srmr: float
    log_likelihood: float
    aic: float = field(init=False)
    bic: float = field(init=False)
    test_separations: Callable[[], dict[str, Any]]
    n_groups: InitVar[int] = 1

    def __post_init__(self, n_groups: int) -> None:
        chi2, df = max(0.0, self.chi2), self.df
        baseline_chi2, baseline_df = max(0.0, self.baseline_chi2), self.baseline_df
        cfi, tli = comparative_indices(chi2, df, baseline_chi2, baseline_df)
        error, low, high = rmsea(chi2, df, self.n_samples / n_groups)
        found = {"chi2": chi2, "p_value": _tail(chi2, df), "baseline_chi2": baseline_chi2}
        found |= {"cfi": cfi, "tli": tli}
        found |= {"rmsea": error, "rmsea_low": low, "rmsea_high": high}
        n, log_likelihood = self.n_parameters, self.log_likelihood
        found["aic"] = 2 * n - 2 * log_likelihood
        found["bic"] = float(np.log(self.n_samples)) * n - 2 * log_likelihood
        self.__dict__.update(found)

    @cached_property
    def _tests(self) -> dict[str, Any]:
        return self.test_separations()

    @property
    def d_separations(self) -> Any:
        """A table of the basis set, with p-values that are computed once they are asked for."""
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
            With the columns `measure` and `value`. Without pandas, a dict that is displayed as a
            table.
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


@one_blas_thread()
def fit_indices(
    statistics: SampleStatistics, parents: list[int], names: Names, exogenous: Sequence[int] = ()
) -> FitIndices:
    """Return how well a network fits a table when its parameters have the highest likelihood.

    `statistics`: statistics of the columns, without the rows of a prior
    `exogenous`: the columns that are not modelled: they may depend on each other in all models

    Raises ValueError if there are no more rows than columns, or the columns are collinear: the
    saturated model's likelihood is unbounded then.
    """
    n, m = statistics.n_samples, len(parents)
    check_n(n, m)
    if not statistics.is_checked:
        statistics.check(range(m))
    modelled = [v for v in range(m) if v not in exogenous]
    parents = estimation.joined_outside(parents, exogenous)
    is_parent = bits_of(parents, m)
    coef, left = scaled_regressions(statistics, is_parent)
    of_all = triangular_factor(statistics.factor[:, [*exogenous, *modelled]])
    log_det = 2 * float(np.log(np.abs(np.diag(of_all)))[len(exogenous) :].sum())
    log_det_of_model = 2 * float(np.log(left[modelled]).sum())
    correlation = statistics.factor.T @ statistics.factor
    factor = propagate(np.diag(left), coef, parents)
    n_edges = int(is_parent[modelled].sum())
    n_pairs = (m * (m - 1) - len(exogenous) * (len(exogenous) - 1)) // 2
    variances = (2 * (np.log(left) + np.log(statistics.scale)) - np.log(n))[modelled]
    return FitIndices(
        n,
        n_edges + 2 * len(modelled),
        *(n * (log_det_of_model - log_det), n_pairs - n_edges),
        *(-n * log_det, n_pairs),
        _root_mean_square(correlation - factor.T @ factor),
        -n / 2 * float((np.log(2 * np.pi) + 1 + variances).sum()),
        partial(d_separations, [GroupStatistics([*range(m)], statistics)], parents, names),
    )


@one_blas_thread()
def indices_of_rows(sample: Sample, is_set: Booleans | None, graph: GraphOfColumns) -> FitIndices:
    """Return how well a network fits rows, of which values may be missing or have been set."""
    names = graph.blocks.column_names
    if is_set is not None or not sample.is_complete:
        return _by_groups(sample, is_set, graph)
    check_n(sample.summary.n_rows, len(names))
    statistics = sample_statistics(sample.summary, names)
    return fit_indices(statistics, graph.parents, names, graph.exogenous)


# Missing values and interventions


def _likelihood_ratios(
    sample: Sample, graph: GraphOfColumns, parents: list[int], names: Names
) -> dict[str, Any]:
    """Return the columns of the table of independences, each tested in the saturated model."""
    found, m = [], len(names)
    rows = estimation.rows_with_holes(sample, graph)
    every = estimation.saturated_em(rows, estimation.saturated_em(rows), range(m))
    for a, b, given in _pairs_apart(parents):
        order = [*given, a, b]
        order += [v for v in range(m) if v not in order]
        masks = estimation.joined_outside([0] * m, order)
        masks[b] &= ~(1 << a)
        without = estimation.em_of_network(rows, graph, every, masks)
        chi2 = max(0.0, 2 * (every.log_likelihood - without.log_likelihood))
        precision = np.linalg.inv(
            every.covariance[0][np.ix_(order, order)][: len(given) + 2, : len(given) + 2]
        )
        r = -precision[-1, -2] / np.sqrt(precision[-1, -1] * precision[-2, -2])
        log_p = float(np.log(2) + log_ndtr(-np.sqrt(chi2)))
        found.append((names[a], names[b], [names[v] for v in given], r, np.exp(log_p), log_p))
    return _table_of_tests(found)


def _by_groups(sample: Sample, is_set: Booleans | None, graph: GraphOfColumns) -> FitIndices:
    """Return the indices of rows in groups with the same nodes set.

    In each group the models are of the columns that were not set, given the columns that were.
    """
    names = graph.blocks.column_names
    parents = estimation.joined_outside(graph.parents, graph.exogenous)
    if sample.is_complete:
        model, statistics = estimation.by_least_squares(sample, is_set, graph)
        tests = partial(d_separations, statistics, parents, names)
    else:
        model = estimation.by_em(sample, is_set, graph)
        tests = partial(_likelihood_ratios, sample, graph, parents, names)
        if is_set is not None:
            tests = partial(_unknown_tests, parents, names)
    of_columns = np.zeros(sample.shape, dtype=bool)
    if is_set is not None:
        of_columns = graph.blocks.by_column(is_set)
    weight = np.ones(len(sample.rows)) if sample.weight is None else sample.weight
    counts = (weight > 0) & ~np.isnan(sample.rows).all(axis=1)
    set_there = None if is_set is None else of_columns[counts]
    of_rows = model.log_density(sample.rows[counts], set_there)
    log_likelihood, n = float(weight[counts] @ of_rows), float(weight[counts].sum())
    of_saturated = of_alone = srmr = 0.0
    n_saturated = n_alone = n_groups = 0
    for at, not_set in rows_by_pattern(~of_columns):
        own = not_set.copy()
        own[graph.exogenous] = False
        inside, others = (np.flatnonzero(each).tolist() for each in (own, ~own))
        at = at[counts[at]]
        if not inside or not len(at):
            continue
        size = float(weight[at].sum())
        deviations = sample.rows[at] - weight[at] @ sample.rows[at] / size
        deviations *= np.sqrt(weight[at] / size)[:, np.newaxis]
        outside = _varying(others, deviations)
        q, s = len(inside), len(outside)
        n_seen = (~np.isnan(sample.rows[at][:, inside])).sum(axis=0).min()
        if is_set is None:
            check_n(n_seen, q + s)
        if n_seen <= q + s:
            held = [name for name, each in zip(names, not_set, strict=True) if not each]
            raise ValueError(
                f"{n_seen} rows have just the nodes {readable_value(held)} set, and the "
                f"saturated model of such rows takes more than {q + s}. Give more rows, or leave "
                "these out."
            )
        covariance = deviations.T @ deviations
        if np.isnan(deviations).any():
            columns = [*outside, *inside]
            rows = incomplete_rows(sample.rows[at][:, columns], weight[at])
            if not rows.pair_weights().all():
                raise ValueError(
                    f"{rows.seen_least([names[v] for v in columns])}, so that the saturated model, "
                    "with which the network is compared, is not known. Leave out one of them."
                )
            saturated, alone, own_covariance = _with_holes_given(rows, s)
            covariance[np.ix_(columns, columns)] = own_covariance
        else:
            triangle = triangular_factor(deviations[:, [*outside, *inside]])
            constant = q / 2 * (np.log(2 * np.pi) + 1)
            saturated = -size * (constant + np.log(np.abs(np.diag(triangle))[s:]).sum())
            deviation = np.linalg.norm(deviations[:, inside], axis=0)
            alone = -size * (constant + np.log(deviation).sum())
        n_groups += 1
        of_saturated += saturated
        of_alone += alone
        n_saturated += 2 * q + q * s + q * (q - 1) // 2
        n_alone += 2 * q
        srmr += size / n * _srmr_of_group(model, covariance, inside, outside)
    modelled = [v for v in range(len(parents)) if v not in graph.exogenous]
    n_parameters = sum(graph.parents[v].bit_count() + 2 for v in modelled)
    return FitIndices(
        n,
        n_parameters,
        *(2 * (of_saturated - log_likelihood), n_saturated - n_parameters),
        *(2 * (of_saturated - of_alone), n_saturated - n_alone),
        float(srmr),
        log_likelihood,
        tests,
        n_groups,
    )


def _with_holes_given(rows: IncompleteRows, n_given: int) -> tuple[float, float, Floats]:
    """Return the log-likelihoods of the saturated and the independence model, and a covariance.

    The first columns are complete, and given. The covariance is the saturated model's.
    """
    k, given = rows.n_columns, [*range(n_given)]
    begin = estimation.saturated_em(rows)
    every = estimation.saturated_em(rows, begin, [*range(k)])
    alone = estimation.estimate_masks(rows, begin, estimation.joined_outside([0] * k, given))
    # The given columns have the same share in the log-likelihood of all models.
    of_given = 2 * np.pi * every.covariance[0][np.ix_(given, given)]
    share = rows.log_units() - rows.n_samples * (
        (float(np.linalg.slogdet(of_given)[1]) + n_given) / 2
        + float(np.log(rows.scale[given]).sum())
    )
    covariance = every.covariance[0] * np.outer(rows.scale, rows.scale)
    return every.log_likelihood - share, alone.log_likelihood - share, covariance


def _unknown_tests(parents: list[int], names: Names) -> dict[str, Any]:
    """Return the table of independences without tests, where values are missing or were set."""
    return _table_of_tests(
        [
            (names[a], names[b], [names[v] for v in given], np.nan, np.nan, np.nan)
            for a, b, given in _pairs_apart(parents)
        ]
    )


def _varying(columns: list[int], deviations: Floats) -> list[int]:
    """Return the columns that vary and are not combinations of earlier ones."""
    found: list[int] = []
    for v in columns:
        corner = triangular_factor(deviations[:, [*found, v]])
        if np.abs(corner[-1, -1]) > _LEAST_SHARE * np.linalg.norm(corner[:, -1]) > 0:
            found.append(v)
    return found


def _srmr_of_group(
    model: LinearGaussianModel, covariance: Floats, inside: list[int], outside: list[int]
) -> float:
    """Return the SRMR of rows in which some columns were set, or are not modelled."""
    core = np.zeros_like(covariance)
    others = [v for v in range(len(core)) if v not in inside]
    core[inside, inside] = model.noise_variance[inside]
    core[np.ix_(others, others)] = covariance[np.ix_(others, others)]
    coef, parents = model.without_parents(others)
    half = propagate(core, coef, parents)
    of_model = propagate(half.T, coef, parents)
    at = [*inside, *outside]
    scale = np.sqrt(np.diag(covariance)[at])
    apart = (covariance - of_model)[np.ix_(at, at)] / np.outer(scale, scale)
    return _root_mean_square(apart)


def comparative_indices(
    chi2: float, df: float, baseline_chi2: float, baseline_df: float
) -> tuple[float, float]:
    """Return the comparative fit index and the Tucker-Lewis index.

    The CFI is 1 if the network's chi-squared does not exceed its degrees of freedom; the TLI is 1
    if there are none.

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


def _root_mean_square(differences: Floats) -> float:
    """Return the root mean square of a symmetric matrix, each pair and the diagonal once."""
    return float(np.sqrt((differences[np.triu_indices(len(differences))] ** 2).mean()))


def _pairs_apart(parents: list[int]) -> list[tuple[int, int, list[int]]]:
    """Return the pairs without an edge, each with the parents of both."""
    return [
        (a, b, members_of(parents[a] | parents[b]))
        for a, b in combinations(range(len(parents)), 2)
        if not (parents[a] >> b & 1 or parents[b] >> a & 1)
    ]


def d_separations(groups: Groups, parents: list[int], names: Names) -> dict[str, Any]:
    """Return the columns of a table of the independences that a network implies.

    The pairs without an edge, each given the parents of both, make a basis set, from which all
    independences follow. A partial correlation is read from the triangular factor of the columns
    given and of the pair; its p-value is that of the coefficient of one in the regression of the
    other.

    `groups`: the statistics of the rows that count for each column, by which its independence of
        those before it is tested
    """
    rows = []
    of_column = {x: statistics for own, statistics in groups for x in own}
    order = topological_order(parents)
    for a, b, others in _pairs_apart(parents):
        statistics = of_column[max(a, b, key=order.index)]
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
    return _table_of_tests(rows)


def _table_of_tests(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    """Return the columns of a table of tests."""
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

"""Effects with their uncertainty, from one network or from several.

An effect in one network has a standard error by the delta method. The effect is linear in the
coefficients of each family, and the coefficients of different families are independent. If the
intervention moves the columns by r, and the outcome moves by g with each column, the variance is
the sum over the columns c of ``g[c]**2`` times the variance of ``r[parents] @ coef[parents, c]``.

Several networks make a mixture: each counts with its weight, and says 0 if no path leads to the
outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from skbn._core.arrays import F1, Floats, finite_number
from skbn._core.graphs import propagate
from skbn._core.subsets import bits_of, mask_of, members_of
from skbn._core.text import must_be, readable_name, readable_value
from skbn._data.nodes import Nodes
from skbn._data.statistics import Groups
from skbn._displays.forest_display import ForestDisplay
from skbn._displays.notebook import TableRepr, frame_of
from skbn._networks import effects
from skbn._networks.clusters import ClusterErrors
from skbn._networks.effects import Combination, change_and_reading, matrix_of, path_columns
from skbn._networks.gaussian import LinearGaussianModel


def as_probabilities(q: Any) -> Floats:
    """Return probabilities as an array; raise if one of them is not from 0 to 1."""
    try:
        q = np.asarray(q, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(must_be("q", "a number or numbers from 0 to 1", q)) from None
    if not ((q >= 0) & (q <= 1)).all():
        wrong = q[~((q >= 0) & (q <= 1))][0]
        raise ValueError(f"q must be from 0 to 1; got {readable_value(wrong)}.")
    return q


def ends_of(level: float) -> tuple[float, float]:
    """Return the probabilities at which an interval of this level ends; raise if it has none."""
    if not 0 <= finite_number(level, "level") <= 1:
        raise ValueError(f"level must be from 0 to 1; got {readable_value(level)}.")
    return (1 - level) / 2, (1 + level) / 2


@dataclass(frozen=True, eq=False, repr=False)
class EffectEstimate(TableRepr):
    """An effect with its uncertainty, from one network or from several of them.

    It is by how much the outcome's expectation changes by the intervention: if the cause is set to
    a value larger by 1, in the outcome's units per unit of the cause. In a network it is the sum,
    over the directed paths from the cause to the outcome, of the products of their coefficients,
    and 0 without a path. ``effect`` of a `GaussianBayesianNetwork`, a `GaussianBNPosterior`, a
    `BootstrapBNLearner` and of `NearOptimalNetworks` returns one.

    Parameters
    ----------
    cause : str, int or dict
        What is set, and by how much it is changed. The change of a category is named as "site:
        north to west".
    outcome : str or int
        The level whose probability is the outcome is named as "site=west".
    mean, std : float
        Over the networks; with one network, `std` is the standard error. Of a posterior's single
        cause the mean is that of the effect's expectations in the sampled networks, which spread
        less than `values`. The mean is NaN, or `std` infinite, if that does not exist.
    probability_zero : float
        The probability, or share, of networks in which no path leads from the cause to the outcome.
    values, errors, weights, freedom : ndarray of shape (k,)
        The effect that each network has, its standard error given this network, how much the
        network counts (the weights sum to 1), and the degrees of freedom of the error. Of a
        posterior's single cause, the values are 0, with the probability of no path as its weight,
        and the effects in sampled networks with a path, with drawn parameters and no error.
    source : str
        What the uncertainty is about. Only a posterior gives probabilities: one graph ignores that
        it may be wrong, and resamples give shares.
    standard_error : float or None, default=None
        Of `mean`, if a posterior's networks were sampled: by the spread of the effect's expectation
        among them, 0 if it is the same in all. If a path is improbable, give thousands of samples:
        the error ignores networks too rare to be among them. After Markov chains, or for completed
        tables, it follows from the spread of batches or tables.
    probability_zero_error : float, default=0
        The standard error of `probability_zero`: 0 if this is exact.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import GaussianBNLearner
    >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
    >>> network = GaussianBNLearner().fit(wine).network_
    >>> effect = network.effect("alcohol", "proline")
    >>> effect
    Effect of do(alcohol) on proline
    given               this graph
    no effect                    0
    mean                       258
    standard deviation        20.9
    95 % interval       216 to 299
    >>> effect.to_frame(0.9)[["mean", "low", "high"]].round(1)
        mean    low   high
    0  257.6  223.0  292.2
    """

    cause: Any
    outcome: Any
    mean: float
    std: float
    probability_zero: float
    values: Floats
    errors: Floats
    weights: Floats
    freedom: Floats
    source: str = "this graph"
    standard_error: float | None = None
    probability_zero_error: float = 0.0
    _alignments = "lr"

    @property
    def probability_positive(self) -> float:
        """The probability, or share, of an effect above 0."""
        return float(1 - self.cdf(0.0))

    @property
    def probability_negative(self) -> float:
        """The probability, or share, of an effect below 0."""
        return max(0.0, 1 - self.probability_positive - self.probability_zero)

    def cdf(self, values: Any) -> Any:
        """Return the probability, or share, of effects no larger than each value.

        Parameters
        ----------
        values : float or array-like

        Returns
        -------
        probabilities : float or ndarray of the values' shape
            NaN for NaN.
        """
        at = np.asarray(values, dtype=np.float64)
        apart = at[..., np.newaxis] - self.values
        known = self.errors == 0
        below: Any = apart >= 0
        if not known.all():
            error = np.where(known, 1.0, self.errors)
            below = np.where(known, below, stdtr(self.freedom, apart / error))
        shares = np.where(np.isnan(at), np.nan, np.minimum(below @ self.weights, 1.0))
        return shares if at.ndim else float(shares)

    def quantile(self, q: Any) -> Any:
        """Return the smallest value that the effect does not exceed with probability q.

        Parameters
        ----------
        q : float or array-like
            From 0 to 1, else a ValueError.

        Returns
        -------
        values : float or ndarray of the shape of q
            0 for a range of q, if the effect may be 0.
        """
        q = as_probabilities(q)
        if self.errors.any():
            found = np.array([self._quantile(each) for each in q.ravel()]).reshape(q.shape)
        else:
            found = quantiles(self.values, self.weights, q)
        return found if q.ndim else float(found)

    def _quantile(self, q: float) -> float:
        # The mixture's quantile lies between those of its parts.
        known = self.errors == 0
        unit = {0.0: -np.inf, 1.0: np.inf}.get(q, stdtrit(self.freedom, q))
        apart = np.where(known, 0.0, unit * np.where(known, 1.0, self.errors))
        low, high = (self.values + apart).min(), (self.values + apart).max()
        if not np.isfinite(low + high):
            return float(low if q < 0.5 else high)
        reached = q * (1 - _EPS * (len(self.values) + 1))  # rounding of the weights' sum
        low = np.nextafter(low, -np.inf)
        while (middle := low + (high - low) / 2) not in (low, high):
            low, high = (low, middle) if self.cdf(middle) >= reached else (middle, high)
        return float(high)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval that leaves out the same probability on both sides.

        Parameters
        ----------
        level : float, default=0.95
            The interval's probability, from 0 to 1, else a ValueError.

        Returns
        -------
        low, high : float
        """
        low, high = ends_of(level)
        return self.quantile(low), self.quantile(high)

    def to_frame(self, level: float = 0.95) -> Any:
        """Return a table of one row, to be put below those of other effects.

        Parameters
        ----------
        level : float, default=0.95
            As for `interval`.

        Returns
        -------
        frame : pandas.DataFrame, or a table as a dict of lists without pandas
            With the columns cause, outcome, mean, std, low, high, no_effect, positive, negative,
            source.
        """
        return effects_frame([self], level)

    def _row(self, level: float) -> dict[str, Any]:
        low, high = self.interval(level)
        return {
            "cause": self.cause,
            "outcome": self.outcome,
            "mean": self.mean,
            "std": self.std,
            "low": low,
            "high": high,
            "no_effect": self.probability_zero,
            "positive": self.probability_positive,
            "negative": self.probability_negative,
            "source": self.source,
        }

    def plot(self, *others: Any, level: float = 0.95, ax: Any = None) -> ForestDisplay:
        """Draw the mean with its interval, and those of other effects, the largest first.

        Parameters
        ----------
        *others : EffectEstimate
            Further effects, such as those on other outcomes, or by another estimator: labels then
            have their `source`.
        level : float, default=0.95
            As for `interval`.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        display : ForestDisplay
            A forest plot, with the attributes `ax_` and `figure_`.

        Raises
        ------
        TypeError, ValueError, ImportError
            If one is no effect, the level is not from 0 to 1, or matplotlib is not installed.
        """
        for other in others:
            if not isinstance(other, EffectEstimate):
                what = "effects; name the level, as in plot(level=0.9)"
                raise TypeError(must_be("others", what, other))
        return ForestDisplay.from_effects([self, *others], level, ax=ax)

    def _caption(self) -> str:
        return f"Effect of do({readable_cause(self.cause)}) on {readable_cause(self.outcome)}"

    def _rows(self) -> list[tuple[str, str]]:
        low, high = self.interval()
        spread, interval = f"{self.std:.3g}", f"{low:.3g} to {high:.3g}"
        if np.isnan(self.std):
            spread = "unknown without least squares of observed rows"
            interval = "see effect of a bootstrap or a posterior"
        rows = [
            ("given", self.source),
            ("no effect", f"{self.probability_zero:.3g}"),
            ("mean", f"{self.mean:.3g}"),
        ]
        if self.standard_error is not None:
            rows.append(("standard error of the mean", f"{self.standard_error:.1g}"))
        return [*rows, ("standard deviation", spread), ("95 % interval", interval)]


def effects_frame(effects: Iterable[EffectEstimate], level: float) -> Any:
    """Return a table with a row for each effect."""
    rows = [effect._row(level) for effect in effects]
    return frame_of({name: [row[name] for row in rows] for name in (rows[0] if rows else ())})


_EPS = float(np.finfo(np.float64).eps)


def quantiles(values: Floats, weights: Floats, q: Floats) -> Floats:
    """Return the smallest values up to which the weights sum to q."""
    order = np.argsort(values, kind="stable")
    # Rounding of the sums must not move a quantile to the next value.
    below_one = 1 - _EPS * (len(values) + 1)
    reached = np.searchsorted(np.cumsum(weights[order]), q * below_one)
    return np.asarray(values[order[np.minimum(reached, len(values) - 1)]])


def readable_cause(cause: Any) -> str:
    """Return what is set, or a category and its level, as one reads it.

    >>> readable_cause({"dose": 2.0, "ward": ("east", "west")})
    'dose + 2, ward: east to west'
    """
    if not isinstance(cause, Mapping):
        return readable_name(cause)
    return ", ".join(
        f"{readable_name(name)}: {change[0]} to {change[1]}"
        if isinstance(change, tuple)
        else f"{readable_name(name)} + {change:g}"
        for name, change in cause.items()
    )


# What is asked


class Intervention(NamedTuple):
    """An intervention and an outcome, over the columns of nodes."""

    shown: tuple[Any, Any]  # the cause and the outcome as they are shown
    nodes: Nodes
    causes: list[int]  # the nodes that are set
    reading: Combination  # the outcome
    held: list[int]  # the columns of the causes
    shift: F1  # (n_columns,): by how much
    weights: F1  # (n_columns,): the outcome is the sum of the columns with these weights

    @property
    def change(self) -> Combination:
        """The change of the only cause."""
        (cause,) = self.causes
        return Combination(self.shown[0], cause, self.held, self.shift[self.held].tolist())


def read_intervention(nodes: Nodes, cause: Any, outcome: Any) -> Intervention:
    """Return what a user asks of an effect."""
    are_named = isinstance(cause, Mapping)
    changes = [*cause.items()] if are_named else [(cause, 1.0)]
    if not changes:
        raise ValueError("cause must name a node that is set; it is empty.")
    shift, held = np.zeros(len(nodes.columns)), set()
    for name, change in changes:
        size = 1.0
        if are_named and name not in nodes.levels:
            ends = change if isinstance(change, tuple) and len(change) == 2 else (0.0, change)
            low, high = (finite_number(end, f"cause[{name!r}]") for end in ends)
            size = high - low
        elif are_named:
            name = (name, *change) if isinstance(change, tuple) else (name, change)
        part, reading = change_and_reading(nodes, name, outcome)
        held.add(part.node)
        shift[part.columns] += size * np.array(part.weights)
    (weights,) = matrix_of([reading], len(shift))
    shown = (cause if are_named else part.label), reading.label
    causes = sorted(held)
    return Intervention(shown, nodes, causes, reading, nodes.columns_of(causes), shift, weights)


# What networks say


def of_values(
    cause: Any, outcome: Any, values: Floats, weights: Floats, source: str
) -> EffectEstimate:
    """Return an effect that each network has without an error."""
    parts = EffectParts(values, np.zeros(len(values)), weights, np.full(len(values), np.inf))
    return of_parts(cause, outcome, parts, source)


def of_parts(cause: Any, outcome: Any, parts: EffectParts, source: str) -> EffectEstimate:
    """Return an effect over networks."""
    values, errors, weights, _ = parts
    mean = float(weights @ values)
    std = float(np.sqrt(weights @ ((values - mean) ** 2 + errors**2)))
    no_path = float(weights[(values == 0) & (errors == 0)].sum())
    return EffectEstimate(cause, outcome, mean, std, no_path, *parts, source)


def _error(
    groups: Groups, parents: Sequence[int], reach: Floats, follows: Floats
) -> tuple[float, float]:
    """Return the standard error of an effect, and its degrees of freedom.

    `parents`: the masks of each column's parents, by which it is regressed
    `reach`, `follows`: (n_columns,), by how much the intervention moves each column, and the
        outcome follows it
    """
    variance, freedom = 0.0, np.inf
    for own, statistics in groups:
        masks = [mask if c in own and follows[c] else 0 for c, mask in enumerate(parents)]
        for families in statistics.families_of(bits_of(masks, len(parents))):
            if not families.n_parents.any():
                continue
            inverses = np.linalg.inv(families.first_block(families.n_parents))
            left = families.residual_norms()
            for i, (c, n) in enumerate(zip(families.children, families.n_parents, strict=True)):
                at = families.columns[i, :n]
                if not reach[at].any():
                    continue
                moved = (reach[at] / statistics.scale[at]) @ inverses[i, :n, :n]
                free = statistics.n_samples - n - 1.0
                unit = left[i] * statistics.scale[c] / np.sqrt(free)
                variance += float((follows[c] * unit) ** 2 * (moved @ moved))
                freedom = min(freedom, free)
    return float(np.sqrt(variance)), freedom


class EffectParts(NamedTuple):
    """The effects of k networks, their standard errors, weights and degrees of freedom."""

    values: Floats
    errors: Floats
    weights: Floats
    freedom: Floats


def effect_parts(
    model: LinearGaussianModel,
    groups: Groups | None,
    asked: Intervention,
    clusters: ClusterErrors | None = None,
) -> EffectParts:
    """Return the effect in a network as it is, with its error by clusters if these are given.

    The error is NaN if the statistics behind the parameters are unknown, and 0 without a path.
    """
    coef, parents = model.without_parents(asked.held)
    reach = propagate(asked.shift, coef, parents)
    follows = propagate(np.eye(len(coef)), coef, parents) @ asked.weights
    error, freedom = 0.0, np.inf
    if any(follows[c] and reach[members_of(mask)].any() for c, mask in enumerate(parents)):
        error = np.nan
        if clusters is not None:
            ends = [(p, c) for c, mask in enumerate(parents) for p in members_of(mask)]
            error, freedom = clusters.with_own.error(
                (*e, reach[e[0]] * follows[e[1]]) for e in ends
            )
        elif groups is not None:
            error, freedom = _error(groups, parents, reach, follows)
    effect = np.array([float(reach @ asked.weights)])
    return EffectParts(effect, np.array([error]), np.ones(1), np.array([freedom]))


def class_effects(
    model: LinearGaussianModel, groups: Groups | None, asked: Intervention
) -> EffectParts:
    """Return the effects in a network's equivalence class, each with the share of its members.

    Each choice of parents that the causes have in some member counts by the number of these
    members. The errors are those of the regression on a single cause and these parents, or with
    several causes those of a member.
    """
    nodes = asked.nodes
    if len(asked.causes) > 1:
        members = effects.class_members(model, nodes, asked.causes)
        models = [effects.equivalent_model(model, nodes, member) for member, _ in members]
        parts = [effect_parts(each, groups, asked) for each in models]
        n_members = np.array([n for _, n in members], dtype=np.float64)
        return _together(parts)._replace(weights=n_members / n_members.sum())
    found = effects.class_effect_columns(model, nodes, asked.change, asked.reading)
    values, n_members = found["effect"], np.array(found["n_members"], dtype=np.float64)
    errors, freedom = np.full(len(values), np.nan), np.full(len(values), np.inf)
    for i, adjusted in enumerate(found["adjusted_for"]):
        if values[i] == 0:
            errors[i] = 0.0
        elif groups is not None:
            of_adjusted = nodes.columns_of([nodes.names.index(name) for name in adjusted])
            mask = mask_of([*asked.held, *of_adjusted])
            parents = [mask if weight else 0 for weight in asked.weights]
            errors[i], freedom[i] = _error(groups, parents, asked.shift, asked.weights)
    return EffectParts(values, errors, n_members / n_members.sum(), freedom)


def _together(parts: Sequence[EffectParts]) -> EffectParts:
    """Return the effects of several networks, whose weights sum to 1."""
    found = EffectParts(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    return found._replace(weights=found.weights / found.weights.sum())


def mixture(asked: Intervention, parts: Sequence[EffectParts], source: str) -> EffectEstimate:
    """Return an effect over networks."""
    return of_parts(*asked.shown, _together(parts), source)


_MOST_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class PathEffects(TableRepr):
    """A total effect and its parts along directed paths, over networks.

    A path has the effect 0 in networks without it. Shares are of the mean total effect, and may be
    negative or above 1 if paths work against each other. `path_effects` of a `GaussianBNPosterior`,
    which has an example, or a `BootstrapBNLearner` returns it.

    Parameters
    ----------
    cause, outcome : object
    paths : dict of tuple of nodes to ndarray of shape (n_networks,)
        The effects along each path.
    n_networks : int
    source : str
        What the networks are of.
    weights : ndarray of shape (n_networks,), optional
        How much each network counts, in sum 1; by default all alike.
    """

    cause: Any
    outcome: Any
    paths: dict[tuple[Any, ...], Floats]
    n_networks: int
    source: str
    weights: Floats | None = None
    _alignments = "lrrrr"
    _header = "path", "present", "mean", "95 % interval", "share"

    def _sum(self, some: Iterable[tuple[Any, ...]]) -> EffectEstimate:
        """Return the effect along some of the paths."""
        n = self.n_networks
        values = sum((self.paths[path] for path in some), np.zeros(n))
        weights = np.full(n, 1 / n) if self.weights is None else self.weights
        return of_values(self.cause, self.outcome, values, weights, self.source)

    @property
    def total(self) -> EffectEstimate:
        """The total effect, the sum over all paths."""
        return self._sum(self.paths)

    @property
    def direct(self) -> EffectEstimate:
        """The effect along the edge from the cause to the outcome."""
        return self._sum(path for path in self.paths if len(path) == 2)

    @property
    def indirect(self) -> EffectEstimate:
        """The effect along all other paths."""
        return self._sum(path for path in self.paths if len(path) > 2)

    @property
    def mediated_share(self) -> float:
        """The mean indirect effect over the mean total effect; NaN without a path."""
        total = self.total.mean
        return self.indirect.mean / total if total else np.nan

    def to_frame(self, level: float = 0.95) -> Any:
        """Return a table with a row for each path, the largest mean first.

        Parameters
        ----------
        level : float, default=0.95
            The probability of the intervals, from 0 to 1.

        Returns
        -------
        table : pandas.DataFrame, or a table as a dict of lists without pandas
            Its columns are `path`, `present` (the probability of the path, or its share of
            resamples), `mean`, `std`, `low`, `high` and `share`.
        """
        return self._frame({path: self._sum([path]) for path in self.paths}, "path", level)

    def mediators(self, level: float = 0.95) -> Any:
        """Return a table with a row for each node between: the effect along all paths through it.

        Paths through several nodes count for each of them, so that shares do not sum to 1.

        Parameters
        ----------
        level : float, default=0.95

        Returns
        -------
        table : pandas.DataFrame, or a table as a dict of lists without pandas
            As `to_frame`, with `mediator` in the place of `path`.
        """
        between = dict.fromkeys(node for path in self.paths for node in path[1:-1])
        through = {
            node: self._sum(path for path in self.paths if node in path[1:-1]) for node in between
        }
        return self._frame(through, "mediator", level)

    def _frame(self, effects: dict[Any, EffectEstimate], name: str, level: float) -> Any:
        total = self.total.mean or np.nan
        ordered = sorted(effects, key=lambda key: -abs(effects[key].mean))
        found = [effects[key] for key in ordered]
        ends = [effect.interval(level) for effect in found]
        return frame_of(
            {
                name: [list(key) if name == "path" else key for key in ordered],
                "present": [1 - effect.probability_zero for effect in found],
                "mean": [effect.mean for effect in found],
                "std": [effect.std for effect in found],
                "low": [low for low, _ in ends],
                "high": [high for _, high in ends],
                "share": [effect.mean / total for effect in found],
            }
        )

    def plot(self, level: float = 0.95, *, n: int = 20, ax: Any = None) -> ForestDisplay:
        """Draw the effects along the paths with their intervals: a forest plot.

        Parameters
        ----------
        level : float, default=0.95
            The probability of the intervals, from 0 to 1.
        n : int, default=20
            How many paths are drawn at most.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        display : ForestDisplay
            With the attributes `ax_` and `figure_`.

        Raises
        ------
        ValueError, ImportError
            If there is no path, or matplotlib is not installed.
        """
        frame = self.to_frame(level)
        labels = [" → ".join(map(str, path)) for path in frame["path"]]
        columns = [list(frame[name])[:n] for name in ("mean", "low", "high")]
        return ForestDisplay(labels[:n], *columns, xlabel="effect along the path").plot(ax=ax)

    def _caption(self) -> str:
        n, shown = len(self.paths), f", the {_MOST_SHOWN} largest" * (len(self.paths) > _MOST_SHOWN)
        return (
            f"Effect of do({readable_name(self.cause)}) on {readable_name(self.outcome)}: "
            f"{self.total.mean:.3g}, {100 * self.mediated_share:.0f} % mediated; {n} paths{shown}"
        )

    def _rows(self) -> list[list[str]]:
        frame = self.to_frame()
        names = "path", "present", "mean", "low", "high", "share"
        rows = zip(*(list(frame[name]) for name in names), strict=True)
        lines = [
            [
                " -> ".join(map(readable_name, path)),
                f"{present:.3g}",
                f"{mean:.3g}",
                f"{low:.3g} to {high:.3g}",
                f"{share:.2f}",
            ]
            for path, present, mean, low, high, share in rows
        ]
        return lines[:_MOST_SHOWN]


def path_estimates(
    models: Sequence[LinearGaussianModel],
    nodes: Nodes,
    cause: Any,
    outcome: Any,
    source: str,
    weights: Floats | None = None,
) -> PathEffects:
    """Return the effects along the paths of all networks."""
    paths: dict[tuple[Any, ...], Floats] = {}
    for i, model in enumerate(models):
        found = path_columns(model, nodes, cause, outcome)
        for path, effect in zip(found["path"], found["effect"], strict=True):
            paths.setdefault(tuple(path), np.zeros(len(models)))[i] = effect
    return PathEffects(cause, outcome, paths, len(models), source, weights)

"""Samples of a network, and distributions and predictions of its nodes when some are known.

Each function takes the network's model, and what users give to the method of the same name.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn import get_config

from skbn._core.arrays import (
    Booleans,
    Floats,
    Random,
    as_integer,
    finite_number,
    is_listed,
    numbers_in,
)
from skbn._core.columns import by_label, is_missing, is_series, named_nodes, reject_unknown
from skbn._core.estimator import StrOptions, random_generator
from skbn._core.graphs import require_finite
from skbn._core.resources import one_blas_thread
from skbn._core.text import readable_name, readable_value
from skbn._data.containers import array_of, as_numpy, missing_in
from skbn._data.encoding import encoded_rows
from skbn._data.nodes import Nodes
from skbn._data.table import REMEDY, Table, numbers_of, read_columns
from skbn._displays.notebook import TableRepr, frame_of
from skbn._missing.incomplete_rows import rows_by_pattern
from skbn._networks.categories import conditional, numbers_text, of_all_levels
from skbn._networks.gaussian import LinearGaussianModel, require_exogenous_values, stacked
from skbn._networks.intervals import WithinBounds

# As in sklearn.set_config(transform_output=...)
CONTAINERS = {"transform": [StrOptions({"default", "pandas", "polars"}), None]}

# Samples


def sample(
    model: LinearGaussianModel,
    n_samples: int,
    random_state: Any,
    container: str | None,
    exogenous: Floats | None = None,
) -> Any:
    """Draw rows from a network, as an array or as a data frame of a container.

    A container of None stands for scikit-learn's setting. With values of the exogenous nodes, one
    row is drawn for each of theirs.
    """
    if exogenous is not None:
        if n_samples != 1:
            raise ValueError(
                f"n_samples={n_samples} was given with a table of exogenous values, for each row "
                "of which one row is drawn. Leave n_samples out, and repeat rows of the table."
            )
        n_samples = len(exogenous)
    noise = random_generator(random_state).standard_normal((n_samples, len(model.nodes)))
    rows = model.draw(noise, exogenous)
    if {*model.nodes} == {*range(len(model.nodes))}:  # numbers of columns, as they are read
        rows = rows[:, [*map(model.nodes.index, range(len(model.nodes)))]]
    return _in_container(rows, model.nodes, container)


def _in_container(rows: Floats, nodes: list[Hashable], container: str | None) -> Any:
    """Return rows as an array, or as a data frame if one is asked for and all nodes are strings."""
    container = get_config()["transform_output"] if container is None else container
    if container == "default" or not all(isinstance(node, str) for node in nodes):
        return rows
    try:
        library: Any = import_module(container)
    except ImportError as error:
        raise ImportError(
            f"Rows as a data frame of {container} need it: pip install {container}, or "
            f'set_output(transform="default") ({error}).'
        ) from error
    if container == "pandas":
        return library.DataFrame(rows, columns=nodes)
    return library.DataFrame(rows, schema=nodes, orient="row")


# Conditional distributions


def values_of_columns(given: Any, nodes: Nodes, parameter: str) -> dict[int, float | Floats]:
    """Return the values of columns, by number, from what users say of nodes.

    Arrays have a value for each scenario, and all have the same length, which is not 0.
    """
    values: dict[int, float | Floats] = {}
    labelled = by_label(given, parameter, "node")
    reject_unknown(labelled, nodes.names, parameter)
    for v, node in enumerate(nodes.names):
        if node not in labelled:
            continue
        read = _indicators if node in nodes.levels else _parts
        own = nodes.columns_of([v])
        values |= zip(own, read(nodes, own, node, labelled[node], parameter), strict=True)
    names = nodes.column_names
    lengths = {names[i]: len(x) for i, x in values.items() if isinstance(x, np.ndarray)}
    if len({*lengths.values()}) > 1 or 0 in lengths.values():
        raise ValueError(
            "Lists of values have one for each scenario: they must have the same length, and not "
            f"be empty; got lengths of {readable_value(lengths)}. Give a single value of what is "
            "the same in all scenarios."
        )
    return values


def _indicators(nodes: Nodes, own: list[int], node: Any, value: Any, parameter: str) -> list[Any]:
    """Return the values of a category's indicators, for a level or a list of them."""
    levels = nodes.levels[node]
    is_list = is_listed(value) and not isinstance(value, tuple)  # which may be a level
    given = list(value) if is_list else [value[()] if isinstance(value, np.ndarray) else value]
    for level in given:
        if not isinstance(level, Hashable) or is_missing(level) or level not in levels:
            raise ValueError(
                f"{parameter}: node {node!r} has the levels {levels}; got {readable_value(level)}."
            )
    indicated = [nodes.columns[i].level for i in own]
    parts = np.array([[float(level == each) for level in given] for each in indicated])
    return list(parts if is_list else parts[:, 0])


def _parts(nodes: Nodes, own: list[int], node: Any, value: Any, parameter: str) -> list[Any]:
    """Return the values of a node's columns, which may be arrays."""
    columns = [nodes.columns[i].name for i in own]
    got = value
    if hasattr(value, "columns"):
        value = {label: value[label] for label in value.columns}
    if isinstance(value, Mapping) or (is_series(value) and len(own) > 1):
        of_columns = by_label(value, f"{parameter}[{node!r}]", "column")
        value = [of_columns[each] for each in columns if each in of_columns]
    elif len(own) == 1 and isinstance(value, tuple):
        raise ValueError(
            f"{parameter}: the value of node {node!r} is the tuple {readable_value(value)}. Give a "
            "list of values for several scenarios, and intervals to condition."
        )
    elif len(own) == 1:
        value = [value]
    elif is_listed(value) and all(map(is_listed, value)):  # a row for each scenario
        is_table = {*map(len, value)} == {len(own)}
        value = list(zip(*value, strict=True)) if is_table else []
    parts = list(value) if is_listed(value) else [value]
    if len(parts) != len(own):
        raise ValueError(
            f"{parameter}: node {node!r} has {len(own)} columns; got {readable_value(got)}. "
            "Give a value for each, in a list, or a list of such lists for several scenarios."
        )
    what = "node" if columns == [node] else "column"
    return [
        numbers_in(part, f"The value of {what} {column!r} in {parameter}")
        for column, part in zip(columns, parts, strict=True)
    ]


def predict(
    model: LinearGaussianModel,
    nodes: Nodes,
    exogenous: list[Hashable],
    X: Any,
    target: Any = None,
    given: Any = None,
    return_std: bool = False,
) -> Any:
    """Return the conditional means of nodes, given the values of others in each row of a table.

    By default the given nodes are all others in the table that have a variance. With `return_std`,
    the standard deviations come second.
    """
    table = Table(X)
    names: list[Any] = nodes.names
    targets, is_single = ([], False) if target is None else named_nodes(target, names, "target")
    for node in targets:
        if node in exogenous:
            raise ValueError(
                f"Node {node!r} is exogenous: the network does not say how it is distributed, and "
                "cannot predict it. Name another target."
            )
    # Without names, the columns are those of all nodes, or of the given ones.
    columns = nodes.labels if len(table.labels) == len(nodes.labels) else None
    remedy = REMEDY
    if given is not None:
        given, _ = named_nodes(given, names, "given")
        if both := [node for node in given if node in targets]:
            raise ValueError(f"The nodes {both} are both in given and in target.")
    else:
        varies = model.standard_deviations() > 0
        own_of = {node: nodes.columns_of([v]) for v, node in enumerate(names)}
        varying = {
            node: [nodes.labels[nodes.columns[i].source] for i in own]
            for node, own in own_of.items()
            if varies[own].any()
        }
        known = nodes.labels if table.names is None else table.names
        given = [
            node for node, own in varying.items() if node not in targets and {*own} <= {*known}
        ]
        if not given:
            raise ValueError(
                "No node is left to predict from: the nodes with a variance are "
                f"{[*varying]}, the target {targets}, and the columns of X {known}."
            )
        columns, remedy = nodes.labels, "Give these columns, or name those that X has in given."
        numbers_of(table, [], columns, remedy)  # raises if an array has other columns
    if target is None:
        targets = [node for node in names if node not in given]
    if not targets:
        raise ValueError("All nodes are given, so none is left to predict; name a target.")
    require_exogenous_values(exogenous, given)
    inputs, outputs = ([names.index(node) for node in some] for some in (given, targets))
    unseen = set[int]()
    how: Any = {"may_miss": True, "unseen": unseen}
    rows = encoded_rows(nodes.select_nodes(inputs), table, columns, remedy, **how)
    seen = np.full((len(rows), len(model.nodes)), np.nan)
    seen[:, nodes.columns_of(inputs)] = rows
    deviations = np.zeros(seen.shape)
    means = filled(model, nodes, seen, deviations=deviations)
    means[[*unseen]] = deviations[[*unseen]] = np.nan
    labels: list[Hashable] = []
    parts: list[tuple[Floats, Floats]] = []
    for v in outputs:
        own, node = nodes.columns_of([v]), names[v]
        if node in nodes.levels:
            levels, shares = shares_of_levels(nodes, v, means)
            labels += levels if is_single else [f"{node}={level}" for level in levels]
            parts.append((shares, np.sqrt(shares * (1 - shares))))
        else:
            labels += [nodes.columns[i].name for i in own]
            parts.append((means[:, own], deviations[:, own]))
    is_single = is_single and len(labels) == 1
    mean, std = (
        like_pandas(np.column_stack(each), X, labels, is_single)
        for each in zip(*parts, strict=True)
    )
    return (mean, std) if return_std else mean


@one_blas_thread()
def residuals(model: LinearGaussianModel, rows: Floats, X: Any) -> Any:
    """Return the differences of the rows of a table from what the nodes' parents predict."""
    differences = model.residuals(rows)
    require_finite(
        differences,
        model.nodes,
        "The residual of node {node!r} in row {row} is out of float64's range. Leave out this row, "
        "or measure the nodes in other units.",
    )
    return like_pandas(differences, X, model.nodes, is_single=False)


def like_pandas(values: Floats, X: Any, target: list[Hashable], is_single: bool) -> Any:
    """Return values of shape (n, k) in the container of X: pandas keeps its index.

    A single column becomes a vector, or a Series.
    """
    pandas: Any = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, pandas.DataFrame):
        return values[:, 0] if is_single else values
    if is_single:
        return pandas.Series(values[:, 0], index=X.index, name=target[0])
    names = pandas.Index(target, tupleize_cols=False)
    return pandas.DataFrame(values, index=X.index, columns=names)


@one_blas_thread()
def filled(
    model: LinearGaussianModel,
    nodes: Nodes,
    rows: Floats,
    rng: Random | None = None,
    is_set: Booleans | None = None,
    deviations: Floats | None = None,
) -> Floats:
    """Return rows, (n, m), with values in place of NaN; what is observed is copied.

    They are conditional means, of indicators the probabilities of levels, or, with a generator,
    draws from the conditional distributions. `is_set`, of the same shape, says which values were
    set: no arrow points to these. Standard deviations are written into `deviations`.
    """
    result, noise = rows.copy(), None
    if rng is not None:  # as many numbers whatever the order of the patterns
        noise = np.asarray(rng.standard_normal(rows.shape))
    seen_and_set = ~np.isnan(rows)
    if is_set is not None:
        seen_and_set = np.hstack([seen_and_set, is_set])
    for at, pattern in rows_by_pattern(seen_and_set):
        if pattern[: rows.shape[1]].all():
            continue
        own = model.given(np.flatnonzero(pattern[rows.shape[1] :]).tolist())
        of_rows = None if noise is None else noise[at]
        found = conditional(own, model.before or model, nodes, rows[at], of_rows)
        places = at[:, np.newaxis], found.columns
        result[places] = found.values
        if deviations is not None:
            deviations[places] = found.deviations()
    return result


# Users' tables


def _users_columns(nodes: Nodes, rows: Floats, some: Container[int]) -> dict[int, Any]:
    """Return the values of some columns, by the numbers of the user's columns they are made of."""
    columns: dict[int, Any] = {}
    for v, node in enumerate(nodes.names):
        own = [i for i in nodes.columns_of([v]) if i in some]
        if node in nodes.levels and own:
            levels, shares = shares_of_levels(nodes, v, rows)
            most_probable = np.empty(len(rows), dtype=object)  # a level may be a tuple
            most_probable[:] = [levels[k] for k in shares.argmax(axis=1)]
            columns[nodes.columns[own[0]].source] = most_probable
        else:
            columns |= {nodes.columns[i].source: rows[:, i] for i in own}
    return columns


def with_levels(nodes: Nodes, rows: Floats) -> Any:
    """Return the user's columns of rows, as objects: the most probable levels of categories."""
    shown = np.empty((len(rows), len(nodes.labels)), dtype=object)
    for source, values in _users_columns(nodes, rows, range(len(nodes.columns))).items():
        shown[:, source] = values
    return shown


def shares_of_levels(nodes: Nodes, v: int, means: Floats) -> tuple[list[Any], Floats]:
    """Return a category's levels, and their probabilities by the means of all columns."""
    shares = of_all_levels(means[:, nodes.columns_of([v])])
    return nodes.levels_of(v), np.clip(shares, 0.0, 1.0)  # sums are rounded


def with_values(
    X: Any, nodes: Nodes, rows: Floats, some: Container[int], *, replaces: bool = False
) -> Any:
    """Return a user's table with new values in some of the nodes' columns, where it has holes.

    The levels of a category stay what they are, and so do other columns. With `replaces`, the
    columns get the new values in all rows.
    """
    columns = _users_columns(nodes, rows, some)
    table = Table(X)
    numbers = numbers_of(table, nodes.labels, nodes.labels)
    columns = {numbers[j]: values for j, values in columns.items()}
    own = {j: as_numpy(table.column(j), "X", "Pass a data frame.") for j in columns}
    holes = {j: replaces | missing_in(table.column(j), own[j]) for j in columns}
    for j, values in columns.items():
        if values.dtype.kind != "f":  # an observed level stays what it is
            columns[j] = np.where(holes[j], values, own[j])
    pandas: Any = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, pandas.DataFrame):
        result = X.copy()
        for j, values in columns.items():
            column = result[table.labels[j]]
            fill = pandas.Series(values, index=column.index)
            if values.dtype.kind != "f":
                fill = column.where(~holes[j], fill.astype(column.dtype))
            result[column.name] = fill
        return result
    polars: Any = sys.modules.get("polars")
    if polars is not None and isinstance(X, polars.DataFrame):
        series = []
        for j, values in columns.items():
            label = table.labels[j]
            kept = polars.Float64 if values.dtype.kind == "f" else X.schema[label]
            series.append(polars.Series(label, values.tolist(), dtype=kept))
        return X.with_columns(series)
    rows = array_of(X) if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
    is_number = all(values.dtype.kind == "f" for values in columns.values())
    try:
        result = np.array(rows, dtype=np.float64 if is_number else object)
    except (TypeError, ValueError):  # other columns hold texts
        result = np.array(rows, dtype=object)
    for number, values in columns.items():
        result[:, number] = values
    return result


# Distributions


@one_blas_thread()  # more would change bits
def condition(
    model: LinearGaussianModel, nodes: Nodes, values: Mapping[int, float | Floats]
) -> GaussianDistribution:
    """Return the distribution of all columns but those with values, given these."""
    known = stacked(values.values())
    rows = np.full((len(np.atleast_2d(known)), len(model.nodes)), np.nan)
    rows[:, list(values)] = known
    found = conditional(model, model.before or model, nodes, rows)
    mean, covariance = found.values, found.covariances()
    if known.ndim < 2:
        mean, covariance = mean[0], covariance.reshape(covariance.shape[-2:])
    return _distribution(nodes, found.columns, mean, covariance)


@one_blas_thread()
def do(
    model: LinearGaussianModel, nodes: Nodes, values: Mapping[int, float | Floats]
) -> GaussianDistribution:
    """Return the distribution of all columns in scenarios in which some are set to values."""
    after = model.do(values)
    mean, covariance = after.mean, after.covariance()
    held = np.flatnonzero(after.noise_variance == 0)
    if nodes.levels:
        rows = np.full(mean.shape, np.nan)
        rows[:, held] = mean[:, held]
        found = conditional(after.before.given(held.tolist()), after.before, nodes, rows)
        mean[:, found.columns] = found.values
        if len(found.slopes):
            covariance = np.zeros((len(mean), *covariance.shape))
            covariance[np.ix_(range(len(mean)), found.columns, found.columns)] = found.covariances()
    return _distribution(nodes, [*range(len(after.nodes))], mean, covariance)


def _distribution(
    nodes: Nodes, columns: list[int], mean: Floats, covariance: Floats
) -> GaussianDistribution:
    names: list[Hashable] = [*nodes.column_names]
    own, numbers = [names[i] for i in columns], range(len(nodes.names))
    require_finite(mean, own)
    require_finite(np.diagonal(covariance, axis1=-2, axis2=-1), own)
    of_nodes: dict[Hashable, Any] = {
        nodes.names[v]: [names[i] for i in nodes.columns_of([v])] for v in numbers
    }
    levels: dict[Hashable, Any] = {
        node: nodes.levels_of(v) for v, node in enumerate(of_nodes) if node in nodes.levels
    }
    varies = np.diagonal(covariance, axis1=-2, axis2=-1) > 0
    loose = {column for column, own_varies in zip(own, varies.T, strict=True) if own_varies.any()}
    unknown = [node for node in levels if loose & {*of_nodes[node]}]
    return GaussianDistribution(own, mean, covariance, of_nodes, levels, unknown)


def within(found: GaussianDistribution, intervals: Mapping[Any, Any]) -> GaussianDistribution:
    """Return a distribution given that some of its nodes lie in intervals."""
    (of_all, *others) = found._whole("Intervals in evidence")
    if others or found.mean.ndim > 1:
        raise ValueError(
            "evidence has intervals and lists of values for several scenarios. Give single values "
            "beside intervals, and ask once for each scenario."
        )
    of_all = of_all._replace(bounds=of_all.read(intervals, "evidence"))
    for v in of_all.bounds:
        if found.covariance[v, v] == 0:
            raise ValueError(
                f"evidence: node {found.nodes[v]!r} has no noise, so that it has one value. Leave "
                "its interval out."
            )
    mean, covariance, errors = of_all.moments()
    return replace(found, of_all=of_all, mean=mean, covariance=covariance, standard_error=errors)


class GaussianMarginal(NamedTuple):
    """The distribution of one node."""

    mean: Any  # float, or ndarray of shape (k,) for k scenarios
    # float, or ndarray of shape (k,); 0 for a node whose value is fixed. It depends on the scenario
    # if categories are not known.
    standard_deviation: Any


@dataclass(frozen=True, eq=False, repr=False)
class GaussianDistribution(TableRepr):
    """A joint Gaussian distribution of m nodes, as `GaussianBayesianNetwork.condition` returns it.

    ``distribution["ash"]`` is the mean and the standard deviation of a node, and
    ``distribution[["ash", "hue"]]`` is the joint distribution of several nodes, in this order;
    ``distribution["site"]`` is a dict of the levels of a category and their probabilities, with a
    value for each scenario. Where categories are not known, the distribution is a mixture of
    Gaussians over their levels, of which these are the moments. It is displayed as a table.

    Parameters
    ----------
    nodes : list of m hashables
    mean : ndarray of shape (m,), or (k, m) for k scenarios
    covariance : ndarray of shape (m, m), or (k, m, m)
        The nodes' covariance, the same in each scenario unless categories are not known.
    columns : mapping of hashable to list of hashables, optional
        If the distribution is of columns, the columns of each node. A node can be looked up if all
        its columns are there.
    levels : mapping of hashable to list of hashables, optional
        The levels of each category, whose columns are the indicators of all but the first.
    unknown : list of hashables, optional
        The categories over whose levels it is a mixture.
    of_all : WithinBounds, optional
        If some nodes are known to lie in intervals: the Gaussian without, and these.
    standard_error : ndarray of shape (m,), optional
        The standard errors of the means, which are drawn if two nodes or more lie in intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn import GaussianDistribution
    >>> wines = GaussianDistribution(
    ...     ["alcohol", "proline"], np.array([13.5, 700.0]), np.diag([0.25, 1e4])
    ... )
    >>> wines
    Distribution of 2 nodes
    node     mean  standard deviation
    alcohol  13.5                 0.5
    proline   700                 100
    >>> wines["proline"]
    GaussianMarginal(mean=700.0, standard_deviation=100.0)
    >>> mean, deviation = wines["alcohol"]
    >>> wines[["proline", "alcohol"]].covariance
    array([[1.0e+04, 0.0e+00],
           [0.0e+00, 2.5e-01]])
    """

    nodes: list[Hashable]
    mean: Floats
    covariance: Floats
    columns: Mapping[Hashable, list[Hashable]] = field(default_factory=dict)
    levels: Mapping[Hashable, list[Any]] = field(default_factory=dict)
    unknown: Sequence[Hashable] = ()
    of_all: WithinBounds | None = None
    standard_error: Floats | None = None

    _alignments = "lrr"
    _header = "node", "mean", "standard deviation"
    # Python would otherwise iterate by asking for 0, 1, 2 ..., which may be nodes.
    __iter__: ClassVar[None] = None

    @property
    def standard_deviation(self) -> Floats:
        """The nodes' standard deviations, shape (m,), or (k, m) as `covariance`."""
        variances = np.diagonal(self.covariance, axis1=-2, axis2=-1)
        return np.asarray(np.sqrt(np.maximum(variances, 0.0)))  # of certain levels, rounding

    def __getitem__(self, node: Any) -> Any:
        """Return the marginal of a node, or the joint distribution of a list of different nodes."""
        what, there = "The index of a distribution", {*self.nodes}
        known = {name: own for name, own in self.columns.items() if there.issuperset(own)}
        known = {**known, **{name: [name] for name in self.nodes}}
        chosen, is_single = named_nodes(node, [*known], what)
        chosen, _ = named_nodes([each for name in chosen for each in known[name]], self.nodes, what)
        v = [self.nodes.index(each) for each in chosen]
        mean, covariance = self.mean[..., v], self.covariance[..., v, :][..., v]
        if is_single and node in self.levels:
            shares = np.clip(of_all_levels(mean), 0.0, 1.0)  # sums are rounded
            own = [each if each.ndim else float(each) for each in np.moveaxis(shares, -1, 0)]
            return dict(zip(self.levels[node], own, strict=True))
        if is_single and len(v) == 1:
            one = mean[..., 0], self.standard_deviation[..., v[0]]
            return GaussianMarginal(*(each if each.ndim else float(each) for each in one))
        errors = None if self.standard_error is None else self.standard_error[v]
        of_chosen: Any = {"mean": mean, "covariance": covariance, "standard_error": errors}
        return replace(self, nodes=chosen, **of_chosen)

    def _whole(self, what: str) -> list[WithinBounds]:
        """Return the Gaussian of each scenario; raise if it is a mixture."""
        if self.unknown:
            raise ValueError(
                f"{what} take one Gaussian, and this is a mixture over the levels of "
                f"{readable_value(self.unknown)}. Give these levels to condition."
            )
        if self.of_all is not None:
            return [self.of_all]
        return [
            WithinBounds.of(self.nodes, each, self.covariance) for each in np.atleast_2d(self.mean)
        ]

    def _by_scenario(self, values: Sequence[Any]) -> Any:
        """Return what each scenario has, or the only one's."""
        return np.asarray(values) if self.mean.ndim > 1 else values[0]

    def probability(
        self, event: Mapping[Any, Any] | None = None, /, *, return_std: bool = False, **more: Any
    ) -> Any:
        """Return the probability that nodes lie in intervals, or that a category has a level.

        Parameters
        ----------
        event : dict of node to (low, high), optional
            With `inf` for an open end.
        return_std : bool, default=False
            Whether to return the standard error as well.
        **more
            Nodes as keywords: ``probability(F=(25, inf))``.

        Returns
        -------
        probability : float, or ndarray of shape (k,) for k scenarios
            Exact for one node with an interval, here or in the evidence, by quadrature to about
            1e-6 for two, and else an estimate by 20,000 draws.
        standard_error : float or ndarray of shape (k,)

        Raises
        ------
        ValueError
            If there is no such node, an interval is none, or categories are unknown.

        Examples
        --------
        >>> from math import inf
        >>> from sklearn.datasets import load_wine
        >>> from skbn import GaussianBNLearner
        >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]
        >>> network = GaussianBNLearner().fit(wine).network_
        >>> strong = network.condition({"alcohol": (14, inf)})
        >>> round(strong.probability(proline=(1000, inf)), 4)
        0.6568
        """
        asked = {**(event or {}), **more}
        if len(asked) == 1 and {*asked} <= {*self.levels}:
            ((node, level),) = asked.items()
            if level not in self.levels[node]:
                raise ValueError(
                    f"{readable_value(level)} is not one of the levels "
                    f"{readable_value(self.levels[node])} of node {node!r}."
                )
            return self[node][level]
        whole = self._whole("Probabilities of intervals")
        found = [each.probability(each.read(asked, "event")) for each in whole]
        values, errors = (self._by_scenario(each) for each in zip(*found, strict=True))
        return (values, errors) if return_std else values

    def quantile(self, q: float) -> Floats:
        """Return the value of each node below which it lies with probability q.

        Parameters
        ----------
        q : float
            From 0 to 1. Otherwise a ValueError is raised, as it is while categories are unknown.

        Returns
        -------
        values : ndarray of shape (m,), or (k, m) for k scenarios
        """
        if not 0 <= finite_number(q, "q") <= 1:
            raise ValueError(f"q must be from 0 to 1; got {readable_value(q)}.")
        found = [each.quantiles(self.nodes, q) for each in self._whole("Quantiles")]
        return np.asarray(self._by_scenario(found))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """Draw rows.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        rows : ndarray of shape (n_samples, m), or (k, n_samples, m) for k scenarios
            A data frame if scikit-learn's `transform_output` asks for one, without scenarios.

        Raises
        ------
        ValueError, TypeError
            If `n_samples` is not a positive integer, or categories are unknown.
        """
        n, rng = as_integer(n_samples, "n_samples", least=1), random_generator(random_state)
        whole = self._whole("Samples")
        own = [whole[0].nodes.index(node) for node in self.nodes]
        rows = self._by_scenario([each.sample(n, rng)[:, own] for each in whole])
        return rows if rows.ndim > 2 else _in_container(rows, self.nodes, None)

    def logpdf(self, X: Any) -> Floats:
        """Return the log density of rows, in nats.

        Parameters
        ----------
        X : array-like or data frame of shape (n, m)
            With a column for each node.

        Returns
        -------
        log_density : ndarray of shape (n,), or (k, n) for k scenarios

        Raises
        ------
        ValueError
            If columns are missing, categories are unknown, or there is no density, because some
            nodes determine others; with intervals, if nodes are left out.
        """
        whole = self._whole("Densities")
        if {*self.nodes} != {*whole[0].nodes}:
            raise ValueError(
                "With intervals, the density of some nodes alone is unknown. Ask the whole "
                "distribution, which condition returns."
            )
        rows = read_columns(Table(X), whole[0].nodes, self.nodes)
        try:
            return np.asarray(self._by_scenario([each.log_density(rows) for each in whole]))
        except np.linalg.LinAlgError:
            raise ValueError(
                "These nodes have no density: some determine others, or have no noise. Leave them "
                "out, by distribution[[...]]."
            ) from None

    def to_frame(self) -> Any:
        """Return the nodes' means and standard deviations as a table.

        Returns
        -------
        table : pandas.DataFrame
            With the columns `node`, `mean` and `standard_deviation`, after the column `scenario`
            (0, 1, ...) if there are several. Without pandas, a dict of these columns that is
            displayed as a table.
        """
        names, means, deviations = self._of_all_levels()
        n, m = means.shape
        scenario = {"scenario": np.repeat(np.arange(n), m)} if self.mean.ndim > 1 else {}
        parts = {"node": names * n, "mean": means.ravel(), "standard_deviation": deviations.ravel()}
        return frame_of({**scenario, **parts})

    def _of_all_levels(self) -> tuple[list[Hashable], Floats, Floats]:
        """Return the nodes with first levels too, and their means and deviations by scenario."""
        names, means = list(self.nodes), np.atleast_2d(self.mean)
        deviations = np.broadcast_to(self.standard_deviation, means.shape)
        for node, levels in self.levels.items():
            at = [names.index(column) for column in self.columns[node] if column in names]
            if len(at) == len(levels) - 1:
                first = np.clip(1 - means[:, at].sum(axis=1), 0.0, 1.0)
                names.insert(at[0], f"{node}={levels[0]}")
                means = np.insert(means, at[0], first, axis=1)
                deviations = np.insert(deviations, at[0], np.sqrt(first * (1 - first)), axis=1)
        return names, means, deviations

    def _caption(self) -> str:
        node_of = {column: node for node, own in self.columns.items() for column in own}
        n_nodes = len({node_of.get(column, column) for column in self.nodes})
        of_nodes = f"{n_nodes} node{'s' * (n_nodes != 1)}"
        n = len(np.atleast_2d(self.mean))
        scenarios = f" in {n} scenario{'s' * (n != 1)}" if self.mean.ndim > 1 else ""
        inside = ""
        if self.of_all is not None:
            names, ends = self.of_all.nodes, self.of_all.bounds.items()
            parts = [f"{readable_name(names[v])} from {a:g} to {b:g}" for v, (a, b) in ends]
            inside = f", given {', '.join(parts)}"
        return f"Distribution of {of_nodes}{scenarios}{inside}"

    def _rows(self) -> list[tuple[str, str, str]]:
        names, means, deviations = self._of_all_levels()
        is_level = {f"{node}={level}" for node, own in self.levels.items() for level in own}
        return [
            (readable_name(node), numbers_text(mean), "" if node in is_level else numbers_text(std))
            for node, mean, std in zip(names, means.T, deviations.T, strict=True)
        ]

"""What a network says of its nodes when some are seen: samples, conditionals and predictions.

Each function takes the network's model, and what users give to the method of the same name.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from sklearn import get_config

from skbn._core.arrays import Floats
from skbn._core.columns import named_nodes
from skbn._core.estimator import random_generator
from skbn._core.text import readable_value
from skbn._data.table import Table, read_columns
from skbn._networks.distribution import GaussianDistribution
from skbn._networks.gaussian import LinearGaussianModel, stacked
from skbn._networks.partial_rows import conditional_means

_CONTAINERS = ("default", "pandas", "polars")  # as in sklearn.set_config(transform_output=...)


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
    return _in_container(model.draw(noise, exogenous), model.nodes, container)


def check_container(name: Any) -> None:
    """Raise a ValueError unless `sample` knows this container."""
    if name not in _CONTAINERS:
        raise ValueError(
            f"transform must be one of {', '.join(map(repr, _CONTAINERS))}, or None; got "
            f"{readable_value(name)}."
        )


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


def check_scenarios(values: Mapping[int, float | Floats], model: LinearGaussianModel) -> None:
    """Raise a ValueError unless all arrays of values have the same length, which is not 0."""
    lengths = {model.nodes[v]: len(x) for v, x in values.items() if isinstance(x, np.ndarray)}
    if len({*lengths.values()}) > 1 or 0 in lengths.values():
        raise ValueError(
            "Lists of values have one for each scenario: they must have the same length, and not "
            f"be empty; got lengths of {readable_value(lengths)}. Give a single value of what is "
            "the same in all scenarios."
        )


def condition(
    model: LinearGaussianModel,
    values: Mapping[int, float | Floats],
    columns: Mapping[Hashable, list[Any]],
) -> GaussianDistribution:
    """Return the distribution of the other columns, given the values of some."""
    given, others = list(values), [v for v in range(len(model.nodes)) if v not in values]
    mean, covariance = model.condition(given, stacked(values.values()), others)
    return GaussianDistribution([model.nodes[v] for v in others], mean, covariance, columns)


def predict(model: LinearGaussianModel, X: Any, target: Any = None, given: Any = None) -> Any:
    """Return the conditional means of nodes, given the values of others in each row of a table."""
    targets: list[Hashable] = []
    is_single = False
    if target is not None:
        targets, is_single = named_nodes(target, model.nodes, "target")
        require_modelled(targets, [model.nodes[v] for v in model.exogenous])
    if given is not None:
        given, _ = named_nodes(given, model.nodes, "given")
    rows, given = _read_given_columns(X, given, targets, model)
    if target is None:
        targets = [node for node in model.nodes if node not in given]
    if not targets:
        raise ValueError("All nodes are given, so none is left to predict; name a target.")
    inputs, outputs = ([model.nodes.index(v) for v in some] for some in (given, targets))
    mean = conditional_means(model, inputs, rows, outputs)
    return like_pandas(mean, X, targets, is_single)


def require_modelled(targets: Sequence[Hashable], exogenous: Sequence[Hashable]) -> None:
    """Raise a ValueError if a node that is to be predicted is exogenous."""
    for node in targets:
        if node in exogenous:
            raise ValueError(
                f"Node {node!r} is exogenous: the network does not say how it is distributed, and "
                "cannot predict it. Name another target."
            )


def _read_given_columns(
    X: Any, given: list[Hashable] | None, target: list[Hashable], model: LinearGaussianModel
) -> tuple[Floats, list[Hashable]]:
    """Return the columns of a table to predict from, and the nodes that they are.

    By default these are the nodes with a variance that are columns of X and not targets.

    Raises
    ------
    ValueError, TypeError
        As `Table` and `read_columns`; if no column is left, or one is a target.
    """
    if given is not None:
        both = [node for node in given if node in target]
        if both:
            raise ValueError(f"The nodes {both} are both in given and in target.")
        return read_columns(Table(X), given, given, may_miss=True), given
    table, nodes = Table(X), model.nodes
    names = table.names
    deviations = model.standard_deviations()
    varying = [node for node, s in zip(nodes, deviations, strict=True) if s > 0]
    given = [node for node in varying if node not in target and (names is None or node in names)]
    if not given:
        raise ValueError(
            f"No node is left to predict from: the nodes with a variance are {varying}, the target "
            f"{target}, and the columns of X {nodes if names is None else names}."
        )
    remedy = "Give these columns, or name those that X has in given."
    return read_columns(table, given, nodes, remedy, may_miss=True), given


def residuals(model: LinearGaussianModel, X: Any) -> Any:
    """Return the difference of each value of a table from what the node's parents predict."""
    differences = model.residuals(read_columns(Table(X), model.nodes, model.nodes))
    for node, values in zip(model.nodes, differences.T, strict=True):
        if not np.isfinite(values).all():
            row = int(np.argmax(~np.isfinite(values)))
            raise ValueError(
                f"The residual of node {node!r} in row {row} is out of float64's range. Leave "
                "out this row, or measure the nodes in other units."
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

"""Columns as users name them, and values that are labelled by them."""

import operator
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Set, Sized
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np

from skbn._core.arrays import Names, finite_number
from skbn._core.graphs import check_dag
from skbn._core.text import must_be, readable_value

# NaN and NaT are of these kinds; pandas' NaT is a datetime.
_MAY_DIFFER_FROM_THEMSELVES = float, np.floating, np.datetime64, np.timedelta64, datetime
# pandas.NA has no truth value, and numpy.ma.masked is no number.
_HOLES = "NoneType", "NAType", "MaskedConstant"


def column_number(columns: list[str | int], column: Hashable) -> int:
    """Return the number of a column, given by its name or its number.

    >>> column_number(["hue", "ash"], "ash"), column_number(["hue", "ash"], 0)
    (1, 0)
    """
    if isinstance(column, str):
        if column in columns:
            return columns.index(column)
        raise ValueError(
            f"There is no column {readable_value(column)}; the columns are "
            f"{readable_value(columns)}."
        )
    try:
        number = operator.index(column)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(
            f"A column is given by its name or its number; got {readable_value(column)}."
        ) from None
    if isinstance(column, bool) or not 0 <= number < len(columns):
        raise ValueError(
            f"There is no column {readable_value(column)}; the columns' numbers are 0 to "
            f"{len(columns) - 1}."
        )
    return number


def column_numbers(
    columns: list[str | int], chosen: Iterable[str | int], parameter: str
) -> list[int]:
    """Return the numbers of several columns, in the order in which they are given."""
    if isinstance(chosen, str) or not isinstance(chosen, Iterable):
        raise TypeError(f"{parameter} must be a list of columns; got {readable_value(chosen)}.")
    numbers = []
    for column in chosen:
        try:
            numbers.append(column_number(columns, column))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{parameter}: {error}") from None
    return numbers


def numbers_by_column(columns: list[str | int], values: Any, parameter: str) -> list[float]:
    """Return the value of a dict or a Series for each column, in the columns' order.

    >>> numbers_by_column(["hue", "ash"], {"ash": 2, "hue": 1}, "nu")
    [1.0, 2.0]
    """
    found: dict[int, float] = {}
    for label, value in by_label(values, parameter, "column").items():
        try:
            x = column_number(columns, label)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{parameter}: {error} Label the values by these, or give them in the order of the "
                "columns without labels."
            ) from None
        if x in found:
            raise ValueError(f"{parameter} must name each column once; got {columns[x]!r} twice.")
        found[x] = finite_number(value, f"The value of column {columns[x]!r} in {parameter}")
    if missing := [name for x, name in enumerate(columns) if x not in found]:
        raise ValueError(
            f"{parameter} must have a value for each column; missing {missing}. Add them."
        )
    return [found[x] for x in range(len(columns))]


def family_numbers(
    columns: list[str | int], child: str | int, parents: Iterable[str | int]
) -> tuple[int, list[int]]:
    """Return the numbers of a child and of its parents, in the order of the parents."""
    x = column_number(columns, child)
    others = column_numbers(columns, parents, "parents")
    if x in others:
        raise ValueError(f"Column {readable_value(child)} cannot be a parent of itself.")
    if len(set(others)) < len(others):
        named = [columns[other] for other in others]
        raise ValueError(f"Each parent may be given once; got the columns {named}.")
    return x, others


def parents_in(dag: Any, columns: list[str | int]) -> list[list[int]]:
    """Return the parents' numbers of each column in a graph, or in a network's graph."""
    dag = getattr(dag, "dag", dag)  # a network has one
    check_dag(dag, expected="a networkx.DiGraph or a GaussianBayesianNetwork")
    nodes = {column_number(columns, node): node for node in dag}
    if len(nodes) < len(dag):
        raise ValueError("dag names a column twice, by its name and by its number.")
    if missing := [name for j, name in enumerate(columns) if j not in nodes]:
        raise ValueError(f"dag has no node for the columns {missing}; add one for each.")
    numbers = {node: number for number, node in nodes.items()}
    return [[numbers[p] for p in dag.predecessors(nodes[x])] for x in range(len(columns))]


def reject_iterator(given: Any, name: str, remedy: str = "") -> None:
    """Raise if this can be read only once: the next fit would find it empty."""
    if isinstance(given, Iterator):
        raise TypeError(
            f"{name} is an iterator ({type(given).__name__}), which can be read only once, but "
            f"each fit reads it. Wrap it in list(){remedy}."
        )


# Tiers


def tier_numbers(
    names: list[Any], tiers: Any, kind: str = "column", first: Iterable[int] = ()
) -> list[int]:
    """Return the number of each column's tier, from a list of tiers or a dict of title to tier.

    `kind`: what errors call a column; a "node" may have any name
    `first`: the numbers of those that are in the first tier unless they are named

    >>> tier_numbers(["hue", "ash", "proline"], [["proline"], ...])
    [1, 1, 0]
    """
    reject_iterator(tiers, "tiers")
    # The labels of a Series may number the tiers in another order.
    if isinstance(tiers, str | Set) or is_series(tiers) or not isinstance(tiers, Collection):
        raise TypeError(
            must_be("tiers", f"a list of lists of {kind}s, or a dict of title to list", tiers)
        )
    tier_of: dict[int, int] = {}
    rest = None
    for number, tier in enumerate(tiers.values() if isinstance(tiers, Mapping) else tiers):
        if tier is not ...:
            tier_of |= dict.fromkeys(_members(names, tier, tier_of, kind), number)
        elif rest is None:
            rest = number
        else:
            raise ValueError(
                f"tiers has `...` twice. It stands for all {kind}s that are not named; leave one "
                "out."
            )
    tier_of = dict.fromkeys(first, 0) | tier_of
    missing = [name for x, name in enumerate(names) if x not in tier_of]
    if missing and rest is None:
        raise ValueError(
            f"The {kind}s {readable_value(missing)} are in no tier; add each to one, or add the "
            f"tier `...`, which stands for all {kind}s that are not named, as in "
            "tiers=[['a', 'b'], ...]."
        )
    return [tier_of.get(x, rest or 0) for x in range(len(names))]


def _members(names: list[Any], tier: Any, earlier: Collection[int], kind: str) -> list[int]:
    """Return the numbers of a tier's columns; none may be in an earlier tier."""
    reject_iterator(tier, "One of the tiers")
    if isinstance(tier, str) or not isinstance(tier, Collection):
        raise TypeError(
            f"tiers must be a list of lists of {kind}s; one of them is {readable_value(tier)}."
        )
    members: list[int] = []
    for each in tier:
        if each is ...:
            raise TypeError("`...` is a tier by itself, as in tiers=[['a', 'b'], ...].")
        is_named = kind == "node" and each in names
        x = names.index(each) if is_named else column_number(names, each)
        if x in earlier or x in members:
            raise ValueError(
                f"{kind.title()} {readable_value(each)} is given twice in the tiers; leave one out."
            )
        members.append(x)
    return members


# Labelled values


def is_series(values: Any) -> bool:
    """Whether this is a pandas Series, or behaves like one."""
    return hasattr(values, "iloc") and getattr(values, "ndim", None) == 1


def is_labelled(values: Any) -> bool:
    """Whether values have labels, as in a dict or a Series."""
    return isinstance(values, Mapping) or is_series(values)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT, pandas.NA or numpy.ma.masked.

    >>> [is_missing(value) for value in (None, float("nan"), 0.0, "red", [None])]
    [True, True, False, False, False]
    >>> is_missing(Decimal("nan")), is_missing(np.ma.masked)
    (True, True)
    >>> is_missing(np.datetime64("NaT")), is_missing(np.datetime64("2020-01-01"))
    (True, False)
    """
    if type(value).__name__ in _HOLES:
        return True
    if isinstance(value, Decimal):  # a signalling NaN cannot be compared
        return value.is_nan()
    return isinstance(value, _MAY_DIFFER_FROM_THEMSELVES) and bool(value != value)


def known_values(values: Any, nodes: Names, parameter: str) -> dict[Hashable, Any]:
    """Return the values of a dict or a Series that are not missing."""
    values = by_label(values, parameter, "node")
    reject_unknown([node for node in values if is_missing(values[node])], nodes, parameter)
    return {node: value for node, value in values.items() if not is_missing(value)}


def by_label(values: Any, parameter: str, kind: str) -> dict[Hashable, Any]:
    """Return the values of a dict or a Series by their labels.

    `values`: Mapping or Series
    `parameter`, `kind`: what errors call it, and what the labels name
    """
    if not is_labelled(values):
        row = f" Give one of its rows: {parameter}.iloc[0]." if hasattr(values, "iloc") else ""
        raise TypeError(
            f"{parameter} must be a dict or a pandas.Series of {kind}s and values; got "
            f"{type(values).__name__}.{row}"
        )
    if isinstance(values, Mapping):
        return dict(values)
    labels = values.index.tolist()
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(f"{parameter} must name each {kind} once; got {twice!r} twice.")
    return dict(zip(labels, values.tolist(), strict=True))


# Numbers


def named_nodes(value: Any, nodes: Names, parameter: str) -> tuple[list[Hashable], bool]:
    """Return the nodes that a node or a list of nodes names, and whether it was a single node.

    >>> named_nodes("b", ["a", "b"], "target"), named_nodes(["b"], ["a", "b"], "target")
    ((['b'], True), (['b'], False))
    """
    if _is_node(value, nodes):
        return [value], True
    is_list = isinstance(value, Iterable) and not isinstance(value, (str, bytes))
    chosen = list(value) if is_list else [value]
    reject_unknown(chosen, nodes, parameter)
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"{parameter} must name nodes, each once; got {chosen}.")
    return chosen, False


def any_nodes(value: Any, nodes: Names, parameter: str) -> list[Hashable]:
    """Return the nodes that a node or a list of nodes names; none for None or an empty list."""
    is_empty = isinstance(value, Sized) and not isinstance(value, str) and not len(value)
    return [] if value is None or is_empty else named_nodes(value, nodes, parameter)[0]


def reject_unknown(chosen: Iterable[Any], nodes: Names, parameter: str) -> None:
    """Raise a ValueError if one of these is not a node."""
    for node in chosen:
        if not _is_node(node, nodes):
            raise ValueError(
                f"{parameter} must name nodes; {readable_value(node)} is not one of "
                f"{readable_value(list(nodes))}."
            )


def _is_node(value: Any, nodes: Names) -> bool:
    try:
        return value in frozenset(nodes)
    except TypeError:  # nodes have hashes
        return False

"""Networks as JSON, in networkx's node-link format; also from what nobody vouches for."""

from __future__ import annotations

import json
import math
import os
import re
from contextlib import suppress
from numbers import Integral
from pathlib import Path
from reprlib import Repr
from typing import Any

import networkx as nx

from skbn._core.files import replaced_file
from skbn._core.graphs import check_dag
from skbn._core.text import readable_value
from skbn._networks.gaussian import LinearGaussianModel

__all__ = ["from_json", "to_json"]

# The weights are a matrix of this many rows and columns.
_MOST_NODES = 10_000
_MOST_DIGITS = 4300  # as Python's own limit
_IS_NOT_ZERO = re.compile(r"[-0.]*[1-9]")
_PIECE = 1 << 20
_DOCUMENT = ("directed", "multigraph", "graph", "nodes", "edges")
_NODE = ("id", "intercept", "noise_variance")
_EDGE = ("source", "target", "weight", "fixed")

_short = Repr()
_short.maxstring = _short.maxlong = _short.maxother = 80


def to_json(dag: nx.DiGraph, path: str | os.PathLike[str] | None) -> str | None:
    """Return a network as JSON, or write it to a file.

    Raises
    ------
    ValueError
        If a node is neither a string nor an integer, or there are too many.
    OSError
        If the file cannot be written.
    """
    _check_number(len(dag), "the network")
    for node in dag:
        if isinstance(node, bool) or not isinstance(node, (str, Integral)):
            raise ValueError(
                f"JSON keeps nodes that are strings or integers; got {readable_value(node)}. "
                "Rename it with networkx.relabel_nodes."
            )
    # numpy's integers are none of JSON's.
    text = json.dumps(nx.node_link_data(dag, edges="edges"), default=int, allow_nan=False)
    if path is None:
        return text
    with replaced_file(path) as file:
        file.write(text + "\n")
    return None


def from_json(text_or_path: str | os.PathLike[str]) -> LinearGaussianModel:
    """Read a network from `to_json`'s text, or from a file of it.

    Raises
    ------
    TypeError
        If it is neither a string nor a path.
    ValueError
        Saying what is wrong with it.
    OSError
        If the file cannot be read.
    """
    if isinstance(text_or_path, str):
        return _Reader("text").network(text_or_path)
    if not isinstance(text_or_path, os.PathLike):
        raise TypeError(
            "text_or_path must be a string of JSON, or a pathlib.Path of a file; got "
            f"{type(text_or_path).__name__}."
        )
    path = Path(text_or_path)
    return _Reader(str(path)).network(_text_in(path))


def _text_in(path: Path) -> str:
    pieces = []
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            pieces.append(piece)
            if b"\0" in piece:  # also what has no end, as /dev/zero
                break
    data = b"".join(pieces)
    try:
        end = data.find(b"\0")
        if end >= 0:
            raise ValueError(f"{path}, line {_line(data, end)}: a byte is 0. It is no JSON.")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = _line(data, error.start)
        raise ValueError(
            f"{path}, line {line}: a byte is not UTF-8. Save the file in UTF-8."
        ) from None


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1


class _Reader:
    """The parts of a document, and errors that name it and the part."""

    def __init__(self, name: str) -> None:
        self._name = name

    def error(self, what: str) -> ValueError:
        return ValueError(f"{self._name} {what}.")

    def network(self, text: str) -> LinearGaussianModel:
        data = self._parsed(text)
        nodes, edges = (self._list_in(data, key) for key in ("nodes", "edges"))
        self._check_keys(data, _DOCUMENT, [])
        if data.get("directed") is not True or data.get("multigraph") is not False:
            raise self.error('must hold a graph with "directed": true and "multigraph": false')
        if data.get("graph", {}) != {}:
            raise self.error(f'has "graph": {_short.repr(data["graph"])}; it must be {{}}')
        _check_number(len(nodes), self._name)
        dag = nx.DiGraph()
        for node in nodes:
            self._add_node(dag, node)
        for edge in edges:
            self._add_edge(dag, edge)
        check_dag(dag, f"the graph in {self._name}")
        return LinearGaussianModel.from_dag(dag)

    def _parsed(self, text: str) -> Any:
        try:
            return json.loads(
                text,
                object_pairs_hook=self._object,
                parse_int=self._integer,
                parse_float=self._float,
            )
        except json.JSONDecodeError as error:
            is_name = self._name == "text" and not text.lstrip().startswith("{")
            hint = " To read a file, give a pathlib.Path." if is_name else ""
            raise ValueError(f"{self._name} is not JSON: {error}.{hint}") from None
        except RecursionError:
            raise self.error("is not JSON of a network: it is nested too deeply") from None

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key, value in pairs:
            if key in data:
                raise self.error(f"has an object with the key {_short.repr(key)} twice")
            data[key] = value
        return data

    def _integer(self, digits: str) -> int:
        if len(digits) > _MOST_DIGITS:  # time would grow with their square
            raise self.error(f"has an integer of {len(digits):,} digits")
        return int(digits)

    def _float(self, digits: str) -> float:
        value = float(digits)
        if value == 0 and _IS_NOT_ZERO.match(digits):
            raise self.error(f"has the number {_short.repr(digits)}, too near 0 for float64")
        return value

    def _list_in(self, data: Any, key: str) -> list[Any]:
        values = data.get(key) if isinstance(data, dict) else None
        if not isinstance(values, list):
            raise self.error(f"must hold an object with a list {key!r}, as to_json writes it")
        return values

    def _check_keys(
        self, data: dict[str, Any], known: tuple[str, ...], owner: list[str | int]
    ) -> None:
        for key in data:
            if key not in known:
                raise self.error(
                    f"has in {_named(owner)} the key {_short.repr(key)}, which would be lost: "
                    f"{list(known)} are known. Remove it"
                )

    def _add_node(self, dag: nx.DiGraph, data: Any) -> None:
        name = self._name_in(data, "id", "a node")
        if name in dag:
            raise self.error(f"has the {_named([name])} twice")
        self._check_keys(data, _NODE, [name])
        intercept, noise_variance = (self._number_in(data, key, [name]) for key in _NODE[1:])
        if noise_variance < 0:
            raise self.error(
                f"is wrong: noise_variance of {_named([name])} must not be negative; got "
                f"{noise_variance!r}"
            )
        dag.add_node(name, intercept=intercept, noise_variance=noise_variance)

    def _add_edge(self, dag: nx.DiGraph, data: Any) -> None:
        ends = [self._name_in(data, key, "an edge") for key in _EDGE[:2]]
        for end in ends:
            if end not in dag:
                raise self.error(f"has an {_named(ends)}, but no {_short.repr(end)}")
        if dag.has_edge(*ends):
            raise self.error(f"has the {_named(ends)} twice")
        self._check_keys(data, _EDGE, ends)
        dag.add_edge(*ends, weight=self._number_in(data, "weight", ends))
        is_fixed = data.get("fixed", False)
        if not isinstance(is_fixed, bool):
            raise self.error(
                f"is wrong: fixed of {_named(ends)} must be true or false; got "
                f"{_short.repr(is_fixed)}"
            )
        if is_fixed:
            dag.edges[*ends]["fixed"] = True

    def _name_in(self, data: Any, key: str, owner: str) -> str | int:
        name = data.get(key) if isinstance(data, dict) else None
        if isinstance(name, bool) or not isinstance(name, (str, int)):
            raise self.error(
                f"has {owner} whose {key!r} is no string or integer: {_short.repr(data)}"
            )
        return name

    def _number_in(self, data: dict[str, Any], key: str, owner: list[str | int]) -> float:
        if key not in data:
            raise self.error(f"is incomplete: {_named(owner)} has no attribute {key}")
        value, number = data[key], math.nan
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            with suppress(OverflowError):
                number = float(value)
        if not math.isfinite(number):
            raise self.error(
                f"is wrong: {key} of {_named(owner)} must be a finite number; got "
                f"{_short.repr(value)}"
            )
        return number


def _check_number(n_nodes: int, name: str) -> None:
    if n_nodes > _MOST_NODES:
        raise ValueError(
            f"{name} has {n_nodes:,} nodes; JSON is for networks of up to {_MOST_NODES:,}."
        )


def _named(owner: list[str | int]) -> str:
    """Return what to call a node, an edge of two, or the document."""
    kind = ["the whole", "node ", "edge "][len(owner)]
    return kind + " -> ".join(map(_short.repr, owner))

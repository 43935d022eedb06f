"""What to adjust for: sets of columns that free an effect from confounding.

If the outcome is regressed on a cause and on an *adjustment set*, the coefficient of the cause is
its total effect. By the generalised adjustment criterion these are the sets that

- all networks of a class agree on: no possibly directed path from the cause to the outcome begins
  with an undirected edge (the class is *amenable*),
- have no column on a directed path between them, other than the cause, and none that such a column
  may act on,
- separate both in the *back-door graph*, which lacks the first edges of the directed paths.

For a single network they are complete: there is no other set. Perković, Textor, Kalisch & Maathuis
(2018), "Complete graphical characterization and construction of adjustment sets in Markov
equivalence classes of ancestral graphs"; with knowledge, Perković, Kalisch & Maathuis (2017),
"Interpreting and using CPDAGs with background knowledge". The minimal sets are the minimal
separators of a moral graph (van der Zander, Liśkiewicz & Textor 2019, "Separators and adjustment
sets in causal graphs"), listed as by Kloks & Kratsch (1998), "Listing all minimal separators of a
graph". The optimal set is due to Henckel, Perković & Maathuis (2022), "Graphical criteria for
efficient total effect estimation via adjustment in causal linear models".

An *instrument* is separated from the outcome in the back-door graph, by nodes that neither the
outcome nor a node on a directed path may act on, and is not separated from the cause. Some set will
do if one of ancestors does, and then the one nearest to the outcome (van der Zander, Textor &
Liśkiewicz 2015, "Efficiently finding conditional instruments for causal inference").

Exogenous nodes may depend on each other in any way. So they get a hidden common cause, of number
-1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from typing import Any, NamedTuple, cast

import networkx as nx

from skbn._core.columns import any_nodes, named_nodes
from skbn._core.graphs import Dag, dag_of
from skbn._core.subsets import mask_of, members_of
from skbn._core.text import readable_name
from skbn._networks.equivalence import compelled_parents, consistent_extension, joined_columns

# More sets are not listed.
_MOST_SETS = 1000
_HIDDEN = -1
_CAUSE, _EFFECT = "cause", "effect"  # what the nodes of each are merged into


@dataclass(frozen=True, eq=False, repr=False)
class AdjustmentSets(Sequence[list[Hashable]]):
    """The sets of nodes to adjust for, as `adjustment_sets` of a network returns them.

    It is the sequence of the minimal sets, and is displayed as text.

    Parameters
    ----------
    cause, effect : list of nodes
    minimal : list of lists of nodes
        The sets of which no node can be left out, the smallest first. An empty set says that
        nothing has to be adjusted for; without any set, no regression has the effect.
    optimal : list of nodes or None
        The set whose regression estimates the effect with the smallest asymptotic variance; None if
        there is no such set.
    biasing : list of nodes
        The nodes that no set may have: those on a directed path from the cause to the effect, and
        those that these may act on.
    reason : str
        Why there are no minimal sets, or no optimal one; empty if there are both.
    is_complete : bool
        Whether all minimal sets are listed. No more than 1,000 are.
    """

    cause: list[Hashable]
    effect: list[Hashable]
    minimal: list[list[Hashable]]
    optimal: list[Hashable] | None
    biasing: list[Hashable]
    reason: str = ""
    is_complete: bool = True

    def __len__(self) -> int:
        return len(self.minimal)

    def __getitem__(self, index: Any) -> Any:
        return self.minimal[index]

    def __repr__(self) -> str:
        lines = [f"Adjustment sets for the effect of {_named(self.cause)} on {_named(self.effect)}"]
        sets = [_set_text(nodes) for nodes in self.minimal]
        sets += ["and more"] * (not self.is_complete)
        heads = ["minimal"] + [""] * (len(sets) - 1)
        lines += [f"{head:<7}  {text}" for head, text in zip(heads, sets or ["none"], strict=True)]
        if self.optimal is not None:
            lines.append(f"optimal  {_set_text(self.optimal)}")
        if self.biasing:
            lines.append(f"never    {_named(self.biasing)}")
        return "\n".join(lines + [self.reason] * bool(self.reason))


class Instrument(NamedTuple):
    """An instrument for the effect of a cause on an outcome, given the nodes to adjust for."""

    node: Hashable
    adjust_for: list[Hashable]


def _named(nodes: Iterable[Hashable]) -> str:
    return ", ".join(map(readable_name, nodes))


def _set_text(nodes: Iterable[Hashable]) -> str:
    return f"{{{_named(nodes)}}}"


@dataclass(frozen=True)
class Adjustment:
    """The graphs and nodes that decide which sets adjust, with nodes as numbers."""

    nodes: list[Hashable]
    dag: nx.DiGraph  # one network of the class, with the hidden cause of exogenous nodes
    back_door: nx.DiGraph  # the same without the first edges of the directed paths
    causes: set[int]
    effects: set[int]
    on_paths: set[int]  # the nodes on the directed paths, without the causes
    biasing: set[int]
    after: set[int]  # the effects, and what they may act on
    # an undirected edge with which a possibly directed path begins
    open_edge: tuple[int, int] | None

    def separates(self, nodes: set[int]) -> bool:
        """Whether a set is an adjustment set."""
        if self.open_edge is not None or nodes & self.biasing:
            return False
        return bool(nx.is_d_separator(self.back_door, self.causes, self.effects, nodes))


def is_adjustment_set(adjustment: Adjustment, columns: Any) -> bool:
    """Whether the nodes are an adjustment set."""
    chosen = _numbers(adjustment.nodes, columns, "columns")
    if both := chosen & (adjustment.causes | adjustment.effects):
        raise ValueError(
            f"columns must have neither cause nor effect; got {adjustment.nodes[min(both)]!r}. "
            "Leave it out."
        )
    return adjustment.separates(chosen)


def adjustment_sets(adjustment: Adjustment, unobserved: Any, forbidden: Any) -> AdjustmentSets:
    """Return the sets of nodes to adjust for, without nodes that no set may have."""
    nodes = adjustment.nodes
    hidden = _observed_ends(adjustment, unobserved)
    barred = hidden | _numbers(nodes, forbidden, "forbidden")
    sets: list[set[int]] = []
    is_complete, optimal, reason = True, None, ""
    if adjustment.open_edge is not None:
        a, b = (readable_name(nodes[v]) for v in adjustment.open_edge)
        reason = (
            f"Equivalent networks disagree about the effect: it may go through {b}, and the table "
            f"does not tell the direction of {a} - {b}. If you know it, give the edge to the "
            "learner in required_edges; class_effects has what each direction would say."
        )
    else:
        ends = adjustment.causes, adjustment.effects
        unusable = adjustment.biasing | barred | {_HIDDEN}
        joined = _moral_graph(adjustment.back_door, *ends, unusable)
        if not joined.has_edge(_CAUSE, _EFFECT):
            sets, is_complete = _minimal_separators(joined, _CAUSE, _EFFECT)
        best = {p for v in adjustment.on_paths for p in adjustment.dag.predecessors(v)}
        best -= adjustment.on_paths | adjustment.causes | adjustment.biasing | {_HIDDEN}
        if not sets:
            reason = _why_open(adjustment, barred)
        elif apart := adjustment.effects - adjustment.on_paths:
            reason = _no_path(adjustment, apart)
        elif lacking := best & barred:
            what = "unobserved" if lacking <= hidden else "not allowed"
            names = _named(nodes[v] for v in sorted(lacking))
            reason = f"The optimal set would need {names}, {what}."
        elif adjustment.separates(best):
            optimal = best

    def named(numbers: set[int]) -> list[Hashable]:
        return [nodes[v] for v in sorted(numbers)]

    return AdjustmentSets(
        named(adjustment.causes),
        named(adjustment.effects),
        [named(each) for each in sorted(sets, key=lambda each: (len(each), sorted(each)))],
        None if optimal is None else named(optimal),
        named(adjustment.biasing - adjustment.effects - adjustment.causes),
        reason,
        is_complete,
    )


def instruments(adjustment: Adjustment, unobserved: Any) -> list[Instrument]:
    """Return the instruments of a single cause and effect, each with nodes to adjust for."""
    nodes = adjustment.nodes
    for name, ends in (("cause", adjustment.causes), ("outcome", adjustment.effects)):
        if len(ends) > 1:
            raise ValueError(f"{name} must be a single node; got {_named(nodes[v] for v in ends)}.")
    (cause,), (effect,) = adjustment.causes, adjustment.effects
    hidden = _observed_ends(adjustment, unobserved)
    barred = hidden | adjustment.biasing | adjustment.after | {cause, _HIDDEN}
    found = []
    for v in {*range(len(nodes))} - hidden - {cause, effect}:
        joined = _moral_graph(adjustment.back_door, {effect}, {v}, barred)
        if adjustment.open_edge is not None or joined.has_edge(_CAUSE, _EFFECT):
            continue
        given = {*_beyond(joined, {_CAUSE}, _EFFECT)}
        if not nx.is_d_separator(adjustment.dag, {v}, {cause}, given):
            found.append(Instrument(nodes[v], [nodes[w] for w in sorted(given)]))
    return found


def _observed_ends(adjustment: Adjustment, unobserved: Any) -> set[int]:
    """Return the numbers of unobserved nodes; raise if cause or effect is one."""
    hidden = _numbers(adjustment.nodes, unobserved, "unobserved")
    for v in (adjustment.causes | adjustment.effects) & hidden:
        raise ValueError(
            "unobserved must have neither cause nor effect; got "
            f"{adjustment.nodes[v]!r}. Leave it out."
        )
    return hidden


def read_adjustment(
    graph: Dag, of_class: bool, cause: Any, effect: Any, name: str = _EFFECT
) -> Adjustment:
    """Read the graphs and nodes that decide which sets adjust.

    `graph`: the network
    `of_class`: whether sets must hold in all networks of the equivalence class
    `cause`, `effect`: node or list of nodes
    `name`: what the caller calls the effect
    """
    nodes, parents = graph.nodes, graph.parents
    causes, effects = (
        {nodes.index(node) for node in named_nodes(given, nodes, what)[0]}
        for what, given in ((_CAUSE, cause), (name, effect))
    )
    if both := causes & effects:
        raise ValueError(f"cause and {name} must differ; {nodes[min(both)]!r} is in both.")
    known = compelled_parents(parents, graph.fixed) if of_class else parents
    pattern = _Pattern(known, joined_columns(parents))
    avoided, ends = mask_of(causes), mask_of(effects)
    open_edge, biasing, beyond = None, 0, 0
    for v in effects:
        beyond |= pattern.possible_descendants(v)
    for x in sorted(causes):
        for v in members_of(pattern.undirected(x) & ~avoided):
            if pattern.with_edge(x, v).possible_descendants(v, avoided) & ends:
                open_edge = open_edge or (x, v)
        for v in members_of(pattern.children(x) & ~avoided):
            if pattern.possible_descendants(v, avoided) & ends:
                biasing |= pattern.possible_descendants(v)
    dag = dag_of(range(len(nodes)), parents)
    if len(graph.exogenous) > 1:
        dag.add_edges_from((_HIDDEN, v) for v in graph.exogenous)
    others = dag.subgraph({*dag} - causes)
    before = effects.union(*(nx.ancestors(others, v) for v in effects))
    first = [(a, b) for a, b in dag.out_edges(causes) if b in before]
    after = {b for _, b in first}.union(*(nx.descendants(others, b) for _, b in first))
    back_door = dag.copy()
    back_door.remove_edges_from(first)
    reached = before & after, {*members_of(biasing)}, {*members_of(beyond)}
    return Adjustment(nodes, dag, back_door, causes, effects, *reached, open_edge)


def _numbers(nodes: list[Hashable], chosen: Any, name: str) -> set[int]:
    """Return the numbers of a node or a list of nodes, which may be empty or None."""
    return {nodes.index(node) for node in any_nodes(chosen, nodes, name)}


@dataclass(frozen=True)
class _Pattern:
    """The directed and undirected edges of a class, as masks of `known` parents and neighbours."""

    known: list[int]
    joined: list[int]

    def children(self, v: int) -> int:
        return mask_of(c for c in members_of(self.joined[v]) if self.known[c] >> v & 1)

    def undirected(self, v: int) -> int:
        return self.joined[v] & ~self.known[v] & ~self.children(v)

    def with_edge(self, a: int, b: int) -> _Pattern:
        """Return the pattern of the members in which an undirected edge is directed."""
        known = [*self.known]
        known[b] |= 1 << a
        member = cast("list[int]", consistent_extension(self.joined, known))
        return _Pattern(compelled_parents(member, known), self.joined)

    def possible_descendants(self, start: int, avoided: int = 0) -> int:
        """Return the mask of a node and of its descendants in some member, along other nodes.

        Paths whose nodes are joined to no node before their predecessor suffice. On these, an
        undirected edge after a directed one would be directed.
        """
        reached = 1 << start
        waiting = [(start, v) for v in members_of(self._onward(start) & ~avoided)]
        seen = {*waiting}
        while waiting:
            before, v = waiting.pop()
            reached |= 1 << v
            further = self._onward(v) & ~self.joined[before] & ~(1 << before | avoided)
            new = {(v, w) for w in members_of(further)} - seen
            seen |= new
            waiting += new
        return reached

    def _onward(self, v: int) -> int:
        return self.joined[v] & ~self.known[v]


def _moral_graph(
    graph: nx.DiGraph, causes: set[int], effects: set[int], barred: set[int]
) -> nx.Graph:
    """Return a graph whose separators d-separate two sets, each merged, without barred nodes."""
    ends = causes | effects
    relevant = _ancestors(graph, ends)
    moral = nx.moral_graph(graph.subgraph(relevant))
    # Paths may pass nodes that cannot be adjusted for, as if their neighbours were joined.
    for v in relevant & (barred - ends):
        moral.add_edges_from(combinations([*moral[v]], 2))
        moral.remove_node(v)
    merged = dict.fromkeys(causes, _CAUSE) | dict.fromkeys(effects, _EFFECT)
    joined: nx.Graph = nx.Graph()
    joined.add_nodes_from((*moral, _CAUSE, _EFFECT))
    joined.remove_nodes_from(ends)
    joined.add_edges_from((merged.get(a, a), merged.get(b, b)) for a, b in moral.edges)
    joined.remove_edges_from(nx.selfloop_edges(joined))
    return joined


def _minimal_separators(graph: nx.Graph, a: Any, b: Any) -> tuple[list[set[int]], bool]:
    """Return the minimal sets of nodes that separate two, beginning near the first."""
    found = [_beyond(graph, {a}, b)]
    seen = {*found}
    for separator in found:  # which grows
        part = nx.node_connected_component(graph.subgraph({*graph} - separator), a)
        for v in sorted(separator):
            if graph.has_edge(v, b) or (other := _beyond(graph, part | {v}, b)) in seen:
                continue
            if len(found) == _MOST_SETS:
                return [{*each} for each in found], False
            seen.add(other)
            found.append(other)
    return [{*each} for each in found], True


def _beyond(graph: nx.Graph, near: set[Any], b: Any) -> frozenset[int]:
    """Return the neighbours of the part of b when nodes and their neighbours are removed."""
    removed = near | nx.node_boundary(graph, near)
    part = nx.node_connected_component(graph.subgraph({*graph} - removed), b)
    return frozenset(nx.node_boundary(graph, part))


def _ancestors(dag: nx.DiGraph, nodes: set[int]) -> set[int]:
    """Return nodes and their ancestors."""
    return nodes.union(*(nx.ancestors(dag, v) for v in nodes))


def _why_open(adjustment: Adjustment, barred: set[int]) -> str:
    """Say which path stays open even if all nodes that may help are adjusted for."""
    ends = adjustment.causes | adjustment.effects
    allowed = _ancestors(adjustment.back_door, ends) - ends - adjustment.biasing - barred
    path = _open_path(adjustment, allowed - {_HIDDEN})
    arrows = [" -> " if adjustment.dag.has_edge(a, b) else " <- " for a, b in pairwise(path)]
    names = [readable_name(adjustment.nodes[v]) if v != _HIDDEN else "" for v in path]
    text = "".join(f"{name}{arrow}" for name, arrow in zip(names, [*arrows, ""], strict=True))
    text = text.replace(" <-  -> ", " <-> ")  # a hidden common cause
    reason = f"No set of the other nodes closes the path {text}."
    if apart := adjustment.effects - adjustment.on_paths:
        reason += f" {_no_path(adjustment, apart)}"
    return reason


def _no_path(adjustment: Adjustment, apart: set[int]) -> str:
    """Say on which outcomes there is no effect: no set is optimal for these and for others."""
    if apart == adjustment.effects:
        return "There is no directed path, so that the effect is 0."
    names = _named(adjustment.nodes[v] for v in sorted(apart))
    return (
        f"There is no directed path to {names}, so that the effect on it is 0. Ask for the other "
        "outcomes alone to get their optimal set."
    )


def _open_path(adjustment: Adjustment, given: set[int]) -> list[int]:
    """Return the shortest path from a cause to an effect that a set leaves open."""
    dag, opened = adjustment.back_door, _ancestors(adjustment.back_door, given)
    steps: nx.DiGraph = nx.DiGraph()  # a node, and whether it was reached by an arrow's head

    def moves(v: int) -> Iterable[tuple[int, bool]]:
        yield from ((p, False) for p in dag.predecessors(v))
        yield from ((c, True) for c in dag.successors(v))

    for v, by_head in product(dag, (False, True)):
        for w, to_head in moves(v):
            is_collider = by_head and not to_head
            if v in opened if is_collider else v not in given:
                steps.add_edge((v, by_head), (w, to_head))
    for v in adjustment.causes:
        steps.add_edges_from((_CAUSE, move) for move in moves(v))
    steps.add_edges_from((each, _EFFECT) for each in product(adjustment.effects, (False, True)))
    inner = nx.shortest_path(steps, _CAUSE, _EFFECT)[1:-1]
    start = next(v for v in sorted(adjustment.causes) if inner[0] in {*moves(v)})
    return [start, *(v for v, _ in inner)]

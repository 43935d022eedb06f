"""Count the crossings in pictures of random networks, as three programs lay them out.

Run ``python tests/benchmarks/crossings.py``, with ``--networks`` and ``--seed`` if wanted. The
networks are acyclic, have 8 to 30 nodes and 1 to 2 edges a node. They are laid out

- by skbn,
- by ``multipartite_layout`` of networkx, with topological generations as layers and straight edges,
- by ``dot`` of graphviz, if this is installed,

with boxes of the same sizes. For each it prints the crossings in all pictures, counted where the
drawn curves meet (edges that touch only at a common end do not count), in how many pictures skbn
has fewer, as many and more, how many edges run through a box that is not their end,
the edges' total length and the pictures' total area as multiples of skbn's, and the seconds.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import time
from collections.abc import Callable

import networkx as nx
import numpy as np

from skbn._displays.layout.layered import LayeredGraph

Sizes = dict[int, tuple[float, float]]
Picture = tuple[dict[int, tuple[float, float]], dict[tuple[int, int], np.ndarray]]


def random_network(rng: random.Random) -> tuple[nx.DiGraph, Sizes]:
    n = rng.randint(8, 30)
    order = list(range(n))
    rng.shuffle(order)
    pairs = [(a, b) for i, b in enumerate(order) for a in order[:i]]
    dag = nx.DiGraph()
    dag.add_nodes_from(range(n))
    dag.add_edges_from(rng.sample(pairs, rng.randint(n, 2 * n)))
    return dag, {node: (rng.uniform(25, 110), rng.uniform(20, 30)) for node in dag}


def by_skbn(dag: nx.DiGraph, sizes: Sizes) -> Picture:
    layout = LayeredGraph(dag, sizes).layout()
    return layout.positions, {edge: polyline(curve) for edge, curve in layout.routes.items()}


def by_networkx(dag: nx.DiGraph, sizes: Sizes) -> Picture:
    dag = dag.copy()
    for layer, nodes in enumerate(nx.topological_generations(dag)):
        for node in nodes:
            dag.nodes[node]["layer"] = -layer
    unit = nx.multipartite_layout(dag, "layer", align="horizontal", scale=1.0)
    rows: dict[float, list[float]] = {}
    for x, y in unit.values():
        rows.setdefault(y, []).append(x)
    levels = sorted(rows)
    steps = [step for row in rows.values() for step in np.diff(sorted(row))]
    width = max(width for width, _ in sizes.values()) + 16
    stretch = width / min(steps, default=width)
    positions = {v: (float(x) * stretch, 70.0 * levels.index(y)) for v, (x, y) in unit.items()}
    lines = {}
    for a, b in dag.edges:
        line = np.linspace(positions[a], positions[b], 600)
        seen = ~inside(line, positions[a], sizes[a]) & ~inside(line, positions[b], sizes[b])
        lines[a, b] = line[seen][[0, -1]] if seen.any() else line[[0, -1]]
    return positions, lines


def by_dot(dag: nx.DiGraph, sizes: Sizes) -> Picture:
    program = ["digraph {node [shape=box, fixedsize=true]; edge [dir=none];"]
    program += [f"{v} [width={sizes[v][0] / 72}, height={sizes[v][1] / 72}];" for v in dag]
    program += [f"{a} -> {b};" for a, b in dag.edges]
    done = subprocess.run(
        ["dot", "-Tplain"],
        input="\n".join([*program, "}"]),
        capture_output=True,
        text=True,
        check=True,
    )
    positions, lines = {}, {}
    for line in done.stdout.splitlines():
        kind, *fields = line.split()
        if kind == "node":
            positions[int(fields[0])] = (72 * float(fields[1]), 72 * float(fields[2]))
        elif kind == "edge":
            points = np.array(fields[3 : 3 + 2 * int(fields[2])], dtype=float).reshape(-1, 2)
            lines[int(fields[0]), int(fields[1])] = polyline(72 * points)
    return positions, lines


def polyline(curve: np.ndarray) -> np.ndarray:
    """Sample cubic Bézier pieces, in steps of about 6 points."""
    curve = np.asarray(curve)
    pieces = []
    for start in range(0, len(curve) - 1, 3):
        a, b, c, d = curve[start : start + 4]
        length = np.hypot(*np.diff([a, b, c, d], axis=0).T).sum()
        t = np.linspace(0, 1, max(3, int(length / 6)))[:, None]
        pieces.append(
            (1 - t) ** 3 * a + 3 * t * (1 - t) ** 2 * b + 3 * t**2 * (1 - t) * c + t**3 * d
        )
    points = np.concatenate(pieces)
    return points[np.append(True, np.any(np.diff(points, axis=0) != 0, axis=1))]


def count_crossings(lines: dict[tuple[int, int], np.ndarray]) -> int:
    drawn = list(lines.values())
    return sum(meetings(drawn[i], drawn[j]) for i in range(len(drawn)) for j in range(i))


def meetings(one: np.ndarray, other: np.ndarray) -> int:
    """Count where two polylines cross, without counting a common end."""
    if (one.max(0) < other.min(0)).any() or (other.max(0) < one.min(0)).any():
        return 0

    def sides(line: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Return on which side of a line's pieces the points are."""
        along = np.diff(line, axis=0)[:, None]
        away = points[None] - line[:-1, None]
        return along[..., 0] * away[..., 1] - along[..., 1] * away[..., 0] > 0

    of_one, of_other = sides(one, other), sides(other, one)
    return int(((of_one[:, 1:] != of_one[:, :-1]) & (of_other[:, 1:] != of_other[:, :-1]).T).sum())


def inside(
    points: np.ndarray, centre: tuple[float, float], size: tuple[float, float]
) -> np.ndarray:
    return (np.abs(points - centre) < np.array(size) / 2 - 1).all(1)


def count_hidden(picture: Picture, sizes: Sizes) -> int:
    """Count the edges that run through a box that is not their end."""
    positions, lines = picture
    t = np.linspace(0, 1, 50)[:, None, None]
    hidden = 0
    for edge, line in lines.items():
        points = ((1 - t) * line[:-1] + t * line[1:]).reshape(-1, 2)
        others = [v for v in positions if v not in edge]
        hidden += any(inside(points, positions[v], sizes[v]).any() for v in others)
    return hidden


def total_length(picture: Picture) -> float:
    return sum(float(np.hypot(*np.diff(line, axis=0).T).sum()) for line in picture[1].values())


def area(picture: Picture, sizes: Sizes) -> float:
    positions, lines = picture
    half = np.array([sizes[v] for v in positions]) / 2
    centres = np.array(list(positions.values()))
    points = np.concatenate([centres - half, centres + half, *lines.values()])
    return float(np.prod(np.ptp(points, axis=0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    networks = [random_network(rng) for _ in range(arguments.networks)]
    programs: dict[str, Callable[[nx.DiGraph, Sizes], Picture]] = {
        "skbn": by_skbn,
        "multipartite_layout": by_networkx,
    }
    if shutil.which("dot"):
        programs["dot"] = by_dot
    else:
        print("dot is not installed")
    n_edges = sum(dag.number_of_edges() for dag, _ in networks)
    print(
        f"{len(networks)} networks, {sum(len(dag) for dag, _ in networks)} nodes, {n_edges} edges"
    )
    print(f"{'':20}crossings  fewer  same  more  hidden  length   area  seconds")
    own: list[int] = []
    own_length = own_area = 0.0
    for name, lay_out in programs.items():
        start = time.perf_counter()
        pictures = [lay_out(dag, sizes) for dag, sizes in networks]
        seconds = time.perf_counter() - start
        crossings = [count_crossings(lines) for _, lines in pictures]
        hidden = sum(
            count_hidden(picture, sizes)
            for picture, (_, sizes) in zip(pictures, networks, strict=True)
        )
        length = sum(total_length(picture) for picture in pictures)
        areas = sum(area(p, sizes) for p, (_, sizes) in zip(pictures, networks, strict=True))
        if not own:
            own, own_length, own_area = crossings, length, areas
        signs = [int(np.sign(a - b)) for a, b in zip(own, crossings, strict=True)]
        print(
            f"{name:20}{sum(crossings):9}  {signs.count(-1):5}  {signs.count(0):4}"
            f"  {signs.count(1):4}  {hidden:6}  {length / own_length:6.2f}"
            f"  {areas / own_area:5.2f}  {seconds:7.2f}"
        )


if __name__ == "__main__":
    main()

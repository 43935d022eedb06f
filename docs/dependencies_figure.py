"""The picture of how the library's parts depend on each other, read from their imports."""

import ast
from pathlib import Path

import networkx as nx
from matplotlib import pyplot

import skbn
from skbn import NetworkDisplay

__all__ = ["dependencies", "draw_dependencies"]

PACKAGE = Path(skbn.__file__).parent


def dependencies() -> nx.DiGraph:
    """Return which subpackage imports which, when it is imported itself.

    Returns
    -------
    dependencies : networkx.DiGraph
        An edge from whatever imports to what it imports.

    Raises
    ------
    ValueError
        If there is a cycle.
    """
    graph = nx.DiGraph()
    for path in sorted(PACKAGE.rglob("_*/**/*.py")):
        unit = path.relative_to(PACKAGE).parts[0]
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skbn._"):
                graph.add_edge(unit, node.module.split(".")[1])
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    if not nx.is_directed_acyclic_graph(graph):
        raise ValueError(f"imports in a circle: {nx.find_cycle(graph)}")
    return graph


def draw_dependencies(path: Path) -> None:
    """Draw the subpackages, without the edges that follow from others.

    Parameters
    ----------
    path : Path
        Of the picture to write.
    """
    packages = nx.relabel_nodes(dependencies(), lambda name: name.removeprefix("_"))
    display = NetworkDisplay(nx.transitive_reduction(packages)).plot()
    path.parent.mkdir(parents=True, exist_ok=True)
    display.figure_.savefig(path, facecolor="white")
    pyplot.close(display.figure_)  # or the gallery would take it for an example's

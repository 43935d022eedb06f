"""The picture of how the library's parts depend on each other, read from their imports."""

import ast
from pathlib import Path

import networkx as nx
from matplotlib import pyplot

import skbn
from skbn import NetworkDisplay

__all__ = ["dependencies", "draw_dependencies"]

PACKAGE = Path(skbn.__file__).parent
# Single modules that are drawn as parts of their own, or under a common name.
PARTS = {"_optimum": "optimum", "_constraints": "constraints"}
KERNELS = ("_compile", "_vectors", "_subsets", "_small_subsets")


def dependencies() -> nx.DiGraph:
    """Return which subpackage or single module imports which, when it is imported itself.

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
    for path in sorted(PACKAGE.glob("*/*.py")) + sorted(PACKAGE.glob("_[a-z]*.py")):
        unit = path.relative_to(PACKAGE).with_suffix("").parts[0]
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skbn._"):
                graph.add_edge(unit, node.module.split(".")[1])
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    if not nx.is_directed_acyclic_graph(graph):
        raise ValueError(f"imports in a circle: {nx.find_cycle(graph)}")
    return graph


def draw_dependencies(path: Path) -> None:
    """Draw the subpackages and what stands between them, without what follows from other edges.

    Parameters
    ----------
    path : Path
        Of the picture to write.
    """
    packages = {p.parent.name: p.parent.name[1:] for p in PACKAGE.glob("_*/__init__.py")}
    names = packages | PARTS | dict.fromkeys(KERNELS, "kernels' tools")
    drawn = nx.DiGraph()
    for user, used in nx.transitive_closure(dependencies()).edges:
        if user in names and used in names and names[user] != names[used]:
            drawn.add_edge(names[user], names[used])
    display = NetworkDisplay(nx.transitive_reduction(drawn)).plot()
    path.parent.mkdir(parents=True, exist_ok=True)
    display.figure_.savefig(path, facecolor="white")
    pyplot.close(display.figure_)  # or the gallery would take it for an example's

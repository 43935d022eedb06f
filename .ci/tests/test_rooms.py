"""How the modules of skbn import each other."""

import ast
from pathlib import Path

import networkx as nx

import skbn

# From the bottom: a room imports nothing from the rooms after it. The last is skbn itself, which
# has the public names.
ROOMS = [
    *("exceptions", "_core", "_regressions", "_data", "_missing", "_exact", "_orders"),
    *(
        "_branch_and_cut",
        "_chains",
        "_displays",
        "_scores",
        "_networks",
        "_solver",
        "_non_gaussian",
        "_posterior",
        "_estimators",
        "_interchange",
    ),
    *("compile", "datasets", "io", "paper", "skbn"),
]


def import_graph():
    """Return which module imports which, also inside functions or only for types."""
    root = Path(skbn.__file__).parent
    paths = {
        ".".join(path.relative_to(root.parent).with_suffix("").parts): path
        for path in root.rglob("*.py")
    }
    graph = nx.DiGraph()
    for name, path in paths.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            imported = []
            if isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{name} has a relative import"
                # `from room import module` imports the module.
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                imported = [each if each in paths else node.module for each in names]
            graph.add_edges_from((name, each) for each in imported if each.split(".")[0] == "skbn")
    return graph


def test_rooms_import_only_from_rooms_below():
    def floor(module):
        return ROOMS.index(module.split(".")[1] if "." in module else "skbn")

    assert [(a, b) for a, b in import_graph().edges if floor(a) < floor(b)] == []


def test_modules_do_not_import_each_other_in_a_circle():
    assert list(nx.simple_cycles(import_graph())) == []

"""How much there is to compile: the kernels, and their lines of code.

The limits are what there is. Lower them with what gets lighter; raise one only with a reason.
"""

import ast
from pathlib import Path

import skbn

DECORATORS = {"kernel", "inner_kernel", "inlined_kernel", "pasted_kernel"}


def kernels():
    """Return the functions of the library that numba compiles."""
    for path in Path(skbn.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                made = [
                    each.func if isinstance(each, ast.Call) else each
                    for each in node.decorator_list
                ]
                if any(isinstance(each, ast.Name) and each.id in DECORATORS for each in made):
                    yield node


def lines(function):
    """Count the lines that have a statement, without the docstring."""
    nodes = [each for each in ast.walk(function) if isinstance(each, ast.stmt)]
    return len({each.lineno for each in nodes})


def test_number_and_lines_of_kernels():
    found = list(kernels())
    assert len(found) <= 377
    assert sum(map(lines, found)) <= 5256

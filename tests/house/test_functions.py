"""Functions stay short, and take few things: a longer list of arguments is a value that has no name yet."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.source_tree import PACKAGE, SOURCES, nodes_of

MOST_LINES, MOST_LINES_OF_A_KERNEL, MOST_PARAMETERS = 100, 150, 8

TOO_LONG: dict[str, int] = {}
"""What is not mended yet, and how far it may go. Nothing is ever added here."""


def is_kernel(path: Path) -> bool:
    in_a_folder = "kernel" in path.relative_to(PACKAGE).parts[:-1]
    return path.name.endswith("_kernel.py") or in_a_folder


def functions() -> Iterator[tuple[Path, str, ast.FunctionDef]]:
    for path in SOURCES:
        for node in nodes_of(path, ast.FunctionDef):
            yield path, f"{path.relative_to(PACKAGE)}: {node.name}", node


def parameters(node: ast.FunctionDef) -> int:
    names = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def test_no_function_is_over_a_hundred_lines() -> None:
    """150 in a kernel, where a call that is not inlined costs time."""
    for path, name, node in functions():
        assert node.end_lineno is not None
        most = MOST_LINES_OF_A_KERNEL if is_kernel(path) else MOST_LINES
        lines = node.end_lineno - node.lineno + 1
        assert lines <= TOO_LONG.get(name, most), f"{name} has {lines} lines, more than {most}"


def test_no_function_takes_more_than_eight_things() -> None:
    """Kernels take arrays one by one, and a verb of the command line its flags."""
    for path, name, node in functions():
        if is_kernel(path) or path.is_relative_to(PACKAGE / "frontends" / "cli"):
            continue
        count = parameters(node)
        assert count <= MOST_PARAMETERS, f"{name} takes {count}, more than {MOST_PARAMETERS}"

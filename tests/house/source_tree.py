"""The source tree, parsed and walked once for all tests that look at it."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TypeVar, cast

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "topoopt"
SOURCES = tuple(sorted(PACKAGE.rglob("*.py")))

Node = TypeVar("Node", bound=ast.AST)


def named(path: Path) -> str:
    """Return a path from the root of the repository."""
    return str(path.relative_to(ROOT))


@cache
def text_of(path: Path) -> str:
    """Return a file as it is written."""
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    """Return a file as it is parsed."""
    return ast.parse(text_of(path))


def nodes_of(path: Path, kind: type[Node]) -> list[Node]:
    """Return the nodes of one kind in a file, those inside of others among them."""
    return cast(list[Node], _nodes(path)[kind])


@cache
def _nodes(path: Path) -> dict[type[ast.AST], list[ast.AST]]:
    found = defaultdict(list)
    for node in ast.walk(tree_of(path)):
        found[type(node)].append(node)
    return found

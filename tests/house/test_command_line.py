"""The command line only asks and prints: what it knows of the library comes through the front door."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "topoopt"
CLI = PACKAGE / "frontends" / "cli"
PLUGINS = sorted(PACKAGE.glob("plugins/*/command.py"))
FILES = [*sorted(CLI.rglob("*.py")), *PLUGINS]
LIGHT = {"base", "catalog", "frontends.cli", "schema"}
"""Packages that are vocabulary, and import nothing heavy; the lists in help texts come from the catalog."""
OWN = {"verb", "words"}
"""Files of a plug-in that are vocabulary, too."""
DEPTH = {"frontends": 3, "plugins": 4}
"""Parts of a module's name that say what is known."""
LATE = {"rich.console", "rich.progress"}
"""What is imported where it is used: not every command prints a page."""


def imports(tree: ast.AST) -> list[tuple[int, str]]:
    found = [(node.lineno, node.module or "") for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    plain = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    return found + [(node.lineno, alias.name) for node in plain for alias in node.names]


def named(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", FILES, ids=named)
def test_a_verb_knows_the_front_door_and_the_vocabulary(path: Path) -> None:
    packages = {
        ".".join(module.split(".")[1 : DEPTH.get(module.split(".")[1], 2)])
        for _, module in imports(ast.parse(path.read_text()))
        if module.startswith("topoopt.")
    }
    if path in PLUGINS:
        packages = {name for name in packages if name.split(".")[-1] not in OWN}
    assert packages <= LIGHT, f"{named(path)}: {sorted(packages - LIGHT)}"


@pytest.mark.parametrize("path", [path for path in FILES if path.name != "entry.py"], ids=named)
def test_nothing_is_imported_inside_a_function(path: Path) -> None:
    """Late imports are for the table of verbs alone, and for libraries that few commands need."""
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    late = {module for function in functions for _, module in imports(function)}
    assert late <= LATE, f"{named(path)}: {sorted(late - LATE)}"

"""The command line only asks and prints: what it knows of the library comes through the front door."""

import ast
from pathlib import Path

from tests.house.source_tree import PACKAGE, nodes_of, tree_of

CLI = PACKAGE / "frontends" / "cli"
PLUGINS = sorted(PACKAGE.glob("plugins/*/command.py"))
FILES = [*sorted(CLI.rglob("*.py")), *PLUGINS]
LIGHT = {"base", "catalog", "frontends.cli", "plugins.verbs", "schema"}
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


def test_a_verb_knows_the_front_door_and_the_vocabulary() -> None:
    for path in FILES:
        packages = {
            ".".join(module.split(".")[1 : DEPTH.get(module.split(".")[1], 2)])
            for _, module in imports(tree_of(path))
            if module.startswith("topoopt.")
        }
        if path in PLUGINS:
            packages = {name for name in packages if name.split(".")[-1] not in OWN}
        assert packages <= LIGHT, f"{named(path)}: {sorted(packages - LIGHT)}"


def test_nothing_is_imported_inside_a_function() -> None:
    """Late imports are for the table of verbs alone, and for libraries that few commands need."""
    for path in FILES:
        if path.name != "entry.py":
            late = {module for function in nodes_of(path, ast.FunctionDef) for _, module in imports(function)}
            assert late <= LATE, f"{named(path)}: {sorted(late - LATE)}"

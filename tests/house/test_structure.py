"""Structural figures of the source tree stay below their limits; a limit goes up only for capabilities named here."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.house.source_tree import PACKAGE, SOURCES, nodes_of, text_of, tree_of


class Figures(NamedTuple):
    """Limits, or what was measured; percentages are of files, of functions and of code lines."""

    core_code_lines: int
    lines: int
    files: int
    imported_by_one_file_percent: float
    private_called_once_percent: float
    import_lines_percent: float


LIMITS = Figures(
    core_code_lines=80_750,
    lines=155_900,
    files=746,
    imported_by_one_file_percent=16.62,
    private_called_once_percent=23.99,
    import_lines_percent=13.34,
)
"""Figures of the tree today. The goals: 70,000, 130,000, 700, 15, 18 and 10.

Of the code lines, 2,373 read and name files of other programs, keep hostile ones in bounds, and pack spanning trees;
1,748 fold equal replicas and cells, pool strategies and bound them all, cut batches, share links among many classes,
read settings, examine the machine, and import packages when they are used; 425 make pages of every answer and of its
JSON, name points with leaders, and draw load over time, published values among ours and maps on one scale; 60 name the
extras and take GPUs of any model.
"""


def spans(nodes: Iterable[ast.stmt | ast.expr]) -> set[int]:
    """Return the lines that nodes take."""
    return {line for node in nodes for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def code_and_import_lines(path: Path) -> tuple[int, int]:
    """Return the lines with code, and those of imports; docstrings and comments are neither."""
    parts: list[ast.ClassDef | ast.FunctionDef | ast.Module] = [tree_of(path)]
    parts += [*nodes_of(path, ast.ClassDef), *nodes_of(path, ast.FunctionDef)]
    documented = spans(
        statement
        for part in parts
        for statement in (part.body if isinstance(part, ast.ClassDef) else part.body[:1])
        if isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
    imported = spans([*nodes_of(path, ast.Import), *nodes_of(path, ast.ImportFrom)])
    texts = [*nodes_of(path, ast.Constant), *nodes_of(path, ast.JoinedStr)]
    written = {
        number
        for number, line in enumerate(text_of(path).split("\n"), 1)
        if line.strip() and not line.lstrip().startswith("#")
    }
    used = written | spans(
        text for text in texts if text.end_lineno != text.lineno
    )  # blank lines of a text, too
    return len(used - documented - imported), len(imported - documented)


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def importers() -> dict[str, set[str]]:
    """Return which files import each module, through faces, which count as no importers."""
    handed_on: dict[tuple[str, str], tuple[str, str]] = {}
    taken = []
    for path in SOURCES:
        for node in nodes_of(path, ast.ImportFrom):
            if (node.module or "").startswith("topoopt"):
                for alias in node.names:
                    origin = (str(node.module), alias.name)
                    if path.name == "__init__.py":
                        handed_on[module_of(path), alias.asname or alias.name] = origin
                    else:
                        taken.append((module_of(path), origin))
    known = {module_of(path) for path in SOURCES}
    found = defaultdict(set)
    for importer, place in taken:
        origin = place
        while origin in handed_on and handed_on[origin] != origin:
            origin = handed_on[origin]
        whole = ".".join(origin)
        found[whole if whole in known else origin[0]].add(importer)
    return found


def measured() -> Figures:
    lines = {path: code_and_import_lines(path) for path in SOURCES}
    code = sum(count for count, _ in lines.values())
    core = sum(count for path, (count, _) in lines.items() if path.relative_to(PACKAGE).parts[0] != "plugins")
    files = [module_of(path) for path in SOURCES if path.name != "__init__.py"]
    users = importers()
    alone = sum(len(users[name] - {name}) == 1 for name in files)
    functions = called_once = 0
    for path in SOURCES:
        uses = Counter(node.id for node in nodes_of(path, ast.Name))
        uses.update(node.attr for node in nodes_of(path, ast.Attribute))
        names = [node.name for node in nodes_of(path, ast.FunctionDef)]
        functions += len(names)
        called_once += sum(uses[name] == 1 for name in names if name.startswith("_") and name[:2] != "__")
    return Figures(
        core,
        sum(len(text_of(path).splitlines()) for path in SOURCES),
        len(SOURCES),
        100 * alone / len(files),
        100 * called_once / functions,
        100 * sum(count for _, count in lines.values()) / code,
    )


def test_the_tree_is_within_its_limits() -> None:
    now = measured()
    over = {
        name: (value, limit)
        for name, value, limit in zip(now._fields, now, LIMITS, strict=True)
        if value > limit
    }
    assert not over, f"measured and limit: {over}"

"""Structural figures of the source tree stay below their limits; a limit only ever goes down."""

import ast
import io
import tokenize
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[2] / "src" / "topoopt"
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


class Figures(NamedTuple):
    """Limits, or what was measured; percentages are of files, of functions and of code lines."""

    core_code_lines: int
    lines: int
    files: int
    imported_by_one_file_percent: float
    private_called_once_percent: float
    import_lines_percent: float


LIMITS = Figures(
    core_code_lines=76_000,
    lines=147_500,
    files=880,
    imported_by_one_file_percent=22.5,
    private_called_once_percent=29.5,
    import_lines_percent=14.0,
)
"""Where the tree stands. The goals: 70,000, 130,000, 700, 15, 18 and 10."""


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


def spans(nodes: list[ast.AST]) -> set[int]:
    """Return the lines that nodes take."""
    return {
        line
        for node in nodes
        if isinstance(node, ast.stmt)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def code_and_import_lines(path: Path, tree: ast.Module) -> tuple[int, int]:
    """Return the lines with a token of code, and those of imports; docstrings and comments are neither."""
    nodes = list(ast.walk(tree))
    texts = [
        statement
        for node in nodes
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for statement in (node.body if isinstance(node, ast.ClassDef) else node.body[:1])
        if isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    ]
    documented = spans(list(texts))
    imported = spans([node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)])
    used = {
        line
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(used - documented - imported), len(imported - documented)


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def importers() -> dict[str, set[str]]:
    """Return which files import each module, through faces, which count as no importers."""
    handed_on: dict[tuple[str, str], tuple[str, str]] = {}
    taken = []
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("topoopt"):
                for alias in node.names:
                    origin = (str(node.module), alias.name)
                    if path.name == "__init__.py":
                        handed_on[module_of(path), alias.asname or alias.name] = origin
                    else:
                        taken.append((module_of(path), origin))
    known = {module_of(path) for path in trees()}
    found = defaultdict(set)
    for importer, place in taken:
        origin = place
        while origin in handed_on and handed_on[origin] != origin:
            origin = handed_on[origin]
        whole = ".".join(origin)
        found[whole if whole in known else origin[0]].add(importer)
    return found


def measured() -> Figures:
    lines = {path: code_and_import_lines(path, tree) for path, tree in trees().items()}
    code = sum(count for count, _ in lines.values())
    core = sum(count for path, (count, _) in lines.items() if path.relative_to(PACKAGE).parts[0] != "plugins")
    files = [module_of(path) for path in trees() if path.name != "__init__.py"]
    users = importers()
    alone = sum(len(users[name] - {name}) == 1 for name in files)
    nodes = [list(ast.walk(tree)) for tree in trees().values()]
    functions = [node.name for tree in nodes for node in tree if isinstance(node, ast.FunctionDef)]
    called_once = 0
    for tree in nodes:
        uses = Counter(
            node.id if isinstance(node, ast.Name) else node.attr
            for node in tree
            if isinstance(node, ast.Name | ast.Attribute)
        )
        called_once += sum(
            uses[node.name] == 1
            for node in tree
            if isinstance(node, ast.FunctionDef) and node.name.startswith("_") and node.name[:2] != "__"
        )
    return Figures(
        core,
        sum(len(path.read_text().splitlines()) for path in trees()),
        len(trees()),
        100 * alone / len(files),
        100 * called_once / len(functions),
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

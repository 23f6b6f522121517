"""What the program reaches: from the modules of the verbs through every name that a definition uses.

Static: a module-level function, class or assignment uses the names in its text, and imports, of the module or inside
a function, lead to other modules. A class is one thing with its methods. What is named in a text only (a lazy table) is
not seen, so that all of the front doors count as reached, and so do the pages of answers and what the files of a
folder declare that is a table.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from tests.house.source_tree import PACKAGE, SOURCES, tree_of
from topoopt.base import plugins
from topoopt.pages.answer_page import PAGES

DOORS = (
    "topoopt",
    "topoopt.__main__",
    "topoopt.frontends.cli",
    "topoopt.frontends.verbs",
    "topoopt.networks",
    "topoopt.plugins.testbeds.testbed",
)
"""Where a run begins, verbs of a group in one file, and the files that the registry of networks finds; each is reached
with all that is inside."""

DECLARED = {"topoopt.collectives.algorithms": "ALGORITHM"}
"""By folder: the name that each of its files declares, and a table finds."""

Place = tuple[str, str]
"""A module and a name in it; no name for what the module does when it is imported."""


@dataclass
class Module:
    """What one file defines, and which other places its names stand for."""

    name: str
    package: bool
    uses: dict[str, set[str]] = field(default_factory=dict)
    imports: dict[str, Place] = field(default_factory=dict)
    inside: dict[str, dict[str, Place]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


@cache
def modules() -> dict[str, Module]:
    """Return all modules of the package by name."""
    found = {}
    for path in SOURCES:
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        package = parts[-1] == "__init__"
        module = Module(".".join(parts[:-1] if package else parts), package)
        _read(module, tree_of(path))
        found[module.name] = module
    return found


def _read(module: Module, tree: ast.Module) -> None:
    for statement in tree.body:
        names = list(_defined(statement)) or [""]
        nodes = list(ast.walk(statement))
        imports, used = dict(_imports(nodes)), _used(nodes)
        if names == [""]:
            module.imports |= imports
        for name in names:
            module.uses.setdefault(name, set()).update(used)
            module.inside.setdefault(name, {}).update(imports)
            module.lines.setdefault(name, statement.lineno)


def _imports(nodes: list[ast.AST]) -> Iterator[tuple[str, Place]]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("topoopt"):
            yield from ((name.asname or name.name, (node.module, name.name)) for name in node.names)
        elif isinstance(node, ast.Import):
            ours = [name for name in node.names if name.name.startswith("topoopt")]
            yield from ((name.asname or name.name.split(".")[0], (name.name, "")) for name in ours)


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id


def _used(nodes: list[ast.AST]) -> set[str]:
    """Return the names and dotted names of a statement, also those in annotations that are texts."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(_dotted(node))
        elif isinstance(node, ast.arg | ast.AnnAssign):
            found.update(_quoted(node.annotation))
        elif isinstance(node, ast.FunctionDef):
            found.update(_quoted(node.returns))
    return found


def _dotted(node: ast.expr) -> str:
    """Return ``kernel.run`` for an attribute of a name; other attributes lead nowhere."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def _quoted(annotation: ast.expr | None) -> Iterator[str]:
    """Yield the names in the texts of an annotation: ``"Plan | None"``."""
    for node in ast.walk(annotation) if annotation is not None else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"\w+", node.value)


def resolve(module: str, name: str, inside: str = "") -> Place | None:
    """Return where a name of a module, or a dotted name in it, is defined, through any faces.

    ``inside`` is the definition in which it stands, whose own imports come first.
    """
    known = modules()
    if module not in known:
        return None
    head, _, rest = name.partition(".")
    here = known[module]
    own = here.inside.get(inside, {})
    if head in here.uses and head not in own:
        return module, head
    imports = {**here.imports, **own}
    if head not in imports:
        return None
    source, target = imports[head]
    own_folder = (source, target) == (
        module,
        head,
    )  # from topoopt.frontends.verbs import llm, in verbs/ itself
    if target and not own_folder and (found := resolve(source, target)) is not None:
        return found
    whole = f"{source}.{target}" if target else source
    return ((resolve(whole, rest) if rest else None) or (whole, "")) if whole in known else None


@cache
def reached() -> frozenset[Place]:
    """Return every place that a verb reaches."""
    known = modules()
    doors = [
        name for name in known if name in DOORS or name.startswith(tuple(f"{door}." for door in DOORS[1:]))
    ]
    own = [(module, name) for module in doors for name in (*known[module].uses, "")]
    handed_on = [resolve(module, name) for module in doors for name in known[module].imports]
    pages = [
        (f"topoopt.pages.{file}", name) for file, _, name in (page.partition(".") for page in PAGES.values())
    ]
    declared = [
        (module, DECLARED[folder])
        for module in known
        for folder in [module.rpartition(".")[0]]
        if folder in DECLARED
    ]
    return reached_from(
        [*own, *pages, *declared, *_registered(), *(place for place in handed_on if place is not None)]
    )


def _registered() -> Iterator[Place]:
    """Yield what the entry points of topoopt name, and what the verbs among it do."""
    for entries in plugins.OWN.values():
        for text in entries.values():
            module, _, name = text.partition(":")
            if name:  # a folder of files that are not Python has none
                yield module, name
    for one in plugins.entry_points(plugins.VERBS):
        if one.distribution == plugins.DISTRIBUTION:
            verb = one.load_as(plugins.PluginVerb)
            command, _, _ = verb.command.partition(":")
            yield from ((command, name) for name in modules()[command].uses)
            yield from _names_of(verb.module, verb.names)


def _names_of(module: str, names: Iterable[str]) -> Iterator[Place]:
    """Yield where names of a face are defined; of a folder among them, all that it hands on."""
    for name in names:
        place = resolve(module, name)
        assert place is not None, f"{module} has no {name}"
        yield place
        if not place[1]:
            yield from _names_of(place[0], modules()[place[0]].imports)


def reached_from(places: Iterable[Place]) -> frozenset[Place]:
    """Return these places and every place that they use."""
    known = modules()
    waiting = list(places)
    seen: set[Place] = set(waiting)
    while waiting:
        module, name = waiting.pop()
        targets = {(module, "")} | {
            place
            for used in known[module].uses.get(name, ())
            if (place := resolve(module, used, name)) is not None
        }
        waiting += targets - seen
        seen |= targets
    return frozenset(seen)

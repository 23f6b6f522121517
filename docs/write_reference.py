"""The reference: a page for every room, made of the names that the room's face hands on and of their docstrings.

Nothing in it is written by hand, so that a name that moves, comes or goes takes its entry along.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Unpack, get_args, get_origin, get_type_hints

import topoopt
from docs.write_verbs import verb_pages
from topoopt.schema.words import described

LAZY = "topoopt.base.lazy_face"
"""What makes a face lazy; the face does not hand it on."""

NOT_ROOMS = frozenset({"__main__", "frontends.verbs"})
"""Command line: the entry point, and helpers for the commands of plug-ins."""
VERB_FILES = ("topoopt.frontends.verbs.", "topoopt.plugins.")
"""Modules whose functions are verbs, where the front door offers them."""
FRONT = "front-door"
KINDS = {"table": "Tables and constants", "noun": "Nouns", "verb": "Verbs"}
"""Kinds of public names in the order of a page, and their headings; the words are those of the page of the design."""
Convert = Callable[[str], str]
MOST_KEYS = 40
"""A table with more entries than this is too long for a page."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One public name of a room.

    Attributes
    ----------
    room, name : str
        As in ``from topoopt.room import name``.
    kind : str
        One of :data:`KINDS`.
    text : str
        The docstring.
    """

    room: str
    name: str
    kind: str
    value: object
    text: str

    @property
    def first_line(self) -> str:
        """What it is in one line."""
        return self.text.strip().split("\n\n")[0].replace("\n", " ")


def rooms() -> list[str]:
    """Return the packages and their folders that hand names on, and the files of ``base``, by name."""
    found = []
    for one in pkgutil.iter_modules(topoopt.__path__):
        package = importlib.import_module(f"topoopt.{one.name}")
        inside = [
            f"{one.name}.{part.name}" for part in pkgutil.iter_modules(getattr(package, "__path__", ()))
        ]
        if one.name == "base":
            found += inside
        else:
            faces = [name for name in (one.name, *inside) if name not in NOT_ROOMS and _is_face(name)]
            found += [name for name in faces if entries(name)]
    return sorted(found)


def _is_face(name: str) -> bool:
    """Return whether a package or folder hands names on."""
    face = Path(topoopt.__path__[0], *name.split("."), "__init__.py")
    return face.exists() and bool(_handed_on(face))


@cache
def entries(room: str) -> tuple[Entry, ...]:
    """Return every public name of a room with its docstring, in the order of the face or the file."""
    module = importlib.import_module(f"topoopt.{room}")
    source = Path(str(module.__file__))
    handed_on = _handed_on(source) if source.name == "__init__.py" else _defined(module.__name__, source)
    package, _, folder = room.partition(".")
    if folder and source.name == "__init__.py":  # what the package itself hands on has its entry there
        known = _handed_on(Path(topoopt.__path__[0], package, "__init__.py"))
        handed_on = {name: place for name, place in handed_on.items() if name not in known}
    return tuple(_entry(room, name, *place) for name, place in handed_on.items())


def verbs() -> dict[str, Any]:
    """Return the functions that ``import topoopt`` offers, by name; ``cluster.run`` is one of a group of verbs."""
    return {name: value for name, value in _offered().items() if _is_own(value)}


def nouns() -> dict[str, str]:
    """Return where each other name of ``import topoopt`` has its entry: ``topoopt.room.name``."""
    places = {id(one.value): f"topoopt.{room}.{one.name}" for room in rooms() for one in entries(room)}
    return {name: places[id(value)] for name, value in _offered().items() if not _is_own(value)}


def write_reference(folder: Path, convert: Convert = str) -> None:
    """Write the front door's page and one per room and verb into a folder; take away what is there from before.

    Parameters
    ----------
    convert : function of str to str
        Makes of a docstring what Sphinx reads, where Sphinx does not look it up by itself.
    """
    folder.mkdir(exist_ok=True)
    pages = {f"{room}.rst": "\n".join(page(room)) + "\n" for room in rooms()}
    pages |= verb_pages()
    pages[f"{FRONT}.rst"] = "\n".join(front_page(convert)) + "\n"
    pages["index.rst"] = "\n".join(_index()) + "\n"
    for old in folder.glob("*.rst"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _handed_on(face: Path) -> dict[str, tuple[str, Path]]:
    """Return where each name of a face comes from: the module, and its file."""
    found: dict[str, tuple[str, Path]] = {}
    for node in ast.walk(ast.parse(face.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").startswith("topoopt.")
            and node.module != LAZY
        ):
            assert node.module is not None
            file = Path(str(importlib.import_module(node.module).__file__))
            for alias in node.names if file != face else ():  # else folders of its own
                found[alias.asname or alias.name] = _origin(alias.name, node.module, file)
    return found


def _origin(name: str, module: str, file: Path) -> tuple[str, Path]:
    """Follow a name through the faces of sub-rooms to the file that defines it."""
    if file.name == "__init__.py":
        return _handed_on(file)[name]
    return module, file


def _defined(module: str, file: Path) -> dict[str, tuple[str, Path]]:
    names: list[str] = []
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        else:
            names += _assigned(node)
    return {name: (module, file) for name in names if not name.startswith("_")}


def _assigned(node: ast.stmt) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _entry(room: str, name: str, module: str, file: Path) -> Entry:
    value = getattr(importlib.import_module(module), name)
    if inspect.isclass(value):
        return Entry(room, name, "noun", value, inspect.getdoc(value) or "")
    if inspect.isroutine(value) or hasattr(value, "py_func"):
        return Entry(room, name, "verb", value, inspect.getdoc(value) or "")
    return Entry(room, name, "table", value, _text_below(name, file))


def _text_below(name: str, file: Path) -> str:
    """Return the text below the assignment of a name, which Python itself does not keep."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if name in _assigned(node) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            return inspect.cleandoc(str(after.value.value))
    return ""


def _offered() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in topoopt.__all__:
        value = getattr(topoopt, name)
        if inspect.ismodule(value):
            file = Path(str(value.__file__))
            members: Iterable[str] = _handed_on(file) if file.name == "__init__.py" else value.__all__
            found |= {f"{name}.{member}": getattr(value, member) for member in members}
        elif not name.startswith("__"):
            found[name] = value
    return found


def _is_own(value: object) -> bool:
    return inspect.isfunction(value) and value.__module__.startswith(VERB_FILES)


def _index() -> Iterator[str]:
    yield from _heading("Reference", "=")
    yield f"What ``import topoopt`` offers is :doc:`the front door <{FRONT}>`. Behind it are the rooms, each with every"
    yield "name that it hands to others; :doc:`the design </design>` says how they stand above each other."
    yield "The flags of the command line are on :doc:`a page per verb <verbs>`."
    yield from ("", ".. toctree::", "   :maxdepth: 1", "", "   verbs", f"   {FRONT}")
    yield from (f"   {room}" for room in rooms())


def front_page(convert: Convert = str) -> Iterator[str]:
    """Yield the lines of the page about the names of ``import topoopt``."""
    yield from _heading("The front door", "=")
    yield from (inspect.getdoc(topoopt) or "", "", ".. currentmodule:: topoopt", "")
    yield from _heading("Verbs", "-")
    for name, verb in verbs().items():
        if "." not in name:
            yield from (f".. autofunction:: topoopt.{name}", "")
        else:  # Python's own import would take the room of the group's name
            signature = f".. py:function:: topoopt.{name}{_signature(verb)}"
            yield from (signature, "", *_indented(convert(inspect.getdoc(verb) or "")), "")
        yield from _words(name, verb)
    yield from _heading("Nouns, and verbs of the rooms", "-")
    yield from _rows(
        (f":py:obj:`topoopt.{name} <{place}>`", _first_line(name)) for name, place in nouns().items()
    )


def _words(name: str, verb: object) -> Iterator[str]:
    """Yield a table of the keyword arguments that a verb takes beside those of its signature."""
    taken = [get_args(hint)[0] for hint in get_type_hints(verb).values() if get_origin(hint) is Unpack]
    for words in taken:
        yield from (f"Words of ``topoopt.{name}``:", "")
        kinds = get_type_hints(words)
        rows = (
            (f"``{one.name}``", _plain(one.text), _type_name(kinds[one.name])) for one in described(words)
        )
        yield from _rows((word, f"{text} ``{kind}``") for word, text, kind in rows)


def _plain(text: str) -> str:
    """Return a text in which nothing but ``words`` is marked up."""
    return re.sub(r"[*|]|_(?!\w)", r"\\\g<0>", text)


def _signature(verb: object) -> str:
    """Return the parameters of a function as its source has them, and its answer by its full name."""
    [node] = ast.parse(inspect.getsource(verb)).body  # type: ignore[arg-type]
    assert isinstance(node, ast.FunctionDef)
    answer = get_type_hints(verb)["return"]
    place = f"{answer.__module__}.{answer.__name__}" if inspect.isclass(answer) else _type_name(answer)
    return f"({ast.unparse(node.args)}) -> {place}"


def _type_name(kind: object) -> str:
    return getattr(kind, "__name__", "") if isinstance(kind, type) else str(kind).replace("typing.", "")


def _first_line(name: str) -> str:
    return (inspect.getdoc(_offered()[name]) or "").split("\n\n")[0].replace("\n", " ")


def page(room: str) -> Iterator[str]:
    """Yield the lines of the page about a room."""
    module = importlib.import_module(f"topoopt.{room}")
    found = entries(room)
    yield from _heading(f"topoopt.{room}", "=")
    yield from (inspect.getdoc(module) or "", "", f".. currentmodule:: topoopt.{room}", "")
    for kind, heading in KINDS.items():
        chosen = [entry for entry in found if entry.kind == kind]
        if chosen:
            yield from _heading(heading, "-")
            yield from _rows((f":py:obj:`~topoopt.{room}.{one.name}`", one.first_line) for one in chosen)
            for entry in chosen:
                yield from _described(entry)


def _heading(text: str, line: str) -> Iterator[str]:
    yield from (text, line * len(text), "")


def _rows(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield from (".. list-table::", "   :widths: 30 70", "   :class: summary", "")
    for left, right in rows:
        yield from (f"   * - {left}", f"     - {right}")
    yield ""


def _described(entry: Entry) -> Iterator[str]:
    if entry.kind == "table":
        yield from (
            f".. py:data:: {entry.name}",
            "",
            *_indented(entry.text),
            "",
            *_indented(_keys(entry.value)),
            "",
        )
    elif entry.kind == "noun":
        yield from (f".. autoclass:: {entry.name}", "   :members:", "")
    else:
        yield from (f".. autofunction:: {entry.name}", "")


def _keys(table: object) -> str:
    """Return the names that a table knows, or what a constant is."""
    if isinstance(table, Mapping) and all(isinstance(key, str) for key in table):
        keys = [f"``{key}``" for key in list(table)[:MOST_KEYS]]
        more = f" and {len(table) - MOST_KEYS} more" if len(table) > MOST_KEYS else ""
        return f"Known names: {', '.join(keys)}{more}."
    if isinstance(table, int | float | str):
        return f"``{table!r}``"
    if isinstance(table, tuple | frozenset) and all(isinstance(item, int | float | str) for item in table):
        return ", ".join(f"``{item!r}``" for item in table)
    return ""


def _indented(text: str) -> list[str]:
    return [f"   {line}".rstrip() for line in text.splitlines()]

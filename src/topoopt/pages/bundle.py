"""The scripts of a page as one: modules that import each other, in one text without imports.

The files in ``assets/charts/`` are plain modules of JavaScript, which a server may hand out as they are. A page that
is one file cannot import; here each module becomes a function that is called once, after those that it needs.
"""

import re
from importlib.resources import files
from posixpath import dirname, join, normpath

_IMPORT = re.compile(r'^import \{ ([^}]*) \} from "(\.[^"]*)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:function|const) (\w+))", re.MULTILINE)


def bundle(entry: str) -> str:
    """Return the module of that name in ``assets/`` and all that it imports as one strict script."""
    order: list[str] = []
    _needed(entry, order)
    parts = "\n".join(f"modules[{_quoted(name)}] = (() => {{\n{_module(name)}}})();" for name in order)
    text = f'"use strict";\n(() => {{\nconst modules = {{}};\n{parts}\n}})();\n'
    assert "</script" not in text.lower()
    return text


def asset(name: str) -> str:
    """Return the text of a file in ``assets/``."""
    return files("topoopt.pages").joinpath("assets", *name.split("/")).read_text(encoding="utf-8")


def _needed(name: str, order: list[str]) -> None:
    """Put a module after those that it imports, each once."""
    for match in _IMPORT.finditer(asset(name)):
        _needed(_resolved(name, match[2]), order)
    if name not in order:
        order.append(name)


def _module(name: str) -> str:
    text = asset(name)
    names = [match[1] for match in _EXPORT.finditer(text)]
    text = _IMPORT.sub(
        lambda match: f"const {{ {match[1]} }} = modules[{_quoted(_resolved(name, match[2]))}];", text
    )
    return f"{_EXPORT.sub('', text)}return {{ {', '.join(names)} }};\n"


def _resolved(name: str, path: str) -> str:
    return normpath(join(dirname(name), path))


def _quoted(name: str) -> str:
    return f'"{name}"'

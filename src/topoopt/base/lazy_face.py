"""A face that imports a name when it is first used: for packages that import many others, and for the front door.

The names are listed once, under ``if TYPE_CHECKING``, as in any other ``__init__.py``, and read from there.
"""

import re
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_HANDED_ON = re.compile(r"^    from (topoopt\S*) import (?:\(\s+)?(\w+) as \2\b", re.MULTILINE)

_AID = re.compile(r"_(page|chart|mapping|subject|formats)$|^reproducible$")
"""Names that the command line needs beside the verbs and nouns; shells do not offer them."""


class LazyFace(ModuleType):
    """A package whose names, such as ``topoopt.plan``, are not replaced by modules when those are imported.

    A name of the face may be a module of its own, as ``topoopt.llm`` is.
    """

    def __getattr__(self, name: str) -> Any:
        source = self.__dict__["_sources"].get(name)
        value: Any
        if source is None and self.__dict__["_plugins"]:
            from topoopt.base.plugins import plugin_name  # noqa: PLC0415 - most programs use no plug-in

            value = plugin_name(name)
        elif source is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        elif source == self.__name__:  # a module in this folder
            value = import_module(f"{source}.{name}")
        else:
            value = getattr(import_module(source), name)
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in self.__dict__["_sources"]):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        own = self.__dict__["_sources"]
        names = self.__dict__["__all__"]
        kept = {name for name in names if own.get(name) != "topoopt.pages" and not _AID.search(name)}
        return sorted({*kept, "__doc__", "__file__", "__path__"})


def hand_on_lazily(package: str, *, plugins: bool = False) -> tuple[str, ...]:
    """Make a package's face lazy, and return the names that it hands on, in order.

    The face calls this in its last line, with its own name. If plug-ins add names, those of ``topoopt.plugins`` under
    ``TYPE_CHECKING`` are for type checkers alone.
    """
    face = sys.modules[package]
    assert face.__spec__ is not None
    source = face.__spec__.loader.get_source(package)  # type: ignore[union-attr]
    names = _HANDED_ON.findall(source)
    own = {name: module for module, name in names if not (plugins and module.startswith("topoopt.plugins."))}
    face.__dict__.update(_sources=own, _plugins=plugins)
    face.__class__ = LazyFace
    return tuple(sorted(name for _, name in names))

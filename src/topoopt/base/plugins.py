"""Plug-ins: additions by other distributions through entry points, found without importing them.

The plug-ins of topoopt's own distribution stand in :data:`OWN`, too, so that a source tree offers them whatever is
installed. They are texts: no package below imports a plug-in.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from topoopt.base.errors import InvalidInput

if TYPE_CHECKING:
    from importlib.metadata import Distribution

VERBS, PAGES = "topoopt.verbs", "topoopt.pages"
ACCELERATORS, NETWORKS, COLLECTIVES = "topoopt.accelerators", "topoopt.networks", "topoopt.collectives"
KindT = TypeVar("KindT")
DISTRIBUTION = "topoopt"
ENTRY_POINTS = "*.dist-info/entry_points.txt"
OWN: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        VERBS: {
            "export": "topoopt.plugins.verbs:EXPORT",
            "testbed": "topoopt.plugins.verbs:TESTBED",
            "reproduce": "topoopt.plugins.verbs:REPRODUCE",
            "profile": "topoopt.plugins.verbs:PROFILE",
        },
        PAGES: {
            "ExportAnswer": "topoopt.plugins.exports.page:export_page",
            "ExportFormats": "topoopt.plugins.exports.page:export_formats_page",
            "ProfileRun": "topoopt.plugins.profiling.page:profile_page",
            "Subject": "topoopt.plugins.profiling.page:subject_page",
            "TestbedRun": "topoopt.plugins.testbeds.page:testbed_run_page",
            "TestbedShare": "topoopt.plugins.testbeds.page:testbed_share_page",
            "TestbedsAnswer": "topoopt.plugins.testbeds.page:testbeds_page",
        },
        ACCELERATORS: {"catalogue": "topoopt.catalog.data.accelerators"},
    }
)
"""The entry points of topoopt itself by group, as pyproject.toml has them."""


@dataclass(frozen=True, slots=True)
class PluginVerb:
    """A verb of a plug-in. The module that makes one imports nothing else, since the list of verbs reads it.

    Attributes
    ----------
    text : str
        Description in the list of verbs.
    command : str
        Command or command group, as ``module:name``.
    module : str
        The module that holds ``names``.
    names : tuple of str
        Names that ``import topoopt`` offers in addition: the verb as a function, its answers.
    after : str
        Verb below which this one is listed; the last one if empty.
    """

    text: str
    command: str
    module: str = ""
    names: tuple[str, ...] = ()
    after: str = ""


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A place in a distribution that an entry point names, ``module:name`` or ``module``."""

    distribution: str
    group: str
    name: str
    place: str

    def __str__(self) -> str:
        return f"plug-in {self.distribution}: entry point {self.group}: {self.name} = {self.place}"

    def error(self, problem: str) -> InvalidInput:
        """Return the error for an entry point that cannot be used."""
        if self.distribution == DISTRIBUTION:
            return InvalidInput(f"{self.place}: {problem}")
        return InvalidInput(f"{self}: {problem}; update or uninstall {self.distribution}")

    def load(self) -> Any:
        """Import and return the object; an :class:`InvalidInput` if that fails, whatever the module raises."""
        module, _, name = self.place.partition(":")
        try:
            return getattr(import_module(module), name) if name else import_module(module)
        except Exception as error:
            raise self.error(f"{type(error).__name__}: {error}") from error

    def load_as(self, kind: type[KindT]) -> KindT:
        """Import and return the object if it has the type, or refuse it as :meth:`load` does."""
        found = self.load()
        if not isinstance(found, kind):
            raise self.error(f"expected {kind.__name__}, got {type(found).__name__}")
        return found


@cache
def entry_points(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group: those of topoopt first, then those of other distributions."""
    own = OWN.get(group, {})
    return (
        *(EntryPoint(DISTRIBUTION, group, name, place) for name, place in own.items()),
        *(
            EntryPoint(distribution, group, one.name, one.value)
            for distribution, found in _distributions().items()
            for one in found.entry_points.select(group=group)
        ),
    )


def with_added(
    found: dict[str, KindT], group: str, kind: type[KindT]
) -> tuple[dict[str, KindT], dict[str, InvalidInput]]:
    """Return the objects added by a group's entry points, and errors by name for unusable ones."""
    errors = {}
    for one in entry_points(group):
        try:
            added = one.load_as(kind)
            name = getattr(added, "name", one.name)
            if name in found:
                raise one.error(f"there is another {name}")
            found = {**found, name: added}
        except InvalidInput as error:
            errors[one.name] = error
    return found, errors


def plugin_name(name: str) -> Any:
    """Return the object that a plug-in adds to ``import topoopt`` by name; an :class:`AttributeError` if there is
    none."""
    found = []
    for one in () if name.startswith("_") else entry_points(VERBS):
        try:
            verb = one.load_as(PluginVerb)
        except InvalidInput:
            if one.name == name:
                raise
            continue
        if name in verb.names:
            found.append(replace(one, place=f"{verb.module}:{name}"))
    if not found:
        raise AttributeError(f"module 'topoopt' has no attribute {name!r}")
    if len(found) > 1:
        raise found[-1].error(f"{found[0].distribution} has the name {name}, too")
    return found[0].load()


@cache
def _distributions() -> Mapping[str, "Distribution"]:
    """Return the other distributions with entry points in a group of topoopt, by name.

    Importing importlib.metadata takes nearly half as long as ``topoopt --help``: only where there is such a file.
    """
    found: dict[str, Distribution] = {}
    for file in (file for folder in sys.path for file in sorted(Path(folder).glob(ENTRY_POINTS))):
        name = file.parent.name.partition("-")[0]
        if name not in (DISTRIBUTION, *found) and b"[topoopt." in file.read_bytes():
            found[name] = import_module("importlib.metadata").Distribution.at(file.parent)
    return found

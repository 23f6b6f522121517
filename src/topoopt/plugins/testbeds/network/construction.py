"""Making and removing a network, step by step; each step visits every namespace once."""

import json
import os
import re
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import UnionType
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.base.machine import check_private, private_folder
from topoopt.plugins.testbeds.congestion_control import unregister
from topoopt.plugins.testbeds.namespaces import (
    create_namespace,
    namespaces_named,
    processes_inside,
    remove_namespace,
)
from topoopt.plugins.testbeds.network.layout import Cable, Layout
from topoopt.plugins.testbeds.network.netlink import (
    add_cables,
    hang_on_switch,
    make_switch,
    set_routes,
    set_up_node,
    set_up_ports,
    speaking,
    unplug,
)
from topoopt.schema.files import parse_json

PREFIX = "topoopt-"
"""Prefix of our namespaces."""
STATE_FOLDER = Path("/run/topoopt/testbed")
"""Folder of the records of testbeds: root's alone, so that no other user names a testbed to remove."""
_STATE = "state.json"
_LONGEST = 1_000_000
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")


@dataclass(frozen=True, slots=True)
class TestbedState:
    """One testbed of this machine.

    Attributes
    ----------
    namespaces : tuple of str
        All that are created, or will be.
    owner, owner_started : int
        The process that made it, and when that was started, in the kernel's ticks: ids are used again.
    kept : bool
        Whether it outlives its maker.
    ready : bool
        Whether it is whole.
    congestion : tuple of str
        Names of the congestion controls that are registered with the kernel for it, or will be.
    damage : str
        Why its record cannot be read; it can be removed by its name all the same.
    """

    __test__ = False

    name: str
    namespaces: tuple[str, ...]
    servers: int
    cables: int
    forwarding: str
    scale: float
    bandwidth_bps: float
    owner: int
    owner_started: int
    kept: bool
    ready: bool
    congestion: tuple[str, ...] = ()
    damage: str = ""

    def is_of(self, name: str) -> bool:
        """Whether it is called so, or was made by a run that is: of its fabrics each has a testbed with a number."""
        stem, _, number = self.name.rpartition("-")
        return self.name == name or (not self.kept and stem == name and number.isdecimal())

    @property
    def owner_lives(self) -> bool:
        """Whether the process that made it still runs."""
        return process_started(self.owner) == self.owner_started

    @property
    def in_use(self) -> bool:
        """Whether a current run needs it."""
        return not self.kept and self.owner_lives

    @property
    def standing(self) -> str:
        """``up``, ``in use``, ``being made``, ``damaged``, or ``left over`` by a process that has ended."""
        if self.in_use:
            return "in use"
        if self.damage:
            return "damaged"
        if self.kept and self.ready:
            return "up"
        return "being made" if self.owner_lives else "left over"


_FIELDS = {one.name for one in fields(TestbedState)}
_MOST_TRIES = 100  # to end processes: they may start others meanwhile


def make_network(state: TestbedState, layout: Layout) -> None:
    """Create the namespaces of a testbed and their contents."""
    for name in state.namespaces:
        create_namespace(name)
    _in_each(state, range(layout.nodes), lambda kernel, node: set_up_node(kernel, node, layout))
    change_cables(state, replace(layout, cables=(), routes=()), layout)
    if layout.switch:
        _in_each(state, range(layout.servers), lambda kernel, server: hang_on_switch(kernel, layout, server))
        _in_each(
            state,
            [layout.servers],
            lambda kernel, node: make_switch(kernel, layout.ports_of[node], layout.shaping.mtu_bytes),
        )
    else:
        route_servers(state, layout)


def change_cables(state: TestbedState, old: Layout, new: Layout) -> None:
    """Remove the cables that a new layout lacks, and add its new ones."""
    gone, comes = set(old.cables) - set(new.cables), [one for one in new.cables if one not in set(old.cables)]
    for server in sorted({cable.a.node for cable in gone}):
        names = [cable.a.name for cable in gone if cable.a.node == server]
        speaking(state.namespaces[server], unplug, names)
    by_server: dict[int, list[tuple[Cable, str]]] = {}
    ports: dict[int, list[Any]] = {}
    for cable in comes:
        by_server.setdefault(cable.a.node, []).append((cable, state.namespaces[cable.b.node]))
        for near, far in cable.ends:
            ports.setdefault(near.node, []).append((near, far))
    _in_each(
        state, by_server, lambda kernel, server: add_cables(kernel, by_server[server], new.shaping.mtu_bytes)
    )
    _in_each(state, ports, lambda kernel, node: set_up_ports(kernel, ports[node], state.scale, new.shaping))


def route_servers(state: TestbedState, layout: Layout) -> None:
    """Set the forwarding of every server as in the layout."""
    by_server: dict[int, list[Any]] = {server: [] for server in range(layout.servers)}
    for route in layout.routes:
        by_server[route.server].append(route)
    _in_each(state, by_server, lambda kernel, server: set_routes(kernel, server, by_server[server]))


def remove(state: TestbedState) -> None:
    """Remove a testbed: processes inside its namespaces, these and all in them, congestion controls, its note."""
    namespaces = namespaces_of(state.name)
    for _ in range(_MOST_TRIES):
        inside = [process for process in processes_inside(namespaces) if process != os.getpid()]
        for process in inside:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if not inside:
            break
        time.sleep(0.01)
    for name in namespaces:
        remove_namespace(name)
    for algorithm in state.congestion:
        unregister(algorithm)
    forget(state.name)


def _in_each(state: TestbedState, nodes: Any, step: Callable[[Any, int], None]) -> None:
    for node in nodes:
        speaking(state.namespaces[node], step, node)


def namespaces_of(name: str) -> tuple[str, ...]:
    """Return the namespaces of a testbed that exist, in order: they are known by its name, never from its record."""
    ours = re.compile(rf"{PREFIX}{re.escape(name)}-(s\d+|switch)", re.ASCII)
    found = [one for one in namespaces_named(PREFIX) if ours.fullmatch(one)]
    return tuple(sorted(found, key=lambda one: (one.endswith("-switch"), len(one), one)))


def check_name(name: str) -> None:
    """Refuse an invalid name of a testbed.

    Raises
    ------
    InvalidInput
        With the allowed values.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput(f'name: expected small letters, digits and "-", at most 31, got "{name}"')


def claim(state: TestbedState) -> None:
    """Record a testbed to be made; only one gets a name.

    Raises
    ------
    InvalidInput
        If the name is none, or taken.
    """
    check_name(state.name)
    place = STATE_FOLDER / state.name
    there_is = InvalidInput(
        f'name: there is a testbed "{state.name}"; take another name, or: topoopt testbed down {state.name}'
    )
    _check_folder(makes=True)
    if os.path.lexists(place):
        raise there_is
    taken = set(namespaces_named(PREFIX)) & set(state.namespaces)
    if taken:
        raise InvalidInput(f"name: there is a namespace {min(taken)} already; take another name")
    part = Path(tempfile.mkdtemp(dir=place.parent, prefix="."))
    _write(part, state)
    try:
        part.rename(place)
    except OSError:  # another was quicker
        shutil.rmtree(part)
        raise there_is from None


def write_state(state: TestbedState) -> None:
    """Update the state file of a testbed atomically."""
    _write(STATE_FOLDER / state.name, state)


def forget(name: str) -> None:
    """Delete the record of a removed testbed, also a file or a link in its place."""
    place = STATE_FOLDER / name
    if place.is_symlink() or not place.is_dir():
        place.unlink(missing_ok=True)
    else:
        shutil.rmtree(place, ignore_errors=True)


def known_states() -> tuple[TestbedState, ...]:
    """Return all testbeds that are recorded, by name; other entries of the folder are ignored.

    Raises
    ------
    InvalidInput
        If the folder is not root's alone.
    """
    if not _check_folder():
        return ()
    names = sorted(place.name for place in STATE_FOLDER.iterdir() if _NAME.fullmatch(place.name))
    return tuple(filter(None, map(_read_state, names)))


def find_state(name: str) -> TestbedState:
    """Return a testbed by its name.

    Raises
    ------
    InvalidInput
        If there is none.
    """
    states = {state.name: state for state in known_states()}
    if name not in states and _NAME.fullmatch(name) and namespaces_of(name):
        return _damaged(name, "it has no record", {})
    if name not in states:
        known = ", ".join(states) or "none"
        raise InvalidInput(f'testbed: there is no testbed "{name}"; there are: {known}')
    return states[name]


def process_started(process: int) -> int:
    """Return the start of a process, in ticks since boot; 0 if there is none."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0
    return int(text.rpartition(")")[2].split()[19])


def _check_folder(*, makes: bool = False) -> bool:
    """Refuse a folder of records that others could have written; return whether there is one."""
    try:
        for folder in (STATE_FOLDER.parent, STATE_FOLDER):
            if not makes and not os.path.lexists(folder):
                return False
            (private_folder if makes else check_private)(folder)
        if not os.access(STATE_FOLDER, os.R_OK | os.X_OK):
            raise PermissionError(f"{STATE_FOLDER} belongs to root")
    except OSError as error:
        remedy = "; make it root's alone (chown root, chmod 700), or remove it"
        if os.geteuid() != 0:
            remedy = "; run it as root (sudo)"
        raise InvalidInput(f"testbed: records of testbeds cannot be kept or read: {error}{remedy}") from None
    return True


_KINDS: Mapping[str, type | UnionType] = {
    **dict.fromkeys(("servers", "cables", "owner", "owner_started"), int),
    **dict.fromkeys(("scale", "bandwidth_bps"), int | float),
    **dict.fromkeys(("kept", "ready"), bool),
    **dict.fromkeys(("name", "forwarding"), str),
}
"""Types of a record; no path is among them."""


def _read_state(name: str) -> TestbedState | None:
    """Return a testbed from its record; a damaged one from its name. None if it is gone by now."""
    words: Any = {}
    try:
        check_private(STATE_FOLDER / name)
        handle = os.open(STATE_FOLDER / name / _STATE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
                raise PermissionError(f"{_STATE}: is no file of root alone")
            words = parse_json(file.read(_LONGEST).decode("utf-8", "replace"), _STATE)
        wrong = [key for key, kind in _KINDS.items() if not _is(words[key], kind)]
        congestion = words.get("congestion", [])
        if wrong or words["name"] != name or not _is(congestion, list) or set(words) - _FIELDS:
            raise ValueError(f"{_STATE}: of another version, or changed: {', '.join(wrong) or 'its keys'}")
        known = {key: words[key] for key in _KINDS}
        algorithms = tuple(one for one in congestion if isinstance(one, str))
        return TestbedState(**known, namespaces=namespaces_of(name), congestion=algorithms)
    except FileNotFoundError:
        if not os.path.lexists(STATE_FOLDER / name):
            return None  # forgotten a moment ago
        return _damaged(name, f"{_STATE}: there is none", {})
    except (OSError, InvalidInput, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{_STATE}: lacks {error}" if isinstance(error, KeyError) else str(error)
        return _damaged(name, reason, words if isinstance(words, dict) else {})


def _damaged(name: str, reason: str, words: Mapping[str, Any]) -> TestbedState:
    """Return a testbed that is known by its name; of its record only the owner is used."""
    owner, started = (words[key] if _is(words.get(key), int) else 0 for key in ("owner", "owner_started"))
    kept = owner == 0 or words.get("kept") is not False
    names = namespaces_of(name)
    return TestbedState(
        name, names, 0, 0, "unknown", 1.0, 0.0, owner, started, kept, ready=False, damage=reason
    )


def _is(value: object, kind: type | UnionType) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _write(folder: Path, state: TestbedState) -> None:
    part = folder / f"{_STATE}.part"
    part.write_text(json.dumps(asdict(state), indent=1))
    part.replace(folder / _STATE)

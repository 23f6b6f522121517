"""Making and removing a network, step by step; each step visits every namespace once."""

import json
import os
import re
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from topoopt.base.errors import InvalidInput
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

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals by which people and systems end a program, and let it clean up."""
PREFIX = "topoopt-"
"""Prefix of our namespaces."""
_STATE = "state.json"
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
        """``up``, ``in use``, ``being made``, or ``left over`` by a process that has ended."""
        if self.in_use:
            return "in use"
        if self.kept and self.ready:
            return "up"
        return "being made" if self.owner_lives else "left over"


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
    for _ in range(_MOST_TRIES):
        inside = [process for process in processes_inside(state.namespaces) if process != os.getpid()]
        for process in inside:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if not inside:
            break
        time.sleep(0.01)
    for name in state.namespaces:
        remove_namespace(name)
    for algorithm in state.congestion:
        unregister(algorithm)
    forget(state.name)


def _in_each(state: TestbedState, nodes: Any, step: Callable[[Any, int], None]) -> None:
    for node in nodes:
        speaking(state.namespaces[node], step, node)


def state_folder() -> Path:
    """Return the folder for the state of testbeds: in the user's run-time folder if there is one, else /run."""
    return Path(os.environ.get("XDG_RUNTIME_DIR") or "/run") / "topoopt" / "testbed"


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
    place = state_folder() / state.name
    there_is = InvalidInput(
        f'name: there is a testbed "{state.name}"; take another name, or: topoopt testbed down {state.name}'
    )
    if place.exists():
        raise there_is
    taken = set(namespaces_named(PREFIX)) & set(state.namespaces)
    if taken:
        raise InvalidInput(f"name: there is a namespace {min(taken)} already; take another name")
    place.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(dir=place.parent, prefix="."))
    _write(part, state)
    try:
        part.rename(place)
    except OSError:  # another was quicker
        shutil.rmtree(part)
        raise there_is from None


def write_state(state: TestbedState) -> None:
    """Update the state file of a testbed atomically."""
    _write(state_folder() / state.name, state)


def forget(name: str) -> None:
    """Delete the record of a removed testbed."""
    shutil.rmtree(state_folder() / name, ignore_errors=True)


def known_states() -> tuple[TestbedState, ...]:
    """Return all testbeds that are noted, by name."""
    return tuple(_states())


def find_state(name: str) -> TestbedState:
    """Return a testbed by its name.

    Raises
    ------
    InvalidInput
        If there is none.
    """
    states = {state.name: state for state in known_states()}
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


def _states() -> Iterator[TestbedState]:
    folder = state_folder()
    for place in sorted(folder.glob("[!.]*")):
        try:
            words: dict[str, Any] = json.loads((place / _STATE).read_text())
        except (FileNotFoundError, NotADirectoryError):
            continue  # about to be claimed, or forgotten a moment ago
        lists = {key: tuple(words.get(key, ())) for key in ("namespaces", "congestion")}
        yield TestbedState(**{**words, **lists})


def _write(folder: Path, state: TestbedState) -> None:
    part = folder / f"{_STATE}.part"
    part.write_text(json.dumps(asdict(state), indent=1))
    part.replace(folder / _STATE)


@contextmanager
def later() -> Iterator[None]:
    """Delay signals until the end of the context, when its objects are recorded and can be removed."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python hears signals in its main thread only
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.signal(number, note) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for late in dict.fromkeys(came):
            signal.raise_signal(late)


@contextmanager
def as_errors() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise ``SystemExit``, as Ctrl-C raises ``KeyboardInterrupt``, so that contexts end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    changed = [one for one in ENDING if signal.getsignal(one) is signal.SIG_DFL]
    for one in changed:
        signal.signal(one, leave)
    try:
        yield
    finally:
        for one in changed:
            signal.signal(one, signal.SIG_DFL)

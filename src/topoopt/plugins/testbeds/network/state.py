"""What was created, on disk before it is, so that it can be removed whatever has happened to who made it."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.plugins.testbeds.namespaces import namespaces_named

PREFIX = "topoopt-"
"""What all namespaces of ours begin with."""

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
        """Whether a run that goes on needs it."""
        return not self.kept and self.owner_lives

    @property
    def standing(self) -> str:
        """``up``, ``in use``, ``being made``, or ``left over`` by a process that is gone."""
        if self.in_use:
            return "in use"
        if self.kept and self.ready:
            return "up"
        return "being made" if self.owner_lives else "left over"


def state_folder() -> Path:
    """Return where testbeds are noted: below the user's run-time folder where there is one, else /run."""
    return Path(os.environ.get("XDG_RUNTIME_DIR") or "/run") / "topoopt" / "testbed"


def check_name(name: str) -> None:
    """Refuse what no testbed can be called.

    Raises
    ------
    InvalidInput
        With what is allowed.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput(f'name: expected small letters, digits and "-", at most 31, got "{name}"')


def claim(state: TestbedState) -> None:
    """Note a testbed that is to be made; of two that want a name one gets it.

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
    """Note anew what has become of a testbed, whole or not at all."""
    _write(state_folder() / state.name, state)


def forget(name: str) -> None:
    """Take back the note of a testbed that is gone."""
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
    """Return when a process was started, in ticks since the machine was; 0 if there is none."""
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

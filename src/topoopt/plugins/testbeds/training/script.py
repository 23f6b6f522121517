"""Scripts: the part of each server in an iteration, and the dependencies between its steps."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Place:
    """Location of a member.

    Attributes
    ----------
    address : str
        Address at which others reach it, and from which it sends.
    namespace : str
        File of the network namespace that it enters; empty for the one that it is in already.
    """

    address: str = "127.0.0.1"
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class RanksOrder:
    """Orders to the process that forks ranks: the place of each, and the end of its pipe."""

    places: tuple[Place, ...]
    pipes: tuple[int, ...]
    meeting_file: str


@dataclass(frozen=True, slots=True)
class Command:
    """A program that a member is to run, by its name in the table of programs."""

    program: str
    words: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """Reply to a command; ``error`` is empty if all went well."""

    answer: Any = None
    error: str = ""


Rings = tuple[tuple[int, ...], ...]
"""Servers of each ring of a collective, in its order."""


@dataclass(frozen=True, slots=True)
class Compute:
    """Busy time of an accelerator: a timed sleep emulates its kernels."""

    accelerator: int
    duration_s: float


@dataclass(frozen=True, slots=True)
class Send:
    """A message to another server."""

    peer: int
    size_bytes: int
    tag: int


@dataclass(frozen=True, slots=True)
class Receive:
    """A message from another server."""

    peer: int
    size_bytes: int
    tag: int


@dataclass(frozen=True, slots=True)
class Reduce:
    """A collective over rings: ``allreduce``, ``reduce-scatter`` or ``all-gather`` of a buffer."""

    collective: str
    rings: Rings
    numbers: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """An all-to-all: as many bytes to each other member as from each."""

    members: tuple[int, ...]
    bytes_per_pair: int
    tag: int


Action = Compute | Send | Receive | Reduce | Exchange


@dataclass(frozen=True, slots=True)
class Step:
    """An action of one server.

    Attributes
    ----------
    waits_for : int
        Number of steps of this server that must be done before. Receives wait for none.
    then : tuple of int
        Numbers of the steps that wait for this one.
    delay_s : float
        Time that passes before it begins.
    """

    action: Action
    waits_for: int
    then: tuple[int, ...]
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ServerScript:
    """Steps of one server in an iteration.

    Attributes
    ----------
    orders : tuple of tuple of int
        Collectives of each set of rings, in the order in which they begin. It is the same on all servers, as rings
        need, and is the order in which they become ready when nothing is late.
    """

    steps: tuple[Step, ...]
    orders: tuple[tuple[int, ...], ...]

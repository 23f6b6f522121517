"""The nouns of a script: what one server does of an iteration, and what waits for what."""

from dataclasses import dataclass

Rings = tuple[tuple[int, ...], ...]
"""Servers of each ring of a collective, in its order."""


@dataclass(frozen=True, slots=True)
class Compute:
    """An accelerator is busy for so long: a timed sleep stands for its kernels."""

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
    """A collective over rings: ``allreduce``, ``reduce-scatter`` or ``all-gather`` of a buffer of so many numbers."""

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
        How many steps of this server must be done before. Receives wait for none.
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
        For each set of rings its collectives, in the order in which they begin. It is the same on all servers, which
        rings need, and is that in which they become ready when nothing is late.
    """

    steps: tuple[Step, ...]
    orders: tuple[tuple[int, ...], ...]

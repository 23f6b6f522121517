"""The nouns of a rank and the one that commands it: where it runs, what it is told, what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Place:
    """Where a member runs.

    Attributes
    ----------
    address : str
        By which the others reach it, and from which it sends.
    namespace : str
        File of the network namespace that it enters; empty for the one that it is in already.
    """

    address: str = "127.0.0.1"
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class RanksOrder:
    """What the process that forks ranks is told: where each runs, and which end of a pipe it talks through."""

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
    """What came of a command; ``error`` is empty if all went well."""

    answer: Any = None
    error: str = ""

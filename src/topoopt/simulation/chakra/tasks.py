"""Nodes of Chakra's traces that are becoming tasks: what each is, and which nodes it waits for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from topoopt.simulation.chakra.trace import ChakraNode, ChakraTrace

Place = tuple[int, int]
"""Rank and number of a node."""
ON_CPU = -1
MOST_BYTES = 1 << 53
"""Sizes up to here are exact as floating-point numbers."""


@dataclass(slots=True)
class DraftTask:
    """A task by the columns of a task graph; ``nodes`` are done when it is."""

    trace: ChakraTrace
    node: ChakraNode
    rank: int
    kind: int
    nodes: Sequence[Place]
    waits_for: Sequence[Place]
    duration_s: float = 0.0
    server: int = -1
    accelerator: int = 0
    src: int = -1
    dst: int = -1
    size_bytes: int = 0
    collective: int = -1
    members: tuple[int, ...] = ()


def places(rank: int, node: ChakraNode) -> list[Place]:
    """Return what a node waits for."""
    return [(rank, number) for number in node.waits_for]


def whole(trace: ChakraTrace, node: ChakraNode, name: str, default: int | None = None) -> int:
    """Return a whole number >= 0 that a node must have, if there is no default.

    Raises
    ------
    InvalidInput
        With file and node.
    """
    value: Any = node.attributes.get(name, default)
    if type(value) is not int or not 0 <= value <= MOST_BYTES:
        got = "nothing" if value is None else repr(value)[:40]
        raise trace.refusal(node, f"{name}: expected a whole number of 0..{MOST_BYTES}, got {got}")
    return value


def seconds(trace: ChakraTrace, node: ChakraNode, name: str, default: float) -> float:
    """Return a time >= 0 in seconds.

    Raises
    ------
    InvalidInput
        With file and node.
    """
    value = node.attributes.get(name, default)
    if not isinstance(value, float) or not 0 <= value < float("inf"):
        raise trace.refusal(node, f"{name}: expected seconds >= 0, got {repr(value)[:40]}")
    return value

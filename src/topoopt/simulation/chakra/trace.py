"""The nouns of Chakra's files: a node, the trace of one rank, and the traces of all ranks with their groups."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.simulation.chakra.schema import NODE_TYPES


@dataclass(frozen=True, slots=True)
class ChakraNode:
    """One node; ``waits_for`` has control and data dependencies, by number."""

    id: int
    name: str
    type: int
    waits_for: tuple[int, ...]
    duration_micros: int
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ChakraTrace:
    """What one rank does.

    Attributes
    ----------
    place : str
        The file, for messages.
    attributes : mapping
        Of the file as a whole.
    """

    place: str
    version: str
    attributes: Mapping[str, Any]
    nodes: tuple[ChakraNode, ...]

    def refusal(self, node: ChakraNode, reason: str) -> InvalidInput:
        """Return an error about one of its nodes."""
        named = f' "{node.name}"' if node.name else ""
        kind = NODE_TYPES[node.type] if node.type < len(NODE_TYPES) else str(node.type)
        return InvalidInput(f"{self.place}: node {node.id}{named} ({kind}): {reason}")


@dataclass(frozen=True, slots=True)
class ChakraTraces:
    """The traces of all ranks, in order, and the members of each process group by its name, in ring order."""

    place: str
    ranks: tuple[ChakraTrace, ...]
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

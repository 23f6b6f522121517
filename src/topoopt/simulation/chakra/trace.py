"""The nouns of Chakra's files: a node, the trace of one rank, and the traces of all ranks with their groups.

Chakra's execution traces: kinds of nodes and collectives, fields of its messages, and attributes that are read.

References
----------
.. [1] github.com/mlcommons/chakra, ``schema/protobuf/et_def.proto`` (package ``ChakraProtoMsg``).
.. [2] github.com/astra-sim/astra-sim, ``astra-sim/workload/Workload.cc`` and ``feeder_v3/et_feeder_node_attr.h``: which
   attributes are taken, and what for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from topoopt.base.errors import InvalidInput

VERSION = "0.0.4"
"""Of the schema, as ASTRA-sim's own examples say it."""
NODE_TYPES = ("INVALID", "METADATA", "MEM_LOAD", "MEM_STORE", "COMP", "COMM_SEND", "COMM_RECV", "COMM_COLL")
INVALID, METADATA, MEM_LOAD, MEM_STORE, COMP, SEND, RECV, COLL = range(len(NODE_TYPES))
COLLECTIVE_TYPES = (
    *("ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST", "ALL_TO_ALL"),
    *("REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"),
)
OURS = {
    "ALL_REDUCE": "allreduce",
    "ALL_GATHER": "all-gather",
    "ALL_TO_ALL": "all-to-all",
    "REDUCE_SCATTER": "reduce-scatter",
    "REDUCE_SCATTER_BLOCK": "reduce-scatter",
}
"""The collectives that a task graph knows, by our names."""
THEIRS = {ours: COLLECTIVE_TYPES.index(theirs) for theirs, ours in reversed(OURS.items())}
"""Numbers of the collectives, by our names."""
META_VERSION, META_ATTR = 1, 2
"""Fields of the message that begins a file."""
ID, NAME, TYPE, CTRL_DEPS, DATA_DEPS, START, DURATION, ATTR = 1, 2, 3, 4, 5, 6, 7, 10
"""Fields of a node."""
ATTR_NAME = 1
DOUBLE, FLOAT, STRING, BYTES, BOOL, BOOL_LIST = 3, 5, 29, 31, 27, 28
INT64, UINT64 = 9, 13
UNSIGNED = (7, 9, 11, 13, 27)
"""Values that are plain varints: int32, int64, uint32, uint64, bool."""
ZIGZAG = (15, 17)
FIXED = {19: "<I", 21: "<Q", 23: "<i", 25: "<q", DOUBLE: "<d", FLOAT: "<f"}
"""Values of 4 and 8 bytes, as ``struct`` says them."""
EXACT_DURATION = "topoopt_duration_s"
"""Attribute of ours: a time as it was planned; ``duration_micros`` is whole microseconds. Of communication: the delay
before it, for which Chakra has no field."""
EXACT_SIZE = "topoopt_buffer_bytes"
"""Attribute of ours: the buffer of an all-gather whose shards are not alike."""
ACCELERATOR = "topoopt_accelerator"
"""Attribute of ours: which of its server's devices computes."""
COLLECTIVE_WAY = "topoopt_collective"
"""Attribute of ours, of a file: how collectives run, a word of ``topoopt simulate --collective``."""


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

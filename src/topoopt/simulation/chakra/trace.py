"""Files, nodes, traces and process groups of Chakra, and their wire format, protocol buffers.

The wire format is read as far as these files need it: varints, 8 and 4 bytes, and runs of bytes.

References
----------
.. [1] github.com/mlcommons/chakra, ``schema/protobuf/et_def.proto`` (package ``ChakraProtoMsg``).
.. [2] github.com/astra-sim/astra-sim, ``astra-sim/workload/Workload.cc`` and ``feeder_v3/et_feeder_node_attr.h``:
   attributes read, and their use.
.. [3] protobuf.dev/programming-guides/encoding: base-128 varints, tags, packed repeated fields.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from topoopt.base.errors import InvalidInput
from topoopt.simulation.task_graph import COLLECTIVES

VARINT, EIGHT, RUN, FOUR = 0, 1, 2, 5
"""Wire types of fields; the low three bits of the tag."""
LONGEST_VARINT = 10
_SIZES = {EIGHT: 8, FOUR: 4}


class Field(NamedTuple):
    """A field of a message: a number, or its bytes."""

    number: int
    kind: int
    value: int
    data: bytes


VERSION = "0.0.4"
"""Version of the schema, as in ASTRA-sim's own examples."""
NODE_TYPES = ("INVALID", "METADATA", "MEM_LOAD", "MEM_STORE", "COMP", "COMM_SEND", "COMM_RECV", "COMM_COLL")
INVALID, METADATA, MEM_LOAD, MEM_STORE, COMP, SEND, RECV, COLL = range(len(NODE_TYPES))
COLLECTIVE_TYPES = (
    *("ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST", "ALL_TO_ALL"),
    *("REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"),
)
BARRIER = "barrier"
"""Moves nothing."""
KINDS = {
    "ALL_REDUCE": "allreduce",
    "REDUCE": "reduce",
    "ALL_GATHER": "all-gather",
    "BROADCAST": "broadcast",
    "ALL_TO_ALL": "all-to-all",
    "REDUCE_SCATTER": "reduce-scatter",
    "REDUCE_SCATTER_BLOCK": "reduce-scatter",
    "BARRIER": BARRIER,
}
"""Collectives by our names; a gather and a scatter do not say their root."""
OURS = {theirs: ours for theirs, ours in KINDS.items() if ours in COLLECTIVES}
"""Those that a task graph knows."""
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
"""Values of 4 and 8 bytes, as formats of ``struct``."""
EXACT_DURATION = "topoopt_duration_s"
"""Attribute of ours: a time as it was planned; ``duration_micros`` is whole microseconds. Of communication: the delay
before it, for which Chakra has no field."""
EXACT_SIZE = "topoopt_buffer_bytes"
"""Attribute of ours: the buffer of an all-gather whose shards are not alike."""
DELAY_OF = "topoopt_delay_of"
"""Attribute of ours: the communication whose delay a COMP node is; its own number where nothing is sent."""
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
    """Nodes of one rank.

    Attributes
    ----------
    place : str
        The file, for messages.
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
    """Return the predecessors of a node."""
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


def varint(value: int) -> bytes:
    """Return a number of up to 64 bits in base 128; a negative one in two's complement.

    Examples
    --------
    >>> varint(300).hex()
    'ac02'
    """
    value &= 0xFFFF_FFFF_FFFF_FFFF
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def tag(number: int, kind: int) -> bytes:
    """Return the tag of a field."""
    return varint(number << 3 | kind)


def number_field(number: int, value: int) -> bytes:
    """Return an integer field."""
    return tag(number, VARINT) + varint(value)


def run_field(number: int, data: bytes) -> bytes:
    """Return a field of bytes: text, a message, or packed numbers."""
    return tag(number, RUN) + varint(len(data)) + data


def framed(message: bytes) -> bytes:
    """Return a message with a length prefix, as in a file of several."""
    return varint(len(message)) + message


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number and where it ends.

    Raises
    ------
    ValueError
        If the bytes end before it does, or it is longer than 64 bits take.
    """
    try:
        value = data[at]
        if value < 0x80:  # most numbers are small, and a file has millions
            return value, at + 1
        value, shift = value & 0x7F, 7
        for place in range(at + 1, at + LONGEST_VARINT):
            byte = data[place]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFF_FFFF_FFFF_FFFF, place + 1
            shift += 7
    except IndexError:
        pass
    raise ValueError(f"byte {at}: the file ends within a number, or this is none")


def fields(data: bytes) -> Iterator[Field]:
    """Yield the fields of a message in their order.

    Raises
    ------
    ValueError
        If it ends within a field, or is no valid protocol buffer.
    """
    at, end = 0, len(data)
    while at < end:
        key = data[at]
        if key < 0x80:
            at += 1
        else:
            key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = read_varint(data, at)
            yield Field(number, kind, value, b"")
            continue
        if kind == RUN:
            size, at = read_varint(data, at)
        elif kind in _SIZES:
            size = _SIZES[kind]
        else:
            raise ValueError(f"byte {at}: field {number} of kind {kind}, which no protocol buffer has")
        if size > end - at:
            raise ValueError(f"byte {at}: field {number} has {size} bytes, of which {end - at} are there")
        yield Field(number, kind, 0, data[at : at + size])
        at += size


def numbers(field: Field) -> Sequence[int]:
    """Return the whole numbers of a repeated field: those packed in one run, or the only one."""
    if field.kind == VARINT:
        return (field.value,)
    values, at = [], 0
    while at < len(field.data):
        value, at = read_varint(field.data, at)
        values.append(value)
    return values


def signed(value: int) -> int:
    """Return the 64-bit number that two's complement means.

    Examples
    --------
    >>> signed(2**64 - 3)
    -3
    """
    return value - (1 << 64) if value >> 63 else value

"""Read a FlexNet ``.fbuf`` task graph, packed with xz or not.

FlatBuffers tables read by columns: all tables of a vector at once, every access inside the buffer.

A table starts with the distance back to its vtable; the vtable gives the offset of each field, or its absence
(default). Vectors and nested tables are reached by forward distances. Only distances requested by the caller are
followed, so a buffer cannot send the reader in circles; repeated references to one vector are limited, so a small
file cannot demand much memory.

See https://flatbuffers.dev/internals for the layout.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Ints, owners, pointer
from topoopt.base.errors import InvalidInput
from topoopt.schema.files import read_bytes, unpacked
from topoopt.simulation.flexnet.graph import (
    LISTS,
    NUMBERS,
    TEXT,
    Connections,
    Devices,
    FlexNetGraph,
    Operators,
    RingDescriptor,
    RouteRows,
    Table,
    Tasks,
    check,
)

MOST_SHARING = 4
"""Largest total size of one field's vectors, relative to the buffer; writers do not share them."""


@dataclass(frozen=True, eq=False)
class Buffer:
    """The bytes of one file."""

    place: str
    raw: NDArray[np.uint8]

    def broken(self, what: str, reason: str) -> InvalidInput:
        """Return the error for a buffer that cannot be this kind of file."""
        return InvalidInput(
            f"{self.place}: {what}: {reason}: not a FlexNet task graph, or damaged; "
            "copy or export the .fbuf file again"
        )

    def numbers(self, at: Ints, form: str, what: str) -> NDArray[Any]:
        """Return the little-endian numbers of a type at the given bytes."""
        kind = np.dtype(form)
        width = kind.itemsize
        outside = (at < 0) | (at > len(self.raw) - width)
        if outside.any():
            where = int(at[np.argmax(outside)])
            raise self.broken(what, f"byte {where} lies outside the file's {len(self.raw)} bytes")
        # one gather of whole numbers: the rows become contiguous, and the view reads each row as one number
        rows = self.raw[at[:, None] + np.arange(width)]
        column: NDArray[Any] = rows.view(kind.newbyteorder("<"))[:, 0].astype(kind)
        return column

    def follow(self, at: Ints, what: str) -> Ints:
        """Return the targets of the forward offsets at the given bytes."""
        distance = self.numbers(at, "u4", what).astype(np.int64)
        if (distance == 0).any():
            raise self.broken(what, f"byte {int(at[np.argmin(distance)])} points at itself")
        return at + distance

    def root(self, what: str) -> "Tables":
        """Return the one table that the buffer starts with."""
        return self.tables(self.follow(np.zeros(1, np.int64), what), what)

    def tables(self, position: Ints, what: str) -> "Tables":
        """Return the tables at the given bytes."""
        vtable = position - self.numbers(position, "i4", what)
        size = self.numbers(vtable, "u2", what).astype(np.int64)
        length = self.numbers(vtable + 2, "u2", what).astype(np.int64)
        bad = (size < 4) | (size % 2 == 1) | (length < 4) | (position % 4 != 0) | (vtable % 2 != 0)
        bad |= (vtable + size > len(self.raw)) | (position + length > len(self.raw))
        if bad.any():
            raise self.broken(what, f"no table at byte {int(position[np.argmax(bad)])}")
        return Tables(self, what, position, vtable, size, length)


@dataclass(frozen=True, eq=False)
class Tables:
    """Some tables of one type: where each is, where its vtable is, and how long both are."""

    buffer: Buffer
    what: str
    position: Ints
    vtable: Ints
    vtable_size: Ints
    length: Ints

    def __len__(self) -> int:
        return len(self.position)

    def column(self, slot: int, form: str) -> NDArray[Any]:
        """Return a field of every table, 0 where it is not stored."""
        there, at = self._field(slot, np.dtype(form).itemsize)
        column = np.zeros(len(self), form)
        column[there] = self.buffer.numbers(at, form, self.what)
        return column

    def vectors(self, slot: int, form: str, what: str) -> tuple[Ints, NDArray[Any]]:
        """Return the vectors of numbers in a field of every table, as CSR pointer and values."""
        first, at = self._elements(slot, np.dtype(form).itemsize, what)
        return first, self.buffer.numbers(at, form, what)

    def children(self, slot: int, what: str) -> tuple[Ints, "Tables"]:
        """Return the vectors of tables in a field of every table, as CSR pointer and tables."""
        first, at = self._elements(slot, 4, what)
        return first, self.buffer.tables(self.buffer.follow(at, what), what)

    def texts(self, slot: int) -> tuple[str, ...]:
        """Return a string field of every table, empty where it is not stored."""
        first, letters = self.vectors(slot, "u1", self.what)
        ends, data = first.tolist(), letters.tobytes()
        try:
            return tuple(data[a:b].decode() for a, b in pairwise(ends))
        except UnicodeDecodeError:
            raise self.buffer.broken(self.what, "a name is not UTF-8 text") from None

    def _elements(self, slot: int, width: int, what: str) -> tuple[Ints, Ints]:
        """Return the CSR pointer, and the byte of each element, of the vectors in a field."""
        there, at = self._field(slot, 4)
        start = self.buffer.follow(at, what)
        count = np.zeros(len(self), np.int64)
        count[there] = self.buffer.numbers(start, "u4", what)
        # of each vector on its own first, so that the sum below stays far below 2**63
        after = start + 4 + count[there] * width
        if (after > len(self.buffer.raw)).any():
            where = int(start[np.argmax(after > len(self.buffer.raw))])
            raise self.buffer.broken(what, f"the list at byte {where} ends beyond the end of the file")
        first = pointer(count)
        if first[-1] * width > MOST_SHARING * len(self.buffer.raw):
            raise self.buffer.broken(what, "the same lists are used again and again")
        begin = np.zeros(len(self), np.int64)
        begin[there] = start + 4
        owner = owners(first)
        return first, begin[owner] + (np.arange(first[-1]) - first[owner]) * width

    def _field(self, slot: int, width: int) -> tuple[NDArray[np.bool_], Ints]:
        """Return which tables store a field, and its byte offsets."""
        entry = 4 + 2 * slot
        known = entry < self.vtable_size
        offset = np.zeros(len(self), np.int64)
        offset[known] = self.buffer.numbers(self.vtable[known] + entry, "u2", self.what)
        there = offset > 0
        outside = there & ((offset < 4) | (offset + width > self.length))
        if outside.any():
            where = int(self.position[np.argmax(outside)])
            raise self.buffer.broken(self.what, f"field {slot} of the table at byte {where} lies outside it")
        return there, self.position[there] + offset[there]


def read_fbuf(path: str | Path) -> FlexNetGraph:
    """Return the task graph in a ``.fbuf`` or ``.fbuf.xz`` file.

    Raises
    ------
    InvalidInput
        If the file cannot be read, is not a FlexNet task graph, is damaged, or names tasks, devices, nodes or
        links that it does not hold.
    """
    return parse_fbuf(read_bytes(path), str(path))


def parse_fbuf(data: bytes, place: str = "task graph") -> FlexNetGraph:
    """Parse a task graph; ``place`` is the prefix of every error."""
    data = unpacked(data, place)
    if not data:
        raise InvalidInput(f"{place}: is empty, expected a FlexNet task graph (.fbuf)")
    root = buffer_of(data, place).root("root table")
    numbers = {name: root.column(slot, form).item() for slot, (name, form) in enumerate(NUMBERS.items())}
    lists = {
        name: _columns(root.children(slot, name)[1], table)
        for slot, (name, table) in enumerate(LISTS.items(), start=len(NUMBERS))
    }
    kinds: dict[str, Callable[..., Any]] = {
        "connections": Connections,
        "operators": Operators,
        "tasks": Tasks,
        "devices": Devices,
        "routes": RouteRows,
        "rings": _rings,
    }
    graph = FlexNetGraph(place, **numbers, **{name: kind(*lists[name]) for name, kind in kinds.items()})
    check(graph)
    return graph


def _columns(rows: Tables, table: Table) -> list[Any]:
    columns: list[Any] = []
    for slot, (name, form) in enumerate(table.items()):
        if not isinstance(form, str):
            first, inner = rows.children(slot, name)
            columns += [first, *_columns(inner, form)]
        elif form == TEXT:
            columns.append(rows.texts(slot))
        elif form.startswith("["):
            columns += rows.vectors(slot, form.strip("[]"), name)
        else:
            columns.append(rows.column(slot, form))
    return columns


def _rings(size: Ints, path_first: Ints, jump_first: Ints, jumps: Ints) -> tuple[RingDescriptor, ...]:
    steps = jumps.tolist()
    walks = [tuple(steps[a:b]) for a, b in pairwise(jump_first.tolist())]
    groups = zip(size.tolist(), pairwise(path_first.tolist()), strict=True)
    return tuple(RingDescriptor(members, tuple(walks[a:b])) for members, (a, b) in groups)


def buffer_of(data: bytes, place: str) -> Buffer:
    """Return the buffer of a file's bytes."""
    raw: NDArray[Any] = np.frombuffer(data, np.uint8)
    return Buffer(place, raw)

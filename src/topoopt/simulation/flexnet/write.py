"""Write a FlexNet ``.fbuf`` task graph, packed with xz or not.

FlatBuffers written by columns: places are reserved first, parents before children, and filled afterwards.

All distances except the one from a table back to its vtable lead forward, so a reference must precede its target.
All tables of one type have every field and share one vtable.
"""

import lzma
from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Ints, pointer
from topoopt.base.errors import InvalidInput
from topoopt.schema.files import write_bytes_atomically
from topoopt.simulation.flexnet.graph import LISTS, NUMBERS, TEXT, FlexNetGraph, Table

OFFSET = "<u4"
"""Format of a field that points at a vector, a string or a table."""
_LARGEST_BYTES = 1 << 31


class Image:
    """The bytes of a file that grows."""

    def __init__(self) -> None:
        self._size = 0
        self._pieces: list[tuple[int, bytes]] = []

    def reserve(self, size: int, align: int) -> int:
        """Reserve ``size`` bytes and return their offset."""
        at = -(-self._size // align) * align
        self._size = at + size
        if self._size > _LARGEST_BYTES:
            raise InvalidInput("task graph: more than 2 GiB as .fbuf, which FlatBuffers cannot hold")
        return at

    def put(self, at: int, data: NDArray[Any]) -> None:
        """Write at a reserved place."""
        self._pieces.append((at, data.tobytes()))

    def to_bytes(self) -> bytes:
        """Return the buffer; unwritten bytes are zero."""
        whole = bytearray(-(-self._size // 8) * 8)
        for at, piece in self._pieces:
            whole[at : at + len(piece)] = piece
        return bytes(whole)


@dataclass(frozen=True, eq=False)
class TableBlock:
    """Places of tables of one type, one after the other."""

    image: Image
    record: np.dtype[np.void]
    vtable: int
    positions: Ints

    def fill(self, *columns: NDArray[Any]) -> None:
        """Write the fields in order of their slots; pointers as the positions that they point at."""
        rows = np.zeros(len(self.positions), self.record)
        rows["vtable"] = self.positions - self.vtable
        assert self.record.names is not None
        assert self.record.fields is not None
        for name, column in zip(self.record.names[1:], columns, strict=True):
            field, place = self.record.fields[name][:2]
            points = name.startswith("to")
            rows[name] = (column - self.positions - place if points else column).astype(field)
        if len(rows):
            self.image.put(int(self.positions[0]), rows)


@dataclass(frozen=True, eq=False)
class VectorBlock:
    """Places of vectors of numbers or pointers: ``positions`` of the vectors, ``entries`` of their elements."""

    image: Image
    at: int
    size: int
    width: int
    count: Ints
    positions: Ints
    entries: Ints

    def fill(self, values: NDArray[Any]) -> None:
        """Write all vectors' elements, joined."""
        words = np.zeros(self.size // 4, "<u4")
        words[(self.positions - self.at) // 4] = self.count
        halves = np.ascontiguousarray(values, f"<u{self.width}").view("<u4").reshape(-1, self.width // 4)
        for half in range(self.width // 4):
            words[(self.entries - self.at) // 4 + half] = halves[:, half]
        self.image.put(self.at, words)

    def point_at(self, positions: Ints) -> None:
        """Write elements that point at tables."""
        self.fill(positions - self.entries)


def write_fbuf(graph: FlexNetGraph, path: str | Path) -> None:
    """Write a task graph; a name that ends in ``.xz`` gets it packed.

    Raises
    ------
    InvalidInput
        If the file cannot be written.
    """
    data = fbuf_bytes(graph)
    write_bytes_atomically(path, lzma.compress(data, preset=9) if str(path).endswith(".xz") else data)


def fbuf_bytes(graph: FlexNetGraph) -> bytes:
    """Return the ``.fbuf`` file of a task graph, which FlexNetPacket can play."""
    image = Image()
    start = image.reserve(4, 4)
    table: Table = {**NUMBERS, **LISTS}
    root = reserve_tables(image, 1, _forms(table))
    image.put(start, np.array([root.positions[0] - start], "<u4"))
    numbers = [np.array([getattr(graph, name)]) for name in NUMBERS]
    rows = graph.connections, graph.operators, graph.tasks, graph.devices, graph.routes
    lists = [[getattr(one, item.name) for item in fields(one)] for one in rows]
    columns = ([pointer([len(each[0])]), *each] for each in (*lists, _rings(graph)))
    _fill(image, root, table, chain(numbers, *columns))
    return image.to_bytes()


def _forms(table: Table) -> str:
    """Return the formats of a table's fields; everything but numbers is an offset."""
    forms = (form if isinstance(form, str) else TEXT for form in table.values())
    return " ".join("to" if form == TEXT or form.startswith("[") else form for form in forms)


def _fill(image: Image, tables: TableBlock, table: Table, columns: Iterator[Any]) -> None:
    """Write the fields of some tables, and the data they point to, column by column."""
    filled = []
    for form in table.values():
        column = next(columns)
        if not isinstance(form, str):
            vectors = reserve_vectors(image, column, 4)
            inner = reserve_tables(image, int(column[-1]), _forms(form))
            vectors.point_at(inner.positions)
            _fill(image, inner, form, columns)
            column = vectors.positions
        elif form == TEXT:
            column = write_texts(image, column)
        elif form.startswith("["):
            vectors = reserve_vectors(image, column, np.dtype(form.strip("[]")).itemsize)
            vectors.fill(next(columns))
            column = vectors.positions
        filled.append(column)
    tables.fill(*filled)


def _rings(graph: FlexNetGraph) -> list[Ints]:
    walks = [jumps for ring in graph.rings for jumps in ring.ringpaths]
    return [
        np.array([ring.ringsz for ring in graph.rings], np.uint64),
        pointer([len(ring.ringpaths) for ring in graph.rings]),
        pointer([len(walk) for walk in walks]),
        np.array([jump for walk in walks for jump in walk], np.int32),
    ]


def reserve_tables(image: Image, count: int, formats: str) -> TableBlock:
    """Return places for tables with fields of the given formats: NumPy's, or ``to`` for a pointer."""
    names = [f"{'to' if text == 'to' else 'is'}{slot}" for slot, text in enumerate(formats.split())]
    kinds = [OFFSET if text == "to" else f"<{text}" for text in formats.split()]
    record = np.dtype({"names": ["vtable", *names], "formats": ["<i4", *kinds]}, align=True)
    assert record.fields is not None
    offsets = [record.fields[name][1] for name in names]
    vtable = np.array([4 + 2 * len(names), record.itemsize, *offsets], "<u2")
    at = image.reserve(vtable.nbytes, 4)
    image.put(at, vtable)
    # the end of one table is the start of the next, and 8-byte numbers stand at multiples of 8
    assert record.itemsize % record.alignment == 0
    first = image.reserve(count * record.itemsize, 8)
    return TableBlock(image, record, at, first + record.itemsize * np.arange(count))


def reserve_vectors(image: Image, first: Ints, width: int) -> VectorBlock:
    """Return places for the vectors ``first[i] : first[i+1]`` of elements of 4 or 8 bytes."""
    count = np.diff(first)
    lengths = (
        width + count * width
    )  # the length takes 4 bytes, and what it counts stands at a multiple of its width
    end = np.cumsum(lengths)
    size = int(end[-1]) if len(end) else 0
    at = image.reserve(size, 8)
    begin = at + end - lengths + width
    entries = np.repeat(begin - first[:-1] * width, count) + np.arange(int(first[-1] - first[0])) * width
    return VectorBlock(image, at, size, width, count, begin - 4, entries)


def write_texts(image: Image, texts: tuple[str, ...]) -> Ints:
    """Write strings and return their offsets."""
    positions = []
    for text in texts:
        letters = text.encode()
        at = image.reserve(4 + len(letters) + 1, 4)
        image.put(at, np.array([len(letters)], "<u4"))
        image.put(at + 4, np.frombuffer(letters, np.uint8))
        positions.append(at)
    return np.array(positions, np.int64)

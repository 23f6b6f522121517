"""Read a FlexNet ``.fbuf`` task graph, packed with xz or not."""

import lzma
from itertools import pairwise
from pathlib import Path

import numpy as np

from topoopt.errors import InvalidInput
from topoopt.files import read_bytes
from topoopt.simulate.fbuf.check import check
from topoopt.simulate.fbuf.graph import (
    Connections,
    Devices,
    FlexNetGraph,
    Operators,
    RingDescriptor,
    RouteRows,
    Tasks,
)
from topoopt.simulate.fbuf.tables import Tables, buffer_of

_XZ_MAGIC = b"\xfd7zXZ\x00"
_XZ_MEMORY_BYTES = 128 << 20
"""Twice what unpacking ``xz -9`` takes."""
_SMALLEST_LIMIT_BYTES = 64 << 20
_MOST_PACKING = 100
"""Task graphs pack about 10 to 1; a file that grows a hundredfold is no task graph."""


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
    """Return the task graph that some bytes hold; ``place`` stands in front of every error."""
    if data.startswith(_XZ_MAGIC):
        data = _unpacked(data, place)
    if not data:
        raise InvalidInput(f"{place}: is empty, expected a FlexNet task graph (.fbuf)")
    graph = _graph(buffer_of(data, place).root("root table"), place)
    check(graph)
    return graph


def _unpacked(data: bytes, place: str) -> bytes:
    limit = max(_SMALLEST_LIMIT_BYTES, _MOST_PACKING * len(data))
    decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_BYTES)
    try:
        unpacked = decoder.decompress(data, limit)
    except lzma.LZMAError as error:
        raise InvalidInput(f"{place}: cannot be unpacked with xz: {error}; copy the file again") from None
    if decoder.eof:
        return unpacked
    reason = "unpacks to more than any task graph" if len(unpacked) >= limit else "ends too early"
    raise InvalidInput(f"{place}: the xz file {reason}; copy the file again")


def _graph(root: Tables, place: str) -> FlexNetGraph:
    ngpupernode, nnode, nswitch = (int(root.column(slot, np.uint32)[0]) for slot in range(3))
    intergpubw, drambw, netbw = (float(root.column(slot, np.float32)[0]) for slot in range(3, 6))
    return FlexNetGraph(
        place,
        ngpupernode,
        nnode,
        nswitch,
        intergpubw,
        drambw,
        netbw,
        _connections(root.children(6, "connections")[1]),
        _operators(root.children(7, "operators")[1]),
        _tasks(root.children(8, "tasks")[1]),
        _devices(root.children(9, "devices")[1]),
        _routes(root.children(10, "routes")[1]),
        _rings(root.children(11, "rings")[1]),
    )


def _connections(rows: Tables) -> Connections:
    return Connections(*(rows.column(slot, np.uint32) for slot in range(3)))


def _operators(rows: Tables) -> Operators:
    return Operators(rows.column(0, np.uint64), rows.column(1, np.int32), rows.texts(2))


def _tasks(rows: Tables) -> Tasks:
    return Tasks(
        rows.column(0, np.int16),
        rows.column(1, np.uint64),
        rows.column(2, np.uint64),
        rows.column(3, np.float32),
        rows.column(4, np.uint64),
        *rows.vectors(5, np.uint64, "nexttasks"),
    )


def _devices(rows: Tables) -> Devices:
    return Devices(rows.column(0, np.int16), *(rows.column(slot, np.uint64) for slot in range(1, 5)))


def _routes(rows: Tables) -> RouteRows:
    path_first, paths = rows.children(2, "paths")
    hop_first, hopnode = paths.vectors(0, np.uint32, "hopnodes")
    ends = rows.column(0, np.uint32), rows.column(1, np.uint32)
    return RouteRows(*ends, path_first, hop_first, hopnode, paths.column(1, np.float32))


def _rings(rows: Tables) -> tuple[RingDescriptor, ...]:
    path_first, paths = rows.children(1, "ringpaths")
    jump_first, jumps = paths.vectors(0, np.int32, "jumps")
    ends, steps = jump_first.tolist(), jumps.tolist()
    walks = [tuple(steps[a:b]) for a, b in pairwise(ends)]
    sizes, starts = rows.column(0, np.uint64).tolist(), path_first.tolist()
    return tuple(
        RingDescriptor(size, tuple(walks[a:b])) for size, (a, b) in zip(sizes, pairwise(starts), strict=True)
    )

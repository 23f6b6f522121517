"""Read a FlexNet ``.fbuf`` task graph, packed with xz or not."""

import lzma
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput
from topoopt.schema.files import read_bytes
from topoopt.simulation.fbuf.check import check
from topoopt.simulation.fbuf.graph import (
    Connections,
    Devices,
    FlexNetGraph,
    Operators,
    RingDescriptor,
    RouteRows,
    Tasks,
)
from topoopt.simulation.fbuf.schema import LISTS, NUMBERS, TEXT, Table
from topoopt.simulation.fbuf.tables import Tables, buffer_of

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
    return FlexNetGraph(place, **numbers, **{name: kind(*lists[name]) for name, kind in kinds.items()})


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

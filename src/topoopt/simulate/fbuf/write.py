"""Write a FlexNet ``.fbuf`` task graph, packed with xz or not."""

import lzma
from pathlib import Path

import numpy as np

from topoopt.files import write_bytes_atomically
from topoopt.simulate.fbuf.graph import FlexNetGraph, Ints
from topoopt.simulate.fbuf.layout import Image, TableBlock, reserve_tables, reserve_vectors, write_texts


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
    root = reserve_tables(image, 1, "u4 u4 u4 f4 f4 f4 to to to to to to")
    image.put(start, np.array([root.positions[0] - start], "<u4"))
    numbers = (graph.ngpupernode, graph.nnode, graph.nswitch, graph.intergpubw, graph.drambw, graph.netbw)
    root.fill(
        *(np.array([number]) for number in numbers),
        _connections(image, graph),
        _operators(image, graph),
        _tasks(image, graph),
        _devices(image, graph),
        _routes(image, graph),
        _rings(image, graph),
    )
    return image.to_bytes()


def _listed(image: Image, count: int, formats: str) -> tuple[Ints, TableBlock]:
    """Return the position of a vector of tables, written, and the tables, to be filled."""
    vector = reserve_vectors(image, np.array([0, count]), 4)
    tables = reserve_tables(image, count, formats)
    vector.point_at(tables.positions)
    return vector.positions, tables


def _connections(image: Image, graph: FlexNetGraph) -> Ints:
    rows = graph.connections
    at, tables = _listed(image, len(rows), "u4 u4 u4")
    tables.fill(rows.fromnode, rows.tonode, rows.nconn)
    return at


def _operators(image: Image, graph: FlexNetGraph) -> Ints:
    rows = graph.operators
    at, tables = _listed(image, len(rows), "u8 i4 to")
    tables.fill(rows.opid, rows.type, write_texts(image, rows.name))
    return at


def _tasks(image: Image, graph: FlexNetGraph) -> Ints:
    rows = graph.tasks
    at, tables = _listed(image, len(rows), "i2 u8 u8 f4 u8 to")
    following = reserve_vectors(image, rows.next_first, 8)
    following.fill(rows.next)
    tables.fill(rows.type, rows.taskid, rows.deviceid, rows.runtime, rows.xfersize, following.positions)
    return at


def _devices(image: Image, graph: FlexNetGraph) -> Ints:
    rows = graph.devices
    at, tables = _listed(image, len(rows), "i2 u8 u8 u8 u8")
    tables.fill(rows.type, rows.deviceid, rows.nodeid, rows.deviceproperty, rows.bandwidth)
    return at


def _routes(image: Image, graph: FlexNetGraph) -> Ints:
    rows = graph.routes
    at, tables = _listed(image, len(rows), "u4 u4 to")
    lists = reserve_vectors(image, rows.path_first, 4)
    tables.fill(rows.fromnode, rows.tonode, lists.positions)
    paths = reserve_tables(image, len(rows.chance), "to f4")
    lists.point_at(paths.positions)
    hops = reserve_vectors(image, rows.hop_first, 4)
    hops.fill(rows.hopnode)
    paths.fill(hops.positions, rows.chance)
    return at


def _rings(image: Image, graph: FlexNetGraph) -> Ints:
    at, tables = _listed(image, len(graph.rings), "u8 to")
    walks = [jumps for ring in graph.rings for jumps in ring.ringpaths]
    lists = reserve_vectors(image, _first([len(ring.ringpaths) for ring in graph.rings]), 4)
    tables.fill(np.array([ring.ringsz for ring in graph.rings], np.uint64), lists.positions)
    paths = reserve_tables(image, len(walks), "to")
    lists.point_at(paths.positions)
    jumps = reserve_vectors(image, _first([len(walk) for walk in walks]), 4)
    jumps.fill(np.array([jump for walk in walks for jump in walk], np.int32))
    paths.fill(jumps.positions)
    return at


def _first(sizes: list[int]) -> Ints:
    """Return the CSR pointer of lists of the given sizes."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)

"""Write a FlexNet ``.fbuf`` task graph, packed with xz or not."""

import lzma
from collections.abc import Iterator
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.schema.files import write_bytes_atomically
from topoopt.simulation.csr import pointer
from topoopt.simulation.fbuf.graph import FlexNetGraph
from topoopt.simulation.fbuf.layout import Image, TableBlock, reserve_tables, reserve_vectors, write_texts
from topoopt.simulation.fbuf.schema import LISTS, NUMBERS, TEXT, Table


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
    """Return the formats of a table's fields; whatever is no number is pointed at."""
    forms = (form if isinstance(form, str) else TEXT for form in table.values())
    return " ".join("to" if form == TEXT or form.startswith("[") else form for form in forms)


def _fill(image: Image, tables: TableBlock, table: Table, columns: Iterator[Any]) -> None:
    """Write the fields of some tables, and what they point at, column by column."""
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

"""Reading .fbuf task graphs: the same values as the FlatBuffers runtime reads, field by field."""

import lzma
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flatbuffers import number_types
from flatbuffers.table import Table

from topoopt.base.errors import InvalidInput
from topoopt.simulation import FlexNetGraph, parse_fbuf, read_fbuf

GRAPHS = Path(__file__).parents[2] / "examples" / "taskgraphs"
NAMES = sorted(path.name.removesuffix(".fbuf.xz") for path in GRAPHS.glob("*.fbuf.xz"))

I2, I4 = number_types.Int16Flags, number_types.Int32Flags
U4, U8, F4 = number_types.Uint32Flags, number_types.Uint64Flags, number_types.Float32Flags


class Reader:
    """One table, read by the FlatBuffers runtime with the slots of the schema."""

    def __init__(self, data: bytes, position: int) -> None:
        self.table = Table(data, position)

    def _field(self, slot: int) -> int:
        return int(self.table.Offset(4 + 2 * slot))

    def number(self, slot: int, flags: Any) -> Any:
        field = self._field(slot)
        return self.table.Get(flags, field + self.table.Pos) if field else 0

    def numbers(self, slot: int, flags: Any) -> list[Any]:
        field = self._field(slot)
        if not field:
            return []
        start = self.table.Vector(field)
        return [
            self.table.Get(flags, start + flags.bytewidth * i) for i in range(self.table.VectorLen(field))
        ]

    def text(self, slot: int) -> str:
        field = self._field(slot)
        return bytes(self.table.String(field + self.table.Pos)).decode() if field else ""

    def tables(self, slot: int) -> Iterator["Reader"]:
        field = self._field(slot)
        if field:
            start = self.table.Vector(field)
            for i in range(self.table.VectorLen(field)):
                yield Reader(self.table.Bytes, self.table.Indirect(start + 4 * i))


def root_of(data: bytes) -> Reader:
    return Reader(data, int.from_bytes(data[:4], "little"))


def by_runtime(data: bytes) -> dict[str, list[Any]]:
    root = root_of(data)
    tasks = [
        (*(t.number(s, f) for s, f in enumerate((I2, U8, U8, F4, U8))), t.numbers(5, U8))
        for t in root.tables(8)
    ]
    routes = [
        (r.number(0, U4), r.number(1, U4), [(p.numbers(0, U4), p.number(1, F4)) for p in r.tables(2)])
        for r in root.tables(10)
    ]
    return {
        "numbers": [root.number(s, f) for s, f in enumerate((U4, U4, U4, F4, F4, F4))],
        "connections": [tuple(c.number(s, U4) for s in range(3)) for c in root.tables(6)],
        "operators": [(o.number(0, U8), o.number(1, I4), o.text(2)) for o in root.tables(7)],
        "tasks": tasks,
        "devices": [
            tuple(d.number(s, f) for s, f in enumerate((I2, U8, U8, U8, U8))) for d in root.tables(9)
        ],
        "routes": routes,
        "rings": [(r.number(0, U8), [p.numbers(0, I4) for p in r.tables(1)]) for r in root.tables(11)],
    }


def pieces(first: Any, values: Any) -> list[list[Any]]:
    return [part.tolist() for part in np.split(values, first[1:-1])] if len(first) > 1 else []


def by_us(graph: FlexNetGraph) -> dict[str, list[Any]]:
    c, o, t, d, r = graph.connections, graph.operators, graph.tasks, graph.devices, graph.routes
    paths = list(zip(pieces(r.hop_first, r.hopnode), r.chance.tolist(), strict=True))
    of_route = [paths[a:b] for a, b in zip(r.path_first[:-1], r.path_first[1:], strict=True)]

    def rows(*columns: Any) -> list[tuple[Any, ...]]:
        listed = [column if isinstance(column, list | tuple) else column.tolist() for column in columns]
        return list(zip(*listed, strict=True))

    numbers = [graph.ngpupernode, graph.nnode, graph.nswitch, graph.intergpubw, graph.drambw, graph.netbw]
    following = pieces(t.next_first, t.next)
    return {
        "numbers": numbers,
        "connections": rows(c.fromnode, c.tonode, c.nconn),
        "operators": rows(o.opid, o.type, o.name),
        "tasks": rows(t.type, t.taskid, t.deviceid, t.runtime, t.xfersize, following),
        "devices": rows(d.type, d.deviceid, d.nodeid, d.deviceproperty, d.bandwidth),
        "routes": rows(r.fromnode, r.tonode, of_route),
        "rings": [(ring.ringsz, [list(jumps) for jumps in ring.ringpaths]) for ring in graph.rings],
    }


def bytes_of(name: str) -> bytes:
    return lzma.decompress((GRAPHS / f"{name}.fbuf.xz").read_bytes())


@pytest.mark.parametrize("name", ["taskgraph12", "100vgg_16_circ_d4_rings", "800candle_16", "40dlrm_16"])
def test_every_field_is_what_the_flatbuffers_runtime_reads(name: str) -> None:
    data = bytes_of(name)
    mine, theirs = by_us(parse_fbuf(data)), by_runtime(data)
    assert mine.keys() == theirs.keys()
    for part, rows in theirs.items():
        assert mine[part] == rows, part


def test_the_large_graph_has_the_rows_that_its_readme_says() -> None:
    graph = read_fbuf(GRAPHS / "25dlrm_128.fbuf.xz")
    assert (graph.nnode, graph.nswitch, len(graph.tasks), len(graph.routes)) == (128, 1, 22638, 128**2)
    assert graph.bandwidth_bps == 25e9


def test_sizes_above_4_gib_survive() -> None:
    sizes = read_fbuf(GRAPHS / "100dlrm_16.fbuf.xz").tasks.xfersize
    assert int(sizes.max()) == 10_240_000_000  # a table of 10,000,000 rows of 256 float32


def test_packed_and_unpacked_files_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "plain.fbuf").write_bytes(bytes_of("taskgraph12"))
    plain, packed = read_fbuf(tmp_path / "plain.fbuf"), read_fbuf(GRAPHS / "taskgraph12.fbuf.xz")
    assert by_us(plain) == by_us(packed)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty, expected a FlexNet task graph"),
        (b"\x00" * 64, "points at itself"),
        (b"{}", "lies outside the file's 2 bytes"),
        (b"nodes: 12\nlinks: none at all, this is text\n", "not a FlexNet task graph, or damaged"),
        (b"\xfd7zXZ\x00", "ended before the end-of-stream marker"),
        (b"\xfd7zXZ\x00 and then something else", "cannot be unpacked with xz"),
        (lambda: bytes_of("taskgraph12")[:30000], "x.fbuf: "),
        ((GRAPHS / "taskgraph12.fbuf.xz").read_bytes()[:5000], "ended before the end-of-stream marker"),
        (lambda: lzma.compress(b"\0" * (65 << 20), preset=0), "grows beyond 100 times its size"),
    ],
    ids=["empty", "zeros", "short", "text", "xz-head", "xz-foreign", "cut", "xz-cut", "xz-bomb"],
)
def test_what_is_no_task_graph_is_said_in_one_line(
    content: bytes | Callable[[], bytes], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.fbuf"
    path.write_bytes(content() if callable(content) else content)
    with pytest.raises(InvalidInput) as caught:
        read_fbuf(path)
    assert words in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such file"):
        read_fbuf(tmp_path / "nothing.fbuf")


def test_a_list_used_again_and_again_does_not_fill_the_memory() -> None:
    """16,000 tasks whose nexttasks are one list of 16,000: 256 million entries out of 300 kB."""
    count = 16_000
    vtable = np.array([4 + 2 * 6, 12, 0, 0, 0, 0, 0, 8], "<u2").tobytes()  # only nexttasks, at byte 8 of 12
    root_vtable = np.array([4 + 2 * 12, 8, *[0] * 8, 4, 0, 0, 0], "<u2").tobytes()
    head = np.array([4 + len(root_vtable)], "<u4").tobytes() + root_vtable
    root = len(head)
    vector = root + 8 + len(vtable)
    tables = vector + 4 + 4 * count
    shared = tables + 12 * count
    data = bytearray(shared + 4 + 8 * count)
    data[:root] = head
    data[root : root + 8] = np.array([root - 4, vector - root - 4], "<i4").tobytes()
    data[root + 8 : vector] = vtable
    at = tables + 12 * np.arange(count)
    entries = np.concatenate([[count], at - (vector + 4 + 4 * np.arange(count))])
    data[vector:tables] = entries.astype("<u4").tobytes()
    rows = np.stack([at - (root + 8), np.zeros(count), shared - at - 8], axis=1)
    data[tables:shared] = rows.astype("<i4").tobytes()
    data[shared : shared + 4] = np.array([count], "<u4").tobytes()
    with pytest.raises(InvalidInput, match="nexttasks: the same lists are used again and again"):
        parse_fbuf(bytes(data))

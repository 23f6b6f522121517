"""A plain reader of PDF files of text: what stands where on every page."""

import re
import zlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """Text with its base line's beginning, in points, and the size and name of its font."""

    page: int
    x: float
    y: float
    size: float
    font: str
    text: str


def objects(data: bytes) -> dict[int, bytes]:
    """Return the objects of a file, found by its table of offsets, as a reader does."""
    start = int(data.rsplit(b"startxref", 1)[1].split()[0])
    table = data[start:].split(b"trailer")[0].splitlines()
    assert table[0] == b"xref"
    count = int(table[1].split()[1])
    rows = table[2 : 2 + count]
    assert all(len(row) + 1 == 20 for row in rows)  # a row is 20 bytes with the end of its line
    found = {}
    for number, row in enumerate(rows):
        if row.split()[2] == b"n":
            head = f"{number} 0 obj\n".encode()
            offset = int(row.split()[0])
            assert data[offset : offset + len(head)] == head
            found[number] = data[offset + len(head) : data.index(b"\nendobj", offset)]
    return found


def size(data: bytes) -> set[tuple[float, float]]:
    """Return the sizes of the pages in points."""
    found = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", b"\n".join(objects(data).values()))
    return {(float(width), float(height)) for width, height in found}


def texts(data: bytes) -> list[Shown]:
    """Return all text of all pages."""
    parts = objects(data)
    kids = re.search(rb"/Kids \[(.*?)\]", parts[2])
    assert kids is not None
    pages = [int(one) for one in re.findall(rb"(\d+) 0 R", kids[1])]
    found = []
    for page, number in enumerate(pages):
        content = re.search(rb"/Contents (\d+) 0 R", parts[number])
        assert content is not None
        head, stream = parts[int(content[1])].split(b"\nstream\n", 1)
        length = re.search(rb"/Length (\d+)", head)
        assert length is not None
        assert stream[int(length[1]) :] == b"\nendstream"
        for line in zlib.decompress(stream[: int(length[1])]).splitlines():
            match = re.fullmatch(rb"BT /(F\d) ([\d.]+) Tf ([\d.]+) ([\d.]+) Td \((.*)\) Tj ET", line)
            assert match, line
            text = re.sub(rb"\\(.)", rb"\1", match[5]).decode("cp1252")
            where = (float(match[3]), float(match[4]), float(match[2]))
            found.append(Shown(page, *where, match[1].decode(), text))
    return found

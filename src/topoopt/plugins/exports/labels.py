"""Labels for both ends of every cable: as rows for label printers, and as sheets to be printed.

The sheets are the two that are sold most widely: 65 labels of 38.1 × 21.2 mm on A4 (such as L7651), and 80 of
1¾ × ½ inch on US Letter (such as 5167).

Pages of text as PDF, in the Courier that every reader has.

Written here and not drawn with a plotting library: the 1,024 labels of 128 servers took matplotlib 1.8 s of CPU, and
equal labels are equal bytes.
"""

import csv
import io
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.plugins.exports.work_order import walking_order

MM = 72 / 25.4
"""Points of a millimeter."""
WIDTH = 0.6
"""Of a character of Courier, in sizes of the font."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text on a page.

    Attributes
    ----------
    x_mm, y_mm : float
        Where its base line begins, from the lower left corner of the page.
    size_pt : float
    """

    x_mm: float
    y_mm: float
    size_pt: float
    text: str
    bold: bool = False


COLUMNS = ("cable", "end", "line1", "line2", "line3", "line4")
Label = tuple[str, str, str, str, str, str]
_INCH = 25.4
_PAD_MM = 1.5
_LARGEST_PT, _SMALLEST_PT = 8.0, 4.5


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet of labels: its size, columns and rows of labels, the margins to the first, and from one to the next."""

    width_mm: float
    height_mm: float
    columns: int
    rows: int
    label_mm: tuple[float, float]
    left_mm: float
    top_mm: float
    gap_mm: float


SHEETS = {
    "labels-a4.pdf": Sheet(210, 297, 5, 13, (38.1, 21.2), 4.75, 10.7, 2.5),
    "labels-letter.pdf": Sheet(
        8.5 * _INCH, 11 * _INCH, 4, 20, (1.75 * _INCH, 0.5 * _INCH), 0.3 * _INCH, 0.5 * _INCH, 0.3 * _INCH
    ),
}


def labels(deployment: Deployment) -> Contents:
    """Return the labels as CSV and as sheets, in walking order, the two of a cable side by side."""
    rows = label_rows(deployment)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])
    return {"labels.csv": text.getvalue(), **{name: sheet_pdf(sheet, rows) for name, sheet in SHEETS.items()}}


def label_rows(deployment: Deployment) -> list[Label]:
    """Return a row of :data:`COLUMNS` for each end of every cable: its name, this end, the other end, where this is."""
    inventory = deployment.inventory
    rows: list[Label] = []
    for cable in walking_order(inventory, inventory.cables):
        name = cable.id + {"out": " TX", "in": " RX"}.get(cable.side, "")
        server, panel = inventory.server_of_name[cable.server], inventory.panel_of_name[cable.panel]
        ends = (f"{cable.server} {cable.interface}", f"{cable.panel} port {cable.port}")
        places = (f"{server.rack} unit {server.position}", f"{panel.rack} unit {panel.position}")
        rows.append((cable.id, "server", name, ends[0], f"to {ends[1]}", places[0]))
        rows.append((cable.id, "panel", name, ends[1], f"to {ends[0]}", places[1]))
    return rows


def sheet_pdf(sheet: Sheet, rows: Sequence[Label]) -> bytes:
    """Return labels on sheets; lines that are too long become smaller, and are cut where they would be unreadable."""
    each = sheet.columns * sheet.rows
    pages = [
        [line for place, row in enumerate(rows[first : first + each]) for line in _label(sheet, place, row)]
        for first in range(0, len(rows), each)
    ]
    return pdf_pages(sheet.width_mm, sheet.height_mm, pages)


def _label(sheet: Sheet, place: int, row: Label) -> Iterator[Line]:
    """Yield the four lines of the label at a place, which are counted from the upper left, row by row."""
    down, across = divmod(place, sheet.columns)
    width, height = sheet.label_mm
    x = sheet.left_mm + across * (width + sheet.gap_mm) + _PAD_MM
    top = sheet.height_mm - sheet.top_mm - down * height
    step = (height - 2 * _PAD_MM) / 4
    room_pt = (width - 2 * _PAD_MM) * MM
    most = int(room_pt / (WIDTH * _SMALLEST_PT))
    for number, whole in enumerate(row[2:], 1):
        text = whole if len(whole) <= most else whole[: most - 3] + "..."
        size = min(_LARGEST_PT, 0.85 * step * MM, room_pt / (WIDTH * max(1, len(text))))
        yield Line(x, top - _PAD_MM / 2 - number * step, size, text, bold=number == 1)


def pdf_pages(width_mm: float, height_mm: float, pages: Sequence[Sequence[Line]]) -> bytes:
    """Return a PDF file of pages of one size; characters other than those of Western Europe are question marks."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    for font in ("Courier", "Courier-Bold"):
        objects.append(
            f"<< /Type /Font /Subtype /Type1 /BaseFont /{font} /Encoding /WinAnsiEncoding >>".encode()
        )
    kids = []
    for lines in pages:
        content = zlib.compress(b"\n".join(map(_shown, lines)))
        head = f"<< /Length {len(content)} /Filter /FlateDecode >>\nstream\n".encode()
        objects.append(head + content + b"\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width_mm * MM:.2f} {height_mm * MM:.2f}] "
            f"/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> /Contents {len(objects)} 0 R >>".encode()
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(kids)}] >>".encode()
    return _file(objects)


def _shown(line: Line) -> bytes:
    text = line.text.encode("cp1252", "replace")
    for special in (b"\\", b"(", b")"):
        text = text.replace(special, b"\\" + special)
    font = "F2" if line.bold else "F1"
    place = f"{line.x_mm * MM:.2f} {line.y_mm * MM:.2f} Td"
    return f"BT /{font} {line.size_pt:.2f} Tf {place} (".encode() + text + b") Tj ET"


def _file(objects: Sequence[bytes]) -> bytes:
    """Return numbered objects with the table of where each begins."""
    data, offsets = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"), []
    for number, content in enumerate(objects, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n"
    return bytes(data) + f"{end}startxref\n{len(data)}\n%%EOF\n".encode()

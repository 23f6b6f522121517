"""Pages of text as PDF, in the Courier that every reader has.

Written here and not drawn with a plotting library: the 1,024 labels of 128 servers took matplotlib 1.8 s of CPU, and
equal labels are equal bytes.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

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

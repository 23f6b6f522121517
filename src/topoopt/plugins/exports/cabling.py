"""Labels for both ends of every cable: as rows for label printers, and as sheets to be printed.

The sheets are the two that are sold most widely: 65 labels of 38.1 × 21.2 mm on A4 (such as L7651), and 80 of
1¾ × ½ inch on US Letter (such as 5167).

Pages of text as PDF, in the Courier that every reader has.

Written here and not drawn with a plotting library: the 1,024 labels of 128 servers took matplotlib 1.8 s of CPU, and
equal labels are equal bytes.

The neutral patch list: joined ports of each panel, now and then, and the order of changes.

In a step every row that disconnects comes before those that connect, so that no port is needed twice.
"""

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from topoopt.plans.inventory import Cable, Circuit, Inventory, Panel, circuits, moves
from topoopt.plugins.exports.deployment import Contents, Deployment, csv_text
from topoopt.plugins.exports.graph import node_link

_HEAD = """\
Work order
==========
A cable from a server to a panel is run once and stays. What a plan changes is on the panel: patch cords on the front of
a manual one, circuits inside an optical switch, which are made by its files and not by hand.
"""
COLUMNS = (
    *("ocs", "port_a", "port_b", "server_a", "nic_a", "server_b", "nic_b"),
    *("circuit_id", "action", "step"),
)
Row = tuple[str, int, int, str, str, str, str, str, str, int]
MM = 72 / 25.4
"""Points of a millimeter."""
WIDTH = 0.6
"""Width of a character of Courier, in sizes of the font."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text on a page.

    Attributes
    ----------
    x_mm, y_mm : float
        Start of the base line, from the lower left corner of the page.
    size_pt : float
    """

    x_mm: float
    y_mm: float
    size_pt: float
    text: str
    bold: bool = False


LABEL_COLUMNS = ("cable", "end", "line1", "line2", "line3", "line4")
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
    sheets = {name: sheet_pdf(sheet, rows) for name, sheet in SHEETS.items()}
    return {"labels.csv": csv_text([LABEL_COLUMNS, *rows]), **sheets}


def label_rows(deployment: Deployment) -> list[Label]:
    """Return a row of :data:`LABEL_COLUMNS` for each end of every cable: its name, this end, the other end, where
    this is."""
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


def patch_list(deployment: Deployment) -> Contents:
    """Return the patch list as CSV, the work order for people, and the wiring that they lead to.

    Links that stay have step 0; without a present wiring everything is connected in step 1. Use the wiring file as
    present the next time: a plan alone counts as wired from scratch, which may differ from its actual ports.
    """
    rows = patch_list_rows(deployment)
    patches = csv_text([COLUMNS, *rows])
    return {"patch-list.csv": patches, "work-order.txt": work_order(deployment), **node_link(deployment)}


def patch_list_rows(deployment: Deployment) -> list[Row]:
    """Return a row of :data:`COLUMNS` for every circuit that stays, goes or comes; of a panel by its ports."""
    rank = {panel.name: place for place, panel in enumerate(deployment.inventory.panels)}

    def place(entry: tuple[int, str, Circuit]) -> tuple[int, bool, int, int]:
        step, action, circuit = entry
        return step, action == "connect", rank[circuit.panel], circuit.port_a

    rows = sorted(_actions(deployment), key=place)
    return [_row(circuit, action, step) for step, action, circuit in rows]


def _actions(deployment: Deployment) -> Iterator[tuple[int, str, Circuit]]:
    if deployment.present is None or deployment.order is None:
        yield from ((1, "connect", circuit) for circuit in deployment.circuits)
        return
    made = {patch for step in deployment.order.steps for patch in step.plug}
    named = dict(zip(deployment.wiring.patches, deployment.circuits, strict=True))
    yield from ((0, "keep", circuit) for patch, circuit in named.items() if patch not in made)
    for number, step in enumerate(deployment.order.steps, 1):
        gone = circuits(deployment.inventory, deployment.present, step.unplug)
        yield from ((number, "disconnect", circuit) for circuit in gone)
        come = circuits(deployment.inventory, deployment.wiring, step.plug)
        yield from ((number, "connect", circuit) for circuit in come)


def _row(circuit: Circuit, action: str, step: int) -> Row:
    a, b = circuit.cable_a, circuit.cable_b
    ends = (a.server, a.interface, b.server, b.interface)
    return (circuit.panel, a.port, b.port, *ends, circuit.id, action, step)


def work_order(deployment: Deployment) -> str:
    """Return the work order: cables not used so far, then the cords of each step."""
    lines = [_HEAD]
    there = () if deployment.present is None else deployment.present.patches
    used = circuits(deployment.inventory, deployment.present or deployment.wiring, there)
    carrying = {cable.id for one in used for cable in (one.cable_a, one.cable_b)}
    needed = (cable for one in deployment.circuits for cable in (one.cable_a, one.cable_b))
    new_cables = list({cable.id: cable for cable in needed if cable.id not in carrying}.values())
    lines += _section("Cables to run", cable_lines(deployment.inventory, new_cables))
    for title, some in _cords(deployment):
        lines += _section(title, some)
    return "\n".join(lines) + "\n"


def cable_lines(inventory: Inventory, cables: Iterable[Cable]) -> list[str]:
    """Return ``plug cable C0412: rack03 unit 7, server srv017 port ens1f1 -> …`` for each, in walking order."""
    panels = inventory.panel_of_name
    return [
        f"plug cable {cable.id}{_fiber(cable)}: {_place(inventory, cable)}, server {cable.server} port "
        f"{cable.interface} -> {panels[cable.panel].rack} unit {panels[cable.panel].position}, {cable.panel} port "
        f"{cable.port}"
        for cable in walking_order(inventory, cables)
    ]


def walking_order(inventory: Inventory, cables: Iterable[Cable]) -> list[Cable]:
    """Return cables rack by rack, from the bottom up, each server's by its interfaces."""
    place = {
        (server.name, interface.name): (_natural(server.rack), server.position, number, index)
        for number, server in enumerate(inventory.servers)
        for index, interface in enumerate(server.interfaces)
    }
    return sorted(cables, key=lambda cable: (place[cable.server, cable.interface], cable.side != "out"))


def _cords(deployment: Deployment) -> Iterator[tuple[str, list[str]]]:
    """Yield a title and lines for each step at each panel, panels in the order of their racks."""
    inventory = deployment.inventory
    if deployment.order is None or deployment.present is None:
        made = moves(inventory, (), deployment.circuits)
    else:
        made = tuple(
            move
            for number, step in enumerate(deployment.order.steps, 1)
            for move in moves(
                inventory,
                circuits(inventory, deployment.present, step.unplug),
                circuits(inventory, deployment.wiring, step.plug),
                number,
            )
        )
    for step in sorted({move.step for move in made}):
        for panel in sorted(inventory.panels, key=_panel_place):
            some = [move for move in made if move.step == step and move.cable.panel == panel.name]
            where = f"Step {step} at {panel.name} ({panel.rack} unit {panel.position})"
            if some and panel.kind == "manual":
                what = (
                    ", first pull out every end that goes, then plug in" if any(m.old for m in some) else ""
                )
                yield where + what, [str(move) for move in some]
            elif some:
                yield where, [f"{len(some)} circuits are changed by the files of format {panel.kind}"]


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"{title}: {len(lines)}", *(f"  [ ] {line}" for line in lines), ""] if lines else []


def _place(inventory: Inventory, cable: Cable) -> str:
    server = inventory.server_of_name[cable.server]
    return f"{server.rack} unit {server.position}"


def _panel_place(panel: Panel) -> tuple[list[tuple[int, str]], int, str]:
    return _natural(panel.rack), panel.position, panel.name


def _fiber(cable: Cable) -> str:
    return {"out": " (transmit fiber)", "in": " (receive fiber)"}.get(cable.side, "")


def _natural(name: str) -> list[tuple[int, str]]:
    """Return the sort key that puts rack2 before rack10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name) if part]

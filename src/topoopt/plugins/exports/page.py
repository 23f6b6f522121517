"""An export as a page: the files of every format, and the formats that cannot express the plan."""

from topoopt.base.units import format_bytes
from topoopt.pages import Page, Section, counted, facts, number, table, text
from topoopt.plugins.exports.answer import ExportAnswer, ExportFormats

SHOWN = 3
"""Most files of a format that are named; beyond, their number is given."""


def export_page(answer: ExportAnswer) -> Page:
    """Return the written and the skipped formats."""
    document = answer.to_json()
    written = table(
        "",
        document["formats"],
        text("format", "name"),
        text("files", lambda row: _names([file["name"] for file in row["files"]])),
        number("size", lambda row: format_bytes(sum(file["size_bytes"] for file in row["files"]))),
    )
    refused = {row["name"]: row["reason"] for row in document["refused"]}
    place = f" in {answer.out}" if answer.out is not None else ""
    files = sum(len(row["files"]) for row in document["formats"])
    deployment = answer.deployment
    panels = [f"{one.name}: {one.kind}, {one.ports} ports" for one in deployment.inventory.panels]
    order = answer.deployment.order
    if order is None:
        moves = "none: nothing is wired yet"
    else:
        gone, come = (sum(len(getattr(step, what)) for step in order.steps) for what in ("unplug", "plug"))
        moves = f"{gone} disconnected, {come} connected, in {counted(len(order.steps), 'step')}"
    entries = {
        "servers": f"{deployment.inventory.servers[0].name} to {deployment.inventory.servers[-1].name}",
        "panels": panels if len(panels) <= SHOWN else [*panels[:SHOWN], f"and {len(panels) - SHOWN} more"],
        "moves": moves,
    }
    if answer.forwarding is not None:
        entries["forwarding"] = f"paths {answer.forwarding['paths']}; {answer.forwarding['why']}"
    machines = Section("machines", "Machines", "", (facts(entries),))
    return Page(
        "export",
        answer.plan,
        f"{counted(files, 'file')}{place}.",
        sections=(
            machines,
            Section("files", "Files", "", (written,), f"{counted(files, 'file')}{place}"),
            *((Section("refused", "Not possible", "", (facts(refused),)),) if refused else ()),
        ),
        remark=f"export, {document['servers']} servers, {counted(document['circuits'], 'circuit')}",
    )


def export_formats_page(answer: ExportFormats) -> Page:
    """Return every format that there is."""
    rows = table(
        "",
        answer.formats,
        text("format", "name"),
        text("what it is", "text"),
        text("files"),
        text("read by", "consumer"),
    )
    what = counted(len(answer.formats), "format")
    return Page("export formats", "", f"{what}.", sections=(Section("formats", "Formats", "", (rows,)),))


def _names(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= SHOWN else f"{names[0]} and {len(names) - 1} more"

"""An export as a page: the files of every format, and the formats that cannot say the plan."""

from topoopt.base.units import format_bytes
from topoopt.pages.number_format import counted
from topoopt.pages.page import Notes, Page, Section
from topoopt.pages.tables import facts, number, table, text
from topoopt.plugins.exports import ExportAnswer, ExportFormats
from topoopt.studies.verification import CHECKS, Check, VerificationAnswer

SHOWN = 3
"""Files of a format that are named; of more it is said how many there are."""


def export_page(answer: ExportAnswer) -> Page:
    """Return what was written, and what was not."""
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
    return Page(
        "export",
        answer.plan,
        f"{counted(files, 'file')}{place}.",
        sections=(
            _machines(answer),
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


def _machines(answer: ExportAnswer) -> Section:
    deployment = answer.deployment
    panels = [f"{one.name}: {one.kind}, {one.ports} ports" for one in deployment.inventory.panels]
    entries = {
        "servers": f"{deployment.inventory.servers[0].name} to {deployment.inventory.servers[-1].name}",
        "panels": panels if len(panels) <= SHOWN else [*panels[:SHOWN], f"and {len(panels) - SHOWN} more"],
        "moves": _moves(answer),
    }
    if answer.forwarding is not None:
        entries["forwarding"] = f"paths {answer.forwarding['paths']}; {answer.forwarding['why']}"
    return Section("machines", "Machines", "", (facts(entries),))


def _moves(answer: ExportAnswer) -> str:
    order = answer.deployment.order
    if order is None:
        return "none: nothing is wired yet"
    gone, come = (sum(len(getattr(step, what)) for step in order.steps) for what in ("unplug", "plug"))
    return f"{gone} disconnected, {come} connected, in {counted(len(order.steps), 'step')}"


def _names(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= SHOWN else f"{names[0]} and {len(names) - 1} more"


def verification_page(answer: VerificationAnswer) -> Page:
    """Return all checks, and the places where they fail."""
    rows = table(
        "",
        answer.checks,
        text("check", "name"),
        text("", _verdict),
        text("looked at", _looked_at),
    )
    looked = [check for check in answer.checks if not check.skipped]
    proved = {check.name: CHECKS[check.name].text for check in looked if check.name in CHECKS}
    failed = len(answer.failed)
    verdict = f"all {counted(len(looked), 'check')} pass"
    if failed:
        verdict = f"{failed} of {counted(len(looked), 'check')} fail{'s' if failed == 1 else ''}"
    return Page(
        "verification",
        f"{answer.name}: {verdict}",
        f"{verdict[0].upper()}{verdict[1:]}.",
        sections=(
            Section("checks", "Checks", "", (rows,)),
            *(
                Section(f"failed-{check.name}", check.name, "", (Notes(_failures(check), warn=True),))
                for check in answer.failed
            ),
            *((Section("proves", "What they prove", "", (facts(proved),)),) if proved else ()),
        ),
        remark=f"{answer.kind}, {counted(answer.servers, 'server')} of {counted(answer.degree, 'port')}",
        key_numbers={"checks": len(looked), "failed": failed},
    )


def _verdict(check: Check) -> str:
    if check.skipped:
        return "not looked at"
    return "passes" if check.passed else f"FAILS: {check.failed:,}"


def _looked_at(check: Check) -> str:
    if check.skipped:
        return check.skipped
    return f"{check.looked_at}; {check.note}" if check.note else check.looked_at


def _failures(check: Check) -> tuple[str, ...]:
    more = check.failed - len(check.failures)
    return (*check.failures, *((f"and {more:,} more",) if more else ()))

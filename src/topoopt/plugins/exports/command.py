"""``topoopt export``: a plan as files that people, servers, switches and other programs take."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, get_type_hints

from typer import Argument, Option

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli import flagged, progress, show, spread
from topoopt.schema.words import File, ForwardingWords, Switch, Word, as_flag


class ExportWords(ForwardingWords, total=False):
    """Formats and output files."""

    format: Annotated[Sequence[str], Word("NAME|all", "all", commas="names of formats with commas, or all")]
    """Formats, with commas; all: every format that can represent the plan (default)."""
    out: Annotated[str, Word("DIR")]
    """Output folder; files of an earlier export there are replaced."""
    inventory: File
    """Inventory of servers, interfaces, panels and cables (YAML, TOML, JSON); missing parts are generated."""
    present: Annotated[str, Word("PLAN|WIRING")]
    """Present wiring; the patch list gives the changes."""
    keep_running: Switch
    """Never cut the job that runs on the present wiring."""
    panels: Annotated[str, Word("KIND")]
    """Kind of panels without an inventory: manual (default), polatis, calient or sonic-ocs."""


@spread
def export(
    words: ExportWords,
    plan: Annotated[str | None, Argument(metavar="PLAN", help="A plan file.", show_default=False)] = None,
    list_formats: Annotated[bool, Option("--list", help="List the formats, and write nothing.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Export a plan: patch lists, server and switch configurations, and inputs of other programs."""
    if list_formats:
        for given in (plan, *(as_flag(word) for word in ("out", "inventory", "present") if word in words)):
            if given is not None:
                raise InvalidInput(f"--list: writes nothing; leave {given} out")
        show(topoopt.export_formats(), as_json)
        return
    if plan is None:
        raise InvalidInput("PLAN: missing; name a plan file, or give --list")
    if "out" not in words:
        raise InvalidInput("--out: missing; name a folder to be written, or give --list")
    with progress("reading") as report:
        answer = topoopt.export(plan, on_progress=report, **words)
    show(answer if as_json else _with_flags(answer), as_json)


def _with_flags(answer: "topoopt.ExportAnswer") -> "topoopt.ExportAnswer":
    """Return the answer with options in its reasons written as flags."""
    flags = {word: f"--{word.replace('_', '-')}" for word in get_type_hints(ExportWords)}
    refused = tuple(replace(one, reason=flagged(one.reason, flags)) for one in answer.refused)
    return replace(answer, refused=refused)

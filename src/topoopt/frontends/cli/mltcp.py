"""``topoopt mltcp``: jobs on one link, iteration by iteration, under MLTCP and other sharing methods."""

from typing import Annotated, TypedDict

from typer import Argument, Option

import topoopt
from topoopt.frontends.cli.output import check_writable, progress, show
from topoopt.frontends.cli.verbs import group, lines_of
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import File, MltcpWords, panel


@panel("Output")
class MltcpFiles(TypedDict, total=False):
    """Output files."""

    report: File
    """Write an HTML page with charts."""


@spread
def simulate(
    words: MltcpWords,
    files: MltcpFiles,
    jobs: Annotated[
        list[str] | None,
        Argument(metavar="JOB", show_default=False, help="Job files; see --communication, too."),
    ] = None,
    as_json: Annotated[bool, Option("--json", rich_help_panel="Output", help="Print JSON.")] = False,
) -> None:
    """Simulate jobs that share a link under MLTCP, fair sharing and CASSINI, iteration by iteration."""
    out = files.get("report")
    check_writable(out, "--report", *(jobs or ()))
    with progress("simulating") as report:
        answer = topoopt.mltcp.simulate(tuple(jobs or ()), on_progress=report, **words)
    if out is not None:
        topoopt.report(answer, out)
    show(answer, as_json, written=(out,))


MLTCP_VERBS = lines_of(simulate)
"""Verbs of the group."""
mltcp = group(
    "topoopt.frontends.cli.mltcp:",
    MLTCP_VERBS,
    "MLTCP: congestion control with which jobs that share a link interleave by themselves.",
)

"""``topoopt mltcp``: jobs on one link, iteration by iteration, under MLTCP and other sharing methods."""

from typing import Annotated

from typer import Argument, Option

import topoopt
from topoopt.frontends.cli.output import progress, show
from topoopt.frontends.cli.verbs import group, lines_of
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import MltcpWords


@spread
def simulate(
    words: MltcpWords,
    jobs: Annotated[
        list[str] | None,
        Argument(metavar="JOB", show_default=False, help="Job files; see --communication, too."),
    ] = None,
    as_json: Annotated[bool, Option("--json", rich_help_panel="Output", help="Print JSON.")] = False,
) -> None:
    """Simulate jobs that share a link under MLTCP, fair sharing and CASSINI, iteration by iteration."""
    with progress("simulating") as report:
        answer = topoopt.mltcp.simulate(tuple(jobs or ()), on_progress=report, **words)
    show(answer, as_json)


MLTCP_VERBS = lines_of(simulate)
"""Verbs of the group."""
mltcp = group(
    "topoopt.frontends.cli.mltcp:",
    MLTCP_VERBS,
    "MLTCP: congestion control with which jobs that share a link interleave by themselves.",
)
